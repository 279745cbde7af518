#include "client/proof.h"

#include <sodium.h>

_Static_assert(SW_PROOF_HASH_BYTES == crypto_hash_sha256_BYTES, "SHA-256");

void swc_proof_begin(
	struct swc_proof *proof, const uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint32_t bits)
{
	*proof = (struct swc_proof){.wanted = true, .bits = bits};
	memcpy(proof->challenge, challenge, SW_PROOF_CHALLENGE_BYTES);
}

bool swc_proof_step(struct swc_proof *proof, uint32_t hashes)
{
	uint8_t input[SW_PROOF_INPUT_BYTES], hash[SW_PROOF_HASH_BYTES];

	for (; proof->wanted && hashes; hashes--) {
		sw_proof_input(input, proof->challenge, proof->number);
		crypto_hash_sha256(hash, input, sizeof(input));
		if (sw_proof_good(hash, proof->bits)) {
			proof->wanted = false;
			return true;
		}
		proof->number++;
	}
	return false;
}
