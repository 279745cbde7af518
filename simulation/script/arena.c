#include "simulation/script/arena.h"

#include <stdbool.h>
#include <string.h>

#include "common/check.h"

/* A block's head. Blocks lie at 8 mod 16, so that payloads are 16-byte aligned. The last block of
 * the region is an empty one in use: nothing merges past it. */
struct block {
	uint32_t prev;                 /* offset of the neighbour below, 0 for the first */
	uint32_t size;                 /* with the head, a multiple of 16; bit 0: in use */
	uint32_t next_free, prev_free; /* of a free block; the payload starts here */
};

#define HEAD_BYTES  8u
#define BLOCK_MIN   16u
#define IN_USE      1u
#define FIRST_BLOCK 8u

static struct block *at(const struct arena *arena, uint32_t offset)
{
	return (struct block *)(void *)(arena->base + offset);
}

static uint32_t offset_of(const struct arena *arena, const struct block *block)
{
	return (uint32_t)((const uint8_t *)block - arena->base);
}

static uint32_t block_bytes(const struct block *block)
{
	return block->size & ~IN_USE;
}

static struct block *above(const struct arena *arena, const struct block *block)
{
	return at(arena, offset_of(arena, block) + block_bytes(block));
}

/* The list that a block of this many bytes belongs to. */
static void list_of(uint32_t bytes, uint32_t *class, uint32_t *step)
{
	uint32_t units = bytes >> 4;

	if (units < ARENA_STEPS) {
		*class = 0;
		*step = units;
	} else {
		uint32_t shift = 31u - (uint32_t)__builtin_clz(units) - 4;

		*class = shift + 1;
		*step = (units >> shift) - ARENA_STEPS;
	}
}

static void list_add(struct arena *arena, struct block *block)
{
	uint32_t class, step, offset = offset_of(arena, block);

	list_of(block_bytes(block), &class, &step);
	block->prev_free = 0;
	block->next_free = arena->head[class][step];
	if (block->next_free)
		at(arena, block->next_free)->prev_free = offset;
	arena->head[class][step] = offset;
	arena->class_map |= 1u << class;
	arena->step_map[class] = (uint16_t)(arena->step_map[class] | 1u << step);
}

static void list_remove(struct arena *arena, struct block *block)
{
	if (block->next_free)
		at(arena, block->next_free)->prev_free = block->prev_free;
	if (block->prev_free) {
		at(arena, block->prev_free)->next_free = block->next_free;
	} else {
		uint32_t class, step;

		list_of(block_bytes(block), &class, &step);
		arena->head[class][step] = block->next_free;
		if (!block->next_free) {
			arena->step_map[class] = (uint16_t)(arena->step_map[class] & ~(1u << step));
			if (!arena->step_map[class])
				arena->class_map &= ~(1u << class);
		}
	}
}

/* Blocks looked at in the list of the wanted size before a larger one is cut: what is freed and
 * asked for again in one size would otherwise never be found again. */
#define SEARCH_BLOCKS 16

/* A free block of at least bytes, or NULL. Beyond its own list rounds up to the next one, whose
 * first block fits without a search. */
static struct block *find(const struct arena *arena, uint32_t bytes)
{
	uint32_t class, step, map, offset, units = bytes >> 4;

	list_of(bytes, &class, &step);
	offset = arena->head[class][step];
	for (int i = 0; offset && i < SEARCH_BLOCKS; i++) {
		if (block_bytes(at(arena, offset)) >= bytes)
			return at(arena, offset);
		offset = at(arena, offset)->next_free;
	}
	if (units >= ARENA_STEPS) {
		units += (1u << (31u - (uint32_t)__builtin_clz(units) - 4)) - 1;
		if (units >> 28)
			return NULL;
	}
	list_of(units << 4, &class, &step);
	map = arena->step_map[class] & (0xffffu << step);
	if (!map) {
		map = arena->class_map & (class + 1 < 32 ? ~0u << (class + 1) : 0);
		if (!map)
			return NULL;
		class = (uint32_t)__builtin_ctz(map);
		map = arena->step_map[class];
	}
	return at(arena, arena->head[class][__builtin_ctz(map)]);
}

/* Cuts block (in use, on no list) down to bytes; what is left joins the free lists. */
static void trim(struct arena *arena, struct block *block, uint32_t bytes)
{
	uint32_t rest_bytes = block_bytes(block) - bytes;
	struct block *rest, *next;

	if (rest_bytes < BLOCK_MIN)
		return;
	next = above(arena, block);
	block->size = bytes | IN_USE;
	rest = above(arena, block);
	rest->prev = offset_of(arena, block);
	if (!(next->size & IN_USE)) {
		list_remove(arena, next);
		rest_bytes += block_bytes(next);
		next = above(arena, next);
	}
	rest->size = rest_bytes;
	next->prev = offset_of(arena, rest);
	list_add(arena, rest);
}

static void count(struct arena *arena, uint32_t more, uint32_t less)
{
	arena->used_bytes += more - less;
	if (arena->used_bytes > arena->peak_bytes)
		arena->peak_bytes = arena->used_bytes;
}

/* Bytes of a block whose payload is this large; 0: more than any region has. */
static uint32_t bytes_for(size_t payload)
{
	return payload > 0xffff0000u ? 0 : ((uint32_t)payload + HEAD_BYTES + 15) & ~15u;
}

void arena_init(struct arena *arena, void *region, size_t bytes)
{
	struct block *first, *last;

	CHECK(((uintptr_t)region & 15) == 0 && (bytes & 15) == 0);
	CHECK(bytes >= 4096 && bytes <= 0xffff0000u);
	memset(arena, 0, sizeof(*arena));
	arena->base = region;
	arena->size_bytes = (uint32_t)bytes;
	first = at(arena, FIRST_BLOCK);
	first->prev = 0;
	first->size = (uint32_t)bytes - 16;
	last = above(arena, first);
	last->prev = FIRST_BLOCK;
	last->size = 0 | IN_USE;
	arena->used_bytes = arena->peak_bytes = 16;
	list_add(arena, first);
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	uint32_t size = bytes_for(bytes);
	struct block *block = size ? find(arena, size) : NULL;

	if (!block)
		return NULL;
	list_remove(arena, block);
	block->size |= IN_USE;
	trim(arena, block, size);
	count(arena, block_bytes(block), 0);
	return (uint8_t *)block + HEAD_BYTES;
}

void arena_free(struct arena *arena, void *memory)
{
	struct block *block = (struct block *)(void *)((uint8_t *)memory - HEAD_BYTES), *next;
	uint32_t bytes = block_bytes(block);

	DCHECK(block->size & IN_USE);
	count(arena, 0, bytes);
	next = above(arena, block);
	if (!(next->size & IN_USE)) {
		list_remove(arena, next);
		bytes += block_bytes(next);
	}
	if (block->prev && !(at(arena, block->prev)->size & IN_USE)) {
		block = at(arena, block->prev);
		list_remove(arena, block);
		bytes += block_bytes(block);
	}
	block->size = bytes;
	above(arena, block)->prev = offset_of(arena, block);
	list_add(arena, block);
}

void *arena_resize(struct arena *arena, void *memory, size_t bytes)
{
	struct block *block = (struct block *)(void *)((uint8_t *)memory - HEAD_BYTES), *next;
	uint32_t old = block_bytes(block), size = bytes_for(bytes);
	void *moved;

	if (!size)
		return NULL;
	next = above(arena, block);
	if (size > old && !(next->size & IN_USE) && old + block_bytes(next) >= size) {
		list_remove(arena, next);
		block->size += block_bytes(next);
		above(arena, block)->prev = offset_of(arena, block);
	}
	if (size <= block_bytes(block)) {
		trim(arena, block, size);
		count(arena, block_bytes(block), old);
		return memory;
	}
	moved = arena_alloc(arena, bytes);
	if (moved) {
		memcpy(moved, memory, old - HEAD_BYTES);
		arena_free(arena, memory);
	}
	return moved;
}

static bool listed(const struct arena *arena, const struct block *block)
{
	uint32_t class, step, offset;

	list_of(block_bytes(block), &class, &step);
	for (offset = arena->head[class][step]; offset; offset = at(arena, offset)->next_free)
		if (offset == offset_of(arena, block))
			return true;
	return false;
}

void arena_check(const struct arena *arena)
{
	uint32_t offset = FIRST_BLOCK, prev = 0, used = 16, free_blocks = 0, listed_blocks = 0;
	bool prev_free = false;

	while (offset < arena->size_bytes - 8) {
		const struct block *block = at(arena, offset);
		bool is_free = !(block->size & IN_USE);

		CHECK(block->prev == prev);
		CHECK(block_bytes(block) >= BLOCK_MIN && (block_bytes(block) & 15) == 0);
		CHECK(!(is_free && prev_free));
		if (is_free) {
			CHECK(listed(arena, block));
			free_blocks++;
		} else {
			used += block_bytes(block);
		}
		prev_free = is_free;
		prev = offset;
		offset += block_bytes(block);
	}
	CHECK(offset == arena->size_bytes - 8);
	CHECK(at(arena, offset)->prev == prev && at(arena, offset)->size == IN_USE);
	CHECK(used == arena->used_bytes && used <= arena->peak_bytes);
	for (uint32_t class = 0; class < ARENA_CLASSES; class ++) {
		CHECK(!(arena->class_map >> class & 1) == !arena->step_map[class]);
		for (uint32_t step = 0; step < ARENA_STEPS; step++) {
			uint32_t i = arena->head[class][step];

			CHECK(!(arena->step_map[class] >> step & 1) == !i);
			for (; i; i = at(arena, i)->next_free)
				listed_blocks++;
		}
	}
	CHECK(listed_blocks == free_blocks);
}
