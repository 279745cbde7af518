/* Proves what several workers owe their clients: with one queue and three workers each client lives
 * on the worker that its flow's hash names, and its answers leave through the queue's owner; full
 * rings drop or wait under a name; two ports share the workers; a peer whose flow moves to another
 * queue, in its handshake or later, goes on; and on threads of their own the workers lose nothing.
 * In the end no frame is left. */
#include <pthread.h>
#include <sched.h>

#include "common/handle.h"
#include "common/mono.h"
#include "dataplane/counters.h"
#include "dataplane/handoff.h"
#include "dataplane/lean_client.h"
#include "dataplane/packet_frames.h"
#include "dataplane/ring_port.h"
#include "dataplane/worker.h"
#include "proto/message_types.h"

#define WORKERS_MAX 4u
#define PORTS_MAX   2u
#define CLIENTS     24u
#define RING_SLOTS  1024u

struct client {
	struct packet_local local;
	struct lean_client enet;
	uint32_t port, queue; /* of the server: where its frames go in */
	uint32_t echoes;      /* messages that came back */
};

static struct node {
	struct sw_config config;
	struct ring_port wire[PORTS_MAX];
	struct dp_port *port[PORTS_MAX];
	struct dp_handoff *handoff;
	struct dp_links links[WORKERS_MAX];
	struct dp_worker *worker[WORKERS_MAX];
	uint32_t workers, ports;
	uint64_t now_ns;
	struct client client[CLIENTS];
	uint64_t peer[CLIENTS];     /* as control heard */
	uint32_t messages[CLIENTS]; /* that control got */
	uint32_t gone;
	uint32_t sent[PORTS_MAX][RING_PORT_QUEUES_MAX]; /* frames that left there */
	_Atomic bool stop;
} node;

static const uint8_t key[16] = "handoff_test key";

static void node_make(const char *name, uint32_t workers, uint32_t ports, uint32_t queues,
	enum config_steering steering)
{
	FILE *log = fopen("/dev/null", "w");
	char text[16];

	memset(&node, 0, sizeof(node));
	node.workers = workers;
	node.ports = ports;
	for (uint32_t p = 0; p < ports; p++) {
		struct config_port *port = &node.config.ports[p];

		snprintf(text, sizeof(text), "%s%u", name, p);
		ring_port_make(&node.wire[p], text, queues);
		if (p == 0)
			ring_port_config(&node.config, text, queues);
		*port = node.config.ports[0];
		snprintf(port->device, sizeof(port->device), "net_ring_%s", text);
		snprintf(port->address, sizeof(port->address), "10.0.%u.1/16", 8 * p);
		port->steering = steering;
	}
	node.config.port_count = ports;
	node.config.dataplane.lcore_count = workers;
	node.config.dataplane.mbufs = 2047;
	node.config.enet.peers_max = 32;
	node.config.enet.half_open_max = 32;
	node.config.enet.pool_bytes = 1 << 20;
	node.config.enet.peer_hold_bytes = 8192;
	for (uint32_t p = 0; p < ports; p++)
		assert_int_equal(dp_port_open(&node.config, p, log, &node.port[p]), 0);
	fclose(log);
	assert_int_equal(dp_handoff_new(&node.config, node.port, ports, key, &node.handoff), 0);
	for (uint32_t w = 0; w < workers; w++) {
		node.links[w].handoff = node.handoff;
		node.links[w].to_control = msg_ring_new("to_control", RING_SLOTS);
		node.links[w].from_control = msg_ring_new("from_control", RING_SLOTS);
		node.worker[w] =
			dp_worker_new(&node.config, w, node.port, ports, &node.links[w], key);
		assert_non_null(node.worker[w]);
	}
	node.now_ns = mono_ns() + NS_PER_MS;
}

static void node_free(void)
{
	uint8_t frame[2048];
	void *unread;

	for (uint32_t w = 0; w < node.workers; w++) {
		dp_worker_free(node.worker[w]);
		msg_ring_free(node.links[w].to_control);
		msg_ring_free(node.links[w].from_control);
	}
	dp_handoff_free(node.handoff);
	for (uint32_t p = 0; p < node.ports; p++) {
		for (uint32_t q = 0; q < node.port[p]->queues; q++) {
			while (ring_port_get(&node.wire[p], q, frame, sizeof(frame)))
				;
			while (!rte_ring_dequeue(node.wire[p].to_server[q], &unread))
				rte_pktmbuf_free(unread);
			assert_true(rte_mempool_full(node.port[p]->pool[q]));
		}
		assert_true(rte_mempool_full(node.wire[p].pool));
		dp_port_close(node.port[p]);
		ring_port_free(&node.wire[p]);
	}
}

static uint64_t counted(uint32_t worker, enum dp_counter counter)
{
	return counter_get(&dp_worker_counters(node.worker[worker])[0].values[counter]);
}

static uint64_t counted_by_all(enum dp_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; w < node.workers; w++)
		sum += counted(w, counter);
	return sum;
}

static uint64_t unknown_peers(uint32_t worker)
{
	return counter_get(
		&dp_worker_counters(node.worker[worker])[1].values[SW_ENET_C_UNKNOWN_PEER]);
}

/* --- control: sends each message back --- */

static struct client *client_of(uint64_t peer)
{
	for (uint32_t c = 0; c < CLIENTS; c++)
		if (node.peer[c] == peer)
			return &node.client[c];
	return NULL;
}

static void control_hears(uint32_t worker, const struct msg *message)
{
	struct client *client = client_of(message->peer);
	struct msg_peer_connected body;
	struct msg_buffer answer;

	assert_int_equal(handle_owner(message->peer), worker);
	switch (message->type) {
	case MSG_PEER_CONNECTED:
		memcpy(&body, msg_payload(message), sizeof(body));
		assert_in_range(body.port, 40000, 40000 + CLIENTS - 1);
		assert_int_equal(node.peer[body.port - 40000], HANDLE_NONE);
		node.peer[body.port - 40000] = message->peer;
		break;
	case MSG_PEER_PACKET:
		assert_non_null(client);
		node.messages[client - node.client]++;
		memcpy(msg_begin(answer.slot, MSG_PEER_SEND, message->peer, message->payload_bytes),
			msg_payload(message), message->payload_bytes);
		answer.slot->channel = message->channel;
		answer.slot->flags = message->flags;
		assert_true(msg_ring_push(node.links[worker].from_control, answer.slot));
		break;
	default:
		node.gone++;
		break;
	}
}

static void control_turn(void)
{
	static struct msg popped[2 * MSG_SLOTS_MAX] __attribute__((aligned(64)));

	for (uint32_t w = 0; w < node.workers; w++) {
		uint32_t slots = msg_ring_pop(
			node.links[w].to_control, popped, sizeof(popped) / sizeof(popped[0]));

		for (uint32_t at = 0; at < slots; at += popped[at].slots)
			control_hears(w, &popped[at]);
	}
}

/* --- clients --- */

static void client_make(uint32_t number, uint32_t port, uint32_t queue)
{
	node.client[number] = (struct client){
		.local = {.mac = {2, 0, 0, 0, 1, (uint8_t)number},
			.ip = 0x0a000100u + number,
			.udp_port = (uint16_t)(40000 + number)},
		.port = port,
		.queue = queue,
	};
}

static void client_put(struct client *client, const uint8_t *datagram, uint32_t bytes)
{
	const struct packet_local *server = &node.port[client->port]->local;
	struct packet_link link;
	uint8_t frame[2048];

	if (!bytes)
		return;
	packet_link_build(&link, &client->local, server->mac, server->ip, server->udp_port);
	memcpy(frame + link.bytes, datagram, bytes);
	ring_port_put(&node.wire[client->port], client->queue, frame,
		packet_link_write(&link, frame, bytes, 1, false));
}

static void client_connect(struct client *client)
{
	uint8_t out[LEAN_OUT_BYTES];

	client_put(client, out, lean_connect(&client->enet, client->local.ip, 5, 77, 1000, out));
}

static void client_say(struct client *client)
{
	uint8_t out[LEAN_OUT_BYTES];

	client_put(client, out,
		lean_send_reliable(&client->enet, 0, "\x01hello", 6,
			(uint32_t)(node.now_ns / NS_PER_MS), out));
}

static void on_message(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *payload, uint32_t bytes)
{
	struct client *client = ctx;

	(void)channel;
	assert_true(reliable);
	assert_int_equal(bytes, 6);
	assert_memory_equal(payload, "\x01hello", 6);
	client->echoes++;
}

/* Every frame that the server has sent, to the client whose MAC it names. */
static void clients_read(void)
{
	uint8_t bytes[2048], out[LEAN_OUT_BYTES];

	for (uint32_t p = 0; p < node.ports; p++) {
		for (uint32_t q = 0; q < node.port[p]->queues; q++) {
			uint32_t n;

			while ((n = ring_port_get(&node.wire[p], q, bytes, sizeof(bytes)))) {
				const struct packet_frame frame = {.data = bytes, .bytes = n};
				struct client *client = &node.client[bytes[5]];
				const struct lean_sink sink = {
					.ctx = client, .message = on_message};
				struct packet packet;

				node.sent[p][q]++;
				packet_parse(&frame, &client->local, &packet);
				assert_int_equal(packet.kind, PACKET_UDP);
				assert_int_equal(packet.from_ip, node.port[client->port]->local.ip);
				assert_int_equal(p, client->port);
				client_put(client, out,
					lean_read(&client->enet, bytes + packet.payload_at,
						packet.payload_bytes, &sink,
						(uint32_t)(node.now_ns / NS_PER_MS), out));
			}
		}
	}
}

/* --- turns on one thread --- */

static void turn(uint32_t workers_mask)
{
	node.now_ns += NS_PER_MS;
	for (uint32_t w = 0; w < node.workers; w++)
		if (workers_mask >> w & 1)
			dp_worker_step(node.worker[w], node.now_ns);
}

static void turns(uint32_t count)
{
	while (count--) {
		turn(~0u);
		control_turn();
		clients_read();
	}
}

static void connect_all(uint32_t clients)
{
	for (uint32_t c = 0; c < clients; c++)
		client_connect(&node.client[c]);
	turns(6);
	for (uint32_t c = 0; c < clients; c++) {
		assert_int_equal(node.client[c].enet.state, LEAN_CONNECTED);
		assert_int_not_equal(node.peer[c], HANDLE_NONE);
	}
}

static uint32_t owner_of(uint32_t c)
{
	uint8_t ip[16] = {[10] = 0xff, [11] = 0xff};
	uint64_t hash_key[2];

	packet_put32(ip + 12, node.client[c].local.ip);
	memcpy(hash_key, key, sizeof(hash_key));
	return dp_flow_owner(
		dp_flow_hash(hash_key, ip, node.client[c].local.udp_port), node.workers);
}

static void one_queue_three_workers(void **state)
{
	uint32_t living[WORKERS_MAX] = {0}, foreign = 0;

	(void)state;
	node_make("one", 3, 1, 1, CONFIG_STEERING_AUTO);
	assert_int_equal(node.port[0]->steer, DP_STEER_HASH);
	for (uint32_t c = 0; c < CLIENTS; c++)
		client_make(c, 0, 0);
	connect_all(CLIENTS);
	for (uint32_t c = 0; c < CLIENTS; c++) {
		assert_int_equal(handle_owner(node.peer[c]), owner_of(c));
		living[owner_of(c)]++;
		foreign += owner_of(c) != 0;
	}
	for (uint32_t w = 0; w < 3; w++) {
		assert_true(living[w] > 0); /* the key is fixed: so it is, or never */
		assert_int_equal(dp_worker_peers(node.worker[w]), living[w]);
	}
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t c = 0; c < CLIENTS; c++)
			client_say(&node.client[c]);
		turns(4);
	}
	for (uint32_t c = 0; c < CLIENTS; c++) {
		assert_int_equal(node.messages[c], 5);
		assert_int_equal(node.client[c].echoes, 5);
		assert_int_equal(node.client[c].enet.acknowledged, 5);
	}
	/* Worker 0 has the queue: nothing is handed to it, nothing sent by others alone. */
	assert_true(counted(0, DP_C_HANDOFF_OVER) >= foreign * 7);
	assert_int_equal(counted(1, DP_C_HANDOFF_TAKEN) + counted(2, DP_C_HANDOFF_TAKEN),
		counted(0, DP_C_HANDOFF_OVER));
	assert_int_equal(counted(1, DP_C_RX_PACKETS) + counted(2, DP_C_RX_PACKETS), 0);
	assert_int_equal(counted(1, DP_C_TX_PACKETS) + counted(2, DP_C_TX_PACKETS), 0);
	assert_true(counted(1, DP_C_HANDOFF_BACK) > 0 && counted(2, DP_C_HANDOFF_BACK) > 0);
	assert_int_equal(counted_by_all(DP_C_HANDOFF_OVER_FULL), 0);
	node_free();
}

/* ARP and pings are the queue's owner's own affair, whoever has the flows. */
static void arp_is_answered_by_the_queues_owner(void **state)
{
	struct frame_case arp = {.base = FRAME_ARP, .at = -1};
	struct packet_frame frame;
	uint8_t bytes[FRAME_BYTES_MAX], answer[2048];

	(void)state;
	node_make("arp", 3, 1, 1, CONFIG_STEERING_AUTO);
	frame_build(&arp, bytes, &frame);
	ring_port_put(&node.wire[0], 0, bytes, frame.bytes);
	turn(~0u);
	assert_int_equal(counted(0, DP_C_ARP_REPLIES), 1);
	assert_true(ring_port_get(&node.wire[0], 0, answer, sizeof(answer)) > 0);
	node_free();
}

static void a_full_ring_over_drops_by_name(void **state)
{
	uint32_t c = 0, sent = 0, room;

	(void)state;
	node_make("over", 2, 1, 1, CONFIG_STEERING_AUTO);
	while (client_make(c, 0, 0), owner_of(c) != 1)
		c++;
	room = 127; /* 64 descriptors: a ring of 128 slots less one */
	assert_int_equal(dp_port_handoff_frames(&node.config, DP_STEER_HASH), 64);
	while (sent < 3 * room) {
		for (uint32_t i = 0; i < 30; i++, sent++)
			client_connect(&node.client[c]);
		turn(1); /* worker 1 is away */
	}
	assert_int_equal(counted(0, DP_C_HANDOFF_OVER), room);
	assert_int_equal(counted(0, DP_C_HANDOFF_OVER_FULL), sent - room);
	assert_int_equal(counted(1, DP_C_HANDOFF_TAKEN), 0);
	for (uint32_t i = 0; i < 3; i++)
		turn(2);
	assert_int_equal(counted(1, DP_C_HANDOFF_TAKEN), room);
	node_free();
}

static void a_full_ring_back_waits(void **state)
{
	struct msg_buffer message;
	uint32_t c = 0, sent = 200;

	(void)state;
	node_make("back", 2, 1, 1, CONFIG_STEERING_AUTO);
	while (client_make(c, 0, 0), owner_of(c) != 1)
		c++;
	client_connect(&node.client[c]);
	turns(6);
	assert_int_equal(node.client[c].enet.state, LEAN_CONNECTED);
	/* More than its ring back takes, to be sent while the queue's owner is away. */
	for (uint32_t i = 0; i < sent; i++) {
		memcpy(msg_begin(message.slot, MSG_PEER_SEND, node.peer[c], 6), "\x01hello", 6);
		message.slot->channel = 0;
		message.slot->flags = MSG_SEND_RELIABLE;
		assert_true(msg_ring_push(node.links[1].from_control, message.slot));
		turn(2);
	}
	assert_true(counted(1, DP_C_HANDOFF_BACK_FULL) > 0);
	for (uint32_t i = 0; i < 40; i++) {
		turn(1);
		clients_read(); /* the client's own ring is small, too */
		turn(2);
	}
	turns(40);
	assert_true(node.client[c].echoes >= sent); /* some came twice: they were long in coming */
	assert_int_equal(node.gone, 0);
	assert_int_equal(counted_by_all(DP_C_TX_DROPPED), 0);
	node_free();
}

static void two_ports_share_three_workers(void **state)
{
	(void)state;
	node_make("two", 3, 2, 1, CONFIG_STEERING_AUTO);
	for (uint32_t c = 0; c < CLIENTS; c++)
		client_make(c, c % 2, 0);
	connect_all(CLIENTS);
	for (uint32_t c = 0; c < CLIENTS; c++) {
		assert_int_equal(handle_owner(node.peer[c]), owner_of(c));
		client_say(&node.client[c]);
	}
	turns(4);
	for (uint32_t c = 0; c < CLIENTS; c++)
		assert_int_equal(node.client[c].echoes, 1);
	node_free();
}

/* Two ports of one queue each and two workers: each has a port, and nothing crosses. */
static void a_port_each_needs_no_handing_on(void **state)
{
	(void)state;
	node_make("each", 2, 2, 1, CONFIG_STEERING_AUTO);
	assert_null(node.handoff);
	for (uint32_t c = 0; c < CLIENTS; c++)
		client_make(c, c % 2, 0);
	connect_all(CLIENTS);
	for (uint32_t c = 0; c < CLIENTS; c++)
		assert_int_equal(handle_owner(node.peer[c]), c % 2);
	node_free();
}

/* The far end spreads flows, as RSS does; then it changes its mind. */
static void a_peer_survives_its_flows_move(void **state)
{
	struct client *settled = &node.client[0], *early = &node.client[1], *late = &node.client[2];
	uint8_t verify[2048];
	uint64_t strays, unknown;

	(void)state;
	node_make("rss", 2, 1, 2, CONFIG_STEERING_PORT);
	assert_int_equal(node.port[0]->steer, DP_STEER_STRAYS);
	for (uint32_t c = 0; c < 3; c++)
		client_make(c, 0, 0);

	client_connect(settled);
	turns(6);
	assert_int_equal(handle_owner(node.peer[0]), 0);
	client_say(settled);
	turns(4);
	assert_int_equal(counted_by_all(DP_C_HANDOFF_OVER), 0);
	settled->queue = 1; /* to worker 1, who has never heard of it */
	for (uint32_t i = 0; i < 10; i++) {
		client_say(settled);
		turns(4);
	}
	assert_int_equal(node.messages[0], 11);
	assert_int_equal(settled->echoes, 11);
	assert_int_equal(settled->enet.acknowledged, 11);
	assert_int_equal(counted(1, DP_C_HANDOFF_STRAYS), counted(1, DP_C_HANDOFF_OVER));
	assert_true(counted(1, DP_C_HANDOFF_STRAYS) >= 20); /* messages and acknowledgements */
	/* Its worker answers by its own queue: nothing goes back. */
	assert_int_equal(counted_by_all(DP_C_HANDOFF_BACK), 0);
	assert_int_equal(node.sent[0][1], 0);

	/* Between CONNECT and its acknowledgement. */
	client_connect(early);
	turn(~0u);
	early->queue = 1;
	turns(6);
	client_say(early);
	turns(4);
	assert_int_equal(handle_owner(node.peer[1]), 0);
	assert_int_equal(early->echoes, 1);

	/* Between a CONNECT whose answer was lost, and its repetition. */
	client_connect(late);
	turn(~0u);
	assert_true(ring_port_get(&node.wire[0], 0, verify, sizeof(verify)) > 0);
	late->queue = 1;
	client_connect(late);
	turns(6);
	assert_int_equal(handle_owner(node.peer[2]), 0);
	client_say(late);
	turns(4);
	assert_int_equal(late->echoes, 1);
	assert_int_equal(dp_worker_peers(node.worker[1]), 0);

	/* A stranger is refused where it comes in. */
	client_make(3, 0, 1);
	node.client[3].enet = settled->enet;
	strays = counted(1, DP_C_HANDOFF_STRAYS);
	unknown = unknown_peers(1);
	client_say(&node.client[3]);
	turns(2);
	assert_int_equal(counted(1, DP_C_HANDOFF_STRAYS), strays);
	assert_int_equal(unknown_peers(1), unknown + 1);
	node_free();
}

/* Four workers; port 0 has a queue of each of the first two, port 1 one of each of the last two. A
 * frame that comes to the wrong one, as when two flows look alike in the table, is dropped there:
 * it must not be answered through a queue of another's. */
static void a_frame_handed_by_mistake_is_dropped(void **state)
{
	uint8_t ip[16] = {[10] = 0xff, [11] = 0xff};
	uint64_t hash_key[2], flow;

	(void)state;
	node_make("mist", 4, 2, 2, CONFIG_STEERING_PORT);
	client_make(0, 0, 0);
	packet_put32(ip + 12, node.client[0].local.ip);
	memcpy(hash_key, key, sizeof(hash_key));
	flow = dp_flow_hash(hash_key, ip, node.client[0].local.udp_port | 1u << 16);
	assert_true(dp_flows_put(node.handoff->flows, flow, 3, true));
	client_connect(&node.client[0]);
	turn(~0u);
	turn(~0u);
	assert_int_equal(counted(0, DP_C_HANDOFF_STRAYS), 1);
	assert_int_equal(counted(3, DP_C_HANDOFF_NO_WAY), 1);
	clients_read();
	assert_int_equal(node.sent[0][0] + node.sent[0][1], 0);
	node_free();
}

/* --- on threads --- */

static void *worker_run(void *arg)
{
	struct dp_worker *worker = arg;

	while (!atomic_load_explicit(&node.stop, memory_order_relaxed)) {
		dp_worker_step(worker, mono_ns());
		sched_yield(); /* more threads than CPUs */
	}
	return NULL;
}

struct threads_case {
	const char *name;
	uint32_t workers, ports, queues;
	enum config_steering steering;
};

static const struct threads_case threads_cases[] = {
	{"t21", 2, 1, 1, CONFIG_STEERING_AUTO},
	{"t31", 3, 1, 1, CONFIG_STEERING_AUTO},
	{"t32", 3, 2, 1, CONFIG_STEERING_AUTO},
	{"t22", 2, 1, 2, CONFIG_STEERING_SOFTWARE},
	{"t2s", 2, 2, 2, CONFIG_STEERING_PORT},
};

#define ROUNDS 500u

/* Waits for all to be done, at most 20 s; the clients take and answer meanwhile. */
static bool until(bool (*done)(uint32_t), uint32_t arg)
{
	uint64_t end_ns = mono_ns() + 20ull * NS_PER_S;

	for (;;) {
		node.now_ns = mono_ns();
		control_turn();
		clients_read();
		if (done(arg))
			return true;
		if (node.now_ns > end_ns)
			return false;
		sched_yield();
	}
}

static bool all_connected(uint32_t unused)
{
	(void)unused;
	for (uint32_t c = 0; c < CLIENTS; c++)
		if (node.client[c].enet.state != LEAN_CONNECTED || !node.peer[c])
			return false;
	return true;
}

static bool all_answered(uint32_t messages)
{
	for (uint32_t c = 0; c < CLIENTS; c++)
		if (node.client[c].echoes < messages || node.messages[c] < messages)
			return false;
	return true;
}

static void on_threads(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(threads_cases) / sizeof(threads_cases[0]); i++) {
		const struct threads_case *c = &threads_cases[i];
		pthread_t threads[WORKERS_MAX];
		bool ok;

		node_make(c->name, c->workers, c->ports, c->queues, c->steering);
		for (uint32_t n = 0; n < CLIENTS; n++)
			client_make(n, n % c->ports, n / c->ports % c->queues);
		for (uint32_t w = 0; w < c->workers; w++)
			assert_int_equal(
				pthread_create(&threads[w], NULL, worker_run, node.worker[w]), 0);
		for (uint32_t n = 0; n < CLIENTS; n++)
			client_connect(&node.client[n]);
		ok = until(all_connected, 0);
		for (uint32_t round = 1; ok && round <= ROUNDS; round++) {
			for (uint32_t n = 0; n < CLIENTS; n++) {
				struct client *client = &node.client[n];

				/* RSS that is never at rest. */
				if (c->steering == CONFIG_STEERING_PORT)
					client->queue = (client->queue + n + round) % c->queues;
				client_say(client);
			}
			ok = until(all_answered, round);
		}
		atomic_store(&node.stop, true);
		for (uint32_t w = 0; w < c->workers; w++)
			pthread_join(threads[w], NULL);
		if (!ok)
			fail_msg("%s: not everyone was answered", c->name);
		assert_int_equal(node.gone, 0);
		assert_int_equal(counted_by_all(DP_C_HANDOFF_OVER_FULL), 0);
		assert_true(counted_by_all(DP_C_HANDOFF_OVER) > 0);
		for (uint32_t n = 0; n < CLIENTS; n++) {
			assert_int_equal(node.messages[n], ROUNDS); /* each exactly once */
			if (c->steering != CONFIG_STEERING_PORT)
				assert_int_equal(handle_owner(node.peer[n]), owner_of(n));
		}
		node_free();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_queue_three_workers),
		cmocka_unit_test(arp_is_answered_by_the_queues_owner),
		cmocka_unit_test(a_full_ring_over_drops_by_name),
		cmocka_unit_test(a_full_ring_back_waits),
		cmocka_unit_test(two_ports_share_three_workers),
		cmocka_unit_test(a_port_each_needs_no_handing_on),
		cmocka_unit_test(a_peer_survives_its_flows_move),
		cmocka_unit_test(a_frame_handed_by_mistake_is_dropped),
		cmocka_unit_test(on_threads),
	};

	return cmocka_run_group_tests_name("handoff", tests, ring_port_eal, ring_port_eal_end);
}
