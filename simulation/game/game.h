/* game: what the game's items, monsters, loot, levels and quests are: data files, read once at
 * set-up and shared read-only by all instances, shards and threads.
 *
 * Seven files in the content folder, each a list of rows under one key (docs/content.md: Game
 * data): items.yaml, monsters.yaml, loot.yaml, levels.yaml, cards.yaml, battle.yaml, and
 * quests.yaml, whose rows have lists of rows (quests.h). A file that is not there is an empty list,
 * so that a map can be walked on without any: there is always the kind SIM_KIND_PLAIN, harmless,
 * which a row of that name replaces, and always a level 1.
 *
 * A file is never trusted: every field has a range, and names that one file uses of another are
 * looked up. All faults of all files are said at once, "file:line: where: what, what is allowed".
 */
#ifndef SW_SIMULATION_GAME_GAME_H
#define SW_SIMULATION_GAME_GAME_H

#include <stdint.h>
#include <stdio.h>

#include "simulation/game/quests.h"

#define SIM_GAME_NAME_BYTES 32u /* with the final NUL */
#define SIM_GAME_ROWS_MAX   4096u
#define SIM_GAME_FILE_MAX   1048576u
#define SIM_KIND_PLAIN      0u /* "wanderer": monsters of the configuration, and of unknown kind */
#define SIM_KIND_PLAIN_NAME "wanderer"
#define SIM_NO_SLOT         UINT8_MAX

/* The files of the content folder. X(id, name) */
#define SIM_GAME_FILES(X)                                                                          \
	X(ITEMS, "items.yaml")                                                                     \
	X(KINDS, "monsters.yaml")                                                                  \
	X(DROPS, "loot.yaml")                                                                      \
	X(LEVELS, "levels.yaml")                                                                   \
	X(CARDS, "cards.yaml")                                                                     \
	X(STAGES, "battle.yaml")                                                                   \
	X(QUESTS, "quests.yaml")

/* Where an item is worn: slot COMMIT_EQUIP_FIRST + value. X(NAME, value, name in the file) */
#define SIM_EQUIP_SLOTS(X)                                                                         \
	X(WEAPON, 0, "weapon")                                                                     \
	X(OFFHAND, 1, "offhand")                                                                   \
	X(HEAD, 2, "head")                                                                         \
	X(BODY, 3, "body")                                                                         \
	X(HANDS, 4, "hands")                                                                       \
	X(FEET, 5, "feet")                                                                         \
	X(RING, 6, "ring")                                                                         \
	X(NECK, 7, "neck")

#define SIM_EQUIP_ENUM(name, value, text) SIM_EQUIP_##name = value,
enum sim_equip { SIM_EQUIP_SLOTS(SIM_EQUIP_ENUM) SIM_EQUIP_COUNT };

struct sim_item {
	char name[SIM_GAME_NAME_BYTES];
	uint32_t line;      /* of its row, for messages */
	uint32_t number;    /* what it is called in the database and on the wire; never 0 */
	uint32_t stack_max; /* 1: each is one of its own, with a serial */
	uint32_t attack, defence;
	uint32_t range_mm, cooldown_ms; /* of a weapon: instead of the fist's; 0: not a weapon */
	uint8_t equip;                  /* enum sim_equip, SIM_NO_SLOT: is not worn */
};

struct sim_monster_kind {
	char name[SIM_GAME_NAME_BYTES];
	uint32_t line;
	uint32_t health, attack, defence;
	uint32_t range_mm, cooldown_ms;
	uint32_t speed_mm_per_s;
	uint32_t sight_mm; /* attacks whom it sees so near; 0: only whom it was hurt by */
	uint32_t leash_mm; /* gives up so far from its place */
	uint32_t experience;
	uint32_t gold_min, gold_max;
	char loot[SIM_GAME_NAME_BYTES];  /* a table of loot.yaml, "": none */
	uint32_t drop_first, drop_count; /* of game->drops */
};

/* One line of a loot table: dropped or not, each on its own. */
struct sim_drop {
	char table[SIM_GAME_NAME_BYTES];
	char item_name[SIM_GAME_NAME_BYTES];
	uint32_t line;
	uint32_t chance_permille;
	uint32_t count_min, count_max;
	uint32_t item; /* index in game->items */
};

struct sim_level {
	uint32_t line;
	uint32_t level;
	uint32_t experience; /* from here on, as common/level.h says */
	uint32_t health, attack;
};

/* A card of a battle: what it adds for the rest of the match. */
struct sim_card {
	char name[SIM_GAME_NAME_BYTES];
	uint32_t line;
	uint32_t number; /* on the wire; never 0 */
	uint32_t attack, defence, health, speed_permille;
};

/* A stage of a battle. */
struct sim_battle_stage {
	uint32_t line;
	uint32_t at_s;            /* of the fight */
	uint32_t radius_permille; /* of half the map's shorter side: what the zone shrinks to */
	uint32_t shrink_s;        /* ... within this time */
	uint32_t damage;          /* a second outside of it, from here on */
	uint32_t pick_s;          /* cards are offered for so long; 0: none */
};

struct sim_game {
	struct sim_item *items;          /* [item_count] by number */
	struct sim_monster_kind *kinds;  /* [kind_count], SIM_KIND_PLAIN first */
	struct sim_drop *drops;          /* [drop_count] by table */
	struct sim_level *levels;        /* [level_count] 1, 2, 3 ... */
	struct sim_card *cards;          /* [card_count] by number */
	struct sim_battle_stage *stages; /* [stage_count] by time */
	struct sim_quest *quests;        /* [quest_count] by number */
	struct sim_quest_step *quest_steps;
	struct sim_quest_reward *quest_rewards;
	struct sim_quest_after *quest_afters;
	uint32_t item_count, kind_count, drop_count, level_count;
	uint32_t card_count, stage_count, quest_count, quest_step_count;
	uint8_t kinds_known; /* monsters.yaml was there: a kind it does not name is a fault */
};

/* Set-up. Reads the files of folder. NULL after faults, said in errors, or without memory. */
struct sim_game *sim_game_load(const char *folder, FILE *errors);
void sim_game_free(struct sim_game *game); /* NULL is fine */

/* Any thread. NULL, or UINT32_MAX for a kind: there is none. */
const struct sim_item *sim_game_item(const struct sim_game *game, uint32_t number);
const struct sim_item *sim_game_item_named(const struct sim_game *game, const char *name);
uint32_t sim_game_kind(const struct sim_game *game, const char *name);

/* What a player of so much experience can; the last row goes for all levels beyond it. Any thread.
 */
const struct sim_level *sim_game_level(const struct sim_game *game, int64_t experience);

#endif
