/* random.h: the simulation's generator (splitmix64: Steele, Lea, Flood 2014). Seeded, one per map.
 */
#ifndef SW_SIMULATION_RANDOM_H
#define SW_SIMULATION_RANDOM_H

#include <stdint.h>

static inline uint64_t sim_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* [0, below), below > 0; the bias of 2^-32 does not matter to a wandering monster. */
static inline uint32_t sim_random_below(uint64_t *state, uint32_t below)
{
	return (uint32_t)((sim_random(state) >> 32) * below >> 32);
}

#endif
