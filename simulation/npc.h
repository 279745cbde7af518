/* npc: what the map's script makes of NPCs. Private to simulation; the shard's thread. */
#ifndef SW_SIMULATION_NPC_H
#define SW_SIMULATION_NPC_H

#include "simulation/state.h"

/* A player clicked an NPC. Returns whether its script ran well, or has no handler; adds to cost. */
bool sim_npc_click(
	struct sim_shard *s, struct sim_map *m, uint32_t npc, uint32_t player, uint32_t *cost);

/* Stage 6: the NPCs' ticks; resumable at m->cursor. */
bool sim_npc_ticks(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);

#endif
