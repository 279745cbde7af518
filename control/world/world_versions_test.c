/* Proves that yesterday's server and today's live on one schema: sessions of each release before
 * this one (previous_release.h), which were there before today's server brought the schema up to
 * date, go on beside it. Both log the same characters in, change what they own and save where they
 * are: no statement fails, whoever was taken over by the other is refused, each confirmed change is
 * there once, and each reads what the other wrote. Only a start of yesterday's is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/audit.h"
#include "control/world/migrate.h"
#include "control/world/previous_release.h"
#include "control/world/world_fixture.h"

#define CHARACTERS 40u
#define ROUNDS     120u /* of yesterday's server */
#define BATCH      8u
#define TEXT_BYTES 1024u

/* Yesterday's server: its one session, and what its shards know. */
struct yesterday {
	const struct previous_release *release;
	PGconn *sql;
	unsigned seed;
	uint64_t number, save_sequence;
	uint64_t epochs[CHARACTERS + 1]; /* 0: never logged in here */
	uint32_t ok, stale;
	_Atomic bool done;
};

static uint32_t below(unsigned *seed, uint32_t n)
{
	return (uint32_t)rand_r(seed) % n;
}

static PGresult *run(struct yesterday *y, const char *name, int count, const char *const *values)
{
	PGresult *result = PQexecPrepared(y->sql, name, count, values, NULL, NULL, 0);

	if (PQresultStatus(result) != PGRES_COMMAND_OK &&
		PQresultStatus(result) != PGRES_TUPLES_OK) {
		fprintf(stderr, "%s: %s", name, PQresultErrorMessage(result));
		exit(1);
	}
	return result;
}

static void y_start(struct yesterday *y, const struct previous_release *release)
{
	*y = (struct yesterday){.release = release, .sql = server_connect("stormweir"), .seed = 1};
	server_sql(y->sql, "DROP SCHEMA public CASCADE");
	server_sql(y->sql, "CREATE SCHEMA public");
	assert_int_equal(migrate_run(y->sql, world_migrations, release->migrations, 1000, stdout),
		release->migrations);
	for (uint32_t i = 0; i < PREVIOUS_STATEMENTS && release->statements[i].name; i++) {
		PGresult *result = PQprepare(
			y->sql, release->statements[i].name, release->statements[i].sql, 0, NULL);

		assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
		PQclear(result);
	}
}

static void y_login(struct yesterday *y, uint64_t character)
{
	char id[24], name[32];
	const char *values[] = {"1", id, "1", name, "", "0"};
	const char *taken[] = {"1", id, "1", "0"}; /* the last: by whom it may be, since 0006 */
	PGresult *row;

	snprintf(id, sizeof(id), "%llu", (unsigned long long)character);
	snprintf(name, sizeof(name), "c%s", id);
	server_sql(y->sql, "BEGIN");
	PQclear(run(y, "create_character", 6, values));
	PQclear(run(y, "take_over", y->release->migrations < 6 ? 3 : 4, taken));
	row = run(y, "read_character", 3, values);
	y->epochs[character] = strtoull(PQgetvalue(row, 0, 1), NULL, 10);
	PQclear(row);
	server_sql(y->sql, "COMMIT");
}

static void y_save(struct yesterday *y, uint64_t character, int32_t x_mm)
{
	char text[5][40];
	const char *values[] = {y->release->migrations < 5 ? "{1}" : "1", text[0], text[1], text[2],
		"{plains}", text[3], text[4], "{7}"};

	snprintf(text[0], sizeof(text[0]), "{%llu}", (unsigned long long)character);
	snprintf(text[1], sizeof(text[1]), "{%llu}", (unsigned long long)y->epochs[character]);
	snprintf(text[2], sizeof(text[2]), "{%llu}", (unsigned long long)++y->save_sequence);
	snprintf(text[3], sizeof(text[3]), "{%d}", x_mm);
	snprintf(text[4], sizeof(text[4]), "{%d}", -x_mm);
	PQclear(run(y, "save_positions", 8, values));
}

static void append(char *list, const char *format, unsigned long long value)
{
	size_t at = strlen(list);

	if (at > 2)
		list[at - 1] = ',';
	else
		at = 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(list + at, TEXT_BYTES - at, format, value);
#pragma GCC diagnostic pop
	strcat(list, "}");
}

/* Commits of any characters that it has ever had, in any order: a coin and an item each. */
static void y_commit(struct yesterday *y)
{
	enum {
		REQUEST,
		CHARACTER,
		OTHER,
		EPOCH,
		REASON,
		OPS,
		KIND,
		WHO,
		SLOT,
		ITEM,
		AMOUNT,
		OP_COMMIT,
		OP_NUMBER,
		OP_CHARACTER,
		LISTS
	};
	static char list[LISTS][TEXT_BYTES];
	const char *values[] = {"1", list[REQUEST], list[CHARACTER], list[OTHER], list[EPOCH],
		list[OTHER], list[REASON], list[OPS], list[KIND], list[WHO], list[SLOT], list[ITEM],
		list[AMOUNT], list[WHO], NULL, NULL};
	bool set = y->release->migrations >= 4 && y->number / BATCH % 2;
	uint64_t first = below(&y->seed, CHARACTERS - BATCH + 1);
	PGresult *rows;

	for (int i = 0; i < LISTS; i++)
		strcpy(list[i], "{}");
	for (uint32_t i = 0; i < BATCH; i++) {
		/* A set has each once, in their order. */
		uint64_t character = set ? 1 + first + i : 1 + below(&y->seed, CHARACTERS);

		append(list[REQUEST], "0000beef-0000-0000-0000-%012llx", ++y->number);
		append(list[CHARACTER], "%llu", character);
		append(list[OTHER], "%llu", 0);
		append(list[EPOCH], "%llu", y->epochs[character]);
		append(list[REASON], "%llu", COMMIT_REASON_LOOT);
		append(list[OPS], "%llu", 2);
		for (uint64_t op = 0; op < 2; op++) {
			append(list[KIND], "%llu", op ? COMMIT_SLOT : COMMIT_GOLD);
			append(list[WHO], "%llu", 0);
			append(list[SLOT], "%llu", op * 4);
			append(list[ITEM], "%llu", op * 8);
			append(list[AMOUNT], "%llu", 1);
			append(list[OP_COMMIT], "%llu", i + 1);
			append(list[OP_NUMBER], "%llu", op);
			append(list[OP_CHARACTER], "%llu", character);
		}
	}
	if (set) {
		values[13] = list[OP_COMMIT];
		values[14] = list[OP_NUMBER];
		values[15] = list[OP_CHARACTER];
	}
	rows = run(y, set ? "commit_set" : "commit_batch", set ? 16 : 14, values);
	for (int i = 0; i < (int)BATCH; i++) {
		unsigned long result = strtoul(PQgetvalue(rows, i, 0), NULL, 10);

		y->ok += result == COMMIT_RESULT_OK;
		y->stale += result == COMMIT_RESULT_STALE;
	}
	PQclear(rows);
}

static void *y_live(void *arg)
{
	struct yesterday *y = arg;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t character = 1 + below(&y->seed, CHARACTERS);

		y_login(y, character);
		y_commit(y);
		y_save(y, character, (int32_t)(character * 1000 + round));
	}
	atomic_store(&y->done, true);
	return NULL;
}

/* What a character has, as yesterday's server reads it. */
static void y_detail(struct yesterday *y, uint64_t character, int64_t *gold, int64_t *items)
{
	char id[24];
	const char *values[] = {"1", id};
	PGresult *rows;

	snprintf(id, sizeof(id), "%llu", (unsigned long long)character);
	rows = run(y, "read_detail", 2, values);
	*gold = strtoll(PQgetvalue(rows, 0, 1), NULL, 10);
	*items = PQntuples(rows) > 1 ? strtoll(PQgetvalue(rows, 1, 4), NULL, 10) : 0;
	PQclear(rows);
}

/* ---- today's ---- */

static struct fixture f;
static uint64_t epochs[CHARACTERS + 1], number;
static uint32_t ok, stale, ok_gold;

/* An item, and a coin with it where it has two operations: the kinds of batches that take them. */
static void give(uint64_t character, uint32_t ops)
{
	struct {
		struct msg_commit head;
		struct commit_op op[2];
	} c = {.head = {.request = {0xda7, ++number},
		       .character_id = {character},
		       .epoch = {epochs[character]},
		       .realm_id = 1,
		       .expires_ms = 60000,
		       .reason = COMMIT_REASON_LOOT,
		       .ops = (uint16_t)ops},
		.op = {{.kind = COMMIT_SLOT, .slot = 4, .item = 8, .amount = 1},
			{.kind = COMMIT_GOLD, .amount = 1}}};

	fixture_commit(&f, FIXTURE_MAIN, &c.head);
}

static void live(unsigned *seed, uint32_t round)
{
	uint64_t character = 1 + below(seed, CHARACTERS), first = below(seed, CHARACTERS);

	epochs[character] = fixture_login(&f, 1, character, "x").epoch;
	for (uint64_t i = 0; i < 24; i++)
		give(1 + (first + i) % CHARACTERS, 1 + round % 2);
	fixture_save(&f, 0, character, epochs[character], (int32_t)(character * 1000 + round),
		round % 2);
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t result = fixture_committed(&f, FIXTURE_MAIN).result;

		ok += result == COMMIT_RESULT_OK;
		stale += result == COMMIT_RESULT_STALE;
		ok_gold += result == COMMIT_RESULT_OK && round % 2;
	}
}

static void side_by_side(const struct previous_release *release)
{
	struct yesterday y;
	pthread_t thread;
	unsigned seed = 2;

	number = ok = stale = ok_gold = 0;
	y_start(&y, release);
	for (uint64_t c = 1; c <= CHARACTERS; c++)
		y_login(&y, c);
	for (uint32_t i = 0; i < 8; i++)
		y_commit(&y); /* its plans are made, too */
	fixture_init(&f, 1024);
	fixture_start(&f); /* brings the schema up to date */
	assert_non_null(f.world);
	for (uint64_t c = 1; c <= CHARACTERS; c += 2)
		epochs[c] = fixture_login(&f, 1, c, "x").epoch;
	pthread_create(&thread, NULL, y_live, &y);
	for (uint32_t round = 0; round < 20 || !atomic_load(&y.done); round++)
		live(&seed, round);
	pthread_join(thread, NULL);
	assert_int_equal(fixture_flush(&f), 0);

	print_message("yesterday %u done and %u stale, today %u and %u, %llu sets\n", y.ok, y.stale,
		ok, stale, (unsigned long long)fixture_counter(&f, WORLD_COMMIT_SETS));
	assert_true(y.ok > 0 && y.stale > 0 && ok > 0 && stale > 0);
	assert_int_equal(y.ok + y.stale, y.number);
	assert_int_equal(ok + stale, number);
	assert_true(fixture_counter(&f, WORLD_COMMIT_SETS) > 0);
	assert_int_equal(fixture_counter(&f, WORLD_COMMIT_BATCHES_FAILED), 0);
	assert_int_equal(fixture_counter(&f, WORLD_BATCHES_FAILED), 0);
	assert_int_equal(server_sql(y.sql, "SELECT count(*) FROM ledger"), ok + ok_gold + 2 * y.ok);
	assert_int_equal(server_sql(y.sql, "SELECT sum(gold) FROM character"), ok_gold + y.ok);
	assert_int_equal(audit_ledger(y.sql, 0, stdout), 0);
	for (uint64_t c = 1; c <= CHARACTERS; c++) {
		struct msg_slot slots[COMMIT_SLOTS_MAX];
		struct msg_quest quests[COMMIT_QUESTS_MAX];
		struct msg_detail_result detail;
		int64_t gold, items;

		fixture_query(&f, FIXTURE_MAIN, c, c);
		detail = fixture_possessions(&f, FIXTURE_MAIN, slots, quests);
		y_detail(&y, c, &gold, &items);
		assert_int_equal(detail.gold, gold);
		assert_int_equal(detail.slots ? slots[0].count : 0, items);
		/* Where one left it the other finds it. */
		y_login(&y, c);
		y_save(&y, c, (int32_t)c);
		assert_int_equal(fixture_login(&f, 1, c, "x").x_mm, c);
	}
	assert_int_equal(
		migrate_run(y.sql, world_migrations, release->migrations, 1000, stdout), -EEXIST);
	PQfinish(y.sql);
	assert_int_equal(fixture_stop(&f), 0);
	fixture_fini(&f);
}

static void each_release(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(previous_releases) / sizeof(previous_releases[0]); i++)
		side_by_side(&previous_releases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_release)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
