/* ticket: the signed login ticket. The login service (in development, swctl ticket) makes one; the
 * client carries it unread; admission checks it.
 *
 * On the wire a SignedTicket of proto/client.proto: the body is a Ticket, signed with Ed25519 over
 * "stormweir-ticket-1" followed by the body's bytes, so that a signature for another purpose is
 * never a ticket. Single use is not checked here: it needs Redis (admission.h). */
#ifndef SW_CONTROL_ADMISSION_TICKET_H
#define SW_CONTROL_ADMISSION_TICKET_H

#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "common/msg.h"
#include "proto/message_types.h"

#define TICKET_BYTES_MAX        512u /* of a SignedTicket */
#define TICKET_NONCE_BYTES      16u
#define TICKET_SECRET_KEY_BYTES 64u /* libsodium's: seed and public key */
/* How far the clocks of login service and node may be apart. */
#define TICKET_SKEW_S 30u
/* Longest from issue to expiry: the nonce is remembered in Redis for so long. */
#define TICKET_LIFETIME_MAX_S (30u * 86400u)

struct ticket {
	uint64_t account_id, character_id; /* 1..2^63-1 */
	uint64_t issued_unix_s, expires_unix_s;
	uint32_t realm_id;
	uint8_t nonce[TICKET_NONCE_BYTES];
	char name[CHARACTER_NAME_BYTES];
};

/* What is wrong with a ticket, in the order of the checks, cheapest first; nothing inside the body
 * is looked at before the signature holds. X(id, name, reason for the client, meaning) */
// clang-format off
#define TICKET_FAULTS(X)                                                                           \
	X(NONE, "none", NONE, "the ticket is good")                                                \
	X(LENGTH, "ticket_length", TICKET_MALFORMED, "empty, or longer than 512 bytes")            \
	X(UNREADABLE, "ticket_unreadable", TICKET_MALFORMED, "not a SignedTicket with a 64-byte signature") \
	X(UNKNOWN_KEY, "ticket_unknown_key", TICKET_FORGED, "signed with a key that is not configured") \
	X(FORGED, "ticket_forged", TICKET_FORGED, "the signature does not match")                  \
	X(BODY, "ticket_body", TICKET_MALFORMED, "well signed, but the body is not a Ticket")      \
	X(NONCE, "ticket_nonce", TICKET_MALFORMED, "the nonce is not 16 bytes")                    \
	X(ID, "ticket_id", TICKET_MALFORMED, "account or character is 0 or above 2^63-1")          \
	X(NAME, "ticket_name", TICKET_MALFORMED, "the name is empty, too long or not UTF-8 text")  \
	X(LIFETIME, "ticket_lifetime", TICKET_MALFORMED, "expires before it is issued, or more than 30 days after") \
	X(EXPIRED, "ticket_expired", TICKET_EXPIRED, "expired; if it is new, check the clocks")    \
	X(EARLY, "ticket_early", TICKET_EXPIRED, "issued in the future; check the clocks")         \
	X(REALM, "ticket_realm", TICKET_WRONG_REALM, "for another realm")
// clang-format on

#define TICKET_FAULT_ENUM(id, name, reason, meaning) TICKET_FAULT_##id,
enum ticket_fault { TICKET_FAULTS(TICKET_FAULT_ENUM) TICKET_FAULT_COUNT };

const char *ticket_fault_name(enum ticket_fault fault);
const char *ticket_fault_meaning(enum ticket_fault fault);
enum sw_disconnect_reason ticket_fault_reason(enum ticket_fault fault);

/* Call once per process, before anything else here. Returns 0, or -EIO when libsodium finds no
 * source of randomness. */
int ticket_init(void);

/* Checks bytes from a client, at the time wall_s (Unix seconds), and fills *ticket (always: zeroes
 * where a fault came first). Any thread; allocates nothing; about 65 us for the signature. */
enum ticket_fault ticket_check(struct ticket *ticket, const uint8_t *data, size_t bytes,
	const struct config_ticket_key *keys, uint32_t key_count, uint32_t realm_id,
	uint64_t wall_s);

/* The checks before the signature, for who lets it wait for that: NONE, LENGTH, UNREADABLE or
 * UNKNOWN_KEY. Any thread; about 0.3 us. */
enum ticket_fault ticket_outline(const uint8_t *data, size_t bytes,
	const struct config_ticket_key *keys, uint32_t key_count);

/* Signs. Any thread. The nonce comes with the ticket: draw it at random. Returns the bytes written
 * to out[TICKET_BYTES_MAX]. */
size_t ticket_sign(uint8_t out[TICKET_BYTES_MAX], const struct ticket *ticket, uint32_t key_id,
	const uint8_t secret_key[TICKET_SECRET_KEY_BYTES]);

#endif
