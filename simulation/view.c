#include "simulation/view.h"

#include "common/check.h"
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
		for (uint64_t bits = known[w]; bits; bits &= bits - 1)
			m->entities[w * 64 + (uint32_t)__builtin_ctzll(bits)].known_by--;
		known[w] = 0;
	}
	sim_player(m, slot)->known_count = 0;
}

static void forget_one(struct sim_map *m, uint32_t observer, uint32_t slot)
{
	DCHECK(sim_knows(m, observer, slot));
	sim_known(m, observer)[slot / 64] &= ~(1ull << (slot % 64));
	m->entities[slot].known_by--;
	sim_player(m, observer)->known_count--;
}

void sim_view_renew(struct sim_map *m, uint32_t slot)
{
	struct sim_window window = sim_window_of(m, m->entities[slot].cell);

	m->entities[slot].looks_beat = m->beat;
	for (uint32_t row = window.row0; row <= window.row1; row++) {
		for (uint32_t column = window.column0; column <= window.column1; column++) {
			const struct sim_cell *cell = &m->cells[row * m->columns + column];
			uint32_t other = cell->head;

			sim_work(m, SIM_COST_CELL + cell->count * SIM_COST_CANDIDATE);
			for (; other != SIM_NONE; other = m->entities[other].cell_next) {
				struct sim_player *p = sim_player(m, other);

				if (other >= m->player_slots || !sim_knows(m, other, slot))
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
	if (!write_enter(m, slot, c))
		return false;
	sim_known(m, observer)[slot / 64] |= 1ull << (slot % 64);
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
		for (; bits; bits &= bits - 1) {
			uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);
			const struct sim_entity *e = &m->entities[slot];

			if (e->cell == SIM_NONE || e->looks_beat < p->renew_floor)
				continue;
			if (!write_enter(m, slot, c)) {
				p->renew_cursor = slot;
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

/* How near one must be in a crowd: all in buckets below *within fit view_max. Also counts those
 * within that are not in view yet. */
static void crowd_limits(struct sim_map *m, uint32_t observer, const struct sim_window *window,
	uint32_t *within, uint32_t *newcomers)
{
	uint32_t all[SIM_BUCKETS] = {0}, unknown[SIM_BUCKETS] = {0}, sum = 0;
	const struct sim_entity *self = &m->entities[observer];

	for (uint32_t row = window->row0; row <= window->row1; row++) {
		for (uint32_t column = window->column0; column <= window->column1; column++) {
			uint32_t other = m->cells[row * m->columns + column].head;

			for (; other != SIM_NONE; other = m->entities[other].cell_next) {
				uint32_t bucket;

				if (other == observer)
					continue;
				bucket = sim_distance_bucket(m, self, &m->entities[other]);
				all[bucket]++;
				unknown[bucket] += !sim_knows(m, observer, other);
			}
		}
	}
	*within = 0;
	*newcomers = 0;
	while (*within < SIM_BUCKETS && sum + all[*within] <= sim_player(m, observer)->view_max) {
		sum += all[*within];
		*newcomers += unknown[*within];
		(*within)++;
	}
}

/* Leaves of known entities that are out of the window, and in a crowd too far. */
static bool rescan_leaves(struct sim_map *m, uint32_t observer, const struct sim_window *window,
	uint32_t within, uint32_t newcomers, struct change *c)
{
	const struct sim_player *p = sim_player(m, observer);
	const struct sim_entity *self = &m->entities[observer];
	uint64_t *known = sim_known(m, observer);

	for (uint32_t w = 0; w < m->known_words; w++) {
		for (uint64_t bits = known[w]; bits; bits &= bits - 1) {
			uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits), bucket;
			const struct sim_entity *e = &m->entities[slot];

			if (sim_window_has(m, window, e->cell)) {
				if (!p->crowded)
					continue;
				bucket = sim_distance_bucket(m, self, e);
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

/* Enters of a cell's entities, nearer than bucket `below`. */
static bool enter_cell(
	struct sim_map *m, uint32_t observer, uint32_t cell, uint32_t below, struct change *c)
{
	const struct sim_player *p = sim_player(m, observer);
	const struct sim_entity *self = &m->entities[observer];

	for (uint32_t slot = m->cells[cell].head; slot != SIM_NONE;
		slot = m->entities[slot].cell_next) {
		if (slot == observer || sim_knows(m, observer, slot))
			continue;
		if (p->known_count >= p->view_max)
			return true;
		if (p->crowded && sim_distance_bucket(m, self, &m->entities[slot]) >= below)
			continue;
		if (!tell_enter(m, observer, slot, c))
			return false;
	}
	return true;
}

/* Enters, the own cell first, then the ring around it, then the next. */
static bool rescan_enters(struct sim_map *m, uint32_t observer, const struct sim_window *window,
	uint32_t below, struct change *c)
{
	uint32_t own = m->entities[observer].cell;
	int32_t column = (int32_t)(own % m->columns), row = (int32_t)(own / m->columns);

	for (int32_t ring = 0; ring <= SIM_CELL_RADIUS; ring++) {
		for (int32_t y = row - ring; y <= row + ring; y++) {
			/* The top and bottom of a ring whole, else its two ends. */
			int32_t stride = y == row - ring || y == row + ring || !ring ? 1 : 2 * ring;

			if (y < (int32_t)window->row0 || y > (int32_t)window->row1)
				continue;
			for (int32_t x = column - ring; x <= column + ring; x += stride) {
				if (x < (int32_t)window->column0 || x > (int32_t)window->column1)
					continue;
				if (!enter_cell(m, observer, (uint32_t)y * m->columns + (uint32_t)x,
					    below, c))
					return false;
			}
		}
	}
	return true;
}

static uint32_t rescan(struct sim_map *m, uint32_t observer, const struct sim_window *window,
	uint32_t candidates, struct change *c)
{
	struct sim_player *p = sim_player(m, observer);
	uint32_t within = SIM_BUCKETS, newcomers = 0;

	p->pending_count = 0;
	if (p->crowded)
		crowd_limits(m, observer, window, &within, &newcomers);
	/* The step that does not fit as a whole fills what is left of view_max. */
	p->rescan = !(rescan_leaves(m, observer, window, within, newcomers, c) &&
		      rescan_enters(m, observer, window, within, c) &&
		      (!p->crowded || rescan_enters(m, observer, window, within + 1, c)));
	return candidates * SIM_COST_CANDIDATE * (p->crowded ? 3 : 1) +
	       m->known_words * SIM_COST_SLOT;
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
	candidates = sim_window_count(m, &window) - 1;
	crowded = candidates > p->view_max;
	if (crowded != p->crowded) {
		p->crowded = crowded;
		p->rescan = true;
	}

	c.start = c.at = sim_send_begin(s, SW_MSG_VIEW_CHANGE);
	c.end = c.start + limit - 1 - 4; /* the type byte; the packed list's tag and length */
	c.leave_count = c.enters = 0;
	c.at = wire_u32(c.at, 1, m->tick);
	c.at = wire_u32(c.at, 2, p->view_sequence + 1);
	if (p->rescan || due) {
		cost += rescan(m, slot, &window, candidates, &c);
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
		cost += m->known_words;
	}
	if (c.enters || c.leave_count)
		send_change(s, m, slot, &c);
	return cost + SIM_COST_VIEW + (c.enters + c.leave_count) * SIM_COST_ENTER;
}
