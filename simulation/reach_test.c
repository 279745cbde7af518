/* Proves that nothing reaches through a wall or too far: every action that is done to somebody or
 * something (blow, click, pick-up, trade, a monster's bite and its eyes) in the open, behind a wall
 * at the same distance, and beyond its reach. What is refused is refused by name and changes
 * nothing. And that the slice pays for what such work takes: a full ground that is searched, eyes
 * that look far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/combat.h"
#include "simulation/counters.h"
#include "simulation/entity.h"
#include "simulation/loot.h"
#include "simulation/npc.h"
#include "simulation/script/script.h"
#include "simulation/state.h"
#include "simulation/testing.h"
#include "simulation/trading.h"

enum { GEL = 1, WOLF = 0, STUMP = 1 };

static char folder[64];

/* 40 x 30 m; a wall along x = 20 m from y = 10 m to the north edge. */
static bool solid(int column, int row)
{
	return column == 20 && row >= 10;
}

static const char objects[] = "{\"type\":\"spawn\",\"x\":20,\"y\":270,\"width\":10,\"height\":10},"
			      "{\"type\":\"monster\",\"x\":380,\"y\":20,\"properties\":["
			      "{\"name\":\"kind\",\"type\":\"string\",\"value\":\"wolf\"}]},"
			      "{\"type\":\"monster\",\"x\":380,\"y\":280,\"properties\":["
			      "{\"name\":\"kind\",\"type\":\"string\",\"value\":\"stump\"}]}";

static const char script[] = "npc { name = 'Tom', x = 39, y = 5, on_click = function(npc, player) "
			     "npc:say(player, 'Yes?') "
			     "end }\n";

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static uint32_t monster_slot(const struct test_shard *t, uint32_t i)
{
	return map_of(t)->player_slots + map_of(t)->npc_slots + i;
}

static void put(struct test_shard *t, uint32_t slot, int32_t x_mm, int32_t y_mm)
{
	map_of(t)->entities[slot].x_mm = x_mm;
	map_of(t)->entities[slot].y_mm = y_mm;
	sim_entity_touch(map_of(t), slot);
}

static void start(struct test_shard *t)
{
	test_init(t, 0, 10);
	t->config.maps[0].width_m = t->config.maps[0].height_m = 0;
	strcpy(t->config.simulation.content, folder);
	strcpy(t->config.maps[0].file, "field.tmj");
	strcpy(t->config.maps[0].script, "npc.lua");
	test_give(t, 1, 0, GEL, 3, 0);
	assert_int_equal(script_watchdog_start(&t->links.watchdog, SCRIPT_WATCHDOG_PERIOD_US), 0);
	test_start(t, 1);
	for (uint32_t i = 0; i < 2; i++) { /* until a scene wants them */
		map_of(t)->monsters[i].mood = SIM_DEAD;
		map_of(t)->bodies[monster_slot(t, i)].back_beat = UINT32_MAX / 2;
	}
	test_join(t, 0, true, 9000, 5000);
	test_join(t, 1, true, 11000, 5000);
	test_run(t, 300);
}

static void end(struct test_shard *t)
{
	struct script_watchdog *watchdog = t->links.watchdog;

	test_end(t);
	script_watchdog_stop(watchdog);
}

/* Something to act on at this place: its slot. */
typedef uint32_t target_fn(struct test_shard *t, int32_t x_mm, int32_t y_mm);

static uint32_t a_stump(struct test_shard *t, int32_t x_mm, int32_t y_mm)
{
	put(t, monster_slot(t, STUMP), x_mm, y_mm);
	return monster_slot(t, STUMP);
}

static uint32_t an_npc(struct test_shard *t, int32_t x_mm, int32_t y_mm)
{
	put(t, map_of(t)->player_slots, x_mm, y_mm);
	return map_of(t)->player_slots;
}

static uint32_t a_player(struct test_shard *t, int32_t x_mm, int32_t y_mm)
{
	put(t, test_slot_of(map_of(t), 1), x_mm, y_mm);
	return test_slot_of(map_of(t), 1);
}

static uint32_t a_thing(struct test_shard *t, int32_t x_mm, int32_t y_mm)
{
	a_player(t, x_mm, y_mm);
	test_drop_item(t, 1, 0, 1);
	test_run(t, 200);
	a_player(t, 11000, 5000);
	return sim_loot_slot(map_of(t), 0);
}

typedef void act_fn(struct test_shard *t, uint32_t client, uint32_t actor_id);

static void nothing_reaches_through_a_wall(void **state)
{
	enum { OPEN, WALL, FAR, PLACES };
	static const struct {
		target_fn *target;
		act_fn *act;
		uint32_t type;
		int32_t apart_mm, far_mm; /* within reach and beyond it */
		uint32_t hidden, too_far; /* how it is refused */
	} rows[] = {
		{a_stump, test_attack, SW_MSG_ATTACK, 1800, 2001, SW__ACTION_REFUSAL__NO_SIGHT,
			SW__ACTION_REFUSAL__TOO_FAR},
		{an_npc, test_click, SW_MSG_CLICK, 9000, 10001, SW__ACTION_REFUSAL__NO_SIGHT,
			SW__ACTION_REFUSAL__TOO_FAR},
		{a_thing, test_pick_up, SW_MSG_PICK_UP, 2400, 2501, SW__ACTION_REFUSAL__NO_SIGHT,
			SW__ACTION_REFUSAL__TOO_FAR},
		{a_player, test_trade_ask, SW_MSG_TRADE_REQUEST, 9000, 10001,
			SW__ACTION_REFUSAL__TRADE_OUT_OF_REACH,
			SW__ACTION_REFUSAL__TRADE_OUT_OF_REACH},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int place = OPEN; place < PLACES; place++) {
			int32_t apart = place == FAR ? rows[i].far_mm : rows[i].apart_mm;
			int32_t y_mm = place == WALL ? 15000 : 5000;
			uint32_t want = place == OPEN   ? 0
					: place == WALL ? rows[i].hidden
							: rows[i].too_far;
			struct test_shard t;
			uint64_t done;
			uint32_t me, slot;

			start(&t);
			me = test_slot_of(map_of(&t), 0);
			slot = rows[i].target(&t, 20500 + apart / 2, y_mm);
			put(&t, me, 20500 + apart / 2 - apart, y_mm);
			test_run(&t, 200);
			done = test_counter(&t, SIM_ACTIONS);
			rows[i].act(&t, 0, map_of(&t)->entities[slot].wire_id);
			test_run(&t, 200);
			if (t.clients[0].refused_reason != want ||
				test_counter(&t, SIM_ACTIONS) != done + !want)
				fail_msg("row %zu, place %d: refused with %u, not %u", i, place,
					t.clients[0].refused_reason, want);
			if (want) {
				assert_int_equal(t.clients[0].refused_action, rows[i].type);
				assert_int_equal(test_counter(&t, SIM_BLOWS), 0);
				assert_int_equal(t.clients[0].dialogues, 0);
				assert_int_equal(test_owns(&t, 0, GEL), 0);
				assert_int_equal(t.clients[1].trade_states, 0);
			}
			end(&t);
		}
	}
}

/* Who trades and steps behind a wall trades no more, though no further apart. */
static void a_wall_ends_a_trade(void **state)
{
	(void)state;
	for (int wall = 0; wall < 2; wall++) {
		struct test_shard t;
		uint32_t a, b;

		start(&t);
		a = test_slot_of(map_of(&t), 0);
		b = test_slot_of(map_of(&t), 1);
		put(&t, a, 18000, 9500);
		put(&t, b, 23000, 9500);
		test_run(&t, 200);
		test_trade_ask(&t, 0, t.clients[1].actor_id);
		test_run(&t, 100);
		test_trade_ask(&t, 1, t.clients[0].actor_id);
		test_run(&t, 100);
		assert_int_equal(t.clients[0].trade_phase, SW__TRADE_PHASE__PHASE_OPEN);
		put(&t, a, 18000, wall ? 10500 : 8500);
		put(&t, b, 23000, wall ? 10500 : 8500);
		test_run(&t, 100);
		assert_int_equal(t.clients[0].trade_ends, wall);
		assert_int_equal(t.clients[1].trade_ends, wall);
		if (wall)
			assert_int_equal(t.clients[0].trade_end, SW__TRADE_END_REASON__END_APART);
		end(&t);
	}
}

/* A wolf beside a player, and a wall or none between. */
static void monsters_neither_see_nor_bite_through_walls(void **state)
{
	(void)state;
	for (int wall = 0; wall < 2; wall++) {
		struct test_shard t;
		uint32_t wolf, me;

		start(&t);
		wolf = monster_slot(&t, WOLF);
		me = test_slot_of(map_of(&t), 0);
		put(&t, me, 19600, wall ? 25000 : 5000);
		put(&t, wolf, 21400, wall ? 25000 : 5000);
		map_of(&t)->monsters[WOLF].mood = SIM_WANDERS;
		map_of(&t)->monsters[WOLF].until_beat = map_of(&t)->beat + 1000; /* it stands */
		map_of(&t)->monsters[WOLF].dx = map_of(&t)->monsters[WOLF].dy = 0;
		test_run(&t, 1500);
		assert_int_equal(map_of(&t)->monsters[WOLF].mood, wall ? SIM_WANDERS : SIM_CHASES);
		/* Though it hunts him, it has no teeth for walls. */
		map_of(&t)->monsters[WOLF].mood = SIM_CHASES;
		map_of(&t)->monsters[WOLF].target = me;
		map_of(&t)->lairs[WOLF].target_generation = map_of(&t)->entities[me].generation;
		map_of(&t)->lairs[WOLF].x_mm = 21400;
		map_of(&t)->lairs[WOLF].y_mm = wall ? 25000 : 5000;
		test_run(&t, 1500);
		assert_int_equal(test_counter(&t, SIM_BLOWS) > 0, !wall);
		end(&t);
	}
}

/* The slice pays by what was done: a search of the ground for each place that it looks at, sight
 * for each tile. */
static void what_is_searched_is_paid_for(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	uint32_t me, one, full, near, far;

	(void)state;
	start(&t);
	m = map_of(&t);
	me = test_slot_of(m, 0);
	assert_int_equal(sim_work_taken(m), 0);
	assert_int_not_equal(sim_loot_reserve(m, me, GEL, 1, 0), SIM_NONE);
	one = sim_work_taken(m);
	for (uint32_t i = 0; i < m->loot_slots; i++)
		m->loot[i].state = SIM_LOOT_LIES;
	assert_int_equal(sim_loot_reserve(m, me, GEL, 1, 0), SIM_NONE);
	full = sim_work_taken(m);
	assert_true(one > 0 && full >= 60 * one);
	put(&t, me, 2500, 5500);
	sim_reach(m, me, a_stump(&t, 3500, 5500), 50000);
	near = sim_work_taken(m);
	sim_reach(m, me, a_stump(&t, 33500, 5500), 50000);
	far = sim_work_taken(m);
	assert_true(near > 0 && far >= 10 * near);
	assert_int_equal(
		sim_reach(m, me, a_stump(&t, 33500, 5500), 1000), SW__ACTION_REFUSAL__TOO_FAR);
	assert_int_equal(sim_work_taken(m), 0); /* no line was looked along */
	for (uint32_t i = 0; i < m->loot_slots; i++)
		m->loot[i].state = SIM_LOOT_FREE;
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_reaches_through_a_wall),
		cmocka_unit_test(a_wall_ends_a_trade),
		cmocka_unit_test(monsters_neither_see_nor_bite_through_walls),
		cmocka_unit_test(what_is_searched_is_paid_for),
	};
	static const char *const names[] = {"field.tmj", "npc.lua", "monsters.yaml"};
	char path[96];
	int failed;

	snprintf(folder, sizeof(folder), "/tmp/sw-reach-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	test_write_map(folder, "field.tmj", 40, 30, solid, objects);
	test_write(folder, "npc.lua", script);
	test_write(folder, "monsters.yaml",
		"monsters:\n"
		"- {name: stump, health: 60, speed_mm_per_s: 1}\n"
		"- {name: wolf, health: 50, attack: 12, speed_mm_per_s: 4500, sight_mm: 8000,\n"
		"   leash_mm: 8000, cooldown_ms: 500, range_mm: 2000}\n");
	failed = cmocka_run_group_tests_name("reach", tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
