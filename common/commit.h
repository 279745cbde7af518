/* commit.h: a durable change of what characters own, as a shard (or a script through it) asks the
 * world thread for it, and the answer. Plain values in messages; any thread.
 *
 * A commit is one to COMMIT_OPS_MAX operations on one or two characters. All of them happen, in
 * one transaction, or none. It carries
 *
 *   request     128 bits that nobody else uses: the shard's random number of this start, and a
 *               counter. The world keeps the result under it: the same request sent again, however
 *               often and after whatever failure, has no second effect and gets the first result.
 *   epoch       of each character, from MSG_CHARACTER_LOADED. Compared under the lock of the
 *               character's row: once another login has taken over, the commit is refused as STALE.
 *   expires_ms  the world thread refuses what it could not begin by then (EXPIRED: certainly no
 *               effect), counted from when it took the message.
 *
 * What a character owns. Gold and experience are balances. Items lie in slots, one kind an item
 * slot: 0..COMMIT_BAG_SLOTS-1 is the bag, COMMIT_EQUIP_FIRST.. what is worn. The shard, which
 * caches all of it, chooses the slots; the world refuses what does not fit what is stored. An item
 * that does not stack has a serial of its own (0: it stacks), which goes with it wherever it goes
 * and lies in one slot of the realm. Balances and counts never go below 0.
 *
 * The operations are carried out in their order, and each has to be possible when its turn comes:
 * what is taken from a slot, or from one of two who trade, is taken before it is put elsewhere.
 * Fields that an operation does not use are 0.
 *
 * Order: commits of one character are carried out in the order in which they were pushed. Every
 * commit is answered exactly once, in no stated order. No answer within a time means nothing:
 * UNAVAILABLE is said only when it is certain that there was no effect and will be none; an unknown
 * outcome is resolved by the world thread, by the same request, before it answers. A refusal by the
 * database (from STALE on) is final: the same request gets it again, and who wants to try again
 * draws a new request. UNAVAILABLE and EXPIRED are not kept. */
#ifndef SW_COMMON_COMMIT_H
#define SW_COMMON_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/msg.h"

#define COMMIT_OPS_MAX     64u
#define COMMIT_BAG_SLOTS   64u
#define COMMIT_EQUIP_FIRST 100u
#define COMMIT_EQUIP_SLOTS 16u
#define COMMIT_SLOTS_MAX   (COMMIT_BAG_SLOTS + COMMIT_EQUIP_SLOTS)
#define COMMIT_QUESTS_MAX  512u   /* of one character, begun and not set back to 0 */
#define COMMIT_STATE_MAX   65535u /* of a quest */

/* X(NAME, what it does; who is the character's place in msg_commit). The ledger keeps their
 * numbers: append, never renumber. */
// clang-format off
#define COMMIT_OPS(X)                                                                              \
	X(GOLD, "adds amount, which may be negative, to the gold of who")                         \
	X(EXPERIENCE, "adds amount, not negative, to the experience of who; the level follows from it") \
	X(SLOT, "adds amount of item to slot of who; what is there must be of the same item and serial, and a slot that comes to 0 is empty") \
	X(QUEST, "sets quest item of who to state amount, if it stands at slot (0: not begun)")   \
	X(RESULT, "keeps the result of a match: item is the rule's number, serial the match, amount the place of who")

/* X(NAME, text for a person). Kept with the request: append, never renumber. */
#define COMMIT_RESULTS(X)                                                                          \
	X(OK, "done")                                                                              \
	X(UNAVAILABLE, "the database is away or too much waits; nothing was changed")              \
	X(EXPIRED, "it waited too long; nothing was changed")                                      \
	X(STALE, "the character has been taken over by another login")                             \
	X(NO_CHARACTER, "there is no such character")                                              \
	X(NOT_ENOUGH, "not enough gold or items")                                                  \
	X(SLOT_TAKEN, "the slot holds something else")                                             \
	X(QUEST_STATE, "the quest stands elsewhere")                                               \
	X(TOO_MUCH, "a balance or count would leave its range")                                    \
	X(INVALID, "a commit that cannot be read; our bug")                                        \
	X(DUPLICATE, "the serial lies in another slot, or the match has a result of the character")
// clang-format on

#define COMMIT_OP_ENUM(name, text) COMMIT_##name,
enum commit_op_kind { COMMIT_OPS(COMMIT_OP_ENUM) COMMIT_OP_KINDS };
#define COMMIT_RESULT_ENUM(name, text) COMMIT_RESULT_##name,
enum commit_result { COMMIT_RESULTS(COMMIT_RESULT_ENUM) COMMIT_RESULT_COUNT };

struct commit_op {
	uint8_t kind; /* enum commit_op_kind */
	uint8_t who;  /* 0 or 1 */
	uint16_t slot;
	uint32_t item; /* number of the item or quest in the data files */
	int64_t amount;
	uint64_t serial;
};
_Static_assert(sizeof(struct commit_op) == 24, "no padding: it is compared and hashed");

/* shard to world: MSG_COMMIT. ops of them follow the head. */
struct msg_commit {
	uint64_t request[2];
	uint64_t character_id[2]; /* [1] is 0 where there is one */
	uint64_t epoch[2];
	uint32_t realm_id;
	uint32_t expires_ms;
	uint32_t reason; /* enum commit_reason of the shard: for the ledger */
	uint32_t ops;
	struct commit_op op[];
};

/* world to shard: MSG_COMMIT_RESULT. Balances are those after the commit, for OK. */
struct msg_commit_result {
	uint64_t request[2];
	uint64_t character_id[2];
	int64_t gold[2];
	int64_t experience[2];
	uint32_t result;     /* enum commit_result */
	uint32_t refused_op; /* which one, where one operation is to blame */
};

/* Why something changed hands: kept in the ledger, for audits. X(NAME, value, text) */
#define COMMIT_REASONS(X)                                                                          \
	X(KILL, 1, "killed a monster")                                                             \
	X(LOOT, 2, "picked up from the ground")                                                    \
	X(TRADE, 3, "traded")                                                                      \
	X(QUEST, 4, "quest")                                                                       \
	X(SHOP, 5, "bought or sold")                                                               \
	X(EQUIP, 6, "put on, taken off or moved")                                                  \
	X(MATCH, 7, "match result")                                                                \
	X(SCRIPT, 8, "content script")                                                             \
	X(OPERATOR, 9, "operator")                                                                 \
	X(DROP, 10, "dropped or used up")

#define COMMIT_REASON_ENUM(name, value, text) COMMIT_REASON_##name = value,
enum commit_reason { COMMIT_REASONS(COMMIT_REASON_ENUM) };

/* What lies in one slot, as a detail answer lists it. */
struct msg_slot {
	uint16_t slot;
	uint16_t pad;
	uint32_t item;
	uint64_t serial;
	int64_t count;
};

struct msg_quest {
	uint32_t quest, state; /* state 1..COMMIT_STATE_MAX */
	uint32_t age_s;        /* since it came from state 0, in whole seconds that have passed */
};

#define MSG_DETAIL_BYTES_MAX                                                                       \
	(sizeof(struct msg_detail_result) + COMMIT_SLOTS_MAX * sizeof(struct msg_slot) +           \
		COMMIT_QUESTS_MAX * sizeof(struct msg_quest))
_Static_assert(MSG_DETAIL_BYTES_MAX <= MSG_PAYLOAD_MAX, "a detail answer fits one message");

/* Reads a MSG_DETAIL_RESULT. False when its size is not what it says; else slots and quests point
 * into the message, ascending by slot and by quest. */
static inline bool msg_detail_read(const struct msg *message, struct msg_detail_result *result,
	const struct msg_slot **slots, const struct msg_quest **quests)
{
	const uint8_t *at = msg_payload(message);

	if (message->payload_bytes < sizeof(*result))
		return false;
	memcpy(result, at, sizeof(*result));
	if (result->slots > COMMIT_SLOTS_MAX || result->quests > COMMIT_QUESTS_MAX ||
		message->payload_bytes != sizeof(*result) + result->slots * sizeof(**slots) +
						  result->quests * sizeof(**quests))
		return false;
	*slots = (const void *)(at + sizeof(*result));
	*quests = (const void *)(at + sizeof(*result) + result->slots * sizeof(**slots));
	return true;
}
_Static_assert((MSG_HEAD_BYTES + sizeof(struct msg_detail_result)) % _Alignof(struct msg_slot) == 0,
	"slots are aligned in the message");

#endif
