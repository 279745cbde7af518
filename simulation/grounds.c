#include "simulation/grounds.h"

#include <stdlib.h>

#include "simulation/entity.h"
#include "simulation/ground/ground_load.h"
#include "simulation/portal.h"
#include "simulation/random.h"
#include "simulation/state.h"

#define SPAWN_SPREAD_MM                                                                            \
	4000u /* on open ground, new players stand up to half of it from the middle, on each axis  \
	       */

_Static_assert(SW_GROUND_NAME_BYTES == MAP_NAME_BYTES, "a portal's target is a map's name");
_Static_assert(SW_GROUND_HERDS_MAX < SIM_NO_HERD, "a herd's number fits a monster");

static bool extent_check(const char *name, const char *file, const char *what, uint32_t given_m,
	uint32_t got_mm, FILE *errors)
{
	if (!given_m || given_m * 1000 == got_mm)
		return true;
	fprintf(errors,
		"map %s: %s is %u m, but %s is %u.%03u m, allowed is to leave it out or say the "
		"same\n",
		name, what, given_m, file, got_mm / 1000, got_mm % 1000);
	return false;
}

static bool map_load(const struct sw_config *config, const struct config_map *map, FILE *errors,
	struct sw_ground **out)
{
	const struct sw_ground *ground;
	bool good;

	if (!map->file[0])
		return true;
	if (sw_ground_load(config->simulation.content, map->file, errors, out))
		return false;
	ground = *out;
	good = extent_check(map->name, map->file, "width", map->width_m, ground->width_mm, errors);
	good &= extent_check(
		map->name, map->file, "height", map->height_m, ground->height_mm, errors);
	if (!ground->spawn_count) {
		fprintf(errors, "map %s: %s has no spawn, allowed is at least one\n", map->name,
			map->file);
		good = false;
	}
	return good;
}

struct sim_grounds *sim_grounds_new(const struct sw_config *config, char *error, size_t error_bytes)
{
	struct sim_grounds *grounds = calloc(1, sizeof(*grounds));
	FILE *errors = fmemopen(error, error_bytes, "w");
	bool good = grounds && errors, files;

	if (!good)
		snprintf(error, error_bytes, "no memory for the maps' grounds");
	for (uint32_t i = 0; grounds && errors && i < config->map_count; i++)
		good &= map_load(config, &config->maps[i], errors, &grounds->of[i]);
	files = good; /* a portal may lead to any of them */
	for (uint32_t i = 0; files && i < config->map_count; i++)
		good &= sim_portals_new(config, grounds->of, i, errors, &grounds->portals[i]);
	if (errors)
		fclose(errors);
	if (good)
		return grounds;
	sim_grounds_free(grounds);
	return NULL;
}

void sim_grounds_free(struct sim_grounds *grounds)
{
	if (!grounds)
		return;
	for (uint32_t i = 0; i < CONFIG_MAPS_MAX; i++) {
		sw_ground_free(grounds->of[i]);
		free(grounds->portals[i]);
	}
	free(grounds);
}

/* Between low and high, both included. */
static int32_t draw(struct sim_map *m, int32_t low, int32_t high)
{
	return low + (int32_t)sim_random_below(&m->random, (uint32_t)(high - low) + 1);
}

static const struct sw_ground_spawn *spawn_draw(struct sim_map *m)
{
	const struct sw_ground *ground = m->rules.ground;
	uint32_t open = 0, pick;

	sim_work(m, ground->spawn_count * SIM_COST_SLOT);
	for (uint32_t i = 0; i < ground->spawn_count; i++)
		open += !ground->spawns[i].arrival;
	if (!open) /* all are for arrivals: better there than nowhere */
		return &ground->spawns[sim_random_below(&m->random, ground->spawn_count)];
	pick = sim_random_below(&m->random, open);
	for (uint32_t i = 0;; i++)
		if (!ground->spawns[i].arrival && !pick--)
			return &ground->spawns[i];
}

/* The nearest legal place to one drawn in a rectangle; that of its middle, which the loader has
 * seen to be near one, when there is none so near. */
static void draw_place(struct sim_map *m, int32_t x0_mm, int32_t y0_mm, int32_t x1_mm,
	int32_t y1_mm, int32_t *x_mm, int32_t *y_mm)
{
	*x_mm = draw(m, x0_mm, x1_mm);
	*y_mm = draw(m, y0_mm, y1_mm);
	if (sim_position_clamp(m, x_mm, y_mm))
		return;
	*x_mm = x0_mm + (x1_mm - x0_mm) / 2;
	*y_mm = y0_mm + (y1_mm - y0_mm) / 2;
	sim_position_clamp(m, x_mm, y_mm);
}

void sim_spawn_place(struct sim_map *m, int32_t *x_mm, int32_t *y_mm)
{
	const int32_t half = (int32_t)SPAWN_SPREAD_MM / 2;

	if (m->rules.ground && m->rules.ground->spawn_count) {
		const struct sw_ground_spawn *spawn = spawn_draw(m);

		draw_place(m, spawn->x0_mm, spawn->y0_mm, spawn->x1_mm, spawn->y1_mm, x_mm, y_mm);
		return;
	}
	*x_mm = (int32_t)(m->rules.width_mm / 2);
	*y_mm = (int32_t)(m->rules.height_mm / 2);
	*x_mm = draw(m, *x_mm - half, *x_mm + half - 1);
	*y_mm = draw(m, *y_mm - half, *y_mm + half - 1);
	sim_position_clamp(m, x_mm, y_mm);
}

void sim_monster_place(struct sim_map *m, uint32_t i, int32_t *x_mm, int32_t *y_mm, uint16_t *herd)
{
	const struct sw_ground *ground = m->rules.ground;
	const struct sw_ground_herd *h;
	int32_t radius;

	*herd = SIM_NO_HERD;
	if (i < m->config.monsters) {
		*x_mm = (int32_t)sim_random_below(&m->random, m->rules.width_mm);
		*y_mm = (int32_t)sim_random_below(&m->random, m->rules.height_mm);
		if (!sim_position_clamp(m, x_mm, y_mm))
			sim_spawn_place(m, x_mm, y_mm);
		return;
	}
	i -= m->config.monsters;
	for (*herd = 0; i >= ground->herds[*herd].count; (*herd)++)
		i -= ground->herds[*herd].count;
	h = &ground->herds[*herd];
	sim_work(m, *herd * SIM_COST_SLOT);
	radius = (int32_t)h->radius_mm;
	draw_place(m, h->x_mm - radius, h->y_mm - radius, h->x_mm + radius, h->y_mm + radius, x_mm,
		y_mm);
}
