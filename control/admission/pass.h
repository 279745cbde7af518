/* pass: what a node of the cluster has written down for a client to carry and show again, and any
 * node of it believes, because only they have the key. Three purposes, of which none stands for
 * another:
 *
 *   RETURN     a player whose connection broke comes back within the grace, instead of with a new
 *              signed ticket: under a microsecond, where a signature takes some 65
 *   PLACE      the place of one who waits in the queue (lane, seq), kept across a reconnect, and
 *              what the queue is rebuilt from when Redis has lost it
 *   HANDOVER   admitted by one node and sent to another one, whose name it bears (node, lease)
 *
 * Bytes that are opaque to clients: the fields in a fixed order, little-endian, and BLAKE2b over
 * them, 16 bytes, keyed with one of the cluster's pass keys and with its personal parameter set
 * "stormweir-pass-1", so that no other keyed hash of ours is ever a pass. Whatever is not exactly
 * what pass_seal wrote is refused.
 *
 * What a pass does not say: whether it was shown before. Who takes one that is good once alone has
 * its nonce claimed in Redis, as a ticket's is (admission.h).
 *
 * Pure; any thread; no allocation. The clock is an argument, and so is chance, where a nonce is
 * drawn. Sources: RFC 7693 (BLAKE2b); libsodium's crypto_generichash. */
#ifndef SW_CONTROL_ADMISSION_PASS_H
#define SW_CONTROL_ADMISSION_PASS_H

#include <stddef.h>
#include <stdint.h>

#include "common/msg.h"
#include "proto/message_types.h"

#define PASS_BYTES_MAX   192u /* of a sealed one */
#define PASS_NONCE_BYTES 16u
#define PASS_NODE_BYTES  64u /* with the ending NUL: node.name */
#define PASS_KEY_BYTES   32u
#define PASS_KEYS_MAX    2u

/* X(id, value on the wire, name) */
#define PASS_PURPOSES(X)                                                                           \
	X(RETURN, 1, "return")                                                                     \
	X(PLACE, 2, "place")                                                                       \
	X(HANDOVER, 3, "handover")

#define PASS_PURPOSE_ENUM(id, value, name) PASS_##id = value,
enum pass_purpose { PASS_PURPOSES(PASS_PURPOSE_ENUM) };

/* What a purpose does not need stays 0. */
struct pass {
	enum pass_purpose purpose;
	uint8_t lane;
	uint32_t realm_id;
	uint64_t account_id, character_id; /* as in a ticket: 1..2^63-1 */
	uint64_t seq;                      /* PLACE: the place; HANDOVER: the lease */
	/* RETURN: the character's writer epoch when it was given; HANDOVER: the same of the RETURN
	 * pass that its bearer came with, 0: it came with a ticket; PLACE: the epoch of the queue. */
	uint64_t generation;
	uint64_t expires_unix_s; /* good until then, inclusive */
	uint8_t nonce[PASS_NONCE_BYTES];
	char name[CHARACTER_NAME_BYTES]; /* the character's */
	char node[PASS_NODE_BYTES];      /* that gave it; HANDOVER: that it is for */
};

struct pass_key {
	uint32_t id;
	uint8_t secret[PASS_KEY_BYTES];
};

/* The first seals, all open: a new key is put first, and the old one is taken out once no pass of
 * it can still be good. Filled by pass_key.h. */
struct pass_keys {
	uint32_t count; /* 1..PASS_KEYS_MAX */
	struct pass_key keys[PASS_KEYS_MAX];
};

/* What is wrong with a pass, in the order of the checks; nothing but length and key number is
 * looked at before the hash holds. X(id, name, reason for the client, meaning) */
// clang-format off
#define PASS_FAULTS(X)                                                                             \
	X(LENGTH, "pass_length", PASS_REFUSED, "shorter or longer than a pass can be")             \
	X(UNKNOWN_KEY, "pass_unknown_key", PASS_REFUSED, "sealed with a key that is not in the key file") \
	X(FORGED, "pass_forged", PASS_REFUSED, "the keyed hash does not match")                    \
	X(LAYOUT, "pass_layout", PASS_REFUSED, "well sealed, but not as this version lays it out") \
	X(PURPOSE, "pass_purpose", PASS_REFUSED, "a pass for another purpose")                     \
	X(EXPIRED, "pass_expired", PASS_REFUSED, "expired")                                        \
	X(REALM, "pass_realm", PASS_REFUSED, "for another realm")                                  \
	X(NODE, "pass_node", PASS_REFUSED, "for another node")
// clang-format on

#define PASS_FAULT_ENUM(id, name, reason, meaning) PASS_FAULT_##id,
enum pass_fault { PASS_FAULT_NONE, PASS_FAULTS(PASS_FAULT_ENUM) PASS_FAULT_COUNT };

const char *pass_purpose_name(enum pass_purpose purpose);
const char *pass_fault_name(enum pass_fault fault);
const char *pass_fault_meaning(enum pass_fault fault);
enum sw_disconnect_reason pass_fault_reason(enum pass_fault fault);

/* Returns the bytes written. The purpose must be one of them, and name and node end with a NUL:
 * CHECKed, they are ours. */
size_t pass_seal(
	uint8_t out[PASS_BYTES_MAX], const struct pass *pass, const struct pass_keys *keys);

/* What a pass has to be for. */
struct pass_wanted {
	enum pass_purpose purpose;
	uint32_t realm_id;
	const char *node; /* this one: a HANDOVER has to be for it */
	uint64_t wall_s;  /* Unix seconds */
};

/* Checks bytes from a client and fills *pass (always: zeroes where they are not good). Compares in
 * constant time. */
enum pass_fault pass_open(struct pass *pass, const uint8_t *data, size_t bytes,
	const struct pass_keys *keys, const struct pass_wanted *wanted);

/* The nonce of a RETURN pass: the same for all that are given under one generation of a character,
 * so that one use is all they have. */
void pass_return_nonce(uint8_t out[PASS_NONCE_BYTES], uint32_t realm_id, uint64_t character_id,
	uint64_t generation);

/* The nonce of the number-th HANDOVER pass of a process, from 32 bytes that it drew at its start. */
void pass_handover_nonce(
	uint8_t out[PASS_NONCE_BYTES], const uint8_t secret[PASS_KEY_BYTES], uint64_t number);

/* The purpose that bytes claim to have, before anything is checked: 0 when it is none of ours. For
 * whoever takes several kinds in one field; pass_open then wants that one. */
enum pass_purpose pass_peek(const uint8_t *data, size_t bytes);

#endif
