/* Proves that the table of visible actors holds exactly who entered and has not left, whatever the
 * order of ids, and that positions of unknown actors and of older ticks change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "client/view.h"

static struct swc_actor actor(uint32_t id, uint32_t tick)
{
	return (struct swc_actor){.actor_id = id, .tick = tick, .enter_tick = tick};
}

/* Against a plain array of flags, over random enters and leaves; ids collide in the hash table. */
static void agrees_with_a_plain_set(void **state)
{
	enum { IDS = 500, STEPS = 20000 };
	static bool in[IDS];
	struct swc_view view;
	uint32_t random = 12345, count = 0;

	(void)state;
	memset(in, 0, sizeof(in));
	swc_view_init(&view, IDS);
	for (int step = 0; step < STEPS; step++) {
		enum swc_refusal refusal;
		uint32_t id;

		random = random * 1664525u + 1013904223u;
		id = (random >> 16) % IDS;
		/* Grow in the first half, shrink in the second, so both ends are visited. */
		if ((random >> 8 & 3) < (step < STEPS / 2 ? 3 : 1)) {
			struct swc_actor who = actor(id * 128 + 1, (uint32_t)step);

			assert_non_null(swc_view_enter(&view, &who, &refusal));
			count += !in[id];
			in[id] = true;
		} else {
			assert_int_equal(swc_view_leave(&view, id * 128 + 1), in[id]);
			count -= in[id];
			in[id] = false;
		}
		assert_int_equal(view.count, count);
	}
	for (uint32_t id = 0; id < IDS; id++) {
		const struct swc_actor *found = swc_view_find(&view, id * 128 + 1);

		assert_int_equal(found != NULL, in[id]);
		if (found)
			assert_int_equal(found->actor_id, id * 128 + 1);
	}
	swc_view_clear(&view);
	assert_null(swc_view_find(&view, 1));
	assert_false(swc_view_leave(&view, 1));
	swc_view_free(&view);
}

static void a_full_view_refuses_by_name(void **state)
{
	struct swc_actor who[] = {actor(1, 0), actor(2, 0), actor(3, 0)};
	enum swc_refusal refusal = SWC_REFUSAL_COUNT;
	struct swc_view view;

	(void)state;
	swc_view_init(&view, 2);
	assert_non_null(swc_view_enter(&view, &who[0], &refusal));
	assert_non_null(swc_view_enter(&view, &who[1], &refusal));
	assert_non_null(swc_view_enter(&view, &who[1], &refusal)); /* again: replaces */
	assert_null(swc_view_enter(&view, &who[2], &refusal));
	assert_int_equal(refusal, SWC_REFUSAL_VIEW_FULL);
	assert_int_equal(view.count, 2);
	swc_view_free(&view);
}

static void only_newer_positions_count(void **state)
{
	static const struct {
		uint32_t id, tick;
		enum swc_moved moved;
	} moves[] = {
		{7, 99, SWC_MOVED_OLD}, /* from before the enter */
		{7, 100, SWC_MOVED},    /* the enter's own tick */
		{7, 105, SWC_MOVED},
		{7, 105, SWC_MOVED},     /* a tick in two datagrams */
		{7, 104, SWC_MOVED_OLD}, /* overtaken */
		{8, 106, SWC_MOVED_UNKNOWN},
		{7, 0x7fffffff, SWC_MOVED},
		{7, 0xfffffffe, SWC_MOVED},
		{7, 3, SWC_MOVED}, /* ticks wrap */
		{7, 0xffffffff, SWC_MOVED_OLD},
	};
	struct swc_actor who = actor(7, 100);
	enum swc_refusal refusal;
	struct swc_view view;

	(void)state;
	swc_view_init(&view, 10);
	swc_view_enter(&view, &who, &refusal);
	for (int i = 0; i < (int)(sizeof(moves) / sizeof(moves[0])); i++) {
		int32_t before = swc_view_find(&view, 7)->x_mm;

		assert_int_equal(
			swc_view_move(&view, moves[i].id, moves[i].tick, 1000 + i, 2, 3, 4),
			moves[i].moved);
		assert_int_equal(swc_view_find(&view, 7)->x_mm,
			moves[i].moved == SWC_MOVED ? 1000 + i : before);
	}
	swc_view_free(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_plain_set),
		cmocka_unit_test(a_full_view_refuses_by_name),
		cmocka_unit_test(only_newer_positions_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
