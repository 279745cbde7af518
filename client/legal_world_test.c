/* Proves that prediction holds in the whole world, not on one map alone: over 150 ms and 5 % loss a
 * client that walks among monsters, into portals and out of them, between maps with other walls and
 * other tick rates, is never corrected for it, and where it is put by the server (it dies, it
 * stands up elsewhere) it is corrected for that, once, and for nothing after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/legal_rig.h"
#include "simulation/combat.h"

/* Straight on, to the east on the one map and to the west on the other: through the portals. */
static void travel(struct rig *r, uint32_t ms)
{
	while (ms--) {
		if (netsim_now_ms(r->net) % 400 == 0) {
			int way = !strcmp(r->session.self.map, "meadow") ? 127 : -127;

			swc_session_walk(&r->session, way, (int)netsim_random(r->net, 255) - 127);
		}
		rig_pass_ms(r);
	}
}

static void portals_and_monsters_correct_nobody(void **state)
{
	uint32_t transfers = 0, maps_seen = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct rig r;
		char who[32];

		snprintf(who, sizeof(who), "seed %llu", (unsigned long long)seed);
		rig_start_world(&r, seed);
		for (uint32_t n = 0; n < 4; n++) {
			rig_wander(&r, 8000);
			travel(&r, 30000);
			rig_settle(&r, who);
			if (r.session.stats.corrections)
				fail_msg("%s: corrected %llu times, by up to %llu mm, last at %llu "
					 "ms, input %u, after %u transfers",
					who, (unsigned long long)r.session.stats.corrections,
					(unsigned long long)r.session.stats.correction_mm_max,
					(unsigned long long)r.corrected_ms, r.corrected_input,
					r.transfers);
			assert_int_equal(r.session.self.walls, SWC_WALLS_KNOWN);
			maps_seen |= !strcmp(r.session.self.map, "cave") ? 2 : 1;
		}
		assert_int_equal(r.joins, r.transfers + 1);
		assert_true(
			test_counter(&r.t, SIM_PACKETS_LEFT_MAP) > 0); /* it walked on meanwhile */
		assert_int_equal(test_counter(&r.t, SIM_INPUTS_DROPPED), 0);
		transfers += r.transfers;
		rig_stop(&r);
	}
	print_message("%u transfers\n", transfers);
	assert_true(transfers > 40);
	assert_int_equal(maps_seen, 3);
}

/* Killed while it walks, six times; it stands up at the spawn. */
static void death_and_a_new_place_are_all_that_is_corrected(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct rig r;

		rig_start(&r, 50 + seed, 20, true, true);
		for (uint32_t n = 0; n < 6; n++) {
			uint64_t before = r.session.stats.corrections, after;
			struct sim_map *m;
			uint32_t slot;

			rig_wander(&r, 4000);
			assert_int_equal(r.session.stats.corrections, before);
			m = rig_map(&r, &slot);
			sim_hurt(m, SIM_NONE, slot, UINT32_MAX);
			rig_wander(&r, 1500); /* it does not know at first */
			assert_int_equal(r.session.self.health, 0);
			/* What it walked before it knew is taken back, at once or in a few parts.
			 */
			assert_true(r.session.stats.corrections <= before + 8);
			after = r.session.stats.corrections;
			rig_wander(&r, 2000);
			assert_int_equal(r.session.stats.corrections, after);
			assert_int_equal(r.session.self.x_mm, rig_entity(&r)->x_mm);
			assert_int_equal(r.session.self.y_mm, rig_entity(&r)->y_mm);
			rig_wander(&r, 4500); /* it stands up */
			assert_int_equal(test_counter(&r.t, SIM_PLAYERS_BACK), n + 1);
			assert_true(r.session.stats.corrections <= after + 1);
			assert_true(r.session.self.health > 0);
			after = r.session.stats.corrections;
			rig_wander(&r, 4000);
			assert_int_equal(r.session.stats.corrections, after);
			rig_settle(&r, "stood up");
		}
		rig_stop(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(portals_and_monsters_correct_nobody),
		cmocka_unit_test(death_and_a_new_place_are_all_that_is_corrected),
	};
	int failed;

	if (rig_begin())
		return 1;
	failed = cmocka_run_group_tests_name("legal world", tests, NULL, NULL);
	rig_end();
	return failed;
}
