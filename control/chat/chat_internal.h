/* chat_internal: the chat thread's state, shared by chat.c (life, rings, who is told what),
 * chat_orders.c (operators), chat_pg.c (PostgreSQL) and chat_redis.c (other nodes). Thread: the
 * loop's, but for what is marked. */
#ifndef SW_CONTROL_CHAT_CHAT_INTERNAL_H
#define SW_CONTROL_CHAT_CHAT_INTERNAL_H

#include <pthread.h>

#include <uv.h>

#include "control/chat/chat.h"
#include "control/chat/gateway.h"
#include "control/chat/owner.h"
#include "control/outbox.h"

#define CHAT_BURST_SLOTS (8u * MSG_SLOTS_MAX)
#define CHAT_NODE_NONE   UINT32_MAX

struct chat_pg;
struct chat_redis;

struct chat {
	const struct sw_config *config;
	struct chat_links links;
	uv_loop_t loop;
	uv_async_t stop_async;
	uv_timer_t drain_timer, second_timer;
	uint32_t idle_rounds;
	uint64_t now_ns, unix_ms; /* of this round */
	uint64_t boot;            /* random, of this start */

	struct chat_gateway *gateway;
	struct chat_owner *owner;
	struct chat_sanctions *sanctions;
	struct chat_filter *filter;
	int64_t words_changed_ns; /* of the file, as it was read last */
	struct chat_pg *pg;
	struct chat_redis *redis;
	char nodes[CHAT_NODES_MAX][NODE_NAME_BYTES]; /* [0] is this node; "": free */
	uint32_t slot_node[CHAT_SLOTS];              /* who owns it; CHAT_NODE_NONE */

	struct outbox to_worker[CONFIG_LCORES_MAX], to_control;
	struct msg *bursts; /* [workers][CHAT_BURST_SLOTS] */
	struct msg burst[CHAT_BURST_SLOTS], out[MSG_SLOTS_MAX];

	_Atomic uint64_t counters[CHAT_COUNTER_COUNT];
	struct counter_set set;
	struct histogram delay;
	_Atomic uint32_t stopping;
	uint64_t finish_by_ns;
	pthread_t thread;
	bool started, joined;
};

/* chat.c */
/* A word to the owner of its channel, and to the gateway of a node. */
void chat_to_owner(struct chat *chat, const struct chat_word *word);
void chat_to_gateway(struct chat *chat, uint32_t node, const struct chat_word *word);
/* A word of another node. */
void chat_from_node(struct chat *chat, uint32_t node, const struct chat_word *word);
/* The index of a node, which gets one; CHAT_NODE_NONE: there are too many. */
uint32_t chat_node(struct chat *chat, const char *name);
/* CHAT_NODE_NONE: it is not one of those that live. */
uint32_t chat_node_find(const struct chat *chat, const char *name);
/* A node is no chat shard any more. */
void chat_node_gone(struct chat *chat, uint32_t node);
/* Who owns a slot; token is 0 unless it is this node. */
void chat_slot_is(struct chat *chat, uint32_t slot, uint32_t node, uint64_t token);
/* To everybody of this node. */
void chat_announce(
	struct chat *chat, uint64_t number, const char *text, uint32_t bytes, uint64_t unix_ms);

#endif
