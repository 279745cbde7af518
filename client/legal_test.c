/* Proves: a client that predicts, over a path of 150 ms there and back with jitter and 5 % loss
 * each way, is never corrected while it moves legally: on open ground and at its edge, beside walls
 * and in corners, at 15, 20 and 30 Hz, after pauses, with frames that come late, clocks that run a
 * little fast or slow, and a server whose ticks come late. In the end it stands where the server
 * says, to the millimetre. One that is too fast, or walks through walls, is corrected and ends
 * where the server says, which is somewhere legal that a legal walker could have reached.
 *
 * LEGAL_SEEDS in the environment runs more seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/legal_rig.h"

static uint32_t seeds(void)
{
	const char *text = getenv("LEGAL_SEEDS");
	int count = text ? atoi(text) : 0;

	return count > 0 ? (uint32_t)count : 12;
}

static void legal_movement_is_never_corrected(void **state)
{
	static const uint32_t rates[] = {15, 20, 30};
	uint64_t inputs = 0, dropped = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= seeds(); seed++) {
		for (uint32_t i = 0; i < 6; i++) {
			struct rig r;
			char who[80];

			snprintf(who, sizeof(who), "seed %llu, %u Hz%s", (unsigned long long)seed,
				rates[i / 2], i % 2 ? ", walls" : "");
			rig_start(&r, seed, rates[i / 2], i % 2, true);
			for (uint32_t n = 0; n < 3; n++) {
				rig_wander(&r, 12000);
				if (r.session.stats.corrections)
					fail_msg("%s: corrected %llu times, by up to %llu mm, "
						 "last at %llu ms, input %u; dropped %llu",
						who,
						(unsigned long long)r.session.stats.corrections,
						(unsigned long long)
							r.session.stats.correction_mm_max,
						(unsigned long long)r.corrected_ms,
						r.corrected_input,
						(unsigned long long)test_counter(
							&r.t, SIM_INPUTS_DROPPED));
				rig_settle(&r, who);
			}
			inputs += r.session.stats.inputs;
			dropped += test_counter(&r.t, SIM_INPUTS_DROPPED);
			assert_int_equal(r.session.stats.corrections, 0);
			rig_stop(&r);
		}
	}
	print_message("%llu inputs, none corrected\n", (unsigned long long)inputs);
	assert_int_equal(dropped, 0);
}

/* An hour's walk without a rest, by a clock that is wrong by a thousandth, ten times what crystals
 * have: nothing piles up on the server, and nothing is corrected. The same for a client that does
 * not read the hint but keeps to eight unanswered inputs. */
static void an_hour_with_a_wrong_clock(void **state)
{
	static const struct {
		double pace;
		bool stock;
		uint32_t hz;
	} rows[] = {{1.001, false, 20}, {0.999, false, 20}, {1.0005, false, 30},
		{0.9995, false, 15}, {1.001, true, 20}, {0.999, true, 20}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t turn_ms = 0;
		struct rig r;
		char who[32];

		snprintf(who, sizeof(who), "row %zu", i);
		rig_start(&r, 100 + i, rows[i].hz, false, false);
		r.pace = rows[i].pace;
		r.stock = rows[i].stock;
		for (uint32_t ms = 0; ms < 3600000; ms++) {
			if (netsim_now_ms(r.net) >= turn_ms) {
				int x = (int)netsim_random(r.net, 2) * 2 - 1;

				turn_ms = netsim_now_ms(r.net) + 500 + netsim_random(r.net, 2000);
				swc_session_walk(
					&r.session, 127 * x, (int)netsim_random(r.net, 255) - 127);
			}
			rig_pass_ms(&r);
		}
		if (r.session.stats.corrections || test_counter(&r.t, SIM_INPUTS_DROPPED) ||
			r.waiting_most > 6)
			fail_msg("%s: corrected %llu times, dropped %llu, %u waited", who,
				(unsigned long long)r.session.stats.corrections,
				(unsigned long long)test_counter(&r.t, SIM_INPUTS_DROPPED),
				r.waiting_most);
		print_message("%s: %llu inputs, at most %u waited\n", who,
			(unsigned long long)r.session.stats.inputs, r.waiting_most);
		/* It is no slower for it than its clock and the server's allow. */
		assert_true(r.session.stats.inputs >= 3600ull * rows[i].hz * 995 / 1000);
		rig_settle(&r, who);
		rig_stop(&r);
	}
}

/* Twice as many inputs as time allows. */
static void who_is_too_fast_is_corrected(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig r;
		uint64_t began;

		rig_start(&r, seed, 20, false, false);
		began = r.t.shard->maps[0]->tick;
		r.ticks_at_once = 2;
		for (uint32_t n = 0; n < 6; n++) {
			swc_session_walk(&r.session, n % 2 ? -127 : 127, 0);
			for (uint32_t ms = 0; ms < 1500; ms++)
				rig_pass_ms(&r);
		}
		assert_true(r.session.stats.corrections > 3);
		/* No step more than ticks, and the bank. */
		assert_true(test_counter(&r.t, SIM_INPUTS) <=
			    r.t.shard->maps[0]->tick - began + SIM_INPUT_BANK + 1);
		rig_settle(&r, "too fast");
		rig_stop(&r);
	}
}

/* A client that knows of no walls, on purpose or not. */
static void who_walks_through_walls_is_corrected(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rig r;

		rig_start(&r, seed, 20, true, false);
		swc_session_walk(&r.session, 127, 0); /* from 4.5, 7.5 m; a wall at 8 m */
		for (uint32_t ms = 0; ms < 3000; ms++) {
			rig_pass_ms(&r);
			assert_true(rig_entity(&r)->x_mm < 8000);
			assert_true(sw_move_legal(&r.t.shard->maps[0]->rules, rig_entity(&r)->x_mm,
				rig_entity(&r)->y_mm));
		}
		assert_true(r.session.stats.corrections > 3);
		rig_settle(&r, "through walls");
		assert_in_range(r.session.self.x_mm, 7000, 8000); /* at the wall */
		rig_stop(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(legal_movement_is_never_corrected),
		cmocka_unit_test(an_hour_with_a_wrong_clock),
		cmocka_unit_test(who_is_too_fast_is_corrected),
		cmocka_unit_test(who_walks_through_walls_is_corrected),
	};
	int failed;

	if (rig_begin())
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_end();
	return failed;
}
