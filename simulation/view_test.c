/* Proves: who is in a client's view is who should be, by a brute-force oracle that follows every
 * actor's cell on its own, under random walks, teleports, joins and leaves; view changes come at
 * most once a tick with contiguous sequences, and never contradict what the client knows; positions
 * known to clients are the true ones; in a crowd of 2,000 on one square every message stays within
 * its bound and everyone in view is heard of within a second. */
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

#define WIDTH_M 400
#define PLAYERS 60u
#define VIEW_MM 40000

/* The oracle's own idea of a player: where it is, and its cell with the hysteresis of interest.h.
 */
struct model {
	bool here;
	uint32_t sequence;
	int32_t x_mm, y_mm;
	int32_t column, row;
};

static const int32_t cell_mm = (VIEW_MM * 4 + 6) / 7;

static void follow(struct model *p, bool fresh)
{
	const int32_t margin = cell_mm / 8;

	if (!fresh && p->x_mm >= p->column * cell_mm - margin &&
		p->x_mm < (p->column + 1) * cell_mm + margin &&
		p->y_mm >= p->row * cell_mm - margin && p->y_mm < (p->row + 1) * cell_mm + margin)
		return;
	p->column = p->x_mm / cell_mm;
	p->row = p->y_mm / cell_mm;
}

static void check_views(
	struct test_shard *t, const struct model *model, uint64_t seed, uint32_t round)
{
	for (uint32_t a = 0; a < PLAYERS; a++) {
		const struct test_client *c = &t->clients[a];
		uint32_t others = 0;

		if (!model[a].here)
			continue;
		if (c->gaps || c->wrong)
			fail_msg("seed %llu round %u client %u: %u gaps, %u contradictions",
				(unsigned long long)seed, round, a, c->gaps, c->wrong);
		for (uint32_t b = 0; b < PLAYERS; b++) {
			uint32_t id = t->clients[b].actor_id;
			bool sees, knows = model[b].here && c->knows[id];
			int32_t dx = abs(model[a].x_mm - model[b].x_mm);
			int32_t dy = abs(model[a].y_mm - model[b].y_mm);

			if (a == b || !model[b].here)
				continue;
			sees = abs(model[a].column - model[b].column) <= SIM_CELL_RADIUS &&
			       abs(model[a].row - model[b].row) <= SIM_CELL_RADIUS;
			/* the promise of interest.h, which the oracle must keep as well */
			assert_true(!(dx <= VIEW_MM && dy <= VIEW_MM) || sees);
			assert_true(!(dx > VIEW_MM * 2 || dy > VIEW_MM * 2) || !sees);
			if (sees != knows)
				fail_msg("seed %llu round %u: client %u %s client %u",
					(unsigned long long)seed, round, a,
					knows ? "still sees" : "does not see", b);
			others += sees;
			/* everyone was heard of within a second, and where it is */
			if (sees && (c->seen_x_mm[id] != model[b].x_mm ||
					    c->seen_y_mm[id] != model[b].y_mm ||
					    t->tick - c->heard_tick[id] > 20))
				fail_msg("seed %llu round %u: client %u has an old place of %u",
					(unsigned long long)seed, round, a, b);
		}
		/* and nobody else: ghosts would show here */
		if (others != c->view_count)
			fail_msg("seed %llu round %u: client %u sees %u, should be %u",
				(unsigned long long)seed, round, a, c->view_count, others);
	}
}

static void walk_and_teleport(uint64_t seed)
{
	struct test_shard t;
	static struct model model[PLAYERS];
	const uint32_t width_mm = WIDTH_M * 1000;

	memset(model, 0, sizeof(model));
	test_init(&t, WIDTH_M, PLAYERS);
	test_start(&t, seed);
	for (uint32_t round = 0; round < 150; round++) {
		for (uint32_t i = 0; i < PLAYERS; i++) {
			struct model *p = &model[i];

			if (!p->here && sim_random_below(&seed, 4) == 0) {
				p->x_mm = (int32_t)sim_random_below(&seed, width_mm);
				p->y_mm = (int32_t)sim_random_below(&seed, width_mm);
				p->here = true;
				p->sequence = 0;
				test_join(&t, i, true, p->x_mm, p->y_mm);
				follow(p, true);
			} else if (p->here && sim_random_below(&seed, 40) == 0) {
				/* it leaves, and may stand elsewhere a tick later: a teleport */
				test_gone(&t, i);
				p->here = false;
			} else if (p->here && t.clients[i].actor_id) {
				int32_t dx = (int32_t)sim_random_below(&seed, 255) - 127;
				int32_t dy = (int32_t)sim_random_below(&seed, 255) - 127;
				struct sw_move_map rules = {width_mm, width_mm, 20};
				struct sw_move_state at = {.x_mm = p->x_mm, .y_mm = p->y_mm};

				/* a long stride, so that cells are crossed often */
				for (uint32_t n = 0; n < 4; n++)
					sw_move_apply(&rules, SIM_WALK_MM_PER_S, dx, dy, &at);
				test_input(&t, i, p->sequence + 1, 4, dx, dy);
				p->sequence += 4;
				p->x_mm = at.x_mm;
				p->y_mm = at.y_mm;
				follow(p, false);
			}
		}
		/* four ticks: each input is applied in a tick of its own or together, all by the
		 * end; the cell is followed tick by tick, so the model is only exact if no tick
		 * between left the margin and came back: directions are straight, so none does */
		test_run(&t, 200);
		check_views(&t, model, seed, round);
	}
	assert_true(test_counter(&t, SIM_ENTERS) > 500);
	test_end(&t);
}

static void views_are_right(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++)
		walk_and_teleport(seed * 7919);
}

/* Two observers meet and part; hysteresis keeps one who dithers at a border from flickering. */
static void enter_and_leave(void **state)
{
	struct test_shard t;
	uint32_t changes;

	(void)state;
	test_init(&t, WIDTH_M, 10);
	test_start(&t, 1);
	test_join(&t, 0, true, 5000, 5000);
	test_join(&t, 1, true, cell_mm * 3 + 3500, 5000); /* 3 cells away: out of sight */
	test_run(&t, 200);
	assert_int_equal(t.clients[0].view_count, 0);
	for (uint32_t i = 1; i <= 40; i++) { /* 10 m to the west */
		test_input(&t, 1, i, 1, -127, 0);
		test_run(&t, 50);
	}
	assert_true(t.clients[0].knows[t.clients[1].actor_id]);
	assert_true(t.clients[1].knows[t.clients[0].actor_id]);
	for (uint32_t i = 41; i <= 68; i++) { /* back to just past the border */
		test_input(&t, 1, i, 1, 127, 0);
		test_run(&t, 50);
	}
	changes = t.clients[0].view_sequence;
	for (uint32_t i = 69; i <= 268; i++) {
		test_input(&t, 1, i, 1, i / 4 % 2 ? 127 : -127, 0);
		test_run(&t, 50);
	}
	assert_int_equal(t.clients[0].view_sequence, changes);
	test_gone(&t, 1);
	test_run(&t, 100);
	assert_int_equal(t.clients[0].view_count, 0);
	assert_int_equal(t.clients[0].gaps + t.clients[0].wrong, 0);
	test_end(&t);
}

/* A stopped player's last place is sent again for some ticks and then once a second. */
static void repeats_then_refreshes(void **state)
{
	struct test_shard t;
	uint32_t updates;

	(void)state;
	test_init(&t, WIDTH_M, 10);
	test_start(&t, 1);
	test_join(&t, 0, true, 50000, 50000);
	test_run(&t, 2000);
	updates = t.clients[0].updates;
	test_run(&t, 10000);
	assert_in_range(t.clients[0].updates - updates, 10, 11);
	test_input(&t, 0, 1, 1, 127, 0);
	test_input(&t, 0, 2, 1, 0, 0);
	updates = t.clients[0].updates;
	test_run(&t, 50 * (1 + SIM_REPEAT_TICKS));
	assert_in_range(t.clients[0].updates - updates, 1 + SIM_REPEAT_TICKS, 2 + SIM_REPEAT_TICKS);
	test_end(&t);
}

/* Looks that arrive in the very tick in which their owner walks out of sight, or leaves, must not
 * undo the leave: whoever was told of an actor is told that it is gone. */
static void late_looks_leave_no_ghost(void **state)
{
	(void)state;
	for (uint32_t tick_of_looks = 1; tick_of_looks <= 24; tick_of_looks++) {
		for (uint32_t vanish = 0; vanish < 2; vanish++) {
			struct test_shard t;

			test_init(&t, WIDTH_M, 10);
			t.answer_details = false;
			test_start(&t, 1);
			test_join(&t, 0, true, 5000, 5000);
			test_run(&t, 100);
			test_join(&t, 1, true, cell_mm * 3 - 500, 5000);
			for (uint32_t ms = 0; ms < 100; ms++) {
				test_run_holding(&t, 1);
				test_read_dataplane(&t);
			}
			assert_true(t.clients[0].knows[t.clients[1].actor_id]);
			for (uint32_t i = 1; i <= 24; i++) {
				if (!vanish)
					test_input(&t, 1, i, 1, 127, 0);
				else if (i == 12)
					test_gone(&t, 1);
				t.answer_details = i == tick_of_looks;
				if (t.answer_details)
					test_read_world(&t);
				test_run_holding(&t, 50);
				test_read_dataplane(&t);
			}
			test_run(&t, 200);
			if (t.clients[0].knows[t.clients[1].actor_id])
				fail_msg("looks at tick %u: a ghost", tick_of_looks);
			assert_int_equal(t.clients[0].gaps + t.clients[0].wrong, 0);
			test_end(&t);
		}
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
		m = &t.shard->maps[0];
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

#define CROWD   2000u
#define WATCHED 37u /* one in so many reads its updates throughout */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enter_and_leave),
		cmocka_unit_test(repeats_then_refreshes),
		cmocka_unit_test(views_are_right),
		cmocka_unit_test(crowded_views_are_consistent),
		cmocka_unit_test(late_looks_leave_no_ghost),
		cmocka_unit_test(everyone_gets_all_looks),
		cmocka_unit_test(crowd_on_one_square),
	};

	return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
