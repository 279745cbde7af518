/* portal: players walk through the portals of a ground to another map of the node. Private to
 * simulation. sim_portals_new is the set-up thread's, the rest the shard's.
 *
 * A portal takes whoever walks into it, once: who arrives, comes back or stands up inside of one
 * has to step out before it takes him. Whom the other map did not take is back where he was, is
 * told so (ActionRefused of JOINED), and is taken by no portal for SIM_PORTAL_WAIT_S. */
#ifndef SW_SIMULATION_PORTAL_H
#define SW_SIMULATION_PORTAL_H

#include "simulation/state.h"

#define SIM_PORTAL_WAIT_S 5u

/* Where a portal leads, found once at set-up. */
struct sim_portal {
	const char *map;                     /* in the configuration */
	const struct sw_ground_spawn *spawn; /* of that map's ground; NULL: any */
};

/* The targets of map `index`'s portals, in their order. Sets *out to NULL where it has none. False
 * after saying in errors, a line each, which portal leads nowhere and what there is instead; or
 * without memory. */
bool sim_portals_new(const struct sw_config *config, struct sw_ground *const *grounds,
	uint32_t index, FILE *errors, struct sim_portal **out);

/* Stage 1: the player has come to where it stands without walking. */
void sim_portal_arrive(struct sim_map *m, uint32_t slot);

/* Stage 5: the player has walked a step. Returns whether it leaves for another map. */
bool sim_portal_step(struct sim_shard *s, struct sim_map *m, uint32_t slot);

/* Stage 1, after Joined: the map it was going to did not take it, for this sw_disconnect_reason. */
void sim_portal_turned_back(struct sim_shard *s, struct sim_map *m, uint32_t slot, uint32_t reason);

#endif
