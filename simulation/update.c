#include "simulation/update.h"

#include "common/check.h"
#include "simulation/interest.h"
#include "simulation/send.h"
#include "simulation/wire.h"

static uint32_t rows_bytes(const struct sim_map *m, const struct sim_window *w)
{
	uint32_t bytes = 0;

	for (uint32_t row = w->row0; row <= w->row1; row++) {
		const struct sim_cell *first = &m->cells[row * m->columns + w->column0];
		const struct sim_cell *last = &m->cells[row * m->columns + w->column1];

		bytes += last->offset + last->bytes - first->offset;
	}
	return bytes;
}

/* The cells of a row lie one after the other: one copy a row. */
static uint8_t *copy_rows(const struct sim_map *m, const struct sim_window *w, uint8_t *at)
{
	for (uint32_t row = w->row0; row <= w->row1; row++) {
		const struct sim_cell *first = &m->cells[row * m->columns + w->column0];
		const struct sim_cell *last = &m->cells[row * m->columns + w->column1];
		uint32_t bytes = last->offset + last->bytes - first->offset;

		memcpy(at, m->cell_bytes + first->offset, bytes);
		at += bytes;
	}
	return at;
}

/* Copies a record unless this update has it. Returns false if it does not fit. */
static bool pick(struct sim_map *m, uint32_t slot, uint8_t **at, const uint8_t *end)
{
	const struct sim_entity *e = &m->entities[slot];

	if (m->picked[slot] == m->pick_serial)
		return true;
	if (*at + e->record_bytes > end)
		return false;
	memcpy(*at, e->record, e->record_bytes);
	*at += e->record_bytes;
	m->picked[slot] = m->pick_serial;
	return true;
}

/* Known entities that are told again in this tick, changed or not: those that an update of whole
 * cells would tell (sim_refresh_period), so that nobody waits longer when the kind of update
 * changes from tick to tick. view_max leaves room for all of them; should it not suffice, the next
 * time begins with who was left out. */
static void pick_due(struct sim_map *m, uint32_t observer, uint8_t **at, const uint8_t *end)
{
	struct sim_player *p = sim_player(m, observer);
	const uint64_t *known = sim_known(m, observer);
	uint32_t period = sim_refresh_period(m), first = p->rotate < m->known_words ? p->rotate : 0;
	uint64_t every = 0;

	for (uint32_t bit = 0; bit < 64; bit += period)
		every |= 1ull << bit;
	for (uint32_t n = 0, word = first; n < m->known_words; n++) {
		/* the first bit of the word whose slot has its turn */
		uint32_t bit = (m->beat % period + period - word * 64 % period) % period;
		uint64_t bits = bit < 64 ? known[word] & every << bit : 0;

		for (; bits; bits &= bits - 1) {
			uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);

			if (m->entities[slot].cell != SIM_NONE && !pick(m, slot, at, end)) {
				p->rotate = word;
				return;
			}
		}
		word = word + 1 < m->known_words ? word + 1 : 0;
	}
}

/* Known entities that changed lately, and how far they are. */
struct fresh {
	uint32_t count;
	uint32_t slot[SIM_VIEW_MAX];
	uint8_t bucket[SIM_VIEW_MAX];
	uint32_t bytes[SIM_BUCKETS]; /* of their records, by distance */
};

static inline void gather_one(
	const struct sim_map *m, const struct sim_entity *self, uint32_t slot, struct fresh *fresh)
{
	const struct sim_entity *e = &m->entities[slot];
	uint32_t bucket;

	if (e->cell == SIM_NONE || m->beat - e->changed_beat > SIM_REPEAT_TICKS ||
		m->picked[slot] == m->pick_serial)
		return;
	DCHECK(fresh->count < SIM_VIEW_MAX);
	bucket = sim_distance_bucket(m, self, e);
	fresh->slot[fresh->count] = slot;
	fresh->bucket[fresh->count++] = (uint8_t)bucket;
	fresh->bytes[bucket] += e->record_bytes;
}

/* By the cells in sight where they hold few, else by the known set. Who is not crowded knows all in
 * sight, or is being told: its known set, cold memory for every observer, need not be read. */
static void gather(
	struct sim_map *m, uint32_t observer, const struct sim_window *window, struct fresh *fresh)
{
	const struct sim_entity *self = &m->entities[observer];
	const uint64_t *known = sim_known(m, observer);
	bool crowded = sim_player(m, observer)->crowded;

	fresh->count = 0;
	memset(fresh->bytes, 0, sizeof(fresh->bytes));
	if (sim_window_count(m, window) <= (crowded ? m->known_words : SIM_VIEW_MAX)) {
		for (uint32_t row = window->row0; row <= window->row1; row++) {
			uint32_t cell = row * m->columns + window->column0;

			for (; cell <= row * m->columns + window->column1; cell++)
				for (uint32_t slot = m->cells[cell].head; slot != SIM_NONE;
					slot = m->entities[slot].cell_next)
					if (!crowded || sim_knows(m, observer, slot))
						gather_one(m, self, slot, fresh);
		}
		return;
	}
	for (uint32_t w = 0; w < m->known_words; w++)
		for (uint64_t bits = known[w]; bits; bits &= bits - 1)
			gather_one(m, self, w * 64 + (uint32_t)__builtin_ctzll(bits), fresh);
}

/* The nearest of those: their bytes by distance give the distance up to which all fit; the step
 * beyond fills what is left. */
static void pick_nearest(struct sim_map *m, uint32_t observer, const struct sim_window *window,
	uint8_t **at, const uint8_t *end)
{
	struct fresh fresh;
	uint32_t room = (uint32_t)(end - *at), within = 0;

	gather(m, observer, window, &fresh);
	while (within < SIM_BUCKETS && fresh.bytes[within] <= room)
		room -= fresh.bytes[within++];
	for (uint32_t i = 0; i < fresh.count; i++)
		if (fresh.bucket[i] < within)
			pick(m, fresh.slot[i], at, end);
	for (uint32_t i = 0; i < fresh.count; i++)
		if (fresh.bucket[i] == within && !pick(m, fresh.slot[i], at, end))
			return;
}

uint32_t sim_update_step(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);
	const struct sim_entity *self = &m->entities[slot];
	uint32_t limit = s->update_bytes_max < p->payload_bytes_max ? s->update_bytes_max
								    : p->payload_bytes_max;
	struct sim_window window = sim_window_of(m, self->cell);
	uint32_t bytes = rows_bytes(m, &window), cost = SIM_COST_UPDATE;
	uint8_t *start = sim_send_begin(s, SW_MSG_WORLD_UPDATE), *at = start;
	const uint8_t *end = start + (limit > 1 ? limit - 1 : 0);

	/* Not a route that is only told again: a tick without updates would leave out the refreshes
	 * that fall into it. */
	if (p->owed & SIM_OWE_JOINED)
		return SIM_COST_SLOT;
	if (!bytes && p->told_sequence == p->applied_sequence)
		return SIM_COST_SLOT;
	at = wire_u32(at, 1, m->tick);
	at = wire_u32(at, 2, p->applied_sequence);
	at = wire_u32(at, 4, p->stay);
	at = wire_u32(at, 5, p->input_waiting);
	if (at + bytes <= end) {
		at = copy_rows(m, &window, at);
	} else {
		m->pick_serial++;
		pick(m, slot, &at, end);
		pick_due(m, slot, &at, end);
		pick_nearest(m, slot, &window, &at, end);
		sim_count(s, SIM_UPDATES_PICKED, 1);
		cost += p->known_count * SIM_COST_PICK + m->known_words;
	}
	DCHECK(at <= end);
	if (sim_send_unreliable(s, m, slot, SW_CHANNEL_WORLD, (uint32_t)(at - start))) {
		p->told_sequence = p->applied_sequence;
		sim_count(s, SIM_UPDATES, 1);
		sim_count(s, SIM_UPDATE_BYTES, (uint32_t)(at - start) + 1);
	} else {
		sim_count(s, SIM_UPDATES_DROPPED, 1);
	}
	return cost;
}
