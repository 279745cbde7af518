/* Object layers: the places that a designer marked. */
#include "simulation/ground/tiled.h"

#include <math.h>
#include <string.h>

#define HERD_RADIUS_MM_MAX 1000000u
#define RESPAWN_S_MAX      86400
#define RESPAWN_S          30

/* A rectangle in millimetres, ends included; a point has both ends alike. */
struct rectangle {
	int32_t x0_mm, y0_mm, x1_mm, y1_mm;
	bool point;
};

struct object {
	const json_t *json;
	const char *name; /* never NULL */
	struct rectangle at;
};

/* ---- where it is ---- */

/* Pixels from the map's west or north edge, to millimetres, rounded down. False: far outside. */
static bool pixels(
	const json_t *object, const char *key, int64_t tile_mm, int64_t tile_px, int64_t *out)
{
	const json_t *value = json_object_get(object, key);
	double px = json_number_value(value);
	int64_t thousandths;

	if ((value && !json_is_number(value)) || !(px >= -1e7 && px <= 1e7))
		return false;
	/* Whole numbers from here on, so that every compiler gets the same. */
	thousandths = llround(px * 1000) * tile_mm;
	*out = thousandths / (tile_px * 1000) - (thousandths % (tile_px * 1000) < 0);
	return true;
}

static bool shape(struct tiled *t, const char *where, const json_t *object, struct rectangle *out)
{
	static const char *const others[] = {
		"ellipse", "polygon", "polyline", "text", "gid", "template", "capsule"};
	int64_t x, y, width, height, tile_mm = t->ground.tile_mm;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!json_object_get(object, others[i]))
			continue;
		tiled_fault(t, where,
			"has a shape or template (%s), allowed is a point or a "
			"rectangle with a class of its own",
			others[i]);
		return false;
	}
	if (!tiled_is_zero(object, "rotation")) {
		tiled_fault(t, where, "is rotated, allowed is a rotation of 0");
		return false;
	}
	if (!pixels(object, "x", tile_mm, t->tile_width_px, &x) ||
		!pixels(object, "y", tile_mm, t->tile_height_px, &y) ||
		!pixels(object, "width", tile_mm, t->tile_width_px, &width) ||
		!pixels(object, "height", tile_mm, t->tile_height_px, &height) || x < 0 || y < 0 ||
		width < 0 || height < 0 || x + (width ? width : 1) > t->ground.width_mm ||
		y + (height ? height : 1) > t->ground.height_mm) {
		tiled_fault(t, where,
			"is not inside the map, allowed is from 0, 0 to %u, %u pixels",
			t->columns * t->tile_width_px, t->rows * t->tile_height_px);
		return false;
	}
	out->point = !width && !height;
	out->x0_mm = (int32_t)x;
	out->x1_mm = (int32_t)(x + (width ? width - 1 : 0));
	/* Tiled counts from the north, the map from the south. */
	out->y1_mm = (int32_t)(t->ground.height_mm - 1 - y);
	out->y0_mm = (int32_t)(out->y1_mm - (height ? height - 1 : 0));
	return true;
}

static int32_t middle(int32_t low, int32_t high)
{
	return low + (high - low) / 2;
}

/* The first and last tile from low to high, ends included, whose middle is covered; none: last is
 * below first. Counted in half millimetres, so that both directions are alike. */
static void middles(int32_t low_mm, int32_t high_mm, int32_t tile_mm, int32_t *first, int32_t *last)
{
	int32_t low = 2 * low_mm, high = 2 * (high_mm + 1);

	*first = low <= tile_mm ? 0 : (low + tile_mm - 1) / (2 * tile_mm);
	*last = high < tile_mm ? -1 : (high - tile_mm) / (2 * tile_mm);
}

/* The tiles whose middle it covers. */
static bool tiles_of(
	struct tiled *t, const char *where, const struct rectangle *r, struct sw_ground_portal *out)
{
	int32_t column0, column1, row0, row1;

	middles(r->x0_mm, r->x1_mm, (int32_t)t->ground.tile_mm, &column0, &column1);
	middles(r->y0_mm, r->y1_mm, (int32_t)t->ground.tile_mm, &row0, &row1);
	if (r->point || column0 > column1 || row0 > row1) {
		tiled_fault(t, where,
			"covers the middle of no tile, allowed is a rectangle of at least one");
		return false;
	}
	out->column0 = (uint32_t)column0;
	out->column1 = (uint32_t)column1;
	out->row0 = (uint32_t)row0;
	out->row1 = (uint32_t)row1;
	return true;
}

/* Whether the place, or one in the rectangle near its middle, is legal. */
static bool has_room(const struct tiled *t, const struct rectangle *r)
{
	int32_t x = middle(r->x0_mm, r->x1_mm), y = middle(r->y0_mm, r->y1_mm);

	if (r->point)
		return sw_move_legal(&t->move, x, y);
	return sw_move_clamp(&t->move, &x, &y) && x >= r->x0_mm && x <= r->x1_mm && y >= r->y0_mm &&
	       y <= r->y1_mm;
}

static bool room_check(struct tiled *t, const char *where, const struct rectangle *r)
{
	if (has_room(t, r))
		return true;
	tiled_fault(t, where,
		"lies in solid tiles, or nearer than %u mm to one, allowed is where someone can "
		"stand",
		t->ground.radius_mm);
	return false;
}

/* ---- the classes ---- */

static void spawn(struct tiled *t, const char *where, const struct object *object)
{
	static const char *const known[] = {"arrival", NULL};
	struct sw_ground_spawn item = {.x0_mm = object->at.x0_mm,
		.y0_mm = object->at.y0_mm,
		.x1_mm = object->at.x1_mm,
		.y1_mm = object->at.y1_mm};

	tiled_properties_only(t, where, object->json, known, "arrival");
	tiled_property_bool(t, where, object->json, "arrival", &item.arrival);
	if (*object->name && !tiled_name(t, where, object->name, item.name))
		return;
	for (uint32_t i = 0; *item.name && i < t->spawns.count; i++)
		if (!strcmp(((struct sw_ground_spawn *)t->spawns.items)[i].name, item.name)) {
			tiled_fault(t, where,
				"is the second spawn of this name, allowed is each "
				"name once");
			return;
		}
	if (room_check(t, where, &object->at))
		tiled_add(
			t, where, &t->spawns, &item, sizeof(item), SW_GROUND_SPAWNS_MAX, "spawns");
}

static bool portal_tiles(
	struct tiled *t, const char *where, const struct sw_ground_portal *portal, bool mark)
{
	uint32_t open = 0;

	for (uint32_t row = portal->row0; row <= portal->row1; row++) {
		for (uint32_t column = portal->column0; column <= portal->column1; column++) {
			uint32_t index = row * t->columns + column;
			uint8_t other = t->portal_of[index];

			open += !sw_ground_bit(t->solid, index);
			if (mark) {
				t->portal_of[index] = (uint8_t)t->portals.count;
			} else if (other) {
				tiled_fault(t, where,
					"lies over portal \"%s\" at column %u, row %u, allowed is "
					"one portal a tile",
					((struct sw_ground_portal *)t->portals.items)[other - 1]
						.name,
					column, t->rows - 1 - row);
				return false;
			}
		}
	}
	if (!open)
		tiled_fault(t, where, "lies in solid tiles, allowed is where someone can stand");
	return open;
}

static void portal(struct tiled *t, const char *where, const struct object *object)
{
	static const char *const known[] = {"target_map", "target_spawn", NULL};
	struct sw_ground_portal item = {0};
	bool good = tiles_of(t, where, &object->at, &item);

	tiled_properties_only(t, where, object->json, known, "target_map and target_spawn");
	if (*object->name)
		good &= tiled_name(t, where, object->name, item.name);
	if (!tiled_has_property(object->json, "target_map"))
		tiled_fault(
			t, where, "property target_map is missing, allowed is the name of a map");
	if (!tiled_property_name(t, where, object->json, "target_map", item.target_map))
		return;
	if (tiled_has_property(object->json, "target_spawn"))
		good &= tiled_property_name(
			t, where, object->json, "target_spawn", item.target_spawn);
	if (!good || !portal_tiles(t, where, &item, false) ||
		!tiled_add(t, where, &t->portals, &item, sizeof(item), SW_GROUND_PORTALS_MAX,
			"portals"))
		return;
	portal_tiles(t, where, &item, true);
}

static void herd(struct tiled *t, const char *where, const struct object *object)
{
	static const char *const known[] = {"kind", "count", "radius", "respawn_s", NULL};
	struct sw_ground_herd item = {.x_mm = middle(object->at.x0_mm, object->at.x1_mm),
		.y_mm = middle(object->at.y0_mm, object->at.y1_mm)};
	int64_t count = 1, respawn_s = RESPAWN_S;
	struct rectangle around = object->at;

	tiled_properties_only(t, where, object->json, known, "kind, count, radius and respawn_s");
	if (!tiled_has_property(object->json, "kind"))
		tiled_fault(t, where, "property kind is missing, allowed is a monster's name");
	tiled_property_name(t, where, object->json, "kind", item.kind);
	tiled_property_integer(t, where, object->json, "count", 1, SW_GROUND_MONSTERS_MAX, &count);
	tiled_property_integer(t, where, object->json, "respawn_s", 0, RESPAWN_S_MAX, &respawn_s);
	tiled_property_metres(
		t, where, object->json, "radius", HERD_RADIUS_MM_MAX, &item.radius_mm);
	item.count = (uint32_t)count;
	item.respawn_s = (uint32_t)respawn_s;
	if (t->ground.monsters + item.count > SW_GROUND_MONSTERS_MAX) {
		tiled_fault(t, where, "makes %u monsters, allowed are %u of a map",
			t->ground.monsters + item.count, SW_GROUND_MONSTERS_MAX);
		return;
	}
	if (item.radius_mm) {
		around = (struct rectangle){item.x_mm - (int32_t)item.radius_mm,
			item.y_mm - (int32_t)item.radius_mm, item.x_mm + (int32_t)item.radius_mm,
			item.y_mm + (int32_t)item.radius_mm, false};
	}
	if (!room_check(t, where, &around) ||
		!tiled_add(t, where, &t->herds, &item, sizeof(item), SW_GROUND_HERDS_MAX,
			"objects of class monster"))
		return;
	t->ground.monsters += item.count;
}

static void npc(struct tiled *t, const char *where, const struct object *object)
{
	static const char *const known[] = {"tag", NULL};
	struct sw_ground_npc item = {.x_mm = middle(object->at.x0_mm, object->at.x1_mm),
		.y_mm = middle(object->at.y0_mm, object->at.y1_mm)};
	struct rectangle at = {item.x_mm, item.y_mm, item.x_mm, item.y_mm, true};

	tiled_properties_only(t, where, object->json, known, "tag");
	if (!tiled_name(t, where, object->name, item.name))
		return;
	memcpy(item.tag, item.name, sizeof(item.tag));
	if (tiled_has_property(object->json, "tag") &&
		!tiled_property_name(t, where, object->json, "tag", item.tag))
		return;
	for (uint32_t i = 0; i < t->npcs.count; i++)
		if (!strcmp(((struct sw_ground_npc *)t->npcs.items)[i].tag, item.tag)) {
			tiled_fault(t, where,
				"is the second npc with tag \"%s\", allowed is each "
				"tag once (without one, the name is the tag)",
				item.tag);
			return;
		}
	if (room_check(t, where, &at))
		tiled_add(t, where, &t->npcs, &item, sizeof(item), SW_GROUND_NPCS_MAX,
			"objects of class npc");
}

static void safe_zone(struct tiled *t, const char *where, const struct object *object)
{
	static const char *const known[] = {NULL};
	struct sw_ground_portal tiles;

	tiled_properties_only(t, where, object->json, known, "none");
	if (!tiles_of(t, where, &object->at, &tiles))
		return;
	for (uint32_t row = tiles.row0; row <= tiles.row1; row++)
		for (uint32_t column = tiles.column0; column <= tiles.column1; column++) {
			uint32_t index = row * t->columns + column;

			t->safe[index / 64] |= 1ull << (index % 64);
		}
}

/* X(class, reader) */
#define CLASSES(X)                                                                                 \
	X("spawn", spawn)                                                                          \
	X("portal", portal)                                                                        \
	X("monster", herd)                                                                         \
	X("npc", npc)                                                                              \
	X("safe_zone", safe_zone)

static const struct {
	const char *name;
	void (*read)(struct tiled *t, const char *where, const struct object *object);
} classes[] = {
#define CLASS_ROW(name, reader) {name, reader},
	CLASSES(CLASS_ROW)};

static void object_load(struct tiled *t, const char *layer, size_t i, const json_t *json)
{
	struct object object = {.json = json};
	char where[TILED_WHERE_BYTES];
	const char *class;

	snprintf(where, sizeof(where), "%s.objects[%zu]", layer, i);
	if (!json_is_object(json)) {
		tiled_fault(t, where, "is no object, allowed is an object of a map");
		return;
	}
	object.name = tiled_text(t, where, json, "name");
	object.name = object.name ? object.name : "";
	/* Tiled 1.9 says class, those before and after it type. */
	class = tiled_text(t, where, json, "class");
	if (!class || !*class)
		class = tiled_text(t, where, json, "type");
	if ((!class || !*class) && json_object_get(json, "template"))
		tiled_fault(t, where,
			"is made from a template, whose class is in another file, allowed is an "
			"object with a class of its own (Tiled: \"Detach\"), or the layer "
			"property ignore: true");
	if (!class || !*class)
		return; /* for the eye only */
	snprintf(where, sizeof(where), "%.150s: %.20s \"%.40s\"", layer, class, object.name);
	for (size_t c = 0; c < sizeof(classes) / sizeof(classes[0]); c++) {
		if (strcmp(class, classes[c].name))
			continue;
		if (shape(t, where, json, &object.at))
			classes[c].read(t, where, &object);
		return;
	}
#define CLASS_TEXT(name, reader) name ", "
	tiled_fault(t, where,
		"has a class that is not known here, allowed are " CLASSES(
			CLASS_TEXT) "none, or the layer property ignore: true");
}

void tiled_object_layer(struct tiled *t, const char *where, const json_t *layer)
{
	json_t *objects = tiled_array(t, where, layer, "objects"), *object;
	uint32_t before = t->faults;
	bool ignore = false;
	size_t i;

	tiled_property_bool(t, where, layer, "ignore", &ignore);
	if (ignore)
		return;
	if (json_array_size(objects) &&
		(!tiled_is_zero(layer, "offsetx") || !tiled_is_zero(layer, "offsety")))
		tiled_fault(t, where,
			"has an offset, allowed is 0, or the layer property ignore: true");
	json_array_foreach(objects, i, object)
	{
		object_load(t, where, i, object);
		if (t->faults > before + TILED_FAULTS_MAX || t->no_memory)
			return; /* nobody reads on */
	}
}
