/* stock_wire_test.c: proves the edges of what is negotiated and numbered, with stock clients: MTU
 * and window of every pair of settings, session ids across reconnects on one slot, and where the
 * unreliable and unsequenced numbers wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "dataplane/enet/stock_life.h"
#include "dataplane/enet/wire.h"

/* --- MTU --- */

struct sizes {
	uint32_t down_max, up_max;
	uint32_t down; /* datagrams with more than acknowledgements and pings */
};

static bool measure(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	struct sizes *sizes = ctx;
	uint32_t *max = from.port == 7777 ? &sizes->down_max : &sizes->up_max;

	(void)to;
	(void)data;
	if (bytes > *max)
		*max = (uint32_t)bytes;
	sizes->down += from.port == 7777 && bytes > 200;
	return true;
}

static uint32_t client_of_mtu(struct world *world, uint32_t mtu, bool checksum)
{
	ENetHost *host = world_host(world, 1, checksum);

	host->mtu = mtu;
	host->peers[0].mtu = mtu;
	return world_connect(world, host, 2);
}

/* The lower of both, from 576 to 4,096; the largest unreliable payload fills one datagram exactly,
 * one byte more makes it reliable fragments. */
static void mtu_edges(void **state)
{
	static const uint32_t mtus[] = {576, 577, 1392, 1400, 4095, 4096};

	(void)state;
	for (size_t at = 0; at < 6 * 6 * 2; at++) {
		uint32_t ours = mtus[at / 6 % 6], its = mtus[at % 6];
		uint32_t mtu = ours < its ? ours : its, head = at < 36 ? 4 : 8;
		struct world_config config = {.engine = {.mtu = ours, .checksum = SW_ENET_ANY}};
		struct world *world = world_with(config, 0);
		struct sizes sizes = {0};

		client_of_mtu(world, its, at >= 36);
		assert_true(world_until(world, world_all_connected, 1000));
		assert_int_equal(world->client[0].peer->mtu, mtu);
		assert_int_equal(world->client[0].payload_bytes_max, mtu - head - 8);
		world_run(world, 100);
		netsim_filter_set(world->sim, measure, &sizes);
		assert_int_equal(world_send_down(world, 0, 0, 0, mtu - head - 8), 0);
		world_run(world, 100);
		assert_int_equal(sizes.down, 1);
		assert_int_equal(sizes.down_max, mtu);
		assert_int_equal(world->client[0].down->count[WORLD_UNRELIABLE], 1);
		assert_int_equal(world_send_down(world, 0, 0, 0, mtu - head - 8 + 1), 0);
		world_run(world, 100);
		assert_int_equal(world->client[0].down->count[WORLD_UNRELIABLE], 2);
		/* many sizes both ways: no datagram is larger; stock leaves the checksum out of
		 * its sum */
		for (uint32_t i = 0; i < 40; i++) {
			world_send_up(world, 0, 0, RELIABLE, 12 + i * 211);
			world_send_down(world, 0, 0, RELIABLE, 12 + i * 211);
			world_send_up(world, 0, 1, ENET_PACKET_FLAG_UNRELIABLE_FRAGMENT, mtu * 2);
			world_send_down(world, 0, 1, SW_ENET_UNRELIABLE_FRAGMENT, mtu * 2);
			world_run(world, 5);
		}
		assert_true(world_until(world, world_all_arrived, 20000));
		world_run(world, 100);
		assert_int_equal(world->client[0].up->count[WORLD_UNRELIABLE], 40);
		assert_int_equal(world->client[0].down->count[WORLD_UNRELIABLE], 42);
		assert_in_range(sizes.down_max, mtu - 24, mtu);
		assert_in_range(sizes.up_max, mtu - 24, mtu + (at < 36 ? 0 : 4));
		leave_all(world);
	}
}

/* --- windows --- */

/* What may be in flight to the client, and from it, of the four limits; 64 KiB without any. */
static void windows_of_limits(void **state)
{
	static const struct {
		uint32_t client_in, client_out, server_in, server_out;
		uint32_t down, up; /* windows */
	} cases[] = {
		{0, 0, 0, 0, 65536, 65536},
		{65536, 0, 0, 0, 4096, 65536},
		{1, 0, 0, 0, 4096, 65536}, /* no less than one packet's worth */
		{131071, 0, 0, 0, 4096, 65536},
		{131072, 0, 0, 0, 8192, 65536},
		{0, 0, 0, 196608, 12288, 65536},
		{131072, 0, 0, 196608, 8192, 65536},
		{196608, 0, 0, 131072, 8192, 65536},
		{UINT32_MAX, 0, 0, UINT32_MAX, 65536, 65536},
		{1048576, 0, 0, 0, 65536, 65536},
		{983040, 0, 0, 0, 61440, 65536},
		{0, 131072, 0, 0, 65536, 8192},
		{0, 0, 131072, 0, 65536, 8192},
		{0, 262144, 131072, 0, 65536, 8192},
		{0, 131072, 262144, 0, 65536, 8192},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct world_config config = {.engine = {.incoming_bandwidth = cases[i].server_in,
						      .outgoing_bandwidth = cases[i].server_out,
						      .peer_queue_bytes = 4 << 20}};
		struct world *world = world_with(config, 0);
		struct sw_enet_peer_info info;
		uint32_t most = 0;
		ENetHost *host = world_host(world, 1, false);

		enet_host_bandwidth_limit(host, cases[i].client_in, cases[i].client_out);
		world_connect(world, host, 1);
		assert_true(world_until(world, world_all_connected, 1000));
		assert_int_equal(world->client[0].peer->windowSize, cases[i].up);
		for (uint32_t k = 0; k < 400; k++)
			assert_int_equal(world_send_down(world, 0, 0, RELIABLE, 512), 0);
		for (uint32_t ms = 0; ms < 30; ms++) {
			world_run(world, 1);
			sw_enet_peer_info(world->engine, (uint32_t)world->client[0].handle, &info);
			if (info.reliable_in_flight_bytes > most)
				most = info.reliable_in_flight_bytes;
		}
		/* full to the last packet */
		assert_in_range(most, cases[i].down - 511, cases[i].down);
		assert_true(world_until(world, world_all_arrived, 60000));
		leave_all(world);
	}
}

/* --- sessions --- */

struct kept {
	struct netsim_address from, to;
	uint8_t data[2048];
	size_t bytes;
};

/* The last datagram that a client sent with a reliable message in it. */
static bool keep_up(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	struct kept *kept = ctx;

	if (to.port != 7777 || bytes > sizeof kept->data || bytes < 300)
		return true;
	kept->from = from;
	kept->to = to;
	kept->bytes = bytes;
	memcpy(kept->data, data, bytes);
	return true;
}

/* Someone asks to connect in a client's name, who is there, and is refused: the answer goes to the
 * client, from our address, with its own peer id in it. */
static void refuse_in_its_name(struct world *world, uint32_t number, const struct kept *kept)
{
	uint64_t refusals = world_count(world, SW_ENET_C_REFUSALS_OUT);
	uint8_t out[WIRE_HEADER_BYTES + WIRE_CONNECT_BYTES] = {0}, *p;

	wire_put16(out, WIRE_SENT_TIME | WIRE_NO_PEER);
	p = wire_put_command(out + 4, WIRE_CONNECT | WIRE_ACK_FLAG, WIRE_CONTROL_CHANNEL, 1);
	wire_put16(p, world->client[number].peer->incomingPeerID);
	p[2] = p[3] = WIRE_SESSION_NONE;
	wire_put32(p + 4, 1400);
	wire_put32(p + 8, 65536);
	wire_put32(p + 12, 1);
	memcpy(p + 36, "spoof", 4);
	sw_enet_refuse_connects(world->engine, 5);
	netsim_send(world->sim, kept->from, kept->to, out, sizeof out);
	world_run(world, 50);
	sw_enet_refuse_connects(world->engine, 0);
	assert_int_equal(world_count(world, SW_ENET_C_REFUSALS_OUT), refusals + 1);
	assert_false(world->client[number].gone);
	assert_int_equal(world->client[number].peer->state, ENET_PEER_STATE_CONNECTED);
}

/* One slot of a client, nine lives: each session id is one more than the last, modulo four, in both
 * directions, but never the one that refusals have in what is sent to it; what is left under way
 * from an earlier life is refused, not mixed in. */
static void sessions_across_reconnects(void **state)
{
	struct world *world = world_with((struct world_config){0}, 0);
	ENetHost *host = world_host(world, 1, false);
	struct kept kept = {0};
	uint8_t in = 0, out = 0;
	uint16_t id;

	(void)state;
	netsim_filter_set(world->sim, keep_up, &kept);
	for (uint32_t life = 0; life < 9; life++) {
		uint32_t number = world_connect(world, host, 1);
		const ENetPeer *peer = world->client[number].peer;
		uint64_t refused;

		assert_ptr_equal(peer, &host->peers[0]);
		while (!world->client[number].connected && netsim_now_ms(world->sim) < 100000)
			world_run(world, 1);
		world_run(world, 50);
		assert_int_equal(world->client[number].connects, 1);
		if (life) {
			assert_int_equal(peer->incomingSessionID, in == 3 ? 1 : in + 1);
			assert_int_equal(peer->outgoingSessionID, (out + 1) & 3);
			/* a datagram of the life before, late: of its own peer id, and as if the
			 * id were the same this time */
			netsim_send(world->sim, kept.from, kept.to, kept.data, kept.bytes);
			world_run(world, 50);
			refused = world_count(world, SW_ENET_C_WRONG_SESSION);
			id = wire_get16(kept.data);
			wire_put16(kept.data, (id & ~WIRE_PEER_MASK) | peer->outgoingPeerID);
			netsim_send(world->sim, kept.from, kept.to, kept.data, kept.bytes);
			world_run(world, 50);
			assert_int_equal(world_count(world, SW_ENET_C_WRONG_SESSION), refused + 1);
			assert_null(world->client[number].up);
		}
		in = peer->incomingSessionID;
		out = peer->outgoingSessionID;
		world_send_up(world, number, 0, RELIABLE, 400);
		world_send_down(world, number, 0, RELIABLE, 400);
		world_run(world, 100);
		assert_int_equal(world->client[number].up->count[WORLD_RELIABLE], 1);
		assert_int_equal(world->client[number].down->count[WORLD_RELIABLE], 1);
		refuse_in_its_name(world, number, &kept);
		enet_peer_disconnect(&host->peers[0], 0);
		world_run(world, 100);
		assert_true(world->client[number].gone);
		assert_int_equal(world->client[number].disconnects, 1);
	}
	end(world);
}

/* --- numbers --- */

/* ENet has 65,535 numbers for unreliable packets behind a reliable one; the next goes reliably, and
 * counting starts again. */
static void unreliable_numbers_wrap(void **state)
{
	const uint32_t messages = 65535 + 300;
	struct world *world = world_connected((struct world_config){0}, 1);
	struct world_client *client = &world->client[0];

	(void)state;
	for (uint32_t i = 0; i < messages; i++) {
		world_send_up(world, 0, 0, 0, 12);
		assert_int_equal(world_send_down(world, 0, 1, 0, 12), 0);
		if (i % 100 == 99)
			world_run(world, 2);
	}
	world_run(world, 200);
	assert_int_equal(client->up->received[WORLD_UNRELIABLE][0], messages);
	assert_int_equal(client->down->received[WORLD_UNRELIABLE][1], messages);
	/* on a clean network the throttle drops none */
	assert_int_equal(client->up->count[WORLD_UNRELIABLE], messages);
	assert_int_equal(client->down->count[WORLD_UNRELIABLE], messages);
	/* one of them was reliable, each way */
	assert_int_equal(client->peer->channels[0].outgoingReliableSequenceNumber, 1);
	assert_int_equal(client->peer->channels[1].incomingReliableSequenceNumber, 1);
	leave_all(world);
}

/* Unsequenced groups: more than once round their 16 bits, repeated by the network. */
static void unsequenced_numbers_wrap(void **state)
{
	const uint32_t messages = 70000;
	struct world_config config = {.net = {.repeat = 0.2, .delay_min_ms = 2, .delay_max_ms = 2}};
	struct world *world = world_connected(config, 1);
	struct world_client *client = &world->client[0];

	(void)state;
	for (uint32_t i = 0; i < messages; i++) {
		world_send_up(world, 0, 0, ENET_PACKET_FLAG_UNSEQUENCED, 12);
		assert_int_equal(world_send_down(world, 0, 0, SW_ENET_UNSEQUENCED, 12), 0);
		if (i % 50 == 49)
			world_run(world, 1);
	}
	world_run(world, 100);
	/* each once: the window forgets nothing at a multiple of 1,024 that is repeated at once */
	assert_int_equal(client->up->count[WORLD_UNSEQUENCED], messages);
	assert_int_equal(client->down->count[WORLD_UNSEQUENCED], messages);
	assert_true(world_count(world, SW_ENET_C_STALE_UNRELIABLE) > messages / 100);
	leave_all(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mtu_edges),
		cmocka_unit_test(windows_of_limits),
		cmocka_unit_test(sessions_across_reconnects),
		cmocka_unit_test(unreliable_numbers_wrap),
		cmocka_unit_test(unsequenced_numbers_wrap),
	};

	printf("SW_SEED=%llu\n", (unsigned long long)world_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
