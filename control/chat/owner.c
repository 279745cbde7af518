#include "control/chat/owner.h"

#include <stdlib.h>
#include <string.h>

#include "common/mono.h"
#include "control/admission/map64.h"
#include "control/chat/bucket.h"
#include "control/chat/packet.h"

#define NONE UINT32_MAX
/* Lines published by one tick: the rings are looked at again in between. */
#define LINES_PER_TICK 256u

struct line {
	uint32_t next;         /* in its channel's queue or history, or free */
	uint32_t older, newer; /* of all histories, in the order of publishing */
	uint32_t channel;
	uint32_t gateway; /* whose node's player said it; NONE: it is gone */
	uint32_t text_bytes;
	uint64_t session, request;
	uint64_t token, sequence, sender_id, unix_ms, taken_ns;
	char sender[CHARACTER_NAME_BYTES];
	char text[]; /* [chat.text_max] */
};

struct list {
	uint32_t head, tail, count;
};

struct channel {
	uint64_t number; /* 0: free */
	uint64_t token, sequence;
	uint32_t kind;
	uint32_t next, prev; /* among the ready, or among those without members, or free */
	bool ready, idle;
	struct chat_bucket bucket;
	struct list queue, history;
	uint32_t operator_slow_ms, told_slow_ms;
	uint64_t slow_until_ns;
	uint64_t gateways[(CHAT_NODES_MAX + 63) / 64];
};

struct chat_owner {
	const struct sw_config *config;
	struct chat_owner_ops ops;
	_Atomic uint64_t *counters;
	uint64_t until_ns;
	uint64_t token[CHAT_SLOTS]; /* 0: not ours */
	/* Under that token, the greatest sequence of channels that gave their place away. */
	uint64_t given[CHAT_SLOTS];
	struct map64 by_number;
	struct channel *channels; /* [channels_max] */
	uint32_t channels_max, channel_free, channel_count;
	struct list ready, idle;
	uint8_t *lines; /* [lines_max] of line_bytes */
	size_t line_bytes;
	uint32_t lines_max, line_free, lines_free;
	uint32_t oldest, newest; /* of all histories */
	uint32_t queued;
	uint8_t body[CHAT_BODY_MAX];
};

static struct line *line_at(const struct chat_owner *owner, uint32_t index)
{
	return (struct line *)(owner->lines + index * owner->line_bytes);
}

static size_t line_bytes(const struct sw_config *config)
{
	return (sizeof(struct line) + config->chat.text_bytes_max + 7) & ~(size_t)7;
}

size_t chat_owner_bytes(const struct sw_config *config)
{
	/* 352 bytes a line at 255 of text, 200 a channel and 32 for finding it. */
	return sizeof(struct chat_owner) + config->chat.lines_max * line_bytes(config) +
	       config->chat.channels_max * (sizeof(struct channel) + 32);
}

struct chat_owner *chat_owner_new(const struct sw_config *config, _Atomic uint64_t *counters,
	const struct chat_owner_ops *ops)
{
	struct chat_owner *owner = calloc(1, sizeof(*owner));

	if (!owner)
		return NULL;
	owner->config = config;
	owner->counters = counters;
	owner->ops = *ops;
	owner->channels_max = config->chat.channels_max;
	owner->lines_max = owner->lines_free = config->chat.lines_max;
	owner->line_bytes = line_bytes(config);
	owner->channels = calloc(owner->channels_max, sizeof(*owner->channels));
	owner->lines = calloc(owner->lines_max, owner->line_bytes);
	if (!owner->channels || !owner->lines ||
		!map64_init(&owner->by_number, owner->channels_max)) {
		chat_owner_free(owner);
		return NULL;
	}
	for (uint32_t i = 0; i < owner->channels_max; i++)
		owner->channels[i].next = i + 1 < owner->channels_max ? i + 1 : NONE;
	for (uint32_t i = 0; i < owner->lines_max; i++)
		line_at(owner, i)->next = i + 1 < owner->lines_max ? i + 1 : NONE;
	owner->oldest = owner->newest = NONE;
	owner->ready = owner->idle = (struct list){NONE, NONE, 0};
	return owner;
}

void chat_owner_free(struct chat_owner *owner)
{
	if (!owner)
		return;
	map64_fini(&owner->by_number);
	free(owner->channels);
	free(owner->lines);
	free(owner);
}

/* ---- lists ---- */

static void channel_append(struct chat_owner *owner, struct list *list, struct channel *channel)
{
	uint32_t index = (uint32_t)(channel - owner->channels);

	channel->next = NONE;
	channel->prev = list->tail;
	*(list->tail == NONE ? &list->head : &owner->channels[list->tail].next) = index;
	list->tail = index;
	list->count++;
}

static void channel_unlink(struct chat_owner *owner, struct list *list, struct channel *channel)
{
	*(channel->prev == NONE ? &list->head : &owner->channels[channel->prev].next) =
		channel->next;
	*(channel->next == NONE ? &list->tail : &owner->channels[channel->next].prev) =
		channel->prev;
	list->count--;
}

static void line_append(struct chat_owner *owner, struct list *list, uint32_t index)
{
	line_at(owner, index)->next = NONE;
	*(list->tail == NONE ? &list->head : &line_at(owner, list->tail)->next) = index;
	list->tail = index;
	list->count++;
}

static uint32_t line_shift(struct chat_owner *owner, struct list *list)
{
	uint32_t index = list->head;

	list->head = line_at(owner, index)->next;
	if (list->head == NONE)
		list->tail = NONE;
	list->count--;
	return index;
}

static void line_free(struct chat_owner *owner, uint32_t index)
{
	line_at(owner, index)->next = owner->line_free;
	owner->line_free = index;
	owner->lines_free++;
}

/* The oldest line of a channel's history. */
static void history_drop(struct chat_owner *owner, struct channel *channel)
{
	uint32_t index = line_shift(owner, &channel->history);
	struct line *line = line_at(owner, index);

	*(line->older == NONE ? &owner->oldest : &line_at(owner, line->older)->newer) = line->newer;
	*(line->newer == NONE ? &owner->newest : &line_at(owner, line->newer)->older) = line->older;
	line_free(owner, index);
}

static uint32_t line_new(struct chat_owner *owner)
{
	uint32_t index;

	if (!owner->lines_free && owner->oldest != NONE)
		history_drop(owner, &owner->channels[line_at(owner, owner->oldest)->channel]);
	if (!owner->lines_free)
		return NONE;
	index = owner->line_free;
	owner->line_free = line_at(owner, index)->next;
	owner->lines_free--;
	return index;
}

/* ---- channels ---- */

static struct channel *find(const struct chat_owner *owner, uint64_t number)
{
	uint32_t index = map64_get(&owner->by_number, number);

	return index == MAP64_NONE ? NULL : &owner->channels[index];
}

static bool members(const struct channel *channel)
{
	uint64_t any = 0;

	for (size_t i = 0; i < sizeof(channel->gateways) / sizeof(channel->gateways[0]); i++)
		any |= channel->gateways[i];
	return any;
}

/* Into the list that it belongs to, after any change. */
static void settle(struct chat_owner *owner, struct channel *channel)
{
	bool ready = channel->queue.count > 0, idle = !ready && !members(channel);

	if (channel->ready && !ready)
		channel_unlink(owner, &owner->ready, channel);
	if (channel->idle && !idle)
		channel_unlink(owner, &owner->idle, channel);
	if (!channel->ready && ready)
		channel_append(owner, &owner->ready, channel);
	if (!channel->idle && idle)
		channel_append(owner, &owner->idle, channel);
	channel->ready = ready;
	channel->idle = idle;
}

static void refuse(struct chat_owner *owner, uint32_t gateway, uint64_t session, uint64_t request,
	enum chat_refusal reason, uint32_t retry_ms)
{
	const struct chat_word word = {.type = CHAT_WORD_REFUSED,
		.session = session,
		.request = request,
		.reason = reason,
		.retry_ms = retry_ms};

	if (gateway != NONE)
		owner->ops.to_gateway(owner->ops.ctx, gateway, &word);
}

static void queue_drop(struct chat_owner *owner, struct channel *channel, enum chat_refusal reason,
	uint32_t retry_ms)
{
	uint32_t index = line_shift(owner, &channel->queue);
	const struct line *line = line_at(owner, index);

	owner->queued--;
	refuse(owner, line->gateway, line->session, line->request, reason, retry_ms);
	line_free(owner, index);
}

static void forget(struct chat_owner *owner, struct channel *channel)
{
	uint64_t *given = &owner->given[chat_slot(channel->number)];

	if (channel->sequence > *given)
		*given = channel->sequence;
	while (channel->queue.count)
		queue_drop(owner, channel, CHAT_REFUSED_UNAVAILABLE, 0);
	while (channel->history.count)
		history_drop(owner, channel);
	memset(channel->gateways, 0, sizeof(channel->gateways));
	settle(owner, channel);
	channel_unlink(owner, &owner->idle, channel);
	map64_remove(&owner->by_number, channel->number);
	memset(channel, 0, sizeof(*channel));
	channel->next = owner->channel_free;
	owner->channel_free = (uint32_t)(channel - owner->channels);
	owner->channel_count--;
}

/* NULL: all places have members. */
static struct channel *open_channel(struct chat_owner *owner, uint64_t number, uint32_t kind)
{
	struct channel *channel = find(owner, number);

	if (channel)
		return channel;
	if (owner->channel_free == NONE && owner->idle.head != NONE)
		forget(owner, &owner->channels[owner->idle.head]);
	if (owner->channel_free == NONE || !number)
		return NULL;
	channel = &owner->channels[owner->channel_free];
	owner->channel_free = channel->next;
	*channel = (struct channel){.number = number,
		.kind = kind,
		.token = owner->token[chat_slot(number)],
		.sequence = owner->given[chat_slot(number)],
		.queue = {NONE, NONE, 0},
		.history = {NONE, NONE, 0}};
	map64_put(&owner->by_number, number, (uint32_t)(channel - owner->channels));
	owner->channel_count++;
	settle(owner, channel);
	return channel;
}

static uint32_t slow_ms(
	const struct chat_owner *owner, const struct channel *channel, uint64_t now_ns)
{
	uint32_t own = now_ns < channel->slow_until_ns ? owner->config->chat.slow_ms : 0;

	return own > channel->operator_slow_ms ? own : channel->operator_slow_ms;
}

/* ---- what gateways are told ---- */

static void said_of(const struct channel *channel, const struct line *line, struct chat_said *said)
{
	*said = (struct chat_said){.channel = channel->number,
		.token = line->token,
		.sequence = line->sequence,
		.sender_id = line->sender_id,
		.unix_ms = line->unix_ms,
		.kind = channel->kind,
		.sender = line->sender,
		.text = line->text,
		.text_bytes = line->text_bytes};
}

uint32_t chat_owner_history(
	const struct chat_owner *owner, uint64_t number, struct chat_said *out, uint32_t max)
{
	const struct channel *channel = find(owner, number);
	uint32_t count = 0, skip;

	if (!channel)
		return 0;
	skip = channel->history.count > max ? channel->history.count - max : 0;
	for (uint32_t i = channel->history.head; i != NONE; i = line_at(owner, i)->next)
		if (skip)
			skip--;
		else
			said_of(channel, line_at(owner, i), &out[count++]);
	return count;
}

/* The newest lines that fit. */
static uint32_t history_write(struct chat_owner *owner, const struct channel *channel)
{
	struct chat_said said[CHAT_HISTORY_MAX];
	uint32_t count = chat_owner_history(owner, channel->number, said, CHAT_HISTORY_MAX);
	uint32_t sizes = 0, first = count;
	uint8_t one[CHAT_TEXT_MAX + 256];
	/* What else a ChatChannel has is below 128 bytes, and a packet is enet.packet_max. */
	uint32_t room = owner->config->enet.packet_bytes_max - 128;

	if (room > CHAT_BODY_MAX)
		room = CHAT_BODY_MAX;
	while (first) {
		size_t bytes = chat_packet_history(&said[first - 1], one, sizeof(one));

		if (!bytes || sizes + bytes > room)
			break;
		sizes += (uint32_t)bytes;
		first--;
	}
	for (uint32_t used = 0; first < count; first++)
		used += (uint32_t)chat_packet_history(
			&said[first], owner->body + used, sizeof(owner->body) - used);
	return sizes;
}

/* To one who has come, with history; or (session 0) to all. */
static void tell_state(struct chat_owner *owner, struct channel *channel, uint32_t gateway,
	uint64_t session, uint64_t request, uint64_t now_ns)
{
	struct chat_word word = {.type = CHAT_WORD_STATE,
		.channel = channel->number,
		.kind = channel->kind,
		.session = session,
		.request = request,
		.token = channel->token,
		.sequence = channel->sequence,
		.slow_ms = slow_ms(owner, channel, now_ns),
		.body = owner->body};

	word.body_bytes = session ? history_write(owner, channel) : 0;
	owner->ops.to_gateway(owner->ops.ctx, gateway, &word);
}

static void to_members(
	struct chat_owner *owner, const struct channel *channel, const struct chat_word *word)
{
	for (uint32_t g = 0; g < CHAT_NODES_MAX; g++)
		if (channel->gateways[g / 64] >> g % 64 & 1)
			owner->ops.to_gateway(owner->ops.ctx, g, word);
}

static void tell_slow(struct chat_owner *owner, struct channel *channel, uint64_t now_ns)
{
	uint32_t slow = slow_ms(owner, channel, now_ns);

	if (slow == channel->told_slow_ms)
		return;
	channel->told_slow_ms = slow;
	for (uint32_t g = 0; g < CHAT_NODES_MAX; g++)
		if (channel->gateways[g / 64] >> g % 64 & 1)
			tell_state(owner, channel, g, 0, 0, now_ns);
}

/* ---- slots ---- */

void chat_owner_slot(struct chat_owner *owner, uint32_t slot, uint64_t token)
{
	if (owner->token[slot] == token)
		return;
	owner->token[slot] = token;
	for (uint32_t i = 0; i < owner->channels_max && owner->channel_count; i++) {
		struct channel *channel = &owner->channels[i];

		if (!channel->number || chat_slot(channel->number) != slot)
			continue;
		if (!token) {
			forget(owner, channel);
			continue;
		}
		while (channel->queue.count)
			queue_drop(owner, channel, CHAT_REFUSED_UNAVAILABLE, 0);
		settle(owner, channel);
		channel->token = token;
		channel->sequence = 0;
	}
	owner->given[slot] = 0;
}

uint64_t chat_owner_token(const struct chat_owner *owner, uint32_t slot)
{
	return owner->token[slot];
}

void chat_owner_until(struct chat_owner *owner, uint64_t until_ns)
{
	owner->until_ns = until_ns;
}

void chat_owner_gateway_gone(struct chat_owner *owner, uint32_t gateway)
{
	for (uint32_t i = 0; i < owner->channels_max; i++) {
		struct channel *channel = &owner->channels[i];

		if (!channel->number)
			continue;
		channel->gateways[gateway / 64] &= ~(1ull << gateway % 64);
		for (uint32_t l = channel->queue.head; l != NONE; l = line_at(owner, l)->next)
			if (line_at(owner, l)->gateway == gateway)
				line_at(owner, l)->gateway = NONE;
		settle(owner, channel);
	}
}

/* ---- words ---- */

static void make_slow(struct chat_owner *owner, struct channel *channel, uint64_t now_ns)
{
	if (now_ns >= channel->slow_until_ns)
		chat_count(owner->counters, CHAT_C_SLOW, 1);
	channel->slow_until_ns = now_ns + CHAT_SLOW_FOR_MS * NS_PER_MS;
	tell_slow(owner, channel, now_ns);
}

static void say(struct chat_owner *owner, struct channel *channel, uint32_t gateway,
	const struct chat_word *word, uint64_t now_ns, uint64_t unix_ms)
{
	struct line *line;
	uint32_t index;

	if (word->body_bytes > owner->config->chat.text_bytes_max) { /* of another configuration */
		refuse(owner, gateway, word->session, word->request, CHAT_REFUSED_TOO_LONG, 0);
		return;
	}
	if (channel->queue.count >= owner->config->chat.queue) {
		queue_drop(owner, channel, CHAT_REFUSED_BUSY, owner->config->chat.slow_ms);
		chat_count(owner->counters, CHAT_C_DROPPED_QUEUE, 1);
		make_slow(owner, channel, now_ns);
	}
	index = line_new(owner);
	if (index == NONE) {
		refuse(owner, gateway, word->session, word->request, CHAT_REFUSED_BUSY,
			owner->config->chat.slow_ms);
		settle(owner, channel);
		return;
	}
	line = line_at(owner, index);
	line->channel = (uint32_t)(channel - owner->channels);
	line->gateway = gateway;
	line->session = word->session;
	line->request = word->request;
	line->sender_id = word->sender_id;
	line->unix_ms = unix_ms;
	line->taken_ns = now_ns;
	memcpy(line->sender, word->name, sizeof(line->sender));
	line->text_bytes = word->body_bytes;
	memcpy(line->text, word->body, word->body_bytes);
	line_append(owner, &channel->queue, index);
	owner->queued++;
	settle(owner, channel);
}

static void send_back(struct chat_owner *owner, uint32_t gateway, const struct chat_word *word)
{
	struct chat_word back = *word;

	chat_count(owner->counters, CHAT_C_MOVED, 1);
	back.type = CHAT_WORD_MOVED;
	back.hops++;
	owner->ops.to_gateway(owner->ops.ctx, gateway, &back);
}

void chat_owner_word(struct chat_owner *owner, uint32_t gateway, const struct chat_word *word,
	uint64_t now_ns, uint64_t unix_ms)
{
	struct channel *channel;

	if (!owner->token[chat_slot(word->channel)]) {
		if (word->type == CHAT_WORD_SAY)
			send_back(owner, gateway, word);
		return; /* a JOIN is repeated, to whoever is the owner then */
	}
	channel = word->type == CHAT_WORD_PART ? find(owner, word->channel)
					       : open_channel(owner, word->channel, word->kind);
	if (!channel) {
		if (word->type == CHAT_WORD_PART)
			return;
		chat_count(owner->counters, CHAT_C_NO_CHANNEL, 1);
		if (word->type == CHAT_WORD_SAY)
			refuse(owner, gateway, word->session, word->request,
				CHAT_REFUSED_UNAVAILABLE, 0);
		return;
	}
	switch (word->type) {
	case CHAT_WORD_JOIN:
		channel->gateways[gateway / 64] |= 1ull << gateway % 64;
		tell_state(owner, channel, gateway, word->session, word->request, now_ns);
		settle(owner, channel);
		break;
	case CHAT_WORD_PART:
		channel->gateways[gateway / 64] &= ~(1ull << gateway % 64);
		settle(owner, channel);
		break;
	case CHAT_WORD_SAY:
		channel->gateways[gateway / 64] |= 1ull << gateway % 64;
		say(owner, channel, gateway, word, now_ns, unix_ms);
		break;
	case CHAT_WORD_SLOW:
		channel->operator_slow_ms = word->slow_ms;
		if (!word->slow_ms)
			channel->slow_until_ns = 0;
		tell_slow(owner, channel, now_ns);
		settle(owner, channel);
		break;
	default:
		break;
	}
}

/* ---- publishing ---- */

static void publish(struct chat_owner *owner, struct channel *channel)
{
	uint32_t index = line_shift(owner, &channel->queue);
	struct line *line = line_at(owner, index);
	struct chat_word word = {.type = CHAT_WORD_LINE,
		.channel = channel->number,
		.kind = channel->kind,
		.body = owner->body};
	struct chat_said said;

	owner->queued--;
	line->token = channel->token;
	line->sequence = ++channel->sequence;
	line->older = owner->newest;
	line->newer = NONE;
	*(owner->newest == NONE ? &owner->oldest : &line_at(owner, owner->newest)->newer) = index;
	owner->newest = index;
	line_append(owner, &channel->history, index);
	chat_count(owner->counters, CHAT_C_PUBLISHED, 1);
	said_of(channel, line, &said);
	word.token = line->token;
	word.sequence = line->sequence;
	word.sender_id = line->sender_id;
	word.body_bytes = (uint32_t)chat_packet_line(&said, owner->body, sizeof(owner->body));
	to_members(owner, channel, &word);
	if (line->gateway != NONE)
		owner->ops.to_gateway(owner->ops.ctx, line->gateway,
			&(struct chat_word){.type = CHAT_WORD_DONE,
				.session = line->session,
				.request = line->request,
				.token = line->token,
				.sequence = line->sequence});
	owner->ops.said(owner->ops.ctx, &said);
	while (channel->history.count > owner->config->chat.history)
		history_drop(owner, channel);
}

static void drop_old(struct chat_owner *owner, struct channel *channel, uint64_t now_ns)
{
	while (channel->queue.count &&
		now_ns - line_at(owner, channel->queue.head)->taken_ns >= CHAT_AGE_MS * NS_PER_MS) {
		queue_drop(owner, channel, CHAT_REFUSED_BUSY, owner->config->chat.slow_ms);
		chat_count(owner->counters, CHAT_C_DROPPED_AGE, 1);
		make_slow(owner, channel, now_ns);
	}
}

/* One line of the channel, if it may go now. */
static bool turn(struct chat_owner *owner, struct channel *channel, uint64_t now_ns)
{
	const uint32_t rate = owner->config->chat.channel_rate;

	drop_old(owner, channel, now_ns);
	if (!channel->queue.count || !owner->ops.may(owner->ops.ctx, channel->number) ||
		chat_bucket_take(&channel->bucket, NS_PER_S / rate, rate, now_ns))
		return false;
	if (now_ns >= owner->until_ns) {
		queue_drop(owner, channel, CHAT_REFUSED_UNAVAILABLE, 0);
		chat_count(owner->counters, CHAT_C_LEASE_OVER, 1);
		return true;
	}
	publish(owner, channel);
	return true;
}

uint32_t chat_owner_tick(struct chat_owner *owner, uint64_t now_ns)
{
	uint32_t lines = 0;
	bool more = true;

	while (more && lines < LINES_PER_TICK) {
		more = false;
		for (uint32_t n = owner->ready.count; n && lines < LINES_PER_TICK; n--) {
			struct channel *channel = &owner->channels[owner->ready.head];
			bool went = turn(owner, channel, now_ns);

			/* To the end of the row, if it still has some. */
			channel_unlink(owner, &owner->ready, channel);
			channel->ready = false;
			settle(owner, channel);
			if (now_ns >= channel->slow_until_ns && channel->told_slow_ms)
				tell_slow(owner, channel, now_ns);
			more |= went;
			lines += went;
		}
	}
	counter_put(&owner->counters[CHAT_C_OWNED], owner->channel_count);
	counter_put(&owner->counters[CHAT_C_QUEUED], owner->queued);
	counter_put(&owner->counters[CHAT_C_LINES_FREE], owner->lines_free);
	return owner->queued;
}
