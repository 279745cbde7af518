/* inlet: the shard's incoming rings. Private to simulation; the shard's thread.
 *
 * A drain changes little: an input goes into its player's slot at once, everything else marks a
 * player or joins a bounded queue, and takes effect in its stage. */
#ifndef SW_SIMULATION_INLET_H
#define SW_SIMULATION_INLET_H

#include "simulation/state.h"

/* Drains all rings, until they are empty or the slice is spent. Returns whether anything came. */
bool sim_inlets_drain(struct sim_shard *s, struct sim_slice *slice);

#endif
