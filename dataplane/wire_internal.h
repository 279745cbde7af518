/* wire_internal.h: the wire's own shape, for wire.c (a packet's way) and wire_setup.c only. wire.h
 * is the manual. */
#ifndef SW_DATAPLANE_WIRE_INTERNAL_H
#define SW_DATAPLANE_WIRE_INTERNAL_H

#include "dataplane/probe.h"
#include "dataplane/wire.h"

struct rte_mbuf;

#define TX_PENDING_MAX (2u * DP_BURST_MAX)

#define WIRE_SPARES 32u /* buffers taken from the pool at once */

struct wire_queue {
	struct dp_port *port;
	uint16_t queue;
	uint16_t pending;
	uint16_t spares;
	uint16_t sealed;                     /* of tx: these have their checksums */
	struct rte_mbuf *tx[TX_PENDING_MAX]; /* waiting, oldest first */
	struct rte_mbuf *spare[WIRE_SPARES];
	uint8_t udp_at[TX_PENDING_MAX]; /* of tx: where a UDP checksum is wanted; 0: nowhere */
};

/* The way back to a peer. Over IPv4 a datagram touches the first line only. */
struct wire_way {
	uint16_t queue; /* index into dp_wire.queue */
	struct packet_link link;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct wire_way) == 128, "two lines per peer");
_Static_assert(__builtin_offsetof(struct wire_way, link.header) + PACKET_ETH_BYTES +
			       PACKET_VLAN_BYTES + PACKET_IPV4_BYTES + PACKET_UDP_BYTES <=
		       64,
	"IPv4 headers end within the first");

struct dp_wire {
	const struct sw_config *config;
	struct sw_enet *engine;
	struct dp_wire_sink sink;
	_Atomic uint64_t *counters;
	void *engine_memory;
	size_t engine_bytes;
	struct wire_way *ways; /* [peers_max] */
	uint16_t burst;
	uint16_t ip_id;
	struct dp_probe probe;

	/* the burst being worked on */
	struct wire_queue *rx_queue;
	uint16_t rx_queue_index;
	uint32_t current; /* datagram that the engine works on */
	struct rte_mbuf *rx[DP_BURST_MAX];
	struct packet packet[DP_BURST_MAX]; /* of datagram i */
	struct sw_enet_datagram datagram[DP_BURST_MAX];

	/* the datagram that the engine is writing */
	struct rte_mbuf *out;
	const struct packet_link *out_link;
	struct wire_queue *out_queue;
	struct packet_link stateless;

	uint32_t sent;
	uint32_t queue_count;
	struct wire_queue *queue; /* [queue_count] */
};

/* The engine's calls; wire.c has them, wire_setup.c hands them over. */
extern const struct sw_enet_ops dp_wire_engine_ops;

#endif
