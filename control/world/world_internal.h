/* world_internal: what the parts of the world thread share. World thread only, but for the atomics.
 *
 *   world.c        start, stop, the loop, health
 *   rounds.c       rings in, rounds, answers out
 *   requests.c     loads and details
 *   saves.c        batches and flush
 *   statements.c   the SQL, its parameters and results */
#ifndef SW_CONTROL_WORLD_WORLD_INTERNAL_H
#define SW_CONTROL_WORLD_WORLD_INTERNAL_H

#include <stdatomic.h>
#include <sys/queue.h>
#include <uv.h>

#include "control/world/pg_link.h"
#include "control/world/save_table.h"
#include "control/world/statements.h"
#include "control/world/world.h"

#define POP_SLOTS       (2 * MSG_SLOTS_MAX) /* taken from a ring at once */
#define SOURCE_REQUESTS 1024u /* answers that may be outstanding per ring; at least POP_SLOTS */
#define LINK_REQUESTS   512u  /* under way on the requests link */
/* Leaving saves that are still taken beyond postgres.saves_pending_max: those of one pop. */
#define LEAVING_RESERVE POP_SLOTS
/* A batch waits this long for company, unless it is full or someone waits for it. */
#define SAVE_LINGER_NS (20 * 1000000ull)

#define SOURCE_CONTROL 0u /* shard i is source i + 1 */

#define ANSWER_SLOTS 3u
_Static_assert(
	sizeof(struct msg_character_loaded) + MSG_HEAD_BYTES <= ANSWER_SLOTS * MSG_SLOT_BYTES,
	"largest answer");

enum request_kind { REQUEST_LOAD, REQUEST_DETAIL };

/* A load or detail query from its arrival until the ring has taken its answer and the link has let
 * go of it: both can be last. */
struct request {
	TAILQ_ENTRY(request) line; /* of one list: free, waiting for a save, waiting for the link */
	TAILQ_ENTRY(request) owed_line;
	enum request_kind kind;
	uint32_t source;
	bool used, waits_for_save, waits_for_link, under_way, answered, owed;
	uint64_t deadline_ns, sent_ns;
	union {
		struct msg_character_load load;
		struct msg_detail_query detail;
	};
	struct msg answer[ANSWER_SLOTS];
};
TAILQ_HEAD(request_list, request);

struct source {
	struct msg_ring *in, *out;
	struct request_list free, owed;
	uint32_t free_count;
};

struct world {
	const struct sw_config *config;
	struct pg_target target;
	pthread_t thread;
	uv_loop_t loop;
	uv_timer_t drain_timer, tick_timer;
	uv_async_t stop_async;

	uint32_t source_count;
	struct source sources[CONFIG_LCORES_MAX + 1];
	struct request *requests; /* [source_count * SOURCE_REQUESTS] */
	struct request_list wait_save, wait_link;
	uint32_t idle_rounds, drain_ms;
	bool stalled; /* the last round left a ring standing */

	struct pg_link *requests_link, *saves_link;
	struct save_table *saves;
	struct save_encoder *encoder;
	uint64_t batch_sent_ns, batch_retry_ns, batch_log_ns;
	uint32_t batch_rows, batch_limit;

	uint32_t flushes;      /* answers that are due when flush_sequence is settled */
	uint32_t flushed_owed; /* answers whose ring is full */
	uint32_t flushed_unsaved;
	uint64_t flush_sequence, flush_deadline_ns;
	bool flush_stalled; /* a ring was left standing since: more belongs to it */

	_Atomic uint64_t values[WORLD_COUNTER_COUNT];
	struct counter_set counters;
	struct histogram load_time, batch_time;

	/* World thread writes, all read. */
	_Atomic uint32_t fault[2];         /* enum pg_fault of a link that is not ready */
	_Atomic(const char *) cause[2];    /* of pg_target_cause for it; static text */
	_Atomic uint64_t down_since_ns[2]; /* 0: ready */
	_Atomic uint32_t saves_full;       /* 1: saves are dropped or a ring stands */

	uint32_t faults_told[2]; /* lines of this outage; world thread */

	/* Start: the thread posts once, both links ready or the first one failed. */
	uv_sem_t started;
	bool start_posted, start_ok;
	char start_error[400];
};

static inline void world_count(struct world *world, enum world_counter counter, uint64_t n)
{
	counter_add(&world->values[counter], n);
}

/* rounds.c */
void rounds_start(struct world *world);
void rounds_on_timer(uv_timer_t *timer);
/* Sends or keeps the answer that request_reply built. */
void rounds_answer(struct world *world, struct request *request);
void rounds_owed(struct world *world);

/* requests.c */
void requests_init(struct world *world);
void requests_take(
	struct world *world, uint32_t source, const struct msg *message, uint64_t now_ns);
void requests_pump(struct world *world, uint64_t now_ns);
void requests_expire(struct world *world, uint64_t now_ns);
void requests_saves_settled(struct world *world, uint64_t now_ns);
void requests_release(struct world *world, struct request *request);
void requests_on_result(void *context, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count);

/* saves.c */
void saves_take(struct world *world, const struct msg *message, uint64_t now_ns);
void saves_pump(struct world *world, uint64_t now_ns);
bool saves_room(const struct world *world);
void saves_on_result(void *context, uint64_t tag, enum pg_outcome outcome, PGresult *const *results,
	uint32_t count);
void flush_take(struct world *world, uint64_t now_ns);
void flush_check(struct world *world, uint64_t now_ns);

#endif
