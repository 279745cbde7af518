/* gate_internal: the state of the gate, and what its parts use of each other: gate.c (who comes and
 * goes), gate_entry.c (the lists that they stand in), gate_turn.c (what a turn says), gate_heard.c
 * (what is made of the answer), gate_told.c (what those who wait are told). Thread: one. */
#ifndef SW_CONTROL_GATE_GATE_INTERNAL_H
#define SW_CONTROL_GATE_GATE_INTERNAL_H

#include "control/gate/gate.h"

#define GATE_NONE UINT32_MAX

/* NEW has no place in the queue, RESTORE has one that Redis may not know; ASKED: a turn under way
 * says it; WAITING: it stands in the queue; SENT: to another node. */
enum entry_state { ENTRY_FREE, ENTRY_NEW, ENTRY_RESTORE, ENTRY_ASKED, ENTRY_WAITING, ENTRY_SENT };

/* What an entry is linked into: the list of its state (NEW, RESTORE, SENT), who is to be told next,
 * and of WAITING, whose beat is oldest. */
enum link_kind { LINK_STATE, LINK_TELL, LINK_BEAT, LINK_KINDS };

struct link {
	uint32_t prev, next;
};

struct entry {
	uint64_t session, character_id;
	uint64_t seq;              /* 0: none */
	uint64_t told_ns, beat_ns; /* beat_ns: SENT: since then */
	uint32_t realm_id;
	uint32_t told_position, told_wait_ms;
	uint8_t state, lane, told_state;
	bool seat, again, shown; /* again: a turn that was lost may have said it */
	bool stays, back, there; /* there: it was heard of where it was sent */
	uint8_t moves;           /* that came to nothing */
	struct link links[LINK_KINDS];
};
_Static_assert(sizeof(struct entry) <= 112, "as gate.h says");

struct list {
	uint32_t head, tail;
};

struct gate {
	const struct sw_config *config;
	struct gate_ops ops;
	struct entry *entries; /* [sessions]: by the session's index */
	uint32_t sessions, count, most;
	struct list fresh, restore, sent, tell, beat;

	struct gate_word pending[GATE_PENDING_MAX]; /* a ring of what is to be said once */
	uint32_t pending_first, pending_count, pending_taken;

	struct gate_turn turn;
	bool turn_open, spoken; /* spoken: there was a turn before */
	uint32_t turn_pending;  /* words of the ring that it says */
	uint64_t turn_ns;

	bool away, rebuilding;
	uint64_t epoch; /* 0: not known */
	struct gate_order order;
	uint64_t rate, room;
	struct {
		uint64_t head, waiting;
	} lanes[GATE_LANE_COUNT + 1];

	_Atomic uint64_t counters[GATE_COUNTER_COUNT];
	struct counter_set set;
};

void gate_add(struct gate *gate, enum gate_counter counter, uint64_t n);
void gate_put(struct gate *gate, enum gate_counter counter, uint64_t value);

/* gate_entry.c */
void gate_list_add(
	struct gate *gate, struct list *list, enum link_kind kind, uint32_t index, bool front);
void gate_list_remove(struct gate *gate, struct list *list, enum link_kind kind, uint32_t index);
void gate_list_to_end(struct gate *gate, struct list *list, enum link_kind kind, uint32_t index);
/* NULL: the session does not wait. */
struct entry *gate_entry_of(struct gate *gate, uint64_t session);
uint32_t gate_index_of(const struct gate *gate, const struct entry *entry);
/* front: of its new list. */
void gate_entry_move(struct gate *gate, struct entry *entry, enum entry_state state, bool front);
void gate_entry_free(struct gate *gate, struct entry *entry);

/* gate.c. It was sent to another node, and waits here again. */
void gate_entry_back(struct gate *gate, struct entry *entry);

/* gate_turn.c. What a turn, one of the next, says once. */
void gate_say(struct gate *gate, enum gate_word_kind kind, const struct gate_word *word);
void gate_say_of(struct gate *gate, enum gate_word_kind kind, const struct entry *entry);
/* The words of a kind in the turn that is under way. */
const struct gate_word *gate_turn_words(const struct gate *gate, enum gate_word_kind kind);

/* gate_told.c. If anything has changed for it. */
void gate_tell(struct gate *gate, struct entry *entry, uint64_t now_ns);

#endif
