#include "control/admission/pb_arena.h"

static void *arena_alloc(void *data, size_t bytes)
{
	struct pb_arena *arena = data;
	size_t rounded = (bytes + 15) & ~(size_t)15;
	void *at = arena->memory + arena->used;

	if (rounded < bytes || rounded > sizeof(arena->memory) - arena->used)
		return NULL;
	arena->used += rounded;
	return at;
}

static void arena_free(void *data, void *pointer)
{
	(void)data;
	(void)pointer;
}

ProtobufCAllocator *pb_arena_init(struct pb_arena *arena)
{
	arena->allocator = (ProtobufCAllocator){arena_alloc, arena_free, arena};
	arena->used = 0;
	return &arena->allocator;
}
