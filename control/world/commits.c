/* Commits: from the ring through the table to the link, and their answers back. */
#include "common/check.h"
#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/world/commit_check.h"
#include "control/world/world_internal.h"

#define LOG_PAUSE_NS (10 * NS_PER_S) /* between two lines about what cannot be carried out */

/* The counters of results follow in the order of enum commit_result. */
_Static_assert(WORLD_COMMITS_DUPLICATE - WORLD_COMMITS_OK + 1 == COMMIT_RESULT_COUNT &&
		       WORLD_COMMITS_INVALID - WORLD_COMMITS_OK == COMMIT_RESULT_INVALID,
	"a counter for each result");

static bool push(struct source *source, const struct msg_commit_result *result)
{
	struct msg message[2];

	_Static_assert(sizeof(*result) + MSG_HEAD_BYTES <= sizeof(message), "two slots");
	memcpy(msg_begin(message, MSG_COMMIT_RESULT, HANDLE_NONE, sizeof(*result)), result,
		sizeof(*result));
	message->subject = result->character_id[0];
	return msg_ring_push(source->out, message);
}

/* True when every answer to it is out. */
static bool answer(struct source *source, struct commit *c)
{
	while (c->answers > 0 && push(source, &c->result))
		c->answers--;
	return c->answers == 0;
}

bool commits_room(const struct source *source)
{
	return source->refusal_count + POP_SLOTS / 2 <= REFUSALS_MAX;
}

/* Refusals last: a copy of one that waits here may be among them, and "nothing was changed" is not
 * to be heard before what was. */
void commits_owed(struct world *world, struct source *source)
{
	struct commit *c;

	while ((c = TAILQ_FIRST(&source->owed_commits)) && answer(source, c)) {
		TAILQ_REMOVE(&source->owed_commits, c, line);
		commit_table_release(world->commits, c);
	}
	while (!c && source->refusal_count > 0 &&
		push(source, &source->refusals[source->refusal_first])) {
		source->refusal_first = (source->refusal_first + 1) % REFUSALS_MAX;
		source->refusal_count--;
	}
}

static struct msg_commit_result refusal(
	const struct msg_commit *commit, enum commit_result why, uint32_t op)
{
	return (struct msg_commit_result){
		.request = {commit->request[0], commit->request[1]},
		.character_id = {commit->character_id[0], commit->character_id[1]},
		.result = why,
		.refused_op = op,
	};
}

/* One that the table has not taken. */
static void refuse(struct world *world, uint32_t source_index, const struct msg_commit *commit,
	enum commit_result why, uint32_t op)
{
	struct source *source = &world->sources[source_index];
	struct msg_commit_result result = refusal(commit, why, op);

	world_count(world, WORLD_COMMITS_OK + (enum world_counter)why, 1);
	if (TAILQ_EMPTY(&source->owed_commits) && source->refusal_count == 0 &&
		push(source, &result))
		return;
	CHECK(source->refusal_count < REFUSALS_MAX); /* a ring is read only while there is room */
	source->refusals[(source->refusal_first + source->refusal_count++) % REFUSALS_MAX] = result;
	world_count(world, WORLD_ANSWERS_DELAYED, 1);
}

/* One of the table, whose result is filled in. */
static void settle(struct world *world, struct commit *c)
{
	struct source *source = &world->sources[1 + c->source];

	world_count(world, WORLD_COMMITS_OK + (enum world_counter)c->result.result, c->answers);
	commit_table_settle(world->commits, c);
	if (TAILQ_EMPTY(&source->owed_commits) && answer(source, c)) {
		commit_table_release(world->commits, c);
		return;
	}
	TAILQ_INSERT_TAIL(&source->owed_commits, c, line);
	world_count(world, WORLD_ANSWERS_DELAYED, 1);
}

static void say_invalid(struct world *world, const struct msg_commit *commit, const char *what,
	uint32_t op, uint64_t now_ns)
{
	if (now_ns < world->invalid_log_ns)
		return;
	world->invalid_log_ns = now_ns + LOG_PAUSE_NS;
	sw_log(SW_LOG_ERROR, "world",
		"a commit of character %llu (reason %u) cannot be carried out: operation %u: %s",
		(unsigned long long)commit->character_id[0], commit->reason, op, what);
}

/* True when none of the links is of use, and coming back will not be a matter of milliseconds. */
static bool commits_away(const struct world *world)
{
	for (uint32_t i = LINK_COMMITS_INDEX; i < world->link_count; i++) {
		if (!pg_link_away(world->links[i]))
			return false;
	}
	return true;
}

static bool find_place(
	struct world *world, const struct msg_commit *commit, uint32_t shard, uint64_t deadline_ns)
{
	if (commit_table_put(world->commits, commit, shard, deadline_ns))
		return true;
	world_count(world, WORLD_COMMITS_NO_PLACE, 1);
	return false;
}

void commits_take(struct world *world, uint32_t source, const struct msg *message, uint64_t now_ns)
{
	const struct msg_commit *commit = (const void *)msg_payload(message);
	uint32_t op;
	enum commit_fault fault = commit_check(commit, message->payload_bytes, &op);
	struct commit *pending;

	world_count(world, WORLD_COMMITS_TAKEN, 1);
	if (fault != COMMIT_FAULT_NONE) {
		say_invalid(world, commit, commit_fault_text(fault), op, now_ns);
		refuse(world, source, commit, COMMIT_RESULT_INVALID, op);
	} else if ((pending = commit_table_find(world->commits, commit->request, source - 1))) {
		pending->answers++;
		world_count(world, WORLD_COMMITS_REPEATED, 1);
	} else if (commits_away(world) || !find_place(world, commit, source - 1,
						  now_ns + commit->expires_ms * NS_PER_MS)) {
		refuse(world, source, commit, COMMIT_RESULT_UNAVAILABLE, 0);
	}
}

/* A pass over all that waits finds so many: what expires together must not cost a pass each. */
#define EXPIRED_MAX 256u

static void expire(struct world *world, uint64_t now_ns)
{
	struct commit *list[EXPIRED_MAX];
	uint32_t count;
	bool any = false;

	do {
		count = commit_table_expired(world->commits, now_ns, list, EXPIRED_MAX);
		for (uint32_t i = 0; i < count; i++) {
			list[i]->result = refusal(&list[i]->body.commit, COMMIT_RESULT_EXPIRED, 0);
			settle(world, list[i]);
		}
		any |= count > 0;
	} while (count == EXPIRED_MAX);
	if (any)
		requests_writes_settled(world, now_ns);
}

/* While batches are under way another link is used for a quarter of a batch at least, or after so
 * long: fewer and larger ones cost PostgreSQL less. Nothing lingers while all links are idle. */
#define GATHER_NS (4 * NS_PER_MS)

static bool worth_a_link(const struct world *world, uint64_t now_ns)
{
	return commit_table_batches(world->commits) == 0 ||
	       commit_table_ready(world->commits) >=
		       (world->config->postgres.commits_per_batch + 3) / 4 ||
	       now_ns >= world->commits_sent_ns + GATHER_NS;
}

/* False: the link does not take it. */
static bool send_batch(struct world *world, uint32_t batch, uint64_t now_ns)
{
	struct pg_call call;
	enum commit_kind kind;
	uint32_t count =
		commit_table_take(world->commits, batch, world->config->postgres.commits_per_batch,
			&world->commits_sent[batch].commits, &kind);

	commit_encoder_fill(
		world->commit_encoder, world->commits_sent[batch].commits, count, kind, &call);
	if (!pg_link_send(world->links[LINK_COMMITS_INDEX + batch], batch, &call, 1, now_ns)) {
		commit_table_put_back(world->commits, batch, COMMIT_BACK);
		return false;
	}
	world->commits_sent[batch].count = count;
	world->commits_sent[batch].kind = kind;
	world->commits_sent[batch].sent_ns = world->commits_sent_ns = now_ns;
	world_count(world, WORLD_COMMIT_SETS, kind != COMMIT_ROW);
	return true;
}

void commits_pump(struct world *world, uint64_t now_ns)
{
	if (commit_table_waiting(world->commits) == 0)
		return;
	expire(world, now_ns);
	if (now_ns < world->commit_batch.retry_ns)
		return;
	for (uint32_t i = 0; i < world->config->postgres.commit_links; i++) {
		if (commit_table_ready(world->commits) == 0 || !worth_a_link(world, now_ns))
			return;
		if (commit_table_in_flight(world->commits, i) == 0 &&
			pg_link_ready(world->links[LINK_COMMITS_INDEX + i]))
			send_batch(world, i, now_ns);
	}
}

/* Data that can never be carried out, which commit_check should have refused. A unique key is not
 * among it: another copy of the same request may just have been faster. */
static bool never(const char *sqlstate)
{
	return strncmp(sqlstate, "22", 2) == 0 || strncmp(sqlstate, "20", 2) == 0 ||
	       (strncmp(sqlstate, "23", 2) == 0 && strcmp(sqlstate, "23505") != 0);
}

/* The server itself: no disk, memory or connections left. No commit is to blame. */
static bool exhausted(const char *sqlstate)
{
	return strncmp(sqlstate, "53", 2) == 0 || strncmp(sqlstate, "58", 2) == 0;
}

/* Nothing of the batch happened: a lock that someone holds too long, a full disk. Smaller ones find
 * the commit that is to blame, and then the others go first. */
static void commits_failed(
	struct world *world, uint32_t batch, const PGresult *result, uint64_t now_ns)
{
	const char *sqlstate = pg_sqlstate(result);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	struct commit *first = world->commits_sent[batch].commits[0];
	bool alone = world->commits_sent[batch].count == 1;

	world_count(world, WORLD_COMMIT_BATCHES_FAILED, 1);
	world->commit_batch.rows = world->commits_sent[batch].count;
	batch_say(&world->commit_batch, "commits", text, sqlstate, now_ns);
	if (alone && never(sqlstate) && !first->unknown) {
		say_invalid(world, &first->body.commit, text ? text : sqlstate, 0, now_ns);
		first->result = refusal(&first->body.commit, COMMIT_RESULT_INVALID, 0);
		settle(world, first);
		requests_writes_settled(world, now_ns);
		return;
	}
	if (alone || !never(sqlstate))
		batch_failed(&world->commit_batch, false, now_ns);
	commit_table_put_back(world->commits, batch,
		(exhausted(sqlstate) ? COMMIT_BACK : COMMIT_SMALLER) |
			(alone ? COMMIT_BEHIND : COMMIT_BACK));
}

static void commits_done(struct world *world, uint32_t batch, PGresult *const *results,
	uint32_t count, uint64_t now_ns)
{
	struct commit *const *commits = world->commits_sent[batch].commits;
	uint32_t rows = world->commits_sent[batch].count, repeated;

	histogram_add(&world->commit_time, now_ns - world->commits_sent[batch].sent_ns);
	if (!commit_results_read(
		    results, count, commits, rows, world->commits_sent[batch].kind, &repeated)) {
		/* It was carried out, and what came of it is in the records. */
		world_count(world, WORLD_COMMIT_BATCHES_FAILED, 1);
		world->commit_batch.rows = rows;
		batch_say(&world->commit_batch, "commits",
			"the statement gave other rows than it should", "", now_ns);
		batch_failed(&world->commit_batch, false, now_ns);
		commit_table_put_back(world->commits, batch, COMMIT_UNKNOWN);
		return;
	}
	world_count(world, WORLD_COMMIT_BATCHES, 1);
	world_count(world, WORLD_COMMITS_REPEATED, repeated);
	for (uint32_t i = 0; i < rows; i++)
		settle(world, commits[i]);
	requests_writes_settled(world, now_ns);
}

void commits_on_result(void *context, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count)
{
	struct world *world = ((struct link_end *)context)->world;
	uint32_t batch = (uint32_t)tag;
	uint64_t now_ns = mono_ns();

	switch (outcome) {
	case PG_DONE:
		commits_done(world, batch, results, count, now_ns);
		break;
	case PG_ERROR:
		commits_failed(world, batch, results[count - 1], now_ns);
		break;
	case PG_UNKNOWN:
		world_count(world, WORLD_COMMIT_BATCHES_UNKNOWN, 1);
		commit_table_put_back(world->commits, batch, COMMIT_UNKNOWN);
		break;
	}
	flush_check(world, now_ns);
	commits_pump(world, now_ns);
}

/* So many are named in the log; the log's queue takes 512 lines. */
#define NAMED_MAX 256u

void commits_name_unsettled(const struct world *world)
{
	const struct commit *list[NAMED_MAX];
	uint32_t count =
		commit_table_unsettled(world->commits, world->flush_commits, list, NAMED_MAX);

	for (uint32_t i = 0; i < count && i < NAMED_MAX; i++) {
		const struct msg_commit *commit = &list[i]->body.commit;

		sw_log(SW_LOG_ERROR, "world",
			"%s in time: realm %u character %llu, other %llu, request "
			"%016llx%016llx, reason %u, %u operations",
			list[i]->unknown || list[i]->state == COMMIT_IN_FLIGHT
				? "outcome of a commit not known"
				: "not committed",
			commit->realm_id, (unsigned long long)commit->character_id[0],
			(unsigned long long)commit->character_id[1],
			(unsigned long long)commit->request[0],
			(unsigned long long)commit->request[1], commit->reason, commit->ops);
	}
	if (count > NAMED_MAX)
		sw_log(SW_LOG_ERROR, "world", "commits not settled in time: %u more",
			count - NAMED_MAX);
}
