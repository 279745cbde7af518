/* Proves that a worker's cycles go to the stages that it passes, and to idle when a turn finds
 * nothing; that bursts are counted by their frames; that none of it happens when it is switched
 * off; and that the trace points are there by name, off, and can be switched on. */
#include "dataplane/cycles.h"
#include "dataplane/worker_fixture.h"

#include <rte_trace.h>
#include <rte_trace_point.h>

static uint64_t stages(const struct world *world)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < DP_STAGE_COUNT; s++)
		sum += counted(world, (enum dp_counter)(DP_C_CYCLES_RING + s));
	return sum;
}

static uint64_t bursts(const struct world *world, uint32_t histogram, uint32_t bucket)
{
	struct histogram_ref refs[DP_WORKER_HISTOGRAMS];

	dp_worker_histograms(world->worker, refs);
	return counter_get(&refs[histogram].histogram->bucket[bucket]);
}

static void each_stage_has_its_own(void **state)
{
	static const char *const names[] = {
#define NAME(id, name, text) "cycles_" name,
		DP_STAGES(NAME)
#undef NAME
	};
	struct world world;
	struct client client;
	uint64_t before;

	(void)state;
	for (uint32_t s = 0; s < DP_STAGE_COUNT; s++)
		assert_string_equal(dp_counter_desc[DP_C_CYCLES_RING + s].name, names[s]);
	world_make(&world, "cycles");
	for (uint32_t i = 0; i < 10; i++)
		step(&world, 0);
	assert_true(counted(&world, DP_C_CYCLES_IDLE) > 0);
	assert_int_equal(stages(&world), 0);

	client_make(&client, &world, 2);
	client_connect(&client);
	before = counted(&world, DP_C_CYCLES_IDLE);
	for (uint32_t i = 0; i < 5; i++)
		client_reliable(&client, "\x01hello", 6);
	assert_true(step(&world, 0));
	assert_int_equal(counted(&world, DP_C_CYCLES_IDLE), before);
	/* A measured turn is among these. */
	for (uint32_t i = 0; i < 2 * DP_CYCLES_TURNS; i++) {
		client_reliable(&client, "\x01hello", 6);
		assert_true(step(&world, 0));
		client_read(&client);
		drain(&world, world.links.to_control);
	}
	for (uint32_t s = 0; s < DP_STAGE_COUNT; s++)
		assert_true(counted(&world, (enum dp_counter)(DP_C_CYCLES_RING + s)) > 0);
	/* One delivery in 64 turns is timed. */
	for (uint32_t i = 0; i < DP_CYCLES_ROUTE_TURNS; i++) {
		client_reliable(&client, "\x01hello", 6);
		step(&world, 0);
		client_read(&client);
		drain(&world, world.links.to_control);
	}
	assert_true(counted(&world, DP_C_CYCLES_ROUTE) > 0);
	assert_int_equal(bursts(&world, 0, 3), 1); /* the five: 4 to 7 */
	assert_true(bursts(&world, 0, 1) + bursts(&world, 0, 2) > 64);
	assert_true(bursts(&world, 1, 1) > 0);
	world_free(&world);
}

static void off_is_off(void **state)
{
	struct world world;
	struct client client;

	(void)state;
	world_make(&world, "off");
	dp_worker_free(world.worker);
	world.config.dataplane.record_cycles = 0;
	world.worker = dp_worker_new(&world.config, 0, &world.port, 1, &world.links, key);
	client_make(&client, &world, 2);
	client_connect(&client);
	step(&world, 0);
	assert_int_equal(stages(&world), 0);
	assert_int_equal(counted(&world, DP_C_CYCLES_IDLE), 0);
	assert_int_equal(counted(&world, DP_C_CYCLES_ROUTE), 0);
	assert_int_equal(bursts(&world, 0, 1), 0);
	world_free(&world);
}

static void trace_points_are_off(void **state)
{
	static const char *const names[] = {"stormweir.rx.burst", "stormweir.tx.burst",
		"stormweir.refused", "stormweir.ring.full"};
	struct world world;
	struct client client;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		rte_trace_point_t *point = rte_trace_point_lookup(names[i]);

		if (!point)
			fail_msg("%s is not there", names[i]);
		assert_false(rte_trace_point_is_enabled(point));
	}
	assert_int_equal(rte_trace_pattern("stormweir.*", true), 1);
	world_make(&world, "traced");
	client_make(&client, &world, 2);
	client_connect(&client);
	ring_port_put(&world.wire, 0, "short", 5);
	step(&world, 1);
	fill(world.links.to_control);
	client_reliable(&client, "\x01hello", 6);
	step(&world, 1);
	assert_int_equal(counted(&world, DP_C_RELIABLE_HELD), 1);
	assert_int_equal(rte_trace_pattern("stormweir.*", false), 1);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stage_has_its_own),
		cmocka_unit_test(off_is_off),
		cmocka_unit_test(trace_points_are_off),
	};

	return cmocka_run_group_tests_name("cycles", tests, ring_port_eal, ring_port_eal_end);
}
