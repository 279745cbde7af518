#include "control/director/placement.h"

uint64_t placement_heat(const struct placement_load *load, uint32_t players_max)
{
	uint64_t full = players_max ? load->players * 1000 / players_max : 0;

	return (load->load_permille + full) / PLACEMENT_STEP;
}

uint32_t placement_coolest(
	const struct placement_load *loads, uint32_t shards, uint32_t players_max)
{
	uint32_t best = 0;

	for (uint32_t s = 1; s < shards; s++) {
		uint64_t heat = placement_heat(&loads[s], players_max);
		uint64_t least = placement_heat(&loads[best], players_max);

		if (heat < least || (heat == least && loads[s].instances < loads[best].instances))
			best = s;
	}
	return best;
}
