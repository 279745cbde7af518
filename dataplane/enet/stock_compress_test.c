/* Proves compression against stock libenet with its range coder on: each setting of ours with each
 * of the client's, with and without checksum, over a network that loses and damages; that a client
 * which differs from OFF or ON reads why; that no answer is larger than what drew it; what is
 * saved; and that a client who makes us decompress too much is slowed down, loses nothing reliable,
 * and disturbs no other. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "dataplane/enet/stock_life.h"
#include "dataplane/enet/wire.h"

#define TOLD_CHECKSUM    18u
#define TOLD_COMPRESSION 19u

struct seen {
	uint64_t datagrams, compressed, bytes; /* down, and of those up */
	uint64_t up_compressed;
	uint32_t request_bytes; /* of CONNECTs that wait for an answer */
	uint16_t request_port;
	uint32_t larger, verifies;
};

static bool watch(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	struct seen *seen = ctx;
	bool compressed = wire_get16(data) & WIRE_COMPRESSED;

	if (from.port != 7777) {
		seen->up_compressed += compressed;
		if ((wire_get16(data) & WIRE_PEER_MASK) == WIRE_NO_PEER) {
			seen->request_bytes += (uint32_t)bytes;
			seen->request_port = from.port;
		}
		return true;
	}
	seen->datagrams++;
	seen->compressed += compressed;
	seen->bytes += bytes;
	if (seen->request_bytes && to.port == seen->request_port) {
		seen->verifies++;
		seen->larger += bytes > seen->request_bytes;
		seen->request_bytes = 0;
	}
	return true;
}

static uint32_t client(struct world *world, bool compress, bool checksum)
{
	ENetHost *host = world_host(world, 1, checksum);

	if (compress)
		assert_int_equal(enet_host_compress_with_range_coder(host), 0);
	return world_connect(world, host, 4);
}

/* Each kind both ways, small and in fragments. */
static void talk(struct world *world, uint32_t number)
{
	static const uint32_t sizes[] = {12, 40, 200, 1300, 5000};

	for (uint32_t i = 0; i < 100; i++) {
		uint32_t bytes = sizes[i % 5];

		world_send_up(world, number, (uint8_t)(i % 4), RELIABLE, bytes);
		world_send_up(world, number, (uint8_t)(i % 4), 0, bytes < 1300 ? bytes : 12);
		world_send_down(world, number, (uint8_t)(i % 4), RELIABLE, bytes);
		world_send_down(world, number, (uint8_t)(i % 4), SW_ENET_UNSEQUENCED, 30);
		world_run(world, 10);
	}
	assert_true(world_until(world, world_all_arrived, 60000));
}

static void every_setting(void **state)
{
	uint64_t damaged = 0;

	(void)state;
	for (uint32_t at = 0; at < 3 * 2 * 2; at++) {
		enum sw_enet_use ours = (enum sw_enet_use)(at / 4);
		bool compress = at & 1, checksum = at & 2;
		bool fits = ours == SW_ENET_ANY || compress == (ours == SW_ENET_ON);
		struct world_config config = {
			.net = {.loss = 0.1, .repeat = 0.05, .delay_min_ms = 2, .delay_max_ms = 30},
			.engine = {.compression = ours,
				.checksum = SW_ENET_ANY,
				.told = {.compression = TOLD_COMPRESSION}}};
		struct seen seen = {0};
		struct world *world;
		uint32_t number;

		config.net.corrupt = checksum ? 0.02 : 0;
		world = world_with(config, 0);
		netsim_filter_set(world->sim, watch, &seen);
		number = client(world, compress, checksum);
		if (!fits) {
			assert_true(world_until(world, world_clients_gone, 40000));
			assert_int_equal(
				world->client[number].gone_data, WORLD_TOLD(TOLD_COMPRESSION));
			assert_false(world->client[number].connected);
			assert_true(world_count(world, SW_ENET_C_CONNECT_COMPRESSION) > 0);
			end(world);
			continue;
		}
		assert_true(world_until(world, world_all_connected, 40000));
		talk(world, number);
		assert_false(world->client[number].gone);
		if (compress)
			assert_true(seen.compressed > 10 && seen.up_compressed > 10);
		else
			assert_true(seen.compressed == 0 && seen.up_compressed == 0);
		damaged += world_count(world, SW_ENET_C_BAD_CHECKSUM) +
			   world_count(world, SW_ENET_C_BAD_COMPRESSION);
		leave_all(world);
	}
	assert_true(damaged > 0);
}

/* Both settings wrong: the checksum is told first; either way the client can read it. */
static void both_differ(void **state)
{
	struct world_config config = {
		.engine = {.told = {.compression = TOLD_COMPRESSION, .checksum = TOLD_CHECKSUM}}};
	struct world *world = world_with(config, 0);

	(void)state;
	client(world, true, true);
	assert_true(world_until(world, world_clients_gone, 1000));
	assert_int_equal(world->client[0].gone_data, WORLD_TOLD(TOLD_CHECKSUM));
	end(world);
}

/* Thousands of CONNECTs as libenet compresses them, with all that varies in them: each connects,
 * and VERIFY_CONNECT is never larger than what the client sent before it. */
static void answers_are_not_larger(void **state)
{
	struct world_config config = {.net = {.delay_min_ms = 1, .delay_max_ms = 1},
		.engine = {.compression = SW_ENET_ON,
			.checksum = SW_ENET_ANY,
			.peers_max = 4096,
			.half_open_max = 4096,
			.pool_bytes = 8 << 20,
			.packet_bytes_max = 4096}};
	struct seen seen = {0};
	struct world *world = world_with(config, 0);

	(void)state;
	netsim_filter_set(world->sim, watch, &seen);
	for (uint32_t i = 0; i < 3000; i++) {
		ENetHost *host = world_host(world, 1, i % 3 == 0);

		if (i % 2)
			enet_host_bandwidth_limit(host, netsim_random(world->sim, UINT32_MAX),
				netsim_random(world->sim, UINT32_MAX));
		enet_host_compress_with_range_coder(host);
		world_connect(world, host, 1 + i % 255);
		world_run(world, 5);
		if (!world->client[i].connected)
			world_run(world, 1200);
		assert_true(world->client[i].connected);
		/* it need not run any more */
		world->host_count--;
		enet_host_destroy(host);
		world->client[i].peer = NULL;
	}
	assert_true(seen.verifies >= 3000);
	assert_int_equal(seen.larger, 0);
	/* few have to wait for their repeated CONNECT */
	assert_true(world_count(world, SW_ENET_C_CONNECT_SMALL) < seen.verifies / 20);
	assert_true(world_until(world, world_all_gone, 60000));
	end(world);
}

static uint64_t bytes_down(bool compress)
{
	struct world_config config = {.engine = {.compression = SW_ENET_ANY}};
	struct world *world = world_with(config, 0);
	struct seen seen = {0};

	client(world, compress, false);
	assert_true(world_until(world, world_all_connected, 1000));
	netsim_filter_set(world->sim, watch, &seen);
	for (uint32_t i = 0; i < 200; i++) {
		for (uint32_t k = 0; k < 20; k++)
			world_send_down(world, 0, 0, RELIABLE, 16);
		world_run(world, 5);
	}
	assert_true(world_until(world, world_all_arrived, 10000));
	leave_all(world);
	return seen.bytes;
}

static void it_saves(void **state)
{
	uint64_t plain = bytes_down(false), packed = bytes_down(true);

	(void)state;
	print_message("4,000 messages of 16 bytes: %llu bytes plain, %llu compressed\n",
		(unsigned long long)plain, (unsigned long long)packed);
	assert_true(packed < plain * 6 / 10);
}

static bool first_arrived(struct world *world)
{
	const struct world_stream *up = world->client[0].up;

	return memcmp(up->sent[WORLD_RELIABLE], up->received[WORLD_RELIABLE],
		       sizeof up->sent[WORLD_RELIABLE]) == 0;
}

/* 6,000 messages, 280 KB decompressed, as fast as the client can. Returns the ms that took. */
static uint64_t pour(uint32_t expand_bytes_per_s, uint64_t *refused)
{
	struct world_config config = {
		.engine = {.compression = SW_ENET_ANY, .expand_bytes_per_s = expand_bytes_per_s}};
	struct world *world = world_with(config, 0);
	uint64_t start_ms, ms;

	client(world, true, false);
	client(world, true, false); /* who asks for little */
	assert_true(world_until(world, world_all_connected, 1000));
	start_ms = netsim_now_ms(world->sim);
	for (uint32_t i = 0; i < 6000; i++)
		world_send_up(world, 0, (uint8_t)(i % 4), RELIABLE, 40);
	for (uint32_t i = 0; i < 10; i++) {
		world_send_up(world, 1, 0, RELIABLE, 40);
		world_run(world, 50);
		assert_int_equal(world->client[1].up->count[WORLD_RELIABLE], i + 1);
	}
	while (!first_arrived(world) && netsim_now_ms(world->sim) < 300000)
		world_run(world, 10);
	assert_true(first_arrived(world));
	ms = netsim_now_ms(world->sim) - start_ms;
	*refused = world_count(world, SW_ENET_C_EXPAND_RATE);
	assert_false(world->client[0].gone || world->client[1].gone);
	assert_int_equal(world->client[0].disconnects, 0);
	leave_all(world);
	return ms;
}

static void expansion_has_a_rate(void **state)
{
	uint64_t refused, ms = pour(2 << 20, &refused);

	(void)state;
	assert_int_equal(refused, 0);
	print_message("280 KB at 2 MiB/s: %llu ms\n", (unsigned long long)ms);
	assert_in_range(ms, 1, 2000);
	ms = pour(20000, &refused);
	print_message("at 20 KB/s: %llu ms, %llu datagrams not looked at\n", (unsigned long long)ms,
		(unsigned long long)refused);
	assert_true(refused > 0);
	/* 20 KB at once, the rest at the rate */
	assert_in_range(ms, (6000 * 46 - 20000) / 20, 120000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setting),
		cmocka_unit_test(both_differ),
		cmocka_unit_test(answers_are_not_larger),
		cmocka_unit_test(it_saves),
		cmocka_unit_test(expansion_has_a_rate),
	};

	printf("SW_SEED=%llu\n", (unsigned long long)world_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
