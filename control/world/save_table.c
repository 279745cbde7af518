#include "control/world/save_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

#define NIL UINT32_MAX

struct entry {
	struct save waiting, in_flight;
	/* Sequence of the first save that the slot stands for: unlike save.sequence it stays when a
	 * newer save replaces one that was never written. */
	uint64_t waiting_since, in_flight_since;
	uint64_t waiting_ns, in_flight_ns;
	uint32_t chain;      /* next of the hash bucket, or of the free list */
	uint32_t prev, next; /* queue of waiting entries */
	bool has_waiting, has_in_flight;
};

struct save_table {
	uint64_t sequence;
	uint32_t capacity, batch_max, bucket_mask;
	uint32_t used, waiting;
	uint32_t head, tail; /* of the queue */
	uint32_t free_list;
	uint32_t batch_count;
	struct entry *entries; /* [capacity] */
	uint32_t *buckets;     /* [bucket_mask + 1] */
	struct save *batch;    /* [batch_max], what take returned */
	uint32_t *batch_index; /* [batch_max], their entries, in the order they waited */
};

static uint32_t bucket_count(uint32_t capacity)
{
	uint32_t n = 16;

	while (n < capacity && n < 1u << 31)
		n *= 2;
	return n;
}

size_t save_table_bytes(uint32_t capacity, uint32_t batch_max)
{
	return sizeof(struct save_table) + (size_t)capacity * sizeof(struct entry) +
	       (size_t)bucket_count(capacity) * sizeof(uint32_t) +
	       (size_t)batch_max * (sizeof(struct save) + sizeof(uint32_t));
}

struct save_table *save_table_new(uint32_t capacity, uint32_t batch_max)
{
	struct save_table *t;
	uint32_t buckets = bucket_count(capacity);

	CHECK(capacity >= 1 && capacity < NIL && batch_max >= 1);
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->entries = calloc(capacity, sizeof(*t->entries));
	t->buckets = malloc(buckets * sizeof(*t->buckets));
	t->batch = calloc(batch_max, sizeof(*t->batch));
	t->batch_index = calloc(batch_max, sizeof(*t->batch_index));
	if (!t->entries || !t->buckets || !t->batch || !t->batch_index) {
		save_table_free(t);
		return NULL;
	}
	t->capacity = capacity;
	t->batch_max = batch_max;
	t->bucket_mask = buckets - 1;
	t->head = t->tail = NIL;
	memset(t->buckets, 0xff, buckets * sizeof(*t->buckets));
	for (uint32_t i = 0; i < capacity; i++)
		t->entries[i].chain = i + 1 < capacity ? i + 1 : NIL;
	return t;
}

void save_table_free(struct save_table *t)
{
	if (!t)
		return;
	free(t->entries);
	free(t->buckets);
	free(t->batch);
	free(t->batch_index);
	free(t);
}

static const struct msg_position_save *entry_key(const struct entry *e)
{
	return e->has_waiting ? &e->waiting.position : &e->in_flight.position;
}

static uint32_t bucket_of(const struct save_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint64_t h = (character_id ^ (uint64_t)realm_id << 40) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32) & t->bucket_mask;
}

static uint32_t find(const struct save_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint32_t i = t->buckets[bucket_of(t, realm_id, character_id)];

	for (; i != NIL; i = t->entries[i].chain) {
		const struct msg_position_save *key = entry_key(&t->entries[i]);

		if (key->character_id == character_id && key->realm_id == realm_id)
			return i;
	}
	return NIL;
}

static void queue_insert(struct save_table *t, uint32_t i, bool first)
{
	struct entry *e = &t->entries[i];

	e->prev = first ? NIL : t->tail;
	e->next = first ? t->head : NIL;
	*(e->prev == NIL ? &t->head : &t->entries[e->prev].next) = i;
	*(e->next == NIL ? &t->tail : &t->entries[e->next].prev) = i;
	t->waiting++;
}

static void queue_remove(struct save_table *t, uint32_t i)
{
	struct entry *e = &t->entries[i];

	*(e->prev == NIL ? &t->head : &t->entries[e->prev].next) = e->next;
	*(e->next == NIL ? &t->tail : &t->entries[e->next].prev) = e->prev;
	t->waiting--;
}

/* Whether a, which came later, replaces b. */
static bool supersedes(const struct msg_position_save *a, const struct msg_position_save *b)
{
	if (a->epoch != b->epoch)
		return a->epoch > b->epoch;
	if (a->stay != b->stay)
		return a->stay > b->stay;
	return a->leaving || !b->leaving;
}

enum save_put save_table_put(
	struct save_table *t, const struct msg_position_save *save, uint64_t now_ns)
{
	uint32_t i = find(t, save->realm_id, save->character_id);
	struct entry *e;

	if (i == NIL) {
		uint32_t bucket = bucket_of(t, save->realm_id, save->character_id);

		if (t->used == t->capacity)
			return SAVE_PUT_FULL;
		i = t->free_list;
		t->used++;
		e = &t->entries[i];
		t->free_list = e->chain;
		e->chain = t->buckets[bucket];
		t->buckets[bucket] = i;
	} else {
		e = &t->entries[i];
		if (e->has_waiting && !supersedes(save, &e->waiting.position))
			return SAVE_PUT_OUTDATED;
		if (e->has_in_flight && !supersedes(save, &e->in_flight.position))
			return SAVE_PUT_OUTDATED;
	}
	e->waiting.position = *save;
	e->waiting.sequence = ++t->sequence;
	if (e->has_waiting)
		return SAVE_PUT_COALESCED;
	e->has_waiting = true;
	e->waiting_since = t->sequence;
	e->waiting_ns = now_ns;
	queue_insert(t, i, false);
	return SAVE_PUT_NEW;
}

static int by_id(const void *left, const void *right)
{
	const struct msg_position_save *a = &((const struct save *)left)->position;
	const struct msg_position_save *b = &((const struct save *)right)->position;
	int64_t id_a = (int64_t)a->character_id, id_b = (int64_t)b->character_id;

	return id_a < id_b ? -1 : id_a > id_b;
}

uint32_t save_table_take(struct save_table *t, uint32_t max, const struct save **saves)
{
	CHECK(t->batch_count == 0);
	if (max > t->batch_max)
		max = t->batch_max;
	while (t->batch_count < max && t->head != NIL) {
		uint32_t i = t->head;
		struct entry *e = &t->entries[i];

		if (t->batch_count &&
			e->waiting.position.realm_id != t->batch[0].position.realm_id)
			break;
		queue_remove(t, i);
		e->in_flight = e->waiting;
		e->in_flight_since = e->waiting_since;
		e->in_flight_ns = e->waiting_ns;
		e->has_in_flight = true;
		e->has_waiting = false;
		t->batch[t->batch_count] = e->in_flight;
		t->batch_index[t->batch_count++] = i;
	}
	qsort(t->batch, t->batch_count, sizeof(*t->batch), by_id);
	*saves = t->batch;
	return t->batch_count;
}

/* Unlinks an entry that holds nothing any more; its key is still in in_flight. */
static void entry_release(struct save_table *t, uint32_t i)
{
	struct entry *e = &t->entries[i];
	uint32_t *link = &t->buckets[bucket_of(
		t, e->in_flight.position.realm_id, e->in_flight.position.character_id)];

	while (*link != i)
		link = &t->entries[*link].chain;
	*link = e->chain;
	e->chain = t->free_list;
	t->free_list = i;
	t->used--;
}

void save_table_settle(struct save_table *t)
{
	for (uint32_t n = 0; n < t->batch_count; n++) {
		struct entry *e = &t->entries[t->batch_index[n]];

		if (!e->has_waiting)
			entry_release(t, t->batch_index[n]);
		e->has_in_flight = false;
	}
	t->batch_count = 0;
}

void save_table_put_back(struct save_table *t, bool first)
{
	for (uint32_t n = 0; n < t->batch_count; n++) {
		/* To the front in reverse, so that the order of waiting stays. */
		uint32_t i = t->batch_index[first ? t->batch_count - 1 - n : n];
		struct entry *e = &t->entries[i];

		if (e->has_waiting)
			queue_remove(t, i);
		else
			e->waiting = e->in_flight;
		/* Where a newer save waits it stands for the older one from now on. */
		e->waiting_since = e->in_flight_since;
		e->waiting_ns = e->in_flight_ns;
		e->has_waiting = true;
		e->has_in_flight = false;
		queue_insert(t, i, first);
	}
	t->batch_count = 0;
}

bool save_table_has(const struct save_table *t, uint32_t realm_id, uint64_t character_id)
{
	return find(t, realm_id, character_id) != NIL;
}

void save_table_promote(struct save_table *t, uint32_t realm_id, uint64_t character_id)
{
	uint32_t i = find(t, realm_id, character_id);

	if (i == NIL || !t->entries[i].has_waiting)
		return;
	queue_remove(t, i);
	queue_insert(t, i, true);
}

uint32_t save_table_used(const struct save_table *t)
{
	return t->used;
}

uint32_t save_table_waiting(const struct save_table *t)
{
	return t->waiting;
}

uint32_t save_table_in_flight(const struct save_table *t)
{
	return t->batch_count;
}

uint64_t save_table_sequence(const struct save_table *t)
{
	return t->sequence;
}

uint64_t save_table_front_ns(const struct save_table *t)
{
	return t->head == NIL ? UINT64_MAX : t->entries[t->head].waiting_ns;
}

/* saves: NULL to count only. */
static uint32_t unsettled(
	const struct save_table *t, uint64_t sequence, struct save *saves, uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t i = t->head; i != NIL && count < max; i = t->entries[i].next) {
		const struct entry *e = &t->entries[i];

		if (e->waiting_since > sequence)
			continue;
		if (saves)
			saves[count] = e->waiting;
		count++;
	}
	for (uint32_t n = 0; n < t->batch_count && count < max; n++) {
		const struct entry *e = &t->entries[t->batch_index[n]];

		/* Counted above already if its waiting save is as old. */
		if (e->in_flight_since > sequence ||
			(e->has_waiting && e->waiting_since <= sequence))
			continue;
		if (saves)
			saves[count] = e->has_waiting ? e->waiting : e->in_flight;
		count++;
	}
	return count;
}

uint32_t save_table_unsettled(const struct save_table *t, uint64_t sequence)
{
	return unsettled(t, sequence, NULL, UINT32_MAX);
}

uint32_t save_table_unsettled_list(
	const struct save_table *t, uint64_t sequence, struct save *saves, uint32_t max)
{
	return unsettled(t, sequence, saves, max);
}
