/* half_open_test.c: proves R3 by hand: what a CONNECT draws, how large, how often; that the table
 * keeps the young and gives the same answer to who was evicted; that a flood of invented sources
 * costs no peer its slot and meets the rate before the table is full; that who finds the last slot
 * taken is told; that who leaves half-way gets its acknowledgement; and that nothing but the right
 * acknowledgement makes a peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>

#include "dataplane/enet/range_coder.h"
#include "dataplane/enet/range_coder.h"
#include "dataplane/enet/raw_engine.h"

static struct raw_engine raw;

static uint32_t connect_from(uint32_t number, uint32_t connect_id)
{
	struct sw_enet_addr from = raw_source(number);
	uint8_t out[64];
	uint32_t bytes = raw_connect_bytes(out, connect_id, 4, number);

	raw_forget(&raw);
	return raw_rx(&raw, &from, out, bytes);
}

static void verify_connect_says(void **state)
{
	const uint8_t *p = raw.sent[0].data;
	struct sw_enet_addr from = raw_source(1);
	uint8_t out[64];
	uint32_t bytes;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.channels_max = 3,
			      .mtu = 1200,
			      .incoming_bandwidth = 5 * 65536,
			      .peer_hold_bytes = 65536,
			      .outgoing_bandwidth = 777});
	bytes = raw_connect_bytes(out, 0x11223344, 200, 0);
	out[10] = 2; /* the client's stored incoming session */
	out[11] = 3; /* and outgoing */
	assert_int_equal(raw_rx(&raw, &from, out, bytes), 0);
	assert_int_equal(raw.sent_count, 1);
	assert_int_equal(raw.sent[0].bytes, 48);
	assert_int_equal(wire_get16(p), WIRE_SENT_TIME | 3u << WIRE_SESSION_SHIFT | 5);
	assert_int_equal(p[4], WIRE_VERIFY_CONNECT | WIRE_ACK_FLAG);
	assert_int_equal(p[5], 0xff);
	assert_true(wire_get16(p + 8) < WIRE_NO_PEER);
	assert_int_equal(p[10], 3); /* one more than what it had stored */
	assert_int_equal(p[11], 0);
	assert_int_equal(wire_get32(p + 12), 1200);
	assert_int_equal(wire_get32(p + 16), 5 * 4096);
	assert_int_equal(wire_get32(p + 20), 3);
	assert_int_equal(wire_get32(p + 24), 5 * 65536);
	assert_int_equal(wire_get32(p + 28), 777);
	assert_memory_equal(p + 32, out + 32, 12); /* throttle fields */
	assert_memory_equal(p + 44, out + 44, 4);  /* connect id, as it came */
	raw_free(&raw);
}

/* A libenet that would forget a refused connection in silence is told in the one way that it tells
 * its user; it is known by the window that it asks for. */
static void refusals_by_window(void **state)
{
	static const struct {
		uint32_t window_bytes, bandwidth;
		bool old;
	} cases[] = {
		{65536, 0, false},
		{32768, 0, true},
		{4096, 0, false},
		{32768, 8 * 65536, false}, /* what 1.3.18 asks for at this bandwidth */
		{32768, 9 * 65536 - 1, false},
		{32768, 9 * 65536, true},
		{65536, 16 * 65536, false},
		{32768, 16 * 65536, true},
		{4096, 100000, false},
	};

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.told = {.full = 7}});
	sw_enet_refuse_connects(raw.engine, 9);
	for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sw_enet_addr from = raw_source(i);
		const uint8_t *p = raw.sent[0].data;
		uint8_t out[64];
		uint32_t bytes = raw_connect_bytes(out, 100 + i, 4, 0);

		wire_put32(out + 16, cases[i].window_bytes);
		wire_put32(out + 28, cases[i].bandwidth);
		raw_forget(&raw);
		assert_int_equal(raw_rx(&raw, &from, out, bytes), SW_ENET_C_CONNECT_CLOSED);
		assert_int_equal(raw.sent_count, 1);
		assert_int_equal(raw.sent[0].bytes, cases[i].old ? 48 : 12);
		assert_true(raw.sent[0].bytes <= bytes);
		assert_int_equal(wire_get16(p), WIRE_SENT_TIME | 5);
		if (cases[i].old) {
			assert_int_equal(p[4], WIRE_VERIFY_CONNECT);
			assert_int_equal(wire_get32(p + 20), 0); /* channels: no client takes it */
		} else {
			assert_int_equal(p[4], WIRE_DISCONNECT | WIRE_UNSEQUENCED_FLAG);
			assert_int_equal(wire_get32(p + 8), 9);
		}
	}
	assert_int_equal(raw_count(&raw, SW_ENET_C_REFUSALS_OUT), sizeof cases / sizeof *cases);
	raw_free(&raw);
}

/* As the server is set: it agrees to MTU and window, whose bytes compress then as well as theirs.
 */
static const struct sw_enet_config open_config = {
	.compression = SW_ENET_ANY, .mtu = 1400, .peer_hold_bytes = 1 << 20, .pool_bytes = 4 << 20};

/* CONNECT as libenet's range coder makes it, of a client that was connected before when again. */
static uint32_t compressed_connect(uint8_t *out, uint32_t connect_id, bool again)
{
	static struct range_coder coder;
	uint8_t plain[64];
	uint32_t bytes = raw_connect_bytes(plain, connect_id, 2, 0);

	wire_put16(plain + 8, 0); /* the first of its host's peers */
	if (again) {
		plain[10] = connect_id & 3;
		plain[11] = connect_id >> 2 & 3;
	}
	memcpy(out, plain, 4);
	wire_put16(out, wire_get16(out) | WIRE_COMPRESSED);
	bytes = range_compress(&coder, plain + 4, bytes - 4, out + 4, 60);
	assert_true(bytes > 0 && bytes < WIRE_CONNECT_BYTES);
	return 4 + bytes;
}

/* A CONNECT that is smaller than its answer is not answered, but the next one is. Never more bytes
 * go than came. Clients that come for the first time are answered at once, but for few. */
static void few_must_repeat_their_connect(void **state)
{
	uint32_t small[2] = {0}, random = 1;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		struct sw_enet_addr from = raw_source(i);
		bool again = i & 1;
		uint8_t out[64];
		uint32_t bytes, refusal;

		random = random * 1664525 + 1013904223;
		bytes = compressed_connect(out, random ^ random >> 16, again);
		raw_new(&raw, &open_config);
		refusal = raw_rx(&raw, &from, out, bytes);
		if (refusal == SW_ENET_C_CONNECT_SMALL) {
			small[again]++;
			assert_int_equal(raw.sent_count, 0);
			raw_service(&raw, 500);
			assert_int_equal(raw.sent_count, 0);
			assert_int_equal(raw_rx(&raw, &from, out, bytes), 0);
			assert_int_equal(raw.sent_count, 1);
			assert_true(raw.sent[0].bytes <= 2 * bytes);
		} else {
			assert_int_equal(refusal, 0);
			assert_int_equal(raw.sent_count, 1);
			assert_true(raw.sent[0].bytes <= bytes);
		}
		raw_free(&raw);
	}
	print_message("of 1,000 each: %u new ones and %u who come again must repeat\n", small[0],
		small[1]);
	assert_true(small[0] < 5);
	assert_true(small[1] > 0 && small[1] < 250);
}

static void the_young_stay(void **state)
{
	struct raw_datagram first;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 100, .half_open_max = 8});
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(connect_from(i, 7), 0);
		if (i == 0)
			first = raw.sent[0];
	}
	raw_service(&raw, 500);
	for (int i = 0; i < 5; i++) {
		raw_service(&raw, 400);
		assert_int_equal(connect_from(8, 7), SW_ENET_C_CONNECT_TABLE);
		assert_int_equal(raw.sent_count, 0);
	}
	raw_service(&raw, 500);
	assert_int_equal(connect_from(8, 7), 0); /* the first is 3 s old now */
	assert_int_equal(raw_count(&raw, SW_ENET_C_HALF_OPEN_EXPIRED), 1);
	assert_int_equal(connect_from(0, 7), 0); /* evicted: takes the next one's place */
	assert_int_equal(raw.sent_count, 1);
	assert_memory_equal(raw.sent[0].data, first.data, 48);
	raw_free(&raw);
}

static void a_flood_costs_no_slot(void **state)
{
	struct raw_client clients[4];
	uint64_t sent_bytes, received_bytes;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 16,
			      .half_open_max = 8,
			      .connects_per_s = 1000,
			      .connects_burst = 1000});
	for (uint32_t i = 0; i < 4; i++)
		assert_true(raw_connect(&raw, &clients[i], 50000 + i, 4));
	raw.quiet = true;
	for (uint32_t i = 0; i < 40000; i++) {
		connect_from(i, i * 31);
		if (i % 100 == 0)
			raw_service(&raw, 5);
	}
	raw.quiet = false;
	assert_int_equal(sw_enet_peers(raw.engine), 4);
	assert_true(raw_count(&raw, SW_ENET_C_CONNECT_RATE) > 30000);
	sent_bytes = raw_count(&raw, SW_ENET_C_BYTES_OUT);
	received_bytes = raw_count(&raw, SW_ENET_C_BYTES_IN);
	assert_true(sent_bytes < received_bytes);
	for (uint32_t i = 0; i < 4; i++) {
		uint8_t out[64];
		uint8_t *p = raw_put_reliable(raw_header(&clients[i], out, 9), 0, 1, "x", 1);

		assert_int_equal(raw_rx(&raw, &clients[i].address, out, (uint32_t)(p - out)), 0);
	}
	/* the reservations come back */
	for (int i = 0; i < 60; i++)
		raw_service(&raw, 500);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HALF_OPEN), 0);
	raw_free(&raw);
}

/* What one source sends beyond its own rate takes nothing from the others' common one. */
static void one_source_drains_itself_only(void **state)
{
	struct sw_enet_addr from = raw_source(1);
	uint8_t out[64];
	uint32_t bytes;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 100,
			      .half_open_max = 64,
			      .connects_per_s = 20,
			      .connects_burst = 20,
			      .source_connects_per_s = 2,
			      .source_connects_burst = 5});
	raw.quiet = true;
	for (uint32_t i = 0; i < 1000; i++) {
		from.port = (uint16_t)(1000 + i);
		bytes = raw_connect_bytes(out, i, 4, i);
		raw_forget(&raw);
		assert_int_equal(
			raw_rx(&raw, &from, out, bytes), i < 5 ? 0 : SW_ENET_C_CONNECT_SOURCE_RATE);
	}
	raw.quiet = false;
	for (uint32_t i = 0; i < 15; i++)
		assert_int_equal(connect_from(100 + i, 7), 0);
	assert_int_equal(connect_from(200, 7), SW_ENET_C_CONNECT_RATE);
	/* nor does the common rate cost a source its own */
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(connect_from(200, 7), SW_ENET_C_CONNECT_RATE);
	raw_service(&raw, 500);
	assert_int_equal(connect_from(200, 7), 0);
	raw_free(&raw);
}

static void only_the_right_acknowledgement(void **state)
{
	struct sw_enet_addr from = raw_source(1), other = raw_source(2);
	struct raw_client client = {.address = from};
	uint8_t out[64], *p, verify[48];

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	assert_int_equal(connect_from(1, 7), 0);
	memcpy(verify, raw.sent[0].data, sizeof verify);
	client.peer_id = wire_get16(verify + 8);
	client.session = verify[11];
	raw_forget(&raw);
	for (int wrong = 0; wrong < 16; wrong++) { /* each bit of sequence number, then of time */
		p = raw_header(&client, out, 1);
		wire_put_command(p, WIRE_ACKNOWLEDGE, 0xff, wire_get16(verify + 6));
		wire_put16(p + 4, wire_get16(verify + 6) ^ 1u << wrong);
		wire_put16(p + 6, wire_get16(verify + 2));
		assert_int_equal(raw_rx(&raw, &from, out, 12), SW_ENET_C_NOT_VERIFIED);
		wire_put16(p + 4, wire_get16(verify + 6));
		wire_put16(p + 6, wire_get16(verify + 2) ^ 1u << wrong);
		assert_int_equal(raw_rx(&raw, &from, out, 12), SW_ENET_C_NOT_VERIFIED);
	}
	wire_put16(p + 6, wire_get16(verify + 2));
	assert_int_equal(raw_rx(&raw, &other, out, 12), SW_ENET_C_UNKNOWN_PEER);
	client.session ^= 1;
	raw_header(&client, out, 1);
	assert_int_equal(raw_rx(&raw, &from, out, 12), SW_ENET_C_WRONG_SESSION);
	client.session ^= 1;
	raw_header(&client, out, 1);
	assert_int_equal(raw.connects, 0);
	assert_int_equal(raw_rx(&raw, &from, out, 12), 0);
	assert_int_equal(raw.connects, 1);
	/* a CONNECT of the same connection is late now */
	assert_int_equal(connect_from(1, 7), SW_ENET_C_CONNECT_REPEATED);
	assert_int_equal(raw.sent_count, 0);
	/* another connect id of the same address and port: a second peer */
	assert_int_equal(connect_from(1, 8), 0);
	raw_free(&raw);
}

/* Data of a client that believes itself connected: VERIFY_CONNECT again, seldom and not for ever.
 */
static void verify_again(void **state)
{
	struct raw_client client = {.address = raw_source(1)};
	uint8_t out[64], *p, verify[48];
	uint32_t again = 0, at_once = 0;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	assert_int_equal(connect_from(1, 7), 0);
	memcpy(verify, raw.sent[0].data, sizeof verify);
	client.peer_id = wire_get16(verify + 8);
	client.session = verify[11];
	p = raw_put_reliable(raw_header(&client, out, 1), 0, 1, "x", 1);
	for (int i = 0; i < 300; i++) {
		raw_forget(&raw);
		raw_say(&raw, &client, out, p);
		again += raw.sent_count;
		if (raw.sent_count)
			assert_memory_equal(raw.sent[0].data, verify, sizeof verify);
		if (i < 24)
			at_once += raw.sent_count;
		raw_service(&raw, 10);
	}
	assert_int_equal(at_once, 0); /* 240 ms */
	assert_int_equal(again, 5);
	assert_int_equal(raw.delivered_count, 0);
	raw_free(&raw);
}

/* The answer of a half-open client to VERIFY_CONNECT in verify; returns the refusal. */
static uint32_t acknowledge(const struct raw_client *client, const uint8_t *verify)
{
	uint8_t out[16], *p = raw_header(client, out, 1);

	p = raw_put_acknowledge(
		p, WIRE_CONTROL_CHANNEL, wire_get16(verify + 6), wire_get16(verify + 2));
	raw_forget(&raw);
	return raw_say(&raw, client, out, p);
}

/* CONNECT of source number; the client that VERIFY_CONNECT, copied to verify, makes of it. */
static struct raw_client half_way(uint32_t number, uint8_t verify[48])
{
	struct raw_client client = {.address = raw_source(number)};

	assert_int_equal(connect_from(number, 7), 0);
	assert_int_equal(raw.sent_count, 1);
	memcpy(verify, raw.sent[0].data, 48);
	client.peer_id = wire_get16(verify + 8);
	client.session = verify[11];
	return client;
}

/* Sized from the rates, the table has places for all that they let in while entries are young. */
static void the_table_takes_what_the_rate_lets_in(void **state)
{
	static const struct {
		uint32_t per_s, burst, entries;
	} cases[] = {{2000, 4000, 16384}, {5000, 10000, 32768}, {100, 1, 512}, {1, 1, 8},
		{10000000, 10000000, 1 << 20}};
	uint32_t number = 0;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sw_enet_config config = {
			.connects_per_s = cases[i].per_s, .connects_burst = cases[i].burst};

		assert_int_equal(sw_enet_half_open(&config), cases[i].entries);
		config.half_open_max = 77;
		assert_int_equal(sw_enet_half_open(&config), 77);
	}
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 512,
			      .half_open_max = 256, /* as it would be computed */
			      .connects_per_s = 50,
			      .connects_burst = 100});
	raw.quiet = true;
	assert_int_equal(sw_enet_half_open(&(struct sw_enet_config){
				 .connects_per_s = 50, .connects_burst = 100}),
		raw.config.half_open_max);
	for (uint32_t ms = 0; ms < 30000; ms++) {
		for (uint32_t i = 0; i < 5; i++) {
			struct sw_enet_addr from = raw_source(number++);
			uint8_t out[64];
			uint32_t bytes = raw_connect_bytes(out, number, 4, number);

			from.ip[12] = (uint8_t)(11 + (number >> 16));
			raw_rx(&raw, &from, out, bytes);
		}
		raw_service(&raw, 1);
	}
	assert_int_equal(raw_count(&raw, SW_ENET_C_CONNECT_TABLE), 0);
	assert_true(raw_count(&raw, SW_ENET_C_CONNECT_RATE) > 140000);
	assert_true(raw_count(&raw, SW_ENET_C_VERIFIES_OUT) >= 100 + 30 * 50 - 1);
	raw_free(&raw);
}

/* A few that connect at once to a server with fewer slots: those too many hear it at once. */
static void a_rush_to_the_last_slots(void **state)
{
	uint8_t verify[48];
	struct raw_client clients[5];

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = 5, .half_open_max = 64});
	for (uint32_t i = 0; i < 5; i++)
		clients[i] = half_way(i, verify);
	for (uint32_t i = 5; i < 8; i++)
		assert_int_equal(connect_from(i, 7), SW_ENET_C_CONNECT_FULL);
	assert_int_equal(acknowledge(&clients[4], verify), 0);
	raw_free(&raw);
}

/* Half-open clients, a hundred times as many as slots, take none: all slots fill with who is there,
 * and whoever comes half a round trip too late is told at once, and again. */
static void the_last_slots(void **state)
{
	struct raw_client clients[8], late, other;
	uint32_t turned_away = 0;
	uint8_t verify[48], late_verify[48], other_verify[48];

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.half_open_max = 1024, .told = {.full = 33}});
	raw.quiet = true;
	for (uint32_t i = 0; i < 800; i++)
		turned_away += connect_from(1000 + i, i) == SW_ENET_C_CONNECT_FULL;
	raw.quiet = false;
	assert_int_equal(turned_away, 16);
	assert_int_equal(raw_count(&raw, SW_ENET_C_VERIFIES_OUT), 800 - 16);
	for (uint32_t i = 0; i < 7; i++)
		assert_true(raw_connect(&raw, &clients[i], i, 4));
	late = half_way(100, late_verify);
	other = half_way(101, other_verify);
	clients[7] = half_way(7, verify);
	assert_int_equal(acknowledge(&clients[7], verify), 0);
	assert_int_equal(sw_enet_peers(raw.engine), 8);
	for (int again = 0; again < 3; again++) {
		assert_int_equal(acknowledge(&late, late_verify), SW_ENET_C_CONNECT_FULL);
		assert_int_equal(raw.sent_count, 1);
		assert_int_equal(raw.sent[0].bytes, 12);
		assert_int_equal(raw.sent[0].data[4] & WIRE_COMMAND_MASK, WIRE_DISCONNECT);
		assert_int_equal(wire_get32(raw.sent[0].data + 8), 33);
		/* in the session that it believes to have */
		assert_int_equal(wire_get16(raw.sent[0].data) & ~WIRE_SENT_TIME,
			(uint32_t)late_verify[10] << WIRE_SESSION_SHIFT | 5);
	}
	/* who asks now hears it before it has begun */
	assert_int_equal(connect_from(102, 7), SW_ENET_C_CONNECT_FULL);
	assert_int_equal(raw.connects, 8);
	/* and who is half-way when a slot comes free gets it */
	assert_int_equal(sw_enet_disconnect(raw.engine, raw.handle, SW_ENET_DISCONNECT_NOW, 0,
				 SW_ENET_GONE_LOCAL),
		0);
	raw_service(&raw, 1);
	assert_int_equal(acknowledge(&other, other_verify), 0);
	assert_int_equal(raw.connects, 9);
	raw_free(&raw);
}

/* DISCONNECT instead of the acknowledgement: stock's enet_peer_disconnect right after the connect
 * event discards it. */
static void who_leaves_half_way(void **state)
{
	struct raw_client client;
	uint8_t verify[48], out[64], *p;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	client = half_way(1, verify);
	/* another session, and no acknowledgement wanted: nothing */
	client.session ^= 1;
	p = wire_put_command(
		raw_header(&client, out, 77), WIRE_DISCONNECT | WIRE_ACK_FLAG, 0xff, 2);
	wire_put32(p, 5);
	raw_forget(&raw);
	assert_int_equal(raw_rx(&raw, &client.address, out, 12), SW_ENET_C_WRONG_SESSION);
	client.session ^= 1;
	raw_header(&client, out, 77);
	out[4] = WIRE_DISCONNECT;
	assert_int_equal(raw_rx(&raw, &client.address, out, 12), SW_ENET_C_NOT_VERIFIED);
	assert_int_equal(raw.sent_count, 0);
	out[4] |= WIRE_ACK_FLAG;
	for (uint32_t i = 0; i < 20; i++) {
		bool answered = i < 17; /* once at once, 16 times from memory */

		raw_forget(&raw);
		assert_int_equal(raw_rx(&raw, &client.address, out, 12),
			answered ? 0 : SW_ENET_C_UNKNOWN_PEER);
		assert_int_equal(raw.peer_index, SW_ENET_NO_PEER);
		assert_int_equal(raw.sent_count, answered);
		if (!answered)
			continue;
		assert_int_equal(raw.sent[0].bytes, 12);
		assert_int_equal(wire_get16(raw.sent[0].data),
			WIRE_SENT_TIME | (uint32_t)verify[10] << WIRE_SESSION_SHIFT | 5);
		assert_memory_equal(raw.sent[0].data + 4, "\x01\xff\x00\x02\x00\x02\x00\x4d", 8);
	}
	raw_service(&raw, 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HALF_OPEN), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_DISCONNECTS_REPEATED), 17);
	/* its acknowledgement, overtaken, makes no peer of it */
	assert_int_equal(acknowledge(&client, verify), SW_ENET_C_UNKNOWN_PEER);
	assert_int_equal(raw.connects, 0);
	raw_free(&raw);
}

/* A handshake has 64 KiB of decompression, and one datagram beyond; what comes then is refused
 * unread. Another handshake has its own. */
static void a_handshake_expands_so_much(void **state)
{
	static struct range_coder coder;
	static uint8_t plain[4096], packed[4096];
	uint8_t verify[48];
	uint32_t bytes;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.compression = SW_ENET_ANY});
	for (uint32_t number = 1; number < 3; number++) {
		struct raw_client client = half_way(number, verify);
		uint64_t before = raw_count(&raw, SW_ENET_C_EXPAND_RATE);

		raw_header(&client, packed, 0);
		packed[0] |= WIRE_COMPRESSED >> 8;
		bytes = 4 + range_compress(
				    &coder, plain, sizeof plain - 4, packed + 4, sizeof packed - 4);
		assert_in_range(bytes, 5, 100);
		for (uint32_t i = 0; i < 40; i++)
			assert_int_equal(raw_say(&raw, &client, packed, packed + bytes),
				i * sizeof plain > 65536 ? SW_ENET_C_EXPAND_RATE
							 : SW_ENET_C_NOT_VERIFIED);
		assert_int_equal(raw_count(&raw, SW_ENET_C_EXPAND_RATE) - before, 23);
		raw_forget(&raw);
	}
	raw_free(&raw);
}

static void answer_pings(const struct raw_client *client)
{
	for (uint32_t i = 0; i < raw.sent_count; i++) {
		const uint8_t *ping = raw.sent[i].data + 4;
		uint8_t out[16], *p = raw_header(client, out, 9);

		assert_int_equal(ping[0], WIRE_PING | WIRE_ACK_FLAG);
		p = raw_put_acknowledge(
			p, WIRE_CONTROL_CHANNEL, wire_get16(ping + 2), wire_get16(ping - 2));
		assert_int_equal(raw_say(&raw, client, out, p), 0);
	}
}

/* What is kept for addresses that proved themselves: for ten minutes from the end of a connection,
 * whatever its port; each from its own source's bucket, and no more than the share. */
static void known_for_ten_minutes(void **state)
{
	static const struct {
		uint32_t after_ms;
		bool known;
	} cases[] = {{1000, true}, {599000, true}, {601000, false}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct raw_client client;
		struct sw_enet_addr from;
		uint8_t out[64];
		uint32_t bytes = raw_connect_bytes(out, 99, 4, 99), verified = 0;

		raw_new(&raw, &(struct sw_enet_config){.returning_percent = 50,
				      .peers_max = 64,
				      .half_open_max = 64,
				      .connects_per_s = 1,
				      .connects_burst = 20,
				      .source_connects_per_s = 1,
				      .source_connects_burst = 3});
		assert_true(raw_connect(&raw, &client, 1, 4));
		for (int k = 0; k < 1400; k++) { /* it stays for longer than that */
			raw_forget(&raw);
			raw_service(&raw, 500);
			answer_pings(&client);
		}
		assert_int_equal(sw_enet_disconnect(raw.engine, raw.handle, SW_ENET_DISCONNECT_NOW,
					 0, SW_ENET_GONE_LOCAL),
			0);
		raw_service(&raw, 1);
		assert_int_equal(sw_enet_peers(raw.engine), 0);
		for (uint32_t ms = 0; ms < cases[i].after_ms; ms += 500)
			raw_service(&raw, 500);
		/* strangers take what is everyone's, and no more */
		for (uint32_t k = 0; k < 40; k++)
			verified += connect_from(1000 + k, k) == 0;
		assert_int_equal(verified, 10);
		from = client.address;
		from.port++;
		assert_int_equal(raw_rx(&raw, &from, out, bytes),
			cases[i].known ? 0 : SW_ENET_C_CONNECT_RATE);
		assert_int_equal(
			raw_count(&raw, SW_ENET_C_CONNECTS_RETURNING), cases[i].known ? 1 : 0);
		if (cases[i].known) { /* its source's burst is 3 */
			for (uint32_t k = 1; k < 5; k++) {
				from.port++;
				assert_int_equal(raw_rx(&raw, &from, out, bytes),
					k < 3 ? 0 : SW_ENET_C_CONNECT_SOURCE_RATE);
			}
		}
		raw_free(&raw);
	}
}

static void configurations(void **state)
{
	static const struct sw_enet_config good = {.peers_max = 1,
		.half_open_max = 1,
		.channels_max = 1,
		.mtu = 576,
		.packet_bytes_max = 1,
		.connects_per_s = 1,
		.connects_burst = 1,
		.source_connects_per_s = 1,
		.source_connects_burst = 1,
		.pool_bytes = 1 << 16};
	static uint8_t memory[1 << 20] __attribute__((aligned(64)));
	static const struct sw_enet_ops ops;
	struct sw_enet_config bad[14];

	(void)state;
	assert_true(sw_enet_bytes(&good) > 0);
	for (size_t i = 0; i < 14; i++)
		bad[i] = good;
	bad[0].peers_max = 0;
	bad[1].half_open_max = UINT32_MAX;
	bad[2].channels_max = 0;
	bad[3].channels_max = 256;
	bad[4].mtu = 575;
	bad[5].mtu = 4097;
	bad[6].packet_bytes_max = 0;
	bad[7].packet_bytes_max = 1 << 20; /* four do not fit the pool */
	bad[8].connects_per_s = 0;
	bad[9].source_connects_burst = 0;
	bad[10].pool_bytes = 0;
	bad[11].peers_max = UINT32_MAX;
	bad[12].returning_percent = 91;
	bad[13].returning_max = UINT32_MAX;
	for (size_t i = 0; i < 14; i++) {
		assert_int_equal(sw_enet_bytes(&bad[i]), 0);
		assert_null(sw_enet_init(memory, sizeof memory, &bad[i], &ops, 0));
	}
	assert_null(sw_enet_init(memory, sw_enet_bytes(&good) - 1, &good, &ops, 0));
	assert_null(sw_enet_init(memory + 1, sizeof memory - 1, &good, &ops, 0));
	assert_non_null(sw_enet_init(memory, sw_enet_bytes(&good), &good, &ops, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verify_connect_says),
		cmocka_unit_test(refusals_by_window),
		cmocka_unit_test(few_must_repeat_their_connect),
		cmocka_unit_test(the_young_stay),
		cmocka_unit_test(a_flood_costs_no_slot),
		cmocka_unit_test(one_source_drains_itself_only),
		cmocka_unit_test(only_the_right_acknowledgement),
		cmocka_unit_test(verify_again),
		cmocka_unit_test(the_table_takes_what_the_rate_lets_in),
		cmocka_unit_test(a_rush_to_the_last_slots),
		cmocka_unit_test(the_last_slots),
		cmocka_unit_test(who_leaves_half_way),
		cmocka_unit_test(a_handshake_expands_so_much),
		cmocka_unit_test(known_for_ten_minutes),
		cmocka_unit_test(configurations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
