/* deed: what a map's script does beside talking and walking NPCs: shouts, announcements, fights,
 * who is near. The functions are those of struct script_ops (script/script.h), which says what they
 * do; their ctx is the map. Private to simulation; the shard's thread. */
#ifndef SW_SIMULATION_DEED_H
#define SW_SIMULATION_DEED_H

#include "simulation/state.h"

uint32_t sim_deed_shout(void *ctx, uint64_t actor, const char *text, uint32_t bytes);
uint32_t sim_deed_near(void *ctx, uint64_t actor, uint32_t mm, uint64_t players[SCRIPT_NEAR_MAX]);
bool sim_deed_do(void *ctx, enum script_deed deed, uint64_t monster, uint64_t player, uint32_t what,
	int64_t amount);

/* An announcement waits for its turn, SIM_ANNOUNCEMENTS of them at most. */
bool sim_deed_announce(void *ctx, const char *text, uint32_t bytes);

/* Stage 6: tells the first announcement to some more of the players. Resumable. */
bool sim_announcements_tell(struct sim_map *m, struct sim_slice *slice);

#endif
