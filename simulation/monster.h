/* monster: what monsters do by themselves. Private to simulation; the shard's thread.
 *
 * A monster wanders: it rests or walks in a random direction for one to four seconds, by the same
 * rules as a player, slower. One of a herd that has strayed turns home half of the time (a wall may
 * stand between); on ground with walls, one that a wall stops chooses anew. Twice a second one with
 * sight looks for the nearest player that it can see, who is alive, whose details are there and who
 * is in no safe zone; that one it chases, and so it does with whoever hurts it. It strikes when
 * within its range. It goes straight where it sees the player, and around walls where it does not
 * (paths.h). It gives up when the player is gone, dead, safe or where no way leads, or it is
 * leash_mm from where it began; then it goes back there, hears and sees nothing on the way, and is
 * whole and nobody's when it arrives. One that does not get there within SIM_RETURN_S is put there.
 */
#ifndef SW_SIMULATION_MONSTER_H
#define SW_SIMULATION_MONSTER_H

#include "simulation/state.h"

/* Puts monster i on the map, whole, where its spawn's rule says. Stage 1, or set-up. Its herd and
 * kind are found at set-up, when first is set. */
void sim_monster_appear(struct sim_map *m, uint32_t i);
void sim_monster_first(struct sim_map *m, uint32_t i);

/* attacker has hurt it. */
void sim_monster_hurt(struct sim_map *m, uint32_t i, uint32_t attacker);

/* Goes after that player from now on. false: it is dead, on its way home, or that is no prey. */
bool sim_monster_chase(struct sim_map *m, uint32_t i, uint32_t player);

/* Stage 6. Returns the cost. */
uint32_t sim_monster_tick(struct sim_map *m, uint32_t i);

#endif
