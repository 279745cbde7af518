/* Proves that a flow is found by those who ask and not by those who have it, that a handshake's
 * entry gives way and a peer's never does, that the table forgets what it is told to, that flows
 * are dealt evenly, and that many threads at once lose no peer's entry. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/flows.h"

static const uint64_t key[2] = {0x0123456789abcdef, 0xfedcba9876543210};

static uint64_t flow(uint32_t ip, uint32_t port)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};

	for (int i = 0; i < 4; i++)
		address[12 + i] = (uint8_t)(ip >> (24 - 8 * i));
	return dp_flow_hash(key, address, port);
}

static void found_by_others(void **state)
{
	struct dp_flows *table = dp_flows_new(64);
	uint64_t f = flow(0x0a000001, 40000);

	(void)state;
	assert_non_null(table);
	assert_int_equal(dp_flows_find(table, f, 0, false), DP_FLOWS_NOBODY);
	assert_true(dp_flows_put(table, f, 3, false));
	assert_int_equal(dp_flows_find(table, f, 0, false), 3);
	assert_int_equal(dp_flows_find(table, f, 3, false), DP_FLOWS_NOBODY);
	assert_int_equal(dp_flows_find(table, flow(0x0a000001, 40001), 0, false), DP_FLOWS_NOBODY);
	/* A peer on another worker, from the same socket: a new client stays, a stranger goes. */
	assert_true(dp_flows_put(table, f, 0, true));
	assert_int_equal(dp_flows_find(table, f, 0, true), DP_FLOWS_NOBODY);
	assert_int_equal(dp_flows_find(table, f, 0, false), 3);
	/* Two peers of one flow: two entries, and each goes with its peer. */
	assert_true(dp_flows_put(table, f, 3, true));
	assert_true(dp_flows_put(table, f, 3, true));
	dp_flows_remove(table, f, 3);
	assert_int_equal(dp_flows_find(table, f, 0, false), 3);
	dp_flows_remove(table, f, 3);
	assert_int_equal(dp_flows_find(table, f, 0, false), DP_FLOWS_NOBODY);
	dp_flows_remove(table, f, 3); /* none left: no harm */
	dp_flows_free(table);
}

/* All of one bucket: a table for 1 flow has one. */
static void handshakes_give_way_to_peers(void **state)
{
	struct dp_flows *table = dp_flows_new(1);
	uint32_t found = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		assert_true(dp_flows_put(table, flow(1, i + 1), 1, false));
	for (uint32_t i = 0; i < 16; i++)
		assert_true(dp_flows_put(table, flow(2, i + 1), 2, true));
	assert_false(dp_flows_put(table, flow(3, 1), 2, true));
	for (uint32_t i = 0; i < 100; i++)
		assert_false(dp_flows_put(table, flow(4, i + 1), 1, false));
	for (uint32_t i = 0; i < 16; i++)
		found += dp_flows_find(table, flow(2, i + 1), 0, false) == 2;
	assert_int_equal(found, 16);
	dp_flows_free(table);
}

static void dealt_evenly(void **state)
{
	uint32_t dealt[3] = {0};

	(void)state;
	/* The hard cases: neighbours, one address with many ports. */
	for (uint32_t ip = 0; ip < 30; ip++)
		for (uint32_t port = 0; port < 100; port++)
			dealt[dp_flow_owner(flow(0x0a4d0000 + ip, 40000 + port), 3)]++;
	for (uint32_t w = 0; w < 3; w++)
		assert_in_range(dealt[w], 900, 1100); /* 1,000, a deviation of 26 */
	assert_int_equal(dp_flow_owner(UINT64_MAX, 3), 2);
	assert_int_equal(dp_flow_owner(0, 3), 0);
}

#define THREADS 4u
#define FLOWS   2000u

static struct dp_flows *shared;

static void *come_and_go(void *arg)
{
	uint32_t worker = (uint32_t)(uintptr_t)arg;

	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < FLOWS; i++) {
			dp_flows_put(shared, flow(worker, i), worker, false);
			if (!dp_flows_put(shared, flow(worker, i), worker, true))
				return "no place";
		}
		for (uint32_t i = 0; i < FLOWS; i++)
			if (dp_flows_find(shared, flow(worker, i), THREADS, false) != worker)
				return "lost";
		for (uint32_t i = 0; i < FLOWS && round < 19; i++)
			dp_flows_remove(shared, flow(worker, i), worker);
	}
	return NULL;
}

static void threads_lose_nothing(void **state)
{
	pthread_t threads[THREADS];
	void *failed;

	(void)state;
	shared = dp_flows_new(THREADS * FLOWS);
	for (uintptr_t t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, come_and_go, (void *)t), 0);
	for (uint32_t t = 0; t < THREADS; t++) {
		pthread_join(threads[t], &failed);
		assert_null(failed);
	}
	for (uint32_t t = 0; t < THREADS; t++)
		for (uint32_t i = 0; i < FLOWS; i++)
			assert_int_equal(dp_flows_find(shared, flow(t, i), THREADS, false), t);
	dp_flows_free(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_others),
		cmocka_unit_test(handshakes_give_way_to_peers),
		cmocka_unit_test(dealt_evenly),
		cmocka_unit_test(threads_lose_nothing),
	};

	return cmocka_run_group_tests_name("flows", tests, NULL, NULL);
}
