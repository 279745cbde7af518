/* Proves: on random maps no walk ends in a solid tile or jumps over one, at any speed, and each
 * step is what walking millimetre by millimetre, axis by axis, gives; the nearest legal position is
 * the nearest of all; sight agrees with geometry, both ways; the results are the same whatever the
 * compiler's flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/rules/move.h"

#define SIDE 24u

struct field {
	uint64_t solid[SIDE * SIDE / 64 + 1];
	uint8_t portal_of[SIDE * SIDE];
	struct sw_ground ground;
	struct sw_move_map map;
};

static uint64_t next(uint64_t *random)
{
	uint64_t z = (*random += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static int32_t below(uint64_t *random, uint32_t limit)
{
	return (int32_t)(next(random) % limit);
}

/* percent of the tiles are solid. */
static void field_make(struct field *f, uint64_t *random, uint32_t columns, uint32_t rows,
	uint32_t tile_mm, uint32_t radius_mm, uint32_t percent)
{
	memset(f, 0, sizeof(*f));
	for (uint32_t i = 0; i < columns * rows; i++)
		if (next(random) % 100 < percent)
			f->solid[i / 64] |= 1ull << (i % 64);
	f->ground = (struct sw_ground){.columns = columns,
		.rows = rows,
		.tile_mm = tile_mm,
		.width_mm = columns * tile_mm,
		.height_mm = rows * tile_mm,
		.radius_mm = radius_mm,
		.solid = f->solid};
	f->map = (struct sw_move_map){.width_mm = f->ground.width_mm,
		.height_mm = f->ground.height_mm,
		.tick_hz = 20,
		.radius_mm = radius_mm,
		.ground = &f->ground};
}

/* Legality by its words: no millimetre of the square in a solid tile. */
static bool clear_slowly(const struct field *f, int32_t x_mm, int32_t y_mm)
{
	int32_t radius = (int32_t)f->map.radius_mm, tile = (int32_t)f->ground.tile_mm;

	if (x_mm < 0 || y_mm < 0 || x_mm >= (int32_t)f->map.width_mm ||
		y_mm >= (int32_t)f->map.height_mm)
		return false;
	for (int32_t x = x_mm - radius; x <= x_mm + radius; x++)
		for (int32_t y = y_mm - radius; y <= y_mm + radius; y++)
			if (x >= 0 && y >= 0 && x < (int32_t)f->map.width_mm &&
				y < (int32_t)f->map.height_mm &&
				sw_ground_solid(
					&f->ground, (uint32_t)(x / tile), (uint32_t)(y / tile)))
				return false;
	return true;
}

static void walks_are_legal_at_any_speed(void **state)
{
	static const uint32_t speeds[] = {1, 4000, 5000, 19999, 20000, 60000, 1000000, UINT32_MAX};
	uint64_t random = 1;
	struct field f;

	(void)state;
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t speed = speeds[round % 8];
		struct sw_move_state at = {0};

		field_make(&f, &random, 1 + (uint32_t)below(&random, SIDE),
			1 + (uint32_t)below(&random, SIDE), 1000, (uint32_t)below(&random, 500),
			(uint32_t)below(&random, 70));
		at.x_mm = below(&random, f.map.width_mm);
		at.y_mm = below(&random, f.map.height_mm);
		if (!sw_move_clamp(&f.map, &at.x_mm, &at.y_mm))
			continue; /* all solid */
		for (uint32_t i = 0; i < 4000; i++) {
			sw_move_apply(&f.map, speed, below(&random, 255) - 127,
				below(&random, 255) - 127, &at);
			if (!sw_move_legal(&f.map, at.x_mm, at.y_mm))
				fail_msg("round %u, step %u: in a wall at %d, %d", round, i,
					at.x_mm, at.y_mm);
		}
	}
}

/* Millimetre by millimetre towards x, then towards y. */
static void walk_slowly(const struct field *f, int32_t *x_mm, int32_t *y_mm, int32_t dx, int32_t dy)
{
	for (; dx && clear_slowly(f, *x_mm + (dx > 0 ? 1 : -1), *y_mm); dx += dx > 0 ? -1 : 1)
		*x_mm += dx > 0 ? 1 : -1;
	for (; dy && clear_slowly(f, *x_mm, *y_mm + (dy > 0 ? 1 : -1)); dy += dy > 0 ? -1 : 1)
		*y_mm += dy > 0 ? 1 : -1;
}

static void steps_are_as_walked_slowly(void **state)
{
	uint64_t random = 2;
	struct field f;

	(void)state;
	for (uint32_t round = 0; round < 400; round++) {
		uint32_t tile_mm = 5 + (uint32_t)below(&random, 12);
		struct sw_move_state at = {0};

		field_make(&f, &random, 1 + (uint32_t)below(&random, 8),
			1 + (uint32_t)below(&random, 8), tile_mm,
			(uint32_t)below(&random, (tile_mm + 1) / 2), (uint32_t)below(&random, 60));
		at.x_mm = below(&random, f.map.width_mm);
		at.y_mm = below(&random, f.map.height_mm);
		if (!sw_move_clamp(&f.map, &at.x_mm, &at.y_mm))
			continue;
		for (uint32_t i = 0; i < 100; i++) {
			/* a step of at most a tile: 1 to tile_mm millimetres */
			uint32_t step = 1 + (uint32_t)below(&random, tile_mm);
			int32_t dx = below(&random, 255) - 127, dy = below(&random, 255) - 127;
			int32_t length = (int32_t)sw_move_root_up((uint32_t)(dx * dx + dy * dy));
			int32_t want_x = at.x_mm, want_y = at.y_mm;
			struct sw_move_state from = at;

			length = length < 127 ? 127 : length;
			walk_slowly(&f, &want_x, &want_y, (int32_t)step * dx / length,
				(int32_t)step * dy / length);
			sw_move_apply(&f.map, step * 20, dx, dy, &at);
			if (at.x_mm != want_x || at.y_mm != want_y)
				fail_msg("round %u, step %u from %d, %d by %d, %d: %d, %d, not %d, "
					 "%d",
					round, i, from.x_mm, from.y_mm, dx, dy, at.x_mm, at.y_mm,
					want_x, want_y);
		}
	}
}

static void nothing_is_jumped_over(void **state)
{
	uint64_t random = 3;
	struct field f;

	(void)state;
	for (uint32_t radius = 0; radius < 500; radius += 83) {
		for (uint32_t speed = 1000; speed < 3000000; speed += speed / 3 + 7) {
			struct sw_move_state at = {.x_mm = 2500, .y_mm = 2500};

			/* a wall one tile thick across the whole map */
			field_make(&f, &random, SIDE, SIDE, 1000, radius, 0);
			for (uint32_t row = 0; row < SIDE; row++)
				f.solid[(row * SIDE + 7) / 64] |= 1ull << ((row * SIDE + 7) % 64);
			for (uint32_t i = 0; i < 400; i++)
				sw_move_apply(&f.map, speed, 100 + below(&random, 28),
					below(&random, 121) - 60, &at);
			assert_int_equal(at.x_mm, 6999 - (int32_t)radius);
		}
	}
}

static void the_nearest_legal_place_is_found(void **state)
{
	enum { SIDE_MM = 6 * 12 };
	static bool legal[SIDE_MM][SIDE_MM];
	uint64_t random = 4;
	struct field f;

	(void)state;
	for (uint32_t round = 0; round < 80; round++) {
		uint32_t tile_mm = 4 + (uint32_t)below(&random, 9);

		field_make(&f, &random, 1 + (uint32_t)below(&random, 6),
			1 + (uint32_t)below(&random, 6), tile_mm,
			(uint32_t)below(&random, (tile_mm + 1) / 2),
			10 + (uint32_t)below(&random, 90));
		for (int32_t x = 0; x < (int32_t)f.map.width_mm; x++)
			for (int32_t y = 0; y < (int32_t)f.map.height_mm; y++)
				legal[x][y] = clear_slowly(&f, x, y);
		for (uint32_t i = 0; i < 150; i++) {
			int32_t x = below(&random, f.map.width_mm), to_x = x;
			int32_t y = below(&random, f.map.height_mm), to_y = y, best = INT32_MAX;
			bool found = sw_move_clamp(&f.map, &to_x, &to_y);

			for (int32_t ax = 0; ax < (int32_t)f.map.width_mm; ax++)
				for (int32_t ay = 0; ay < (int32_t)f.map.height_mm; ay++) {
					int32_t far = (ax - x) * (ax - x) + (ay - y) * (ay - y);

					if (far < best && legal[ax][ay])
						best = far;
				}
			assert_int_equal(found, best != INT32_MAX);
			if (found && ((to_x - x) * (to_x - x) + (to_y - y) * (to_y - y) != best ||
					     !legal[to_x][to_y]))
				fail_msg("round %u: from %d, %d to %d, %d, but the best is at %d",
					round, x, y, to_x, to_y, best);
		}
	}
}

static void whoever_stands_in_a_wall_is_put_beside_it(void **state)
{
	uint64_t random = 5;
	struct sw_move_state at = {.x_mm = 7100, .y_mm = 5500};
	struct field f;

	(void)state;
	field_make(&f, &random, SIDE, SIDE, 1000, 300, 0);
	for (uint32_t column = 7; column < 10; column++)
		f.solid[(5 * SIDE + column) / 64] |= 1ull << ((5 * SIDE + column) % 64);
	sw_move_apply(&f.map, 5000, 127, 0, &at);
	assert_int_equal(at.x_mm, 6699);
	assert_int_equal(at.y_mm, 5500);
	sw_move_apply(&f.map, 5000, 127, 127, &at); /* and slides along it from then on */
	assert_int_equal(at.x_mm, 6699);
	assert_int_equal(at.y_mm, 5676);
	memset(f.solid, 0xff, sizeof(f.solid)); /* nothing but rock: it stays */
	sw_move_apply(&f.map, 5000, 127, 127, &at);
	assert_int_equal(at.x_mm, 6699);
	assert_int_equal(at.y_mm, 5676);
}

/* Where lo < t * d < hi, as numerators over the common denominator `scale` > 0, scale a multiple of
 * |d|. False: nowhere. */
static bool where(int64_t lo, int64_t hi, int64_t d, int64_t scale, int64_t *from, int64_t *to)
{
	if (!d) {
		*from = 0;
		*to = scale;
		return lo < 0 && hi > 0;
	}
	*from = (d > 0 ? lo : hi) * (scale / d);
	*to = (d > 0 ? hi : lo) * (scale / d);
	return true;
}

/* Sight by geometry: the line, in half millimetres, against the inside of each solid tile and each
 * corner of four. */
static bool sees_slowly(const struct field *f, int64_t x0, int64_t y0, int64_t x1, int64_t y1)
{
	int64_t tile = 2 * (int64_t)f->ground.tile_mm;
	int64_t dx, dy, scale;

	x0 = 2 * x0 + 1;
	y0 = 2 * y0 + 1;
	dx = 2 * x1 + 1 - x0;
	dy = 2 * y1 + 1 - y0;
	scale = (dx ? llabs(dx) : 1) * (dy ? llabs(dy) : 1);
	for (uint32_t row = 0; row < f->ground.rows; row++) {
		for (uint32_t column = 0; column < f->ground.columns; column++) {
			int64_t a, b, c, d, west = column * tile, south = row * tile;

			if (sw_ground_solid(&f->ground, column, row) &&
				where(west - x0, west + tile - x0, dx, scale, &a, &b) &&
				where(south - y0, south + tile - y0, dy, scale, &c, &d)) {
				int64_t from = a > c ? a : c, to = b < d ? b : d;

				from = from < 0 ? 0 : from;
				to = to > scale ? scale : to;
				/* a line of no length lies in its tile */
				if (from < to || (!dx && !dy))
					return false;
			}
			/* the corner in the south-west of this tile */
			if (!row || !column || !dx || !dy ||
				(west - x0) * dy != (south - y0) * dx ||
				(west - x0) * (west - x0 - dx) >= 0)
				continue;
			if ((dx > 0) == (dy > 0)
					? sw_ground_solid(&f->ground, column, row - 1) &&
						  sw_ground_solid(&f->ground, column - 1, row)
					: sw_ground_solid(&f->ground, column, row) &&
						  sw_ground_solid(&f->ground, column - 1, row - 1))
				return false;
		}
	}
	return true;
}

static void sight_is_geometry(void **state)
{
	uint64_t random = 6;
	uint32_t seen = 0, corners = 0;
	struct field f;

	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		field_make(&f, &random, 1 + (uint32_t)below(&random, 7),
			1 + (uint32_t)below(&random, 7), 1 + (uint32_t)below(&random, 9), 0,
			(uint32_t)below(&random, 50));
		for (uint32_t i = 0; i < 300; i++) {
			int32_t x0 = below(&random, f.map.width_mm);
			int32_t y0 = below(&random, f.map.height_mm);
			int32_t x1 = below(&random, f.map.width_mm);
			int32_t y1 = below(&random, f.map.height_mm);
			bool sees;

			if (i % 3 == 0) { /* diagonals run through corners */
				int32_t along = below(&random, 30) - 15;

				x1 = x0 + along;
				y1 = y0 + (i % 2 ? along : -along);
				if (x1 < 0 || y1 < 0 || x1 >= (int32_t)f.map.width_mm ||
					y1 >= (int32_t)f.map.height_mm)
					continue;
				corners++;
			}
			sees = sw_ground_sight(&f.ground, x0, y0, x1, y1);
			if (sees != sees_slowly(&f, x0, y0, x1, y1))
				fail_msg("round %u: %d, %d to %d, %d (tile %u): %d", round, x0, y0,
					x1, y1, f.ground.tile_mm, sees);
			assert_int_equal(sees, sw_ground_sight(&f.ground, x1, y1, x0, y0));
			seen += sees;
		}
	}
	assert_in_range(seen, 10000, 80000);
	assert_true(corners > 5000);
	assert_false(sw_ground_sight(&f.ground, -1, 0, 0, 0));
	assert_false(sw_ground_sight(&f.ground, 0, 0, INT32_MAX, INT32_MIN));
}

static void reach_is_a_straight_line_in_sight(void **state)
{
	static const struct {
		int32_t ax, ay, bx, by;
		uint32_t reach;
		bool open, walled;
	} table[] = {
		{0, 0, 3000, 4000, 5000, true, true},
		{0, 0, 3000, 4000, 4999, false, false},
		{0, 0, 0, 6000, 5000, false, false},
		{0, 0, 6000, 0, 5000, false, false},
		{5500, 5500, 9500, 5500, 4000, true, false}, /* column 7 is a wall */
		{9500, 5500, 5500, 5500, 4000, true, false},
		{INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX, UINT32_MAX, false, false},
		{INT32_MIN, 0, INT32_MAX, 0, UINT32_MAX, true, false}, /* off the map: unseen */
		{2500, 2500, 2500, 2500, 0, true, true},
	};
	uint64_t random = 7;
	struct sw_move_map open;
	struct field f;

	(void)state;
	field_make(&f, &random, SIDE, SIDE, 1000, 300, 0);
	for (uint32_t row = 0; row < SIDE; row++)
		f.solid[(row * SIDE + 7) / 64] |= 1ull << ((row * SIDE + 7) % 64);
	open = f.map;
	open.ground = NULL;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (sw_move_reaches(&open, table[i].ax, table[i].ay, table[i].bx, table[i].by,
			    table[i].reach) != table[i].open ||
			sw_move_reaches(&f.map, table[i].ax, table[i].ay, table[i].bx, table[i].by,
				table[i].reach) != table[i].walled)
			fail_msg("row %zu", i);
	}
}

static void tiles_tell_portals(void **state)
{
	static const struct sw_ground_portal portals[2] = {{.name = "a"}, {.name = "b"}};
	uint64_t random = 8;
	struct field f;

	(void)state;
	field_make(&f, &random, 4, 3, 1000, 300, 0);
	assert_null(sw_ground_portal_at(&f.ground, 500, 500));
	f.portal_of[1 * 4 + 2] = 2;
	f.ground.portal_of = f.portal_of;
	f.ground.portals = portals;
	assert_null(sw_ground_portal_at(&f.ground, 500, 500));
	assert_ptr_equal(sw_ground_portal_at(&f.ground, 2000, 1999), &portals[1]);
	assert_null(sw_ground_portal_at(&f.ground, 3000, 1999));
	assert_null(sw_ground_portal_at(&f.ground, -1, 0));
	assert_null(sw_ground_portal_at(&f.ground, 0, INT32_MAX));
	assert_false(sw_ground_safe_at(&f.ground, 500, 500));
}

/* One long walk over several maps, folded into a number: the same with every compiler and flag. */
static void the_result_is_one_number(void **state)
{
	uint64_t random = 9, sum = 0;
	struct field f;

	(void)state;
	for (uint32_t round = 0; round < 20; round++) {
		struct sw_move_state at = {.x_mm = 4000, .y_mm = 4000};

		field_make(&f, &random, SIDE, SIDE, 700, 250, 25);
		sum ^= sw_ground_walls_hash(SIDE, SIDE, 700, f.solid);
		sw_move_clamp(&f.map, &at.x_mm, &at.y_mm);
		for (uint32_t i = 0; i < 2000; i++) {
			int32_t dx = below(&random, 255) - 127, dy = below(&random, 255) - 127;

			sw_move_apply(&f.map, 5000 + 1000 * round, dx, dy, &at);
			sum = (sum ^ (uint64_t)at.x_mm << 32 ^ (uint64_t)at.y_mm << 16 ^
				      at.heading) *
			      0x100000001b3ull;
			sum += sw_ground_sight(&f.ground, at.x_mm, at.y_mm, 4000, 4000);
		}
	}
	assert_int_equal(sum, 0xc9e761884234c5acull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_are_legal_at_any_speed),
		cmocka_unit_test(steps_are_as_walked_slowly),
		cmocka_unit_test(nothing_is_jumped_over),
		cmocka_unit_test(the_nearest_legal_place_is_found),
		cmocka_unit_test(whoever_stands_in_a_wall_is_put_beside_it),
		cmocka_unit_test(sight_is_geometry),
		cmocka_unit_test(reach_is_a_straight_line_in_sight),
		cmocka_unit_test(tiles_tell_portals),
		cmocka_unit_test(the_result_is_one_number),
	};

	return cmocka_run_group_tests_name("walls", tests, NULL, NULL);
}
