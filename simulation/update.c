#include "simulation/update.h"

#include "common/check.h"
#include "simulation/grain.h"
#include "simulation/send.h"
#include "simulation/wire.h"

#define NEARED 8u /* buckets that two may come nearer by between two comparisons of a view */

/* The cells of a row lie one after the other. */
static uint32_t row_bytes(
	const struct sim_map *m, const struct sim_window *w, uint32_t row, const uint8_t **from)
{
	const struct sim_cell *first = &m->cells[row * m->columns + w->column0];
	const struct sim_cell *end = &m->cells[row * m->columns + w->column1 + 1];

	*from = m->cell_bytes + first->offset;
	return end->offset - first->offset;
}

static uint32_t rows_bytes(const struct sim_map *m, const struct sim_window *w)
{
	uint32_t bytes = 0;
	const uint8_t *from;

	for (uint32_t row = w->row0; row <= w->row1; row++)
		bytes += row_bytes(m, w, row, &from);
	return bytes;
}

/* One copy a row. */
static uint8_t *copy_rows(const struct sim_map *m, const struct sim_window *w, uint8_t *at)
{
	for (uint32_t row = w->row0; row <= w->row1; row++) {
		const uint8_t *from;
		uint32_t bytes = row_bytes(m, w, row, &from);

		memcpy(at, from, bytes);
		at += bytes;
	}
	return at;
}

/* Copies a record. Returns false if it does not fit. */
static inline bool pick(const struct sim_entity *e, uint8_t **at, const uint8_t *end)
{
	if (*at + e->record_bytes > end)
		return false;
	/* A copy of a fixed size is a quarter of the work; what is too much is written over. */
	if (*at + SIM_RECORD_STRIDE <= end)
		memcpy(*at, e->record, SIM_RECORD_STRIDE);
	else
		memcpy(*at, e->record, e->record_bytes);
	*at += e->record_bytes;
	return true;
}

/* Where a class of a known set ends, in bits; the last ends where the first begins. */
static uint32_t class_end(const struct sim_map *m)
{
	uint32_t class = m->beat % m->classes;

	return class + 1 < m->classes ? (class + 1) * m->class_words * 64 : 0;
}

/* Known entities that are told again in this tick, changed or not: those that an update of whole
 * cells would tell (sim_refresh_due), so that nobody waits longer when the kind of update changes
 * from tick to tick. They lie side by side in the known set; p->rotate is where the last update
 * ended, at the end of the class before unless there was no room for all: then who was left out
 * comes first. view_max leaves a third of the room, so that is made up for in a tick or two.
 * Returns whether all fitted. */
static bool pick_due(struct sim_map *m, uint32_t observer, uint8_t **at, const uint8_t *end)
{
	struct sim_player *p = sim_player(m, observer);
	const uint64_t *known = sim_known(m, observer);
	uint32_t word = p->rotate / 64, end_word = class_end(m) / 64;
	/* Both alike: all of them, as where there is but one class. */
	uint32_t words = word < end_word ? end_word - word : end_word + m->known_words - word;
	uint64_t bits = UINT64_MAX << p->rotate % 64;

	for (; words; words--) {
		uint32_t first = sim_known_first(m, word);

		for (bits &= known[word]; bits; bits &= bits - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(bits);
			const struct sim_entity *e = &m->entities[first + bit * m->classes];

			if (e->cell != SIM_NONE && !pick(e, at, end)) {
				p->rotate = word * 64 + bit;
				return false;
			}
		}
		word = word + 1 < m->known_words ? word + 1 : 0;
		bits = UINT64_MAX;
	}
	p->rotate = class_end(m);
	return true;
}

/* Those looked at for one update: enough but where many stand on one spot, or hardly anyone near is
 * known yet. */
#define LOOKED_MAX 2048u

/* Entities that changed lately, and how far they are. */
struct fresh {
	uint32_t count;
	uint32_t slot[LOOKED_MAX];
	uint8_t bucket[LOOKED_MAX];
	uint32_t bytes[SIM_BUCKETS]; /* of their records, by distance */
};

/* Adds those of a run in buckets [low, high) that the observer knows and that this update does not
 * have. Who is not crowded knows all in sight, or is being told; and who is, all that were nearer
 * when it compared last by more than anyone walks meanwhile: a known set, cold memory for every
 * observer, is rarely read. */
static void sift(const struct sim_map *m, uint32_t observer, const struct sim_laid *e, uint32_t run,
	uint32_t low, uint32_t high, struct fresh *fresh)
{
	const struct sim_entity *self = &m->entities[observer];
	const struct sim_player *p = &m->players_table[observer];
	const uint64_t *known = sim_known(m, observer);
	uint32_t count = fresh->count;
	uint32_t sure = !p->crowded ? SIM_BUCKETS : p->within > NEARED ? p->within - NEARED : 0;

	for (const struct sim_laid *end = e + run; e < end; e++) {
		uint32_t bucket = sim_distance_bucket(m, self, e->x_mm, e->y_mm);

		if (bucket - low >= high - low || e->slot == observer ||
			sim_refresh_due(m, e->known_bit) ||
			(bucket >= sure && !(known[e->known_bit / 64] >> e->known_bit % 64 & 1)))
			continue;
		fresh->slot[count] = e->slot;
		fresh->bucket[count++] = (uint8_t)bucket;
		fresh->bytes[bucket] += e->record_bytes;
	}
	fresh->count = count;
}

/* The nearest that changed: their bytes by distance give the distance up to which all fit; the step
 * beyond fills what is left. Looks around in growing squares until there is no more room, the first
 * as large as the last tick's. Returns how many were looked at. */
static uint32_t pick_nearest(struct sim_map *m, uint32_t observer, const struct sim_window *window,
	uint8_t **at, const uint8_t *end)
{
	const struct sim_entity *self = &m->entities[observer];
	struct sim_player *p = sim_player(m, observer);
	uint32_t left = LOOKED_MAX, low = 0, want = (uint32_t)(end - *at) / SIM_RECORD_USUAL + 1;
	uint32_t high = p->near ? p->near : sim_grain_guess(m, window, self->cell, want, true);
	uint32_t many = want * 4 > LOOKED_MAX ? LOOKED_MAX : want * 4;
	struct sim_run runs[SIM_RUNS_MAX];
	struct fresh fresh;

	while (low < SIM_BUCKETS && left && (uint32_t)(end - *at) >= SIM_RECORD_USUAL) {
		uint32_t count, run_count, room = (uint32_t)(end - *at), within = low;

		count = sim_grain_around(
			m, window, self, sim_bucket_reach(m, high), true, runs, &run_count);
		left -= run_count < left ? run_count : left;
		if (count > many && high - low > 1) {
			high = low + (high - low) / 2;
			continue;
		}
		fresh.count = 0;
		memset(&fresh.bytes[low], 0, (high - low) * sizeof(fresh.bytes[0]));
		for (uint32_t i = 0; i < run_count && left; i++) {
			uint32_t part = runs[i].count < left ? runs[i].count : left;

			sift(m, observer, runs[i].first, part, low, high, &fresh);
			left -= part;
		}
		while (within < high && fresh.bytes[within] <= room)
			room -= fresh.bytes[within++];
		for (uint32_t i = 0; i < fresh.count; i++)
			if (fresh.bucket[i] < within)
				pick(&m->entities[fresh.slot[i]], at, end);
		p->near = (uint8_t)(within + 1 < SIM_BUCKETS ? within + 1 : SIM_BUCKETS);
		if (within < high) {
			for (uint32_t i = 0; i < fresh.count; i++)
				if (fresh.bucket[i] == within &&
					!pick(&m->entities[fresh.slot[i]], at, end))
					break;
			break;
		}
		low = high;
		high += 2 + high / 4;
		if (high > SIM_BUCKETS || count == sim_window_laid(m, window, true))
			high = SIM_BUCKETS;
	}
	return LOOKED_MAX - left;
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
	if (!bytes && !p->behind && p->told_sequence == p->applied_sequence) {
		p->rotate = class_end(m);
		return SIM_COST_SLOT;
	}
	at = wire_u32(at, 1, m->tick);
	at = wire_u32(at, 2, p->applied_sequence);
	at = wire_u32(at, 4, p->stay);
	at = wire_u32(at, 5, p->input_waiting);
	if (!p->behind && at + bytes <= end) {
		at = copy_rows(m, &window, at);
		p->rotate = class_end(m);
	} else {
		pick(self, &at, end);
		p->behind = !pick_due(m, slot, &at, end);
		if (!p->behind)
			cost += pick_nearest(m, slot, &window, &at, end) * SIM_COST_LOOK;
		sim_count(s, SIM_UPDATES_PICKED, 1);
		cost += m->class_words * SIM_COST_SLOT +
			(uint32_t)(at - start) / SIM_RECORD_USUAL * SIM_COST_PICK;
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
