/* Proves the commits' contract (common/commit.h) against a server: what each operation does and
 * each refusal says, all or nothing; that the ledger agrees with the balances after all of it; that
 * a repeat gets the first result, also after a takeover, and a stale writer none; that a login or
 * detail sees what was committed before; that C and SQL have one rule for levels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "common/level.h"
#include "control/world/audit.h"
#include "control/world/world_fixture.h"

#define ADA 1u
#define BEN 2u

static struct fixture f;
static PGconn *sql;
static uint64_t epoch[3], counter;

static int start(void **state)
{
	(void)state;
	fixture_init(&f, 1024);
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	server_sql(sql, "TRUNCATE character CASCADE");
	server_sql(sql, "TRUNCATE ledger, commit_record");
	epoch[ADA] = fixture_login(&f, 7, ADA, "Ada").epoch;
	epoch[BEN] = fixture_login(&f, 7, BEN, "Ben").epoch;
	return 0;
}

/* After every test: the ledger and what there is agree. */
static int end(void **state)
{
	(void)state;
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
	PQfinish(sql);
	fixture_flush(&f);
	fixture_stop(&f);
	fixture_fini(&f);
	return 0;
}

struct commit_text {
	struct msg_commit head;
	struct commit_op op[COMMIT_OPS_MAX];
};

static struct commit_text commit_of(const struct commit_op *ops, uint32_t count)
{
	struct commit_text c = {.head = {.request = {0x1122334455667788, ++counter},
					.character_id = {ADA, BEN},
					.epoch = {epoch[ADA], epoch[BEN]},
					.realm_id = 1,
					.expires_ms = 60000,
					.reason = COMMIT_REASON_LOOT,
					.ops = count}};

	memcpy(c.op, ops, count * sizeof(*ops));
	return c;
}

static struct msg_commit_result carry_out(const struct commit_text *c)
{
	struct msg_commit_result result;

	fixture_commit(&f, FIXTURE_MAIN, &c->head);
	result = fixture_committed(&f, FIXTURE_MAIN);
	assert_memory_equal(result.request, c->head.request, sizeof(result.request));
	assert_memory_equal(result.character_id, c->head.character_id, sizeof(result.character_id));
	return result;
}

#define GOLD(w, n)                                                                                 \
	{                                                                                          \
		.kind = COMMIT_GOLD, .who = w, .amount = n                                         \
	}
#define EXPERIENCE(w, n)                                                                           \
	{                                                                                          \
		.kind = COMMIT_EXPERIENCE, .who = w, .amount = n                                   \
	}
#define SLOT(w, s, i, n)                                                                           \
	{                                                                                          \
		.kind = COMMIT_SLOT, .who = w, .slot = s, .item = i, .amount = n                   \
	}
#define SERIAL(w, s, i, n, id)                                                                     \
	{                                                                                          \
		.kind = COMMIT_SLOT, .who = w, .slot = s, .item = i, .amount = n, .serial = id     \
	}
#define QUEST(w, q, from, to)                                                                      \
	{                                                                                          \
		.kind = COMMIT_QUEST, .who = w, .slot = from, .item = q, .amount = to              \
	}
#define RESULT(w, rule, match, n)                                                                  \
	{                                                                                          \
		.kind = COMMIT_RESULT, .who = w, .item = rule, .serial = match, .amount = n        \
	}

#define OPS 6
/* In this order, on what the ones before left. gold: of Ada, -1: not looked at. */
// clang-format off
static const struct step {
	const char *what;
	struct commit_op op[OPS];
	enum commit_result result;
	uint32_t refused_op;
	int64_t gold, experience;
} STEPS[] = {
	{"gold comes", {GOLD(0, 100)}, COMMIT_RESULT_OK, 0, 100, 0},
	{"gold goes", {GOLD(0, -30)}, COMMIT_RESULT_OK, 0, 70, 0},
	{"more than there is", {GOLD(0, -71)}, COMMIT_RESULT_NOT_ENOUGH, 0, -1, -1},
	{"all of it", {GOLD(0, -70), GOLD(0, 0)}, COMMIT_RESULT_OK, 0, 0, 0},
	{"below 0 in between", {GOLD(0, -1), GOLD(0, 2)}, COMMIT_RESULT_NOT_ENOUGH, 0, -1, -1},
	{"the largest balance", {GOLD(0, INT64_MAX)}, COMMIT_RESULT_OK, 0, INT64_MAX, 0},
	{"beyond it", {SLOT(0, 1, 9, 1), GOLD(0, 1)}, COMMIT_RESULT_TOO_MUCH, 1, -1, -1},
	{"to the other", {GOLD(0, 1000 - INT64_MAX), GOLD(1, 5)}, COMMIT_RESULT_OK, 0, 1000, 0},
	{"the other has not enough", {GOLD(0, 6), GOLD(1, -6)}, COMMIT_RESULT_NOT_ENOUGH, 1, -1, -1},
	{"experience", {EXPERIENCE(0, 299)}, COMMIT_RESULT_OK, 0, 1000, 299},
	{"a level", {EXPERIENCE(0, 1)}, COMMIT_RESULT_OK, 0, 1000, 300},
	{"beyond what there can be", {EXPERIENCE(0, INT64_MAX)}, COMMIT_RESULT_TOO_MUCH, 0, -1, -1},
	{"into an empty slot", {SLOT(0, 0, 5, 10)}, COMMIT_RESULT_OK, 0, 1000, 300},
	{"onto the same", {SLOT(0, 0, 5, 2)}, COMMIT_RESULT_OK, 0, 1000, 300},
	{"onto another item", {SLOT(0, 0, 6, 1)}, COMMIT_RESULT_SLOT_TAKEN, 0, -1, -1},
	{"onto one with a serial", {SERIAL(0, 0, 5, 1, 77)}, COMMIT_RESULT_SLOT_TAKEN, 0, -1, -1},
	{"some of it", {SLOT(0, 0, 5, -4)}, COMMIT_RESULT_OK, 0, 1000, 300},
	{"more than lies there", {GOLD(0, 1), SLOT(0, 0, 5, -9)}, COMMIT_RESULT_NOT_ENOUGH, 1, -1, -1},
	{"of another item", {SLOT(0, 0, 6, -1)}, COMMIT_RESULT_SLOT_TAKEN, 0, -1, -1},
	{"of an empty slot", {SLOT(0, 1, 5, -1)}, COMMIT_RESULT_NOT_ENOUGH, 0, -1, -1},
	{"more than a slot holds", {SLOT(0, 0, 5, INT64_MAX)}, COMMIT_RESULT_TOO_MUCH, 0, -1, -1},
	{"all of it, then another item", {SLOT(0, 0, 5, -8), SLOT(0, 0, 6, 1)}, COMMIT_RESULT_OK, 0, 1000, 300},
	{"a sword", {SERIAL(0, 3, 40, 1, UINT64_MAX)}, COMMIT_RESULT_OK, 0, 1000, 300},
	{"the same sword again", {SERIAL(0, 4, 40, 1, UINT64_MAX)}, COMMIT_RESULT_DUPLICATE, 0, -1, -1},
	{"the same sword in the same slot", {SERIAL(0, 3, 40, 1, UINT64_MAX)}, COMMIT_RESULT_DUPLICATE, 0, -1, -1},
	{"the same sword at the other's", {SERIAL(1, 4, 40, 1, UINT64_MAX)}, COMMIT_RESULT_DUPLICATE, 0, -1, -1},
	{"put on", {SERIAL(0, 3, 40, -1, UINT64_MAX), SERIAL(0, 100, 40, 1, UINT64_MAX)}, COMMIT_RESULT_OK, 0, 1000, 300},
	{"put on before it is taken", {SERIAL(0, 3, 40, 1, UINT64_MAX), SERIAL(0, 100, 40, -1, UINT64_MAX)}, COMMIT_RESULT_DUPLICATE, 0, -1, -1},
	{"exchanged for gold", {SERIAL(0, 100, 40, -1, UINT64_MAX), SERIAL(1, 63, 40, 1, UINT64_MAX), GOLD(1, -5), GOLD(0, 5)}, COMMIT_RESULT_OK, 0, 1005, 300},
	{"gone with it", {SERIAL(0, 100, 40, -1, UINT64_MAX)}, COMMIT_RESULT_NOT_ENOUGH, 0, -1, -1},
	{"a quest begins", {QUEST(0, 7, 0, 1)}, COMMIT_RESULT_OK, 0, 1005, 300},
	{"it has begun", {QUEST(0, 7, 0, 2)}, COMMIT_RESULT_QUEST_STATE, 0, -1, -1},
	{"it goes on, with a reward", {QUEST(0, 7, 1, 65535), GOLD(0, 5)}, COMMIT_RESULT_OK, 0, 1010, 300},
	{"it stands elsewhere", {GOLD(0, 5), QUEST(0, 7, 1, 2)}, COMMIT_RESULT_QUEST_STATE, 1, -1, -1},
	{"back to the beginning", {QUEST(0, 7, 65535, 0)}, COMMIT_RESULT_OK, 0, 1010, 300},
	{"and not twice", {QUEST(0, 7, 65535, 0)}, COMMIT_RESULT_QUEST_STATE, 0, -1, -1},
	{"one that has not begun goes on", {QUEST(1, 8, 1, 2)}, COMMIT_RESULT_QUEST_STATE, 0, -1, -1},
	{"the other's", {QUEST(1, 8, 0, 3)}, COMMIT_RESULT_OK, 0, 1010, 300},
	{"a match", {RESULT(0, 1, 900, 1), RESULT(1, 1, 900, 2), GOLD(0, 1)}, COMMIT_RESULT_OK, 0, 1011, 300},
	{"its result again", {GOLD(0, 1), RESULT(1, 1, 900, 1)}, COMMIT_RESULT_DUPLICATE, 1, -1, -1},
	{"no such slot", {SLOT(0, 64, 1, 1)}, COMMIT_RESULT_INVALID, 0, -1, -1},
	{"two of one serial", {GOLD(0, 1), SERIAL(0, 1, 1, 2, 9)}, COMMIT_RESULT_INVALID, 1, -1, -1},
	{"experience goes", {EXPERIENCE(0, -1)}, COMMIT_RESULT_INVALID, 0, -1, -1},
};
// clang-format on

static uint32_t ops_of(const struct step *step)
{
	static const struct commit_op none;
	uint32_t count = OPS;

	while (count > 1 && !memcmp(&step->op[count - 1], &none, sizeof(none)))
		count--;
	return count;
}

static void each_operation_and_refusal(void **state)
{
	struct commit_text done[sizeof(STEPS) / sizeof(STEPS[0])];
	struct msg_commit_result first[sizeof(STEPS) / sizeof(STEPS[0])];
	struct msg_slot slots[COMMIT_SLOTS_MAX];
	struct msg_quest quests[COMMIT_QUESTS_MAX];
	struct msg_detail_result d;
	bool seen[COMMIT_RESULT_COUNT] = {false};
	int64_t rows;

	(void)state;
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
		const struct step *step = &STEPS[i];
		int64_t before = server_sql(sql, "SELECT count(*) FROM ledger");

		print_message("%s\n", step->what);
		done[i] = commit_of(step->op, ops_of(step));
		first[i] = carry_out(&done[i]);
		seen[first[i].result] = true;
		assert_int_equal(first[i].result, step->result);
		assert_int_equal(first[i].refused_op, step->refused_op);
		if (step->result == COMMIT_RESULT_OK) {
			assert_true(first[i].gold[0] == step->gold);
			assert_true(first[i].experience[0] == step->experience);
		}
		/* A refused one leaves nothing. */
		assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger") - before,
			step->result == COMMIT_RESULT_OK ? ops_of(step) : 0);
	}
	for (int r = COMMIT_RESULT_NOT_ENOUGH; r < COMMIT_RESULT_COUNT; r++)
		assert_true(seen[r]);

	fixture_query(&f, FIXTURE_MAIN, 1, ADA);
	d = fixture_possessions(&f, FIXTURE_MAIN, slots, quests);
	assert_true(d.gold == 1011 && d.experience == 300 && d.level == 3);
	assert_true(d.slots == 1 && d.quests == 0);
	assert_true(slots[0].slot == 0 && slots[0].item == 6 && slots[0].count == 1 &&
		    slots[0].serial == 0);
	fixture_query(&f, FIXTURE_MAIN, 2, BEN);
	d = fixture_possessions(&f, FIXTURE_MAIN, slots, quests);
	assert_true(d.gold == 0 && d.slots == 1 && d.quests == 1);
	assert_true(slots[0].slot == 63 && slots[0].item == 40 && slots[0].count == 1 &&
		    slots[0].serial == UINT64_MAX);
	assert_true(quests[0].quest == 8 && quests[0].state == 3);

	/* Each again, after both have been taken over: the first result, and no effect. INVALID is
	 * said before PostgreSQL is asked. */
	fixture_login(&f, 7, ADA, "");
	fixture_login(&f, 7, BEN, "");
	rows = server_sql(sql, "SELECT count(*) FROM ledger");
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
		struct msg_commit_result again = carry_out(&done[i]);

		assert_memory_equal(&again, &first[i], sizeof(again));
	}
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger"), rows);
	assert_true(
		fixture_counter(&f, WORLD_COMMITS_REPEATED) ==
		sizeof(STEPS) / sizeof(STEPS[0]) - fixture_counter(&f, WORLD_COMMITS_INVALID) / 2);
}

static void stale_and_unknown_characters(void **state)
{
	static const struct commit_op GIFT[] = {GOLD(0, 5), GOLD(1, 5)};
	struct commit_text c = commit_of(GIFT, 2), old = c;

	(void)state;
	epoch[BEN] = fixture_login(&f, 7, BEN, "").epoch;
	/* Either of the two. */
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_STALE);
	c = commit_of(GIFT, 2);
	c.head.epoch[0]--;
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_STALE);
	c = commit_of(GIFT, 2);
	c.head.epoch[1]++;
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_STALE);
	/* Final: the epoch that would be right by now makes no difference to the same request. */
	old.head.epoch[1] = epoch[BEN];
	assert_int_equal(carry_out(&old).result, COMMIT_RESULT_STALE);
	c = commit_of(GIFT, 2);
	c.head.character_id[1] = 404;
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_NO_CHARACTER);
	c = commit_of(GIFT, 1);
	c.head.character_id[0] = 404;
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_NO_CHARACTER);
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_NO_CHARACTER);
	c = commit_of(GIFT, 2);
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_OK);
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), 10);
}

/* Many of one character and of pairs, pushed at once, with refusals among them: carried out in
 * their order, each alone. */
static void in_order_and_alone(void **state)
{
	int64_t gold = 0;

	(void)state;
	for (int round = 0; round < 3; round++) {
		enum { MANY = 600 };
		int64_t expected[MANY];
		uint64_t first = counter + 1;

		for (int i = 0; i < MANY; i++) {
			/* One more than there is, each third time. */
			struct commit_op op[1] = {GOLD(0, i % 3 == 2 ? -gold - 1 : 1 + i)};
			struct commit_text c = commit_of(op, 1);

			fixture_commit(&f, FIXTURE_MAIN, &c.head);
			if (i % 3 != 2)
				gold += 1 + i;
			expected[i] = i % 3 == 2 ? -1 : gold;
		}
		for (int i = 0; i < MANY; i++) {
			struct msg_commit_result r = fixture_committed(&f, FIXTURE_MAIN);

			assert_true(r.request[1] == first + (uint64_t)i);
			assert_int_equal(r.result,
				expected[i] < 0 ? COMMIT_RESULT_NOT_ENOUGH : COMMIT_RESULT_OK);
			assert_true(expected[i] < 0 || r.gold[0] == expected[i]);
		}
	}
	assert_true(fixture_counter(&f, WORLD_COMMIT_BATCHES) < 100);
}

/* The character is taken over, and its details are asked for, while a commit of it cannot finish:
 * both wait, and see it. */
static void logins_and_details_wait(void **state)
{
	static const struct commit_op GIFT[] = {GOLD(0, 5)};
	struct commit_text c = commit_of(GIFT, 1);
	PGconn *other = server_connect("stormweir");

	(void)state;
	server_sql(other, "BEGIN");
	server_sql(other, "SELECT 1 FROM character WHERE character_id = 2 FOR UPDATE");
	fixture_commit(&f, 0, &c.head); /* locks Ada, then waits for Ben */
	server_wait_for(
		sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	fixture_query(&f, 1, 3, ADA);
	fixture_load(&f, 50, 7, ADA, "");
	fixture_wait_counter(&f, WORLD_DETAILS, 1);
	server_sql(other, "COMMIT");
	assert_int_equal(fixture_committed(&f, 0).result, COMMIT_RESULT_OK);
	assert_true(fixture_detail(&f, 1).gold == 5);
	assert_int_equal(fixture_loaded(&f).epoch, epoch[ADA] + 1);
	PQfinish(other);
}

/* A quest's age is that of its row: steps leave it, a row that is made anew begins again. */
static void a_quest_has_an_age(void **state)
{
	static const struct {
		struct commit_op op[2];
		uint32_t ops;
		bool anew;
	} rows[] = {{{QUEST(0, 8, 0, 3)}, 1, true}, {{QUEST(0, 8, 3, 4)}, 1, false},
		{{QUEST(0, 8, 4, 0), QUEST(0, 8, 0, 9)}, 2, true}};
	struct msg_slot slots[COMMIT_SLOTS_MAX];
	struct msg_quest quests[COMMIT_QUESTS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct commit_text c = commit_of(rows[i].op, rows[i].ops);

		server_sql(sql, "UPDATE quest SET since = since - interval '90000 s'");
		assert_int_equal(carry_out(&c).result, COMMIT_RESULT_OK);
		fixture_query(&f, FIXTURE_MAIN, i, ADA);
		assert_int_equal(fixture_possessions(&f, FIXTURE_MAIN, slots, quests).quests, 1);
		assert_int_equal(quests[0].age_s >= 90000, !rows[i].anew);
		assert_true(quests[0].age_s < 10 * 90000);
	}
}

/* Another node: a batch of its own in psql's place. One request at both at once happens once, and
 * the one that comes second has the first one's result. */
static void two_writers_of_one_request(void **state)
{
	static const struct commit_op GIFT[] = {GOLD(0, 5)};
	struct commit_text c = commit_of(GIFT, 1);
	PGconn *other = server_connect("stormweir");
	char text[600];

	(void)state;
	snprintf(text, sizeof(text),
		"SELECT gold FROM commit_batch_1(1, "
		"ARRAY['%016llx%016llx'::uuid], ARRAY[1::int8], ARRAY[0::int8], ARRAY[%llu::int8], "
		"ARRAY[0::int8], ARRAY[2], ARRAY[1], ARRAY[0], ARRAY[0], ARRAY[0], ARRAY[0], "
		"ARRAY[7::int8], ARRAY[0::int8])",
		(unsigned long long)c.head.request[0], (unsigned long long)c.head.request[1],
		(unsigned long long)epoch[ADA]);
	server_sql(other, "BEGIN");
	assert_int_equal(server_sql(other, text), 7);
	fixture_commit(&f, 0, &c.head);
	server_wait_for(
		sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	server_sql(other, "COMMIT");
	assert_true(fixture_committed(&f, 0).gold[0] == 7);
	/* And when the other one did not happen after all. */
	c = commit_of(GIFT, 1);
	server_sql(other, "BEGIN");
	server_sql(other, "SELECT 1 FROM character WHERE character_id = 1 FOR UPDATE");
	fixture_commit(&f, 0, &c.head);
	server_wait_for(
		sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	server_sql(other, "ROLLBACK");
	assert_true(fixture_committed(&f, 0).gold[0] == 12);
	PQfinish(other);
}

static void one_rule_for_levels(void **state)
{
	char text[100];

	(void)state;
	for (uint32_t level = 1; level <= LEVEL_MAX; level++) {
		for (int64_t off = -1; off <= 1; off++) {
			int64_t experience = level_begins(level) + off;

			if (experience < 0)
				continue;
			snprintf(text, sizeof(text), "SELECT character_level(%lld)",
				(long long)experience);
			assert_int_equal(server_sql(sql, text), level_of(experience));
			assert_int_equal(level_of(experience), off < 0 ? level - 1 : level);
		}
	}
	assert_int_equal(server_sql(sql, "SELECT character_level(9223372036854775807)"), LEVEL_MAX);
	assert_int_equal(level_of(INT64_MAX), LEVEL_MAX);
}

/* The most that one commit and one character can have, and a detail answer of it all into a ring
 * that is full at first. */
static void the_most(void **state)
{
	static struct msg_slot slots[COMMIT_SLOTS_MAX];
	static struct msg_quest quests[COMMIT_QUESTS_MAX];
	struct commit_op op[COMMIT_OPS_MAX];
	struct msg_detail_result d;
	struct commit_text c;
	uint32_t asked = 0;

	(void)state;
	for (uint32_t i = 0; i < COMMIT_OPS_MAX; i++)
		op[i] = (struct commit_op)SERIAL(0, (uint16_t)i, 1000 + i, 1, 1 + i);
	c = commit_of(op, COMMIT_OPS_MAX);
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_OK);
	for (uint32_t i = 0; i < COMMIT_EQUIP_SLOTS; i++)
		op[i] = (struct commit_op)SLOT(
			0, (uint16_t)(COMMIT_EQUIP_FIRST + i), INT32_MAX, INT64_MAX);
	c = commit_of(op, COMMIT_EQUIP_SLOTS);
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_OK);
	for (uint32_t q = 0; q < COMMIT_QUESTS_MAX; q += COMMIT_OPS_MAX) {
		for (uint32_t i = 0; i < COMMIT_OPS_MAX; i++)
			op[i] = (struct commit_op)QUEST(0, q + i, 0, 1 + q);
		c = commit_of(op, COMMIT_OPS_MAX);
		assert_int_equal(carry_out(&c).result, COMMIT_RESULT_OK);
	}
	op[0] = (struct commit_op)QUEST(0, COMMIT_QUESTS_MAX, 0, 1);
	c = commit_of(op, 1);
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_TOO_MUCH);
	/* The ring has 1,024 slots, an answer 96: nobody reads until some of them wait. */
	for (; fixture_counter(&f, WORLD_ANSWERS_DELAYED) < 3; asked++) {
		fixture_query(&f, 0, asked, ADA);
		fixture_wait_counter(&f, WORLD_DETAILS, asked + 1);
	}
	for (uint32_t i = 0; i < asked; i++) {
		d = fixture_possessions(&f, 0, slots, quests);
		assert_true(d.request == i && d.result == MSG_LOAD_OK);
		assert_int_equal(d.slots, COMMIT_SLOTS_MAX);
		assert_int_equal(d.quests, COMMIT_QUESTS_MAX);
		assert_true(slots[63].serial == 64 && slots[79].count == INT64_MAX);
		assert_true(quests[511].quest == 511 && quests[511].state == 449);
	}
}

static int swctl(const char *arguments)
{
	char command[1024], conninfo[256];
	int status;

	server_conninfo(conninfo, sizeof(conninfo), "stormweir");
	snprintf(command, sizeof(command), "%s audit %s --conninfo '%s'", SWCTL, arguments,
		conninfo);
	fflush(stdout);
	status = system(command);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_tool_says_so(void **state)
{
	static const struct commit_op GIFT[] = {GOLD(0, 5), SLOT(1, 9, 4, 2)};
	struct commit_text c = commit_of(GIFT, 2);

	(void)state;
	assert_int_equal(carry_out(&c).result, COMMIT_RESULT_OK);
	assert_int_equal(swctl("ledger"), 0);
	server_sql(sql, "UPDATE item_slot SET count = 3");
	assert_int_equal(swctl("ledger"), 3);
	assert_int_equal(swctl("ledger --realm 1"), 3);
	assert_int_equal(swctl("ledger --realm 2"), 0);
	server_sql(sql, "UPDATE item_slot SET count = 2");
	assert_int_equal(swctl("ledger --realm x"), 2);
	assert_int_equal(swctl("ledger --config x"), 2);
	assert_int_equal(swctl("gold"), 2);
	assert_int_equal(swctl("ledger --realm 1 --conninfo"), 2);
}

/* What no repeat can use any more goes, page after page; what is young, or of a character that may
 * still be in the hands of the same writer, stays. */
static void old_records_are_pruned(void **state)
{
	enum { OLD = 2300 };

	(void)state;
	fixture_flush(&f);
	fixture_stop(&f);
	/* Of Ada, who has logged in since; of Ben, who has not. The last of the key is Ada's. */
	server_sql(sql, "INSERT INTO commit_record (realm_id, request, character_id, result, "
			"refused_op, gold, experience, other_gold, other_experience, at) "
			"SELECT 1, lpad(to_hex(i), 32, '0')::uuid, 1 + i % 2, 4, 0, 0, 0, 0, 0, "
			"now() - interval '49 hours' FROM generate_series(1, 2 * 2300) i");
	server_sql(sql, "UPDATE character SET last_login_at = now() - interval '50 hours' "
			"WHERE character_id = 2");
	server_sql(sql, "INSERT INTO commit_record (realm_id, request, character_id, result, "
			"refused_op, gold, experience, other_gold, other_experience, at) VALUES "
			"(1, 'ffffffff-0000-0000-0000-000000000001', 1, 4, 0, 0, 0, 0, 0, "
			"now() - interval '47 hours'), "
			"(1, 'ffffffff-ffff-0000-0000-000000000001', 1, 4, 0, 0, 0, 0, 0, "
			"now() - interval '49 hours'), "
			"(2, 'ffffffff-0000-0000-0000-000000000001', 1, 4, 0, 0, 0, 0, 0, "
			"now() - interval '49 hours')");
	fixture_start(&f);
	assert_non_null(f.world);
	server_wait_for(sql, "SELECT (count(*) = 0)::int FROM commit_record WHERE realm_id = 1 AND "
			     "request = 'ffffffff-ffff-0000-0000-000000000001'");
	fixture_wait_counter(&f, WORLD_RECORDS_PRUNED, OLD + 1);
	assert_int_equal(fixture_counter(&f, WORLD_RECORDS_PRUNED), OLD + 1);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM commit_record WHERE at < now() - "
					 "interval '48 hours' AND realm_id = 1"),
		OLD);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM commit_record WHERE "
					 "character_id = 1 AND result = 4"),
		2);
	server_sql(sql, "DELETE FROM commit_record WHERE at < now() - interval '24 hours'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_operation_and_refusal, start, end),
		cmocka_unit_test_setup_teardown(stale_and_unknown_characters, start, end),
		cmocka_unit_test_setup_teardown(in_order_and_alone, start, end),
		cmocka_unit_test_setup_teardown(logins_and_details_wait, start, end),
		cmocka_unit_test_setup_teardown(a_quest_has_an_age, start, end),
		cmocka_unit_test_setup_teardown(two_writers_of_one_request, start, end),
		cmocka_unit_test_setup_teardown(one_rule_for_levels, start, end),
		cmocka_unit_test_setup_teardown(the_most, start, end),
		cmocka_unit_test_setup_teardown(the_tool_says_so, start, end),
		cmocka_unit_test_setup_teardown(old_records_are_pruned, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
