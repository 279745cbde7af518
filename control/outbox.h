/* outbox: the sending end of a ring, with a bounded queue behind it for what the ring cannot take
 * now. Order is kept. The queue grows on demand and keeps its size.
 *
 * Thread: the ring's producer. */
#ifndef SW_CONTROL_OUTBOX_H
#define SW_CONTROL_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg_ring.h"

struct outbox {
	struct msg_ring *ring;
	struct msg *slots; /* [capacity]; waiting: [head, tail) */
	uint32_t capacity, head, tail, max;
	uint64_t delayed; /* messages that waited */
	uint64_t lost;    /* messages that found max slots waiting, or no memory */
};

/* max: slots that may wait. Allocates nothing yet. */
void outbox_init(struct outbox *outbox, struct msg_ring *ring, uint32_t max);
void outbox_fini(struct outbox *outbox);

/* Returns false, and counts it in lost, when the queue is full too: the caller says so. */
bool outbox_push(struct outbox *outbox, const struct msg *message);

/* Moves what waits into the ring, as much as fits. Returns the slots that wait still. */
uint32_t outbox_flush(struct outbox *outbox);

/* So much waits that the caller should take nothing new that would add to it. */
bool outbox_crowded(const struct outbox *outbox);

#endif
