/* cards: what players choose in a match, told, and what it adds (game.h: struct sim_card). For
 * rules; the shard's thread, in a tick's stages. */
#ifndef SW_SIMULATION_MATCH_CARDS_H
#define SW_SIMULATION_MATCH_CARDS_H

#include "simulation/state.h"

/* Adds what the card (its place in the game's data) says to the player, until the match ends; all
 * together stay below what a body holds. Tells it CardTaken. Returns the cost. */
uint32_t sim_cards_take(
	struct sim_map *m, uint32_t slot, uint32_t offer, uint32_t card, bool by_default);

/* CardOffer: that offer's cards, for so long. Returns the cost. */
uint32_t sim_cards_offer(struct sim_map *m, uint32_t slot, uint32_t offer, const uint32_t *cards,
	uint32_t count, uint32_t left_ms);

#define SIM_CARDS_OFFERED 3u /* at most */

#endif
