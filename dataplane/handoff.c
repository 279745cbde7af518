#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/handoff.h"

uint32_t dp_handoff_queue(const struct sw_config *config, uint32_t port_index, uint32_t queue)
{
	for (uint32_t i = 0; i < port_index; i++)
		queue += config->ports[i].queues;
	return queue;
}

/* The most that any of the worker's queues needs: QUEUE, STRAYS or HASH. */
static enum dp_steer steer_of(const struct sw_config *config, struct dp_port *const *ports,
	uint32_t port_count, uint32_t worker)
{
	enum dp_steer most = DP_STEER_QUEUE;

	for (uint32_t p = 0; p < port_count; p++)
		for (uint32_t q = 0; q < ports[p]->queues; q++)
			if (dp_port_queue_worker(config, ports[p]->index, q) == worker &&
				ports[p]->steer > most)
				most = ports[p]->steer;
	return most;
}

static bool any_strays(struct dp_port *const *ports, uint32_t port_count)
{
	for (uint32_t p = 0; p < port_count; p++)
		if (ports[p]->steer == DP_STEER_STRAYS)
			return true;
	return false;
}

static uint32_t flows_max(const struct sw_config *config)
{
	return config->dataplane.lcore_count * config->enet.peers_max;
}

size_t dp_handoff_bytes(
	const struct sw_config *config, struct dp_port *const *ports, uint32_t port_count)
{
	uint32_t others = config->dataplane.lcore_count - 1;
	size_t sum = sizeof(struct dp_handoff);

	for (uint32_t w = 0; w <= others; w++) {
		enum dp_steer steer = steer_of(config, ports, port_count, w);
		size_t ring = dp_frame_ring_bytes(dp_port_handoff_frames(config, steer));

		if (steer == DP_STEER_QUEUE)
			continue;
		sum += others * ring; /* over: frames for others */
		if (steer == DP_STEER_HASH)
			sum += others * ring; /* back: frames of others for its queues */
	}
	if (any_strays(ports, port_count))
		sum += dp_flows_bytes(flows_max(config)); /* 16 to 32 bytes a peer slot */
	return sum;
}

static bool make_rings(struct dp_handoff *handoff, const struct sw_config *config, uint32_t worker,
	enum dp_steer steer)
{
	uint32_t frames = dp_port_handoff_frames(config, steer);

	for (uint32_t other = 0; other < handoff->workers; other++) {
		if (other == worker)
			continue;
		handoff->over[worker][other] = dp_frame_ring_new(frames);
		if (!handoff->over[worker][other])
			return false;
		if (steer != DP_STEER_HASH)
			continue;
		handoff->back[other][worker] = dp_frame_ring_new(frames);
		if (!handoff->back[other][worker])
			return false;
	}
	return true;
}

int dp_handoff_new(const struct sw_config *config, struct dp_port *const *ports,
	uint32_t port_count, const uint8_t key[16], struct dp_handoff **out)
{
	struct dp_handoff *handoff;
	bool ok = true, crosses = false;

	*out = NULL;
	for (uint32_t p = 0; p < port_count; p++)
		crosses |= ports[p]->steer != DP_STEER_QUEUE;
	if (!crosses)
		return 0;
	handoff = calloc(1, sizeof(*handoff));
	if (!handoff)
		goto no_memory;
	handoff->workers = config->dataplane.lcore_count;
	memcpy(handoff->key, key, sizeof(handoff->key));
	for (uint32_t p = 0; p < port_count; p++)
		handoff->queues += ports[p]->queues;
	for (uint32_t w = 0; w < handoff->workers && ok; w++) {
		enum dp_steer steer = steer_of(config, ports, port_count, w);

		if (steer != DP_STEER_QUEUE)
			ok = make_rings(handoff, config, w, steer);
	}
	if (ok && any_strays(ports, port_count)) {
		handoff->flows = dp_flows_new(flows_max(config));
		ok = handoff->flows != NULL;
	}
	if (ok) {
		*out = handoff;
		return 0;
	}
no_memory:
	fprintf(stderr,
		"dataplane: no memory for the rings between %u workers: they need %zu KiB\n",
		config->dataplane.lcore_count, dp_handoff_bytes(config, ports, port_count) >> 10);
	dp_handoff_free(handoff);
	return -ENOMEM;
}

static void empty_and_free(struct dp_frame_ring *ring)
{
	struct rte_mbuf *mbufs[32];
	uint32_t n;

	if (!ring)
		return;
	while ((n = dp_frame_ring_pop(ring, (void **)mbufs, 32)))
		rte_pktmbuf_free_bulk(mbufs, n);
	dp_frame_ring_free(ring);
}

void dp_handoff_free(struct dp_handoff *handoff)
{
	if (!handoff)
		return;
	for (uint32_t from = 0; from < handoff->workers; from++) {
		for (uint32_t to = 0; to < handoff->workers; to++) {
			empty_and_free(handoff->over[from][to]);
			empty_and_free(handoff->back[from][to]);
		}
	}
	dp_flows_free(handoff->flows);
	free(handoff);
}
