/* Proves that what happens on a map reaches its script: blows (those of one tick as one), fights,
 * deaths, quests, who comes and goes, timers; that handlers wait and are ended with the stay; that
 * what a fight gives, and what is queued, becomes a commit after the tick, once for a key, again
 * when the database is away, and is refused by name where it is too much; that shouts reach those
 * who see, and announcements all; and that a match is what the script says. */
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
#include "simulation/counters.h"
#include "simulation/entity.h"
#include "simulation/game/quests.h"
#include "simulation/instance.h"
#include "simulation/intent.h"
#include "simulation/script/script.h"
#include "simulation/state.h"
#include "simulation/testing.h"

enum { GEL = 1 };

static char folder[64];

static const struct {
	const char *name, *text;
} files[] = {
	{"items.yaml", "items:\n- {number: 1, name: gel, stack_max: 9}\n"
		       "- {number: 2, name: club, slot: weapon, attack: 3, range_mm: 3000, "
		       "cooldown_ms: 1000}\n"},
	{"monsters.yaml", "monsters:\n- {name: wanderer, health: 100, attack: 1, range_mm: 1500,\n"
			  "   cooldown_ms: 60000, leash_mm: 60000, speed_mm_per_s: 100}\n"},
	{"levels.yaml", "levels:\n- {level: 1, experience: 0, health: 80, attack: 10}\n"},
	{"quests.yaml", "quests:\n- {number: 1, name: errand, title: Errand, gold: 5,\n"
			"   steps: [{number: 1, text: Talk., talk: Mara}]}\n"},
	{"cards.yaml", "cards:\n- {number: 4, name: blade, attack: 6}\n"
		       "- {number: 9, name: feet, speed_permille: 200}\n"},
	{"town.lua",
		"monster { kind = 'wanderer',\n"
		"  on_hurt = function(m, p, n) m:shout('ouch ' .. n)\n"
		"    if m.health < 60 then m:strike(p, 11) end end,\n"
		"  on_fight = function(m, p) m:shout('for ' .. p.name) end,\n"
		"  on_death = function(m, p) p:add_gold(7) p:add_experience(30)\n"
		"    m:drop('gel', 2, p) map.announce(p.name .. ' won') end }\n"
		"quest { name = 'errand',\n"
		"  on_begin = function(p) map.announce('begun') wait(2) map.announce('waited')\n"
		"    p:give_item('gel', 3) map.announce(tostring(commit())) end,\n"
		"  on_complete = function(p) map.announce('complete') end }\n"
		"map_events { on_enter = function(p) start_timer('bell', 0.5, p.name) end,\n"
		"  on_leave = function(name) map.announce(name .. ' left') end }\n"
		"timer { name = 'bell', on_time = function(name) map.announce('hello ' .. name) "
		"end }\n"
		"npc { name = 'Mara', x = 50, y = 51, on_click = function(npc, p)\n"
		"  if p:quest('errand') == 'open' then p:complete_quest('errand') else\n"
		"  p:begin_quest('errand') end\n"
		"  npc:shout(#players_near(npc, 20) .. ' near') end }\n"
		"npc { name = 'Bank', x = 51, y = 51, storage = { version = 1, fields = { n = 0 } "
		"},\n"
		"  on_click = function(npc, p)\n"
		"  local s = npc.storage s.n = s.n + 1\n"
		"  local ok, why = queue_intent('pay ' .. p.name, p, { gold = 10 })\n"
		"  npc:say(p, s.n .. ' ' .. tostring(ok) .. ' ' .. tostring(why)) end }\n"
		"npc { name = 'Flood', x = 52, y = 51, on_click = function(npc, p)\n"
		"  local why, ok, n = nil, true, 0\n"
		"  while ok do n = n + 1 ok, why = queue_intent('f' .. n, p, { experience = 1 }) "
		"end\n"
		"  npc:say(p, n .. ' ' .. why) end }\n"},
	{"duel.lua",
		"local fighting = false\n"
		"rule { on_open = function() log('open') end,\n"
		"  on_join = function(p, returning) if #match.players() == 2 then\n"
		"      match.lock(true) match.fight(true) fighting = true\n"
		"      for _, each in ipairs(match.players()) do\n"
		"        assert(match.offer(each, { 'blade', 'feet' }, 2)) end end end,\n"
		"  on_pick = function(p, n) match.boost(p, n == 1 and 'blade' or 'feet') end,\n"
		"  on_leave = function(p) if fighting then match.result(p, 2) end end,\n"
		"  on_tick = function() local all = match.players()\n"
		"    if fighting and #all == 1 then match.result(all[1], 1) match.finish() end end "
		"}\n"},
	{"norule.lua", "npc { name = 'a', x = 5, y = 5 }\n"},
};

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static void open_shard(struct test_shard *t)
{
	test_init(t, 100, 10);
	strcpy(t->config.simulation.content, folder);
	strcpy(t->config.maps[0].script, "town.lua");
	t->config.maps[0].monsters = 1;
	t->config.simulation.script_tick_us = 50000;
	assert_int_equal(script_watchdog_start(&t->links.watchdog, SCRIPT_WATCHDOG_PERIOD_US), 0);
}

static void join(struct test_shard *t, uint32_t client, int32_t x_mm)
{
	test_join(t, client, true, x_mm, 50000);
	test_run(t, 300);
}

static void start(struct test_shard *t)
{
	open_shard(t);
	test_start(t, 1);
	t->owned[0] = (struct test_owned){0};
	join(t, 0, 50000);
	test_run(t, 500);
	assert_string_equal(t->clients[0].dialogue, "hello Ann");
}

static void end(struct test_shard *t)
{
	struct script_watchdog *watchdog = t->links.watchdog;

	test_end(t);
	script_watchdog_stop(watchdog);
}

static uint32_t npc(const struct test_shard *t, uint32_t i)
{
	return map_of(t)->entities[map_of(t)->player_slots + i].wire_id;
}
enum { MARA, BANK, FLOOD };

static void click(struct test_shard *t, uint32_t who)
{
	t->clients[0].dialogue[0] = '\0';
	test_click(t, 0, npc(t, who));
	test_run(t, 150);
}

/* The one monster, next to client 0. */
static uint32_t monster(struct test_shard *t)
{
	struct sim_map *m = map_of(t);
	uint32_t slot = m->player_slots + m->npc_slots;

	m->entities[slot].x_mm = 51000;
	m->entities[slot].y_mm = 50000;
	sim_entity_touch(m, slot);
	test_run(t, 200);
	return slot;
}

static void fights(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	uint32_t slot, player, before;

	(void)state;
	start(&t);
	m = map_of(&t);
	slot = monster(&t);
	player = test_slot_of(m, 0);
	/* Two blows in one tick are one call. */
	sim_hurt(m, player, slot, 10);
	sim_hurt(m, player, slot, 5);
	test_run(&t, 60);
	assert_string_equal(t.clients[0].dialogue, "ouch 15");
	test_run(&t, 1100);
	assert_string_equal(t.clients[0].dialogue, "for Ann");
	before = m->bodies[player].health; /* the monster strikes once a minute by itself */
	sim_hurt(m, player, slot, 30);
	test_run(&t, 60);
	assert_string_equal(t.clients[0].dialogue, "ouch 30");
	assert_int_equal(m->bodies[player].health, before - 11);
	/* Its death: gold and experience together, after the tick; what it drops lies there. */
	t.hold_commits = true;
	sim_hurt(m, player, slot, 99);
	test_run(&t, 120);
	assert_string_equal(t.clients[0].dialogue, "Ann won");
	assert_int_equal(t.held_count, 1);
	assert_int_equal(t.held[0].commit.ops, 2);
	assert_int_equal(t.held[0].commit.reason, COMMIT_REASON_SCRIPT);
	assert_true(t.clients[0].loot_seen != 0);
	assert_int_equal(t.clients[0].seen_item[t.clients[0].loot_seen], GEL);
	/* Nothing is lost while the database is away. */
	test_answer_commits(&t, COMMIT_RESULT_UNAVAILABLE, false);
	test_run(&t, 1200);
	assert_int_equal(t.held_count, 1);
	assert_int_equal(t.owned[0].gold, 0);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 1200);
	assert_int_equal(t.owned[0].gold, 7);
	assert_int_equal(t.owned[0].experience, 30);
	assert_int_equal(t.held_count, 0);
	assert_int_equal(test_counter(&t, SIM_INTENTS_LOST), 0);
	end(&t);
}

static void quests(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	click(&t, MARA); /* keeps, then the handler begins, and waits */
	test_run(&t, 100);
	assert_string_equal(t.clients[0].dialogue, "begun");
	test_run(&t, 4200);
	assert_string_equal(t.clients[0].dialogue, "true");
	assert_int_equal(test_owns(&t, 0, GEL), 3);
	click(&t, MARA);
	test_run(&t, 200);
	assert_string_equal(t.clients[0].dialogue, "complete");
	assert_int_equal(t.owned[0].gold, 5);
	end(&t);
}

/* What waits ends with the stay, and with another click. */
static void waiting_ends(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	click(&t, MARA);
	test_run(&t, 100);
	click(&t, BANK);
	test_run(&t, 4200);
	assert_int_equal(test_owns(&t, 0, GEL), 0);
	end(&t);
	start(&t);
	click(&t, MARA);
	test_run(&t, 100);
	test_gone(&t, 0);
	test_run(&t, 4200);
	assert_int_equal(test_owns(&t, 0, GEL), 0);
	end(&t);
}

static void who_comes_and_goes(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	join(&t, 1, 52000);
	test_run(&t, 500);
	assert_string_equal(t.clients[0].dialogue, "hello Ann");
	assert_string_equal(t.clients[1].dialogue, "hello Ann");
	join(&t, 2, 99000); /* too far to see */
	test_run(&t, 500);
	assert_string_equal(t.clients[2].dialogue, "hello Ann");
	click(&t, MARA);
	test_run(&t, 50);
	test_gone(&t, 1);
	test_run(&t, 300);
	assert_string_equal(t.clients[2].dialogue, "Ann left");
	end(&t);
}

static void intents(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	t.hold_commits = true;
	click(&t, BANK);
	assert_string_equal(t.clients[0].dialogue, "1 true nil");
	assert_int_equal(t.held_count, 1);
	click(&t, BANK); /* under way */
	assert_string_equal(t.clients[0].dialogue, "2 false repeated");
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 100);
	click(&t, BANK); /* and just done */
	assert_string_equal(t.clients[0].dialogue, "3 false repeated");
	assert_int_equal(t.owned[0].gold, 10);
	test_run(&t, SIM_INTENT_KEPT_S * 1000);
	t.hold_commits = false;
	click(&t, BANK);
	assert_string_equal(t.clients[0].dialogue, "4 true nil");
	test_run(&t, 200);
	assert_int_equal(t.owned[0].gold, 20);
	/* By rate: two seconds' worth at once, and not one is lost. */
	click(&t, FLOOD);
	assert_string_equal(t.clients[0].dialogue, "129 too_fast");
	t.clients[0].dialogue[0] = '\0';
	for (int i = 0; i < 60 && t.owned[0].experience < 128; i++)
		test_run(&t, 1000);
	assert_int_equal(t.owned[0].experience, 128);
	assert_int_equal(test_counter(&t, SIM_INTENTS_LOST), 0);
	/* And by number. */
	test_run(&t, SIM_INTENT_KEPT_S * 1000);
	for (uint32_t i = 0; i <= SIM_INTENTS_MAX; i++) {
		const struct script_change change = {.kind = SCRIPT_ADD_EXPERIENCE, .amount = 1};

		map_of(&t)->intents->tokens = 20;
		assert_int_equal(
			sim_intend(map_of(&t), "", test_slot_of(map_of(&t), 0), &change, 1),
			i < SIM_INTENTS_MAX ? SCRIPT_INTENT_OK : SCRIPT_INTENT_FULL);
	}
	for (int i = 0; i < 90 && t.owned[0].experience < 128 + SIM_INTENTS_MAX; i++)
		test_run(&t, 1000);
	assert_int_equal(t.owned[0].experience, 128 + SIM_INTENTS_MAX);
	/* Who leaves before it could be asked for loses it, counted. */
	test_run(&t, SIM_INTENT_KEPT_S * 1000);
	test_fill(t.links.to_world);
	test_click(&t, 0, npc(&t, BANK));
	test_run_holding(&t, 150);
	assert_int_equal(map_of(&t)->intents->waiting, 1);
	test_empty(t.links.to_world);
	test_gone(&t, 0);
	test_run(&t, 1500);
	assert_int_equal(map_of(&t)->intents->waiting, 0);
	assert_int_equal(t.owned[0].gold, 20);
	end(&t);
}

#define ROOM instance_id(1, 1)

static struct sim_instances *open_room(
	struct test_shard *t, const char *script, char *error, size_t error_bytes)
{
	struct sim_instances *table;

	open_shard(t);
	t->config.map_count = 2;
	t->config.maps[0].instances_max = 1;
	t->config.maps[1] = (struct config_map){.name = "duel",
		.kind = CONFIG_MAP_ROOM,
		.rule = "script",
		.match_s = 20,
		.empty_s = 5,
		.start_players = 2,
		.instances_max = 1,
		.width_m = 64,
		.height_m = 64,
		.tick_hz = 20,
		.view_m = 40,
		.players_max = 4};
	strcpy(t->config.maps[1].script, script);
	table = sim_instances_new(&t->config, t->links.watchdog, 1, error, error_bytes);
	if (table && !sim_instances_check(table, error, error_bytes))
		return table;
	sim_instances_free(table);
	return NULL;
}

static void come(struct test_shard *t, uint32_t client, int32_t x_mm)
{
	const struct msg_player_join as = {.map = "duel",
		.instance = ROOM,
		.has_position = 1,
		.x_mm = x_mm,
		.y_mm = 32000,
		.return_map = "meadow"};

	test_join_as(t, client, &as);
	test_run(t, 400);
}

static void start_duel(struct test_shard *t, struct sim_instances **table)
{
	char error[512] = "";

	*table = open_room(t, "duel.lua", error, sizeof(error));
	if (!*table)
		fail_msg("%s", error);
	t->links.instances = *table;
	test_start(t, 1);
	test_open_instance(t, ROOM);
	test_run(t, 100);
	come(t, 0, 32000);
	come(t, 1, 33000);
}

static void end_duel(struct test_shard *t, struct sim_instances *table)
{
	struct script_watchdog *watchdog = t->links.watchdog;

	test_end(t);
	sim_instances_free(table);
	script_watchdog_stop(watchdog);
}

static void a_match_by_script(void **state)
{
	struct sim_instances *table;
	struct test_shard t;
	struct sim_map *m;

	(void)state;
	start_duel(&t, &table);
	m = t.shard->by_number[1];
	assert_int_equal(t.clients[0].match_phase, SW__MATCH_PHASE__FIGHT);
	assert_int_equal(t.instance.state, INSTANCE_LOCKED);
	assert_int_equal(t.clients[0].card_count, 2);
	/* One chooses, the other is given the first when the time is up. */
	test_pick(&t, 0, t.clients[0].offer, 5);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__NO_SUCH_CARD);
	test_pick(&t, 0, t.clients[0].offer, 9);
	test_run(&t, 150);
	assert_int_equal(t.clients[0].card_taken, 9);
	assert_int_equal(t.clients[0].speed_mm_per_s, SIM_WALK_MM_PER_S * 12 / 10);
	test_pick(&t, 0, t.clients[0].offer, 9);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__NO_OFFER);
	test_run(&t, 2000);
	assert_int_equal(t.clients[1].card_taken, 4);
	assert_int_equal(m->bodies[test_slot_of(m, 1)].attack, 16);
	/* They may strike each other; the dead stay dead; the last one has won. */
	test_attack(&t, 0, t.clients[1].actor_id);
	test_run(&t, 100);
	assert_true(m->bodies[test_slot_of(m, 1)].health < 80);
	t.result_answer = COMMIT_RESULT_OK;
	sim_hurt(m, SIM_NONE, test_slot_of(m, 1), 200);
	test_run(&t, 200);
	assert_int_equal(t.places[0], 1);
	test_run(&t, 3000);
	assert_int_equal(t.instance.state, INSTANCE_ENDED);
	assert_int_equal(t.transfers, 2);
	assert_int_equal(t.place_count, 1);
	end_duel(&t, table);
}

static void who_leaves_has_a_place(void **state)
{
	struct sim_instances *table;
	struct test_shard t;

	(void)state;
	start_duel(&t, &table);
	t.result_answer = COMMIT_RESULT_OK;
	test_gone(&t, 0);
	test_run(&t, 1000);
	assert_int_equal(t.place_count, 2);
	assert_int_equal(t.places[0] + t.places[1], 3);
	end_duel(&t, table);
}

static void a_room_without_a_rule_is_refused(void **state)
{
	struct script_watchdog *watchdog;
	struct test_shard t;
	char error[512] = "";

	(void)state;
	assert_null(open_room(&t, "norule.lua", error, sizeof(error)));
	watchdog = t.links.watchdog;
	assert_string_equal(error, "map duel: its rule is script, and its script has no rule { "
				   "on_tick = ... }");
	script_watchdog_stop(watchdog);
	free(t.clients);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fights),
		cmocka_unit_test(quests),
		cmocka_unit_test(waiting_ends),
		cmocka_unit_test(who_comes_and_goes),
		cmocka_unit_test(intents),
		cmocka_unit_test(a_match_by_script),
		cmocka_unit_test(who_leaves_has_a_place),
		cmocka_unit_test(a_room_without_a_rule_is_refused),
	};
	int failed;

	strcpy(folder, "/tmp/sw-sim-happening-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		test_write(folder, files[i].name, files[i].text);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
