#include "simulation/testing_game.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/combat.h"
#include "simulation/counters.h"
#include "simulation/instance.h"
#include "simulation/random.h"
#include "simulation/trade/trade.h"

#define ACTORS_MAX 2048u /* wire ids, while nobody joins anew */
#define SLOTS_USED 6u    /* of the bag, so that things meet */

static const struct {
	const char *name, *text;
} files[] = {
	{"items.yaml", "items:\n- {number: 1, name: gel, stack_max: 9}\n"
		       "- {number: 10, name: club, slot: weapon, attack: 3, range_mm: 3000, "
		       "cooldown_ms: 500}\n"
		       "- {number: 20, name: cap, slot: head, defence: 1}\n"},
	{"loot.yaml",
		"loot:\n"
		"- {table: g, item: gel, chance_permille: 700, count_min: 1, count_max: 3}\n"
		"- {table: g, item: club, chance_permille: 500, count_min: 1, count_max: 1}\n"
		"- {table: g, item: cap, chance_permille: 300, count_min: 1, count_max: 1}\n"},
	{"monsters.yaml",
		"monsters:\n- {name: wanderer, health: 30, attack: 20, speed_mm_per_s: 3000,\n"
		"   sight_mm: 8000, leash_mm: 20000, cooldown_ms: 500, range_mm: 1600,\n"
		"   experience: 120, gold_min: 1, gold_max: 7, loot: g}\n"},
	{"levels.yaml", "levels:\n- {level: 1, experience: 0, health: 80, attack: 10}\n"
			"- {level: 2, experience: 100, health: 90, attack: 12}\n"},
	{"cards.yaml", "cards:\n- {number: 1, name: blade, attack: 6}\n"
		       "- {number: 2, name: shirt, defence: 4}\n"
		       "- {number: 3, name: heart, health: 40}\n"
		       "- {number: 4, name: feet, speed_permille: 200}\n"},
	{"battle.yaml", "battle:\n- {at_s: 1, radius_permille: 3000, pick_s: 2}\n"
			"- {at_s: 4, radius_permille: 500, shrink_s: 2, damage: 2, pick_s: 1}\n"
			"- {at_s: 8, radius_permille: 0, shrink_s: 1, damage: 30}\n"},
};

void test_game_write(const char *folder)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		test_write(folder, files[i].name, files[i].text);
}

void test_game_remove(const char *folder)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
		unlink(path);
	}
}

void test_game_config(struct test_shard *t, const char *folder)
{
	struct config_map *meadow = &t->config.maps[0];

	strcpy(t->config.simulation.content, folder);
	meadow->monsters = 30;
	meadow->instances_max = 1;
	t->config.map_count = 2;
	t->config.maps[1] = (struct config_map){.name = "arena",
		.kind = CONFIG_MAP_ROOM,
		.rule = "battle",
		.match_s = 20,
		.empty_s = 5,
		.start_players = TEST_GAME_FIGHTERS,
		.start_wait_s = 3,
		.countdown_s = 1,
		.instances_max = 2,
		.width_m = 64,
		.height_m = 64,
		.tick_hz = 15,
		.view_m = 40,
		.players_max = 10};
}

static uint32_t below(struct test_game *g, uint32_t n)
{
	return sim_random_below(&g->random, n);
}

void test_game_begin(struct test_game *g, struct test_shard *t, uint64_t seed)
{
	*g = (struct test_game){.t = t, .random = seed};
	for (uint32_t c = 0; c < TEST_GAME_WALKERS; c++) {
		test_give(t, c, 0, 1, 5, 0);
		test_give(t, c, 1, 10, 1, 500 + c);
		test_join(t, c, true, (int32_t)(10000 + below(g, 20000)),
			(int32_t)(10000 + below(g, 20000)));
	}
	for (uint32_t c = 0; c < TEST_GAME_FIGHTERS; c++) {
		const struct msg_player_join join = {.map = "arena",
			.instance = TEST_GAME_ARENA,
			.has_position = 1,
			.x_mm = (int32_t)(31000 + c * 300),
			.y_mm = 32000,
			.return_map = "meadow"};

		test_join_as(t, TEST_GAME_WALKERS + c, &join);
	}
}

static bool is_client(const struct test_game *g, uint32_t actor_id)
{
	for (uint32_t c = 0; c < TEST_GAME_WALKERS + TEST_GAME_FIGHTERS; c++)
		if (g->t->clients[c].actor_id == actor_id)
			return true;
	return false;
}

/* The nearest alive that the client knows, a player or not; at times anybody. */
static uint32_t somebody(struct test_game *g, const struct test_client *c, bool player)
{
	int64_t best_mm2 = INT64_MAX;
	uint32_t best = 0;

	if (below(g, 8) == 0)
		return below(g, ACTORS_MAX);
	for (uint32_t id = 0; id < ACTORS_MAX; id++) {
		int64_t dx = (int64_t)c->seen_x_mm[id] - c->x_mm;
		int64_t dy = (int64_t)c->seen_y_mm[id] - c->y_mm;

		if (!c->knows[id] || !c->seen_health[id] || dx * dx + dy * dy >= best_mm2 ||
			is_client(g, id) != player)
			continue;
		best_mm2 = dx * dx + dy * dy;
		best = id;
	}
	return best;
}

static void trade(struct test_game *g, uint32_t client)
{
	const struct test_client *c = &g->t->clients[client], *other = &g->t->clients[client ^ 1];

	if (c->trade == c->trade_ended) {
		test_trade_ask(g->t, client, other->actor_id);
	} else if (c->trade_phase == SW__TRADE_PHASE__PHASE_ASKED) {
		if (c->trade_asked)
			test_trade_ask(g->t, client, other->actor_id);
	} else if (below(g, 3) == 0) {
		test_trade_offer(g->t, client, below(g, 3), below(g, SLOTS_USED), 1 + below(g, 3));
	} else if (below(g, 20) == 0) {
		test_trade_cancel(g->t, client);
	} else {
		test_trade_confirm(g->t, client, c->trade_version);
	}
}

static void walk(struct test_game *g, uint32_t client)
{
	uint32_t count = 1 + below(g, 3);

	test_input(g->t, client, g->sequence[client] + 1, count, (int32_t)below(g, 180) - 90,
		(int32_t)below(g, 180) - 90);
	g->sequence[client] += count;
}

static void on_the_meadow(struct test_game *g, uint32_t client)
{
	const struct test_client *c = &g->t->clients[client];

	switch (below(g, 8)) {
	case 0:
		walk(g, client);
		break;
	case 1:
		test_move_item(g->t, client, below(g, SLOTS_USED),
			below(g, 4) ? below(g, SLOTS_USED) : COMMIT_EQUIP_FIRST + below(g, 2),
			below(g, 3));
		break;
	case 2:
		if (below(g, 3) == 0)
			test_drop_item(g->t, client, below(g, SLOTS_USED), below(g, 3));
		break;
	case 3:
		test_pick_up(g->t, client, c->loot_seen);
		break;
	case 4:
	case 5:
		if (client < TEST_GAME_WALKERS / 2 * 2)
			trade(g, client);
		break;
	default:
		test_attack(g->t, client, somebody(g, c, false));
	}
}

static void in_the_battle(struct test_game *g, uint32_t client)
{
	const struct test_client *c = &g->t->clients[client];

	if (below(g, 3) == 0)
		walk(g, client);
	else if (c->offers > c->cards_taken && c->card_count && below(g, 2))
		test_pick(g->t, client, c->offer, c->cards[below(g, c->card_count)]);
	else
		test_attack(g->t, client, somebody(g, c, true));
}

void test_game_round(struct test_game *g)
{
	for (uint32_t client = 0; client < TEST_GAME_WALKERS + TEST_GAME_FIGHTERS; client++) {
		if (!g->t->clients[client].here || !g->t->clients[client].joins || below(g, 3))
			continue;
		if (client < TEST_GAME_WALKERS)
			on_the_meadow(g, client);
		else
			in_the_battle(g, client);
	}
}

void test_game_happened(const struct test_shard *t)
{
	static const struct {
		const char *what;
		uint32_t counter;
	} all[] = {{"blows", SIM_BLOWS}, {"monsters killed", SIM_MONSTERS_KILLED},
		{"monsters back", SIM_MONSTERS_BACK}, {"players killed", SIM_PLAYERS_KILLED},
		{"players back", SIM_PLAYERS_BACK}, {"loot fell", SIM_LOOT_FELL},
		{"loot taken", SIM_LOOT_TAKEN}, {"commits", SIM_COMMITS},
		{"trades done", SIM_TRADE_DONE}, {"trades called off", SIM_TRADE_CANCELLED},
		{"matches", SIM_MATCHES}, {"results", SIM_RESULTS},
		{"cards picked", SIM_CARDS_PICKED}, {"cards given", SIM_CARDS_GIVEN},
		{"rooms ended", SIM_INSTANCES_ENDED}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!test_counter(t, all[i].counter))
			fail_msg("no %s", all[i].what);
}
