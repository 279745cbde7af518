/* Proves that what an operator gives, takes or reverses is a commit: once for a request, in the
 * ledger, without taking the character from its shard; that each thing that is not possible is
 * refused by name and changes nothing; what becomes of a quest's wait; and that one whose outcome is not known, because PostgreSQL
 * was killed meanwhile, is done once when it is asked for again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/level.h"
#include "control/world/audit.h"
#include "control/world/world_fixture.h"

#define POTION 7u
#define SWORD  40u

static struct fixture f;
static PGconn *sql;
static uint64_t number, epochs[3];

static int begin(void **state)
{
	(void)state;
	fixture_init(&f, 1024);
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	return 0;
}

static int end(void **state)
{
	(void)state;
	PQfinish(sql);
	fixture_stop(&f);
	fixture_fini(&f);
	return 0;
}

/* Ada and Ben, who have nothing. */
static int two_characters(void **state)
{
	(void)state;
	server_sql(sql, "TRUNCATE character CASCADE");
	server_sql(sql, "TRUNCATE ledger, commit_record");
	for (uint64_t c = 1; c <= 2; c++)
		epochs[c] = fixture_login(&f, 1, c, c == 1 ? "Ada" : "Ben").epoch;
	return 0;
}

static int it_balances(void **state)
{
	(void)state;
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
	return 0;
}

static struct msg_correction_result correct(const struct msg_correction *correction)
{
	struct msg_correction_result result;

	fixture_correct(&f, correction);
	result = fixture_corrected(&f);
	assert_int_equal(result.order, correction->order);
	return result;
}

static struct msg_correction give(enum correction_thing thing, uint32_t item, int64_t amount)
{
	return (struct msg_correction){.order = 77,
		.request = {0xabcdull << 40, ++number},
		.character_id = 1,
		.amount = amount,
		.realm_id = 1,
		.thing = thing,
		.item = item};
}

static void expect(enum correction_thing thing, uint32_t item, int64_t amount, uint32_t outcome)
{
	const struct msg_correction c = give(thing, item, amount);
	struct msg_correction_result r = correct(&c);

	if (r.result != outcome)
		fail_msg("thing %u, item %u, amount %lld: result %u, not %u", thing, item,
			(long long)amount, r.result, outcome);
	assert_int_equal(r.repeated, 0);
	assert_memory_equal(r.request, c.request, sizeof(c.request));
}

static int64_t stored(const char *column)
{
	char text[160];

	snprintf(text, sizeof(text), "SELECT %s FROM character WHERE character_id = 1", column);
	return server_sql(sql, text);
}

static int64_t items(uint32_t item, const char *more)
{
	char text[200];

	snprintf(text, sizeof(text),
		"SELECT coalesce(sum(count), 0) FROM item_slot WHERE character_id = 1 AND item = %u "
		"%s",
		item, more);
	return server_sql(sql, text);
}

/* A shard's commit; its request's second half is returned. */
static uint64_t commit(const struct commit_op *ops, uint32_t count, bool both, uint32_t outcome)
{
	struct {
		struct msg_commit head;
		struct commit_op op[4];
	} c = {.head = {.request = {5, ++number},
		       .character_id = {1, both ? 2 : 0},
		       .epoch = {epochs[1], both ? epochs[2] : 0},
		       .realm_id = 1,
		       .expires_ms = 60000,
		       .reason = COMMIT_REASON_TRADE,
		       .ops = count}};

	memcpy(c.op, ops, count * sizeof(*ops));
	fixture_commit(&f, FIXTURE_MAIN, &c.head);
	assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, outcome);
	return number;
}

static struct msg_correction_result reverse(uint64_t first, uint64_t second)
{
	const struct msg_correction c = {
		.order = 78, .request = {first, second}, .realm_id = 1, .reverse = 1};

	return correct(&c);
}

static void balances(void **state)
{
	const struct msg_correction twice = give(CORRECTION_GOLD, 0, 500);
	struct msg_correction_result r = correct(&twice);

	(void)state;
	assert_int_equal(r.result, COMMIT_RESULT_OK);
	assert_int_equal(r.gold[0], 500);
	assert_int_equal(r.character_id[0], 1);
	/* Again, and with other words: what came of it at first. */
	for (int i = 0; i < 2; i++) {
		struct msg_correction again = twice;

		again.amount = i ? 9 : twice.amount;
		r = correct(&again);
		assert_int_equal(r.result, COMMIT_RESULT_OK);
		assert_int_equal(r.repeated, 1);
		assert_int_equal(r.gold[0], 500);
	}
	assert_int_equal(stored("gold"), 500);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger WHERE reason = 9"), 1);
	expect(CORRECTION_GOLD, 0, -501, COMMIT_RESULT_NOT_ENOUGH);
	expect(CORRECTION_GOLD, 0, INT64_MAX, COMMIT_RESULT_TOO_MUCH);
	expect(CORRECTION_GOLD, 0, -200, COMMIT_RESULT_OK);
	assert_int_equal(stored("gold"), 300);
	expect(CORRECTION_EXPERIENCE, 0, 5000, COMMIT_RESULT_OK);
	assert_int_equal(stored("level"), level_of(5000));
	expect(CORRECTION_EXPERIENCE, 0, -5001, COMMIT_RESULT_NOT_ENOUGH);
	expect(CORRECTION_EXPERIENCE, 0, -4000, COMMIT_RESULT_OK);
	assert_int_equal(stored("experience"), 1000);
	assert_int_equal(stored("level"), level_of(1000));
	/* Its shard is still its writer. */
	commit(&(struct commit_op){.kind = COMMIT_GOLD, .amount = 1}, 1, false, COMMIT_RESULT_OK);
	assert_int_equal(stored("gold"), 301);
}

static void belongings(void **state)
{
	(void)state;
	commit(&(struct commit_op){.kind = COMMIT_SLOT, .slot = 0, .item = 3, .amount = 1}, 1, false,
		COMMIT_RESULT_OK);
	expect(CORRECTION_ITEM, POTION, 5, COMMIT_RESULT_OK);
	expect(CORRECTION_ITEM, POTION, 3, COMMIT_RESULT_OK);
	assert_int_equal(items(POTION, "AND slot = 1"), 8);
	expect(CORRECTION_SINGLE, SWORD, 3, COMMIT_RESULT_OK);
	assert_int_equal(items(SWORD, "AND slot IN (2, 3, 4) AND serial <> 0 AND count = 1"), 3);
	assert_int_equal(server_sql(sql, "SELECT count(DISTINCT serial) FROM item_slot WHERE item = "
					 "40"),
		3);
	/* One kind is not the other. */
	expect(CORRECTION_ITEM, SWORD, -1, COMMIT_RESULT_NOT_ENOUGH);
	expect(CORRECTION_SINGLE, POTION, -1, COMMIT_RESULT_NOT_ENOUGH);
	expect(CORRECTION_SINGLE, SWORD, -2, COMMIT_RESULT_OK);
	assert_int_equal(items(SWORD, "AND slot = 4"), 1);
	assert_int_equal(items(SWORD, ""), 1);
	/* Of two stacks, and not more than there is. */
	commit(&(struct commit_op){.kind = COMMIT_SLOT, .slot = 9, .item = POTION, .amount = 4}, 1,
		false, COMMIT_RESULT_OK);
	expect(CORRECTION_ITEM, POTION, -13, COMMIT_RESULT_NOT_ENOUGH);
	assert_int_equal(items(POTION, ""), 12);
	expect(CORRECTION_ITEM, POTION, -10, COMMIT_RESULT_OK);
	assert_int_equal(items(POTION, "AND slot = 9"), 2);
	assert_int_equal(items(POTION, ""), 2);
	/* 3 places are used of 64: an item, a sword, a stack. */
	expect(CORRECTION_SINGLE, SWORD, 62, CORRECTION_RESULT_NO_ROOM);
	assert_int_equal(items(SWORD, ""), 1);
	expect(CORRECTION_SINGLE, SWORD, 61, COMMIT_RESULT_OK);
	expect(CORRECTION_ITEM, 8, 1, CORRECTION_RESULT_NO_ROOM);
	expect(CORRECTION_ITEM, POTION, 1, COMMIT_RESULT_OK);
}

static void not_possible(void **state)
{
	struct msg_correction c = give(CORRECTION_GOLD, 0, 5);
	int64_t rows = server_sql(sql, "SELECT count(*) FROM commit_record");

	(void)state;
	c.character_id = 99;
	assert_int_equal(correct(&c).result, COMMIT_RESULT_NO_CHARACTER);
	c = give(CORRECTION_GOLD, 0, 0);
	assert_int_equal(correct(&c).result, COMMIT_RESULT_INVALID);
	c = give(CORRECTION_GOLD, 0, INT64_MIN);
	assert_int_equal(correct(&c).result, COMMIT_RESULT_INVALID);
	c = give(CORRECTION_SINGLE, SWORD, CORRECTION_SINGLES_MAX + 1);
	assert_int_equal(correct(&c).result, COMMIT_RESULT_INVALID);
	c = give(CORRECTION_ITEM, 1u << 31, 1);
	assert_int_equal(correct(&c).result, COMMIT_RESULT_INVALID);
	c = give(CORRECTION_THING_COUNT, 0, 1);
	assert_int_equal(correct(&c).result, COMMIT_RESULT_INVALID);
	assert_int_equal(reverse(1, 2).result, CORRECTION_RESULT_NO_COMMIT);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM commit_record"), rows);
}

/* A trade of coins and a sword, there and back, and there again. */
static void a_trade_is_reversed(void **state)
{
	const struct commit_op before[] = {{.kind = COMMIT_GOLD, .amount = 100},
		{.kind = COMMIT_SLOT, .slot = 5, .item = SWORD, .amount = 1, .serial = 1234}};
	const struct commit_op trade[] = {{.kind = COMMIT_GOLD, .amount = -60},
		{.kind = COMMIT_GOLD, .who = 1, .amount = 60},
		{.kind = COMMIT_SLOT, .slot = 5, .item = SWORD, .amount = -1, .serial = 1234},
		{.kind = COMMIT_SLOT, .who = 1, .slot = 8, .item = SWORD, .amount = 1, .serial = 1234}};
	struct msg_correction_result back, again;
	uint64_t request;

	(void)state;
	commit(before, 2, false, COMMIT_RESULT_OK);
	request = commit(trade, 4, true, COMMIT_RESULT_OK);
	back = reverse(5, request);
	assert_int_equal(back.result, COMMIT_RESULT_OK);
	assert_int_equal(back.character_id[1], 2);
	assert_int_equal(back.gold[0], 100);
	assert_int_equal(back.gold[1], 0);
	assert_int_equal(server_sql(sql, "SELECT slot FROM item_slot WHERE serial = 1234 AND "
					 "character_id = 1"),
		5);
	again = reverse(5, request);
	assert_int_equal(again.repeated, 1);
	again.repeated = 0;
	assert_memory_equal(&again, &back, sizeof(back));
	/* The reversal's opposite is the trade. */
	again = reverse(back.request[0], back.request[1]);
	assert_int_equal(again.result, COMMIT_RESULT_OK);
	assert_int_equal(again.gold[1], 60);
	assert_int_equal(server_sql(sql, "SELECT slot FROM item_slot WHERE serial = 1234 AND "
					 "character_id = 2"),
		8);
	/* Ben drops it: what he got is not there. */
	server_sql(sql, "DELETE FROM item_slot WHERE serial = 1234");
	again = reverse(again.request[0], again.request[1]);
	assert_int_equal(again.result, COMMIT_RESULT_NOT_ENOUGH);
	assert_int_equal(stored("gold"), 40);
	server_sql(sql, "INSERT INTO item_slot VALUES (1, 2, 8, 40, 1234, 1)");
}

static void quests_and_what_stays(void **state)
{
	const struct commit_op begin = {.kind = COMMIT_QUEST, .item = 9, .amount = 3};
	const struct commit_op next = {.kind = COMMIT_QUEST, .slot = 3, .item = 9, .amount = 5};
	const struct commit_op forget = {.kind = COMMIT_QUEST, .slot = 5, .item = 9, .amount = 0};
	const struct commit_op kill[] = {{.kind = COMMIT_GOLD, .amount = 5},
		{.kind = COMMIT_EXPERIENCE, .amount = 50}};
	const struct commit_op match = {
		.kind = COMMIT_RESULT, .item = 1, .amount = 2, .serial = 555};
	const struct commit_op poor = {.kind = COMMIT_GOLD, .amount = -1000};
	uint64_t first = commit(&begin, 1, false, COMMIT_RESULT_OK), second, request;

	(void)state;
	second = commit(&next, 1, false, COMMIT_RESULT_OK);
	assert_int_equal(reverse(5, first).result, COMMIT_RESULT_QUEST_STATE);
	request = commit(&forget, 1, false, COMMIT_RESULT_OK);
	assert_int_equal(reverse(5, request).result, COMMIT_RESULT_OK);
	assert_int_equal(server_sql(sql, "SELECT state FROM quest"), 5);
	assert_int_equal(reverse(5, second).result, COMMIT_RESULT_OK);
	assert_int_equal(server_sql(sql, "SELECT state FROM quest"), 3);
	assert_int_equal(reverse(5, first).result, COMMIT_RESULT_OK); /* now it is possible */
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM quest"), 0);
	request = commit(kill, 2, false, COMMIT_RESULT_OK);
	assert_int_equal(reverse(5, request).result, COMMIT_RESULT_OK);
	assert_int_equal(stored("gold"), 0);
	assert_int_equal(stored("experience"), 0);
	request = commit(kill, 2, false, COMMIT_RESULT_OK);
	expect(CORRECTION_EXPERIENCE, 0, -1, COMMIT_RESULT_OK);
	assert_int_equal(reverse(5, request).result, COMMIT_RESULT_NOT_ENOUGH);
	request = commit(&match, 1, false, COMMIT_RESULT_OK);
	assert_int_equal(reverse(5, request).result, CORRECTION_RESULT_HAS_RESULT);
	request = commit(&poor, 1, false, COMMIT_RESULT_NOT_ENOUGH);
	assert_int_equal(reverse(5, request).result, CORRECTION_RESULT_WAS_REFUSED);
	/* As after postgres.ledger_days. */
	request = commit(&kill[0], 1, false, COMMIT_RESULT_OK);
	server_sql(sql, "CREATE TEMPORARY TABLE was AS SELECT * FROM ledger WHERE at = "
			"(SELECT max(at) FROM ledger)");
	server_sql(sql, "DELETE FROM ledger WHERE at = (SELECT at FROM was)");
	assert_int_equal(reverse(5, request).result, CORRECTION_RESULT_ROWS_GONE);
	server_sql(sql, "INSERT INTO ledger SELECT * FROM was");
}

/* How long ago Ada's one quest came from nothing, as her shard reads it: less than a day, or more. */
static bool is_old(void)
{
	struct msg_slot slots[COMMIT_SLOTS_MAX];
	struct msg_quest quests[COMMIT_QUESTS_MAX];

	fixture_query(&f, FIXTURE_MAIN, ++number, 1);
	assert_int_equal(fixture_possessions(&f, FIXTURE_MAIN, slots, quests).quests, 1);
	return quests[0].age_s >= 86400;
}

static void a_day_passes(void)
{
	server_sql(sql, "UPDATE quest SET since = since - interval '90000 s'");
}

/* One that comes again is done in two operations, by which its row is made anew. A reversal takes
 * the reward back and the step is open again, with nothing to wait for; what it gives back counts
 * from now, and is never to be had sooner than without the operator. */
static void a_quest_that_comes_again(void **state)
{
	const uint32_t step = 3, done = 9;
	const struct commit_op first = {.kind = COMMIT_QUEST, .item = 8, .amount = step};
	const struct commit_op complete[] = {{.kind = COMMIT_QUEST, .slot = step, .item = 8},
		{.kind = COMMIT_QUEST, .item = 8, .amount = done},
		{.kind = COMMIT_GOLD, .amount = 7}};
	const struct commit_op anew = {
		.kind = COMMIT_QUEST, .slot = done, .item = 8, .amount = step};
	uint64_t completed, begun;
	struct msg_correction_result back;

	(void)state;
	commit(&first, 1, false, COMMIT_RESULT_OK);
	completed = commit(complete, 3, false, COMMIT_RESULT_OK);
	back = reverse(5, completed);
	assert_int_equal(back.result, COMMIT_RESULT_OK);
	assert_int_equal(back.gold[0], 0);
	assert_int_equal(server_sql(sql, "SELECT state FROM quest"), step);
	a_day_passes();
	completed = commit(complete, 3, false, COMMIT_RESULT_OK);
	assert_false(is_old());
	a_day_passes();
	begun = commit(&anew, 1, false, COMMIT_RESULT_OK);
	assert_int_equal(reverse(5, completed).result, COMMIT_RESULT_QUEST_STATE);
	assert_int_equal(stored("gold"), 7);
	/* That it was begun again is taken back: it waits as it did before. */
	assert_int_equal(reverse(5, begun).result, COMMIT_RESULT_OK);
	assert_int_equal(server_sql(sql, "SELECT state FROM quest"), done);
	assert_true(is_old());
	back = reverse(5, completed);
	assert_int_equal(back.result, COMMIT_RESULT_OK);
	assert_int_equal(back.gold[0], 0);
	assert_int_equal(server_sql(sql, "SELECT state FROM quest"), step);
	/* Done after all. */
	back = reverse(back.request[0], back.request[1]);
	assert_int_equal(back.result, COMMIT_RESULT_OK);
	assert_int_equal(back.gold[0], 7);
	assert_int_equal(server_sql(sql, "SELECT state FROM quest"), done);
	assert_false(is_old());
}

/* Killed while it is carried out: nobody knows. Away: certainly not. Then it is done, once. */
static void through_a_death(void **state)
{
	const struct msg_correction c = give(CORRECTION_GOLD, 0, 70);
	struct msg_correction_result r;
	PGconn *holder = server_connect("stormweir");

	(void)state;
	server_sql(holder, "BEGIN");
	server_sql(holder, "SELECT 1 FROM character WHERE character_id = 1 FOR UPDATE");
	fixture_correct(&f, &c);
	server_wait_for(sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	server_do("kill");
	assert_int_equal(fixture_corrected(&f).result, CORRECTION_RESULT_UNKNOWN);
	assert_int_equal(correct(&c).result, COMMIT_RESULT_UNAVAILABLE);
	PQfinish(holder);
	PQfinish(sql);
	server_do("start");
	sql = server_connect("stormweir");
	fixture_wait_health(&f, true);
	for (uint32_t i = 0; i < 3; i++) {
		r = correct(&c);
		assert_int_equal(r.result, COMMIT_RESULT_OK);
		assert_int_equal(r.repeated, i > 0);
		assert_int_equal(r.gold[0], 70);
	}
	assert_int_equal(stored("gold"), 70);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, two_characters, it_balances)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(balances),
		TEST(belongings),
		TEST(not_possible),
		TEST(a_trade_is_reversed),
		TEST(quests_and_what_stays),
		TEST(a_quest_that_comes_again),
		TEST(through_a_death),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
