/* Proves the rule battle: when it begins and what nobody may do before; that nobody trades in it;
 * that the zone shrinks by its stages and hurts who is outside, and nobody else; cards chosen,
 * late, invalid and given; places of those who fall, leave, or stand at the end, and a draw; that
 * members of one party fight it out among them; that each result is asked to be kept once, again
 * when it could not be, and for a bounded time; that the room ends; and that one seed and log give
 * one state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/combat.h"
#include "simulation/counters.h"
#include "simulation/instance.h"
#include "simulation/match/match.h"
#include "simulation/party.h"
#include "simulation/testing.h"

#define ROOM   instance_id(1, 1)
#define MIDDLE 32000

static char folder[] = "/tmp/sw-sim-battle-XXXXXX";

struct rig {
	struct test_shard t;
	struct sim_instances *table;
	struct sim_map *m;
};

static void start(struct rig *r, uint32_t start_players)
{
	char error[512] = "";

	test_init(&r->t, 200, 10);
	strcpy(r->t.config.simulation.content, folder);
	r->t.config.party.members_max = 10;
	r->t.config.map_count = 2;
	r->t.config.maps[0].instances_max = 1;
	r->t.config.maps[1] = (struct config_map){.name = "arena",
		.kind = CONFIG_MAP_ROOM,
		.rule = "battle",
		.match_s = 20,
		.empty_s = 5,
		.start_players = start_players,
		.start_wait_s = 3,
		.countdown_s = 1,
		.instances_max = 2,
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
	test_open_instance(&r->t, ROOM);
	test_run(&r->t, 100);
	r->m = r->t.shard->by_number[1];
	assert_non_null(r->m);
}

static void end(struct rig *r)
{
	test_end(&r->t);
	sim_instances_free(r->table);
}

static void come(struct rig *r, uint32_t client, int32_t x_mm, int32_t y_mm)
{
	const struct msg_player_join join = {.map = "arena",
		.instance = ROOM,
		.has_position = 1,
		.x_mm = x_mm,
		.y_mm = y_mm,
		.return_map = "meadow"};

	test_join_as(&r->t, client, &join);
	test_run(&r->t, 150);
}

static void run_to(struct rig *r, uint32_t phase)
{
	for (uint32_t i = 0; r->t.clients[0].match_phase != phase; i++) {
		assert_true(i < 500);
		test_run(&r->t, 20);
	}
}

static uint32_t slot_of(const struct rig *r, uint32_t client)
{
	return test_slot_of(r->m, client);
}

static uint32_t health(const struct rig *r, uint32_t client)
{
	return r->m->bodies[slot_of(r, client)].health;
}

static void ends_and_goes_home(struct rig *r, uint32_t transfers)
{
	test_run(&r->t, 4500);
	assert_int_equal(r->t.transfers, transfers);
	assert_int_equal(r->t.instance.id, ROOM);
	assert_int_equal(r->t.instance.state, INSTANCE_ENDED);
}

static void it_waits_counts_down_and_begins(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 3);
	come(&r, 0, MIDDLE, MIDDLE);
	test_run(&r.t, 4000); /* one alone does not begin */
	assert_int_equal(r.t.clients[0].match_phase, SW__MATCH_PHASE__WAITING);
	assert_int_equal(r.t.clients[0].speed_mm_per_s, SIM_WALK_MM_PER_S);
	come(&r, 1, MIDDLE + 1000, MIDDLE); /* two do, after start_wait */
	run_to(&r, SW__MATCH_PHASE__COUNTDOWN);
	assert_int_equal(r.t.clients[1].speed_mm_per_s, 0);
	test_input(&r.t, 0, 1, 4, 127, 0);
	test_attack(&r.t, 0, r.t.clients[1].actor_id);
	test_run(&r.t, 400);
	assert_int_equal(r.t.clients[0].input_sequence, 4);
	assert_int_equal(r.t.clients[0].x_mm, MIDDLE);
	assert_int_equal(r.t.clients[0].refused_reason, SW__ACTION_REFUSAL__NOT_BEGUN);
	assert_int_equal(test_counter(&r.t, SIM_REFUSED_NOT_BEGUN), 1);
	assert_int_equal(r.t.instance.state, INSTANCE_LOCKED);
	/* Who leaves now takes nothing with it, but the others wait again. */
	test_gone(&r.t, 1);
	run_to(&r, SW__MATCH_PHASE__WAITING);
	test_run(&r.t, 200);
	assert_int_equal(r.t.instance.state, INSTANCE_OPEN);
	assert_int_equal(r.t.results_asked, 0);
	come(&r, 1, MIDDLE + 1000, MIDDLE);
	come(&r, 2, MIDDLE + 2000, MIDDLE); /* three: at once */
	assert_int_equal(r.t.clients[0].match_phase, SW__MATCH_PHASE__COUNTDOWN);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_run(&r.t, 100);
	assert_int_equal(r.t.instance.state, INSTANCE_CLOSING);
	assert_int_equal(r.t.clients[0].speed_mm_per_s, SIM_WALK_MM_PER_S);
	test_attack(&r.t, 0, r.t.clients[1].actor_id);
	test_run(&r.t, 200);
	assert_true(health(&r, 1) < 100);
	assert_int_equal(health(&r, 2), 100);
	end(&r);
}

/* Who was hurt, or dead, before it begins is whole then, and everybody knows. */
static void all_begin_whole(void **state)
{
	struct test_client *c;
	struct rig r;

	(void)state;
	start(&r, 3);
	for (uint32_t i = 0; i < 3; i++)
		come(&r, i, MIDDLE + (int32_t)i * 1000, MIDDLE);
	c = r.t.clients;
	sim_hurt(r.m, SIM_NONE, slot_of(&r, 1), 60);
	sim_hurt(r.m, SIM_NONE, slot_of(&r, 2), 1000);
	test_run(&r.t, 200);
	assert_int_equal(c[0].match_phase, SW__MATCH_PHASE__COUNTDOWN);
	assert_int_equal(c[0].seen_health[c[1].actor_id], 40);
	assert_int_equal(c[0].seen_health[c[2].actor_id], 0);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_run(&r.t, 200);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(health(&r, i), 100);
		assert_int_equal(c[0].seen_health[c[i].actor_id], 100);
		assert_int_equal(c[i].health, 100);
	}
	assert_int_equal(r.t.results_asked, 0);
	end(&r);
}

/* A trade that was begun while they waited ends with the countdown; none begins before the end. */
static void nobody_trades_in_a_match(void **state)
{
	static const uint32_t phases[] = {
		SW__MATCH_PHASE__COUNTDOWN, SW__MATCH_PHASE__FIGHT, SW__MATCH_PHASE__OVER};
	struct test_client *c;
	struct rig r;

	(void)state;
	start(&r, 3);
	come(&r, 0, MIDDLE, MIDDLE);
	come(&r, 1, MIDDLE + 1000, MIDDLE);
	c = r.t.clients;
	test_trade_ask(&r.t, 0, c[1].actor_id);
	test_run(&r.t, 150);
	test_trade_ask(&r.t, 1, c[0].actor_id);
	test_run(&r.t, 150);
	assert_int_equal(c[0].match_phase, SW__MATCH_PHASE__WAITING);
	assert_int_equal(c[1].trade_phase, SW__TRADE_PHASE__PHASE_OPEN);
	for (uint32_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		run_to(&r, phases[i]);
		test_run(&r.t, 100);
		assert_int_equal(c[0].trade_ends, 1);
		assert_int_equal(c[1].trade_ends, 1);
		assert_int_equal(c[1].trade_end, SW__TRADE_END_REASON__END_AWAY);
		c[0].refused_reason = 0;
		test_trade_ask(&r.t, 0, c[1].actor_id);
		test_run(&r.t, 100);
		assert_int_equal(c[0].refused_reason, SW__ACTION_REFUSAL__IN_MATCH);
		assert_int_equal(test_counter(&r.t, SIM_REFUSED_IN_MATCH), i + 1);
		if (phases[i] == SW__MATCH_PHASE__FIGHT)
			sim_hurt(r.m, SIM_NONE, slot_of(&r, 1), 1000);
	}
	end(&r);
}

static void a_room_without_a_match_ends(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 3);
	test_run(&r.t, 6000);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	end(&r);
	start(&r, 3);
	come(&r, 0, MIDDLE, MIDDLE);
	test_run(&r.t, 19000);
	assert_int_equal(r.t.transfers, 0);
	test_run(&r.t, 2000);
	assert_int_equal(r.t.transfers, 1); /* nobody else came for match_time */
	assert_int_equal(r.t.results_asked, 0);
	end(&r);
}

static void the_zone_shrinks_and_hurts(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 2);
	come(&r, 0, MIDDLE, MIDDLE);
	come(&r, 1, 2000, MIDDLE); /* 30 m from the middle */
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_run(&r.t, 3900); /* the zone of stage 2 begins at 4 s */
	assert_int_equal(health(&r, 1), 100);
	test_run(&r.t, 2300); /* 6.2 s: half of 32 m is reached */
	assert_int_equal(health(&r, 0), 100);
	assert_int_equal(health(&r, 1), 90);
	assert_int_equal(r.t.clients[0].zone_radius_mm > 32000, true); /* as it was when told */
	test_run(&r.t, 1000);
	assert_int_equal(health(&r, 1), 80);
	test_run(&r.t, 2000); /* stage 3 begins at 8 s: 30 a second */
	run_to(&r, SW__MATCH_PHASE__OVER);
	assert_int_equal(r.t.clients[0].results, 1);
	assert_int_equal(r.t.clients[0].place, 1);
	assert_int_equal(r.t.clients[1].place, 2);
	assert_int_equal(r.t.clients[0].winners, 1);
	assert_false(r.t.clients[0].draw);
	assert_int_equal(health(&r, 1), 0);
	test_run(&r.t, 500);
	assert_int_equal(health(&r, 0), 100); /* who has won lives */
	assert_int_equal(r.t.results_asked, 2);
	assert_int_equal(r.t.places[0] * 10 + r.t.places[1], 21);
	assert_int_equal(r.t.result_commit.reason, COMMIT_REASON_MATCH);
	assert_int_equal(r.t.result_commit.character_id[0], 5000);
	assert_int_equal(r.t.result_commit.epoch[0], 3);
	assert_int_equal(r.t.result_op.kind, COMMIT_RESULT);
	assert_int_equal(r.t.result_op.item, 2);
	assert_true(r.t.result_op.serial != 0 && r.t.result_op.serial >> 63 == 0);
	ends_and_goes_home(&r, 2);
	assert_int_equal(r.t.results_asked, 2);
	assert_int_equal(test_counter(&r.t, SIM_RESULTS), 2);
	assert_int_equal(r.t.clients[0].results, 1);
	end(&r);
}

/* Whoever stands outside when the map pauses is hurt for a few seconds of it, not for all. */
static void a_pause_does_not_kill(void **state)
{
	struct rig r;

	(void)state;
	test_write(folder, "battle.yaml",
		"battle: [{at_s: 1, radius_permille: 500, shrink_s: 1, damage: 2}]\n");
	start(&r, 2);
	come(&r, 0, MIDDLE, MIDDLE);
	come(&r, 1, 2000, MIDDLE);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_run(&r.t, 2900);
	assert_in_range(health(&r, 1), 96, 98);
	r.t.now_ns += 10000 * NS_PER_MS;
	test_run(&r.t, 200);
	assert_in_range(health(&r, 1), 86, 88);
	assert_int_equal(health(&r, 0), 100);
	end(&r);
}

static void cards_are_chosen_or_given(void **state)
{
	struct test_client *c;
	struct rig r;

	(void)state;
	start(&r, 3);
	for (uint32_t i = 0; i < 3; i++)
		come(&r, i, MIDDLE + (int32_t)i * 1000, MIDDLE);
	c = r.t.clients;
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_pick(&r.t, 0, 1, 1); /* none is offered yet */
	test_run(&r.t, 500);
	assert_int_equal(c[0].refused_reason, SW__ACTION_REFUSAL__NO_OFFER);
	test_run(&r.t, 700);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(c[i].offers, 1);
		assert_int_equal(c[i].card_count, 3);
		for (uint32_t k = 0; k < 3; k++)
			assert_true(c[i].cards[k] != c[i].cards[(k + 1) % 3]);
	}
	test_pick(&r.t, 0, c[0].offer + 1, c[0].cards[1]);
	test_run(&r.t, 100);
	assert_int_equal(c[0].refused_reason, SW__ACTION_REFUSAL__NO_OFFER);
	test_pick(&r.t, 0, c[0].offer, 99);
	test_run(&r.t, 100);
	assert_int_equal(c[0].refused_reason, SW__ACTION_REFUSAL__NO_SUCH_CARD);
	assert_int_equal(c[0].cards_taken, 0);
	test_pick(&r.t, 0, c[0].offer, c[0].cards[1]);
	test_run(&r.t, 100);
	assert_int_equal(c[0].card_taken, c[0].cards[1]);
	test_pick(&r.t, 0, c[0].offer, c[0].cards[2]); /* a second one */
	test_run(&r.t, 100);
	assert_int_equal(c[0].refused_reason, SW__ACTION_REFUSAL__NO_OFFER);
	assert_int_equal(c[0].cards_taken, 1);
	test_run(&r.t, 2000);
	test_pick(&r.t, 1, c[1].offer, c[1].cards[1]); /* too late */
	test_run(&r.t, 100);
	assert_int_equal(c[1].refused_reason, SW__ACTION_REFUSAL__NO_OFFER);
	assert_int_equal(c[1].card_taken, c[1].cards[0]);
	assert_int_equal(c[1].cards_given, 1);
	assert_int_equal(test_counter(&r.t, SIM_CARDS_PICKED), 1);
	assert_int_equal(test_counter(&r.t, SIM_CARDS_GIVEN), 2);
	assert_int_equal(test_counter(&r.t, SIM_REFUSED_NO_OFFER), 4);
	assert_int_equal(test_counter(&r.t, SIM_REFUSED_NO_SUCH_CARD), 1);
	for (uint32_t i = 0; i < 3; i++) {
		const struct sim_body *body = &r.m->bodies[slot_of(&r, i)];
		const struct sim_body plain = {
			.attack = 10, .defence = 0, .health = 100, .health_max = 100};
		uint32_t card = c[i].card_taken;

		assert_int_equal(body->attack, plain.attack + (card == 1 ? 6 : 0));
		assert_int_equal(body->defence, card == 2 ? 4 : 0);
		assert_int_equal(body->health, 100 + (card == 3 ? 40 : 0));
		assert_int_equal(body->health_max, body->health);
		assert_int_equal(c[i].speed_mm_per_s, card == 4 ? 6000 : 5000);
	}
	end(&r);
}

static void who_leaves_has_fallen(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 4);
	for (uint32_t i = 0; i < 4; i++)
		come(&r, i, MIDDLE + (int32_t)i * 1000, MIDDLE);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_gone(&r.t, 3);
	test_run(&r.t, 200);
	assert_int_equal(r.t.places[0], 4);
	/* Nobody comes back into a fight. */
	come(&r, 3, MIDDLE, MIDDLE);
	assert_int_equal(r.t.refused_reason, SW_REASON_MAP_CLOSING);
	sim_hurt(r.m, SIM_NONE, slot_of(&r, 2), 1000);
	test_run(&r.t, 8000);
	assert_int_equal(r.t.places[1], 3);
	assert_int_equal(health(&r, 2), 0); /* no standing up */
	test_gone(&r.t, 1);
	test_run(&r.t, 200);
	assert_int_equal(r.t.clients[0].place, 1);
	assert_int_equal(r.t.clients[0].ranked, 4);
	ends_and_goes_home(&r, 2);
	assert_int_equal(r.t.place_count, 4);
	end(&r);
	/* And everybody. */
	start(&r, 2);
	come(&r, 0, MIDDLE, MIDDLE);
	come(&r, 1, MIDDLE, MIDDLE);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_gone(&r.t, 0);
	test_gone(&r.t, 1);
	test_run(&r.t, 5000);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	assert_int_equal(r.t.place_count, 2);
	assert_int_equal(r.t.places[0] + r.t.places[1], 2); /* in one tick: a draw */
	end(&r);
}

static void the_end_by_time_is_ranked(void **state)
{
	/* Where three stand at the end of a match without a zone, what two have lost, the places.
	 */
	static const struct {
		int32_t x_mm[3];
		uint32_t hurt[3], place[3];
		bool draw;
	} rows[] = {
		{{MIDDLE, MIDDLE + 900, MIDDLE - 500}, {30, 0, 20}, {3, 1, 2}, false},
		{{MIDDLE + 300, MIDDLE + 900, MIDDLE - 500}, {5, 5, 5}, {1, 3, 2}, false},
		{{MIDDLE + 300, MIDDLE - 300, MIDDLE}, {0, 0, 10}, {1, 1, 3}, true},
	};

	(void)state;
	test_write(folder, "battle.yaml", "battle: []\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig r;

		start(&r, 3);
		for (uint32_t c = 0; c < 3; c++)
			come(&r, c, rows[i].x_mm[c], MIDDLE);
		run_to(&r, SW__MATCH_PHASE__FIGHT);
		for (uint32_t c = 0; c < 3; c++)
			if (rows[i].hurt[c])
				sim_hurt(r.m, SIM_NONE, slot_of(&r, c), rows[i].hurt[c]);
		test_run(&r.t, 12000);
		run_to(&r, SW__MATCH_PHASE__OVER);
		for (uint32_t c = 0; c < 3; c++)
			if (r.t.clients[c].place != rows[i].place[c])
				fail_msg("row %zu: client %u has place %u", i, c,
					r.t.clients[c].place);
		assert_int_equal(r.t.clients[0].draw, rows[i].draw);
		test_run(&r.t, 500);
		for (uint32_t c = 0; c < 3; c++)
			assert_int_equal(health(&r, c), 100 - rows[i].hurt[c]);
		end(&r);
	}
}

/* Ten of one party, where friends do not hurt each other, and no zone that would: nothing but their
 * blows ends it before the time is up. */
static void a_party_fights_it_out(void **state)
{
	struct test_party party = {.party = 9, .version = 100, .member_count = 10, .target_count = 10};
	uint32_t winners = 0, places = 0;
	struct test_client *c;
	struct rig r;

	(void)state;
	test_write(folder, "battle.yaml", "battle: []\n");
	start(&r, 10);
	for (uint32_t i = 0; i < 10; i++) {
		come(&r, i, MIDDLE + (int32_t)i * 100, MIDDLE);
		party.members[i] = party.targets[i] = i;
	}
	c = r.t.clients;
	test_party_say(&r.t, &party);
	test_run(&r.t, 150);
	assert_true(sim_party_same(r.m, slot_of(&r, 0), slot_of(&r, 9)));
	assert_int_equal(r.m->config.friendly_fire, 0);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	for (uint32_t i = 0; i < 10; i++)
		sim_hurt(r.m, SIM_NONE, slot_of(&r, i), 85);
	for (uint32_t beat = 0; beat < 150 && c[0].match_phase == SW__MATCH_PHASE__FIGHT; beat++) {
		uint32_t prey = 9;

		while (prey && !health(&r, prey))
			prey--;
		for (uint32_t i = 0; i < prey; i++)
			test_attack(&r.t, i, c[prey].actor_id);
		test_attack(&r.t, prey, c[prey ? prey - 1 : 0].actor_id);
		test_run(&r.t, 67);
	}
	assert_int_equal(c[0].match_phase, SW__MATCH_PHASE__OVER);
	assert_false(c[0].draw);
	assert_int_equal(c[0].ranked, 10);
	for (uint32_t i = 0; i < 10; i++) {
		winners += c[i].place == 1;
		places += c[i].place;
		assert_int_equal(health(&r, i) > 0, c[i].place == 1);
	}
	assert_int_equal(winners, 1);
	assert_true(places <= 55); /* who fall in one tick share the better place */
	test_run(&r.t, 500);
	assert_int_equal(r.t.place_count, 10);
	end(&r);
}

static void results_are_kept_or_given_up(void **state)
{
	struct rig r;

	(void)state;
	start(&r, 2);
	r.t.result_answer = COMMIT_RESULT_UNAVAILABLE;
	come(&r, 0, MIDDLE, MIDDLE);
	come(&r, 1, MIDDLE, MIDDLE);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_gone(&r.t, 1);
	test_run(&r.t, 5000);
	assert_int_equal(r.t.transfers, 1); /* nobody waits for it, but the room */
	assert_int_equal(r.t.instance.state, INSTANCE_CLOSING);
	assert_in_range(r.t.results_asked, 5, 8);
	assert_int_equal(test_counter(&r.t, SIM_RESULTS), 0);
	r.t.result_answer = COMMIT_RESULT_OK;
	test_run(&r.t, 2500);
	assert_int_equal(test_counter(&r.t, SIM_RESULTS), 2);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	end(&r);
	/* No answer at all, and one too late; refused for good. */
	start(&r, 2);
	r.t.result_answer = COMMIT_RESULT_COUNT;
	come(&r, 0, MIDDLE, MIDDLE);
	come(&r, 1, MIDDLE, MIDDLE);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_gone(&r.t, 1);
	test_run(&r.t, 5000);
	assert_int_equal(r.t.instance.state, INSTANCE_CLOSING);
	test_run(&r.t, SIM_RESULT_WAIT_S * 1000);
	assert_int_equal(r.t.instance.state, INSTANCE_ENDED);
	assert_int_equal(r.t.results_asked, 2);
	assert_int_equal(test_counter(&r.t, SIM_RESULTS_LOST), 2);
	end(&r);
	start(&r, 2);
	r.t.result_answer = COMMIT_RESULT_STALE;
	come(&r, 0, MIDDLE, MIDDLE);
	come(&r, 1, MIDDLE, MIDDLE);
	run_to(&r, SW__MATCH_PHASE__FIGHT);
	test_gone(&r.t, 1);
	ends_and_goes_home(&r, 1);
	assert_int_equal(r.t.results_asked, 2);
	assert_int_equal(test_counter(&r.t, SIM_RESULTS_LOST), 2);
	end(&r);
}

static void one_seed_and_log_give_one_state(void **state)
{
	static struct rig r[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		start(&r[i], 10);
		for (uint32_t c = 0; c < 10; c++)
			come(&r[i], c, 20000 + (int32_t)c * 2500, MIDDLE);
	}
	for (uint32_t tick = 1; tick < 260; tick++) {
		for (uint32_t i = 0; i < 2; i++) {
			struct test_client *c = r[i].t.clients;

			for (uint32_t n = 0; n < 10; n++) {
				test_input(&r[i].t, n, tick, 1,
					(int32_t)(n * 40 + tick) % 255 - 127,
					(int32_t)(n * 90 + tick * 3) % 255 - 127);
				if (tick % 5 == n % 5)
					test_attack(&r[i].t, n, c[(n + 1) % 10].actor_id);
				if (c[n].offer && tick % 10 == n)
					test_pick(&r[i].t, n, c[n].offer, c[n].cards[n % 3]);
			}
			if (tick == 100)
				test_gone(&r[i].t, 4);
			test_run(&r[i].t, 67);
		}
		assert_true(sim_shard_hash(r[0].t.shard) == sim_shard_hash(r[1].t.shard));
	}
	assert_int_equal(r[0].t.clients[0].results, 1);
	assert_true(test_counter(&r[0].t, SIM_CARDS_PICKED) > 2);
	end(&r[0]);
	end(&r[1]);
}

static void a_room_too_large_stops_the_start(void **state)
{
	static const struct {
		uint32_t players_max, start_players;
	} rows[] = {{65, 10}, {10, 11}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_shard t;
		char error[512] = "";

		test_init(&t, 64, rows[i].players_max);
		t.config.maps[0].kind = CONFIG_MAP_ROOM;
		strcpy(t.config.maps[0].rule, "battle");
		t.config.maps[0].start_players = rows[i].start_players;
		assert_null(sim_instances_new(&t.config, NULL, 1, error, sizeof(error)));
		assert_non_null(strstr(error, "allowed for the rule battle are up to 64"));
	}
}

#define STAGES                                                                                     \
	"battle:\n"                                                                                \
	"  - {at_s: 1, radius_permille: 3000, pick_s: 2}\n"                                        \
	"  - {at_s: 4, radius_permille: 500, shrink_s: 2, damage: 10}\n"                           \
	"  - {at_s: 8, radius_permille: 100, shrink_s: 1, damage: 30}\n"

static int with_stages(void **state)
{
	(void)state;
	test_write(folder, "battle.yaml", STAGES);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_waits_counts_down_and_begins, with_stages),
		cmocka_unit_test_setup(all_begin_whole, with_stages),
		cmocka_unit_test_setup(nobody_trades_in_a_match, with_stages),
		cmocka_unit_test_setup(a_room_without_a_match_ends, with_stages),
		cmocka_unit_test_setup(the_zone_shrinks_and_hurts, with_stages),
		cmocka_unit_test(a_pause_does_not_kill),
		cmocka_unit_test_setup(cards_are_chosen_or_given, with_stages),
		cmocka_unit_test_setup(who_leaves_has_fallen, with_stages),
		cmocka_unit_test_setup(the_end_by_time_is_ranked, with_stages),
		cmocka_unit_test(a_party_fights_it_out),
		cmocka_unit_test_setup(results_are_kept_or_given_up, with_stages),
		cmocka_unit_test_setup(one_seed_and_log_give_one_state, with_stages),
		cmocka_unit_test(a_room_too_large_stops_the_start),
	};
	static const char *const names[] = {"battle.yaml", "cards.yaml"};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	test_write(folder, "cards.yaml",
		"cards:\n"
		"  - {number: 1, name: blade, attack: 6}\n"
		"  - {number: 2, name: shirt, defence: 4}\n"
		"  - {number: 3, name: heart, health: 40}\n"
		"  - {number: 4, name: feet, speed_permille: 200}\n");
	failed = cmocka_run_group_tests_name("battle", tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed;
}
