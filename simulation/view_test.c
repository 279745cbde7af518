/* Proves: who is in a client's view is who should be, by a brute-force oracle that follows every
 * actor's cell on its own, under random walks, teleports, joins and leaves; view changes come at
 * most once a tick with contiguous sequences, and never contradict what the client knows; positions
 * known to clients are the true ones, and those of actors at rest are sent again. Crowds:
 * crowd_test.c. */
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
				struct sw_move_map rules = {
					.width_mm = width_mm, .height_mm = width_mm, .tick_hz = 20};
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

/* Time passes, and nothing reaches a client. */
static void pass(struct test_shard *t, uint32_t ms)
{
	test_run_holding(t, ms);
	test_read_world(t);
	test_read_control(t);
}

/* The ring of one client's worker is full, the other's is not. Joined is the first that it hears,
 * however long that waits; and while it cannot be told that somebody has gone, nobody else is put
 * in that one's place, of whom it would believe that it is still the same. */
static void who_cannot_be_told_takes_nobody_for_another(void **state)
{
	const struct sim_map *m;
	const struct test_client *c;
	struct test_shard t;
	uint32_t known;

	(void)state;
	test_init(&t, WIDTH_M, 4); /* 68 slots */
	t.workers = 2;
	test_start(&t, 1);
	m = t.shard->maps[0];
	c = &t.clients[1];
	test_join(&t, 0, true, 50000, 50000);
	test_run(&t, 200);
	test_fill(t.links.to_dataplane[1]);
	test_join(&t, 1, true, 51000, 50000);
	pass(&t, 500);
	test_empty(t.links.to_dataplane[1]);
	test_run(&t, 500);
	assert_int_equal(c->joins, 1);
	assert_int_equal(c->early, 0);
	assert_int_equal(c->view_count, 1);

	known = test_slot_of(m, 0);
	test_fill(t.links.to_dataplane[1]);
	test_click(&t, 1, 999); /* an answer waits for room, and so does all that comes after */
	pass(&t, 100);
	for (uint32_t n = 0; n < 2 * m->player_slots; n++) {
		test_gone(&t, 0);
		pass(&t, 120);
		test_join(&t, 0, true, 50000, 50000);
		pass(&t, 120);
		assert_int_not_equal(test_slot_of(m, 0), known);
		assert_int_equal(m->entities[known].known_by, 1);
	}
	test_empty(t.links.to_dataplane[0]);
	test_empty(t.links.to_dataplane[1]);
	test_run(&t, 500);
	assert_int_equal(m->entities[known].known_by, 0);
	assert_int_equal(c->view_count, 1);
	assert_true(c->knows[m->entities[test_slot_of(m, 0)].wire_id]);
	assert_int_equal(c->gaps + c->wrong, 0);
	test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enter_and_leave),
		cmocka_unit_test(repeats_then_refreshes),
		cmocka_unit_test(views_are_right),
		cmocka_unit_test(late_looks_leave_no_ghost),
		cmocka_unit_test(who_cannot_be_told_takes_nobody_for_another),
	};

	return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
