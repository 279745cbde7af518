/* drive.h: runs a load for a time and says what came of it; once, or turn by turn as a benchmark
 * tells it on standard input. One thread. */
#ifndef SW_PERF_GEN_DRIVE_H
#define SW_PERF_GEN_DRIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "perf/gen/latency.h"

struct drive_totals {
	uint64_t sent, received, lost;
};

/* A load: what turns a loop, and what came of it. */
struct drive_load {
	void *ctx;
	bool (*connect)(void *ctx); /* all clients; false after it has said what went wrong */
	bool (*turn)(
		void *ctx, uint64_t now_ns); /* receive, answer, send; true: there was something */
	void (*send)(void *ctx, bool on, uint64_t now_ns); /* new messages, or only echoes */
	uint32_t (*out)(void *ctx);                        /* messages on their way */
	bool (*finished)(void *ctx);                       /* all that was asked for is sent */
	void (*totals)(void *ctx, struct drive_totals *totals);
	struct latency *(*latency)(void *ctx);
	void (*leave)(void *ctx); /* disconnects */
	void (*report)(void *ctx, FILE *out);
};

/* Ends whatever runs, from a signal handler too. */
void drive_stop(void);
bool drive_stopped(void);
/* A signal handler: what was counted so far is to be reported, and counting begins anew. */
void drive_mark(void);
/* Whether that was so, once for each time. */
bool drive_marked(void);

/* Connects, runs for seconds (0: until finished or stopped), leaves; figures go to stdout, a line
 * each stats_period_s. Returns the exit status. */
int drive_once(const struct drive_load *load, uint32_t seconds, uint32_t stats_period_s);

/* Commands on stdin, an answer each on stdout, until its end:
 *   connect            "connected", or "failed"
 *   run WARM-MS MS     "turn wall_ns N sent N received N lost N all N idle_ns N p50_ns N p99_ns N":
 *                      of the MS after the first WARM-MS; "all" is what was received from the
 *                      start of the turn to its end, when nothing is on its way any more
 *   leave              "left"
 * Between commands it sleeps in read. Returns the exit status. */
int drive_commands(const struct drive_load *load);

#endif
