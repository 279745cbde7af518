/* hello: reads what a client sends to the control plane, and writes what it is told.
 * Pure; any thread; no allocation. */
#ifndef SW_CONTROL_ADMISSION_HELLO_H
#define SW_CONTROL_ADMISSION_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/admission/pass.h"
#include "control/admission/pb_arena.h"
#include "control/admission/proof.h"
#include "control/admission/ticket.h"
#include "control/gate/gate.h"

/* A Hello is a version, a ticket, a build, two passes and a solution; more is not read. */
#define HELLO_BYTES_MAX (TICKET_BYTES_MAX + 2 * PASS_BYTES_MAX + 320u)
#define REPLY_BYTES_MAX 256u

/* Messages that no honest client sends. X(id, name, help) */
#define HELLO_FAULTS(X)                                                                            \
	X(NONE, "none", "a Hello")                                                                 \
	X(EMPTY, "empty", "no bytes, not even a type")                                             \
	X(TYPE, "unknown_type", "a type that clients do not send to the control plane")            \
	X(CHANNEL, "wrong_channel", "not on channel 0, reliable")                                  \
	X(OVERSIZE, "oversize", "longer than a Hello can be")                                      \
	X(MALFORMED, "malformed", "not the protobuf of its type")                                  \
	X(UNEXPECTED, "unexpected",                                                                \
		"a second Hello, or a RedirectFailed where there was no Redirect")

#define HELLO_FAULT_ENUM(id, name, help) HELLO_FAULT_##id,
enum hello_fault { HELLO_FAULTS(HELLO_FAULT_ENUM) HELLO_FAULT_COUNT };

struct hello {
	uint32_t protocol_version;
	uint32_t ticket_bytes, pass_bytes, place_bytes, challenge_bytes;
	bool solved;    /* a solution is there: challenge, and the number for it */
	bool redirects; /* it follows a Redirect */
	uint64_t number;
	/* In the message that was read. */
	const uint8_t *ticket, *pass, *place, *challenge;
};

/* data: one message, its type byte first, as it came on channel with flags (MSG_SEND_*). arena:
 * what hello points into. */
enum hello_fault hello_read(struct hello *hello, struct pb_arena *arena, const uint8_t *data,
	size_t bytes, uint8_t channel, uint16_t flags);

/* The same for a RedirectFailed: *reason is the other node's, 0: it did not answer. */
enum hello_fault redirect_failed_read(uint32_t *reason, struct pb_arena *arena, const uint8_t *data,
	size_t bytes, uint8_t channel, uint16_t flags);

/* Each writes the type byte and the protobuf, and returns the bytes. */
size_t reply_refused(
	uint8_t out[REPLY_BYTES_MAX], enum sw_disconnect_reason reason, uint32_t retry_after_ms);
size_t reply_admitted(
	uint8_t out[REPLY_BYTES_MAX], uint64_t character_id, const char *map, const char *node);
size_t reply_challenge(uint8_t out[REPLY_BYTES_MAX],
	const uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint32_t bits, uint32_t good_for_ms);
size_t reply_redirect(
	uint8_t out[REPLY_BYTES_MAX], const char *address, const uint8_t *pass, size_t bytes);
size_t reply_return_pass(
	uint8_t out[REPLY_BYTES_MAX], const uint8_t *pass, size_t bytes, uint32_t good_for_s);

/* place: a sealed pass, or NULL: the one that was given before stands. */
size_t reply_queued(uint8_t out[REPLY_BYTES_MAX], const struct gate_standing *standing,
	const uint8_t *place, size_t bytes);

/* For a person; "unknown" for a number that is no reason. */
const char *reason_text(uint32_t reason);

#endif
