/* world_internal: what the parts of the world thread share. World thread only, but for the atomics.
 *
 *   world.c        start, stop, the loop, health
 *   rounds.c       rings in, rounds, answers out
 *   requests.c     loads and details
 *   saves.c        batches and flush
 *   commits.c      batches of commits, their answers
 *   audits.c       what operators did, through journal.c
 *   prune.c        records of old commits and old rows of the ledger go
 *   corrections.c  what operators correct
 *   parties.c      parties written down, and read again
 *   nodes.c        that this node lives, and which others do
 *   batch.c        what both do when a batch fails
 *   statements.c, commit_statement.c   the SQL, its parameters and results */
#ifndef SW_CONTROL_WORLD_WORLD_INTERNAL_H
#define SW_CONTROL_WORLD_WORLD_INTERNAL_H

#include <stdatomic.h>
#include <sys/queue.h>
#include <uv.h>

#include "common/correction.h"
#include "common/party.h"
#include "control/world/batch.h"
#include "control/world/commit_statement.h"
#include "control/world/commit_table.h"
#include "control/world/journal.h"
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

/* Operations of a batch of commits, for each commit that it may have: most have a few. */
#define COMMIT_BATCH_OPS 4u
/* Refused commits of a ring whose answers do not fit the ring back: a ring is read only while those
 * of one pop have room, and a commit has at least two slots. */
#define REFUSALS_MAX POP_SLOTS

#define SOURCE_CONTROL 0u /* shard i is source i + 1 */

#define ANSWER_SLOTS 3u
_Static_assert(
	sizeof(struct msg_character_loaded) + MSG_HEAD_BYTES <= ANSWER_SLOTS * MSG_SLOT_BYTES,
	"largest answer");

enum request_kind { REQUEST_LOAD, REQUEST_DETAIL, REQUEST_SETTLE };

/* A load, detail query or settle from its arrival until the ring has taken its answer and the link has let
 * go of it: both can be last. */
struct request {
	TAILQ_ENTRY(request) line; /* of one list: free, or what it waits for */
	TAILQ_ENTRY(request) owed_line;
	enum request_kind kind;
	uint32_t source;
	bool used, waits_for_round, waits_for_writes, waits_for_link, under_way, answered, owed;
	uint64_t deadline_ns, sent_ns;
	union {
		struct msg_character_load load;
		struct msg_detail_query detail;
		struct msg_character_settle settle;
	};
	struct msg answer[ANSWER_SLOTS];
	struct msg *large; /* instead of answer, while owed: one that does not fit there */
};
TAILQ_HEAD(request_list, request);

struct source {
	struct msg_ring *in, *out;
	struct request_list free, owed;
	uint32_t free_count;
	struct commit_list owed_commits; /* settled, their answers wait for the ring */
	struct msg_commit_result
		refusals[REFUSALS_MAX]; /* the same of commits that hold no place */
	uint32_t refusal_first, refusal_count;
};

/* LINK_COMMITS_INDEX is the first of postgres.commit_links. */
enum world_link { LINK_REQUESTS_INDEX, LINK_SAVES_INDEX, LINK_COMMITS_INDEX };
#define WORLD_LINKS_MAX (LINK_COMMITS_INDEX + CONFIG_COMMIT_LINKS_MAX)

/* What a link gives back to its callbacks. */
struct link_end {
	struct world *world;
	uint32_t index;
	char name[16];
};

/* Of the requests link: what is not a request's place. */
#define PARTIES_TAG         (1ull << 63)
#define PARTIES_PENDING_MAX 8192u /* changed parties that wait; more are dropped */
#define PARTIES_BATCH       64u

struct party_row {
	struct msg_party_save save;
	char *text;
};

/* An answer that waits for the ring to control. */
struct party_owed {
	struct party_owed *next;
	struct msg message[] __attribute__((aligned(MSG_SLOT_BYTES)));
};

/* That this node lives is written down so often; others believe it for three times as long. */
#define NODES_SAY_S 10u

struct nodes {
	uint64_t boot;
	uint64_t say_ns; /* not before */
	bool saying, asking, asked, stopping, stop_sent;
	uint64_t ask_by_ns;
};

enum parties_restoring { PARTIES_IDLE, PARTIES_EPOCH, PARTIES_READ };

struct parties {
	struct party_row *rows; /* [PARTIES_PENDING_MAX]: a queue */
	uint32_t head, count, in_flight;
	uint8_t *columns; /* a batch, encoded */
	struct batch batch;
	enum parties_restoring restoring;
	struct msg_party_restore restore;
	uint32_t serial; /* of the restore, in its tags */
	bool restore_asked;
	uint64_t restore_by_ns, prune_ns;
	struct party_owed *owed, *owed_last;
};

/* Something that is looked through again and again, a page at a time. */
struct sweep {
	uint64_t next_ns; /* not before */
	bool under_way;
};

#define CORRECTIONS_MAX 16u /* as many orders as control keeps */

struct world {
	const struct sw_config *config;
	struct pg_target target;
	pthread_t thread;
	uv_loop_t loop;
	uv_timer_t drain_timer, tick_timer;
	uv_async_t stop_async;

	uint32_t source_count;
	struct source sources[CONFIG_LCORES_MAX + 1];
	struct request *requests;        /* [source_count * SOURCE_REQUESTS] */
	struct request_list wait_round;  /* details: until every ring has been read */
	struct request_list wait_writes; /* until saves or commits of the character are settled */
	struct request_list wait_link;
	uint32_t idle_rounds, drain_ms;
	bool stalled; /* the last round left a ring standing */

	uint32_t link_count;
	struct link_end ends[WORLD_LINKS_MAX];
	struct pg_link *links[WORLD_LINKS_MAX];
	struct save_table *saves;
	struct save_encoder *encoder;
	struct batch save_batch;

	struct commit_table *commits;
	struct commit_encoder *commit_encoder;
	/* In flight, by commit link. */
	struct {
		struct commit *const *commits;
		uint32_t count;
		enum commit_kind kind;
		uint64_t sent_ns;
	} commits_sent[CONFIG_COMMIT_LINKS_MAX];
	uint64_t commits_sent_ns;  /* the last time on any of them */
	struct batch commit_batch; /* pause and log lines of all of them */
	uint64_t invalid_log_ns;

	struct sweep record_sweep, ledger_sweep; /* prune.c */
	uint8_t records_after[16];    /* the request up to which records have been looked at */
	struct msg_correction corrections[CORRECTIONS_MAX]; /* in flight; order 0: free */

	struct journal journal;
	bool audit_under_way; /* the journal's first record */
	uint64_t audit_retry_ns;
	struct parties parties;
	struct nodes nodes;

	uint32_t flushes;      /* answers that are due when flush_sequence is settled */
	uint32_t flushed_owed; /* answers whose ring is full */
	uint32_t flushed_unsaved;
	uint64_t flush_sequence, flush_commits, flush_deadline_ns;
	bool flush_stalled; /* a ring was left standing since: more belongs to it */

	_Atomic uint64_t values[WORLD_COUNTER_COUNT];
	struct counter_set counters;
	struct histogram load_time, batch_time, commit_time;
	struct msg_buffer scratch; /* an answer while it is built */

	/* World thread writes, all read. */
	_Atomic uint32_t fault[WORLD_LINKS_MAX]; /* enum pg_fault of a link that is not ready */
	_Atomic(const char *) cause[WORLD_LINKS_MAX]; /* of pg_target_cause for it; static text */
	_Atomic uint64_t down_since_ns[WORLD_LINKS_MAX]; /* 0: ready */
	_Atomic uint32_t saves_full;                     /* 1: saves are dropped or a ring stands */
	_Atomic uint32_t commits_full;                   /* shard + 1 whose commits find no place */

	uint32_t faults_told[WORLD_LINKS_MAX]; /* lines of this outage; world thread */

	/* Start: the thread posts once, all links ready or the first one failed. */
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
/* Sends the answer, or keeps it until its ring has room. message: request->answer, or scratch. */
void rounds_answer(struct world *world, struct request *request, const struct msg *message);
void rounds_owed(struct world *world);

/* requests.c */
void requests_init(struct world *world);
void requests_take(
	struct world *world, uint32_t source, const struct msg *message, uint64_t now_ns);
void requests_pump(struct world *world, uint64_t now_ns);
void requests_expire(struct world *world, uint64_t now_ns);
/* Every ring has been read. */
void requests_round(struct world *world, uint64_t now_ns);
void requests_writes_settled(struct world *world, uint64_t now_ns);
/* Answers with UNAVAILABLE. */
void requests_refuse(struct world *world, struct request *request);
void requests_release(struct world *world, struct request *request);
void requests_on_result(void *context, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count);

/* prune.c */
void prune_pump(struct world *world, uint64_t now_ns);
void prune_on_records(
	struct world *world, enum pg_outcome outcome, PGresult *const *results, uint32_t count);
void prune_on_ledger(
	struct world *world, enum pg_outcome outcome, PGresult *const *results, uint32_t count);

/* corrections.c */
void corrections_take(struct world *world, const struct msg *message, uint64_t now_ns);
void corrections_on_result(struct world *world, uint32_t place, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count);

/* saves.c */
void saves_take(struct world *world, const struct msg *message, uint64_t now_ns);
void saves_pump(struct world *world, uint64_t now_ns);
bool saves_room(const struct world *world);
void saves_on_result(void *context, uint64_t tag, enum pg_outcome outcome, PGresult *const *results,
	uint32_t count);

/* commits.c */
void commits_take(struct world *world, uint32_t source, const struct msg *message, uint64_t now_ns);
void commits_pump(struct world *world, uint64_t now_ns);
/* Whether the answers to all commits of one more pop find a place. */
bool commits_room(const struct source *source);
void commits_owed(struct world *world, struct source *source);
void commits_on_result(void *context, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count);
/* Says which commits of the flush are not settled. */
void commits_name_unsettled(const struct world *world);

/* audits.c */
#define CORRECTION_TAG (1ull << 62) /* and its place */
#define LEDGER_TAG     (UINT64_MAX - 4)
#define NODES_ASK_TAG  (UINT64_MAX - 3)
#define NODES_SAY_TAG  (UINT64_MAX - 2)
#define PRUNE_TAG      (UINT64_MAX - 1)
#define AUDIT_TAG      UINT64_MAX /* of the requests link; the others are places of requests */
void audits_take(struct world *world, const struct msg *message);
void audits_pump(struct world *world, uint64_t now_ns);
void audits_on_result(
	struct world *world, enum pg_outcome outcome, PGresult *const *results, uint32_t count);
void audits_writes_query(struct world *world, const struct msg *message);
/* parties.c */
bool parties_init(struct parties *parties);
void parties_fini(struct parties *parties);
void parties_take(struct world *world, const struct msg *message);
void parties_restore(struct world *world, const struct msg *message, uint64_t now_ns);
void parties_pump(struct world *world, uint64_t now_ns);
void parties_owed(struct world *world);
void parties_on_result(struct world *world, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count);

/* nodes.c */
void nodes_init(struct world *world);
void nodes_pump(struct world *world, uint64_t now_ns);
void nodes_query(struct world *world, uint64_t now_ns);
/* The node stops: the others need not wait for it. */
void nodes_stop(struct world *world, uint64_t now_ns);
void nodes_on_result(struct world *world, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count);

/* saves.c */
void flush_take(struct world *world, uint64_t now_ns);
void flush_check(struct world *world, uint64_t now_ns);

#endif
