/* happening: what happens on a map that its script has handlers for (script/calls.h: monster,
 * quest, map_events, timer). Private to simulation; the shard's thread.
 *
 * Blows, deaths and joins happen inside of stages that cannot stop, and inside of handlers: they
 * are noted, in order, and their handlers run in stage 6 of this tick, as far as the tick's budget
 * for scripts goes, the rest in the next. A map without such handlers notes nothing. Where
 * SIM_HAPPENINGS_MAX wait, more are dropped and counted. */
#ifndef SW_SIMULATION_HAPPENING_H
#define SW_SIMULATION_HAPPENING_H

#include "simulation/script/calls.h"
#include "simulation/state.h"

/* Set-up, and when another script has taken the place of the map's: which handlers there are. What
 * waits was meant for the one before, and is forgotten. */
void sim_happenings_find(struct sim_map *m);

/* A player (slot) has hurt a monster; it dies; it is after him for another second. */
void sim_happens_fight(struct sim_map *m, enum script_handler handler, uint32_t monster_slot,
	uint32_t player, uint32_t damage);

/* The database has it that the player has begun (or completed) a quest. */
void sim_happens_quest(struct sim_map *m, uint32_t player, uint32_t quest, bool complete);

/* A player stands on the map, or is being taken off it. */
void sim_happens_enter(struct sim_map *m, uint32_t player);
void sim_happens_leave(struct sim_map *m, uint32_t player);

/* A handler of the room's rule: noted, or run at once. player: a slot, or SIM_NONE. */
void sim_happens_rule(
	struct sim_map *m, enum script_handler handler, uint32_t player, uint32_t number);
void sim_rule_run(struct sim_map *m, enum script_handler handler, uint32_t player, uint32_t number);

/* Stage 6: runs handlers and timers that are due. Resumable. */
bool sim_happenings_run(struct sim_map *m, struct sim_slice *slice);

#endif
