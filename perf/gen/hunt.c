#include "perf/gen/hunt.h"

#include "proto/client.pb-c.h"

/* ---- protobuf, as far as it is needed ---- */

struct field {
	uint32_t number;
	uint64_t value;       /* a varint's */
	const uint8_t *bytes; /* else NULL */
	const uint8_t *end;
};

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (uint32_t shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* False at the end, and where it is cut off or of another kind. */
static bool next_field(const uint8_t **at, const uint8_t *end, struct field *field)
{
	uint64_t key, count;

	if (*at >= end || !varint(at, end, &key))
		return false;
	field->number = (uint32_t)(key >> 3);
	field->bytes = NULL;
	if ((key & 7) == 0)
		return varint(at, end, &field->value);
	if ((key & 7) != 2 || !varint(at, end, &count) || count > (uint64_t)(end - *at))
		return false;
	field->bytes = *at;
	field->end = *at += count;
	return true;
}

static int32_t zigzag(uint64_t value)
{
	return (int32_t)((uint32_t)value >> 1 ^ (0u - ((uint32_t)value & 1)));
}

/* An EntityState. */
static bool state(const uint8_t *at, const uint8_t *end, struct hunt_thing *thing)
{
	struct field f;

	*thing = (struct hunt_thing){0};
	while (next_field(&at, end, &f)) {
		if (f.bytes)
			continue;
		if (f.number == 1)
			thing->id = (uint32_t)f.value;
		else if (f.number == 2)
			thing->x_mm = zigzag(f.value);
		else if (f.number == 3)
			thing->y_mm = zigzag(f.value);
	}
	return thing->id != 0;
}

/* ---- what is near ---- */

static uint32_t find(const struct hunt *h, uint32_t id)
{
	uint32_t i = 0;

	while (i < h->count && h->near[i].id != id)
		i++;
	return i;
}

static void forget(struct hunt *h, uint32_t id)
{
	uint32_t i = find(h, id);

	if (h->target == id)
		h->target = 0;
	if (i == h->count)
		return;
	h->count--;
	h->near[i] = h->near[h->count];
	h->is_loot[i] = h->is_loot[h->count];
}

static void enter(struct hunt *h, const uint8_t *at, const uint8_t *end)
{
	struct hunt_thing thing = {0};
	struct field f;
	uint64_t kind = 0;
	uint32_t i;

	while (next_field(&at, end, &f)) {
		if (f.number == 1 && f.bytes)
			state(f.bytes, f.end, &thing);
		else if (f.number == 2 && !f.bytes)
			kind = f.value;
	}
	if (thing.id && thing.id == h->self) {
		h->x_mm = thing.x_mm;
		h->y_mm = thing.y_mm;
	}
	if (!thing.id || (kind != SW__ACTOR_KIND__MONSTER && kind != SW__ACTOR_KIND__LOOT))
		return;
	i = find(h, thing.id);
	if (i == HUNT_NEAR)
		return;
	h->near[i] = thing;
	h->is_loot[i] = kind == SW__ACTOR_KIND__LOOT;
	h->count += i == h->count;
}

void hunt_view(struct hunt *h, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *enters = at;
	struct field f;

	/* Leaves come first, whatever their place in the message. */
	while (next_field(&at, end, &f)) {
		uint64_t id;

		if (f.number != 4)
			continue;
		if (!f.bytes)
			forget(h, (uint32_t)f.value);
		else
			while (varint(&f.bytes, f.end, &id))
				forget(h, (uint32_t)id);
	}
	while (next_field(&enters, end, &f))
		if (f.number == 3 && f.bytes)
			enter(h, f.bytes, f.end);
}

void hunt_joined(struct hunt *h, const uint8_t *at, const uint8_t *end)
{
	struct field f;

	*h = (struct hunt){0};
	while (next_field(&at, end, &f)) {
		if (f.number == 1)
			h->self = (uint32_t)f.value;
		else if (f.number == 5)
			h->x_mm = zigzag(f.value);
		else if (f.number == 6)
			h->y_mm = zigzag(f.value);
	}
	/* Not all in the same tick. */
	h->look_at = h->self % HUNT_LOOK + 1;
}

void hunt_refused(struct hunt *h, const uint8_t *at, const uint8_t *end)
{
	struct field f;
	uint64_t reason = 0;

	while (next_field(&at, end, &f))
		if (f.number == 2)
			reason = f.value;
	switch (reason) {
	case SW__ACTION_REFUSAL__COOLING_DOWN:
	case SW__ACTION_REFUSAL__TOO_FAR:
	case SW__ACTION_REFUSAL__BUSY:
		return; /* the next try may do */
	default:
		forget(h, h->target);
	}
}

/* ---- looking, going, acting ---- */

static uint64_t distance_squared(const struct hunt *h, const struct hunt_thing *thing)
{
	int64_t dx = (int64_t)thing->x_mm - h->x_mm, dy = (int64_t)thing->y_mm - h->y_mm;

	return (uint64_t)(dx * dx + dy * dy);
}

static void look(struct hunt *h, uint32_t input)
{
	uint64_t nearest = (uint64_t)HUNT_SIGHT_MM * HUNT_SIGHT_MM;

	h->looks = false;
	for (uint32_t i = 0; i < h->count; i++) {
		uint64_t distance = distance_squared(h, &h->near[i]);

		if (distance > nearest)
			continue;
		nearest = distance;
		h->target = h->near[i].id;
		h->loot = h->is_loot[i];
	}
	h->until = input + HUNT_GIVE_UP;
}

void hunt_update(struct hunt *h, uint32_t input, const uint8_t *at, const uint8_t *end)
{
	struct field f;

	while (next_field(&at, end, &f)) {
		struct hunt_thing thing;
		uint32_t i;

		if (f.number != 3 || !f.bytes || !state(f.bytes, f.end, &thing))
			continue;
		if (thing.id == h->self) {
			h->x_mm = thing.x_mm;
			h->y_mm = thing.y_mm;
			continue;
		}
		i = find(h, thing.id);
		if (i < h->count)
			h->near[i] = thing;
	}
	if (h->looks)
		look(h, input);
}

/* A way of full length along its longer axis. */
static void towards(const struct hunt *h, const struct hunt_thing *thing, int8_t *dx, int8_t *dy)
{
	int64_t x = (int64_t)thing->x_mm - h->x_mm, y = (int64_t)thing->y_mm - h->y_mm;
	int64_t far = (x < 0 ? -x : x) > (y < 0 ? -y : y) ? (x < 0 ? -x : x) : (y < 0 ? -y : y);

	*dx = far ? (int8_t)(x * 127 / far) : 0;
	*dy = far ? (int8_t)(y * 127 / far) : 0;
}

enum hunt_act hunt_step(
	struct hunt *h, uint32_t input, bool may_act, int8_t *dx, int8_t *dy, uint32_t *actor_id)
{
	enum hunt_act act = HUNT_WALK;
	uint32_t i = h->target ? find(h, h->target) : h->count;
	int64_t reach = h->loot ? HUNT_GRAB_MM : HUNT_BLOW_MM;

	if ((int32_t)(input - h->look_at) >= 0) {
		h->look_at = input + HUNT_LOOK;
		h->looks = !h->target;
	}
	if (h->target && (i == h->count || (int32_t)(input - h->until) >= 0)) {
		forget(h, h->target);
	} else if (h->target && distance_squared(h, &h->near[i]) > (uint64_t)(reach * reach)) {
		towards(h, &h->near[i], dx, dy);
	} else if (h->target) {
		*dx = *dy = 0;
		if (may_act && (int32_t)(input - h->act_at) >= 0) {
			h->act_at = input + (h->loot ? HUNT_PICK : HUNT_STRIKE);
			*actor_id = h->target;
			act = h->loot ? HUNT_PICK_UP : HUNT_ATTACK;
		}
	}
	h->dx[input % HUNT_INPUTS] = *dx;
	h->dy[input % HUNT_INPUTS] = *dy;
	return act;
}
