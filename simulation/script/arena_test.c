/* Proves that the arena hands out disjoint, aligned memory, keeps its contents through growth,
 * never passes its region, and is one block again when all is freed: a random workload of Lua-like
 * sizes with the invariants checked throughout, and the exact edge of the region. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "simulation/script/arena.h"

#define SLOTS 512u

struct slot {
	uint8_t *memory;
	uint32_t bytes;
	uint8_t fill;
};

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

static uint32_t draw_bytes(void)
{
	return draw(50) == 0 ? 1 + draw(40000) : 1 + draw(draw(4) ? 64 : 1000);
}

static void check_fill(const struct slot *slot, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (slot->memory[i] != slot->fill)
			fail_msg("byte %u of a block of %u bytes changed", i, slot->bytes);
}

static void random_workload(void **unused)
{
	static struct slot slots[SLOTS];
	size_t bytes = 256 << 10;
	uint8_t *region = aligned_alloc(16, bytes);
	struct arena arena;
	uint32_t refused = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		state = seed;
		arena_init(&arena, region, bytes);
		for (uint32_t i = 0; i < 40000; i++) {
			struct slot *slot = &slots[draw(SLOTS)];
			uint32_t want = draw_bytes();

			if (!slot->memory) {
				slot->memory = arena_alloc(&arena, want);
			} else if (draw(3) == 0) {
				uint8_t *moved = arena_resize(&arena, slot->memory, want);

				if (!moved && want <= slot->bytes)
					fail_msg("seed %lu: shrinking failed", (unsigned long)seed);
				refused += !moved;
				if (!moved)
					continue;
				slot->memory = moved;
				check_fill(slot, want < slot->bytes ? want : slot->bytes);
			} else {
				check_fill(slot, slot->bytes);
				arena_free(&arena, slot->memory);
				slot->memory = NULL;
				continue;
			}
			refused += !slot->memory;
			if (!slot->memory)
				continue;
			assert_int_equal((uintptr_t)slot->memory & 15, 0);
			assert_true(
				slot->memory >= region && slot->memory + want <= region + bytes);
			slot->bytes = want;
			slot->fill = (uint8_t)draw(256);
			memset(slot->memory, slot->fill, want);
			if (i % 64 == 0)
				arena_check(&arena);
		}
		for (uint32_t i = 0; i < SLOTS; i++) {
			if (slots[i].memory)
				arena_free(&arena, slots[i].memory);
			slots[i].memory = NULL;
		}
		arena_check(&arena);
		assert_int_equal(arena.used_bytes, 16);
		assert_non_null(arena_alloc(&arena, bytes / 2)); /* one block again */
	}
	assert_true(refused > 100); /* the workload does reach the edge */
	free(region);
}

static void exact_edge(void **unused)
{
	size_t bytes = 4096;
	uint8_t *region = aligned_alloc(16, bytes);
	struct arena arena;
	void *memory;

	(void)unused;
	arena_init(&arena, region, bytes);
	assert_null(arena_alloc(&arena, bytes));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_alloc(&arena, 0xffffffffu));
	memory = arena_alloc(&arena, 100);
	memory = arena_resize(&arena, memory, bytes - 16 - 8); /* all but both edges */
	assert_non_null(memory);
	assert_int_equal(arena.used_bytes, arena.size_bytes);
	assert_null(arena_alloc(&arena, 1));
	assert_null(arena_resize(&arena, memory, bytes - 16 - 7));
	arena_check(&arena);
	arena_free(&arena, memory);
	arena_check(&arena);
	free(region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_workload),
		cmocka_unit_test(exact_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
