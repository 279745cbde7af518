/* Frames between workers: what of a burst is another worker's, what others have for us, and replies
 * through their queues. handoff.h has the rings. */
#include <string.h>

#include <rte_mbuf.h>

#include "common/check.h"
#include "dataplane/counters.h"
#include "dataplane/trace.h"
#include "dataplane/wire_internal.h"

/* ENet's header begins with 16 bits whose low 12 are the peer id, 0xfff in a CONNECT (protocol.h).
 */
#define ENET_PEER_MASK 0xfffu

/* Bursts taken from one other worker in a turn: its turn may bring more than ours takes from a
 * queue, and it does not wait. */
#define TAKE_BURSTS 4u

static void count(struct dp_wire *wire, enum dp_counter counter, uint64_t n)
{
	counter_add(&wire->counters[counter], n);
}

static uint64_t flow_at(const struct dp_wire *wire, const struct sw_enet_addr *from)
{
	return dp_flow_hash(wire->handoff->shared->key, from->ip,
		from->port | (wire->rx_queue->port->index + 1) << 16);
}

static void stage(struct dp_wire *wire, uint32_t i, uint32_t worker)
{
	struct wire_over *over = &wire->handoff->over[worker];
	struct rte_mbuf *mbuf = wire->rx[i];

	mbuf->hash.usr = wire->rx_queue->number;
	wire->rx[i] = NULL;
	over->mbuf[over->count++] = mbuf;
}

bool dp_wire_over(struct dp_wire *wire, uint32_t i, uint32_t n)
{
	struct wire_handoff *handoff = wire->handoff;
	const struct sw_enet_datagram *datagram = &wire->datagram[n];
	uint32_t worker;

	if (wire->rx_queue->steer == DP_STEER_HASH) {
		worker = dp_flow_owner(
			dp_flow_hash(handoff->shared->key, datagram->from.ip, datagram->from.port),
			handoff->shared->workers);
		if (worker == handoff->index)
			return false;
		stage(wire, i, worker);
		return true;
	}
	handoff->rx_of[n] = (uint16_t)i;
	if (datagram->bytes < 2 ||
		(packet_get16(datagram->data) & ENET_PEER_MASK) != ENET_PEER_MASK)
		return false;
	/* A CONNECT repeated after its flow has moved: its handshake goes on where it began. */
	worker = dp_flows_find(
		handoff->shared->flows, flow_at(wire, &datagram->from), handoff->index, true);
	if (worker == DP_FLOWS_NOBODY)
		return false;
	count(wire, DP_C_HANDOFF_STRAYS, 1);
	stage(wire, i, worker);
	return true;
}

void dp_wire_over_push(struct dp_wire *wire)
{
	struct wire_handoff *handoff = wire->handoff;

	for (uint32_t w = 0; w < handoff->shared->workers; w++) {
		struct wire_over *over = &handoff->over[w];
		uint32_t n;

		if (!over->count)
			continue;
		n = dp_frame_ring_push(handoff->shared->over[handoff->index][w],
			(void *const *)over->mbuf, over->count);
		count(wire, DP_C_HANDOFF_OVER, n);
		if (n < over->count) {
			count(wire, DP_C_HANDOFF_OVER_FULL, over->count - n);
			dp_trace_ring_full(handoff->index, DP_C_HANDOFF_OVER_FULL);
			rte_pktmbuf_free_bulk(over->mbuf + n, over->count - n);
		}
		over->count = 0;
	}
}

void dp_wire_strays(struct dp_wire *wire, uint32_t datagrams)
{
	struct wire_handoff *handoff = wire->handoff;
	struct dp_flows *flows = handoff->shared->flows;

	for (uint32_t i = 0; i < datagrams; i++) {
		const struct sw_enet_datagram *datagram = &wire->datagram[i];
		uint32_t worker;

		if (datagram->peer_index != SW_ENET_NO_PEER)
			continue;
		if (!datagram->refused) { /* a CONNECT that was answered */
			dp_flows_put(flows, flow_at(wire, &datagram->from), handoff->index, false);
			continue;
		}
		if (datagram->refused != SW_ENET_C_UNKNOWN_PEER)
			continue;
		worker =
			dp_flows_find(flows, flow_at(wire, &datagram->from), handoff->index, false);
		if (worker == DP_FLOWS_NOBODY)
			continue;
		count(wire, DP_C_HANDOFF_STRAYS, 1);
		stage(wire, handoff->rx_of[i], worker);
	}
	dp_wire_over_push(wire);
}

void dp_wire_flow_moved(struct dp_wire *wire, struct wire_way *way, const struct sw_enet_addr *from)
{
	struct dp_flows *flows = wire->handoff->shared->flows;
	uint64_t flow = flow_at(wire, from);

	if (!flows || way->flow == flow)
		return;
	if (way->flow)
		dp_flows_remove(flows, way->flow, wire->handoff->index);
	way->flow = 0;
	if (wire->rx_queue->steer != DP_STEER_STRAYS)
		return;
	if (dp_flows_put(flows, flow, wire->handoff->index, true))
		way->flow = flow;
	else
		count(wire, DP_C_HANDOFF_UNKNOWN, 1);
}

/* Two flows may look alike in the table of flows, and the frame be of a port where we have no queue
 * and no way to its owner: then it is not ours. */
static bool can_answer(const struct dp_wire *wire, uint16_t index)
{
	uint16_t reply = wire->queue[index].reply;

	return reply < wire->own_queues || wire->queue[reply].back;
}

/* Frames of one queue at a time, because an answer leaves by the queue that it came from. */
static void work(struct dp_wire *wire, struct rte_mbuf **mbufs, uint32_t count, uint64_t now_ns)
{
	for (uint32_t at = 0, n; at < count; at += n) {
		uint32_t number = mbufs[at]->hash.usr;

		for (n = 0; at + n < count && mbufs[at + n]->hash.usr == number; n++)
			wire->rx[n] = mbufs[at + n];
		DCHECK(number < wire->handoff->shared->queues);
		if (can_answer(wire, wire->handoff->queue_of[number])) {
			dp_wire_work(wire, &wire->queue[wire->handoff->queue_of[number]], n, true,
				now_ns);
			continue;
		}
		rte_pktmbuf_free_bulk(wire->rx, n);
		counter_add(&wire->counters[DP_C_HANDOFF_NO_WAY], n);
	}
}

uint32_t dp_wire_take_over(struct dp_wire *wire, uint64_t now_ns)
{
	struct wire_handoff *handoff = wire->handoff;
	struct rte_mbuf *mbufs[DP_BURST_MAX];
	uint32_t taken = 0, n;

	for (uint32_t w = 0; w < handoff->shared->workers; w++) {
		struct dp_frame_ring *ring = handoff->shared->over[w][handoff->index];

		for (uint32_t bursts = 0; ring && bursts < TAKE_BURSTS; bursts++) {
			n = dp_frame_ring_pop(ring, (void **)mbufs, wire->burst);
			if (!n)
				break;
			work(wire, mbufs, n, now_ns);
			taken += n;
		}
	}
	if (taken)
		count(wire, DP_C_HANDOFF_TAKEN, taken);
	return taken;
}

/* They are sealed: their checksums are not the owner's work. */
void dp_wire_give_back(struct dp_wire *wire, struct wire_queue *queue)
{
	uint32_t n;

	for (uint16_t i = 0; i < queue->pending; i++)
		queue->tx[i]->hash.usr = queue->number;
	n = dp_frame_ring_push(queue->back, (void *const *)queue->tx, queue->pending);
	count(wire, DP_C_HANDOFF_BACK, n);
	wire->sent += n;
	queue->pending -= (uint16_t)n;
	queue->sealed = queue->pending;
	if (queue->pending) {
		count(wire, DP_C_HANDOFF_BACK_FULL, 1);
		dp_trace_ring_full(wire->handoff->index, DP_C_HANDOFF_BACK_FULL);
		memmove(queue->tx, queue->tx + n, queue->pending * sizeof(queue->tx[0]));
	}
}

/* Frames that any of our queues has room for. */
static uint32_t room(struct dp_wire *wire)
{
	uint32_t room = TX_PENDING_MAX;

	for (uint32_t q = 0; q < wire->own_queues; q++) {
		struct wire_queue *queue = &wire->queue[q];

		if (queue->pending >= wire->burst && dp_port_running(queue->port))
			dp_wire_flush(wire, queue);
		if (TX_PENDING_MAX - queue->pending < room)
			room = TX_PENDING_MAX - queue->pending;
	}
	return room;
}

void dp_wire_take_back(struct dp_wire *wire)
{
	struct wire_handoff *handoff = wire->handoff;
	struct rte_mbuf *mbufs[DP_BURST_MAX];
	uint32_t n, most;

	for (uint32_t w = 0; w < handoff->shared->workers; w++) {
		struct dp_frame_ring *ring = handoff->shared->back[w][handoff->index];

		for (uint32_t bursts = 0; ring && bursts < TAKE_BURSTS; bursts++) {
			most = room(wire);
			n = dp_frame_ring_pop(
				ring, (void **)mbufs, most < wire->burst ? most : wire->burst);
			for (uint32_t i = 0; i < n; i++) {
				struct wire_queue *queue =
					&wire->queue[handoff->queue_of[mbufs[i]->hash.usr]];

				DCHECK(!queue->back);
				if (dp_port_running(queue->port)) {
					queue->udp_at[queue->pending] = 0; /* sealed */
					queue->tx[queue->pending++] = mbufs[i];
					continue;
				}
				rte_pktmbuf_free(mbufs[i]); /* being reset */
				count(wire, DP_C_TX_DROPPED, 1);
			}
			if (!n)
				break;
		}
	}
}
