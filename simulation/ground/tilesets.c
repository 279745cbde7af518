/* Tilesets: which tiles are solid by their own property. */
#include "simulation/ground/tiled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GID_MAX 0x0fffffff

/* Joins the map's folder with a source, without leaving the map's fence: "maps/town.tmj" and
 * "../tiles/town.tsj" give "tiles/town.tsj". */
static bool path_join(const struct tiled *t, const char *source, char out[TILED_PATH_BYTES])
{
	const char *slash = strrchr(t->path, '/');
	size_t length = slash ? (size_t)(slash - t->path) : 0;

	if (length + strlen(source) + 2 > TILED_PATH_BYTES || *source == '/')
		return false;
	if (!t->folder) {
		snprintf(out, TILED_PATH_BYTES, "%.*s%s", (int)(slash ? length + 1 : 0), t->path,
			source);
		return true;
	}
	memcpy(out, t->path, length);
	out[length] = '\0';
	while (*source) {
		size_t part = strcspn(source, "/");

		if (part == 2 && !memcmp(source, "..", 2)) {
			char *last = strrchr(out, '/');

			if (!*out)
				return false;
			*(last ? last : out) = '\0';
		} else if (part && !(part == 1 && *source == '.')) {
			size_t at = strlen(out);

			if (at)
				out[at++] = '/';
			memcpy(out + at, source, part);
			out[at + part] = '\0';
		}
		source += part;
		source += *source == '/';
	}
	return *out;
}

/* NULL after a fault. */
static json_t *external(
	struct tiled *t, const char *where, const char *source, char path[TILED_PATH_BYTES])
{
	size_t length = strlen(source), count;
	char *bytes;
	json_t *set;
	int status;

	if (length < 4 || (strcmp(source + length - 4, ".tsj") &&
				  (length < 5 || strcmp(source + length - 5, ".json")))) {
		tiled_fault(t, where,
			"\"%s\" is no JSON file, allowed is a tileset in the map, or a .tsj file "
			"(Tiled's \"Export As\")",
			source);
		return NULL;
	}
	if (!t->path) {
		tiled_fault(t, where,
			"\"%s\" is another file, allowed is a tileset in the map (Tiled: \"Embed "
			"tilesets\")",
			source);
		return NULL;
	}
	if (!path_join(t, source, path)) {
		tiled_fault(t, where,
			"\"%s\" leads out of the content folder, allowed is a relative path in it",
			source);
		return NULL;
	}
	status = tiled_read(t->folder, path, SW_GROUND_FILE_BYTES_MAX / 4, &bytes, &count);
	if (status) {
		tiled_fault(t, where,
			"\"%s\" cannot be read: %s, allowed are files of at most %u "
			"bytes",
			path, strerror(-status), SW_GROUND_FILE_BYTES_MAX / 4);
		return NULL;
	}
	set = tiled_json(t, path, bytes, count);
	free(bytes);
	return set;
}

/* tiles: [{"id": ..., "properties": [...]}], those that have something to say. */
static void set_tiles(
	struct tiled *t, const char *where, const json_t *tiles, struct tiled_set *set)
{
	char at[TILED_WHERE_BYTES];
	size_t i;
	json_t *tile;

	json_array_foreach(tiles, i, tile)
	{
		int64_t id;
		bool solid = false;

		snprintf(at, sizeof(at), "%.200s%stiles[%zu]", where, *where ? "." : "", i);
		if (!json_is_object(tile)) {
			tiled_fault(t, at, "is no object, allowed is a tile with its id");
			continue;
		}
		if (!tiled_integer(t, at, tile, "id", 0, SW_GROUND_TILE_IDS_MAX - 1, &id))
			continue;
		snprintf(
			at, sizeof(at), "%.200s%stile %u", where, *where ? ": " : "", (uint32_t)id);
		tiled_properties_form(t, at, tile);
		/* In a collection of images ids have gaps, and may pass tilecount. */
		if (set->ids <= (uint32_t)id)
			set->ids = (uint32_t)id + 1;
		if (tiled_property_bool(t, at, tile, "solid", &solid) && solid)
			set->solid[id / 64] |= 1ull << (id % 64);
	}
}

static void set_load(struct tiled *t, const char *where, const json_t *owner, struct tiled_set *set)
{
	const char *source = tiled_text(t, where, owner, "source"), *shown = t->file;
	char path[TILED_PATH_BYTES];
	json_t *file = NULL;
	int64_t count;

	if (source) {
		file = external(t, where, source, path);
		if (!file)
			return;
		owner = file;
		t->file = path;
		where = "";
	}
	if (tiled_integer(t, where, owner, "tilecount", 0, SW_GROUND_TILE_IDS_MAX, &count))
		set->ids = (uint32_t)count;
	set_tiles(t, where, tiled_array(t, where, owner, "tiles"), set);
	t->file = shown;
	json_decref(file);
}

void tiled_tilesets(struct tiled *t, const json_t *map)
{
	json_t *list = tiled_array(t, "", map, "tilesets"), *owner;
	size_t i;

	if (json_array_size(list) > SW_GROUND_TILESETS_MAX) {
		tiled_fault(t, "tilesets", "has %zu entries, allowed are at most %u",
			json_array_size(list), SW_GROUND_TILESETS_MAX);
		return;
	}
	json_array_foreach(list, i, owner)
	{
		struct tiled_set *set = &t->sets[t->set_count];
		const char *name = json_string_value(json_object_get(owner, "name"));
		char where[TILED_WHERE_BYTES];
		int64_t first;

		snprintf(where, sizeof(where), "tilesets[%zu]%s%.40s%s", i, name ? " \"" : "",
			name ? name : "", name ? "\"" : "");
		if (!json_is_object(owner)) {
			tiled_fault(t, where, "is no object, allowed is a tileset");
			continue;
		}
		if (!tiled_integer(t, where, owner, "firstgid", 1, GID_MAX, &first))
			continue;
		if (t->set_count && (uint32_t)first <= t->sets[t->set_count - 1].first) {
			tiled_fault(t, where,
				"firstgid %u is not above the tileset's before it, allowed are "
				"rising ones, as Tiled writes them",
				(uint32_t)first);
			continue;
		}
		set->solid = calloc(SW_GROUND_TILE_IDS_MAX / 64, sizeof(*set->solid));
		if (!set->solid) {
			t->no_memory = true;
			return;
		}
		set->first = (uint32_t)first;
		t->set_count++;
		set_load(t, where, owner, set);
	}
}

bool tiled_gid_solid(const struct tiled *t, uint32_t gid, bool *solid)
{
	for (uint32_t i = t->set_count; i--;) {
		const struct tiled_set *set = &t->sets[i];

		if (gid < set->first)
			continue;
		if (gid - set->first >= set->ids)
			return false;
		*solid = sw_ground_bit(set->solid, gid - set->first);
		return true;
	}
	return false;
}

void tiled_tilesets_free(struct tiled *t)
{
	for (uint32_t i = 0; i < t->set_count; i++)
		free(t->sets[i].solid);
}
