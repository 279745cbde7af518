/* The rule battle's cards: each who stands is offered three, drawn by the map's seeded random,
 * takes one, or gets the first when the time is up. What a card adds lasts for the match. */
#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/match/battle.h"
#include "simulation/match/cards.h"
#include "simulation/random.h"

static uint32_t take(struct sim_map *m, struct battle *b, struct battle_fighter *fighter,
	uint32_t at, bool by_default)
{
	fighter->offered_count = 0;
	return sim_cards_take(m, fighter->slot, b->offer, fighter->offered[at], by_default);
}

static bool stands(const struct sim_map *m, const struct battle_fighter *fighter)
{
	return !fighter->place && !fighter->left && sim_is_alive(m, fighter->slot);
}

uint32_t battle_offer(struct sim_map *m, struct battle *b, uint32_t pick_s)
{
	uint32_t cards = m->game->card_count, cost = SIM_COST_SLOT;

	if (!cards)
		return cost;
	b->offer++;
	b->offer_ms = sim_match_ms(m) + pick_s * 1000ull;
	for (uint32_t i = 0; i < b->fighters; i++) {
		struct battle_fighter *fighter = &b->fighter[i];

		if (!stands(m, fighter))
			continue;
		fighter->offered_count = 0;
		while (fighter->offered_count < BATTLE_CARDS && fighter->offered_count < cards) {
			uint32_t card = sim_random_below(&m->random, cards), same = 0;

			/* Taken already: the next one after it that is free. */
			for (uint32_t k = 0; k < fighter->offered_count; k = same ? 0 : k + 1) {
				same = fighter->offered[k] == card;
				card = same ? (card + 1) % cards : card;
			}
			fighter->offered[fighter->offered_count++] = card;
		}
		cost += sim_cards_offer(m, fighter->slot, b->offer, fighter->offered,
			fighter->offered_count, pick_s * 1000);
	}
	return cost;
}

uint32_t battle_offer_tick(struct sim_map *m, struct battle *b)
{
	uint32_t cost = SIM_COST_SLOT;

	if (!b->offer_ms || sim_match_ms(m) < b->offer_ms)
		return cost;
	b->offer_ms = 0;
	for (uint32_t i = 0; i < b->fighters; i++) {
		if (b->fighter[i].offered_count && stands(m, &b->fighter[i]))
			cost += take(m, b, &b->fighter[i], 0, true);
		b->fighter[i].offered_count = 0;
	}
	return cost;
}

uint32_t battle_pick(struct sim_map *m, void *state, uint32_t slot, uint32_t offer, uint32_t card)
{
	struct battle *b = state;

	if (b->phase != SW__MATCH_PHASE__FIGHT || !b->offer_ms || offer != b->offer)
		return SW__ACTION_REFUSAL__NO_OFFER;
	for (uint32_t i = 0; i < b->fighters; i++) {
		struct battle_fighter *fighter = &b->fighter[i];

		if (fighter->slot != slot || !stands(m, fighter) || !fighter->offered_count)
			continue;
		for (uint32_t k = 0; k < fighter->offered_count; k++) {
			if (m->game->cards[fighter->offered[k]].number != card)
				continue;
			take(m, b, fighter, k, false);
			return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
		}
		return SW__ACTION_REFUSAL__NO_SUCH_CARD;
	}
	return SW__ACTION_REFUSAL__NO_OFFER;
}
