#include "control/admission/ticket.h"

#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "common/check.h"
#include "control/admission/pb_arena.h"
#include "control/admission/utf8.h"
#include "proto/client.pb-c.h"

#define CONTEXT       "stormweir-ticket-1"
#define CONTEXT_BYTES (sizeof(CONTEXT) - 1)

_Static_assert(TICKET_SECRET_KEY_BYTES == crypto_sign_SECRETKEYBYTES, "libsodium's secret key");
_Static_assert(sizeof(((struct config_ticket_key *)0)->public_key) == crypto_sign_PUBLICKEYBYTES,
	"libsodium's public key");

static const struct {
	const char *name, *meaning;
	enum sw_disconnect_reason reason;
} faults[TICKET_FAULT_COUNT] = {
#define FAULT(id, name, reason, meaning) {name, meaning, SW_REASON_##reason},
	TICKET_FAULTS(FAULT)
#undef FAULT
};

const char *ticket_fault_name(enum ticket_fault fault)
{
	return faults[fault].name;
}

const char *ticket_fault_meaning(enum ticket_fault fault)
{
	return faults[fault].meaning;
}

enum sw_disconnect_reason ticket_fault_reason(enum ticket_fault fault)
{
	return faults[fault].reason;
}

int ticket_init(void)
{
	return sodium_init() < 0 ? -EIO : 0;
}

static const uint8_t *key_find(
	const struct config_ticket_key *keys, uint32_t key_count, uint32_t id)
{
	for (uint32_t i = 0; i < key_count; i++)
		if (keys[i].id == id)
			return keys[i].public_key;
	return NULL;
}

static bool signature_good(
	const uint8_t *signature, const uint8_t *body, size_t bytes, const uint8_t *public_key)
{
	uint8_t text[CONTEXT_BYTES + TICKET_BYTES_MAX];

	memcpy(text, CONTEXT, CONTEXT_BYTES);
	memcpy(text + CONTEXT_BYTES, body, bytes);
	return !crypto_sign_verify_detached(signature, text, CONTEXT_BYTES + bytes, public_key);
}

static bool id_good(uint64_t id)
{
	return id > 0 && id <= INT64_MAX;
}

static enum ticket_fault body_check(
	struct ticket *ticket, const Sw__Ticket *body, uint32_t realm_id, uint64_t wall_s)
{
	size_t name_bytes = strlen(body->character_name);

	if (body->nonce.len != TICKET_NONCE_BYTES)
		return TICKET_FAULT_NONCE;
	if (!id_good(body->account_id) || !id_good(body->character_id))
		return TICKET_FAULT_ID;
	if (!name_bytes || name_bytes >= sizeof(ticket->name) ||
		!utf8_is_text(body->character_name, name_bytes))
		return TICKET_FAULT_NAME;
	ticket->account_id = body->account_id;
	ticket->character_id = body->character_id;
	ticket->issued_unix_s = body->issued_unix_s;
	ticket->expires_unix_s = body->expires_unix_s;
	ticket->realm_id = body->realm_id;
	memcpy(ticket->nonce, body->nonce.data, TICKET_NONCE_BYTES);
	memcpy(ticket->name, body->character_name, name_bytes);
	if (body->expires_unix_s < body->issued_unix_s ||
		body->expires_unix_s - body->issued_unix_s > TICKET_LIFETIME_MAX_S)
		return TICKET_FAULT_LIFETIME;
	/* Subtractions that cannot wrap: the numbers are the ticket's, and may be anything. */
	if (wall_s > body->expires_unix_s && wall_s - body->expires_unix_s > TICKET_SKEW_S)
		return TICKET_FAULT_EXPIRED;
	if (body->issued_unix_s > wall_s && body->issued_unix_s - wall_s > TICKET_SKEW_S)
		return TICKET_FAULT_EARLY;
	if (body->realm_id != realm_id)
		return TICKET_FAULT_REALM;
	return TICKET_FAULT_NONE;
}

/* What is outside of the body, and the key that its signature has to match. */
static enum ticket_fault outer_read(Sw__SignedTicket **out, struct pb_arena *arena,
	const uint8_t **public_key, const uint8_t *data, size_t bytes,
	const struct config_ticket_key *keys, uint32_t key_count)
{
	Sw__SignedTicket *outer;

	if (!bytes || bytes > TICKET_BYTES_MAX)
		return TICKET_FAULT_LENGTH;
	*out = outer = sw__signed_ticket__unpack(pb_arena_init(arena), bytes, data);
	if (!outer || outer->signature.len != crypto_sign_BYTES || !outer->body.len ||
		outer->body.len > TICKET_BYTES_MAX)
		return TICKET_FAULT_UNREADABLE;
	*public_key = key_find(keys, key_count, outer->key_id);
	return *public_key ? TICKET_FAULT_NONE : TICKET_FAULT_UNKNOWN_KEY;
}

enum ticket_fault ticket_outline(
	const uint8_t *data, size_t bytes, const struct config_ticket_key *keys, uint32_t key_count)
{
	const uint8_t *public_key;
	Sw__SignedTicket *outer;
	struct pb_arena arena;

	return outer_read(&outer, &arena, &public_key, data, bytes, keys, key_count);
}

enum ticket_fault ticket_check(struct ticket *ticket, const uint8_t *data, size_t bytes,
	const struct config_ticket_key *keys, uint32_t key_count, uint32_t realm_id,
	uint64_t wall_s)
{
	struct pb_arena arena, body_arena;
	const uint8_t *public_key;
	Sw__SignedTicket *outer;
	enum ticket_fault fault;
	Sw__Ticket *body;

	memset(ticket, 0, sizeof(*ticket));
	fault = outer_read(&outer, &arena, &public_key, data, bytes, keys, key_count);
	if (fault != TICKET_FAULT_NONE)
		return fault;
	if (!signature_good(outer->signature.data, outer->body.data, outer->body.len, public_key))
		return TICKET_FAULT_FORGED;
	body = sw__ticket__unpack(pb_arena_init(&body_arena), outer->body.len, outer->body.data);
	if (!body)
		return TICKET_FAULT_BODY;
	return body_check(ticket, body, realm_id, wall_s);
}

size_t ticket_sign(uint8_t out[TICKET_BYTES_MAX], const struct ticket *ticket, uint32_t key_id,
	const uint8_t secret_key[TICKET_SECRET_KEY_BYTES])
{
	uint8_t text[CONTEXT_BYTES + 256], signature[crypto_sign_BYTES];
	Sw__SignedTicket outer = SW__SIGNED_TICKET__INIT;
	Sw__Ticket body = SW__TICKET__INIT;
	size_t body_bytes;

	body.realm_id = ticket->realm_id;
	body.account_id = ticket->account_id;
	body.character_id = ticket->character_id;
	body.character_name = (char *)(uintptr_t)ticket->name;
	body.issued_unix_s = ticket->issued_unix_s;
	body.expires_unix_s = ticket->expires_unix_s;
	body.nonce.data = (uint8_t *)(uintptr_t)ticket->nonce;
	body.nonce.len = TICKET_NONCE_BYTES;
	CHECK(CONTEXT_BYTES + sw__ticket__get_packed_size(&body) <= sizeof(text));
	memcpy(text, CONTEXT, CONTEXT_BYTES);
	body_bytes = sw__ticket__pack(&body, text + CONTEXT_BYTES);
	crypto_sign_detached(signature, NULL, text, CONTEXT_BYTES + body_bytes, secret_key);

	outer.body.data = text + CONTEXT_BYTES;
	outer.body.len = body_bytes;
	outer.signature.data = signature;
	outer.signature.len = sizeof(signature);
	outer.key_id = key_id;
	CHECK(sw__signed_ticket__get_packed_size(&outer) <= TICKET_BYTES_MAX);
	return sw__signed_ticket__pack(&outer, out);
}
