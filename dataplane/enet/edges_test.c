/* edges_test.c: proves by hand what no stock client can be made to send or show: MTUs that no
 * client has, the exact edges of the unsequenced window and of 16-bit numbers, held across their
 * wrap, the sent time's wrap in acknowledgements, and that the throttle follows what a client
 * configures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/enet/raw_engine.h"

static struct raw_engine raw;
static struct raw_client client;

static void begin(void)
{
	const struct sw_enet_config config = {.peer_hold_bytes = 1 << 20, .pool_bytes = 8 << 20};

	assert_true(raw_begin(&raw, &config, &client, 8));
}

static void mtu_is_clamped(void **state)
{
	static const struct {
		uint32_t ours, its, agreed;
	} cases[] = {{1400, 0, 576}, {1400, 575, 576}, {1400, 576, 576}, {1400, 900, 900},
		{1400, 1400, 1400}, {1400, 1401, 1400}, {1400, UINT32_MAX, 1400}, {576, 4096, 576},
		{4096, 4095, 4095}, {4096, 4097, 4096}, {4096, UINT32_MAX, 4096}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sw_enet_addr from = raw_source(1);
		uint8_t out[64];
		uint32_t bytes = raw_connect_bytes(out, 7, 4, 0);

		raw_new(&raw, &(struct sw_enet_config){.mtu = cases[i].ours});
		wire_put32(out + 12, cases[i].its);
		assert_int_equal(raw_rx(&raw, &from, out, bytes), 0);
		assert_int_equal(wire_get32(raw.sent[0].data + 12), cases[i].agreed);
		raw_free(&raw);
	}
}

static bool unsequenced_taken(uint16_t group)
{
	uint8_t out[64], *p = raw_header(&client, out, 1);
	uint64_t before = raw.delivered_total;

	assert_int_equal(raw_say(&raw, &client, out, raw_put_unsequenced(p, group, "x", 1)), 0);
	return raw.delivered_total != before;
}

/* ENet's window stands at multiples of 1,024, moves only forward, and less than 32 of them. */
static void unsequenced_window(void **state)
{
	static const struct {
		uint16_t group;
		bool taken;
	} steps[] = {{1, true}, {1, false}, {0, true}, {1023, true}, {1023, false},
		/* the next window: what was before is behind for good */
		{1024, true}, {1024, false}, {1023, false}, {2, false}, {2047, true},
		/* the furthest step, and one more */
		{(uint16_t)(1024 + 32768 - 1), true}, {1024, false}, {32768, true},
		{(uint16_t)(32768 + 32768), false}, {(uint16_t)(32768 + 32767), true},
		/* round the 16 bits */
		{65535, false}, {64512, true}, {0, true}, {65535, false}, {1023, true}, {0, false},
		{31 * 1024, true}, {63 * 1024 - 1, true}, {63 * 1024 - 1, false},
		{(uint16_t)(63 * 1024 + 1024), true}};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (unsequenced_taken(steps[i].group) != steps[i].taken)
			fail_msg("step %zu, group %u", i, steps[i].group);
	}
	raw_free(&raw);
}

static void reliable(uint16_t seq)
{
	uint8_t out[64], byte = (uint8_t)seq;
	uint8_t *p = raw_put_reliable(raw_header(&client, out, 1), 0, seq, &byte, 1);

	assert_int_equal(raw_say(&raw, &client, out, p), 0);
}

/* What is held across the wrap of reliable numbers comes out in order, in one run. */
static void held_across_the_wrap(void **state)
{
	(void)state;
	begin();
	raw.quiet = true;
	for (uint32_t seq = 1; seq < 65530; seq++) {
		reliable((uint16_t)seq);
		if (seq % 50 == 0)
			raw_service(&raw, 0);
	}
	assert_int_equal(raw.delivered_total, 65529);
	raw.quiet = false;
	raw_service(&raw, 0);
	raw_forget(&raw);
	for (uint32_t seq = 65536 + 20; seq > 65530; seq--)
		reliable((uint16_t)seq);
	assert_int_equal(raw.delivered_count, 0);
	raw_service(&raw, 0);
	assert_true(raw_count(&raw, SW_ENET_C_HOLD_BYTES) > 0);
	reliable(65530);
	assert_int_equal(raw.runs, 1);
	assert_int_equal(raw.delivered_count, 27);
	for (uint32_t i = 0; i < 27; i++)
		assert_int_equal(raw.delivered[i].first, (uint8_t)(65530 + i));
	reliable(65535); /* again: behind the wrap now */
	reliable(21);
	assert_int_equal(raw.delivered_count, 28);
	assert_int_equal(raw_count(&raw, SW_ENET_C_DUPLICATES), 1);
	raw_free(&raw);
}

/* Sends one reliable packet, lets ms pass, and acknowledges it as of sent time + skew. */
static uint32_t acknowledged_after(uint32_t ms, int32_t skew)
{
	static const uint8_t payload[20];
	uint8_t out[32], *p;
	uint16_t seq, sent;

	raw_service(&raw, 0);
	raw_forget(&raw);
	assert_int_equal(
		sw_enet_send(raw.engine, raw.handle, 3, SW_ENET_RELIABLE, payload, sizeof payload),
		0);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 1);
	sent = wire_get16(raw.sent[0].data + 2);
	seq = wire_get16(raw.sent[0].data + raw.sent[0].bytes - sizeof payload - 4);
	for (; ms; ms--)
		raw_service(&raw, 1);
	p = raw_put_acknowledge(raw_header(&client, out, 1), 3, seq, (uint16_t)(sent + skew));
	return raw_say(&raw, &client, out, p);
}

/* Round trips are right on both sides of each wrap of the 16 bits; one of a time to come is
 * refused, also across the wrap. */
static void sent_time_wraps(void **state)
{
	struct sw_enet_peer_info info;

	(void)state;
	begin();
	for (int wrap = 0; wrap < 3; wrap++) {
		/* to 20 ms before it */
		while (((raw.now_ms + 1) & 0xffff) != 65536 - 20) {
			assert_int_equal(acknowledged_after(4, 0), 0);
			do
				raw_service(&raw, 1);
			while ((raw.now_ms + 1) % 500 && ((raw.now_ms + 1) & 0xffff) != 65516);
		}
		assert_int_equal(acknowledged_after(40, 0), 0);
		sw_enet_peer_info(raw.engine, raw.peer_index, &info);
		assert_in_range(info.rtt_ms, 5, 12); /* an eighth of 40, towards it */
		assert_int_equal(acknowledged_after(5, 6), SW_ENET_C_FUTURE_ACKNOWLEDGE);
		assert_int_equal(acknowledged_after(5, 5), 0);
		for (int i = 0; i < 100; i++)
			assert_int_equal(acknowledged_after(4, 0), 0);
	}
	assert_int_equal(raw.disconnects, 0);
	raw_free(&raw);
}

static void configure(uint32_t interval, uint32_t acceleration, uint32_t deceleration)
{
	static uint16_t seq = 1;
	uint8_t out[32], *p;

	p = wire_put_command(
		raw_header(&client, out, 1), WIRE_THROTTLE_CONFIGURE | WIRE_ACK_FLAG, 0xff, ++seq);
	wire_put32(p, interval);
	wire_put32(p + 4, acceleration);
	wire_put32(p + 8, deceleration);
	assert_int_equal(raw_rx(&raw, &client.address, out, 20), 0);
}

static uint32_t throttle(void)
{
	struct sw_enet_peer_info info;

	sw_enet_peer_info(raw.engine, raw.peer_index, &info);
	return info.throttle;
}

static void throttle_follows_its_configuration(void **state)
{
	static const struct {
		uint32_t acceleration, deceleration;
		uint32_t after_bad, after_good;
	} cases[] = {{2, 2, 30, 32}, {5, 7, 25, 30}, {0, 10, 22, 22}, {32, 32, 0, 32},
		{1, UINT32_MAX, 0, 1}, {UINT32_MAX, 20, 12, 32}, {3, 0, 32, 32}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		/* a steady 100 ms: that is what is normal; no interval ends below it */
		configure(1000, 1, 1);
		for (int k = 0; k < 100; k++)
			assert_int_equal(acknowledged_after(100, 0), 0);
		configure(100000, cases[i].acceleration, cases[i].deceleration);
		assert_int_equal(throttle(), 32);
		assert_int_equal(acknowledged_after(400, 0), 0);
		assert_int_equal(throttle(), cases[i].after_bad);
		assert_int_equal(acknowledged_after(50, 0), 0);
		assert_int_equal(throttle(), cases[i].after_good);
		raw_free(&raw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mtu_is_clamped),
		cmocka_unit_test(unsequenced_window),
		cmocka_unit_test(held_across_the_wrap),
		cmocka_unit_test(sent_time_wraps),
		cmocka_unit_test(throttle_follows_its_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
