#include "control/world/world.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/world/server_check.h"
#include "control/world/world_internal.h"

static const struct counter_desc DESCRIPTIONS[WORLD_COUNTER_COUNT] = {
#define WORLD_COUNTER_DESC(id, metric, type, text) {.name = metric, .help = text, .kind = type},
	WORLD_COUNTERS(WORLD_COUNTER_DESC)
#undef WORLD_COUNTER_DESC
};

static uint32_t links_ready(const struct world *world)
{
	uint32_t ready = 0;

	for (uint32_t i = 0; i < world->link_count; i++)
		ready += pg_link_ready(world->links[i]);
	return ready;
}

static void start_report(struct world *world, bool ok)
{
	if (world->start_posted)
		return;
	world->start_posted = true;
	world->start_ok = ok;
	uv_sem_post(&world->started);
}

static void link_up(struct world *world, uint32_t index)
{
	if (world->start_posted)
		sw_log(SW_LOG_INFO, "world",
			"postgres: link '%s' is back; %u saves and %u commits wait",
			world->ends[index].name, save_table_used(world->saves),
			commit_table_pending(world->commits));
	atomic_store_explicit(&world->down_since_ns[index], 0, memory_order_relaxed);
	counter_put(&world->values[WORLD_LINKS_READY], links_ready(world));
	if (links_ready(world) == world->link_count)
		start_report(world, true);
}

/* Of one link in one outage: several hosts may fail in turn, each for its own reason. */
#define FAULTS_TOLD_MAX 8u

static void link_down(struct world *world, uint32_t index, enum pg_fault fault, const char *message)
{
	const char *cause = pg_target_cause(message);
	bool changed;

	world_count(world, WORLD_LINKS_LOST, 1);
	counter_put(&world->values[WORLD_LINKS_READY], links_ready(world));
	changed = atomic_exchange_explicit(&world->fault[index], fault, memory_order_relaxed) !=
		  fault;
	changed |= atomic_exchange_explicit(&world->cause[index], cause, memory_order_relaxed) !=
		   cause;
	if (atomic_load_explicit(&world->down_since_ns[index], memory_order_relaxed) == 0) {
		atomic_store_explicit(
			&world->down_since_ns[index], mono_ns(), memory_order_relaxed);
		world->faults_told[index] = 0;
		changed = true;
	}
	/* A line for each new reason, a few at most: the attempts that follow are counted. */
	if (changed && world->start_posted && world->faults_told[index]++ < FAULTS_TOLD_MAX)
		sw_log(SW_LOG_WARN, "world",
			"postgres: link '%s': %s%s%s%s%s; play goes on, saves wait, trying to "
			"come back",
			world->ends[index].name, pg_fault_text(fault), *message ? ": " : "",
			message, *cause ? ": " : "", cause);
	if (!world->start_posted) {
		snprintf(world->start_error, sizeof(world->start_error),
			"postgres: link '%s': %s%s%s%s%s", world->ends[index].name,
			pg_fault_text(fault), *message ? ": " : "", message, *cause ? ": " : "",
			cause);
		start_report(world, false);
	}
}

static void requests_up(void *context)
{
	struct link_end *end = context;

	link_up(end->world, end->index);
	requests_pump(end->world, mono_ns());
	parties_pump(end->world, mono_ns());
}

static void requests_down(void *context, enum pg_fault fault, const char *message)
{
	struct link_end *end = context;

	link_down(end->world, end->index, fault, message);
	requests_pump(end->world, mono_ns());
}

static void saves_up(void *context)
{
	struct link_end *end = context;

	link_up(end->world, end->index);
	saves_pump(end->world, mono_ns());
}

static void commits_up(void *context)
{
	struct link_end *end = context;

	link_up(end->world, end->index);
	commits_pump(end->world, mono_ns());
}

static void writes_down(void *context, enum pg_fault fault, const char *message)
{
	struct link_end *end = context;

	link_down(end->world, end->index, fault, message);
}

/* A shard whose commits find no place now, 0: none. */
static uint32_t shard_without_place(const struct world *world)
{
	for (uint32_t s = 1; s < world->source_count; s++) {
		if (!commit_table_room(world->commits, s - 1))
			return s;
	}
	return 0;
}

static void on_tick(uv_timer_t *timer)
{
	struct world *world = timer->data;
	uint64_t now_ns = mono_ns();

	for (uint32_t i = 0; i < world->link_count; i++)
		pg_link_tick(world->links[i], now_ns);
	requests_expire(world, now_ns);
	saves_pump(world, now_ns);
	commits_pump(world, now_ns);
	audits_pump(world, now_ns);
	prune_pump(world, now_ns);
	parties_pump(world, now_ns);
	nodes_pump(world, now_ns);
	flush_check(world, now_ns);
	counter_put(&world->values[WORLD_SAVES_PENDING], save_table_used(world->saves));
	counter_put(&world->values[WORLD_PARTIES_PENDING], world->parties.count);
	counter_put(&world->values[WORLD_COMMITS_PENDING], commit_table_pending(world->commits));
	atomic_store_explicit(
		&world->commits_full, shard_without_place(world), memory_order_relaxed);
	atomic_store_explicit(&world->saves_full,
		world->stalled ||
			save_table_used(world->saves) >= world->config->postgres.saves_pending_max,
		memory_order_relaxed);
}

static void close_handle(uv_handle_t *handle, void *ignored)
{
	(void)ignored;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

static void on_stop(uv_async_t *async)
{
	struct world *world = async->data;

	for (uint32_t i = 0; i < world->link_count; i++) {
		pg_link_close(world->links[i]);
		world->links[i] = NULL;
	}
	uv_walk(&world->loop, close_handle, NULL);
}

static void *thread_main(void *arg)
{
	struct world *world = arg;
	sigset_t all;

	/* Signals are main's. SIGPIPE too: libpq masks it itself, but not inside OpenSSL. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	uv_timer_start(&world->tick_timer, on_tick, 0, PG_LINK_TICK_MS);
	rounds_start(world);
	uv_run(&world->loop, UV_RUN_DEFAULT);
	return NULL;
}

/* By kind of link; each link of commits carries one batch, see commit_table.h. */
static const struct {
	const char *name;
	const struct pg_prepared *prepared;
	uint32_t prepared_count, requests_max;
	void (*on_result)(void *context, uint64_t tag, enum pg_outcome outcome,
		PGresult *const *results, uint32_t count);
	void (*on_up)(void *context);
	void (*on_down)(void *context, enum pg_fault fault, const char *message);
} LINKS[] = {
	[LINK_REQUESTS_INDEX] = {"requests", statements_requests, STATEMENTS_REQUESTS,
		LINK_REQUESTS, requests_on_result, requests_up, requests_down},
	[LINK_SAVES_INDEX] = {"saves", statements_saves, STATEMENTS_SAVES, 1, saves_on_result,
		saves_up, writes_down},
	[LINK_COMMITS_INDEX] = {"commits", statements_commits, STATEMENTS_COMMITS, 1,
		commits_on_result, commits_up, writes_down},
};

static bool make_links(struct world *world)
{
	uint64_t seed = mono_ns();

	for (uint32_t i = 0; i < world->link_count; i++) {
		uint32_t kind = i < LINK_COMMITS_INDEX ? i : LINK_COMMITS_INDEX;
		struct link_end *end = &world->ends[i];
		struct pg_link_config config = {
			.target = &world->target,
			.prepared = LINKS[kind].prepared,
			.prepared_count = LINKS[kind].prepared_count,
			.connect_timeout_ms = world->config->postgres.connect_timeout_ms,
			.statement_timeout_ms = world->config->postgres.statement_timeout_ms,
			.requests_max = LINKS[kind].requests_max,
			.seed = seed += 0x9e3779b97f4a7c15ull,
			.context = end,
			.on_result = LINKS[kind].on_result,
			.on_up = LINKS[kind].on_up,
			.on_down = LINKS[kind].on_down,
		};

		*end = (struct link_end){.world = world, .index = i};
		if (i > LINK_COMMITS_INDEX)
			snprintf(end->name, sizeof(end->name), "%s %u", LINKS[kind].name,
				i - LINK_COMMITS_INDEX + 1);
		else
			snprintf(end->name, sizeof(end->name), "%s", LINKS[kind].name);
		world->links[i] = pg_link_new(&world->loop, &config);
		if (!world->links[i])
			return false;
	}
	return true;
}

/* Memory of the world, by holder:
 *   saves     save_table_bytes(saves_pending_max + LEAVING_RESERVE, saves_per_batch)
 *   encoder   saves_per_batch * 8 columns * 36 bytes
 *   commits   commit_table_bytes(commits_pending_max, commits_per_batch, commit_links): 1.8 KiB
 *             a commit
 *   encoder   commit_encoder_bytes(commits_per_batch, COMMIT_BATCH_OPS times that): 500 bytes a
 *             commit of a batch
 *   parties   PARTIES_PENDING_MAX * 48 bytes, their texts as they come, about 300 bytes each; a batch of
 *             PARTIES_BATCH * 8 KiB
 *   requests  (1 + shards) * SOURCE_REQUESTS * sizeof(struct request)
 *   answers   of details that wait for a full ring, at most MSG_DETAIL_BYTES_MAX (6 KiB) for each
 *             of those requests: taken when it happens */
static bool make_memory(struct world *world, const struct world_links *links)
{
	const struct sw_config *config = world->config;

	world->source_count = 1 + links->shards;
	world->sources[0] = (struct source){.in = links->from_control, .out = links->to_control};
	for (uint32_t i = 0; i < links->shards; i++)
		world->sources[1 + i] =
			(struct source){.in = links->from_shard[i], .out = links->to_shard[i]};
	world->save_batch.limit = config->postgres.saves_per_batch;
	world->saves = save_table_new(config->postgres.saves_pending_max + LEAVING_RESERVE,
		config->postgres.saves_per_batch);
	world->encoder = save_encoder_new(config->postgres.saves_per_batch);
	world->commits = commit_table_new(&(struct commit_table_size){
		.capacity = config->postgres.commits_pending_max,
		.batch_max = config->postgres.commits_per_batch,
		.batch_ops_max = config->postgres.commits_per_batch * COMMIT_BATCH_OPS,
		.batches = config->postgres.commit_links,
		.sources = links->shards > 0 ? links->shards : 1,
	});
	world->commit_encoder = commit_encoder_new(config->postgres.commits_per_batch,
		config->postgres.commits_per_batch * COMMIT_BATCH_OPS);
	world->requests =
		calloc((size_t)world->source_count * SOURCE_REQUESTS, sizeof(*world->requests));
	world->counters = (struct counter_set){.group = "world",
		.count = WORLD_COUNTER_COUNT,
		.desc = DESCRIPTIONS,
		.values = world->values};
	if (!world->saves || !world->encoder || !world->commits || !world->commit_encoder ||
		!world->requests || !parties_init(&world->parties))
		return false;
	requests_init(world);
	nodes_init(world);
	return true;
}

static void free_all(struct world *world)
{
	pg_target_fini(&world->target);
	journal_close(&world->journal);
	save_table_free(world->saves);
	save_encoder_free(world->encoder);
	commit_table_free(world->commits);
	commit_encoder_free(world->commit_encoder);
	for (uint32_t i = 0; world->requests && i < world->source_count * SOURCE_REQUESTS; i++)
		free(world->requests[i].large);
	free(world->requests);
	parties_fini(&world->parties);
	free(world);
}

/* Loop, handles, links, thread. On failure nothing of them is left. */
static bool start_thread(struct world *world, FILE *errors)
{
	CHECK(uv_loop_init(&world->loop) == 0 && uv_sem_init(&world->started, 0) == 0);
	CHECK(uv_timer_init(&world->loop, &world->drain_timer) == 0 &&
		uv_timer_init(&world->loop, &world->tick_timer) == 0 &&
		uv_async_init(&world->loop, &world->stop_async, on_stop) == 0);
	world->drain_timer.data = world->tick_timer.data = world->stop_async.data = world;
	CHECK(make_links(world));
	CHECK(pthread_create(&world->thread, NULL, thread_main, world) == 0);
	pthread_setname_np(world->thread, "world");
	uv_sem_wait(&world->started);
	if (!world->start_ok) {
		fprintf(errors, "%s\n", world->start_error);
		return false;
	}
	return true;
}

static void stop_thread(struct world *world)
{
	uv_async_send(&world->stop_async);
	CHECK(pthread_join(world->thread, NULL) == 0);
	CHECK(uv_loop_close(&world->loop) == 0);
	uv_sem_destroy(&world->started);
}

struct world *world_start(
	const struct sw_config *config, const struct world_links *links, FILE *errors)
{
	struct world *world = calloc(1, sizeof(*world));

	if (!world) {
		fprintf(errors, "world: no memory\n");
		return NULL;
	}
	world->config = config;
	world->journal.fd = -1;
	world->link_count = LINK_COMMITS_INDEX + config->postgres.commit_links;
	for (uint32_t i = 0; i < world->link_count; i++) {
		atomic_init(&world->down_since_ns[i], mono_ns());
		atomic_init(&world->cause[i], "");
	}
	if (pg_target_init(&world->target, config->postgres.conninfo, config->node.name, errors) !=
			0 ||
		server_check(&world->target, config, errors) != 0) {
		free_all(world);
		return NULL;
	}
	if (journal_open(&world->journal, config->ops.journal, errors)) {
		free_all(world);
		return NULL;
	}
	if (!make_memory(world, links)) {
		fprintf(errors,
			"world: no memory for %u waiting saves (postgres.saves_pending_max) and %u "
			"commits (postgres.commits_pending_max)\n",
			config->postgres.saves_pending_max, config->postgres.commits_pending_max);
		free_all(world);
		return NULL;
	}
	if (!start_thread(world, errors)) {
		stop_thread(world);
		free_all(world);
		return NULL;
	}
	return world;
}

uint32_t world_stop(struct world *world)
{
	uint32_t unsaved;

	if (!world)
		return 0;
	stop_thread(world);
	unsaved = save_table_used(world->saves) + commit_table_pending(world->commits);
	free_all(world);
	return unsaved;
}

const struct counter_set *world_counters(const struct world *world)
{
	return &world->counters;
}

void world_histograms(const struct world *world, struct histogram_ref refs[WORLD_HISTOGRAMS])
{
	refs[0] = (struct histogram_ref){"world", "load_seconds",
		"round trip of a character load to PostgreSQL", 0, &world->load_time};
	refs[1] = (struct histogram_ref){"world", "save_batch_seconds",
		"round trip of a batch of position saves to PostgreSQL", 0, &world->batch_time};
	refs[2] = (struct histogram_ref){"world", "commit_batch_seconds",
		"round trip of a batch of commits to PostgreSQL", 0, &world->commit_time};
}

bool world_health(const struct world *world, char *text, size_t text_bytes)
{
	uint64_t pending = counter_get(&world->values[WORLD_SAVES_PENDING]);
	uint64_t commits = counter_get(&world->values[WORLD_COMMITS_PENDING]);
	uint32_t max = world->config->postgres.saves_pending_max;
	uint64_t now_ns = mono_ns();
	uint32_t full;

	for (uint32_t i = 0; i < world->link_count; i++) {
		uint64_t since =
			atomic_load_explicit(&world->down_since_ns[i], memory_order_relaxed);
		const char *cause;

		if (since == 0)
			continue;
		cause = atomic_load_explicit(&world->cause[i], memory_order_relaxed);
		snprintf(text, text_bytes,
			"postgres: link '%s' down for %llu s: %s%s%s; %llu saves of at most %u "
			"and %llu commits wait",
			world->ends[i].name,
			(unsigned long long)((now_ns > since ? now_ns - since : 0) / NS_PER_S),
			pg_fault_text(atomic_load_explicit(&world->fault[i], memory_order_relaxed)),
			*cause ? ": " : "", cause, (unsigned long long)pending, max,
			(unsigned long long)commits);
		return false;
	}
	if (atomic_load_explicit(&world->saves_full, memory_order_relaxed)) {
		snprintf(text, text_bytes,
			"postgres: too slow: %llu saves wait (postgres.saves_pending_max is %u)",
			(unsigned long long)pending, max);
		return false;
	}
	full = atomic_load_explicit(&world->commits_full, memory_order_relaxed);
	if (full) {
		max = world->config->postgres.commits_pending_max;
		if (commits >= max / 2)
			snprintf(text, text_bytes,
				"postgres: too slow: %llu commits wait "
				"(postgres.commits_pending_max is %u) and more are refused",
				(unsigned long long)commits, max);
		else
			snprintf(text, text_bytes,
				"postgres: ready, but shard %u does not take the answers to its "
				"commits, and more of it are refused "
				"(postgres.commits_pending_max is %u for all)",
				full - 1, max);
		return false;
	}
	snprintf(text, text_bytes, "postgres: ready, %llu saves and %llu commits wait",
		(unsigned long long)pending, (unsigned long long)commits);
	return true;
}
