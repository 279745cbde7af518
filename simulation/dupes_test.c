/* Proves that a player cannot make two things of one, nor lose one to another's trick. Each way
 * that games of this kind have been robbed is a case here or where it says:
 *
 *   leaving, a portal, a second client, death, before a trade is under way   trading_test: ends
 *   the same while it is under way, with every answer, before and after      whatever_the_answer
 *   an offer that changes as the other one confirms                          the_confirm_race
 *   what is offered is dropped, moved, worn or topped up what_is_offered_is_no_ones_yet two pick up
 * the same in one tick                                         one_of_two_gets_it a bag that is
 * full when what is under way has come                       a_bag_fills_once amounts below zero,
 * beyond what there is, beyond 32 and 64 bits          odd_amounts a trade in a battle
 * match/battle_test answers that are late, repeated, or nobody's belongings_test: odd answers all
 * of that at once, with any order of answers                           everything_at_once on the
 * real server, killed                                               tests/e2e/belongings.sh */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/bag.h"
#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/entity.h"
#include "simulation/random.h"
#include "simulation/testing.h"
#include "simulation/trading.h"
#include "simulation/transfer.h"

enum { GEL = 1, CLUB = 10 };
enum { ANN, BOB, CROWD = 8 };

#define REFUSAL(name) SW__ACTION_REFUSAL__##name
#define END(name)     SW__TRADE_END_REASON__END_##name

static char folder[64];

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static uint32_t slot_of(const struct test_shard *t, uint32_t client)
{
	return test_slot_of(map_of(t), client);
}

static void begin(struct test_shard *t)
{
	test_init(t, 100, 2 * CROWD);
	strcpy(t->config.simulation.content, folder);
	t->config.maps[0].monsters = 1;
	t->config.simulation.trade_idle_s = 5;
	test_start(t, 1);
}

/* Ann has 20 gold, 5 gel in slot 0 and a club in 1; Bob 7 gold, and 4 gel in slot 9. */
static void start(struct test_shard *t)
{
	begin(t);
	test_give(t, ANN, 0, GEL, 5, 0);
	test_give(t, ANN, 1, CLUB, 1, 501);
	test_give(t, BOB, 9, GEL, 4, 0);
	t->owned[ANN].gold = 20;
	t->owned[BOB].gold = 7;
	for (uint32_t i = ANN; i <= BOB; i++)
		test_join(t, i, true, 50000 + (int32_t)i * 1000, 50000);
	test_run(t, 200);
}

static void open_trade(struct test_shard *t)
{
	test_trade_ask(t, ANN, t->clients[BOB].actor_id);
	test_run(t, 60);
	test_trade_ask(t, BOB, t->clients[ANN].actor_id);
	test_run(t, 60);
	assert_int_equal(t->clients[ANN].trade_phase, SW__TRADE_PHASE__PHASE_OPEN);
}

/* Five gel and the club against seven gold, up to the commit. */
static void agree(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 0, 5);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 1, 1);
	test_trade_offer(t, BOB, TRADE_OFFER_GOLD, 0, 7);
	test_run(t, 60);
	test_trade_confirm(t, ANN, t->clients[ANN].trade_version);
	test_trade_confirm(t, BOB, t->clients[BOB].trade_version);
	test_run(t, 60);
	assert_int_equal(t->clients[ANN].trade_phase, SW__TRADE_PHASE__PHASE_UNDER_WAY);
	assert_int_equal(t->held_count, 1);
}

static int64_t of_all(const struct test_shard *t, uint32_t item, uint32_t clients)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < clients; i++)
		sum += item ? test_owns(t, i, item) : t->owned[i].gold;
	return sum;
}

static int64_t on_the_ground(const struct test_shard *t, uint32_t item)
{
	const struct sim_map *m = map_of(t);
	int64_t sum = 0;

	for (uint32_t i = 0; i < m->loot_slots; i++)
		if (m->loot[i].state == SIM_LOOT_LIES && m->loot[i].item == item)
			sum += m->loot[i].count;
	return sum;
}

/* Everybody has come again, nothing is under way: what the shard has and what clients were shown is
 * what is stored. */
static void check_copies(struct test_shard *t, uint32_t clients, const char *what, uint64_t row)
{
	assert_int_equal(map_of(t)->trades.count, 0);
	assert_int_equal(map_of(t)->commit_free_count, map_of(t)->commits_max);
	for (uint32_t i = 0; i < clients; i++) {
		const struct sim_bag *bag = &map_of(t)->bags[slot_of(t, i)];
		const struct test_owned *o = &t->owned[i];

		if (bag->busy[0] | bag->busy[1] | bag->commits)
			fail_msg("%s %llu: something stays bound", what, (unsigned long long)row);
		if (sim_player(map_of(t), slot_of(t, i))->gold != o->gold ||
			t->clients[i].gold != o->gold)
			fail_msg("%s %llu: %u has %lld gold, was shown %lld", what,
				(unsigned long long)row, i, (long long)o->gold,
				(long long)t->clients[i].gold);
		for (uint32_t n = 0, at = 0; n < COMMIT_BAG_SLOTS; n++) {
			int64_t want = 0;

			if (at < o->slots && o->slot[at].slot == n)
				want = o->slot[at++].count;
			if (bag->stack[n].count != want || t->clients[i].stack_count[n] != want)
				fail_msg("%s %llu: %u has %lld in slot %u, was shown %u", what,
					(unsigned long long)row, i, (long long)want, n,
					t->clients[i].stack_count[n]);
		}
	}
}

/* ---- ways to go ---- */

enum way { STAYS, VANISHES, IS_REPLACED, GOES_TO_A_MAP, DIES, WAYS };

static void go(struct test_shard *t, uint32_t client, enum way way)
{
	static const struct sim_spawn spawn = {.has_position = false};

	switch (way) {
	case VANISHES:
		test_gone(t, client);
		break;
	case IS_REPLACED:
		test_remove(t, client, SW_REASON_REPLACED);
		break;
	case GOES_TO_A_MAP:
		assert_true(sim_player_transfer(map_of(t), slot_of(t, client), "cave", &spawn));
		break;
	case DIES:
		if (sim_is_alive(map_of(t), slot_of(t, client)))
			sim_hurt(map_of(t), SIM_NONE, slot_of(t, client), 100000);
		break;
	case STAYS:
	case WAYS:
		break;
	}
}

static bool leaves(enum way way)
{
	return way == VANISHES || way == IS_REPLACED || way == GOES_TO_A_MAP;
}

/* One or both go in every way while the trade is under way, and the answer, each of them, comes
 * before anybody has noticed, while the shard waits for it, or when it has given up. In the end
 * both are there and have what is stored: all of the trade, or nothing of it. */
static void whatever_the_answer(void **state)
{
	static const enum commit_result results[] = {COMMIT_RESULT_OK, COMMIT_RESULT_UNAVAILABLE,
		COMMIT_RESULT_EXPIRED, COMMIT_RESULT_STALE, COMMIT_RESULT_NOT_ENOUGH,
		COMMIT_RESULT_SLOT_TAKEN};
	enum { RESULTS = sizeof(results) / sizeof(results[0]), ORDERS = 3, WHO = 3 };

	(void)state;
	for (uint32_t row = 0; row < WAYS * RESULTS * ORDERS * WHO; row++) {
		enum way way = row % WAYS;
		enum commit_result result = results[row / WAYS % RESULTS];
		uint32_t order = row / WAYS / RESULTS % ORDERS;
		uint32_t who = row / WAYS / RESULTS / ORDERS; /* 2: both */
		struct test_shard t;

		start(&t);
		t.hold_commits = true;
		agree(&t);
		if (!order)
			test_answer_commit(&t, 0, result);
		for (uint32_t i = ANN; i <= BOB; i++)
			if (who == i || who == 2)
				go(&t, i, way);
		test_run(&t, order == 2 ? SIM_COMMIT_WAIT_S * 1000 + 300 : 200);
		if (order)
			test_answer_commit(&t, 0, result);
		test_run(&t, 300);
		assert_int_equal(t.held_count, 0); /* nobody asks twice */
		t.hold_commits = false;
		for (uint32_t i = ANN; i <= BOB; i++) {
			bool left = leaves(way) && (who == i || who == 2);

			if (left)
				test_join(&t, i, true, 50000, 50000);
			else if (t.clients[i].trade_ends != 1)
				fail_msg("row %u: %u was told of %u ends", row, i,
					t.clients[i].trade_ends);
			else if ((t.clients[i].trade_end == END(DONE)) !=
				 (result == COMMIT_RESULT_OK))
				fail_msg("row %u: %u was told end %u", row, i,
					t.clients[i].trade_end);
		}
		test_run(&t, 400);
		check_copies(&t, 2, "row", row);
		assert_int_equal(t.owned[ANN].gold, result == COMMIT_RESULT_OK ? 27 : 20);
		assert_int_equal(test_owns(&t, BOB, CLUB), result == COMMIT_RESULT_OK ? 1 : 0);
		assert_int_equal(of_all(&t, 0, 2), 27);
		assert_int_equal(of_all(&t, GEL, 2), 9);
		assert_int_equal(of_all(&t, CLUB, 2), 1);
		test_end(&t);
	}
}

/* ---- confirmations ---- */

/* Bob, who may have confirmed, changes his offer in the tick in which Ann confirms, before or
 * after: nothing is carried out, for she has agreed to another one, and he may confirm only what
 * there is. A tick later it is under way, and the change is refused. */
static void the_confirm_race(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < 16; row++) {
		bool bob_first = row & 1, ann_first = row & 2, item = row & 4, later = row & 8;
		bool done = bob_first && ann_first && later;
		struct test_shard t;
		uint32_t version;

		start(&t);
		t.hold_commits = true;
		open_trade(&t);
		test_trade_offer(&t, ANN, TRADE_OFFER_ITEM, 1, 1);
		test_trade_offer(&t, BOB, TRADE_OFFER_GOLD, 0, 7);
		test_run(&t, 60);
		version = t.clients[ANN].trade_version;
		if (bob_first)
			test_trade_confirm(&t, BOB, version);
		if (ann_first)
			test_trade_confirm(&t, ANN, version);
		if (later)
			test_run(&t, 60);
		if (item)
			test_trade_offer(&t, BOB, TRADE_OFFER_ITEM, 9, 1);
		else
			test_trade_offer(&t, BOB, TRADE_OFFER_GOLD, 0, 1);
		if (!ann_first)
			test_trade_confirm(&t, ANN, version);
		test_trade_confirm(&t, BOB, version + 1);
		test_run(&t, 100);
		if (t.commits != done)
			fail_msg("row %u: %u commits", row, t.commits);
		if (done) {
			assert_int_equal(t.clients[BOB].refused_reason, REFUSAL(TRADE_UNDER_WAY));
			assert_int_equal(t.last_commit.commit.ops, 4);
		} else {
			assert_false(t.clients[ANN].trade_confirmed);
			assert_true(t.clients[BOB].trade_confirmed);
		}
		test_answer_commits(&t, COMMIT_RESULT_OK, false);
		test_run(&t, 100);
		assert_int_equal(t.owned[ANN].gold, done ? 27 : 20);
		assert_int_equal(test_owns(&t, BOB, CLUB), done);
		test_end(&t);
	}
}

/* ---- what is offered ---- */

/* An offer binds nothing: its owner does what he likes with it, and then there is no trade. What
 * one tick asks for twice is done once: the first binds it. */
static void what_is_offered_is_no_ones_yet(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < 10; row++) {
		bool after = row & 1; /* both have confirmed; else before */
		struct test_shard t;

		start(&t);
		t.hold_commits = true;
		open_trade(&t);
		test_trade_offer(&t, ANN, TRADE_OFFER_ITEM, 0, row / 2 == 4 ? 1 : 5);
		test_trade_offer(&t, ANN, TRADE_OFFER_ITEM, 1, 1);
		test_trade_offer(&t, BOB, TRADE_OFFER_GOLD, 0, 7);
		test_run(&t, 60);
		if (after)
			test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
		switch (row / 2) {
		case 0:
			test_drop_item(&t, ANN, 1, 0);
			break;
		case 1:
			test_drop_item(&t, ANN, 0, 3);
			break;
		case 2:
			test_move_item(&t, ANN, 1, COMMIT_EQUIP_FIRST, 0);
			break;
		case 3:
			test_move_item(&t, ANN, 0, 30, 1);
			break;
		default:
			test_move_item(&t, ANN, 0, 1,
				0); /* they change places: as many, of another kind */
		}
		if (!after)
			test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
		test_trade_confirm(&t, BOB, t.clients[BOB].trade_version);
		test_run(&t, 100);
		assert_int_equal(t.held_count, 1); /* not the trade */
		assert_int_not_equal(t.last_commit.commit.reason, COMMIT_REASON_TRADE);
		test_answer_commits(&t, COMMIT_RESULT_OK, false);
		test_run(&t, 100);
		test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
		test_trade_confirm(&t, BOB, t.clients[BOB].trade_version);
		test_run(&t, 100);
		assert_int_equal(t.held_count, 0);
		assert_int_equal(test_owns(&t, BOB, CLUB), 0);
		assert_int_equal(test_owns(&t, BOB, GEL), 4);
		assert_int_equal(t.owned[BOB].gold, 7);
		assert_int_equal(of_all(&t, GEL, 2) + on_the_ground(&t, GEL), 9);
		assert_int_equal(of_all(&t, CLUB, 2) + on_the_ground(&t, CLUB), 1);
		test_end(&t);
	}
}

/* ---- what lies on the ground ---- */

static void one_of_two_gets_it(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < 8; row++) {
		static const enum commit_result results[] = {COMMIT_RESULT_OK,
			COMMIT_RESULT_UNAVAILABLE, COMMIT_RESULT_STALE, COMMIT_RESULT_EXPIRED};
		enum commit_result result = results[row / 2];
		uint32_t first = row & 1, second = first ^ 1, id;
		struct test_shard t;

		start(&t);
		test_drop_item(&t, ANN, 1, 0);
		test_run(&t, 200);
		id = t.clients[BOB].loot_seen;
		assert_true(id && t.clients[ANN].knows[id]);
		t.hold_commits = true;
		test_pick_up(&t, first, id);
		test_pick_up(&t, second, id);
		test_pick_up(&t, first, id);
		test_run(&t, 60);
		assert_int_equal(t.held_count, 1);
		assert_int_equal(t.held[0].commit.character_id[0], 5000 + first);
		assert_int_equal(t.clients[second].refused_reason, REFUSAL(TAKEN));
		if (row == 0 || row == 5) /* and the answer finds nobody */
			test_gone(&t, first);
		test_run(&t, 60);
		test_answer_commit(&t, 0, result);
		test_run(&t, 200);
		assert_int_equal(of_all(&t, CLUB, 2) + on_the_ground(&t, CLUB), 1);
		assert_int_equal(test_owns(&t, first, CLUB), result == COMMIT_RESULT_OK);
		t.hold_commits = false;
		test_pick_up(&t, second, id);
		test_run(&t, 200);
		assert_int_equal(test_owns(&t, second, CLUB), result != COMMIT_RESULT_OK);
		assert_int_equal(of_all(&t, CLUB, 2) + on_the_ground(&t, CLUB), 1);
		test_end(&t);
	}
}

/* One slot is free, two things lie there: what is under way has taken the room. */
static void a_bag_fills_once(void **state)
{
	uint32_t ids[2];
	struct test_shard t;

	(void)state;
	begin(&t);
	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS - 1; slot++)
		test_give(&t, BOB, slot, CLUB, 1, 1000 + slot);
	test_give(&t, ANN, 0, CLUB, 1, 501);
	test_give(&t, ANN, 1, CLUB, 1, 502);
	test_join(&t, ANN, true, 50000, 50000);
	test_join(&t, BOB, true, 51000, 50000);
	test_run(&t, 200);
	for (uint32_t i = 0; i < 2; i++) {
		test_drop_item(&t, ANN, i, 0);
		test_run(&t, 200);
		ids[i] = t.clients[BOB].loot_seen;
	}
	assert_true(ids[0] && ids[1] && ids[0] != ids[1]);
	t.hold_commits = true;
	test_pick_up(&t, BOB, ids[0]);
	test_pick_up(&t, BOB, ids[1]);
	test_run(&t, 60);
	assert_int_equal(t.held_count, 1);
	assert_int_equal(t.clients[BOB].refused_reason, REFUSAL(BAG_FULL));
	/* nor does a trade put anything there */
	test_trade_ask(&t, ANN, t.clients[BOB].actor_id);
	test_run(&t, 60);
	test_trade_ask(&t, BOB, t.clients[ANN].actor_id);
	test_run(&t, 60);
	t.owned[ANN].gold = sim_player(map_of(&t), slot_of(&t, ANN))->gold;
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 100);
	assert_int_equal(test_owns(&t, BOB, CLUB), COMMIT_BAG_SLOTS);
	assert_int_equal(on_the_ground(&t, CLUB), 1);
	test_end(&t);
}

/* ---- amounts ---- */

static void odd_amounts(void **state)
{
	static const struct {
		uint32_t kind, slot;
		int64_t amount;
		uint32_t want;
	} offers[] = {
		{TRADE_OFFER_GOLD, 0, -1, REFUSAL(TRADE_AMOUNT)},
		{TRADE_OFFER_GOLD, 0, INT64_MIN, REFUSAL(TRADE_AMOUNT)},
		{TRADE_OFFER_GOLD, 0, 21, REFUSAL(TRADE_NOT_ENOUGH)},
		{TRADE_OFFER_GOLD, 0, INT64_MAX, REFUSAL(TRADE_NOT_ENOUGH)},
		{TRADE_OFFER_GOLD, 0, (1ll << 32) + 5, REFUSAL(TRADE_NOT_ENOUGH)},
		{TRADE_OFFER_ITEM, 0, 0, REFUSAL(TRADE_AMOUNT)},
		{TRADE_OFFER_ITEM, 0, -5, REFUSAL(TRADE_AMOUNT)},
		{TRADE_OFFER_ITEM, 0, INT64_MIN, REFUSAL(TRADE_AMOUNT)},
		{TRADE_OFFER_ITEM, 0, 6, REFUSAL(TRADE_NOT_ENOUGH)},
		{TRADE_OFFER_ITEM, 0, (1ll << 32) + 5, REFUSAL(TRADE_NOT_ENOUGH)},
		{TRADE_OFFER_ITEM, 0, INT64_MAX, REFUSAL(TRADE_NOT_ENOUGH)},
		{TRADE_OFFER_ITEM, UINT32_MAX, 1, REFUSAL(TRADE_NOT_OWNED)},
		{TRADE_OFFER_ITEM, 1u << 16, 1, REFUSAL(TRADE_NOT_OWNED)},
	};
	static const uint32_t counts[] = {6, INT32_MAX, 1u << 31, UINT32_MAX - 4, UINT32_MAX};
	struct test_shard t;
	uint32_t version;

	(void)state;
	start(&t);
	open_trade(&t);
	version = t.clients[ANN].trade_version;
	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++) {
		test_trade_offer(&t, ANN, offers[i].kind, offers[i].slot, offers[i].amount);
		test_run(&t, 60);
		if (t.clients[ANN].refused_reason != offers[i].want ||
			t.clients[ANN].refusals != i + 1)
			fail_msg("offer %zu: refusal %u", i, t.clients[ANN].refused_reason);
	}
	assert_int_equal(t.clients[ANN].trade_version, version);
	for (size_t i = 0; i < 2 * sizeof(counts) / sizeof(counts[0]); i++) {
		t.clients[ANN].refused_reason = 0;
		if (i & 1)
			test_drop_item(&t, ANN, 0, counts[i / 2]);
		else
			test_move_item(&t, ANN, 0, 5, counts[i / 2]);
		test_run(&t, 60);
		assert_int_equal(t.clients[ANN].refused_reason, REFUSAL(NOT_ENOUGH));
	}
	assert_int_equal(t.commits, 0);
	test_end(&t);

	/* Nobody comes to own more than can be counted. */
	start(&t);
	sim_player(map_of(&t), slot_of(&t, BOB))->gold = INT64_MAX - 10;
	open_trade(&t);
	test_trade_offer(&t, ANN, TRADE_OFFER_GOLD, 0, 11);
	test_run(&t, 60);
	test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
	test_run(&t, 60);
	assert_int_equal(t.clients[ANN].refused_reason, REFUSAL(TRADE_TOO_MUCH_GOLD));
	assert_int_equal(t.commits, 0);
	test_end(&t);
}

/* ---- everybody at once ---- */

static void act(struct test_shard *t, uint32_t who, uint64_t *random)
{
	const struct test_client *c = &t->clients[who];
	uint32_t other = sim_random_below(random, CROWD), from = sim_random_below(random, 10);

	switch (sim_random_below(random, 16)) {
	case 0:
	case 1:
		test_trade_ask(t, who, t->clients[other].actor_id);
		break;
	case 2:
	case 3:
		test_trade_ask(t, who, c->trade_partner);
		break;
	case 4:
	case 5:
		test_trade_offer(t, who, TRADE_OFFER_ITEM, from, 1 + sim_random_below(random, 3));
		break;
	case 6:
		test_trade_offer(t, who, TRADE_OFFER_GOLD, 0, sim_random_below(random, 40));
		break;
	case 7:
		if (!sim_random_below(random, 4))
			test_trade_cancel(t, who);
		break;
	case 8:
		if (!sim_random_below(random, 3))
			test_drop_item(t, who, from, sim_random_below(random, 4));
		break;
	case 9:
		test_pick_up(t, who, t->clients[other].loot_seen);
		break;
	case 10:
		test_move_item(t, who, from,
			sim_random_below(random, 6) ? sim_random_below(random, 12)
						    : COMMIT_EQUIP_FIRST,
			sim_random_below(random, 4));
		break;
	default:
		test_trade_confirm(t, who, c->trade_version);
	}
}

/* Whether an earlier one is of the same character: the database keeps their order. */
static bool waits_for_another(const struct test_shard *t, uint32_t index)
{
	const uint64_t *mine = t->held[index].commit.character_id;

	for (uint32_t i = 0; i < index; i++)
		for (uint32_t a = 0; a < 2; a++)
			for (uint32_t b = 0; b < 2; b++)
				if (mine[a] && mine[a] == t->held[i].commit.character_id[b])
					return true;
	return false;
}

static void answer_some(struct test_shard *t, uint64_t *random)
{
	static const enum commit_result results[] = {COMMIT_RESULT_OK, COMMIT_RESULT_OK,
		COMMIT_RESULT_OK, COMMIT_RESULT_OK, COMMIT_RESULT_UNAVAILABLE,
		COMMIT_RESULT_EXPIRED, COMMIT_RESULT_STALE, COMMIT_RESULT_SLOT_TAKEN};

	for (uint32_t n = sim_random_below(random, 4); n && t->held_count; n--) {
		uint32_t index = sim_random_below(random, t->held_count);
		enum commit_result result = results[sim_random_below(random, 8)];

		if (result != COMMIT_RESULT_OK || !waits_for_another(t, index))
			test_answer_commit(t, index, result);
	}
}

static void come_to_rest(struct test_shard *t)
{
	for (uint32_t turn = 0; turn < 4; turn++) {
		test_answer_commits(t, COMMIT_RESULT_OK, false);
		test_run(t, 300);
	}
	t->hold_commits = false;
	test_run(t, 6000); /* open trades end of idling, the dead are back */
	for (uint32_t i = 0; i < CROWD; i++)
		if (!t->clients[i].here)
			test_join(t, i, true, 50000, 50000);
	test_run(t, 500);
}

static uint64_t play(uint64_t seed, uint64_t *done, uint64_t *given_up)
{
	uint64_t random = seed, hash = 0;
	uint32_t gone_tick[CROWD] = {0};
	struct test_shard t;

	begin(&t);
	t.hold_commits = true;
	for (uint32_t i = 0; i < CROWD; i++) {
		t.owned[i].gold = 100;
		for (uint32_t slot = 0; slot < 8; slot++)
			test_give(&t, i, slot, slot % 2 ? CLUB : GEL, slot % 2 ? 1 : 7,
				slot % 2 ? 1 + 100 * i + slot : 0);
		test_join(&t, i, true, 50000 + (int32_t)i * 300, 50000);
	}
	test_run(&t, 200);
	for (uint32_t tick = 0; tick < 500; tick++) {
		for (uint32_t n = 0; n < 8; n++) {
			uint32_t who = sim_random_below(&random, CROWD);

			if (!t.clients[who].here) {
				/* its peer comes again when the old one is off the map */
				if (tick > gone_tick[who] + 64 && !sim_random_below(&random, 6))
					test_join(&t, who, true, 50000, 50000);
			} else if (t.clients[who].joins && !sim_random_below(&random, 250)) {
				enum way way = VANISHES + sim_random_below(&random, 4);

				go(&t, who, way);
				t.clients[who].here = way == DIES;
				gone_tick[who] = tick;
			} else {
				act(&t, who, &random);
			}
		}
		test_run(&t, 50);
		/* at times the database is silent for longer than the shard waits */
		if (tick / 80 % 3 != 2 && t.held_count)
			answer_some(&t, &random);
		if (t.held_count > TEST_HELD_MAX - 16)
			test_answer_commits(&t, COMMIT_RESULT_OK, sim_random_below(&random, 2));
		/* so that nothing on the ground grows old */
		for (uint32_t i = 0; i < map_of(&t)->loot_slots; i++)
			map_of(&t)->loot[i].expires_beat = map_of(&t)->beat + 1200;
		hash = hash * 31 + sim_shard_hash(t.shard);
	}
	come_to_rest(&t);
	check_copies(&t, CROWD, "seed", seed);
	if (of_all(&t, 0, CROWD) != 100 * CROWD ||
		of_all(&t, GEL, CROWD) + on_the_ground(&t, GEL) != 28 * CROWD ||
		of_all(&t, CLUB, CROWD) + on_the_ground(&t, CLUB) != 4 * CROWD)
		fail_msg("seed %llu: something appeared or vanished", (unsigned long long)seed);
	*done += test_counter(&t, SIM_TRADE_DONE);
	*given_up += test_counter(&t, SIM_COMMITS_GIVEN_UP);
	test_end(&t);
	return hash;
}

static void everything_at_once(void **state)
{
	uint64_t done = 0, given_up = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++)
		play(seed, &done, &given_up);
	printf("seeds 1 to 40: %llu trades carried out, %llu commits given up\n",
		(unsigned long long)done, (unsigned long long)given_up);
	assert_true(done > 20);
	assert_true(given_up > 20);
}

static void the_same_again(void **state)
{
	uint64_t done = 0, given_up = 0;

	(void)state;
	assert_true(play(3, &done, &given_up) == play(3, &done, &given_up));
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/sw-dupes-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	test_write(folder, "items.yaml",
		"items:\n  - {number: 1, name: gel, stack_max: 50}\n"
		"  - {number: 10, name: club, slot: weapon, attack: 3, range_mm: 2000, "
		"cooldown_ms: "
		"900}\n");
	return 0;
}

static int remove_folder(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/items.yaml", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_answer),
		cmocka_unit_test(the_confirm_race),
		cmocka_unit_test(what_is_offered_is_no_ones_yet),
		cmocka_unit_test(one_of_two_gets_it),
		cmocka_unit_test(a_bag_fills_once),
		cmocka_unit_test(odd_amounts),
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(the_same_again),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
