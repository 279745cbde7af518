#include "simulation/monster.h"

#include "simulation/combat.h"
#include "simulation/entity.h"
#include "simulation/grounds.h"
#include "simulation/happening.h"
#include "simulation/interest.h"
#include "simulation/paths.h"
#include "simulation/random.h"

#define SIM_RETURN_S 30u
#define SENSE_LOOKS  64u /* players that it looks at, at most, in one look */

static uint32_t slot_of(const struct sim_map *m, uint32_t i)
{
	return m->player_slots + m->npc_slots + i;
}

static const struct sim_monster_kind *kind_of(const struct sim_map *m, uint32_t i)
{
	return &m->game->kinds[m->monsters[i].kind];
}

static void place(struct sim_map *m, uint32_t i, int32_t x_mm, int32_t y_mm)
{
	struct sim_monster *monster = &m->monsters[i];
	struct sim_lair *lair = &m->lairs[i];

	monster->mood = SIM_WANDERS;
	monster->until_beat = m->beat;
	monster->dx = monster->dy = 0;
	monster->around = 0;
	monster->target = SIM_NONE;
	*lair = (struct sim_lair){.x_mm = x_mm, .y_mm = y_mm, .owner = SIM_NONE};
	sim_body_monster(m, slot_of(m, i));
	sim_entity_appear(m, slot_of(m, i), SIM_MONSTER, x_mm, y_mm, 0);
}

void sim_monster_first(struct sim_map *m, uint32_t i)
{
	struct sim_monster *monster = &m->monsters[i];
	int32_t x_mm, y_mm;
	uint32_t kind;

	sim_monster_place(m, i, &x_mm, &y_mm, &monster->herd);
	kind = monster->herd == SIM_NO_HERD
		       ? SIM_KIND_PLAIN
		       : sim_game_kind(m->game, m->rules.ground->herds[monster->herd].kind);
	monster->kind = kind == UINT32_MAX ? SIM_KIND_PLAIN : (uint16_t)kind;
	place(m, i, x_mm, y_mm);
}

void sim_monster_appear(struct sim_map *m, uint32_t i)
{
	int32_t x_mm, y_mm;
	uint16_t herd;

	sim_monster_place(m, i, &x_mm, &y_mm, &herd);
	place(m, i, x_mm, y_mm);
}

/* ---- wandering ---- */

/* The direction, at full length along its longer axis. Returns that axis' distance. */
static int32_t towards(
	const struct sim_entity *e, int32_t x_mm, int32_t y_mm, int8_t *dx, int8_t *dy)
{
	int32_t x = x_mm - e->x_mm, y = y_mm - e->y_mm; /* below 2^25 on ground, 2^31 without */
	int32_t far = (x < 0 ? -x : x) > (y < 0 ? -y : y) ? (x < 0 ? -x : x) : (y < 0 ? -y : y);

	*dx = far ? (int8_t)((int64_t)x * 127 / far) : 0;
	*dy = far ? (int8_t)((int64_t)y * 127 / far) : 0;
	return far;
}

/* Full speed towards the place of its herd, if it is too far from there. */
static void turn_home(struct sim_map *m, const struct sim_entity *e, struct sim_monster *monster)
{
	const struct sw_ground_herd *herd = &m->rules.ground->herds[monster->herd];
	int8_t dx, dy;

	if (towards(e, herd->x_mm, herd->y_mm, &dx, &dy) <= (int32_t)herd->radius_mm ||
		!sim_random_below(&m->random, 2))
		return;
	monster->dx = dx;
	monster->dy = dy;
}

/* Returns whether it got anywhere. */
static bool walk(struct sim_map *m, uint32_t i, int32_t dx, int32_t dy)
{
	const struct sim_entity *e = &m->entities[slot_of(m, i)];
	int32_t x_mm = e->x_mm, y_mm = e->y_mm;

	sim_entity_walk(m, slot_of(m, i), kind_of(m, i)->speed_mm_per_s, dx, dy);
	return e->x_mm != x_mm || e->y_mm != y_mm;
}

static void wander(struct sim_map *m, uint32_t i)
{
	struct sim_monster *monster = &m->monsters[i];
	uint32_t hz = m->config.tick_hz;

	if ((int32_t)(m->beat - monster->until_beat) >= 0) {
		monster->until_beat = m->beat + hz + sim_random_below(&m->random, 3 * hz + 1);
		if (sim_random_below(&m->random, 2)) {
			monster->dx = (int8_t)((int32_t)sim_random_below(&m->random, 255) - 127);
			monster->dy = (int8_t)((int32_t)sim_random_below(&m->random, 255) - 127);
		} else {
			monster->dx = monster->dy = 0;
		}
		if (monster->herd != SIM_NO_HERD)
			turn_home(m, &m->entities[slot_of(m, i)], monster);
	} else if (!monster->dx && !monster->dy) {
		return; /* resting: it was told when it stopped */
	}
	if (!walk(m, i, monster->dx, monster->dy) && m->rules.ground &&
		(monster->dx || monster->dy))
		monster->until_beat = m->beat + 1;
}

/* ---- prey ---- */

static uint64_t distance_squared(const struct sim_entity *a, const struct sim_entity *b)
{
	int64_t dx = (int64_t)a->x_mm - b->x_mm, dy = (int64_t)a->y_mm - b->y_mm;

	return (uint64_t)(dx * dx + dy * dy);
}

static bool is_prey(const struct sim_map *m, uint32_t slot)
{
	const struct sim_entity *e = &m->entities[slot];

	return slot < m->player_slots && m->bodies[slot].health && sim_is_present(m, slot) &&
	       m->players_table[slot].detail == SIM_DETAIL_READY &&
	       !(m->rules.ground && sw_ground_safe_at(m->rules.ground, e->x_mm, e->y_mm));
}

static void chase(struct sim_map *m, uint32_t i, uint32_t slot)
{
	struct sim_monster *monster = &m->monsters[i];
	struct sim_lair *lair = &m->lairs[i];

	if (monster->mood == SIM_WANDERS) {
		lair->x_mm = m->entities[slot_of(m, i)].x_mm;
		lair->y_mm = m->entities[slot_of(m, i)].y_mm;
	}
	monster->mood = SIM_CHASES;
	monster->target = slot;
	monster->until_beat = m->beat;
	lair->target_generation = m->entities[slot].generation;
}

/* The nearest in sight of the first SENSE_LOOKS players in the cells around. */
static uint32_t sense(struct sim_map *m, uint32_t i)
{
	const struct sim_entity *self = &m->entities[slot_of(m, i)];
	uint32_t sight = kind_of(m, i)->sight_mm, looks = SENSE_LOOKS, found = SIM_NONE, cost = 0;
	uint64_t nearest = (uint64_t)sight * sight + 1;
	uint32_t x0 = (uint32_t)self->x_mm > sight ? (uint32_t)self->x_mm - sight : 0;
	uint32_t y0 = (uint32_t)self->y_mm > sight ? (uint32_t)self->y_mm - sight : 0;
	uint32_t x1 = ((uint32_t)self->x_mm + sight) / m->cell_mm;
	uint32_t y1 = ((uint32_t)self->y_mm + sight) / m->cell_mm;

	for (uint32_t row = y0 / m->cell_mm; row <= y1 && row < m->rows; row++) {
		for (uint32_t column = x0 / m->cell_mm; column <= x1 && column < m->columns;
			column++) {
			uint32_t other = m->cells[row * m->columns + column].head;

			cost += SIM_COST_CELL;
			for (; other != SIM_NONE && looks; other = m->entities[other].cell_next) {
				const struct sim_entity *e = &m->entities[other];
				uint64_t distance;

				looks--;
				cost += SIM_COST_CANDIDATE;
				if (other >= m->player_slots)
					continue;
				distance = distance_squared(self, e);
				if (distance >= nearest || !is_prey(m, other))
					continue;
				cost += SIM_COST_BLOW;
				if (sim_reach(m, slot_of(m, i), other, sight))
					continue;
				nearest = distance;
				found = other;
			}
		}
	}
	if (found != SIM_NONE)
		chase(m, i, found);
	return cost;
}

void sim_monster_hurt(struct sim_map *m, uint32_t i, uint32_t attacker)
{
	struct sim_monster *monster = &m->monsters[i];
	struct sim_lair *lair = &m->lairs[i];

	if (!sim_is_player(m, attacker))
		return;
	if (lair->owner == SIM_NONE) {
		lair->owner = attacker;
		lair->owner_generation = m->entities[attacker].generation;
	}
	if (monster->mood == SIM_WANDERS && kind_of(m, i)->attack)
		chase(m, i, attacker);
}

bool sim_monster_chase(struct sim_map *m, uint32_t i, uint32_t player)
{
	if (m->monsters[i].mood == SIM_DEAD || m->monsters[i].mood == SIM_RETURNS ||
		!is_prey(m, player))
		return false;
	chase(m, i, player);
	return true;
}

/* ---- chasing, and going back ---- */

static void give_up(struct sim_map *m, uint32_t i)
{
	struct sim_monster *monster = &m->monsters[i];

	monster->mood = SIM_RETURNS;
	monster->target = SIM_NONE;
	monster->until_beat = m->beat + SIM_RETURN_S * m->config.tick_hz;
}

static bool too_far_from_home(const struct sim_map *m, uint32_t i)
{
	const struct sim_lair *lair = &m->lairs[i];
	const struct sim_entity home = {.x_mm = lair->x_mm, .y_mm = lair->y_mm};
	uint64_t leash = kind_of(m, i)->leash_mm;

	return distance_squared(&m->entities[slot_of(m, i)], &home) > leash * leash;
}

/* A step towards a place: straight where nothing stands between, else by the way around; after a
 * wall has stopped it, for a second by that in any case, for a line may be free and yet too narrow.
 * False: there is no way. */
static bool go_to(struct sim_map *m, uint32_t i, int32_t x_mm, int32_t y_mm)
{
	struct sim_monster *monster = &m->monsters[i];
	uint32_t slot = slot_of(m, i);
	const struct sim_entity *self = &m->entities[slot];
	uint32_t step_mm = sw_move_step_mm(kind_of(m, i)->speed_mm_per_s, m->config.tick_hz);
	int8_t dx, dy;

	if (monster->around || !sim_sees(m, slot, x_mm, y_mm)) {
		int32_t to_x_mm, to_y_mm;
		enum sw_path_step step = sim_path_next(m, slot, x_mm, y_mm, &to_x_mm, &to_y_mm);

		monster->around -= monster->around > 0;
		if (step == SW_PATH_CLOSED)
			return false;
		if (step == SW_PATH_STEP) {
			sw_path_input((int64_t)to_x_mm - self->x_mm, (int64_t)to_y_mm - self->y_mm,
				step_mm, &dx, &dy);
			walk(m, i, dx, dy);
			return true;
		}
	}
	towards(self, x_mm, y_mm, &dx, &dy);
	if (!walk(m, i, dx, dy))
		monster->around = (uint8_t)(m->config.tick_hz < 255 ? m->config.tick_hz : 255);
	return true;
}

static void chase_step(struct sim_map *m, uint32_t i)
{
	struct sim_monster *monster = &m->monsters[i];
	uint32_t slot = slot_of(m, i), target = monster->target;
	const struct sim_entity *self = &m->entities[slot], *prey = &m->entities[target];
	struct sim_body *body = &m->bodies[slot];

	if (m->lairs[i].target_generation != prey->generation || !is_prey(m, target) ||
		too_far_from_home(m, i)) {
		give_up(m, i);
		return;
	}
	if (!sim_reach(m, slot, target, body->range_mm)) {
		if (self->moving_mm_per_s)
			sim_entity_walk(m, slot, 0, 0, 0);
		if ((int32_t)(m->beat - body->ready_beat) >= 0)
			sim_strike(m, slot, target);
		return;
	}
	if (!go_to(m, i, prey->x_mm, prey->y_mm))
		give_up(m, i);
}

static void arrive(struct sim_map *m, uint32_t i)
{
	struct sim_monster *monster = &m->monsters[i];
	uint32_t slot = slot_of(m, i);
	struct sim_entity *e = &m->entities[slot];

	e->x_mm = m->lairs[i].x_mm;
	e->y_mm = m->lairs[i].y_mm;
	e->moving_mm_per_s = 0;
	sim_entity_touch(m, slot);
	m->bodies[slot].health = m->bodies[slot].health_max;
	m->lairs[i].owner = SIM_NONE;
	monster->mood = SIM_WANDERS;
	monster->until_beat = m->beat;
	monster->dx = monster->dy = 0;
}

static void return_step(struct sim_map *m, uint32_t i)
{
	struct sim_monster *monster = &m->monsters[i];
	const struct sim_entity *e = &m->entities[slot_of(m, i)];
	const struct sim_lair *lair = &m->lairs[i];
	uint32_t step = sw_move_step_mm(kind_of(m, i)->speed_mm_per_s, m->config.tick_hz);
	int8_t dx, dy;

	if (towards(e, lair->x_mm, lair->y_mm, &dx, &dy) <= (int32_t)step ||
		(int32_t)(m->beat - monster->until_beat) >= 0) {
		arrive(m, i);
		return;
	}
	if (!go_to(m, i, lair->x_mm, lair->y_mm)) /* no way back */
		arrive(m, i);
}

uint32_t sim_monster_tick(struct sim_map *m, uint32_t i)
{
	uint32_t half_second = m->config.tick_hz > 1 ? m->config.tick_hz / 2 : 1, cost = 0;

	switch (m->monsters[i].mood) {
	case SIM_WANDERS:
		if ((m->beat + i) % half_second == 0 && kind_of(m, i)->sight_mm)
			cost = SIM_COST_SENSE + sense(m, i);
		if (m->monsters[i].mood == SIM_WANDERS)
			wander(m, i);
		return SIM_COST_MONSTER + cost;
	case SIM_CHASES:
		if ((m->beat + i) % m->config.tick_hz == 0)
			sim_happens_fight(m, SCRIPT_HANDLER_MONSTER_FIGHT, slot_of(m, i),
				m->monsters[i].target, 0);
		chase_step(m, i);
		return SIM_COST_CHASE + SIM_COST_BLOW;
	case SIM_RETURNS:
		return_step(m, i);
		return SIM_COST_CHASE;
	default:
		return SIM_COST_SLOT;
	}
}
