/* Proves that old rows of the ledger go without a balance losing its proof: they stay where nothing
 * is set; where it is, whole transactions go, oldest first, by two nodes at once and through a
 * PostgreSQL that is killed with -9 while a page is half done, and at each moment the audit agrees;
 * and that the audit sees what is wrong in the sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/audit.h"
#include "control/world/world_fixture.h"

#define CHARACTERS 40u
#define OLD_ROWS   6000 /* of gold: six pages and more */
#define OLD        "FROM ledger WHERE at < now() - interval '7 days'"
#define PRUNE_WAITS                                                                                \
	"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE "     \
	"'%ledger_checkpoint%'"

static struct fixture f, other;
static PGconn *sql;

/* 6,000 commits of one coin, a second apart, 30 to 29.9 days ago; for each character an item that
 * came and went, and one that came; and a commit of today with its record. */
static void make_ledger(void)
{
	server_sql(sql, "TRUNCATE character CASCADE");
	server_sql(sql, "TRUNCATE ledger, ledger_sum, ledger_checkpoint, commit_record");
	server_sql(sql,
		"INSERT INTO character (realm_id, character_id, account_id, name, appearance, gold) "
		"SELECT 1, c, 1, 'c' || c, 0, 151 FROM generate_series(1, 40) c");
	server_sql(sql,
		"INSERT INTO ledger SELECT 1, md5(n::text)::uuid, 0, 0, 1 + n % 40, 0, 0, 0, 1, "
		"1 + n / 40, 2, now() - interval '30 days' + n * interval '1 second' "
		"FROM generate_series(0, 5999) n");
	server_sql(sql,
		"INSERT INTO ledger SELECT 1, md5('item' || c)::uuid, o, 2, c, 3 + o / 2, 7, 0, "
		"CASE o WHEN 1 THEN -5 ELSE 5 END, CASE o WHEN 1 THEN 0 ELSE 5 END, 2, "
		"now() - interval '20 days' FROM generate_series(1, 40) c, generate_series(0, 2) o");
	server_sql(sql, "INSERT INTO item_slot SELECT 1, c, 4, 7, 0, 5 FROM generate_series(1, 40) c");
	server_sql(sql,
		"INSERT INTO ledger SELECT 1, md5('now' || c)::uuid, 0, 0, c, 0, 0, 0, 1, 151, 2 "
		"FROM generate_series(1, 40) c");
	server_sql(sql,
		"INSERT INTO commit_record SELECT 1, request, character_id, 0, 0, 0, 0, 0, 0, at "
		"FROM ledger GROUP BY request, character_id, at");
	/* Of another realm: not this node's. */
	server_sql(sql,
		"INSERT INTO character (realm_id, character_id, account_id, name, appearance, gold) "
		"VALUES (2, 1, 1, 'far', 0, 9)");
	server_sql(sql, "INSERT INTO ledger VALUES (2, md5('far')::uuid, 0, 0, 1, 0, 0, 0, 9, 9, 2, "
			"now() - interval '30 days')");
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
}

static void start(struct fixture *fixture, uint32_t days)
{
	fixture_init(fixture, 1024);
	fixture->config.postgres.ledger_days = days;
	fixture->config.postgres.record_hours = 24;
	fixture_start(fixture);
	assert_non_null(fixture->world);
}

static void end(struct fixture *fixture)
{
	fixture_stop(fixture);
	fixture_fini(fixture);
}

/* The records' turn, which is before the ledger's, has come: of characters that logged in since. */
static void nothing_goes_by_itself(void **state)
{
	(void)state;
	start(&f, 0);
	sql = server_connect("stormweir");
	end(&f);
	make_ledger();
	start(&f, 0);
	fixture_wait_counter(&f, WORLD_RECORDS_PRUNED, OLD_ROWS + CHARACTERS);
	assert_int_equal(fixture_counter(&f, WORLD_LEDGER_PRUNED), 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) " OLD), OLD_ROWS + 3 * CHARACTERS + 1);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger_checkpoint"), 0);
	end(&f);
}

static void all_is_summed_up(void)
{
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) " OLD " AND realm_id = 1"), 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger WHERE realm_id = 2"), 1);
	assert_int_equal(server_sql(sql, "SELECT removed FROM ledger_checkpoint WHERE realm_id = 1"),
		OLD_ROWS + 3 * CHARACTERS);
	assert_int_equal(server_sql(sql, "SELECT gold FROM ledger_checkpoint"), OLD_ROWS);
	assert_int_equal(server_sql(sql, "SELECT items FROM ledger_checkpoint"), 5 * CHARACTERS);
	assert_int_equal(server_sql(sql, "SELECT sum(amount) FROM ledger_sum WHERE kind = 0"),
		OLD_ROWS);
	/* One of gold and one of items for each; what came and went has no row. */
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger_sum"), 2 * CHARACTERS);
}

/* Killed when rows are deleted and sums written, and nothing is committed. */
static void killed_in_the_middle(void **state)
{
	PGconn *holder = server_connect("stormweir");
	int64_t rows;

	(void)state;
	make_ledger();
	rows = server_sql(sql, "SELECT count(*) FROM ledger");
	server_sql(holder, "BEGIN");
	server_sql(holder, "INSERT INTO ledger_checkpoint VALUES (1, now(), 0, 0, 0, 0)");
	start(&f, 7);
	server_wait_for(sql, PRUNE_WAITS);
	server_do("kill");
	PQfinish(holder);
	PQfinish(sql);
	server_do("start");
	sql = server_connect("stormweir");
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger"), rows);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger_sum"), 0);
	while (server_sql(sql, "SELECT count(*) " OLD " AND realm_id = 1") > 0)
		assert_int_equal(audit_ledger(sql, 0, stdout), 0);
	all_is_summed_up();
	end(&f);
}

/* The first one holds what the second one wants; commits go on meanwhile. */
static void two_nodes_at_once(void **state)
{
	struct {
		struct msg_commit head;
		struct commit_op op;
	} commit = {.head = {.request = {1, 1},
			    .character_id = {3},
			    .realm_id = 1,
			    .expires_ms = 60000,
			    .reason = COMMIT_REASON_LOOT,
			    .ops = 1},
		.op = {.kind = COMMIT_GOLD, .amount = 7}};
	PGconn *holder = server_connect("stormweir");

	(void)state;
	make_ledger();
	server_sql(holder, "BEGIN");
	server_sql(holder, "SELECT 1 FROM ledger ORDER BY at LIMIT 1 FOR UPDATE");
	start(&f, 7);
	start(&other, 7);
	server_wait_for(sql, PRUNE_WAITS " HAVING count(*) = 2");
	server_sql(holder, "ROLLBACK");
	PQfinish(holder);
	fixture_commit(&f, FIXTURE_MAIN, &commit.head);
	assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_OK);
	server_wait_for(sql, "SELECT (count(*) = 0)::int " OLD " AND realm_id = 1");
	all_is_summed_up();
	end(&other);
	end(&f);
}

static const struct {
	const char *spoil;
	int differences;
} SPOILS[] = {
	{"UPDATE ledger_sum SET amount = amount + 1 WHERE character_id = 3 AND kind = 0", 2},
	{"DELETE FROM ledger_sum WHERE character_id = 4 AND kind = 2", 2},
	{"UPDATE ledger_checkpoint SET gold = gold - 1", 1},
	{"DELETE FROM ledger_checkpoint", OLD_ROWS + CHARACTERS}, /* each record lacks its rows */
};

static void the_audit_sees(void **state)
{
	(void)state;
	server_sql(sql, "UPDATE character SET last_login_at = '-infinity'");
	for (size_t i = 0; i < sizeof(SPOILS) / sizeof(SPOILS[0]); i++) {
		FILE *nowhere = fopen("/dev/null", "w");

		server_sql(sql, "BEGIN");
		if (i == 3) /* of the old commits, which have been pruned */
			server_sql(sql,
				"INSERT INTO commit_record SELECT 1, md5(n::text)::uuid, 1, 0, 0, 0, "
				"0, 0, 0, now() - interval '30 days' FROM generate_series(1, 6040) n");
		assert_int_equal(audit_ledger(sql, 1, stdout), 0);
		server_sql(sql, SPOILS[i].spoil);
		assert_int_equal(audit_ledger(sql, 1, nowhere), SPOILS[i].differences);
		server_sql(sql, "ROLLBACK");
		fclose(nowhere);
	}
	PQfinish(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_goes_by_itself),
		cmocka_unit_test(killed_in_the_middle),
		cmocka_unit_test(two_nodes_at_once),
		cmocka_unit_test(the_audit_sees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
