/* Proves that a map's players trade: two who agree get what they agreed on, by one commit of both,
 * and are told; what may not be is refused by name on the wire, counted, and changes nothing;
 * leaving, dying, going apart and idling end a trade; an answer to somebody who has left does no
 * harm; and with players who come and go while they trade nothing appears or vanishes and nothing
 * stays bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/entity.h"
#include "simulation/random.h"
#include "simulation/testing.h"
#include "simulation/trading.h"

enum { GEL = 1, CLUB = 10, UNKNOWN = 77 };
enum { ANN, BOB, CAT, FAR };

#define REFUSAL(name) SW__ACTION_REFUSAL__##name

static char folder[64];

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static uint32_t slot_of(const struct test_shard *t, uint32_t client)
{
	return test_slot_of(map_of(t), client);
}

static void begin(struct test_shard *t, uint32_t players)
{
	test_init(t, 100, players);
	strcpy(t->config.simulation.content, folder);
	t->config.maps[0].monsters = 1;
	t->config.simulation.trade_idle_s = 5;
	test_start(t, 1);
}

/* Ann has 20 gold, 5 gel in slot 0, a club in 1 and something that the game has forgotten in 2; Bob
 * 7 gold and 4 gel in slot 9. Cat stands by, Far does not. */
static void start(struct test_shard *t)
{
	begin(t, 10);
	test_give(t, ANN, 0, GEL, 5, 0);
	test_give(t, ANN, 1, CLUB, 1, 501);
	test_give(t, ANN, 2, UNKNOWN, 1, 0);
	test_give(t, BOB, 9, GEL, 4, 0);
	t->owned[ANN].gold = 20;
	t->owned[BOB].gold = 7;
	for (uint32_t i = ANN; i <= CAT; i++)
		test_join(t, i, true, 50000 + (int32_t)i * 1000, 50000);
	test_join(t, FAR, true, 65000, 50000);
	test_run(t, 200);
}

static void open_trade(struct test_shard *t)
{
	test_trade_ask(t, ANN, t->clients[BOB].actor_id);
	test_run(t, 100);
	assert_int_equal(t->clients[ANN].trade_phase, SW__TRADE_PHASE__PHASE_ASKED);
	assert_false(t->clients[ANN].trade_asked);
	assert_true(t->clients[BOB].trade_asked);
	assert_int_equal(t->clients[BOB].trade_partner, t->clients[ANN].actor_id);
	test_trade_ask(t, BOB, t->clients[ANN].actor_id);
	test_run(t, 100);
	assert_int_equal(t->clients[ANN].trade_phase, SW__TRADE_PHASE__PHASE_OPEN);
	assert_int_equal(t->clients[BOB].trade_phase, SW__TRADE_PHASE__PHASE_OPEN);
}

/* Five gel and the club against seven gold, up to the commit. */
static void agree(struct test_shard *t)
{
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 0, 5);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 1, 1);
	test_trade_offer(t, BOB, TRADE_OFFER_GOLD, 0, 7);
	test_run(t, 100);
	assert_int_equal(t->clients[BOB].trade_items[1], 2);
	assert_int_equal(t->clients[ANN].trade_gold[1], 7);
	test_trade_confirm(t, ANN, t->clients[ANN].trade_version);
	test_trade_confirm(t, BOB, t->clients[BOB].trade_version);
	test_run(t, 100);
}

/* ---- trades ---- */

static void two_trade(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	t.hold_commits = true;
	open_trade(&t);
	agree(&t);
	assert_int_equal(t.clients[ANN].trade_phase, SW__TRADE_PHASE__PHASE_UNDER_WAY);
	assert_int_equal(t.commits, 1);
	assert_int_equal(t.last_commit.commit.reason, COMMIT_REASON_TRADE);
	assert_int_equal(t.last_commit.commit.character_id[0], 5000 + ANN);
	assert_int_equal(t.last_commit.commit.character_id[1], 5000 + BOB);
	assert_int_equal(t.last_commit.commit.epoch[1], 3);
	assert_int_equal(t.clients[ANN].stack_count[0], 5); /* nothing is told before it is kept */
	assert_true(sim_bag_busy(map_of(&t), slot_of(&t, ANN), 0));
	assert_true(sim_bag_busy(map_of(&t), slot_of(&t, BOB), 9));
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 100);
	for (uint32_t who = ANN; who <= BOB; who++) {
		assert_int_equal(t.clients[who].trade_ends, 1);
		assert_int_equal(t.clients[who].trade_end, SW__TRADE_END_REASON__END_DONE);
		assert_int_equal(t.clients[who].trade_ended, t.clients[who].trade);
		assert_int_equal(map_of(&t)->bags[slot_of(&t, who)].commits, 0);
		assert_int_equal(map_of(&t)->bags[slot_of(&t, who)].busy[0], 0);
	}
	assert_int_equal(t.clients[ANN].gold, 27);
	assert_int_equal(t.clients[BOB].gold, 0);
	assert_int_equal(t.clients[ANN].stack_count[0], 0);
	assert_int_equal(t.clients[BOB].stack_count[9], 9);
	assert_int_equal(t.clients[BOB].stack_item[0], CLUB);
	assert_int_equal(test_owns(&t, BOB, GEL), 9);
	assert_int_equal(test_owns(&t, BOB, CLUB), 1);
	assert_int_equal(test_counter(&t, SIM_TRADE_DONE), 1);
	test_end(&t);
}

/* What the database refuses changes nothing, and is loaded again; what it could not do, too, and is
 * not. */
static void refused_by_the_database(void **state)
{
	static const struct {
		uint32_t result, reason, queries;
	} rows[] = {{COMMIT_RESULT_UNAVAILABLE, SW__TRADE_END_REASON__END_UNAVAILABLE, 0},
		{COMMIT_RESULT_EXPIRED, SW__TRADE_END_REASON__END_UNAVAILABLE, 0},
		{COMMIT_RESULT_STALE, SW__TRADE_END_REASON__END_REFUSED, 2},
		{COMMIT_RESULT_SLOT_TAKEN, SW__TRADE_END_REASON__END_REFUSED, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_shard t;
		uint32_t queries;

		start(&t);
		t.hold_commits = true;
		open_trade(&t);
		agree(&t);
		queries = t.detail_queries;
		test_answer_commits(&t, (enum commit_result)rows[i].result, false);
		test_run(&t, 200);
		assert_int_equal(t.clients[ANN].trade_end, rows[i].reason);
		assert_int_equal(t.clients[BOB].trade_end, rows[i].reason);
		assert_int_equal(t.detail_queries - queries, rows[i].queries);
		assert_int_equal(t.clients[ANN].gold, 20);
		assert_int_equal(t.clients[ANN].stack_count[0], 5);
		assert_false(sim_bag_busy(map_of(&t), slot_of(&t, ANN), 0));
		test_end(&t);
	}
}

static void a_full_ring_is_waited_for(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	open_trade(&t);
	test_fill(t.links.to_world);
	test_trade_offer(&t, ANN, TRADE_OFFER_GOLD, 0, 7);
	test_run_holding(&t, 60);
	test_read_dataplane(&t);
	test_trade_confirm(&t, ANN, t.clients[ANN].trade_version);
	test_trade_confirm(&t, BOB, t.clients[BOB].trade_version);
	test_run_holding(&t, 200);
	test_read_dataplane(&t);
	assert_int_equal(t.clients[ANN].trade_phase, SW__TRADE_PHASE__PHASE_OPEN);
	assert_int_equal(map_of(&t)->bags[slot_of(&t, ANN)].commits, 0);
	assert_true(test_counter(&t, SIM_COMMITS_HELD) >= 3); /* one a tick */
	assert_int_equal(test_counter(&t, SIM_TRADE_DONE), 0);
	test_empty(t.links.to_world);
	test_run(&t, 150);
	assert_int_equal(test_counter(&t, SIM_TRADE_DONE), 1);
	assert_int_equal(t.clients[BOB].gold, 14);
	test_end(&t);
}

/* ---- refusals ---- */

static void nobody_there(struct test_shard *t)
{
	test_trade_ask(t, ANN, 12345);
}

static void nobody(struct test_shard *t)
{
	test_trade_ask(t, ANN, 0);
}

static void oneself(struct test_shard *t)
{
	test_trade_ask(t, ANN, t->clients[ANN].actor_id);
}

static void a_monster(struct test_shard *t)
{
	uint32_t slot = map_of(t)->player_slots + map_of(t)->npc_slots;

	map_of(t)->entities[slot].x_mm = map_of(t)->entities[slot].y_mm = 51000;
	sim_entity_touch(map_of(t), slot);
	test_run(t, 100);
	test_trade_ask(t, ANN, map_of(t)->entities[slot].wire_id);
}

static void far_away(struct test_shard *t)
{
	test_trade_ask(t, ANN, t->clients[FAR].actor_id);
}

static void busy(struct test_shard *t)
{
	open_trade(t);
	test_trade_ask(t, ANN, t->clients[CAT].actor_id);
}

static void partner_busy(struct test_shard *t)
{
	test_trade_ask(t, BOB, t->clients[CAT].actor_id);
	test_run(t, 100);
	test_trade_ask(t, ANN, t->clients[CAT].actor_id);
}

static void dead_partner(struct test_shard *t)
{
	map_of(t)->bodies[slot_of(t, BOB)].health = 0;
	map_of(t)->bodies[slot_of(t, BOB)].back_beat = map_of(t)->beat + 1000;
	test_trade_ask(t, ANN, t->clients[BOB].actor_id);
}

static void dead_self(struct test_shard *t)
{
	map_of(t)->bodies[slot_of(t, ANN)].health = 0;
	map_of(t)->bodies[slot_of(t, ANN)].back_beat = map_of(t)->beat + 1000;
	test_trade_ask(t, ANN, t->clients[BOB].actor_id);
}

static void loading(struct test_shard *t)
{
	sim_player(map_of(t), slot_of(t, ANN))->detail = SIM_DETAIL_ASKED;
	test_trade_ask(t, ANN, t->clients[BOB].actor_id);
}

static void partner_loading(struct test_shard *t)
{
	sim_player(map_of(t), slot_of(t, BOB))->detail = SIM_DETAIL_ASKED;
	test_trade_ask(t, ANN, t->clients[BOB].actor_id);
}

static void not_accepted(struct test_shard *t)
{
	test_trade_ask(t, ANN, t->clients[BOB].actor_id);
	test_run(t, 100);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 0, 1);
}

static void ended(struct test_shard *t)
{
	open_trade(t);
	test_trade_cancel(t, BOB);
	test_run(t, 100);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 0, 1);
}

static void somebody_elses(struct test_shard *t)
{
	uint32_t id;

	open_trade(t);
	id = t->clients[ANN].trade;
	test_trade_ask(t, CAT, t->clients[FAR].actor_id);
	t->clients[CAT].trade = id;
	test_trade_cancel(t, CAT);
	test_run(t, 50);
	t->clients[ANN].refused_reason = t->clients[CAT].refused_reason;
}

static void kind(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, 9, 0, 1);
}

static void zero(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 0, 0);
}

static void negative(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 0, -3);
}

static void negative_gold(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_GOLD, 0, -3);
}

static void empty_slot(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 33, 1);
}

static void no_such_slot(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 4000000000u, 1);
}

static void worn(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, COMMIT_EQUIP_FIRST, 1);
}

static void bound(struct test_shard *t)
{
	open_trade(t);
	map_of(t)->bags[slot_of(t, ANN)].busy[0] |= 1;
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 0, 1);
}

static void too_many(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 0, 6);
}

static void too_much(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_GOLD, 0, 21);
}

static void unknown_item(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_ITEM, 2, 1);
}

static void not_offered(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, ANN, TRADE_OFFER_TAKE_BACK, 0, 0);
}

static void nothing(struct test_shard *t)
{
	open_trade(t);
	test_trade_confirm(t, ANN, t->clients[ANN].trade_version);
}

static void old_version(struct test_shard *t)
{
	open_trade(t);
	test_trade_offer(t, BOB, TRADE_OFFER_GOLD, 0, 1);
	test_trade_confirm(t, ANN, t->clients[ANN].trade_version);
}

static void under_way(struct test_shard *t)
{
	t->hold_commits = true;
	open_trade(t);
	agree(t);
	test_trade_cancel(t, ANN);
}

static void refused_by_name(void **state)
{
	static const struct {
		void (*scene)(struct test_shard *t); /* its last word is refused to Ann */
		uint32_t reason;
		enum sim_counter counter;
	} rows[] = {
		{nobody, REFUSAL(NO_SUCH_ACTOR), SIM_REFUSED_NO_SUCH_ACTOR},
		{nobody_there, REFUSAL(NO_SUCH_ACTOR), SIM_REFUSED_NO_SUCH_ACTOR},
		{oneself, REFUSAL(TRADE_ONESELF), SIM_REFUSED_TRADE_ONESELF},
		{a_monster, REFUSAL(TRADE_NOT_A_PLAYER), SIM_REFUSED_TRADE_NOT_A_PLAYER},
		{far_away, REFUSAL(TRADE_OUT_OF_REACH), SIM_REFUSED_TRADE_OUT_OF_REACH},
		{busy, REFUSAL(TRADE_BUSY), SIM_REFUSED_TRADE_BUSY},
		{partner_busy, REFUSAL(TRADE_PARTNER_BUSY), SIM_REFUSED_TRADE_PARTNER_BUSY},
		{dead_partner, REFUSAL(TRADE_PARTNER_AWAY), SIM_REFUSED_TRADE_PARTNER_AWAY},
		{partner_loading, REFUSAL(TRADE_PARTNER_AWAY), SIM_REFUSED_TRADE_PARTNER_AWAY},
		{dead_self, REFUSAL(DEAD), SIM_REFUSED_DEAD},
		{loading, REFUSAL(NOT_READY), SIM_REFUSED_NOT_READY},
		{not_accepted, REFUSAL(TRADE_NOT_ACCEPTED), SIM_REFUSED_TRADE_NOT_ACCEPTED},
		{ended, REFUSAL(TRADE_ENDED), SIM_REFUSED_TRADE_ENDED},
		{somebody_elses, REFUSAL(TRADE_ENDED), SIM_REFUSED_TRADE_ENDED},
		{kind, REFUSAL(TRADE_NO_SUCH_KIND), SIM_REFUSED_TRADE_NO_SUCH_KIND},
		{zero, REFUSAL(TRADE_AMOUNT), SIM_REFUSED_TRADE_AMOUNT},
		{negative, REFUSAL(TRADE_AMOUNT), SIM_REFUSED_TRADE_AMOUNT},
		{negative_gold, REFUSAL(TRADE_AMOUNT), SIM_REFUSED_TRADE_AMOUNT},
		{empty_slot, REFUSAL(TRADE_NOT_OWNED), SIM_REFUSED_TRADE_NOT_OWNED},
		{no_such_slot, REFUSAL(TRADE_NOT_OWNED), SIM_REFUSED_TRADE_NOT_OWNED},
		{worn, REFUSAL(TRADE_NOT_OWNED), SIM_REFUSED_TRADE_NOT_OWNED},
		{bound, REFUSAL(TRADE_RESERVED), SIM_REFUSED_TRADE_RESERVED},
		{too_many, REFUSAL(TRADE_NOT_ENOUGH), SIM_REFUSED_TRADE_NOT_ENOUGH},
		{too_much, REFUSAL(TRADE_NOT_ENOUGH), SIM_REFUSED_TRADE_NOT_ENOUGH},
		{unknown_item, REFUSAL(TRADE_NOT_TRADABLE), SIM_REFUSED_TRADE_NOT_TRADABLE},
		{not_offered, REFUSAL(TRADE_NOT_OFFERED), SIM_REFUSED_TRADE_NOT_OFFERED},
		{nothing, REFUSAL(TRADE_NOTHING), SIM_REFUSED_TRADE_NOTHING},
		{old_version, REFUSAL(TRADE_OLD_VERSION), SIM_REFUSED_TRADE_OLD_VERSION},
		{under_way, REFUSAL(TRADE_UNDER_WAY), SIM_REFUSED_TRADE_UNDER_WAY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_shard t;

		start(&t);
		rows[i].scene(&t);
		test_run(&t, 50);
		if (t.clients[ANN].refused_reason != rows[i].reason)
			fail_msg("row %zu: %u, not %u", i, t.clients[ANN].refused_reason,
				rows[i].reason);
		assert_int_equal(test_counter(&t, rows[i].counter), 1);
		assert_int_equal(test_owns(&t, ANN, GEL), 5);
		assert_int_equal(t.owned[ANN].gold, 20);
		assert_int_equal(t.clients[ANN].stack_count[0], 5);
		test_end(&t);
	}
}

/* ---- ends ---- */

static void ends_are_told(void **state)
{
	static const struct {
		char how;
		uint32_t reason; /* told to Ann */
		enum sim_counter counter;
	} rows[] = {
		{'c', SW__TRADE_END_REASON__END_CANCELLED, SIM_TRADE_CANCELLED},
		{'g', SW__TRADE_END_REASON__END_LEFT, SIM_TRADE_LEFT}, /* the peer is gone */
		{'r', SW__TRADE_END_REASON__END_LEFT, SIM_TRADE_LEFT}, /* taken over */
		{'d', SW__TRADE_END_REASON__END_AWAY, SIM_TRADE_AWAY},
		{'a', SW__TRADE_END_REASON__END_APART, SIM_TRADE_APART},
		{'i', SW__TRADE_END_REASON__END_IDLE, SIM_TRADE_IDLE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_shard t;
		uint32_t bob;

		start(&t);
		open_trade(&t);
		bob = slot_of(&t, BOB);
		switch (rows[i].how) {
		case 'c':
			test_trade_cancel(&t, BOB);
			break;
		case 'g':
			test_gone(&t, BOB);
			break;
		case 'r':
			test_remove(&t, BOB, SW_REASON_REPLACED);
			break;
		case 'd':
			sim_hurt(map_of(&t), SIM_NONE, bob, 100000);
			break;
		case 'a':
			map_of(&t)->entities[bob].x_mm = 80000;
			sim_entity_touch(map_of(&t), bob);
			break;
		default:
			test_run(&t, 4500);
			assert_int_equal(t.clients[ANN].trade_ends, 0);
			test_run(&t, 1000);
		}
		test_run(&t, 200);
		if (t.clients[ANN].trade_ends != 1 || t.clients[ANN].trade_end != rows[i].reason)
			fail_msg("row %zu: %u ends, the last %u", i, t.clients[ANN].trade_ends,
				t.clients[ANN].trade_end);
		assert_int_equal(test_counter(&t, rows[i].counter), 1);
		assert_int_equal(t.commits, 0);
		assert_null(trade_of(&map_of(&t)->trades, slot_of(&t, ANN)));
		test_end(&t);
	}
}

/* Who leaves while it is under way has what the database says when it comes again; who stays, too.
 */
static void leaving_under_way(void **state)
{
	(void)state;
	for (uint32_t wait = 0; wait < 2; wait++) {
		struct test_shard t;

		start(&t);
		t.hold_commits = true;
		open_trade(&t);
		agree(&t);
		test_gone(&t, BOB);
		/* for a while the shard waits for the answer, and then no more */
		test_run(&t, 200 + wait * SIM_COMMIT_WAIT_S * 1000);
		assert_int_equal(t.left, wait);
		test_answer_commits(&t, COMMIT_RESULT_OK, false);
		test_run(&t, 200);
		assert_int_equal(t.left, 1);
		assert_int_equal(t.clients[ANN].trade_end, SW__TRADE_END_REASON__END_DONE);
		assert_int_equal(t.clients[ANN].gold, 27);
		assert_int_equal(map_of(&t)->trades.count, 0);
		test_join(&t, BOB, true, 50000, 50000);
		test_run(&t, 200);
		assert_int_equal(t.clients[BOB].gold, 0);
		assert_int_equal(t.clients[BOB].stack_count[9], 9);
		test_end(&t);
	}
}

/* ---- everybody at once ---- */

#define CROWD 8u

static int64_t all_gold(const struct test_shard *t)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < CROWD; i++)
		sum += t->owned[i].gold;
	return sum;
}

static int64_t all_of(const struct test_shard *t, uint32_t item)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < CROWD; i++)
		sum += test_owns(t, i, item);
	return sum;
}

static void act(struct test_shard *t, uint32_t who, uint64_t *seed)
{
	const struct test_client *c = &t->clients[who];
	uint32_t other = sim_random_below(seed, CROWD);

	switch (sim_random_below(seed, 12)) {
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
		test_trade_offer(t, who, TRADE_OFFER_ITEM, sim_random_below(seed, 12),
			1 + sim_random_below(seed, 3));
		break;
	case 6:
		test_trade_offer(t, who, TRADE_OFFER_GOLD, 0, sim_random_below(seed, 30));
		break;
	case 11:
		if (!sim_random_below(seed, 4))
			test_trade_cancel(t, who);
		break;
	default:
		test_trade_confirm(t, who, c->trade_version);
	}
}

static void check_copies(struct test_shard *t, uint64_t seed)
{
	for (uint32_t i = 0; i < CROWD; i++) {
		uint32_t slot;
		const struct sim_bag *bag;

		if (!t->clients[i].here)
			continue;
		slot = slot_of(t, i);
		bag = &map_of(t)->bags[slot];
		if (bag->busy[0] | bag->busy[1] | bag->commits)
			fail_msg("seed %llu: something stays bound", (unsigned long long)seed);
		assert_int_equal(sim_player(map_of(t), slot)->gold, t->owned[i].gold);
		for (uint32_t n = 0, at = 0; n < COMMIT_BAG_SLOTS; n++) {
			int64_t want = 0;

			if (at < t->owned[i].slots && t->owned[i].slot[at].slot == n)
				want = t->owned[i].slot[at++].count;
			assert_int_equal(bag->stack[n].count, want);
			assert_int_equal(t->clients[i].stack_count[n], want);
		}
	}
}

static uint64_t play(uint64_t seed, uint64_t *done)
{
	static const enum commit_result results[] = {COMMIT_RESULT_OK, COMMIT_RESULT_OK,
		COMMIT_RESULT_OK, COMMIT_RESULT_UNAVAILABLE, COMMIT_RESULT_STALE};
	uint64_t random = seed, hash = 0;
	uint32_t gone_tick[CROWD] = {0};
	struct test_shard t;

	begin(&t, 2 * CROWD);
	t.hold_commits = true;
	for (uint32_t i = 0; i < CROWD; i++) {
		t.owned[i].gold = 100;
		for (uint32_t slot = 0; slot < 8; slot++)
			test_give(&t, i, slot, slot % 2 ? CLUB : GEL, slot % 2 ? 1 : 7,
				slot % 2 ? 1 + 100 * i + slot : 0);
		test_join(&t, i, true, 50000 + (int32_t)i * 500, 50000);
	}
	test_run(&t, 200);
	for (uint32_t tick = 0; tick < 400; tick++) {
		for (uint32_t n = 0; n < 6; n++) {
			uint32_t who = sim_random_below(&random, CROWD);

			if (!t.clients[who].here) {
				/* its peer comes again when the old one is off the map */
				if (tick > gone_tick[who] + 1 && !sim_random_below(&random, 10))
					test_join(&t, who, true, 50000, 50000);
			} else if (!sim_random_below(&random, 120)) {
				test_gone(&t, who);
				gone_tick[who] = tick;
			} else {
				act(&t, who, &random);
			}
		}
		test_run(&t, 50);
		if (!sim_random_below(&random, 3))
			test_answer_commits(&t, results[sim_random_below(&random, 5)],
				sim_random_below(&random, 2));
		if (all_gold(&t) != 100 * CROWD || all_of(&t, GEL) != 28 * CROWD ||
			all_of(&t, CLUB) != 4 * CROWD)
			fail_msg("seed %llu: something appeared or vanished",
				(unsigned long long)seed);
		hash = hash * 31 + sim_shard_hash(t.shard);
	}
	t.hold_commits = false;
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 7000);
	assert_int_equal(map_of(&t)->trades.count, 0);
	check_copies(&t, seed);
	*done += test_counter(&t, SIM_TRADE_DONE);
	test_end(&t);
	return hash;
}

static void nothing_appears_or_vanishes(void **state)
{
	uint64_t done = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++)
		play(seed, &done);
	printf("seeds 1 to 6: %llu trades carried out\n", (unsigned long long)done);
	assert_true(done > 20);
}

static void the_same_again(void **state)
{
	uint64_t done = 0;

	(void)state;
	assert_int_equal(play(3, &done), play(3, &done));
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/sw-trading-XXXXXX");
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
		cmocka_unit_test(two_trade),
		cmocka_unit_test(refused_by_the_database),
		cmocka_unit_test(a_full_ring_is_waited_for),
		cmocka_unit_test(refused_by_name),
		cmocka_unit_test(ends_are_told),
		cmocka_unit_test(leaving_under_way),
		cmocka_unit_test(nothing_appears_or_vanishes),
		cmocka_unit_test(the_same_again),
	};

	return cmocka_run_group_tests_name("trading", tests, make_folder, remove_folder);
}
