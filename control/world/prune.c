/* What is kept for a time and then goes, a page at a time, for as long as pages are full, and again
 * after a pause. Nodes of one realm that do so at once do no harm.
 *
 * Records of finished commits are kept for repeats, and taken away when no repeat can have an effect
 * any more: older than postgres.record_hours, and older than the last login of their character. That
 * login raised the epoch, so whoever still sends the request, however late, is refused as STALE; the
 * age alone would prove nothing of a copy that waits for a connection to come back. (A record's time
 * is when its transaction began. One under the new epoch begins after the login that gave it.) The
 * table is read by its key.
 *
 * Rows of the ledger that are older than postgres.ledger_days, if that is set, are summed up in
 * ledger_sum by the statement that takes them away, oldest first: the key leads with the time, and
 * ledger_checkpoint says how far it is. */
#include "control/world/pg_binary.h"
#include "control/world/world_internal.h"

#include <endian.h>
#include <string.h>

#include "common/mono.h"

#define PAGE_PAUSE_NS  (100 * NS_PER_MS) /* so at most 10 pages a second */
#define SWEEP_PAUSE_NS (600 * NS_PER_S)
#define RETRY_NS       (10 * NS_PER_S)
#define LOST_PAUSE_NS  NS_PER_S /* with the connection */

static void sweep_send(struct world *world, struct sweep *sweep, uint64_t tag,
	const struct pg_call *calls, uint32_t count, uint64_t now_ns)
{
	sweep->under_way =
		pg_link_send(world->links[LINK_REQUESTS_INDEX], tag, calls, count, now_ns);
}

static bool sweep_due(const struct sweep *sweep, uint64_t now_ns)
{
	return !sweep->under_way && now_ns >= sweep->next_ns;
}

/* The numbers of the first row: how many were looked at, how many went. NULL: it failed. */
static const PGresult *sweep_row(struct sweep *sweep, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count, int columns)
{
	const PGresult *row = outcome == PG_DONE && count > 0 ? results[0] : NULL;
	bool good = PQntuples(row) == 1 && PQnfields(row) == columns;

	sweep->under_way = false;
	sweep->next_ns = mono_ns();
	if (outcome == PG_UNKNOWN)
		sweep->next_ns += LOST_PAUSE_NS;
	else if (!good)
		sweep->next_ns += RETRY_NS;
	else if (pg_column_64(row, 0, 0) >= PRUNE_PAGE)
		sweep->next_ns += PAGE_PAUSE_NS;
	else
		sweep->next_ns += SWEEP_PAUSE_NS;
	return good ? row : NULL;
}

void prune_pump(struct world *world, uint64_t now_ns)
{
	const uint32_t realm_id = htobe32(world->config->node.realm_id);
	const uint32_t hours = htobe32(world->config->postgres.record_hours);
	const uint32_t days = htobe32(world->config->postgres.ledger_days);
	struct pg_call records = {.name = "prune_records"};
	struct pg_call ledger[2] = {{.name = "prune_ledger"}, {.name = "prune_sums"}};

	if (!pg_link_ready(world->links[LINK_REQUESTS_INDEX]))
		return;
	if (sweep_due(&world->record_sweep, now_ns)) {
		pg_call_add(&records, &realm_id, sizeof(realm_id));
		pg_call_add(&records, world->records_after, sizeof(world->records_after));
		pg_call_add(&records, &hours, sizeof(hours));
		sweep_send(world, &world->record_sweep, PRUNE_TAG, &records, 1, now_ns);
	}
	if (days && sweep_due(&world->ledger_sweep, now_ns)) {
		pg_call_add(&ledger[0], &realm_id, sizeof(realm_id));
		pg_call_add(&ledger[0], &days, sizeof(days));
		pg_call_add(&ledger[1], &realm_id, sizeof(realm_id));
		sweep_send(world, &world->ledger_sweep, LEDGER_TAG, ledger, 2, now_ns);
	}
}

void prune_on_records(
	struct world *world, enum pg_outcome outcome, PGresult *const *results, uint32_t count)
{
	const PGresult *row = sweep_row(&world->record_sweep, outcome, results, count, 3);

	if (!row)
		return;
	world_count(world, WORLD_RECORDS_PRUNED, pg_column_64(row, 0, 1));
	if (pg_column_64(row, 0, 0) == PRUNE_PAGE &&
		PQgetlength(row, 0, 2) == sizeof(world->records_after))
		memcpy(world->records_after, PQgetvalue(row, 0, 2), sizeof(world->records_after));
	else
		memset(world->records_after, 0, sizeof(world->records_after));
}

void prune_on_ledger(
	struct world *world, enum pg_outcome outcome, PGresult *const *results, uint32_t count)
{
	const PGresult *row = sweep_row(&world->ledger_sweep, outcome, results, count, 2);

	if (row)
		world_count(world, WORLD_LEDGER_PRUNED, pg_column_64(row, 0, 1));
}
