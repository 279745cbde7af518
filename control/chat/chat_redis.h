/* chat_redis: other nodes, on a connection to Redis of chat's own.
 *
 *   <prefix>{chat}:in:<node>          stream: what nodes say to this one (word.h), oldest first,
 *                                     at most CHAT_STREAM_MAX; a field "m" with the sender's name,
 *                                     a NUL and the word
 *   <prefix>{chat}:who:<realm>:<id>   hash: node, session, generation, name; expires
 *   <prefix>{chat}:name:<realm>:<name>   the character's id; expires
 *
 * A word is sent once. What Redis loses is a gap in a channel, which members see by its numbers, or
 * a whisper without an answer; a JOIN is repeated (CHAT_REMIND_MS).
 *
 * Thread: the chat thread. */
#ifndef SW_CONTROL_CHAT_CHAT_REDIS_H
#define SW_CONTROL_CHAT_CHAT_REDIS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/chat_player.h"
#include "control/chat/word.h"

#define CHAT_STREAM_MAX "10000"

struct chat;
struct chat_redis;

/* NULL: no memory, or redis.address is none. */
struct chat_redis *chat_redis_new(struct chat *chat);
/* Ends the connections; the memory goes when the loop has run. */
void chat_redis_free(struct chat_redis *redis);
void chat_redis_gone(struct chat_redis *redis);

/* A word to a node. False, and it is lost: Redis is away. */
bool chat_redis_send(struct chat_redis *redis, const char *node, const struct chat_word *word);
/* All others: beat now, something has changed. NULL is fine. */
void chat_redis_nudge(struct chat_redis *redis);
/* The node of word->target_id, or of the name word->key: chat_gateway_sought. */
void chat_redis_seek(struct chat_redis *redis, const struct chat_word *word);
/* A player of this node. */
void chat_redis_presence(struct chat_redis *redis, const struct msg_chat_player *player, bool here);
/* Every few milliseconds. */
void chat_redis_tick(struct chat_redis *redis, uint64_t now_ns);

bool chat_redis_up(const struct chat_redis *redis);

#endif
