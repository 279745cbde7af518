#include "simulation/testing_dupes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/transfer.h"

static char folder[64];

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static uint32_t slot_of(const struct test_shard *t, uint32_t client)
{
	return test_slot_of(map_of(t), client);
}

void dupes_begin(struct test_shard *t)
{
	test_init(t, 100, 2 * DUPES_CROWD);
	strcpy(t->config.simulation.content, folder);
	t->config.maps[0].monsters = 1;
	t->config.simulation.trade_idle_s = 5;
	test_start(t, 1);
}

void dupes_start(struct test_shard *t)
{
	dupes_begin(t);
	test_give(t, DUPES_ANN, 0, DUPES_GEL, 5, 0);
	test_give(t, DUPES_ANN, 1, DUPES_CLUB, 1, 501);
	test_give(t, DUPES_BOB, 9, DUPES_GEL, 4, 0);
	t->owned[DUPES_ANN].gold = 20;
	t->owned[DUPES_BOB].gold = 7;
	for (uint32_t i = DUPES_ANN; i <= DUPES_BOB; i++)
		test_join(t, i, true, 50000 + (int32_t)i * 1000, 50000);
	test_run(t, 200);
}

void dupes_open_trade(struct test_shard *t)
{
	test_trade_ask(t, DUPES_ANN, t->clients[DUPES_BOB].actor_id);
	test_run(t, 60);
	test_trade_ask(t, DUPES_BOB, t->clients[DUPES_ANN].actor_id);
	test_run(t, 60);
	assert_int_equal(t->clients[DUPES_ANN].trade_phase, SW__TRADE_PHASE__PHASE_OPEN);
}

void dupes_agree(struct test_shard *t)
{
	dupes_open_trade(t);
	test_trade_offer(t, DUPES_ANN, TRADE_OFFER_ITEM, 0, 5);
	test_trade_offer(t, DUPES_ANN, TRADE_OFFER_ITEM, 1, 1);
	test_trade_offer(t, DUPES_BOB, TRADE_OFFER_GOLD, 0, 7);
	test_run(t, 60);
	test_trade_confirm(t, DUPES_ANN, t->clients[DUPES_ANN].trade_version);
	test_trade_confirm(t, DUPES_BOB, t->clients[DUPES_BOB].trade_version);
	test_run(t, 60);
	assert_int_equal(t->clients[DUPES_ANN].trade_phase, SW__TRADE_PHASE__PHASE_UNDER_WAY);
	assert_int_equal(t->held_count, 1);
}

int64_t dupes_of_all(const struct test_shard *t, uint32_t item, uint32_t clients)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < clients; i++)
		sum += item ? test_owns(t, i, item) : t->owned[i].gold;
	return sum;
}

int64_t dupes_on_the_ground(const struct test_shard *t, uint32_t item)
{
	const struct sim_map *m = map_of(t);
	int64_t sum = 0;

	for (uint32_t i = 0; i < m->loot_slots; i++)
		if (m->loot[i].state == SIM_LOOT_LIES && m->loot[i].item == item)
			sum += m->loot[i].count;
	return sum;
}

void dupes_check(struct test_shard *t, uint32_t clients, const char *what, uint64_t row)
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

void dupes_go(struct test_shard *t, uint32_t client, enum dupes_way way)
{
	static const struct sim_spawn spawn = {.has_position = false};

	switch (way) {
	case DUPES_VANISHES:
		test_gone(t, client);
		break;
	case DUPES_IS_REPLACED:
		test_remove(t, client, SW_REASON_REPLACED);
		break;
	case DUPES_GOES_TO_A_MAP:
		assert_true(sim_player_transfer(map_of(t), slot_of(t, client), "cave", &spawn));
		break;
	case DUPES_DIES:
		if (sim_is_alive(map_of(t), slot_of(t, client)))
			sim_hurt(map_of(t), SIM_NONE, slot_of(t, client), 100000);
		break;
	case DUPES_STAYS:
	case DUPES_WAYS:
		break;
	}
}

int dupes_make_folder(void **state)
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

int dupes_remove_folder(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/items.yaml", folder);
	unlink(path);
	return rmdir(folder);
}
