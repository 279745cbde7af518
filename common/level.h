/* level: the one rule by which a character's level follows from its experience. Pure; any thread.
 *
 * The database has the same rule as character_level (control/world/migrations), and the test of the
 * world thread's commits compares the two: level L begins at 50 * L * (L - 1) experience (0, 100,
 * 300, 600, ...), and LEVEL_MAX is the last. */
#ifndef SW_COMMON_LEVEL_H
#define SW_COMMON_LEVEL_H

#include <stdint.h>

#define LEVEL_MAX 100u

/* The experience with which a level begins; level is 1..LEVEL_MAX. */
static inline int64_t level_begins(uint32_t level)
{
	return (int64_t)50 * level * (level - 1);
}

/* 1..LEVEL_MAX. */
static inline uint32_t level_of(int64_t experience)
{
	uint32_t low = 1, high = LEVEL_MAX;

	while (low < high) {
		uint32_t middle = (low + high + 1) / 2;

		if (experience >= level_begins(middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

#endif
