/* Proves what a tick may cost: work over all players is spread by bucket (routes over 30 s, saves
 * over the autosave period), lazy joins are capped per tick; an overrun is in the metrics with the
 * stage to blame; and an overloaded map skips ticks by the stated rule, runs none twice, does not
 * spiral, comes back when the load goes, and takes no tick from the other maps of its shard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/state.h"
#include "simulation/testing.h"

#define PLAYERS 3000u

static void routes_are_spread(void **state)
{
	const uint32_t ticks = SIM_ROUTE_CHECK_S * 20;
	uint64_t first, before;
	struct test_shard t;

	(void)state;
	test_init(&t, 2000, PLAYERS);
	test_start(&t, 1);
	for (uint32_t i = 0; i < PLAYERS; i++) {
		test_join(&t, i, true, 10000 + (int32_t)(i % 60) * 30000,
			10000 + (int32_t)(i / 60) * 30000);
		t.clients[i].idle = true;
		if (i % 200 == 199)
			test_run(&t, 50);
	}
	test_run(&t, 2000);
	first = before = test_counter(&t, SIM_ROUTES_CHECKED);
	for (uint32_t i = 0; i < PLAYERS; i++)
		t.clients[i].routes = 0;
	for (uint32_t tick = 0; tick < ticks; tick++) {
		uint64_t now;

		test_run(&t, 50);
		now = test_counter(&t, SIM_ROUTES_CHECKED);
		/* 3,000 players over 600 ticks: five a tick. */
		assert_in_range(now - before, 0, PLAYERS / ticks + 1);
		before = now;
	}
	assert_int_equal(before - first, PLAYERS);
	test_run(&t, 100); /* what was owed last */
	for (uint32_t i = 0; i < PLAYERS; i++)
		assert_in_range(t.clients[i].routes, 1, 2);
	assert_true(ticks >= 300);
	test_end(&t);
}

static void saves_are_spread(void **state)
{
	const uint32_t players = 800, ticks = 40; /* 2 s */
	struct test_shard t;
	uint32_t before;

	(void)state;
	test_init(&t, 2000, players);
	t.config.simulation.autosave_ms = 2000;
	test_start(&t, 1);
	for (uint32_t i = 0; i < players; i++) {
		test_join(&t, i, true, 10000 + (int32_t)(i % 60) * 30000,
			10000 + (int32_t)(i / 60) * 30000);
		t.clients[i].idle = true;
	}
	test_run(&t, 1000);
	before = t.saves;
	for (uint32_t tick = 0; tick < 2 * ticks; tick++) {
		uint32_t last = t.saves;

		for (uint32_t i = 0; i < players; i++)
			test_input(&t, i, 1 + tick, 1, 0, 127);
		test_run(&t, 50);
		assert_in_range(t.saves - last, 0, players / ticks + 1);
	}
	assert_in_range(t.saves - before, 2 * players - players / ticks - 1, 2 * players);
	test_end(&t);
}

static void lazy_joins_are_capped(void **state)
{
	struct test_shard t;
	uint64_t before = 0;
	uint32_t ticks = 0;

	(void)state;
	test_init(&t, 2000, 1000);
	t.config.simulation.lazy_joins_per_tick = 200;
	test_start(&t, 1);
	for (uint32_t i = 0; i < 1000; i++) {
		t.clients[i].idle = true;
		test_join(&t, i, true, 10000 + (int32_t)(i % 60) * 30000,
			10000 + (int32_t)(i / 60) * 30000);
	}
	while (before < 1000 && ticks < 100) {
		uint64_t now;

		test_run(&t, 50);
		now = test_counter(&t, SIM_DETAIL_QUERIES);
		assert_in_range(now - before, 0, 200);
		ticks += now > before;
		before = now;
	}
	assert_int_equal(before, 1000);
	assert_int_equal(ticks, 5); /* and no fewer than it may */
	test_end(&t);
}

/* ---- overruns ---- */

static void the_longest_stage_is_to_blame(void **state)
{
	static const struct {
		uint64_t ns[SIM_STAGES];
		enum sim_stage stage;
	} rows[] = {
		{{0}, SIM_STAGE_RESET},
		{{9, 1, 1, 1, 1, 1, 1, 1}, SIM_STAGE_RESET},
		{{1, 1, 1, 1, 9, 1, 8, 1}, SIM_STAGE_MESSAGES},
		{{1, 1, 1, 1, 1, 1, 9, 9}, SIM_STAGE_INTEREST},
		{{1, 1, 1, 1, 1, 1, 8, 9}, SIM_STAGE_FLUSH},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(sim_stage_to_blame(rows[i].ns), rows[i].stage);
}

static uint64_t blamed(const struct test_shard *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < SIM_STAGES; i++)
		sum += test_counter(t, SIM_OVERRUNS_RESET + i);
	return sum;
}

static void an_overrun_is_in_the_metrics(void **state)
{
	const struct instance_gauges *gauges;
	struct test_shard t;
	uint64_t overruns, ticks;

	(void)state;
	test_init(&t, 300, 300);
	test_start(&t, 1);
	gauges = t.shard->maps[0]->gauges;
	for (uint32_t i = 0; i < 300; i++)
		test_join(&t, i, false, 0, 0);
	t.shard->ns_per_cycle = 0;
	test_run(&t, 1000);
	assert_int_equal(blamed(&t), test_counter(&t, SIM_OVERRUNS));
	/* As if each cycle took a second: whatever a tick does takes longer than its period. */
	t.shard->start_ns = 0;
	t.now_ns += 1000000000ull * NS_PER_S;
	overruns = test_counter(&t, SIM_OVERRUNS);
	ticks = test_counter(&t, SIM_TICKS);
	test_run(&t, 500);
	ticks = test_counter(&t, SIM_TICKS) - ticks;
	assert_true(ticks >= 9);
	assert_int_equal(test_counter(&t, SIM_OVERRUNS) - overruns, ticks);
	assert_int_equal(blamed(&t), test_counter(&t, SIM_OVERRUNS));
	assert_int_equal(counter_get(&gauges->overruns), test_counter(&t, SIM_OVERRUNS));
	assert_in_range(counter_get(&gauges->overrun_stage), 1, SIM_STAGES);
	assert_true(test_counter(&t, SIM_OVERRUN_NS) > ticks * NS_PER_S);
	assert_true(counter_get(&gauges->load_permille) > 1000);
	test_end(&t);
}

/* Whose fault it was that ticks were skipped: the map's own last tick's, or somebody else's. */
static void a_skip_has_a_cause(void **state)
{
	struct instance_gauges *gauges;
	struct test_shard t;

	(void)state;
	test_init(&t, 300, 10);
	test_start(&t, 1);
	test_run(&t, 200);
	gauges = t.shard->maps[0]->gauges;
	counter_put(&gauges->tick_ns, t.shard->maps[0]->period_ns); /* just in time */
	t.now_ns += NS_PER_S;
	test_run(&t, 1);
	assert_true(test_counter(&t, SIM_TICKS_SKIPPED) >= 10);
	assert_int_equal(
		test_counter(&t, SIM_TICKS_SKIPPED_OTHERS), test_counter(&t, SIM_TICKS_SKIPPED));
	counter_put(&gauges->tick_ns, t.shard->maps[0]->period_ns + 1);
	t.now_ns += NS_PER_S;
	test_run(&t, 1);
	assert_int_equal(2 * test_counter(&t, SIM_TICKS_SKIPPED_OTHERS),
		test_counter(&t, SIM_TICKS_SKIPPED));
	test_end(&t);
}

/* ---- overload ---- */

/* Steps whose slices take so long that the 20 Hz map needs more than its period; the clock is ours,
 * so the machine plays no part. */
static void run_slowly(struct test_shard *t, uint64_t for_ns, uint64_t slice_ns)
{
	uint64_t end_ns = t->now_ns + for_ns, read_ns = t->now_ns;

	while (t->now_ns < end_ns) {
		uint64_t next_ns;

		if (sim_shard_step(t->shard, t->now_ns))
			t->now_ns += slice_ns;
		next_ns = sim_shard_next_ns(t->shard);
		if (next_ns > t->now_ns)
			t->now_ns = next_ns < end_ns ? next_ns : end_ns;
		if (t->now_ns - read_ns > 20 * NS_PER_MS) {
			read_ns = t->now_ns;
			test_read_dataplane(t);
			test_read_control(t);
			test_read_world(t);
		}
	}
}

static void overload_is_each_maps_own(void **state)
{
	static const uint32_t hz[] = {20, 15, 30};
	uint64_t ticks[3], skipped[3], numbers[3];
	struct sim_map *m[3];
	struct test_shard t;

	(void)state;
	test_init(&t, 400, 900);
	t.config.map_count = 3;
	for (uint32_t i = 0; i < 3; i++) {
		t.config.maps[i] = t.config.maps[0];
		t.config.maps[i].name[0] = (char)(t.config.maps[0].name[0] + (char)i);
		t.config.maps[i].tick_hz = hz[i];
		t.config.maps[i].monsters = 5;
	}
	test_start(&t, 1);
	for (uint32_t i = 0; i < 3; i++) {
		m[i] = t.shard->maps[i];
		assert_int_equal(m[i]->config.tick_hz, hz[i]);
	}
	for (uint32_t i = 0; i < 600; i++) {
		t.clients[i].idle = true;
		test_join(&t, i, true, 10000 + (int32_t)(i % 25) * 2000,
			10000 + (int32_t)(i / 25) * 2000);
	}
	test_run(&t, 1000);
	assert_int_equal(m[0]->players, 600);
	/* Slices of 50 us that take 8 ms: the machine is far too slow for the first map. */
	run_slowly(&t, 500 * NS_PER_MS, 8 * NS_PER_MS);
	for (uint32_t i = 0; i < 3; i++) {
		ticks[i] = counter_get(&m[i]->gauges->ticks);
		skipped[i] = counter_get(&m[i]->gauges->skipped);
		numbers[i] = m[i]->tick;
	}
	run_slowly(&t, 4 * NS_PER_S, 8 * NS_PER_MS);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t ran = counter_get(&m[i]->gauges->ticks) - ticks[i];
		uint64_t left_out = counter_get(&m[i]->gauges->skipped) - skipped[i];

		/* Tick numbers follow the clock, whatever was skipped. */
		assert_in_range(m[i]->tick - numbers[i], 4 * hz[i] - 3, 4 * hz[i] + 2);
		assert_in_range(
			ran + left_out, m[i]->tick - numbers[i] - 1, m[i]->tick - numbers[i] + 1);
		if (i) {
			assert_in_range(ran, 4 * hz[i] - 2, 4 * hz[i] + 1);
			assert_int_equal(left_out, 0);
		} else {
			assert_true(left_out > 4 * hz[i] / 3);
			assert_true(ran >= 10);
		}
	}
	/* The load goes: every tick again, and none is made up for. */
	ticks[0] = counter_get(&m[0]->gauges->ticks);
	skipped[0] = counter_get(&m[0]->gauges->skipped);
	run_slowly(&t, 500 * NS_PER_MS, 1000);
	assert_in_range(counter_get(&m[0]->gauges->ticks) - ticks[0], 9, 12);
	ticks[0] = counter_get(&m[0]->gauges->ticks);
	skipped[0] = counter_get(&m[0]->gauges->skipped);
	run_slowly(&t, 2 * NS_PER_S, 1000);
	assert_int_equal(counter_get(&m[0]->gauges->skipped), skipped[0]);
	assert_in_range(counter_get(&m[0]->gauges->ticks) - ticks[0], 39, 41);
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_are_spread),
		cmocka_unit_test(saves_are_spread),
		cmocka_unit_test(lazy_joins_are_capped),
		cmocka_unit_test(the_longest_stage_is_to_blame),
		cmocka_unit_test(an_overrun_is_in_the_metrics),
		cmocka_unit_test(a_skip_has_a_cause),
		cmocka_unit_test(overload_is_each_maps_own),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
