/* samples.c: see samples.h. */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/mono.h"
#include "perf/engine/samples.h"

#define WAIT_MAX 0.02

void samples_init(
	struct samples *samples, const char *bench, const char *unit, int argc, char **argv)
{
	FILE *file;

	memset(samples, 0, sizeof(*samples));
	samples->bench = bench;
	samples->unit = unit;
	samples->commit = argc > 1 ? argv[1] : "unknown";
	samples->folder = argc > 2 ? argv[2] : ".";
	setsid();
	file = fopen("/proc/self/autogroup", "w");
	if (file) {
		fprintf(file, "-20\n");
		fclose(file);
	}
	setpriority(PRIO_PROCESS, 0, -20);
}

static uint64_t waited_ns(void)
{
	uint64_t run = 0, wait = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (file) {
		if (fscanf(file, "%" SCNu64 " %" SCNu64, &run, &wait) != 2)
			wait = 0;
		fclose(file);
	}
	return wait;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

void samples_start(struct samples_clock *clock)
{
	if (!clock->began_ns) {
		clock->waited_at = waited_ns();
		clock->began_ns = mono_ns();
	}
	clock->cpu_at = cpu_ns();
}

void samples_stop(struct samples_clock *clock)
{
	clock->cpu_ns += cpu_ns() - clock->cpu_at;
}

bool samples_quiet(const struct samples_clock *clock)
{
	return (double)(waited_ns() - clock->waited_at) <=
	       WAIT_MAX * (double)(mono_ns() - clock->began_ns);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint32_t n, double q)
{
	return n ? sorted[(uint32_t)((n - 1) * q + 0.5)] : 0;
}

/* Sorted; over is SAMPLES_SIDES_MAX for the value itself. */
static uint32_t series(const struct samples *samples, uint32_t side, uint32_t over, double *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < samples->rounds; i++) {
		if (!samples->kept[side][i])
			continue;
		if (over == SAMPLES_SIDES_MAX)
			out[n++] = samples->value[side][i];
		else if (samples->kept[over][i])
			out[n++] = samples->value[side][i] / samples->value[over][i];
	}
	qsort(out, n, sizeof(out[0]), compare);
	return n;
}

static void add(struct samples *samples, const char *name, const double *sorted, uint32_t n,
	double target, const char *better)
{
	uint32_t at = samples->metrics++;

	samples->metric[at].name = name;
	samples->metric[at].better = better;
	samples->metric[at].median = quantile(sorted, n, 0.5);
	samples->metric[at].low = quantile(sorted, n, 0.25);
	samples->metric[at].high = quantile(sorted, n, 0.75);
	samples->metric[at].target = target;
}

void samples_ratio(struct samples *samples, const char *name, uint32_t side, uint32_t over,
	double target, const char *better)
{
	static double sorted[SAMPLES_ROUNDS_MAX];

	add(samples, name, sorted, series(samples, side, over, sorted), target, better);
}

void samples_value(
	struct samples *samples, const char *name, uint32_t side, double target, const char *better)
{
	samples_ratio(samples, name, side, SAMPLES_SIDES_MAX, target, better);
}

void samples_constant(
	struct samples *samples, const char *name, double value, double target, const char *better)
{
	add(samples, name, &value, 1, target, better);
}

static FILE *create(const struct samples *samples, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", samples->folder, name);
	file = fopen(path, "w");
	if (!file)
		perror(path);
	return file;
}

static bool raw(const struct samples *samples)
{
	FILE *file = create(samples, "turns.tsv");

	if (!file)
		return false;
	fprintf(file, "round\tside\tkept\tvalue\n");
	for (uint32_t i = 0; i < samples->rounds; i++)
		for (uint32_t s = 0; s < samples->sides; s++)
			fprintf(file, "%u\t%s\t%d\t%.2f\n", i, samples->side[s],
				samples->kept[s][i], samples->value[s][i]);
	return fclose(file) == 0;
}

static bool plot(const struct samples *samples)
{
	static const char *const colours[SAMPLES_SIDES_MAX] = {
		"#1764ab", "#c2410c", "#3f7d20", "#6b21a8", "#0f766e"};
	FILE *file = create(samples, "plot.svg");
	double most = 0;

	if (!file)
		return false;
	for (uint32_t s = 0; s < samples->sides; s++)
		for (uint32_t i = 0; i < samples->rounds; i++)
			most = fmax(most, samples->value[s][i]);
	fprintf(file,
		"<svg xmlns='http://www.w3.org/2000/svg' width='900' height='420' "
		"font-family='sans-serif' font-size='13'>\n<rect width='100%%' height='100%%' "
		"fill='white'/>\n<text x='60' y='24' font-size='16'>%s at %s: %s by round, 0 to "
		"%.0f (hollow: set aside)</text>\n",
		samples->bench, samples->commit, samples->unit, most);
	for (uint32_t s = 0; s < samples->sides; s++) {
		fprintf(file, "<text x='%u' y='410' fill='%s'>%s</text>\n", 60 + 165 * s,
			colours[s], samples->side[s]);
		for (uint32_t i = 0; i < samples->rounds; i++)
			fprintf(file, "<circle cx='%.1f' cy='%.1f' r='3' stroke='%s' fill='%s'/>\n",
				60 + 800.0 * i / samples->rounds,
				390 - 340 * samples->value[s][i] / (most > 0 ? most : 1),
				colours[s], samples->kept[s][i] ? colours[s] : "none");
	}
	fprintf(file, "</svg>\n");
	return fclose(file) == 0;
}

bool samples_report(const struct samples *samples)
{
	static double sorted[SAMPLES_ROUNDS_MAX];
	bool good = raw(samples) && plot(samples);

	printf("\n%-16s %10s %14s %14s %14s  (%s)\n", "side", "kept", "median", "quartile",
		"quartile", samples->unit);
	for (uint32_t s = 0; s < samples->sides; s++) {
		uint32_t n = series(samples, s, SAMPLES_SIDES_MAX, sorted);

		printf("%-16s %5u/%-4u %14.1f %14.1f %14.1f\n", samples->side[s], n,
			samples->rounds, quantile(sorted, n, 0.5), quantile(sorted, n, 0.25),
			quantile(sorted, n, 0.75));
	}
	printf("\n{\"bench\": \"%s\", \"commit\": \"%s\", \"metrics\": {", samples->bench,
		samples->commit);
	for (uint32_t m = 0; m < samples->metrics; m++)
		printf("%s\"%s\": {\"median\": %.3f, \"low\": %.3f, \"high\": %.3f, \"target\": "
		       "%g, \"better\": \"%s\"}",
			m ? ", " : "", samples->metric[m].name, samples->metric[m].median,
			samples->metric[m].low, samples->metric[m].high, samples->metric[m].target,
			samples->metric[m].better);
	printf("}}\n");
	return good;
}
