/* Proves that monsters find their way: out of a pocket and around walls to a prey that they do not
 * see, and home again by the same, walking every step by the rules; that they give up a prey to
 * whom no way leads; that a tick spends no more than its share on ways, however many are wanted;
 * and that it is all in the state: two shards with one seed and log have one hash. */
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
#include "simulation/paths.h"
#include "simulation/state.h"
#include "simulation/testing.h"

enum { WOLVES = 30, WOLF_MM_PER_S = 4500 };

static char folder[64];

/* From the north. o: where the first wolf begins; in the pocket, whose mouth is in the west. The
 * chamber x has no door. */
static const char *const plan[] = {
	"................................................",
	"................................................",
	"......##############............................",
	"...................#.....................#####..",
	"...................#.....................#...#..",
	"...............o...#.....................#.x.#..",
	"...................#.....................#...#..",
	"...................#.....................#####..",
	"......##############............................",
	"................................................",
	"..####################################..........",
	"................................................",
	"................................................",
};
#define ROWS    ((int)(sizeof(plan) / sizeof(plan[0])))
#define COLUMNS 48

static bool solid(int column, int row)
{
	return plan[ROWS - 1 - row][column] == '#';
}

static const char objects[] = "{\"type\":\"spawn\",\"x\":20,\"y\":5,\"width\":10,\"height\":1},"
			      "{\"type\":\"monster\",\"x\":300,\"y\":5,\"properties\":["
			      "{\"name\":\"kind\",\"type\":\"string\",\"value\":\"wolf\"},"
			      "{\"name\":\"count\",\"type\":\"int\",\"value\":30}]}";

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static uint32_t wolf_slot(const struct test_shard *t, uint32_t i)
{
	return map_of(t)->player_slots + map_of(t)->npc_slots + i;
}

static void put(struct test_shard *t, uint32_t slot, int32_t x_mm, int32_t y_mm)
{
	map_of(t)->entities[slot].x_mm = x_mm;
	map_of(t)->entities[slot].y_mm = y_mm;
	sim_entity_touch(map_of(t), slot);
}

/* Wolf i stands there and hunts a client. */
static void hunt(struct test_shard *t, uint32_t i, int32_t x_mm, int32_t y_mm, uint32_t client)
{
	struct sim_map *m = map_of(t);

	put(t, wolf_slot(t, i), x_mm, y_mm);
	m->lairs[i].x_mm = x_mm;
	m->lairs[i].y_mm = y_mm;
	m->monsters[i].mood = SIM_CHASES;
	m->monsters[i].target = test_slot_of(m, client);
	m->lairs[i].target_generation = m->entities[m->monsters[i].target].generation;
}

static void start_on(struct test_shard *t, uint64_t seed, const char *file)
{
	test_init(t, 0, 10);
	t->config.maps[0].width_m = t->config.maps[0].height_m = 0;
	strcpy(t->config.simulation.content, folder);
	strcpy(t->config.maps[0].file, file);
	test_start(t, seed);
	for (uint32_t i = 0; i < WOLVES; i++) { /* until a test wants them */
		map_of(t)->monsters[i].mood = SIM_DEAD;
		map_of(t)->bodies[wolf_slot(t, i)].back_beat = UINT32_MAX / 2;
	}
}

static void start(struct test_shard *t, uint64_t seed)
{
	start_on(t, seed, "field.tmj");
}

/* Runs one tick; the first wolf has walked at most a step, and stands where one may. */
static void tick(struct test_shard *t)
{
	struct sim_map *m = map_of(t);
	const struct sim_entity *e = &m->entities[wolf_slot(t, 0)];
	int64_t x = e->x_mm, y = e->y_mm, step = sw_move_step_mm(WOLF_MM_PER_S, 20);

	test_run(t, 50);
	x -= e->x_mm;
	y -= e->y_mm;
	assert_true(x * x + y * y <= step * step);
	assert_true(sw_move_legal(&m->rules, e->x_mm, e->y_mm));
}

/* To a prey behind the pocket's bottom; when that is gone, home. */
static void out_of_a_pocket_and_home(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	uint32_t me, ticks = 0;

	(void)state;
	start(&t, 1);
	m = map_of(&t);
	test_join(&t, 0, true, 25500, 7500);
	test_run(&t, 300);
	me = test_slot_of(m, 0);
	hunt(&t, 0, 15500, 7500, 0);
	while (!test_counter(&t, SIM_BLOWS)) { /* about 42 m */
		tick(&t);
		assert_true(++ticks < 20 * 13);
	}
	assert_int_equal(m->monsters[0].mood, SIM_CHASES);
	m->bodies[me].health = 0; /* it has had enough */
	m->bodies[me].back_beat = m->beat + 10000;
	for (ticks = 0; m->monsters[0].mood != SIM_WANDERS; ticks++) {
		tick(&t);
		assert_true(ticks < 20 * 13);
	}
	assert_in_range(m->entities[wolf_slot(&t, 0)].x_mm, 15000, 16000);
	assert_in_range(m->entities[wolf_slot(&t, 0)].y_mm, 7000, 8000);
	test_end(&t);
}

/* The prey walks on meanwhile, along the long wall: fields are made anew, and it is caught. */
static void prey_that_walks_is_followed(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	uint32_t me, ticks = 0;

	(void)state;
	start(&t, 1);
	m = map_of(&t);
	test_join(&t, 0, true, 3500, 1500);
	test_run(&t, 300);
	me = test_slot_of(m, 0);
	m->bodies[me].health = m->bodies[me].health_max = 1000000;
	hunt(&t, 0, 20500, 3500, 0); /* beyond the wall */
	while (!test_counter(&t, SIM_BLOWS)) {
		put(&t, me, 3500 + (int32_t)(ticks % 200) * 50, 1500);
		tick(&t);
		assert_true(++ticks < 20 * 20);
	}
	test_end(&t);
}

static void no_way_is_given_up(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	uint32_t ticks = 0;

	(void)state;
	start(&t, 1);
	m = map_of(&t);
	test_join(&t, 0, true, 43500, 7500); /* in the chamber */
	test_run(&t, 300);
	hunt(&t, 0, 38500, 7500, 0);
	while (m->monsters[0].mood == SIM_CHASES) {
		tick(&t);
		assert_true(++ticks < 40);
	}
	for (ticks = 0; m->monsters[0].mood != SIM_WANDERS; ticks++) {
		tick(&t);
		assert_true(ticks < 100);
	}
	assert_int_equal(test_counter(&t, SIM_BLOWS), 0);
	test_end(&t);
}

/* The line to the prey is free, and the wolf too broad for it: its shoulder is stopped by the
 * pocket's wall, straight ahead. */
static void a_shoulder_is_no_end(void **state)
{
	struct test_shard t;
	uint32_t ticks = 0;

	(void)state;
	start(&t, 1);
	test_join(&t, 0, true, 22500, 3800);
	test_run(&t, 300);
	hunt(&t, 0, 3500, 3800, 0);
	while (!test_counter(&t, SIM_BLOWS)) {
		tick(&t);
		assert_true(++ticks < 20 * 8);
	}
	test_end(&t);
}

static enum sw_path_step ask(struct test_shard *t, int32_t x_mm, int32_t y_mm)
{
	int32_t x, y;

	return sim_path_next(map_of(t), wolf_slot(t, 0), x_mm, y_mm, &x, &y);
}

/* Asked for when no other is being made, and again when it is there. */
static enum sw_path_step ask_twice(struct test_shard *t, int32_t x_mm, int32_t y_mm)
{
	test_run(t, 100);
	ask(t, x_mm, y_mm);
	test_run(t, 100);
	return ask(t, x_mm, y_mm);
}

static void fields_are_shared_and_kept(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	uint64_t hash;

	(void)state;
	start(&t, 1);
	m = map_of(&t);
	test_run(&t, 100);
	put(&t, wolf_slot(&t, 0), 20500, 1500);
	hash = sim_shard_hash(t.shard);
	assert_int_equal(ask(&t, 30500, 1500), SW_PATH_OUTSIDE);
	assert_true(hash != sim_shard_hash(t.shard)); /* that it was asked for is state */
	test_run(&t, 100);
	assert_int_equal(ask(&t, 30500, 1500), SW_PATH_STEP);
	assert_int_equal(ask(&t, 32500, 1500), SW_PATH_STEP); /* for a neighbour it will do */
	assert_int_equal(ask(&t, 33500, 1500), SW_PATH_OUTSIDE);
	assert_int_equal(ask(&t, 500, 12500), SW_PATH_OUTSIDE);
	assert_int_equal(ask(&t, -500, 12500), SW_PATH_OUTSIDE);
	assert_int_equal(ask(&t, 10500, 2500), SW_PATH_OUTSIDE); /* in a wall */
	/* Closed to a neighbour of the target is not closed to the target. */
	assert_int_equal(ask_twice(&t, 40500, 7500), SW_PATH_STEP);
	put(&t, wolf_slot(&t, 0), 44500, 7500);
	assert_int_equal(ask(&t, 40500, 7500), SW_PATH_CLOSED);
	assert_int_equal(ask(&t, 42500, 7500), SW_PATH_OUTSIDE);
	assert_int_equal(ask_twice(&t, 42500, 7500), SW_PATH_STEP);
	assert_int_equal(ask(&t, 44500, 7500), SW_PATH_STEP); /* ... to the neighbour */
	assert_int_equal(ask_twice(&t, 44500, 7500), SW_PATH_THERE);
	/* One that is followed stays; of the others the oldest goes. */
	put(&t, wolf_slot(&t, 0), 20500, 1500);
	for (uint32_t i = 0; i < 2 * SIM_PATHS; i++) {
		assert_int_equal(ask(&t, 30500, 1500), SW_PATH_STEP);
		assert_int_equal(ask_twice(&t, 1500 + (int32_t)(i % 15) * 3000,
					 i < 15   ? 12500
					 : i < 30 ? 500
						  : 9500),
			SW_PATH_STEP);
	}
	assert_int_equal(ask(&t, 30500, 1500), SW_PATH_STEP);
	assert_int_equal(m->paths->making, SIM_NONE);
	test_end(&t);
}

/* A ground with room for a whole field. */
static void a_large_field_takes_its_ticks(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	uint32_t ticks = 0, heads[8];

	(void)state;
	start_on(&t, 1, "wide.tmj");
	m = map_of(&t);
	test_run(&t, 100);
	put(&t, wolf_slot(&t, 0), 20500, 20500);
	ask(&t, 40500, 40500);
	for (; m->paths->making != SIM_NONE && ticks < 8; ticks++) {
		test_run(&t, 50);
		heads[ticks] = m->paths->path[0].head;
	}
	assert_int_equal(ticks, 4);
	for (uint32_t i = 0; i < ticks; i++)
		assert_int_equal(heads[i], (i + 1) * SIM_PATH_TILES);
	assert_int_equal(ask(&t, 40500, 40500), SW_PATH_STEP);
	test_end(&t);
}

/* Thirty wolves from everywhere after ten players who jump about: all want ways, all the time. */
static uint64_t a_wild_hunt(uint64_t seed, uint32_t *made)
{
	struct test_shard t;
	struct sim_map *m;
	uint64_t hash = 0;

	start(&t, seed);
	m = map_of(&t);
	for (uint32_t c = 0; c < 10; c++)
		test_join(&t, c, true, 25500 + (int32_t)c * 1000, 9500);
	test_run(&t, 300);
	*made = 0;
	for (uint32_t n = 0; n < 200; n++) {
		uint32_t making = m->paths->making, before, done = 0;

		before = making == SIM_NONE ? 0 : m->paths->path[making].head;
		for (uint32_t i = 0; i < WOLVES; i++)
			if (m->monsters[i].mood != SIM_CHASES)
				hunt(&t, i, 7500 + (int32_t)(i % 10) * 1000, 7500, i % 10);
		for (uint32_t c = 0; c < 10; c++) {
			m->bodies[test_slot_of(m, c)].health =
				m->bodies[test_slot_of(m, c)].health_max;
			put(&t, test_slot_of(m, c), (int32_t)(1500 + (n * 7 + c * 13) % 45 * 1000),
				n / 4 % 2 ? 1500 : 12500);
		}
		test_run(&t, 50);
		if (making != SIM_NONE)
			done = m->paths->path[making].head - before;
		assert_true(done <= SIM_PATH_TILES);
		*made += making != m->paths->making;
		hash = hash * 31 + sim_shard_hash(t.shard);
	}
	test_end(&t);
	return hash;
}

static void a_tick_spends_its_share(void **state)
{
	uint32_t made, again;
	uint64_t hash = a_wild_hunt(7, &made);

	(void)state;
	assert_true(made > 20);
	assert_true(hash == a_wild_hunt(7, &again));
	assert_int_equal(made, again);
	assert_true(hash != a_wild_hunt(8, &again));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_of_a_pocket_and_home),
		cmocka_unit_test(prey_that_walks_is_followed),
		cmocka_unit_test(no_way_is_given_up),
		cmocka_unit_test(a_shoulder_is_no_end),
		cmocka_unit_test(fields_are_shared_and_kept),
		cmocka_unit_test(a_large_field_takes_its_ticks),
		cmocka_unit_test(a_tick_spends_its_share),
	};
	static const char *const names[] = {"field.tmj", "wide.tmj", "monsters.yaml"};
	char path[96];
	int failed;

	snprintf(folder, sizeof(folder), "/tmp/sw-paths-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	test_write_map(folder, "field.tmj", COLUMNS, ROWS, solid, objects);
	test_write_map(folder, "wide.tmj", 80, 80, NULL, objects);
	test_write(folder, "monsters.yaml",
		"monsters:\n"
		"- {name: wolf, health: 50, attack: 1, speed_mm_per_s: 4500, sight_mm: 8000,\n"
		"   leash_mm: 60000, cooldown_ms: 500, range_mm: 1500}\n");
	failed = cmocka_run_group_tests_name("paths", tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
