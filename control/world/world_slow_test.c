/* Proves what it costs when PostgreSQL is slow. Answers that come later than a player may wait, but
 * before a connection is given up: logins are refused in time, commits and saves are done and
 * confirmed, late; what is more than may wait is refused at once, and /health says so. Answers that
 * come when their connection has been given up: what was asked is asked again until one comes in
 * time, and each confirmed commit is there once. Either way all goes on by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/audit.h"
#include "control/world/cut_proxy.h"
#include "control/world/world_fixture.h"

#define TIMEOUT_MS 500u
#define LATE_MS    700u  /* later than that, */
#define LOST_MS    1800u /* and than a connection is waited for: TIMEOUT_MS and a second */
#define CHARACTERS 50u   /* and one who only logs in */
#define PLACES     64u   /* commits that may wait, of all shards */

static struct fixture f;
static PGconn *sql;
static struct cut_proxy proxy;
static uint64_t number;
static uint32_t results[COMMIT_RESULT_COUNT];

static int start(void **state)
{
	(void)state;
	cut_proxy_start(&proxy);
	fixture_init(&f, 1024);
	snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo),
		"host=%s user=stormweir dbname=stormweir", proxy.folder);
	f.config.postgres.statement_timeout_ms = TIMEOUT_MS;
	f.config.postgres.commits_pending_max = PLACES;
	f.config.postgres.commit_links = 2;
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	server_sql(sql, "TRUNCATE character CASCADE");
	server_sql(sql, "TRUNCATE ledger, commit_record");
	server_sql(sql, "INSERT INTO character (realm_id, character_id, account_id, name, "
			"appearance, epoch) SELECT 1, i, 1, 'c' || i, 0, 1 "
			"FROM generate_series(1, 51) i");
	memset(results, 0, sizeof(results));
	return 0;
}

static int end(void **state)
{
	(void)state;
	PQfinish(sql);
	fixture_stop(&f);
	cut_proxy_stop(&proxy);
	fixture_fini(&f);
	return 0;
}

static void give(void)
{
	struct {
		struct msg_commit head;
		struct commit_op op;
	} c = {.head = {.request = {0x510, ++number},
		       .character_id = {1 + number % CHARACTERS},
		       .epoch = {1},
		       .realm_id = 1,
		       .expires_ms = 60000,
		       .reason = COMMIT_REASON_LOOT,
		       .ops = 1},
		.op = {.kind = COMMIT_GOLD, .amount = 1}};

	fixture_commit(&f, FIXTURE_MAIN, &c.head);
}

/* Each of them is answered, and what was confirmed is there once. */
static void expect_answers(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		results[fixture_committed(&f, FIXTURE_MAIN).result]++;
	assert_int_equal(results[COMMIT_RESULT_OK] + results[COMMIT_RESULT_UNAVAILABLE], count);
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger"), results[COMMIT_RESULT_OK]);
	assert_int_equal(
		server_sql(sql, "SELECT sum(gold) FROM character"), results[COMMIT_RESULT_OK]);
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
}

static void recovers(void)
{
	atomic_store(&proxy.late_ms, 0);
	fixture_wait_health(&f, true);
	/* The first ones after it may still be behind old answers. */
	for (uint32_t i = 0; i < FIXTURE_WAIT_S * 100; i++) {
		if (fixture_login(&f, 1, CHARACTERS + 1, "").result == MSG_LOAD_OK)
			return;
		fixture_sleep_ms(10);
	}
	fail_msg("logins are refused for good");
}

static void late(void **state)
{
	char text[256];
	uint32_t given = 0;

	(void)state;
	atomic_store(&proxy.late_ms, LATE_MS);
	assert_int_equal(fixture_login(&f, 1, CHARACTERS + 1, "").result, MSG_LOAD_UNAVAILABLE);
	fixture_query(&f, FIXTURE_MAIN, 1, CHARACTERS + 1);
	assert_int_equal(fixture_detail(&f, FIXTURE_MAIN).result, MSG_LOAD_UNAVAILABLE);
	fixture_save(&f, 0, 49, 1, 77, true);
	for (; fixture_counter(&f, WORLD_COMMITS_NO_PLACE) == 0 && given < 100 * PLACES; given++)
		give();
	assert_true(fixture_counter(&f, WORLD_COMMITS_NO_PLACE) > 0);
	fixture_wait_health(&f, false);
	world_health(f.world, text, sizeof(text));
	assert_non_null(strstr(text, "too slow"));
	fixture_wait_counter(&f, WORLD_COMMITS_OK, PLACES / 2); /* they do come, late */
	fixture_wait_counter(&f, WORLD_SAVES_COMMITTED, 1);
	assert_int_equal(fixture_counter(&f, WORLD_LINKS_LOST), 0);
	assert_int_equal(fixture_counter(&f, WORLD_COMMIT_BATCHES_UNKNOWN), 0);
	recovers();
	expect_answers(given);
	assert_int_equal(server_sql(sql, "SELECT x_mm FROM character_position"), 77);
}

static void later_than_anybody_waits(void **state)
{
	enum { GIVEN = 30 };

	(void)state;
	atomic_store(&proxy.late_ms, LOST_MS);
	for (uint32_t i = 0; i < GIVEN; i++)
		give();
	fixture_save(&f, 0, 49, 1, 78, true);
	fixture_wait_counter(&f, WORLD_COMMIT_BATCHES_UNKNOWN, 2);
	fixture_wait_counter(&f, WORLD_BATCHES_UNKNOWN, 1);
	fixture_wait_health(&f, false);
	assert_int_equal(fixture_counter(&f, WORLD_COMMITS_OK), 0); /* nobody can know */
	server_wait_for(sql, "SELECT count(*) FROM ledger");        /* and yet some are done */
	recovers();
	expect_answers(GIVEN);
	assert_int_equal(results[COMMIT_RESULT_OK], GIVEN);
	assert_true(fixture_counter(&f, WORLD_COMMITS_REPEATED) > 0);
	assert_int_equal(fixture_counter(&f, WORLD_SAVES_REFUSED), 0);
	assert_int_equal(server_sql(sql, "SELECT x_mm FROM character_position"), 78);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(late, start, end),
		cmocka_unit_test_setup_teardown(later_than_anybody_waits, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
