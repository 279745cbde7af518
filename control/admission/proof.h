/* proof: the challenge that a client under pressure has to answer with work (proto/proof.h), and
 * the check of its answer. The server keeps nothing of it: a challenge is
 *
 *   bits (1 byte), three 0, time slot (4 bytes, little-endian), keyed hash (16 bytes)
 *
 * where the hash, BLAKE2b with a key drawn at start, is over bits, slot, the client's address and
 * the dataplane's handle of its peer. So an answer is good for this one connection, for the
 * difficulty that was asked of it, and for at most two slots.
 *
 * Pure; any thread; no allocation. Asking costs about 0.3 us, checking about 0.7 us. */
#ifndef SW_CONTROL_ADMISSION_PROOF_H
#define SW_CONTROL_ADMISSION_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include "proto/message_types.h"
#include "proto/proof.h"

#define PROOF_KEY_BYTES 32u
/* How long a challenge is good: from one slot, until the next one ends. */
#define PROOF_SLOT_MS 16000u

/* What is wrong with an answer, in the order of the checks, cheapest first. X(id, name, reason for
 * the client, help) */
#define PROOF_FAULTS(X)                                                                            \
	X(MALFORMED, "proof_malformed", PROOF_WRONG, "not the bytes of a challenge")               \
	X(STALE, "proof_stale", PROOF_WRONG, "of a time slot that is over, or has not begun")      \
	X(FOREIGN, "proof_foreign", PROOF_WRONG, "a challenge that this connection was not given") \
	X(WRONG, "proof_wrong", PROOF_WRONG, "the hash has not as many 0 bits as were asked for")

#define PROOF_FAULT_ENUM(id, name, reason, help) PROOF_FAULT_##id,
enum proof_fault { PROOF_FAULT_NONE, PROOF_FAULTS(PROOF_FAULT_ENUM) PROOF_FAULT_COUNT };

/* Who is asked. */
struct proof_client {
	const uint8_t *ip; /* [16] */
	uint64_t peer;
};

void proof_ask(uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], const uint8_t key[PROOF_KEY_BYTES],
	const struct proof_client *client, uint32_t bits, uint64_t now_ns);

enum proof_fault proof_check(const uint8_t key[PROOF_KEY_BYTES], const struct proof_client *client,
	const uint8_t *challenge, size_t bytes, uint64_t number, uint64_t now_ns);

#endif
