/* chat_pg: what of chat is in PostgreSQL, on a connection of its own: leases (chat_beat_1,
 * chat_claim_1 of migration chat), sanctions, announcements, blocks, reports, and the log.
 *
 * Leases. A shard beats four times in chat.lease: that renews what it has, and tells which shards
 * live and who has which slot. Slots that rendezvous hashing gives it and nobody has it takes, with
 * a token that is greater than all before; slots that are another one's by that rule it gives back.
 * It publishes nothing later than the time at which its last successful beat was sent, and nine
 * tenths of chat.lease: by its own monotonic clock, so that one that was stopped and goes on finds
 * that its time is over before it says anything. PostgreSQL gives nobody the slot before the whole
 * of it.
 *
 * The log is behind delivery: a bounded queue (chat.log_pending_max) and batches; what finds it
 * full is counted and told to health.
 *
 * Thread: the chat thread. */
#ifndef SW_CONTROL_CHAT_CHAT_PG_H
#define SW_CONTROL_CHAT_CHAT_PG_H

#include <stdio.h>

#include "control/chat/owner.h"

struct chat;
struct chat_pg;

/* Does not connect yet. NULL after a sentence in errors. */
struct chat_pg *chat_pg_new(struct chat *chat, FILE *errors);
void chat_pg_free(struct chat_pg *pg);

/* Every few milliseconds. */
void chat_pg_tick(struct chat_pg *pg, uint64_t now_ns);
/* Gives all slots back; true once that is done and the log is written, as far as it can be. */
bool chat_pg_finish(struct chat_pg *pg, uint64_t now_ns);
/* Something has changed that the next beat would tell: it comes at once. */
void chat_pg_hurry(struct chat_pg *pg);

/* A row of the log; reason: its verdict. target_id 0: a line of a channel. */
void chat_pg_log(struct chat_pg *pg, const struct chat_said *said, uint64_t target_id,
	enum chat_refusal reason);

/* Each is answered by chat_gateway_answer; false: PostgreSQL is away, and nothing was done. */
bool chat_pg_fetch(struct chat_pg *pg, uint64_t session, uint64_t request, uint64_t after);
/* lines[count]: what was said around it. */
bool chat_pg_report(struct chat_pg *pg, uint64_t session, uint64_t request, uint64_t reporter_id,
	uint64_t channel, uint64_t token, uint64_t sequence, const uint8_t *why, uint32_t why_bytes,
	const struct chat_said *lines, uint32_t count);

/* Whom a character has blocked: to chat_gateway_blocks. */
void chat_pg_blocks(struct chat_pg *pg, uint64_t character_id);
void chat_pg_block(struct chat_pg *pg, uint64_t character_id, uint64_t blocked_id, bool blocked);

/* Operators' orders; each is answered by chat_order_answer with its id. False: PostgreSQL is away.
 */
bool chat_pg_sanction(struct chat_pg *pg, uint64_t id, uint64_t character_id, uint64_t channel,
	uint64_t until_ms, const char *author, const char *why);
bool chat_pg_announce(struct chat_pg *pg, uint64_t id, const char *author, const char *text);
bool chat_pg_reports(struct chat_pg *pg, uint64_t id);
bool chat_pg_close(struct chat_pg *pg, uint64_t id, uint64_t number);
bool chat_pg_erase(struct chat_pg *pg, uint64_t id, uint64_t character_id);

/* Any thread: whether there is a connection; whether a row of the log was lost in the last minute.
 */
bool chat_pg_up(const struct chat_pg *pg);
bool chat_pg_log_lost(const struct chat_pg *pg, uint64_t now_ns);

#endif
