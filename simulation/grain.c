#include "simulation/grain.h"

#include "common/check.h"

enum { COUNT, PLACE, SORTED }; /* map->lay.phase */

void sim_grain_begin(struct sim_map *m)
{
	m->lay = (struct sim_lay){.slot = SIM_NONE};
}

void sim_grain_end(struct sim_map *m)
{
	struct sim_cell *end = &m->cells[m->columns * m->rows];

	end->offset = m->cell_used;
	end->laid = m->lay.used;
	end->fresh = m->lay.fresh;
}

/* A place on one axis of a cell, in sub-cells; who is outside counts to the edge. */
static inline uint32_t sub_of(const struct sim_map *m, int64_t mm, uint32_t shift)
{
	uint64_t inside = mm < 0 ? 0 : mm >= m->cell_mm ? m->cell_mm - 1 : (uint64_t)mm;

	return (uint32_t)(inside * m->grain_scale >> (32 - shift));
}

static inline uint32_t sub_cell(
	const struct sim_map *m, const struct sim_laid *e, uint32_t shift, int32_t x0, int32_t y0)
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
		m->fresh[lay->at] = sim_laid_of(m, lay->slot);
		starts[sub_cell(m, &m->fresh[lay->at++], g->shift, x0, y0)]++;
		lay->slot = m->entities[lay->slot].cell_next;
	}
	while (lay->phase == PLACE) {
		const struct sim_laid *e;

		if (lay->at == lay->used) {
			lay->phase = SORTED;
			break;
		}
		if (slice->left <= 0)
			return false;
		slice->left -= SIM_COST_SORT;
		e = &m->fresh[--lay->at];
		m->laid[--starts[sub_cell(m, e, g->shift, x0, y0)]] = *e;
	}
	return true;
}

/* ---- looking around ---- */

/* Runs being gathered. */
struct basket {
	struct sim_run *runs;
	uint32_t run_count, count;
};

static inline void add_run(struct basket *b, const struct sim_laid *first, uint32_t count)
{
	struct sim_run *last = b->run_count ? &b->runs[b->run_count - 1] : NULL;

	if (!count)
		return;
	b->count += count;
	if (last && last->first + last->count == first)
		last->count += count;
	else
		b->runs[b->run_count++] = (struct sim_run){.first = first, .count = count};
}

/* Places in millimetres from the cell's corner. */
static void add_grain(const struct sim_map *m, const struct sim_grain *g, int64_t west,
	int64_t east, int64_t south, int64_t north, bool fresh, struct basket *b)
{
	const uint32_t *starts = &m->grain_starts[fresh ? g->fresh_starts : g->starts];
	const struct sim_laid *laid = fresh ? m->fresh : m->laid;
	uint32_t shift = g->shift;
	uint32_t x0 = sub_of(m, west, shift), x1 = sub_of(m, east, shift);
	uint32_t y0 = sub_of(m, south, shift), y1 = sub_of(m, north, shift);

	for (uint32_t y = y0; y <= y1; y++) {
		uint32_t first = starts[y << shift | x0], end = starts[(y << shift | x1) + 1];

		add_run(b, &laid[first], end - first);
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

uint32_t sim_grain_around(const struct sim_map *m, const struct sim_window *window,
	const struct sim_entity *place, uint32_t reach_mm, bool fresh, struct sim_run *runs,
	uint32_t *run_count)
{
	struct sim_window w = *window;
	struct basket b = {.runs = runs};
	int64_t west = (int64_t)place->x_mm - reach_mm, east = (int64_t)place->x_mm + reach_mm;
	int64_t south = (int64_t)place->y_mm - reach_mm, north = (int64_t)place->y_mm + reach_mm;

	cells_between(m, west, east, &w.column0, &w.column1);
	cells_between(m, south, north, &w.row0, &w.row1);
	for (uint32_t row = w.row0; row <= w.row1; row++) {
		for (uint32_t column = w.column0; column <= w.column1; column++) {
			const struct sim_cell *cell = &m->cells[row * m->columns + column];
			int64_t x0 = (int64_t)column * m->cell_mm, y0 = (int64_t)row * m->cell_mm;

			if (cell->grain)
				add_grain(m, &m->grains[cell->grain - 1], west - x0, east - x0,
					south - y0, north - y0, fresh, &b);
			else if (fresh)
				add_run(&b, &m->fresh[cell->fresh], cell[1].fresh - cell->fresh);
			else
				add_run(&b, &m->laid[cell->laid], cell->count);
		}
	}
	DCHECK(b.run_count <= SIM_RUNS_MAX);
	*run_count = b.run_count;
	return b.count;
}

uint32_t sim_grain_guess(const struct sim_map *m, const struct sim_window *window, uint32_t cell,
	uint32_t want, bool fresh)
{
	const struct sim_cell *own = &m->cells[cell];
	uint32_t in_cell = fresh ? own[1].fresh - own->fresh : own->count, bucket = 1;
	uint32_t in_sight = sim_window_laid(m, window, fresh);
	uint32_t cells =
		(window->column1 - window->column0 + 1) * (window->row1 - window->row0 + 1);
	/* bucket^2 * count >= want * (buckets on half a cell's side)^2 */
	uint64_t half = (uint64_t)m->cell_mm * m->bucket_scale >> 33;
	uint64_t count = in_cell > in_sight / cells ? in_cell : in_sight / cells;

	if (in_sight <= want * 2)
		return SIM_BUCKETS;
	while (bucket < SIM_BUCKETS && (uint64_t)bucket * bucket * count < want * half * half)
		bucket++;
	return bucket;
}
