#include "control/outbox.h"

#include <stdlib.h>
#include <string.h>

void outbox_init(struct outbox *outbox, struct msg_ring *ring, uint32_t max)
{
	*outbox = (struct outbox){.ring = ring, .max = max};
}

void outbox_fini(struct outbox *outbox)
{
	free(outbox->slots);
	*outbox = (struct outbox){0};
}

/* Room for count slots behind tail: moves what waits to the front, or doubles. */
static bool make_room(struct outbox *outbox, uint32_t count)
{
	uint32_t waiting = outbox->tail - outbox->head;
	uint64_t capacity = outbox->capacity ? outbox->capacity : 256;
	struct msg *slots;

	if (outbox->capacity - outbox->tail >= count)
		return true;
	if (waiting + count > outbox->max)
		return false;
	/* Moving pays only when at least half of the memory is behind head. */
	if (outbox->head < outbox->capacity / 2 || outbox->capacity < waiting + count) {
		while (capacity < 2ull * (waiting + count))
			capacity *= 2;
		slots = aligned_alloc(MSG_SLOT_BYTES, capacity * MSG_SLOT_BYTES);
		if (!slots)
			return false;
		if (waiting)
			memcpy(slots, outbox->slots + outbox->head, waiting * sizeof(*slots));
		free(outbox->slots);
		outbox->slots = slots;
		outbox->capacity = (uint32_t)capacity;
	} else {
		memmove(outbox->slots, outbox->slots + outbox->head,
			waiting * sizeof(*outbox->slots));
	}
	outbox->head = 0;
	outbox->tail = waiting;
	return true;
}

bool outbox_push(struct outbox *outbox, const struct msg *message)
{
	if (!outbox_flush(outbox) && msg_ring_push(outbox->ring, message))
		return true;
	if (outbox->tail - outbox->head + message->slots > outbox->max ||
		!make_room(outbox, message->slots)) {
		outbox->lost++;
		return false;
	}
	memcpy(outbox->slots + outbox->tail, message, message->slots * sizeof(*message));
	outbox->tail += message->slots;
	outbox->delayed++;
	return true;
}

uint32_t outbox_flush(struct outbox *outbox)
{
	while (outbox->head < outbox->tail &&
		msg_ring_push(outbox->ring, &outbox->slots[outbox->head]))
		outbox->head += outbox->slots[outbox->head].slots;
	if (outbox->head == outbox->tail)
		outbox->head = outbox->tail = 0;
	return outbox->tail - outbox->head;
}

bool outbox_crowded(const struct outbox *outbox)
{
	return outbox->tail - outbox->head > outbox->max / 2;
}
