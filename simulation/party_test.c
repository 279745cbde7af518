/* Proves the shard's side of parties: a player's request goes to control and its answer comes back;
 * what control says takes effect in stage 4 whatever the order, however often, and with pieces
 * missing; words for others, for who has left, or that cannot be change nothing; members see how
 * members are; a kill's experience is shared among the near; members do not hurt each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/party.h"
#include "simulation/state.h"
#include "simulation/testing.h"
#include "simulation/testing_game.h"

#define MEADOW_M 100

/* Clients 0 to count - 1 a metre apart. */
static void start(struct test_shard *t, uint32_t count)
{
	test_init(t, MEADOW_M, 16);
	test_start(t, 1);
	for (uint32_t c = 0; c < count; c++)
		test_join(t, c, true, 50000 + (int32_t)c * 1000, 50000);
	test_run(t, 300);
}

static void a_request_goes_to_control_and_its_answer_back(void **state)
{
	struct test_shard t;
	struct msg message[2];
	struct msg_party_answer answer = {
		.request = 77, .character_id = 5000, .act = PARTY_ACT_INVITE, .result = PARTY_FULL};

	(void)state;
	start(&t, 2);
	assert_int_equal(t.party_asks, 2); /* who comes asks, once */
	assert_int_equal(t.party_request.act, PARTY_ACT_ARRIVE);
	assert_string_equal(t.party_request.map, "meadow");
	test_party_request(&t, 0, 77, PARTY_ACT_INVITE, 0, "Bo");
	test_run(&t, 100);
	assert_int_equal(t.party_requests, 1);
	assert_int_equal(t.party_request.request, 77);
	assert_int_equal(t.party_request.character_id, 5000);
	assert_int_equal(t.party_request.act, PARTY_ACT_INVITE);
	assert_string_equal(t.party_request.name, "Bo");
	memcpy(msg_begin(message, MSG_PARTY_ANSWER, test_peer(0), sizeof(answer)), &answer,
		sizeof(answer));
	message->subject = 999; /* of a session that is over */
	msg_ring_push(t.links.from_control, message);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].party_answers, 0);
	assert_int_equal(test_counter(&t, SIM_PARTY_WRONG_TARGET), 1);
	message->subject = t.clients[0].session;
	msg_ring_push(t.links.from_control, message);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].party_answers, 1);
	assert_int_equal(t.clients[0].party_request, 77);
	assert_int_equal(t.clients[0].party_result, PARTY_FULL);
	test_end(&t);
}

static void requests_are_bounded_and_checked(void **state)
{
	struct test_shard t;
	static const uint8_t broken[] = {SW_MSG_PARTY_REQUEST, 0x2a, 0x7f};

	(void)state;
	start(&t, 1);
	for (uint32_t i = 0; i < 12; i++)
		test_party_request(&t, 0, 100 + i, PARTY_ACT_LEAVE, 0, "");
	test_run(&t, 100);
	assert_int_equal(t.party_requests, SIM_PARTY_TOKENS);
	assert_int_equal(test_counter(&t, SIM_PARTY_TOO_OFTEN), 12 - SIM_PARTY_TOKENS);
	assert_int_equal(t.clients[0].party_result, PARTY_TOO_OFTEN);
	assert_true(t.clients[0].party_answers <= SIM_REFUSALS_PER_TICK);
	test_run(&t, 2000); /* two more */
	test_party_request(&t, 0, 200, PARTY_ACT_COUNT, 0, "");
	test_party_request(&t, 0, 0, PARTY_ACT_LEAVE, 0, "");
	test_run(&t, 100);
	assert_int_equal(t.clients[0].party_result, PARTY_NO_SUCH_ACT);
	assert_int_equal(test_counter(&t, SIM_PARTY_NO_SUCH_ACT), 2);
	assert_int_equal(t.party_requests, SIM_PARTY_TOKENS);
	test_run(&t, 2000);
	/* A name that cannot be one is none: control refuses it. */
	test_party_request(
		&t, 0, 201, PARTY_ACT_INVITE, 0, "0123456789012345678901234567890123456789");
	test_run(&t, 100);
	assert_int_equal(t.party_requests, SIM_PARTY_TOKENS + 1);
	assert_string_equal(t.party_request.name, "");
	test_packet(&t, 0, SW_CHANNEL_SESSION, broken, sizeof(broken));
	test_packet(&t, 0, SW_CHANNEL_CHAT, broken, sizeof(broken));
	test_run(&t, 100);
	assert_int_equal(test_counter(&t, SIM_MALFORMED_UNDECODABLE), 1);
	assert_int_equal(test_counter(&t, SIM_MALFORMED_WRONG_CHANNEL), 1);
	test_end(&t);
}

static const struct test_party made = {
	9, 100, 0, PARTY_CHANGE_JOINED, {0, 1, 7}, 3, {0, 1}, 2}; /* 7 is elsewhere */

static void what_is_said_takes_effect_once(void **state)
{
	struct test_shard t;

	(void)state;
	start(&t, 3);
	for (int i = 0; i < 3; i++)
		test_party_say(&t, &made);
	test_run(&t, 100);
	for (uint32_t c = 0; c < 2; c++) {
		assert_int_equal(t.clients[c].party, 9);
		assert_int_equal(t.clients[c].party_members, 3);
		assert_int_equal(t.clients[c].party_states, 1);
		assert_int_equal(t.clients[c].party_change, PARTY_CHANGE_JOINED);
	}
	assert_int_equal(t.clients[2].party_states, 0);
	assert_int_equal(test_counter(&t, SIM_PARTY_REPEATED), 4);
	assert_true(sim_party_same(t.shard->maps[0], test_slot_of(t.shard->maps[0], 0),
		test_slot_of(t.shard->maps[0], 1)));
	test_end(&t);
}

#define WORDS 5u

/* Every order of five words, each said once or twice, some left out but never the newest of each:
 * all end alike. end: the party of each client. missed_below: of the words before that one or none
 * is left out. */
static void every_order(
	const struct test_party words[WORDS], const uint64_t end[4], uint32_t missed_below)
{
	for (uint32_t order = 0; order < 120; order++) {
		struct test_shard t;
		uint32_t left[WORDS] = {0, 1, 2, 3, 4}, count = WORDS, number = order, parties = 0;

		start(&t, 4);
		while (count) {
			uint32_t at = number % count, which = left[at];

			number /= count;
			memmove(&left[at], &left[at + 1], (count - at - 1) * sizeof(left[0]));
			count--;
			if (which < missed_below && order % 3 == which)
				continue; /* missed: a later one says more */
			test_party_say(&t, &words[which]);
			if (order % 2)
				test_party_say(&t, &words[which]);
			if (order % 5 == count)
				test_run(&t, 60);
		}
		test_run(&t, 120);
		for (uint32_t c = 0; c < 4; c++)
			if (t.clients[c].party != end[c])
				fail_msg("order %u: client %u believes in %d", order, c,
					(int)t.clients[c].party);
		for (uint32_t c = 0; c < 4; c++) {
			const struct sim_map *m = t.shard->maps[0];
			bool first = end[c] != 0;

			for (uint32_t other = 0; other < c; other++) {
				first &= end[other] != end[c];
				if (sim_party_same(m, test_slot_of(m, c), test_slot_of(m, other)) !=
					(end[c] && end[c] == end[other]))
					fail_msg("order %u: %u and %u", order, c, other);
			}
			parties += first;
		}
		assert_int_equal(t.shard->maps[0]->parties.table.count, parties);
		test_end(&t);
	}
}

static void any_order_ends_alike(void **state)
{
	static const struct test_party gone[WORDS] = {
		{9, 100, 0, PARTY_CHANGE_JOINED, {0, 1}, 2, {0, 1}, 2},
		{9, 101, 0, PARTY_CHANGE_JOINED, {0, 1, 2}, 3, {0, 1, 2}, 3},
		{9, 102, 0, PARTY_CHANGE_KICKED, {0, 2}, 2, {0, 1, 2}, 3},
		{4, 103, 3, PARTY_CHANGE_JOINED, {3, 1}, 2, {3, 1}, 2},
		{9, 104, 0, PARTY_CHANGE_LEFT, {0}, 0, {0, 2}, 2},
	};
	/* The last is an answer to 2 alone, who has come: it may overtake what is said of changes.
	 * It has the newest word of its party, and nothing of what 1 has gone to. */
	static const struct test_party overtaken[WORDS] = {
		{9, 100, 0, PARTY_CHANGE_JOINED, {0, 1}, 2, {0, 1}, 2},
		{9, 101, 0, PARTY_CHANGE_JOINED, {0, 1, 2}, 3, {0, 1, 2}, 3},
		{9, 102, 0, PARTY_CHANGE_KICKED, {0, 2}, 2, {0, 1, 2}, 3},
		{4, 103, 3, PARTY_CHANGE_JOINED, {3, 1}, 2, {3, 1}, 2},
		{9, 104, 2, PARTY_CHANGE_NONE, {0, 2}, 2, {2}, 1},
	};
	static const uint64_t none_of_9[] = {0, 4, 0, 4}, two_of_9[] = {9, 4, 9, 4};

	(void)state;
	every_order(gone, none_of_9, 3);
	every_order(overtaken, two_of_9, 2);
}

static void words_that_cannot_be_change_nothing(void **state)
{
	struct test_shard t;
	struct test_party odd = made;
	struct msg message[4] = {{0}};

	(void)state;
	start(&t, 3);
	test_party_say(&t, &made);
	test_run(&t, 100);
	/* More members than the configuration has; a state whose sizes lie; an unknown length. */
	odd.version = 200;
	odd.member_count = 8;
	test_party_say(&t, &odd);
	msg_begin(message, MSG_PARTY_STATE, HANDLE_NONE, sizeof(struct msg_party_state));
	((struct msg_party_state *)message->payload)->member_count = UINT32_MAX;
	msg_ring_push(t.links.from_control, message);
	msg_begin(message, MSG_PARTY_STATE, HANDLE_NONE, 4);
	msg_ring_push(t.links.from_control, message);
	msg_begin(message, MSG_PARTY_ANSWER, test_peer(0), 4);
	msg_ring_push(t.links.from_control, message);
	test_run(&t, 100);
	assert_int_equal(test_counter(&t, SIM_PARTY_ODD), 2);
	assert_int_equal(test_counter(&t, SIM_MESSAGES_UNKNOWN), 2);
	assert_int_equal(t.clients[0].party_states, 1);
	/* For one that has left meanwhile; for its next session in the same place. */
	test_gone(&t, 1);
	test_run(&t, 200);
	odd = made;
	odd.version = 201;
	test_party_say(&t, &odd);
	test_run(&t, 100);
	assert_int_equal(test_counter(&t, SIM_PARTY_WRONG_TARGET), 1);
	assert_int_equal(t.clients[0].party_version, 201);
	assert_int_equal(t.shard->maps[0]->parties.table.parties[0].here, 1);
	test_end(&t);
}

static void who_comes_again_asks_again(void **state)
{
	struct test_shard t;
	struct msg message = {0};
	struct test_party known = made;

	(void)state;
	start(&t, 2);
	test_party_say(&t, &made);
	test_run(&t, 100);
	test_gone(&t, 1);
	test_run(&t, 200);
	assert_int_equal(t.party_asks, 2);
	test_join(&t, 1, true, 50000, 50000);
	test_run(&t, 300);
	assert_int_equal(t.party_asks, 3);
	assert_int_equal(t.clients[1].party_states, 0); /* told when control has said so */
	known.change = PARTY_CHANGE_NONE;
	known.targets[0] = 1;
	known.target_count = 1;
	test_party_say(&t, &known);
	test_run(&t, 100);
	assert_int_equal(t.clients[1].party_members, 3);
	assert_int_equal(t.clients[0].party_states, 1); /* knew it */
	/* In none any more: the answer to an ARRIVE says so; the party goes with its last. */
	known = (struct test_party){.version = 300, .targets = {1}, .target_count = 1};
	test_party_say(&t, &known);
	known.targets[0] = 0;
	test_party_say(&t, &known);
	test_run(&t, 100);
	assert_int_equal(t.clients[1].party, 0);
	assert_int_equal(t.clients[1].party_states, 2);
	assert_int_equal(t.shard->maps[0]->parties.table.count, 0);
	test_party_say(&t, &known); /* and again: nothing to tell */
	msg_begin(&message, MSG_PARTY_RESYNC, HANDLE_NONE, 0);
	msg_ring_push(t.links.from_control, &message);
	test_run(&t, SIM_PARTY_RESYNC_S * 1000 + 100);
	assert_int_equal(t.clients[0].party_states, 2);
	assert_int_equal(t.party_asks, 5);
	test_end(&t);
}

static void a_full_inbox_is_made_good(void **state)
{
	struct test_shard t;
	struct test_party word = made;

	(void)state;
	start(&t, 2);
	/* Within one tick, more than the inbox holds. */
	for (uint32_t i = 0; i < 400; i++) {
		word.version = 100 + i;
		test_party_say(&t, &word);
	}
	test_run(&t, 100);
	assert_true(test_counter(&t, SIM_PARTY_LOST) > 0);
	for (uint32_t c = 0; c < 2; c++)
		assert_true(t.clients[c].party_asks > 1); /* once when it came */
	assert_int_equal(t.clients[0].party_members, 3);
	test_end(&t);
}

static void members_see_how_members_are(void **state)
{
	struct test_shard t;
	uint32_t lives;

	(void)state;
	start(&t, 3);
	test_party_say(&t, &made);
	test_run(&t, 1100);
	assert_true(t.clients[0].party_lives >= 1);
	assert_int_equal(t.clients[0].party_live_members, 2);
	assert_int_equal(t.clients[2].party_lives, 0);
	assert_int_equal(t.clients[1].party_live_x_mm, 50000);
	lives = t.clients[0].party_lives;
	test_run(&t, 3000); /* nothing changes: nothing is said */
	assert_int_equal(t.clients[0].party_lives, lives);
	for (uint32_t i = 0; i < 20; i++) {
		test_input(&t, 0, 1 + i, 1, 127, 0);
		test_run(&t, 50);
	}
	test_run(&t, 1000);
	assert_true(t.clients[1].party_lives > lives);
	assert_true(t.clients[1].party_lives <= lives + 3);
	assert_true(t.clients[1].party_live_x_mm > 54000);
	test_gone(&t, 1); /* alone: nobody is told */
	test_run(&t, 1200);
	lives = t.clients[0].party_lives;
	for (uint32_t i = 0; i < 20; i++) {
		test_input(&t, 0, 100 + i, 1, -127, 0);
		test_run(&t, 50);
	}
	assert_int_equal(t.clients[0].party_lives, lives);
	test_end(&t);
}

/* What each has earned and not been paid for. */
static int64_t due(struct test_shard *t, uint32_t client)
{
	struct sim_map *m = t->shard->maps[0];

	return m->purses[test_slot_of(m, client)].experience_due;
}

static void share(struct test_shard *t, uint32_t owner, uint32_t experience)
{
	struct sim_map *m = t->shard->maps[0];
	struct sim_party_group group;

	sim_party_near(m, test_slot_of(m, owner), 50000, 50000, &group);
	sim_party_share(m, &group, experience);
}

static void experience_is_shared_among_the_near(void **state)
{
	static const struct {
		uint32_t share, range_m, experience;
		int64_t due[4];
	} cases[] = {
		{1, 40, 100, {34, 33, 33, 0}}, /* 3 is no member */
		{1, 40, 2, {2, 0, 0, 0}},
		{1, 40, 5, {3, 1, 1, 0}},
		{1, 1, 100, {50, 50, 0, 0}}, /* 2 is 2 m away */
		{0, 40, 100, {100, 0, 0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_shard t;
		struct sim_map *m;
		struct test_party party = made;

		test_init(&t, MEADOW_M, 16);
		t.config.party.share_experience = cases[i].share;
		t.config.party.share_range_m = cases[i].range_m;
		test_start(&t, 1);
		for (uint32_t c = 0; c < 4; c++)
			test_join(&t, c, true, 50000 + (int32_t)c * 1000, 50000);
		test_run(&t, 300);
		party.members[2] = 2;
		party.targets[party.target_count++] = 2;
		test_party_say(&t, &party);
		test_run(&t, 100);
		m = t.shard->maps[0];
		t.hold_commits = true;
		share(&t, 0, cases[i].experience);
		for (uint32_t c = 0; c < 4; c++)
			if (due(&t, c) != cases[i].due[c])
				fail_msg("case %zu: client %u earned %d", i, c, (int)due(&t, c));
		/* The dead earn nothing. */
		m->bodies[test_slot_of(m, 1)].health = 0;
		share(&t, 0, 100);
		assert_int_equal(due(&t, 1), cases[i].due[1]);
		test_end(&t);
	}
}

static void members_do_not_hurt_each_other(void **state)
{
	(void)state;
	for (uint32_t fire = 0; fire < 2; fire++) {
		struct test_shard t;
		struct sim_map *m;
		uint32_t other;

		test_init(&t, MEADOW_M, 16);
		t.config.maps[0].friendly_fire = fire;
		test_start(&t, 1);
		for (uint32_t c = 0; c < 3; c++)
			test_join(&t, c, true, 50000 + (int32_t)c * 500, 50000);
		test_run(&t, 300);
		test_party_say(&t, &made);
		test_run(&t, 100);
		m = t.shard->maps[0];
		m->match.pvp = true;
		other = m->entities[test_slot_of(m, 1)].wire_id;
		test_attack(&t, 0, other);
		test_run(&t, 100);
		assert_int_equal(t.clients[1].blows, fire);
		assert_int_equal(test_counter(&t, SIM_REFUSED_WRONG_TARGET), !fire);
		test_run(&t, 1500);
		test_attack(&t, 2, other); /* is no member */
		test_run(&t, 100);
		assert_int_equal(t.clients[1].blows, fire + 1);
		test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_goes_to_control_and_its_answer_back),
		cmocka_unit_test(requests_are_bounded_and_checked),
		cmocka_unit_test(what_is_said_takes_effect_once),
		cmocka_unit_test(any_order_ends_alike),
		cmocka_unit_test(words_that_cannot_be_change_nothing),
		cmocka_unit_test(who_comes_again_asks_again),
		cmocka_unit_test(a_full_inbox_is_made_good),
		cmocka_unit_test(members_see_how_members_are),
		cmocka_unit_test(experience_is_shared_among_the_near),
		cmocka_unit_test(members_do_not_hurt_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
