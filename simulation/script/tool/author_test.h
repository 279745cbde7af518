/* author_test: runs authors' tests of content: Lua files of their own, in a stock Lua, that play
 * with a mock map (mock.h). docs/content.md says what a test may use. Tools only; one thread. */
#ifndef SW_SIMULATION_SCRIPT_TOOL_AUTHOR_TEST_H
#define SW_SIMULATION_SCRIPT_TOOL_AUTHOR_TEST_H

#include <stdint.h>
#include <stdio.h>

#include "simulation/script/tool/mock.h"

struct author_tests {
	const struct script_config *config;
	const struct sim_game *game;
	FILE *out;
	uint32_t ran, failed;
};

/* Runs a file's tests, each on a map of its own; a line each in the manner of TAP, and what was
 * wrong. Counts into tests; a file that cannot be run is a test that failed. */
void author_tests_run(struct author_tests *tests, const char *path);

#endif
