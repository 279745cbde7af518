/* lanes.h: the four ways to what lasts (WorldRPC), and which one to take. What a shard or the
 * control thread says to the world thread has one lane each, in the list below; the world takes no
 * message from where its lane does not allow it (counted as messages_unknown).
 *
 * Which lane? Ask in this order:
 *
 *   1. Must it still be true after everything has crashed, and never happen twice? COMMIT.
 *      commit.h. A request id of one's own, the same again until an answer comes; live state
 *      changes when the answer is OK. What belongs together is one commit, not several.
 *   2. Does nothing depend on whether it worked, and does a newer one make an older one worthless?
 *      ASYNC. Send and forget: the newest position of a character is written some day soon, and the
 *      loss of one costs seconds of walking. Never for what somebody owns.
 *   3. Does somebody have to wait for the answer before anything else can go on, as a login for its
 *      character? SYNC, from the control thread, which waits per session and not as a thread. Not
 *      from a shard: a tick does not wait, so the world takes no such message from one.
 *   4. Else one wants to know something: QUERY. Asked in one tick, the answer is drained in stage 3
 *      of a later one, with what PostgreSQL held when every commit of the character that this node
 *      took before was settled. Of any character of the realm, playing or not. It may be outdated
 *      when it comes: what is decided by it is checked again by the commit that does it.
 *
 * Scripts have the same, by what they may call (docs/content.md): read calls from the shard's copy,
 * commit() for COMMIT, queue_intent for what a tick handler wants done later. */
#ifndef SW_COMMON_LANES_H
#define SW_COMMON_LANES_H

#include <stdbool.h>

#include "common/msg.h"

enum lane { LANE_NONE, LANE_QUERY, LANE_SYNC, LANE_COMMIT, LANE_ASYNC };

/* Who may ask. */
enum lane_side { LANE_SHARD = 1, LANE_CONTROL = 2 };

/* X(message to the world, lane, from whom, message with the answer or MSG_NONE) */
#define LANE_MESSAGES(X)                                                                           \
	X(MSG_DETAIL_QUERY, LANE_QUERY, LANE_SHARD, MSG_DETAIL_RESULT)                             \
	X(MSG_COMMIT, LANE_COMMIT, LANE_SHARD, MSG_COMMIT_RESULT)                                  \
	X(MSG_POSITION_SAVE, LANE_ASYNC, LANE_SHARD, MSG_NONE)                                     \
	X(MSG_CHARACTER_LOAD, LANE_SYNC, LANE_CONTROL, MSG_CHARACTER_LOADED)                       \
	X(MSG_WORLD_FLUSH, LANE_SYNC, LANE_CONTROL, MSG_WORLD_FLUSHED)                             \
	X(MSG_CHARACTER_SETTLE, LANE_SYNC, LANE_CONTROL, MSG_CHARACTER_SETTLED)                    \
	X(MSG_NODES_QUERY, LANE_QUERY, LANE_CONTROL, MSG_NODES)                                    \
	X(MSG_WRITES_QUERY, LANE_QUERY, LANE_CONTROL, MSG_WRITES_RESULT)                           \
	X(MSG_CORRECTION, LANE_COMMIT, LANE_CONTROL, MSG_CORRECTION_RESULT)                        \
	X(MSG_AUDIT, LANE_ASYNC, LANE_CONTROL, MSG_NONE)                                           \
	X(MSG_PARTY_SAVE, LANE_ASYNC, LANE_CONTROL, MSG_NONE)                                      \
	X(MSG_PARTY_RESTORE, LANE_QUERY, LANE_CONTROL, MSG_PARTY_RESTORED)

/* A tick does not wait: no message of the lane SYNC is a shard's. */
#define LANE_CHECK(type, lane, from, answer)                                                       \
	_Static_assert((lane) != LANE_SYNC || (from) == LANE_CONTROL, "a tick never waits");       \
	_Static_assert(((lane) == LANE_ASYNC) == ((answer) == MSG_NONE), "who asks is answered");
LANE_MESSAGES(LANE_CHECK)
#undef LANE_CHECK

/* msg_begin of a message that a shard asks the world with: any other type, or one of another lane or
 * side, does not compile. type: its name, MSG_COMMIT. (Whatever way a message was made, sim_push
 * and ctl_push look again in check builds, and the world always.) */
#define LANE_SIDE_ENUM(type, lane, from, answer) LANE_SIDE_##type = (from),
enum lane_sides { LANE_MESSAGES(LANE_SIDE_ENUM) LANE_SIDES_END };
#undef LANE_SIDE_ENUM
#define lane_shard_begin(message, type, peer, payload_bytes)                                       \
	({                                                                                         \
		_Static_assert((int)LANE_SIDE_##type == (int)LANE_SHARD,                           \
			#type " is not a shard's to send: a tick never waits");                    \
		msg_begin((message), type, (peer), (payload_bytes));                               \
	})

/* LANE_NONE: not one that this side may send to the world. */
static inline enum lane lane_of(uint16_t type, enum lane_side from)
{
	switch (type) {
#define LANE_CASE(type, lane, side, answer)                                                        \
	case type:                                                                                 \
		return (side) == from ? lane : LANE_NONE;
		LANE_MESSAGES(LANE_CASE)
#undef LANE_CASE
	default:
		return LANE_NONE;
	}
}

#endif
