/* Opening and closing that no player asked for: an operator did, or an instance is one too many. */
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/director/director_internal.h"

/* Between two looks for instances that are too many. */
#define LOOK_MS 100u
/* What the others of the map must have room for: so much of players_max. */
#define SPARE_SHARE 4u

const char *director_refusal_text(enum director_refusal refusal)
{
	static const char *const texts[DIRECTOR_REFUSAL_COUNT] = {
#define TEXT(id, sentence) sentence,
		DIRECTOR_REFUSALS(TEXT)
#undef TEXT
	};

	return texts[refusal];
}

/* ---- opening ---- */

/* Slots of which one more instance can come, or comes now. */
static uint32_t slots_to_come(const struct director *d, const struct definition *def)
{
	return director_with_state(d, def, INSTANCE_EMPTY) +
	       director_with_state(d, def, INSTANCE_ENDED) +
	       director_with_state(d, def, INSTANCE_BUILDING);
}

void director_asked_settle(struct director *d, struct definition *def, uint32_t id)
{
	if (!def->asked)
		return;
	def->asked--;
	if (id != INSTANCE_NONE)
		director_count(d, DIRECTOR_C_OPENED_ORDERED);
	d->ops.asked(d->ops.ctx, (uint32_t)(def - d->definitions), id);
}

enum director_refusal director_open(
	struct director *d, uint32_t definition, uint64_t now_ns, uint32_t *id)
{
	struct definition *def = &d->definitions[definition];

	CHECK(definition < d->config->map_count && d->ops.asked);
	*id = INSTANCE_NONE;
	if (d->stopped)
		return DIRECTOR_REFUSED_STOPPING;
	if (!def->served)
		return DIRECTOR_REFUSED_NOT_SERVED;
	for (uint32_t i = def->first; i < def->first + def->slots; i++) {
		/* Whoever asked before has the first one. */
		if (slot_state(&d->slots[i]) != INSTANCE_WARM || def->asked)
			continue;
		director_count(d, DIRECTOR_C_OPENED_WARM);
		director_count(d, DIRECTOR_C_OPENED_ORDERED);
		director_open_slot(d, &d->slots[i]);
		*id = slot_get(&d->slots[i].id);
		director_order_next(d, now_ns);
		return DIRECTOR_REFUSED_NONE;
	}
	/* Those that players wait for, and those asked for before, need slots too. */
	if (slots_to_come(d, def) <= def->wanted + def->asked)
		return DIRECTOR_REFUSED_LIMIT;
	def->asked++;
	director_order_next(d, now_ns);
	return DIRECTOR_REFUSED_NONE;
}

/* Players who came meanwhile may have taken the last one that may be. */
static void give_up_orders(struct director *d, struct definition *def)
{
	while (def->asked && slots_to_come(d, def) < def->wanted + def->asked)
		director_asked_settle(d, def, INSTANCE_NONE);
}

/* ---- closing ---- */

static bool is_map(const struct director *d, const struct slot *slot)
{
	uint32_t definition = instance_definition(d->config, (uint32_t)(slot - d->slots));

	return d->config->maps[definition].kind != CONFIG_MAP_ROOM;
}

/* Room for players on the other open instances of its map. */
static uint64_t room_beside(
	const struct director *d, const struct definition *def, const struct slot *slot)
{
	uint32_t max = d->config->maps[def - d->definitions].players_max;
	uint64_t room = 0;

	for (uint32_t i = def->first; i < def->first + def->slots; i++) {
		const struct slot *other = &d->slots[i];
		uint32_t players = slot_get(&other->players);

		if (other != slot && slot_state(other) == INSTANCE_OPEN && players < max)
			room += max - players;
	}
	return room;
}

/* The same on instances that are ready, or may still be prepared. */
static uint64_t room_to_come(const struct director *d, const struct definition *def)
{
	uint64_t slots = slots_to_come(d, def) + director_with_state(d, def, INSTANCE_WARM);

	return slots * d->config->maps[def - d->definitions].players_max;
}

static void close_slot(struct director *d, struct slot *slot)
{
	const struct msg_instance body = {slot_get(&slot->id), INSTANCE_CLOSING};
	struct msg message;

	director_become(d, slot, INSTANCE_CLOSING);
	director_count(d, DIRECTOR_C_CLOSINGS);
	memcpy(msg_begin(&message, MSG_INSTANCE_CLOSE, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	message.subject = body.id;
	d->ops.to_shard(d->ops.ctx, slot_get(&slot->shard), &message);
	d->changes++;
}

enum director_refusal director_close(struct director *d, uint32_t id)
{
	struct slot *slot = director_find(d, id);
	struct definition *def;

	if (d->stopped)
		return DIRECTOR_REFUSED_STOPPING;
	if (!slot || slot_state(slot) == INSTANCE_EMPTY || slot_state(slot) == INSTANCE_ENDED)
		return DIRECTOR_REFUSED_UNKNOWN;
	if (!slot_is_running(slot))
		return DIRECTOR_REFUSED_NOT_RUNNING;
	if (slot_state(slot) == INSTANCE_CLOSING)
		return DIRECTOR_REFUSED_CLOSING;
	def = &d->definitions[instance_definition(d->config, instance_slot(id))];
	if (is_map(d, slot)) {
		if (director_with_state(d, def, INSTANCE_OPEN) < 2)
			return DIRECTOR_REFUSED_LAST;
		if (room_beside(d, def, slot) + room_to_come(d, def) < slot_get(&slot->players))
			return DIRECTOR_REFUSED_NO_ROOM;
	}
	director_count(d, DIRECTOR_C_CLOSED_ORDERED);
	close_slot(d, slot);
	return DIRECTOR_REFUSED_NONE;
}

/* ---- one too many ---- */

static bool empty_long_enough(struct slot *slot, uint64_t now_ns, uint64_t after_ns)
{
	if (slot_get(&slot->players))
		slot->empty_since_ns = 0;
	else if (!slot->empty_since_ns)
		slot->empty_since_ns = now_ns;
	return slot->empty_since_ns && now_ns - slot->empty_since_ns >= after_ns;
}

static void close_one_too_many(struct director *d, uint32_t definition, uint64_t now_ns)
{
	struct definition *def = &d->definitions[definition];
	const struct config_map *map = &d->config->maps[definition];
	uint32_t keep = map->instances ? map->instances : 1;
	struct placement_load loads[CONFIG_LCORES_MAX];
	struct slot *hottest = NULL;
	uint64_t heat = 0;

	director_loads(d, loads);
	for (uint32_t i = def->first; i < def->first + def->slots; i++) {
		struct slot *slot = &d->slots[i];
		uint64_t here;

		if (slot_state(slot) != INSTANCE_OPEN ||
			!empty_long_enough(slot, now_ns, map->close_after_s * NS_PER_S))
			continue;
		here = placement_heat(
			&loads[slot_get(&slot->shard)], d->config->simulation.players_max);
		/* Of equals the last one: the lowest slots are those that players are sent to. */
		if (hottest && here < heat)
			continue;
		hottest = slot;
		heat = here;
	}
	/* Looked at all, so that each one's time runs; now whether one may go. */
	if (!hottest || def->wanted || def->asked ||
		director_with_state(d, def, INSTANCE_CLOSING) ||
		director_with_state(d, def, INSTANCE_OPEN) <= keep ||
		room_beside(d, def, hottest) * SPARE_SHARE < map->players_max)
		return;
	director_count(d, DIRECTOR_C_CLOSED_EMPTY);
	close_slot(d, hottest);
}

void director_close_tick(struct director *d, uint64_t now_ns)
{
	if (d->stopped || now_ns - d->looked_ns < LOOK_MS * NS_PER_MS)
		return;
	d->looked_ns = now_ns;
	for (uint32_t i = 0; i < d->config->map_count; i++) {
		give_up_orders(d, &d->definitions[i]);
		if (d->config->maps[i].kind != CONFIG_MAP_ROOM && d->config->maps[i].close_after_s)
			close_one_too_many(d, i, now_ns);
	}
}
