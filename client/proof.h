/* proof.h: the work that a server under pressure asks for (docs/protocol.md, "Under pressure"), in
 * small steps, so that a game's frame does not wait for it. Pure; one thread. */
#ifndef SWC_PROOF_H
#define SWC_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/proof.h"

struct swc_proof {
	bool wanted; /* there is work to do */
	uint32_t bits;
	uint64_t number; /* the next to try; the one that is good */
	uint8_t challenge[SW_PROOF_CHALLENGE_BYTES];
};

/* bits: 1 to SW_PROOF_BITS_MAX. */
void swc_proof_begin(
	struct swc_proof *proof, const uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint32_t bits);

/* Tries so many numbers more, some 0.35 us each. Returns true when one is good: then the work is
 * done. */
bool swc_proof_step(struct swc_proof *proof, uint32_t hashes);

#endif
