/* Proves the life of map instances on a shard: they are opened by a message and run; a room lives
 * for one match by its rule, sends everybody home and is handed back; a closing or locked room
 * refuses by name; each instance keeps its own cap; what is said of one that has ended is
 * recognised, also when its slot is in use again; its memory is used again; and the same log gives
 * the same hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/instance.h"
#include "simulation/match/match.h"
#include "simulation/testing.h"

#define ARENA_FIRST 1u /* slot: meadow has slot 0 */

struct rig {
	struct test_shard t;
	struct sim_instances *table;
};

static void open_instance(struct rig *r, uint32_t id)
{
	test_open_instance(&r->t, id);
}

/* Meadow runs; arena, a room of up to 3 instances for 4 players, is to be opened. */
static void start(struct rig *r, uint32_t match_s, uint32_t empty_s)
{
	char error[256] = "";

	test_init(&r->t, 200, 10);
	r->t.config.map_count = 2;
	r->t.config.maps[0].instances_max = 1;
	r->t.config.maps[1] = (struct config_map){.name = "arena",
		.kind = CONFIG_MAP_ROOM,
		.rule = "timed",
		.match_s = match_s,
		.empty_s = empty_s,
		.instances_max = 3,
		.width_m = 64,
		.height_m = 64,
		.tick_hz = 15,
		.view_m = 40,
		.monsters = 3,
		.players_max = 4};
	r->table = sim_instances_new(&r->t.config, NULL, 1, error, sizeof(error));
	assert_non_null(r->table);
	assert_int_equal(sim_instances_check(r->table, error, sizeof(error)), 0);
	assert_true(sim_instances_bytes_max(r->table) > 0);
	r->t.links.instances = r->table;
	test_start(&r->t, 1);
	open_instance(r, instance_id(0, 1));
	test_run(&r->t, 100);
	assert_int_equal(r->t.shard->map_count, 1);
}

static void end(struct rig *r)
{
	test_end(&r->t);
	sim_instances_free(r->table);
}

static void join_room(struct rig *r, uint32_t client, uint32_t id, bool returning)
{
	const struct msg_player_join join = {.map = "arena",
		.instance = id,
		.return_map = "meadow",
		.return_x_mm = 11000,
		.return_y_mm = 12000,
		.return_heading = 7,
		.returning = returning};

	test_join_as(&r->t, client, &join);
	test_run(&r->t, 150);
}

/* The reason that a join is refused for, 0 if it is not. */
static uint32_t refusal(struct rig *r, uint32_t client, uint32_t id, bool returning)
{
	uint32_t before = r->t.refused;

	join_room(r, client, id, returning);
	return r->t.refused > before ? r->t.refused_reason : 0;
}

static void a_room_lives_for_one_match(void **state)
{
	uint32_t id = instance_id(ARENA_FIRST, 1);
	struct rig r;

	(void)state;
	start(&r, 3, 60);
	open_instance(&r, id);
	join_room(&r, 0, id, false);
	join_room(&r, 1, id, false);
	assert_string_equal(r.t.clients[0].map, "arena");
	assert_int_equal(r.t.clients[0].view_count, 4); /* the other, and three monsters */
	test_run(&r.t, 2500);
	assert_int_equal(r.t.transfers, 0);
	test_run(&r.t, 500);
	/* Both go home: what was saved is there, too. */
	assert_int_equal(r.t.transfers, 2);
	assert_string_equal(r.t.transfer.map, "meadow");
	assert_int_equal(r.t.transfer.has_position, 1);
	assert_int_equal(r.t.transfer.x_mm, 11000);
	assert_int_equal(r.t.transfer.y_mm, 12000);
	assert_int_equal(r.t.transfer.heading, 7);
	assert_string_equal(r.t.last_save.map, "meadow");
	assert_int_equal(r.t.last_save.x_mm, 11000);
	assert_int_equal(r.t.last_save.leaving, 1);
	assert_int_equal(r.t.left, 0);
	assert_false(r.t.clients[0].disconnected);
	test_run(&r.t, 200);
	assert_int_equal(r.t.instance.id, id);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	assert_int_equal(r.t.shard->map_count, 1);
	assert_null(r.t.shard->by_number[ARENA_FIRST]);
	assert_int_equal(test_counter(&r.t, SIM_INSTANCES_ENDED), 1);
	/* Its slot and memory serve again. */
	open_instance(&r, instance_id(ARENA_FIRST, 2));
	join_room(&r, 2, instance_id(ARENA_FIRST, 2), false);
	assert_string_equal(r.t.clients[2].map, "arena");
	assert_int_equal(r.t.clients[2].view_count, 3);
	end(&r);
}

static void an_empty_room_ends(void **state)
{
	uint32_t id = instance_id(ARENA_FIRST, 1);
	struct rig r;

	(void)state;
	start(&r, 600, 2);
	open_instance(&r, id);
	join_room(&r, 0, id, false);
	test_run(&r.t, 3000); /* not empty */
	assert_int_equal(r.t.shard->map_count, 2);
	test_gone(&r.t, 0);
	test_run(&r.t, 1500);
	assert_int_equal(r.t.shard->map_count, 2);
	assert_int_equal(r.t.left, 1);
	join_room(&r, 0, id, true); /* comes back in time */
	test_run(&r.t, 3000);
	assert_int_equal(r.t.shard->map_count, 2);
	test_gone(&r.t, 0);
	test_run(&r.t, 2500);
	assert_int_equal(r.t.shard->map_count, 1);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	end(&r);
}

static void rooms_refuse_by_name(void **state)
{
	uint32_t id = instance_id(ARENA_FIRST, 1), other = instance_id(ARENA_FIRST + 1, 1);
	struct sim_map *m;
	struct rig r;

	(void)state;
	start(&r, 600, 600);
	open_instance(&r, id);
	open_instance(&r, other);
	test_run(&r.t, 100);
	m = r.t.shard->by_number[ARENA_FIRST];
	/* The cap is each instance's own. */
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(refusal(&r, i, id, false), 0);
	assert_int_equal(refusal(&r, 4, id, false), SW_REASON_MAP_UNAVAILABLE);
	assert_int_equal(refusal(&r, 4, other, false), 0);
	test_gone(&r.t, 3);
	test_run(&r.t, 200);
	/* Locked: only who was in it. */
	sim_match_lock(m, true);
	test_run(&r.t, 200);
	assert_int_equal(r.t.instance.state, INSTANCE_LOCKED);
	assert_int_equal(refusal(&r, 5, id, false), SW_REASON_MAP_CLOSING);
	assert_int_equal(refusal(&r, 3, id, true), 0);
	test_gone(&r.t, 3);
	test_run(&r.t, 200);
	sim_match_lock(m, false);
	test_run(&r.t, 200);
	assert_int_equal(r.t.instance.state, INSTANCE_OPEN);
	/* Closing: nobody, and those in it stay. */
	sim_match_close(m);
	test_run(&r.t, 200);
	assert_int_equal(r.t.instance.id, id);
	assert_int_equal(r.t.instance.state, INSTANCE_CLOSING);
	assert_int_equal(refusal(&r, 3, id, true), SW_REASON_MAP_CLOSING);
	assert_int_equal(m->players, 3);
	sim_match_end(m);
	test_run(&r.t, 500);
	assert_int_equal(r.t.transfers, 3);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	/* What is said of it now is recognised, also when its slot runs another. */
	assert_int_equal(refusal(&r, 3, id, true), SW_REASON_MAP_UNAVAILABLE);
	open_instance(&r, instance_id(ARENA_FIRST, 2));
	assert_int_equal(refusal(&r, 3, id, true), SW_REASON_MAP_UNAVAILABLE);
	assert_int_equal(refusal(&r, 3, instance_id(200, 1), true), SW_REASON_MAP_UNAVAILABLE);
	end(&r);
}

static void order_close(struct rig *r, uint32_t id)
{
	const struct msg_instance body = {id, INSTANCE_CLOSING};
	struct msg message;

	memcpy(msg_begin(&message, MSG_INSTANCE_CLOSE, 0, sizeof(body)), &body, sizeof(body));
	assert_true(msg_ring_push(r->t.links.from_control, &message));
}

/* An instance of a map refuses by name, sends its players on to where they stand on another one of
 * it, some each tick, and is handed back when the last has gone. */
static void a_map_that_closes_sends_its_players_on(void **state)
{
	uint32_t id = instance_id(0, 1);
	struct msg_player_join join = {0};
	struct sim_map *m;
	struct rig r;

	(void)state;
	start(&r, 600, 600);
	open_instance(&r, id);
	test_run(&r.t, 100);
	m = r.t.shard->by_number[0];
	for (uint32_t i = 0; i < 3; i++) {
		join = (struct msg_player_join){.session = 100 + i,
			.character_id = 5000 + i,
			.realm_id = 1,
			.instance = id,
			.has_position = 1,
			.x_mm = 5000 + 1000 * (int32_t)i,
			.y_mm = 7000,
			.payload_bytes_max = 1200};
		strcpy(join.map, r.t.config.maps[0].name);
		test_join_as(&r.t, i, &join);
	}
	test_run(&r.t, 200);
	assert_int_equal(m->players, 3);
	order_close(&r, id);
	join.session = 200;
	assert_int_equal(refusal(&r, 4, id, false), SW_REASON_MAP_CLOSING);
	test_run(&r.t, 500);
	assert_int_equal(r.t.transfers, 3);
	assert_string_equal(r.t.transfer.map, r.t.config.maps[0].name);
	assert_int_equal(r.t.transfer.has_position, 1);
	assert_in_range(r.t.transfer.x_mm, 5000, 7000);
	assert_int_equal(r.t.transfer.y_mm, 7000);
	assert_int_equal(r.t.instance.id, id);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	assert_int_equal(r.t.shard->map_count, 0);
	assert_int_equal(test_counter(&r.t, SIM_INSTANCES_CLOSED), 1);
	/* A late order about it does no harm, nor one about its successor's place. */
	order_close(&r, id);
	open_instance(&r, instance_id(0, 2));
	order_close(&r, id);
	test_run(&r.t, 200);
	assert_int_equal(test_counter(&r.t, SIM_INSTANCES_STALE), 2);
	assert_int_equal(r.t.shard->map_count, 1);
	assert_int_equal(refusal(&r, 4, instance_id(0, 2), false), 0);
	end(&r);
}

/* A room that is closed by an order plays to its end. */
static void a_room_that_closes_plays_on(void **state)
{
	uint32_t id = instance_id(ARENA_FIRST, 1);
	struct rig r;

	(void)state;
	start(&r, 2, 600);
	open_instance(&r, id);
	join_room(&r, 0, id, false);
	order_close(&r, id);
	test_run(&r.t, 1000);
	assert_int_equal(r.t.instance.state, INSTANCE_CLOSING);
	assert_int_equal(refusal(&r, 1, id, false), SW_REASON_MAP_CLOSING);
	assert_int_equal(r.t.transfers, 0);
	test_run(&r.t, 1500);
	assert_int_equal(r.t.transfers, 1);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	end(&r);
}

static void what_was_not_built_is_not_opened(void **state)
{
	static const uint32_t ids[] = {0, 0x1fe, 0xffffffff, 1u << 8 | 2, 7u << 8};
	struct rig r;

	(void)state;
	start(&r, 600, 600);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const struct msg_instance body = {ids[i], INSTANCE_OPEN};
		struct msg message;

		memcpy(msg_begin(&message, MSG_INSTANCE_OPEN, 0, sizeof(body)), &body,
			sizeof(body));
		assert_true(msg_ring_push(r.t.links.from_control, &message));
	}
	/* Twice the same. */
	open_instance(&r, instance_id(0, 1));
	test_run(&r.t, 100);
	assert_int_equal(r.t.shard->map_count, 1);
	assert_int_equal(test_counter(&r.t, SIM_MESSAGES_UNKNOWN), 6);
	end(&r);
}

/* What control and the world say is taken in its own size, and in no other. */
static void another_size_is_refused(void **state)
{
	static const struct {
		enum msg_type type;
		uint32_t bytes;
		bool world;
	} rows[] = {{MSG_PLAYER_JOIN, sizeof(struct msg_player_join), false},
		{MSG_PLAYER_REMOVE, sizeof(struct msg_player_remove), false},
		{MSG_PLAYER_RELOAD, sizeof(struct msg_player_reload), false},
		{MSG_INSTANCE_OPEN, sizeof(struct msg_instance), false},
		{MSG_INSTANCE_CLOSE, sizeof(struct msg_instance), false},
		{MSG_SCRIPT_ORDER, sizeof(struct msg_script), false}, {MSG_SHARD_STOP, 0, false},
		{MSG_COMMIT_RESULT, sizeof(struct msg_commit_result), true},
		{MSG_DETAIL_RESULT, sizeof(struct msg_detail_result), true}};
	uint64_t refused = 0;
	struct rig r;

	(void)state;
	start(&r, 600, 600);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t more = 0; more <= 2; more += 2) {
			struct msg_buffer message;
			uint32_t bytes = rows[i].bytes + more - 1;

			if (!rows[i].bytes && !more)
				continue;
			memset(msg_begin(message.slot, rows[i].type, 0, bytes), 0, bytes);
			assert_true(msg_ring_push(
				rows[i].world ? r.t.links.from_world : r.t.links.from_control,
				message.slot));
			refused++;
		}
	}
	test_run(&r.t, 100);
	assert_int_equal(test_counter(&r.t, SIM_MESSAGES_UNKNOWN), refused);
	assert_int_equal(test_counter(&r.t, SIM_JOINS_REFUSED), 0);
	assert_false(r.t.shard->stopping);
	end(&r);
}

/* The details of a player of the last instance come when the slot's next one has a player with the
 * same handle: they are not its. */
static void late_details_find_nobody(void **state)
{
	uint32_t id = instance_id(ARENA_FIRST, 1);
	struct msg_detail_result result = {.level = 9};
	struct msg message[2];
	struct rig r;

	(void)state;
	start(&r, 600, 1);
	r.t.answer_details = false;
	open_instance(&r, id);
	join_room(&r, 0, id, false);
	test_gone(&r.t, 0);
	test_run(&r.t, 2000);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	open_instance(&r, instance_id(ARENA_FIRST, 2));
	join_room(&r, 1, instance_id(ARENA_FIRST, 2), false);
	assert_int_equal(r.t.detail_queries, 2);
	/* Player slot 0 of the room, first generation, both times. */
	result.request = handle_make(ARENA_FIRST, 1, 0);
	result.character_id = 5000;
	memcpy(msg_begin(message, MSG_DETAIL_RESULT, 0, sizeof(result)), &result, sizeof(result));
	assert_true(msg_ring_push(r.t.links.from_world, message));
	test_run(&r.t, 200);
	assert_false(r.t.clients[1].detail);
	result.character_id = 5001;
	memcpy(msg_begin(message, MSG_DETAIL_RESULT, 0, sizeof(result)), &result, sizeof(result));
	assert_true(msg_ring_push(r.t.links.from_world, message));
	test_run(&r.t, 200);
	assert_true(r.t.clients[1].detail);
	end(&r);
}

static uint64_t a_life(void)
{
	uint64_t hash = 0;
	struct rig r;

	start(&r, 2, 1);
	for (uint32_t round = 0; round < 6; round++) {
		uint32_t id = instance_id(ARENA_FIRST + round % 3, 1 + round / 3);

		open_instance(&r, id);
		for (uint32_t i = 0; i < 3; i++)
			join_room(&r, round * 3 + i, id, false);
		test_run(&r.t, 400 + 300 * round);
		hash = hash * 31 + sim_shard_hash(r.t.shard);
		test_run(&r.t, 3000);
	}
	assert_int_equal(test_counter(&r.t, SIM_INSTANCES_ENDED), 6);
	end(&r);
	return hash;
}

static void the_same_log_gives_the_same_hash(void **state)
{
	(void)state;
	assert_int_equal(a_life(), a_life());
}

static void what_cannot_run_is_said(void **state)
{
	char error[256];
	struct rig r;

	(void)state;
	start(&r, 1, 1);
	strcpy(r.t.config.maps[1].rule, "duel");
	assert_null(sim_instances_new(&r.t.config, NULL, 1, error, sizeof(error)));
	assert_string_equal(error, "map arena: there is no match rule \"duel\", but timed, battle, script");
	strcpy(r.t.config.maps[1].rule, "timed");
	strcpy(r.t.config.maps[1].script, "x.lua");
	assert_null(sim_instances_new(&r.t.config, NULL, 1, error, sizeof(error)));
	assert_non_null(strstr(error, "needs the watchdog"));
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_room_lives_for_one_match),
		cmocka_unit_test(an_empty_room_ends),
		cmocka_unit_test(rooms_refuse_by_name),
		cmocka_unit_test(a_map_that_closes_sends_its_players_on),
		cmocka_unit_test(a_room_that_closes_plays_on),
		cmocka_unit_test(what_was_not_built_is_not_opened),
		cmocka_unit_test(late_details_find_nobody),
		cmocka_unit_test(the_same_log_gives_the_same_hash),
		cmocka_unit_test(what_cannot_run_is_said),
		cmocka_unit_test(another_size_is_refused),
	};

	return cmocka_run_group_tests_name("instance", tests, NULL, NULL);
}
