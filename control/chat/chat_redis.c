#include "control/chat/chat_redis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "common/log.h"
#include "common/mono.h"
#include "control/chat/chat_internal.h"
#include "control/chat/chat_pg.h"
#include "control/redis/redis_link.h"

#define WHO_MS      "90000" /* control says all of them again each 30 s */
#define BLOCK_MS    "200"
#define READ_COUNT  "64"
#define SEEKS_MAX   256u
#define CACHE_SLOTS 4096u
#define CACHE_NS    (2 * NS_PER_S)
#define KEY_BYTES   192u
#define NUDGE       "!" /* in place of a word */

struct seek {
	struct chat_redis *redis;
	bool used;
	struct chat_word word;
	uint8_t text[CHAT_TEXT_MAX];
};

struct cached {
	uint64_t character_id, session, generation, until_ns;
	char node[NODE_NAME_BYTES];
};

struct chat_redis {
	struct chat *chat;
	struct redis_link *link, *reader;
	char base[64], self[KEY_BYTES], last[48];
	bool reading, know_last;
	struct seek seeks[SEEKS_MAX];
	struct cached cache[CACHE_SLOTS];
	uint8_t word[NODE_NAME_BYTES + CHAT_WORD_BYTES];
	_Atomic bool up;
};

/* ---- out ---- */

static void added(void *ctx, enum redis_result result, const redisReply *reply)
{
	struct chat_redis *redis = ctx;

	(void)reply;
	if (result != REDIS_RESULT_OK)
		chat_count(redis->chat->counters, CHAT_C_WORDS_LOST, 1);
}

static bool add(struct chat_redis *redis, const char *node, size_t bytes)
{
	char key[KEY_BYTES];
	const char *argv[] = {
		"XADD", key, "MAXLEN", "~", CHAT_STREAM_MAX, "*", "m", (const char *)redis->word};
	const size_t lengths[] = {4,
		(size_t)snprintf(key, sizeof(key), "%s:in:%s", redis->base, node), 6, 1,
		strlen(CHAT_STREAM_MAX), 1, 1, bytes};

	return !redis_link_command(redis->link, added, redis, 8, argv, lengths);
}

static size_t begin(struct chat_redis *redis)
{
	const char *name = redis->chat->config->node.name;

	memcpy(redis->word, name, strlen(name) + 1);
	return strlen(name) + 1;
}

bool chat_redis_send(struct chat_redis *redis, const char *node, const struct chat_word *word)
{
	size_t head = begin(redis), bytes = chat_word_write(word, redis->word + head);

	if (bytes && add(redis, node, head + bytes)) {
		chat_count(redis->chat->counters, CHAT_C_WORDS_SENT, 1);
		return true;
	}
	chat_count(redis->chat->counters, CHAT_C_WORDS_LOST, 1);
	return false;
}

void chat_redis_nudge(struct chat_redis *redis)
{
	size_t head;

	if (!redis)
		return;
	head = begin(redis);
	memcpy(redis->word + head, NUDGE, sizeof(NUDGE));
	for (uint32_t i = 1; i < CHAT_NODES_MAX; i++)
		if (redis->chat->nodes[i][0])
			add(redis, redis->chat->nodes[i], head + sizeof(NUDGE));
}

/* ---- in ---- */

static void take(struct chat_redis *redis, const char *bytes, size_t count)
{
	const char *end = memchr(bytes, 0, count);
	struct chat *chat = redis->chat;
	struct chat_word word;
	size_t head = end ? (size_t)(end - bytes) + 1 : 0;
	uint32_t node;

	if (!head || head > NODE_NAME_BYTES || head == 1) {
		chat_count(chat->counters, CHAT_C_WORDS_BAD, 1);
		return;
	}
	if (count - head == sizeof(NUDGE) && !memcmp(bytes + head, NUDGE, sizeof(NUDGE))) {
		chat_pg_hurry(chat->pg);
		return;
	}
	if (!chat_word_read(&word, (const uint8_t *)bytes + head, count - head)) {
		chat_count(chat->counters, CHAT_C_WORDS_BAD, 1);
		return;
	}
	node = chat_node(chat, bytes);
	if (node != CHAT_NODE_NONE)
		chat_from_node(chat, node, &word);
}

/* [[stream, [[id, [field, value]], ...]]] */
static void entries(struct chat_redis *redis, const redisReply *list)
{
	for (size_t i = 0; i < list->elements; i++) {
		const redisReply *entry = list->element[i];

		if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 ||
			entry->element[0]->type != REDIS_REPLY_STRING)
			continue;
		snprintf(redis->last, sizeof(redis->last), "%s", entry->element[0]->str);
		if (entry->element[1]->type == REDIS_REPLY_ARRAY &&
			entry->element[1]->elements == 2 &&
			entry->element[1]->element[1]->type == REDIS_REPLY_STRING)
			take(redis, entry->element[1]->element[1]->str,
				entry->element[1]->element[1]->len);
	}
}

static void got(void *ctx, enum redis_result result, const redisReply *reply)
{
	struct chat_redis *redis = ctx;

	redis->reading = false;
	if (result != REDIS_RESULT_OK || reply->type != REDIS_REPLY_ARRAY || !reply->elements)
		return;
	redis->chat->now_ns = mono_ns();
	if (reply->element[0]->type == REDIS_REPLY_ARRAY && reply->element[0]->elements == 2 &&
		reply->element[0]->element[1]->type == REDIS_REPLY_ARRAY)
		entries(redis, reply->element[0]->element[1]);
}

static void got_last(void *ctx, enum redis_result result, const redisReply *reply)
{
	struct chat_redis *redis = ctx;

	redis->reading = false;
	if (result != REDIS_RESULT_OK || reply->type != REDIS_REPLY_ARRAY)
		return;
	if (reply->elements && reply->element[0]->type == REDIS_REPLY_ARRAY &&
		reply->element[0]->elements && reply->element[0]->element[0]->str)
		snprintf(
			redis->last, sizeof(redis->last), "%s", reply->element[0]->element[0]->str);
	redis->know_last = true; /* what is behind it was not for this start */
}

void chat_redis_tick(struct chat_redis *redis, uint64_t now_ns)
{
	const char *first[] = {"XREVRANGE", redis->self, "+", "-", "COUNT", "1"};
	const char *next[] = {"XREAD", "COUNT", READ_COUNT, "BLOCK", BLOCK_MS, "STREAMS",
		redis->self, redis->last};

	(void)now_ns;
	if (redis->reading || !redis_link_up(redis->reader))
		return;
	if (!redis->know_last)
		redis->reading =
			!redis_link_command(redis->reader, got_last, redis, 6, first, NULL);
	else
		redis->reading = !redis_link_command(redis->reader, got, redis, 8, next, NULL);
}

/* ---- who is where ---- */

static void put_done(void *ctx, enum redis_result result, const redisReply *reply)
{
	(void)ctx, (void)result, (void)reply; /* it is said again */
}

void chat_redis_presence(struct chat_redis *redis, const struct msg_chat_player *player, bool here)
{
	const uint32_t realm = redis->chat->config->node.realm_id;
	char who[KEY_BYTES], name[KEY_BYTES], value[KEY_BYTES], generation[24], id[24];
	const char *script[] = {who, value, generation, here ? WHO_MS : "0"};
	const char *set[] = {"SET", name, id, "PX", WHO_MS};

	snprintf(who, sizeof(who), "%s:who:%u:%" PRIu64, redis->base, realm, player->character_id);
	snprintf(name, sizeof(name), "%s:name:%u:%s", redis->base, realm, player->name);
	snprintf(value, sizeof(value), "%s %" PRIu64 " %" PRIu64 " %s",
		redis->chat->config->node.name, player->session, player->generation, player->name);
	snprintf(generation, sizeof(generation), "%" PRIu64, player->generation);
	snprintf(id, sizeof(id), "%" PRIu64, player->character_id);
	redis_link_script(redis->link, REDIS_SCRIPT_CHAT_WHO, put_done, redis, 1, 4, script, NULL);
	if (here)
		redis_link_command(redis->link, put_done, redis, 5, set, NULL);
}

static void seek_end(struct seek *seek, bool found, uint32_t node, enum chat_refusal reason)
{
	struct chat *chat = seek->redis->chat;

	seek->used = false;
	chat_gateway_sought(
		chat->gateway, &seek->word, found, node, reason, chat->now_ns, chat->unix_ms);
}

static void seek_at(struct seek *seek, const struct cached *where)
{
	struct chat *chat = seek->redis->chat;
	uint32_t node = chat_node_find(chat, where->node);

	seek->word.target_session = where->session;
	seek->word.generation = where->generation;
	/* Of this node, and not here: it has just gone. Of one that lives no more: so have all of
	 * its players, and nobody would answer. */
	if (node == CHAT_NODE_NONE || node == CHAT_NODE_SELF)
		seek_end(seek, false, 0, CHAT_REFUSED_OFFLINE);
	else
		seek_end(seek, true, node, CHAT_REFUSED_NONE);
}

static void found_who(void *ctx, enum redis_result result, const redisReply *reply)
{
	struct seek *seek = ctx;
	struct chat_redis *redis = seek->redis;
	struct cached *cached = &redis->cache[seek->word.target_id % CACHE_SLOTS], where = {0};

	redis->chat->now_ns = mono_ns();
	if (result != REDIS_RESULT_OK) {
		seek_end(seek, false, 0, CHAT_REFUSED_UNAVAILABLE);
		return;
	}
	where.character_id = seek->word.target_id;
	where.until_ns = redis->chat->now_ns + CACHE_NS;
	if (reply->type != REDIS_REPLY_STRING ||
		sscanf(reply->str, "%63s %" SCNu64 " %" SCNu64, where.node, &where.session,
			&where.generation) != 3) {
		seek_end(seek, false, 0, CHAT_REFUSED_OFFLINE);
		return;
	}
	*cached = where;
	seek_at(seek, cached);
}

static void seek_who(struct seek *seek)
{
	struct chat_redis *redis = seek->redis;
	const struct cached *cached = &redis->cache[seek->word.target_id % CACHE_SLOTS];
	char key[KEY_BYTES];
	const char *get[] = {"GET", key};

	if (cached->character_id == seek->word.target_id &&
		redis->chat->now_ns < cached->until_ns) {
		seek_at(seek, cached);
		return;
	}
	snprintf(key, sizeof(key), "%s:who:%u:%" PRIu64, redis->base,
		redis->chat->config->node.realm_id, seek->word.target_id);
	if (redis_link_command(redis->link, found_who, seek, 2, get, NULL))
		seek_end(seek, false, 0, CHAT_REFUSED_UNAVAILABLE);
}

static void found_name(void *ctx, enum redis_result result, const redisReply *reply)
{
	struct seek *seek = ctx;

	seek->redis->chat->now_ns = mono_ns();
	if (result != REDIS_RESULT_OK) {
		seek_end(seek, false, 0, CHAT_REFUSED_UNAVAILABLE);
		return;
	}
	seek->word.target_id =
		reply->type == REDIS_REPLY_STRING ? strtoull(reply->str, NULL, 10) : 0;
	if (seek->word.target_id)
		seek_who(seek);
	else
		seek_end(seek, false, 0, CHAT_REFUSED_OFFLINE);
}

void chat_redis_seek(struct chat_redis *redis, const struct chat_word *word)
{
	struct chat *chat = redis->chat;
	struct seek *seek = redis->seeks;
	char key[KEY_BYTES];
	const char *get[] = {"GET", key};

	while (seek < redis->seeks + SEEKS_MAX && seek->used)
		seek++;
	if (seek == redis->seeks + SEEKS_MAX || word->body_bytes > sizeof(seek->text)) {
		chat_gateway_sought(chat->gateway, word, false, 0, CHAT_REFUSED_UNAVAILABLE,
			chat->now_ns, chat->unix_ms);
		return;
	}
	seek->redis = redis;
	seek->used = true;
	seek->word = *word;
	memcpy(seek->text, word->body, word->body_bytes);
	seek->word.body = seek->text;
	if (word->target_id) {
		seek_who(seek);
		return;
	}
	snprintf(key, sizeof(key), "%s:name:%u:%s", redis->base, chat->config->node.realm_id,
		word->key);
	if (redis_link_command(redis->link, found_name, seek, 2, get, NULL))
		seek_end(seek, false, 0, CHAT_REFUSED_UNAVAILABLE);
}

/* ---- life ---- */

static void say_here(void *ctx, const struct msg_chat_player *player)
{
	chat_redis_presence(ctx, player, true);
}

static void changed(void *ctx, enum redis_link_state state, const char *sentence)
{
	struct chat_redis *redis = ctx;

	if (state == REDIS_LINK_CONNECTING)
		return;
	if (state != REDIS_LINK_UP && redis->up)
		sw_log(SW_LOG_WARN, "chat", "%s", sentence);
	redis->up = state == REDIS_LINK_UP;
	/* It may have come back empty. */
	if (state == REDIS_LINK_UP && redis->link)
		chat_gateway_each(redis->chat->gateway, say_here, redis);
}

static struct redis_link *link_new(struct chat_redis *redis, bool tell)
{
	const struct sw_config *config = redis->chat->config;
	const char *sentinels[CONFIG_SENTINELS_MAX];
	const struct redis_link_config link = {
		.address = config->redis.address,
		.sentinels = sentinels,
		.sentinel_count = config->redis.sentinel_count,
		.sentinel_password = config->redis.sentinel_password,
		.master_name = config->redis.master_name,
		.password = config->redis.password,
		.database = config->redis.database,
		.connect_timeout_ms = config->redis.connect_timeout_ms,
		.command_timeout_ms = config->redis.command_timeout_ms,
		.changed = tell ? changed : NULL,
		.ctx = redis,
	};

	for (uint32_t i = 0; i < config->redis.sentinel_count; i++)
		sentinels[i] = config->redis.sentinels[i].address;
	return redis_link_new(&redis->chat->loop, &link);
}

struct chat_redis *chat_redis_new(struct chat *chat)
{
	struct chat_redis *redis = calloc(1, sizeof(*redis));

	if (!redis)
		return NULL;
	redis->chat = chat;
	snprintf(redis->base, sizeof(redis->base), "%s{chat}", chat->config->redis.prefix);
	snprintf(
		redis->self, sizeof(redis->self), "%s:in:%s", redis->base, chat->config->node.name);
	snprintf(redis->last, sizeof(redis->last), "0-0");
	redis->link = link_new(redis, true);
	redis->reader = link_new(redis, false);
	if (!redis->link || !redis->reader) {
		chat_redis_free(redis);
		free(redis);
		return NULL;
	}
	return redis;
}

void chat_redis_free(struct chat_redis *redis)
{
	if (!redis)
		return;
	if (redis->link)
		redis_link_free(redis->link);
	if (redis->reader)
		redis_link_free(redis->reader);
	redis->link = redis->reader = NULL;
}

void chat_redis_gone(struct chat_redis *redis)
{
	free(redis);
}

bool chat_redis_up(const struct chat_redis *redis)
{
	return redis->up;
}
