/* stormweir-config: checks a configuration file, or writes the reference page. */
#include <stdio.h>
#include <string.h>

#include "common/config.h"

static int check(const char *path)
{
	static struct sw_config config;

	if (sw_config_load(&config, path, stderr))
		return 1;
	printf("%s: fine: %u ports, %u dataplane lcores, %u shards, %u maps\n", path,
		config.port_count, config.dataplane.lcore_count, config.simulation.lcore_count,
		config.map_count);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--reference")) {
		sw_config_reference(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	if (argc == 3 && !strcmp(argv[1], "--check"))
		return check(argv[2]);
	fprintf(stderr,
		"usage: %s --reference     writes the reference page of all keys\n"
		"       %s --check FILE    checks a configuration; names every fault\n",
		argv[0], argv[0]);
	return 2;
}
