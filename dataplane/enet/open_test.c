/* open_test.c: proves that datagrams which stay open until the next service are their own peer's,
 * whole and in order, whatever happens in between: more peers than may have one open, no buffers,
 * an end and somebody new, other channels, packets that had to be queued. See promise_test.c for
 * what is put behind in an open one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dataplane/enet/raw_engine.h"

#define PEERS (SW_ENET_OPEN_MAX + 40u)

static struct raw_engine raw;
static struct raw_client clients[PEERS];
static uint64_t handles[PEERS];
static uint8_t payload[64];

static void begin(uint32_t peers)
{
	const struct sw_enet_config config = {.peers_max = PEERS + 1, .half_open_max = 256};

	raw_new(&raw, &config);
	for (uint32_t i = 0; i < peers; i++) {
		assert_true(raw_connect(&raw, &clients[i], 1 + i, 8));
		handles[i] = raw.handle;
		raw_service(&raw, 0);
	}
	raw_forget(&raw);
}

static void say(uint32_t peer, uint8_t channel, uint32_t flags, uint8_t first)
{
	payload[0] = first;
	assert_int_equal(sw_enet_send(raw.engine, handles[peer], channel, flags, payload, 8), 0);
}

/* Command n of sent datagram d, all of whose commands carry 8 bytes. */
static const uint8_t *command(uint32_t d, uint32_t n)
{
	const uint8_t *p = raw.sent[d].data + 4;

	assert_true(d < raw.sent_count);
	while (n--)
		p += ((p[0] & WIRE_COMMAND_MASK) == WIRE_SEND_RELIABLE
				     ? WIRE_SEND_RELIABLE_BYTES
				     : WIRE_SEND_UNRELIABLE_BYTES) +
		     8;
	assert_true(p < raw.sent[d].data + raw.sent[d].bytes);
	return p;
}

static uint32_t sent_to(uint32_t peer, uint32_t *count)
{
	uint32_t found = UINT32_MAX;

	*count = 0;
	for (uint32_t d = 0; d < raw.sent_count; d++)
		if (!memcmp(&raw.sent[d].to, &clients[peer].address, sizeof raw.sent[d].to)) {
			found = d;
			++*count;
		}
	return found;
}

/* Two packets each, alternating: who had no place for an open one is sent the same from its queue.
 */
static void more_than_may_be_open(void **state)
{
	uint32_t seen = 0;
	uint64_t before;

	(void)state;
	begin(PEERS);
	before = raw.sent_total;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < PEERS; i++)
			say(i, 0, 0, (uint8_t)(i + round));
	assert_int_equal(raw.sent_count, 0);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_total - before, PEERS);
	assert_null(raw.open);
	for (uint32_t i = 0; i < PEERS; i++) {
		uint32_t count, d = sent_to(i, &count);

		if (!count)
			continue; /* not recorded any more */
		seen++;
		assert_int_equal(count, 1);
		assert_int_equal(raw.sent[d].bytes, 4 + 2 * (WIRE_SEND_UNRELIABLE_BYTES + 8));
		for (uint32_t n = 0; n < 2; n++) {
			assert_int_equal(wire_get16(command(d, n) + 4), 1 + n);
			assert_int_equal(command(d, n)[8], (uint8_t)(i + n));
		}
	}
	assert_int_equal(seen, RAW_SENT_MAX);
	raw_free(&raw);
}

/* Without a buffer the packet is queued, and what comes after it stays behind it, also when there
 * are buffers again before it has left. */
static void no_buffer_meanwhile(void **state)
{
	(void)state;
	begin(1);
	raw.no_buffer = true;
	say(0, 0, 0, 1);
	raw.no_buffer = false;
	say(0, 0, 0, 2);
	assert_null(raw.open);
	say(0, 1, SW_ENET_UNSEQUENCED, 3);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 1);
	for (uint32_t n = 0; n < 3; n++)
		assert_int_equal(command(0, n)[8], 1 + n);
	/* and in a service that has none it waits, with all that is said after it */
	raw_forget(&raw);
	say(0, 0, SW_ENET_RELIABLE, 4);
	raw.no_buffer = true;
	raw_service(&raw, 1);
	say(0, 0, 0, 5);
	raw.no_buffer = false;
	raw_service(&raw, 1);
	assert_int_equal(raw.sent_count, 1);
	assert_int_equal(command(0, 0)[0], WIRE_SEND_RELIABLE | WIRE_ACK_FLAG);
	assert_int_equal(command(0, 1)[8], 5);
	raw_free(&raw);
}

/* Numbers go on from one way to the other: of a channel, of the unsequenced, of channels beyond
 * those that have the short way. */
static void numbers_go_on(void **state)
{
	static const struct {
		uint8_t channel, flags;
		uint16_t seq, second; /* second: unreliable number or group */
	} table[] = {
		{0, 0, 0, 1},                   /* straight in */
		{1, 0, 0, 1},                   /* its own count */
		{0, SW_ENET_UNSEQUENCED, 0, 1}, /* the peer's, whatever the channel */
		{3, SW_ENET_UNSEQUENCED, 0, 2},
		{0, 0, 0, 2},
		{5, 0, 0, 1}, /* queued: beyond CHANNELS_INLINE */
		{0, 0, 0, 3}, /* queued behind it */
		{0, SW_ENET_RELIABLE, 1, 0},
		{0, 0, 1, 1}, /* counts from the reliable one */
		{3, SW_ENET_UNSEQUENCED, 0, 3},
		{1, 0, 0, 2},
	};
	const uint32_t count = sizeof table / sizeof *table;

	(void)state;
	begin(1);
	for (uint32_t i = 0; i < count; i++)
		say(0, table[i].channel, table[i].flags, (uint8_t)i);
	raw_service(&raw, 0);
	assert_int_equal(raw.sent_count, 1);
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *p = command(0, i);
		bool reliable = table[i].flags & SW_ENET_RELIABLE;

		assert_int_equal(p[1], table[i].channel);
		assert_int_equal(wire_get16(p + 2), table[i].seq);
		if (!reliable)
			assert_int_equal(wire_get16(p + 4), table[i].second);
		assert_int_equal(p[reliable ? 6 : 8], (uint8_t)i);
	}
	/* straight in again, after the queue */
	raw_forget(&raw);
	say(0, 0, 0, 1);
	say(0, 2, SW_ENET_UNSEQUENCED, 2);
	assert_non_null(raw.open);
	raw_service(&raw, 0);
	assert_int_equal(wire_get16(command(0, 0) + 2), 1);
	assert_int_equal(wire_get16(command(0, 0) + 4), 2);
	assert_int_equal(wire_get16(command(0, 1) + 4), 4);
	raw_free(&raw);
}

/* A client leaves, or is ended, while its datagram is open, and another comes in the same turn:
 * what was written goes to neither; each buffer is given back once. */
static void an_end_and_somebody_new(void **state)
{
	(void)state;
	for (uint32_t how = 0; how < 5; how++) {
		uint8_t out[64], *p;

		begin(1);
		say(0, 0, 0, 77);
		assert_non_null(raw.open);
		if (how < 3) {
			assert_int_equal(
				sw_enet_disconnect(raw.engine, handles[0],
					(enum sw_enet_disconnect)how, 9, SW_ENET_GONE_LOCAL),
				0);
		} else {
			p = wire_put_command(raw_header(&clients[0], out, 1),
				WIRE_DISCONNECT | (how == 3 ? WIRE_ACK_FLAG : 0),
				WIRE_CONTROL_CHANNEL, 2);
			wire_put32(p, 9);
			assert_int_equal(raw_rx(&raw, &clients[0].address, out, 12), 0);
		}
		assert_true(raw_connect(&raw, &clients[1], 2, 8));
		raw_forget(&raw);
		raw_service(&raw, 0);
		raw_service(&raw, 1);
		assert_null(raw.open);
		for (uint32_t d = 0; d < raw.sent_count; d++) {
			bool data = command(d, 0)[0] == WIRE_SEND_UNRELIABLE;

			/* who is to go later gets what was said before, and nobody else */
			assert_true(!data || how == SW_ENET_DISCONNECT_LATER);
			if (data)
				assert_memory_equal(&raw.sent[d].to, &clients[0].address,
					sizeof raw.sent[d].to);
		}
		assert_int_equal(sw_enet_peers(raw.engine), 1);
		raw_free(&raw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_may_be_open),
		cmocka_unit_test(no_buffer_meanwhile),
		cmocka_unit_test(numbers_go_on),
		cmocka_unit_test(an_end_and_somebody_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
