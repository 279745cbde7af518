/* intent: changes of what lasts that a handler without the right to make them has asked for
 * (queue_intent), and what a fight's or quest's handler leaves without waiting. Private to
 * simulation; the shard's thread.
 *
 * They are queued in the tick, at most SIM_INTENTS_MAX on a map and SIM_INTENTS_PER_S a second
 * (with bursts of two seconds' worth), and asked of the database after it, one commit each. An
 * intent whose key is queued, under way, or was within SIM_INTENT_KEPT_S is refused as a repeat.
 * What cannot be asked now (another change of the same things, details that are being loaded, a
 * database that is away) is tried again for SIM_INTENT_TRY_S; what the player has not,
 * or has no room for, is given up at once. Who leaves the map ends what was not asked yet. All that
 * came to nothing is counted. */
#ifndef SW_SIMULATION_INTENT_H
#define SW_SIMULATION_INTENT_H

#include "common/commit.h"
#include "simulation/state.h"

#define SIM_INTENTS_PER_S 64u
#define SIM_INTENT_KEPT_S 10u
#define SIM_INTENT_TRY_S  30u

/* player: a slot. key "": of its own, never a repeat. */
enum script_intent sim_intend(struct sim_map *m, const char *key, uint32_t player,
	const struct script_change *changes, uint32_t count);

/* Stage 8: asks for those that are due. Resumable. */
bool sim_intents_ask(struct sim_map *m, struct sim_slice *slice);

/* Stage 3: the commit of intent number has been answered, or its player is gone. */
void sim_intent_answered(struct sim_map *m, uint32_t number, enum commit_result result);

#endif
