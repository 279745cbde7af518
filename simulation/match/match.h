/* match: the rule of a room, as a table of calls with a small state, and what a rule may do.
 *
 * A room opens when the first player is sent to it, lives for one match and ends. Its rule decides
 * what happens in between: when the doors close, what each tick brings, when it is over. To add a
 * rule: write its calls in a file of this folder, and add it to SIM_MATCH_RULES. Everything here is
 * the shard's thread, in a tick's stages; a rule neither allocates nor reads a clock. Time is the
 * map's ticks, chance sim_random(&map->random), so that a match replays from its seed. */
#ifndef SW_SIMULATION_MATCH_MATCH_H
#define SW_SIMULATION_MATCH_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "simulation/state.h"

struct sim_match_rule {
	const char *name;     /* maps[].rule */
	uint32_t number;      /* in the database; never another's, and never 0 */
	uint32_t players_max; /* most of one room whose results are kept; 0: it keeps none */
	uint32_t state_bytes; /* of the rule's state, zeroed before opened */
	/* The room has come to its shard; nobody is in it. Its config is in m->config. */
	void (*opened)(struct sim_map *m, void *state);
	/* A player stands in the room. Somebody who was in it before comes with returning. */
	void (*joined)(struct sim_map *m, void *state, uint32_t slot, bool returning);
	/* The player is being taken off the room: disconnected, or on its way elsewhere. The slot
	 * may still be read. */
	void (*left)(struct sim_map *m, void *state, uint32_t slot);
	/* Once a tick, before NPCs and monsters. Returns what it cost (costs.h); a rule with work
	 * for many spreads it over ticks. Not called any more once the match has ended. */
	uint32_t (*tick)(struct sim_map *m, void *state);
	/* A player chooses a card. Returns an ActionRefusal. NULL: the rule offers none. */
	uint32_t (*pick)(
		struct sim_map *m, void *state, uint32_t slot, uint32_t offer, uint32_t card);
	/* sim_match_end was called: the last word, while everybody is still there. */
	void (*ended)(struct sim_map *m, void *state);
};

/* X(rule): the variables sim_match_<rule>, in files of this folder */
#define SIM_MATCH_RULES(X)      X(timed) X(battle) X(script)
#define SIM_MATCH_DECLARE(rule) extern const struct sim_match_rule sim_match_##rule;
SIM_MATCH_RULES(SIM_MATCH_DECLARE)

/* NULL: there is no such rule. Any thread. */
const struct sim_match_rule *sim_match_rule_find(const char *name);
/* "timed, ..."; any thread. */
const char *sim_match_rule_names(void);

/* Milliseconds since the room opened, by its ticks (skipped ones count). */
uint64_t sim_match_ms(const struct sim_map *m);
/* The doors: while locked only those who were in the room before may come. */
void sim_match_lock(struct sim_map *m, bool locked);
/* Nobody may come any more, until the room ends. A map, which has no rule, ends then: it sends its
 * players to other instances of itself, some each tick. */
void sim_match_close(struct sim_map *m);
/* The match is over: closes, and sends everybody back to where they came from, some each tick; the
 * room ends when the last has left. Whom the rule sends elsewhere itself goes there. */
void sim_match_end(struct sim_map *m);

/* Whose result it is; the rule notes it while the player is there. */
struct sim_match_who {
	uint64_t character_id, epoch;
	uint32_t realm_id, pad;
};
struct sim_match_who sim_match_who(const struct sim_map *m, uint32_t slot);
/* Keeps a player's place in the match, durably and once: asks the world thread, again when it
 * cannot, for SIM_RESULT_WAIT_S at most, after which it is counted as lost. The room does not end
 * before that is settled. At most once for each player, rule->players_max in all. */
#define SIM_RESULT_WAIT_S  30u
#define SIM_RESULT_AGAIN_S 2u
void sim_match_result(struct sim_map *m, const struct sim_match_who *who, uint32_t place);

/* ---- for the shard ---- */

/* Stage 5. Returns an ActionRefusal. */
uint32_t sim_match_pick(struct sim_map *m, uint32_t slot, uint32_t offer, uint32_t card);
/* Stage 6: asks for results that are due. Returns the cost. */
uint32_t sim_results_step(struct sim_shard *s, struct sim_map *m);
/* Whether all results are kept or given up. */
bool sim_results_settled(const struct sim_map *m);
struct msg_commit_result;
/* The ring's drain. Returns whether the answer is to a result. */
bool sim_results_answered(struct sim_shard *s, const struct msg_commit_result *answer);

/* Stage 6: the rule's tick, or the way home. Returns the cost. */
uint32_t sim_match_tick(struct sim_shard *s, struct sim_map *m);
/* MSG_INSTANCE_STATE; false: the ring is full. */
bool sim_match_tell(struct sim_shard *s, uint32_t id, enum instance_state state);
/* After a tick: tells control what has changed. Returns true when the room has ended and its ring
 * takes one more message: it is to be retired. */
bool sim_match_report(struct sim_shard *s, struct sim_map *m);
/* Why a player cannot come in, 0 if it can. */
uint32_t sim_match_refuses(const struct sim_map *m, bool returning);

#endif
