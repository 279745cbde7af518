/* What leaves the shard for the dataplane and for control, and what clients understand of it. */
#include "simulation/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/random.h"

static struct msg_buffer batch[2];

/* ---- what clients read ---- */

static void heard(struct test_client *c, const Sw__EntityState *e, uint32_t tick, bool lost)
{
	if (lost) {
		if (e->actor_id < TEST_ACTORS_MAX)
			c->heard_tick[e->actor_id] = tick;
		return;
	}
	if (e->actor_id == c->actor_id) {
		c->x_mm = e->x_mm;
		c->y_mm = e->y_mm;
		c->heading = e->heading;
	}
	if (e->actor_id >= TEST_ACTORS_MAX)
		return;
	c->heard_tick[e->actor_id] = tick;
	c->seen_x_mm[e->actor_id] = e->x_mm;
	c->seen_y_mm[e->actor_id] = e->y_mm;
}

static void read_update(
	struct test_shard *t, struct test_client *c, const uint8_t *bytes, uint32_t count)
{
	Sw__WorldUpdate *update = sw__world_update__unpack(NULL, count, bytes);
	bool lost = t->lose_permille && sim_random_below(&t->lose_dice, 1000) < t->lose_permille;

	assert_non_null(update);
	if (count + 1 > c->update_bytes_largest)
		c->update_bytes_largest = count + 1;
	c->updates++;
	assert_int_equal(update->stay, c->stay);
	if (!lost)
		c->input_sequence = update->input_sequence;
	c->input_waiting = update->input_waiting;
	t->tick = update->tick;
	for (size_t i = 0; i < update->n_entities; i++)
		heard(c, update->entities[i], update->tick, lost);
	sw__world_update__free_unpacked(update, NULL);
}

static void read_view(struct test_client *c, const uint8_t *bytes, uint32_t count)
{
	Sw__ViewChange *change = sw__view_change__unpack(NULL, count, bytes);

	assert_non_null(change);
	if (count + 1 > c->view_bytes_largest)
		c->view_bytes_largest = count + 1;
	c->early += !c->joins;
	assert_int_equal(change->stay, c->stay);
	c->gaps += change->sequence != c->view_sequence + 1;
	c->gaps += change->tick == c->view_tick; /* at most one a tick */
	c->view_sequence = change->sequence;
	c->view_tick = change->tick;
	for (size_t i = 0; i < change->n_leave; i++) {
		assert_true(change->leave[i] < TEST_ACTORS_MAX);
		c->wrong += !c->knows[change->leave[i]];
		c->view_count -= c->knows[change->leave[i]];
		c->knows[change->leave[i]] = false;
	}
	for (size_t i = 0; i < change->n_enter; i++) {
		uint32_t id = change->enter[i]->state->actor_id;

		assert_true(id < TEST_ACTORS_MAX);
		c->wrong += id == c->actor_id || (c->knows[id] && !change->enter[i]->appearance);
		c->view_count += !c->knows[id];
		c->knows[id] = true;
		c->looks[id] = change->enter[i]->appearance != 0;
		heard(c, change->enter[i]->state, change->tick, false);
		c->seen_health[id] = change->enter[i]->health;
		c->seen_item[id] = change->enter[i]->item;
		if (change->enter[i]->kind == SW__ACTOR_KIND__LOOT)
			c->loot_seen = id;
	}
	sw__view_change__free_unpacked(change, NULL);
}

static void read_combat(struct test_client *c, const uint8_t *bytes, uint32_t count)
{
	Sw__CombatEvents *combat = sw__combat_events__unpack(NULL, count, bytes);

	assert_non_null(combat);
	assert_true(combat->n_events > 0);
	assert_int_equal(combat->stay, c->stay);
	assert_true(combat->tick != c->combat_tick); /* at most one a tick */
	c->combat_tick = combat->tick;
	c->combats++;
	for (size_t i = 0; i < combat->n_events; i++) {
		const Sw__CombatEvent *event = combat->events[i];

		assert_true(event->target < TEST_ACTORS_MAX);
		/* one at least is known: himself, or in view */
		assert_true(event->target == c->actor_id || event->attacker == c->actor_id ||
			    c->knows[event->target] || c->knows[event->attacker]);
		c->blows++;
		c->deaths += !event->health;
		c->blow_attacker = event->attacker;
		c->blow_target = event->target;
		c->blow_damage = event->damage;
		c->blow_health = event->health;
		c->seen_health[event->target] = event->health;
	}
	sw__combat_events__free_unpacked(combat, NULL);
}

static void read_detail(struct test_client *c, const uint8_t *bytes, uint32_t count)
{
	Sw__CharacterDetail *detail = sw__character_detail__unpack(NULL, count, bytes);

	assert_non_null(detail);
	c->detail = true;
	c->details++;
	c->level = detail->level;
	c->health = detail->health;
	c->health_max = detail->health_max;
	c->gold = detail->gold;
	c->experience = detail->experience;
	c->gold_pending = detail->gold_pending;
	c->experience_pending = detail->experience_pending;
	sw__character_detail__free_unpacked(detail, NULL);
}

static void read_inventory(struct test_client *c, const uint8_t *bytes, uint32_t count)
{
	Sw__Inventory *inventory = sw__inventory__unpack(NULL, count, bytes);

	assert_non_null(inventory);
	c->inventories++;
	memset(c->stack_item, 0, sizeof(c->stack_item));
	memset(c->stack_count, 0, sizeof(c->stack_count));
	for (size_t i = 0; i < inventory->n_stacks; i++) {
		uint32_t slot = inventory->stacks[i]->slot;

		assert_true(slot < 128 && !c->stack_count[slot]);
		c->stack_item[slot] = inventory->stacks[i]->item;
		c->stack_count[slot] = inventory->stacks[i]->count;
	}
	sw__inventory__free_unpacked(inventory, NULL);
}

static void read_match(struct test_client *c, uint8_t type, const uint8_t *bytes, uint32_t count)
{
	if (type == SW_MSG_MATCH_STATE) {
		Sw__MatchState *state = sw__match_state__unpack(NULL, count, bytes);

		assert_non_null(state);
		c->match_phase = (uint32_t)state->phase;
		c->speed_mm_per_s = state->speed_mm_per_s;
		c->zone_radius_mm = state->zone_radius_mm;
		c->match_states++;
		sw__match_state__free_unpacked(state, NULL);
	} else if (type == SW_MSG_CARD_OFFER) {
		Sw__CardOffer *offer = sw__card_offer__unpack(NULL, count, bytes);

		assert_non_null(offer);
		c->offer = offer->offer;
		c->offers++;
		c->card_count = (uint32_t)offer->n_cards;
		for (uint32_t i = 0; i < c->card_count && i < 8; i++)
			c->cards[i] = offer->cards[i]->number;
		sw__card_offer__free_unpacked(offer, NULL);
	} else if (type == SW_MSG_CARD_TAKEN) {
		Sw__CardTaken *taken = sw__card_taken__unpack(NULL, count, bytes);

		assert_non_null(taken);
		c->card_taken = taken->card;
		c->cards_taken++;
		c->cards_given += (uint32_t)taken->by_default;
		c->speed_mm_per_s = taken->speed_mm_per_s;
		sw__card_taken__free_unpacked(taken, NULL);
	} else {
		Sw__MatchResult *result = sw__match_result__unpack(NULL, count, bytes);

		assert_non_null(result);
		c->results++;
		c->draw = result->draw;
		c->ranked = (uint32_t)result->n_ranks;
		c->winners = c->place = 0;
		for (uint32_t i = 0; i < c->ranked; i++) {
			c->winners += result->ranks[i]->place == 1;
			if (result->ranks[i]->actor_id == c->actor_id)
				c->place = result->ranks[i]->place;
		}
		sw__match_result__free_unpacked(result, NULL);
	}
}

static void read_quests(struct test_client *c, bool all, const uint8_t *bytes, uint32_t count)
{
	Sw__QuestLog *log = sw__quest_log__unpack(NULL, count, bytes); /* an update has the same */

	assert_non_null(log);
	c->quest_logs += all;
	c->quest_updates += !all;
	for (uint32_t q = 0; all && q < TEST_QUESTS; q++)
		c->quest_phase[q] = 0;
	for (size_t i = 0; i < log->n_quests; i++) {
		const Sw__Quest *quest = log->quests[i];

		assert_true(quest->quest && quest->quest < TEST_QUESTS);
		assert_true(quest->phase != SW__QUEST_PHASE__QUEST_OPEN || quest->title[0]);
		c->quest_phase[quest->quest] = (uint32_t)quest->phase;
		c->quest_step[quest->quest] = quest->step;
		c->quest_count[quest->quest] = quest->count;
		c->quest_pending[quest->quest] = quest->pending;
		c->quest_need[quest->quest] = quest->need;
		c->quest_again_s[quest->quest] = quest->again_s;
	}
	sw__quest_log__free_unpacked(log, NULL);
}

static void read_send(struct test_shard *t, struct test_client *c, const struct msg *m)
{
	const uint8_t *bytes = msg_payload(m) + 1;
	uint32_t count = m->payload_bytes - 1;

	switch (msg_payload(m)[0]) {
	case SW_MSG_JOINED: {
		Sw__Joined *joined = sw__joined__unpack(NULL, count, bytes);

		assert_non_null(joined);
		test_note(t, 'J');
		c->actor_id = joined->actor_id;
		c->x_mm = joined->x_mm;
		c->y_mm = joined->y_mm;
		c->joined_tick = joined->tick;
		c->stay = joined->stay;
		c->ground_hash = joined->ground_hash;
		c->radius_mm = joined->radius_mm;
		c->joins++;
		strncpy(c->map, joined->map, sizeof(c->map) - 1);
		assert_int_equal(m->channel, SW_CHANNEL_SESSION);
		assert_int_equal(m->flags, MSG_SEND_RELIABLE);
		sw__joined__free_unpacked(joined, NULL);
		break;
	}
	case SW_MSG_CHARACTER_DETAIL:
		read_detail(c, bytes, count);
		break;
	case SW_MSG_INVENTORY:
		assert_int_equal(m->channel, SW_CHANNEL_SESSION);
		read_inventory(c, bytes, count);
		break;
	case SW_MSG_MATCH_STATE:
	case SW_MSG_CARD_OFFER:
	case SW_MSG_CARD_TAKEN:
	case SW_MSG_MATCH_RESULT:
		assert_int_equal(m->channel, SW_CHANNEL_SESSION);
		assert_int_equal(m->flags, MSG_SEND_RELIABLE);
		assert_true(c->joins); /* Joined comes first */
		read_match(c, msg_payload(m)[0], bytes, count);
		break;
	case SW_MSG_COMBAT:
		assert_int_equal(m->channel, SW_CHANNEL_EVENTS);
		assert_int_equal(m->flags, MSG_SEND_RELIABLE);
		read_combat(c, bytes, count);
		break;
	case SW_MSG_WORLD_UPDATE:
		assert_int_equal(m->channel, SW_CHANNEL_WORLD);
		assert_int_equal(m->flags, 0);
		if (!c->idle)
			read_update(t, c, bytes, count);
		break;
	case SW_MSG_VIEW_CHANGE:
		assert_int_equal(m->channel, SW_CHANNEL_EVENTS);
		assert_int_equal(m->flags, MSG_SEND_RELIABLE);
		read_view(c, bytes, count);
		break;
	case SW_MSG_ACTION_REFUSED: {
		Sw__ActionRefused *refused = sw__action_refused__unpack(NULL, count, bytes);

		assert_non_null(refused);
		c->refused_action = refused->action;
		c->refused_reason = refused->reason;
		c->refusals++;
		sw__action_refused__free_unpacked(refused, NULL);
		break;
	}
	case SW_MSG_TRADE_STATE: {
		Sw__TradeState *trade = sw__trade_state__unpack(NULL, count, bytes);

		assert_non_null(trade);
		assert_int_equal(m->channel, SW_CHANNEL_SESSION);
		assert_true(trade->own && trade->other);
		c->trade_states++;
		c->trade = trade->trade;
		c->trade_version = trade->version;
		c->trade_partner = trade->partner;
		c->trade_phase = trade->phase;
		c->trade_asked = trade->asked;
		c->trade_confirmed = trade->own->confirmed;
		c->trade_items[0] = (uint32_t)trade->own->n_items;
		c->trade_items[1] = (uint32_t)trade->other->n_items;
		c->trade_gold[0] = trade->own->gold;
		c->trade_gold[1] = trade->other->gold;
		sw__trade_state__free_unpacked(trade, NULL);
		break;
	}
	case SW_MSG_PARTY_ANSWER: {
		Sw__PartyAnswer *answer = sw__party_answer__unpack(NULL, count, bytes);

		assert_non_null(answer);
		c->party_answers++;
		c->party_request = answer->request;
		c->party_result = answer->result;
		sw__party_answer__free_unpacked(answer, NULL);
		break;
	}
	case SW_MSG_PARTY_STATE: {
		Sw__PartyState *party = sw__party_state__unpack(NULL, count, bytes);

		assert_non_null(party);
		c->party_states++;
		if (party->version >= c->party_version) { /* else it is older: docs/protocol.md */
			c->party = party->party;
			c->party_version = party->version;
			c->party_leader = party->leader;
			c->party_members = (uint32_t)party->n_members;
			c->party_change = party->change;
		}
		sw__party_state__free_unpacked(party, NULL);
		break;
	}
	case SW_MSG_PARTY_INVITE: {
		Sw__PartyInvite *invite = sw__party_invite__unpack(NULL, count, bytes);

		assert_non_null(invite);
		c->party_invites++;
		c->party_inviter = invite->character_id;
		sw__party_invite__free_unpacked(invite, NULL);
		break;
	}
	case SW_MSG_PARTY_LIVE: {
		Sw__PartyLive *live = sw__party_live__unpack(NULL, count, bytes);

		assert_non_null(live);
		c->party_lives++;
		c->party_live_members = (uint32_t)live->n_members;
		c->party_live_health = live->members[0]->health;
		c->party_live_x_mm = live->members[0]->x_mm;
		sw__party_live__free_unpacked(live, NULL);
		break;
	}
	case SW_MSG_TRADE_ENDED: {
		Sw__TradeEnded *ended = sw__trade_ended__unpack(NULL, count, bytes);

		assert_non_null(ended);
		c->trade_ends++;
		c->trade_end = ended->reason;
		c->trade_ended = ended->trade;
		sw__trade_ended__free_unpacked(ended, NULL);
		break;
	}
	case SW_MSG_DIALOGUE: {
		Sw__Dialogue *dialogue = sw__dialogue__unpack(NULL, count, bytes);

		assert_non_null(dialogue);
		c->dialogues++;
		strncpy(c->dialogue, dialogue->text, sizeof(c->dialogue) - 1);
		if (dialogue->question) { /* a line that is said in between ends no question */
			c->question = dialogue->question;
			c->choices = (uint32_t)dialogue->n_choices;
		}
		sw__dialogue__free_unpacked(dialogue, NULL);
		break;
	}
	case SW_MSG_QUEST_LOG:
	case SW_MSG_QUEST_UPDATE:
		read_quests(c, msg_payload(m)[0] == SW_MSG_QUEST_LOG, bytes, count);
		break;
	default:
		fail_msg("message type %u to a client", msg_payload(m)[0]);
	}
}

static void read_worker(struct test_shard *t, struct msg_ring *ring)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(ring, batch[0].slot, 2 * MSG_SLOTS_MAX))) {
		const struct msg *end = batch[0].slot + slots;

		for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m)) {
			struct test_client *c = &t->clients[handle_index(m->peer)];
			struct msg_peer_route route;
			struct msg_peer_disconnect gone;

			assert_true(handle_index(m->peer) < TEST_CLIENTS_MAX);
			switch (m->type) {
			case MSG_PEER_ROUTE:
				memcpy(&route, msg_payload(m), sizeof(route));
				if (!route.route) { /* given up, for a transfer */
					struct msg marker;

					test_note(t, 'U');
					msg_begin(&marker, MSG_ROUTE_END, m->peer, 0);
					assert_true(msg_ring_push(
						t->links.from_dataplane[handle_owner(m->peer)],
						&marker));
					break;
				}
				assert_int_equal(route.route, 1);
				t->routes++;
				c->routes++;
				test_note(t, 'R');
				/* as the dataplane answers for a peer that it no longer has */
				if (m->peer == c->peer && !c->here)
					test_gone(t, handle_index(m->peer));
				break;
			case MSG_PEER_DISCONNECT:
				memcpy(&gone, msg_payload(m), sizeof(gone));
				if (m->peer == c->peer) {
					c->disconnected = true;
					c->disconnect_reason = gone.data;
					c->disconnect_mode = gone.mode;
				}
				test_note(t, 'D');
				break;
			case MSG_PEER_SEND:
				if (m->peer == c->peer && c->here)
					read_send(t, c, m);
				break;
			default:
				fail_msg("type %u to the dataplane", m->type);
			}
		}
	}
}

void test_read_dataplane(struct test_shard *t)
{
	for (uint32_t w = 0; w < t->workers; w++)
		read_worker(t, t->links.to_dataplane[w]);
}

void test_read_control(struct test_shard *t)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(t->links.to_control, batch[0].slot, 2 * MSG_SLOTS_MAX))) {
		const struct msg *end = batch[0].slot + slots;

		for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m)) {
			struct msg_player_refused refused;
			struct msg_player_left left;

			switch (m->type) {
			case MSG_PLAYER_JOINED:
				t->joined++;
				test_note(t, 'j');
				break;
			case MSG_PLAYER_REFUSED:
				memcpy(&refused, msg_payload(m), sizeof(refused));
				t->refused++;
				t->refused_reason = refused.reason;
				break;
			case MSG_PLAYER_LEFT:
				memcpy(&left, msg_payload(m), sizeof(left));
				t->left++;
				t->left_session = left.session;
				t->last_left = left;
				test_note(t, 'l');
				break;
			case MSG_PLAYER_TRANSFER:
				memcpy(&t->transfer, msg_payload(m), sizeof(t->transfer));
				t->transfers++;
				test_note(t, 't');
				break;
			case MSG_INSTANCE_STATE:
				memcpy(&t->instance, msg_payload(m), sizeof(t->instance));
				test_note(t, 'i');
				break;
			case MSG_SCRIPT_STATE:
				memcpy(&t->script, msg_payload(m), sizeof(t->script));
				t->scripts[t->script.act]++;
				t->scripts_bad += !t->script.good;
				break;
			case MSG_PARTY_REQUEST:
				memcpy(&t->party_request, msg_payload(m), sizeof(t->party_request));
				if (t->party_request.act == PARTY_ACT_ARRIVE) {
					t->party_asks++;
					t->clients[handle_index(m->peer)].party_asks++;
				} else {
					t->party_requests++;
				}
				break;
			case MSG_SHARD_STOPPED:
				t->stopped++;
				test_note(t, 'X');
				break;
			default:
				fail_msg("type %u to control", m->type);
			}
		}
	}
}
