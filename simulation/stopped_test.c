/* Proves that whoever stops is seen where it stopped though updates about it were lost: it is told
 * again in each of the next four ticks, so that up to four lost ones cost no more than those ticks,
 * and then once a second, so that any number cost a second after the last one lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/state.h"
#include "simulation/testing.h"

#define TICK_MS 50u

static bool sees_it_right(const struct test_shard *t)
{
	const struct sim_entity *e =
		&t->shard->maps[0]->entities[test_slot_of(t->shard->maps[0], 0)];
	const struct test_client *c = &t->clients[1];

	return c->seen_x_mm[t->clients[0].actor_id] == e->x_mm &&
	       c->seen_y_mm[t->clients[0].actor_id] == e->y_mm;
}

static void lost_updates_do_not_misplace_it(void **state)
{
	(void)state;
	for (uint32_t lost = 0; lost <= 30; lost++) {
		struct test_shard t;
		uint32_t ticks = 0, sequence = 1;

		test_init(&t, 200, 10);
		test_start(&t, 1 + lost);
		test_join(&t, 0, true, 100000, 100000);
		test_join(&t, 1, true, 103000, 100000);
		test_run(&t, 500);
		for (uint32_t i = 0; i < 10; i++, sequence++) {
			test_input(&t, 0, sequence, 1, 127, 40);
			test_run(&t, TICK_MS);
		}
		assert_true(sees_it_right(&t));
		/* Its last step and its stop, and then so many updates are lost. */
		t.lose_permille = lost ? 1000 : 0;
		test_input(&t, 0, sequence, 1, 127, 40);
		test_input(&t, 0, sequence + 1, 1, 0, 0);
		test_run(&t, TICK_MS * (lost ? lost : 1));
		t.lose_permille = 0;
		if (lost)
			assert_false(sees_it_right(&t));
		for (; !sees_it_right(&t); ticks++) {
			assert_true(ticks <= t.config.maps[0].tick_hz);
			test_run(&t, TICK_MS);
		}
		/* The first after those that were lost says it, within the repeats. */
		if (lost <= 4)
			assert_true(ticks <= 1);
		test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lost_updates_do_not_misplace_it)};

	return cmocka_run_group_tests_name("stopped", tests, NULL, NULL);
}
