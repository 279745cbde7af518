/* grain: the entities of a full cell in the order of their places, so that who looks for the
 * nearest looks at those around and not at all in sight. Private to simulation; the shard's thread.
 *
 * In stage 7 each cell that holds SIM_GRAIN_MIN or more is divided into 4 to 4,096 sub-cells, about
 * one entity each, and its entities are sorted by them (counting sort, in slices): map->laid all,
 * map->fresh those that changed within SIM_REPEAT_TICKS. An entity that is outside of its cell
 * (hysteresis, interest.h) counts to the sub-cell at the edge. The order holds until stage 7 of the
 * next tick; nothing appears, vanishes or moves between that and the end of stage 8. */
#ifndef SW_SIMULATION_GRAIN_H
#define SW_SIMULATION_GRAIN_H

#include "simulation/interest.h"
#include "simulation/state.h"

#define SIM_GRAIN_SHIFT_MAX 6u /* 64 x 64 sub-cells */

struct sim_grain {
	uint32_t shift; /* 2^shift sub-cells on a side, row by row */
	/* Of each sub-cell, and one more: where in laid and fresh its entities begin; places in
	 * map->grain_starts. */
	uint32_t starts, fresh_starts;
};

/* How many starts all grains of a map may need: a grain has no more sub-cells than entities. */
static inline size_t sim_grain_starts_max(uint32_t slots)
{
	return 2 * ((size_t)slots + slots / SIM_GRAIN_MIN + 1);
}

/* Before the first cell of a tick. */
void sim_grain_begin(struct sim_map *m);

/* Sorts a cell's entities; false when the slice ends within. The cell's grain is then whole but for
 * the fresh ones, which who lays out the cell adds with the following two. */
bool sim_grain_sort(struct sim_map *m, struct sim_cell *cell, struct sim_slice *slice);

/* Gathers slots of the window's entities around a place: at least all whose distance on both axes
 * is at most reach_mm, as many others as share their sub-cells or cells. fresh: those alone that
 * changed lately. Returns how many, at most max: more may be near then. */
uint32_t sim_grain_gather(const struct sim_map *m, const struct sim_window *window,
	const struct sim_entity *around, uint32_t reach_mm, bool fresh, uint32_t *out,
	uint32_t max);

/* How many buckets (interest.h) around an entity may hold `want` entities, by what its own cell and
 * the window's mean hold. 1..SIM_BUCKETS. */
uint32_t sim_grain_guess(
	const struct sim_map *m, const struct sim_window *window, uint32_t cell, uint32_t want);

/* A reach within which are all that are nearer than a bucket. */
static inline uint32_t sim_bucket_reach(const struct sim_map *m, uint32_t bucket)
{
	return bucket >= SIM_BUCKETS ? INT32_MAX / 2
				     : (uint32_t)(((uint64_t)bucket << 32) / m->bucket_scale);
}

#endif
