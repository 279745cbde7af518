/* What happens to a trade without a message: time, distance, the commit and its answer. */
#include "simulation/trade/trade.h"

static bool idle(const struct trade_table *table, const struct trade_side *side, uint32_t beat)
{
	return !side->confirmed && beat - side->beat > table->idle_beats;
}

/* The commit's way out. A refusal here means that a bag has changed since it was confirmed. */
static void hand_over(struct trade_table *table, const struct trade_ops *ops, struct trade *trade)
{
	struct commit_op op[TRADE_OPS_MAX];

	if (trade_plan(trade, ops) != TRADE_TAKEN) {
		trade_end(table, ops, trade, TRADE_END_CHANGED);
		return;
	}
	if (!ops->bind(ops->ctx, trade, op, trade_operations(trade, op)))
		return; /* no room now: tried again, and may still be called off */
	trade->state = TRADE_UNDER_WAY;
	trade->answered = false;
	trade->side[0].stale = trade->side[1].stale = true;
}

static void settle(struct trade_table *table, const struct trade_ops *ops, struct trade *trade)
{
	struct commit_op op[TRADE_OPS_MAX];
	uint32_t count = trade_operations(trade, op);

	for (uint32_t who = 0; who < 2; who++)
		if (trade->side[who].player != TRADE_NOBODY)
			ops->settle(ops->ctx, trade, who, op, count);
	switch (trade->answer.result) {
	case COMMIT_RESULT_OK:
		trade_end(table, ops, trade, TRADE_END_DONE);
		break;
	case COMMIT_RESULT_UNAVAILABLE:
	case COMMIT_RESULT_EXPIRED:
		trade_end(table, ops, trade, TRADE_END_UNAVAILABLE);
		break;
	default:
		trade_end(table, ops, trade, TRADE_END_REFUSED);
	}
}

/* Returns whether the trade goes on. */
static bool goes_on(
	struct trade_table *table, const struct trade_ops *ops, struct trade *trade, uint32_t beat)
{
	struct trade_side *side = trade->side;

	switch (ops->near(ops->ctx, side[0].player, side[1].player, trade->state == TRADE_OPEN)) {
	case TRADE_GONE:
		trade_end(table, ops, trade, TRADE_END_AWAY);
		return false;
	case TRADE_FAR:
		trade_end(table, ops, trade, TRADE_END_APART);
		return false;
	case TRADE_NEAR:
		break;
	}
	/* Who has asked waits for the other. */
	if (idle(table, &side[1], beat) ||
		(trade->state == TRADE_OPEN && idle(table, side, beat))) {
		trade_end(table, ops, trade, TRADE_END_IDLE);
		return false;
	}
	if (side[0].confirmed && side[1].confirmed)
		hand_over(table, ops, trade);
	return trade->state != TRADE_FREE;
}

bool trade_step(
	struct trade_table *table, const struct trade_ops *ops, uint32_t *cursor, uint32_t beat)
{
	struct trade *trade;

	if (*cursor > table->count)
		*cursor = table->count;
	if (!*cursor)
		return false;
	trade = &table->trades[table->active[--*cursor]];
	if (trade->state == TRADE_UNDER_WAY) {
		if (trade->answered) {
			settle(table, ops, trade);
			return true;
		}
	} else if (!goes_on(table, ops, trade, beat)) {
		return true;
	}
	for (uint32_t who = 0; who < 2; who++) {
		struct trade_side *side = &trade->side[who];

		if (!side->stale || side->player == TRADE_NOBODY)
			continue;
		side->stale = false;
		side->told = true;
		ops->tell(ops->ctx, trade, who);
		table->told++;
	}
	return true;
}
