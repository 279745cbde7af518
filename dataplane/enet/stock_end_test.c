/* stock_end_test.c: proves that every way to end a connection, from either side, with reliable data
 * in flight and behind it in the queue, shows a stock client and the application the same as a
 * stock libenet host would: who is told, with which number, and how much was delivered before. */
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
#define MESSAGES  300u /* 150 KB: the window takes 64 KiB of them */
#define BYTES     500u
#define END_DATA  77u

enum side { CLIENT, SERVER };
enum mode { PLAIN, AFTER_ALL, AT_ONCE, RESET };

static const struct end_case {
	const char *name;
	enum side side; /* who sends, and then ends it */
	enum mode mode;
	uint32_t wait_ms; /* between: 0: all is queued; 10: the window is in flight */
	bool ack_lost;    /* what the other side answers from then on is lost for 300 ms */
	bool all;         /* is delivered */
} cases[] = {
	{"client disconnects, all queued", CLIENT, PLAIN, 0, false, false},
	{"client disconnects, in flight", CLIENT, PLAIN, 10, false, false},
	{"client, later", CLIENT, AFTER_ALL, 0, false, true},
	{"client, later, in flight", CLIENT, AFTER_ALL, 10, true, true},
	{"client, now", CLIENT, AT_ONCE, 0, false, false},
	{"client, now, in flight", CLIENT, AT_ONCE, 10, false, false},
	{"client resets", CLIENT, RESET, 10, false, false},
	{"server disconnects, all queued", SERVER, PLAIN, 0, false, false},
	{"server disconnects, in flight", SERVER, PLAIN, 10, false, false},
	{"server, answers are lost", SERVER, PLAIN, 10, true, false},
	{"server, later", SERVER, AFTER_ALL, 0, false, true},
	{"server, later, in flight", SERVER, AFTER_ALL, 10, true, true},
	{"server, now", SERVER, AT_ONCE, 0, false, false},
	{"server, now, in flight", SERVER, AT_ONCE, 10, false, false},
};

struct run { /* what the server sees */
	uint64_t peer;
	uint32_t connects, disconnects, data, received;
	/* the filter's */
	const struct end_case *c;
	struct netsim *sim;
	uint64_t end_ms;
};

void run_connected(struct run *run, uint64_t peer, uint32_t data)
{
	(void)data;
	run->connects++;
	run->peer = peer;
}

void run_received(
	struct run *run, uint64_t peer, uint8_t channel, const uint8_t *payload, uint32_t bytes)
{
	(void)peer;
	(void)channel;
	assert_int_equal(bytes, BYTES);
	assert_int_equal(wire_get32(payload), run->received);
	run->received++;
}

void run_disconnected(struct run *run, uint64_t peer, uint32_t data)
{
	assert_true(peer == run->peer);
	run->disconnects++;
	run->data = data;
}

static bool lose(void *ctx, struct netsim_address from, struct netsim_address to,
	const uint8_t *data, size_t bytes)
{
	const struct run *run = ctx;
	bool answer = (from.port == SERVER_PORT) == (run->c->side == CLIENT);

	(void)to;
	(void)data;
	(void)bytes;
	return !run->c->ack_lost || !run->end_ms || !answer ||
	       netsim_now_ms(run->sim) >= run->end_ms + 300;
}

struct ending {
	uint32_t told, told_data; /* the client */
	uint32_t connects, disconnects, data;
	uint32_t up, down; /* messages delivered */
	uint64_t over_ms;  /* both know, from the end on */
};

static void send_all(
	const struct end_case *c, struct server *server, uint64_t handle, ENetPeer *peer)
{
	uint8_t message[BYTES] = {0};

	for (uint32_t i = 0; i < MESSAGES; i++) {
		wire_put32(message, i);
		if (c->side == CLIENT)
			assert_int_equal(enet_peer_send(peer, 0,
						 enet_packet_create(message, BYTES,
							 ENET_PACKET_FLAG_RELIABLE)),
				0);
		else
			assert_true(
				server_send(server, handle, 0, SW_ENET_RELIABLE, message, BYTES));
	}
}

static void end_it(const struct end_case *c, struct server *server, uint64_t handle, ENetPeer *peer)
{
	static const enum sw_enet_disconnect modes[] = {
		SW_ENET_DISCONNECT, SW_ENET_DISCONNECT_LATER, SW_ENET_DISCONNECT_NOW};

	if (c->side == SERVER)
		server_disconnect(server, handle, modes[c->mode], END_DATA);
	else if (c->mode == PLAIN)
		enet_peer_disconnect(peer, END_DATA);
	else if (c->mode == AFTER_ALL)
		enet_peer_disconnect_later(peer, END_DATA);
	else if (c->mode == AT_ONCE)
		enet_peer_disconnect_now(peer, END_DATA);
	else
		enet_peer_reset(peer);
}

static struct ending play(const struct end_case *c, bool ours)
{
	static const struct script script = {.seed = 5, .mtu = 1400, .channels_max = 255};
	struct netsim_config net = {.seed = 5, .delay_min_ms = DELAY_MS, .delay_max_ms = DELAY_MS};
	struct netsim *sim = netsim_new(&net, 1000);
	struct run run = {.c = c, .sim = sim};
	ENetAddress address = {.host = htonl(SERVER_IP), .port = SERVER_PORT};
	bool silent = c->side == CLIENT && (c->mode == AT_ONCE || c->mode == RESET);
	struct ending ending = {0};
	struct server *server;
	uint64_t sent_ms = 0;
	ENetHost *host;
	ENetPeer *peer;

	stock_enet_attach(sim, CLIENT_IP, 0);
	server = server_new(&script, ours, &run, sim);
	host = enet_host_create(NULL, 1, 0, 0, 0);
	host->randomSeed = 9;
	netsim_filter_set(sim, lose, &run);
	peer = enet_host_connect(host, &address, 1, 0);
	while (netsim_now_ms(sim) < 100000) {
		uint64_t now_ms = netsim_now_ms(sim);
		ENetEvent event;

		while (enet_host_service(host, &event, 0) > 0) {
			if (event.type == ENET_EVENT_TYPE_RECEIVE) {
				assert_int_equal(wire_get32(event.packet->data), ending.down);
				ending.down++;
				enet_packet_destroy(event.packet);
			} else if (event.type == ENET_EVENT_TYPE_DISCONNECT) {
				ending.told++;
				ending.told_data = event.data;
			}
		}
		if (!sent_ms && now_ms == 4000) {
			assert_int_equal(run.connects, 1);
			sent_ms = now_ms;
			send_all(c, server, run.peer, peer);
		}
		if (sent_ms && !run.end_ms && now_ms >= sent_ms + c->wait_ms) {
			run.end_ms = now_ms;
			end_it(c, server, run.peer, peer);
		}
		if (run.end_ms && !ending.over_ms && run.disconnects && (ending.told || silent))
			ending.over_ms = now_ms - run.end_ms + 1;
		server_step(server);
		netsim_advance(sim, 1);
	}
	ending.connects = run.connects;
	ending.disconnects = run.disconnects;
	ending.data = run.data;
	ending.up = run.received;
	enet_host_destroy(host);
	assert_true(server_free(server));
	netsim_free(sim);
	return ending;
}

static void an_end(void **state)
{
	const struct end_case *c = *state;
	struct ending ours = play(c, true), stock = play(c, false);
	uint32_t delivered = c->side == CLIENT ? ours.up : ours.down;

	print_message("%-32s %3u messages, %5llu ms; stock %3u, %5llu ms\n", c->name, delivered,
		(unsigned long long)ours.over_ms, c->side == CLIENT ? stock.up : stock.down,
		(unsigned long long)stock.over_ms);
	assert_int_equal(ours.connects, 1);
	assert_int_equal(ours.disconnects, 1);
	assert_int_equal(stock.disconnects, 1);
	assert_int_equal(ours.told, stock.told);
	assert_int_equal(ours.told_data, stock.told_data);
	if (c->side == CLIENT) /* who ends it here gives disconnected() a number of its own */
		assert_int_equal(ours.data, stock.data);
	assert_int_equal(ours.data, c->mode == RESET ? 0 : END_DATA);
	assert_int_equal(ours.up, stock.up);
	assert_int_equal(ours.down, stock.down);
	assert_int_equal(delivered == MESSAGES, c->all);
	/* time-outs hang on the round trip measured, to the ms */
	assert_in_range(ours.over_ms, 1, stock.over_ms + stock.over_ms / 10 + DELAY_MS);
}

int main(void)
{
	struct CMUnitTest tests[sizeof cases / sizeof *cases];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		tests[i] = (struct CMUnitTest){.name = cases[i].name,
			.test_func = an_end,
			.initial_state = (void *)&cases[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
