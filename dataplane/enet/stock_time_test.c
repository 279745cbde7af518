/* stock_time_test.c: proves how connections with stock clients stand: silence is noticed, a deaf
 * destination and our own stalls are not held against anyone, clocks may wrap, and the throttle
 * follows what it should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "dataplane/enet/stock_life.h"

static bool drop_all(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	(void)ctx;
	(void)from;
	(void)to;
	(void)data;
	(void)bytes;
	return false;
}

static void silent_peers_time_out(void **state)
{
	struct world *world;
	uint64_t start;

	(void)state;
	world = world_connected((struct world_config){0}, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(world_send_down(world, i, 0, RELIABLE, 50000), 0);
	netsim_filter_set(world->sim, drop_all, NULL);
	start = netsim_now_ms(world->sim);
	assert_true(world_until(world, world_all_gone, 60000));
	/* ENet's rule: not before 5 s, not after 30 s and one repetition */
	assert_true(netsim_now_ms(world->sim) - start >= 5000);
	assert_true(netsim_now_ms(world->sim) - start <= 62000);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(world->client[i].reason, SW_ENET_GONE_TIMEOUT);
	end(world);
}

/* A deaf destination withholds; the client's patience is 5 s and more. Then all of it comes. */
static void a_deaf_destination_delays(void **state)
{
	struct world *world;

	(void)state;
	world = world_connected(
		(struct world_config){.net = {.delay_min_ms = 30, .delay_max_ms = 60}}, 2);
	world->deaf = true;
	for (uint32_t i = 0; i < 2; i++) {
		for (int n = 0; n < 20; n++)
			world_send_up(world, i, (uint8_t)(n % 4), RELIABLE, 2000);
	}
	world_run(world, 3000);
	assert_int_equal(world_count(world, SW_ENET_C_DELIVERED), 0);
	assert_true(world_count(world, SW_ENET_C_WITHHELD_RING) > 0);
	world->deaf = false;
	assert_true(world_until(world, world_all_arrived, 20000));
	leave_all(world);
}

static void our_own_stall_times_nobody_out(void **state)
{
	struct world *world;

	(void)state;
	world = world_connected((struct world_config){0}, 16);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(world_send_down(world, i, 0, RELIABLE, 3000), 0);
	sw_enet_service(world->engine, netsim_now_ms(world->sim));
	/* the network and the clients stand still with us: a suspended machine */
	for (int i = 0; i < 3; i++) {
		netsim_advance(world->sim, 40000);
		sw_enet_service(world->engine, netsim_now_ms(world->sim));
	}
	assert_true(world_count(world, SW_ENET_C_STALLS) >= 3);
	assert_int_equal(world_count(world, SW_ENET_C_TIMEOUTS), 0);
	assert_int_equal(sw_enet_peers(world->engine), 16);
	world_free(world);
}

static void clocks_wrap(void **state)
{
	/* the caller's 32 bits, the 16 of sent times (each 65 s), the client's 32 */
	static const uint64_t starts[] = {UINT32_MAX - 20000ull, 5, UINT32_MAX / 2};
	static const uint32_t skews[] = {0, UINT32_MAX - 20000u, 86400000u - 20000u};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct world_config config = {
			.net = {.loss = 0.05, .delay_min_ms = 10, .delay_max_ms = 30},
			.start_ms = starts[i],
			.client_skew_ms = skews[i]};
		struct world *world = world_connected(config, 2);

		for (int s = 0; s < 150; s++) {
			world_send_up(world, 0, 0, RELIABLE, 300);
			world_send_up(world, 1, 1, 0, 300);
			assert_int_equal(world_send_down(world, 0, 2, RELIABLE, 3000), 0);
			assert_int_equal(world_send_down(world, 1, 1, 0, 300), 0);
			world_run(world, 500);
		}
		assert_true(world_until(world, world_all_arrived, 20000));
		assert_int_equal(world_count(world, SW_ENET_C_TIMEOUTS), 0);
		assert_int_equal(world_count(world, SW_ENET_C_FUTURE_ACKNOWLEDGE), 0);
		leave_all(world);
	}
}

static void a_day_of_idling(void **state)
{
	struct world *world;
	uint64_t before;

	(void)state;
	world = world_connected((struct world_config){.step_ms = 50}, 1);
	world_run(world, 25ull * 3600 * 1000);
	assert_false(world->client[0].gone);
	before = world_count(world, SW_ENET_C_DATAGRAMS_OUT);
	world_run(world, 60000);
	/* a ping and an acknowledgement each half second, no more */
	assert_true(world_count(world, SW_ENET_C_DATAGRAMS_OUT) - before <= 2 * 125);
	world_send_up(world, 0, 0, RELIABLE, 50);
	assert_int_equal(world_send_down(world, 0, 0, RELIABLE, 50), 0);
	assert_true(world_until(world, world_all_arrived, 2000));
	leave_all(world);
}

/* blue-nebula#241: a client that answers once a frame is not congested. */
static void frame_jitter_does_not_starve(void **state)
{
	struct world_config config = {
		.net = {.delay_min_ms = 0, .delay_max_ms = 1}, .client_frame_ms = 16};
	struct world *world;
	struct sw_enet_peer_info info;

	(void)state;
	world = world_connected(config, 1);
	for (int i = 0; i < 3000; i++) {
		world_send_down(world, 0, 1, 0, 100);
		if (i % 10 == 0)
			world_send_down(world, 0, 0, RELIABLE, 100);
		world_run(world, 7);
	}
	sw_enet_peer_info(world->engine, (uint32_t)world->client[0].handle, &info);
	assert_true(info.throttle >= 24);
	assert_true(world->client[0].down->count[WORLD_UNRELIABLE] > 2900);
	leave_all(world);
}

static void throttle_and_bandwidth_commands(void **state)
{
	/* stock sends its limit only to who has one */
	struct world_config config = {.echo = true, .engine = {.outgoing_bandwidth = 1000000}};
	struct world *world;

	(void)state;
	world = world_connected(config, 1);
	enet_peer_throttle_configure(world->client[0].peer, 1000, 4, 1);
	enet_host_bandwidth_limit(world->client[0].host, 20000, 0);
	world_run(world, 3000);
	/* 100 kB/s asked for, 20 kB/s allowed: the throttle finds a level between */
	for (int i = 0; i < 1000; i++) {
		world_send_up(world, 0, 1, 0, 1000);
		world_run(world, 10);
	}
	assert_true(world_count(world, SW_ENET_C_THROTTLED) > 500);
	assert_true(world->client[0].down->count[WORLD_UNRELIABLE] > 100);
	assert_true(world->client[0].down->count[WORLD_UNRELIABLE] < 400);
	leave_all(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_peers_time_out),
		cmocka_unit_test(a_deaf_destination_delays),
		cmocka_unit_test(our_own_stall_times_nobody_out),
		cmocka_unit_test(clocks_wrap),
		cmocka_unit_test(a_day_of_idling),
		cmocka_unit_test(frame_jitter_does_not_starve),
		cmocka_unit_test(throttle_and_bandwidth_commands),
	};

	printf("SW_SEED=%llu\n", (unsigned long long)world_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
