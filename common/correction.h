/* correction.h: what an operator gives to a character, takes from it, or takes back, as the control
 * thread asks the world thread for it, and the answer. Plain values in messages; control and world.
 *
 * It goes the way of every commit (common/commit.h): one transaction, under a request id, with the
 * reason OPERATOR in the ledger; the same request again has no second effect and gets the first
 * result. Other than a shard, an operator owns no character: there is no epoch to compare, and who
 * plays goes on. The slots of items are chosen by the statement.
 *
 * A reversal is the opposite of one commit, in the opposite order, as a commit of a request that
 * follows from the first. So it is done once, can be repeated, and can be reversed itself. It needs
 * what the commit left to be there still: the same quest step, the items in their slots. */
#ifndef SW_COMMON_CORRECTION_H
#define SW_COMMON_CORRECTION_H

#include "common/commit.h"

/* X(NAME, word, meaning): "word" or "word:NUMBER" of an order. */
#define CORRECTION_THINGS(X)                                                                       \
	X(GOLD, "gold", "gold")                                                                    \
	X(EXPERIENCE, "experience", "experience; the level follows, down, too")                    \
	X(ITEM, "item", "an item that stacks, by its number")                                      \
	X(SINGLE, "single", "an item that does not stack, each with a serial, by its number")
#define CORRECTION_THING_ENUM(name, word, meaning) CORRECTION_##name,
enum correction_thing { CORRECTION_THINGS(CORRECTION_THING_ENUM) CORRECTION_THING_COUNT };

/* What comes beside the results of commits, which have their own numbers. The statements of
 * migration 0008 have them: append, never renumber. X(NAME, text for a person) */
#define CORRECTION_RESULT_FIRST 100u
#define CORRECTION_RESULTS(X)                                                                      \
	X(NO_ROOM, "the bag has not enough empty slots; nothing was changed")                      \
	X(NO_COMMIT, "there is no record of such a commit: postgres.record_hours have passed, or "   \
		     "it never was")                                                               \
	X(WAS_REFUSED, "that commit was refused: there is nothing to reverse")                     \
	X(ROWS_GONE, "the ledger's rows of that commit have gone: they were older than "           \
		     "postgres.ledger_days")                                                       \
	X(HAS_RESULT, "that commit kept the result of a match, which stays")                       \
	X(UNKNOWN, "the connection to PostgreSQL was lost: it was done, or was not")
#define CORRECTION_RESULT_ENUM(name, text) CORRECTION_RESULT_##name,
enum correction_result {
	CORRECTION_RESULT_BEFORE = CORRECTION_RESULT_FIRST - 1,
	CORRECTION_RESULTS(CORRECTION_RESULT_ENUM) CORRECTION_RESULT_END
};

#define CORRECTION_SINGLES_MAX COMMIT_BAG_SLOTS

/* control to world: MSG_CORRECTION. */
struct msg_correction {
	uint64_t order;        /* comes back in the answer */
	uint64_t request[2];   /* reverse: of the commit that is to be reversed */
	uint64_t character_id; /* reverse: 0, as are the rest */
	int64_t amount;        /* not 0; negative takes */
	uint32_t realm_id;
	uint32_t reverse; /* 1: reverses request */
	uint32_t thing;   /* enum correction_thing */
	uint32_t item;
};

/* world to control: MSG_CORRECTION_RESULT, exactly once. Balances are those after it, for OK. */
struct msg_correction_result {
	uint64_t order;
	uint64_t request[2]; /* under which it was done: of a reversal, its own */
	uint64_t character_id[2];
	int64_t gold[2], experience[2];
	uint32_t result;   /* enum commit_result or enum correction_result */
	uint32_t repeated; /* 1: this is what came of it when it was asked for first */
};

#endif
