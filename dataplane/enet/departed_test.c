/* departed_test.c: proves what those hear who have left, or were sent away, and did not hear of it:
 * an answer to what they repeat, and to nobody else, for half a minute and no more bytes than they
 * send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/enet/range_coder.h"
#include "dataplane/enet/raw_engine.h"

static struct raw_engine raw;

/* A repeated DISCONNECT after the peer is gone: acknowledged for half a minute, to whom it
 * concerns, also with acknowledgements before it; anything else of who has left draws nothing. */
static void who_has_left(void **state)
{
	struct sw_enet_addr other = raw_source(2);
	struct raw_client client;
	uint8_t out[64], *p;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	assert_true(raw_connect(&raw, &client, 1, 4));
	raw_service(&raw, 1);
	p = raw_header(&client, out, 9);
	for (int i = 0; i < 3; i++) {
		p = wire_put_command(p, WIRE_ACKNOWLEDGE, 0, 40000 + i);
		wire_put32(p, 0);
		p += 4;
	}
	p = wire_put_command(p, WIRE_DISCONNECT | WIRE_ACK_FLAG, 0xff, 300);
	wire_put32(p, 5);
	p += 4;
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	raw_service(&raw, 1);
	assert_int_equal(raw.disconnects, 1);
	for (int i = 0; i < 3; i++) {
		raw_forget(&raw);
		assert_int_equal(raw_say(&raw, &client, out, p), 0);
		assert_int_equal(raw.sent_count, 1);
		assert_memory_equal(raw.sent[0].data + 4, "\x01\xff\x01\x2c\x01\x2c\x00\x09", 8);
		raw_service(&raw, 2000);
	}
	raw_forget(&raw);
	raw.no_buffer = true; /* no place for the answer: it was not given */
	assert_int_equal(raw_say(&raw, &client, out, p), SW_ENET_C_LEAVING);
	raw.no_buffer = false;
	assert_int_equal(raw_rx(&raw, &other, out, (uint32_t)(p - out)), SW_ENET_C_UNKNOWN_PEER);
	for (uint32_t cut = 0; cut < p - out; cut++)
		assert_int_not_equal(raw_rx(&raw, &client.address, out, cut), 0);
	p = raw_put_reliable(raw_header(&client, out, 9), 0, 1, "x", 1);
	assert_int_equal(raw_say(&raw, &client, out, p), SW_ENET_C_UNKNOWN_PEER);
	p = wire_put_command(raw_header(&client, out, 9), WIRE_DISCONNECT | WIRE_ACK_FLAG, 0xff, 7);
	wire_put32(p, 5);
	assert_int_equal(raw.sent_count, 0);
	for (int i = 0; i < 50; i++)
		raw_service(&raw, 500);
	assert_int_equal(raw_rx(&raw, &client.address, out, 12), SW_ENET_C_UNKNOWN_PEER);
	assert_int_equal(raw.sent_count, 0);
	raw_free(&raw);
}

/* Who was ended and still sends is told again at doubling intervals, not before what it sent until
 * it could hear of it has come, for no fewer bytes than it is sent, in its own session only; who
 * left by itself never. */
static void who_was_sent_away(void **state)
{
	struct raw_client client;
	uint8_t out[64], *p;
	uint32_t told = 0, at_ms = 0;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	assert_true(raw_connect(&raw, &client, 1, 4));
	raw_service(&raw, 1);
	assert_int_equal(sw_enet_disconnect(raw.engine, raw.handle, SW_ENET_DISCONNECT_NOW, 42,
				 SW_ENET_GONE_LOCAL),
		0);
	raw_service(&raw, 1);
	p = wire_put_command(raw_header(&client, out, 9), WIRE_PING | WIRE_ACK_FLAG, 0xff, 2);
	for (uint32_t ms = 0; ms < 40000; ms++) { /* 8 bytes each ms */
		raw_forget(&raw);
		assert_int_equal(raw_say(&raw, &client, out, p),
			ms < 30000 ? SW_ENET_C_LEAVING : SW_ENET_C_UNKNOWN_PEER);
		assert_true(raw.sent_count <= 1);
		if (raw.sent_count) {
			assert_int_equal(raw.sent[0].bytes, 12);
			assert_int_equal(
				raw.sent[0].data[4], WIRE_DISCONNECT | WIRE_UNSEQUENCED_FLAG);
			assert_int_equal(wire_get32(raw.sent[0].data + 8), 42);
			assert_int_equal(ms, 200u << told);
			at_ms = ms;
			told++;
		}
		if (ms == 500) {
			client.session ^= 1;
			raw_header(&client, out, 9);
			assert_int_equal(
				raw_rx(&raw, &client.address, out, 8), SW_ENET_C_WRONG_SESSION);
			client.session ^= 1;
			raw_header(&client, out, 9);
		}
		raw_service(&raw, 1);
	}
	assert_int_equal(told, 8);
	assert_int_equal(at_ms, 25600);
	assert_int_equal(raw_count(&raw, SW_ENET_C_ENDS_TOLD_AGAIN), 8);
	raw_free(&raw);
}

/* Whoever has left or was sent away, in whose name ever it comes, draws no more bytes than he
 * sends: what is too small for an answer counts towards the next one's. */
static void little_draws_little(void **state)
{
	static struct range_coder coder;
	struct raw_client client;
	uint32_t came = 0, answered = 0, bytes;
	uint8_t out[64], packed[64], *p;

	(void)state;
	/* sent away; 4 bytes each time, of which a telling costs three */
	raw_new(&raw, &(struct sw_enet_config){0});
	assert_true(raw_connect(&raw, &client, 1, 4));
	raw_service(&raw, 1);
	assert_int_equal(sw_enet_disconnect(raw.engine, raw.handle, SW_ENET_DISCONNECT_NOW, 42,
				 SW_ENET_GONE_LOCAL),
		0);
	raw_service(&raw, 1);
	for (uint32_t i = 0; i < 12; i++) {
		raw_service(&raw, 800);
		raw_forget(&raw);
		assert_int_equal(raw_say(&raw, &client, out, raw_header(&client, out, 9)),
			SW_ENET_C_LEAVING);
		came += 4;
		if (raw.sent_count)
			answered += raw.sent[0].bytes;
		assert_int_equal(raw.sent_count, i % 3 == 2);
		assert_true(answered <= came);
	}
	raw_free(&raw);

	/* left; its repeated DISCONNECT is compressed to less than the acknowledgement */
	raw_new(&raw, &(struct sw_enet_config){.compression = SW_ENET_ANY});
	assert_true(raw_connect(&raw, &client, 1, 4));
	raw_service(&raw, 1);
	p = wire_put_command(
		raw_header(&client, out, 0), WIRE_DISCONNECT | WIRE_ACK_FLAG, 0xff, 0x0a0a);
	wire_put32(p, 0x0a0a0a0a);
	assert_int_equal(raw_say(&raw, &client, out, p + 4), 0);
	raw_service(&raw, 1);
	memcpy(packed, out, 4);
	packed[0] |= WIRE_COMPRESSED >> 8;
	bytes = 4 + range_compress(&coder, out + 4, 8, packed + 4, sizeof packed - 4);
	assert_int_equal(bytes, 11);
	came = answered = 0;
	for (uint32_t i = 0; i < 12; i++) {
		raw_forget(&raw);
		came += bytes;
		assert_int_equal(raw_say(&raw, &client, packed, packed + bytes),
			came - answered < 12 ? SW_ENET_C_LEAVING : 0);
		if (raw.sent_count) {
			answered += raw.sent[0].bytes;
			came = answered; /* what is left over is not kept */
		}
		assert_true(answered <= came);
	}
	assert_int_equal(answered, 72);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_left),
		cmocka_unit_test(who_was_sent_away),
		cmocka_unit_test(little_draws_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
