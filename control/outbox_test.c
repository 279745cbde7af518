/* Proves that an outbox keeps order and loses nothing up to its limit, through full rings and with
 * messages of all sizes, and that what is beyond the limit is refused and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/outbox.h"

static bool push(struct outbox *outbox, uint64_t number)
{
	static struct msg_buffer buffer;
	uint32_t bytes = (uint32_t)(number * 37 % 700);

	msg_begin(buffer.slot, MSG_PEER_SEND, 0, bytes);
	buffer.slot[0].subject = number;
	return outbox_push(outbox, buffer.slot);
}

/* Takes one burst; checks numbers and sizes. */
static uint64_t take(struct msg_ring *ring, uint64_t expected)
{
	static struct msg out[MSG_SLOTS_MAX + 8];
	uint32_t filled = msg_ring_pop(ring, out, MSG_SLOTS_MAX + 8);

	for (const struct msg *message = out; message < out + filled; message = msg_next(message)) {
		assert_int_equal(message->subject, expected);
		assert_int_equal(message->payload_bytes, expected * 37 % 700);
		expected++;
	}
	return expected;
}

static void test_order(void **state)
{
	struct msg_ring *ring = msg_ring_new("test", 256);
	uint64_t pushed = 0, taken = 0;
	struct outbox outbox;

	(void)state;
	outbox_init(&outbox, ring, 100000);
	/* Three in, one burst out, so that it fills; then out alone, so that it drains; again. */
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 500; i++) {
			for (int n = 0; n < 20; n++)
				assert_true(push(&outbox, pushed++));
			taken = take(ring, taken);
		}
		assert_true(outbox_flush(&outbox) > 0);
		while (taken < pushed) {
			taken = take(ring, taken);
			outbox_flush(&outbox);
		}
	}
	assert_int_equal(outbox.lost, 0);
	assert_true(outbox.delayed > 1000);
	outbox_fini(&outbox);
	msg_ring_free(ring);
}

static void test_limit(void **state)
{
	struct msg_ring *ring = msg_ring_new("test", 256);
	uint64_t pushed = 0, taken = 0;
	struct outbox outbox;

	(void)state;
	outbox_init(&outbox, ring, 300);
	while (push(&outbox, pushed))
		pushed++;
	assert_true(outbox_crowded(&outbox));
	assert_int_equal(outbox.lost, 1);
	assert_true(outbox.tail - outbox.head <= 300);
	while (taken < pushed) {
		taken = take(ring, taken);
		outbox_flush(&outbox);
	}
	assert_false(outbox_crowded(&outbox));
	assert_true(push(&outbox, pushed));
	outbox_fini(&outbox);
	msg_ring_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
