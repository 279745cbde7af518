/* report.h: what the turns of a benchmark say: a table, a plot, the raw turns, and the one JSON
 * object of performance.md. One thread. */
#ifndef SW_PERF_BENCH_REPORT_H
#define SW_PERF_BENCH_REPORT_H

#include "perf/bench/side.h"

struct report {
	const char *bench, *commit, *folder;
	struct side *sides; /* the first is ours */
	uint32_t side_count, rounds;
};

/* Rounds in which the turns of the first side and of the other were both kept. */
uint32_t report_pairs(const struct report *report, uint32_t other);

/* folder/turns.tsv: a line a turn. False: the file could not be written, and stderr says so. */
bool report_raw(const struct report *report);
/* folder/plot.svg: messages/s over rounds, a colour a side; turns set aside are hollow. */
bool report_plot(const struct report *report);
/* stdout. */
void report_table(const struct report *report);
/* stdout, one line: vs_NAME for each other side. */
void report_json(const struct report *report);

#endif
