/* proof.h: the proof of work that a server asks for while it is under pressure (docs/protocol.md,
 * "Under pressure"): what is hashed, and when a hash is good. Shared by server, client library and
 * tests; needs an SHA-256 from whoever uses it. Pure. */
#ifndef SW_PROTO_PROOF_H
#define SW_PROTO_PROOF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SW_PROOF_CONTEXT         "stormweir-proof-1"
#define SW_PROOF_CONTEXT_BYTES   17u
#define SW_PROOF_CHALLENGE_BYTES 24u
#define SW_PROOF_HASH_BYTES      32u
/* One block of SHA-256 (at most 55 bytes). */
#define SW_PROOF_INPUT_BYTES (SW_PROOF_CONTEXT_BYTES + SW_PROOF_CHALLENGE_BYTES + 8u)
/* More is never asked for: about 17 million hashes. */
#define SW_PROOF_BITS_MAX 24u

_Static_assert(sizeof(SW_PROOF_CONTEXT) - 1 == SW_PROOF_CONTEXT_BYTES, "without its NUL");
_Static_assert(SW_PROOF_INPUT_BYTES <= 55, "one block");

/* What is hashed for a number. */
static inline void sw_proof_input(uint8_t out[SW_PROOF_INPUT_BYTES],
	const uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint64_t number)
{
	uint8_t *at = out + SW_PROOF_CONTEXT_BYTES + SW_PROOF_CHALLENGE_BYTES;

	memcpy(out, SW_PROOF_CONTEXT, SW_PROOF_CONTEXT_BYTES);
	memcpy(out + SW_PROOF_CONTEXT_BYTES, challenge, SW_PROOF_CHALLENGE_BYTES);
	for (uint32_t i = 0; i < 8; i++)
		at[i] = (uint8_t)(number >> 8 * i);
}

/* Whether a hash begins with so many 0 bits, the high ones of each byte first. */
static inline bool sw_proof_good(const uint8_t hash[SW_PROOF_HASH_BYTES], uint32_t bits)
{
	uint32_t bytes = bits / 8;

	if (bits > 8 * SW_PROOF_HASH_BYTES)
		return false;
	for (uint32_t i = 0; i < bytes; i++)
		if (hash[i])
			return false;
	return bits % 8 == 0 || hash[bytes] >> (8 - bits % 8) == 0;
}

#endif
