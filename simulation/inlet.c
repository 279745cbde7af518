#include "simulation/inlet.h"

#include "common/commit.h"
#include "common/log_events.h"
#include "simulation/client_message.h"
#include "simulation/commit.h"
#include "simulation/cycles.h"
#include "simulation/instance.h"
#include "simulation/life.h"
#include "simulation/list.h"
#include "simulation/match/match.h"
#include "simulation/party.h"
#include "simulation/quest.h"
#include "simulation/reload.h"
#include "simulation/send.h"
#include "simulation/transfer.h"
#include "proto/client.pb-c.h"

/* Of so many messages to come the players are fetched, who lie anywhere in their tables. */
#define INLET_AHEAD 6u

static void fetch_ahead(struct sim_shard *s, struct sim_inlet *inlet)
{
	for (; inlet->ahead < INLET_AHEAD; inlet->ahead++) {
		const struct msg *message =
			inlet->fetched < inlet->filled
				? &inlet->batch[inlet->fetched]
				: msg_ring_peek(inlet->ring, inlet->fetched - inlet->filled);

		if (!message)
			return;
		DCHECK(message->slots >= 1 && message->slots <= MSG_SLOTS_MAX); /* one begins here */
		if (message->type == MSG_PEER_PACKET)
			sim_seat_prefetch(s, message->peer);
		inlet->fetched += message->slots;
	}
}

/* The next message, NULL when there is none. Valid until the next call. */
static const struct msg *inlet_next(struct sim_shard *s, struct sim_inlet *inlet)
{
	const struct msg *message;

	if (inlet->at == inlet->end) {
		uint32_t slots = msg_ring_pop(inlet->ring, inlet->batch, SIM_SCRATCH_SLOTS);

		inlet->fetched -= inlet->filled;
		DCHECK(inlet->ahead || !inlet->fetched);
		inlet->filled = slots;
		inlet->at = inlet->batch;
		inlet->end = inlet->batch + slots;
		if (s->record)
			sim_record_messages(s->record, inlet->source, inlet->batch, slots);
		if (!slots)
			return NULL;
	}
	fetch_ahead(s, inlet);
	DCHECK(inlet->batch + inlet->fetched > inlet->at);
	inlet->ahead--;
	message = inlet->at;
	inlet->at = msg_next(message);
	return message;
}

/* ---- from the dataplane ---- */

/* The queue is full: the oldest that stands still goes, for it leads nowhere and nobody misses it;
 * where all walk, the oldest, for the newest is what the player wants. */
static void drop_input(struct sim_shard *s, struct sim_player *p)
{
	uint32_t gone = 0, at;

	while (gone < SIM_INPUT_QUEUE) {
		at = (p->input_head + gone) % SIM_INPUT_QUEUE;
		if (!p->input_dx[at] && !p->input_dy[at])
			break;
		gone++;
	}
	sim_count(s, gone < SIM_INPUT_QUEUE ? SIM_INPUTS_SPARED : SIM_INPUTS_DROPPED, 1);
	if (gone == SIM_INPUT_QUEUE)
		gone = 0;
	for (; gone; gone--) {
		uint32_t to = (p->input_head + gone) % SIM_INPUT_QUEUE;

		at = (p->input_head + gone - 1) % SIM_INPUT_QUEUE;
		p->input_sequence[to] = p->input_sequence[at];
		p->input_dx[to] = p->input_dx[at];
		p->input_dy[to] = p->input_dy[at];
	}
	p->input_head = (uint8_t)((p->input_head + 1) % SIM_INPUT_QUEUE);
	p->input_count--;
}

/* Newer inputs than the newest taken go into the queue, oldest first. Sequences wrap; one that is
 * not ahead is a repeat. */
static void take_inputs(
	struct sim_shard *s, struct sim_player *p, const struct sim_client_message *message)
{
	for (uint32_t i = 0; i < message->count; i++) {
		uint32_t sequence = message->first_sequence + i, at;

		if ((int32_t)(sequence - p->received_sequence) <= 0) {
			sim_count(s, SIM_INPUTS_REPEATED, 1);
			continue;
		}
		p->received_sequence = sequence;
		if (p->input_count == SIM_INPUT_QUEUE)
			drop_input(s, p);
		at = (p->input_head + p->input_count++) % SIM_INPUT_QUEUE;
		p->input_sequence[at] = sequence;
		p->input_dx[at] = message->dx[i];
		p->input_dy[at] = message->dy[i];
	}
}

/* What a cycle takes is not known before the first tick has ended. */
static void time_input(struct sim_shard *s, const struct msg *message)
{
	uint32_t cycles = (uint32_t)sim_cycles() - message->received;

	if (s->ns_per_cycle > 0)
		histogram_add(&s->input_time, (uint64_t)((double)cycles * s->ns_per_cycle));
}

static void take_action(struct sim_shard *s, struct sim_map *m, uint32_t slot,
	const struct sim_client_message *message)
{
	struct sim_player *p = sim_player(m, slot);

	if (p->actions == SIM_ACTIONS_QUEUED || m->action_count == m->actions_max) {
		sim_send_refused(s, m, slot, message->type, SW__ACTION_REFUSAL__TOO_OFTEN);
		return;
	}
	p->actions++;
	m->actions[(m->action_head + m->action_count++) % m->actions_max] = (struct sim_action){
		.slot = slot,
		.generation = m->entities[slot].generation,
		.type = message->type,
		.actor_id = message->actor_id,
		.from = message->from,
		.to = message->to,
		.count = message->item_count,
		.trade = message->trade,
		.offer = message->offer,
		.card = message->card,
	};
}

static void from_client(struct sim_shard *s, const struct msg *message)
{
	uint32_t slot;
	struct sim_map *m = sim_seat_find(s, message->peer, &slot);
	struct sim_client_message parsed;
	enum sim_parse result;
	struct sim_player *p;

	if (!m || sim_player(m, slot)->state != SIM_PLAYER_PRESENT ||
		sim_player(m, slot)->leave_wanted) {
		sim_count(s,
			m && sim_player(m, slot)->transferring ? SIM_PACKETS_LEFT_MAP
							       : SIM_PACKETS_STALE,
			1);
		return;
	}
	sim_count(s, SIM_PACKETS, 1);
	p = sim_player(m, slot);
	result = sim_client_message_parse(s->parse_memory, message->channel, msg_payload(message),
		message->payload_bytes, &parsed);
	if (result != SIM_PARSE_OK) {
		sim_count(s, SIM_MALFORMED_EMPTY + (enum sim_counter)result, 1);
		if (++p->malformed == SIM_MALFORMED_MAX) {
			sim_count(s, SIM_LEAVES_MALFORMED, 1);
			sim_log(s, LOG_EVENT_PLAYER_MALFORMED, p->character_id, m->index,
				p->malformed, 0);
			sim_leave_want(m, slot, SW_REASON_MALFORMED, MSG_DISCONNECT);
		}
		return;
	}
	if (parsed.stay != p->stay) {
		sim_count(s, SIM_PACKETS_LEFT_MAP, 1);
		if (parsed.type != SW_MSG_INPUT)
			sim_send_refused(s, m, slot, parsed.type, SW__ACTION_REFUSAL__LEFT_MAP);
		return;
	}
	if (parsed.type == SW_MSG_INPUT) {
		take_inputs(s, p, &parsed);
		if (message->received)
			time_input(s, message);
	} else if (parsed.type == SW_MSG_PARTY_REQUEST) {
		sim_party_request(s, m, slot, &parsed);
	} else {
		take_action(s, m, slot, &parsed);
	}
}

static void peer_gone(struct sim_shard *s, uint64_t peer)
{
	uint32_t slot;
	struct sim_map *m = sim_seat_find(s, peer, &slot);

	if (!m) {
		sim_count(s, SIM_LEAVES_STALE, 1);
		return;
	}
	sim_player(m, slot)->peer_gone = true;
	sim_leave_want(m, slot, SW_REASON_NONE, MSG_DISCONNECT);
}

static uint32_t from_dataplane(struct sim_shard *s, const struct msg *message)
{
	switch (message->type) {
	case MSG_PEER_PACKET:
		from_client(s, message);
		return SIM_COST_MESSAGE + SIM_COST_PARSE;
	case MSG_PEER_GONE:
		peer_gone(s, message->peer);
		break;
	case MSG_ROUTE_END:
		sim_transfer_route_ended(s, message->peer);
		break;
	default:
		sim_count(s, SIM_MESSAGES_UNKNOWN, 1);
	}
	return SIM_COST_MESSAGE;
}

/* ---- from control ---- */

static void player_join(struct sim_shard *s, const struct msg *message)
{
	struct msg_player_join join;
	struct msg_player_refused refused = {0};
	struct msg answer;
	uint8_t *payload;

	memcpy(&join, msg_payload(message), sizeof(join));
	refused.reason = sim_join_begin(s, message->peer, &join);
	if (!refused.reason)
		return;
	refused.session = join.session;
	sim_count(s, SIM_JOINS_REFUSED, 1);
	payload = msg_begin(&answer, MSG_PLAYER_REFUSED, message->peer, sizeof(refused));
	answer.subject = join.session;
	memcpy(payload, &refused, sizeof(refused));
	sim_push(s, s->links.to_control, &answer); /* room was made sure of */
}

static void player_remove(struct sim_shard *s, const struct msg *message)
{
	struct msg_player_remove remove;
	struct sim_map *m;
	uint32_t slot;

	memcpy(&remove, msg_payload(message), sizeof(remove));
	/* By the peer's seat: looking for a session alone would be a walk through every table. */
	m = sim_seat_find(s, message->peer, &slot);
	if (m && sim_player(m, slot)->session == remove.session)
		sim_leave_want(m, slot, remove.reason, MSG_DISCONNECT_LATER);
	else
		sim_count(s, SIM_LEAVES_STALE, 1);
}

static void player_reload(struct sim_shard *s, const struct msg *message)
{
	struct msg_player_reload reload;
	struct sim_map *m;
	uint32_t slot;

	memcpy(&reload, msg_payload(message), sizeof(reload));
	m = sim_seat_find(s, message->peer, &slot);
	if (m && sim_player(m, slot)->session == reload.session)
		sim_commit_reload(m, slot);
}

/* Control hands an instance over; from here on it is this shard's. */
static void instance_open(struct sim_shard *s, const struct msg *message)
{
	struct msg_instance body;
	struct sim_map *m;

	memcpy(&body, msg_payload(message), sizeof(body));
	m = sim_instance_take(s->instances, body.id);
	if (m && !s->by_number[m->number])
		sim_map_open(s, m);
	else
		sim_count(s, SIM_MESSAGES_UNKNOWN, 1);
}

/* Nobody is to come any more: an order of control, which sends no join after it. */
static void instance_close(struct sim_shard *s, const struct msg *message)
{
	struct msg_instance body;
	struct sim_map *m;

	memcpy(&body, msg_payload(message), sizeof(body));
	m = s->by_number[instance_slot(body.id)];
	if (m && m->id == body.id)
		sim_match_close(m);
	sim_count(s, m && m->id == body.id ? SIM_INSTANCES_CLOSED : SIM_INSTANCES_STALE, 1);
}

/* Those of parties are looked at where they are read; UINT32_MAX: not known. */
static uint32_t control_bytes(const struct msg *message)
{
	switch (message->type) {
	case MSG_PLAYER_JOIN:
		return sizeof(struct msg_player_join);
	case MSG_PLAYER_REMOVE:
		return sizeof(struct msg_player_remove);
	case MSG_PLAYER_RELOAD:
		return sizeof(struct msg_player_reload);
	case MSG_INSTANCE_OPEN:
	case MSG_INSTANCE_CLOSE:
		return sizeof(struct msg_instance);
	case MSG_SCRIPT_ORDER:
		return sizeof(struct msg_script);
	case MSG_PARTY_ANSWER:
	case MSG_PARTY_INVITE:
	case MSG_PARTY_STATE:
	case MSG_PARTY_RESYNC:
		return message->payload_bytes;
	case MSG_SHARD_STOP:
		return 0;
	default:
		return UINT32_MAX;
	}
}

static uint32_t from_control(struct sim_shard *s, const struct msg *message)
{
	if (message->payload_bytes != control_bytes(message)) {
		sim_count(s, SIM_MESSAGES_UNKNOWN, 1);
		return SIM_COST_MESSAGE;
	}
	switch (message->type) {
	case MSG_PLAYER_JOIN:
		player_join(s, message);
		return SIM_COST_LIFE;
	case MSG_PLAYER_REMOVE:
		player_remove(s, message);
		return SIM_COST_LIFE;
	case MSG_PLAYER_RELOAD:
		player_reload(s, message);
		break;
	case MSG_INSTANCE_OPEN:
		instance_open(s, message);
		return SIM_COST_LIFE;
	case MSG_INSTANCE_CLOSE:
		instance_close(s, message);
		break;
	case MSG_SCRIPT_ORDER:
		sim_reload_order(s, message);
		break;
	case MSG_PARTY_ANSWER:
	case MSG_PARTY_INVITE:
	case MSG_PARTY_STATE:
	case MSG_PARTY_RESYNC:
		return sim_party_from_control(s, message);
	case MSG_SHARD_STOP:
		s->stopping = true;
		break;
	}
	return SIM_COST_MESSAGE;
}

/* ---- from the world thread ---- */

static uint32_t from_world(struct sim_shard *s, const struct msg *message)
{
	struct msg_detail_result result;
	const struct msg_slot *slots;
	const struct msg_quest *quests;
	struct sim_map *m;
	uint32_t slot = SIM_NONE;
	struct sim_player *p;

	if (message->type == MSG_COMMIT_RESULT &&
		message->payload_bytes == sizeof(struct msg_commit_result)) {
		struct msg_commit_result answer;

		memcpy(&answer, msg_payload(message), sizeof(answer));
		if (!sim_results_answered(s, &answer))
			sim_commit_answered(s, &answer);
		return SIM_COST_MESSAGE;
	}
	if (message->type != MSG_DETAIL_RESULT ||
		!msg_detail_read(message, &result, &slots, &quests)) {
		sim_count(s, SIM_MESSAGES_UNKNOWN, 1);
		return SIM_COST_MESSAGE;
	}
	m = s->by_number[handle_owner(result.request)];
	if (m)
		slot = sim_slot_of_handle(m, result.request);
	/* The character, too: the slot's next instance counts its generations from the start. */
	if (slot == SIM_NONE || slot >= m->player_slots ||
		sim_player(m, slot)->detail != SIM_DETAIL_ASKED ||
		sim_player(m, slot)->character_id != result.character_id) {
		sim_count(s, SIM_DETAIL_STALE, 1);
		return SIM_COST_MESSAGE;
	}
	p = sim_player(m, slot);
	p->detail = SIM_DETAIL_ARRIVED;
	p->detail_result = result.result;
	if (result.result == MSG_LOAD_OK) { /* else what is known stays, until it is asked again */
		p->level = result.level;
		p->gold = result.gold;
		p->appearance = result.appearance & 0xffffff;
		m->purses[slot].experience = result.experience;
		sim_bag_load(m, slot, slots, result.slots);
		sim_quests_load(m, slot, quests, result.quests);
	}
	sim_lazy_push(m, &m->arrived, slot);
	return SIM_COST_MESSAGE + COMMIT_SLOTS_MAX * SIM_COST_SLOT;
}

bool sim_inlets_drain(struct sim_shard *s, struct sim_slice *slice)
{
	const struct msg *message;
	bool any = false;

	/* A join may have to be refused: its answer needs room, or it waits in its ring. */
	while (slice->left > 0 && sim_has_room(s, s->links.to_control) &&
		(message = inlet_next(s, &s->control))) {
		slice->left -= from_control(s, message);
		any = true;
	}
	while (slice->left > 0 && (message = inlet_next(s, &s->world))) {
		slice->left -= from_world(s, message);
		any = true;
	}
	/* A worker that fills its ring must not starve the next: each drain starts one further. */
	for (uint32_t i = 0; i < s->links.workers; i++) {
		struct sim_inlet *inlet = &s->dataplane[(s->worker_next + i) % s->links.workers];

		while (slice->left > 0 && (message = inlet_next(s, inlet))) {
			slice->left -= from_dataplane(s, message);
			any = true;
		}
	}
	if (any) /* a step in which nothing happens changes nothing: a recording leaves it out */
		s->worker_next = (s->worker_next + 1) % s->links.workers;
	return any;
}
