/* Proves that what operators did comes into ops_audit_log exactly once, with its time and texts as
 * they were: at once while PostgreSQL is there, from the journal when it comes back, from the
 * journal of a process that died, and also when a record is sent twice; and that what is not saved
 * of a character is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "control/world/world_fixture.h"

static char folder[] = "/tmp/world-audit-XXXXXX";
static char path[64];

static int64_t ask(const char *query)
{
	PGconn *sql = server_connect("stormweir");
	int64_t number = server_sql(sql, query);

	PQfinish(sql);
	return number;
}

static void start(struct fixture *f)
{
	fixture_init(f, 1024);
	f->config.node.realm_id = 3;
	strcpy(f->config.ops.journal, path);
	fixture_start(f);
	if (!f->world)
		fail_msg("%s", f->errors);
}

static void did(struct fixture *f, uint64_t number, const char *what, const char *outcome)
{
	struct msg_audit body = {.id = {number, ~number},
		.at_ms = 1700000000250 + (int64_t)number * 1000,
		.good = number % 2,
		.what_bytes = (uint16_t)strlen(what),
		.outcome_bytes = (uint16_t)strlen(outcome),
		.author = "anna",
		.kind = "command"};
	struct msg_buffer buffer;
	uint8_t *at = msg_begin(buffer.slot, MSG_AUDIT, 0,
		(uint32_t)sizeof(body) + body.what_bytes + body.outcome_bytes);

	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), what, body.what_bytes);
	memcpy(at + sizeof(body) + body.what_bytes, outcome, body.outcome_bytes);
	while (!msg_ring_push(f->links.from_control, buffer.slot))
		fixture_sleep_ms(1);
}

static long journal_bytes(void)
{
	FILE *file = fopen(path, "r");
	long bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	bytes = ftell(file);
	fclose(file);
	return bytes;
}

static void written_at_once(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	ask("TRUNCATE ops_audit_log");
	did(&f, 1, "kick 7 tab\there", "saved \xc3\xa4\nsecond line");
	did(&f, 2, "instance close 1.1", "it is the only one");
	fixture_wait_counter(&f, WORLD_AUDITS_WRITTEN, 2);
	assert_int_equal(ask("SELECT count(*) FROM ops_audit_log WHERE realm_id = 3 AND author = "
			     "'anna' AND kind = 'command'"),
		2);
	assert_int_equal(ask("SELECT count(*) FROM ops_audit_log WHERE good AND what = "
			     "E'kick 7 tab\\there' AND outcome = E'saved \xc3\xa4\\nsecond line' "
			     "AND extract(epoch FROM at) * 1000 = 1700000001250"),
		1);
	assert_int_equal(
		ask("SELECT count(*) FROM ops_audit_log WHERE NOT good AND node <> ''"), 1);
	/* Twice the same: a crash between the row and the journal. */
	did(&f, 1, "kick 7 tab\there", "again");
	fixture_wait_counter(&f, WORLD_AUDITS_WRITTEN, 3);
	assert_int_equal(ask("SELECT count(*) FROM ops_audit_log"), 2);
	assert_int_equal(journal_bytes(), 0);
	assert_int_equal(fixture_counter(&f, WORLD_AUDITS_LOST), 0);
	fixture_stop(&f);
	fixture_fini(&f);
}

static void kept_while_postgres_is_away(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	ask("TRUNCATE ops_audit_log");
	server_do("kill");
	fixture_wait_health(&f, false);
	for (uint64_t i = 1; i <= 20; i++)
		did(&f, i, "kick 7", "saved");
	fixture_wait_counter(&f, WORLD_AUDITS_TAKEN, 20);
	assert_int_equal(fixture_counter(&f, WORLD_AUDITS_WRITTEN), 0);
	assert_true(journal_bytes() > 20 * 40);
	server_do("start");
	fixture_wait_counter(&f, WORLD_AUDITS_WRITTEN, 20);
	assert_int_equal(ask("SELECT count(*) FROM ops_audit_log"), 20);
	assert_int_equal(journal_bytes(), 0);
	fixture_stop(&f);
	fixture_fini(&f);
}

/* The journal of a server that was stopped, or killed, while PostgreSQL was away. */
static void the_next_process_goes_on(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	ask("TRUNCATE ops_audit_log");
	server_do("kill");
	fixture_wait_health(&f, false);
	for (uint64_t i = 1; i <= 5; i++)
		did(&f, i, "kick 7", "saved");
	fixture_wait_counter(&f, WORLD_AUDITS_TAKEN, 5);
	fixture_stop(&f);
	fixture_fini(&f);
	assert_true(journal_bytes() > 0);
	server_do("start");
	start(&f);
	fixture_wait_counter(&f, WORLD_AUDITS_WRITTEN, 5);
	assert_int_equal(ask("SELECT count(*) FROM ops_audit_log"), 5);
	did(&f, 6, "kick 7", "saved");
	fixture_wait_counter(&f, WORLD_AUDITS_WRITTEN, 6);
	assert_int_equal(ask("SELECT count(*) FROM ops_audit_log"), 6);
	fixture_stop(&f);
	fixture_fini(&f);
}

/* A record that PostgreSQL can never take does not hold up the next. */
static void a_bad_record_is_passed_over(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	ask("TRUNCATE ops_audit_log");
	did(&f, 1, "not UTF-8: \xff", "");
	did(&f, 2, "kick 7", "saved");
	fixture_wait_counter(&f, WORLD_AUDITS_WRITTEN, 1);
	assert_int_equal(ask("SELECT count(*) FROM ops_audit_log WHERE what = 'kick 7'"), 1);
	assert_int_equal(fixture_counter(&f, WORLD_AUDITS_LOST), 1);
	assert_int_equal(journal_bytes(), 0);
	fixture_stop(&f);
	fixture_fini(&f);
}

static struct msg_writes_result writes_of(struct fixture *f, uint64_t character)
{
	const struct msg_writes_query query = {77, character, 1, 0};
	struct msg buffer[2 * MSG_SLOTS_MAX];
	struct msg_writes_result result = {0};
	struct msg message;

	memcpy(msg_begin(&message, MSG_WRITES_QUERY, 0, sizeof(query)), &query, sizeof(query));
	assert_true(msg_ring_push(f->links.from_control, &message));
	for (uint32_t i = 0; i < FIXTURE_WAIT_S * 1000 && !result.request; i++) {
		fixture_sleep_ms(1);
		if (msg_ring_pop(f->links.to_control, buffer, 2 * MSG_SLOTS_MAX) &&
			buffer->type == MSG_WRITES_RESULT)
			memcpy(&result, msg_payload(buffer), sizeof(result));
	}
	assert_int_equal(result.request, 77);
	assert_int_equal(result.character_id, character);
	return result;
}

static void give(struct fixture *f, uint64_t number, uint64_t character)
{
	struct {
		struct msg_commit head;
		struct commit_op op;
	} c = {.head = {.request = {0xa0d1, number},
		       .character_id = {character},
		       .epoch = {1},
		       .realm_id = 1,
		       .expires_ms = 60000,
		       .reason = COMMIT_REASON_LOOT,
		       .ops = 1},
		.op = {.kind = COMMIT_GOLD, .amount = 5}};

	fixture_commit(f, FIXTURE_MAIN, &c.head);
}

static void what_is_not_saved_is_told(void **state)
{
	struct msg_writes_result result;
	struct fixture f;
	PGconn *other;

	(void)state;
	start(&f);
	assert_int_equal(fixture_login(&f, 1, 4711, "Ulla").result, MSG_LOAD_OK);
	result = writes_of(&f, 4711);
	assert_int_equal(result.saves, 0);
	assert_int_equal(result.commits, 0);
	assert_true(result.links_max > 0);
	assert_int_equal(result.links, result.links_max);
	/* One under way, one behind it. */
	other = server_connect("stormweir");
	server_sql(other, "BEGIN");
	server_sql(other, "SELECT 1 FROM character WHERE character_id = 4711 FOR UPDATE");
	give(&f, 1, 4711);
	give(&f, 2, 4711);
	fixture_wait_counter(&f, WORLD_COMMITS_TAKEN, 2);
	assert_int_equal(writes_of(&f, 4711).commits, 2);
	assert_int_equal(writes_of(&f, 4712).commits, 0);
	server_sql(other, "ROLLBACK");
	PQfinish(other);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_OK);
	assert_int_equal(writes_of(&f, 4711).commits, 0);
	server_do("kill");
	fixture_wait_health(&f, false);
	fixture_save(&f, FIXTURE_MAIN, 4711, 1, 5000, false);
	fixture_wait_counter(&f, WORLD_SAVES_TAKEN, 1);
	result = writes_of(&f, 4711);
	assert_int_equal(result.saves, 1);
	assert_int_equal(result.links, 0);
	assert_int_equal(writes_of(&f, 4712).saves, 0);
	server_do("start");
	fixture_wait_health(&f, true);
	fixture_stop(&f);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_at_once),
		cmocka_unit_test(kept_while_postgres_is_away),
		cmocka_unit_test(the_next_process_goes_on),
		cmocka_unit_test(a_bad_record_is_passed_over),
		cmocka_unit_test(what_is_not_saved_is_told),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/journal", folder);
	failed = cmocka_run_group_tests_name("world_audit", tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failed;
}
