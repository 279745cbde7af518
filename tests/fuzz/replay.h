/* replay: runs a fuzz target without a fuzzer, as a test: replay_main.c gives it every file of the
 * folders named as arguments, then what replay_made makes up. Proves that none of them breaks the
 * target's checks or, under asan, is read out of bounds. */
#ifndef SW_TESTS_FUZZ_REPLAY_H
#define SW_TESTS_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/* The target. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Written beside each target: gives it inputs that reach deep, all drawn from the seed. Returns how
 * many. */
uint32_t replay_made(uint64_t seed);

/* The next random number; state is never 0. */
static inline uint32_t replay_draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 32);
}

#endif
