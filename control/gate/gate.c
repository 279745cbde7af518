#include "control/gate/gate.h"

#include <errno.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/handle.h"
#include "control/gate/gate_internal.h"

static const struct counter_desc counter_descs[GATE_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
	GATE_COUNTERS(DESC)
#undef DESC
};

const char *gate_state_name(enum gate_state state)
{
	switch (state) {
#define CASE(id, value, name, meaning)                                                             \
	case GATE_##id:                                                                            \
		return name;
		GATE_STATES(CASE)
#undef CASE
	case GATE_STATE_END:
		break;
	}
	return "unknown";
}

void gate_add(struct gate *gate, enum gate_counter counter, uint64_t n)
{
	counter_add(&gate->counters[counter], n);
}

void gate_put(struct gate *gate, enum gate_counter counter, uint64_t value)
{
	counter_put(&gate->counters[counter], value);
}

int gate_wait(struct gate *gate, const struct gate_newcomer *newcomer, uint64_t now_ns)
{
	uint32_t index = handle_index(newcomer->session);
	struct entry *entry = &gate->entries[index];

	CHECK(index < gate->sessions && entry->state == ENTRY_FREE);
	if (gate->count >= gate->most && !newcomer->sent) { /* that has a place here already */
		gate_add(gate, GATE_C_FULL, 1);
		return -ENOSPC;
	}
	*entry = (struct entry){.session = newcomer->session,
		.character_id = newcomer->character_id,
		.realm_id = newcomer->realm_id,
		.lane = (uint8_t)newcomer->lane,
		.seat = newcomer->seat,
		.stays = newcomer->stays,
		.told_ns = now_ns};
	gate_list_add(gate, &gate->tell, LINK_TELL, index, false);
	/* A place that Redis gave in this life of its data, it still knows, or knows the end of. */
	if (newcomer->seq && (newcomer->sent || newcomer->epoch != gate->epoch)) {
		entry->seq = newcomer->seq;
		entry->shown = !newcomer->sent;
		entry->lane = (uint8_t)newcomer->place_lane;
		gate_entry_move(gate, entry, ENTRY_RESTORE, false);
	} else {
		gate_entry_move(gate, entry, ENTRY_NEW, false);
	}
	gate->count++;
	gate_add(gate, GATE_C_NEWCOMERS, 1);
	gate_put(gate, GATE_C_WAITING, gate->count);
	return 0;
}

void gate_leave(struct gate *gate, uint64_t session, bool away)
{
	struct entry *entry = gate_entry_of(gate, session);

	if (!entry)
		return;
	gate_add(gate, away ? GATE_C_AWAY : GATE_C_GONE, 1);
	/* Who was never said leaves no trace. */
	if (entry->state != ENTRY_NEW || entry->again)
		gate_say_of(gate, away ? GATE_WORD_AWAY : GATE_WORD_GONE, entry);
	gate_entry_free(gate, entry);
}

void gate_entry_back(struct gate *gate, struct entry *entry)
{
	gate_add(gate, GATE_C_CAME_BACK, 1);
	entry->back = true;
	entry->there = false;
	entry->told_state = 0; /* it is told anew */
	if (++entry->moves >= GATE_MOVES_MAX)
		entry->stays = true;
	gate_entry_move(gate, entry, entry->seq ? ENTRY_RESTORE : ENTRY_NEW, false);
}

void gate_back(struct gate *gate, uint64_t session)
{
	struct entry *entry = gate_entry_of(gate, session);

	if (entry && entry->state == ENTRY_SENT)
		gate_entry_back(gate, entry);
}

void gate_left(struct gate *gate, uint32_t realm_id, uint64_t character_id)
{
	gate_say(gate, GATE_WORD_LEFT,
		&(struct gate_word){.character_id = character_id, .realm_id = realm_id});
}

const struct gate_order *gate_order(const struct gate *gate)
{
	return &gate->order;
}

uint64_t gate_admitted(const struct gate *gate)
{
	return gate->turn.admitted;
}

const struct counter_set *gate_counters(const struct gate *gate)
{
	return &gate->set;
}

/* Who waits has a connection, and connections are bounded: players must find theirs. */
static uint32_t most(const struct sw_config *config, uint32_t sessions)
{
	uint32_t peers = sessions / 2, floor = peers / 8; /* admission has two sessions a peer */

	if (config->admission.queue_max)
		return config->admission.queue_max;
	if (peers > config->admission.players_max + (uint64_t)floor)
		return peers - config->admission.players_max;
	return floor ? floor : 1;
}

struct gate *gate_new(const struct sw_config *config, uint32_t sessions, const struct gate_ops *ops)
{
	struct gate *gate = calloc(1, sizeof(*gate));

	if (!gate)
		return NULL;
	gate->entries = calloc(sessions, sizeof(*gate->entries));
	if (!gate->entries) {
		free(gate);
		return NULL;
	}
	gate->config = config;
	gate->ops = *ops;
	gate->sessions = sessions;
	gate->most = most(config, sessions);
	gate->fresh = gate->restore = gate->sent = gate->tell = gate->beat =
		(struct list){GATE_NONE, GATE_NONE};
	gate->away = true;
	gate->order.state = GATE_OPEN;
	gate->set =
		(struct counter_set){"gate", 0, GATE_COUNTER_COUNT, counter_descs, gate->counters};
	gate_put(gate, GATE_C_STATE, gate_state(gate));
	return gate;
}

void gate_free(struct gate *gate)
{
	if (!gate)
		return;
	free(gate->entries);
	free(gate);
}
