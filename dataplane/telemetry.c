/* Commands on DPDK's telemetry socket, for dpdk-telemetry.py:
 *   /stormweir/counters               all counters that are not 0, per worker and port
 *   /stormweir/cycles[,<worker>]      cycles per stage, frames per burst of one worker
 *   /stormweir/peer,<index>[,<worker>] one ENet peer
 * They run on the telemetry thread and touch no hot thread's memory but its counters and the one
 * question that dp_worker_peer_info asks. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_telemetry.h>

#include "common/handle.h"
#include "dataplane/counters.h"
#include "dataplane/cycles.h"
#include "dataplane/worker.h"

/* DPDK hands a command's callback no context, so its subject has to be found here. Main writes,
 * the telemetry thread reads, both under the lock; no hot thread comes near. */
static struct {
	pthread_mutex_t lock;
	struct dp_worker *workers[CONFIG_LCORES_MAX];
	struct dp_port *ports[CONFIG_PORTS_MAX];
	uint32_t worker_count, port_count;
	bool registered;
} subject = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* DPDK cuts off what is beyond its 256 entries: counters of 0 are left out. */
static void add_nonzero(struct rte_tel_data *data, const char *name, uint64_t value)
{
	if (value)
		rte_tel_data_add_dict_u64(data, name, value);
}

static int add_counters(const char *command, const char *params, struct rte_tel_data *data)
{
	char name[RTE_TEL_MAX_STRING_LEN];

	(void)command;
	(void)params;
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&subject.lock);
	for (uint32_t w = 0; w < subject.worker_count; w++) {
		const struct counter_set *sets = dp_worker_counters(subject.workers[w]);

		for (uint32_t s = 0; s < DP_WORKER_COUNTER_SETS; s++) {
			for (uint32_t c = 0; c < sets[s].count; c++) {
				snprintf(name, sizeof(name), "%s%u_%s", sets[s].group,
					sets[s].index, sets[s].desc[c].name);
				add_nonzero(data, name, counter_get(&sets[s].values[c]));
			}
		}
	}
	for (uint32_t p = 0; p < subject.port_count; p++) {
		struct dp_port_losses losses;

		dp_port_losses(subject.ports[p], &losses);
		snprintf(name, sizeof(name), "port%u_rx_no_mbuf", p);
		add_nonzero(data, name, losses.no_mbuf);
		snprintf(name, sizeof(name), "port%u_rx_missed", p);
		add_nonzero(data, name, losses.missed);
	}
	pthread_mutex_unlock(&subject.lock);
	return 0;
}

static uint64_t dataplane_counter(const struct dp_worker *worker, uint32_t counter)
{
	return counter_get(&dp_worker_counters(worker)[0].values[counter]);
}

/* frames: bucket i of the histogram as the lowest and highest number of frames in it. */
static void add_bursts(struct rte_tel_data *data, const struct histogram_ref *ref)
{
	char name[RTE_TEL_MAX_STRING_LEN];

	for (uint32_t i = 1; i < HISTOGRAM_BUCKETS; i++) {
		snprintf(name, sizeof(name), "%s_%llu_to_%llu", ref->name, 1ull << (i - 1),
			(1ull << i) - 1);
		add_nonzero(data, name, counter_get(&ref->histogram->bucket[i]));
	}
}

static int add_cycles(const char *command, const char *params, struct rte_tel_data *data)
{
	static const char *const names[] = {
#define STAGE_NAME(id, name, text) name "_cycles",
		DP_STAGES(STAGE_NAME)
#undef STAGE_NAME
	};
	struct histogram_ref refs[DP_WORKER_HISTOGRAMS];
	const struct dp_worker *worker;
	unsigned index = 0;
	uint64_t busy = 0, frames;

	(void)command;
	if (params && *params && sscanf(params, "%u", &index) != 1)
		return -EINVAL;
	pthread_mutex_lock(&subject.lock);
	if (index >= subject.worker_count) {
		pthread_mutex_unlock(&subject.lock);
		return -EINVAL;
	}
	worker = subject.workers[index];
	rte_tel_data_start_dict(data);
	for (uint32_t s = 0; s < DP_STAGE_COUNT; s++) {
		uint64_t cycles = dataplane_counter(worker, DP_C_CYCLES_RING + s);

		rte_tel_data_add_dict_u64(data, names[s], cycles);
		busy += cycles;
	}
	rte_tel_data_add_dict_u64(
		data, "route_cycles", dataplane_counter(worker, DP_C_CYCLES_ROUTE));
	rte_tel_data_add_dict_u64(data, "busy_cycles", busy);
	rte_tel_data_add_dict_u64(data, "idle_cycles", dataplane_counter(worker, DP_C_CYCLES_IDLE));
	rte_tel_data_add_dict_u64(data, "tsc_hz", rte_get_tsc_hz());
	frames = dataplane_counter(worker, DP_C_RX_PACKETS) +
		 dataplane_counter(worker, DP_C_HANDOFF_TAKEN);
	rte_tel_data_add_dict_u64(data, "rx_frames", frames);
	rte_tel_data_add_dict_u64(data, "busy_cycles_per_rx_frame", frames ? busy / frames : 0);
	dp_worker_histograms(worker, refs);
	for (uint32_t i = 0; i < DP_WORKER_HISTOGRAMS; i++)
		add_bursts(data, &refs[i]);
	pthread_mutex_unlock(&subject.lock);
	return 0;
}

static void add_peer(struct rte_tel_data *data, const struct sw_enet_peer_info *info)
{
	char address[INET6_ADDRSTRLEN + 8], ip[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, info->address.ip + 12, ip, sizeof(ip));
	snprintf(address, sizeof(address), "%s:%u", ip, info->address.port);
	rte_tel_data_add_dict_string(data, "address", address);
	rte_tel_data_add_dict_u64(data, "handle", info->peer);
	rte_tel_data_add_dict_u64(data, "rtt_ms", info->rtt_ms);
	rte_tel_data_add_dict_u64(data, "rtt_variance_ms", info->rtt_variance_ms);
	rte_tel_data_add_dict_u64(data, "mtu", info->mtu);
	rte_tel_data_add_dict_u64(data, "reliable_in_flight_bytes", info->reliable_in_flight_bytes);
	rte_tel_data_add_dict_u64(data, "throttle", info->throttle);
	rte_tel_data_add_dict_u64(data, "packets_sent", info->packets_sent);
	rte_tel_data_add_dict_u64(data, "packets_lost", info->packets_lost);
}

static int one_peer(const char *command, const char *params, struct rte_tel_data *data)
{
	unsigned index = 0, worker = 0;
	struct sw_enet_peer_info info;
	int ret = -EINVAL;

	(void)command;
	if (!params || sscanf(params, "%u,%u", &index, &worker) < 1)
		return -EINVAL;
	pthread_mutex_lock(&subject.lock);
	if (worker < subject.worker_count)
		ret = dp_worker_peer_info(subject.workers[worker], index, &info);
	pthread_mutex_unlock(&subject.lock);
	if (ret)
		return ret;
	rte_tel_data_start_dict(data);
	add_peer(data, &info);
	return 0;
}

int dp_telemetry_start(struct dp_worker *const *workers, uint32_t worker_count,
	struct dp_port *const *ports, uint32_t port_count)
{
	int ret = 0;

	if (worker_count > CONFIG_LCORES_MAX || port_count > CONFIG_PORTS_MAX)
		return -EINVAL;
	pthread_mutex_lock(&subject.lock);
	subject.worker_count = worker_count;
	subject.port_count = worker_count ? port_count : 0;
	for (uint32_t w = 0; w < worker_count; w++)
		subject.workers[w] = workers[w];
	for (uint32_t p = 0; p < subject.port_count; p++)
		subject.ports[p] = ports[p];
	if (worker_count && !subject.registered) {
		ret = rte_telemetry_register_cmd(
			"/stormweir/counters", add_counters, "All counters that are not 0");
		if (!ret)
			ret = rte_telemetry_register_cmd("/stormweir/cycles", add_cycles,
				"Cycles per stage, frames per burst. Parameter: worker (0 if left "
				"out)");
		if (!ret)
			ret = rte_telemetry_register_cmd("/stormweir/peer", one_peer,
				"One ENet peer. Parameters: slot, worker (0 if left out)");
		subject.registered = !ret;
	}
	pthread_mutex_unlock(&subject.lock);
	return ret;
}
