/* trading: trade (trade/trade.h) between the players of a map: what they own, where they stand,
 * what they are told, and the commit of two. Private to simulation; the shard's thread.
 *
 * A trade's commit has a request like any other (commit.c), with a place beyond the map's own
 * commits. Who leaves while it is under way is waited for as with any commit. */
#ifndef SW_SIMULATION_TRADING_H
#define SW_SIMULATION_TRADING_H

#include "simulation/state.h"

/* Neither through walls (sim_reach). */
#define SIM_TRADE_REACH_MM 10000 /* to ask and to accept */
#define SIM_TRADE_LEASH_MM 15000 /* a trade ends beyond it */

/* Set-up. */
void sim_trades_init(struct sim_map *m, uint32_t idle_s);

/* Stage 5: a player's TradeRequest, TradeOffer, TradeConfirm or TradeCancel. Returns an
 * ActionRefusal, and adds to *cost. */
uint32_t sim_trade_do(struct sim_map *m, const struct sim_action *action, uint32_t *cost);

/* Stage 5, after all actions: time, distance, commits, and what the two are told. Resumable at
 * *cursor, which begins at m->trades.count. */
bool sim_trades_step(struct sim_map *m, uint32_t *cursor, struct sim_slice *slice);

/* Stage 1: the player is off the map; gone: and its slot is somebody else's from now on. */
void sim_trade_left(struct sim_map *m, uint32_t player, bool gone);

/* The ring's drain: an answer for the trade at that place. False: none waits for it. */
bool sim_trade_answered(struct sim_map *m, uint32_t place, const struct msg_commit_result *answer);

#endif
