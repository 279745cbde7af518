/* move: the rules of walking, compiled by server and client alike, so that a client's prediction
 * and the server's result agree to the millimetre.
 *
 * Pure: integers only, no state, no clock, no allocation; any thread. All positions are millimetres
 * in [0, width_mm) x [0, height_mm); x grows to the east, y to the north. Nothing here overflows
 * for any input value.
 *
 * An actor is a square of 2 * radius_mm + 1 millimetres around its position. It may not overlap a
 * solid tile of the map's ground; it may reach over the map's edge, where its middle stays inside.
 * On open ground (no ground) it is a point, and the edge is all that stops it. */
#ifndef SW_SIMULATION_RULES_MOVE_H
#define SW_SIMULATION_RULES_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "simulation/rules/ground.h"

#define SW_MOVE_AXIS_MAX     127 /* longest direction vector */
#define SW_MOVE_SEARCH_TILES 32u /* how far sw_move_clamp looks, along each axis */

struct sw_move_map {
	uint32_t width_mm, height_mm;   /* 1..2^31-1 */
	uint32_t tick_hz;               /* inputs per second, at least 1 */
	uint32_t radius_mm;             /* of an actor; 2 * radius_mm < tile_mm; 0 on open ground */
	const struct sw_ground *ground; /* of this width and height; NULL: open ground */
};

struct sw_move_state {
	int32_t x_mm, y_mm;
	uint16_t heading;         /* 1/65536 turn, 0 is +x, counter-clockwise; kept at rest */
	uint32_t moving_mm_per_s; /* speed along heading that the input asked for, 0 at rest */
};

/* The length of one input's step at full deflection, rounded down. A slower vector steps less. */
static inline uint32_t sw_move_step_mm(uint32_t speed_mm_per_s, uint32_t tick_hz)
{
	return speed_mm_per_s / tick_hz;
}

/* Applies one input, which is one tick of walking. A vector longer than SW_MOVE_AXIS_MAX counts as
 * one of that length in the same direction, so no vector goes further than sw_move_step_mm (each
 * axis is rounded towards zero). The map's edge stops the axis that would cross it, and
 * a solid tile the axis that would enter it: first the whole way along x, then along y, so an actor
 * slides along walls. A step longer than a tile is walked in pieces of at most one, and nothing is
 * jumped over. (0, 0) stands still and keeps the heading.
 *
 * An actor that stands in a solid tile (by these rules it never gets there) is put where
 * sw_move_clamp says, and that is all the input does; where that finds nothing it stays. So who was
 * legal stays legal. */
void sw_move_apply(const struct sw_move_map *map, uint32_t speed_mm_per_s, int32_t dx, int32_t dy,
	struct sw_move_state *state);

/* Whether an actor may stand there: inside the map, and clear of solid tiles. */
bool sw_move_legal(const struct sw_move_map *map, int32_t x_mm, int32_t y_mm);

/* The nearest legal position, in a straight line; of several always the same one. Looks
 * SW_MOVE_SEARCH_TILES tiles far. False: there is none so near, and the position is only put inside
 * the map. */
bool sw_move_clamp(const struct sw_move_map *map, int32_t *x_mm, int32_t *y_mm);

/* Whether one who stands at a can reach b: at most reach_mm away in a straight line (exactly, ends
 * included), and nothing solid between the two (sw_ground_sight). The one rule of reach: blows,
 * eyes, hands and voices all go by it. */
enum sw_reach { SW_REACH_FREE, SW_REACH_TOO_FAR, SW_REACH_HIDDEN };
enum sw_reach sw_move_reach(const struct sw_move_map *map, int32_t ax_mm, int32_t ay_mm,
	int32_t bx_mm, int32_t by_mm, uint32_t reach_mm);

/* The same where the reason does not matter. */
bool sw_move_reaches(const struct sw_move_map *map, int32_t ax_mm, int32_t ay_mm, int32_t bx_mm,
	int32_t by_mm, uint32_t reach_mm);

/* The heading of a vector, 1/65536 turn; 0 for (0, 0). CORDIC on integers, within 4/65536 turn;
 * each axis is taken as -32768..32767. */
uint16_t sw_move_heading(int32_t dx, int32_t dy);

/* The integer square root, rounded up. */
uint32_t sw_move_root_up(uint32_t n);

#endif
