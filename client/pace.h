/* pace.h: how long the time between two inputs is.
 *
 * A client's clock is a little faster or slower than the server's (0.01 % is usual). A fast one
 * makes more inputs than there are ticks; they wait on the server until its queue is full, and then
 * some are lost and the character is corrected. The server says with each update how many waited
 * for a tick (WorldUpdate.input_waiting). Jitter makes them wait for a moment; when the *least*
 * over a while is not 0, that many are too many, and the interval is stretched by a hundredth until
 * it is. A slow clock needs nothing: ticks without an input are made up for. Never shorter than a
 * tick: nobody walks faster by it.
 *
 * Pure: no clock. One thread, no memory of its own. */
#ifndef SWC_PACE_H
#define SWC_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define SWC_PACE_LOOKS       20u /* updates with a new input, in one look: a second of walking */
#define SWC_PACE_STRETCH_PER 100u

struct swc_pace {
	uint32_t looks, least; /* of input_waiting, in the look under way */
	bool stretched;
};

/* A stay on a map begins. */
void swc_pace_join(struct swc_pace *pace);

/* An update that confirms an input for the first time, and what waited. */
void swc_pace_update(struct swc_pace *pace, uint32_t waiting);

/* The interval, in nanoseconds. tick_hz is not 0. */
uint64_t swc_pace_interval_ns(const struct swc_pace *pace, uint32_t tick_hz);

#endif
