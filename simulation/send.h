/* send: what a shard sends to the dataplane. Private to simulation; the shard's thread.
 *
 * Reliable messages that a full ring does not take wait in the shard's bounded queue of that
 * worker, in order; unreliable ones are dropped and counted. A player that has more than
 * SIM_RELIABLE_SLOTS_MAX slots waiting, or whose message does not fit the queue, is disconnected
 * with reason SLOW: what cannot be kept may not be promised. */
#ifndef SW_SIMULATION_SEND_H
#define SW_SIMULATION_SEND_H

#include "simulation/state.h"

/* Starts a message to the player's peer in the shard's scratch memory: returns where the bytes
 * after the type byte go; there is room for MSG_PAYLOAD_MAX - 1. */
uint8_t *sim_send_begin(struct sim_shard *s, enum sw_message_type type);

/* Sends what was begun, `bytes` without the type byte. Returns false if a player had to be
 * disconnected for it. */
bool sim_send_reliable(
	struct sim_shard *s, struct sim_map *m, uint32_t slot, uint8_t channel, uint32_t bytes);
bool sim_send_unreliable(
	struct sim_shard *s, struct sim_map *m, uint32_t slot, uint8_t channel, uint32_t bytes);

/* A route or a disconnect: pushed behind everything that waits, or not at all (false: owed). */
bool sim_send_order(struct sim_shard *s, const struct msg *message);

/* Whether reliable messages to the player's worker wait; new view changes are held back then. */
bool sim_send_blocked(const struct sim_shard *s, const struct sim_player *p);

/* Moves what waits into the rings. Returns whether anything moved. */
bool sim_send_retry(struct sim_shard *s);

/* ActionRefused, at most SIM_REFUSALS_PER_TICK a player and tick. */
void sim_send_refused(
	struct sim_shard *s, struct sim_map *m, uint32_t slot, uint32_t action, uint32_t reason);

/* A rare event for the log thread; lost and counted when its ring is full. */
void sim_log(struct sim_shard *s, uint32_t event, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

#endif
