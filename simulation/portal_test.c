/* Proves: whoever walks into a portal leaves for its map and spawn, once for each entry; who comes
 * inside of one is not taken before it has stepped out; whom the other map did not take is told and
 * waits; the dead are not taken; every portal that leads nowhere stops the start, with the names of
 * what there is; one seed and log give one state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/combat.h"
#include "simulation/counters.h"
#include "simulation/portal.h"
#include "simulation/testing.h"

static char folder[] = "/tmp/sw-sim-portal-XXXXXX";

/* 40 x 40 m without walls. */
static void write_map(const char *name, const char *objects)
{
	test_write_map(folder, name, 40, 40, NULL, objects);
}

/* Tiled's y is from the north: a portal over x 20..24, y 18..20 m. */
#define PORTAL(name, map, more)                                                                    \
	"{\"name\":\"" name "\",\"type\":\"portal\",\"x\":200,\"y\":200,\"width\":40,\"height\":"  \
	"20,\"properties\":[{\"name\":\"target_map\",\"value\":\"" map "\"}" more "]}"
#define TO(spawn) ",{\"name\":\"target_spawn\",\"value\":\"" spawn "\"}"
#define SPAWN     "{\"name\":\"a\",\"type\":\"spawn\",\"x\":20,\"y\":20,\"width\":10,\"height\":10}"
#define ARRIVE                                                                                     \
	"{\"name\":\"b\",\"type\":\"spawn\",\"x\":300,\"y\":300,\"width\":20,\"height\":20,"       \
	"\"properties\":[{\"name\":\"arrival\",\"type\":\"bool\",\"value\":true}]}"

static void init(struct test_shard *t, const char *first, const char *second)
{
	test_init(t, 0, 20);
	strcpy(t->config.simulation.content, folder);
	strcpy(t->config.maps[0].file, first);
	t->config.map_count = 2;
	t->config.maps[1] = t->config.maps[0];
	strcpy(t->config.maps[1].name, "cave");
	strcpy(t->config.maps[1].file, second);
}

static void start(struct test_shard *t)
{
	init(t, "near.tmj", "far.tmj");
	test_start(t, 3);
}

/* Client 0 walks north for so many ticks, from input sequence *at on. */
static void north(struct test_shard *t, uint32_t *at, uint32_t ticks, int32_t dy)
{
	for (uint32_t i = 0; i < ticks; i++) {
		test_input(t, 0, ++*at, 1, 0, dy);
		test_run(t, 50);
	}
}

static void who_walks_in_leaves_once(void **state)
{
	uint32_t at = 0;
	struct test_shard t;

	(void)state;
	start(&t);
	test_join(&t, 0, true, 22000, 17200);
	test_run(&t, 200);
	north(&t, &at, 3, 127); /* 17,950: before it */
	assert_int_equal(t.transfers, 0);
	north(&t, &at, 6, 127);
	assert_int_equal(t.transfers, 1);
	assert_string_equal(t.transfer.map, "cave");
	assert_int_equal(t.transfer.has_position, 1);
	assert_in_range(t.transfer.x_mm, 30000, 32000);
	assert_in_range(t.transfer.y_mm, 8000, 10000);
	assert_string_equal(t.transfer.return_map, "meadow");
	assert_int_equal(t.transfer.return_y_mm, 18200); /* the first step that is in it */
	assert_int_equal(test_counter(&t, SIM_PORTALS), 1);
	test_end(&t);
}

static void several_steps_of_a_tick_do_not_pass_it(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	test_join(&t, 0, true, 22000, 17900);
	test_run(&t, 200);
	test_input(&t, 0, 1, 5, 0, 127);
	test_run(&t, 300);
	assert_int_equal(t.transfers, 1);
	assert_int_equal(t.transfer.return_y_mm, 18150);
	test_end(&t);
}

static void who_comes_inside_steps_out_first(void **state)
{
	uint32_t at = 0;
	struct test_shard t;

	(void)state;
	start(&t);
	test_join(&t, 0, true, 22000, 19000);
	test_run(&t, 200);
	north(&t, &at, 3, 127); /* within it, to 19,750 */
	assert_int_equal(t.transfers, 0);
	north(&t, &at, 3, 127); /* out, to 20,500 */
	assert_int_equal(t.transfers, 0);
	north(&t, &at, 4, -127);
	test_run(&t, 200);
	assert_int_equal(t.transfers, 1);
	test_end(&t);
}

static void who_is_turned_back_is_told_and_waits(void **state)
{
	static const struct {
		uint32_t back, told;
	} rows[] = {
		{SW_REASON_MAP_UNAVAILABLE, SW__ACTION_REFUSAL__MAP_FULL},
		{SW_REASON_MAP_CLOSING, SW__ACTION_REFUSAL__MAP_CLOSED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct msg_player_join join = {.map = "meadow",
			.has_position = 1,
			.x_mm = 22000,
			.y_mm = 18100,
			.back_reason = rows[i].back};
		uint32_t at = 0;
		struct test_shard t;

		start(&t);
		test_join_as(&t, 0, &join);
		test_run(&t, 200);
		assert_int_equal(t.clients[0].refusals, 1);
		assert_int_equal(t.clients[0].refused_action, SW_MSG_JOINED);
		assert_int_equal(t.clients[0].refused_reason, rows[i].told);
		north(&t, &at, 1, -127);
		north(&t, &at, 2, 127); /* in again, too soon; and it is told once */
		assert_int_equal(t.clients[0].refusals, 2);
		assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__TOO_OFTEN);
		assert_int_equal(t.transfers, 0);
		north(&t, &at, 2, -127);
		test_run(&t, SIM_PORTAL_WAIT_S * 1000);
		north(&t, &at, 3, 127);
		test_run(&t, 200);
		assert_int_equal(t.transfers, 1);
		assert_int_equal(t.clients[0].refusals, 2);
		test_end(&t);
	}
}

static void the_dead_are_not_taken(void **state)
{
	uint32_t at = 0, slot = 0;
	struct test_shard t;
	struct sim_map *m;

	(void)state;
	start(&t);
	test_join(&t, 0, true, 22000, 17900);
	test_run(&t, 200);
	m = t.shard->maps[0];
	while (!sim_is_present(m, slot))
		slot++;
	sim_hurt(m, SIM_NONE, slot, 100000);
	north(&t, &at, 10, 127);
	assert_int_equal(t.transfers, 0);
	test_run(&t, 7000); /* it stands up elsewhere, and may go on */
	assert_true(sim_is_alive(m, slot));
	assert_true(m->entities[slot].y_mm > 30000);
	test_end(&t);
}

static void portals_that_lead_nowhere_stop_the_start(void **state)
{
	static const struct {
		const char *file, *want;
	} table[] = {
		{"unknown.tmj", "map meadow: unknown.tmj: portal \"gate\": target_map is \"moon\", "
				"allowed are the node's maps: meadow, cave\n"},
		{"spawn.tmj", "map meadow: spawn.tmj: portal \"gate\": target_spawn is \"c\", "
			      "allowed are the spawns of cave: a, b\n"},
		{"open.tmj",
			"map meadow: open.tmj: portal \"gate\": target_spawn is \"a\", allowed "
			"are the spawns of open: none: it has no file\n"},
	};

	(void)state;
	write_map("unknown.tmj", SPAWN "," PORTAL("gate", "moon", ""));
	write_map("spawn.tmj", SPAWN "," PORTAL("gate", "cave", TO("c")));
	write_map("open.tmj", SPAWN "," PORTAL("gate", "open", TO("a")));
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct test_shard t;
		char error[2048] = "";

		init(&t, table[i].file, "far.tmj");
		if (i == 2) {
			strcpy(t.config.maps[1].name, "open");
			t.config.maps[1].file[0] = '\0';
			t.config.maps[1].width_m = t.config.maps[1].height_m = 40;
		}
		t.links.workers = 1;
		assert_null(
			sim_shard_new(&t.config, 0, &t.links, 1, t.now_ns, error, sizeof(error)));
		if (!strstr(error, table[i].want))
			fail_msg("row %zu: %s", i, error);
	}
}

static void one_seed_and_log_give_one_state(void **state)
{
	struct test_shard t[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		start(&t[i]);
		for (uint32_t c = 0; c < 16; c++)
			test_join(&t[i], c, true, 18000 + (int32_t)c * 500, 16000);
	}
	for (uint32_t tick = 1; tick < 60; tick++) {
		for (uint32_t i = 0; i < 2; i++) {
			for (uint32_t c = 0; c < 16; c++)
				test_input(
					&t[i], c, tick, 1, (int32_t)(c * 40 + tick) % 120 - 60, 90);
			test_run(&t[i], 50);
		}
		assert_true(sim_shard_hash(t[0].shard) == sim_shard_hash(t[1].shard));
	}
	assert_true(t[0].transfers > 3);
	test_end(&t[0]);
	test_end(&t[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_walks_in_leaves_once),
		cmocka_unit_test(several_steps_of_a_tick_do_not_pass_it),
		cmocka_unit_test(who_comes_inside_steps_out_first),
		cmocka_unit_test(who_is_turned_back_is_told_and_waits),
		cmocka_unit_test(the_dead_are_not_taken),
		cmocka_unit_test(portals_that_lead_nowhere_stop_the_start),
		cmocka_unit_test(one_seed_and_log_give_one_state),
	};
	static const char *const names[] = {
		"near.tmj", "far.tmj", "unknown.tmj", "spawn.tmj", "open.tmj"};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	write_map("near.tmj", SPAWN "," PORTAL("gate", "cave", TO("b")));
	write_map("far.tmj", SPAWN "," ARRIVE "," PORTAL("back", "meadow", ""));
	failed = cmocka_run_group_tests_name("portal", tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
