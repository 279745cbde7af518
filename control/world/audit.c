#include "control/world/audit.h"

#include <errno.h>
#include <limits.h>

/* One row for each difference: realm, character, what, by the ledger, as stored. numeric sums: they
 * cannot overflow. The kinds are those of common/commit.h: 0 gold, 1 experience, 2 slot, 3 quest,
 * 4 match result. Of commits that are older than the checkpoint there are no rows any more. */
static const char SQL[] =
	"WITH booked AS (SELECT realm_id, character_id, kind, slot, item, serial, "
	"sum(amount) AS amount FROM (SELECT realm_id, character_id, kind, slot, item, serial, "
	"amount::numeric FROM ledger UNION ALL SELECT realm_id, character_id, kind, slot, item, "
	"serial, amount FROM ledger_sum) a WHERE $1 IN (0, realm_id) "
	"GROUP BY 1, 2, 3, 4, 5, 6), "
	"stored AS ("
	"SELECT realm_id, character_id, 0 AS kind, 0 AS slot, 0 AS item, 0::int8 AS serial, "
	"gold AS amount FROM character "
	"UNION ALL SELECT realm_id, character_id, 1, 0, 0, 0, experience FROM character "
	"UNION ALL SELECT realm_id, character_id, 2, slot, item, serial, count FROM item_slot "
	"UNION ALL SELECT realm_id, character_id, 3, 0, quest, 0, state FROM quest "
	"UNION ALL SELECT realm_id, character_id, 4, 0, rule, match_id, place FROM match_result) "
	"SELECT realm_id, character_id, CASE kind WHEN 0 THEN 'gold' WHEN 1 THEN 'experience' "
	"WHEN 2 THEN format('slot %s item %s serial %s', slot, item, serial) "
	"WHEN 3 THEN format('quest %s', item) "
	"ELSE format('match %s rule %s', serial, item) END, "
	"coalesce(b.amount, 0), coalesce(s.amount, 0) "
	"FROM booked b FULL JOIN (SELECT * FROM stored WHERE $1 IN (0, realm_id)) s "
	"USING (realm_id, character_id, kind, slot, item, serial) "
	"WHERE coalesce(b.amount, 0) <> coalesce(s.amount, 0) "
	"UNION ALL "
	"SELECT coalesce(l.realm_id, r.realm_id), coalesce(l.character_id, r.character_id), "
	"format('commit %s', coalesce(l.request, r.request)), coalesce(l.ops, 0), "
	"(r.request IS NOT NULL)::int FROM "
	"(SELECT realm_id, request, min(character_id) AS character_id, count(*) AS ops, "
	"max(at) AS at FROM ledger "
	"GROUP BY 1, 2 HAVING $1 IN (0, realm_id) AND request <> "
	"md5('opening ' || realm_id || ' ' || min(character_id))::uuid) l "
	"FULL JOIN (SELECT c.realm_id, c.request, c.character_id FROM commit_record c "
	"LEFT JOIN ledger_checkpoint k ON k.realm_id = c.realm_id WHERE c.result = 0 AND "
	"$1 IN (0, c.realm_id) AND c.at > coalesce(k.up_to, '-infinity')) r "
	"USING (realm_id, request) WHERE l.request IS NULL "
	"OR (r.request IS NULL AND l.at > now() - interval '24 hours') "
	"UNION ALL "
	"SELECT k.realm_id, 0, 'checkpoint, ' || w.what, coalesce(s.amount, 0), w.amount "
	"FROM ledger_checkpoint k CROSS JOIN LATERAL (VALUES (0, 'gold', k.gold), "
	"(1, 'experience', k.experience), (2, 'items', k.items)) AS w (kind, what, amount) "
	"CROSS JOIN LATERAL (SELECT sum(amount) AS amount FROM ledger_sum s "
	"WHERE s.realm_id = k.realm_id AND s.kind = w.kind) s "
	"WHERE $1 IN (0, k.realm_id) AND coalesce(s.amount, 0) <> w.amount "
	"ORDER BY 1, 2, 3";

int audit_ledger(PGconn *conn, uint32_t realm_id, FILE *out)
{
	char realm[16];
	const char *values[1] = {realm};
	const Oid types[1] = {23}; /* integer */
	PGresult *rows;
	int count;

	snprintf(realm, sizeof(realm), "%d", (int32_t)realm_id);
	rows = PQexecParams(conn, SQL, 1, types, values, NULL, NULL, 0);
	if (PQresultStatus(rows) != PGRES_TUPLES_OK) {
		fprintf(out, "postgres: %s", PQresultErrorMessage(rows));
		PQclear(rows);
		return -EIO;
	}
	count = PQntuples(rows);
	for (int i = 0; i < count; i++)
		fprintf(out, "realm %s character %s %s: ledger %s, stored %s\n",
			PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1), PQgetvalue(rows, i, 2),
			PQgetvalue(rows, i, 3), PQgetvalue(rows, i, 4));
	PQclear(rows);
	return count;
}
