/* What a trade would do to two bags: whether it can be done, and by which operations. */
#include "common/check.h"
#include "simulation/trade/trade.h"

#define NO_SLOT COMMIT_BAG_SLOTS

struct bag {
	struct trade_pile pile[COMMIT_BAG_SLOTS];
	uint64_t bound; /* a bit each slot: neither taken from nor put into */
};
_Static_assert(COMMIT_BAG_SLOTS <= 64, "a bit each slot");

static void look(struct bag *bag, const struct trade_ops *ops, uint32_t player)
{
	bag->bound = 0;
	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++)
		if (!ops->pile(ops->ctx, player, slot, &bag->pile[slot]))
			bag->bound |= 1ull << slot;
}

/* It must still be the very thing that was offered: another of its kind has another serial. */
static enum trade_refusal take(struct bag *bag, const struct trade_side *side)
{
	for (uint32_t i = 0; i < side->piles; i++) {
		const struct trade_offered *offered = &side->offered[i];
		struct trade_pile *pile = &bag->pile[offered->slot];

		if (bag->bound >> offered->slot & 1)
			return TRADE_REFUSAL_RESERVED;
		if (!pile->count || pile->item != offered->pile.item ||
			pile->serial != offered->pile.serial)
			return TRADE_REFUSAL_NOT_OWNED;
		if (pile->count < offered->pile.count)
			return TRADE_REFUSAL_NOT_ENOUGH;
		pile->count -= offered->pile.count;
	}
	return TRADE_TAKEN;
}

static uint32_t find_room(const struct bag *bag, const struct trade_pile *pile, uint32_t stack_max)
{
	uint32_t empty = NO_SLOT;

	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++) {
		const struct trade_pile *there = &bag->pile[slot];

		if (bag->bound >> slot & 1)
			continue;
		if (!there->count) {
			if (empty == NO_SLOT)
				empty = slot;
		} else if (!pile->serial && !there->serial && there->item == pile->item &&
			   (uint64_t)there->count + pile->count <= stack_max) {
			return slot;
		}
	}
	return empty;
}

static bool put(struct bag *bag, struct trade_side *from, const struct trade_ops *ops)
{
	for (uint32_t i = 0; i < from->piles; i++) {
		struct trade_offered *offered = &from->offered[i];
		uint32_t to = find_room(
			bag, &offered->pile, ops->stack_max(ops->ctx, offered->pile.item));

		if (to == NO_SLOT)
			return false;
		offered->to = (uint16_t)to;
		if (bag->pile[to].count) {
			bag->pile[to].count += offered->pile.count;
		} else {
			bag->pile[to] = offered->pile;
		}
	}
	return true;
}

enum trade_refusal trade_plan(struct trade *trade, const struct trade_ops *ops)
{
	struct bag bag[2];

	for (uint32_t who = 0; who < 2; who++) {
		const struct trade_side *side = &trade->side[who];
		enum trade_refusal refusal;

		if (side->gold > ops->gold(ops->ctx, side->player))
			return TRADE_REFUSAL_NOT_ENOUGH;
		look(&bag[who], ops, side->player);
		refusal = take(&bag[who], side);
		if (refusal != TRADE_TAKEN)
			return refusal;
	}
	for (uint32_t who = 0; who < 2; who++) {
		struct trade_side *giver = &trade->side[!who];

		if (!put(&bag[who], giver, ops))
			return TRADE_REFUSAL_NO_ROOM;
		if (giver->gold > INT64_MAX - ops->gold(ops->ctx, trade->side[who].player))
			return TRADE_REFUSAL_TOO_MUCH_GOLD;
	}
	return TRADE_TAKEN;
}

static struct commit_op gold_op(uint32_t who, int64_t amount)
{
	return (struct commit_op){.kind = COMMIT_GOLD, .who = (uint8_t)who, .amount = amount};
}

static struct commit_op slot_op(
	uint32_t who, uint32_t slot, const struct trade_pile *pile, int64_t amount)
{
	return (struct commit_op){.kind = COMMIT_SLOT,
		.who = (uint8_t)who,
		.slot = (uint16_t)slot,
		.item = pile->item,
		.amount = amount,
		.serial = pile->serial};
}

uint32_t trade_operations(const struct trade *trade, struct commit_op op[TRADE_OPS_MAX])
{
	uint32_t count = 0;

	for (uint32_t who = 0; who < 2; who++) {
		const struct trade_side *side = &trade->side[who];

		if (side->gold)
			op[count++] = gold_op(who, -side->gold);
		for (uint32_t i = 0; i < side->piles; i++)
			op[count++] = slot_op(who, side->offered[i].slot, &side->offered[i].pile,
				-(int64_t)side->offered[i].pile.count);
	}
	for (uint32_t who = 0; who < 2; who++) {
		const struct trade_side *side = &trade->side[who];

		if (side->gold)
			op[count++] = gold_op(!who, side->gold);
		for (uint32_t i = 0; i < side->piles; i++)
			op[count++] = slot_op(!who, side->offered[i].to, &side->offered[i].pile,
				side->offered[i].pile.count);
	}
	CHECK(count <= TRADE_OPS_MAX);
	return count;
}
