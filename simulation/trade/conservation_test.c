/* Proves: whatever people do, and whatever becomes of them and of the commits meanwhile, no item
 * and no coin appears or vanishes; nothing stays bound; every trade ends; and what is cached is
 * what the database holds. People ask, offer, take back, confirm and cancel at random, walk away,
 * die, leave, come back, are taken over; the shard crashes; the database refuses, is away, answers
 * late, and forgets to answer and is asked again. The seed is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/random.h"
#include "simulation/trade/testing.h"

#define ITEMS  8u
#define ROUNDS 400u
#define BEATS  2000u

struct totals {
	int64_t gold;
	uint64_t items[ITEMS];
	uint64_t serials; /* their sum, and so which */
};

static uint64_t seed;
static bool quiet;

static uint32_t below(uint32_t n)
{
	return sim_random_below(&seed, n);
}

static void count(struct totals *totals, const struct tt_bag *bag)
{
	totals->gold += bag->gold;
	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++) {
		const struct trade_pile *pile = &bag->pile[slot];

		totals->items[pile->item] += pile->count;
		totals->serials += pile->serial;
		if (pile->serial)
			assert_int_equal(pile->count, 1);
		assert_true(pile->count <= TT_STACK_MAX);
	}
}

static struct totals stored(const struct tt *t)
{
	struct totals totals = {0};

	for (uint32_t i = 0; i < TT_PEOPLE; i++) {
		count(&totals, &t->people[i].stored);
		assert_true(t->people[i].stored.gold >= 0);
	}
	return totals;
}

static void equip(struct tt *t, uint64_t *serial)
{
	for (uint32_t i = 0; i < TT_PEOPLE; i++) {
		uint32_t full = below(4) ? 24 : COMMIT_BAG_SLOTS;

		t->people[i].stored.gold = below(1000);
		for (uint32_t slot = 0; slot < full; slot++) {
			uint32_t item = 1 + below(ITEMS - 1);

			if (below(3) && full != COMMIT_BAG_SLOTS)
				continue;
			if (item == TT_SWORD)
				tt_give(t, i, slot, item, 1, ++*serial * 0x9e3779b97f4a7c15ull);
			else
				tt_give(t, i, slot, item, 1 + below(TT_STACK_MAX), 0);
		}
		tt_come(t, i);
	}
}

static uint32_t anybody(const struct tt *t)
{
	for (uint32_t tries = 0; tries < 100; tries++) {
		uint32_t who = below(TT_PEOPLE);

		if (t->people[who].here)
			return who;
	}
	return TRADE_NOBODY;
}

/* A message, mostly a sensible one. */
static void speak(struct tt *t, uint32_t who)
{
	const struct trade *trade = trade_of(&t->table, who);
	uint32_t id = trade && below(20) ? trade->id : below(50);
	uint32_t version = trade && below(10) ? trade->version : below(10);

	switch (below(trade ? 10 : 2)) {
	case 0:
	case 1: {
		uint32_t other = trade && below(2) ? trade->side[0].player : anybody(t);

		if (other == TRADE_NOBODY || !t->people[other].here)
			break;
		trade_ask(&t->table, &t->ops, who, other, t->beat);
		break;
	}
	case 2:
	case 3:
	case 4:
		trade_offer(&t->table, &t->ops, who, id, TRADE_OFFER_ITEM,
			below(COMMIT_BAG_SLOTS + 1), (int64_t)below(TT_STACK_MAX + 3) - 1, t->beat);
		break;
	case 5:
		trade_offer(&t->table, &t->ops, who, id, TRADE_OFFER_GOLD, 0,
			(int64_t)below(500) - 5, t->beat);
		break;
	case 6:
		trade_offer(&t->table, &t->ops, who, id, TRADE_OFFER_TAKE_BACK,
			below(COMMIT_BAG_SLOTS), 0, t->beat);
		break;
	case 7:
	case 8:
		trade_confirm(&t->table, &t->ops, who, id, version, t->beat);
		break;
	default:
		if (!below(8))
			trade_cancel(&t->table, &t->ops, who, id);
	}
}

/* Something is used up: at once, in the cache and in the database, as no change is under way on it.
 */
static void use_up(struct tt *t, uint32_t who, struct totals *want)
{
	struct tt_person *person = &t->people[who];
	const struct trade *trade = trade_of(&t->table, who);
	uint32_t slot = below(COMMIT_BAG_SLOTS), n;
	struct trade_pile *pile;

	if (trade && below(2)) /* of what it offers */
		slot = trade->side[trade->side[1].player == who].offered[0].slot;
	pile = &person->cache.pile[slot];

	if (!pile->count || person->cache.bound[slot])
		return;
	n = 1 + below(pile->count);
	want->items[pile->item] -= n;
	want->serials -= pile->serial;
	pile->count -= n;
	if (!pile->count)
		memset(pile, 0, sizeof(*pile));
	person->stored.pile[slot] = *pile;
}

static void crash(struct tt *t)
{
	trade_table_init(&t->table, t->memory, TT_PEOPLE, TT_IDLE);
	for (uint32_t i = 0; i < TT_PEOPLE; i++)
		t->people[i].here = false;
	for (uint32_t i = 0; i < TT_PEOPLE; i++) {
		t->people[i].epoch++;
		tt_come(t, i);
	}
}

static void fate(struct tt *t, uint32_t who, struct totals *want)
{
	struct tt_person *person = &t->people[who];

	/* Half of the times are quiet ones. */
	switch (quiet && below(10) ? 59 : below(60)) {
	case 0:
	case 1:
		if (person->here)
			tt_leave(t, who);
		break;
	case 2: /* the newer session wins: its load raises the epoch, whatever waits is stale */
		if (person->here)
			tt_leave(t, who);
		person->epoch++;
		tt_come(t, who);
		break;
	case 3:
		person->away = !person->away;
		break;
	case 4:
		person->x = (int32_t)below(3 * TT_REACH);
		break;
	case 5:
		if (person->here)
			use_up(t, who, want);
		break;
	case 6:
		t->ring_full = !t->ring_full;
		break;
	case 7:
		if (!below(40))
			crash(t);
		break;
	default:
		if (person->here)
			speak(t, who);
		else if (!below(10))
			tt_come(t, who);
	}
}

static void database(struct tt *t)
{
	for (uint32_t i = 0; i < t->commit_count; i++) {
		static const uint32_t refusals[] = {COMMIT_RESULT_UNAVAILABLE,
			COMMIT_RESULT_EXPIRED, COMMIT_RESULT_INVALID, COMMIT_RESULT_SLOT_TAKEN};
		struct tt_commit *commit = &t->commits[i];

		switch (below(12)) {
		case 0:
			tt_execute(t, i, below(5) ? COMMIT_RESULT_OK : refusals[below(4)]);
			break;
		case 1: /* done, and the word of it is lost: asked again */
			tt_execute(t, i, COMMIT_RESULT_OK);
			commit->answer_lost = true;
			break;
		case 2:
			if (commit->answer_lost)
				tt_execute(t, i, COMMIT_RESULT_OK);
			commit->answer_lost = false;
			break;
		case 3:
			if (commit->executed && !commit->answer_lost)
				tt_answer(t, i--);
			break;
		}
	}
}

static void come_to_rest(struct tt *t)
{
	t->ring_full = false;
	for (uint32_t beat = 0; beat < 3 * TT_IDLE; beat++) {
		while (t->commit_count) {
			tt_execute(t, 0, COMMIT_RESULT_OK);
			tt_answer(t, 0);
		}
		tt_tick(t);
	}
}

static void check(const struct tt *t, const struct totals *want, uint64_t first)
{
	struct totals have = stored(t);

	if (memcmp(&have, want, sizeof(have)))
		fail_msg("seed %llu: something appeared or vanished", (unsigned long long)first);
}

static void nothing_appears_or_vanishes(void **state)
{
	uint64_t done = 0, ends = 0, serial = 0;
	uint32_t by_end[TRADE_END_LAST + 16] = {0};

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t first = 1000 + round;
		struct totals want;
		static struct tt t;

		seed = first;
		quiet = round % 2;
		tt_start(&t);
		equip(&t, &serial);
		want = stored(&t);
		for (uint32_t beat = 0; beat < BEATS; beat++) {
			for (uint32_t n = below(8); n; n--)
				fate(&t, below(TT_PEOPLE), &want);
			database(&t);
			tt_tick(&t);
			if (beat % 50 == 0)
				check(&t, &want, first);
		}
		come_to_rest(&t);
		check(&t, &want, first);
		if (t.table.count)
			fail_msg("seed %llu: %u trades never end", (unsigned long long)first,
				t.table.count);
		for (uint32_t i = 0; i < TT_PEOPLE; i++) {
			const struct tt_person *person = &t.people[i];

			assert_null(trade_of(&t.table, i));
			if (!person->here)
				continue;
			if (tt_bound(&person->cache))
				fail_msg("seed %llu: %u stays bound", (unsigned long long)first, i);
			if (!tt_same(&person->cache, &person->stored))
				fail_msg("seed %llu: %u has not what is stored",
					(unsigned long long)first, i);
		}
		for (uint32_t end = 0; end < TRADE_END_LAST + 16; end++)
			by_end[end] += t.ends[end], ends += t.ends[end];
		done += t.ends[TRADE_END_DONE];
		tt_end(&t);
	}
	printf("seeds 1000 to %u: %llu trades, %llu carried out\n", 1000 + ROUNDS - 1,
		(unsigned long long)ends, (unsigned long long)done);
#define SEEN(name, value, counter, help)                                                           \
	if (!by_end[TRADE_END_##name])                                                             \
		fail_msg("no trade ended as %s: the test does not reach it", #name);
	TRADE_ENDS(SEEN)
}

/* The same messages in the same order give the same table, tick by tick. */
static void the_same_again(void **state)
{
	uint64_t hashes[2][200];
	static struct tt t;

	(void)state;
	for (uint32_t run = 0; run < 2; run++) {
		uint64_t serial = 0;
		struct totals want;

		seed = 77;
		tt_start(&t);
		equip(&t, &serial);
		want = stored(&t);
		for (uint32_t beat = 0; beat < 200; beat++) {
			for (uint32_t n = 0; n < 8; n++)
				fate(&t, below(TT_PEOPLE), &want);
			database(&t);
			tt_tick(&t);
			hashes[run][beat] = trade_table_hash(&t.table, beat, 0, 1);
		}
		tt_end(&t);
	}
	assert_memory_equal(hashes[0], hashes[1], sizeof(hashes[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_appears_or_vanishes),
		cmocka_unit_test(the_same_again),
	};

	return cmocka_run_group_tests_name("trade_conservation", tests, NULL, NULL);
}
