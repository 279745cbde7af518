#include "control/world/text.h"

#include <string.h>

/* Bytes of the character at text[0..bytes), 0 when it is not valid. */
static size_t character_bytes(const unsigned char *text, size_t bytes)
{
	unsigned char c = text[0];
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (n == 0 || n > bytes || c == 0)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] > 0x9f) ||
		(c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] > 0x8f))
		return 0;
	return n;
}

bool world_text_valid(const char *text, size_t bytes)
{
	size_t n;

	for (; bytes > 0; text += n, bytes -= n) {
		n = character_bytes((const unsigned char *)text, bytes);
		if (n == 0)
			return false;
	}
	return true;
}

void world_name_candidates(const char wanted[CHARACTER_NAME_BYTES], uint64_t character_id,
	char plain[CHARACTER_NAME_BYTES], char suffixed[CHARACTER_NAME_BYTES])
{
	size_t bytes = strnlen(wanted, CHARACTER_NAME_BYTES);
	char id[16];
	size_t id_bytes = 0, keep = 0;

	/* 13 digits at most: 36^13 > 2^64. Filled from the end. */
	do {
		id[sizeof(id) - ++id_bytes] =
			"0123456789abcdefghijklmnopqrstuvwxyz"[character_id % 36];
		character_id /= 36;
	} while (character_id > 0);

	memset(plain, 0, CHARACTER_NAME_BYTES);
	memset(suffixed, 0, CHARACTER_NAME_BYTES);
	if (bytes == 0 || bytes == CHARACTER_NAME_BYTES || !world_text_valid(wanted, bytes)) {
		wanted = "player";
		bytes = 6;
	} else if (!memchr(wanted, '~', bytes)) {
		memcpy(plain, wanted, bytes);
	}
	while (keep < bytes) {
		size_t n = character_bytes((const unsigned char *)wanted + keep, bytes - keep);

		if (keep + n + 1 + id_bytes > CHARACTER_NAME_BYTES - 1)
			break;
		keep += n;
	}
	memcpy(suffixed, wanted, keep);
	suffixed[keep] = '~';
	memcpy(suffixed + keep + 1, id + sizeof(id) - id_bytes, id_bytes);
}
