/* outbox: reliable messages that wait behind a full ring to one worker, oldest first. Private to
 * simulation; the shard's thread. Bounded, on memory that is given; messages lie whole in slots[],
 * one that does not fit at the end starts over at 0. */
#ifndef SW_SIMULATION_OUTBOX_H
#define SW_SIMULATION_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg_ring.h"

struct sim_outbox {
	struct msg_ring *ring;
	struct msg *slots; /* [size] */
	uint32_t size, head, tail;
	uint32_t wrap; /* where the data ends before it starts over */
	uint32_t messages;
};

/* Copies a message in; false: it does not fit. */
bool sim_outbox_put(struct sim_outbox *box, const struct msg *message);

/* The oldest message, NULL if there is none. */
const struct msg *sim_outbox_peek(const struct sim_outbox *box);

/* Drops the oldest message; there must be one. */
void sim_outbox_drop(struct sim_outbox *box);

#endif
