/* path: the way around walls. A field of directions over the tiles near a target: from wherever it
 * was reached, the next tile on a shortest way there. One field serves all who want to get to that
 * tile. Made in parts, so that a tick spends a fixed number of tiles on it.
 *
 * Pure: integers only, no clock, no allocation; any thread. By the rules of move.h, whose actors
 * are narrower than a tile: whoever asks sw_path_next for each of its steps gets there. A step goes
 * to one of the eight neighbours, past a corner only where both tiles beside it are open. */
#ifndef SW_SIMULATION_RULES_PATH_H
#define SW_SIMULATION_RULES_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "simulation/rules/ground.h"

#define SW_PATH_SIDE 64u /* tiles of a field's side; the target is in the middle */

struct sw_path {
	uint32_t column, row;                     /* of the target */
	uint32_t column0, row0, columns, rows;    /* the part of the ground that it covers */
	uint32_t head, tail;                      /* of the queue; equal: it is done */
	uint8_t way[SW_PATH_SIDE * SW_PATH_SIDE]; /* path.c; 0: not reached */
};

/* What making one needs beside it. One for all that are made one after the other. */
struct sw_path_queue {
	uint16_t at[SW_PATH_SIDE * SW_PATH_SIDE];
};

/* Begins the field of a target's tile, which is on the ground and open. */
void sw_path_begin(struct sw_path *path, struct sw_path_queue *queue,
	const struct sw_ground *ground, uint32_t column, uint32_t row);

/* Goes on with up to so many tiles. Returns with how many; fewer only when it is done. */
uint32_t sw_path_grow(struct sw_path *path, struct sw_path_queue *queue,
	const struct sw_ground *ground, uint32_t tiles);

static inline bool sw_path_done(const struct sw_path *path)
{
	return path->head == path->tail;
}

enum sw_path_step {
	SW_PATH_STEP,    /* to the place that it says */
	SW_PATH_THERE,   /* it stands in the target's tile */
	SW_PATH_OUTSIDE, /* of what the field covers, or of the ground */
	SW_PATH_CLOSED   /* there is no way within what the field covers, or not yet */
};

/* From a place: where to walk now, the middle of the next tile or, for who stands too far aside, of
 * its own across the way. */
enum sw_path_step sw_path_next(const struct sw_path *path, const struct sw_ground *ground,
	int32_t x_mm, int32_t y_mm, int32_t *to_x_mm, int32_t *to_y_mm);

/* The input for one step of step_mm towards what lies (x, y) away: full length along the longer
 * axis, less where that would lead beyond it, so that whoever gets there stays there. */
static inline void sw_path_input(int64_t x, int64_t y, uint32_t step_mm, int8_t *dx, int8_t *dy)
{
	int64_t far_x = x < 0 ? -x : x, far_y = y < 0 ? -y : y, far = far_x > far_y ? far_x : far_y;

	far = far > step_mm ? far : step_mm;
	*dx = far ? (int8_t)(x * 127 / far) : 0;
	*dy = far ? (int8_t)(y * 127 / far) : 0;
}

#endif
