#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/turns.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *sorted, uint32_t n, double q)
{
	return n ? sorted[(uint32_t)((n - 1) * q + 0.5)] : 0;
}

/* The kept turns' values, sorted. */
static uint32_t series(
	const struct turn *turns, uint32_t count, size_t member, bool kept, double *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!kept || !turns[i].set_aside)
			memcpy(&out[n++], (const char *)&turns[i] + member, sizeof(double));
	qsort(out, n, sizeof(out[0]), compare);
	return n;
}

static double middle(const struct turn *turns, uint32_t count, size_t member, bool kept)
{
	static double sorted[TURNS_MAX];

	return quantile(sorted, series(turns, count, member, kept, sorted), 0.5);
}

void turns_report_one(const char *name, const struct turn *turns, uint32_t count)
{
	static double rates[TURNS_MAX];
	uint32_t n = series(turns, count, offsetof(struct turn, rate), true, rates);
	double idle = middle(turns, count, offsetof(struct turn, idle), true);
	double lost = middle(turns, count, offsetof(struct turn, lost), true);

	printf("%-6s %u of %u turns kept; a thread waited for its CPU %.1f %% of the time (median "
	       "of all "
	       "turns)\n",
		name, n, count, 100 * middle(turns, count, offsetof(struct turn, waited), false));
	if (!n)
		return;
	printf("%-6s %.0f messages/s (quartiles %.0f to %.0f, best %.0f), %.2f us of server CPU "
	       "each, "
	       "generator idle %.0f %%, lost %.2f %%\n",
		name, quantile(rates, n, 0.5), quantile(rates, n, 0.25), quantile(rates, n, 0.75),
		rates[n - 1], middle(turns, count, offsetof(struct turn, cpu_ns), true) / 1000,
		idle * 100, lost * 100);
	printf("%-6s bottleneck: %s\n", name,
		idle > 0.3 || lost > 0.02 ? "the server: the generator waits for it"
		: idle < 0.05             ? "the generator: the server could do more than is shown"
					  : "both sides about equally");
}

void turns_report_ratio(const struct turn *ours, const struct turn *reference, uint32_t count,
	const char *bench, const char *commit)
{
	static double ratio[TURNS_MAX], cpu[TURNS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct turn *a = &ours[i], *b = &reference[i];

		if (a->set_aside || b->set_aside)
			continue;
		ratio[n] = a->rate / b->rate;
		cpu[n++] = b->cpu_ns / a->cpu_ns;
	}
	if (!n) {
		printf("no pair of turns was quiet enough: try again, more --turns, or a larger "
		       "--wait-max\n{\"bench\": \"%s\", \"commit\": \"%s\", \"metrics\": {}}\n",
			bench, commit);
		return;
	}
	qsort(ratio, n, sizeof(ratio[0]), compare);
	qsort(cpu, n, sizeof(cpu[0]), compare);
	printf("{\"bench\": \"%s\", \"commit\": \"%s\", \"metrics\": {\"vs_stock\": {\"median\": "
	       "%.3f, "
	       "\"low\": %.3f, \"high\": %.3f, \"better\": \"higher\"}, \"cpu_vs_stock\": "
	       "{\"median\": "
	       "%.3f, \"low\": %.3f, \"high\": %.3f, \"better\": \"higher\"}, \"turn_pairs\": "
	       "{\"median\": %u}}}\n",
		bench, commit, quantile(ratio, n, 0.5), quantile(ratio, n, 0.25),
		quantile(ratio, n, 0.75), quantile(cpu, n, 0.5), quantile(cpu, n, 0.25),
		quantile(cpu, n, 0.75), n);
}
