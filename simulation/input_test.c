/* Proves: a player walks by the rules and no faster than real time beyond the stated bank, however
 * it sends; repeats are ignored, sequences wrap, a lost batch is made up for by the next;
 * unreadable messages are refused by name and end the stay at the stated number; actions that
 * cannot be done are refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/client_message.h"
#include "simulation/counters.h"
#include "simulation/rules/move.h"
#include "simulation/state.h"
#include "simulation/testing.h"

static const struct sw_move_map rules = {.width_mm = 2000000, .height_mm = 2000000, .tick_hz = 20};

static void start(struct test_shard *t)
{
	test_init(t, 2000, 10);
	test_start(t, 1);
	test_join(t, 0, true, 1000000, 1000000);
	test_run(t, 200);
}

static void walks_by_the_rules(void **state)
{
	struct test_shard t;
	struct sw_move_state want = {.x_mm = 1000000, .y_mm = 1000000};

	(void)state;
	start(&t);
	for (uint32_t i = 1; i <= 40; i++) {
		int32_t dx = (int32_t)(i * 37 % 255) - 127, dy = (int32_t)(i * 91 % 255) - 127;

		test_input(&t, 0, i, 1, dx, dy);
		test_run(&t, 50);
		sw_move_apply(&rules, SIM_WALK_MM_PER_S, dx, dy, &want);
		assert_int_equal(t.clients[0].input_sequence, i);
		assert_int_equal(t.clients[0].x_mm, want.x_mm);
		assert_int_equal(t.clients[0].y_mm, want.y_mm);
		assert_int_equal(t.clients[0].heading, want.heading);
	}
	test_end(&t);
}

static void repeats_and_losses(void **state)
{
	struct test_shard t;
	const int32_t step = (int32_t)sw_move_step_mm(SIM_WALK_MM_PER_S, 20);

	(void)state;
	start(&t);
	test_input(&t, 0, 1, 1, 127, 0);
	test_run(&t, 50);
	test_input(&t, 0, 1, 2, 127, 0); /* 1 again, and 2 */
	test_input(&t, 0, 1, 2, 127, 0);
	test_run(&t, 50);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 2 * step);
	assert_int_equal(test_counter(&t, SIM_INPUTS_REPEATED), 3);
	test_run(&t, 100);               /* 3 and 4 are lost ... */
	test_input(&t, 0, 1, 5, 127, 0); /* ... and come with 5 */
	test_run(&t, 50);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 5 * step);
	assert_int_equal(t.clients[0].input_sequence, 5);
	/* a jump in the sequence is one input, not many */
	test_input(&t, 0, 2000000000, 1, 127, 0);
	test_run(&t, 50);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 6 * step);
	/* over the wrap */
	test_input(&t, 0, 4000000000u, 1, 127, 0);
	test_run(&t, 50);
	test_input(&t, 0, UINT32_MAX, 3, 127, 0); /* ffffffff, 0, 1 */
	test_run(&t, 50);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 10 * step);
	assert_int_equal(t.clients[0].input_sequence, 1);
	test_end(&t);
}

static void no_faster_than_real_time(void **state)
{
	static const struct {
		uint32_t batches_a_tick, inputs_a_batch;
	} cheats[] = {{1, 2}, {1, 8}, {10, 8}, {3, 1}, {200, 8}};

	(void)state;
	for (size_t i = 0; i < sizeof(cheats) / sizeof(cheats[0]); i++) {
		struct test_shard t;
		const int32_t step = (int32_t)sw_move_step_mm(SIM_WALK_MM_PER_S, 20);
		uint32_t sequence = 1;
		int32_t walked;

		start(&t);
		for (uint32_t tick = 0; tick < 100; tick++) {
			for (uint32_t b = 0; b < cheats[i].batches_a_tick; b++) {
				test_input(&t, 0, sequence, cheats[i].inputs_a_batch, 127, 127);
				sequence += cheats[i].inputs_a_batch;
			}
			test_run(&t, 50);
		}
		walked = t.clients[0].x_mm - 1000000;
		/* the diagonal is no short cut either: each axis gets 89/127 of a step at most */
		if (walked > (100 + (int32_t)SIM_INPUT_BANK) * step * 90 / 127)
			fail_msg("row %zu: %d mm in 100 ticks", i, walked);
		assert_true(walked > 95 * step * 89 / 127);
		assert_true(test_counter(&t, SIM_INPUTS_DROPPED) > 0);
		test_end(&t);
	}
}

static uint32_t next(uint64_t *random)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*random >> 33);
}

/* However the inputs come (in time, in bursts, late, lost, half of them standing still), over any
 * window of n ticks a player gets no further than n + bank full steps. */
static void no_window_is_too_fast(void **state)
{
	enum { TICKS = 400 };
	/* A batch in so many milliseconds, of up to so many inputs; of ten, so many stand still. */
	static const struct {
		uint32_t every_ms, inputs, stand;
	} ways[] = {{1, 8, 5}, {50, 1, 0}, {400, 8, 0}, {20, 3, 3}, {45, 1, 1}, {150, 8, 5}};
	static int64_t at[TICKS + 1]; /* where it stands after each tick */
	const int64_t step = sw_move_step_mm(SIM_WALK_MM_PER_S, 20);

	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		size_t way = seed % (sizeof(ways) / sizeof(ways[0]));
		uint64_t random = seed;
		uint32_t sequence = 1;
		struct test_shard t;
		struct sim_map *m;
		int64_t last;

		start(&t);
		m = t.shard->maps[0];
		last = m->entities[0].x_mm;
		for (uint32_t tick = 0; tick <= TICKS; tick++) {
			uint32_t before = m->tick;

			while (m->tick == before) {
				if (next(&random) % ways[way].every_ms == 0) {
					uint32_t count = 1 + next(&random) % ways[way].inputs;
					bool stands = next(&random) % 10 < ways[way].stand;

					test_input(&t, 0, sequence, count, stands ? 0 : 127, 0);
					sequence += 1 + next(&random) % count; /* some twice */
				}
				if (next(&random) % 20000 == 0)
					t.now_ns += 300 * NS_PER_MS; /* skipped ticks count */
				test_run(&t, 1);
			}
			/* A skipped tick is time, too; nothing moved in it. */
			for (before++; before != m->tick && tick < TICKS; before++, tick++)
				at[tick] = last;
			at[tick] = last = m->entities[0].x_mm;
		}
		for (uint32_t from = 0; from < TICKS; from++)
			for (uint32_t to = from + 1; to <= TICKS; to++)
				if (at[to] - at[from] > (to - from + SIM_INPUT_BANK) * step)
					fail_msg("seed %llu: %lld mm in ticks %u to %u",
						(unsigned long long)seed,
						(long long)(at[to] - at[from]), from, to);
		assert_true(at[TICKS] - at[0] > TICKS / 8 * step);
		test_end(&t);
	}
}

/* What stands still costs nothing and is the first to go: a player who stops is at once where it
 * wants to be, and a full queue loses no step while there is anything else to lose. */
static void standing_still_costs_nothing(void **state)
{
	static const int8_t row[8] = {127, 127, 0, 127, 0, 127, 127, 127};
	const int32_t step = (int32_t)sw_move_step_mm(SIM_WALK_MM_PER_S, 20);
	struct test_shard t;

	(void)state;
	start(&t);
	test_input(&t, 0, 1, 5, 127, 0); /* the bank is spent */
	test_run(&t, 50);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 5 * step);
	for (uint32_t i = 0; i < 8; i++)
		test_input(&t, 0, 6 + i, 1, row[i], 0);
	test_input(&t, 0, 14, 2, 127, 0); /* two too many: the two that stand still go */
	test_run(&t, 1);
	assert_int_equal(test_counter(&t, SIM_INPUTS_SPARED), 2);
	test_run(&t, 49);
	assert_int_equal(t.clients[0].input_sequence, 6);
	assert_int_equal(t.clients[0].input_waiting, 7);
	test_run(&t, 350);
	assert_int_equal(t.clients[0].input_sequence, 15);
	assert_int_equal(t.clients[0].input_waiting, 0);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 13 * step);
	assert_int_equal(test_counter(&t, SIM_INPUTS_DROPPED), 0);
	/* One that walks and is one too many is the oldest, as ever. */
	test_input(&t, 0, 16, 8, 127, 0);
	test_input(&t, 0, 24, 1, 127, 0);
	test_run(&t, 500);
	assert_int_equal(test_counter(&t, SIM_INPUTS_DROPPED), 1);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 21 * step);
	/* Behind a walk that waits for its time, the stop waits, too, and takes none of its own. */
	test_run(&t, 1000);
	test_input(&t, 0, 25, 6, 127, 0);
	test_input(&t, 0, 31, 2, 0, 0);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].input_sequence, 32);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 27 * step);
	test_end(&t);
}

/* A player that pauses has at most the bank to make up for. */
static void the_bank_is_bounded(void **state)
{
	struct test_shard t;
	const int32_t step = (int32_t)sw_move_step_mm(SIM_WALK_MM_PER_S, 20);

	(void)state;
	start(&t);
	test_run(&t, 60000);
	test_input(&t, 0, 1, 8, 127, 0);
	test_run(&t, 50);
	assert_int_equal(t.clients[0].x_mm, 1000000 + (1 + (int32_t)SIM_INPUT_BANK) * step);
	test_run(&t, 200);
	assert_int_equal(t.clients[0].x_mm, 1000000 + 8 * step);
	test_end(&t);
}

/* A shard that stalls credits the time to its players, within the bank, and skips the ticks. */
static void late_ticks_are_skipped(void **state)
{
	struct test_shard t;
	uint64_t ticks;
	uint32_t tick;
	int32_t x_mm;

	(void)state;
	start(&t);
	ticks = test_counter(&t, SIM_TICKS);
	test_input(&t, 0, 1, 1, 127, 0);
	test_run(&t, 50);
	tick = t.tick;
	test_input(&t, 0, 2, 1, 127, 0);
	t.now_ns += 1000 * NS_PER_MS; /* 20 ticks */
	test_run(&t, 50);
	assert_in_range(test_counter(&t, SIM_TICKS) - ticks, 2, 3);
	assert_in_range(test_counter(&t, SIM_TICKS_SKIPPED), 19, 20);
	assert_in_range(t.tick - tick, 20, 21); /* the client's clock goes on */
	/* the time that was skipped is credited, within the bank */
	test_input(&t, 0, 3, 8, 127, 0);
	t.now_ns += 1000 * NS_PER_MS;
	x_mm = t.clients[0].x_mm;
	test_run(&t, 5);
	assert_int_equal(t.clients[0].x_mm - x_mm,
		(1 + (int32_t)SIM_INPUT_BANK) * (int32_t)sw_move_step_mm(SIM_WALK_MM_PER_S, 20));
	test_run(&t, 50);
	/* less than a period late is caught up */
	ticks = test_counter(&t, SIM_TICKS);
	t.now_ns += 45 * NS_PER_MS;
	test_run(&t, 55);
	assert_int_equal(test_counter(&t, SIM_TICKS) - ticks, 2);
	test_end(&t);
}

/* ---- unreadable messages ---- */

struct bad {
	const char *name;
	enum sim_counter counter;
	uint8_t channel, count;
	uint8_t bytes[24];
};

// clang-format off
static const struct bad bad[] = {
	{ "nothing", SIM_MALFORMED_EMPTY, 1, 0, { 0 } },
	{ "type 0", SIM_MALFORMED_UNKNOWN_TYPE, 0, 1, { 0 } },
	{ "a server's type", SIM_MALFORMED_UNKNOWN_TYPE, 0, 1, { SW_MSG_JOINED } },
	{ "the last type", SIM_MALFORMED_UNKNOWN_TYPE, 0, 2, { 0x7f, 0 } },
	{ "input on channel 0", SIM_MALFORMED_WRONG_CHANNEL, 0, 6, { SW_MSG_INPUT, 8, 1, 0x12, 0, 0 } },
	{ "click on channel 1", SIM_MALFORMED_WRONG_CHANNEL, 1, 3, { SW_MSG_CLICK, 8, 1 } },
	{ "input without a body", SIM_MALFORMED_NO_INPUTS, 1, 1, { SW_MSG_INPUT } },
	{ "no inputs", SIM_MALFORMED_NO_INPUTS, 1, 3, { SW_MSG_INPUT, 8, 1 } },
	{ "cut varint", SIM_MALFORMED_UNDECODABLE, 1, 3, { SW_MSG_INPUT, 8, 0x80 } },
	{ "cut sub-message", SIM_MALFORMED_UNDECODABLE, 1, 4, { SW_MSG_INPUT, 0x12, 9, 8 } },
	{ "length past 2^31", SIM_MALFORMED_UNDECODABLE, 1, 7, { SW_MSG_INPUT, 0x12, 0xff, 0xff, 0xff, 0xff, 0x0f } },
	{ "group", SIM_MALFORMED_UNDECODABLE, 1, 2, { SW_MSG_INPUT, 0x0b } },
	{ "field 0", SIM_MALFORMED_UNDECODABLE, 0, 3, { SW_MSG_CLICK, 0x00, 1 } },
	{ "nine inputs", SIM_MALFORMED_MANY_INPUTS, 1, 21, { SW_MSG_INPUT, 8, 1,
		0x12, 0, 0x12, 0, 0x12, 0, 0x12, 0, 0x12, 0, 0x12, 0, 0x12, 0, 0x12, 0, 0x12, 0 } },
	{ "dx 128", SIM_MALFORMED_INPUT_RANGE, 1, 8, { SW_MSG_INPUT, 8, 1, 0x12, 3, 8, 0x80, 0x02 } },
	{ "dy -128", SIM_MALFORMED_INPUT_RANGE, 1, 8, { SW_MSG_INPUT, 8, 1, 0x12, 3, 0x10, 0xff, 0x01 } },
	{ "a wrong wire type for a click", SIM_MALFORMED_UNDECODABLE, 0, 3, { SW_MSG_CLICK, 0x0a, 5 } },
};
// clang-format on

static void unreadable_messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct test_shard t;

		start(&t);
		for (uint32_t n = 1; n <= SIM_MALFORMED_MAX; n++) {
			assert_false(t.clients[0].disconnected);
			test_packet(&t, 0, bad[i].channel, bad[i].bytes, bad[i].count);
			test_run(&t, 1);
			if (test_counter(&t, bad[i].counter) != n)
				fail_msg("%s: not counted by its name", bad[i].name);
		}
		test_run(&t, 100);
		assert_true(t.clients[0].disconnected);
		assert_int_equal(t.clients[0].disconnect_reason, SW_REASON_MALFORMED);
		assert_int_equal(t.leaving_saves, 1); /* what it had is kept */
		test_end(&t);
	}
}

static void oversize_messages(void **state)
{
	struct test_shard t;
	uint8_t bytes[4096] = {SW_MSG_INPUT};

	(void)state;
	start(&t);
	test_packet(&t, 0, SW_CHANNEL_WORLD, bytes, SIM_INPUT_BYTES_MAX + 2);
	test_packet(&t, 0, SW_CHANNEL_WORLD, bytes, sizeof(bytes));
	bytes[0] = SW_MSG_CLICK;
	test_packet(&t, 0, SW_CHANNEL_SESSION, bytes, SIM_ACTION_BYTES_MAX + 2);
	/* 120 empty inputs in 240 bytes: too many, and no more memory than was set aside */
	bytes[0] = SW_MSG_INPUT;
	for (uint32_t i = 0; i < 120; i++)
		bytes[1 + 2 * i] = 0x12, bytes[2 + 2 * i] = 0;
	test_packet(&t, 0, SW_CHANNEL_WORLD, bytes, 241);
	test_run(&t, 10);
	assert_int_equal(test_counter(&t, SIM_MALFORMED_OVERSIZE), 3);
	assert_int_equal(test_counter(&t, SIM_MALFORMED_UNDECODABLE) +
				 test_counter(&t, SIM_MALFORMED_MANY_INPUTS),
		1);
	/* of a peer that is nobody: counted, nothing else */
	test_packet(&t, 3, SW_CHANNEL_WORLD, bytes, 3);
	test_run(&t, 10);
	assert_int_equal(test_counter(&t, SIM_PACKETS_STALE), 1);
	test_end(&t);
}

static void actions_refused(void **state)
{
	struct test_shard t;

	(void)state;
	test_init(&t, 200, 10);
	t.answer_details = false;
	t.config.maps[0].monsters = 1;
	test_start(&t, 1);
	test_join(&t, 0, true, 100000, 100000);
	test_run(&t, 100);
	test_click(&t, 0, 1);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].refused_action, SW_MSG_CLICK);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__NOT_READY);
	test_end(&t);

	start(&t);
	test_click(&t, 0, 77);
	test_run(&t, 50);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__NO_SUCH_ACTOR);
	test_click(&t, 0, 0);
	test_click(&t, 0, UINT32_MAX);
	test_run(&t, 50);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__NO_SUCH_ACTOR);
	test_click(&t, 0, t.clients[0].actor_id);
	test_run(&t, 50);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__NOT_AN_NPC);
	assert_int_equal(t.clients[0].refusals, 4);
	/* a flood is answered a few times a tick, and then in silence */
	for (uint32_t i = 0; i < 100; i++)
		test_click(&t, 0, 77);
	test_run(&t, 50);
	assert_int_equal(t.clients[0].refusals, 4 + SIM_REFUSALS_PER_TICK);
	assert_int_equal(test_counter(&t, SIM_ACTIONS_DROPPED), 100 - SIM_REFUSALS_PER_TICK);
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_by_the_rules),
		cmocka_unit_test(repeats_and_losses),
		cmocka_unit_test(no_faster_than_real_time),
		cmocka_unit_test(no_window_is_too_fast),
		cmocka_unit_test(standing_still_costs_nothing),
		cmocka_unit_test(the_bank_is_bounded),
		cmocka_unit_test(late_ticks_are_skipped),
		cmocka_unit_test(unreadable_messages),
		cmocka_unit_test(oversize_messages),
		cmocka_unit_test(actions_refused),
	};

	return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
