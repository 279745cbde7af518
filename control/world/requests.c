/* Loads, details and settles: from the ring to the link and back. */
#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/world/world_internal.h"

void requests_init(struct world *world)
{
	TAILQ_INIT(&world->wait_round);
	TAILQ_INIT(&world->wait_writes);
	TAILQ_INIT(&world->wait_link);
	for (uint32_t s = 0; s < world->source_count; s++) {
		struct source *source = &world->sources[s];

		TAILQ_INIT(&source->free);
		TAILQ_INIT(&source->owed);
		TAILQ_INIT(&source->owed_commits);
		source->free_count = SOURCE_REQUESTS;
		for (uint32_t i = 0; i < SOURCE_REQUESTS; i++) {
			struct request *r = &world->requests[s * SOURCE_REQUESTS + i];

			r->source = s;
			TAILQ_INSERT_TAIL(&source->free, r, line);
		}
	}
}

void requests_release(struct world *world, struct request *r)
{
	struct source *source = &world->sources[r->source];

	if (!r->answered || r->under_way || r->owed)
		return;
	r->used = false;
	TAILQ_INSERT_HEAD(&source->free, r, line);
	source->free_count++;
}

static void stop_waiting(struct world *world, struct request *r)
{
	if (r->waits_for_round)
		TAILQ_REMOVE(&world->wait_round, r, line);
	if (r->waits_for_writes)
		TAILQ_REMOVE(&world->wait_writes, r, line);
	if (r->waits_for_link)
		TAILQ_REMOVE(&world->wait_link, r, line);
	r->waits_for_round = r->waits_for_writes = r->waits_for_link = false;
}

static void wait_for_link(struct world *world, struct request *r)
{
	r->waits_for_link = true;
	TAILQ_INSERT_TAIL(&world->wait_link, r, line);
}

/* The answer, filled but for what its results say. */
static void *answer_begin(struct request *r)
{
	if (r->kind == REQUEST_LOAD) {
		struct msg_character_loaded *loaded = (void *)msg_begin(
			r->answer, MSG_CHARACTER_LOADED, HANDLE_NONE, sizeof(*loaded));

		memset(loaded, 0, sizeof(*loaded));
		r->answer->subject = r->load.session;
		loaded->session = r->load.session;
		loaded->character_id = r->load.character_id;
		return loaded;
	}
	if (r->kind == REQUEST_SETTLE) {
		struct msg_character_settled *settled = (void *)msg_begin(
			r->answer, MSG_CHARACTER_SETTLED, HANDLE_NONE, sizeof(*settled));

		*settled = (struct msg_character_settled){
			r->settle.session, r->settle.character_id, 0, 0};
		r->answer->subject = r->settle.session;
		return settled;
	}
	struct msg_detail_result *detail =
		(void *)msg_begin(r->answer, MSG_DETAIL_RESULT, HANDLE_NONE, sizeof(*detail));

	memset(detail, 0, sizeof(*detail));
	r->answer->subject = r->detail.request;
	detail->request = r->detail.request;
	detail->character_id = r->detail.character_id;
	return detail;
}

void requests_refuse(struct world *world, struct request *r)
{
	void *answer = answer_begin(r);

	if (r->kind == REQUEST_LOAD) {
		((struct msg_character_loaded *)answer)->result = MSG_LOAD_UNAVAILABLE;
		world_count(world, WORLD_LOADS_UNAVAILABLE, 1);
	} else if (r->kind == REQUEST_SETTLE) {
		world_count(world, WORLD_SETTLES_LATE, 1);
	} else {
		((struct msg_detail_result *)answer)->result = MSG_LOAD_UNAVAILABLE;
		world_count(world, WORLD_DETAILS_UNAVAILABLE, 1);
	}
	stop_waiting(world, r);
	rounds_answer(world, r, r->answer);
}

/* What has to be in PostgreSQL before the request may look there: a login what the stay before
 * left, a detail what was changed before it was asked for. */
static bool writes_wait(const struct world *world, const struct request *r)
{
	if (r->kind == REQUEST_SETTLE)
		return save_table_has(world->saves, r->settle.realm_id, r->settle.character_id) ||
		       commit_table_has(
			       world->commits, r->settle.realm_id, r->settle.character_id);
	if (r->kind == REQUEST_DETAIL)
		return commit_table_has(world->commits, r->detail.realm_id, r->detail.character_id);
	return save_table_has(world->saves, r->load.realm_id, r->load.character_id) ||
	       commit_table_has(world->commits, r->load.realm_id, r->load.character_id);
}

static void wait_for_writes(struct world *world, struct request *r)
{
	r->waits_for_writes = true;
	TAILQ_INSERT_TAIL(&world->wait_writes, r, line);
}

/* Puts a request on its way. Returns false when the link takes no more now. */
static bool request_send(struct world *world, struct request *r, uint64_t now_ns)
{
	struct load_params params;
	struct pg_call calls[LOAD_CALLS];
	uint32_t count = 1;

	if (r->kind == REQUEST_LOAD) {
		statements_load(&r->load, &params, calls);
		count = LOAD_CALLS;
	} else {
		statements_detail(&r->detail, &params, calls);
	}
	if (!pg_link_send(world->links[LINK_REQUESTS_INDEX], (uint64_t)(r - world->requests), calls,
		    count, now_ns))
		return false;
	r->under_way = true;
	r->sent_ns = now_ns;
	return true;
}

/* All of it is in PostgreSQL, or was refused. */
static void settled(struct world *world, struct request *r)
{
	struct msg_character_settled *answer = answer_begin(r);

	answer->settled = 1;
	rounds_answer(world, r, r->answer);
}

static void go_on(struct world *world, struct request *r, uint64_t now_ns)
{
	if (r->kind == REQUEST_SETTLE) {
		settled(world, r);
		return;
	}
	if (!TAILQ_EMPTY(&world->wait_link) || !request_send(world, r, now_ns))
		wait_for_link(world, r);
}

void requests_take(
	struct world *world, uint32_t source_index, const struct msg *message, uint64_t now_ns)
{
	struct source *source = &world->sources[source_index];
	struct request *r = TAILQ_FIRST(&source->free);
	bool away;

	CHECK(r); /* a ring is read only while requests are free */
	TAILQ_REMOVE(&source->free, r, line);
	source->free_count--;
	r->used = true;
	r->answered = r->owed = r->under_way = false;
	r->waits_for_round = r->waits_for_writes = r->waits_for_link = false;
	r->deadline_ns = now_ns + world->config->postgres.statement_timeout_ms * NS_PER_MS;
	if (message->type == MSG_CHARACTER_LOAD) {
		r->kind = REQUEST_LOAD;
		memcpy(&r->load, msg_payload(message), sizeof(r->load));
		world_count(world, WORLD_LOADS, 1);
	} else if (message->type == MSG_CHARACTER_SETTLE) {
		r->kind = REQUEST_SETTLE;
		memcpy(&r->settle, msg_payload(message), sizeof(r->settle));
		world_count(world, WORLD_SETTLES, 1);
	} else {
		r->kind = REQUEST_DETAIL;
		memcpy(&r->detail, msg_payload(message), sizeof(r->detail));
		world_count(world, WORLD_DETAILS, 1);
	}
	away = pg_link_away(world->links[LINK_REQUESTS_INDEX]) &&
	       (r->kind != REQUEST_SETTLE || writes_wait(world, r));
	/* While a shard's ring stands, a save or commit of this character may be in it. */
	if (away || (r->kind != REQUEST_DETAIL && world->stalled)) {
		requests_refuse(world, r);
	} else if (r->kind == REQUEST_DETAIL) {
		r->waits_for_round = true;
		TAILQ_INSERT_TAIL(&world->wait_round, r, line);
	} else if (writes_wait(world, r)) {
		wait_for_writes(world, r);
		if (r->kind == REQUEST_LOAD)
			save_table_promote(
				world->saves, r->load.realm_id, r->load.character_id);
	} else {
		go_on(world, r, now_ns);
	}
}

/* A player goes from shard to shard with its commits in the ring of one and the query in that of
 * the other, in no order: so a query counts as taken when all rings have been read. */
void requests_round(struct world *world, uint64_t now_ns)
{
	struct request *r;

	while ((r = TAILQ_FIRST(&world->wait_round)) != NULL) {
		stop_waiting(world, r);
		if (world->stalled)
			requests_refuse(world, r);
		else if (writes_wait(world, r))
			wait_for_writes(world, r);
		else
			go_on(world, r, now_ns);
	}
}

void requests_pump(struct world *world, uint64_t now_ns)
{
	struct request *r;

	while ((r = TAILQ_FIRST(&world->wait_link)) != NULL) {
		if (pg_link_away(world->links[LINK_REQUESTS_INDEX])) {
			requests_refuse(world, r);
			continue;
		}
		if (!request_send(world, r, now_ns))
			return;
		stop_waiting(world, r);
	}
}

void requests_writes_settled(struct world *world, uint64_t now_ns)
{
	struct request *r = TAILQ_FIRST(&world->wait_writes), *next;

	for (; r; r = next) {
		next = TAILQ_NEXT(r, line);
		if (writes_wait(world, r))
			continue;
		stop_waiting(world, r);
		if (r->kind == REQUEST_SETTLE)
			settled(world, r);
		else
			wait_for_link(world, r);
	}
	requests_pump(world, now_ns);
}

void requests_expire(struct world *world, uint64_t now_ns)
{
	for (uint32_t s = 0; s < world->source_count; s++) {
		struct request *r = &world->requests[s * SOURCE_REQUESTS];

		if (world->sources[s].free_count == SOURCE_REQUESTS)
			continue;
		for (uint32_t i = 0; i < SOURCE_REQUESTS; i++, r++) {
			if (r->used && !r->answered && now_ns >= r->deadline_ns)
				requests_refuse(world, r);
		}
	}
}

static void load_done(
	struct world *world, struct request *r, PGresult *const *results, uint32_t count)
{
	struct msg_character_loaded *answer = answer_begin(r);
	bool created, renamed;

	if (!statements_loaded(results, count, r->load.name, answer, &created, &renamed)) {
		requests_refuse(world, r);
		return;
	}
	if (answer->result == MSG_LOAD_OK)
		world_count(world, WORLD_LOADS_OK, 1);
	else if (answer->result == MSG_LOAD_NEWER)
		world_count(world, WORLD_LOADS_NEWER, 1);
	else
		world_count(world, WORLD_LOADS_WRONG_ACCOUNT, 1);
	world_count(world, WORLD_CHARACTERS_CREATED, created);
	world_count(world, WORLD_NAMES_CHANGED, renamed);
	rounds_answer(world, r, r->answer);
}

static void detail_done(
	struct world *world, struct request *r, PGresult *const *results, uint32_t count)
{
	struct detail_answer answer = {
		.head.request = r->detail.request, .head.character_id = r->detail.character_id};
	struct msg *message = world->scratch.slot;
	size_t slots_bytes, quests_bytes;
	uint8_t *at;
	bool unknown;

	if (!statements_detailed(results, count, &answer, &unknown)) {
		if (!unknown) {
			requests_refuse(world, r);
			return;
		}
		answer.head.result = MSG_LOAD_WRONG_ACCOUNT;
		world_count(world, WORLD_DETAILS_UNKNOWN, 1);
	}
	slots_bytes = answer.head.slots * sizeof(*answer.slots);
	quests_bytes = answer.head.quests * sizeof(*answer.quests);
	at = msg_begin(message, MSG_DETAIL_RESULT, HANDLE_NONE,
		(uint32_t)(sizeof(answer.head) + slots_bytes + quests_bytes));
	message->subject = r->detail.request;
	memcpy(at, &answer.head, sizeof(answer.head));
	memcpy(at + sizeof(answer.head), answer.slots, slots_bytes);
	memcpy(at + sizeof(answer.head) + slots_bytes, answer.quests, quests_bytes);
	rounds_answer(world, r, message);
}

void requests_on_result(void *context, uint64_t tag, enum pg_outcome outcome,
	PGresult *const *results, uint32_t count)
{
	struct world *world = ((struct link_end *)context)->world;
	uint64_t now_ns = mono_ns();
	struct request *r;

	if (tag == PRUNE_TAG) {
		prune_on_records(world, outcome, results, count);
		return;
	}
	if (tag == LEDGER_TAG) {
		prune_on_ledger(world, outcome, results, count);
		return;
	}
	if (tag == AUDIT_TAG) {
		audits_on_result(world, outcome, results, count);
		return;
	}
	if (tag == NODES_SAY_TAG || tag == NODES_ASK_TAG) {
		nodes_on_result(world, tag, outcome, results, count);
		return;
	}
	if (tag & PARTIES_TAG) {
		parties_on_result(world, tag, outcome, results, count);
		return;
	}
	if (tag & CORRECTION_TAG) {
		corrections_on_result(
			world, (uint32_t)(tag & ~CORRECTION_TAG), outcome, results, count);
		return;
	}
	r = &world->requests[tag];
	r->under_way = false;
	if (r->answered) {
		requests_release(world, r); /* too late: refused at its deadline */
	} else if (outcome == PG_UNKNOWN) {
		/* Again, until its deadline: a read does no harm, and an epoch raised twice was
		 * once held by nobody. */
		wait_for_link(world, r);
	} else if (outcome == PG_ERROR) {
		requests_refuse(world, r);
	} else {
		if (r->kind == REQUEST_LOAD) {
			histogram_add(&world->load_time, now_ns - r->sent_ns);
			load_done(world, r, results, count);
		} else {
			detail_done(world, r, results, count);
		}
	}
	if (outcome != PG_UNKNOWN)
		requests_pump(world, now_ns);
}
