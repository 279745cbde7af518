/* From a Hello to who it is, in the order of what a check costs: a pass (under a microsecond), the
 * outline of a ticket, the proof of work if there is pressure, and then the signature, on a thread
 * of its own (ops.verify) that is given one ticket of each source in turn. And the passes that
 * players are given to come again with. */
#include <string.h>

#include "common/check.h"
#include "common/mono.h"
#include "control/admission/admission_internal.h"

bool adm_identify_init(struct adm *adm)
{
	pressure_init(&adm->pressure, adm->config->admission.proof_wait_ms * NS_PER_MS,
		adm->config->admission.proof_bits_max);
	return verify_queue_init(&adm->verify, adm->config->admission.verify_waiting_max);
}

void adm_identify_fini(struct adm *adm)
{
	verify_queue_fini(&adm->verify);
}

static void gauges(struct adm *adm, uint64_t now_ns)
{
	uint64_t oldest_ns = verify_queue_oldest_ns(&adm->verify);

	counter_put(&adm->counters[ADM_C_VERIFY_WAITING], adm->verify.count);
	counter_put(&adm->counters[ADM_C_VERIFY_SOURCES], adm->verify.source_count);
	counter_put(&adm->counters[ADM_C_VERIFY_UNDER_WAY], adm->verify_under_way);
	counter_put(&adm->counters[ADM_C_VERIFY_OLDEST],
		oldest_ns && now_ns > oldest_ns ? (now_ns - oldest_ns) / 1000 : 0);
	counter_put(&adm->counters[ADM_C_PROOF_BITS], adm->pressure.bits);
}

/* ---- passes ---- */

static uint64_t pass_lifetime_s(const struct adm *adm)
{
	return adm->config->admission.grace_s * 3ull / 2 + ADM_PASS_MARGIN_S;
}

void adm_pass_give(struct adm *adm, struct session *session, uint64_t now_ns)
{
	struct pass pass = {.purpose = PASS_RETURN,
		.realm_id = session->ticket.realm_id,
		.account_id = session->ticket.account_id,
		.character_id = session->ticket.character_id,
		.generation = session->epoch,
		.expires_unix_s = adm->wall_s + pass_lifetime_s(adm)};
	uint8_t sealed[PASS_BYTES_MAX], data[REPLY_BYTES_MAX];
	size_t bytes;

	pass_return_nonce(pass.nonce, pass.realm_id, pass.character_id, pass.generation);
	memcpy(pass.name, session->name, sizeof(pass.name));
	memcpy(pass.node, adm->config->node.name, sizeof(pass.node));
	bytes = pass_seal(sealed, &pass, &adm->secrets.pass_keys);
	session->pass_ns = now_ns;
	adm_count(adm, ADM_C_PASSES_GIVEN);
	adm_send_bytes(adm, session->peer, data,
		reply_return_pass(data, sealed, bytes, (uint32_t)pass_lifetime_s(adm)));
}

bool adm_pass_due(const struct adm *adm, const struct session *session, uint64_t now_ns)
{
	return !session->peer_gone &&
	       now_ns - session->pass_ns >= adm->config->admission.grace_s * NS_PER_S / 2;
}

void adm_pass_spend(struct adm *adm, const struct session *session)
{
	uint8_t nonce[PASS_NONCE_BYTES];

	if (!session->pass_ns)
		return;
	pass_return_nonce(
		nonce, session->ticket.realm_id, session->ticket.character_id, session->epoch);
	adm->ops.spend(adm->ops.ctx, nonce, pass_lifetime_s(adm) + TICKET_SKEW_S);
}

static void place_put(struct session *session, const struct pass *pass)
{
	session->place_character = pass->character_id;
	session->place_account = pass->account_id;
	session->place_lane = pass->lane;
	session->place_seq = pass->seq;
	session->place_epoch = 0;
}

/* Returns PASS_FAULT_NONE when the session is who the pass says. It may come again with it, or be
 * sent here by another node. */
static enum pass_fault pass_take(
	struct adm *adm, struct session *session, const struct hello *hello, uint64_t wall_s)
{
	bool handover = pass_peek(hello->pass, hello->pass_bytes) == PASS_HANDOVER;
	const struct pass_wanted wanted = {.purpose = handover ? PASS_HANDOVER : PASS_RETURN,
		.realm_id = adm->config->node.realm_id,
		.node = adm->config->node.name,
		.wall_s = wall_s};
	struct pass pass;
	enum pass_fault fault =
		pass_open(&pass, hello->pass, hello->pass_bytes, &adm->secrets.pass_keys, &wanted);

	if (fault != PASS_FAULT_NONE)
		return fault;
	if (!handover && !pass.generation) /* would be older than any login */
		return PASS_FAULT_LAYOUT;
	if (handover && pass.seq && (pass.lane < GATE_LANE_OPERATOR || pass.lane > GATE_LANE_COUNT))
		return PASS_FAULT_LAYOUT;
	session->ticket = (struct ticket){.account_id = pass.account_id,
		.character_id = pass.character_id,
		.expires_unix_s = pass.expires_unix_s,
		.realm_id = pass.realm_id};
	memcpy(session->ticket.nonce, pass.nonce, sizeof(session->ticket.nonce));
	memcpy(session->ticket.name, pass.name, sizeof(session->ticket.name));
	session->returned = true;
	session->epoch_max = pass.generation;
	if (handover) {
		session->sent_here = true;
		place_put(session, &pass);
	}
	return PASS_FAULT_NONE;
}

/* A place in the queue that it shows: whatever is wrong with it, it is no worse off than without.
 */
static void place_take(
	struct adm *adm, struct session *session, const struct hello *hello, uint64_t wall_s)
{
	const struct pass_wanted wanted = {.purpose = PASS_PLACE,
		.realm_id = adm->config->node.realm_id,
		.node = adm->config->node.name,
		.wall_s = wall_s};
	struct pass pass;
	enum pass_fault fault = pass_open(
		&pass, hello->place, hello->place_bytes, &adm->secrets.pass_keys, &wanted);

	if (fault == PASS_FAULT_NONE &&
		(!pass.seq || pass.lane < GATE_LANE_OPERATOR || pass.lane > GATE_LANE_COUNT))
		fault = PASS_FAULT_LAYOUT;
	if (fault != PASS_FAULT_NONE) {
		adm_count(adm, ADM_C_PASS(fault));
		return;
	}
	place_put(session, &pass);
	session->place_epoch = pass.generation;
}

bool adm_place_shown(const struct session *session)
{
	return session->place_character == session->ticket.character_id &&
	       session->place_account == session->ticket.account_id;
}

size_t adm_place_pass(struct adm *adm, struct session *session,
	const struct gate_standing *standing, uint8_t out[PASS_BYTES_MAX])
{
	struct pass pass = {.purpose = PASS_PLACE,
		.lane = (uint8_t)standing->lane,
		.realm_id = session->ticket.realm_id,
		.account_id = session->ticket.account_id,
		.character_id = session->ticket.character_id,
		.seq = standing->seq,
		.generation = standing->epoch,
		.expires_unix_s = adm->wall_s + ADM_PLACE_PASS_S};

	if (!standing->seq ||
		(session->place_seq == standing->seq && session->place_epoch == standing->epoch))
		return 0;
	session->place_seq = standing->seq;
	session->place_epoch = standing->epoch;
	memcpy(pass.name, session->name, sizeof(pass.name));
	memcpy(pass.node, adm->config->node.name, sizeof(pass.node));
	return pass_seal(out, &pass, &adm->secrets.pass_keys);
}

/* ---- the proof of work ---- */

static void challenge(struct adm *adm, struct session *session, const struct proof_client *client,
	uint64_t now_ns)
{
	uint8_t bytes[SW_PROOF_CHALLENGE_BYTES], data[REPLY_BYTES_MAX];

	session->challenged = true;
	session_move(&adm->table, session, SESSION_CONNECTED, now_ns); /* its time begins again */
	adm_count(adm, ADM_C_CHALLENGED);
	proof_ask(bytes, adm->secrets.challenge_key, client, adm->pressure.bits, now_ns);
	adm_send_bytes(adm, session->peer, data,
		reply_challenge(data, bytes, adm->pressure.bits, PROOF_SLOT_MS));
}

/* Whether the signature may be verified. False: it has been asked for work, or refused. A solution
 * is looked at even if none is wanted any more: whoever was asked shall not be asked again. */
static bool proof_passed(
	struct adm *adm, struct session *session, const struct hello *hello, uint64_t now_ns)
{
	const struct proof_client client = {session->ip, session->peer};
	enum proof_fault fault;

	if (hello->solved) {
		fault = proof_check(adm->secrets.challenge_key, &client, hello->challenge,
			hello->challenge_bytes, hello->number, now_ns);
		if (fault != PROOF_FAULT_NONE) {
			adm_refuse(adm, session, ADM_C_PROOF(fault), 0, now_ns);
			return false;
		}
		adm_count(adm, ADM_C_PROOFS_GOOD);
		return true;
	}
	if (session->challenged) {
		adm_refuse(adm, session, ADM_C_REFUSED_PROOF_MISSING, 0, now_ns);
		return false;
	}
	if (!adm->pressure.bits)
		return true;
	challenge(adm, session, &client, now_ns);
	return false;
}

/* ---- the signature ---- */

/* As many as the window has room for: whose turn it is, is decided late. */
static void verify_pump(struct adm *adm)
{
	const struct verify_entry *entry;
	struct session *session;
	uint64_t handle;

	while (adm->verify_under_way < ADM_VERIFY_WINDOW &&
		(entry = verify_queue_pop(&adm->verify, &handle))) {
		session = session_by_handle(&adm->table, handle);
		CHECK(session && session->state == SESSION_VERIFYING);
		session->verify = VERIFY_NONE;
		adm->verify_under_way++;
		adm->ops.verify(adm->ops.ctx, handle, entry->ticket, entry->bytes, adm->wall_s);
	}
}

static void verify_wait(
	struct adm *adm, struct session *session, const struct hello *hello, uint64_t now_ns)
{
	uint64_t evicted = 0;
	enum verify_push pushed = verify_queue_push(&adm->verify, verify_source_key(session->ip),
		session_handle(session), hello->ticket, hello->ticket_bytes, now_ns,
		&session->verify, &evicted);

	if (pushed == VERIFY_FULL) {
		session->verify = VERIFY_NONE;
		adm_refuse(adm, session, ADM_C_REFUSED_VERIFY_FULL, ADM_RETRY_MS, now_ns);
		return;
	}
	session_move(&adm->table, session, SESSION_VERIFYING, now_ns);
	if (pushed == VERIFY_TAKEN_FOR) {
		struct session *other = session_by_handle(&adm->table, evicted);

		CHECK(other && other->state == SESSION_VERIFYING);
		other->verify = VERIFY_NONE;
		adm_refuse(adm, other, ADM_C_REFUSED_VERIFY_CROWDED, ADM_RETRY_MS, now_ns);
	}
	verify_pump(adm);
}

void adm_identify_drop(struct adm *adm, struct session *session)
{
	if (session->verify != VERIFY_NONE)
		verify_queue_remove(&adm->verify, session->verify);
	session->verify = VERIFY_NONE;
}

void adm_identify(struct adm *adm, struct session *session, const struct hello *hello,
	uint64_t now_ns, uint64_t wall_s)
{
	const struct sw_config *config = adm->config;
	enum ticket_fault fault;

	if (hello->protocol_version != SW_PROTOCOL_VERSION) {
		adm_refuse(adm, session, ADM_C_REFUSED_VERSION, 0, now_ns);
		return;
	}
	session->stays = !hello->redirects;
	if (hello->place_bytes)
		place_take(adm, session, hello, wall_s);
	if (hello->pass_bytes) {
		enum pass_fault pass = pass_take(adm, session, hello, wall_s);

		if (pass == PASS_FAULT_NONE) {
			adm_count(adm, ADM_C_PASSES_GOOD);
			adm_identified(adm, session, now_ns, wall_s);
			return;
		}
		if (!hello->ticket_bytes) {
			adm_refuse(adm, session, ADM_C_PASS(pass), 0, now_ns);
			return;
		}
		adm_count(adm, ADM_C_PASS(pass)); /* there is a ticket, too */
	}
	fault = ticket_outline(hello->ticket, hello->ticket_bytes, config->admission.ticket_keys,
		config->admission.ticket_key_count);
	if (fault != TICKET_FAULT_NONE) {
		adm_refuse(adm, session, ADM_C_TICKET_NONE + fault, 0, now_ns);
		return;
	}
	if (!session->challenged)
		pressure_offered(&adm->pressure);
	if (proof_passed(adm, session, hello, now_ns))
		verify_wait(adm, session, hello, now_ns);
}

void adm_verified(struct adm *adm, uint64_t handle, enum ticket_fault fault,
	const struct ticket *ticket, uint64_t took_ns, uint64_t now_ns, uint64_t wall_s)
{
	struct session *session = session_by_handle(&adm->table, handle);

	CHECK(adm->verify_under_way);
	adm->verify_under_way--;
	adm->wall_s = wall_s;
	pressure_verified(&adm->pressure, took_ns);
	verify_pump(adm);
	if (!session || session->state != SESSION_VERIFYING) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	histogram_add(&adm->verify_time, now_ns - session->since_ns);
	if (fault == TICKET_FAULT_NONE) {
		adm_count(adm, ADM_C_TICKET_NONE);
		session->ticket = *ticket;
		adm_identified(adm, session, now_ns, wall_s);
	} else {
		adm_refuse(adm, session, ADM_C_TICKET_NONE + fault, 0, now_ns);
	}
	adm_gauges(adm);
}

void adm_identify_tick(struct adm *adm, uint64_t now_ns)
{
	uint64_t oldest_ns = verify_queue_oldest_ns(&adm->verify);

	pressure_look(
		&adm->pressure, oldest_ns && now_ns > oldest_ns ? now_ns - oldest_ns : 0, now_ns);
	gauges(adm, now_ns);
}
