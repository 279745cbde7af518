/* grain: the entities of full cells in the order of their places, so that who looks for the
 * nearest looks at those around and not at all in sight. Private to simulation; the shard's thread.
 *
 * In stage 7 the entities are laid out cell by cell: map->laid all, map->fresh those that changed
 * within SIM_REPEAT_TICKS. Each cell that holds SIM_GRAIN_MIN or more is divided into 16 to 4,096
 * sub-cells, one to four entities each, and its entities are sorted by them (counting sort, in
 * slices). An entity that is outside of its cell
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

/* Before the first cell of a tick, and after the last. */
void sim_grain_begin(struct sim_map *m);
void sim_grain_end(struct sim_map *m);

/* Sorts a full cell's entities into map->laid, from map->lay.used on; false when the slice ends
 * within. The cell's grain is then whole but for the starts in map->fresh, which who lays out the
 * cell fills in. */
bool sim_grain_sort(struct sim_map *m, struct sim_cell *cell, struct sim_slice *slice);

/* What is asked of an entity, at its place in map->laid. */
static inline struct sim_laid sim_laid_of(const struct sim_map *m, uint32_t slot)
{
	const struct sim_entity *e = &m->entities[slot];

	return (struct sim_laid){.x_mm = e->x_mm,
		.y_mm = e->y_mm,
		.slot = slot,
		.record_bytes = e->record_bytes,
		.known_bit = sim_known_bit(m, slot)};
}

/* Entities in a window, all or those that changed lately. */
static inline uint32_t sim_window_laid(
	const struct sim_map *m, const struct sim_window *w, bool fresh)
{
	uint32_t count = 0;

	for (uint32_t row = w->row0; row <= w->row1; row++) {
		const struct sim_cell *first = &m->cells[row * m->columns + w->column0];
		const struct sim_cell *end = &m->cells[row * m->columns + w->column1 + 1];

		count += fresh ? end->fresh - first->fresh : end->laid - first->laid;
	}
	return count;
}

/* Entities that lie one after the other. */
struct sim_run {
	const struct sim_laid *first;
	uint32_t count;
};

#define SIM_RUNS_MAX ((2 * SIM_CELL_RADIUS + 1) * (2 * SIM_CELL_RADIUS + 1) << SIM_GRAIN_SHIFT_MAX)

/* The runs of the window's entities around a place: at least all whose distance on both axes is at
 * most reach_mm, and others that share their sub-cells or cells. fresh: of those alone that changed
 * lately. Returns how many entities that are. */
uint32_t sim_grain_around(const struct sim_map *m, const struct sim_window *window,
	const struct sim_entity *place, uint32_t reach_mm, bool fresh, struct sim_run *runs,
	uint32_t *run_count);

/* How many buckets (interest.h) around an entity may hold `want` entities, by what its own cell and
 * the window's mean hold. 1..SIM_BUCKETS. */
uint32_t sim_grain_guess(const struct sim_map *m, const struct sim_window *window, uint32_t cell,
	uint32_t want, bool fresh);

/* A reach within which are all that are nearer than a bucket. */
static inline uint32_t sim_bucket_reach(const struct sim_map *m, uint32_t bucket)
{
	return bucket >= SIM_BUCKETS ? INT32_MAX / 2
				     : (uint32_t)(((uint64_t)bucket << 32) / m->bucket_scale);
}

#endif
