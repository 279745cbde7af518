/* handle.h: 64-bit handles, index plus generation, so that a late message to a closed session, a
 * departed peer or a dead entity is recognised and dropped.
 *
 *   bits  0..31  index into the owner's table
 *   bits 32..55  generation, 1..2^24-1 (0 never occurs, so the handle 0 names nothing)
 *   bits 56..63  owner: the dataplane worker or shard whose table it is
 *
 * Plain values; any thread. */
#ifndef SW_COMMON_HANDLE_H
#define SW_COMMON_HANDLE_H

#include <stdint.h>

#define HANDLE_NONE 0ull
#define HANDLE_GENERATION_MASK 0xffffffu

static inline uint64_t handle_make(uint32_t owner, uint32_t generation, uint32_t index)
{
	return (uint64_t)(owner & 0xffu) << 56 |
	       (uint64_t)(generation & HANDLE_GENERATION_MASK) << 32 | index;
}

static inline uint32_t handle_index(uint64_t handle)
{
	return (uint32_t)handle;
}

static inline uint32_t handle_generation(uint64_t handle)
{
	return (uint32_t)(handle >> 32) & HANDLE_GENERATION_MASK;
}

static inline uint32_t handle_owner(uint64_t handle)
{
	return (uint32_t)(handle >> 56);
}

/* The generation after this one; skips 0. */
static inline uint32_t handle_generation_next(uint32_t generation)
{
	generation = (generation + 1) & HANDLE_GENERATION_MASK;
	return generation ? generation : 1;
}

#endif
