/* stock_test.c: proves that unmodified libenet clients and the engine understand each other over a
 * network that loses a tenth, reorders and repeats: nothing reliable is lost, doubled or out of
 * order, whatever the destination's rings and the transmit buffers do meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "dataplane/enet/stock_world.h"
#include "dataplane/enet/wire.h"

#define BAD_NET                                                                                    \
	{                                                                                          \
		.loss = 0.1, .repeat = 0.05, .delay_min_ms = 5, .delay_max_ms = 40                 \
	}

static struct world *world_with(struct world_config config, uint32_t clients, size_t channels)
{
	struct world *world;

	if (!config.net.seed)
		config.net.seed = world_seed();
	world = world_new(&config);
	for (uint32_t i = 0; i < clients; i++)
		world_connect(world, world_host(world, 1, false), channels);
	assert_true(world_until(world, world_all_connected, 30000));
	return world;
}

static uint32_t some_bytes(struct world *world)
{
	uint32_t dice = netsim_random(world->sim, 100);

	if (dice < 80)
		return 12 + netsim_random(world->sim, 200);
	if (dice < 95)
		return 12 + netsim_random(world->sim, 4000);
	return 12 + netsim_random(world->sim, 60000);
}

static uint32_t some_flags(struct world *world)
{
	static const uint32_t flags[] = {ENET_PACKET_FLAG_RELIABLE, 0, ENET_PACKET_FLAG_UNSEQUENCED,
		ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT};

	return flags[netsim_random(world->sim, 4)];
}

/* All kinds of packets both ways for ms, then until all that is reliable has arrived. */
static void talk(struct world *world, uint64_t ms, uint32_t per_mille)
{
	uint64_t end = netsim_now_ms(world->sim) + ms;

	while (netsim_now_ms(world->sim) < end) {
		for (uint32_t i = 0; i < world->clients; i++) {
			uint32_t channels = world->client[i].channels;

			if (netsim_random(world->sim, 1000) < per_mille)
				world_send_up(world, i,
					(uint8_t)netsim_random(world->sim, channels),
					some_flags(world), some_bytes(world));
			if (netsim_random(world->sim, 1000) < per_mille)
				world_send_down(world, i,
					(uint8_t)netsim_random(world->sim, channels),
					some_flags(world), some_bytes(world));
		}
		world_run(world, 1);
	}
	assert_true(world_until(world, world_all_arrived, 60000));
}

static void everyone_still_there(struct world *world)
{
	for (uint32_t i = 0; i < world->clients; i++) {
		assert_false(world->client[i].gone);
		assert_int_equal(world->client[i].disconnects, 0);
	}
	assert_int_equal(sw_enet_peers(world->engine), world->clients);
}

/* After the last peer has left no memory is kept. */
static void leave_nothing(struct world *world)
{
	for (uint32_t i = 0; i < world->clients; i++) {
		if (!world->client[i].gone)
			enet_peer_disconnect(world->client[i].peer, 5);
	}
	assert_true(world_until(world, world_all_gone, 60000));
	world_run(world, 100);
	assert_int_equal(sw_enet_peers(world->engine), 0);
	assert_int_equal(world_count(world, SW_ENET_C_HOLD_BYTES), 0);
	assert_int_equal(world_count(world, SW_ENET_C_QUEUE_BYTES), 0);
	world_free(world);
}

static void all_kinds_over_a_bad_network(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct world_config config = {.net = BAD_NET};
		struct world *world;

		config.net.seed = world_seed() + seed;
		world = world_with(config, 6, 4);
		talk(world, 8000, 40);
		everyone_still_there(world);
		assert_true(world_count(world, SW_ENET_C_RETRANSMITTED) > 0);
		for (uint32_t i = 0; i < world->clients; i++) {
			for (int kind = 0; kind < WORLD_KINDS; kind++) {
				assert_true(world->client[i].up->count[kind] > 0);
				assert_true(world->client[i].down->count[kind] > 0);
			}
		}
		leave_nothing(world);
	}
}

/* More at once than a client's window, many times over: ENet's sender would starve what is missing
 * if the engine withheld what comes behind it. */
static void a_flood_over_a_bad_network(void **state)
{
	struct world_config config = {.net = BAD_NET};
	struct world *world;

	(void)state;
	config.engine.peer_queue_bytes = 4 << 20;
	world = world_with(config, 2, 2);
	for (uint32_t i = 0; i < 2000; i++) {
		for (uint32_t k = 0; k < 2; k++) {
			uint8_t channel = i % 2;
			uint32_t bytes = 12 + i % 100;

			world_send_up(world, k, channel, ENET_PACKET_FLAG_RELIABLE, bytes);
			assert_int_equal(world_send_down(world, k, channel,
						 ENET_PACKET_FLAG_RELIABLE, bytes),
				0);
		}
	}
	assert_true(world_until(world, world_all_arrived, 120000));
	everyone_still_there(world);
	leave_nothing(world);
}

static void full_rings_and_buffers_lose_nothing(void **state)
{
	struct world_config config = {.net = BAD_NET, .refuse_per_mille = 100};
	struct world *world;

	(void)state;
	world = world_with(config, 4, 4);
	talk(world, 6000, 30);
	everyone_still_there(world);
	assert_true(world_count(world, SW_ENET_C_WITHHELD_RING) > 0);
	assert_true(world_count(world, SW_ENET_C_NO_BUFFER) > 0);
	leave_nothing(world);
}

/* Less hold than three packets: what comes too early is withheld, and comes again. */
static void a_small_hold_loses_nothing(void **state)
{
	struct world_config config = {
		.net = {.loss = 0.03, .repeat = 0.05, .delay_min_ms = 5, .delay_max_ms = 15}};
	struct world *world;

	(void)state;
	config.engine.packet_bytes_max = 20000;
	config.engine.peer_hold_bytes = 60000;
	world = world_with(config, 2, 2);
	for (int i = 0; i < 60; i++) {
		world_send_up(world, 0, 0, ENET_PACKET_FLAG_RELIABLE, 20000);
		world_send_up(world, 0, 1, ENET_PACKET_FLAG_RELIABLE, 15000);
		world_send_up(world, 1, 1, ENET_PACKET_FLAG_RELIABLE, 100);
		world_run(world, 35);
	}
	assert_true(world_until(world, world_all_arrived, 120000));
	assert_true(world_count(world, SW_ENET_C_WITHHELD_MEMORY) > 0);
	everyone_still_there(world);
	leave_nothing(world);
}

/* More than three times round the 16-bit sequence numbers. */
static void sequence_numbers_wrap(void **state)
{
	struct world_config config = {
		.net = {.loss = 0.002, .repeat = 0.01, .delay_min_ms = 1, .delay_max_ms = 4}};
	const uint32_t messages = 3 * 65536 + 5000;
	struct world *world;

	(void)state;
	config.engine.peer_queue_bytes = 4 << 20;
	config.engine.peer_hold_bytes = 1
					<< 20; /* a block each: 12-byte messages are mostly block */
	world = world_with(config, 1, 1);
	for (uint32_t i = 0; i < messages; i++) {
		world_send_up(world, 0, 0, ENET_PACKET_FLAG_RELIABLE, 12);
		assert_int_equal(world_send_down(world, 0, 0, ENET_PACKET_FLAG_RELIABLE, 12), 0);
		if (i % 200 == 199)
			world_run(world, 1);
		if (i % 5000 == 4999)
			assert_true(world_until(world, world_all_arrived, 60000));
	}
	assert_true(world_until(world, world_all_arrived, 60000));
	assert_int_equal(world->client[0].up->count[WORLD_RELIABLE], messages);
	everyone_still_there(world);
	leave_nothing(world);
}

/* Loses whatever carries the reliable command with sequence number 1 of channel 0, downwards. */
static bool drop_first(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	static const uint8_t first[] = {WIRE_SEND_RELIABLE | WIRE_ACK_FLAG, 0, 0, 1, 0, 12};

	(void)ctx;
	(void)to;
	if (from.port != 7777)
		return true;
	for (size_t at = 4; at + sizeof first <= bytes; at++) {
		if (memcmp(data + at, first, sizeof first) == 0)
			return false;
	}
	return true;
}

/* lsalzman/enet#141, #143: while one command is missing, no more than seven windows follow it: a
 * receiver takes no more, and from nine on it acknowledges what it throws away. */
static void the_sender_stays_inside_the_windows(void **state)
{
	struct world_config config = {.net = {.delay_min_ms = 1, .delay_max_ms = 1}};
	const uint32_t messages = 45000;
	struct sw_enet_peer_info info;
	struct world *world;

	(void)state;
	config.engine.peer_queue_bytes = 8 << 20;
	world = world_with(config, 1, 1);
	netsim_filter_set(world->sim, drop_first, NULL);
	for (uint32_t i = 0; i < messages; i++) {
		assert_int_equal(world_send_down(world, 0, 0, ENET_PACKET_FLAG_RELIABLE, 12), 0);
		if (i % 100 == 99)
			world_run(world, 1);
	}
	world_run(world, 1000);
	/* queued: what the windows hold back */
	assert_true(world_count(world, SW_ENET_C_QUEUE_BYTES) >= (messages - 7 * 4096) * 128u);
	assert_int_equal(world->client[0].down->count[WORLD_RELIABLE], 0);
	/* and in flight is what was lost, not what the client would throw away */
	sw_enet_peer_info(world->engine, (uint32_t)world->client[0].handle, &info);
	assert_true(info.reliable_in_flight_bytes < 4096);
	netsim_filter_set(world->sim, NULL, NULL);
	assert_true(world_until(world, world_all_arrived, 60000));
	everyone_still_there(world);
	leave_nothing(world);
}

static void all_255_channels(void **state)
{
	struct world_config config = {.net = BAD_NET, .echo = true};
	struct world *world;

	(void)state;
	world = world_with(config, 2, 255);
	assert_int_equal(world->client[0].channels, 255);
	for (uint32_t channel = 0; channel < 255; channel++) {
		for (uint32_t i = 0; i < 2; i++) {
			world_send_up(world, i, (uint8_t)channel, ENET_PACKET_FLAG_RELIABLE,
				12 + channel);
			world_send_up(world, i, (uint8_t)channel, 0, 3000);
		}
	}
	assert_true(world_until(world, world_all_arrived, 60000));
	leave_nothing(world);

	config.engine.channels_max = 3;
	world = world_with(config, 1, 255);
	assert_int_equal(world->client[0].channels, 3);
	assert_int_equal(world->client[0].peer->channelCount, 3);
	leave_nothing(world);
}

static void checksums(void **state)
{
	(void)state;
	for (int on = 0; on < 2; on++) {
		struct world_config config = {.net = BAD_NET};
		struct world *world;

		config.net.seed = world_seed();
		config.net.corrupt = on ? 0.03 : 0; /* found by the checksum, and repeated */
		config.engine.checksum = on ? SW_ENET_ON : SW_ENET_ANY;
		world = world_new(&config);
		world_connect(world, world_host(world, 1, true), 2);
		world_connect(world, world_host(world, 1, on), 2);
		assert_true(world_until(world, world_all_connected, 30000));
		talk(world, 3000, 30);
		if (on)
			assert_true(world_count(world, SW_ENET_C_BAD_CHECKSUM) > 0);
		everyone_still_there(world);
		leave_nothing(world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_over_a_bad_network),
		cmocka_unit_test(a_flood_over_a_bad_network),
		cmocka_unit_test(full_rings_and_buffers_lose_nothing),
		cmocka_unit_test(a_small_hold_loses_nothing),
		cmocka_unit_test(sequence_numbers_wrap),
		cmocka_unit_test(the_sender_stays_inside_the_windows),
		cmocka_unit_test(all_255_channels),
		cmocka_unit_test(checksums),
	};

	printf("SW_SEED=%llu\n", (unsigned long long)world_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
