/* map64: 64-bit keys to 32-bit values, open addressing, a fixed size. Not 0 as key.
 * Pure; one thread. */
#ifndef SW_CONTROL_ADMISSION_MAP64_H
#define SW_CONTROL_ADMISSION_MAP64_H

#include <stdbool.h>
#include <stdint.h>

#define MAP64_NONE UINT32_MAX

struct map64_slot {
	uint64_t key; /* 0: free */
	uint32_t value;
};

struct map64 {
	struct map64_slot *slots;
	uint32_t mask, count, count_max;
};

/* Room for count_max keys. Returns false when memory is short. */
bool map64_init(struct map64 *map, uint32_t count_max);
void map64_fini(struct map64 *map);

/* MAP64_NONE when the key is not there. */
uint32_t map64_get(const struct map64 *map, uint64_t key);
/* Adds or replaces. Returns false, and does nothing, when it is full or the key is 0. */
bool map64_put(struct map64 *map, uint64_t key, uint32_t value);
void map64_remove(struct map64 *map, uint64_t key);

#endif
