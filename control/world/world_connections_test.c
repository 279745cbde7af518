/* Proves what it costs when PostgreSQL has no connection left: a node that loses its own then is
 * told at once that nothing can be had, says on /health why, keeps what it took, and loses and
 * doubles nothing of it; it comes back by itself as soon as there is room. And that a node which
 * starts then says why it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/audit.h"
#include "control/world/world_fixture.h"

#define OTHERS_MAX 100u
#define USED_UP    "max_connections is used up"

static struct fixture f;
static PGconn *others[OTHERS_MAX];
static uint32_t others_count;

/* Takes every connection there is. */
static void take_all(void)
{
	char conninfo[256];

	server_conninfo(conninfo, sizeof(conninfo), "stormweir");
	for (;;) {
		PGconn *conn = PQconnectdb(conninfo);

		if (PQstatus(conn) != CONNECTION_OK) {
			assert_non_null(strstr(PQerrorMessage(conn), "too many clients"));
			PQfinish(conn);
			return;
		}
		assert_true(others_count < OTHERS_MAX);
		others[others_count++] = conn;
	}
}

static void give_back_all(void)
{
	while (others_count > 0)
		PQfinish(others[--others_count]);
}

/* The node's own sessions end, and others have their places before it can come back. Asked outside
 * of a transaction, which would see the sessions of its begin. */
static void take_all_of_the_node(void)
{
	take_all();
	do {
		server_sql(others[0],
			"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
			"WHERE application_name = 'stormweir/test'");
		take_all();
	} while (server_sql(others[0], "SELECT count(*) FROM pg_stat_activity WHERE "
				       "application_name = 'stormweir/test'") > 0);
}

static void give(uint64_t number, uint64_t character, uint32_t expires_ms)
{
	struct {
		struct msg_commit head;
		struct commit_op op;
	} c = {.head = {.request = {0xc0, number},
		       .character_id = {character},
		       .epoch = {1},
		       .realm_id = 1,
		       .expires_ms = expires_ms,
		       .reason = COMMIT_REASON_LOOT,
		       .ops = 1},
		.op = {.kind = COMMIT_GOLD, .amount = 5}};

	fixture_commit(&f, FIXTURE_MAIN, &c.head);
}

static void wait_for_cause(void)
{
	char text[256] = "";

	for (uint32_t i = 0; i < FIXTURE_WAIT_S * 100 && !strstr(text, USED_UP); i++) {
		fixture_sleep_ms(10);
		world_health(f.world, text, sizeof(text));
	}
	if (!strstr(text, USED_UP))
		fail_msg("health: %s", text);
}

static void none_left(void **state)
{
	struct msg_commit_result r;
	uint64_t number = 2;
	PGconn *sql;

	(void)state;
	fixture_init(&f, 1024);
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	for (uint64_t c = 1; c <= 3; c++)
		assert_int_equal(fixture_login(&f, 1, c, "x").epoch, 1);

	/* One whose fate nobody knows: it waits for a lock when its session ends. */
	server_sql(sql, "BEGIN");
	server_sql(sql, "SELECT 1 FROM character WHERE character_id = 1 FOR UPDATE");
	give(1, 1, 10);
	server_wait_for(sql, "SELECT count(*) FROM pg_stat_get_activity(NULL) WHERE "
			     "wait_event_type = 'Lock'");
	take_all_of_the_node();
	server_sql(sql, "ROLLBACK");
	fixture_wait_health(&f, false);
	wait_for_cause();

	/* Whoever asks is answered. */
	assert_int_equal(fixture_login(&f, 1, 2, "").result, MSG_LOAD_UNAVAILABLE);
	fixture_query(&f, FIXTURE_MAIN, 1, 2);
	assert_int_equal(fixture_detail(&f, FIXTURE_MAIN).result, MSG_LOAD_UNAVAILABLE);
	do {
		give(number++, 2, 10);
		r = fixture_committed(&f, FIXTURE_MAIN);
		assert_true(
			r.result == COMMIT_RESULT_UNAVAILABLE || r.result == COMMIT_RESULT_EXPIRED);
	} while (r.result != COMMIT_RESULT_UNAVAILABLE);
	fixture_save(&f, FIXTURE_MAIN, 3, 1, 33, true);
	fixture_wait_counter(&f, WORLD_SAVES_TAKEN, 1);

	give_back_all();
	assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_OK);
	fixture_wait_health(&f, true);
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), 5);
	assert_int_equal(server_sql(sql, "SELECT x_mm FROM character_position"), 33);
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
	/* Commits are taken as before. */
	give(number, 2, 60000);
	assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_OK);
	PQfinish(sql);
	assert_int_equal(fixture_stop(&f), 0);
	fixture_fini(&f);
}

static void none_left_at_start(void **state)
{
	(void)state;
	fixture_init(&f, 256);
	take_all();
	fixture_start(&f);
	assert_null(f.world);
	assert_non_null(strstr(f.errors, USED_UP));
	fixture_stop(&f);
	give_back_all();
	fixture_start(&f);
	assert_non_null(f.world);
	fixture_stop(&f);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_left),
		cmocka_unit_test(none_left_at_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
