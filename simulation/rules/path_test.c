/* Proves, on made-up grounds full of walls: a field reaches exactly the tiles from which there is a
 * way within it; whoever follows it by the rules of walking, from anywhere in such a tile and at
 * any speed, gets to the target, never longer than the way is, and never through a wall; made in
 * parts it is the same; and it stays within its bounds at the ground's edges and corners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/rules/move.h"
#include "simulation/rules/path.h"

#define SIDE_MAX 100u

static uint64_t solid[(SIDE_MAX * SIDE_MAX + 63) / 64];
static struct sw_ground ground = {.tile_mm = 1000, .radius_mm = 300, .solid = solid};
static struct sw_path path, parts;
static struct sw_path_queue queue;
static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

static void make_ground(uint32_t columns, uint32_t rows, uint32_t percent)
{
	memset(solid, 0, sizeof(solid));
	ground.columns = columns;
	ground.rows = rows;
	ground.width_mm = columns * 1000;
	ground.height_mm = rows * 1000;
	for (uint32_t i = 0; i < columns * rows; i++)
		if (below(100) < percent)
			solid[i / 64] |= 1ull << (i % 64);
}

static void open_tile(uint32_t column, uint32_t row)
{
	uint32_t i = row * ground.columns + column;

	solid[i / 64] &= ~(1ull << (i % 64));
}

/* By spreading over straight neighbours until nothing changes: slow, and plainly right. Diagonal
 * steps connect nothing that straight ones do not, as both tiles beside them are open. */
static void reach_plainly(bool *reached)
{
	bool more = true;

	memset(reached, 0, SIDE_MAX * SIDE_MAX);
	reached[path.row * SIDE_MAX + path.column] = true;
	while (more) {
		more = false;
		for (uint32_t r = path.row0; r < path.row0 + path.rows; r++) {
			for (uint32_t c = path.column0; c < path.column0 + path.columns; c++) {
				bool beside = (c > path.column0 && reached[r * SIDE_MAX + c - 1]) ||
					      (c + 1 < path.column0 + path.columns &&
						      reached[r * SIDE_MAX + c + 1]) ||
					      (r > path.row0 && reached[(r - 1) * SIDE_MAX + c]) ||
					      (r + 1 < path.row0 + path.rows &&
						      reached[(r + 1) * SIDE_MAX + c]);

				if (reached[r * SIDE_MAX + c] || !beside ||
					sw_ground_solid(&ground, c, r))
					continue;
				reached[r * SIDE_MAX + c] = more = true;
			}
		}
	}
}

static void grow_all(void)
{
	assert_true(
		sw_path_grow(&path, &queue, &ground, UINT32_MAX) <= SW_PATH_SIDE * SW_PATH_SIDE);
	assert_true(sw_path_done(&path));
}

static void it_reaches_what_can_be_reached(void **state)
{
	static bool reached[SIDE_MAX * SIDE_MAX];

	(void)state;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		uint32_t column, row, tiles = 0;

		random_state = seed;
		make_ground(1 + below(SIDE_MAX), 1 + below(SIDE_MAX), below(60));
		column = seed % 3 ? below(ground.columns) : ground.columns - 1;
		row = seed % 4 ? below(ground.rows) : 0;
		open_tile(column, row);
		sw_path_begin(&path, &queue, &ground, column, row);
		grow_all();
		reach_plainly(reached);
		for (uint32_t r = 0; r < ground.rows; r++) {
			for (uint32_t c = 0; c < ground.columns; c++) {
				int32_t x, y;
				enum sw_path_step step = sw_path_next(&path, &ground,
					(int32_t)(c * 1000 + below(1000)),
					(int32_t)(r * 1000 + below(1000)), &x, &y);
				bool covered = c - path.column0 < path.columns &&
					       r - path.row0 < path.rows;
				enum sw_path_step want = !covered                  ? SW_PATH_OUTSIDE
							 : c == column && r == row ? SW_PATH_THERE
							 : reached[r * SIDE_MAX + c]
								 ? SW_PATH_STEP
								 : SW_PATH_CLOSED;

				if (step == SW_PATH_STEP) /* past no corner */
					assert_false(
						sw_ground_solid(&ground, (uint32_t)x / 1000, r) ||
						sw_ground_solid(&ground, c, (uint32_t)y / 1000));
				if (step != want)
					fail_msg("seed %u: tile %u, %u: %d, not %d", seed, c, r,
						step, want);
			}
		}
		assert_int_equal(sw_path_next(&path, &ground, -1, 0, &(int32_t){0}, &(int32_t){0}),
			SW_PATH_OUTSIDE);
		/* A few tiles at a time. */
		sw_path_begin(&parts, &queue, &ground, column, row);
		while (!sw_path_done(&parts)) {
			uint32_t done = sw_path_grow(&parts, &queue, &ground, 1 + seed % 7);

			assert_true(done && done <= 1 + seed % 7);
			tiles += done;
		}
		assert_true(tiles <= SW_PATH_SIDE * SW_PATH_SIDE);
		assert_memory_equal(&parts.way, &path.way, sizeof(path.way));
	}
}

static void walk_towards(const struct sw_move_map *map, uint32_t speed, int32_t x_mm, int32_t y_mm,
	struct sw_move_state *at)
{
	int8_t dx, dy;

	sw_path_input(
		x_mm - at->x_mm, y_mm - at->y_mm, sw_move_step_mm(speed, map->tick_hz), &dx, &dy);
	sw_move_apply(map, speed, dx, dy, at);
}

static void who_follows_it_gets_there(void **state)
{
	static const uint32_t speeds[] = {500, 2000, 5000, 9000};
	uint32_t walks = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct sw_move_map map = {.tick_hz = 20, .ground = &ground};
		uint32_t column, row;

		random_state = 1000 + seed;
		make_ground(20 + below(60), 20 + below(60), 10 + below(30));
		map.width_mm = ground.width_mm;
		map.height_mm = ground.height_mm;
		map.radius_mm = ground.radius_mm = 1 + below(499);
		column = below(ground.columns);
		row = below(ground.rows);
		open_tile(column, row);
		sw_path_begin(&path, &queue, &ground, column, row);
		grow_all();
		for (uint32_t n = 0; n < 40; n++) {
			struct sw_move_state at = {.x_mm = (int32_t)below(map.width_mm),
				.y_mm = (int32_t)below(map.height_mm)};
			uint32_t speed = speeds[below(4)], steps = 0;
			int32_t x, y;

			if (!sw_move_legal(&map, at.x_mm, at.y_mm) ||
				sw_path_next(&path, &ground, at.x_mm, at.y_mm, &x, &y) !=
					SW_PATH_STEP)
				continue;
			walks++;
			while (sw_path_next(&path, &ground, at.x_mm, at.y_mm, &x, &y) ==
				SW_PATH_STEP) {
				walk_towards(&map, speed, x, y, &at);
				assert_true(sw_move_legal(&map, at.x_mm, at.y_mm));
				if (++steps > 4096 * 1500 / (speed / 20))
					fail_msg("seed %u, walk %u: stands at %d, %d for ever",
						seed, n, at.x_mm, at.y_mm);
			}
			assert_int_equal(sw_path_next(&path, &ground, at.x_mm, at.y_mm, &x, &y),
				SW_PATH_THERE);
		}
	}
	assert_true(walks > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_reaches_what_can_be_reached),
		cmocka_unit_test(who_follows_it_gets_there),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
