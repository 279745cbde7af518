/* attack_test.c: proves that a client with a proven address, or who pretends to have an established
 * one's, cannot keep a place or memory for longer than an honest one, cannot take what others need,
 * and that memory comes back, however it was taken. Floods of strangers are flood_test.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "dataplane/enet/raw_engine.h"

static struct raw_engine raw;
static uint8_t payload[65536];

static void begin(struct sw_enet_config config, struct raw_client *client)
{
	assert_true(raw_begin(&raw, &config, client, 16));
}

/* Acknowledges the pings that were sent to it. */
static void say_acknowledged(const struct raw_client *client)
{
	uint8_t out[512], *p = raw_header(client, out, (uint16_t)raw.now_ms);

	for (uint32_t i = 0; i < raw.sent_count; i++) {
		const uint8_t *d = raw.sent[i].data;

		if (raw.sent[i].to.port == client->address.port && raw.sent[i].bytes == 8 &&
			d[4] == (WIRE_PING | WIRE_ACK_FLAG))
			p = raw_put_acknowledge(
				p, WIRE_CONTROL_CHANNEL, wire_get16(d + 6), wire_get16(d + 2));
	}
	if (p > out + 4)
		raw_say(&raw, client, out, p);
}

static void nothing_is_kept(void)
{
	assert_int_equal(sw_enet_peers(raw.engine), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_PEERS), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HOLD_BYTES), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_QUEUE_BYTES), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HALF_OPEN), 0);
}

/* Told to go, it acknowledges all but that, and never falls silent. */
static void invented_acknowledgements_keep_no_place(void **state)
{
	struct raw_client client;
	uint8_t out[64];

	(void)state;
	begin((struct sw_enet_config){0}, &client);
	assert_int_equal(sw_enet_disconnect(
				 raw.engine, raw.handle, SW_ENET_DISCONNECT, 9, SW_ENET_GONE_LOCAL),
		0);
	for (uint32_t ms = 0; ms < 100000 && !raw.disconnects; ms += 100) {
		uint8_t *p = raw_header(&client, out, (uint16_t)raw.now_ms);

		p = raw_put_acknowledge(p, WIRE_CONTROL_CHANNEL, 40000, raw.now_ms);
		p = raw_put_acknowledge(p, 0, 1, raw.now_ms);
		raw_say(&raw, &client, out, p);
		raw_service(&raw, 100);
	}
	assert_int_equal(raw.disconnects, 1);
	assert_int_equal(raw.gone_reason, SW_ENET_GONE_LOCAL);
	assert_int_equal(raw.gone_data, 9);
	raw_service(&raw, 1);
	nothing_is_kept();
	raw_free(&raw);
}

/* The client echoes the time that gives a round trip: 32 s of it are not waited for four times. */
static void an_invented_round_trip_keeps_no_place(void **state)
{
	struct raw_client client;
	uint8_t out[64];
	uint64_t silent_ms;

	(void)state;
	begin((struct sw_enet_config){0}, &client);
	for (uint32_t i = 1; i <= 60; i++) {
		assert_int_equal(
			sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_RELIABLE, payload, 9), 0);
		raw_service(&raw, 10);
		raw_say(&raw, &client, out,
			raw_put_acknowledge(raw_header(&client, out, (uint16_t)raw.now_ms), 0, i,
				raw.now_ms - (i % 2 ? 32000 : 1)));
	}
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_RELIABLE, payload, 9), 0);
	silent_ms = raw.now_ms;
	while (!raw.disconnects && raw.now_ms - silent_ms < 200000)
		raw_service(&raw, 100);
	assert_int_equal(raw.gone_reason, SW_ENET_GONE_TIMEOUT);
	assert_in_range(raw.now_ms - silent_ms, 5000, 62000);
	nothing_is_kept();
	raw_free(&raw);
}

/* The application ends it while it is announced: what else its first datagram says is not taken. */
static void ended_while_announced(void **state)
{
	struct raw_client client;
	uint8_t out[64], *p;
	const uint8_t *verify;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){0});
	raw.hang_up = true;
	client = (struct raw_client){.address = raw_source(1), .connect_id = 5};
	raw_rx(&raw, &client.address, out, raw_connect_bytes(out, 5, 1, 0));
	verify = raw.sent[0].data;
	client.peer_id = wire_get16(verify + 8);
	client.session = verify[11];
	p = raw_put_acknowledge(raw_header(&client, out, 1), WIRE_CONTROL_CHANNEL,
		wire_get16(verify + 6), wire_get16(verify + 2));
	p = wire_put_command(p, WIRE_DISCONNECT | WIRE_ACK_FLAG, WIRE_CONTROL_CHANNEL, 2);
	wire_put32(p, 3);
	raw_say(&raw, &client, out, p + 4);
	assert_int_equal(raw.connects, 1);
	assert_int_equal(sw_enet_peers(raw.engine), 0);
	raw_forget(&raw);
	raw_service(&raw, 1);
	assert_int_equal(raw.disconnects, 1);
	assert_int_equal(raw.gone_reason, SW_ENET_GONE_LOCAL);
	assert_int_equal(raw.sent_count, 1); /* it is told */
	nothing_is_kept();
	raw_free(&raw);
}

/* A queue for more commands than there are sequence numbers: two that wait would have the same. */
static void commands_that_wait_have_numbers_of_their_own(void **state)
{
	struct raw_client client;

	(void)state;
	begin((struct sw_enet_config){.peer_queue_bytes = 16 << 20, .pool_bytes = 64 << 20},
		&client);
	for (uint32_t i = 1; i <= UINT16_MAX; i++)
		assert_int_equal(
			sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_RELIABLE, payload, 1), 0);
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 1, SW_ENET_RELIABLE, payload, 1), 0);
	assert_int_equal(sw_enet_send(raw.engine, raw.handle, 0, 0, payload, 1), 0);
	assert_int_equal(
		sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_RELIABLE, payload, 1), -ENOBUFS);
	raw_service(&raw, 1);
	assert_int_equal(raw.gone_reason, SW_ENET_GONE_SLOW);
	nothing_is_kept();
	raw_free(&raw);
}

/* It sends all but the first packet, and lives on. */
static void a_gap_is_not_for_ever(void **state)
{
	struct raw_client client;

	(void)state;
	begin((struct sw_enet_config){.told = {.malformed = 11}}, &client);
	raw_say_reliable(&raw, &client, 0, 2, 20);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(raw_say_fragment(&raw, &client, true, 1, 7, 4, i), 0);
	for (uint32_t s = 0; s < 195; s++) {
		raw_forget(&raw);
		raw_service(&raw, 600);
		say_acknowledged(&client);
	}
	assert_int_equal(raw.disconnects, 0);
	for (uint32_t s = 195; s < 210; s++) {
		raw_forget(&raw);
		raw_service(&raw, 600);
		say_acknowledged(&client);
	}
	assert_int_equal(raw.disconnects, 1);
	assert_int_equal(raw.gone_reason, SW_ENET_GONE_ASSEMBLY);
	assert_int_equal(raw.gone_data, 11);
	nothing_is_kept();
	raw_free(&raw);
}

/* The destination is full, and a small packet that would release a full hold is sent again and
 * again: the run is not built each time; a short one is. */
static void a_refused_run_is_not_built_each_time(void **state)
{
	struct raw_client client;
	uint32_t large;

	(void)state;
	begin((struct sw_enet_config){.peer_hold_bytes = 65536, .pool_bytes = 4 << 20}, &client);
	for (uint16_t seq = 2; seq <= 251; seq++)
		raw_say_reliable(&raw, &client, 0, seq, 10);
	for (uint16_t seq = 2; seq <= 3; seq++)
		raw_say_reliable(&raw, &client, 1, seq, 10);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HELD), 252);
	raw.deaf = true;
	for (uint32_t i = 0; i < 70; i++) {
		raw_say_reliable(&raw, &client, 0, 1, 10);
		raw_service(&raw, i % 10 == 9);
	}
	assert_int_equal(raw.runs_refused, 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_WITHHELD_RING), 70);
	raw_service(&raw, 1);
	for (uint32_t i = 0; i < 10; i++)
		raw_say_reliable(&raw, &client, 0, 1, 10);
	assert_int_equal(raw.runs_refused, 2);
	raw_service(&raw, 8);
	for (uint32_t i = 0; i < 10; i++)
		raw_say_reliable(&raw, &client, 1, 1, 10);
	assert_int_equal(raw.runs_refused, 12);
	raw_say_reliable(&raw, &client, 1, 4, 10);
	raw_say_reliable(&raw, &client, 1, 5, 10);
	for (uint32_t i = 0; i < 10; i++)
		raw_say_reliable(&raw, &client, 1, 1, 10);
	assert_int_equal(raw.runs_refused, 13);
	raw_service(&raw, 1);
	/* by its bytes: eight packets, but large ones */
	for (uint16_t seq = 2; seq <= 9; seq++)
		raw_say_reliable(&raw, &client, 2, seq, 1300);
	large = raw.runs_refused;
	for (uint32_t i = 0; i < 10; i++)
		raw_say_reliable(&raw, &client, 2, 1, 10);
	assert_int_equal(raw.runs_refused - large, 1);
	raw_service(&raw, 10);
	raw.deaf = false;
	raw_forget(&raw);
	for (uint8_t channel = 0; channel < 3; channel++)
		raw_say_reliable(&raw, &client, channel, 1, 10);
	assert_int_equal(raw.runs, 3);
	assert_int_equal(raw_count(&raw, SW_ENET_C_DELIVERED), 251 + 5 + 9);
	raw_service(&raw, 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HOLD_BYTES), 0);
	raw_free(&raw);
}

/* Nobody is ended for what we put off: deliver() took nothing for minutes. */
static void a_gap_of_our_own_making(void **state)
{
	struct raw_client client;
	uint64_t repeat_ms = 500, next_ms;

	(void)state;
	begin((struct sw_enet_config){0}, &client);
	raw.deaf = true;
	raw_say_reliable(&raw, &client, 0, 2, 20);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(raw_say_fragment(&raw, &client, true, 1, 1, 4, i), 0);
	next_ms = raw.now_ms;
	for (uint32_t s = 0; s < 350; s++) {
		if (raw.now_ms >= next_ms) { /* as a client repeats */
			raw_say_reliable(&raw, &client, 0, 1, 20);
			raw_say_fragment(&raw, &client, true, 1, 1, 4, 3);
			next_ms += repeat_ms;
			repeat_ms *= 2;
		}
		raw_forget(&raw);
		raw_service(&raw, 600);
		say_acknowledged(&client);
	}
	assert_int_equal(raw.disconnects, 0);
	raw.deaf = false;
	raw_say_reliable(&raw, &client, 0, 1, 20);
	raw_say_fragment(&raw, &client, true, 1, 1, 4, 3);
	assert_int_equal(raw.delivered_count, 3);
	assert_int_equal(raw.delivered[1].first, 2);
	assert_int_equal(raw.delivered[2].bytes, 1600);
	raw_service(&raw, 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HOLD_BYTES), 0);
	raw_free(&raw);
}

/* Many hold what they can, and never send what is next: another's packet is still put together. */
static void hoarders_leave_room(void **state)
{
	enum { HOARDERS = 1500 };
	static struct raw_client hoarder[HOARDERS];
	struct raw_client client;
	uint64_t withheld;

	(void)state;
	begin((struct sw_enet_config){.peers_max = HOARDERS + 1, .peer_hold_bytes = 65536},
		&client);
	for (uint32_t i = 0; i < HOARDERS; i++)
		assert_true(raw_connect(&raw, &hoarder[i], 2 + i, 16));
	for (uint16_t round = 0; round < 500; round++) {
		withheld = raw_count(&raw, SW_ENET_C_WITHHELD_MEMORY);
		for (uint32_t i = 0; i < HOARDERS; i++)
			raw_say_reliable(&raw, &hoarder[i], 0, (uint16_t)(2 + round), 200);
		if (raw_count(&raw, SW_ENET_C_WITHHELD_MEMORY) - withheld == HOARDERS)
			break;
	}
	raw_forget(&raw);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(raw_say_fragment(&raw, &client, true, 0, 1, 20, i), 0);
	assert_int_equal(raw.delivered_count, 1);
	assert_int_equal(raw.delivered[0].bytes, 8000);
	/* and a channel beyond the first four has its state */
	raw_say_reliable(&raw, &client, 12, 1, 20);
	assert_int_equal(raw.delivered_count, 2);
	raw_free(&raw);
}

/* Every way to take memory, often enough to take the pool ten times over. */
static void memory_comes_back(void **state)
{
	struct raw_client client, other;
	uint8_t out[4096];
	uint16_t seq = 0, sent = 0, big = 0;

	(void)state;
	begin((struct sw_enet_config){.pool_bytes = 256 << 10, .peers_max = 2}, &client);
	assert_true(raw_connect(&raw, &other, 2, 255));
	for (uint32_t round = 0; round < 200; round++) {
		uint16_t before = raw_count(&raw, SW_ENET_C_DELIVERED);
		uint8_t *p;

		/* held, with a chain of blocks each, and released */
		for (uint16_t i = 2; i <= 10; i++)
			raw_say_reliable(&raw, &client, 0, (uint16_t)(seq + i), 1000);
		raw_say_reliable(&raw, &client, 0, (uint16_t)(seq + 1), 1000);
		seq = (uint16_t)(seq + 10);
		/* assembled, in order and not */
		for (uint32_t i = 0; i < 8; i++)
			raw_say_fragment(&raw, &client, true, 5, (uint16_t)(big + 9), 8, 7 - i);
		for (uint32_t i = 0; i < 8; i++)
			raw_say_fragment(&raw, &client, true, 5, (uint16_t)(big + 1), 8, i);
		big = (uint16_t)(big + 16);
		assert_int_equal(raw_count(&raw, SW_ENET_C_DELIVERED) - before, 12);
		/* unreliable, waiting for the first two and complete or not: the first two come */
		for (uint32_t i = 0; i < 3; i++)
			raw_say_fragment(&raw, &client, false, 6, (uint16_t)(round + 1), 4, i);
		p = raw_put_unreliable(
			raw_header(&client, out, 1), 7, (uint16_t)(round + 1), 1, payload, 1000);
		p = raw_put_unreliable(p, 7, (uint16_t)(round + 1), 2, payload, 1000);
		p = raw_put_reliable(p, 7, (uint16_t)(round + 1), payload, 10);
		p = raw_put_reliable(p, 6, (uint16_t)(round + 1), payload, 10);
		raw_say(&raw, &client, out, p);
		assert_int_equal(raw_count(&raw, SW_ENET_C_DELIVERED) - before, 16);
		/* sent, and acknowledged */
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(sw_enet_send(raw.engine, raw.info.peer, 200,
						 SW_ENET_RELIABLE, payload, i ? 1000 : 4000),
				0);
			assert_int_equal(
				sw_enet_send(raw.engine, raw.info.peer, 3, i, payload, 1000), 0);
		}
		raw_forget(&raw);
		raw_service(&raw, 1);
		p = raw_header(&other, out, 1);
		for (uint32_t i = 0; i < 5; i++) /* the large one in three parts */
			p = raw_put_acknowledge(p, 200, (uint16_t)(++sent), raw.now_ms);
		p = raw_put_acknowledge(p, 3, round + 1, raw.now_ms);
		raw_say(&raw, &other, out, p);
		if (round % 20 != 19)
			continue;
		for (int i = 0; i < 20; i++) { /* what waits in vain, goes */
			raw_forget(&raw);
			raw_service(&raw, 600);
			say_acknowledged(&client);
			say_acknowledged(&other);
		}
		assert_in_range(raw_count(&raw, SW_ENET_C_HOLD_BYTES), 1, 6 * 128); /* channels */
	}
	for (int i = 0; i < 400; i++)
		raw_service(&raw, 100);
	assert_int_equal(raw.disconnects, 2);
	nothing_is_kept();
	raw_free(&raw);
}

/* Many go at once and nobody takes the news: that is tried for some of them in a service, and a
 * player is served in each; in the end all are reported, once. */
static void many_go_while_nobody_listens(void **state)
{
	enum { LEAVING = 1000 };
	static struct raw_client leaving[LEAVING];
	struct raw_client client;
	uint8_t out[16], *p;

	(void)state;
	begin((struct sw_enet_config){.peers_max = LEAVING + 1, .half_open_max = 16}, &client);
	for (uint32_t i = 0; i < LEAVING; i++)
		assert_true(raw_connect(&raw, &leaving[i], 2 + i, 1));
	raw_service(&raw, 0);
	raw.refuse_events = true;
	for (uint32_t i = 0; i < LEAVING; i++) {
		p = wire_put_command(raw_header(&leaving[i], out, 1),
			WIRE_DISCONNECT | WIRE_UNSEQUENCED_FLAG, WIRE_CONTROL_CHANNEL, 1);
		wire_put32(p, 0);
		assert_int_equal(raw_say(&raw, &leaving[i], out, p + 4), 0);
	}
	raw_service(&raw, 0);
	for (uint16_t turn = 1; turn <= 100; turn++) {
		uint32_t refused = raw.events_refused;

		raw_say_reliable(&raw, &client, 0, turn, 10);
		raw_forget(&raw);
		raw_service(&raw, 0);
		assert_int_equal(raw.sent_count, 1);
		assert_in_range(raw.events_refused - refused, 1, 64);
		assert_true(sw_enet_next_ms(raw.engine) <= raw.now_ms + 1);
	}
	assert_int_equal(raw.disconnects, 0);
	raw.refuse_events = false;
	for (uint32_t turn = 0; turn < 20; turn++)
		raw_service(&raw, 0);
	assert_int_equal(raw.disconnects, LEAVING);
	assert_int_equal(sw_enet_peers(raw.engine), 1);
	assert_true(raw_connect(&raw, &leaving[0], 2, 1));
	raw_free(&raw);
}

/* Of IPv6 a source is the /64: whoever has one address of it has them all. */
static void a_source_is_a_network(void **state)
{
	struct sw_enet_addr from = {.ip = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 1}, .port = 5};
	uint8_t out[64];

	(void)state;
	raw_new(&raw,
		&(struct sw_enet_config){.source_connects_per_s = 1, .source_connects_burst = 7});
	for (uint32_t i = 8; i < 17; i++) {
		for (uint32_t k = 8; k < 16; k++)
			from.ip[k] = k == i ? 9 : 1;
		raw_rx(&raw, &from, out, raw_connect_bytes(out, 1000 + i, 1, 0));
		assert_int_equal(raw.refused, i < 15 ? 0 : SW_ENET_C_CONNECT_SOURCE_RATE);
	}
	from.ip[7] = 2;
	raw_rx(&raw, &from, out, raw_connect_bytes(out, 7, 1, 0));
	assert_int_equal(raw.refused, 0);
	raw_free(&raw);
}

/* What a packet reserved is what its fragments return, at lengths around whole fragments. */
static void fragments_return_what_they_took(void **state)
{
	const uint32_t fragment = 1400 - WIRE_HEADER_BYTES - WIRE_SEND_FRAGMENT_BYTES;
	struct raw_client client;

	(void)state;
	begin((struct sw_enet_config){0}, &client);
	for (uint32_t n = 2; n <= 4; n++) {
		for (int32_t more = -1; more <= 1; more++) {
			assert_int_equal(
				sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_UNRELIABLE_FRAGMENT,
					payload, n * fragment + (uint32_t)more),
				0);
			raw_forget(&raw);
			raw_service(&raw, 0);
			assert_int_equal(raw.sent_count, n + (more > 0));
			assert_int_equal(raw_count(&raw, SW_ENET_C_QUEUE_BYTES), 0);
		}
	}
	raw_free(&raw);
}

/* Someone who knows the address and port of a player, and guesses the rest: of 16,384 pairs of peer
 * id and session one is right, and a wrong one draws nothing. */
static void a_spoofed_leave(void **state)
{
	struct raw_client client, guess;
	uint64_t sent;

	(void)state;
	begin((struct sw_enet_config){0}, &client);
	guess = client;
	sent = raw.sent_total;
	for (uint32_t n = 0; n < WIRE_NO_PEER * 4; n++) {
		uint8_t out[16], *p;

		guess.peer_id = (uint16_t)(n / 4);
		guess.session = (uint8_t)(n % 4);
		if (guess.peer_id == client.peer_id && guess.session == client.session)
			continue;
		p = wire_put_command(raw_header(&guess, out, 1),
			WIRE_DISCONNECT | WIRE_UNSEQUENCED_FLAG, WIRE_CONTROL_CHANNEL, 1);
		wire_put32(p, 1);
		assert_int_not_equal(raw_say(&raw, &guess, out, p + 4), 0);
	}
	raw_service(&raw, 1);
	assert_int_equal(raw.sent_total, sent);
	assert_int_equal(sw_enet_peers(raw.engine), 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_WRONG_SESSION), 3);
	assert_int_equal(raw_count(&raw, SW_ENET_C_UNKNOWN_PEER), 4 * (WIRE_NO_PEER - 1));
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invented_acknowledgements_keep_no_place),
		cmocka_unit_test(an_invented_round_trip_keeps_no_place),
		cmocka_unit_test(ended_while_announced),
		cmocka_unit_test(commands_that_wait_have_numbers_of_their_own),
		cmocka_unit_test(a_gap_is_not_for_ever),
		cmocka_unit_test(a_gap_of_our_own_making),
		cmocka_unit_test(a_refused_run_is_not_built_each_time),
		cmocka_unit_test(hoarders_leave_room),
		cmocka_unit_test(memory_comes_back),
		cmocka_unit_test(many_go_while_nobody_listens),
		cmocka_unit_test(a_source_is_a_network),
		cmocka_unit_test(fragments_return_what_they_took),
		cmocka_unit_test(a_spoofed_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
