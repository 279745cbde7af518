/* transfer: a player goes to another map of the same node without a new connection: through a
 * portal, to a room, home from one. Private to simulation; the shard's thread.
 *
 *   shard A: off the map in stage 1; its place is saved; the route is given up, and
 *            MSG_ROUTE_END says that nothing of the peer is under way any more, either way
 *   A to control: MSG_PLAYER_TRANSFER; control chooses the instance, and puts another one in its
 *            place when that one refuses, in the end the map it came from
 *   control to shard B: MSG_PLAYER_JOIN, and from there on as any join: the route, then Joined
 *
 * What the client sends before it has heard Joined was meant for the map it has left. It is
 * refused: without a route by the dataplane, with one by shard B, as it names another stay. */
#ifndef SW_SIMULATION_TRANSFER_H
#define SW_SIMULATION_TRANSFER_H

#include "simulation/state.h"

struct sim_spawn {
	bool has_position; /* false: the map's spawn point */
	uint16_t heading;
	int32_t x_mm, y_mm;
};

/* Marks a player as leaving for a map of that name; "" goes back to where it came from. The map
 * need not be one of this shard, or exist: control decides. Returns false when the player is not
 * there, or leaves already. */
bool sim_player_transfer(
	struct sim_map *m, uint32_t slot, const char *map, const struct sim_spawn *spawn);

/* Inlet: the dataplane gave the peer's route up. */
void sim_transfer_route_ended(struct sim_shard *s, uint64_t peer);

/* Stage 1, for a transferring player that owes it. */
bool sim_transfer_unroute(struct sim_shard *s, const struct sim_player *p);
bool sim_transfer_tell(struct sim_shard *s, const struct sim_map *m, uint32_t slot);

#endif
