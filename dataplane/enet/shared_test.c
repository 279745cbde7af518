/* Proves that a packet for many peers is kept once and reaches each as if it were its own, also
 * when it is repeated; that its memory is free when the last one has acknowledged it or is gone;
 * that it never reaches who took a peer's slot; and that what yields leaves the other half of a
 * peer's queue and of the memory to what does not, and ends nobody. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dataplane/enet/raw_engine.h"

#define PEERS 40u
#define BLOCK 128u

static struct raw_engine raw;
static struct raw_client clients[PEERS];
static uint64_t handles[PEERS];
static uint8_t line[3000];

static void begin(const struct sw_enet_config *config, uint32_t peers)
{
	for (uint32_t i = 0; i < sizeof(line); i++)
		line[i] = (uint8_t)(i * 7 + i / 256);
	raw_new(&raw, config);
	for (uint32_t i = 0; i < peers; i++) {
		assert_true(raw_connect(&raw, &clients[i], 1 + i, 3));
		handles[i] = raw.handle;
		raw_service(&raw, 0);
	}
	raw_forget(&raw);
}

static uint64_t queue_bytes(void)
{
	raw_service(&raw, 0);
	return raw_count(&raw, SW_ENET_C_QUEUE_BYTES);
}

/* The one command of the newest datagram to a peer: whether it is the line, so long, on channel 2.
 * Returns the datagram's sent time. */
static uint16_t was_sent(uint32_t peer, uint32_t bytes)
{
	for (uint32_t d = raw.sent_count; d--;) {
		const uint8_t *p = raw.sent[d].data + 4;

		if (memcmp(&raw.sent[d].to, &clients[peer].address, sizeof(raw.sent[d].to)))
			continue;
		assert_int_equal(raw.sent[d].bytes, 4 + WIRE_SEND_RELIABLE_BYTES + bytes);
		assert_int_equal(p[0], WIRE_SEND_RELIABLE | WIRE_ACK_FLAG);
		assert_int_equal(p[1], 2);
		assert_int_equal(wire_get16(p + 4), bytes);
		assert_memory_equal(p + WIRE_SEND_RELIABLE_BYTES, line, bytes);
		return wire_get16(raw.sent[d].data + 2);
	}
	fail_msg("peer %u was sent nothing", peer);
	return 0;
}

static void acknowledge(uint32_t peer, uint16_t seq, uint16_t sent_time)
{
	uint8_t out[64], *p = raw_header(&clients[peer], out, (uint16_t)raw.now_ms);

	p = raw_put_acknowledge(p, 2, seq, sent_time);
	assert_int_equal(raw_say(&raw, &clients[peer], out, p), 0);
}

static void one_packet_reaches_all(uint32_t bytes, uint64_t kept)
{
	const struct sw_enet_config config = {.peers_max = PEERS, .half_open_max = 64};
	uint32_t shared;

	begin(&config, 3);
	shared = sw_enet_shared_new(raw.engine, line, bytes);
	assert_int_not_equal(shared, SW_ENET_NO_SHARED);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sw_enet_send_shared(raw.engine, handles[i], 2, shared), 0);
	sw_enet_shared_release(raw.engine, shared);
	assert_int_equal(queue_bytes(), kept + 3 * BLOCK);
	for (uint32_t i = 0; i < 3; i++)
		was_sent(i, bytes);

	/* one acknowledges; the others are sent the same again, and in time one of them is gone */
	acknowledge(0, 1, was_sent(0, bytes));
	raw_forget(&raw);
	for (uint32_t i = 0; i < 30; i++)
		raw_service(&raw, 100);
	assert_true(raw_count(&raw, SW_ENET_C_RETRANSMITTED) >= 2);
	was_sent(2, bytes);
	acknowledge(1, 1, was_sent(1, bytes));
	for (uint32_t i = 0; i < 3; i += 2) /* the first has been pinged meanwhile */
		assert_int_equal(sw_enet_disconnect(raw.engine, handles[i], SW_ENET_DISCONNECT_NOW,
					 0, SW_ENET_GONE_LOCAL),
			0);
	assert_int_equal(queue_bytes(), 0);
	raw_free(&raw);
}

static void a_long_one_is_kept_once(void **state)
{
	(void)state;
	/* 76 bytes in the first block, 124 in each that follows */
	one_packet_reaches_all(1000, 9 * BLOCK);
}

static void a_short_one_costs_no_second_look(void **state)
{
	(void)state;
	one_packet_reaches_all(70, 0);
	one_packet_reaches_all(71, BLOCK);
}

/* More than 16 bits count. */
static void many_times(void **state)
{
	const struct sw_enet_config config = {.peers_max = PEERS,
		.half_open_max = 64,
		.peer_queue_bytes = 4u << 20,
		.pool_bytes = 64u << 20};
	uint32_t shared, times = 2000;

	(void)state;
	begin(&config, PEERS);
	shared = sw_enet_shared_new(raw.engine, line, 200);
	for (uint32_t n = 0; n < times; n++)
		for (uint32_t i = 0; i < PEERS; i++)
			assert_int_equal(sw_enet_send_shared(raw.engine, handles[i], 2, shared), 0);
	sw_enet_shared_release(raw.engine, shared);
	assert_int_equal(queue_bytes(), (2 + (uint64_t)times * PEERS) * BLOCK);
	for (uint32_t i = 0; i < PEERS; i++)
		sw_enet_disconnect(
			raw.engine, handles[i], SW_ENET_DISCONNECT_NOW, 0, SW_ENET_GONE_LOCAL);
	assert_int_equal(queue_bytes(), 0);
	raw_free(&raw);
}

static void who_came_instead_gets_nothing(void **state)
{
	const struct sw_enet_config config = {.peers_max = 1, .half_open_max = 64};
	uint32_t shared;
	uint64_t before;

	(void)state;
	begin(&config, 1);
	before = handles[0];
	sw_enet_disconnect(raw.engine, before, SW_ENET_DISCONNECT_NOW, 0, SW_ENET_GONE_LOCAL);
	raw_service(&raw, 0);
	shared = sw_enet_shared_new(raw.engine, line, 200);
	assert_int_equal(sw_enet_send_shared(raw.engine, before, 2, shared), -ESTALE);
	assert_true(raw_connect(&raw, &clients[0], 9, 3));
	assert_int_equal((uint32_t)raw.handle, (uint32_t)before); /* the same slot */
	assert_int_equal(sw_enet_send_shared(raw.engine, before, 2, shared), -ESTALE);
	assert_int_equal(sw_enet_send_shared(raw.engine, raw.handle, 3, shared), -EINVAL);
	assert_int_equal(sw_enet_send_shared(raw.engine, raw.handle, 2, shared), 0);
	raw_free(&raw);
}

static void what_fits_no_datagram_is_sent_by_itself(void **state)
{
	const struct sw_enet_config config = {.peers_max = 1, .half_open_max = 64, .mtu = 576};
	uint32_t most = 576 - 4 - WIRE_SEND_UNRELIABLE_BYTES, shared;

	(void)state;
	begin(&config, 1);
	shared = sw_enet_shared_new(raw.engine, line, most + 1);
	assert_int_equal(sw_enet_send_shared(raw.engine, handles[0], 2, shared), -EMSGSIZE);
	sw_enet_shared_release(raw.engine, shared);
	shared = sw_enet_shared_new(raw.engine, line, most);
	assert_int_equal(sw_enet_send_shared(raw.engine, handles[0], 2, shared), 0);
	sw_enet_shared_release(raw.engine, shared);
	raw_service(&raw, 0);
	was_sent(0, most);
	assert_int_equal(sw_enet_shared_new(raw.engine, line, 0), SW_ENET_NO_SHARED);
	assert_int_equal(sw_enet_shared_new(raw.engine, line, raw.config.packet_bytes_max + 1),
		SW_ENET_NO_SHARED);
	raw_free(&raw);
}

static void half_of_the_queue_is_not_for_it(void **state)
{
	const struct sw_enet_config config = {.peers_max = 2,
		.half_open_max = 64,
		.peer_queue_bytes = 64 * BLOCK,
		.packet_bytes_max = 1000,
		.pool_bytes = 8192 * BLOCK};
	uint32_t shared, taken = 0;

	(void)state;
	begin(&config, 2);
	shared = sw_enet_shared_new(raw.engine, line, 200);
	while (sw_enet_send_shared(raw.engine, handles[0], 2, shared) == 0)
		taken++;
	assert_int_equal(taken, 32);
	assert_int_equal(raw_count(&raw, SW_ENET_C_YIELDED), 1);
	assert_int_equal(sw_enet_send(raw.engine, handles[0], 2, SW_ENET_RELIABLE | SW_ENET_YIELDS,
				 line, 60),
		-ENOBUFS);
	assert_int_equal(raw_count(&raw, SW_ENET_C_YIELDED), 2);
	/* the rest is the game's, and only it ends a peer that takes nothing */
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(
			sw_enet_send(raw.engine, handles[0], 0, SW_ENET_RELIABLE, line, 60), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_SLOW_PEERS), 0);
	assert_int_equal(
		sw_enet_send(raw.engine, handles[0], 0, SW_ENET_RELIABLE, line, 60), -ENOBUFS);
	assert_int_equal(raw_count(&raw, SW_ENET_C_SLOW_PEERS), 1);
	assert_int_equal(sw_enet_send_shared(raw.engine, handles[1], 2, shared), 0);
	raw_free(&raw);
}

static void half_of_the_memory_is_not_for_it(void **state)
{
	const struct sw_enet_config config = {.peers_max = PEERS,
		.half_open_max = 64,
		.peer_queue_bytes = 1u << 20,
		.packet_bytes_max = 1000,
		.pool_bytes = 512 * BLOCK};
	uint32_t shared, taken = 0;

	(void)state;
	begin(&config, PEERS);
	shared = sw_enet_shared_new(raw.engine, line, 60);
	for (uint32_t i = 0; i < PEERS; i++)
		while (sw_enet_send_shared(raw.engine, handles[i], 2, shared) == 0)
			taken++;
	/* the share of queues is 256 blocks */
	assert_in_range(taken, 100, 128);
	assert_int_equal(sw_enet_shared_new(raw.engine, line, 1000), SW_ENET_NO_SHARED);
	assert_int_equal(
		sw_enet_send(raw.engine, handles[PEERS - 1], 0, SW_ENET_RELIABLE, line, 900), 0);
	assert_int_equal(raw_count(&raw, SW_ENET_C_SLOW_PEERS), 0);
	raw_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_one_is_kept_once),
		cmocka_unit_test(a_short_one_costs_no_second_look),
		cmocka_unit_test(many_times),
		cmocka_unit_test(who_came_instead_gets_nothing),
		cmocka_unit_test(what_fits_no_datagram_is_sent_by_itself),
		cmocka_unit_test(half_of_the_queue_is_not_for_it),
		cmocka_unit_test(half_of_the_memory_is_not_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
