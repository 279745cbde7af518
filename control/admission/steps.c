/* The steps that a session is taken through, and how it ends. */
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/admission/admission_internal.h"

static const enum sw_disconnect_reason refusal_reasons[ADM_COUNTER_COUNT] = {
#define REASON(id, name, reason, help) [ADM_C_REFUSED_##id] = SW_REASON_##reason,
	ADM_REFUSALS(REASON)
#undef REASON
#define REASON(id, name, reason, help) [ADM_C_TICKET_##id] = SW_REASON_##reason,
		TICKET_FAULTS(REASON)
#undef REASON
#define REASON(id, name, reason, help) [ADM_C_PASS_##id] = SW_REASON_##reason,
			PASS_FAULTS(REASON)
#undef REASON
#define REASON(id, name, reason, help) [ADM_C_PROOF_##id] = SW_REASON_##reason,
				PROOF_FAULTS(REASON)
#undef REASON
};

void adm_count(struct adm *adm, enum adm_counter counter)
{
	counter_add(&adm->counters[counter], 1);
}

/* ---- what is sent ---- */

void adm_send_bytes(struct adm *adm, uint64_t peer, const uint8_t *data, size_t bytes)
{
	struct msg message[1 + REPLY_BYTES_MAX / MSG_SLOT_BYTES + 1];

	memcpy(msg_begin(message, MSG_PEER_SEND, peer, (uint32_t)bytes), data, bytes);
	message->channel = SW_CHANNEL_SESSION;
	message->flags = MSG_SEND_RELIABLE;
	adm->ops.to_dataplane(adm->ops.ctx, handle_owner(peer), message);
}

void adm_send_disconnect(
	struct adm *adm, uint64_t peer, enum msg_disconnect_mode mode, uint32_t reason)
{
	const struct msg_peer_disconnect body = {mode, reason};
	struct msg message;

	memcpy(msg_begin(&message, MSG_PEER_DISCONNECT, peer, sizeof(body)), &body, sizeof(body));
	adm->ops.to_dataplane(adm->ops.ctx, handle_owner(peer), &message);
}

void adm_send_refusal(struct adm *adm, uint64_t peer, uint32_t reason, uint32_t retry_ms)
{
	uint8_t data[REPLY_BYTES_MAX];

	adm_send_bytes(adm, peer, data, reply_refused(data, reason, retry_ms));
	adm_send_disconnect(adm, peer, MSG_DISCONNECT_LATER, reason);
}

static void send_remove(struct adm *adm, const struct session *session, uint32_t reason)
{
	const struct msg_player_remove body = {
		.session = session_handle(session), .reason = reason};
	struct msg message;

	memcpy(msg_begin(&message, MSG_PLAYER_REMOVE, session->peer, sizeof(body)), &body,
		sizeof(body));
	message.subject = body.session;
	adm->ops.to_shard(adm->ops.ctx, session->shard, &message);
}

/* ---- places, and who has a character ---- */

void adm_place_take(struct adm *adm, struct session *session)
{
	if (!session->place)
		adm->places++;
	session->place = true;
}

static void place_give(struct adm *adm, struct session *session)
{
	if (session->place)
		adm->places--;
	session->place = false;
}

static void seek(struct adm *adm, struct session *session, uint64_t now_ns)
{
	bool in_any_case = now_ns - session->since_ns >= ADM_SEEK_FORCE_MS * NS_PER_MS;

	session->seek_ns = UINT64_MAX;
	if (adm->ops.seek(adm->ops.ctx, session_handle(session), session->ticket.character_id,
		    session->epoch_max, in_any_case))
		adm_refuse(adm, session, ADM_C_REFUSED_REDIS_AWAY, 0, now_ns);
	else
		session->forced = in_any_case;
}

void adm_load(struct adm *adm, struct session *session, uint64_t now_ns)
{
	session->holder = true;
	CHECK(map64_put(&adm->table.by_character, session->ticket.character_id, session->index));
	session_move(&adm->table, session, SESSION_SEEKING, now_ns);
	seek(adm, session, now_ns);
}

static void send_load(struct adm *adm, struct session *session, uint64_t now_ns)
{
	struct msg_character_load body = {.session = session_handle(session),
		.account_id = session->ticket.account_id,
		.character_id = session->ticket.character_id,
		.realm_id = session->ticket.realm_id,
		.epoch_max = session->epoch_max};
	struct msg message[BODY_SLOTS];

	memcpy(body.name, session->ticket.name, sizeof(body.name));
	session_move(&adm->table, session, SESSION_LOADING, now_ns);
	memcpy(msg_begin(message, MSG_CHARACTER_LOAD, session->peer, sizeof(body)), &body,
		sizeof(body));
	message->subject = body.session;
	adm->ops.to_world(adm->ops.ctx, message);
}

bool adm_sought(struct adm *adm, uint64_t handle, enum adm_sought said, uint64_t now_ns)
{
	struct session *session = session_by_handle(&adm->table, handle);

	if (!session || session->state != SESSION_SEEKING) {
		adm_count(adm, ADM_C_STALE);
		return false;
	}
	if (said == ADM_SOUGHT_OURS) {
		session->reserved = true;
		if (session->forced)
			adm_count(adm, ADM_C_FORCED);
		send_load(adm, session, now_ns);
	} else if (said == ADM_SOUGHT_NEWER) {
		adm_refuse(adm, session, ADM_C_REFUSED_PASS_STALE, 0, now_ns);
	} else if (said == ADM_SOUGHT_HELD) {
		if (!session->elsewhere)
			adm_count(adm, ADM_C_ELSEWHERE);
		session->elsewhere = true;
		session->seek_ns = now_ns + ADM_SEEK_AGAIN_MS * NS_PER_MS;
	} else {
		/* The use of the ticket cannot be given back either. */
		adm_refuse(adm, session, ADM_C_REFUSED_SEEK_UNKNOWN, 0, now_ns);
	}
	adm_gauges(adm);
	return true;
}

void adm_seek_waiting(struct adm *adm, uint64_t now_ns)
{
	struct session *session = session_oldest(&adm->table, SESSION_SEEKING), *next;

	for (; session; session = next) {
		next = session_at(&adm->table, session->next);
		if (now_ns >= session->seek_ns)
			seek(adm, session, now_ns);
	}
}

bool adm_oust(struct adm *adm, uint64_t handle, uint64_t character_id, uint64_t now_ns)
{
	struct session *session = session_by_handle(&adm->table, handle);

	if (!session || session->ticket.character_id != character_id || !session->holder)
		return false;
	switch (session->state) {
	case SESSION_SEEKING:
	case SESSION_LOADING:
	case SESSION_PLACING:
		adm_count(adm, ADM_C_OUSTED);
		adm_refuse(adm, session, ADM_C_REFUSED_REPLACED, 0, now_ns);
		break;
	case SESSION_JOINING:
	case SESSION_IN:
		adm_count(adm, ADM_C_OUSTED);
		adm_leave(adm, session, SW_REASON_REPLACED, now_ns);
		break;
	default:
		break; /* it goes already */
	}
	adm_gauges(adm);
	return true;
}

/* The session's character is free; whoever waited for it goes on. */
static void holder_drop(struct adm *adm, struct session *session, uint64_t now_ns)
{
	struct session *waiter = session_at(&adm->table, session->waiter);

	CHECK(session->holder);
	session->holder = false;
	session->waiter = SESSION_NONE;
	map64_remove(&adm->table.by_character, session->ticket.character_id);
	place_give(adm, session);
	if (!waiter)
		return;
	waiter->waits_for = SESSION_NONE;
	adm_place_take(adm, waiter); /* the one that has just become free */
	adm_load(adm, waiter, now_ns);
}

static void waiter_drop(struct adm *adm, struct session *session)
{
	struct session *holder = session_at(&adm->table, session->waits_for);

	if (holder)
		holder->waiter = SESSION_NONE;
	session->waits_for = SESSION_NONE;
}

/* Nonces are drawn at random, or hashes: half of one is a name. */
static uint64_t claim_name(const struct session *session)
{
	uint64_t name;

	memcpy(&name, session->ticket.nonce, sizeof(name));
	return name ? name : 1;
}

void adm_claim_take(struct adm *adm, struct session *session, uint64_t claimer)
{
	session->claimed = true;
	session->claimer = claimer;
	CHECK(map64_put(&adm->table.by_claim, claim_name(session), session->index));
}

void adm_claim_done(struct adm *adm, struct session *session)
{
	if (session->claimed &&
		map64_get(&adm->table.by_claim, claim_name(session)) == session->index)
		map64_remove(&adm->table.by_claim, claim_name(session));
	session->claimed = false;
}

struct session *adm_claimer(struct adm *adm, const struct session *session)
{
	struct session *other =
		session_at(&adm->table, map64_get(&adm->table.by_claim, claim_name(session)));

	return other && other->ticket.character_id == session->ticket.character_id &&
			       other->ticket.account_id == session->ticket.account_id &&
			       !memcmp(other->ticket.nonce, session->ticket.nonce,
				       TICKET_NONCE_BYTES)
		       ? other
		       : NULL;
}

void adm_release(struct adm *adm, struct session *session)
{
	if (!session->claimed)
		return;
	adm_claim_done(adm, session);
	adm_count(adm, ADM_C_RELEASES);
	adm->ops.release(adm->ops.ctx, session->claimer, session->ticket.nonce);
}

/* ---- how a session ends ---- */

static void vacate(struct adm *adm, struct session *session)
{
	const struct adm_presence was = adm_presence_of(session);

	if (session->reserved)
		adm->ops.vacated(adm->ops.ctx, &was, session->admitted);
	session->reserved = false;
}

void adm_end(struct adm *adm, struct session *session, uint32_t reason, uint64_t now_ns)
{
	adm_identify_drop(adm, session);
	/* Who has gone, or is sent away by a stop, may come back to its place. */
	if (session->state == SESSION_QUEUED || session->state == SESSION_SENT)
		adm->ops.unqueue(adm->ops.ctx, session_handle(session),
			session->peer_gone || adm->stopping || session->superseded);
	adm_claim_done(adm, session);
	waiter_drop(adm, session);
	adm_journey_end(adm, session);
	adm_instance_leave(adm, session);
	adm_depart(adm, session);
	vacate(adm, session);
	if (session->holder)
		holder_drop(adm, session, now_ns);
	place_give(adm, session);
	if (session->peer_gone) {
		session_free(&adm->table, session);
		return;
	}
	session->end_reason = reason;
	session_move(&adm->table, session, SESSION_ENDED, now_ns);
}

void adm_refuse_as(struct adm *adm, struct session *session, enum adm_counter counter,
	uint32_t reason, uint32_t retry_ms, uint64_t now_ns)
{
	adm_count(adm, counter);
	if (session->stay) /* it has played with its ticket */
		retry_ms = 0;
	if (retry_ms)
		adm_release(adm, session);
	/* Loaded, and its old pass too old. */
	if (retry_ms && session->epoch && !session->admitted && !session->peer_gone)
		adm_pass_give(adm, session, now_ns);
	if (!session->peer_gone)
		adm_send_refusal(adm, session->peer, reason, retry_ms);
	adm_end(adm, session, reason, now_ns);
}

void adm_refuse(struct adm *adm, struct session *session, enum adm_counter counter,
	uint32_t retry_ms, uint64_t now_ns)
{
	adm_refuse_as(adm, session, counter, refusal_reasons[counter], retry_ms, now_ns);
}

struct adm_presence adm_presence_of(const struct session *session)
{
	return (struct adm_presence){
		session_handle(session), session->ticket.character_id, session->epoch};
}

bool adm_seat_of(const struct adm *adm, uint64_t character_id, struct adm_seat *out)
{
	const struct session *session =
		session_by_character((struct session_table *)&adm->table, character_id);

	if (!session || (session->state != SESSION_JOINING && session->state != SESSION_IN))
		return false;
	*out = (struct adm_seat){.session = session_handle(session),
		.peer = session->peer,
		.generation = session->epoch,
		.shard = session->shard};
	memcpy(out->name, session->name, sizeof(out->name));
	return true;
}

void adm_depart(struct adm *adm, struct session *session)
{
	struct adm_presence was = adm_presence_of(session);

	if (session->present)
		adm->ops.departed(adm->ops.ctx, &was);
	session->present = false;
}

void adm_leave(struct adm *adm, struct session *session, uint32_t reason, uint64_t now_ns)
{
	adm_journey_end(adm, session);
	adm_depart(adm, session);
	session->end_reason = reason;
	session_move(&adm->table, session, SESSION_LEAVING, now_ns);
	send_remove(adm, session, reason);
}
