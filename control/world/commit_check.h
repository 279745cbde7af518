/* commit_check: what the world thread checks of a commit before PostgreSQL sees it. One that breaks
 * these rules would fail the batch of others; a shard that sends one has a bug. Pure. */
#ifndef SW_CONTROL_WORLD_COMMIT_CHECK_H
#define SW_CONTROL_WORLD_COMMIT_CHECK_H

#include "common/commit.h"

/* X(NAME, what is wrong) */
// clang-format off
#define COMMIT_FAULTS(X)                                                                           \
	X(NONE, "")                                                                                \
	X(SIZE, "the number of operations is not 1..COMMIT_OPS_MAX, or not what the size says")    \
	X(CHARACTERS, "both characters are the same")                                              \
	X(REASON, "no such reason")                                                                \
	X(KIND, "no such operation")                                                               \
	X(WHO, "who is neither 0 nor 1, or 1 where there is no second character")                  \
	X(NUMBER, "an item, quest or rule beyond 2^31 - 1")                                        \
	X(SLOT, "no such slot")                                                                    \
	X(AMOUNT, "an amount that the operation does not take")                                    \
	X(FIELD, "a field that the operation does not use is not 0")
// clang-format on

#define COMMIT_FAULT_ENUM(name, text) COMMIT_FAULT_##name,
enum commit_fault { COMMIT_FAULTS(COMMIT_FAULT_ENUM) COMMIT_FAULT_COUNT };

/* payload, aligned to 8 bytes, of a MSG_COMMIT of at least sizeof(struct msg_commit). *op: the
 * operation to blame, 0 where it is none. */
enum commit_fault commit_check(
	const struct msg_commit *commit, uint32_t payload_bytes, uint32_t *op);

const char *commit_fault_text(enum commit_fault fault);

/* Whether commit_set_1 (migrations/0004) may carry it out: gold, experience and items without a
 * serial, at most COMMIT_SIMPLE_OPS operations, no two of them on one balance or slot. commit: one
 * that commit_check found good. */
#define COMMIT_SIMPLE_OPS 8u
bool commit_is_simple(const struct msg_commit *commit);

/* Whether commit_slots_1 (migrations/0009) may, too: a simple one of one character, with one
 * operation, on a slot. */
bool commit_is_one_slot(const struct msg_commit *commit);

#endif
