#include "simulation/instance_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/tables.h"
#include "simulation/entity.h"
#include "simulation/grain.h"
#include "simulation/interest.h"
#include "simulation/match/match.h"
#include "simulation/monster.h"
#include "simulation/npc.h"
#include "simulation/party.h"
#include "simulation/paths.h"
#include "simulation/random.h"
#include "simulation/reload.h"
#include "simulation/state.h"
#include "simulation/trading.h"
#include "simulation/update.h"

/* Places on a map's ground: some, and one for each monster up to so many. */
#define LOOT_SLOTS_MIN  64u
#define LOOT_SLOTS_MORE 4096u

/* ---- the memory of an instance ---- */

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

/* The figures of the sum below. */
#define TAKES(type, bytes)                                                                         \
	_Static_assert(sizeof(struct type) == (bytes), "lay_out_map says another size")
TAKES(sim_entity, 96);
TAKES(sim_player, 560);
TAKES(sim_npc, 56);
TAKES(sim_lair, 20);
TAKES(sim_purse, 32);
TAKES(sim_bag, 1336);
TAKES(sim_commit, 448);
TAKES(sim_quest_log, 44);
TAKES(sim_wake, 16);
TAKES(sim_happening, 72);
TAKES(sim_intents, 86032);
TAKES(sim_announcement, 516);
TAKES(sim_loot, 48);
TAKES(sim_cell, 24);
TAKES(sim_action, 64);
TAKES(sim_result, 40);
TAKES(sim_paths, 74308);

/* The sum: what each table of a map takes. P player slots (players_max, an eighth and 64 more for
 * those that have left and are still known), N NPCs, M monsters, L places for loot (64 + M, at most
 * 4,160), E = P + N + M + L, C cells. Beside it an instance has its script's arena
 * (simulation.script_memory) and about 1 MiB of the VM, and twice that once its script was
 * reloaded. */
static void lay_out_map(struct layout *l, struct sim_map *m)
{
	size_t slots = m->slots, players = m->player_slots;

	m->entities = take(l, slots * sizeof(*m->entities));             /* E x 96 B */
	m->players_table = take(l, players * sizeof(*m->players_table)); /* P x 560 B */
	m->known = take(
		l, players * m->known_words * sizeof(*m->known)); /* P x E / 8 B, in words of 64 for
								     each of tick_hz classes */
	m->npcs = take(l, (size_t)m->npc_slots * sizeof(*m->npcs));             /* N x 56 B */
	m->monsters = take(l, (size_t)m->monster_slots * sizeof(*m->monsters)); /* M x 16 B */
	m->lairs = take(l, (size_t)m->monster_slots * sizeof(*m->lairs));       /* M x 20 B */
	if (m->monster_slots && m->rules.ground)
		m->paths = take(l, sizeof(*m->paths));                      /* 73 KiB */
	m->bodies = take(l, slots * sizeof(*m->bodies));                    /* E x 32 B */
	m->purses = take(l, players * sizeof(*m->purses));                  /* P x 32 B */
	m->bags = take(l, players * sizeof(*m->bags));                      /* P x 1,336 B */
	m->commits = take(l, (size_t)m->commits_max * sizeof(*m->commits)); /* 2 P x 448 B */
	m->commit_free = take(l, (size_t)m->commits_max * sizeof(*m->commit_free)); /* 2 P x 4 B */
	m->answered = take(l, (size_t)m->commits_max * sizeof(*m->answered));       /* 2 P x 4 B */
	m->quests =
		take(l, players * m->game->quest_count * sizeof(*m->quests)); /* P x 8 B a quest */
	m->quest_logs = take(l, players * sizeof(*m->quest_logs));            /* P x 44 B */
	m->wakes = take(l, (size_t)m->commits_max * sizeof(*m->wakes));       /* 2 P x 16 B */
	if (m->script) {
		m->happenings = take(l, SIM_HAPPENINGS_MAX * sizeof(*m->happenings)); /* 72 KiB */
		m->intents = take(l, sizeof(*m->intents));                            /* 84 KiB */
		m->announcements =
			take(l, SIM_ANNOUNCEMENTS * sizeof(*m->announcements)); /* 1 KiB */
		m->handled.kinds = take(l, m->game->kind_count *
						   sizeof(*m->handled.kinds)); /* 6 B a kind */
		m->handled.quests = take(l, m->game->quest_count *
						    sizeof(*m->handled.quests)); /* 4 B a quest */
	}
	m->trades_memory = take(l, trade_table_bytes(m->player_slots));       /* P x 0.4 KiB */
	m->loot = take(l, (size_t)m->loot_slots * sizeof(*m->loot));          /* L x 48 B */
	m->coming = take(l, (size_t)m->loot_slots * sizeof(*m->coming));      /* L x 4 B */
	m->fallen = take(l, slots * sizeof(*m->fallen));                      /* E x 4 B */
	m->events = take(l, SIM_EVENTS_MAX * sizeof(*m->events));             /* 40 KiB */
	/* P x (112 B + members_max x 144 B + an inbox of 128 B), and 32 KiB */
	m->parties_memory = take(l, sim_parties_bytes(m->player_slots, m->parties.members_max));
	m->cell_events =
		take(l, (size_t)m->columns * m->rows * sizeof(*m->cell_events));    /* C x 8 B */
	m->cells = take(l, ((size_t)m->columns * m->rows + 1) * sizeof(*m->cells)); /* C x 24 B */
	m->cell_bytes = take(l, (slots + 1) * SIM_RECORD_STRIDE);                   /* E x 32 B */
	m->moved = take(l, slots * sizeof(*m->moved));                              /* E x 4 B */
	m->free_slots = take(l, players * sizeof(*m->free_slots));                  /* P x 4 B */
	m->order = take(l, players * sizeof(*m->order));                            /* P x 4 B */
	m->open_cells =
		take(l, (size_t)m->columns * m->rows * sizeof(*m->open_cells)); /* C x 4 B */
	m->grains = take(l, (slots / SIM_GRAIN_MIN + 1) * sizeof(*m->grains));  /* E x 0.5 B */
	m->grain_starts =
		take(l, sim_grain_starts_max(m->slots) * sizeof(*m->grain_starts)); /* E x 8.3 B */
	m->marks = take(l, m->known_words * sizeof(*m->marks));                     /* E / 8 B */
	m->laid = take(l, slots * sizeof(*m->laid));                                /* E x 16 B */
	m->fresh = take(l, slots * sizeof(*m->fresh));                              /* E x 16 B */
	m->actions = take(l, (size_t)m->actions_max * sizeof(*m->actions));         /* 2 P x 64 B */
	if (m->match.rule) {
		m->match.state = take(l, m->match.rule->state_bytes); /* the rule's own */
		m->match.results =
			take(l, m->match.rule->players_max *
					sizeof(*m->match.results)); /* of each player 40 B */
	}
}

/* m->npc_slots is known: the script has been loaded. */
static void size_map(struct sim_map *m, const struct sw_ground *ground)
{
	const struct config_map *config = &m->config;
	uint32_t cell_mm = (config->view_m * 1000 * 4 + 6) / 7;

	m->rules = (struct sw_move_map){.width_mm = config->width_m * 1000,
		.height_mm = config->height_m * 1000,
		.tick_hz = config->tick_hz};
	if (ground) {
		m->rules.width_mm = ground->width_mm;
		m->rules.height_mm = ground->height_mm;
		m->rules.radius_mm = ground->radius_mm;
		m->rules.ground = ground;
	}
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
	m->monster_slots = config->monsters + (ground ? ground->monsters : 0);
	m->loot_slots = LOOT_SLOTS_MIN +
			(m->monster_slots < LOOT_SLOTS_MORE ? m->monster_slots : LOOT_SLOTS_MORE);
	/* A player may have SIM_COMMITS_PLAYER under way, most have none: two each are enough, and
	 * who finds no place is told BUSY. */
	m->commits_max = 2 * m->player_slots;
	m->slots = m->player_slots + m->npc_slots + m->monster_slots + m->loot_slots;
	m->grain_scale = (uint32_t)((1ull << 32) / cell_mm);
	m->classes = sim_refresh_period(m);
	m->class_scale = ((1ull << 40) + m->classes - 1) / m->classes;
	m->class_words = ((m->slots + m->classes - 1) / m->classes + 63) / 64;
	m->known_words = m->classes * m->class_words;
	m->actions_max = 2 * m->player_slots;
	m->period_ns = NS_PER_S / config->tick_hz;
}

static void fill_map(struct sim_map *m)
{
	for (uint32_t i = 0; i < m->slots; i++)
		m->entities[i].cell = SIM_NONE;
	for (uint32_t i = 0; i < m->columns * m->rows; i++)
		m->cells[i].head = SIM_NONE;
	for (uint32_t i = 0; i < m->player_slots; i++)
		m->free_slots[i] = i;
	m->free_count = m->player_slots;
	for (uint32_t i = 0; i < m->commits_max; i++)
		m->commit_free[i] = m->commits_max - 1 - i;
	m->commit_free_count = m->commits_max;
	if (m->paths)
		sim_paths_init(m->paths);
	for (uint32_t i = 0; i < m->monster_slots; i++)
		sim_monster_first(m, i);
}

/* ---- building ---- */

int sim_instance_no_memory(
	const struct sim_map *m, size_t bytes, char *error, size_t error_bytes)
{
	snprintf(error, error_bytes, "map %s: no memory for an instance (%zu MiB)", m->config.name,
		bytes >> 20);
	return -ENOMEM;
}

/* What the last instance of the slot left; its memory stays. */
static void clear(struct sim_instance *instance)
{
	sim_instance_scripts_free(instance);
	memset(&instance->map, 0, sizeof(instance->map));
	instance->built = INSTANCE_NONE;
}

static int fill(
	struct sim_instances *table, struct sim_instance *instance, char *error, size_t error_bytes)
{
	struct sim_map *m = &instance->map;
	struct layout layout = {0};
	int rc;

	size_map(m, table->grounds->of[m->index]);
	m->parties.members_max = table->config->party.members_max;
	m->parties.share = table->config->party.share_experience;
	m->parties.share_range_mm = table->config->party.share_range_m * 1000;
	lay_out_map(&layout, m);
	table->definitions[m->index].map_bytes = layout.used;
	if (instance->memory_bytes < layout.used) { /* its script has more NPCs than the last one's */
		free(instance->memory);
		instance->memory = NULL;
	}
	if (instance->memory) { /* of its slot's instance before */
		memset(instance->memory, 0, layout.used);
	} else {
		instance->memory = tables_new(layout.used);
		instance->memory_bytes = instance->memory ? layout.used : 0;
	}
	if (!instance->memory)
		return sim_instance_no_memory(m, layout.used, error, error_bytes);
	layout = (struct layout){.base = instance->memory};
	lay_out_map(&layout, m);
	fill_map(m);
	sim_trades_init(m, table->config->simulation.trade_idle_s);
	sim_parties_init(m, m->parties_memory);
	rc = m->script ? sim_npc_check(m, m->script, error, error_bytes) : 0;
	if (!rc && m->reload.next)
		rc = sim_npc_check(m, m->reload.next, error, error_bytes);
	if (!rc)
		sim_npc_place(m);
	return rc;
}

static int build(struct sim_instances *table, uint32_t id, char *error, size_t error_bytes)
{
	uint32_t slot = instance_slot(id);
	struct sim_instance *instance;
	struct sim_map *m;
	uint64_t mix;
	int rc;

	CHECK(slot < table->count && instance_generation(id));
	instance = &table->instances[slot];
	if (instance->built == id)
		return 0;
	clear(instance);
	m = &instance->map;
	m->index = instance_definition(table->config, slot);
	m->config = table->config->maps[m->index];
	m->number = slot;
	m->id = id;
	m->gauges = &table->gauges[slot];
	m->tick_time = &table->tick_times[slot];
	m->game = table->game;
	if (m->config.kind == CONFIG_MAP_ROOM)
		m->match.rule = sim_match_rule_find(m->config.rule);
	m->match.told = INSTANCE_OPEN;
	/* Each instance its own. */
	mix = table->seed + slot * 0x632be59bd9b4e019ull +
	      (instance_generation(id) - 1) * 0xd1342543de82ef95ull;
	m->random = sim_random(&mix);
	m->reload.version = &table->definitions[m->index].version;
	m->portals = table->grounds->portals[m->index];
	m->rules.ground = table->grounds->of[m->index]; /* its script asks for places */
	rc = sim_instance_load_script(table, instance, error, error_bytes);
	if (!rc)
		rc = fill(table, instance, error, error_bytes);
	if (rc) {
		clear(instance);
		return rc;
	}
	instance->built = id;
	return 0;
}

int sim_instance_build(struct sim_instances *table, uint32_t id, char *error, size_t error_bytes)
{
	int rc;

	pthread_mutex_lock(&table->build_lock);
	rc = build(table, id, error, error_bytes);
	pthread_mutex_unlock(&table->build_lock);
	return rc;
}

struct sim_map *sim_instance_take(struct sim_instances *table, uint32_t id)
{
	uint32_t slot = instance_slot(id);

	if (slot >= table->count || id == INSTANCE_NONE || table->instances[slot].built != id)
		return NULL;
	return &table->instances[slot].map;
}

/* ---- on a shard ---- */

void sim_map_open(struct sim_shard *s, struct sim_map *m)
{
	CHECK(s->map_count < CONFIG_INSTANCES_MAX && !s->by_number[m->number]);
	m->shard = s;
	m->due_ns = s->now_ns + m->period_ns;
	s->by_number[m->number] = m;
	s->maps[s->map_count++] = m;
	if (m->script && s->owner_known)
		script_vm_own_as(m->script, &s->owner);
	sim_reload_open(m);
	counter_put(&m->gauges->players, 0);
	counter_put(&m->gauges->tick_end_ns, 0);
	counter_put(&m->gauges->tick_ns, 0);
	counter_put(&m->gauges->load_permille, 0);
	counter_put(&m->gauges->overrun_stage, 0);
	/* Of this instance, not of the slot: a few lines of cache. */
	for (uint32_t i = 0; i < histogram_buckets(m->tick_time); i++)
		counter_put(&m->tick_time->bucket[i], 0);
	counter_put(&m->tick_time->sum_ns, 0);
	counter_put(&s->gauges.instances, s->map_count);
	if (m->match.rule) {
		m->match.serial = sim_random(&m->random) >> 1 | 1; /* a bigint there */
		m->match.rule->opened(m, m->match.state);
	}
	sim_count(s, SIM_INSTANCES_OPENED, 1);
}

void sim_map_retire(struct sim_shard *s, struct sim_map *m)
{
	uint32_t at = 0, id = m->id;

	CHECK(!m->players && !m->running && s->by_number[m->number] == m);
	while (s->maps[at] != m)
		at++;
	memmove(&s->maps[at], &s->maps[at + 1], (s->map_count - at - 1) * sizeof(s->maps[0]));
	s->map_count--;
	s->map_next = s->map_count ? s->map_next % s->map_count : 0;
	s->by_number[m->number] = NULL;
	counter_put(&m->gauges->players, 0);
	counter_put(&s->gauges.instances, s->map_count);
	sim_count(s, SIM_INSTANCES_ENDED, 1);
	CHECK(sim_match_tell(s, id, INSTANCE_ENDED)); /* there was room */
}

/* ---- the table ---- */

static int read_definition(
	struct sim_instances *table, uint32_t index, char *error, size_t error_bytes)
{
	const struct config_map *map = &table->config->maps[index];
	struct definition *definition = &table->definitions[index];
	int status;

	if (map->kind == CONFIG_MAP_ROOM && !sim_match_rule_find(map->rule)) {
		snprintf(error, error_bytes, "map %s: there is no match rule \"%s\", but %s",
			map->name, map->rule, sim_match_rule_names());
		return -EINVAL;
	}
	if (map->kind == CONFIG_MAP_ROOM) {
		uint32_t most = sim_match_rule_find(map->rule)->players_max;

		if (most && (map->players_max > most || map->start_players > map->players_max)) {
			snprintf(error, error_bytes,
				"map %s: players_max is %u and start_players %u, allowed for the "
				"rule %s are up to %u, and no more to start than there may be",
				map->name, map->players_max, map->start_players, map->rule, most);
			return -EINVAL;
		}
	}
	if (!map->script[0])
		return 0;
	if (!table->watchdog) {
		snprintf(error, error_bytes,
			"map %s: a script needs the watchdog, and there is none", map->name);
		return -EINVAL;
	}
	snprintf(definition->path, sizeof(definition->path), "%s/%s",
		table->config->simulation.content, map->script);
	definition->now.version = definition->last_version = 1;
	status = -sim_script_read(definition->path, &definition->now);
	if (!status) {
		sim_definition_publish(definition);
		return 0;
	}
	snprintf(error, error_bytes, "map %s: %s: %s", map->name, definition->path,
		strerror(status));
	return -status;
}

/* Every monster of a map must be of a kind that the game has, where the game says kinds at all. */
static bool check_kinds(const struct sim_instances *table, FILE *errors)
{
	bool good = true;

	for (uint32_t i = 0; i < table->config->map_count && table->game->kinds_known; i++) {
		const struct sw_ground *ground = table->grounds->of[i];

		for (uint32_t h = 0; ground && h < ground->herd_count; h++) {
			if (sim_game_kind(table->game, ground->herds[h].kind) != UINT32_MAX)
				continue;
			fprintf(errors,
				"map %s: %s: there is no monster %s, allowed is one of "
				"monsters.yaml\n",
				table->config->maps[i].name, table->config->maps[i].file,
				ground->herds[h].kind);
			good = false;
		}
	}
	return good;
}

/* What a quest wants reached lies on its map. A map that is not here may be another node's. */
static bool check_places(const struct sim_instances *table, FILE *errors)
{
	const struct sim_game *game = table->game;
	bool good = true;

	for (uint32_t i = 0; i < table->config->map_count; i++) {
		const struct config_map *map = &table->config->maps[i];
		const struct sw_ground *ground = table->grounds->of[i];
		uint32_t width_mm = ground ? ground->width_mm : map->width_m * 1000;
		uint32_t height_mm = ground ? ground->height_mm : map->height_m * 1000;

		for (uint32_t s = 0; s < game->quest_step_count; s++) {
			const struct sim_quest_step *step = &game->quest_steps[s];

			if (strcmp(step->reach, map->name) ||
				(step->x_m * 1000 < width_mm && step->y_m * 1000 < height_mm))
				continue;
			fprintf(errors,
				"quests.yaml:%u: %u, %u m is not on the map %s, which has %u x %u "
				"mm\n",
				step->line, step->x_m, step->y_m, map->name, width_mm, height_mm);
			good = false;
		}
	}
	return good;
}

/* The grounds of all maps, and the game's data. All faults of both are said. */
static bool read_world(struct sim_instances *table, char *error, size_t error_bytes)
{
	FILE *errors;
	size_t used;
	bool good;

	table->grounds = sim_grounds_new(table->config, error, error_bytes);
	used = table->grounds ? 0 : strnlen(error, error_bytes);
	if (used + 1 >= error_bytes)
		return false;
	errors = fmemopen(error + used, error_bytes - used, "w");
	if (!errors) {
		snprintf(error, error_bytes, "no memory for the game's data");
		return false;
	}
	table->game = sim_game_load(table->config->simulation.content, errors);
	good = table->grounds && table->game;
	if (good) {
		good = check_kinds(table, errors);
		good &= check_places(table, errors);
	}
	fclose(errors);
	return good;
}

struct sim_instances *sim_instances_new(const struct sw_config *config,
	struct script_watchdog *watchdog, uint64_t seed, char *error, size_t error_bytes)
{
	struct sim_instances *table = calloc(1, sizeof(*table));
	uint32_t count = instance_first(config, config->map_count);

	CHECK(count >= 1 && count <= CONFIG_INSTANCES_MAX);
	if (table) {
		table->gauges = aligned_alloc(64, count * sizeof(*table->gauges));
		table->instances = calloc(count, sizeof(*table->instances));
		table->tick_times = calloc(count, sizeof(*table->tick_times));
	}
	if (!table || !table->gauges || !table->instances || !table->tick_times) {
		snprintf(error, error_bytes, "no memory for the table of %u instances", count);
		goto fail;
	}
	memset(table->gauges, 0, count * sizeof(*table->gauges));
	for (uint32_t i = 0; i < count; i++)
		table->tick_times[i].quarters_from = 13; /* as the shard's: 8 us to 537 ms */
	table->config = config;
	table->watchdog = watchdog;
	table->seed = seed;
	pthread_mutex_init(&table->build_lock, NULL);
	for (; table->count < count; table->count++) {
		struct sim_instance *instance = &table->instances[table->count];

		pthread_mutex_init(&instance->text_lock, NULL);
		instance->script_set = script_counter_set(table->count, instance->script_counters);
	}
	if (!read_world(table, error, error_bytes))
		goto fail;
	for (uint32_t i = 0; i < config->map_count; i++)
		if (read_definition(table, i, error, error_bytes))
			goto fail;
	return table;
fail:
	sim_instances_free(table);
	return NULL;
}

void sim_instances_free(struct sim_instances *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->count; i++) {
		struct sim_instance *instance = &table->instances[i];

		clear(instance);
		pthread_mutex_destroy(&instance->text_lock);
		free(instance->memory);
		free(instance->to_next);
		for (uint32_t side = 0; side < 2; side++)
			free(instance->region[side]);
	}
	for (uint32_t i = 0; i < CONFIG_MAPS_MAX; i++)
		sim_definition_free(&table->definitions[i]);
	sim_grounds_free(table->grounds);
	sim_game_free(table->game);
	free(table->gauges);
	free(table->tick_times);
	free(table->instances);
	pthread_mutex_destroy(&table->build_lock);
	free(table);
}

int sim_instances_check(struct sim_instances *table, char *error, size_t error_bytes)
{
	for (uint32_t i = 0; i < table->config->map_count; i++) {
		uint32_t slot = instance_first(table->config, i);
		int rc = sim_instance_build(table, instance_id(slot, 1), error, error_bytes);

		if (rc)
			return rc;
	}
	return 0;
}

uint32_t sim_instances_count(const struct sim_instances *table)
{
	return table->count;
}

/* Each definition's ground, and its slots, each with its tables and its script. */
size_t sim_instances_bytes_max(const struct sim_instances *table)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < table->config->map_count; i++) {
		const struct definition *definition = &table->definitions[i];
		size_t one = tables_bytes(definition->map_bytes);

		if (definition->now.text)
			/* Twice: one that runs, and one before or after it. */
			one += 2 * (tables_bytes(table->config->simulation.script_memory_bytes) +
					   script_vm_bytes());
		bytes += one * instance_max(&table->config->maps[i]);
		bytes += table->grounds->of[i] ? table->grounds->of[i]->bytes : 0;
	}
	return bytes;
}

const struct instance_gauges *sim_instances_gauges(const struct sim_instances *table)
{
	return table->gauges;
}

const struct histogram *sim_instances_tick_times(const struct sim_instances *table)
{
	return table->tick_times;
}

const struct counter_set *sim_instance_script(const struct sim_instances *table, uint32_t slot)
{
	uint32_t definition = instance_definition(table->config, slot);

	return table->definitions[definition].now.text ? &table->instances[slot].script_set : NULL;
}
