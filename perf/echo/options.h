/* options.h: the echo program's own options, after EAL's "--"; testpmd's spellings where they fit.
 */
#ifndef SW_PERF_ECHO_OPTIONS_H
#define SW_PERF_ECHO_OPTIONS_H

#include <stdio.h>

#include "common/config.h"
#include "perf/echo/benchmark.h"

/* Fills *config and *sessions from argv (argv[0] is skipped). Returns 0, 1 after --help was printed
 * to stdout, or -EINVAL after the fault was named on errors. */
int echo_options(struct sw_config *config, struct echo_benchmark *sessions, int argc, char **argv,
	FILE *errors);

#endif
