#include "client/session.h"

#include <stdlib.h>
#include <string.h>

#include "proto/client.pb-c.h"
#include "proto/message_types.h"

void swc_session_init(
	struct swc_session *session, const struct swc_session_ops *ops, uint32_t actors_max)
{
	*session = (struct swc_session){.ops = *ops};
	swc_view_init(&session->view, actors_max);
}

void swc_session_free(struct swc_session *session)
{
	swc_view_free(&session->view);
}

void swc_session_send(struct swc_session *session, uint8_t channel, bool reliable, uint8_t type,
	const struct ProtobufCMessage *message)
{
	uint8_t packet[2 * SWC_TICKET_BYTES_MAX];
	size_t bytes = 1 + protobuf_c_message_get_packed_size(message);

	if (bytes > sizeof(packet)) /* cannot be: swc_open bounds what a caller hands in */
		abort();
	packet[0] = type;
	protobuf_c_message_pack(message, packet + 1);
	session->ops.send(session->ops.ctx, channel, reliable, packet, (uint32_t)bytes);
}

static void send_hello(struct swc_session *session, Sw__Solution *solution)
{
	Sw__Hello hello = SW__HELLO__INIT;

	hello.protocol_version = session->hello.protocol_version;
	hello.ticket.data = (uint8_t *)session->hello.ticket;
	hello.ticket.len = session->hello.ticket_bytes;
	hello.pass.data = (uint8_t *)session->hello.pass;
	hello.pass.len = session->hello.pass_bytes;
	hello.place.data = session->place;
	hello.place.len = session->place_bytes;
	hello.client_build = (char *)session->hello.client_build;
	hello.solution = solution;
	hello.redirects = !session->hello.stays;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_HELLO, &hello.base);
}

void swc_session_connected(struct swc_session *session, const struct swc_hello *hello)
{
	session->hello = *hello;
	session->state = SWC_ADMITTING;
	session->challenged = false;
	session->chat.count = 0; /* a connection begins in none */
	session->redirect.wanted = false;
	session->trial_refused = 0;
	session->ops.event(session->ops.ctx, &(struct swc_event){.type = SWC_EVENT_CONNECTED});
	send_hello(session, NULL);
}

void swc_session_redirect_failed(struct swc_session *session, uint32_t reason)
{
	Sw__RedirectFailed failed = SW__REDIRECT_FAILED__INIT;

	failed.reason = reason;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_REDIRECT_FAILED, &failed.base);
}

void swc_session_work(struct swc_session *session, uint32_t hashes)
{
	Sw__Solution solution = SW__SOLUTION__INIT;

	if (session->state != SWC_ADMITTING || !swc_proof_step(&session->proof, hashes))
		return;
	solution.challenge.data = session->proof.challenge;
	solution.challenge.len = SW_PROOF_CHALLENGE_BYTES;
	solution.number = session->proof.number;
	send_hello(session, &solution);
}

void swc_session_click(struct swc_session *session, uint32_t actor_id)
{
	Sw__Click click = SW__CLICK__INIT;

	click.actor_id = actor_id;
	click.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_CLICK, &click.base);
}

void swc_session_pick(struct swc_session *session, uint32_t offer, uint32_t card)
{
	Sw__CardPick pick = SW__CARD_PICK__INIT;

	pick.offer = offer;
	pick.card = card;
	pick.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_CARD_PICK, &pick.base);
}

void swc_session_attack(struct swc_session *session, uint32_t actor_id)
{
	Sw__Attack attack = SW__ATTACK__INIT;

	attack.actor_id = actor_id;
	attack.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_ATTACK, &attack.base);
}

void swc_session_pick_up(struct swc_session *session, uint32_t actor_id)
{
	Sw__PickUp pick = SW__PICK_UP__INIT;

	pick.actor_id = actor_id;
	pick.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_PICK_UP, &pick.base);
}

void swc_session_move_item(struct swc_session *session, uint32_t from, uint32_t to, uint32_t count)
{
	Sw__MoveItem move = SW__MOVE_ITEM__INIT;

	move.from = from;
	move.to = to;
	move.count = count;
	move.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_MOVE_ITEM, &move.base);
}

void swc_session_drop_item(struct swc_session *session, uint32_t slot, uint32_t count)
{
	Sw__DropItem drop = SW__DROP_ITEM__INIT;

	drop.slot = slot;
	drop.count = count;
	drop.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_DROP_ITEM, &drop.base);
}

void swc_session_trade_ask(struct swc_session *session, uint32_t actor_id)
{
	Sw__TradeRequest request = SW__TRADE_REQUEST__INIT;

	request.actor_id = actor_id;
	request.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_TRADE_REQUEST, &request.base);
}

void swc_session_trade_offer(
	struct swc_session *session, uint32_t trade, int kind, uint32_t slot, int64_t amount)
{
	Sw__TradeOffer offer = SW__TRADE_OFFER__INIT;

	offer.trade = trade;
	offer.stay = session->stay;
	offer.kind = (Sw__TradeOfferKind)kind;
	offer.slot = slot;
	offer.amount = amount;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_TRADE_OFFER, &offer.base);
}

void swc_session_trade_confirm(struct swc_session *session, uint32_t trade, uint32_t version)
{
	Sw__TradeConfirm confirm = SW__TRADE_CONFIRM__INIT;

	confirm.trade = trade;
	confirm.stay = session->stay;
	confirm.version = version;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_TRADE_CONFIRM, &confirm.base);
}

void swc_session_trade_cancel(struct swc_session *session, uint32_t trade)
{
	Sw__TradeCancel cancel = SW__TRADE_CANCEL__INIT;

	cancel.trade = trade;
	cancel.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_TRADE_CANCEL, &cancel.base);
}

void swc_session_answer(struct swc_session *session, uint32_t question, uint32_t choice)
{
	Sw__DialogueAnswer answer = SW__DIALOGUE_ANSWER__INIT;

	answer.question = question;
	answer.choice = choice;
	answer.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_DIALOGUE_ANSWER, &answer.base);
}

void swc_session_abandon(struct swc_session *session, uint32_t quest)
{
	Sw__QuestAbandon abandon = SW__QUEST_ABANDON__INIT;

	abandon.quest = quest;
	abandon.stay = session->stay;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_QUEST_ABANDON, &abandon.base);
}

void swc_session_party(struct swc_session *session, uint64_t request, int act,
	uint64_t character_id, const char *name)
{
	Sw__PartyRequest words = SW__PARTY_REQUEST__INIT;

	words.request = request;
	words.stay = session->stay;
	words.act = (Sw__PartyAct)act;
	words.character_id = character_id;
	if (name)
		words.name = (char *)name;
	swc_session_send(session, SW_CHANNEL_SESSION, true, SW_MSG_PARTY_REQUEST, &words.base);
}

bool swc_session_use_ground(struct swc_session *session, const struct swc_ground *ground)
{
	if (session->ground_count == SWC_GROUNDS_MAX)
		return false;
	session->grounds[session->ground_count++] = ground;
	if (session->joined && session->self.walls == SWC_WALLS_UNKNOWN)
		swc_session_find_ground(session);
	return true;
}

void swc_session_find_ground(struct swc_session *session)
{
	struct swc_self *self = &session->self;
	struct sw_move_map *map = &session->prediction.map;

	session->ground = NULL;
	map->ground = NULL;
	map->radius_mm = 0;
	self->walls = self->ground_hash ? SWC_WALLS_UNKNOWN : SWC_WALLS_NONE;
	for (uint32_t i = 0; i < session->ground_count && !session->ground; i++) {
		const struct sw_ground *ground = session->grounds[i]->value;

		/* Equal hashes mean equal walls; that all of it fits is the server's word. */
		if (ground->hash != self->ground_hash || ground->width_mm != self->width_mm ||
			ground->height_mm != self->height_mm ||
			2 * self->radius_mm >= ground->tile_mm)
			continue;
		session->ground = session->grounds[i];
		self->walls = SWC_WALLS_KNOWN;
		map->ground = ground;
		map->radius_mm = self->radius_mm;
	}
}

void swc_session_walk(struct swc_session *session, int dx, int dy)
{
	const int full = 127;

	dx = dx < -full ? -full : dx > full ? full : dx;
	dy = dy < -full ? -full : dy > full ? full : dy;
	/* Corners of the square are up to 1.42 times too long. */
	if (dx * dx + dy * dy > full * full) {
		int long_dx = dx, long_dy = dy;

		for (int scale = full; dx * dx + dy * dy > full * full; scale--) {
			dx = long_dx * scale / 128;
			dy = long_dy * scale / 128;
		}
	}
	session->walk_dx = (int8_t)dx;
	session->walk_dy = (int8_t)dy;
}

/* The newest input and those before it, so that a lost datagram costs nothing. */
static void send_inputs(struct swc_session *session)
{
	Sw__Input input[SWC_BATCH_INPUTS];
	Sw__Input *inputs[SWC_BATCH_INPUTS];
	Sw__InputBatch batch = SW__INPUT_BATCH__INIT;
	uint32_t newest = session->prediction.newest;
	uint32_t count = session->prediction.kept;

	if (count > SWC_BATCH_INPUTS)
		count = SWC_BATCH_INPUTS;
	if (!count)
		return;
	batch.first_sequence = newest - count + 1;
	for (uint32_t i = 0; i < count; i++) {
		const struct swc_input *kept =
			swc_prediction_kept(&session->prediction, batch.first_sequence + i);

		sw__input__init(&input[i]);
		input[i].dx = kept->dx;
		input[i].dy = kept->dy;
		inputs[i] = &input[i];
	}
	batch.stay = session->stay;
	batch.n_inputs = count;
	batch.inputs = inputs;
	session->stats.batches++;
	session->input_tries++;
	swc_session_send(session, SW_CHANNEL_WORLD, false, SW_MSG_INPUT, &batch.base);
}

void swc_session_self_predicted(struct swc_session *session)
{
	const struct swc_prediction *prediction = &session->prediction;

	session->self.x_mm = prediction->now.x_mm;
	session->self.y_mm = prediction->now.y_mm;
	session->self.heading = prediction->now.heading;
	session->self.input_sequence = prediction->newest;
	session->stats.inputs_forgotten = prediction->forgotten;
}

uint64_t swc_session_interval_ns(const struct swc_session *session)
{
	return swc_pace_interval_ns(&session->pace, session->self.tick_hz);
}

void swc_session_tick(struct swc_session *session)
{
	struct swc_prediction *prediction = &session->prediction;
	const struct swc_input *newest = swc_prediction_kept(prediction, prediction->newest);
	bool walking = session->walk_dx || session->walk_dy;
	bool stopping = !walking && newest && (newest->dx || newest->dy);

	if (session->state != SWC_PLAYING)
		return;
	/* Who is dead walks nowhere; the server would take what it made and put it back. What was
	 * made before is still told until it is answered. */
	if (session->self.health_max && !session->self.health)
		walking = stopping = false;
	if (walking || stopping) {
		swc_prediction_input(prediction, session->walk_dx, session->walk_dy);
		session->stats.inputs++;
		session->input_tries = 0;
		swc_session_self_predicted(session);
		send_inputs(session);
		return;
	}
	/* At rest, but the server has not confirmed the stop: its datagram may be lost. Every tick
	 * at first, then ever more seldom. */
	if (prediction->newest != session->self.input_applied) {
		if (session->input_tries < 8 || session->input_tries % 8 == 0)
			send_inputs(session);
		else
			session->input_tries++;
	}
}
