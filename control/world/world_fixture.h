/* world_fixture: for the tests of the world thread: its rings, played by the test's own threads,
 * and a private PostgreSQL (private_postgres.sh run). Every wait has a limit that only a hang
 * reaches. */
#ifndef SW_CONTROL_WORLD_WORLD_FIXTURE_H
#define SW_CONTROL_WORLD_WORLD_FIXTURE_H

#include <libpq-fe.h>

#include "common/correction.h"
#include "control/world/world.h"

#define FIXTURE_WRITERS 2u /* shards that a test may give to threads of its own */
#define FIXTURE_SHARDS  (FIXTURE_WRITERS + 1) /* the last is for the thread that runs the test */
#define FIXTURE_MAIN    FIXTURE_WRITERS
#define FIXTURE_WAIT_S  90

struct fixture {
	struct sw_config config;
	struct world_links links;
	struct world *world;
	char *errors; /* what world_start wrote */
	size_t errors_bytes;
};

/* Defaults that tests may change before fixture_start. ring_slots: of each ring. */
void fixture_init(struct fixture *fixture, uint32_t ring_slots);
/* Starts the world; NULL in fixture->world when that failed. */
void fixture_start(struct fixture *fixture);
/* Stops it; returns what world_stop returned. */
uint32_t fixture_stop(struct fixture *fixture);
void fixture_fini(struct fixture *fixture);

uint64_t fixture_counter(const struct fixture *fixture, enum world_counter counter);
/* Waits until the counter is at least so much. */
void fixture_wait_counter(
	const struct fixture *fixture, enum world_counter counter, uint64_t least);
void fixture_wait_health(const struct fixture *fixture, bool health);
void fixture_sleep_ms(uint32_t ms);

/* The control thread's part. */
void fixture_load(struct fixture *fixture, uint64_t session, uint64_t account, uint64_t character,
	const char *name);
struct msg_character_loaded fixture_loaded(struct fixture *fixture);
struct msg_character_loaded fixture_login(
	struct fixture *fixture, uint64_t account, uint64_t character, const char *name);
/* The same with an epoch_max: 0 is none. */
struct msg_character_loaded fixture_login_since(
	struct fixture *fixture, uint64_t account, uint64_t character, uint64_t epoch_max);
uint32_t fixture_flush(struct fixture *fixture);

/* An operator's correction, and its answer. */
void fixture_correct(struct fixture *fixture, const struct msg_correction *correction);
struct msg_correction_result fixture_corrected(struct fixture *fixture);

/* A shard's part: waits while the ring is full. */
void fixture_save(struct fixture *fixture, uint32_t shard, uint64_t character, uint64_t epoch,
	int32_t x_mm, bool leaving);
void fixture_query(struct fixture *fixture, uint32_t shard, uint64_t request, uint64_t character);
struct msg_detail_result fixture_detail(struct fixture *fixture, uint32_t shard);
/* The same with what follows; slots and quests have room for the most there can be. */
struct msg_detail_result fixture_possessions(
	struct fixture *fixture, uint32_t shard, struct msg_slot *slots, struct msg_quest *quests);
/* Waits until the shard's ring has room for any message; false once the world thread has let a ring stand: a message
 * more might then wait for ever. */
bool fixture_room(const struct fixture *fixture, uint32_t shard);
void fixture_commit(struct fixture *fixture, uint32_t shard, const struct msg_commit *commit);
struct msg_commit_result fixture_committed(struct fixture *fixture, uint32_t shard);

/* The private server. verb: of private_postgres.sh. */
void server_do(const char *verb);
/* A blocking connection of the test's own. */
PGconn *server_connect(const char *database);
/* Runs sql, which must succeed; returns the first column of the first row as a number, or -1. */
int64_t server_sql(PGconn *conn, const char *sql);
void server_conninfo(char *text, size_t bytes, const char *database);
/* Waits until sql gives more than 0. */
void server_wait_for(PGconn *conn, const char *sql);
/* An empty database of that name. */
void server_new_database(const char *database);

#endif
