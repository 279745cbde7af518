#include "control/admission/session.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"

static void list_append(struct session_table *table, struct session *session)
{
	struct session_list *list = &table->lists[session->state];

	session->prev = list->tail;
	session->next = SESSION_NONE;
	if (list->tail == SESSION_NONE)
		list->head = session->index;
	else
		table->sessions[list->tail].next = session->index;
	list->tail = session->index;
	list->count++;
}

static void list_remove(struct session_table *table, struct session *session)
{
	struct session_list *list = &table->lists[session->state];

	if (session->prev == SESSION_NONE)
		list->head = session->next;
	else
		table->sessions[session->prev].next = session->next;
	if (session->next == SESSION_NONE)
		list->tail = session->prev;
	else
		table->sessions[session->next].prev = session->prev;
	list->count--;
}

bool session_table_init(struct session_table *table, uint32_t max)
{
	memset(table, 0, sizeof(*table));
	table->max = max;
	table->sessions = calloc(max, sizeof(*table->sessions));
	for (int i = 0; i < SESSION_STATE_COUNT; i++)
		table->lists[i] = (struct session_list){SESSION_NONE, SESSION_NONE, 0};
	if (!table->sessions || !map64_init(&table->by_peer, max) ||
		!map64_init(&table->by_character, max) || !map64_init(&table->by_claim, max)) {
		session_table_fini(table);
		return false;
	}
	for (uint32_t i = 0; i < max; i++) {
		table->sessions[i].index = i;
		table->sessions[i].generation = 1;
		list_append(table, &table->sessions[i]);
	}
	return true;
}

void session_table_fini(struct session_table *table)
{
	free(table->sessions);
	map64_fini(&table->by_peer);
	map64_fini(&table->by_character);
	map64_fini(&table->by_claim);
}

struct session *session_new(struct session_table *table, uint64_t peer, uint64_t now_ns)
{
	struct session *session = session_oldest(table, SESSION_FREE);
	uint32_t index, generation;

	if (!session || map64_get(&table->by_peer, peer) != MAP64_NONE)
		return NULL;
	list_remove(table, session);
	index = session->index;
	generation = session->generation;
	*session = (struct session){.index = index,
		.generation = generation,
		.state = SESSION_CONNECTED,
		.since_ns = now_ns,
		.began_ns = now_ns,
		.peer = peer,
		.waiter = SESSION_NONE,
		.journey = SESSION_NONE,
		.verify = VERIFY_NONE,
		.waits_for = SESSION_NONE};
	list_append(table, session);
	if (!map64_put(&table->by_peer, peer, index)) {
		session_free(table, session); /* peer 0 */
		return NULL;
	}
	return session;
}

void session_free(struct session_table *table, struct session *session)
{
	CHECK(session->state != SESSION_FREE);
	CHECK(!session->holder && !session->claimed && session->waiter == SESSION_NONE);
	map64_remove(&table->by_peer, session->peer);
	list_remove(table, session);
	session->state = SESSION_FREE;
	session->generation = handle_generation_next(session->generation);
	list_append(table, session);
}

void session_move(struct session_table *table, struct session *session, enum session_state state,
	uint64_t now_ns)
{
	CHECK(session->state != SESSION_FREE && state != SESSION_FREE);
	list_remove(table, session);
	session->state = state;
	session->since_ns = now_ns;
	list_append(table, session);
}

uint64_t session_handle(const struct session *session)
{
	return handle_make(0, session->generation, session->index);
}

struct session *session_by_handle(struct session_table *table, uint64_t handle)
{
	uint32_t index = handle_index(handle);
	struct session *session;

	if (index >= table->max || handle_owner(handle))
		return NULL;
	session = &table->sessions[index];
	if (session->state == SESSION_FREE || session->generation != handle_generation(handle))
		return NULL;
	return session;
}

struct session *session_at(struct session_table *table, uint32_t index)
{
	return index == SESSION_NONE ? NULL : &table->sessions[index];
}

struct session *session_by_peer(struct session_table *table, uint64_t peer)
{
	return session_at(table, map64_get(&table->by_peer, peer));
}

struct session *session_by_character(struct session_table *table, uint64_t character_id)
{
	return session_at(table, map64_get(&table->by_character, character_id));
}

struct session *session_oldest(struct session_table *table, enum session_state state)
{
	return session_at(table, table->lists[state].head);
}
