/* Parties as they are to be found again when Redis has lost everything: written behind, in batches,
 * the greatest version of each; and read again, in pages. On the requests link, by tags of their
 * own. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/world/pg_binary.h"
#include "control/world/text.h"
#include "control/world/world_internal.h"

#define COLUMNS 4u
/* A restore waits so long for what is still to be written. */
#define RESTORE_WAIT_NS (5 * NS_PER_S)
/* What is out of date is removed so often; a restore does not read it. */
#define PRUNE_NS (600 * NS_PER_S)

enum { TAG_SAVE, TAG_EPOCH, TAG_PAGE, TAG_PRUNE };

bool parties_init(struct parties *parties)
{
	parties->rows = calloc(PARTIES_PENDING_MAX, sizeof(*parties->rows));
	parties->columns = malloc(
		COLUMNS * PG_ARRAY_HEAD_BYTES + PARTIES_BATCH * (COLUMNS * 12 + MSG_PAYLOAD_MAX));
	parties->batch.limit = PARTIES_BATCH;
	return parties->rows && parties->columns;
}

void parties_fini(struct parties *parties)
{
	struct party_owed *owed;

	for (uint32_t i = 0; parties->rows && i < parties->count; i++)
		free(parties->rows[(parties->head + i) % PARTIES_PENDING_MAX].text);
	free(parties->rows);
	free(parties->columns);
	while ((owed = parties->owed)) {
		parties->owed = owed->next;
		free(owed);
	}
}

/* ---- saves ---- */

void parties_take(struct world *world, const struct msg *message)
{
	struct parties *parties = &world->parties;
	struct msg_party_save save;
	const char *text = (const char *)msg_payload(message) + sizeof(save);
	struct party_row *row;

	memcpy(&save, msg_payload(message), sizeof(save));
	world_count(world, WORLD_PARTIES_TAKEN, 1);
	if (save.text_bytes != message->payload_bytes - sizeof(save) || !save.party_id ||
		!world_text_valid(text, save.text_bytes) || memchr(text, 0, save.text_bytes)) {
		world_count(world, WORLD_PARTIES_INVALID, 1);
		return;
	}
	row = &parties->rows[(parties->head + parties->count) % PARTIES_PENDING_MAX];
	if (parties->count == PARTIES_PENDING_MAX || !(row->text = malloc(save.text_bytes + 1))) {
		world_count(world, WORLD_PARTIES_DROPPED, 1); /* the next change says it all */
		return;
	}
	memcpy(row->text, text, save.text_bytes);
	row->save = save;
	parties->count++;
}

static void send_batch(struct world *world, uint64_t now_ns)
{
	struct parties *parties = &world->parties;
	const uint32_t realm_id = parties->rows[parties->head].save.realm_id;
	const uint32_t realm_be = htobe32(realm_id);
	static const uint32_t types[COLUMNS] = {
		PG_OID_INT8, PG_OID_INT8, PG_OID_TEXT, PG_OID_INT4};
	struct pg_call call = {.name = "save_parties"};
	uint8_t *at = parties->columns;
	uint32_t count = 0;

	while (count < parties->count && count < parties->batch.limit &&
		parties->rows[(parties->head + count) % PARTIES_PENDING_MAX].save.realm_id ==
			realm_id)
		count++;
	pg_call_add(&call, &realm_be, sizeof(realm_be));
	for (uint32_t c = 0; c < COLUMNS; c++) {
		uint8_t *start = at;

		at = pg_array_begin(at, types[c], count);
		for (uint32_t i = 0; i < count; i++) {
			const struct party_row *row =
				&parties->rows[(parties->head + i) % PARTIES_PENDING_MAX];

			switch (c) {
			case 0:
				at = pg_array_64(at, row->save.party_id);
				break;
			case 1:
				at = pg_array_64(at, row->save.version);
				break;
			case 2:
				at = pg_array_bytes(at, row->text, row->save.text_bytes);
				break;
			default:
				at = pg_array_32(at, row->save.keep_s);
			}
		}
		pg_call_add(&call, start, (size_t)(at - start));
	}
	if (!pg_link_send(
		    world->links[LINK_REQUESTS_INDEX], PARTIES_TAG | TAG_SAVE, &call, 1, now_ns))
		return;
	parties->in_flight = count;
	batch_sent(&parties->batch, count, now_ns);
}

static void settle(struct world *world)
{
	struct parties *parties = &world->parties;

	for (; parties->in_flight; parties->in_flight--) {
		free(parties->rows[parties->head].text);
		parties->rows[parties->head].text = NULL;
		parties->head = (parties->head + 1) % PARTIES_PENDING_MAX;
		parties->count--;
	}
}

static void saved(
	struct world *world, enum pg_outcome outcome, const PGresult *result, uint64_t now_ns)
{
	struct parties *parties = &world->parties;
	const char *sqlstate;
	bool data;

	if (outcome == PG_DONE) {
		world_count(world, WORLD_PARTIES_SAVED, parties->in_flight);
		settle(world);
		batch_done(&parties->batch, PARTIES_BATCH);
		return;
	}
	if (outcome == PG_ERROR) {
		sqlstate = pg_sqlstate(result);
		data = !strncmp(sqlstate, "22", 2) || !strncmp(sqlstate, "23", 2);
		batch_say(&parties->batch, "parties",
			PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY), sqlstate, now_ns);
		batch_failed(&parties->batch, data, now_ns);
		if (data && parties->in_flight == 1) {
			world_count(world, WORLD_PARTIES_INVALID, 1);
			parties->batch.retry_ns = 0;
			settle(world);
			return;
		}
	}
	parties->in_flight = 0; /* again: the greatest version wins, as often as it comes */
}

/* ---- restore ---- */

static void answer(struct world *world, const struct msg_party_restored *body, const char *text)
{
	struct parties *parties = &world->parties;
	struct msg_ring *out = world->sources[SOURCE_CONTROL].out;
	struct msg *message = world->scratch.slot;
	struct party_owed *owed;
	uint8_t *at = msg_begin(message, MSG_PARTY_RESTORED, HANDLE_NONE,
		(uint32_t)sizeof(*body) + body->text_bytes);

	memcpy(at, body, sizeof(*body));
	memcpy(at + sizeof(*body), text, body->text_bytes);
	if (!parties->owed && msg_ring_push(out, message))
		return;
	owed = aligned_alloc(MSG_SLOT_BYTES,
		(sizeof(*owed) + message->slots * sizeof(*message) + MSG_SLOT_BYTES - 1) &
			~(size_t)(MSG_SLOT_BYTES - 1));
	if (!owed)
		return; /* control waits for it a while, and begins anew */
	owed->next = NULL;
	memcpy(owed->message, message, message->slots * sizeof(*message));
	*(parties->owed ? &parties->owed_last->next : &parties->owed) = owed;
	parties->owed_last = owed;
}

void parties_owed(struct world *world)
{
	struct parties *parties = &world->parties;
	struct party_owed *owed;

	while ((owed = parties->owed) &&
		msg_ring_push(world->sources[SOURCE_CONTROL].out, owed->message)) {
		parties->owed = owed->next;
		free(owed);
	}
}

static void unavailable(struct world *world)
{
	const struct msg_party_restored body = {
		.request = world->parties.restore.request, .what = PARTY_RESTORED_UNAVAILABLE};

	world->parties.restoring = PARTIES_IDLE;
	answer(world, &body, "");
}

void parties_restore(struct world *world, const struct msg *message, uint64_t now_ns)
{
	struct parties *parties = &world->parties;

	memcpy(&parties->restore, msg_payload(message), sizeof(parties->restore));
	/* One that is under way is nobody's any more; its result is dropped. */
	parties->serial++;
	parties->restoring = parties->restore.epoch ? PARTIES_READ : PARTIES_EPOCH;
	parties->restore_by_ns = now_ns + RESTORE_WAIT_NS;
	parties->restore_asked = false;
}

static uint64_t tag_of(const struct parties *parties, uint32_t what)
{
	return PARTIES_TAG | (uint64_t)parties->serial << 8 | what;
}

static void restore_pump(struct world *world, uint64_t now_ns)
{
	struct parties *parties = &world->parties;
	uint32_t realm_id = htobe32(parties->restore.realm_id), rows = htobe32(PARTY_PAGE_ROWS);
	uint64_t before = htobe64(parties->restore.before ? parties->restore.before : INT64_MAX);
	struct pg_call call = {0};

	if (parties->restoring == PARTIES_IDLE)
		return;
	if (now_ns >= parties->restore_by_ns) {
		unavailable(world);
		return;
	}
	/* What was changed before it was lost is read, too. */
	if (parties->restore_asked || (parties->restoring == PARTIES_EPOCH && parties->count))
		return;
	call.name = parties->restoring == PARTIES_EPOCH ? "party_epoch" : "read_parties";
	pg_call_add(&call, &realm_id, 4);
	if (parties->restoring == PARTIES_READ) {
		pg_call_add(&call, &before, 8);
		pg_call_add(&call, &rows, 4);
	}
	parties->restore_asked = pg_link_send(world->links[LINK_REQUESTS_INDEX],
		tag_of(parties, parties->restoring == PARTIES_EPOCH ? TAG_EPOCH : TAG_PAGE), &call,
		1, now_ns);
}

static void page(struct world *world, const PGresult *result)
{
	struct parties *parties = &world->parties;
	struct msg_party_restored body = {
		.request = parties->restore.request, .epoch = parties->restore.epoch};
	int rows = PQntuples(result);

	parties->restoring = PARTIES_IDLE;
	for (int i = 0; i < rows; i++) {
		body.party_id = pg_column_64(result, i, 0);
		body.version = pg_column_64(result, i, 1);
		body.text_bytes = (uint32_t)PQgetlength(result, i, 2);
		body.what = PARTY_RESTORED_ROW;
		if (body.text_bytes > MSG_PAYLOAD_MAX - sizeof(body))
			continue; /* the schema does not let it in */
		answer(world, &body, PQgetvalue(result, i, 2));
	}
	body.what = PARTY_RESTORED_END;
	body.text_bytes = 0;
	body.party_id = 0;
	if (rows < (int)PARTY_PAGE_ROWS)
		body.version = 0;
	answer(world, &body, "");
}

static void restored(
	struct world *world, uint64_t tag, enum pg_outcome outcome, PGresult *const *results)
{
	struct parties *parties = &world->parties;

	if (parties->restoring == PARTIES_IDLE || (uint32_t)(tag >> 8) != parties->serial)
		return;
	parties->restore_asked = false;
	if (outcome == PG_UNKNOWN)
		return; /* again, until its deadline; an epoch that nobody uses does no harm */
	if (outcome == PG_ERROR) {
		unavailable(world);
	} else if ((tag & 0xff) == TAG_PAGE) {
		page(world, results[0]);
	} else if (PQntuples(results[0]) == 1) {
		parties->restore.epoch = pg_column_64(results[0], 0, 0);
		parties->restoring = PARTIES_READ;
	} else {
		unavailable(world);
	}
}

/* ---- both ---- */

static void prune(struct world *world, uint64_t now_ns)
{
	struct pg_call call = {.name = "prune_parties"};
	uint32_t realm_id = htobe32(world->config->node.realm_id);

	if (now_ns < world->parties.prune_ns)
		return;
	pg_call_add(&call, &realm_id, 4);
	if (pg_link_send(
		    world->links[LINK_REQUESTS_INDEX], PARTIES_TAG | TAG_PRUNE, &call, 1, now_ns))
		world->parties.prune_ns = now_ns + PRUNE_NS;
}

void parties_pump(struct world *world, uint64_t now_ns)
{
	struct parties *parties = &world->parties;

	parties_owed(world);
	if (!pg_link_ready(world->links[LINK_REQUESTS_INDEX])) {
		if (parties->restoring != PARTIES_IDLE && now_ns >= parties->restore_by_ns)
			unavailable(world);
		return;
	}
	if (parties->count && !parties->in_flight && now_ns >= parties->batch.retry_ns)
		send_batch(world, now_ns);
	restore_pump(world, now_ns);
	prune(world, now_ns);
}

void parties_on_result(struct world *world, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count)
{
	uint64_t now_ns = mono_ns();

	switch (tag & 0xff) {
	case TAG_SAVE:
		saved(world, outcome, count ? results[count - 1] : NULL, now_ns);
		flush_check(world, now_ns);
		break;
	case TAG_PRUNE:
		break;
	default:
		restored(world, tag, outcome, results);
	}
	if (outcome != PG_UNKNOWN)
		parties_pump(world, now_ns);
}
