#include "control/admission/verify_queue.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

bool verify_queue_init(struct verify_queue *queue, uint32_t max)
{
	*queue = (struct verify_queue){
		.max = max, .turn = VERIFY_NONE, .oldest = VERIFY_NONE, .newest = VERIFY_NONE};
	queue->entries = calloc(max, sizeof(*queue->entries));
	queue->sources = calloc(max, sizeof(*queue->sources));
	queue->levels = malloc((max + 1ull) * sizeof(*queue->levels));
	if (!queue->entries || !queue->sources || !queue->levels ||
		!map64_init(&queue->by_source, max)) {
		verify_queue_fini(queue);
		return false;
	}
	for (uint32_t i = 0; i < max; i++) {
		queue->entries[i].next = i + 1 < max ? i + 1 : VERIFY_NONE;
		queue->sources[i].after = i + 1 < max ? i + 1 : VERIFY_NONE;
	}
	for (uint32_t i = 0; i <= max; i++)
		queue->levels[i] = VERIFY_NONE;
	return true;
}

void verify_queue_fini(struct verify_queue *queue)
{
	free(queue->entries);
	free(queue->sources);
	free(queue->levels);
	map64_fini(&queue->by_source);
	*queue = (struct verify_queue){.max = 0};
}

uint64_t verify_source_key(const uint8_t ip[16])
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	uint64_t key = 0;

	if (!memcmp(ip, v4, sizeof(v4))) {
		for (uint32_t i = 10; i < 16; i++) /* the ff ff too: no /64 begins so */
			key = key << 8 | ip[i];
		return key;
	}
	for (uint32_t i = 0; i < 8; i++)
		key = key << 8 | ip[i];
	return key ? key : 1;
}

/* ---- how many tickets each source has ---- */

static void level_leave(struct verify_queue *queue, uint32_t index)
{
	struct verify_source *source = &queue->sources[index];

	if (source->level_prev == VERIFY_NONE)
		queue->levels[source->count] = source->level_next;
	else
		queue->sources[source->level_prev].level_next = source->level_next;
	if (source->level_next != VERIFY_NONE)
		queue->sources[source->level_next].level_prev = source->level_prev;
}

static void level_enter(struct verify_queue *queue, uint32_t index)
{
	struct verify_source *source = &queue->sources[index];

	source->level_prev = VERIFY_NONE;
	source->level_next = queue->levels[source->count];
	if (source->level_next != VERIFY_NONE)
		queue->sources[source->level_next].level_prev = index;
	queue->levels[source->count] = index;
	if (source->count > queue->most)
		queue->most = source->count;
	/* It has one less than it had: nobody is between. */
	while (queue->most && queue->levels[queue->most] == VERIFY_NONE)
		queue->most--;
}

/* ---- the round ---- */

/* At the end of the round that is under way. */
static uint32_t source_new(struct verify_queue *queue, uint64_t key)
{
	uint32_t index = queue->source_free;
	struct verify_source *source = &queue->sources[index];

	queue->source_free = source->after;
	*source = (struct verify_source){.key = key, .head = VERIFY_NONE, .tail = VERIFY_NONE};
	if (queue->turn == VERIFY_NONE) {
		queue->turn = source->before = source->after = index;
	} else {
		source->after = queue->turn;
		source->before = queue->sources[queue->turn].before;
		queue->sources[source->before].after = index;
		queue->sources[queue->turn].before = index;
	}
	CHECK(map64_put(&queue->by_source, key, index));
	queue->source_count++;
	level_enter(queue, index);
	return index;
}

static void source_end(struct verify_queue *queue, uint32_t index)
{
	struct verify_source *source = &queue->sources[index];

	level_leave(queue, index);
	map64_remove(&queue->by_source, source->key);
	if (queue->turn == index)
		queue->turn = source->after;
	if (queue->turn == index)
		queue->turn = VERIFY_NONE; /* it was alone */
	queue->sources[source->before].after = source->after;
	queue->sources[source->after].before = source->before;
	source->after = queue->source_free;
	queue->source_free = index;
	queue->source_count--;
}

/* ---- tickets ---- */

void verify_queue_remove(struct verify_queue *queue, uint32_t at)
{
	struct verify_entry *entry = &queue->entries[at];
	struct verify_source *source = &queue->sources[entry->source];

	CHECK(at < queue->max && entry->session);
	level_leave(queue, entry->source);
	if (entry->prev == VERIFY_NONE)
		source->head = entry->next;
	else
		queue->entries[entry->prev].next = entry->next;
	if (entry->next == VERIFY_NONE)
		source->tail = entry->prev;
	else
		queue->entries[entry->next].prev = entry->prev;
	if (entry->older == VERIFY_NONE)
		queue->oldest = entry->newer;
	else
		queue->entries[entry->older].newer = entry->newer;
	if (entry->newer == VERIFY_NONE)
		queue->newest = entry->older;
	else
		queue->entries[entry->newer].older = entry->older;
	source->count--;
	level_enter(queue, entry->source);
	if (!source->count)
		source_end(queue, entry->source);
	entry->session = 0;
	entry->next = queue->entry_free;
	queue->entry_free = at;
	queue->count--;
}

static void append(struct verify_queue *queue, uint32_t at, uint32_t index)
{
	struct verify_entry *entry = &queue->entries[at];
	struct verify_source *source = &queue->sources[index];

	level_leave(queue, index);
	entry->source = index;
	entry->prev = source->tail;
	entry->next = VERIFY_NONE;
	if (source->tail == VERIFY_NONE)
		source->head = at;
	else
		queue->entries[source->tail].next = at;
	source->tail = at;
	entry->older = queue->newest;
	entry->newer = VERIFY_NONE;
	if (queue->newest == VERIFY_NONE)
		queue->oldest = at;
	else
		queue->entries[queue->newest].newer = at;
	queue->newest = at;
	source->count++;
	queue->count++;
	level_enter(queue, index);
}

enum verify_push verify_queue_push(struct verify_queue *queue, uint64_t source, uint64_t session,
	const uint8_t *ticket, uint32_t bytes, uint64_t now_ns, uint32_t *at, uint64_t *evicted)
{
	uint32_t index = map64_get(&queue->by_source, source);
	uint32_t has = index == MAP64_NONE ? 0 : queue->sources[index].count;
	enum verify_push result = VERIFY_TAKEN;
	struct verify_entry *entry;

	CHECK(session && bytes <= TICKET_BYTES_MAX);
	if (queue->count == queue->max) {
		uint32_t victim;

		if (queue->most <= has + 1)
			return VERIFY_FULL;
		victim = queue->sources[queue->levels[queue->most]].tail;
		*evicted = queue->entries[victim].session;
		verify_queue_remove(queue, victim); /* of another source, which has more left */
		result = VERIFY_TAKEN_FOR;
	}
	if (index == MAP64_NONE)
		index = source_new(queue, source);
	*at = queue->entry_free;
	entry = &queue->entries[*at];
	queue->entry_free = entry->next;
	entry->session = session;
	entry->since_ns = now_ns;
	entry->bytes = bytes;
	memcpy(entry->ticket, ticket, bytes);
	append(queue, *at, index);
	return result;
}

const struct verify_entry *verify_queue_pop(struct verify_queue *queue, uint64_t *session)
{
	uint32_t index = queue->turn, at;

	if (index == VERIFY_NONE)
		return NULL;
	at = queue->sources[index].head;
	queue->turn = queue->sources[index].after;
	*session = queue->entries[at].session;
	verify_queue_remove(queue, at);
	return &queue->entries[at];
}

uint64_t verify_queue_oldest_ns(const struct verify_queue *queue)
{
	return queue->oldest == VERIFY_NONE ? 0 : queue->entries[queue->oldest].since_ns;
}
