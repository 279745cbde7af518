/* keep: what a click's handler asks to be kept (script.h: changes), turned into one commit. Private
 * to simulation; the shard's thread.
 *
 * All changes are checked against what the player has at this moment, as if done one after the
 * other, and become operations of one commit, which the database carries out whole or not at all
 * (R15). A handler's commit is the only one of its player: until it is answered, further clicks are
 * refused with BUSY, so that clicking again and again gets nothing twice. */
#ifndef SW_SIMULATION_KEEP_H
#define SW_SIMULATION_KEEP_H

#include "simulation/state.h"

/* npc and player are slots; npc SIM_NONE: no one gives or takes, so no reach is asked for. PENDING: asked; sim_dialogue_kept gets the answer with job. */
enum script_kept sim_keep(struct sim_map *m, uint32_t npc, uint32_t player,
	const struct script_change *changes, uint32_t count, uint32_t job);

/* The same for an intent, which may be one of several of a player; sim_intent_answered gets the
 * answer. */
enum script_kept sim_keep_intent(struct sim_map *m, uint32_t player,
	const struct script_change *changes, uint32_t count, uint32_t number);

/* How a quest stands, for a script. */
void sim_keep_quest(
	const struct sim_map *m, uint32_t player, uint32_t quest, struct script_quest *out);

#endif
