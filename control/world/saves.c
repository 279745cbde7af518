/* Batches of saves, and the flush. */
#include "common/check.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/world/text.h"
#include "control/world/world_internal.h"

/* Nothing that PostgreSQL would refuse as data may get into a batch: it would fail the others. */
static bool valid(const struct msg_position_save *save)
{
	size_t bytes = strnlen(save->map, MAP_NAME_BYTES);

	return bytes > 0 && bytes < MAP_NAME_BYTES && world_text_valid(save->map, bytes);
}

void saves_take(struct world *world, const struct msg *message, uint64_t now_ns)
{
	struct msg_position_save save;

	memcpy(&save, msg_payload(message), sizeof(save));
	world_count(world, WORLD_SAVES_TAKEN, 1);
	if (!valid(&save)) {
		world_count(world, WORLD_SAVES_INVALID, 1);
		return;
	}
	/* The last places are for those who leave: an autosave comes again. */
	if (!save.leaving &&
		save_table_used(world->saves) >= world->config->postgres.saves_pending_max &&
		!save_table_has(world->saves, save.realm_id, save.character_id)) {
		world_count(world, WORLD_SAVES_DROPPED, 1);
		return;
	}
	switch (save_table_put(world->saves, &save, now_ns)) {
	case SAVE_PUT_NEW:
		break;
	case SAVE_PUT_COALESCED:
		world_count(world, WORLD_SAVES_COALESCED, 1);
		break;
	case SAVE_PUT_OUTDATED:
		world_count(world, WORLD_SAVES_OUTDATED, 1);
		break;
	case SAVE_PUT_FULL:
		CHECK(!"a ring is read only while the reserve for leaving saves is free");
	}
}

bool saves_room(const struct world *world)
{
	return save_table_used(world->saves) <= world->config->postgres.saves_pending_max;
}

void saves_pump(struct world *world, uint64_t now_ns)
{
	const struct save *saves;
	struct pg_call call;
	uint32_t waiting = save_table_waiting(world->saves), count;

	if (waiting == 0 || save_table_in_flight(world->saves) > 0 ||
		now_ns < world->save_batch.retry_ns ||
		!pg_link_ready(world->links[LINK_SAVES_INDEX]))
		return;
	if (waiting < world->save_batch.limit && world->flushes == 0 &&
		TAILQ_EMPTY(&world->wait_writes) &&
		now_ns < save_table_front_ns(world->saves) + SAVE_LINGER_NS)
		return;
	count = save_table_take(world->saves, world->save_batch.limit, &saves);
	save_encoder_fill(world->encoder, saves, count, &call);
	if (!pg_link_send(world->links[LINK_SAVES_INDEX], 0, &call, 1, now_ns)) {
		save_table_put_back(world->saves, true);
		return;
	}
	batch_sent(&world->save_batch, count, now_ns);
}

static void saves_settled(struct world *world, uint32_t written, uint64_t now_ns)
{
	save_table_settle(world->saves);
	world_count(world, WORLD_SAVES_COMMITTED, written);
	world_count(world, WORLD_SAVES_REFUSED, world->save_batch.rows - written);
	requests_writes_settled(world, now_ns);
}

/* The batch as a whole failed: a lock that someone holds too long, a full disk, a row that cannot
 * be. Smaller ones find the row that is to blame, and let the others pass it. */
static void saves_failed(struct world *world, const PGresult *result, uint64_t now_ns)
{
	const char *sqlstate = pg_sqlstate(result);
	bool never = strncmp(sqlstate, "22", 2) == 0 || strncmp(sqlstate, "23", 2) == 0;

	world_count(world, WORLD_BATCHES_FAILED, 1);
	batch_say(&world->save_batch, "saves", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY),
		sqlstate, now_ns);
	batch_failed(&world->save_batch, never, now_ns);
	if (never && world->save_batch.rows == 1) {
		world->save_batch.retry_ns = 0;
		saves_settled(world, 0, now_ns);
		return;
	}
	save_table_put_back(world->saves, false);
}

void saves_on_result(void *context, uint64_t tag, enum pg_outcome outcome, PGresult *const *results,
	uint32_t count)
{
	struct world *world = ((struct link_end *)context)->world;
	uint64_t now_ns = mono_ns();

	(void)tag;
	switch (outcome) {
	case PG_DONE:
		histogram_add(&world->batch_time, now_ns - world->save_batch.sent_ns);
		world_count(world, WORLD_BATCHES, 1);
		batch_done(&world->save_batch, world->config->postgres.saves_per_batch);
		saves_settled(world, statements_saved(results, count), now_ns);
		break;
	case PG_ERROR:
		saves_failed(world, results[count - 1], now_ns);
		break;
	case PG_UNKNOWN:
		world_count(world, WORLD_BATCHES_UNKNOWN, 1);
		save_table_put_back(world->saves, true);
		break;
	}
	flush_check(world, now_ns);
	saves_pump(world, now_ns);
}

void flush_take(struct world *world, uint64_t now_ns)
{
	/* One that comes while another is due joins it. */
	if (world->flushes++ == 0)
		world->flush_deadline_ns =
			now_ns + world->config->node.stop_deadline_ms * NS_PER_MS;
	world->flush_sequence = save_table_sequence(world->saves);
	world->flush_commits = commit_table_sequence(world->commits);
	world->flush_stalled = world->stalled;
	for (uint32_t i = 0; i < world->link_count; i++)
		pg_link_hurry(world->links[i]);
	saves_pump(world, now_ns);
	commits_pump(world, now_ns);
	parties_pump(world, now_ns);
	nodes_stop(world, now_ns);
	flush_check(world, now_ns);
}

/* So many are named in the log; the log's queue takes 512 lines. */
#define NAMED_MAX      2048u
#define NAMED_PER_LINE 8u

/* What an operator needs to put players back by hand: who, where, and as whose writer. */
static void name_unsaved(const struct world *world, uint32_t unsaved)
{
	static struct save saves[NAMED_MAX]; /* the world thread alone comes here */
	uint32_t count =
		save_table_unsettled_list(world->saves, world->flush_sequence, saves, NAMED_MAX);

	for (uint32_t i = 0; i < count; i += NAMED_PER_LINE) {
		char text[SW_LOG_TEXT_BYTES];
		size_t bytes = 0;

		for (uint32_t n = i; n < count && n < i + NAMED_PER_LINE; n++) {
			const struct msg_position_save *p = &saves[n].position;
			int more = snprintf(text + bytes, sizeof(text) - bytes,
				"%s%u:%llu %.*s %d,%d", n > i ? "; " : "", p->realm_id,
				(unsigned long long)p->character_id, (int)sizeof(p->map), p->map,
				p->x_mm, p->y_mm);

			if (more > 0 && bytes + (size_t)more < sizeof(text))
				bytes += (size_t)more;
		}
		sw_log(SW_LOG_ERROR, "world",
			"not saved in time (realm:character map x_mm,y_mm): %.*s", (int)bytes,
			text);
	}
	if (unsaved > count)
		sw_log(SW_LOG_ERROR, "world", "not saved in time: %u more", unsaved - count);
}

void flush_check(struct world *world, uint64_t now_ns)
{
	uint32_t unsaved, unsettled;

	if (world->flushes == 0)
		return;
	if (world->flush_stalled && !world->stalled) {
		/* What stood in the rings has been taken by now. */
		world->flush_stalled = false;
		world->flush_sequence = save_table_sequence(world->saves);
		world->flush_commits = commit_table_sequence(world->commits);
	}
	unsaved = save_table_unsettled(world->saves, world->flush_sequence);
	unsettled = commit_table_unsettled(world->commits, world->flush_commits, NULL, 0);
	for (uint32_t s = 1; world->flush_stalled && s < world->source_count; s++)
		unsaved += (msg_ring_used(world->sources[s].in) + 1) / 2; /* a save has two slots */
	if ((unsaved > 0 || unsettled > 0 || world->parties.count > 0 || world->flush_stalled ||
		    world->nodes.saying) &&
		now_ns < world->flush_deadline_ns)
		return;
	if (unsaved)
		name_unsaved(world, unsaved);
	if (unsettled)
		commits_name_unsettled(world);
	if (world->parties.count)
		sw_log(SW_LOG_ERROR, "world", "%u changes of parties were not written down in time",
			world->parties.count);
	world->flushed_unsaved = unsaved + unsettled + world->parties.count;
	world->flushed_owed += world->flushes;
	world->flushes = 0;
	rounds_owed(world);
}
