/* Proves, of owner and gateway together: members come and go with what control says of them, in
 * whatever order and however often it is said; lines reach all members in order and without gaps,
 * nobody after leaving, none of an older session; a queue drops its oldest and makes the channel
 * slow; a flood, a stranger's, an unreadable and a forbidden request are refused by name while the
 * others talk on; another owner, and an old one that comes back, are recognised by their tokens; a
 * channel of many delays no other; a million channels asked for take no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/handle.h"
#include "common/mono.h"
#include "control/chat/gateway.h"
#include "control/chat/owner.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

enum { WORKERS = 2, SESSIONS = 4096, MS = 1000000 };

struct rig {
	struct sw_config config;
	_Atomic uint64_t counters[CHAT_COUNTER_COUNT];
	struct chat_owner *owner;
	struct chat_gateway *gateway;
	struct chat_sanctions *sanctions;
	uint64_t now_ns, unix_ms, version;
	bool no_owner; /* words to it go nowhere */
	uint32_t room;
	uint32_t words; /* to other nodes */
	struct chat_word sought;
	uint8_t sought_text[CHAT_TEXT_MAX];
	uint32_t refused_logged, blocks, news;
	uint64_t said_token, said_sequence;
	/* what was sent: to one, and lines to many */
	struct sent {
		uint64_t peer;
		uint32_t bytes;
		uint8_t packet[2048];
	} sent[8192];
	uint32_t sent_count;
	uint8_t line[2048];
	uint32_t line_bytes;
} * rig;

static void put(uint64_t peer, const uint8_t *packet, size_t bytes)
{
	struct sent *s = &rig->sent[rig->sent_count++ % 8192];

	s->peer = peer;
	s->bytes = (uint32_t)bytes;
	memcpy(s->packet, packet, bytes < sizeof(s->packet) ? bytes : sizeof(s->packet));
}

static void to_owner(void *ctx, const struct chat_word *word)
{
	(void)ctx;
	if (!rig->no_owner)
		chat_owner_word(rig->owner, CHAT_NODE_SELF, word, rig->now_ns, rig->unix_ms);
}

static void to_gateway(void *ctx, uint32_t node, const struct chat_word *word)
{
	uint8_t bytes[CHAT_WORD_BYTES];
	struct chat_word read;
	size_t count = chat_word_write(word, bytes);

	(void)ctx;
	/* As another node would read it. */
	assert_true(count > 0);
	assert_true(chat_word_read(&read, bytes, count));
	if (node == CHAT_NODE_SELF)
		chat_gateway_word(rig->gateway, node, &read, rig->now_ns, rig->unix_ms);
	else
		rig->words++;
}

static bool may(void *ctx, uint64_t channel)
{
	(void)ctx;
	return chat_gateway_may(rig->gateway, channel);
}

static void said(void *ctx, const struct chat_said *one)
{
	(void)ctx;
	assert_true(one->sequence > 0);
	rig->said_token = one->token;
	rig->said_sequence = one->sequence;
}

static void send_one(void *ctx, uint64_t peer, const uint8_t *packet, size_t bytes)
{
	(void)ctx;
	put(peer, packet, bytes);
}

static uint32_t room(void *ctx, uint32_t worker)
{
	(void)ctx, (void)worker;
	return rig->room;
}

static void push(void *ctx, uint32_t worker, const struct msg *message)
{
	(void)ctx;
	if (message->type == MSG_CHAT_LINE) {
		rig->line_bytes = message->payload_bytes;
		memcpy(rig->line, msg_payload(message), rig->line_bytes);
		return;
	}
	assert_int_equal(message->type, MSG_CHAT_TO);
	for (uint32_t i = 0; i < message->payload_bytes / 8; i++) {
		uint64_t peer;

		memcpy(&peer, msg_payload(message) + 8 * i, 8);
		assert_int_equal(handle_owner(peer), worker);
		put(peer, rig->line, rig->line_bytes);
	}
}

static void seek(void *ctx, const struct chat_word *word)
{
	(void)ctx;
	rig->sought = *word;
	assert_in_range(word->body_bytes, 0, sizeof(rig->sought_text));
	memcpy(rig->sought_text, word->body, word->body_bytes);
	rig->sought.body = rig->sought_text;
}

static void presence(void *ctx, const struct msg_chat_player *player, bool here, bool news)
{
	(void)ctx, (void)player, (void)here;
	rig->news += news;
}

static void refused(void *ctx, const struct chat_who *who, uint32_t kind, uint64_t channel,
	enum chat_refusal reason, const uint8_t *text, uint32_t bytes)
{
	(void)ctx, (void)who, (void)kind, (void)channel, (void)reason, (void)text, (void)bytes;
	rig->refused_logged++;
}

static void whispered(void *ctx, const struct chat_word *word)
{
	(void)ctx, (void)word;
}

static void block(void *ctx, uint64_t one, uint64_t other, bool blocked)
{
	(void)ctx, (void)one, (void)other, (void)blocked;
	rig->blocks++;
}

static void report(void *ctx, const struct chat_who *who, uint64_t request, uint64_t channel,
	uint64_t token, uint64_t sequence, const uint8_t *why, uint32_t bytes)
{
	(void)ctx, (void)channel, (void)token, (void)sequence, (void)why, (void)bytes;
	chat_gateway_answer(rig->gateway, who->session, request, CHAT_REFUSED_NONE);
}

static void fetch(void *ctx, const struct chat_who *who, uint64_t request, uint64_t after)
{
	(void)ctx, (void)after;
	chat_gateway_answer(rig->gateway, who->session, request, CHAT_REFUSED_NONE);
}

static int set_up(void **state)
{
	const struct chat_owner_ops owner_ops = {NULL, to_gateway, may, said};
	const struct chat_gateway_ops gateway_ops = {NULL, to_owner, to_gateway, send_one, room,
		push, seek, presence, refused, whispered, block, report, fetch};

	(void)state;
	rig = calloc(1, sizeof(*rig));
	sw_config_defaults(&rig->config);
	snprintf(rig->config.node.name, sizeof(rig->config.node.name), "one");
	rig->config.chat.channels_max = 64;
	rig->config.chat.lines_max = 256;
	rig->config.chat.queue = 8;
	rig->config.chat.fanouts_max = 16;
	rig->now_ns = 1000ull * NS_PER_S;
	rig->unix_ms = 1700000000000;
	rig->room = 1u << 20;
	rig->sanctions = chat_sanctions_new();
	rig->owner = chat_owner_new(&rig->config, rig->counters, &owner_ops);
	rig->gateway = chat_gateway_new(
		&rig->config, WORKERS, SESSIONS, rig->counters, rig->sanctions, &gateway_ops);
	chat_gateway_token(rig->gateway, 5);
	for (uint32_t i = 0; i < CHAT_SLOTS; i++)
		chat_owner_slot(rig->owner, i, 10);
	chat_owner_until(rig->owner, UINT64_MAX);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	chat_gateway_free(rig->gateway);
	chat_owner_free(rig->owner);
	chat_sanctions_free(rig->sanctions);
	free(rig);
	return 0;
}

/* ---- players ---- */

static uint64_t peer_of(uint32_t n)
{
	return handle_make(n % WORKERS, 1, n);
}

static struct msg_chat_player player(uint32_t n, uint32_t instance)
{
	struct msg_chat_player p = {.version = ++rig->version,
		.session = handle_make(0, 1, n),
		.peer = peer_of(n),
		.character_id = 100 + n,
		.generation = 1,
		.instance = instance,
		.here = 1,
		.map = "meadow"};

	snprintf(p.name, sizeof(p.name), "p%u", n);
	return p;
}

static void hear(struct msg_chat_player p)
{
	chat_gateway_player(rig->gateway, &p, rig->now_ns);
}

static void come(uint32_t n, uint32_t instance)
{
	hear(player(n, instance));
}

static void go(uint32_t n)
{
	struct msg_chat_player p = player(n, 0);

	p.here = 0;
	hear(p);
}

static void tick(uint32_t ms)
{
	rig->now_ns += (uint64_t)ms * MS;
	rig->unix_ms += ms;
	chat_owner_tick(rig->owner, rig->now_ns);
	chat_gateway_tick(rig->gateway, rig->now_ns);
}

static void say_bytes(uint32_t n, const char *text, uint64_t channel, uint64_t request)
{
	Sw__ChatSay say = SW__CHAT_SAY__INIT;
	uint8_t packet[16384];

	say.channel = channel;
	say.request = request;
	say.text = (char *)text;
	packet[0] = SW_MSG_CHAT_SAY;
	chat_gateway_packet(rig->gateway, peer_of(n), packet,
		1 + sw__chat_say__pack(&say, packet + 1), rig->now_ns, rig->unix_ms);
}

static void whisper(uint32_t n, uint64_t to, const char *name, const char *text)
{
	Sw__ChatWhisper body = SW__CHAT_WHISPER__INIT;
	uint8_t packet[1024];

	body.request = 3;
	body.character_id = to;
	body.name = (char *)name;
	body.text = (char *)text;
	packet[0] = SW_MSG_CHAT_WHISPER;
	chat_gateway_packet(rig->gateway, peer_of(n), packet,
		1 + sw__chat_whisper__pack(&body, packet + 1), rig->now_ns, rig->unix_ms);
}

static void block_one(uint32_t n, uint64_t other, bool unblock)
{
	Sw__ChatBlock body = SW__CHAT_BLOCK__INIT;
	uint8_t packet[64];

	body.request = 6;
	body.character_id = other;
	body.unblock = unblock;
	packet[0] = SW_MSG_CHAT_BLOCK;
	chat_gateway_packet(rig->gateway, peer_of(n), packet,
		1 + sw__chat_block__pack(&body, packet + 1), rig->now_ns, rig->unix_ms);
}

static void join_language(uint32_t n, const char *name)
{
	Sw__ChatJoin body = SW__CHAT_JOIN__INIT;
	uint8_t *packet = malloc(20000);

	body.request = 4;
	body.kind = SW__CHAT_KIND__CHAT_LANGUAGE;
	body.name = (char *)name;
	packet[0] = SW_MSG_CHAT_JOIN;
	chat_gateway_packet(rig->gateway, peer_of(n), packet,
		1 + sw__chat_join__pack(&body, packet + 1), rig->now_ns, rig->unix_ms);
	free(packet);
}

/* ---- what they got ---- */

static uint32_t from; /* of rig->sent */

static void mark(void)
{
	from = rig->sent_count;
}

/* How many packets of the type since mark, to a player; the last of them in out. */
static uint32_t got(uint32_t n, enum sw_message_type type, struct sent *out)
{
	uint32_t count = 0;

	for (uint32_t i = from; i < rig->sent_count; i++) {
		const struct sent *s = &rig->sent[i % 8192];

		if (s->peer == peer_of(n) && s->packet[0] == (uint8_t)type) {
			count++;
			if (out)
				*out = *s;
		}
	}
	return count;
}

static uint32_t refusal(uint32_t n)
{
	struct sent last;
	Sw__ChatRefused *body;
	uint32_t reason = CHAT_REFUSED_NONE;

	if (got(n, SW_MSG_CHAT_REFUSED, &last)) {
		body = sw__chat_refused__unpack(NULL, last.bytes - 1, last.packet + 1);
		reason = (uint32_t)body->reason;
		sw__chat_refused__free_unpacked(body, NULL);
	}
	return reason;
}

/* The number of the channel of this kind that the player was last told of. */
static uint64_t channel_of(uint32_t n, uint32_t kind, uint64_t *token, uint32_t *history)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < rig->sent_count; i++) {
		const struct sent *s = &rig->sent[i];
		Sw__ChatChannel *body;

		if (s->peer != peer_of(n) || s->packet[0] != SW_MSG_CHAT_CHANNEL)
			continue;
		body = sw__chat_channel__unpack(NULL, s->bytes - 1, s->packet + 1);
		assert_non_null(body);
		if ((uint32_t)body->kind == kind) {
			number = body->channel;
			if (token)
				*token = body->token;
			if (history)
				*history = (uint32_t)body->n_history;
		} else if (body->left && body->channel == number) {
			number = 0;
		}
		sw__chat_channel__free_unpacked(body, NULL);
	}
	return number;
}

static uint64_t sequence_of(const struct sent *s, uint64_t *token, char *text)
{
	Sw__ChatLine *line = sw__chat_line__unpack(NULL, s->bytes - 1, s->packet + 1);
	uint64_t sequence = line->sequence;

	if (token)
		*token = line->token;
	if (text)
		strcpy(text, line->text);
	sw__chat_line__free_unpacked(line, NULL);
	return sequence;
}

static uint64_t counted(uint32_t counter)
{
	return counter_get(&rig->counters[counter]);
}

/* ---- the tests ---- */

static void lines_and_membership(void **state)
{
	struct msg_chat_player old;
	struct sent line;
	uint64_t global, map1, map2;
	uint32_t history = 0;
	char text[300];

	(void)state;
	come(1, 7);
	come(2, 7);
	come(3, 8);
	global = channel_of(1, CHAT_KIND_GLOBAL, NULL, NULL);
	map1 = channel_of(1, CHAT_KIND_MAP, NULL, NULL);
	map2 = channel_of(3, CHAT_KIND_MAP, NULL, NULL);
	assert_int_equal(global, channel_of(3, CHAT_KIND_GLOBAL, NULL, NULL));
	assert_int_equal(map1, channel_of(2, CHAT_KIND_MAP, NULL, NULL));
	assert_true(map1 && map1 != map2 && global);
	for (uint32_t i = 1; i <= 5; i++) {
		mark();
		snprintf(text, sizeof(text), "line %u", i);
		say_bytes(1, text, map1, 20 + i);
		tick(1000);
		assert_int_equal(got(1, SW_MSG_CHAT_LINE, NULL), 1);
		assert_int_equal(got(2, SW_MSG_CHAT_LINE, &line), 1);
		assert_int_equal(got(3, SW_MSG_CHAT_LINE, NULL), 0);
		assert_int_equal(got(1, SW_MSG_CHAT_DONE, NULL), 1);
		assert_int_equal(sequence_of(&line, NULL, text), i);
	}
	assert_string_equal(text, "line 5");
	/* It comes: history, and lines from then on. It goes: none. */
	come(3, 7);
	assert_int_equal(channel_of(3, CHAT_KIND_MAP, NULL, &history), map1);
	assert_int_equal(history, 5);
	old = player(2, 7);
	go(2);
	hear(old); /* overtaken */
	mark();
	say_bytes(3, "hello", map1, 1);
	tick(1);
	assert_int_equal(got(3, SW_MSG_CHAT_LINE, &line), 1);
	assert_int_equal(sequence_of(&line, NULL, NULL), 6);
	assert_int_equal(got(2, SW_MSG_CHAT_LINE, NULL), 0);
	assert_int_equal(counted(CHAT_C_EVENTS_OLD), 1);
	/* Not a member any more of the map before. */
	say_bytes(3, "hello", map2, 1);
	assert_int_equal(refusal(3), CHAT_REFUSED_NOT_MEMBER);
	/* Somebody leaves between being handed lines: in the middle of a list. */
	go(1);
	go(3);
	assert_int_equal(counted(CHAT_C_PLAYERS), 0);
	assert_int_equal(counted(CHAT_C_CHANNELS), 0);
}

static void a_newer_session(void **state)
{
	struct msg_chat_player newer, bad;
	uint64_t global;

	(void)state;
	come(1, 7);
	global = channel_of(1, CHAT_KIND_GLOBAL, NULL, NULL);
	newer = player(2, 7);
	newer.character_id = 101; /* the same character, again */
	newer.generation = 2;
	hear(newer);
	mark();
	say_bytes(2, "here", global, 1);
	tick(1);
	assert_int_equal(got(2, SW_MSG_CHAT_LINE, NULL), 1);
	assert_int_equal(got(1, SW_MSG_CHAT_LINE, NULL), 0);
	say_bytes(1, "ghost", global, 1);
	assert_int_equal(counted(CHAT_C_STRANGERS), 1);
	newer = player(3, 7); /* an older one comes late */
	newer.character_id = 101;
	hear(newer);
	assert_int_equal(counted(CHAT_C_PLAYERS), 1);
	bad = player(4, 7);
	bad.session = handle_make(0, 1, SESSIONS);
	hear(bad);
	bad = player(5, 7);
	bad.peer = handle_make(WORKERS, 1, 5);
	hear(bad);
	bad = player(5, 7);
	memset(bad.name, 'x', sizeof(bad.name));
	hear(bad);
	assert_int_equal(counted(CHAT_C_EVENTS_BAD), 3);
}

static void refusals(void **state)
{
	static const uint8_t garbage[] = {SW_MSG_CHAT_SAY, 0xff, 0xff, 0xff};
	static const uint8_t other[] = {0xbf};
	char large[4000], name[10001];
	uint64_t global;
	static const struct {
		const char *text;
		enum chat_refusal reason;
	} rows[] = {{"", CHAT_REFUSED_EMPTY}, {"\xff", CHAT_REFUSED_NOT_UTF8},
		{"a\nb", CHAT_REFUSED_CONTROL_CHARACTER}, {"say grock", CHAT_REFUSED_FILTERED},
		{"fine", CHAT_REFUSED_NONE}};
	char error[64];
	struct chat_filter *filter = chat_filter_new("grock", 5, error, sizeof(error));

	(void)state;
	chat_gateway_filter(rig->gateway, filter);
	come(1, 7);
	come(2, 7);
	global = channel_of(1, CHAT_KIND_GLOBAL, NULL, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mark();
		say_bytes(1, rows[i].text, global, 1);
		tick(1);
		assert_int_equal(refusal(1), rows[i].reason);
		assert_int_equal(got(2, SW_MSG_CHAT_LINE, NULL), rows[i].reason ? 0 : 1);
		tick(2000);
	}
	assert_int_equal(rig->refused_logged, 1);
	mark();
	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = 0;
	say_bytes(1, large, global, 1);
	assert_int_equal(refusal(1), CHAT_REFUSED_TOO_LONG);
	mark();
	chat_gateway_packet(
		rig->gateway, peer_of(1), garbage, sizeof(garbage), rig->now_ns, rig->unix_ms);
	assert_int_equal(refusal(1), CHAT_REFUSED_MALFORMED);
	mark();
	chat_gateway_packet(
		rig->gateway, peer_of(1), other, sizeof(other), rig->now_ns, rig->unix_ms);
	assert_int_equal(refusal(1), CHAT_REFUSED_MALFORMED);
	memset(name, 'd', sizeof(name));
	name[10000] = 0;
	mark();
	join_language(1, name); /* more than any honest message: it does not fit the arena */
	assert_int_equal(refusal(1), CHAT_REFUSED_MALFORMED);
	name[3000] = 0;
	mark();
	join_language(1, name);
	assert_int_equal(refusal(1), CHAT_REFUSED_BAD_NAME);
	mark();
	join_language(1, "xx");
	assert_int_equal(refusal(1), CHAT_REFUSED_NO_CHANNEL);
	mark();
	join_language(1, "de");
	assert_int_equal(got(1, SW_MSG_CHAT_CHANNEL, NULL), 1);
	assert_int_equal(got(1, SW_MSG_CHAT_DONE, NULL), 1);
	/* A mute and a ban bind at once, and end. */
	tick(5000);
	chat_sanctions_set(rig->sanctions, 101, 0, rig->unix_ms + 5000, rig->unix_ms);
	mark();
	say_bytes(1, "muted", global, 1);
	assert_int_equal(refusal(1), CHAT_REFUSED_MUTED);
	tick(5000);
	mark();
	say_bytes(1, "free", global, 1);
	tick(1);
	assert_int_equal(got(2, SW_MSG_CHAT_LINE, NULL), 1);
	chat_sanctions_set(rig->sanctions, 101, global, rig->unix_ms + 60000, rig->unix_ms);
	chat_gateway_expel(rig->gateway, 101, global);
	mark();
	say_bytes(1, "banned", global, 1);
	assert_int_equal(refusal(1), CHAT_REFUSED_BANNED);
	say_bytes(2, "alone", global, 1);
	tick(1);
	assert_int_equal(got(2, SW_MSG_CHAT_LINE, NULL), 1);
	assert_int_equal(got(1, SW_MSG_CHAT_LINE, NULL), 0);
	chat_gateway_filter(rig->gateway, NULL);
	chat_filter_free(filter);
}

static void a_flood(void **state)
{
	uint64_t global, map;
	uint32_t taken = 0, lines = 0;

	(void)state;
	for (uint32_t n = 1; n <= 60; n++)
		come(n, n == 60 ? 9 : 7);
	global = channel_of(1, CHAT_KIND_GLOBAL, NULL, NULL);
	map = channel_of(60, CHAT_KIND_MAP, NULL, NULL);
	/* One: its own bucket. */
	mark();
	for (uint32_t i = 0; i < 1000; i++)
		say_bytes(1, "flood", global, 0);
	assert_int_equal(refusal(1), CHAT_REFUSED_TOO_OFTEN);
	tick(1);
	tick(1);
	assert_int_equal(counted(CHAT_C_PUBLISHED), rig->config.chat.sender_burst);
	/* Many: the channel's. The oldest that wait go, and it becomes slow. */
	tick(3000);
	mark();
	for (uint32_t n = 1; n <= 59; n++)
		say_bytes(n, "flood", global, n);
	assert_true(counted(CHAT_C_DROPPED_QUEUE) >= 50);
	assert_int_equal(counted(CHAT_C_SLOW), 1);
	assert_int_equal(refusal(1), CHAT_REFUSED_BUSY);
	say_bytes(60, "elsewhere", map, 77);
	for (uint32_t i = 0; i < 4; i++)
		tick(100);
	for (uint32_t n = 1; n <= 59; n++)
		taken += got(n, SW_MSG_CHAT_DONE, NULL);
	lines = got(2, SW_MSG_CHAT_LINE, NULL);
	assert_int_equal(taken, 8); /* the queue */
	assert_int_equal(lines, 8);
	assert_int_equal(got(60, SW_MSG_CHAT_DONE, NULL), 1);
	assert_int_equal(got(60, SW_MSG_CHAT_CHANNEL, NULL), 1); /* that it is slow */
	mark();
	say_bytes(1, "again", global, 1);
	assert_int_equal(refusal(1), CHAT_REFUSED_SLOW_MODE);
	tick(10000);
	mark();
	say_bytes(1, "again", global, 1);
	assert_int_equal(refusal(1), CHAT_REFUSED_NONE);
	/* The dataplane takes nothing: what waits is dropped by its age. */
	rig->room = 0;
	tick(1);
	for (uint32_t n = 10; n < 18; n++)
		say_bytes(n, "waits", global, n);
	tick(1);
	tick(2100);
	assert_true(counted(CHAT_C_DROPPED_AGE) > 0);
	rig->room = 1u << 20;
	mark();
	tick(6000);
	tick(1);
	say_bytes(20, "on", global, 5);
	tick(1);
	assert_int_equal(got(20, SW_MSG_CHAT_DONE, NULL), 1);
}

static void owners(void **state)
{
	uint64_t global, token = 0;
	struct chat_word stale = {
		.type = CHAT_WORD_LINE, .body = (const uint8_t *)"\x90", .body_bytes = 1};
	struct sent line;

	(void)state;
	come(1, 7);
	come(2, 7);
	global = channel_of(1, CHAT_KIND_GLOBAL, &token, NULL);
	assert_int_equal(token, 10);
	say_bytes(1, "one", global, 1);
	tick(1);
	/* The lease has run out: nothing is published, and the sender knows. */
	chat_owner_until(rig->owner, rig->now_ns);
	mark();
	say_bytes(1, "two", global, 2);
	tick(1);
	assert_int_equal(refusal(1), CHAT_REFUSED_UNAVAILABLE);
	assert_int_equal(got(2, SW_MSG_CHAT_LINE, NULL), 0);
	assert_int_equal(counted(CHAT_C_LEASE_OVER), 1);
	/* Another owner, elsewhere: the gateway asks there; here nobody owns it. */
	chat_owner_slot(rig->owner, chat_slot(global), 0);
	mark();
	say_bytes(1, "three", global, 3);
	assert_int_equal(refusal(1), CHAT_REFUSED_UNAVAILABLE);
	assert_int_equal(counted(CHAT_C_MOVED), 2); /* it was looked up again, once */
	chat_owner_slot(rig->owner, chat_slot(global), 12);
	chat_owner_until(rig->owner, UINT64_MAX);
	mark();
	chat_gateway_owner_changed(rig->gateway, chat_slot(global), rig->now_ns);
	tick(1);
	assert_int_equal(got(1, SW_MSG_CHAT_CHANNEL, NULL), 1);
	assert_int_equal(channel_of(1, CHAT_KIND_GLOBAL, &token, NULL), global);
	assert_int_equal(token, 12);
	tick(1000);
	mark();
	say_bytes(1, "four", global, 4);
	tick(1);
	assert_int_equal(got(2, SW_MSG_CHAT_LINE, &line), 1);
	assert_int_equal(sequence_of(&line, &token, NULL), 1);
	assert_int_equal(token, 12);
	/* The old one comes back. */
	stale.channel = global;
	stale.token = 10;
	stale.sequence = 2;
	mark();
	chat_gateway_word(rig->gateway, 1, &stale, rig->now_ns, rig->unix_ms);
	tick(1);
	assert_int_equal(got(2, SW_MSG_CHAT_LINE, NULL), 0);
	assert_int_equal(counted(CHAT_C_FENCED), 1);
	/* Nobody owns it when they come: asked again until somebody does. */
	rig->no_owner = true;
	come(3, 11);
	mark();
	say_bytes(3, "early", channel_of(1, CHAT_KIND_GLOBAL, NULL, NULL), 1);
	rig->no_owner = false;
	for (uint32_t i = 0; i < 1200; i++)
		tick(10);
	assert_int_equal(got(3, SW_MSG_CHAT_CHANNEL, NULL), 2);
}

static void whispers(void **state)
{
	struct chat_word word;
	struct sent last;

	(void)state;
	come(1, 7);
	come(2, 8);
	mark();
	whisper(1, 102, "", "psst");
	whisper(1, 0, "p2", "psst");
	assert_int_equal(got(2, SW_MSG_CHAT_WHISPERED, &last), 2);
	assert_int_equal(got(1, SW_MSG_CHAT_DONE, NULL), 2);
	mark();
	whisper(1, 101, "", "me");
	assert_int_equal(refusal(1), CHAT_REFUSED_TARGET_ONESELF);
	chat_gateway_blocks(rig->gateway, 102, (uint64_t[]){101}, 1);
	mark();
	whisper(1, 102, "", "psst");
	assert_int_equal(refusal(1), CHAT_REFUSED_BLOCKED);
	/* Elsewhere. */
	tick(10000);
	mark();
	whisper(1, 0, "far", "psst");
	assert_int_equal(rig->sought.type, CHAT_WORD_WHISPER);
	assert_string_equal(rig->sought.key, "far");
	chat_gateway_sought(rig->gateway, &rig->sought, false, 0, CHAT_REFUSED_OFFLINE, rig->now_ns,
		rig->unix_ms);
	assert_int_equal(refusal(1), CHAT_REFUSED_OFFLINE);
	word = rig->sought;
	chat_gateway_sought(rig->gateway, &word, true, 3, 0, rig->now_ns, rig->unix_ms);
	assert_int_equal(rig->words, 1);
	/* From elsewhere, for who came again since. */
	word = (struct chat_word){.type = CHAT_WORD_WHISPER,
		.target_id = 102,
		.target_session = handle_make(0, 1, 2),
		.generation = 1,
		.sender_id = 9,
		.name = "far",
		.body = (const uint8_t *)"hi",
		.body_bytes = 2};
	mark();
	chat_gateway_word(rig->gateway, 3, &word, rig->now_ns, rig->unix_ms);
	assert_int_equal(got(2, SW_MSG_CHAT_WHISPERED, NULL), 1);
	word.generation = 0;
	chat_gateway_word(rig->gateway, 3, &word, rig->now_ns, rig->unix_ms);
	word.generation = 1;
	word.target_session = handle_make(0, 2, 2);
	chat_gateway_word(rig->gateway, 3, &word, rig->now_ns, rig->unix_ms);
	assert_int_equal(got(2, SW_MSG_CHAT_WHISPERED, NULL), 1);
	assert_int_equal(counted(CHAT_C_STALE), 2);
}

/* 4,000 members, and a ring that takes one piece at a time: a party of two hears at once. */
static void a_crowd_delays_nobody(void **state)
{
	uint64_t global, map;

	(void)state;
	for (uint32_t n = 1; n <= 4000; n++)
		come(n, n <= 2 ? 5 : 7);
	global = channel_of(4000, CHAT_KIND_GLOBAL, NULL, NULL);
	map = chat_gateway_global(rig->gateway);
	assert_int_equal(global, map);
	map = 0;
	rig->sent_count = 0;
	come(1, 5);
	hear(player(1, 6));
	hear(player(1, 5));
	map = channel_of(1, CHAT_KIND_MAP, NULL, NULL);
	assert_true(map);
	say_bytes(3, "to all", global, 1);
	say_bytes(1, "to two", map, 1);
	chat_owner_tick(rig->owner, rig->now_ns);
	mark();
	chat_gateway_tick(rig->gateway, rig->now_ns);
	assert_int_equal(counted(CHAT_C_RECIPIENTS), 4002);
	/* The two's line comes before the crowd's last piece. */
	for (uint32_t i = from, all = 0; i < rig->sent_count; i++) {
		const struct sent *s = &rig->sent[i % 8192];
		char text[300];

		sequence_of(s, NULL, text);
		all += !strcmp(text, "to all");
		if (!strcmp(text, "to two"))
			assert_true(all <= 2 * CHAT_TO_MAX);
	}
	/* Half of them leave while their lists are walked. */
	say_bytes(4, "to all", global, 1);
	rig->room = 0;
	tick(1);
	for (uint32_t n = 3; n <= 4000; n += 2)
		go(n);
	rig->room = 1u << 20;
	mark();
	tick(1);
	assert_int_equal(rig->sent_count - from, 2001); /* and DONE is there already */
	for (uint32_t n = 3; n <= 4000; n += 2)
		assert_int_equal(got(n, SW_MSG_CHAT_LINE, NULL), 0);
}

/* One who is banned stands in the way of nobody who comes: comes back when the ban has ended. */
static void a_ban_in_a_crowd(void **state)
{
	uint64_t global;

	(void)state;
	come(1, 7);
	global = channel_of(1, CHAT_KIND_GLOBAL, NULL, NULL);
	chat_sanctions_set(rig->sanctions, 101, global, rig->unix_ms + 20000, rig->unix_ms);
	chat_gateway_expel(rig->gateway, 101, global);
	mark();
	for (uint32_t n = 2; n < 4000; n++) {
		come(n, 8);
		if (n % 100 == 0)
			tick(1);
	}
	assert_int_equal(got(1, SW_MSG_CHAT_CHANNEL, NULL), 0);
	for (uint32_t i = 0; i < 4000; i++)
		tick(10);
	assert_int_equal(got(1, SW_MSG_CHAT_CHANNEL, NULL), 1);
	assert_int_equal(channel_of(1, CHAT_KIND_GLOBAL, NULL, NULL), global);
}

static void a_million_channels(void **state)
{
	uint64_t global;
	char name[32];

	(void)state;
	come(1, 7);
	come(2, 7);
	global = channel_of(1, CHAT_KIND_GLOBAL, NULL, NULL);
	for (uint32_t i = 0; i < 1000000; i++) {
		struct chat_word word = {.type = CHAT_WORD_JOIN,
			.kind = CHAT_KIND_LANGUAGE,
			.channel = 0x100000000ull * i + 7};

		if (i % 1000 == 0) {
			snprintf(name, sizeof(name), "aa-%05u", i / 1000);
			join_language(1, name);
		}
		/* A gateway of another configuration. */
		chat_owner_word(rig->owner, 1, &word, rig->now_ns, rig->unix_ms);
	}
	assert_int_equal(counted(CHAT_C_REFUSED_NO_CHANNEL), 1000);
	assert_true(counted(CHAT_C_NO_CHANNEL) > 999000);
	mark();
	say_bytes(2, "on", global, 1);
	tick(1);
	assert_int_equal(got(1, SW_MSG_CHAT_LINE, NULL), 1);
	/* Players' parties: as many as there is room for, the others are in none. */
	chat_owner_gateway_gone(rig->owner, 1);
	for (uint32_t n = 3; n < 200; n++) {
		struct msg_chat_player p = player(n, 7);

		p.party_id = n;
		hear(p);
	}
	assert_true(counted(CHAT_C_CHANNELS) == 64);
	mark();
	say_bytes(2, "on", global, 1);
	tick(1000);
	assert_int_equal(got(150, SW_MSG_CHAT_LINE, NULL), 1);
}

static void from_node_1(uint32_t type, uint64_t channel)
{
	const struct chat_word word = {.type = type,
		.kind = CHAT_KIND_PARTY,
		.channel = channel,
		.session = 5,
		.body = (const uint8_t *)"hi",
		.body_bytes = 2};

	chat_owner_word(rig->owner, 1, &word, rig->now_ns, rig->unix_ms);
}

/* A channel that everybody left gives its place away, and comes again under the same token. */
static void a_number_is_given_once(void **state)
{
	const uint64_t channel = 77;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		from_node_1(CHAT_WORD_SAY, channel);
		tick(1000);
	}
	assert_int_equal(rig->said_sequence, 3);
	from_node_1(CHAT_WORD_PART, channel);
	for (uint32_t i = 0; i < rig->config.chat.channels_max; i++) {
		from_node_1(CHAT_WORD_JOIN, channel + 1 + i);
		from_node_1(CHAT_WORD_PART, channel + 1 + i);
	}
	from_node_1(CHAT_WORD_SAY, channel);
	tick(1000);
	assert_int_equal(rig->said_token, 10);
	assert_true(rig->said_sequence > 3);
	/* Of another token, they begin anew. */
	chat_owner_slot(rig->owner, chat_slot(channel), 11);
	from_node_1(CHAT_WORD_SAY, channel);
	tick(1000);
	assert_int_equal(rig->said_token, 11);
	assert_int_equal(rig->said_sequence, 1);
}

/* Its place may be another node's by the time that its line is published. */
static void a_node_that_is_gone_is_not_answered(void **state)
{
	(void)state;
	from_node_1(CHAT_WORD_SAY, 77);
	from_node_1(CHAT_WORD_SAY, 77);
	chat_owner_gateway_gone(rig->owner, 1);
	rig->words = 0;
	tick(1);
	assert_int_equal(rig->said_sequence, 2); /* it was said */
	from_node_1(CHAT_WORD_SAY, 77);
	chat_owner_gateway_gone(rig->owner, 1);
	chat_owner_slot(rig->owner, chat_slot(77), 0); /* refused */
	assert_int_equal(rig->words, 0);
}

static void blocks(void **state)
{
	(void)state;
	come(1, 7);
	come(2, 7);
	come(3, 7);
	/* Until PostgreSQL has said whom one blocks, it is asked again. */
	assert_int_equal(rig->news, 3);
	come(2, 7);
	assert_int_equal(rig->news, 4);
	mark();
	block_one(2, 109, true); /* what is not known cannot be taken back */
	assert_int_equal(refusal(2), CHAT_REFUSED_UNAVAILABLE);
	/* A block binds at once, and also when an older list comes after it. */
	block_one(2, 101, false);
	chat_gateway_blocks(rig->gateway, 102, (uint64_t[]){101, 103}, 2);
	chat_gateway_blocks(rig->gateway, 101, NULL, 0);
	come(1, 7);
	come(2, 7);
	assert_int_equal(rig->news, 4);
	mark();
	whisper(1, 102, "", "psst");
	assert_int_equal(refusal(1), CHAT_REFUSED_BLOCKED);
	whisper(3, 102, "", "psst");
	assert_int_equal(refusal(3), CHAT_REFUSED_BLOCKED);
	block_one(2, 101, true);
	mark();
	whisper(1, 102, "", "psst");
	assert_int_equal(refusal(1), CHAT_REFUSED_NONE);
	/* Each is a row that is written: no more of them than of lines. */
	chat_gateway_blocks(rig->gateway, 103, NULL, 0);
	rig->blocks = 0;
	mark();
	for (uint32_t i = 0; i < 1000; i++)
		block_one(3, 102, i % 2);
	assert_true(rig->blocks <= rig->config.chat.sender_burst);
	assert_int_equal(refusal(3), CHAT_REFUSED_TOO_OFTEN);
}

/* What a node says is bytes of Redis: no text that a client could not have said comes in so. */
static void words_of_nodes(void **state)
{
	static const struct {
		const char *name, *text;
		bool good;
	} rows[] = {{"ann", "hi", true}, {"ann", "a\nb", false}, {"ann", "\xed\xa0\x80", false},
		{"ann", "\xc0\xaf", false}, {"\xff", "hi", false}, {"a\nb", "hi", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct chat_word read, word = {.type = i % 2 ? CHAT_WORD_SAY : CHAT_WORD_WHISPER,
					       .body = (const uint8_t *)rows[i].text,
					       .body_bytes = (uint32_t)strlen(rows[i].text)};
		uint8_t bytes[CHAT_WORD_BYTES];

		snprintf(word.name, sizeof(word.name), "%s", rows[i].name);
		if (chat_word_read(&read, bytes, chat_word_write(&word, bytes)) != rows[i].good)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_and_membership, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_newer_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_flood, set_up, tear_down),
		cmocka_unit_test_setup_teardown(owners, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whispers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_crowd_delays_nobody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_ban_in_a_crowd, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_million_channels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_number_is_given_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_node_that_is_gone_is_not_answered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(blocks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(words_of_nodes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
