#include "simulation/match/match.h"

#include <string.h>

#include "proto/client.pb-c.h"
#include "simulation/transfer.h"

/* Players sent away in a tick: each costs a save, a route and three messages. */
#define AWAY_PER_TICK 50u

static const struct sim_match_rule *const rules[] = {
#define RULE(rule) &sim_match_##rule,
	SIM_MATCH_RULES(RULE)
#undef RULE
};

const struct sim_match_rule *sim_match_rule_find(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(rules[i]->name, name))
			return rules[i];
	return NULL;
}

const char *sim_match_rule_names(void)
{
#define NAME(rule) ", " #rule
	static const char names[] = SIM_MATCH_RULES(NAME);
#undef NAME

	return names + 2;
}

uint64_t sim_match_ms(const struct sim_map *m)
{
	return (uint64_t)m->tick * 1000 / m->config.tick_hz;
}

void sim_match_lock(struct sim_map *m, bool locked)
{
	m->match.locked = locked;
}

void sim_match_close(struct sim_map *m)
{
	m->match.closing = true;
	/* A map has no match to play to its end. */
	m->match.ending |= !m->match.rule;
}

void sim_match_end(struct sim_map *m)
{
	if (m->match.ending)
		return;
	m->match.closing = m->match.ending = true;
	m->match.rule->ended(m, m->match.state);
}

uint32_t sim_match_refuses(const struct sim_map *m, bool returning)
{
	if (m->match.closing || (m->match.locked && !returning))
		return SW_REASON_MAP_CLOSING;
	return 0;
}

uint32_t sim_match_pick(struct sim_map *m, uint32_t slot, uint32_t offer, uint32_t card)
{
	const struct sim_match_rule *rule = m->match.rule;

	if (!rule || !rule->pick || m->match.ending)
		return SW__ACTION_REFUSAL__NO_OFFER;
	return rule->pick(m, m->match.state, slot, offer, card);
}

/* From a room home; from a map to where it stands on another instance of it. */
static bool send_away(struct sim_map *m, uint32_t slot)
{
	const struct sim_entity *e = &m->entities[slot];
	const struct sim_spawn here = {
		.has_position = true, .x_mm = e->x_mm, .y_mm = e->y_mm, .heading = e->heading};

	return sim_player_transfer(m, slot, m->match.rule ? "" : m->config.name, &here);
}

/* A few each tick, so that a full instance's end is no long tick. */
static uint32_t send_some_away(struct sim_map *m)
{
	uint32_t cost = 0;

	for (uint32_t sent = 0; sent < AWAY_PER_TICK && m->match.cursor < m->player_slots;
		m->match.cursor++) {
		cost += SIM_COST_SLOT;
		if (!send_away(m, m->match.cursor))
			continue;
		cost += SIM_COST_LIFE;
		sent++;
	}
	/* Around again: who was just being placed is present by then. */
	if (m->match.cursor == m->player_slots)
		m->match.cursor = 0;
	return cost;
}

uint32_t sim_match_tick(struct sim_shard *s, struct sim_map *m)
{
	uint32_t cost;

	if (!m->match.rule && !m->match.ending)
		return 0;
	cost = sim_results_step(s, m);
	if (s->stopping)
		return cost;
	if (!m->match.ending)
		return cost + m->match.rule->tick(m, m->match.state);
	return cost + (m->players ? send_some_away(m) : 0);
}

/* Nobody is there, and nobody's slot is still spoken of. */
static bool is_empty(const struct sim_map *m)
{
	return !m->players && !m->life.count && !m->lazy.count && !m->arrived.count &&
	       sim_results_settled(m);
}

bool sim_match_tell(struct sim_shard *s, uint32_t id, enum instance_state state)
{
	const struct msg_instance body = {id, state};
	struct msg message;

	memcpy(msg_begin(&message, MSG_INSTANCE_STATE, HANDLE_NONE, sizeof(body)), &body,
		sizeof(body));
	return sim_push(s, s->links.to_control, &message);
}

static void tell(struct sim_shard *s, struct sim_map *m, enum instance_state state)
{
	if (m->match.told != state && sim_match_tell(s, m->id, state))
		m->match.told = (uint8_t)state; /* else the next tick tries again */
}

bool sim_match_report(struct sim_shard *s, struct sim_map *m)
{
	if ((!m->match.rule && !m->match.closing) || s->stopping)
		return false;
	/* ENDED is the very last word (sim_map_retire): the memory may be another's at once. */
	if (m->match.ending && is_empty(m))
		return sim_has_room(s, s->links.to_control);
	tell(s, m,
		m->match.closing  ? INSTANCE_CLOSING
		: m->match.locked ? INSTANCE_LOCKED
				  : INSTANCE_OPEN);
	return false;
}
