/* Proves what becomes of a player's live state, row by row of live.h: health, death, cooldown and
 * rest go along from map to map and come back with who comes again, time going on meanwhile; a room
 * is entered whole and left as one came; nothing is gained by going and coming; details that come
 * late, in the middle of a fight, or again change what one may have and not what one lacks, and
 * raise nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/combat.h"
#include "simulation/counters.h"
#include "simulation/instance.h"
#include "simulation/live.h"
#include "simulation/match/match.h"
#include "simulation/state.h"
#include "simulation/testing.h"
#include "simulation/transfer.h"

#define ROOM instance_id(1, 1)
#define MOST 100 /* health of a level 1 */
#define MORE 200 /* of a level 2 */

static char folder[] = "/tmp/sw-sim-live-XXXXXX";

struct rig {
	struct test_shard t;
	struct sim_instances *table;
	struct sim_map *meadow, *room;
};

static void start(struct rig *r)
{
	char error[512] = "";

	memset(r, 0, sizeof(*r));
	test_init(&r->t, 200, 10);
	strcpy(r->t.config.simulation.content, folder);
	r->t.config.map_count = 2;
	r->t.config.maps[0].instances_max = 1;
	r->t.config.maps[1] = (struct config_map){.name = "arena",
		.kind = CONFIG_MAP_ROOM,
		.rule = "battle",
		.match_s = 60,
		.empty_s = 60,
		.start_players = 2,
		.start_wait_s = 60,
		.countdown_s = 1,
		.instances_max = 1,
		.width_m = 64,
		.height_m = 64,
		.tick_hz = 15,
		.view_m = 40,
		.players_max = 10};
	r->table = sim_instances_new(&r->t.config, NULL, 1, error, sizeof(error));
	if (!r->table || sim_instances_check(r->table, error, sizeof(error)))
		fail_msg("%s", error);
	r->t.links.instances = r->table;
	test_start(&r->t, 1);
	test_open_instance(&r->t, instance_id(0, 1));
	test_open_instance(&r->t, ROOM);
	test_run(&r->t, 100);
	r->meadow = r->t.shard->by_number[0];
	r->room = r->t.shard->by_number[1];
	assert_non_null(r->meadow);
	assert_non_null(r->room);
}

static void end(struct rig *r)
{
	test_end(&r->t);
	sim_instances_free(r->table);
}

static struct sim_body *body(const struct sim_map *m, uint32_t client)
{
	return &m->bodies[test_slot_of(m, client)];
}

static void come(struct rig *r, uint32_t client, const struct msg_live *live)
{
	struct msg_player_join as = {
		.map = "meadow", .has_position = 1, .x_mm = 50000, .y_mm = 60000, .stay = 1};

	if (live)
		as.live = as.return_live = *live;
	test_join_as(&r->t, client, &as);
	r->t.clients[client].stay = 1;
	test_run(&r->t, 200);
}

static void come_to_room(struct rig *r, uint32_t client, const struct msg_live *live)
{
	const struct msg_player_join as = {.map = "arena",
		.instance = ROOM,
		.has_position = 1,
		.x_mm = 30000 + (int32_t)client * 1000,
		.y_mm = 30000,
		.live = live ? *live : (struct msg_live){0},
		.return_map = "meadow",
		.return_live = live ? *live : (struct msg_live){0}};

	test_join_as(&r->t, client, &as);
	test_run(&r->t, 150);
}

/* Hurt just now, and its weapon is cooling down for half a second yet. */
static void wound(const struct sim_map *m, uint32_t client, uint32_t health)
{
	struct sim_body *b = body(m, client);

	b->health = health;
	b->hurt_beat = m->beat;
	b->ready_beat = m->beat + 10;
	if (!health)
		b->back_beat = m->beat + SIM_PLAYER_BACK_S * m->config.tick_hz;
}

enum way { TRANSFER, AGAIN };

/* Leaves; returns what control was told. */
static struct msg_live go(struct rig *r, uint32_t client, enum way way)
{
	static const struct sim_spawn spawn = {.has_position = true, .x_mm = 1, .y_mm = 1};
	uint32_t left = r->t.left, transfers = r->t.transfers;

	if (way == TRANSFER) {
		assert_true(sim_player_transfer(
			r->meadow, test_slot_of(r->meadow, client), "cave", &spawn));
		test_run(&r->t, 150);
		assert_int_equal(r->t.transfers, transfers + 1);
		assert_memory_equal(
			&r->t.transfer.live, &r->t.transfer.return_live, sizeof(struct msg_live));
		return r->t.transfer.live;
	}
	test_gone(&r->t, client);
	test_run(&r->t, 150);
	assert_int_equal(r->t.left, left + 1);
	assert_memory_equal(
		&r->t.last_left.live, &r->t.last_left.return_live, sizeof(struct msg_live));
	return r->t.last_left.live;
}

static void pass_s(struct rig *r, uint32_t seconds)
{
	for (uint32_t i = 0; i < seconds * 20; i++) {
		r->t.now_ns += 49 * NS_PER_MS;
		test_run(&r->t, 1);
	}
}

static void wounds_go_along_and_time_goes_on(void **state)
{
	/* Health as it leaves, seconds away, health as it comes: it mends 3 of 100 a second after
	 * five. */
	static const struct {
		uint32_t health, away_s, low, high;
	} rows[] = {{40, 0, 40, 40}, {1, 0, 1, 1}, {100, 0, 100, 100}, {40, 4, 40, 40},
		{40, 10, 52, 58}, {40, 3600, 100, 100}, {1, 100000, 100, 100}};

	(void)state;
	for (enum way way = TRANSFER; way <= AGAIN; way++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct msg_live live;
			struct rig r;
			uint32_t health;

			start(&r);
			come(&r, 0, NULL);
			assert_int_equal(body(r.meadow, 0)->health, MOST);
			wound(r.meadow, 0, rows[i].health);
			live = go(&r, 0, way);
			assert_int_equal(live.missing, MOST - rows[i].health);
			r.t.now_ns += rows[i].away_s * NS_PER_S;
			come(&r, 0, &live);
			health = body(r.meadow, 0)->health;
			if (health < rows[i].low || health > rows[i].high)
				fail_msg("way %d, row %zu: %u", way, i, health);
			/* The client is told so, not less and not more. */
			assert_int_equal(r.t.clients[0].health, health);
			assert_int_equal(r.t.clients[0].health_max, MOST);
			end(&r);
		}
	}
}

/* Rest goes on across maps: it mends no sooner and no later for having changed them. */
static void rest_goes_on(void **state)
{
	struct msg_live live;
	struct rig r;

	(void)state;
	start(&r);
	come(&r, 0, NULL);
	wound(r.meadow, 0, 40);
	pass_s(&r, 3);
	live = go(&r, 0, TRANSFER);
	assert_in_range(live.rested_ms, 2900, 3400);
	come(&r, 0, &live);
	assert_int_equal(body(r.meadow, 0)->health, 40);
	pass_s(&r, 1);
	assert_int_equal(body(r.meadow, 0)->health, 40);
	pass_s(&r, 3);
	assert_in_range(body(r.meadow, 0)->health, 43, 49);
	/* Who has mended for a while does not mend for that again. */
	pass_s(&r, 8);
	assert_in_range(body(r.meadow, 0)->health, 67, 73);
	live = go(&r, 0, TRANSFER);
	come(&r, 0, &live);
	assert_in_range(body(r.meadow, 0)->health, 67, 79);
	/* More milliseconds than there are numbers for are the most of them. */
	body(r.meadow, 0)->hurt_beat = r.meadow->beat - 90000000;
	live = sim_live_take(r.meadow, test_slot_of(r.meadow, 0));
	assert_true(live.rested_ms == UINT32_MAX);
	end(&r);
}

static void a_cooldown_is_not_cut_short(void **state)
{
	struct msg_live live;
	struct rig r;

	(void)state;
	for (enum way way = TRANSFER; way <= AGAIN; way++) {
		start(&r);
		come(&r, 0, NULL);
		wound(r.meadow, 0, 40);
		body(r.meadow, 0)->ready_beat = r.meadow->beat + 100; /* 5 s */
		live = go(&r, 0, way);
		assert_in_range(live.ready_ms, 4800, 5000);
		come(&r, 0, &live);
		/* 350 ms have passed. */
		assert_in_range(body(r.meadow, 0)->ready_beat - r.meadow->beat, 91, 97);
		end(&r);
		/* And by the time that is over it is ready. */
		start(&r);
		live.at_ns = r.t.now_ns;
		r.t.now_ns += 6 * NS_PER_S;
		come(&r, 0, &live);
		assert_true((int32_t)(body(r.meadow, 0)->ready_beat - r.meadow->beat) <= 0);
		end(&r);
	}
}

static void the_dead_stay_dead(void **state)
{
	struct msg_live live;
	struct rig r;

	(void)state;
	for (enum way way = TRANSFER; way <= AGAIN; way++) {
		start(&r);
		come(&r, 0, NULL);
		wound(r.meadow, 0, 0);
		live = go(&r, 0, way);
		assert_in_range(live.back_ms, 4700, 5000);
		assert_int_equal(live.missing, 0);
		come(&r, 0, &live);
		come(&r, 1, NULL);
		assert_int_equal(body(r.meadow, 0)->health, 0); /* details or not */
		assert_true(r.t.clients[0].detail);
		assert_int_equal(r.t.clients[0].health, 0);
		assert_int_equal(r.t.clients[1].seen_health[r.t.clients[0].actor_id], 0);
		test_input(&r.t, 0, 1, 4, 127, 0);
		test_attack(&r.t, 0, r.t.clients[1].actor_id);
		test_run(&r.t, 100);
		assert_int_equal(r.t.clients[0].x_mm, 50000);
		assert_int_equal(r.t.clients[0].refused_reason, SW__ACTION_REFUSAL__DEAD);
		/* It stands up when it would have, at a spawn (the middle), whole. */
		pass_s(&r, 3);
		assert_int_equal(body(r.meadow, 0)->health, 0);
		pass_s(&r, 3);
		assert_int_equal(body(r.meadow, 0)->health, MOST);
		assert_in_range(r.t.clients[0].x_mm, 98000, 102000);
		end(&r);
		/* Away until then, it comes to a spawn, not to where it fell. */
		start(&r);
		live.at_ns = r.t.now_ns;
		r.t.now_ns += 6 * NS_PER_S;
		come(&r, 0, &live);
		assert_int_equal(body(r.meadow, 0)->health, MOST);
		assert_in_range(r.t.clients[0].x_mm, 98000, 102000);
		end(&r);
	}
}

/* In whole, out as one came; what waited outside has rested. */
static void a_room_is_a_world_of_its_own(void **state)
{
	struct msg_live live = {.missing = 60, .ready_ms = 5000, .rested_ms = 0},
			dead = {.back_ms = 1000};
	struct rig r;

	(void)state;
	start(&r);
	live.at_ns = dead.at_ns = r.t.now_ns;
	come_to_room(&r, 0, &live);
	assert_int_equal(body(r.room, 0)->health, MOST);
	assert_true((int32_t)(body(r.room, 0)->ready_beat - r.room->beat) <= 0);
	wound(r.room, 0, 10);
	/* Out of it for a moment, and back: as it left the room. */
	test_gone(&r.t, 0);
	test_run(&r.t, 150);
	assert_int_equal(r.t.last_left.live.missing, MOST - 10);
	assert_int_equal(r.t.last_left.return_live.missing, 60);
	{
		const struct msg_player_join again = {.map = "arena",
			.instance = ROOM,
			.returning = 1,
			.live = r.t.last_left.live,
			.return_live = r.t.last_left.return_live,
			.return_map = "meadow"};

		test_join_as(&r.t, 0, &again);
		test_run(&r.t, 150);
	}
	assert_int_equal(body(r.room, 0)->health, 10);
	/* Home: what it has here stays here. */
	assert_true(sim_player_transfer(r.room, test_slot_of(r.room, 0), "", NULL));
	test_run(&r.t, 150);
	assert_int_equal(r.t.transfer.live.missing, 60);
	assert_true(r.t.transfer.live.at_ns == live.at_ns);
	assert_string_equal(r.t.transfer.map, "meadow");
	/* Who came dead (a script may send him) stands in the room, and is dead at home no more. */
	come_to_room(&r, 1, &dead);
	assert_int_equal(body(r.room, 1)->health, MOST);
	end(&r);
}

/* Eight unreadable messages end a connection, on however many maps. */
static void a_new_map_is_no_new_start(void **state)
{
	struct msg_live live;
	uint8_t bad = SW_MSG_JOINED;
	struct rig r;

	(void)state;
	start(&r);
	come(&r, 0, NULL);
	for (uint32_t i = 1; i < SIM_MALFORMED_MAX; i++)
		test_packet(&r.t, 0, SW_CHANNEL_SESSION, &bad, 1);
	test_run(&r.t, 50);
	live = go(&r, 0, TRANSFER);
	assert_int_equal(live.malformed, SIM_MALFORMED_MAX - 1);
	come(&r, 0, &live);
	assert_false(r.t.clients[0].disconnected);
	test_packet(&r.t, 0, SW_CHANNEL_SESSION, &bad, 1);
	test_run(&r.t, 100);
	assert_true(r.t.clients[0].disconnected);
	assert_int_equal(r.t.clients[0].disconnect_reason, SW_REASON_MALFORMED);
	/* A new connection is. */
	assert_int_equal(r.t.last_left.live.malformed, 0);
	end(&r);
}

/* Its peer is gone while it was on its way home from a room: it comes back into that as it is
 * there, and by a new connection. */
static void who_goes_nowhere_is_as_it_was(void **state)
{
	struct msg_live live = {.missing = 60};
	uint8_t bad = SW_MSG_JOINED;
	struct rig r;

	(void)state;
	start(&r);
	live.at_ns = r.t.now_ns;
	come_to_room(&r, 0, &live);
	wound(r.room, 0, 10);
	for (uint32_t i = 1; i < SIM_MALFORMED_MAX; i++)
		test_packet(&r.t, 0, SW_CHANNEL_SESSION, &bad, 1);
	test_run(&r.t, 50);
	assert_true(sim_player_transfer(r.room, test_slot_of(r.room, 0), "", NULL));
	test_gone(&r.t, 0);
	test_run(&r.t, 150);
	assert_int_equal(r.t.transfers, 0);
	assert_int_equal(r.t.left, 1);
	assert_int_equal(r.t.last_left.live.missing, MOST - 10);
	assert_int_equal(r.t.last_left.return_live.missing, 60);
	assert_int_equal(r.t.last_left.live.malformed, 0);
	assert_int_equal(r.t.last_left.return_live.malformed, 0);
	end(&r);
}

/* Nor are more steps made up for than time allows. */
static void credit_goes_along(void **state)
{
	struct msg_live live = {.credit = 0};
	struct rig r;

	(void)state;
	start(&r);
	live.at_ns = r.t.now_ns;
	assert_int_equal(sim_live_credit(r.t.shard, r.meadow, &live), 0);
	live.credit = 2;
	live.at_ns -= 50 * NS_PER_MS;
	assert_int_equal(sim_live_credit(r.t.shard, r.meadow, &live),
		r.t.shard->now_ns >= live.at_ns ? 3 : 0);
	live.at_ns -= 1000 * NS_PER_MS;
	assert_int_equal(sim_live_credit(r.t.shard, r.meadow, &live), SIM_INPUT_BANK);
	live.at_ns = 0;
	assert_int_equal(sim_live_credit(r.t.shard, r.meadow, &live), SIM_INPUT_BANK);
	live.at_ns = r.t.now_ns + NS_PER_S; /* of nobody's clock: no time has passed */
	assert_int_equal(sim_live_credit(r.t.shard, r.meadow, &live), 2);
	test_join_as(&r.t, 0, &(struct msg_player_join){.map = "meadow", .live = live});
	test_run(&r.t, 1);
	assert_true(sim_player(r.meadow, 0)->input_credit < SIM_INPUT_BANK); /* a tick at most */
	end(&r);
}

/* Before its details a player is a level 1; one of level 2 may lack more than that has. */
static void details_bring_most_and_no_cure(void **state)
{
	static const struct {
		uint32_t missing, before, after;
	} rows[] = {{0, 100, 200}, {30, 70, 170}, {99, 1, 101}, {150, 1, 50}, {199, 1, 1},
		{5000, 1, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct msg_live live = {.missing = rows[i].missing}, back;
		struct rig r;

		start(&r);
		r.t.owned[0].experience = 100;
		live.at_ns = r.t.now_ns;
		r.t.answer_details = false;
		come(&r, 0, &live);
		assert_int_equal(body(r.meadow, 0)->health, rows[i].before);
		/* Gone before they came, it has forgotten nothing. */
		back = sim_live_take(r.meadow, test_slot_of(r.meadow, 0));
		assert_int_equal(back.missing, rows[i].missing);
		end(&r);

		start(&r);
		r.t.owned[0].experience = 100;
		live.at_ns = r.t.now_ns;
		come(&r, 0, &live);
		assert_int_equal(body(r.meadow, 0)->health_max, MORE);
		assert_int_equal(body(r.meadow, 0)->health, rows[i].after);
		end(&r);
	}
}

/* Nor do they take back what it has mended meanwhile; and who is made whole lacks nothing. */
static void what_is_not_shown_mends_first(void **state)
{
	struct msg_live live = {.missing = 150, .rested_ms = 6000};
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	live.at_ns = r.t.now_ns;
	r.t.answer_details = false;
	come(&r, 0, &live);
	slot = test_slot_of(r.meadow, 0);
	pass_s(&r, 4);
	assert_int_equal(body(r.meadow, 0)->health, 1);
	assert_in_range(sim_live_take(r.meadow, slot).missing, 132, 141);
	pass_s(&r, 20); /* beyond what is not shown */
	assert_in_range(body(r.meadow, 0)->health, 15, 35);
	assert_int_equal(sim_live_take(r.meadow, slot).missing, MOST - body(r.meadow, 0)->health);
	sim_player(r.meadow, slot)->lacks_more = 7;
	sim_body_player(r.meadow, slot, true);
	assert_int_equal(sim_live_take(r.meadow, slot).missing, 0);
	end(&r);
}

/* A new level makes whole, but in a fight to the end it only raises the most. */
static void a_level_heals_nobody_in_a_match(void **state)
{
	(void)state;
	for (int match = 0; match < 2; match++) {
		struct sim_map *m;
		struct rig r;
		uint32_t slot;

		start(&r);
		m = match ? r.room : r.meadow;
		for (uint32_t client = 0; client < 2; client++) {
			if (match)
				come_to_room(&r, client, NULL);
			else
				come(&r, client, NULL);
		}
		test_run(&r.t, 1500);
		slot = test_slot_of(m, 0);
		sim_hurt(m, SIM_NONE, slot, 70);
		m->purses[slot].experience_due = 100;
		test_run(&r.t, 1500);
		assert_int_equal(m->bodies[slot].health_max, MORE);
		assert_int_equal(m->bodies[slot].health, match ? MORE - 70 : MORE);
		end(&r);
	}
}

/* The world thread is slow; the match begins without it. The answer comes when one is hurt and one
 * has fallen. */
static void late_details_heal_nobody(void **state)
{
	struct rig r;
	uint32_t a, b;

	(void)state;
	start(&r);
	r.t.answer_details = false;
	r.t.owned[0].experience = r.t.owned[1].experience = 100;
	come_to_room(&r, 0, NULL);
	come_to_room(&r, 1, NULL);
	come_to_room(&r, 2, NULL);
	test_run(&r.t, 1500);
	assert_true(r.room->match.mortal);
	a = test_slot_of(r.room, 0);
	b = test_slot_of(r.room, 1);
	sim_hurt(r.room, SIM_NONE, a, 70);
	sim_hurt(r.room, SIM_NONE, b, 1000);
	test_run(&r.t, 100);
	assert_int_equal(r.room->bodies[a].health, MOST - 70);
	r.t.answer_details = true;
	for (uint32_t slot = a;; slot = b) { /* asked again, as after MSG_LOAD_UNAVAILABLE */
		struct sim_player *p = sim_player(r.room, slot);

		p->detail = SIM_DETAIL_WANTED;
		p->detail_beat = r.room->beat;
		p->in_lazy = true;
		p->lazy_next = SIM_NONE;
		r.room->lazy = (struct sim_list){slot, slot, 1};
		test_run(&r.t, 300);
		assert_int_equal(p->detail, SIM_DETAIL_READY);
		if (slot == b)
			break;
	}
	assert_int_equal(r.room->bodies[a].health_max, MORE);
	assert_int_equal(r.room->bodies[a].health, MORE - 70);
	assert_int_equal(r.room->bodies[b].health, 0);
	assert_int_equal(r.t.clients[0].health, MORE - 70);
	assert_int_equal(r.t.clients[1].health, 0);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wounds_go_along_and_time_goes_on),
		cmocka_unit_test(rest_goes_on),
		cmocka_unit_test(a_cooldown_is_not_cut_short),
		cmocka_unit_test(the_dead_stay_dead),
		cmocka_unit_test(a_room_is_a_world_of_its_own),
		cmocka_unit_test(a_new_map_is_no_new_start),
		cmocka_unit_test(who_goes_nowhere_is_as_it_was),
		cmocka_unit_test(credit_goes_along),
		cmocka_unit_test(details_bring_most_and_no_cure),
		cmocka_unit_test(what_is_not_shown_mends_first),
		cmocka_unit_test(a_level_heals_nobody_in_a_match),
		cmocka_unit_test(late_details_heal_nobody),
	};
	char path[96];
	int failed;

	if (!mkdtemp(folder))
		return 1;
	test_write(folder, "levels.yaml",
		"levels:\n- {level: 1, experience: 0, health: 100, attack: 10}\n"
		"- {level: 2, experience: 100, health: 200, attack: 10}\n");
	failed = cmocka_run_group_tests_name("live", tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/levels.yaml", folder);
	unlink(path);
	rmdir(folder);
	return failed;
}
