#include "control/world/world_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"

void fixture_sleep_ms(uint32_t ms)
{
	struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&pause, NULL);
}

/* A pause within a loop that waits; ends the test when it has waited too long. */
static void patience(uint64_t *since_ns)
{
	if (*since_ns == 0)
		*since_ns = mono_ns();
	CHECK(mono_ns() - *since_ns < FIXTURE_WAIT_S * NS_PER_S);
	fixture_sleep_ms(1);
}

/* What a thread has popped from a ring and not looked at yet. */
struct kept {
	struct msg_ring *of;
	uint32_t at, filled;
	struct msg message[MSG_SLOTS_MAX * 2];
};
static __thread struct kept kept[FIXTURE_SHARDS + 1];

void fixture_init(struct fixture *f, uint32_t ring_slots)
{
	memset(f, 0, sizeof(*f));
	/* Answers to a test before, whose rings may have lain where the new ones will. */
	for (uint32_t i = 0; i <= FIXTURE_SHARDS; i++)
		kept[i].at = kept[i].filled = 0;
	snprintf(f->config.node.name, sizeof(f->config.node.name), "test");
	f->config.node.realm_id = 1;
	f->config.node.stop_deadline_ms = 15000;
	server_conninfo(
		f->config.postgres.conninfo, sizeof(f->config.postgres.conninfo), "stormweir");
	/* A busy machine is no failure: tests that wait for one of these set their own. */
	f->config.postgres.connect_timeout_ms = 20000;
	f->config.postgres.statement_timeout_ms = 20000;
	f->config.postgres.saves_pending_max = 20000;
	f->config.postgres.saves_per_batch = 250;
	f->config.postgres.commits_pending_max = 4096;
	f->config.postgres.commits_per_batch = 250;
	f->config.postgres.commit_links = 3;
	f->config.postgres.record_hours = 48;
	f->links.shards = FIXTURE_SHARDS;
	f->links.from_control = msg_ring_new("control_world", ring_slots);
	f->links.to_control = msg_ring_new("world_control", ring_slots);
	for (uint32_t i = 0; i < FIXTURE_SHARDS; i++) {
		f->links.from_shard[i] = msg_ring_new("shard_world", ring_slots);
		f->links.to_shard[i] = msg_ring_new("world_shard", ring_slots);
	}
}

void fixture_start(struct fixture *f)
{
	FILE *errors = open_memstream(&f->errors, &f->errors_bytes);

	f->world = world_start(&f->config, &f->links, errors);
	fclose(errors);
	if (f->errors_bytes)
		printf("world_start: %s", f->errors);
}

uint32_t fixture_stop(struct fixture *f)
{
	uint32_t unsaved = world_stop(f->world);

	f->world = NULL;
	free(f->errors);
	f->errors = NULL;
	return unsaved;
}

void fixture_fini(struct fixture *f)
{
	msg_ring_free(f->links.from_control);
	msg_ring_free(f->links.to_control);
	for (uint32_t i = 0; i < FIXTURE_SHARDS; i++) {
		msg_ring_free(f->links.from_shard[i]);
		msg_ring_free(f->links.to_shard[i]);
	}
	free(f->errors);
}

uint64_t fixture_counter(const struct fixture *f, enum world_counter counter)
{
	return counter_get(&world_counters(f->world)->values[counter]);
}

void fixture_wait_counter(const struct fixture *f, enum world_counter counter, uint64_t least)
{
	uint64_t since = 0;

	while (fixture_counter(f, counter) < least)
		patience(&since);
}

void fixture_wait_health(const struct fixture *f, bool health)
{
	uint64_t since = 0;
	char text[256];

	while (world_health(f->world, text, sizeof(text)) != health)
		patience(&since);
	printf("health: %s\n", text);
}

static void push(struct msg_ring *ring, const struct msg *message)
{
	uint64_t since = 0;

	while (!msg_ring_push(ring, message))
		patience(&since);
}

/* One message, valid until the next. */
static const struct msg *pop_message(struct msg_ring *ring, uint16_t type)
{
	const struct msg *message;
	struct kept *k = kept;
	uint64_t since = 0;

	/* A place that is used up can be another ring's. */
	while (k->of != ring && k < &kept[FIXTURE_SHARDS])
		k++;
	if (k->of != ring) {
		for (k = kept; k->at != k->filled;)
			CHECK(++k <= &kept[FIXTURE_SHARDS]);
		k->of = ring;
		k->at = k->filled = 0;
	}
	while (k->at == k->filled) {
		k->at = 0;
		k->filled = msg_ring_pop(ring, k->message, MSG_SLOTS_MAX * 2);
		if (k->filled == 0)
			patience(&since);
	}
	message = &k->message[k->at];
	CHECK(message->type == type);
	k->at += message->slots;
	return message;
}

static void pop(struct msg_ring *ring, uint16_t type, void *payload, uint32_t bytes)
{
	const struct msg *message = pop_message(ring, type);

	CHECK(message->payload_bytes == bytes);
	memcpy(payload, msg_payload(message), bytes);
}

void fixture_load(
	struct fixture *f, uint64_t session, uint64_t account, uint64_t character, const char *name)
{
	struct msg message[2];
	struct msg_character_load load = {.session = session,
		.account_id = account,
		.character_id = character,
		.realm_id = 1};

	snprintf(load.name, sizeof(load.name), "%s", name);
	memcpy(msg_begin(message, MSG_CHARACTER_LOAD, HANDLE_NONE, sizeof(load)), &load,
		sizeof(load));
	push(f->links.from_control, message);
}

struct msg_character_loaded fixture_loaded(struct fixture *f)
{
	struct msg_character_loaded loaded;

	pop(f->links.to_control, MSG_CHARACTER_LOADED, &loaded, sizeof(loaded));
	return loaded;
}

struct msg_character_loaded fixture_login(
	struct fixture *f, uint64_t account, uint64_t character, const char *name)
{
	fixture_load(f, character + 1000, account, character, name);
	return fixture_loaded(f);
}

struct msg_character_loaded fixture_login_since(
	struct fixture *f, uint64_t account, uint64_t character, uint64_t epoch_max)
{
	struct msg message[2];
	struct msg_character_load load = {.session = character + 1000,
		.account_id = account,
		.character_id = character,
		.realm_id = 1,
		.epoch_max = epoch_max,
		.name = "since"};

	memcpy(msg_begin(message, MSG_CHARACTER_LOAD, HANDLE_NONE, sizeof(load)), &load,
		sizeof(load));
	push(f->links.from_control, message);
	return fixture_loaded(f);
}

uint32_t fixture_flush(struct fixture *f)
{
	struct msg message;
	struct msg_world_flushed flushed;

	msg_begin(&message, MSG_WORLD_FLUSH, HANDLE_NONE, 0);
	push(f->links.from_control, &message);
	pop(f->links.to_control, MSG_WORLD_FLUSHED, &flushed, sizeof(flushed));
	return flushed.unsaved;
}

void fixture_correct(struct fixture *f, const struct msg_correction *correction)
{
	struct msg message[2];

	memcpy(msg_begin(message, MSG_CORRECTION, HANDLE_NONE, sizeof(*correction)), correction,
		sizeof(*correction));
	push(f->links.from_control, message);
}

struct msg_correction_result fixture_corrected(struct fixture *f)
{
	struct msg_correction_result result;

	pop(f->links.to_control, MSG_CORRECTION_RESULT, &result, sizeof(result));
	return result;
}

void fixture_save(struct fixture *f, uint32_t shard, uint64_t character, uint64_t epoch,
	int32_t x_mm, bool leaving)
{
	struct msg message[2];
	struct msg_position_save save = {.character_id = character,
		.epoch = epoch,
		.realm_id = 1,
		.x_mm = x_mm,
		.y_mm = -x_mm,
		.heading = 40000,
		.leaving = leaving,
		.map = "plains"};

	memcpy(msg_begin(message, MSG_POSITION_SAVE, HANDLE_NONE, sizeof(save)), &save,
		sizeof(save));
	push(f->links.from_shard[shard], message);
}

void fixture_query(struct fixture *f, uint32_t shard, uint64_t request, uint64_t character)
{
	struct msg message;
	struct msg_detail_query query = {
		.request = request, .character_id = character, .realm_id = 1};

	memcpy(msg_begin(&message, MSG_DETAIL_QUERY, HANDLE_NONE, sizeof(query)), &query,
		sizeof(query));
	push(f->links.from_shard[shard], &message);
}

struct msg_detail_result fixture_detail(struct fixture *f, uint32_t shard)
{
	struct msg_detail_result detail;
	const struct msg_slot *slots;
	const struct msg_quest *quests;

	CHECK(msg_detail_read(pop_message(f->links.to_shard[shard], MSG_DETAIL_RESULT), &detail,
		&slots, &quests));
	return detail;
}

struct msg_detail_result fixture_possessions(
	struct fixture *f, uint32_t shard, struct msg_slot *slots, struct msg_quest *quests)
{
	struct msg_detail_result detail;
	const struct msg_slot *s;
	const struct msg_quest *q;

	CHECK(msg_detail_read(
		pop_message(f->links.to_shard[shard], MSG_DETAIL_RESULT), &detail, &s, &q));
	memcpy(slots, s, detail.slots * sizeof(*s));
	memcpy(quests, q, detail.quests * sizeof(*q));
	return detail;
}

bool fixture_room(const struct fixture *f, uint32_t shard)
{
	uint64_t since = 0;

	while (fixture_counter(f, WORLD_ROUNDS_STALLED) == 0) {
		if (msg_ring_room(f->links.from_shard[shard]) >= MSG_SLOTS_MAX)
			return true;
		patience(&since);
	}
	return false;
}

void fixture_commit(struct fixture *f, uint32_t shard, const struct msg_commit *commit)
{
	struct msg message[MSG_SLOTS_MAX];
	uint32_t bytes = (uint32_t)(sizeof(*commit) + commit->ops * sizeof(*commit->op));

	memcpy(msg_begin(message, MSG_COMMIT, HANDLE_NONE, bytes), commit, bytes);
	push(f->links.from_shard[shard], message);
}

struct msg_commit_result fixture_committed(struct fixture *f, uint32_t shard)
{
	struct msg_commit_result result;

	pop(f->links.to_shard[shard], MSG_COMMIT_RESULT, &result, sizeof(result));
	return result;
}

static const char *server_dir(void)
{
	const char *dir = getenv("SW_PG_DIR");

	if (!dir) {
		fprintf(stderr, "run this with private_postgres.sh run\n");
		exit(1);
	}
	return dir;
}

void server_do(const char *verb)
{
	char command[512];

	snprintf(command, sizeof(command), "%s %s %s", getenv("SW_PG_SCRIPT"), verb, server_dir());
	CHECK(system(command) == 0);
}

void server_conninfo(char *text, size_t bytes, const char *database)
{
	snprintf(text, bytes, "host=%s/pgrun user=stormweir dbname=%s", server_dir(), database);
}

static void ignore_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

PGconn *server_connect(const char *database)
{
	char conninfo[512];
	PGconn *conn;

	server_conninfo(conninfo, sizeof(conninfo), database);
	conn = PQconnectdb(conninfo);
	CHECK(PQstatus(conn) == CONNECTION_OK);
	PQsetNoticeProcessor(conn, ignore_notice, NULL);
	return conn;
}

int64_t server_sql(PGconn *conn, const char *sql)
{
	PGresult *result = PQexec(conn, sql);
	int64_t number = -1;

	if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		PQresultStatus(result) != PGRES_COMMAND_OK) {
		fprintf(stderr, "%s: %s", sql, PQresultErrorMessage(result));
		CHECK(!"sql of the test");
	}
	if (PQntuples(result) > 0 && !PQgetisnull(result, 0, 0))
		number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return number;
}

void server_wait_for(PGconn *conn, const char *sql)
{
	uint64_t since = 0;

	while (server_sql(conn, sql) <= 0)
		patience(&since);
}

void server_new_database(const char *database)
{
	PGconn *conn = server_connect("postgres");
	char sql[128];

	snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s WITH (FORCE)", database);
	server_sql(conn, sql);
	snprintf(sql, sizeof(sql), "CREATE DATABASE %s", database);
	server_sql(conn, sql);
	PQfinish(conn);
}
