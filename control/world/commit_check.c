#include "control/world/commit_check.h"

#include <stddef.h>

const char *commit_fault_text(enum commit_fault fault)
{
	static const char *const TEXT[] = {
#define COMMIT_FAULT_TEXT(name, text) text,
		COMMIT_FAULTS(COMMIT_FAULT_TEXT)
#undef COMMIT_FAULT_TEXT
	};

	return fault < COMMIT_FAULT_COUNT ? TEXT[fault] : "?";
}

static bool reason_is_known(uint32_t reason)
{
	switch (reason) {
#define COMMIT_REASON_CASE(name, value, text) case value:
		COMMIT_REASONS(COMMIT_REASON_CASE)
#undef COMMIT_REASON_CASE
		return true;
	default:
		return false;
	}
}

static bool slot_is_known(uint32_t slot)
{
	return slot < COMMIT_BAG_SLOTS ||
	       (slot >= COMMIT_EQUIP_FIRST && slot < COMMIT_EQUIP_FIRST + COMMIT_EQUIP_SLOTS);
}

static enum commit_fault check_op(const struct commit_op *op)
{
	/* -INT64_MIN has no place. */
	bool amount = op->amount != 0 && op->amount != INT64_MIN;
	bool unused = false;

	switch (op->kind) {
	case COMMIT_GOLD:
		amount = op->amount != INT64_MIN;
		unused = op->slot || op->item || op->serial;
		break;
	case COMMIT_EXPERIENCE:
		amount = op->amount >= 0;
		unused = op->slot || op->item || op->serial;
		break;
	case COMMIT_SLOT:
		if (!slot_is_known(op->slot))
			return COMMIT_FAULT_SLOT;
		if (op->serial)
			amount = op->amount == 1 || op->amount == -1;
		break;
	case COMMIT_QUEST:
		amount = op->amount >= 0 && op->amount <= (int64_t)COMMIT_STATE_MAX &&
			 op->amount != op->slot;
		unused = op->serial != 0;
		break;
	case COMMIT_RESULT:
		amount = op->amount >= 1 && op->amount <= INT32_MAX;
		unused = op->slot != 0;
		break;
	default:
		return COMMIT_FAULT_KIND;
	}
	if (op->item > INT32_MAX)
		return COMMIT_FAULT_NUMBER;
	if (unused)
		return COMMIT_FAULT_FIELD;
	return amount ? COMMIT_FAULT_NONE : COMMIT_FAULT_AMOUNT;
}

enum commit_fault commit_check(
	const struct msg_commit *commit, uint32_t payload_bytes, uint32_t *op)
{
	*op = 0;
	if (commit->ops < 1 || commit->ops > COMMIT_OPS_MAX ||
		payload_bytes != sizeof(*commit) + commit->ops * sizeof(struct commit_op))
		return COMMIT_FAULT_SIZE;
	if (commit->character_id[0] == commit->character_id[1])
		return COMMIT_FAULT_CHARACTERS;
	if (!reason_is_known(commit->reason))
		return COMMIT_FAULT_REASON;
	for (*op = 0; *op < commit->ops; ++*op) {
		const struct commit_op *o = &commit->op[*op];
		enum commit_fault fault = check_op(o);

		if (fault == COMMIT_FAULT_NONE &&
			(o->who > 1 || (o->who == 1 && commit->character_id[1] == 0)))
			fault = COMMIT_FAULT_WHO;
		if (fault != COMMIT_FAULT_NONE)
			return fault;
	}
	*op = 0;
	return COMMIT_FAULT_NONE;
}

bool commit_is_simple(const struct msg_commit *commit)
{
	if (commit->ops > COMMIT_SIMPLE_OPS)
		return false;
	for (uint32_t i = 0; i < commit->ops; i++) {
		const struct commit_op *a = &commit->op[i];

		if ((a->kind != COMMIT_GOLD && a->kind != COMMIT_EXPERIENCE &&
			    a->kind != COMMIT_SLOT) ||
			a->serial != 0)
			return false;
		for (uint32_t k = 0; k < i; k++) {
			const struct commit_op *b = &commit->op[k];

			if (a->kind == b->kind && a->who == b->who && a->slot == b->slot)
				return false;
		}
	}
	return true;
}

bool commit_is_one_slot(const struct msg_commit *commit)
{
	return commit->ops == 1 && commit->character_id[1] == 0 &&
	       commit->op[0].kind == COMMIT_SLOT && commit->op[0].serial == 0;
}
