/* loot: what lies on the ground. Private to simulation; the shard's thread.
 *
 * Loot is an entity of its own kind with slots behind the monsters'. What a monster leaves may be
 * picked up by its owner alone for SIM_LOOT_OWNER_S, then by anybody; it lies there for SIM_LOOT_S,
 * and longer while somebody is picking it up. Picking up is a commit: the loot is reserved
 * meanwhile, so nobody gets it twice, and lies there again if the database refuses. What a player
 * drops is taken from the bag by a commit, and appears when that is done; its place on the ground
 * is reserved before. Where no place is free a drop of a monster is lost (counted), and a player's
 * refused. */
#ifndef SW_SIMULATION_LOOT_H
#define SW_SIMULATION_LOOT_H

#include "simulation/state.h"

#define SIM_LOOT_OWNER_S   10u
#define SIM_LOOT_S         60u
#define SIM_PICK_RANGE_MM  2500u
#define SIM_LOOT_BESIDE_MM 600 /* so far from the corpse, on each axis */

static inline uint32_t sim_loot_slot(const struct sim_map *m, uint32_t i)
{
	return m->player_slots + m->npc_slots + m->monster_slots + i;
}

/* Stage 5 or 6: what a monster of this kind leaves at its place; owner SIM_NONE: anybody's. */
void sim_loot_fall(struct sim_map *m, uint32_t monster_slot, const struct sim_monster_kind *kind,
	uint32_t owner);

/* Stage 6: so many of an item, one stack at most, beside what stands in the slot. false: there is no
 * place, or no such item. */
bool sim_loot_leave(
	struct sim_map *m, uint32_t slot, uint32_t item, uint32_t count, uint32_t owner);

/* Stage 5. Returns an ActionRefusal. */
uint32_t sim_loot_pick(struct sim_map *m, uint32_t player, uint32_t actor_id);

/* Stage 5. A place for what the player is about to drop where it stands; SIM_NONE: none is free. */
uint32_t sim_loot_reserve(
	struct sim_map *m, uint32_t player, uint32_t item, uint32_t count, uint64_t serial);
void sim_loot_release(struct sim_map *m, uint32_t i); /* the drop did not come about */

/* Stage 3: the commit about it was answered. */
void sim_loot_settled(struct sim_map *m, uint32_t i, bool ok, bool picking);

/* Stage 1: what fell appears. Resumable at m->cursor. */
bool sim_loot_appear(struct sim_map *m, struct sim_slice *slice);

/* Stage 1, once a second for each. Returns the cost. */
uint32_t sim_loot_second(struct sim_map *m, uint32_t i);

#endif
