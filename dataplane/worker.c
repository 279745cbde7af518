#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/check.h"
#include "common/handle.h"
#include "common/mono.h"
#include "common/msg.h"
#include "common/tables.h"
#include "dataplane/counters.h"
#include "dataplane/lines.h"
#include "dataplane/wire.h"
#include "dataplane/worker.h"
#include "proto/message_types.h"

/* Slots taken from a ring at once: twice the largest message. In a turn so many times that, while
 * the ring goes on giving that much: what a shard on this lcore makes of updates in one slice must
 * leave in one turn, or it piles up; yet receiving must not wait. */
#define DRAIN_SLOTS (2u * MSG_SLOTS_MAX)
#define DRAIN_TURNS 24u

/* Of so many messages to come the peers are fetched, which lie anywhere in the engine's table. */
#define DRAIN_AHEAD 6u

/* Messages taken from a ring that are not worked off yet, because one of them must wait. */
struct drain {
	struct msg_ring *ring;
	uint32_t at, filled;
	uint32_t fetched; /* the slot from which on none is fetched; past filled: in the ring */
	uint32_t ahead;   /* messages from at to there */
	struct msg slot[DRAIN_SLOTS];
} __attribute__((aligned(64)));

enum query_state { QUERY_IDLE, QUERY_ASKED, QUERY_ANSWERED };

struct dp_worker {
	uint32_t index;
	struct dp_wire *wire;
	struct dp_route *route;
	struct sw_enet *engine;
	uint32_t shards;
	struct drain *drain;    /* [2 + shards]: control, then shards, then chat */
	struct dp_lines *lines; /* NULL: no chat on this node */
	uint32_t burst;
	bool ticking, full; /* a shard on this lcore; the last receive burst */
	struct counter_set sets[DP_WORKER_COUNTER_SETS];

	/* A question of another thread about one peer: asker writes index and ASKED, worker writes
	 * info and ANSWERED, asker takes it and writes IDLE. */
	_Atomic uint32_t query;
	uint32_t query_index;
	struct sw_enet_peer_info query_info;

	_Atomic uint64_t counters[DP_COUNTER_COUNT] __attribute__((aligned(64)));
};

static void count(struct dp_worker *worker, enum dp_counter counter)
{
	counter_add(&worker->counters[counter], 1);
}

/* What chat has for one: it gives way as a line does (lines.h), but waits for nothing. */
static void send_chat(struct dp_worker *worker, const struct msg *message)
{
	int ret = sw_enet_send(worker->engine, message->peer, SW_CHANNEL_CHAT,
		SW_ENET_RELIABLE | SW_ENET_YIELDS, msg_payload(message), message->payload_bytes);

	count(worker, DP_C_RING_SENDS);
	if (ret == -ESTALE)
		count(worker, DP_C_CHAT_STALE);
	else if (ret == -EINVAL)
		count(worker, DP_C_CHAT_INVALID);
	else if (ret)
		count(worker, ret == -EAGAIN ? DP_C_CHAT_MEMORY : DP_C_CHAT_SLOW);
}

static void send(struct dp_worker *worker, const struct msg *message)
{
	int ret = sw_enet_send(worker->engine, message->peer, message->channel, message->flags,
		msg_payload(message), message->payload_bytes);

	count(worker, DP_C_RING_SENDS);
	if (ret == -ESTALE)
		count(worker, DP_C_SEND_STALE);
	else if (ret == -EINVAL)
		count(worker, DP_C_SEND_INVALID);
	else if (ret)
		count(worker, DP_C_SEND_NO_MEMORY);
}

static void disconnect(struct dp_worker *worker, const struct msg *message)
{
	static const enum sw_enet_disconnect modes[] = {
		[MSG_DISCONNECT] = SW_ENET_DISCONNECT,
		[MSG_DISCONNECT_LATER] = SW_ENET_DISCONNECT_LATER,
		[MSG_DISCONNECT_NOW] = SW_ENET_DISCONNECT_NOW,
	};
	struct msg_peer_disconnect body;

	if (message->payload_bytes != sizeof(body)) {
		count(worker, DP_C_RING_UNKNOWN);
		return;
	}
	memcpy(&body, msg_payload(message), sizeof(body));
	if (body.mode > MSG_DISCONNECT_NOW) {
		count(worker, DP_C_RING_UNKNOWN);
		return;
	}
	if (sw_enet_disconnect(
		    worker->engine, message->peer, modes[body.mode], body.data, SW_ENET_GONE_LOCAL))
		count(worker, DP_C_SEND_STALE);
}

static void node_state(struct dp_worker *worker, const struct msg *message)
{
	struct msg_node_state body;

	if (message->payload_bytes != sizeof(body)) {
		count(worker, DP_C_RING_UNKNOWN);
		return;
	}
	memcpy(&body, msg_payload(message), sizeof(body));
	dp_wire_node_state(worker->wire, body.state);
}

/* False: it must wait, and so must what stands behind it in this ring. */
static bool take(struct dp_worker *worker, uint32_t from, const struct msg *message)
{
	struct msg_peer_route body;

	if (from > worker->shards && message->type != MSG_PEER_SEND) {
		count(worker, DP_C_RING_UNKNOWN);
		return true;
	}
	switch (message->type) {
	case MSG_PEER_SEND:
		if (from > worker->shards)
			send_chat(worker, message);
		else
			send(worker, message);
		return true;
	case MSG_PEER_DISCONNECT:
		disconnect(worker, message);
		return true;
	case MSG_NODE_STATE:
		if (from != 0)
			break;
		node_state(worker, message);
		return true;
	case MSG_PEER_ROUTE:
		if (from == 0 || message->payload_bytes != sizeof(body))
			break;
		memcpy(&body, msg_payload(message), sizeof(body));
		return dp_route_set(worker->route, from - 1, message->peer, body.route);
	default:
		break;
	}
	count(worker, DP_C_RING_UNKNOWN);
	return true;
}

static void fetch_ahead(const struct dp_worker *worker, struct drain *d)
{
	for (; d->ahead < DRAIN_AHEAD; d->ahead++) {
		const struct msg *message =
			d->fetched < d->filled ? &d->slot[d->fetched]
					       : msg_ring_peek(d->ring, d->fetched - d->filled);

		if (!message)
			return;
		DCHECK(message->slots >= 1 &&
			message->slots <= MSG_SLOTS_MAX); /* one begins here */
		if (message->type == MSG_PEER_SEND)
			dp_wire_prefetch(worker->wire, message->peer);
		d->fetched += message->slots;
	}
}

static bool drain_some(struct dp_worker *worker, uint32_t from)
{
	struct drain *d = &worker->drain[from];

	if (d->at == d->filled) {
		d->fetched -= d->filled;
		DCHECK(d->ahead || !d->fetched);
		d->at = 0;
		d->filled = msg_ring_pop(d->ring, d->slot, DRAIN_SLOTS);
		if (!d->filled)
			return false;
	}
	while (d->at < d->filled) {
		fetch_ahead(worker, d);
		DCHECK(d->fetched > d->at);
		if (!take(worker, from, &d->slot[d->at]))
			break;
		d->at += d->slot[d->at].slots;
		d->ahead--;
	}
	return true;
}

static void answer_query(struct dp_worker *worker)
{
	if (atomic_load_explicit(&worker->query, memory_order_acquire) != QUERY_ASKED)
		return;
	sw_enet_peer_info(worker->engine, worker->query_index, &worker->query_info);
	atomic_store_explicit(&worker->query, QUERY_ANSWERED, memory_order_release);
}

static bool drain(struct dp_worker *worker, uint32_t from)
{
	const struct drain *d = &worker->drain[from];
	bool any = false;

	for (uint32_t i = 0; i < DRAIN_TURNS; i++) {
		any |= drain_some(worker, from);
		/* something waits, or there was less than a ring that is not empty gives */
		if (d->at < d->filled || d->filled + MSG_SLOTS_MAX <= DRAIN_SLOTS)
			break;
	}
	return any;
}

static enum dp_lines_pace pace(const struct dp_worker *worker, const struct drain *direct)
{
	/* what is for one goes first, all of it */
	if (direct->at < direct->filled || msg_ring_used(direct->ring) ||
		dp_wire_behind(worker->wire))
		return DP_LINES_HELD;
	if (worker->ticking)
		return DP_LINES_TICKING;
	return worker->full ? DP_LINES_BUSY : DP_LINES_FREE;
}

static bool chat(struct dp_worker *worker, uint64_t now_ns)
{
	uint32_t from = worker->shards + 1;
	bool work;

	dp_lines_take(worker->lines);
	work = drain(worker, from);
	return dp_lines_send(worker->lines, now_ns, pace(worker, &worker->drain[from])) || work;
}

bool dp_worker_step(struct dp_worker *worker, uint64_t now_ns)
{
	uint32_t received;
	bool work = false;

	dp_wire_turn_begin(worker->wire);
	for (uint32_t from = 0; from <= worker->shards; from++)
		work |= drain(worker, from);
	if (worker->lines)
		work |= chat(worker, now_ns);
	received = dp_wire_receive(worker->wire, now_ns);
	worker->full = received >= worker->burst;
	work |= received > 0;
	dp_route_service(worker->route);
	work |= dp_wire_send(worker->wire, now_ns) > 0;
	answer_query(worker);
	count(worker, DP_C_POLLS);
	if (work)
		count(worker, DP_C_POLLS_BUSY);
	dp_wire_turn_end(worker->wire, work);
	return work;
}

void dp_worker_ticking(struct dp_worker *worker, bool ticking)
{
	worker->ticking = ticking;
}

uint64_t dp_worker_next_ns(const struct dp_worker *worker)
{
	return dp_wire_next_ns(worker->wire);
}

void dp_worker_refuse_connects(struct dp_worker *worker, uint32_t data)
{
	sw_enet_refuse_connects(worker->engine, data);
}

uint32_t dp_worker_peers(const struct dp_worker *worker)
{
	return (uint32_t)counter_get(&worker->sets[1].values[SW_ENET_C_PEERS]);
}

const struct counter_set *dp_worker_counters(const struct dp_worker *worker)
{
	return worker->sets;
}

void dp_worker_histograms(
	const struct dp_worker *worker, struct histogram_ref out[DP_WORKER_HISTOGRAMS])
{
	static const struct histogram none;

	_Static_assert(DP_WORKER_HISTOGRAMS == DP_WIRE_HISTOGRAMS + 1, "the wire's, and one");
	dp_wire_histograms(worker->wire, worker->index, out);
	out[DP_WIRE_HISTOGRAMS] = (struct histogram_ref){.group = "dataplane",
		.name = "chat_delay",
		.help = "how long chat lines took from their sender until all peers of a list had "
			"them queued",
		.index = worker->index,
		.histogram = worker->lines ? dp_lines_delay(worker->lines) : &none};
}

int dp_worker_peer_info(
	struct dp_worker *worker, uint32_t peer_index, struct sw_enet_peer_info *info)
{
	uint32_t state = QUERY_ASKED;

	/* An answer that came after its asker had given up is thrown away here. */
	if (atomic_load(&worker->query) == QUERY_ANSWERED)
		atomic_store(&worker->query, QUERY_IDLE);
	if (atomic_load(&worker->query) != QUERY_IDLE)
		return -ETIMEDOUT;
	worker->query_index = peer_index;
	atomic_store_explicit(&worker->query, QUERY_ASKED, memory_order_release);
	for (int ms = 0; ms < 200 && state == QUERY_ASKED; ms++) {
		const struct timespec pause = {.tv_nsec = 1000000};

		nanosleep(&pause, NULL);
		state = atomic_load_explicit(&worker->query, memory_order_acquire);
	}
	if (state != QUERY_ANSWERED)
		return -ETIMEDOUT;
	*info = worker->query_info;
	atomic_store_explicit(&worker->query, QUERY_IDLE, memory_order_release);
	return info->peer == HANDLE_NONE ? -ENOENT : 0;
}

/* The longest run that the engine may release, in ring slots: a full hold of small packets, each
 * a block of 128 bytes there and two slots here, and the packet that released it. A ring that
 * could never take it would lock its peer. */
static uint32_t run_slots_max(const struct sw_config *config)
{
	return config->enet.peer_hold_bytes / MSG_SLOT_BYTES +
	       msg_slots(config->enet.packet_bytes_max);
}

static bool rings_are_large_enough(const struct sw_config *config, const struct dp_links *links)
{
	uint32_t need = run_slots_max(config), room = msg_ring_room(links->to_control);

	for (uint32_t s = 0; s < links->shards; s++)
		if (msg_ring_room(links->to_shard[s]) < room)
			room = msg_ring_room(links->to_shard[s]);
	if (links->to_chat && msg_ring_room(links->to_chat) < room)
		room = msg_ring_room(links->to_chat);
	if (config->enet.packet_bytes_max > MSG_PAYLOAD_MAX) {
		fprintf(stderr,
			"dataplane: enet.packet_max %u is more than a ring message carries, %u\n",
			config->enet.packet_bytes_max, MSG_PAYLOAD_MAX);
		return false;
	}
	if (room >= need)
		return true;
	fprintf(stderr,
		"dataplane: rings of %u free slots cannot take what one peer's hold releases, %u; "
		"raise "
		"rings.slots or lower enet.peer_hold\n",
		room, need);
	return false;
}

size_t dp_worker_bytes(const struct sw_config *config)
{
	size_t sum = 0;

	sum += sizeof(struct dp_worker);
	sum += dp_wire_bytes(config); /* engine, ways back, transmit queues */
	sum += tables_bytes(dp_route_bytes(config->enet.peers_max));        /* each peer's route */
	sum += (2 + config->simulation.lcore_count) * sizeof(struct drain); /* messages at hand */
	sum += dp_lines_bytes();                                            /* and lists of peers */
	return sum;
}

struct dp_worker *dp_worker_new(const struct sw_config *config, uint32_t index,
	struct dp_port *const *ports, uint32_t port_count, const struct dp_links *links,
	const uint8_t key[16])
{
	struct dp_worker *worker = NULL;
	struct dp_wire_sink sink = {.deliver = dp_route_deliver,
		.deliver_each = dp_route_deliver_each,
		.connected = dp_route_connected,
		.disconnected = dp_route_disconnected};
	size_t drain_bytes = (2 + links->shards) * sizeof(struct drain);

	CHECK(links->shards <= CONFIG_LCORES_MAX);
	if (!rings_are_large_enough(config, links))
		return NULL;
	worker = aligned_alloc(64, (sizeof(*worker) + 63) & ~(size_t)63);
	if (!worker)
		goto no_memory;
	memset(worker, 0, sizeof(*worker));
	worker->index = index;
	worker->shards = links->shards;
	worker->drain = aligned_alloc(64, drain_bytes);
	worker->route = dp_route_new(index, config->enet.peers_max, links, worker->counters);
	if (!worker->drain || !worker->route)
		goto no_memory;
	memset(worker->drain, 0, drain_bytes);
	worker->drain[0].ring = links->from_control;
	for (uint32_t s = 0; s < links->shards; s++)
		worker->drain[1 + s].ring = links->from_shard[s];
	worker->drain[1 + links->shards].ring = links->from_chat;
	worker->burst = config->dataplane.burst;
	sink.ctx = worker->route;
	worker->wire = dp_wire_new(config, index, ports, port_count, &sink, worker->counters, key,
		links->handoff, links->node, mono_ns());
	if (!worker->wire) { /* which has said why */
		dp_worker_free(worker);
		return NULL;
	}
	worker->engine = dp_wire_engine(worker->wire);
	dp_route_time(worker->route, dp_wire_received(worker->wire));
	if (links->lines) {
		worker->lines = dp_lines_new(links->lines, worker->engine,
			config->dataplane.chat_per_s, worker->counters);
		if (!worker->lines)
			goto no_memory;
	}
	worker->sets[0] = (struct counter_set){.group = "dataplane",
		.index = index,
		.count = DP_COUNTER_COUNT,
		.desc = dp_counter_desc,
		.values = worker->counters};
	worker->sets[1] = (struct counter_set){.group = "enet",
		.index = index,
		.count = SW_ENET_COUNTER_COUNT,
		.desc = sw_enet_counter_desc,
		.values = sw_enet_counters(worker->engine)};
	return worker;
no_memory:
	fprintf(stderr, "dataplane: no memory for worker %u: it needs %zu MiB\n", index,
		dp_worker_bytes(config) >> 20);
	dp_worker_free(worker);
	return NULL;
}

void dp_worker_free(struct dp_worker *worker)
{
	if (!worker)
		return;
	dp_lines_free(worker->lines);
	dp_wire_free(worker->wire);
	dp_route_free(worker->route);
	free(worker->drain);
	free(worker);
}
