#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/tables.h"
#include "simulation/client_message.h"
#include "simulation/cycles.h"
#include "simulation/instance.h"
#include "simulation/random.h"
#include "simulation/state.h"

#define X_SUM(id, name, kind, help)  {name, help, kind},
#define X_REFUSAL(id, name, help)    {"malformed_" name, help, COUNTER_SUM},
#define X_DENIAL(id, name, help)     {"refused_" name, help, COUNTER_SUM},
#define X_TRADE(id, name, help)      {"refused_trade_" name, help, COUNTER_SUM},
#define X_END(id, value, name, help) {"trades_" name, help, COUNTER_SUM},
#define X_OVERRUN(id, name, help)                                                                  \
	{"overruns_" name, "overruns of which most was stage " help, COUNTER_SUM},
static const struct counter_desc counter_desc[SIM_COUNTER_COUNT] = {
	SIM_COUNTERS(X_SUM) SIM_PARSE_REFUSALS(X_REFUSAL) SIM_ACTION_REFUSALS(X_DENIAL)
		TRADE_REFUSALS(X_TRADE) SIM_MATCH_REFUSALS(X_DENIAL) SIM_QUEST_REFUSALS(X_DENIAL)
			TRADE_ENDS(X_END) SIM_STAGE_LIST(X_OVERRUN)};

/* A lay-out is walked twice: once to add up, once to hand out. */
struct layout {
	uint8_t *base; /* NULL while adding up */
	size_t used;
};

static void *take(struct layout *layout, size_t bytes)
{
	size_t at = layout->used;

	layout->used += (bytes + 63) & ~(size_t)63;
	return layout->base ? layout->base + at : NULL;
}

/* The sum of a shard: who sits where, and per ring what waits on this side. W workers. Its maps
 * bring their own (instance.c). */
static void lay_out_shard(struct layout *l, struct sim_shard *s, uint32_t outbox_slots)
{
	uint32_t workers = s->links.workers;
	struct sim_inlet *inlet;

	s->seats =
		take(l, (size_t)workers * s->peers_max * sizeof(*s->seats)); /* W x peers x 4 B */
	s->scratch = take(l, sizeof(*s->scratch));   /* 8 KiB: a message being built */
	s->parse_memory = take(l, SIM_PARSE_MEMORY); /* 4 KiB: a client message being read */
	for (uint32_t w = 0; w < workers; w++) {
		inlet = &s->dataplane[w];
		inlet->batch = take(l, SIM_SCRATCH_SLOTS * MSG_SLOT_BYTES); /* W x 16 KiB */
		/* W x rings.slots x 64 B: as much may wait as a ring holds */
		s->outbox[w].slots = take(l, (size_t)outbox_slots * MSG_SLOT_BYTES);
		s->outbox[w].size = outbox_slots;
	}
	s->control.batch = take(l, SIM_SCRATCH_SLOTS * MSG_SLOT_BYTES); /* 16 KiB */
	s->world.batch = take(l, SIM_SCRATCH_SLOTS * MSG_SLOT_BYTES);   /* 16 KiB */
}

static void take_config(struct sim_shard *s, const struct sw_config *config)
{
	s->slice_ns = config->simulation.slice_us * 1000;
	s->autosave_ms = config->simulation.autosave_ms;
	s->lazy_joins_per_tick = config->simulation.lazy_joins_per_tick;
	s->update_bytes_max = config->simulation.update_bytes_max;
	s->packet_bytes_max = config->enet.packet_bytes_max;
	s->players_max = config->simulation.players_max;
	s->stop_ms = config->node.stop_deadline_ms;
	s->script_tick_us = config->simulation.script_tick_us;
	s->script_failures = config->simulation.script_failures;
	s->peers_max = config->enet.peers_max;
}

static void connect(struct sim_shard *s)
{
	for (uint32_t w = 0; w < s->links.workers; w++) {
		s->dataplane[w].ring = s->links.from_dataplane[w];
		s->dataplane[w].source = RECORDING_WORKER + w;
		s->outbox[w].ring = s->links.to_dataplane[w];
	}
	s->control.ring = s->links.from_control;
	s->control.source = RECORDING_CONTROL;
	s->world.source = RECORDING_WORLD;
	s->world.ring = s->links.from_world;
	s->counter_set = (struct counter_set){
		.group = "simulation",
		.index = s->index,
		.count = SIM_COUNTER_COUNT,
		.desc = counter_desc,
		.values = s->counters,
	};
}

/* The maps of a shard without a shared table: all that are for it run from the start. */
static int open_own(
	struct sim_shard *s, const struct sw_config *config, char *error, size_t error_bytes)
{
	s->instances = s->own_instances =
		sim_instances_new(config, s->links.watchdog, s->seed, error, error_bytes);
	if (!s->instances)
		return -ENOMEM;
	for (uint32_t i = 0; i < config->map_count; i++) {
		uint32_t id = instance_id(instance_first(config, i), 1), shard;

		shard = config->maps[i].shard == CONFIG_SHARD_ANY ? 0 : config->maps[i].shard;
		if (shard != s->index)
			continue;
		if (sim_instance_build(s->instances, id, error, error_bytes))
			return -EINVAL;
		sim_map_open(s, sim_instance_take(s->instances, id));
	}
	return 0;
}

struct sim_shard *sim_shard_new(const struct sw_config *config, uint32_t index,
	const struct sim_links *links, uint64_t seed, uint64_t now_ns, char *error,
	size_t error_bytes)
{
	struct sim_shard *s = aligned_alloc(64, (sizeof(*s) + 63) & ~(size_t)63);
	struct layout layout = {0};

	CHECK(links->workers >= 1 && links->workers <= CONFIG_LCORES_MAX);
	if (!s)
		goto no_memory;
	memset(s, 0, sizeof(*s));
	s->index = index;
	s->links = *links;
	s->seed = seed;
	s->commit_start = s->serials = links->commit_start;
	if (!s->commit_start)
		s->commit_start = s->serials = sim_random(&(uint64_t){seed});
	s->start_ns = s->now_ns = s->window_ns = now_ns;
	s->start_cycles = sim_cycles();
	s->tick_time.quarters_from = 13; /* 8 us to 537 ms */
	s->input_time.quarters_from = 8; /* 256 ns to 17 ms */
	take_config(s, config);
	lay_out_shard(&layout, s, config->rings.slots);
	s->memory_bytes = layout.used;
	s->memory = tables_new(layout.used);
	if (!s->memory)
		goto no_memory;
	layout = (struct layout){.base = s->memory};
	lay_out_shard(&layout, s, config->rings.slots);
	connect(s);
	memset(s->seats, 0xff, (size_t)links->workers * s->peers_max * sizeof(*s->seats));
	s->record = links->record;
	s->instances = links->instances;
	if (!s->instances && open_own(s, config, error, error_bytes))
		goto fail;
	return s;
no_memory:
	snprintf(error, error_bytes, "shard %u: no memory (%zu MiB)", index, layout.used >> 20);
fail:
	sim_shard_free(s);
	return NULL;
}

void sim_shard_free(struct sim_shard *s)
{
	if (!s)
		return;
	sim_instances_free(s->own_instances);
	free(s->memory);
	free(s);
}

const char *const sim_stage_names[] = {
#define X_STAGE(id, name, help) name,
	SIM_STAGE_LIST(X_STAGE) NULL};

_Static_assert(SIM_HISTOGRAMS == SIM_STAGES + 2, "ticks, stages, inputs");

const struct counter_set *sim_shard_counters(const struct sim_shard *s)
{
	return &s->counter_set;
}

#define X_STAGE_NAME(id, name, help) "stage_" name "_ns",
#define X_STAGE_HELP(id, name, help) "time of a tick's stage " help,
uint32_t sim_shard_histograms(const struct sim_shard *s, struct histogram_ref *out, uint32_t max)
{
	static const char *const name[] = {SIM_STAGE_LIST(X_STAGE_NAME)};
	static const char *const help[] = {SIM_STAGE_LIST(X_STAGE_HELP)};

	for (uint32_t i = 0; i <= SIM_STAGES && i < max; i++) {
		out[i] = (struct histogram_ref){
			.group = "simulation",
			.name = i ? name[i - 1] : "tick_ns",
			.help = i ? help[i - 1] : "shard time of a map's tick, pauses left out",
			.index = s->index,
			.histogram = i ? &s->stage_time[i - 1] : &s->tick_time,
		};
	}
	if (max > SIM_STAGES + 1)
		out[SIM_STAGES + 1] = (struct histogram_ref){
			.group = "simulation",
			.name = "input_wait_ns",
			.help = "from the receive burst of a datagram to the player's input slot; "
				"one in 17 is timed",
			.index = s->index,
			.histogram = &s->input_time,
		};
	return SIM_HISTOGRAMS;
}

uint64_t sim_shard_last_tick_ns(const struct sim_shard *s)
{
	return counter_get(&s->last_tick_ns);
}

uint64_t sim_shard_last_tick_end_ns(const struct sim_shard *s)
{
	return counter_get(&s->last_tick_end_ns);
}

const _Atomic uint64_t *sim_shard_last_tick_end(const struct sim_shard *s)
{
	return &s->last_tick_end_ns;
}

size_t sim_shard_bytes(const struct sim_shard *s)
{
	return s->memory_bytes;
}

const struct shard_gauges *sim_shard_gauges(const struct sim_shard *s)
{
	return &s->gauges;
}
