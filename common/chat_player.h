/* chat_player.h: what the control thread tells the chat thread of players, and what operators say
 * to it.
 *
 * Membership is state, not steps: one message says all that decides in which channels a player is,
 * with a version that grows with every message of the node. Of each session the greatest version
 * counts, so that a repeat, or one that was overtaken, changes nothing, and one that was lost is
 * made good by the next. */
#ifndef SW_COMMON_CHAT_PLAYER_H
#define SW_COMMON_CHAT_PLAYER_H

#include "common/msg.h"

/* MSG_CHAT_PLAYER, control to chat. Comes before the shard hears of the player, so before the
 * client can say anything, at every change, and again while it lasts. */
struct msg_chat_player {
	uint64_t version; /* from 1 */
	uint64_t session; /* control's handle: its index is below adm_sessions */
	uint64_t peer;
	uint64_t character_id;
	uint64_t generation; /* the character's writer epoch: greater is newer, on any node */
	uint64_t party_id, guild_id; /* 0: none */
	uint32_t instance;           /* common/instance.h; 0: on no map */
	uint32_t here;               /* 0: the session has ended */
	char name[CHARACTER_NAME_BYTES];
	char map[MAP_NAME_BYTES];
};

/* MSG_CHAT_ORDER, control to chat: an operator's order as MSG_ORDER; its author's role is good
 * enough. Answered with MSG_CHAT_ORDER_ANSWER: subject as the order's, payload msg_order_answer and
 * its text. */

#endif
