#include "simulation/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/random.h"

static struct msg_buffer batch[2];
static uint32_t workers = 1; /* of the shard under test */

void test_init(struct test_shard *t, uint32_t width_m, uint32_t players_max)
{
	memset(t, 0, sizeof(*t));
	sw_config_defaults(&t->config);
	t->config.map_count = 1;
	strcpy(t->config.maps[0].name, "meadow");
	t->config.maps[0].shard = 0;
	t->config.maps[0].width_m = t->config.maps[0].height_m = width_m;
	t->config.maps[0].tick_hz = 20;
	t->config.maps[0].view_m = 40;
	t->config.maps[0].players_max = players_max;
	t->config.maps[0].monsters = 0;
	t->config.maps[0].script[0] = '\0';
	t->config.simulation.lazy_joins_per_tick = 200;
	t->config.rings.slots = 32768;
	t->answer_details = true;
	for (uint32_t i = 0; i < TEST_OWNED_MAX; i++)
		t->owned[i].gold = 50;
	t->workers = 1;
	t->now_ns = 1000 * NS_PER_MS;
}

void test_start(struct test_shard *t, uint64_t seed)
{
	uint32_t slots = t->config.rings.slots;
	char error[256] = "";

	t->links.workers = workers = t->workers;
	for (uint32_t w = 0; w < workers; w++) {
		t->links.from_dataplane[w] = msg_ring_new("from_dataplane", 32768);
		t->links.to_dataplane[w] = msg_ring_new("to_dataplane", slots);
	}
	t->links.from_control = msg_ring_new("from_control", 32768);
	t->links.to_control = msg_ring_new("to_control", slots);
	t->links.from_world = msg_ring_new("from_world", 32768);
	t->links.to_world = msg_ring_new("to_world", slots);
	t->links.log = msg_ring_new("log", 256);
	t->clients = calloc(TEST_CLIENTS_MAX, sizeof(*t->clients));
	t->shard = sim_shard_new(&t->config, 0, &t->links, seed, t->now_ns, error, sizeof(error));
	if (!t->shard)
		fail_msg("sim_shard_new: %s", error);
}

void test_end(struct test_shard *t)
{
	sim_shard_free(t->shard);
	for (uint32_t w = 0; w < t->workers; w++) {
		msg_ring_free(t->links.from_dataplane[w]);
		msg_ring_free(t->links.to_dataplane[w]);
	}
	msg_ring_free(t->links.from_control);
	msg_ring_free(t->links.to_control);
	msg_ring_free(t->links.from_world);
	msg_ring_free(t->links.to_world);
	msg_ring_free(t->links.log);
	for (uint32_t i = 0; t->clients && i < TEST_CLIENTS_MAX; i++) {
		free(t->clients[i].knows);
		free(t->clients[i].looks);
		free(t->clients[i].heard_tick);
		free(t->clients[i].seen_x_mm);
		free(t->clients[i].seen_y_mm);
		free(t->clients[i].seen_health);
		free(t->clients[i].seen_item);
	}
	free(t->clients);
}

static void note(struct test_shard *t, char what)
{
	if (t->order_count + 1 < sizeof(t->order))
		t->order[t->order_count++] = what;
}

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

static void read_send(struct test_shard *t, struct test_client *c, const struct msg *m)
{
	const uint8_t *bytes = msg_payload(m) + 1;
	uint32_t count = m->payload_bytes - 1;

	switch (msg_payload(m)[0]) {
	case SW_MSG_JOINED: {
		Sw__Joined *joined = sw__joined__unpack(NULL, count, bytes);

		assert_non_null(joined);
		note(t, 'J');
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
		sw__dialogue__free_unpacked(dialogue, NULL);
		break;
	}
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

					note(t, 'U');
					msg_begin(&marker, MSG_ROUTE_END, m->peer, 0);
					assert_true(msg_ring_push(
						t->links.from_dataplane[handle_owner(m->peer)],
						&marker));
					break;
				}
				assert_int_equal(route.route, 1);
				t->routes++;
				note(t, 'R');
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
				note(t, 'D');
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
				note(t, 'j');
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
				note(t, 'l');
				break;
			case MSG_PLAYER_TRANSFER:
				memcpy(&t->transfer, msg_payload(m), sizeof(t->transfer));
				t->transfers++;
				note(t, 't');
				break;
			case MSG_INSTANCE_STATE:
				memcpy(&t->instance, msg_payload(m), sizeof(t->instance));
				note(t, 'i');
				break;
			case MSG_SHARD_STOPPED:
				t->stopped++;
				note(t, 'X');
				break;
			default:
				fail_msg("type %u to control", m->type);
			}
		}
	}
}

/* ---- the world thread ---- */

static struct test_owned *owned(struct test_shard *t, uint64_t character_id)
{
	return character_id >= 5000 && character_id < 5000 + TEST_OWNED_MAX
		       ? &t->owned[character_id - 5000]
		       : NULL;
}

static enum commit_result change_slot(struct test_owned *o, const struct commit_op *op)
{
	uint32_t at = 0;

	while (at < o->slots && o->slot[at].slot < op->slot)
		at++;
	if (at == o->slots || o->slot[at].slot != op->slot) {
		if (op->amount <= 0 || o->slots == COMMIT_SLOTS_MAX)
			return COMMIT_RESULT_NOT_ENOUGH;
		memmove(&o->slot[at + 1], &o->slot[at], (o->slots - at) * sizeof(o->slot[0]));
		o->slots++;
		o->slot[at] = (struct msg_slot){.slot = op->slot,
			.item = op->item,
			.serial = op->serial,
			.count = op->amount};
		return COMMIT_RESULT_OK;
	}
	if (o->slot[at].item != op->item || o->slot[at].serial != op->serial)
		return COMMIT_RESULT_SLOT_TAKEN;
	if (o->slot[at].count + op->amount < 0)
		return COMMIT_RESULT_NOT_ENOUGH;
	o->slot[at].count += op->amount;
	if (!o->slot[at].count)
		memmove(&o->slot[at], &o->slot[at + 1], (--o->slots - at) * sizeof(o->slot[0]));
	return COMMIT_RESULT_OK;
}

static enum commit_result carry_out(struct test_owned *owners[2], const struct test_held *held)
{
	struct test_owned before[2] = {*owners[0], *owners[1]};
	enum commit_result result = COMMIT_RESULT_OK;

	for (uint32_t i = 0; i < held->commit.ops && result == COMMIT_RESULT_OK; i++) {
		const struct commit_op *op = &held->op[i];

		struct test_owned *o = owners[op->who];

		assert_true(op->who == 0 || held->commit.character_id[op->who]);
		if (op->kind == COMMIT_GOLD)
			o->gold += op->amount;
		else if (op->kind == COMMIT_EXPERIENCE)
			o->experience += op->amount;
		else
			result = change_slot(o, op);
		if (result == COMMIT_RESULT_OK && (o->gold < 0 || o->experience < 0))
			result = COMMIT_RESULT_NOT_ENOUGH;
	}
	if (result != COMMIT_RESULT_OK) {
		*owners[1] = before[1];
		*owners[0] = before[0];
	}
	return result;
}

static void answer_commit(struct test_shard *t, const struct msg_commit_result *result)
{
	struct msg message[3];

	_Static_assert(MSG_HEAD_BYTES + sizeof(*result) <= sizeof(message), "three slots");
	memcpy(msg_begin(message, MSG_COMMIT_RESULT, 0, sizeof(*result)), result, sizeof(*result));
	assert_true(msg_ring_push(t->links.from_world, message));
}

/* In the order in which they came, whatever the order of the answers. */
static struct msg_commit_result settle(
	struct test_shard *t, const struct test_held *held, enum commit_result result)
{
	struct test_owned nobody, *o[2];
	struct msg_commit_result answer = {
		.request = {held->commit.request[0], held->commit.request[1]},
		.character_id = {held->commit.character_id[0], held->commit.character_id[1]}};

	o[0] = owned(t, held->commit.character_id[0]);
	o[1] = held->commit.character_id[1] ? owned(t, held->commit.character_id[1]) : &nobody;
	memset(&nobody, 0, sizeof(nobody));
	assert_true(o[0] && o[1]);
	answer.result = result == COMMIT_RESULT_OK ? carry_out(o, held) : result;
	for (uint32_t who = 0; who < 2; who++) {
		answer.gold[who] = o[who]->gold;
		answer.experience[who] = o[who]->experience;
	}
	return answer;
}

void test_answer_commits(struct test_shard *t, enum commit_result result, bool last_first)
{
	struct msg_commit_result answers[TEST_HELD_MAX];
	uint32_t count = t->held_count;

	for (uint32_t i = 0; i < count; i++)
		answers[i] = settle(t, &t->held[i], result);
	for (uint32_t i = 0; i < count; i++)
		answer_commit(t, &answers[last_first ? count - 1 - i : i]);
	t->held_count = 0;
}

static void take_result(struct test_shard *t, const struct msg *m)
{
	struct msg_commit_result result = {.result = t->result_answer};
	struct msg answer[3];

	memcpy(&t->result_commit, msg_payload(m), sizeof(t->result_commit));
	memcpy(&t->result_op, msg_payload(m) + sizeof(t->result_commit), sizeof(t->result_op));
	t->results_asked++;
	if (t->result_answer == COMMIT_RESULT_COUNT)
		return;
	if (t->result_answer == COMMIT_RESULT_OK && t->place_count < 64)
		t->places[t->place_count++] = (uint32_t)t->result_op.amount;
	memcpy(result.request, t->result_commit.request, sizeof(result.request));
	memcpy(msg_begin(answer, MSG_COMMIT_RESULT, 0, sizeof(result)), &result, sizeof(result));
	assert_true(msg_ring_push(t->links.from_world, answer));
}

static void take_commit(struct test_shard *t, const struct msg *m)
{
	struct test_held held = {0};

	assert_true(m->payload_bytes >= sizeof(held.commit));
	memcpy(&held.commit, msg_payload(m), sizeof(held.commit));
	if (msg_payload(m)[sizeof(held.commit)] == COMMIT_RESULT) {
		take_result(t, m);
		return;
	}
	assert_true(held.commit.ops >= 1 && held.commit.ops <= COMMIT_OPS_MAX);
	assert_int_equal(
		m->payload_bytes, sizeof(held.commit) + held.commit.ops * sizeof(held.op[0]));
	memcpy(held.op, msg_payload(m) + sizeof(held.commit), held.commit.ops * sizeof(held.op[0]));
	assert_int_equal(held.commit.epoch[0], 3);
	assert_int_equal(held.commit.realm_id, 1);
	t->commits++;
	t->last_commit = held;
	note(t, 'C');
	assert_true(t->held_count < TEST_HELD_MAX);
	t->held[t->held_count++] = held;
	if (!t->hold_commits)
		test_answer_commits(t, COMMIT_RESULT_OK, false);
}

static void answer_detail(struct test_shard *t, const struct msg *m)
{
	static struct msg_buffer answer;
	struct msg_detail_query query;
	struct msg_detail_result result = {.gold = 50, .level = 1};
	const struct test_owned *o;
	uint8_t *payload;

	memcpy(&query, msg_payload(m), sizeof(query));
	t->detail_queries++;
	if (!t->answer_details)
		return;
	/* The world answers when what was asked before is settled. */
	test_answer_commits(t, COMMIT_RESULT_OK, false);
	result.request = query.request;
	result.character_id = query.character_id;
	result.appearance = 0x102030;
	o = owned(t, query.character_id);
	if (o) {
		result.gold = o->gold;
		result.experience = o->experience;
		result.slots = o->slots;
	}
	payload = msg_begin(answer.slot, MSG_DETAIL_RESULT, 0,
		(uint32_t)(sizeof(result) + result.slots * sizeof(struct msg_slot)));
	memcpy(payload, &result, sizeof(result));
	if (o)
		memcpy(payload + sizeof(result), o->slot, o->slots * sizeof(o->slot[0]));
	assert_true(msg_ring_push(t->links.from_world, answer.slot));
}

int64_t test_owns(const struct test_shard *t, uint32_t client, uint32_t item)
{
	int64_t count = 0;

	for (uint32_t i = 0; i < t->owned[client].slots; i++)
		if (t->owned[client].slot[i].item == item)
			count += t->owned[client].slot[i].count;
	return count;
}

void test_give(struct test_shard *t, uint32_t client, uint32_t slot, uint32_t item, int64_t count,
	uint64_t serial)
{
	const struct commit_op op = {
		.slot = (uint16_t)slot, .item = item, .amount = count, .serial = serial};

	assert_int_equal(change_slot(&t->owned[client], &op), COMMIT_RESULT_OK);
}

void test_read_world(struct test_shard *t)
{
	uint32_t slots;

	while ((slots = msg_ring_pop(t->links.to_world, batch[0].slot, 2 * MSG_SLOTS_MAX))) {
		const struct msg *end = batch[0].slot + slots;

		for (const struct msg *m = batch[0].slot; m < end; m = msg_next(m)) {
			switch (m->type) {
			case MSG_POSITION_SAVE:
				memcpy(&t->last_save, msg_payload(m), sizeof(t->last_save));
				t->saves++;
				t->leaving_saves += t->last_save.leaving;
				note(t, t->last_save.leaving ? 'L' : 'S');
				break;
			case MSG_COMMIT:
				take_commit(t, m);
				break;
			case MSG_DETAIL_QUERY:
				answer_detail(t, m);
				break;
			default:
				fail_msg("type %u to the world", m->type);
			}
		}
	}
}

void test_run_holding(struct test_shard *t, uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		t->now_ns += NS_PER_MS;
		while (sim_shard_step(t->shard, t->now_ns))
			;
	}
}

void test_run(struct test_shard *t, uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		test_run_holding(t, 1);
		test_read_world(t);
		test_read_dataplane(t);
		test_read_control(t);
	}
}

/* ---- what comes in ---- */

uint64_t test_peer(uint32_t client)
{
	return handle_make(client % workers, 7, client);
}

void test_join(struct test_shard *t, uint32_t client, bool has_position, int32_t x_mm, int32_t y_mm)
{
	const struct msg_player_join join = {
		.x_mm = x_mm, .y_mm = y_mm, .has_position = has_position, .map = "meadow"};

	test_join_as(t, client, &join);
}

void test_join_as(struct test_shard *t, uint32_t client, const struct msg_player_join *as)
{
	struct test_client *c = &t->clients[client];
	struct msg_player_join join = *as;
	struct msg message[4];
	uint8_t *payload;

	join.session = 1000 + client;
	join.character_id = 5000 + client;
	join.epoch = 3;
	join.realm_id = 1;
	join.payload_bytes_max = 1300;
	strcpy(join.name, "Ann");

	if (!c->knows) {
		c->knows = malloc(TEST_ACTORS_MAX * sizeof(*c->knows));
		c->looks = malloc(TEST_ACTORS_MAX * sizeof(*c->looks));
		c->heard_tick = malloc(TEST_ACTORS_MAX * sizeof(*c->heard_tick));
		c->seen_x_mm = malloc(TEST_ACTORS_MAX * sizeof(*c->seen_x_mm));
		c->seen_y_mm = malloc(TEST_ACTORS_MAX * sizeof(*c->seen_y_mm));
		c->seen_health = malloc(TEST_ACTORS_MAX * sizeof(*c->seen_health));
		c->seen_item = malloc(TEST_ACTORS_MAX * sizeof(*c->seen_item));
	}
	memset(c->knows, 0, TEST_ACTORS_MAX * sizeof(*c->knows));
	memset(c->heard_tick, 0, TEST_ACTORS_MAX * sizeof(*c->heard_tick));
	*c = (struct test_client){.knows = c->knows,
		.looks = c->looks,
		.heard_tick = c->heard_tick,
		.seen_x_mm = c->seen_x_mm,
		.seen_y_mm = c->seen_y_mm,
		.seen_health = c->seen_health,
		.seen_item = c->seen_item};
	c->here = true;
	c->peer = test_peer(client);
	c->session = join.session;
	payload = msg_begin(message, MSG_PLAYER_JOIN, c->peer, sizeof(join));
	memcpy(payload, &join, sizeof(join));
	assert_true(msg_ring_push(t->links.from_control, message));
}

void test_gone(struct test_shard *t, uint32_t client)
{
	struct msg message;
	struct msg_peer_gone gone = {0};

	t->clients[client].here = false;
	memcpy(msg_begin(&message, MSG_PEER_GONE, test_peer(client), sizeof(gone)), &gone,
		sizeof(gone));
	assert_true(msg_ring_push(t->links.from_dataplane[client % workers], &message));
}

void test_remove(struct test_shard *t, uint32_t client, uint32_t reason)
{
	struct msg message;
	struct msg_player_remove gone = {.session = 1000 + client, .reason = reason};

	memcpy(msg_begin(&message, MSG_PLAYER_REMOVE, HANDLE_NONE, sizeof(gone)), &gone,
		sizeof(gone));
	assert_true(msg_ring_push(t->links.from_control, &message));
}

void test_stop(struct test_shard *t)
{
	struct msg message;

	msg_begin(&message, MSG_SHARD_STOP, HANDLE_NONE, 0);
	assert_true(msg_ring_push(t->links.from_control, &message));
}

void test_packet(
	struct test_shard *t, uint32_t client, uint8_t channel, const void *bytes, uint32_t count)
{
	static struct msg_buffer buffer;

	memcpy(msg_begin(buffer.slot, MSG_PEER_PACKET, test_peer(client), count), bytes, count);
	buffer.slot->channel = channel;
	assert_true(msg_ring_push(t->links.from_dataplane[client % workers], buffer.slot));
}

void test_input(struct test_shard *t, uint32_t client, uint32_t first, uint32_t count, int32_t dx,
	int32_t dy)
{
	Sw__Input input = SW__INPUT__INIT, *inputs[64];
	Sw__InputBatch message = SW__INPUT_BATCH__INIT;
	uint8_t bytes[1024];

	assert_true(count <= 64);
	input.dx = dx;
	input.dy = dy;
	for (uint32_t i = 0; i < count; i++)
		inputs[i] = &input;
	message.stay = t->clients[client].stay;
	message.first_sequence = first;
	message.n_inputs = count;
	message.inputs = inputs;
	bytes[0] = SW_MSG_INPUT;
	test_packet(t, client, SW_CHANNEL_WORLD, bytes,
		1 + (uint32_t)sw__input_batch__pack(&message, bytes + 1));
}

void test_pick(struct test_shard *t, uint32_t client, uint32_t offer, uint32_t card)
{
	Sw__CardPick pick = SW__CARD_PICK__INIT;
	uint8_t bytes[32] = {SW_MSG_CARD_PICK};

	pick.offer = offer;
	pick.card = card;
	pick.stay = t->clients[client].stay;
	test_packet(t, client, SW_CHANNEL_SESSION, bytes,
		1 + (uint32_t)sw__card_pick__pack(&pick, bytes + 1));
}

void test_click(struct test_shard *t, uint32_t client, uint32_t actor_id)
{
	Sw__Click click = SW__CLICK__INIT;
	uint8_t bytes[32] = {SW_MSG_CLICK};

	click.actor_id = actor_id;
	click.stay = t->clients[client].stay;
	test_packet(t, client, SW_CHANNEL_SESSION, bytes,
		1 + (uint32_t)sw__click__pack(&click, bytes + 1));
}

uint64_t test_counter(const struct test_shard *t, uint32_t counter)
{
	return counter_get(&sim_shard_counters(t->shard)->values[counter]);
}

void test_attack(struct test_shard *t, uint32_t client, uint32_t actor_id)
{
	Sw__Attack attack = SW__ATTACK__INIT;
	uint8_t bytes[32] = {SW_MSG_ATTACK};

	attack.actor_id = actor_id;
	attack.stay = t->clients[client].stay;
	test_packet(t, client, SW_CHANNEL_SESSION, bytes,
		1 + (uint32_t)sw__attack__pack(&attack, bytes + 1));
}

void test_pick_up(struct test_shard *t, uint32_t client, uint32_t actor_id)
{
	Sw__PickUp pick = SW__PICK_UP__INIT;
	uint8_t bytes[32] = {SW_MSG_PICK_UP};

	pick.actor_id = actor_id;
	pick.stay = t->clients[client].stay;
	test_packet(t, client, SW_CHANNEL_SESSION, bytes,
		1 + (uint32_t)sw__pick_up__pack(&pick, bytes + 1));
}

void test_move_item(
	struct test_shard *t, uint32_t client, uint32_t from, uint32_t to, uint32_t count)
{
	Sw__MoveItem move = SW__MOVE_ITEM__INIT;
	uint8_t bytes[32] = {SW_MSG_MOVE_ITEM};

	move.from = from;
	move.to = to;
	move.count = count;
	move.stay = t->clients[client].stay;
	test_packet(t, client, SW_CHANNEL_SESSION, bytes,
		1 + (uint32_t)sw__move_item__pack(&move, bytes + 1));
}

void test_drop_item(struct test_shard *t, uint32_t client, uint32_t slot, uint32_t count)
{
	Sw__DropItem drop = SW__DROP_ITEM__INIT;
	uint8_t bytes[32] = {SW_MSG_DROP_ITEM};

	drop.slot = slot;
	drop.count = count;
	drop.stay = t->clients[client].stay;
	test_packet(t, client, SW_CHANNEL_SESSION, bytes,
		1 + (uint32_t)sw__drop_item__pack(&drop, bytes + 1));
}
