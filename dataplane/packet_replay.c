/* Made-up inputs for packet_fuzz.c: every frame of the table, whole and with seeded damage. */
#include "dataplane/packet_frames.h"
#include "tests/fuzz/replay.h"

#define TURNS 2000u

uint32_t replay_made(uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15ull | 1;

	for (size_t i = 0; i < FRAME_CASES; i++) {
		for (unsigned turn = 0; turn < TURNS; turn++) {
			uint8_t input[1 + FRAME_BYTES_MAX];
			struct packet_frame frame;
			unsigned damage = turn ? replay_draw(&state) % 5 : 0;

			frame_build(&frame_cases[i], input + 1, &frame);
			input[0] = (uint8_t)replay_draw(&state);
			while (damage--)
				input[1 + replay_draw(&state) % frame.bytes] =
					(uint8_t)replay_draw(&state);
			if (turn && replay_draw(&state) % 4 == 0)
				frame.bytes = replay_draw(&state) % (frame.bytes + 1);
			LLVMFuzzerTestOneInput(input, 1 + frame.bytes);
		}
	}
	return (uint32_t)FRAME_CASES * TURNS;
}
