#include "control/director/director.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"

struct definition {
	uint32_t first, slots;
	bool served;     /* its shard exists */
	uint32_t wanted; /* to be opened as soon as they are built */
	uint64_t retry_ns;
};

/* The control thread writes; director_status reads from any thread. */
struct slot {
	_Atomic uint32_t id, state, shard, players;
	uint32_t generation;
	uint64_t refused_until_ns; /* full, as the shard says */
};

struct director {
	const struct sw_config *config;
	uint32_t shards, count;
	struct director_ops ops;
	struct definition definitions[CONFIG_MAPS_MAX];
	struct slot slots[CONFIG_INSTANCES_MAX];
	uint32_t on_shard[CONFIG_LCORES_MAX]; /* instances */
	uint32_t building;                    /* the id under way; INSTANCE_NONE: none */
	bool started, stopped;
	uint64_t changes;
	_Atomic uint64_t counters[DIRECTOR_COUNTER_COUNT];
	struct counter_set set;
};

static const struct counter_desc counter_descs[DIRECTOR_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
	DIRECTOR_COUNTERS(DESC)
#undef DESC
};

static void count(struct director *d, enum director_counter counter)
{
	counter_add(&d->counters[counter], 1);
}

static enum instance_state state_of(const struct slot *slot)
{
	return (enum instance_state)atomic_load_explicit(
		&((struct slot *)(uintptr_t)slot)->state, memory_order_relaxed);
}

static uint32_t get(const _Atomic uint32_t *value)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)value, memory_order_relaxed);
}

static void put(_Atomic uint32_t *to, uint32_t value)
{
	atomic_store_explicit(to, value, memory_order_relaxed);
}

static bool is_running(enum instance_state state)
{
	return state == INSTANCE_OPEN || state == INSTANCE_LOCKED || state == INSTANCE_CLOSING;
}

/* Which states lead to which. A word that does not fit is not believed. */
static bool may_become(enum instance_state from, enum instance_state to)
{
	static const uint32_t next[INSTANCE_STATE_COUNT] = {
		[INSTANCE_EMPTY] = 1u << INSTANCE_BUILDING,
		[INSTANCE_BUILDING] = 1u << INSTANCE_WARM | 1u << INSTANCE_EMPTY,
		[INSTANCE_WARM] = 1u << INSTANCE_OPEN,
		[INSTANCE_OPEN] =
			1u << INSTANCE_LOCKED | 1u << INSTANCE_CLOSING | 1u << INSTANCE_ENDED,
		[INSTANCE_LOCKED] =
			1u << INSTANCE_OPEN | 1u << INSTANCE_CLOSING | 1u << INSTANCE_ENDED,
		[INSTANCE_CLOSING] = 1u << INSTANCE_ENDED,
		[INSTANCE_ENDED] = 1u << INSTANCE_BUILDING,
	};

	return (uint32_t)to < INSTANCE_STATE_COUNT && next[from] >> to & 1;
}

static void become(struct director *d, struct slot *slot, enum instance_state state)
{
	uint64_t running = 0, warm = 0;

	CHECK(may_become(state_of(slot), state));
	put(&slot->state, state);
	for (uint32_t i = 0; i < d->count; i++) {
		running += is_running(state_of(&d->slots[i]));
		warm += state_of(&d->slots[i]) == INSTANCE_WARM;
	}
	counter_put(&d->counters[DIRECTOR_C_RUNNING], running);
	counter_put(&d->counters[DIRECTOR_C_WARM], warm);
}

/* The slot of an instance that is still the one of this id. */
static struct slot *find(const struct director *d, uint32_t id)
{
	uint32_t at = instance_slot(id);

	if (id == INSTANCE_NONE || at >= d->count || get(&d->slots[at].id) != id)
		return NULL;
	return (struct slot *)(uintptr_t)&d->slots[at];
}

/* ---- building ---- */

static uint32_t with_state(
	const struct director *d, const struct definition *def, enum instance_state state)
{
	uint32_t n = 0;

	for (uint32_t i = def->first; i < def->first + def->slots; i++)
		n += state_of(&d->slots[i]) == state;
	return n;
}

static struct slot *free_slot(struct director *d, const struct definition *def)
{
	for (uint32_t i = def->first; i < def->first + def->slots; i++)
		if (state_of(&d->slots[i]) == INSTANCE_EMPTY ||
			state_of(&d->slots[i]) == INSTANCE_ENDED)
			return &d->slots[i];
	return NULL;
}

static bool order(struct director *d, struct definition *def, uint64_t now_ns)
{
	struct slot *slot = free_slot(d, def);

	if (!slot || !def->served || now_ns < def->retry_ns)
		return false;
	slot->generation = handle_generation_next(slot->generation);
	put(&slot->id, instance_id((uint32_t)(slot - d->slots), slot->generation));
	put(&slot->players, 0);
	slot->refused_until_ns = 0;
	become(d, slot, INSTANCE_BUILDING);
	d->building = get(&slot->id);
	d->ops.build(d->ops.ctx, d->building);
	return true;
}

/* One build at a time: what somebody waits for, then what is to be kept warm. */
static void order_next(struct director *d, uint64_t now_ns)
{
	if (!d->started || d->stopped || d->building != INSTANCE_NONE)
		return;
	for (uint32_t i = 0; i < d->config->map_count; i++)
		if (d->definitions[i].wanted && order(d, &d->definitions[i], now_ns))
			return;
	for (uint32_t i = 0; i < d->config->map_count; i++) {
		struct definition *def = &d->definitions[i];

		if (with_state(d, def, INSTANCE_WARM) < d->config->maps[i].warm &&
			order(d, def, now_ns))
			return;
	}
}

static uint32_t shard_for(const struct director *d, uint32_t definition)
{
	uint32_t fixed = d->config->maps[definition].shard;
	struct placement_load loads[CONFIG_LCORES_MAX];

	if (fixed != CONFIG_SHARD_ANY)
		return fixed;
	for (uint32_t s = 0; s < d->shards; s++) {
		loads[s] = (struct placement_load){0};
		d->ops.load(d->ops.ctx, s, &loads[s]);
		loads[s].instances = d->on_shard[s];
	}
	return placement_coolest(loads, d->shards, d->config->simulation.players_max);
}

/* Hands it to a shard. What it was is a warm instance, or one that has just been built. */
static void open_slot(struct director *d, struct slot *slot)
{
	uint32_t definition = instance_definition(d->config, (uint32_t)(slot - d->slots));
	const struct msg_instance body = {get(&slot->id), INSTANCE_OPEN};
	uint32_t shard = shard_for(d, definition);
	struct msg message;

	put(&slot->shard, shard);
	d->on_shard[shard]++;
	become(d, slot, INSTANCE_OPEN);
	memcpy(msg_begin(&message, MSG_INSTANCE_OPEN, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	message.subject = body.id;
	d->ops.to_shard(d->ops.ctx, shard, &message);
	d->changes++;
}

void director_built(struct director *d, uint32_t id, bool good, uint64_t now_ns)
{
	struct slot *slot = find(d, id);
	struct definition *def;

	CHECK(slot && d->building == id && state_of(slot) == INSTANCE_BUILDING);
	d->building = INSTANCE_NONE;
	def = &d->definitions[instance_definition(d->config, instance_slot(id))];
	if (!good) {
		count(d, DIRECTOR_C_BUILDS_FAILED);
		become(d, slot, INSTANCE_EMPTY);
		def->retry_ns = now_ns + DIRECTOR_RETRY_MS * NS_PER_MS;
	} else {
		count(d, DIRECTOR_C_BUILDS);
		become(d, slot, INSTANCE_WARM);
		if (def->wanted && !d->stopped) {
			def->wanted--;
			count(d, DIRECTOR_C_OPENED_COLD);
			open_slot(d, slot);
		}
	}
	order_next(d, now_ns);
}

/* ---- what shards say ---- */

void director_from_shard(
	struct director *d, uint32_t shard, const struct msg *message, uint64_t now_ns)
{
	struct msg_instance body;
	struct slot *slot = NULL;

	if (message->type == MSG_INSTANCE_STATE && message->payload_bytes == sizeof(body)) {
		memcpy(&body, msg_payload(message), sizeof(body));
		slot = find(d, body.id);
	}
	if (!slot || !is_running(state_of(slot)) || get(&slot->shard) != shard ||
		!may_become(state_of(slot), (enum instance_state)body.state)) {
		count(d, DIRECTOR_C_STALE);
		return;
	}
	become(d, slot, (enum instance_state)body.state);
	if (body.state == INSTANCE_CLOSING)
		count(d, DIRECTOR_C_CLOSINGS);
	if (body.state == INSTANCE_ENDED) {
		count(d, DIRECTOR_C_ENDED);
		d->on_shard[shard]--;
		put(&slot->players, 0);
	}
	d->changes++;
	order_next(d, now_ns);
}

void director_tick(struct director *d, uint64_t now_ns)
{
	order_next(d, now_ns);
}

/* ---- whom a player is sent to ---- */

uint32_t director_definition(const struct director *d, const char *name)
{
	for (uint32_t i = 0; i < d->config->map_count; i++)
		if (d->definitions[i].served &&
			!strncmp(d->config->maps[i].name, name, MAP_NAME_BYTES))
			return i;
	return DIRECTOR_NO_DEFINITION;
}

static bool has_room(
	const struct director *d, uint32_t definition, const struct slot *slot, uint64_t now_ns)
{
	return now_ns >= slot->refused_until_ns &&
	       get(&slot->players) < d->config->maps[definition].players_max;
}

bool director_takes_back(const struct director *d, uint32_t id, uint64_t now_ns)
{
	const struct slot *slot = find(d, id);

	return slot &&
	       has_room(d, instance_definition(d->config, instance_slot(id)), slot, now_ns) &&
	       (state_of(slot) == INSTANCE_OPEN || state_of(slot) == INSTANCE_LOCKED);
}

static struct slot *fullest_open(
	struct director *d, uint32_t definition, uint32_t avoid, uint64_t now_ns)
{
	const struct definition *def = &d->definitions[definition];
	struct slot *best = NULL;

	for (uint32_t i = def->first; i < def->first + def->slots; i++) {
		struct slot *slot = &d->slots[i];

		if (state_of(slot) != INSTANCE_OPEN || get(&slot->id) == avoid ||
			!has_room(d, definition, slot, now_ns))
			continue;
		if (!best || get(&slot->players) > get(&best->players))
			best = slot;
	}
	return best;
}

enum director_choice director_choose(struct director *d, uint32_t definition, uint32_t left,
	uint32_t avoid, uint64_t now_ns, uint32_t *id)
{
	struct definition *def = &d->definitions[definition];
	struct slot *slot;

	CHECK(definition < d->config->map_count && def->served);
	if (left != avoid && director_takes_back(d, left, now_ns) &&
		instance_definition(d->config, instance_slot(left)) == definition) {
		count(d, DIRECTOR_C_CHOSE_LEFT);
		*id = left;
		return DIRECTOR_CHOSE;
	}
	slot = fullest_open(d, definition, avoid, now_ns);
	if (slot) {
		count(d, DIRECTOR_C_CHOSE_OPEN);
		*id = get(&slot->id);
		return DIRECTOR_CHOSE;
	}
	if (d->stopped)
		return DIRECTOR_NONE;
	for (uint32_t i = def->first; i < def->first + def->slots; i++) {
		if (state_of(&d->slots[i]) != INSTANCE_WARM)
			continue;
		count(d, DIRECTOR_C_CHOSE_WARM);
		count(d, DIRECTOR_C_OPENED_WARM);
		open_slot(d, &d->slots[i]);
		*id = get(&d->slots[i].id);
		order_next(d, now_ns);
		return DIRECTOR_CHOSE;
	}
	if (free_slot(d, def) || with_state(d, def, INSTANCE_BUILDING)) {
		count(d, DIRECTOR_C_CHOSE_WAIT);
		def->wanted = def->wanted ? def->wanted : 1;
		order_next(d, now_ns);
		return DIRECTOR_WAIT;
	}
	count(d, DIRECTOR_C_CHOSE_NONE);
	return DIRECTOR_NONE;
}

uint64_t director_changes(const struct director *d)
{
	return d->changes;
}

bool director_runs(const struct director *d, uint32_t id, uint32_t *shard)
{
	const struct slot *slot = find(d, id);

	if (!slot || !is_running(state_of(slot)))
		return false;
	*shard = get(&slot->shard);
	return true;
}

void director_enter(struct director *d, uint32_t id)
{
	struct slot *slot = find(d, id);

	if (slot)
		put(&slot->players, get(&slot->players) + 1);
}

void director_leave(struct director *d, uint32_t id)
{
	struct slot *slot = find(d, id);

	if (!slot || !get(&slot->players))
		return;
	put(&slot->players, get(&slot->players) - 1);
	slot->refused_until_ns = 0;
	d->changes++;
}

void director_refused(struct director *d, uint32_t id, uint64_t now_ns)
{
	struct slot *slot = find(d, id);

	if (slot)
		slot->refused_until_ns = now_ns + DIRECTOR_RETRY_MS * NS_PER_MS;
}

/* ---- life ---- */

struct director *director_new(
	const struct sw_config *config, uint32_t shards, const struct director_ops *ops)
{
	struct director *d = calloc(1, sizeof(*d));

	CHECK(shards >= 1 && shards <= CONFIG_LCORES_MAX);
	if (!d)
		return NULL;
	d->config = config;
	d->shards = shards;
	d->ops = *ops;
	d->count = instance_first(config, config->map_count);
	CHECK(d->count <= CONFIG_INSTANCES_MAX);
	for (uint32_t i = 0; i < config->map_count; i++)
		d->definitions[i] = (struct definition){.first = instance_first(config, i),
			.slots = instance_max(&config->maps[i]),
			.served = config->maps[i].shard == CONFIG_SHARD_ANY ||
				  config->maps[i].shard < shards,
			.wanted = instance_at_start(&config->maps[i])};
	d->set = (struct counter_set){
		"instances", 0, DIRECTOR_COUNTER_COUNT, counter_descs, d->counters};
	return d;
}

void director_free(struct director *d)
{
	free(d);
}

void director_start(struct director *d, uint64_t now_ns)
{
	d->started = true;
	order_next(d, now_ns);
}

void director_stop(struct director *d)
{
	d->stopped = true;
}

uint32_t director_slots(const struct director *d)
{
	return d->count;
}

void director_status(const struct director *d, uint32_t at, struct director_status *out)
{
	const struct slot *slot = &d->slots[at];

	CHECK(at < d->count);
	*out = (struct director_status){.id = get(&slot->id),
		.definition = instance_definition(d->config, at),
		.shard = get(&slot->shard),
		.state = state_of(slot),
		.running = is_running(state_of(slot)),
		.players = get(&slot->players)};
}

const struct counter_set *director_counters(const struct director *d)
{
	return &d->set;
}
