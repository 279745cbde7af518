/* Proves, against a private PostgreSQL, that parties are written down and found again: the newest
 * of each, whoever writes and in whatever order; in pages, the newest first; none that has ended or
 * is out of date; each restore in a new epoch, after what waited; and nothing of it is lost while
 * PostgreSQL is away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/handle.h"
#include "common/party.h"
#include "control/world/world_fixture.h"

static void save(
	struct fixture *f, uint64_t id, uint64_t version, const char *text, uint32_t keep_s)
{
	static struct msg_buffer buffer;
	struct msg_party_save body = {.party_id = id,
		.version = version,
		.realm_id = 1,
		.keep_s = keep_s,
		.text_bytes = (uint32_t)strlen(text)};
	uint8_t *at = msg_begin(
		buffer.slot, MSG_PARTY_SAVE, HANDLE_NONE, (uint32_t)sizeof(body) + body.text_bytes);

	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), text, body.text_bytes);
	while (!msg_ring_push(f->links.from_control, buffer.slot))
		fixture_sleep_ms(1);
}

struct answer {
	struct msg_party_restored body;
	char text[512];
};

static struct answer next(struct fixture *f)
{
	static struct msg popped[2 * MSG_SLOTS_MAX];
	static const struct msg *at = popped, *end = popped;
	struct answer answer = {0};

	for (int i = 0; at == end && i < FIXTURE_WAIT_S * 1000; i++) {
		at = popped;
		end = popped + msg_ring_pop(f->links.to_control, popped, 2 * MSG_SLOTS_MAX);
		if (at == end)
			fixture_sleep_ms(1);
	}
	if (at == end)
		fail_msg("no answer");
	assert_int_equal(at->type, MSG_PARTY_RESTORED);
	memcpy(&answer.body, msg_payload(at), sizeof(answer.body));
	assert_int_equal(at->payload_bytes, sizeof(answer.body) + answer.body.text_bytes);
	assert_true(answer.body.text_bytes < sizeof(answer.text));
	memcpy(answer.text, msg_payload(at) + sizeof(answer.body), answer.body.text_bytes);
	at = msg_next(at);
	return answer;
}

static void restore(struct fixture *f, uint64_t request, uint64_t epoch, uint64_t before)
{
	struct msg message[2];
	struct msg_party_restore body = {
		.request = request, .epoch = epoch, .before = before, .realm_id = 1};

	memcpy(msg_begin(message, MSG_PARTY_RESTORE, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	assert_true(msg_ring_push(f->links.from_control, message));
}

static void expect_row(struct fixture *f, uint64_t id, uint64_t version, const char *text)
{
	struct answer answer = next(f);

	assert_int_equal(answer.body.what, PARTY_RESTORED_ROW);
	assert_int_equal(answer.body.party_id, id);
	assert_int_equal(answer.body.version, version);
	assert_string_equal(answer.text, text);
}

static uint64_t expect_end(struct fixture *f, uint64_t next_page)
{
	struct answer answer = next(f);

	assert_int_equal(answer.body.what, PARTY_RESTORED_END);
	assert_int_equal(answer.body.version, next_page);
	return answer.body.epoch;
}

static void the_newest_is_found_again(void **state)
{
	struct fixture f;
	uint64_t large = (1ull << 63) + 5;

	(void)state;
	server_new_database("parties");
	fixture_init(&f, 32768);
	server_conninfo(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo), "parties");
	fixture_start(&f);
	assert_non_null(f.world);
	restore(&f, 1, 0, 0);
	assert_int_equal(expect_end(&f, 0), 1);
	save(&f, 40, 5, "{\"v\":5}", 60);
	save(&f, 40, 7, "{\"v\":7}", 60);
	save(&f, 40, 6, "{\"v\":6}", 60); /* late */
	save(&f, large, 8, "{\"name\":\"\xc3\xa4\"}", 60);
	save(&f, 41, 9, "{}", 60);
	save(&f, 41, 10, "", 60);  /* has ended, */
	save(&f, 42, 11, "{}", 0); /* out of date at once */
	restore(&f, 2, 0, 0);
	expect_row(&f, large, 8, "{\"name\":\"\xc3\xa4\"}");
	expect_row(&f, 40, 7, "{\"v\":7}");
	assert_int_equal(expect_end(&f, 0), 2);
	save(&f, 41, 9, "{}", 60); /* and no older word of it comes after */
	save(&f, 40, 7, "{\"v\":7}", 60);
	save(&f, 43, 0, "\xff", 60); /* no text */
	assert_int_equal(fixture_flush(&f), 0);
	restore(&f, 3, 9, 8); /* of an epoch that is under way: it stays */
	expect_row(&f, 40, 7, "{\"v\":7}");
	assert_int_equal(expect_end(&f, 0), 9);
	assert_int_equal(fixture_counter(&f, WORLD_PARTIES_INVALID), 1);
	/* More than a page. */
	for (uint64_t i = 0; i < PARTY_PAGE_ROWS; i++)
		save(&f, 1000 + i, 100 + i, "{}", 60);
	restore(&f, 4, 0, 0);
	for (uint64_t i = PARTY_PAGE_ROWS; i--;)
		expect_row(&f, 1000 + i, 100 + i, "{}");
	assert_int_equal(expect_end(&f, 100), 3);
	restore(&f, 5, 3, 100);
	expect_row(&f, large, 8, "{\"name\":\"\xc3\xa4\"}");
	expect_row(&f, 40, 7, "{\"v\":7}");
	assert_int_equal(expect_end(&f, 0), 3);
	assert_int_equal(fixture_stop(&f), 0);
	fixture_fini(&f);
}

static void what_waits_is_written_when_postgres_is_back(void **state)
{
	struct fixture f;
	struct answer answer;

	(void)state;
	server_new_database("away");
	fixture_init(&f, 32768);
	server_conninfo(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo), "away");
	fixture_start(&f);
	assert_non_null(f.world);
	server_do("kill");
	fixture_wait_health(&f, false);
	for (uint64_t i = 0; i < 200; i++)
		save(&f, 500 + i % 50, 10 + i, "{}", 600);
	restore(&f, 1, 0, 0);
	answer = next(&f); /* after its deadline */
	assert_int_equal(answer.body.what, PARTY_RESTORED_UNAVAILABLE);
	server_do("start");
	fixture_wait_health(&f, true);
	restore(&f, 2, 0, 0);
	for (uint64_t i = 50; i--;)
		expect_row(&f, 500 + i, 160 + i, "{}");
	expect_end(&f, 0);
	assert_int_equal(fixture_stop(&f), 0);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_is_found_again),
		cmocka_unit_test(what_waits_is_written_when_postgres_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
