/* random.h: splitmix64 (Steele, Lea, Flood 2014): the same seed decides the same. */
#ifndef SWC_BOT_RANDOM_H
#define SWC_BOT_RANDOM_H

#include <stdint.h>

static inline uint64_t bot_random(uint64_t *random)
{
	uint64_t z = (*random += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* 0 to below - 1. */
static inline uint32_t bot_random_below(uint64_t *random, uint32_t below)
{
	return (uint32_t)(bot_random(random) % below);
}

/* A stream of its own for each bot and purpose. */
static inline uint64_t bot_random_begin(uint64_t seed, uint32_t index)
{
	uint64_t random = seed;

	random = bot_random(&random) + index;
	bot_random(&random);
	return random;
}

#endif
