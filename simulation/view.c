#include "simulation/view.h"

#include "common/check.h"
#include "simulation/grain.h"
#include "simulation/interest.h"
#include "simulation/send.h"
#include "simulation/wire.h"

#define BUCKET_SLACK 2u /* who is in view stays until it is so many steps too far */

#define LEAVES_MAX 256u /* in one message */
/* ActorEnter: tag, length 2, state 2 + 29, kind 2, name 2 + 31, appearance 4 or 5, health, item and
 * count 6 each */
#define ENTER_BYTES_MAX 100u

/* A ViewChange being written. */
struct change {
	uint8_t *start, *at, *end;
	uint32_t leave_count, enters;
	uint32_t leaves[LEAVES_MAX];
};

uint32_t sim_view_max(
	const struct sim_shard *s, const struct sim_map *m, const struct sim_player *p)
{
	uint32_t bytes = s->update_bytes_max < p->payload_bytes_max ? s->update_bytes_max
								    : p->payload_bytes_max;
	uint32_t records = bytes / SIM_RECORD_MAX;
	uint32_t per_s = records * 2 / 3 * (m->config.tick_hz > 1 ? m->config.tick_hz - 1 : 1);

	if (per_s < 8)
		return 8;
	return per_s > SIM_VIEW_MAX ? SIM_VIEW_MAX : per_s;
}

void sim_view_forget(struct sim_map *m, uint32_t slot)
{
	uint64_t *known = sim_known(m, slot);

	sim_work(m, m->known_words + sim_player(m, slot)->known_count * SIM_COST_CANDIDATE);
	for (uint32_t w = 0; w < m->known_words; w++) {
		uint32_t first = sim_known_first(m, w);

		for (uint64_t bits = known[w]; bits; bits &= bits - 1)
			m->entities[first + (uint32_t)__builtin_ctzll(bits) * m->classes]
				.known_by--;
		known[w] = 0;
	}
	sim_player(m, slot)->known_count = 0;
}

static void forget_one(struct sim_map *m, uint32_t observer, uint32_t slot)
{
	uint32_t bit = sim_known_bit(m, slot);

	DCHECK(sim_knows(m, observer, slot));
	sim_known(m, observer)[bit / 64] &= ~(1ull << bit % 64);
	m->entities[slot].known_by--;
	sim_player(m, observer)->known_count--;
}

void sim_view_renew(struct sim_map *m, uint32_t slot)
{
	struct sim_window window = sim_window_of(m, m->entities[slot].cell);

	m->entities[slot].looks_beat = m->looks_beat = m->beat;
	for (uint32_t row = window.row0; row <= window.row1; row++) {
		for (uint32_t column = window.column0; column <= window.column1; column++) {
			uint32_t at = row * m->columns + column;
			const struct sim_cell *cell = &m->cells[at];
			uint32_t other = cell->head;

			if (!m->open_cells[at])
				continue;
			sim_work(m, SIM_COST_CELL + cell->count * SIM_COST_CANDIDATE);
			for (; other != SIM_NONE; other = m->entities[other].cell_next) {
				struct sim_player *p = sim_player(m, other);

				/* Who is crowded looks for them itself, see compared(). */
				if (other >= m->player_slots || p->crowded ||
					!sim_knows(m, other, slot))
					continue;
				if (!p->renew_floor)
					p->renew_floor = m->beat;
				else if (!p->renew_next)
					p->renew_next = m->beat;
			}
		}
	}
}

static bool tell_leave(struct sim_map *m, uint32_t observer, uint32_t slot, struct change *c)
{
	if (c->leave_count == LEAVES_MAX || c->at + WIRE_U32_MAX > c->end)
		return false;
	c->end -= WIRE_U32_MAX; /* its place in the packed list at the end */
	c->leaves[c->leave_count++] = m->entities[slot].wire_id;
	forget_one(m, observer, slot);
	return true;
}

/* Writes an ActorEnter; false: it does not fit. */
static bool write_enter(const struct sim_map *m, uint32_t slot, struct change *c)
{
	const struct sim_entity *e = &m->entities[slot];
	uint8_t body[ENTER_BYTES_MAX], *at = body;
	const char *name = "";
	uint32_t name_bytes = 0, appearance = 0;

	if (c->at + ENTER_BYTES_MAX > c->end)
		return false;
	if (slot < m->player_slots) {
		const struct sim_player *p = &m->players_table[slot];

		name = p->name;
		name_bytes = p->name_bytes;
		appearance = p->appearance;
	} else if (slot < m->player_slots + m->npc_slots) {
		const struct sim_npc *npc = &m->npcs[slot - m->player_slots];

		name = npc->name;
		name_bytes = npc->name_bytes;
		appearance = npc->appearance;
	}
	/* The record is a WorldUpdate.entities field: its body is an EntityState. */
	at = wire_bytes(at, 1, e->record + 2, e->record_bytes - 2u);
	at = wire_u32(at, 2, e->kind);
	if (name_bytes)
		at = wire_bytes(at, 3, name, name_bytes);
	at = wire_u32(at, 4, appearance);
	at = wire_u32(at, 5, m->bodies[slot].health);
	at = wire_u32(at, 6, m->bodies[slot].health_max);
	if (e->kind == SIM_LOOT) {
		const struct sim_loot *loot = &m->loot[slot - (m->slots - m->loot_slots)];

		at = wire_u32(at, 7, loot->item);
		at = wire_u32(at, 8, loot->count);
	}
	c->at = wire_bytes(c->at, 3, body, (uint32_t)(at - body));
	c->enters++;
	return true;
}

static bool tell_enter(struct sim_map *m, uint32_t observer, uint32_t slot, struct change *c)
{
	uint32_t bit = sim_known_bit(m, slot);

	if (!write_enter(m, slot, c))
		return false;
	sim_known(m, observer)[bit / 64] |= 1ull << bit % 64;
	m->entities[slot].known_by++;
	sim_player(m, observer)->known_count++;
	return true;
}

/* Tells known entities again whose looks have arrived: an enter of a known actor replaces it. The
 * known bit stays, so a leave that comes meanwhile is told. */
static void tell_looks(struct sim_map *m, uint32_t observer, struct change *c)
{
	struct sim_player *p = sim_player(m, observer);
	const uint64_t *known = sim_known(m, observer);
	uint32_t w = p->renew_cursor / 64;
	uint64_t bits = known[w] & UINT64_MAX << (p->renew_cursor % 64);

	for (;;) {
		uint32_t first = sim_known_first(m, w);

		for (; bits; bits &= bits - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(bits);
			uint32_t slot = first + bit * m->classes;
			const struct sim_entity *e = &m->entities[slot];

			if (e->cell == SIM_NONE || e->looks_beat < p->renew_floor)
				continue;
			if (!write_enter(m, slot, c)) {
				p->renew_cursor = w * 64 + bit;
				return;
			}
		}
		if (++w == m->known_words)
			break;
		bits = known[w];
	}
	p->renew_floor = p->renew_next;
	p->renew_cursor = p->renew_next = 0;
}

/* Those looked at for one comparison: enough but where many stand on one spot. */
#define LOOKED_MAX 8192u
#define NEW_MAX    1536u /* more than any view holds */

/* Who is near and not in view yet, the nearest first when sorted. */
struct newcomers {
	uint32_t marked; /* who is known and in a bucket below has a mark in map->marks */
	uint32_t count;
	uint32_t slot[NEW_MAX];
	uint8_t bucket[NEW_MAX];
	uint32_t starts[SIM_BUCKETS]; /* of each bucket in order[] */
	uint32_t order[NEW_MAX];
};

/* Counts a run's entities in buckets [low, high) by distance, notes the newcomers, and marks the
 * known ones nearer than new->marked. */
static void count_run(struct sim_map *m, uint32_t observer, const struct sim_laid *e,
	uint32_t count, uint32_t low, uint32_t high, uint32_t *all, struct newcomers *new)
{
	const struct sim_entity *self = &m->entities[observer];
	const uint64_t *known = sim_known(m, observer);

	for (const struct sim_laid *end = e + count; e < end; e++) {
		uint32_t bucket = sim_distance_bucket(m, self, e->x_mm, e->y_mm);

		if (bucket - low >= high - low || e->slot == observer)
			continue;
		all[bucket]++;
		if (known[e->known_bit / 64] >> e->known_bit % 64 & 1) {
			m->marks[e->known_bit / 64] |= (uint64_t)(bucket < new->marked)
						       << e->known_bit % 64;
			continue;
		}
		if (new->count == NEW_MAX)
			continue;
		new->slot[new->count] = e->slot;
		new->bucket[new->count++] = (uint8_t)bucket;
		new->starts[bucket]++;
	}
}

/* How near one must be to be seen: all in buckets below p->within fit view_max, or are all in
 * sight. Looks around in growing squares until there are more, the first a little larger than what
 * was in view. Returns how many were looked at. */
static uint32_t look_around(struct sim_map *m, uint32_t observer, const struct sim_window *window,
	struct newcomers *new)
{
	uint32_t all[SIM_BUCKETS] = {0}, sum = 0, low = 0, left = LOOKED_MAX;
	const struct sim_entity *self = &m->entities[observer];
	struct sim_player *p = sim_player(m, observer);
	uint32_t within = p->within, view_max = p->view_max, high = within + BUCKET_SLACK;
	struct sim_run runs[SIM_RUNS_MAX];

	if (!p->crowded || !within)
		high = sim_grain_guess(m, window, self->cell, view_max + 1, false);
	else if (high > SIM_BUCKETS)
		high = SIM_BUCKETS;
	new->marked = within ? within - 1 : 0;
	new->count = within = 0;
	memset(new->starts, 0, sizeof(new->starts));
	memset(m->marks, 0, m->known_words * sizeof(*m->marks));
	while (low < SIM_BUCKETS && sum <= view_max && left) {
		uint32_t run_count, count;

		count = sim_grain_around(
			m, window, self, sim_bucket_reach(m, high), false, runs, &run_count);
		left -= run_count < left ? run_count : left;
		if (count > 2 * view_max && high - low > 1) {
			high = low + (high - low) / 2;
			continue;
		}
		for (uint32_t i = 0; i < run_count && left; i++) {
			uint32_t part = runs[i].count < left ? runs[i].count : left;

			count_run(m, observer, runs[i].first, part, low, high, all, new);
			left -= part;
		}
		for (; low < high; low++) {
			sum += all[low];
			if (sum <= view_max)
				within = low + 1;
		}
		high += 2 + high / 8;
		if (high > SIM_BUCKETS)
			high = SIM_BUCKETS;
	}
	p->within = (uint8_t)within;
	return LOOKED_MAX - left;
}

/* By distance: a counting sort. Returns how many are in buckets below within. */
static uint32_t sort_newcomers(struct newcomers *new, uint32_t within)
{
	uint32_t sum = 0, near = 0;

	for (uint32_t b = 0; b < SIM_BUCKETS; b++) {
		uint32_t count = new->starts[b];

		if (b < within)
			near += count;
		new->starts[b] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < new->count; i++)
		new->order[new->starts[new->bucket[i]]++] = new->slot[i];
	return near;
}

/* Leaves of known entities that are out of the window, or too far. Most are marked as near: cold
 * memory that need not be read. */
static bool rescan_leaves(struct sim_map *m, uint32_t observer, const struct sim_window *window,
	uint32_t within, uint32_t newcomers, uint32_t marked, struct change *c)
{
	const struct sim_player *p = sim_player(m, observer);
	const struct sim_entity *self = &m->entities[observer];
	uint64_t *known = sim_known(m, observer);
	uint64_t near = marked <= within ? UINT64_MAX : 0; /* whether marks say who stays */

	for (uint32_t w = 0; w < m->known_words; w++) {
		uint64_t bits = known[w] & ~(m->marks[w] & near);
		uint32_t first = bits ? sim_known_first(m, w) : 0;

		for (; bits; bits &= bits - 1) {
			uint32_t slot = first + (uint32_t)__builtin_ctzll(bits) * m->classes;
			const struct sim_entity *e = &m->entities[slot];

			if (sim_window_has(m, window, e->cell)) {
				uint32_t bucket = sim_distance_bucket(m, self, e->x_mm, e->y_mm);

				/* One that is a little too far stays, unless its place is needed.
				 */
				if (bucket < within ||
					(bucket < within + BUCKET_SLACK &&
						p->known_count + newcomers <= p->view_max))
					continue;
			}
			if (!tell_leave(m, observer, slot, c))
				return false;
		}
	}
	return true;
}

/* Enters, the nearest first, below bucket `within`; the step beyond, which does not fit as a whole,
 * fills what is left of view_max. */
static bool rescan_enters(struct sim_map *m, uint32_t observer, uint32_t within,
	const struct newcomers *new, struct change *c)
{
	const struct sim_player *p = sim_player(m, observer);
	uint32_t end = new->starts[within < SIM_BUCKETS ? within : SIM_BUCKETS - 1];

	for (uint32_t i = 0; i < end && p->known_count < p->view_max; i++)
		if (!tell_enter(m, observer, new->order[i], c))
			return false;
	return true;
}

static uint32_t rescan(
	struct sim_map *m, uint32_t observer, const struct sim_window *window, struct change *c)
{
	struct sim_player *p = sim_player(m, observer);
	uint32_t looked, near, known = p->known_count;
	struct newcomers new;

	p->pending_count = 0;
	looked = look_around(m, observer, window, &new);
	near = sort_newcomers(&new, p->within);
	p->rescan = !(rescan_leaves(m, observer, window, p->within, near, new.marked, c) &&
		      rescan_enters(m, observer, p->within, &new, c));
	return looked * SIM_COST_LOOK + known * SIM_COST_CANDIDATE + m->known_words * SIM_COST_WORD;
}

static void compare_pending(
	struct sim_map *m, uint32_t observer, const struct sim_window *window, struct change *c)
{
	struct sim_player *p = sim_player(m, observer);

	for (uint32_t i = 0; i < p->pending_count; i++) {
		uint32_t slot = p->pending[i];
		bool sees = sim_window_has(m, window, m->entities[slot].cell);
		bool knows = sim_knows(m, observer, slot);

		if (sees == knows)
			continue;
		if (!(knows ? tell_leave(m, observer, slot, c)
			    : tell_enter(m, observer, slot, c))) {
			p->rescan = true;
			break;
		}
	}
	p->pending_count = 0;
}

/* A crowded player is not told who got looks; it looks for all that got them since it compared
 * last. */
static void compared(struct sim_map *m, struct sim_player *p)
{
	uint32_t since = p->compared_beat ? p->compared_beat : 1;

	if (m->looks_beat < since)
		; /* nobody on the map */
	else if (!p->renew_floor)
		p->renew_floor = since;
	else if (!p->renew_next)
		p->renew_next = since;
	p->compared_beat = m->beat;
}

static void send_change(struct sim_shard *s, struct sim_map *m, uint32_t slot, struct change *c)
{
	struct sim_player *p = sim_player(m, slot);
	uint8_t packed[LEAVES_MAX * WIRE_U32_MAX], *at = packed;

	for (uint32_t i = 0; i < c->leave_count; i++)
		at = wire_varint(at, c->leaves[i]);
	if (c->leave_count)
		c->at = wire_bytes(c->at, 4, packed, (uint32_t)(at - packed));
	sim_count(s, SIM_ENTERS, c->enters);
	sim_count(s, SIM_LEAVES_OF_VIEW, c->leave_count);
	sim_count(s, SIM_VIEW_CHANGES, 1);
	p->view_sequence++;
	sim_send_reliable(s, m, slot, SW_CHANNEL_EVENTS, (uint32_t)(c->at - c->start));
}

uint32_t sim_view_step(struct sim_shard *s, struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);
	uint32_t half_second = m->config.tick_hz > 1 ? m->config.tick_hz / 2 : 1;
	bool due = p->crowded && (m->beat + slot) % half_second == 0;
	uint32_t limit = s->packet_bytes_max < SIM_VIEW_CHANGE_MAX ? s->packet_bytes_max
								   : SIM_VIEW_CHANGE_MAX;
	uint32_t candidates, cost = 0;
	struct sim_window window;
	struct change c;
	bool crowded;

	if (!p->pending_count && !p->rescan && !due && !p->renew_floor)
		return SIM_COST_SLOT;
	/* Before Joined, or while earlier messages wait for room, nothing is told: it stays
	 * pending, and what comes and goes in between is never said. */
	if (p->owed & SIM_OWE_JOINED || sim_send_blocked(s, p))
		return SIM_COST_SLOT;
	window = sim_window_of(m, m->entities[slot].cell);
	candidates = sim_window_laid(m, &window, false) - 1;
	crowded = candidates > p->view_max;
	if (crowded != p->crowded) {
		sim_interest_crowd(m, slot, crowded);
		p->compared_beat = m->beat;
	}

	c.start = c.at = sim_send_begin(s, SW_MSG_VIEW_CHANGE);
	c.end = c.start + limit - 1 - 4; /* the type byte; the packed list's tag and length */
	c.leave_count = c.enters = 0;
	c.at = wire_u32(c.at, 1, m->tick);
	c.at = wire_u32(c.at, 2, p->view_sequence + 1);
	c.at = wire_u32(c.at, 5, p->stay);
	if (p->rescan || due) {
		cost += rescan(m, slot, &window, &c);
		if (due)
			compared(m, p);
	} else if (crowded) {
		/* Only those who left the window; who came waits for the rescan. */
		uint32_t kept = 0;

		for (uint32_t i = 0; i < p->pending_count; i++)
			if (sim_knows(m, slot, p->pending[i]))
				p->pending[kept++] = p->pending[i];
		p->pending_count = kept;
		compare_pending(m, slot, &window, &c);
	} else {
		compare_pending(m, slot, &window, &c);
	}
	if (p->renew_floor) {
		tell_looks(m, slot, &c);
		cost += m->known_words * SIM_COST_WORD + p->known_count * SIM_COST_CANDIDATE;
	}
	if (c.enters || c.leave_count)
		send_change(s, m, slot, &c);
	return cost + SIM_COST_VIEW + c.enters * SIM_COST_ENTER + c.leave_count * SIM_COST_LEAVE;
}
