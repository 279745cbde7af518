#include "simulation/entity.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/interest.h"
#include "simulation/wire.h"

bool sim_position_inside(const struct sim_map *m, int32_t x_mm, int32_t y_mm)
{
	return x_mm >= 0 && y_mm >= 0 && (uint32_t)x_mm < m->rules.width_mm &&
	       (uint32_t)y_mm < m->rules.height_mm;
}

bool sim_position_legal(const struct sim_map *m, int32_t x_mm, int32_t y_mm)
{
	return sw_move_legal(&m->rules, x_mm, y_mm);
}

bool sim_position_clamp(struct sim_map *m, int32_t *x_mm, int32_t *y_mm)
{
	int32_t from_x = *x_mm, from_y = *y_mm;
	bool found = sw_move_clamp(&m->rules, x_mm, y_mm);
	int64_t x = (int64_t)*x_mm - from_x, y = (int64_t)*y_mm - from_y;
	uint32_t rings = SW_MOVE_SEARCH_TILES, side;

	if (!m->rules.ground)
		return found;
	/* It looks at squares of tiles, ever larger, until the nearest place is inside of one. */
	x = x < 0 ? -x : x;
	y = y < 0 ? -y : y;
	if (found && (x > y ? x : y) / m->rules.ground->tile_mm + 1 < rings)
		rings = (uint32_t)((x > y ? x : y) / m->rules.ground->tile_mm + 1);
	side = x || y || !found ? 2 * rings + 1 : 1;
	sim_work(m, side * side * SIM_COST_TILE);
	return found;
}

uint32_t sim_slot_of_handle(const struct sim_map *m, uint64_t handle)
{
	uint32_t slot = handle_index(handle);

	return slot < m->slots && m->entities[slot].cell != SIM_NONE &&
			       sim_handle(m, slot) == handle
		       ? slot
		       : SIM_NONE;
}

/* Looking along a line takes the tiles that it passes. */
static void pay_sight(
	struct sim_map *m, const struct sim_entity *e, int32_t to_x_mm, int32_t to_y_mm)
{
	uint32_t x = (uint32_t)(e->x_mm > to_x_mm ? e->x_mm - to_x_mm : to_x_mm - e->x_mm);
	uint32_t y = (uint32_t)(e->y_mm > to_y_mm ? e->y_mm - to_y_mm : to_y_mm - e->y_mm);

	if (m->rules.ground)
		sim_work(m, ((x + y) / m->rules.ground->tile_mm + 1) * SIM_COST_TILE);
}

bool sim_sees(struct sim_map *m, uint32_t slot, int32_t x_mm, int32_t y_mm)
{
	const struct sim_entity *e = &m->entities[slot];

	pay_sight(m, e, x_mm, y_mm);
	return !m->rules.ground || sw_ground_sight(m->rules.ground, e->x_mm, e->y_mm, x_mm, y_mm);
}

uint32_t sim_reach(struct sim_map *m, uint32_t a, uint32_t b, uint32_t reach_mm)
{
	static const uint32_t refusal[] = {
		[SW_REACH_FREE] = SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE,
		[SW_REACH_TOO_FAR] = SW__ACTION_REFUSAL__TOO_FAR,
		[SW_REACH_HIDDEN] = SW__ACTION_REFUSAL__NO_SIGHT};
	const struct sim_entity *from = &m->entities[a], *to = &m->entities[b];
	enum sw_reach reach =
		sw_move_reach(&m->rules, from->x_mm, from->y_mm, to->x_mm, to->y_mm, reach_mm);

	if (reach != SW_REACH_TOO_FAR)
		pay_sight(m, from, to->x_mm, to->y_mm);
	return refusal[reach];
}

void sim_entity_encode(struct sim_entity *e)
{
	uint8_t *at = e->record + 2;

	at = wire_u32(at, 1, e->wire_id);
	at = wire_s32(at, 2, e->x_mm);
	at = wire_s32(at, 3, e->y_mm);
	at = wire_u32(at, 4, e->heading);
	at = wire_u32(at, 5, e->moving_mm_per_s);
	e->record[0] = 3 << 3 | 2; /* WorldUpdate.entities */
	e->record[1] = (uint8_t)(at - e->record - 2);
	e->record_bytes = (uint8_t)(at - e->record);
	DCHECK(e->record_bytes <= SIM_RECORD_MAX);
}

void sim_entity_touch(struct sim_map *m, uint32_t slot)
{
	struct sim_entity *e = &m->entities[slot];

	e->changed_beat = m->beat;
	if (e->moved)
		return;
	e->moved = true;
	m->moved[m->moved_count++] = slot;
}

void sim_entity_walk(
	struct sim_map *m, uint32_t slot, uint32_t speed_mm_per_s, int32_t dx, int32_t dy)
{
	struct sim_entity *e = &m->entities[slot];
	struct sw_move_state state = {e->x_mm, e->y_mm, e->heading, e->moving_mm_per_s};

	sw_move_apply(&m->rules, speed_mm_per_s, dx, dy, &state);
	e->x_mm = state.x_mm;
	e->y_mm = state.y_mm;
	e->heading = state.heading;
	e->moving_mm_per_s = state.moving_mm_per_s;
	sim_entity_touch(m, slot);
}

void sim_entity_appear(struct sim_map *m, uint32_t slot, enum sim_kind kind, int32_t x_mm,
	int32_t y_mm, uint16_t heading)
{
	struct sim_entity *e = &m->entities[slot];

	CHECK(e->cell == SIM_NONE && !e->known_by);
	e->generation = handle_generation_next(e->generation);
	/* Ids of one slot differ by the table's size, so small ones come first (short varints), and
	 * one comes back only after 2^32 / slots stays in this slot: days, not 60 s. */
	e->wire_id = (e->generation - 1) % (UINT32_MAX / m->slots) * m->slots + slot + 1;
	e->looks_beat = 0;
	e->kind = (uint8_t)kind;
	e->x_mm = x_mm;
	e->y_mm = y_mm;
	e->heading = heading;
	e->moving_mm_per_s = 0;
	sim_entity_encode(e);
	sim_interest_move(m, slot, sim_cell_at(m, x_mm, y_mm));
	sim_entity_touch(m, slot);
}

void sim_entity_vanish(struct sim_map *m, uint32_t slot)
{
	struct sim_entity *e = &m->entities[slot];

	sim_interest_move(m, slot, SIM_NONE);
	e->kind = SIM_GHOST;
	e->moving_mm_per_s = 0;
}
