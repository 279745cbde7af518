/* Proves that connections cut at any byte, in either direction, lose and undo nothing: behind a
 * proxy that cuts each one after a random number of bytes, characters log in, save, leave and log
 * in again, and each login finds exactly what the stay before left, at a higher epoch, without one
 * save refused. And that a connection which is cut when PostgreSQL has done all and told nobody
 * costs nothing and doubles nothing, be it a login, a save, a commit or a set of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "control/world/audit.h"
#include "control/world/cut_proxy.h"
#include "control/world/world_fixture.h"

#define CHARACTERS 40
#define ROUNDS     12

static void cut_anywhere(void **state)
{
	static uint64_t epochs[CHARACTERS + 1];
	struct cut_proxy proxy;
	struct fixture f;

	(void)state;
	cut_proxy_start(&proxy);
	fixture_init(&f, 1024);
	snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo),
		"host=%s user=stormweir dbname=stormweir", proxy.folder);
	fixture_start(&f);
	assert_non_null(f.world);
	atomic_store(&proxy.cuts, true);
	/* The connections that were made at start get no budget: end them. */
	{
		PGconn *sql = server_connect("stormweir");

		server_sql(sql, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
				"WHERE application_name = 'stormweir/test'");
		PQfinish(sql);
	}
	for (int32_t round = 0; round < ROUNDS; round++) {
		uint32_t left = CHARACTERS;

		for (uint64_t id = 1; id <= CHARACTERS; id++)
			fixture_load(&f, id, 7, id, "cut");
		while (left > 0) {
			struct msg_character_loaded l = fixture_loaded(&f);

			if (l.result == MSG_LOAD_UNAVAILABLE) {
				fixture_sleep_ms(2);
				fixture_load(&f, l.session, 7, l.session, "cut");
				continue;
			}
			assert_int_equal(l.result, MSG_LOAD_OK);
			assert_true(l.epoch > epochs[l.character_id]);
			epochs[l.character_id] = l.epoch;
			assert_int_equal(l.has_position, round > 0);
			if (round > 0)
				assert_int_equal(l.x_mm, round * 1000 + (int32_t)l.session);
			for (int32_t step = 1; step <= 3; step++)
				fixture_save(&f, (uint32_t)(l.session % 2), l.character_id, l.epoch,
					step < 3 ? -step : (round + 1) * 1000 + (int32_t)l.session,
					step == 3);
			left--;
		}
	}
	atomic_store(&proxy.cuts, false);
	assert_int_equal(fixture_flush(&f), 0);
	assert_true(fixture_counter(&f, WORLD_SAVES_REFUSED) == 0);
	assert_true(fixture_counter(&f, WORLD_MESSAGES_UNKNOWN) == 0);
	assert_true(atomic_load(&proxy.cut_count) > 5);
	print_message("%u cuts, %llu batches sent again, %llu loads refused of %llu\n",
		atomic_load(&proxy.cut_count),
		(unsigned long long)fixture_counter(&f, WORLD_BATCHES_UNKNOWN),
		(unsigned long long)fixture_counter(&f, WORLD_LOADS_UNAVAILABLE),
		(unsigned long long)fixture_counter(&f, WORLD_LOADS));
	assert_int_equal(fixture_stop(&f), 0);
	cut_proxy_stop(&proxy);
	fixture_fini(&f);
}

#define SET 24u /* commits of one each, more than are sent as a row */

static struct fixture f;
static PGconn *sql;
static struct cut_proxy proxy;

static void begin(void)
{
	cut_proxy_start(&proxy);
	fixture_init(&f, 1024);
	snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo),
		"host=%s user=stormweir dbname=stormweir", proxy.folder);
	f.config.postgres.commit_links = 1;
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	server_sql(sql, "TRUNCATE character CASCADE");
	server_sql(sql, "TRUNCATE ledger, commit_record");
}

/* The next answers of that kind are for nobody; whoever asked has to ask again. */
static void swallow(const char *asked, const char *said, uint32_t answers)
{
	fixture_wait_counter(&f, WORLD_LINKS_READY, 3);
	proxy.asked = asked;
	proxy.said = said;
	atomic_store(&proxy.swallow, answers);
}

static void give(uint64_t number, uint64_t character, uint64_t epoch)
{
	struct {
		struct msg_commit head;
		struct commit_op op[2];
	} c = {.head = {.request = {0xc07, number},
		       .character_id = {character},
		       .epoch = {epoch},
		       .realm_id = 1,
		       .expires_ms = 60000,
		       .reason = COMMIT_REASON_LOOT,
		       .ops = 2},
		.op = {{.kind = COMMIT_GOLD, .amount = 5},
			{.kind = COMMIT_SLOT, .slot = 3, .item = 9, .amount = 2}}};

	fixture_commit(&f, FIXTURE_MAIN, &c.head);
}

static void expect_done(uint64_t times)
{
	struct msg_commit_result r = fixture_committed(&f, FIXTURE_MAIN);

	assert_int_equal(r.result, COMMIT_RESULT_OK);
	assert_int_equal(r.gold[0], times * 5); /* of this one, not of a second one */
}

static void cut_when_all_is_done(void **state)
{
	PGconn *other;
	int64_t x;

	(void)state;
	begin();
	/* A login, which made the character: it is done twice, and the second epoch counts. */
	swallow("take_over", "UPDATE 1", 1);
	assert_int_equal(fixture_login(&f, 1, 1, "Ada").epoch, 2);
	assert_int_equal(
		server_sql(sql, "SELECT count(*) FROM character WHERE character_id = 1"), 1);
	/* A save. */
	swallow("save_positions", "INSERT 0 1", 1);
	fixture_save(&f, FIXTURE_MAIN, 1, 2, 77, false);
	assert_int_equal(fixture_flush(&f), 0);
	x = server_sql(sql, "SELECT x_mm FROM character_position WHERE character_id = 1");
	assert_int_equal(x, 77);
	assert_int_equal(fixture_counter(&f, WORLD_BATCHES_UNKNOWN), 1);
	assert_int_equal(fixture_counter(&f, WORLD_SAVES_REFUSED), 0);
	/* A commit. */
	swallow("commit_", "SELECT 1", 1);
	give(1, 1, 2);
	expect_done(1);
	assert_int_equal(fixture_counter(&f, WORLD_COMMITS_REPEATED), 1);

	/* A set with one in it that was carried out before: of each nobody is told at first. */
	for (uint64_t c = 2; c <= SET; c++)
		fixture_login(&f, 1, c, "x");
	swallow("commit_", "SELECT ", 2);
	other = server_connect("stormweir");
	server_sql(other, "BEGIN");
	server_sql(other, "SELECT 1 FROM character WHERE character_id = 1 FOR UPDATE");
	give(2, 1, 2);
	server_wait_for(
		sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	for (uint64_t c = 2; c <= SET; c++)
		give(1 + c, c, 1);
	fixture_wait_counter(&f, WORLD_COMMITS_TAKEN, 1 + SET);
	server_sql(other, "ROLLBACK");
	PQfinish(other);
	for (uint64_t c = 1; c <= SET; c++) {
		struct msg_commit_result r = fixture_committed(&f, FIXTURE_MAIN);

		assert_int_equal(r.result, COMMIT_RESULT_OK);
		assert_int_equal(r.gold[0], r.character_id[0] == 1 ? 10 : 5);
	}
	assert_int_equal(atomic_load(&proxy.swallow), 0);
	assert_int_equal(atomic_load(&proxy.cut_count), 5);
	assert_int_equal(fixture_counter(&f, WORLD_COMMIT_BATCHES_UNKNOWN), 3);
	assert_int_equal(fixture_counter(&f, WORLD_COMMITS_REPEATED), 1 + SET);
	assert_true(fixture_counter(&f, WORLD_COMMIT_SETS) > 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger"), (1 + SET) * 2);
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), (1 + SET) * 5);
	assert_int_equal(server_sql(sql, "SELECT sum(count) FROM item_slot"), (1 + SET) * 2);
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
	assert_int_equal(fixture_flush(&f), 0);
	PQfinish(sql);
	assert_int_equal(fixture_stop(&f), 0);
	cut_proxy_stop(&proxy);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(cut_when_all_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
