/* peer_rate_test.c: proves that a peer is read at its rate and no faster, whatever it sends: what
 * is beyond is refused by name, unread, and lost to nobody but itself; that what of it was reliable
 * is not acknowledged and is taken when it comes again; that nobody else is charged, and the
 * clock's wraps and pauses charge nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/enet/raw_engine.h"

#define RATE 100u

static struct raw_engine raw;
static struct raw_client client, other;
static uint8_t payload[64];
static uint16_t unreliable_seq;

static void begin(uint32_t rate)
{
	const struct sw_enet_config config = {
		.peer_datagrams_per_s = rate, .compression = SW_ENET_ANY};

	raw_new(&raw, &config);
	assert_true(raw_connect(&raw, &client, 1, 8));
	assert_true(raw_connect(&raw, &other, 2, 8));
	raw_service(&raw, 0);
	raw_forget(&raw);
	unreliable_seq = 0;
}

static uint32_t unreliable(const struct raw_client *from, uint8_t channel)
{
	uint8_t out[64], *p = raw_header(from, out, (uint16_t)raw.now_ms);

	return raw_say(
		&raw, from, out, raw_put_unreliable(p, channel, 0, ++unreliable_seq, payload, 8));
}

static uint32_t reliable(uint16_t seq)
{
	return raw_say_reliable(&raw, &client, 0, seq, 8);
}

static uint32_t ping(uint16_t seq)
{
	uint8_t out[16], *p = raw_header(&client, out, (uint16_t)raw.now_ms);

	return raw_say(&raw, &client, out,
		wire_put_command(p, WIRE_PING | WIRE_ACK_FLAG, WIRE_CONTROL_CHANNEL, seq));
}

static uint32_t unknown_command(void)
{
	uint8_t out[16], *p = raw_header(&client, out, (uint16_t)raw.now_ms);

	return raw_say(&raw, &client, out, wire_put_command(p, 15, 0, 1));
}

static uint32_t nonsense(void)
{
	uint8_t out[16], *p = raw_header(&client, out, (uint16_t)raw.now_ms);

	out[0] |= WIRE_COMPRESSED >> 8;
	memset(p, 0xff, 8);
	return raw_say(&raw, &client, out, p + 8);
}

/* Sends until it is refused for its rate; how many were not. */
static uint32_t pour(uint32_t (*one)(void))
{
	uint32_t n = 0;

	while (n < 10 * RATE && one() != SW_ENET_C_PEER_RATE)
		n++;
	return n;
}

static uint32_t one_plain(void)
{
	return unreliable(&client, 0);
}

static uint32_t one_far_channel(void)
{
	return unreliable(&client, 7);
}

static uint32_t one_ping(void)
{
	return ping(1); /* again and again */
}

/* Whatever it is: good on the short way and on the long one, repeated, malformed, compressed. */
static void at_its_rate(void **state)
{
	uint32_t (*const kinds[])(void) = {
		one_plain, one_far_channel, one_ping, unknown_command, nonsense};

	(void)state;
	for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
		uint64_t refused;
		uint32_t read;

		begin(RATE);
		raw_service(&raw, 1000); /* what the handshake took is paid off */
		refused = raw_count(&raw, SW_ENET_C_PEER_RATE);
		read = pour(kinds[kind]);
		assert_int_equal(read, RATE);
		assert_int_equal(raw_count(&raw, SW_ENET_C_PEER_RATE), refused + 1);
		/* a second, in steps that bring one, or none, or some at once */
		for (uint32_t ms = 0; ms < 1000;) {
			uint32_t step = 1 + ms % 37;

			raw_service(&raw, step);
			ms += step;
			read += pour(kinds[kind]);
			assert_in_range(read, RATE + ms * RATE / 1000 - 1, RATE + ms * RATE / 1000);
		}
		/* a pause gives no more than a second's worth */
		for (uint32_t i = 0; i < 4; i++)
			raw_service(&raw, 900);
		assert_int_equal(pour(kinds[kind]), RATE);
		/* the other was not charged */
		assert_int_equal(unreliable(&other, 0), 0);
		raw_free(&raw);
	}
}

/* Acknowledged or withheld, never acknowledged and lost. */
static void reliable_comes_again(void **state)
{
	uint32_t taken = 0;

	(void)state;
	begin(RATE);
	for (uint16_t seq = 1; seq <= 200; seq++)
		taken += reliable(seq) == 0;
	raw_service(&raw, 0);
	assert_in_range(taken, RATE - 2, RATE);
	assert_int_equal(raw.delivered_count, taken);
	assert_true(raw_count(&raw, SW_ENET_C_WITHHELD_MEMORY) == 0);
	/* it repeats what was not acknowledged */
	for (uint16_t seq = (uint16_t)(taken + 1); seq <= 200; seq++) {
		raw_service(&raw, 11);
		assert_int_equal(reliable(seq), 0);
	}
	assert_int_equal(raw.delivered_count, 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(raw.delivered[i].first, (uint8_t)(i + 1));
	raw_free(&raw);
}

/* Who knows address, port and id, but not the session, uses up nothing of the peer. */
static void others_do_not_pay(void **state)
{
	struct raw_client guess;

	(void)state;
	begin(RATE);
	guess = client;
	guess.session = (client.session + 1) & 3;
	for (uint32_t i = 0; i < 10 * RATE; i++)
		assert_int_equal(unreliable(&guess, 0), SW_ENET_C_WRONG_SESSION);
	for (uint32_t i = 0; i < 10 * RATE; i++)
		(void)unreliable(&other, 0);
	assert_in_range(pour(one_plain), RATE - 2, RATE);
	raw_free(&raw);
}

/* The clock of it wraps every 71 minutes; a session without a handshake may be silent for longer.
 */
static void silence_and_wraps(void **state)
{
	static const uint32_t minutes[] = {0, 1, 20, 36, 50, 70, 72, 100};
	const struct sw_enet_preset preset = {.address = raw_source(9), .id = 5, .channels = 8};

	(void)state;
	begin(RATE);
	client = (struct raw_client){.address = preset.address, .peer_id = preset.id};
	assert_int_equal(sw_enet_peer_preset(raw.engine, &preset), 0);
	for (size_t i = 0; i < sizeof minutes / sizeof *minutes; i++) {
		for (uint32_t s = 0; s < 60 * minutes[i]; s++)
			raw_service(&raw, 1000);
		unreliable_seq = 0; /* repeated numbers are delivered to it */
		assert_int_equal(pour(one_plain), RATE);
	}
	raw_free(&raw);
}

static void no_limit(void **state)
{
	(void)state;
	begin(0);
	assert_int_equal(pour(one_plain), 10 * RATE);
	assert_int_equal(raw_count(&raw, SW_ENET_C_PEER_RATE), 0);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_its_rate),
		cmocka_unit_test(reliable_comes_again),
		cmocka_unit_test(others_do_not_pay),
		cmocka_unit_test(silence_and_wraps),
		cmocka_unit_test(no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
