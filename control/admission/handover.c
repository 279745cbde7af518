/* Who is let in at another node: it is sent there with a pass, and kept here in SENT until that
 * node has it. If it cannot get in there it waits here again, where it stood. */
#include <string.h>

#include "common/mono.h"
#include "control/admission/admission_internal.h"

bool adm_move(struct adm *adm, uint64_t handle, const struct gate_move *to, uint64_t now_ns)
{
	struct session *session = session_by_handle(&adm->table, handle);
	struct pass pass = {.purpose = PASS_HANDOVER,
		.lane = (uint8_t)to->lane,
		.seq = to->seq,
		.expires_unix_s = adm->wall_s + ADM_HANDOVER_S};
	uint8_t sealed[PASS_BYTES_MAX], data[REPLY_BYTES_MAX];
	size_t bytes;

	if (!session || session->state != SESSION_QUEUED || session->stays ||
		strlen(to->node) >= sizeof(pass.node) ||
		strlen(to->address) >= CONFIG_ADDRESS_BYTES)
		return false;
	pass.realm_id = session->ticket.realm_id;
	pass.account_id = session->ticket.account_id;
	pass.character_id = session->ticket.character_id;
	pass.generation = session->epoch_max; /* it is no newer there than here */
	memcpy(pass.name, session->name, sizeof(pass.name));
	strcpy(pass.node, to->node);
	pass_handover_nonce(pass.nonce, adm->secrets.challenge_key, adm->handovers++);
	bytes = pass_seal(sealed, &pass, &adm->secrets.pass_keys);
	adm_count(adm, ADM_C_MOVED);
	session->was_sent = true;
	session_move(&adm->table, session, SESSION_SENT, now_ns);
	adm_send_bytes(adm, session->peer, data, reply_redirect(data, to->address, sealed, bytes));
	adm_gauges(adm);
	return true;
}

void adm_back(struct adm *adm, uint64_t handle, uint64_t now_ns)
{
	struct session *session = session_by_handle(&adm->table, handle);

	if (!session || session->state != SESSION_SENT) {
		adm_count(adm, ADM_C_STALE);
		return;
	}
	adm_count(adm, ADM_C_MOVES_FAILED);
	session_move(&adm->table, session, SESSION_QUEUED, now_ns);
	adm_gauges(adm);
}

enum hello_fault adm_redirect_failed(
	struct adm *adm, struct session *session, const struct msg *message, uint64_t now_ns)
{
	struct pb_arena arena;
	uint32_t reason;
	enum hello_fault fault = redirect_failed_read(&reason, &arena, msg_payload(message),
		message->payload_bytes, message->channel, message->flags);

	if (fault != HELLO_FAULT_NONE)
		return fault;
	if (!session->was_sent)
		return HELLO_FAULT_UNEXPECTED;
	if (session->state == SESSION_SENT) { /* else it is back already */
		adm_count(adm, reason ? ADM_C_MOVES_REFUSED : ADM_C_MOVES_UNREACHED);
		session_move(&adm->table, session, SESSION_QUEUED, now_ns);
		adm->ops.requeue(adm->ops.ctx, session_handle(session));
	}
	return HELLO_FAULT_NONE;
}

void adm_let_go(struct adm *adm, struct session *session, uint64_t now_ns)
{
	if (!session->peer_gone)
		adm_send_disconnect(adm, session->peer, MSG_DISCONNECT_LATER, SW_REASON_NONE);
	adm_end(adm, session, SW_REASON_NONE, now_ns);
}
