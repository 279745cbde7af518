/* Tile layers: their data, and what of it is solid. */
#include "simulation/ground/tiled.h"

#include <stdlib.h>
#include <string.h>

#define FLIP_BITS 0xf0000000u /* three flips and a rotation */

/* A layer being read, and where in it the first fault of a kind was. */
struct cells {
	bool layer_says, layer_solid; /* by the layer's own property */
	uint32_t solid;               /* cells */
	uint32_t unknown, unknown_gid, unknown_at;
};

/* Cell i of the file: row by row from the north-west. */
static void cell(struct tiled *t, struct cells *cells, uint32_t i, uint32_t gid)
{
	uint32_t row = t->rows - 1 - i / t->columns, index = row * t->columns + i % t->columns;
	bool solid;

	gid &= ~FLIP_BITS;
	if (!gid)
		return;
	if (!tiled_gid_solid(t, gid, &solid)) {
		if (!cells->unknown++) {
			cells->unknown_gid = gid;
			cells->unknown_at = i;
		}
		return;
	}
	if (!(cells->layer_says ? cells->layer_solid : solid))
		return;
	cells->solid++;
	t->solid[index / 64] |= 1ull << (index % 64);
}

static void from_array(struct tiled *t, const char *where, const json_t *data, struct cells *cells)
{
	uint32_t count = t->columns * t->rows;
	size_t i;
	json_t *value;

	if (json_array_size(data) != count) {
		tiled_fault(t, where, "data has %zu entries, allowed are exactly %u, one a tile",
			json_array_size(data), count);
		return;
	}
	json_array_foreach(data, i, value)
	{
		if (!json_is_integer(value) || json_integer_value(value) < 0 ||
			json_integer_value(value) > UINT32_MAX) {
			tiled_fault(t, where,
				"data[%zu] is no tile number, allowed are whole numbers from 0 to "
				"4294967295",
				i);
			return;
		}
		cell(t, cells, (uint32_t)i, (uint32_t)json_integer_value(value));
	}
}

static void from_text(struct tiled *t, const char *where, const json_t *layer, const json_t *data,
	struct cells *cells)
{
	const char *compression = tiled_text(t, where, layer, "compression");
	uint32_t count = t->columns * t->rows;
	size_t bytes = (size_t)count * 4;
	enum tiled_compression how = TILED_PLAIN;
	uint8_t *raw;
	const char *wrong;

	if (compression && (!strcmp(compression, "zlib") || !strcmp(compression, "gzip")))
		how = TILED_ZLIB_OR_GZIP;
	else if (compression && *compression) {
		tiled_fault(t, where,
			"compression \"%s\" is not taken, allowed is none, zlib or gzip",
			compression);
		return;
	}
	raw = malloc(bytes);
	if (!raw) {
		t->no_memory = true;
		return;
	}
	wrong = tiled_decode(json_string_value(data), json_string_length(data), how, raw, bytes);
	if (wrong)
		tiled_fault(t, where, "data %s, allowed are exactly %zu bytes, 4 a tile, in base64",
			wrong, bytes);
	for (uint32_t i = 0; !wrong && i < count; i++)
		cell(t, cells, i,
			(uint32_t)raw[4 * i] | (uint32_t)raw[4 * i + 1] << 8 |
				(uint32_t)raw[4 * i + 2] << 16 | (uint32_t)raw[4 * i + 3] << 24);
	free(raw);
}

static void read_data(struct tiled *t, const char *where, const json_t *layer, struct cells *cells)
{
	const json_t *data = json_object_get(layer, "data");
	const char *encoding = tiled_text(t, where, layer, "encoding");
	bool base64 = encoding && !strcmp(encoding, "base64");

	if (json_object_get(layer, "chunks"))
		tiled_fault(t, where, "has chunks, allowed is a map of a fixed size");
	else if (json_is_array(data) && !base64)
		from_array(t, where, data, cells);
	else if (json_is_string(data) && base64)
		from_text(t, where, layer, data, cells);
	else
		tiled_fault(t, where,
			"data is missing or does not fit its encoding, allowed is a list of tile "
			"numbers (CSV) or base64");
}

void tiled_tile_layer(struct tiled *t, const char *where, const json_t *layer)
{
	struct cells cells = {0};
	int64_t columns, rows;
	bool good = tiled_integer(t, where, layer, "width", 1, SW_GROUND_SIDE_MAX, &columns);

	if (!tiled_integer(t, where, layer, "height", 1, SW_GROUND_SIDE_MAX, &rows) || !good)
		return;
	if (columns != t->columns || rows != t->rows || !tiled_is_zero(layer, "x") ||
		!tiled_is_zero(layer, "y")) {
		tiled_fault(t, where,
			"is not as large as the map, allowed is %u x %u tiles at 0, 0", t->columns,
			t->rows);
		return;
	}
	cells.layer_says = tiled_property_bool(t, where, layer, "solid", &cells.layer_solid);
	read_data(t, where, layer, &cells);
	if (cells.unknown)
		tiled_fault(t, where,
			"tile number %u at column %u, row %u belongs to no tileset (and %u more), "
			"allowed are those of the map's tilesets",
			cells.unknown_gid, cells.unknown_at % t->columns,
			cells.unknown_at / t->columns, cells.unknown - 1);
	/* A wall must be where the designer sees it. */
	if (cells.solid && (!tiled_is_zero(layer, "offsetx") || !tiled_is_zero(layer, "offsety")))
		tiled_fault(t, where,
			"has an offset and solid tiles, allowed is an offset of 0, or the layer "
			"property solid: false");
}
