/* Proves what a player owns: the lazy join brings it; nothing changes and nothing is told before
 * the database has said OK; what it refuses leaves no trace and makes the shard load again; answers
 * in any order, late, double or of players who left do no harm; loot is picked up once, by its
 * owner first, and lies there again when the database refuses; who leaves waits for what is under
 * way, for a while; and everything else is refused by name and changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/counters.h"
#include "simulation/entity.h"
#include "simulation/loot.h"
#include "simulation/random.h"
#include "simulation/state.h"
#include "simulation/testing.h"

enum { GEL = 1, CLUB = 10, CAP = 20, GONE = 77 };

static char folder[64];

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static uint32_t player_slot(const struct test_shard *t, uint32_t client)
{
	return test_slot_of(map_of(t), client);
}

static uint32_t monster_slot(const struct test_shard *t)
{
	return map_of(t)->player_slots + map_of(t)->npc_slots;
}

static void put(struct test_shard *t, uint32_t slot, int32_t x_mm, int32_t y_mm)
{
	map_of(t)->entities[slot].x_mm = x_mm;
	map_of(t)->entities[slot].y_mm = y_mm;
	sim_entity_touch(map_of(t), slot);
}

/* Client 0 has 5 gel in slot 0, a club in 1, a cap in 2, and something that the game has forgotten
 * in 3; a monster stands beside it. */
static void start(struct test_shard *t)
{
	test_init(t, 100, 10);
	strcpy(t->config.simulation.content, folder);
	t->config.maps[0].monsters = 1;
	test_start(t, 1);
	test_give(t, 0, 0, GEL, 5, 0);
	test_give(t, 0, 1, CLUB, 1, 501);
	test_give(t, 0, 2, CAP, 1, 502);
	test_give(t, 0, 3, GONE, 3, 0);
	test_join(t, 0, true, 50000, 50000);
	test_join(t, 1, true, 51000, 50000);
	test_run(t, 300);
	put(t, monster_slot(t), 50500, 50000);
	test_run(t, 100);
}

static uint32_t monster_id(const struct test_shard *t)
{
	return map_of(t)->entities[monster_slot(t)].wire_id;
}

static void kill_monster(struct test_shard *t, uint32_t client)
{
	for (uint32_t blow = 0; blow < 20 && !t->clients[client].deaths; blow++) {
		put(t, monster_slot(t), 50500, 50000);
		test_attack(t, client, monster_id(t));
		test_run(t, 1050);
	}
	assert_int_equal(t->clients[client].deaths, 1);
	test_run(t, 100);
}

static void the_join_brings_what_one_owns(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	assert_int_equal(c->inventories, 1);
	assert_int_equal(c->stack_item[0], GEL);
	assert_int_equal(c->stack_count[0], 5);
	assert_int_equal(c->stack_item[1], CLUB);
	assert_int_equal(c->stack_count[3], 3);
	assert_int_equal(c->gold, 50);
	assert_int_equal(t.clients[1].inventories, 1);
	assert_int_equal(t.clients[1].stack_count[0], 0);
	test_end(&t);
}

static void a_change_is_told_when_it_is_kept(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	t.hold_commits = true;
	test_move_item(&t, 0, 0, 9, 2);
	test_run(&t, 500);
	assert_int_equal(t.commits, 1);
	assert_int_equal(t.last_commit.commit.reason, COMMIT_REASON_EQUIP);
	assert_int_equal(t.last_commit.commit.ops, 2);
	assert_int_equal(c->inventories, 1); /* nothing told, nothing changed */
	assert_int_equal(sim_bag_at(map_of(&t), player_slot(&t, 0), 0)->count, 5);
	/* its slots are busy, others are not */
	test_move_item(&t, 0, 9, 10, 0);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__BUSY);
	test_move_item(&t, 0, 1, 11, 0);
	test_run(&t, 100);
	assert_int_equal(t.commits, 2);
	/* answered the other way round */
	test_answer_commits(&t, COMMIT_RESULT_OK, true);
	test_run(&t, 100);
	assert_int_equal(c->inventories, 2); /* both in one message */
	assert_int_equal(c->stack_count[0], 3);
	assert_int_equal(c->stack_count[9], 2);
	assert_int_equal(c->stack_item[9], GEL);
	assert_int_equal(c->stack_item[11], CLUB);
	assert_int_equal(c->stack_count[1], 0);
	assert_int_equal(c->refusals, 1);
	/* and back onto the stack */
	t.hold_commits = false;
	test_move_item(&t, 0, 9, 0, 0);
	test_run(&t, 100);
	assert_int_equal(c->stack_count[0], 5);
	assert_int_equal(c->stack_count[9], 0);
	assert_int_equal(test_owns(&t, 0, GEL), 5);
	test_end(&t);
}

static void what_is_worn_counts(void **state)
{
	struct test_shard t;
	struct test_client *c;
	const struct sim_body *body;

	(void)state;
	start(&t);
	c = &t.clients[0];
	body = &map_of(&t)->bodies[player_slot(&t, 0)];
	assert_int_equal(body->attack, 10);
	assert_int_equal(body->range_mm, SIM_FIST_RANGE_MM);
	test_move_item(&t, 0, 1, 100, 0);
	test_move_item(&t, 0, 2, 102, 0);
	test_run(&t, 200);
	assert_int_equal(c->refusals, 0);
	assert_int_equal(c->stack_item[100], CLUB);
	assert_int_equal(body->attack, 13);
	assert_int_equal(body->defence, 1);
	assert_int_equal(body->range_mm, 3000);
	assert_int_equal(body->cooldown_beats, 10);
	test_move_item(&t, 0, 100, 1, 0);
	test_run(&t, 200);
	assert_int_equal(body->attack, 10);
	assert_int_equal(body->range_mm, SIM_FIST_RANGE_MM);
	test_end(&t);
}

static void everything_else_is_refused_by_name(void **state)
{
	static const struct {
		uint32_t type, from, to, count, reason;
	} table[] = {
		{SW_MSG_MOVE_ITEM, 0, 0, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_MOVE_ITEM, 0, 64, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_MOVE_ITEM, 64, 0, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_MOVE_ITEM, 99, 0, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_MOVE_ITEM, 0, 116, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_MOVE_ITEM, UINT32_MAX, 0, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_MOVE_ITEM, 65536, 1, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_MOVE_ITEM, 8, 9, 0, SW__ACTION_REFUSAL__EMPTY_SLOT},
		{SW_MSG_MOVE_ITEM, 100, 9, 0, SW__ACTION_REFUSAL__EMPTY_SLOT},
		{SW_MSG_MOVE_ITEM, 0, 9, 6, SW__ACTION_REFUSAL__NOT_ENOUGH},
		{SW_MSG_MOVE_ITEM, 0, 9, UINT32_MAX, SW__ACTION_REFUSAL__NOT_ENOUGH},
		{SW_MSG_MOVE_ITEM, 0, 100, 0, SW__ACTION_REFUSAL__WRONG_SLOT}, /* gel in hand */
		{SW_MSG_MOVE_ITEM, 1, 102, 0, SW__ACTION_REFUSAL__WRONG_SLOT}, /* club on head */
		{SW_MSG_MOVE_ITEM, 2, 115, 0, SW__ACTION_REFUSAL__WRONG_SLOT},
		{SW_MSG_MOVE_ITEM, 3, 100, 0, SW__ACTION_REFUSAL__WRONG_SLOT}, /* forgotten */
		{SW_MSG_MOVE_ITEM, 0, 1, 2, SW__ACTION_REFUSAL__WRONG_SLOT},   /* part for whole */
		{SW_MSG_DROP_ITEM, 64, 0, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_DROP_ITEM, UINT32_MAX, 0, 0, SW__ACTION_REFUSAL__NO_SUCH_SLOT},
		{SW_MSG_DROP_ITEM, 8, 0, 0, SW__ACTION_REFUSAL__EMPTY_SLOT},
		{SW_MSG_DROP_ITEM, 0, 0, 6, SW__ACTION_REFUSAL__NOT_ENOUGH},
		{SW_MSG_PICK_UP, 0, 0, 0, SW__ACTION_REFUSAL__NO_SUCH_ACTOR},
		{SW_MSG_PICK_UP, 4000000000u, 0, 0, SW__ACTION_REFUSAL__NO_SUCH_ACTOR},
	};
	struct test_shard t;
	struct test_client *c;
	struct test_owned before;
	uint64_t hash;

	(void)state;
	start(&t);
	c = &t.clients[0];
	before = t.owned[0];
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t refusals = c->refusals;
		uint64_t counted = test_counter(
			&t, SIM_REFUSED_NOT_READY + (enum sim_counter)(table[i].reason - 1));

		if (table[i].type == SW_MSG_MOVE_ITEM)
			test_move_item(&t, 0, table[i].from, table[i].to, table[i].count);
		else if (table[i].type == SW_MSG_DROP_ITEM)
			test_drop_item(&t, 0, table[i].from, table[i].count);
		else
			test_pick_up(&t, 0, table[i].from);
		test_run(&t, 60);
		if (c->refusals != refusals + 1 || c->refused_reason != table[i].reason ||
			c->refused_action != table[i].type)
			fail_msg("row %zu: refused %u, %u times", i, c->refused_reason,
				c->refusals - refusals);
		assert_int_equal(test_counter(&t, SIM_REFUSED_NOT_READY +
							  (enum sim_counter)(table[i].reason - 1)),
			counted + 1);
	}
	/* a monster, a player and oneself are no loot */
	test_pick_up(&t, 0, monster_id(&t));
	test_run(&t, 60);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__WRONG_TARGET);
	test_pick_up(&t, 0, t.clients[1].actor_id);
	test_pick_up(&t, 0, c->actor_id);
	test_run(&t, 60);
	assert_int_equal(test_counter(&t, SIM_REFUSED_WRONG_TARGET), 3);
	/* the dead, and who is not loaded yet */
	sim_hurt(map_of(&t), SIM_NONE, player_slot(&t, 0), 1000);
	test_move_item(&t, 0, 0, 9, 0);
	test_drop_item(&t, 0, 0, 0);
	test_pick_up(&t, 0, 1);
	test_run(&t, 60);
	assert_int_equal(test_counter(&t, SIM_REFUSED_DEAD), 3);
	map_of(&t)->bodies[player_slot(&t, 0)].health = 5;
	sim_player(map_of(&t), player_slot(&t, 0))->detail = SIM_DETAIL_ASKED;
	test_move_item(&t, 0, 0, 9, 0);
	test_drop_item(&t, 0, 0, 0);
	test_pick_up(&t, 0, 1);
	test_run(&t, 60);
	assert_int_equal(test_counter(&t, SIM_REFUSED_NOT_READY), 3);
	assert_int_equal(t.commits, 0);
	assert_int_equal(c->inventories, 1);
	assert_memory_equal(&before, &t.owned[0], sizeof(before));
	hash = sim_shard_hash(t.shard);
	assert_true(hash != 0);
	test_end(&t);
}

static void what_the_database_refuses_leaves_no_trace(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	t.hold_commits = true;
	/* away: nothing happened, try again */
	test_move_item(&t, 0, 0, 9, 2);
	test_run(&t, 60);
	test_answer_commits(&t, COMMIT_RESULT_UNAVAILABLE, false);
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NOT_KEPT);
	assert_int_equal(c->refused_action, SW_MSG_MOVE_ITEM);
	assert_int_equal(c->inventories, 1);
	assert_int_equal(t.detail_queries, 2); /* of two players */
	test_move_item(&t, 0, 0, 9, 2);
	test_run(&t, 60);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 60);
	assert_int_equal(c->stack_count[9], 2);
	/* an operator has taken the club: what the shard believes is wrong, so it loads again */
	t.owned[0].slots--;
	t.owned[0].slot[1] = t.owned[0].slot[2];
	t.owned[0].slot[2] = t.owned[0].slot[3];
	t.owned[0].slot[3] = t.owned[0].slot[4];
	t.hold_commits = false;
	test_move_item(&t, 0, 1, 20, 0);
	test_run(&t, 300);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NOT_KEPT);
	assert_int_equal(test_counter(&t, SIM_COMMITS_REFUSED), 1);
	assert_int_equal(t.detail_queries, 3);
	assert_int_equal(c->stack_count[1], 0);
	assert_int_equal(c->stack_count[20], 0);
	assert_int_equal(c->stack_count[9], 2);
	/* and goes on */
	test_move_item(&t, 0, 9, 1, 0);
	test_run(&t, 100);
	assert_int_equal(c->stack_count[1], 2);
	test_end(&t);
}

static void reload(struct test_shard *t, uint32_t client, uint64_t session)
{
	const struct msg_player_reload body = {session};
	struct msg message;

	memcpy(msg_begin(&message, MSG_PLAYER_RELOAD, t->clients[client].peer, sizeof(body)), &body,
		sizeof(body));
	assert_true(msg_ring_push(t->links.from_control, &message));
}

/* Control says so; of a session that is no more it does nothing. */
static void what_an_operator_changed_is_told(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	test_give(&t, 0, 5, GEL, 4, 0);
	t.owned[0].gold = 77;
	reload(&t, 0, c->session + 1);
	test_run(&t, 200);
	assert_int_equal(t.detail_queries, 2); /* of two players, when they came */
	assert_int_equal(c->stack_count[5], 0);
	reload(&t, 0, c->session);
	test_run(&t, 200);
	assert_int_equal(t.detail_queries, 3);
	assert_int_equal(c->stack_count[5], 4);
	assert_int_equal(c->gold, 77);
	assert_int_equal(test_counter(&t, SIM_COMMITS_REFUSED), 0);
	/* its new copy is one that commits */
	test_move_item(&t, 0, 5, 6, 0);
	test_run(&t, 100);
	assert_int_equal(c->stack_count[6], 4);
	test_end(&t);
}

#ifdef SW_DCHECK
/* Whoever asks the world for what a tick would have to wait for ends a check build there. */
static void a_tick_that_would_wait_is_stopped(void **state)
{
	struct test_shard t;
	struct msg message;
	int status;
	pid_t child;

	(void)state;
	start(&t);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct rlimit none = {0, 0};

		setrlimit(RLIMIT_CORE, &none);
		memset(&message, 0, sizeof(message));
		msg_begin(&message, MSG_CHARACTER_LOAD, HANDLE_NONE, 0);
		sim_push(t.shard, t.links.to_world, &message);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
	test_end(&t);
}
#endif

static void gains_are_pending_then_kept(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	t.hold_commits = true;
	kill_monster(&t, 0);
	test_run(&t, 1100);
	assert_int_equal(c->gold, 50);
	assert_int_equal(c->gold_pending, 7);
	assert_int_equal(c->experience_pending, 120);
	assert_int_equal(t.commits, 1);
	assert_int_equal(t.last_commit.commit.reason, COMMIT_REASON_KILL);
	/* no second one while the first is under way, and the same again if the database is away */
	test_run(&t, 3000);
	assert_int_equal(t.commits, 1);
	test_answer_commits(&t, COMMIT_RESULT_EXPIRED, false);
	test_run(&t, 1100);
	assert_int_equal(t.commits, 2);
	assert_int_equal(c->gold_pending, 7);
	/* earned meanwhile: not in this one */
	map_of(&t)->purses[player_slot(&t, 0)].gold_due += 3;
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 100);
	assert_int_equal(c->gold, 57);
	assert_int_equal(c->gold_pending, 3);
	assert_int_equal(c->experience, 120);
	assert_int_equal(c->experience_pending, 0);
	assert_int_equal(c->level, 2);
	assert_int_equal(c->health_max, 90);
	t.hold_commits = false;
	test_answer_commits(&t, COMMIT_RESULT_OK, false); /* may have been asked for by now */
	test_run(&t, 1100);
	assert_int_equal(c->gold, 60);
	assert_int_equal(c->gold_pending, 0);
	assert_int_equal(t.owned[0].gold, 60);
	test_end(&t);
}

static void loot_is_picked_up_once(void **state)
{
	struct test_shard t;
	struct test_client *c, *other;
	uint32_t id;

	(void)state;
	start(&t);
	c = &t.clients[0];
	other = &t.clients[1];
	kill_monster(&t, 0);
	id = c->loot_seen;
	assert_true(id && c->knows[id] && other->knows[id]);
	assert_int_equal(c->seen_item[id], GEL);
	assert_int_equal(test_counter(&t, SIM_LOOT_FELL), 1);
	/* its owner first */
	test_pick_up(&t, 1, id);
	test_run(&t, 60);
	assert_int_equal(other->refused_reason, SW__ACTION_REFUSAL__NOT_YOURS);
	/* out of reach */
	put(&t, player_slot(&t, 0), 54000, 50000);
	test_run(&t, 60);
	test_pick_up(&t, 0, id);
	test_run(&t, 60);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__TOO_FAR);
	put(&t, player_slot(&t, 0), 50000, 50000);
	test_run(&t, 60);
	/* twice: the second finds it being taken, also when it is another's turn already */
	t.hold_commits = true;
	test_pick_up(&t, 0, id);
	test_pick_up(&t, 0, id);
	test_run(&t, 60);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__TAKEN);
	assert_int_equal(c->refusals, 2);
	test_run(&t, 10000);
	test_pick_up(&t, 1, id);
	test_run(&t, 60);
	assert_int_equal(other->refused_reason, SW__ACTION_REFUSAL__TAKEN);
	/* refused by the database: it lies there again, and now anybody may have it */
	test_answer_commits(&t, COMMIT_RESULT_UNAVAILABLE, false);
	test_run(&t, 60);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NOT_KEPT);
	assert_true(c->knows[id]);
	t.hold_commits = false;
	test_pick_up(&t, 1, id);
	test_run(&t, 200);
	assert_false(c->knows[id]);
	assert_false(other->knows[id]);
	assert_int_equal(other->stack_item[0], GEL);
	assert_int_equal(test_owns(&t, 1, GEL), 2);
	assert_int_equal(test_owns(&t, 0, GEL), 5);
	test_pick_up(&t, 0, id);
	test_run(&t, 60);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NO_SUCH_ACTOR);
	test_end(&t);
}

static void loot_stacks_and_the_bag_fills(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	kill_monster(&t, 0);
	test_pick_up(&t, 0, c->loot_seen);
	test_run(&t, 200);
	assert_int_equal(c->stack_count[0], 7);
	/* dropped, it lies at the player's feet, anybody's; with a full bag nobody can take it */
	test_drop_item(&t, 0, 1, 0);
	test_run(&t, 200);
	assert_int_equal(c->stack_count[1], 0);
	assert_int_equal(c->seen_item[c->loot_seen], CLUB);
	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++) {
		struct sim_stack *stack = sim_bag_at(map_of(&t), player_slot(&t, 1), slot);

		*stack = (struct sim_stack){.item = CAP, .count = 1, .serial = 900 + slot};
	}
	test_pick_up(&t, 1, c->loot_seen);
	test_run(&t, 100);
	assert_int_equal(t.clients[1].refused_reason, SW__ACTION_REFUSAL__BAG_FULL);
	/* it keeps its serial on its way */
	test_pick_up(&t, 0, c->loot_seen);
	test_run(&t, 200);
	assert_int_equal(c->stack_item[1], CLUB);
	assert_int_equal(t.last_commit.op[0].serial, 501);
	test_end(&t);
}

static void loot_goes_when_nobody_takes_it(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	test_drop_item(&t, 0, 0, 2);
	test_run(&t, 200);
	assert_true(c->knows[c->loot_seen]);
	test_run(&t, 58000);
	assert_true(c->knows[c->loot_seen]);
	test_run(&t, 4000);
	assert_false(c->knows[c->loot_seen]);
	assert_int_equal(test_counter(&t, SIM_LOOT_EXPIRED), 1);
	assert_int_equal(test_owns(&t, 0, GEL), 3);
	test_end(&t);
}

/* The ground is full of what others have dropped. */
static void a_full_ground_takes_nothing(void **state)
{
	struct test_shard t;
	struct sim_map *m;

	(void)state;
	start(&t);
	m = map_of(&t);
	for (uint32_t i = 0; i < m->loot_slots; i++)
		assert_true(sim_loot_reserve(m, player_slot(&t, 1), GEL, 1, 0) != SIM_NONE);
	test_drop_item(&t, 0, 0, 0);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__GROUND_FULL);
	kill_monster(&t, 0);
	assert_int_equal(test_counter(&t, SIM_LOOT_LOST), 1);
	sim_loot_release(m, 7);
	test_drop_item(&t, 0, 0, 0);
	test_run(&t, 200);
	assert_int_equal(test_counter(&t, SIM_LOOT_FELL), 1);
	test_end(&t);
}

static void who_leaves_waits_for_what_is_under_way(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	t.hold_commits = true;
	test_move_item(&t, 0, 0, 9, 2);
	test_run(&t, 60);
	map_of(&t)->purses[player_slot(&t, 0)].gold_due = 11;
	t.order_count = 0;
	memset(t.order, 0, sizeof(t.order));
	test_gone(&t, 0);
	test_run(&t, 500);
	/* what was earned is asked for, saved, and no word of leaving yet */
	assert_string_equal(t.order, "LC");
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 100);
	assert_string_equal(t.order, "LCl");
	assert_int_equal(t.owned[0].gold, 61);
	/* the next stay finds it */
	test_join(&t, 0, true, 50000, 50000);
	t.hold_commits = false;
	test_run(&t, 300);
	assert_int_equal(t.clients[0].gold, 61);
	assert_int_equal(t.clients[0].stack_count[9], 2);
	test_end(&t);
}

static void a_silent_database_holds_nobody_for_long(void **state)
{
	struct test_shard t;
	struct test_client *c;
	uint32_t id;

	(void)state;
	start(&t);
	c = &t.clients[0];
	kill_monster(&t, 0);
	id = c->loot_seen;
	t.hold_commits = true;
	test_pick_up(&t, 0, id);
	test_run(&t, 60);
	test_gone(&t, 0);
	test_run(&t, 2800);
	assert_int_equal(t.left, 0);
	test_run(&t, 400);
	assert_int_equal(t.left, 1);
	assert_true(test_counter(&t, SIM_COMMITS_GIVEN_UP) >= 1);
	/* somebody else in the same slot; the answer comes late: his things are not touched */
	for (uint32_t i = 2; i < 6; i++)
		test_join(&t, i, true, 50000, 50000);
	t.answer_details = false; /* so that the test answers when it wants */
	test_run(&t, 200);
	test_answer_commits(&t, COMMIT_RESULT_OK, false);
	test_run(&t, 200);
	assert_true(test_counter(&t, SIM_COMMITS_STALE) >= 1);
	assert_false(t.clients[1].knows[id]); /* taken: the database has it */
	for (uint32_t i = 2; i < 6; i++)
		assert_int_equal(sim_bag_at(map_of(&t), player_slot(&t, i), 0)->count, 0);
	test_end(&t);
}

/* The database goes away between a refusal and the details that are asked for again: what was known
 * of the player stays, its looks for those who come into view, too. */
static void a_reload_that_fails_takes_nothing_away(void **state)
{
	struct test_shard t;
	struct sim_player *p;
	struct sim_purse *purse;
	uint32_t level, health_max;

	(void)state;
	start(&t);
	t.owned[2].experience = 1000;
	test_give(&t, 2, 0, GEL, 5, 0);
	test_join(&t, 2, true, 50000, 50000);
	test_run(&t, 300);
	p = sim_player(map_of(&t), player_slot(&t, 2));
	purse = &map_of(&t)->purses[player_slot(&t, 2)];
	p->level = level = 9; /* the test's database has no levels */
	health_max = map_of(&t)->bodies[player_slot(&t, 2)].health_max;
	t.hold_commits = t.refuse_details = true;
	test_move_item(&t, 2, 0, 9, 2);
	test_run(&t, 60);
	test_answer_commits(&t, COMMIT_RESULT_SLOT_TAKEN, false);
	test_run(&t, 500);
	assert_int_not_equal(p->detail, SIM_DETAIL_READY);
	assert_true(test_counter(&t, SIM_DETAIL_RETRIES) > 0);
	assert_int_equal(p->gold, 50);
	assert_int_equal(p->level, level);
	assert_int_equal(p->appearance, 0x102030);
	assert_int_equal(purse->experience, 1000);
	assert_int_equal(sim_bag_at(map_of(&t), player_slot(&t, 2), 0)->count, 5);
	t.refuse_details = false;
	test_run(&t, 2500);
	assert_int_equal(p->detail, SIM_DETAIL_READY);
	assert_int_equal(t.clients[2].gold, 50);
	assert_int_equal(t.clients[2].health_max, health_max);
	test_end(&t);
}

static void odd_answers_do_no_harm(void **state)
{
	static const uint64_t start_delta[] = {0, 0, 1, 0};
	static const uint64_t request_delta[] = {1ull << 32, 1, 0, 0xff000000};
	struct test_shard t;
	struct msg_commit_result odd = {0};
	struct msg message[3];
	uint64_t hash;

	(void)state;
	start(&t);
	t.hold_commits = true;
	test_move_item(&t, 0, 0, 9, 2);
	test_run(&t, 60);
	for (size_t i = 0; i < sizeof(start_delta) / sizeof(start_delta[0]); i++) {
		odd.request[0] = t.last_commit.commit.request[0] ^ start_delta[i];
		odd.request[1] = t.last_commit.commit.request[1] ^ request_delta[i];
		memcpy(msg_begin(message, MSG_COMMIT_RESULT, 0, sizeof(odd)), &odd, sizeof(odd));
		assert_true(msg_ring_push(t.links.from_world, message));
	}
	hash = test_counter(&t, SIM_COMMITS_STALE);
	test_run(&t, 100);
	assert_int_equal(test_counter(&t, SIM_COMMITS_STALE), hash + 4);
	assert_int_equal(t.clients[0].inventories, 1);
	/* twice the right one: the second is nobody's */
	odd.request[0] = t.last_commit.commit.request[0];
	odd.request[1] = t.last_commit.commit.request[1];
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(msg_begin(message, MSG_COMMIT_RESULT, 0, sizeof(odd)), &odd, sizeof(odd));
		assert_true(msg_ring_push(t.links.from_world, message));
	}
	test_run(&t, 100);
	assert_int_equal(test_counter(&t, SIM_COMMITS_STALE), hash + 5);
	assert_int_equal(t.clients[0].stack_count[9], 2);
	assert_int_equal(t.clients[0].stack_count[0], 3);
	test_end(&t);
}

/* A shard asks for a few thousand commits a second for weeks: each has a name of its own, and is
 * answered, as the first ones are. */
static void no_name_of_a_commit_comes_again(void **state)
{
	static const uint64_t before[] = {0, (1ull << 31) - 3, (1ull << 32) - 3, (1ull << 33) - 3};
	struct commit_name {
		uint64_t request[2];
	} names[4 * 6];
	uint32_t count = 0;
	struct test_shard t;

	(void)state;
	start(&t);
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		t.shard->commit_counter = before[i];
		for (uint32_t n = 0; n < 6; n++) {
			uint32_t from = n % 2 ? 9 : 0, commits = t.commits;

			test_move_item(&t, 0, from, 9 - from, 0);
			test_run(&t, 110);
			assert_int_equal(t.commits, commits + 1);
			assert_int_equal(t.clients[0].stack_count[9 - from], 5);
			memcpy(names[count].request, t.last_commit.commit.request,
				sizeof(names[count].request));
			for (uint32_t k = 0; k < count; k++)
				assert_memory_not_equal(&names[k], &names[count], sizeof(names[k]));
			count++;
		}
		assert_int_equal(map_of(&t)->bags[player_slot(&t, 0)].commits, 0);
	}
	assert_int_equal(test_counter(&t, SIM_COMMITS_STALE), 0);
	assert_int_equal(test_counter(&t, SIM_RESULTS_STALE), 0);
	test_end(&t);
}

static void a_full_ring_is_said_and_changes_nothing(void **state)
{
	struct test_shard t;
	struct test_client *c;

	(void)state;
	start(&t);
	c = &t.clients[0];
	test_fill(t.links.to_world);
	test_move_item(&t, 0, 0, 9, 2);
	test_drop_item(&t, 0, 1, 0);
	test_run_holding(&t, 100);
	test_read_dataplane(&t);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__BUSY);
	assert_int_equal(c->refusals, 2);
	assert_int_equal(test_counter(&t, SIM_COMMITS_HELD), 2);
	assert_int_equal(map_of(&t)->commit_free_count, map_of(&t)->commits_max);
	for (uint32_t i = 0; i < map_of(&t)->loot_slots; i++)
		assert_int_equal(map_of(&t)->loot[i].state, SIM_LOOT_FREE);
	test_empty(t.links.to_world);
	test_move_item(&t, 0, 0, 9, 2);
	test_run(&t, 100);
	assert_int_equal(c->stack_count[9], 2);
	test_end(&t);
}

/* Two players throw things about for a while, the database refusing now and then: nothing appears
 * and nothing vanishes, and in the end each is told what the database has. */
static void nothing_appears_and_nothing_vanishes(void **state)
{
	struct test_shard t;
	uint64_t seed = 4242;

	(void)state;
	start(&t);
	t.hold_commits = true;
	for (uint32_t round = 0; round < 3000; round++) {
		uint32_t client = sim_random_below(&seed, 2), from = sim_random_below(&seed, 6);
		struct test_client *c = &t.clients[client];
		int64_t on_ground = 0;

		switch (sim_random_below(&seed, 8)) {
		case 0:
			test_drop_item(&t, client, from, sim_random_below(&seed, 3));
			break;
		case 1:
		case 2:
		case 3:
			test_pick_up(&t, client, t.clients[sim_random_below(&seed, 2)].loot_seen);
			break;
		default:
			test_move_item(&t, client, from,
				sim_random_below(&seed, 8) ? sim_random_below(&seed, 6)
							   : 100 + 2 * (from & 1),
				sim_random_below(&seed, 4));
		}
		test_run(&t, sim_random_below(&seed, 60));
		if (!sim_random_below(&seed, 3))
			test_answer_commits(&t,
				sim_random_below(&seed, 6) ? COMMIT_RESULT_OK
							   : COMMIT_RESULT_UNAVAILABLE,
				sim_random_below(&seed, 2));
		if (round % 100 != 99)
			continue;
		test_run(&t, 100);
		test_answer_commits(&t, COMMIT_RESULT_OK, false);
		test_run(&t, 200);
		for (uint32_t i = 0; i < map_of(&t)->loot_slots; i++)
			if (map_of(&t)->loot[i].state == SIM_LOOT_LIES &&
				map_of(&t)->loot[i].item == GEL)
				on_ground += map_of(&t)->loot[i].count;
		assert_int_equal(test_owns(&t, 0, GEL) + test_owns(&t, 1, GEL) + on_ground, 5);
		for (uint32_t who = 0; who < 2; who++) {
			c = &t.clients[who];
			for (uint32_t i = 0; i < t.owned[who].slots; i++) {
				const struct msg_slot *slot = &t.owned[who].slot[i];

				assert_int_equal(c->stack_item[slot->slot], slot->item);
				assert_int_equal(c->stack_count[slot->slot], slot->count);
			}
		}
		assert_int_equal(map_of(&t)->commit_free_count, map_of(&t)->commits_max);
		/* so that nothing on the ground grows old */
		for (uint32_t i = 0; i < map_of(&t)->loot_slots; i++)
			map_of(&t)->loot[i].expires_beat = map_of(&t)->beat + 1200;
	}
	assert_true(t.commits > 300);
	assert_int_equal(test_counter(&t, SIM_COMMITS_REFUSED), 0);
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_join_brings_what_one_owns),
		cmocka_unit_test(a_change_is_told_when_it_is_kept),
		cmocka_unit_test(what_is_worn_counts),
		cmocka_unit_test(everything_else_is_refused_by_name),
		cmocka_unit_test(what_the_database_refuses_leaves_no_trace),
		cmocka_unit_test(what_an_operator_changed_is_told),
#ifdef SW_DCHECK
		cmocka_unit_test(a_tick_that_would_wait_is_stopped),
#endif
		cmocka_unit_test(gains_are_pending_then_kept),
		cmocka_unit_test(loot_is_picked_up_once),
		cmocka_unit_test(loot_stacks_and_the_bag_fills),
		cmocka_unit_test(loot_goes_when_nobody_takes_it),
		cmocka_unit_test(a_full_ground_takes_nothing),
		cmocka_unit_test(who_leaves_waits_for_what_is_under_way),
		cmocka_unit_test(a_silent_database_holds_nobody_for_long),
		cmocka_unit_test(a_reload_that_fails_takes_nothing_away),
		cmocka_unit_test(odd_answers_do_no_harm),
		cmocka_unit_test(no_name_of_a_commit_comes_again),
		cmocka_unit_test(a_full_ring_is_said_and_changes_nothing),
		cmocka_unit_test(nothing_appears_and_nothing_vanishes),
	};
	static const char *const names[] = {
		"items.yaml", "monsters.yaml", "loot.yaml", "levels.yaml"};
	int failed;

	strcpy(folder, "/tmp/sw_belongings_XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	test_write(folder, "items.yaml",
		"items:\n- {number: 1, name: gel, stack_max: 9}\n"
		"- {number: 10, name: club, slot: weapon, attack: 3, range_mm: "
		"3000, cooldown_ms: 500}\n"
		"- {number: 20, name: cap, slot: head, defence: 1}\n");
	test_write(folder, "loot.yaml",
		"loot:\n- {table: g, item: gel, chance_permille: 1000, count_min: "
		"2, count_max: 2}\n");
	test_write(folder, "monsters.yaml",
		"monsters:\n- {name: wanderer, health: 30, speed_mm_per_s: 1, "
		"experience: 120, gold_min: 7,\n"
		"   gold_max: 7, loot: g}\n");
	test_write(folder, "levels.yaml",
		"levels:\n- {level: 1, experience: 0, health: 80, attack: 10}\n"
		"- {level: 2, experience: 100, health: 90, attack: 10}\n");
	failed = cmocka_run_group_tests_name("belongings", tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
