#include "simulation/bag.h"

#include "common/commit.h"
#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/loot.h"
#include "simulation/wire.h"

static uint32_t stack_max(const struct sim_map *m, uint32_t number)
{
	const struct sim_item *item = sim_game_item(m->game, number);

	return item ? item->stack_max
		    : 1; /* what the game does not know any more is kept, no more */
}

/* Whether a slot takes such an item. */
static bool takes(const struct sim_map *m, uint32_t slot, uint32_t number)
{
	const struct sim_item *item = sim_game_item(m->game, number);

	if (slot < COMMIT_EQUIP_FIRST)
		return true;
	return item && item->equip != SIM_NO_SLOT && item->equip == slot - COMMIT_EQUIP_FIRST;
}

static struct commit_op change(uint32_t slot, const struct sim_stack *stack, int64_t amount)
{
	return (struct commit_op){.kind = COMMIT_SLOT,
		.slot = (uint16_t)slot,
		.item = stack->item,
		.amount = amount,
		.serial = stack->serial};
}

/* What goes for every action with things. */
static uint32_t may_act(const struct sim_map *m, uint32_t player)
{
	if (m->players_table[player].detail != SIM_DETAIL_READY)
		return SW__ACTION_REFUSAL__NOT_READY;
	if (!sim_is_alive(m, player))
		return SW__ACTION_REFUSAL__DEAD;
	return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
}

/* The operations of a move; *refusal when it is not one. */
static uint32_t plan_move(struct sim_map *m, uint32_t player, uint32_t from, uint32_t to,
	uint32_t count, struct commit_op op[4], uint32_t *refusal)
{
	const struct sim_stack *source = sim_bag_at(m, player, from);
	const struct sim_stack *target = sim_bag_at(m, player, to);
	uint32_t most;

	*refusal = SW__ACTION_REFUSAL__WRONG_SLOT;
	if (!takes(m, to, source->item))
		return 0;
	if (!target->count ||
		(target->item == source->item && !source->serial && !target->serial)) {
		most = to >= COMMIT_EQUIP_FIRST ? 1 : stack_max(m, source->item);
		if (!target->count && count > most && count == source->count &&
			to < COMMIT_EQUIP_FIRST)
			most = count; /* a stack from times when more was allowed moves whole */
		if (target->count >= most)
			return 0;
		if (count > most - target->count)
			count = most - target->count;
		op[0] = change(from, source, -(int64_t)count);
		op[1] = change(to, source, count);
		return 2;
	}
	if (count != source->count || !takes(m, from, target->item))
		return 0;
	op[0] = change(from, source, -(int64_t)source->count);
	op[1] = change(to, target, -(int64_t)target->count);
	op[2] = change(from, target, target->count);
	op[3] = change(to, source, source->count);
	return 4;
}

uint32_t sim_bag_move(
	struct sim_map *m, uint32_t player, uint32_t from, uint32_t to, uint32_t count)
{
	const struct sim_stack *source = sim_bag_at(m, player, from);
	uint32_t refusal = may_act(m, player), ops;
	struct commit_op op[4];

	if (refusal)
		return refusal;
	if (!source || !sim_bag_at(m, player, to) || from == to)
		return SW__ACTION_REFUSAL__NO_SUCH_SLOT;
	if (sim_bag_busy(m, player, from) || sim_bag_busy(m, player, to))
		return SW__ACTION_REFUSAL__BUSY;
	if (!source->count)
		return SW__ACTION_REFUSAL__EMPTY_SLOT;
	if (count > source->count)
		return SW__ACTION_REFUSAL__NOT_ENOUGH;
	ops = plan_move(m, player, from, to, count ? count : source->count, op, &refusal);
	if (!ops)
		return refusal;
	if (!sim_commit_ask(m, player, COMMIT_REASON_EQUIP, SW_MSG_MOVE_ITEM, SIM_NONE, op, ops))
		return SW__ACTION_REFUSAL__BUSY;
	return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
}

uint32_t sim_bag_drop(struct sim_map *m, uint32_t player, uint32_t from, uint32_t count)
{
	const struct sim_stack *source = sim_bag_at(m, player, from);
	uint32_t refusal = may_act(m, player), loot;
	struct commit_op op;

	if (refusal)
		return refusal;
	if (!source)
		return SW__ACTION_REFUSAL__NO_SUCH_SLOT;
	if (sim_bag_busy(m, player, from))
		return SW__ACTION_REFUSAL__BUSY;
	if (!source->count)
		return SW__ACTION_REFUSAL__EMPTY_SLOT;
	if (count > source->count)
		return SW__ACTION_REFUSAL__NOT_ENOUGH;
	if (!count)
		count = source->count;
	loot = sim_loot_reserve(m, player, source->item, count, source->serial);
	if (loot == SIM_NONE)
		return SW__ACTION_REFUSAL__GROUND_FULL;
	op = change(from, source, -(int64_t)count);
	if (sim_commit_ask(m, player, COMMIT_REASON_DROP, SW_MSG_DROP_ITEM, loot, &op, 1))
		return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
	sim_loot_release(m, loot);
	return SW__ACTION_REFUSAL__BUSY;
}

uint32_t sim_bag_room(
	struct sim_map *m, uint32_t player, uint32_t item, uint32_t count, uint64_t serial)
{
	uint32_t most = stack_max(m, item), empty = SIM_NONE;

	sim_work(m, COMMIT_BAG_SLOTS * SIM_COST_SLOT);
	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++) {
		const struct sim_stack *stack = sim_bag_at(m, player, slot);

		if (sim_bag_busy(m, player, slot))
			continue;
		if (!stack->count && empty == SIM_NONE)
			empty = slot;
		if (!serial && stack->count && stack->item == item && !stack->serial &&
			stack->count < most && count <= most - stack->count)
			return slot;
	}
	return empty;
}

uint8_t *sim_bag_write(const struct sim_map *m, uint32_t player, uint8_t *at)
{
	for (uint32_t i = 0; i < COMMIT_SLOTS_MAX; i++) {
		const struct sim_stack *stack = &m->bags[player].stack[i];
		uint8_t body[16], *end = body;

		if (!stack->count)
			continue;
		end = wire_u32(end, 1,
			i < COMMIT_BAG_SLOTS ? i : COMMIT_EQUIP_FIRST + i - COMMIT_BAG_SLOTS);
		end = wire_u32(end, 2, stack->item);
		end = wire_u32(end, 3, stack->count);
		at = wire_bytes(at, 1, body, (uint32_t)(end - body));
	}
	return at;
}
