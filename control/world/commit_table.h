/* commit_table: the commits that wait for PostgreSQL, and whose turn it is.
 *
 * Pure: no clock, no libpq, no libuv; the world thread is its only user. Bounded: all memory is
 * taken by commit_table_new. A commit goes from FREE to WAITING (put), IN_FLIGHT (take), and with
 * its result to SETTLED (settle), where it keeps its answer until that has been delivered
 * (release).
 *
 * Order. Each character has the line of its pending commits, oldest first; a trade stands in two
 * lines. A commit is ready when it is the first in all its lines, and only what is ready is taken:
 * so several batches can be in flight, on connections that know nothing of each other, and no two
 * of them ever hold the same character. What was not carried out goes back to where it was.
 *
 * A batch is of one of three kinds, for the three statements there are (migrations/0002, 0004 and
 * 0009). A row of commits, carried out one after the other, takes any: also what is not ready but
 * for commits of the same row, so that a player who does ten things at once does not wait for ten
 * round trips. A set has simple commits (commit_check.h) of different characters. Slots are commits
 * of one operation on a slot each, no slot twice: also such as are not ready but for commits of the
 * same batch, as none of them changes what becomes of another, and the character is locked once. A
 * set costs a quarter of a row, slots cost two thirds of a set; but they have to be worth their few
 * statements, and are chosen from COMMIT_SET_MIN ready ones on.
 *
 * Places. A source (a shard) that does not take its answers keeps its places. So each has half of
 * an equal share to itself, and the other half of all places is for whoever comes.
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

#define COMMIT_SET_MIN 16u

/* In the order of the statements (commit_statement.h). */
enum commit_kind { COMMIT_ROW, COMMIT_SET, COMMIT_SLOTS, COMMIT_KINDS };

enum commit_state { COMMIT_FREE, COMMIT_WAITING, COMMIT_IN_FLIGHT, COMMIT_SETTLED };

struct commit {
	TAILQ_ENTRY(commit) line;       /* the table's; the owner's while SETTLED */
	TAILQ_ENTRY(commit) ready_line; /* the table's */
	enum commit_state state;
	bool unknown;
	uint8_t kind;              /* enum commit_kind: the quickest that takes it */
	uint8_t blockers;          /* lines in which another one is first */
	uint32_t source;           /* the shard */
	uint32_t answers;          /* that are due: 1, and 1 for each copy that joined it */
	uint32_t batch, batch_max; /* in which it is in flight; in no larger one */
	uint32_t request_chain;    /* next of the hash bucket of requests */
	uint32_t holder[2], next[2], previous[2]; /* its places in its characters' lines */
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
 * operations together (but always one commit); batches of them can be in flight. sources: at
 * least 1. NULL: no memory. */
struct commit_table_size {
	uint32_t capacity, batch_max, batch_ops_max, batches, sources;
};
struct commit_table *commit_table_new(const struct commit_table_size *size);
void commit_table_free(struct commit_table *table);
size_t commit_table_bytes(const struct commit_table_size *size);

/* Takes a copy of a commit that commit_check found good. NULL, with nothing changed: no place. */
struct commit *commit_table_put(struct commit_table *table, const struct msg_commit *commit,
	uint32_t source, uint64_t deadline_ns);
/* Whether a put would find a place. */
bool commit_table_room(const struct commit_table *table, uint32_t source);

/* The pending commit of the same request and source, NULL for none. */
struct commit *commit_table_find(
	struct commit_table *table, const uint64_t request[2], uint32_t source);

/* Moves up to max ready commits of one realm into the batch, which has none in flight. Returns how
 * many; *commits points at them, in the order in which they are to be carried out, valid until the
 * last is settled or the batch is put back. */
uint32_t commit_table_take(struct commit_table *table, uint32_t batch, uint32_t max,
	struct commit *const **commits, enum commit_kind *kind);

/* The batch was not carried out. unknown: or may have been. smaller: not in so large a batch again.
 * behind: all others that are ready go first. */
enum commit_back { COMMIT_BACK = 0, COMMIT_UNKNOWN = 1, COMMIT_SMALLER = 2, COMMIT_BEHIND = 4 };
void commit_table_put_back(struct commit_table *table, uint32_t batch, unsigned how);

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
/* How many that are. */
uint32_t commit_table_count(
	const struct commit_table *table, uint32_t realm_id, uint64_t character_id);

uint32_t commit_table_used(const struct commit_table *table);    /* all but FREE */
uint32_t commit_table_pending(const struct commit_table *table); /* WAITING or IN_FLIGHT */
uint32_t commit_table_waiting(const struct commit_table *table); /* WAITING */
uint32_t commit_table_ready(const struct commit_table *table);   /* of those, to be taken */
uint32_t commit_table_in_flight(const struct commit_table *table, uint32_t batch);
uint32_t commit_table_batches(const struct commit_table *table);  /* in flight */
uint64_t commit_table_sequence(const struct commit_table *table); /* of the last put; 0: none */

/* Pending ones put at or before sequence, and up to max of them in list (NULL for none). */
uint32_t commit_table_unsettled(const struct commit_table *table, uint64_t sequence,
	const struct commit **list, uint32_t max);

#endif
