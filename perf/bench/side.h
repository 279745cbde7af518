/* side.h: one side of a benchmark: a server, and the load generator that drives it turn by turn
 * (perf/gen/drive.h). Between its turns the server is stopped and the generator sleeps, so that
 * neither takes CPU time from another side. One thread; children of this process. */
#ifndef SW_PERF_BENCH_SIDE_H
#define SW_PERF_BENCH_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define SIDES_MAX  4u
#define ROUNDS_MAX 1000u

struct turn {
	double rate;           /* messages per second */
	double cpu_ns;         /* the server's CPU time per message */
	double idle;           /* share of the time that the generator had nothing to do */
	double lost;           /* share of what was sent */
	double waited;         /* share of the time that a thread waited for a CPU; the worst */
	double p50_ns, p99_ns; /* round trip, where the generator measures it; else 0 */
	bool kept;
};

struct side {
	const char *name, *server, *generator, *ready; /* ready: what the server's log says then */
	double target; /* of the first side's rate over this one's */
	pid_t server_pid, generator_pid;
	FILE *to, *from; /* the generator's */
	int server_in;   /* held open: testpmd ends with its standard input */
	struct turn turns[ROUNDS_MAX];
};

struct side_cpus {
	int server, generator;
};

/* Starts server and generator, logs in folder/NAME.server and folder/NAME.generator, connects all
 * clients and stops the server. False after it has said what went wrong; side_end may be called. */
bool side_start(struct side *side, const char *folder, struct side_cpus cpus);

/* One turn of ms, after warm_ms. False: a process ended. */
bool side_turn(
	struct side *side, uint32_t warm_ms, uint32_t ms, double wait_max, struct turn *turn);

/* Clients leave, the server ends (SIGINT; it must exit 0), then the generator: a memif port must
 * not lose its far end while it is polled. False after it has said what ended badly. */
bool side_end(struct side *side);

#endif
