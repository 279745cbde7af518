/* Proves the quests of a shard: what is done for one is pending until the database has it, and kept
 * together with the gold and experience of the same kill or not at all; a reward is given once,
 * whatever is clicked how often, whoever leaves, comes back or is taken over meanwhile; all durable
 * calls of a click's handler happen or none; what cannot be done is refused by name and changes
 * nothing; what the database has of quests that this server does not know stays as it is; and a
 * quest that comes again does so in its time. */
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
#include "simulation/counters.h"
#include "simulation/dialogue.h"
#include "simulation/entity.h"
#include "simulation/hash.h"
#include "simulation/instance.h"
#include "simulation/quest.h"
#include "simulation/state.h"
#include "simulation/testing.h"

enum { GEL = 1, PELT = 2, LETTER = 3, CAP = 20 };
enum { LETTERS = 1, WOLVES = 2, ROUND = 3, LATER = 4, DAILY = 5 }; /* quests */
enum { OLD_STEP = 9 };

#define STEP(step, count) sim_quest_state(step, count)

static char folder[64];

static const char quests_yaml[] =
	"quests:\n"
	"- {number: 1, name: letters, title: A letter, gives: letter, gold: 15, experience: 20,\n"
	"   steps: [{number: 1, text: Bring it., talk: Mara, bring: letter}]}\n"
	"- {number: 2, name: wolves, title: Wolves, gold: 60, experience: 80,\n"
	"   rewards: [{item: cap}],\n"
	"   steps: [{number: 5, text: Kill 3., kill: wanderer, count: 3},\n"
	"     {number: 2, text: Have 2., have: pelt, count: 2},\n"
	"     {number: 3, text: Bring 2., talk: Mara, bring: pelt, count: 2}]}\n"
	"- {number: 3, name: round, title: The round, level: 1, after: [{quest: letters}],\n"
	"   steps: [{number: 1, text: Go., reach: meadow, x_m: 80, y_m: 80, radius_m: 6},\n"
	"     {number: 2, text: Tell Tom., talk: Tom}, {number: 3, text: Tell Mara., talk: "
	"Mara}]}\n"
	"- {number: 4, name: later, title: Later, level: 9,\n"
	"   steps: [{number: 1, text: Talk., talk: Mara}]}\n"
	"- {number: 5, name: daily, title: Daily, gold: 7, again_s: 60,\n"
	"   steps: [{number: 1, text: Talk., talk: Mara}]}\n";

static const char script[] =
	"local function tell(npc, player, ok, why) npc:say(player, tostring(ok) .. ' ' .. "
	"tostring(why)) end\n"
	/* Tom begins what one chooses. */
	"npc { name = 'Tom', x = 52, y = 50, on_click = function(npc, player)\n"
	"  local names = { 'letters', 'wolves', 'round', 'later', 'daily' }\n"
	"  local n = npc:ask(player, 'Which?', names)\n"
	"  if not n then npc:say(player, 'none') return end\n"
	"  local quest = names[n]\n"
	"  local phase = player:quest(quest)\n"
	"  if phase == 'open' then player:advance_quest(quest) else player:begin_quest(quest) end\n"
	"  tell(npc, player, commit()) end }\n"
	/* Mara takes back what is ready, and pays. */
	"npc { name = 'Mara', x = 48, y = 50, on_click = function(npc, player)\n"
	"  for _, quest in ipairs { 'letters', 'wolves', 'round', 'later', 'daily' } do\n"
	"    if player:quest(quest) == 'open' then\n"
	"      player:complete_quest(quest) tell(npc, player, commit()) return end end\n"
	"  npc:say(player, 'nothing') end }\n"
	/* The shop waits for nothing. */
	"npc { name = 'Shop', x = 50, y = 52, on_click = function(npc, player)\n"
	"  player:add_gold(-30) player:give_item('gel', 4) end }\n"
	"npc { name = 'Thief', x = 50, y = 48, on_click = function(npc, player)\n"
	"  player:take_item('gel', 1) player:take_item('pelt', 99) player:add_gold(1000)\n"
	"  tell(npc, player, commit()) end }\n"
	"npc { name = 'Greedy', x = 51, y = 48, on_click = function(npc, player)\n"
	"  player:give_item('cap', 17) tell(npc, player, commit()) end }\n"
	"npc { name = 'Faulty', x = 51, y = 52, on_click = function(npc, player)\n"
	"  player:add_gold(1000) error('now') end }\n";

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static struct sim_quest_now *now_of(const struct test_shard *t, uint32_t client, uint32_t number)
{
	return sim_quest_now(
		map_of(t), test_slot_of(map_of(t), client), sim_quest_of(map_of(t)->game, number));
}

static void put(struct test_shard *t, uint32_t slot, int32_t x_mm, int32_t y_mm)
{
	map_of(t)->entities[slot].x_mm = x_mm;
	map_of(t)->entities[slot].y_mm = y_mm;
	sim_entity_touch(map_of(t), slot);
}

static void join(struct test_shard *t, uint32_t client)
{
	test_join(t, client, true, 50000, 50000);
	test_run(t, 400);
}

static void open_shard(struct test_shard *t)
{
	test_init(t, 100, 10);
	strcpy(t->config.simulation.content, folder);
	strcpy(t->config.maps[0].script, "quest.lua");
	t->config.maps[0].monsters = 1;
	assert_int_equal(script_watchdog_start(&t->links.watchdog, SCRIPT_WATCHDOG_PERIOD_US), 0);
	test_start(t, 1);
}

static void start(struct test_shard *t)
{
	open_shard(t);
	t->owned[0].gold = 50;
	join(t, 0);
}

static void end(struct test_shard *t)
{
	struct script_watchdog *watchdog = t->links.watchdog;

	test_end(t);
	script_watchdog_stop(watchdog);
}

/* The actor id of an NPC, in the order of the script. */
static uint32_t npc(const struct test_shard *t, uint32_t i)
{
	return map_of(t)->entities[map_of(t)->player_slots + i].wire_id;
}
enum { TOM, MARA, SHOP, THIEF, GREEDY, FAULTY };

static void click(struct test_shard *t, uint32_t who)
{
	t->clients[0].dialogue[0] = '\0';
	test_click(t, 0, npc(t, who));
	test_run(t, 150);
}

static void choose(struct test_shard *t, uint32_t quest)
{
	click(t, TOM);
	assert_string_equal(t->clients[0].dialogue, "Which?");
	test_answer(t, 0, quest);
	test_run(t, 200);
}

static void kill_one(struct test_shard *t)
{
	uint32_t slot = map_of(t)->player_slots + map_of(t)->npc_slots;
	uint32_t before = t->clients[0].deaths;

	for (uint32_t blow = 0; blow < 200 && t->clients[0].deaths == before; blow++) {
		if (map_of(t)->entities[slot].cell != SIM_NONE && map_of(t)->bodies[slot].health) {
			put(t, slot, 50500, 50000);
			test_run(t, 50);
			map_of(t)->bodies[test_slot_of(map_of(t), 0)].ready_beat = map_of(t)->beat;
			map_of(t)->bodies[slot].health = 1;
			test_attack(t, 0, map_of(t)->entities[slot].wire_id);
		} else {
			map_of(t)->bodies[slot].back_beat = map_of(t)->beat;
		}
		test_run(t, 250);
	}
	assert_int_equal(t->clients[0].deaths, before + 1);
}

/* ---- */

static void the_letter(void **state)
{
	struct test_shard t;
	struct test_client *c = NULL;
	uint32_t commits;

	(void)state;
	start(&t);
	c = &t.clients[0];
	assert_int_equal(c->quest_logs, 1);
	t.hold_commits = true;
	choose(&t, LETTERS);
	/* asked, and not told before it is kept */
	assert_int_equal(t.commits, 1);
	assert_int_equal(t.last_commit.commit.reason, COMMIT_REASON_QUEST);
	assert_int_equal(t.last_commit.commit.ops, 2);
	assert_int_equal(c->quest_phase[LETTERS], SW__QUEST_PHASE__QUEST_NONE);
	assert_int_equal(now_of(&t, 0, LETTERS)->state, 0);
	/* clicks meanwhile get nothing twice */
	for (uint32_t i = 0; i < 5; i++)
		click(&t, i % 2 ? TOM : MARA);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__BUSY);
	assert_int_equal(t.commits, 1);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 200);
	assert_string_equal(c->dialogue, "true nil");
	assert_int_equal(c->quest_phase[LETTERS], SW__QUEST_PHASE__QUEST_OPEN);
	assert_int_equal(test_owns(&t, 0, LETTER), 1);
	assert_int_equal(t.owned[0].quest[LETTERS], STEP(1, 0));
	/* and it is delivered: letter, gold, experience and quest in one */
	click(&t, MARA);
	assert_int_equal(t.last_commit.commit.ops, 4);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 200);
	assert_int_equal(t.owned[0].quest[LETTERS], SIM_QUEST_DONE);
	assert_int_equal(test_owns(&t, 0, LETTER), 0);
	assert_int_equal(t.owned[0].gold, 65);
	assert_int_equal(t.owned[0].experience, 20);
	assert_int_equal(c->quest_phase[LETTERS], SW__QUEST_PHASE__QUEST_DONE);
	assert_int_equal(c->gold, 65);
	/* once: neither completed nor begun again */
	t.hold_commits = false;
	click(&t, MARA);
	assert_string_equal(c->dialogue, "nothing");
	commits = t.commits;
	choose(&t, LETTERS);
	assert_string_equal(c->dialogue, "false quest_state");
	assert_int_equal(t.commits, commits); /* the database is not even asked */
	assert_int_equal(t.owned[0].gold, 65);
	assert_int_equal(test_counter(&t, SIM_QUESTS_BEGUN), 1);
	assert_int_equal(test_counter(&t, SIM_QUESTS_DONE), 1);
	end(&t);
}

static void kills_are_kept_with_their_gold(void **state)
{
	struct test_shard t;
	struct test_client *c;
	uint32_t gold = 0, commits;

	(void)state;
	start(&t);
	c = &t.clients[0];
	choose(&t, WOLVES);
	assert_int_equal(c->quest_step[WOLVES], 5);
	assert_int_equal(c->quest_need[WOLVES], 3);
	kill_one(&t);
	test_run(&t, 1200);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(5, 1));
	assert_int_equal(c->quest_count[WOLVES], 1);
	assert_int_equal(c->quest_pending[WOLVES], 0);
	/* the commit of a kill has all three */
	assert_int_equal(t.last_commit.commit.reason, COMMIT_REASON_KILL);
	assert_int_equal(t.last_commit.op[0].kind, COMMIT_QUEST);
	assert_int_equal(t.last_commit.op[1].kind, COMMIT_GOLD);
	assert_int_equal(t.last_commit.op[2].kind, COMMIT_EXPERIENCE);
	gold = (uint32_t)t.owned[0].gold;
	/* pending until it is kept, asked again where the database is away, and not lost by that */
	t.hold_commits = true;
	kill_one(&t);
	test_run(&t, 1200);
	assert_int_equal(c->quest_count[WOLVES], 1);
	assert_int_equal(c->quest_pending[WOLVES], 1);
	assert_true(now_of(&t, 0, WOLVES)->busy);
	commits = t.commits;
	test_answer_commits(&t, COMMIT_RESULT_UNAVAILABLE, false);
	test_run(&t, 1200);
	assert_int_equal(t.commits, commits + 1);
	/* a kill while that is under way is of the next commit */
	kill_one(&t);
	test_run(&t, 1200);
	assert_int_equal(t.commits, commits + 1);
	assert_int_equal(c->quest_pending[WOLVES], 2);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 1200);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(5, 2));
	assert_int_equal(t.commits, commits + 2);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 1200);
	/* the third one ends the step; the next by its number, in the order of the file */
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(2, 0));
	assert_int_equal(c->quest_step[WOLVES], 2);
	assert_true(t.owned[0].gold > gold);
	assert_int_equal(map_of(&t)->purses[test_slot_of(map_of(&t), 0)].gold_due, 0);
	assert_int_equal(c->gold, t.owned[0].gold);
	/* a kill that no step wants counts for nothing */
	t.hold_commits = false;
	kill_one(&t);
	test_run(&t, 1200);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(2, 0));
	end(&t);
}

/* Of four who hunt the same, two are in the killer's party and near, one of them dead at the second
 * kill; the third member is too far, and the fourth is no member. */
static void a_kill_counts_for_the_party(void **state)
{
	static const int32_t x_mm[] = {50000, 52000, 95000, 50000};
	const struct test_party party = {.party = 9,
		.version = 100,
		.members = {0, 1, 2},
		.member_count = 3,
		.targets = {0, 1, 2},
		.target_count = 3};
	struct test_shard t;
	uint32_t second;

	(void)state;
	open_shard(&t);
	for (uint32_t c = 0; c < 4; c++) {
		t.owned[c].quest[WOLVES] = STEP(5, 0);
		test_join(&t, c, true, x_mm[c], 50000);
	}
	test_run(&t, 400);
	test_party_say(&t, &party);
	test_run(&t, 100);
	t.hold_commits = true;
	kill_one(&t);
	test_run(&t, 1200);
	for (uint32_t c = 0; c < 4; c++) /* pending, each in a commit of its own */
		assert_int_equal(t.clients[c].quest_pending[WOLVES], c < 2);
	assert_int_equal(t.held_count, 2);
	t.hold_commits = false;
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 200);
	for (uint32_t c = 0; c < 4; c++)
		assert_int_equal(t.owned[c].quest[WOLVES], STEP(5, c < 2));
	second = test_slot_of(map_of(&t), 1);
	map_of(&t)->bodies[second].health = 0;
	map_of(&t)->bodies[second].back_beat = map_of(&t)->beat + 100000;
	kill_one(&t);
	test_run(&t, 1200);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(5, 2));
	assert_int_equal(t.owned[1].quest[WOLVES], STEP(5, 1));
	end(&t);
}

/* Runs until so many milliseconds have passed since the quest was done. */
static void run_to(struct test_shard *t, uint32_t quest, uint32_t ms)
{
	uint64_t at_ns = t->owned[0].quest_ns[quest] + ms * 1000000ull;

	assert_true(t->now_ns < at_ns);
	test_run(t, (uint32_t)((at_ns - t->now_ns) / 1000000));
}

/* Begun, done, and again: not before its time, wherever the player has been meanwhile, and each
 * time the reward comes once. */
static void a_quest_comes_again(void **state)
{
	struct test_shard t;
	struct test_client *c;
	uint32_t commits;
	uint64_t done_ns;

	(void)state;
	start(&t);
	c = &t.clients[0];
	choose(&t, DAILY);
	assert_string_equal(c->dialogue, "true nil");
	test_run(&t, 5000); /* what counts is when it is done */
	click(&t, MARA);
	assert_string_equal(c->dialogue, "true nil");
	assert_int_equal(t.owned[0].quest[DAILY], SIM_QUEST_DONE);
	assert_int_equal(t.owned[0].gold, 57);
	assert_int_equal(c->quest_phase[DAILY], SW__QUEST_PHASE__QUEST_DONE);
	assert_int_equal(c->quest_again_s[DAILY], 60);
	done_ns = t.owned[0].quest_ns[DAILY];
	commits = t.commits;
	choose(&t, DAILY);
	assert_string_equal(c->dialogue, "false quest_wait");
	click(&t, MARA);
	assert_string_equal(c->dialogue, "nothing");
	/* who comes back has waited meanwhile */
	run_to(&t, DAILY, 20000);
	test_gone(&t, 0);
	test_run(&t, 10000);
	join(&t, 0);
	assert_int_equal(c->quest_phase[DAILY], SW__QUEST_PHASE__QUEST_DONE);
	assert_in_range(c->quest_again_s[DAILY], 28, 31);
	run_to(&t, DAILY, 59500);
	choose(&t, DAILY);
	assert_string_equal(c->dialogue, "false quest_wait");
	assert_int_equal(t.commits, commits); /* the database is not even asked */
	assert_int_equal(test_counter(&t, SIM_QUESTS_BEGUN), 1);
	/* its time has come */
	run_to(&t, DAILY, 61100);
	choose(&t, DAILY);
	assert_string_equal(c->dialogue, "true nil");
	assert_int_equal(t.owned[0].quest[DAILY], STEP(1, 0));
	assert_int_equal(c->quest_phase[DAILY], SW__QUEST_PHASE__QUEST_OPEN);
	assert_int_equal(t.owned[0].quest_ns[DAILY], done_ns);
	click(&t, MARA);
	assert_string_equal(c->dialogue, "true nil");
	assert_int_equal(t.owned[0].gold, 64);
	assert_true(t.owned[0].quest_ns[DAILY] > done_ns);
	assert_int_equal(test_counter(&t, SIM_QUESTS_BEGUN), 2);
	assert_int_equal(test_counter(&t, SIM_QUESTS_DONE), 2);
	assert_int_equal(test_counter(&t, SIM_QUESTS_ABANDONED), 0);
	/* for who comes after that time it is as if it had never been */
	test_gone(&t, 0);
	test_run(&t, 61000);
	join(&t, 0);
	assert_int_equal(c->quest_phase[DAILY], SW__QUEST_PHASE__QUEST_NONE);
	choose(&t, DAILY);
	assert_string_equal(c->dialogue, "true nil");
	/* given up it is so */
	test_abandon(&t, 0, DAILY);
	test_run(&t, 200);
	assert_int_equal(t.owned[0].quest[DAILY], 0);
	assert_int_equal(t.owned[0].gold, 64);
	end(&t);
}

static void things_are_seen_and_brought(void **state)
{
	struct test_shard t;
	struct test_client *c;
	int64_t gold;

	(void)state;
	open_shard(&t);
	t.owned[0].gold = 50;
	t.owned[0].quest[WOLVES] = STEP(2, 0);
	test_give(&t, 0, 3, PELT, 1, 0);
	test_give(&t, 0, 4, PELT, 2, 0);
	join(&t, 0);
	c = &t.clients[0];
	assert_int_equal(c->quest_step[WOLVES], 2);
	test_run(&t, 1500);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(3, 0));
	assert_int_equal(c->quest_step[WOLVES], 3);
	/* not with one alone: nothing of it happens */
	test_drop_item(&t, 0, 4, 2);
	test_run(&t, 200);
	gold = t.owned[0].gold;
	click(&t, MARA);
	assert_string_equal(c->dialogue, "false not_enough");
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(3, 0));
	assert_int_equal(t.owned[0].gold, gold);
	assert_int_equal(test_owns(&t, 0, PELT), 1);
	test_pick_up(&t, 0, c->loot_seen);
	test_run(&t, 200);
	assert_int_equal(test_owns(&t, 0, PELT), 3);
	click(&t, MARA);
	assert_string_equal(c->dialogue, "true nil");
	assert_int_equal(t.owned[0].quest[WOLVES], SIM_QUEST_DONE);
	assert_int_equal(test_owns(&t, 0, PELT), 1);
	assert_int_equal(test_owns(&t, 0, CAP), 1);
	assert_int_equal(t.owned[0].gold, gold + 60);
	assert_int_equal(t.owned[0].experience, 80);
	end(&t);
}

/* The thing comes while the quest is busy: being given up, which then does not happen. */
static void what_came_meanwhile_is_seen(void **state)
{
	struct test_shard t;
	uint32_t player;

	(void)state;
	open_shard(&t);
	t.owned[0].quest[WOLVES] = STEP(2, 0);
	join(&t, 0);
	test_run(&t, 1200);
	player = test_slot_of(map_of(&t), 0);
	t.hold_commits = true;
	test_abandon(&t, 0, WOLVES);
	test_run(&t, 60);
	assert_int_equal(t.held_count, 1);
	test_give(&t, 0, 4, PELT, 2, 0);
	*sim_bag_at(map_of(&t), player, 4) = (struct sim_stack){.item = PELT, .count = 2};
	sim_quests_look(map_of(&t), player);
	test_run(&t, 2200);
	assert_int_equal(now_of(&t, 0, WOLVES)->due, 0);
	t.hold_commits = false;
	test_answer_commits(&t, COMMIT_RESULT_UNAVAILABLE, false);
	test_run(&t, 2500);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(3, 0));
	end(&t);
}

static void places_are_reached(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	open_shard(&t);
	t.owned[0].quest[LETTERS] = SIM_QUEST_DONE;
	join(&t, 0);
	c = &t.clients[0];
	choose(&t, ROUND);
	assert_string_equal(c->dialogue, "true nil");
	put(&t, test_slot_of(map_of(&t), 0), 80000, 86001);
	test_run(&t, 2200);
	assert_int_equal(t.owned[0].quest[ROUND], STEP(1, 0));
	put(&t, test_slot_of(map_of(&t), 0), 80000, 85999);
	test_run(&t, 2200);
	assert_int_equal(t.owned[0].quest[ROUND], STEP(2, 0));
	/* Mara's turn is not yet; Tom's step is not the last */
	put(&t, test_slot_of(map_of(&t), 0), 50000, 50000);
	test_run(&t, 200);
	click(&t, MARA);
	assert_string_equal(c->dialogue, "false quest_state");
	choose(&t, ROUND);
	assert_string_equal(c->dialogue, "true nil");
	assert_int_equal(t.owned[0].quest[ROUND], STEP(3, 0));
	choose(&t, ROUND);
	assert_string_equal(c->dialogue, "false quest_state");
	click(&t, MARA);
	assert_int_equal(t.owned[0].quest[ROUND], SIM_QUEST_DONE);
	end(&t);
}

static void what_may_not_be_is_refused(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	test_give(&t, 0, 7, GEL, 2, 0);
	choose(&t, ROUND);
	assert_string_equal(c->dialogue, "false quest_before");
	choose(&t, LATER);
	assert_string_equal(c->dialogue, "false quest_before");
	/* all or nothing: gel would be there, pelts are not */
	click(&t, THIEF);
	assert_string_equal(c->dialogue, "false not_enough");
	/* 17 caps are 17 slots: more than one commit holds */
	click(&t, GREEDY);
	assert_string_equal(c->dialogue, "false too_many");
	/* what a handler that fails has asked for does not happen */
	click(&t, FAULTY);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__SCRIPT_FAILED);
	assert_int_equal(t.commits, 0);
	/* gold that is spent is not there */
	t.hold_commits = true;
	click(&t, SHOP);
	assert_int_equal(map_of(&t)->bags[test_slot_of(map_of(&t), 0)].gold_bound, 30);
	t.hold_commits = false;
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 200);
	assert_int_equal(map_of(&t)->bags[test_slot_of(map_of(&t), 0)].gold_bound, 0);
	assert_int_equal(t.owned[0].gold, 20);
	assert_int_equal(test_owns(&t, 0, GEL), 6);
	assert_int_equal(t.last_commit.commit.reason, COMMIT_REASON_SHOP);
	click(&t, SHOP);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NOT_KEPT);
	assert_int_equal(t.owned[0].gold, 20);
	assert_int_equal(t.commits, 1);
	/* answers: to a question that nobody asks, and beyond its choices */
	click(&t, TOM);
	test_answer(&t, 0, 6);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NO_QUESTION);
	test_answer(&t, 0, 0);
	test_run(&t, 100);
	assert_string_equal(c->dialogue, "none");
	c->refused_reason = 0;
	test_answer(&t, 0, 1);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NO_QUESTION);
	assert_int_equal(t.commits, 1);
	end(&t);
}

static void who_goes_away_gets_nothing(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	/* asked, walks off, answers */
	click(&t, TOM);
	put(&t, test_slot_of(map_of(&t), 0), 70000, 50000);
	test_answer(&t, 0, LETTERS);
	test_run(&t, 200);
	assert_string_equal(c->dialogue, "false too_far");
	/* dead */
	put(&t, test_slot_of(map_of(&t), 0), 50000, 50000);
	test_run(&t, 200);
	click(&t, TOM);
	map_of(&t)->bodies[test_slot_of(map_of(&t), 0)].health = 0;
	map_of(&t)->bodies[test_slot_of(map_of(&t), 0)].back_beat = map_of(&t)->beat + 100000;
	test_answer(&t, 0, LETTERS);
	test_run(&t, 100);
	assert_string_equal(c->dialogue, "false too_far");
	map_of(&t)->bodies[test_slot_of(map_of(&t), 0)].health = 50;
	/* says nothing for a minute */
	click(&t, TOM);
	test_run(&t, SIM_QUESTION_S * 1000 + 2000);
	assert_string_equal(c->dialogue, "none");
	/* another click ends the question */
	click(&t, TOM);
	click(&t, MARA);
	test_answer(&t, 0, LETTERS);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NO_QUESTION);
	assert_int_equal(t.commits, 0);
	/* leaves while asked, and while a commit is under way: that is done, once */
	click(&t, TOM);
	test_gone(&t, 0);
	test_run(&t, 300);
	join(&t, 0);
	assert_int_equal(sim_player(map_of(&t), test_slot_of(map_of(&t), 0))->job, 0);
	t.hold_commits = true;
	choose(&t, LETTERS);
	assert_int_equal(t.commits, 1);
	test_gone(&t, 0);
	test_run(&t, 100);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 300);
	join(&t, 0);
	assert_int_equal(c->quest_phase[LETTERS], SW__QUEST_PHASE__QUEST_OPEN);
	assert_int_equal(test_owns(&t, 0, LETTER), 1);
	assert_int_equal(t.commits, 1);
	end(&t);
}

static void before_the_details(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	open_shard(&t);
	t.answer_details = false;
	join(&t, 0);
	c = &t.clients[0];
	test_click(&t, 0, npc(&t, TOM));
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NOT_READY);
	c->refused_reason = 0;
	test_abandon(&t, 0, LETTERS);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NOT_READY);
	assert_int_equal(c->quest_logs, 0);
	assert_int_equal(t.commits, 0);
	end(&t);
}

static void giving_up(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	test_abandon(&t, 0, LETTERS);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__QUEST_NOT_OPEN);
	test_abandon(&t, 0, 77);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__QUEST_UNKNOWN);
	/* the letter goes back */
	choose(&t, LETTERS);
	assert_int_equal(test_owns(&t, 0, LETTER), 1);
	test_abandon(&t, 0, LETTERS);
	test_run(&t, 200);
	assert_int_equal(test_owns(&t, 0, LETTER), 0);
	assert_int_equal(t.owned[0].quest[LETTERS], 0);
	assert_int_equal(c->quest_phase[LETTERS], SW__QUEST_PHASE__QUEST_NONE);
	/* not while it is being completed: it is done, and not given up */
	choose(&t, LETTERS);
	t.hold_commits = true;
	click(&t, MARA);
	test_abandon(&t, 0, LETTERS);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__BUSY);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 100);
	assert_int_equal(t.owned[0].quest[LETTERS], SIM_QUEST_DONE);
	c->refused_reason = 0;
	test_abandon(&t, 0, LETTERS);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__QUEST_NOT_OPEN);
	end(&t);
}

static void where_the_database_stands_elsewhere(void **state)
{
	struct test_shard t;
	struct test_client *c;
	uint32_t queries;
	int64_t gold;

	(void)state;
	start(&t);
	c = &t.clients[0];
	/* completed by another hand: what is here is read again, and no reward comes of it */
	choose(&t, LETTERS);
	t.owned[0].quest[LETTERS] = SIM_QUEST_DONE;
	queries = t.detail_queries;
	click(&t, MARA);
	assert_string_equal(c->dialogue, "false quest_state");
	test_run(&t, 500);
	assert_int_equal(t.detail_queries, queries + 1);
	assert_int_equal(now_of(&t, 0, LETTERS)->state, SIM_QUEST_DONE);
	assert_int_equal(c->quest_phase[LETTERS], SW__QUEST_PHASE__QUEST_DONE);
	assert_int_equal(t.owned[0].gold, 50);
	assert_int_equal(test_owns(&t, 0, LETTER), 1);
	/* kills: the quest was moved, so they count for nothing; their gold is kept all the same */
	choose(&t, WOLVES);
	t.owned[0].quest[WOLVES] = STEP(2, 0);
	gold = t.owned[0].gold;
	kill_one(&t);
	test_run(&t, 4000);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(2, 0));
	assert_int_equal(c->quest_step[WOLVES], 2);
	assert_int_equal(now_of(&t, 0, WOLVES)->due, 0);
	assert_true(t.owned[0].gold > gold);
	assert_int_equal(c->gold, t.owned[0].gold);
	/* the same step, another count: they count on from there */
	t.owned[0].quest[WOLVES] = 0;
	test_abandon(&t, 0, WOLVES);
	test_run(&t, 600);
	choose(&t, WOLVES);
	t.owned[0].quest[WOLVES] = STEP(5, 1);
	kill_one(&t);
	test_run(&t, 4000);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(5, 2));
	assert_int_equal(c->quest_count[WOLVES], 2);
	end(&t);
}

static void what_is_not_known_stays(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	open_shard(&t);
	t.owned[0].quest[8] = STEP(4, 4);                  /* no such quest in the file */
	t.owned[0].quest[LETTERS] = STEP(1, 0) | 1u << 14; /* a newer layout */
	t.owned[0].quest[WOLVES] = STEP(OLD_STEP, 7);      /* a step that the file has no more */
	test_give(&t, 0, 3, PELT, 2, 0);
	join(&t, 0);
	c = &t.clients[0];
	kill_one(&t);
	test_run(&t, 1500);
	assert_int_equal(c->quest_phase[LETTERS], SW__QUEST_PHASE__QUEST_NONE);
	assert_int_equal(c->quest_phase[WOLVES], SW__QUEST_PHASE__QUEST_OPEN);
	assert_int_equal(c->quest_step[WOLVES], OLD_STEP);
	click(&t, MARA);
	assert_string_equal(c->dialogue, "false quest_state");
	choose(&t, LETTERS);
	assert_string_equal(c->dialogue, "false quest_state");
	test_abandon(&t, 0, LETTERS);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__QUEST_UNKNOWN);
	assert_int_equal(t.owned[0].quest[8], STEP(4, 4));
	assert_int_equal(t.owned[0].quest[LETTERS], STEP(1, 0) | 1u << 14);
	assert_int_equal(t.owned[0].quest[WOLVES], STEP(OLD_STEP, 7));
	/* of a known quest it can be given up */
	test_abandon(&t, 0, WOLVES);
	test_run(&t, 200);
	assert_int_equal(t.owned[0].quest[WOLVES], 0);
	end(&t);
}

/* The database answers anything, in any order, while the player clicks, leaves and comes back. */
static void a_reward_comes_once(void **state)
{
	static const enum commit_result answers[] = {COMMIT_RESULT_OK, COMMIT_RESULT_UNAVAILABLE,
		COMMIT_RESULT_OK, COMMIT_RESULT_STALE, COMMIT_RESULT_EXPIRED};
	struct test_shard t;

	(void)state;
	for (uint32_t seed = 1; seed <= 12; seed++) {
		uint64_t random = seed;
		int64_t rewards = 0;

		open_shard(&t);
		t.owned[0].gold = 50;
		t.hold_commits = true;
		join(&t, 0);
		for (uint32_t round = 0; round < 120; round++) {
			bool here = t.clients[0].here;

			random = random * 6364136223846793005u + 1442695040888963407u;
			switch (here ? random >> 60 : 15) {
			case 0:
				test_gone(&t, 0);
				break;
			case 1:
			case 2:
			case 3:
				test_click(&t, 0, npc(&t, TOM));
				break;
			case 4:
			case 5:
			case 6:
				test_answer(&t, 0, LETTERS);
				break;
			case 7:
			case 8:
			case 9:
			case 10:
				test_click(&t, 0, npc(&t, MARA));
				break;
			case 11:
				test_abandon(&t, 0, LETTERS);
				break;
			case 12:
			case 13:
			case 14:
				test_answer_commits(
					&t, answers[(random >> 40) % 5], random >> 39 & 1);
				break;
			default:
				if (!here)
					test_join(&t, 0, true, 50000, 50000);
			}
			test_run(&t, 60 + (uint32_t)(random >> 50) % 100);
		}
		test_answer_commits(&t, COMMIT_RESULT_OK, false);
		test_run(&t, 300);
		rewards = t.owned[0].gold - 50;
		/* the letter is with the player while the quest is open, and the gold after it */
		if (rewards != (t.owned[0].quest[LETTERS] == SIM_QUEST_DONE ? 15 : 0) ||
			t.owned[0].experience != (rewards ? 20 : 0) ||
			test_owns(&t, 0, LETTER) != sim_quest_is_open(t.owned[0].quest[LETTERS]))
			fail_msg("seed %u: quest %u, gold %lld, experience %lld, letters %lld",
				seed, t.owned[0].quest[LETTERS], (long long)t.owned[0].gold,
				(long long)t.owned[0].experience,
				(long long)test_owns(&t, 0, LETTER));
		end(&t);
	}
}

static void a_place_is_on_its_map(void **state)
{
	struct test_shard t;
	struct sw_config *config = malloc(sizeof(*config));
	char error[512] = "";

	(void)state;
	start(&t);
	assert_non_null(config);
	*config = t.config;
	config->maps[0].width_m = 80; /* 80 is just outside */
	assert_null(sim_instances_new(config, t.links.watchdog, 1, error, sizeof(error)));
	if (!strstr(error, "quests.yaml:10: 80, 80 m is not on the map meadow"))
		fail_msg("says: %s", error);
	free(config);
	end(&t);
}

/* What decides is in the hash: each of these makes another one. */
static void the_hash_sees_it(void **state)
{
	struct test_shard t;
	struct sim_quest_now *now;
	struct sim_player *p;
	uint64_t hash;

	(void)state;
	start(&t);
	choose(&t, WOLVES);
	now = now_of(&t, 0, WOLVES);
	p = sim_player(map_of(&t), test_slot_of(map_of(&t), 0));
#define CHANGES(field, value)                                                                      \
	hash = sim_shard_hash(t.shard);                                                            \
	field = value;                                                                             \
	assert_true(sim_shard_hash(t.shard) != hash)
	CHANGES(now->state, STEP(5, 2));
	CHANGES(now->due, 1);
	CHANGES(now->due_step, 5);
	CHANGES(now->busy, true);
	CHANGES(now->again_beat, 5);
	CHANGES(p->question, 77);
	CHANGES(p->job, 78);
	CHANGES(p->keeping, true);
	CHANGES(map_of(&t)->bags[test_slot_of(map_of(&t), 0)].gold_bound, 5);
	p->job = 0;
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_letter),
		cmocka_unit_test(a_quest_comes_again),
		cmocka_unit_test(kills_are_kept_with_their_gold),
		cmocka_unit_test(a_kill_counts_for_the_party),
		cmocka_unit_test(things_are_seen_and_brought),
		cmocka_unit_test(what_came_meanwhile_is_seen),
		cmocka_unit_test(places_are_reached),
		cmocka_unit_test(what_may_not_be_is_refused),
		cmocka_unit_test(who_goes_away_gets_nothing),
		cmocka_unit_test(before_the_details),
		cmocka_unit_test(giving_up),
		cmocka_unit_test(where_the_database_stands_elsewhere),
		cmocka_unit_test(what_is_not_known_stays),
		cmocka_unit_test(a_reward_comes_once),
		cmocka_unit_test(a_place_is_on_its_map),
		cmocka_unit_test(the_hash_sees_it),
	};
	static const char *const names[] = {
		"items.yaml", "monsters.yaml", "quests.yaml", "quest.lua"};
	int failed;

	strcpy(folder, "/tmp/sw_quest_XXXXXX");
	if (!mkdtemp(folder))
		return 2;
	test_write(folder, "items.yaml",
		"items:\n- {number: 1, name: gel, stack_max: 9}\n"
		"- {number: 2, name: pelt, stack_max: 9}\n- {number: 3, name: letter}\n"
		"- {number: 20, name: cap, slot: head, defence: 1}\n");
	test_write(folder, "monsters.yaml",
		"monsters:\n- {name: wanderer, health: 30, experience: 5, gold_min: 3, gold_max: "
		"3}\n");
	test_write(folder, "quests.yaml", quests_yaml);
	test_write(folder, "quest.lua", script);
	failed = cmocka_run_group_tests_name("quest", tests, NULL, NULL);
	for (size_t i = 0; i < 4; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
