/* Proves the shard's side of a transfer: the order of what it says (save, route given up, and only
 * after the dataplane's answer the word to control), that nothing is sent to the client in between,
 * that what the client sends for a map it has left is refused by name and changes nothing, and that
 * a peer that goes, a removal or a stop in the middle ends in a saved leave, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/testing.h"
#include "simulation/transfer.h"

static const struct sim_spawn spawn = {
	.has_position = true, .heading = 99, .x_mm = 5000, .y_mm = 6000};

static void start(struct test_shard *t)
{
	test_init(t, 200, 10);
	test_start(t, 1);
	test_join(t, 0, true, 50000, 60000);
	test_join(t, 1, true, 51000, 60000);
	test_run(t, 500);
	t->order_count = 0;
	memset(t->order, 0, sizeof(t->order));
}

static void go(struct test_shard *t, uint32_t client, const char *map)
{
	uint32_t slot;
	struct sim_map *m;

	/* Slots are given in the order of joins. */
	m = t->shard->maps[0];
	for (slot = 0; slot < m->player_slots; slot++)
		if (sim_player(m, slot)->peer == test_peer(client) && sim_is_present(m, slot))
			break;
	assert_true(sim_player_transfer(m, slot, map, &spawn));
	assert_false(sim_player_transfer(m, slot, map, &spawn)); /* it leaves already */
}

static void it_leaves_in_order(void **state)
{
	uint32_t updates;
	struct test_shard t;

	(void)state;
	start(&t);
	test_input(&t, 0, 1, 4, 127, 0);
	test_run(&t, 200);
	t.order_count = 0;
	memset(t.order, 0, sizeof(t.order));
	go(&t, 0, "cave");
	updates = t.clients[0].updates;
	test_run(&t, 500);
	assert_string_equal(t.order, "LUt");
	assert_int_equal(t.clients[0].updates, updates);
	assert_int_equal(t.clients[1].view_count, 0); /* the other saw it go */
	assert_false(t.clients[0].disconnected);
	assert_int_equal(t.left, 0);
	assert_int_equal(t.last_save.leaving, 1);
	assert_string_equal(t.last_save.map, "meadow");
	assert_int_equal(t.last_save.x_mm, 51000);
	assert_string_equal(t.transfer.map, "cave");
	assert_int_equal(t.transfer.session, 1000);
	assert_int_equal(t.transfer.character_id, 5000);
	assert_int_equal(t.transfer.input_sequence, 4);
	assert_int_equal(t.transfer.x_mm, 5000);
	assert_int_equal(t.transfer.heading, 99);
	assert_string_equal(t.transfer.name, "Ann");
	/* From here it could be sent back. */
	assert_string_equal(t.transfer.return_map, "meadow");
	assert_int_equal(t.transfer.return_x_mm, 51000);
	assert_int_equal(t.shard->players, 1);
	test_end(&t);
}

/* The dataplane's answer is late: nothing is said before it. */
static void control_hears_after_the_marker(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	go(&t, 0, "cave");
	for (int i = 0; i < 20; i++) {
		test_run_holding(&t, 50); /* the route's message stands in the ring */
		test_read_control(&t);
	}
	assert_int_equal(t.transfers, 0);
	assert_int_equal(t.shard->players, 2);
	test_run(&t, 200);
	assert_int_equal(t.transfers, 1);
	assert_int_equal(t.shard->players, 1);
	test_end(&t);
}

static void what_was_meant_for_the_old_map_is_refused(void **state)
{
	struct msg_player_join again = {.map = "meadow",
		.has_position = 1,
		.x_mm = 100000,
		.y_mm = 100000,
		.stay = 1,
		.input_sequence = 4};
	struct test_shard t;

	(void)state;
	start(&t);
	go(&t, 0, "meadow");
	test_run_holding(&t, 100); /* it is off the map, the route still comes here */
	test_input(&t, 0, 1, 4, 127, 0);
	test_click(&t, 0, 1);
	test_run(&t, 200);
	assert_int_equal(test_counter(&t, SIM_PACKETS_LEFT_MAP), 2);
	assert_int_equal(t.transfers, 1);
	/* On the next map, before the client has heard of it. */
	test_join_as(&t, 0, &again);
	test_run(&t, 200);
	assert_int_equal(t.clients[0].stay, 1);
	t.clients[0].stay = 0;
	test_input(&t, 0, 5, 4, 127, 0);
	test_click(&t, 0, 1);
	test_run_holding(&t, 100);
	t.clients[0].stay = 1;
	test_run(&t, 100);
	assert_int_equal(test_counter(&t, SIM_PACKETS_LEFT_MAP), 4);
	assert_int_equal(t.clients[0].refused_action, SW_MSG_CLICK);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__LEFT_MAP);
	assert_int_equal(t.clients[0].x_mm, 100000);
	/* And after: the sequence goes on from the other map. */
	test_input(&t, 0, 4, 1, 127, 0); /* applied there */
	test_input(&t, 0, 5, 4, 127, 0);
	test_run(&t, 300);
	assert_int_equal(t.clients[0].x_mm, 101000);
	assert_int_equal(t.clients[0].input_sequence, 8);
	assert_int_equal(t.clients[0].gaps, 0);
	test_end(&t);
}

enum event { PEER_GONE_BEFORE, PEER_GONE_BETWEEN, REMOVED_BEFORE, REMOVED_BETWEEN, STOP_BEFORE };

static void an_end_in_the_middle_is_one_end(void **state)
{
	/* What happens, what control hears of the player: t transfer, l left. */
	static const struct {
		enum event event;
		const char *control;
		uint32_t leaving_saves;
		bool disconnected;
	} rows[] = {
		{PEER_GONE_BEFORE, "l", 1, false},
		{PEER_GONE_BETWEEN, "l", 1, false},
		{REMOVED_BEFORE, "t", 1, false}, /* control knows what it has asked for */
		{REMOVED_BETWEEN, "t", 1, false},
		{STOP_BEFORE, "l", 1, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char said[256] = "";
		size_t said_count = 0;
		struct test_shard t;

		start(&t);
		test_gone(&t, 1); /* alone, so that all that is said is of it */
		test_run(&t, 500);
		t.order_count = t.leaving_saves = 0;
		memset(t.order, 0, sizeof(t.order));
		if (rows[i].event == STOP_BEFORE) {
			test_stop(&t);
			test_run_holding(&t, 1);
		}
		go(&t, 0, "cave");
		if (rows[i].event == PEER_GONE_BEFORE)
			test_gone(&t, 0);
		if (rows[i].event == REMOVED_BEFORE)
			test_remove(&t, 0, SW_REASON_REPLACED);
		test_run_holding(&t, 100);
		if (rows[i].event == PEER_GONE_BETWEEN)
			test_gone(&t, 0);
		if (rows[i].event == REMOVED_BETWEEN)
			test_remove(&t, 0, SW_REASON_REPLACED);
		test_run_holding(&t, 100);
		test_run(&t, 500);
		for (const char *c = t.order; *c; c++)
			if (*c == 't' || *c == 'l')
				said[said_count++] = *c;
		if (strcmp(said, rows[i].control) ||
			t.clients[0].disconnected != rows[i].disconnected)
			fail_msg("row %zu: %s, all: %s", i, said, t.order);
		assert_int_equal(t.leaving_saves, rows[i].leaving_saves);
		assert_int_equal(t.shard->players, 0);
		test_end(&t);
	}
}

static void home_is_where_it_is_not(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	assert_false(sim_player_transfer(t.shard->maps[0], 0, "", &spawn));
	assert_false(sim_player_transfer(t.shard->maps[0], 5, "cave", &spawn)); /* nobody */
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_leaves_in_order),
		cmocka_unit_test(control_hears_after_the_marker),
		cmocka_unit_test(what_was_meant_for_the_old_map_is_refused),
		cmocka_unit_test(an_end_in_the_middle_is_one_end),
		cmocka_unit_test(home_is_where_it_is_not),
	};

	return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
