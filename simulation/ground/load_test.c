/* Proves: a map is read as its designer drew it, in each encoding that Tiled writes; each fault is
 * refused by place and name, all of a file at once; sizes are bounded before memory is taken; a cut
 * or changed file is refused or read, never more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "simulation/ground/ground_load.h"

#define HEAD                                                                                       \
	"{\"type\":\"map\",\"orientation\":\"orthogonal\",\"infinite\":false,\"width\":4,"         \
	"\"height\":3,\"tilewidth\":16,\"tileheight\":16,"
#define SETS                                                                                       \
	"\"tilesets\":[{\"firstgid\":1,\"name\":\"town\",\"tilecount\":4,\"tiles\":[{\"id\":1,"    \
	"\"properties\":[{\"name\":\"solid\",\"type\":\"bool\",\"value\":true}]}]}],"
#define LAYER(data)                                                                                \
	"{\"type\":\"tilelayer\",\"name\":\"walls\",\"width\":4,\"height\":3,\"x\":0,\"y\":"       \
	"0," data "}"
#define OBJECTS(list) "{\"type\":\"objectgroup\",\"name\":\"places\",\"objects\":[" list "]}"
#define MAP(layers)   HEAD SETS "\"layers\":[" layers "]}"

/* Row by row from the north; tile 2 is solid. */
#define DATA "\"data\":[2,2,2,2, 2,1,0,2, 2,0,1,0]"

static char said[65536];

/* NULL with what was said in `said`. */
static struct sw_ground *parse_bytes(const void *bytes, size_t count)
{
	FILE *errors = fmemopen(said, sizeof(said), "w");
	struct sw_ground *ground;
	int status;

	memset(said, 0, sizeof(said));
	assert_non_null(errors);
	status = sw_ground_parse(bytes, count, "test.tmj", errors, &ground);
	fclose(errors);
	assert_int_equal(!status, ground != NULL);
	assert_int_equal(!status, !said[0]);
	return ground;
}

static struct sw_ground *parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

/* Rows from the north, # solid. */
static void draw(const struct sw_ground *ground, char *out)
{
	for (uint32_t row = ground->rows; row--; *out++ = '/')
		for (uint32_t column = 0; column < ground->columns; column++)
			*out++ = sw_ground_solid(ground, column, row) ? '#' : '.';
	*out = '\0';
}

static void expect_drawn(const char *text, const char *want)
{
	struct sw_ground *ground = parse(text);
	char got[64];

	if (!ground)
		fail_msg("refused: %s", said);
	draw(ground, got);
	assert_string_equal(got, want);
	sw_ground_free(ground);
}

static void base64(const uint8_t *bytes, size_t count, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < count; i += 3) {
		uint32_t bits = (uint32_t)bytes[i] << 16;

		bits |= i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0;
		bits |= i + 2 < count ? bytes[i + 2] : 0;
		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = i + 1 < count ? digits[bits >> 6 & 63] : '=';
		*out++ = i + 2 < count ? digits[bits & 63] : '=';
	}
	*out = '\0';
}

/* The tiles of DATA, one flipped all ways, in an encoding. */
static void encoded_map(char *text, size_t room, int window_bits, size_t tiles, size_t cut)
{
	static const uint32_t data[16] = {2, 2, 2, 0xe0000002u, 2, 1, 0, 2, 2, 0, 0xf0000001u, 0};
	uint8_t raw[64], packed[256];
	size_t count = tiles * 4;
	char code[512];

	for (size_t i = 0; i < count; i++)
		raw[i] = (uint8_t)(data[i / 4] >> (i % 4 * 8));
	if (window_bits) {
		z_stream stream = {.next_in = raw, .avail_in = (uInt)count, .next_out = packed};

		stream.avail_out = sizeof(packed);
		assert_int_equal(
			deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY),
			Z_OK);
		assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
		count = stream.total_out;
		deflateEnd(&stream);
	} else {
		memcpy(packed, raw, count);
	}
	base64(packed, count - cut, code);
	snprintf(text, room,
		MAP(LAYER("\"encoding\":\"base64\",\"compression\":\"%s\",\"data\":\"%s\"")),
		!window_bits       ? ""
		: window_bits > 15 ? "gzip"
				   : "zlib",
		code);
}

/* Bytes after the end of a compressed layer are refused. */
static void nothing_follows_the_end(void **state)
{
	/* 12 zero tiles, by zlib; then one byte more */
	static const uint8_t zeros[48];
	uint8_t packed[128];
	uLongf count = sizeof(packed) - 1;
	char code[256], text[1024];

	(void)state;
	assert_int_equal(compress(packed, &count, zeros, sizeof(zeros)), Z_OK);
	for (uint32_t more = 0; more < 2; more++) {
		packed[count] = 0;
		base64(packed, count + more, code);
		snprintf(text, sizeof(text),
			MAP(LAYER("\"encoding\":\"base64\",\"compression\":\"zlib\",\"data\":"
				  "\"%s\"")),
			code);
		if (more) {
			assert_null(parse(text));
			assert_non_null(strstr(said, "data goes on after its end"));
		} else {
			expect_drawn(text, "..../..../..../");
		}
	}
}

static void each_encoding_gives_the_same(void **state)
{
	static const int window_bits[] = {0, 15, 15 + 16};
	struct sw_ground *ground = parse(MAP(LAYER(DATA)));
	char text[4096];
	uint64_t hash;

	(void)state;
	assert_non_null(ground);
	hash = ground->hash;
	assert_int_equal(ground->columns, 4);
	assert_int_equal(ground->rows, 3);
	assert_int_equal(ground->tile_mm, 1000);
	assert_int_equal(ground->width_mm, 4000);
	assert_int_equal(ground->height_mm, 3000);
	assert_int_equal(ground->radius_mm, 300);
	assert_null(ground->safe);
	assert_null(ground->portal_of);
	sw_ground_free(ground);
	expect_drawn(MAP(LAYER(DATA)), "####/#..#/#.../");
	for (size_t i = 0; i < 3; i++) {
		encoded_map(text, sizeof(text), window_bits[i], 12, 0);
		expect_drawn(text, "####/#..#/#.../");
		ground = parse(text);
		assert_true(ground->hash == hash);
		sw_ground_free(ground);
		for (size_t tiles = 10; tiles <= 14; tiles++) {
			for (size_t cut = 0; cut < 12; cut++) {
				if ((tiles == 12 && !cut) ||
					(!window_bits[i] && tiles * 4 - cut == 48))
					continue;
				encoded_map(text, sizeof(text), window_bits[i], tiles, cut);
				ground = parse(text);
				if (ground)
					fail_msg("encoding %zu: %zu tiles less %zu bytes taken", i,
						tiles, cut);
			}
		}
	}
	/* One number for all time: clients that have it compare it with the server's. */
	assert_true(hash == 0x9cbe04315751feefull);
}

#define BOOL(name, value) "{\"name\":\"" name "\",\"type\":\"bool\",\"value\":" value "}"

static void solid_comes_from_tile_or_layer(void **state)
{
	(void)state;
	/* the layer's word goes before its tiles' */
	expect_drawn(
		MAP(LAYER("\"properties\":[" BOOL("solid", "true") "]," DATA)), "####/##.#/#.#./");
	expect_drawn(
		MAP(LAYER("\"properties\":[" BOOL("solid", "false") "]," DATA)), "..../..../..../");
	/* several layers add up; groups and pictures between them */
	expect_drawn(MAP("{\"type\":\"imagelayer\",\"name\":\"sky\"},{\"type\":\"group\","
			 "\"name\":\"houses\",\"layers\":[" LAYER(DATA) "]}," LAYER("\"data\":[0,0,"
										    "0,0,0,"
										    "0,2,0,"
										    "0,0,0,"
										    "2]")),
		"####/#.##/#..#/");
	/* an offset is for pictures only */
	expect_drawn(
		MAP(LAYER("\"offsetx\":8,\"data\":[1,1,1,1,1,1,1,1,1,1,1,1]")), "..../..../..../");
	/* no tileset, no tiles; properties of no meaning here */
	expect_drawn(
		HEAD "\"properties\":[" BOOL("pvp", "true") "],\"layers\":[]}", "..../..../..../");
}

#define PLACES                                                                                     \
	OBJECTS("{\"name\":\"gate\",\"class\":\"spawn\",\"x\":24,\"y\":24.5,\"point\":true,"       \
		"\"width\":0,\"height\":0},"                                                       \
		"{\"name\":\"\",\"type\":\"spawn\",\"x\":16,\"y\":16,\"width\":32,\"height\":32}," \
		"{\"name\":\"door\",\"type\":\"portal\",\"x\":40,\"y\":40,\"width\":24,"           \
		"\"height\":8,\"properties\":[{\"name\":\"target_map\",\"type\":\"string\","       \
		"\"value\":\"cave\"},{\"name\":\"target_spawn\",\"type\":\"string\",\"value\":"    \
		"\"mouth\"}]},"                                                                    \
		"{\"name\":\"\",\"type\":\"monster\",\"x\":24,\"y\":40,\"point\":true,"            \
		"\"properties\":[{\"name\":\"kind\",\"type\":\"string\",\"value\":\"wolf\"},"      \
		"{\"name\":\"count\",\"type\":\"int\",\"value\":3},{\"name\":\"radius\",\"type\":" \
		"\"float\",\"value\":1.5},{\"name\":\"respawn_s\",\"type\":\"int\",\"value\":"     \
		"60}]},"                                                                           \
		"{\"name\":\"Old Tom\",\"type\":\"npc\",\"x\":32,\"y\":32,\"point\":true,"         \
		"\"properties\":[{\"name\":\"tag\",\"type\":\"string\",\"value\":\"tom\"}]},"      \
		"{\"name\":\"\",\"type\":\"safe_zone\",\"x\":0,\"y\":0,\"width\":32,\"height\":"   \
		"32},"                                                                             \
		"{\"name\":\"a tree\",\"type\":\"\",\"x\":-1e300,\"y\":5,\"ellipse\":true}")

static void places_are_where_they_were_drawn(void **state)
{
	struct sw_ground *ground = parse(MAP(LAYER(DATA) "," PLACES));
	const struct sw_ground_portal *portal;

	(void)state;
	if (!ground)
		fail_msg("refused: %s", said);
	assert_int_equal(ground->spawn_count, 2);
	assert_ptr_equal(sw_ground_spawn_find(ground, "gate"), &ground->spawns[0]);
	assert_null(sw_ground_spawn_find(ground, "door"));
	assert_int_equal(ground->spawns[0].x0_mm, 1500);
	assert_int_equal(ground->spawns[0].x1_mm, 1500);
	assert_int_equal(ground->spawns[0].y0_mm, 2999 - 1531); /* 24.5 of 16 px is 1.53125 m */
	assert_int_equal(ground->spawns[1].x0_mm, 1000);
	assert_int_equal(ground->spawns[1].x1_mm, 2999);
	assert_int_equal(ground->spawns[1].y0_mm, 0);
	assert_int_equal(ground->spawns[1].y1_mm, 1999);

	/* 40..63 px of the third row's lower half: the middles of columns 2 and 3 of row 0 */
	assert_int_equal(ground->portal_count, 1);
	portal = sw_ground_portal_at(ground, 3999, 0);
	assert_ptr_equal(portal, &ground->portals[0]);
	assert_ptr_equal(sw_ground_portal_at(ground, 2000, 999), portal);
	assert_null(sw_ground_portal_at(ground, 1999, 500));
	assert_null(sw_ground_portal_at(ground, 2000, 1000));
	assert_string_equal(portal->name, "door");
	assert_string_equal(portal->target_map, "cave");
	assert_string_equal(portal->target_spawn, "mouth");

	assert_int_equal(ground->herd_count, 1);
	assert_int_equal(ground->monsters, 3);
	assert_string_equal(ground->herds[0].kind, "wolf");
	assert_int_equal(ground->herds[0].radius_mm, 1500);
	assert_int_equal(ground->herds[0].respawn_s, 60);
	assert_int_equal(ground->herds[0].x_mm, 1500);
	assert_int_equal(ground->herds[0].y_mm, 499);

	assert_int_equal(ground->npc_count, 1);
	assert_ptr_equal(sw_ground_npc_find(ground, "tom"), &ground->npcs[0]);
	assert_null(sw_ground_npc_find(ground, "Old Tom"));
	assert_int_equal(ground->npcs[0].x_mm, 2000);
	assert_int_equal(ground->npcs[0].y_mm, 999);

	assert_true(sw_ground_safe_at(ground, 1999, 1000));
	assert_false(sw_ground_safe_at(ground, 2000, 1000));
	assert_false(sw_ground_safe_at(ground, 1999, 999));
	/* the hash is of the walls alone */
	assert_true(ground->hash == 0x9cbe04315751feefull);
	sw_ground_free(ground);
}

#define OBJECT(class, rest) OBJECTS("{\"name\":\"it\",\"type\":\"" class "\"," rest "}")
#define AT                  "\"x\":24,\"y\":24"
#define TEXT(name, value)   "{\"name\":\"" name "\",\"type\":\"string\",\"value\":\"" value "\"}"
#define INT(name, value)    "{\"name\":\"" name "\",\"type\":\"int\",\"value\":" value "}"
#define WITH(list)          ",\"properties\":[" list "]"

#define A16 "AAAAAAAAAAAAAAAA"
#define A64 A16 A16 A16 A16 /* 48 bytes */

static void faults_are_named(void **state)
{
	static const struct {
		const char *text, *want;
	} table[] = {
		{"", "test.tmj: line 1, column 0: "},
		{"[]", "(root): is no object"},
		{"{\"type\":\"map\"", "line 1, column "},
		{"{}", "orientation: is missing, allowed is orthogonal"},
		{"{}", "width: is missing, allowed is a whole number from 1 to 16384"},
		{"{\"width\":1,\"width\":2}", "duplicate object key"},
		{"{\"orientation\":\"isometric\"}", "orientation: is \"isometric\""},
		{"{\"type\":\"tileset\"}", "type: is \"tileset\", allowed is map"},
		{"{\"infinite\":true}", "infinite: is true"},
		{"{\"width\":4.5}", "width: is not whole"},
		{"{\"width\":\"4\"}", "width: is text"},
		{"{\"width\":0}", "width: 0 is out of range"},
		{"{\"width\":1e300}", "width: is not whole"},
		{"{\"width\":4000,\"height\":4000}", "make 16000000 tiles"},
		{"{\"properties\":{\"tile_mm\":500}}", "properties are an object"},
		{"{\"properties\":[" INT("tile_mm", "99") "]}",
			"property tile_mm: 99 is out of range, allowed is from 100 to 16000"},
		{"{\"properties\":[" INT("tile_mm", "600") "]}",
			"300 does not fit a tile_mm of 600"},
		{"{\"width\":2000,\"height\":1,\"properties\":[" INT("tile_mm", "16000") "]}",
			"make more than 16384 m"},
		{HEAD "\"layers\":5}", "layers: is a number, allowed is a list"},
		{HEAD "\"tilesets\":[3],\"layers\":[]}", "tilesets[0]: is no object"},
		{HEAD "\"tilesets\":[{\"firstgid\":1}],\"layers\":[]}", "tilecount: is missing"},
		{HEAD "\"tilesets\":[{\"firstgid\":5,\"tilecount\":1},{\"firstgid\":5,"
		      "\"tilecount\":1}],\"layers\":[]}",
			"firstgid 5 is not above"},
		{HEAD "\"tilesets\":[{\"firstgid\":1,\"source\":\"a.tsx\"}],\"layers\":[]}",
			"\"a.tsx\" is no JSON file"},
		{HEAD "\"tilesets\":[{\"firstgid\":1,\"source\":\"a.tsj\"}],\"layers\":[]}",
			"\"a.tsj\" is another file"},
		{HEAD "\"tilesets\":[{\"firstgid\":1,\"tilecount\":1,\"tiles\":[{\"id\":65536}]}],"
		      "\"layers\":[]}",
			"tiles[0].id: 65536 is out of range"},
		{HEAD "\"tilesets\":[{\"firstgid\":1,\"tilecount\":1,\"tiles\":[{\"id\":0,"
		      "\"properties\":[" TEXT("solid", "yes") "]}]}],\"layers\":[]}",
			"tilesets[0]: tile 0: property solid: is text, allowed is true or false"},
		{MAP("7"), "layers[0]: is no object"},
		{MAP("{\"type\":\"hexlayer\",\"name\":\"x\"}"), "layers[0] \"x\": has a type"},
		{MAP(LAYER("\"data\":[1,2]")), "layers[0] \"walls\": data has 2 entries"},
		{MAP(LAYER("\"data\":[2,2,2,2,2,1,0,2,2,0,1,9]")),
			"tile number 9 at column 3, row 2 belongs to no tileset"},
		{MAP(LAYER("\"data\":[2,2,2,2,2,1,0,2,2,0,1,-1]")), "data[11] is no tile number"},
		{MAP(LAYER("\"data\":[2,2,2,2,2,1,0,2,2,0,1,4294967296]")), "data[11] is no"},
		{MAP(LAYER("\"data\":\"AAAA\"")), "data is missing or does not fit"},
		{MAP(LAYER("\"encoding\":\"base64\",\"data\":\"AA*A\"")), "data is not base64"},
		{MAP(LAYER("\"encoding\":\"base64\",\"data\":\"" A64 "A\"")), "data is not base64"},
		{MAP(LAYER("\"encoding\":\"base64\",\"data\":\"" A64 "AA=\"")),
			"data is not base64"},
		{MAP(LAYER("\"encoding\":\"base64\",\"data\":\"" A64 "=\"")), "data is not base64"},
		{MAP(LAYER("\"encoding\":\"base64\",\"data\":\"AAAA\"")),
			"is not as long as the layer's tiles, allowed are exactly 48 bytes"},
		{MAP(LAYER("\"encoding\":\"base64\",\"compression\":\"zstd\",\"data\":\"AAAA\"")),
			"compression \"zstd\" is not taken, allowed is none, zlib or gzip"},
		{MAP(LAYER("\"encoding\":\"base64\",\"compression\":\"zlib\",\"data\":\"AAAA\"")),
			"data is not whole, or not zlib"},
		{MAP(LAYER("\"chunks\":[]")), "has chunks"},
		{MAP(LAYER("\"offsetx\":8," DATA)), "has an offset and solid tiles"},
		{MAP("{\"type\":\"tilelayer\",\"width\":5,\"height\":3,\"data\":[]}"),
			"layers[0]: is not as large as the map"},
		{MAP(LAYER(
			 "\"properties\":[" BOOL("solid", "true") "],\"data\":[1,1,1,1,1,1,1,1,1,1,"
								  "1,1]")),
			"layers: leave no tile open"},
		{MAP(LAYER(DATA) "," OBJECT("spwan", AT)),
			"layers[1] \"places\": spwan \"it\": has a class that is not known here, "
			"allowed are spawn, portal, monster, npc, safe_zone, none"},
		{MAP(LAYER(DATA) "," OBJECTS("{\"id\":1,\"template\":\"a.tj\",\"x\":24,\"y\":24}")),
			"layers[1] \"places\".objects[0]: is made from a template"},
		{MAP(LAYER(DATA) "," OBJECT("spawn", "\"x\":8,\"y\":8")),
			"spawn \"it\": lies in solid tiles"},
		{MAP(LAYER(DATA) "," OBJECT("spawn", "\"x\":64,\"y\":8")), "is not inside the map"},
		{MAP(LAYER(DATA) "," OBJECT("spawn", "\"x\":24,\"y\":-0.1")), "is not inside"},
		{MAP(LAYER(DATA) "," OBJECT("spawn", AT ",\"rotation\":45")), "is rotated"},
		{MAP(LAYER(DATA) "," OBJECT("spawn", AT ",\"ellipse\":true")), "(ellipse)"},
		{MAP(LAYER(DATA) "," OBJECT("spawn", AT WITH(INT("radius", "3")))),
			"property radius: is not known here, allowed are arrival"},
		{MAP(LAYER(DATA) "," OBJECT("spawn", AT) "," OBJECT("spawn", AT)),
			"layers[2] \"places\": spawn \"it\": is the second spawn of this name"},
		{MAP(LAYER(DATA) "," OBJECT("portal", AT)), "property target_map is missing"},
		{MAP(LAYER(DATA) "," OBJECT("portal", AT)), "covers the middle of no tile"},
		{MAP(LAYER(DATA) "," OBJECT(
			 "portal", AT ",\"width\":16,\"height\":16" WITH(TEXT("target_map", "")))),
			"property target_map: has 0 bytes"},
		{MAP(LAYER(DATA) "," OBJECT(
			 "portal", "\"x\":0,\"y\":0,\"width\":16,\"height\":16" WITH(
					   TEXT("target_map", "cave")))),
			"portal \"it\": lies in solid tiles"},
		{MAP(LAYER(DATA) "," OBJECT(
			 "portal", "\"x\":16,\"y\":16,\"width\":16,\"height\":16" WITH(
					   TEXT("target_map", "a"))) "," OBJECT("portal",
			 "\"x\":16,\"y\":16,\"width\":32,\"height\":16" WITH(
				 TEXT("target_map", "b")))),
			"lies over portal \"it\" at column 1, row 1"},
		{MAP(LAYER(DATA) "," OBJECT("monster", AT)), "property kind is missing"},
		{MAP(LAYER(DATA) "," OBJECT(
			 "monster", AT WITH(TEXT("kind", "wolf") "," INT("count", "0")))),
			"property count: 0 is out of range, allowed is from 1 to 100000"},
		{MAP(LAYER(DATA) "," OBJECT(
			 "monster", AT WITH(TEXT("kind", "wolf") "," INT("radius", "-1")))),
			"allowed is a number of metres from 0 to 1000"},
		{MAP(LAYER(DATA) "," OBJECT("monster", AT WITH(TEXT("kind", "a\\u0007b")))),
			"property kind: holds a control character"},
		{MAP(LAYER(DATA) "," OBJECT("monster",
			 AT WITH(TEXT("kind", "a") "," INT("count", "60000"))) "," OBJECT("monster",
			 AT WITH(TEXT("kind", "b") "," INT("count", "60000")))),
			"layers[2] \"places\": monster \"it\": makes 120000 monsters, allowed are "
			"100000"},
		{MAP(LAYER(DATA) "," OBJECT("npc", AT) "," OBJECT("npc", AT)),
			"is the second npc with tag \"it\""},
		{MAP(LAYER(DATA) "," OBJECT("npc", AT WITH(INT("tag", "1")))),
			"property tag: is a number, allowed is text"},
		{MAP(LAYER(DATA) "," OBJECT(
			 "safe_zone", "\"x\":0,\"y\":0,\"width\":4,\"height\":4")),
			"covers the middle of no tile"},
		{MAP("{\"type\":\"objectgroup\",\"name\":\"\\u001b[2J\",\"offsety\":3,\"objects\":["
		     "{}]}"),
			"layers[0] \"?[2J\": has an offset"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct sw_ground *ground = parse(table[i].text);

		if (ground || !strstr(said, table[i].want))
			fail_msg("row %zu: wanted \"%s\", said: %s", i, table[i].want, said);
	}
}

static void all_faults_are_said_at_once(void **state)
{
	uint32_t lines = 0;
	char *text = malloc(200000), *at = text;

	(void)state;
	assert_null(parse(MAP(LAYER("\"data\":[9,2]") "," LAYER("\"data\":5") "," OBJECT("npc",
		"\"x\":"
		"99,"
		"\"y\":0") "," OBJECT("goat", AT))));
	assert_non_null(strstr(said, "layers[0] \"walls\""));
	assert_non_null(strstr(said, "layers[1] \"walls\""));
	assert_non_null(strstr(said, "npc \"it\""));
	assert_non_null(strstr(said, "goat \"it\""));
	/* up to a number: a million faults are of no use to anyone */
	at += sprintf(at, HEAD SETS "\"layers\":[{\"type\":\"objectgroup\",\"objects\":[{}");
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, ",{\"type\":\"goat\"}");
	sprintf(at, "]}]}");
	assert_null(parse(text));
	for (const char *c = said; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 201);
	assert_non_null(strstr(said, "more\n"));
	free(text);
}

static void a_layer_may_be_left_to_the_client(void **state)
{
	(void)state;
	expect_drawn(
		MAP(LAYER(DATA) ",{\"type\":\"objectgroup\",\"name\":\"sounds\",\"properties\":"
				"[" BOOL("ignore", "true") "],\"objects\":[{\"type\":\"bell\"}"
							   "]}"),
		"####/#..#/#.../");
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void expect_load(const char *folder, const char *path, int status, const char *want)
{
	FILE *errors = fmemopen(said, sizeof(said), "w");
	struct sw_ground *ground;
	int got;

	memset(said, 0, sizeof(said));
	got = sw_ground_load(folder, path, errors, &ground);
	fclose(errors);
	if (got != status || !strstr(said, want))
		fail_msg("%s: %d, said: %s", path, got, said);
	sw_ground_free(ground);
}

static void tilesets_in_files(void **state)
{
	static const char set[] =
		"{\"type\":\"tileset\",\"name\":\"t\",\"tilecount\":4,\"tiles\":[{"
		"\"id\":1,\"properties\":[" BOOL("solid", "true") "]}]}";
#define EXTERNAL(source)                                                                           \
	HEAD "\"tilesets\":[{\"firstgid\":1,\"source\":\"" source                                  \
	     "\"}],\"layers\":[" LAYER(DATA) "]}"
	char folder[] = "/tmp/sw-ground-XXXXXX", sub[64], path[128];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(sub, sizeof(sub), "%s/maps", folder);
	assert_int_equal(mkdir(sub, 0700), 0);
	snprintf(path, sizeof(path), "%s/tiles", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file(folder, "tiles/t.tsj", set);
	write_file(folder, "maps/bad.tsj", "{\"tilecount\":4,\"tiles\":[{\"id\":-1}]}");
	write_file(folder, "maps/good.tmj", EXTERNAL("../tiles/./t.tsj"));
	write_file(folder, "maps/faulty.tmj", EXTERNAL("bad.tsj"));
	write_file(folder, "maps/away.tmj", EXTERNAL("../../etc/x.tsj"));
	write_file(folder, "maps/root.tmj", EXTERNAL("/etc/x.tsj"));
	write_file(folder, "maps/none.tmj", EXTERNAL("none.tsj"));
	write_file(folder, "maps/folder.tmj", EXTERNAL("../maps/dir.tsj"));
	snprintf(path, sizeof(path), "%s/maps/dir.tsj", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	expect_load(folder, "maps/good.tmj", 0, "");
	expect_load(sub, "good.tmj", -EINVAL, "leads out of the content folder");
	snprintf(path, sizeof(path), "%s/maps/good.tmj", folder);
	expect_load(NULL, path, 0, "");
	expect_load(folder, "maps/faulty.tmj", -EINVAL, "maps/bad.tsj: tiles[0].id: -1 is out");
	expect_load(folder, "maps/away.tmj", -EINVAL, "leads out of the content folder");
	expect_load(folder, "maps/root.tmj", -EINVAL, "leads out of the content folder");
	expect_load(folder, "maps/none.tmj", -EINVAL, "cannot be read: No such file");
	expect_load(folder, "maps/folder.tmj", -EINVAL, "cannot be read: Is a directory");
	expect_load(folder, "maps/lost.tmj", -ENOENT, "maps/lost.tmj: (file): No such file");
	snprintf(path, sizeof(path), "rm -r %s", folder);
	assert_int_equal(system(path), 0);
}

/* Every cut, and every byte changed: refused or read, and the sanitizers see no harm. */
static void damage_is_harmless(void **state)
{
	static const char text[] = MAP(LAYER(DATA) "," PLACES);
	char zlib[4096];
	uint32_t taken = 0;

	(void)state;
	encoded_map(zlib, sizeof(zlib), 15, 12, 0);
	for (int which = 0; which < 2; which++) {
		const char *whole = which ? zlib : text;
		size_t count = strlen(whole);

		for (size_t i = 0; i < count; i++) {
			char *copy = malloc(count); /* ends where the text ends */

			memcpy(copy, whole, count);
			assert_null(parse_bytes(copy, i));
			for (int bit = 0; bit < 8; bit += 3) {
				struct sw_ground *ground;

				copy[i] ^= (char)(1 << bit);
				ground = parse_bytes(copy, count);
				taken += ground != NULL;
				sw_ground_free(ground);
				copy[i] ^= (char)(1 << bit);
			}
			free(copy);
		}
	}
	assert_true(taken > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_follows_the_end),
		cmocka_unit_test(each_encoding_gives_the_same),
		cmocka_unit_test(solid_comes_from_tile_or_layer),
		cmocka_unit_test(places_are_where_they_were_drawn),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(all_faults_are_said_at_once),
		cmocka_unit_test(a_layer_may_be_left_to_the_client),
		cmocka_unit_test(tilesets_in_files),
		cmocka_unit_test(damage_is_harmless),
	};

	return cmocka_run_group_tests_name("ground load", tests, NULL, NULL);
}
