/* Proves that the database is brought to the schema once, whoever starts when; that one which is
 * newer, changed or has a gap is refused by name and untouched; that the schema itself keeps its
 * rules (each key leads with realm_id, no triggers, names unique in their realm, gold not
 * negative); and that each way in which PostgreSQL can be unusable at start is said with what,
 * where and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "control/world/migrate.h"
#include "control/world/pg_setup.h"
#include "control/world/world_fixture.h"

#define DB "migrations"

static const struct migration STEPS[] = {
	{1, "0001_a", "aaaa", "CREATE TABLE a (x integer); INSERT INTO a VALUES (1)"},
	{2, "0002_b", "bbbb", "CREATE TABLE b (x integer); SELECT pg_sleep(0.3)"},
	{3, "0003_broken", "cccc", "CREATE TABLE c (x integer); SELECT 1/0"},
};
static const struct migration CHANGED[] = {
	{1, "0001_a", "aaaa", ""},
	{2, "0002_b", "dddd", ""},
};

/* Runs migrate_run on a connection of its own; its error text, if any, has to contain expected. */
static int migrate(
	const struct migration *list, uint32_t count, uint32_t wait_ms, const char *expected)
{
	struct pg_target target;
	char conninfo[256], *text = NULL;
	size_t bytes = 0;
	FILE *errors = open_memstream(&text, &bytes);
	PGconn *conn;
	int rc;

	server_conninfo(conninfo, sizeof(conninfo), DB);
	assert_int_equal(pg_target_init(&target, conninfo, "test", errors), 0);
	conn = pg_setup_connect(&target, 3000, errors);
	assert_non_null(conn);
	rc = migrate_run(conn, list, count, wait_ms, errors);
	PQfinish(conn);
	pg_target_fini(&target);
	fclose(errors);
	if (bytes)
		print_message("%s", text);
	assert_non_null(strstr(text, expected));
	free(text);
	return rc;
}

static void once_and_refused(void **state)
{
	PGconn *sql;

	(void)state;
	server_new_database(DB);
	sql = server_connect(DB);
	assert_int_equal(migrate(STEPS, 1, 1000, ""), 1);
	assert_int_equal(migrate(STEPS, 1, 1000, ""), 0);
	assert_int_equal(migrate(STEPS, 2, 1000, ""), 1);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM a"), 1);

	/* One that fails leaves nothing of itself, and the ones before it stay. */
	assert_int_equal(
		migrate(STEPS, 3, 1000, "0003_broken: division by zero (SQLSTATE 22012)"), -EIO);
	assert_int_equal(
		server_sql(sql, "SELECT count(*) FROM pg_tables WHERE tablename = 'c'"), 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM schema_migration"), 2);

	assert_int_equal(migrate(CHANGED, 2, 1000, "0002 (0002_b) was changed"), -EILSEQ);
	assert_int_equal(migrate(STEPS, 1, 1000, "newer than this server"), -EEXIST);
	server_sql(sql, "DELETE FROM schema_migration WHERE version = 1");
	assert_int_equal(migrate(STEPS, 2, 1000, "0001 is missing"), -EILSEQ);

	/* Someone who holds the lock and never lets go. */
	server_sql(sql, "SELECT pg_advisory_lock(8319396948913644905)");
	assert_int_equal(migrate(STEPS, 2, 200, "migration lock"), -EBUSY);
	PQfinish(sql);
}

static void *migrate_thread(void *arg)
{
	*(int *)arg = migrate(STEPS, 2, 10000, "");
	return NULL;
}

static void many_at_once(void **state)
{
	pthread_t threads[4];
	int ran[4], sum = 0;

	(void)state;
	server_new_database(DB);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, migrate_thread, &ran[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_true(ran[i] == 0 || ran[i] == 2);
		sum += ran[i];
	}
	assert_int_equal(sum, 2);
}

/* Each counts what breaks a rule. schema_migration is about the database, not about a realm. */
static const struct {
	const char *rule, *count_of_breaches;
} RULES[] = {
	{"a primary, unique or foreign key leads with realm_id",
		"SELECT count(*) FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid "
		"JOIN pg_namespace n ON n.oid = t.relnamespace "
		"JOIN pg_attribute c ON c.attrelid = k.conrelid AND c.attnum = k.conkey[1] "
		"WHERE n.nspname = 'public' AND k.contype IN ('p', 'u', 'f') "
		"AND t.relname <> 'schema_migration' AND c.attname <> 'realm_id'"},
	{"a foreign key points at realm_id with realm_id",
		"SELECT count(*) FROM pg_constraint k "
		"JOIN pg_attribute c ON c.attrelid = k.confrelid AND c.attnum = k.confkey[1] "
		"WHERE k.contype = 'f' AND c.attname <> 'realm_id'"},
	{"what a foreign key points at has none itself: Citus is given one after the other",
		"SELECT count(*) FROM pg_constraint k JOIN pg_constraint deeper "
		"ON deeper.conrelid = k.confrelid AND deeper.contype = 'f' WHERE k.contype = 'f'"},
	{"an index leads with realm_id",
		"SELECT count(*) FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid "
		"JOIN pg_namespace n ON n.oid = t.relnamespace "
		"LEFT JOIN pg_attribute c ON c.attrelid = i.indrelid AND c.attnum = i.indkey[0] "
		"WHERE n.nspname = 'public' AND t.relname <> 'schema_migration' "
		"AND c.attname IS DISTINCT FROM 'realm_id'"},
	{"each table has a primary key",
		"SELECT count(*) FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace "
		"WHERE n.nspname = 'public' AND t.relkind = 'r' AND NOT EXISTS "
		"(SELECT 1 FROM pg_constraint k WHERE k.conrelid = t.oid AND k.contype = 'p')"},
	{"no triggers but those of foreign keys",
		"SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"},
	{"no rules", "SELECT count(*) FROM pg_rewrite r JOIN pg_class t ON t.oid = r.ev_class "
		     "JOIN pg_namespace n ON n.oid = t.relnamespace WHERE n.nspname = 'public'"},
	{"names are unique in their realm",
		"SELECT 1 - count(*) FROM pg_constraint WHERE contype = 'u' AND "
		"conrelid = 'character'::regclass AND pg_get_constraintdef(oid) = 'UNIQUE "
		"(realm_id, name)'"},
};

static void schema_keeps_its_rules(void **state)
{
	struct fixture f;
	PGconn *sql;
	PGresult *result;

	(void)state;
	fixture_init(&f, 256);
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
		print_message("%s\n", RULES[i].rule);
		assert_int_equal(server_sql(sql, RULES[i].count_of_breaches), 0);
	}
	/* The checks do see tables. */
	assert_true(server_sql(sql, "SELECT count(*) FROM pg_constraint WHERE contype = 'f'") > 0);
	fixture_login(&f, 1, 1, "Rich");
	result = PQexec(sql, "UPDATE character SET gold = gold - 1");
	assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "23514");
	PQclear(result);
	PQfinish(sql);
	fixture_stop(&f);
	fixture_fini(&f);
}

/* %s: the folder of the server's socket. */
static const struct {
	const char *conninfo;
	const char *says[3];
} UNUSABLE[] = {
	{"host=/nowhere user=stormweir dbname=stormweir",
		{"cannot connect", "host '/nowhere'", "is PostgreSQL running"}},
	{"hostaddr=127.0.0.1 port=1 user=stormweir dbname=stormweir",
		{"Connection refused", "port 1", "is PostgreSQL running"}},
	{"host=%s user=stormweir dbname=absent",
		{"database 'absent'", "does not exist", "createdb"}},
	{"host=%s user=nobody_here dbname=stormweir",
		{"user 'nobody_here'", "does not exist", "createuser"}},
	{"host=%s user=locked password=secret1 dbname=stormweir",
		{"user 'locked'", "password authentication failed", "wrong password"}},
	{"host=%s user=locked dbname=stormweir",
		{"user 'locked'", "authentication: give password=", ""}},
	{"host=%s user=stormweir dbname=latin", {"encoding is LATIN1", "createdb", ""}},
	{"host=%s user=reader dbname=stormweir2", {"schema_migration", "permission denied", ""}},
	{"host=db.example.org", {"'db.example.org' is a name", "hostaddr=", ""}},
	{"host=%s nonsense=1", {"postgres.conninfo", "nonsense", ""}},
};

static void expect_refused(struct fixture *f, const char *const says[3])
{
	fixture_start(f);
	assert_null(f->world);
	for (int j = 0; j < 3 && says[j]; j++)
		assert_non_null(strstr(f->errors, says[j]));
	/* One line, and never the password. */
	assert_ptr_equal(strchr(f->errors, '\n'), f->errors + f->errors_bytes - 1);
	assert_null(strstr(f->errors, "secret"));
	fixture_stop(f);
}

static void unusable_at_start(void **state)
{
	struct fixture f;
	char folder[256];
	PGconn *sql = server_connect("stormweir");

	(void)state;
	server_sql(sql, "CREATE ROLE locked LOGIN PASSWORD 'other'");
	server_sql(sql, "CREATE ROLE reader LOGIN");
	server_sql(sql, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
	server_new_database("stormweir2");
	server_do("lock"); /* pg_hba: a password for user locked */
	snprintf(folder, sizeof(folder), "%s/pgrun", getenv("SW_PG_DIR"));
	fixture_init(&f, 256);
	for (size_t i = 0; i < sizeof(UNUSABLE) / sizeof(UNUSABLE[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo),
			UNUSABLE[i].conninfo, folder);
#pragma GCC diagnostic pop
		expect_refused(&f, UNUSABLE[i].says);
	}
	PQfinish(sql);
	fixture_fini(&f);
}

static void newer_schema_at_start(void **state)
{
	static const char *const SAYS[3] = {"0999 (0999_future)", "newer than this server", NULL};
	struct fixture f;
	PGconn *sql = server_connect("stormweir");

	(void)state;
	fixture_init(&f, 256);
	server_sql(sql, "INSERT INTO schema_migration VALUES (999, '0999_future', 'x')");
	expect_refused(&f, SAYS);
	server_sql(sql, "DELETE FROM schema_migration WHERE version = 999");
	PQfinish(sql);
	fixture_start(&f);
	assert_non_null(f.world);
	fixture_stop(&f);
	fixture_fini(&f);
}

static void share_of_connections(void **state)
{
	static const char *const SAYS[3] = {
		"other nodes hold 26", "70 % of max_connections (40): 28", "raise max_connections"};
	static const char *const ONE_LESS[3] = {"needs 6 sessions", "other nodes hold 23", NULL};
	struct fixture f;
	PGconn *nodes[26], *sql = server_connect("stormweir");
	char conninfo[256];

	(void)state;
	fixture_init(&f, 256);
	server_conninfo(conninfo, sizeof(conninfo), "stormweir application_name=stormweir/other");
	for (int i = 0; i < 26; i++) {
		nodes[i] = PQconnectdb(conninfo);
		assert_int_equal(PQstatus(nodes[i]), CONNECTION_OK);
	}
	expect_refused(&f, SAYS); /* 26 and 6 of 40: more than 28 */
	for (int i = 0; i < 3; i++)
		PQfinish(nodes[i]);
	server_wait_for(sql, "SELECT (count(*) = 23)::int FROM pg_stat_activity WHERE "
			     "starts_with(application_name, 'stormweir/')");
	expect_refused(&f, ONE_LESS);
	PQfinish(nodes[3]);
	server_wait_for(sql, "SELECT (count(*) = 22)::int FROM pg_stat_activity WHERE "
			     "starts_with(application_name, 'stormweir/')");
	fixture_start(&f);
	assert_non_null(f.world); /* 22 and 6: all of the share */
	fixture_stop(&f);
	for (int i = 4; i < 26; i++)
		PQfinish(nodes[i]);
	PQfinish(sql);
	fixture_fini(&f);
}

/* A server that takes the connection and says nothing. */
static void silent_server(void **state)
{
	static const char *const SAYS[3] = {"no connection to", "within 200 ms", "does not answer"};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct fixture f;
	char folder[64];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/sw-silent.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL.5432", folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 5), 0);
	fixture_init(&f, 256);
	f.config.postgres.connect_timeout_ms = 200;
	snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo), "host=%s", folder);
	expect_refused(&f, SAYS);
	/* With a second host behind it, that one is found. */
	snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo),
		"host=%s,%s/pgrun user=stormweir dbname=stormweir", folder, getenv("SW_PG_DIR"));
	f.config.postgres.connect_timeout_ms = 1000;
	fixture_start(&f);
	assert_non_null(f.world);
	fixture_stop(&f);
	close(fd);
	unlink(address.sun_path);
	rmdir(folder);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_and_refused),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(schema_keeps_its_rules),
		cmocka_unit_test(unusable_at_start),
		cmocka_unit_test(newer_schema_at_start),
		cmocka_unit_test(share_of_connections),
		cmocka_unit_test(silent_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
