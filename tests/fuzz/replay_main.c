#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/replay.h"

#define FILE_BYTES_MAX (1u << 20)

/* The input ends where its allocation ends, so that asan sees each byte too far. */
static void replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(FILE_BYTES_MAX), *input;
	size_t n;

	if (!file || !bytes) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(1);
	}
	n = fread(bytes, 1, FILE_BYTES_MAX, file);
	fclose(file);
	input = realloc(bytes, n ? n : 1);
	LLVMFuzzerTestOneInput(input, n);
	free(input);
}

static uint32_t replay_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	uint32_t files = 0;

	while (folder && (entry = readdir(folder))) {
		char name[1024];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		replay_file(name);
		files++;
	}
	if (folder)
		closedir(folder);
	if (!files) {
		fprintf(stderr, "%s: no folder with inputs\n", path);
		exit(1);
	}
	return files;
}

int main(int argc, char **argv)
{
	const char *text = getenv("SW_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
	uint32_t files = 0;

	for (int i = 1; i < argc; i++)
		files += replay_folder(argv[i]);
	/* Before the rest, which may break a check. */
	printf("SW_SEED=%llu, %u files\n", (unsigned long long)seed, files);
	fflush(stdout);
	printf("%u made-up inputs: all safe\n", replay_made(seed));
	return 0;
}
