#include "client/bot/bot.h"

#include <stdio.h>
#include <string.h>

#include "client/bot/random.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

#define NS_PER_S       1000000000ull
#define CLICK_NEAR_MM  1500
#define PORTAL_NEAR_MM 200
#define FIGHT_NEAR_MM  15000
#define FIGHT_REACH_MM 1500
#define TRUCE_NS       (10 * NS_PER_S) /* nothing is struck: it was a safe zone */
#define LEAVE_ALONE_NS (10 * NS_PER_S) /* so long loot is its owner's alone */
#define DETOUR_NS      (2 * NS_PER_S)  /* a random walk, when a wall stands before an NPC */

/* The name of the other one of a TRADE event, if it is in view. */
static const char *partner_name(const struct swc_client *client, const struct swc_event *event)
{
	const struct swc_actor *actor = event->type == SWC_EVENT_TRADE
						? swc_actor_find(client, event->trade.partner)
						: NULL;

	return actor ? actor->name : NULL;
}

/* What the connection before the present one still hears. */
static void on_old_event(
	struct bot *bot, const struct swc_client *client, const struct swc_event *event)
{
	struct comeback *c = &bot->comeback;

	journal_event(&c->old_line, client, event, &c->old_deal);
	if (event->type == SWC_EVENT_TRADE)
		trader_deal_read(&c->old_deal, event, partner_name(client, event));
	if (event->type == SWC_EVENT_DISCONNECTED)
		c->old_ended = true;
}

static void on_queued(
	struct bot *bot, const struct swc_client *client, const struct swc_event *event)
{
	const uint8_t *place = swc_place(client, &bot->place_bytes);

	if (place)
		memcpy(bot->place, place, bot->place_bytes);
	bot->queued = true;
	bot->queue_told++;
	bot->queue_state = event->queued.state;
	bot->queue_position = event->queued.position;
	bot->queue_wait_ms = event->queued.wait_ms;
	if (bot->queue_position > bot->queue_position_max)
		bot->queue_position_max = bot->queue_position;
}

static void leave_alone(struct bot *bot)
{
	uint32_t i = bot->left_alone_next++ % BOT_LEFT_ALONE;

	bot->left_alone[i].actor_id = bot->picked;
	bot->left_alone[i].until_ns = bot->now_ns + LEAVE_ALONE_NS;
}

static bool is_left_alone(const struct bot *bot, uint32_t actor_id)
{
	for (uint32_t i = 0; i < BOT_LEFT_ALONE; i++)
		if (bot->left_alone[i].actor_id == actor_id &&
			bot->now_ns < bot->left_alone[i].until_ns)
			return true;
	return false;
}

static void on_event(void *ctx, struct swc_client *client, const struct swc_event *event)
{
	struct bot *bot = ctx;

	if (client == bot->comeback.old) {
		on_old_event(bot, client, event);
		return;
	}
	journal_event(&bot->journal, client, event, &bot->trader.deal);
	trader_event(&bot->trader, event, partner_name(client, event));
	quester_event(&bot->quester, event);
	fellow_event(&bot->fellow, swc_self(client), event);
	talker_event(&bot->talker, swc_self(client), event, bot->now_ns);
	if (event->type == SWC_EVENT_TRADE && event->trade.phase == SWC_TRADE_UNDER_WAY)
		journal_deal(&bot->journal, client, "under_way", &bot->trader.deal);
	switch (event->type) {
	case SWC_EVENT_CONNECTED:
		bot->connected = true;
		break;
	case SWC_EVENT_QUEUED:
		on_queued(bot, client, event);
		break;
	case SWC_EVENT_ADMITTED:
		bot->admitted = true;
		bot->queued = false;
		bot->place_bytes = 0;
		bot->passes_good += bot->with_pass;
		break;
	case SWC_EVENT_CHALLENGED:
		bot->challenges++;
		break;
	case SWC_EVENT_REDIRECTED:
		bot->redirects++;
		break;
	case SWC_EVENT_CAME_BACK:
		bot->came_back++;
		break;
	case SWC_EVENT_PASS:
		bot->pass_bytes = event->pass.count;
		memcpy(bot->pass, event->pass.bytes, event->pass.count);
		break;
	case SWC_EVENT_REFUSED:
		bot->refused = true;
		bot->refused_reason = event->refused.reason;
		bot->retry_ms = event->refused.retry_after_ms;
		if (event->refused.reason == SW_REASON_PASS_REFUSED)
			bot->pass_bytes = 0;
		break;
	case SWC_EVENT_JOINED:
		bot->joined = bot->was_there = true;
		if (!bot->joins++) {
			bot->first_x_mm = swc_self(client)->join_x_mm;
			bot->first_y_mm = swc_self(client)->join_y_mm;
		}
		break;
	case SWC_EVENT_DETAIL:
		bot->detailed = true;
		bot->gold = event->detail.gold;
		bot->gold_pending = event->detail.gold_pending;
		break;
	case SWC_EVENT_ENTER:
		if (event->actor->kind == SWC_PLAYER)
			bot->players_entered++;
		if (!bot->index && bot->options->click && event->actor->kind == SWC_NPC &&
			!strcmp(event->actor->name, bot->options->click))
			bot->npc_actor = event->actor->actor_id;
		break;
	case SWC_EVENT_LEAVE:
		bot->actors_left++;
		if (event->actor->actor_id == bot->npc_actor)
			bot->npc_actor = 0;
		break;
	case SWC_EVENT_COMBAT:
		bot->kills += !event->combat.health &&
			      event->combat.attacker == swc_self(client)->actor_id;
		bot->died |=
			!event->combat.health && event->combat.target == swc_self(client)->actor_id;
		break;
	case SWC_EVENT_DIALOGUE:
		if (!bot->has_dialogue)
			snprintf(bot->dialogue, sizeof(bot->dialogue), "%s", event->dialogue.text);
		bot->has_dialogue = true;
		break;
	case SWC_EVENT_DISCONNECTED:
		bot->closed = true;
		bot->queued = false;
		bot->left_by_us = event->disconnected.by_us;
		bot->timed_out = event->disconnected.timed_out;
		bot->disconnect_reason = event->disconnected.reason;
		snprintf(bot->end_text, sizeof(bot->end_text), "%s", event->disconnected.text);
		comeback_ended(bot, bot->now_ns);
		break;
	case SWC_EVENT_UPDATE:
		if (bot->update_ns && bot->now_ns - bot->update_ns > bot->silence_ns_max)
			bot->silence_ns_max = bot->now_ns - bot->update_ns;
		bot->update_ns = bot->now_ns;
		break;
	case SWC_EVENT_CARDS:
		if (bot->options->pick)
			swc_pick(client, event->cards.offer,
				event->cards.card[event->cards.count - 1].number);
		break;
	case SWC_EVENT_CARD_TAKEN:
		bot->cards++;
		bot->cards_given += event->card_taken.by_default;
		break;
	case SWC_EVENT_RESULT:
		bot->results++;
		for (uint32_t i = 0; i < event->result.count; i++)
			bot->wins += event->result.rank[i].place == 1 &&
				     event->result.rank[i].actor_id == swc_self(client)->actor_id;
		break;
	case SWC_EVENT_MATCH:
	case SWC_EVENT_CHANGED:
	case SWC_EVENT_INVENTORY:
	case SWC_EVENT_TRADE:
	case SWC_EVENT_TRADE_ENDED:
	case SWC_EVENT_PARTY:
	case SWC_EVENT_PARTY_ANSWER:
	case SWC_EVENT_PARTY_INVITE:
	case SWC_EVENT_PARTY_LIVE:
	case SWC_EVENT_CHAT_CHANNEL:
	case SWC_EVENT_CHAT_LINE:
	case SWC_EVENT_CHAT_WHISPER:
	case SWC_EVENT_CHAT_DONE:
	case SWC_EVENT_CHAT_REFUSED:
	case SWC_EVENT_ANNOUNCEMENT:
	case SWC_EVENT_CORRECTED:
	case SWC_EVENT_WALLS_UNKNOWN:
	case SWC_EVENT_QUESTS:
		break;
	case SWC_EVENT_ACTION_DENIED: /* too far, too often: the next try comes by itself */
		if (event->denied.action == SW_MSG_PICK_UP && bot->picked)
			leave_alone(bot);
		/* Without the map's file this is how it learns of safe zones: it walks on. */
		if (event->denied.action == SW_MSG_ATTACK &&
			event->denied.reason == SW__ACTION_REFUSAL__SAFE_ZONE)
			bot->truce_ns = bot->now_ns + TRUCE_NS;
		break;
	}
}

void bot_init(struct bot *bot, uint32_t index, const struct options *options,
	const struct maps *maps, const struct ticket *tickets, FILE *journal)
{
	*bot = (struct bot){.index = index,
		.options = options,
		.maps = maps,
		.tickets = tickets,
		.journal = {.file = journal, .bot = index},
		.comeback.random = bot_random_begin(options->seed + 3, index)};
	walker_init(&bot->walker, options->seed, index);
	walker_init(&bot->detour, options->seed + 1, index);
	trader_init(&bot->trader, options->seed, index);
	fellow_init(&bot->fellow, options->seed, index);
	talker_init(&bot->talker, options->seed, index);
}

int bot_connect(struct bot *bot)
{
	const struct options *options = bot->options;
	const struct ticket *ticket = &bot->tickets[bot->comeback.ticket * options->bots];
	struct swc_config config = {.address = options->server,
		.port = options->port,
		.ticket = ticket->data,
		.ticket_bytes = ticket->bytes,
		.place = bot->place,
		.place_bytes = bot->place_bytes,
		.client_build = "stormweir-bot 0.1",
		.protocol_version = options->protocol_version,
		.connect_timeout_ms = options->connect_timeout_ns < 1000000ull * UINT32_MAX
					      ? (uint32_t)(options->connect_timeout_ns / 1000000)
					      : UINT32_MAX,
		.checksum = options->checksum,
		.stays = options->no_redirects,
		.on_event = on_event,
		.ctx = bot};
	int status;

	bot->with_pass = options->pass && bot->pass_bytes;
	if (bot->with_pass) {
		bot->passes++;
		config.ticket = NULL;
		config.ticket_bytes = 0;
		config.pass = bot->pass;
		config.pass_bytes = bot->pass_bytes;
	}
	bot->connected = bot->admitted = bot->joined = bot->detailed = bot->closed = false;
	bot->left_by_us = bot->timed_out = bot->refused = bot->queued = false;
	bot->refused_reason = bot->disconnect_reason = bot->retry_ms = 0;
	bot->end_text[0] = '\0';
	bot->update_ns = bot->vanish_ns = 0;
	bot->npc_actor = 0;
	bot->journal.line++;
	trader_again(&bot->trader);
	fellow_again(&bot->fellow);
	talker_again(&bot->talker);
	status = swc_open(&config, &bot->client);
	for (uint32_t i = 0; !status && i < bot->maps->count; i++)
		status = swc_use_ground(bot->client, bot->maps->grounds[i]);
	return status;
}

uint64_t bot_due_ns(const struct bot *bot)
{
	const struct comeback *c = &bot->comeback;
	uint64_t due_ns = bot->client ? swc_due_ns(bot->client) : UINT64_MAX, old_ns;

	if (c->again_ns && c->again_ns < due_ns)
		due_ns = c->again_ns;
	old_ns = c->old && !c->old_mute ? swc_due_ns(c->old) : UINT64_MAX;
	return old_ns < due_ns ? old_ns : due_ns;
}

/* The direction to a place, around what walls are known; where none is, or something stops it all
 * the same, that of a random walk for a while. */
static void detour(
	struct bot *bot, int64_t to_x_mm, int64_t to_y_mm, uint64_t now_ns, int *dx, int *dy)
{
	const struct swc_self *self = swc_self(bot->client);
	int32_t next_x_mm, next_y_mm;

	if (walker_blocked(&bot->detour, self)) {
		bot->detour_ns = now_ns + DETOUR_NS;
		bot->detour.until_ns = 0;
	}
	if (now_ns < bot->detour_ns) {
		walker_step(&bot->detour, self, now_ns);
		*dx = bot->detour.dx;
		*dy = bot->detour.dy;
		return;
	}
	if (ways_next(bot->maps->ways, swc_ground(bot->client), self->x_mm, self->y_mm,
		    (int32_t)to_x_mm, (int32_t)to_y_mm, &next_x_mm, &next_y_mm)) {
		to_x_mm = next_x_mm;
		to_y_mm = next_y_mm;
	}
	walker_towards(self->x_mm, self->y_mm, to_x_mm, to_y_mm, dx, dy);
	bot->detour.dx = *dx;
	bot->detour.dy = *dy;
}

/* The NPC to click: of --click until it has spoken, of --travel always. */
static const struct swc_actor *npc_wanted(const struct bot *bot)
{
	const char *travel = bot->options->travel;

	if (bot->npc_actor && !bot->has_dialogue)
		return swc_actor_find(bot->client, bot->npc_actor);
	for (uint32_t i = 0; travel && i < swc_actors(bot->client); i++) {
		const struct swc_actor *actor = swc_actor_at(bot->client, i);

		if (actor->kind == SWC_NPC && !strcmp(actor->name, travel))
			return actor;
	}
	return NULL;
}

/* The middle of the nearest portal of the map, from which it stepped back first when it came or
 * came back inside of it. */
static bool go_to_portal(struct bot *bot, uint64_t now_ns)
{
	const struct swc_self *self = swc_self(bot->client);
	const struct swc_ground *ground = swc_ground(bot->client);
	int64_t nearest = INT64_MAX, to_x = 0, to_y = 0;
	struct swc_portal portal;
	int dx, dy;

	if (!bot->options->portals || !ground)
		return false;
	for (uint32_t i = 0; swc_ground_portal(ground, i, &portal); i++) {
		int64_t x = ((int64_t)portal.x0_mm + portal.x1_mm) / 2;
		int64_t y = ((int64_t)portal.y0_mm + portal.y1_mm) / 2;
		int64_t far =
			(x - self->x_mm) * (x - self->x_mm) + (y - self->y_mm) * (y - self->y_mm);

		if (far < nearest) {
			nearest = far;
			to_x = x;
			to_y = y;
		}
	}
	if (nearest == INT64_MAX || nearest < (int64_t)PORTAL_NEAR_MM * PORTAL_NEAR_MM)
		return false; /* the random walk leads out of it */
	detour(bot, to_x, to_y, now_ns, &dx, &dy);
	swc_walk(bot->client, dx, dy);
	return true;
}

/* Walks to the NPC; returns whether it is there. */
static bool go_to(struct bot *bot, const struct swc_actor *npc, uint64_t now_ns)
{
	const struct swc_self *self = swc_self(bot->client);
	int64_t x, y;
	int dx, dy;

	x = (int64_t)npc->x_mm - self->x_mm;
	y = (int64_t)npc->y_mm - self->y_mm;
	if (x * x + y * y > (int64_t)CLICK_NEAR_MM * CLICK_NEAR_MM) {
		detour(bot, npc->x_mm, npc->y_mm, now_ns, &dx, &dy);
		swc_walk(bot->client, dx, dy);
		return false;
	}
	swc_walk(bot->client, 0, 0);
	return true;
}

/* Goes to the NPC and clicks it once a second until it speaks. Returns whether it had something to
 * do. */
static bool go_and_click(struct bot *bot, uint64_t now_ns)
{
	const struct swc_actor *npc = npc_wanted(bot);

	if (!npc)
		return false;
	if (go_to(bot, npc, now_ns) && now_ns >= bot->click_ns) {
		bot->click_ns = now_ns + NS_PER_S;
		bot->clicks++;
		swc_click(bot->client, npc->actor_id);
	}
	return true;
}

/* The nearest monster that is alive and may be struck, or loot that may be had, within
 * FIGHT_NEAR_MM. */
static const struct swc_actor *fight_nearest(const struct bot *bot, bool loot, int64_t *distance)
{
	const struct swc_self *self = swc_self(bot->client);
	const struct swc_actor *nearest = NULL;

	*distance = (int64_t)FIGHT_NEAR_MM * FIGHT_NEAR_MM;
	for (uint32_t i = 0; i < swc_actors(bot->client); i++) {
		const struct swc_actor *actor = swc_actor_at(bot->client, i);
		int64_t x = (int64_t)actor->x_mm - self->x_mm;
		int64_t y = (int64_t)actor->y_mm - self->y_mm;

		if (actor->kind == SWC_LOOT && !loot)
			continue;
		if (actor->kind != SWC_LOOT &&
			(actor->kind != SWC_MONSTER || !actor->health || bot->truce ||
				!ways_may_strike(swc_ground(bot->client), self, actor)))
			continue;
		if (x * x + y * y >= *distance || is_left_alone(bot, actor->actor_id))
			continue;
		*distance = x * x + y * y;
		nearest = actor;
	}
	return nearest;
}

/* Walks to the nearest prey and strikes it, or picks it up, once a second. Returns whether there is
 * any. */
static bool fight(struct bot *bot, bool loot, uint64_t now_ns)
{
	const struct swc_self *self = swc_self(bot->client);
	int64_t distance;
	const struct swc_actor *prey;
	int dx, dy;

	bot->truce = now_ns < bot->truce_ns;
	prey = fight_nearest(bot, loot, &distance);
	if (!prey || !bot->detailed || !self->health)
		return false;
	if (distance > (int64_t)FIGHT_REACH_MM * FIGHT_REACH_MM) {
		detour(bot, prey->x_mm, prey->y_mm, now_ns, &dx, &dy);
		swc_walk(bot->client, dx, dy);
		return true;
	}
	swc_walk(bot->client, 0, 0);
	if (now_ns < bot->strike_ns)
		return true;
	bot->strike_ns = now_ns + NS_PER_S + NS_PER_S / 20;
	bot->strikes++;
	if (prey->kind == SWC_LOOT) {
		bot->picked = prey->actor_id;
		swc_pick_up(bot->client, prey->actor_id);
	} else {
		swc_attack(bot->client, prey->actor_id);
	}
	return true;
}

/* ---- trading ---- */

static const struct swc_actor *nearest_player(const struct bot *bot)
{
	const struct swc_self *self = swc_self(bot->client);
	const struct swc_actor *nearest = NULL;
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < swc_actors(bot->client); i++) {
		const struct swc_actor *actor = swc_actor_at(bot->client, i);
		int64_t x = (int64_t)actor->x_mm - self->x_mm;
		int64_t y = (int64_t)actor->y_mm - self->y_mm;

		if (actor->kind != SWC_PLAYER || x * x + y * y >= least)
			continue;
		least = x * x + y * y;
		nearest = actor;
	}
	return nearest;
}

static void carry_out(struct bot *bot, const struct trader_act *act, uint64_t now_ns)
{
	struct swc_client *client = bot->client;

	swc_walk(client, act->dx, act->dy);
	switch (act->kind) {
	case TRADER_ASK:
		swc_trade_ask(client, act->actor);
		break;
	case TRADER_OFFER:
		swc_trade_offer(client, act->trade, act->slot, act->count);
		break;
	case TRADER_OFFER_GOLD:
		swc_trade_offer_gold(client, act->trade, act->gold);
		break;
	case TRADER_CONFIRM:
		if (act->trade == bot->trader.deal.trade &&
			act->version == bot->trader.deal.version)
			journal_deal(&bot->journal, client, "confirm", &bot->trader.deal);
		swc_trade_confirm(client, act->trade, act->version);
		break;
	case TRADER_CANCEL:
		swc_trade_cancel(client, act->trade);
		break;
	case TRADER_DROP:
		swc_drop_item(client, act->slot, act->count);
		break;
	case TRADER_MOVE:
		swc_move_item(client, act->slot, act->to, act->count);
		break;
	case TRADER_LEAVE:
		comeback_drop(bot, COMEBACK_left, now_ns);
		break;
	case TRADER_VANISH:
		comeback_drop(bot,
			bot_random_below(&bot->comeback.random, 2) ? COMEBACK_vanished
								   : COMEBACK_muted,
			now_ns);
		break;
	case TRADER_REPLACE:
		comeback_drop(bot, COMEBACK_replaced, now_ns);
		break;
	case TRADER_NOTHING:
	case TRADER_STAND:
	case TRADER_WALK:
	case TRADER_TO_PORTAL:
		break;
	}
}

/* Returns whether it had something to do. */
static bool trade(struct bot *bot, uint64_t now_ns)
{
	const struct swc_self *self = swc_self(bot->client);
	struct trader_act act;

	if (!bot->options->trade || !bot->detailed || (self->health_max && !self->health))
		return false;
	act = trader_step(&bot->trader, self, nearest_player(bot), now_ns);
	if (act.kind == TRADER_NOTHING)
		return false;
	if (act.kind == TRADER_TO_PORTAL && go_to_portal(bot, now_ns))
		return true;
	carry_out(bot, &act, now_ns);
	return true;
}

/* Answers, fights for a quest, or visits the NPC whose turn it is. */
static bool quest(struct bot *bot, uint64_t now_ns)
{
	const struct swc_actor *actors[QUESTER_NPCS], *npc;
	struct quester *q = &bot->quester;
	uint32_t count = 0;

	if (!bot->options->quests || !bot->detailed)
		return false;
	if (q->question) {
		swc_answer(bot->client, q->question, 1);
		q->question = 0;
	}
	if (quester_fights(q))
		return fight(bot, quester_picks(q), now_ns);
	for (uint32_t i = 0; i < swc_actors(bot->client) && count < QUESTER_NPCS; i++)
		if (swc_actor_at(bot->client, i)->kind == SWC_NPC)
			actors[count++] = swc_actor_at(bot->client, i);
	npc = quester_npc(q, swc_self(bot->client), actors, count, now_ns);
	if (!npc)
		return false;
	if (go_to(bot, npc, now_ns)) {
		bot->clicks++;
		swc_click(bot->client, npc->actor_id);
		quester_clicked(q, npc->actor_id, now_ns);
	}
	return true;
}

/* With --trade it stays some seconds here, to find somebody, before it goes on. */
static bool wants_portal(struct bot *bot, uint64_t now_ns)
{
	if (!bot->options->trade)
		return true;
	if (now_ns >= bot->trip_ns) {
		bot->trip = !bot->trip;
		bot->trip_ns = now_ns + NS_PER_S * (3 + bot_random_below(&bot->walker.random, 6));
	}
	return bot->trip;
}

/* The name of some player in view, or NULL. */
static const char *somebody(const struct bot *bot, uint64_t *random)
{
	uint32_t count = swc_actors(bot->client);
	const struct swc_actor *actor =
		count ? swc_actor_at(bot->client, bot_random_below(random, count)) : NULL;

	return actor && actor->kind == SWC_PLAYER ? actor->name : NULL;
}

/* Beside whatever else it does. */
static void party(struct bot *bot, uint64_t now_ns)
{
	struct fellow_act act;

	if (!bot->options->party || !bot->detailed)
		return;
	if (fellow_step(&bot->fellow, swc_self(bot->client),
		    somebody(bot, &bot->fellow.random), now_ns, &act))
		swc_party(bot->client, act.request, act.act, act.character_id, act.name);
}

/* Likewise. */
static void chat(struct bot *bot, uint64_t now_ns)
{
	struct swc_client *client = bot->client;
	struct talker_act act;

	if (!bot->options->chat || !bot->detailed ||
		!talker_step(&bot->talker, swc_self(client), somebody(bot, &bot->talker.random),
			now_ns, &act))
		return;
	switch (act.what) {
	case TALKER_SAY:
		swc_say(client, act.request, act.channel, act.text);
		break;
	case TALKER_WHISPER:
		swc_whisper(client, act.request, 0, act.name, act.text);
		break;
	case TALKER_JOIN:
		swc_channel_join(client, act.request, SWC_CHANNEL_LANGUAGE, act.name);
		break;
	case TALKER_PART:
		swc_channel_part(client, act.request, act.channel);
		break;
	}
}

static void play(struct bot *bot, uint64_t now_ns, bool walk)
{
	party(bot, now_ns);
	chat(bot, now_ns);
	if (go_and_click(bot, now_ns) || (walk && trade(bot, now_ns)) ||
		(walk && quest(bot, now_ns)))
		return;
	if ((walk || !bot->options->trade) && wants_portal(bot, now_ns) &&
		go_to_portal(bot, now_ns))
		return;
	if (walk && bot->options->fight && fight(bot, true, now_ns))
		return;
	if (walk) {
		walker_step(&bot->walker, swc_self(bot->client), now_ns);
		swc_walk(bot->client, bot->walker.dx, bot->walker.dy);
	} else {
		swc_walk(bot->client, 0, 0);
	}
}

/* Whether it is time to vanish: at a random time around the interval. */
static bool vanishes(struct bot *bot, uint64_t now_ns)
{
	uint64_t about_ns = bot->options->vanish_ns, *random = &bot->comeback.random;
	bool due = bot->vanish_ns && now_ns >= bot->vanish_ns;

	if (!bot->vanish_ns || due)
		bot->vanish_ns =
			now_ns + about_ns / 2 + about_ns / 1000 * bot_random_below(random, 1000);
	return due &&
	       comeback_drop(bot, bot_random_below(random, 2) ? COMEBACK_vanished : COMEBACK_muted,
		       now_ns);
}

void bot_step(struct bot *bot, uint64_t now_ns, bool walk)
{
	uint64_t silence_ns = bot->options->silence_ns;

	bot->now_ns = now_ns;
	comeback_service(bot, now_ns);
	if (!bot->client)
		return;
	if (silence_ns && bot->update_ns && swc_state(bot->client) == SWC_PLAYING &&
		now_ns - bot->update_ns > silence_ns &&
		comeback_drop(bot, COMEBACK_silence, now_ns))
		return;
	if (bot->options->vanish_ns && walk && swc_state(bot->client) == SWC_PLAYING &&
		vanishes(bot, now_ns))
		return;
	if (swc_state(bot->client) == SWC_PLAYING)
		play(bot, now_ns, walk);
	if (bot->client)
		swc_service(bot->client, now_ns);
}

uint64_t bot_unreadable(const struct swc_client *client)
{
	/* rtt is all that the call brings up to date. */
	const struct swc_stats *stats = swc_stats((struct swc_client *)client);
	uint64_t sum = 0;

	for (int i = 0; i < SWC_REFUSAL_COUNT; i++)
		sum += stats->refused[i];
	return sum;
}

uint64_t bot_refusals(const struct bot *bot)
{
	return bot->comeback.unreadable + (bot->client ? bot_unreadable(bot->client) : 0);
}

static const char *wrong(const struct bot *bot)
{
	const struct options *options = bot->options;
	const struct swc_stats *stats;

	if (!bot->client)
		return bot->was_there ? "was not there at the end" : "was never started";
	stats = swc_stats(bot->client);
	if (options->expect_refused != REASON_ANY) {
		if (bot->joined)
			return "joined, though a refusal was expected";
		if (bot->disconnect_reason != options->expect_refused || bot->timed_out)
			return bot->closed ? "was refused for another reason" : "was not refused";
		return NULL;
	}
	/* Whoever is thrown out may be told twice: by the shard, and by control in case it was not. */
	if (bot->refused &&
		!(bot->joined && bot->refused_reason == options->expect_disconnect))
		return "was refused";
	if (!bot->connected)
		return "could not connect";
	if (!bot->joined)
		return "did not join";
	if (options->expect_disconnect != REASON_ANY) {
		if (!bot->closed || bot->left_by_us)
			return "was not disconnected";
		if (bot->timed_out || bot->disconnect_reason != options->expect_disconnect)
			return "was disconnected for another reason";
	} else if (bot->closed && !bot->left_by_us) {
		return "was disconnected";
	}
	if (bot->fellow.odd)
		return "was told of its party what cannot be";
	if (bot->talker.disorder)
		return "heard lines twice or out of order";
	if (options->chat && bot->talker.missed)
		return "missed lines";
	if (stats->chat_unknown)
		return "heard lines of a channel that it had left";
	if (bot->talker.heard < options->expect_lines)
		return "heard too few lines";
	if (stats->reliable_lost + bot->comeback.reliable_lost)
		return "lost reliable messages";
	if (stats->leaves_unknown + bot->comeback.leaves_unknown)
		return "saw someone leave who had not come";
	if (bot_refusals(bot))
		return bot->comeback.unreadable_why ? bot->comeback.unreadable_why
						    : "got messages that cannot be read";
	if (bot->players_entered < options->expect_enters)
		return "saw too few players come";
	if (bot->joins < options->expect_moves + 1)
		return "changed maps too seldom";
	if (bot->results < options->expect_results)
		return "was told too few results";
	if (quester_done(&bot->quester) < options->expect_quests)
		return "did too few quests";
	if (!bot->index && options->click && !bot->has_dialogue)
		return "got no answer from the NPC";
	if (bot->mismatch[0])
		return bot->mismatch;
	return NULL;
}

bool bot_well(const struct bot *bot, char *why, size_t why_bytes)
{
	const char *what = wrong(bot);

	if (what && bot->end_text[0] && !bot->left_by_us)
		snprintf(why, why_bytes, "%s (%s)", what, bot->end_text);
	else
		snprintf(why, why_bytes, "%s", what ? what : "");
	return !what;
}
