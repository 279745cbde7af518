/* reload: versions of a map's script, from the shard's side. Private to simulation.
 *
 * The builder makes a VM of the new version beside the running one (instance_script.c); control orders
 * the shard to take it (MSG_SCRIPT_ORDER). At the beginning of a tick then
 * - what NPCs keep in their storage, and timers, go over (script_vm_hand_over); if the new version
 *   cannot take that, the old one runs on, and control is told why;
 * - NPCs that both versions declare alike stay where they stand; one that is declared with another
 *   place or look leaves and comes, as do those that only one has. An on_tick that was suspended ends,
 *   and what happened on the map and has not been told to the old version is told to none;
 * - dialogues go on in the version in which they began, which lives on for them, until one more
 *   version is ordered: then they end. So a dialogue outlives one reload, and a question a minute.
 *
 * For SIM_RELOAD_WATCH_S after that the one before comes back by itself when SIM_RELOAD_FAILURES or
 * more of the new version's handlers have failed, and simulation.script_failures percent of what
 * ran. Then nothing is handed over: what the failing version did to it is not to be trusted. */
#ifndef SW_SIMULATION_RELOAD_H
#define SW_SIMULATION_RELOAD_H

#include "simulation/state.h"

#define SIM_RELOAD_WATCH_S  60u
#define SIM_RELOAD_FAILURES 5u

/* The VM that a handler's job runs on; it is there as long as the job. */
static inline struct script_vm *sim_reload_vm(const struct sim_map *m, uint32_t job)
{
	return m->reload.vm[!!(job & SCRIPT_JOB_SIDE)];
}

/* The shard's thread, all of these. MSG_SCRIPT_ORDER. */
void sim_reload_order(struct sim_shard *s, const struct msg *message);

/* The shard takes the map over: with the version that its definition has by now. */
void sim_reload_open(struct sim_map *m);

/* Stage 1, first. Does what was ordered, and looks whether the version before must come back. */
void sim_reload_tick(struct sim_shard *s, struct sim_map *m);

#endif
