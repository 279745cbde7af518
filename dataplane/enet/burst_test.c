/* burst_test: what the engine does with a burst at once is what it does with its datagrams one
 * after the other: the same deliveries, datagrams and counters, whether the calls for several
 * packets are there or not, whatever stands between the plain ones; and that the short way of plain
 * ones comes to what the long one does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/enet/raw_engine.h"

#define PEERS   6u
#define ENGINES 4u
#define BURST   70u /* more than the engine looks ahead */

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

struct numbers { /* of one peer's channel 0 */
	uint16_t reliable, unreliable;
};

/* Plain packets mostly; among them some that come again, two in one datagram, reliable ones,
 * unsequenced, pings, and bytes that nobody sends. */
static uint32_t datagram(
	const struct raw_client *client, struct numbers *n, bool reliable, uint8_t *out)
{
	uint8_t *p = raw_header(client, out, (uint16_t)draw(1000)), byte = (uint8_t)draw(256);
	uint32_t kind = reliable ? draw(16) : 1 + draw(15);

	switch (kind) {
	case 0:
		n->unreliable = 0;
		p = raw_put_reliable(p, 0, ++n->reliable, &byte, 1);
		break;
	case 1:
		p = raw_put_unreliable(p, 0, n->reliable, n->unreliable, &byte, 1);
		break;
	case 2:
		p = raw_put_unreliable(p, 0, n->reliable, ++n->unreliable, &byte, 1);
		p = raw_put_unreliable(p, 1, 0, ++n->unreliable, &byte, 1);
		break;
	case 3:
		p = wire_put_command(p, WIRE_PING | WIRE_ACK_FLAG, WIRE_CONTROL_CHANNEL, 3);
		break;
	case 4:
		*p++ = byte;
		break;
	case 5:
		p = raw_put_unsequenced(p, (uint16_t)(1 + draw(2000)), &byte, 1);
		break;
	default:
		p = raw_put_unreliable(p, 0, n->reliable, ++n->unreliable, &byte, 1);
	}
	return (uint32_t)(p - out);
}

static uint32_t known[BURST]; /* times that the caller was told of a datagram's peer */

static void after(void *ctx, uint32_t first, uint32_t n)
{
	(void)ctx;
	for (uint32_t i = first; i < first + n; i++)
		known[i]++;
}

/* at once: as one burst, of which the caller hears once for each datagram of a peer's; else one by
 * one. */
static void give(struct raw_engine *raw, struct sw_enet_datagram *burst, uint32_t n, bool at_once)
{
	static const struct sw_enet_rx_hooks hooks = {.after = after};

	memset(known, 0, sizeof known);
	if (at_once) {
		sw_enet_rx(raw->engine, burst, n, &hooks, raw->now_ms);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(known[i], burst[i].peer_index != SW_ENET_NO_PEER);
	} else {
		for (uint32_t i = 0; i < n; i++)
			sw_enet_rx(raw->engine, &burst[i], 1, NULL, raw->now_ms);
	}
}

/* The same datagram as out, with an acknowledgement of nothing before its commands: no longer
 * plain, and it must come to the same. Returns its bytes. */
static uint32_t not_plain(const uint8_t *in, uint32_t bytes, uint8_t *out)
{
	memcpy(out, in, WIRE_HEADER_BYTES);
	memcpy(raw_put_acknowledge(out + WIRE_HEADER_BYTES, 1, 60000, 0), in + WIRE_HEADER_BYTES,
		bytes - WIRE_HEADER_BYTES);
	return bytes + WIRE_ACKNOWLEDGE_BYTES;
}

static void check_same(const struct raw_engine *a, const struct raw_engine *b)
{
	assert_int_equal(a->delivered_count, b->delivered_count);
	assert_int_equal(a->runs_refused, b->runs_refused);
	for (uint32_t i = 0; i < a->delivered_count; i++) {
		assert_int_equal(a->delivered[i].peer, b->delivered[i].peer);
		assert_int_equal(a->delivered[i].first, b->delivered[i].first);
		assert_int_equal(a->delivered[i].channel, b->delivered[i].channel);
		assert_int_equal(a->delivered[i].flags, b->delivered[i].flags);
	}
	assert_int_equal(a->sent_count, b->sent_count);
	for (uint32_t i = 0; i < a->sent_count; i++) {
		assert_int_equal(a->sent[i].bytes, b->sent[i].bytes);
		assert_memory_equal(a->sent[i].data, b->sent[i].data, a->sent[i].bytes);
	}
}

static void a_burst_is_its_datagrams(void **state)
{
	/* calls for several and not; one by one; nothing plain */
	static struct raw_engine engines[ENGINES];
	static const struct {
		bool each, at_once, not_plain;
	} ways[ENGINES] = {{true, true, false}, {false, true, false}, {true, false, false},
		{true, true, true}};
	struct raw_client clients[PEERS] = {0};
	struct numbers numbers[PEERS] = {0};
	static uint8_t data[BURST][64], longer[BURST][64 + WIRE_ACKNOWLEDGE_BYTES];
	struct sw_enet_config config = {.peers_max = PEERS,
		.half_open_max = PEERS,
		.connects_burst = 100,
		.source_connects_burst = 100};
	(void)state;

	seed = 1;
	for (uint32_t e = 0; e < ENGINES; e++) {
		raw_new_ops(&engines[e], &config, ways[e].each);
		for (uint32_t i = 0; i < PEERS; i++)
			assert_true(raw_connect(&engines[e], &clients[i], i, 2));
		raw_service(&engines[e], 0);
		engines[e].echo = true;
	}
	for (uint32_t round = 0; round < 300; round++) {
		uint32_t n = 1 + draw(BURST);
		bool deaf = draw(8) == 0;
		struct sw_enet_datagram burst[BURST], others[BURST];

		for (uint32_t i = 0; i < n; i++) {
			uint32_t who = draw(PEERS);

			burst[i] = (struct sw_enet_datagram){.from = clients[who].address,
				.bytes = datagram(&clients[who], &numbers[who], !deaf, data[i]),
				.data = data[i]};
			others[i] = burst[i];
			others[i].bytes = not_plain(data[i], burst[i].bytes, longer[i]);
			others[i].data = longer[i];
		}
		for (uint32_t e = 0; e < ENGINES; e++) {
			engines[e].deaf = deaf;
			raw_forget(&engines[e]);
			give(&engines[e], ways[e].not_plain ? others : burst, n, ways[e].at_once);
			engines[e].deaf = false;
			raw_service(&engines[e], 5);
		}
		for (uint32_t e = 1; e < ENGINES; e++)
			check_same(&engines[0], &engines[e]);
	}
	for (uint32_t c = 0; c < SW_ENET_COUNTER_COUNT; c++)
		for (uint32_t e = 1; e < ENGINES; e++)
			if (!ways[e].not_plain ||
				(c != SW_ENET_C_COMMANDS_IN && c != SW_ENET_C_BYTES_IN))
				assert_int_equal(
					raw_count(&engines[0], c), raw_count(&engines[e], c));
	assert_true(raw_count(&engines[0], SW_ENET_C_DELIVERED) > 3000);
	assert_true(raw_count(&engines[0], SW_ENET_C_DROPPED_RING) > 100);
	assert_in_range(engines[0].each_calls, 1, engines[2].each_calls - 1);
	assert_int_equal(engines[1].each_calls, 0);
	assert_int_equal(engines[3].each_calls, 0);
	for (uint32_t e = 0; e < ENGINES; e++)
		raw_free(&engines[e]);
}

/* A peer's reliable packet between plain ones keeps its place; others go in as few calls as that
 * leaves. */
static void plain_ones_go_together(void **state)
{
	static struct raw_engine raw;
	struct raw_client clients[2] = {0};
	struct sw_enet_datagram burst[5];
	uint8_t data[5][64], *p;
	(void)state;

	raw_new(&raw, &(struct sw_enet_config){0});
	for (uint32_t i = 0; i < 2; i++)
		assert_true(raw_connect(&raw, &clients[i], i, 2));
	raw_service(&raw, 0);
	raw_forget(&raw);
	for (uint32_t i = 0; i < 5; i++) {
		const struct raw_client *client = &clients[i == 1];
		uint8_t name = (uint8_t)('a' + i);

		p = raw_header(client, data[i], 9);
		if (i == 2)
			p = raw_put_reliable(p, 0, 1, &name, 1);
		else
			p = raw_put_unreliable(
				p, 0, i > 2, (uint16_t)(i > 2 ? i - 2 : 1), &name, 1);
		burst[i] = (struct sw_enet_datagram){
			.from = client->address, .bytes = (uint32_t)(p - data[i]), .data = data[i]};
	}
	sw_enet_rx(raw.engine, burst, 5, NULL, raw.now_ms);
	assert_int_equal(raw.delivered_count, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(raw.delivered[i].first, 'a' + i);
	assert_int_equal(raw.each_calls, 2);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_its_datagrams),
		cmocka_unit_test(plain_ones_go_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
