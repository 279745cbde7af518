#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "dataplane/counters.h"
#include "dataplane/packet_internal.h"
#include "dataplane/packet_plain.h"
#include "dataplane/trace.h"
#include "dataplane/wire_internal.h"

static void count(struct dp_wire *wire, enum dp_counter counter, uint64_t n)
{
	counter_add(&wire->counters[counter], n);
}

/* --- transmit --- */

static void drop_pending(struct dp_wire *wire, struct wire_queue *queue)
{
	count(wire, DP_C_TX_DROPPED, queue->pending);
	rte_pktmbuf_free_bulk(queue->tx, queue->pending);
	queue->pending = queue->sealed = 0;
}

/* A port that checks frames for its offloads may refuse one: it goes, so that the rest can. */
static uint16_t prepare(struct dp_wire *wire, struct wire_queue *queue)
{
	for (;;) {
		uint16_t good = rte_eth_tx_prepare(
			queue->port->id, queue->queue, queue->tx, queue->pending);

		if (good == queue->pending)
			return good;
		rte_pktmbuf_free(queue->tx[good]);
		count(wire, DP_C_TX_DROPPED, 1);
		queue->pending--;
		memmove(&queue->tx[good], &queue->tx[good + 1],
			(queue->pending - good) * sizeof(queue->tx[0]));
		queue->sealed = 0; /* with offload there is nothing to seal */
	}
}

/* The UDP checksums of a burst, when its bytes have settled (packet_udp_seal). */
void dp_wire_seal(struct wire_queue *queue)
{
	for (uint16_t i = queue->sealed; i < queue->pending; i++)
		if (queue->udp_at[i] == PACKET_PLAIN_BYTES - PACKET_UDP_BYTES)
			packet_seal(rte_pktmbuf_mtod_offset(queue->tx[i], uint8_t *,
					    PACKET_PLAIN_BYTES - PACKET_UDP_BYTES),
				false);
		else if (queue->udp_at[i])
			packet_udp_seal(
				rte_pktmbuf_mtod_offset(queue->tx[i], uint8_t *, queue->udp_at[i]),
				queue->udp_at[i] >= PACKET_ETH_BYTES + PACKET_IPV6_BYTES);
	queue->sealed = queue->pending;
}

static void transmit(struct dp_wire *wire, struct wire_queue *queue)
{
	uint64_t bytes = 0;
	uint16_t n;

	if (queue->port->tx_checksum_offload && !prepare(wire, queue))
		return;
	for (uint16_t i = 0; i < queue->pending; i++)
		bytes += rte_pktmbuf_pkt_len(queue->tx[i]);
	n = rte_eth_tx_burst(queue->port->id, queue->queue, queue->tx, queue->pending);
	dp_trace_tx_burst(queue->port->id, queue->queue, queue->pending, n);
	if (wire->cycles.on)
		histogram_add(&wire->tx_burst, n);
	/* The port owns tx[0..n); the rest is still ours and is tried again next turn. */
	for (uint16_t i = n; i < queue->pending; i++)
		bytes -= rte_pktmbuf_pkt_len(queue->tx[i]);
	count(wire, DP_C_TX_PACKETS, n);
	count(wire, DP_C_TX_BYTES, bytes);
	wire->sent += n;
	queue->pending -= n;
	queue->sealed = queue->pending;
	if (queue->pending) {
		count(wire, DP_C_TX_FULL, 1);
		memmove(queue->tx, queue->tx + n, queue->pending * sizeof(queue->tx[0]));
	}
}

__attribute__((noinline)) void dp_wire_flush(struct dp_wire *wire, struct wire_queue *queue)
{
	enum dp_stage before;

	if (!queue->pending)
		return;
	dp_wire_seal(queue);
	before = dp_cycles_to(&wire->cycles, DP_STAGE_TRANSMIT);
	if (queue->back)
		dp_wire_give_back(wire, queue);
	else
		transmit(wire, queue);
	dp_cycles_to(&wire->cycles, before);
}

/* One reference and one segment, both in one look. */
static inline bool mbuf_alone(const struct rte_mbuf *mbuf)
{
	uint32_t both, ones = 0x00010001;

	_Static_assert(offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, refcnt) + 2,
		"side by side");
	memcpy(&both, (const uint8_t *)mbuf + offsetof(struct rte_mbuf, refcnt), sizeof(both));
	return both == ones;
}

/* Buffers of a burst that has been worked on become those of the frames that answer it, as long as
 * any are wanted: neither leaves the cache, and the pool is not asked (a seventh of what a frame
 * costs outside of the port). Only what the receive burst may have changed is put back. */
static void reuse(struct wire_queue *queue, struct rte_mbuf **mbufs, uint32_t count)
{
	const struct rte_mempool *pool = queue->port->pool[queue->queue];
	bool offload = queue->port->tx_checksum_offload;
	uint32_t kept = 0, spares = queue->spares;

	for (uint32_t i = 0; i < count; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		/* alone: then next is NULL, and its line is not read */
		if (mbuf && spares < WIRE_SPARES && mbuf->pool == pool && mbuf_alone(mbuf) &&
			RTE_MBUF_DIRECT(mbuf)) {
			mbuf->data_off = RTE_PKTMBUF_HEADROOM;
			mbuf->ol_flags = 0;
			if (offload)
				mbuf->tx_offload = 0;
			queue->spare[spares++] = mbuf;
			continue;
		}
		mbufs[kept++] = mbuf;
	}
	queue->spares = (uint16_t)spares;
	if (kept)
		rte_pktmbuf_free_bulk(mbufs, kept);
}

static __attribute__((noinline)) struct rte_mbuf *new_mbuf(
	struct dp_wire *wire, struct wire_queue *queue)
{
	struct rte_mempool *pool = queue->port->pool[queue->queue];
	struct rte_mbuf *mbuf;

	if (!rte_pktmbuf_alloc_bulk(pool, queue->spare, WIRE_SPARES_TAKEN)) {
		queue->spares = WIRE_SPARES_TAKEN - 1;
		return queue->spare[queue->spares];
	}
	mbuf = rte_pktmbuf_alloc(pool); /* the last few */
	if (!mbuf)
		count(wire, DP_C_TX_NO_MBUF, 1);
	return mbuf;
}

/* A buffer for one frame of this queue, or NULL: counted, and tried again by whoever asked. */
static __attribute__((noinline)) struct rte_mbuf *begin_frame(
	struct dp_wire *wire, struct wire_queue *queue)
{
	if (queue->pending >= wire->burst)
		dp_wire_flush(wire, queue);
	if (queue->pending + wire->open >= TX_PENDING_MAX)
		return NULL; /* dp_wire_flush has counted */
	if (!dp_port_running(queue->port))
		return NULL;
	if (queue->spares)
		return queue->spare[--queue->spares];
	return new_mbuf(wire, queue);
}

/* Whether begin_frame would only take a spare. */
static inline bool spare_at_hand(const struct dp_wire *wire, const struct wire_queue *queue)
{
	return queue->spares && queue->pending < wire->burst &&
	       queue->pending + wire->open < TX_PENDING_MAX && dp_port_running(queue->port);
}

static inline void end_frame(
	struct wire_queue *queue, struct rte_mbuf *mbuf, uint32_t bytes, uint8_t udp_at)
{
	mbuf->data_len = (uint16_t)bytes;
	mbuf->pkt_len = bytes;
	queue->udp_at[queue->pending] = udp_at;
	queue->tx[queue->pending++] = mbuf;
}

/* Which queue and which headers a begun datagram was made for. */
static uint32_t way_mark(const struct wire_way *way)
{
	return (uint32_t)way->queue << 8 | way->link.bytes;
}

static struct wire_way *way_of(struct dp_wire *wire, uint32_t peer_index)
{
	return peer_index == SW_ENET_NO_PEER ? &wire->stateless : &wire->ways[peer_index];
}

/* For an answer to the datagram that the engine works on. False: it is for somebody else, and only
 * a frame of his could tell the next hop. */
static __attribute__((noinline)) bool stateless_way(
	struct dp_wire *wire, const struct sw_enet_addr *to)
{
	struct wire_way *way = &wire->stateless;
	const struct sw_enet_addr *from = &wire->datagram[wire->current].from;

	if (from->port != to->port || memcmp(from->ip, to->ip, sizeof(from->ip)) != 0)
		return false;
	way->queue = wire->reply_index;
	packet_link_back(
		&way->link, &wire->queue[way->queue].port->local, &wire->packet[wire->current]);
	return true;
}

static inline uint8_t *begin_datagram(
	struct dp_wire *wire, const struct wire_way *way, struct rte_mbuf *mbuf, void **frame)
{
	*frame = mbuf;
	mbuf->hash.usr = way_mark(way);
	wire->open++;
	return rte_pktmbuf_mtod_offset(mbuf, uint8_t *, way->link.bytes);
}

/* Apart, so that the usual case below calls nothing and saves no registers. */
static __attribute__((noinline)) uint8_t *tx_begin_any(
	struct dp_wire *wire, uint32_t peer_index, const struct sw_enet_addr *to, void **frame)
{
	const struct wire_way *way = way_of(wire, peer_index);
	struct rte_mbuf *mbuf;

	/* the datagram being worked on, or the peer's last, says more than its address */
	if (peer_index == SW_ENET_NO_PEER && !stateless_way(wire, to))
		return NULL;
	mbuf = begin_frame(wire, &wire->queue[way->queue]);
	return mbuf ? begin_datagram(wire, way, mbuf, frame) : NULL;
}

static uint8_t *tx_begin(void *ctx, uint32_t peer_index, const struct sw_enet_addr *to,
	uint32_t bytes_max, void **frame)
{
	struct dp_wire *wire = ctx;

	if (peer_index != SW_ENET_NO_PEER) {
		const struct wire_way *way = &wire->ways[peer_index];
		struct wire_queue *queue = &wire->queue[way->queue];

		/* dp_port_open has sized the buffers for enet.mtu. */
		DCHECK(way->link.bytes + bytes_max <= queue->port->frame_bytes_max);
		if (spare_at_hand(wire, queue))
			return begin_datagram(wire, way, queue->spare[--queue->spares], frame);
	}
	(void)bytes_max; /* without DCHECK */
	return tx_begin_any(wire, peer_index, to, frame);
}

static __attribute__((noinline)) void put_offloaded(struct wire_queue *queue, struct rte_mbuf *mbuf,
	const struct packet_link *link, uint32_t payload_bytes, uint16_t ip_id)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	end_frame(queue, mbuf, packet_link_write(link, frame, payload_bytes, ip_id, true), 0);
	if (link->is_ip6) {
		mbuf->ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;
		mbuf->l3_len = PACKET_IPV6_BYTES;
	} else {
		mbuf->ol_flags =
			RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
		mbuf->l3_len = PACKET_IPV4_BYTES;
	}
	mbuf->l2_len = link->bytes - mbuf->l3_len - PACKET_UDP_BYTES;
}

/* Its payload stands in the buffer already. */
static inline void put_datagram(struct wire_queue *queue, struct rte_mbuf *mbuf,
	const struct packet_link *link, uint32_t payload_bytes, uint16_t ip_id)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	if (queue->port->tx_checksum_offload) {
		put_offloaded(queue, mbuf, link, payload_bytes, ip_id);
		return;
	}
	end_frame(queue, mbuf, packet_link_put(link, frame, payload_bytes, ip_id),
		link->bytes - PACKET_UDP_BYTES);
}

static __attribute__((noinline)) void give_up(
	struct dp_wire *wire, struct rte_mbuf *mbuf, uint32_t bytes)
{
	rte_pktmbuf_free(mbuf);
	if (bytes)
		count(wire, DP_C_TX_DROPPED, 1);
}

/* Since it was begun its peer may have come over another queue, where other headers stand before
 * the payload: then it is lost, as on the way that it was made for. */
static inline void end_datagram(struct dp_wire *wire, const struct wire_way *way,
	struct rte_mbuf *mbuf, uint32_t bytes, uint16_t ip_id)
{
	if (bytes && mbuf->hash.usr == way_mark(way))
		put_datagram(&wire->queue[way->queue], mbuf, &way->link, bytes, ip_id);
	else
		give_up(wire, mbuf, bytes);
}

static void tx_end(void *ctx, uint32_t peer_index, void *frame, uint32_t bytes)
{
	struct dp_wire *wire = ctx;

	DCHECK(wire->open);
	wire->open--;
	end_datagram(wire, way_of(wire, peer_index), frame, bytes, wire->ip_id++);
}

static void tx_end_each(void *ctx, const struct sw_enet_written *datagrams, uint32_t n)
{
	struct dp_wire *wire = ctx;
	uint16_t ip_id = wire->ip_id;

	DCHECK(wire->open >= n);
	wire->open -= n;
	wire->ip_id = (uint16_t)(ip_id + n);
	for (uint32_t i = 0; i < n; i++)
		end_datagram(wire, &wire->ways[datagrams[i].peer_index], datagrams[i].frame,
			datagrams[i].bytes, (uint16_t)(ip_id + i));
}

/* --- the engine's packets and events --- */

/* Apart, so that the other way is a jump. */
static __attribute__((noinline)) bool deliver_timed(
	struct dp_wire *wire, const struct sw_enet_delivery *run, uint32_t n)
{
	uint64_t begin = dp_tsc();
	bool taken = wire->sink.deliver(wire->sink.ctx, run, n);

	count(wire, DP_C_CYCLES_ROUTE, (dp_tsc() - begin) * DP_CYCLES_ROUTE_TURNS);
	return taken;
}

static bool deliver(void *ctx, const struct sw_enet_delivery *run, uint32_t n)
{
	struct dp_wire *wire = ctx;

	if (__builtin_expect(wire->cycles.route, false))
		return deliver_timed(wire, run, n);
	return wire->sink.deliver(wire->sink.ctx, run, n);
}

static __attribute__((noinline)) uint32_t deliver_each_timed(
	struct dp_wire *wire, const struct sw_enet_delivery *packets, uint32_t n)
{
	uint64_t begin = dp_tsc();
	uint32_t taken = wire->sink.deliver_each(wire->sink.ctx, packets, n);

	count(wire, DP_C_CYCLES_ROUTE, (dp_tsc() - begin) * DP_CYCLES_ROUTE_TURNS);
	return taken;
}

static uint32_t deliver_each(void *ctx, const struct sw_enet_delivery *packets, uint32_t n)
{
	struct dp_wire *wire = ctx;

	if (__builtin_expect(wire->cycles.route, false))
		return deliver_each_timed(wire, packets, n);
	return wire->sink.deliver_each(wire->sink.ctx, packets, n);
}

static bool connected(void *ctx, const struct sw_enet_connected *info)
{
	struct dp_wire *wire = ctx;

	return wire->sink.connected(wire->sink.ctx, info);
}

static bool disconnected(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason)
{
	struct dp_wire *wire = ctx;

	return wire->sink.disconnected(wire->sink.ctx, peer, data, reason);
}

/* --- receive --- */

/* Returns the answer's bytes, 0 when it does not fit, and what it counts as. */
static uint32_t write_answer(const struct wire_queue *queue, const struct packet_frame *frame,
	const struct packet *packet, uint8_t *out, enum dp_counter *counter)
{
	const struct packet_local *local = &queue->port->local;
	uint32_t out_bytes = queue->port->frame_bytes_max;

	switch (packet->kind) {
	case PACKET_ARP_REQUEST:
		*counter = DP_C_ARP_REPLIES;
		return packet_arp_reply(packet, local, out, out_bytes);
	case PACKET_NEIGHBOUR_REQUEST:
		*counter = DP_C_ND_REPLIES;
		return packet_neighbour_reply(packet, local, out, out_bytes);
	default:
		*counter = packet->is_ip6 ? DP_C_ICMPV6_ECHO_REPLIES : DP_C_ICMP_ECHO_REPLIES;
		return packet_echo_reply(frame, packet, local, out, out_bytes);
	}
}

/* ARP, neighbours and pings are answered with complete checksums on any port: the mbuf asks for no
 * offload. */
static __attribute__((noinline)) void answer(struct dp_wire *wire, struct wire_queue *queue,
	const struct packet_frame *frame, const struct packet *packet, uint64_t now_ns)
{
	struct rte_mbuf *mbuf;
	enum dp_counter counter;
	uint32_t bytes;

	if (packet->kind == PACKET_ECHO_REQUEST &&
		!rate_take(&wire->node->pings, WIRE_PINGS_PER_S, WIRE_PINGS_BURST, 0, now_ns)) {
		count(wire, DP_C_PING_LIMITED, 1);
		return;
	}
	mbuf = begin_frame(wire, queue);
	if (!mbuf) {
		count(wire, DP_C_TX_DROPPED, 1);
		return;
	}
	bytes = write_answer(queue, frame, packet, rte_pktmbuf_mtod(mbuf, uint8_t *), &counter);
	if (!bytes) {
		rte_pktmbuf_free(mbuf);
		count(wire, DP_C_TX_DROPPED, 1);
		return;
	}
	end_frame(queue, mbuf, bytes, 0);
	count(wire, counter, 1);
}

/* The datagram goes back whence it came, before the engine is asked. It keeps what generators of
 * traffic know their packets by: the payload, IPv4's id, IPv6's flow label. */
static __attribute__((noinline)) void answer_probe(struct dp_wire *wire, struct wire_queue *queue,
	const struct packet_frame *frame, const struct packet *packet, uint64_t now_ns)
{
	const uint8_t *request = frame->data + packet->payload_at,
		      *ip = frame->data + packet->l3_at;
	enum dp_probe_fate fate =
		dp_probe_take(&wire->probe, request, packet->payload_bytes, now_ns);
	struct packet_link link;
	struct rte_mbuf *mbuf;
	uint8_t *out;

	if (fate != DP_PROBE_ANSWERED) {
		count(wire, fate == DP_PROBE_LIMITED ? DP_C_PROBE_LIMITED : DP_C_PROBE_MALFORMED,
			1);
		return;
	}
	packet_link_back(&link, &queue->port->local, packet);
	mbuf = link.bytes + packet->payload_bytes <= queue->port->frame_bytes_max
		       ? begin_frame(wire, queue)
		       : NULL;
	if (!mbuf) {
		count(wire, DP_C_TX_DROPPED, 1);
		return;
	}
	out = rte_pktmbuf_mtod(mbuf, uint8_t *);
	dp_probe_write(&wire->probe, request, packet->payload_bytes,
		dp_node_full(wire->node, wire->config->enet.peers_max), out + link.bytes);
	put_datagram(queue, mbuf, &link, packet->payload_bytes, packet_get16(ip + 4));
	if (packet->is_ip6) {
		out += link.bytes - PACKET_UDP_BYTES - PACKET_IPV6_BYTES;
		out[1] = ip[1] & 0xf;
		memcpy(out + 2, ip + 2, 2);
	}
	count(wire, DP_C_PROBE_REPLIES, 1);
}

/* "none" of the two-bit result means: not as on the wire, but the port vouches for it. */
static bool checksum_good(uint64_t flags, uint64_t mask, uint64_t good, uint64_t none)
{
	return (flags & mask) == good || (flags & mask) == none;
}

static void describe(const struct rte_mbuf *mbuf, struct packet_frame *frame)
{
	frame->data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	frame->bytes = rte_pktmbuf_data_len(mbuf);
	if (!mbuf->ol_flags) { /* a port that has looked at nothing */
		frame->vlan_stripped = frame->ip_checksum_good = frame->l4_checksum_good = false;
		return;
	}
	frame->vlan_stripped = (mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
	frame->vlan_tci = mbuf->vlan_tci;
	frame->ip_checksum_good = checksum_good(mbuf->ol_flags, RTE_MBUF_F_RX_IP_CKSUM_MASK,
		RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_IP_CKSUM_NONE);
	frame->l4_checksum_good = checksum_good(mbuf->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_MASK,
		RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_NONE);
}

static const uint8_t ip4_mapped[12] = {[10] = 0xff, [11] = 0xff};

/* The engine's name for where a packet came from. */
static void name_source(
	const struct wire_queue *queue, const struct packet *packet, struct sw_enet_addr *address)
{
	address->port = packet->from_port;
	if (packet->is_ip6) {
		memcpy(address->ip, packet->from_ip6, 16);
		/* A link-local address means something on its own link only: the port's number goes
		 * into its third and fourth byte, which are 0 there (RFC 4291 2.5.6). */
		if (address->ip[0] == 0xfe && (address->ip[1] & 0xc0) == 0x80)
			packet_put16(address->ip + 2, (uint16_t)(queue->port->index + 1));
		return;
	}
	memcpy(address->ip, ip4_mapped, sizeof(ip4_mapped));
	packet_put32(address->ip + 12, packet->from_ip);
}

static void before(void *ctx, uint32_t i)
{
	struct dp_wire *wire = ctx;

	wire->current = i;
}

static __attribute__((noinline)) void learn_way(
	struct dp_wire *wire, struct wire_way *way, uint32_t i)
{
	if (way->queue == wire->reply_index &&
		packet_link_is_back(&way->link, &wire->rx_queue->port->local, &wire->packet[i]))
		return;
	if (wire->handoff)
		dp_wire_flow_moved(wire, way, &wire->datagram[i].from);
	way->queue = wire->reply_index;
	packet_link_back(&way->link, &wire->rx_queue->port->local, &wire->packet[i]);
}

/* The engine knows the peers of these datagrams: the way back is the way they came. */
static void after(void *ctx, uint32_t first, uint32_t n)
{
	struct dp_wire *wire = ctx;
	/* Our own MAC may be another after a reset of the VF. */
	uint64_t own_mac = packet_mac(wire->rx_queue->port->local.mac);

	for (uint32_t i = first; i < first + n; i++) {
		struct wire_way *way = &wire->ways[wire->datagram[i].peer_index];

		if (way->queue != wire->reply_index ||
			!packet_plain_is_back(&way->link, own_mac, &wire->packet[i]))
			learn_way(wire, way, i);
	}
}

/* A frame that is not plain. True: it is a datagram all the same; else it has been dealt with. */
static __attribute__((noinline)) bool read_other(struct dp_wire *wire, struct wire_queue *queue,
	const struct packet_frame *frame, struct packet *packet, uint64_t now_ns)
{
	packet_parse_any(frame, &queue->port->local, packet);
	switch (packet->kind) {
	case PACKET_REFUSED:
		counter_add(&wire->counters[packet->drop], 1);
		dp_trace_refused(0, packet->drop, frame->bytes);
		return false;
	case PACKET_ARP_REQUEST:
	case PACKET_ECHO_REQUEST:
	case PACKET_NEIGHBOUR_REQUEST:
		answer(wire, queue, frame, packet, now_ns);
		return false;
	case PACKET_UDP:
		break;
	}
	return true;
}

/* Returns datagrams for the engine. */
static uint32_t read_burst(struct dp_wire *wire, struct wire_queue *queue, uint32_t frames,
	bool handed, uint64_t now_ns)
{
	bool steer = !handed && queue->steer != DP_STEER_QUEUE;
	uint32_t datagrams = 0;
	uint64_t bytes = 0;
	struct packet_plain plain;

	packet_plain_prepare(&plain, &queue->port->local);
	for (uint32_t i = 0; i < frames; i++) {
		struct rte_mbuf *mbuf = wire->rx[i];
		struct packet *packet = &wire->packet[datagrams];
		struct sw_enet_datagram *datagram = &wire->datagram[datagrams];
		struct packet_frame frame;

		if (i + 4 < frames)
			rte_prefetch0(rte_pktmbuf_mtod(wire->rx[i + 4], void *));
		bytes += rte_pktmbuf_pkt_len(mbuf);
		if (mbuf->nb_segs > 1) {
			count(wire, DP_C_RX_SEGMENTED, 1);
			continue;
		}
		describe(mbuf, &frame);
		if (!packet_parse_plain(&plain, &frame, packet) &&
			!read_other(wire, queue, &frame, packet, now_ns))
			continue;
		if (sw_probe_is(frame.data + packet->payload_at, packet->payload_bytes)) {
			answer_probe(wire, queue, &frame, packet, now_ns);
			continue;
		}
		name_source(queue, packet, &datagram->from);
		datagram->data = frame.data + packet->payload_at;
		datagram->bytes = packet->payload_bytes;
		datagram->peer_index = SW_ENET_NO_PEER;
		datagram->refused = 0;
		datagrams += !(steer && dp_wire_over(wire, i, datagrams));
	}
	if (handed)
		return datagrams; /* their queue's worker has counted them */
	count(wire, DP_C_RX_PACKETS, frames);
	count(wire, DP_C_RX_BYTES, bytes);
	return datagrams;
}

static void trace_refusals(const struct dp_wire *wire, uint32_t datagrams)
{
	for (uint32_t i = 0; i < datagrams; i++)
		if (wire->datagram[i].refused)
			dp_trace_refused(1, wire->datagram[i].refused, wire->datagram[i].bytes);
}

void dp_wire_work(struct dp_wire *wire, struct wire_queue *queue, uint32_t frames, bool handed,
	uint64_t now_ns)
{
	static const struct sw_enet_rx_hooks hooks = {.before = before, .after = after};
	bool steer = !handed && queue->steer != DP_STEER_QUEUE;
	uint32_t datagrams;

	wire->rx_queue = queue;
	wire->reply_index = queue->reply;
	dp_cycles_to(&wire->cycles, DP_STAGE_PARSE);
	datagrams = read_burst(wire, queue, frames, handed, now_ns);
	if (steer)
		dp_wire_over_push(wire); /* they are worked on while we are busy with ours */
	dp_cycles_to(&wire->cycles, DP_STAGE_ENGINE);
	if (datagrams)
		sw_enet_rx(wire->engine, wire->datagram, datagrams, &hooks, now_ns / NS_PER_MS);
	if (rte_trace_point_is_enabled(&__dp_trace_refused))
		trace_refusals(wire, datagrams);
	if (steer && queue->steer == DP_STEER_STRAYS)
		dp_wire_strays(wire, datagrams);
	/* The engine has copied what it keeps; what was handed on is NULL here. */
	reuse(queue, wire->rx, frames);
}

/* A port that asks for a reset: nothing of its queue is touched until main has restarted it. */
static bool port_runs(struct dp_wire *wire, struct wire_queue *queue)
{
	struct dp_port *port = queue->port;
	uint32_t wanted;

	if (dp_port_running(port))
		return true;
	wanted = atomic_load_explicit(&port->resets_wanted, memory_order_relaxed);
	if (atomic_load_explicit(&port->let_go[queue->queue], memory_order_relaxed) != wanted) {
		drop_pending(wire, queue);
		count(wire, DP_C_PORT_RESETS, 1);
		atomic_store_explicit(&port->let_go[queue->queue], wanted, memory_order_release);
	}
	return false;
}

uint32_t dp_wire_receive(struct dp_wire *wire, uint64_t now_ns)
{
	uint32_t received = 0;

	for (uint32_t q = 0; q < wire->own_queues; q++) {
		struct wire_queue *queue = &wire->queue[q];
		uint16_t frames;

		if (!port_runs(wire, queue))
			continue;
		dp_cycles_to(&wire->cycles, DP_STAGE_RECEIVE);
		frames = rte_eth_rx_burst(queue->port->id, queue->queue, wire->rx, wire->burst);
		if (!frames)
			continue;
		received += frames;
		wire->received = dp_tsc();
		dp_trace_rx_burst(queue->port->id, queue->queue, frames);
		if (wire->cycles.on)
			histogram_add(&wire->rx_burst, frames);
		dp_wire_work(wire, queue, frames, false, now_ns);
	}
	if (wire->handoff)
		received += dp_wire_take_over(wire, now_ns);
	return received;
}

uint32_t dp_wire_send(struct dp_wire *wire, uint64_t now_ns)
{
	wire->sent = 0;
	dp_cycles_to(&wire->cycles, DP_STAGE_FRAME);
	sw_enet_service(wire->engine, now_ns / NS_PER_MS);
	for (uint32_t q = 0; q < wire->queue_count; q++)
		dp_wire_seal(&wire->queue[q]);
	dp_cycles_to(&wire->cycles, DP_STAGE_TRANSMIT); /* the bursts below are no changes then */
	if (wire->handoff)
		dp_wire_take_back(wire);
	for (uint32_t q = 0; q < wire->own_queues; q++)
		if (port_runs(wire, &wire->queue[q]))
			dp_wire_flush(wire, &wire->queue[q]);
	for (uint32_t q = wire->own_queues; q < wire->queue_count; q++)
		dp_wire_flush(wire, &wire->queue[q]);
	return wire->sent;
}

void dp_wire_turn_begin(struct dp_wire *wire)
{
	dp_cycles_begin(&wire->cycles);
}

void dp_wire_turn_end(struct dp_wire *wire, bool worked)
{
	dp_cycles_end(&wire->cycles, worked);
}

bool dp_wire_behind(const struct dp_wire *wire)
{
	for (uint32_t q = 0; q < wire->queue_count; q++)
		if (wire->queue[q].pending)
			return true;
	return sw_enet_behind(wire->engine);
}

uint64_t dp_wire_next_ns(const struct dp_wire *wire)
{
	uint64_t next_ms = sw_enet_next_ms(wire->engine);

	for (uint32_t q = 0; q < wire->queue_count; q++)
		if (wire->queue[q].pending)
			return 0; /* a full transmit ring: at once */
	return next_ms > UINT64_MAX / NS_PER_MS ? UINT64_MAX : next_ms * NS_PER_MS;
}

const uint64_t *dp_wire_received(const struct dp_wire *wire)
{
	return &wire->received;
}

void dp_wire_prefetch(const struct dp_wire *wire, uint64_t peer)
{
	uint32_t index = handle_index(peer);

	sw_enet_prefetch(wire->engine, peer);
	if (index < wire->config->enet.peers_max)
		__builtin_prefetch(&wire->ways[index]);
}

void dp_wire_node_state(struct dp_wire *wire, uint32_t state)
{
	wire->probe.state = (uint8_t)state;
}

struct sw_enet *dp_wire_engine(struct dp_wire *wire)
{
	return wire->engine;
}

const struct sw_enet_ops dp_wire_engine_ops = {
	.deliver = deliver,
	.deliver_each = deliver_each,
	.connected = connected,
	.disconnected = disconnected,
	.tx_begin = tx_begin,
	.tx_end = tx_end,
	.tx_end_each = tx_end_each,
};
