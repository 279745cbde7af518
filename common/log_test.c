/* Proves: lines are one line each whatever their bytes; every event's text uses only placeholders
 * that exist; a flood of one event is cut to a few lines and a count, and hides no other; what was
 * pushed before the stop is written; several threads log at once and lose nothing uncounted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "common/log_line.h"
#include "common/mono.h"

static void line_is_one_line(void **state)
{
	static const struct {
		const char *text, *written;
	} rows[] = {{"plain text", "plain text"}, {"a\nb\"c\\d", "a\\x0ab\\\"c\\\\d"},
		{"\x1b[31mred", "\\x1b[31mred"}, {"h\xc3\xa9", "h\xc3\xa9"},
		{"\xc2\x9b", "\\xc2\\x9b"}, {"\xff\xc3", "\\xff\\xc3"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, {"\xf0\x9f\x90\x89", "\xf0\x9f\x90\x89"},
		{"\xe0\x80\x80", "\\xe0\\x80\\x80"}, {"", ""}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct log_line line = {.wall_ns = 1748772000123456789ull,
			.level = SW_LOG_WARN,
			.module = "world",
			.thread = "t1",
			.text = rows[i].text,
			.text_bytes = strlen(rows[i].text)};
		char out[LOG_LINE_BYTES], expected[512];

		snprintf(expected, sizeof(expected),
			"time=2025-06-01T10:00:00.123456Z level=warn module=world thread=t1 "
			"text=\"%s\"\n",
			rows[i].written);
		assert_int_equal(log_line_write(&line, out), strlen(expected));
		assert_memory_equal(out, expected, strlen(expected));
	}
}

static void longest_line_fits(void **state)
{
	char text[2000], out[LOG_LINE_BYTES + 1];
	const struct log_line line = {.module = "a-module-with-a-name-too-long-for-a-line",
		.thread = "a-thread-of-the-longest-kind",
		.level = SW_LOG_ERROR,
		.wall_ns = UINT64_MAX,
		.text = text,
		.text_bytes = sizeof(text)};
	size_t bytes;

	(void)state;
	memset(text, 1, sizeof(text));
	out[LOG_LINE_BYTES] = 'x';
	bytes = log_line_write(&line, out);
	assert_true(bytes > SW_LOG_TEXT_BYTES * 4 && bytes <= LOG_LINE_BYTES);
	assert_int_equal(out[bytes - 1], '\n');
	assert_int_equal(out[LOG_LINE_BYTES], 'x');
}

static void events_are_filled(void **state)
{
	static const uint64_t arg[4] = {7, 0x0a4d0001, 1500000, UINT64_MAX};
	static const struct {
		const char *template, *text;
	} rows[] = {{"map {0} of {1:ip}: {2:us} us, {3}, {0:x}",
			    "map 7 of 10.77.0.1: 1500 us, 18446744073709551615, 7"},
		{"{4} {a} { {0", "{4} {a} { {0"}, {"{text}!", "abc!"},
		{"{3:x}", "ffffffffffffffff"}};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = log_event_text(rows[i].template, arg, "abc", 3, out, sizeof(out));

		assert_int_equal(n, strlen(rows[i].text));
		assert_memory_equal(out, rows[i].text, n);
	}
	assert_int_equal(log_event_text("0123456789{text}", arg, "abc", 3, out, 11), 11);
	for (uint32_t i = 0; i < LOG_EVENTS_COUNT; i++) {
		char all[SW_LOG_TEXT_BYTES + 1];
		size_t n =
			log_event_text(log_event_desc[i].text, arg, "abc", 3, all, sizeof(all) - 1);

		all[n] = 0;
		if (strpbrk(all, "{}"))
			fail_msg("%s has a placeholder that does not exist: %s",
				log_event_desc[i].name, log_event_desc[i].text);
	}
}

static void flood_is_cut_and_counted(void **state)
{
	struct log_limit limit = {0};
	uint64_t now = 5 * NS_PER_S;
	uint32_t taken = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		taken += log_limit_take(&limit, now + i);
	assert_int_equal(taken, LOG_EVENT_LINES);
	assert_int_equal(log_limit_held(&limit, now + NS_PER_S - 1, false), 0);
	assert_int_equal(log_limit_held(&limit, now + NS_PER_S, false), 100 - LOG_EVENT_LINES);
	assert_int_equal(log_limit_held(&limit, now + NS_PER_S, false), 0);
	assert_true(log_limit_take(&limit, now + NS_PER_S));
	assert_int_equal(log_limit_held(&limit, now + NS_PER_S, true), 0);
}

static char *file_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

static uint32_t lines_with(const char *text, const char *part)
{
	uint32_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static void thread_writes_all_that_was_pushed(void **state)
{
	char path[] = "/tmp/sw-log-test-XXXXXX", *text;
	struct msg_ring *rings[2] = {msg_ring_new("a", 1024), msg_ring_new("b", 1024)};
	int file = mkstemp(path);

	(void)state;
	close(file);
	assert_int_equal(sw_log_open("/nonexistent/log", "info"), -ENOENT);
	assert_int_equal(sw_log_open("", "loud"), -EINVAL);
	assert_int_equal(sw_log_open(path, "info"), 0);
	assert_int_equal(sw_log_start(rings, 2), 0);
	assert_int_equal(sw_log_start(rings, 2), -EINVAL);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(
			log_event_push(rings[0], LOG_EVENT_LINK_DOWN, 0, mono_ns(), 3, 0, 0, 0));
	assert_true(log_event_push_text(
		rings[1], LOG_EVENT_SCRIPT_ERROR, 1, mono_ns(), 4, 0, "npc.lua:3: nil\n", 15));
	assert_true(log_event_push(rings[1], (enum log_event)LOG_EVENTS_COUNT, 1, 0, 0, 0, 0, 0));
	sw_log(SW_LOG_DEBUG, "test", "not written");
	sw_log(SW_LOG_ERROR, "test", "written by %s", "a control thread");
	sw_log_stop();
	text = file_text(path);
	assert_int_equal(
		lines_with(text, "module=dataplane thread=dataplane0 text=\"port 3: link is "
				 "down\"\n"),
		LOG_EVENT_LINES);
	assert_int_equal(lines_with(text, "text=\"LINK_DOWN: and 95 more\"\n"), 1);
	assert_int_equal(
		lines_with(text, "thread=script1 text=\"map 4: npc.lua:3: nil\\x0a\"\n"), 1);
	assert_int_equal(lines_with(text, "not written"), 0);
	assert_int_equal(lines_with(text, "level=error module=test"), 1);
	assert_int_equal(lines_with(text, "text=\"written by a control thread\"\n"), 1);
	free(text);
	unlink(path);
	msg_ring_free(rings[0]);
	msg_ring_free(rings[1]);
}

#define CALLERS 4u
#define CALLS   2000u

static void *caller(void *arg)
{
	for (uint32_t i = 0; i < CALLS; i++)
		sw_log(SW_LOG_INFO, "test", "call %u", i);
	return arg;
}

static void callers_lose_nothing_uncounted(void **state)
{
	char path[] = "/tmp/sw-log-test-XXXXXX", *text;
	pthread_t thread[CALLERS];
	uint32_t written;
	uint64_t lost = 0;
	int file = mkstemp(path);

	(void)state;
	close(file);
	assert_int_equal(sw_log_open(path, "debug"), 0);
	assert_int_equal(sw_log_start(NULL, 0), 0);
	for (uint32_t i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, caller, NULL), 0);
	for (uint32_t i = 0; i < CALLERS; i++)
		pthread_join(thread[i], NULL);
	sw_log_stop();
	text = file_text(path);
	written = lines_with(text, "text=\"call ");
	for (const char *at = text; (at = strstr(at, " lines were lost")); at++) {
		const char *number = at;

		while (number[-1] >= '0' && number[-1] <= '9')
			number--;
		lost += strtoull(number, NULL, 10);
	}
	assert_true(written > 0);
	assert_int_equal(written + lost, CALLERS * CALLS);
	free(text);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_is_one_line),
		cmocka_unit_test(longest_line_fits),
		cmocka_unit_test(events_are_filled),
		cmocka_unit_test(flood_is_cut_and_counted),
		cmocka_unit_test(thread_writes_all_that_was_pushed),
		cmocka_unit_test(callers_lose_nothing_uncounted),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
