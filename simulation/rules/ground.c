#include "simulation/rules/ground.h"

#include <string.h>

bool sw_ground_tile_at(const struct sw_ground *ground, int32_t x_mm, int32_t y_mm, uint32_t *index)
{
	if (x_mm < 0 || y_mm < 0 || (uint32_t)x_mm >= ground->width_mm ||
		(uint32_t)y_mm >= ground->height_mm)
		return false;
	*index = (uint32_t)y_mm / ground->tile_mm * ground->columns +
		 (uint32_t)x_mm / ground->tile_mm;
	return true;
}

const struct sw_ground_portal *sw_ground_portal_at(
	const struct sw_ground *ground, int32_t x_mm, int32_t y_mm)
{
	uint32_t index;

	if (!ground->portal_of || !sw_ground_tile_at(ground, x_mm, y_mm, &index) ||
		!ground->portal_of[index])
		return NULL;
	return &ground->portals[ground->portal_of[index] - 1];
}

bool sw_ground_safe_at(const struct sw_ground *ground, int32_t x_mm, int32_t y_mm)
{
	uint32_t index;

	return ground->safe && sw_ground_tile_at(ground, x_mm, y_mm, &index) &&
	       sw_ground_bit(ground->safe, index);
}

const struct sw_ground_spawn *sw_ground_spawn_find(const struct sw_ground *ground, const char *name)
{
	for (uint32_t i = 0; i < ground->spawn_count; i++)
		if (!strncmp(ground->spawns[i].name, name, SW_GROUND_NAME_BYTES))
			return &ground->spawns[i];
	return NULL;
}

const struct sw_ground_npc *sw_ground_npc_find(const struct sw_ground *ground, const char *tag)
{
	for (uint32_t i = 0; i < ground->npc_count; i++)
		if (!strncmp(ground->npcs[i].tag, tag, SW_GROUND_NAME_BYTES))
			return &ground->npcs[i];
	return NULL;
}

/* One axis of a line: half millimetres, so that no end lies on a tile's border, and both ways pass
 * the same tiles. */
struct axis {
	uint64_t length; /* of the whole line */
	uint64_t border; /* how far the next border is from the start */
	uint64_t tile;   /* from one border to the next */
	uint32_t at, end;
	int32_t step;
};

static struct axis axis_make(uint32_t from_mm, uint32_t to_mm, uint32_t tile_mm)
{
	uint32_t inside_mm = from_mm % tile_mm;
	struct axis axis = {
		.tile = 2ull * tile_mm, .at = from_mm / tile_mm, .end = to_mm / tile_mm};

	if (to_mm >= from_mm) {
		axis.length = 2ull * (to_mm - from_mm);
		axis.border = 2ull * (tile_mm - inside_mm) - 1;
		axis.step = 1;
	} else {
		axis.length = 2ull * (from_mm - to_mm);
		axis.border = 2ull * inside_mm + 1;
		axis.step = -1;
	}
	return axis;
}

static void axis_next(struct axis *axis)
{
	axis->at += (uint32_t)axis->step;
	axis->border += axis->tile;
}

bool sw_ground_sight(
	const struct sw_ground *ground, int32_t x0_mm, int32_t y0_mm, int32_t x1_mm, int32_t y1_mm)
{
	uint32_t end;
	struct axis x, y;

	if (!sw_ground_tile_at(ground, x0_mm, y0_mm, &end) ||
		!sw_ground_tile_at(ground, x1_mm, y1_mm, &end))
		return false;
	x = axis_make((uint32_t)x0_mm, (uint32_t)x1_mm, ground->tile_mm);
	y = axis_make((uint32_t)y0_mm, (uint32_t)y1_mm, ground->tile_mm);
	while (!sw_ground_solid(ground, x.at, y.at)) {
		bool more_x = x.at != x.end, more_y = y.at != y.end;
		/* Which border comes first: border / length, compared crosswise; below 2^62. */
		uint64_t x_first = x.border * y.length, y_first = y.border * x.length;

		if (!more_x && !more_y)
			return true;
		if (more_x && more_y && x_first == y_first) {
			if (sw_ground_solid(ground, x.at + (uint32_t)x.step, y.at) &&
				sw_ground_solid(ground, x.at, y.at + (uint32_t)y.step))
				return false;
			axis_next(&x);
			axis_next(&y);
		} else if (!more_y || (more_x && x_first < y_first)) {
			axis_next(&x);
		} else {
			axis_next(&y);
		}
	}
	return false;
}

static uint64_t fnv(uint64_t hash, uint8_t byte)
{
	return (hash ^ byte) * 0x100000001b3ull;
}

uint64_t sw_ground_walls_hash(
	uint32_t columns, uint32_t rows, uint32_t tile_mm, const uint64_t *solid)
{
	const uint32_t head[] = {columns, rows, tile_mm};
	uint64_t hash = 0xcbf29ce484222325ull;

	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t shift = 0; shift < 32; shift += 8)
			hash = fnv(hash, (uint8_t)(head[i] >> shift));
	for (uint32_t byte = 0; byte < (columns * rows + 7) / 8; byte++)
		hash = fnv(hash, (uint8_t)(solid[byte / 8] >> (byte % 8 * 8)));
	return hash ? hash : 1;
}
