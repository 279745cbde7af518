// clang-format off
/* Proves that a player cannot make two things of one, nor lose one to another's trick. Each way that games of
 * this kind have been robbed is a case here or where it says:
 *
 *   a trade is open, and one leaves, takes a portal, connects twice, dies   trading_test: ends_are_told
 *   the same while it is under way, with every answer, before and after     whatever_the_answer
 *   an answer for who has left, whose slot another one has                  a_stranger_in_the_slot
 *   an answer of an earlier trade                                           an_answer_of_another_trade
 *   an offer that changes as the other one confirms                         the_confirm_race
 *   what is offered is dropped, moved, worn, or another lies there          what_is_offered_is_no_ones_yet
 *   gold is spent at a shop and given in a trade                            gold_is_spent_once
 *   two pick up the same in one tick                                        one_of_two_gets_it
 *   a stack of one too many                                                 a_stack_fills_to_the_brim
 *   a bag that is full when what is under way has come                      a_bag_fills_once
 *   amounts below zero, beyond what there is, beyond 32 and 64 bits         odd_amounts
 *   a trade in a battle                                                     match/battle_test
 *   answers that are late, repeated, or nobody's                            belongings_test: odd_answers_do_no_harm
 *   messages for a map that was left                                        what_is_said_to_a_map_that_was_left
 *   all of that at once, answered in any order                              dupes_crowd_test
 *   on the real server, killed                                              tests/e2e/belongings.sh */
// clang-format on
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
#include "simulation/testing_dupes.h"
#include "simulation/trading.h"
#include "simulation/transfer.h"

#define REFUSAL(name) SW__ACTION_REFUSAL__##name
#define END(name)     SW__TRADE_END_REASON__END_##name

enum { GEL = DUPES_GEL, CLUB = DUPES_CLUB, ANN = DUPES_ANN, BOB = DUPES_BOB };

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static uint32_t slot_of(const struct test_shard *t, uint32_t client)
{
	return test_slot_of(map_of(t), client);
}

static bool leaves(enum dupes_way way)
{
	return way == DUPES_VANISHES || way == DUPES_IS_REPLACED || way == DUPES_GOES_TO_A_MAP;
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
	for (uint32_t row = 0; row < DUPES_WAYS * RESULTS * ORDERS * WHO; row++) {
		enum dupes_way way = row % DUPES_WAYS;
		enum commit_result result = results[row / DUPES_WAYS % RESULTS];
		uint32_t order = row / DUPES_WAYS / RESULTS % ORDERS;
		uint32_t who = row / DUPES_WAYS / RESULTS / ORDERS; /* 2: both */
		struct test_shard t;

		dupes_start(&t);
		t.hold_commits = true;
		dupes_agree(&t);
		if (!order)
			test_answer_commit(&t, 0, result);
		for (uint32_t i = ANN; i <= BOB; i++)
			if (who == i || who == 2)
				dupes_go(&t, i, way);
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
		dupes_check(&t, 2, "row", row);
		assert_int_equal(t.owned[ANN].gold, result == COMMIT_RESULT_OK ? 27 : 20);
		assert_int_equal(test_owns(&t, BOB, CLUB), result == COMMIT_RESULT_OK ? 1 : 0);
		assert_int_equal(dupes_of_all(&t, 0, 2), 27);
		assert_int_equal(dupes_of_all(&t, GEL, 2), 9);
		assert_int_equal(dupes_of_all(&t, CLUB, 2), 1);
		test_end(&t);
	}
}

/* The answer comes when somebody else has the slot of who left: it is not his trade. */
static void a_stranger_in_the_slot(void **state)
{
	(void)state;
	for (uint32_t who = ANN; who <= BOB; who++) {
		uint32_t slot, stranger = 2;
		struct test_shard t;
		int64_t gold;

		dupes_start(&t);
		t.hold_commits = true;
		dupes_agree(&t);
		slot = slot_of(&t, who);
		test_gone(&t, who);
		test_run(&t, SIM_COMMIT_WAIT_S * 1000 + 300);
		assert_int_equal(t.left, 1);
		for (;; stranger++) { /* slots are given in turn */
			test_join(&t, stranger, true, 50000, 50000);
			test_run(&t, 100);
			if (slot_of(&t, stranger) == slot)
				break;
			test_gone(&t, stranger);
			test_run(&t, 100);
		}
		assert_int_equal(t.held_count, 1);
		gold = sim_player(map_of(&t), slot)->gold;
		test_move_item(&t, stranger, 0, 1, 0); /* he has nothing, and nothing is bound */
		test_answer_commit(&t, 0, COMMIT_RESULT_OK);
		test_run(&t, 300);
		assert_int_equal(t.clients[stranger].refused_reason, REFUSAL(EMPTY_SLOT));
		assert_int_equal(t.clients[stranger].trade_ends, 0);
		assert_int_equal(map_of(&t)->bags[slot].commits, 0);
		assert_int_equal(sim_player(map_of(&t), slot)->gold, gold);
		for (uint32_t n = 0; n < COMMIT_BAG_SLOTS; n++)
			assert_int_equal(map_of(&t)->bags[slot].stack[n].count, 0);
		assert_int_equal(t.clients[!who].trade_end, END(DONE));
		assert_int_equal(map_of(&t)->trades.count, 0);
		test_end(&t);
	}
}

/* The answer of an earlier trade comes again, while another one in its place is under way; and one
 * that differs in anything is nobody's. */
static void an_answer_of_another_trade(void **state)
{
	struct msg_commit_result answer = {.result = COMMIT_RESULT_OK, .gold = {999, 999}};
	struct msg_commit first;
	struct msg message[3];
	struct test_shard t;
	uint64_t stale;

	(void)state;
	dupes_start(&t);
	t.hold_commits = true;
	dupes_agree(&t);
	first = t.last_commit.commit;
	test_answer_commit(&t, 0, COMMIT_RESULT_UNAVAILABLE);
	test_run(&t, 100);
	assert_int_equal(t.clients[ANN].trade_end, END(UNAVAILABLE));
	dupes_agree(&t);
	assert_int_not_equal(first.request[1], t.last_commit.commit.request[1]);
	stale = test_counter(&t, SIM_COMMITS_STALE);
	for (uint32_t i = 0; i < 3; i++) {
		const struct msg_commit *now = &t.last_commit.commit;

		answer.request[0] = i == 1 ? now->request[0] ^ 1 : now->request[0];
		answer.request[1] = i == 2   ? now->request[1] ^ 1ull << 32
				    : i == 1 ? now->request[1]
					     : first.request[1];
		memcpy(msg_begin(message, MSG_COMMIT_RESULT, 0, sizeof(answer)), &answer,
			sizeof(answer));
		assert_true(msg_ring_push(t.links.from_world, message));
		test_run(&t, 100);
		assert_int_equal(test_counter(&t, SIM_COMMITS_STALE), stale + i + 1);
		assert_int_equal(t.clients[ANN].trade_ends, 1);
	}
	test_answer_commit(&t, 0, COMMIT_RESULT_OK);
	test_run(&t, 200);
	assert_int_equal(t.clients[ANN].trade_end, END(DONE));
	dupes_check(&t, 2, "row", 0);
	test_end(&t);
}

/* Who leaves an open trade and has something else under way is waited for; the other one hears at
 * once, and by the right name. */
static void who_leaves_with_something_under_way(void **state)
{
	struct test_shard t;

	(void)state;
	dupes_start(&t);
	dupes_open_trade(&t);
	t.hold_commits = true;
	test_move_item(&t, BOB, 9, 10, 0);
	test_run(&t, 60);
	assert_int_equal(t.held_count, 1);
	test_gone(&t, BOB);
	test_run(&t, 60);
	assert_int_equal(t.left, 0);
	assert_int_equal(t.clients[ANN].trade_end, END(LEFT));
	test_answer_commit(&t, 0, COMMIT_RESULT_OK);
	test_run(&t, 60);
	assert_int_equal(t.left, 1);
	test_end(&t);
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

		dupes_start(&t);
		t.hold_commits = true;
		dupes_open_trade(&t);
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

		dupes_start(&t);
		t.hold_commits = true;
		dupes_open_trade(&t);
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
		assert_int_equal(dupes_of_all(&t, GEL, 2) + dupes_on_the_ground(&t, GEL), 9);
		assert_int_equal(dupes_of_all(&t, CLUB, 2) + dupes_on_the_ground(&t, CLUB), 1);
		test_end(&t);
	}
}

/* Gold that is being spent is not there to be given, gold that is being given not to be spent; when
 * the answer has come, or there is none, it is free again. */
static void gold_is_spent_once(void **state)
{
	static const enum commit_result results[] = {
		COMMIT_RESULT_OK, COMMIT_RESULT_UNAVAILABLE, COMMIT_RESULT_STALE};
	const struct commit_op buy = {.kind = COMMIT_GOLD, .amount = -5};

	(void)state;
	for (uint32_t row = 0; row < 6; row++) {
		enum commit_result result = results[row / 2];
		struct test_shard t;
		const struct sim_bag *bag;

		dupes_start(&t);
		bag = &map_of(&t)->bags[slot_of(&t, BOB)];
		t.hold_commits = true;
		dupes_open_trade(&t);
		test_trade_offer(&t, BOB, TRADE_OFFER_GOLD, 0, 7);
		test_run(&t, 60);
		if (row & 1) { /* the trade first */
			test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
			test_trade_confirm(&t, BOB, t.clients[BOB].trade_version);
			test_run(&t, 60);
			assert_int_equal(bag->gold_bound, 7);
		} else {
			assert_true(sim_commit_ask(map_of(&t), slot_of(&t, BOB), COMMIT_REASON_SHOP,
				0, SIM_NONE, &buy, 1));
			assert_int_equal(bag->gold_bound, 5);
			test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
			test_trade_offer(&t, BOB, TRADE_OFFER_GOLD, 0, 3);
			test_run(&t, 60);
			assert_int_equal(t.clients[ANN].refused_reason, REFUSAL(TRADE_NOT_ENOUGH));
			assert_int_equal(t.clients[BOB].refused_reason, REFUSAL(TRADE_NOT_ENOUGH));
		}
		test_run(&t, 60);
		assert_int_equal(t.held_count, 1);
		test_answer_commit(&t, 0, result);
		test_run(&t, 200);
		assert_int_equal(bag->gold_bound, 0);
		t.hold_commits = false;
		test_trade_cancel(&t, BOB);
		test_run(&t, 400);
		dupes_check(&t, 2, "row", row);
		assert_int_equal(dupes_of_all(&t, 0, 2), row ? 27 : 22);
		test_end(&t);
	}
}

/* A player has so many changes under way and no more: a trade waits for its turn, and is called off
 * as any other. */
static void a_trade_waits_for_its_turn(void **state)
{
	(void)state;
	for (uint32_t who = ANN; who <= BOB; who++) {
		struct test_shard t;

		dupes_start(&t);
		for (uint32_t i = 0; i < SIM_COMMITS_PLAYER; i++) { /* things to move */
			test_move_item(&t, ANN, 0, 20 + i, 1);
			test_run(&t, 100);
			test_move_item(&t, BOB, 9, 20 + i, 1);
			test_run(&t, 100);
		}
		dupes_open_trade(&t);
		test_trade_offer(&t, ANN, TRADE_OFFER_ITEM, 1, 1);
		test_trade_offer(&t, BOB, TRADE_OFFER_GOLD, 0, 7);
		test_run(&t, 60);
		t.hold_commits = true;
		for (uint32_t i = 0; i < SIM_COMMITS_PLAYER; i++) {
			test_move_item(&t, who, 20 + i, 40 + i, 1);
			test_run(&t, 60);
		}
		assert_int_equal(t.held_count, SIM_COMMITS_PLAYER);
		test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
		test_trade_confirm(&t, BOB, t.clients[BOB].trade_version);
		test_run(&t, 200);
		assert_int_equal(t.held_count, SIM_COMMITS_PLAYER);
		assert_int_equal(t.clients[ANN].trade_phase, SW__TRADE_PHASE__PHASE_OPEN);
		test_answer_commit(&t, 0, COMMIT_RESULT_OK);
		test_run(&t, 60);
		assert_int_equal(t.held_count, SIM_COMMITS_PLAYER);
		assert_int_equal(t.last_commit.commit.reason, COMMIT_REASON_TRADE);
		test_answer_commits(&t, COMMIT_RESULT_OK, true);
		test_run(&t, 200);
		assert_int_equal(t.clients[BOB].trade_end, END(DONE));
		dupes_check(&t, 2, "who", who);
		test_end(&t);
	}
}

/* ---- maps that were left ---- */

/* Each thing that one says to a map, with the stay of the map before: refused by name, counted, and
 * nothing has changed. With the right one all of it is taken. */
static void what_is_said_to_a_map_that_was_left(void **state)
{
	static const uint8_t types[] = {SW_MSG_CLICK, SW_MSG_ATTACK, SW_MSG_PICK_UP,
		SW_MSG_MOVE_ITEM, SW_MSG_DROP_ITEM, SW_MSG_TRADE_REQUEST, SW_MSG_TRADE_OFFER,
		SW_MSG_TRADE_CONFIRM, SW_MSG_TRADE_CANCEL, SW_MSG_CARD_PICK};
	const struct msg_player_join join = {
		.map = "meadow", .has_position = 1, .x_mm = 50000, .y_mm = 50000, .stay = 3};

	(void)state;
	for (uint32_t row = 0; row < 2 * sizeof(types); row++) {
		uint8_t type = types[row / 2];
		bool right = row & 1;
		struct test_shard t;
		struct test_client *ann;
		uint32_t version;

		dupes_begin(&t);
		ann = &t.clients[ANN];
		test_give(&t, ANN, 0, GEL, 5, 0);
		test_join_as(&t, ANN, &join);
		test_join(&t, BOB, true, 51000, 50000);
		test_run(&t, 200);
		if (type == SW_MSG_PICK_UP) {
			test_drop_item(&t, ANN, 0, 1);
			test_run(&t, 200);
		}
		if (type >= SW_MSG_TRADE_OFFER && type <= SW_MSG_TRADE_CANCEL) {
			dupes_open_trade(&t);
			test_trade_offer(&t, ANN, TRADE_OFFER_ITEM, 0, 1);
			test_run(&t, 60);
		}
		version = ann->trade_version;
		t.commits = 0;
		if (!right)
			ann->stay = 2;
		switch (type) {
		case SW_MSG_CLICK:
			test_click(&t, ANN, t.clients[BOB].actor_id);
			break;
		case SW_MSG_ATTACK:
			test_attack(&t, ANN, t.clients[BOB].actor_id);
			break;
		case SW_MSG_PICK_UP:
			test_pick_up(&t, ANN, ann->loot_seen);
			break;
		case SW_MSG_MOVE_ITEM:
			test_move_item(&t, ANN, 0, 5, 1);
			break;
		case SW_MSG_DROP_ITEM:
			test_drop_item(&t, ANN, 0, 1);
			break;
		case SW_MSG_TRADE_REQUEST:
			test_trade_ask(&t, ANN, t.clients[BOB].actor_id);
			break;
		case SW_MSG_TRADE_OFFER:
			test_trade_offer(&t, ANN, TRADE_OFFER_ITEM, 0, 2);
			break;
		case SW_MSG_TRADE_CONFIRM:
			test_trade_confirm(&t, ANN, version);
			break;
		case SW_MSG_TRADE_CANCEL:
			test_trade_cancel(&t, ANN);
			break;
		default:
			test_pick(&t, ANN, 1, 1);
		}
		ann->stay = 3;
		test_run(&t, 200);
		if ((ann->refused_reason == REFUSAL(LEFT_MAP)) != !right ||
			(!right && (ann->refused_action != type || ann->refusals != 1)))
			fail_msg("type %#x: %u refusals, the last %u of %#x", type, ann->refusals,
				ann->refused_reason, ann->refused_action);
		assert_int_equal(test_counter(&t, SIM_PACKETS_LEFT_MAP), !right);
		if (!right) {
			assert_int_equal(t.commits, 0);
			assert_int_equal(ann->trade_version, version);
			assert_int_equal(ann->trade_ends, 0);
			assert_false(ann->trade_confirmed);
			assert_int_equal(map_of(&t)->trades.count, version ? 1 : 0);
		} else if (type >= SW_MSG_PICK_UP && type <= SW_MSG_TRADE_CANCEL) {
			assert_int_equal(ann->refusals, 0);
		}
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

		dupes_start(&t);
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
		assert_int_equal(dupes_of_all(&t, CLUB, 2) + dupes_on_the_ground(&t, CLUB), 1);
		assert_int_equal(test_owns(&t, first, CLUB), result == COMMIT_RESULT_OK);
		t.hold_commits = false;
		test_pick_up(&t, second, id);
		test_run(&t, 200);
		assert_int_equal(test_owns(&t, second, CLUB), result != COMMIT_RESULT_OK);
		assert_int_equal(dupes_of_all(&t, CLUB, 2) + dupes_on_the_ground(&t, CLUB), 1);
		test_end(&t);
	}
}

/* A stack takes what it has room for, to the last, and what is one more goes elsewhere. */
static void a_stack_fills_to_the_brim(void **state)
{
	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		struct test_shard t;

		dupes_begin(&t);
		test_give(&t, ANN, 0, GEL, 2 + more, 0);
		test_give(&t, BOB, 0, GEL, 48, 0);
		test_join(&t, ANN, true, 50000, 50000);
		test_join(&t, BOB, true, 51000, 50000);
		test_run(&t, 200);
		test_drop_item(&t, ANN, 0, 0);
		test_run(&t, 200);
		test_pick_up(&t, BOB, t.clients[BOB].loot_seen);
		test_run(&t, 200);
		assert_int_equal(t.clients[BOB].stack_count[0], more ? 48 : 50);
		assert_int_equal(t.clients[BOB].stack_count[1], more ? 3 : 0);
		dupes_check(&t, 2, "more", more);
		test_end(&t);
	}
}

/* One slot is free, two things lie there: what is under way has taken the room. */
static void a_bag_fills_once(void **state)
{
	uint32_t ids[2];
	struct test_shard t;

	(void)state;
	dupes_begin(&t);
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
	assert_int_equal(dupes_on_the_ground(&t, CLUB), 1);
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
	dupes_start(&t);
	dupes_open_trade(&t);
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
	dupes_start(&t);
	sim_player(map_of(&t), slot_of(&t, BOB))->gold = INT64_MAX - 10;
	dupes_open_trade(&t);
	test_trade_offer(&t, ANN, TRADE_OFFER_GOLD, 0, 11);
	test_run(&t, 60);
	test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
	test_run(&t, 60);
	assert_int_equal(t.clients[ANN].refused_reason, REFUSAL(TRADE_TOO_MUCH_GOLD));
	assert_int_equal(t.commits, 0);
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_answer),
		cmocka_unit_test(a_stranger_in_the_slot),
		cmocka_unit_test(an_answer_of_another_trade),
		cmocka_unit_test(who_leaves_with_something_under_way),
		cmocka_unit_test(the_confirm_race),
		cmocka_unit_test(what_is_offered_is_no_ones_yet),
		cmocka_unit_test(gold_is_spent_once),
		cmocka_unit_test(a_trade_waits_for_its_turn),
		cmocka_unit_test(what_is_said_to_a_map_that_was_left),
		cmocka_unit_test(one_of_two_gets_it),
		cmocka_unit_test(a_stack_fills_to_the_brim),
		cmocka_unit_test(a_bag_fills_once),
		cmocka_unit_test(odd_amounts),
	};

	return cmocka_run_group_tests(tests, dupes_make_folder, dupes_remove_folder);
}
