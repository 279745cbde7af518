#include "simulation/entity.h"

#include "common/check.h"
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

bool sim_position_clamp(const struct sim_map *m, int32_t *x_mm, int32_t *y_mm)
{
	return sw_move_clamp(&m->rules, x_mm, y_mm);
}

uint32_t sim_slot_of_handle(const struct sim_map *m, uint64_t handle)
{
	uint32_t slot = handle_index(handle);

	return slot < m->slots && m->entities[slot].cell != SIM_NONE &&
			       sim_handle(m, slot) == handle
		       ? slot
		       : SIM_NONE;
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
