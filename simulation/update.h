/* update: the WorldUpdate of one observer. Private to simulation; the shard's thread, stage 8.
 *
 * Protobuf messages concatenate, so an update is a small header (tick, last input applied) and then
 * records that were encoded when their entity changed, as they lie in the cells' memory. If the
 * cells in sight hold more than fits, records are picked: the own one, then those of the known
 * set that are told again in this tick, so that all come round within a second, then the nearest
 * that changed. */
#ifndef SW_SIMULATION_UPDATE_H
#define SW_SIMULATION_UPDATE_H

#include "simulation/state.h"

/* An entity at rest is told again within a second of the last time, in a tick of its class's own:
 * slot and beat are alike modulo this. */
static inline uint32_t sim_refresh_period(const struct sim_map *m)
{
	return m->config.tick_hz > 1 ? m->config.tick_hz - 1 : 1;
}

/* Whether this is that tick, by the entity's bit in known sets: map->classes is the period. */
static inline bool sim_refresh_due(const struct sim_map *m, uint32_t known_bit)
{
	uint32_t class_bits = m->class_words * 64;

	return known_bit - m->beat % m->classes * class_bits < class_bits;
}

/* Builds and sends; nothing is sent when nothing near changed and no input was applied. Returns
 * nominal cost. */
uint32_t sim_update_step(struct sim_shard *s, struct sim_map *m, uint32_t slot);

#endif
