#include "simulation/trade/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- what the table asks for ---- */

static bool pile_of(void *ctx, uint32_t player, uint32_t slot, struct trade_pile *pile)
{
	struct tt *t = ctx;

	assert_true(t->people[player].here && slot < COMMIT_BAG_SLOTS);
	*pile = t->people[player].cache.pile[slot];
	return !t->people[player].cache.bound[slot];
}

static int64_t gold_of(void *ctx, uint32_t player)
{
	struct tt *t = ctx;

	assert_true(t->people[player].here);
	return t->people[player].cache.gold - t->people[player].cache.gold_bound;
}

static uint32_t stack_max(void *ctx, uint32_t item)
{
	(void)ctx;
	return item == TT_SWORD ? 1 : item == TT_HEIRLOOM ? 0 : TT_STACK_MAX;
}

static enum trade_nearness nearness(void *ctx, uint32_t a, uint32_t b, bool open)
{
	struct tt *t = ctx;

	assert_true(t->people[a].here && t->people[b].here);
	if (t->people[a].away || t->people[b].away)
		return TRADE_GONE;
	return abs(t->people[a].x - t->people[b].x) <= (open ? 2 : 1) * TT_REACH ? TRADE_NEAR
										 : TRADE_FAR;
}

static bool bind(void *ctx, struct trade *trade, const struct commit_op *ops, uint32_t count)
{
	struct tt *t = ctx;
	struct tt_commit *commit;

	if (t->ring_full || t->commit_count == TT_COMMITS)
		return false;
	commit = &t->commits[t->commit_count++];
	memset(commit, 0, sizeof(*commit));
	commit->place = trade_place(&t->table, trade);
	commit->request[0] = trade->request[0] = 0xabcdef;
	commit->request[1] = trade->request[1] = ++t->requests;
	commit->ops = count;
	memcpy(commit->op, ops, count * sizeof(*ops));
	for (uint32_t who = 0; who < 2; who++) {
		assert_true(t->people[trade->side[who].player].here);
		commit->character[who] = trade->side[who].player;
		commit->epoch[who] = t->people[trade->side[who].player].epoch;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct tt_bag *bag = &t->people[trade->side[ops[i].who].player].cache;

		if (ops[i].kind == COMMIT_SLOT)
			bag->bound[ops[i].slot]++;
		else if (ops[i].amount < 0)
			bag->gold_bound -= ops[i].amount;
	}
	return true;
}

static void apply_op(struct tt_bag *bag, const struct commit_op *op)
{
	struct trade_pile *pile = &bag->pile[op->slot];

	if (op->kind == COMMIT_GOLD) {
		bag->gold += op->amount;
		return;
	}
	pile->count = (uint32_t)(pile->count + op->amount);
	pile->item = op->item;
	pile->serial = op->serial;
	if (!pile->count)
		memset(pile, 0, sizeof(*pile));
}

static void settle(void *ctx, const struct trade *trade, uint32_t who, const struct commit_op *ops,
	uint32_t count)
{
	struct tt *t = ctx;
	struct tt_bag *bag = &t->people[trade->side[who].player].cache;

	assert_true(t->people[trade->side[who].player].here);
	for (uint32_t i = 0; i < count; i++) {
		if (ops[i].who != who)
			continue;
		if (ops[i].kind == COMMIT_SLOT) {
			assert_true(bag->bound[ops[i].slot]);
			bag->bound[ops[i].slot]--;
		} else if (ops[i].amount < 0) {
			bag->gold_bound += ops[i].amount;
		}
		if (trade->answer.result == COMMIT_RESULT_OK)
			apply_op(bag, &ops[i]);
	}
}

static void tell(void *ctx, const struct trade *trade, uint32_t who)
{
	struct tt *t = ctx;
	struct tt_person *person = &t->people[trade->side[who].player];

	assert_true(person->here);
	person->told++;
	person->told_id = trade->id;
	person->told_version = trade->version;
	person->told_state = trade->state;
}

static void tell_end(void *ctx, const struct trade *trade, uint32_t who, enum trade_end end)
{
	struct tt *t = ctx;
	struct tt_person *person = &t->people[trade->side[who].player];

	assert_true(person->here);
	person->ends++;
	person->end = end;
}

static void ended(void *ctx, enum trade_end end)
{
	struct tt *t = ctx;

	t->ends[end]++;
}

/* ---- people ---- */

void tt_start(struct tt *t)
{
	memset(t, 0, sizeof(*t));
	t->memory = malloc(trade_table_bytes(TT_PEOPLE));
	assert_non_null(t->memory);
	trade_table_init(&t->table, t->memory, TT_PEOPLE, TT_IDLE);
	t->beat = UINT32_MAX - 100; /* it wraps */
	t->ops = (struct trade_ops){.ctx = t,
		.pile = pile_of,
		.gold = gold_of,
		.stack_max = stack_max,
		.near = nearness,
		.bind = bind,
		.settle = settle,
		.tell = tell,
		.tell_end = tell_end,
		.ended = ended};
}

void tt_end(struct tt *t)
{
	free(t->memory);
}

void tt_give(
	struct tt *t, uint32_t who, uint32_t slot, uint32_t item, uint32_t count, uint64_t serial)
{
	struct trade_pile pile = {.item = item, .count = count, .serial = serial};

	t->people[who].stored.pile[slot] = t->people[who].cache.pile[slot] = pile;
}

void tt_come(struct tt *t, uint32_t who)
{
	struct tt_person *person = &t->people[who];

	/* The details wait for what was taken before (MSG_DETAIL_QUERY). */
	for (uint32_t i = 0; i < t->commit_count; i++)
		if (t->commits[i].character[0] == who || t->commits[i].character[1] == who)
			tt_execute(t, i, COMMIT_RESULT_OK);
	person->here = true;
	person->away = false;
	person->cache = person->stored;
}

void tt_leave(struct tt *t, uint32_t who)
{
	trade_left(&t->table, &t->ops, who);
	t->people[who].here = false;
	memset(&t->people[who].cache, 0xee, sizeof(t->people[who].cache));
}

void tt_tick(struct tt *t)
{
	uint32_t cursor = t->table.count;

	t->beat++;
	while (trade_step(&t->table, &t->ops, &cursor, t->beat))
		;
}

/* ---- the database ---- */

static uint32_t carry_out(struct tt *t, const struct tt_commit *commit)
{
	struct tt_bag after[2];

	for (uint32_t who = 0; who < 2; who++) {
		const struct tt_person *person = &t->people[commit->character[who]];

		if (person->epoch != commit->epoch[who])
			return COMMIT_RESULT_STALE;
		after[who] = person->stored;
	}
	for (uint32_t i = 0; i < commit->ops; i++) {
		const struct commit_op *op = &commit->op[i];
		struct tt_bag *bag = &after[op->who];
		const struct trade_pile *pile = &bag->pile[op->slot];

		if (op->kind == COMMIT_GOLD) {
			if (bag->gold + op->amount < 0)
				return COMMIT_RESULT_NOT_ENOUGH;
		} else {
			if (pile->count && (pile->item != op->item || pile->serial != op->serial))
				return COMMIT_RESULT_SLOT_TAKEN;
			if (pile->count + op->amount < 0)
				return COMMIT_RESULT_NOT_ENOUGH;
		}
		apply_op(bag, op);
	}
	for (uint32_t who = 0; who < 2; who++)
		t->people[commit->character[who]].stored = after[who];
	return COMMIT_RESULT_OK;
}

void tt_execute(struct tt *t, uint32_t i, uint32_t refuse)
{
	struct tt_commit *commit = &t->commits[i];

	if (commit->executed)
		return;
	commit->executed = true;
	commit->result = refuse != COMMIT_RESULT_OK ? refuse : carry_out(t, commit);
}

void tt_answer(struct tt *t, uint32_t i)
{
	struct tt_commit commit = t->commits[i];
	struct msg_commit_result answer = {.gold = {0}};

	assert_true(commit.executed);
	t->commits[i] = t->commits[--t->commit_count];
	memcpy(answer.request, commit.request, sizeof(answer.request));
	answer.result = commit.result;
	trade_answer(&t->table, commit.place, &answer);
	assert_false(trade_answer(&t->table, commit.place, &answer)); /* once */
}

bool tt_same(const struct tt_bag *a, const struct tt_bag *b)
{
	return a->gold == b->gold && !memcmp(a->pile, b->pile, sizeof(a->pile));
}

bool tt_bound(const struct tt_bag *bag)
{
	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++)
		if (bag->bound[slot])
			return true;
	return bag->gold_bound != 0;
}
