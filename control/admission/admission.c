#include "control/admission/admission.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/admission/admission_internal.h"
#include "control/admission/pass_key.h"

static const struct counter_desc counter_descs[ADM_COUNTER_COUNT] = {
#define COUNTER(id, name, kind, help)   {name, help, kind},
#define REFUSAL(id, name, reason, help) {"refused_" name, help, COUNTER_SUM},
#define MESSAGE(id, name, help)         {"messages_" name, help, COUNTER_SUM},
	ADM_COUNTERS(COUNTER) ADM_REFUSALS(REFUSAL) TICKET_FAULTS(REFUSAL) PASS_FAULTS(REFUSAL)
		PROOF_FAULTS(REFUSAL) HELLO_FAULTS(MESSAGE)
#undef COUNTER
#undef REFUSAL
#undef MESSAGE
};

void adm_gauges(struct adm *adm)
{
	const struct session_list *lists = adm->table.lists;

	counter_put(&adm->counters[ADM_C_SESSIONS], adm->table.max - lists[SESSION_FREE].count);
	counter_put(&adm->counters[ADM_C_PLAYERS], lists[SESSION_IN].count);
	counter_put(&adm->counters[ADM_C_PLACES], adm->places);
	counter_put(&adm->counters[ADM_C_QUEUED], lists[SESSION_QUEUED].count);
	counter_put(&adm->counters[ADM_C_STOPPING], adm->stopping);
}

/* ---- the way in ---- */

static void on_connected(struct adm *adm, const struct msg *message, uint64_t now_ns)
{
	struct msg_peer_connected body;
	struct session *session;

	if (message->payload_bytes != sizeof(body) || handle_owner(message->peer) >= adm->workers ||
		session_by_peer(&adm->table, message->peer)) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	memcpy(&body, msg_payload(message), sizeof(body));
	adm_count(adm, ADM_C_CONNECTS);
	session = session_new(&adm->table, message->peer, now_ns);
	if (!session) {
		adm_count(adm, ADM_C_REFUSED_TABLE_FULL);
		adm_send_refusal(adm, message->peer, SW_REASON_SERVER_FULL, ADM_RETRY_MS);
		return;
	}
	session->payload_bytes_max = body.payload_bytes_max;
	memcpy(session->ip, body.ip, sizeof(session->ip));
	if (adm->stopping)
		adm_refuse(adm, session, ADM_C_REFUSED_STOPPING, 0, now_ns);
}

/* A message that no honest client sends. */
static void strike(
	struct adm *adm, struct session *session, enum hello_fault fault, uint64_t now_ns)
{
	adm_count(adm, ADM_C_MESSAGE_NONE + fault);
	if (++session->strikes <= ADM_STRIKES_MAX)
		return;
	if (session->state != SESSION_JOINING && session->state != SESSION_IN) {
		adm_refuse(adm, session, ADM_C_REFUSED_STRIKES, 0, now_ns);
		return;
	}
	adm_count(adm, ADM_C_REFUSED_STRIKES);
	adm_leave(adm, session, SW_REASON_MALFORMED, now_ns);
}

/* Seconds that Redis has to remember the nonce: as long as the ticket could be shown again. */
static uint64_t nonce_expire_s(const struct ticket *ticket, uint64_t wall_s)
{
	uint64_t until = ticket->expires_unix_s + TICKET_SKEW_S + 1;

	return until > wall_s ? until - wall_s : 1;
}

/* Whether its pass is older than a login that this node knows of: then it is refused. Others are
 * known to the world, which asks the same under the character's lock (msg_character_load.epoch_max).
 */
static bool pass_stale(struct adm *adm, struct session *session, uint64_t now_ns)
{
	const struct session *holder =
		session_by_character(&adm->table, session->ticket.character_id);

	/* epoch_max 0: another node has sent it here, whatever was before. */
	if (!session->returned || !session->epoch_max || !holder)
		return false;
	if (holder->epoch && holder->epoch != session->epoch_max)
		adm_refuse(adm, session, ADM_C_REFUSED_PASS_STALE, 0, now_ns);
	else if (!holder->epoch || holder->waiter != SESSION_NONE)
		/* Under way: it may come to nothing, and then the pass is as good as before. */
		adm_refuse(adm, session, ADM_C_REFUSED_PASS_BUSY, ADM_RETRY_MS, now_ns);
	else
		return false;
	return true;
}

void adm_identified(struct adm *adm, struct session *session, uint64_t now_ns, uint64_t wall_s)
{

	memcpy(session->name, session->ticket.name, sizeof(session->name));
	if (pass_stale(adm, session, now_ns))
		return;
	session_move(&adm->table, session, SESSION_CLAIMING, now_ns);
	if (adm->ops.claim(adm->ops.ctx, session_handle(session), session->ticket.nonce,
		    nonce_expire_s(&session->ticket, wall_s)))
		adm_refuse(adm, session, ADM_C_REFUSED_REDIS_AWAY, ADM_RETRY_MS, now_ns);
}

static void on_packet(struct adm *adm, const struct msg *message, uint64_t now_ns, uint64_t wall_s)
{
	struct session *session = session_by_peer(&adm->table, message->peer);
	enum hello_fault fault;
	struct pb_arena arena;
	struct hello hello;

	if (!session || session->state == SESSION_LEAVING || session->state == SESSION_ENDED) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	if (message->payload_bytes && msg_payload(message)[0] == SW_MSG_REDIRECT_FAILED) {
		fault = adm_redirect_failed(adm, session, message, now_ns);
		if (fault != HELLO_FAULT_NONE)
			strike(adm, session, fault, now_ns);
		adm_gauges(adm);
		return;
	}
	fault = hello_read(&hello, &arena, msg_payload(message), message->payload_bytes,
		message->channel, message->flags);
	if (fault == HELLO_FAULT_NONE && session->state != SESSION_CONNECTED)
		fault = HELLO_FAULT_UNEXPECTED;
	if (fault != HELLO_FAULT_NONE) {
		strike(adm, session, fault, now_ns);
		return;
	}
	adm_count(adm, ADM_C_MESSAGE_NONE);
	adm_identify(adm, session, &hello, now_ns, wall_s);
}

/* NULL: its character has no session here. The world would refuse another account too, but only
 * after the rightful player had been thrown out: false. */
static bool holder_of(
	struct adm *adm, struct session *session, struct session **holder, uint64_t now_ns)
{
	*holder = session_by_character(&adm->table, session->ticket.character_id);
	if (!*holder || (*holder)->ticket.account_id == session->ticket.account_id)
		return true;
	adm_refuse(adm, session, ADM_C_REFUSED_WRONG_ACCOUNT, 0, now_ns);
	return false;
}

/* The ticket is ours. */
static void queue_up(struct adm *adm, struct session *session, uint64_t now_ns)
{
	struct gate_newcomer newcomer = {.session = session_handle(session),
		.character_id = session->ticket.character_id,
		.realm_id = session->ticket.realm_id,
		.lane = GATE_LANE_NORMAL};
	struct session *holder;

	if (!holder_of(adm, session, &holder, now_ns))
		return;
	/* Whoever takes its own character over takes that place too. */
	newcomer.seat = holder != NULL;
	newcomer.stays = session->stays;
	newcomer.sent = session->sent_here;
	if (holder || session->returned)
		newcomer.lane = GATE_LANE_RETURNING;
	if (adm_place_shown(session)) {
		newcomer.seq = session->place_seq;
		newcomer.epoch = session->place_epoch;
		newcomer.place_lane = (enum gate_lane)session->place_lane;
	}
	session_move(&adm->table, session, SESSION_QUEUED, now_ns);
	if (adm->ops.queue(adm->ops.ctx, &newcomer, now_ns))
		adm_refuse(adm, session, ADM_C_REFUSED_FULL, ADM_RETRY_MS, now_ns);
}

/* It is let in. The same character may be here already. False: there is no place, or it was
 * refused.
 */
static bool take_over_or_load(struct adm *adm, struct session *session, uint64_t now_ns)
{
	struct session *holder, *waiter;

	if (!holder_of(adm, session, &holder, now_ns))
		return false;
	if (pass_stale(adm, session, now_ns))
		return false;
	if (!holder) {
		if (adm->places >= adm->config->admission.players_max)
			return false;
		adm_place_take(adm, session);
		adm_load(adm, session, now_ns);
		return true;
	}
	waiter = session_at(&adm->table, holder->waiter);
	if (waiter)
		adm_refuse(adm, waiter, ADM_C_REFUSED_REPLACED, 0, now_ns);
	adm_count(adm, ADM_C_TAKEOVERS);
	holder->waiter = session->index;
	session->waits_for = holder->index;
	session_move(&adm->table, session, SESSION_WAITING, now_ns);
	if (holder->state == SESSION_SEEKING || holder->state == SESSION_LOADING ||
		holder->state == SESSION_PLACING) /* no shard has it: the next can go on at once */
		adm_refuse(adm, holder, ADM_C_REFUSED_REPLACED, 0, now_ns);
	else if (holder->state != SESSION_LEAVING)
		adm_leave(adm, holder, SW_REASON_REPLACED, now_ns);
	return true;
}

/* Its pass is in use by a connection that waits in the queue here, and may be broken without that
 * anybody has noticed. False: it is not. A ticket that comes twice is refused in any case. */
static bool supersede(struct adm *adm, struct session *session, uint64_t now_ns)
{
	struct session *other = adm_claimer(adm, session);
	uint64_t claimer;

	if (!session->returned || !other || other->state != SESSION_QUEUED)
		return false;
	claimer = other->claimer;
	adm_claim_done(adm, other);
	adm_claim_take(adm, session, claimer);
	other->superseded = true;
	adm_count(adm, ADM_C_SUPERSEDED);
	adm_refuse(adm, other, ADM_C_REFUSED_REPLACED, 0, now_ns);
	return true;
}

bool adm_claimed(struct adm *adm, uint64_t handle, enum adm_claim claim, uint64_t now_ns)
{
	struct session *session = session_by_handle(&adm->table, handle);

	if (!session || session->state != SESSION_CLAIMING) {
		adm_count(adm, ADM_C_STALE);
		return false;
	}
	if (claim == ADM_CLAIM_OURS) {
		adm_claim_take(adm, session, handle);
		if (session->sent_here)
			adm_count(adm, ADM_C_MOVED_HERE);
		queue_up(adm, session, now_ns);
	} else if (claim == ADM_CLAIM_USED && supersede(adm, session, now_ns)) {
		queue_up(adm, session, now_ns);
	} else if (claim == ADM_CLAIM_USED) {
		adm_refuse(adm, session,
			session->returned ? ADM_C_REFUSED_PASS_USED : ADM_C_REFUSED_USED, 0,
			now_ns);
	} else {
		/* The ticket may be used up: no retry with it. */
		adm_refuse(adm, session, ADM_C_REFUSED_CLAIM_UNKNOWN, 0, now_ns);
	}
	adm_gauges(adm);
	return true;
}

/* ---- the queue's words ---- */

static struct session *queued(struct adm *adm, uint64_t handle)
{
	struct session *session = session_by_handle(&adm->table, handle);

	if (session && session->state == SESSION_QUEUED)
		return session;
	adm_count(adm, ADM_C_STALE);
	return NULL;
}

bool adm_let_in(struct adm *adm, uint64_t handle, uint64_t now_ns)
{
	struct session *session = queued(adm, handle);
	bool good = session && take_over_or_load(adm, session, now_ns);

	adm_gauges(adm);
	return good;
}

void adm_replaced(struct adm *adm, uint64_t handle, uint64_t now_ns)
{
	struct session *session = session_by_handle(&adm->table, handle);

	if (session && session->state == SESSION_SENT)
		adm_let_go(adm, session, now_ns);
	else if (queued(adm, handle))
		adm_refuse(adm, session, ADM_C_REFUSED_REPLACED, 0, now_ns);
	adm_gauges(adm);
}

void adm_tell(struct adm *adm, uint64_t handle, const struct gate_standing *standing)
{
	struct session *session = queued(adm, handle);
	uint8_t data[REPLY_BYTES_MAX], place[PASS_BYTES_MAX];
	size_t bytes;

	if (!session)
		return;
	bytes = adm_place_pass(adm, session, standing, place);
	adm_send_bytes(adm, session->peer, data,
		reply_queued(data, standing, bytes ? place : NULL, bytes));
}

/* ---- the world's answer ---- */

void adm_from_world(struct adm *adm, const struct msg *message, uint64_t now_ns)
{
	struct msg_character_loaded body;
	struct session *session;

	if (message->type != MSG_CHARACTER_LOADED || message->payload_bytes != sizeof(body)) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	memcpy(&body, msg_payload(message), sizeof(body));
	session = session_by_handle(&adm->table, body.session);
	if (!session || session->state != SESSION_LOADING) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	switch (body.result) {
	case MSG_LOAD_OK:
		adm_place_loaded(adm, session, &body, now_ns);
		break;
	case MSG_LOAD_WRONG_ACCOUNT:
		adm_refuse(adm, session, ADM_C_REFUSED_WRONG_ACCOUNT, 0, now_ns);
		break;
	case MSG_LOAD_NEWER:
		adm_refuse(adm, session, ADM_C_REFUSED_PASS_STALE, 0, now_ns);
		break;
	default:
		adm_refuse(adm, session, ADM_C_REFUSED_WORLD_AWAY, ADM_RETRY_MS, now_ns);
	}
	adm_gauges(adm);
}

/* ---- the shard's answers ---- */

static void on_joined(struct adm *adm, struct session *session, uint64_t now_ns)
{
	struct adm_presence now_here;

	adm_claim_done(adm, session); /* its ticket has let it in */
	if (session->state != SESSION_JOINING)
		return; /* it is to leave already: MSG_PLAYER_LEFT follows */
	adm_count(adm, ADM_C_JOINED);
	adm_journey_end(adm, session);
	session_move(&adm->table, session, SESSION_IN, now_ns);
	if (session->present) /* it has come from another map */
		return;
	session->present = true;
	now_here = adm_presence_of(session);
	adm->ops.arrived(adm->ops.ctx, &now_here);
}

/* The shard does not have the player: it has left, or was never taken. */
static void on_shard_without(
	struct adm *adm, struct session *session, uint32_t refusal, uint64_t now_ns)
{
	uint32_t reason = session->end_reason;

	switch (session->state) {
	case SESSION_JOINING:
		if (refusal && adm_place_again(adm, session, refusal, now_ns))
			return;
		if (refusal) {
			adm_refuse_as(adm, session, ADM_C_REFUSED_MAP_REFUSED, refusal,
				ADM_RETRY_MS, now_ns);
			return;
		}
		break;
	case SESSION_IN:
		break;
	case SESSION_LEAVING:
		/* The shard tells the peer why; in case it never had it, so do we. */
		if (!session->peer_gone && reason)
			adm_send_refusal(adm, session->peer, reason, 0);
		break;
	default:
		adm_count(adm, ADM_C_STALE);
		return;
	}
	adm_end(adm, session, reason, now_ns);
}

/* The player is off its map and saved, and wants to go on. If it is to leave anyway, that was it.
 */
static void on_transfer(
	struct adm *adm, struct session *session, const struct msg *message, uint64_t now_ns)
{
	struct msg_player_transfer body;

	memcpy(&body, msg_payload(message), sizeof(body));
	adm_count(adm, ADM_C_TRANSFERS);
	if (session->state != SESSION_IN)
		on_shard_without(adm, session, 0, now_ns);
	else if (adm->stopping)
		adm_refuse(adm, session, ADM_C_REFUSED_STOPPING, 0, now_ns);
	else
		adm_place_transfer(adm, session, &body, now_ns);
}

static uint32_t bytes_wanted(uint16_t type)
{
	switch (type) {
	case MSG_PLAYER_JOINED:
		return sizeof(struct msg_player_joined);
	case MSG_PLAYER_REFUSED:
		return sizeof(struct msg_player_refused);
	case MSG_PLAYER_LEFT:
		return sizeof(struct msg_player_left);
	case MSG_PLAYER_TRANSFER:
		return sizeof(struct msg_player_transfer);
	default:
		return 0;
	}
}

void adm_from_shard(struct adm *adm, uint32_t shard, const struct msg *message, uint64_t now_ns)
{
	struct session *session;
	uint64_t handle;

	if (message->type == MSG_INSTANCE_STATE) {
		director_from_shard(adm->director, shard, message, now_ns);
		return;
	}
	/* All of them begin with the session. */
	if (!bytes_wanted(message->type) || message->payload_bytes != bytes_wanted(message->type)) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	memcpy(&handle, msg_payload(message), sizeof(handle));
	session = session_by_handle(&adm->table, handle);
	if (!session || session->shard != shard ||
		(session->state != SESSION_JOINING && session->state != SESSION_IN &&
			session->state != SESSION_LEAVING)) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	if (message->type == MSG_PLAYER_JOINED) {
		on_joined(adm, session, now_ns);
	} else if (message->type == MSG_PLAYER_LEFT) {
		struct msg_player_left body;

		memcpy(&body, msg_payload(message), sizeof(body));
		adm_count(adm, ADM_C_LEFT);
		adm_left_remember(adm, &body);
		on_shard_without(adm, session, 0, now_ns);
	} else if (message->type == MSG_PLAYER_TRANSFER) {
		on_transfer(adm, session, message, now_ns);
	} else {
		struct msg_player_refused body;

		memcpy(&body, msg_payload(message), sizeof(body));
		on_shard_without(adm, session,
			body.reason ? body.reason : SW_REASON_MAP_UNAVAILABLE, now_ns);
	}
	adm_gauges(adm);
}

/* ---- the peer's end ---- */

static void on_gone(struct adm *adm, const struct msg *message, uint64_t now_ns)
{
	struct session *session = session_by_peer(&adm->table, message->peer);

	if (!session || session->peer_gone) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	session->peer_gone = true;
	switch (session->state) {
	case SESSION_JOINING:
	case SESSION_IN:
		/* The shard hears of it by itself once it has the peer's route, which we cannot
		 * know; a second word does no harm. */
		adm_leave(adm, session, SW_REASON_NONE, now_ns);
		break;
	case SESSION_LEAVING:
		break;
	case SESSION_ENDED: /* what becomes of its ticket was decided when it ended */
		adm_end(adm, session, SW_REASON_NONE, now_ns);
		break;
	default:
		/* It never got to its map. SENT: the pass that it was given is all that its ticket
		 * was. */
		if (!session->stay && session->state != SESSION_SENT)
			adm_release(adm, session);
		adm_end(adm, session, SW_REASON_NONE, now_ns);
	}
}

void adm_from_dataplane(
	struct adm *adm, const struct msg *message, uint64_t now_ns, uint64_t wall_s)
{
	adm->wall_s = wall_s;
	if (message->type == MSG_PEER_CONNECTED)
		on_connected(adm, message, now_ns);
	else if (message->type == MSG_PEER_PACKET)
		on_packet(adm, message, now_ns, wall_s);
	else if (message->type == MSG_PEER_GONE)
		on_gone(adm, message, now_ns);
	else
		adm_count(adm, ADM_C_STALE);
	adm_gauges(adm);
}

/* ---- time, and the end ---- */

static struct session *overdue(
	struct adm *adm, enum session_state state, uint64_t now_ns, uint64_t deadline_ms)
{
	struct session *session = session_oldest(&adm->table, state);

	return session && now_ns - session->since_ns >= deadline_ms * NS_PER_MS ? session : NULL;
}

void adm_tick(struct adm *adm, uint64_t now_ns)
{
	struct session *session;

	while ((session = overdue(
			adm, SESSION_CONNECTED, now_ns, adm->config->admission.hello_deadline_ms)))
		adm_refuse(adm, session,
			session->challenged ? ADM_C_REFUSED_PROOF_MISSING
					    : ADM_C_REFUSED_HELLO_TIMEOUT,
			0, now_ns);
	while ((session = overdue(adm, SESSION_VERIFYING, now_ns, ADM_STEP_DEADLINE_MS)))
		adm_refuse(adm, session, ADM_C_REFUSED_VERIFY_TIMEOUT, ADM_RETRY_MS, now_ns);
	while ((session = overdue(adm, SESSION_WAITING, now_ns, ADM_STEP_DEADLINE_MS)))
		adm_refuse(adm, session, ADM_C_REFUSED_TAKEOVER_TIMEOUT, ADM_RETRY_MS, now_ns);
	adm_seek_waiting(adm, now_ns);
	while ((session = overdue(adm, SESSION_SEEKING, now_ns, ADM_STEP_DEADLINE_MS)))
		adm_refuse(adm, session, ADM_C_REFUSED_TAKEOVER_TIMEOUT, ADM_RETRY_MS, now_ns);
	while ((session = overdue(adm, SESSION_LOADING, now_ns, ADM_STEP_DEADLINE_MS)))
		adm_refuse(adm, session, ADM_C_REFUSED_WORLD_TIMEOUT, ADM_RETRY_MS, now_ns);
	adm_place_waiting(adm, now_ns);
	while ((session = overdue(adm, SESSION_PLACING, now_ns, ADM_PLACING_DEADLINE_MS)))
		adm_refuse(adm, session, ADM_C_REFUSED_NO_INSTANCE, ADM_RETRY_MS, now_ns);
	while ((session = overdue(adm, SESSION_JOINING, now_ns, ADM_STEP_DEADLINE_MS))) {
		adm_count(adm, ADM_C_REFUSED_JOIN_TIMEOUT);
		adm_leave(adm, session, SW_REASON_TRY_LATER, now_ns);
		adm_send_refusal(adm, session->peer, SW_REASON_TRY_LATER, 0);
	}
	while ((session = overdue(adm, SESSION_ENDED, now_ns, ADM_ENDED_DEADLINE_MS))) {
		adm_count(adm, ADM_C_CUT_OFF);
		adm_send_disconnect(adm, session->peer, MSG_DISCONNECT_NOW, session->end_reason);
		session_move(&adm->table, session, SESSION_ENDED, now_ns);
	}
	adm_identify_tick(adm, now_ns);
	adm_gauges(adm);
}

void adm_wall(struct adm *adm, uint64_t wall_s)
{
	adm->wall_s = wall_s;
}

void adm_stop(struct adm *adm, uint64_t now_ns)
{
	/* Those that wait first: else the end of an older session would send the next one on. */
	static const enum session_state states[] = {SESSION_WAITING, SESSION_CONNECTED,
		SESSION_VERIFYING, SESSION_CLAIMING, SESSION_QUEUED, SESSION_SEEKING,
		SESSION_LOADING, SESSION_PLACING};
	struct session *session;

	adm->stopping = true;
	director_stop(adm->director);
	while ((session = session_oldest(&adm->table, SESSION_SENT)))
		adm_let_go(adm, session, now_ns); /* it has another place to be */
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		while ((session = session_oldest(&adm->table, states[i])))
			adm_refuse(adm, session, ADM_C_REFUSED_STOPPING, ADM_RETRY_MS, now_ns);
	adm_gauges(adm);
}

uint32_t adm_presence_due(struct adm *adm, uint64_t now_ns, uint64_t before_ns,
	struct adm_presence *out, uint32_t max)
{
	uint32_t filled = 0;

	while (filled < max) {
		struct session *session = session_oldest(&adm->table, SESSION_IN);

		if (!session || session->since_ns >= before_ns)
			break;
		out[filled++] = adm_presence_of(session);
		session_move(&adm->table, session, SESSION_IN, now_ns);
		if (adm_pass_due(adm, session, now_ns))
			adm_pass_give(adm, session, now_ns);
	}
	return filled;
}

const struct counter_set *adm_counters(const struct adm *adm)
{
	return &adm->set;
}

const struct histogram *adm_verify_time(const struct adm *adm)
{
	return &adm->verify_time;
}

struct adm *adm_new(const struct sw_config *config, const struct adm_secrets *secrets,
	uint32_t workers, uint32_t shards, struct director *director, const struct adm_ops *ops)
{
	uint64_t sessions = adm_sessions(config, workers);
	struct adm *adm = calloc(1, sizeof(*adm));

	CHECK(workers > 0 && shards > 0 && sessions < UINT32_MAX / 4);
	if (!adm)
		return NULL;
	adm->config = config;
	adm->secrets = *secrets;
	if (!session_table_init(&adm->table, (uint32_t)sessions) ||
		!adm_places_init(adm, (uint32_t)sessions) || !adm_identify_init(adm)) {
		adm_free(adm);
		return NULL;
	}
	adm->director = director;
	adm->workers = workers;
	adm->shards = shards;
	adm->ops = *ops;
	adm->set = (struct counter_set){
		"admission", 0, ADM_COUNTER_COUNT, counter_descs, adm->counters};
	adm_gauges(adm);
	return adm;
}

void adm_free(struct adm *adm)
{
	if (!adm)
		return;
	session_table_fini(&adm->table);
	adm_places_fini(adm);
	adm_identify_fini(adm);
	pass_keys_wipe(&adm->secrets.pass_keys);
	free(adm);
}
