#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "simulation/client_message.h"
#include "simulation/cycles.h"
#include "simulation/entity.h"
#include "simulation/interest.h"
#include "simulation/npc.h"
#include "simulation/random.h"
#include "simulation/script/script.h"
#include "simulation/state.h"

#define X_SUM(id, name, kind, help) {name, help, kind},
#define X_REFUSAL(id, name, help)   {"malformed_" name, help, COUNTER_SUM},
static const struct counter_desc counter_desc[SIM_COUNTER_COUNT] = {
	SIM_COUNTERS(X_SUM) SIM_PARSE_REFUSALS(X_REFUSAL)};

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

/* The sum: what each table of a map takes. P player slots (players_max, an eighth and 64 more for
 * those that have left and are still known), N NPCs, M monsters, E = P + N + M, C cells. */
static void lay_out_map(struct layout *l, struct sim_map *m)
{
	size_t slots = m->slots, players = m->player_slots;

	m->entities = take(l, slots * sizeof(*m->entities));                    /* E x 80 B */
	m->players_table = take(l, players * sizeof(*m->players_table));        /* P x 352 B */
	m->known = take(l, players * m->known_words * sizeof(*m->known));       /* P x E / 8 B */
	m->npcs = take(l, (size_t)m->npc_slots * sizeof(*m->npcs));             /* N x 40 B */
	m->monsters = take(l, (size_t)m->monster_slots * sizeof(*m->monsters)); /* M x 8 B */
	m->cells = take(l, (size_t)m->columns * m->rows * sizeof(*m->cells));   /* C x 16 B */
	m->cell_bytes = take(l, slots * SIM_RECORD_MAX);                        /* E x 31 B */
	m->moved = take(l, slots * sizeof(*m->moved));                          /* E x 4 B */
	m->free_slots = take(l, players * sizeof(*m->free_slots));              /* P x 4 B */
	m->order = take(l, players * sizeof(*m->order));                        /* P x 4 B */
	m->picked = take(l, slots * sizeof(*m->picked));                        /* E x 4 B */
	m->actions = take(l, (size_t)m->actions_max * sizeof(*m->actions));     /* 2 P x 16 B */
}

/* The sum of a shard: its maps' tables, and per ring what waits on this side. W workers. */
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
	for (uint32_t i = 0; i < s->map_count; i++)
		lay_out_map(l, &s->maps[i]);
}

/* m->npc_slots is known: the script has been loaded. */
static void size_map(struct sim_map *m)
{
	const struct config_map *config = &m->config;
	uint32_t cell_mm = (config->view_m * 1000 * 4 + 6) / 7;

	m->rules = (struct sw_move_map){.width_mm = config->width_m * 1000,
		.height_mm = config->height_m * 1000,
		.tick_hz = config->tick_hz};
	for (;; cell_mm += cell_mm / 4 + 1) {
		m->columns = (m->rules.width_mm + cell_mm - 1) / cell_mm;
		m->rows = (m->rules.height_mm + cell_mm - 1) / cell_mm;
		if ((uint64_t)m->columns * m->rows <= SIM_CELLS_MAX)
			break;
	}
	m->cell_mm = cell_mm;
	m->margin_mm = cell_mm / 8;
	m->bucket_scale = (uint32_t)(((uint64_t)SIM_BUCKETS << 32) /
				     ((SIM_CELL_RADIUS + 1) * cell_mm + 2 * m->margin_mm));
	m->player_slots = config->players_max + config->players_max / 8 + 64;
	m->monster_slots = config->monsters;
	m->slots = m->player_slots + m->npc_slots + m->monster_slots;
	m->known_words = (m->slots + 63) / 64;
	m->actions_max = 2 * m->player_slots;
	m->period_ns = NS_PER_S / config->tick_hz;
}

static void start_map(struct sim_map *m, uint64_t now_ns)
{
	m->due_ns = now_ns + m->period_ns;
	for (uint32_t i = 0; i < m->slots; i++)
		m->entities[i].cell = SIM_NONE;
	for (uint32_t i = 0; i < m->columns * m->rows; i++)
		m->cells[i].head = SIM_NONE;
	for (uint32_t i = 0; i < m->player_slots; i++)
		m->free_slots[i] = i;
	m->free_count = m->player_slots;
	for (uint32_t i = 0; i < m->monster_slots; i++)
		sim_entity_appear(m, m->player_slots + m->npc_slots + i, SIM_MONSTER,
			(int32_t)sim_random_below(&m->random, m->rules.width_mm),
			(int32_t)sim_random_below(&m->random, m->rules.height_mm), 0);
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
	s->peers_max = config->enet.peers_max;
}

static void connect(struct sim_shard *s)
{
	for (uint32_t w = 0; w < s->links.workers; w++) {
		s->dataplane[w].ring = s->links.from_dataplane[w];
		s->outbox[w].ring = s->links.to_dataplane[w];
	}
	s->control.ring = s->links.from_control;
	s->world.ring = s->links.from_world;
	s->counter_set = (struct counter_set){
		.group = "simulation",
		.index = s->index,
		.count = SIM_COUNTER_COUNT,
		.desc = counter_desc,
		.values = s->counters,
	};
}

struct sim_shard *sim_shard_new(const struct sw_config *config, uint32_t index,
	const struct sim_links *links, uint64_t seed, uint64_t now_ns, char *error,
	size_t error_bytes)
{
	struct sim_shard *s = calloc(1, sizeof(*s));
	struct layout layout = {0};

	CHECK(links->workers >= 1 && links->workers <= CONFIG_LCORES_MAX);
	if (!s)
		goto no_memory;
	s->maps = calloc(config->map_count ? config->map_count : 1, sizeof(*s->maps));
	if (!s->maps)
		goto no_memory;
	s->index = index;
	s->links = *links;
	s->seed = seed;
	s->start_ns = s->now_ns = now_ns;
	s->start_cycles = sim_cycles();
	take_config(s, config);
	for (uint32_t i = 0; i < config->map_count; i++) {
		struct sim_map *m = &s->maps[s->map_count];
		uint64_t mix = seed + i * 0x632be59bd9b4e019ull;

		if (config->maps[i].shard != index)
			continue;
		m->shard = s;
		m->config = config->maps[i];
		m->index = i;
		m->number = s->map_count++;
		m->random =
			sim_random(&mix); /* each map its own; a script may draw while it loads */
		if (sim_npc_load(m, config, links, error, error_bytes))
			goto fail;
		size_map(m);
	}
	lay_out_shard(&layout, s, config->rings.slots);
	s->memory_bytes = layout.used;
	s->memory = aligned_alloc(64, layout.used);
	if (!s->memory)
		goto no_memory;
	/* Touch every page now: a first-touch fault belongs to set-up, not to a tick. */
	memset(s->memory, 0, layout.used);
	layout = (struct layout){.base = s->memory};
	lay_out_shard(&layout, s, config->rings.slots);
	connect(s);
	memset(s->seats, 0xff, (size_t)links->workers * s->peers_max * sizeof(*s->seats));
	for (uint32_t i = 0; i < s->map_count; i++) {
		start_map(&s->maps[i], now_ns);
		if (sim_npc_place(&s->maps[i], error, error_bytes))
			goto fail;
	}
	return s;
no_memory:
	snprintf(error, error_bytes, "shard %u: no memory for its maps (%zu MiB)", index,
		layout.used >> 20);
fail:
	sim_shard_free(s);
	return NULL;
}

void sim_shard_free(struct sim_shard *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->map_count; i++)
		if (s->maps[i].script)
			script_vm_free(s->maps[i].script);
	free(s->memory);
	free(s->maps);
	free(s);
}

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
	return SIM_STAGES + 1;
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

struct script_vm *sim_shard_script(const struct sim_shard *s, uint32_t i)
{
	for (uint32_t at = 0; at < s->map_count; at++)
		if (s->maps[at].script && !i--)
			return s->maps[at].script;
	return NULL;
}
