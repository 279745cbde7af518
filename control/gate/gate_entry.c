/* The lists that those who wait stand in. */
#include "control/gate/gate_internal.h"

#include "common/handle.h"

void gate_list_add(
	struct gate *gate, struct list *list, enum link_kind kind, uint32_t index, bool front)
{
	struct link *link = &gate->entries[index].links[kind];

	*link = front ? (struct link){GATE_NONE, list->head} : (struct link){list->tail, GATE_NONE};
	if (link->prev != GATE_NONE)
		gate->entries[link->prev].links[kind].next = index;
	else
		list->head = index;
	if (link->next != GATE_NONE)
		gate->entries[link->next].links[kind].prev = index;
	else
		list->tail = index;
}

void gate_list_remove(struct gate *gate, struct list *list, enum link_kind kind, uint32_t index)
{
	const struct link link = gate->entries[index].links[kind];

	if (link.prev != GATE_NONE)
		gate->entries[link.prev].links[kind].next = link.next;
	else
		list->head = link.next;
	if (link.next != GATE_NONE)
		gate->entries[link.next].links[kind].prev = link.prev;
	else
		list->tail = link.prev;
}

void gate_list_to_end(struct gate *gate, struct list *list, enum link_kind kind, uint32_t index)
{
	gate_list_remove(gate, list, kind, index);
	gate_list_add(gate, list, kind, index, false);
}

struct entry *gate_entry_of(struct gate *gate, uint64_t session)
{
	uint32_t index = handle_index(session);

	if (index >= gate->sessions || gate->entries[index].session != session ||
		gate->entries[index].state == ENTRY_FREE)
		return NULL;
	return &gate->entries[index];
}

uint32_t gate_index_of(const struct gate *gate, const struct entry *entry)
{
	return (uint32_t)(entry - gate->entries);
}

static void entry_unlink(struct gate *gate, struct entry *entry)
{
	if (entry->state == ENTRY_NEW)
		gate_list_remove(gate, &gate->fresh, LINK_STATE, gate_index_of(gate, entry));
	else if (entry->state == ENTRY_RESTORE)
		gate_list_remove(gate, &gate->restore, LINK_STATE, gate_index_of(gate, entry));
	else if (entry->state == ENTRY_SENT)
		gate_list_remove(gate, &gate->sent, LINK_STATE, gate_index_of(gate, entry));
	else if (entry->state == ENTRY_WAITING)
		gate_list_remove(gate, &gate->beat, LINK_BEAT, gate_index_of(gate, entry));
}

void gate_entry_move(struct gate *gate, struct entry *entry, enum entry_state state, bool front)
{
	uint32_t index = gate_index_of(gate, entry);

	entry_unlink(gate, entry);
	entry->state = (uint8_t)state;
	if (state == ENTRY_NEW)
		gate_list_add(gate, &gate->fresh, LINK_STATE, index, front);
	else if (state == ENTRY_RESTORE)
		gate_list_add(gate, &gate->restore, LINK_STATE, index, front);
	else if (state == ENTRY_SENT)
		gate_list_add(gate, &gate->sent, LINK_STATE, index, front);
	else if (state == ENTRY_WAITING)
		gate_list_add(gate, &gate->beat, LINK_BEAT, index, front);
}

void gate_entry_free(struct gate *gate, struct entry *entry)
{
	entry_unlink(gate, entry);
	gate_list_remove(gate, &gate->tell, LINK_TELL, gate_index_of(gate, entry));
	entry->state = ENTRY_FREE;
	gate->count--;
	gate_put(gate, GATE_C_WAITING, gate->count);
}
