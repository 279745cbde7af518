/* Proves that no coin and no item appears or vanishes: while connections are cut at random bytes,
 * the server is killed and started again, and characters are taken over, random grants, moves and
 * trades of a few characters run, some sent twice. In the end each confirmed commit is there once
 * and each refused one not at all, everything is conserved, and the ledger agrees with what there
 * is. Then one by one: what is answered while PostgreSQL is away, slow or full, or the shard does
 * not read, and that a stop waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/audit.h"
#include "control/world/cut_proxy.h"
#include "control/world/world_fixture.h"

#define CHARACTERS 80u /* enough that simple commits of many go as sets */
#define GOLD_EACH  1000
#define SWORDS     4u   /* each character's at first, in slots 0..3, with serials */
#define POTION     7u   /* item, in slot 10 */
#define COMMITS    600u /* or as many as SW_COMMITS says, for a long run */
#define UNDER_WAY  160u

static struct fixture f;
static PGconn *sql;
static unsigned seed;

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand_r(&seed) % n;
}

static void make_characters(uint32_t count)
{
	char text[400];

	server_sql(sql, "TRUNCATE character CASCADE");
	server_sql(sql, "TRUNCATE ledger, commit_record");
	snprintf(text, sizeof(text),
		"INSERT INTO character (realm_id, character_id, account_id, name, appearance, "
		"epoch) SELECT 1, i, 1, 'c' || i, 0, 1 FROM generate_series(1, %u) i",
		count);
	server_sql(sql, text);
}

struct sent {
	struct msg_commit head;
	struct commit_op op[8];
	uint32_t answers_due;
	bool answered;
	struct msg_commit_result result;
};

static struct commit_op gold(uint8_t who, int64_t amount)
{
	return (struct commit_op){.kind = COMMIT_GOLD, .who = who, .amount = amount};
}

static struct commit_op item(
	uint8_t who, uint32_t slot, uint32_t number, int64_t amount, uint64_t serial)
{
	return (struct commit_op){.kind = COMMIT_SLOT,
		.who = who,
		.slot = (uint16_t)slot,
		.item = number,
		.amount = amount,
		.serial = serial};
}

static void head(struct sent *s, uint64_t number, uint64_t a, uint64_t b, const uint64_t *epochs)
{
	memset(s, 0, sizeof(*s));
	s->head = (struct msg_commit){.request = {0xfeedull << 32, number},
		.character_id = {a, b},
		.epoch = {epochs[a], b ? epochs[b] : 0},
		.realm_id = 1,
		.expires_ms = 60000,
		.reason = COMMIT_REASON_TRADE};
}

static void add(struct sent *s, struct commit_op op)
{
	s->op[s->head.ops++] = op;
}

/* A trade or move that keeps everything, possible or not: nobody here knows who has what. A sword
 * is its serial, 1..SWORDS * CHARACTERS, and looked for in a random slot. */
static void random_commit(struct sent *s, uint64_t number, const uint64_t *epochs)
{
	uint64_t a = 1 + below(CHARACTERS), b = 1 + below(CHARACTERS);
	uint32_t serial = 1 + below(SWORDS * CHARACTERS), from = below(8), to = below(8);
	int64_t coins = below(GOLD_EACH);

	if (below(2)) { /* a simple one */
		head(s, number, a, 0, epochs);
		add(s, item(0, 10, POTION, -1 - (int64_t)below(4), 0));
		add(s, item(0, 11, POTION, -s->op[0].amount, 0));
		return;
	}
	head(s, number, a, a == b ? 0 : b, epochs);
	if (a == b) { /* within the bag */
		add(s, item(0, from, 40, -1, serial));
		add(s, item(0, to, 40, 1, serial));
		return;
	}
	add(s, gold(0, -coins));
	add(s, gold(1, coins));
	if (below(2)) {
		add(s, item(0, 10, POTION, -1 - (int64_t)below(3), 0));
		add(s, item(1, 10, POTION, -s->op[2].amount, 0));
	}
	if (below(2)) { /* the sword's first place, so that some succeed */
		a = (serial - 1) / SWORDS + 1;
		if (below(2) && a != b) {
			s->head.character_id[0] = a;
			s->head.epoch[0] = epochs[a];
			from = (serial - 1) % SWORDS;
		}
		add(s, item(0, from, 40, -1, serial));
		add(s, item(1, to, 40, 1, serial));
	}
}

static void send_to(uint32_t shard, struct sent *s)
{
	struct {
		struct msg_commit head;
		struct commit_op op[8];
	} commit;

	commit.head = s->head;
	memcpy(commit.op, s->op, sizeof(commit.op));
	fixture_commit(&f, shard, &commit.head);
	s->answers_due++;
}

static void send(struct sent *s)
{
	send_to(FIXTURE_MAIN, s);
}

static uint32_t outcomes[COMMIT_RESULT_COUNT];

/* One answer. Refusals that are not kept may differ from what another copy gets. */
static void receive(struct sent *all, uint32_t count)
{
	struct msg_commit_result r = fixture_committed(&f, FIXTURE_MAIN);
	struct sent *s = &all[r.request[1]];

	assert_true(r.request[1] < count && s->answers_due > 0);
	s->answers_due--;
	outcomes[r.result]++;
	if (r.result == COMMIT_RESULT_UNAVAILABLE || r.result == COMMIT_RESULT_EXPIRED) {
		fixture_sleep_ms(2); /* what is away may come back */
		return;
	}
	if (s->answered)
		assert_memory_equal(&r, &s->result, sizeof(r));
	s->answered = true;
	s->result = r;
}

static void endow(uint64_t *epochs, struct sent *all)
{
	for (uint64_t c = 1; c <= CHARACTERS; c++) {
		struct sent *s = &all[c - 1];

		epochs[c] = 1;
		head(s, c - 1, c, 0, epochs);
		add(s, gold(0, GOLD_EACH));
		add(s, item(0, 10, POTION, 50, 0));
		for (uint32_t i = 0; i < SWORDS; i++)
			add(s, item(0, i, 40, 1, (c - 1) * SWORDS + i + 1));
		send(s);
	}
	for (uint64_t c = 1; c <= CHARACTERS; c++)
		receive(all, CHARACTERS);
	assert_int_equal(outcomes[COMMIT_RESULT_OK], CHARACTERS);
}

/* told: the old writer hears of it; else its commits are stale. Returns whether it was done. */
static bool takeover(uint64_t *epochs, bool told)
{
	uint64_t c = 1 + below(CHARACTERS);
	struct msg_character_loaded l = fixture_login(&f, 1, c, "");

	if (l.result == MSG_LOAD_OK && told)
		epochs[c] = l.epoch;
	return l.result == MSG_LOAD_OK;
}

/* Confirmed: there, with as many rows as operations. Refused: no row. Never answered by the
 * database: not there either, as it was said that there is and will be no effect. */
static void each_once(const struct sent *all, uint32_t count)
{
	int64_t ops = 0, ok = 0;

	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(all[i].answers_due, 0);
		if (!all[i].answered || all[i].result.result != COMMIT_RESULT_OK)
			continue;
		ok++;
		ops += all[i].head.ops;
	}
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM ledger"), ops);
	assert_int_equal(
		server_sql(sql, "SELECT count(*) FROM commit_record WHERE result = 0"), ok);
	assert_int_equal(
		server_sql(sql, "SELECT sum(gold) FROM character"), CHARACTERS * GOLD_EACH);
	assert_int_equal(server_sql(sql, "SELECT sum(count) FROM item_slot WHERE item = 7"),
		CHARACTERS * 50);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM item_slot WHERE item = 40"),
		CHARACTERS * SWORDS);
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
}

static void nothing_appears_or_vanishes(void **state)
{
	uint32_t commits = getenv("SW_COMMITS") ? (uint32_t)atoi(getenv("SW_COMMITS")) : COMMITS;
	struct sent *all = calloc(CHARACTERS + commits, sizeof(*all));
	uint64_t epochs[CHARACTERS + 1];
	uint32_t sent = CHARACTERS, due = 0;
	struct cut_proxy proxy;

	(void)state;
	cut_proxy_start(&proxy);
	seed = proxy.seed;
	fixture_init(&f, 1024);
	snprintf(f.config.postgres.conninfo, sizeof(f.config.postgres.conninfo),
		"host=%s user=stormweir dbname=stormweir", proxy.folder);
	f.config.postgres.commits_per_batch = 32;
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	make_characters(CHARACTERS);
	memset(outcomes, 0, sizeof(outcomes));
	endow(epochs, all);
	proxy.cut_within = 30000;
	atomic_store(&proxy.cuts, true);
	/* The connections that were made at start get no budget: end them. */
	server_sql(sql, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
			"application_name = 'stormweir/test'");
	for (; sent < CHARACTERS + commits; sent++) {
		random_commit(&all[sent], sent, epochs);
		send(&all[sent]);
		due++;
		if (below(4) == 0) { /* one of those that were sent before, again */
			send(&all[CHARACTERS + below(sent - CHARACTERS + 1)]);
			due++;
		}
		if (below(40) == 0)
			takeover(epochs, below(3));
		/* A few for certain that nobody is told of. */
		while (sent % 100 == 0 && !takeover(epochs, false))
			fixture_sleep_ms(2);
		if (sent % (commits < 4 * COMMITS ? commits : 4 * COMMITS) == COMMITS / 2) {
			PQfinish(sql);
			server_do("kill");
			server_do("start");
			sql = server_connect("stormweir");
		}
		for (; due >= UNDER_WAY; due--)
			receive(all, sent + 1);
	}
	for (; due > 0; due--)
		receive(all, sent);
	atomic_store(&proxy.cuts, false);
	assert_int_equal(fixture_flush(&f), 0);
	print_message(
		"%u cuts, %llu batches, %llu sets sent, %llu sent again, %llu repeats; %u done, "
		"%u stale, %u not enough, %u slot taken, %u unavailable\n",
		atomic_load(&proxy.cut_count),
		(unsigned long long)fixture_counter(&f, WORLD_COMMIT_BATCHES),
		(unsigned long long)fixture_counter(&f, WORLD_COMMIT_SETS),
		(unsigned long long)fixture_counter(&f, WORLD_COMMIT_BATCHES_UNKNOWN),
		(unsigned long long)fixture_counter(&f, WORLD_COMMITS_REPEATED),
		outcomes[COMMIT_RESULT_OK], outcomes[COMMIT_RESULT_STALE],
		outcomes[COMMIT_RESULT_NOT_ENOUGH], outcomes[COMMIT_RESULT_SLOT_TAKEN],
		outcomes[COMMIT_RESULT_UNAVAILABLE]);
	each_once(all, sent);
	assert_true(atomic_load(&proxy.cut_count) > 5);
	assert_true(fixture_counter(&f, WORLD_COMMIT_BATCHES_UNKNOWN) > 0);
	assert_true(fixture_counter(&f, WORLD_COMMIT_SETS) > 0);
	assert_true(
		fixture_counter(&f, WORLD_COMMIT_BATCHES) > fixture_counter(&f, WORLD_COMMIT_SETS));
	assert_true(outcomes[COMMIT_RESULT_OK] > CHARACTERS + 50);
	assert_true(outcomes[COMMIT_RESULT_STALE] > 0);
	assert_true(outcomes[COMMIT_RESULT_INVALID] + outcomes[COMMIT_RESULT_NO_CHARACTER] == 0);
	/* The audit does see: one coin, one potion, one row too many. */
	server_sql(sql, "UPDATE character SET gold = gold + 1 WHERE character_id = 3");
	assert_int_equal(audit_ledger(sql, 0, stdout), 1);
	assert_int_equal(audit_ledger(sql, 1, stdout), 1);
	assert_int_equal(audit_ledger(sql, 2, stdout), 0);
	server_sql(sql,
		"DELETE FROM item_slot WHERE character_id IN "
		"(SELECT character_id FROM item_slot WHERE slot = 10 LIMIT 1) AND slot = 10");
	assert_int_equal(audit_ledger(sql, 0, stdout), 2);
	server_sql(sql, "DELETE FROM commit_record WHERE request = "
			"(SELECT request FROM commit_record WHERE result = 0 LIMIT 1)");
	assert_int_equal(audit_ledger(sql, 0, stdout), 3);
	PQfinish(sql);
	fixture_stop(&f);
	fixture_fini(&f);
	cut_proxy_stop(&proxy);
	free(all);
}

static void start(uint32_t pending_max)
{
	fixture_init(&f, 1024);
	f.config.postgres.commits_pending_max = pending_max;
	f.config.postgres.commits_per_batch = 16;
}

static void begin(void)
{
	fixture_start(&f);
	assert_non_null(f.world);
	sql = server_connect("stormweir");
	make_characters(100);
}

static void end(void)
{
	assert_int_equal(audit_ledger(sql, 0, stdout), 0);
	PQfinish(sql);
	fixture_stop(&f);
	fixture_fini(&f);
}

/* What one of FIXTURE_SHARDS shards gets of 64 places: all that are shared, and its own. */
#define PLACES_OF_64 (64 - (FIXTURE_SHARDS - 1) * (64 / 2 / FIXTURE_SHARDS))

static void give(uint64_t number, uint64_t character, int64_t amount, uint32_t expires_ms)
{
	static uint64_t epochs[101];
	struct sent s;

	epochs[character] = 1;
	head(&s, number, character, 0, epochs);
	s.head.expires_ms = expires_ms;
	add(&s, gold(0, amount));
	send(&s);
}

/* The server dies with a batch under way: its commits have no time limit any more, those behind
 * them that were not sent do; who comes later is refused at once. Then each confirmed one is there
 * once. */
static void killed_with_a_batch_under_way(void **state)
{
	uint32_t results[COMMIT_RESULT_COUNT] = {0};
	PGconn *other;

	(void)state;
	start(4096);
	f.config.postgres.commit_links = 1;
	begin();
	other = server_connect("stormweir");
	server_sql(other, "BEGIN");
	server_sql(other, "LOCK TABLE ledger IN EXCLUSIVE MODE");
	give(1, 1, 5, 10);
	server_wait_for(
		sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	for (uint64_t i = 2; i <= 40; i++)
		give(i, i, 5, 10);
	fixture_wait_counter(&f, WORLD_COMMITS_TAKEN, 40);
	server_do("kill");
	PQfinish(other);
	PQfinish(sql);
	for (int i = 0; i < 39; i++)
		results[fixture_committed(&f, FIXTURE_MAIN).result]++;
	assert_int_equal(results[COMMIT_RESULT_EXPIRED], 39);
	fixture_wait_health(&f, false);
	fixture_wait_counter(&f, WORLD_LINKS_LOST, 6); /* an attempt of each has failed */
	for (uint64_t i = 41; fixture_counter(&f, WORLD_COMMITS_UNAVAILABLE) == 0; i++) {
		give(i, 50, 5, 10);
		results[fixture_committed(&f, FIXTURE_MAIN).result]++;
	}
	assert_true(fixture_counter(&f, WORLD_COMMITS_PENDING) == 1);
	/* A copy of the one whose fate nobody knows is not refused: it may yet have its effect. */
	give(1, 1, 5, 10);
	server_do("start");
	assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_OK);
	assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_OK);
	sql = server_connect("stormweir");
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), 5);
	end();
}

/* A character that an operator holds locked: its commits wait, and only they. */
static void one_row_held_up(void **state)
{
	PGconn *other;

	(void)state;
	start(4096);
	f.config.postgres.statement_timeout_ms = 150;
	begin();
	other = server_connect("stormweir");
	server_sql(other, "BEGIN");
	server_sql(other, "SELECT 1 FROM character WHERE character_id = 1 FOR UPDATE");
	give(1, 1, 5, 60000);
	server_wait_for(
		sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	give(2, 1, 7, 60000);
	for (uint64_t i = 3; i <= 30; i++)
		give(i, i, 5, 60000);
	for (uint64_t i = 3; i <= 30; i++) {
		struct msg_commit_result r = fixture_committed(&f, FIXTURE_MAIN);

		assert_int_equal(r.result, COMMIT_RESULT_OK);
		assert_true(r.request[1] >= 3);
	}
	fixture_wait_counter(&f, WORLD_COMMIT_BATCHES_FAILED, 1);
	/* One that may not wait for so long. */
	give(31, 1, 11, 1);
	assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_EXPIRED);
	server_sql(other, "ROLLBACK");
	PQfinish(other);
	assert_true(fixture_committed(&f, FIXTURE_MAIN).gold[0] == 5);
	assert_true(fixture_committed(&f, FIXTURE_MAIN).gold[0] == 12);
	end();
}

/* One that PostgreSQL refuses as data, though commit_check does not: it alone is refused. */
static void one_that_can_never_be(void **state)
{
	enum { BAD = 7, MANY = 30 };

	(void)state;
	start(4096);
	begin();
	server_sql(sql,
		"ALTER TABLE commit_record ADD CONSTRAINT test_only CHECK (character_id <> 7)");
	for (uint64_t i = 1; i <= MANY; i++)
		give(i, i, 5, 60000);
	for (uint64_t i = 1; i <= MANY; i++) {
		struct msg_commit_result r = fixture_committed(&f, FIXTURE_MAIN);

		assert_int_equal(
			r.result, r.request[1] == BAD ? COMMIT_RESULT_INVALID : COMMIT_RESULT_OK);
	}
	server_sql(sql, "ALTER TABLE commit_record DROP CONSTRAINT test_only");
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), (MANY - 1) * 5);
	end();
}

/* More than may wait are refused at once; when not even the refusals can be delivered, the ring
 * stands, and every commit is answered in the end. */
static void bounded(void **state)
{
	enum { MANY = 3000, PLACES = PLACES_OF_64 };
	uint32_t ok = 0, refused = 0, pushed = 0;
	char text[256];
	PGconn *other;

	(void)state;
	start(64);
	begin();
	other = server_connect("stormweir");
	server_sql(other, "BEGIN");
	server_sql(other, "LOCK TABLE ledger IN EXCLUSIVE MODE");
	for (; pushed < PLACES; pushed++)
		give(pushed, 1 + pushed % 100, 1, 60000);
	fixture_wait_counter(&f, WORLD_COMMITS_TAKEN, PLACES);
	fixture_wait_health(&f, false);
	world_health(f.world, text, sizeof(text));
	assert_non_null(strstr(text, "commits_pending_max"));
	for (; pushed < MANY && fixture_room(&f, FIXTURE_MAIN); pushed++)
		give(pushed, 1 + pushed % 100, 1, 60000);
	assert_true(fixture_counter(&f, WORLD_ROUNDS_STALLED) > 0);
	server_sql(other, "ROLLBACK");
	PQfinish(other);
	for (uint32_t i = 0; i < pushed; i++) {
		enum commit_result r = fixture_committed(&f, FIXTURE_MAIN).result;

		ok += r == COMMIT_RESULT_OK;
		refused += r == COMMIT_RESULT_UNAVAILABLE;
	}
	assert_int_equal(ok + refused, pushed);
	assert_true(ok >= PLACES && refused > 0);
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), ok);
	fixture_wait_health(&f, true);
	end();
}

/* A shard that reads no answers: they fill its ring, then its places, and health says whose fault
 * that is; another shard's commits are carried out as before. A copy of one that was carried out is
 * refused then, and hears so after the first. */
static void answers_that_nobody_takes(void **state)
{
	enum { PLACES = PLACES_OF_64 };
	struct msg_commit_result r;
	uint32_t pushed = 0, ok = 0, refused = 0;
	uint64_t ones[65];
	bool done = false;
	char text[256];

	(void)state;
	for (uint32_t i = 0; i < 65; i++)
		ones[i] = 1;
	start(64);
	begin();
	/* One at a time: no place is taken by one that waits for PostgreSQL. */
	for (; fixture_counter(&f, WORLD_ANSWERS_DELAYED) < PLACES; pushed++) {
		give(pushed, 1 + pushed % 100, 1, 60000);
		fixture_wait_counter(&f, WORLD_COMMITS_OK, pushed + 1);
	}
	fixture_wait_health(&f, false);
	world_health(f.world, text, sizeof(text));
	assert_non_null(strstr(text, "shard 2 does not take the answers to its commits"));
	give(pushed - 1, 1 + (pushed - 1) % 100, 1, 60000);
	fixture_wait_counter(&f, WORLD_COMMITS_UNAVAILABLE, 1);
	assert_int_equal(fixture_counter(&f, WORLD_COMMITS_NO_PLACE), 1);
	for (uint32_t i = 0; i < 64; i++) {
		struct sent s;

		head(&s, 1u << 20 | i, 1 + i, 0, ones);
		add(&s, gold(0, 1));
		send_to(0, &s);
		assert_int_equal(fixture_committed(&f, 0).result, COMMIT_RESULT_OK);
	}
	for (uint32_t i = 0; i < pushed + 1; i++) {
		r = fixture_committed(&f, FIXTURE_MAIN);
		ok += r.result == COMMIT_RESULT_OK;
		refused += r.result == COMMIT_RESULT_UNAVAILABLE;
		if (r.request[1] != pushed - 1)
			continue;
		assert_int_equal(r.result, done ? COMMIT_RESULT_UNAVAILABLE : COMMIT_RESULT_OK);
		done = true;
	}
	assert_int_equal(ok, pushed);
	assert_int_equal(refused, 1);
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), ok + 64);
	fixture_wait_health(&f, true);
	end();
}

/* A stop waits for what is under way; at its deadline it says how many are not settled. */
static void a_flush_waits(void **state)
{
	PGconn *other;

	(void)state;
	start(4096);
	f.config.node.stop_deadline_ms = 100;
	begin();
	other = server_connect("stormweir");
	server_sql(other, "BEGIN");
	server_sql(other, "LOCK TABLE ledger IN EXCLUSIVE MODE");
	for (uint64_t i = 1; i <= 20; i++)
		give(i, i, 5, 60000);
	assert_int_equal(fixture_flush(&f), 20);
	f.config.node.stop_deadline_ms = 20000;
	server_sql(other, "ROLLBACK");
	PQfinish(other);
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(server_sql(sql, "SELECT sum(gold) FROM character"), 100);
	for (uint64_t i = 1; i <= 20; i++)
		assert_int_equal(fixture_committed(&f, FIXTURE_MAIN).result, COMMIT_RESULT_OK);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_appears_or_vanishes),
		cmocka_unit_test(killed_with_a_batch_under_way),
		cmocka_unit_test(one_row_held_up),
		cmocka_unit_test(one_that_can_never_be),
		cmocka_unit_test(bounded),
		cmocka_unit_test(answers_that_nobody_takes),
		cmocka_unit_test(a_flush_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
