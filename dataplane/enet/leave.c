/* leave.c: how peers end. Calls and commands only change the state and mark the peer; memory is
 * freed, the client told and disconnected() called in leave_step, from sw_enet_service: so a
 * delivery may end its own peer. */
#include <errno.h>

#include "dataplane/enet/engine.h"

static void gone(
	struct sw_enet *e, uint32_t index, enum sw_enet_gone reason, uint32_t data, bool tell)
{
	struct peer *peer = &e->peers[index];
	struct peer_cold *cold = &e->cold[index];

	if (peer->state == PEER_CONNECTED || peer->state == PEER_LATER)
		e->peers_connected--;
	peer->state = PEER_GONE;
	if (tell)
		peer->flags |= PEER_TELL;
	cold->leave_reason = (uint8_t)reason;
	cold->leave_data = data;
}

/* The peer is gone, but for what leave_step does. tell: one DISCONNECT that asks for nothing. */
void leave(struct sw_enet *e, uint32_t index, enum sw_enet_gone reason, uint32_t data, bool tell)
{
	if (e->peers[index].state == PEER_GONE)
		return;
	gone(e, index, reason, data, tell);
	peer_dirty(e, index);
}

/* Our DISCONNECT was acknowledged. */
void leave_acknowledged(struct sw_enet *e, uint32_t index)
{
	const struct peer_cold *cold = &e->cold[index];

	leave(e, index, cold->leave_reason, cold->leave_data, false);
}

/* The client's DISCONNECT. acknowledge: it waits for ours, which is queued by the caller; the peer
 * is gone when that has left. */
void leave_received(struct sw_enet *e, uint32_t index, uint32_t data, bool acknowledge)
{
	struct peer *peer = &e->peers[index];
	struct peer_cold *cold = &e->cold[index];

	if (peer->state == PEER_DISCONNECTING) {
		leave_acknowledged(e, index); /* both at once: ours has a reason already */
		return;
	}
	if (!acknowledge) {
		leave(e, index, SW_ENET_GONE_CLIENT, data, false);
		return;
	}
	e->peers_connected--;
	peer->state = PEER_ACKNOWLEDGING;
	cold->leave_reason = SW_ENET_GONE_CLIENT;
	cold->leave_data = data;
	peer_dirty(e, index);
}

static void leave_begin(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];
	struct peer_cold *cold = &e->cold[index];
	uint8_t data[4];

	peer_purge(e, index, true);
	wire_put32(data, cold->leave_data);
	if (!tx_control(e, index, WIRE_DISCONNECT | WIRE_ACK_FLAG, data, sizeof data))
		gone(e, index, cold->leave_reason, cold->leave_data, true);
	peer->flags &= ~(uint32_t)PEER_START_LEAVING;
}

/* What it sent before it heard of its end comes until a round trip later. Who answers that tells
 * twice, and a client that has connected again by then takes the second for its new connection. */
static uint16_t tell_ms(const struct peer *peer)
{
	uint32_t ms = peer->rtt_ms + 4 * peer->rtt_variance_ms;

	if (!(peer->flags & PEER_SAMPLED))
		return DEPARTED_TELL_NEW_MS;
	return (uint16_t)(ms < DEPARTED_TELL_MS       ? DEPARTED_TELL_MS
			  : ms > DEPARTED_TELL_MAX_MS ? DEPARTED_TELL_MAX_MS
						      : ms);
}

static void remember(struct sw_enet *e, const struct peer *peer, const struct peer_cold *cold)
{
	const struct departed who = {
		.key = departed_key(e, &peer->address, peer->id),
		.connect_id = peer->connect_id,
		.data = cold->leave_data,
		.tell_ms = tell_ms(peer),
		.client_id = peer->client_id,
		.session_in = peer->session_in & WIRE_SESSION_MASK,
		.session_out = peer->session_out & WIRE_SESSION_MASK,
		.checksum = peer->flags & PEER_CHECKSUM,
		.compressed = peer->flags & PEER_COMPRESSED,
		.tell = cold->leave_reason != SW_ENET_GONE_CLIENT,
		.told = cold->leave_reason != SW_ENET_GONE_TIMEOUT,
	};

	departed_note(e, &who);
	returning_note(e, &peer->address);
}

/* What a leaving peer has to do, before its flush and after. Returns true when it has been freed.
 */
bool leave_step(struct sw_enet *e, uint32_t index)
{
	struct peer *peer = &e->peers[index];
	struct peer_cold *cold = &e->cold[index];

	if (peer->state == PEER_LATER && peer->reliable.head == NIL &&
		peer->unreliable.head == NIL && peer->sent.head == NIL) {
		peer->state = PEER_DISCONNECTING;
		peer->flags |= PEER_START_LEAVING;
		e->peers_connected--;
	}
	if (peer->state == PEER_DISCONNECTING && peer->flags & PEER_START_LEAVING)
		leave_begin(e, index);
	if (peer->state == PEER_ACKNOWLEDGING) {
		peer_purge(e, index, true);
		if (peer->ack_inline == 0 && peer->acks.head == NIL)
			gone(e, index, cold->leave_reason, cold->leave_data, false);
	}
	/* on the dirty list: it must not be freed under it, and its turn comes */
	if (peer->state != PEER_GONE || peer->flags & PEER_DIRTY)
		return false;

	peer_purge(e, index, false);
	if (peer->flags & PEER_TELL) {
		if (!tx_disconnect(e, index, &peer->address, peer->client_id, peer->session_out,
			    peer->flags & PEER_CHECKSUM ? &peer->connect_id : NULL,
			    cold->leave_data)) {
			peer_owing(e, index);
			return false;
		}
		peer->flags &= ~(uint32_t)PEER_TELL;
	}
	/* who never was announced leaves unannounced */
	if (!(peer->flags & PEER_OWES_CONNECTED) &&
		!e->ops.disconnected(
			e->ops.ctx, peer_handle(e, index), cold->leave_data, cold->leave_reason)) {
		peer_owing(e, index);
		return false;
	}
	count(e, SW_ENET_C_DISCONNECTED, 1);
	if (!(peer->flags & PEER_PRESET)) /* who proved nothing, and understands nothing */
		remember(e, peer, cold);
	peer_free(e, index);
	return true;
}

int sw_enet_disconnect(struct sw_enet *e, uint64_t handle, enum sw_enet_disconnect mode,
	uint32_t data, enum sw_enet_gone reason)
{
	uint32_t index = peer_of_handle(e, handle);
	struct peer *peer = index == NIL ? NULL : &e->peers[index];

	if (!peer || peer->state == PEER_GONE || peer->state == PEER_ACKNOWLEDGING ||
		(peer->state == PEER_DISCONNECTING && mode != SW_ENET_DISCONNECT_NOW) ||
		(peer->state == PEER_LATER && mode == SW_ENET_DISCONNECT_LATER))
		return -ESTALE;
	if (mode == SW_ENET_DISCONNECT_NOW || peer->flags & PEER_PRESET) {
		/* a preset peer would not understand, and may not have a way to it yet */
		leave(e, index, reason, data, !(peer->flags & PEER_PRESET));
		return 0;
	}
	e->cold[index].leave_data = data;
	e->cold[index].leave_reason = (uint8_t)reason;
	if (mode == SW_ENET_DISCONNECT_LATER) {
		peer->state = PEER_LATER;
	} else {
		peer->state = PEER_DISCONNECTING;
		peer->flags |= PEER_START_LEAVING;
		e->peers_connected--;
	}
	peer_dirty(e, index);
	return 0;
}
