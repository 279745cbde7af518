/* flow_test.c: proves what the load generators rest on: that every message a flow sends is
 * answered, lost or out, and never counted twice, whatever the wire loses; that its handshakes and
 * reliable messages get through loss; that the engine never times out a client that only answers
 * pings; and that latency percentiles are within their bound. The far end is the real engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/handle.h"
#include "common/mono.h"
#include "dataplane/enet/raw_engine.h"
#include "perf/gen/flow.h"

#define CLIENTS_MAX 40u

static struct {
	struct raw_engine raw;
	struct flow *flow;
	uint32_t clients;
	uint8_t out[FLOW_DATAGRAM_MAX];
	uint8_t said[40];      /* the last reliable packet that began a datagram */
	uint32_t lose, chance; /* one of so many is lost, both ways; 0: none */
	uint64_t now_ns;
} world;

static bool lost(void)
{
	world.chance = world.chance * 1664525 + 1013904223;
	return world.lose && (world.chance >> 16) % world.lose == 0;
}

static uint8_t *begin(void *ctx, uint32_t client)
{
	(void)ctx;
	(void)client;
	return world.out;
}

static void end(void *ctx, uint32_t client, uint32_t bytes)
{
	struct sw_enet_addr from = raw_source(client + 1);

	(void)ctx;
	if (world.out[4] == (WIRE_SEND_RELIABLE | WIRE_ACK_FLAG))
		memcpy(world.said, world.out + 4 + WIRE_SEND_RELIABLE_BYTES, sizeof(world.said));
	if (!lost())
		raw_rx(&world.raw, &from, world.out, bytes);
}

static void make(const struct flow_config *config, uint32_t peers_max)
{
	const struct flow_ops ops = {.begin = begin, .end = end};

	memset(&world, 0, sizeof(world));
	world.clients = config->clients;
	raw_new(&world.raw,
		&(struct sw_enet_config){
			.peers_max = peers_max, .half_open_max = 64, .told = {.full = 7}});
	world.raw.echo = true;
	world.now_ns = world.raw.now_ms * NS_PER_MS;
	world.flow = flow_new(config, &ops);
	assert_non_null(world.flow);
}

static void unmake(void)
{
	flow_free(world.flow);
	raw_free(&world.raw);
}

/* What the engine has sent goes to its clients. */
static void carry(void)
{
	struct raw_datagram sent[RAW_SENT_MAX];
	uint32_t n = world.raw.sent_count;

	assert_true(n < RAW_SENT_MAX); /* or the recorder has dropped some */
	memcpy(sent, world.raw.sent, n * sizeof(sent[0]));
	raw_forget(&world.raw);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t client = 0; client < world.clients; client++) {
			struct sw_enet_addr address = raw_source(client + 1);

			if (memcmp(address.ip, sent[i].to.ip, 16) ||
				address.port != sent[i].to.port || lost())
				continue;
			flow_receive(world.flow, client, sent[i].data, sent[i].bytes, world.now_ns);
		}
	}
}

static void step(uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		world.now_ns += NS_PER_MS;
		flow_step(world.flow, 32, world.now_ns);
		carry();
		raw_service(&world.raw, 1);
		carry();
	}
}

static const struct flow_counters *connected(void)
{
	flow_connect(world.flow);
	for (uint32_t i = 0; i < 30 && flow_connecting(world.flow); i++)
		step(1000);
	assert_int_equal(flow_connecting(world.flow), 0);
	assert_int_equal(flow_counters(world.flow)->connected, world.clients);
	return flow_counters(world.flow);
}

/* Sends for so long, then waits for what is out. */
static void load(uint32_t ms, uint32_t wait_ms)
{
	flow_send(world.flow, true, world.now_ns);
	step(ms);
	flow_send(world.flow, false, world.now_ns);
	step(wait_ms);
	assert_int_equal(flow_out(world.flow), 0);
}

static const struct flow_config small = {
	.clients = 20, .ids = 4095, .bytes = 40, .window = 20, .seed = 1};

static void handshakes_get_through_loss(void **state)
{
	static const uint32_t lose[] = {0, 2, 3, 7};

	(void)state;
	for (uint32_t i = 0; i < sizeof(lose) / sizeof(lose[0]); i++) {
		const struct flow_counters *counters;

		make(&small, 40);
		world.lose = lose[i];
		counters = connected();
		assert_int_equal(counters->connects > 20, lose[i] != 0);
		assert_int_equal(counters->unanswered + counters->refused + counters->gone, 0);
		unmake();
	}
}

static void unreliable_messages_are_answered_or_lost(void **state)
{
	const struct flow_counters *counters;

	(void)state;
	make(&small, 40);
	counters = connected();
	load(1000, 2);
	assert_true(counters->received > 15000);
	assert_int_equal(counters->received, counters->sent);
	assert_int_equal(flow_latency(world.flow)->count, counters->received);
	world.lose = 10;
	load(3000, FLOW_LOST_MS + 100);
	assert_true(counters->lost > 10);
	assert_int_equal(counters->sent, counters->received + counters->lost);
	assert_int_equal(counters->wrong + counters->gone, 0);
	unmake();
}

static void reliable_messages_get_through_loss(void **state)
{
	struct flow_config config = small;
	const struct flow_counters *counters;

	(void)state;
	config.mode = FLOW_RELIABLE;
	make(&config, 40);
	counters = connected();
	world.lose = 8;
	load(5000, 130000);
	assert_true(counters->repeated > 10);
	assert_true(counters->received > 100);
	assert_int_equal(counters->received, counters->sent);
	assert_int_equal(counters->lost + counters->gone + counters->unanswered, 0);
	assert_int_equal(world.raw.delivered_total, counters->sent); /* once each */
	unmake();
}

/* ENet has 65,535 numbers for unreliable messages behind a reliable one. */
static void one_client_sends_without_end(void **state)
{
	struct flow_config config = small;

	(void)state;
	config.clients = config.window = 1;
	config.count = 140000;
	make(&config, 4);
	connected();
	world.raw.quiet = false;
	flow_send(world.flow, true, world.now_ns);
	while (!flow_finished(world.flow))
		step(1);
	step(2);
	assert_int_equal(flow_counters(world.flow)->received, 140000);
	assert_int_equal(flow_counters(world.flow)->lost, 0);
	unmake();
}

static void a_rate_is_kept(void **state)
{
	struct flow_config config = small;
	const struct flow_counters *counters;

	(void)state;
	config.rate = 2000;
	make(&config, 40);
	counters = connected();
	load(1000, 10);
	assert_in_range(counters->sent, 1990, 2010);
	assert_int_equal(counters->received, counters->sent);
	assert_int_equal(counters->behind, 0);
	/* Nobody answers: what the rate asks for is counted, and latency would not hide it. */
	world.lose = 1;
	load(1000, FLOW_LOST_MS + 100);
	assert_true(counters->behind > 1000);
	unmake();
}

static void quiet_clients_stay(void **state)
{
	const struct flow_counters *counters;

	(void)state;
	make(&small, 40);
	counters = connected();
	step(60000);
	assert_int_equal(sw_enet_peers(world.raw.engine), 20);
	assert_int_equal(counters->gone, 0);
	assert_true(counters->answers > 20 * 60);
	load(10, 2);
	assert_int_equal(counters->received, counters->sent);
	unmake();
}

static void those_sent_away_are_counted(void **state)
{
	uint32_t from = 0;

	(void)state;
	make(&small, 15);
	flow_connect(world.flow);
	step(20);
	assert_int_equal(flow_connecting(world.flow), 0);
	assert_int_equal(flow_counters(world.flow)->connected, 15);
	assert_int_equal(flow_counters(world.flow)->refused, 5);
	while (flow_disconnect(world.flow, &from, 4, world.now_ns))
		;
	raw_service(&world.raw, 1);
	assert_int_equal(sw_enet_peers(world.raw.engine), 0);
	unmake();
}

static void percentiles_are_within_their_bound(void **state)
{
	static struct latency latency;

	(void)state;
	assert_int_equal(latency_quantile_ns(&latency, 0.5), 0);
	for (uint32_t shift = 0; shift < 64; shift++) {
		uint64_t ns = (uint64_t)0x9e3779b97f4a7c15ull >> shift;
		uint64_t most = latency_bucket_ns(latency_bucket(ns));

		assert_true(latency_bucket(ns) < LATENCY_BUCKETS);
		assert_true(most >= ns && most - ns <= ns / LATENCY_STEPS);
		assert_true(!ns || latency_bucket_ns(latency_bucket(ns) - 1) < ns);
	}
	for (uint64_t ns = 1; ns <= 100000; ns++)
		latency_add(&latency, ns);
	assert_in_range(latency_quantile_ns(&latency, 0.5), 50000, 51600);
	assert_in_range(latency_quantile_ns(&latency, 0.99), 99000, 100000);
	assert_int_equal(latency_quantile_ns(&latency, 1), 100000);
}

/* What a client has said last, sent to all, so many times. */
static void say_to_all(uint32_t times)
{
	for (uint32_t t = 0; t < times; t++)
		for (uint32_t i = 0; i < world.clients; i++)
			assert_int_equal(sw_enet_send(world.raw.engine, handle_make(0, 1, i), 2,
						 SW_ENET_RELIABLE, world.said, sizeof(world.said)),
				0);
	carry();
	raw_service(&world.raw, 1);
	carry();
}

static void a_line_is_heard_by_all(void **state)
{
	struct flow_config config = small;
	const struct flow_counters *counters;

	(void)state;
	config.mode = FLOW_LINES;
	config.window = 5;
	make(&config, 40);
	world.raw.echo = false;
	counters = connected();
	flow_send(world.flow, true, world.now_ns);
	step(1);
	assert_int_equal(counters->sent, 20);
	step(5); /* none has come */
	assert_int_equal(counters->sent, 20);
	say_to_all(2); /* the second time is no delivery */
	assert_int_equal(counters->received, 20);
	assert_int_equal(counters->late, 20);
	step(1);
	assert_int_equal(counters->sent, 40);
	assert_int_equal(flow_latency(world.flow)->count, 20);
	/* what nobody hears is lost in the end, and the next is said */
	flow_send(world.flow, false, world.now_ns);
	step(FLOW_LOST_MS + 2);
	assert_int_equal(counters->lost, 20);
	assert_int_equal(flow_out(world.flow), 0);
	say_to_all(1);
	assert_int_equal(counters->received, 20);
	flow_send(world.flow, true, world.now_ns);
	step(1);
	assert_int_equal(counters->sent, 60);
	assert_int_equal(counters->wrong, 0);
	unmake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshakes_get_through_loss),
		cmocka_unit_test(unreliable_messages_are_answered_or_lost),
		cmocka_unit_test(reliable_messages_get_through_loss),
		cmocka_unit_test(one_client_sends_without_end),
		cmocka_unit_test(a_rate_is_kept),
		cmocka_unit_test(a_line_is_heard_by_all),
		cmocka_unit_test(quiet_clients_stay),
		cmocka_unit_test(those_sent_away_are_counted),
		cmocka_unit_test(percentiles_are_within_their_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
