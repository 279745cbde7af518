/* Stage 6: what has happened, as the map's script is told it; a room's match rule, NPCs and monsters. An NPC walks as its script's on_tick says; what
 * a monster does says monster.h. */
#include "simulation/deed.h"
#include "simulation/happening.h"
#include "simulation/match/match.h"
#include "simulation/monster.h"
#include "simulation/npc.h"
#include "simulation/paths.h"
#include "simulation/state.h"

enum { HAPPENINGS, ANNOUNCEMENTS, MATCH, NPCS, PATHS, MONSTERS };

bool sim_stage_actors(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	if (m->step == HAPPENINGS) {
		if (!sim_happenings_run(m, slice))
			return false;
		m->step = ANNOUNCEMENTS;
		m->cursor = 0;
	}
	if (m->step == ANNOUNCEMENTS) {
		if (!sim_announcements_tell(m, slice))
			return false;
		m->step = MATCH;
	}
	if (m->step == MATCH) {
		slice->left -= sim_match_tick(s, m) + sim_work_taken(m);
		m->step = NPCS;
		m->cursor = 0;
	}
	if (m->step == NPCS) {
		if (!sim_npc_ticks(s, m, slice))
			return false;
		m->step = PATHS;
		m->cursor = 0;
	}
	if (m->step == PATHS) {
		if (!sim_paths_make(m, slice))
			return false;
		m->step = MONSTERS;
		m->cursor = 0;
	}
	for (; m->cursor < m->monster_slots; m->cursor++) {
		if (slice->left <= 0)
			return false;
		slice->left -= sim_monster_tick(m, m->cursor) +
			       (m->rules.ground ? SIM_COST_WALLS : 0) + sim_work_taken(m);
	}
	return true;
}
