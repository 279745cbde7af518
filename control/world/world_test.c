/* Proves, over the rings and against a real PostgreSQL, that characters are created, loaded, taken
 * over and saved as world.h promises: a position comes back as it was saved; an old epoch never
 * writes; the newest save wins; a load waits for the save before it; answers are not lost when
 * their ring is full; a lock that someone holds fails that one thing, within bounded time, and
 * nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/world_fixture.h"

static PGconn *sql;

static int empty_tables(void **state)
{
	(void)state;
	sql = server_connect("stormweir");
	if (server_sql(sql, "SELECT count(*) FROM pg_tables WHERE tablename = 'character'") == 1)
		server_sql(sql, "TRUNCATE character CASCADE");
	return 0;
}

static int disconnect(void **state)
{
	(void)state;
	PQfinish(sql);
	return 0;
}

static void make_characters(uint32_t count)
{
	char text[300];

	snprintf(text, sizeof(text),
		"INSERT INTO character (realm_id, character_id, account_id, name, appearance, "
		"epoch) "
		"SELECT 1, i, 1, 'c' || i, 0, 1 FROM generate_series(1, %u) i",
		count);
	server_sql(sql, text);
}

static void round_trip(void **state)
{
	struct fixture f;
	struct msg_character_loaded a, b;
	struct msg_detail_result d;

	(void)state;
	fixture_init(&f, 1024);
	fixture_start(&f);
	assert_non_null(f.world);

	a = fixture_login(&f, 10, UINT64_MAX, "Ada"); /* ids are 64 bits, unsigned */
	assert_int_equal(a.result, MSG_LOAD_OK);
	assert_true(a.session == 999 && a.character_id == UINT64_MAX);
	assert_true(a.epoch == 1 && !a.has_position && a.map[0] == 0);
	assert_string_equal(a.name, "Ada");

	/* Saved and loaded at once: the load waits for the save. */
	fixture_save(&f, 0, UINT64_MAX, a.epoch, -123456, true);
	b = fixture_login(&f, 10, UINT64_MAX, "Ignored");
	assert_int_equal(b.result, MSG_LOAD_OK);
	assert_true(b.epoch == 2 && b.has_position && b.x_mm == -123456 && b.y_mm == 123456);
	assert_int_equal(b.heading, 40000);
	assert_string_equal(b.map, "plains");
	assert_string_equal(b.name, "Ada");

	assert_int_equal(fixture_login(&f, 11, UINT64_MAX, "Ada").result, MSG_LOAD_WRONG_ACCOUNT);
	assert_int_equal(server_sql(sql, "SELECT epoch FROM character"), 2);

	/* A name that is taken gets the id as a suffix; so does one that is not a name. */
	assert_string_equal(fixture_login(&f, 12, 36, "Ada").name, "Ada~10");
	assert_string_equal(fixture_login(&f, 13, 37, "\xff").name, "player~11");

	server_sql(sql, "UPDATE character SET gold = 77, level = 3, experience = 300, "
			"appearance = 255 "
			"WHERE character_id = 36");
	fixture_query(&f, 1, 5, 36);
	d = fixture_detail(&f, 1);
	assert_true(d.request == 5 && d.character_id == 36 && d.result == MSG_LOAD_OK);
	assert_true(d.gold == 77 && d.level == 3 && d.experience == 300 && d.appearance == 255);
	fixture_query(&f, 0, 6, 404);
	assert_int_equal(fixture_detail(&f, 0).result, MSG_LOAD_WRONG_ACCOUNT);

	assert_int_equal(fixture_flush(&f), 0);
	assert_true(fixture_counter(&f, WORLD_CHARACTERS_CREATED) == 3);
	assert_true(fixture_counter(&f, WORLD_NAMES_CHANGED) == 2);
	assert_true(fixture_counter(&f, WORLD_DETAILS_UNKNOWN) == 1);
	assert_int_equal(fixture_stop(&f), 0);

	/* A restart finds all of it. */
	fixture_start(&f);
	b = fixture_login(&f, 10, UINT64_MAX, "Ada");
	assert_true(b.epoch == 3 && b.x_mm == -123456);
	fixture_stop(&f);
	fixture_fini(&f);
}

/* A pass is older than a login that came since: it does not even raise the epoch. */
static void who_has_logged_in_since_is_not_taken_over(void **state)
{
	struct msg_character_loaded loaded;
	struct fixture f;

	(void)state;
	fixture_init(&f, 1024);
	fixture_start(&f);
	loaded = fixture_login(&f, 1, 1, "Bob");
	assert_true(loaded.result == MSG_LOAD_OK && loaded.epoch == 1);
	loaded = fixture_login_since(&f, 1, 1, 1);
	assert_true(loaded.result == MSG_LOAD_OK && loaded.epoch == 2);
	assert_string_equal(loaded.name, "Bob");
	loaded = fixture_login_since(&f, 1, 1, 1);
	assert_int_equal(loaded.result, MSG_LOAD_NEWER);
	assert_int_equal(server_sql(sql, "SELECT epoch FROM character WHERE character_id = 1"), 2);
	/* A database that was put back to before: nothing newer is there. */
	loaded = fixture_login_since(&f, 1, 1, 7);
	assert_true(loaded.result == MSG_LOAD_OK && loaded.epoch == 3);
	/* Whose it is, is said first. */
	loaded = fixture_login_since(&f, 2, 1, 1);
	assert_int_equal(loaded.result, MSG_LOAD_WRONG_ACCOUNT);
	assert_int_equal(fixture_counter(&f, WORLD_LOADS_NEWER), 1);
	assert_int_equal(fixture_counter(&f, WORLD_LOADS_WRONG_ACCOUNT), 1);
	fixture_stop(&f);
	fixture_fini(&f);
}

static void old_epoch_never_writes(void **state)
{
	struct fixture f;
	struct msg_character_loaded first, second;

	(void)state;
	fixture_init(&f, 1024);
	fixture_start(&f);
	first = fixture_login(&f, 1, 1, "Bob");
	fixture_login(&f, 1, 2, "Eve");
	second = fixture_login(&f, 1, 1, "Bob"); /* another node took over, say */
	fixture_save(&f, 1, 1, first.epoch, 666, true);
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM character_position"), 0);
	fixture_save(&f, 0, 1, second.epoch, 200, false);
	assert_int_equal(fixture_flush(&f), 0);
	/* The stale owner writes in one batch with someone else, who is not disturbed. */
	fixture_save(&f, 1, 1, first.epoch, 666, true);
	fixture_save(&f, 1, 2, 1, 300, true);
	fixture_save(&f, 1, 3, 1, 300, true); /* nobody */
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(
		server_sql(sql, "SELECT x_mm FROM character_position WHERE character_id = 1"), 200);
	assert_int_equal(
		server_sql(sql, "SELECT x_mm FROM character_position WHERE character_id = 2"), 300);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM character_position"), 2);
	assert_true(fixture_counter(&f, WORLD_SAVES_REFUSED) == 3);
	assert_true(fixture_counter(&f, WORLD_SAVES_COMMITTED) == 2);
	assert_true(fixture_counter(&f, WORLD_BATCHES_FAILED) == 0);

	/* A batch that a dying connection delivers late has an older number: it changes nothing. */
	server_sql(sql, "UPDATE character_position SET save_sequence = 1000000, x_mm = 5 "
			"WHERE character_id = 2");
	fixture_save(&f, 1, 2, 1, 300, true);
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(
		server_sql(sql, "SELECT x_mm FROM character_position WHERE character_id = 2"), 5);

	/* A save that could fail a whole batch is refused before. */
	{
		struct msg message[2];
		struct msg_position_save bad = {
			.character_id = 2, .epoch = 1, .realm_id = 1, .map = "\xff"};

		memcpy(msg_begin(message, MSG_POSITION_SAVE, 0, sizeof(bad)), &bad, sizeof(bad));
		assert_true(msg_ring_push(f.links.from_shard[0], message));
		msg_begin(message, MSG_SHARD_STOP, 0, 0);
		assert_true(msg_ring_push(f.links.from_shard[0], message));
		fixture_wait_counter(&f, WORLD_MESSAGES_UNKNOWN, 1);
		assert_true(fixture_counter(&f, WORLD_SAVES_INVALID) == 1);
	}
	fixture_stop(&f);
	fixture_fini(&f);
}

/* The epoch counts as it is when the save's transaction has the row, not as it was before. */
static void epoch_is_read_under_the_lock(void **state)
{
	struct fixture f;
	PGconn *other = server_connect("stormweir");

	(void)state;
	fixture_init(&f, 1024);
	fixture_start(&f);
	fixture_login(&f, 1, 1, "Bob");
	fixture_login(&f, 1, 2, "Eve");
	server_sql(other, "BEGIN");
	server_sql(other, "UPDATE character SET epoch = epoch + 1 WHERE character_id = 1");
	fixture_save(&f, 0, 1, 1, 5, true);
	fixture_save(&f, 0, 2, 1, 5, true);
	server_wait_for(
		sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	server_sql(other, "COMMIT");
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM character_position"), 1);
	assert_true(fixture_counter(&f, WORLD_SAVES_REFUSED) == 1);
	PQfinish(other);
	fixture_stop(&f);
	fixture_fini(&f);
}

/* More leaving saves than may wait stand in the shard's ring: no load may pass them. */
static void loads_refused_while_saves_stand(void **state)
{
	struct fixture f;
	PGconn *other = server_connect("stormweir");
	uint64_t id = 1;

	(void)state;
	make_characters(2000);
	fixture_init(&f, 512);
	f.config.postgres.saves_pending_max = 64;
	fixture_start(&f);
	server_sql(other, "BEGIN");
	server_sql(other, "LOCK TABLE character_position IN EXCLUSIVE MODE"); /* reads go on */
	for (; fixture_room(&f, 0); id++)
		fixture_save(&f, 0, id, 1, 9, true);
	for (; msg_ring_room(f.links.from_shard[0]) >= 2; id++)
		fixture_save(&f, 0, id, 1, 9, true);
	assert_int_equal(fixture_login(&f, 1, id - 1, "").result, MSG_LOAD_UNAVAILABLE);
	fixture_wait_health(&f, false);
	server_sql(other, "COMMIT");
	fixture_wait_health(&f, true);
	assert_int_equal(fixture_login(&f, 1, id - 1, "").x_mm, 9);
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(
		server_sql(sql, "SELECT count(*) FROM character_position"), (int64_t)id - 1);
	PQfinish(other);
	fixture_stop(&f);
	fixture_fini(&f);
}

#define MANY 10000u

struct shard_work {
	struct fixture *f;
	uint32_t shard, rounds;
};

static void *shard_saves(void *arg)
{
	struct shard_work *work = arg;

	for (uint32_t round = 1; round <= work->rounds; round++) {
		for (uint32_t id = 1 + work->shard; id <= MANY; id += FIXTURE_WRITERS)
			fixture_save(work->f, work->shard, id, 1, (int32_t)(id * 10 + round),
				round == work->rounds);
	}
	return NULL;
}

static void many_saves_newest_wins(void **state)
{
	struct fixture f;
	pthread_t threads[FIXTURE_WRITERS];
	struct shard_work work[FIXTURE_WRITERS];
	uint64_t taken, settled;

	(void)state;
	make_characters(MANY);
	fixture_init(&f, 4096);
	fixture_start(&f);
	for (uint32_t i = 0; i < FIXTURE_WRITERS; i++) {
		work[i] = (struct shard_work){&f, i, 3};
		pthread_create(&threads[i], NULL, shard_saves, &work[i]);
	}
	for (uint32_t i = 0; i < FIXTURE_WRITERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(server_sql(sql, "SELECT count(*) FROM character_position "
					 "WHERE x_mm = character_id * 10 + 3 AND y_mm = -x_mm"),
		MANY);
	taken = fixture_counter(&f, WORLD_SAVES_TAKEN);
	settled = fixture_counter(&f, WORLD_SAVES_COMMITTED) +
		  fixture_counter(&f, WORLD_SAVES_COALESCED);
	assert_true(taken == 3 * MANY && settled >= taken); /* replaced in flight counts twice */
	print_message("%llu saves in %llu transactions, %llu coalesced\n",
		(unsigned long long)taken, (unsigned long long)fixture_counter(&f, WORLD_BATCHES),
		(unsigned long long)fixture_counter(&f, WORLD_SAVES_COALESCED));
	fixture_stop(&f);
	fixture_fini(&f);
}

/* Saves and loads of the same characters from two threads in the order that msg.h demands. */
static void loads_never_overtake(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 512);
	fixture_start(&f);
	for (int32_t round = 0; round < 30; round++) {
		for (uint64_t id = 1; id <= 40; id++)
			fixture_load(&f, id, 1, id, "");
		for (uint64_t i = 0; i < 40; i++) {
			struct msg_character_loaded l = fixture_loaded(&f);

			assert_int_equal(l.result, MSG_LOAD_OK);
			assert_true(l.epoch == (uint64_t)round + 1);
			assert_int_equal(l.has_position, round > 0);
			if (round > 0)
				assert_int_equal(l.x_mm, round * 100 + (int32_t)l.session);
			fixture_save(
				&f, (uint32_t)(l.session % 2), l.character_id, l.epoch, 1, false);
			fixture_save(&f, (uint32_t)(l.session % 2), l.character_id, l.epoch,
				(round + 1) * 100 + (int32_t)l.session, true);
		}
	}
	assert_true(fixture_counter(&f, WORLD_SAVES_REFUSED) == 0);
	fixture_stop(&f);
	fixture_fini(&f);
}

static void full_rings_lose_nothing(void **state)
{
	struct fixture f;
	uint64_t seen = 0;

	(void)state;
	make_characters(2);
	fixture_init(&f, 256); /* 255 slots: room for 127 details of two slots, 85 loads of three */
	fixture_start(&f);
	/* 600 answers to each, and nobody reads; pushing waits only for the world to take them. */
	for (uint64_t i = 0; i < 600; i++) {
		fixture_query(&f, 0, i, 1);
		fixture_load(&f, i, 1, 2, "");
	}
	fixture_wait_counter(&f, WORLD_LOADS_OK, 600);
	fixture_wait_counter(&f, WORLD_ANSWERS_DELAYED, 1);
	/* Another shard is served meanwhile. */
	fixture_query(&f, 1, 7, 1);
	assert_true(fixture_detail(&f, 1).request == 7);
	for (uint64_t i = 0; i < 600; i++)
		assert_true(fixture_detail(&f, 0).request == i);
	for (uint64_t i = 0; i < 600; i++)
		seen += fixture_loaded(&f).session;
	assert_true(seen == 599 * 600 / 2);
	assert_int_equal(fixture_flush(&f), 0);
	fixture_stop(&f);
	fixture_fini(&f);
}

static void a_held_lock_harms_nobody_else(void **state)
{
	struct fixture f;
	PGconn *other = server_connect("stormweir");

	(void)state;
	make_characters(50);
	fixture_init(&f, 1024);
	f.config.postgres.statement_timeout_ms = 300;
	fixture_start(&f);
	server_sql(other, "BEGIN");
	server_sql(other, "SELECT 1 FROM character WHERE character_id = 25 FOR UPDATE");

	assert_int_equal(fixture_login(&f, 1, 25, "").result, MSG_LOAD_UNAVAILABLE);
	assert_int_equal(fixture_login(&f, 1, 24, "").result, MSG_LOAD_OK);
	for (uint64_t id = 1; id <= 50; id++)
		fixture_save(&f, 0, id, id == 24 ? 2 : 1, 70, false);
	/* All but the locked one get through, in smaller batches. */
	fixture_wait_counter(&f, WORLD_SAVES_COMMITTED, 49);
	assert_true(fixture_counter(&f, WORLD_BATCHES_FAILED) > 0);
	/* A load behind the save that is held up is refused in time, too. */
	assert_int_equal(fixture_login(&f, 1, 25, "").result, MSG_LOAD_UNAVAILABLE);
	server_sql(other, "COMMIT");
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(
		server_sql(sql, "SELECT count(*) FROM character_position WHERE x_mm = 70"), 50);
	assert_true(fixture_counter(&f, WORLD_LINKS_LOST) == 0);
	PQfinish(other);
	fixture_stop(&f);
	fixture_fini(&f);
}

/* Many loads, each of which takes the server a while: the link is not given up while they are done
 * one after the other, however long the last one waits. */
static void a_long_queue_is_not_silence(void **state)
{
	enum { LOADS = 150 };
	struct fixture f;
	uint32_t done = 0;

	(void)state;
	make_characters(LOADS);
	server_sql(sql, "ALTER SYSTEM SET commit_delay = 20000"); /* us */
	server_sql(sql, "ALTER SYSTEM SET commit_siblings = 0");
	server_sql(sql, "SELECT pg_reload_conf()");
	server_wait_for(sql, "SELECT (current_setting('commit_delay') = '20000')::int");
	fixture_init(&f, 1024);
	f.config.postgres.statement_timeout_ms = 1000; /* and 1,000 more: less than 150 * 20 */
	fixture_start(&f);
	for (uint64_t id = 1; id <= LOADS; id++)
		fixture_load(&f, id, 1, id, "");
	for (uint32_t i = 0; i < LOADS; i++)
		done += fixture_loaded(&f).result == MSG_LOAD_OK;
	assert_true(done < LOADS); /* the last one waited longer than a silent link would have */
	server_wait_for(sql, "SELECT (count(*) = 150)::int FROM character WHERE epoch = 2");
	assert_int_equal(fixture_counter(&f, WORLD_LINKS_LOST), 0);
	server_sql(sql, "ALTER SYSTEM RESET ALL");
	server_sql(sql, "SELECT pg_reload_conf()");
	fixture_stop(&f);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(round_trip, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(old_epoch_never_writes, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(
			who_has_logged_in_since_is_not_taken_over, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(
			epoch_is_read_under_the_lock, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(
			loads_refused_while_saves_stand, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(many_saves_newest_wins, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(loads_never_overtake, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(full_rings_lose_nothing, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(
			a_held_lock_harms_nobody_else, empty_tables, disconnect),
		cmocka_unit_test_setup_teardown(
			a_long_queue_is_not_silence, empty_tables, disconnect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
