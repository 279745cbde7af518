/* rte_ring on plain memory. The C11 memory model variant is chosen here, and only here, because
 * TSan understands its atomics (the default one uses compiler barriers on x86). */
#define RTE_USE_C11_MEM_MODEL 1
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/msg_ring.h"
#include "common/tables.h"

struct msg_ring {
	char name[32];
	struct rte_ring *ring;
};

size_t msg_ring_bytes(uint32_t slots)
{
	return sizeof(struct msg_ring) + (size_t)rte_ring_get_memsize_elem(MSG_SLOT_BYTES, slots);
}

struct msg_ring *msg_ring_new(const char *name, uint32_t slots)
{
	struct msg_ring *ring;
	ssize_t bytes;

	if (slots < 2 * MSG_SLOTS_MAX || (slots & (slots - 1)))
		return NULL;
	bytes = rte_ring_get_memsize_elem(MSG_SLOT_BYTES, slots);
	ring = calloc(1, sizeof(*ring));
	if (!ring || bytes < 0)
		goto fail;
	ring->ring = tables_new((size_t)bytes);
	if (!ring->ring)
		goto fail;
	snprintf(ring->name, sizeof(ring->name), "%s", name);
	if (rte_ring_init(ring->ring, "msg_ring", slots, RING_F_SP_ENQ | RING_F_SC_DEQ))
		goto fail;
	return ring;
fail:
	msg_ring_free(ring);
	return NULL;
}

void msg_ring_free(struct msg_ring *ring)
{
	if (ring)
		free(ring->ring);
	free(ring);
}

const char *msg_ring_name(const struct msg_ring *ring)
{
	return ring->name;
}

bool msg_ring_push(struct msg_ring *ring, const struct msg *message)
{
	DCHECK(message->slots >= 1 && message->slots <= MSG_SLOTS_MAX);
	DCHECK(message->slots == msg_slots(message->payload_bytes));
	return rte_ring_sp_enqueue_bulk_elem(
		       ring->ring, message, MSG_SLOT_BYTES, message->slots, NULL) != 0;
}

/* rte_ring_count reads both tails plainly. With acquire, a consumer that has seen one ring's
 * message also sees what its sender had pushed into another ring before: the order between rings
 * that control/world relies on. */
uint32_t msg_ring_used(const struct msg_ring *ring)
{
	const struct rte_ring *r = ring->ring;
	uint32_t consumed = __atomic_load_n(&r->cons.tail, __ATOMIC_ACQUIRE);
	uint32_t used = (__atomic_load_n(&r->prod.tail, __ATOMIC_ACQUIRE) - consumed) & r->mask;

	return used > r->capacity ? r->capacity : used;
}

uint32_t msg_ring_room(const struct msg_ring *ring)
{
	return ring->ring->capacity - msg_ring_used(ring);
}

const struct msg *msg_ring_peek(const struct msg_ring *ring, uint32_t slot)
{
	const struct rte_ring *r = ring->ring;

	if (slot >= msg_ring_used(ring))
		return NULL;
	/* The elements follow the head, as rte_ring_peek_zc.h has it. */
	return (const struct msg *)(r + 1) + ((r->cons.tail + slot) & r->mask);
}

uint32_t msg_ring_pop(struct msg_ring *ring, struct msg *out, uint32_t out_slots)
{
	uint32_t got, at = 0;

	CHECK(out_slots > MSG_SLOTS_MAX);
	/* The last message of a burst may be cut; its rest is in the ring, because it was pushed
	 * whole, and fits out, because the burst left MSG_SLOTS_MAX - 1 slots free. */
	got = rte_ring_sc_dequeue_burst_elem(
		ring->ring, out, MSG_SLOT_BYTES, out_slots - (MSG_SLOTS_MAX - 1), NULL);
	while (at < got) {
		DCHECK(out[at].slots >= 1 && out[at].slots <= MSG_SLOTS_MAX);
		at += out[at].slots;
	}
	if (at > got) {
		uint32_t rest = rte_ring_sc_dequeue_bulk_elem(
			ring->ring, out + got, MSG_SLOT_BYTES, at - got, NULL);
		CHECK(rest == at - got);
	}
	return at;
}
