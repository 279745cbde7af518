/* rates_test.c: proves the engine's arithmetic number by number: round trip, variance and throttle
 * after every acknowledgement, against the formulas of libenet's peer.c and protocol.c written down
 * again; the throttle's limit and the window that bandwidth limits give; when a command is repeated
 * and when its peer is given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/enet/raw_engine.h"

#define JITTER_MS 20u /* ours: what a round trip may exceed the mean by at least */

static struct raw_engine raw;
static struct raw_client client;
static uint8_t payload[4096];
static uint16_t control_seq;

static struct sw_enet_peer_info info(void)
{
	struct sw_enet_peer_info out;

	sw_enet_peer_info(raw.engine, 0, &out);
	return out;
}

static void rx(const uint8_t *out, const uint8_t *end)
{
	assert_int_equal(raw_say(&raw, &client, out, end), 0);
}

static void say_acknowledge(uint8_t channel, uint16_t seq, uint16_t sent_time)
{
	uint8_t out[16], *p = raw_header(&client, out, 1);

	rx(out, raw_put_acknowledge(p, channel, seq, sent_time));
}

static void say_numbers(uint8_t command, const uint32_t *numbers, uint32_t count)
{
	uint8_t out[32], *p;

	p = wire_put_command(raw_header(&client, out, 1), command | WIRE_ACK_FLAG,
		WIRE_CONTROL_CHANNEL, ++control_seq);
	for (uint32_t i = 0; i < count; i++, p += 4)
		wire_put32(p, numbers[i]);
	rx(out, p);
}

static uint16_t sent_time(uint32_t i)
{
	assert_true(i < raw.sent_count);
	return wire_get16(raw.sent[i].data + 2);
}

static void begin(struct sw_enet_config config)
{
	assert_true(raw_begin(&raw, &config, &client, 4));
	control_seq = 1;
}

/* What libenet keeps of a peer. */
struct model {
	uint32_t rtt, variance, last_rtt, last_variance, lowest, highest;
	uint32_t throttle, interval, acceleration, deceleration;
	uint64_t epoch;
};

static void model_acknowledge(struct model *m, uint32_t rtt, uint64_t now_ms)
{
	uint32_t off = rtt > m->rtt ? rtt - m->rtt : m->rtt - rtt;

	if (m->last_rtt <= m->last_variance)
		m->throttle = 32;
	else if (rtt <= m->last_rtt)
		m->throttle =
			m->throttle + m->acceleration < 32 ? m->throttle + m->acceleration : 32;
	else if (rtt > m->last_rtt + 2 * m->last_variance && rtt > m->last_rtt + JITTER_MS)
		m->throttle = m->throttle > m->deceleration ? m->throttle - m->deceleration : 0;
	m->variance -= m->variance / 4;
	m->variance += off / 4;
	if (rtt >= m->rtt)
		m->rtt += off / 8;
	else
		m->rtt -= off / 8;
	if (m->rtt < m->lowest)
		m->lowest = m->rtt;
	if (m->variance > m->highest)
		m->highest = m->variance;
	if (m->epoch && now_ms - m->epoch < m->interval)
		return;
	m->last_rtt = m->lowest;
	m->last_variance = m->highest ? m->highest : 1;
	m->lowest = m->rtt;
	m->highest = m->variance;
	m->epoch = now_ms;
}

static void as_libenet_counts(void **state)
{
	struct model m = {.rtt = 1,
		.variance = 1,
		.last_rtt = 1, /* the handshake's own sample, of no time at all */
		.last_variance = 1,
		.lowest = 1,
		.highest = 1,
		.throttle = 32,
		.interval = 5000,
		.acceleration = 2,
		.deceleration = 2};
	uint32_t random = 1, throttled = 0;

	(void)state;
	begin((struct sw_enet_config){0});
	m.epoch = raw.now_ms;
	assert_int_equal(info().rtt_ms, 1);
	assert_int_equal(info().rtt_variance_ms, 1);
	for (uint32_t i = 1; i <= 3000; i++) {
		struct sw_enet_peer_info got;
		uint32_t rtt, base = 20 + i / 500 % 3 * 60;

		random = random * 1664525 + 1013904223;
		/* now steady, now wild */
		rtt = base + (i / 100 % 2 ? (random >> 16) % (base * 2) : (random >> 16) % 4);
		if (i % 700 == 0) {
			m.interval = 1000 + i;
			m.acceleration = 1 + i / 700;
			m.deceleration = 2 + i / 700;
			say_numbers(WIRE_THROTTLE_CONFIGURE,
				(uint32_t[]){m.interval, m.acceleration, m.deceleration}, 3);
			raw_service(&raw, 0);
		}
		assert_int_equal(
			sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_RELIABLE, payload, 5), 0);
		raw_forget(&raw);
		raw_service(&raw, 0);
		assert_int_equal(raw.sent_count, 1);
		raw.now_ms += rtt;
		say_acknowledge(0, (uint16_t)i, sent_time(0));
		model_acknowledge(&m, rtt, raw.now_ms);
		got = info();
		assert_int_equal(got.rtt_ms, m.rtt);
		assert_int_equal(got.rtt_variance_ms, m.variance);
		assert_int_equal(got.throttle, m.throttle);
		throttled += m.throttle < 32;
	}
	assert_in_range(throttled, 100, 2900);
	assert_int_equal(info().packets_lost, 0);
	raw_free(&raw);
}

/* The handshake is a sample only when there is no doubt which VERIFY_CONNECT was acknowledged. */
static void the_first_sample(void **state)
{
	(void)state;
	for (uint32_t connects = 1; connects <= 2; connects++) {
		uint8_t out[64], *p;
		const uint8_t *verify;

		raw_new(&raw, &(struct sw_enet_config){0});
		client = (struct raw_client){.address = raw_source(1), .connect_id = 5};
		for (uint32_t i = 0; i < connects; i++) {
			raw_rx(&raw, &client.address, out, raw_connect_bytes(out, 5, 1, 0));
			raw_service(&raw, 90);
		}
		verify = raw.sent[0].data;
		client.peer_id = wire_get16(verify + 8);
		client.session = verify[11];
		p = wire_put_command(raw_header(&client, out, 1), WIRE_ACKNOWLEDGE,
			WIRE_CONTROL_CHANNEL, wire_get16(verify + 6));
		memcpy(p, verify + 6, 2);
		memcpy(p + 2, verify + 2, 2);
		rx(out, p + 4);
		assert_int_equal(info().rtt_ms, connects == 1 ? 90 : 500);
		assert_int_equal(info().rtt_variance_ms, connects == 1 ? 45 : 0);
		raw_free(&raw);
	}
}

/* After a second in which bytes were queued, with what the client takes a second. */
static uint32_t throttle_after(uint32_t ours, uint32_t theirs, uint32_t packets, uint32_t bytes)
{
	uint32_t throttle;

	begin((struct sw_enet_config){
		.outgoing_bandwidth = ours, .peer_queue_bytes = 1 << 20, .pool_bytes = 8 << 20});
	say_numbers(WIRE_BANDWIDTH_LIMIT, (uint32_t[]){theirs, 0}, 2);
	for (uint32_t i = 0; i < packets; i++)
		assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, 0, payload, bytes - 8), 0);
	raw_service(&raw, 999);
	assert_int_equal(info().throttle, 32);
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, 0, payload, bytes - 8), 0);
	raw_service(&raw, 1);
	throttle = info().throttle;
	raw_free(&raw);
	return throttle;
}

static void limits_of_bandwidth(void **state)
{
	(void)state;
	assert_int_equal(throttle_after(0, 0, 100, 1000), 32);
	assert_int_equal(throttle_after(0, 50500, 100, 1000), 16); /* 101 are asked for */
	assert_int_equal(throttle_after(50500, 0, 100, 1000), 16);
	assert_int_equal(throttle_after(25250, 50500, 100, 1000), 8);
	assert_int_equal(throttle_after(50500, 25250, 100, 1000), 8);
	assert_int_equal(throttle_after(0, 101000, 100, 1000), 32);
	assert_int_equal(throttle_after(0, 1, 100, 1000), 1); /* never quite nothing */
}

/* No more than the window is in flight, and each acknowledgement lets as much go again. */
static void window_of(uint32_t theirs, uint32_t window)
{
	uint32_t in_flight, lost = 0;

	begin((struct sw_enet_config){.peer_queue_bytes = 1 << 20, .pool_bytes = 8 << 20});
	say_numbers(WIRE_BANDWIDTH_LIMIT, (uint32_t[]){theirs, 0}, 2);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(
			sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_RELIABLE, payload, 1024),
			0);
	raw_service(&raw, 1);
	in_flight = info().reliable_in_flight_bytes;
	assert_int_equal(in_flight, window < 100 * 1024 ? window : 100 * 1024);
	assert_int_equal(info().packets_sent, in_flight / 1024);
	say_acknowledge(0, 1, sent_time(0));
	assert_int_equal(info().reliable_in_flight_bytes, in_flight - 1024);
	raw_service(&raw, 0);
	assert_int_equal(info().reliable_in_flight_bytes, in_flight);
	raw_service(&raw, 900);
	lost = (uint32_t)info().packets_lost;
	assert_true(lost >= in_flight / 1024);
	raw_free(&raw);
}

static void windows(void **state)
{
	(void)state;
	window_of(0, 65536);
	window_of(1, 4096);
	window_of(65536, 4096);
	window_of(131071, 4096);
	window_of(131072, 8192);
	window_of(1u << 20, 65536);
	window_of(UINT32_MAX, 65536);
}

/* Whole life of a command that is never acknowledged. rtt: the only sample. */
static void repeated_at(uint32_t rtt_ms, bool heard, uint32_t gone_ms)
{
	uint32_t rto = rtt_ms + 4 * ((rtt_ms + 1) / 2), due, age = 0;

	raw_new(&raw, &(struct sw_enet_config){0});
	{
		uint8_t out[64], *p;
		const uint8_t *verify;

		client = (struct raw_client){.address = raw_source(1), .connect_id = 5};
		raw_rx(&raw, &client.address, out, raw_connect_bytes(out, 5, 1, 0));
		raw.now_ms += rtt_ms;
		verify = raw.sent[0].data;
		client.peer_id = wire_get16(verify + 8);
		client.session = verify[11];
		p = wire_put_command(raw_header(&client, out, 1), WIRE_ACKNOWLEDGE,
			WIRE_CONTROL_CHANNEL, wire_get16(verify + 6));
		memcpy(p, verify + 6, 2);
		memcpy(p + 2, verify + 2, 2);
		rx(out, p + 4);
	}
	if (rto < 10)
		rto = 10;
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_RELIABLE, payload, 5), 0);
	raw_service(&raw, 0);
	raw_forget(&raw);
	for (due = rto; !raw.disconnects; age++) {
		if (heard && age % 1000 == 0) {
			uint8_t out[8];

			rx(out, raw_header(&client, out, 1));
		}
		raw_service(&raw, 1);
		if (age + 1 == due && !raw.disconnects) {
			assert_int_equal(raw.sent_count, 1);
			rto = 2 * rto < 30000 ? 2 * rto : 30000;
			due += rto;
		} else {
			assert_int_equal(raw.sent_count, 0);
		}
		raw_forget(&raw);
		assert_true(age < 200000);
	}
	assert_int_equal(age, gone_ms);
	assert_int_equal(raw.gone_reason, SW_ENET_GONE_TIMEOUT);
	raw_free(&raw);
}

static void repetition_and_the_end(void **state)
{
	(void)state;
	repeated_at(100, false, 300 * 63);   /* the sixth time, more than 5 s after the first */
	repeated_at(1, false, 10 * 511);     /* the sixth was too soon */
	repeated_at(1000, false, 3000 * 15); /* 30 s are over */
	repeated_at(100, true, 300 * 127 + 30000); /* heard: twice 30 s */
}

/* What an idle loop may sleep for, in the caller's time, which our stall has left behind. */
static void next_time(void **state)
{
	(void)state;
	begin((struct sw_enet_config){0});
	assert_int_equal(sw_enet_next_ms(raw.engine), raw.now_ms + 500);
	for (uint32_t ms = 1; ms < 500; ms++) {
		raw_service(&raw, 1);
		assert_int_equal(sw_enet_next_ms(raw.engine), raw.now_ms + 500 - ms);
	}
	assert_int_equal(raw.sent_count, 0);
	raw_service(&raw, 1);
	assert_int_equal(raw.sent_count, 1);
	/* the ping's repetition: after 1 + 4 * 1 ms, but no less than 10 */
	assert_int_equal(sw_enet_next_ms(raw.engine), raw.now_ms + 10);
	say_acknowledge(WIRE_CONTROL_CHANNEL, wire_get16(raw.sent[0].data + 6), sent_time(0));
	raw_service(&raw, 5);
	raw_service(&raw, 100000); /* of which a second and what was due happened */
	assert_int_equal(raw_count(&raw, SW_ENET_C_STALLS), 1);
	assert_in_range(raw_count(&raw, SW_ENET_C_STALL_MS), 98000, 99000);
	assert_int_equal(sw_enet_peers(raw.engine), 1);
	assert_in_range(sw_enet_next_ms(raw.engine), raw.now_ms + 1, raw.now_ms + 500);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_libenet_counts),
		cmocka_unit_test(the_first_sample),
		cmocka_unit_test(limits_of_bandwidth),
		cmocka_unit_test(windows),
		cmocka_unit_test(repetition_and_the_end),
		cmocka_unit_test(next_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
