/* bag: what a player does with its things. Private to simulation; the shard's thread, stage 5. Each
 * call returns an ActionRefusal; what is done is a commit (commit.h) and takes effect later. */
#ifndef SW_SIMULATION_BAG_H
#define SW_SIMULATION_BAG_H

#include "simulation/state.h"

/* Moves count (0: all) from a slot to another: to an empty one, onto a stack of the same item as
 * far as that goes, or, all of it, in exchange for what lies there. Slots of what is worn take what
 * is worn there. */
uint32_t sim_bag_move(
	struct sim_map *m, uint32_t player, uint32_t from, uint32_t to, uint32_t count);

/* Puts count (0: all) on the ground. */
uint32_t sim_bag_drop(struct sim_map *m, uint32_t player, uint32_t from, uint32_t count);

/* A slot of the bag that takes all of it: of the same item, or empty. SIM_NONE: there is none. */
uint32_t sim_bag_room(
	struct sim_map *m, uint32_t player, uint32_t item, uint32_t count, uint64_t serial);

/* Writes an Inventory of all slots; returns its end. At most SIM_INVENTORY_BYTES_MAX. */
#define SIM_INVENTORY_BYTES_MAX (COMMIT_SLOTS_MAX * 18u)
uint8_t *sim_bag_write(const struct sim_map *m, uint32_t player, uint8_t *at);

#endif
