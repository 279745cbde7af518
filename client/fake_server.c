#include "client/fake_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "proto/client.pb-c.h"
#include "proto/message_types.h"
#include "proto/proof.h"

#define SPEED_MM_PER_S 5000u

bool fake_open(struct fake_server *server)
{
	ENetAddress address = {.host = ENET_HOST_ANY, .port = 0};

	memset(server, 0, sizeof(*server));
	enet_address_set_host_ip(&address, "127.0.0.1");
	server->host = enet_host_create(&address, FAKE_PEERS, SW_CHANNELS, 0, 0);
	if (!server->host)
		return false;
	enet_socket_get_address(server->host->socket, &address);
	server->port = address.port;
	server->tick = 1000;
	server->actor_next = 1;
	server->map = (struct sw_move_map){
		.width_mm = 100000, .height_mm = 100000, .tick_hz = FAKE_TICK_HZ};
	return true;
}

void fake_close(struct fake_server *server)
{
	enet_host_destroy(server->host);
}

static struct fake_player *player_of(struct fake_server *server, const ENetPeer *peer)
{
	return &server->players[peer - server->host->peers];
}

static void give(ENetPeer *peer, uint8_t channel, uint8_t type, bool reliable, const void *message)
{
	size_t bytes = 1 + protobuf_c_message_get_packed_size(message);
	ENetPacket *packet =
		enet_packet_create(NULL, bytes, reliable ? ENET_PACKET_FLAG_RELIABLE : 0);

	packet->data[0] = type;
	protobuf_c_message_pack(message, packet->data + 1);
	if (enet_peer_send(peer, channel, packet))
		enet_packet_destroy(packet);
}

static void refuse(ENetPeer *peer, uint32_t reason)
{
	Sw__Refused message = SW__REFUSED__INIT;

	message.reason = reason;
	message.text = "refused by the fake server";
	give(peer, SW_CHANNEL_SESSION, SW_MSG_REFUSED, true, &message);
	enet_peer_disconnect_later(peer, reason);
}

static void state_of(Sw__EntityState *state, uint32_t actor_id, const struct sw_move_state *at)
{
	sw__entity_state__init(state);
	state->actor_id = actor_id;
	state->x_mm = at->x_mm;
	state->y_mm = at->y_mm;
	state->heading = at->heading;
	state->moving = at->moving_mm_per_s;
}

/* enter, or leave if at is NULL */
static void view_change(struct fake_server *server, ENetPeer *to, uint32_t actor_id,
	const struct sw_move_state *at, Sw__ActorKind kind, const char *name)
{
	Sw__ViewChange message = SW__VIEW_CHANGE__INIT;
	Sw__ActorEnter enter = SW__ACTOR_ENTER__INIT;
	Sw__ActorEnter *enters[] = {&enter};
	Sw__EntityState state;

	message.tick = server->tick;
	message.sequence = ++player_of(server, to)->view_sequence;
	if (at) {
		state_of(&state, actor_id, at);
		enter.state = &state;
		enter.kind = kind;
		enter.name = (char *)name;
		message.n_enter = 1;
		message.enter = enters;
	} else {
		message.n_leave = 1;
		message.leave = &actor_id;
	}
	if (server->skip_view_changes) {
		server->skip_view_changes--;
		return;
	}
	give(to, SW_CHANNEL_EVENTS, SW_MSG_VIEW_CHANGE, true, &message);
}

static void join(struct fake_server *server, ENetPeer *peer, uint32_t character)
{
	struct fake_player *player = player_of(server, peer);
	struct sw_move_state middle = {.x_mm = (int32_t)server->map.width_mm / 2,
		.y_mm = (int32_t)server->map.height_mm / 2};
	Sw__Admitted admitted = SW__ADMITTED__INIT;
	Sw__Joined joined = SW__JOINED__INIT;
	Sw__CharacterDetail detail = SW__CHARACTER_DETAIL__INIT;
	Sw__ReturnPass pass = SW__RETURN_PASS__INIT;
	char name[32];

	memset(player, 0, sizeof(*player));
	player->playing = true;
	server->joined[character] = true;
	player->character = character;
	player->actor_id = server->actor_next++;
	player->at = server->known[character] ? server->saved[character] : middle;
	admitted.character_id = character;
	admitted.map = "meadow";
	admitted.node = "fake";
	give(peer, SW_CHANNEL_SESSION, SW_MSG_ADMITTED, true, &admitted);
	joined.actor_id = player->actor_id;
	joined.map = "meadow";
	joined.width_mm = server->map.width_mm;
	joined.height_mm = server->map.height_mm;
	joined.x_mm = player->at.x_mm;
	joined.y_mm = player->at.y_mm;
	joined.heading = player->at.heading;
	joined.tick = server->tick;
	joined.tick_hz = server->map.tick_hz;
	joined.speed_mm_per_s = SPEED_MM_PER_S;
	give(peer, SW_CHANNEL_SESSION, SW_MSG_JOINED, true, &joined);
	detail.level = 3;
	detail.gold = 250;
	detail.appearance = 0x00ff80;
	give(peer, SW_CHANNEL_SESSION, SW_MSG_CHARACTER_DETAIL, true, &detail);
	snprintf(name, sizeof(name), "pass %u", character);
	pass.pass = (ProtobufCBinaryData){strlen(name), (uint8_t *)name};
	pass.good_for_s = 240;
	give(peer, SW_CHANNEL_SESSION, SW_MSG_RETURN_PASS, true, &pass);

	view_change(server, peer, FAKE_NPC, &middle, SW__ACTOR_KIND__NPC, "Mira");
	for (size_t i = 0; i < FAKE_PEERS; i++) {
		ENetPeer *other = &server->host->peers[i];

		if (other == peer || !server->players[i].playing)
			continue;
		snprintf(name, sizeof(name), "bot%u", server->players[i].character);
		view_change(server, peer, server->players[i].actor_id, &server->players[i].at,
			SW__ACTOR_KIND__PLAYER, name);
		snprintf(name, sizeof(name), "bot%u", character);
		view_change(
			server, other, player->actor_id, &player->at, SW__ACTOR_KIND__PLAYER, name);
	}
}

static void leave(struct fake_server *server, ENetPeer *peer)
{
	struct fake_player *player = player_of(server, peer);

	if (!player->playing)
		return;
	player->playing = false;
	server->leaves++;
	server->known[player->character] = true;
	server->saved[player->character] = player->at;
	for (size_t i = 0; i < FAKE_PEERS; i++) {
		if (server->players[i].playing)
			view_change(
				server, &server->host->peers[i], player->actor_id, NULL, 0, NULL);
	}
}

/* True when the work is done; else it is asked for, or what came is refused. */
static bool worked(
	struct fake_server *server, ENetPeer *peer, const Sw__Solution *solution, uint32_t bits)
{
	static uint8_t bytes[SW_PROOF_CHALLENGE_BYTES] = {1, 2, 3};
	Sw__Challenge challenge = SW__CHALLENGE__INIT;
	uint8_t input[SW_PROOF_INPUT_BYTES], hash[SW_PROOF_HASH_BYTES];

	if (!solution) {
		challenge.challenge = (ProtobufCBinaryData){sizeof(bytes), bytes};
		challenge.bits = bits;
		challenge.good_for_ms = 5000;
		give(peer, SW_CHANNEL_SESSION, SW_MSG_CHALLENGE, true, &challenge);
		return false;
	}
	sw_proof_input(input, bytes, solution->number);
	crypto_hash_sha256(hash, input, sizeof(input));
	if (solution->challenge.len != sizeof(bytes) ||
		memcmp(solution->challenge.data, bytes, sizeof(bytes)) ||
		!sw_proof_good(hash, bits)) {
		refuse(peer, SW_REASON_PROOF_WRONG);
		return false;
	}
	server->works++;
	return true;
}

static void redirect(
	struct fake_server *server, ENetPeer *peer, unsigned port, unsigned character)
{
	Sw__Redirect message = SW__REDIRECT__INIT;
	char address[32], pass[32];

	snprintf(address, sizeof(address), "127.0.0.1:%u", port);
	snprintf(pass, sizeof(pass), "pass %u", character);
	message.address = address;
	message.pass = (ProtobufCBinaryData){strlen(pass), (uint8_t *)pass};
	server->redirected = peer;
	server->redirected_as = character;
	give(peer, SW_CHANNEL_SESSION, SW_MSG_REDIRECT, true, &message);
}

void fake_take_back(struct fake_server *server)
{
	join(server, server->redirected, server->redirected_as);
}

static void on_pass(struct fake_server *server, ENetPeer *peer, const char *pass)
{
	unsigned number;

	if (server->circle && sscanf(pass, "pass %u", &number) == 1) {
		redirect(server, peer, server->port, number);
	} else if (sscanf(pass, "pass %u", &number) == 1 && number < FAKE_CHARACTERS &&
		   server->joined[number]) {
		server->passes++;
		join(server, peer, number);
	} else {
		refuse(peer, SW_REASON_PASS_REFUSED);
	}
}

static void on_hello(struct fake_server *server, ENetPeer *peer, const Sw__Hello *hello)
{
	char ticket[64] = "", pass[64] = "";
	unsigned number = 0, bits;

	server->hellos++;
	if (server->mute)
		return;
	if (hello->ticket.len && hello->ticket.len < sizeof(ticket))
		memcpy(ticket, hello->ticket.data, hello->ticket.len);
	if (hello->pass.len && hello->pass.len < sizeof(pass)) {
		memcpy(pass, hello->pass.data, hello->pass.len);
		on_pass(server, peer, pass);
		return;
	}
	if (hello->protocol_version != SW_PROTOCOL_VERSION) {
		refuse(peer, SW_REASON_WRONG_VERSION);
	} else if (sscanf(ticket, "refuse %u", &number) == 1) {
		refuse(peer, number);
	} else if (sscanf(ticket, "redirect %u %u", &bits, &number) == 2) {
		redirect(server, peer, bits, number);
	} else if (sscanf(ticket, "work %u %u", &bits, &number) == 2 && number < FAKE_CHARACTERS) {
		if (worked(server, peer, hello->solution, bits))
			join(server, peer, number);
	} else if (sscanf(ticket, "used %u", &number) == 1 && number < FAKE_CHARACTERS) {
		if (server->used[number]) {
			refuse(peer, SW_REASON_TICKET_USED);
			return;
		}
		server->used[number] = true;
		join(server, peer, number);
	} else if (sscanf(ticket, "%u", &number) == 1 && number < FAKE_CHARACTERS) {
		join(server, peer, number);
	} else if (strcmp(ticket, "silent")) {
		refuse(peer, SW_REASON_TICKET_MALFORMED);
	}
}

static void on_input(struct fake_server *server, ENetPeer *peer, const Sw__InputBatch *batch)
{
	struct fake_player *player = player_of(server, peer);

	server->inputs++;
	for (size_t i = 0; player->playing && i < batch->n_inputs; i++) {
		uint32_t sequence = batch->first_sequence + (uint32_t)i;

		if (sequence <= player->input_applied)
			continue;
		player->input_applied = sequence;
		sw_move_apply(&server->map, SPEED_MM_PER_S, batch->inputs[i]->dx,
			batch->inputs[i]->dy, &player->at);
	}
}

static void on_click(struct fake_server *server, ENetPeer *peer, const Sw__Click *click)
{
	Sw__Dialogue dialogue = SW__DIALOGUE__INIT;
	Sw__ActionRefused denied = SW__ACTION_REFUSED__INIT;

	server->clicks++;
	if (click->actor_id == FAKE_NPC) {
		dialogue.actor_id = FAKE_NPC;
		dialogue.text = "Good day.";
		give(peer, SW_CHANNEL_SESSION, SW_MSG_DIALOGUE, true, &dialogue);
		return;
	}
	denied.action = SW_MSG_CLICK;
	denied.reason = SW__ACTION_REFUSAL__NO_SUCH_ACTOR;
	give(peer, SW_CHANNEL_SESSION, SW_MSG_ACTION_REFUSED, true, &denied);
}

static void on_packet(struct fake_server *server, ENetPeer *peer, const ENetPacket *packet)
{
	const uint8_t *body = packet->data + 1;
	size_t bytes = packet->dataLength - 1;
	void *message;

	if (!packet->dataLength)
		return;
	switch (packet->data[0]) {
	case SW_MSG_HELLO:
		message = sw__hello__unpack(NULL, bytes, body);
		if (message)
			on_hello(server, peer, message);
		break;
	case SW_MSG_INPUT:
		message = sw__input_batch__unpack(NULL, bytes, body);
		if (message)
			on_input(server, peer, message);
		break;
	case SW_MSG_CLICK:
		message = sw__click__unpack(NULL, bytes, body);
		if (message)
			on_click(server, peer, message);
		break;
	case SW_MSG_REDIRECT_FAILED:
		message = sw__redirect_failed__unpack(NULL, bytes, body);
		if (message && peer == server->redirected) {
			server->redirects_failed++;
			server->redirect_reason = ((Sw__RedirectFailed *)message)->reason;
			fake_take_back(server);
		}
		break;
	default:
		return;
	}
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}

void fake_service(struct fake_server *server)
{
	ENetEvent event;

	while (enet_host_service(server->host, &event, 0) > 0) {
		switch (event.type) {
		case ENET_EVENT_TYPE_CONNECT:
			memset(player_of(server, event.peer), 0, sizeof(struct fake_player));
			server->connect_data = event.data;
			break;
		case ENET_EVENT_TYPE_RECEIVE:
			on_packet(server, event.peer, event.packet);
			enet_packet_destroy(event.packet);
			break;
		case ENET_EVENT_TYPE_DISCONNECT:
			leave(server, event.peer);
			break;
		case ENET_EVENT_TYPE_NONE:
			break;
		}
	}
}

void fake_tick(struct fake_server *server)
{
	Sw__EntityState states[FAKE_PEERS];
	Sw__EntityState *list[FAKE_PEERS];
	Sw__WorldUpdate update = SW__WORLD_UPDATE__INIT;

	server->tick++;
	for (size_t i = 0; i < FAKE_PEERS; i++) {
		if (!server->players[i].playing)
			continue;
		server->players[i].at.x_mm += server->push_mm;
		list[update.n_entities] = &states[i];
		state_of(&states[i], server->players[i].actor_id, &server->players[i].at);
		update.n_entities++;
	}
	server->push_mm = 0;
	update.tick = server->tick;
	update.entities = list;
	for (size_t i = 0; i < FAKE_PEERS; i++) {
		if (!server->players[i].playing)
			continue;
		update.input_sequence = server->players[i].input_applied;
		give(&server->host->peers[i], SW_CHANNEL_WORLD, SW_MSG_WORLD_UPDATE, false,
			&update);
	}
	enet_host_flush(server->host);
}

void fake_send_all(
	struct fake_server *server, uint8_t channel, bool reliable, const void *bytes, size_t count)
{
	enet_host_broadcast(server->host, channel,
		enet_packet_create(bytes, count, reliable ? ENET_PACKET_FLAG_RELIABLE : 0));
	enet_host_flush(server->host);
}

void fake_stop(struct fake_server *server, uint32_t reason)
{
	for (size_t i = 0; i < FAKE_PEERS; i++) {
		if (server->host->peers[i].state == ENET_PEER_STATE_CONNECTED)
			enet_peer_disconnect_later(&server->host->peers[i], reason);
	}
}
