/* What the map's script does as the rule of its room: functions of struct script_ops, whose ctx is
 * the map. Private to simulation; the shard's thread. */
#ifndef SW_SIMULATION_MATCH_SCRIPT_H
#define SW_SIMULATION_MATCH_SCRIPT_H

#include "simulation/state.h"

uint64_t sim_match_script_ms(void *ctx);
uint32_t sim_match_script_players(void *ctx, uint64_t players[SCRIPT_NEAR_MAX]);
bool sim_match_script_move(
	void *ctx, enum script_move move, uint64_t player, uint32_t what, int64_t amount);
bool sim_match_script_offer(void *ctx, uint64_t player, const uint32_t cards[SCRIPT_OFFER_MAX],
	uint32_t count, uint32_t seconds);

#endif
