#include "control/world/commit_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

#define NIL UINT32_MAX

/* A character with pending commits. */
struct holder {
	uint64_t character_id;
	uint32_t realm_id;
	uint32_t pending;
	uint32_t chain;  /* next of the hash bucket, or of the free list */
	uint64_t marked; /* the rotation that has it stay behind */
};

struct commit_table {
	uint32_t capacity, batch_max, batch_ops_max, bucket_mask;
	uint32_t used, waiting_count, batch_count, batch_left;
	uint64_t sequence, rotation;
	uint64_t expiry_ns; /* no waiting commit expires before */
	struct commit_list free, waiting;
	struct commit *commits; /* [capacity] */
	struct commit **batch;  /* [batch_max] */
	struct holder *holders; /* [2 * capacity]: a commit has up to two */
	uint32_t *buckets;      /* [bucket_mask + 1] of characters */
	uint32_t *requests;     /* [bucket_mask + 1] of commits */
	uint32_t free_holder;
};

static uint32_t bucket_count(uint32_t capacity)
{
	uint32_t n = 16;

	while (n < 2 * capacity && n < 1u << 31)
		n *= 2;
	return n;
}

size_t commit_table_bytes(uint32_t capacity, uint32_t batch_max)
{
	return sizeof(struct commit_table) + (size_t)capacity * sizeof(struct commit) +
	       (size_t)batch_max * sizeof(struct commit *) +
	       (size_t)capacity * 2 * sizeof(struct holder) +
	       (size_t)bucket_count(capacity) * 2 * sizeof(uint32_t);
}

struct commit_table *commit_table_new(uint32_t capacity, uint32_t batch_max, uint32_t batch_ops_max)
{
	struct commit_table *t = calloc(1, sizeof(*t));
	uint32_t buckets = bucket_count(capacity);

	CHECK(capacity >= 1 && capacity < 1u << 30 && batch_max >= 1);
	if (!t)
		return NULL;
	t->capacity = capacity;
	t->batch_max = batch_max;
	t->batch_ops_max = batch_ops_max;
	t->bucket_mask = buckets - 1;
	t->commits = calloc(capacity, sizeof(*t->commits));
	t->batch = calloc(batch_max, sizeof(struct commit *));
	t->holders = calloc(2 * (size_t)capacity, sizeof(*t->holders));
	t->buckets = malloc(buckets * sizeof(*t->buckets));
	t->requests = malloc(buckets * sizeof(*t->requests));
	t->expiry_ns = UINT64_MAX;
	if (!t->commits || !t->batch || !t->holders || !t->buckets || !t->requests) {
		commit_table_free(t);
		return NULL;
	}
	TAILQ_INIT(&t->free);
	TAILQ_INIT(&t->waiting);
	for (uint32_t i = 0; i < capacity; i++)
		TAILQ_INSERT_TAIL(&t->free, &t->commits[i], line);
	for (uint32_t i = 0; i < 2 * capacity; i++)
		t->holders[i].chain = i + 1 < 2 * capacity ? i + 1 : NIL;
	memset(t->buckets, 0xff, buckets * sizeof(*t->buckets));
	memset(t->requests, 0xff, buckets * sizeof(*t->requests));
	return t;
}

void commit_table_free(struct commit_table *t)
{
	if (!t)
		return;
	free(t->commits);
	free(t->batch);
	free(t->holders);
	free(t->buckets);
	free(t->requests);
	free(t);
}

/* ---- who has commits pending ---- */

static uint32_t bucket_of(const struct commit_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint64_t h = (character_id ^ (uint64_t)realm_id << 32) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32) & t->bucket_mask;
}

static uint32_t find(const struct commit_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint32_t i = t->buckets[bucket_of(t, realm_id, character_id)];

	while (i != NIL &&
		(t->holders[i].character_id != character_id || t->holders[i].realm_id != realm_id))
		i = t->holders[i].chain;
	return i;
}

static void hold(struct commit_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint32_t i = find(t, realm_id, character_id);

	if (i == NIL) {
		uint32_t *bucket = &t->buckets[bucket_of(t, realm_id, character_id)];

		i = t->free_holder;
		t->free_holder = t->holders[i].chain;
		t->holders[i] = (struct holder){
			.character_id = character_id, .realm_id = realm_id, .chain = *bucket};
		*bucket = i;
	}
	t->holders[i].pending++;
}

static void let_go(struct commit_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint32_t i = find(t, realm_id, character_id);
	uint32_t *link = &t->buckets[bucket_of(t, realm_id, character_id)];

	if (--t->holders[i].pending > 0)
		return;
	while (*link != i)
		link = &t->holders[*link].chain;
	*link = t->holders[i].chain;
	t->holders[i].chain = t->free_holder;
	t->free_holder = i;
}

bool commit_table_has(const struct commit_table *t, uint32_t realm_id, uint64_t character_id)
{
	return find(t, realm_id, character_id) != NIL;
}

/* ---- which requests are pending ---- */

static uint32_t *request_bucket(const struct commit_table *t, const uint64_t request[2])
{
	uint64_t h = (request[0] ^ request[1]) * 0x9e3779b97f4a7c15ull;

	return &t->requests[(uint32_t)(h >> 32) & t->bucket_mask];
}

struct commit *commit_table_find(struct commit_table *t, const uint64_t request[2], uint32_t source)
{
	uint32_t i = *request_bucket(t, request);

	for (; i != NIL; i = t->commits[i].request_chain) {
		const struct commit *c = &t->commits[i];

		if (c->source == source && memcmp(c->body.commit.request, request,
						   sizeof(c->body.commit.request)) == 0)
			return &t->commits[i];
	}
	return NULL;
}

static void request_add(struct commit_table *t, struct commit *c)
{
	uint32_t *bucket = request_bucket(t, c->body.commit.request);

	c->request_chain = *bucket;
	*bucket = (uint32_t)(c - t->commits);
}

static void request_remove(struct commit_table *t, const struct commit *c)
{
	uint32_t *link = request_bucket(t, c->body.commit.request);

	while (*link != (uint32_t)(c - t->commits))
		link = &t->commits[*link].request_chain;
	*link = c->request_chain;
}

/* ---- the way of a commit ---- */

struct commit *commit_table_put(struct commit_table *t, const struct msg_commit *commit,
	uint32_t source, uint64_t deadline_ns)
{
	struct commit *c = TAILQ_FIRST(&t->free);

	if (!c)
		return NULL;
	TAILQ_REMOVE(&t->free, c, line);
	memcpy(c->body.bytes, commit, sizeof(*commit) + commit->ops * sizeof(struct commit_op));
	c->state = COMMIT_WAITING;
	c->unknown = false;
	c->source = source;
	c->deadline_ns = deadline_ns;
	c->answers = 1;
	c->sequence = ++t->sequence;
	request_add(t, c);
	if (deadline_ns < t->expiry_ns)
		t->expiry_ns = deadline_ns;
	TAILQ_INSERT_TAIL(&t->waiting, c, line);
	t->used++;
	t->waiting_count++;
	for (int who = 0; who < 2; who++)
		if (who == 0 || commit->character_id[1])
			hold(t, commit->realm_id, commit->character_id[who]);
	return c;
}

uint32_t commit_table_take(struct commit_table *t, uint32_t max, struct commit *const **batch)
{
	struct commit *c;
	uint32_t ops = 0;

	CHECK(t->batch_left == 0);
	t->batch_count = 0;
	if (max > t->batch_max)
		max = t->batch_max;
	while (t->batch_count < max && (c = TAILQ_FIRST(&t->waiting))) {
		ops += c->body.commit.ops;
		if (t->batch_count > 0 &&
			(ops > t->batch_ops_max ||
				c->body.commit.realm_id != t->batch[0]->body.commit.realm_id))
			break;
		TAILQ_REMOVE(&t->waiting, c, line);
		c->state = COMMIT_IN_FLIGHT;
		t->batch[t->batch_count++] = c;
	}
	t->waiting_count -= t->batch_count;
	t->batch_left = t->batch_count;
	*batch = t->batch;
	return t->batch_count;
}

void commit_table_put_back(struct commit_table *t, bool unknown)
{
	for (uint32_t i = t->batch_count; i-- > 0;) {
		struct commit *c = t->batch[i];

		CHECK(c->state == COMMIT_IN_FLIGHT);
		c->state = COMMIT_WAITING;
		c->unknown |= unknown;
		if (c->deadline_ns < t->expiry_ns)
			t->expiry_ns = c->deadline_ns;
		TAILQ_INSERT_HEAD(&t->waiting, c, line);
	}
	t->waiting_count += t->batch_count;
	t->batch_count = t->batch_left = 0;
}

static struct holder *holder_of(struct commit_table *t, const struct commit *c, int who)
{
	if (who == 1 && c->body.commit.character_id[1] == 0)
		return NULL;
	return &t->holders[find(t, c->body.commit.realm_id, c->body.commit.character_id[who])];
}

void commit_table_rotate(struct commit_table *t)
{
	struct commit_list behind = TAILQ_HEAD_INITIALIZER(behind);
	struct commit *c, *next;

	t->rotation++;
	for (c = TAILQ_FIRST(&t->waiting); c; c = next) {
		struct holder *one = holder_of(t, c, 0), *other = holder_of(t, c, 1);

		next = TAILQ_NEXT(c, line);
		if (!TAILQ_EMPTY(&behind) && one->marked != t->rotation &&
			(!other || other->marked != t->rotation))
			continue;
		one->marked = t->rotation;
		if (other)
			other->marked = t->rotation;
		TAILQ_REMOVE(&t->waiting, c, line);
		TAILQ_INSERT_TAIL(&behind, c, line);
	}
	TAILQ_CONCAT(&t->waiting, &behind, line);
}

void commit_table_settle(struct commit_table *t, struct commit *c)
{
	CHECK(c->state == COMMIT_WAITING || c->state == COMMIT_IN_FLIGHT);
	if (c->state == COMMIT_WAITING) {
		TAILQ_REMOVE(&t->waiting, c, line);
		t->waiting_count--;
	} else {
		t->batch_left--;
	}
	c->state = COMMIT_SETTLED;
	request_remove(t, c);
	for (int who = 0; who < 2; who++)
		if (who == 0 || c->body.commit.character_id[1])
			let_go(t, c->body.commit.realm_id, c->body.commit.character_id[who]);
}

void commit_table_release(struct commit_table *t, struct commit *c)
{
	CHECK(c->state == COMMIT_SETTLED);
	c->state = COMMIT_FREE;
	t->used--;
	TAILQ_INSERT_HEAD(&t->free, c, line);
}

/* ---- questions ---- */

uint32_t commit_table_expired(
	struct commit_table *t, uint64_t now_ns, struct commit **list, uint32_t max)
{
	uint64_t next_ns = UINT64_MAX;
	uint32_t count = 0;
	struct commit *c;

	if (now_ns <= t->expiry_ns)
		return 0;
	for (c = TAILQ_FIRST(&t->waiting); c; c = TAILQ_NEXT(c, line)) {
		if (c->unknown)
			continue;
		if (c->deadline_ns >= now_ns) {
			if (c->deadline_ns < next_ns)
				next_ns = c->deadline_ns;
			continue;
		}
		if (count == max)
			return count; /* there are more */
		list[count++] = c;
	}
	t->expiry_ns = next_ns;
	return count;
}

uint32_t commit_table_used(const struct commit_table *t)
{
	return t->used;
}

uint32_t commit_table_pending(const struct commit_table *t)
{
	return t->waiting_count + t->batch_left;
}

uint32_t commit_table_waiting(const struct commit_table *t)
{
	return t->waiting_count;
}

uint32_t commit_table_in_flight(const struct commit_table *t)
{
	return t->batch_left;
}

uint64_t commit_table_sequence(const struct commit_table *t)
{
	return t->sequence;
}

uint32_t commit_table_unsettled(
	const struct commit_table *t, uint64_t sequence, const struct commit **list, uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->capacity; i++) {
		const struct commit *c = &t->commits[i];

		if ((c->state != COMMIT_WAITING && c->state != COMMIT_IN_FLIGHT) ||
			c->sequence > sequence)
			continue;
		if (list && count < max)
			list[count] = c;
		count++;
	}
	return count;
}
