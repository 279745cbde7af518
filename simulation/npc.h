/* npc: the map's script and its NPCs. Private to simulation.
 *
 * Handlers have no clock to be counted by, so each counts as SIM_COST_SCRIPT of the tick's budget
 * (simulation.script_tick), and one that the watchdog ended as its whole limit. Clicks and ticks
 * that find the budget spent wait for the next tick; NPC ticks then go on where they ended. */
#ifndef SW_SIMULATION_NPC_H
#define SW_SIMULATION_NPC_H

#include "simulation/state.h"

/* Set-up. Loads the map's script, if it has one: m->script, m->npc_slots. Returns 0, or -errno with
 * one line in error. */
int sim_npc_load(struct sim_map *m, const struct sw_config *config, const struct sim_links *links,
	char *error, size_t error_bytes);

/* Set-up, when the map's tables stand. Puts the NPCs on the map. Returns 0, or -EINVAL with a line
 * in error: an NPC that stands outside. */
int sim_npc_place(struct sim_map *m, char *error, size_t error_bytes);

/* The shard's thread. A player clicked an NPC. Returns whether its handler ran to the end (or there
 * is none); adds to *cost. */
bool sim_npc_click(struct sim_map *m, uint32_t npc, uint32_t player, uint32_t *cost);

/* Stage 6: the NPCs' ticks; resumable at m->cursor. */
bool sim_npc_ticks(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);

#endif
