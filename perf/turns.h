/* turns.h: what a benchmark's turns say: medians and spread of the quiet ones, and the ratio of two
 * servers that took turns. Writes to stdout; one thread. */
#ifndef SW_PERF_TURNS_H
#define SW_PERF_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#define TURNS_MAX 1000u

struct turn {
	double rate;   /* echoes per second */
	double cpu_ns; /* the server thread's CPU time per echo */
	double idle;   /* share of the time that the generator had nothing to do */
	double lost;   /* share of what was sent */
	double waited; /* for a CPU: the worse of server and generator */
	bool set_aside;
};

/* Rate, CPU time, and which side was the bottleneck, of one server's turns. */
void turns_report_one(const char *name, const struct turn *turns, uint32_t count);

/* The last line: one JSON object (performance.md), metrics vs_stock and cpu_vs_stock of the pairs
 * of turns that were both kept; no metrics when there were none. */
void turns_report_ratio(const struct turn *ours, const struct turn *reference, uint32_t count,
	const char *bench, const char *commit);

#endif
