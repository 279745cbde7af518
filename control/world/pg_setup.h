/* pg_setup: PostgreSQL for the set-up thread, before the loop runs: calls that wait, but each with
 * a deadline (libpq's own blocking calls have none for a server that went silent). Not for the
 * loop. */
#ifndef SW_CONTROL_WORLD_PG_SETUP_H
#define SW_CONTROL_WORLD_PG_SETUP_H

#include <stdint.h>
#include <stdio.h>
#include <libpq-fe.h>

#include "control/world/pg_target.h"

/* Connects, trying each host of a list with timeout_ms, and notes in target the one that answered,
 * so that links begin with it. NULL with the reason, the place and the
 * likely cause in errors. The caller ends with PQfinish. */
PGconn *pg_setup_connect(struct pg_target *target, uint32_t timeout_ms, FILE *errors);

/* Runs sql: several statements in simple protocol when values is NULL, else one with count text
 * parameters. Returns the first failed result, else the last; the caller clears it. NULL when the
 * server did not answer in time or the connection is lost: nothing more can be done with conn. */
PGresult *pg_setup_query(
	PGconn *conn, const char *sql, const char *const *values, int count, uint32_t timeout_ms);

/* Writes one line, "postgres: what: what is wrong", of a result of pg_setup_query, NULL included.
 */
void pg_setup_complain(FILE *errors, const char *what, PGconn *conn, const PGresult *result);

/* The first column of the first row as a number; fallback where there is none or on failure. */
int64_t pg_setup_number(PGconn *conn, const char *sql, uint32_t timeout_ms, int64_t fallback);

#endif
