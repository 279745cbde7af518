#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "common/mono.h"
#include "dataplane/lean_client.h"
#include "perf/gen/attack.h"
#include "perf/gen/port_wire.h"

#define FLOOD_IP      0xc6120000u /* 198.18.0.0/15: for benchmarks, nobody's */
#define FLOOD_SOURCES 8192u
#define PENDING_MAX   4096u /* a full ring of the server's must not stop us from emptying ours */
#define SPARE         32u
#define RESOLVE_NS    (5 * NS_PER_S)
#define CHECK_EVERY   16u /* frames: one of so many is verified completely, checksums too */
#define UDP_AT        (PACKET_ETH_BYTES + PACKET_IPV4_BYTES)
#define HEADER_BYTES  (UDP_AT + PACKET_UDP_BYTES)

struct link {
	struct packet_link link;
} __attribute__((aligned(64)));

struct port_wire {
	const struct gen_options *options;
	struct dp_port *port;
	uint32_t from_ip, to_ip, addresses;
	uint8_t to_mac[6];
	bool resolved;
	uint16_t ip_id;
	uint32_t first, pending; /* of tx */
	uint32_t spares, unchecked;
	struct link *links; /* one line a client */
	struct link *flood_links;
	uint64_t flood_at_ns, flood_due_ns; /* when it was looked at; time not yet spent */
	uint64_t flood_frames, flood_bytes, flood_replies, flood_reply_bytes; /* of UDP payload */
	uint32_t flood_seed;
	struct attack attack;
	struct rte_mbuf *out;
	struct rte_mbuf *tx[2 * PENDING_MAX], *rx[DP_BURST_MAX], *spare[SPARE];
	uint64_t frames_in, frames_out, other, bad, tx_full, no_mbuf;
};

struct port_wire *port_wire_new(const struct gen_options *options, struct dp_port *port)
{
	struct port_wire *wire = calloc(1, sizeof(*wire));
	uint32_t clients = options->flow.clients;

	if (!wire)
		return NULL;
	wire->options = options;
	wire->port = port;
	wire->addresses = (clients + options->ports_per_address - 1) / options->ports_per_address;
	if (!dp_port_address(options->from, &wire->from_ip) ||
		!dp_port_address(options->to, &wire->to_ip)) {
		fprintf(stderr, "gen: --tx-ip %s,%s: two IPv4 unicast addresses are wanted\n",
			options->from, options->to);
		goto fail;
	}
	if (options->from_port + options->ports_per_address - 1 > 65535) {
		fprintf(stderr, "gen: --client-ports %u from port %u on go beyond 65535\n",
			options->ports_per_address, options->from_port);
		goto fail;
	}
	wire->links = aligned_alloc(64, clients * sizeof(*wire->links));
	if (!wire->links) {
		fprintf(stderr, "gen: no memory for %u clients\n", clients);
		goto fail;
	}
	wire->flood_seed = options->flow.seed | 1;
	if (options->flood) {
		wire->flood_links = aligned_alloc(64, FLOOD_SOURCES * sizeof(*wire->flood_links));
		if (!wire->flood_links) {
			fprintf(stderr, "gen: no memory for a flood\n");
			goto fail;
		}
	}
	return wire;
fail:
	port_wire_free(wire);
	return NULL;
}

void port_wire_free(struct port_wire *wire)
{
	if (!wire)
		return;
	rte_pktmbuf_free_bulk(wire->tx + wire->first, wire->pending);
	rte_pktmbuf_free_bulk(wire->spare, wire->spares);
	free(wire->flood_links);
	free(wire->links);
	free(wire);
}

/* --- out --- */

static uint32_t flush(void *ctx)
{
	struct port_wire *wire = ctx;
	uint16_t n;

	if (!wire->pending)
		return 0;
	n = rte_eth_tx_burst(wire->port->id, 0, wire->tx + wire->first, (uint16_t)wire->pending);
	wire->frames_out += n;
	wire->pending -= n;
	wire->first = wire->pending ? wire->first + n : 0;
	wire->tx_full += wire->pending != 0;
	return n;
}

static struct rte_mbuf *new_mbuf(struct port_wire *wire)
{
	if (!wire->spares) {
		if (rte_pktmbuf_alloc_bulk(wire->port->pool[0], wire->spare, SPARE)) {
			wire->no_mbuf++;
			return NULL;
		}
		wire->spares = SPARE;
	}
	return wire->spare[--wire->spares];
}

static void push(struct port_wire *wire, struct rte_mbuf *mbuf, uint32_t bytes)
{
	mbuf->data_len = (uint16_t)bytes;
	mbuf->pkt_len = bytes;
	if (wire->first + wire->pending == 2 * PENDING_MAX) {
		memcpy(wire->tx, wire->tx + wire->first, wire->pending * sizeof(wire->tx[0]));
		wire->first = 0;
	}
	wire->tx[wire->first + wire->pending++] = mbuf;
	if (wire->pending % wire->options->burst == 0)
		flush(wire);
}

static uint8_t *begin(void *ctx, uint32_t client)
{
	struct port_wire *wire = ctx;

	if (wire->pending == PENDING_MAX)
		return NULL;
	wire->out = new_mbuf(wire);
	return wire->out ? rte_pktmbuf_mtod_offset(
				   wire->out, uint8_t *, wire->links[client].link.bytes)
			 : NULL;
}

static void end_on(struct port_wire *wire, const struct packet_link *link, uint32_t bytes)
{
	bool offload = wire->port->tx_checksum_offload;

	if (offload) {
		wire->out->ol_flags =
			RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
		wire->out->l2_len = link->bytes - PACKET_IPV4_BYTES - PACKET_UDP_BYTES;
		wire->out->l3_len = PACKET_IPV4_BYTES;
	}
	push(wire, wire->out,
		packet_link_write(link, rte_pktmbuf_mtod(wire->out, uint8_t *), bytes,
			wire->ip_id++, offload));
}

static void end(void *ctx, uint32_t client, uint32_t bytes)
{
	struct port_wire *wire = ctx;

	end_on(wire, &wire->links[client].link, bytes);
}

/* One CONNECT of an invented source with an invented connect id, or an attack of any kind. */
static bool flood_one(struct port_wire *wire)
{
	const struct packet_link *link;
	struct lean_client client;
	uint32_t bytes, source;
	uint8_t *out;

	wire->flood_seed = wire->flood_seed * 1664525u + 1013904223u;
	source = wire->flood_seed >> 8 & (FLOOD_SOURCES - 1);
	wire->out = new_mbuf(wire);
	if (!wire->out)
		return false;
	/* all links are of one length */
	out = rte_pktmbuf_mtod_offset(wire->out, uint8_t *, wire->flood_links[0].link.bytes);
	if (wire->options->attacks)
		bytes = attack_write(&wire->attack, wire->flood_seed, &source, out);
	else
		bytes = lean_connect(
			&client, wire->flood_seed, (uint16_t)(wire->flood_seed % 4095), 0, 1, out);
	link = &wire->flood_links[source].link;
	end_on(wire, link, bytes);
	wire->flood_frames++;
	wire->flood_bytes += bytes;
	return true;
}

static void rogue_hears(struct port_wire *wire, const uint8_t *data, uint32_t data_bytes)
{
	const struct packet_link *link = &wire->flood_links[ATTACK_ROGUE].link;
	uint8_t out[LEAN_OUT_BYTES];
	uint32_t bytes = attack_read(&wire->attack, data, data_bytes, out);

	if (!bytes || wire->pending >= PENDING_MAX)
		return;
	wire->out = new_mbuf(wire);
	if (!wire->out)
		return;
	memcpy(rte_pktmbuf_mtod_offset(wire->out, uint8_t *, link->bytes), out, bytes);
	end_on(wire, link, bytes);
	wire->flood_frames++;
	wire->flood_bytes += bytes;
}

/* A burst at most, and none while the port is full: what the clients say comes first. */
static void flood(void *ctx, bool on, uint64_t now_ns)
{
	struct port_wire *wire = ctx;
	uint64_t step_ns_1024 = NS_PER_S * 1024 / (wire->options->flood ? wire->options->flood : 1);

	if (!wire->options->flood)
		return;
	if (!on) {
		wire->flood_at_ns = 0;
		return;
	}
	wire->flood_due_ns += wire->flood_at_ns ? (now_ns - wire->flood_at_ns) * 1024 : 0;
	wire->flood_at_ns = now_ns;
	/* what the port did not take is not made up for */
	if (wire->flood_due_ns > wire->options->burst * step_ns_1024)
		wire->flood_due_ns = wire->options->burst * step_ns_1024;
	while (!wire->pending && wire->flood_due_ns >= step_ns_1024) {
		for (uint32_t i = 0; i < wire->options->burst && wire->flood_due_ns >= step_ns_1024;
			i++) {
			if (!flood_one(wire))
				return;
			wire->flood_due_ns -= step_ns_1024;
		}
		flush(wire);
	}
}

static uint32_t room(void *ctx)
{
	struct port_wire *wire = ctx;

	return wire->pending < wire->options->burst ? wire->options->burst : 0;
}

/* --- ARP --- */

static void put_arp_request(const struct port_wire *wire, uint8_t *frame)
{
	static const uint8_t request[] = {0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1};
	const uint8_t *mac = wire->port->local.mac;

	memset(frame, 0xff, 6);
	memcpy(frame + 6, mac, 6);
	memcpy(frame + 12, request, sizeof(request));
	memcpy(frame + 22, mac, 6);
	packet_put32(frame + 28, wire->from_ip);
	memset(frame + 32, 0, 6);
	packet_put32(frame + 38, wire->to_ip);
}

static void arp(struct port_wire *wire, const uint8_t *frame, uint32_t bytes)
{
	struct packet_frame described = {.data = frame, .bytes = bytes};
	struct packet_local local = wire->port->local;
	struct rte_mbuf *mbuf;
	struct packet packet;
	uint32_t asked;

	if (bytes < PACKET_ETH_BYTES + PACKET_ARP_BYTES)
		return;
	if (packet_get16(frame + 20) == 2 && packet_get32(frame + 28) == wire->to_ip) {
		memcpy(wire->to_mac, frame + 22, 6);
		wire->resolved = true;
		return;
	}
	asked = packet_get32(frame + 38);
	if (asked - wire->from_ip >= wire->addresses)
		return;
	local.ip = asked;
	packet_parse(&described, &local, &packet);
	if (packet.kind != PACKET_ARP_REQUEST)
		return;
	mbuf = wire->pending < PENDING_MAX ? new_mbuf(wire) : NULL;
	if (mbuf)
		push(wire, mbuf,
			packet_arp_reply(&packet, &local, rte_pktmbuf_mtod(mbuf, uint8_t *),
				wire->port->frame_bytes_max));
}

/* --- in --- */

/* Checks all that the dataplane checks. */
static bool sound(const struct port_wire *wire, const uint8_t *frame, uint32_t bytes, uint32_t ip,
	uint16_t port)
{
	const struct packet_frame described = {.data = frame, .bytes = bytes};
	struct packet_local local = wire->port->local;
	struct packet packet;

	local.ip = ip;
	local.udp_port = port;
	packet_parse(&described, &local, &packet);
	return packet.kind == PACKET_UDP;
}

static void take(struct port_wire *wire, const struct wire_sink *sink, const struct rte_mbuf *mbuf,
	uint64_t now_ns)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t bytes = rte_pktmbuf_data_len(mbuf), ip, udp_bytes, client;
	uint16_t port, first = (uint16_t)wire->options->from_port;

	if (bytes >= PACKET_ETH_BYTES && packet_get16(frame + 12) == 0x0806) {
		arp(wire, frame, bytes);
		return;
	}
	if (bytes < HEADER_BYTES || packet_get16(frame + 12) != 0x0800 || frame[14] != 0x45 ||
		frame[23] != 17 || !sink) {
		wire->other++;
		return;
	}
	ip = packet_get32(frame + 30);
	port = packet_get16(frame + UDP_AT + 2);
	udp_bytes = packet_get16(frame + UDP_AT + 4);
	if (ip - FLOOD_IP < FLOOD_SOURCES && wire->flood_links && udp_bytes >= PACKET_UDP_BYTES) {
		wire->flood_replies++;
		wire->flood_reply_bytes += udp_bytes - PACKET_UDP_BYTES;
		if (wire->options->attacks && ip == FLOOD_IP + ATTACK_ROGUE &&
			udp_bytes <= bytes - UDP_AT)
			rogue_hears(wire, frame + HEADER_BYTES, udp_bytes - PACKET_UDP_BYTES);
		return;
	}
	client = (ip - wire->from_ip) * wire->options->ports_per_address + port - first;
	if (ip - wire->from_ip >= wire->addresses || port < first ||
		client >= wire->options->flow.clients || udp_bytes < PACKET_UDP_BYTES ||
		udp_bytes > bytes - UDP_AT) {
		wire->other++;
		return;
	}
	if (++wire->unchecked == CHECK_EVERY) {
		wire->unchecked = 0;
		if (!sound(wire, frame, bytes, ip, port)) {
			wire->bad++;
			return;
		}
	}
	sink->datagram(
		sink->ctx, client, frame + HEADER_BYTES, udp_bytes - PACKET_UDP_BYTES, now_ns);
}

static uint32_t receive(void *ctx, const struct wire_sink *sink, uint64_t now_ns)
{
	struct port_wire *wire = ctx;
	uint16_t n;

	if (wire->pending > PENDING_MAX - wire->options->burst)
		flush(wire);
	if (wire->pending > PENDING_MAX - wire->options->burst)
		return 0; /* no room for answers */
	n = rte_eth_rx_burst(wire->port->id, 0, wire->rx, (uint16_t)wire->options->burst);
	wire->frames_in += n;
	for (uint16_t i = 0; i < n; i++) {
		if (i + 4 < n)
			rte_prefetch0(rte_pktmbuf_mtod(wire->rx[i + 4], void *));
		take(wire, sink, wire->rx[i], now_ns);
	}
	rte_pktmbuf_free_bulk(wire->rx, n);
	return n;
}

bool port_wire_resolve(struct port_wire *wire)
{
	static const uint8_t none[6];
	uint64_t end_ns = mono_ns() + RESOLVE_NS, again_ns = 0;
	struct packet_local local = wire->port->local;

	if (memcmp(wire->options->to_mac, none, 6)) {
		memcpy(wire->to_mac, wire->options->to_mac, 6);
		wire->resolved = true;
	}
	while (!wire->resolved && mono_ns() < end_ns && !drive_stopped()) {
		if (mono_ns() >= again_ns) {
			struct rte_mbuf *mbuf = new_mbuf(wire);

			again_ns = mono_ns() + 200 * NS_PER_MS;
			if (mbuf) {
				put_arp_request(wire, rte_pktmbuf_mtod(mbuf, uint8_t *));
				push(wire, mbuf, PACKET_ETH_BYTES + PACKET_ARP_BYTES);
			}
		}
		flush(wire);
		receive(wire, NULL, mono_ns());
	}
	if (!wire->resolved) {
		fprintf(stderr, "gen: %s does not answer ARP on %s\n", wire->options->to,
			wire->port->name);
		return false;
	}
	for (uint32_t i = 0; i < wire->options->flow.clients; i++) {
		local.ip = wire->from_ip + i / wire->options->ports_per_address;
		local.udp_port =
			(uint16_t)(wire->options->from_port + i % wire->options->ports_per_address);
		packet_link_build(&wire->links[i].link, &local, wire->to_mac, wire->to_ip,
			(uint16_t)wire->options->to_port);
	}
	for (uint32_t i = 0; wire->flood_links && i < FLOOD_SOURCES; i++) {
		local.ip = FLOOD_IP + i;
		local.udp_port = (uint16_t)(1024 + i * 7);
		packet_link_build(&wire->flood_links[i].link, &local, wire->to_mac, wire->to_ip,
			(uint16_t)wire->options->to_port);
	}
	return true;
}

static void report(void *ctx, FILE *out)
{
	const struct port_wire *wire = ctx;

	fprintf(out,
		"frames_in %" PRIu64 "\nframes_out %" PRIu64 "\nother_frames %" PRIu64
		"\nbad_frames %" PRIu64 "\ntx_full %" PRIu64 "\nno_mbuf %" PRIu64 "\n",
		wire->frames_in, wire->frames_out, wire->other, wire->bad, wire->tx_full,
		wire->no_mbuf);
	if (wire->flood_links)
		fprintf(out,
			"flood_frames %" PRIu64 "\nflood_bytes %" PRIu64 "\nflood_replies %" PRIu64
			"\nflood_reply_bytes %" PRIu64 "\n",
			wire->flood_frames, wire->flood_bytes, wire->flood_replies,
			wire->flood_reply_bytes);
}

void port_wire_ops(struct port_wire *wire, struct enet_wire *ops, struct flow_ops *flow_ops)
{
	*ops = (struct enet_wire){.ctx = wire,
		.receive = receive,
		.room = room,
		.flush = flush,
		.flood = flood,
		.report = report};
	*flow_ops = (struct flow_ops){.ctx = wire, .begin = begin, .end = end};
}
