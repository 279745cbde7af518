/* Prometheus' text format, version 0.0.4: one HELP and one TYPE for each metric, all its samples
 * right after. */
#include <inttypes.h>
#include <string.h>

#include "common/mono.h"
#include "control/ops/ops_internal.h"

static void print_help(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\')
			fputs("\\\\", out);
		else
			fputc(*text, out);
	}
	fputc('\n', out);
}

/* Sets of several threads share one table of descriptions. */
static bool same_metrics(const struct counter_set *a, const struct counter_set *b)
{
	return a->desc == b->desc && !strcmp(a->group, b->group);
}

static void print_counters(const struct ops *ops, uint32_t first, FILE *out)
{
	const struct counter_set *set = ops->sets[first];

	for (uint32_t c = 0; c < set->count; c++) {
		const struct counter_desc *desc = &set->desc[c];
		bool sum = desc->kind == COUNTER_SUM;
		const char *suffix = sum ? "_total" : "";

		fprintf(out, "# HELP stormweir_%s_%s%s ", set->group, desc->name, suffix);
		print_help(out, desc->help);
		fprintf(out, "# TYPE stormweir_%s_%s%s %s\n", set->group, desc->name, suffix,
			sum ? "counter" : "gauge");
		for (uint32_t i = first; i < ops->set_count; i++)
			if (same_metrics(set, ops->sets[i]))
				fprintf(out, "stormweir_%s_%s%s{thread=\"%u\"} %" PRIu64 "\n",
					set->group, desc->name, suffix, ops->sets[i]->index,
					counter_get(&ops->sets[i]->values[c]));
	}
}

/* The name's length without its unit: that of a Prometheus histogram is the second. */
static int name_bytes(const char *name)
{
	static const char *const units[] = {"_ns", "_seconds"};
	size_t bytes = strlen(name), unit;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		unit = strlen(units[i]);
		if (bytes > unit && !strcmp(name + bytes - unit, units[i]))
			return (int)(bytes - unit);
	}
	return (int)bytes;
}

static bool same_histogram(const struct histogram_ref *a, const struct histogram_ref *b)
{
	return !strcmp(a->group, b->group) && !strcmp(a->name, b->name);
}

/* Of plain numbers: the bound of bucket i is its greatest number, 2^i - 1. */
static void print_plain_histogram(const struct histogram_ref *ref, FILE *out)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		count += counter_get(&ref->histogram->bucket[i]);
		if (i + 1 < ref->histogram->plain_buckets)
			fprintf(out,
				"stormweir_%s_%s_bucket{thread=\"%u\",le=\"%llu\"} %" PRIu64 "\n",
				ref->group, ref->name, ref->index, (1ull << i) - 1, count);
	}
	fprintf(out,
		"stormweir_%s_%s_bucket{thread=\"%u\",le=\"+Inf\"} %" PRIu64 "\n"
		"stormweir_%s_%s_sum{thread=\"%u\"} %" PRIu64 "\n"
		"stormweir_%s_%s_count{thread=\"%u\"} %" PRIu64 "\n",
		ref->group, ref->name, ref->index, count, ref->group, ref->name, ref->index,
		counter_get(&ref->histogram->sum_ns), ref->group, ref->name, ref->index, count);
}

static void print_histogram(const struct histogram_ref *ref, FILE *out)
{
	int bytes = name_bytes(ref->name);
	uint32_t buckets = histogram_buckets(ref->histogram);
	uint64_t count = 0;

	for (uint32_t i = 0; i < buckets; i++) {
		count += counter_get(&ref->histogram->bucket[i]);
		/* The last bucket takes everything above, so its bound is infinity. */
		if (i + 1 < buckets)
			fprintf(out,
				"stormweir_%s_%.*s_seconds_bucket{thread=\"%u\",le=\"%.9g\"} "
				"%" PRIu64 "\n",
				ref->group, bytes, ref->name, ref->index,
				(double)histogram_bound(ref->histogram, i) * 1e-9, count);
	}
	fprintf(out, "stormweir_%s_%.*s_seconds_bucket{thread=\"%u\",le=\"+Inf\"} %" PRIu64 "\n",
		ref->group, bytes, ref->name, ref->index, count);
	fprintf(out, "stormweir_%s_%.*s_seconds_sum{thread=\"%u\"} %.9f\n", ref->group, bytes,
		ref->name, ref->index, (double)counter_get(&ref->histogram->sum_ns) * 1e-9);
	fprintf(out, "stormweir_%s_%.*s_seconds_count{thread=\"%u\"} %" PRIu64 "\n", ref->group,
		bytes, ref->name, ref->index, count);
}

static void print_histograms(const struct ops *ops, uint32_t first, FILE *out)
{
	const struct histogram_ref *ref = &ops->histograms[first];
	bool plain = ref->histogram->plain_buckets != 0;
	int bytes = plain ? (int)strlen(ref->name) : name_bytes(ref->name);
	const char *unit = plain ? "" : "_seconds";

	fprintf(out, "# HELP stormweir_%s_%.*s%s ", ref->group, bytes, ref->name, unit);
	print_help(out, ref->help);
	fprintf(out, "# TYPE stormweir_%s_%.*s%s histogram\n", ref->group, bytes, ref->name, unit);
	for (uint32_t i = first; i < ops->histogram_count; i++) {
		if (!same_histogram(ref, &ops->histograms[i]))
			continue;
		if (plain)
			print_plain_histogram(&ops->histograms[i], out);
		else
			print_histogram(&ops->histograms[i], out);
	}
}

static void print_component(void *ctx, const char *name, enum ops_level level, const char *sentence)
{
	FILE *out = ctx;

	(void)sentence;
	fprintf(out, "stormweir_health{component=\"%s\"} %d\n", name, level);
}

/* Of a running instance. X(metric, kind, help, format, value) */
// clang-format off
#define INSTANCE_METRICS(X)                                                                        \
	X("players", "gauge", "players sent to the instance and not left yet", "%.0f", (double)i.players) \
	X("tick_seconds", "gauge", "shard time of the last tick", "%.9f", (double)i.tick_ns * 1e-9) \
	X("ticks_total", "counter", "ticks run in the slot, over all its instances", "%.0f", (double)i.ticks) \
	X("ticks_skipped_total", "counter", "ticks left out because the one before ended a period late", "%.0f", (double)i.skipped) \
	X("tick_overruns_total", "counter", "ticks that took longer than their period", "%.0f", (double)i.overruns)
// clang-format on

static void print_instances(const struct ops *ops, uint64_t now_ns, FILE *out)
{
	struct ops_instance i;

#define PRINT(metric, kind, help, format, value)                                                   \
	fprintf(out, "# HELP stormweir_instance_" metric " " help "\n"                             \
		     "# TYPE stormweir_instance_" metric " " kind "\n");                           \
	for (uint32_t slot = 0; ops->instances(ops->instances_ctx, slot, now_ns, &i); slot++)      \
		if (i.running)                                                                     \
			fprintf(out,                                                               \
				"stormweir_instance_" metric                                       \
				"{map=\"%s\",slot=\"%u\",shard=\"%u\"} " format "\n",              \
				i.map, i.slot, i.shard, value);
	INSTANCE_METRICS(PRINT)
#undef PRINT
	fputs("# HELP stormweir_instances_by_state slots of a map whose instance is in that state\n"
	      "# TYPE stormweir_instances_by_state gauge\n",
		out);
	/* A slot is one sample, so that nobody has to add: its map and state are labels. */
	for (uint32_t slot = 0; ops->instances(ops->instances_ctx, slot, now_ns, &i); slot++)
		fprintf(out,
			"stormweir_instances_by_state{map=\"%s\",slot=\"%u\",state=\"%s\"} 1\n",
			i.map, i.slot, i.state);
}

void ops_metrics(const struct ops *ops, uint64_t now_ns, FILE *out)
{
	bool seen;

	fprintf(out,
		"# HELP stormweir_uptime_seconds since the operations endpoint started\n"
		"# TYPE stormweir_uptime_seconds gauge\n"
		"stormweir_uptime_seconds %.3f\n"
		"# HELP stormweir_health 0 green, 1 yellow, 2 red\n"
		"# TYPE stormweir_health gauge\n",
		(double)(now_ns - ops->started_ns) / (double)NS_PER_S);
	ops_ask(ops, print_component, out);
	for (uint32_t i = 0; i < ops->set_count; i++) {
		seen = false;
		for (uint32_t j = 0; j < i && !seen; j++)
			seen = same_metrics(ops->sets[j], ops->sets[i]);
		if (!seen)
			print_counters(ops, i, out);
	}
	for (uint32_t i = 0; i < ops->histogram_count; i++) {
		seen = false;
		for (uint32_t j = 0; j < i && !seen; j++)
			seen = same_histogram(&ops->histograms[j], &ops->histograms[i]);
		if (!seen)
			print_histograms(ops, i, out);
	}
	if (ops->instances)
		print_instances(ops, now_ns, out);
}
