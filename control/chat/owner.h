/* owner: the channels of the slots that this node holds: the order of their lines, their numbers,
 * their history. What gateways say comes in as words, what they are told goes out as words.
 *
 * A line is named by token and sequence. The token is the slot's lease's (lease.h), the sequence
 * begins with 1 whenever the token is another one; a channel that gave its place away and comes
 * again under the same token goes on behind what it had. Lines wait in their channel's queue
 * (chat.queue) until the channel's rate and the node's fan-out let them go; the queue drops its
 * oldest when it is full, and what has waited for CHAT_AGE_MS. Either makes the channel slow for
 * CHAT_SLOW_FOR_MS. A line that is dropped had no number yet, so members see no gap.
 *
 * Memory, all of it at chat_owner_new: chat.lines_max lines, for queues and histories of all
 * channels together; where they are used up, the oldest line of any history goes. chat.channels_max
 * channels; one without members goes for a new one.
 *
 * Pure: time is an argument. One thread. */
#ifndef SW_CONTROL_CHAT_OWNER_H
#define SW_CONTROL_CHAT_OWNER_H

#include "common/config.h"
#include "control/chat/counters.h"
#include "control/chat/slot.h"
#include "control/chat/word.h"

#define CHAT_AGE_MS      2000u
#define CHAT_SLOW_FOR_MS 30000u
#define CHAT_HISTORY_MAX 64u /* most of chat.history */

struct chat_owner;

/* For the log and for reports. */
struct chat_said {
	uint64_t channel, token, sequence, sender_id, unix_ms;
	uint32_t kind;
	const char *sender, *text;
	uint32_t text_bytes;
};

struct chat_owner_ops {
	void *ctx;
	/* gateway: the index of its node. The word is the callee's during the call alone. */
	void (*to_gateway)(void *ctx, uint32_t gateway, const struct chat_word *word);
	/* Whether this node can take another line of the channel for its own members now. */
	bool (*may)(void *ctx, uint64_t channel);
	/* A line has got its number. */
	void (*said)(void *ctx, const struct chat_said *said);
};

/* config is borrowed; counters[CHAT_COUNTER_COUNT]. NULL: no memory. */
struct chat_owner *chat_owner_new(const struct sw_config *config, _Atomic uint64_t *counters,
	const struct chat_owner_ops *ops);
void chat_owner_free(struct chat_owner *owner);
size_t chat_owner_bytes(const struct sw_config *config);

/* The slot is this node's under a token, or (0) is not. What waited in its channels is refused as
 * UNAVAILABLE, numbers begin anew; members, which gateways tell again, and history stay while the
 * token only changes, and go with the slot. */
void chat_owner_slot(struct chat_owner *owner, uint32_t slot, uint64_t token);
uint64_t chat_owner_token(const struct chat_owner *owner, uint32_t slot);
/* Nothing is published at or after this: the leases end. Looked at before each line. */
void chat_owner_until(struct chat_owner *owner, uint64_t until_ns);

/* JOIN, PART, SAY or SLOW of a gateway. now_ns: mono_ns; unix_ms: for people. */
void chat_owner_word(struct chat_owner *owner, uint32_t gateway, const struct chat_word *word,
	uint64_t now_ns, uint64_t unix_ms);
/* A node is gone: it has no members of anything, and is answered nothing; its index may be another
 * node's from now on. What its players said and waits is published all the same. */
void chat_owner_gateway_gone(struct chat_owner *owner, uint32_t gateway);

/* Publishes what may go, one line of each channel in turn. Returns how many lines still wait. */
uint32_t chat_owner_tick(struct chat_owner *owner, uint64_t now_ns);

/* The newest lines of a channel, oldest first, up to max. Returns how many; they are valid until
 * the next call of anything else. */
uint32_t chat_owner_history(
	const struct chat_owner *owner, uint64_t channel, struct chat_said *out, uint32_t max);

#endif
