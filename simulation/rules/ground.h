/* ground: what a map is made of: which tiles are solid, and the places that its designer marked. An
 * immutable value, compiled by server and client alike; simulation/ground/ reads it from Tiled's
 * files.
 *
 * Pure: integers only, no clock, no allocation; any thread. Positions are millimetres as in move.h:
 * x grows to the east, y to the north. Tiles are squares of tile_mm; tile (column, row) has the
 * index row * columns + column, (0, 0) is the south-west one. Portals and safe zones consist of
 * whole tiles, so that whether a position lies in one is a look at one tile. */
#ifndef SW_SIMULATION_RULES_GROUND_H
#define SW_SIMULATION_RULES_GROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_GROUND_NAME_BYTES   32u /* with the final NUL */
#define SW_GROUND_SIDE_MAX     16384u
#define SW_GROUND_CELLS_MAX    4194304u /* 2,048 x 2,048 */
#define SW_GROUND_EXTENT_MM    16384000u
#define SW_GROUND_TILE_MM_MIN  100u
#define SW_GROUND_TILE_MM_MAX  16000u
#define SW_GROUND_SPAWNS_MAX   256u
#define SW_GROUND_PORTALS_MAX  255u /* an index and "none" fit a byte */
#define SW_GROUND_HERDS_MAX    1024u
#define SW_GROUND_MONSTERS_MAX 100000u
#define SW_GROUND_NPCS_MAX     4096u

/* Where players appear: anywhere in the rectangle, ends included. A point has both ends alike. */
struct sw_ground_spawn {
	char name[SW_GROUND_NAME_BYTES];
	int32_t x0_mm, y0_mm, x1_mm, y1_mm;
	bool arrival; /* only for those who come through a portal */
};

/* Its tiles are those whose middle the designer's rectangle covers; ends included. */
struct sw_ground_portal {
	char name[SW_GROUND_NAME_BYTES];
	char target_map[SW_GROUND_NAME_BYTES];
	char target_spawn[SW_GROUND_NAME_BYTES]; /* empty: any */
	uint32_t column0, row0, column1, row1;
};

/* Monsters of one kind around a place. */
struct sw_ground_herd {
	char kind[SW_GROUND_NAME_BYTES];
	int32_t x_mm, y_mm;
	uint32_t radius_mm; /* they keep to it */
	uint32_t count;     /* 1 or more */
	uint32_t respawn_s;
};

struct sw_ground_npc {
	char name[SW_GROUND_NAME_BYTES];
	char tag[SW_GROUND_NAME_BYTES]; /* what a script calls the place by; never empty */
	int32_t x_mm, y_mm;
};

struct sw_ground {
	uint32_t columns, rows, tile_mm;
	uint32_t width_mm, height_mm; /* columns * tile_mm and so on */
	uint32_t radius_mm;           /* of an actor; 2 * radius_mm < tile_mm */
	uint64_t hash;                /* of the walls (sw_ground_walls_hash), never 0 */
	uint32_t spawn_count, portal_count, herd_count, npc_count;
	uint32_t monsters;                    /* of all herds */
	size_t bytes;                         /* of the whole value, this struct included */
	const uint64_t *solid;                /* a bit for each tile, by index */
	const uint64_t *safe;                 /* the same; NULL without a safe zone */
	const uint8_t *portal_of;             /* portal's index + 1 for each tile, 0 for none;
					       * NULL without a portal */
	const struct sw_ground_spawn *spawns; /* in the order of the file */
	const struct sw_ground_portal *portals;
	const struct sw_ground_herd *herds;
	const struct sw_ground_npc *npcs;
};

static inline uint32_t sw_ground_words(uint32_t cells)
{
	return (cells + 63) / 64;
}

static inline bool sw_ground_bit(const uint64_t *bits, uint32_t index)
{
	return bits[index / 64] >> (index % 64) & 1;
}

/* column < columns, row < rows. */
static inline bool sw_ground_solid(const struct sw_ground *ground, uint32_t column, uint32_t row)
{
	return sw_ground_bit(ground->solid, row * ground->columns + column);
}

/* The tile of a position; false outside of the map. */
bool sw_ground_tile_at(const struct sw_ground *ground, int32_t x_mm, int32_t y_mm, uint32_t *index);

/* The portal that a position lies in, NULL if none. One look, whatever their number. */
const struct sw_ground_portal *sw_ground_portal_at(
	const struct sw_ground *ground, int32_t x_mm, int32_t y_mm);

/* Whether a position lies in a safe zone. */
bool sw_ground_safe_at(const struct sw_ground *ground, int32_t x_mm, int32_t y_mm);

/* By name or tag; NULL if there is none. Looks through the list: not for every tick. */
const struct sw_ground_spawn *sw_ground_spawn_find(
	const struct sw_ground *ground, const char *name);
const struct sw_ground_npc *sw_ground_npc_find(const struct sw_ground *ground, const char *tag);

/* Whether nothing solid lies on the straight line between two positions, for missiles and for eyes:
 * the tiles that the line passes through, exactly. One that passes between two tiles through the
 * corner that they share is stopped when both are solid. Both ways give the same answer. Looks at
 * one tile for each that the line passes. False when an end is outside of the map. */
bool sw_ground_sight(
	const struct sw_ground *ground, int32_t x0_mm, int32_t y0_mm, int32_t x1_mm, int32_t y1_mm);

/* FNV-1a over columns, rows and tile_mm (4 bytes each, little-endian) and the solid bits (columns x
 * rows of them by index, the lowest bit of a byte first, the last byte filled with zeros): what
 * client and server must agree on to walk alike. 0 becomes 1. */
uint64_t sw_ground_walls_hash(
	uint32_t columns, uint32_t rows, uint32_t tile_mm, const uint64_t *solid);

#endif
