/* Proves: no input moves an actor further than one step or off the map; a vector that is too long
 * counts as one of full length; headings agree with atan2; the extremes do not overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "simulation/rules/move.h"

static const struct sw_move_map square = {.width_mm = 100000, .height_mm = 100000, .tick_hz = 20};

static void every_vector_stays_within_a_step(void **state)
{
	const uint32_t speed = 5003;
	const double step = sw_move_step_mm(speed, square.tick_hz);

	(void)state;
	for (int32_t dx = -140; dx <= 140; dx++) {
		for (int32_t dy = -140; dy <= 140; dy++) {
			struct sw_move_state at = {.x_mm = 50000, .y_mm = 50000};
			double mx, my, want;

			sw_move_apply(&square, speed, dx, dy, &at);
			mx = at.x_mm - 50000;
			my = at.y_mm - 50000;
			assert_true(mx * mx + my * my <= step * step);
			want = fmin(1, hypot(dx, dy) / 127) * step;
			/* one millimetre an axis of rounding, and the root that is rounded up */
			assert_true(hypot(mx, my) >= want - 4);
			assert_true(at.moving_mm_per_s <= speed);
			assert_int_equal(at.moving_mm_per_s == 0, dx == 0 && dy == 0);
		}
	}
}

static void cases(void **state)
{
	static const struct {
		int32_t x, y, dx, dy, want_x, want_y;
	} table[] = {
		{500, 500, 127, 0, 750, 500}, {500, 500, 0, -127, 500, 250},
		{500, 500, 0, 0, 500, 500}, {500, 500, INT32_MAX, 0, 750, 500},
		{500, 500, INT32_MIN, 0, 250, 500}, {100, 100, -127, 0, 0, 100}, /* the west edge */
		{99999, 99950, 127, 127, 99999, 99999}, /* the north-east corner */
		{500, 500, 63, 0, 624, 500},            /* half speed: 250 * 63 / 127, down */
		{500, 500, -63, 0, 376, 500},           /* the same, mirrored */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct sw_move_state at = {.x_mm = table[i].x, .y_mm = table[i].y};

		sw_move_apply(&square, 5000, table[i].dx, table[i].dy, &at);
		if (at.x_mm != table[i].want_x || at.y_mm != table[i].want_y)
			fail_msg("row %zu: %d, %d", i, at.x_mm, at.y_mm);
	}
}

static void headings(void **state)
{
	(void)state;
	for (int32_t dx = -127; dx <= 127; dx++) {
		for (int32_t dy = -127; dy <= 127; dy++) {
			double turn = atan2(dy, dx) / (2 * M_PI) * 65536;
			int16_t off = (int16_t)(sw_move_heading(dx, dy) -
						(uint16_t)(int32_t)lround(turn));

			if (!dx && !dy)
				continue;
			if (off < -4 || off > 4)
				fail_msg("(%d, %d): off by %d", dx, dy, off);
		}
	}
	assert_int_equal(sw_move_heading(0, 0), 0);
	assert_int_equal(sw_move_heading(0, INT32_MAX), 16384);
	assert_int_equal(sw_move_heading(INT32_MIN, 0), 32768);
}

static void extremes(void **state)
{
	const struct sw_move_map huge = {
		.width_mm = INT32_MAX, .height_mm = INT32_MAX, .tick_hz = 1};
	struct sw_move_state at = {.x_mm = INT32_MAX - 1, .y_mm = 0};
	int32_t x = INT32_MIN, y = INT32_MAX;

	(void)state;
	sw_move_apply(&huge, UINT32_MAX, 127, -127, &at);
	assert_int_equal(at.x_mm, INT32_MAX - 1);
	assert_int_equal(at.y_mm, 0);
	assert_false(sw_move_legal(&square, x, y));
	sw_move_clamp(&square, &x, &y);
	assert_int_equal(x, 0);
	assert_int_equal(y, 99999);
	assert_true(sw_move_legal(&square, x, y));
	for (uint32_t n = 0; n < 70000; n++) {
		uint64_t root = sw_move_root_up(n);

		assert_true(root * root >= n && (!root || (root - 1) * (root - 1) < n));
	}
	assert_int_equal(sw_move_root_up(UINT32_MAX), 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_vector_stays_within_a_step),
		cmocka_unit_test(cases),
		cmocka_unit_test(headings),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests_name("move", tests, NULL, NULL);
}
