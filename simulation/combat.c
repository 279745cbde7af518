#include "simulation/combat.h"

#include "common/check.h"
#include "proto/client.pb-c.h"
#include "simulation/commit.h"
#include "simulation/dialogue.h"
#include "simulation/entity.h"
#include "simulation/events.h"
#include "simulation/grounds.h"
#include "simulation/happening.h"
#include "simulation/loot.h"
#include "simulation/monster.h"
#include "simulation/party.h"
#include "simulation/portal.h"
#include "simulation/quest.h"
#include "simulation/random.h"
#include "simulation/rules/combat.h"
#include "simulation/view.h"

#define MEND_PART 50u /* of the whole, each second */

/* ---- bodies ---- */

void sim_body_player(struct sim_map *m, uint32_t slot, bool heal)
{
	const struct sim_level *level = sim_game_level(m->game, m->purses[slot].experience);
	const struct sim_player *p = sim_player(m, slot);
	struct sim_body *body = &m->bodies[slot];
	uint32_t attack = level->attack, defence = 0;
	uint32_t range_mm = SIM_FIST_RANGE_MM, cooldown_ms = SIM_FIST_COOLDOWN_MS;

	body->health_max = level->health + p->boost.health;
	for (uint32_t i = COMMIT_BAG_SLOTS; i < COMMIT_SLOTS_MAX; i++) {
		const struct sim_stack *stack = &m->bags[slot].stack[i];
		const struct sim_item *item =
			stack->count ? sim_game_item(m->game, stack->item) : NULL;

		if (!item)
			continue;
		attack += item->attack;
		defence += item->defence;
		if (item->range_mm) {
			range_mm = item->range_mm;
			cooldown_ms = item->cooldown_ms;
		}
	}
	attack += p->boost.attack;
	defence += p->boost.defence;
	body->attack = (uint16_t)(attack < UINT16_MAX ? attack : UINT16_MAX);
	body->defence = (uint16_t)(defence < UINT16_MAX ? defence : UINT16_MAX);
	body->range_mm = range_mm;
	body->cooldown_beats = (uint16_t)sw_combat_ticks(cooldown_ms, m->config.tick_hz);
	if (heal)
		sim_player(m, slot)->lacks_more = 0;
	if (heal || body->health > body->health_max)
		body->health = body->health_max;
}

void sim_body_monster(struct sim_map *m, uint32_t slot)
{
	const struct sim_monster_kind *kind =
		&m->game->kinds[m->monsters[sim_monster_of(m, slot)].kind];
	uint32_t cooldown = sw_combat_ticks(kind->cooldown_ms, m->config.tick_hz);

	m->bodies[slot] = (struct sim_body){.health = kind->health,
		.health_max = kind->health,
		.attack = (uint16_t)kind->attack,
		.defence = (uint16_t)kind->defence,
		.range_mm = kind->range_mm,
		.cooldown_beats = (uint16_t)cooldown,
		.ready_beat = m->beat,
		.hurt_beat = m->beat};
}

uint32_t sim_mends(const struct sim_body *body)
{
	return body->health_max / MEND_PART + 1;
}

/* ---- attacking ---- */

static bool safe(const struct sim_map *m, uint32_t slot)
{
	const struct sim_entity *e = &m->entities[slot];

	return m->rules.ground && sw_ground_safe_at(m->rules.ground, e->x_mm, e->y_mm);
}

static bool may_be_attacked(const struct sim_map *m, uint32_t slot, uint32_t target)
{
	if (target == slot)
		return false;
	if (sim_is_player(m, target))
		return m->match.pvp && (m->match.alone || m->config.friendly_fire ||
					       !sim_party_same(m, slot, target));
	return sim_is_monster(m, target);
}

uint32_t sim_attack(struct sim_map *m, uint32_t slot, uint32_t actor_id)
{
	uint32_t target = sim_slot_of_wire_id(m, actor_id), refusal;
	struct sim_body *body = &m->bodies[slot];

	if (sim_player(m, slot)->detail != SIM_DETAIL_READY)
		return SW__ACTION_REFUSAL__NOT_READY;
	if (!body->health)
		return SW__ACTION_REFUSAL__DEAD;
	if (m->match.hold)
		return SW__ACTION_REFUSAL__NOT_BEGUN;
	/* As for a click: who is not in view does not exist for this client. */
	if (target == SIM_NONE || (target != slot && !sim_knows(m, slot, target)))
		return SW__ACTION_REFUSAL__NO_SUCH_ACTOR;
	if (!may_be_attacked(m, slot, target))
		return SW__ACTION_REFUSAL__WRONG_TARGET;
	if (!m->bodies[target].health)
		return SW__ACTION_REFUSAL__TARGET_DEAD;
	if (sim_is_player(m, target) && sim_player(m, target)->detail != SIM_DETAIL_READY)
		return SW__ACTION_REFUSAL__WRONG_TARGET; /* it could not defend itself yet */
	if (safe(m, slot) || safe(m, target))
		return SW__ACTION_REFUSAL__SAFE_ZONE;
	if ((int32_t)(m->beat - body->ready_beat) < 0)
		return SW__ACTION_REFUSAL__COOLING_DOWN;
	refusal = sim_reach(m, slot, target, body->range_mm);
	if (refusal)
		return refusal;
	sim_strike(m, slot, target);
	return SW__ACTION_REFUSAL__ACTION_REFUSAL_NONE;
}

void sim_strike(struct sim_map *m, uint32_t attacker, uint32_t target)
{
	struct sim_body *body = &m->bodies[attacker];
	uint32_t roll = sim_random_below(&m->random, SW_COMBAT_ROLLS);

	body->ready_beat = m->beat + body->cooldown_beats;
	sim_hurt(m, attacker, target,
		sw_combat_damage(body->attack, m->bodies[target].defence, roll));
}

/* ---- dying ---- */

/* What a killed monster leaves: things and gold to its owner, the rest to its party, too. */
static void reward(struct sim_map *m, uint32_t slot, uint32_t killer)
{
	const struct sim_monster *monster = &m->monsters[sim_monster_of(m, slot)];
	const struct sim_lair *lair = &m->lairs[sim_monster_of(m, slot)];
	const struct sim_monster_kind *kind = &m->game->kinds[monster->kind];
	uint32_t owner = lair->owner;
	struct sim_party_group group;
	uint32_t gold =
		kind->gold_min + sim_random_below(&m->random, kind->gold_max - kind->gold_min + 1);

	if (owner == SIM_NONE || !sim_is_present(m, owner) ||
		m->entities[owner].generation != lair->owner_generation)
		owner = killer;
	if (owner != SIM_NONE && (!sim_is_player(m, owner) || !sim_is_present(m, owner)))
		owner = SIM_NONE;
	sim_loot_fall(m, slot, kind, owner);
	if (owner == SIM_NONE)
		return;
	sim_happens_fight(m, SCRIPT_HANDLER_MONSTER_DEATH, slot, owner, 0);
	m->purses[owner].gold_due += gold;
	sim_party_near(m, owner, m->entities[slot].x_mm, m->entities[slot].y_mm, &group);
	for (uint32_t i = 0; i < group.count; i++)
		sim_quests_killed(m, group.slot[i], monster->kind);
	sim_party_share(m, &group, kind->experience);
}

static uint32_t back_after(const struct sim_map *m, const struct sim_monster *monster)
{
	uint32_t seconds = monster->herd == SIM_NO_HERD
				   ? SIM_MONSTER_BACK_S
				   : m->rules.ground->herds[monster->herd].respawn_s;

	return seconds * m->config.tick_hz;
}

static void die(struct sim_map *m, uint32_t slot, uint32_t killer)
{
	struct sim_body *body = &m->bodies[slot];

	if (m->entities[slot].moving_mm_per_s) {
		m->entities[slot].moving_mm_per_s = 0;
		sim_entity_touch(m, slot);
	}
	if (sim_is_player(m, slot)) {
		body->back_beat = m->beat + SIM_PLAYER_BACK_S * m->config.tick_hz;
		sim_count(m->shard, SIM_PLAYERS_KILLED, 1);
		return;
	}
	reward(m, slot, killer);
	m->monsters[sim_monster_of(m, slot)].mood = SIM_DEAD;
	body->back_beat = m->beat + back_after(m, &m->monsters[sim_monster_of(m, slot)]);
	m->fallen[m->fallen_count++] = slot;
	sim_count(m->shard, SIM_MONSTERS_KILLED, 1);
}

void sim_hurt(struct sim_map *m, uint32_t attacker, uint32_t target, uint32_t damage)
{
	struct sim_body *body = &m->bodies[target];

	DCHECK(body->health);
	if (damage > body->health)
		damage = body->health;
	body->health -= damage;
	body->hurt_beat = m->beat;
	sim_event(m, attacker, target, damage);
	sim_count(m->shard, SIM_BLOWS, 1);
	if (sim_is_monster(m, target) && attacker != SIM_NONE)
		sim_monster_hurt(m, sim_monster_of(m, target), attacker);
	if (sim_is_monster(m, target) && attacker < m->player_slots && body->health)
		sim_happens_fight(m, SCRIPT_HANDLER_MONSTER_HURT, target, attacker, damage);
	if (!body->health)
		die(m, target, attacker);
}

/* ---- stage 1 ---- */

bool sim_fallen(struct sim_map *m, struct sim_slice *slice)
{
	for (; m->cursor < m->fallen_count; m->cursor++) {
		if (slice->left <= 0)
			return false;
		sim_entity_vanish(m, m->fallen[m->cursor]);
		slice->left -= SIM_COST_BACK + sim_work_taken(m);
	}
	m->fallen_count = 0;
	return true;
}

static void player_back(struct sim_map *m, uint32_t slot)
{
	struct sim_entity *e = &m->entities[slot];
	struct sim_player *p = sim_player(m, slot);

	sim_spawn_place(m, &e->x_mm, &e->y_mm);
	sim_portal_arrive(m, slot);
	e->moving_mm_per_s = 0;
	p->input_count = 0; /* meant for where it fell */
	sim_entity_touch(m, slot);
	sim_body_player(m, slot, true);
	m->bodies[slot].hurt_beat = m->beat;
	p->tell |= SIM_TELL_STATUS;
	sim_view_renew(m, slot);
	sim_count(m->shard, SIM_PLAYERS_BACK, 1);
}

static void mend(struct sim_map *m, uint32_t slot)
{
	struct sim_body *body = &m->bodies[slot];
	struct sim_player *p = sim_player(m, slot);
	uint32_t mends = sim_mends(body), more = mends < p->lacks_more ? mends : p->lacks_more;

	p->lacks_more -= more;
	mends -= more;
	body->health +=
		mends < body->health_max - body->health ? mends : body->health_max - body->health;
}

static uint32_t rest(struct sim_map *m, uint32_t slot)
{
	struct sim_body *body = &m->bodies[slot];

	if (body->health == body->health_max || m->match.mortal)
		return SIM_COST_SLOT;
	if (!body->health) {
		if ((int32_t)(m->beat - body->back_beat) < 0)
			return SIM_COST_SLOT;
		player_back(m, slot);
		return SIM_COST_BACK;
	}
	if (m->beat - body->hurt_beat < SIM_REST_S * m->config.tick_hz)
		return SIM_COST_SLOT;
	mend(m, slot);
	sim_player(m, slot)->tell |= SIM_TELL_STATUS;
	return SIM_COST_SLOT;
}

static uint32_t player_second(struct sim_map *m, uint32_t slot)
{
	uint32_t cost;

	if (!sim_is_present(m, slot))
		return SIM_COST_SLOT;
	cost = sim_dialogue_second(m, slot) + sim_quests_second(m, slot);
	sim_commit_gains(m, slot);
	return cost + rest(m, slot);
}

static uint32_t monster_second(struct sim_map *m, uint32_t i)
{
	uint32_t slot = m->player_slots + m->npc_slots + i;

	/* Its slot is used again only when nobody knows the last one in it. */
	if (m->monsters[i].mood != SIM_DEAD || m->entities[slot].cell != SIM_NONE ||
		m->entities[slot].known_by || (int32_t)(m->beat - m->bodies[slot].back_beat) < 0)
		return SIM_COST_SLOT;
	sim_monster_appear(m, i);
	sim_count(m->shard, SIM_MONSTERS_BACK, 1);
	return SIM_COST_BACK;
}

bool sim_revive(struct sim_map *m, struct sim_slice *slice)
{
	uint32_t hz = m->config.tick_hz, fighters = m->player_slots + m->monster_slots;
	uint32_t all = fighters + m->loot_slots;

	if (!m->cursor)
		m->cursor = m->beat % hz + 1; /* counted from 1: 0 is the beginning */
	for (; m->cursor <= all; m->cursor += hz) {
		uint32_t i = m->cursor - 1;

		if (slice->left <= 0)
			return false;
		if (i < m->player_slots)
			slice->left -= player_second(m, i);
		else if (i < fighters)
			slice->left -= monster_second(m, i - m->player_slots);
		else
			slice->left -= sim_loot_second(m, i - fighters);
		slice->left -= sim_work_taken(m);
	}
	return true;
}
