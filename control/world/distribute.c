#include "control/world/distribute.h"

#include <errno.h>

#include "control/world/pg_setup.h"

#define STATEMENT_MS 10000u
/* The rows that a table has move to its shards: long, but not for ever. */
#define TABLE_MS (30u * 60 * 1000)
#define ROOT     "character"

/* pg_dist_partition is Citus's table of distributed tables. What a foreign key points at first, and
 * before all others the one with which they lie. Partitions are Citus's own business. */
static const char LIST[] =
	"SELECT t.oid::regclass::text, CASE t.relname WHEN '" ROOT "' THEN 'none' ELSE '" ROOT "' "
	"END FROM pg_class t "
	"JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'realm_id' "
	"WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' "
	"AND NOT t.relispartition "
	"AND t.oid NOT IN (SELECT logicalrelid::oid FROM pg_dist_partition) "
	"ORDER BY t.relname <> '" ROOT "', EXISTS (SELECT FROM pg_constraint k "
	"WHERE k.contype = 'f' AND k.conrelid = t.oid), t.relname";

static bool has_citus(PGconn *conn)
{
	return pg_setup_number(conn, "SELECT count(*) FROM pg_extension WHERE extname = 'citus'",
		       STATEMENT_MS, 0) == 1;
}

bool distribute_begun(PGconn *conn)
{
	return has_citus(conn) &&
	       pg_setup_number(conn,
		       "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = "
		       "to_regclass('" ROOT "')",
		       STATEMENT_MS, 0) == 1;
}

static int distribute(PGconn *conn, const char *table, const char *beside, FILE *errors)
{
	const char *values[2] = {table, beside};
	PGresult *result = pg_setup_query(conn,
		"SELECT create_distributed_table($1::regclass, 'realm_id', colocate_with => $2)",
		values, 2, TABLE_MS);
	int rc = PQresultStatus(result) == PGRES_TUPLES_OK ? 0 : -EIO;
	char what[160];

	snprintf(what, sizeof(what), "citus: table %s cannot be distributed", table);
	if (rc != 0)
		pg_setup_complain(errors, what, conn, result);
	PQclear(result);
	return rc;
}

int distribute_run(PGconn *conn, FILE *errors)
{
	PGresult *list;
	int count, rc = 0;

	if (!has_citus(conn))
		return 0;
	list = pg_setup_query(conn, LIST, NULL, 0, STATEMENT_MS);
	count = PQntuples(list);
	if (PQresultStatus(list) != PGRES_TUPLES_OK) {
		pg_setup_complain(errors, "citus: pg_dist_partition", conn, list);
		rc = -EIO;
	}
	for (int i = 0; rc == 0 && i < count; i++)
		rc = distribute(conn, PQgetvalue(list, i, 0), PQgetvalue(list, i, 1), errors);
	PQclear(list);
	return rc < 0 ? rc : count;
}
