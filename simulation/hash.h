/* hash: the state hash of a map: everything that decides what happens next on it. */
#ifndef SW_SIMULATION_HASH_H
#define SW_SIMULATION_HASH_H

#include <stdint.h>

struct sim_map;

/* Of the slots part, part + parts, part + 2 * parts, … of its tables, and of what the map is beside
 * them; (0, 1): of all. The shard's thread. */
uint64_t sim_hash_map(const struct sim_map *m, uint32_t part, uint32_t parts);

#endif
