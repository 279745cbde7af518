/* Proves that prediction agrees with a server that runs the same rules, and that after any
 * disagreement the character ends where the server and the inputs since then put it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "client/prediction.h"

static const struct sw_move_map map = {.width_mm = 100000, .height_mm = 60000, .tick_hz = 20};
static const uint32_t speed = 5000;
static const struct sw_move_state middle = {.x_mm = 50000, .y_mm = 30000};

static struct swc_prediction prediction;

static void join(void)
{
	memset(&prediction, 0, sizeof(prediction));
	swc_prediction_join(&prediction, &map, speed, &middle);
}

static uint32_t next(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 16;
}

static int8_t axis(uint32_t *random)
{
	return (int8_t)((int)(next(random) % 179) - 89); /* any two are at most 126 long */
}

/* The server applies each input some ticks later and confirms now and then; the walk hits the
 * edges. Nothing is ever corrected. */
static void the_same_rules_need_no_correction(void **state)
{
	enum { INPUTS = 5000, LATE = 9 };
	struct sw_move_state server = middle;
	int8_t dx[LATE], dy[LATE], way_x = 0, way_y = 0;
	uint32_t random = 7;

	(void)state;
	join();
	for (uint32_t i = 1; i <= INPUTS; i++) {
		if (i % 97 == 1) {
			way_x = axis(&random);
			way_y = axis(&random);
		}
		if (i > LATE) {
			sw_move_apply(&map, speed, dx[i % LATE], dy[i % LATE], &server);
			if (next(&random) % 3)
				assert_false(swc_prediction_reconcile(&prediction, i - LATE,
					server.x_mm, server.y_mm, server.heading));
		}
		dx[i % LATE] = way_x;
		dy[i % LATE] = way_y;
		assert_int_equal(swc_prediction_input(&prediction, way_x, way_y), i);
		assert_true(sw_move_legal(&map, prediction.now.x_mm, prediction.now.y_mm));
	}
	assert_int_equal(prediction.forgotten, 0);
}

/* The server moves the character by itself (a script, a wall that we do not know): after the
 * confirmation the client stands where the server will stand once it has applied the rest. */
static void a_correction_replays_the_inputs_since(void **state)
{
	struct sw_move_state server = {.x_mm = 99000, .y_mm = 200}; /* near two edges */

	(void)state;
	join();
	for (int i = 0; i < 10; i++)
		swc_prediction_input(&prediction, 100, -30);
	assert_true(swc_prediction_reconcile(&prediction, 4, server.x_mm, server.y_mm, 0));
	for (int i = 5; i <= 10; i++)
		sw_move_apply(&map, speed, 100, -30, &server);
	assert_int_equal(prediction.now.x_mm, server.x_mm);
	assert_int_equal(prediction.now.y_mm, server.y_mm);
	assert_int_equal(prediction.now.heading, server.heading);
	/* ... and from then on they agree again. */
	assert_false(swc_prediction_reconcile(&prediction, 10, server.x_mm, server.y_mm, 0));
	/* The same confirmation again, elsewhere: the server moved us without an input. */
	assert_true(swc_prediction_reconcile(&prediction, 10, 1, 2, 3));
	assert_int_equal(prediction.now.x_mm, 1);
	assert_int_equal(prediction.now.heading, 3);
}

static void stale_and_impossible_confirmations_change_nothing(void **state)
{
	struct sw_move_state before;

	(void)state;
	join();
	for (int i = 0; i < 10; i++)
		swc_prediction_input(&prediction, 127, 0);
	assert_false(swc_prediction_reconcile(
		&prediction, 10, prediction.now.x_mm, prediction.now.y_mm, 0));
	before = prediction.now;
	assert_false(swc_prediction_reconcile(&prediction, 9, 1, 1, 1));  /* older than confirmed */
	assert_false(swc_prediction_reconcile(&prediction, 11, 1, 1, 1)); /* never made */
	assert_false(swc_prediction_reconcile(&prediction, UINT32_MAX, 1, 1, 1));
	assert_memory_equal(&before, &prediction.now, sizeof(before));
}

static void a_silent_server_costs_only_the_oldest_inputs(void **state)
{
	(void)state;
	join();
	for (uint32_t i = 0; i < 3 * SWC_PREDICTION_INPUTS; i++)
		swc_prediction_input(&prediction, i & 1 ? 127 : -127, 0);
	assert_int_equal(prediction.forgotten, 2 * SWC_PREDICTION_INPUTS);
	assert_null(swc_prediction_kept(&prediction, 2 * SWC_PREDICTION_INPUTS));
	assert_non_null(swc_prediction_kept(&prediction, 2 * SWC_PREDICTION_INPUTS + 1));
	assert_null(swc_prediction_kept(&prediction, 3 * SWC_PREDICTION_INPUTS + 1));
	/* A confirmation of a forgotten input cannot be compared: the server's word is taken. */
	assert_true(swc_prediction_reconcile(&prediction, 5, 40000, 30000, 0));
	assert_int_equal(prediction.now.x_mm, 40000); /* an even number of steps, left and right */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_rules_need_no_correction),
		cmocka_unit_test(a_correction_replays_the_inputs_since),
		cmocka_unit_test(stale_and_impossible_confirmations_change_nothing),
		cmocka_unit_test(a_silent_server_costs_only_the_oldest_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
