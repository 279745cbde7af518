#include "simulation/rules/move.h"

uint32_t sw_move_root_up(uint32_t n)
{
	uint32_t root = 0;

	for (uint32_t bit = 1u << 15; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= n)
			root += bit;
	return root * root < n ? root + 1 : root;
}

uint16_t sw_move_heading(int32_t dx, int32_t dy)
{
	/* atan(2^-i) in 1/65536 turn, times 256 to keep the rounding out of the sum. */
	static const int32_t angle[] = {2097152, 1238021, 654136, 332050, 166669, 83416, 41718,
		20860, 10430, 5215, 2608, 1304, 652, 326, 163};
	int32_t x, y, turn = 0;

	if (!dx && !dy)
		return 0;
	dx = dx < -32768 ? -32768 : dx > 32767 ? 32767 : dx;
	dy = dy < -32768 ? -32768 : dy > 32767 ? 32767 : dy;
	/* CORDIC converges within a quarter turn of +x: turn the left half plane around first. */
	if (dx < 0) {
		dx = -dx;
		dy = -dy;
		turn = 32768 * 256;
	}
	x = dx * 8192; /* at most 2^28; the gain of 1.65 and the diagonal keep it below 2^30 */
	y = dy * 8192;
	for (uint32_t i = 0; i < sizeof(angle) / sizeof(angle[0]); i++) {
		/* Division, not >>: shifting a negative number is implementation-defined. */
		int32_t sx = x / (1 << i), sy = y / (1 << i);

		if (y > 0) {
			x += sy;
			y -= sx;
			turn += angle[i];
		} else if (y < 0) {
			x -= sy;
			y += sx;
			turn -= angle[i];
		} else {
			break;
		}
	}
	return (uint16_t)((uint32_t)(turn + 128) >> 8);
}

static int32_t clamp_axis(int64_t mm, uint32_t size_mm)
{
	if (mm < 0)
		return 0;
	return mm >= size_mm ? (int32_t)(size_mm - 1) : (int32_t)mm;
}

static bool inside(const struct sw_move_map *map, int32_t x_mm, int32_t y_mm)
{
	return x_mm >= 0 && y_mm >= 0 && (uint32_t)x_mm < map->width_mm &&
	       (uint32_t)y_mm < map->height_mm;
}

/* ---- walls: an actor overlaps at most two tiles on each axis ---- */

/* The columns (or rows) that an actor overlaps. */
struct span {
	uint32_t first, last;
};

/* mm is inside the map. */
static struct span span_of(const struct sw_move_map *map, int32_t mm, uint32_t tiles)
{
	uint32_t tile_mm = map->ground->tile_mm;
	uint32_t low = (uint32_t)mm < map->radius_mm ? 0 : (uint32_t)mm - map->radius_mm;
	struct span span = {.first = low / tile_mm};

	/* No wider than a tile, so no second division. */
	span.last = span.first + ((uint32_t)mm + map->radius_mm >= (span.first + 1) * tile_mm);
	if (span.last >= tiles)
		span.last = tiles - 1;
	return span;
}

static bool are_clear(const struct sw_ground *ground, struct span columns, struct span rows)
{
	for (uint32_t row = rows.first; row <= rows.last; row++)
		for (uint32_t column = columns.first; column <= columns.last; column++)
			if (sw_ground_solid(ground, column, row))
				return false;
	return true;
}

/* x_mm, y_mm inside the map. */
static bool is_clear(const struct sw_move_map *map, int32_t x_mm, int32_t y_mm)
{
	return are_clear(map->ground, span_of(map, x_mm, map->ground->columns),
		span_of(map, y_mm, map->ground->rows));
}

/* Along one axis: x with sideways false, y with it true. across: what the actor overlaps on the
 * other axis. */
static bool blocked(const struct sw_ground *ground, bool sideways, uint32_t at, struct span across)
{
	if (sideways)
		return sw_ground_solid(ground, across.first, at) ||
		       sw_ground_solid(ground, across.last, at);
	return sw_ground_solid(ground, at, across.first) ||
	       sw_ground_solid(ground, at, across.last);
}

/* How far towards `to` an actor gets that stands clear in *here; *here is brought up to date. */
static int32_t slide(const struct sw_move_map *map, bool sideways, int32_t to, struct span *here,
	struct span across)
{
	const struct sw_ground *ground = map->ground;
	struct span there = span_of(map, to, sideways ? ground->rows : ground->columns);

	for (uint32_t at = here->last + 1; at <= there.last; at++)
		if (blocked(ground, sideways, at, across)) {
			*here = (struct span){at - 1, at - 1};
			return (int32_t)(at * ground->tile_mm - map->radius_mm - 1);
		}
	for (uint32_t at = here->first; at > there.first; at--)
		if (blocked(ground, sideways, at - 1, across)) {
			*here = (struct span){at, at};
			return (int32_t)(at * ground->tile_mm + map->radius_mm);
		}
	*here = there;
	return to;
}

/* From a clear place, whose tiles are columns and rows, towards (x_mm, y_mm), which is inside the
 * map, too. */
static void walk(const struct sw_move_map *map, struct sw_move_state *state, struct span columns,
	struct span rows, int32_t x_mm, int32_t y_mm)
{
	int64_t dx = (int64_t)x_mm - state->x_mm, dy = (int64_t)y_mm - state->y_mm;
	int64_t far = (dx < 0 ? -dx : dx) > (dy < 0 ? -dy : dy) ? dx : dy, pieces;

	far = far < 0 ? -far : far;
	if (far <= map->ground->tile_mm) {
		state->x_mm = slide(map, false, x_mm, &columns, rows);
		state->y_mm = slide(map, true, y_mm, &rows, columns);
		return;
	}
	pieces = (far + map->ground->tile_mm - 1) / map->ground->tile_mm;
	for (int64_t i = 0; i < pieces; i++) {
		int64_t part_x = dx * (i + 1) / pieces - dx * i / pieces;
		int64_t part_y = dy * (i + 1) / pieces - dy * i / pieces;

		state->x_mm = slide(map, false, (int32_t)(state->x_mm + part_x), &columns, rows);
		state->y_mm = slide(map, true, (int32_t)(state->y_mm + part_y), &rows, columns);
	}
}

/* ---- the nearest legal position ---- */

struct nearest {
	int32_t x_mm, y_mm; /* from where */
	int32_t best_x_mm, best_y_mm;
	uint64_t best; /* square of the distance; UINT64_MAX: none yet */
};

static void offer(const struct sw_move_map *map, struct nearest *n, int32_t x_mm, int32_t y_mm)
{
	int64_t dx = (int64_t)x_mm - n->x_mm, dy = (int64_t)y_mm - n->y_mm;
	uint64_t square = (uint64_t)(dx * dx) + (uint64_t)(dy * dy);

	if (square >= n->best || !is_clear(map, x_mm, y_mm))
		return;
	n->best = square;
	n->best_x_mm = x_mm;
	n->best_y_mm = y_mm;
}

static bool solid_beside(const struct sw_ground *ground, uint32_t column, uint32_t row)
{
	return column < ground->columns && row < ground->rows &&
	       sw_ground_solid(ground, column, row);
}

static int32_t between(int64_t mm, int64_t low, int64_t high)
{
	return (int32_t)(mm < low ? low : mm > high ? high : mm);
}

/* The nearest place in an open tile: beside each solid neighbour a strip of it, of the actor's
 * radius, is out of reach; beside a solid corner, a small square, which is left along either axis.
 */
static void offer_tile(
	const struct sw_move_map *map, struct nearest *n, uint32_t column, uint32_t row)
{
	const struct sw_ground *ground = map->ground;
	int64_t tile = ground->tile_mm, radius = map->radius_mm;
	int64_t west = column * tile, east = west + tile - 1;
	int64_t south = row * tile, north = south + tile - 1;
	int32_t x, y, core_x, core_y;

	core_x = between(n->x_mm, west + radius, east - radius);
	core_y = between(n->y_mm, south + radius, north - radius);
	x = between(n->x_mm, solid_beside(ground, column - 1, row) ? west + radius : west,
		solid_beside(ground, column + 1, row) ? east - radius : east);
	y = between(n->y_mm, solid_beside(ground, column, row - 1) ? south + radius : south,
		solid_beside(ground, column, row + 1) ? north - radius : north);
	offer(map, n, x, y);
	offer(map, n, core_x, y);
	offer(map, n, x, core_y);
}

static bool find_nearest(const struct sw_move_map *map, int32_t *x_mm, int32_t *y_mm)
{
	const struct sw_ground *ground = map->ground;
	struct nearest n = {.x_mm = *x_mm, .y_mm = *y_mm, .best = UINT64_MAX};
	int64_t column = *x_mm / (int32_t)ground->tile_mm, row = *y_mm / (int32_t)ground->tile_mm;

	for (int64_t ring = 0; ring <= SW_MOVE_SEARCH_TILES; ring++) {
		/* The tiles of this ring are at least so far away, less one millimetre. */
		uint64_t least = ring ? (uint64_t)(ring - 1) * ground->tile_mm : 0;

		if (n.best <= least * least)
			break;
		for (int64_t r = row - ring; r <= row + ring; r++) {
			/* All of the first and last row, the two ends of the others. */
			int64_t stride = r == row - ring || r == row + ring || !ring ? 1 : 2 * ring;

			for (int64_t c = column - ring; c <= column + ring; c += stride)
				if (c >= 0 && r >= 0 && c < ground->columns && r < ground->rows &&
					!sw_ground_solid(ground, (uint32_t)c, (uint32_t)r))
					offer_tile(map, &n, (uint32_t)c, (uint32_t)r);
		}
	}
	if (n.best == UINT64_MAX)
		return false;
	*x_mm = n.best_x_mm;
	*y_mm = n.best_y_mm;
	return true;
}

bool sw_move_legal(const struct sw_move_map *map, int32_t x_mm, int32_t y_mm)
{
	return inside(map, x_mm, y_mm) && (!map->ground || is_clear(map, x_mm, y_mm));
}

bool sw_move_clamp(const struct sw_move_map *map, int32_t *x_mm, int32_t *y_mm)
{
	*x_mm = clamp_axis(*x_mm, map->width_mm);
	*y_mm = clamp_axis(*y_mm, map->height_mm);
	return !map->ground || is_clear(map, *x_mm, *y_mm) || find_nearest(map, x_mm, y_mm);
}

enum sw_reach sw_move_reach(const struct sw_move_map *map, int32_t ax_mm, int32_t ay_mm,
	int32_t bx_mm, int32_t by_mm, uint32_t reach_mm)
{
	uint64_t dx = (uint64_t)(ax_mm > bx_mm ? (int64_t)ax_mm - bx_mm : (int64_t)bx_mm - ax_mm);
	uint64_t dy = (uint64_t)(ay_mm > by_mm ? (int64_t)ay_mm - by_mm : (int64_t)by_mm - ay_mm);
	uint64_t reach = reach_mm;

	/* Each square is below 2^64, their sum need not be. */
	if (dx > reach || dy > reach || dx * dx > reach * reach - dy * dy)
		return SW_REACH_TOO_FAR;
	return !map->ground || sw_ground_sight(map->ground, ax_mm, ay_mm, bx_mm, by_mm)
		       ? SW_REACH_FREE
		       : SW_REACH_HIDDEN;
}

bool sw_move_reaches(const struct sw_move_map *map, int32_t ax_mm, int32_t ay_mm, int32_t bx_mm,
	int32_t by_mm, uint32_t reach_mm)
{
	return sw_move_reach(map, ax_mm, ay_mm, bx_mm, by_mm, reach_mm) == SW_REACH_FREE;
}

static void step_to(
	const struct sw_move_map *map, struct sw_move_state *state, int64_t x_mm, int64_t y_mm)
{
	int32_t x = clamp_axis(x_mm, map->width_mm), y = clamp_axis(y_mm, map->height_mm);
	struct span columns, rows;

	if (!map->ground) {
		state->x_mm = x;
		state->y_mm = y;
		return;
	}
	if (inside(map, state->x_mm, state->y_mm)) {
		columns = span_of(map, state->x_mm, map->ground->columns);
		rows = span_of(map, state->y_mm, map->ground->rows);
		if (are_clear(map->ground, columns, rows)) {
			walk(map, state, columns, rows, x, y);
			return;
		}
	}
	sw_move_clamp(map, &state->x_mm, &state->y_mm);
}

void sw_move_apply(const struct sw_move_map *map, uint32_t speed_mm_per_s, int32_t dx, int32_t dy,
	struct sw_move_state *state)
{
	int64_t step_mm = sw_move_step_mm(speed_mm_per_s, map->tick_hz);
	uint32_t length;

	dx = dx < -SW_MOVE_AXIS_MAX  ? -SW_MOVE_AXIS_MAX
	     : dx > SW_MOVE_AXIS_MAX ? SW_MOVE_AXIS_MAX
				     : dx;
	dy = dy < -SW_MOVE_AXIS_MAX  ? -SW_MOVE_AXIS_MAX
	     : dy > SW_MOVE_AXIS_MAX ? SW_MOVE_AXIS_MAX
				     : dy;
	if (!dx && !dy) {
		state->moving_mm_per_s = 0;
		return;
	}
	/* Rounded up, so that the quotient never exceeds the step. */
	length = sw_move_root_up((uint32_t)(dx * dx + dy * dy));
	if (length < SW_MOVE_AXIS_MAX)
		length = SW_MOVE_AXIS_MAX;
	step_to(map, state, state->x_mm + step_mm * dx / length,
		state->y_mm + step_mm * dy / length);
	state->heading = sw_move_heading(dx, dy);
	/* What the vector asked for: at most the full speed. */
	length = sw_move_root_up((uint32_t)(dx * dx + dy * dy));
	if (length > SW_MOVE_AXIS_MAX)
		length = SW_MOVE_AXIS_MAX;
	state->moving_mm_per_s = (uint32_t)((uint64_t)speed_mm_per_s * length / SW_MOVE_AXIS_MAX);
}
