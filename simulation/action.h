/* action: what players do beyond walking. Private to simulation; the shard's thread, stage 5. */
#ifndef SW_SIMULATION_ACTION_H
#define SW_SIMULATION_ACTION_H

#include "simulation/state.h"

/* Does or refuses one action. Returns nominal cost. */
uint32_t sim_action_do(struct sim_shard *s, struct sim_map *m, const struct sim_action *action);

#endif
