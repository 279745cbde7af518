#include <stdatomic.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/tables.h"
#include "dataplane/flows.h"

/* An entry: 25 bits of the hash, 1 whether it is a peer's, 6 the worker. 0 is free, so tags begin
 * with a set bit (which leaves 24 that tell flows apart beyond the bucket's). */
#define TAG_MASK    0xffffff80u
#define TAG_SET     0x80000000u
#define PEER        0x40u
#define WORKER_MASK 0x3fu

/* One line. At one entry in four taken (dp_flows_bytes) a bucket holds 4 in the mean, and more than
 * 16 once in a million buckets. */
#define WAYS 16u

struct bucket {
	_Atomic uint32_t entry[WAYS];
} __attribute__((aligned(64)));

struct dp_flows {
	uint32_t mask;
	struct bucket bucket[];
};

static uint32_t buckets_of(uint32_t flows)
{
	uint32_t buckets = 1;

	while (buckets < flows / (WAYS / 4) + 1)
		buckets *= 2;
	return buckets;
}

size_t dp_flows_bytes(uint32_t flows)
{
	return sizeof(struct dp_flows) + buckets_of(flows) * sizeof(struct bucket);
}

struct dp_flows *dp_flows_new(uint32_t flows)
{
	struct dp_flows *table = tables_new(dp_flows_bytes(flows));

	if (!table)
		return NULL;
	table->mask = buckets_of(flows) - 1;
	return table;
}

void dp_flows_free(struct dp_flows *table)
{
	free(table);
}

static uint32_t tag_of(uint64_t hash)
{
	return ((uint32_t)(hash >> 32) & TAG_MASK) | TAG_SET;
}

static struct bucket *bucket_of(const struct dp_flows *table, uint64_t hash)
{
	return (struct bucket *)&table->bucket[(uint32_t)hash & table->mask];
}

static bool swap(_Atomic uint32_t *entry, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong_explicit(
		entry, &from, to, memory_order_relaxed, memory_order_relaxed);
}

bool dp_flows_put(struct dp_flows *table, uint64_t hash, uint32_t worker, bool peer)
{
	struct bucket *bucket = bucket_of(table, hash);
	uint32_t wanted = tag_of(hash) | worker | (peer ? PEER : 0);

	DCHECK(worker < DP_FLOWS_WORKERS_MAX);
	/* A handshake's entry becomes the peer's; a second handshake needs no second entry. */
	for (uint32_t i = 0; i < WAYS; i++) {
		uint32_t have = atomic_load_explicit(&bucket->entry[i], memory_order_relaxed);

		if ((have & ~PEER) != (wanted & ~PEER))
			continue;
		if (!peer)
			return true;
		if (!(have & PEER) && swap(&bucket->entry[i], have, wanted))
			return true;
	}
	for (uint32_t i = 0; i < WAYS; i++)
		if (swap(&bucket->entry[i], 0, wanted))
			return true;
	for (uint32_t n = 0; n < WAYS; n++) {
		/* Not always the first: strangers may fill the places of handshakes. */
		uint32_t i = ((uint32_t)(hash >> 59) + n) % WAYS;
		uint32_t have = atomic_load_explicit(&bucket->entry[i], memory_order_relaxed);

		if (!(have & PEER) && swap(&bucket->entry[i], have, wanted))
			return true;
	}
	return false;
}

void dp_flows_remove(struct dp_flows *table, uint64_t hash, uint32_t worker)
{
	struct bucket *bucket = bucket_of(table, hash);
	uint32_t gone = tag_of(hash) | worker | PEER;

	for (uint32_t i = 0; i < WAYS; i++)
		if (atomic_load_explicit(&bucket->entry[i], memory_order_relaxed) == gone &&
			swap(&bucket->entry[i], gone, 0))
			return; /* one: another peer of the same flow has its own */
}

uint32_t dp_flows_find(const struct dp_flows *table, uint64_t hash, uint32_t asker, bool connect)
{
	const struct bucket *bucket = bucket_of(table, hash);
	uint32_t tag = tag_of(hash), found = DP_FLOWS_NOBODY;

	for (uint32_t i = 0; i < WAYS; i++) {
		uint32_t have = atomic_load_explicit(
			(_Atomic uint32_t *)&bucket->entry[i], memory_order_relaxed);

		if (!have || (have & TAG_MASK) != tag)
			continue;
		if ((have & WORKER_MASK) != asker)
			found = have & WORKER_MASK;
		else if (connect)
			return DP_FLOWS_NOBODY;
	}
	return found;
}
