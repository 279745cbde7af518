#include "simulation/action.h"

#include "proto/client.pb-c.h"
#include "simulation/bag.h"
#include "simulation/combat.h"
#include "simulation/dialogue.h"
#include "simulation/entity.h"
#include "simulation/loot.h"
#include "simulation/match/match.h"
#include "simulation/npc.h"
#include "simulation/quest.h"
#include "simulation/send.h"
#include "simulation/trading.h"

/* Returns an ActionRefusal; ACTION_REFUSAL_NONE when it was done. */
static uint32_t click(struct sim_map *m, uint32_t slot, uint32_t actor_id, uint32_t *cost)
{
	uint32_t target = sim_slot_of_wire_id(m, actor_id), refusal;

	if (sim_player(m, slot)->detail != SIM_DETAIL_READY)
		return SW__ACTION_REFUSAL__NOT_READY;
	if (!sim_is_alive(m, slot))
		return SW__ACTION_REFUSAL__DEAD;
	/* Who is not in view does not exist for this client: ids cannot be probed. */
	if (target == SIM_NONE || (target != slot && !sim_knows(m, slot, target)))
		return SW__ACTION_REFUSAL__NO_SUCH_ACTOR;
	if (m->entities[target].kind != SIM_NPC)
		return SW__ACTION_REFUSAL__NOT_AN_NPC;
	refusal = sim_reach(m, slot, target, SIM_CLICK_RANGE_MM);
	if (refusal)
		return refusal;
	if (sim_player(m, slot)->keeping)
		return SW__ACTION_REFUSAL__BUSY;
	sim_dialogue_end(m, slot); /* one conversation at a time */
	return sim_npc_click(m, target, slot, cost);
}

uint32_t sim_action_do(struct sim_shard *s, struct sim_map *m, const struct sim_action *action)
{
	uint32_t cost = SIM_COST_SLOT, refusal;

	if (!sim_is_present(m, action->slot) ||
		m->entities[action->slot].generation != action->generation)
		return cost;
	sim_player(m, action->slot)->actions--;
	switch (action->type) {
	case SW_MSG_CARD_PICK:
		refusal = sim_match_pick(m, action->slot, action->offer, action->card);
		cost += SIM_COST_SEND + SIM_COST_VIEW;
		break;
	case SW_MSG_ATTACK:
		refusal = sim_attack(m, action->slot, action->actor_id);
		cost += SIM_COST_BLOW;
		break;
	case SW_MSG_PICK_UP:
		refusal = sim_loot_pick(m, action->slot, action->actor_id);
		cost += SIM_COST_BLOW;
		break;
	case SW_MSG_MOVE_ITEM:
		refusal = sim_bag_move(m, action->slot, action->from, action->to, action->count);
		cost += SIM_COST_SEND;
		break;
	case SW_MSG_DROP_ITEM:
		refusal = sim_bag_drop(m, action->slot, action->from, action->count);
		cost += SIM_COST_SEND;
		break;
	case SW_MSG_TRADE_REQUEST:
	case SW_MSG_TRADE_OFFER:
	case SW_MSG_TRADE_CONFIRM:
	case SW_MSG_TRADE_CANCEL:
		refusal = sim_trade_do(m, action, &cost);
		break;
	case SW_MSG_DIALOGUE_ANSWER:
		refusal = sim_dialogue_answer(m, action->slot, action->offer, action->card, &cost);
		break;
	case SW_MSG_QUEST_ABANDON:
		refusal = sim_quest_abandon(m, action->slot, action->offer);
		cost += SIM_COST_SEND;
		break;
	default:
		refusal = click(m, action->slot, action->actor_id, &cost);
	}
	if (refusal) {
		sim_send_refused(s, m, action->slot, action->type, refusal);
		cost += SIM_COST_SEND;
	} else {
		sim_count(s, SIM_ACTIONS, 1);
	}
	return cost + sim_work_taken(m);
}
