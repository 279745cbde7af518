/* prediction.h: the own character moves at once, and the server has the last word.
 *
 * Each client tick makes one input; the rules of simulation/rules move the character by it, here
 * and, half a round trip later, on the server. Each input is kept with the position it led to until
 * the server says what it made of it: if that is the same, good; if not, the character is set to
 * the server's position and the inputs since are made again from there. Pure: no socket, no clock.
 * One thread, no memory of its own. */
#ifndef SWC_PREDICTION_H
#define SWC_PREDICTION_H

#include <stdbool.h>
#include <stdint.h>

#include "simulation/rules/move.h"

/* Inputs that may await confirmation: 6.4 s at 20 Hz. A power of two. */
#define SWC_PREDICTION_INPUTS 128u
/* Inputs in one batch: the newest and up to 7 before it. */
#define SWC_BATCH_INPUTS 8u

struct swc_input {
	int8_t dx, dy;
	int32_t x_mm, y_mm; /* where it led to */
};

struct swc_prediction {
	struct sw_move_map map;
	uint32_t speed_mm_per_s;
	struct sw_move_state now;
	uint32_t newest;  /* sequence of the newest input; the first is 1 */
	uint32_t applied; /* the last one that the server confirmed with a position */
	uint32_t kept;    /* inputs kept: newest - kept + 1 … newest */
	int32_t applied_x_mm, applied_y_mm;
	uint64_t forgotten; /* inputs dropped from the ring unconfirmed */
	struct swc_input inputs[SWC_PREDICTION_INPUTS];
};

/* A stay on a map begins at this position. Sequence numbers go on from where they were. */
void swc_prediction_join(struct swc_prediction *prediction, const struct sw_move_map *map,
	uint32_t speed_mm_per_s, const struct sw_move_state *at);

/* Makes the next input and moves by it. (dx, dy) is at most 127 long. Returns its sequence. */
uint32_t swc_prediction_input(struct swc_prediction *prediction, int8_t dx, int8_t dy);

/* The kept input with this sequence, NULL if there is none. */
const struct swc_input *swc_prediction_kept(
	const struct swc_prediction *prediction, uint32_t sequence);

/* The server's position after input `sequence`. Returns true if it differs from what was predicted;
 * now is then the server's with the later inputs made again. A sequence older than
 * one already confirmed, or of an input never made, changes nothing and returns false. */
bool swc_prediction_reconcile(struct swc_prediction *prediction, uint32_t sequence, int32_t x_mm,
	int32_t y_mm, uint16_t heading);

#endif
