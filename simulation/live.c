#include "simulation/live.h"

#include "common/mono.h"
#include "simulation/combat.h"

static uint32_t ms_of(const struct sim_map *m, uint32_t beats)
{
	uint64_t ms = (uint64_t)beats * 1000 / m->config.tick_hz;

	return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

/* Rounded up: nothing gets shorter by a change of maps. */
static uint32_t beats_of(const struct sim_map *m, uint32_t ms)
{
	return (uint32_t)(((uint64_t)ms * m->config.tick_hz + 999) / 1000);
}

static uint32_t beats_until(const struct sim_map *m, uint32_t beat)
{
	return (int32_t)(beat - m->beat) > 0 ? beat - m->beat : 0;
}

struct msg_live sim_live_take(const struct sim_map *m, uint32_t slot)
{
	const struct sim_player *p = &m->players_table[slot];
	const struct sim_body *body = &m->bodies[slot];
	uint32_t back = beats_until(m, body->back_beat);

	return (struct msg_live){.at_ns = m->shard->now_ns,
		.missing = body->health ? body->health_max - body->health + p->lacks_more : 0,
		.back_ms = body->health ? 0 : ms_of(m, back ? back : 1),
		.ready_ms = ms_of(m, beats_until(m, body->ready_beat)),
		.rested_ms = ms_of(m, m->beat - body->hurt_beat),
		.credit = p->input_credit,
		.malformed = p->malformed};
}

struct msg_live sim_live_home(const struct sim_map *m, uint32_t slot)
{
	struct msg_live home;

	if (m->config.kind != CONFIG_MAP_ROOM)
		return sim_live_take(m, slot);
	home = m->players_table[slot].return_live;
	home.malformed = m->players_table[slot].malformed; /* of the connection */
	return home;
}

static uint64_t passed_ms(const struct sim_shard *s, const struct msg_live *live)
{
	return s->now_ns > live->at_ns ? (s->now_ns - live->at_ns) / NS_PER_MS : 0;
}

static uint32_t left_of(uint32_t ms, uint64_t passed)
{
	return ms > passed ? (uint32_t)(ms - passed) : 0;
}

uint8_t sim_live_credit(
	const struct sim_shard *s, const struct sim_map *m, const struct msg_live *live)
{
	uint64_t passed = passed_ms(s, live) * m->config.tick_hz / 1000;

	if (!live->at_ns || passed >= SIM_INPUT_BANK || live->credit + passed >= SIM_INPUT_BANK)
		return SIM_INPUT_BANK;
	return (uint8_t)(live->credit + passed);
}

bool sim_live_stood_up(const struct sim_map *m, uint32_t slot)
{
	const struct msg_live *live = &m->players_table[slot].live;

	return live->at_ns && live->back_ms && !left_of(live->back_ms, passed_ms(m->shard, live));
}

/* Full seconds in which one mends who was hurt so long ago. */
static uint64_t mending_s(uint32_t rested_ms)
{
	return rested_ms > SIM_REST_S * 1000 ? (rested_ms - SIM_REST_S * 1000) / 1000 : 0;
}

void sim_live_body(struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);
	struct sim_body *body = &m->bodies[slot];
	const struct msg_live *live = &p->live;
	uint64_t passed = passed_ms(m->shard, live), rested = live->rested_ms + passed, mended;
	uint32_t missing = live->missing;

	*body = (struct sim_body){.ready_beat = m->beat, .hurt_beat = m->beat};
	sim_body_player(m, slot, true);
	if (!live->at_ns || sim_live_stood_up(m, slot))
		return;
	body->ready_beat = m->beat + beats_of(m, left_of(live->ready_ms, passed));
	if (live->back_ms) {
		body->health = 0;
		body->back_beat = m->beat + beats_of(m, left_of(live->back_ms, passed));
		return;
	}
	if (rested > UINT32_MAX)
		rested = UINT32_MAX;
	mended = (mending_s((uint32_t)rested) - mending_s(live->rested_ms)) * sim_mends(body);
	missing -= mended < missing ? (uint32_t)mended : missing;
	body->hurt_beat = m->beat - beats_of(m, (uint32_t)rested);
	if (missing >= body->health_max) {
		p->lacks_more = missing - (body->health_max - 1);
		missing = body->health_max - 1;
	}
	body->health = body->health_max - missing;
}

void sim_live_remake(struct sim_map *m, uint32_t slot)
{
	struct sim_player *p = sim_player(m, slot);
	struct sim_body *body = &m->bodies[slot];
	uint32_t lacks = body->health_max - body->health + p->lacks_more, dead = !body->health;

	sim_body_player(m, slot, true);
	body->health = dead ? 0 : lacks < body->health_max ? body->health_max - lacks : 1;
}
