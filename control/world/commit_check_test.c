/* Proves that a commit which could fail the batch of others is refused by name before PostgreSQL
 * sees it, and that each operation is taken at the edges of what it allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "control/world/commit_check.h"

#define OP(k, ...)                                                                                 \
	{                                                                                          \
		.kind = COMMIT_##k, __VA_ARGS__                                                    \
	}

static const struct {
	const char *what;
	struct commit_op op;
	enum commit_fault fault;
} OPS[] = {
	{"all the gold there is", OP(GOLD, .amount = INT64_MAX), COMMIT_FAULT_NONE},
	{"of the other", OP(GOLD, .who = 1, .amount = -INT64_MAX), COMMIT_FAULT_NONE},
	{"no gold", OP(GOLD, .amount = 0), COMMIT_FAULT_NONE},
	{"cannot be negated", OP(GOLD, .amount = INT64_MIN), COMMIT_FAULT_AMOUNT},
	{"gold with a slot", OP(GOLD, .slot = 1, .amount = 1), COMMIT_FAULT_FIELD},
	{"gold with an item", OP(GOLD, .item = 1, .amount = 1), COMMIT_FAULT_FIELD},
	{"gold with a serial", OP(GOLD, .serial = 1, .amount = 1), COMMIT_FAULT_FIELD},
	{"a third character", OP(GOLD, .who = 2, .amount = 1), COMMIT_FAULT_WHO},
	{"experience goes", OP(EXPERIENCE, .amount = -1), COMMIT_FAULT_AMOUNT},
	{"experience with an item", OP(EXPERIENCE, .item = 1, .amount = 1), COMMIT_FAULT_FIELD},
	{"last of the bag", OP(SLOT, .slot = 63, .amount = 1), COMMIT_FAULT_NONE},
	{"behind the bag", OP(SLOT, .slot = 64, .amount = 1), COMMIT_FAULT_SLOT},
	{"before what is worn", OP(SLOT, .slot = 99, .amount = 1), COMMIT_FAULT_SLOT},
	{"first worn", OP(SLOT, .slot = 100, .item = INT32_MAX, .amount = -1), COMMIT_FAULT_NONE},
	{"last worn", OP(SLOT, .slot = 115, .amount = 1), COMMIT_FAULT_NONE},
	{"behind what is worn", OP(SLOT, .slot = 116, .amount = 1), COMMIT_FAULT_SLOT},
	{"an item beyond", OP(SLOT, .item = 1u << 31, .amount = 1), COMMIT_FAULT_NUMBER},
	{"none of an item", OP(SLOT, .amount = 0), COMMIT_FAULT_AMOUNT},
	{"two of a serial", OP(SLOT, .serial = 5, .amount = 2), COMMIT_FAULT_AMOUNT},
	{"one of a serial", OP(SLOT, .serial = UINT64_MAX, .amount = -1), COMMIT_FAULT_NONE},
	{"a quest begins", OP(QUEST, .slot = 0, .amount = 65535), COMMIT_FAULT_NONE},
	{"a quest ends", OP(QUEST, .slot = 65535, .amount = 0), COMMIT_FAULT_NONE},
	{"a quest stays", OP(QUEST, .slot = 3, .amount = 3), COMMIT_FAULT_AMOUNT},
	{"a quest does not begin", OP(QUEST, .slot = 0, .amount = 0), COMMIT_FAULT_AMOUNT},
	{"a state beyond", OP(QUEST, .slot = 0, .amount = 65536), COMMIT_FAULT_AMOUNT},
	{"a quest with a serial", OP(QUEST, .serial = 1, .amount = 1), COMMIT_FAULT_FIELD},
	{"a place", OP(RESULT, .item = 1, .serial = 2, .amount = 1), COMMIT_FAULT_NONE},
	{"no place", OP(RESULT, .item = 1, .serial = 2, .amount = 0), COMMIT_FAULT_AMOUNT},
	{"a place beyond", OP(RESULT, .amount = 1ll << 31), COMMIT_FAULT_AMOUNT},
	{"a result with a slot", OP(RESULT, .slot = 1, .amount = 1), COMMIT_FAULT_FIELD},
	{"no such kind", {.kind = COMMIT_OP_KINDS, .amount = 1}, COMMIT_FAULT_KIND},
};

struct one {
	struct msg_commit head;
	struct commit_op op[COMMIT_OPS_MAX + 1];
};

static struct one good(void)
{
	struct one one = {.head = {.character_id = {1, 2}, .reason = COMMIT_REASON_LOOT, .ops = 2}};

	one.op[0] = one.op[1] = (struct commit_op)OP(GOLD, .amount = 1);
	return one;
}

static uint32_t bytes_of(uint32_t ops)
{
	return (uint32_t)(sizeof(struct msg_commit) + ops * sizeof(struct commit_op));
}

static void each_operation(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(OPS) / sizeof(OPS[0]); i++) {
		struct one one = good();
		uint32_t op = 9;

		print_message("%s\n", OPS[i].what);
		one.op[1] = OPS[i].op;
		assert_int_equal(commit_check(&one.head, bytes_of(2), &op), OPS[i].fault);
		assert_int_equal(op, OPS[i].fault ? 1 : 0);
	}
}

static void the_head(void **state)
{
	struct one one = good();
	uint32_t op;

	(void)state;
	assert_int_equal(commit_check(&one.head, bytes_of(1), &op), COMMIT_FAULT_SIZE);
	assert_int_equal(commit_check(&one.head, bytes_of(2) + 1, &op), COMMIT_FAULT_SIZE);
	one.head.ops = 0;
	assert_int_equal(commit_check(&one.head, bytes_of(0), &op), COMMIT_FAULT_SIZE);
	one.head.ops = COMMIT_OPS_MAX + 1;
	assert_int_equal(commit_check(&one.head, bytes_of(one.head.ops), &op), COMMIT_FAULT_SIZE);
	one.head.ops = UINT32_MAX;
	assert_int_equal(commit_check(&one.head, bytes_of(UINT32_MAX), &op), COMMIT_FAULT_SIZE);
	one = good();
	one.head.character_id[1] = 1;
	assert_int_equal(commit_check(&one.head, bytes_of(2), &op), COMMIT_FAULT_CHARACTERS);
	one.head.character_id[1] = 0;
	assert_int_equal(commit_check(&one.head, bytes_of(2), &op), COMMIT_FAULT_NONE);
	one.op[1].who = 1;
	assert_int_equal(commit_check(&one.head, bytes_of(2), &op), COMMIT_FAULT_WHO);
	one = good();
	one.head.reason = 0;
	assert_int_equal(commit_check(&one.head, bytes_of(2), &op), COMMIT_FAULT_REASON);
}

/* Which statement may carry it out. */
static void one_slot(void **state)
{
	struct one one = {.head = {.character_id = {1}, .ops = 1},
		.op = {{.kind = COMMIT_SLOT, .slot = 3, .item = 4, .amount = -1}}};

	(void)state;
	assert_true(commit_is_one_slot(&one.head));
	assert_true(commit_is_simple(&one.head));
	one.op[0].serial = 1;
	assert_false(commit_is_one_slot(&one.head));
	one.op[0].serial = 0;
	one.op[0].kind = COMMIT_GOLD;
	assert_false(commit_is_one_slot(&one.head));
	one.op[0].kind = COMMIT_SLOT;
	one.head.character_id[1] = 2;
	assert_false(commit_is_one_slot(&one.head));
	one.head.character_id[1] = 0;
	one.head.ops = 2;
	assert_false(commit_is_one_slot(&one.head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation),
		cmocka_unit_test(the_head),
		cmocka_unit_test(one_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
