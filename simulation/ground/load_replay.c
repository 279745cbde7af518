/* Made-up inputs for load_fuzz.c: a small map with every kind of place, with seeded damage. */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/replay.h"

#define INPUTS 4000u

static const char map[] =
	"{\"type\":\"map\",\"orientation\":\"orthogonal\",\"width\":4,\"height\":3,\"tilewidth\":"
	"16,"
	"\"tileheight\":16,\"properties\":[{\"name\":\"tile_mm\",\"type\":\"int\",\"value\":800}],"
	"\"tilesets\":[{\"firstgid\":1,\"tilecount\":4,\"tiles\":[{\"id\":1,\"properties\":[{"
	"\"name\":"
	"\"solid\",\"type\":\"bool\",\"value\":true}]}]}],\"layers\":[{\"type\":\"group\","
	"\"layers\":"
	"[{\"type\":\"tilelayer\",\"width\":4,\"height\":3,\"encoding\":\"base64\",\"compression\":"
	"\""
	"\",\"data\":\"AgAAAAIAAAACAAAAAgAAAAIAAAABAAAAAAAAAAIAAAACAAAAAAAAAAEAAAAAAAAA\"}]},{"
	"\"type\":\"objectgroup\",\"objects\":[{\"name\":\"a\",\"type\":\"spawn\",\"x\":16,\"y\":"
	"16,"
	"\"width\":32,\"height\":32},{\"type\":\"portal\",\"x\":40,\"y\":40,\"width\":24,"
	"\"height\":9,"
	"\"properties\":[{\"name\":\"target_map\",\"value\":\"cave\"}]},{\"type\":\"monster\","
	"\"x\":24"
	",\"y\":40,\"properties\":[{\"name\":\"kind\",\"value\":\"wolf\"},{\"name\":\"radius\","
	"\"value\":1.5}]},{\"name\":\"tom\",\"type\":\"npc\",\"x\":32,\"y\":32},{\"type\":"
	"\"safe_zone\",\"x\":0,\"y\":0,\"width\":32,\"height\":32}]}]}";

uint32_t replay_made(uint64_t seed)
{
	static const char alphabet[] = "0123456789-.eE{}[]\":,AQg=/truefalsnx ";
	uint64_t draw = seed * 2 + 1;

	for (uint32_t input = 0; input < INPUTS; input++) {
		uint8_t bytes[sizeof(map)];
		size_t count = sizeof(map) - 1;

		memcpy(bytes, map, count);
		for (uint32_t damage = replay_draw(&draw) % 4; damage--;) {
			size_t at = replay_draw(&draw) % count;

			if (replay_draw(&draw) % 4)
				bytes[at] = (uint8_t)
					alphabet[replay_draw(&draw) % (sizeof(alphabet) - 1)];
			else
				memmove(bytes + at, bytes + at + 1, --count - at);
		}
		LLVMFuzzerTestOneInput(bytes, count);
	}
	return INPUTS;
}
