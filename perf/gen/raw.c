#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "common/mono.h"
#include "perf/gen/raw.h"

#define ENET_BYTES 12u /* header with sent time, SEND_UNRELIABLE */
#define STALL_NS   (20 * NS_PER_MS)

static struct {
	const struct gen_options *options;
	struct dp_port *port;
	struct drive_totals totals;
	struct latency latency; /* stays empty: nothing is looked at */
	struct rte_mbuf *mbuf[DP_BURST_MAX];
	uint32_t out;
	bool sending;
	uint64_t heard_ns;
} self;

/* Sends mbuf[0..n); what the port does not take is freed. */
static void send_burst(uint16_t n)
{
	uint16_t sent = rte_eth_tx_burst(self.port->id, 0, self.mbuf, n);

	if (sent < n)
		rte_pktmbuf_free_bulk(self.mbuf + sent, n - sent);
	self.out += sent;
	self.totals.sent += sent;
}

static void put_frame(struct rte_mbuf *mbuf)
{
	uint32_t bytes = PACKET_ETH_BYTES + PACKET_IPV4_BYTES + PACKET_UDP_BYTES + ENET_BYTES +
			 self.options->flow.bytes;
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	memset(frame, 0, bytes);
	memcpy(frame, "\2raw\0\1", 6);
	memcpy(frame + 6, self.port->local.mac, 6);
	packet_put16(frame + 12, 0x88b5); /* IEEE 802: for local experiments */
	mbuf->data_len = (uint16_t)bytes;
	mbuf->pkt_len = bytes;
}

static void fill(void)
{
	uint32_t n = self.options->flow.window - self.out;

	n = n < self.options->burst ? n : self.options->burst;
	if (rte_pktmbuf_alloc_bulk(self.port->pool[0], self.mbuf, n))
		return;
	for (uint32_t i = 0; i < n; i++)
		put_frame(self.mbuf[i]);
	send_burst((uint16_t)n);
}

static bool turn(void *ctx, uint64_t now_ns)
{
	uint16_t n = rte_eth_rx_burst(self.port->id, 0, self.mbuf, (uint16_t)self.options->burst);

	(void)ctx;
	self.totals.received += n;
	self.out -= n < self.out ? n : self.out;
	if (n)
		self.heard_ns = now_ns;
	if (n && self.sending)
		send_burst(n);
	else if (n)
		rte_pktmbuf_free_bulk(self.mbuf, n);
	if (now_ns - self.heard_ns > STALL_NS) {
		self.totals.lost += self.out;
		self.out = 0;
		self.heard_ns = now_ns;
	}
	if (self.sending && self.out < self.options->flow.window)
		fill();
	return n > 0;
}

static bool connect_nobody(void *ctx)
{
	(void)ctx;
	return true;
}

static void send_on(void *ctx, bool on, uint64_t now_ns)
{
	(void)ctx;
	self.sending = on;
	self.heard_ns = now_ns;
}

static uint32_t out(void *ctx)
{
	(void)ctx;
	return self.out;
}

static bool finished(void *ctx)
{
	(void)ctx;
	return self.options->count && self.totals.sent >= self.options->count;
}

static void totals(void *ctx, struct drive_totals *to)
{
	(void)ctx;
	*to = self.totals;
}

static struct latency *latency(void *ctx)
{
	(void)ctx;
	return &self.latency;
}

static void leave(void *ctx)
{
	(void)ctx;
}

static void report(void *ctx, FILE *to)
{
	(void)ctx;
	fprintf(to, "sent %" PRIu64 "\nreceived %" PRIu64 "\nlost %" PRIu64 "\n", self.totals.sent,
		self.totals.received, self.totals.lost);
}

void raw_load_init(struct drive_load *load, const struct gen_options *options, struct dp_port *port)
{
	self.options = options;
	self.port = port;
	*load = (struct drive_load){.connect = connect_nobody,
		.turn = turn,
		.send = send_on,
		.out = out,
		.finished = finished,
		.totals = totals,
		.latency = latency,
		.leave = leave,
		.report = report};
}
