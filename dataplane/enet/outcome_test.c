/* outcome_test.c: proves what a peer's packets come to at each edge: of the windows, of fragments
 * that almost fit, of what waits and for what, of what is owed; each drop under its name; and that
 * the table of peers finds everyone while others come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/enet/range_coder.h"
#include "dataplane/enet/raw_engine.h"

static struct raw_engine raw;
static uint8_t payload[4096];

static void begin(struct sw_enet_config config, struct raw_client *client)
{
	assert_true(raw_begin(&raw, &config, client, 16));
}

/* What may wait and what is out of reach, at each edge of the windows. */
static void edges_of_the_windows(void **state)
{
	static const struct {
		uint16_t start, number;
		enum sw_enet_counter counter;
	} cases[] = {
		{6 * 4096 + 4095, 0, SW_ENET_C_HELD},
		{6 * 4096 + 4095, 1, SW_ENET_C_FAR_AHEAD}, /* its own number is in the seventh */
		{7 * 4096, 0, SW_ENET_C_FAR_AHEAD},
		{8 * 4096 + 4095, 0, SW_ENET_C_FAR_AHEAD},
		{8 * 4096 + 4095, 1, SW_ENET_C_FAR_AHEAD},
		{9 * 4096, 0, SW_ENET_C_DUPLICATES},
		{UINT16_MAX, 0, SW_ENET_C_DUPLICATES},
		{0, 0, SW_ENET_C_DUPLICATES},
		{4096, 1, SW_ENET_C_HELD},
	};
	struct raw_client client;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		begin((struct sw_enet_config){0}, &client);
		assert_int_equal(raw_say_fragment(&raw, &client, true, 0, cases[i].start, 2,
					 cases[i].number),
			0);
		assert_int_equal(raw_count(&raw, cases[i].counter), 1);
		assert_int_equal(raw_count(&raw, SW_ENET_C_HELD) +
					 raw_count(&raw, SW_ENET_C_FAR_AHEAD) +
					 raw_count(&raw, SW_ENET_C_DUPLICATES),
			1);
		raw_free(&raw);
	}
}

/* Fragments that would leave holes, overlap, or say one thing and carry another. */
static void fragments_that_do_not_fit(void **state)
{
	static const struct {
		uint32_t count, number, total, offset, bytes;
		uint32_t refusal;
	} cases[] = {
		{4, 1, 1600, 400, 400, 0},
		{4, 3, 1500, 1200, 300, 0},
		{1, 0, 400, 0, 400, 0},
		{4, 4, 1600, 1600, 0, SW_ENET_C_BAD_FRAGMENT},
		{4, 5, 1600, 400, 400, SW_ENET_C_BAD_FRAGMENT},
		{0, 0, 400, 0, 400, SW_ENET_C_BAD_FRAGMENT},
		{4, 0, 1600, 1, 400, SW_ENET_C_BAD_FRAGMENT},
		{4, 2, 1600, 801, 400, SW_ENET_C_BAD_FRAGMENT}, /* no multiple */
		{4, 2, 1600, 0, 400, SW_ENET_C_BAD_FRAGMENT},
		{4, 1, 1600, 400, 399, SW_ENET_C_BAD_FRAGMENT},
		{4, 1, 1600, 400, 401, SW_ENET_C_BAD_FRAGMENT},
		{4, 3, 1600, 1200, 399, SW_ENET_C_BAD_FRAGMENT},
		{4, 1, 1200, 400, 400, SW_ENET_C_BAD_FRAGMENT}, /* three would do */
		{4, 1, 1601, 400, 400, SW_ENET_C_BAD_FRAGMENT}, /* four would not */
		{4, 1, 1600, 1600, 400, SW_ENET_C_BAD_FRAGMENT},
		{4, 1, 1600, UINT32_MAX, 400, SW_ENET_C_BAD_FRAGMENT},
		{500, 1, 400, 0, 1, SW_ENET_C_BAD_FRAGMENT}, /* less than a byte each */
		{1024 * 1024 + 1, 1, 8000, 1, 1, SW_ENET_C_BAD_FRAGMENT},
		{0x6001, 1, 8192, 1, 1, SW_ENET_C_BAD_FRAGMENT},
		{4, 1, 8193, 2100, 2100, SW_ENET_C_OVERSIZE},
		{2, 1, UINT32_MAX, 400, 400, SW_ENET_C_OVERSIZE},
	};
	struct raw_client client;
	uint8_t out[4096];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (uint32_t reliable = 0; reliable < 2; reliable++) {
			uint8_t *p;

			begin((struct sw_enet_config){0}, &client);
			p = raw_put_fragment(raw_header(&client, out, 1), reliable, 0,
				reliable ? (uint16_t)(1 + cases[i].number) : 0, 1, cases[i].count,
				cases[i].number, cases[i].total, cases[i].offset, payload,
				cases[i].bytes);
			assert_int_equal(raw_say(&raw, &client, out, p), cases[i].refusal);
			if (cases[i].refusal)
				assert_int_equal(raw_count(&raw, SW_ENET_C_HELD), 0);
			raw_service(&raw, 1);
			assert_int_equal(
				raw.disconnects, cases[i].refusal == SW_ENET_C_OVERSIZE ? 1 : 0);
			raw_free(&raw);
		}
	}
}

/* Unreliable packets that wait: told apart by channel, predecessor and number. */
static void what_waits_is_told_apart(void **state)
{
	static const uint8_t order[] = {'r', 11, 12, 'r', 21, 22};
	struct raw_client client;
	uint8_t out[512], *p;

	(void)state;
	begin((struct sw_enet_config){0}, &client);
	p = raw_header(&client, out, 1);
	for (uint32_t again = 0; again < 2; again++) { /* the second time each is a repetition */
		for (uint8_t channel = 0; channel < 2; channel++)
			for (uint16_t seq = 1; seq <= 2; seq++)
				for (uint16_t number = 1; number <= 2; number++)
					p = raw_put_unreliable(p, channel, seq, number,
						&(uint8_t){(uint8_t)(10 * seq + number)}, 1);
	}
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_STALE_UNRELIABLE), 8);
	assert_int_equal(raw.delivered_count, 0);
	for (uint16_t seq = 1; seq <= 2; seq++) {
		p = raw_put_reliable(raw_header(&client, out, 1), 1, seq, "r", 1);
		assert_int_equal(raw_say(&raw, &client, out, p), 0);
	}
	assert_int_equal(raw.delivered_count, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(raw.delivered[i].first, order[i]);
		assert_int_equal(raw.delivered[i].channel, 1);
	}
	raw_forget(&raw);
	/* a fragmented one behind what is to come has numbers of its own: 1, though 2 was the last
	 */
	for (uint32_t i = 0; i < 2; i++) {
		p = raw_put_fragment(
			raw_header(&client, out, 1), false, 1, 3, 1, 2, i, 20, i * 10, payload, 10);
		assert_int_equal(raw_say(&raw, &client, out, p), 0);
	}
	p = raw_put_reliable(raw_header(&client, out, 1), 1, 3, "r", 1);
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw.delivered_count, 2);
	assert_int_equal(raw.delivered[1].bytes, 20);
	raw_forget(&raw);
	/* of the other channel the second predecessor comes first: held; then all */
	p = raw_put_reliable(raw_header(&client, out, 1), 0, 2, "r", 1);
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw.delivered_count, 0);
	p = raw_put_reliable(raw_header(&client, out, 1), 0, 1, "r", 1);
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw.delivered_count, 4); /* both at once: those after the first are old */
	assert_int_equal(raw.delivered[2].first, 21);
	assert_int_equal(raw_count(&raw, SW_ENET_C_HOLD_BYTES), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_STALE_UNRELIABLE), 10);
	raw_free(&raw);
}

/* Each unreliable packet that is not delivered is counted as what it died of; one that the
 * destination had no room for may come again if ENet repeats it. */
static void what_is_dropped_is_counted(void **state)
{
	struct raw_client client;
	uint8_t out[2048], *p;

	(void)state;
	begin((struct sw_enet_config){0}, &client);
	raw.deaf = true;
	p = raw_put_unreliable(raw_header(&client, out, 1), 0, 0, 1, "u", 1);
	for (uint32_t i = 0; i < 2; i++) {
		p = wire_put_command(p, WIRE_SEND_UNSEQUENCED | WIRE_UNSEQUENCED_FLAG, 0, 0);
		wire_put16(p, 7);
		wire_put16(p + 2, 1);
		p[4] = 's';
		p += 5;
	}
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_DROPPED_RING), 3);
	raw.deaf = false;
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw.delivered_count, 1);
	assert_int_equal(raw.delivered[0].first, 's');
	assert_int_equal(raw_count(&raw, SW_ENET_C_DELIVERED), 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_STALE_UNRELIABLE), 2);
	/* 32 may wait */
	p = raw_header(&client, out, 1);
	for (uint16_t i = 1; i <= 40; i++)
		p = raw_put_unreliable(p, 0, 5, i, "w", 1);
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_DROPPED_MEMORY), 8);
	assert_int_equal(
		raw_say_fragment(&raw, &client, false, 0, 1, 4, 0), 0); /* of what has been */
	assert_int_equal(raw_count(&raw, SW_ENET_C_STALE_UNRELIABLE), 3);
	p = raw_put_fragment(raw_header(&client, out, 1), false, 0, 6, 1, 2, 0, 20, 0, payload, 10);
	assert_int_equal(raw_say(&raw, &client, out, p), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_DROPPED_MEMORY), 9);
	raw_free(&raw);
}

/* The way out is shut, and a client wants more and more acknowledged: what cannot be is not taken.
 */
static void owed_acknowledgements_are_bounded(void **state)
{
	struct raw_client client;
	uint64_t taken;

	(void)state;
	begin((struct sw_enet_config){0}, &client);
	raw.no_buffer = true;
	for (uint32_t i = 0; i < 2000; i++)
		raw_say_reliable(&raw, &client, 0, (uint16_t)(1 + i), 10);
	taken = raw_count(&raw, SW_ENET_C_DELIVERED);
	assert_in_range(taken, 500, 64 * 9 + 4);
	assert_int_equal(raw_count(&raw, SW_ENET_C_WITHHELD_MEMORY), 2000 - taken);
	assert_int_equal(raw_count(&raw, SW_ENET_C_COMMANDS_IN), taken);
	raw.no_buffer = false;
	raw_service(&raw, 1);
	raw_say_reliable(&raw, &client, 0, (uint16_t)(taken + 1), 10);
	assert_int_equal(raw_count(&raw, SW_ENET_C_DELIVERED), taken + 1);
	raw_service(&raw, 1);
	assert_int_equal(raw_count(&raw, SW_ENET_C_QUEUE_BYTES), 0);
	raw_free(&raw);
}

/* Peers come and go in any order, in a table that is half full: none hides another. */
static void leaving_hides_nobody(void **state)
{
	enum { PEERS = 256 };
	static struct raw_client peer[PEERS];
	static bool here[PEERS];
	uint32_t random = 7, present = 0;
	uint8_t out[64], *p;

	(void)state;
	memset(here, 0, sizeof here);
	raw_new(&raw, &(struct sw_enet_config){.peers_max = PEERS, .half_open_max = PEERS});
	for (uint32_t turn = 0; turn < 6000; turn++) {
		uint32_t k = (random = random * 1664525 + 1013904223) >> 24;

		if (!here[k]) {
			assert_true(raw_connect(&raw, &peer[k], k, 1));
		} else {
			p = wire_put_command(raw_header(&peer[k], out, 1),
				WIRE_DISCONNECT | WIRE_UNSEQUENCED_FLAG, WIRE_CONTROL_CHANNEL, 1);
			wire_put32(p, 0);
			assert_int_equal(raw_say(&raw, &peer[k], out, p + 4), 0);
		}
		here[k] = !here[k];
		present += here[k] ? 1 : -1u;
		raw_forget(&raw);
		raw_service(&raw, 0);
		assert_int_equal(sw_enet_peers(raw.engine), present);
		for (uint32_t i = 0; turn % 16 == 0 && i < PEERS; i++)
			if (here[i])
				assert_int_equal(
					raw_say(&raw, &peer[i], out, raw_header(&peer[i], out, 1)),
					0);
	}
	raw_free(&raw);
}

/* Two hundred handshakes of one address and port at once, completed in another order: each is its
 * own, in a table where many share a place. */
static void many_under_way_of_one_source(void **state)
{
	enum { CLIENTS = 200 };
	static uint8_t verify[CLIENTS][52];
	struct raw_client client = {.address = raw_source(1)};
	uint8_t out[64], *p;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.peers_max = CLIENTS, .half_open_max = 256});
	for (uint32_t i = 0; i < CLIENTS; i++) {
		raw_forget(&raw);
		raw_rx(&raw, &client.address, out, raw_connect_bytes(out, 100 + i, 1, i));
		assert_int_equal(raw.sent_count, 1);
		memcpy(verify[i], raw.sent[0].data, 48);
	}
	for (uint32_t n = 0; n < CLIENTS; n++) {
		uint32_t i = (n * 77 + 5) % CLIENTS;

		client.peer_id = wire_get16(verify[i] + 8);
		client.session = verify[i][11];
		p = wire_put_command(raw_header(&client, out, 1), WIRE_ACKNOWLEDGE,
			WIRE_CONTROL_CHANNEL, wire_get16(verify[i] + 6));
		memcpy(p, verify[i] + 6, 2);
		memcpy(p + 2, verify[i] + 2, 2);
		assert_int_equal(raw_say(&raw, &client, out, p + 4), 0);
		assert_int_equal(raw.connects, n + 1);
		assert_int_equal(raw.info.connect_data, i);
	}
	raw_free(&raw);
}

/* What is compressed and does not become smaller goes as it is; limits of bandwidth, for which
 * VERIFY_CONNECT has no room then, come behind. */
static void a_compressing_client(void **state)
{
	static struct range_coder coder;
	static uint8_t packed[256], plain[4096];
	struct raw_client client = {.address = raw_source(1)};
	uint32_t bytes, random = 1;
	uint8_t out[64], *p;

	(void)state;
	raw_new(&raw, &(struct sw_enet_config){.compression = SW_ENET_ON,
			      .incoming_bandwidth = 1000000,
			      .outgoing_bandwidth = 2000000});
	bytes = raw_connect_bytes(plain, 100, 1, 0);
	memcpy(packed, plain, 4);
	packed[0] |= WIRE_COMPRESSED >> 8;
	bytes = 4 + range_compress(&coder, plain + 4, bytes - 4, packed + 4, sizeof packed - 4);
	raw_rx(&raw, &client.address, packed, bytes);
	for (uint32_t i = 0; i < 4 && !raw.sent_count; i++)
		raw_rx(&raw, &client.address, packed, bytes);
	assert_int_equal(raw.sent_count, 1);
	if (raw.sent[0].data[0] & WIRE_COMPRESSED >> 8)
		assert_int_equal(range_decompress(&coder, raw.sent[0].data + 4,
					 raw.sent[0].bytes - 4, plain + 4, 100),
			WIRE_VERIFY_CONNECT_BYTES);
	else
		memcpy(plain + 4, raw.sent[0].data + 4, WIRE_VERIFY_CONNECT_BYTES);
	assert_int_equal(wire_get32(plain + 4 + 20), 0);
	client.peer_id = wire_get16(plain + 8);
	client.session = plain[11];
	p = wire_put_command(raw_header(&client, out, 1), WIRE_ACKNOWLEDGE, WIRE_CONTROL_CHANNEL,
		wire_get16(plain + 6));
	memcpy(p, plain + 6, 2);
	memcpy(p + 2, raw.sent[0].data + 2, 2);
	raw_forget(&raw);
	assert_int_equal(raw_say(&raw, &client, out, p + 4), 0);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 1);
	memcpy(plain, raw.sent[0].data, raw.sent[0].bytes);
	if (plain[0] & WIRE_COMPRESSED >> 8)
		assert_int_equal(range_decompress(&coder, raw.sent[0].data + 4,
					 raw.sent[0].bytes - 4, plain + 4, 100),
			WIRE_BANDWIDTH_LIMIT_BYTES);
	assert_int_equal(plain[4], WIRE_BANDWIDTH_LIMIT | WIRE_ACK_FLAG);
	assert_int_equal(wire_get32(plain + 8), 1000000);
	assert_int_equal(wire_get32(plain + 12), 2000000);
	/* noise: never a byte more; and zeros */
	for (uint32_t size = 1; size < 1300; size += 37) {
		for (uint32_t i = 0; i < size; i++)
			payload[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
		raw_forget(&raw);
		assert_int_equal(
			sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_UNSEQUENCED, payload, size),
			0);
		raw_service(&raw, 0);
		assert_int_equal(raw.sent_count, 1);
		if (size > 200) {
			assert_int_equal(raw.sent[0].bytes, 4 + 8 + size);
			assert_int_equal(raw.sent[0].data[0] & WIRE_COMPRESSED >> 8, 0);
		}
		assert_true(raw.sent[0].bytes < 4 + 8 + size ||
			    !(raw.sent[0].data[0] & WIRE_COMPRESSED >> 8));
	}
	memset(payload, 0, sizeof payload);
	raw_forget(&raw);
	assert_int_equal(
		sw_enet_send(raw.engine, raw.handle, 0, SW_ENET_UNSEQUENCED, payload, 1300), 0);
	raw_service(&raw, 0);
	assert_true(raw.sent[0].bytes < 100);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_of_the_windows),
		cmocka_unit_test(fragments_that_do_not_fit),
		cmocka_unit_test(what_waits_is_told_apart),
		cmocka_unit_test(what_is_dropped_is_counted),
		cmocka_unit_test(owed_acknowledgements_are_bounded),
		cmocka_unit_test(leaving_hides_nobody),
		cmocka_unit_test(many_under_way_of_one_source),
		cmocka_unit_test(a_compressing_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
