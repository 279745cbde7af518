#include "simulation/paths.h"

#define PART_TILES 128u /* between two looks at the slice */

void sim_paths_init(struct sim_paths *paths)
{
	paths->making = SIM_NONE;
}

/* How far two tiles are apart, along the longer axis. */
static uint32_t apart(const struct sw_path *path, uint32_t column, uint32_t row)
{
	uint32_t x = path->column > column ? path->column - column : column - path->column;
	uint32_t y = path->row > row ? path->row - row : row - path->row;

	return x > y ? x : y;
}

static void begin(struct sim_map *m, uint32_t column, uint32_t row)
{
	struct sim_paths *paths = m->paths;
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < SIM_PATHS; i++)
		if (m->beat - paths->used_beat[i] > m->beat - paths->used_beat[oldest])
			oldest = i;
	paths->making = oldest;
	paths->used_beat[oldest] = m->beat;
	sw_path_begin(&paths->path[oldest], &paths->queue, m->rules.ground, column, row);
	sim_work(m, SIM_PATHS * SIM_COST_SLOT + SIM_COST_PATH);
}

enum sw_path_step sim_path_next(struct sim_map *m, uint32_t slot, int32_t x_mm, int32_t y_mm,
	int32_t *to_x_mm, int32_t *to_y_mm)
{
	const struct sim_entity *e = &m->entities[slot];
	struct sim_paths *paths = m->paths;
	uint32_t tile, column, row, best = SIM_NONE, best_apart = SIM_PATH_NEAR + 1;
	enum sw_path_step step;

	if (!paths || !sw_ground_tile_at(m->rules.ground, x_mm, y_mm, &tile) ||
		sw_ground_bit(m->rules.ground->solid, tile))
		return SW_PATH_OUTSIDE;
	column = tile % m->rules.ground->columns;
	row = tile / m->rules.ground->columns;
	sim_work(m, SIM_PATHS * SIM_COST_SLOT);
	for (uint32_t i = 0; i < SIM_PATHS; i++) {
		uint32_t far;

		if (!paths->used_beat[i] || i == paths->making)
			continue;
		far = apart(&paths->path[i], column, row);
		if (far < best_apart) {
			best = i;
			best_apart = far;
		}
	}
	if (best_apart && paths->making == SIM_NONE)
		begin(m, column, row); /* in the place of best, if that is the oldest of all */
	if (best == SIM_NONE || best == paths->making)
		return SW_PATH_OUTSIDE;
	paths->used_beat[best] = m->beat;
	step = sw_path_next(
		&paths->path[best], m->rules.ground, e->x_mm, e->y_mm, to_x_mm, to_y_mm);
	/* What is closed to the neighbour of a target need not be to the target. */
	return step == SW_PATH_CLOSED && best_apart ? SW_PATH_OUTSIDE : step;
}

bool sim_paths_make(struct sim_map *m, struct sim_slice *slice)
{
	struct sim_paths *paths = m->paths;

	while (paths && paths->making != SIM_NONE && m->cursor < SIM_PATH_TILES) {
		struct sw_path *path = &paths->path[paths->making];
		uint32_t done;

		if (slice->left <= 0)
			return false;
		done = sw_path_grow(path, &paths->queue, m->rules.ground, PART_TILES);
		m->cursor += done;
		slice->left -= done * SIM_COST_PATH_TILE;
		if (sw_path_done(path))
			paths->making = SIM_NONE;
	}
	return true;
}
