/* Proves: whatever text is refused is refused by name (too long, no UTF-8, control characters,
 * empty), also 64 KiB of it; a word of the list is found through each of the ways to hide it, and
 * words that only contain it, or letters of two words, are not; a list that is none is refused with
 * its line, and every text of random bytes is looked at without harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/chat/filter.h"
#include "control/chat/text.h"

static enum chat_refusal check(const char *text)
{
	return chat_text_check((const uint8_t *)text, strlen(text), 255);
}

static void texts(void **state)
{
	static const struct {
		const char *text;
		enum chat_refusal refusal;
	} rows[] = {
		{"hello", CHAT_REFUSED_NONE},
		{"Grüße, 你好, \xf0\x9f\x91\x8b\xf0\x9f\x8f\xbd", CHAT_REFUSED_NONE},
		{"", CHAT_REFUSED_EMPTY},
		{"  \xc2\xa0\xe2\x80\x8b\xe3\x85\xa4", CHAT_REFUSED_EMPTY},
		{"a\nb", CHAT_REFUSED_CONTROL_CHARACTER},
		{"a\x7f", CHAT_REFUSED_CONTROL_CHARACTER},
		{"\xc2\x85", CHAT_REFUSED_CONTROL_CHARACTER},
		{"\xe2\x80\xae"
		 "evil",
			CHAT_REFUSED_CONTROL_CHARACTER},
		{"\xe2\x80\xa8", CHAT_REFUSED_CONTROL_CHARACTER},
		{"\xf3\xa0\x81\x81", CHAT_REFUSED_CONTROL_CHARACTER},
		{"\xff", CHAT_REFUSED_NOT_UTF8},
		{"ab\xc3", CHAT_REFUSED_NOT_UTF8},
		{"\xc0\xaf", CHAT_REFUSED_NOT_UTF8},
		{"\xe0\x80\xaf", CHAT_REFUSED_NOT_UTF8},
		{"\xed\xa0\x80", CHAT_REFUSED_NOT_UTF8},
		{"\xf4\x90\x80\x80", CHAT_REFUSED_NOT_UTF8},
		{"\x80", CHAT_REFUSED_NOT_UTF8},
	};
	uint8_t *large = malloc(65536);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (check(rows[i].text) != rows[i].refusal)
			fail_msg("row %zu: %d", i, check(rows[i].text));
	memset(large, 'a', 65536);
	assert_int_equal(chat_text_check(large, 65536, 255), CHAT_REFUSED_TOO_LONG);
	assert_int_equal(chat_text_check(large, 256, 255), CHAT_REFUSED_TOO_LONG);
	assert_int_equal(chat_text_check(large, 255, 255), CHAT_REFUSED_NONE);
	free(large);
}

static struct chat_filter *list(const char *words)
{
	char error[128] = "";
	struct chat_filter *filter = chat_filter_new(words, strlen(words), error, sizeof(error));

	if (!filter)
		fail_msg("%s", error);
	return filter;
}

static bool finds(const struct chat_filter *filter, const char *text)
{
	return chat_filter_finds(filter, (const uint8_t *)text, strlen(text));
}

static void evasions(void **state)
{
	static const char *const found[] = {"grock", "Grock", "GROCK", "you grock!", "grock.",
		"(grock)", "grock, you",
		/* width, accents, mathematical and circled letters */
		"\xef\xbd\x87\xef\xbd\x92\xef\xbd\x8f\xef\xbd\x83\xef\xbd\x8b",
		"gr\xc3\xb6"
		"ck",
		"gro\xcc\x88"
		"ck",
		"\xc4\x9fr\xc5\x8d\xc3\xa7k",
		"\xf0\x9d\x90\xa0\xf0\x9d\x90\xab\xf0\x9d\x90\xa8\xf0\x9d\x90\x9c\xf0\x9d\x90\xa4",
		"\xe2\x93\x96\xe2\x93\xa1\xe2\x93\x9e\xe2\x93\x92\xe2\x93\x9a",
		"\xf0\x9f\x84\xb6\xf0\x9f\x85\x81\xf0\x9f\x84\xbe\xf0\x9f\x84\xb2\xf0\x9f\x84\xba",
		/* look-alikes: Cyrillic о and с, Greek omicron and kappa */
		"gr\xd0\xbe"
		"ck",
		"gro\xd1\x81k",
		"gr\xce\xbf"
		"c\xce\xba",
		/* digits for letters */
		"gr0ck", "9rock", "6R0CK",
		/* letters said several times */
		"grooock", "ggggrrroooccckkk",
		/* blanks and signs between letters */
		"g r o c k", "say g r o c k now", "g.r.o.c.k", "g-r-o-c-k", "gr-ock", "g_r_o_c_k",
		"g  r  o  c  k", "g\xc2\xa0r\xe3\x80\x80o c k", "gr\xe2\x80\x8bock",
		"gro\xc2\xad"
		"ck",
		"g*r*o*c*k", "g \xd0\xbe r 0 c k g r 0 c k",
		/* anywhere in a word */
		"prezzlify", "UNPREZZLED", "pr3zz1", "p r e z z l", "un-p.r.e.z.z.1-ed",
		/* i, l, 1, ! and | are one */
		"bilk", "b1lk", "bi|k", "b!1k",
		/* doubled letters are not single ones */
		"boss", "b0ss", "bo$$", "bosss", "slow grock"};
	static const char *const not_found[] = {"", "hello", "grocky", "ungrock", "grocks of it",
		"gro", "ck", "gro ck", "pro ckg", "grog rocks", "bos", "606", "8055", "9 0",
		"prezz", "g r o w", "a b i l", "\xe4\xbd\xa0\xe5\xa5\xbd", "scab i like"};
	struct chat_filter *filter =
		list("# words\ngrock\n*prezzl*  # anywhere\n\n bilk\r\nboss\n");

	(void)state;
	assert_int_equal(chat_filter_words(filter), 4);
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
		if (!finds(filter, found[i]))
			fail_msg("not found: \"%s\"", found[i]);
	for (size_t i = 0; i < sizeof(not_found) / sizeof(not_found[0]); i++)
		if (finds(filter, not_found[i]))
			fail_msg("found: \"%s\"", not_found[i]);
	assert_false(finds(NULL, "grock"));
	chat_filter_free(filter);
}

/* Words of other scripts keep their letters, and case is theirs too where there is one. */
static void other_scripts(void **state)
{
	struct chat_filter *filter = list("\xe6\x82\xaa\xe5\x8f\xa3\n");

	(void)state;
	assert_true(finds(filter, "\xe6\x82\xaa\xe5\x8f\xa3"));
	assert_true(finds(filter, "\xe6\x82\xaa \xe5\x8f\xa3"));
	assert_false(finds(filter, "\xe6\x82\xaa"));
	chat_filter_free(filter);
}

static void lists(void **state)
{
	static const struct {
		const char *words, *error;
	} rows[] = {{"good\nx\n", "line 2"}, {"123\n", "line 1"}, {"\n\nab\xff\n", "line 3"},
		{"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg", "line 1"}};
	char error[128];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(chat_filter_new(
			rows[i].words, strlen(rows[i].words), error, sizeof(error)));
		assert_non_null(strstr(error, rows[i].error));
	}
	assert_null(chat_filter_load("/none/such", error, sizeof(error)));
	assert_non_null(strstr(error, "No such file"));
}

static void any_bytes(void **state)
{
	struct chat_filter *filter = list("grock\n*prezzl*\n");
	static const char pieces[] = "gro ck.pez!l0\xd0\xbe";
	unsigned seed = 7;
	uint8_t text[700];

	(void)state;
	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t bytes = (uint32_t)rand_r(&seed) % sizeof(text);

		for (uint32_t i = 0; i < bytes; i++)
			text[i] = round % 2 ? (uint8_t)rand_r(&seed)
					    : (uint8_t)pieces[(uint32_t)rand_r(&seed) %
							      (sizeof(pieces) - 1)];
		chat_text_check(text, bytes, sizeof(text));
		chat_filter_finds(filter, text, bytes);
	}
	/* One that stands far behind, in one long word. */
	memset(text, 'x', sizeof(text));
	memcpy(text + 600, "prezzl", 6);
	assert_true(chat_filter_finds(filter, text, sizeof(text)));
	chat_filter_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(evasions),
		cmocka_unit_test(other_scripts),
		cmocka_unit_test(lists),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
