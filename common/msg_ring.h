/* msg_ring: the only road between dataplane, simulation and control.
 *
 * A single-producer, single-consumer ring of 64-byte slots (DPDK's rte_ring on plain memory; needs
 * no EAL). A message is one or more consecutive slots, pushed whole or not at all, popped whole.
 * Exactly one producer thread and one consumer thread for the life of the ring. */
#ifndef SW_COMMON_MSG_RING_H
#define SW_COMMON_MSG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/msg.h"

struct msg_ring;

/* Set-up thread. slots: a power of two, at least 2 * MSG_SLOTS_MAX; one slot of it is not usable.
 * name: for messages and metrics, copied, at most 31 bytes. Returns NULL when memory is short or
 * slots is not valid. Free it after both threads have ended. */
struct msg_ring *msg_ring_new(const char *name, uint32_t slots);
void msg_ring_free(struct msg_ring *ring);
const char *msg_ring_name(const struct msg_ring *ring);

/* Bytes that a ring of so many slots takes; for the memory sums. */
size_t msg_ring_bytes(uint32_t slots);

/* Producer. Pushes one message of msg->slots slots. Returns false, and pushes nothing, when it does
 * not fit: a full ring is normal, and the caller decides what waits and what is dropped and
 * counted. Never blocks, allocates or logs. */
bool msg_ring_push(struct msg_ring *ring, const struct msg *message);

/* Producer. Slots free now; it can only grow until the producer pushes. */
uint32_t msg_ring_room(const struct msg_ring *ring);

/* Consumer. Copies whole messages, oldest first, into out[out_slots], which has room for at least
 * MSG_SLOTS_MAX + 1 slots; stops when the next message might not fit. Returns the slots filled, 0
 * when the ring is empty. Walk them with msg_next. Never blocks, allocates or logs. */
uint32_t msg_ring_pop(struct msg_ring *ring, struct msg *out, uint32_t out_slots);

/* Consumer. The slot that comes so many slots after the next one to be popped, where a message must
 * begin; NULL when the ring has no more. To read its first slot alone (the rest may have wrapped),
 * until the next pop. */
const struct msg *msg_ring_peek(const struct msg_ring *ring, uint32_t slot);

/* Consumer or producer, approximate for anyone else. Slots in use. */
uint32_t msg_ring_used(const struct msg_ring *ring);

#endif
