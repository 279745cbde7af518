/* wire.h: the road between the port queues of one worker and its ENet engine.
 *
 * A turn takes a burst from each queue, reads the headers (packet.h), answers ARP, neighbour
 * discovery and pings and probes, gives the datagrams to the engine, and sends what the engine
 * frames. Peers are answered by the port, queue, VLAN and next hop that their last datagram came
 * by, with headers that are built once.
 *
 * One thread makes every call but dp_wire_new, dp_wire_free (main, while that thread does not run).
 * After dp_wire_new nothing allocates, locks, logs or makes a system call, but what a port's driver
 * does (AF_XDP: one sendto per transmit burst). */
#ifndef SW_DATAPLANE_WIRE_H
#define SW_DATAPLANE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "dataplane/enet/enet.h"
#include "dataplane/handoff.h"
#include "dataplane/port.h"

struct dp_wire;
struct dp_node;

/* Where packets and events go: four of struct sw_enet_ops, with the same meaning. */
struct dp_wire_sink {
	void *ctx;
	bool (*deliver)(void *ctx, const struct sw_enet_delivery *run, uint32_t count);
	uint32_t (*deliver_each)(void *ctx, const struct sw_enet_delivery *packets, uint32_t count);
	bool (*connected)(void *ctx, const struct sw_enet_connected *info);
	bool (*disconnected)(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason);
};

/* Main thread. A wire for worker index: it takes the queues that dp_port_queue_worker gives it, and
 * what other workers hand it (handoff.h; NULL when it is alone). node: the same for all workers;
 * NULL for the only one. It must outlive them.
 * config and ports must outlive it. counters[DP_COUNTER_COUNT] belongs to the caller and outlives
 * it too. now_ns: the clock that dp_wire_step will be given. Returns NULL after it has said on
 * stderr what is wrong: no queue for this worker, enet values that the engine refuses, no memory.
 */
struct dp_wire *dp_wire_new(const struct sw_config *config, uint32_t index,
	struct dp_port *const *ports, uint32_t port_count, const struct dp_wire_sink *sink,
	_Atomic uint64_t *counters, const uint8_t key[16], struct dp_handoff *handoff,
	struct dp_node *node, uint64_t now_ns);
void dp_wire_free(struct dp_wire *wire);

struct sw_enet *dp_wire_engine(struct dp_wire *wire);

/* What probes are told from now on: enum sw_node_state (proto/probe.h). CLOSED at first. */
void dp_wire_node_state(struct dp_wire *wire, uint32_t state);

/* Fetches what a packet to the peer needs, for sw_enet_send to be called soon. Any handle will do. */
void dp_wire_prefetch(const struct dp_wire *wire, uint64_t peer);

/* A burst from each queue, through the engine. Returns frames received. */
uint32_t dp_wire_receive(struct dp_wire *wire, uint64_t now_ns);

/* The engine's timers and what waits to be sent, then every transmit queue. Returns frames sent. */
uint32_t dp_wire_send(struct dp_wire *wire, uint64_t now_ns);

/* Whether frames wait that the port has not taken, or the last turn found no buffer for some. */
bool dp_wire_behind(const struct dp_wire *wire);

/* Around a turn, for the account of cycles (cycles.h): what comes before dp_wire_receive is the
 * ring stage. worked: whether the turn found any. */
void dp_wire_turn_begin(struct dp_wire *wire);
void dp_wire_turn_end(struct dp_wire *wire, bool worked);

/* Any thread. Frames per burst, of bursts that were not empty; 2 of them, which live as long as the
 * wire. index: the worker. */
#define DP_WIRE_HISTOGRAMS 2u
/* The TSC behind the last receive burst, as it stands whenever it is read. */
const uint64_t *dp_wire_received(const struct dp_wire *wire);

void dp_wire_histograms(
	const struct dp_wire *wire, uint32_t index, struct histogram_ref out[DP_WIRE_HISTOGRAMS]);

/* When the engine has something to do without input; UINT64_MAX: never. */
uint64_t dp_wire_next_ns(const struct dp_wire *wire);

/* Bytes that a worker's wire takes for this configuration, without the ports' pools. */
size_t dp_wire_bytes(const struct sw_config *config);

/* The part of it for who has no peer (sw_enet_stranger_bytes), for people to read at start;
 * *half_open: handshakes that may be under way at once. */
size_t dp_wire_stranger_bytes(const struct sw_config *config, uint32_t *half_open);

#endif
