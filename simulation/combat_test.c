/* Proves the rules of fighting on a running shard: who may strike whom, when and how far; what a
 * blow takes; who is told; death and coming back, of monsters and of players; that monsters see,
 * chase, strike and go home; and that everything else is refused by name and changes nothing. */
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
#include "simulation/state.h"
#include "simulation/testing.h"

/* 40 x 30 tiles of one metre; a wall along x = 20 from y = 10 to the north edge. */
#define COLUMNS 40
#define ROWS    30

static char folder[64];

static void write_map(void)
{
	static char text[32768];
	FILE *file = fmemopen(text, sizeof(text), "w");

	fprintf(file,
		"{\"type\":\"map\",\"orientation\":\"orthogonal\",\"infinite\":false,\"width\":%d,"
		"\"height\":%d,\"tilewidth\":16,\"tileheight\":16,\"tilesets\":[{\"firstgid\":1,"
		"\"name\":\"t\",\"tilecount\":1,\"tilewidth\":16,\"tileheight\":16,\"tiles\":[{"
		"\"id\":0,"
		"\"properties\":[{\"name\":\"solid\",\"type\":\"bool\",\"value\":true}]}]}],"
		"\"layers\":[{\"type\":\"tilelayer\",\"name\":\"walls\",\"width\":%d,\"height\":%d,"
		"\"data\":[",
		COLUMNS, ROWS, COLUMNS, ROWS);
	for (int row = 0; row < ROWS; row++) /* from the north */
		for (int column = 0; column < COLUMNS; column++)
			fprintf(file, "%s%d", row || column ? "," : "",
				column == 20 && row < ROWS - 10);
	fprintf(file, "]},{\"type\":\"objectgroup\",\"name\":\"places\",\"objects\":["
		      "{\"type\":\"spawn\",\"x\":32,\"y\":432,\"width\":16,\"height\":16},"
		      "{\"type\":\"safe_zone\",\"x\":0,\"y\":400,\"width\":80,\"height\":80},"
		      "{\"type\":\"monster\",\"x\":480,\"y\":240,\"properties\":["
		      "{\"name\":\"kind\",\"type\":\"string\",\"value\":\"wolf\"},"
		      "{\"name\":\"respawn_s\",\"type\":\"int\",\"value\":2}]},"
		      "{\"type\":\"monster\",\"x\":160,\"y\":160,\"properties\":["
		      "{\"name\":\"kind\",\"type\":\"string\",\"value\":\"stump\"},"
		      "{\"name\":\"respawn_s\",\"type\":\"int\",\"value\":2}]}]}]}");
	fclose(file);
	test_write(folder, "field.tmj", text);
}

enum { WOLF, STUMP }; /* monsters of the map, in the order of the file */

static struct sim_map *map_of(const struct test_shard *t)
{
	return t->shard->maps[0];
}

static uint32_t monster_slot(const struct test_shard *t, uint32_t i)
{
	return map_of(t)->player_slots + map_of(t)->npc_slots + i;
}

static uint32_t monster_id(const struct test_shard *t, uint32_t i)
{
	return map_of(t)->entities[monster_slot(t, i)].wire_id;
}

static uint32_t player_slot(const struct test_shard *t, uint32_t client)
{
	return test_slot_of(map_of(t), client);
}

static struct sim_body *body(const struct test_shard *t, uint32_t slot)
{
	return &map_of(t)->bodies[slot];
}

/* Puts an entity where the test wants it; the shard finds out as if it had walked. */
static void put(struct test_shard *t, uint32_t slot, int32_t x_mm, int32_t y_mm)
{
	map_of(t)->entities[slot].x_mm = x_mm;
	map_of(t)->entities[slot].y_mm = y_mm;
	sim_entity_touch(map_of(t), slot);
}

static void start(struct test_shard *t)
{
	test_init(t, 0, 10);
	t->config.maps[0].width_m = t->config.maps[0].height_m = 0;
	strcpy(t->config.simulation.content, folder);
	strcpy(t->config.maps[0].file, "field.tmj");
	test_start(t, 1);
}

/* The wolf far away and standing, so that it does not matter. */
static void no_wolf(struct test_shard *t)
{
	map_of(t)->monsters[WOLF].mood = SIM_DEAD;
	body(t, monster_slot(t, WOLF))->back_beat = UINT32_MAX / 2;
}

static uint64_t state_of(const struct test_shard *t, uint32_t slot)
{
	const struct sim_body *b = body(t, slot);

	return (uint64_t)b->health << 32 | b->ready_beat;
}

static void a_blow_takes_what_the_rule_says(void **state)
{
	struct test_shard t;
	struct test_client *c, *other;
	uint32_t before, damage;

	(void)state;
	start(&t);
	no_wolf(&t);
	test_join(&t, 0, true, 9000, 20000);
	test_join(&t, 1, true, 9000, 12000); /* sees it from afar */
	test_run(&t, 300);
	c = &t.clients[0];
	other = &t.clients[1];
	assert_int_equal(c->health, 80);
	assert_int_equal(c->health_max, 80);
	put(&t, monster_slot(&t, STUMP), 10000, 20000);
	test_run(&t, 100);
	assert_int_equal(c->seen_health[monster_id(&t, STUMP)], 60);
	test_attack(&t, 0, monster_id(&t, STUMP));
	test_run(&t, 100);
	assert_int_equal(c->blows, 1);
	assert_int_equal(c->blow_attacker, c->actor_id);
	assert_int_equal(c->blow_target, monster_id(&t, STUMP));
	assert_true(c->blow_damage >= 8 && c->blow_damage <= 12);
	assert_int_equal(c->blow_health, 60 - c->blow_damage);
	assert_int_equal(body(&t, monster_slot(&t, STUMP))->health, c->blow_health);
	assert_int_equal(other->blows, 1);
	assert_int_equal(other->blow_health, c->blow_health);
	/* again only after a second, and each time by the seeded roll */
	before = c->blow_health;
	test_run(&t, 1000);
	test_attack(&t, 0, monster_id(&t, STUMP));
	test_run(&t, 100);
	damage = before - c->blow_health;
	assert_true(c->blows == 2 && damage >= 8 && damage <= 12);
	assert_int_equal(c->refusals, 0);
	assert_int_equal(test_counter(&t, SIM_BLOWS), 2);
	/* a stump has no attack and does not strike back */
	assert_int_equal(c->health, 80);
	test_end(&t);
}

/* Sets the scene for one refusal; actor is what is attacked. */
typedef void scene_fn(struct test_shard *t, uint32_t me, uint32_t *actor);

static void scene_nobody(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)t;
	(void)me;
	*actor = 0;
}
static void scene_unknown(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)t;
	(void)me;
	*actor = 4000000000u;
}
static void scene_oneself(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	*actor = map_of(t)->entities[me].wire_id;
}
static void scene_player(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)me;
	*actor = t->clients[1].actor_id;
}
static void scene_too_far(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)actor;
	put(t, me, map_of(t)->entities[monster_slot(t, STUMP)].x_mm - 2001,
		map_of(t)->entities[monster_slot(t, STUMP)].y_mm);
}
static void scene_wall(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)actor;
	put(t, me, 19600, 20000);
	put(t, monster_slot(t, STUMP), 21400, 20000);
}
static void scene_cooling(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)actor;
	body(t, me)->ready_beat = map_of(t)->beat + 5;
}
static void scene_dead_target(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)me;
	(void)actor;
	body(t, monster_slot(t, STUMP))->health = 0;
}
static void scene_dead_self(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)actor;
	body(t, me)->health = 0;
	body(t, me)->back_beat = map_of(t)->beat + 1000;
}
static void scene_own_corpse(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	scene_dead_self(t, me, actor);
	scene_oneself(t, me, actor);
}
static void scene_safe_self(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)actor;
	put(t, me, 4500, 4500);
	put(t, monster_slot(t, STUMP), 5500, 4500);
}
static void scene_safe_target(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)actor;
	put(t, me, 5500, 4500);
	put(t, monster_slot(t, STUMP), 4500, 4500);
}
static void scene_loading(struct test_shard *t, uint32_t me, uint32_t *actor)
{
	(void)actor;
	sim_player(map_of(t), me)->detail = SIM_DETAIL_ASKED;
}

static void everything_else_is_refused_by_name(void **state)
{
	static const struct {
		scene_fn *scene;
		uint32_t reason, counter;
	} table[] = {
		{scene_nobody, SW__ACTION_REFUSAL__NO_SUCH_ACTOR, SIM_REFUSED_NO_SUCH_ACTOR},
		{scene_unknown, SW__ACTION_REFUSAL__NO_SUCH_ACTOR, SIM_REFUSED_NO_SUCH_ACTOR},
		{scene_oneself, SW__ACTION_REFUSAL__WRONG_TARGET, SIM_REFUSED_WRONG_TARGET},
		{scene_player, SW__ACTION_REFUSAL__WRONG_TARGET, SIM_REFUSED_WRONG_TARGET},
		{scene_too_far, SW__ACTION_REFUSAL__TOO_FAR, SIM_REFUSED_TOO_FAR},
		{scene_wall, SW__ACTION_REFUSAL__NO_SIGHT, SIM_REFUSED_NO_SIGHT},
		{scene_cooling, SW__ACTION_REFUSAL__COOLING_DOWN, SIM_REFUSED_COOLING_DOWN},
		{scene_dead_target, SW__ACTION_REFUSAL__TARGET_DEAD, SIM_REFUSED_TARGET_DEAD},
		{scene_dead_self, SW__ACTION_REFUSAL__DEAD, SIM_REFUSED_DEAD},
		{scene_own_corpse, SW__ACTION_REFUSAL__DEAD, SIM_REFUSED_DEAD},
		{scene_safe_self, SW__ACTION_REFUSAL__SAFE_ZONE, SIM_REFUSED_SAFE_ZONE},
		{scene_safe_target, SW__ACTION_REFUSAL__SAFE_ZONE, SIM_REFUSED_SAFE_ZONE},
		{scene_loading, SW__ACTION_REFUSAL__NOT_READY, SIM_REFUSED_NOT_READY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct test_shard t;
		struct test_client *c;
		uint64_t mine, its, others;
		uint32_t me, actor;

		start(&t);
		no_wolf(&t);
		test_join(&t, 0, true, 9000, 20000);
		test_join(&t, 1, true, 9500, 20000);
		test_run(&t, 300);
		me = player_slot(&t, 0);
		c = &t.clients[0];
		put(&t, monster_slot(&t, STUMP), 10500, 20000);
		map_of(&t)->monsters[STUMP].until_beat = map_of(&t)->beat + 1000;
		map_of(&t)->monsters[STUMP].dx = map_of(&t)->monsters[STUMP].dy = 0;
		actor = monster_id(&t, STUMP);
		test_run(&t, 100);
		table[i].scene(&t, me, &actor);
		mine = state_of(&t, me);
		its = state_of(&t, monster_slot(&t, STUMP));
		others = state_of(&t, player_slot(&t, 1));
		test_attack(&t, 0, actor);
		test_run(&t, 100);
		if (c->refused_reason != table[i].reason || c->refusals != 1 ||
			c->refused_action != SW_MSG_ATTACK)
			fail_msg(
				"row %zu: refused %u, %u times", i, c->refused_reason, c->refusals);
		assert_int_equal(test_counter(&t, table[i].counter), 1);
		assert_int_equal(test_counter(&t, SIM_BLOWS), 0);
		assert_true(state_of(&t, me) == mine);
		assert_true(state_of(&t, monster_slot(&t, STUMP)) == its);
		assert_true(state_of(&t, player_slot(&t, 1)) == others);
		test_end(&t);
	}
}

static void attack_until_dead(struct test_shard *t, uint32_t client, uint32_t actor)
{
	for (uint32_t blow = 0; blow < 20 && t->clients[client].deaths == 0; blow++) {
		test_attack(t, client, actor);
		test_run(t, 1050);
	}
	assert_int_equal(t->clients[client].deaths, 1);
}

static void monsters_die_pay_and_come_back(void **state)
{
	struct test_shard t;
	struct test_client *c;
	uint32_t id;

	(void)state;
	start(&t);
	t.hold_commits = true; /* what is earned stays pending */
	no_wolf(&t);
	test_join(&t, 0, true, 9000, 20000);
	test_join(&t, 1, true, 9000, 21000);
	test_run(&t, 300);
	c = &t.clients[0];
	id = monster_id(&t, STUMP);
	/* the other one hurts it last, and gets nothing: who hurt it first owns it */
	test_attack(&t, 0, id);
	test_run(&t, 1050);
	assert_int_equal(c->blows, 1);
	attack_until_dead(&t, 1, id);
	assert_int_equal(test_counter(&t, SIM_MONSTERS_KILLED), 1);
	assert_false(c->knows[id]);
	assert_false(t.clients[1].knows[id]);
	assert_int_equal(c->gold_pending, 7);
	assert_int_equal(c->experience_pending, 5);
	assert_int_equal(c->gold, 50); /* a balance is told when it is kept, not before */
	assert_int_equal(t.clients[1].gold_pending, 0);
	/* two seconds, and one more for its turn */
	test_run(&t, 3100);
	assert_int_equal(test_counter(&t, SIM_MONSTERS_BACK), 1);
	assert_true(monster_id(&t, STUMP) != id);
	assert_true(c->knows[monster_id(&t, STUMP)]);
	assert_int_equal(c->seen_health[monster_id(&t, STUMP)], 60);
	assert_int_equal(c->gaps + c->wrong, 0);
	test_attack(&t, 0, id); /* the old one is gone for good */
	test_run(&t, 100);
	assert_int_equal(c->refused_reason, SW__ACTION_REFUSAL__NO_SUCH_ACTOR);
	test_end(&t);
}

static void wolves_see_chase_strike_and_kill(void **state)
{
	struct test_shard t;
	struct test_client *c, *other;
	uint32_t me, sequence = 1;

	(void)state;
	start(&t);
	/* behind the wall from it: not seen, though near */
	test_join(&t, 0, true, 17000, 20000);
	test_join(&t, 1, true, 10000, 5000);
	put(&t, monster_slot(&t, WOLF), 23000, 20000);
	test_run(&t, 2000);
	c = &t.clients[0];
	other = &t.clients[1];
	me = player_slot(&t, 0);
	assert_int_equal(map_of(&t)->monsters[WOLF].mood, SIM_WANDERS);
	assert_int_equal(c->blows, 0);
	/* in sight: it comes, and bites until the player is dead */
	put(&t, me, 23000, 26000);
	put(&t, monster_slot(&t, WOLF), 27000, 22000);
	test_run(&t, 1000);
	assert_int_equal(map_of(&t)->monsters[WOLF].mood, SIM_CHASES);
	for (uint32_t second = 0; second < 30 && !c->deaths; second++)
		test_run(&t, 500);
	assert_int_equal(c->deaths, 1);
	assert_int_equal(c->blow_health, 0);
	assert_int_equal(test_counter(&t, SIM_PLAYERS_KILLED), 1);
	assert_true(other->blows > 0); /* seen from the other side */
	/* the dead do not walk; a client that predicts is told so */
	for (uint32_t i = 0; i < 20; i++, sequence++) {
		test_input(&t, 0, sequence, 1, 127, 0);
		test_run(&t, 50);
	}
	assert_int_equal(map_of(&t)->entities[me].x_mm, 23000);
	assert_int_equal(c->input_sequence, sequence - 1);
	assert_true(test_counter(&t, SIM_INPUTS_DEAD) >= 19);
	/* the wolf goes home, and is whole there */
	test_run(&t, 2500);
	assert_int_equal(map_of(&t)->monsters[WOLF].mood, SIM_WANDERS);
	/* five seconds, one more for its turn: it stands in the spawn, whole */
	test_run(&t, 3000);
	assert_int_equal(test_counter(&t, SIM_PLAYERS_BACK), 1);
	assert_int_equal(body(&t, me)->health, 80);
	assert_int_equal(c->health, 80);
	assert_true(c->x_mm >= 2000 && c->x_mm <= 3300 && c->y_mm >= 2000 && c->y_mm <= 3300);
	test_input(&t, 0, sequence, 1, 127, 0);
	test_run(&t, 100);
	assert_int_equal(c->input_sequence, sequence);
	assert_true(c->x_mm > 2200);
	test_end(&t);
}

static void wolves_give_up_and_go_home(void **state)
{
	struct test_shard t;
	struct sim_map *m;
	uint32_t me, wolf, bitten;

	(void)state;
	start(&t);
	test_join(&t, 0, true, 30000, 20000);
	test_run(&t, 300);
	m = map_of(&t);
	me = player_slot(&t, 0);
	wolf = monster_slot(&t, WOLF);
	put(&t, me, m->entities[wolf].x_mm - 1000, m->entities[wolf].y_mm);
	test_run(&t, 100);
	test_attack(&t, 0, monster_id(&t, WOLF));
	test_run(&t, 600);
	assert_int_equal(m->monsters[WOLF].mood, SIM_CHASES);
	bitten = body(&t, wolf)->health;
	assert_true(bitten < body(&t, wolf)->health_max);
	assert_int_equal(m->lairs[WOLF].owner, me);
	/* dragged past its leash of 8 m */
	put(&t, wolf, m->lairs[WOLF].x_mm - 8100, m->lairs[WOLF].y_mm);
	test_run(&t, 100);
	assert_int_equal(m->monsters[WOLF].mood, SIM_RETURNS);
	put(&t, me, 2500, 2500); /* out of the way, in the safe zone */
	test_run(&t, 4000);
	assert_int_equal(m->monsters[WOLF].mood, SIM_WANDERS);
	assert_int_equal(body(&t, wolf)->health, body(&t, wolf)->health_max);
	assert_int_equal(m->lairs[WOLF].owner, SIM_NONE);
	/* who stands in a safe zone is no prey */
	put(&t, wolf, 6500, 2500);
	test_run(&t, 1500);
	assert_int_equal(m->monsters[WOLF].mood, SIM_WANDERS);
	test_end(&t);
}

static void the_hurt_mend_when_left_alone(void **state)
{
	struct test_shard t;
	uint32_t me;

	(void)state;
	start(&t);
	no_wolf(&t);
	test_join(&t, 0, true, 9000, 20000);
	test_run(&t, 300);
	me = player_slot(&t, 0);
	sim_hurt(map_of(&t), SIM_NONE, me, 30);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].blow_attacker, 0);
	assert_int_equal(t.clients[0].blow_health, 50);
	test_run(&t, 4000);
	assert_int_equal(body(&t, me)->health, 50);
	test_run(&t, 20000);
	assert_int_equal(body(&t, me)->health, 80);
	assert_int_equal(t.clients[0].health, 80);
	test_end(&t);
}

static void a_rule_may_let_players_fight(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t);
	no_wolf(&t);
	test_join(&t, 0, true, 9000, 20000);
	test_join(&t, 1, true, 9500, 20000);
	test_run(&t, 300);
	map_of(&t)->match.pvp = true;
	attack_until_dead(&t, 0, t.clients[1].actor_id);
	assert_int_equal(t.clients[1].deaths, 1);
	test_attack(&t, 0, t.clients[1].actor_id);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].refused_reason, SW__ACTION_REFUSAL__TARGET_DEAD);
	test_run(&t, 6000);
	assert_int_equal(t.clients[1].health, 80);
	test_end(&t);
}

/* In a crowd in which everybody is struck at once, each is told a bounded number, his own first. */
static void what_is_told_of_a_melee_is_bounded(void **state)
{
	struct test_shard t;
	uint64_t told, cut;

	(void)state;
	test_init(&t, 200, 200);
	test_start(&t, 1);
	for (uint32_t i = 0; i < 150; i++)
		test_join(&t, i, true, 100000 + (int32_t)i * 10, 100000);
	test_run(&t, 500);
	for (uint32_t i = 0; i < 150; i++)
		sim_hurt(map_of(&t), SIM_NONE, player_slot(&t, i), 3);
	test_run(&t, 100);
	for (uint32_t i = 0; i < 150; i++) {
		const struct test_client *c = &t.clients[i];

		assert_int_equal(c->combats, 1);
		assert_int_equal(c->blows, SIM_EVENTS_TOLD);
		assert_int_equal(c->seen_health[c->actor_id], 97);
	}
	told = test_counter(&t, SIM_COMBAT_EVENTS);
	cut = test_counter(&t, SIM_COMBAT_EVENTS_CUT);
	assert_int_equal(told, 150 * SIM_EVENTS_TOLD);
	assert_int_equal(told + cut, 150 * 150);
	test_run(&t, 100); /* and nothing of it in the next tick */
	assert_int_equal(test_counter(&t, SIM_COMBAT_EVENTS), told);
	test_end(&t);
}

static void one_seed_and_log_give_one_fight(void **state)
{
	struct test_shard t[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		start(&t[i]);
		for (uint32_t c = 0; c < 6; c++)
			test_join(&t[i], c, true, 24000 + (int32_t)c * 1000, 20000);
	}
	for (uint32_t tick = 1; tick < 300; tick++) {
		for (uint32_t i = 0; i < 2; i++) {
			for (uint32_t c = 0; c < 6; c++)
				test_attack(&t[i], c, monster_id(&t[i], WOLF));
			test_run(&t[i], 50);
		}
		assert_true(sim_shard_hash(t[0].shard) == sim_shard_hash(t[1].shard));
	}
	assert_true(test_counter(&t[0], SIM_BLOWS) > 10);
	test_end(&t[0]);
	test_end(&t[1]);
}

static void kinds_that_the_game_lacks_stop_the_start(void **state)
{
	struct test_shard t;
	char error[1024] = "";

	(void)state;
	test_write(folder, "monsters.yaml", "monsters:\n- {name: stump, health: 1}\n- {name: x}\n");
	test_init(&t, 0, 10);
	t.config.maps[0].width_m = t.config.maps[0].height_m = 0;
	strcpy(t.config.simulation.content, folder);
	strcpy(t.config.maps[0].file, "field.tmj");
	t.links.workers = 1;
	assert_null(sim_shard_new(&t.config, 0, &t.links, 1, t.now_ns, error, sizeof(error)));
	assert_non_null(strstr(error, "monsters.yaml:3: monsters[1]: health is missing"));
	test_write(folder, "monsters.yaml", "monsters:\n- {name: stump, health: 1}\n");
	assert_null(sim_shard_new(&t.config, 0, &t.links, 1, t.now_ns, error, sizeof(error)));
	assert_non_null(strstr(error, "map meadow: field.tmj: there is no monster wolf"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blow_takes_what_the_rule_says),
		cmocka_unit_test(everything_else_is_refused_by_name),
		cmocka_unit_test(monsters_die_pay_and_come_back),
		cmocka_unit_test(wolves_see_chase_strike_and_kill),
		cmocka_unit_test(wolves_give_up_and_go_home),
		cmocka_unit_test(the_hurt_mend_when_left_alone),
		cmocka_unit_test(a_rule_may_let_players_fight),
		cmocka_unit_test(what_is_told_of_a_melee_is_bounded),
		cmocka_unit_test(one_seed_and_log_give_one_fight),
		cmocka_unit_test(kinds_that_the_game_lacks_stop_the_start),
	};
	static const char *const names[] = {"field.tmj", "monsters.yaml", "levels.yaml"};
	int failed;

	strcpy(folder, "/tmp/sw_combat_XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	write_map();
	test_write(folder, "levels.yaml",
		"levels:\n- {level: 1, experience: 0, health: 80, attack: 10}\n");
	test_write(folder, "monsters.yaml",
		"monsters:\n"
		"- {name: stump, health: 60, speed_mm_per_s: 1, experience: 5, gold_min: 7, "
		"gold_max: 7}\n"
		"- {name: wolf, health: 50, attack: 12, speed_mm_per_s: 4500, sight_mm: 8000,\n"
		"   leash_mm: 8000, cooldown_ms: 500, range_mm: 1600}\n");
	failed = cmocka_run_group_tests_name("combat", tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
