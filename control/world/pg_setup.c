#include "control/world/pg_setup.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mono.h"

static bool wait_for(PGconn *conn, short events, uint64_t deadline_ns)
{
	struct pollfd fd = {.fd = PQsocket(conn), .events = events};

	for (;;) {
		uint64_t now = mono_ns();
		int rc;

		if (now >= deadline_ns)
			return false;
		rc = poll(&fd, 1, (int)((deadline_ns - now) / NS_PER_MS) + 1);
		if (rc > 0)
			return true;
		if (rc < 0 && errno != EINTR)
			return false;
	}
}

static void ignore_notice(void *arg, const PGresult *result)
{
	(void)arg;
	(void)result;
}

PGconn *pg_setup_connect(struct pg_target *target, uint32_t timeout_ms, FILE *errors)
{
	char where[256], message[512];
	const char *cause;

	for (uint32_t attempt = 0;; attempt++) {
		PGconn *conn = pg_target_connect(target, attempt);
		uint64_t deadline = mono_ns() + timeout_ms * NS_PER_MS;
		PostgresPollingStatusType step = PGRES_POLLING_WRITING;
		bool timed_out = false;

		if (!conn) {
			fprintf(errors, "postgres: no memory for a connection\n");
			return NULL;
		}
		if (PQstatus(conn) == CONNECTION_BAD)
			step = PGRES_POLLING_FAILED;
		while (step != PGRES_POLLING_OK && step != PGRES_POLLING_FAILED && !timed_out) {
			if (wait_for(conn, step == PGRES_POLLING_READING ? POLLIN : POLLOUT,
				    deadline))
				step = PQconnectPoll(conn);
			else
				timed_out = true;
		}
		if (step == PGRES_POLLING_OK) {
			target->first = attempt;
			PQsetnonblocking(conn, 1);
			PQsetNoticeReceiver(conn, ignore_notice, NULL);
			return conn;
		}
		if (timed_out && attempt + 1 < target->hosts) {
			PQfinish(conn);
			continue;
		}
		pg_target_describe(conn, where, sizeof(where));
		snprintf(message, sizeof(message), "%s", PQerrorMessage(conn));
		message[strcspn(message, "\n")] = 0;
		cause = pg_target_cause(PQerrorMessage(conn));
		if (timed_out)
			fprintf(errors,
				"postgres: no connection to %s within %u ms "
				"(postgres.connect_timeout): "
				"the host does not answer, or the server is stopped or "
				"overloaded\n",
				where, timeout_ms);
		else
			fprintf(errors, "postgres: cannot connect to %s: %s%s%s\n", where, message,
				*cause ? ": " : "", cause);
		PQfinish(conn);
		return NULL;
	}
}

PGresult *pg_setup_query(
	PGconn *conn, const char *sql, const char *const *values, int count, uint32_t timeout_ms)
{
	uint64_t deadline = mono_ns() + timeout_ms * NS_PER_MS;
	PGresult *kept = NULL, *result;
	int sent = values ? PQsendQueryParams(conn, sql, count, NULL, values, NULL, NULL, 0)
			  : PQsendQuery(conn, sql);
	int pending;

	if (!sent)
		return NULL;
	while ((pending = PQflush(conn)) != 0) {
		if (pending < 0 || !wait_for(conn, POLLIN | POLLOUT, deadline) ||
			!PQconsumeInput(conn))
			return NULL;
	}
	for (;;) {
		while (PQisBusy(conn)) {
			if (!wait_for(conn, POLLIN, deadline) || !PQconsumeInput(conn)) {
				PQclear(kept);
				return NULL;
			}
		}
		result = PQgetResult(conn);
		if (!result)
			return kept;
		if (kept && PQresultStatus(kept) == PGRES_FATAL_ERROR) {
			PQclear(result);
			continue;
		}
		PQclear(kept);
		kept = result;
	}
}

void pg_setup_complain(FILE *errors, const char *what, PGconn *conn, const PGresult *result)
{
	const char *text =
		result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : PQerrorMessage(conn);
	const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;

	if (!text || !*text)
		text = "no answer in time";
	fprintf(errors, "postgres: %s: %.*s%s%s%s\n", what, (int)strcspn(text, "\n"), text,
		state ? " (SQLSTATE " : "", state ? state : "", state ? ")" : "");
}

int64_t pg_setup_number(PGconn *conn, const char *sql, uint32_t timeout_ms, int64_t fallback)
{
	PGresult *result = pg_setup_query(conn, sql, NULL, 0, timeout_ms);
	int64_t number = fallback;

	if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0 &&
		!PQgetisnull(result, 0, 0))
		number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return number;
}
