/* Proves that the loss of the primary costs nothing that was confirmed: with a synchronous standby
 * and both hosts in the connection string, commits go on after the standby is promoted, each
 * confirmed one is there once, each refused one not, and the ledger agrees. And that at start it is
 * said where what is confirmed could be lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/audit.h"
#include "control/world/world_fixture.h"

#define COMMITS   300u
#define UNDER_WAY 40u
#define LOST_AT   120u /* commits sent */

static struct fixture f;
static uint64_t epoch;
static uint32_t results[COMMIT_RESULT_COUNT];
static bool done[2 * COMMITS], refused[2 * COMMITS];

static PGconn *standby_connect(void)
{
	char conninfo[512];
	PGconn *conn;

	snprintf(conninfo, sizeof(conninfo), "host=%s/s/pgrun user=stormweir dbname=stormweir",
		getenv("SW_PG_DIR"));
	conn = PQconnectdb(conninfo);
	assert_int_equal(PQstatus(conn), CONNECTION_OK);
	return conn;
}

static void send(uint64_t number)
{
	struct {
		struct msg_commit head;
		struct commit_op op;
	} c = {.head = {.request = {0xfa11, number},
		       .character_id = {1 + number % 50},
		       .epoch = {epoch},
		       .realm_id = 1,
		       .expires_ms = 60000,
		       .reason = COMMIT_REASON_LOOT,
		       .ops = 1},
		.op = {.kind = COMMIT_GOLD, .amount = 1}};

	fixture_commit(&f, FIXTURE_MAIN, &c.head);
}

static void receive(void)
{
	struct msg_commit_result r = fixture_committed(&f, FIXTURE_MAIN);

	results[r.result]++;
	assert_true(r.request[1] < 2 * COMMITS);
	done[r.request[1]] = r.result == COMMIT_RESULT_OK;
	refused[r.request[1]] = r.result == COMMIT_RESULT_UNAVAILABLE;
	if (refused[r.request[1]])
		fixture_sleep_ms(5); /* what is away may come back */
}

static void expect_each_once(PGconn *sql)
{
	uint32_t confirmed = 0;
	char text[160];

	for (uint32_t i = 0; i < 2 * COMMITS; i++) {
		snprintf(text, sizeof(text),
			"SELECT count(*) FROM ledger WHERE right(request::text, 12) = "
			"lpad(to_hex(%u), 12, '0')",
			i);
		if (done[i] || refused[i])
			assert_int_equal(server_sql(sql, text), done[i]);
		confirmed += done[i];
	}
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger"), confirmed);
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), confirmed);
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
}

static void a_standby_is_promoted(void **state)
{
	PGconn *primary = server_connect("stormweir"), *sql;
	uint32_t due = 0, sent;

	(void)state;
	fixture_init(&f, 1024);
	snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo),
		"host=%s/pgrun,%s/s/pgrun user=stormweir dbname=stormweir", getenv("SW_PG_DIR"),
		getenv("SW_PG_DIR"));
	server_do("standby");
	server_wait_for(
		primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'");
	fixture_start(&f);
	assert_non_null(f.world);
	assert_non_null(strstr(f.errors, "synchronous_standby_names is empty"));
	server_sql(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
	server_sql(primary, "SELECT pg_reload_conf()");
	server_wait_for(
		primary, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'");
	for (uint64_t c = 1; c <= 50; c++)
		epoch = fixture_login(&f, 1, c, "").epoch;
	for (sent = 0;
		sent < COMMITS || (results[COMMIT_RESULT_OK] < COMMITS && sent < 2 * COMMITS);
		sent++) {
		send(sent);
		due++;
		if (sent == LOST_AT) {
			PQfinish(primary);
			server_do("kill");
			fixture_wait_health(&f, false);
			sql = standby_connect();
			server_sql(sql, "SELECT pg_promote()");
			PQfinish(sql);
		}
		for (; due >= UNDER_WAY; due--)
			receive();
	}
	for (; due > 0; due--)
		receive();
	fixture_wait_health(&f, true);
	assert_int_equal(fixture_flush(&f), 0);
	print_message("%u done, %u unavailable\n", results[COMMIT_RESULT_OK],
		results[COMMIT_RESULT_UNAVAILABLE]);
	assert_int_equal(results[COMMIT_RESULT_OK] + results[COMMIT_RESULT_UNAVAILABLE], sent);
	assert_true(results[COMMIT_RESULT_OK] > LOST_AT); /* some after it */
	sql = standby_connect();
	assert_int_equal(server_sql(sql, "SELECT pg_is_in_recovery()::int"), 0);
	expect_each_once(sql);
	PQfinish(sql);
	fixture_stop(&f);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_standby_is_promoted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
