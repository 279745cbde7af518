/* interest: the cells of a map, and who must look again when someone changes cell. Private to
 * simulation; the shard's thread.
 *
 * An entity's cell follows its place with hysteresis: it changes when the entity is more than
 * margin_mm (an eighth of a cell) outside. Who sees whom depends on the two cells alone: within
 * SIM_CELL_RADIUS cells on both axes. A cell is 4/7 of view_m, so everyone within view_m is seen
 * (2 cells less two margins), and nobody beyond 3 cells and two margins, 1.86 view_m on an axis. On
 * a map so large that this made more than SIM_CELLS_MAX cells they are larger, and one sees
 * further. In a crowd the nearest of those are seen, view.h. */
#ifndef SW_SIMULATION_INTEREST_H
#define SW_SIMULATION_INTEREST_H

#include "simulation/state.h"

static inline uint32_t sim_cell_at(const struct sim_map *m, int32_t x_mm, int32_t y_mm)
{
	return (uint32_t)y_mm / m->cell_mm * m->columns + (uint32_t)x_mm / m->cell_mm;
}

/* The cell an entity belongs to now, given the one it was in. */
uint32_t sim_cell_follow(const struct sim_map *m, uint32_t cell, int32_t x_mm, int32_t y_mm);

/* The cells seen from a cell: an inclusive rectangle. */
struct sim_window {
	uint32_t column0, column1, row0, row1;
};

static inline struct sim_window sim_window_of(const struct sim_map *m, uint32_t cell)
{
	uint32_t column = cell % m->columns, row = cell / m->columns;

	return (struct sim_window){
		.column0 = column > SIM_CELL_RADIUS ? column - SIM_CELL_RADIUS : 0,
		.column1 = column + SIM_CELL_RADIUS < m->columns ? column + SIM_CELL_RADIUS
								 : m->columns - 1,
		.row0 = row > SIM_CELL_RADIUS ? row - SIM_CELL_RADIUS : 0,
		.row1 = row + SIM_CELL_RADIUS < m->rows ? row + SIM_CELL_RADIUS : m->rows - 1,
	};
}

static inline bool sim_window_has(
	const struct sim_map *m, const struct sim_window *w, uint32_t cell)
{
	uint32_t column = cell % m->columns, row = cell / m->columns;

	return cell != SIM_NONE && column >= w->column0 && column <= w->column1 && row >= w->row0 &&
	       row <= w->row1;
}

/* Distance in a crowd: the larger axis, in steps of one SIM_BUCKETS-th of the furthest that a
 * window reaches. [0, SIM_BUCKETS). */
#define SIM_BUCKETS 64u

static inline uint32_t sim_distance_bucket(
	const struct sim_map *m, const struct sim_entity *a, int32_t x_mm, int32_t y_mm)
{
	uint32_t dx = (uint32_t)(a->x_mm > x_mm ? a->x_mm - x_mm : x_mm - a->x_mm);
	uint32_t dy = (uint32_t)(a->y_mm > y_mm ? a->y_mm - y_mm : y_mm - a->y_mm);
	uint64_t bucket = (dx > dy ? dx : dy) * (uint64_t)m->bucket_scale >> 32;

	return bucket < SIM_BUCKETS ? (uint32_t)bucket : SIM_BUCKETS - 1;
}

/* Entities in a window. */
uint32_t sim_window_count(const struct sim_map *m, const struct sim_window *w);

/* Moves the slot's entity to a cell, SIM_NONE for off the map, and makes all whose view of it may
 * have changed look again, itself too. Cells in which everyone is crowded are passed over, so that
 * a step costs little in a crowd. */
void sim_interest_move(struct sim_map *m, uint32_t slot, uint32_t cell);

/* Sets whether a player, who is on the map, is crowded: who is compares its whole view twice a
 * second and need not be told of each that comes and goes. Makes it compare now. */
void sim_interest_crowd(struct sim_map *m, uint32_t observer, bool crowded);

/* Makes an observer check an entity when its view is next compared. */
void sim_interest_pend(struct sim_map *m, uint32_t observer, uint32_t slot);

#endif
