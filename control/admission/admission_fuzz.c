/* Fuzz target: whatever clients, shards, the world and Redis say, in any order, admission reads
 * nothing outside it, stays consistent (its CHECKs), and a ticket that passes is in its limits. The
 * first byte chooses: raw client bytes, a raw ticket, a well-signed body, or a script of events. */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/handle.h"
#include "common/mono.h"
#include "control/admission/admission.h"
#include "control/admission/ticket_key.h"
#include "control/admission/utf8.h"
#include "proto/client.pb-c.h"

#define WALL 1800000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ticket_key key;
static struct config_ticket_key keys[1];
static struct sw_config config;
static const struct adm_secrets secrets = {.pass_keys = {1, {{7, {1, 2, 3}}}}};
static uint8_t ready_ticket[4][TICKET_BYTES_MAX];
static size_t ready_bytes[4];

/* The newest sessions that admission spoke of: what the script answers about. */
static uint64_t recent[4];
static uint32_t recent_count;

static void check(bool good)
{
	if (!good)
		abort();
}

static void set_up(void)
{
	check(!ticket_init());
	ticket_key_new(&key, 1);
	keys[0].id = 1;
	memcpy(keys[0].public_key, key.public_key, 32);
	config.node.realm_id = 1;
	config.enet.peers_max = 4;
	config.admission.players_max = 3;
	config.admission.hello_deadline_ms = 5000;
	config.admission.grace_s = 60;
	config.admission.verify_waiting_max = 3; /* so that it is often full */
	config.admission.proof_wait_ms = 50;
	config.admission.proof_bits_max = 4;
	config.admission.ticket_key_count = 1;
	config.admission.ticket_keys[0] = keys[0];
	config.map_count = 2;
	strcpy(config.maps[0].name, "m");
	config.maps[0].players_max = 2;
	config.maps[0].instances = 1;
	config.maps[0].instances_max = 2;
	strcpy(config.maps[1].name, "r");
	config.maps[1].kind = CONFIG_MAP_ROOM;
	config.maps[1].players_max = 1;
	config.maps[1].warm = 1;
	config.maps[1].instances_max = 3;
	strcpy(config.admission.first_map, "m");
	for (uint32_t i = 0; i < 4; i++) {
		struct ticket ticket = {.realm_id = 1,
			.account_id = 1 + i / 3,
			.character_id = 1 + i / 2,
			.issued_unix_s = WALL,
			.expires_unix_s = WALL + 60,
			.name = "n"};

		ready_bytes[i] = ticket_sign(ready_ticket[i], &ticket, 1, key.secret_key);
	}
}

static void check_ticket(const uint8_t *data, size_t size)
{
	struct ticket ticket;

	if (ticket_check(&ticket, data, size, keys, 1, 1, WALL) != TICKET_FAULT_NONE)
		return;
	check(ticket.character_id && ticket.account_id && ticket.realm_id == 1);
	check(memchr(ticket.name, 0, sizeof(ticket.name)) && ticket.name[0]);
	check(utf8_is_text(ticket.name, strlen(ticket.name)));
}

static void check_signed_body(const uint8_t *body, size_t size)
{
	static const char context[] = "stormweir-ticket-1";
	uint8_t text[sizeof(context) + 400], signature[64], out[600];
	Sw__SignedTicket outer = SW__SIGNED_TICKET__INIT;

	if (size > 400)
		return;
	memcpy(text, context, sizeof(context) - 1);
	memcpy(text + sizeof(context) - 1, body, size);
	crypto_sign_detached(signature, NULL, text, sizeof(context) - 1 + size, key.secret_key);
	outer.body = (ProtobufCBinaryData){size, text + sizeof(context) - 1};
	outer.signature = (ProtobufCBinaryData){64, signature};
	outer.key_id = 1;
	check_ticket(out, sw__signed_ticket__pack(&outer, out));
}

static void remember(uint64_t session)
{
	recent[recent_count++ % 4] = session;
}

/* The last challenge and pass that admission sent, as the bytes of the message. */
static uint8_t told[2][REPLY_BYTES_MAX];
static size_t told_bytes[2];

static void listen_to(const struct msg *said)
{
	const uint8_t *payload = msg_payload(said);
	uint32_t which;

	if (said->type != MSG_PEER_SEND ||
		(payload[0] != SW_MSG_CHALLENGE && payload[0] != SW_MSG_RETURN_PASS))
		return;
	which = payload[0] == SW_MSG_RETURN_PASS;
	told_bytes[which] = said->payload_bytes - 1;
	memcpy(told[which], payload + 1, told_bytes[which]);
}

static void to_dataplane(void *ctx, uint32_t worker, const struct msg *message)
{
	(void)ctx;
	check(worker < 2);
	listen_to(message);
}

static void to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	(void)ctx;
	check(shard == 0);
	remember(message->subject);
}

static void to_world(void *ctx, const struct msg *message)
{
	(void)ctx;
	remember(message->subject);
}

static int claim(void *ctx, uint64_t session, const uint8_t *nonce, uint64_t expire_s)
{
	(void)ctx;
	(void)nonce;
	check(expire_s > 0);
	remember(session);
	return 0;
}

static void release(void *ctx, uint64_t session, const uint8_t *nonce)
{
	(void)ctx;
	(void)session;
	(void)nonce;
}

static void spend(void *ctx, const uint8_t *nonce, uint64_t expire_s)
{
	(void)ctx;
	(void)nonce;
	check(expire_s > 0);
}

/* ---- a verifying thread that the script answers for ---- */

static struct {
	uint64_t session;
	uint32_t bytes;
	uint8_t ticket[TICKET_BYTES_MAX];
} asked[ADM_VERIFY_WINDOW];
static uint32_t asked_count;

static void verify(
	void *ctx, uint64_t session, const uint8_t *ticket, uint32_t bytes, uint64_t wall_s)
{
	(void)ctx;
	(void)wall_s;
	check(asked_count < ADM_VERIFY_WINDOW && bytes <= TICKET_BYTES_MAX);
	asked[asked_count].session = session;
	asked[asked_count].bytes = bytes;
	memcpy(asked[asked_count++].ticket, ticket, bytes);
}

static void verified(struct adm *adm, uint64_t now_ns)
{
	struct ticket ticket;
	enum ticket_fault fault;
	uint64_t session;

	if (!asked_count)
		return;
	session = asked[--asked_count].session;
	fault = ticket_check(
		&ticket, asked[asked_count].ticket, asked[asked_count].bytes, keys, 1, 1, WALL);
	adm_verified(adm, session, fault, &ticket, NS_PER_MS, now_ns, WALL);
}

static int queue(void *ctx, const struct gate_newcomer *newcomer, uint64_t now_ns)
{
	(void)ctx;
	check(newcomer->session && newcomer->character_id && newcomer->realm_id == 1);
	remember(newcomer->session);
	return now_ns / NS_PER_MS % 16 ? 0 : -28;
}

static void unqueue(void *ctx, uint64_t session, bool away)
{
	(void)ctx;
	(void)away;
	check(session != 0);
}

static void requeue(void *ctx, uint64_t session)
{
	(void)ctx;
	check(session != 0);
}

static void presence(void *ctx, const struct adm_presence *who)
{
	(void)ctx;
	check(who->session && who->character_id);
}

static int seek(void *ctx, uint64_t session, uint64_t character_id, uint64_t epoch_max,
	bool in_any_case)
{
	(void)epoch_max;
	(void)ctx;
	(void)in_any_case;
	check(character_id != 0);
	remember(session);
	return 0;
}

static void vacated(void *ctx, const struct adm_presence *who, bool played)
{
	(void)played;
	presence(ctx, who);
}

/* One message of a type, with the script's bytes as its payload. */
static const struct msg *message(struct msg_buffer *buffer, enum msg_type type, uint64_t peer,
	const void *body, size_t bytes)
{
	uint8_t *payload = msg_begin(buffer->slot, type, peer, (uint32_t)bytes);

	if (bytes)
		memcpy(payload, body, bytes);
	buffer->slot[0].flags = MSG_SEND_RELIABLE;
	return buffer->slot;
}

/* arg: which ticket; with a pass, or with an answer to a challenge, good or not. */
static void hello(
	struct adm *adm, struct msg_buffer *buffer, uint64_t peer, uint8_t arg, uint64_t now_ns)
{
	uint8_t data[HELLO_BYTES_MAX + 64] = {SW_MSG_HELLO};
	Sw__Hello body = SW__HELLO__INIT;
	Sw__Solution solution = SW__SOLUTION__INIT;
	Sw__Challenge *challenge = NULL;
	Sw__ReturnPass *pass = NULL;
	uint32_t which = arg >> 5 & 3;

	body.protocol_version = SW_PROTOCOL_VERSION;
	body.redirects = true;
	body.ticket = (ProtobufCBinaryData){ready_bytes[which], ready_ticket[which]};
	if (arg & 0x80 && told_bytes[0]) {
		challenge = sw__challenge__unpack(NULL, told_bytes[0], told[0]);
		check(challenge != NULL);
		solution.challenge = challenge->challenge;
		solution.number = arg & 15; /* of 4 bits: often good */
		body.solution = &solution;
	}
	if (arg & 0x10 && told_bytes[1]) {
		pass = sw__return_pass__unpack(NULL, told_bytes[1], told[1]);
		check(pass != NULL);
		body.pass = pass->pass;
		if (arg & 1)
			body.ticket.len = 0;
	}
	adm_from_dataplane(adm,
		message(buffer, MSG_PEER_PACKET, peer, data, 1 + sw__hello__pack(&body, data + 1)),
		now_ns, WALL);
	sw__challenge__free_unpacked(challenge, NULL);
	sw__return_pass__free_unpacked(pass, NULL);
}

/* ---- a builder that the script answers for ---- */

static uint32_t ordered;

static void build(void *ctx, uint32_t id)
{
	(void)ctx;
	check(ordered == INSTANCE_NONE);
	ordered = id;
}

static void built(struct director *director, bool good, uint64_t now_ns)
{
	uint32_t id = ordered;

	ordered = INSTANCE_NONE;
	if (id != INSTANCE_NONE)
		director_built(director, id, good, now_ns);
}

static void instance_to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	(void)ctx;
	check(shard == 0 && message->type == MSG_INSTANCE_OPEN);
}

static void load(void *ctx, uint32_t shard, struct placement_load *out)
{
	(void)ctx;
	(void)shard;
	(void)out;
}

/* Two bytes an event. */
static void run_script(const uint8_t *data, size_t size)
{
	const struct adm_ops ops = {.to_dataplane = to_dataplane,
		.to_shard = to_shard,
		.to_world = to_world,
		.claim = claim,
		.release = release,
		.spend = spend,
		.verify = verify,
		.seek = seek,
		.queue = queue,
		.unqueue = unqueue,
		.requeue = requeue,
		.arrived = presence,
		.departed = presence,
		.vacated = vacated};
	const struct director_ops director_ops = {NULL, build, instance_to_shard, load};
	struct director *director = director_new(&config, 1, &director_ops);
	struct adm *adm = adm_new(&config, &secrets, 2, 1, director, &ops);
	static struct msg_buffer buffer;
	const struct gate_move to = {"node-2", "10.0.0.2:7777", GATE_LANE_NORMAL, 5};
	const struct gate_standing standing = {.state = GATE_CLOSED, .position = 1};
	struct adm_presence due[4];
	uint64_t now_ns = NS_PER_S;

	check(adm != NULL && director != NULL);
	ordered = INSTANCE_NONE;
	asked_count = 0;
	adm_wall(adm, WALL);
	director_start(director, now_ns);
	for (; size >= 2; data += 2, size -= 2) {
		uint8_t what = data[0] % 16, arg = data[1];
		uint64_t peer = handle_make(arg & 1, 1 + (arg >> 4), arg >> 1 & 7);
		const struct msg_peer_connected connected = {.port = 1};
		const struct msg_character_loaded loaded = {
			.session = recent[arg & 3], .result = arg >> 2 & 3, .epoch = 1};
		const struct msg_player_refused said = {
			.session = recent[arg & 3], .reason = arg >> 2};
		const struct msg_player_left left = {.session = recent[arg & 3],
			.character_id = 1 + (arg >> 4 & 1),
			.instance = instance_id(arg >> 2 & 7, 1 + (arg >> 5))};
		const struct msg_player_transfer transfer = {.session = recent[arg & 3],
			.character_id = 1 + (arg >> 4 & 1),
			.instance = instance_id(arg >> 2 & 7, 1 + (arg >> 5)),
			.map = {"mrx"[arg % 3]},
			.return_map = {"m\0"[arg >> 7]}};
		const struct msg_instance instance = {
			instance_id(arg & 15, 1 + (arg >> 4 & 1)), arg >> 5};

		now_ns += arg * NS_PER_MS;
		if (what < 2)
			adm_from_dataplane(adm,
				message(&buffer, MSG_PEER_CONNECTED, peer, &connected,
					sizeof(connected)),
				now_ns, WALL);
		else if (what < 4)
			hello(adm, &buffer, peer, arg, now_ns);
		else if (what == 4)
			adm_from_dataplane(
				adm, message(&buffer, MSG_PEER_GONE, peer, NULL, 0), now_ns, WALL);
		else if (what < 6)
			adm_claimed(adm, recent[arg & 3], (enum adm_claim)(arg % 5 ? 0 : arg % 3),
				now_ns);
		else if (what < 7 && arg >= 250)
			adm_oust(adm, recent[arg & 3], 1 + (arg >> 2 & 1), now_ns);
		else if (what < 7)
			adm_sought(adm, recent[arg & 3], (enum adm_sought)(arg % 5 ? 0 : arg % 3),
				now_ns);
		else if (what == 7)
			adm_from_world(adm,
				message(&buffer, MSG_CHARACTER_LOADED, 0, &loaded, sizeof(loaded)),
				now_ns);
		else if (what < 10)
			adm_from_shard(adm, 0,
				what == 8 ? message(&buffer, MSG_PLAYER_JOINED, 0, &said,
						    sizeof(said))
				: arg & 4
					? message(&buffer, MSG_PLAYER_LEFT, 0, &left, sizeof(left))
					: message(&buffer, MSG_PLAYER_REFUSED, 0, &said,
						  sizeof(said)),
				now_ns);
		else if (what == 10)
			adm_from_dataplane(adm,
				message(&buffer, MSG_PEER_PACKET, peer, data,
					size < 40 ? size : 40),
				now_ns, WALL);
		else if (what == 11)
			adm_from_shard(adm, 0,
				message(&buffer, MSG_PLAYER_TRANSFER, 0, &transfer,
					sizeof(transfer)),
				now_ns);
		else if (what == 12)
			adm_from_shard(adm, 0,
				message(&buffer, MSG_INSTANCE_STATE, 0, &instance,
					sizeof(instance)),
				now_ns);
		else if (what == 13)
			verified(adm, now_ns);
		else if (what == 14 && arg & 128)
			adm_move(adm, recent[arg & 3], &to, now_ns);
		else if (what == 14 && arg & 64)
			adm_back(adm, recent[arg & 3], now_ns);
		else if (what == 14 && arg & 16)
			built(director, arg & 3, now_ns);
		else if (what == 14 && arg & 8)
			adm_let_in(adm, recent[arg & 3], now_ns);
		else if (what == 14 && arg & 4)
			adm_replaced(adm, recent[arg & 3], now_ns);
		else if (what == 14)
			adm_tell(adm, recent[arg & 3], &standing);
		else if (arg == 255)
			adm_stop(adm, now_ns);
		else
			now_ns += arg * 100 * NS_PER_MS;
		adm_tick(adm, now_ns);
		adm_presence_due(adm, now_ns, now_ns, due, 4);
	}
	adm_free(adm);
	director_free(director);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool done;
	struct pb_arena arena;
	struct hello read;

	if (!done)
		set_up();
	done = true;
	if (!size)
		return 0;
	memset(recent, 0, sizeof(recent));
	told_bytes[0] = told_bytes[1] = 0;
	switch (data[0] & 3) {
	case 0:
		hello_read(
			&read, &arena, data + 1, size - 1, SW_CHANNEL_SESSION, MSG_SEND_RELIABLE);
		break;
	case 1:
		check_ticket(data + 1, size - 1);
		break;
	case 2:
		check_signed_body(data + 1, size - 1);
		break;
	default:
		run_script(data + 1, size - 1);
	}
	return 0;
}
