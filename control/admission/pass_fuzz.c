/* Fuzzes pass_open. The first byte says how the rest is used: as a client's bytes, which must never
 * be taken; hashed with our key first, so that the layout is reached: what is taken then must seal
 * to the same bytes again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "control/admission/pass.h"

#define HASH_BYTES 16u

static const struct pass_keys keys = {1, {{7, {1, 2, 3}}}};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return sodium_init() < 0 ? 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint8_t sealed[PASS_BYTES_MAX + HASH_BYTES], again[PASS_BYTES_MAX];
	struct pass_wanted wanted = {PASS_RETURN, 1, "north", 100};
	struct pass pass;

	if (!bytes)
		return 0;
	wanted.purpose = 1 + data[0] % 3;
	if (data[0] & 0x80) {
		/* 2^-128 that it is found by chance */
		if (pass_open(&pass, data + 1, bytes - 1, &keys, &wanted) == PASS_FAULT_NONE)
			abort();
		return 0;
	}
	data++, bytes--;
	if (bytes > PASS_BYTES_MAX || bytes < 8)
		return 0;
	memcpy(sealed, data, bytes);
	memcpy(sealed + 4, (const uint8_t[]){7, 0, 0, 0}, 4);
	crypto_generichash_blake2b_salt_personal(sealed + bytes, HASH_BYTES, sealed, bytes,
		keys.keys[0].secret, PASS_KEY_BYTES, NULL, (const uint8_t *)"stormweir-pass-1");
	bytes += HASH_BYTES;
	if (pass_open(&pass, sealed, bytes, &keys, &wanted) != PASS_FAULT_NONE)
		return 0;
	if (pass_seal(again, &pass, &keys) != bytes || memcmp(again, sealed, bytes))
		abort();
	return 0;
}
