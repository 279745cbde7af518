#include "simulation/npc.h"

bool sim_npc_click(
	struct sim_shard *s, struct sim_map *m, uint32_t npc, uint32_t player, uint32_t *cost)
{
	(void)s;
	(void)m;
	(void)npc;
	(void)player;
	(void)cost;
	return false;
}

bool sim_npc_ticks(struct sim_shard *s, struct sim_map *m, struct sim_slice *slice)
{
	(void)s;
	(void)m;
	(void)slice;
	return true;
}
