/* differential_server.c: our engine and a stock host behind one interface; see differential.h. */
#include <arpa/inet.h>
#include <enet/enet.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/enet/differential.h"
#include "dataplane/enet/wire.h"
#include "tests/netsim/stock_enet.h"

#define BURST 32

struct server {
	const struct script *script;
	struct run *run;
	struct netsim *sim;
	/* ours */
	struct sw_enet *engine;
	void *memory;
	struct out_frame *open; /* datagrams that tx_begin handed out */
	/* stock */
	ENetHost *host;
};

static bool refuses(struct server *server)
{
	return server->script->refuse_per_mille &&
	       netsim_random(server->sim, 1000) < server->script->refuse_per_mille;
}

static bool on_deliver(void *ctx, const struct sw_enet_delivery *run, uint32_t count)
{
	struct server *server = ctx;

	if (refuses(server))
		return false;
	for (uint32_t i = 0; i < count; i++)
		run_received(
			server->run, run[i].peer, run[i].channel, run[i].payload, run[i].bytes);
	return true;
}

static bool on_connected(void *ctx, const struct sw_enet_connected *info)
{
	struct server *server = ctx;

	if (refuses(server))
		return false;
	run_connected(server->run, info->peer, info->connect_data);
	return true;
}

static bool on_disconnected(void *ctx, uint64_t peer, uint32_t data, enum sw_enet_gone reason)
{
	struct server *server = ctx;

	(void)reason;
	if (refuses(server))
		return false;
	run_disconnected(server->run, peer, data);
	return true;
}

/* A datagram that tx_begin handed out. */
struct out_frame {
	struct out_frame *next;
	struct sw_enet_addr to;
	uint8_t data[];
};

/* Exactly as large as asked for, so that the address sanitizer sees a byte too many. */
static uint8_t *on_tx_begin(void *ctx, uint32_t peer_index, const struct sw_enet_addr *to,
	uint32_t bytes_max, void **frame)
{
	struct server *server = ctx;
	struct out_frame *out;

	(void)peer_index;
	if (refuses(server))
		return NULL;
	*frame = out = malloc(sizeof *out + bytes_max);
	*out = (struct out_frame){.next = server->open, .to = *to};
	server->open = out;
	return out->data;
}

static void on_tx_end(void *ctx, uint32_t peer_index, void *frame, uint32_t bytes)
{
	struct server *server = ctx;
	struct netsim_address from = {SERVER_IP, SERVER_PORT}, to;
	struct out_frame *out = frame, **link = &server->open;

	(void)peer_index;
	while (*link != out)
		link = &(*link)->next;
	*link = out->next;
	to.ip = wire_get32(out->to.ip + 12);
	to.port = out->to.port;
	if (bytes)
		netsim_send(server->sim, from, to, out->data, bytes);
	free(out);
}

static enum sw_enet_use use_of(const struct script *script, bool on)
{
	return script->any ? SW_ENET_ANY : on ? SW_ENET_ON : SW_ENET_OFF;
}

static void ours_new(struct server *server)
{
	const struct script *script = server->script;
	struct sw_enet_config config = {
		.peers_max = 32,
		.half_open_max = 32,
		.channels_max = script->channels_max,
		.mtu = script->mtu,
		.packet_bytes_max = 65536,
		.checksum = use_of(script, script->checksum),
		.compression = use_of(script, script->compression),
		.incoming_bandwidth = script->incoming_bandwidth,
		.outgoing_bandwidth = script->outgoing_bandwidth,
		.connects_per_s = 100000,
		.connects_burst = 100000,
		.source_connects_per_s = 100000,
		.source_connects_burst = 100000,
		.returning_percent = 25,
		.expand_bytes_per_s = 2 << 20,
		.peer_datagrams_per_s = 2000,
		.peer_hold_bytes = 4 << 20,
		.peer_queue_bytes = 4 << 20,
		.pool_bytes = 64 << 20,
	};
	struct sw_enet_ops ops = {
		.ctx = server,
		.deliver = on_deliver,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.tx_begin = on_tx_begin,
		.tx_end = on_tx_end,
	};
	size_t bytes;

	for (uint32_t i = 0; i < sizeof config.key; i++)
		config.key[i] = (uint8_t)(script->seed >> i % 8 * 8 ^ i * 29);
	bytes = sw_enet_bytes(&config);
	server->memory = aligned_alloc(64, bytes);
	server->engine =
		sw_enet_init(server->memory, bytes, &config, &ops, netsim_now_ms(server->sim));
	if (!server->engine)
		abort();
}

static void stock_new(struct server *server)
{
	const struct script *script = server->script;
	ENetAddress address = {.host = htonl(SERVER_IP), .port = SERVER_PORT};

	server->host = enet_host_create(&address, 32, script->channels_max,
		script->incoming_bandwidth, script->outgoing_bandwidth);
	if (!server->host)
		abort();
	server->host->randomSeed = (enet_uint32)script->seed;
	server->host->mtu = script->mtu;
	if (script->checksum)
		server->host->checksum = enet_crc32;
	if (script->compression)
		enet_host_compress_with_range_coder(server->host);
}

struct server *server_new(
	const struct script *script, bool ours, struct run *run, struct netsim *sim)
{
	struct server *server = calloc(1, sizeof *server);

	if (!server)
		abort();
	server->script = script;
	server->run = run;
	server->sim = sim;
	if (ours)
		ours_new(server);
	else
		stock_new(server);
	return server;
}

static void ours_step(struct server *server)
{
	static uint8_t data[BURST][4200];
	struct netsim_address at = {SERVER_IP, SERVER_PORT}, from;
	uint64_t now_ms = netsim_now_ms(server->sim);
	struct sw_enet_datagram burst[BURST];
	uint32_t n;

	do {
		for (n = 0; n < BURST; n++) {
			int bytes = netsim_receive(server->sim, at, &from, data[n], sizeof data[n]);

			if (bytes < 0)
				break;
			burst[n] = (struct sw_enet_datagram){
				.from = {.ip = {[10] = 0xff, [11] = 0xff}, .port = from.port},
				.bytes = (uint32_t)bytes,
				.data = data[n],
			};
			wire_put32(burst[n].from.ip + 12, from.ip);
		}
		sw_enet_rx(server->engine, burst, n, NULL, now_ms);
		sw_enet_service(server->engine, now_ms);
	} while (n == BURST);
}

static void stock_step(struct server *server)
{
	ENetEvent event;

	while (enet_host_service(server->host, &event, 0) > 0) {
		uint64_t peer = (uint64_t)(uintptr_t)event.peer;

		switch (event.type) {
		case ENET_EVENT_TYPE_CONNECT:
			run_connected(server->run, peer, event.data);
			break;
		case ENET_EVENT_TYPE_DISCONNECT:
			run_disconnected(server->run, peer, event.data);
			break;
		case ENET_EVENT_TYPE_RECEIVE:
			run_received(server->run, peer, event.channelID, event.packet->data,
				(uint32_t)event.packet->dataLength);
			enet_packet_destroy(event.packet);
			break;
		default:
			break;
		}
	}
}

void server_step(struct server *server)
{
	if (server->engine)
		ours_step(server);
	else
		stock_step(server);
}

bool server_send(struct server *server, uint64_t peer, uint8_t channel, uint32_t flags,
	const uint8_t *payload, uint32_t bytes)
{
	ENetPacket *packet;

	if (server->engine)
		return sw_enet_send(server->engine, peer, channel, flags, payload, bytes) == 0;
	packet = enet_packet_create(payload, bytes, flags);
	if (enet_peer_send((ENetPeer *)(uintptr_t)peer, channel, packet) == 0)
		return true;
	enet_packet_destroy(packet);
	return false;
}

void server_disconnect(
	struct server *server, uint64_t peer, enum sw_enet_disconnect mode, uint32_t data)
{
	ENetPeer *stock = (ENetPeer *)(uintptr_t)peer;

	if (server->engine) {
		(void)sw_enet_disconnect(server->engine, peer, mode, data, SW_ENET_GONE_LOCAL);
	} else if (mode == SW_ENET_DISCONNECT) {
		enet_peer_disconnect(stock, data);
	} else if (mode == SW_ENET_DISCONNECT_LATER) {
		enet_peer_disconnect_later(stock, data);
	} else {
		enet_peer_disconnect_now(stock, data);
		run_disconnected(server->run, peer, data); /* stock has no event for it */
	}
}

bool server_free(struct server *server)
{
	bool left = false;

	if (server->engine) {
		const _Atomic uint64_t *counter = sw_enet_counters(server->engine);

		left = sw_enet_peers(server->engine) ||
		       counter_get(&counter[SW_ENET_C_HOLD_BYTES]) ||
		       counter_get(&counter[SW_ENET_C_QUEUE_BYTES]);
		free(server->memory);
	} else {
		enet_host_destroy(server->host);
	}
	for (struct out_frame *next; server->open; server->open = next) {
		next = server->open->next;
		free(server->open);
	}
	free(server);
	return !left;
}
