#include "simulation/send.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/life.h"

uint8_t *sim_send_begin(struct sim_shard *s, enum sw_message_type type)
{
	uint8_t *payload = msg_begin(s->scratch->slot, MSG_PEER_SEND, HANDLE_NONE, 1);

	payload[0] = (uint8_t)type;
	return payload + 1;
}

static struct msg *finish(struct sim_shard *s, const struct sim_player *p, uint8_t channel,
	uint32_t flags, uint32_t bytes)
{
	struct msg *message = s->scratch->slot;

	DCHECK(bytes + 1 <= MSG_PAYLOAD_MAX);
	message->peer = p->peer;
	message->channel = channel;
	message->flags = (uint16_t)flags;
	message->payload_bytes = bytes + 1;
	message->slots = msg_slots(bytes + 1);
	return message;
}

/* ---- the queue behind a full ring ---- */

static bool outbox_put(struct sim_outbox *box, const struct msg *message)
{
	uint32_t slots = message->slots;

	if (!box->messages)
		box->head = box->tail = box->wrap = 0;
	if (box->tail >= box->head && (box->messages == 0 || box->tail > box->head)) {
		if (box->tail + slots > box->size) { /* not whole at the end: start over */
			if (slots > box->head)
				return false;
			box->wrap = box->tail;
			box->tail = 0;
		}
	} else if (box->tail + slots > box->head) {
		return false;
	}
	memcpy(box->slots + box->tail, message, (size_t)slots * MSG_SLOT_BYTES);
	box->tail += slots;
	if (box->tail > box->head)
		box->wrap = box->tail;
	box->messages++;
	return true;
}

static bool outbox_flush(struct sim_shard *s, struct sim_outbox *box)
{
	bool moved = false;

	while (box->messages) {
		const struct msg *message = box->slots + box->head;
		uint32_t slots = message->slots, worker = handle_owner(message->peer), seat;

		if (!msg_ring_push(box->ring, message))
			break;
		seat = s->seats[worker * s->peers_max + handle_index(message->peer)];
		if (seat != SIM_NONE) {
			struct sim_player *p = sim_player(&s->maps[seat >> SIM_SEAT_BITS],
				seat & ((1u << SIM_SEAT_BITS) - 1));

			if (p->peer == message->peer)
				p->queued_slots = (uint16_t)(p->queued_slots - slots);
		}
		box->head += slots;
		box->messages--;
		if (box->messages && box->head == box->wrap && box->tail <= box->head) {
			box->head = 0;
			box->wrap = box->tail;
		}
		moved = true;
	}
	return moved;
}

bool sim_send_retry(struct sim_shard *s)
{
	bool moved = false;

	for (uint32_t w = 0; w < s->links.workers; w++)
		if (s->outbox[w].messages)
			moved |= outbox_flush(s, &s->outbox[w]);
	return moved;
}

bool sim_send_blocked(const struct sim_shard *s, const struct sim_player *p)
{
	return s->outbox[handle_owner(p->peer)].messages != 0;
}

/* ---- sending ---- */

bool sim_send_reliable(
	struct sim_shard *s, struct sim_map *m, uint32_t slot, uint8_t channel, uint32_t bytes)
{
	struct sim_player *p = sim_player(m, slot);
	const struct msg *message = finish(s, p, channel, MSG_SEND_RELIABLE, bytes);
	struct sim_outbox *box = &s->outbox[handle_owner(p->peer)];

	if (p->leave_wanted)
		return false;
	if (!box->messages && msg_ring_push(box->ring, message))
		return true;
	if (p->queued_slots + message->slots <= SIM_RELIABLE_SLOTS_MAX &&
		outbox_put(box, message)) {
		p->queued_slots = (uint16_t)(p->queued_slots + message->slots);
		sim_count(s, SIM_RELIABLE_QUEUED, 1);
		return true;
	}
	sim_count(s, SIM_LEAVES_SLOW, 1);
	sim_leave_want(m, slot, SW_REASON_SLOW, MSG_DISCONNECT);
	return false;
}

bool sim_send_unreliable(
	struct sim_shard *s, struct sim_map *m, uint32_t slot, uint8_t channel, uint32_t bytes)
{
	const struct sim_player *p = sim_player(m, slot);
	const struct msg *message = finish(s, p, channel, 0, bytes);
	struct sim_outbox *box = &s->outbox[handle_owner(p->peer)];

	return !box->messages && msg_ring_push(box->ring, message);
}

bool sim_send_order(struct sim_shard *s, const struct msg *message)
{
	struct sim_outbox *box = &s->outbox[handle_owner(message->peer)];

	return !box->messages && msg_ring_push(box->ring, message);
}

void sim_send_refused(
	struct sim_shard *s, struct sim_map *m, uint32_t slot, uint32_t action, uint32_t reason)
{
	struct sim_player *p = sim_player(m, slot);
	Sw__ActionRefused refused = SW__ACTION_REFUSED__INIT;
	uint8_t *at;

	if (p->refusals >= SIM_REFUSALS_PER_TICK) {
		sim_count(s, SIM_ACTIONS_DROPPED, 1);
		return;
	}
	p->refusals++;
	sim_count(s, SIM_ACTIONS_REFUSED, 1);
	refused.action = action;
	refused.reason = reason;
	at = sim_send_begin(s, SW_MSG_ACTION_REFUSED);
	sim_send_reliable(
		s, m, slot, SW_CHANNEL_SESSION, (uint32_t)sw__action_refused__pack(&refused, at));
}
