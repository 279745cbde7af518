/* What clients say: each request is checked here, before anybody else sees it. */
#include <string.h>

#include "common/mono.h"
#include "control/admission/pb_arena.h"
#include "control/chat/gateway_internal.h"
#include "control/chat/packet.h"
#include "control/chat/text.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

/* Wait for a moment, and ask again. */
#define AGAIN_MS 1000u

struct request {
	struct chat_gateway *gateway;
	struct player *player;
	uint64_t number; /* the client's */
	uint64_t now_ns, unix_ms;
};

static void refuse(const struct request *r, enum chat_refusal reason, uint64_t retry_ns)
{
	uint64_t ms = (retry_ns + NS_PER_MS - 1) / NS_PER_MS;

	chat_send_refused(r->gateway, r->player, r->number, reason,
		ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms);
}

static struct chat_who who(const struct request *r)
{
	return (struct chat_who){
		r->player->is.session, r->player->is.character_id, r->player->is.name};
}

/* Everything that binds whoever says something, whatever to. */
static bool may_say(const struct request *r, uint32_t kind, uint64_t channel, const char *text)
{
	struct chat_gateway *gateway = r->gateway;
	const struct chat_who sender = who(r);
	const uint8_t *bytes = (const uint8_t *)text;
	size_t count = strlen(text);
	enum chat_refusal reason =
		chat_text_check(bytes, count, gateway->config->chat.text_bytes_max);
	uint64_t left_ms = 0, wait_ns;

	if (reason) {
		refuse(r, reason, 0);
		return false;
	}
	left_ms = chat_sanctions_left(gateway->sanctions, sender.character_id, 0, r->unix_ms);
	if (left_ms)
		reason = CHAT_REFUSED_MUTED;
	if (!reason && channel) {
		left_ms = chat_sanctions_left(
			gateway->sanctions, sender.character_id, channel, r->unix_ms);
		if (left_ms)
			reason = CHAT_REFUSED_BANNED;
	}
	if (!reason) {
		wait_ns = chat_bucket_take(&r->player->bucket,
			gateway->config->chat.sender_every_ms * NS_PER_MS,
			gateway->config->chat.sender_burst, r->now_ns);
		if (wait_ns) { /* not for the log: a flood would fill it */
			refuse(r, CHAT_REFUSED_TOO_OFTEN, wait_ns);
			return false;
		}
		if (chat_filter_finds(gateway->filter, bytes, count))
			reason = CHAT_REFUSED_FILTERED;
	}
	if (!reason)
		return true;
	refuse(r, reason, left_ms > UINT32_MAX ? UINT32_MAX * NS_PER_MS : left_ms * NS_PER_MS);
	gateway->ops.refused(
		gateway->ops.ctx, &sender, kind, channel, reason, bytes, (uint32_t)count);
	return false;
}

static struct chat_word word_of(const struct request *r, uint32_t type, const char *text)
{
	struct chat_word word = {.type = type,
		.session = r->player->is.session,
		.request = r->number,
		.sender_id = r->player->is.character_id,
		.unix_ms = r->unix_ms,
		.body = (const uint8_t *)text,
		.body_bytes = (uint32_t)strlen(text)};

	memcpy(word.name, r->player->is.name, sizeof(word.name));
	return word;
}

static void say(const struct request *r, const Sw__ChatSay *body)
{
	struct membership *m = chat_membership(r->gateway, r->player, body->channel);
	struct room *room = m ? &r->gateway->rooms[m->channel] : NULL;
	struct chat_word word;
	uint64_t since_ns;

	chat_count(r->gateway->counters, CHAT_C_SENDS, 1);
	if (!m) {
		refuse(r, CHAT_REFUSED_NOT_MEMBER, 0);
		return;
	}
	if (!room->known) { /* nobody owns it just now, and nobody waits for that here */
		refuse(r, CHAT_REFUSED_UNAVAILABLE, AGAIN_MS * NS_PER_MS);
		return;
	}
	since_ns = r->now_ns - m->said_ns;
	if (room->slow_ms && m->said_ns && since_ns < room->slow_ms * NS_PER_MS) {
		refuse(r, CHAT_REFUSED_SLOW_MODE, room->slow_ms * NS_PER_MS - since_ns);
		return;
	}
	if (!may_say(r, room->kind, room->number, body->text))
		return;
	m->said_ns = r->now_ns;
	word = word_of(r, CHAT_WORD_SAY, body->text);
	word.channel = room->number;
	word.kind = room->kind;
	r->gateway->ops.to_owner(r->gateway->ops.ctx, &word);
}

static void whisper(const struct request *r, const Sw__ChatWhisper *body)
{
	struct chat_gateway *gateway = r->gateway;
	struct player *target;
	struct chat_word word;
	enum chat_refusal reason;

	chat_count(gateway->counters, CHAT_C_SENDS, 1);
	if (!body->character_id && (!body->name[0] || strlen(body->name) >= sizeof(word.key))) {
		refuse(r, CHAT_REFUSED_OFFLINE, 0);
		return;
	}
	if (!gateway->node_token) {
		refuse(r, CHAT_REFUSED_UNAVAILABLE, AGAIN_MS * NS_PER_MS);
		return;
	}
	if (body->character_id == r->player->is.character_id ||
		(!body->character_id && !strcmp(body->name, r->player->is.name))) {
		refuse(r, CHAT_REFUSED_TARGET_ONESELF, 0);
		return;
	}
	if (!may_say(r, CHAT_KIND_NONE, 0, body->text))
		return;
	word = word_of(r, CHAT_WORD_WHISPER, body->text);
	word.target_id = body->character_id;
	if (!body->character_id)
		memcpy(word.key, body->name, strlen(body->name) + 1);
	word.token = gateway->node_token;
	word.sequence = ++gateway->whispers;
	target = body->character_id ? chat_player_of_character(gateway, body->character_id)
				    : chat_player_of_name(gateway, body->name);
	if (!target) {
		gateway->ops.seek(gateway->ops.ctx, &word);
		return;
	}
	chat_count(gateway->counters, CHAT_C_WHISPERS_LOCAL, 1);
	word.target_id = target->is.character_id;
	reason = chat_whisper(gateway, target, &word);
	if (reason) {
		refuse(r, reason, 0);
		return;
	}
	gateway->ops.whispered(gateway->ops.ctx, &word);
	chat_send_done(gateway, r->player, r->number, word.token, word.sequence);
}

void chat_gateway_sought(struct chat_gateway *gateway, const struct chat_word *word, bool found,
	uint32_t node, enum chat_refusal reason, uint64_t now_ns, uint64_t unix_ms)
{
	struct player *sender = chat_player_of_session(gateway, word->session);

	chat_count(gateway->counters,
		found                            ? CHAT_C_LOOKUPS_FOUND
		: reason == CHAT_REFUSED_OFFLINE ? CHAT_C_LOOKUPS_OFFLINE
						 : CHAT_C_LOOKUPS_FAILED,
		1);
	if (!sender)
		return;
	if (!found) {
		chat_send_refused(gateway, sender, word->request, reason, 0);
	} else if (node == CHAT_NODE_SELF) { /* it has come while it was sought */
		chat_gateway_word(gateway, node, word, now_ns, unix_ms);
	} else {
		gateway->ops.to_node(gateway->ops.ctx, node, word);
		gateway->ops.whispered(gateway->ops.ctx, word);
	}
}

/* Whether the name is one of chat.languages. */
static bool language_served(const struct chat_gateway *gateway, const char *name)
{
	size_t bytes = strlen(name);

	for (const char *at = gateway->config->chat.languages; *at;) {
		size_t length = strcspn(at, ",");

		if (length == bytes && !memcmp(at, name, bytes))
			return true;
		at += length + (at[length] == ',');
	}
	return false;
}

static void join(const struct request *r, const Sw__ChatJoin *body)
{
	struct chat_gateway *gateway = r->gateway;
	enum chat_refusal reason = CHAT_REFUSED_NONE;
	uint64_t channel = 0, wait_ns;

	if (body->kind != SW__CHAT_KIND__CHAT_LANGUAGE) {
		reason = (uint32_t)body->kind - 1 < CHAT_KIND_COUNT - 1u ? CHAT_REFUSED_NO_RIGHT
									 : CHAT_REFUSED_NO_CHANNEL;
	} else if (!chat_language_valid(body->name, strlen(body->name))) {
		reason = CHAT_REFUSED_BAD_NAME;
	} else if (!language_served(gateway, body->name)) {
		reason = CHAT_REFUSED_NO_CHANNEL;
	} else {
		channel = chat_channel_number(
			gateway->config->node.realm_id, CHAT_KIND_LANGUAGE, body->name);
		if (chat_sanctions_left(
			    gateway->sanctions, r->player->is.character_id, channel, r->unix_ms))
			reason = CHAT_REFUSED_BANNED;
	}
	if (reason) {
		refuse(r, reason, 0);
		return;
	}
	if (chat_membership(gateway, r->player, channel)) {
		chat_send_done(gateway, r->player, r->number, 0, 0);
		return;
	}
	/* Who comes is shown the history: that is work for many, too. */
	wait_ns = chat_bucket_take(&r->player->bucket,
		gateway->config->chat.sender_every_ms * NS_PER_MS,
		gateway->config->chat.sender_burst, r->now_ns);
	if (wait_ns) {
		refuse(r, CHAT_REFUSED_TOO_OFTEN, wait_ns);
		return;
	}
	reason = chat_enter(
		gateway, r->player, channel, CHAT_KIND_LANGUAGE, body->name, r->number, r->now_ns);
	if (reason)
		refuse(r, reason, 0);
}

static void part(const struct request *r, const Sw__ChatPart *body)
{
	struct membership *m = chat_membership(r->gateway, r->player, body->channel);

	if (!m) {
		refuse(r, CHAT_REFUSED_NOT_MEMBER, 0);
		return;
	}
	if (r->gateway->rooms[m->channel].kind != CHAT_KIND_LANGUAGE) {
		refuse(r, CHAT_REFUSED_NO_RIGHT, 0);
		return;
	}
	chat_leave(r->gateway, r->player, m, true);
	chat_send_done(r->gateway, r->player, r->number, 0, 0);
}

/* Blocks, reports and fetches cost PostgreSQL something: they count as something that is said. */
static bool costs(const struct request *r)
{
	uint64_t wait_ns = chat_bucket_take(&r->player->bucket,
		r->gateway->config->chat.sender_every_ms * NS_PER_MS,
		r->gateway->config->chat.sender_burst, r->now_ns);

	if (wait_ns)
		refuse(r, CHAT_REFUSED_TOO_OFTEN, wait_ns);
	return wait_ns;
}

static void block(const struct request *r, const Sw__ChatBlock *body)
{
	struct player *player = r->player;
	uint32_t i = 0;

	if (!body->character_id || body->character_id == player->is.character_id) {
		refuse(r, body->character_id ? CHAT_REFUSED_TARGET_ONESELF : CHAT_REFUSED_MALFORMED,
			0);
		return;
	}
	/* It would come back with the list that PostgreSQL is asked for. */
	if (body->unblock && !player->blocks_known) {
		refuse(r, CHAT_REFUSED_UNAVAILABLE, AGAIN_MS * NS_PER_MS);
		return;
	}
	if (costs(r))
		return;
	while (i < player->block_count && player->blocked[i] != body->character_id)
		i++;
	if (body->unblock && i < player->block_count) {
		player->blocked[i] = player->blocked[--player->block_count];
	} else if (!body->unblock && i == player->block_count) {
		if (i == CHAT_BLOCKS_MAX) {
			refuse(r, CHAT_REFUSED_NO_RIGHT, 0);
			return;
		}
		player->blocked[player->block_count++] = body->character_id;
	}
	r->gateway->ops.block(
		r->gateway->ops.ctx, player->is.character_id, body->character_id, !body->unblock);
	chat_send_done(r->gateway, player, r->number, 0, 0);
}

static void report(const struct request *r, const Sw__ChatReport *body)
{
	const struct chat_who reporter = who(r);
	const uint8_t *why = (const uint8_t *)body->why;
	enum chat_refusal reason = chat_text_check(why, strlen(body->why), CHAT_WHY_MAX);

	if (reason == CHAT_REFUSED_EMPTY)
		reason = CHAT_REFUSED_NONE;
	if (!reason && body->channel && !chat_membership(r->gateway, r->player, body->channel))
		reason = CHAT_REFUSED_NOT_MEMBER;
	if (reason) {
		refuse(r, reason, 0);
		return;
	}
	if (costs(r))
		return;
	chat_count(r->gateway->counters, CHAT_C_REPORTS, 1);
	r->gateway->ops.report(r->gateway->ops.ctx, &reporter, r->number, body->channel,
		body->token, body->sequence, why, (uint32_t)strlen(body->why));
}

static void fetch(const struct request *r, const Sw__ChatFetch *body)
{
	const struct chat_who asker = who(r);

	if (!costs(r))
		r->gateway->ops.fetch(r->gateway->ops.ctx, &asker, r->number, body->after);
}

/* ---- which request it is ---- */

#define REQUESTS(X)                                                                                \
	X(CHAT_SAY, say, chat_say, ChatSay)                                                        \
	X(CHAT_WHISPER, whisper, chat_whisper, ChatWhisper)                                        \
	X(CHAT_JOIN, join, chat_join, ChatJoin)                                                    \
	X(CHAT_PART, part, chat_part, ChatPart)                                                    \
	X(CHAT_BLOCK, block, chat_block, ChatBlock)                                                \
	X(CHAT_REPORT, report, chat_report, ChatReport)                                            \
	X(CHAT_FETCH, fetch, chat_fetch, ChatFetch)

void chat_gateway_packet(struct chat_gateway *gateway, uint64_t peer, const uint8_t *packet,
	size_t bytes, uint64_t now_ns, uint64_t unix_ms)
{
	uint32_t index = map64_get(&gateway->by_peer, peer);
	struct request r = {.gateway = gateway, .now_ns = now_ns, .unix_ms = unix_ms};
	struct pb_arena arena;

	if (index == MAP64_NONE || !bytes) {
		chat_count(gateway->counters, CHAT_C_STRANGERS, 1);
		return;
	}
	r.player = &gateway->players[index];
	switch (packet[0]) {
#define CASE(type, run, unpack, message)                                                           \
	case SW_MSG_##type: {                                                                      \
		Sw__##message *body =                                                              \
			sw__##unpack##__unpack(pb_arena_init(&arena), bytes - 1, packet + 1);      \
                                                                                                   \
		if (!body)                                                                         \
			break;                                                                     \
		r.number = body->request;                                                          \
		run(&r, body);                                                                     \
		return;                                                                            \
	}
		REQUESTS(CASE)
	default:
		break;
	}
	refuse(&r, CHAT_REFUSED_MALFORMED, 0);
}
