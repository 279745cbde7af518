/* events: the blows of a tick, told to those who see them. Private to simulation; the shard's
 * thread.
 *
 * A blow is kept in the tick in which it falls. In stage 7, when views have been told, each
 * observer gets those between actors of which he knows one at least, in one CombatEvents on the
 * channel of ViewChange: his own first, of the others SIM_EVENTS_TOLD in all. What is beyond that,
 * or beyond SIM_EVENTS_MAX on the map, is not told and counted: health is in the next blow, and in
 * ActorEnter. */
#ifndef SW_SIMULATION_EVENTS_H
#define SW_SIMULATION_EVENTS_H

#include "simulation/state.h"

/* Stages 5 and 6. target's health is what it has left. attacker may be SIM_NONE. */
void sim_event(struct sim_map *m, uint32_t attacker, uint32_t target, uint32_t damage);

/* Stage 7: sorts the tick's events by the cells their targets are in now. */
void sim_events_sort(struct sim_map *m);

/* Stage 7, after the observer's view. Returns the cost. */
uint32_t sim_events_tell(struct sim_shard *s, struct sim_map *m, uint32_t observer);

/* Stage 7, at its end: forgets the tick's events. */
void sim_events_clear(struct sim_map *m);

#endif
