/* What a turn says: first what is said once, then who is still there, then who is new. */
#include "control/gate/gate_internal.h"

#include <string.h>

#include "common/check.h"

/* ---- what is said once ---- */

static struct gate_word *pending_at(struct gate *gate, uint32_t i)
{
	return &gate->pending[(gate->pending_first + i) & (GATE_PENDING_MAX - 1)];
}

/* lane carries the kind: such words have none. */
void gate_say(struct gate *gate, enum gate_word_kind kind, const struct gate_word *word)
{
	if (gate->pending_count == GATE_PENDING_MAX) {
		gate_add(gate, GATE_C_WORDS_LOST, 1);
		return;
	}
	*pending_at(gate, gate->pending_count) = *word;
	pending_at(gate, gate->pending_count)->lane = (uint8_t)kind;
	gate->pending_count++;
}

void gate_say_of(struct gate *gate, enum gate_word_kind kind, const struct entry *entry)
{
	gate_say(gate, kind,
		&(struct gate_word){.session = entry->session,
			.character_id = entry->character_id,
			.realm_id = entry->realm_id,
			.seat = entry->seat});
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
		.shown = entry->shown,
		.stays = entry->stays,
		.back = entry->back};
}

static uint32_t turn_beats(struct gate *gate, uint32_t n, uint64_t now_ns)
{
	/* Four beats in the grace: one may be lost, and another late. */
	uint64_t every_ns = gate->config->admission.grace_s * NS_PER_S / 4;

	for (uint32_t i = 0; i < GATE_BEATS_MAX && gate->beat.head != GATE_NONE; i++) {
		struct entry *entry = &gate->entries[gate->beat.head];

		if (now_ns - entry->beat_ns < every_ns)
			break;
		entry->beat_ns = now_ns;
		gate_list_to_end(gate, &gate->beat, LINK_BEAT, gate->beat.head);
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
		if (gate->restore.head != GATE_NONE)
			entry = &gate->entries[gate->restore.head];
		else if (gate->fresh.head != GATE_NONE && gate->epoch)
			entry = &gate->entries[gate->fresh.head];
		else
			break;
		gate_entry_move(gate, entry, ENTRY_ASKED, false);
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
	gate->turn.restored = !gate->epoch && gate->restore.head == GATE_NONE;
	*turn = &gate->turn;
	return true;
}

/* The words of a kind. */
const struct gate_word *gate_turn_words(const struct gate *gate, enum gate_word_kind kind)
{
	uint32_t first = 0;

	for (uint32_t k = 0; k < (uint32_t)kind; k++)
		first += gate->turn.counts[k];
	return &gate->turn.words[first];
}

void gate_turn_lost(struct gate *gate, uint64_t now_ns)
{
	const struct gate_word *beats = gate_turn_words(gate, GATE_WORD_BEAT);
	const struct gate_word *news = gate_turn_words(gate, GATE_WORD_NEW);

	(void)now_ns;
	CHECK(gate->turn_open);
	gate->turn_open = false;
	gate->away = true;
	gate_add(gate, GATE_C_TURNS_LOST, 1);
	gate_put(gate, GATE_C_STATE, gate_state(gate));
	for (uint32_t i = gate->turn.counts[GATE_WORD_BEAT]; i-- > 0;) {
		struct entry *entry = gate_entry_of(gate, beats[i].session);

		if (!entry || entry->state != ENTRY_WAITING)
			continue;
		entry->beat_ns = 0;
		gate_list_remove(gate, &gate->beat, LINK_BEAT, gate_index_of(gate, entry));
		gate_list_add(gate, &gate->beat, LINK_BEAT, gate_index_of(gate, entry), true);
	}
	/* In front again, in their order. */
	for (uint32_t i = gate->turn.counts[GATE_WORD_NEW]; i-- > 0;) {
		struct entry *entry = gate_entry_of(gate, news[i].session);

		if (!entry || entry->state != ENTRY_ASKED)
			continue;
		entry->again = true;
		gate_entry_move(gate, entry, entry->seq ? ENTRY_RESTORE : ENTRY_NEW, true);
	}
}
