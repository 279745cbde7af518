#include "simulation/keep.h"

#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/commit.h"
#include "simulation/entity.h"
#include "simulation/quest.h"
#include "simulation/random.h"

/* What the player would have, and the operations that lead there. */
struct plan {
	struct sim_map *m;
	uint32_t player;
	const char *npc; /* its name */
	struct sim_stack bag[COMMIT_BAG_SLOTS];
	int64_t gold, experience; /* added */
	uint32_t quests;          /* touched */
	uint32_t begun;
	bool items, full;
	uint32_t op_count;
	struct commit_op op[SIM_COMMIT_OPS_MAX];
};

static void add(struct plan *plan, struct commit_op op)
{
	if (plan->op_count == SIM_COMMIT_OPS_MAX)
		plan->full = true;
	else
		plan->op[plan->op_count++] = op;
}

static void change_slot(
	struct plan *plan, uint32_t slot, const struct sim_stack *what, int64_t amount)
{
	struct sim_stack *stack = &plan->bag[slot];

	add(plan, (struct commit_op){.kind = COMMIT_SLOT,
			  .slot = (uint16_t)slot,
			  .item = what->item,
			  .amount = amount,
			  .serial = what->serial});
	*stack = (struct sim_stack){.item = what->item,
		.count = (uint32_t)(stack->count + amount),
		.serial = what->serial};
	if (!stack->count)
		*stack = (struct sim_stack){0};
	plan->items = true;
}

static enum script_kept take(struct plan *plan, uint32_t item, uint64_t count)
{
	bool busy = false;

	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS && count; slot++) {
		struct sim_stack stack = plan->bag[slot];
		uint32_t part = stack.count < count ? stack.count : (uint32_t)count;

		if (!stack.count || stack.item != item)
			continue;
		if (sim_bag_busy(plan->m, plan->player, slot)) {
			busy = true;
			continue;
		}
		change_slot(plan, slot, &stack, -(int64_t)part);
		count -= part;
	}
	if (!count)
		return SCRIPT_KEPT_OK;
	return busy ? SCRIPT_KEPT_BUSY : SCRIPT_KEPT_NOT_ENOUGH;
}

/* A slot that takes some of it: of the same item first, then an empty one. */
static uint32_t slot_for(const struct plan *plan, const struct sim_item *item)
{
	uint32_t empty = SIM_NONE;

	for (uint32_t slot = 0; slot < COMMIT_BAG_SLOTS; slot++) {
		const struct sim_stack *stack = &plan->bag[slot];

		if (sim_bag_busy(plan->m, plan->player, slot))
			continue;
		if (!stack->count && empty == SIM_NONE)
			empty = slot;
		if (stack->count && stack->item == item->number && !stack->serial &&
			stack->count < item->stack_max)
			return slot;
	}
	return empty;
}

static enum script_kept give(struct plan *plan, uint32_t number, uint64_t count)
{
	const struct sim_item *item = sim_game_item(plan->m->game, number);

	if (!item)
		return SCRIPT_KEPT_REFUSED;
	while (count && !plan->full) {
		uint32_t slot = slot_for(plan, item), room;
		struct sim_stack part = {.item = number};

		if (slot == SIM_NONE)
			return SCRIPT_KEPT_BAG_FULL;
		room = item->stack_max - plan->bag[slot].count;
		part.count = count < room ? (uint32_t)count : room;
		if (item->stack_max == 1)
			part.serial = sim_random(&plan->m->shard->serials) | 1;
		change_slot(plan, slot, &part, part.count);
		count -= part.count;
	}
	return SCRIPT_KEPT_OK;
}

/* ---- quests ---- */

static enum script_kept set_quest(struct plan *plan, uint32_t index, uint32_t from, uint32_t to)
{
	const struct sim_quest *quest = &plan->m->game->quests[index];
	uint32_t number = quest->number;

	for (uint32_t i = 0; i < plan->op_count; i++)
		if (plan->op[i].kind == COMMIT_QUEST && plan->op[i].item == number)
			return SCRIPT_KEPT_QUEST_STATE; /* twice in one handler */
	/* Its row is made anew, and says from now on when it was done. */
	if (to == SIM_QUEST_DONE && quest->again_s) {
		add(plan, (struct commit_op){
				  .kind = COMMIT_QUEST, .slot = (uint16_t)from, .item = number});
		from = 0;
	}
	add(plan, (struct commit_op){.kind = COMMIT_QUEST,
			  .slot = (uint16_t)from,
			  .item = number,
			  .amount = to});
	plan->quests++;
	return SCRIPT_KEPT_OK;
}

static enum script_kept begin_quest(struct plan *plan, uint32_t index)
{
	struct sim_map *m = plan->m;
	const struct sim_quest *quest = &m->game->quests[index];
	const struct sim_quest_now *now = sim_quest_now(m, plan->player, index);
	enum script_kept kept;

	if (now->busy)
		return SCRIPT_KEPT_BUSY;
	if (!sim_quest_is_new(m, plan->player, index))
		return sim_quest_is_done(now->state) && quest->again_s ? SCRIPT_KEPT_QUEST_WAIT
								       : SCRIPT_KEPT_QUEST_STATE;
	if (!sim_quest_may_begin(m, plan->player, quest))
		return SCRIPT_KEPT_QUEST_BEFORE;
	if (m->quest_logs[plan->player].count + plan->begun >= SIM_QUESTS_OPEN)
		return SCRIPT_KEPT_QUESTS_FULL;
	plan->begun++;
	kept = set_quest(plan, index, now->state,
		sim_quest_state(sim_quest_first(m->game, quest)->number, 0));
	if (kept == SCRIPT_KEPT_OK && quest->gives_item)
		kept = give(plan, quest->gives_item, quest->gives_count);
	return kept;
}

/* The talk step that the quest stands at, which names this NPC. */
static const struct sim_quest_step *talk_step(
	const struct plan *plan, uint32_t index, enum script_kept *why)
{
	const struct sim_quest_now *now = sim_quest_now(plan->m, plan->player, index);
	const struct sim_quest_step *step =
		sim_quest_is_open(now->state)
			? sim_quest_step(plan->m->game, &plan->m->game->quests[index],
				  sim_quest_state_step(now->state))
			: NULL;

	*why = now->busy ? SCRIPT_KEPT_BUSY : SCRIPT_KEPT_QUEST_STATE;
	if (now->busy || !step || step->kind != SIM_QUEST_TALK || strcmp(step->talk, plan->npc))
		return NULL;
	return step;
}

static enum script_kept reward(struct plan *plan, const struct sim_quest *quest)
{
	enum script_kept kept = SCRIPT_KEPT_OK;

	plan->gold += quest->gold;
	plan->experience += quest->experience;
	for (uint32_t i = 0; i < quest->rewards.count && kept == SCRIPT_KEPT_OK; i++) {
		const struct sim_quest_reward *reward =
			&plan->m->game->quest_rewards[quest->rewards.first + i];

		kept = give(plan, reward->item, reward->count);
	}
	return kept;
}

static enum script_kept end_step(struct plan *plan, uint32_t index, bool last)
{
	const struct sim_game *game = plan->m->game;
	const struct sim_quest *quest = &game->quests[index];
	const struct sim_quest_step *step, *next;
	enum script_kept kept;

	step = talk_step(plan, index, &kept);
	if (!step)
		return kept;
	next = sim_quest_next(game, quest, step);
	if (last == (next != NULL))
		return SCRIPT_KEPT_QUEST_STATE;
	kept = set_quest(plan, index, sim_quest_now(plan->m, plan->player, index)->state,
		next ? sim_quest_state(next->number, 0) : SIM_QUEST_DONE);
	if (kept == SCRIPT_KEPT_OK && step->item)
		kept = take(plan, step->item, step->need);
	if (kept == SCRIPT_KEPT_OK && last)
		kept = reward(plan, quest);
	return kept;
}

/* ---- the commit ---- */

static enum script_kept change(struct plan *plan, const struct script_change *what)
{
	switch ((enum script_change_kind)what->kind) {
	case SCRIPT_TAKE_ITEM:
		return take(plan, what->what, (uint64_t)what->amount);
	case SCRIPT_GIVE_ITEM:
		return give(plan, what->what, (uint64_t)what->amount);
	case SCRIPT_ADD_GOLD:
		plan->gold += what->amount;
		return SCRIPT_KEPT_OK;
	case SCRIPT_ADD_EXPERIENCE:
		plan->experience += what->amount;
		return SCRIPT_KEPT_OK;
	case SCRIPT_BEGIN_QUEST:
		return begin_quest(plan, what->what);
	case SCRIPT_ADVANCE_QUEST:
		return end_step(plan, what->what, false);
	case SCRIPT_COMPLETE_QUEST:
		return end_step(plan, what->what, true);
	}
	return SCRIPT_KEPT_REFUSED;
}

static enum commit_reason reason_of(const struct plan *plan)
{
	if (plan->quests)
		return COMMIT_REASON_QUEST;
	return plan->items && plan->gold ? COMMIT_REASON_SHOP : COMMIT_REASON_SCRIPT;
}

static enum script_kept make_plan(
	struct plan *plan, const struct script_change *changes, uint32_t count)
{
	int64_t gold =
		sim_player(plan->m, plan->player)->gold - plan->m->bags[plan->player].gold_bound;

	for (uint32_t i = 0; i < count; i++) {
		enum script_kept kept = change(plan, &changes[i]);

		if (kept != SCRIPT_KEPT_OK)
			return kept;
	}
	if (plan->gold < 0 && gold + plan->gold < 0)
		return SCRIPT_KEPT_NOT_ENOUGH;
	if (plan->gold)
		add(plan, (struct commit_op){.kind = COMMIT_GOLD, .amount = plan->gold});
	if (plan->experience)
		add(plan,
			(struct commit_op){.kind = COMMIT_EXPERIENCE, .amount = plan->experience});
	return plan->full ? SCRIPT_KEPT_TOO_MANY : SCRIPT_KEPT_OK;
}

/* What can be asked for now, as operations. */
static enum script_kept plan_all(
	struct plan *plan, const struct script_change *changes, uint32_t count)
{
	struct sim_map *m = plan->m;
	const struct sim_player *p = sim_player(m, plan->player);

	if (!sim_is_present(m, plan->player) || p->leave_wanted || p->detail != SIM_DETAIL_READY)
		return SCRIPT_KEPT_NOT_READY;
	if (!sim_commit_room(m, plan->player))
		return SCRIPT_KEPT_BUSY;
	memcpy(plan->bag, m->bags[plan->player].stack, sizeof(plan->bag));
	sim_work(m, SIM_COST_TRADE_PLAN);
	return make_plan(plan, changes, count);
}

enum script_kept sim_keep(struct sim_map *m, uint32_t npc, uint32_t player,
	const struct script_change *changes, uint32_t count, uint32_t job)
{
	struct sim_player *p = sim_player(m, player);
	struct plan plan = {.m = m, .player = player, .npc = ""};
	enum script_kept kept;

	if (npc != SIM_NONE) {
		plan.npc = m->npcs[npc - m->player_slots].name;
		if (sim_is_present(m, player) && p->detail == SIM_DETAIL_READY &&
			(!sim_is_alive(m, player) || sim_reach(m, player, npc, SIM_CLICK_RANGE_MM)))
			return SCRIPT_KEPT_TOO_FAR;
	}
	if (p->keeping)
		return SCRIPT_KEPT_BUSY;
	kept = plan_all(&plan, changes, count);
	if (kept != SCRIPT_KEPT_OK || !plan.op_count)
		return kept;
	if (!sim_commit_script(m, player, reason_of(&plan), job, plan.op, plan.op_count))
		return SCRIPT_KEPT_UNAVAILABLE;
	p->keeping = true;
	return SCRIPT_KEPT_PENDING;
}

enum script_kept sim_keep_intent(struct sim_map *m, uint32_t player,
	const struct script_change *changes, uint32_t count, uint32_t number)
{
	struct plan plan = {.m = m, .player = player, .npc = ""};
	enum script_kept kept = plan_all(&plan, changes, count);

	if (kept != SCRIPT_KEPT_OK || !plan.op_count)
		return kept;
	return sim_commit_intent(m, player, reason_of(&plan), number, plan.op, plan.op_count)
		       ? SCRIPT_KEPT_PENDING
		       : SCRIPT_KEPT_UNAVAILABLE;
}

void sim_keep_quest(
	const struct sim_map *m, uint32_t player, uint32_t quest, struct script_quest *out)
{
	const struct sim_quest_now *now = sim_quest_now(m, player, quest);

	*out = (struct script_quest){.phase = SCRIPT_QUEST_UNKNOWN};
	if (m->players_table[player].detail != SIM_DETAIL_READY)
		return;
	if (sim_quest_is_new(m, player, quest)) {
		out->phase = sim_quest_may_begin(m, player, &m->game->quests[quest])
				     ? SCRIPT_QUEST_NEW
				     : SCRIPT_QUEST_LOCKED;
	} else if (sim_quest_is_done(now->state)) {
		out->phase = SCRIPT_QUEST_DONE;
		if (m->game->quests[quest].again_s)
			out->wait_s = sim_quest_wait_s(m, player, quest);
	}
	if (!sim_quest_is_open(now->state))
		return;
	out->phase = SCRIPT_QUEST_OPEN;
	out->step = sim_quest_state_step(now->state);
	out->count = sim_quest_state_count(now->state);
}
