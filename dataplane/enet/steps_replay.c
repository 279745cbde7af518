/* Made-up inputs for engine_fuzz.c and range_coder_fuzz.c: steps whose opcodes, clients and lengths
 * are in range, so that they reach deep. */
#include "tests/fuzz/replay.h"

#define INPUT_BYTES 4096u
#define RUNS        200u

static void random_run(uint64_t *state)
{
	uint8_t input[INPUT_BYTES];
	size_t at = 0;

	while (at + 64 < sizeof(input)) {
		uint8_t count = (uint8_t)(replay_draw(state) % 32);

		input[at++] = (uint8_t)(replay_draw(state) % 10);
		input[at++] = (uint8_t)replay_draw(state);
		input[at++] = count;
		for (; count; count--)
			input[at++] = (uint8_t)(replay_draw(state) % 4 ? replay_draw(state) % 8
								       : replay_draw(state));
	}
	LLVMFuzzerTestOneInput(input, at);
}

uint32_t replay_made(uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15ull | 1;

	for (uint32_t i = 0; i < RUNS; i++)
		random_run(&state);
	return RUNS;
}
