/* Proves that only text PostgreSQL takes passes, and that the names a new character may get follow
 * the rule, fit, and are valid whatever the ticket carried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/text.h"

static const struct {
	const char *text;
	size_t bytes;
	bool valid;
} TEXTS[] = {
	{"", 0, true},
	{"abc", 3, true},
	{"a\0c", 3, false},
	{"\xc3\xa4", 2, true},      /* U+00E4 */
	{"\xc3", 1, false},         /* cut */
	{"\xa4", 1, false},         /* continuation alone */
	{"\xc0\x80", 2, false},     /* overlong NUL */
	{"\xe0\x9f\xbf", 3, false}, /* overlong */
	{"\xe0\xa0\x80", 3, true},  /* U+0800 */
	{"\xed\xa0\x80", 3, false}, /* surrogate */
	{"\xef\xbf\xbf", 3, true},  /* U+FFFF */
	{"\xf0\x8f\xbf\xbf", 4, false},
	{"\xf0\x90\x80\x80", 4, true}, /* U+10000 */
	{"\xf4\x8f\xbf\xbf", 4, true}, /* U+10FFFF */
	{"\xf4\x90\x80\x80", 4, false},
	{"\xff", 1, false},
};

static void valid_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
		print_message("text %zu\n", i);
		assert_int_equal(world_text_valid(TEXTS[i].text, TEXTS[i].bytes), TEXTS[i].valid);
	}
}

static const struct {
	char wanted[CHARACTER_NAME_BYTES + 1];
	uint64_t id;
	const char *plain, *suffixed;
} NAMES[] = {
	{"Bob", 1, "Bob", "Bob~1"},
	{"Bob", 36, "Bob", "Bob~10"},
	{"", 0, "", "player~0"},
	{"B~b", 2, "", "B~b~2"},
	{"\xff\xfe", 3, "", "player~3"},
	{"abcdefghijklmnopqrstuvwxyz01234", UINT64_MAX, "abcdefghijklmnopqrstuvwxyz01234",
		"abcdefghijklmnopq~3w5e11264sgsf"},
	{"abcdefghijklmnopqrstuvwxyz012345", 4, "", "player~4"}, /* no NUL */
	/* a character of two bytes is not cut in half */
	{"abcdefghijklmnop\xc3\xa4z", UINT64_MAX, "abcdefghijklmnop\xc3\xa4z",
		"abcdefghijklmnop~3w5e11264sgsf"},
};

static void names(void **state)
{
	char plain[CHARACTER_NAME_BYTES], suffixed[CHARACTER_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		world_name_candidates(NAMES[i].wanted, NAMES[i].id, plain, suffixed);
		assert_string_equal(plain, NAMES[i].plain);
		assert_string_equal(suffixed, NAMES[i].suffixed);
	}
}

static void any_bytes(void **state)
{
	unsigned seed = 7;
	char wanted[CHARACTER_NAME_BYTES], plain[CHARACTER_NAME_BYTES],
		suffixed[CHARACTER_NAME_BYTES];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		for (size_t j = 0; j < sizeof(wanted); j++)
			wanted[j] = (char)rand_r(&seed);
		wanted[rand_r(&seed) % sizeof(wanted)] = 0;
		world_name_candidates(wanted, (uint64_t)rand_r(&seed) << 33, plain, suffixed);
		assert_true(world_text_valid(plain, strlen(plain)));
		assert_true(world_text_valid(suffixed, strlen(suffixed)));
		assert_in_range(strlen(suffixed), 2, CHARACTER_NAME_BYTES - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_text),
		cmocka_unit_test(names),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
