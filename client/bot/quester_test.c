/* Proves how a bot with quests decides: it fights while one wants kills or things, visits the
 * NPC whose turn it is, and all again when a quest has moved on, answers what it is asked, and
 * counts what is done as the server said last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/bot/quester.h"

#define NS_PER_S 1000000000ull

static void tell(struct quester *q, bool all, uint32_t quest, uint32_t phase, uint32_t count,
	uint32_t need, uint32_t item)
{
	const struct swc_quest one = {
		.quest = quest, .phase = phase, .count = count, .need = need, .item = item};
	const struct swc_event event = {
		.type = SWC_EVENT_QUESTS, .quests = {.all = all, .count = 1, .quest = &one}};

	quester_event(q, &event);
}

static void it_fights_for_kills_and_things(void **state)
{
	static const struct swc_stack bag[] = {{3, 7, 1}, {100, 7, 1}, {4, 7, 1}, {5, 8, 9}};
	struct swc_event event = {
		.type = SWC_EVENT_INVENTORY, .inventory = {.stacks = bag, .count = 2}};
	struct quester q = {0};

	(void)state;
	assert_false(quester_fights(&q));
	tell(&q, true, 2, SWC_QUEST_OPEN, 1, 3, 0);
	assert_true(quester_fights(&q));
	assert_false(quester_picks(&q));
	tell(&q, false, 2, SWC_QUEST_OPEN, 3, 3, 0);
	assert_false(quester_fights(&q));
	tell(&q, false, 2, SWC_QUEST_OPEN, 0, 2, 7);
	quester_event(&q, &event);
	assert_true(quester_fights(&q)); /* one in the bag; what is worn is not brought */
	assert_true(quester_picks(&q));
	event.inventory.count = 4;
	quester_event(&q, &event);
	assert_false(quester_fights(&q));
	assert_false(quester_picks(&q));
	tell(&q, false, 2, SWC_QUEST_DONE, 0, 2, 9);
	assert_false(quester_fights(&q));
	assert_int_equal(quester_done(&q), 1);
	tell(&q, false, 5, SWC_QUEST_DONE, 0, 0, 0);
	tell(&q, false, 5, SWC_QUEST_DONE, 0, 0, 0);
	assert_int_equal(quester_done(&q), 2);
	tell(&q, true, 6, SWC_QUEST_OPEN, 0, 0, 0);
	assert_int_equal(quester_done(&q), 0);
	for (uint32_t i = 1; i < 3 * QUESTER_QUESTS; i++)
		tell(&q, false, i, SWC_QUEST_DONE, 0, 0, 0);
	assert_int_equal(quester_done(&q), QUESTER_QUESTS);
}

static void it_goes_round(void **state)
{
	static const struct swc_actor tom = {.actor_id = 4, .kind = SWC_NPC, .x_mm = 2000},
				      mara = {.actor_id = 5, .kind = SWC_NPC, .x_mm = -1000},
				      wolf = {.actor_id = 6, .kind = SWC_MONSTER};
	static const struct swc_actor *const actors[] = {&wolf, &tom, &mara};
	const struct swc_event dialogue = {.type = SWC_EVENT_DIALOGUE, .dialogue = {.question = 9}};
	const struct swc_self self = {0};
	uint64_t now = 100 * NS_PER_S;
	struct quester q = {0};

	(void)state;
	assert_ptr_equal(quester_npc(&q, &self, actors, 3, now), &mara);
	quester_clicked(&q, 5, now);
	assert_null(quester_npc(&q, &self, actors, 3, now)); /* it may say something */
	quester_event(&q, &dialogue);
	assert_int_equal(q.question, 9);
	now += NS_PER_S;
	assert_ptr_equal(quester_npc(&q, &self, actors, 3, now), &tom);
	quester_clicked(&q, 4, now);
	now += NS_PER_S;
	assert_null(quester_npc(&q, &self, actors, 3, now));
	/* what was heard before is no news; a quest that has moved on is */
	tell(&q, false, 2, SWC_QUEST_OPEN, 1, 3, 0);
	assert_ptr_equal(quester_npc(&q, &self, actors, 3, now), &mara);
	quester_clicked(&q, 5, now);
	quester_clicked(&q, 4, now);
	now += NS_PER_S;
	tell(&q, false, 2, SWC_QUEST_OPEN, 2, 3, 0);
	assert_null(quester_npc(&q, &self, actors, 3, now));
	now += 10 * NS_PER_S;
	assert_ptr_equal(quester_npc(&q, &self, actors, 3, now), &mara);
	/* nor does it stay where it has news all the time */
	quester_clicked(&q, 5, now);
	now += NS_PER_S;
	tell(&q, false, 2, SWC_QUEST_DONE, 0, 0, 0);
	assert_ptr_equal(quester_npc(&q, &self, actors, 3, now), &tom);
	for (uint32_t i = 0; i < 3 * QUESTER_NPCS; i++)
		quester_clicked(&q, 100 + i, now);
	assert_int_equal(q.npcs, QUESTER_NPCS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_fights_for_kills_and_things),
		cmocka_unit_test(it_goes_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
