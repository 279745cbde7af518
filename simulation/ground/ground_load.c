#include "simulation/ground/ground_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/ground/tiled.h"

#define TILE_PX_MAX 4096

static void text_must_be(struct tiled *t, const json_t *map, const char *key, const char *want)
{
	const char *text = tiled_text(t, "", map, key);

	if (!json_object_get(map, key) || (text && strcmp(text, want)))
		tiled_fault(t, key, "is %s%s%s, allowed is %s", text ? "\"" : "",
			text ? text : "missing", text ? "\"" : "", want);
}

/* What the map says of itself. Returns whether one can go on. */
static bool head_load(struct tiled *t, const json_t *map)
{
	struct sw_ground *ground = &t->ground;
	int64_t columns = 0, rows = 0, width = 1, height = 1;
	int64_t tile_mm = SW_GROUND_TILE_MM, radius_mm = SW_GROUND_RADIUS_MM;
	uint32_t before = t->faults;

	tiled_properties_form(t, "", map);
	text_must_be(t, map, "type", "map");
	text_must_be(t, map, "orientation", "orthogonal");
	if (json_is_true(json_object_get(map, "infinite")))
		tiled_fault(t, "infinite", "is true, allowed is a map of a fixed size");
	tiled_integer(t, "", map, "width", 1, SW_GROUND_SIDE_MAX, &columns);
	tiled_integer(t, "", map, "height", 1, SW_GROUND_SIDE_MAX, &rows);
	tiled_integer(t, "", map, "tilewidth", 1, TILE_PX_MAX, &width);
	tiled_integer(t, "", map, "tileheight", 1, TILE_PX_MAX, &height);
	tiled_property_integer(
		t, "", map, "tile_mm", SW_GROUND_TILE_MM_MIN, SW_GROUND_TILE_MM_MAX, &tile_mm);
	tiled_property_integer(t, "", map, "radius_mm", 0, (tile_mm - 1) / 2, &radius_mm);
	if (radius_mm * 2 >= tile_mm) /* the default beside a small tile_mm */
		tiled_fault(t, "property radius_mm",
			"%u does not fit a tile_mm of %u, allowed is less than half of it",
			(uint32_t)radius_mm, (uint32_t)tile_mm);
	if (columns * rows > SW_GROUND_CELLS_MAX)
		tiled_fault(t, "width, height", "make %lld tiles, allowed are at most %u",
			(long long)(columns * rows), SW_GROUND_CELLS_MAX);
	else if (columns * tile_mm > SW_GROUND_EXTENT_MM || rows * tile_mm > SW_GROUND_EXTENT_MM)
		tiled_fault(t, "width, height",
			"make more than %u m of %u mm a tile, allowed is "
			"up to that",
			SW_GROUND_EXTENT_MM / 1000, (uint32_t)tile_mm);
	if (t->faults != before)
		return false;
	t->columns = ground->columns = (uint32_t)columns;
	t->rows = ground->rows = (uint32_t)rows;
	t->tile_width_px = (uint32_t)width;
	t->tile_height_px = (uint32_t)height;
	ground->tile_mm = (uint32_t)tile_mm;
	ground->radius_mm = (uint32_t)radius_mm;
	ground->width_mm = ground->columns * ground->tile_mm;
	ground->height_mm = ground->rows * ground->tile_mm;
	return true;
}

enum pass { TILES, OBJECTS };

static void layers_load(
	struct tiled *t, const char *where, const json_t *owner, enum pass pass, uint32_t depth);

static void layer_load(
	struct tiled *t, const char *where, const json_t *layer, enum pass pass, uint32_t depth)
{
	const char *type = json_string_value(json_object_get(layer, "type"));

	if (!type)
		type = "";
	if (pass == TILES)
		tiled_properties_form(t, where, layer);
	if (!strcmp(type, "group")) {
		if (depth == TILED_DEPTH_MAX) {
			if (pass == TILES)
				tiled_fault(t, where,
					"is a group in a group ..., allowed are %u levels",
					TILED_DEPTH_MAX);
			return;
		}
		if (pass == TILES &&
			(!tiled_is_zero(layer, "offsetx") || !tiled_is_zero(layer, "offsety")))
			tiled_fault(t, where, "has an offset, allowed is a group without one");
		layers_load(t, where, layer, pass, depth + 1);
	} else if (!strcmp(type, "tilelayer")) {
		if (pass == TILES)
			tiled_tile_layer(t, where, layer);
	} else if (!strcmp(type, "objectgroup")) {
		if (pass == OBJECTS)
			tiled_object_layer(t, where, layer);
	} else if (strcmp(type, "imagelayer") && pass == TILES) {
		tiled_fault(t, where,
			"has a type that is not known, allowed are tilelayer, objectgroup, group "
			"and imagelayer");
	}
}

static void layers_load(
	struct tiled *t, const char *where, const json_t *owner, enum pass pass, uint32_t depth)
{
	json_t *layers = tiled_array(t, where, owner, "layers"), *layer;
	size_t i;

	if (!layers && pass == TILES)
		tiled_fault(t, where, "has no layers, allowed is a list of them");
	json_array_foreach(layers, i, layer)
	{
		const char *name = json_string_value(json_object_get(layer, "name"));
		char here[TILED_WHERE_BYTES];

		if (pass == TILES && ++t->layers > SW_GROUND_LAYERS_MAX) {
			if (t->layers == SW_GROUND_LAYERS_MAX + 1)
				tiled_fault(t, where,
					"has too many layers, allowed are %u of a map",
					SW_GROUND_LAYERS_MAX);
			return;
		}
		snprintf(here, sizeof(here), "%.120s%slayers[%zu]%s%.40s%s", where,
			*where ? "." : "", i, name ? " \"" : "", name ? name : "",
			name ? "\"" : "");
		if (json_is_object(layer))
			layer_load(t, here, layer, pass, depth);
		else if (pass == TILES)
			tiled_fault(t, here, "is no object, allowed is a layer");
		if (t->no_memory)
			return;
	}
}

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

/* A piece of the value's memory. */
static void *place(uint8_t **at, const void *from, size_t bytes)
{
	void *to = *at;

	if (bytes)
		memcpy(to, from, bytes);
	*at += padded(bytes);
	return to;
}

/* The value in one piece: a line for each part. */
static struct sw_ground *build(struct tiled *t)
{
	uint32_t cells = t->columns * t->rows;
	size_t words = sw_ground_words(cells) * sizeof(uint64_t);
	size_t spawns = t->spawns.count * sizeof(struct sw_ground_spawn);
	size_t portals = t->portals.count * sizeof(struct sw_ground_portal);
	size_t herds = t->herds.count * sizeof(struct sw_ground_herd);
	size_t npcs = t->npcs.count * sizeof(struct sw_ground_npc);
	bool safe = false;
	struct sw_ground *ground;
	uint8_t *at;

	for (uint32_t i = 0; i < sw_ground_words(cells); i++)
		safe |= t->safe[i] != 0;
	t->ground.bytes = padded(sizeof(*ground)) + padded(words) +          /* a bit a tile */
			  (safe ? padded(words) : 0) +                       /* a bit a tile */
			  (t->portals.count ? padded(cells) : 0) +           /* a byte a tile */
			  padded(spawns) + padded(portals) + padded(herds) + /* 48, 112, 56 B */
			  padded(npcs);                                      /* 72 B */
	ground = malloc(t->ground.bytes);
	if (!ground) {
		t->no_memory = true;
		return NULL;
	}
	*ground = t->ground;
	at = (uint8_t *)ground + padded(sizeof(*ground));
	ground->solid = place(&at, t->solid, words);
	ground->safe = safe ? place(&at, t->safe, words) : NULL;
	ground->portal_of = t->portals.count ? place(&at, t->portal_of, cells) : NULL;
	ground->spawns = place(&at, t->spawns.items, spawns);
	ground->portals = place(&at, t->portals.items, portals);
	ground->herds = place(&at, t->herds.items, herds);
	ground->npcs = place(&at, t->npcs.items, npcs);
	ground->spawn_count = t->spawns.count;
	ground->portal_count = t->portals.count;
	ground->herd_count = t->herds.count;
	ground->npc_count = t->npcs.count;
	ground->hash =
		sw_ground_walls_hash(ground->columns, ground->rows, ground->tile_mm, ground->solid);
	return ground;
}

static bool all_solid(const struct tiled *t)
{
	for (uint32_t i = 0; i < t->columns * t->rows; i++)
		if (!sw_ground_bit(t->solid, i))
			return false;
	return true;
}

static struct sw_ground *map_load(struct tiled *t, const json_t *map)
{
	uint32_t cells;

	if (!head_load(t, map))
		return NULL;
	cells = t->columns * t->rows;
	t->solid = calloc(sw_ground_words(cells), sizeof(*t->solid));
	t->safe = calloc(sw_ground_words(cells), sizeof(*t->safe));
	t->portal_of = calloc(cells, 1);
	if (!t->solid || !t->safe || !t->portal_of) {
		t->no_memory = true;
		return NULL;
	}
	t->ground.solid = t->solid;
	t->move = (struct sw_move_map){.width_mm = t->ground.width_mm,
		.height_mm = t->ground.height_mm,
		.tick_hz = 1,
		.radius_mm = t->ground.radius_mm,
		.ground = &t->ground};
	tiled_tilesets(t, map);
	layers_load(t, "", map, TILES, 0);
	if (!t->faults && all_solid(t))
		tiled_fault(t, "layers", "leave no tile open, allowed is at least one");
	layers_load(t, "", map, OBJECTS, 0);
	return t->faults || t->no_memory ? NULL : build(t);
}

static int parse(struct tiled *t, const char *bytes, size_t count, struct sw_ground **out)
{
	json_t *map;

	*out = NULL;
	if (count > SW_GROUND_FILE_BYTES_MAX) {
		tiled_fault(t, "(file)", "has %zu bytes, allowed are at most %u", count,
			SW_GROUND_FILE_BYTES_MAX);
		return -EINVAL;
	}
	map = tiled_json(t, t->file, bytes, count);
	if (map)
		*out = map_load(t, map);
	json_decref(map);
	tiled_tilesets_free(t);
	free(t->solid);
	free(t->safe);
	free(t->portal_of);
	free(t->spawns.items);
	free(t->portals.items);
	free(t->herds.items);
	free(t->npcs.items);
	if (t->no_memory)
		fprintf(t->errors, "%s: (file): memory is short\n", t->file);
	if (t->faults > TILED_FAULTS_MAX)
		fprintf(t->errors, "%s: ... and %u more\n", t->file, t->faults - TILED_FAULTS_MAX);
	if (*out)
		return 0;
	return t->no_memory ? -ENOMEM : -EINVAL;
}

int sw_ground_load(const char *folder, const char *path, FILE *errors, struct sw_ground **ground)
{
	struct tiled t = {.errors = errors, .file = path, .folder = folder, .path = path};
	size_t count;
	char *bytes;
	int status = tiled_read(folder, path, SW_GROUND_FILE_BYTES_MAX, &bytes, &count);

	*ground = NULL;
	if (status) {
		fprintf(errors, "%s: (file): %s%s\n", path, strerror(-status),
			status == -EFBIG ? ", allowed are at most 16 MiB" : "");
		return status;
	}
	status = parse(&t, bytes, count, ground);
	free(bytes);
	return status;
}

int sw_ground_parse(
	const void *bytes, size_t count, const char *name, FILE *errors, struct sw_ground **ground)
{
	struct tiled t = {.errors = errors, .file = name};

	return parse(&t, bytes, count, ground);
}

void sw_ground_free(struct sw_ground *ground)
{
	free(ground);
}
