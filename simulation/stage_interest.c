/* Stage 7: interest management and movement deltas. What changed is encoded, once an entity, and
 * follows its cell; each cell's records are laid out, row by row; then each player's view is
 * compared and told, and the blows that it sees. */
#include "simulation/entity.h"
#include "simulation/events.h"
#include "simulation/interest.h"
#include "simulation/state.h"
#include "simulation/update.h"
#include "simulation/view.h"

static bool refresh_due(const struct sim_map *m, uint32_t slot)
{
	uint32_t period = sim_refresh_period(m);

	return slot % period == m->beat % period;
}

/* Lays out a cell's records; m->quota is the entity to go on with, SIM_NONE at the start of a cell.
 * Returns false when the slice ends within the cell. */
static bool lay_out_cell(struct sim_map *m, struct sim_cell *cell, struct sim_slice *slice)
{
	uint32_t slot = m->quota;

	if (slot == SIM_NONE) {
		cell->offset = m->cell_used;
		slot = cell->head;
		slice->left -= SIM_COST_CELL;
	}
	for (; slot != SIM_NONE; slot = m->entities[slot].cell_next) {
		const struct sim_entity *e = &m->entities[slot];

		if (slice->left <= 0) {
			m->quota = slot;
			return false;
		}
		slice->left -= SIM_COST_COPY;
		if (slot < m->player_slots)
			m->order[m->order_count++] = slot;
		if (m->beat - e->changed_beat > SIM_REPEAT_TICKS && !refresh_due(m, slot))
			continue;
		memcpy(m->cell_bytes + m->cell_used, e->record, e->record_bytes);
		m->cell_used += e->record_bytes;
	}
	m->quota = SIM_NONE;
	cell->bytes = m->cell_used - cell->offset;
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
			m->quota = SIM_NONE;
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
