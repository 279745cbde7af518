/* Records of what operators did: into the journal at once, and from there into ops_audit_log, one
 * at a time, over the link of the requests. A record is dropped from the journal when PostgreSQL
 * has it; one that is sent again is recognised by its id. What PostgreSQL refuses as data, which is
 * our bug, is said and dropped: it must not hold up the others. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/world/pg_binary.h"
#include "control/world/world_internal.h"

#define RETRY_NS NS_PER_S

static void copy(char *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	to[bytes] = 0;
}

static void uuid_text(char out[37], const uint64_t id[2])
{
	snprintf(out, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(id[0] >> 32),
		(unsigned)(id[0] >> 16 & 0xffff), (unsigned)(id[0] & 0x0fff) | 0x4000,
		(unsigned)(id[1] >> 48 & 0x3fff) | 0x8000,
		(unsigned long long)(id[1] & 0xffffffffffffull));
}

void audits_take(struct world *world, const struct msg *message)
{
	const uint8_t *text = msg_payload(message) + sizeof(struct msg_audit);
	struct journal_record r = {0};
	struct msg_audit body;

	if (message->payload_bytes < sizeof(body)) {
		world_count(world, WORLD_MESSAGES_UNKNOWN, 1);
		return;
	}
	memcpy(&body, msg_payload(message), sizeof(body));
	if (body.what_bytes > AUDIT_TEXT_BYTES || body.outcome_bytes > AUDIT_TEXT_BYTES ||
		message->payload_bytes != sizeof(body) + body.what_bytes + body.outcome_bytes) {
		world_count(world, WORLD_MESSAGES_UNKNOWN, 1);
		return;
	}
	uuid_text(r.id, body.id);
	r.at_ms = body.at_ms;
	r.good = body.good != 0;
	copy(r.author, body.author, strnlen(body.author, sizeof(body.author) - 1));
	copy(r.kind, body.kind, strnlen(body.kind, sizeof(body.kind) - 1));
	copy(r.what, text, body.what_bytes);
	copy(r.outcome, text + body.what_bytes, body.outcome_bytes);
	world_count(world, WORLD_AUDITS_TAKEN, 1);
	if (journal_add(&world->journal, &r))
		return;
	world_count(world, WORLD_AUDITS_LOST, 1);
	sw_log(SW_LOG_ERROR, "world",
		"what %s did (%s) is in no journal, and will not be in ops_audit_log: %s", r.author,
		r.what, strerror(errno));
}

static bool send_record(struct world *world, const struct journal_record *r, uint64_t now_ns)
{
	const uint64_t at_ms = htobe64((uint64_t)r->at_ms);
	const uint32_t realm_id = htobe32(world->config->node.realm_id);
	const char *node = world->config->node.name;
	const uint8_t good = r->good;
	struct pg_call call = {.name = "audit"};

	pg_call_add(&call, &realm_id, sizeof(realm_id));
	pg_call_add(&call, r->id, strlen(r->id));
	pg_call_add(&call, &at_ms, sizeof(at_ms));
	pg_call_add(&call, node, strlen(node));
	pg_call_add(&call, r->author, strlen(r->author));
	pg_call_add(&call, r->kind, strlen(r->kind));
	pg_call_add(&call, r->what, strlen(r->what));
	pg_call_add(&call, &good, sizeof(good));
	pg_call_add(&call, r->outcome, strlen(r->outcome));
	return pg_link_send(world->links[LINK_REQUESTS_INDEX], AUDIT_TAG, &call, 1, now_ns);
}

void audits_pump(struct world *world, uint64_t now_ns)
{
	struct journal_record record;

	counter_put(&world->values[WORLD_AUDITS_WAITING], world->journal.waiting);
	if (world->audit_under_way || !world->journal.waiting || now_ns < world->audit_retry_ns ||
		!pg_link_ready(world->links[LINK_REQUESTS_INDEX]))
		return;
	if (journal_first(&world->journal, &record))
		world->audit_under_way = send_record(world, &record, now_ns);
}

/* It is never taken: the log has it, and the next one follows. */
static void refused_as_data(struct world *world, const char *sqlstate)
{
	struct journal_record record;

	if (!journal_first(&world->journal, &record))
		return;
	sw_log(SW_LOG_ERROR, "world",
		"what %s did (%s: %s) will not be in ops_audit_log: refused as data, SQLSTATE %s",
		record.author, record.what, record.outcome, sqlstate);
	journal_drop_first(&world->journal);
	world_count(world, WORLD_AUDITS_LOST, 1);
}

void audits_on_result(
	struct world *world, enum pg_outcome outcome, PGresult *const *results, uint32_t count)
{
	uint64_t now_ns = mono_ns();

	world->audit_under_way = false;
	if (outcome == PG_DONE) {
		journal_drop_first(&world->journal);
		world_count(world, WORLD_AUDITS_WRITTEN, 1);
	} else if (outcome == PG_ERROR) {
		const char *state = count ? pg_sqlstate(results[count - 1]) : "";

		world->audit_retry_ns = now_ns + RETRY_NS;
		if (!strncmp(state, "22", 2) || !strncmp(state, "23", 2))
			refused_as_data(world, state);
	}
	audits_pump(world, now_ns);
}

/* ---- what is not saved of a character ---- */

void audits_writes_query(struct world *world, const struct msg *message)
{
	struct msg_writes_query query;
	struct msg_writes_result *result;
	struct msg answer[2];

	memcpy(&query, msg_payload(message), sizeof(query));
	result = (void *)msg_begin(answer, MSG_WRITES_RESULT, HANDLE_NONE, sizeof(*result));
	*result = (struct msg_writes_result){.request = query.request,
		.character_id = query.character_id,
		.saves = save_table_has(world->saves, query.realm_id, query.character_id),
		.commits = commit_table_count(world->commits, query.realm_id, query.character_id),
		.links_max = world->link_count};
	for (uint32_t i = 0; i < world->link_count; i++)
		result->links += pg_link_ready(world->links[i]);
	/* A question of an operator: when the ring is full it is not answered. */
	msg_ring_push(world->sources[SOURCE_CONTROL].out, answer);
}
