/* chat_feed: what control tells the chat thread of players. It hears what control tells the shards,
 * and says of each session all that chat has to know (common/chat_player.h): when it is sent to a
 * map, when its party is another one, when it ends, and every now and then again.
 *
 * Thread: the control thread. Allocates at chat_feed_new alone: 200 bytes a session. */
#ifndef SW_CONTROL_CHAT_FEED_H
#define SW_CONTROL_CHAT_FEED_H

#include "common/chat_player.h"

struct chat_feed;

/* say: the message is copied. NULL: no memory. */
struct chat_feed *chat_feed_new(
	uint32_t sessions, void (*say)(void *ctx, const struct msg *message), void *ctx);
void chat_feed_free(struct chat_feed *feed);

/* Each message to a shard, before it is sent: MSG_PLAYER_JOIN and MSG_PARTY_STATE say something. */
void chat_feed_to_shard(struct chat_feed *feed, const struct msg *message);
/* The session has no player any more; more than once does no harm. */
void chat_feed_gone(struct chat_feed *feed, uint64_t session);
/* Once more, as it was said last. */
void chat_feed_again(struct chat_feed *feed, uint64_t session);

#endif
