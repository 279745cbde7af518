/* Stage 7: interest management and movement deltas. What changed is encoded, once an entity, and
 * follows its cell; each cell's records are laid out, row by row; then each player's view is
 * compared and told, and the blows that it sees. */
#include "common/check.h"
#include "simulation/entity.h"
#include "simulation/events.h"
#include "simulation/grain.h"
#include "simulation/interest.h"
#include "simulation/state.h"
#include "simulation/update.h"
#include "simulation/view.h"

/* One entity of the cell that is being laid out, as it lies in map->laid. */
static inline void lay_out(struct sim_map *m, const struct sim_laid *laid)
{
	const struct sim_entity *e = &m->entities[laid->slot];
	bool fresh = m->beat - e->changed_beat <= SIM_REPEAT_TICKS;

	if (laid->slot < m->player_slots)
		m->order[m->order_count++] = laid->slot;
	if (fresh)
		m->fresh[m->lay.fresh++] = *laid;
	else if (!sim_refresh_due(m, laid->known_bit))
		return;
	memcpy(m->cell_bytes + m->cell_used, e->record, SIM_RECORD_STRIDE);
	m->cell_used += e->record_bytes;
}

/* A cell of few, in the order of its list; false when the slice ends within. */
static bool lay_out_list(struct sim_map *m, struct sim_cell *cell, struct sim_slice *slice)
{
	uint32_t slot = m->lay.slot == SIM_NONE ? cell->head : m->lay.slot;

	for (; slot != SIM_NONE; slot = m->entities[slot].cell_next) {
		if (slice->left <= 0) {
			m->lay.slot = slot;
			return false;
		}
		slice->left -= SIM_COST_COPY;
		m->laid[m->lay.used] = sim_laid_of(m, slot);
		lay_out(m, &m->laid[m->lay.used++]);
	}
	m->lay.slot = SIM_NONE;
	return true;
}

/* A full cell, by sub-cells; false when the slice ends within. */
static bool lay_out_grain(struct sim_map *m, struct sim_cell *cell, struct sim_slice *slice)
{
	struct sim_lay *lay = &m->lay;
	const struct sim_grain *g;
	const uint32_t *starts;
	uint32_t subs, *fresh_starts;

	if (!sim_grain_sort(m, cell, slice))
		return false;
	g = &m->grains[cell->grain - 1];
	subs = 1u << 2 * g->shift;
	starts = &m->grain_starts[g->starts];
	fresh_starts = &m->grain_starts[g->fresh_starts];
	while (lay->sub < subs) {
		if (lay->at == starts[lay->sub])
			fresh_starts[lay->sub] = lay->fresh;
		for (; lay->at < starts[lay->sub + 1]; lay->at++) {
			if (slice->left <= 0)
				return false;
			slice->left -= SIM_COST_COPY;
			lay_out(m, &m->laid[lay->at]);
		}
		lay->sub++;
	}
	fresh_starts[subs] = lay->fresh;
	lay->used += cell->count;
	lay->sub = 0;
	DCHECK(lay->at == lay->used && lay->slot == SIM_NONE);
	return true;
}

/* Lays out a cell's records; returns false when the slice ends within the cell. */
static bool lay_out_cell(struct sim_map *m, struct sim_cell *cell, struct sim_slice *slice)
{
	if (!m->lay.within) {
		cell->offset = m->cell_used;
		cell->laid = m->lay.used;
		cell->fresh = m->lay.fresh;
		cell->grain = 0;
		slice->left -= SIM_COST_CELL;
		m->lay.within = true;
	}
	if (!(cell->count < SIM_GRAIN_MIN ? lay_out_list(m, cell, slice)
					  : lay_out_grain(m, cell, slice)))
		return false;
	m->lay.within = false;
	return true;
}

enum { MOVED, CELLS, VIEWS };

bool sim_stage_interest(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	while (m->step == MOVED) {
		struct sim_entity *e;
		uint32_t slot, cell;

		if (m->cursor == m->moved_count) {
			m->moved_count = 0;
			m->cell_used = 0;
			m->order_count = 0;
			sim_grain_begin(m);
			m->step = CELLS;
			m->cursor = 0;
			break;
		}
		if (slice->left <= 0)
			return false;
		slot = m->moved[m->cursor++];
		e = &m->entities[slot];
		e->moved = false;
		slice->left -= SIM_COST_RECORD;
		if (e->cell == SIM_NONE)
			continue;
		sim_entity_encode(e);
		cell = sim_cell_follow(m, e->cell, e->x_mm, e->y_mm);
		if (cell != e->cell) {
			sim_interest_move(m, slot, cell);
			slice->left -= SIM_COST_CROSSING + sim_work_taken(m);
		}
	}
	while (m->step == CELLS) {
		if (m->cursor == m->columns * m->rows) {
			sim_grain_end(m);
			m->step = VIEWS;
			m->cursor = 0;
			sim_events_sort(m);
			slice->left -= m->event_count * SIM_COST_CELL;
			break;
		}
		if (slice->left <= 0 || !lay_out_cell(m, &m->cells[m->cursor], slice))
			return false;
		m->cursor++;
	}
	for (; m->cursor < m->order_count; m->cursor++) {
		uint32_t slot = m->order[m->cursor];

		if (slice->left <= 0)
			return false;
		sim_prefetch_player(m, m->cursor);
		if (sim_player(m, slot)->leave_wanted)
			continue;
		slice->left -= sim_view_step(s, m, slot);
		if (m->event_count)
			slice->left -= sim_events_tell(s, m, slot);
	}
	sim_events_clear(m);
	return true;
}
