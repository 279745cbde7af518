/* Grounds: maps with walls, for prediction and drawing. */
#include "client/ground.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/ground/ground_load.h"

_Static_assert(SWC_NAME_BYTES == SW_GROUND_NAME_BYTES, "a place's name is copied whole");

static int wrap(int status, struct sw_ground *value, struct swc_ground **ground)
{
	*ground = NULL;
	if (status)
		return status;
	*ground = malloc(sizeof(**ground));
	if (!*ground) {
		sw_ground_free(value);
		return -ENOMEM;
	}
	(*ground)->value = value;
	return 0;
}

/* What the loader says, for a caller who wants it and one who does not. */
static FILE *error_open(char *error, size_t error_bytes)
{
	if (!error || !error_bytes)
		return fopen("/dev/null", "w");
	error[0] = '\0';
	return fmemopen(error, error_bytes, "w");
}

int swc_ground_load(const char *path, struct swc_ground **ground, char *error, size_t error_bytes)
{
	FILE *errors = error_open(error, error_bytes);
	struct sw_ground *value = NULL;
	int status;

	*ground = NULL;
	if (!errors)
		return -ENOMEM;
	status = sw_ground_load(NULL, path, errors, &value);
	fclose(errors);
	return wrap(status, value, ground);
}

int swc_ground_parse(const void *bytes, size_t count, const char *name, struct swc_ground **ground,
	char *error, size_t error_bytes)
{
	FILE *errors = error_open(error, error_bytes);
	struct sw_ground *value = NULL;
	int status;

	*ground = NULL;
	if (!errors)
		return -ENOMEM;
	status = sw_ground_parse(bytes, count, name, errors, &value);
	fclose(errors);
	return wrap(status, value, ground);
}

void swc_ground_free(struct swc_ground *ground)
{
	if (!ground)
		return;
	sw_ground_free(ground->value);
	free(ground);
}

uint64_t swc_ground_hash(const struct swc_ground *ground)
{
	return ground->value->hash;
}

bool swc_ground_solid_at(const struct swc_ground *ground, int32_t x_mm, int32_t y_mm)
{
	uint32_t index;

	return sw_ground_tile_at(ground->value, x_mm, y_mm, &index) &&
	       sw_ground_bit(ground->value->solid, index);
}

uint32_t swc_ground_portals(const struct swc_ground *ground)
{
	return ground->value->portal_count;
}

bool swc_ground_portal(const struct swc_ground *ground, uint32_t index, struct swc_portal *portal)
{
	const struct sw_ground *value = ground->value;
	const struct sw_ground_portal *from;

	if (index >= value->portal_count)
		return false;
	from = &value->portals[index];
	*portal = (struct swc_portal){.x0_mm = (int32_t)(from->column0 * value->tile_mm),
		.y0_mm = (int32_t)(from->row0 * value->tile_mm),
		.x1_mm = (int32_t)((from->column1 + 1) * value->tile_mm - 1),
		.y1_mm = (int32_t)((from->row1 + 1) * value->tile_mm - 1)};
	memcpy(portal->name, from->name, sizeof(portal->name));
	memcpy(portal->target_map, from->target_map, sizeof(portal->target_map));
	return true;
}

bool swc_ground_sight(
	const struct swc_ground *ground, int32_t x0_mm, int32_t y0_mm, int32_t x1_mm, int32_t y1_mm)
{
	return sw_ground_sight(ground->value, x0_mm, y0_mm, x1_mm, y1_mm);
}
