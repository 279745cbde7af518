/* chat.h: what the chat thread and the dataplane's workers say to each other, and what of it a
 * client reads as numbers.
 *
 * Rings. Between each worker and the chat thread there are three, each with one producer and one
 * consumer:
 *
 *   worker to chat   MSG_PEER_PACKET of clients that stand, or stood, on a map: types of the chat
 *                    range, as they came. msg.peer names the connection, with its generation. Full:
 *                    a reliable packet is not acknowledged, and the client repeats it.
 *   chat to worker   what is for one: MSG_PEER_SEND (whispers, answers, refusals, ChatChannel with
 *                    its history). All of it is sent before any fan-out that was pushed later, and
 *                    never waits for one that was pushed before.
 *   chat to worker,  fan-outs: one MSG_CHAT_LINE with the packet, serialised once, and behind it
 * any lines            number of MSG_CHAT_TO with the peers that get it. The worker takes them at
 * its own pace (dataplane/lines.h); what stands in the ring is its queue. Full: the chat thread
 * keeps what did not fit, and decides what is too old to be sent.
 *
 * So a ChatChannel that goes into the first ring before the peer stands in a list comes before the
 * channel's lines. The one that says that a peer has left goes into the first ring, too, or it could
 * come behind that of another coming: lines that were pushed before it may come behind it, and the
 * client drops them as lines of a channel that it is not in.
 *
 * A worker that is sent something for a peer that is gone, or for an older one of the same slot,
 * counts it and sends nothing: whoever has left, or came again, gets nothing that was meant for the
 * session before. So handles need no notice of a leave to be safe; control's events keep the lists
 * short.
 *
 * Rings have no order among each other. Who takes a client's packet and must know its session: take
 * what the workers' rings have first, then what control's has, then look at the packets; control
 * tells chat of a session before it tells the shard, so before the client can say anything.
 *
 * Both kinds of sending use channel 2, reliable, and yield: they take at most half of a peer's
 * queue and half of the engine's memory for queues. What does not fit is dropped for this peer and
 * counted (drop_chat_slow_peer), and the peer stays: it sees the gap in the sequence of the
 * channel. */
#ifndef SW_COMMON_CHAT_H
#define SW_COMMON_CHAT_H

#include <stdint.h>

#include "common/msg.h"

/* MSG_CHAT_LINE: the payload is the packet as clients get it, type byte first, at most
 * MSG_PAYLOAD_MAX; msg.subject: mono_ns when the line was taken from its sender, for the delay that
 * is measured. It ends the fan-out before it: the lists that follow are this line's.
 *
 * MSG_CHAT_TO: the payload is peers as uint64_t handles, all of the worker whose ring it is, at
 * most so many. Of the line before it. A peer may stand in several; it gets as many copies. */
#define CHAT_TO_MAX (MSG_PAYLOAD_MAX / sizeof(uint64_t))

/* Which kind of channel: ChatKind of client.proto. X(id, value, name, what) */
#define CHAT_KINDS(X)                                                                              \
	X(GLOBAL, 1, "global", "everyone of the realm")                                            \
	X(LANGUAGE, 2, "language", "by choice; the name is a language: \"de\"")                    \
	X(MAP, 3, "map", "who stands on the same copy of a map")                                   \
	X(GUILD, 4, "guild", "one's guild")                                                        \
	X(PARTY, 5, "party", "one's party")                                                        \
	X(GM, 6, "gm", "game masters")

#define CHAT_KIND_ENUM(id, value, name, what) CHAT_KIND_##id = value,
enum chat_kind { CHAT_KIND_NONE, CHAT_KINDS(CHAT_KIND_ENUM) CHAT_KIND_COUNT };

/* Why a client's request was not carried out: ChatRefusal of client.proto. X(id, value, name,
 * meaning) */
#define CHAT_REFUSALS(X)                                                                           \
	X(MALFORMED, 1, "malformed", "the message cannot be read")                                 \
	X(EMPTY, 2, "empty", "there is no text")                                                   \
	X(TOO_LONG, 3, "too_long", "the text is too long")                                         \
	X(NOT_UTF8, 4, "not_utf8", "the text is not UTF-8")                                        \
	X(CONTROL_CHARACTER, 5, "control_character", "the text has a control character")           \
	X(FILTERED, 6, "filtered", "the text has a word that is not said here")                    \
	X(MUTED, 7, "muted", "one may say nothing for now")                                        \
	X(BANNED, 8, "banned", "one may not be in this channel")                                   \
	X(BLOCKED, 9, "blocked", "the other one takes no whispers from oneself")                   \
	X(NO_CHANNEL, 10, "no_channel", "there is no such channel")                                \
	X(BAD_NAME, 11, "bad_name", "no channel can have this name")                               \
	X(NOT_MEMBER, 12, "not_member", "one is not in this channel")                              \
	X(NO_RIGHT, 13, "no_right", "one may not do that here")                                    \
	X(TOO_MANY_CHANNELS, 14, "too_many_channels", "one is in as many channels as one may be")  \
	X(TOO_OFTEN, 15, "too_often", "one has said too much in a short time")                     \
	X(SLOW_MODE, 16, "slow_mode", "the channel is slow: not so soon after one's last line")    \
	X(BUSY, 17, "busy", "too much is said in this channel just now")                           \
	X(OFFLINE, 18, "offline", "the other one is not in the game")                              \
	X(UNAVAILABLE, 19, "unavailable", "it cannot be done now, and was not")                    \
	X(TARGET_ONESELF, 20, "target_oneself", "that is oneself")

#define CHAT_REFUSAL_ENUM(id, value, name, meaning) CHAT_REFUSED_##id = value,
enum chat_refusal { CHAT_REFUSED_NONE, CHAT_REFUSALS(CHAT_REFUSAL_ENUM) CHAT_REFUSAL_COUNT };

#endif
