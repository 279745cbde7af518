/* What operators correct (common/correction.h), over the link of the requests: one statement each,
 * answered when PostgreSQL has, at once when it is away, and as UNKNOWN when the connection was lost
 * meanwhile: whoever gave the order gives it again under its request, and it is not done twice. */
#include <endian.h>
#include <string.h>

#include "common/correction.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/world/pg_binary.h"
#include "control/world/world_internal.h"

#define COLUMNS 9

/* An answer to a person: when the ring is full control says that it does not know. */
static void answer(struct world *world, const struct msg_correction_result *result)
{
	struct msg message[2];

	_Static_assert(sizeof(*result) + MSG_HEAD_BYTES <= sizeof(message), "two slots");
	memcpy(msg_begin(message, MSG_CORRECTION_RESULT, HANDLE_NONE, sizeof(*result)), result,
		sizeof(*result));
	world_count(world,
		result->result == COMMIT_RESULT_OK ? WORLD_CORRECTIONS_OK
						   : WORLD_CORRECTIONS_REFUSED,
		1);
	msg_ring_push(world->sources[SOURCE_CONTROL].out, message);
}

static struct msg_correction_result refusal(const struct msg_correction *c, uint32_t why)
{
	return (struct msg_correction_result){.order = c->order,
		.request = {c->request[0], c->request[1]},
		.character_id = {c->character_id},
		.result = why};
}

static bool valid(const struct msg_correction *c)
{
	if (c->reverse)
		return c->reverse == 1;
	return c->thing < CORRECTION_THING_COUNT && c->amount != 0 && c->amount != INT64_MIN &&
	       c->item <= INT32_MAX &&
	       (c->thing != CORRECTION_SINGLE ||
		       (c->amount <= (int64_t)CORRECTION_SINGLES_MAX &&
			       c->amount >= -(int64_t)CORRECTION_SINGLES_MAX));
}

static bool send_correction(
	struct world *world, uint32_t place, const struct msg_correction *c, uint64_t now_ns)
{
	static const uint32_t KINDS[CORRECTION_THING_COUNT] = {
		COMMIT_GOLD, COMMIT_EXPERIENCE, COMMIT_SLOT, COMMIT_SLOT};
	const uint32_t realm_id = htobe32(c->realm_id), item = htobe32(c->item);
	const uint32_t kind = htobe32(KINDS[c->thing]);
	const uint64_t request[2] = {htobe64(c->request[0]), htobe64(c->request[1])};
	const uint64_t character_id = htobe64(c->character_id);
	const uint64_t amount = htobe64((uint64_t)c->amount);
	const uint8_t single = c->thing == CORRECTION_SINGLE;
	struct pg_call call = {.name = c->reverse ? "operator_reverse" : "operator_change"};

	pg_call_add(&call, &realm_id, sizeof(realm_id));
	pg_call_add(&call, request, sizeof(request));
	if (!c->reverse) {
		pg_call_add(&call, &character_id, sizeof(character_id));
		pg_call_add(&call, &kind, sizeof(kind));
		pg_call_add(&call, &item, sizeof(item));
		pg_call_add(&call, &single, sizeof(single));
		pg_call_add(&call, &amount, sizeof(amount));
	}
	return pg_link_send(
		world->links[LINK_REQUESTS_INDEX], CORRECTION_TAG | place, &call, 1, now_ns);
}

void corrections_take(struct world *world, const struct msg *message, uint64_t now_ns)
{
	struct msg_correction body;
	struct msg_correction_result no;
	uint32_t place = 0;

	memcpy(&body, msg_payload(message), sizeof(body));
	while (place < CORRECTIONS_MAX && world->corrections[place].order)
		place++;
	no = refusal(&body, COMMIT_RESULT_UNAVAILABLE);
	if (!valid(&body) || !body.order) {
		no.result = COMMIT_RESULT_INVALID;
		answer(world, &no);
	} else if (place == CORRECTIONS_MAX || !send_correction(world, place, &body, now_ns)) {
		answer(world, &no);
	} else {
		world->corrections[place] = body;
	}
}

static bool read_result(const PGresult *row, struct msg_correction_result *result)
{
	if (PQntuples(row) != 1 || PQnfields(row) != COLUMNS || PQgetlength(row, 0, 0) != 16)
		return false;
	memcpy(result->request, PQgetvalue(row, 0, 0), sizeof(result->request));
	for (int i = 0; i < 2; i++) {
		result->request[i] = be64toh(result->request[i]);
		result->character_id[i] = pg_column_64(row, 0, 1 + i);
		result->gold[i] = (int64_t)pg_column_64(row, 0, 4 + 2 * i);
		result->experience[i] = (int64_t)pg_column_64(row, 0, 5 + 2 * i);
	}
	result->result = pg_column_32(row, 0, 3);
	result->repeated = *PQgetvalue(row, 0, 8) != 0;
	return true;
}

void corrections_on_result(struct world *world, uint32_t place, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count)
{
	struct msg_correction_result result =
		refusal(&world->corrections[place], CORRECTION_RESULT_UNKNOWN);

	world->corrections[place].order = 0;
	if (outcome == PG_ERROR)
		result.result = COMMIT_RESULT_UNAVAILABLE; /* all of it was taken back */
	else if (outcome == PG_DONE && !read_result(count == 1 ? results[0] : NULL, &result))
		result.result = CORRECTION_RESULT_UNKNOWN;
	answer(world, &result);
}
