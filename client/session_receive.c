/* What comes from the server: unpacked, checked, and turned into state and events. */
#include "client/session.h"

#include <string.h>

#include "client/session_chat.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

/* A ViewChange of a full view is the largest message; the rest stays far below. */
#define PACKET_BYTES_MAX (1024u * 1024u)
#define LENGTH_MM_MAX    (1u << 30)
#define TICK_HZ_MAX      240u
#define SPEED_MM_MAX     1000000u
#define RADIUS_MM_MAX    (SW_GROUND_TILE_MM_MAX / 2)

static void emit(struct swc_session *session, const struct swc_event *event)
{
	session->ops.event(session->ops.ctx, event);
}

static bool text_fits(const char *text, size_t bytes_max)
{
	return strnlen(text, bytes_max) < bytes_max;
}

static void copy_text(char *to, size_t to_bytes, const char *from)
{
	size_t bytes = strnlen(from, to_bytes - 1);

	memcpy(to, from, bytes);
	to[bytes] = '\0';
}

static enum swc_refusal on_queued(struct swc_session *session, const Sw__Queued *message)
{
	struct swc_event event = {.type = SWC_EVENT_QUEUED};

	if (session->state != SWC_ADMITTING && session->state != SWC_QUEUED)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (message->place.len > sizeof(session->place))
		return SWC_REFUSAL_OUT_OF_RANGE;
	session->state = SWC_QUEUED;
	session->redirect.wanted = false; /* it has its place here again */
	if (message->place.len) {
		memcpy(session->place, message->place.data, message->place.len);
		session->place_bytes = (uint32_t)message->place.len;
	}
	event.queued.state = (uint32_t)message->state;
	event.queued.position = message->position;
	event.queued.wait_ms = message->wait_ms;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_admitted(struct swc_session *session, const Sw__Admitted *message)
{
	struct swc_event event = {.type = SWC_EVENT_ADMITTED};

	if (session->state != SWC_ADMITTING && session->state != SWC_QUEUED)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (!text_fits(message->map, SWC_NAME_BYTES) ||
		!text_fits(message->node, SWC_TEXT_BYTES_MAX))
		return SWC_REFUSAL_OUT_OF_RANGE;
	session->state = SWC_LOADING;
	session->redirect.wanted = false;
	session->self.character_id = message->character_id;
	event.admitted.character_id = message->character_id;
	event.admitted.map = message->map;
	event.admitted.node = message->node;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_refused(struct swc_session *session, const Sw__Refused *message)
{
	struct swc_event event = {.type = SWC_EVENT_REFUSED};

	if (!text_fits(message->text, SWC_TEXT_BYTES_MAX))
		return SWC_REFUSAL_OUT_OF_RANGE;
	if (session->trial && session->state < SWC_LOADING) {
		session->trial_refused = message->reason ? message->reason : SW_REASON_TRY_LATER;
		return SWC_REFUSAL_COUNT;
	}
	session->refused_reason = message->reason;
	copy_text(session->refused_text, sizeof(session->refused_text),
		message->text[0] ? message->text : swc_reason_text(message->reason));
	event.refused.reason = message->reason;
	event.refused.text = session->refused_text;
	event.refused.retry_after_ms = message->retry_after_ms;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

/* Work that is more than this client is willing to do is not begun: the server will say that it had
 * none in time. */
static enum swc_refusal on_challenge(struct swc_session *session, const Sw__Challenge *message)
{
	struct swc_event event = {.type = SWC_EVENT_CHALLENGED};

	if (session->state != SWC_ADMITTING || session->challenged)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (message->challenge.len != SW_PROOF_CHALLENGE_BYTES || !message->bits ||
		message->bits > SW_PROOF_BITS_MAX)
		return SWC_REFUSAL_OUT_OF_RANGE;
	session->challenged = true;
	session->proof_ms = message->good_for_ms;
	if (message->bits <= session->proof_bits_max)
		swc_proof_begin(&session->proof, message->challenge.data, message->bits);
	event.challenged.bits = message->bits;
	event.challenged.good_for_ms = message->good_for_ms;
	event.challenged.accepted = session->proof.wanted;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_return_pass(struct swc_session *session, const Sw__ReturnPass *message)
{
	struct swc_event event = {.type = SWC_EVENT_PASS};

	if (session->state < SWC_ADMITTING || session->state > SWC_PLAYING)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (!message->pass.len || message->pass.len > SWC_PASS_BYTES_MAX)
		return SWC_REFUSAL_OUT_OF_RANGE;
	session->pass_bytes = (uint32_t)message->pass.len;
	memcpy(session->pass, message->pass.data, session->pass_bytes);
	event.pass.bytes = session->pass;
	event.pass.count = session->pass_bytes;
	event.pass.good_for_s = message->good_for_s;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

/* "a.b.c.d:port" to host and port. That it is an address at all, whoever connects finds out. */
static bool address_split(const char *address, char host[16], uint16_t *port)
{
	size_t bytes = strspn(address, "0123456789.");
	uint32_t number = 0;

	if (bytes < 7 || bytes > 15 || address[bytes] != ':')
		return false;
	memcpy(host, address, bytes);
	host[bytes] = '\0';
	for (address += bytes + 1; *address; address++) {
		if (*address < '0' || *address > '9' || number > UINT16_MAX)
			return false;
		number = number * 10 + (uint32_t)(*address - '0');
	}
	*port = (uint16_t)number;
	return number > 0 && number <= UINT16_MAX;
}

static enum swc_refusal on_redirect(struct swc_session *session, const Sw__Redirect *message)
{
	struct swc_event event = {.type = SWC_EVENT_REDIRECTED};

	if (session->state < SWC_ADMITTING || session->state >= SWC_LOADING ||
		session->redirect.wanted)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (!message->pass.len || message->pass.len > SWC_PASS_BYTES_MAX ||
		!address_split(
			message->address, session->redirect.host, &session->redirect.port))
		return SWC_REFUSAL_OUT_OF_RANGE;
	session->redirect.pass_bytes = (uint32_t)message->pass.len;
	memcpy(session->redirect.pass, message->pass.data, message->pass.len);
	session->redirect.wanted = true;
	session->proof.wanted = false;
	event.redirected.address = message->address;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static bool later(uint32_t stay, uint32_t than)
{
	return (int32_t)(stay - than) > 0;
}

/* The view is a new stay's. Channels 0 and 3 are not ordered against each other: its first
 * ViewChange may come before its Joined, and the last ones of the map that was left after that. */
static void view_begin(struct swc_session *session, uint32_t stay)
{
	session->view_stay = stay;
	session->view_sequence = 0;
	swc_view_clear(&session->view);
}

static enum swc_refusal on_joined(struct swc_session *session, const Sw__Joined *message)
{
	struct swc_self *self = &session->self;
	struct sw_move_map map = {0};
	struct sw_move_state at = {.moving_mm_per_s = 0};

	if (session->state != SWC_LOADING && session->state != SWC_PLAYING)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (!message->actor_id || !message->width_mm || message->width_mm > LENGTH_MM_MAX ||
		!message->height_mm || message->height_mm > LENGTH_MM_MAX || message->x_mm < 0 ||
		(uint32_t)message->x_mm >= message->width_mm || message->y_mm < 0 ||
		(uint32_t)message->y_mm >= message->height_mm || message->heading > UINT16_MAX ||
		!message->tick_hz || message->tick_hz > TICK_HZ_MAX ||
		message->speed_mm_per_s > SPEED_MM_MAX || message->radius_mm > RADIUS_MM_MAX ||
		!text_fits(message->map, SWC_NAME_BYTES))
		return SWC_REFUSAL_OUT_OF_RANGE;

	session->state = SWC_PLAYING;
	session->joined = true;
	session->stay = message->stay;
	if (later(message->stay, session->view_stay))
		view_begin(session, message->stay);
	self->actor_id = message->actor_id;
	copy_text(self->map, sizeof(self->map), message->map);
	self->width_mm = message->width_mm;
	self->height_mm = message->height_mm;
	self->tick_hz = message->tick_hz;
	self->speed_mm_per_s = message->speed_mm_per_s;
	self->ground_hash = message->ground_hash;
	self->radius_mm = message->radius_mm;
	self->join_x_mm = self->server_x_mm = message->x_mm;
	self->join_y_mm = self->server_y_mm = message->y_mm;
	self->server_tick = message->tick;
	map.width_mm = message->width_mm;
	map.height_mm = message->height_mm;
	map.tick_hz = message->tick_hz;
	at.x_mm = message->x_mm;
	at.y_mm = message->y_mm;
	at.heading = (uint16_t)message->heading;
	swc_pace_join(&session->pace);
	swc_prediction_join(&session->prediction, &map, message->speed_mm_per_s, &at);
	swc_session_find_ground(session);
	self->input_applied = session->prediction.newest;
	swc_session_self_predicted(session);
	swc_view_leave(&session->view, self->actor_id); /* a ViewChange before Joined may name us */
	emit(session, &(struct swc_event){.type = SWC_EVENT_JOINED});
	/* JOINED's handler may have given the right one. */
	if (self->walls == SWC_WALLS_UNKNOWN)
		emit(session, &(struct swc_event){.type = SWC_EVENT_WALLS_UNKNOWN});
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_detail(struct swc_session *session, const Sw__CharacterDetail *message)
{
	struct swc_event event = {.type = SWC_EVENT_DETAIL};

	event.detail.level = message->level;
	event.detail.gold = message->gold;
	event.detail.appearance = message->appearance;
	event.detail.experience = message->experience;
	event.detail.gold_pending = message->gold_pending;
	event.detail.experience_pending = message->experience_pending;
	event.detail.health = message->health;
	event.detail.health_max = message->health_max;
	session->self.health = message->health;
	session->self.health_max = message->health_max;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_dialogue(struct swc_session *session, const Sw__Dialogue *message)
{
	struct swc_event event = {.type = SWC_EVENT_DIALOGUE};

	if (!text_fits(message->text, SWC_TEXT_BYTES_MAX) || message->n_choices > SWC_CHOICES_MAX ||
		(message->n_choices && !message->question))
		return SWC_REFUSAL_OUT_OF_RANGE;
	for (size_t i = 0; i < message->n_choices; i++)
		if (!text_fits(message->choices[i], SWC_TEXT_BYTES_MAX))
			return SWC_REFUSAL_OUT_OF_RANGE;
	session->stats.dialogues++;
	event.dialogue.actor_id = message->actor_id;
	event.dialogue.text = message->text;
	event.dialogue.question = message->question;
	event.dialogue.choices = (uint32_t)message->n_choices;
	event.dialogue.choice = (const char *const *)message->choices;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal take_quests(
	struct swc_session *session, Sw__Quest *const *quests, size_t count, bool all)
{
	struct swc_event event = {.type = SWC_EVENT_QUESTS};
	struct swc_quest list[SWC_QUESTS_MAX];

	if (!session->joined)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (count > SWC_QUESTS_MAX)
		return SWC_REFUSAL_OUT_OF_RANGE;
	for (size_t i = 0; i < count; i++) {
		const Sw__Quest *quest = quests[i];

		if (!quest->quest || !text_fits(quest->title, SWC_TEXT_BYTES_MAX) ||
			!text_fits(quest->text, SWC_TEXT_BYTES_MAX))
			return SWC_REFUSAL_OUT_OF_RANGE;
		list[i] = (struct swc_quest){.quest = quest->quest,
			.phase = (uint32_t)quest->phase,
			.step = quest->step,
			.count = quest->count,
			.pending = quest->pending,
			.need = quest->need,
			.item = quest->item,
			.again_s = quest->again_s,
			.title = quest->title,
			.text = quest->text};
	}
	event.quests.all = all;
	event.quests.count = (uint32_t)count;
	event.quests.quest = list;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_quest_log(struct swc_session *session, const Sw__QuestLog *message)
{
	return take_quests(session, message->quests, message->n_quests, true);
}

static enum swc_refusal on_quest_update(struct swc_session *session, const Sw__QuestUpdate *message)
{
	return take_quests(session, message->quests, message->n_quests, false);
}

static enum swc_refusal on_denied(struct swc_session *session, const Sw__ActionRefused *message)
{
	struct swc_event event = {.type = SWC_EVENT_ACTION_DENIED};

	event.denied.action = message->action;
	event.denied.reason = message->reason;
	event.denied.text = swc_denied_text(message->reason);
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_combat(struct swc_session *session, const Sw__CombatEvents *message)
{
	/* Actor ids mean something on their own map only. */
	if (message->stay != session->view_stay) {
		session->stats.blows_other_stay += message->n_events;
		return SWC_REFUSAL_COUNT;
	}
	for (size_t i = 0; i < message->n_events; i++) {
		const Sw__CombatEvent *blow = message->events[i];
		struct swc_event event = {.type = SWC_EVENT_COMBAT};
		struct swc_actor *actor = swc_view_find(&session->view, blow->target);

		/* One of the two may be out of view. */
		if (actor)
			actor->health = blow->health;
		else if (session->joined && message->stay == session->stay &&
			 blow->target == session->self.actor_id)
			session->self.health = blow->health;
		session->stats.blows++;
		event.combat.attacker = blow->attacker;
		event.combat.target = blow->target;
		event.combat.damage = blow->damage;
		event.combat.health = blow->health;
		emit(session, &event);
	}
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_inventory(struct swc_session *session, const Sw__Inventory *message)
{
	struct swc_event event = {.type = SWC_EVENT_INVENTORY};
	struct swc_stack stacks[SWC_STACKS_MAX];

	if (message->n_stacks > SWC_STACKS_MAX)
		return SWC_REFUSAL_OUT_OF_RANGE;
	for (size_t i = 0; i < message->n_stacks; i++)
		stacks[i] = (struct swc_stack){.slot = message->stacks[i]->slot,
			.item = message->stacks[i]->item,
			.count = message->stacks[i]->count};
	event.inventory.stacks = stacks;
	event.inventory.count = (uint32_t)message->n_stacks;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static bool read_side(
	const Sw__TradeSide *side, struct swc_stack *stacks, struct swc_trade_side *out)
{
	*out = (struct swc_trade_side){.stacks = stacks};
	if (!side) /* protobuf leaves out what is empty */
		return true;
	if (side->n_items > SWC_STACKS_MAX || side->gold < 0)
		return false;
	for (size_t i = 0; i < side->n_items; i++)
		stacks[i] = (struct swc_stack){.slot = side->items[i]->slot,
			.item = side->items[i]->item,
			.count = side->items[i]->count};
	out->count = (uint32_t)side->n_items;
	out->gold = side->gold;
	out->confirmed = side->confirmed;
	return true;
}

static enum swc_refusal on_trade(struct swc_session *session, const Sw__TradeState *message)
{
	struct swc_event event = {.type = SWC_EVENT_TRADE};
	struct swc_stack stacks[2][SWC_STACKS_MAX];

	if (!message->trade || !read_side(message->own, stacks[0], &event.trade.own) ||
		!read_side(message->other, stacks[1], &event.trade.other))
		return SWC_REFUSAL_OUT_OF_RANGE;
	event.trade.trade = message->trade;
	event.trade.version = message->version;
	event.trade.partner = message->partner;
	event.trade.phase = message->phase <= SW__TRADE_PHASE__PHASE_UNDER_WAY
				    ? (enum swc_trade_phase)message->phase
				    : SWC_TRADE_NONE;
	event.trade.asked = message->asked;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

/* From here on the server moves it so fast. */
static bool own_speed(struct swc_session *session, uint32_t speed_mm_per_s)
{
	if (speed_mm_per_s > SPEED_MM_MAX)
		return false;
	session->self.speed_mm_per_s = session->prediction.speed_mm_per_s = speed_mm_per_s;
	return true;
}

static enum swc_refusal on_match(struct swc_session *session, const Sw__MatchState *message)
{
	struct swc_event event = {.type = SWC_EVENT_MATCH};

	if (!session->joined)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (!own_speed(session, message->speed_mm_per_s))
		return SWC_REFUSAL_OUT_OF_RANGE;
	event.match = (struct swc_match){.phase = (uint32_t)message->phase,
		.left_ms = message->left_ms,
		.players = message->players,
		.zone_x_mm = message->zone_x_mm,
		.zone_y_mm = message->zone_y_mm,
		.zone_radius_mm = message->zone_radius_mm,
		.next_radius_mm = message->next_radius_mm,
		.shrink_ms = message->shrink_ms,
		.damage_per_s = message->damage_per_s};
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_trade_ended(struct swc_session *session, const Sw__TradeEnded *message)
{
	struct swc_event event = {.type = SWC_EVENT_TRADE_ENDED};

	if (!message->trade)
		return SWC_REFUSAL_OUT_OF_RANGE;
	event.trade_ended.trade = message->trade;
	event.trade_ended.reason = (uint32_t)message->reason;
	event.trade_ended.partner = message->partner;
	event.trade_ended.text = swc_trade_end_text((uint32_t)message->reason);
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

/* ---- party ---- */

static enum swc_refusal on_party(struct swc_session *session, const Sw__PartyState *message)
{
	struct swc_event event = {.type = SWC_EVENT_PARTY};
	struct swc_party_member members[SWC_PARTY_MEMBERS_MAX] = {{0}};
	bool own = false, led = false;

	if (message->n_members > SWC_PARTY_MEMBERS_MAX || !message->version ||
		!message->party != !message->n_members)
		return SWC_REFUSAL_OUT_OF_RANGE;
	for (size_t i = 0; i < message->n_members; i++) {
		const Sw__PartyMember *from = message->members[i];

		if (!from->character_id || !text_fits(from->name, SWC_NAME_BYTES) ||
			!text_fits(from->map, SWC_NAME_BYTES))
			return SWC_REFUSAL_OUT_OF_RANGE;
		members[i].character_id = from->character_id;
		members[i].online = from->online;
		strcpy(members[i].name, from->name);
		strcpy(members[i].map, from->map);
		own |= from->character_id == session->self.character_id;
		led |= from->character_id == message->leader;
	}
	if (message->party && (!own || !led))
		return SWC_REFUSAL_OUT_OF_RANGE;
	if (message->version < session->party_version)
		return SWC_REFUSAL_COUNT; /* older than what is known */
	session->party_version = message->version;
	event.party.party = message->party;
	event.party.version = message->version;
	event.party.leader_id = message->leader;
	event.party.members = members;
	event.party.count = (uint32_t)message->n_members;
	event.party.change = (uint32_t)message->change;
	event.party.subject_id = message->subject;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_party_answer(struct swc_session *session, const Sw__PartyAnswer *message)
{
	struct swc_event event = {.type = SWC_EVENT_PARTY_ANSWER};

	event.party_answer.request = message->request;
	event.party_answer.act = (uint32_t)message->act;
	event.party_answer.result = (uint32_t)message->result;
	event.party_answer.text = swc_party_result_text((uint32_t)message->result);
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_party_invite(struct swc_session *session, const Sw__PartyInvite *message)
{
	struct swc_event event = {.type = SWC_EVENT_PARTY_INVITE};

	if (!message->character_id || !text_fits(message->name, SWC_NAME_BYTES))
		return SWC_REFUSAL_OUT_OF_RANGE;
	event.party_invite.character_id = message->character_id;
	event.party_invite.name = message->name;
	event.party_invite.left_ms = message->left_ms;
	event.party_invite.declined = message->declined;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_party_live(struct swc_session *session, const Sw__PartyLive *message)
{
	struct swc_event event = {.type = SWC_EVENT_PARTY_LIVE};
	struct swc_party_live live[SWC_PARTY_MEMBERS_MAX];

	if (!message->party || message->n_members > SWC_PARTY_MEMBERS_MAX)
		return SWC_REFUSAL_OUT_OF_RANGE;
	for (size_t i = 0; i < message->n_members; i++) {
		const Sw__PartyMemberLive *from = message->members[i];

		live[i] = (struct swc_party_live){.character_id = from->character_id,
			.actor_id = from->actor_id,
			.x_mm = from->x_mm,
			.y_mm = from->y_mm,
			.health = from->health,
			.health_max = from->health_max,
			.level = from->level};
	}
	event.party_live.party = message->party;
	event.party_live.members = live;
	event.party_live.count = (uint32_t)message->n_members;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_cards(struct swc_session *session, const Sw__CardOffer *message)
{
	struct swc_event event = {.type = SWC_EVENT_CARDS};
	struct swc_card cards[SWC_CARDS_MAX] = {{0}};

	if (!session->joined)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (!message->n_cards || message->n_cards > SWC_CARDS_MAX)
		return SWC_REFUSAL_OUT_OF_RANGE;
	for (size_t i = 0; i < message->n_cards; i++) {
		const Sw__MatchCard *card = message->cards[i];

		if (!text_fits(card->name, SWC_NAME_BYTES))
			return SWC_REFUSAL_OUT_OF_RANGE;
		cards[i].number = card->number;
		cards[i].attack = card->attack;
		cards[i].defence = card->defence;
		cards[i].health = card->health;
		cards[i].speed_permille = card->speed_permille;
		copy_text(cards[i].name, sizeof(cards[i].name), card->name);
	}
	event.cards.offer = message->offer;
	event.cards.left_ms = message->left_ms;
	event.cards.count = (uint32_t)message->n_cards;
	event.cards.card = cards;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_taken(struct swc_session *session, const Sw__CardTaken *message)
{
	struct swc_event event = {.type = SWC_EVENT_CARD_TAKEN};

	if (!session->joined)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (!own_speed(session, message->speed_mm_per_s))
		return SWC_REFUSAL_OUT_OF_RANGE;
	event.card_taken.offer = message->offer;
	event.card_taken.card = message->card;
	event.card_taken.by_default = message->by_default;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static enum swc_refusal on_result(struct swc_session *session, const Sw__MatchResult *message)
{
	struct swc_event event = {.type = SWC_EVENT_RESULT};
	struct swc_rank ranks[SWC_RANKS_MAX];

	if (!session->joined)
		return SWC_REFUSAL_OUT_OF_ORDER;
	if (message->n_ranks > SWC_RANKS_MAX)
		return SWC_REFUSAL_OUT_OF_RANGE;
	for (size_t i = 0; i < message->n_ranks; i++) {
		if (!text_fits(message->ranks[i]->name, SWC_NAME_BYTES))
			return SWC_REFUSAL_OUT_OF_RANGE;
		ranks[i].place = message->ranks[i]->place;
		ranks[i].actor_id = message->ranks[i]->actor_id;
		copy_text(ranks[i].name, sizeof(ranks[i].name), message->ranks[i]->name);
	}
	event.result.draw = message->draw;
	event.result.count = (uint32_t)message->n_ranks;
	event.result.rank = ranks;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static uint64_t distance_mm(int64_t dx, int64_t dy)
{
	/* The larger axis: near enough to tell a nudge from a jump. */
	dx = dx < 0 ? -dx : dx;
	dy = dy < 0 ? -dy : dy;
	return (uint64_t)(dx > dy ? dx : dy);
}

static void own_state(
	struct swc_session *session, const Sw__WorldUpdate *update, const Sw__EntityState *state)
{
	struct swc_event event = {.type = SWC_EVENT_CORRECTED};
	struct swc_self *self = &session->self;

	if ((int32_t)(update->tick - self->server_tick) < 0) {
		session->stats.states_old++;
		return;
	}
	self->server_tick = update->tick;
	self->server_x_mm = state->x_mm;
	self->server_y_mm = state->y_mm;
	event.corrected.from_x_mm = self->x_mm;
	event.corrected.from_y_mm = self->y_mm;
	if (!swc_prediction_reconcile(&session->prediction, update->input_sequence, state->x_mm,
		    state->y_mm, (uint16_t)state->heading))
		return;
	swc_session_self_predicted(session);
	event.corrected.to_x_mm = self->x_mm;
	event.corrected.to_y_mm = self->y_mm;
	session->stats.corrections++;
	uint64_t moved = distance_mm((int64_t)self->x_mm - event.corrected.from_x_mm,
		(int64_t)self->y_mm - event.corrected.from_y_mm);
	if (moved > session->stats.correction_mm_max)
		session->stats.correction_mm_max = moved;
	emit(session, &event);
}

static enum swc_refusal on_update(struct swc_session *session, const Sw__WorldUpdate *message)
{
	struct swc_event event = {.type = SWC_EVENT_UPDATE};
	enum swc_refusal verdict = SWC_REFUSAL_COUNT;
	uint32_t newest = session->prediction.newest;

	session->stats.updates++;
	/* Of the map that was left, or, if Joined was lost and comes again, of the next one. */
	if (session->joined && message->stay != session->stay) {
		session->stats.updates_other_stay++;
		return SWC_REFUSAL_COUNT;
	}
	/* An input sequence that was never made would end all confirmation: not taken. */
	if (message->input_sequence > newest)
		return SWC_REFUSAL_OUT_OF_RANGE;
	if (session->joined && message->input_sequence > session->self.input_applied) {
		session->self.input_applied = message->input_sequence;
		swc_pace_update(&session->pace, message->input_waiting);
	}
	for (size_t i = 0; i < message->n_entities; i++) {
		const Sw__EntityState *state = message->entities[i];

		if (state->heading > UINT16_MAX || state->moving > SPEED_MM_MAX) {
			verdict = SWC_REFUSAL_OUT_OF_RANGE;
			continue;
		}
		session->stats.entity_states++;
		if (session->joined && state->actor_id == session->self.actor_id) {
			own_state(session, message, state);
			continue;
		}
		switch (swc_view_move(&session->view, state->actor_id, message->tick, state->x_mm,
			state->y_mm, (uint16_t)state->heading, state->moving)) {
		case SWC_MOVED:
			break;
		case SWC_MOVED_UNKNOWN:
			session->stats.states_unknown++;
			break;
		case SWC_MOVED_OLD:
			session->stats.states_old++;
			break;
		}
	}
	event.update.tick = message->tick;
	event.update.entities = (uint32_t)message->n_entities;
	emit(session, &event);
	return verdict;
}

static void view_leave(struct swc_session *session, uint32_t actor_id)
{
	struct swc_event event = {.type = SWC_EVENT_LEAVE};
	struct swc_actor actor;

	session->stats.leaves++;
	if (!swc_view_find(&session->view, actor_id)) {
		session->stats.leaves_unknown++;
		return;
	}
	actor = *swc_view_find(&session->view, actor_id);
	swc_view_leave(&session->view, actor_id);
	event.actor = &actor;
	emit(session, &event);
}

static enum swc_refusal view_enter(
	struct swc_session *session, uint32_t tick, const Sw__ActorEnter *enter)
{
	struct swc_event event = {.type = SWC_EVENT_ENTER};
	const Sw__EntityState *state = enter->state;
	struct swc_actor actor = {.tick = tick, .enter_tick = tick};
	enum swc_refusal refusal = SWC_REFUSAL_COUNT;

	if (!state || !state->actor_id || state->heading > UINT16_MAX ||
		state->moving > SPEED_MM_MAX || !text_fits(enter->name, SWC_NAME_BYTES))
		return SWC_REFUSAL_OUT_OF_RANGE;
	if (session->joined && session->view_stay == session->stay &&
		state->actor_id == session->self.actor_id)
		return SWC_REFUSAL_COUNT; /* oneself is not in one's view */
	actor.actor_id = state->actor_id;
	actor.x_mm = state->x_mm;
	actor.y_mm = state->y_mm;
	actor.heading = (uint16_t)state->heading;
	actor.speed_mm_per_s = state->moving;
	actor.appearance = enter->appearance;
	actor.health = enter->health;
	actor.health_max = enter->health_max;
	actor.item = enter->item;
	actor.count = enter->count;
	/* A kind that this version does not know is still someone to draw. */
	actor.kind = enter->kind <= SW__ACTOR_KIND__LOOT ? (enum swc_actor_kind)enter->kind
							 : SWC_KIND_NONE;
	copy_text(actor.name, sizeof(actor.name), enter->name);
	if (swc_view_find(&session->view, actor.actor_id))
		event.type = SWC_EVENT_CHANGED;
	event.actor = swc_view_enter(&session->view, &actor, &refusal);
	if (!event.actor)
		return refusal;
	if (event.type == SWC_EVENT_ENTER)
		session->stats.enters++;
	else
		session->stats.changes++;
	emit(session, &event);
	return refusal;
}

static enum swc_refusal on_view_change(struct swc_session *session, const Sw__ViewChange *message)
{
	enum swc_refusal verdict = SWC_REFUSAL_COUNT;

	if (!message->sequence)
		return SWC_REFUSAL_OUT_OF_RANGE;
	if (later(session->view_stay, message->stay)) {
		session->stats.view_changes_late++;
		return SWC_REFUSAL_COUNT;
	}
	if (message->stay != session->view_stay)
		view_begin(session, message->stay);
	if (message->sequence <= session->view_sequence)
		return SWC_REFUSAL_OUT_OF_ORDER;
	session->stats.view_changes++;
	session->stats.reliable_lost += message->sequence - session->view_sequence - 1;
	session->view_sequence = message->sequence;
	for (size_t i = 0; i < message->n_leave; i++)
		view_leave(session, message->leave[i]);
	for (size_t i = 0; i < message->n_enter; i++) {
		enum swc_refusal refusal = view_enter(session, message->tick, message->enter[i]);

		if (refusal != SWC_REFUSAL_COUNT)
			verdict = refusal;
	}
	return verdict;
}

/* What a server sends: type, its descriptor, its channel, its handler. */
typedef enum swc_refusal handler_fn(struct swc_session *session, const void *message);

#define HANDLER(name, type)                                                                        \
	static enum swc_refusal handle_##name(struct swc_session *session, const void *message)    \
	{                                                                                          \
		return on_##name(session, (const type *)message);                                  \
	}
HANDLER(admitted, Sw__Admitted)
HANDLER(refused, Sw__Refused)
HANDLER(challenge, Sw__Challenge)
HANDLER(return_pass, Sw__ReturnPass)
HANDLER(queued, Sw__Queued)
HANDLER(redirect, Sw__Redirect)
HANDLER(joined, Sw__Joined)
HANDLER(update, Sw__WorldUpdate)
HANDLER(view_change, Sw__ViewChange)
HANDLER(detail, Sw__CharacterDetail)
HANDLER(dialogue, Sw__Dialogue)
HANDLER(denied, Sw__ActionRefused)
HANDLER(combat, Sw__CombatEvents)
HANDLER(inventory, Sw__Inventory)
HANDLER(trade, Sw__TradeState)
HANDLER(trade_ended, Sw__TradeEnded)
HANDLER(party, Sw__PartyState)
HANDLER(party_answer, Sw__PartyAnswer)
HANDLER(party_invite, Sw__PartyInvite)
HANDLER(party_live, Sw__PartyLive)
HANDLER(match, Sw__MatchState)
HANDLER(cards, Sw__CardOffer)
HANDLER(taken, Sw__CardTaken)
HANDLER(result, Sw__MatchResult)
HANDLER(quest_log, Sw__QuestLog)
HANDLER(quest_update, Sw__QuestUpdate)

static const struct {
	uint8_t type, channel;
	const ProtobufCMessageDescriptor *descriptor;
	handler_fn *handle;
} messages[] = {
	{SW_MSG_ADMITTED, SW_CHANNEL_SESSION, &sw__admitted__descriptor, handle_admitted},
	{SW_MSG_REFUSED, SW_CHANNEL_SESSION, &sw__refused__descriptor, handle_refused},
	{SW_MSG_CHALLENGE, SW_CHANNEL_SESSION, &sw__challenge__descriptor, handle_challenge},
	{SW_MSG_RETURN_PASS, SW_CHANNEL_SESSION, &sw__return_pass__descriptor, handle_return_pass},
	{SW_MSG_QUEUED, SW_CHANNEL_SESSION, &sw__queued__descriptor, handle_queued},
	{SW_MSG_REDIRECT, SW_CHANNEL_SESSION, &sw__redirect__descriptor, handle_redirect},
	{SW_MSG_JOINED, SW_CHANNEL_SESSION, &sw__joined__descriptor, handle_joined},
	{SW_MSG_WORLD_UPDATE, SW_CHANNEL_WORLD, &sw__world_update__descriptor, handle_update},
	{SW_MSG_VIEW_CHANGE, SW_CHANNEL_EVENTS, &sw__view_change__descriptor, handle_view_change},
	{SW_MSG_CHARACTER_DETAIL, SW_CHANNEL_SESSION, &sw__character_detail__descriptor,
		handle_detail},
	{SW_MSG_DIALOGUE, SW_CHANNEL_SESSION, &sw__dialogue__descriptor, handle_dialogue},
	{SW_MSG_INVENTORY, SW_CHANNEL_SESSION, &sw__inventory__descriptor, handle_inventory},
	{SW_MSG_TRADE_STATE, SW_CHANNEL_SESSION, &sw__trade_state__descriptor, handle_trade},
	{SW_MSG_TRADE_ENDED, SW_CHANNEL_SESSION, &sw__trade_ended__descriptor, handle_trade_ended},
	{SW_MSG_PARTY_STATE, SW_CHANNEL_SESSION, &sw__party_state__descriptor, handle_party},
	{SW_MSG_PARTY_ANSWER, SW_CHANNEL_SESSION, &sw__party_answer__descriptor,
		handle_party_answer},
	{SW_MSG_PARTY_INVITE, SW_CHANNEL_SESSION, &sw__party_invite__descriptor,
		handle_party_invite},
	{SW_MSG_PARTY_LIVE, SW_CHANNEL_SESSION, &sw__party_live__descriptor, handle_party_live},
	{SW_MSG_COMBAT, SW_CHANNEL_EVENTS, &sw__combat_events__descriptor, handle_combat},
	{SW_MSG_MATCH_STATE, SW_CHANNEL_SESSION, &sw__match_state__descriptor, handle_match},
	{SW_MSG_CARD_OFFER, SW_CHANNEL_SESSION, &sw__card_offer__descriptor, handle_cards},
	{SW_MSG_CARD_TAKEN, SW_CHANNEL_SESSION, &sw__card_taken__descriptor, handle_taken},
	{SW_MSG_MATCH_RESULT, SW_CHANNEL_SESSION, &sw__match_result__descriptor, handle_result},
	{SW_MSG_QUEST_LOG, SW_CHANNEL_SESSION, &sw__quest_log__descriptor, handle_quest_log},
	{SW_MSG_QUEST_UPDATE, SW_CHANNEL_SESSION, &sw__quest_update__descriptor,
		handle_quest_update},
	{SW_MSG_ACTION_REFUSED, SW_CHANNEL_SESSION, &sw__action_refused__descriptor, handle_denied},
	{SW_MSG_CHAT_LINE, SW_CHANNEL_CHAT, &sw__chat_line__descriptor, swc_session_on_chat_line},
	{SW_MSG_CHAT_WHISPERED, SW_CHANNEL_CHAT, &sw__chat_whispered__descriptor,
		swc_session_on_chat_whispered},
	{SW_MSG_CHAT_DONE, SW_CHANNEL_CHAT, &sw__chat_done__descriptor, swc_session_on_chat_done},
	{SW_MSG_CHAT_REFUSED, SW_CHANNEL_CHAT, &sw__chat_refused__descriptor,
		swc_session_on_chat_refused},
	{SW_MSG_CHAT_CHANNEL, SW_CHANNEL_CHAT, &sw__chat_channel__descriptor,
		swc_session_on_chat_channel},
	{SW_MSG_CHAT_ANNOUNCEMENT, SW_CHANNEL_CHAT, &sw__chat_announcement__descriptor,
		swc_session_on_chat_announcement},
};

static enum swc_refusal receive(
	struct swc_session *session, uint8_t channel, const uint8_t *packet, size_t bytes)
{
	ProtobufCMessage *message;
	enum swc_refusal refusal;
	size_t i = 0;

	if (!bytes)
		return SWC_REFUSAL_EMPTY;
	if (bytes > PACKET_BYTES_MAX)
		return SWC_REFUSAL_TOO_LARGE;
	while (i < sizeof(messages) / sizeof(messages[0]) && messages[i].type != packet[0])
		i++;
	if (i == sizeof(messages) / sizeof(messages[0]))
		return SWC_REFUSAL_UNKNOWN_TYPE;
	if (messages[i].channel != channel)
		return SWC_REFUSAL_WRONG_CHANNEL;
	message = protobuf_c_message_unpack(messages[i].descriptor, NULL, bytes - 1, packet + 1);
	if (!message)
		return SWC_REFUSAL_PROTOBUF;
	refusal = messages[i].handle(session, message);
	protobuf_c_message_free_unpacked(message, NULL);
	return refusal;
}

void swc_session_receive(
	struct swc_session *session, uint8_t channel, const uint8_t *packet, size_t bytes)
{
	enum swc_refusal refusal = receive(session, channel, packet, bytes);

	if (refusal != SWC_REFUSAL_COUNT)
		session->stats.refused[refusal]++;
}
