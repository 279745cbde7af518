/* rx_test.c: proves that every malformed datagram and command is refused by its own name, without
 * reading past its end (each lies in memory of exactly its length) and without an answer larger
 * than itself, and that the connection goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/enet/raw_engine.h"

static struct raw_engine raw;

#define C(name) SW_ENET_C_##name

/* Datagrams of strangers; an answer would be a bug. */
static void strangers(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t count;
		uint32_t refusal;
	} cases[] = {
		{"", 0, C(SHORT_HEADER)},
		{"\x00", 1, C(SHORT_HEADER)},
		{"\x80\x00", 2, C(SHORT_HEADER)},
		{"\x80\x00\x00", 3, C(SHORT_HEADER)},
		{"\x8f\xff\x00", 3, C(SHORT_HEADER)},
		{"\xcf\xff\x00\x00", 4, C(BAD_COMPRESSION)},
		{"\x4f\xff\xff\xff\xff\xff", 6, C(BAD_COMPRESSION)},
		{"\xc0\x07\x00\x00", 4, C(COMPRESSED)},
		{"\x00\x07", 2, C(UNKNOWN_PEER)},
		{"\x80\x07\x00\x00\x85\xff\x00\x01", 8, C(UNKNOWN_PEER)},
		{"\x0f\xff", 2, C(SHORT_COMMAND)},
		{"\x8f\xff\x00\x00", 4, C(SHORT_COMMAND)},
		{"\x8f\xff\x00\x00\x82\xff\x00", 7, C(SHORT_COMMAND)},
		{"\x8f\xff\x00\x00\x82\xff\x00\x01", 8, C(SHORT_COMMAND)},
		{"\x8f\xff\x00\x00\x85\xff\x00\x01", 8, C(NOT_CONNECT)},
		{"\x8f\xff\x00\x00\x82\x00\x00\x01", 8, C(NOT_CONNECT)},
		{"\x8f\xff\x00\x00\x8f\xff\x00\x01", 8, C(NOT_CONNECT)},
	};
	struct sw_enet_addr from = raw_source(1);

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(
			raw_rx(&raw, &from, (const uint8_t *)cases[i].bytes, cases[i].count),
			cases[i].refusal);
		assert_int_equal(raw.peer_index, SW_ENET_NO_PEER);
	}
	assert_int_equal(raw.sent_count, 0);
	raw_free(&raw);
}

static void malformed_connects(void **state)
{
	static const struct {
		uint32_t at, value;
	} cases[] = {{8, 0x0fff0000u | 0xffff}, {20, 0}, {20, 256}, {20, UINT32_MAX}};
	struct sw_enet_addr from = raw_source(1);
	uint8_t out[64];
	uint32_t bytes = raw_connect_bytes(out, 9, 4, 0);

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.checksum = SW_ENET_ANY});
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		raw_connect_bytes(out, 9, 4, 0);
		wire_put32(out + cases[i].at, cases[i].value);
		assert_int_equal(raw_rx(&raw, &from, out, bytes), C(CONNECT_MALFORMED));
	}
	raw_connect_bytes(out, 9, 4, 0);
	for (uint32_t cut = 0; cut < bytes; cut++)
		assert_int_not_equal(raw_rx(&raw, &from, out, cut), 0);
	assert_int_equal(raw.sent_count, 0);
	assert_int_equal(raw_rx(&raw, &from, out, bytes), 0);
	assert_int_equal(raw.sent_count, 1);
	assert_true(raw.sent[0].bytes <= bytes);
	raw_free(&raw);
}

/* Commands of a connected client: bytes after the header. */
static void malformed_commands(void **state)
{
#define FRAGMENT(rest) "\x88\x00\x00\x01\x00\x01" rest
	static const struct {
		const char *bytes;
		uint32_t count;
		uint32_t refusal;
	} cases[] = {
		{"\x85", 1, C(SHORT_COMMAND)},
		{"\x85\xff\x00", 3, C(SHORT_COMMAND)},
		{"\x00\x00\x00\x00", 4, C(UNKNOWN_COMMAND)},
		{"\x80\x00\x00\x00", 4, C(UNKNOWN_COMMAND)},
		{"\x8d\x00\x00\x00", 4, C(UNKNOWN_COMMAND)},
		{"\x8f\x00\x00\x00", 4, C(UNKNOWN_COMMAND)},
		{"\x86\x00\x00\x01", 4, C(SHORT_COMMAND)},
		{"\x86\x00\x00\x01\x00\x01", 6, C(BAD_LENGTH)},
		{"\x86\x00\x00\x01\xff\xff"
		 "a",
			7, C(BAD_LENGTH)},
		{"\x86\x04\x00\x01\x00\x01"
		 "a",
			7, C(BAD_CHANNEL)},
		{"\x86\xff\x00\x01\x00\x01"
		 "a",
			7, C(BAD_CHANNEL)},
		{"\x07\x00\x00\x00\x00\x01\x00\x02"
		 "a",
			9, C(BAD_LENGTH)},
		{"\x07\x09\x00\x00\x00\x01\x00\x01"
		 "a",
			9, C(BAD_CHANNEL)},
		{"\x49\x00\x00\x00\x00\x01\x40\x00"
		 "a",
			9, C(BAD_LENGTH)},
		{"\x83\xff\x00\x01"
		 "0123456789012345678901234567890123456789",
			44, C(UNEXPECTED_COMMAND)},
		{"\x82\xff\x00\x01"
		 "01234567890123456789012345678901234567890123",
			48, C(UNEXPECTED_COMMAND)},
		/* start, length, count, number, total, offset */
		{FRAGMENT("\x00\x00\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\0"), 24, C(BAD_FRAGMENT)},
		{FRAGMENT("\x00\x01\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0"
			  "a"),
			25, C(BAD_FRAGMENT)},
		{FRAGMENT("\x00\x01\0\0\0\2\0\0\0\2\0\0\0\2\0\0\0\0"
			  "a"),
			25, C(BAD_FRAGMENT)},
		{FRAGMENT("\x00\x01\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0"
			  "a"),
			25, C(BAD_FRAGMENT)},
		{FRAGMENT("\x00\x01\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\2"
			  "a"),
			25, C(BAD_FRAGMENT)},
		{FRAGMENT("\x00\x01\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\1"
			  "a"),
			25, C(BAD_FRAGMENT)},
		{FRAGMENT("\x00\x01\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\0\0\0\0"
			  "a"),
			25, C(BAD_FRAGMENT)},
		{FRAGMENT("\x00\x01\0\0\x70\0\0\0\0\0\0\0\x70\0\0\0\0\0"
			  "a"),
			25, C(OVERSIZE)},
	};
	struct raw_client client;
	uint8_t out[128], *p;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		raw_new(&raw, &(struct sw_enet_config){0});
		assert_true(raw_connect(&raw, &client, 1, 4));
		p = raw_header(&client, out, 1);
		memcpy(p, cases[i].bytes, cases[i].count);
		assert_int_equal(
			raw_rx(&raw, &client.address, out, 4 + cases[i].count), cases[i].refusal);
		assert_int_equal(raw_count(&raw, cases[i].refusal), 1);
		assert_int_equal(raw.delivered_count, 0);
		raw_service(&raw, 1);
		if (cases[i].refusal == C(OVERSIZE)) {
			assert_int_equal(raw.disconnects, 1);
		} else {
			assert_int_equal(raw.sent_count, 0); /* nothing was acknowledged */
			p = raw_put_reliable(raw_header(&client, out, 2), 0, 1, "fine", 4);
			assert_int_equal(raw_say(&raw, &client, out, p), 0);
			assert_int_equal(raw.delivered_count, 1);
		}
		raw_free(&raw);
	}
}

/* Each command cut at each length, and each with each of its bytes made 0xff. */
static void cut_and_spoilt(void **state)
{
	uint8_t whole[256], out[256], *p;
	struct raw_client client;
	uint32_t bytes;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	assert_true(raw_connect(&raw, &client, 1, 4));
	p = raw_header(&client, whole, 1);
	p = raw_put_reliable(p, 0, 2, "held", 4);
	p = raw_put_unreliable(p, 1, 3, 1, "waits", 5);
	p = raw_put_fragment(p, true, 2, 1, 1, 3, 0, 12, 0, "frag", 4);
	p = raw_put_fragment(p, false, 3, 0, 1, 3, 1, 12, 4, "frag", 4);
	wire_put32(wire_put_command(p, WIRE_SEND_UNSEQUENCED | WIRE_UNSEQUENCED_FLAG, 1, 0),
		7u << 16 | 2);
	memcpy(p + 8, "ab", 2);
	p += 10;
	memset(wire_put_command(p, WIRE_BANDWIDTH_LIMIT | WIRE_ACK_FLAG, 0xff, 9), 0, 8);
	p += 12;
	memset(wire_put_command(p, WIRE_THROTTLE_CONFIGURE | WIRE_ACK_FLAG, 0xff, 10), 0, 12);
	p += 16;
	bytes = (uint32_t)(p - whole);
	for (uint32_t cut = 0; cut <= bytes; cut++)
		raw_rx(&raw, &client.address, whole, cut);
	for (uint32_t at = 4; at < bytes; at++) {
		memcpy(out, whole, bytes);
		out[at] = 0xff;
		raw_rx(&raw, &client.address, out, bytes);
		raw_service(&raw, 1);
		raw_forget(&raw);
	}
	raw_free(&raw);
}

static void commands_before_a_bad_one_stand(void **state)
{
	struct raw_client client;
	uint8_t out[64], *p;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	assert_true(raw_connect(&raw, &client, 1, 4));
	p = raw_put_reliable(raw_header(&client, out, 5), 0, 1, "one", 3);
	*p++ = 0x8f;
	memset(p, 0, 3);
	assert_int_equal(raw_say(&raw, &client, out, p + 3), C(UNKNOWN_COMMAND));
	assert_int_equal(raw.delivered_count, 1);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 1);
	assert_int_equal(raw.sent[0].bytes, 12);

	/* asked for an acknowledgement without a sent time: taken, not acknowledged, and no further
	 */
	raw_forget(&raw);
	p = raw_put_reliable(raw_header(&client, out, 5) - 2, 0, 2, "two", 3);
	p = raw_put_reliable(p, 0, 3, "three", 5);
	out[0] &= 0x7f;
	assert_int_equal(raw_say(&raw, &client, out, p), C(NO_SENT_TIME));
	assert_int_equal(raw.delivered_count, 1);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 0);
	raw_free(&raw);
}

static void other_sources_and_sessions(void **state)
{
	struct raw_client client, other;
	uint8_t out[64], *p;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	assert_true(raw_connect(&raw, &client, 1, 4));
	p = raw_put_reliable(raw_header(&client, out, 5), 0, 1, "x", 1);
	other = client;
	other.address.port++;
	assert_int_equal(raw_say(&raw, &other, out, p), C(UNKNOWN_PEER));
	other = client;
	other.session = (other.session + 1) & 3;
	raw_header(&other, out, 5);
	assert_int_equal(raw_say(&raw, &client, out, p), C(WRONG_SESSION));
	assert_int_equal(raw.delivered_count, 0);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers),
		cmocka_unit_test(malformed_connects),
		cmocka_unit_test(malformed_commands),
		cmocka_unit_test(cut_and_spoilt),
		cmocka_unit_test(commands_before_a_bad_one_stand),
		cmocka_unit_test(other_sources_and_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
