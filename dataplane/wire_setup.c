#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "common/check.h"
#include "common/mono.h"
#include "common/tables.h"
#include "dataplane/wire_internal.h"
#include "proto/message_types.h"

/* Of the histograms of bursts; the last from DP_BURST_MAX up, a transmit burst being twice it. */
#define BURST_BUCKETS 10u

/* Of a figure of the node, when each worker counts by itself: together at least what is asked for,
 * and less than one a worker above. */
static uint32_t share(uint32_t whole, uint32_t workers)
{
	return (whole + workers - 1) / workers;
}

/* workers: that the flows of one source are spread over. */
static void engine_config(const struct sw_config *config, uint32_t index, uint32_t workers,
	struct rate *connects, const uint8_t key[16], struct sw_enet_config *out)
{
	static const enum sw_enet_use use[] = {
		[CONFIG_USE_OFF] = SW_ENET_OFF,
		[CONFIG_USE_ON] = SW_ENET_ON,
		[CONFIG_USE_ANY] = SW_ENET_ANY,
	};

	*out = (struct sw_enet_config){
		.owner = index,
		.peers_max = config->enet.peers_max,
		.half_open_max = config->enet.half_open_max,
		.channels_max = config->enet.channels_max,
		.mtu = config->enet.mtu,
		.packet_bytes_max = config->enet.packet_bytes_max,
		.checksum = use[config->enet.checksum],
		.compression = use[config->enet.compression],
		.connects_per_s = config->enet.connects_per_s,
		.connects_burst = config->enet.connects_burst,
		.connects = connects,
		.source_connects_per_s = share(config->enet.source_connects_per_s, workers),
		.source_connects_burst = share(config->enet.source_connects_burst, workers),
		.returning_percent = config->enet.returning_percent,
		.returning_max = config->enet.returning_max,
		.expand_bytes_per_s = config->enet.expand_bytes_per_s,
		.peer_datagrams_per_s = config->enet.peer_datagrams_per_s,
		.peer_hold_bytes = config->enet.peer_hold_bytes,
		.peer_queue_bytes = config->enet.peer_queue_bytes,
		.pool_bytes = config->enet.pool_bytes,
		.told = {.full = SW_REASON_SERVER_FULL,
			.checksum = SW_REASON_CHECKSUM,
			.compression = SW_REASON_COMPRESSION,
			.slow = SW_REASON_SLOW,
			.oversize = SW_REASON_OVERSIZE,
			.malformed = SW_REASON_MALFORMED},
	};
	memcpy(out->key, key, sizeof(out->key));
}

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static size_t ways_bytes(const struct sw_config *config)
{
	return config->enet.peers_max * sizeof(struct wire_way);
}

/* Worker index's queues, or those of others whose frames may come to it. */
static uint32_t find_queues(const struct sw_config *config, uint32_t index, bool own,
	struct dp_port *const *ports, uint32_t port_count, struct wire_queue *out)
{
	uint32_t found = 0;

	for (uint32_t p = 0; p < port_count; p++) {
		for (uint32_t q = 0; q < ports[p]->queues; q++) {
			uint32_t worker = dp_port_queue_worker(config, ports[p]->index, q);

			if (own ? worker != index
				: worker == index || ports[p]->steer == DP_STEER_QUEUE)
				continue;
			if (out)
				out[found] = (struct wire_queue){
					.port = ports[p],
					.queue = (uint16_t)q,
					.number = (uint16_t)dp_handoff_queue(
						config, ports[p]->index, q),
					.steer = ports[p]->steer,
				};
			found++;
		}
	}
	return found;
}

static uint16_t own_queue_of(const struct dp_wire *wire, const struct dp_port *port, uint16_t other)
{
	for (uint16_t q = 0; q < wire->own_queues; q++)
		if (wire->queue[q].port == port)
			return q;
	return other;
}

static size_t handoff_bytes(uint32_t workers)
{
	return sizeof(struct wire_handoff) + workers * sizeof(struct wire_over);
}

/* How answers leave: by the queue itself, by another of ours on its port, or by its owner. */
static bool connect_queues(struct dp_wire *wire, uint32_t index, struct dp_handoff *shared)
{
	for (uint16_t q = 0; q < wire->own_queues; q++)
		wire->queue[q].reply = q;
	if (!shared)
		return true;
	wire->handoff = calloc(1, handoff_bytes(shared->workers));
	if (!wire->handoff)
		return false;
	wire->handoff->shared = shared;
	wire->handoff->index = index;
	wire->handoff->queue_of = calloc(shared->queues, sizeof(uint16_t));
	if (!wire->handoff->queue_of)
		return false;
	for (uint16_t q = 0; q < wire->queue_count; q++) {
		struct wire_queue *queue = &wire->queue[q];

		wire->handoff->queue_of[queue->number] = q;
		if (q < wire->own_queues)
			continue;
		queue->reply = own_queue_of(wire, queue->port, q);
		queue->back = shared->back[index][dp_port_queue_worker(
			wire->config, queue->port->index, queue->queue)];
		/* Neither: where RSS steers, flows of those alone are handed on who have a queue
		 * there. wire_handoff.c drops the rest. */
		CHECK(queue->reply != q || queue->back || queue->steer == DP_STEER_STRAYS);
	}
	return true;
}

size_t dp_wire_bytes(const struct sw_config *config)
{
	static const uint8_t key[16];
	struct sw_enet_config engine;
	size_t sum = 0;

	engine_config(config, 0, 1, NULL, key, &engine);
	sum += sizeof(struct dp_wire);
	sum += tables_bytes(sw_enet_bytes(&engine)); /* the engine's own sum is in enet.c */
	sum += tables_bytes(ways_bytes(config));     /* two lines per peer: the way back */
	for (uint32_t p = 0; p < config->port_count; p++)
		sum += config->ports[p].queues *
		       sizeof(struct wire_queue);            /* waiting for transmit */
	sum += handoff_bytes(config->dataplane.lcore_count); /* gathered for other workers */
	return sum;
}

size_t dp_wire_stranger_bytes(const struct sw_config *config, uint32_t *half_open)
{
	static const uint8_t key[16];
	struct sw_enet_config engine;

	engine_config(config, 0, 1, NULL, key, &engine);
	*half_open = sw_enet_half_open(&engine);
	return sw_enet_stranger_bytes(&engine);
}

struct dp_wire *dp_wire_new(const struct sw_config *config, uint32_t index,
	struct dp_port *const *ports, uint32_t port_count, const struct dp_wire_sink *sink,
	_Atomic uint64_t *counters, const uint8_t key[16], struct dp_handoff *handoff,
	struct dp_node *node, uint64_t now_ns)
{
	struct sw_enet_config engine;
	struct sw_enet_ops ops = dp_wire_engine_ops;
	struct dp_wire *wire = NULL;
	uint32_t own = find_queues(config, index, true, ports, port_count, NULL), others = 0;

	if (handoff)
		others = find_queues(config, index, false, ports, port_count, NULL);
	if (!own && !others) {
		fprintf(stderr,
			"dataplane: worker %u has no queue: %u lcores share the ports' queues; "
			"lower dataplane.lcores, raise ports[].queues, or set ports[].steering to "
			"auto or software\n",
			index, config->dataplane.lcore_count);
		return NULL;
	}
	engine_config(config, index, handoff ? handoff->workers : 1, node ? &node->connects : NULL,
		key, &engine);
	if (!sw_enet_bytes(&engine)) {
		fprintf(stderr, "dataplane: the engine does not take the enet section's values\n");
		return NULL;
	}
	wire = aligned_alloc(64, round_up(sizeof(*wire), 64));
	if (!wire)
		goto no_memory;
	memset(wire, 0, sizeof(*wire));
	wire->config = config;
	wire->sink = *sink;
	wire->counters = counters;
	wire->cycles.on = config->dataplane.record_cycles != 0;
	wire->cycles.counters = counters;
	wire->rx_burst.plain_buckets = wire->tx_burst.plain_buckets = BURST_BUCKETS;
	wire->burst = (uint16_t)config->dataplane.burst;
	wire->own_queues = own;
	wire->queue_count = own + others;
	wire->node = node ? node : &wire->own_node;
	dp_probe_init(&wire->probe, config->dataplane.probes_per_s, config->dataplane.probes_burst,
		&wire->node->probes);
	wire->engine_bytes = sw_enet_bytes(&engine);
	wire->engine_memory = tables_new(wire->engine_bytes);
	wire->ways = tables_new(ways_bytes(config));
	wire->queue = calloc(wire->queue_count, sizeof(*wire->queue));
	if (!wire->engine_memory || !wire->ways || !wire->queue)
		goto no_memory;
	find_queues(config, index, true, ports, port_count, wire->queue);
	if (others)
		find_queues(config, index, false, ports, port_count, wire->queue + own);
	if (!connect_queues(wire, index, handoff))
		goto no_memory;
	ops.ctx = wire;
	wire->engine = sw_enet_init(
		wire->engine_memory, wire->engine_bytes, &engine, &ops, now_ns / NS_PER_MS);
	CHECK(wire->engine); /* sw_enet_bytes has accepted the values */
	wire->node->peers[index] = &sw_enet_counters(wire->engine)[SW_ENET_C_PEERS];
	return wire;
no_memory:
	fprintf(stderr,
		"dataplane: no memory for worker %u: it needs %zu MiB; lower enet.peers_max or "
		"enet.pool\n",
		index, dp_wire_bytes(config) >> 20);
	dp_wire_free(wire);
	return NULL;
}

void dp_wire_histograms(
	const struct dp_wire *wire, uint32_t index, struct histogram_ref out[DP_WIRE_HISTOGRAMS])
{
	out[0] = (struct histogram_ref){.group = "dataplane",
		.name = "rx_burst_frames",
		.help = "frames of receive bursts that were not empty",
		.index = index,
		.histogram = &wire->rx_burst};
	out[1] = (struct histogram_ref){.group = "dataplane",
		.name = "tx_burst_frames",
		.help = "frames that the port took in a transmit burst",
		.index = index,
		.histogram = &wire->tx_burst};
}

void dp_wire_free(struct dp_wire *wire)
{
	if (!wire)
		return;
	for (uint32_t q = 0; wire->queue && q < wire->queue_count; q++) {
		rte_pktmbuf_free_bulk(wire->queue[q].tx, wire->queue[q].pending);
		rte_pktmbuf_free_bulk(wire->queue[q].spare, wire->queue[q].spares);
	}
	free(wire->queue);
	if (wire->handoff)
		free(wire->handoff->queue_of);
	free(wire->handoff);
	free(wire->ways);
	free(wire->engine_memory);
	free(wire);
}
