/* The JSON of /health and /status. */
#include <string.h>

#include <jansson.h>

#include "common/mono.h"
#include "control/ops/ops_internal.h"

uint64_t ops_quantile_ns(
	const struct histogram *h, const uint64_t bucket[HISTOGRAM_QUARTERS], double share)
{
	uint64_t count = 0, below = 0;

	for (uint32_t i = 0; i < histogram_buckets(h); i++)
		count += bucket[i];
	for (uint32_t i = 0; i < histogram_buckets(h) && count; i++) {
		below += bucket[i];
		if ((double)below >= share * (double)count)
			return histogram_bound(h, i);
	}
	return 0;
}

/* A sentence may hold another server's words, in any encoding, and may be cut within a character.
 */
static json_t *text_json(const char *sentence)
{
	json_t *text = json_string(sentence);
	char plain[OPS_SENTENCE_BYTES];
	size_t i;

	if (text)
		return text;
	for (i = 0; sentence[i] && i < sizeof(plain) - 1; i++)
		plain[i] = (unsigned char)sentence[i] < 0x80 ? sentence[i] : '?';
	plain[i] = 0;
	return json_string(plain);
}

static void add_component(void *ctx, const char *name, enum ops_level level, const char *sentence)
{
	json_array_append_new(ctx, json_pack("{s:s, s:s, s:o}", "name", name, "level",
					   ops_level_name(level), "text", text_json(sentence)));
}

static enum ops_level add_health(const struct ops *ops, json_t *root)
{
	json_t *components = json_array();
	enum ops_level level = ops_ask(ops, add_component, components);

	json_object_set_new(root, "level", json_string(ops_level_name(level)));
	json_object_set_new(root, "components", components);
	return level;
}

static void dump(json_t *root, FILE *out)
{
	json_dumpf(root, out, JSON_INDENT(1) | JSON_SORT_KEYS);
	fputc('\n', out);
	json_decref(root);
}

enum ops_level ops_health_json(const struct ops *ops, FILE *out)
{
	json_t *root = json_object();
	enum ops_level level = add_health(ops, root);

	dump(root, out);
	return level;
}

/* The element of root.<section>.<group> with this thread number, made where it is missing. */
static json_t *thread_object(json_t *root, const char *section, const char *group, uint32_t index)
{
	json_t *groups = json_object_get(root, section), *threads, *thread;
	size_t i;

	threads = json_object_get(groups, group);
	if (!threads) {
		json_object_set_new(groups, group, json_array());
		threads = json_object_get(groups, group);
	}
	json_array_foreach(threads, i, thread) if (json_integer_value(json_object_get(thread,
							   "thread")) == index) return thread;
	json_array_append_new(threads, json_pack("{s:I}", "thread", (json_int_t)index));
	return json_array_get(threads, json_array_size(threads) - 1);
}

static void add_histogram(json_t *root, const struct histogram_ref *ref)
{
	json_t *thread = thread_object(root, "histograms", ref->group, ref->index);
	const struct histogram *h = ref->histogram;
	uint64_t bucket[HISTOGRAM_QUARTERS], count = 0;
	bool plain = ref->histogram->plain_buckets != 0;
	uint64_t sum_ns = counter_get(&ref->histogram->sum_ns);

	for (uint32_t i = 0; i < histogram_buckets(h); i++) {
		bucket[i] = counter_get(&ref->histogram->bucket[i]);
		count += bucket[i];
	}
	json_object_set_new(thread, ref->name,
		json_pack("{s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)count,
			plain ? "mean" : "mean_ns", (json_int_t)(count ? sum_ns / count : 0),
			plain ? "p50_below" : "p50_below_ns",
			(json_int_t)ops_quantile_ns(h, bucket, 0.5),
			plain ? "p99_below" : "p99_below_ns",
			(json_int_t)ops_quantile_ns(h, bucket, 0.99),
			plain ? "max_below" : "max_below_ns",
			(json_int_t)ops_quantile_ns(h, bucket, 1.0)));
}

static void set_integer(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void add_running(json_t *one, const struct ops_instance *i)
{
	set_integer(one, "shard", i->shard);
	set_integer(one, "tick_hz", i->tick_hz);
	set_integer(one, "ticks", i->ticks);
	set_integer(one, "ticks_skipped", i->skipped);
	set_integer(one, "tick_overruns", i->overruns);
	set_integer(one, "tick_ns", i->tick_ns);
	set_integer(one, "tick_age_ms", i->tick_age_ns / NS_PER_MS);
	set_integer(one, "load_permille", i->load_permille);
	set_integer(one, "heat_permille", i->heat_permille);
	set_integer(one, "shard_heat", i->shard_heat);
	if (i->overrun_stage)
		json_object_set_new(one, "overrun_stage", json_string(i->overrun_stage));
	if (i->tick_time) {
		uint64_t bucket[HISTOGRAM_QUARTERS];

		for (uint32_t b = 0; b < histogram_buckets(i->tick_time); b++)
			bucket[b] = counter_get(&i->tick_time->bucket[b]);
		set_integer(one, "tick_p50_below_ns", ops_quantile_ns(i->tick_time, bucket, 0.5));
		set_integer(one, "tick_p99_below_ns", ops_quantile_ns(i->tick_time, bucket, 0.99));
	}
}

static json_t *instances_json(const struct ops *ops, uint64_t now_ns)
{
	json_t *list = json_array();
	struct ops_instance i;

	for (uint32_t slot = 0; ops->instances(ops->instances_ctx, slot, now_ns, &i); slot++) {
		json_t *one;

		if (!i.used)
			continue;
		one = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "map", i.map, "kind", i.kind,
			"state", i.state, "slot", (json_int_t)i.slot, "generation",
			(json_int_t)i.generation, "players", (json_int_t)i.players, "players_max",
			(json_int_t)i.players_max);
		if (i.running)
			add_running(one, &i);
		json_array_append_new(list, one);
	}
	return list;
}

void ops_status_json(const struct ops *ops, uint64_t now_ns, FILE *out)
{
	json_t *root = json_pack("{s:s, s:I, s:{}, s:{}}", "node", ops->config->node.name,
		"uptime_s", (json_int_t)((now_ns - ops->started_ns) / NS_PER_S), "counters",
		"histograms");

	add_health(ops, root);
	if (ops->instances)
		json_object_set_new(root, "instances", instances_json(ops, now_ns));
	for (uint32_t i = 0; i < ops->set_count; i++) {
		const struct counter_set *set = ops->sets[i];
		json_t *thread = thread_object(root, "counters", set->group, set->index);

		for (uint32_t c = 0; c < set->count; c++)
			json_object_set_new(thread, set->desc[c].name,
				json_integer((json_int_t)counter_get(&set->values[c])));
	}
	for (uint32_t i = 0; i < ops->histogram_count; i++)
		add_histogram(root, &ops->histograms[i]);
	dump(root, out);
}
