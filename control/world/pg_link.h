/* pg_link: one connection to PostgreSQL on a libuv loop, in libpq's pipeline mode, which comes back
 * by itself for ever. World thread only; nothing here blocks.
 *
 * A link connects, sets its timeouts and prepares its statements in one round trip, and is then
 * ready. A request (pg_link_send) is one or more prepared statements and a sync: one round trip,
 * one implicit transaction, which commits as a whole or not at all. Many can be under way; each
 * ends in exactly one call of on_result, in the order they were sent.
 *
 * What ends a connection: the server closes it or resets it, connecting takes longer than
 * connect_timeout_ms, the server works on a request for longer than statement_timeout_ms (which it
 * enforces first, ending just that request) and REQUEST_GRACE_MS, however long that one waited for
 * those before it, or an error after which the session is of no use (shutting down, a primary that
 * became a standby, a prepared statement that is gone or no longer fits its table). Then every
 * request under way ends with PG_UNKNOWN: it may or may not have happened. The next attempt follows
 * after a pause that doubles from 100 ms to 5 s, with a random part, so that many nodes do not come
 * back in step. */
#ifndef SW_CONTROL_WORLD_PG_LINK_H
#define SW_CONTROL_WORLD_PG_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include <uv.h>

#include "control/world/pg_target.h"

#define PG_STATEMENTS_MAX 4u  /* of one request */
#define PG_PARAMS_MAX     16u /* of one statement */
#define PG_LINK_TICK_MS   20u /* how often pg_link_tick has to be called, about */

/* Why a link is not ready. */
#define PG_FAULTS(X)                                                                               \
	X(NONE, "not tried yet")                                                                   \
	X(CONNECT, "cannot connect")                                                               \
	X(CONNECT_TIMEOUT, "connecting took too long")                                             \
	X(PREPARE, "statements could not be prepared: is the schema of this server's version?")    \
	X(LOST, "connection lost")                                                                 \
	X(STATEMENT_TIMEOUT, "no answer to a statement")                                           \
	X(SESSION, "server ended the session or became read-only")

enum pg_fault {
#define PG_FAULT_ENUM(name, text) PG_FAULT_##name,
	PG_FAULTS(PG_FAULT_ENUM)
#undef PG_FAULT_ENUM
		PG_FAULT_COUNT
};
const char *pg_fault_text(enum pg_fault fault);

enum pg_outcome {
	PG_DONE,   /* committed; results[i] is that of statement i */
	PG_ERROR,  /* rolled back; the last result says why (pg_sqlstate) */
	PG_UNKNOWN /* the connection ended first: no results */
};

struct pg_prepared {
	const char *name, *sql;
};

/* A prepared statement with binary parameters; NULL value: SQL NULL. */
struct pg_call {
	const char *name;
	int count;
	const char *values[PG_PARAMS_MAX];
	int bytes[PG_PARAMS_MAX];
};

struct pg_link_config {
	const struct pg_target *target;
	const struct pg_prepared *prepared;
	uint32_t prepared_count;
	uint32_t connect_timeout_ms, statement_timeout_ms;
	uint32_t requests_max; /* under way at once */
	uint64_t seed;         /* of the random part of pauses */
	void *context;
	/* results are the link's and gone after the call. pg_link_send may be called from within.
	 */
	void (*on_result)(void *context, uint64_t tag, enum pg_outcome outcome,
		PGresult *const *results, uint32_t count);
	void (*on_up)(void *context);
	/* After the on_result calls of what was under way. message: libpq's, one line. */
	void (*on_down)(void *context, enum pg_fault fault, const char *message);
};

struct pg_link;

/* Memory only; the first pg_link_tick connects. NULL: no memory. config is copied. */
struct pg_link *pg_link_new(uv_loop_t *loop, const struct pg_link_config *config);
/* Ends the connection without calling anyone; handles still close on the loop, so run it once more
 * before the loop is closed. */
void pg_link_close(struct pg_link *link);

/* All deadlines of the link. To be called about every PG_LINK_TICK_MS. */
void pg_link_tick(struct pg_link *link, uint64_t now_ns);
/* Ends the pause: the next tick tries to connect. */
void pg_link_hurry(struct pg_link *link);

bool pg_link_ready(const struct pg_link *link);
/* True once an attempt to come back has failed: it will not be a matter of milliseconds. */
bool pg_link_away(const struct pg_link *link);

/* Sends the calls as one request. False, with nothing sent that could take effect, when the link is
 * not ready or requests_max are under way. */
bool pg_link_send(struct pg_link *link, uint64_t tag, const struct pg_call *calls, uint32_t count,
	uint64_t now_ns);

/* The SQLSTATE of a failed result, "" when there is none (the connection broke). */
const char *pg_sqlstate(const PGresult *result);

#endif
