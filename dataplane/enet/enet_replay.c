/* enet_replay.c: runs the fuzz target without a fuzzer: every file of the folder given as argument,
 * and random steps from SW_SEED. Proves that none of them breaks the target's checks or, under
 * asan, reads out of bounds. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_BYTES 4096
#define RANDOM_RUNS 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t input[INPUT_BYTES];

static uint32_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 32);
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
		char name[1024];
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		file = fopen(name, "rb");
		if (!file)
			continue;
		LLVMFuzzerTestOneInput(input, fread(input, 1, sizeof input, file));
		fclose(file);
		files++;
	}
	closedir(folder);
	return files;
}

/* Steps whose opcodes, clients and lengths are in range, so that they reach deep. */
static void random_run(uint64_t *state)
{
	size_t at = 0;

	while (at + 64 < sizeof input) {
		uint8_t count = (uint8_t)(draw(state) % 32);

		input[at++] = (uint8_t)(draw(state) % 10);
		input[at++] = (uint8_t)draw(state);
		input[at++] = count;
		for (; count; count--)
			input[at++] = (uint8_t)(draw(state) % 4 ? draw(state) % 8 : draw(state));
	}
	LLVMFuzzerTestOneInput(input, at);
}

int main(int argc, char **argv)
{
	const char *text = getenv("SW_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1, state = seed * 0x9e3779b97f4a7c15ull;
	unsigned files = argc > 1 ? replay_folder(argv[1]) : 0;

	printf("SW_SEED=%llu, %u files, %u random runs\n", (unsigned long long)seed, files,
		RANDOM_RUNS);
	for (int i = 0; i < RANDOM_RUNS; i++)
		random_run(&state);
	return 0;
}
