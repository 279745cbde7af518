/* Proves that nothing the world thread took is lost, doubled or undone when PostgreSQL is killed,
 * ends its sessions, or goes silent and comes back with old batches in its sockets; that whoever
 * asks meanwhile is answered; that what waits is bounded, with leaving saves last to suffer; and
 * that all recovers by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/world_fixture.h"

#define CHARACTERS 10000u

static void make_characters(void)
{
	PGconn *sql = server_connect("stormweir");

	server_sql(sql, "TRUNCATE character CASCADE");
	server_sql(sql,
		"INSERT INTO character (realm_id, character_id, account_id, name, appearance, "
		"epoch) SELECT 1, i, 1, 'c' || i, 0, 1 FROM generate_series(1, 10000) i");
	PQfinish(sql);
}

static int64_t ask(const char *query)
{
	PGconn *sql = server_connect("stormweir");
	int64_t number = server_sql(sql, query);

	PQfinish(sql);
	return number;
}

/* A first start makes the schema. */
static int migrate_once(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f, 256);
	fixture_start(&f);
	fixture_stop(&f);
	fixture_fini(&f);
	return 0;
}

struct shard_work {
	struct fixture *f;
	uint32_t shard;
	_Atomic bool stop;
	int32_t rounds; /* written before the thread ends */
};

/* Saves everyone of the shard, round after round, at x = id * 1000 + round; one round more,
 * leaving, when told to stop. */
static void *shard_saves(void *arg)
{
	struct shard_work *work = arg;
	bool last = false;

	while (!last) {
		last = atomic_load(&work->stop);
		work->rounds++;
		for (uint32_t id = 1 + work->shard; id <= CHARACTERS; id += FIXTURE_WRITERS) {
			fixture_save(work->f, work->shard, id, 1, (int32_t)id * 1000 + work->rounds,
				last);
			if (id % 500 < FIXTURE_WRITERS)
				fixture_sleep_ms(5);
		}
	}
	return NULL;
}

static void shards_start(struct fixture *f, struct shard_work *work, pthread_t *threads)
{
	for (uint32_t i = 0; i < FIXTURE_WRITERS; i++) {
		work[i] = (struct shard_work){.f = f, .shard = i};
		pthread_create(&threads[i], NULL, shard_saves, &work[i]);
	}
}

/* Ends the shards, flushes, and finds every character where its last save was. */
static void shards_end(struct fixture *f, struct shard_work *work, pthread_t *threads)
{
	char query[200];

	for (uint32_t i = 0; i < FIXTURE_WRITERS; i++)
		atomic_store(&work[i].stop, true);
	for (uint32_t i = 0; i < FIXTURE_WRITERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fixture_flush(f), 0);
	for (uint32_t i = 0; i < FIXTURE_WRITERS; i++) {
		snprintf(query, sizeof(query),
			"SELECT count(*) FROM character_position WHERE character_id %% 2 = %u AND "
			"x_mm = character_id * 1000 + %d AND y_mm = -x_mm",
			(i + 1) % 2, work[i].rounds);
		assert_int_equal(ask(query), CHARACTERS / FIXTURE_WRITERS);
	}
	assert_true(fixture_counter(f, WORLD_SAVES_REFUSED) == 0);
	assert_true(fixture_counter(f, WORLD_SAVES_DROPPED) == 0);
	print_message("%llu saves, %llu transactions, %llu sent again, %llu links lost\n",
		(unsigned long long)fixture_counter(f, WORLD_SAVES_TAKEN),
		(unsigned long long)fixture_counter(f, WORLD_BATCHES),
		(unsigned long long)fixture_counter(f, WORLD_BATCHES_UNKNOWN),
		(unsigned long long)fixture_counter(f, WORLD_LINKS_LOST));
}

static void killed_in_the_middle(void **state)
{
	struct fixture f;
	struct shard_work work[FIXTURE_WRITERS];
	pthread_t threads[FIXTURE_WRITERS];

	(void)state;
	make_characters();
	fixture_init(&f, 4096);
	fixture_start(&f);
	shards_start(&f, work, threads);
	for (uint64_t kill = 1; kill <= 2; kill++) {
		fixture_wait_counter(&f, WORLD_SAVES_COMMITTED, kill * 1500);
		server_do("kill");
		fixture_wait_health(&f, false);
		/* Whoever asks is answered. */
		assert_int_equal(fixture_login(&f, 1, 20001, "").result, MSG_LOAD_UNAVAILABLE);
		fixture_query(&f, FIXTURE_MAIN, 1, 1);
		assert_int_equal(fixture_detail(&f, FIXTURE_MAIN).result, MSG_LOAD_UNAVAILABLE);
		server_do("start");
		fixture_wait_health(&f, true);
	}
	shards_end(&f, work, threads);
	assert_int_equal(fixture_stop(&f), 0);
	fixture_fini(&f);
}

/* Nothing new comes that would cover up a batch that was forgotten. */
static void killed_with_a_batch_under_way(void **state)
{
	struct fixture f;
	PGconn *other;

	(void)state;
	make_characters();
	fixture_init(&f, 4096);
	fixture_start(&f);
	other = server_connect("stormweir");
	server_sql(other, "BEGIN");
	server_sql(other, "LOCK TABLE character_position IN EXCLUSIVE MODE");
	for (uint64_t id = 1; id <= 600; id++)
		fixture_save(&f, 0, id, 1, 5, true);
	server_wait_for(other,
		"SELECT count(*) FROM pg_stat_get_activity(NULL) WHERE wait_event_type = 'Lock'");
	for (uint64_t id = 601; id <= 1000; id++)
		fixture_save(&f, 0, id, 1, 5, true);
	fixture_wait_counter(&f, WORLD_SAVES_TAKEN, 1000);
	server_do("kill");
	PQfinish(other);
	fixture_wait_health(&f, false);
	assert_true(fixture_counter(&f, WORLD_BATCHES_UNKNOWN) == 1);
	server_do("start");
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(ask("SELECT count(*) FROM character_position WHERE x_mm = 5"), 1000);
	fixture_stop(&f);
	fixture_fini(&f);
}

static void sessions_ended_over_and_over(void **state)
{
	struct fixture f;
	struct shard_work work[FIXTURE_WRITERS];
	pthread_t threads[FIXTURE_WRITERS];
	uint64_t loads = 0;

	(void)state;
	make_characters();
	fixture_init(&f, 4096);
	fixture_start(&f);
	shards_start(&f, work, threads);
	for (uint64_t i = 1; i <= 12; i++) {
		uint64_t batches = fixture_counter(&f, WORLD_BATCHES);

		/* A few loads under way when it happens: all are answered. */
		for (uint64_t id = 1; id <= 20; id++)
			fixture_load(&f, id, 1, 20000 + id, "x");
		ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
		    "WHERE application_name = 'stormweir/test'");
		for (uint64_t id = 1; id <= 20; id++)
			loads += fixture_loaded(&f).result == MSG_LOAD_OK;
		fixture_wait_counter(&f, WORLD_LINKS_LOST, i);
		fixture_wait_counter(&f, WORLD_BATCHES, batches + 2);
	}
	print_message("%llu of 240 loads\n", (unsigned long long)loads);
	shards_end(&f, work, threads);
	fixture_stop(&f);
	fixture_fini(&f);
}

static void silent_then_back_with_old_batches(void **state)
{
	struct fixture f;
	struct shard_work work[FIXTURE_WRITERS];
	pthread_t threads[FIXTURE_WRITERS];

	(void)state;
	make_characters();
	fixture_init(&f, 4096);
	f.config.postgres.statement_timeout_ms = 300;
	f.config.postgres.connect_timeout_ms = 300;
	fixture_start(&f);
	shards_start(&f, work, threads);
	for (int i = 0; i < 2; i++) {
		fixture_wait_counter(&f, WORLD_SAVES_COMMITTED, 1500);
		server_do("freeze");
		assert_int_equal(fixture_login(&f, 1, 20001, "").result, MSG_LOAD_UNAVAILABLE);
		fixture_wait_health(&f, false);
		server_do("thaw");
		fixture_wait_health(&f, true);
	}
	shards_end(&f, work, threads);
	fixture_stop(&f);
	fixture_fini(&f);
}

#define PENDING_MAX 100u

static void bounded_and_leaving_last(void **state)
{
	struct fixture f;
	char text[256];
	uint64_t id = 1;
	uint32_t unsaved;

	(void)state;
	make_characters();
	fixture_init(&f, 512);
	f.config.postgres.saves_pending_max = PENDING_MAX;
	f.config.node.stop_deadline_ms = 200;
	fixture_start(&f);
	server_do("kill");
	fixture_wait_health(&f, false);
	for (; id <= PENDING_MAX; id++)
		fixture_save(&f, 0, id, 1, 1, false);
	fixture_wait_counter(&f, WORLD_SAVES_TAKEN, PENDING_MAX);
	assert_true(fixture_counter(&f, WORLD_SAVES_DROPPED) == 0);
	/* Autosaves of others are dropped, those of the same are not, */
	fixture_save(&f, 0, 5000, 1, 1, false);
	fixture_save(&f, 0, 1, 1, 2, false);
	fixture_wait_counter(&f, WORLD_SAVES_TAKEN, PENDING_MAX + 2);
	assert_true(fixture_counter(&f, WORLD_SAVES_DROPPED) == 1);
	assert_true(fixture_counter(&f, WORLD_SAVES_COALESCED) == 1);
	/* and leaving ones are taken until the reserve is used, then their ring stands. */
	for (; fixture_room(&f, 0); id++)
		fixture_save(&f, 0, id, 1, 3, true);
	for (; msg_ring_room(f.links.from_shard[0]) >= 2; id++)
		fixture_save(&f, 0, id, 1, 3, true);
	assert_true(fixture_counter(&f, WORLD_SAVES_DROPPED) == 1);
	assert_false(world_health(f.world, text, sizeof(text)));
	/* A load could overtake a save that stands there: refused. A flush says what is not saved.
	 */
	assert_int_equal(fixture_login(&f, 1, 9000, "").result, MSG_LOAD_UNAVAILABLE);
	unsaved = fixture_flush(&f);
	assert_in_range(unsaved, id - 2, id);
	/* The other shard still gets answers once the server is back; nothing is lost. */
	server_do("start");
	fixture_wait_health(&f, true);
	f.config.node.stop_deadline_ms = 15000;
	assert_int_equal(fixture_flush(&f), 0);
	assert_int_equal(ask("SELECT count(*) FROM character_position"), (int)id - 1);
	assert_int_equal(ask("SELECT x_mm FROM character_position WHERE character_id = 1"), 2);
	assert_int_equal(fixture_login(&f, 1, 150, "").x_mm, 3);

	/* A stop while it is away ends, and says what it takes along. */
	server_do("kill");
	fixture_save(&f, 0, 1, 1, 4, true);
	fixture_save(&f, 0, 2, 1, 4, true);
	fixture_wait_counter(&f, WORLD_SAVES_TAKEN, id + 3);
	f.config.node.stop_deadline_ms = 100;
	assert_int_equal(fixture_flush(&f), 2);
	assert_int_equal(fixture_stop(&f), 2);
	server_do("start");
	fixture_fini(&f);
}

/* The reason why it does not come back is on /health, and changes with the server. */
static void health_says_why_it_stays_away(void **state)
{
	struct fixture f;
	char text[256] = "";
	PGconn *sql = server_connect("postgres");

	(void)state;
	fixture_init(&f, 256);
	fixture_start(&f);
	server_sql(sql, "ALTER DATABASE stormweir SET default_transaction_read_only = on");
	server_sql(sql, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
			"application_name LIKE 'stormweir/%'");
	for (uint32_t i = 0; i < FIXTURE_WAIT_S * 100 && !strstr(text, "standby"); i++) {
		fixture_sleep_ms(10);
		world_health(f.world, text, sizeof(text));
	}
	if (!strstr(text, "cannot connect: only a standby answered"))
		fail_msg("health: %s", text);
	server_sql(sql, "ALTER DATABASE stormweir RESET default_transaction_read_only");
	fixture_wait_health(&f, true);
	fixture_stop(&f);
	fixture_fini(&f);
	PQfinish(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_in_the_middle),
		cmocka_unit_test(killed_with_a_batch_under_way),
		cmocka_unit_test(sessions_ended_over_and_over),
		cmocka_unit_test(silent_then_back_with_old_batches),
		cmocka_unit_test(bounded_and_leaving_last),
		cmocka_unit_test(health_says_why_it_stays_away),
	};

	return cmocka_run_group_tests(tests, migrate_once, NULL);
}
