/* Proves: messages cross a ring whole, in order, with several slots, over the wrap, and between two
 * threads; a message that does not fit leaves the ring as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>

#include <cmocka.h>

#include "common/msg_ring.h"

static void full_ring_takes_nothing(void **state)
{
	struct msg_ring *ring = msg_ring_new("t", 256);
	struct msg_buffer big, out[2];
	uint32_t pushed = 0;

	(void)state;
	assert_null(msg_ring_new("t", 255));
	assert_null(msg_ring_new("t", 128));
	msg_begin(big.slot, MSG_PEER_SEND, 1, MSG_PAYLOAD_MAX);
	assert_int_equal(big.slot->slots, MSG_SLOTS_MAX);
	assert_true(msg_ring_push(ring, big.slot));
	assert_int_equal(msg_ring_room(ring), 255 - 128);
	assert_false(msg_ring_push(ring, big.slot)); /* 127 slots are free */
	assert_int_equal(msg_ring_room(ring), 255 - 128);
	msg_begin(big.slot, MSG_PEER_SEND, 2, 0);
	while (msg_ring_push(ring, big.slot))
		pushed++;
	assert_int_equal(pushed, 127);
	assert_int_equal(msg_ring_pop(ring, out[0].slot, 2 * MSG_SLOTS_MAX), 128 + 1);
	assert_int_equal(out[0].slot[0].peer, 1);
	assert_int_equal(msg_next(out[0].slot)->peer, 2);
	msg_ring_free(ring);
}

/* Over the wrap, too; what was peeked at is what is popped then. */
static void what_is_to_come_is_seen(void **state)
{
	struct msg_ring *ring = msg_ring_new("t", 256);
	struct msg_buffer one, out[2];
	uint32_t at;

	(void)state;
	assert_null(msg_ring_peek(ring, 0));
	for (uint32_t round = 0; round < 300; round++) {
		uint32_t slots = 0;

		for (uint32_t i = 0; i < 5; i++) {
			msg_begin(one.slot, MSG_PEER_SEND, 5 * round + i, 61 * i);
			slots += one.slot->slots;
			assert_true(msg_ring_push(ring, one.slot));
		}
		at = 0;
		for (uint32_t i = 0; i < 5; i++) {
			const struct msg *message = msg_ring_peek(ring, at);

			assert_non_null(message);
			assert_int_equal(message->peer, 5 * round + i);
			at += message->slots;
		}
		assert_int_equal(at, slots);
		assert_null(msg_ring_peek(ring, at));
		assert_int_equal(msg_ring_pop(ring, out[0].slot, 2 * MSG_SLOTS_MAX), slots);
		assert_null(msg_ring_peek(ring, 0));
	}
	msg_ring_free(ring);
}

#define MESSAGES 200000u

static uint32_t payload_of(uint32_t i)
{
	return (i * 2654435761u >> 16) % 700; /* 1 to 12 slots */
}

static void *produce(void *arg)
{
	struct msg_buffer buffer;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint32_t bytes = payload_of(i);
		uint8_t *payload = msg_begin(buffer.slot, MSG_PEER_PACKET, i, bytes);

		memset(payload, (int)(i & 0xff), bytes);
		while (!msg_ring_push(arg, buffer.slot))
			sched_yield();
	}
	return NULL;
}

static void two_threads_keep_order(void **state)
{
	struct msg_ring *ring = msg_ring_new("t", 1024);
	static struct msg_buffer out[2];
	pthread_t producer;
	uint32_t seen = 0;

	(void)state;
	assert_int_equal(pthread_create(&producer, NULL, produce, ring), 0);
	while (seen < MESSAGES) {
		const struct msg *next = msg_ring_peek(ring, 0);

		if (next) /* as its producer wrote it */
			assert_int_equal(next->peer, seen);
		uint32_t slots = msg_ring_pop(ring, out[0].slot, 2 * MSG_SLOTS_MAX);
		const struct msg *end = out[0].slot + slots;

		if (!slots)
			sched_yield();
		for (const struct msg *m = out[0].slot; m < end; m = msg_next(m)) {
			assert_int_equal(m->peer, seen);
			assert_int_equal(m->payload_bytes, payload_of(seen));
			for (uint32_t b = 0; b < m->payload_bytes; b++)
				if (msg_payload(m)[b] != (seen & 0xff))
					fail_msg("message %u, byte %u differs", seen, b);
			seen++;
		}
	}
	pthread_join(producer, NULL);
	assert_int_equal(msg_ring_used(ring), 0);
	msg_ring_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_ring_takes_nothing),
		cmocka_unit_test(what_is_to_come_is_seen),
		cmocka_unit_test(two_threads_keep_order),
	};

	return cmocka_run_group_tests_name("msg_ring", tests, NULL, NULL);
}
