/* As in common/msg_ring.c: the C11 variant of rte_ring, because TSan understands its atomics. */
#define RTE_USE_C11_MEM_MODEL 1
#include <rte_ring.h>

#include <stdlib.h>

#include "common/tables.h"
#include "dataplane/frame_ring.h"

/* Slots of a ring that holds so many: rte_ring keeps one free. */
static uint32_t slots_of(uint32_t frames)
{
	return rte_align32pow2(frames + 1);
}

size_t dp_frame_ring_bytes(uint32_t frames)
{
	return ((size_t)rte_ring_get_memsize(slots_of(frames)) + 63) & ~(size_t)63;
}

struct dp_frame_ring *dp_frame_ring_new(uint32_t frames)
{
	size_t bytes = dp_frame_ring_bytes(frames);
	struct rte_ring *ring = tables_new(bytes);

	if (!ring)
		return NULL;
	if (rte_ring_init(ring, "frames", slots_of(frames), RING_F_SP_ENQ | RING_F_SC_DEQ)) {
		free(ring);
		return NULL;
	}
	return (struct dp_frame_ring *)ring;
}

void dp_frame_ring_free(struct dp_frame_ring *ring)
{
	free(ring);
}

uint32_t dp_frame_ring_push(struct dp_frame_ring *ring, void *const *frames, uint32_t count)
{
	return rte_ring_sp_enqueue_burst((struct rte_ring *)ring, frames, count, NULL);
}

uint32_t dp_frame_ring_pop(struct dp_frame_ring *ring, void **out, uint32_t most)
{
	return rte_ring_sc_dequeue_burst((struct rte_ring *)ring, out, most, NULL);
}
