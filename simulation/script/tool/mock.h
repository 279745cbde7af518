/* mock: what stands in for a shard where content is tried without a server: one map, its NPCs and
 * monsters, and players who have what a test gives them. It plays by the game's data: items stack,
 * gold does not go below 0, quests go their steps. What a handler asks to be kept is kept at once,
 * unless a test says otherwise. Tools only; one thread. */
#ifndef SW_SIMULATION_SCRIPT_TOOL_MOCK_H
#define SW_SIMULATION_SCRIPT_TOOL_MOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "simulation/game/game.h"
#include "simulation/script/script.h"

#define MOCK_PLAYERS_MAX  64u
#define MOCK_MONSTERS_MAX 64u
#define MOCK_ITEMS_MAX    64u
#define MOCK_QUESTS_MAX   SIM_QUESTS_MAX
#define MOCK_ANSWERS_MAX  16u
#define MOCK_LINES_MAX    1024u
#define MOCK_INTENTS_MAX  256u

#define MOCK_PLAYER  1000000u /* handles; an NPC's is its index + 1 */
#define MOCK_MONSTER 2000000u

struct mock_quest {
	uint32_t step; /* its number; 0: not begun; UINT32_MAX: done */
	uint32_t count;
};

struct mock_player {
	char name[SCRIPT_NAME_BYTES];
	bool gone;
	int32_t x_mm, y_mm;
	uint32_t level, health, health_max;
	int64_t gold, experience;
	struct {
		uint32_t item, count;
	} bag[MOCK_ITEMS_MAX];
	struct mock_quest quest[MOCK_QUESTS_MAX]; /* by the game's place */
	/* What it will answer, in order: the number of a choice, or its text; 0: none of them. */
	struct {
		uint32_t choice;
		char text[SCRIPT_CHOICE_BYTES + 1];
	} answer[MOCK_ANSWERS_MAX];
	uint32_t answers, answered;
	uint32_t place;     /* of match.result */
	uint32_t job;       /* that waits for it */
	uint32_t wake_tick; /* ... until then */
	uint32_t offered[SCRIPT_OFFER_MAX], offered_count, offered_until;
	uint32_t attack, speed_permille; /* what cards have added */
	char map[SCRIPT_NAME_BYTES];     /* it was sent to */
};

struct mock_monster {
	uint32_t kind;
	int32_t x_mm, y_mm;
	uint32_t health, health_max, attack;
	uint32_t target; /* player, UINT32_MAX */
	bool gone;
};

/* Something that a test may look at. */
struct mock_line {
	char who[SCRIPT_NAME_BYTES]; /* speaks; "" : the map, log, what was refused */
	uint32_t player;             /* to whom; UINT32_MAX: everybody */
	enum { MOCK_SAID, MOCK_SHOUTED, MOCK_ANNOUNCED, MOCK_ASKED, MOCK_LOGGED, MOCK_FAILED } kind;
	char text[SCRIPT_TEXT_BYTES];
};

struct mock_intent {
	char key[SCRIPT_KEY_BYTES];
	uint32_t player, count, tick;
	struct script_change change[SCRIPT_CHANGES_MAX];
};

struct mock {
	struct script_vm *vm;
	const struct sim_game *game;
	uint32_t tick;
	uint64_t random;
	struct mock_player player[MOCK_PLAYERS_MAX];
	struct mock_monster monster[MOCK_MONSTERS_MAX];
	struct script_actor npc[SCRIPT_NPCS_MAX];
	uint32_t players, monsters;
	struct mock_line *line; /* [MOCK_LINES_MAX] */
	uint32_t lines;
	struct mock_intent intent[MOCK_INTENTS_MAX]; /* of this tick, and those of before */
	uint32_t intents;
	struct {
		uint32_t player, quest;
		bool complete;
	} happened[MOCK_QUESTS_MAX]; /* with quests, for the next tick's handlers */
	uint32_t happened_count;
	enum script_kept refuse; /* the next commit; SCRIPT_KEPT_OK: it is kept */
	bool locked, held, fighting, finished;
};

/* Makes the VM and loads a file; NULL: none. False: it could not, with a line in error. config has
 * watchdog and map. */
bool mock_open(struct mock *mock, const struct script_config *config, const struct sim_game *game,
	const char *path, char *error, size_t error_bytes);
void mock_close(struct mock *mock);

/* A player or monster comes; UINT32_MAX: no room. */
uint32_t mock_player(struct mock *mock, const char *name);
uint32_t mock_monster(struct mock *mock, uint32_t kind, int32_t x_mm, int32_t y_mm);

/* Runs a handler until it has ended or has nothing to wait for but time. */
enum script_result mock_click(struct mock *mock, uint32_t npc, uint32_t player);
enum script_result mock_event(struct mock *mock, uint32_t handler, const char *name,
	uint32_t monster, uint32_t player, int64_t number);

/* A player hurts a monster; what that brings. */
void mock_hurt(struct mock *mock, uint32_t player, uint32_t monster, uint32_t damage);

/* One tick: NPCs, timers, who waits, fights once a second, the rule, intents. */
void mock_tick(struct mock *mock);

/* Who leaves ends what waits for it. */
void mock_leave(struct mock *mock, uint32_t player);

int64_t mock_count(const struct mock_player *player, uint32_t item);
void mock_give(struct mock_player *player, uint32_t item, uint32_t count);

/* What the rule offered: the choice, from 1. False: nothing is offered. */
bool mock_pick(struct mock *mock, uint32_t player, uint32_t choice);

/* False: no such NPC. */
bool mock_npc(const struct mock *mock, const char *name, uint32_t *index);

#endif
