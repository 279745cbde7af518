#include "client/stormweir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/client_internal.h"
#include "client/session_chat.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

#define SERVICE_NS         (50 * NS_PER_MS) /* ENet's retransmissions want a look this often */
#define LEAVE_NS           (5000 * NS_PER_MS)
#define CONNECT_MS         15000u
#define ACTORS_MAX         16384u
#define PACKET_BYTES_MAX   (1024u * 1024u)
#define WAITING_BYTES_MAX  (4u * 1024u * 1024u)
#define EVENTS_PER_SERVICE 4096 /* a flood must not keep swc_service from returning */
#define TICKS_BEHIND_MAX   4u   /* after a longer pause the missed ticks are not made up for */
#define PROOF_BITS_MAX     22u
/* Of the time between two calls of swc_service, a quarter goes to a proof of work; hashes of 0.35
 * us, at least and at most so many at once (0.7 and 5.7 ms). */
#define PROOF_HASH_NS        350u
#define PROOF_HASHES_MIN     2048u
#define PROOF_HASHES_MAX     16384u
#define PROOF_NS             NS_PER_MS /* it wants to be called again so soon */
#define CLIENT_BUILD_DEFAULT "stormweir-client 0.1"

static void on_session_event(void *ctx, const struct swc_event *event)
{
	struct swc_client *client = ctx;

	if (client->on_event)
		client->on_event(client->ctx, client, event);
}

static void on_session_send(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *bytes, uint32_t count)
{
	struct swc_client *client = ctx;
	ENetPacket *packet;

	if (!client->peer)
		return;
	packet = enet_packet_create(bytes, count, reliable ? ENET_PACKET_FLAG_RELIABLE : 0);
	if (packet && enet_peer_send(client->peer, channel, packet))
		enet_packet_destroy(packet); /* not connected any more */
	client->sent = true;
}

int swc_open(const struct swc_config *config, struct swc_client **out)
{
	const char *build = config->client_build ? config->client_build : CLIENT_BUILD_DEFAULT;
	struct swc_session_ops ops = {.send = on_session_send, .event = on_session_event};
	struct swc_client *client;
	ENetAddress address = {.port = config->port};

	*out = NULL;
	if (!config->address || !config->port || !config->ticket != !config->ticket_bytes ||
		!config->pass != !config->pass_bytes || (!config->ticket && !config->pass) ||
		config->ticket_bytes > SWC_TICKET_BYTES_MAX ||
		config->pass_bytes > SWC_PASS_BYTES_MAX ||
		config->place_bytes > SWC_PLACE_BYTES_MAX ||
		(config->place_bytes && !config->place) ||
		strlen(build) >= sizeof(client->client_build))
		return -EINVAL;
	if (enet_address_set_host_ip(&address, config->address) &&
		enet_address_set_host(&address, config->address))
		return -EHOSTUNREACH;

	client = calloc(1, sizeof(*client));
	if (!client)
		return -ENOMEM;
	ops.ctx = client;
	swc_session_init(
		&client->session, &ops, config->actors_max ? config->actors_max : ACTORS_MAX);
	client->on_event = config->on_event;
	client->ctx = config->ctx;
	client->connect_timeout_ms =
		config->connect_timeout_ms ? config->connect_timeout_ms : CONNECT_MS;
	client->session.proof_bits_max = config->proof_bits_max == UINT32_MAX ? 0
					 : config->proof_bits_max ? config->proof_bits_max
								  : PROOF_BITS_MAX;
	client->hello = (struct swc_hello){.protocol_version = config->protocol_version
								       ? config->protocol_version
								       : SW_PROTOCOL_VERSION,
		.ticket = client->ticket,
		.ticket_bytes = config->ticket_bytes,
		.pass = client->pass,
		.pass_bytes = config->pass_bytes,
		.client_build = client->client_build,
		.stays = config->stays};
	if (config->ticket)
		memcpy(client->ticket, config->ticket, config->ticket_bytes);
	if (config->pass)
		memcpy(client->pass, config->pass, config->pass_bytes);
	client->session.place_bytes = config->place_bytes;
	if (config->place_bytes)
		memcpy(client->session.place, config->place, config->place_bytes);
	memcpy(client->client_build, build, strlen(build));

	/* One to the server, and in a redirect one to the next. */
	client->host = enet_host_create(NULL, 2, SW_CHANNELS, 0, 0);
	if (!client->host)
		goto fail;
	client->host->maximumPacketSize = PACKET_BYTES_MAX;
	client->host->maximumWaitingData = WAITING_BYTES_MAX;
	if (config->checksum)
		client->host->checksum = enet_crc32;
	client->peer = enet_host_connect(
		client->host, &address, SW_CHANNELS, client->hello.protocol_version);
	if (!client->peer)
		goto fail;
	*out = client;
	return 0;

fail:
	swc_close(client);
	return -ENOMEM;
}

void swc_close(struct swc_client *client)
{
	if (!client)
		return;
	if (client->peer)
		enet_peer_disconnect_now(client->peer, 0);
	if (client->host)
		swc_redirect_end(client);
	if (client->host)
		enet_host_destroy(client->host);
	swc_session_free(&client->session);
	free(client);
}

void swc_client_closed(struct swc_client *client, uint32_t reason, bool timed_out)
{
	struct swc_session *session = &client->session;
	struct swc_event event = {.type = SWC_EVENT_DISCONNECTED};

	event.disconnected.by_us = session->state == SWC_LEAVING;
	event.disconnected.timed_out = timed_out;
	event.disconnected.reason = reason;
	event.disconnected.text = timed_out ? "no answer from the server" : swc_reason_text(reason);
	if (session->refused_text[0]) {
		event.disconnected.reason = session->refused_reason;
		event.disconnected.text = session->refused_text;
	}
	session->state = SWC_CLOSED;
	client->peer = NULL;
	swc_redirect_end(client);
	on_session_event(client, &event);
}

void swc_leave(struct swc_client *client)
{
	switch (client->session.state) {
	case SWC_CONNECTING: /* there is no one to tell yet */
		enet_peer_reset(client->peer);
		client->session.state = SWC_LEAVING;
		swc_client_closed(client, SW_REASON_NONE, false);
		break;
	case SWC_ADMITTING:
	case SWC_QUEUED:
	case SWC_LOADING:
	case SWC_PLAYING:
		swc_redirect_end(client);
		client->session.state = SWC_LEAVING;
		client->leave_deadline_ns = client->service_ns + LEAVE_NS;
		client->sent = true;
		enet_peer_disconnect_later(client->peer, SW_REASON_NONE);
		break;
	case SWC_LEAVING:
	case SWC_CLOSED:
		break;
	}
}

static void receive(struct swc_client *client)
{
	ENetEvent event;
	int left = EVENTS_PER_SERVICE;

	while (client->peer && left-- && enet_host_service(client->host, &event, 0) > 0) {
		switch (event.type) {
		case ENET_EVENT_TYPE_CONNECT:
			swc_redirect_connected(client, event.peer);
			swc_session_connected(&client->session, &client->hello);
			break;
		case ENET_EVENT_TYPE_RECEIVE:
			if (client->session.state != SWC_LEAVING &&
				swc_redirect_hears(client, event.peer))
				swc_session_receive(&client->session, event.channelID,
					event.packet->data, event.packet->dataLength);
			enet_packet_destroy(event.packet);
			break;
		case ENET_EVENT_TYPE_DISCONNECT:
			/* libenet reports its own time-out as a disconnect with data 0; a server
			 * that closes always gives a reason. */
			if (!swc_redirect_disconnected(client, event.peer, event.data))
				swc_client_closed(client, event.data,
					event.data == SW_REASON_NONE &&
						client->session.state != SWC_LEAVING);
			break;
		case ENET_EVENT_TYPE_NONE:
			break;
		}
	}
}

static void tick(struct swc_client *client, uint64_t now_ns)
{
	uint64_t interval_ns = swc_session_interval_ns(&client->session);

	if (!client->tick_ns || client->tick_ns + TICKS_BEHIND_MAX * interval_ns < now_ns)
		client->tick_ns = now_ns;
	while (client->tick_ns <= now_ns && client->session.state == SWC_PLAYING) {
		swc_session_tick(&client->session);
		client->tick_ns += interval_ns;
	}
}

/* A share of the time that has passed, until the answer would be late. */
static void work(struct swc_client *client, uint64_t passed_ns, uint64_t now_ns)
{
	uint64_t hashes = passed_ns / 4 / PROOF_HASH_NS;

	if (!client->proof_deadline_ns)
		client->proof_deadline_ns = now_ns + client->session.proof_ms * NS_PER_MS;
	if (now_ns >= client->proof_deadline_ns) {
		client->session.proof.wanted = false;
		return;
	}
	hashes = hashes < PROOF_HASHES_MIN   ? PROOF_HASHES_MIN
		 : hashes > PROOF_HASHES_MAX ? PROOF_HASHES_MAX
					     : hashes;
	swc_session_work(&client->session, (uint32_t)hashes);
}

enum swc_state swc_service(struct swc_client *client, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - client->service_ns;

	if (!client->connect_deadline_ns)
		client->connect_deadline_ns = now_ns + client->connect_timeout_ms * NS_PER_MS;
	client->service_ns = now_ns;
	if (!client->peer)
		return SWC_CLOSED;

	receive(client);
	if (client->peer)
		swc_redirect_tick(client, now_ns);
	if (client->session.proof.wanted)
		work(client, passed_ns, now_ns);
	/* In the queue time does not run; ENet notices when the server falls silent. */
	if (client->session.state == SWC_QUEUED && !client->next)
		client->connect_deadline_ns = now_ns + client->connect_timeout_ms * NS_PER_MS;
	if (client->session.state == SWC_PLAYING)
		tick(client, now_ns);
	if (client->peer && client->session.state < SWC_PLAYING &&
		now_ns >= client->connect_deadline_ns) {
		enet_peer_disconnect_now(client->peer, SW_REASON_NONE);
		swc_client_closed(client, SW_REASON_NONE, true);
	}
	if (client->peer && client->session.state == SWC_LEAVING &&
		now_ns >= client->leave_deadline_ns) {
		enet_peer_disconnect_now(client->peer, SW_REASON_NONE);
		swc_client_closed(client, SW_REASON_NONE, true);
	}
	if (client->sent) {
		enet_host_flush(client->host);
		client->sent = false;
	}
	return client->session.state;
}

const uint8_t *swc_pass(const struct swc_client *client, uint32_t *bytes)
{
	*bytes = client->session.pass_bytes;
	return *bytes ? client->session.pass : NULL;
}

int swc_fd(const struct swc_client *client)
{
	return client->host->socket;
}

uint64_t swc_due_ns(const struct swc_client *client)
{
	uint64_t due_ns = client->service_ns + SERVICE_NS;

	if (!client->peer)
		return UINT64_MAX;
	if (client->session.proof.wanted)
		return client->service_ns + PROOF_NS;
	if (client->session.state == SWC_PLAYING && client->tick_ns && client->tick_ns < due_ns)
		due_ns = client->tick_ns;
	return due_ns;
}

int swc_use_ground(struct swc_client *client, const struct swc_ground *ground)
{
	return swc_session_use_ground(&client->session, ground) ? 0 : -ENOSPC;
}

const struct swc_ground *swc_ground(const struct swc_client *client)
{
	return client->session.ground;
}

void swc_walk(struct swc_client *client, int dx, int dy)
{
	swc_session_walk(&client->session, dx, dy);
}

int swc_click(struct swc_client *client, uint32_t actor_id)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_click(&client->session, actor_id);
	return 0;
}

int swc_answer(struct swc_client *client, uint32_t question, uint32_t choice)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_answer(&client->session, question, choice);
	return 0;
}

int swc_abandon(struct swc_client *client, uint32_t quest)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_abandon(&client->session, quest);
	return 0;
}

int swc_pick(struct swc_client *client, uint32_t offer, uint32_t card)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_pick(&client->session, offer, card);
	return 0;
}

int swc_attack(struct swc_client *client, uint32_t actor_id)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_attack(&client->session, actor_id);
	return 0;
}

int swc_pick_up(struct swc_client *client, uint32_t actor_id)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_pick_up(&client->session, actor_id);
	return 0;
}

int swc_move_item(struct swc_client *client, uint32_t from, uint32_t to, uint32_t count)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_move_item(&client->session, from, to, count);
	return 0;
}

int swc_drop_item(struct swc_client *client, uint32_t slot, uint32_t count)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_drop_item(&client->session, slot, count);
	return 0;
}

const uint8_t *swc_place(const struct swc_client *client, uint32_t *bytes)
{
	*bytes = client->session.place_bytes;
	return *bytes ? client->session.place : NULL;
}

enum swc_state swc_state(const struct swc_client *client)
{
	return client->session.state;
}

int swc_trade_ask(struct swc_client *client, uint32_t actor_id)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_trade_ask(&client->session, actor_id);
	return 0;
}

int swc_trade_offer(struct swc_client *client, uint32_t trade, uint32_t slot, uint32_t count)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_trade_offer(&client->session, trade,
		count ? SW__TRADE_OFFER_KIND__OFFER_ITEM : SW__TRADE_OFFER_KIND__OFFER_TAKE_BACK,
		slot, count);
	return 0;
}

int swc_trade_offer_gold(struct swc_client *client, uint32_t trade, int64_t gold)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_trade_offer(&client->session, trade, SW__TRADE_OFFER_KIND__OFFER_GOLD, 0, gold);
	return 0;
}

int swc_trade_confirm(struct swc_client *client, uint32_t trade, uint32_t version)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_trade_confirm(&client->session, trade, version);
	return 0;
}

int swc_trade_cancel(struct swc_client *client, uint32_t trade)
{
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_trade_cancel(&client->session, trade);
	return 0;
}

int swc_party(struct swc_client *client, uint64_t request, enum swc_party_act act,
	uint64_t character_id, const char *name)
{
	if (!request || (name && strlen(name) >= SWC_NAME_BYTES))
		return -EINVAL;
	if (client->session.state != SWC_PLAYING)
		return -ENOTCONN;
	swc_session_party(&client->session, request, (int)act, character_id, name);
	return 0;
}

/* Whether a client may ask for something of chat with this text. */
static int may_chat(const struct swc_client *client, const char *text, const char *name)
{
	if ((text && strlen(text) > SWC_SAY_BYTES_MAX) || (name && strlen(name) >= SWC_NAME_BYTES))
		return -EINVAL;
	return client->session.state == SWC_PLAYING ? 0 : -ENOTCONN;
}

int swc_say(struct swc_client *client, uint64_t request, uint64_t channel, const char *text)
{
	int rc = may_chat(client, text, NULL);

	if (!rc)
		swc_session_say(&client->session, request, channel, text);
	return rc;
}

int swc_whisper(struct swc_client *client, uint64_t request, uint64_t character_id,
	const char *name, const char *text)
{
	int rc = may_chat(client, text, name);

	if (!rc)
		swc_session_whisper(&client->session, request, character_id, name, text);
	return rc;
}

int swc_channel_join(struct swc_client *client, uint64_t request, enum swc_channel_kind kind,
	const char *name)
{
	int rc = may_chat(client, NULL, name);

	if (!rc)
		swc_session_channel_join(&client->session, request, (int)kind, name);
	return rc;
}

int swc_channel_part(struct swc_client *client, uint64_t request, uint64_t channel)
{
	int rc = may_chat(client, NULL, NULL);

	if (!rc)
		swc_session_channel_part(&client->session, request, channel);
	return rc;
}

int swc_block(struct swc_client *client, uint64_t request, uint64_t character_id, bool unblock)
{
	int rc = may_chat(client, NULL, NULL);

	if (!rc)
		swc_session_block(&client->session, request, character_id, unblock);
	return rc;
}

int swc_chat_report(struct swc_client *client, uint64_t request, uint64_t channel, uint64_t token,
	uint64_t sequence, const char *why)
{
	int rc = may_chat(client, why, NULL);

	if (!rc)
		swc_session_chat_report(&client->session, request, channel, token, sequence, why);
	return rc;
}

int swc_announcements(struct swc_client *client, uint64_t request, uint64_t after)
{
	int rc = may_chat(client, NULL, NULL);

	if (!rc)
		swc_session_announcements(&client->session, request, after);
	return rc;
}

const struct swc_self *swc_self(const struct swc_client *client)
{
	return &client->session.self;
}

const struct swc_stats *swc_stats(struct swc_client *client)
{
	if (client->peer) {
		client->session.stats.rtt_ms = client->peer->roundTripTime;
		client->session.stats.rtt_variance_ms = client->peer->roundTripTimeVariance;
	}
	return &client->session.stats;
}

uint32_t swc_actors(const struct swc_client *client)
{
	return client->session.view.count;
}

const struct swc_actor *swc_actor_at(const struct swc_client *client, uint32_t index)
{
	return &client->session.view.actors[index];
}

const struct swc_actor *swc_actor_find(const struct swc_client *client, uint32_t actor_id)
{
	return swc_view_find(&client->session.view, actor_id);
}
