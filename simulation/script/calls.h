/* calls: what content may call, read and handle, and in which contexts: the one table from which
 * the check at each call, the tables of docs/content.md, the type stubs for editors (swscript
 * stubs), the linter (swscript check) and the tests grow. To add a call: a row here, its C function
 * in a lib_*.c, and an example in api_test.c, which refuses a row without one. */
#ifndef SW_SIMULATION_SCRIPT_CALLS_H
#define SW_SIMULATION_SCRIPT_CALLS_H

#include "common/lanes.h"
#include "simulation/script/script.h"

/* Sets of contexts. */
enum script_where {
#define X(name, text, limit_us, meaning) SCRIPT_IN_##name = 1 << SCRIPT_CONTEXT_##name,
	SCRIPT_CONTEXTS(X)
#undef X
		SCRIPT_IN_EVERYTHING = (1 << SCRIPT_CONTEXT_COUNT) - 1,
	/* R15: no actor exists yet while a file loads. */
	SCRIPT_IN_PLAY = SCRIPT_IN_EVERYTHING & ~SCRIPT_IN_LOAD,
	/* ... and only these may change what lasts: their handlers run on Lua threads of their own,
	   so they may also wait. */
	SCRIPT_IN_TALK = SCRIPT_IN_NPC_CLICK | SCRIPT_IN_QUEST,
};

/* X(NAME, lua name, where, lane of common/lanes.h, parameters, results, what it does)
 * Parameters and results are types as LuaLS writes them; name?: may be left out. A name with ':' is
 * a method of that class. A declaration_... is a table with the fields of SCRIPT_FIELDS and the
 * handlers of SCRIPT_HANDLERS. item_name, quest_name and the like are strings that the linter looks
 * up in the game's data. */
// clang-format off
#define SCRIPT_CALLS(X)                                                                            \
	X(NPC, "npc", SCRIPT_IN_LOAD, LANE_NONE, "declaration: declaration_npc", "npc",            \
		"declares an NPC")                                                                 \
	X(DISTANCE, "actor:distance", SCRIPT_IN_PLAY, LANE_NONE, "other: actor", "number",         \
		"metres to another actor")                                                         \
	X(FIELD, "actor field", SCRIPT_IN_PLAY, LANE_NONE, "", "",                                 \
		"reading a field of an actor")                                                     \
	X(TICK, "tick", SCRIPT_IN_PLAY, LANE_NONE, "", "integer",                                  \
		"the map's tick number")                                                           \
	X(RANDOM, "math.random", SCRIPT_IN_PLAY, LANE_NONE, "m?: integer, n?: integer", "number",  \
		"as in stock Lua, from the map's seeded generator")                                \
	X(SAY, "npc:say", SCRIPT_IN_PLAY, LANE_NONE, "player: player, text: string", "boolean",    \
		"a line of dialogue to one player; false if the player is gone")                   \
	X(WALK, "npc:walk", SCRIPT_IN_PLAY, LANE_NONE, "dx: number, dy: number", "",               \
		"walks in that direction for this tick; length 1 is full speed, longer is cut to 1") \
	X(SEND, "npc:send", SCRIPT_IN_PLAY, LANE_NONE, "player: player, map: string, x?: number, y?: number", "boolean", \
		"moves a player to another map of this node, to its spawn point or to x, y in metres; false if the player is gone or leaves already. Where the map cannot be had, the player comes back") \
	X(ASK, "npc:ask", SCRIPT_IN_NPC_CLICK, LANE_NONE, "player: player, text: string, choices: string[]", "integer?", \
		"asks the player who clicked, and waits: the number of the choice, nil for none of them or no answer within a minute") \
	X(COUNT_ITEM, "player:count_item", SCRIPT_IN_PLAY, LANE_NONE, "item: item_name", "integer", \
		"how many of an item are in the bag")                                              \
	X(QUEST, "player:quest", SCRIPT_IN_PLAY, LANE_NONE, "quest: quest_name", "quest_phase, integer?, integer?", \
		"how a quest stands: `\"new\"`; `\"locked\"`: the level or a quest before it is missing; `\"open\"`, and then the number of its step and the count; `\"done\"`, and then the seconds until it may be begun again, if ever; `\"unknown\"`: it cannot be read") \
	X(PARTY, "player:party", SCRIPT_IN_PLAY, LANE_NONE, "", "string[]",                        \
		"the names of the members of the player's party, on whatever map, who joined first first; an empty table: it is in none") \
	X(TAKE_ITEM, "player:take_item", SCRIPT_IN_TALK, LANE_COMMIT, "item: item_name, count?: integer", "", \
		"takes items out of the bag")                                                      \
	X(GIVE_ITEM, "player:give_item", SCRIPT_IN_TALK, LANE_COMMIT, "item: item_name, count?: integer", "", \
		"puts items into the bag")                                                         \
	X(ADD_GOLD, "player:add_gold", SCRIPT_IN_TALK, LANE_COMMIT, "amount: integer", "",         \
		"gives gold; a negative amount is paid")                                           \
	X(ADD_EXPERIENCE, "player:add_experience", SCRIPT_IN_TALK, LANE_COMMIT, "amount: integer", "", \
		"gives experience")                                                                \
	X(BEGIN_QUEST, "player:begin_quest", SCRIPT_IN_TALK, LANE_COMMIT, "quest: quest_name", "", \
		"begins a quest, and hands out what it gives")                                     \
	X(ADVANCE_QUEST, "player:advance_quest", SCRIPT_IN_NPC_CLICK, LANE_COMMIT, "quest: quest_name", "", \
		"ends a talk step that names this NPC, and takes what it brings; not the last one") \
	X(COMPLETE_QUEST, "player:complete_quest", SCRIPT_IN_NPC_CLICK, LANE_COMMIT, "quest: quest_name", "", \
		"ends the last step, a talk that names this NPC, takes what it brings, and gives the reward") \
	X(COMMIT, "commit", SCRIPT_IN_TALK, LANE_COMMIT, "", "boolean, commit_result?",            \
		"keeps what the calls above have asked for, all of it or nothing, and waits: true, or false and why") \
	X(LOG, "log", SCRIPT_IN_EVERYTHING, LANE_NONE, "...: any", "",                             \
		"a line for the server's log; print is the same")

/* What can be read of an object, and what a declaration's table may hold. A name with ? may be left
 * out. X(class, name, type, meaning) */
#define SCRIPT_FIELDS(X)                                                                           \
	X(actor, "name", "string", "at most 31 bytes")                                             \
	X(actor, "x", "number", "metres, to the east")                                             \
	X(actor, "y", "number", "metres, to the north")                                            \
	X(actor, "kind", "actor_kind", "`\"player\"`, `\"npc\"`, `\"monster\"`")                   \
	X(actor, "alive", "boolean", "false: it is gone, and nothing else can be read of it")      \
	X(player, "level", "integer?", "nil while it is not known")                                \
	X(player, "gold", "integer?", "nil while it is not known")                                 \
	X(declaration_npc, "name", "string", "1 to 31 bytes")                                      \
	X(declaration_npc, "x?", "number", "metres")                                               \
	X(declaration_npc, "y?", "number", "metres")                                               \
	X(declaration_npc, "at?", "string", "the tag of a place of the map, instead of x and y")   \
	X(declaration_npc, "appearance?", "integer", "0xRRGGBB")

/* Functions that a declaration's table may hold. X(class, name, CONTEXT, parameters, when) */
#define SCRIPT_HANDLERS(X)                                                                         \
	X(declaration_npc, "on_click", NPC_CLICK, "npc: npc, player: player", "a player clicked the NPC") \
	X(declaration_npc, "on_tick", NPC_TICK, "npc: npc", "every tick of the map, 20 a second unless configured otherwise")
// clang-format on

enum script_call {
#define X(name, text, where, lane, parameters, results, meaning) SCRIPT_CALL_##name,
	SCRIPT_CALLS(X)
#undef X
		SCRIPT_CALL_COUNT
};
_Static_assert(SCRIPT_CALL_COUNT <= 64, "a permission set is one word");

#define X(name, text, where, lane, parameters, results, meaning)                                   \
	_Static_assert((lane) != LANE_COMMIT ||                                                    \
			       !((where) & (SCRIPT_IN_NPC_TICK | SCRIPT_IN_MAP_EVENT)),            \
		"R15: a tick handler changes nothing that lasts");                                 \
	_Static_assert((lane) != LANE_SYNC, "a tick never waits");
SCRIPT_CALLS(X)
#undef X

/* The tables as data; any thread. Those of fields and handlers end with a class that is NULL. */
struct script_call_row {
	const char *name;
	unsigned where; /* enum script_where */
	enum lane lane;
	const char *parameters, *results, *meaning;
};
struct script_field_row {
	const char *class, *name, *type, *meaning;
};
struct script_handler_row {
	const char *class, *name;
	enum script_context context;
	const char *parameters, *meaning;
};
extern const struct script_call_row script_call_rows[SCRIPT_CALL_COUNT];
extern const struct script_field_row script_field_rows[];
extern const struct script_handler_row script_handler_rows[];

/* Whether a declaration of that class may hold a field or handler of that name. */
bool script_declares(const char *class, const char *name);

#endif
