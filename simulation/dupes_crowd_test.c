/* Proves that nothing appears or vanishes when everything that dupes_test does one by one happens
 * at once: a crowd trades, drops, picks up, moves, earns, dies, leaves in every way and comes
 * again, and the database carries out, refuses, and is silent for longer than the shard waits, and
 * answers in any order. In the end each has what is stored and was shown that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "simulation/commit.h"
#include "simulation/random.h"
#include "simulation/testing_dupes.h"
#include "simulation/trading.h"

enum { GEL = DUPES_GEL, CLUB = DUPES_CLUB, CROWD = DUPES_CROWD };

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

/* A kill: as much gold as experience, so that one tells of the other. */
static void earn(struct test_shard *t, uint32_t who)
{
	struct sim_map *m = map_of(t);

	for (uint32_t slot = 0; slot < m->player_slots; slot++) {
		if (!sim_is_present(m, slot) || m->players_table[slot].peer != test_peer(who))
			continue;
		m->purses[slot].gold_due += 3;
		m->purses[slot].experience_due += 3;
	}
}

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
	case 11:
		if (!sim_random_below(random, 4))
			earn(t, who);
		break;
	default:
		test_trade_confirm(t, who, c->trade_version);
	}
}

static int64_t earned(const struct test_shard *t)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < CROWD; i++)
		sum += t->owned[i].experience;
	return sum;
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
	test_answer_commits(t, COMMIT_RESULT_OK, false);
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

	dupes_begin(&t);
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
				enum dupes_way way = DUPES_VANISHES + sim_random_below(&random, 4);

				dupes_go(&t, who, way);
				t.clients[who].here = way == DUPES_DIES;
				gone_tick[who] = tick;
			} else {
				act(&t, who, &random);
			}
		}
		test_run(&t, 50);
		/* at times the database is silent for longer than the shard waits */
		if (tick / 80 % 3 != 2 && t.held_count)
			answer_some(&t, &random);
		/* carried out in their order, and answered in another */
		if (t.held_count > TEST_HELD_MAX - 16 || !sim_random_below(&random, 60))
			test_answer_commits(&t, COMMIT_RESULT_OK, sim_random_below(&random, 2));
		/* so that nothing on the ground grows old */
		for (uint32_t i = 0; i < map_of(&t)->loot_slots; i++)
			map_of(&t)->loot[i].expires_beat = map_of(&t)->beat + 1200;
		hash = hash * 31 + sim_shard_hash(t.shard);
	}
	come_to_rest(&t);
	dupes_check(&t, CROWD, "seed", seed);
	if (dupes_of_all(&t, 0, CROWD) != 100 * CROWD + earned(&t) || !earned(&t) ||
		dupes_of_all(&t, GEL, CROWD) + dupes_on_the_ground(&t, GEL) != 28 * CROWD ||
		dupes_of_all(&t, CLUB, CROWD) + dupes_on_the_ground(&t, CLUB) != 4 * CROWD)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(the_same_again),
	};

	return cmocka_run_group_tests(tests, dupes_make_folder, dupes_remove_folder);
}
