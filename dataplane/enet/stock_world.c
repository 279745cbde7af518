/* stock_world.c: see stock_world.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/enet/stock_world.h"
#include "dataplane/enet/wire.h"
#include "tests/netsim/stock_enet.h"

#define SERVER_IP   0x0a000001u
#define SERVER_PORT 7777u
#define CLIENT_IP   0x0a000100u
#define HEAD_BYTES  12u

#define EXPECT(world, cond)                                                                        \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s (SW_SEED=%llu, at %llu ms)\n", __FILE__,        \
				__LINE__, #cond, (unsigned long long)(world)->config.net.seed,     \
				(unsigned long long)netsim_now_ms((world)->sim));                  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

uint64_t world_seed(void)
{
	const char *text = getenv("SW_SEED");

	return text ? strtoull(text, NULL, 10) : 1;
}

static struct world_stream *stream(struct world_stream **at)
{
	if (!*at)
		*at = calloc(1, sizeof **at);
	if (!*at)
		abort();
	return *at;
}

static uint8_t filler(uint32_t number, uint32_t at)
{
	uint32_t x = (number * 2654435761u) ^ (at * 40503u);

	return (uint8_t)(x >> 13 ^ x);
}

static void message_fill(
	uint8_t *p, uint32_t bytes, uint32_t client, uint8_t kind, uint8_t channel, uint32_t number)
{
	wire_put16(p, client);
	p[2] = kind;
	p[3] = channel;
	wire_put32(p + 4, number);
	wire_put32(p + 8, bytes);
	for (uint32_t i = HEAD_BYTES; i < bytes; i++)
		p[i] = filler(number, i);
}

static void message_check(struct world *world, struct world_stream *s, uint32_t client,
	const uint8_t *p, size_t bytes, uint8_t channel)
{
	uint32_t number, kind;

	EXPECT(world, bytes >= HEAD_BYTES && wire_get32(p + 8) == bytes);
	EXPECT(world, wire_get16(p) == client && p[2] < WORLD_KINDS && p[3] == channel);
	kind = p[2];
	number = wire_get32(p + 4);
	for (uint32_t i = HEAD_BYTES; i < bytes; i++)
		EXPECT(world, p[i] == filler(number, i));
	s->count[kind]++;
	if (kind == WORLD_RELIABLE) {
		EXPECT(world, number == s->received[kind][channel]);
		s->received[kind][channel]++;
	} else if (kind == WORLD_UNRELIABLE) {
		EXPECT(world, number >= s->received[kind][channel]);
		s->received[kind][channel] = number + 1;
	} else if (number < 4096) {
		EXPECT(world, !(s->seen[channel][number / 8] & 1u << number % 8));
		s->seen[channel][number / 8] |= (uint8_t)(1u << number % 8);
	}
}

static enum world_kind kind_of(uint32_t flags)
{
	if (flags & ENET_PACKET_FLAG_RELIABLE)
		return WORLD_RELIABLE;
	return flags & ENET_PACKET_FLAG_UNSEQUENCED ? WORLD_UNSEQUENCED : WORLD_UNRELIABLE;
}

static struct world_client *client_of(struct world *world, uint64_t handle)
{
	for (uint32_t i = 0; i < world->clients; i++) {
		if (world->client[i].handle == handle)
			return &world->client[i];
	}
	EXPECT(world, !"a handle that connected() never gave");
	return NULL;
}

static bool refuse(struct world *world)
{
	return world->config.refuse_per_mille &&
	       netsim_random(world->sim, 1000) < world->config.refuse_per_mille;
}

static bool on_deliver(void *ctx, const struct sw_enet_delivery *run, uint32_t n)
{
	struct world *world = ctx;

	EXPECT(world, n > 0);
	if (world->deaf || refuse(world))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = wire_get16(run[i].payload);
		struct world_client *client = &world->client[number];

		EXPECT(world, run[i].bytes >= HEAD_BYTES && number < world->clients);
		EXPECT(world, client->handle == run[i].peer && client->disconnects == 0);
		message_check(world, stream(&client->up), number, run[i].payload, run[i].bytes,
			run[i].channel);
		if (world->config.echo)
			sw_enet_send(world->engine, run[i].peer, run[i].channel, run[i].flags,
				run[i].payload, run[i].bytes);
	}
	return true;
}

static bool on_connected(void *ctx, const struct sw_enet_connected *info)
{
	struct world *world = ctx;
	struct world_client *client;

	if (refuse(world))
		return false;
	EXPECT(world, info->connect_data < world->clients);
	client = &world->client[info->connect_data];
	EXPECT(world, client->connects == 0);
	client->connects++;
	client->handle = info->peer;
	client->payload_bytes_max = info->payload_bytes_max;
	client->channels = info->channels;
	return true;
}

static bool on_disconnected(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason)
{
	struct world *world = ctx;
	struct world_client *client;

	if (refuse(world))
		return false;
	client = client_of(world, peer);
	EXPECT(world, client->connects == 1 && client->disconnects == 0);
	client->disconnects++;
	client->disconnect_data = data;
	client->reason = reason;
	return true;
}

/* A datagram that tx_begin handed out. */
struct out_frame {
	struct out_frame *next;
	struct sw_enet_addr to;
	uint32_t peer_index, bytes_max;
	uint8_t data[];
};

/* Exactly as large as asked for, so that the address sanitizer sees a byte too many. */
static uint8_t *on_tx_begin(void *ctx, uint32_t peer_index, const struct sw_enet_addr *to,
	uint32_t bytes_max, void **frame)
{
	struct world *world = ctx;
	struct out_frame *out;

	if (refuse(world))
		return NULL;
	EXPECT(world,
		world->open_count <= SW_ENET_OPEN_MAX); /* one more for what is not a peer's */
	world->open_count++;
	*frame = out = malloc(sizeof *out + bytes_max);
	*out = (struct out_frame){
		.next = world->open, .to = *to, .peer_index = peer_index, .bytes_max = bytes_max};
	world->open = out;
	return out->data;
}

static void on_tx_end(void *ctx, uint32_t peer_index, void *frame, uint32_t bytes)
{
	struct world *world = ctx;
	struct netsim_address server = {SERVER_IP, SERVER_PORT}, to;
	struct out_frame *out = frame, **link = &world->open;

	EXPECT(world, bytes <= out->bytes_max && peer_index == out->peer_index);
	while (*link != out)
		link = &(*link)->next;
	*link = out->next;
	world->open_count--;
	to.ip = wire_get32(out->to.ip + 12);
	to.port = out->to.port;
	if (bytes)
		netsim_send(world->sim, server, to, out->data, bytes);
	free(out);
}

static void default_to(uint32_t *value, uint32_t fallback)
{
	if (!*value)
		*value = fallback;
}

struct world *world_new(const struct world_config *config)
{
	struct world *world = calloc(1, sizeof *world);
	struct sw_enet_config *engine;
	struct sw_enet_ops ops = {
		.ctx = world,
		.deliver = on_deliver,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.tx_begin = on_tx_begin,
		.tx_end = on_tx_end,
	};
	size_t bytes;

	if (!world)
		abort();
	world->config = *config;
	engine = &world->config.engine;
	default_to(&engine->peers_max, 64);
	default_to(&engine->half_open_max, 64);
	default_to(&engine->channels_max, 255);
	default_to(&engine->mtu, 1400);
	default_to(&engine->packet_bytes_max, 65536);
	default_to(&engine->connects_per_s, 100000);
	default_to(&engine->connects_burst, 100000);
	default_to(&engine->source_connects_per_s, 100000);
	default_to(&engine->source_connects_burst, 100000);
	default_to(&engine->peer_hold_bytes, 1 << 20);
	default_to(&engine->peer_queue_bytes, 1 << 20);
	if (!engine->pool_bytes)
		engine->pool_bytes = 64 << 20;
	for (int i = 0; i < 16; i++)
		engine->key[i] = (uint8_t)(config->net.seed >> i % 8 * 8) ^ (uint8_t)(i * 37);
	world->sim = netsim_new(&config->net, config->start_ms);
	stock_enet_attach(world->sim, CLIENT_IP, config->client_skew_ms);
	bytes = sw_enet_bytes(engine);
	world->memory = aligned_alloc(64, bytes);
	world->engine = sw_enet_init(world->memory, bytes, engine, &ops, config->start_ms);
	EXPECT(world, world->engine);
	world->client = calloc(WORLD_CLIENTS, sizeof *world->client);
	return world;
}

void world_free(struct world *world)
{
	for (uint32_t i = 0; i < world->host_count; i++)
		enet_host_destroy(world->hosts[i]);
	for (uint32_t i = 0; i < world->clients; i++) {
		free(world->client[i].up);
		free(world->client[i].down);
	}
	free(world->client);
	for (struct out_frame *next; world->open; world->open = next) {
		next = world->open->next;
		free(world->open);
	}
	netsim_free(world->sim);
	free(world->memory);
	free(world);
}

ENetHost *world_host(struct world *world, size_t peers, bool checksum)
{
	ENetHost *host = enet_host_create(NULL, peers, 0, 0, 0);

	EXPECT(world, host && world->host_count < WORLD_CLIENTS);
	/* the library's own begins with an address */
	host->randomSeed = (enet_uint32)world->config.net.seed * 31 + world->host_count;
	if (checksum)
		host->checksum = enet_crc32;
	world->hosts[world->host_count++] = host;
	return host;
}

uint32_t world_connect(struct world *world, ENetHost *host, size_t channels)
{
	uint32_t number = world->clients++;
	ENetAddress server = {.host = htonl(SERVER_IP), .port = SERVER_PORT};
	struct world_client *client = &world->client[number];

	EXPECT(world, number < WORLD_CLIENTS);
	client->host = host;
	client->peer = enet_host_connect(host, &server, channels, number);
	EXPECT(world, client->peer);
	client->peer->data = client;
	return number;
}

static void client_event(struct world *world, const ENetEvent *event)
{
	struct world_client *client = event->peer->data;

	switch (event->type) {
	case ENET_EVENT_TYPE_CONNECT:
		EXPECT(world, !client->connected);
		client->connected = true;
		break;
	case ENET_EVENT_TYPE_DISCONNECT:
		EXPECT(world, !client->gone);
		client->gone = true;
		client->gone_data = event->data;
		break;
	case ENET_EVENT_TYPE_RECEIVE:
		message_check(world, stream(&client->down), (uint32_t)(client - world->client),
			event->packet->data, event->packet->dataLength, event->channelID);
		enet_packet_destroy(event->packet);
		break;
	default:
		break;
	}
}

static void server_step(struct world *world)
{
	static uint8_t data[32][4096];
	struct netsim_address at = {SERVER_IP, SERVER_PORT}, from;
	uint64_t now = netsim_now_ms(world->sim);
	struct sw_enet_datagram burst[32];
	uint32_t n;

	do {
		for (n = 0; n < 32; n++) {
			int bytes = netsim_receive(world->sim, at, &from, data[n], sizeof data[n]);

			if (bytes < 0)
				break;
			burst[n] = (struct sw_enet_datagram){
				.from = {.ip = {[10] = 0xff, [11] = 0xff}, .port = from.port},
				.bytes = (uint32_t)bytes,
				.data = data[n],
			};
			wire_put32(burst[n].from.ip + 12, from.ip);
		}
		sw_enet_rx(world->engine, burst, n, NULL, now);
		sw_enet_service(world->engine, now);
	} while (n == 32);
}

static void step(struct world *world)
{
	uint32_t ms = world->config.step_ms ? world->config.step_ms : 1;
	uint32_t frame = world->config.client_frame_ms;
	ENetEvent event;

	netsim_advance(world->sim, ms);
	if (!frame || netsim_now_ms(world->sim) % frame == 0) {
		for (uint32_t i = 0; i < world->host_count; i++) {
			while (enet_host_service(world->hosts[i], &event, 0) > 0)
				client_event(world, &event);
		}
	}
	server_step(world);
}

void world_run(struct world *world, uint64_t ms)
{
	uint64_t end = netsim_now_ms(world->sim) + ms;

	while (netsim_now_ms(world->sim) < end)
		step(world);
}

bool world_until(struct world *world, bool (*done)(struct world *), uint64_t ms)
{
	uint64_t end = netsim_now_ms(world->sim) + ms;

	while (!done(world)) {
		if (netsim_now_ms(world->sim) >= end) {
			world_dump(world);
			return false;
		}
		step(world);
	}
	return true;
}

bool world_all_connected(struct world *world)
{
	for (uint32_t i = 0; i < world->clients; i++) {
		if (!world->client[i].connected || !world->client[i].connects)
			return false;
	}
	return true;
}

bool world_all_gone(struct world *world)
{
	for (uint32_t i = 0; i < world->clients; i++) {
		if (world->client[i].connects != world->client[i].disconnects)
			return false;
	}
	return true;
}

bool world_clients_gone(struct world *world)
{
	for (uint32_t i = 0; i < world->clients; i++) {
		if (!world->client[i].gone)
			return false;
	}
	return true;
}

static bool arrived(const struct world_stream *s)
{
	return !s || memcmp(s->sent[WORLD_RELIABLE], s->received[WORLD_RELIABLE],
			     sizeof s->sent[WORLD_RELIABLE]) == 0;
}

bool world_all_arrived(struct world *world)
{
	for (uint32_t i = 0; i < world->clients; i++) {
		const struct world_client *client = &world->client[i];
		const struct world_stream *up = client->up;

		if (!arrived(up))
			return false;
		if (!world->config.echo && !arrived(client->down))
			return false;
		if (world->config.echo && up &&
			(!client->down || memcmp(up->sent[WORLD_RELIABLE],
						  client->down->received[WORLD_RELIABLE],
						  sizeof up->sent[WORLD_RELIABLE]) != 0))
			return false;
	}
	return true;
}

void world_send_up(
	struct world *world, uint32_t number, uint8_t channel, uint32_t flags, uint32_t bytes)
{
	struct world_client *client = &world->client[number];
	enum world_kind kind = kind_of(flags);
	ENetPacket *packet = enet_packet_create(NULL, bytes, flags);

	EXPECT(world, packet);
	message_fill(packet->data, bytes, number, kind, channel,
		stream(&client->up)->sent[kind][channel]++);
	EXPECT(world, enet_peer_send(client->peer, channel, packet) == 0);
}

int world_send_down(
	struct world *world, uint32_t number, uint8_t channel, uint32_t flags, uint32_t bytes)
{
	struct world_client *client = &world->client[number];
	enum world_kind kind = kind_of(flags);
	uint8_t *payload = malloc(bytes);
	int error;

	EXPECT(world, payload);
	message_fill(
		payload, bytes, number, kind, channel, stream(&client->down)->sent[kind][channel]);
	error = sw_enet_send(world->engine, client->handle, channel, flags, payload, bytes);
	if (!error)
		client->down->sent[kind][channel]++;
	free(payload);
	return error;
}

void world_dump(struct world *world)
{
	printf("at %llu ms\n", (unsigned long long)netsim_now_ms(world->sim));
	for (uint32_t i = 0; i < world->clients; i++) {
		const struct world_client *c = &world->client[i];
		struct sw_enet_peer_info info;

		sw_enet_peer_info(world->engine, (uint32_t)c->handle, &info);
		printf("client %u: connected %d/%u gone %d/%u reason %d; stock rtt %u+-%u throttle "
		       "%u "
		       "in flight %u; ours rtt %u+-%u throttle %u in flight %u\n",
			i, c->connected, c->connects, c->gone, c->disconnects, (int)c->reason,
			c->peer->roundTripTime, c->peer->roundTripTimeVariance,
			c->peer->packetThrottle, c->peer->reliableDataInTransit, info.rtt_ms,
			info.rtt_variance_ms, info.throttle, info.reliable_in_flight_bytes);
		for (uint32_t ch = 0; ch < 4; ch++)
			printf("  channel %u: up %u/%u down %u/%u\n", ch,
				c->up ? c->up->received[0][ch] : 0, c->up ? c->up->sent[0][ch] : 0,
				c->down ? c->down->received[0][ch] : 0,
				c->down ? c->down->sent[0][ch] : 0);
	}
	for (uint32_t i = 0; i < SW_ENET_COUNTER_COUNT; i++) {
		if (world_count(world, i))
			printf("  %s %llu\n", sw_enet_counter_desc[i].name,
				(unsigned long long)world_count(world, i));
	}
}

uint64_t world_count(struct world *world, enum sw_enet_counter counter)
{
	return counter_get(&sw_enet_counters(world->engine)[counter]);
}
