/* update: the WorldUpdate of one observer. Private to simulation; the shard's thread, stage 8.
 *
 * Protobuf messages concatenate, so an update is a small header (tick, last input applied) and then
 * records that were encoded when their entity changed, as they lie in the cells' memory. If the
 * cells in sight hold more than fits, records are picked: the own one, then a share of the known
 * set in turn, so that all of it comes round within a second, then the nearest that changed. */
#ifndef SW_SIMULATION_UPDATE_H
#define SW_SIMULATION_UPDATE_H

#include "simulation/state.h"

/* Builds and sends; nothing is sent when nothing near changed and no input was applied. Returns
 * nominal cost. */
uint32_t sim_update_step(struct sim_shard *s, struct sim_map *m, uint32_t slot);

#endif
