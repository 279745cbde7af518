/* Proves: a map with a file has the file's size, walls, spawns and monsters; who joins stands in a
 * spawn, who was saved in a wall beside it; players walk by the rules with walls, and what Joined
 * says lets a client do the same; monsters stay out of walls and near their herd; every fault of
 * every file stops the start; two shards with one seed and log are one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/entity.h"
#include "simulation/ground/ground_load.h"
#include "simulation/state.h"
#include "simulation/testing.h"

/* 60 x 40 m: a wall across at x 30, open from y 18 to 21; a solid block from 8, 8 to 15, 15. */
#define COLUMNS 60
#define ROWS    40

static char folder[] = "/tmp/sw-sim-ground-XXXXXX";

static bool solid(int column, int row)
{
	return (column == 30 && (row < 18 || row > 21)) ||
	       (column >= 8 && column < 16 && row >= 8 && row < 16);
}

static void write_map(const char *name, const char *objects)
{
	test_write_map(folder, name, COLUMNS, ROWS, solid, objects);
}

#define SPAWN "{\"name\":\"a\",\"type\":\"spawn\",\"x\":20,\"y\":250,\"width\":150,\"height\":150}"
#define ARRIVE                                                                                     \
	"{\"name\":\"b\",\"type\":\"spawn\",\"x\":500,\"y\":50,\"properties\":[{\"name\":"         \
	"\"arrival\",\"type\":\"bool\",\"value\":true}]}"
#define HERD                                                                                       \
	"{\"name\":\"\",\"type\":\"monster\",\"x\":320,\"y\":200,\"properties\":[{\"name\":"       \
	"\"kind\",\"value\":\"wolf\"},{\"name\":\"count\",\"value\":40},{\"name\":\"radius\","     \
	"\"value\":6}]}"

#define NPC                                                                                        \
	"{\"name\":\"Old "                                                                         \
	"Tom\",\"type\":\"npc\",\"x\":400,\"y\":300,\"properties\":[{\"name\":\"tag\",\"value\":"  \
	"\"tom\"}]}"

static void init(struct test_shard *t)
{
	test_init(t, 0, 100);
	t->config.maps[0].width_m = t->config.maps[0].height_m = 0; /* as the file says */
	strcpy(t->config.maps[0].file, "walled.tmj");
	strcpy(t->config.simulation.content, folder);
}

static struct sim_map *map_of(struct test_shard *t)
{
	return t->shard->maps[0];
}

static void the_file_says_what_the_map_is(void **state)
{
	struct test_shard t;
	struct sim_map *m;

	(void)state;
	init(&t);
	t.config.maps[0].width_m = COLUMNS; /* the same is fine */
	t.config.maps[0].monsters = 5;
	test_start(&t, 1);
	m = map_of(&t);
	assert_int_equal(m->rules.width_mm, COLUMNS * 1000);
	assert_int_equal(m->rules.height_mm, ROWS * 1000);
	assert_int_equal(m->rules.radius_mm, 300);
	assert_int_equal(m->monster_slots, 45);
	test_join(&t, 0, true, 20000, 20000);
	test_run(&t, 100);
	assert_true(m->rules.ground->hash == t.clients[0].ground_hash);
	assert_int_equal(t.clients[0].radius_mm, 300);
	test_end(&t);

	test_init(&t, 50, 10); /* open ground says so */
	test_start(&t, 1);
	test_join(&t, 0, true, 20000, 20000);
	test_run(&t, 100);
	assert_true(t.clients[0].ground_hash == 0);
	test_end(&t);
}

static void newcomers_stand_in_a_spawn(void **state)
{
	struct test_shard t;
	uint32_t moved = 0;

	(void)state;
	init(&t);
	test_start(&t, 1);
	for (uint32_t i = 0; i < 60; i++)
		test_join(&t, i, false, 0, 0);
	test_run(&t, 200);
	for (uint32_t i = 0; i < 60; i++) {
		int32_t x = t.clients[i].x_mm, y = t.clients[i].y_mm;

		assert_true(sim_position_legal(map_of(&t), x, y));
		/* in it, or just beside where the block leaves no room */
		assert_true(x >= 2000 && x < 17000 && y >= 0 && y < 17000);
		moved += x == 7699 || y == 7699 || x == 16300 || y == 16300;
	}
	assert_true(moved > 5); /* the block is a quarter of the spawn */
	test_end(&t);
}

static void the_saved_in_walls_are_put_beside_them(void **state)
{
	static const struct {
		int32_t x, y, want_x, want_y;
		bool saved; /* where it was told to be */
	} table[] = {
		{20000, 20000, 20000, 20000, true},
		{7699, 12000, 7699, 12000, true},
		{7700, 12000, 7699, 12000, false}, /* one millimetre too near */
		{9000, 12000, 7699, 12000, false},
		{30500, 5000, 31300, 5000, false},
		{30499, 5000, 29699, 5000, false},
		{30500, 20000, 30500, 20000, true}, /* in the gap */
		{30500, 18100, 30500, 18300, false},
	};
	struct test_shard t;

	(void)state;
	init(&t);
	test_start(&t, 1);
	for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		test_join(&t, i, true, table[i].x, table[i].y);
	test_join(&t, 50, true, 60000, 5); /* not on the map: as a newcomer */
	test_run(&t, 200);
	for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct sim_player *p = sim_player(map_of(&t), i);

		if (t.clients[i].x_mm != table[i].want_x || t.clients[i].y_mm != table[i].want_y)
			fail_msg("row %u: at %d, %d", i, t.clients[i].x_mm, t.clients[i].y_mm);
		assert_int_equal(p->saved_x_mm == p->join_x_mm, table[i].saved);
	}
	assert_true(t.clients[50].x_mm < 17000 && t.clients[50].y_mm < 17000);
	test_end(&t);
}

/* A client that knows the map walks as the server does. */
static void players_walk_by_the_rules(void **state)
{
	struct test_shard t;
	struct sw_move_state want = {.x_mm = 20000, .y_mm = 20000};
	struct sw_move_map rules = {
		.width_mm = COLUMNS * 1000, .height_mm = ROWS * 1000, .tick_hz = 20};
	struct sw_ground *ground;
	uint32_t random = 5, stopped = 0;

	(void)state;
	assert_int_equal(sw_ground_load(folder, "walled.tmj", stderr, &ground), 0);
	rules.ground = ground;
	rules.radius_mm = ground->radius_mm;
	init(&t);
	test_start(&t, 1);
	test_join(&t, 0, true, 20000, 20000);
	test_run(&t, 100);
	for (uint32_t i = 1; i <= 500; i++) { /* below 30 s, when the route is told again */
		struct sw_move_state before = want;
		int32_t dx, dy;

		if (i % 20 == 1)
			random = random * 1664525u + 1013904223u;
		dx = (int32_t)(random >> 24) - 128;
		dy = (int32_t)(random >> 16 & 255) - 128;
		dx = dx < -127 ? -127 : dx;
		dy = dy < -127 ? -127 : dy;
		test_input(&t, 0, i, 1, dx, dy);
		test_run(&t, 50);
		sw_move_apply(&rules, SIM_WALK_MM_PER_S, dx, dy, &want);
		assert_int_equal(t.clients[0].input_sequence, i);
		assert_int_equal(t.clients[0].x_mm, want.x_mm);
		assert_int_equal(t.clients[0].y_mm, want.y_mm);
		stopped += want.x_mm == before.x_mm || want.y_mm == before.y_mm;
	}
	assert_true(stopped > 20); /* it has met walls */
	test_end(&t);
	sw_ground_free(ground);
}

static void monsters_keep_out_of_walls_and_near_home(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	int64_t far_sum = 0;

	(void)state;
	init(&t);
	t.config.maps[0].monsters = 20;
	test_start(&t, 1);
	m = map_of(&t);
	for (uint32_t tick = 0; tick < 2000; tick++) {
		test_run(&t, 50);
		for (uint32_t i = 0; i < m->monster_slots; i++) {
			const struct sim_entity *e =
				&m->entities[m->player_slots + m->npc_slots + i];

			if (!sim_position_legal(m, e->x_mm, e->y_mm))
				fail_msg(
					"tick %u: monster %u at %d, %d", tick, i, e->x_mm, e->y_mm);
			if (i >= 20 && tick >= 1000)
				far_sum += labs(e->x_mm - 32000) + labs(e->y_mm - 19999);
		}
	}
	/* 40 of a herd over 1,000 ticks: on average inside its 6 m on each axis */
	assert_true(far_sum / 40 / 1000 < 9000);
	test_end(&t);
}

static void npcs_stand_at_places_and_walk_by_the_rules(void **state)
{
	static const struct {
		const char *script, *want;
	} refused[] = {
		{"npc { name = 'Tom', at = 'nowhere' }", "the map has no npc with tag 'nowhere'"},
		{"npc { name = 'Tom', x = 10, y = 10 }",
			"NPC Tom stands outside the map or in a wall"},
	};
	const struct sim_entity *walker;
	struct test_shard t;
	struct sim_map *m;
	char error[2048];

	(void)state;
	test_write(folder, "npcs.lua",
		"npc { name = 'Tom', at = 'tom' }\n"
		"npc { name = 'Walker', x = 25, y = 10, on_tick = function(npc) npc:walk(1, 0.1) "
		"end }\n");
	init(&t);
	strcpy(t.config.maps[0].script, "npcs.lua");
	assert_int_equal(script_watchdog_start(&t.links.watchdog, SCRIPT_WATCHDOG_PERIOD_US), 0);
	test_start(&t, 1);
	m = map_of(&t);
	assert_int_equal(m->entities[m->player_slots].x_mm, 40000);
	assert_int_equal(m->entities[m->player_slots].y_mm, 9999);
	walker = &m->entities[m->player_slots + 1];
	test_run(&t, 2500);
	assert_int_equal(walker->x_mm, 29699); /* at the wall, and along it */
	assert_in_range(walker->y_mm, 10500, 11500);
	test_run(&t, 25000);
	assert_true(walker->x_mm > 31300); /* through the gap */
	test_end(&t);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		test_write(folder, "npcs.lua", refused[i].script);
		if (sim_shard_new(&t.config, 0, &t.links, 1, t.now_ns, error, sizeof(error)) ||
			!strstr(error, refused[i].want))
			fail_msg("row %zu: %s", i, error);
	}
	script_watchdog_stop(t.links.watchdog);
}

static void faults_stop_the_start(void **state)
{
	static const struct {
		const char *file;
		uint32_t width_m;
		const char *want;
	} table[] = {
		{"none.tmj", 0, "none.tmj: (file): No such file"},
		{"walled.tmj", 61, "map meadow: width is 61 m, but walled.tmj is 60.000 m"},
		{"lonely.tmj", 0, "map meadow: lonely.tmj has no spawn"},
		{"faulty.tmj", 0, "faulty.tmj: layers[1]: goat \"\": has a class"},
		{"faulty.tmj", 0, "npc \"in\": lies in solid tiles"},
	};

	(void)state;
	write_map("lonely.tmj", "{}");
	write_map("faulty.tmj", "{\"type\":\"goat\"},{\"name\":\"in\",\"type\":\"npc\",\"x\":100,"
				"\"y\":300}");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct test_shard t;
		char error[2048] = "";

		init(&t);
		t.config.map_count = 2; /* all files are looked at */
		t.config.maps[1] = t.config.maps[0];
		strcpy(t.config.maps[1].name, "other");
		strcpy(t.config.maps[1].file, "never.tmj");
		strcpy(t.config.maps[0].file, table[i].file);
		t.config.maps[0].width_m = table[i].width_m;
		t.links.workers = 1;
		assert_null(
			sim_shard_new(&t.config, 0, &t.links, 1, t.now_ns, error, sizeof(error)));
		if (!strstr(error, table[i].want) || !strstr(error, "never.tmj: (file)"))
			fail_msg("row %zu: %s", i, error);
	}
}

static void one_seed_and_log_give_one_state(void **state)
{
	struct test_shard t[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		init(&t[i]);
		test_start(&t[i], 77);
		for (uint32_t c = 0; c < 20; c++)
			test_join(&t[i], c, c % 2, 9000, 9000);
	}
	for (uint32_t tick = 1; tick < 200; tick++) {
		for (uint32_t i = 0; i < 2; i++) {
			for (uint32_t c = 0; c < 20; c++)
				test_input(&t[i], c, tick, 1, (int32_t)(c * 40 + tick) % 255 - 127,
					(int32_t)(c * 90 + tick * 3) % 255 - 127);
			test_run(&t[i], 50);
		}
		assert_true(sim_shard_hash(t[0].shard) == sim_shard_hash(t[1].shard));
	}
	test_end(&t[0]);
	test_end(&t[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_says_what_the_map_is),
		cmocka_unit_test(newcomers_stand_in_a_spawn),
		cmocka_unit_test(the_saved_in_walls_are_put_beside_them),
		cmocka_unit_test(players_walk_by_the_rules),
		cmocka_unit_test(monsters_keep_out_of_walls_and_near_home),
		cmocka_unit_test(npcs_stand_at_places_and_walk_by_the_rules),
		cmocka_unit_test(faults_stop_the_start),
		cmocka_unit_test(one_seed_and_log_give_one_state),
	};
	static const char *const names[] = {"walled.tmj", "lonely.tmj", "faulty.tmj", "npcs.lua"};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	write_map("walled.tmj", SPAWN "," ARRIVE "," HERD "," NPC);
	failed = cmocka_run_group_tests_name("ground", tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
