/* What is made of the answer to a turn. */
#include "control/gate/gate_internal.h"

#include "common/check.h"

static void admit(struct gate *gate, struct entry *entry, uint64_t now_ns)
{
	/* It may be gone when admit returns: what was to be refused while it was let in. */
	const struct entry was = *entry;

	if (gate->ops.admit(gate->ops.ctx, was.session, now_ns)) {
		gate_say_of(gate, GATE_WORD_TAKEN, &was);
		gate_add(gate, GATE_C_ADMITTED, !was.seat);
		entry = gate_entry_of(gate, was.session);
		if (entry)
			gate_entry_free(gate, entry);
		return;
	}
	entry = gate_entry_of(gate, was.session);
	if (!entry) /* refused: gate_leave has said that it is gone, which ends the lease, too */
		return;
	gate_say_of(gate, GATE_WORD_BACK, &was);
	gate_add(gate, GATE_C_PUT_BACK, 1);
	if (entry->state != ENTRY_WAITING)
		gate_entry_move(gate, entry, ENTRY_WAITING, false);
}

static void move(
	struct gate *gate, struct entry *entry, const struct gate_call *call, uint64_t now_ns)
{
	const struct entry was = *entry;
	const struct gate_move to = {call->node, call->address, (enum gate_lane)was.lane, was.seq};
	bool good = gate->ops.move && !was.stays &&
		    gate->ops.move(gate->ops.ctx, was.session, &to, now_ns);

	entry = gate_entry_of(gate, was.session);
	gate_add(gate, GATE_C_MOVED, good);
	if (!entry)
		return;
	if (good) {
		entry->beat_ns = now_ns;
		gate_entry_move(gate, entry, ENTRY_SENT, false);
		return;
	}
	gate_say_of(gate, GATE_WORD_BACK, &was);
	gate_add(gate, GATE_C_PUT_BACK, 1);
	if (entry->state != ENTRY_WAITING)
		gate_entry_move(gate, entry, ENTRY_WAITING, false);
}

static void replaced(struct gate *gate, struct entry *entry, uint64_t now_ns)
{
	uint64_t session = entry->session;

	gate_add(gate, GATE_C_REPLACED, 1);
	gate_entry_free(gate, entry); /* without a word: its place is the other session's */
	gate->ops.replaced(gate->ops.ctx, session, now_ns);
}

/* Redis does not know its place any more. */
static void restore(struct gate *gate, struct entry *entry)
{
	gate_add(gate, GATE_C_RESTORED, 1);
	gate_entry_move(gate, entry, entry->seq ? ENTRY_RESTORE : ENTRY_NEW, false);
}

static void restore_all(struct gate *gate)
{
	while (gate->beat.head != GATE_NONE)
		restore(gate, &gate->entries[gate->beat.head]);
}

static void hear_news(struct gate *gate, const struct gate_answer *answer, uint64_t now_ns)
{
	const struct gate_word *news = gate_turn_words(gate, GATE_WORD_NEW);

	/* Those without a place yet: in front again, in their order. */
	for (uint32_t i = gate->turn.counts[GATE_WORD_NEW]; i-- > 0;) {
		struct entry *entry = gate_entry_of(gate, news[i].session);

		if (!entry || entry->state != ENTRY_ASKED)
			continue;
		entry->again = false;
		if (i >= answer->news || answer->new_said[i].verdict == GATE_LATER)
			gate_entry_move(gate, entry, entry->seq ? ENTRY_RESTORE : ENTRY_NEW, true);
	}
	for (uint32_t i = 0; i < gate->turn.counts[GATE_WORD_NEW] && i < answer->news; i++) {
		struct entry *entry = gate_entry_of(gate, news[i].session);
		const struct gate_verdict_new *said = &answer->new_said[i];

		if (!entry || entry->state != ENTRY_ASKED)
			continue;
		if (said->seq) {
			entry->lane = (uint8_t)said->lane;
			entry->seq = said->seq;
			entry->shown = false;
		}
		entry->beat_ns = now_ns;
		gate_entry_move(gate, entry, ENTRY_WAITING, false);
		if (said->verdict == GATE_REPLACED)
			replaced(gate, entry, now_ns);
		else if (said->verdict == GATE_ADMIT)
			admit(gate, entry, now_ns);
	}
}

static void hear_beats(struct gate *gate, const struct gate_answer *answer, uint64_t now_ns)
{
	const struct gate_word *beats = gate_turn_words(gate, GATE_WORD_BEAT);

	for (uint32_t i = 0; i < answer->beats; i++) {
		const struct gate_verdict_beat *said = &answer->beat_said[i];
		struct entry *entry = said->beat < gate->turn.counts[GATE_WORD_BEAT]
					      ? gate_entry_of(gate, beats[said->beat].session)
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
		struct entry *entry = gate_entry_of(gate, call->session);

		if (!entry || entry->state == ENTRY_ASKED)
			continue; /* gone: what it said when it went ends its lease */
		if (entry->state == ENTRY_SENT)
			entry->there |= call->verdict == GATE_REPLACED;
		else if (entry->back && call->verdict == GATE_REPLACED)
			; /* by the one where it was sent: it takes that one's place */
		else if (call->verdict == GATE_ADMIT)
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
	gate_put(gate, GATE_C_WAITING_ALL, waiting);
	gate_put(gate, GATE_C_RATE, answer->rate);
	gate_put(gate, GATE_C_ROOM, answer->room);
	gate_put(gate, GATE_C_LEASES, answer->leases);
	gate_put(gate, GATE_C_BELIEVED, answer->believed);
	gate_put(gate, GATE_C_REPORTED, answer->reported);
	gate_put(gate, GATE_C_ERROR, error);
	if (error > counter_get(&gate->counters[GATE_C_ERROR_MAX]))
		gate_put(gate, GATE_C_ERROR_MAX, error);
	gate_add(gate, GATE_C_TURNS, 1);
	gate_add(gate, GATE_C_LET_IN, answer->popped);
	gate_add(gate, GATE_C_PLACES_EXPIRED, answer->expired_places);
	gate_add(gate, GATE_C_LEASES_EXPIRED, answer->expired_leases);
	gate_add(gate, GATE_C_SET_ASIDE, answer->aside);
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
		gate_add(gate, GATE_C_EPOCHS, 1);
}

void gate_turn_heard(struct gate *gate, const struct gate_answer *answer, uint64_t now_ns)
{
	const struct gate_word *news = gate_turn_words(gate, GATE_WORD_NEW);

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
	gate_put(gate, GATE_C_STATE, gate_state(gate));
	/* Who was let in at once is never told to wait. */
	for (uint32_t i = 0; i < gate->turn.counts[GATE_WORD_NEW]; i++) {
		struct entry *entry = gate_entry_of(gate, news[i].session);

		if (!entry || entry->state != ENTRY_WAITING)
			continue;
		entry->back = false;
		gate_tell(gate, entry, now_ns);
	}
}
