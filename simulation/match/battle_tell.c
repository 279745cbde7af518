/* What the rule battle tells its players: MatchState, MatchResult. */
#include "proto/client.pb-c.h"
#include "simulation/match/battle.h"
#include "simulation/send.h"

/* Milliseconds that the phase lasts yet, at most. */
static uint32_t left_ms(const struct sim_map *m, const struct battle *b)
{
	static const uint32_t show_s = BATTLE_SHOW_S;
	const uint32_t lasts_s[] = {[SW__MATCH_PHASE__COUNTDOWN] = m->config.countdown_s,
		[SW__MATCH_PHASE__FIGHT] = m->config.match_s,
		[SW__MATCH_PHASE__OVER] = show_s};
	uint64_t lasts_ms = lasts_s[b->phase] * 1000ull, since_ms = sim_match_ms(m) - b->phase_ms;

	return lasts_ms > since_ms ? (uint32_t)(lasts_ms - since_ms) : 0;
}

static void describe(const struct sim_map *m, const struct battle *b, Sw__MatchState *state)
{
	const struct sim_battle_stage *stage = battle_stage(m, b);
	uint64_t fight_ms = sim_match_ms(m) - b->phase_ms;
	bool fight = b->phase == SW__MATCH_PHASE__FIGHT;

	state->phase = (Sw__MatchPhase)b->phase;
	state->left_ms = left_ms(m, b);
	state->players = fight ? b->alive : b->here;
	if (!fight || !stage)
		return;
	state->zone_x_mm = battle_x(m);
	state->zone_y_mm = battle_y(m);
	state->zone_radius_mm = battle_radius(m, b, fight_ms);
	state->next_radius_mm = battle_next_radius(m, b);
	state->shrink_ms = battle_shrink_ms(m, b, fight_ms);
	state->damage_per_s = stage->damage;
}

uint32_t battle_tell_state(struct sim_map *m, struct battle *b)
{
	Sw__MatchState state = SW__MATCH_STATE__INIT;
	uint32_t cost = m->player_slots * SIM_COST_SLOT;

	describe(m, b, &state);
	b->tell = 0;
	for (uint32_t slot = 0; slot < m->player_slots; slot++) {
		const struct sim_player *p = sim_player(m, slot);

		if (!sim_is_present(m, slot))
			continue;
		if (p->owed & SIM_OWE_JOINED) {
			b->tell = 1; /* it has to hear Joined first */
			continue;
		}
		state.speed_mm_per_s = m->match.hold ? 0 : p->speed_mm_per_s;
		sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION,
			(uint32_t)sw__match_state__pack(
				&state, sim_send_begin(m->shard, SW_MSG_MATCH_STATE)));
		cost += SIM_COST_SEND;
	}
	return cost;
}

uint32_t battle_tell_result(struct sim_map *m, const struct battle *b)
{
	Sw__MatchResult result = SW__MATCH_RESULT__INIT;
	Sw__MatchRank ranks[BATTLE_PLAYERS_MAX], *list[BATTLE_PLAYERS_MAX];
	uint32_t count = 0, cost = b->fighters * b->fighters * SIM_COST_SLOT;

	for (uint32_t place = 1; place <= b->fighters; place++)
		for (uint32_t i = 0; i < b->fighters; i++) {
			const struct battle_fighter *fighter = &b->fighter[i];

			if (fighter->place != place)
				continue;
			ranks[count] = (Sw__MatchRank)SW__MATCH_RANK__INIT;
			ranks[count].place = place;
			ranks[count].name = (char *)fighter->name;
			ranks[count].actor_id = fighter->wire_id;
			list[count] = &ranks[count];
			count++;
		}
	result.draw = b->draw;
	result.n_ranks = count;
	result.ranks = list;
	for (uint32_t slot = 0; slot < m->player_slots; slot++) {
		if (!sim_is_present(m, slot))
			continue;
		sim_send_reliable(m->shard, m, slot, SW_CHANNEL_SESSION,
			(uint32_t)sw__match_result__pack(
				&result, sim_send_begin(m->shard, SW_MSG_MATCH_RESULT)));
		cost += SIM_COST_SEND;
	}
	return cost;
}
