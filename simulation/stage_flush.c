/* Stage 8: updates to the dataplane, autosave, what scripts want kept, counts.
 *
 * The flush is spread: on a map of more than SIM_FLUSH_UNPACED players, observer i may be served
 * once i / slots of a quarter of the period has passed since the stage began, so the dataplane gets
 * a stream and not a burst. A tick that runs late does not pause. Autosave goes by hash bucket: the
 * slot's bucket among the ticks of one autosave period, so each player is looked at once a period,
 * and saved if it stands elsewhere than was saved. */
#include "simulation/intent.h"
#include "simulation/life.h"
#include "simulation/list.h"
#include "simulation/state.h"
#include "simulation/status.h"
#include "simulation/update.h"

#define FLUSH_GROUP 64u /* observers between two pauses */

static bool flush_may_go(struct sim_map *m, uint64_t now_ns)
{
	uint64_t spread_ns = m->period_ns / 4;

	if (m->players <= SIM_FLUSH_UNPACED || now_ns >= m->due_ns + m->period_ns / 2)
		return true;
	m->wait_ns = m->flush_ns + spread_ns * (m->cursor & ~(FLUSH_GROUP - 1)) / m->order_count;
	return now_ns >= m->wait_ns;
}

static bool autosave_due(const struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = &m->players_table[slot];
	const struct sim_entity *e = &m->entities[slot];

	/* In a room what is saved is where it came from, and that stands already. */
	return p->state == SIM_PLAYER_PRESENT && !(p->owed & SIM_OWE_SAVE) &&
	       m->config.kind != CONFIG_MAP_ROOM &&
	       (e->x_mm != p->saved_x_mm || e->y_mm != p->saved_y_mm ||
		       e->heading != p->saved_heading);
}

static uint32_t autosave_buckets(const struct sim_shard *s, const struct sim_map *m)
{
	uint64_t ticks = (uint64_t)s->autosave_ms * m->config.tick_hz / 1000;

	return ticks ? (uint32_t)ticks : 1;
}

static uint64_t owed(const struct sim_shard *s)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->map_count; i++)
		count += s->maps[i]->life.count;
	return count;
}

enum { START, FLUSH, AUTOSAVE };

bool sim_stage_flush(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	if (m->step == START) {
		m->flush_ns = slice->now_ns;
		m->step = FLUSH;
	}
	while (m->step == FLUSH) {
		uint32_t slot;

		if (m->cursor == m->order_count) {
			m->wait_ns = 0;
			m->step = AUTOSAVE;
			m->cursor = m->beat % autosave_buckets(s, m);
			break;
		}
		if (slice->left <= 0 || !flush_may_go(m, slice->now_ns))
			return false;
		sim_prefetch_player(m, m->cursor);
		slot = m->order[m->cursor];
		/* Those next to one in a crowd read what is told again of their known set, too. */
		if (sim_player(m, slot)->crowded)
			__builtin_prefetch(sim_known(m, sim_ahead(m, m->cursor)) +
					   m->beat % m->classes * m->class_words);
		m->cursor++;
		sim_player(m, slot)->refusals = 0;
		if (sim_player(m, slot)->leave_wanted)
			continue;
		if (sim_player(m, slot)->tell)
			slice->left -= sim_status_tell(s, m, slot) + sim_work_taken(m);
		slice->left -= sim_update_step(s, m, slot);
	}
	for (; m->cursor < m->player_slots; m->cursor += autosave_buckets(s, m)) {
		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SLOT;
		if (!autosave_due(m, m->cursor))
			continue;
		slice->left -= SIM_COST_SEND;
		if (!sim_save_push(s, m, m->cursor, false)) {
			sim_player(m, m->cursor)->owed |= SIM_OWE_SAVE;
			sim_life_push(m, m->cursor);
		}
	}
	if (!sim_intents_ask(m, slice))
		return false;
	counter_put(&s->counters[SIM_PLAYERS], s->players);
	counter_put(&s->counters[SIM_OWED], owed(s));
	return true;
}
