#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/handle.h"
#include "common/mono.h"
#include "dataplane/counters.h"
#include "dataplane/idle.h"
#include "dataplane/packet.h"
#include "dataplane/wire.h"
#include "perf/echo/echo.h"
#include "perf/echo/fanout.h"
#include "proto/message_types.h"
#include "proto/probe.h"

struct echo {
	const struct sw_config *config;
	struct dp_wire *wire;
	struct fanout *fanout; /* NULL: packets go back to their sender */
	uint64_t now_ns;
	bool full; /* the last receive burst */
	struct counter_set sets[ECHO_COUNTER_SETS];
	_Atomic uint64_t busy_ns;
	_Atomic uint64_t counters[DP_COUNTER_COUNT] __attribute__((aligned(64)));
};

static uint32_t deliver_each(void *ctx, const struct sw_enet_delivery *packets, uint32_t count)
{
	struct echo *echo = ctx;
	struct sw_enet *engine = dp_wire_engine(echo->wire);

	for (uint32_t i = 0; i < count && echo->fanout; i++)
		if (!fanout_say(echo->fanout, packets[i].payload, packets[i].bytes, echo->now_ns))
			counter_add(&echo->counters[DP_C_UNRELIABLE_DROPPED], 1);
	for (uint32_t i = 0; i < count && !echo->fanout; i++)
		if (sw_enet_send(engine, packets[i].peer, packets[i].channel, packets[i].flags,
			    packets[i].payload, packets[i].bytes))
			counter_add(&echo->counters[DP_C_SEND_NO_MEMORY], 1);
	return count;
}

static bool deliver(void *ctx, const struct sw_enet_delivery *run, uint32_t count)
{
	deliver_each(ctx, run, count);
	return true;
}

static bool connected(void *ctx, const struct sw_enet_connected *info)
{
	struct echo *echo = ctx;

	if (echo->fanout)
		fanout_come(echo->fanout, info->peer);
	return true;
}

static bool disconnected(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason)
{
	struct echo *echo = ctx;

	(void)data;
	(void)reason;
	if (echo->fanout)
		fanout_go(echo->fanout, peer);
	return true;
}

struct echo *echo_new(const struct sw_config *config, uint32_t index, struct dp_port *const *ports,
	uint32_t port_count, const uint8_t key[16], struct dp_handoff *handoff,
	struct dp_node *node)
{
	struct echo *echo = aligned_alloc(64, (sizeof(*echo) + 63) & ~(size_t)63);
	const struct dp_wire_sink sink = {.ctx = echo,
		.deliver = deliver,
		.deliver_each = deliver_each,
		.connected = connected,
		.disconnected = disconnected};

	if (!echo) {
		fprintf(stderr, "echo: no memory\n");
		return NULL;
	}
	memset(echo, 0, sizeof(*echo));
	echo->config = config;
	echo->wire = dp_wire_new(config, index, ports, port_count, &sink, echo->counters, key,
		handoff, node, mono_ns());
	if (!echo->wire) {
		free(echo);
		return NULL;
	}
	if (config->dataplane.chat_per_s) {
		echo->fanout = fanout_new(dp_wire_engine(echo->wire), config->enet.peers_max,
			config->dataplane.chat_per_s, echo->counters);
		if (!echo->fanout) {
			fprintf(stderr, "echo: no memory for lines\n");
			echo_free(echo);
			return NULL;
		}
	}
	dp_wire_node_state(echo->wire, SW_NODE_READY);
	echo->sets[0] = (struct counter_set){.group = "dataplane",
		.index = index,
		.count = DP_COUNTER_COUNT,
		.desc = dp_counter_desc,
		.values = echo->counters};
	echo->sets[1] = (struct counter_set){.group = "enet",
		.index = index,
		.count = SW_ENET_COUNTER_COUNT,
		.desc = sw_enet_counter_desc,
		.values = sw_enet_counters(dp_wire_engine(echo->wire))};
	return echo;
}

void echo_free(struct echo *echo)
{
	if (!echo)
		return;
	fanout_free(echo->fanout);
	dp_wire_free(echo->wire);
	free(echo);
}

int echo_benchmark(struct echo *echo, const struct echo_benchmark *sessions)
{
	struct sw_enet_preset preset = {
		.address = {.ip = {[10] = 0xff, [11] = 0xff}, .port = (uint16_t)sessions->udp_port},
		.id = BENCHMARK_PEER_ID,
		.client_id = BENCHMARK_PEER_ID,
		.session_in = BENCHMARK_SESSION,
		.session_out = BENCHMARK_SESSION,
		.channels = (uint8_t)(echo->config->enet.channels_max < BENCHMARK_CHANNELS
					      ? echo->config->enet.channels_max
					      : BENCHMARK_CHANNELS),
		.connect_id = BENCHMARK_CONNECT_ID,
	};

	for (uint32_t i = 0; i < sessions->sessions; i++) {
		int ret;

		packet_put32(preset.address.ip + 12, sessions->ip + i);
		ret = sw_enet_peer_preset(dp_wire_engine(echo->wire), &preset);
		if (ret) {
			fprintf(stderr, "echo: benchmark session %u: %s\n", i, strerror(-ret));
			return -1;
		}
	}
	return 0;
}

const struct counter_set *echo_counters(const struct echo *echo)
{
	return echo->sets;
}

uint64_t echo_busy_ns(const struct echo *echo)
{
	return counter_get(&echo->busy_ns);
}

/* As a worker's (dataplane/worker.c). */
static bool fan_out(struct echo *echo, uint64_t now_ns)
{
	enum dp_lines_pace pace = dp_wire_behind(echo->wire) ? DP_LINES_HELD
				  : echo->full               ? DP_LINES_BUSY
							     : DP_LINES_FREE;

	return fanout_step(echo->fanout, now_ns, pace);
}

static bool turn(struct echo *echo, uint64_t now_ns)
{
	uint32_t received;
	bool work = false;

	echo->now_ns = now_ns;
	dp_wire_turn_begin(echo->wire);
	if (echo->fanout)
		work = fan_out(echo, now_ns);
	received = dp_wire_receive(echo->wire, now_ns);
	echo->full = received >= echo->config->dataplane.burst;
	work |= received > 0;
	work |= dp_wire_send(echo->wire, now_ns) > 0;
	counter_add(&echo->counters[DP_C_POLLS], 1);
	if (work)
		counter_add(&echo->counters[DP_C_POLLS_BUSY], 1);
	dp_wire_turn_end(echo->wire, work);
	return work;
}

static void tell_everyone(struct echo *echo)
{
	struct sw_enet *engine = dp_wire_engine(echo->wire);

	dp_wire_node_state(echo->wire, SW_NODE_DRAINING);
	sw_enet_refuse_connects(engine, SW_REASON_SERVER_STOPPING);
	for (uint32_t i = 0; i < echo->config->enet.peers_max; i++) {
		struct sw_enet_peer_info info;

		sw_enet_peer_info(engine, i, &info);
		if (info.peer != HANDLE_NONE)
			sw_enet_disconnect(engine, info.peer, SW_ENET_DISCONNECT_LATER,
				SW_REASON_SERVER_STOPPING, SW_ENET_GONE_LOCAL);
	}
}

/* Peers whose end has not been reported: also those that are told and have not acknowledged. */
static bool anyone_left(struct echo *echo)
{
	const _Atomic uint64_t *enet = echo->sets[1].values;

	return counter_get(&enet[SW_ENET_C_CONNECTED]) !=
	       counter_get(&enet[SW_ENET_C_DISCONNECTED]);
}

void echo_run(struct echo *echo, const _Atomic bool *stop)
{
	struct dp_idle idle;
	uint64_t now_ns = mono_ns(), end_ns;

	dp_idle_init(&idle, echo->config->dataplane.idle);
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		bool work = turn(echo, now_ns);
		uint64_t before_ns = now_ns;

		dp_idle_wait(&idle, work, now_ns, work ? now_ns : dp_wire_next_ns(echo->wire));
		now_ns = mono_ns();
		/* A turn takes microseconds; one of a millisecond was stopped or preempted. */
		if (work && now_ns - before_ns < NS_PER_MS)
			counter_add(&echo->busy_ns, now_ns - before_ns);
	}
	tell_everyone(echo);
	end_ns = mono_ns() + ECHO_DRAIN_MS * NS_PER_MS;
	do {
		now_ns = mono_ns();
		turn(echo, now_ns);
	} while (anyone_left(echo) && now_ns < end_ns);
}
