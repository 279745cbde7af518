/* chat: the chat thread. One libuv loop that has the gateway of this node's players (gateway.h),
 * the channels of the slots that it holds (owner.h), and its own connections to Redis and
 * PostgreSQL. It meets the workers through the rings of common/chat.h, and control through
 * common/chat_player.h.
 *
 * Nothing of the game waits for it: where it does not keep up, its rings are full, and chat is
 * dropped and counted.
 *
 * PostgreSQL: leases, log, sanctions, blocks, announcements (chat_pg.h). Redis: who of other nodes
 * is where, and what nodes say to each other (chat_redis.h). */
#ifndef SW_CONTROL_CHAT_CHAT_H
#define SW_CONTROL_CHAT_CHAT_H

#include <stdio.h>

#include "common/config.h"
#include "common/msg_ring.h"
#include "control/chat/counters.h"

struct chat;

/* Each ring has the chat thread as its one consumer (from_) or producer. They outlive it. */
struct chat_links {
	uint32_t workers;
	struct msg_ring *from_worker[CONFIG_LCORES_MAX], *to_worker[CONFIG_LCORES_MAX],
		*lines[CONFIG_LCORES_MAX];
	struct msg_ring *from_control, *to_control;
	uint32_t sessions; /* that admission may have: adm_sessions */
};

/* Set-up thread, after world_start, which has brought the schema up to date. Does not wait for
 * Redis or PostgreSQL: they may come later. NULL after a sentence in errors: no memory, no thread,
 * a word list that is none, or an address. config outlives it. */
struct chat *chat_start(
	const struct sw_config *config, const struct chat_links *links, FILE *errors);

/* Set-up thread: gives the leases back, waits at most a second for the log to be written, ends the
 * thread. NULL is fine. The counters can be read until chat_free. */
void chat_stop(struct chat *chat);
void chat_free(struct chat *chat);

/* Any thread. */
const struct counter_set *chat_counters(const struct chat *chat);
/* How long it takes from a line's taking to the last of its pieces' handing over. */
struct histogram_ref chat_histogram(const struct chat *chat);
/* 0 good, 1 something is missing but it goes on, 2 it does not. Writes a sentence. */
uint32_t chat_health(struct chat *chat, char *sentence, size_t bytes);

#endif
