#include "simulation/send.h"

#include "common/check.h"
#include "common/log_events.h"
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

#define DENIAL_IN_PLACE(id, name, help)                                                            \
	_Static_assert((uint32_t)(SIM_REFUSED_##id - SIM_REFUSED_NOT_READY) + 1u ==                \
			       (uint32_t)SW__ACTION_REFUSAL__##id,                                 \
		"the order of client.proto");
SIM_ACTION_REFUSALS(DENIAL_IN_PLACE)
SIM_MATCH_REFUSALS(DENIAL_IN_PLACE)
SIM_QUEST_REFUSALS(DENIAL_IN_PLACE)

/* ---- the queue behind a full ring ---- */

static void waited(struct sim_shard *s, const struct msg *message)
{
	uint32_t slot;
	struct sim_map *m = sim_seat_find(s, message->peer, &slot);
	struct sim_player *p = m ? sim_player(m, slot) : NULL;

	if (p) /* else it has left meanwhile; its peer gets the message all the same */
		p->queued_slots = (uint16_t)(p->queued_slots > message->slots
						     ? p->queued_slots - message->slots
						     : 0);
}

static bool flush(struct sim_shard *s, struct sim_outbox *box)
{
	const struct msg *message;
	bool moved = false;

	while ((message = sim_outbox_peek(box)) && sim_push(s, box->ring, message)) {
		waited(s, message);
		sim_outbox_drop(box);
		moved = true;
	}
	return moved;
}

bool sim_send_retry(struct sim_shard *s)
{
	bool moved = false;

	for (uint32_t w = 0; w < s->links.workers; w++)
		if (s->outbox[w].messages)
			moved |= flush(s, &s->outbox[w]);
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
	if (!box->messages && sim_push(s, box->ring, message))
		return true;
	if (p->queued_slots + message->slots <= SIM_RELIABLE_SLOTS_MAX &&
		sim_outbox_put(box, message)) {
		p->queued_slots = (uint16_t)(p->queued_slots + message->slots);
		sim_count(s, SIM_RELIABLE_QUEUED, 1);
		return true;
	}
	sim_count(s, SIM_LEAVES_SLOW, 1);
	sim_log(s, LOG_EVENT_PLAYER_SLOW, p->character_id, m->index, 0, 0);
	sim_leave_want(m, slot, SW_REASON_SLOW, MSG_DISCONNECT);
	return false;
}

bool sim_send_unreliable(
	struct sim_shard *s, struct sim_map *m, uint32_t slot, uint8_t channel, uint32_t bytes)
{
	const struct sim_player *p = sim_player(m, slot);
	const struct msg *message = finish(s, p, channel, 0, bytes);
	struct sim_outbox *box = &s->outbox[handle_owner(p->peer)];

	return !box->messages && sim_push(s, box->ring, message);
}

bool sim_send_order(struct sim_shard *s, const struct msg *message)
{
	struct sim_outbox *box = &s->outbox[handle_owner(message->peer)];

	return !box->messages && sim_push(s, box->ring, message);
}

void sim_send_refused(
	struct sim_shard *s, struct sim_map *m, uint32_t slot, uint32_t action, uint32_t reason)
{
	struct sim_player *p = sim_player(m, slot);
	Sw__ActionRefused refused = SW__ACTION_REFUSED__INIT;
	uint8_t *at;

	DCHECK(reason >= 1 && reason <= SIM_TRADE_DONE - SIM_REFUSED_NOT_READY);
	sim_count(s, SIM_REFUSED_NOT_READY + (enum sim_counter)(reason - 1), 1);
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
