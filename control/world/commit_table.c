#include "control/world/commit_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "control/world/commit_check.h"

#define NIL UINT32_MAX

/* A character with pending commits, and the line of them: places are commit * 2 + who. */
struct holder {
	uint64_t character_id;
	uint32_t realm_id;
	uint32_t first, last;
	uint32_t chain; /* next of the hash bucket, or of the free list */
};

struct batch_in_flight {
	uint32_t count, left;
	struct commit **commits; /* [batch_max] */
};

struct commit_table {
	struct commit_table_size size;
	uint32_t bucket_mask;
	uint32_t used, waiting_count, in_flight_count, batches_count;
	uint32_t reserve, shared_max, shared; /* places: of a source alone; of all; taken of them */
	uint64_t sequence;
	uint64_t expiry_ns; /* no waiting commit expires before */
	struct commit_list free, waiting;
	struct commit_list ready[COMMIT_KINDS]; /* of waiting, by ready_line */
	uint32_t ready_count[COMMIT_KINDS];
	struct commit *commits;          /* [capacity] */
	struct batch_in_flight *batches; /* [batches] */
	struct commit **batch_commits;   /* [batches * batch_max] */
	struct holder *holders;          /* [2 * capacity]: a commit has up to two */
	uint32_t *buckets;               /* [bucket_mask + 1] of characters */
	uint32_t *requests;              /* [bucket_mask + 1] of commits */
	uint32_t *used_by;               /* [sources] */
	uint32_t free_holder;
};

static uint32_t bucket_count(uint32_t capacity)
{
	uint32_t n = 16;

	while (n < 2 * capacity && n < 1u << 31)
		n *= 2;
	return n;
}

size_t commit_table_bytes(const struct commit_table_size *size)
{
	return sizeof(struct commit_table) + (size_t)size->capacity * sizeof(struct commit) +
	       (size_t)size->batches * sizeof(struct batch_in_flight) +
	       (size_t)size->batches * size->batch_max * sizeof(struct commit *) +
	       (size_t)size->capacity * 2 * sizeof(struct holder) +
	       (size_t)bucket_count(size->capacity) * 2 * sizeof(uint32_t) +
	       (size_t)size->sources * sizeof(uint32_t);
}

static void init(struct commit_table *t, uint32_t buckets)
{
	uint32_t capacity = t->size.capacity;

	t->reserve = capacity / 2 / t->size.sources;
	t->shared_max = capacity - t->reserve * t->size.sources;
	TAILQ_INIT(&t->free);
	TAILQ_INIT(&t->waiting);
	for (int kind = 0; kind < COMMIT_KINDS; kind++)
		TAILQ_INIT(&t->ready[kind]);
	for (uint32_t i = 0; i < capacity; i++)
		TAILQ_INSERT_TAIL(&t->free, &t->commits[i], line);
	for (uint32_t i = 0; i < t->size.batches; i++)
		t->batches[i].commits = &t->batch_commits[(size_t)i * t->size.batch_max];
	for (uint32_t i = 0; i < 2 * capacity; i++)
		t->holders[i].chain = i + 1 < 2 * capacity ? i + 1 : NIL;
	memset(t->buckets, 0xff, buckets * sizeof(*t->buckets));
	memset(t->requests, 0xff, buckets * sizeof(*t->requests));
}

struct commit_table *commit_table_new(const struct commit_table_size *size)
{
	struct commit_table *t = calloc(1, sizeof(*t));
	uint32_t buckets = bucket_count(size->capacity);

	CHECK(size->capacity >= 1 && size->capacity < 1u << 30 && size->batch_max >= 1 &&
		size->batches >= 1 && size->sources >= 1);
	if (!t)
		return NULL;
	t->size = *size;
	t->bucket_mask = buckets - 1;
	t->commits = calloc(size->capacity, sizeof(*t->commits));
	t->batches = calloc(size->batches, sizeof(*t->batches));
	t->batch_commits = calloc((size_t)size->batches * size->batch_max, sizeof(struct commit *));
	t->holders = calloc(2 * (size_t)size->capacity, sizeof(*t->holders));
	t->buckets = malloc(buckets * sizeof(*t->buckets));
	t->requests = malloc(buckets * sizeof(*t->requests));
	t->used_by = calloc(size->sources, sizeof(*t->used_by));
	t->expiry_ns = UINT64_MAX;
	if (!t->commits || !t->batches || !t->batch_commits || !t->holders || !t->buckets ||
		!t->requests || !t->used_by) {
		commit_table_free(t);
		return NULL;
	}
	init(t, buckets);
	return t;
}

void commit_table_free(struct commit_table *t)
{
	if (!t)
		return;
	free(t->commits);
	free(t->batches);
	free(t->batch_commits);
	free(t->holders);
	free(t->buckets);
	free(t->requests);
	free(t->used_by);
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

static uint32_t holder_of(struct commit_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint32_t i = find(t, realm_id, character_id);

	if (i == NIL) {
		uint32_t *bucket = &t->buckets[bucket_of(t, realm_id, character_id)];

		i = t->free_holder;
		t->free_holder = t->holders[i].chain;
		t->holders[i] = (struct holder){.character_id = character_id,
			.realm_id = realm_id,
			.first = NIL,
			.last = NIL,
			.chain = *bucket};
		*bucket = i;
	}
	return i;
}

static void holder_free(struct commit_table *t, uint32_t i)
{
	uint32_t *link =
		&t->buckets[bucket_of(t, t->holders[i].realm_id, t->holders[i].character_id)];

	while (*link != i)
		link = &t->holders[*link].chain;
	*link = t->holders[i].chain;
	t->holders[i].chain = t->free_holder;
	t->free_holder = i;
}

static uint32_t lines_of(const struct commit *c)
{
	return c->body.commit.character_id[1] ? 2 : 1;
}

static bool is_ready(const struct commit *c)
{
	return c->state == COMMIT_WAITING && c->blockers == 0;
}

static void ready_add(struct commit_table *t, struct commit *c, bool front)
{
	if (front)
		TAILQ_INSERT_HEAD(&t->ready[c->kind], c, ready_line);
	else
		TAILQ_INSERT_TAIL(&t->ready[c->kind], c, ready_line);
	t->ready_count[c->kind]++;
}

static void ready_remove(struct commit_table *t, struct commit *c)
{
	TAILQ_REMOVE(&t->ready[c->kind], c, ready_line);
	t->ready_count[c->kind]--;
}

/* To the end of its characters' lines. */
static void stand_in_lines(struct commit_table *t, struct commit *c)
{
	c->blockers = 0;
	for (uint32_t who = 0; who < lines_of(c); who++) {
		uint32_t place = (uint32_t)(c - t->commits) * 2 + who;
		uint32_t i =
			holder_of(t, c->body.commit.realm_id, c->body.commit.character_id[who]);
		struct holder *h = &t->holders[i];

		c->holder[who] = i;
		c->previous[who] = h->last;
		c->next[who] = NIL;
		if (h->last == NIL)
			h->first = place;
		else
			t->commits[h->last / 2].next[h->last % 2] = place;
		c->blockers += h->last != NIL;
		h->last = place;
	}
}

/* Out of them, wherever it stands; who is first now may have become ready. */
static void leave_lines(struct commit_table *t, struct commit *c)
{
	for (uint32_t who = 0; who < lines_of(c); who++) {
		struct holder *h = &t->holders[c->holder[who]];
		uint32_t next = c->next[who], previous = c->previous[who];

		if (next == NIL)
			h->last = previous;
		else
			t->commits[next / 2].previous[next % 2] = previous;
		if (previous != NIL) {
			t->commits[previous / 2].next[previous % 2] = next;
			continue;
		}
		h->first = next;
		if (next == NIL) {
			holder_free(t, c->holder[who]);
		} else {
			struct commit *first = &t->commits[next / 2];

			first->blockers--;
			if (is_ready(first))
				ready_add(t, first, false);
		}
	}
}

bool commit_table_has(const struct commit_table *t, uint32_t realm_id, uint64_t character_id)
{
	return find(t, realm_id, character_id) != NIL;
}

uint32_t commit_table_count(const struct commit_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint32_t i = find(t, realm_id, character_id), count = 0;

	for (uint32_t at = i == NIL ? NIL : t->holders[i].first; at != NIL; count++)
		at = t->commits[at / 2].next[at % 2];
	return count;
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

bool commit_table_room(const struct commit_table *t, uint32_t source)
{
	return t->used_by[source] < t->reserve || t->shared < t->shared_max;
}

struct commit *commit_table_put(struct commit_table *t, const struct msg_commit *commit,
	uint32_t source, uint64_t deadline_ns)
{
	struct commit *c = TAILQ_FIRST(&t->free);

	if (!commit_table_room(t, source))
		return NULL;
	t->shared += t->used_by[source]++ >= t->reserve;
	TAILQ_REMOVE(&t->free, c, line);
	memcpy(c->body.bytes, commit, sizeof(*commit) + commit->ops * sizeof(struct commit_op));
	c->state = COMMIT_WAITING;
	c->unknown = false;
	c->kind = commit_is_one_slot(&c->body.commit) ? COMMIT_SLOTS
		  : commit_is_simple(&c->body.commit) ? COMMIT_SET
						      : COMMIT_ROW;
	c->source = source;
	c->deadline_ns = deadline_ns;
	c->answers = 1;
	c->batch_max = t->size.batch_max;
	c->sequence = ++t->sequence;
	request_add(t, c);
	if (deadline_ns < t->expiry_ns)
		t->expiry_ns = deadline_ns;
	TAILQ_INSERT_TAIL(&t->waiting, c, line);
	t->used++;
	t->waiting_count++;
	stand_in_lines(t, c);
	if (is_ready(c))
		ready_add(t, c, false);
	return c;
}

/* What a batch still takes. */
struct taking {
	struct batch_in_flight *batch;
	uint32_t number, max, ops;
};

static bool take_one(struct commit_table *t, struct taking *taking, struct commit *c)
{
	struct batch_in_flight *b = taking->batch;
	uint32_t max = c->batch_max < taking->max ? c->batch_max : taking->max;

	if (b->count >= max ||
		(b->count > 0 &&
			(taking->ops + c->body.commit.ops > t->size.batch_ops_max ||
				c->body.commit.realm_id != b->commits[0]->body.commit.realm_id)))
		return false;
	if (is_ready(c))
		ready_remove(t, c);
	TAILQ_REMOVE(&t->waiting, c, line);
	t->waiting_count--;
	t->in_flight_count++;
	c->state = COMMIT_IN_FLIGHT;
	c->batch = taking->number;
	taking->max = max;
	taking->ops += c->body.commit.ops;
	b->commits[b->count++] = c;
	return true;
}

/* Whether only commits of this batch stand before it. */
static bool follows(const struct commit_table *t, const struct commit *c, uint32_t batch)
{
	for (uint32_t who = 0; who < lines_of(c); who++) {
		const struct commit *before;

		if (c->previous[who] == NIL)
			continue;
		before = &t->commits[c->previous[who] / 2];
		if (before->state != COMMIT_IN_FLIGHT || before->batch != batch)
			return false;
	}
	return c->state == COMMIT_WAITING;
}

/* Of what is ready, of this kind and those after it. */
static struct commit *oldest(const struct commit_table *t, enum commit_kind from)
{
	struct commit *found = NULL;

	for (int kind = from; kind < COMMIT_KINDS; kind++) {
		struct commit *c = TAILQ_FIRST(&t->ready[kind]);

		if (c && (!found || c->sequence < found->sequence))
			found = c;
	}
	return found;
}

/* A row: the oldest of what is ready, each followed by what it lets go. */
static void take_row(struct commit_table *t, struct taking *taking, bool also_simple)
{
	struct batch_in_flight *b = taking->batch;

	for (;;) {
		struct commit *c =
			also_simple ? oldest(t, COMMIT_ROW) : TAILQ_FIRST(&t->ready[COMMIT_ROW]);
		uint32_t at = b->count;

		if (!c || !take_one(t, taking, c))
			return;
		for (; at < b->count; at++) {
			for (uint32_t who = 0; who < lines_of(b->commits[at]); who++) {
				uint32_t next = b->commits[at]->next[who];

				if (next != NIL &&
					follows(t, &t->commits[next / 2], taking->number) &&
					!take_one(t, taking, &t->commits[next / 2]))
					return;
			}
		}
	}
}

static int by_sequence(const void *a, const void *b)
{
	uint64_t x = (*(struct commit *const *)a)->sequence;
	uint64_t y = (*(struct commit *const *)b)->sequence;

	return (x > y) - (x < y);
}

/* As the statements lock them; the order of one character's own stays. */
static int by_character(const void *a, const void *b)
{
	int64_t x = (int64_t)(*(struct commit *const *)a)->body.commit.character_id[0];
	int64_t y = (int64_t)(*(struct commit *const *)b)->body.commit.character_id[0];

	return x != y ? (x > y) - (x < y) : by_sequence(a, b);
}

static void take_set(struct commit_table *t, struct taking *taking)
{
	struct commit *c;

	while ((c = oldest(t, COMMIT_SET)) && take_one(t, taking, c))
		;
}

/* The slots that commits of a character are about; false when this one is among them. */
static bool new_slot(uint64_t seen[2], const struct commit *c)
{
	uint32_t slot = c->body.commit.op[0].slot;
	uint64_t bit = 1ull << slot % 64;

	_Static_assert(COMMIT_EQUIP_FIRST + COMMIT_EQUIP_SLOTS <= 128, "a bit for each slot");
	if (seen[slot / 64] & bit)
		return false;
	seen[slot / 64] |= bit;
	return true;
}

/* Each with those behind it in its character's line, up to one that would need it done. */
static void take_slots(struct commit_table *t, struct taking *taking)
{
	struct commit *c;

	while ((c = TAILQ_FIRST(&t->ready[COMMIT_SLOTS]))) {
		uint64_t seen[2] = {0, 0};

		while (c && c->kind == COMMIT_SLOTS && c->state == COMMIT_WAITING &&
			new_slot(seen, c)) {
			if (!take_one(t, taking, c))
				return;
			c = c->next[0] == NIL ? NULL : &t->commits[c->next[0] / 2];
		}
	}
}

uint32_t commit_table_take(struct commit_table *t, uint32_t batch, uint32_t max,
	struct commit *const **commits, enum commit_kind *kind)
{
	struct batch_in_flight *b = &t->batches[batch];
	struct taking taking = {b, batch, max < t->size.batch_max ? max : t->size.batch_max, 0};
	const struct commit *first = oldest(t, COMMIT_ROW);
	uint32_t slots = t->ready_count[COMMIT_SLOTS], simple = slots + t->ready_count[COMMIT_SET];

	CHECK(b->left == 0);
	b->count = 0;
	*kind = first ? (enum commit_kind)first->kind : COMMIT_ROW;
	if (*kind == COMMIT_SLOTS && slots < COMMIT_SET_MIN)
		*kind = COMMIT_SET;
	if (*kind == COMMIT_SET && simple < COMMIT_SET_MIN)
		*kind = COMMIT_ROW;
	switch (*kind) {
	case COMMIT_SLOTS:
		take_slots(t, &taking);
		break;
	case COMMIT_SET:
		take_set(t, &taking);
		break;
	default:
		take_row(t, &taking, simple < COMMIT_SET_MIN);
		break;
	}
	if (*kind != COMMIT_ROW)
		qsort(b->commits, b->count, sizeof(struct commit *), by_character);
	b->left = b->count;
	t->batches_count += b->count > 0;
	*commits = b->commits;
	return b->count;
}

void commit_table_put_back(struct commit_table *t, uint32_t batch, unsigned how)
{
	struct batch_in_flight *b = &t->batches[batch];
	bool behind = how & COMMIT_BEHIND;

	CHECK(b->left == b->count && b->count > 0);
	qsort(b->commits, b->count, sizeof(struct commit *), by_sequence);
	for (uint32_t n = 0; n < b->count; n++) {
		struct commit *c = b->commits[behind ? n : b->count - 1 - n];

		CHECK(c->state == COMMIT_IN_FLIGHT);
		c->state = COMMIT_WAITING;
		c->unknown |= (how & COMMIT_UNKNOWN) != 0;
		if (how & COMMIT_SMALLER)
			c->batch_max = b->count > 1 ? b->count / 2 : 1;
		if (c->deadline_ns < t->expiry_ns)
			t->expiry_ns = c->deadline_ns;
		TAILQ_INSERT_HEAD(&t->waiting, c, line);
		if (is_ready(c))
			ready_add(t, c, !behind);
	}
	t->waiting_count += b->count;
	t->in_flight_count -= b->count;
	t->batches_count--;
	b->count = b->left = 0;
}

void commit_table_settle(struct commit_table *t, struct commit *c)
{
	CHECK(c->state == COMMIT_WAITING || c->state == COMMIT_IN_FLIGHT);
	if (c->state == COMMIT_WAITING) {
		if (is_ready(c))
			ready_remove(t, c);
		TAILQ_REMOVE(&t->waiting, c, line);
		t->waiting_count--;
	} else {
		t->in_flight_count--;
		t->batches_count -= --t->batches[c->batch].left == 0;
	}
	c->state = COMMIT_SETTLED;
	request_remove(t, c);
	leave_lines(t, c);
}

void commit_table_release(struct commit_table *t, struct commit *c)
{
	CHECK(c->state == COMMIT_SETTLED);
	c->state = COMMIT_FREE;
	t->used--;
	t->shared -= --t->used_by[c->source] >= t->reserve;
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
	return t->waiting_count + t->in_flight_count;
}

uint32_t commit_table_waiting(const struct commit_table *t)
{
	return t->waiting_count;
}

uint32_t commit_table_ready(const struct commit_table *t)
{
	uint32_t count = 0;

	for (int kind = 0; kind < COMMIT_KINDS; kind++)
		count += t->ready_count[kind];
	return count;
}

uint32_t commit_table_in_flight(const struct commit_table *t, uint32_t batch)
{
	return t->batches[batch].left;
}

uint32_t commit_table_batches(const struct commit_table *t)
{
	return t->batches_count;
}

uint64_t commit_table_sequence(const struct commit_table *t)
{
	return t->sequence;
}

uint32_t commit_table_unsettled(
	const struct commit_table *t, uint64_t sequence, const struct commit **list, uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->size.capacity; i++) {
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
