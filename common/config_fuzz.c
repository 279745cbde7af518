/* libFuzzer on the configuration loader: any file is either fine or refused with at least one line.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/check.h"
#include "common/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct sw_config config;
	char path[32], *said = NULL;
	size_t said_bytes;
	FILE *errors = open_memstream(&said, &said_bytes);
	int file = memfd_create("config", MFD_CLOEXEC), result;

	CHECK(errors && file >= 0 && write(file, data, bytes) == (ssize_t)bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	result = sw_config_load(&config, path, errors);
	fclose(errors);
	close(file);
	CHECK(result ? said_bytes > 0 && said[said_bytes - 1] == '\n' : said_bytes == 0);
	CHECK(result || (config.port_count && config.map_count && config.maps[0].tick_hz));
	CHECK(config.map_count <= CONFIG_MAPS_MAX && config.port_count <= CONFIG_PORTS_MAX);
	free(said);
	return 0;
}
