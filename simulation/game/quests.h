/* quests: what quests.yaml says, and how the state of a quest is stored. Part of game.h.
 *
 * A quest is a list of steps, one after the other, and a reward. A step is one objective:
 *
 *   kill   count monsters of a kind. Counted.
 *   have   count of an item in the bag. Seen, then the next step; what is done with the item later
 *          does not matter.
 *   reach  be within radius of a place on a map, looked at once a second.
 *   talk   an NPC of that name ends the step, from its script; with bring, count of that item is
 *          taken. The last step is of this kind: somebody has to give the reward.
 *
 * The state, 16 bits in PostgreSQL, one number for each quest and character, 0: not begun.
 *
 *   bits 15..14  the layout of the rest. 0 is this one; another is of a newer server, and is shown
 *                as QUEST_UNKNOWN and left as it is
 *   bits 13..9   the *number* of the step that the quest stands at, 1 to 30; 31: done
 *   bits 8..0    the count of that step, 0 to 511; of a quest that is done 0
 *
 * A quest that is done is so for good, unless it has again_s: then, so long after, it may be begun
 * again, from the state "done" to its first step. When it was done is the age of its row in the
 * database, which is therefore made anew then (to 0 and to done, in one commit); the shard learns
 * the age with the details and counts on by its ticks.
 *
 * Steps have numbers of their own, as items have, so that an author may put a step between two
 * others, or take one away, and no character's state means something else. A number of a quest or
 * step is never used again for another. A state whose quest or step the file does not have (any
 * more) is left as it is; of a known quest it can be given up. A count above what a step needs now
 * is enough. */
#ifndef SW_SIMULATION_GAME_QUESTS_H
#define SW_SIMULATION_GAME_QUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "simulation/game/table.h"

#define SIM_QUESTS_MAX         512u /* in the file */
#define SIM_QUESTS_AGAIN_MAX   48u  /* ... of them with again_s: what a client is told fits one message */
#define SIM_QUEST_STEPS_MAX    30u
#define SIM_QUEST_REWARDS_MAX  4u
#define SIM_QUEST_AFTER_MAX    8u
#define SIM_QUEST_COUNT_MAX    511u
#define SIM_QUEST_TITLE_BYTES  64u
#define SIM_QUEST_TEXT_BYTES   160u
#define SIM_QUEST_RADIUS_M_MIN 5u /* a walker at 5 m/s is in it when a second is looked at */
#define SIM_QUEST_NAME_BYTES   32u
#define SIM_QUEST_AGAIN_S_MAX  (31u * 24 * 3600)
#define SIM_QUEST_BRING_STACKS 8u /* that one commit takes, beside the rewards */

enum sim_quest_kind { SIM_QUEST_KILL, SIM_QUEST_HAVE, SIM_QUEST_REACH, SIM_QUEST_TALK };

struct sim_quest_step {
	uint32_t line;
	uint32_t number; /* in the state: 1..30 */
	char text[SIM_QUEST_TEXT_BYTES];
	char kill[SIM_QUEST_NAME_BYTES], have[SIM_QUEST_NAME_BYTES], reach[SIM_QUEST_NAME_BYTES],
		talk[SIM_QUEST_NAME_BYTES], bring[SIM_QUEST_NAME_BYTES];
	uint32_t count; /* of kill, have, bring; 0: not given */
	uint32_t x_m, y_m, radius_m;
	/* looked up */
	uint8_t kind;          /* enum sim_quest_kind */
	uint32_t monster_kind; /* of kill: in game->kinds */
	uint32_t item;         /* of have and bring: its number; 0: none */
	uint32_t need;         /* times, or items; 0: not a matter of number */
};

struct sim_quest_reward {
	uint32_t line;
	char item_name[SIM_QUEST_NAME_BYTES];
	uint32_t count;
	uint32_t item; /* its number */
};

struct sim_quest_after {
	uint32_t line;
	char name[SIM_QUEST_NAME_BYTES];
	uint32_t quest; /* in game->quests */
};

struct sim_quest {
	uint32_t line;
	uint32_t number;                 /* in the database and on the wire; never 0 */
	char name[SIM_QUEST_NAME_BYTES]; /* what scripts call it */
	char title[SIM_QUEST_TITLE_BYTES];
	uint32_t level; /* that one needs to begin it */
	char gives[SIM_QUEST_NAME_BYTES];
	uint32_t gives_count;
	uint32_t gold, experience;
	uint32_t again_s; /* so long after it was done it may be begun again; 0: never */
	struct game_span steps, rewards, after; /* of game->steps, game->rewards, game->afters */
	uint32_t gives_item; /* handed out when it begins: its number; 0: nothing */
};

struct sim_game;

/* Set-up. Reads the file's text into *game; what is wrong goes to faults. False: no memory. */
bool sim_quests_read(
	struct sim_game *game, const void *text, size_t bytes, struct config_faults *faults);
/* Set-up, when items and kinds are there: looks names up, checks what rows have to do with each
 * other. */
void sim_quests_check(struct sim_game *game, struct config_faults *faults);
void sim_quests_free(struct sim_game *game);

/* In game->quests, by name or number; UINT32_MAX: there is none. Any thread. */
uint32_t sim_quest_find(const struct sim_game *game, const char *name);
uint32_t sim_quest_of(const struct sim_game *game, uint32_t number);

/* The step of a quest with that number, and the one after a step; NULL: there is none. Any thread.
 */
const struct sim_quest_step *sim_quest_step(
	const struct sim_game *game, const struct sim_quest *quest, uint32_t number);
const struct sim_quest_step *sim_quest_next(const struct sim_game *game,
	const struct sim_quest *quest, const struct sim_quest_step *step);
const struct sim_quest_step *sim_quest_first(
	const struct sim_game *game, const struct sim_quest *quest);

/* ---- the state ---- */

#define SIM_QUEST_DONE_STEP 31u
#define SIM_QUEST_DONE      (SIM_QUEST_DONE_STEP << 9)

static inline uint32_t sim_quest_state(uint32_t step, uint32_t count)
{
	return step << 9 | (count < SIM_QUEST_COUNT_MAX ? count : SIM_QUEST_COUNT_MAX);
}

static inline uint32_t sim_quest_state_step(uint32_t state)
{
	return state >> 9 & 31;
}

static inline uint32_t sim_quest_state_count(uint32_t state)
{
	return state & SIM_QUEST_COUNT_MAX;
}

static inline bool sim_quest_is_done(uint32_t state)
{
	return state >> 9 == SIM_QUEST_DONE_STEP;
}

/* Begun, not done, and of a layout that this server can read. */
static inline bool sim_quest_is_open(uint32_t state)
{
	return state >> 14 == 0 && state >> 9 && state >> 9 < SIM_QUEST_DONE_STEP;
}

#endif
