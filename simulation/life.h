/* life: players come, owe messages, and go. Private to simulation; the shard's thread.
 *
 * free -> joining (slot taken at the ring drain) -> present (stage 1) -> leaving (stage 1) -> gone
 * -> free. A player's messages to other threads are bits in p->owed, tried until the rings take
 * them, in an order that others rely on: the route before Joined, the last save before
 * MSG_PLAYER_LEFT. */
#ifndef SW_SIMULATION_LIFE_H
#define SW_SIMULATION_LIFE_H

#include "simulation/state.h"

/* Ring drain. Takes a slot for an admitted player, or says why not: 0 or a sw_disconnect_reason. */
uint32_t sim_join_begin(struct sim_shard *s, uint64_t peer, const struct msg_player_join *join);

/* Marks a player as leaving; stage 1 does it. mode: enum msg_disconnect_mode. The first reason
 * stands. */
void sim_leave_want(struct sim_map *m, uint32_t slot, uint32_t reason, uint32_t mode);

/* The player of a peer. Returns its map and slot; NULL if there is none (late or foreign handle).
 */
struct sim_map *sim_seat_find(struct sim_shard *s, uint64_t peer, uint32_t *slot);
/* Fetches what an input of the peer's player reads, for one that is handled soon. */
void sim_seat_prefetch(struct sim_shard *s, uint64_t peer);

/* Stage 1: moves one player on as far as it gets. Returns whether it is settled; if not, it must be
 * looked at again next tick. */
bool sim_life_step(struct sim_shard *s, struct sim_map *m, uint32_t slot);

/* Tries to hand a position to the world thread; false: the ring is full. */
bool sim_save_push(struct sim_shard *s, struct sim_map *m, uint32_t slot, bool leaving);

#endif
