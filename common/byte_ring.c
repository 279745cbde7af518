#include "common/byte_ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct byte_ring {
	uint8_t *bytes; /* [size] */
	uint64_t size;
	_Alignas(64) _Atomic uint64_t tail; /* producer writes: bytes ever pushed */
	uint64_t seen_head;                 /* the producer's: head as it was last read */
	_Atomic bool closed;                /* producer writes */
	_Alignas(64) _Atomic uint64_t head; /* consumer writes: bytes ever popped */
	_Atomic bool refused;               /* consumer writes */
};

struct byte_ring *byte_ring_new(uint32_t bytes)
{
	struct byte_ring *ring;

	if (bytes < 4096 || (bytes & (bytes - 1)))
		return NULL;
	ring = aligned_alloc(64, (sizeof(*ring) + 63) & ~(size_t)63);
	if (!ring)
		return NULL;
	memset(ring, 0, sizeof(*ring));
	ring->size = bytes;
	ring->bytes = aligned_alloc(64, bytes);
	if (!ring->bytes) {
		free(ring);
		return NULL;
	}
	memset(ring->bytes, 0, bytes); /* a first-touch fault belongs to set-up */
	return ring;
}

void byte_ring_free(struct byte_ring *ring)
{
	if (ring)
		free(ring->bytes);
	free(ring);
}

static void copy_in(struct byte_ring *ring, uint64_t at, const void *from, uint32_t bytes)
{
	uint64_t start = at & (ring->size - 1), first = ring->size - start;

	if (first > bytes)
		first = bytes;
	memcpy(ring->bytes + start, from, first);
	if (bytes > first)
		memcpy(ring->bytes, (const uint8_t *)from + first, bytes - first);
}

bool byte_ring_push(struct byte_ring *ring, const void *head, uint32_t head_bytes, const void *body,
	uint32_t body_bytes)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t bytes = (uint64_t)head_bytes + body_bytes;

	if (atomic_load_explicit(&ring->closed, memory_order_relaxed))
		return false;
	if (tail - ring->seen_head + bytes > ring->size)
		ring->seen_head = atomic_load_explicit(&ring->head, memory_order_acquire);
	if (tail - ring->seen_head + bytes > ring->size ||
		atomic_load_explicit(&ring->refused, memory_order_relaxed)) {
		/* After all that was pushed: a consumer that sees it sees those, too. */
		atomic_store_explicit(&ring->closed, true, memory_order_release);
		return false;
	}
	copy_in(ring, tail, head, head_bytes);
	if (body_bytes)
		copy_in(ring, tail + head_bytes, body, body_bytes);
	atomic_store_explicit(&ring->tail, tail + bytes, memory_order_release);
	return true;
}

uint32_t byte_ring_pop(struct byte_ring *ring, void *out, uint32_t out_bytes)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint64_t there = atomic_load_explicit(&ring->tail, memory_order_acquire) - head;
	uint64_t start = head & (ring->size - 1), first = ring->size - start;

	if (there > out_bytes)
		there = out_bytes;
	if (first > there)
		first = there;
	memcpy(out, ring->bytes + start, first);
	memcpy((uint8_t *)out + first, ring->bytes, there - first);
	atomic_store_explicit(&ring->head, head + there, memory_order_release);
	return (uint32_t)there;
}

bool byte_ring_closed(const struct byte_ring *ring)
{
	return atomic_load_explicit((_Atomic bool *)&ring->closed, memory_order_acquire);
}

void byte_ring_refuse(struct byte_ring *ring)
{
	atomic_store_explicit(&ring->refused, true, memory_order_relaxed);
}
