/* promise_test.c: proves R4, that an acknowledgement is a promise: what deliver() did not take is
 * not acknowledged, a run is taken whole or not at all, of a fragmented packet only the completing
 * fragment is withheld, what is held is bounded and never evicted; and that acknowledgements and
 * messages to a peer share datagrams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "dataplane/enet/raw_engine.h"

static struct raw_engine raw;
static struct raw_client client;
static uint8_t payload[4096];

static void begin(struct sw_enet_config config)
{
	raw_new(&raw, &config);
	assert_true(raw_connect(&raw, &client, 1, 8));
	raw_service(&raw, 0);
	raw_forget(&raw);
}

static void reliable(uint8_t channel, uint16_t seq, uint32_t bytes)
{
	uint8_t out[4096];
	uint8_t *p;

	payload[0] = (uint8_t)seq;
	p = raw_put_reliable(
		raw_header(&client, out, (uint16_t)(100 + seq)), channel, seq, payload, bytes);
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
}

/* Fragment number of a packet of count fragments of 400 bytes that starts at start. */
static uint32_t fragment(
	bool is_reliable, uint8_t channel, uint16_t start, uint32_t count, uint32_t number)
{
	uint8_t out[4096];
	uint8_t *p = raw_put_fragment(raw_header(&client, out, 7), is_reliable, channel,
		is_reliable ? (uint16_t)(start + number) : 0, start, count, number, count * 400,
		number * 400, payload, 400);

	return raw_say(&raw, &client, out, p);
}

/* Acknowledgements in what is sent now; *seq: of the last one. */
static uint32_t acks(uint16_t *seq)
{
	uint32_t n = 0;

	raw_forget(&raw);
	raw_service(&raw, 0);
	for (uint32_t i = 0; i < raw.sent_count; i++) {
		for (uint32_t at = 4; at + 8 <= raw.sent[i].bytes; at += 8) {
			const uint8_t *p = raw.sent[i].data + at;

			assert_int_equal(p[0] & WIRE_COMMAND_MASK, WIRE_ACKNOWLEDGE);
			assert_int_equal(wire_get16(p + 2), wire_get16(p + 4));
			if (seq)
				*seq = wire_get16(p + 4);
			n++;
		}
	}
	return n;
}

static void refused_is_not_acknowledged(void **state)
{
	uint16_t seq = 0;

	(void)state;
	begin((struct sw_enet_config){0});
	raw.deaf = true;
	reliable(0, 1, 20);
	assert_int_equal(acks(NULL), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_WITHHELD_RING), 1);
	reliable(0, 2, 20); /* out of order now: held, and that is a promise */
	assert_int_equal(acks(&seq), 1);
	assert_int_equal(seq, 2);
	reliable(0, 1, 20); /* the whole run or nothing */
	assert_int_equal(acks(NULL), 0);
	raw.deaf = false;
	reliable(0, 1, 20);
	assert_int_equal(raw.delivered_count, 2);
	assert_int_equal(raw.runs, 1);
	assert_int_equal(raw.delivered[0].first, 1);
	assert_int_equal(raw.delivered[1].first, 2);
	assert_int_equal(acks(&seq), 1);
	assert_int_equal(seq, 1);
	raw_free(&raw);
}

static void repetitions_are_acknowledged_again(void **state)
{
	(void)state;
	begin((struct sw_enet_config){0});
	reliable(0, 1, 20);
	reliable(0, 1, 20);
	reliable(0, 3, 20);
	reliable(0, 3, 20);
	assert_int_equal(raw.delivered_count, 1);
	assert_int_equal(acks(NULL), 4);
	assert_int_equal(raw_count(&raw, SW_ENET_C_DUPLICATES), 2);
	/* windows: 7 and 8 ahead are silent, more is behind */
	reliable(0, 7 * 4096, 20);
	reliable(0, 8 * 4096, 20);
	assert_int_equal(acks(NULL), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_FAR_AHEAD), 2);
	reliable(0, 9 * 4096, 20);
	reliable(0, UINT16_MAX, 20);
	assert_int_equal(acks(NULL), 2);
	assert_int_equal(raw.delivered_count, 0);
	raw_free(&raw);
}

static void only_the_completing_fragment_waits(void **state)
{
	uint16_t seq = 0;

	(void)state;
	begin((struct sw_enet_config){0});
	raw.deaf = true;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(fragment(true, 0, 1, 4, i), 0);
	assert_int_equal(acks(NULL), 3);
	assert_int_equal(fragment(true, 0, 1, 4, 3), 0);
	assert_int_equal(acks(NULL), 0);
	assert_int_equal(fragment(true, 0, 1, 4, 1), 0); /* again: it is still there */
	assert_int_equal(acks(&seq), 1);
	assert_int_equal(seq, 2);
	raw_service(&raw, 1); /* a run of so many bytes is not built twice in a ms */
	raw.deaf = false;
	assert_int_equal(fragment(true, 0, 1, 4, 3), 0);
	assert_int_equal(raw.delivered_count, 1);
	assert_int_equal(raw.delivered[0].bytes, 1600);
	assert_int_equal(acks(&seq), 1);
	assert_int_equal(seq, 4);
	reliable(0, 5, 20);
	assert_int_equal(raw.delivered_count, 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HOLD_BYTES), 0);
	raw_free(&raw);
}

static void fragments_must_agree(void **state)
{
	uint8_t out[1024], *p;

	(void)state;
	begin((struct sw_enet_config){0});
	assert_int_equal(fragment(true, 0, 1, 4, 1), 0);
	assert_int_equal(fragment(true, 0, 1, 5, 2), SW_ENET_C_BAD_FRAGMENT);
	/* same count and total, but cut elsewhere */
	p = raw_put_fragment(
		raw_header(&client, out, 7), true, 0, 1, 1, 4, 0, 1600, 0, payload, 410);
	assert_int_equal(raw_say(&raw, &client, out, p), SW_ENET_C_BAD_FRAGMENT);
	/* its own sequence number is not start + number */
	p = raw_put_fragment(
		raw_header(&client, out, 7), true, 0, 9, 1, 4, 2, 1600, 800, payload, 400);
	assert_int_equal(raw_say(&raw, &client, out, p), SW_ENET_C_BAD_FRAGMENT);
	/* a whole packet where an assembly stands */
	p = raw_put_reliable(raw_header(&client, out, 7), 0, 1, payload, 10);
	assert_int_equal(raw_say(&raw, &client, out, p), SW_ENET_C_BAD_FRAGMENT);
	assert_int_equal(raw.delivered_count, 0);
	raw_free(&raw);
}

static void the_hold_is_bounded_and_kept(void **state)
{
	uint32_t held = 0, more;
	uint16_t seq = 2;

	(void)state;
	begin((struct sw_enet_config){.peer_hold_bytes = 8192});
	for (; seq < 200; seq++) {
		reliable(0, seq, 200);
		more = acks(NULL);
		if (!more)
			break;
		held += more;
	}
	assert_true(held >= 8192 / 256 - 1 && held <= 8192 / 128);
	assert_int_equal(raw_count(&raw, SW_ENET_C_WITHHELD_MEMORY), 1);
	/* full: a first fragment out of order is refused, one that is next has its own place */
	assert_int_equal(fragment(true, 1, 5, 4, 1), 0);
	assert_int_equal(acks(NULL), 0);
	assert_int_equal(fragment(true, 2, 1, 4, 1), 0);
	assert_int_equal(acks(NULL), 1);
	reliable(0, 1, 200);
	assert_int_equal(raw.delivered_count, held + 1);
	assert_int_equal(raw.runs, 1);
	for (uint32_t i = 0; i <= held; i++)
		assert_int_equal(raw.delivered[i].first, i + 1);
	raw_free(&raw);
}

static void a_late_assembly_ends_the_peer(void **state)
{
	(void)state;
	begin((struct sw_enet_config){.told = {.malformed = 11}});
	assert_int_equal(fragment(true, 0, 1, 4, 1), 0);
	for (int i = 0; i < 40 && !raw.disconnects; i++) {
		uint8_t out[16], *p = raw_header(&client, out, (uint16_t)i);

		/* it lives, and acknowledges our pings */
		p = wire_put_command(p, WIRE_PING | WIRE_ACK_FLAG, 0xff, (uint16_t)i);
		raw_say(&raw, &client, out, p);
		raw_service(&raw, 1000);
	}
	assert_int_equal(raw.disconnects, 1);
	assert_int_equal(raw.gone_reason, SW_ENET_GONE_ASSEMBLY);
	assert_int_equal(raw.gone_data, 11);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HOLD_BYTES), 0);
	raw_free(&raw);
}

static void unreliable_waits_for_its_reliable(void **state)
{
	uint8_t out[256], *p;

	(void)state;
	begin((struct sw_enet_config){0});
	p = raw_put_unreliable(raw_header(&client, out, 1), 0, 1, 2, "c", 1);
	p = raw_put_unreliable(p, 0, 1, 1, "b", 1);
	p = raw_put_unreliable(p, 0, 0, 1, "0", 1);
	p = raw_put_unreliable(p, 0, 1, 2, "c", 1);
	p = raw_put_unreliable(p, 0, 2, 1, "e", 1);
	p = raw_put_reliable(p, 0, 1, "a", 1);
	p = raw_put_unreliable(p, 0, 1, 3, "d", 1);
	p = raw_put_unreliable(p, 0, 1, 1, "b", 1);
	p = raw_put_unreliable(p, 0, 0, 9, "-", 1);
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw.delivered_count, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(raw.delivered[i].first, "0abcd"[i]);
	for (int i = 0; i < 20; i++) /* "e" waits in vain; the wheel looks every 4 s */
		raw_service(&raw, 500);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HOLD_BYTES), 0);
	raw_free(&raw);
}

static void nothing_before_connected(void **state)
{
	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	raw.refuse_events = true;
	assert_true(raw_connect(&raw, &client, 1, 8));
	reliable(0, 1, 20);
	assert_int_equal(raw.delivered_count, 0);
	raw_forget(&raw);
	assert_int_equal(acks(NULL), 0);
	raw.refuse_events = false;
	raw_service(&raw, 1);
	assert_int_equal(raw.connects, 1);
	reliable(0, 1, 20);
	assert_int_equal(raw.delivered_count, 1);
	/* and a leave event is owed too */
	raw.refuse_events = true;
	assert_int_equal(sw_enet_disconnect(raw.engine, raw.handle, SW_ENET_DISCONNECT_NOW, 3,
				 SW_ENET_GONE_LOCAL),
		0);
	raw_service(&raw, 1);
	assert_int_equal(raw.disconnects, 0);
	raw.refuse_events = false;
	raw_service(&raw, 1);
	assert_int_equal(raw.disconnects, 1);
	assert_int_equal(raw.gone_data, 3);
	raw_free(&raw);
}

/* A client that leaves is told that it has been heard in a datagram that says nothing else: libenet
 * reads nothing behind the acknowledgement of something that it no longer knows, and waited for its
 * time-out then. */
static void leaving_is_acknowledged_first(void **state)
{
	static const uint16_t before[] = {0, 1, 8, 200};

	(void)state;
	for (uint32_t i = 0; i < sizeof before / sizeof *before; i++) {
		const uint8_t *p = raw.sent[0].data + 4;
		uint8_t out[64];

		begin((struct sw_enet_config){0});
		for (uint16_t seq = 1; seq <= before[i]; seq++)
			reliable(0, seq, 20);
		wire_put32(wire_put_command(raw_header(&client, out, 99),
				   WIRE_DISCONNECT | WIRE_ACK_FLAG, WIRE_CONTROL_CHANNEL, 2),
			5);
		assert_int_equal(raw_rx(&raw, &client.address, out, 4 + WIRE_DISCONNECT_BYTES), 0);
		raw_forget(&raw);
		for (uint32_t ms = 0; ms < 3; ms++)
			raw_service(&raw, 1);
		assert_int_equal(raw.sent_count, 1);
		assert_int_equal(raw.sent[0].bytes, 4 + WIRE_ACKNOWLEDGE_BYTES);
		assert_int_equal(p[0], WIRE_ACKNOWLEDGE);
		assert_int_equal(p[1], WIRE_CONTROL_CHANNEL);
		assert_int_equal(wire_get16(p + 4), 2);
		assert_int_equal(wire_get16(p + 6), 99);
		assert_int_equal(raw.disconnects, 1);
		assert_int_equal(raw.gone_data, 5);
		assert_int_equal(raw_count(&raw, SW_ENET_C_QUEUE_BYTES), 0);
		raw_free(&raw);
	}
}

static void one_datagram_for_all(void **state)
{
	(void)state;
	begin((struct sw_enet_config){0});
	for (uint16_t seq = 1; seq <= 20; seq++)
		reliable(0, seq, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(sw_enet_send(raw.engine, raw.handle, (uint8_t)(i % 8),
					 i % 2 ? SW_ENET_RELIABLE : 0, payload, 40),
			0);
	raw_forget(&raw);
	raw_service(&raw, 0);
	/* 20 * 8 + 10 * 48 + 10 * 46 bytes */
	assert_int_equal(raw.sent_count, 1);
	assert_int_equal(raw.sent[0].bytes, 4 + 160 + 480 + 460);
	/* without a buffer nothing is lost */
	raw_forget(&raw);
	raw.no_buffer = true;
	reliable(0, 21, 20);
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, 0, payload, 1388), 0);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 0);
	raw.no_buffer = false;
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 2);
	assert_int_equal(raw.sent[1].bytes, 1400);
	raw_free(&raw);
}

static void say(uint32_t flags, uint32_t bytes)
{
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, flags, payload, bytes), 0);
}

/* What is sent unreliable goes into its datagram at once, and the datagram is sent by the next
 * service: behind it comes what is queued later, in order; acknowledgements that do not fit any
 * more go in the next one, all of them; who is ended meanwhile is not sent it. */
static void a_datagram_stays_open(void **state)
{
	const uint8_t order[] = {WIRE_SEND_UNRELIABLE, WIRE_SEND_RELIABLE, WIRE_SEND_UNRELIABLE};
	uint32_t at = 4;

	(void)state;
	begin((struct sw_enet_config){0});
	say(0, 5);
	assert_non_null(raw.open);
	say(SW_ENET_RELIABLE, 5);
	say(0, 5);
	raw_service(&raw, 0);
	assert_null(raw.open);
	assert_int_equal(raw.sent_count, 1);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(raw.sent[0].data[at] & WIRE_COMMAND_MASK, order[i]);
		at += 5 + (order[i] == WIRE_SEND_RELIABLE ? WIRE_SEND_RELIABLE_BYTES
							  : WIRE_SEND_UNRELIABLE_BYTES);
	}
	assert_int_equal(raw.sent[0].bytes, at);
	raw_free(&raw);

	begin((struct sw_enet_config){0});
	say(0, 1400 - 4 - WIRE_SEND_UNRELIABLE_BYTES - 12); /* room for one more, not for two */
	reliable(0, 1, 1);
	reliable(0, 2, 1);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 2);
	assert_int_equal(raw.sent[0].bytes, 1400 - 12);
	assert_int_equal(raw.sent[1].bytes, 4 + 2 * WIRE_ACKNOWLEDGE_BYTES);
	assert_int_equal(wire_get16(raw.sent[1].data + 8), 1);
	assert_int_equal(wire_get16(raw.sent[1].data + 8 + WIRE_ACKNOWLEDGE_BYTES), 2);
	raw_free(&raw);

	begin((struct sw_enet_config){0});
	say(0, 5);
	assert_int_equal(sw_enet_disconnect(raw.engine, raw.handle, SW_ENET_DISCONNECT_NOW, 9,
				 SW_ENET_GONE_LOCAL),
		0);
	raw_service(&raw, 0);
	assert_null(raw.open);
	assert_int_equal(raw.sent_count, 1);
	assert_int_equal(raw.sent[0].data[4] & WIRE_COMMAND_MASK, WIRE_DISCONNECT);
	raw_free(&raw);
}

/* A transmit ring that is full: a service does not ask for a buffer for each of many peers, and
 * everyone is answered once there is room, in any order. */
static void a_full_way_out(void **state)
{
	enum { PEERS = 200 };
	struct raw_client clients[PEERS];
	uint64_t before;
	(void)state;

	begin((struct sw_enet_config){.peers_max = PEERS + 1,
		.connects_burst = PEERS + 1,
		.source_connects_burst = PEERS + 1});
	for (uint32_t i = 0; i < PEERS; i++)
		assert_true(raw_connect(&raw, &clients[i], 2 + i, 1));
	raw_service(&raw, 0);
	raw.no_buffer = true;
	for (uint32_t i = 0; i < PEERS; i++) {
		uint8_t out[64], *p;

		p = raw_put_reliable(raw_header(&clients[i], out, 9), 0, 1, "x", 1);
		assert_int_equal(raw_rx(&raw, &clients[i].address, out, (uint32_t)(p - out)), 0);
	}
	before = raw.sent_total;
	for (uint32_t service = 1; service <= 5; service++) {
		raw_service(&raw, 0);
		assert_in_range(raw_count(&raw, SW_ENET_C_NO_BUFFER), 1, service * 64);
	}
	raw.no_buffer = false;
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_total - before, PEERS);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_total - before, PEERS);
	raw_free(&raw);
}

static void send_says_why_not(void **state)
{
	(void)state;
	begin((struct sw_enet_config){0});
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 8, 0, payload, 1), -EINVAL);
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, 0, payload, 0), -EINVAL);
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, 0, payload, 8193), -EINVAL);
	assert_int_equal(sw_enet_send(raw.engine, raw.handle + 1, 0, 0, payload, 1), -ESTALE);
	assert_int_equal(sw_enet_send(raw.engine, 0, 0, 0, payload, 1), -ESTALE);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_is_not_acknowledged),
		cmocka_unit_test(repetitions_are_acknowledged_again),
		cmocka_unit_test(only_the_completing_fragment_waits),
		cmocka_unit_test(fragments_must_agree),
		cmocka_unit_test(the_hold_is_bounded_and_kept),
		cmocka_unit_test(a_late_assembly_ends_the_peer),
		cmocka_unit_test(unreliable_waits_for_its_reliable),
		cmocka_unit_test(nothing_before_connected),
		cmocka_unit_test(leaving_is_acknowledged_first),
		cmocka_unit_test(one_datagram_for_all),
		cmocka_unit_test(a_datagram_stays_open),
		cmocka_unit_test(a_full_way_out),
		cmocka_unit_test(send_says_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
