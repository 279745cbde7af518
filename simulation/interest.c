#include "simulation/interest.h"

uint32_t sim_cell_follow(const struct sim_map *m, uint32_t cell, int32_t x_mm, int32_t y_mm)
{
	int64_t size = m->cell_mm, margin = m->margin_mm;
	int64_t x0 = cell % m->columns * size, y0 = cell / m->columns * size;

	if (x_mm >= x0 - margin && x_mm < x0 + size + margin && y_mm >= y0 - margin &&
		y_mm < y0 + size + margin)
		return cell;
	return sim_cell_at(m, x_mm, y_mm);
}

uint32_t sim_window_count(const struct sim_map *m, const struct sim_window *w)
{
	uint32_t count = 0;

	for (uint32_t row = w->row0; row <= w->row1; row++)
		for (uint32_t column = w->column0; column <= w->column1; column++)
			count += m->cells[row * m->columns + column].count;
	return count;
}

void sim_interest_pend(struct sim_map *m, uint32_t observer, uint32_t slot)
{
	struct sim_player *p = sim_player(m, observer);

	if (p->state != SIM_PLAYER_PRESENT || p->rescan)
		return;
	if (p->pending_count == SIM_PENDING_MAX) {
		p->rescan = true;
		p->pending_count = 0;
		return;
	}
	p->pending[p->pending_count++] = slot;
}

/* A player who has to be told of each that comes and goes. */
static bool is_open(const struct sim_map *m, uint32_t slot)
{
	return slot < m->player_slots && !m->players_table[slot].crowded;
}

static void cell_unlink(struct sim_map *m, struct sim_entity *e)
{
	struct sim_cell *cell = &m->cells[e->cell];

	if (e->cell_prev == SIM_NONE)
		cell->head = e->cell_next;
	else
		m->entities[e->cell_prev].cell_next = e->cell_next;
	if (e->cell_next != SIM_NONE)
		m->entities[e->cell_next].cell_prev = e->cell_prev;
	cell->count--;
	m->open_cells[e->cell] -= is_open(m, (uint32_t)(e - m->entities));
}

static void cell_link(struct sim_map *m, uint32_t slot, uint32_t at)
{
	struct sim_cell *cell = &m->cells[at];
	struct sim_entity *e = &m->entities[slot];

	e->cell_prev = SIM_NONE;
	e->cell_next = cell->head;
	if (cell->head != SIM_NONE)
		m->entities[cell->head].cell_prev = slot;
	cell->head = slot;
	cell->count++;
	m->open_cells[at] += is_open(m, slot);
}

void sim_interest_crowd(struct sim_map *m, uint32_t observer, bool crowded)
{
	struct sim_player *p = sim_player(m, observer);

	m->open_cells[m->entities[observer].cell] += p->crowded - crowded;
	p->crowded = crowded;
	p->rescan = true;
}

/* Everyone in a cell whose sight of the slot changes, and the other way round. */
static void look_again(struct sim_map *m, uint32_t slot, uint32_t at)
{
	const struct sim_cell *cell = &m->cells[at];
	bool observer = is_open(m, slot) && !sim_player(m, slot)->rescan;

	if (!observer && !m->open_cells[at])
		return;
	sim_work(m, cell->count * SIM_COST_CANDIDATE);
	for (uint32_t other = cell->head; other != SIM_NONE; other = m->entities[other].cell_next) {
		if (other == slot)
			continue;
		if (is_open(m, other))
			sim_interest_pend(m, other, slot);
		if (observer)
			sim_interest_pend(m, slot, other);
	}
}

/* The cells of window a that are not in b (NULL: all of a). */
static void look_again_outside(
	struct sim_map *m, uint32_t slot, const struct sim_window *a, const struct sim_window *b)
{
	for (uint32_t row = a->row0; row <= a->row1; row++) {
		for (uint32_t column = a->column0; column <= a->column1; column++) {
			if (b && row >= b->row0 && row <= b->row1 && column >= b->column0 &&
				column <= b->column1)
				continue;
			look_again(m, slot, row * m->columns + column);
		}
	}
}

void sim_interest_move(struct sim_map *m, uint32_t slot, uint32_t cell)
{
	struct sim_entity *e = &m->entities[slot];
	uint32_t from = e->cell;
	struct sim_window old = {0}, new = {0};

	if (slot < m->player_slots && from == SIM_NONE && cell != SIM_NONE) {
		/* One that appears in a crowd is crowded from the start. */
		new = sim_window_of(m, cell);
		sim_player(m, slot)->crowded =
			sim_window_count(m, &new) > sim_player(m, slot)->view_max;
		sim_player(m, slot)->compared_beat = m->beat;
	}
	if (slot < m->player_slots && sim_player(m, slot)->crowded)
		sim_player(m, slot)->rescan = true;
	if (from != SIM_NONE) {
		old = sim_window_of(m, from);
		cell_unlink(m, e);
	}
	e->cell = cell;
	if (cell != SIM_NONE) {
		new = sim_window_of(m, cell);
		cell_link(m, slot, cell);
		look_again_outside(m, slot, &new, from == SIM_NONE ? NULL : &old);
	}
	if (from != SIM_NONE)
		look_again_outside(m, slot, &old, cell == SIM_NONE ? NULL : &new);
}
