#include "control/chat/slot.h"

#include <string.h>

#include <sodium.h>

/* No secret: every node must come to the same. */
static const uint8_t KEY[crypto_shorthash_KEYBYTES] = "stormweir chat 1";

static uint64_t hash(const void *bytes, size_t count)
{
	uint8_t out[crypto_shorthash_BYTES];
	uint64_t value = 0;

	crypto_shorthash(out, bytes, count, KEY);
	for (uint32_t i = 0; i < sizeof(out); i++)
		value |= (uint64_t)out[i] << 8 * i;
	return value;
}

static void put_32(uint8_t *at, uint32_t value)
{
	for (uint32_t i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

uint64_t chat_channel_number(uint32_t realm_id, uint32_t kind, const char *key)
{
	uint8_t bytes[8 + CHAT_KEY_BYTES];
	size_t count = strnlen(key, CHAT_KEY_BYTES);
	uint64_t number;

	put_32(bytes, realm_id);
	put_32(bytes + 4, kind);
	memcpy(bytes + 8, key, count);
	number = hash(bytes, 8 + count);
	return number ? number : 1;
}

uint32_t chat_slot_owner(uint32_t slot, const char *const *names, uint32_t count)
{
	uint64_t best = 0;
	uint32_t owner = UINT32_MAX;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t bytes[4 + 64];
		size_t length = strnlen(names[i], 64);
		uint64_t value;

		put_32(bytes, slot);
		memcpy(bytes + 4, names[i], length);
		value = hash(bytes, 4 + length);
		if (owner == UINT32_MAX || value > best ||
			(value == best && strcmp(names[i], names[owner]) > 0)) {
			owner = i;
			best = value;
		}
	}
	return owner;
}

bool chat_language_valid(const char *name, size_t bytes)
{
	size_t part = 0, parts = 0;

	if (bytes < 2 || bytes >= CHAT_KEY_BYTES)
		return false;
	for (size_t i = 0; i <= bytes; i++) {
		char c = i < bytes ? name[i] : '-';

		if (c == '-') {
			if (part < 2 || part > (parts ? 8 : 3))
				return false;
			part = 0;
			parts++;
		} else if ((c >= 'a' && c <= 'z') || (parts && c >= '0' && c <= '9')) {
			part++;
		} else {
			return false;
		}
	}
	return true;
}
