/* combat: bodies, blows, death and coming back. Private to simulation; the shard's thread.
 *
 * Players strike when they say so, monsters by themselves (monster.h). A blow of whoever may strike
 * always hits; what it takes is rules/combat.h with the map's seeded random. Players attack
 * monsters, and players where the room's rule says so (sim_match.pvp). Nobody is attacked in a safe
 * zone, nor from one.
 *
 * Who hurts a monster first owns it: gold and loot are his, whoever ends it; with the owner gone
 * they are of whoever ends it. Experience, and that it counts for quests, are of all of his party
 * who are near (party.h). A monster that went home unhurt is nobody's again.
 *
 * The dead. A monster lies there to the end of the tick and vanishes in the next stage 1; it comes
 * back by the rule of its spawn. A player stays as a corpse, does nothing, and stands up at a spawn
 * of the map after SIM_PLAYER_BACK_S, whole. Nothing is lost by dying. */
#ifndef SW_SIMULATION_COMBAT_H
#define SW_SIMULATION_COMBAT_H

#include "simulation/state.h"

static inline bool sim_is_alive(const struct sim_map *m, uint32_t slot)
{
	return m->bodies[slot].health != 0;
}

static inline bool sim_is_player(const struct sim_map *m, uint32_t slot)
{
	return slot < m->player_slots;
}

static inline bool sim_is_monster(const struct sim_map *m, uint32_t slot)
{
	return slot >= m->player_slots + m->npc_slots &&
	       slot < m->player_slots + m->npc_slots + m->monster_slots;
}

/* The slot of a monster's handle, also of one that has died and vanished, until another one appears
 * in its slot; SIM_NONE: it is no monster's. */
static inline uint32_t sim_slot_of_monster(const struct sim_map *m, uint64_t handle)
{
	uint32_t slot = handle_index(handle);

	return sim_is_monster(m, slot) && sim_handle(m, slot) == handle ? slot : SIM_NONE;
}

static inline uint32_t sim_monster_of(const struct sim_map *m, uint32_t slot)
{
	return slot - m->player_slots - m->npc_slots;
}

/* A player's body as it is told before its details are there, and when they have come; heal: whole
 * again (live.h has what comes between). */
void sim_body_player(struct sim_map *m, uint32_t slot, bool heal);
void sim_body_monster(struct sim_map *m, uint32_t slot);

/* What an unhurt player mends in a second. */
uint32_t sim_mends(const struct sim_body *body);

/* A player attacks the actor in its view that it names. Returns an ActionRefusal. Stage 5. */
uint32_t sim_attack(struct sim_map *m, uint32_t slot, uint32_t actor_id);

/* attacker strikes target: hurts it by the rules, and may not strike again for its cooldown. The
 * caller has checked all the rest. Stages 5 and 6. */
void sim_strike(struct sim_map *m, uint32_t attacker, uint32_t target);

/* Takes damage from whoever can be hurt and is alive; attacker may be SIM_NONE. For match rules,
 * too. Stages 5 and 6. */
void sim_hurt(struct sim_map *m, uint32_t attacker, uint32_t target, uint32_t damage);

/* Stage 1: monsters that died, and loot that is gone, vanish. Resumable at m->cursor. */
bool sim_fallen(struct sim_map *m, struct sim_slice *slice);

/* Stage 1: who was dead long enough comes back, unhurt players mend, what they earned is asked for,
 * and what lay on the ground too long goes; each slot is looked at once a second. Resumable at
 * m->cursor, which begins at 0. */
bool sim_revive(struct sim_map *m, struct sim_slice *slice);

#endif
