#include "simulation/rules/path.h"

#include <string.h>

/* way: 0 not reached, 1 + a direction to the next tile, THERE the target itself. The straight ones
 * come first: of ways equally long, the plainer. */
#define THERE 9u
static const int8_t step_x[] = {1, -1, 0, 0, 1, -1, -1, 1};
static const int8_t step_y[] = {0, 0, 1, -1, 1, 1, -1, -1};
#define STEPS (sizeof(step_x) / sizeof(step_x[0]))

static void cover(uint32_t middle, uint32_t tiles, uint32_t *first, uint32_t *count)
{
	*first = middle > SW_PATH_SIDE / 2 ? middle - SW_PATH_SIDE / 2 : 0;
	*count = tiles - *first < SW_PATH_SIDE ? tiles - *first : SW_PATH_SIDE;
}

void sw_path_begin(struct sw_path *path, struct sw_path_queue *queue,
	const struct sw_ground *ground, uint32_t column, uint32_t row)
{
	uint32_t at;

	path->column = column;
	path->row = row;
	cover(column, ground->columns, &path->column0, &path->columns);
	cover(row, ground->rows, &path->row0, &path->rows);
	memset(path->way, 0, sizeof(path->way));
	at = (row - path->row0) * SW_PATH_SIDE + column - path->column0;
	path->way[at] = THERE;
	queue->at[0] = (uint16_t)at;
	path->head = 0;
	path->tail = 1;
}

/* Below 0 wraps to beyond all. */
static bool is_open(
	const struct sw_path *path, const struct sw_ground *ground, uint32_t column, uint32_t row)
{
	return column < path->columns && row < path->rows &&
	       !sw_ground_solid(ground, path->column0 + column, path->row0 + row);
}

uint32_t sw_path_grow(struct sw_path *path, struct sw_path_queue *queue,
	const struct sw_ground *ground, uint32_t tiles)
{
	uint32_t done = 0;

	for (; done < tiles && path->head != path->tail; done++) {
		uint32_t at = queue->at[path->head++];
		uint32_t column = at % SW_PATH_SIDE, row = at / SW_PATH_SIDE;

		/* The neighbour that reaches this tile by direction i lies against it. */
		for (uint32_t i = 0; i < STEPS; i++) {
			uint32_t from_column = column - (uint32_t)step_x[i];
			uint32_t from_row = row - (uint32_t)step_y[i], from;

			if (!is_open(path, ground, from_column, from_row))
				continue;
			from = from_row * SW_PATH_SIDE + from_column;
			if (path->way[from])
				continue;
			if (step_x[i] && step_y[i] &&
				(!is_open(path, ground, from_column, row) ||
					!is_open(path, ground, column, from_row)))
				continue;
			path->way[from] = (uint8_t)(1 + i);
			queue->at[path->tail++] = (uint16_t)from;
		}
	}
	return done;
}

static int32_t middle_of(const struct sw_ground *ground, uint32_t tile)
{
	return (int32_t)(tile * ground->tile_mm + ground->tile_mm / 2);
}

static bool reaches_over(const struct sw_ground *ground, int32_t mm, uint32_t tile)
{
	int32_t from = (int32_t)(tile * ground->tile_mm), radius = (int32_t)ground->radius_mm;

	return mm - radius < from || mm + radius >= from + (int32_t)ground->tile_mm;
}

enum sw_path_step sw_path_next(const struct sw_path *path, const struct sw_ground *ground,
	int32_t x_mm, int32_t y_mm, int32_t *to_x_mm, int32_t *to_y_mm)
{
	uint32_t index, column, row, way;

	if (!sw_ground_tile_at(ground, x_mm, y_mm, &index))
		return SW_PATH_OUTSIDE;
	column = index % ground->columns - path->column0;
	row = index / ground->columns - path->row0;
	if (column >= path->columns || row >= path->rows)
		return SW_PATH_OUTSIDE;
	way = path->way[row * SW_PATH_SIDE + column];
	if (way == THERE)
		return SW_PATH_THERE;
	if (!way)
		return SW_PATH_CLOSED;
	column += path->column0 + (uint32_t)step_x[way - 1];
	row += path->row0 + (uint32_t)step_y[way - 1];
	*to_x_mm = middle_of(ground, column);
	*to_y_mm = middle_of(ground, row);
	/* One that reaches over its tile's side may have a wall before it there, and a slow
	 * walker's way is too straight to get off it: first to the middle, across. */
	if (!step_y[way - 1] && reaches_over(ground, y_mm, row))
		*to_x_mm = x_mm;
	if (!step_x[way - 1] && reaches_over(ground, x_mm, column))
		*to_y_mm = y_mm;
	return SW_PATH_STEP;
}
