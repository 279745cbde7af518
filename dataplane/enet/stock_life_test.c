/* stock_life_test.c: proves how connections with stock clients begin and end: lost handshakes
 * recover, refusals are told, and every kind of leaving is seen on both sides with the data before
 * it. */
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

/* --- handshake --- */

struct drop {
	int connects, verifies,
		first;      /* datagrams to lose: of each kind, and a client's first ones */
	int largest_answer; /* answers larger than the CONNECT before */
	size_t connect_bytes;
};

static bool drop_some(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	struct drop *drop = ctx;
	bool up = to.port == 7777, no_peer = (wire_get16(data) & WIRE_PEER_MASK) == WIRE_NO_PEER;
	bool verify = !up && bytes == 48 && (data[4] & WIRE_COMMAND_MASK) == WIRE_VERIFY_CONNECT;

	(void)from;
	if (up && no_peer) {
		drop->connect_bytes = bytes;
		return drop->connects-- <= 0;
	}
	if (verify) {
		if (bytes > drop->connect_bytes)
			drop->largest_answer++;
		return drop->verifies-- <= 0;
	}
	return !up || drop->first-- <= 0;
}

static void lost_handshakes_recover(void **state)
{
	static const struct drop cases[] = {{0}, {.connects = 3}, {.verifies = 3}, {.first = 1},
		{.first = 2}, {.verifies = 1, .first = 1},
		{.connects = 1, .verifies = 1, .first = 1}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct world *world = world_with((struct world_config){0}, 1);
		struct drop drop = cases[i];
		uint32_t sent = 0;

		netsim_filter_set(world->sim, drop_some, &drop);
		/* the client speaks as soon as it believes itself connected */
		while (netsim_now_ms(world->sim) < 30000 &&
			!(sent && world_all_connected(world) && world_all_arrived(world))) {
			world_run(world, 1);
			if (world->client[0].connected && !sent)
				world_send_up(world, 0, 0, RELIABLE, 12 + sent++);
		}
		assert_int_equal(world->client[0].connects, 1);
		assert_int_equal(world->client[0].up->count[WORLD_RELIABLE], 1);
		assert_int_equal(drop.largest_answer, 0);
		assert_int_equal(world_count(world, SW_ENET_C_HALF_OPEN), 0);
		leave_all(world);
	}
}

/* Each CONNECT of one client, and one whose entry was evicted, draws the same bytes. */
struct verifies {
	uint8_t bytes[48];
	int seen, different;
};

static bool keep_verify(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	struct verifies *v = ctx;

	(void)from;
	if (to.port == 7777 || bytes != sizeof v->bytes)
		return true;
	if (v->seen++ == 0)
		memcpy(v->bytes, data, bytes);
	else if (memcmp(v->bytes, data, bytes) != 0)
		v->different++;
	return false; /* never arrives: the client repeats */
}

static void repeated_connects_draw_the_same(void **state)
{
	struct world_config config = {0};
	struct world *world;
	struct verifies v = {0};

	(void)state;
	world = world_with(config, 1);
	netsim_filter_set(world->sim, keep_verify, &v);
	world_run(world, 31000); /* 0, 0.5, 1.5, 3.5, 7.5, 15.5 s; entries live 20 s */
	assert_true(v.seen >= 5);
	assert_int_equal(v.different, 0);
	assert_int_equal(sw_enet_peers(world->engine), 0);
	world_free(world);
}

static void refusals_are_told(void **state)
{
	struct world_config config = {
		.engine = {.peers_max = 2, .told = {.full = 1, .checksum = 18}}};
	struct world *world;

	(void)state;
	world = world_connected(config, 2);
	world_connect(world, world_host(world, 1, false), 4);
	world_run(world, 100);
	assert_true(world->client[2].gone);
	assert_int_equal(world->client[2].gone_data, WORLD_TOLD(1));
	assert_int_equal(world_count(world, SW_ENET_C_CONNECT_FULL), 1);
	/* a slot that comes free is used again */
	enet_peer_disconnect(world->client[0].peer, 0);
	world_run(world, 100);
	world_connect(world, world_host(world, 1, false), 4);
	world_run(world, 100);
	assert_true(world->client[3].connected);
	assert_int_equal(world->client[3].connects, 1);

	sw_enet_refuse_connects(world->engine, 2);
	world_connect(world, world_host(world, 1, true), 4);
	world_run(world, 100);
	assert_true(world->client[4].gone);
	assert_int_equal(world->client[4].gone_data, WORLD_TOLD(2));
	sw_enet_refuse_connects(world->engine, 0);

	world_connect(world, world_host(world, 1, true), 4); /* checksum is off here */
	world_run(world, 100);
	assert_true(world->client[5].gone);
	assert_int_equal(world->client[5].gone_data, WORLD_TOLD(18));
	enet_peer_disconnect(world->client[1].peer, 0);
	enet_peer_disconnect(world->client[3].peer, 0);
	assert_true(world_until(world, world_all_gone, 60000));
	end(world);
}

static void connect_rates_hold(void **state)
{
	struct world_config config = {
		.engine = {.source_connects_per_s = 2, .source_connects_burst = 5}};
	struct world *world;

	(void)state;
	world = world_with(config, 20); /* one address, twenty ports */
	world_run(world, 200);
	assert_int_equal(sw_enet_peers(world->engine), 5);
	assert_int_equal(world_count(world, SW_ENET_C_CONNECT_SOURCE_RATE), 15);
	assert_true(world_until(world, world_all_connected, 31000)); /* they repeat */
	leave_all(world);
}

/* --- many --- */

static void more_than_4095_peers(void **state)
{
	struct world_config config = {.engine = {.peers_max = 5200, .half_open_max = 5200}};
	struct world *world;
	ENetHost *hosts[2];

	(void)state;
	config.step_ms = 5;
	world = world_with(config, 0);
	for (int i = 0; i < 2; i++)
		hosts[i] = world_host(world, 2600, false);
	for (uint32_t i = 0; i < 5200; i++)
		world_connect(world, hosts[i % 2], 1);
	assert_true(world_until(world, world_all_connected, 60000));
	assert_int_equal(sw_enet_peers(world->engine), 5200);
	for (uint32_t i = 0; i < 5200; i++) {
		world_send_up(world, i, 0, RELIABLE, 20);
		assert_int_equal(world_send_down(world, i, 0, RELIABLE, 20), 0);
	}
	assert_true(world_until(world, world_all_arrived, 60000));
	leave_all(world);
}

/* --- leaving --- */

static void clients_leave_with_their_data(void **state)
{
	(void)state;
	for (int bad = 0; bad < 2; bad++) {
		struct world_config config = {.net = {.loss = bad ? 0.1 : 0,
						      .delay_min_ms = 5,
						      .delay_max_ms = bad ? 20 : 5}};
		struct world *world = world_connected(config, 3);

		for (int i = 0; i < 40; i++)
			world_send_up(world, 0, 0, RELIABLE, 1000);
		enet_peer_disconnect_later(world->client[0].peer, 11);
		world_send_up(world, 1, 0, RELIABLE, 100);
		assert_true(world_until(world, world_all_arrived, 30000));
		enet_peer_disconnect(world->client[1].peer, 12);
		world_run(world, 1000);
		enet_peer_disconnect_now(world->client[2].peer, 13);
		assert_true(world_until(world, world_all_gone, 60000));
		assert_int_equal(world->client[0].up->count[WORLD_RELIABLE], 40);
		for (uint32_t i = 0; i < 3; i++) {
			if (bad && i == 2)
				continue; /* may be lost: then it is a timeout */
			assert_int_equal(world->client[i].reason, SW_ENET_GONE_CLIENT);
			assert_int_equal(world->client[i].disconnect_data, 11 + i);
		}
		end(world);
	}
}

static void the_server_ends_clients(void **state)
{
	struct world *world;

	(void)state;
	world = world_connected((struct world_config){0}, 3);
	for (int i = 0; i < 40; i++)
		assert_int_equal(world_send_down(world, 0, 0, RELIABLE, 1000), 0);
	for (uint32_t i = 0; i < 3; i++) {
		static const enum sw_enet_disconnect modes[] = {
			SW_ENET_DISCONNECT_LATER, SW_ENET_DISCONNECT, SW_ENET_DISCONNECT_NOW};
		uint64_t handle = world->client[i].handle;

		assert_int_equal(sw_enet_disconnect(world->engine, handle, modes[i], 20 + i,
					 SW_ENET_GONE_LOCAL),
			0);
		assert_int_equal(
			sw_enet_disconnect(world->engine, handle, modes[i], 0, SW_ENET_GONE_LOCAL),
			-ESTALE);
		assert_int_equal(world_send_down(world, i, 0, RELIABLE, 12), -ESTALE);
	}
	assert_int_equal(sw_enet_peers(world->engine), 1);
	assert_true(world_until(world, world_all_gone, 10000));
	world_run(world, 100);
	assert_int_equal(world->client[0].down->count[WORLD_RELIABLE], 40);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(world->client[i].gone);
		assert_int_equal(world->client[i].gone_data, 20 + i);
		assert_int_equal(world->client[i].disconnect_data, 20 + i);
		assert_int_equal(world->client[i].reason, SW_ENET_GONE_LOCAL);
		assert_int_equal(sw_enet_send(world->engine, world->client[i].handle, 0, 0, "x", 1),
			-ESTALE);
	}
	end(world);
}

/* moonshine#103: a client that vanished (its program crashed) is back at once, from the same
 * address and port, also when the server is full but for one place; its stale peer times out by
 * itself, and takes nothing from the new one. */
static void a_vanished_client_returns(void **state)
{
	struct world_config config = {.engine = {.peers_max = 2}};
	struct world *world;
	uint64_t start_ms;

	(void)state;
	world = world_connected(config, 1);
	world_send_up(world, 0, 0, RELIABLE, 100);
	for (int i = 0; i < 10; i++)
		assert_int_equal(world_send_down(world, 0, 0, RELIABLE, 1000), 0);
	enet_peer_reset(world->client[0].peer);
	world->client[0].peer = NULL;
	start_ms = netsim_now_ms(world->sim);
	world_connect(world, world->client[0].host, 4);
	while (!world->client[1].connects && netsim_now_ms(world->sim) < start_ms + 1000)
		world_run(world, 1);
	assert_true(netsim_now_ms(world->sim) <= start_ms + 50); /* one and a half round trips */
	assert_int_equal(sw_enet_peers(world->engine), 2);
	for (int i = 0; i < 100; i++) {
		world_send_up(world, 1, 0, RELIABLE, 100);
		assert_int_equal(world_send_down(world, 1, 0, RELIABLE, 100), 0);
		world_run(world, 500);
	}
	assert_int_equal(world->client[0].disconnects, 1);
	assert_int_equal(world->client[0].reason, SW_ENET_GONE_TIMEOUT);
	assert_int_equal(world->client[1].up->count[WORLD_RELIABLE], 100);
	assert_int_equal(world->client[1].down->count[WORLD_RELIABLE], 100);
	assert_false(world->client[1].gone);
	enet_peer_disconnect(world->client[1].peer, 0);
	assert_true(world_until(world, world_all_gone, 1000));
	end(world);
}

/* --- ended without hearing of it --- */

enum ended { BY_US, OVERSIZE, TIMED_OUT };

struct losing {
	uint32_t left;    /* DISCONNECTs to lose */
	uint64_t told_ms; /* when one went through */
	struct world *world;
};

static bool lose_disconnects(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	struct losing *losing = ctx;

	(void)to;
	if (from.port != 7777 || bytes < 12 ||
		data[bytes - 8] != (WIRE_DISCONNECT | WIRE_UNSEQUENCED_FLAG))
		return true;
	if (losing->left) {
		losing->left--;
		return false;
	}
	losing->told_ms = netsim_now_ms(losing->world->sim);
	return true;
}

/* The one DISCONNECT was lost, as often as it takes, or the client was suspended for so long that
 * it was given up: it hears of it once it sends, with the number; it does not have to time out. */
static void who_was_ended_hears_of_it(void **state)
{
	static const struct {
		enum ended how;
		uint32_t lost;
		bool checksum, compressed;
		uint32_t data, within_ms;
	} cases[] = {{BY_US, 0, false, false, 42, 30}, {BY_US, 1, false, false, 42, 1000},
		{BY_US, 3, false, false, 42, 3000}, {BY_US, 2, true, false, 42, 1500},
		{BY_US, 2, true, true, 42, 1500}, {OVERSIZE, 2, false, true, 16, 1500},
		{TIMED_OUT, 0, false, false, 0, 100}, {TIMED_OUT, 2, true, true, 0, 1500}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct world_config config = {.engine = {.packet_bytes_max = 5000,
						      .compression = SW_ENET_ANY,
						      .checksum = SW_ENET_ANY,
						      .told = {.oversize = 16}}};
		struct world *world = world_with(config, 0);
		struct losing losing = {.left = cases[i].lost, .world = world};
		ENetHost *host = world_host(world, 1, cases[i].checksum);
		uint64_t end_ms;

		if (cases[i].compressed)
			enet_host_compress_with_range_coder(host);
		world_connect(world, host, 2);
		assert_true(world_until(world, world_all_connected, 1000));
		world_run(world, 1000);
		netsim_filter_set(world->sim, lose_disconnects, &losing);
		if (cases[i].how == BY_US) {
			assert_int_equal(sw_enet_disconnect(world->engine, world->client[0].handle,
						 SW_ENET_DISCONNECT_NOW, 42, SW_ENET_GONE_LOCAL),
				0);
		} else if (cases[i].how == OVERSIZE) {
			world_send_up(world, 0, 0, RELIABLE, 5001);
		} else {
			/* with a ping under way it would give up by itself when it wakes */
			while (!enet_list_empty(&world->client[0].peer->sentReliableCommands))
				world_run(world, 1);
			world->host_count = 0; /* nobody serves it */
			assert_true(world_until(world, world_all_gone, 40000));
			world_run(world, i % 2 ? 10000 : 1); /* told at once, if just given up */
			assert_int_equal(world->client[0].reason, SW_ENET_GONE_TIMEOUT);
			world->host_count = 1;
		}
		end_ms = netsim_now_ms(world->sim);
		while (!world->client[0].gone && netsim_now_ms(world->sim) < end_ms + 40000)
			world_run(world, 1);
		assert_true(world->client[0].gone);
		assert_true(losing.told_ms > 0);
		assert_int_equal(world->client[0].gone_data, cases[i].data);
		assert_in_range(netsim_now_ms(world->sim) - end_ms, 1, cases[i].within_ms);
		end(world);
	}
}

/* Told to go while it sends, it connects again from the same host, in the same turn in which it
 * hears of it: what it sent before is on its way to us, and must not draw what would end the new
 * connection. Over a slow path too, and one that is faster than its round trip says. */
static void who_was_ended_is_back_at_once(void **state)
{
	static const uint32_t delays[] = {1, 10, 60, 250, 900};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof delays / sizeof *delays; i++) {
		struct world_config config = {
			.net = {.delay_min_ms = delays[i / 2], .delay_max_ms = delays[i / 2]},
			.engine = {.peers_max = 4}};
		struct world *world = world_with(config, 0);
		ENetHost *host = world_host(world, 1, false);
		uint32_t client = world_connect(world, host, 2);

		assert_true(world_until(world, world_all_connected, 5000));
		if (i % 2) /* the round trip is known */
			world_run(world, 10000);
		for (uint32_t life = 0; life < 3; life++) {
			uint32_t waited = 0;

			assert_int_equal(
				sw_enet_disconnect(world->engine, world->client[client].handle,
					SW_ENET_DISCONNECT_NOW, 42, SW_ENET_GONE_LOCAL),
				0);
			while (!world->client[client].gone && waited++ < 5000) {
				world_send_up(world, client, 0, 0, 50); /* each ms */
				world_run(world, 1);
			}
			assert_true(world->client[client].gone);
			assert_int_equal(world->client[client].gone_data, 42);
			client = world_connect(world, host, 2);
			assert_true(world_until(world, world_all_connected, 10000));
			world_run(world, 4 * delays[i / 2] + 500);
			assert_false(world->client[client].gone);
		}
		assert_int_equal(world_count(world, SW_ENET_C_ENDS_TOLD_AGAIN), 0);
		leave_all(world);
	}
}

static void slow_peers_are_ended(void **state)
{
	struct world_config config = {.engine = {.peer_queue_bytes = 100000,
					      .packet_bytes_max = 10000,
					      .told = {.slow = 15}}};
	struct world *world;
	int error = 0;

	(void)state;
	world = world_connected(config, 2);
	while ((error = world_send_down(world, 0, 0, 0, 500)) == 0)
		; /* unreliable: dropped */
	assert_int_equal(error, -ENOBUFS);
	assert_int_equal(sw_enet_peers(world->engine), 2);
	world_run(world, 100);
	while ((error = world_send_down(world, 0, 0, RELIABLE, 500)) == 0)
		;
	assert_int_equal(error, -ENOBUFS);
	world_run(world, 100);
	assert_int_equal(world->client[0].reason, SW_ENET_GONE_SLOW);
	assert_true(world->client[0].gone);
	assert_int_equal(world->client[0].gone_data, 15);
	assert_false(world->client[1].gone);
	leave_all(world);
}

static void oversize_packets_end_the_peer(void **state)
{
	struct world_config config = {
		.engine = {.packet_bytes_max = 5000, .told = {.oversize = 16}}};
	struct world *world;

	(void)state;
	world = world_connected(config, 2);
	world_send_up(world, 0, 0, RELIABLE, 5001);
	world_send_up(world, 1, 0, RELIABLE, 5000);
	world_run(world, 200);
	assert_int_equal(world->client[0].reason, SW_ENET_GONE_OVERSIZE);
	assert_int_equal(world->client[0].gone_data, 16);
	assert_int_equal(world->client[1].up->count[WORLD_RELIABLE], 1);
	leave_all(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_handshakes_recover),
		cmocka_unit_test(repeated_connects_draw_the_same),
		cmocka_unit_test(refusals_are_told),
		cmocka_unit_test(connect_rates_hold),
		cmocka_unit_test(more_than_4095_peers),
		cmocka_unit_test(clients_leave_with_their_data),
		cmocka_unit_test(the_server_ends_clients),
		cmocka_unit_test(a_vanished_client_returns),
		cmocka_unit_test(who_was_ended_hears_of_it),
		cmocka_unit_test(who_was_ended_is_back_at_once),
		cmocka_unit_test(slow_peers_are_ended),
		cmocka_unit_test(oversize_packets_end_the_peer),
	};

	printf("SW_SEED=%llu\n", (unsigned long long)world_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
