/* wire_internal.h: the wire's own shape, for wire.c (a packet's way), wire_handoff.c (to and from
 * other workers) and wire_setup.c only. wire.h is the manual. */
#ifndef SW_DATAPLANE_WIRE_INTERNAL_H
#define SW_DATAPLANE_WIRE_INTERNAL_H

#include "dataplane/cycles.h"
#include "dataplane/handoff.h"
#include "dataplane/node.h"
#include "dataplane/probe.h"
#include "dataplane/wire.h"

struct rte_mbuf;

#define TX_PENDING_MAX (2u * DP_BURST_MAX)

/* Pings answered: enough for every monitor and for ping -f, nothing beside what players send. */
#define WIRE_PINGS_PER_S 10000u
#define WIRE_PINGS_BURST 1000u

#define WIRE_SPARES       64u /* buffers at hand for frames that we send */
#define WIRE_SPARES_TAKEN 32u /* taken from the pool at once when there are none */

/* A queue pair of ours, or one of another worker whose frames may come to us. */
struct wire_queue {
	struct dp_port *port;
	uint16_t queue;
	uint16_t pending;
	uint16_t spares;
	uint16_t sealed;     /* of tx: these have their checksums */
	uint16_t number;     /* counted through all ports, as handoff.h does */
	uint16_t reply;      /* index into dp_wire.queue: answers to its frames leave there */
	enum dp_steer steer; /* the port's, when we were made */
	struct dp_frame_ring *back;          /* NULL: ours; else the way to its owner */
	struct rte_mbuf *tx[TX_PENDING_MAX]; /* waiting, oldest first */
	struct rte_mbuf *spare[WIRE_SPARES];
	uint8_t udp_at[TX_PENDING_MAX]; /* of tx: where a UDP checksum is wanted; 0: nowhere */
};

/* The way back to a peer. Over IPv4 a datagram touches the first line only. */
struct wire_way {
	uint16_t queue; /* index into dp_wire.queue */
	struct packet_link link;
	uint64_t flow; /* as it stands in the table of flows; 0: in none */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct wire_way) == 128, "two lines per peer");
_Static_assert(__builtin_offsetof(struct wire_way, link.header) + PACKET_ETH_BYTES +
			       PACKET_VLAN_BYTES + PACKET_IPV4_BYTES + PACKET_UDP_BYTES <=
		       64,
	"IPv4 headers end within the first");

/* Frames for one other worker, gathered during a burst. */
struct wire_over {
	uint32_t count;
	struct rte_mbuf *mbuf[DP_BURST_MAX];
};

struct wire_handoff {
	struct dp_handoff *shared;
	uint32_t index;               /* of this worker */
	uint16_t *queue_of;           /* [shared->queues]: number to index into dp_wire.queue */
	uint16_t rx_of[DP_BURST_MAX]; /* of datagram i: its frame in the burst */
	struct wire_over over[];      /* [shared->workers] */
};

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
	struct dp_node *node, own_node; /* the second where nobody gave us the first */

	/* the burst being worked on */
	struct wire_queue *rx_queue; /* it came from there */
	uint16_t reply_index;        /* and is answered there: index into queue */
	uint32_t current;            /* datagram that the engine works on */
	struct rte_mbuf *rx[DP_BURST_MAX];
	struct packet packet[DP_BURST_MAX]; /* of datagram i */
	struct sw_enet_datagram datagram[DP_BURST_MAX];

	uint32_t open; /* datagrams that the engine is writing, of all queues */
	struct wire_way stateless;

	uint32_t sent;
	uint32_t queue_count, own_queues;
	struct wire_queue *queue;     /* [queue_count], ours first */
	struct wire_handoff *handoff; /* NULL: no frame ever crosses */

	struct dp_cycles cycles;
	struct histogram rx_burst, tx_burst; /* frames */
	uint64_t received;                   /* TSC behind the last receive burst */
};

/* A burst that is in wire->rx, from queue; handed: another worker gave it to us. */
void dp_wire_work(struct dp_wire *wire, struct wire_queue *queue, uint32_t frames, bool handed,
	uint64_t now_ns);

/* Puts what waits for transmit into the port's ring, or into the ring to the queue's owner. */
void dp_wire_flush(struct dp_wire *wire, struct wire_queue *queue);

/* Completes what waits: afterwards no frame of it needs more than a transmit burst. */
void dp_wire_seal(struct wire_queue *queue);

/* wire_handoff.c. Not inlined: a worker alone passes them by, and keeps its registers.
 *
 * Whether frame i of the burst, datagram n, belongs to another worker: then it has
 * been taken out of the burst. */
__attribute__((noinline)) bool dp_wire_over(struct dp_wire *wire, uint32_t i, uint32_t n);
/* Sends on what dp_wire_over has gathered. */
__attribute__((noinline)) void dp_wire_over_push(struct dp_wire *wire);
/* After the engine: strangers whose flow another worker has are taken out of the burst; handshakes
 * are entered. */
__attribute__((noinline)) void dp_wire_strays(struct dp_wire *wire, uint32_t datagrams);
/* A peer's slot has another flow than before. */
__attribute__((noinline)) void dp_wire_flow_moved(
	struct dp_wire *wire, struct wire_way *way, const struct sw_enet_addr *from);
/* Frames that other workers have handed to us. Returns how many. */
__attribute__((noinline)) uint32_t dp_wire_take_over(struct dp_wire *wire, uint64_t now_ns);
/* Frames of other workers that leave by our queues. */
__attribute__((noinline)) void dp_wire_take_back(struct dp_wire *wire);
__attribute__((noinline)) void dp_wire_give_back(struct dp_wire *wire, struct wire_queue *queue);

/* The engine's calls; wire.c has them, wire_setup.c hands them over. */
extern const struct sw_enet_ops dp_wire_engine_ops;

#endif
