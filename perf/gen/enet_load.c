#include <inttypes.h>

#include "common/mono.h"
#include "perf/gen/enet_load.h"

static struct {
	struct flow *flow;
	struct enet_wire wire;
	uint32_t clients;
	bool sending;
} self;

static void datagram(
	void *ctx, uint32_t client, const uint8_t *data, uint32_t bytes, uint64_t now_ns)
{
	flow_receive(ctx, client, data, bytes, now_ns);
}

static uint32_t receive(uint64_t now_ns)
{
	const struct wire_sink sink = {.ctx = self.flow, .datagram = datagram};

	return self.wire.receive(self.wire.ctx, &sink, now_ns);
}

static bool turn(void *ctx, uint64_t now_ns)
{
	uint32_t received, sent;

	(void)ctx;
	received = receive(now_ns);
	flow_step(self.flow, self.wire.room(self.wire.ctx), now_ns);
	sent = self.wire.flush(self.wire.ctx);
	if (self.wire.flood)
		self.wire.flood(self.wire.ctx, self.sending, now_ns);
	return received || sent;
}

static bool connect_all(void *ctx)
{
	const struct flow_counters *counters = flow_counters(self.flow);
	uint64_t connected;

	flow_connect(self.flow);
	while (flow_connecting(self.flow) && !drive_stopped())
		turn(ctx, mono_ns());
	/* The last handshake's acknowledgement is on its way; the server hears it first. */
	turn(ctx, mono_ns());
	connected = counters->connected - counters->gone;
	if (connected >= self.clients)
		return true;
	fprintf(stderr,
		"gen: %" PRIu64 " of %u clients connected; %" PRIu64 " were refused, %" PRIu64
		" had no answer\n",
		connected, self.clients, counters->refused, counters->unanswered);
	return false;
}

static void send_on(void *ctx, bool on, uint64_t now_ns)
{
	(void)ctx;
	self.sending = on;
	flow_send(self.flow, on, now_ns);
}

static uint32_t out(void *ctx)
{
	(void)ctx;
	return flow_out(self.flow);
}

static bool finished(void *ctx)
{
	(void)ctx;
	return flow_finished(self.flow) && !flow_out(self.flow);
}

static void totals(void *ctx, struct drive_totals *totals)
{
	const struct flow_counters *counters = flow_counters(self.flow);

	(void)ctx;
	*totals = (struct drive_totals){
		.sent = counters->sent, .received = counters->received, .lost = counters->lost};
}

static struct latency *latency(void *ctx)
{
	(void)ctx;
	return flow_latency(self.flow);
}

static void leave(void *ctx)
{
	uint64_t end_ns = mono_ns() + NS_PER_S;
	uint32_t from = 0;
	bool more = true;

	(void)ctx;
	while (more && mono_ns() < end_ns) {
		uint64_t now_ns = mono_ns();

		receive(now_ns);
		more = flow_disconnect(self.flow, &from, self.wire.room(self.wire.ctx), now_ns);
		self.wire.flush(self.wire.ctx);
	}
}

static void report(void *ctx, FILE *to)
{
	const struct flow_counters *counters = flow_counters(self.flow);

	(void)ctx;
#define PRINT(name, help)                                                                          \
	if (counters->name)                                                                        \
		fprintf(to, "%s %" PRIu64 "\n", #name, counters->name);
	FLOW_COUNTERS(PRINT)
#undef PRINT
	self.wire.report(self.wire.ctx, to);
}

void enet_load_init(
	struct drive_load *load, struct flow *flow, const struct enet_wire *wire, uint32_t clients)
{
	self.flow = flow;
	self.wire = *wire;
	self.clients = clients;
	*load = (struct drive_load){.connect = connect_all,
		.turn = turn,
		.send = send_on,
		.out = out,
		.finished = finished,
		.totals = totals,
		.latency = latency,
		.leave = leave,
		.report = report};
}
