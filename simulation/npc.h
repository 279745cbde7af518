/* npc: the map's script and its NPCs. Private to simulation.
 *
 * Handlers have no clock to be counted by, so each counts as SIM_COST_SCRIPT or _TICK of the tick's
 * budget (simulation.script_tick), and one that the watchdog stopped as its whole slice. Where that
 * is too little, the watchdog, which adds up what it sees running, says that the budget is spent. Clicks and ticks
 * that find it spent wait for the next tick; NPC ticks then go on where they ended. What was taken too
 * much is taken from the next ticks, what is left over is added to the next one. An NPC that took
 * more than its share rests. */
#ifndef SW_SIMULATION_NPC_H
#define SW_SIMULATION_NPC_H

#include "simulation/state.h"

struct sim_npc_script {
	const char *path, *text; /* path for messages only */
	size_t bytes;
	uint32_t version;
	bool side;
	uint32_t vms_before;
	uint32_t memory_bytes;
	void *region;               /* memory_bytes, see script_config */
	_Atomic uint64_t *counters; /* likewise */
	struct script_watchdog *watchdog;
};

/* The builder. Makes a VM of the map and loads its script. Returns 0 and *vm, or -errno with a line
 * and a traceback in error: then *vm is still to be freed, unless it is NULL. */
int sim_npc_load(struct sim_map *m, const struct sim_npc_script *from, struct script_vm **vm,
	char *error, size_t error_bytes);

/* The builder. Whether all NPCs of the VM can stand where they are declared: 0, or -EINVAL with a line
 * in error. */
int sim_npc_check(
	const struct sim_map *m, const struct script_vm *vm, char *error, size_t error_bytes);

/* Places for a map's NPCs: some more than it has, for other versions of its script. */
uint32_t sim_npc_slots(uint32_t declared);

/* The builder, when the map's tables stand. Puts the NPCs on the map. */
void sim_npc_place(struct sim_map *m);

/* Stage 1, when m->reload.coming: those that can appear do. */
void sim_npc_appear(struct sim_map *m);

/* Longest rest of an NPC whose on_tick took more than its share. */
#define SIM_SCRIPT_REST_S 10

/* The shard's thread. A click's handler ran or went on: what it took of the tick's budget is
 * counted, and the player's job is known if it was suspended. Returns whether all is well with it.
 */
bool sim_npc_result(
	struct sim_map *m, uint32_t player, uint32_t job, enum script_result result);

/* The same of an event's handler; player: whom it was called for, SIM_NONE: nobody. */
void sim_npc_event(struct sim_map *m, enum script_context context, uint32_t player,
	enum script_result result);

/* Whether the tick's budget is spent: what else there is waits for the next one. */
bool sim_npc_spent(struct sim_map *m);

/* The shard's thread. A player clicked an NPC. Returns an ActionRefusal; adds to *cost. */
uint32_t sim_npc_click(struct sim_map *m, uint32_t npc, uint32_t player, uint32_t *cost);

/* Stage 6: the NPCs' ticks; resumable at m->cursor. */
bool sim_npc_ticks(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice);

#endif
