#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "perf/bench/report.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, uint32_t n, double q)
{
	return n ? sorted[(uint32_t)((n - 1) * q + 0.5)] : 0;
}

/* A member of the kept turns (or of all), sorted. */
static uint32_t series(
	const struct report *report, uint32_t side, size_t member, bool all, double *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < report->rounds; i++) {
		const struct turn *turn = &report->sides[side].turns[i];

		if (all || turn->kept)
			memcpy(&out[n++], (const char *)turn + member, sizeof(double));
	}
	qsort(out, n, sizeof(out[0]), compare);
	return n;
}

static double median(const struct report *report, uint32_t side, size_t member, bool all)
{
	static double sorted[ROUNDS_MAX];

	return quantile(sorted, series(report, side, member, all, sorted), 0.5);
}

/* The first side's rate (or its CPU time's inverse) over another's, of the rounds in which both
 * turns were kept; sorted. */
static uint32_t ratios(const struct report *report, uint32_t other, bool cpu, double *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < report->rounds; i++) {
		const struct turn *a = &report->sides[0].turns[i];
		const struct turn *b = &report->sides[other].turns[i];

		if (a->kept && b->kept)
			out[n++] = cpu ? b->cpu_ns / a->cpu_ns : a->rate / b->rate;
	}
	qsort(out, n, sizeof(out[0]), compare);
	return n;
}

uint32_t report_pairs(const struct report *report, uint32_t other)
{
	static double out[ROUNDS_MAX];

	return ratios(report, other, false, out);
}

/* --- raw turns --- */

static FILE *create(const struct report *report, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", report->folder, name);
	file = fopen(path, "w");
	if (!file)
		perror(path);
	return file;
}

bool report_raw(const struct report *report)
{
	FILE *file = create(report, "turns.tsv");

	if (!file)
		return false;
	fprintf(file, "round\tside\tkept\trate\tcpu_ns\tidle\tlost\twaited\tp50_ns\tp99_ns\n");
	for (uint32_t i = 0; i < report->rounds; i++)
		for (uint32_t s = 0; s < report->side_count; s++) {
			const struct turn *turn = &report->sides[s].turns[i];

			fprintf(file, "%u\t%s\t%d\t%.0f\t%.1f\t%.4f\t%.5f\t%.4f\t%.0f\t%.0f\n", i,
				report->sides[s].name, turn->kept, turn->rate, turn->cpu_ns,
				turn->idle, turn->lost, turn->waited, turn->p50_ns, turn->p99_ns);
		}
	return fclose(file) == 0;
}

/* --- plot --- */

#define PLOT_WIDTH  900
#define PLOT_HEIGHT 420
#define PLOT_LEFT   80
#define PLOT_TOP    50
#define PLOT_RIGHT  160
#define PLOT_BOTTOM 50

static double plot_y(double rate, double low, double high)
{
	double share = (log10(rate > 1 ? rate : 1) - low) / (high - low);

	return PLOT_HEIGHT - PLOT_BOTTOM - share * (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM);
}

static void plot_side(FILE *file, const struct report *report, uint32_t s, double low, double high)
{
	static const char *const colours[SIDES_MAX] = {"#1764ab", "#c2410c", "#3f7d20", "#6b21a8"};
	double step = (double)(PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT) / report->rounds;
	double middle = median(report, s, offsetof(struct turn, rate), false);

	for (uint32_t i = 0; i < report->rounds; i++) {
		const struct turn *turn = &report->sides[s].turns[i];

		if (turn->rate > 0)
			fprintf(file, "<circle cx='%.1f' cy='%.1f' r='3' stroke='%s' fill='%s'/>\n",
				PLOT_LEFT + (i + 0.5) * step, plot_y(turn->rate, low, high),
				colours[s], turn->kept ? colours[s] : "none");
	}
	if (middle <= 0)
		return;
	fprintf(file,
		"<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='%s' stroke-dasharray='4'/>\n"
		"<text x='%d' y='%.1f' fill='%s'>%s %.2f M/s</text>\n",
		PLOT_LEFT, PLOT_WIDTH - PLOT_RIGHT, plot_y(middle, low, high),
		plot_y(middle, low, high), colours[s], PLOT_WIDTH - PLOT_RIGHT + 8,
		plot_y(middle, low, high) + 4, colours[s], report->sides[s].name, middle / 1e6);
}

bool report_plot(const struct report *report)
{
	FILE *file = create(report, "plot.svg");
	double low = 9, high = 0;

	if (!file)
		return false;
	for (uint32_t s = 0; s < report->side_count; s++)
		for (uint32_t i = 0; i < report->rounds; i++) {
			double rate = report->sides[s].turns[i].rate;

			if (rate <= 1)
				continue;
			low = fmin(low, floor(log10(rate)));
			high = fmax(high, ceil(log10(rate)));
		}
	if (high <= low)
		high = low + 1;
	fprintf(file,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
		"font-family='sans-serif' font-size='13'>\n<rect width='100%%' height='100%%' "
		"fill='white'/>\n<text x='%d' y='24' font-size='16'>%s at %s: messages/s by round "
		"(hollow: set aside; dashed: median)</text>\n",
		PLOT_WIDTH, PLOT_HEIGHT, PLOT_LEFT, report->bench, report->commit);
	for (int decade = (int)low; decade <= (int)high; decade++) {
		double y = plot_y(pow(10, decade), low, high);

		fprintf(file,
			"<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#ddd'/>\n<text x='%d' "
			"y='%.1f' text-anchor='end'>10^%d</text>\n",
			PLOT_LEFT, PLOT_WIDTH - PLOT_RIGHT, y, y, PLOT_LEFT - 8, y + 4, decade);
	}
	for (uint32_t s = 0; s < report->side_count; s++)
		plot_side(file, report, s, low, high);
	fprintf(file, "<text x='%d' y='%d'>%u rounds</text>\n</svg>\n", PLOT_LEFT, PLOT_HEIGHT - 16,
		report->rounds);
	return fclose(file) == 0;
}

/* --- table and JSON --- */

static void table_side(const struct report *report, uint32_t s)
{
	static double rates[ROUNDS_MAX];
	uint32_t n = series(report, s, offsetof(struct turn, rate), false, rates);
	double idle = median(report, s, offsetof(struct turn, idle), false);

	printf("%-8s %5u/%-4u %12.0f %12.0f %12.0f %9.1f %6.1f %6.2f %6.1f %8.0f %8.0f\n",
		report->sides[s].name, n, report->rounds, quantile(rates, n, 0.5),
		quantile(rates, n, 0.25), quantile(rates, n, 0.75),
		median(report, s, offsetof(struct turn, cpu_ns), false), 100 * idle,
		100 * median(report, s, offsetof(struct turn, lost), false),
		100 * median(report, s, offsetof(struct turn, waited), true),
		median(report, s, offsetof(struct turn, p50_ns), false) / 1000,
		median(report, s, offsetof(struct turn, p99_ns), false) / 1000);
}

static void table_ratio(const struct report *report, uint32_t other)
{
	static double rate[ROUNDS_MAX], cpu[ROUNDS_MAX], ours[ROUNDS_MAX], theirs[ROUNDS_MAX];
	uint32_t n = ratios(report, other, false, rate);
	double best_ours, best_theirs;

	if (!n) {
		printf("vs %-8s no round was quiet enough: something else wants the CPUs. Run it "
		       "again "
		       "when they are free, or raise --wait-max or --rounds-max\n",
			report->sides[other].name);
		return;
	}
	ratios(report, other, true, cpu);
	best_ours =
		quantile(ours, series(report, 0, offsetof(struct turn, rate), false, ours), 0.75);
	best_theirs = quantile(
		theirs, series(report, other, offsetof(struct turn, rate), false, theirs), 0.75);
	printf("vs %-8s median %.3f (quartiles %.3f to %.3f) of %u rounds, target %g; of best "
	       "quartiles %.3f; by server CPU time a message %.3f\n",
		report->sides[other].name, quantile(rate, n, 0.5), quantile(rate, n, 0.25),
		quantile(rate, n, 0.75), n, report->sides[other].target,
		best_theirs > 0 ? best_ours / best_theirs : 0, quantile(cpu, n, 0.5));
}

void report_table(const struct report *report)
{
	printf("\n%-8s %10s %12s %12s %12s %9s %6s %6s %6s %8s %8s\n", "side", "kept", "messages/s",
		"quartile", "best quart.", "CPU ns", "idle %", "lost %", "wait %", "p50 us",
		"p99 us");
	for (uint32_t s = 0; s < report->side_count; s++)
		table_side(report, s);
	printf("CPU ns: the server's, per message. idle %%: the generator's; where it is near 0 "
	       "the "
	       "generator is the bottleneck.\nwait %%: for a CPU, the worst thread, median of all "
	       "turns.\n\n");
	for (uint32_t s = 1; s < report->side_count; s++)
		table_ratio(report, s);
}

void report_json(const struct report *report)
{
	static double rate[ROUNDS_MAX];
	const char *comma = "";

	printf("{\"bench\": \"%s\", \"commit\": \"%s\", \"metrics\": {", report->bench,
		report->commit);
	for (uint32_t s = 1; s < report->side_count; s++) {
		uint32_t n = ratios(report, s, false, rate);

		if (!n)
			continue;
		printf("%s\"vs_%s\": {\"median\": %.3f, \"low\": %.3f, \"high\": %.3f, \"target\": "
		       "%g, \"better\": \"higher\"}",
			comma, report->sides[s].name, quantile(rate, n, 0.5),
			quantile(rate, n, 0.25), quantile(rate, n, 0.75), report->sides[s].target);
		comma = ", ";
	}
	printf("}}\n");
}
