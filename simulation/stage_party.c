/* Stage 4: party events. There are no parties in this version and no message that carries their
 * events, so there is nothing to drain; the stage is timed like the others and takes its queue when
 * parties come. */
#include "simulation/state.h"

bool sim_stage_party(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	(void)s;
	(void)m;
	(void)slice;
	return true;
}
