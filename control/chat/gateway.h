/* gateway: the players of this node as chat has them: who they are, in which channels, what they
 * say and what they are sent. What they say goes as words to the owner of the channel, or to the
 * gateway that has the other one; what comes back, and lines, go to them.
 *
 * Membership follows from what control says of a player (common/chat_player.h) and, for languages,
 * from the player's choice. A member is listed, and gets lines, from the owner's STATE on.
 *
 * A line for many is a fan-out: of each channel one at a time, CHAT_TO_MAX members of each
 * dataplane worker at a time, the channels in turn, as far as the workers' rings take them. So a
 * channel of 100,000 delays one of five by one turn, not by itself.
 *
 * Memory, all of it at chat_gateway_new: for each session that admission may have 760 bytes; for
 * each of chat.channels_max 150 bytes and 8 per worker; chat.fanouts_max packets.
 *
 * Pure: time is an argument. One thread. */
#ifndef SW_CONTROL_CHAT_GATEWAY_H
#define SW_CONTROL_CHAT_GATEWAY_H

#include "common/chat_player.h"
#include "common/config.h"
#include "control/chat/counters.h"
#include "control/chat/filter.h"
#include "control/chat/sanctions.h"
#include "control/chat/word.h"

#define CHAT_MEMBERSHIPS_MAX 8u   /* channels of one player */
#define CHAT_BLOCKS_MAX      32u  /* characters that one player may block */
#define CHAT_WHY_MAX         255u /* bytes of a report's reason */
/* A line that some worker's ring has not taken for so long goes to nobody more of it. */
#define CHAT_FANOUT_MS 5000u
/* Channels whose owner does not answer are asked for again; and whoever has answered is reminded.
 */
#define CHAT_ASK_MS    1000u
#define CHAT_REMIND_MS 10000u

struct chat_gateway;

/* Of a player, for those who write something down. */
struct chat_who {
	uint64_t session, character_id;
	const char *name;
};

struct chat_gateway_ops {
	void *ctx;
	/* To the owner of word->channel; to a node. The word is the callee's during the call. */
	void (*to_owner)(void *ctx, const struct chat_word *word);
	void (*to_node)(void *ctx, uint32_t node, const struct chat_word *word);
	/* A packet to one peer, past all fan-outs. */
	void (*send)(void *ctx, uint64_t peer, const uint8_t *packet, size_t bytes);
	/* Slots of a worker's ring of lines; and a message into it. */
	uint32_t (*room)(void *ctx, uint32_t worker);
	void (*push)(void *ctx, uint32_t worker, const struct msg *message);
	/* Who of another node is word->target_id or, if that is 0, has the name word->key?
	 * chat_gateway_sought is called later, or at once. */
	void (*seek)(void *ctx, const struct chat_word *word);
	/* A player of this node is here, or went. news: whom it blocks is not known yet. */
	void (*presence)(void *ctx, const struct msg_chat_player *player, bool here, bool news);
	/* What was not taken, for the log: FILTERED, MUTED or BANNED. */
	void (*refused)(void *ctx, const struct chat_who *who, uint32_t kind, uint64_t channel,
		enum chat_refusal reason, const uint8_t *text, uint32_t bytes);
	/* A whisper was given to its target, on the sender's node. */
	void (*whispered)(void *ctx, const struct chat_word *word);
	void (*block)(void *ctx, uint64_t character_id, uint64_t other_id, bool blocked);
	/* Both are answered by chat_gateway_answer, later or at once. */
	void (*report)(void *ctx, const struct chat_who *who, uint64_t request, uint64_t channel,
		uint64_t token, uint64_t sequence, const uint8_t *why, uint32_t bytes);
	void (*fetch)(void *ctx, const struct chat_who *who, uint64_t request, uint64_t after);
};

/* workers: of the dataplane; sessions: that admission may have. Borrows config, counters and
 * sanctions. NULL: no memory. */
struct chat_gateway *chat_gateway_new(const struct sw_config *config, uint32_t workers,
	uint32_t sessions, _Atomic uint64_t *counters, const struct chat_sanctions *sanctions,
	const struct chat_gateway_ops *ops);
void chat_gateway_free(struct chat_gateway *gateway);

/* filter is borrowed, NULL for none, and may change. token: of whispers, of this start of the
 * node, greater than of those before. */
void chat_gateway_filter(struct chat_gateway *gateway, const struct chat_filter *filter);
void chat_gateway_token(struct chat_gateway *gateway, uint64_t token);

void chat_gateway_player(
	struct chat_gateway *gateway, const struct msg_chat_player *player, uint64_t now_ns);
/* A client's packet: the type's byte and the body. */
void chat_gateway_packet(struct chat_gateway *gateway, uint64_t peer, const uint8_t *packet,
	size_t bytes, uint64_t now_ns, uint64_t unix_ms);
/* STATE, LINE, MOVED, DONE, REFUSED or WHISPER. */
void chat_gateway_word(struct chat_gateway *gateway, uint32_t node, const struct chat_word *word,
	uint64_t now_ns, uint64_t unix_ms);
/* The answer to ops.seek; found false: reason says why. */
void chat_gateway_sought(struct chat_gateway *gateway, const struct chat_word *word, bool found,
	uint32_t node, enum chat_refusal reason, uint64_t now_ns, uint64_t unix_ms);
/* The answer to one of its requests: done, or refused for reason. */
void chat_gateway_answer(
	struct chat_gateway *gateway, uint64_t session, uint64_t request, enum chat_refusal reason);
/* A packet to one session, if it is still here. */
void chat_gateway_send(
	struct chat_gateway *gateway, uint64_t session, const uint8_t *packet, size_t bytes);

/* The slot has another owner: its channels are asked for there. */
void chat_gateway_owner_changed(struct chat_gateway *gateway, uint32_t slot, uint64_t now_ns);
/* Whether another line of the channel can be taken now; true for one without members here. */
bool chat_gateway_may(const struct chat_gateway *gateway, uint64_t channel);
/* To all members of a channel: everybody, for the one of the realm. False: no room now. */
bool chat_gateway_broadcast(struct chat_gateway *gateway, uint64_t channel, const uint8_t *packet,
	size_t bytes, uint64_t now_ns);
/* A ban begins: whoever it is is in the channel no longer. */
void chat_gateway_expel(struct chat_gateway *gateway, uint64_t character_id, uint64_t channel);
/* Whom a character has blocked, as PostgreSQL has it: from now on that is known. */
void chat_gateway_blocks(struct chat_gateway *gateway, uint64_t character_id,
	const uint64_t *blocked, uint32_t count);
/* Its player here, by number or (0) by name; false: there is none. */
bool chat_gateway_find(const struct chat_gateway *gateway, uint64_t character_id, const char *name,
	struct msg_chat_player *out);
/* Calls fn for each player that is here. */
void chat_gateway_each(const struct chat_gateway *gateway,
	void (*fn)(void *ctx, const struct msg_chat_player *player), void *ctx);

/* Fan-outs, and channels whose owner is to be asked again. Returns the fan-outs that wait. */
uint32_t chat_gateway_tick(struct chat_gateway *gateway, uint64_t now_ns);

/* The number of the channel that everybody of the realm is in. */
uint64_t chat_gateway_global(const struct chat_gateway *gateway);

#endif
