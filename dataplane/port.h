/* port.h: a DPDK Ethernet port, physical (a PCI function) or virtual (net_af_xdp, net_memif,
 * net_ring, net_af_packet, net_tap, net_pcap, net_null), opened from the configuration.
 *
 * The main thread opens and closes. Each queue pair belongs to one dataplane worker
 * (dp_port_queue_worker), which alone receives from, sends to and allocates for it (wire.c). */
#ifndef SW_DATAPLANE_PORT_H
#define SW_DATAPLANE_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/config.h"
#include "dataplane/packet.h"
#include "dataplane/port_link.h"

#define DP_PORT_QUEUES_MAX 64u
#define DP_BURST_MAX       256u

struct rte_mempool;

/* Which worker has a flow that comes in at a port's queue. */
enum dp_steer {
	DP_STEER_QUEUE,  /* the queue's: one worker has all of this port */
	DP_STEER_STRAYS, /* the queue's, as RSS chose it; flows that moved are handed on (flows.h)
			  */
	DP_STEER_HASH,   /* the one that the flow's hash names; all others hand it on */
};

/* Read-only after dp_port_open, but for the fields that say otherwise. */
struct dp_port {
	char name[CONFIG_TEXT_BYTES];
	uint32_t index; /* in config->ports */
	uint16_t id;    /* DPDK's */
	uint16_t queues;
	uint16_t rxd, txd;         /* as the port adjusted them */
	uint32_t mtu;              /* bytes of an IP packet */
	uint32_t frame_bytes_max;  /* largest frame that fits a buffer of the pools */
	struct packet_local local; /* our MAC is the port's own: a VF drops what has another */
	bool tx_checksum_offload;
	bool rss; /* the port spreads flows over its queues */
	enum dp_steer steer;
	struct rte_mempool *pool[DP_PORT_QUEUES_MAX]; /* one per queue, for both directions */
	const struct sw_config *config;

	/* A reset is under way while wanted differs from done. Event thread or main counts wanted
	 * up; a queue's worker notes the number when it has let go; main then counts done up. */
	_Atomic uint32_t resets_wanted, resets_done;
	_Atomic uint32_t let_go[DP_PORT_QUEUES_MAX];
	_Atomic bool failed; /* the reset failed or the device was removed: it stays silent */

	/* Main writes, any thread reads. */
	_Atomic int link; /* enum dp_link, as of the last look */
	/* Main's own, but netdev_name, which is read-only after dp_port_open. */
	uint32_t netdev; /* index of the kernel interface behind it; 0 for none */
	char netdev_name[DP_NETDEV_BYTES];
	uint32_t turns; /* of dp_port_maintain */
};

/* Main thread, after dp_eal_init. Opens config->ports[index], all queues started. config must
 * outlive the port. Returns 0, or -errno after it has said on log what is wrong and what to do
 * (-ENODEV no such port, -EINVAL address, queue or MTU limits, -ENOMEM pools). Warnings (no RSS,
 * link down, descriptors adjusted, MTU not settable) go to log too. */
int dp_port_open(const struct sw_config *config, uint32_t index, FILE *log, struct dp_port **out);

/* Main thread, after the workers have stopped. Stops, closes, gives the pools back. NULL is fine.
 */
void dp_port_close(struct dp_port *port);

/* Which worker polls this queue: queues of all ports, counted through, dealt out in turn. */
uint32_t dp_port_queue_worker(const struct sw_config *config, uint32_t port_index, uint32_t queue);

/* Main thread, about ten times a second: if the PF reset our VF (RTE_ETH_EVENT_INTR_RESET) and the
 * workers have let go of its queues, resets and restarts the port. Looks at the link every
 * DP_PORT_LINK_TURNS calls. Says on log what it did, and once when the link changes. */
#define DP_PORT_LINK_TURNS 10u
void dp_port_maintain(struct dp_port *port, FILE *log);

/* Any thread. Whether the port has a wire; says it as a sentence, such as "port net_af_xdp0:
 * interface eth1 is gone". */
enum dp_link dp_port_link(const struct dp_port *port, char *sentence, size_t bytes);

/* A worker, before it touches one of its queues. False: note that it was let go, and leave it. */
static inline bool dp_port_running(const struct dp_port *port)
{
	return atomic_load_explicit(&port->resets_wanted, memory_order_acquire) ==
	       atomic_load_explicit(&port->resets_done, memory_order_acquire);
}

/* Any thread: what RTE_ETH_EVENT_INTR_RESET does. */
void dp_port_ask_reset(struct dp_port *port);

/* Any thread but a worker. Frames the port lost before we saw them: no free buffer, full ring. */
struct dp_port_losses {
	uint64_t no_mbuf, missed, rx_errors, tx_errors;
};
void dp_port_losses(const struct dp_port *port, struct dp_port_losses *out);

/* "10.0.0.1" or "10.0.0.1/24" to a host order address. False when it is neither. */
bool dp_port_address(const char *text, uint32_t *ip);

/* "2001:db8::1" or "2001:db8::1/64" to its 16 bytes. False when it is neither, or no unicast
 * address (packet_is_host6). */
bool dp_port_address6(const char *text, uint8_t ip6[16]);

/* How a port is to be steered, from ports[].steering, the number of workers and what the port can.
 */
enum dp_steer dp_port_steer(const struct sw_config *config, uint32_t port_index, bool rss);

/* Frames that a ring from one worker to another holds: the sum stands in port.c. */
uint32_t dp_port_handoff_frames(const struct sw_config *config, enum dp_steer steer);

/* Buffers that each queue's pool gets for this port: the sum stands in port.c. */
uint32_t dp_port_mbufs(
	const struct sw_config *config, uint32_t rxd, uint32_t txd, enum dp_steer steer);

#endif
