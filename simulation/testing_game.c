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
#include "simulation/state.h"
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
	{"quests.yaml",
		"quests:\n"
		"- {number: 1, name: hunt, title: Hunt, gives: gel, gold: 9, experience: 30,\n"
		"   rewards: [{item: cap}],\n"
		"   steps: [{number: 1, text: Kill., kill: wanderer}, {number: 2, text: Have., "
		"have: gel},\n"
		"     {number: 3, text: Bring., talk: Giver, bring: gel}]}\n"
		"- {number: 2, name: way, title: Way, steps: [{number: 1, text: Go., reach: "
		"meadow,\n"
		"   x_m: 20, y_m: 20, radius_m: 8}, {number: 2, text: Tell., talk: Giver}]}\n"},
	{"village.lua",
		"for i = 1, 4 do npc { name = 'Giver', x = 15 + i % 2 * 20, y = 15 + i // 3 * 20,\n"
		"  on_click = function(npc, player)\n"
		"    for _, quest in ipairs { 'hunt', 'way' } do\n"
		"      local phase, step = player:quest(quest)\n"
		"      if phase == 'new' and npc:ask(player, quest, { 'yes', 'no' }) == 1 then\n"
		"        player:begin_quest(quest) npc:say(player, tostring(commit())) return end\n"
		"      if phase == 'open' and step > 1 and math.random(2) == 1 then\n"
		"        player:complete_quest(quest) npc:say(player, tostring(commit())) return "
		"end\n"
		"    end end, on_tick = function(npc) npc:walk(math.random(-1, 1), 0) end } end\n"
		"npc { name = 'Shop', x = 21, y = 19, on_click = function(npc, player)\n"
		"  player:add_gold(-1) player:give_item('gel', 2) end }\n"
		"monster { kind = 'wanderer', on_fight = function(m, p) m:shout('grr') end,\n"
		"  on_hurt = function(m, p, n) if n > 14 then m:heal(1) end end,\n"
		"  on_death = function(m, p) p:add_experience(1)\n"
		"    if math.random(3) == 1 then m:drop('gel', 1, p) end\n"
		"    queue_intent('kill ' .. p.name, p, { gold = 1 })\n"
		"    start_timer('told', 1, p.name) end }\n"
		"timer { name = 'told', on_time = function(name) map.announce(name .. ' won') end }\n"
		"quest { name = 'hunt', on_begin = function(p) wait(1) p:add_gold(1) commit() end }\n"
		"map_events { on_enter = function(p) map.announce(p.name) end }\n"},
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
	strcpy(meadow->script, "village.lua");
	t->config.simulation.script_memory_bytes = 2 << 20;
	t->config.simulation.script_tick_us = 4000;
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

/* The nearest of the meadow's NPCs. */
static uint32_t somebody_to_talk_to(const struct sim_map *m, const struct test_client *c)
{
	uint32_t nearest = 0;
	int64_t nearest_mm2 = INT64_MAX;

	for (uint32_t i = 0; i < m->npc_slots; i++) {
		const struct sim_entity *e = &m->entities[m->player_slots + i];
		int64_t dx = (int64_t)e->x_mm - c->x_mm, dy = (int64_t)e->y_mm - c->y_mm;

		if (dx * dx + dy * dy >= nearest_mm2)
			continue;
		nearest_mm2 = dx * dx + dy * dy;
		nearest = e->wire_id;
	}
	return nearest;
}

static void quest(struct test_game *g, uint32_t client)
{
	const struct sim_map *m = g->t->shard->by_number[instance_slot(TEST_GAME_MEADOW)];

	if (below(g, 12) == 0)
		test_abandon(g->t, client, 1 + below(g, 2));
	else if (below(g, 3) == 0)
		test_answer(g->t, client, below(g, 3));
	else
		test_click(g->t, client, somebody_to_talk_to(m, &g->t->clients[client]));
}

/* Control's word: somebody has joined or left; it comes twice at times. */
static void party_changes(struct test_game *g, uint32_t group)
{
	struct test_party said = {
		.party = 1 + group, .version = ++g->party_version, .change = PARTY_CHANGE_JOINED};
	uint32_t first = group * TEST_GAME_GROUP;

	g->members[group] ^= 1u << below(g, TEST_GAME_GROUP);
	for (uint32_t i = 0; i < TEST_GAME_GROUP; i++) {
		if (!g->t->clients[first + i].joins)
			continue;
		said.targets[said.target_count++] = first + i;
		if (g->members[group] >> i & 1)
			said.members[said.member_count++] = first + i;
	}
	if (said.member_count < 2)
		said.member_count = 0;
	said.leader = said.members[0];
	test_party_say(g->t, &said);
	if (below(g, 4) == 0)
		test_party_say(g->t, &said);
}

/* What players ask of control, which says nothing to it; and how it asks for all, when it may have
 * missed something. */
static void parties(struct test_game *g)
{
	struct msg resync;

	for (uint32_t group = 0; group < TEST_GAME_WALKERS / TEST_GAME_GROUP; group++) {
		if (below(g, 30) == 0)
			party_changes(g, group);
		if (below(g, 30) == 0)
			test_party_request(g->t, group * TEST_GAME_GROUP, below(g, 3),
				below(g, PARTY_ACT_COUNT + 1), 5000 + below(g, 9), "Bo");
	}
	if (below(g, 150))
		return;
	msg_begin(&resync, MSG_PARTY_RESYNC, HANDLE_NONE, 0);
	assert_true(msg_ring_push(g->t->links.from_control, &resync));
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
	parties(g);
	for (uint32_t client = 0; client < TEST_GAME_WALKERS + TEST_GAME_FIGHTERS; client++) {
		if (!g->t->clients[client].here || !g->t->clients[client].joins)
			continue;
		if (client < TEST_GAME_WALKERS && below(g, 6) == 0)
			quest(g, client);
		if (below(g, 3))
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
		{"quests begun", SIM_QUESTS_BEGUN}, {"quest progress", SIM_QUEST_PROGRESS},
		{"quests done", SIM_QUESTS_DONE}, {"quests given up", SIM_QUESTS_ABANDONED},
		{"cards picked", SIM_CARDS_PICKED}, {"cards given", SIM_CARDS_GIVEN},
		{"states of parties", SIM_PARTY_STATES}, {"party requests", SIM_PARTY_REQUESTS},
		{"party resyncs", SIM_PARTY_RESYNCS}, {"party lives", SIM_PARTY_LIVES},
		{"shares of parties", SIM_PARTY_SHARES}, {"rooms ended", SIM_INSTANCES_ENDED},
		{"intents", SIM_INTENTS}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!test_counter(t, all[i].counter))
			fail_msg("no %s", all[i].what);
}
