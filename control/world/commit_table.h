/* commit_table: the commits that wait for PostgreSQL, in the order in which they were taken, and
 * whose turn it is.
 *
 * Pure: no clock, no libpq, no libuv; the world thread is its only user. Bounded: all memory is
 * taken by commit_table_new. A commit goes from FREE to WAITING (put), IN_FLIGHT (take; one batch
 * at most), and with its result to SETTLED (settle), where it keeps its answer until that has been
 * delivered (release).
 *
 * Order. A batch is the front of the queue, its statement carries it out in its order, and a batch
 * that was not carried out goes back to the front: so commits of a character keep their order. One
 * commit that holds up all others can be sent behind them, but only with those that share a
 * character with it or with one that does.
 *
 * A copy of a request that is pending does not wait beside it but joins it, and gets the same
 * answer: else one of them could be refused as having no effect, and the other have it.
 *
 * unknown: a copy was sent and nobody knows what became of it. Such a commit neither expires nor is
 * refused: only PostgreSQL's answer, to whichever copy, says what happened. */
#ifndef SW_CONTROL_WORLD_COMMIT_TABLE_H
#define SW_CONTROL_WORLD_COMMIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/commit.h"

enum commit_state { COMMIT_FREE, COMMIT_WAITING, COMMIT_IN_FLIGHT, COMMIT_SETTLED };

struct commit {
	TAILQ_ENTRY(commit) line; /* the table's; the owner's while SETTLED */
	enum commit_state state;
	bool unknown;
	uint32_t source;        /* the owner's */
	uint32_t answers;       /* that are due: 1, and 1 for each copy that joined it */
	uint32_t request_chain; /* next of the hash bucket of requests */
	uint64_t sequence, deadline_ns;
	struct msg_commit_result result; /* while SETTLED */
	union {
		struct msg_commit commit;
		uint8_t bytes[sizeof(struct msg_commit) +
			      COMMIT_OPS_MAX * sizeof(struct commit_op)];
	} body;
};
TAILQ_HEAD(commit_list, commit);

struct commit_table;

/* capacity: commits, at least 1. A batch has at most batch_max commits with batch_ops_max
 * operations together (but always one commit). NULL: no memory. */
struct commit_table *commit_table_new(
	uint32_t capacity, uint32_t batch_max, uint32_t batch_ops_max);
void commit_table_free(struct commit_table *table);
size_t commit_table_bytes(uint32_t capacity, uint32_t batch_max);

/* Takes a copy of a commit that commit_check found good. NULL, with nothing changed: full. */
struct commit *commit_table_put(struct commit_table *table, const struct msg_commit *commit,
	uint32_t source, uint64_t deadline_ns);

/* The pending commit of the same request and source, NULL for none. */
struct commit *commit_table_find(
	struct commit_table *table, const uint64_t request[2], uint32_t source);

/* Moves the front of the queue, up to max commits of one realm, into the batch in flight; only when
 * none is. Returns how many; *batch points at them, in order, valid until the last is settled or
 * the batch is put back. */
uint32_t commit_table_take(struct commit_table *table, uint32_t max, struct commit *const **batch);
/* The batch was not carried out (or, unknown: may have been): to the front, in its order. */
void commit_table_put_back(struct commit_table *table, bool unknown);
/* The front of the queue to its end, with what has to stay behind it. */
void commit_table_rotate(struct commit_table *table);

/* The commit's fate is known: WAITING or IN_FLIGHT to SETTLED. */
void commit_table_settle(struct commit_table *table, struct commit *commit);
/* SETTLED to FREE. */
void commit_table_release(struct commit_table *table, struct commit *commit);

/* Waiting commits whose deadline is before now_ns and that are not unknown, up to max of them in
 * list, in their order. Returns how many; fewer than max: that was all. */
uint32_t commit_table_expired(
	struct commit_table *table, uint64_t now_ns, struct commit **list, uint32_t max);

/* True while a commit of the character waits or is in flight. */
bool commit_table_has(const struct commit_table *table, uint32_t realm_id, uint64_t character_id);

uint32_t commit_table_used(const struct commit_table *table);      /* all but FREE */
uint32_t commit_table_pending(const struct commit_table *table);   /* WAITING or IN_FLIGHT */
uint32_t commit_table_waiting(const struct commit_table *table);   /* WAITING */
uint32_t commit_table_in_flight(const struct commit_table *table); /* of the batch */
uint64_t commit_table_sequence(const struct commit_table *table);  /* of the last put; 0: none */

/* Pending ones put at or before sequence, and up to max of them in list (NULL for none). */
uint32_t commit_table_unsettled(const struct commit_table *table, uint64_t sequence,
	const struct commit **list, uint32_t max);

#endif
