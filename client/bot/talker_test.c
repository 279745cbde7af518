/* Proves how a chatting bot decides and counts: the same seed and the same events decide the same;
 * it comes into a channel before it speaks, speaks in those it is in alone, whispers to whoever is
 * near; and it notices what is lost, comes twice or comes out of order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "client/bot/talker.h"

#define NS_PER_S 1000000000ull

static const struct swc_self self = {.character_id = 42};

static void channel(struct talker *talker, uint64_t number, bool left)
{
	const struct swc_event event = {.type = SWC_EVENT_CHAT_CHANNEL,
		.chat_channel = {.channel = number,
			.kind = SWC_CHANNEL_LANGUAGE,
			.left = left,
			.name = "de"}};

	talker_event(talker, &self, &event, 0);
}

static void line(struct talker *talker, uint64_t number, uint64_t sender, uint32_t said,
	uint64_t missed, uint64_t now_ns)
{
	char text[64];
	const struct swc_event event = {.type = SWC_EVENT_CHAT_LINE,
		.chat_line = {.channel = number,
			.missed = missed,
			.line = {.sender_id = sender, .sender = "Bo", .text = text}}};

	snprintf(text, sizeof(text), "line %u of %llu", said, (unsigned long long)sender);
	talker_event(talker, &self, &event, now_ns);
}

static uint64_t run(struct talker *talker, uint64_t seed, uint32_t acts[4])
{
	uint64_t hash = 0;

	talker_init(talker, seed, 3);
	for (uint64_t now_ns = 0; now_ns < 600 * NS_PER_S; now_ns += NS_PER_S / 10) {
		struct talker_act act;

		if (!talker_step(talker, &self, "Bo", now_ns, &act))
			continue;
		acts[act.what]++;
		hash = hash * 31 + act.request + act.what + act.channel;
		if (act.what == TALKER_JOIN)
			channel(talker, 9, false);
		if (act.what == TALKER_PART)
			channel(talker, 9, true);
		assert_true(act.what != TALKER_SAY || (act.channel == 9 && talker->count == 1));
		assert_true(act.what != TALKER_WHISPER || !strcmp(act.name, "Bo"));
	}
	return hash;
}

static void the_same_seed_decides_the_same(void **state)
{
	static struct talker talker;
	uint32_t acts[4] = {0}, again[4] = {0}, other[4] = {0};
	uint64_t hash;

	(void)state;
	hash = run(&talker, 1, acts);
	assert_true(run(&talker, 1, again) == hash);
	assert_memory_equal(acts, again, sizeof(acts));
	assert_true(run(&talker, 2, other) != hash);
	for (int i = 0; i < 4; i++)
		assert_true(acts[i] > 0);
	assert_int_equal(talker.said, other[TALKER_SAY]);
	assert_int_equal(talker.came, talker.joins);
}

static void it_notices_what_is_wrong(void **state)
{
	static struct talker talker;
	struct swc_event event = {.type = SWC_EVENT_CHAT_REFUSED};

	(void)state;
	talker_init(&talker, 1, 0);
	channel(&talker, 9, false);
	line(&talker, 9, 7, 1, 0, 0);
	line(&talker, 9, 7, 3, 0, 0); /* it may have said 2 elsewhere */
	line(&talker, 8, 7, 2, 0, 0);
	line(&talker, 9, 6, 1, 2, 0);
	assert_int_equal(talker.disorder, 0);
	assert_int_equal(talker.missed, 2);
	line(&talker, 9, 7, 3, 0, 0);
	assert_int_equal(talker.disorder, 1);
	line(&talker, 8, 7, 1, 0, 0);
	assert_int_equal(talker.disorder, 2);
	talker.said_ns = NS_PER_S;
	line(&talker, 9, 42, 1, 0, 3 * NS_PER_S);
	assert_int_equal(talker.own, 1);
	assert_int_equal(talker.delay_ns_max, 2 * NS_PER_S);
	event.chat_refused.reason = 15;
	talker_event(&talker, &self, &event, 0);
	event.chat_refused.reason = 1000;
	talker_event(&talker, &self, &event, 0);
	assert_int_equal(talker.refused[15], 1);
	assert_int_equal(talker.refused[0], 1);
	talker_again(&talker);
	assert_int_equal(talker.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_decides_the_same),
		cmocka_unit_test(it_notices_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
