#include "client/bot/trader.h"

#include <stdio.h>
#include <string.h>

#include "client/bot/random.h"
#include "client/bot/walker.h"
#include "proto/message_types.h"

#define NS_PER_MS   1000000ull
#define SEEK_MM     25000 /* so far it goes to somebody */
#define ASK_MM      9000  /* the server's reach is 10 m */
#define VAIN_MAX    3u    /* then it gives the trade up */
#define PATIENCE_NS (2500 * NS_PER_MS)

static uint32_t below(struct trader *t, uint32_t limit)
{
	return bot_random_below(&t->random, limit);
}

static bool chance(struct trader *t, uint32_t percent)
{
	return below(t, 100) < percent;
}

void trader_init(struct trader *trader, uint64_t seed, uint32_t index)
{
	*trader = (struct trader){.random = bot_random_begin(seed + 2, index)};
}

void trader_again(struct trader *trader)
{
	memset(&trader->deal, 0, sizeof(trader->deal));
	trader->act_ns = trader->rest_ns = trader->since_ns = 0;
	trader->fated = 0;
	trader->bag_count = 0;
	trader->gold = 0;
}

/* ---- what it is told ---- */

static void read_offer(struct trader_offer *offer, const struct swc_trade_side *side)
{
	offer->gold = side->gold;
	offer->confirmed = side->confirmed;
	offer->piles = side->count < TRADER_PILES_MAX ? side->count : TRADER_PILES_MAX;
	memcpy(offer->pile, side->stacks, offer->piles * sizeof(*side->stacks));
}

void trader_deal_read(struct trader_deal *deal, const struct swc_event *event, const char *partner)
{
	deal->trade = event->trade.trade;
	deal->version = event->trade.version;
	deal->partner = event->trade.partner;
	deal->phase = event->trade.phase;
	deal->asked = event->trade.asked;
	if (partner)
		snprintf(deal->partner_name, sizeof(deal->partner_name), "%s", partner);
	read_offer(&deal->own, &event->trade.own);
	read_offer(&deal->other, &event->trade.other);
}

void trader_event(struct trader *trader, const struct swc_event *event, const char *partner)
{
	enum swc_trade_phase before = trader->deal.phase;

	switch (event->type) {
	case SWC_EVENT_TRADE:
		if (trader->deal.trade != event->trade.trade) {
			memset(&trader->deal, 0, sizeof(trader->deal));
			before = SWC_TRADE_NONE;
			trader->begun++;
			trader->vain = 0;
		}
		trader_deal_read(&trader->deal, event, partner);
		if (trader->deal.phase != before)
			trader->since_ns = 0;
		break;
	case SWC_EVENT_TRADE_ENDED:
		trader->ended[event->trade_ended.reason < TRADER_NAMES_MAX
				      ? event->trade_ended.reason
				      : 0]++;
		if (event->trade_ended.trade == trader->deal.trade)
			memset(&trader->deal, 0, sizeof(trader->deal));
		break;
	case SWC_EVENT_JOINED: /* a trade does not outlive a stay */
		memset(&trader->deal, 0, sizeof(trader->deal));
		trader->fated = 0; /* another map's trades have the same numbers */
		break;
	case SWC_EVENT_INVENTORY:
		trader->bag_count = 0;
		for (uint32_t i = 0; i < event->inventory.count && i < SWC_STACKS_MAX; i++)
			trader->bag[trader->bag_count++] = event->inventory.stacks[i];
		break;
	case SWC_EVENT_DETAIL:
		trader->gold = event->detail.gold;
		break;
	case SWC_EVENT_ACTION_DENIED:
		trader->denied[event->denied.reason < TRADER_NAMES_MAX ? event->denied.reason
								       : 0]++;
		trader->vain += event->denied.action == SW_MSG_TRADE_CONFIRM;
		break;
	default:
		break;
	}
}

/* ---- what it does ---- */

static struct trader_act act_of(enum trader_act_kind kind)
{
	return (struct trader_act){.kind = kind};
}

static struct trader_act stand(void)
{
	return act_of(TRADER_STAND);
}

static struct trader_act say(const struct trader *t, enum trader_act_kind kind)
{
	return (struct trader_act){
		.kind = kind, .trade = t->deal.trade, .version = t->deal.version};
}

static void draw_fate(struct trader *t)
{
#define WEIGHT(name, weight) weight,
#define SUM(name, weight)    +weight
	static const uint32_t weights[] = {TRADER_FATES(WEIGHT)};
	uint32_t left = below(t, 0 TRADER_FATES(SUM));

	t->fate = TRADER_FATE_FINISH;
	while (left >= weights[t->fate])
		left -= weights[t->fate++];
	t->fates[t->fate]++;
	t->acts_left = 1 + below(t, 5);
	t->fated = t->deal.trade;
	t->over = false;
}

/* A stack of the bag, what is worn excepted; NULL without. */
static const struct swc_stack *any_stack(struct trader *t)
{
	uint32_t first = t->bag_count ? below(t, t->bag_count) : 0;

	for (uint32_t i = 0; i < t->bag_count; i++) {
		const struct swc_stack *stack = &t->bag[(first + i) % t->bag_count];

		if (stack->slot < 64)
			return stack;
	}
	return NULL;
}

static struct trader_act offer_item(struct trader *t)
{
	const struct swc_stack *stack = any_stack(t);
	struct trader_act act = say(t, TRADER_OFFER);

	if (!stack)
		return stand();
	act.slot = stack->slot;
	act.count = 1 + below(t, stack->count);
	return act;
}

static struct trader_act offer_gold(struct trader *t)
{
	struct trader_act act = say(t, TRADER_OFFER_GOLD);
	int64_t most = t->gold < 1000 ? t->gold : 1000;

	act.gold = most > 0 ? 1 + below(t, (uint32_t)most) : 0;
	return act;
}

static struct trader_act take_back(struct trader *t)
{
	const struct trader_offer *own = &t->deal.own;
	struct trader_act act = say(t, TRADER_OFFER);

	if (!own->piles)
		return offer_item(t);
	act.slot = own->pile[below(t, own->piles)].slot;
	return act;
}

/* What an honest client would not say. */
static struct trader_act cheat(struct trader *t)
{
	const struct swc_stack *stack = any_stack(t);
	struct trader_act act = offer_gold(t);

	switch (below(t, 8)) {
	case 0:
		act.gold = -act.gold - 1;
		break;
	case 1:
		act.gold = t->gold + 1 + below(t, 1000);
		break;
	case 2:
		act.gold = INT64_MAX - below(t, 2);
		break;
	case 3:
		act = say(t, TRADER_OFFER);
		act.slot = below(t, 120); /* worn, or no slot at all */
		act.count = 1 + below(t, 3);
		break;
	case 4:
		act = say(t, TRADER_OFFER);
		act.slot = stack ? stack->slot : 0;
		act.count = (stack ? stack->count : 0) + 1;
		break;
	case 5:
		act = say(t, TRADER_CONFIRM);
		act.version--; /* never a newer one: nobody agrees to what he has not seen */
		break;
	case 6:
		act = say(t, TRADER_CONFIRM);
		act.trade += 1 + below(t, 3); /* somebody else's */
		break;
	default:
		act = say(t, TRADER_ASK);
		act.actor = t->deal.partner;
	}
	return act;
}

static struct trader_act haggle(struct trader *t)
{
	uint32_t what = below(t, 100);

	t->acts_left--;
	if (what < 45)
		return offer_item(t);
	if (what < 70)
		return offer_gold(t);
	if (what < 80)
		return take_back(t);
	return what < 92 ? cheat(t) : say(t, TRADER_CONFIRM);
}

static bool nothing_offered(const struct trader_deal *deal)
{
	return !deal->own.piles && !deal->own.gold && !deal->other.piles && !deal->other.gold;
}

/* Both agree, as far as it lies with this one. */
static struct trader_act agree(struct trader *t, uint64_t now_ns)
{
	if (nothing_offered(&t->deal)) {
		if (t->gold > 0)
			return offer_gold(t);
		return any_stack(t) ? offer_item(t) : say(t, TRADER_CANCEL);
	}
	if (t->vain >= VAIN_MAX)
		return say(t, TRADER_CANCEL);
	if (!t->deal.own.confirmed)
		return say(t, TRADER_CONFIRM);
	return now_ns - t->since_ns > 2 * PATIENCE_NS ? say(t, TRADER_CANCEL) : stand();
}

static struct trader_act walk_off(struct trader *t, const struct swc_self *self)
{
	struct trader_act act = act_of(TRADER_WALK);

	walker_towards(
		self->x_mm, self->y_mm, self->width_mm / 2, self->height_mm / 2, &act.dx, &act.dy);
	if (t->fated & 1) {
		act.dx = -act.dx;
		act.dy = -act.dy;
	}
	return act;
}

/* One of its connection's ends: half of them wait until the commit may be on its way. */
static struct trader_act end_connection(
	struct trader *t, enum trader_act_kind kind, uint64_t now_ns)
{
	if (t->fated & 2 && t->deal.phase != SWC_TRADE_UNDER_WAY && !t->over) {
		if (!t->deal.own.confirmed)
			return agree(t, now_ns);
		if (!t->deal.other.confirmed && now_ns - t->since_ns < PATIENCE_NS)
			return stand();
	}
	t->over = true;
	return act_of(kind);
}

static struct trader_act meet_fate(struct trader *t, const struct swc_self *self, uint64_t now_ns)
{
	struct trader_act act;

	switch (t->fate) {
	case TRADER_FATE_CANCEL:
		return say(t, TRADER_CANCEL);
	case TRADER_FATE_WALK_OFF:
		return walk_off(t, self);
	case TRADER_FATE_PORTAL:
		return now_ns - t->since_ns > 4 * PATIENCE_NS ? say(t, TRADER_CANCEL)
							      : act_of(TRADER_TO_PORTAL);
	case TRADER_FATE_DROP_OFFERED:
	case TRADER_FATE_MOVE_OFFERED:
		if (t->over || !t->deal.own.piles)
			return agree(t, now_ns);
		t->over = true;
		act = act_of(t->fate == TRADER_FATE_DROP_OFFERED ? TRADER_DROP : TRADER_MOVE);
		act.slot = t->deal.own.pile[0].slot;
		act.to = chance(t, 30) ? 100 + below(t, 4) : below(t, 64);
		return act;
	case TRADER_FATE_CHANGE_AFTER: /* when the other one has confirmed, or both */
		if (t->over || !t->deal.other.confirmed)
			return agree(t, now_ns);
		t->over = true;
		return t->deal.own.piles ? take_back(t) : offer_gold(t);
	case TRADER_FATE_LEAVE:
		return end_connection(t, TRADER_LEAVE, now_ns);
	case TRADER_FATE_VANISH:
		return end_connection(t, TRADER_VANISH, now_ns);
	case TRADER_FATE_REPLACE:
		return t->over ? stand() : end_connection(t, TRADER_REPLACE, now_ns);
	case TRADER_FATE_FINISH:
	case TRADER_FATE_COUNT:
		break;
	}
	return agree(t, now_ns);
}

/* Nobody trades with it: it looks for somebody, or does something else. */
static struct trader_act look_around(struct trader *t, const struct swc_self *self,
	const struct swc_actor *near, uint64_t now_ns)
{
	int64_t dx, dy, far;
	struct trader_act act;

	if (now_ns < t->rest_ns || !near || (t->gold <= 0 && !any_stack(t)))
		return act_of(TRADER_NOTHING);
	dx = (int64_t)near->x_mm - self->x_mm;
	dy = (int64_t)near->y_mm - self->y_mm;
	far = dx * dx + dy * dy;
	if (far > (int64_t)SEEK_MM * SEEK_MM)
		return act_of(TRADER_NOTHING);
	if (far > (int64_t)ASK_MM * ASK_MM) {
		act = act_of(TRADER_WALK);
		walker_towards(self->x_mm, self->y_mm, near->x_mm, near->y_mm, &act.dx, &act.dy);
		return act;
	}
	t->rest_ns = now_ns + (500 + below(t, 2500)) * NS_PER_MS;
	if (chance(t, 4)) {
		const struct swc_stack *stack = any_stack(t);

		act = act_of(stack ? TRADER_DROP : TRADER_NOTHING);
		act.slot = stack ? stack->slot : 0;
		return act;
	}
	act = act_of(TRADER_ASK);
	act.actor = near->actor_id;
	return act;
}

struct trader_act trader_step(struct trader *t, const struct swc_self *self,
	const struct swc_actor *near, uint64_t now_ns)
{
	struct trader_act act;

	if (!t->deal.trade)
		return look_around(t, self, near, now_ns);
	if (!t->since_ns)
		t->since_ns = now_ns;
	if (t->fated == t->deal.trade && t->fate == TRADER_FATE_WALK_OFF && !t->acts_left &&
		t->deal.phase == SWC_TRADE_OPEN)
		return walk_off(t, self);
	if (now_ns < t->act_ns)
		return stand();
	t->act_ns = now_ns + (40 + below(t, 160)) * NS_PER_MS;
	switch (t->deal.phase) {
	case SWC_TRADE_ASKED:
		if (!t->deal.asked)
			return now_ns - t->since_ns > PATIENCE_NS ? say(t, TRADER_CANCEL) : stand();
		act = say(t, chance(t, 88) ? TRADER_ASK : TRADER_CANCEL);
		act.actor = t->deal.partner;
		return act;
	case SWC_TRADE_OPEN:
		if (t->fated != t->deal.trade)
			draw_fate(t);
		return t->acts_left ? haggle(t) : meet_fate(t, self, now_ns);
	case SWC_TRADE_UNDER_WAY:
		if (t->fated == t->deal.trade &&
			(t->fate == TRADER_FATE_LEAVE || t->fate == TRADER_FATE_VANISH ||
				t->fate == TRADER_FATE_REPLACE || t->fate == TRADER_FATE_PORTAL))
			return meet_fate(t, self, now_ns);
		return chance(t, 20) ? (chance(t, 50) ? say(t, TRADER_CANCEL) : offer_item(t))
				     : stand();
	case SWC_TRADE_NONE:
		break;
	}
	return stand();
}

const char *trader_fate_name(enum trader_fate fate)
{
#define NAME(name, weight) #name,
	static const char *const names[] = {TRADER_FATES(NAME)};

	return fate < TRADER_FATE_COUNT ? names[fate] : "";
}
