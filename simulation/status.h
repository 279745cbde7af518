/* status: what a player is told of itself (CharacterDetail, Inventory). Private to simulation; the
 * shard's thread. */
#ifndef SW_SIMULATION_STATUS_H
#define SW_SIMULATION_STATUS_H

#include "simulation/state.h"

/* Stage 3: the details have arrived: what follows from them, and the first CharacterDetail. */
void sim_status_arrived(struct sim_shard *s, struct sim_map *m, uint32_t slot);

/* Stage 8: what p->tell says is due. Returns the cost. */
uint32_t sim_status_tell(struct sim_shard *s, struct sim_map *m, uint32_t slot);

#endif
