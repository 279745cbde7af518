#include "client/bot/ways.h"

#include <stdlib.h>

#include "client/ground.h"
#include "simulation/rules/path.h"

#define FIELDS 32u

struct ways {
	struct sw_path path[FIELDS];
	const struct sw_ground *ground[FIELDS]; /* NULL: empty */
	uint64_t used[FIELDS], uses;
	struct sw_path_queue queue;
};

struct ways *ways_new(void)
{
	return calloc(1, sizeof(struct ways));
}

void ways_free(struct ways *ways)
{
	free(ways);
}

static const struct sw_path *field(
	struct ways *ways, const struct sw_ground *ground, uint32_t column, uint32_t row)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < FIELDS; i++) {
		if (ways->ground[i] == ground && ways->path[i].column == column &&
			ways->path[i].row == row) {
			ways->used[i] = ++ways->uses;
			return &ways->path[i];
		}
		if (ways->used[i] < ways->used[oldest])
			oldest = i;
	}
	ways->ground[oldest] = ground;
	ways->used[oldest] = ++ways->uses;
	sw_path_begin(&ways->path[oldest], &ways->queue, ground, column, row);
	sw_path_grow(&ways->path[oldest], &ways->queue, ground, UINT32_MAX);
	return &ways->path[oldest];
}

bool ways_next(struct ways *ways, const struct swc_ground *ground, int32_t x_mm, int32_t y_mm,
	int32_t to_x_mm, int32_t to_y_mm, int32_t *next_x_mm, int32_t *next_y_mm)
{
	const struct sw_ground *value = ground ? ground->value : NULL;
	uint32_t tile;

	if (!ways || !value || !sw_ground_tile_at(value, to_x_mm, to_y_mm, &tile) ||
		sw_ground_bit(value->solid, tile))
		return false;
	*next_x_mm = to_x_mm;
	*next_y_mm = to_y_mm;
	if (sw_ground_sight(value, x_mm, y_mm, to_x_mm, to_y_mm))
		return true;
	switch (sw_path_next(field(ways, value, tile % value->columns, tile / value->columns),
		value, x_mm, y_mm, next_x_mm, next_y_mm)) {
	case SW_PATH_STEP:
	case SW_PATH_THERE:
		return true;
	case SW_PATH_OUTSIDE:
	case SW_PATH_CLOSED:
		break;
	}
	return false;
}

bool ways_may_strike(
	const struct swc_ground *ground, const struct swc_self *self, const struct swc_actor *prey)
{
	return !ground || (!sw_ground_safe_at(ground->value, self->x_mm, self->y_mm) &&
				  !sw_ground_safe_at(ground->value, prey->x_mm, prey->y_mm));
}
