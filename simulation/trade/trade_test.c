/* Proves: each message that may not be is refused by its name and changes nothing; two who agree on
 * the same version get what they agreed on by one commit, and by nothing else; each way in which a
 * trade ends is told to both by its name; and what a bag can take is known before anything moves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/trade/testing.h"

enum { ANN, BOB, CAT, DAN, FAR, AWAY };
enum { GEL = 1, HIDE = 2 };

#define SERIAL 77u

/* Ann and Bob trade, as do nobody else; Ann has 20 gold, 5 gel in slot 0, a sword in 1, an heirloom
 * in 2, 3 hides in 3 that are bound; Bob has 7 gold and 4 gel in slot 9. */
static void start(struct tt *t, bool open)
{
	tt_start(t);
	tt_give(t, ANN, 0, GEL, 5, 0);
	tt_give(t, ANN, 1, TT_SWORD, 1, SERIAL);
	tt_give(t, ANN, 2, TT_HEIRLOOM, 1, 0);
	tt_give(t, ANN, 3, HIDE, 3, 0);
	tt_give(t, BOB, 9, GEL, 4, 0);
	t->people[ANN].stored.gold = 20;
	t->people[BOB].stored.gold = 7;
	for (uint32_t i = 0; i < TT_PEOPLE; i++)
		tt_come(t, i);
	t->people[ANN].cache.bound[3] = 1;
	t->people[FAR].x = TT_REACH + 1;
	t->people[AWAY].away = true;
	if (!open)
		return;
	assert_int_equal(trade_ask(&t->table, &t->ops, ANN, BOB, t->beat), TRADE_TAKEN);
	tt_tick(t);
	assert_int_equal(trade_ask(&t->table, &t->ops, BOB, ANN, t->beat), TRADE_TAKEN);
	tt_tick(t);
	assert_int_equal(t->people[ANN].told_state, TRADE_OPEN);
	assert_int_equal(t->people[BOB].told_id, t->people[ANN].told_id);
}

/* ---- refusals ---- */

enum verb { ASK, OFFER, GOLD, BACK, CONFIRM, CANCEL, KIND };
enum stage { NOT_YET, ASKED, OPEN, UNDER_WAY, OVER };

static const struct {
	enum trade_refusal want;
	enum stage stage; /* of the trade of Ann, who asks, and Bob */
	uint32_t who;
	enum verb verb;
	uint32_t slot; /* or whom to ask, or the version */
	int64_t amount;
} refused[] = {
	{TRADE_REFUSAL_ONESELF, NOT_YET, ANN, ASK, ANN, 0},
	{TRADE_REFUSAL_ONESELF, OPEN, ANN, ASK, ANN, 0},
	{TRADE_REFUSAL_BUSY, OPEN, ANN, ASK, CAT, 0},
	{TRADE_REFUSAL_BUSY, OPEN, ANN, ASK, BOB, 0},
	{TRADE_REFUSAL_BUSY, ASKED, ANN, ASK, BOB, 0},
	{TRADE_REFUSAL_BUSY, UNDER_WAY, BOB, ASK, CAT, 0},
	{TRADE_REFUSAL_PARTNER_BUSY, OPEN, CAT, ASK, ANN, 0},
	{TRADE_REFUSAL_PARTNER_BUSY, ASKED, CAT, ASK, BOB, 0},
	{TRADE_REFUSAL_PARTNER_BUSY, UNDER_WAY, CAT, ASK, BOB, 0},
	{TRADE_REFUSAL_PARTNER_AWAY, NOT_YET, CAT, ASK, AWAY, 0},
	{TRADE_REFUSAL_PARTNER_AWAY, ASKED, BOB, ASK, AWAY, 0}, /* and Ann still waits */
	{TRADE_REFUSAL_OUT_OF_REACH, NOT_YET, CAT, ASK, FAR, 0},
	{TRADE_REFUSAL_ENDED, NOT_YET, ANN, OFFER, 0, 1},
	{TRADE_REFUSAL_ENDED, OPEN, CAT, OFFER, 0, 1},
	{TRADE_REFUSAL_ENDED, OPEN, CAT, CONFIRM, 0, 0},
	{TRADE_REFUSAL_ENDED, OPEN, CAT, CANCEL, 0, 0},
	{TRADE_REFUSAL_ENDED, OVER, ANN, OFFER, 0, 1},
	{TRADE_REFUSAL_ENDED, OVER, ANN, GOLD, 0, 1},
	{TRADE_REFUSAL_ENDED, OVER, BOB, CONFIRM, 0, 0},
	{TRADE_REFUSAL_ENDED, OVER, BOB, CANCEL, 0, 0},
	{TRADE_REFUSAL_NOT_ACCEPTED, ASKED, ANN, OFFER, 0, 1},
	{TRADE_REFUSAL_NOT_ACCEPTED, ASKED, BOB, CONFIRM, 0, 0},
	{TRADE_REFUSAL_UNDER_WAY, UNDER_WAY, ANN, OFFER, 0, 1},
	{TRADE_REFUSAL_UNDER_WAY, UNDER_WAY, BOB, GOLD, 0, 0},
	{TRADE_REFUSAL_UNDER_WAY, UNDER_WAY, BOB, BACK, 9, 0},
	{TRADE_REFUSAL_UNDER_WAY, UNDER_WAY, BOB, CONFIRM, 0, 0},
	{TRADE_REFUSAL_UNDER_WAY, UNDER_WAY, ANN, CANCEL, 0, 0},
	{TRADE_REFUSAL_NO_SUCH_KIND, OPEN, ANN, KIND, 0, 1},
	{TRADE_REFUSAL_AMOUNT, OPEN, ANN, OFFER, 0, 0},
	{TRADE_REFUSAL_AMOUNT, OPEN, ANN, OFFER, 0, -1},
	{TRADE_REFUSAL_AMOUNT, OPEN, ANN, OFFER, 0, INT64_MIN},
	{TRADE_REFUSAL_AMOUNT, OPEN, ANN, GOLD, 0, -1},
	{TRADE_REFUSAL_AMOUNT, OPEN, ANN, GOLD, 0, INT64_MIN},
	{TRADE_REFUSAL_NOT_OWNED, OPEN, ANN, OFFER, 4, 1},
	{TRADE_REFUSAL_NOT_OWNED, OPEN, BOB, OFFER, 0, 1}, /* that is Ann's */
	{TRADE_REFUSAL_NOT_OWNED, OPEN, ANN, OFFER, COMMIT_BAG_SLOTS, 1},
	{TRADE_REFUSAL_NOT_OWNED, OPEN, ANN, OFFER, COMMIT_EQUIP_FIRST, 1},
	{TRADE_REFUSAL_NOT_OWNED, OPEN, ANN, OFFER, UINT32_MAX, 1},
	{TRADE_REFUSAL_RESERVED, OPEN, ANN, OFFER, 3, 1},
	{TRADE_REFUSAL_NOT_ENOUGH, OPEN, ANN, OFFER, 0, 6},
	{TRADE_REFUSAL_NOT_ENOUGH, OPEN, ANN, OFFER, 0, 1ll << 32 | 1},
	{TRADE_REFUSAL_NOT_ENOUGH, OPEN, ANN, OFFER, 0, INT64_MAX},
	{TRADE_REFUSAL_NOT_ENOUGH, OPEN, ANN, GOLD, 0, 21},
	{TRADE_REFUSAL_NOT_ENOUGH, OPEN, ANN, GOLD, 0, INT64_MAX},
	{TRADE_REFUSAL_NOT_TRADABLE, OPEN, ANN, OFFER, 2, 1},
	{TRADE_REFUSAL_NOT_OFFERED, OPEN, ANN, BACK, 0, 0},
	{TRADE_REFUSAL_NOT_OFFERED, OPEN, BOB, BACK, UINT32_MAX, 0},
	{TRADE_REFUSAL_NOTHING, OPEN, ANN, CONFIRM, 0, 0},
	{TRADE_REFUSAL_OLD_VERSION, OPEN, ANN, CONFIRM, 1, 0},
	{TRADE_REFUSAL_OLD_VERSION, OPEN, ANN, CONFIRM, UINT32_MAX, 0},
};

static enum trade_refusal offer(
	struct tt *t, uint32_t who, enum trade_offer kind, uint32_t slot, int64_t amount)
{
	return trade_offer(
		&t->table, &t->ops, who, t->people[ANN].told_id, kind, slot, amount, t->beat);
}

static enum trade_refusal confirm(struct tt *t, uint32_t who)
{
	return trade_confirm(&t->table, &t->ops, who, t->people[ANN].told_id,
		trade_of(&t->table, ANN)->version, t->beat);
}

/* Five gel against seven gold; both have confirmed, and the commit is on its way. */
static void agree(struct tt *t)
{
	assert_int_equal(offer(t, ANN, TRADE_OFFER_ITEM, 0, 5), TRADE_TAKEN);
	assert_int_equal(offer(t, BOB, TRADE_OFFER_GOLD, 0, 7), TRADE_TAKEN);
	assert_int_equal(confirm(t, ANN), TRADE_TAKEN);
	tt_tick(t);
	assert_int_equal(t->commit_count, 0);
	assert_int_equal(confirm(t, BOB), TRADE_TAKEN);
	tt_tick(t);
	assert_int_equal(t->commit_count, 1);
	assert_int_equal(t->people[BOB].told_state, TRADE_UNDER_WAY);
}

static void bring_to(struct tt *t, enum stage stage)
{
	start(t, stage > ASKED);
	if (stage == ASKED)
		assert_int_equal(trade_ask(&t->table, &t->ops, ANN, BOB, t->beat), TRADE_TAKEN);
	if (stage == UNDER_WAY)
		agree(t);
	if (stage == OVER)
		assert_int_equal(
			trade_cancel(&t->table, &t->ops, BOB, t->people[ANN].told_id), TRADE_TAKEN);
	tt_tick(t);
}

static enum trade_refusal say(
	struct tt *t, uint32_t who, enum verb verb, uint32_t slot, int64_t amount)
{
	const struct trade *trade = trade_of(&t->table, ANN);

	switch (verb) {
	case ASK:
		return trade_ask(&t->table, &t->ops, who, slot, t->beat);
	case OFFER:
		return offer(t, who, TRADE_OFFER_ITEM, slot, amount);
	case GOLD:
		return offer(t, who, TRADE_OFFER_GOLD, slot, amount);
	case BACK:
		return offer(t, who, TRADE_OFFER_TAKE_BACK, slot, amount);
	case KIND:
		return offer(t, who, TRADE_OFFER_KINDS, slot, amount);
	case CONFIRM:
		return trade_confirm(&t->table, &t->ops, who, t->people[ANN].told_id,
			(trade ? trade->version : 0) + slot, t->beat);
	case CANCEL:
		return trade_cancel(&t->table, &t->ops, who, t->people[ANN].told_id);
	}
	return TRADE_TAKEN;
}

static void refused_by_name(void **state)
{
	bool seen[TRADE_TAKEN] = {false};
	static struct tt t;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		enum trade_refusal refusal;
		uint64_t before;
		uint32_t told;

		bring_to(&t, refused[i].stage);
		before = trade_table_hash(&t.table, 0, 0, 1);
		told = t.people[ANN].told + t.people[BOB].told;
		refusal = say(
			&t, refused[i].who, refused[i].verb, refused[i].slot, refused[i].amount);
		if (refusal != refused[i].want)
			fail_msg("row %zu: %d, not %d", i, refusal, refused[i].want);
		if (trade_table_hash(&t.table, 0, 0, 1) != before)
			fail_msg("row %zu: something has changed", i);
		tt_tick(&t);
		assert_int_equal(t.people[ANN].told + t.people[BOB].told, told);
		assert_int_equal(t.commit_count, refused[i].stage == UNDER_WAY);
		seen[refusal] = true;
		tt_end(&t);
	}
	/* the rest has tests of its own */
	seen[TRADE_REFUSAL_OFFER_FULL] = seen[TRADE_REFUSAL_NO_ROOM] = true;
	seen[TRADE_REFUSAL_TOO_MUCH_GOLD] = seen[TRADE_REFUSAL_NOT_A_PLAYER] = true;
	for (uint32_t i = 0; i < TRADE_REFUSAL_COUNT; i++)
		if (!seen[i])
			fail_msg("no row is refused as %u", i);
}

/* ---- agreement ---- */

static void both_get_what_they_agreed_on(void **state)
{
	static struct tt t;
	const struct commit_op *op;

	(void)state;
	bring_to(&t, UNDER_WAY);
	op = t.commits[0].op;
	assert_int_equal(t.commits[0].ops, 4); /* what is taken, then what is put */
	assert_true(op[0].kind == COMMIT_SLOT && op[0].who == 0 && op[0].amount == -5);
	assert_true(op[1].kind == COMMIT_GOLD && op[1].who == 1 && op[1].amount == -7);
	assert_true(op[2].kind == COMMIT_SLOT && op[2].who == 1 && op[2].slot == 9 &&
		    op[2].amount == 5); /* to the gel that is there */
	assert_true(op[3].kind == COMMIT_GOLD && op[3].who == 0 && op[3].amount == 7);
	assert_true(t.people[ANN].cache.bound[0] && t.people[BOB].cache.bound[9]);
	assert_int_equal(t.people[BOB].cache.gold_bound, 7);
	for (uint32_t i = 0; i < 3 * TT_IDLE; i++) /* however long it takes */
		tt_tick(&t);
	tt_execute(&t, 0, COMMIT_RESULT_OK);
	tt_answer(&t, 0);
	assert_int_equal(t.people[ANN].cache.gold, 20);
	tt_tick(&t);
	assert_int_equal(t.people[ANN].cache.gold, 27);
	assert_int_equal(t.people[BOB].cache.gold, 0);
	assert_int_equal(t.people[ANN].cache.pile[0].count, 0);
	assert_int_equal(t.people[BOB].cache.pile[9].count, 9);
	assert_true(tt_same(&t.people[BOB].cache, &t.people[BOB].stored));
	assert_int_equal(t.people[ANN].end, TRADE_END_DONE);
	assert_int_equal(t.people[BOB].end, TRADE_END_DONE);
	assert_int_equal(t.table.count, 0);
	tt_end(&t);
}

/* Any change clears both confirmations: nobody's word holds for what he has not seen. */
static void a_change_clears_confirmations(void **state)
{
	static const struct {
		enum trade_offer kind;
		uint32_t slot;
		int64_t amount;
	} changes[] = {{TRADE_OFFER_ITEM, 1, 1}, {TRADE_OFFER_ITEM, 0, 4}, {TRADE_OFFER_ITEM, 0, 5},
		{TRADE_OFFER_GOLD, 0, 1}, {TRADE_OFFER_TAKE_BACK, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		static struct tt t;
		uint32_t seen;

		start(&t, true);
		assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 0, 5), TRADE_TAKEN);
		assert_int_equal(offer(&t, BOB, TRADE_OFFER_GOLD, 0, 7), TRADE_TAKEN);
		seen = trade_of(&t.table, ANN)->version;
		assert_int_equal(confirm(&t, ANN), TRADE_TAKEN);
		assert_int_equal(
			offer(&t, ANN, changes[i].kind, changes[i].slot, changes[i].amount),
			TRADE_TAKEN);
		assert_int_equal(
			trade_confirm(&t.table, &t.ops, BOB, t.people[ANN].told_id, seen, t.beat),
			TRADE_REFUSAL_OLD_VERSION);
		assert_int_equal(confirm(&t, BOB), TRADE_TAKEN);
		tt_tick(&t);
		tt_tick(&t);
		assert_int_equal(t.commit_count, 0);
		assert_int_equal(t.people[BOB].told_version, trade_of(&t.table, ANN)->version);
		tt_end(&t);
	}
}

static void a_full_ring_only_waits(void **state)
{
	static struct tt t;

	(void)state;
	start(&t, true);
	t.ring_full = true;
	assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 0, 5), TRADE_TAKEN);
	confirm(&t, ANN);
	confirm(&t, BOB);
	for (uint32_t i = 0; i < 3 * TT_IDLE; i++)
		tt_tick(&t);
	assert_int_equal(trade_of(&t.table, ANN)->state, TRADE_OPEN);
	assert_false(t.people[ANN].cache.bound[0]);
	t.ring_full = false;
	tt_tick(&t);
	assert_int_equal(t.commit_count, 1);
	tt_end(&t);
}

/* ---- room ---- */

static void room_is_looked_for_first(void **state)
{
	static struct tt t;

	(void)state;
	start(&t, true);
	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++)
		if (slot != 9)
			tt_give(&t, BOB, slot, HIDE, TT_STACK_MAX, 0);
	/* four and five gel fit one stack, the sword nothing */
	assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 0, 5), TRADE_TAKEN);
	assert_int_equal(confirm(&t, ANN), TRADE_TAKEN);
	assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 1, 1), TRADE_TAKEN);
	assert_int_equal(confirm(&t, ANN), TRADE_REFUSAL_NO_ROOM);
	assert_int_equal(confirm(&t, BOB), TRADE_REFUSAL_NO_ROOM);
	/* what Bob gives makes room */
	assert_int_equal(offer(&t, BOB, TRADE_OFFER_ITEM, 20, TT_STACK_MAX), TRADE_TAKEN);
	assert_int_equal(confirm(&t, ANN), TRADE_TAKEN);
	assert_int_equal(confirm(&t, BOB), TRADE_TAKEN);
	tt_tick(&t);
	assert_int_equal(t.commit_count, 1);
	tt_execute(&t, 0, COMMIT_RESULT_OK);
	tt_answer(&t, 0);
	tt_tick(&t);
	assert_int_equal(t.people[BOB].cache.pile[20].serial, SERIAL);
	/* the lowest that is free once what is given has gone, and is not bound */
	assert_int_equal(t.people[ANN].cache.pile[0].item, HIDE);
	tt_end(&t);

	/* a stack that would grow over its most, and a slot that is bound, are no room */
	start(&t, true);
	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++)
		if (slot != 9)
			tt_give(&t, BOB, slot, HIDE, TT_STACK_MAX, 0);
	tt_give(&t, BOB, 9, GEL, TT_STACK_MAX - 4, 0);
	assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 0, 5), TRADE_TAKEN);
	assert_int_equal(confirm(&t, ANN), TRADE_REFUSAL_NO_ROOM);
	assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 0, 4), TRADE_TAKEN);
	assert_int_equal(confirm(&t, ANN), TRADE_TAKEN);
	t.people[BOB].cache.bound[9] = 1;
	assert_int_equal(confirm(&t, BOB), TRADE_REFUSAL_NO_ROOM);
	t.people[BOB].cache.bound[9] = 0;
	t.people[BOB].cache.gold = INT64_MAX;
	assert_int_equal(offer(&t, ANN, TRADE_OFFER_GOLD, 0, 1), TRADE_TAKEN);
	assert_int_equal(confirm(&t, BOB), TRADE_REFUSAL_TOO_MUCH_GOLD);
	tt_end(&t);
}

static void the_largest_trade_is_one_commit(void **state)
{
	static struct tt t;

	(void)state;
	start(&t, true);
	for (uint32_t i = 0; i <= TRADE_PILES_MAX; i++) {
		enum trade_refusal want =
			i < TRADE_PILES_MAX ? TRADE_TAKEN : TRADE_REFUSAL_OFFER_FULL;

		tt_give(&t, ANN, 10 + i, TT_SWORD, 1, 100 + i);
		tt_give(&t, BOB, 30 + i, TT_SWORD, 1, 200 + i);
		assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 10 + i, 1), want);
		assert_int_equal(offer(&t, BOB, TRADE_OFFER_ITEM, 30 + i, 1), want);
	}
	assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 10, 1), TRADE_TAKEN); /* in it already */
	offer(&t, ANN, TRADE_OFFER_GOLD, 0, 20);
	offer(&t, BOB, TRADE_OFFER_GOLD, 0, 7);
	confirm(&t, ANN);
	confirm(&t, BOB);
	tt_tick(&t);
	assert_int_equal(t.commits[0].ops, TRADE_OPS_MAX);
	tt_execute(&t, 0, COMMIT_RESULT_OK);
	assert_int_equal(t.commits[0].result, COMMIT_RESULT_OK);
	tt_answer(&t, 0);
	tt_tick(&t);
	assert_true(tt_same(&t.people[ANN].cache, &t.people[ANN].stored));
	assert_int_equal(t.people[ANN].cache.gold, 7);
	tt_end(&t);
}

/* ---- ends ---- */

static void wait_idle(struct tt *t)
{
	for (uint32_t i = 0; i <= TT_IDLE; i++)
		tt_tick(t);
}

static void each_end_has_its_name(void **state)
{
	static const struct {
		enum trade_end want;
		enum stage stage;
		char how;
		uint32_t result; /* of the commit */
		bool told[2];
	} ends[] = {
		{TRADE_END_DECLINED, ASKED, 'b', 0, {true, true}},
		{TRADE_END_DECLINED, ASKED, 'o', 0, {true, true}}, /* Bob asks Cat */
		{TRADE_END_CANCELLED, ASKED, 'a', 0, {true, true}},
		{TRADE_END_CANCELLED, OPEN, 'a', 0, {true, true}},
		{TRADE_END_CANCELLED, OPEN, 'b', 0, {true, true}},
		{TRADE_END_LEFT, ASKED, 'A', 0, {false, true}},
		{TRADE_END_LEFT, OPEN, 'A', 0, {false, true}},
		{TRADE_END_LEFT, OPEN, 'B', 0, {true, false}},
		{TRADE_END_AWAY, ASKED, 'd', 0, {true, true}},
		{TRADE_END_AWAY, OPEN, 'd', 0, {true, true}},
		{TRADE_END_APART, OPEN, 'f', 0, {true, true}},
		{TRADE_END_IDLE, ASKED, 'i', 0, {true, true}},
		{TRADE_END_IDLE, OPEN, 'i', 0, {true, true}},
		{TRADE_END_IDLE, OPEN, 'c', 0, {true, true}}, /* one has confirmed */
		{TRADE_END_CHANGED, OPEN, 'u', 0, {true, true}},
		{TRADE_END_CHANGED, OPEN, 'g', 0, {true, true}}, /* gold is spent */
		{TRADE_END_UNAVAILABLE, UNDER_WAY, 'r', COMMIT_RESULT_UNAVAILABLE, {true, true}},
		{TRADE_END_UNAVAILABLE, UNDER_WAY, 'r', COMMIT_RESULT_EXPIRED, {true, true}},
		{TRADE_END_REFUSED, UNDER_WAY, 'r', COMMIT_RESULT_STALE, {true, true}},
		{TRADE_END_REFUSED, UNDER_WAY, 'r', COMMIT_RESULT_NOT_ENOUGH, {true, true}},
		{TRADE_END_REFUSED, UNDER_WAY, 'R', COMMIT_RESULT_STALE, {true, false}},
		{TRADE_END_DONE, UNDER_WAY, 'R', COMMIT_RESULT_OK, {true, false}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		static struct tt t;
		struct tt_bag ann;
		uint32_t id;

		bring_to(&t, ends[i].stage);
		ann = t.people[ANN].cache;
		id = trade_of(&t.table, ANN)->id;
		switch (ends[i].how) {
		case 'a':
		case 'b':
			trade_cancel(&t.table, &t.ops, ends[i].how == 'a' ? ANN : BOB, id);
			break;
		case 'o':
			assert_int_equal(
				trade_ask(&t.table, &t.ops, BOB, CAT, t.beat), TRADE_TAKEN);
			assert_int_equal(t.people[CAT].told, 0);
			break;
		case 'A':
		case 'B':
			tt_leave(&t, ends[i].how == 'A' ? ANN : BOB);
			break;
		case 'd':
			t.people[BOB].away = true;
			break;
		case 'f':
			t.people[BOB].x = 2 * TT_REACH;
			tt_tick(&t);
			assert_non_null(trade_of(&t.table, BOB));
			t.people[BOB].x++;
			break;
		case 'c':
			offer(&t, ANN, TRADE_OFFER_ITEM, 0, 5);
			confirm(&t, BOB);
			/* fallthrough */
		case 'i':
			wait_idle(&t);
			break;
		case 'u':
			offer(&t, ANN, TRADE_OFFER_ITEM, 0, 5);
			confirm(&t, ANN);
			confirm(&t, BOB);
			t.people[ANN].cache.pile[0].count--;
			break;
		case 'g':
			offer(&t, BOB, TRADE_OFFER_GOLD, 0, 7);
			confirm(&t, ANN);
			t.people[BOB].cache.gold--;
			assert_int_equal(confirm(&t, BOB), TRADE_REFUSAL_NOT_ENOUGH);
			t.people[BOB].cache.gold++;
			confirm(&t, BOB);
			t.people[BOB].cache.gold--;
			break;
		case 'R':
			tt_leave(&t, BOB);
			/* fallthrough */
		default:
			wait_idle(&t);
			tt_execute(&t, 0, ends[i].result);
			tt_answer(&t, 0);
		}
		tt_tick(&t);
		tt_tick(&t);
		if (t.ends[ends[i].want] != 1)
			fail_msg("row %zu: not counted by its name", i);
		for (uint32_t who = ANN; who <= BOB; who++) {
			assert_int_equal(t.people[who].ends, ends[i].told[who]);
			if (ends[i].told[who])
				assert_int_equal(t.people[who].end, ends[i].want);
		}
		assert_true(!trade_of(&t.table, ANN));
		if (ends[i].want == TRADE_END_REFUSED || ends[i].want == TRADE_END_UNAVAILABLE) {
			assert_true(tt_same(&ann, &t.people[ANN].cache));
			t.people[ANN].cache.bound[3] = 0; /* from the start */
			assert_false(tt_bound(&t.people[ANN].cache));
		}
		tt_end(&t);
	}
}

/* Asking and taking it back as often as one likes is one message a tick to the other, at most. */
static void the_other_is_told_once_a_tick(void **state)
{
	static struct tt t;

	(void)state;
	start(&t, false);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(trade_ask(&t.table, &t.ops, ANN, BOB, t.beat), TRADE_TAKEN);
		assert_int_equal(trade_cancel(&t.table, &t.ops, ANN, trade_of(&t.table, ANN)->id),
			TRADE_TAKEN);
	}
	tt_tick(&t);
	assert_int_equal(t.people[BOB].told + t.people[BOB].ends, 0);
	assert_int_equal(t.people[ANN].ends, 10);
	tt_end(&t);

	start(&t, true);
	t.people[BOB].told = 0;
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(offer(&t, ANN, TRADE_OFFER_ITEM, 0, 1 + i % 5), TRADE_TAKEN);
	tt_tick(&t);
	assert_int_equal(t.people[BOB].told, 1);
	tt_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_by_name),
		cmocka_unit_test(both_get_what_they_agreed_on),
		cmocka_unit_test(a_change_clears_confirmations),
		cmocka_unit_test(a_full_ring_only_waits),
		cmocka_unit_test(room_is_looked_for_first),
		cmocka_unit_test(the_largest_trade_is_one_commit),
		cmocka_unit_test(each_end_has_its_name),
		cmocka_unit_test(the_other_is_told_once_a_tick),
	};

	return cmocka_run_group_tests_name("trade", tests, NULL, NULL);
}
