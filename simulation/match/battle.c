/* The rule battle: the last one standing wins.
 *
 *   waiting    until start_players are there, or two and start_wait has passed since somebody came;
 *              a room that was empty for empty_time, or in which one waited for match_time, ends
 *   countdown  nobody moves or strikes, the doors are locked; back to waiting if fewer than two
 *              stay
 *   fight      the doors are closed. Players may strike each other, members of one party as well.
 *              The stages of battle.yaml come at their times: the zone shrinks around the middle of
 *              the map, whoever is outside of it loses health each second, cards are offered. Who
 *              dies or leaves has fallen.
 *   over       the results are told and kept; after BATTLE_SHOW_S everybody goes home
 *
 * From the countdown on nobody trades: what one owns when it begins is what one fights with, and
 * the fallen own it still.
 *
 * The fight ends when at most one is left, or after match_time. Places: who falls gets the number
 * of those still standing then, and one; who fall in the same tick share theirs. When the time is
 * up, those standing are ranked by health, then by how near the middle they are; equal ones share.
 * A shared first place is a draw. Each place is kept once, at the moment it is known. */
#include "simulation/match/battle.h"

#include "proto/client.pb-c.h"
#include "simulation/combat.h"
#include "simulation/entity.h"
#include "simulation/view.h"

#define SECONDS_MAX 5u /* of the zone in one tick, after a pause of the map */

/* ---- the zone ---- */

const struct sim_battle_stage *battle_stage(const struct sim_map *m, const struct battle *b)
{
	return b->stages ? &m->game->stages[b->stages - 1] : NULL;
}

/* That holds the whole map. */
static uint32_t whole_mm(const struct sim_map *m)
{
	return (m->rules.width_mm + m->rules.height_mm) / 2 + 1;
}

uint32_t battle_next_radius(const struct sim_map *m, const struct battle *b)
{
	const struct sim_battle_stage *stage = battle_stage(m, b);
	uint32_t half =
		(m->rules.width_mm < m->rules.height_mm ? m->rules.width_mm : m->rules.height_mm) /
		2;
	uint32_t next =
		stage ? (uint32_t)((uint64_t)half * stage->radius_permille / 1000) : whole_mm(m);

	return next < b->from_mm ? next : b->from_mm;
}

uint32_t battle_shrink_ms(const struct sim_map *m, const struct battle *b, uint64_t fight_ms)
{
	const struct sim_battle_stage *stage = battle_stage(m, b);
	uint64_t end_ms = stage ? ((uint64_t)stage->at_s + stage->shrink_s) * 1000 : 0;

	return end_ms > fight_ms ? (uint32_t)(end_ms - fight_ms) : 0;
}

uint32_t battle_radius(const struct sim_map *m, const struct battle *b, uint64_t fight_ms)
{
	const struct sim_battle_stage *stage = battle_stage(m, b);
	uint32_t next = battle_next_radius(m, b), left_ms = battle_shrink_ms(m, b, fight_ms);

	if (!left_ms)
		return next;
	return next +
	       (uint32_t)((uint64_t)(b->from_mm - next) * left_ms / (stage->shrink_s * 1000));
}

static uint32_t zone_tick(struct sim_map *m, struct battle *b, uint64_t fight_ms)
{
	const struct sim_battle_stage *stage = battle_stage(m, b);
	uint32_t passed = (uint32_t)(fight_ms / 1000) - b->seconds;
	int64_t radius;

	if (!passed)
		return 0;
	b->seconds += passed;
	if (!stage || !stage->damage)
		return SIM_COST_SLOT;
	if (passed > SECONDS_MAX)
		passed = SECONDS_MAX;
	radius = battle_radius(m, b, fight_ms);
	for (uint32_t i = 0; i < b->fighters; i++) {
		const struct battle_fighter *fighter = &b->fighter[i];

		if (!fighter->place && !fighter->left && sim_is_alive(m, fighter->slot) &&
			battle_far2(m, fighter->slot) > radius * radius)
			sim_hurt(m, SIM_NONE, fighter->slot, stage->damage * passed);
	}
	return b->fighters * SIM_COST_BLOW;
}

/* ---- who falls, who wins ---- */

static bool has_fallen(const struct sim_map *m, const struct battle_fighter *fighter)
{
	return fighter->left || !sim_is_alive(m, fighter->slot);
}

static void give_place(struct sim_map *m, struct battle_fighter *fighter, uint32_t place)
{
	fighter->place = place;
	sim_match_result(m, &fighter->who, place);
}

static void fallen_tick(struct sim_map *m, struct battle *b)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < b->fighters; i++) {
		struct battle_fighter *fighter = &b->fighter[i];

		if (!fighter->place && !has_fallen(m, fighter))
			alive++;
	}
	if (alive == b->alive)
		return;
	for (uint32_t i = 0; i < b->fighters; i++)
		if (!b->fighter[i].place && has_fallen(m, &b->fighter[i])) {
			b->fighter[i].fallen = 1;
			give_place(m, &b->fighter[i], alive + 1);
		}
	b->alive = alive;
	b->tell = 1;
}

/* Whether a stands before b; neither does when they are equal. */
static bool before(const struct sim_map *m, uint32_t a, uint32_t b)
{
	if (m->bodies[a].health != m->bodies[b].health)
		return m->bodies[a].health > m->bodies[b].health;
	return battle_far2(m, a) < battle_far2(m, b);
}

/* Of those who still stand: one more than stand before it. */
static void rank_standing(struct sim_map *m, struct battle *b)
{
	uint32_t places[BATTLE_PLAYERS_MAX] = {0};

	for (uint32_t i = 0; i < b->fighters; i++) {
		if (b->fighter[i].place)
			continue;
		places[i] = 1;
		for (uint32_t k = 0; k < b->fighters; k++)
			places[i] += !b->fighter[k].place &&
				     before(m, b->fighter[k].slot, b->fighter[i].slot);
	}
	for (uint32_t i = 0; i < b->fighters; i++)
		if (!b->fighter[i].place)
			give_place(m, &b->fighter[i], places[i]);
}

/* ---- phases ---- */

static void enter(struct sim_map *m, struct battle *b, uint32_t phase)
{
	b->phase = phase;
	b->phase_ms = sim_match_ms(m);
	b->tell = 1;
	m->match.hold = phase == SW__MATCH_PHASE__COUNTDOWN || phase == SW__MATCH_PHASE__OVER;
	/* One stands in the end: of members of one party, too. */
	m->match.alone = m->match.pvp = m->match.mortal = phase == SW__MATCH_PHASE__FIGHT;
	/* Over: the dead stay dead, too. */
	m->match.mortal |= phase == SW__MATCH_PHASE__OVER;
}

static void opened(struct sim_map *m, void *state)
{
	struct battle *b = state;

	b->waiting_ms = sim_match_ms(m);
	b->from_mm = whole_mm(m);
	enter(m, b, SW__MATCH_PHASE__WAITING);
}

static void joined(struct sim_map *m, void *state, uint32_t slot, bool returning)
{
	struct battle *b = state;

	(void)slot;
	(void)returning;
	if (!b->here++)
		b->waiting_ms = sim_match_ms(m);
	b->tell = 1;
}

static void left(struct sim_map *m, void *state, uint32_t slot)
{
	struct battle *b = state;

	if (!--b->here)
		b->waiting_ms = sim_match_ms(m);
	b->tell = 1;
	for (uint32_t i = 0; i < b->fighters; i++)
		if (b->fighter[i].slot == slot)
			b->fighter[i].left = 1;
}

static uint32_t waiting_tick(struct sim_map *m, struct battle *b, uint64_t now_ms)
{
	uint64_t waited_ms = now_ms - b->waiting_ms;

	if (b->here >= m->config.start_players ||
		(b->here >= 2 && waited_ms >= m->config.start_wait_s * 1000ull)) {
		enter(m, b, SW__MATCH_PHASE__COUNTDOWN);
		sim_match_lock(m, true);
	} else if (waited_ms >= (b->here ? m->config.match_s : m->config.empty_s) * 1000ull ||
		   (m->match.closing && b->here < 2)) { /* nobody can come any more */
		sim_match_end(m);
	}
	return SIM_COST_SLOT;
}

static void add_fighter(struct sim_map *m, struct battle *b, uint32_t slot)
{
	struct battle_fighter *fighter = &b->fighter[b->fighters++];
	uint32_t before = m->bodies[slot].health;

	fighter->who = sim_match_who(m, slot);
	fighter->slot = slot;
	fighter->wire_id = m->entities[slot].wire_id;
	memcpy(fighter->name, sim_player(m, slot)->name, sizeof(fighter->name));
	sim_body_player(m, slot, true);
	sim_player(m, slot)->tell |= SIM_TELL_STATUS;
	if (m->bodies[slot].health != before)
		sim_view_renew(m, slot); /* the others know it hurt, or dead */
}

static uint32_t countdown_tick(struct sim_map *m, struct battle *b, uint64_t now_ms)
{
	if (b->here < 2) {
		enter(m, b, SW__MATCH_PHASE__WAITING);
		b->waiting_ms = now_ms;
		sim_match_lock(m, false);
		return SIM_COST_SLOT;
	}
	if (now_ms - b->phase_ms < m->config.countdown_s * 1000ull)
		return SIM_COST_SLOT;
	sim_match_close(m);
	enter(m, b, SW__MATCH_PHASE__FIGHT);
	for (uint32_t slot = 0; slot < m->player_slots && b->fighters < BATTLE_PLAYERS_MAX; slot++)
		if (sim_is_present(m, slot) && !sim_player(m, slot)->leave_wanted)
			add_fighter(m, b, slot);
	b->alive = b->fighters;
	return m->player_slots * SIM_COST_SLOT + b->fighters * SIM_COST_VIEW;
}

static uint32_t fight_tick(struct sim_map *m, struct battle *b, uint64_t fight_ms)
{
	uint32_t cost = 2 * b->fighters * SIM_COST_SLOT;

	while (b->stages < m->game->stage_count &&
		m->game->stages[b->stages].at_s * 1000ull <= fight_ms) {
		b->from_mm = battle_radius(m, b, fight_ms);
		b->stages++;
		b->tell = 1;
		if (battle_stage(m, b)->pick_s)
			cost += battle_offer(m, b, battle_stage(m, b)->pick_s);
	}
	cost += battle_offer_tick(m, b);
	cost += zone_tick(m, b, fight_ms);
	fallen_tick(m, b);
	if (b->alive > 1 && fight_ms < m->config.match_s * 1000ull)
		return cost;
	rank_standing(m, b);
	for (uint32_t i = 0, first = 0; i < b->fighters; i++)
		b->draw = (first += b->fighter[i].place == 1) > 1;
	enter(m, b, SW__MATCH_PHASE__OVER);
	sim_count(m->shard, SIM_MATCHES, 1);
	return cost + battle_tell_result(m, b);
}

static uint32_t tick(struct sim_map *m, void *state)
{
	struct battle *b = state;
	uint64_t now_ms = sim_match_ms(m), since_ms = now_ms - b->phase_ms;
	uint32_t cost = 0;

	switch (b->phase) {
	case SW__MATCH_PHASE__WAITING:
		cost = waiting_tick(m, b, now_ms);
		break;
	case SW__MATCH_PHASE__COUNTDOWN:
		cost = countdown_tick(m, b, now_ms);
		break;
	case SW__MATCH_PHASE__FIGHT:
		cost = fight_tick(m, b, since_ms);
		break;
	default:
		fallen_tick(m, b);
		if (since_ms >= BATTLE_SHOW_S * 1000)
			sim_match_end(m);
	}
	if (b->tell)
		cost += battle_tell_state(m, b);
	return cost;
}

static void ended(struct sim_map *m, void *state)
{
	(void)m;
	(void)state;
}

const struct sim_match_rule sim_match_battle = {
	.name = "battle",
	.number = 2,
	.players_max = BATTLE_PLAYERS_MAX,
	.state_bytes = sizeof(struct battle),
	.opened = opened,
	.joined = joined,
	.left = left,
	.tick = tick,
	.pick = battle_pick,
	.ended = ended,
};
