#include "simulation/grain.h"

#include "common/check.h"

enum { COUNT, PLACE, SORTED }; /* map->lay.phase */

void sim_grain_begin(struct sim_map *m)
{
	m->lay = (struct sim_lay){.slot = SIM_NONE};
}

/* A place on one axis of a cell, in sub-cells; who is outside counts to the edge. */
static inline uint32_t sub_of(const struct sim_map *m, int64_t mm, uint32_t shift)
{
	uint64_t inside = mm < 0 ? 0 : mm >= m->cell_mm ? m->cell_mm - 1 : (uint64_t)mm;

	return (uint32_t)(inside * m->grain_scale >> (32 - shift));
}

static inline uint32_t sub_cell(
	const struct sim_map *m, const struct sim_entity *e, uint32_t shift, int32_t x0, int32_t y0)
{
	return sub_of(m, e->y_mm - y0, shift) << shift | sub_of(m, e->x_mm - x0, shift);
}

static struct sim_grain *begin(struct sim_map *m, struct sim_cell *cell)
{
	struct sim_grain *g = &m->grains[m->lay.grains++];
	uint32_t subs;

	cell->grain = m->lay.grains;
	g->shift = 2;
	while (g->shift < SIM_GRAIN_SHIFT_MAX && 1u << 2 * (g->shift + 1) <= cell->count)
		g->shift++;
	subs = 1u << 2 * g->shift;
	g->starts = m->lay.starts;
	g->fresh_starts = g->starts + subs + 1;
	m->lay.starts += 2 * (subs + 1);
	DCHECK(m->lay.starts <= sim_grain_starts_max(m->slots));
	memset(&m->grain_starts[g->starts], 0, (subs + 1) * sizeof(*m->grain_starts));
	m->lay.phase = COUNT;
	m->lay.slot = cell->head;
	m->lay.at = m->lay.used;
	return g;
}

/* Each sub-cell's count becomes the end of its places; the first comes down to its begin while
 * they are filled. */
static void add_up(struct sim_map *m, const struct sim_grain *g)
{
	uint32_t *starts = &m->grain_starts[g->starts], subs = 1u << 2 * g->shift;
	uint32_t sum = m->lay.used;

	for (uint32_t i = 0; i < subs; i++)
		starts[i] = sum += starts[i];
	starts[subs] = sum;
}

bool sim_grain_sort(struct sim_map *m, struct sim_cell *cell, struct sim_slice *slice)
{
	struct sim_lay *lay = &m->lay;
	const struct sim_grain *g = cell->grain ? &m->grains[cell->grain - 1] : begin(m, cell);
	uint32_t at = (uint32_t)(cell - m->cells), *starts = &m->grain_starts[g->starts];
	int32_t x0 = (int32_t)(at % m->columns * m->cell_mm);
	int32_t y0 = (int32_t)(at / m->columns * m->cell_mm);

	/* The list is walked once; map->fresh has room for it behind what is in there. */
	while (lay->phase == COUNT) {
		if (lay->slot == SIM_NONE) {
			add_up(m, g);
			slice->left -= 1 << 2 * g->shift;
			lay->phase = PLACE;
			break;
		}
		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SORT;
		m->fresh[lay->at++] = lay->slot;
		starts[sub_cell(m, &m->entities[lay->slot], g->shift, x0, y0)]++;
		lay->slot = m->entities[lay->slot].cell_next;
	}
	while (lay->phase == PLACE) {
		uint32_t slot;

		if (lay->at == lay->used) {
			lay->phase = SORTED;
			break;
		}
		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SORT;
		slot = m->fresh[--lay->at];
		m->laid[--starts[sub_cell(m, &m->entities[slot], g->shift, x0, y0)]] = slot;
	}
	return true;
}

/* ---- looking around ---- */

/* Slots being gathered. */
struct basket {
	uint32_t *out, count, max;
};

static inline void add_run(struct basket *b, const uint32_t *slots, uint32_t count)
{
	if (count > b->max - b->count)
		count = b->max - b->count;
	/* most runs are short */
	for (uint32_t i = 0; i < count; i++)
		b->out[b->count + i] = slots[i];
	b->count += count;
}

static void gather_list(
	const struct sim_map *m, const struct sim_cell *cell, bool fresh, struct basket *b)
{
	for (uint32_t slot = cell->head; slot != SIM_NONE && b->count < b->max;
		slot = m->entities[slot].cell_next)
		if (!fresh || m->beat - m->entities[slot].changed_beat <= SIM_REPEAT_TICKS)
			b->out[b->count++] = slot;
}

/* Places in millimetres from the cell's corner. */
static void gather_grain(const struct sim_map *m, const struct sim_grain *g, int64_t west,
	int64_t east, int64_t south, int64_t north, bool fresh, struct basket *b)
{
	const uint32_t *starts = &m->grain_starts[fresh ? g->fresh_starts : g->starts];
	const uint32_t *slots = fresh ? m->fresh : m->laid;
	uint32_t shift = g->shift, side = 1u << shift;
	uint32_t x0 = sub_of(m, west, shift), x1 = sub_of(m, east, shift);
	uint32_t y0 = sub_of(m, south, shift), y1 = sub_of(m, north, shift);

	if (x0 == 0 && x1 == side - 1) { /* whole rows lie one after the other */
		uint32_t first = starts[y0 << shift], end = starts[(y1 + 1) << shift];

		add_run(b, &slots[first], end - first);
		return;
	}
	for (uint32_t y = y0; y <= y1; y++) {
		uint32_t first = starts[y << shift | x0], end = starts[(y << shift | x1) + 1];

		add_run(b, &slots[first], end - first);
	}
}

/* The cells of one axis that may hold something between two places: margin_mm beyond their edges.
 */
static inline void cells_between(
	const struct sim_map *m, int64_t from_mm, int64_t to_mm, uint32_t *first, uint32_t *last)
{
	int64_t size = m->cell_mm, margin = m->margin_mm;
	int64_t low = from_mm - margin < 0 ? 0 : (from_mm - margin) / size;
	int64_t high = to_mm + margin < 0 ? -1 : (to_mm + margin) / size;

	if (low > *first)
		*first = low > *last ? *last + 1 : (uint32_t)low;
	if (high < *last)
		*last = high < 0 ? 0 : (uint32_t)high;
}

uint32_t sim_grain_gather(const struct sim_map *m, const struct sim_window *window,
	const struct sim_entity *around, uint32_t reach_mm, bool fresh, uint32_t *out, uint32_t max)
{
	struct sim_window w = *window;
	struct basket b = {.out = out, .max = max};
	int64_t west = (int64_t)around->x_mm - reach_mm, east = (int64_t)around->x_mm + reach_mm;
	int64_t south = (int64_t)around->y_mm - reach_mm, north = (int64_t)around->y_mm + reach_mm;

	cells_between(m, west, east, &w.column0, &w.column1);
	cells_between(m, south, north, &w.row0, &w.row1);
	for (uint32_t row = w.row0; row <= w.row1; row++) {
		for (uint32_t column = w.column0; column <= w.column1; column++) {
			const struct sim_cell *cell = &m->cells[row * m->columns + column];
			int64_t x0 = (int64_t)column * m->cell_mm, y0 = (int64_t)row * m->cell_mm;

			if (!cell->grain)
				gather_list(m, cell, fresh, &b);
			else
				gather_grain(m, &m->grains[cell->grain - 1], west - x0, east - x0,
					south - y0, north - y0, fresh, &b);
		}
	}
	return b.count;
}

uint32_t sim_grain_guess(
	const struct sim_map *m, const struct sim_window *window, uint32_t cell, uint32_t want)
{
	uint32_t own = m->cells[cell].count;
	uint32_t cells =
		(window->column1 - window->column0 + 1) * (window->row1 - window->row0 + 1);
	uint32_t mean = sim_window_count(m, window) / cells, bucket = 1;
	/* bucket^2 * count >= want * (buckets on half a cell's side)^2 */
	uint64_t half = ((uint64_t)m->cell_mm * m->bucket_scale >> 33) + 1;
	uint64_t count = own > mean ? own : mean;

	if (!count)
		return SIM_BUCKETS;
	while (bucket < SIM_BUCKETS && (uint64_t)bucket * bucket * count < want * half * half)
		bucket++;
	return bucket;
}
