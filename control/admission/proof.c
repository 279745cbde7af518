#include "control/admission/proof.h"

#include <string.h>

#include <sodium.h>

#include "common/check.h"
#include "common/mono.h"

#define AT_BITS    0u
#define AT_SLOT    4u
#define AT_HASH    8u
#define HASH_BYTES 16u

_Static_assert(AT_HASH + HASH_BYTES == SW_PROOF_CHALLENGE_BYTES, "the challenge is full");
_Static_assert(SW_PROOF_HASH_BYTES == crypto_hash_sha256_BYTES, "SHA-256");

static uint32_t slot_of(uint64_t now_ns)
{
	return (uint32_t)(now_ns / (PROOF_SLOT_MS * NS_PER_MS));
}

/* For the first bytes of a challenge: what follows them. */
static void seal(uint8_t out[HASH_BYTES], const uint8_t *challenge,
	const uint8_t key[PROOF_KEY_BYTES], const struct proof_client *client)
{
	uint8_t text[AT_HASH + 16 + sizeof(client->peer)];

	memcpy(text, challenge, AT_HASH);
	memcpy(text + AT_HASH, client->ip, 16);
	memcpy(text + AT_HASH + 16, &client->peer, sizeof(client->peer));
	CHECK(!crypto_generichash(out, HASH_BYTES, text, sizeof(text), key, PROOF_KEY_BYTES));
}

void proof_ask(uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], const uint8_t key[PROOF_KEY_BYTES],
	const struct proof_client *client, uint32_t bits, uint64_t now_ns)
{
	uint32_t slot = slot_of(now_ns);

	CHECK(bits && bits <= SW_PROOF_BITS_MAX);
	memset(challenge, 0, AT_HASH);
	challenge[AT_BITS] = (uint8_t)bits;
	for (uint32_t i = 0; i < 4; i++)
		challenge[AT_SLOT + i] = (uint8_t)(slot >> 8 * i);
	seal(challenge + AT_HASH, challenge, key, client);
}

enum proof_fault proof_check(const uint8_t key[PROOF_KEY_BYTES], const struct proof_client *client,
	const uint8_t *challenge, size_t bytes, uint64_t number, uint64_t now_ns)
{
	uint8_t sealed[HASH_BYTES], input[SW_PROOF_INPUT_BYTES], hash[SW_PROOF_HASH_BYTES];
	uint32_t slot = 0;

	if (bytes != SW_PROOF_CHALLENGE_BYTES)
		return PROOF_FAULT_MALFORMED;
	for (uint32_t i = 0; i < 4; i++)
		slot |= (uint32_t)challenge[AT_SLOT + i] << 8 * i;
	if (slot_of(now_ns) - slot > 1) /* wraps for one to come */
		return PROOF_FAULT_STALE;
	/* Before the work is looked at: bits are what we asked for. */
	seal(sealed, challenge, key, client);
	if (sodium_memcmp(sealed, challenge + AT_HASH, HASH_BYTES))
		return PROOF_FAULT_FOREIGN;
	sw_proof_input(input, challenge, number);
	crypto_hash_sha256(hash, input, sizeof(input));
	return sw_proof_good(hash, challenge[AT_BITS]) ? PROOF_FAULT_NONE : PROOF_FAULT_WRONG;
}
