/* Tile data as text: base64 (RFC 4648), with zlib (RFC 1950) or gzip (RFC 1952) inside or without.
 */
#include "simulation/ground/tiled.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#define BAD   64u
#define BLANK 65u

static uint8_t digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (uint8_t)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (uint8_t)(c - 'a' + 26);
	if (c >= '0' && c <= '9')
		return (uint8_t)(c - '0' + 52);
	if (c == '+')
		return 62;
	if (c == '/')
		return 63;
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' ? BLANK : BAD;
}

/* out has room for count / 4 * 3 + 3 bytes. False: it is no base64. Blanks are skipped, padding may
 * be left out. */
static bool base64_decode(const char *text, size_t count, uint8_t *out, size_t *bytes)
{
	uint32_t bits = 0, have = 0, padding = 0;

	*bytes = 0;
	for (size_t i = 0; i < count; i++) {
		uint8_t value = text[i] == '=' ? 0 : digit(text[i]);

		if (value == BLANK)
			continue;
		if (value == BAD || (padding && text[i] != '='))
			return false;
		padding += text[i] == '=';
		bits = bits << 6 | value;
		if (++have < 4)
			continue;
		if (padding > 2)
			return false;
		for (uint32_t byte = 0; byte < 3 - padding; byte++)
			out[(*bytes)++] = (uint8_t)(bits >> (16 - 8 * byte));
		if (padding)
			return i + 1 == count || strspn(text + i + 1, " \r\n\t") >= count - i - 1;
		bits = have = 0;
	}
	if (have == 1 || padding)
		return false;
	bits <<= 6 * (4 - have) % 24;
	for (uint32_t byte = 0; have && byte < have - 1; byte++)
		out[(*bytes)++] = (uint8_t)(bits >> (16 - 8 * byte));
	return true;
}

static const char *decompress(uint8_t *in, size_t count, uint8_t *out, size_t bytes)
{
	z_stream stream = {.next_in = in, .avail_in = (uInt)count, .next_out = out};
	const char *wrong = NULL;
	uint8_t surplus;
	int status;

	stream.avail_out = (uInt)bytes;
	if (inflateInit2(&stream, MAX_WBITS + 32) != Z_OK) /* zlib or gzip, by its head */
		return "memory is short";
	status = inflate(&stream, Z_FINISH);
	if (status != Z_STREAM_END && !stream.avail_out) {
		/* Full: only its end may follow. */
		stream.next_out = &surplus;
		stream.avail_out = 1;
		status = inflate(&stream, Z_FINISH);
		if (!stream.avail_out)
			wrong = "holds more than the layer's tiles";
	}
	if (!wrong && status != Z_STREAM_END)
		wrong = "is not whole, or not zlib or gzip";
	else if (!wrong && stream.total_out != bytes)
		wrong = "holds less than the layer's tiles";
	else if (!wrong && stream.avail_in)
		wrong = "goes on after its end";
	inflateEnd(&stream);
	return wrong;
}

const char *tiled_decode(
	const char *text, size_t count, enum tiled_compression how, uint8_t *out, size_t bytes)
{
	uint8_t *raw = malloc(count / 4 * 3 + 3);
	const char *wrong = NULL;
	size_t raw_bytes;

	if (!raw)
		return "memory is short";
	if (!base64_decode(text, count, raw, &raw_bytes))
		wrong = "is not base64";
	else if (how == TILED_ZLIB_OR_GZIP)
		wrong = decompress(raw, raw_bytes, out, bytes);
	else if (raw_bytes != bytes)
		wrong = "is not as long as the layer's tiles";
	else
		memcpy(out, raw, bytes);
	free(raw);
	return wrong;
}
