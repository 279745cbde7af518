/* Proves how a trading bot decides: the same seed and the same events decide the same; against a
 * partner who agrees to everything each fate comes about, every act among them; it confirms no
 * version that it has not seen; a trade that cannot be is given up; who has nothing asks nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/bot/trader.h"
#include "proto/message_types.h"

#define NS_PER_MS 1000000ull
#define KINDS     (TRADER_REPLACE + 1)

/* One trader, a partner who accepts and confirms whatever is offered, and what was done. */
struct world {
	struct trader trader;
	struct swc_self self;
	struct swc_actor near;
	struct trader_deal deal; /* as the server has it */
	uint32_t last_trade;
	bool deaf; /* confirmations are refused */
	uint64_t now_ns, hash, confirms;
	uint32_t acts[KINDS];
};

static const struct swc_stack bag[] = {{0, 1, 40}, {1, 10, 1}, {63, 2, 5}, {100, 20, 1}};

static void tell_bag(struct world *w)
{
	struct swc_event event = {.type = SWC_EVENT_INVENTORY,
		.inventory = {.stacks = bag, .count = sizeof(bag) / sizeof(bag[0])}};

	trader_event(&w->trader, &event, NULL);
	event = (struct swc_event){.type = SWC_EVENT_DETAIL, .detail = {.gold = 250}};
	trader_event(&w->trader, &event, NULL);
}

static void start(struct world *w, uint64_t seed)
{
	*w = (struct world){
		.self = {.width_mm = 100000, .height_mm = 100000, .x_mm = 50000, .y_mm = 50000},
		.near = {.actor_id = 7, .kind = SWC_PLAYER, .x_mm = 52000, .y_mm = 50000},
		.now_ns = NS_PER_MS};
	trader_init(&w->trader, seed, 3);
	tell_bag(w);
}

static struct swc_trade_side side(const struct trader_offer *offer)
{
	return (struct swc_trade_side){.gold = offer->gold,
		.stacks = offer->pile,
		.count = offer->piles,
		.confirmed = offer->confirmed};
}

static void tell_trade(struct world *w)
{
	struct swc_event event = {.type = SWC_EVENT_TRADE,
		.trade = {.trade = w->deal.trade,
			.version = w->deal.version,
			.partner = 7,
			.phase = w->deal.phase,
			.asked = w->deal.asked,
			.own = side(&w->deal.own),
			.other = side(&w->deal.other)}};

	trader_event(&w->trader, &event, "Bo");
}

static void begin(struct world *w, bool asked)
{
	w->deal = (struct trader_deal){.trade = ++w->last_trade,
		.version = 1,
		.phase = asked ? SWC_TRADE_ASKED : SWC_TRADE_OPEN,
		.asked = asked};
	tell_trade(w);
}

static void end(struct world *w, uint32_t reason)
{
	struct swc_event event = {.type = SWC_EVENT_TRADE_ENDED,
		.trade_ended = {.trade = w->deal.trade, .reason = reason}};

	memset(&w->deal, 0, sizeof(w->deal));
	trader_event(&w->trader, &event, NULL);
}

static void changed(struct world *w)
{
	w->deal.version++;
	w->deal.own.confirmed = false;
	w->deal.other.confirmed = true;
	tell_trade(w);
}

static void deny_confirm(struct world *w)
{
	struct swc_event event = {.type = SWC_EVENT_ACTION_DENIED,
		.denied = {.action = SW_MSG_TRADE_CONFIRM, .reason = 1}};

	trader_event(&w->trader, &event, NULL);
}

static void confirm(struct world *w, const struct trader_act *act)
{
	assert_true(act->version <= w->deal.version);
	w->confirms++;
	if (w->deaf || act->version != w->deal.version || act->trade != w->deal.trade) {
		deny_confirm(w);
	} else if (w->deal.phase == SWC_TRADE_OPEN) {
		w->deal.own.confirmed = w->deal.other.confirmed = true;
		w->deal.phase = SWC_TRADE_UNDER_WAY;
		tell_trade(w);
	}
}

/* What a server would do with it. */
static void serve(struct world *w, const struct trader_act *act)
{
	struct trader_offer *own = &w->deal.own;

	switch (act->kind) {
	case TRADER_ASK:
		if (!w->deal.trade) {
			begin(w, false);
		} else if (w->deal.phase == SWC_TRADE_ASKED) {
			w->deal.phase = SWC_TRADE_OPEN;
			tell_trade(w);
		}
		break;
	case TRADER_OFFER_GOLD:
		if (w->deal.phase == SWC_TRADE_OPEN && act->gold >= 0 && act->gold <= 250) {
			own->gold = act->gold;
			changed(w);
		}
		break;
	case TRADER_OFFER:
		if (w->deal.phase == SWC_TRADE_OPEN && act->slot == 0 && act->count <= 40) {
			own->piles = act->count ? 1 : 0;
			own->pile[0] = (struct swc_stack){0, 1, act->count};
			changed(w);
		}
		break;
	case TRADER_CONFIRM:
		confirm(w, act);
		break;
	case TRADER_CANCEL:
		if (w->deal.trade && w->deal.phase != SWC_TRADE_UNDER_WAY)
			end(w, 3);
		break;
	case TRADER_TO_PORTAL:
		if (w->now_ns / NS_PER_MS % 1000 < 50) {
			memset(&w->deal, 0, sizeof(w->deal));
			trader_event(
				&w->trader, &(struct swc_event){.type = SWC_EVENT_JOINED}, NULL);
		}
		break;
	case TRADER_LEAVE:
	case TRADER_VANISH:
	case TRADER_REPLACE:
		memset(&w->deal, 0, sizeof(w->deal));
		trader_again(&w->trader);
		tell_bag(w);
		break;
	case TRADER_WALK:
		w->near.x_mm += 200;
		break;
	default:
		break;
	}
}

static struct trader_act step(struct world *w)
{
	struct trader_act act = trader_step(&w->trader, &w->self, &w->near, w->now_ns);
	const uint64_t words[] = {
		act.kind, act.trade, act.version, act.slot, act.count, (uint64_t)act.gold};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		w->hash = (w->hash ^ words[i]) * 0x100000001b3ull;
	w->acts[act.kind]++;
	serve(w, &act);
	w->now_ns += 50 * NS_PER_MS;
	if (w->near.x_mm > 52000 + 14000) { /* too far apart */
		w->near.x_mm = 52000;
		if (w->deal.phase == SWC_TRADE_OPEN)
			end(w, 6);
	}
	return act;
}

/* The answer to a commit comes some steps later. */
static void run(struct world *w, uint32_t steps)
{
	uint32_t waits = 0;

	for (uint32_t i = 0; i < steps; i++) {
		step(w);
		waits = w->deal.phase == SWC_TRADE_UNDER_WAY ? waits + 1 : 0;
		if (waits == 8)
			end(w, SWC_TRADE_DONE);
	}
}

static void each_fate_comes_about(void **state)
{
	struct world w;

	(void)state;
	start(&w, 5);
	run(&w, 60000);
	for (uint32_t fate = 0; fate < TRADER_FATE_COUNT; fate++)
		if (w.trader.fates[fate] < 10)
			fail_msg("%s came %u times", trader_fate_name(fate),
				(unsigned)w.trader.fates[fate]);
	for (uint32_t kind = 0; kind < KINDS; kind++)
		if (!w.acts[kind])
			fail_msg("act %u never came", kind);
	assert_true(w.trader.ended[SWC_TRADE_DONE] > 100);
	assert_true(w.trader.denied[1] > 0);
	assert_true(w.trader.begun >= w.trader.ended[SWC_TRADE_DONE]);
}

static void the_same_again(void **state)
{
	struct world one, two, other;

	(void)state;
	start(&one, 5);
	start(&two, 5);
	start(&other, 6);
	run(&one, 5000);
	run(&two, 5000);
	run(&other, 5000);
	assert_true(one.hash == two.hash);
	assert_true(one.hash != other.hash);
}

static void who_is_asked_answers(void **state)
{
	uint32_t accepted = 0, declined = 0;
	struct world w;

	(void)state;
	start(&w, 9);
	for (int i = 0; i < 200; i++) {
		struct trader_act act = {0};

		begin(&w, true);
		for (int j = 0; j < 20 && act.kind != TRADER_ASK && act.kind != TRADER_CANCEL; j++)
			act = step(&w);
		accepted += act.kind == TRADER_ASK && act.actor == 7;
		declined += act.kind == TRADER_CANCEL;
		if (w.deal.trade)
			end(&w, 4);
	}
	assert_int_equal(accepted + declined, 200);
	assert_true(accepted > 100 && declined > 5);
}

/* Whose confirmations are refused again and again gives the trade up, whatever was meant. */
static void what_cannot_be_is_given_up(void **state)
{
	struct world w;

	(void)state;
	start(&w, 11);
	w.deaf = true;
	run(&w, 40000);
	assert_int_equal(w.trader.ended[SWC_TRADE_DONE], 0);
	assert_true(w.trader.ended[3] > 100);
	assert_true(w.confirms < 6 * w.trader.begun);
}

static void who_has_nothing_asks_nobody(void **state)
{
	struct world w;

	(void)state;
	start(&w, 13);
	trader_again(&w.trader);
	assert_int_equal(step(&w).kind, TRADER_NOTHING);
	tell_bag(&w);
	assert_int_not_equal(step(&w).kind, TRADER_NOTHING);

	start(&w, 13); /* and nobody is asked who is not there */
	assert_int_equal(trader_step(&w.trader, &w.self, NULL, w.now_ns).kind, TRADER_NOTHING);
	w.near.x_mm = 90000;
	assert_int_equal(step(&w).kind, TRADER_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fate_comes_about),
		cmocka_unit_test(the_same_again),
		cmocka_unit_test(who_is_asked_answers),
		cmocka_unit_test(what_cannot_be_is_given_up),
		cmocka_unit_test(who_has_nothing_asks_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
