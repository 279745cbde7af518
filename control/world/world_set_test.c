/* Proves that commit_set_1 and commit_slots_1 do what commit_batch_1 does: random sets of simple
 * commits, and random commits of one slot each, possible and not, new and repeated, are given to
 * one of them in one realm and to commit_batch_1 in another; each result that comes back and all
 * that is stored is equal. And that a set with a character twice, or with a slot twice, is not
 * carried out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/audit.h"
#include "control/world/commit_check.h"
#include "control/world/commit_statement.h"
#include "control/world/world_fixture.h"

#define CHARACTERS 40u
#define SET_MAX    24u
#define ROUNDS     300u
#define ROWS       1u /* realm that commit_batch_1 changes */
#define SETS       2u /* the one that the others change */

static PGconn *sql;
static struct commit_encoder *encoder;
static unsigned seed;
static uint64_t number;
static uint32_t results_seen[COMMIT_RESULT_COUNT], repeats_seen;

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand_r(&seed) % n;
}

/* Near the ends of what a balance holds now and then. */
static int64_t amount(bool negative)
{
	int64_t n = below(8) == 0 ? INT64_MAX - (int64_t)below(50) : 1 + (int64_t)below(30);

	return negative ? -n : n;
}

static void random_ops(struct msg_commit *commit)
{
	uint32_t wanted = 1 + below(4);

	for (uint32_t i = 0; i < wanted; i++) {
		struct commit_op *op = &commit->op[commit->ops];

		*op = (struct commit_op){.kind = (uint8_t)below(3),
			.who = commit->character_id[1] ? (uint8_t)below(2) : 0};
		op->amount = amount(op->kind != COMMIT_EXPERIENCE && below(2));
		if (op->kind == COMMIT_SLOT) {
			op->slot = (uint16_t)below(3);
			op->item = 100 + op->slot + (below(12) == 0);
		}
		commit->ops++;
		if (!commit_is_simple(commit)) /* the same balance or slot again */
			commit->ops--;
	}
}

/* used: which characters the set has. 0: none is left. */
static uint64_t draw(bool *used)
{
	for (int i = 0; i < 20; i++) {
		uint64_t c = 1 + below(CHARACTERS + 2); /* the last two do not exist */

		if (used[c])
			continue;
		used[c] = true;
		return c;
	}
	return 0;
}

static struct commit all[SET_MAX], earlier[SET_MAX];

static int by_character(const void *a, const void *b)
{
	const struct msg_commit *x = &((const struct commit *)a)->body.commit;
	const struct msg_commit *y = &((const struct commit *)b)->body.commit;

	return x->character_id[0] != y->character_id[0]
		       ? (x->character_id[0] > y->character_id[0] ? 1 : -1)
		       : (x->request[1] > y->request[1]) - (x->request[1] < y->request[1]);
}

/* Commits of one slot each, none of them twice; of few characters, so that most have several. The
 * last two characters do not exist, and are seldom among them: one of these sends all to
 * commit_batch_1. */
static uint32_t random_slots(uint32_t earlier_count)
{
	bool used[CHARACTERS + 3][4] = {{false}};
	uint32_t count = 0, wanted = 1 + below(SET_MAX), few = 1 + below(CHARACTERS);

	for (uint32_t tries = 0; count < wanted && tries < 100; tries++) {
		struct msg_commit *commit = &all[count].body.commit;

		memset(commit, 0, sizeof(*commit));
		*commit = (struct msg_commit){.request = {78, ++number},
			.character_id = {below(200) ? 1 + below(few) : CHARACTERS + 1},
			.epoch = {1 - (below(20) == 0)},
			.reason = COMMIT_REASON_LOOT,
			.ops = 1};
		commit->op[0] = (struct commit_op){.kind = COMMIT_SLOT,
			.slot = (uint16_t)below(4),
			.amount = amount(below(3) == 0)};
		commit->op[0].item = 100 + commit->op[0].slot + (below(12) == 0);
		if (below(3) == 0) /* small, so that some take all there is */
			commit->op[0].amount = below(2) ? 1 : -1;
		if (earlier_count > 0 && below(60) == 0)
			memcpy(commit, &earlier[below(earlier_count)].body.commit,
				sizeof(*commit) + sizeof(struct commit_op));
		if (used[commit->character_id[0]][commit->op[0].slot])
			continue;
		used[commit->character_id[0]][commit->op[0].slot] = true;
		count++;
	}
	qsort(all, count, sizeof(all[0]), by_character);
	return count;
}

static uint32_t random_set(uint32_t earlier_count)
{
	bool used[CHARACTERS + 3] = {false};
	uint32_t count = 0, wanted = 1 + below(SET_MAX);

	while (count < wanted) {
		struct msg_commit *commit = &all[count].body.commit;
		uint64_t a;

		/* One of the set before, again: with the same characters, maybe a new epoch. */
		if (earlier_count > 0 && below(10) == 0) {
			const struct msg_commit *old = &earlier[below(earlier_count)].body.commit;

			if (used[old->character_id[0]] ||
				(old->character_id[1] && used[old->character_id[1]]))
				break;
			used[old->character_id[0]] = true;
			if (old->character_id[1])
				used[old->character_id[1]] = true;
			memcpy(commit, old, sizeof(*old) + old->ops * sizeof(*old->op));
			count++;
			continue;
		}
		a = draw(used);
		if (a == 0)
			break;
		memset(commit, 0, sizeof(*commit));
		commit->request[0] = 77;
		commit->request[1] = ++number;
		commit->character_id[0] = a;
		if (below(4) == 0)
			commit->character_id[1] = draw(used);
		commit->epoch[0] = 1 - (below(20) == 0);
		commit->epoch[1] = commit->character_id[1] ? 1 - (below(20) == 0) : 0;
		commit->reason = COMMIT_REASON_TRADE;
		random_ops(commit);
		count++;
	}
	return count;
}

/* What comes of a realm's: false when it is not carried out. */
struct outcome {
	struct msg_commit_result results[SET_MAX];
	uint32_t repeated;
};

static bool carry_out(
	uint32_t realm, uint32_t count, enum commit_kind kind, struct outcome *outcome)
{
	static const int BINARY[PG_PARAMS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	struct commit *list[SET_MAX];
	struct pg_call call;
	PGresult *result;
	bool done;

	for (uint32_t i = 0; i < count; i++) {
		all[i].body.commit.realm_id = realm;
		list[i] = &all[i];
	}
	commit_encoder_fill(encoder, list, count, kind, &call);
	result = PQexecPrepared(sql, call.name, call.count, call.values, call.bytes, BINARY, 1);
	done = PQresultStatus(result) == PGRES_TUPLES_OK;
	if (!done)
		fprintf(stderr, "%s", PQresultErrorMessage(result));
	else
		assert_true(commit_results_read(&result, 1, list, count, kind, &outcome->repeated));
	for (uint32_t i = 0; i < count; i++)
		outcome->results[i] = all[i].result;
	PQclear(result);
	return done;
}

static void expect_equal(const struct outcome *a, const struct outcome *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		assert_memory_equal(&a->results[i], &b->results[i], sizeof(a->results[i]));
		results_seen[a->results[i].result]++;
	}
	assert_int_equal(a->repeated, b->repeated);
	repeats_seen += a->repeated;
}

/* Rows that one realm has and the other has not. */
static void expect_same_rows(const char *table, const char *columns)
{
	char text[1200];

	snprintf(text, sizeof(text),
		"SELECT count(*) FROM ((SELECT %2$s FROM %1$s WHERE realm_id = 1 EXCEPT ALL "
		"SELECT %2$s FROM %1$s WHERE realm_id = 2) UNION ALL (SELECT %2$s FROM %1$s "
		"WHERE realm_id = 2 EXCEPT ALL SELECT %2$s FROM %1$s WHERE realm_id = 1)) d",
		table, columns);
	assert_int_equal(server_sql(sql, text), 0);
}

static void compare(uint32_t (*random)(uint32_t), enum commit_kind kind)
{
	uint32_t earlier_count = 0;

	seed = (unsigned)(getenv("SW_SEED") ? atoi(getenv("SW_SEED")) : 1);
	print_message("seed %u\n", seed);
	repeats_seen = 0;
	memset(results_seen, 0, sizeof(results_seen));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t count = random(earlier_count);
		struct outcome rows, sets;

		if (count == 0)
			continue;
		assert_true(carry_out(ROWS, count, COMMIT_ROW, &rows));
		assert_true(carry_out(SETS, count, kind, &sets));
		expect_equal(&rows, &sets, count);
		memcpy(earlier, all, sizeof(all));
		earlier_count = count;
		if (round % 50 == 10) /* a takeover, so that repeats are of another epoch */
			server_sql(sql, "UPDATE character SET epoch = 2 - epoch % 2 WHERE "
					"character_id % 7 = 3");
	}
	for (int i = 0; i < COMMIT_RESULT_COUNT; i++)
		print_message("result %d: %u\n", i, results_seen[i]);
	assert_true(results_seen[COMMIT_RESULT_OK] > 300);
	assert_true(results_seen[COMMIT_RESULT_STALE] > 20);
	assert_true(results_seen[COMMIT_RESULT_NO_CHARACTER] > (kind == COMMIT_SET ? 20 : 2));
	assert_true(results_seen[COMMIT_RESULT_NOT_ENOUGH] > 20);
	assert_true(results_seen[COMMIT_RESULT_SLOT_TAKEN] > 20);
	assert_true(results_seen[COMMIT_RESULT_TOO_MUCH] > 20);
	assert_true(repeats_seen > 20);
	expect_same_rows("character", "character_id, gold, experience, level, epoch");
	expect_same_rows("item_slot", "character_id, slot, item, serial, count");
	expect_same_rows("ledger", "request, op, kind, character_id, slot, item, serial, amount, "
				   "balance, reason");
	expect_same_rows("commit_record", "request, character_id, result, refused_op, gold, "
					  "experience, other_gold, other_experience");
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
}

static void the_same_comes_of_sets(void **state)
{
	(void)state;
	compare(random_set, COMMIT_SET);
}

static void the_same_comes_of_slots(void **state)
{
	(void)state;
	compare(random_slots, COMMIT_SLOTS);
}

/* A server of yesterday, which knows only commit_batch_1, and one of today on one schema: whoever
 * carries out a request first, the other hears the first result, and nothing is done twice. */
static void expect_first(uint32_t (*random)(uint32_t), enum commit_kind kind)
{
	for (int rows_first = 0; rows_first < 2; rows_first++) {
		struct outcome first, again;
		uint32_t count;
		int64_t rows;

		do {
			count = random(0);
		} while (count < 10);
		assert_true(carry_out(ROWS, count, rows_first ? COMMIT_ROW : kind, &first));
		rows = server_sql(sql, "SELECT count(*) FROM ledger");
		assert_true(carry_out(ROWS, count, rows_first ? kind : COMMIT_ROW, &again));
		assert_memory_equal(first.results, again.results, count * sizeof(first.results[0]));
		assert_int_equal(first.repeated, 0);
		assert_int_equal(again.repeated, count);
		assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger"), rows);
	}
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
}

static void whoever_is_first(void **state)
{
	(void)state;
	expect_first(random_set, COMMIT_SET);
	expect_first(random_slots, COMMIT_SLOTS);
}

/* Nothing of it happens: the second one would be computed from what the first one found. */
static void twice_is_refused(void **state)
{
	int64_t rows = server_sql(sql, "SELECT count(*) FROM commit_record");
	struct outcome outcome;

	(void)state;
	memset(all, 0, sizeof(all));
	for (uint32_t i = 0; i < 2; i++) {
		struct msg_commit *commit = &all[i].body.commit;

		commit->request[1] = i;
		commit->character_id[0] = 1 + i;
		commit->character_id[1] = 2 - i;
		commit->ops = 1;
		commit->op[0] = (struct commit_op){.kind = COMMIT_GOLD, .amount = 1};
	}
	assert_false(carry_out(SETS, 2, COMMIT_SET, &outcome));
	all[0].body.commit.character_id[1] = 0;
	all[1].body.commit.character_id[0] = 1;
	all[1].body.commit.character_id[1] = 0;
	assert_false(carry_out(SETS, 2, COMMIT_SET, &outcome));

	server_sql(sql,
		"INSERT INTO character (realm_id, character_id, account_id, name, appearance, "
		"epoch) VALUES (2, 99, 1, 'c99', 0, 1)");
	for (uint32_t i = 0; i < 2; i++) {
		all[i].body.commit.character_id[0] = 99;
		all[i].body.commit.epoch[0] = 1;
		all[i].body.commit.op[0] =
			(struct commit_op){.kind = COMMIT_SLOT, .slot = 7, .item = 5, .amount = 3};
	}
	assert_true(carry_out(SETS, 1, COMMIT_SLOTS, &outcome)); /* something lies there */
	assert_int_equal(outcome.results[0].result, COMMIT_RESULT_OK);
	all[0].body.commit.request[1] = 2;
	assert_false(carry_out(SETS, 2, COMMIT_SLOTS, &outcome));
	assert_int_equal(server_sql(sql, "SELECT count FROM item_slot WHERE character_id = 99"), 3);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM commit_record"), rows + 1);
}

static int start(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 1024); /* makes the schema */
	fixture_start(&f);
	assert_non_null(f.world);
	fixture_stop(&f);
	fixture_fini(&f);
	sql = server_connect("stormweir");
	server_sql(sql, "TRUNCATE character CASCADE");
	server_sql(sql, "TRUNCATE ledger, commit_record");
	server_sql(sql,
		"INSERT INTO character (realm_id, character_id, account_id, name, appearance, "
		"epoch) SELECT r, i, 1, 'c' || i, 0, 1 FROM generate_series(1, 40) i, "
		"generate_series(1, 2) r");
	encoder = commit_encoder_new(SET_MAX, SET_MAX * 4);
	assert_non_null(encoder);
	for (uint32_t i = 0; i < STATEMENTS_COMMITS; i++) {
		PGresult *result = PQprepare(
			sql, statements_commits[i].name, statements_commits[i].sql, 0, NULL);

		assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
		PQclear(result);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	commit_encoder_free(encoder);
	PQfinish(sql);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_comes_of_sets),
		cmocka_unit_test(the_same_comes_of_slots),
		cmocka_unit_test(whoever_is_first),
		cmocka_unit_test(twice_is_refused),
	};

	return cmocka_run_group_tests(tests, start, end);
}
