/* Proves: a channel's number follows from realm, kind and key alone; slots are spread evenly over
 * the shards, whatever order these are named in; a shard that goes moves its own slots alone, to
 * all the others, and gets the same back; names that are no language are refused, also 10 kB of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/chat.h"
#include "control/chat/slot.h"

static void numbers_differ(void **state)
{
	const uint64_t one = chat_channel_number(1, CHAT_KIND_LANGUAGE, "de");
	uint32_t used[CHAT_SLOTS] = {0}, empty = 0;
	char key[16];

	(void)state;
	assert_int_equal(one, chat_channel_number(1, CHAT_KIND_LANGUAGE, "de"));
	assert_int_not_equal(one, chat_channel_number(2, CHAT_KIND_LANGUAGE, "de"));
	assert_int_not_equal(one, chat_channel_number(1, CHAT_KIND_MAP, "de"));
	assert_int_not_equal(one, chat_channel_number(1, CHAT_KIND_LANGUAGE, "da"));
	for (uint32_t i = 0; i < 100 * CHAT_SLOTS; i++) {
		snprintf(key, sizeof(key), "%u", i);
		used[chat_slot(chat_channel_number(1, CHAT_KIND_PARTY, key))]++;
	}
	for (uint32_t i = 0; i < CHAT_SLOTS; i++) {
		empty += !used[i];
		assert_true(used[i] < 200);
	}
	assert_int_equal(empty, 0);
}

static void rendezvous(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d"}, *const turned[] = {
									 "d", "b", "a", "c"};
	static const char *const without[] = {"a", "c", "d"};
	uint32_t count[4] = {0}, moved = 0;

	(void)state;
	assert_int_equal(chat_slot_owner(3, names, 0), UINT32_MAX);
	for (uint32_t slot = 0; slot < CHAT_SLOTS; slot++) {
		const char *owner = names[chat_slot_owner(slot, names, 4)];

		count[owner[0] - 'a']++;
		assert_string_equal(turned[chat_slot_owner(slot, turned, 4)], owner);
		if (owner[0] != 'b')
			assert_string_equal(without[chat_slot_owner(slot, without, 3)], owner);
		else
			moved |= 1u << (without[chat_slot_owner(slot, without, 3)][0] - 'a');
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_in_range(count[i], 200, 312);
	assert_int_equal(moved, 1 | 4 | 8);
}

static void languages(void **state)
{
	static const struct {
		const char *name;
		bool good;
	} rows[] = {{"de", true}, {"deu", true}, {"pt-br", true}, {"zh-hant-tw", true},
		{"es-419", true}, {"", false}, {"d", false}, {"deut", false}, {"DE", false},
		{"de-", false}, {"-de", false}, {"de--at", false}, {"d3", false}, {"de at", false},
		{"de\n", false}, {"\xc3\xa4\xc3\xb6", false}, {"de-123456789", false},
		{"de-aa-bb-cc-dd-ee-ff-gg-hh-ii-jj", false}};
	char *large = malloc(10000);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (chat_language_valid(rows[i].name, strlen(rows[i].name)) != rows[i].good)
			fail_msg("\"%s\"", rows[i].name);
	assert_false(chat_language_valid("de\0", 3));
	for (uint32_t i = 0; i < 10000; i++)
		large[i] = "ab-"[i % 3];
	assert_false(chat_language_valid(large, 10000));
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_differ),
		cmocka_unit_test(rendezvous),
		cmocka_unit_test(languages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
