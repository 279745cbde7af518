/* arena: an allocator on one fixed region, for one thread. Two-level segregated fit: "TLSF: a New
 * Dynamic Memory Allocator for Real-Time Systems" (Masmano, Ripoll, Crespo, Real; ECRTS 2004).
 * Allocate, free and grow are O(1) but for the copy; neighbours merge at once, so a region that is
 * free again is one block again. Written here because no packaged allocator takes a caller's region
 * and keeps an exact count of it.
 *
 * A block costs 8 bytes beside its payload; payloads are 24, 40, 56 ... bytes, 16-byte aligned:
 * the sizes of Lua's objects. */
#ifndef SW_SIMULATION_SCRIPT_ARENA_H
#define SW_SIMULATION_SCRIPT_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define ARENA_CLASSES 26u /* powers of two of 16-byte units: up to 4 GiB */
#define ARENA_STEPS   16u /* sizes within one power of two */

struct arena {
	uint8_t *base; /* offsets of 32 bits count from here */
	uint32_t size_bytes;
	uint32_t used_bytes; /* blocks in use, with their heads; never above size_bytes */
	uint32_t peak_bytes;
	uint32_t class_map;
	uint16_t step_map[ARENA_CLASSES];
	uint32_t head[ARENA_CLASSES][ARENA_STEPS]; /* free lists, 0: empty */
};

/* Makes region (16-byte aligned, a multiple of 16, below 4 GiB, at least 4 KiB) one free block. The
 * caller keeps the region and gives it to nobody else. */
void arena_init(struct arena *arena, void *region, size_t bytes);

/* bytes > 0. Returns 16-byte aligned memory, or NULL when no free block is large enough. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* Takes back what arena_alloc or arena_resize returned. */
void arena_free(struct arena *arena, void *memory);

/* Grows or shrinks memory to bytes (> 0), in place where the neighbour allows. On NULL the old
 * block stands; shrinking never fails. */
void *arena_resize(struct arena *arena, void *memory, size_t bytes);

/* Walks the region and CHECKs every invariant: sizes, neighbours, lists, counts. For tests. */
void arena_check(const struct arena *arena);

#endif
