/* view: who is in a player's view, and the ViewChange that tells it. Private to simulation; the
 * shard's thread.
 *
 * A player's known set (one bit an entity) is exactly what its client has been told. Normally it
 * follows the cells (interest.h), entity by entity, as they cross. Where more is near than fits its
 * share (crowded), the view is the nearest view_max of those, compared as a whole twice a second,
 * with hysteresis, so that what is in view can always be refreshed within a second. A change that
 * does not fit one message goes on in the next tick. */
#ifndef SW_SIMULATION_VIEW_H
#define SW_SIMULATION_VIEW_H

#include "simulation/state.h"

/* Most actors in this player's view: what two thirds of its updates refresh in a second at the
 * longest records, so that a third is left for the near and moving ones. */
uint32_t sim_view_max(
	const struct sim_shard *s, const struct sim_map *m, const struct sim_player *p);

/* Compares and tells; at most one message. Returns nominal cost. Stage 7, for a present player. */
uint32_t sim_view_step(struct sim_shard *s, struct sim_map *m, uint32_t slot);

/* Empties the known set of a player that leaves. */
void sim_view_forget(struct sim_map *m, uint32_t slot);

/* Makes everyone who sees the entity be told of it anew: its looks have arrived. */
void sim_view_renew(struct sim_map *m, uint32_t slot);

#endif
