#include "control/world/migrate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "control/world/distribute.h"
#include "control/world/pg_setup.h"

#define STATEMENT_MS 10000u
/* A migration may rewrite a large table: long, but not for ever. */
#define MIGRATION_MS (30u * 60 * 1000)

static bool good(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static int run(PGconn *conn, const char *sql, uint32_t timeout_ms, const char *what, FILE *errors)
{
	PGresult *result = pg_setup_query(conn, sql, NULL, 0, timeout_ms);
	int rc = good(result) ? 0 : -EIO;

	if (rc != 0)
		pg_setup_complain(errors, what, conn, result);
	PQclear(result);
	return rc;
}

static int lock(PGconn *conn, uint32_t wait_ms, FILE *errors)
{
	char sql[160];
	PGresult *result;
	const char *state;
	int rc = 0;

	snprintf(sql, sizeof(sql),
		"SET statement_timeout = 0; SET lock_timeout = %u; SELECT pg_advisory_lock(%lld)",
		wait_ms, MIGRATE_LOCK);
	result = pg_setup_query(conn, sql, NULL, 0, wait_ms + STATEMENT_MS);
	if (!good(result)) {
		state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
		rc = state && strcmp(state, "55P03") == 0 ? -EBUSY : -EIO;
		if (rc == -EBUSY)
			fprintf(errors,
				"postgres: another session has held the migration lock for %u ms: "
				"a "
				"node that runs a long migration, or one that hangs (look in "
				"pg_locks "
				"for locktype advisory)\n",
				wait_ms);
		else
			pg_setup_complain(errors, "migration lock", conn, result);
	}
	PQclear(result);
	return rc;
}

/* Compares what ran with what we know. Returns how many ran, or a negative errno. */
static int compare(PGconn *conn, const struct migration *list, uint32_t count, FILE *errors)
{
	PGresult *result = pg_setup_query(conn,
		"SELECT version, name, sha256 FROM schema_migration ORDER BY version", NULL, 0,
		STATEMENT_MS);
	int rows = PQntuples(result), rc = rows;

	if (!good(result)) {
		pg_setup_complain(errors, "schema_migration", conn, result);
		rc = -EIO;
	}
	for (int i = 0; rc >= 0 && i < rows; i++) {
		uint32_t version = (uint32_t)strtoul(PQgetvalue(result, i, 0), NULL, 10);
		const char *name = PQgetvalue(result, i, 1), *sha256 = PQgetvalue(result, i, 2);

		if (version > count) {
			fprintf(errors,
				"postgres: the database has migration %04u (%s), this server knows "
				"up "
				"to %04u: its schema is newer than this server; start a server of "
				"at "
				"least that version\n",
				version, name, count);
			rc = -EEXIST;
		} else if (version != (uint32_t)i + 1) {
			fprintf(errors,
				"postgres: schema_migration goes from %04d to %04u: migration %04d "
				"is "
				"missing; restore the table from a backup\n",
				i, version, i + 1);
			rc = -EILSEQ;
		} else if (strcmp(sha256, list[i].sha256) != 0) {
			fprintf(errors,
				"postgres: migration %04u (%s) was changed after it had run here "
				"(sha256 %.12s… in the database, %.12s… in this server): never "
				"edit a "
				"migration, add one; or this is another program's database\n",
				version, name, sha256, list[i].sha256);
			rc = -EILSEQ;
		}
	}
	PQclear(result);
	return rc;
}

static int apply(PGconn *conn, const struct migration *m, FILE *errors)
{
	char version[16];
	const char *values[3] = {version, m->name, m->sha256};
	PGresult *result;
	int rc;

	snprintf(version, sizeof(version), "%u", m->version);
	rc = run(conn, "BEGIN", STATEMENT_MS, m->name, errors);
	if (rc == 0)
		rc = run(conn, m->sql, MIGRATION_MS, m->name, errors);
	if (rc == 0) {
		result = pg_setup_query(conn,
			"INSERT INTO schema_migration (version, name, sha256) VALUES ($1, $2, $3)",
			values, 3, STATEMENT_MS);
		if (!good(result)) {
			pg_setup_complain(errors, m->name, conn, result);
			rc = -EIO;
		}
		PQclear(result);
	}
	if (rc == 0)
		return run(conn, "COMMIT", STATEMENT_MS, m->name, errors);
	PQclear(pg_setup_query(conn, "ROLLBACK", NULL, 0, STATEMENT_MS));
	return rc;
}

int migrate_run(PGconn *conn, const struct migration *list, uint32_t count, uint32_t lock_wait_ms,
	FILE *errors)
{
	char unlock[64];
	int ran = lock(conn, lock_wait_ms, errors), rc, moved;
	bool distributed;
	uint32_t at;

	if (ran < 0)
		return ran;
	/* About the database, not about a realm: the one table whose key has no realm_id. */
	rc = run(conn,
		"CREATE TABLE IF NOT EXISTS schema_migration (version integer PRIMARY KEY, "
		"name text NOT NULL, sha256 text NOT NULL, ran_at timestamptz NOT NULL DEFAULT "
		"now())",
		STATEMENT_MS, "schema_migration (may this user create tables here?)", errors);
	if (rc == 0)
		rc = compare(conn, list, count, errors);
	distributed = rc >= 0 && distribute_begun(conn);
	for (at = rc < 0 ? count : (uint32_t)rc; at < count; at++) {
		rc = apply(conn, &list[at], errors);
		/* At once, so that the next one may point a foreign key from a new table. */
		if (rc == 0 && distributed)
			rc = distribute_run(conn, errors);
		if (rc < 0)
			break;
		ran++;
	}
	if (rc >= 0 && (moved = distribute_run(conn, errors)) < 0)
		rc = moved;
	snprintf(unlock, sizeof(unlock), "SELECT pg_advisory_unlock(%lld)", MIGRATE_LOCK);
	PQclear(pg_setup_query(conn, unlock, NULL, 0, STATEMENT_MS));
	return rc < 0 ? rc : ran;
}
