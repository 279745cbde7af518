/* Proves, where more is near than a view holds: each view is a part of what is in the window, as
 * full as it may be, without contradictions, ghosts or gaps, on several workers and over full
 * rings; with 2,000 on one square every message stays within its bound, everyone in view is heard
 * of within a second, and who is in view is near; looks that arrive in masses reach everyone; and
 * no observer of any crowd, not even of one on a single spot, costs more than a slice, so that the
 * rings are drained in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/interest.h"
#include "simulation/random.h"
#include "simulation/state.h"
#include "simulation/testing.h"

#define WIDTH_M           400
#define PLAYERS           60u
#define CROWD             2000u
#define SLICE_OVER_MAX_NS 25000u /* a slice is 50 us */
#define WATCHED           37u    /* one in so many reads its updates throughout */

/* The last unit of work of any slice is a small part of one: so rings are drained every slice. */
static void assert_slices_are_short(const struct test_shard *t)
{
	print_message("a slice of %u us went %llu ns over\n", t->config.simulation.slice_us,
		(unsigned long long)test_counter(t, SIM_SLICE_OVER_NS));
	assert_true(test_counter(t, SIM_SLICE_OVER_NS) <= SLICE_OVER_MAX_NS);
}

/* Many more near than a view holds, on two workers whose rings fill now and then, with joins and
 * leaves: whatever happens, a client's view is a part of what is in its window, as full as it may
 * be, without contradictions, ghosts or gaps. */
static void crowded_views_are_consistent(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct test_shard t;
		uint64_t dice = seed;
		const struct sim_map *m;

		test_init(&t, 120, PLAYERS);
		t.workers = 2;
		t.config.maps[0].tick_hz = 4; /* 5 records x 3 ticks: views of 15 */
		t.config.simulation.update_bytes_max = 256;
		t.config.maps[0].monsters = seed % 2 ? 20 : 0;
		t.config.rings.slots = 256;
		test_start(&t, seed);
		m = t.shard->maps[0];
		for (uint32_t round = 0; round < 400; round++) {
			for (uint32_t i = 0; i < PLAYERS; i++) {
				uint32_t what = sim_random_below(&dice, 30);

				if (!t.clients[i].here && what < 10)
					test_join(&t, i, what < 5,
						(int32_t)sim_random_below(&dice, 120000),
						(int32_t)sim_random_below(&dice, 120000));
				else if (t.clients[i].here && what == 10)
					test_gone(&t, i);
				else if (t.clients[i].here && what < 25)
					test_input(&t, i, round * 8 + 1, 8,
						(int32_t)sim_random_below(&dice, 255) - 127,
						(int32_t)sim_random_below(&dice, 255) - 127);
			}
			if (sim_random_below(&dice, 5) == 0)
				test_run_holding(&t, 800);
			test_run(&t, 1 + sim_random_below(&dice, 400));
			if (round % 20 != 19)
				continue;
			test_run(&t, 5000); /* all stand still, but for the monsters */
			for (uint32_t i = 0; i < PLAYERS; i++) {
				const struct test_client *c = &t.clients[i];
				uint32_t slot, full, told = 0, near = 0;
				struct sim_window window;

				if (!c->here || !c->actor_id || c->disconnected)
					continue;
				slot = (c->actor_id - 1) % m->slots;
				window = sim_window_of(m, m->entities[slot].cell);
				for (uint32_t other = 0; other < m->slots; other++) {
					const struct sim_entity *e = &m->entities[other];

					near += other != slot &&
						sim_window_has(m, &window, e->cell);
					if (sim_knows(m, slot, other)) {
						assert_true(c->knows[e->wire_id]);
						told++;
					}
				}
				if (c->gaps || c->wrong || told != c->view_count)
					fail_msg("seed %llu round %u client %u: %u gaps, %u wrong, "
						 "told %u, "
						 "sees %u",
						(unsigned long long)seed, round, i, c->gaps,
						c->wrong, told, c->view_count);
				assert_true(told <= m->players_table[slot].view_max);
				full = near < m->players_table[slot].view_max
					       ? near
					       : m->players_table[slot].view_max;
				/* monsters that walk may be on their way in or out */
				if (told + (seed % 2 ? 3 : 0) < full)
					fail_msg("seed %llu round %u client %u: sees %u of %u",
						(unsigned long long)seed, round, i, told, full);
			}
		}
		assert_true(test_counter(&t, SIM_UPDATES_DROPPED) > 0);
		test_end(&t);
	}
}

/* The looks of many arrive at once: everyone gets all of them. */
static void everyone_gets_all_looks(void **state)
{
	struct test_shard t;

	(void)state;
	test_init(&t, WIDTH_M, 300);
	t.answer_details = false;
	test_start(&t, 1);
	for (uint32_t i = 0; i < 300; i++)
		test_join(&t, i, true, 50000 + 50 * (int32_t)i, 50000);
	for (uint32_t ms = 0; ms < 1000; ms++) {
		test_run_holding(&t, 1);
		test_read_dataplane(&t);
	}
	t.answer_details = true;
	test_run(&t, 2000);
	for (uint32_t i = 0; i < 300; i++) {
		assert_int_equal(t.clients[i].view_count, 299);
		assert_int_equal(t.clients[i].gaps + t.clients[i].wrong, 0);
		for (uint32_t id = 1; id < TEST_ACTORS_MAX; id++)
			if (t.clients[i].knows[id] && !t.clients[i].looks[id])
				fail_msg("client %u does not know the looks of %u", i, id);
	}
	test_end(&t);
}

static void crowd_on_one_square(void **state)
{
	struct test_shard t;
	uint32_t looked = 0;
	uint64_t seed = 99, dropped;

	(void)state;
	test_init(&t, WIDTH_M, CROWD);
	test_start(&t, 1);
	for (uint32_t i = 0; i < CROWD; i++)
		test_join(&t, i, true, 100000 + (int32_t)sim_random_below(&seed, 20000),
			100000 + (int32_t)sim_random_below(&seed, 20000));
	/* Here a ring is read once a millisecond: all meeting all at once overflows it, and that is
	 * waited for; afterwards nothing is dropped. */
	for (uint32_t i = 0; i < CROWD; i++)
		t.clients[i].idle = i % WATCHED != 0;
	test_run(&t, 2000);
	dropped = test_counter(&t, SIM_UPDATES_DROPPED);
	for (uint32_t tick = 1; tick <= 60; tick++) {
		for (uint32_t i = 0; i < CROWD; i++) {
			t.clients[i].idle &= tick < 58; /* all know their place in the end */
			test_input(&t, i, tick, 1, (int32_t)sim_random_below(&seed, 255) - 127,
				(int32_t)sim_random_below(&seed, 255) - 127);
		}
		test_run(&t, 50);
		if (tick < 40)
			continue;
		for (uint32_t i = 0; i < CROWD; i += WATCHED) {
			const struct test_client *c = &t.clients[i];

			assert_int_equal(c->gaps + c->wrong, 0);
			assert_true(
				c->update_bytes_largest <= t.config.simulation.update_bytes_max);
			assert_true(c->view_bytes_largest <= SIM_VIEW_CHANGE_MAX);
			assert_true(c->view_count > 300); /* the view is used well */
			/* the flush is spread, and the drain may end after stage 5 */
			assert_in_range(c->input_sequence, tick - 2, tick);
			for (uint32_t id = 1; id < TEST_ACTORS_MAX; id++) {
				if (!c->knows[id])
					continue;
				looked++;
				if (t.tick - c->heard_tick[id] > 20)
					fail_msg("tick %u: client %u heard of %u %u ticks ago",
						tick, i, id, t.tick - c->heard_tick[id]);
			}
		}
	}
	assert_true(looked > 10000);
	assert_true(test_counter(&t, SIM_UPDATES_PICKED) > CROWD);
	assert_int_equal(test_counter(&t, SIM_UPDATES_DROPPED), dropped);

	/* they see the nearest: nobody in view is much further than someone who is not */
	for (uint32_t i = 0; i < CROWD; i += 5 * WATCHED) {
		const struct test_client *c = &t.clients[i];
		int32_t furthest = 0, nearest_unseen = INT32_MAX;

		for (uint32_t b = 0; b < CROWD; b++) {
			int32_t dx = abs(c->x_mm - t.clients[b].x_mm);
			int32_t dy = abs(c->y_mm - t.clients[b].y_mm);
			int32_t d = dx > dy ? dx : dy;

			if (b == i)
				continue;
			if (c->knows[t.clients[b].actor_id])
				furthest = d > furthest ? d : furthest;
			else
				nearest_unseen = d < nearest_unseen ? d : nearest_unseen;
		}
		/* three steps of distance (1.3 m each) and half a second of walking apart */
		assert_true(furthest < nearest_unseen + 3 * 1300 + 2 * 2600);
	}

	assert_slices_are_short(&t);

	/* the crowd goes home: views empty again, all slots are given back */
	for (uint32_t i = 0; i < CROWD - 1; i++)
		test_gone(&t, i);
	test_run(&t, 1000);
	assert_int_equal(t.clients[CROWD - 1].view_count, 0);
	assert_int_equal(t.clients[CROWD - 1].gaps + t.clients[CROWD - 1].wrong, 0);
	for (uint32_t i = 0; i < CROWD - 1; i++)
		test_join(&t, i, false, 0, 0);
	test_run(&t, 500);
	assert_int_equal(t.refused, 0);
	test_end(&t);
}

/* Most on one spot, where all are equally near, and some around it: views are full and everyone in
 * them is heard of within a second all the same. */
static void crowd_on_one_spot(void **state)
{
	struct test_shard t;
	const struct sim_map *m;
	uint64_t seed = 7;
	uint32_t looked = 0;

	(void)state;
	test_init(&t, WIDTH_M, CROWD);
	test_start(&t, 1);
	m = t.shard->maps[0];
	for (uint32_t i = 0; i < CROWD; i++) {
		int32_t away = i % 20 ? 0 : 1500 + (int32_t)sim_random_below(&seed, 5000);

		test_join(&t, i, true, 100000 + away, 100000 - away);
		t.clients[i].idle = i % 20 != 0 && i % WATCHED != 0;
	}
	test_run(&t, 2000);
	for (uint32_t tick = 1; tick <= 50; tick++) {
		for (uint32_t i = 0; i < CROWD; i++) /* they turn on the spot */
			test_input(&t, i, tick, 1, 0, tick % 2 ? 1 : -1);
		test_run(&t, 50);
		if (tick < 40)
			continue;
		for (uint32_t i = 0; i < CROWD; i += i % 20 ? 1 : 20) {
			const struct test_client *c = &t.clients[i];

			assert_int_equal(c->gaps + c->wrong, 0);
			assert_true(
				c->update_bytes_largest <= t.config.simulation.update_bytes_max);
			assert_int_equal(c->view_count,
				m->players_table[(c->actor_id - 1) % m->slots].view_max);
			for (uint32_t id = 1; id < TEST_ACTORS_MAX; id++) {
				if (!c->knows[id])
					continue;
				looked++;
				if (t.tick - c->heard_tick[id] > 20)
					fail_msg("tick %u: client %u heard of %u %u ticks ago",
						tick, i, id, t.tick - c->heard_tick[id]);
			}
		}
	}
	assert_true(looked > 10000);
	assert_slices_are_short(&t);
	test_end(&t);
}

/* All near are told again in the same tick, more than an update holds, and nobody moves: who was
 * left out comes in the ticks after, so that everyone is heard of within a second and those two. */
static void who_is_left_out_comes_next(void **state)
{
	struct test_shard t;

	(void)state;
	test_init(&t, WIDTH_M, 600);
	t.config.simulation.update_bytes_max = 256;
	test_start(&t, 1);
	for (uint32_t i = 0; i < 400; i++) /* slots are given in order */
		test_join(&t, i, true, i % 19 == 3 ? 20000 + (int32_t)i * 10 : 300000, 20000);
	test_run(&t, 8000);
	for (uint32_t tick = 0; tick < 30; tick++) {
		const struct test_client *c = &t.clients[3];

		test_run(&t, 50);
		assert_int_equal(c->view_count, 20);
		for (uint32_t id = 1; id < TEST_ACTORS_MAX; id++)
			if (c->knows[id] && t.tick - c->heard_tick[id] > 21)
				fail_msg(
					"heard of %u %u ticks ago", id, t.tick - c->heard_tick[id]);
	}
	test_end(&t);
}

/* A crowd that closes in all at once: those who were near enough are not any more. */
static void who_is_nearer_takes_the_place(void **state)
{
	struct test_shard t;
	const struct sim_map *m;
	uint64_t seed = 5;

	(void)state;
	test_init(&t, WIDTH_M, 1300);
	test_start(&t, 1);
	m = t.shard->maps[0];
	for (uint32_t i = 0; i < 1300; i++) {
		bool close = i >= 700; /* they come later */
		int32_t spread = i == 0 ? 1 : close ? 3000 : 25000;

		if (i == 700)
			test_run(&t, 3000);
		t.clients[i].idle = i > 0;
		test_join(&t, i, true,
			200000 + (int32_t)sim_random_below(&seed, 2 * (uint32_t)spread) - spread,
			200000 + (int32_t)sim_random_below(&seed, 2 * (uint32_t)spread) - spread);
	}
	test_run(&t, 3000);
	assert_int_equal(t.clients[0].view_count, m->players_table[0].view_max);
	for (uint32_t slot = 0; slot < m->player_slots; slot++)
		if (sim_knows(m, 0, slot)) /* two steps of slack, 1.2 m each */
			assert_true(abs(m->entities[slot].x_mm - 200000) < 3000 + 3 * 1300 &&
				    abs(m->entities[slot].y_mm - 200000) < 3000 + 3 * 1300);
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crowded_views_are_consistent),
		cmocka_unit_test(everyone_gets_all_looks),
		cmocka_unit_test(crowd_on_one_square),
		cmocka_unit_test(crowd_on_one_spot),
		cmocka_unit_test(who_is_left_out_comes_next),
		cmocka_unit_test(who_is_nearer_takes_the_place),
	};

	return cmocka_run_group_tests_name("crowd", tests, NULL, NULL);
}
