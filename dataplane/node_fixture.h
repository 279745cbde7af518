/* node_fixture.h: for tests: several workers over net_ring ports, with ENet clients at the far ends
 * and control, which sends each message back. Time is the test's own, or the real one with the
 * workers on threads. */
#ifndef SW_DATAPLANE_NODE_FIXTURE_H
#define SW_DATAPLANE_NODE_FIXTURE_H

#include "common/handle.h"
#include "common/mono.h"
#include "dataplane/counters.h"
#include "dataplane/handoff.h"
#include "dataplane/lean_client.h"
#include "dataplane/node.h"
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
	bool six;     /* speaks IPv6 ... */
	bool to_link; /* ... from its link-local address to the port's */
	struct lean_client enet;
	uint32_t port, queue; /* of the server: where its frames go in */
	uint32_t echoes;      /* messages that came back */
};

static struct node {
	struct sw_config config;
	struct ring_port wire[PORTS_MAX];
	struct dp_port *port[PORTS_MAX];
	struct dp_handoff *handoff;
	struct dp_node shared;
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

/* tune: NULL, or what is to be different in the configuration. */
static inline void node_make_tuned(const char *name, uint32_t workers, uint32_t ports,
	uint32_t queues, enum config_steering steering, void (*tune)(struct sw_config *))
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
		snprintf(port->address6, sizeof(port->address6), "2001:db8::%u/64", p + 1);
		port->steering = steering;
	}
	node.config.port_count = ports;
	node.config.dataplane.lcore_count = workers;
	node.config.dataplane.mbufs = 2047;
	node.config.enet.peers_max = 32;
	node.config.enet.half_open_max = 32;
	node.config.enet.pool_bytes = 1 << 20;
	node.config.enet.peer_hold_bytes = 8192;
	if (tune)
		tune(&node.config);
	for (uint32_t p = 0; p < ports; p++)
		assert_int_equal(dp_port_open(&node.config, p, log, &node.port[p]), 0);
	fclose(log);
	assert_int_equal(dp_handoff_new(&node.config, node.port, ports, key, &node.handoff), 0);
	for (uint32_t w = 0; w < workers; w++) {
		node.links[w].handoff = node.handoff;
		node.links[w].node = &node.shared;
		node.links[w].to_control = msg_ring_new("to_control", RING_SLOTS);
		node.links[w].from_control = msg_ring_new("from_control", RING_SLOTS);
		node.worker[w] =
			dp_worker_new(&node.config, w, node.port, ports, &node.links[w], key);
		assert_non_null(node.worker[w]);
	}
	node.now_ns = mono_ns() + NS_PER_MS;
}

static inline void node_make(const char *name, uint32_t workers, uint32_t ports, uint32_t queues,
	enum config_steering steering)
{
	node_make_tuned(name, workers, ports, queues, steering, NULL);
}

static inline void node_free(void)
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

static inline uint64_t counted(uint32_t worker, enum dp_counter counter)
{
	return counter_get(&dp_worker_counters(node.worker[worker])[0].values[counter]);
}

static inline uint64_t counted_by_all(enum dp_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; w < node.workers; w++)
		sum += counted(w, counter);
	return sum;
}

static inline uint64_t unknown_peers(uint32_t worker)
{
	return counter_get(
		&dp_worker_counters(node.worker[worker])[1].values[SW_ENET_C_UNKNOWN_PEER]);
}

/* --- control: sends each message back --- */

static inline struct client *client_of(uint64_t peer)
{
	for (uint32_t c = 0; c < CLIENTS; c++)
		if (node.peer[c] == peer)
			return &node.client[c];
	return NULL;
}

static inline void control_hears(uint32_t worker, const struct msg *message)
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

static inline void control_turn(void)
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

static inline void client_make(uint32_t number, uint32_t port, uint32_t queue)
{
	node.client[number] = (struct client){
		.local = {.mac = {2, 0, 0, 0, 1, (uint8_t)number},
			.ip = 0x0a000100u + number,
			.udp_port = (uint16_t)(40000 + number)},
		.port = port,
		.queue = queue,
	};
}

/* The same over IPv6. */
static inline void client_make6(uint32_t number, uint32_t port, uint32_t queue, bool to_link)
{
	struct client *client = &node.client[number];

	client_make(number, port, queue);
	client->six = client->local.has_ip6 = true;
	client->to_link = to_link;
	memcpy(client->local.ip6,
		(const uint8_t[16]){0x20, 1, 0xd, 0xb8, [14] = 1, [15] = (uint8_t)number}, 16);
	packet_link_local(client->local.mac, client->local.link_ip6);
}

static inline void client_put(struct client *client, const uint8_t *datagram, uint32_t bytes)
{
	const struct packet_local *server = &node.port[client->port]->local;
	struct packet_link link;
	uint8_t frame[2048];

	if (!bytes)
		return;
	if (client->six)
		packet_link_build6(&link, &client->local, client->to_link, server->mac,
			client->to_link ? server->link_ip6 : server->ip6, server->udp_port);
	else
		packet_link_build(&link, &client->local, server->mac, server->ip, server->udp_port);
	memcpy(frame + link.bytes, datagram, bytes);
	ring_port_put(&node.wire[client->port], client->queue, frame,
		packet_link_write(&link, frame, bytes, 1, false));
}

static inline void client_connect(struct client *client)
{
	uint8_t out[LEAN_OUT_BYTES];

	client_put(client, out, lean_connect(&client->enet, client->local.ip, 5, 77, 1000, out));
}

static inline void client_say(struct client *client)
{
	uint8_t out[LEAN_OUT_BYTES];

	client_put(client, out,
		lean_send_reliable(&client->enet, 0, "\x01hello", 6,
			(uint32_t)(node.now_ns / NS_PER_MS), out));
}

static inline void on_message(
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
static inline void clients_read(void)
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
				assert_int_equal(packet.is_ip6, client->six);
				assert_int_equal(packet.to_link_ip6, client->to_link);
				if (!client->six)
					assert_int_equal(
						packet.from_ip, node.port[client->port]->local.ip);
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

static inline void turn(uint32_t workers_mask)
{
	node.now_ns += NS_PER_MS;
	for (uint32_t w = 0; w < node.workers; w++)
		if (workers_mask >> w & 1)
			dp_worker_step(node.worker[w], node.now_ns);
}

static inline void turns(uint32_t count)
{
	while (count--) {
		turn(~0u);
		control_turn();
		clients_read();
	}
}

static inline void connect_all(uint32_t clients)
{
	for (uint32_t c = 0; c < clients; c++)
		client_connect(&node.client[c]);
	turns(6);
	for (uint32_t c = 0; c < clients; c++) {
		assert_int_equal(node.client[c].enet.state, LEAN_CONNECTED);
		assert_int_not_equal(node.peer[c], HANDLE_NONE);
	}
}

static inline uint32_t owner_of(uint32_t c)
{
	uint8_t ip[16] = {[10] = 0xff, [11] = 0xff};
	uint64_t hash_key[2];

	packet_put32(ip + 12, node.client[c].local.ip);
	if (node.client[c].six)
		memcpy(ip,
			node.client[c].to_link ? node.client[c].local.link_ip6
					       : node.client[c].local.ip6,
			16);
	if (node.client[c].to_link) /* of which port's link: wire.c, name_source */
		packet_put16(ip + 2, (uint16_t)(node.client[c].port + 1));
	memcpy(hash_key, key, sizeof(hash_key));
	return dp_flow_owner(
		dp_flow_hash(hash_key, ip, node.client[c].local.udp_port), node.workers);
}

#endif
