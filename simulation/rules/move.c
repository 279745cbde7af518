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

bool sw_move_legal(const struct sw_move_map *map, int32_t x_mm, int32_t y_mm)
{
	return x_mm >= 0 && y_mm >= 0 && (uint32_t)x_mm < map->width_mm &&
	       (uint32_t)y_mm < map->height_mm;
}

static int32_t clamp_axis(int64_t mm, uint32_t size_mm)
{
	if (mm < 0)
		return 0;
	return mm >= size_mm ? (int32_t)(size_mm - 1) : (int32_t)mm;
}

void sw_move_clamp(const struct sw_move_map *map, int32_t *x_mm, int32_t *y_mm)
{
	*x_mm = clamp_axis(*x_mm, map->width_mm);
	*y_mm = clamp_axis(*y_mm, map->height_mm);
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
	state->x_mm = clamp_axis(state->x_mm + step_mm * dx / length, map->width_mm);
	state->y_mm = clamp_axis(state->y_mm + step_mm * dy / length, map->height_mm);
	state->heading = sw_move_heading(dx, dy);
	/* What the vector asked for: at most the full speed. */
	length = sw_move_root_up((uint32_t)(dx * dx + dy * dy));
	if (length > SW_MOVE_AXIS_MAX)
		length = SW_MOVE_AXIS_MAX;
	state->moving_mm_per_s = (uint32_t)((uint64_t)speed_mm_per_s * length / SW_MOVE_AXIS_MAX);
}
