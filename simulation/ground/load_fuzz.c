/* Fuzz target: a map file. Input: the file's bytes. Checks, beside what the sanitizers see: what is
 * taken keeps its own promises (sizes within bounds, places legal, the tile index agrees with the
 * list of portals), walking on it never leaves it or enters a wall, and what is refused is said. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/ground/ground_load.h"
#include "simulation/rules/move.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static void check_places(const struct sw_ground *g, const struct sw_move_map *map)
{
	check(g->spawn_count <= SW_GROUND_SPAWNS_MAX && g->portal_count <= SW_GROUND_PORTALS_MAX);
	check(g->herd_count <= SW_GROUND_HERDS_MAX && g->npc_count <= SW_GROUND_NPCS_MAX);
	check(g->monsters <= SW_GROUND_MONSTERS_MAX);
	for (uint32_t i = 0; i < g->spawn_count; i++) {
		const struct sw_ground_spawn *s = &g->spawns[i];
		int32_t x = s->x0_mm, y = s->y0_mm;

		check(s->x0_mm <= s->x1_mm && s->y0_mm <= s->y1_mm && x >= 0 && y >= 0);
		check((uint32_t)s->x1_mm < g->width_mm && (uint32_t)s->y1_mm < g->height_mm);
		check(sw_move_clamp(map, &x, &y));
	}
	for (uint32_t i = 0; i < g->npc_count; i++)
		check(sw_move_legal(map, g->npcs[i].x_mm, g->npcs[i].y_mm) && *g->npcs[i].tag);
	for (uint32_t i = 0; i < g->portal_count; i++) {
		const struct sw_ground_portal *p = &g->portals[i];

		check(p->column1 < g->columns && p->row1 < g->rows && *p->target_map);
		check(sw_ground_portal_at(g, (int32_t)(p->column0 * g->tile_mm),
			      (int32_t)(p->row1 * g->tile_mm)) == p);
	}
}

static void check_walk(const struct sw_move_map *map)
{
	struct sw_move_state at = {
		.x_mm = (int32_t)map->width_mm / 2, .y_mm = (int32_t)map->height_mm / 2};
	uint32_t random = 1;

	if (!sw_move_clamp(map, &at.x_mm, &at.y_mm))
		return; /* rock as far as it looks */
	for (int i = 0; i < 64; i++) {
		random = random * 1664525 + 1013904223;
		sw_move_apply(map, 5000, (int32_t)(random >> 24) - 128,
			(int32_t)(random >> 16 & 255) - 128, &at);
		check(sw_move_legal(map, at.x_mm, at.y_mm));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char said[512] = "";
	FILE *errors = fmemopen(said, sizeof(said), "w");
	struct sw_ground *ground;
	struct sw_move_map map;
	int status;

	check(errors != NULL);
	setvbuf(errors, NULL, _IONBF, 0);
	status = sw_ground_parse(data, size, "f", errors, &ground);
	fclose(errors);
	check(!status == (ground != NULL) && !status == !said[0]);
	if (!ground)
		return 0;
	check(ground->columns && ground->rows &&
		(uint64_t)ground->columns * ground->rows <= SW_GROUND_CELLS_MAX &&
		2 * ground->radius_mm < ground->tile_mm && ground->hash);
	map = (struct sw_move_map){.width_mm = ground->width_mm,
		.height_mm = ground->height_mm,
		.tick_hz = 20,
		.radius_mm = ground->radius_mm,
		.ground = ground};
	check_places(ground, &map);
	check_walk(&map);
	sw_ground_free(ground);
	return 0;
}
