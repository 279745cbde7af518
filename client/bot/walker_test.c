/* Proves: on a map with walls a bot never stands before one and goes on pushing, sees much of the
 * map, and the same seed walks the same way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/bot/walker.h"
#include "client/prediction.h"
#include "simulation/ground/ground_load.h"

#define TICKS   3000u
#define TICK_NS 50000000ull

static struct sw_ground *ground;

/* Walks a bot; returns where it ends, and the longest row of inputs that led nowhere. */
static struct sw_move_state walk(
	uint64_t seed, uint32_t index, uint32_t *stuck_max, int32_t *far_mm)
{
	struct sw_move_map map = {.width_mm = ground->width_mm,
		.height_mm = ground->height_mm,
		.tick_hz = 20,
		.radius_mm = ground->radius_mm,
		.ground = ground};
	struct swc_self self = {
		.width_mm = map.width_mm, .height_mm = map.height_mm, .x_mm = 48000, .y_mm = 6000};
	struct sw_move_state at = {.x_mm = self.x_mm, .y_mm = self.y_mm};
	struct walker walker;
	uint32_t stuck = 0;

	*stuck_max = 0;
	*far_mm = 0;
	walker_init(&walker, seed, index);
	for (uint32_t tick = 0; tick < TICKS; tick++) {
		walker_step(&walker, &self, tick * TICK_NS);
		if (!walker.dx && !walker.dy)
			continue;
		sw_move_apply(&map, 5000, walker.dx, walker.dy, &at);
		self.input_sequence++;
		stuck = at.x_mm == self.x_mm && at.y_mm == self.y_mm ? stuck + 1 : 0;
		*stuck_max = stuck > *stuck_max ? stuck : *stuck_max;
		self.x_mm = at.x_mm;
		self.y_mm = at.y_mm;
		*far_mm = at.y_mm > *far_mm ? at.y_mm : *far_mm;
	}
	return at;
}

static void a_wall_turns_it(void **state)
{
	uint32_t far = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct sw_move_state one, other;
		uint32_t stuck, again;
		int32_t far_mm;

		one = walk(1, i, &stuck, &far_mm);
		/* Each new direction is by chance and may lead into the same wall, or rest. */
		if (stuck > 12)
			fail_msg("bot %u pushed for %u inputs at %d, %d", i, stuck, one.x_mm,
				one.y_mm);
		far += far_mm > 20000;
		other = walk(1, i, &again, &far_mm);
		assert_int_equal(one.x_mm, other.x_mm);
		assert_int_equal(one.y_mm, other.y_mm);
	}
	assert_true(far > 50); /* most have left the mouth of the cave */
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_wall_turns_it)};
	int failed;

	if (argc != 2 || sw_ground_load(NULL, argv[1], stderr, &ground))
		return 2;
	failed = cmocka_run_group_tests_name("walker", tests, NULL, NULL);
	sw_ground_free(ground);
	return failed;
}
