/* half_open_test.c: proves R3 by hand: what a CONNECT draws, how large, how often; that the table
 * keeps the young and gives the same answer to who was evicted; that a flood of invented sources
 * costs no peer its slot; and that nothing but the right acknowledgement makes a peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

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
		raw_rx(&raw, &client.address, out, (uint32_t)(p - out));
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
	struct sw_enet_config bad[12];

	(void)state;
	assert_true(sw_enet_bytes(&good) > 0);
	for (size_t i = 0; i < 12; i++)
		bad[i] = good;
	bad[0].peers_max = 0;
	bad[1].half_open_max = 0;
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
	for (size_t i = 0; i < 12; i++) {
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
		cmocka_unit_test(the_young_stay),
		cmocka_unit_test(a_flood_costs_no_slot),
		cmocka_unit_test(one_source_drains_itself_only),
		cmocka_unit_test(only_the_right_acknowledgement),
		cmocka_unit_test(verify_again),
		cmocka_unit_test(configurations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
