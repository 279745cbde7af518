#include "sim_costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/mono.h"
#include "simulation/combat.h"
#include "simulation/entity.h"
#include "simulation/events.h"
#include "simulation/monster.h"
#include "simulation/portal.h"
#include "simulation/state.h"
#include "simulation/trading.h"

#define ROUNDS 21u

/* A unit on player i; returns false when it could not be done there. */
typedef bool unit_fn(struct sim_shard *s, struct sim_map *m, uint32_t i);

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* The monster of a player's: as many of them as players. */
static uint32_t monster_near(const struct sim_map *m, uint32_t i)
{
	return i % m->monster_slots;
}

static bool blow(struct sim_shard *s, struct sim_map *m, uint32_t i)
{
	uint32_t target = m->player_slots + m->npc_slots + monster_near(m, i);

	(void)s;
	if (!sim_is_present(m, i) || m->event_count == SIM_EVENTS_MAX)
		return false;
	/* What an attack checks beside this: view, reach, cooldown. */
	sim_knows(m, i, target);
	sim_reach(m, i, target, SIM_FIST_RANGE_MM);
	sim_strike(m, i, target);
	return true;
}

static bool monster(struct sim_shard *s, struct sim_map *m, uint32_t i)
{
	(void)s;
	sim_monster_tick(m, monster_near(m, i));
	return true;
}

static bool tell_blows(struct sim_shard *s, struct sim_map *m, uint32_t i)
{
	return sim_is_present(m, i) && sim_events_tell(s, m, i) > SIM_COST_VIEW;
}

static bool portal(struct sim_shard *s, struct sim_map *m, uint32_t i)
{
	return sim_is_present(m, i) && !sim_portal_step(s, m, i);
}

static bool come_back(struct sim_shard *s, struct sim_map *m, uint32_t i)
{
	uint32_t at = monster_near(m, i), slot = m->player_slots + m->npc_slots + at;

	(void)s;
	if (m->entities[slot].cell != SIM_NONE) {
		sim_entity_vanish(m, slot);
		/* Nobody is told here: as if all had been. */
		m->entities[slot].known_by = 0;
	}
	sim_monster_appear(m, at);
	return true;
}

static bool trade_step_all(struct sim_shard *s, struct sim_map *m, uint32_t i)
{
	uint32_t cursor = i;
	struct sim_slice slice = {.left = 1};

	(void)s;
	sim_trades_step(m, &cursor, &slice);
	return true;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(struct sim_shard *s, const char *name, uint32_t constant, unit_fn *unit)
{
	struct sim_map *m = s->maps[0];
	double ns[ROUNDS];
	uint32_t rounds = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t start = cpu_ns();
		uint32_t done = 0;

		for (uint32_t i = 0; i < m->player_slots; i++)
			done += unit(s, m, i);
		if (done)
			ns[rounds++] = (double)(cpu_ns() - start) / done;
		sim_work_taken(m);
		if (unit == blow && round + 1 < ROUNDS) {
			sim_events_clear(m);
		} else if (unit == blow) {
			sim_events_sort(m);
		}
	}
	if (!rounds) {
		printf("  %-28s none done\n", name);
		return;
	}
	qsort(ns, rounds, sizeof(ns[0]), by_value);
	printf("  %-28s %7.0f ns, counted as %u\n", name, ns[rounds / 2], constant);
}

void sim_costs_print(struct sim_shard *s)
{
	puts("units of work, the median of some rounds over all players or monsters:");
	measure(s, "monster's tick", SIM_COST_MONSTER, monster);
	measure(s, "blow", SIM_COST_BLOW, blow);
	measure(s, "blows told to an observer", SIM_COST_VIEW + 4 * SIM_COST_EVENT, tell_blows);
	measure(s, "portal looked at", SIM_COST_SLOT, portal);
	measure(s, "vanish and come back", 2 * SIM_COST_BACK, come_back);
	measure(s, "trade looked at", SIM_COST_TRADE, trade_step_all);
}
