/* stock_leave_test.c: proves that a stock client that disconnects hears of its end no later from
 * our engine than from a stock libenet host, when the answers to it are lost, and when it leaves
 * before the handshake is complete. Each case runs once against each; in both a stock host leaves
 * the client to its time-out, ours acknowledges what it repeats. */
#include <arpa/inet.h>
#include <enet/enet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "dataplane/enet/differential.h"
#include "dataplane/enet/wire.h"
#include "tests/netsim/stock_enet.h"

#define CLIENT_IP 0x0a000100u
#define DELAY_MS  20u
#define OVER_MS   60000u
#define LEAVE     77u

enum when { LATER, AT_THE_EVENT, A_STEP_AFTER };

static const struct leave_case {
	const char *name;
	enum when when;
	bool checksum, compression;
	uint32_t down_lost; /* datagrams to the client, from its DISCONNECT on */
	uint32_t up_lost;   /* of its first ones behind CONNECT */
	uint32_t ours_ms;   /* it knows by then */
	bool server_sees;   /* connect and disconnect */
} cases[] = {
	{"nothing is lost", LATER, false, false, 0, 0, 50, true},
	{"one acknowledgement is lost", LATER, false, false, 1, 0, 200, true},
	{"two are", LATER, false, false, 2, 0, 500, true},
	{"three are", LATER, false, false, 3, 0, 1000, true},
	{"one, with checksum", LATER, true, false, 1, 0, 200, true},
	{"one, compressed", LATER, false, true, 1, 0, 500, true},
	{"two, with both", LATER, true, true, 2, 0, 1000, true},
	{"it leaves at the event", AT_THE_EVENT, false, false, 0, 0, 50, false},
	{"at the event, one is lost", AT_THE_EVENT, false, false, 1, 0, 2500, false},
	{"at the event, with both", AT_THE_EVENT, true, true, 0, 0, 1000, false},
	{"its acknowledgement is lost", A_STEP_AFTER, false, false, 0, 1, 50, false},
	{"that and its DISCONNECT", A_STEP_AFTER, false, false, 0, 2, 2500, false},
};

struct run { /* what the server tells */
	uint32_t connects, disconnects, data;
	/* the filter's */
	const struct leave_case *c;
	bool leaving;
	uint32_t down, up;
};

void run_connected(struct run *run, uint64_t peer, uint32_t data)
{
	(void)peer;
	(void)data;
	run->connects++;
}

void run_received(
	struct run *run, uint64_t peer, uint8_t channel, const uint8_t *payload, uint32_t bytes)
{
	(void)run;
	(void)peer;
	(void)channel;
	(void)payload;
	(void)bytes;
}

void run_disconnected(struct run *run, uint64_t peer, uint32_t data)
{
	(void)peer;
	run->disconnects++;
	run->data = data;
}

static bool lose(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	struct run *run = ctx;

	(void)to;
	(void)bytes;
	if (from.port == SERVER_PORT)
		return !run->leaving || run->down++ >= run->c->down_lost;
	if ((wire_get16(data) & WIRE_PEER_MASK) == WIRE_NO_PEER)
		return true;
	return run->up++ >= run->c->up_lost;
}

struct ending {
	uint64_t ms; /* from enet_peer_disconnect to the client's event */
	uint32_t connects, disconnects, data;
};

static struct ending play(const struct leave_case *c, bool ours)
{
	static struct script script;
	struct run run = {.c = c};
	struct netsim_config net = {.seed = 5, .delay_min_ms = DELAY_MS, .delay_max_ms = DELAY_MS};
	struct netsim *sim = netsim_new(&net, 1000);
	ENetAddress address = {.host = htonl(SERVER_IP), .port = SERVER_PORT};
	struct ending ending = {0};
	uint64_t left_ms = 0, connected_ms = 0;
	struct server *server;
	ENetHost *host;
	ENetPeer *peer;
	ENetEvent event;

	script = (struct script){.seed = 5,
		.mtu = 1400,
		.channels_max = 255,
		.checksum = c->checksum,
		.compression = c->compression,
		.any = true};
	stock_enet_attach(sim, CLIENT_IP, 0);
	server = server_new(&script, ours, &run, sim);
	host = enet_host_create(NULL, 1, 0, 0, 0);
	assert_non_null(host);
	host->randomSeed = 9;
	if (c->checksum)
		host->checksum = enet_crc32;
	if (c->compression)
		enet_host_compress_with_range_coder(host);
	netsim_filter_set(sim, lose, &run);
	peer = enet_host_connect(host, &address, 2, 0);
	while (!ending.ms && netsim_now_ms(sim) < OVER_MS) {
		uint64_t now_ms = netsim_now_ms(sim);

		while (enet_host_service(host, &event, 0) > 0) {
			if (event.type == ENET_EVENT_TYPE_CONNECT)
				connected_ms = now_ms;
			if (event.type == ENET_EVENT_TYPE_DISCONNECT)
				ending.ms = now_ms - left_ms;
			if (c->when == AT_THE_EVENT)
				break; /* before its acknowledgement leaves */
		}
		if (connected_ms && !left_ms &&
			(c->when == AT_THE_EVENT ||
				(c->when == A_STEP_AFTER && now_ms > connected_ms) ||
				now_ms > connected_ms + 2000)) {
			left_ms = now_ms;
			run.leaving = true;
			enet_peer_disconnect(peer, LEAVE);
		}
		server_step(server);
		netsim_advance(sim, 1);
	}
	for (uint32_t ms = 0; ms < 40000; ms++) { /* the server settles */
		while (enet_host_service(host, &event, 0) > 0)
			;
		server_step(server);
		netsim_advance(sim, 1);
	}
	ending.connects = run.connects;
	ending.disconnects = run.disconnects;
	ending.data = run.data;
	enet_host_destroy(host);
	assert_true(server_free(server));
	netsim_free(sim);
	return ending;
}

static void an_end_is_heard_of(void **state)
{
	const struct leave_case *c = *state;
	struct ending ours = play(c, true), stock = play(c, false);

	print_message("%-30s %5llu ms, stock %5llu ms\n", c->name, (unsigned long long)ours.ms,
		(unsigned long long)stock.ms);
	assert_in_range(ours.ms, 1, c->ours_ms);
	assert_true(stock.ms == 0 || ours.ms <= stock.ms);
	/* what the server sees is the same as with stock */
	assert_int_equal(ours.connects, stock.connects);
	assert_int_equal(ours.disconnects, stock.disconnects);
	assert_int_equal(ours.data, stock.data);
	assert_int_equal(ours.disconnects, c->server_sees);
	assert_int_equal(ours.data, c->server_sees ? LEAVE : 0);
}

int main(void)
{
	struct CMUnitTest tests[sizeof cases / sizeof *cases];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		tests[i] = (struct CMUnitTest){.name = cases[i].name,
			.test_func = an_end_is_heard_of,
			.initial_state = (void *)&cases[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
