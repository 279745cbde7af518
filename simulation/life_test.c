/* Proves: who joins and leaves is told to dataplane, client, world and control in the order that
 * they rely on; late, double and unknown leaves change nothing; a full world ring at a leave loses
 * no save and keeps the order; a crash costs one autosave period; caps hold; a stop saves and
 * disconnects everyone, paced, and says so at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/state.h"
#include "simulation/testing.h"

static void join_and_leave_in_order(void **state)
{
	struct test_shard t;

	(void)state;
	test_init(&t, 200, 10);
	test_start(&t, 1);
	test_join(&t, 0, true, 30000, 40000);
	test_run(&t, 200);
	assert_string_equal(t.order, "RJj");
	assert_true(t.clients[0].detail);
	assert_int_equal(t.clients[0].x_mm, 30000);
	assert_int_equal(t.clients[0].y_mm, 40000);
	assert_int_equal(test_counter(&t, SIM_PLAYERS), 1);

	/* where no position was saved, or one off the map: near the middle */
	test_join(&t, 1, false, 0, 0);
	test_join(&t, 2, true, 200000, 5);
	test_run(&t, 100);
	for (uint32_t i = 1; i <= 2; i++) {
		assert_in_range(t.clients[i].x_mm, 98000, 102000);
		assert_in_range(t.clients[i].y_mm, 98000, 102000);
	}

	memset(t.order, 0, sizeof(t.order));
	t.order_count = 0;
	test_gone(&t, 0);
	test_run(&t, 100);
	assert_string_equal(t.order, "Ll"); /* nobody to disconnect */
	assert_int_equal(t.last_save.x_mm, 30000);
	assert_int_equal(t.last_save.epoch, 3);
	assert_int_equal(t.last_save.character_id, 5000);
	assert_string_equal(t.last_save.map, "meadow");
	assert_int_equal(t.left_session, 1000);

	/* late and double: counted, harmless */
	test_gone(&t, 0);
	test_remove(&t, 0, SW_REASON_KICKED);
	test_run(&t, 100);
	assert_int_equal(t.left, 1);
	assert_int_equal(test_counter(&t, SIM_LEAVES_STALE), 2);

	/* removed by control: the client is told why */
	t.order_count = 0;
	memset(t.order, 0, sizeof(t.order));
	test_remove(&t, 1, SW_REASON_REPLACED);
	test_remove(&t, 1, SW_REASON_REPLACED);
	test_run(&t, 100);
	assert_int_equal(t.left, 2);
	assert_true(t.clients[1].disconnected);
	assert_int_equal(t.clients[1].disconnect_reason, SW_REASON_REPLACED);
	assert_non_null(strstr(t.order, "L"));
	assert_true(strstr(t.order, "L") < strstr(t.order, "l"));
	assert_int_equal(test_counter(&t, SIM_PLAYERS), 1);
	test_end(&t);
}

static void leave_before_placed(void **state)
{
	struct test_shard t;

	(void)state;
	test_init(&t, 200, 10);
	test_start(&t, 1);
	test_join(&t, 0, true, 1000, 1000);
	test_gone(&t, 0); /* both are drained before the first tick */
	test_run(&t, 200);
	assert_int_equal(t.joined, 1);
	assert_int_equal(t.left, 1);
	assert_int_equal(t.leaving_saves, 1);
	assert_int_equal(test_counter(&t, SIM_PLAYERS), 0);
	test_end(&t);
}

static void joins_refused(void **state)
{
	static bool used[TEST_ACTORS_MAX];
	struct test_shard t;

	(void)state;
	test_init(&t, 200, 3);
	test_start(&t, 1);
	for (uint32_t i = 0; i < 5; i++)
		test_join(&t, i, false, 0, 0);
	test_run(&t, 100);
	assert_int_equal(t.joined, 3);
	assert_int_equal(t.refused, 2);
	assert_int_equal(t.refused_reason, SW_REASON_MAP_UNAVAILABLE);
	test_join(&t, 0, false, 0, 0); /* its peer plays already */
	test_run(&t, 100);
	assert_int_equal(t.refused, 3);
	/* a place that became free is given again */
	for (uint32_t round = 0; round < 300; round++) {
		test_gone(&t, round % 3);
		test_run(&t, 60);
		test_join(&t, round % 3, false, 0, 0);
		test_run(&t, 100);
		/* under an id that nobody had before: 300 stays in 48 s */
		assert_true(t.clients[round % 3].actor_id < TEST_ACTORS_MAX);
		assert_false(used[t.clients[round % 3].actor_id]);
		used[t.clients[round % 3].actor_id] = true;
	}
	assert_int_equal(t.joined, 303);
	assert_int_equal(t.left, 300);
	assert_int_equal(t.leaving_saves, 300);
	test_stop(&t);
	test_run(&t, 100);
	test_join(&t, 9, false, 0, 0);
	test_run(&t, 100);
	assert_int_equal(t.refused_reason, SW_REASON_SERVER_STOPPING);
	test_end(&t);
}

static void full_world_ring_loses_no_save(void **state)
{
	struct test_shard t;
	uint32_t left_while_full;

	(void)state;
	test_init(&t, 200, 400);
	t.config.rings.slots = 256; /* room for 127 saves */
	t.answer_details = false;
	test_start(&t, 1);
	for (uint32_t i = 0; i < 300; i++) {
		test_join(&t, i, true, 1000 * (int32_t)(i % 200), 1000);
		test_run(&t, 5);
	}
	test_run(&t, 500);
	assert_int_equal(t.joined, 300);
	test_run(&t, 100);
	for (uint32_t i = 0; i < 300; i++)
		test_gone(&t, i), test_run_holding(&t, 1), test_read_dataplane(&t);
	/* the world thread stands still, control and dataplane do not */
	for (uint32_t i = 0; i < 1000; i++) {
		test_run_holding(&t, 1);
		test_read_dataplane(&t);
		test_read_control(&t);
	}
	left_while_full = t.left;
	assert_true(left_while_full < 300);
	assert_true(test_counter(&t, SIM_SAVES_WAITED) > 0);
	t.order_count = 0;
	test_run(&t, 1000);
	assert_int_equal(t.left, 300);
	assert_int_equal(t.leaving_saves, 300);
	assert_int_equal(test_counter(&t, SIM_PLAYERS), 0);
	test_end(&t);
}

/* Control stands still instead: lefts wait, joins wait in their ring, and one whose peer has gone
 * meanwhile is found by its route. */
static void full_control_ring(void **state)
{
	struct test_shard t;

	(void)state;
	test_init(&t, 200, 1000);
	t.config.rings.slots = 256;
	test_start(&t, 1);
	for (uint32_t i = 0; i < 900; i++) {
		test_join(&t, i, true, 1000 * (int32_t)(i % 200), 1000 * (int32_t)(i / 200));
		test_run_holding(&t, 2);
		test_read_world(&t);
		test_read_dataplane(&t);
	}
	for (uint32_t i = 0; i < 900; i++) {
		test_gone(&t, i);
		test_run_holding(&t, 2);
		test_read_world(&t);
		test_read_dataplane(&t);
	}
	assert_int_equal(t.joined + t.left, 0);
	test_run(&t, 2000);
	assert_int_equal(t.joined, 900);
	assert_int_equal(t.left, 900);
	assert_int_equal(t.leaving_saves, 900);
	test_end(&t);
}

static void stop_is_paced_and_complete(void **state)
{
	struct test_shard t;
	uint32_t after_one_tick;

	(void)state;
	test_init(&t, 200, 400);
	test_start(&t, 1);
	for (uint32_t i = 0; i < 300; i++)
		test_join(&t, i, true, 1000 * (int32_t)(i % 200), 1000);
	test_run(&t, 500);
	test_stop(&t);
	test_stop(&t);
	test_run(&t, 110);
	after_one_tick = t.left;
	assert_true(after_one_tick > 0 && after_one_tick < 100);
	assert_int_equal(t.stopped, 0);
	test_run(&t, 2000);
	assert_int_equal(t.left, 300);
	assert_int_equal(t.leaving_saves, 300);
	assert_int_equal(t.stopped, 1);
	for (uint32_t i = 0; i < 300; i++) {
		assert_true(t.clients[i].disconnected);
		assert_int_equal(t.clients[i].disconnect_reason, SW_REASON_SERVER_STOPPING);
		assert_int_equal(t.clients[i].disconnect_mode, MSG_DISCONNECT_LATER);
	}
	test_end(&t);
}

static void autosave_once_a_period(void **state)
{
	struct test_shard t;

	(void)state;
	test_init(&t, 200, 100);
	t.config.simulation.autosave_ms = 2000;
	test_start(&t, 1);
	for (uint32_t i = 0; i < 100; i++)
		test_join(&t, i, true, 1000 * (int32_t)i, 1000);
	test_run(&t, 4100);
	assert_int_equal(t.saves, 0); /* all stand where they were loaded */
	for (uint32_t tick = 0; tick < 80; tick++) {
		for (uint32_t i = 0; i < 100; i++)
			test_input(&t, i, 1 + tick, 1, 0, 127);
		test_run(&t, 50);
	}
	assert_in_range(t.saves, 190, 200); /* 4 s: two periods */
	test_end(&t);
}

#define WALKERS 60u
#define PERIOD  40u /* ticks: 2 s */

/* Whenever a node is killed: of everyone who walks, the last save says where it was less than one
 * autosave period ago. Who has joined when, and in which slot, changes nothing of that. */
static void a_crash_costs_one_period(void **state)
{
	static int32_t was[4 * PERIOD][WALKERS];
	int32_t saved[WALKERS];
	uint32_t oldest = 0;
	struct msg batch[2 * MSG_SLOTS_MAX];
	struct test_shard t;

	(void)state;
	test_init(&t, 200, WALKERS);
	t.config.simulation.autosave_ms = PERIOD * 50;
	test_start(&t, 1);
	for (uint32_t i = 0; i < WALKERS; i++) {
		saved[i] = 1000;
		test_join(&t, i, true, saved[i], 1000 * (int32_t)i);
		test_run(&t, 50 + i % 3 * 50);
	}
	test_run(&t, 1000);
	for (uint32_t tick = 0; tick < 4 * PERIOD; tick++) {
		const struct sim_map *m = t.shard->maps[0];
		uint32_t slots;

		for (uint32_t i = 0; i < WALKERS; i++)
			test_input(&t, i, 1 + tick, 1, 127, 0);
		test_run_holding(&t, 50);
		test_read_dataplane(&t);
		test_read_control(&t);
		while ((slots = msg_ring_pop(t.links.to_world, batch, 2 * MSG_SLOTS_MAX)))
			for (const struct msg *at = batch; at < batch + slots; at = msg_next(at)) {
				struct msg_position_save save;

				assert_int_equal(at->type, MSG_POSITION_SAVE);
				memcpy(&save, msg_payload(at), sizeof(save));
				saved[save.character_id - 5000] = save.x_mm;
			}
		for (uint32_t i = 0; i < WALKERS; i++) {
			uint32_t age = 0;

			was[tick][i] = m->entities[test_slot_of(m, i)].x_mm;
			assert_true(!tick || was[tick][i] > was[tick - 1][i]);
			while (age < tick && was[tick - age][i] > saved[i])
				age++;
			if (age >= PERIOD)
				fail_msg("tick %u: what is saved of %u is %u ticks old", tick, i,
					age);
			oldest = age > oldest ? age : oldest;
		}
	}
	assert_int_equal(oldest, PERIOD - 1);
	test_end(&t);
}

/* A peer that the dataplane lost without a word is found: its route is told again each 30 s. */
static void routes_are_told_again(void **state)
{
	struct test_shard t;

	(void)state;
	test_init(&t, 200, 50);
	test_start(&t, 1);
	for (uint32_t i = 0; i < 50; i++)
		test_join(&t, i, false, 0, 0);
	test_run(&t, 100);
	assert_in_range(t.routes, 50, 52); /* one or two had their turn already */
	t.routes = 0;
	test_run(&t, 30000);
	assert_int_equal(t.routes, 50);
	t.clients[7].here = false; /* the dataplane's answer to its next route is MSG_PEER_GONE */
	test_run(&t, 30100);
	assert_int_equal(t.left, 1);
	assert_int_equal(t.left_session, 1007);
	test_end(&t);
}

/* The dataplane gave a peer's place to another before its word of the first one's end came, or that
 * word was lost: the first is gone, saved, and told to control, once. */
static void a_newer_peer_in_the_place(void **state)
{
	struct msg_player_join join = {.session = 9000,
		.character_id = 9001,
		.map = "meadow",
		.name = "Bob",
		.payload_bytes_max = 1300};
	const uint64_t newer = handle_make(0, 8, 0);
	struct msg message[5];

	(void)state;
	for (int late = 0; late < 2; late++) { /* the word comes late, or never */
		struct test_shard t;

		test_init(&t, 200, 10);
		test_start(&t, 1);
		test_join(&t, 0, true, 30000, 40000);
		test_run(&t, 200);
		memcpy(msg_begin(message, MSG_PLAYER_JOIN, newer, sizeof(join)), &join,
			sizeof(join));
		assert_true(msg_ring_push(t.links.from_control, message));
		test_run(&t, 200);
		if (late)
			test_gone(&t, 0);
		test_run(&t, 200);
		assert_int_equal(t.joined, 2);
		assert_int_equal(t.left, 1);
		assert_int_equal(t.left_session, 1000);
		assert_int_equal(t.leaving_saves, 1);
		assert_int_equal(t.last_save.character_id, 5000);
		assert_int_equal(test_counter(&t, SIM_PLAYERS), 1);
		assert_int_equal(test_counter(&t, SIM_LEAVES_STALE), late);
		assert_false(t.clients[0].disconnected); /* its peer is nobody's any more */
		test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(join_and_leave_in_order),
		cmocka_unit_test(leave_before_placed),
		cmocka_unit_test(joins_refused),
		cmocka_unit_test(full_world_ring_loses_no_save),
		cmocka_unit_test(full_control_ring),
		cmocka_unit_test(stop_is_paced_and_complete),
		cmocka_unit_test(autosave_once_a_period),
		cmocka_unit_test(a_crash_costs_one_period),
		cmocka_unit_test(routes_are_told_again),
		cmocka_unit_test(a_newer_peer_in_the_place),
	};

	return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
