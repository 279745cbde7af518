/* tiled.h: what the files of ground_load share. Private to simulation/ground. */
#ifndef SW_SIMULATION_GROUND_TILED_H
#define SW_SIMULATION_GROUND_TILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "simulation/ground/ground_load.h"
#include "simulation/rules/move.h"

#define TILED_FAULTS_MAX  200u /* written; more are counted */
#define TILED_WHERE_BYTES 256u
#define TILED_PATH_BYTES  512u
#define TILED_DEPTH_MAX   8u /* groups in groups */

struct tiled_set {
	uint32_t first, ids; /* its tiles are first..first + ids - 1 */
	uint64_t *solid;     /* a bit for each */
};

/* A list that grows; items_max bounds it. */
struct tiled_list {
	void *items;
	uint32_t count, room;
};

/* A map being read. */
struct tiled {
	FILE *errors;
	const char *file;   /* as faults name it */
	const char *folder; /* NULL: anywhere */
	const char *path;   /* of the map, relative to folder; NULL: from memory */
	uint32_t faults;
	bool no_memory;

	uint32_t columns, rows, tile_width_px, tile_height_px;
	uint32_t layers;
	struct tiled_set sets[SW_GROUND_TILESETS_MAX];
	uint32_t set_count;

	/* the result */
	struct sw_ground ground; /* its pointers are set when it is built */
	struct sw_move_map move; /* on it, for asking what is legal */
	uint64_t *solid, *safe;
	uint8_t *portal_of;
	struct tiled_list spawns, portals, herds, npcs;
};

/* Writes one fault. */
void tiled_fault(struct tiled *t, const char *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds an item; false after a fault (no memory, or max items are there). */
bool tiled_add(struct tiled *t, const char *where, struct tiled_list *list, const void *item,
	size_t item_bytes, uint32_t max, const char *what);

/* ---- members of a JSON object; each says what is wrong ---- */

/* "where.key" into out. */
const char *tiled_where(char out[TILED_WHERE_BYTES], const char *where, const char *key);

bool tiled_integer(struct tiled *t, const char *where, const json_t *object, const char *key,
	int64_t min, int64_t max, int64_t *out);

/* NULL where it is missing, without a fault; NULL with a fault where it is something else. */
const char *tiled_text(struct tiled *t, const char *where, const json_t *object, const char *key);
json_t *tiled_array(struct tiled *t, const char *where, const json_t *object, const char *key);

/* Whether the member is missing or zero (false). */
bool tiled_is_zero(const json_t *object, const char *key);

/* ---- custom properties ---- */

/* Each returns whether the property is there and good; a wrong one is a fault. */
bool tiled_property_bool(
	struct tiled *t, const char *where, const json_t *owner, const char *name, bool *out);
bool tiled_property_integer(struct tiled *t, const char *where, const json_t *owner,
	const char *name, int64_t min, int64_t max, int64_t *out);
/* Metres to millimetres. */
bool tiled_property_metres(struct tiled *t, const char *where, const json_t *owner,
	const char *name, uint32_t max_mm, uint32_t *out);
bool tiled_property_name(struct tiled *t, const char *where, const json_t *owner, const char *name,
	char out[SW_GROUND_NAME_BYTES]);
bool tiled_has_property(const json_t *owner, const char *name);

/* A fault where properties are not the list that all of these read. */
void tiled_properties_form(struct tiled *t, const char *where, const json_t *owner);

/* A fault for each property that is not in known, which ends with NULL; and of their form. */
void tiled_properties_only(struct tiled *t, const char *where, const json_t *owner,
	const char *const known[], const char *known_text);

/* Copies a name of 1 to 31 bytes without control characters; else a fault. */
bool tiled_name(
	struct tiled *t, const char *where, const char *text, char out[SW_GROUND_NAME_BYTES]);

/* ---- the parts ---- */

/* tilesets.c: reads the map's tilesets; then whether a tile is solid by itself. Returns false where
 * gid (without flip bits, not 0) belongs to no tileset. */
void tiled_tilesets(struct tiled *t, const json_t *map);
bool tiled_gid_solid(const struct tiled *t, uint32_t gid, bool *solid);
void tiled_tilesets_free(struct tiled *t);

/* tile_layer.c: marks what it makes solid in t->solid. */
void tiled_tile_layer(struct tiled *t, const char *where, const json_t *layer);

/* object_layer.c: after all tile layers. */
void tiled_object_layer(struct tiled *t, const char *where, const json_t *layer);

/* decode.c: base64 of exactly `bytes` bytes, compressed or not, into out. Returns NULL, or what is
 * wrong. */
enum tiled_compression { TILED_PLAIN, TILED_ZLIB_OR_GZIP };
const char *tiled_decode(
	const char *text, size_t count, enum tiled_compression how, uint8_t *out, size_t bytes);

/* read.c: the whole file on the heap; 0 or -errno (-EFBIG: longer than bytes_max). */
int tiled_read(const char *folder, const char *path, size_t bytes_max, char **bytes, size_t *count);

/* Parses; NULL after a fault. */
json_t *tiled_json(struct tiled *t, const char *file, const char *bytes, size_t count);

#endif
