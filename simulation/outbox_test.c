/* Proves: messages of all sizes leave the outbox whole and in the order they came, over many wraps
 * and in every degree of filling; one that does not fit is refused and changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/outbox.h"
#include "simulation/random.h"

#define SIZE 64u

static void order_over_wraps(void **state)
{
	static struct msg memory[SIZE + 1];
	struct sim_outbox box = {.slots = memory, .size = SIZE};
	static struct msg_buffer buffer;
	uint64_t seed = 42;
	uint32_t in = 0, out = 0, used = 0, refused = 0;

	(void)state;
	memset(&memory[SIZE], 0xab, sizeof(memory[0]));
	for (uint32_t step = 0; step < 200000; step++) {
		/* long spells of filling and of draining */
		if (sim_random_below(&seed, 100) < (step / 500 % 2 ? 70u : 30u)) {
			uint32_t bytes = sim_random_below(&seed, 20 * MSG_SLOT_BYTES);

			memset(msg_begin(buffer.slot, MSG_PEER_SEND, in, bytes), (int)(in & 0xff),
				bytes);
			if (sim_outbox_put(&box, buffer.slot)) {
				used += buffer.slot->slots;
				assert_true(used <= SIZE);
				in++;
			} else {
				/* only for lack of room; a wrap wastes less than the largest
				 * message */
				assert_true(used + buffer.slot->slots + 21 > SIZE);
				refused++;
			}
		} else if (in != out) {
			const struct msg *m = sim_outbox_peek(&box);

			assert_non_null(m);
			assert_int_equal(m->peer, out);
			for (uint32_t b = 0; b < m->payload_bytes; b++)
				if (msg_payload(m)[b] != (out & 0xff))
					fail_msg("step %u: message %u is not whole", step, out);
			used -= m->slots;
			sim_outbox_drop(&box);
			out++;
		} else {
			assert_null(sim_outbox_peek(&box));
		}
	}
	assert_true(out > 50000 && refused > 1000);
	for (uint32_t b = 0; b < sizeof(memory[0]); b++)
		assert_int_equal(((uint8_t *)&memory[SIZE])[b], 0xab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_over_wraps),
	};

	return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
