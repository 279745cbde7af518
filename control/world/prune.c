/* Records of finished commits are kept for repeats, and taken away when no repeat can have an
 * effect any more: older than postgres.record_hours, and older than the last login of their
 * character. That login raised the epoch, so whoever still sends the request, however late, is
 * refused as STALE; the age alone would prove nothing of a copy that waits for a connection to come
 * back. (A record's time is when its transaction began. One under the new epoch begins after the
 * login that gave it.)
 *
 * The table is read by its key, a page at a time, for as long as the pages are full, and again
 * after a pause. Nodes of one realm that do so at once do no harm. */
#include "control/world/pg_binary.h"
#include "control/world/world_internal.h"

#include <endian.h>
#include <string.h>

#include "common/mono.h"

#define PAGE_PAUSE_NS  (100 * NS_PER_MS) /* so at most 10 pages a second */
#define SWEEP_PAUSE_NS (600 * NS_PER_S)
#define RETRY_NS       (10 * NS_PER_S)

void prune_pump(struct world *world, uint64_t now_ns)
{
	const uint32_t realm_id = htobe32(world->config->node.realm_id);
	const uint32_t hours = htobe32(world->config->postgres.record_hours);
	struct pg_call call = {.name = "prune_records"};

	if (world->prune_under_way || now_ns < world->prune_ns ||
		!pg_link_ready(world->links[LINK_REQUESTS_INDEX]))
		return;
	pg_call_add(&call, &realm_id, sizeof(realm_id));
	pg_call_add(&call, world->prune_after, sizeof(world->prune_after));
	pg_call_add(&call, &hours, sizeof(hours));
	world->prune_under_way =
		pg_link_send(world->links[LINK_REQUESTS_INDEX], PRUNE_TAG, &call, 1, now_ns);
}

void prune_on_result(
	struct world *world, enum pg_outcome outcome, PGresult *const *results, uint32_t count)
{
	const PGresult *row = outcome == PG_DONE && count == 1 ? results[0] : NULL;
	uint64_t now_ns = mono_ns();

	world->prune_under_way = false;
	if (PQntuples(row) != 1 || PQnfields(row) != 3) {
		world->prune_ns = now_ns + RETRY_NS;
		return;
	}
	world_count(world, WORLD_RECORDS_PRUNED, pg_column_64(row, 0, 1));
	if (pg_column_64(row, 0, 0) == PRUNE_PAGE &&
		PQgetlength(row, 0, 2) == sizeof(world->prune_after)) {
		memcpy(world->prune_after, PQgetvalue(row, 0, 2), sizeof(world->prune_after));
		world->prune_ns = now_ns + PAGE_PAUSE_NS;
	} else {
		memset(world->prune_after, 0, sizeof(world->prune_after));
		world->prune_ns = now_ns + SWEEP_PAUSE_NS;
	}
}
