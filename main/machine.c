#include "main/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include <sodium.h>

#include "common/log.h"
#include "common/mono.h"
#include "control/ops/ops.h"
#include "control/recorder/recorder.h"
#include "dataplane/handoff.h"
#include "dataplane/port.h"
#include "dataplane/wire.h"
#include "dataplane/worker.h"
#include "main/script_desk.h"
#include "simulation/instance.h"
#include "simulation/record.h"
#include "simulation/script/script.h"
#include "simulation/shard.h"

/* Events of one hot thread to the log thread: rare, so a small ring. */
#define LOG_RING_SLOTS 1024u

/* How long a stop waits for clients to acknowledge their disconnect. */
#define STOP_LINGER_NS NS_PER_S

static int out_of_memory(const char *what)
{
	fprintf(stderr, "stormweir: no memory for %s\n", what);
	return -ENOMEM;
}

static int check_lcores(const struct sw_config *config)
{
	const struct {
		const char *key;
		const uint32_t *ids;
		uint32_t count;
	} lists[] = {
		{"dataplane.lcores", config->dataplane.lcores, config->dataplane.lcore_count},
		{"simulation.lcores", config->simulation.lcores, config->simulation.lcore_count},
	};

	for (uint32_t l = 0; l < 2; l++) {
		for (uint32_t i = 0; i < lists[l].count; i++) {
			uint32_t id = lists[l].ids[i];

			if (id < RTE_MAX_LCORE && id == rte_get_main_lcore()) {
				fprintf(stderr,
					"stormweir: %s: lcore %u is EAL's main lcore, where the "
					"control threads run; use another, or choose the main one "
					"with --main-lcore\n",
					lists[l].key, id);
				return -EINVAL;
			}
			if (id >= RTE_MAX_LCORE || !rte_lcore_is_enabled(id)) {
				fprintf(stderr,
					"stormweir: %s: EAL has no lcore %u; name it before the "
					"--, with -l or --lcores\n",
					lists[l].key, id);
				return -EINVAL;
			}
		}
	}
	return 0;
}

static bool ring_pair(struct msg_ring **one, struct msg_ring **other, const char *a, uint32_t i,
	const char *b, uint32_t j, uint32_t slots)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%u-%s%u", a, i, b, j);
	*one = msg_ring_new(name, slots);
	snprintf(name, sizeof(name), "%s%u-%s%u", b, j, a, i);
	*other = msg_ring_new(name, slots);
	return *one && *other;
}

/* Memory: (2·W·S + 5·W + 2·S + 2·S + 4) rings of rings.slots · 64 bytes (32,768: 2 MiB each; one
 * worker and one shard: 30 MiB), W + S log rings of 64 KiB, and two of 128 KiB for orders. */
static int build_rings(struct machine *m)
{
	uint32_t slots = m->config->rings.slots;
	bool ok = true;

	for (uint32_t w = 0; w < m->workers; w++) {
		ok &= ring_pair(&m->worker_to_control[w], &m->control_to_worker[w], "worker", w,
			"control", 0, slots);
		ok &= ring_pair(&m->worker_to_chat[w], &m->chat_to_worker[w], "worker", w, "chat",
			0, slots);
		ok &= (m->chat_lines[w] = msg_ring_new("chat-lines", slots)) != NULL;
		for (uint32_t s = 0; s < m->shards; s++)
			ok &= ring_pair(&m->worker_to_shard[w][s], &m->shard_to_worker[s][w],
				"worker", w, "shard", s, slots);
		ok &= (m->worker_log[w] = msg_ring_new("worker-log", LOG_RING_SLOTS)) != NULL;
	}
	for (uint32_t s = 0; s < m->shards; s++) {
		ok &= ring_pair(&m->shard_to_control[s], &m->control_to_shard[s], "shard", s,
			"control", 0, slots);
		ok &= ring_pair(&m->shard_to_world[s], &m->world_to_shard[s], "shard", s, "world",
			0, slots);
		ok &= (m->shard_log[s] = msg_ring_new("shard-log", LOG_RING_SLOTS)) != NULL;
	}
	ok &= (m->ops_to_control = msg_ring_new("ops-control", OPS_ORDER_SLOTS)) != NULL;
	ok &= (m->control_to_ops = msg_ring_new("control-ops", OPS_ORDER_SLOTS)) != NULL;
	ok &= ring_pair(
		&m->control_to_world, &m->world_to_control, "control", 0, "world", 0, slots);
	ok &= ring_pair(&m->control_to_chat, &m->chat_to_control, "control", 0, "chat", 0, slots);
	return ok ? 0 : out_of_memory("the message rings (rings.slots)");
}

/* Says what the dataplane takes: what a flood can fill is computed, so nobody has read it. */
static void tell_memory(const struct machine *m)
{
	uint32_t half_open;
	size_t strangers = dp_wire_stranger_bytes(m->config, &half_open);

	sw_log(SW_LOG_INFO, "main",
		"a dataplane worker has %zu MiB, %zu KiB of them for who is no peer yet or no "
		"more: %u handshakes at once",
		dp_worker_bytes(m->config) >> 20, strangers >> 10, half_open);
}

static int build_workers(struct machine *m)
{
	uint8_t key[16];

	randombytes_buf(key, sizeof(key));
	if (dp_handoff_new(m->config, m->port, m->ports, key, &m->handoff))
		return -ENOMEM;
	for (uint32_t w = 0; w < m->workers; w++) {
		struct dp_links links = {
			.handoff = m->handoff,
			.node = &m->node,
			.to_control = m->worker_to_control[w],
			.from_control = m->control_to_worker[w],
			.to_chat = m->worker_to_chat[w],
			.from_chat = m->chat_to_worker[w],
			.lines = m->chat_lines[w],
			.shards = m->shards,
			.log = m->worker_log[w],
		};

		for (uint32_t s = 0; s < m->shards; s++) {
			links.to_shard[s] = m->worker_to_shard[w][s];
			links.from_shard[s] = m->shard_to_worker[s][w];
		}
		m->worker[w] = dp_worker_new(m->config, w, m->port, m->ports, &links, key);
		if (!m->worker[w])
			return out_of_memory("a dataplane worker (enet.peers_max, enet.pool)");
	}
	tell_memory(m);
	return 0;
}

/* The table of instances, and one of each definition: what cannot run is said now. */
static int build_instances(struct machine *m, uint64_t seed)
{
	char error[16384] = ""; /* faults of map files, a line each */
	int rc = -ENOMEM;

	m->instances = sim_instances_new(m->config, m->watchdog, seed, error, sizeof(error));
	if (m->instances)
		rc = sim_instances_check(m->instances, error, sizeof(error));
	if (rc) {
		fprintf(stderr, "stormweir: %s\n", error);
		return rc;
	}
	sw_log(SW_LOG_INFO, "main", "%u maps, at most %u instances of them, %zu MiB in all",
		m->config->map_count, sim_instances_count(m->instances),
		sim_instances_bytes_max(m->instances) >> 20);
	return 0;
}

/* What each shard records of its inputs, and who writes it down. */
static int build_recorder(struct machine *m, const char *config_path, uint64_t seed,
	const uint64_t *commit_start, uint64_t now_ns)
{
	struct recorder_source sources[CONFIG_LCORES_MAX];
	static struct recording_header headers[CONFIG_LCORES_MAX]; /* large */
	char *path = realpath(config_path, NULL);

	for (uint32_t s = 0; s < m->shards; s++) {
		struct recording_header *h = &headers[s];

		*h = (struct recording_header){.shard = s,
			.workers = m->workers,
			.node_seed = seed,
			.seed = seed + s,
			.commit_start = commit_start[s],
			.start_ns = now_ns};
		sim_record_header(m->config, h);
		snprintf(h->config_path, sizeof(h->config_path), "%s", path ? path : config_path);
		m->record[s] = sim_record_new(m->config->simulation.record_buffer_bytes);
		if (!m->record[s])
			break;
		sources[s] = (struct recorder_source){.ring = m->record[s]->out, .header = h};
	}
	free(path);
	if (!m->record[m->shards - 1])
		return out_of_memory("the recordings (simulation.record_buffer)");
	m->recorder = recorder_start(m->config, sources, m->shards, stderr);
	return m->recorder ? 0 : -EIO;
}

static bool is_recording(void *ctx)
{
	const struct machine *m = ctx;

	return m->recorder && recorder_open(m->recorder);
}

static int build_shards(struct machine *m, const char *config_path)
{
	uint64_t now_ns = mono_ns(), commit_start[CONFIG_LCORES_MAX];
	uint64_t seed = m->config->simulation.seed;
	int rc = script_watchdog_start(&m->watchdog, SCRIPT_WATCHDOG_PERIOD_US);

	if (rc) {
		fprintf(stderr, "stormweir: the script watchdog did not start: %s\n",
			strerror(-rc));
		return rc;
	}
	if (!seed)
		randombytes_buf(&seed, sizeof(seed));
	randombytes_buf(commit_start, sizeof(commit_start));
	sw_log(SW_LOG_INFO, "main", "simulation seed %llu", (unsigned long long)seed);
	rc = build_instances(m, seed);
	if (!rc) {
		m->scripts = script_desk_new(m->instances, m->config, is_recording, m);
		rc = m->scripts ? 0 : out_of_memory("what operators see of scripts");
	}
	if (!rc && m->config->simulation.record[0])
		rc = build_recorder(m, config_path, seed, commit_start, now_ns);
	if (rc)
		return rc;
	for (uint32_t s = 0; s < m->shards; s++) {
		char error[512] = "";
		struct sim_links links = {
			.workers = m->workers,
			.from_control = m->control_to_shard[s],
			.to_control = m->shard_to_control[s],
			.from_world = m->world_to_shard[s],
			.to_world = m->shard_to_world[s],
			.log = m->shard_log[s],
			.watchdog = m->watchdog,
			.instances = m->instances,
			.record = m->record[s],
			.commit_start = commit_start[s],
		};

		for (uint32_t w = 0; w < m->workers; w++) {
			links.from_dataplane[w] = m->worker_to_shard[w][s];
			links.to_dataplane[w] = m->shard_to_worker[s][w];
		}
		m->shard[s] =
			sim_shard_new(m->config, s, &links, seed + s, now_ns, error, sizeof(error));
		if (!m->shard[s]) {
			fprintf(stderr, "stormweir: shard %u: %s\n", s, error);
			return -EINVAL;
		}
	}
	return 0;
}

static struct lcore *lcore_of(struct machine *m, uint32_t id)
{
	for (uint32_t i = 0; i < m->lcores; i++)
		if (m->lcore[i].id == id)
			return &m->lcore[i];
	m->lcore[m->lcores] =
		(struct lcore){.id = id, .idle = m->config->dataplane.idle, .stop = &m->stop};
	return &m->lcore[m->lcores++];
}

int machine_build(struct machine *m, const struct sw_config *config, const char *config_path)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->config = config;
	m->workers = config->dataplane.lcore_count;
	m->shards = config->simulation.lcore_count;
	rc = check_lcores(config);
	if (rc)
		return rc;
	for (; m->ports < config->port_count; m->ports++) {
		rc = dp_port_open(config, m->ports, stderr, &m->port[m->ports]);
		if (rc)
			return rc;
	}
	rc = build_rings(m);
	if (!rc)
		rc = build_workers(m);
	if (!rc)
		rc = build_shards(m, config_path);
	if (rc)
		return rc;
	for (uint32_t w = 0; w < m->workers; w++)
		lcore_of(m, config->dataplane.lcores[w])->worker = m->worker[w];
	for (uint32_t s = 0; s < m->shards; s++)
		lcore_of(m, config->simulation.lcores[s])->shard = m->shard[s];
	return 0;
}

static int build_instance(void *ctx, uint32_t id, char *error, size_t error_bytes)
{
	return sim_instance_build(ctx, id, error, error_bytes);
}

static uint32_t record_stop(void *ctx)
{
	return recorder_end(ctx);
}

void machine_control_links(const struct machine *m, struct ctl_links *links)
{
	memset(links, 0, sizeof(*links));
	links->workers = m->workers;
	links->shards = m->shards;
	for (uint32_t w = 0; w < m->workers; w++) {
		links->from_dataplane[w] = m->worker_to_control[w];
		links->to_dataplane[w] = m->control_to_worker[w];
	}
	for (uint32_t s = 0; s < m->shards; s++) {
		links->from_shard[s] = m->shard_to_control[s];
		links->to_shard[s] = m->control_to_shard[s];
		links->shard_last_tick_ns[s] = sim_shard_last_tick_end(m->shard[s]);
		links->shard_gauges[s] = sim_shard_gauges(m->shard[s]);
	}
	links->instance_gauges = sim_instances_gauges(m->instances);
	links->instance_tick_times = sim_instances_tick_times(m->instances);
	links->stage_names = sim_stage_names;
	links->build = build_instance;
	links->build_ctx = m->instances;
	links->scripts = &script_desk_ops;
	links->script_ctx = m->scripts;
	links->record_stop = m->recorder ? record_stop : NULL;
	links->record_ctx = m->recorder;
	links->from_ops = m->ops_to_control;
	links->to_ops = m->control_to_ops;
	links->to_world = m->control_to_world;
	links->from_world = m->world_to_control;
	links->to_chat = m->control_to_chat;
	links->from_chat = m->chat_to_control;
}

void machine_chat_links(const struct machine *m, struct chat_links *links)
{
	memset(links, 0, sizeof(*links));
	links->workers = m->workers;
	for (uint32_t w = 0; w < m->workers; w++) {
		links->from_worker[w] = m->worker_to_chat[w];
		links->to_worker[w] = m->chat_to_worker[w];
		links->lines[w] = m->chat_lines[w];
	}
	links->from_control = m->control_to_chat;
	links->to_control = m->chat_to_control;
	links->sessions = 2 * m->workers * m->config->enet.peers_max; /* adm_sessions */
}

void machine_world_links(const struct machine *m, struct world_links *links)
{
	memset(links, 0, sizeof(*links));
	links->from_control = m->control_to_world;
	links->to_control = m->world_to_control;
	links->shards = m->shards;
	for (uint32_t s = 0; s < m->shards; s++) {
		links->from_shard[s] = m->shard_to_world[s];
		links->to_shard[s] = m->world_to_shard[s];
	}
}

uint32_t machine_log_rings(const struct machine *m, struct msg_ring **rings)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < m->workers; w++)
		rings[count++] = m->worker_log[w];
	for (uint32_t s = 0; s < m->shards; s++)
		rings[count++] = m->shard_log[s];
	return count;
}

static enum ops_level dataplane_health(void *ctx, char *sentence, size_t bytes)
{
	const struct machine *m = ctx;
	uint32_t up = 0;

	for (uint32_t p = 0; p < m->ports; p++) {
		if (atomic_load_explicit(&m->port[p]->failed, memory_order_relaxed)) {
			snprintf(sentence, bytes, "port %s has failed; see the log",
				m->port[p]->name);
			return OPS_RED;
		}
		if (!dp_port_running(m->port[p])) {
			snprintf(sentence, bytes, "port %s is being reset", m->port[p]->name);
			return OPS_YELLOW;
		}
	}
	for (uint32_t p = 0; p < m->ports; p++)
		up += dp_port_link(m->port[p], sentence, bytes) == DP_LINK_UP;
	for (uint32_t p = 0; p < m->ports; p++) {
		enum dp_link link = dp_port_link(m->port[p], sentence, bytes);

		/* Nobody comes in without any link; a port that comes back needs no restart. */
		if (link != DP_LINK_UP)
			return up && link == DP_LINK_DOWN ? OPS_YELLOW : OPS_RED;
	}
	snprintf(sentence, bytes, "%u ports, %u workers", m->ports, m->workers);
	return OPS_GREEN;
}

void machine_register(struct machine *m, struct ops *ops)
{
	for (uint32_t w = 0; w < m->workers; w++) {
		struct histogram_ref refs[DP_WORKER_HISTOGRAMS];

		for (uint32_t i = 0; i < DP_WORKER_COUNTER_SETS; i++)
			ops_register_counters(ops, &dp_worker_counters(m->worker[w])[i]);
		dp_worker_histograms(m->worker[w], refs);
		for (uint32_t i = 0; i < DP_WORKER_HISTOGRAMS; i++)
			ops_register_histogram(ops, &refs[i]);
	}
	for (uint32_t s = 0; s < m->shards; s++) {
		struct histogram_ref refs[32];
		uint32_t count = sim_shard_histograms(m->shard[s], refs, 32);

		ops_register_counters(ops, sim_shard_counters(m->shard[s]));
		for (uint32_t i = 0; i < count; i++)
			ops_register_histogram(ops, &refs[i]);
	}
	for (uint32_t s = 0; s < m->shards && m->recorder; s++)
		ops_register_counters(ops, recorder_counters(m->recorder, s));
	for (uint32_t i = 0; i < sim_instances_count(m->instances); i++)
		if (sim_instance_script(m->instances, i))
			ops_register_counters(ops, sim_instance_script(m->instances, i));
	ops_register_health(ops, "dataplane", dataplane_health, m);
	ops_register_orders(ops, m->ops_to_control, m->control_to_ops);
}

int machine_start(struct machine *m)
{
	int rc = dp_telemetry_start(m->worker, m->workers, m->port, m->ports);

	if (rc)
		sw_log(SW_LOG_WARN, "main", "no DPDK telemetry: %s", strerror(-rc));
	m->running = true;
	for (uint32_t i = 0; i < m->lcores; i++) {
		struct lcore *core = &m->lcore[i];

		rc = rte_eal_remote_launch(lcore_run, core, core->id);
		if (rc) {
			fprintf(stderr, "stormweir: lcore %u did not start: %s\n", core->id,
				strerror(-rc));
			return rc;
		}
		sw_log(SW_LOG_INFO, "main", "lcore %u runs%s%s%s", core->id,
			core->worker ? " a dataplane worker" : "",
			core->worker && core->shard ? " and" : "", core->shard ? " a shard" : "");
	}
	return 0;
}

static void tell_script_texts(const struct machine *m, uint32_t slot)
{
	const struct config_map *map = &m->config->maps[instance_definition(m->config, slot)];
	struct script_text text;

	while (sim_instance_text_pop(m->instances, slot, &text)) {
		char title[256];

		script_text_title(&text, title, sizeof(title));
		script_desk_note(m->scripts, slot, &text, title);
		sw_log(text.kind == SCRIPT_TEXT_ERROR ? SW_LOG_WARN : SW_LOG_INFO, "script",
			"map %s, slot %u, tick %u, %s: %s", map->name, slot, text.tick, title,
			text.text);
	}
}

void machine_tend(struct machine *m)
{
	for (uint32_t i = 0; i < sim_instances_count(m->instances); i++)
		tell_script_texts(m, i);
	for (uint32_t p = 0; p < m->ports; p++)
		dp_port_maintain(m->port[p], stderr);
}

void machine_stop(struct machine *m)
{
	const struct timespec look = {.tv_nsec = 5 * (long)NS_PER_MS};
	uint64_t end_ns = mono_ns() + STOP_LINGER_NS;
	uint32_t peers;

	if (!m->running)
		return;
	do {
		peers = 0;
		for (uint32_t w = 0; w < m->workers; w++)
			peers += dp_worker_peers(m->worker[w]);
	} while (peers && mono_ns() < end_ns && !nanosleep(&look, NULL));
	atomic_store(&m->stop, true);
	rte_eal_mp_wait_lcore();
	dp_telemetry_start(NULL, 0, NULL, 0);
	recorder_stop(m->recorder); /* while there is a log to say how it ended */
	m->recorder = NULL;
	m->running = false;
}

void machine_free(struct machine *m)
{
	recorder_stop(m->recorder);
	for (uint32_t s = 0; s < m->shards; s++)
		if (m->shard[s])
			sim_shard_free(m->shard[s]);
	for (uint32_t s = 0; s < m->shards; s++)
		sim_record_free(m->record[s]);
	script_desk_free(m->scripts);
	sim_instances_free(m->instances);
	if (m->watchdog)
		script_watchdog_stop(m->watchdog);
	for (uint32_t w = 0; w < m->workers; w++)
		dp_worker_free(m->worker[w]);
	dp_handoff_free(m->handoff);
	for (uint32_t p = 0; p < m->ports; p++)
		dp_port_close(m->port[p]);
	for (uint32_t w = 0; w < m->workers; w++) {
		for (uint32_t s = 0; s < m->shards; s++) {
			msg_ring_free(m->worker_to_shard[w][s]);
			msg_ring_free(m->shard_to_worker[s][w]);
		}
		msg_ring_free(m->worker_to_control[w]);
		msg_ring_free(m->control_to_worker[w]);
		msg_ring_free(m->worker_to_chat[w]);
		msg_ring_free(m->chat_to_worker[w]);
		msg_ring_free(m->chat_lines[w]);
		msg_ring_free(m->worker_log[w]);
	}
	for (uint32_t s = 0; s < m->shards; s++) {
		msg_ring_free(m->shard_to_control[s]);
		msg_ring_free(m->control_to_shard[s]);
		msg_ring_free(m->shard_to_world[s]);
		msg_ring_free(m->world_to_shard[s]);
		msg_ring_free(m->shard_log[s]);
	}
	msg_ring_free(m->ops_to_control);
	msg_ring_free(m->control_to_ops);
	msg_ring_free(m->control_to_world);
	msg_ring_free(m->world_to_control);
	msg_ring_free(m->control_to_chat);
	msg_ring_free(m->chat_to_control);
}
