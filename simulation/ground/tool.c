/* stormweir-map: looks at a map file as the server does.
 *
 *	stormweir-map check FILE...     what is wrong with it, or what is in it
 *	stormweir-map show FILE         draws it, a character a tile
 *
 * Exit status: 0 all good, 1 a map has faults, 2 usage. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simulation/ground/ground_load.h"

static uint32_t open_tiles(const struct sw_ground *ground)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < ground->columns * ground->rows; i++)
		open += !sw_ground_bit(ground->solid, i);
	return open;
}

static void tell(const char *path, const struct sw_ground *g)
{
	printf("%s: %u x %u tiles of %u mm, %u of them open, hash %016" PRIx64
	       ", %zu KiB in memory\n",
		path, g->columns, g->rows, g->tile_mm, open_tiles(g), g->hash,
		(g->bytes + 1023) / 1024);
	for (uint32_t i = 0; i < g->spawn_count; i++)
		printf("  spawn \"%s\"%s at %d, %d to %d, %d mm\n", g->spawns[i].name,
			g->spawns[i].arrival ? " (arrival)" : "", g->spawns[i].x0_mm,
			g->spawns[i].y0_mm, g->spawns[i].x1_mm, g->spawns[i].y1_mm);
	for (uint32_t i = 0; i < g->portal_count; i++) {
		const struct sw_ground_portal *p = &g->portals[i];

		printf("  portal \"%s\" to map %s, spawn \"%s\": %u x %u tiles at %u, %u\n",
			p->name, p->target_map, p->target_spawn, p->column1 - p->column0 + 1,
			p->row1 - p->row0 + 1, p->column0, p->row0);
	}
	for (uint32_t i = 0; i < g->herd_count; i++)
		printf("  monsters %s: %u within %u mm of %d, %d mm, again after %u s\n",
			g->herds[i].kind, g->herds[i].count, g->herds[i].radius_mm,
			g->herds[i].x_mm, g->herds[i].y_mm, g->herds[i].respawn_s);
	for (uint32_t i = 0; i < g->npc_count; i++)
		printf("  npc \"%s\", tag %s, at %d, %d mm\n", g->npcs[i].name, g->npcs[i].tag,
			g->npcs[i].x_mm, g->npcs[i].y_mm);
}

static char mark(const struct sw_ground *g, uint32_t column, uint32_t row)
{
	int32_t tile = (int32_t)g->tile_mm, half = tile / 2;
	int32_t x = (int32_t)column * tile, y = (int32_t)row * tile;

	for (uint32_t i = 0; i < g->npc_count; i++)
		if (g->npcs[i].x_mm / tile == (int32_t)column &&
			g->npcs[i].y_mm / tile == (int32_t)row)
			return 'N';
	for (uint32_t i = 0; i < g->herd_count; i++)
		if (g->herds[i].x_mm / tile == (int32_t)column &&
			g->herds[i].y_mm / tile == (int32_t)row)
			return 'M';
	if (sw_ground_solid(g, column, row))
		return '#';
	if (sw_ground_portal_at(g, x, y))
		return 'O';
	for (uint32_t i = 0; i < g->spawn_count; i++)
		if (x + half >= g->spawns[i].x0_mm && x + half <= g->spawns[i].x1_mm + half &&
			y + half >= g->spawns[i].y0_mm && y + half <= g->spawns[i].y1_mm + half)
			return 's';
	return sw_ground_safe_at(g, x, y) ? ' ' : '.';
}

static void show(const struct sw_ground *g)
{
	for (uint32_t row = g->rows; row--; putchar('\n'))
		for (uint32_t column = 0; column < g->columns; column++)
			putchar(mark(g, column, row));
	puts("# solid  . open  (blank) safe  s spawn  O portal  M monsters  N npc");
}

int main(int argc, char **argv)
{
	bool drawn = argc == 3 && !strcmp(argv[1], "show");
	int failed = 0;

	if (argc < 3 || (!drawn && strcmp(argv[1], "check"))) {
		fprintf(stderr, "usage: %s check FILE... | show FILE\n", argv[0]);
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		struct sw_ground *ground;

		if (sw_ground_load(NULL, argv[i], stderr, &ground)) {
			failed = 1;
			continue;
		}
		if (drawn)
			show(ground);
		else
			tell(argv[i], ground);
		sw_ground_free(ground);
	}
	return failed;
}
