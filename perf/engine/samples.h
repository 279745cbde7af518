/* samples.h: what the rounds of a benchmark inside one process say: CPU time of this thread, rounds
 * in which it had to wait for its CPU set aside, and a table, raw turns, a plot and the JSON object
 * of performance.md. One thread. */
#ifndef SW_PERF_ENGINE_SAMPLES_H
#define SW_PERF_ENGINE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLES_SIDES_MAX   5u
#define SAMPLES_ROUNDS_MAX  200u
#define SAMPLES_METRICS_MAX 8u

struct samples {
	const char *bench, *commit, *folder;
	const char *unit; /* of value */
	uint32_t sides, rounds, metrics;
	const char *side[SAMPLES_SIDES_MAX];
	double value[SAMPLES_SIDES_MAX][SAMPLES_ROUNDS_MAX]; /* of one turn */
	bool kept[SAMPLES_SIDES_MAX][SAMPLES_ROUNDS_MAX];
	struct {
		const char *name, *better;
		double median, low, high, target;
	} metric[SAMPLES_METRICS_MAX];
};

/* Arguments: commit and folder. This process goes first where it may (autogroup and nice -20). */
void samples_init(
	struct samples *samples, const char *bench, const char *unit, int argc, char **argv);

/* A turn may be measured in several pieces. */
struct samples_clock {
	uint64_t cpu_ns;                      /* of all pieces */
	uint64_t cpu_at, began_ns, waited_at; /* this piece's start; the first one's */
};
void samples_start(struct samples_clock *clock);
void samples_stop(struct samples_clock *clock);
/* Whether it waited for a CPU at most 2 % of the time since the first piece. */
bool samples_quiet(const struct samples_clock *clock);

/* Metrics from the kept rounds: one side's value over another's, or the value itself. */
void samples_ratio(struct samples *samples, const char *name, uint32_t side, uint32_t over,
	double target, const char *better);
void samples_value(struct samples *samples, const char *name, uint32_t side, double target,
	const char *better);
void samples_constant(
	struct samples *samples, const char *name, double value, double target, const char *better);

/* Files in folder; table and JSON on standard output. False: a file could not be written. */
bool samples_report(const struct samples *samples);

#endif
