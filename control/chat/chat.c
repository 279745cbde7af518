#include "control/chat/chat.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sodium.h>

#include "common/handle.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/chat/chat_internal.h"
#include "control/chat/chat_orders.h"
#include "control/chat/chat_pg.h"
#include "control/chat/chat_redis.h"
#include "control/chat/packet.h"
#include "proto/message_types.h"

#define BUSY_MS     1u
#define IDLE_MS     8u
#define IDLE_ROUNDS 200u
/* Slots of answers and whispers that may wait for one worker's ring. */
#define OUTBOX_SLOTS_MAX (1u << 16)
/* Longest wait, at a stop, for leases to be given back and the log to be written. */
#define FINISH_NS NS_PER_S
/* Of a channel's history, with a report. A history is of its owner's memory: a report of a channel
 * that another node owns has the numbers alone, and the log has the text. */
#define REPORT_LINES 20u

static const struct counter_desc counter_descs[CHAT_COUNTER_COUNT] = {
#define DESC(id, name, kind, help) {name, help, kind},
#define REFUSED(id, value, name, meaning)                                                          \
	{"refused_" name, "requests refused: " meaning, COUNTER_SUM},
	CHAT_COUNTERS(DESC) CHAT_REFUSALS(REFUSED)
#undef DESC
#undef REFUSED
};

static uint64_t unix_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- who is told what ---- */

uint32_t chat_node_find(const struct chat *chat, const char *name)
{
	for (uint32_t i = 0; i < CHAT_NODES_MAX; i++)
		if (chat->nodes[i][0] && !strcmp(chat->nodes[i], name))
			return i;
	return CHAT_NODE_NONE;
}

uint32_t chat_node(struct chat *chat, const char *name)
{
	uint32_t index = chat_node_find(chat, name);

	for (uint32_t i = 0; index == CHAT_NODE_NONE && i < CHAT_NODES_MAX; i++)
		if (!chat->nodes[i][0]) {
			index = i;
			snprintf(chat->nodes[i], NODE_NAME_BYTES, "%s", name);
		}
	return index;
}

void chat_node_gone(struct chat *chat, uint32_t node)
{
	if (node == CHAT_NODE_SELF)
		return;
	chat_owner_gateway_gone(chat->owner, node);
	for (uint32_t i = 0; i < CHAT_SLOTS; i++)
		if (chat->slot_node[i] == node)
			chat->slot_node[i] = CHAT_NODE_NONE;
	chat->nodes[node][0] = 0;
}

void chat_slot_is(struct chat *chat, uint32_t slot, uint32_t node, uint64_t token)
{
	bool changed = chat->slot_node[slot] != node ||
		       (node == CHAT_NODE_SELF && chat_owner_token(chat->owner, slot) != token);

	chat->slot_node[slot] = node;
	chat_owner_slot(chat->owner, slot, node == CHAT_NODE_SELF ? token : 0);
	if (changed && node != CHAT_NODE_NONE)
		chat_gateway_owner_changed(chat->gateway, slot, chat->now_ns);
}

void chat_to_owner(struct chat *chat, const struct chat_word *word)
{
	uint32_t node = chat->slot_node[chat_slot(word->channel)];
	bool lost = false;

	if (node == CHAT_NODE_SELF) {
		chat_owner_word(chat->owner, CHAT_NODE_SELF, word, chat->now_ns, chat->unix_ms);
	} else if (node != CHAT_NODE_NONE) {
		lost = !chat_redis_send(chat->redis, chat->nodes[node], word);
	} else {
		lost = true;
	}
	if (lost && word->type == CHAT_WORD_SAY) {
		struct chat_word answer = {.type = CHAT_WORD_REFUSED,
			.session = word->session,
			.request = word->request,
			.reason = CHAT_REFUSED_UNAVAILABLE,
			.retry_ms = CHAT_ASK_MS};

		chat_to_gateway(chat, CHAT_NODE_SELF, &answer);
	}
}

void chat_to_gateway(struct chat *chat, uint32_t node, const struct chat_word *word)
{
	if (node == CHAT_NODE_SELF)
		chat_gateway_word(chat->gateway, CHAT_NODE_SELF, word, chat->now_ns, chat->unix_ms);
	else if (chat->nodes[node][0])
		chat_redis_send(chat->redis, chat->nodes[node], word);
}

void chat_from_node(struct chat *chat, uint32_t node, const struct chat_word *word)
{
	chat_count(chat->counters, CHAT_C_WORDS_RECEIVED, 1);
	switch (word->type) {
	case CHAT_WORD_JOIN:
	case CHAT_WORD_PART:
	case CHAT_WORD_SAY:
	case CHAT_WORD_SLOW:
		chat_owner_word(chat->owner, node, word, chat->now_ns, chat->unix_ms);
		break;
	default:
		chat_gateway_word(chat->gateway, node, word, chat->now_ns, chat->unix_ms);
	}
}

void chat_announce(
	struct chat *chat, uint64_t number, const char *text, uint32_t bytes, uint64_t unix_ms)
{
	uint8_t packet[CHAT_TEXT_MAX + 64];
	size_t size =
		chat_packet_announcement(number, text, bytes, unix_ms, packet, sizeof(packet));

	if (chat_gateway_broadcast(
		    chat->gateway, chat_gateway_global(chat->gateway), packet, size, chat->now_ns))
		chat_count(chat->counters, CHAT_C_ANNOUNCED, 1);
	else /* they can fetch it */
		chat_count(chat->counters, CHAT_C_DROPPED_FANOUT, 1);
}

/* ---- what owner and gateway call ---- */

static void owner_to_gateway(void *ctx, uint32_t node, const struct chat_word *word)
{
	chat_to_gateway(ctx, node, word);
}

static bool owner_may(void *ctx, uint64_t channel)
{
	return chat_gateway_may(((struct chat *)ctx)->gateway, channel);
}

static void owner_said(void *ctx, const struct chat_said *said)
{
	chat_pg_log(((struct chat *)ctx)->pg, said, 0, CHAT_REFUSED_NONE);
}

static void gateway_to_owner(void *ctx, const struct chat_word *word)
{
	chat_to_owner(ctx, word);
}

static void gateway_to_node(void *ctx, uint32_t node, const struct chat_word *word)
{
	chat_to_gateway(ctx, node, word);
}

static void gateway_send(void *ctx, uint64_t peer, const uint8_t *packet, size_t bytes)
{
	struct chat *chat = ctx;
	struct msg *message = chat->out;

	if (bytes > MSG_PAYLOAD_MAX)
		return;
	memcpy(msg_begin(message, MSG_PEER_SEND, peer, (uint32_t)bytes), packet, bytes);
	message->channel = SW_CHANNEL_CHAT;
	message->flags = MSG_SEND_RELIABLE;
	if (!outbox_push(&chat->to_worker[handle_owner(peer)], message))
		chat_count(chat->counters, CHAT_C_SENT_LOST, 1);
}

static uint32_t gateway_room(void *ctx, uint32_t worker)
{
	return msg_ring_room(((struct chat *)ctx)->links.lines[worker]);
}

static void gateway_push(void *ctx, uint32_t worker, const struct msg *message)
{
	struct chat *chat = ctx;

	msg_ring_push(chat->links.lines[worker], message); /* there is room */
	if (message->type == MSG_CHAT_LINE)
		histogram_add(&chat->delay, mono_ns() - message->subject);
}

static void gateway_seek(void *ctx, const struct chat_word *word)
{
	chat_redis_seek(((struct chat *)ctx)->redis, word);
}

static void gateway_presence(void *ctx, const struct msg_chat_player *player, bool here, bool news)
{
	struct chat *chat = ctx;

	chat_redis_presence(chat->redis, player, here);
	if (news)
		chat_pg_blocks(chat->pg, player->character_id);
}

static void gateway_refused(void *ctx, const struct chat_who *who, uint32_t kind, uint64_t channel,
	enum chat_refusal reason, const uint8_t *text, uint32_t bytes)
{
	struct chat *chat = ctx;
	const struct chat_said said = {.channel = channel,
		.kind = kind,
		.sender_id = who->character_id,
		.sender = who->name,
		.unix_ms = chat->unix_ms,
		.text = (const char *)text,
		.text_bytes = bytes};

	chat_pg_log(chat->pg, &said, 0, reason);
}

static void gateway_whispered(void *ctx, const struct chat_word *word)
{
	struct chat *chat = ctx;
	const struct chat_said said = {.token = word->token,
		.sequence = word->sequence,
		.sender_id = word->sender_id,
		.sender = word->name,
		.unix_ms = word->unix_ms,
		.text = (const char *)word->body,
		.text_bytes = word->body_bytes};

	chat_pg_log(chat->pg, &said, word->target_id, CHAT_REFUSED_NONE);
}

static void gateway_block(void *ctx, uint64_t character_id, uint64_t other_id, bool blocked)
{
	chat_pg_block(((struct chat *)ctx)->pg, character_id, other_id, blocked);
}

static void gateway_report(void *ctx, const struct chat_who *who, uint64_t request,
	uint64_t channel, uint64_t token, uint64_t sequence, const uint8_t *why, uint32_t bytes)
{
	struct chat_said lines[REPORT_LINES];
	struct chat *chat = ctx;
	uint32_t count = chat_owner_history(chat->owner, channel, lines, REPORT_LINES);

	if (!chat_pg_report(chat->pg, who->session, request, who->character_id, channel, token,
		    sequence, why, bytes, lines, count))
		chat_gateway_answer(chat->gateway, who->session, request, CHAT_REFUSED_UNAVAILABLE);
}

static void gateway_fetch(void *ctx, const struct chat_who *who, uint64_t request, uint64_t after)
{
	struct chat *chat = ctx;

	if (!chat_pg_fetch(chat->pg, who->session, request, after))
		chat_gateway_answer(chat->gateway, who->session, request, CHAT_REFUSED_UNAVAILABLE);
}

/* ---- the loop ---- */

static uint32_t drain_control(struct chat *chat)
{
	uint32_t filled, messages = 0;

	while ((filled = msg_ring_pop(chat->links.from_control, chat->burst, CHAT_BURST_SLOTS)))
		for (const struct msg *m = chat->burst; m < chat->burst + filled; m = msg_next(m)) {
			struct msg_chat_player player;

			messages++;
			if (m->type == MSG_CHAT_ORDER) {
				chat_orders_take(chat, m);
			} else if (m->type == MSG_CHAT_PLAYER &&
				   m->payload_bytes == sizeof(player)) {
				memcpy(&player, msg_payload(m), sizeof(player));
				chat_gateway_player(chat->gateway, &player, chat->now_ns);
			} else {
				chat_count(chat->counters, CHAT_C_EVENTS_BAD, 1);
			}
		}
	return messages;
}

/* What the workers' rings have is taken first and looked at last: control has said of every session
 * in it by then (common/chat.h). */
static uint32_t drain(struct chat *chat)
{
	uint32_t filled[CONFIG_LCORES_MAX], messages = 0;

	for (uint32_t w = 0; w < chat->links.workers; w++)
		filled[w] = msg_ring_pop(chat->links.from_worker[w],
			chat->bursts + w * CHAT_BURST_SLOTS, CHAT_BURST_SLOTS);
	messages += drain_control(chat);
	for (uint32_t w = 0; w < chat->links.workers; w++) {
		const struct msg *m = chat->bursts + w * CHAT_BURST_SLOTS, *end = m + filled[w];

		for (; m < end; m = msg_next(m), messages++)
			if (m->type == MSG_PEER_PACKET)
				chat_gateway_packet(chat->gateway, m->peer, msg_payload(m),
					m->payload_bytes, chat->now_ns, chat->unix_ms);
	}
	return messages;
}

static void on_drain(uv_timer_t *timer)
{
	struct chat *chat = timer->data;
	uint32_t busy;

	chat->now_ns = mono_ns();
	chat->unix_ms = unix_now_ms();
	busy = drain(chat);
	chat->now_ns = mono_ns(); /* the lease's end is looked at: what was drained took time */
	busy += chat_owner_tick(chat->owner, chat->now_ns);
	busy += chat_gateway_tick(chat->gateway, chat->now_ns);
	for (uint32_t w = 0; w < chat->links.workers; w++)
		busy += outbox_flush(&chat->to_worker[w]);
	busy += outbox_flush(&chat->to_control);
	chat_pg_tick(chat->pg, chat->now_ns);
	chat_redis_tick(chat->redis, chat->now_ns);
	if (chat->stopping) {
		if (!chat->finish_by_ns)
			chat->finish_by_ns = chat->now_ns + FINISH_NS;
		if (chat_pg_finish(chat->pg, chat->now_ns) || chat->now_ns >= chat->finish_by_ns) {
			uv_stop(&chat->loop);
			return;
		}
	}
	chat->idle_rounds = busy ? 0 : chat->idle_rounds + 1;
	uv_timer_start(timer, on_drain, chat->idle_rounds < IDLE_ROUNDS ? BUSY_MS : IDLE_MS, 0);
}

/* The word list, again if the file is another one; a list that is none leaves the old one. */
static bool read_words(struct chat *chat, FILE *errors)
{
	const char *path = chat->config->chat.words;
	struct chat_filter *filter;
	char error[256] = "";
	struct stat file;
	int64_t changed_ns;

	if (!path[0])
		return true;
	if (stat(path, &file))
		changed_ns = -1;
	else
		changed_ns = (int64_t)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec;
	if (changed_ns == chat->words_changed_ns)
		return true;
	chat->words_changed_ns = changed_ns;
	filter = chat_filter_load(path, error, sizeof(error));
	if (!filter) {
		if (errors)
			fprintf(errors, "chat.words: %s: %s\n", path, error);
		else
			sw_log(SW_LOG_WARN, "chat", "chat.words: %s: %s; the list before stays",
				path, error);
		return false;
	}
	chat_gateway_filter(chat->gateway, filter);
	chat_filter_free(chat->filter);
	chat->filter = filter;
	sw_log(SW_LOG_INFO, "chat", "%u words of %s are not said", chat_filter_words(filter), path);
	return true;
}

static void on_second(uv_timer_t *timer)
{
	read_words(timer->data, NULL);
}

static void on_stop(uv_async_t *async)
{
	(void)async; /* the next round sees it */
}

static void *run(void *arg)
{
	struct chat *chat = arg;

	pthread_setname_np(pthread_self(), "chat");
	uv_timer_start(&chat->drain_timer, on_drain, BUSY_MS, 0);
	uv_timer_start(&chat->second_timer, on_second, 1000, 1000);
	chat->redis = chat_redis_new(chat); /* it writes on the thread that made it */
	if (chat->redis)
		uv_run(&chat->loop, UV_RUN_DEFAULT);
	else
		sw_log(SW_LOG_ERROR, "chat", "no memory: there is no chat");
	return NULL;
}

/* ---- set-up ---- */

static bool build(struct chat *chat)
{
	const struct chat_owner_ops owner_ops = {
		.ctx = chat, .to_gateway = owner_to_gateway, .may = owner_may, .said = owner_said};
	const struct chat_gateway_ops gateway_ops = {.ctx = chat,
		.to_owner = gateway_to_owner,
		.to_node = gateway_to_node,
		.send = gateway_send,
		.room = gateway_room,
		.push = gateway_push,
		.seek = gateway_seek,
		.presence = gateway_presence,
		.refused = gateway_refused,
		.whispered = gateway_whispered,
		.block = gateway_block,
		.report = gateway_report,
		.fetch = gateway_fetch};
	const struct chat_links *links = &chat->links;

	if (uv_loop_init(&chat->loop))
		return false;
	chat->started = true;
	uv_async_init(&chat->loop, &chat->stop_async, on_stop);
	uv_timer_init(&chat->loop, &chat->drain_timer);
	uv_timer_init(&chat->loop, &chat->second_timer);
	chat->drain_timer.data = chat->second_timer.data = chat;
	chat->set =
		(struct counter_set){"chat", 0, CHAT_COUNTER_COUNT, counter_descs, chat->counters};
	randombytes_buf(&chat->boot, sizeof(chat->boot));
	snprintf(chat->nodes[CHAT_NODE_SELF], NODE_NAME_BYTES, "%s", chat->config->node.name);
	memset(chat->slot_node, 0xff, sizeof(chat->slot_node));
	for (uint32_t w = 0; w < links->workers; w++)
		outbox_init(&chat->to_worker[w], links->to_worker[w], OUTBOX_SLOTS_MAX);
	outbox_init(&chat->to_control, links->to_control, OUTBOX_SLOTS_MAX);
	chat->bursts = aligned_alloc(64, links->workers * CHAT_BURST_SLOTS * sizeof(struct msg));
	chat->sanctions = chat_sanctions_new();
	chat->owner = chat_owner_new(chat->config, chat->counters, &owner_ops);
	chat->gateway = chat_gateway_new(chat->config, links->workers, links->sessions,
		chat->counters, chat->sanctions, &gateway_ops);
	return chat->bursts && chat->sanctions && chat->owner && chat->gateway;
}

struct chat *chat_start(
	const struct sw_config *config, const struct chat_links *links, FILE *errors)
{
	size_t bytes = (sizeof(struct chat) + 63) & ~(size_t)63;
	struct chat *chat = aligned_alloc(64, bytes);
	sigset_t all, before;
	int rc;

	if (!chat) {
		fprintf(errors, "chat: no memory\n");
		return NULL;
	}
	memset(chat, 0, bytes);
	chat->config = config;
	chat->links = *links;
	chat->joined = true;
	if (!build(chat)) {
		fprintf(errors,
			"chat: no memory (chat.channels_max, chat.lines_max, enet.peers_max)\n");
		chat_free(chat);
		return NULL;
	}
	if (!read_words(chat, errors)) {
		chat_free(chat);
		return NULL;
	}
	chat->now_ns = mono_ns();
	chat->unix_ms = unix_now_ms();
	chat->pg = chat_pg_new(chat, errors);
	if (!chat->pg) {
		fprintf(errors, "chat: no memory (chat.log_pending_max), or postgres.conninfo\n");
		chat_free(chat);
		return NULL;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&chat->thread, NULL, run, chat);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		fprintf(errors, "chat: cannot start a thread: %s\n", strerror(rc));
		chat_free(chat);
		return NULL;
	}
	chat->joined = false;
	return chat;
}

void chat_stop(struct chat *chat)
{
	if (!chat || chat->joined)
		return;
	atomic_store(&chat->stopping, 1);
	uv_async_send(&chat->stop_async);
	pthread_join(chat->thread, NULL);
	chat->joined = true;
}

void chat_free(struct chat *chat)
{
	if (!chat)
		return;
	chat_stop(chat);
	if (chat->started) {
		chat_redis_free(chat->redis);
		chat_pg_free(chat->pg);
		uv_close((uv_handle_t *)&chat->stop_async, NULL);
		uv_close((uv_handle_t *)&chat->drain_timer, NULL);
		uv_close((uv_handle_t *)&chat->second_timer, NULL);
		uv_run(&chat->loop, UV_RUN_DEFAULT);
		uv_loop_close(&chat->loop);
	}
	chat_redis_gone(chat->redis);
	chat_gateway_free(chat->gateway);
	chat_owner_free(chat->owner);
	chat_sanctions_free(chat->sanctions);
	chat_filter_free(chat->filter);
	for (uint32_t w = 0; w < chat->links.workers; w++)
		outbox_fini(&chat->to_worker[w]);
	outbox_fini(&chat->to_control);
	free(chat->bursts);
	free(chat);
}

const struct counter_set *chat_counters(const struct chat *chat)
{
	return &chat->set;
}

struct histogram_ref chat_histogram(const struct chat *chat)
{
	return (struct histogram_ref){.group = "chat",
		.name = "fanout_delay_seconds",
		.help = "From a line's number to each of its pieces being handed to the dataplane",
		.histogram = &chat->delay};
}

uint32_t chat_health(struct chat *chat, char *sentence, size_t bytes)
{
	uint64_t slots = counter_get(&chat->counters[CHAT_C_OWNED_SLOTS]);
	bool lost = chat_pg_log_lost(chat->pg, mono_ns());
	bool up = chat_pg_up(chat->pg);

	snprintf(sentence, bytes, "%llu of %u slots of channels are this node's%s%s",
		(unsigned long long)slots, CHAT_SLOTS,
		up ? "" : "; PostgreSQL is away, and with the lease channels fall silent",
		lost ? "; lines of the last minute are lost to the log" : "");
	return up && !lost ? 0 : 1;
}
