/* battle: the state of the rule battle. Private to its files: battle.c (phases, the zone, who
 * falls, who wins), battle_cards.c, battle_tell.c (what players are told). */
#ifndef SW_SIMULATION_MATCH_BATTLE_H
#define SW_SIMULATION_MATCH_BATTLE_H

#include "simulation/match/match.h"

#define BATTLE_PLAYERS_MAX 64u
#define BATTLE_CARDS       3u
#define BATTLE_SHOW_S      3u /* the results, before everybody goes home */

/* One who was there when the fight began. */
struct battle_fighter {
	struct sim_match_who who;
	uint32_t slot, wire_id;
	uint32_t place;                 /* 0: still in it */
	uint16_t fallen;                /* it died; whoever stands at the end is alive, too */
	uint16_t left;                  /* its slot is another's now, or nobody's */
	uint32_t offered[BATTLE_CARDS]; /* of game->cards */
	uint32_t offered_count;         /* 0: none, or chosen already */
	char name[CHARACTER_NAME_BYTES];
};
_Static_assert(sizeof(struct battle_fighter) ==
		       sizeof(struct sim_match_who) + (5 + BATTLE_CARDS) * 4 + CHARACTER_NAME_BYTES,
	"hashed as it lies: no padding");

struct battle {
	uint32_t phase;      /* MatchPhase of client.proto */
	uint32_t here;       /* players in the room */
	uint64_t phase_ms;   /* sim_match_ms when the phase began */
	uint64_t waiting_ms; /* since when somebody has waited; room empty: since when it is */
	uint32_t fighters, alive;
	uint32_t stages;   /* of game->stages, begun */
	uint32_t seconds;  /* of the fight that the zone has hurt for */
	uint32_t from_mm;  /* the zone's radius when the stage began */
	uint32_t offer;    /* number of the last one */
	uint64_t offer_ms; /* it ends then; 0: none is open */
	uint32_t tell;     /* everybody is to be told how it stands */
	uint32_t draw;
	struct battle_fighter fighter[BATTLE_PLAYERS_MAX];
};
_Static_assert(sizeof(struct battle) ==
		       3 * 8 + 10 * 4 + BATTLE_PLAYERS_MAX * sizeof(struct battle_fighter),
	"hashed as it lies: no padding");

static inline int32_t battle_x(const struct sim_map *m)
{
	return (int32_t)(m->rules.width_mm / 2);
}

static inline int32_t battle_y(const struct sim_map *m)
{
	return (int32_t)(m->rules.height_mm / 2);
}

/* Squared, from the zone's centre. */
static inline int64_t battle_far2(const struct sim_map *m, uint32_t slot)
{
	int64_t dx = m->entities[slot].x_mm - battle_x(m),
		dy = m->entities[slot].y_mm - battle_y(m);

	return dx * dx + dy * dy;
}

/* The stage that rules now; NULL before the first. */
const struct sim_battle_stage *battle_stage(const struct sim_map *m, const struct battle *b);
/* The zone's radius so many milliseconds into the fight; what it shrinks to, and when it is there.
 */
uint32_t battle_radius(const struct sim_map *m, const struct battle *b, uint64_t fight_ms);
uint32_t battle_next_radius(const struct sim_map *m, const struct battle *b);
uint32_t battle_shrink_ms(const struct sim_map *m, const struct battle *b, uint64_t fight_ms);

/* Cards. Each returns the cost. */
uint32_t battle_offer(struct sim_map *m, struct battle *b, uint32_t pick_s);
uint32_t battle_offer_tick(struct sim_map *m, struct battle *b);
uint32_t battle_pick(struct sim_map *m, void *state, uint32_t slot, uint32_t offer, uint32_t card);

/* Telling. Each returns the cost; state keeps b->tell while somebody has not heard Joined yet. */
uint32_t battle_tell_state(struct sim_map *m, struct battle *b);
uint32_t battle_tell_result(struct sim_map *m, const struct battle *b);

#endif
