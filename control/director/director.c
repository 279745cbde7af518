#include "control/director/director_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"

static const struct counter_desc counter_descs[DIRECTOR_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
	DIRECTOR_COUNTERS(DESC)
#undef DESC
};

void director_count(struct director *d, enum director_counter counter)
{
	counter_add(&d->counters[counter], 1);
}

bool director_may_become(enum instance_state from, enum instance_state to)
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

void director_become(struct director *d, struct slot *slot, enum instance_state state)
{
	uint64_t running = 0, warm = 0;

	CHECK(director_may_become(slot_state(slot), state));
	slot_put(&slot->state, state);
	for (uint32_t i = 0; i < d->count; i++) {
		running += slot_is_running(&d->slots[i]);
		warm += slot_state(&d->slots[i]) == INSTANCE_WARM;
	}
	counter_put(&d->counters[DIRECTOR_C_RUNNING], running);
	counter_put(&d->counters[DIRECTOR_C_WARM], warm);
}

struct slot *director_find(const struct director *d, uint32_t id)
{
	uint32_t at = instance_slot(id);

	if (id == INSTANCE_NONE || at >= d->count || slot_get(&d->slots[at].id) != id)
		return NULL;
	return (struct slot *)(uintptr_t)&d->slots[at];
}

/* ---- building ---- */

uint32_t director_with_state(
	const struct director *d, const struct definition *def, enum instance_state state)
{
	uint32_t n = 0;

	for (uint32_t i = def->first; i < def->first + def->slots; i++)
		n += slot_state(&d->slots[i]) == state;
	return n;
}

struct slot *director_free_slot(struct director *d, const struct definition *def)
{
	for (uint32_t i = def->first; i < def->first + def->slots; i++)
		if (slot_state(&d->slots[i]) == INSTANCE_EMPTY ||
			slot_state(&d->slots[i]) == INSTANCE_ENDED)
			return &d->slots[i];
	return NULL;
}

static bool order(struct director *d, struct definition *def, uint64_t now_ns)
{
	struct slot *slot = director_free_slot(d, def);

	if (!slot || !def->served || now_ns < def->retry_ns)
		return false;
	slot->generation = handle_generation_next(slot->generation);
	slot_put(&slot->id, instance_id((uint32_t)(slot - d->slots), slot->generation));
	slot_put(&slot->players, 0);
	slot->refused_until_ns = 0;
	slot->empty_since_ns = 0;
	director_become(d, slot, INSTANCE_BUILDING);
	d->building = slot_get(&slot->id);
	d->ops.build(d->ops.ctx, d->building);
	return true;
}

void director_order_next(struct director *d, uint64_t now_ns)
{
	if (!d->started || d->stopped || d->building != INSTANCE_NONE)
		return;
	for (uint32_t i = 0; i < d->config->map_count; i++)
		if (d->definitions[i].wanted && order(d, &d->definitions[i], now_ns))
			return;
	for (uint32_t i = 0; i < d->config->map_count; i++)
		if (d->definitions[i].asked && order(d, &d->definitions[i], now_ns))
			return;
	for (uint32_t i = 0; i < d->config->map_count; i++) {
		struct definition *def = &d->definitions[i];

		if (director_with_state(d, def, INSTANCE_WARM) < d->config->maps[i].warm &&
			order(d, def, now_ns))
			return;
	}
}

void director_loads(const struct director *d, struct placement_load loads[CONFIG_LCORES_MAX])
{
	for (uint32_t s = 0; s < d->shards; s++) {
		loads[s] = (struct placement_load){0};
		d->ops.load(d->ops.ctx, s, &loads[s]);
		loads[s].instances = d->on_shard[s];
	}
}

static uint32_t shard_for(const struct director *d, uint32_t definition)
{
	uint32_t fixed = d->config->maps[definition].shard;
	struct placement_load loads[CONFIG_LCORES_MAX];

	if (fixed != CONFIG_SHARD_ANY)
		return fixed;
	director_loads(d, loads);
	return placement_coolest(loads, d->shards, d->config->simulation.players_max);
}

void director_open_slot(struct director *d, struct slot *slot)
{
	uint32_t definition = instance_definition(d->config, (uint32_t)(slot - d->slots));
	const struct msg_instance body = {slot_get(&slot->id), INSTANCE_OPEN};
	uint32_t shard = shard_for(d, definition);
	struct msg message;

	slot_put(&slot->shard, shard);
	d->on_shard[shard]++;
	director_become(d, slot, INSTANCE_OPEN);
	memcpy(msg_begin(&message, MSG_INSTANCE_OPEN, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	message.subject = body.id;
	d->ops.to_shard(d->ops.ctx, shard, &message);
	d->changes++;
}

void director_built(struct director *d, uint32_t id, bool good, uint64_t now_ns)
{
	struct slot *slot = director_find(d, id);
	struct definition *def;

	CHECK(slot && d->building == id && slot_state(slot) == INSTANCE_BUILDING);
	d->building = INSTANCE_NONE;
	def = &d->definitions[instance_definition(d->config, instance_slot(id))];
	if (!good) {
		director_count(d, DIRECTOR_C_BUILDS_FAILED);
		director_become(d, slot, INSTANCE_EMPTY);
		def->retry_ns = now_ns + DIRECTOR_RETRY_MS * NS_PER_MS;
		/* Who asked is told, and may ask again; who plays is waited for. */
		if (!def->wanted)
			director_asked_settle(d, def, INSTANCE_NONE);
	} else {
		director_count(d, DIRECTOR_C_BUILDS);
		director_become(d, slot, INSTANCE_WARM);
		if ((def->wanted || def->asked) && !d->stopped) {
			director_count(d, DIRECTOR_C_OPENED_COLD);
			director_open_slot(d, slot);
			if (def->wanted)
				def->wanted--;
			else
				director_asked_settle(d, def, id);
		}
	}
	director_order_next(d, now_ns);
}

/* ---- what shards say ---- */

void director_from_shard(
	struct director *d, uint32_t shard, const struct msg *message, uint64_t now_ns)
{
	struct msg_instance body;
	struct slot *slot = NULL;

	if (message->type == MSG_INSTANCE_STATE && message->payload_bytes == sizeof(body)) {
		memcpy(&body, msg_payload(message), sizeof(body));
		slot = director_find(d, body.id);
	}
	/* The shard's answer to an order to close. */
	if (slot && slot_state(slot) == INSTANCE_CLOSING && body.state == INSTANCE_CLOSING &&
		slot_get(&slot->shard) == shard)
		return;
	if (!slot || !slot_is_running(slot) || slot_get(&slot->shard) != shard ||
		!director_may_become(slot_state(slot), (enum instance_state)body.state)) {
		director_count(d, DIRECTOR_C_STALE);
		return;
	}
	director_become(d, slot, (enum instance_state)body.state);
	if (body.state == INSTANCE_CLOSING)
		director_count(d, DIRECTOR_C_CLOSINGS);
	if (body.state == INSTANCE_ENDED) {
		director_count(d, DIRECTOR_C_ENDED);
		d->on_shard[shard]--;
		slot_put(&slot->players, 0);
	}
	d->changes++;
	director_order_next(d, now_ns);
}

void director_tick(struct director *d, uint64_t now_ns)
{
	director_order_next(d, now_ns);
	director_close_tick(d, now_ns);
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
	director_order_next(d, now_ns);
}

void director_stop(struct director *d)
{
	d->stopped = true;
	for (uint32_t i = 0; i < d->config->map_count; i++)
		while (d->definitions[i].asked)
			director_asked_settle(d, &d->definitions[i], INSTANCE_NONE);
}

uint32_t director_slots(const struct director *d)
{
	return d->count;
}

void director_status(const struct director *d, uint32_t at, struct director_status *out)
{
	const struct slot *slot = &d->slots[at];

	CHECK(at < d->count);
	*out = (struct director_status){.id = slot_get(&slot->id),
		.definition = instance_definition(d->config, at),
		.shard = slot_get(&slot->shard),
		.state = slot_state(slot),
		.running = slot_is_running(slot),
		.players = slot_get(&slot->players)};
}

const struct counter_set *director_counters(const struct director *d)
{
	return &d->set;
}
