/* differential_run.c: a script, run by stock clients against one server; see differential.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/enet/differential_internal.h"
#include "dataplane/enet/wire.h"
#include "tests/netsim/stock_enet.h"

#define CLIENT_IP 0x0a000100u
#define SETTLE_MS 60000u

void run_violation(struct run *run, const struct life *life, const char *text)
{
	run->result->violations++;
	fprintf(stderr, "seed %llu, %s: client %u, life %u (%s) at %llu ms: %s\n",
		(unsigned long long)run->script->seed, run->name, life->client, life->number,
		script_end_name[life->script->end], (unsigned long long)netsim_now_ms(run->sim),
		text);
}

/* --- the server's side --- */

static struct life *life_of(struct run *run, uint64_t peer)
{
	for (uint32_t i = 0; i < run->script->client_count; i++) {
		struct client *client = &run->client[i];

		for (uint32_t k = 0; k < run->script->client[i].lives; k++) {
			if (client->lives[k].server_here && client->lives[k].handle == peer)
				return &client->lives[k];
		}
	}
	return NULL;
}

void run_connected(struct run *run, uint64_t peer, uint32_t data)
{
	for (uint32_t i = 0; i < run->script->client_count; i++) {
		for (uint32_t k = 0; k < run->script->client[i].lives; k++) {
			struct life *life = &run->client[i].lives[k];

			if (life->script->connect_data != data)
				continue;
			if (life->outcome->server_connected || life->state == LIFE_WAITS)
				run_violation(run, life, "connected again, or before it tried");
			life->outcome->server_connected = true;
			life->outcome->server_connect_data = data;
			life->handle = peer;
			life->server_here = true;
			return;
		}
	}
	run_violation(run, &run->client[0].lives[0], "somebody else connected");
}

static void server_sends(struct run *run, struct life *life, uint8_t channel, uint32_t flags,
	uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		bool must = stream_put(run, life, &life->down, channel, flags, bytes);

		if (!server_send(run->server, life->handle, channel, flags, run->buffer, bytes))
			return;
		stream_sent(run, &life->down, channel, flags, must);
	}
}

void run_received(
	struct run *run, uint64_t peer, uint8_t channel, const uint8_t *payload, uint32_t bytes)
{
	struct life *life = life_of(run, peer);

	if (!life) {
		run_violation(run, &run->client[0].lives[0], "the server got a message of nobody");
		return;
	}
	stream_got(run, life, &life->up, channel, payload, bytes);
	if (!bytes || !(payload[0] & MESSAGE_ASK))
		return;
	if (payload[12])
		server_disconnect(run->server, peer, (enum sw_enet_disconnect)payload[15],
			wire_get32(payload + 24));
	else if (payload[13] < life->outcome->channels)
		server_sends(run, life, payload[13], payload[14], wire_get32(payload + 16),
			wire_get32(payload + 20));
}

void run_disconnected(struct run *run, uint64_t peer, uint32_t data)
{
	struct life *life = life_of(run, peer);

	if (!life) {
		run_violation(run, &run->client[0].lives[0], "the server lost nobody");
		return;
	}
	life->server_here = false;
	life->outcome->server_told = true;
	life->outcome->server_data = life->server_ends ? 0 : data;
}

/* --- the clients' --- */

static void client_event(struct run *run, const ENetEvent *event)
{
	struct life *life = event->peer->data;
	struct outcome *outcome = life->outcome;

	if (event->type == ENET_EVENT_TYPE_CONNECT) {
		if (life->state != LIFE_CONNECTS)
			run_violation(run, life, "the client connected twice");
		outcome->connected = true;
		outcome->channels = (uint32_t)event->peer->channelCount;
		outcome->mtu = event->peer->mtu;
		outcome->window_bytes = event->peer->windowSize;
		life->state = LIFE_STEPS;
		life->next_ms = netsim_now_ms(run->sim);
		if (life->script->end == END_CLIENT_AT_ONCE)
			life_end(run, life, life->next_ms);
	} else if (event->type == ENET_EVENT_TYPE_DISCONNECT) {
		if (life->client_over)
			run_violation(run, life, "the client was told twice");
		life->client_over = true;
		run->client[run->client[life->client].owner].freed_ms = netsim_now_ms(run->sim);
		outcome->client_told = true;
		outcome->client_data = event->data;
	} else {
		if (life->client_over)
			run_violation(run, life, "a message after the end");
		stream_got(run, life, &life->down, event->channelID, event->packet->data,
			(uint32_t)event->packet->dataLength);
		enet_packet_destroy(event->packet);
	}
}

/* Returns whether it has anything left to live for; *busy: now. */
static bool client_step(struct run *run, uint32_t number, uint64_t now_ms, bool *busy)
{
	struct client *client = &run->client[number];
	struct life *life;

	if (client->at == run->script->client[number].lives)
		return false;
	life = &client->lives[client->at];
	life_step(run, life, now_ms);
	*busy |= life->state == LIFE_CONNECTS || life->state == LIFE_STEPS ||
		 life->state == LIFE_QUIET;
	if (life->state == LIFE_DONE && ++client->at < run->script->client[number].lives)
		client->lives[client->at].next_ms =
			now_ms + client->lives[client->at].script->after_ms;
	return true;
}

static bool run_step(struct run *run)
{
	uint64_t now_ms = netsim_now_ms(run->sim);
	const struct script *script = run->script;
	bool active = false, busy = false;
	ENetEvent event;

	if (!script->clean)
		netsim_configure(run->sim, &script->net[now_ms / script->net_ms % SCRIPT_NETS]);
	for (uint32_t i = 0; i < script->client_count; i++) {
		struct client *client = &run->client[i];

		if (client->owner == i && now_ms >= client->paused_until_ms) {
			while (enet_host_service(client->host, &event, 0) > 0)
				client_event(run, &event);
		}
		active |= client_step(run, i, now_ms, &busy);
	}
	if (now_ms >= run->stalled_until_ms)
		server_step(run->server);
	netsim_advance(run->sim, busy ? 1 : 10);
	return active;
}

static void clients_new(struct run *run)
{
	for (uint32_t i = 0; i < run->script->client_count; i++) {
		const struct client_script *script = &run->script->client[i];
		struct client *client = &run->client[i];

		client->owner = script->shares ? run->client[i - 1].owner : i;
		client->host = script->shares ? run->client[i - 1].host
					      : enet_host_create(NULL, SCRIPT_CLIENTS, 0, 0, 0);
		client->lives = calloc(SCRIPT_LIVES, sizeof *client->lives);
		if (!client->host || !client->lives)
			abort();
		client->host->randomSeed = (enet_uint32)(run->script->seed * 31 + i);
		if (run->script->checksum)
			client->host->checksum = enet_crc32;
		if (run->script->compression && client->owner == i)
			enet_host_compress_with_range_coder(client->host);
		for (uint32_t k = 0; k < script->lives; k++) {
			struct life *life = &client->lives[k];

			life->script = &script->life[k];
			life->outcome = &run->result->outcome[i][k];
			life->client = i;
			life->number = k;
		}
		client->lives[0].next_ms = netsim_now_ms(run->sim) + script->life[0].after_ms;
	}
}

void differential_run(const struct script *script, bool ours, struct run_result *result)
{
	struct run *run = calloc(1, sizeof *run);
	struct netsim_config net;
	uint64_t start_ms = 1000 + (script->seed & 1 ? UINT32_MAX - 20000ull : 0), settled_ms;

	if (!run)
		abort();
	memset(result, 0, sizeof *result);
	run->script = script;
	run->result = result;
	run->name = ours ? "ours" : "stock";
	net = script->net[0];
	net.seed = script->seed;
	run->sim = netsim_new(&net, start_ms);
	stock_enet_attach(run->sim, CLIENT_IP, 0);
	run->server = server_new(script, ours, run, run->sim);
	clients_new(run);
	while (run_step(run))
		;
	settled_ms = netsim_now_ms(run->sim) + SETTLE_MS;
	while (netsim_now_ms(run->sim) < settled_ms)
		run_step(run);
	if (!server_free(run->server))
		run_violation(run, &run->client[0].lives[0], "the server kept peers or memory");
	for (uint32_t i = 0; i < script->client_count; i++) {
		if (run->client[i].owner == i)
			enet_host_destroy(run->client[i].host);
		free(run->client[i].lives);
	}
	result->datagrams = netsim_counts(run->sim).sent;
	result->virtual_ms = netsim_now_ms(run->sim) - start_ms;
	netsim_free(run->sim);
	free(run);
}
