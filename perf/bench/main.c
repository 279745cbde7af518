/* stormweir-bench: servers that take turns under load, and what one is worth in units of the
 * others.
 *
 *   stormweir-bench --bench W1 --commit ID --out FOLDER \
 *       --side ours --server COMMAND --ready TEXT --generator COMMAND \
 *       --side stock=30 --server COMMAND --ready TEXT --generator COMMAND ...
 *
 * The first side is ours; NAME=TARGET is what its rate should be in units of the other's. Each
 * round gives every side one turn of --turn-ms (200) after --warm-ms (10). A turn in which a thread
 * waited for a CPU more than --wait-max (2) percent of the time is set aside; rounds go on until
 * --pairs (30) rounds are quiet for every ratio, at most --rounds-max (150).
 *
 * Everything runs in a session of its own whose scheduling group comes first (autogroup -20, and
 * nice -20), where permitted. FOLDER gets logs, turns.tsv and plot.svg; the last line on stdout is
 * one JSON object. SIGINT: ends everything. Exit status 3: a side did not start. */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "perf/bench/report.h"

#define EXIT_NOT_STARTED 3

static struct {
	struct report report;
	struct side sides[SIDES_MAX];
	struct side_cpus cpus;
	uint32_t turn_ms, warm_ms, pairs, rounds_max;
	double wait_max;
} run = {.report = {.bench = "bench", .commit = "unknown"},
	.cpus = {0, 1},
	.turn_ms = 200,
	.warm_ms = 10,
	.pairs = 30,
	.rounds_max = 150,
	.wait_max = 0.02};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void come_first(void)
{
	FILE *file;

	setsid();
	file = fopen("/proc/self/autogroup", "w");
	if (file) {
		fprintf(file, "-20\n");
		fclose(file);
	}
	setpriority(PRIO_PROCESS, 0, -20);
}

static bool number(const char *name, long low, long high, long *out)
{
	char *end;

	*out = strtol(optarg, &end, 10);
	if (end != optarg && !*end && *out >= low && *out <= high)
		return true;
	fprintf(stderr, "bench: --%s %s: allowed are %ld to %ld\n", name, optarg, low, high);
	return false;
}

static bool add_side(void)
{
	struct side *side = &run.sides[run.report.side_count];
	char *target = strchr(optarg, '=');

	if (run.report.side_count == SIDES_MAX) {
		fprintf(stderr, "bench: at most %u sides\n", SIDES_MAX);
		return false;
	}
	if (target) {
		*target = 0;
		side->target = atof(target + 1);
	}
	side->name = optarg;
	run.report.side_count++;
	return true;
}

static bool apply(int key)
{
	struct side *side = run.report.side_count ? &run.sides[run.report.side_count - 1] : NULL;
	long value;

	switch (key) {
	case 'B':
		run.report.bench = optarg;
		return true;
	case 'C':
		run.report.commit = optarg;
		return true;
	case 'O':
		run.report.folder = optarg;
		return true;
	case 'N':
		return add_side();
	case 'S':
	case 'R':
	case 'G':
		if (!side)
			return false;
		*(key == 'S'         ? &side->server
			: key == 'R' ? &side->ready
				     : &side->generator) = optarg;
		return true;
	case 't':
		if (!number("turn-ms", 10, 10000, &value))
			return false;
		run.turn_ms = (uint32_t)value;
		return true;
	case 'w':
		if (!number("warm-ms", 0, 10000, &value))
			return false;
		run.warm_ms = (uint32_t)value;
		return true;
	case 'p':
		if (!number("pairs", 1, ROUNDS_MAX, &value))
			return false;
		run.pairs = (uint32_t)value;
		return true;
	case 'r':
		if (!number("rounds-max", 1, ROUNDS_MAX, &value))
			return false;
		run.rounds_max = (uint32_t)value;
		return true;
	case 'W':
		if (!number("wait-max", 0, 100, &value))
			return false;
		run.wait_max = (double)value / 100;
		return true;
	case 'c':
		return sscanf(optarg, "%d,%d", &run.cpus.server, &run.cpus.generator) == 2;
	default:
		return false;
	}
}

static bool options(int argc, char **argv)
{
	static const struct option list[] = {{"bench", 1, NULL, 'B'}, {"commit", 1, NULL, 'C'},
		{"out", 1, NULL, 'O'}, {"side", 1, NULL, 'N'}, {"server", 1, NULL, 'S'},
		{"ready", 1, NULL, 'R'}, {"generator", 1, NULL, 'G'}, {"turn-ms", 1, NULL, 't'},
		{"warm-ms", 1, NULL, 'w'}, {"pairs", 1, NULL, 'p'}, {"rounds-max", 1, NULL, 'r'},
		{"wait-max", 1, NULL, 'W'}, {"cpus", 1, NULL, 'c'}, {NULL, 0, NULL, 0}};
	bool good = true;
	int key;

	while (good && (key = getopt_long(argc, argv, "", list, NULL)) != -1)
		good = apply(key);
	for (uint32_t s = 0; s < run.report.side_count; s++)
		good &= run.sides[s].server && run.sides[s].generator && run.sides[s].ready;
	if (good && run.report.side_count > 1 && run.report.folder && optind == argc)
		return true;
	fprintf(stderr, "bench: see the head of perf/bench/main.c\n");
	return false;
}

static bool enough(void)
{
	for (uint32_t s = 1; s < run.report.side_count; s++)
		if (report_pairs(&run.report, s) < run.pairs)
			return false;
	return true;
}

static void progress(void)
{
	uint32_t round = run.report.rounds - 1;

	fprintf(stderr, "%s round %u:", run.report.bench, run.report.rounds);
	for (uint32_t s = 0; s < run.report.side_count; s++)
		fprintf(stderr, " %s %.3f M/s%s", run.sides[s].name,
			run.sides[s].turns[round].rate / 1e6,
			run.sides[s].turns[round].kept ? "" : " (set aside)");
	fprintf(stderr, "\n");
}

static bool rounds(void)
{
	while (run.report.rounds < run.rounds_max && !enough()) {
		for (uint32_t s = 0; s < run.report.side_count; s++)
			if (stop || !side_turn(&run.sides[s], run.warm_ms, run.turn_ms,
					    run.wait_max, &run.sides[s].turns[run.report.rounds]))
				return false;
		run.report.rounds++;
		if (run.report.rounds % 10 == 0)
			progress();
	}
	return true;
}

int main(int argc, char **argv)
{
	bool good = true, started;

	if (!options(argc, argv))
		return 2;
	run.report.sides = run.sides;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	come_first();
	for (uint32_t s = 0; s < run.report.side_count && good && !stop; s++)
		good = side_start(&run.sides[s], run.report.folder, run.cpus);
	started = good;
	good = good && rounds();
	for (uint32_t s = 0; s < run.report.side_count; s++)
		good &= side_end(&run.sides[s]);
	if (!run.report.rounds || stop)
		return started ? 1 : EXIT_NOT_STARTED;
	good &= report_raw(&run.report) && report_plot(&run.report);
	report_table(&run.report);
	report_json(&run.report);
	return good ? 0 : 1;
}
