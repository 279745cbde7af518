/* Proves that a database with Citus is one that the server can use, without Citus, which is no
 * package of Debian's: an extension of that name stands in for it, whose create_distributed_table
 * makes of a table one that is partitioned by realm_id: partition `_here` has realm 1, this node's,
 * `_elsewhere` all others. PostgreSQL itself asks there what Citus asks: that each unique key has
 * realm_id in it; and a plan shows where a statement would go.
 *
 * So: nothing is done where there is no Citus; where there is, each table is handed over once, in an
 * order that Citus takes, also when the start before died in the middle; and then the server's own
 * sessions log in, save, commit in every way, prune, correct and keep parties, PostgreSQL writes down
 * the plan of every statement, those inside of functions, too, and none of them looks elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/handle.h"
#include "common/party.h"
#include "control/world/audit.h"
#include "control/world/commit_statement.h"
#include "control/world/statements.h"
#include "control/world/world_fixture.h"

#define CHARACTERS 40u

static struct fixture f;
static PGconn *sql;
static char journal[] = "/tmp/world-citus-XXXXXX";

/* Refuses what Citus refuses: a key without realm_id (the partitions' own rule), a trigger, a
 * foreign key to a table that is not distributed. */
static const char STAND_IN[] =
	"SET allow_system_table_mods = on;"
	"INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, "
	"extversion) VALUES (9999, 'citus', 10, 'public'::regnamespace, false, 'stand-in');"
	"CREATE TABLE pg_dist_partition (n serial, logicalrelid regclass, partkey text, "
	"colocated text);"
	"CREATE FUNCTION create_distributed_table(t regclass, col text, distribution_type text "
	"DEFAULT 'hash', colocate_with text DEFAULT 'default') RETURNS void LANGUAGE plpgsql AS $$"
	"DECLARE name text := (SELECT relname FROM pg_class WHERE oid = t); "
	"plain text := name || '_plain'; k record; "
	"mine text[] := '{}'; theirs text[] := '{}'; command text; "
	"BEGIN "
	"IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = t) THEN "
	"RAISE EXCEPTION 'table % is already distributed', t; END IF;"
	"IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t AND NOT tgisinternal) THEN "
	"RAISE EXCEPTION 'triggers are not supported'; END IF;"
	"IF colocate_with <> 'none' AND NOT EXISTS (SELECT FROM pg_dist_partition "
	"WHERE logicalrelid = colocate_with::regclass) THEN RAISE EXCEPTION 'not distributed'; "
	"END IF;"
	"FOR k IN SELECT conname, confrelid, conrelid, pg_get_constraintdef(oid) AS def "
	"FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 AND t IN (conrelid, confrelid) "
	"LOOP "
	"IF k.conrelid = t THEN "
	"IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = k.confrelid) THEN "
	"RAISE EXCEPTION 'a foreign key of % points at a local table', t; END IF;"
	"mine := mine || format('ALTER TABLE %I ADD CONSTRAINT %I %s', name, k.conname, k.def);"
	"ELSE theirs := theirs || format('ALTER TABLE %s ADD CONSTRAINT %I %s', "
	"k.conrelid::regclass, k.conname, k.def);"
	"EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname);"
	"END IF; END LOOP;"
	"EXECUTE format('ALTER TABLE %I RENAME TO %I', name, plain);"
	"EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) PARTITION BY LIST (%I)', name, "
	"plain, col);"
	"EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (1)', name || '_here', name);"
	"EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', name || '_elsewhere', name);"
	"EXECUTE format('INSERT INTO %I SELECT * FROM %I', name, plain);"
	"EXECUTE format('DROP TABLE %I', plain);"
	"FOREACH command IN ARRAY mine || theirs LOOP EXECUTE command; END LOOP;"
	"INSERT INTO pg_dist_partition (logicalrelid, partkey, colocated) "
	"VALUES (quote_ident(name)::regclass, col, colocate_with); END $$;";

static void start(void)
{
	fixture_init(&f, 1024);
	snprintf(f.config.ops.journal, sizeof(f.config.ops.journal), "%s/journal", journal);
	f.config.postgres.ledger_days = 7;
	fixture_start(&f);
}

static void stop(void)
{
	fixture_stop(&f);
	fixture_fini(&f);
}

static int64_t tables_of_a_realm(const char *kind)
{
	char text[300];

	snprintf(text, sizeof(text),
		"SELECT count(*) FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND "
		"a.attname = 'realm_id' WHERE t.relnamespace = 'public'::regnamespace AND t.relkind = "
		"'%s' AND NOT t.relispartition",
		kind);
	return server_sql(sql, text);
}

static void nothing_without_citus(void **state)
{
	(void)state;
	start();
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	assert_true(tables_of_a_realm("r") >= 10);
	assert_int_equal(tables_of_a_realm("p"), 0);
	stop();
}

/* The extension comes to a database that has been in use; the start that finds it is not taken
 * for the second table; what that left is taken up by the next one. */
static void each_table_once(void **state)
{
	int64_t tables = tables_of_a_realm("r");

	(void)state;
	server_sql(sql, "INSERT INTO character (realm_id, character_id, account_id, name, appearance) "
			"SELECT r, c, 1, 'c' || c, 0 FROM generate_series(1, 2) r, "
			"generate_series(1, 40) c");
	server_sql(sql, STAND_IN);
	server_sql(sql, "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; "
			"END'; CREATE TRIGGER t AFTER INSERT ON commit_record EXECUTE FUNCTION f()");
	start();
	assert_null(f.world);
	assert_non_null(strstr(f.errors, "citus: table commit_record cannot be distributed: triggers "
					 "are not supported"));
	stop();
	assert_true(tables_of_a_realm("p") >= 1 && tables_of_a_realm("p") < tables);
	server_sql(sql, "DROP TRIGGER t ON commit_record");
	for (int i = 0; i < 2; i++) { /* the second start finds nothing to do */
		start();
		assert_non_null(f.world);
		stop();
		assert_int_equal(tables_of_a_realm("r"), 0);
		assert_int_equal(tables_of_a_realm("p"), tables);
		assert_int_equal(server_sql(sql, "SELECT count(*) FROM pg_dist_partition"), tables);
	}
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM pg_dist_partition WHERE partkey <> "
					 "'realm_id' OR colocated <> CASE n WHEN 1 THEN 'none' ELSE "
					 "'character' END OR (n = 1) <> (logicalrelid = "
					 "'character'::regclass)"),
		0);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM character_here"), CHARACTERS);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM character_elsewhere"), CHARACTERS);
}

/* ---- every statement ---- */

static char *log_text(void)
{
	char path[512], *text = NULL;
	size_t bytes = 0;
	ssize_t got;
	FILE *file;

	snprintf(path, sizeof(path), "%s/postgres.log", getenv("SW_PG_DIR"));
	file = fopen(path, "r");
	assert_non_null(file);
	got = getdelim(&text, &bytes, 0, file);
	assert_true(got > 0);
	fclose(file);
	return text;
}

static void expect_logged(const char *log, const struct pg_prepared *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strstr(log, list[i].sql))
			fail_msg("%s was not carried out", list[i].name);
}

/* How often a partition of other realms stands in a plan. Not counted: `node`, which control asks
 * for all nodes of the cluster, whatever their realm; that is rare, and Citus asks all of its own. */
static uint32_t plans_elsewhere(const char *log, bool tell)
{
	uint32_t count = 0;

	for (const char *at = log; (at = strstr(at, "_elsewhere")); at++) {
		const char *from = at > log + 1500 ? at - 1500 : log;

		if (at - log > 5 && strncmp(at - 5, " node", 5) == 0)
			continue;
		if (tell && !count)
			print_message("%.*s\n", 1800, from);
		count++;
	}
	return count;
}

static void commit(uint64_t character, uint64_t other, const struct commit_op *ops, uint32_t count)
{
	static uint64_t number;
	struct {
		struct msg_commit head;
		struct commit_op op[4];
	} c = {.head = {.request = {5, ++number},
		       .character_id = {character, other},
		       .epoch = {1, other ? 1 : 0},
		       .realm_id = 1,
		       .expires_ms = 60000,
		       .reason = COMMIT_REASON_TRADE,
		       .ops = count}};

	memcpy(c.op, ops, count * sizeof(*ops));
	fixture_commit(&f, FIXTURE_MAIN, &c.head);
}

static uint32_t answers(uint32_t count)
{
	uint32_t ok = 0;

	for (; count > 0; count--)
		ok += fixture_committed(&f, FIXTURE_MAIN).result == COMMIT_RESULT_OK;
	return ok;
}

static const struct commit_op GOLD = {.kind = COMMIT_GOLD, .amount = 10};
static const struct commit_op TRADE[] = {{.kind = COMMIT_GOLD, .amount = -5},
	{.kind = COMMIT_GOLD, .who = 1, .amount = 5}, {.kind = COMMIT_EXPERIENCE, .amount = 100},
	{.kind = COMMIT_SLOT, .who = 1, .slot = 1, .item = 2, .amount = 1}};
static const struct commit_op ROW[][2] = {
	{{.kind = COMMIT_SLOT, .slot = 9, .item = 4, .amount = 1, .serial = 77},
		{.kind = COMMIT_QUEST, .item = 1, .amount = 3}},
	{{.kind = COMMIT_SLOT, .slot = 9, .item = 4, .amount = -1, .serial = 77},
		{.kind = COMMIT_QUEST, .slot = 3, .item = 1, .amount = 4}},
	{{.kind = COMMIT_SLOT, .slot = 8, .item = 4, .amount = 6},
		{.kind = COMMIT_QUEST, .slot = 4, .item = 1, .amount = 0}},
	{{.kind = COMMIT_SLOT, .slot = 8, .item = 4, .amount = -2},
		{.kind = COMMIT_RESULT, .item = 1, .amount = 1, .serial = 5}},
	{{.kind = COMMIT_SLOT, .slot = 8, .item = 5, .amount = -2}, {.kind = COMMIT_GOLD}},
	{{.kind = COMMIT_QUEST, .slot = 2, .item = 1, .amount = 4}, {.kind = COMMIT_GOLD}},
};

/* Sets: slots that are empty, that are filled, that become empty. Rows: each kind, and refusals. */
static void all_kinds_of_commits(void)
{
	const int64_t amounts[] = {3, 2, -5};
	uint32_t rows = sizeof(ROW) / sizeof(ROW[0]);

	for (int i = 0; i < 3; i++) {
		for (uint64_t c = 1; c <= CHARACTERS; c++)
			commit(c, 0,
				&(struct commit_op){
					.kind = COMMIT_SLOT, .slot = 2, .item = 7, .amount = amounts[i]},
				1);
		assert_int_equal(answers(CHARACTERS), CHARACTERS);
	}
	for (uint64_t c = 1; c <= CHARACTERS; c++)
		commit(c, 0, &GOLD, 1);
	assert_int_equal(answers(CHARACTERS), CHARACTERS);
	for (uint64_t c = 1; c <= CHARACTERS; c += 2)
		commit(c, c + 1, TRADE, 4);
	assert_int_equal(answers(CHARACTERS / 2), CHARACTERS / 2);
	assert_true(fixture_counter(&f, WORLD_COMMIT_SETS) > 0);
	for (uint32_t i = 0; i < rows; i++)
		commit(1, 0, ROW[i], 2);
	assert_int_equal(answers(rows), rows - 2);
}

static void corrections(void)
{
	struct msg_correction c = {
		.order = 1, .request = {9, 1}, .character_id = 1, .realm_id = 1, .amount = 3};

	for (uint32_t thing = 0; thing < CORRECTION_THING_COUNT; thing++) {
		for (int sign = 0; sign < 2; sign++) {
			c.thing = thing;
			c.item = thing >= CORRECTION_ITEM ? 30 + thing : 0;
			c.amount = sign ? -2 : 3;
			c.request[1]++;
			fixture_correct(&f, &c);
			assert_int_equal(fixture_corrected(&f).result, COMMIT_RESULT_OK);
		}
	}
	c = (struct msg_correction){.order = 1, .request = {9, 2}, .realm_id = 1, .reverse = 1};
	fixture_correct(&f, &c);
	assert_int_equal(fixture_corrected(&f).result, COMMIT_RESULT_OK);
}

/* Takes what comes to control until a message of the type does: of several rows, the last. */
static void wait_for(uint16_t type)
{
	struct msg popped[2 * MSG_SLOTS_MAX];
	struct msg_party_restored body;

	for (uint32_t ms = 0; ms < FIXTURE_WAIT_S * 1000; ms++) {
		uint32_t slots = msg_ring_pop(f.links.to_control, popped, 2 * MSG_SLOTS_MAX);

		for (const struct msg *m = popped; m < popped + slots; m = msg_next(m)) {
			memcpy(&body, msg_payload(m), sizeof(body));
			if (m->type == type && (type != MSG_PARTY_RESTORED ||
						       body.what == PARTY_RESTORED_END))
				return;
		}
		fixture_sleep_ms(1);
	}
	fail_msg("no message of type %u", type);
}

static void audits_parties_and_nodes(void)
{
	const struct msg_audit audit = {.id = {1, 2}, .author = "anna", .kind = "command"};
	const struct msg_party_save party = {.party_id = 5,
		.version = 1,
		.realm_id = 1,
		.keep_s = 60,
		.text_bytes = 2};
	const struct msg_party_restore restore = {.request = 1, .realm_id = 1};
	struct msg message[4];
	uint8_t *at;

	memcpy(msg_begin(message, MSG_AUDIT, HANDLE_NONE, sizeof(audit)), &audit, sizeof(audit));
	assert_true(msg_ring_push(f.links.from_control, message));
	fixture_wait_counter(&f, WORLD_AUDITS_WRITTEN, 1);
	at = msg_begin(message, MSG_PARTY_SAVE, HANDLE_NONE, sizeof(party) + 2);
	memcpy(at, &party, sizeof(party));
	memcpy(at + sizeof(party), "{}", 2);
	assert_true(msg_ring_push(f.links.from_control, message));
	fixture_wait_counter(&f, WORLD_PARTIES_SAVED, 1);
	memcpy(msg_begin(message, MSG_PARTY_RESTORE, HANDLE_NONE, sizeof(restore)), &restore,
		sizeof(restore));
	assert_true(msg_ring_push(f.links.from_control, message));
	wait_for(MSG_PARTY_RESTORED);
	msg_begin(message, MSG_NODES_QUERY, HANDLE_NONE, 0);
	assert_true(msg_ring_push(f.links.from_control, message));
	wait_for(MSG_NODES);
}

static void no_statement_looks_elsewhere(void **state)
{
	char *log;
	PGresult *result;

	(void)state;
	/* Plans of what stands in the statement, not of what might: what a router decides by. */
	server_sql(sql, "ALTER ROLE stormweir SET session_preload_libraries = 'auto_explain'");
	server_sql(sql, "ALTER ROLE stormweir SET auto_explain.log_min_duration = 0");
	server_sql(sql, "ALTER ROLE stormweir SET auto_explain.log_nested_statements = on");
	server_sql(sql, "ALTER ROLE stormweir SET plan_cache_mode = force_custom_plan");
	server_sql(sql, "DO $$ DECLARE p regprocedure; BEGIN FOR p IN SELECT oid FROM pg_proc WHERE "
			"pronamespace = 'public'::regnamespace AND proname LIKE ANY ('{commit_set%,"
			"commit_slots%}') LOOP "
			"EXECUTE format('ALTER FUNCTION %s SET plan_cache_mode = force_custom_plan', "
			"p); END LOOP; END $$");
	server_sql(sql, "INSERT INTO ledger SELECT 1, md5('old')::uuid, o, 0, 1, 0, 0, 0, 1 - 2 * o, "
			"1 - o, 2, now() - interval '30 days' FROM generate_series(0, 1) o");
	start();
	assert_non_null(f.world);
	for (uint64_t c = 1; c <= CHARACTERS; c++)
		assert_int_equal(fixture_login(&f, 1, c, "").epoch, 1);
	fixture_wait_counter(&f, WORLD_LEDGER_PRUNED, 2);
	all_kinds_of_commits();
	corrections();
	for (uint64_t c = 1; c <= CHARACTERS; c++)
		fixture_save(&f, FIXTURE_MAIN, c, 1, 5000, false);
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(fixture_counter(&f, WORLD_SAVES_COMMITTED), CHARACTERS);
	fixture_query(&f, FIXTURE_MAIN, 1, 1);
	assert_int_equal(fixture_detail(&f, FIXTURE_MAIN).result, MSG_LOAD_OK);
	audits_parties_and_nodes();
	log = log_text();
	expect_logged(log, statements_requests, STATEMENTS_REQUESTS);
	expect_logged(log, statements_saves, STATEMENTS_SAVES);
	expect_logged(log, statements_commits, STATEMENTS_COMMITS);
	assert_int_equal(plans_elsewhere(log, true), 0);
	free(log);
	assert_int_equal(audit_ledger(sql, 1, stdout), 0);
	/* And it would be seen. */
	PQfinish(sql);
	sql = server_connect("stormweir");
	result = PQexec(sql, "UPDATE quest SET state = 1 WHERE character_id = 99");
	PQclear(result);
	log = log_text();
	assert_true(plans_elsewhere(log, false) > 0);
	free(log);
	PQfinish(sql);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_citus),
		cmocka_unit_test(each_table_once),
		cmocka_unit_test(no_statement_looks_elsewhere),
	};
	char command[64];
	int failed;

	if (!mkdtemp(journal))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", journal);
	return system(command) ? 1 : failed;
}
