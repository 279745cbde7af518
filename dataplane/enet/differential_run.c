/* differential_run.c: a script, run by stock clients against one server; see differential.h. */
#include <arpa/inet.h>
#include <enet/enet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/enet/differential.h"
#include "dataplane/enet/wire.h"
#include "tests/netsim/stock_enet.h"

#define CLIENT_IP  0x0a000100u
#define HEAD_BYTES 12u
#define ASK_BYTES  28u
#define SEEN_MAX   1024u /* unsequenced messages per channel whose repetition is noticed */

#define QUIET_MS  600000u /* by then what is reliable has arrived */
#define END_MS    150000u /* and by then an end is known to both */
#define LINGER_MS 500u    /* a clean network has brought the unreliable by then */
#define REUSE_MS  2000u   /* what was sent to the last one on a host has arrived */
#define SETTLE_MS 60000u

enum message_kind { RELIABLE, UNRELIABLE, UNSEQUENCED, KINDS };
#define MESSAGE_KIND 0x0fu
#define MESSAGE_BIG  0x40u /* too large for a datagram: goes reliably, whatever it is */
#define MESSAGE_ASK  0x80u

/* One direction of a life. */
struct stream {
	uint32_t sent[KINDS][SCRIPT_CHANNELS], next[KINDS][SCRIPT_CHANNELS];
	uint32_t must_sent, must_got; /* reliable, or big */
	uint64_t loose_sent, loose_got;
	uint64_t hash[SCRIPT_CHANNELS];
	uint8_t seen[SCRIPT_CHANNELS][SEEN_MAX / 8];
};

enum life_state { LIFE_WAITS, LIFE_CONNECTS, LIFE_STEPS, LIFE_QUIET, LIFE_ENDS, LIFE_DONE };

struct life {
	const struct life_script *script;
	struct outcome *outcome;
	uint32_t client, number;
	enum life_state state;
	uint64_t next_ms, deadline_ms, quiet_ms;
	uint32_t step;
	ENetPeer *peer;
	uint64_t handle; /* the server's */
	bool server_here, client_over, server_ends;
	struct stream up, down;
};

struct client {
	ENetHost *host;
	uint32_t owner;    /* of the host: itself, or a client before */
	uint64_t freed_ms; /* of an owner: when one of its host last ended */
	uint64_t paused_until_ms, pause_again_ms;
	struct life *lives;
	uint32_t at;
};

struct run {
	const struct script *script;
	struct run_result *result;
	const char *name;
	struct netsim *sim;
	struct server *server;
	struct client client[SCRIPT_CLIENTS];
	uint64_t stalled_until_ms, stall_again_ms;
	uint8_t buffer[65536];
};

static void violation(struct run *run, const struct life *life, const char *text)
{
	run->result->violations++;
	fprintf(stderr, "seed %llu, %s: client %u, life %u (%s) at %llu ms: %s\n",
		(unsigned long long)run->script->seed, run->name, life->client, life->number,
		script_end_name[life->script->end], (unsigned long long)netsim_now_ms(run->sim),
		text);
}

static uint8_t filler(uint32_t number, uint32_t at)
{
	return (uint8_t)((number * 2654435761u ^ at / 3 * 40503u) >> 13);
}

static uint16_t tag(const struct life *life)
{
	return (uint16_t)(life->client * SCRIPT_LIVES + life->number);
}

/* Fills run->buffer with the next message of a stream. Returns whether it must arrive. */
static bool message_put(struct run *run, const struct life *life, struct stream *s, uint8_t channel,
	uint32_t flags, uint32_t bytes)
{
	uint32_t kind = flags & SW_ENET_RELIABLE      ? RELIABLE
			: flags & SW_ENET_UNSEQUENCED ? UNSEQUENCED
						      : UNRELIABLE;
	bool big = bytes >= WIRE_MTU_MAX && !(flags & SW_ENET_UNRELIABLE_FRAGMENT);
	uint32_t number = s->sent[kind][channel];
	uint8_t *p = run->buffer;

	if (bytes >= HEAD_BYTES) {
		p[0] = (uint8_t)(kind | (big ? MESSAGE_BIG : 0));
		p[1] = channel;
		wire_put16(p + 2, tag(life));
		wire_put32(p + 4, number);
		wire_put32(p + 8, bytes);
		for (uint32_t i = HEAD_BYTES; i < bytes; i++)
			p[i] = filler(number, i);
	}
	return kind == RELIABLE || big;
}

static void message_sent(
	struct run *run, struct stream *s, uint8_t channel, uint32_t flags, bool must)
{
	uint32_t kind = flags & SW_ENET_RELIABLE      ? RELIABLE
			: flags & SW_ENET_UNSEQUENCED ? UNSEQUENCED
						      : UNRELIABLE;

	s->sent[kind][channel]++;
	s->must_sent += must;
	s->loose_sent += !must;
	run->result->messages++;
}

static void message_got(struct run *run, struct life *life, struct stream *s, uint8_t channel,
	const uint8_t *p, uint32_t bytes)
{
	uint32_t kind = bytes ? p[0] & MESSAGE_KIND : RELIABLE, number;
	bool must;

	if (bytes && (bytes < HEAD_BYTES || kind >= KINDS || p[1] != channel ||
			     wire_get16(p + 2) != tag(life) || wire_get32(p + 8) != bytes)) {
		violation(run, life, "a message that nobody sent so");
		return;
	}
	number = bytes ? wire_get32(p + 4) : s->next[RELIABLE][channel];
	if (number >= s->sent[kind][channel])
		violation(run, life, "a message that was not sent yet");
	for (uint32_t i = p && p[0] & MESSAGE_ASK ? ASK_BYTES : HEAD_BYTES; i < bytes; i++) {
		if (p[i] != filler(number, i)) {
			violation(run, life, "a message with other bytes");
			break;
		}
	}
	must = kind == RELIABLE || (p[0] & MESSAGE_BIG);
	s->must_got += must;
	s->loose_got += !must;
	if (kind == RELIABLE && number != s->next[kind][channel])
		violation(run, life, "a reliable message out of order, or twice");
	if (kind == UNRELIABLE && number < s->next[kind][channel])
		violation(run, life, "an unreliable message that went back, or came twice");
	if (kind == UNSEQUENCED && number < SEEN_MAX) {
		uint8_t *byte = &s->seen[channel][number / 8], bit = (uint8_t)(1u << number % 8);

		if (*byte & bit)
			violation(run, life, "an unsequenced message twice");
		*byte |= bit;
	}
	s->next[kind][channel] = number + 1;
	if (kind == RELIABLE)
		s->hash[channel] =
			(s->hash[channel] ^ number ^ (uint64_t)bytes << 32) * 0x9e3779b97f4a7c15ull;
}

static bool complete(const struct stream *s)
{
	return s->must_got == s->must_sent;
}

static uint64_t hash_of(const struct stream *s)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < SCRIPT_CHANNELS; i++)
		hash = (hash ^ s->hash[i]) * 0xbf58476d1ce4e5b9ull + i;
	return hash;
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
				violation(run, life, "connected again, or before it tried");
			life->outcome->server_connected = true;
			life->outcome->server_connect_data = data;
			life->handle = peer;
			life->server_here = true;
			return;
		}
	}
	violation(run, &run->client[0].lives[0], "somebody else connected");
}

static void server_sends(struct run *run, struct life *life, uint8_t channel, uint32_t flags,
	uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		bool must = message_put(run, life, &life->down, channel, flags, bytes);

		if (!server_send(run->server, life->handle, channel, flags, run->buffer, bytes))
			return;
		message_sent(run, &life->down, channel, flags, must);
	}
}

void run_received(
	struct run *run, uint64_t peer, uint8_t channel, const uint8_t *payload, uint32_t bytes)
{
	struct life *life = life_of(run, peer);

	if (!life) {
		violation(run, &run->client[0].lives[0], "the server got a message of nobody");
		return;
	}
	message_got(run, life, &life->up, channel, payload, bytes);
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
		violation(run, &run->client[0].lives[0], "the server lost nobody");
		return;
	}
	life->server_here = false;
	life->outcome->server_told = true;
	life->outcome->server_data = life->server_ends ? 0 : data;
}

/* --- the client's --- */

static void client_send(struct run *run, struct life *life, uint8_t channel, uint32_t flags,
	uint32_t bytes, const uint8_t *ask)
{
	bool must = message_put(run, life, &life->up, channel, flags, bytes);
	ENetPacket *packet;

	if (ask) {
		run->buffer[0] |= MESSAGE_ASK;
		memcpy(run->buffer + HEAD_BYTES, ask, ASK_BYTES - HEAD_BYTES);
	}
	packet = enet_packet_create(run->buffer, bytes, flags);
	if (enet_peer_send(life->peer, channel, packet) < 0) {
		enet_packet_destroy(packet);
		violation(run, life, "the client could not send");
		return;
	}
	message_sent(run, &life->up, channel, flags, must);
}

static void ask(struct run *run, struct life *life, uint8_t what, uint8_t channel, uint8_t flags,
	uint8_t mode, uint32_t count, uint32_t bytes)
{
	uint8_t p[ASK_BYTES - HEAD_BYTES] = {what, channel, flags, mode};

	wire_put32(p + 4, count);
	wire_put32(p + 8, bytes);
	wire_put32(p + 12, life->script->end_data);
	client_send(run, life, 0, SW_ENET_RELIABLE, ASK_BYTES, p);
}

static void step_run(struct run *run, struct life *life, const struct step *step)
{
	struct client *client = &run->client[life->client];
	uint64_t now_ms = netsim_now_ms(run->sim);
	uint8_t channel = step->channel % (uint8_t)life->outcome->channels;

	switch (step->kind) {
	case STEP_SEND:
		for (uint32_t i = 0; i < step->count; i++)
			client_send(run, life, channel, step->flags, step->bytes, NULL);
		break;
	case STEP_ASK:
		ask(run, life, 0, channel, (uint8_t)step->flags, 0, step->count, step->bytes);
		break;
	case STEP_PAUSE:
		if (now_ms >= client->pause_again_ms) {
			client->paused_until_ms = now_ms + step->value[0];
			client->pause_again_ms = client->paused_until_ms + 4000;
		}
		break;
	case STEP_STALL:
		if (now_ms >= run->stall_again_ms) {
			run->stalled_until_ms = now_ms + step->value[0];
			run->stall_again_ms = run->stalled_until_ms + 4000;
		}
		break;
	case STEP_THROTTLE:
		enet_peer_throttle_configure(
			life->peer, step->value[0], step->value[1], step->value[2]);
		break;
	case STEP_BANDWIDTH:
		enet_host_bandwidth_limit(life->peer->host, step->value[0], step->value[1]);
		break;
	default:
		enet_peer_ping(life->peer);
		break;
	}
}

/* Someone said why, and the other heard nothing: a time-out came first. */
static bool unheard(const struct life *life)
{
	const struct outcome *outcome = life->outcome;

	switch (life->script->end) {
	case END_CLIENT_RESET:
	case END_CLIENT_UNCONNECTED:
		return false;
	default:
		return life->server_ends ? outcome->client_data == 0
					 : outcome->server_connected && outcome->server_data == 0;
	}
}

static void life_done(const struct run *run, struct life *life)
{
	life->state = LIFE_DONE;
	life->outcome->broken |= run->script->lossy && unheard(life);
	life->outcome->up_complete = complete(&life->up);
	life->outcome->down_complete = complete(&life->down);
	life->outcome->up_hash = hash_of(&life->up);
	life->outcome->down_hash = hash_of(&life->down);
	life->outcome->up_loose = life->up.loose_got;
	life->outcome->down_loose = life->down.loose_got;
}

static void life_connect(struct run *run, struct life *life, uint64_t now_ms)
{
	const struct client_script *script = &run->script->client[life->client];
	ENetAddress address = {.host = htonl(SERVER_IP), .port = SERVER_PORT};
	ENetHost *host = run->client[life->client].host;

	host->mtu = script->mtu;
	for (size_t i = 0; i < host->peerCount; i++) { /* a peer takes it when it is reset */
		if (host->peers[i].state == ENET_PEER_STATE_DISCONNECTED)
			host->peers[i].mtu = script->mtu;
	}
	enet_host_bandwidth_limit(host, script->incoming_bandwidth, script->outgoing_bandwidth);
	life->peer = enet_host_connect(
		host, &address, life->script->channels, life->script->connect_data);
	if (!life->peer)
		abort();
	life->peer->data = life;
	life->state = LIFE_CONNECTS;
	life->deadline_ms = now_ms + END_MS;
	if (life->script->end == END_CLIENT_UNCONNECTED) {
		enet_host_flush(host);
		enet_peer_disconnect(life->peer, life->script->end_data);
		life_done(run, life);
	}
}

static void life_end(struct run *run, struct life *life, uint64_t now_ms)
{
	uint32_t data = life->script->end_data;

	life->state = LIFE_ENDS;
	life->deadline_ms = now_ms + END_MS;
	switch (life->script->end) {
	case END_CLIENT_LATER_QUIET:
	case END_CLIENT_LATER:
		enet_peer_disconnect_later(life->peer, data);
		break;
	case END_CLIENT_QUIET:
	case END_CLIENT:
	case END_CLIENT_AT_ONCE:
		enet_peer_disconnect(life->peer, data);
		break;
	case END_CLIENT_NOW:
		enet_peer_disconnect_now(life->peer, data);
		life->client_over = true;
		break;
	case END_CLIENT_RESET:
		enet_peer_reset(life->peer);
		life->client_over = true;
		break;
	case END_SERVER_LATER:
		life->server_ends = true;
		ask(run, life, 1, 0, 0, SW_ENET_DISCONNECT_LATER, 0, 0);
		break;
	case END_SERVER_NOW:
		life->server_ends = true;
		ask(run, life, 1, 0, 0, SW_ENET_DISCONNECT_NOW, 0, 0);
		break;
	default:
		life->server_ends = true;
		ask(run, life, 1, 0, 0, SW_ENET_DISCONNECT, 0, 0);
		break;
	}
}

/* One side lost the other before the script's end. */
static void life_breaks(struct run *run, struct life *life)
{
	if (!run->script->lossy)
		violation(run, life, "ended by itself");
	life->outcome->broken = true;
	if (!life->client_over)
		enet_peer_reset(life->peer);
	life->client_over = true;
	life->state = LIFE_ENDS;
	life->deadline_ms = netsim_now_ms(run->sim) + END_MS;
}

/* What has to be complete at the end. */
static void life_check(struct run *run, struct life *life)
{
	const struct outcome *outcome = life->outcome;
	bool quiet = script_end_quiet[life->script->end];

	if (outcome->broken)
		return;
	if ((quiet || life->script->end == END_CLIENT_LATER) && !outcome->up_complete)
		violation(run, life, "reliable messages to the server are missing");
	if ((quiet || life->script->end == END_SERVER_LATER) && !outcome->down_complete)
		violation(run, life, "reliable messages to the client are missing");
}

static void life_step(struct run *run, struct life *life, uint64_t now_ms)
{
	const struct client *owner = &run->client[run->client[life->client].owner];
	bool early = life->state == LIFE_STEPS || life->state == LIFE_QUIET;

	if (early && (life->client_over || (life->outcome->server_connected && !life->server_here)))
		life_breaks(run, life);
	switch (life->state) {
	case LIFE_WAITS:
		if (now_ms >= life->next_ms && now_ms >= owner->freed_ms + REUSE_MS)
			life_connect(run, life, now_ms);
		break;
	case LIFE_CONNECTS:
		if (life->client_over || now_ms >= life->deadline_ms)
			life_breaks(run, life);
		break;
	case LIFE_STEPS:
		while (life->step < life->script->step_count && now_ms >= life->next_ms) {
			step_run(run, life, &life->script->steps[life->step++]);
			if (life->step < life->script->step_count)
				life->next_ms = now_ms + life->script->steps[life->step].after_ms;
		}
		if (life->step < life->script->step_count)
			break;
		life->deadline_ms = now_ms + QUIET_MS;
		if (script_end_quiet[life->script->end])
			life->state = LIFE_QUIET;
		else
			life_end(run, life, now_ms);
		break;
	case LIFE_QUIET:
		if (!life->outcome->server_connected || !complete(&life->up) ||
			!complete(&life->down)) {
			life->quiet_ms = now_ms;
			if (now_ms < life->deadline_ms)
				break;
			violation(run, life, "reliable messages do not arrive");
		} else if (now_ms < life->quiet_ms + LINGER_MS) {
			break;
		}
		life_end(run, life, now_ms);
		break;
	case LIFE_ENDS:
		if (now_ms >= life->deadline_ms) {
			violation(run, life, "the end is not known to both");
		} else if (!life->client_over || life->server_here) {
			break;
		}
		life_done(run, life);
		life_check(run, life);
		break;
	case LIFE_DONE:
		break;
	}
}

static void client_event(struct run *run, const ENetEvent *event)
{
	struct life *life = event->peer->data;
	struct outcome *outcome = life->outcome;

	if (event->type == ENET_EVENT_TYPE_CONNECT) {
		if (life->state != LIFE_CONNECTS)
			violation(run, life, "the client connected twice");
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
			violation(run, life, "the client was told twice");
		life->client_over = true;
		run->client[run->client[life->client].owner].freed_ms = netsim_now_ms(run->sim);
		outcome->client_told = true;
		outcome->client_data = event->data;
	} else {
		if (life->client_over)
			violation(run, life, "a message after the end");
		message_got(run, life, &life->down, event->channelID, event->packet->data,
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
		violation(run, &run->client[0].lives[0], "the server kept peers or memory");
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
