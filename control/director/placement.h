/* placement: which shard a new instance is put on. Pure; any thread. */
#ifndef SW_CONTROL_DIRECTOR_PLACEMENT_H
#define SW_CONTROL_DIRECTOR_PLACEMENT_H

#include <stdint.h>

/* What is known of a shard. */
struct placement_load {
	uint64_t load_permille; /* share of its time that ticks take, smoothed */
	uint64_t players;
	uint32_t instances; /* on it, or on their way to it */
};

/* Heat is the load and the share of players_max (of one shard) that is there, both in permille,
 * added up: the first says what is, the second what is likely to come when they all move. The
 * coolest shard is taken. Differences of less than PLACEMENT_STEP are noise; among equals it is the
 * one with fewest instances, so that several placed at once spread, and then the lowest number. The
 * same figures give the same shard. shards is at least 1. */
#define PLACEMENT_STEP 50u
uint32_t placement_coolest(
	const struct placement_load *loads, uint32_t shards, uint32_t players_max);

/* The heat of one shard, in steps. */
uint64_t placement_heat(const struct placement_load *load, uint32_t players_max);

#endif
