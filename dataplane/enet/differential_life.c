/* differential_life.c: what a client does, from its connect to one of the twelve ways to end. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/enet/differential_internal.h"
#include "dataplane/enet/wire.h"

#define QUIET_MS  600000u /* by then what is reliable has arrived */
#define END_MS    150000u /* and by then an end is known to both */
#define LINGER_MS 500u    /* a clean network has brought the unreliable by then */
#define REUSE_MS  2000u   /* what was sent to the last one on a host has arrived */

static void client_send(struct run *run, struct life *life, uint8_t channel, uint32_t flags,
	uint32_t bytes, const uint8_t *ask)
{
	bool must = stream_put(run, life, &life->up, channel, flags, bytes);
	ENetPacket *packet;

	if (ask) {
		run->buffer[0] |= MESSAGE_ASK;
		memcpy(run->buffer + HEAD_BYTES, ask, ASK_BYTES - HEAD_BYTES);
	}
	packet = enet_packet_create(run->buffer, bytes, flags);
	if (enet_peer_send(life->peer, channel, packet) < 0) {
		enet_packet_destroy(packet);
		run_violation(run, life, "the client could not send");
		return;
	}
	stream_sent(run, &life->up, channel, flags, must);
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
	life->outcome->up_complete = stream_complete(&life->up);
	life->outcome->down_complete = stream_complete(&life->down);
	life->outcome->up_hash = stream_hash(&life->up);
	life->outcome->down_hash = stream_hash(&life->down);
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

void life_end(struct run *run, struct life *life, uint64_t now_ms)
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
		run_violation(run, life, "ended by itself");
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
		run_violation(run, life, "reliable messages to the server are missing");
	if ((quiet || life->script->end == END_SERVER_LATER) && !outcome->down_complete)
		run_violation(run, life, "reliable messages to the client are missing");
}

void life_step(struct run *run, struct life *life, uint64_t now_ms)
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
		if (!life->outcome->server_connected || !stream_complete(&life->up) ||
			!stream_complete(&life->down)) {
			life->quiet_ms = now_ms;
			if (now_ms < life->deadline_ms)
				break;
			run_violation(run, life, "reliable messages do not arrive");
		} else if (now_ms < life->quiet_ms + LINGER_MS) {
			break;
		}
		life_end(run, life, now_ms);
		break;
	case LIFE_ENDS:
		if (now_ms >= life->deadline_ms) {
			run_violation(run, life, "the end is not known to both");
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
