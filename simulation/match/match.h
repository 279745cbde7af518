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
	/* sim_match_end was called: the last word, while everybody is still there. */
	void (*ended)(struct sim_map *m, void *state);
};

/* X(rule): the variables sim_match_<rule>, in files of this folder */
#define SIM_MATCH_RULES(X)      X(timed)
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
/* Nobody may come any more, until the room ends. */
void sim_match_close(struct sim_map *m);
/* The match is over: closes, and sends everybody back to where they came from, some each tick; the
 * room ends when the last has left. Whom the rule sends elsewhere itself goes there. */
void sim_match_end(struct sim_map *m);

/* ---- for the shard ---- */

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
