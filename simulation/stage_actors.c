/* Stage 6: a room's match rule, NPCs and monsters. An NPC walks as its script's on_tick says; a monster wanders: it
 * rests or walks in a random direction for one to four seconds, by the same rules as a player,
 * slower. One of a herd that has strayed turns home half of the time (a wall may stand between);
 * on ground with walls, one that a wall stops chooses anew. */
#include "simulation/entity.h"
#include "simulation/match/match.h"
#include "simulation/npc.h"
#include "simulation/random.h"
#include "simulation/state.h"

/* Full speed towards the place of its herd, if it is too far from there. */
static void turn_home(struct sim_map *m, const struct sim_entity *e, struct sim_monster *monster)
{
	const struct sw_ground_herd *herd = &m->rules.ground->herds[monster->herd];
	int32_t dx = herd->x_mm - e->x_mm, dy = herd->y_mm - e->y_mm; /* below 2^25 */
	int32_t far = (dx < 0 ? -dx : dx) > (dy < 0 ? -dy : dy) ? (dx < 0 ? -dx : dx)
								: (dy < 0 ? -dy : dy);

	if (far <= (int32_t)herd->radius_mm || !sim_random_below(&m->random, 2))
		return;
	monster->dx = (int8_t)((int64_t)dx * 127 / far);
	monster->dy = (int8_t)((int64_t)dy * 127 / far);
}

static void monster_tick(struct sim_map *m, uint32_t i)
{
	struct sim_monster *monster = &m->monsters[i];
	uint32_t slot = m->player_slots + m->npc_slots + i, hz = m->config.tick_hz;
	int32_t x_mm, y_mm;

	if ((int32_t)(m->beat - monster->until_beat) >= 0) {
		monster->until_beat = m->beat + hz + sim_random_below(&m->random, 3 * hz + 1);
		if (sim_random_below(&m->random, 2)) {
			monster->dx = (int8_t)((int32_t)sim_random_below(&m->random, 255) - 127);
			monster->dy = (int8_t)((int32_t)sim_random_below(&m->random, 255) - 127);
		} else {
			monster->dx = monster->dy = 0;
		}
		if (monster->herd != SIM_NO_HERD)
			turn_home(m, &m->entities[slot], monster);
	} else if (!monster->dx && !monster->dy) {
		return; /* resting: it was told when it stopped */
	}
	if (!m->rules.ground) {
		sim_entity_walk(m, slot, SIM_MONSTER_MM_PER_S, monster->dx, monster->dy);
		return;
	}
	x_mm = m->entities[slot].x_mm;
	y_mm = m->entities[slot].y_mm;
	sim_entity_walk(m, slot, SIM_MONSTER_MM_PER_S, monster->dx, monster->dy);
	if ((monster->dx || monster->dy) && m->entities[slot].x_mm == x_mm &&
		m->entities[slot].y_mm == y_mm)
		monster->until_beat = m->beat + 1;
}

enum { MATCH, NPCS, MONSTERS };

bool sim_stage_actors(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	if (m->step == MATCH) {
		slice->left -= sim_match_tick(s, m);
		m->step = NPCS;
	}
	if (m->step == NPCS) {
		if (!sim_npc_ticks(s, m, slice))
			return false;
		m->step = MONSTERS;
		m->cursor = 0;
	}
	for (; m->cursor < m->monster_slots; m->cursor++) {
		if (slice->left <= 0)
			return false;
		monster_tick(m, m->cursor);
		slice->left -= SIM_COST_MONSTER + (m->rules.ground ? SIM_COST_WALLS : 0);
	}
	return true;
}
