/* Replays the fuzz target without a fuzzer: every frame of the table, each with seeded damage, and
 * every file of the folder given as argument. Proves that none of them is read out of bounds (under
 * asan) or breaks the target's checks. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "dataplane/packet_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static unsigned replay_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	unsigned files = 0;

	if (!folder) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(1);
	}
	while ((entry = readdir(folder))) {
		char name[512];
		uint8_t bytes[4096];
		size_t n;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		file = fopen(name, "rb");
		if (!file)
			continue;
		n = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		LLVMFuzzerTestOneInput(bytes, n);
		files++;
	}
	closedir(folder);
	return files;
}

int main(int argc, char **argv)
{
	uint64_t seed = 0x9e3779b97f4a7c15ull, state = seed;
	unsigned long inputs = 0;

	for (size_t i = 0; i < FRAME_CASES; i++) {
		for (unsigned turn = 0; turn < 2000; turn++) {
			uint8_t input[1 + FRAME_BYTES_MAX];
			struct packet_frame frame;
			unsigned damage = turn ? (unsigned)(next(&state) % 5) : 0;

			frame_build(&frame_cases[i], input + 1, &frame);
			input[0] = (uint8_t)next(&state);
			while (damage--)
				input[1 + next(&state) % frame.bytes] = (uint8_t)next(&state);
			if (turn && next(&state) % 4 == 0)
				frame.bytes = (uint32_t)(next(&state) % (frame.bytes + 1));
			LLVMFuzzerTestOneInput(input, 1 + frame.bytes);
			inputs++;
		}
	}
	printf("seed %#llx, %lu damaged frames, %u files: all safe\n", (unsigned long long)seed,
		inputs, argc > 1 ? replay_folder(argv[1]) : 0);
	return 0;
}
