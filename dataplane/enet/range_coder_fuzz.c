/* range_coder_fuzz.c: a fuzz target over the range coder: any bytes are decompressed, in bounds and
 * within the room given; what comes out, and the bytes themselves, survive the way there and back.
 */
#include <stdlib.h>
#include <string.h>

#include "dataplane/enet/range_coder.h"

#define ROOM 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct range_coder coder;

static void there_and_back(const uint8_t *data, uint32_t bytes)
{
	uint8_t *packed = malloc(2 * (size_t)bytes + 64), *out = malloc(bytes);
	uint32_t n;

	if (!packed || !out)
		abort();
	n = range_compress(&coder, data, bytes, packed, 2 * bytes + 64);
	if (!n || range_decompress(&coder, packed, n, out, bytes) != bytes ||
		memcmp(out, data, bytes) != 0)
		abort();
	free(packed);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t room, got;
	uint8_t *out;

	if (size < 2)
		return 0;
	room = (uint32_t)(data[0] << 8 | data[1]) % (ROOM + 1);
	data += 2;
	size -= 2;
	out = malloc(room ? room : 1);
	if (!out)
		abort();
	got = range_decompress(&coder, data, (uint32_t)size, out, room);
	if (got > room)
		abort();
	if (got)
		there_and_back(out, got);
	if (size && size <= ROOM)
		there_and_back(data, (uint32_t)size);
	free(out);
	return 0;
}
