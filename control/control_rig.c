#include "control/control_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <sodium.h>

#include "common/mono.h"
#include "control/ops/ops.h"
#include "proto/client.pb-c.h"

struct ticket_key rig_key;

bool rig_keys(void)
{
	if (ticket_init())
		return false;
	ticket_key_new(&rig_key, 1);
	return true;
}

static int build_nothing(void *ctx, uint32_t id, char *error, size_t error_bytes)
{
	struct rig *rig = ctx;

	(void)id;
	if (!atomic_load(&rig->build_fails))
		return 0;
	snprintf(error, error_bytes, "the test says so");
	return -EINVAL;
}

static void answered(void *ctx, uint64_t subject)
{
	atomic_store(&((struct rig *)ctx)->woken, subject);
}

void rig_init(struct rig *rig, uint32_t to_dataplane_slots)
{
	memset(rig, 0, sizeof(*rig));
	redis_fixture_init(&rig->server);
	strcpy(rig->config.node.name, "node-1");
	rig->config.node.realm_id = 1;
	strcpy(rig->config.ports[0].address, "10.0.0.9/24");
	rig->config.dataplane.udp_port = 7777;
	rig->config.node.stop_deadline_ms = 5000;
	rig->config.enet.peers_max = 4096;
	rig->config.admission.players_max = 100;
	rig->config.admission.hello_deadline_ms = 20000;
	rig->config.admission.grace_s = 120;
	rig->config.admission.verify_waiting_max = 4096;
	rig->config.admission.rate = rig->config.admission.burst = 100000;
	rig->config.admission.batch = 1000;
	rig->config.admission.lease_ms = 15000;
	rig->config.admission.rebuild_ms = 300; /* no world answers which nodes there are */
	rig->config.admission.operator_share = 20;
	rig->config.admission.returning_share = 40;
	strcpy(rig->config.admission.first_map, "meadow");
	rig->config.admission.ticket_key_count = 1;
	rig->config.admission.ticket_keys[0].id = rig_key.id;
	memcpy(rig->config.admission.ticket_keys[0].public_key, rig_key.public_key, 32);
	rig->config.map_count = 1;
	strcpy(rig->config.maps[0].name, "meadow");
	rig->config.maps[0].players_max = 4096;
	rig->config.maps[0].instances = 1;
	strcpy(rig->config.redis.address, rig->server.address);
	strcpy(rig->config.redis.prefix, "t");
	rig->config.redis.connect_timeout_ms = 3000;
	rig->config.redis.command_timeout_ms = 2000;
	rig->config.redis.heartbeat_ms = 50;
	rig->config.redis.heartbeat_expire_ms = 10000;
	rig->links.workers = rig->links.shards = 1;
	rig->links.from_dataplane[0] = msg_ring_new("dataplane-control", 4096);
	rig->links.to_dataplane[0] = msg_ring_new("control-dataplane", to_dataplane_slots);
	rig->links.from_shard[0] = msg_ring_new("shard-control", 4096);
	rig->links.to_shard[0] = msg_ring_new("control-shard", 4096);
	rig->links.from_world = msg_ring_new("world-control", 4096);
	rig->links.to_world = msg_ring_new("control-world", 4096);
	rig->links.shard_last_tick_ns[0] = &rig->last_tick_ns;
	rig->links.build = build_nothing;
	rig->links.build_ctx = rig;
	rig->links.from_ops = msg_ring_new("ops-control", OPS_ORDER_SLOTS);
	rig->links.to_ops = msg_ring_new("control-ops", OPS_ORDER_SLOTS);
	rig->links.order_answered = answered;
	rig->links.order_ctx = rig;
	/* Far enough ahead to be "just now" for the whole test. */
	atomic_store(&rig->last_tick_ns, mono_ns() + 3600 * NS_PER_S);
}

void rig_start(struct rig *rig)
{
	redis_fixture_start(&rig->server, NULL, NULL);
	rig->ctl = ctl_start(&rig->config, &rig->links, stderr);
	assert_non_null(rig->ctl);
	assert_int_equal(ctl_state(rig->ctl), CTL_READY);
}

void rig_fini(struct rig *rig)
{
	ctl_free(rig->ctl);
	msg_ring_free(rig->links.from_dataplane[0]);
	msg_ring_free(rig->links.to_dataplane[0]);
	msg_ring_free(rig->links.from_shard[0]);
	msg_ring_free(rig->links.to_shard[0]);
	msg_ring_free(rig->links.from_world);
	msg_ring_free(rig->links.to_world);
	msg_ring_free(rig->links.from_ops);
	msg_ring_free(rig->links.to_ops);
	redis_fixture_fini(&rig->server);
}

void rig_nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Takes messages from the ring until one is of the type; fails after ten seconds. */
const struct msg *rig_expect(struct msg_ring *ring, enum msg_type type)
{
	static struct msg out[2 * MSG_SLOTS_MAX];
	static const struct msg *next, *end;
	static struct msg_ring *last_ring;
	uint64_t until_ns = mono_ns() + 10 * NS_PER_S;

	/* What is left of the burst before, of another ring, nobody asked for. */
	if (ring != last_ring)
		next = end = NULL;
	last_ring = ring;
	while (mono_ns() < until_ns) {
		while (next < end) {
			const struct msg *message = next;

			next = msg_next(message);
			if (message->type == type)
				return message;
		}
		next = out;
		end = out + msg_ring_pop(ring, out, 2 * MSG_SLOTS_MAX);
		if (end == out)
			rig_nap();
	}
	fail_msg("no message of type %d came through %s", type, msg_ring_name(ring));
	return NULL;
}

void rig_push(struct msg_ring *ring, enum msg_type type, uint64_t peer, const void *body,
	uint32_t bytes, uint16_t flags)
{
	static struct msg_buffer buffer;

	memcpy(msg_begin(buffer.slot, type, peer, bytes), body, bytes);
	buffer.slot[0].flags = flags;
	while (!msg_ring_push(ring, buffer.slot))
		rig_nap();
}

void rig_connect(struct rig *rig, uint64_t peer)
{
	const struct msg_peer_connected body = {.payload_bytes_max = 1300};

	rig_push(rig->links.from_dataplane[0], MSG_PEER_CONNECTED, peer, &body, sizeof(body), 0);
}

void rig_gone(struct rig *rig, uint64_t peer)
{
	const struct msg_peer_gone body = {0};

	rig_push(rig->links.from_dataplane[0], MSG_PEER_GONE, peer, &body, sizeof(body), 0);
}

struct ticket rig_ticket(uint64_t character)
{
	struct ticket ticket = {.realm_id = 1,
		.account_id = 1,
		.character_id = character,
		.issued_unix_s = (uint64_t)time(NULL),
		.expires_unix_s = (uint64_t)time(NULL) + 60,
		.name = "Ulla"};

	randombytes_buf(ticket.nonce, sizeof(ticket.nonce));
	return ticket;
}

void rig_say_hello(struct rig *rig, uint64_t peer, const struct ticket *ticket)
{
	uint8_t signed_ticket[TICKET_BYTES_MAX], data[1024] = {SW_MSG_HELLO};
	Sw__Hello hello = SW__HELLO__INIT;

	hello.protocol_version = SW_PROTOCOL_VERSION;
	hello.ticket.len = ticket_sign(signed_ticket, ticket, rig_key.id, rig_key.secret_key);
	hello.ticket.data = signed_ticket;
	rig_connect(rig, peer);
	rig_push(rig->links.from_dataplane[0], MSG_PEER_PACKET, peer, data,
		(uint32_t)(1 + sw__hello__pack(&hello, data + 1)), MSG_SEND_RELIABLE);
}

/* The world and the shard answer well. Returns the session. */
uint64_t rig_let_in(struct rig *rig)
{
	struct msg_character_load load;
	struct msg_character_loaded loaded = {.epoch = 42};
	struct msg_player_joined joined = {.actor_id = 1};

	memcpy(&load, msg_payload(rig_expect(rig->links.to_world, MSG_CHARACTER_LOAD)),
		sizeof(load));
	loaded.session = joined.session = load.session;
	rig_push(rig->links.from_world, MSG_CHARACTER_LOADED, 0, &loaded, sizeof(loaded), 0);
	rig_expect(rig->links.to_shard[0], MSG_PLAYER_JOIN);
	rig_push(rig->links.from_shard[0], MSG_PLAYER_JOINED, 0, &joined, sizeof(joined), 0);
	return load.session;
}

void rig_left(struct rig *rig, uint64_t session)
{
	const struct msg_player_left body = {.session = session};

	rig_push(rig->links.from_shard[0], MSG_PLAYER_LEFT, 0, &body, sizeof(body), 0);
}

void rig_say_settled(struct rig *rig, const struct msg *asked)
{
	struct msg_character_settle settle;
	struct msg_character_settled body = {.settled = 1};

	memcpy(&settle, msg_payload(asked), sizeof(settle));
	body.session = settle.session;
	body.character_id = settle.character_id;
	rig_push(rig->links.from_world, MSG_CHARACTER_SETTLED, 0, &body, sizeof(body), 0);
}

void rig_settled(struct rig *rig)
{
	rig_say_settled(rig, rig_expect(rig->links.to_world, MSG_CHARACTER_SETTLE));
}

/* The next disconnect; its reason. */
uint32_t rig_disconnected(struct rig *rig)
{
	struct msg_peer_disconnect body;

	memcpy(&body, msg_payload(rig_expect(rig->links.to_dataplane[0], MSG_PEER_DISCONNECT)),
		sizeof(body));
	return body.data;
}

redisReply *rig_ask(struct rig *rig, const char *command)
{
	redisContext *context = redisConnectUnix(rig->server.address + strlen("unix:"));
	redisReply *reply;

	assert_int_equal(context->err, 0);
	reply = redisCommand(context, command);
	assert_non_null(reply);
	redisFree(context);
	return reply;
}

/* Asks until the answer contains the text, or is of that type if the text is NULL. */
void rig_until(struct rig *rig, const char *command, const char *text, int type)
{
	for (int i = 0; i < 5000; i++) {
		redisReply *reply = rig_ask(rig, command);
		bool good = text ? reply->str && strstr(reply->str, text) : reply->type == type;

		freeReplyObject(reply);
		if (good)
			return;
		rig_nap();
	}
	fail_msg("%s: never %s", command, text ? text : "of that type");
}

/* After MSG_SHARD_STOP: the rest of a stop as a well node does it. */
void rig_stop_rest(struct rig *rig, uint32_t unsaved)
{
	const struct msg_world_flushed flushed = {.unsaved = unsaved};

	assert_false(ctl_wait(rig->ctl, 0));
	rig_push(rig->links.from_shard[0], MSG_SHARD_STOPPED, 0, "", 0, 0);
	rig_expect(rig->links.to_world, MSG_WORLD_FLUSH);
	assert_false(ctl_wait(rig->ctl, 0));
	rig_push(rig->links.from_world, MSG_WORLD_FLUSHED, 0, &flushed, sizeof(flushed), 0);
	assert_true(ctl_wait(rig->ctl, 10000));
	assert_int_equal(ctl_join(rig->ctl), unsaved);
	assert_int_equal(ctl_state(rig->ctl), CTL_STOPPED);
	ctl_request_stop(rig->ctl); /* too late, and harmless */
}

void rig_stop(struct rig *rig, uint32_t unsaved)
{
	ctl_request_stop(rig->ctl);
	ctl_request_stop(rig->ctl);
	rig_expect(rig->links.to_shard[0], MSG_SHARD_STOP);
	rig_stop_rest(rig, unsaved);
}

/* ---- operators' orders ---- */

enum operator_role rig_role = OPERATOR_ADMIN;

static uint64_t subject = 100; /* of the last order */

void rig_order_send(struct rig *rig, const char *words, uint32_t count, uint32_t bytes)
{
	struct msg_order body = {
		.author = "anna", .role = rig_role, .words = count, .words_bytes = bytes};
	struct msg_buffer buffer;
	uint8_t *at =
		msg_begin(buffer.slot, MSG_ORDER, 0, (uint32_t)sizeof(body) + body.words_bytes);

	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), words, bytes);
	buffer.slot->subject = ++subject;
	assert_true(msg_ring_push(rig->links.from_ops, buffer.slot));
}

void rig_answered(struct rig *rig, const char *words, enum order_result result, const char *says)
{
	const struct msg *message = rig_expect(rig->links.to_ops, MSG_ORDER_ANSWER);
	struct msg_order_answer answer;
	char text[ORDER_TEXT_BYTES + 1];

	assert_int_equal(message->subject, subject);
	memcpy(&answer, msg_payload(message), sizeof(answer));
	assert_int_equal(message->payload_bytes, sizeof(answer) + answer.text_bytes);
	memcpy(text, msg_payload(message) + sizeof(answer), answer.text_bytes);
	text[answer.text_bytes] = 0;
	if (answer.result != result || !strstr(text, says))
		fail_msg("%s: result %u: %s", words, answer.result, text);
	/* Ops is woken after the answer is in its ring. */
	for (int turns = 0; rig->woken != subject && turns < 10000; turns++)
		rig_nap();
	assert_int_equal(rig->woken, subject);
}

void rig_order(struct rig *rig, const char *words, uint32_t count, uint32_t bytes,
	enum order_result result, const char *says)
{
	rig_order_send(rig, words, count, bytes);
	rig_answered(rig, words, result, says);
}

void rig_audited(struct rig *rig, bool good, const char *what, const char *says)
{
	const struct msg *message = rig_expect(rig->links.to_world, MSG_AUDIT);
	char texts[2 * AUDIT_TEXT_BYTES + 1];
	struct msg_audit audit;

	memcpy(&audit, msg_payload(message), sizeof(audit));
	assert_int_equal(
		message->payload_bytes, sizeof(audit) + audit.what_bytes + audit.outcome_bytes);
	memcpy(texts, msg_payload(message) + sizeof(audit),
		(size_t)audit.what_bytes + audit.outcome_bytes);
	texts[audit.what_bytes + audit.outcome_bytes] = 0;
	assert_string_equal(audit.author, "anna");
	assert_string_equal(audit.kind, "command");
	assert_int_equal(audit.good, good);
	assert_true(audit.id[0] && audit.id[1]);
	assert_true(audit.at_ms > 1700000000000);
	assert_int_equal(audit.what_bytes, strlen(what));
	assert_memory_equal(texts, what, strlen(what));
	if (!strstr(texts + audit.what_bytes, says))
		fail_msg("%s: the audit says %s", what, texts + audit.what_bytes);
}
