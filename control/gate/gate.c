#include "control/gate/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"

#define NONE UINT32_MAX

/* NEW has no place in the queue, RESTORE has one that Redis may not know; ASKED: a turn under way
 * says it; WAITING: it stands in the queue. */
enum entry_state { ENTRY_FREE, ENTRY_NEW, ENTRY_RESTORE, ENTRY_ASKED, ENTRY_WAITING };

/* What an entry is linked into: the list of its state (NEW, RESTORE), who is to be told next, and
 * of WAITING, whose beat is oldest. */
enum link_kind { LINK_STATE, LINK_TELL, LINK_BEAT, LINK_KINDS };

struct link {
	uint32_t prev, next;
};

struct entry {
	uint64_t session, character_id;
	uint64_t seq; /* 0: none */
	uint64_t told_ns, beat_ns;
	uint32_t realm_id;
	uint32_t told_position, told_wait_ms;
	uint8_t state, lane, told_state;
	bool seat, again, shown; /* again: a turn that was lost may have said it */
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
	struct list fresh, restore, tell, beat;

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

static void add(struct gate *gate, enum gate_counter counter, uint64_t n)
{
	counter_add(&gate->counters[counter], n);
}

static void put(struct gate *gate, enum gate_counter counter, uint64_t value)
{
	counter_put(&gate->counters[counter], value);
}

/* ---- lists ---- */

static void list_add(
	struct gate *gate, struct list *list, enum link_kind kind, uint32_t index, bool front)
{
	struct link *link = &gate->entries[index].links[kind];

	*link = front ? (struct link){NONE, list->head} : (struct link){list->tail, NONE};
	if (link->prev != NONE)
		gate->entries[link->prev].links[kind].next = index;
	else
		list->head = index;
	if (link->next != NONE)
		gate->entries[link->next].links[kind].prev = index;
	else
		list->tail = index;
}

static void list_remove(struct gate *gate, struct list *list, enum link_kind kind, uint32_t index)
{
	const struct link link = gate->entries[index].links[kind];

	if (link.prev != NONE)
		gate->entries[link.prev].links[kind].next = link.next;
	else
		list->head = link.next;
	if (link.next != NONE)
		gate->entries[link.next].links[kind].prev = link.prev;
	else
		list->tail = link.prev;
}

static void list_to_end(struct gate *gate, struct list *list, enum link_kind kind, uint32_t index)
{
	list_remove(gate, list, kind, index);
	list_add(gate, list, kind, index, false);
}

/* ---- entries ---- */

static struct entry *entry_of(struct gate *gate, uint64_t session)
{
	uint32_t index = handle_index(session);

	if (index >= gate->sessions || gate->entries[index].session != session ||
		gate->entries[index].state == ENTRY_FREE)
		return NULL;
	return &gate->entries[index];
}

static uint32_t index_of(const struct gate *gate, const struct entry *entry)
{
	return (uint32_t)(entry - gate->entries);
}

static void entry_unlink(struct gate *gate, struct entry *entry)
{
	if (entry->state == ENTRY_NEW)
		list_remove(gate, &gate->fresh, LINK_STATE, index_of(gate, entry));
	else if (entry->state == ENTRY_RESTORE)
		list_remove(gate, &gate->restore, LINK_STATE, index_of(gate, entry));
	else if (entry->state == ENTRY_WAITING)
		list_remove(gate, &gate->beat, LINK_BEAT, index_of(gate, entry));
}

static void entry_move(struct gate *gate, struct entry *entry, enum entry_state state, bool front)
{
	uint32_t index = index_of(gate, entry);

	entry_unlink(gate, entry);
	entry->state = (uint8_t)state;
	if (state == ENTRY_NEW)
		list_add(gate, &gate->fresh, LINK_STATE, index, front);
	else if (state == ENTRY_RESTORE)
		list_add(gate, &gate->restore, LINK_STATE, index, front);
	else if (state == ENTRY_WAITING)
		list_add(gate, &gate->beat, LINK_BEAT, index, front);
}

static void entry_free(struct gate *gate, struct entry *entry)
{
	entry_unlink(gate, entry);
	list_remove(gate, &gate->tell, LINK_TELL, index_of(gate, entry));
	entry->state = ENTRY_FREE;
	gate->count--;
	put(gate, GATE_C_WAITING, gate->count);
}

int gate_wait(struct gate *gate, const struct gate_newcomer *newcomer, uint64_t now_ns)
{
	uint32_t index = handle_index(newcomer->session);
	struct entry *entry = &gate->entries[index];

	CHECK(index < gate->sessions && entry->state == ENTRY_FREE);
	if (gate->count >= gate->most) {
		add(gate, GATE_C_FULL, 1);
		return -ENOSPC;
	}
	*entry = (struct entry){.session = newcomer->session,
		.character_id = newcomer->character_id,
		.realm_id = newcomer->realm_id,
		.lane = (uint8_t)newcomer->lane,
		.seat = newcomer->seat,
		.told_ns = now_ns};
	list_add(gate, &gate->tell, LINK_TELL, index, false);
	/* A place that Redis gave in this life of its data, it still knows, or knows the end of. */
	if (newcomer->seq && newcomer->epoch != gate->epoch) {
		entry->seq = newcomer->seq;
		entry->shown = true;
		entry->lane = (uint8_t)newcomer->place_lane;
		entry_move(gate, entry, ENTRY_RESTORE, false);
	} else {
		entry_move(gate, entry, ENTRY_NEW, false);
	}
	gate->count++;
	add(gate, GATE_C_NEWCOMERS, 1);
	put(gate, GATE_C_WAITING, gate->count);
	return 0;
}

/* ---- what is said once ---- */

static struct gate_word *pending_at(struct gate *gate, uint32_t i)
{
	return &gate->pending[(gate->pending_first + i) & (GATE_PENDING_MAX - 1)];
}

/* lane carries the kind: such words have none. */
static void say(struct gate *gate, enum gate_word_kind kind, const struct gate_word *word)
{
	if (gate->pending_count == GATE_PENDING_MAX) {
		add(gate, GATE_C_WORDS_LOST, 1);
		return;
	}
	*pending_at(gate, gate->pending_count) = *word;
	pending_at(gate, gate->pending_count)->lane = (uint8_t)kind;
	gate->pending_count++;
}

static void say_of(struct gate *gate, enum gate_word_kind kind, const struct entry *entry)
{
	say(gate, kind,
		&(struct gate_word){.session = entry->session,
			.character_id = entry->character_id,
			.realm_id = entry->realm_id,
			.seat = entry->seat});
}

void gate_leave(struct gate *gate, uint64_t session, bool away)
{
	struct entry *entry = entry_of(gate, session);

	if (!entry)
		return;
	add(gate, away ? GATE_C_AWAY : GATE_C_GONE, 1);
	/* Who was never said leaves no trace. */
	if (entry->state != ENTRY_NEW || entry->again)
		say_of(gate, away ? GATE_WORD_AWAY : GATE_WORD_GONE, entry);
	entry_free(gate, entry);
}

void gate_left(struct gate *gate, uint32_t realm_id, uint64_t character_id)
{
	say(gate, GATE_WORD_LEFT,
		&(struct gate_word){.character_id = character_id, .realm_id = realm_id});
}

/* ---- a turn ---- */

static struct gate_word *turn_word(struct gate *gate, enum gate_word_kind kind, uint32_t *n)
{
	gate->turn.counts[kind]++;
	return &gate->turn.words[(*n)++];
}

static uint32_t turn_pending(struct gate *gate, uint32_t n)
{
	uint32_t said = gate->pending_count < GATE_WORDS_MAX ? gate->pending_count : GATE_WORDS_MAX;
	uint64_t unsaid = 0;

	for (uint32_t kind = 0; kind < GATE_WORD_BEAT; kind++)
		for (uint32_t i = 0; i < said; i++)
			if (pending_at(gate, i)->lane == kind)
				*turn_word(gate, (enum gate_word_kind)kind, &n) =
					*pending_at(gate, i);
	for (uint32_t i = said; i < gate->pending_count; i++)
		unsaid +=
			pending_at(gate, i)->lane == GATE_WORD_TAKEN && !pending_at(gate, i)->seat;
	gate->turn_pending = said;
	gate->turn.admitted = counter_get(&gate->counters[GATE_C_ADMITTED]) - unsaid;
	return n;
}

static void word_of(struct gate_word *word, const struct entry *entry)
{
	*word = (struct gate_word){.session = entry->session,
		.character_id = entry->character_id,
		.seq = entry->seq,
		.realm_id = entry->realm_id,
		.lane = entry->lane,
		.seat = entry->seat,
		.again = entry->again,
		.shown = entry->shown};
}

static uint32_t turn_beats(struct gate *gate, uint32_t n, uint64_t now_ns)
{
	/* Four beats in the grace: one may be lost, and another late. */
	uint64_t every_ns = gate->config->admission.grace_s * NS_PER_S / 4;

	for (uint32_t i = 0; i < GATE_BEATS_MAX && gate->beat.head != NONE; i++) {
		struct entry *entry = &gate->entries[gate->beat.head];

		if (now_ns - entry->beat_ns < every_ns)
			break;
		entry->beat_ns = now_ns;
		list_to_end(gate, &gate->beat, LINK_BEAT, gate->beat.head);
		word_of(turn_word(gate, GATE_WORD_BEAT, &n), entry);
	}
	return n;
}

static void turn_news(struct gate *gate, uint32_t n)
{
	for (uint32_t i = 0; i < GATE_WORDS_MAX; i++) {
		struct entry *entry;

		/* Those that had a place first. While Redis is put together again nobody else can
		 * have one. */
		if (gate->restore.head != NONE)
			entry = &gate->entries[gate->restore.head];
		else if (gate->fresh.head != NONE && gate->epoch)
			entry = &gate->entries[gate->fresh.head];
		else
			break;
		entry_move(gate, entry, ENTRY_ASKED, false);
		word_of(turn_word(gate, GATE_WORD_NEW, &n), entry);
	}
}

bool gate_turn_due(struct gate *gate, const struct gate_here *here, uint64_t now_ns,
	const struct gate_turn **turn)
{
	bool busy = gate->count || gate->pending_count;
	uint64_t every_ns = (busy ? GATE_TURN_MS : GATE_IDLE_MS) * NS_PER_MS;
	uint32_t n = 0;

	if (gate->turn_open || (gate->spoken && now_ns - gate->turn_ns < every_ns))
		return false;
	/* In time, not a little later each time. */
	gate->turn_ns = gate->spoken && now_ns - gate->turn_ns < 2 * every_ns
				? gate->turn_ns + every_ns
				: now_ns;
	gate->spoken = gate->turn_open = true;
	memset(gate->turn.counts, 0, sizeof(gate->turn.counts));
	gate->turn.here = *here;
	gate->turn.epoch = gate->epoch;
	gate->turn.moves = gate->ops.move != NULL;
	n = turn_pending(gate, n);
	n = turn_beats(gate, n, now_ns);
	turn_news(gate, n);
	/* Not before it has heard that there is anything to restore. */
	gate->turn.restored = !gate->epoch && gate->restore.head == NONE;
	*turn = &gate->turn;
	return true;
}

/* The words of a kind. */
static const struct gate_word *turn_words(const struct gate *gate, enum gate_word_kind kind)
{
	uint32_t first = 0;

	for (uint32_t k = 0; k < (uint32_t)kind; k++)
		first += gate->turn.counts[k];
	return &gate->turn.words[first];
}

void gate_turn_lost(struct gate *gate, uint64_t now_ns)
{
	const struct gate_word *beats = turn_words(gate, GATE_WORD_BEAT);
	const struct gate_word *news = turn_words(gate, GATE_WORD_NEW);

	(void)now_ns;
	CHECK(gate->turn_open);
	gate->turn_open = false;
	gate->away = true;
	add(gate, GATE_C_TURNS_LOST, 1);
	put(gate, GATE_C_STATE, gate_state(gate));
	for (uint32_t i = gate->turn.counts[GATE_WORD_BEAT]; i-- > 0;) {
		struct entry *entry = entry_of(gate, beats[i].session);

		if (!entry || entry->state != ENTRY_WAITING)
			continue;
		entry->beat_ns = 0;
		list_remove(gate, &gate->beat, LINK_BEAT, index_of(gate, entry));
		list_add(gate, &gate->beat, LINK_BEAT, index_of(gate, entry), true);
	}
	/* In front again, in their order. */
	for (uint32_t i = gate->turn.counts[GATE_WORD_NEW]; i-- > 0;) {
		struct entry *entry = entry_of(gate, news[i].session);

		if (!entry || entry->state != ENTRY_ASKED)
			continue;
		entry->again = true;
		entry_move(gate, entry, entry->seq ? ENTRY_RESTORE : ENTRY_NEW, true);
	}
}

/* ---- what was answered ---- */

static void admit(struct gate *gate, struct entry *entry, uint64_t now_ns)
{
	/* It may be gone when admit returns: what was to be refused while it was let in. */
	const struct entry was = *entry;

	if (gate->ops.admit(gate->ops.ctx, was.session, now_ns)) {
		say_of(gate, GATE_WORD_TAKEN, &was);
		add(gate, GATE_C_ADMITTED, !was.seat);
		entry = entry_of(gate, was.session);
		if (entry)
			entry_free(gate, entry);
		return;
	}
	entry = entry_of(gate, was.session);
	if (!entry) /* refused: gate_leave has said that it is gone, which ends the lease, too */
		return;
	say_of(gate, GATE_WORD_BACK, &was);
	add(gate, GATE_C_PUT_BACK, 1);
	if (entry->state != ENTRY_WAITING)
		entry_move(gate, entry, ENTRY_WAITING, false);
}

static void move(
	struct gate *gate, struct entry *entry, const struct gate_call *call, uint64_t now_ns)
{
	const struct entry was = *entry;

	if (gate->ops.move &&
		gate->ops.move(gate->ops.ctx, was.session, call->node, call->address, now_ns)) {
		add(gate, GATE_C_MOVED, 1);
		entry = entry_of(gate, was.session);
		if (entry)
			entry_free(gate, entry);
		return;
	}
	entry = entry_of(gate, was.session);
	if (!entry)
		return;
	say_of(gate, GATE_WORD_BACK, &was);
	add(gate, GATE_C_PUT_BACK, 1);
	if (entry->state != ENTRY_WAITING)
		entry_move(gate, entry, ENTRY_WAITING, false);
}

static void replaced(struct gate *gate, struct entry *entry, uint64_t now_ns)
{
	uint64_t session = entry->session;

	add(gate, GATE_C_REPLACED, 1);
	entry_free(gate, entry); /* without a word: its place is the other session's */
	gate->ops.replaced(gate->ops.ctx, session, now_ns);
}

/* Redis does not know its place any more. */
static void restore(struct gate *gate, struct entry *entry)
{
	add(gate, GATE_C_RESTORED, 1);
	entry_move(gate, entry, entry->seq ? ENTRY_RESTORE : ENTRY_NEW, false);
}

static void restore_all(struct gate *gate)
{
	while (gate->beat.head != NONE)
		restore(gate, &gate->entries[gate->beat.head]);
}

static void hear_news(struct gate *gate, const struct gate_answer *answer, uint64_t now_ns)
{
	const struct gate_word *news = turn_words(gate, GATE_WORD_NEW);

	/* Those without a place yet: in front again, in their order. */
	for (uint32_t i = gate->turn.counts[GATE_WORD_NEW]; i-- > 0;) {
		struct entry *entry = entry_of(gate, news[i].session);

		if (!entry || entry->state != ENTRY_ASKED)
			continue;
		entry->again = false;
		if (i >= answer->news || answer->new_said[i].verdict == GATE_LATER)
			entry_move(gate, entry, entry->seq ? ENTRY_RESTORE : ENTRY_NEW, true);
	}
	for (uint32_t i = 0; i < gate->turn.counts[GATE_WORD_NEW] && i < answer->news; i++) {
		struct entry *entry = entry_of(gate, news[i].session);
		const struct gate_verdict_new *said = &answer->new_said[i];

		if (!entry || entry->state != ENTRY_ASKED)
			continue;
		if (said->verdict == GATE_PLACE) {
			entry->lane = (uint8_t)said->lane;
			entry->seq = said->seq;
			entry->shown = false;
		}
		entry->beat_ns = now_ns;
		entry_move(gate, entry, ENTRY_WAITING, false);
		if (said->verdict == GATE_REPLACED)
			replaced(gate, entry, now_ns);
		else if (said->verdict == GATE_ADMIT)
			admit(gate, entry, now_ns);
	}
}

static void hear_beats(struct gate *gate, const struct gate_answer *answer, uint64_t now_ns)
{
	const struct gate_word *beats = turn_words(gate, GATE_WORD_BEAT);

	for (uint32_t i = 0; i < answer->beats; i++) {
		const struct gate_verdict_beat *said = &answer->beat_said[i];
		struct entry *entry = said->beat < gate->turn.counts[GATE_WORD_BEAT]
					      ? entry_of(gate, beats[said->beat].session)
					      : NULL;

		if (!entry || entry->state != ENTRY_WAITING)
			continue;
		if (said->verdict == GATE_LOST)
			restore(gate, entry);
		else if (said->verdict == GATE_REPLACED)
			replaced(gate, entry, now_ns);
		else if (said->verdict == GATE_ADMIT)
			admit(gate, entry, now_ns);
	}
}

static void hear_calls(struct gate *gate, const struct gate_answer *answer, uint64_t now_ns)
{
	for (uint32_t i = 0; i < answer->calls; i++) {
		const struct gate_call *call = &answer->call[i];
		struct entry *entry = entry_of(gate, call->session);

		if (!entry || entry->state == ENTRY_ASKED)
			continue; /* gone: what it said when it went ends its lease */
		if (call->verdict == GATE_ADMIT)
			admit(gate, entry, now_ns);
		else if (call->verdict == GATE_MOVE)
			move(gate, entry, call, now_ns);
		else
			replaced(gate, entry, now_ns);
	}
}

static void hear_figures(struct gate *gate, const struct gate_answer *answer)
{
	uint64_t error = (uint64_t)(answer->error < 0 ? -answer->error : answer->error);
	uint64_t waiting = 0;

	if (answer->order.at_us >= gate->order.at_us)
		gate->order = answer->order;
	gate->rate = answer->rate;
	gate->room = answer->room;
	for (uint32_t lane = 1; lane <= GATE_LANE_COUNT; lane++) {
		gate->lanes[lane].head = answer->lanes[lane].head;
		gate->lanes[lane].waiting = answer->lanes[lane].waiting;
		waiting += answer->lanes[lane].waiting;
	}
	put(gate, GATE_C_WAITING_ALL, waiting);
	put(gate, GATE_C_RATE, answer->rate);
	put(gate, GATE_C_ROOM, answer->room);
	put(gate, GATE_C_LEASES, answer->leases);
	put(gate, GATE_C_BELIEVED, answer->believed);
	put(gate, GATE_C_REPORTED, answer->reported);
	put(gate, GATE_C_ERROR, error);
	if (error > counter_get(&gate->counters[GATE_C_ERROR_MAX]))
		put(gate, GATE_C_ERROR_MAX, error);
	add(gate, GATE_C_TURNS, 1);
	add(gate, GATE_C_LET_IN, answer->popped);
	add(gate, GATE_C_PLACES_EXPIRED, answer->expired_places);
	add(gate, GATE_C_LEASES_EXPIRED, answer->expired_leases);
	add(gate, GATE_C_SET_ASIDE, answer->aside);
}

/* Whether the data in Redis is the one that knows the places of those who wait here. */
static void hear_epoch(struct gate *gate, const struct gate_answer *answer)
{
	uint64_t epoch = answer->rebuilding ? 0 : answer->epoch;

	gate->rebuilding = answer->rebuilding;
	if (epoch == gate->epoch)
		return;
	/* From 0 on: places that were said while it was put together are known. */
	if (gate->epoch)
		restore_all(gate);
	gate->epoch = epoch;
	if (epoch)
		add(gate, GATE_C_EPOCHS, 1);
}

static void tell(struct gate *gate, struct entry *entry, uint64_t now_ns);

void gate_turn_heard(struct gate *gate, const struct gate_answer *answer, uint64_t now_ns)
{
	const struct gate_word *news = turn_words(gate, GATE_WORD_NEW);

	CHECK(gate->turn_open);
	gate->turn_open = false;
	gate->away = false;
	gate->pending_first = (gate->pending_first + gate->turn_pending) & (GATE_PENDING_MAX - 1);
	gate->pending_count -= gate->turn_pending;
	hear_figures(gate, answer);
	hear_epoch(gate, answer);
	hear_news(gate, answer, now_ns);
	hear_beats(gate, answer, now_ns);
	hear_calls(gate, answer, now_ns);
	put(gate, GATE_C_STATE, gate_state(gate));
	/* Who was let in at once is never told to wait. */
	for (uint32_t i = 0; i < gate->turn.counts[GATE_WORD_NEW]; i++) {
		struct entry *entry = entry_of(gate, news[i].session);

		if (entry && entry->state == ENTRY_WAITING)
			tell(gate, entry, now_ns);
	}
}

/* ---- what those who wait are told ---- */

enum gate_state gate_state(const struct gate *gate)
{
	if (gate->away || !gate->spoken)
		return GATE_AWAY;
	if (gate->rebuilding || !gate->epoch)
		return GATE_REBUILDING;
	if (gate->order.state == GATE_CLOSED)
		return GATE_CLOSED;
	if (!gate->room)
		return GATE_FULL;
	return gate->order.state == GATE_THROTTLED ? GATE_THROTTLED : GATE_OPEN;
}

static uint32_t share_of(const struct gate *gate, uint32_t lane)
{
	const uint32_t operators = gate->config->admission.operator_share;
	const uint32_t returning = gate->config->admission.returning_share;

	return lane == GATE_LANE_OPERATOR    ? operators
	       : lane == GATE_LANE_RETURNING ? returning
					     : 100 - operators - returning;
}

/* In a thousandth of a player a second: what the lane has beside those that have somebody now. */
static uint64_t lane_rate(const struct gate *gate, uint32_t lane)
{
	uint32_t shares = 0;

	for (uint32_t i = 1; i <= GATE_LANE_COUNT; i++)
		if (i == lane || gate->lanes[i].waiting)
			shares += share_of(gate, i);
	return gate->rate * 1000 * share_of(gate, lane) / shares;
}

static void tell(struct gate *gate, struct entry *entry, uint64_t now_ns)
{
	struct gate_standing standing = {.state = gate_state(gate)};
	uint64_t ahead, rate;

	entry->told_ns = now_ns;
	list_to_end(gate, &gate->tell, LINK_TELL, index_of(gate, entry));
	if (entry->seq) {
		ahead = entry->seq > gate->lanes[entry->lane].head
				? entry->seq - gate->lanes[entry->lane].head
				: 1;
		rate = lane_rate(gate, entry->lane);
		standing.position = ahead > UINT32_MAX ? UINT32_MAX : (uint32_t)ahead;
		if (rate && (standing.state == GATE_OPEN || standing.state == GATE_THROTTLED)) {
			uint64_t wait_ms = ahead * 1000000 / rate;

			standing.wait_ms = wait_ms > UINT32_MAX ? UINT32_MAX
					   : wait_ms            ? (uint32_t)wait_ms
								: 1;
		}
	}
	/* Its place pass is of the life of the data that gave it. */
	if (entry->state == ENTRY_WAITING && gate->epoch) {
		standing.lane = (enum gate_lane)entry->lane;
		standing.seq = entry->seq;
		standing.epoch = gate->epoch;
	}
	if (standing.state == entry->told_state && standing.position == entry->told_position &&
		standing.wait_ms == entry->told_wait_ms)
		return;
	entry->told_state = (uint8_t)standing.state;
	entry->told_position = standing.position;
	entry->told_wait_ms = standing.wait_ms;
	add(gate, GATE_C_TOLD, 1);
	gate->ops.tell(gate->ops.ctx, entry->session, &standing);
}

void gate_tick(struct gate *gate, uint64_t now_ns)
{
	/* Each at most once: whoever was looked at stands at the end, with a later time. */
	for (uint32_t left = gate->count; left && gate->tell.head != NONE; left--) {
		struct entry *entry = &gate->entries[gate->tell.head];

		if (now_ns - entry->told_ns < GATE_TELL_MS * NS_PER_MS)
			break;
		/* A newcomer is told when there is something to say. */
		if (!entry->seq && gate_state(gate) != GATE_AWAY &&
			gate_state(gate) != GATE_REBUILDING) {
			entry->told_ns = now_ns;
			list_to_end(gate, &gate->tell, LINK_TELL, gate->tell.head);
			continue;
		}
		tell(gate, entry, now_ns);
	}
}

/* ---- the rest ---- */

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
	gate->fresh = gate->restore = gate->tell = gate->beat = (struct list){NONE, NONE};
	gate->away = true;
	gate->order.state = GATE_OPEN;
	gate->set =
		(struct counter_set){"gate", 0, GATE_COUNTER_COUNT, counter_descs, gate->counters};
	put(gate, GATE_C_STATE, gate_state(gate));
	return gate;
}

void gate_free(struct gate *gate)
{
	if (!gate)
		return;
	free(gate->entries);
	free(gate);
}
