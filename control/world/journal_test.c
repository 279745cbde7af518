/* Proves that the journal keeps what it was given, in order, over a restart and with any bytes in
 * its texts; that it is empty once all has been taken; that half a line and a line of nonsense cost
 * nothing but themselves; and that a second server does not get it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/world/journal.h"

static char folder[] = "/tmp/journal-XXXXXX";
static char path[64];

static struct journal_record record(uint32_t number)
{
	struct journal_record r = {.at_ms = 1700000000123 + number, .good = number % 2};

	snprintf(r.id, sizeof(r.id), "00000000-0000-4000-8000-%012x", number);
	snprintf(r.author, sizeof(r.author), "anna%u", number);
	strcpy(r.kind, "command");
	snprintf(r.what, sizeof(r.what), "kick a\tb\n\\c %u \xc3\xa4", number);
	memset(r.outcome, number % 3 ? 'x' : '\\', number % 5 ? number % 100 : AUDIT_TEXT_BYTES);
	return r;
}

static void start(struct journal *j)
{
	assert_int_equal(journal_open(j, path, stderr), 0);
}

static off_t size(void)
{
	struct stat what;

	assert_int_equal(stat(path, &what), 0);
	assert_int_equal(what.st_mode & 0777, 0600);
	return what.st_size;
}

static void expect_first(struct journal *j, uint32_t number)
{
	struct journal_record got, wanted = record(number);

	assert_true(journal_first(j, &got));
	assert_memory_equal(&got, &wanted, sizeof(got));
	journal_drop_first(j);
}

static void append(const char *text)
{
	FILE *file = fopen(path, "a");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void what_goes_in_comes_out(void **state)
{
	static struct journal j; /* large */
	struct journal_record r;

	(void)state;
	start(&j);
	assert_false(journal_first(&j, &r));
	for (uint32_t i = 0; i < 40; i++) {
		r = record(i);
		assert_true(journal_add(&j, &r));
	}
	for (uint32_t i = 0; i < 15; i++)
		expect_first(&j, i);
	assert_int_equal(j.waiting, 25);
	journal_close(&j);
	/* The next process begins with what is in the file: the first ones, too. */
	start(&j);
	assert_int_equal(j.waiting, 40);
	for (uint32_t i = 0; i < 40; i++)
		expect_first(&j, i);
	assert_false(journal_first(&j, &r));
	assert_int_equal(size(), 0);
	r = record(7);
	assert_true(journal_add(&j, &r));
	expect_first(&j, 7);
	journal_close(&j);
}

static void damage_costs_its_own_line(void **state)
{
	static const char *const lines[] = {"\n", "nonsense\n",
		"00000000-0000-4000-8000-000000000001\tx\t1\ta\tcommand\twhat\tout\n",
		"00000000-0000-4000-8000-000000000001\t1\t1\ta\tcommand\twhat\tout\tmore\n",
		"00000000-0000-4000-8000-000000000001\t1\t1\ta\tcommand\twh\\at\tout\n",
		"short-id\t1\t1\ta\tcommand\twhat\tout\n",
		"00000000-0000-4000-8000-000000000001\t1\t1\tan author of far too many characters "
		"for its field\tcommand\twhat\tout\n"};
	static struct journal j;
	struct journal_record r = record(1);

	(void)state;
	start(&j);
	assert_true(journal_add(&j, &r));
	journal_close(&j);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		append(lines[i]);
	start(&j);
	r = record(2);
	assert_true(journal_add(&j, &r));
	expect_first(&j, 1);
	expect_first(&j, 2);
	assert_int_equal(j.damaged, sizeof(lines) / sizeof(lines[0]));
	assert_int_equal(size(), 0);
	/* The process died while it wrote. */
	r = record(3);
	assert_true(journal_add(&j, &r));
	journal_close(&j);
	append("00000000-0000-4000-8000-000000000001\t1\t1\ta\tcomm");
	start(&j);
	r = record(4);
	assert_true(journal_add(&j, &r));
	expect_first(&j, 3);
	expect_first(&j, 4);
	assert_int_equal(j.damaged, 0);
	journal_close(&j);
}

static void one_server_has_it(void **state)
{
	static struct journal j, other;
	struct journal_record r = record(1);
	char *text = NULL;
	size_t bytes;
	FILE *errors = open_memstream(&text, &bytes);

	(void)state;
	start(&j);
	assert_int_equal(journal_open(&other, path, errors), -EWOULDBLOCK);
	assert_int_equal(journal_open(&other, "/nonexistent/journal", errors), -ENOENT);
	fclose(errors);
	assert_non_null(strstr(text, "another server has it"));
	assert_non_null(strstr(text, "ops.journal: /nonexistent/journal"));
	free(text);
	/* None at all takes nothing, and says so. */
	assert_int_equal(journal_open(&other, "", stderr), 0);
	assert_false(journal_add(&other, &r));
	assert_false(journal_first(&other, &r));
	journal_close(&other);
	journal_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(damage_costs_its_own_line),
		cmocka_unit_test(one_server_has_it),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/journal", folder);
	failed = cmocka_run_group_tests_name("journal", tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failed;
}
