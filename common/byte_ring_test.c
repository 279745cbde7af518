/* Proves: what is pushed into a byte ring comes out in order and whole, over the wrap and between
 * two threads; without room nothing is taken, the ring is closed, and what came before is still
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <cmocka.h>

#include "common/byte_ring.h"

static void a_ring_without_room_closes(void **state)
{
	static uint8_t bytes[8192], out[8192];
	struct byte_ring *ring = byte_ring_new(4096);

	(void)state;
	assert_null(byte_ring_new(4095));
	assert_null(byte_ring_new(2048));
	memset(bytes, 7, sizeof(bytes));
	assert_true(byte_ring_push(ring, bytes, 96, bytes, 4000)); /* to the last byte */
	assert_false(byte_ring_closed(ring));
	assert_false(byte_ring_push(ring, bytes, 1, NULL, 0));
	assert_true(byte_ring_closed(ring));
	assert_int_equal(byte_ring_pop(ring, out, sizeof(out)), 4096);
	assert_memory_equal(bytes, out, 4096);
	assert_int_equal(byte_ring_pop(ring, out, sizeof(out)), 0);
	assert_false(byte_ring_push(ring, bytes, 1, NULL, 0)); /* for good */
	assert_int_equal(byte_ring_pop(ring, out, sizeof(out)), 0);
	byte_ring_free(ring);

	ring = byte_ring_new(4096);
	byte_ring_refuse(ring);
	assert_false(byte_ring_closed(ring));
	assert_false(byte_ring_push(ring, bytes, 1, NULL, 0));
	assert_true(byte_ring_closed(ring));
	byte_ring_free(ring);
}

#define RECORDS 200000u

static uint32_t body_bytes(uint32_t i)
{
	return (i * 2654435761u >> 16) % 90;
}

static void *produce(void *arg)
{
	uint8_t body[90];

	for (uint32_t i = 0; i < RECORDS; i++) {
		uint8_t head[5] = {(uint8_t)body_bytes(i)};

		memcpy(head + 1, &i, 4);
		memset(body, (int)(i & 0xff), sizeof(body));
		while (!byte_ring_closed(arg) &&
			!byte_ring_push(arg, head, sizeof(head), body, body_bytes(i)))
			;
	}
	return NULL;
}

/* The consumer keeps up, or the ring closes: either way a whole beginning arrives. */
static void two_threads(void **state)
{
	static uint8_t bytes[RECORDS * 95];
	struct byte_ring *ring = byte_ring_new(1u << 20);
	size_t count = 0, at = 0;
	pthread_t thread;
	uint32_t records = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, produce, ring), 0);
	for (;;) {
		bool closed = byte_ring_closed(ring);
		uint32_t got = byte_ring_pop(ring, bytes + count, 1000);

		count += got;
		if (!got && closed)
			break;
		for (; at + 5 <= count && at + 5 + bytes[at] <= count; records++) {
			uint32_t i;

			memcpy(&i, bytes + at + 1, 4);
			assert_int_equal(i, records);
			assert_int_equal(bytes[at], body_bytes(i));
			for (uint32_t b = 0; b < bytes[at]; b++)
				assert_int_equal(bytes[at + 5 + b], i & 0xff);
			at += 5u + bytes[at];
		}
		if (records == RECORDS)
			break;
		if (!got)
			sched_yield();
	}
	pthread_join(thread, NULL);
	assert_int_equal(at, count); /* whole records */
	if (!byte_ring_closed(ring))
		assert_int_equal(records, RECORDS);
	byte_ring_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_without_room_closes),
		cmocka_unit_test(two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
