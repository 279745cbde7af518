#include "control/admission/pass.h"

#include <string.h>

#include <sodium.h>

#include "common/check.h"
#include "control/admission/utf8.h"

/* The layout of a pass: the fixed part, the two texts without their NULs, the hash. */
#define AT_PURPOSE    0u
#define AT_LANE       1u
#define AT_NAME_BYTES 2u
#define AT_NODE_BYTES 3u
#define AT_KEY_ID     4u
#define AT_REALM      8u
#define AT_ACCOUNT    12u
#define AT_CHARACTER  20u
#define AT_SEQ        28u
#define AT_GENERATION 36u
#define AT_EXPIRES    44u
#define AT_NONCE      52u
#define FIXED_BYTES   (AT_NONCE + PASS_NONCE_BYTES)
#define HASH_BYTES    16u

_Static_assert(
	FIXED_BYTES + CHARACTER_NAME_BYTES - 1 + PASS_NODE_BYTES - 1 + HASH_BYTES <= PASS_BYTES_MAX,
	"the longest pass fits");
_Static_assert(HASH_BYTES >= crypto_generichash_blake2b_BYTES_MIN &&
		       PASS_KEY_BYTES >= crypto_generichash_blake2b_KEYBYTES_MIN,
	"libsodium's limits");

static const uint8_t personal[crypto_generichash_blake2b_PERSONALBYTES] = {
	's', 't', 'o', 'r', 'm', 'w', 'e', 'i', 'r', '-', 'p', 'a', 's', 's', '-', '1'};

static const struct {
	const char *name, *meaning;
	enum sw_disconnect_reason reason;
} faults[PASS_FAULT_COUNT] = {{"none", "the pass is good", SW_REASON_NONE},
#define FAULT(id, name, reason, meaning) {name, meaning, SW_REASON_##reason},
	PASS_FAULTS(FAULT)
#undef FAULT
};

const char *pass_purpose_name(enum pass_purpose purpose)
{
	switch (purpose) {
#define CASE(id, value, name)                                                                      \
	case value:                                                                                \
		return name;
		PASS_PURPOSES(CASE)
#undef CASE
	}
	return "unknown";
}

const char *pass_fault_name(enum pass_fault fault)
{
	return faults[fault].name;
}

const char *pass_fault_meaning(enum pass_fault fault)
{
	return faults[fault].meaning;
}

enum sw_disconnect_reason pass_fault_reason(enum pass_fault fault)
{
	return faults[fault].reason;
}

static bool purpose_known(uint8_t value)
{
#define EQUAL(id, number, name) value == number ||
	return PASS_PURPOSES(EQUAL) false;
#undef EQUAL
}

static void put(uint8_t *to, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *from, uint32_t bytes)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << (8 * i);
	return value;
}

static void hash(uint8_t out[HASH_BYTES], const uint8_t *data, size_t bytes,
	const uint8_t secret[PASS_KEY_BYTES])
{
	CHECK(!crypto_generichash_blake2b_salt_personal(
		out, HASH_BYTES, data, bytes, secret, PASS_KEY_BYTES, NULL, personal));
}

size_t pass_seal(uint8_t out[PASS_BYTES_MAX], const struct pass *pass, const struct pass_keys *keys)
{
	size_t name_bytes = strnlen(pass->name, sizeof(pass->name));
	size_t node_bytes = strnlen(pass->node, sizeof(pass->node));
	size_t bytes = FIXED_BYTES;

	CHECK(keys->count > 0 && purpose_known((uint8_t)pass->purpose));
	CHECK(name_bytes < sizeof(pass->name) && node_bytes < sizeof(pass->node));
	out[AT_PURPOSE] = (uint8_t)pass->purpose;
	out[AT_LANE] = pass->lane;
	out[AT_NAME_BYTES] = (uint8_t)name_bytes;
	out[AT_NODE_BYTES] = (uint8_t)node_bytes;
	put(out + AT_KEY_ID, keys->keys[0].id, 4);
	put(out + AT_REALM, pass->realm_id, 4);
	put(out + AT_ACCOUNT, pass->account_id, 8);
	put(out + AT_CHARACTER, pass->character_id, 8);
	put(out + AT_SEQ, pass->seq, 8);
	put(out + AT_GENERATION, pass->generation, 8);
	put(out + AT_EXPIRES, pass->expires_unix_s, 8);
	memcpy(out + AT_NONCE, pass->nonce, PASS_NONCE_BYTES);
	memcpy(out + bytes, pass->name, name_bytes);
	bytes += name_bytes;
	memcpy(out + bytes, pass->node, node_bytes);
	bytes += node_bytes;
	hash(out + bytes, out, bytes, keys->keys[0].secret);
	return bytes + HASH_BYTES;
}

static const uint8_t *secret_of(const struct pass_keys *keys, uint32_t id)
{
	for (uint32_t i = 0; i < keys->count; i++)
		if (keys->keys[i].id == id)
			return keys->keys[i].secret;
	return NULL;
}

static bool id_good(uint64_t id)
{
	return id > 0 && id <= INT64_MAX;
}

/* A text of ours; what stands behind a NUL would be lost. */
static bool text_read(char *to, size_t room, const uint8_t *from, size_t bytes)
{
	if (bytes >= room || memchr(from, 0, bytes))
		return false;
	memcpy(to, from, bytes);
	return true;
}

static bool body_read(struct pass *pass, const uint8_t *data, size_t bytes)
{
	size_t name_bytes = data[AT_NAME_BYTES], node_bytes = data[AT_NODE_BYTES];

	if (bytes != FIXED_BYTES + name_bytes + node_bytes || !purpose_known(data[AT_PURPOSE]))
		return false;
	pass->purpose = (enum pass_purpose)data[AT_PURPOSE];
	pass->lane = data[AT_LANE];
	pass->realm_id = (uint32_t)get(data + AT_REALM, 4);
	pass->account_id = get(data + AT_ACCOUNT, 8);
	pass->character_id = get(data + AT_CHARACTER, 8);
	pass->seq = get(data + AT_SEQ, 8);
	pass->generation = get(data + AT_GENERATION, 8);
	pass->expires_unix_s = get(data + AT_EXPIRES, 8);
	memcpy(pass->nonce, data + AT_NONCE, PASS_NONCE_BYTES);
	return id_good(pass->account_id) && id_good(pass->character_id) && name_bytes > 0 &&
	       text_read(pass->name, sizeof(pass->name), data + FIXED_BYTES, name_bytes) &&
	       utf8_is_text(pass->name, name_bytes) &&
	       text_read(
		       pass->node, sizeof(pass->node), data + FIXED_BYTES + name_bytes, node_bytes);
}

static enum pass_fault check(struct pass *pass, const uint8_t *data, size_t bytes,
	const struct pass_keys *keys, const struct pass_wanted *wanted)
{
	uint8_t hashed[HASH_BYTES];
	const uint8_t *secret;

	if (bytes < FIXED_BYTES + HASH_BYTES || bytes > PASS_BYTES_MAX)
		return PASS_FAULT_LENGTH;
	bytes -= HASH_BYTES;
	secret = secret_of(keys, (uint32_t)get(data + AT_KEY_ID, 4));
	if (!secret)
		return PASS_FAULT_UNKNOWN_KEY;
	hash(hashed, data, bytes, secret);
	if (sodium_memcmp(hashed, data + bytes, HASH_BYTES))
		return PASS_FAULT_FORGED;
	if (!body_read(pass, data, bytes))
		return PASS_FAULT_LAYOUT;
	if (pass->purpose != wanted->purpose)
		return PASS_FAULT_PURPOSE;
	if (wanted->wall_s > pass->expires_unix_s)
		return PASS_FAULT_EXPIRED;
	if (pass->realm_id != wanted->realm_id)
		return PASS_FAULT_REALM;
	if (pass->purpose == PASS_HANDOVER && strcmp(pass->node, wanted->node))
		return PASS_FAULT_NODE;
	return PASS_FAULT_NONE;
}

enum pass_fault pass_open(struct pass *pass, const uint8_t *data, size_t bytes,
	const struct pass_keys *keys, const struct pass_wanted *wanted)
{
	enum pass_fault fault;

	memset(pass, 0, sizeof(*pass));
	fault = check(pass, data, bytes, keys, wanted);
	if (fault != PASS_FAULT_NONE)
		memset(pass, 0, sizeof(*pass));
	return fault;
}

enum pass_purpose pass_peek(const uint8_t *data, size_t bytes)
{
	return bytes && purpose_known(data[AT_PURPOSE]) ? (enum pass_purpose)data[AT_PURPOSE] : 0;
}

void pass_return_nonce(uint8_t out[PASS_NONCE_BYTES], uint32_t realm_id, uint64_t character_id,
	uint64_t generation)
{
	static const uint8_t nonce_personal[crypto_generichash_blake2b_PERSONALBYTES] = {
		's', 't', 'o', 'r', 'm', 'w', 'e', 'i', 'r', '-', 'n', 'o', 'n', 'c', 'e', '1'};
	uint8_t text[20];

	put(text, realm_id, 4);
	put(text + 4, character_id, 8);
	put(text + 12, generation, 8);
	CHECK(!crypto_generichash_blake2b_salt_personal(
		out, PASS_NONCE_BYTES, text, sizeof(text), NULL, 0, NULL, nonce_personal));
}

void pass_handover_nonce(
	uint8_t out[PASS_NONCE_BYTES], const uint8_t secret[PASS_KEY_BYTES], uint64_t number)
{
	static const uint8_t handover_personal[crypto_generichash_blake2b_PERSONALBYTES] = {
		's', 't', 'o', 'r', 'm', 'w', 'e', 'i', 'r', '-', 'h', 'a', 'n', 'd', 'o', '1'};
	uint8_t text[8];

	put(text, number, 8);
	CHECK(!crypto_generichash_blake2b_salt_personal(out, PASS_NONCE_BYTES, text, sizeof(text),
		secret, PASS_KEY_BYTES, NULL, handover_personal));
}
