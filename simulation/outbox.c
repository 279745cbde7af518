#include "simulation/outbox.h"

#include <string.h>

#include "common/check.h"

/* Either head < tail and the data lies between, or tail <= head and it lies in head..wrap and
 * 0..tail. */
bool sim_outbox_put(struct sim_outbox *box, const struct msg *message)
{
	uint32_t slots = message->slots;

	if (!box->messages)
		box->head = box->tail = box->wrap = 0;
	if (!box->messages || box->tail > box->head) {
		if (box->tail + slots > box->size) {
			if (slots > box->head)
				return false;
			box->wrap = box->tail;
			box->tail = 0;
		}
	} else if (box->tail + slots > box->head) {
		return false;
	}
	memcpy(box->slots + box->tail, message, (size_t)slots * MSG_SLOT_BYTES);
	box->tail += slots;
	box->messages++;
	return true;
}

const struct msg *sim_outbox_peek(const struct sim_outbox *box)
{
	return box->messages ? box->slots + box->head : NULL;
}

void sim_outbox_drop(struct sim_outbox *box)
{
	bool wrapped = box->tail <= box->head;

	CHECK(box->messages);
	box->head += box->slots[box->head].slots;
	box->messages--;
	if (wrapped && box->head == box->wrap)
		box->head = 0;
}
