/* Proves: the same seed and log of steps give the same state, another seed another; maps of one
 * shard tick at their own rates; a tick is cut into slices, between which inputs arrive; a player
 * that does not take its reliable messages is disconnected as SLOW and costs nobody else a message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/random.h"
#include "simulation/state.h"
#include "simulation/testing.h"

#define HASHES 40u

/* Plays a log that depends on log_seed alone, on a shard seeded with seed. */
static void play(uint64_t seed, uint64_t log_seed, uint64_t hashes[HASHES])
{
	struct test_shard t;

	test_init(&t, 300, 200);
	t.config.maps[0].monsters = 300;
	test_start(&t, seed);
	for (uint32_t i = 0; i < 200; i++)
		test_join(&t, i, i % 2, (int32_t)(i * 1500), (int32_t)(i * 700));
	for (uint32_t h = 0; h < HASHES; h++) {
		for (uint32_t n = 0; n < 150; n++) {
			uint32_t who = sim_random_below(&log_seed, 200);
			uint8_t junk[3] = {SW_MSG_INPUT, 0x12, 0x7f};

			switch (sim_random_below(&log_seed, 40)) {
			case 0:
				test_gone(&t, who);
				break;
			case 1:
				test_join(&t, who, false, 0, 0);
				break;
			case 2:
				test_packet(&t, who, SW_CHANNEL_WORLD, junk, sizeof(junk));
				break;
			case 3:
				test_click(&t, who, sim_random_below(&log_seed, 500));
				break;
			default:
				test_input(&t, who, h * 150 + n + 1,
					1 + sim_random_below(&log_seed, 8),
					(int32_t)sim_random_below(&log_seed, 255) - 127,
					(int32_t)sim_random_below(&log_seed, 255) - 127);
			}
		}
		test_run(&t, 10 + sim_random_below(&log_seed, 90));
		if (sim_random_below(&log_seed, 10) == 0)
			t.now_ns += 333 * NS_PER_MS;
		hashes[h] = sim_shard_hash(t.shard);
	}
	test_end(&t);
}

static void equal_logs_equal_states(void **state)
{
	uint64_t first[HASHES], again[HASHES], other_seed[HASHES], other_log[HASHES];

	(void)state;
	play(11, 5, first);
	play(11, 5, again);
	play(12, 5, other_seed);
	play(11, 6, other_log);
	for (uint32_t h = 0; h < HASHES; h++) {
		if (first[h] != again[h])
			fail_msg("seed 11, log 5: states differ from hash %u on", h);
		assert_int_not_equal(first[h], other_seed[h]);
		assert_int_not_equal(first[h], other_log[h]);
		for (uint32_t earlier = 0; earlier < h; earlier++)
			assert_int_not_equal(first[h], first[earlier]);
	}
}

static void maps_tick_at_their_own_rate(void **state)
{
	static const uint32_t hz[] = {20, 15, 30, 1, 60};
	struct test_shard t;
	uint64_t sum = 0;

	(void)state;
	test_init(&t, 200, 10);
	for (uint32_t i = 0; i < 5; i++) {
		t.config.maps[i] = t.config.maps[0];
		snprintf(t.config.maps[i].name, MAP_NAME_BYTES, i ? "map%u" : "meadow", i);
		t.config.maps[i].tick_hz = hz[i];
		sum += hz[i];
	}
	t.config.maps[5] = t.config.maps[0];
	strcpy(t.config.maps[5].name, "elsewhere");
	t.config.maps[5].shard = 1; /* not ours */
	t.config.map_count = 6;
	test_start(&t, 1);
	test_run(&t, 10000);
	assert_in_range(test_counter(&t, SIM_TICKS), sum * 10 - 5, sum * 10);
	assert_int_equal(test_counter(&t, SIM_TICKS_SKIPPED), 0);
	assert_true(sim_shard_next_ns(t.shard) > t.now_ns);
	assert_true(sim_shard_next_ns(t.shard) <= t.now_ns + NS_PER_S / 60);
	assert_false(sim_shard_step(t.shard, t.now_ns));
	test_end(&t);
}

static void ticks_are_cut_into_slices(void **state)
{
	struct test_shard t;
	uint64_t slices, ticks;

	(void)state;
	test_init(&t, 400, 1000);
	test_start(&t, 1);
	for (uint32_t i = 0; i < 1000; i++)
		test_join(&t, i, true, (int32_t)(i % 32) * 12000, (int32_t)(i / 32) * 12000);
	test_run(&t, 1000);
	slices = test_counter(&t, SIM_SLICES);
	ticks = test_counter(&t, SIM_TICKS);
	for (uint32_t tick = 1; tick <= 20; tick++) {
		for (uint32_t i = 0; i < 1000; i++)
			test_input(&t, i, tick, 1, 100, 50);
		test_run(&t, 50);
	}
	ticks = test_counter(&t, SIM_TICKS) - ticks;
	slices = test_counter(&t, SIM_SLICES) - slices;
	assert_int_equal(ticks, 20);
	assert_true(slices >= 8 * ticks); /* 1,000 updates alone are five slices of 50 us */
	test_end(&t);
}

static void slow_players_are_disconnected(void **state)
{
	struct test_shard t;
	uint32_t disconnected = 0;

	(void)state;
	test_init(&t, 400, 100);
	t.config.rings.slots = 1024;
	test_start(&t, 1);
	for (uint32_t i = 0; i < 40; i++)
		test_join(&t, i, true, 1000 * (int32_t)i, 1000);
	test_run(&t, 500);
	/* the worker stands still; one player goes on clicking, all go on walking */
	for (uint32_t tick = 1; tick <= 120; tick++) {
		for (uint32_t i = 0; i < 8; i++)
			test_click(&t, 3, 999);
		for (uint32_t i = 0; i < 40; i++)
			test_input(&t, i, tick, 1, tick % 2 ? 127 : -127, 0);
		test_run_holding(&t, 50);
		test_read_world(&t);
		test_read_control(&t);
	}
	assert_true(test_counter(&t, SIM_UPDATES_DROPPED) > 1000);
	assert_int_equal(test_counter(&t, SIM_LEAVES_SLOW), 1);
	assert_int_equal(t.left, 1);
	assert_int_equal(t.left_session, 1003);
	test_run(&t, 500);
	for (uint32_t i = 0; i < 40; i++)
		disconnected += t.clients[i].disconnected;
	assert_int_equal(disconnected, 1);
	assert_int_equal(t.clients[3].disconnect_reason, SW_REASON_SLOW);
	/* what waited came, in order and whole */
	assert_true(t.clients[3].refusals >= SIM_RELIABLE_SLOTS_MAX);
	t.clients[3].here = false;
	for (uint32_t i = 0; i < 40; i++) {
		if (i == 3)
			continue;
		assert_int_equal(t.clients[i].gaps + t.clients[i].wrong, 0);
		assert_int_equal(t.clients[i].view_count, i < 63 ? 38 : 0);
		assert_int_equal(t.clients[i].input_sequence, 120);
	}
	test_end(&t);
}

static void histograms_and_counters_are_named(void **state)
{
	struct test_shard t;
	struct histogram_ref refs[SIM_HISTOGRAMS];
	const struct counter_set *set;
	uint64_t ticks = 0;

	(void)state;
	test_init(&t, 200, 10);
	test_start(&t, 1);
	test_run(&t, 1000);
	assert_int_equal(sim_shard_histograms(t.shard, refs, SIM_HISTOGRAMS), SIM_HISTOGRAMS);
	for (uint32_t b = 0; b < HISTOGRAM_QUARTERS; b++)
		ticks += counter_get(&refs[0].histogram->bucket[b]);
	assert_int_equal(ticks, test_counter(&t, SIM_TICKS));
	assert_string_equal(refs[8].name, "stage_flush_ns");
	set = sim_shard_counters(t.shard);
	assert_string_equal(set->group, "simulation");
	assert_int_equal(set->count, SIM_COUNTER_COUNT);
	for (uint32_t i = 0; i < set->count; i++) {
		assert_non_null(set->desc[i].name);
		for (uint32_t other = 0; other < i; other++)
			assert_string_not_equal(set->desc[i].name, set->desc[other].name);
	}
	assert_int_equal(sim_shard_last_tick_end_ns(t.shard), t.now_ns);
	assert_true(sim_shard_bytes(t.shard) > 100000);
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_logs_equal_states),
		cmocka_unit_test(maps_tick_at_their_own_rate),
		cmocka_unit_test(ticks_are_cut_into_slices),
		cmocka_unit_test(slow_players_are_disconnected),
		cmocka_unit_test(histograms_and_counters_are_named),
	};

	return cmocka_run_group_tests_name("shard", tests, NULL, NULL);
}
