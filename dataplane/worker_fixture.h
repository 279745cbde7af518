/* worker_fixture.h: for tests: a worker between a net_ring port and rings that the test holds, and
 * an ENet client that speaks to it in frames. Time is the test's own. */
#ifndef SW_DATAPLANE_WORKER_FIXTURE_H
#define SW_DATAPLANE_WORKER_FIXTURE_H

#include "common/handle.h"
#include "common/mono.h"
#include "dataplane/counters.h"
#include "dataplane/lean_client.h"
#include "dataplane/packet_frames.h"
#include "dataplane/ring_port.h"
#include "dataplane/worker.h"
#include "proto/message_types.h"

#define SHARDS     2u
#define RING_SLOTS 256u

struct world {
	struct sw_config config;
	struct ring_port wire;
	struct dp_port *port;
	struct dp_links links;
	struct dp_worker *worker;
	uint64_t now_ns;
	struct msg popped[2 * MSG_SLOTS_MAX] __attribute__((aligned(64)));
};

struct client {
	struct world *world;
	struct packet_local local; /* as the client's own parser sees it */
	bool six;                  /* speaks IPv6 ... */
	bool to_link;              /* ... from its link-local address to the port's */
	struct lean_client enet;
	uint32_t messages;
	uint8_t last[64];
	uint32_t last_bytes;
	uint32_t frames;
	uint16_t ip_id; /* of the last: they come in order, and once */
};

static const uint8_t key[16] = "worker_test key";

/* address6: "" for none. chat: with its three rings. */
static inline void world_make_with(
	struct world *world, const char *name, const char *address6, bool chat)
{
	FILE *log = fopen("/dev/null", "w");

	memset(world, 0, sizeof(*world));
	ring_port_make(&world->wire, name, 1);
	ring_port_config(&world->config, name, 1);
	world->config.enet.peers_max = 16;
	world->config.enet.half_open_max = 16;
	world->config.enet.pool_bytes = 1 << 20;
	world->config.enet.peer_hold_bytes = 8192;
	snprintf(world->config.ports[0].address6, sizeof(world->config.ports[0].address6), "%s",
		address6);
	assert_int_equal(dp_port_open(&world->config, 0, log, &world->port), 0);
	fclose(log);
	world->links.shards = SHARDS;
	world->links.to_control = msg_ring_new("to_control", RING_SLOTS);
	world->links.from_control = msg_ring_new("from_control", RING_SLOTS);
	for (uint32_t s = 0; s < SHARDS; s++) {
		world->links.to_shard[s] = msg_ring_new("to_shard", RING_SLOTS);
		world->links.from_shard[s] = msg_ring_new("from_shard", RING_SLOTS);
	}
	if (chat) {
		world->config.dataplane.chat_per_s = 1000000;
		world->links.to_chat = msg_ring_new("to_chat", RING_SLOTS);
		world->links.from_chat = msg_ring_new("from_chat", RING_SLOTS);
		world->links.lines = msg_ring_new("lines", RING_SLOTS);
	}
	world->worker = dp_worker_new(&world->config, 0, &world->port, 1, &world->links, key);
	assert_non_null(world->worker);
	world->now_ns = mono_ns() + NS_PER_MS;
}

static inline void world_make6(struct world *world, const char *name, const char *address6)
{
	world_make_with(world, name, address6, false);
}

static inline void world_make(struct world *world, const char *name)
{
	world_make_with(world, name, "", false);
}

static inline void world_free(struct world *world)
{
	uint8_t frame[2048];

	while (ring_port_get(&world->wire, 0, frame, sizeof(frame)))
		;
	dp_worker_free(world->worker);
	dp_port_close(world->port);
	msg_ring_free(world->links.to_control);
	msg_ring_free(world->links.from_control);
	for (uint32_t s = 0; s < SHARDS; s++) {
		msg_ring_free(world->links.to_shard[s]);
		msg_ring_free(world->links.from_shard[s]);
	}
	if (world->links.to_chat) {
		msg_ring_free(world->links.to_chat);
		msg_ring_free(world->links.from_chat);
		msg_ring_free(world->links.lines);
	}
	ring_port_free(&world->wire);
}

static inline uint64_t counted(const struct world *world, enum dp_counter counter)
{
	return counter_get(&dp_worker_counters(world->worker)[0].values[counter]);
}

static inline bool step(struct world *world, uint32_t ms)
{
	world->now_ns += ms * NS_PER_MS;
	return dp_worker_step(world->worker, world->now_ns);
}

static inline const struct msg *pop(struct world *world, struct msg_ring *ring)
{
	/* One message at a time would be simpler if rings popped one: tests drain and take the
	 * first, and so look at rings that hold one message. */
	uint32_t slots = msg_ring_pop(ring, world->popped, 2 * MSG_SLOTS_MAX);

	if (!slots)
		return NULL;
	assert_int_equal(slots, world->popped[0].slots);
	return world->popped;
}

static inline uint32_t drain(struct world *world, struct msg_ring *ring)
{
	uint32_t slots, messages = 0;

	while ((slots = msg_ring_pop(ring, world->popped, 2 * MSG_SLOTS_MAX)))
		for (uint32_t at = 0; at < slots; at += world->popped[at].slots)
			messages++;
	return messages;
}

static inline void fill(struct msg_ring *ring)
{
	struct msg_buffer junk;

	msg_begin(junk.slot, MSG_NONE, HANDLE_NONE, 0);
	while (msg_ring_push(ring, junk.slot))
		;
}

/* --- a client --- */

static inline void client_make(struct client *client, struct world *world, uint8_t number)
{
	memset(client, 0, sizeof(*client));
	client->world = world;
	client->local = (struct packet_local){.mac = {2, 0, 0, 0, 1, number},
		.ip = 0x0a000100u + number,
		.udp_port = (uint16_t)(40000 + number)};
}

/* 2001:db8::100 + number, or its link-local address. */
static inline void client_make6(
	struct client *client, struct world *world, uint8_t number, bool to_link)
{
	client_make(client, world, number);
	client->six = client->local.has_ip6 = true;
	client->to_link = to_link;
	memcpy(client->local.ip6, (const uint8_t[16]){0x20, 1, 0xd, 0xb8, [14] = 1, [15] = number},
		16);
	packet_link_local(client->local.mac, client->local.link_ip6);
}

static inline void client_put(struct client *client, const uint8_t *datagram, uint32_t bytes)
{
	const struct packet_local *server = &client->world->port->local;
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
	ring_port_put(
		&client->world->wire, 0, frame, packet_link_write(&link, frame, bytes, 1, false));
}

static inline void on_message(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *payload, uint32_t bytes)
{
	struct client *client = ctx;

	(void)channel;
	(void)reliable;
	client->messages++;
	client->last_bytes = bytes < sizeof(client->last) ? bytes : sizeof(client->last);
	memcpy(client->last, payload, client->last_bytes);
}

static inline uint32_t now_ms(const struct client *client)
{
	return (uint32_t)(client->world->now_ns / NS_PER_MS);
}

/* Takes up to so many frames; acknowledges. Frames for others must not be there. */
static inline uint32_t client_read_some(struct client *client, uint32_t most)
{
	const struct lean_sink sink = {.ctx = client, .message = on_message};
	uint8_t bytes[2048], out[LEAN_OUT_BYTES];
	uint32_t frames = 0, n;

	while (frames < most &&
		(n = ring_port_get(&client->world->wire, 0, bytes, sizeof(bytes)))) {
		const struct packet_frame frame = {.data = bytes, .bytes = n};
		struct packet packet;

		packet_parse(&frame, &client->local, &packet);
		assert_int_equal(packet.kind, PACKET_UDP);
		assert_int_equal(packet.is_ip6, client->six);
		assert_int_equal(packet.to_link_ip6, client->to_link);
		if (!client->six) {
			uint16_t ip_id = packet_get16(bytes + packet.l3_at + 4);

			assert_true(!client->frames++ || (int16_t)(ip_id - client->ip_id) > 0);
			client->ip_id = ip_id;
		}
		client_put(client, out,
			lean_read(&client->enet, bytes + packet.payload_at, packet.payload_bytes,
				&sink, now_ms(client), out));
		frames++;
	}
	return frames;
}

static inline uint32_t client_read(struct client *client)
{
	return client_read_some(client, UINT32_MAX);
}

/* Connects and takes control's event; returns the peer. */
static inline uint64_t client_connect(struct client *client)
{
	struct world *world = client->world;
	uint8_t out[LEAN_OUT_BYTES];
	const struct msg *message;

	client_put(client, out, lean_connect(&client->enet, client->local.ip, 5, 77, 1000, out));
	step(world, 1);
	assert_int_equal(client_read(client), 1);
	assert_int_equal(client->enet.state, LEAN_CONNECTED);
	step(world, 1);
	message = pop(world, world->links.to_control);
	assert_non_null(message);
	assert_int_equal(message->type, MSG_PEER_CONNECTED);
	return message->peer;
}

static inline void client_reliable(struct client *client, const void *payload, uint32_t bytes)
{
	uint8_t out[LEAN_OUT_BYTES];

	client_put(client, out,
		lean_send_reliable(&client->enet, 0, payload, bytes, now_ms(client), out));
}

static inline void client_unreliable(struct client *client, const void *payload, uint32_t bytes)
{
	uint8_t out[LEAN_OUT_BYTES];

	client_put(client, out, lean_send_unreliable(&client->enet, 1, payload, bytes, out));
}

static inline void shard_route(struct world *world, uint32_t shard, uint64_t peer, uint32_t to)
{
	const struct msg_peer_route body = {.route = to};
	struct msg_buffer message;

	memcpy(msg_begin(message.slot, MSG_PEER_ROUTE, peer, sizeof(body)), &body, sizeof(body));
	assert_true(msg_ring_push(world->links.from_shard[shard], message.slot));
}

#endif
