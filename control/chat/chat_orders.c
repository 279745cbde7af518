#include "control/chat/chat_orders.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/handle.h"
#include "control/chat/chat_internal.h"
#include "control/chat/chat_pg.h"
#include "control/chat/text.h"

#define WORDS_MAX   64u
#define MINUTES_MAX (100ull * 365 * 24 * 60)
#define SECONDS_MAX 86400ull

struct order {
	uint64_t id;
	char author[ORDER_AUTHOR_BYTES];
	uint32_t words;
	const char *word[WORDS_MAX];
};

void chat_order_answer(
	struct chat *chat, uint64_t id, enum order_result result, const char *format, ...)
{
	struct msg_order_answer body = {.result = result};
	char text[ORDER_TEXT_BYTES];
	struct msg *message = chat->out;
	va_list args;
	uint8_t *at;
	int bytes;

	va_start(args, format);
	bytes = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	body.text_bytes = bytes < (int)sizeof(text) ? (uint32_t)bytes : sizeof(text) - 1;
	at = msg_begin(message, MSG_CHAT_ORDER_ANSWER, HANDLE_NONE,
		(uint32_t)sizeof(body) + body.text_bytes);
	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), text, body.text_bytes);
	message->subject = id;
	outbox_push(&chat->to_control, message); /* lost: answered at its deadline */
}

/* ---- words ---- */

static bool number(const char *word, int base, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(word, &end, base);
	return *word && *word != '-' && *word != '+' && !*end && !errno && *out <= max;
}

/* The words from this one on, as one text. */
static void joined(const struct order *order, uint32_t first, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = 0;
	for (uint32_t i = first; i < order->words && used < bytes; i++)
		used += (size_t)snprintf(
			text + used, bytes - used, "%s%s", i > first ? " " : "", order->word[i]);
}

/* A character by its number, or by the name of one who is here. */
static bool character(struct chat *chat, const struct order *order, uint64_t *out)
{
	struct msg_chat_player player;

	if (number(order->word[2], 10, UINT64_MAX, out) && *out)
		return true;
	if (chat_gateway_find(chat->gateway, 0, order->word[2], &player)) {
		*out = player.character_id;
		return true;
	}
	chat_order_answer(chat, order->id, ORDER_REFUSED,
		"nobody on this node is called \"%s\"; give the character's number",
		order->word[2]);
	return false;
}

/* global, language:de, party:7, guild:7, or #1f2e... as answers show it. */
static bool channel(
	struct chat *chat, const struct order *order, uint32_t word, uint64_t *out, uint32_t *kind)
{
	static const struct {
		const char *prefix;
		uint32_t kind;
	} kinds[] = {{"language:", CHAT_KIND_LANGUAGE}, {"party:", CHAT_KIND_PARTY},
		{"guild:", CHAT_KIND_GUILD}};
	const char *text = order->word[word];

	*kind = CHAT_KIND_NONE;
	if (!strcmp(text, "global")) {
		*kind = CHAT_KIND_GLOBAL;
		*out = chat_gateway_global(chat->gateway);
		return true;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t bytes = strlen(kinds[i].prefix);

		if (strncmp(text, kinds[i].prefix, bytes) != 0 || !text[bytes] ||
			strlen(text + bytes) >= CHAT_KEY_BYTES)
			continue;
		*kind = kinds[i].kind;
		*out = chat_channel_number(chat->config->node.realm_id, *kind, text + bytes);
		return true;
	}
	if (text[0] == '#' && number(text + 1, 16, UINT64_MAX, out) && *out)
		return true;
	chat_order_answer(chat, order->id, ORDER_USAGE,
		"\"%s\" is no channel: global, language:de, party:7, guild:7, or #NUMBER", text);
	return false;
}

static void away(struct chat *chat, const struct order *order)
{
	chat_order_answer(chat, order->id, ORDER_UNAVAILABLE, "PostgreSQL is away");
}

/* ---- the orders ---- */

static void announce(struct chat *chat, const struct order *order)
{
	char text[CHAT_TEXT_MAX + 1];
	enum chat_refusal refusal;

	joined(order, 2, text, sizeof(text));
	refusal = chat_text_check(
		(const uint8_t *)text, strlen(text), chat->config->chat.text_bytes_max);
	if (refusal)
		chat_order_answer(chat, order->id, ORDER_USAGE,
			"it is no text of at most %u bytes without control characters",
			chat->config->chat.text_bytes_max);
	else if (!chat_pg_announce(chat->pg, order->id, order->author, text))
		away(chat, order);
}

static void sanction(struct chat *chat, const struct order *order, uint64_t subject,
	uint64_t channel_number, uint32_t minutes_word)
{
	char why[512];
	uint64_t minutes;

	if (minutes_word >= order->words ||
		!number(order->word[minutes_word], 10, MINUTES_MAX, &minutes)) {
		chat_order_answer(chat, order->id, ORDER_USAGE,
			"for how many minutes? A whole number; 0 ends it");
		return;
	}
	joined(order, minutes_word + 1, why, sizeof(why));
	if (!chat_pg_sanction(chat->pg, order->id, subject, channel_number,
		    minutes ? chat->unix_ms + minutes * 60000 : 0, order->author, why))
		away(chat, order);
}

static void mute(struct chat *chat, const struct order *order)
{
	uint64_t subject;

	if (character(chat, order, &subject))
		sanction(chat, order, subject, 0, 3);
}

static void ban(struct chat *chat, const struct order *order)
{
	uint64_t subject, number_of;
	uint32_t kind;

	if (character(chat, order, &subject) && channel(chat, order, 3, &number_of, &kind))
		sanction(chat, order, subject, number_of, 4);
}

static void slow(struct chat *chat, const struct order *order)
{
	struct chat_word word = {.type = CHAT_WORD_SLOW};
	uint64_t seconds;

	if (!channel(chat, order, 2, &word.channel, &word.kind))
		return;
	if (!number(order->word[3], 10, SECONDS_MAX, &seconds)) {
		chat_order_answer(chat, order->id, ORDER_USAGE,
			"one line in how many seconds? 0 to %llu", SECONDS_MAX);
		return;
	}
	if (chat->slot_node[chat_slot(word.channel)] == CHAT_NODE_NONE) {
		chat_order_answer(
			chat, order->id, ORDER_UNAVAILABLE, "nobody owns the channel just now");
		return;
	}
	word.slow_ms = (uint32_t)seconds * 1000;
	chat_to_owner(chat, &word);
	chat_order_answer(chat, order->id, ORDER_DONE,
		seconds ? "channel #%llx: one line in %llu s" : "channel #%llx: not slow",
		(unsigned long long)word.channel, (unsigned long long)seconds);
}

static void history(struct chat *chat, const struct order *order)
{
	struct chat_said lines[CHAT_HISTORY_MAX];
	char text[ORDER_TEXT_BYTES] = "";
	uint64_t number_of;
	uint32_t kind, node, count;
	size_t used = 0;

	if (!channel(chat, order, 2, &number_of, &kind))
		return;
	node = chat->slot_node[chat_slot(number_of)];
	if (node != CHAT_NODE_SELF) {
		chat_order_answer(chat, order->id, ORDER_UNAVAILABLE,
			node == CHAT_NODE_NONE ? "nobody owns the channel just now%s"
					       : "ask node %s, which owns the channel",
			node == CHAT_NODE_NONE ? "" : chat->nodes[node]);
		return;
	}
	count = chat_owner_history(chat->owner, number_of, lines, CHAT_HISTORY_MAX);
	for (uint32_t i = 0; i < count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"%llu.%llu %s (%llu): %.*s\n", (unsigned long long)lines[i].token,
			(unsigned long long)lines[i].sequence, lines[i].sender,
			(unsigned long long)lines[i].sender_id, (int)lines[i].text_bytes,
			lines[i].text);
	chat_order_answer(chat, order->id, ORDER_DONE, "channel #%llx, %u lines\n%s",
		(unsigned long long)number_of, count, text);
}

static void reports(struct chat *chat, const struct order *order)
{
	if (!chat_pg_reports(chat->pg, order->id))
		away(chat, order);
}

static void close_report(struct chat *chat, const struct order *order)
{
	uint64_t report;

	if (!number(order->word[2], 10, INT64_MAX, &report))
		chat_order_answer(chat, order->id, ORDER_USAGE, "a report has a number");
	else if (!chat_pg_close(chat->pg, order->id, report))
		away(chat, order);
}

static void erase(struct chat *chat, const struct order *order)
{
	uint64_t subject;

	if (!number(order->word[2], 10, UINT64_MAX, &subject) || !subject)
		chat_order_answer(
			chat, order->id, ORDER_USAGE, "it takes the number of a character");
	else if (!chat_pg_erase(chat->pg, order->id, subject))
		away(chat, order);
}

static const struct {
	const char *object;
	uint32_t words; /* at least */
	void (*run)(struct chat *chat, const struct order *order);
} orders[] = {{"announce", 3, announce}, {"mute", 4, mute}, {"ban", 5, ban}, {"slow", 4, slow},
	{"history", 3, history}, {"reports", 2, reports}, {"close", 3, close_report},
	{"erase", 3, erase}};

void chat_orders_take(struct chat *chat, const struct msg *message)
{
	const char *at = (const char *)msg_payload(message) + sizeof(struct msg_order), *end;
	struct order order = {.id = message->subject};
	struct msg_order body;

	if (message->payload_bytes < sizeof(body))
		return;
	memcpy(&body, msg_payload(message), sizeof(body));
	if (body.words_bytes != message->payload_bytes - sizeof(body))
		return;
	memcpy(order.author, body.author, sizeof(order.author) - 1);
	for (end = at + body.words_bytes; at < end && order.words < WORDS_MAX;
		at += strlen(at) + 1) {
		if (!memchr(at, 0, (size_t)(end - at)))
			return;
		order.word[order.words++] = at;
	}
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (order.words > 1 && !strcmp(orders[i].object, order.word[1]) &&
			order.words >= orders[i].words) {
			orders[i].run(chat, &order);
			return;
		}
	chat_order_answer(chat, order.id, ORDER_USAGE, "there is no such order of chat");
}
