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
	/* The short list of what a fight may bring for good: never less than there was. */
	SCRIPT_IN_REWARD = SCRIPT_IN_TALK | SCRIPT_IN_COMBAT,
	/* All but what runs for many NPCs in each tick: what is told to a whole map. */
	SCRIPT_IN_EVENTS = SCRIPT_IN_PLAY & ~SCRIPT_IN_NPC_TICK,
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
	X(MONSTER, "monster", SCRIPT_IN_LOAD, LANE_NONE, "declaration: declaration_monster", "",   \
		"what is to happen in the fights of a kind of monster")                            \
	X(QUEST_EVENTS, "quest", SCRIPT_IN_LOAD, LANE_NONE, "declaration: declaration_quest", "",  \
		"what is to happen when a quest has been begun or completed")                      \
	X(MAP_EVENTS, "map_events", SCRIPT_IN_LOAD, LANE_NONE, "declaration: declaration_map_events", "", \
		"what is to happen when players come and go; once a map")                          \
	X(TIMER, "timer", SCRIPT_IN_LOAD, LANE_NONE, "declaration: declaration_timer", "",         \
		"a timer, which start_timer starts by its name")                                   \
	X(RULE, "rule", SCRIPT_IN_LOAD, LANE_NONE, "declaration: declaration_rule", "",            \
		"the match of a room with `rule: script`; once a map")                             \
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
	X(SHOUT, "actor:shout", SCRIPT_IN_PLAY, LANE_NONE, "text: string", "integer",                \
		"a line of dialogue of an NPC or monster to the players who see it, at most 64: how many it was sent to") \
	X(WAIT, "wait", SCRIPT_IN_TALK, LANE_NONE, "seconds: number", "boolean",                   \
		"waits, up to 600 s, to within a second: false if that cannot be had; ended like a question, by another click or by leaving") \
	X(NEAR, "players_near", SCRIPT_IN_PLAY, LANE_NONE, "actor: actor, metres: number", "player[]", \
		"the living players near it, itself not, at most 64")                              \
	X(MAP_NAME, "map.name", SCRIPT_IN_PLAY, LANE_NONE, "", "string",                           \
		"the map's name in the configuration")                                             \
	X(MAP_PLAYERS, "map.players", SCRIPT_IN_PLAY, LANE_NONE, "", "integer",                    \
		"how many players are on this instance of the map")                                \
	X(ANNOUNCE, "map.announce", SCRIPT_IN_EVENTS, LANE_NONE, "text: string", "boolean",        \
		"a line to everybody on this instance of the map, spread over ticks; false: two announcements are under way already") \
	X(ITEM_INFO, "item_info", SCRIPT_IN_PLAY, LANE_NONE, "item: item_name", "item_row",        \
		"what items.yaml says of an item: `.stack_max .attack .defence`")                  \
	X(QUEST_INFO, "quest_info", SCRIPT_IN_PLAY, LANE_NONE, "quest: quest_name", "quest_row",   \
		"what quests.yaml says of a quest: `.title .level .gold .experience`")             \
	X(START_TIMER, "start_timer", SCRIPT_IN_PLAY, LANE_NONE, "timer: string, seconds: number, value?: string|number|boolean", "boolean", \
		"has a declared timer's on_time called once, after that time, with that value; false: 256 run already") \
	X(STOP_TIMER, "stop_timer", SCRIPT_IN_PLAY, LANE_NONE, "timer: string", "integer",         \
		"stops all that run of that timer: how many")                                      \
	X(QUEUE_INTENT, "queue_intent", SCRIPT_IN_PLAY, LANE_ASYNC, "key: string, player: player, changes: changes", "boolean, intent_result?", \
		"has what lasts changed for a player, whole or not at all, once after the tick: true, or false and why not") \
	X(STRIKE, "monster:strike", SCRIPT_IN_EVENTS, LANE_NONE, "player: player, damage: integer", "boolean", \
		"hurts a player, wherever on the map; false: one of them is dead or gone")         \
	X(HEAL, "monster:heal", SCRIPT_IN_EVENTS, LANE_NONE, "amount: integer", "boolean",         \
		"mends it; false: it is dead")                                                     \
	X(CHASE, "monster:chase", SCRIPT_IN_EVENTS, LANE_NONE, "player: player", "boolean",        \
		"goes after that player from now on; false: that cannot be")                       \
	X(SET_ATTACK, "monster:set_attack", SCRIPT_IN_EVENTS, LANE_NONE, "attack: integer", "boolean", \
		"how hard it strikes, until it appears anew; false: it is dead")                   \
	X(DROP, "monster:drop", SCRIPT_IN_EVENTS, LANE_NONE, "item: item_name, count: integer, player?: player", "boolean", \
		"leaves items on the ground, for that player first; false: there is no room")      \
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
	X(ADD_GOLD, "player:add_gold", SCRIPT_IN_REWARD, LANE_COMMIT, "amount: integer", "",         \
		"gives gold; a negative amount is paid, but not in combat")                                           \
	X(ADD_EXPERIENCE, "player:add_experience", SCRIPT_IN_REWARD, LANE_COMMIT, "amount: integer", "", \
		"gives experience")                                                                \
	X(BEGIN_QUEST, "player:begin_quest", SCRIPT_IN_TALK, LANE_COMMIT, "quest: quest_name", "", \
		"begins a quest, and hands out what it gives")                                     \
	X(ADVANCE_QUEST, "player:advance_quest", SCRIPT_IN_NPC_CLICK, LANE_COMMIT, "quest: quest_name", "", \
		"ends a talk step that names this NPC, and takes what it brings; not the last one") \
	X(COMPLETE_QUEST, "player:complete_quest", SCRIPT_IN_NPC_CLICK, LANE_COMMIT, "quest: quest_name", "", \
		"ends the last step, a talk that names this NPC, takes what it brings, and gives the reward") \
	X(COMMIT, "commit", SCRIPT_IN_TALK, LANE_COMMIT, "", "boolean, commit_result?",            \
		"keeps what the calls above have asked for, all of it or nothing, and waits: true, or false and why") \
	X(MATCH_SECONDS, "match.seconds", SCRIPT_IN_MATCH, LANE_NONE, "", "number",                \
		"since the room opened")                                                           \
	X(MATCH_PLAYERS, "match.players", SCRIPT_IN_MATCH, LANE_NONE, "", "player[]",              \
		"the living players in the room, at most 64")                                      \
	X(MATCH_LOCK, "match.lock", SCRIPT_IN_MATCH, LANE_NONE, "locked: boolean", "",             \
		"while locked, only those who were in the room before may come")                   \
	X(MATCH_HOLD, "match.hold", SCRIPT_IN_MATCH, LANE_NONE, "hold: boolean", "",               \
		"while held, nobody moves, strikes or trades")                                     \
	X(MATCH_FIGHT, "match.fight", SCRIPT_IN_MATCH, LANE_NONE, "fight: boolean", "",            \
		"while they fight, players may strike each other, the dead stay dead and nobody mends") \
	X(MATCH_HURT, "match.hurt", SCRIPT_IN_MATCH, LANE_NONE, "player: player, damage: integer", "boolean", \
		"takes health; false: dead or gone")                                               \
	X(MATCH_BOOST, "match.boost", SCRIPT_IN_MATCH, LANE_NONE, "player: player, card: card_name", "boolean", \
		"gives what a card of cards.yaml adds, until the match ends; false: dead or gone") \
	X(MATCH_OFFER, "match.offer", SCRIPT_IN_MATCH, LANE_NONE, "player: player, cards: card_name[], seconds: integer", "boolean", \
		"offers up to three cards to choose from: on_pick is called with the choice, or with the first when the time is up") \
	X(MATCH_RESULT, "match.result", SCRIPT_IN_MATCH, LANE_COMMIT, "player: player, place: integer", "boolean", \
		"keeps a player's place, durably and once; false: it is kept already")             \
	X(MATCH_FINISH, "match.finish", SCRIPT_IN_MATCH, LANE_NONE, "", "",                        \
		"the match is over: everybody goes home, and the room ends when the results are kept") \
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
	X(actor, "health", "integer?", "0: dead; nil of an NPC, which nobody hurts")               \
	X(actor, "health_max", "integer?", "nil of an NPC")                                        \
	X(player, "level", "integer?", "nil while it is not known")                                \
	X(player, "gold", "integer?", "nil while it is not known")                                 \
	X(npc, "storage", "table", "the fields that its declaration names, with its types; nothing else can be assigned") \
	X(declaration_npc, "name", "string", "1 to 31 bytes")                                      \
	X(declaration_npc, "x?", "number", "metres")                                               \
	X(declaration_npc, "y?", "number", "metres")                                               \
	X(declaration_npc, "at?", "string", "the tag of a place of the map, instead of x and y")   \
	X(declaration_npc, "appearance?", "integer", "0xRRGGBB")                                   \
	X(declaration_npc, "storage?", "declaration_storage", "what it keeps in npc.storage, also when the script is loaded anew") \
	X(declaration_storage, "version", "integer", "of the fields: raise it when their meaning changes") \
	X(declaration_storage, "fields", "table<string, string|number|boolean>", "each with its first value, at most 16") \
	X(declaration_storage, "upgrade?", "fun(old: table, version: integer): table", "the fields of an older version as those of this one; without it, fields of the same name and type are taken over") \
	X(declaration_monster, "kind", "monster_kind", "a name of monsters.yaml")                  \
	X(declaration_quest, "name", "quest_name", "a name of quests.yaml")                        \
	X(declaration_timer, "name", "string", "1 to 31 bytes")                                    \
	X(changes, "take?", "table<item_name, integer>", "items that are taken out of the bag")    \
	X(changes, "give?", "table<item_name, integer>", "items that are put into it")             \
	X(changes, "gold?", "integer", "negative: paid")                                           \
	X(changes, "experience?", "integer", "0 or more")                                          \
	X(item_row, "stack_max", "integer", "1: each is one of its own")                           \
	X(item_row, "attack", "integer", "what it adds where it is worn")                          \
	X(item_row, "defence", "integer", "what it adds where it is worn")                         \
	X(quest_row, "title", "string", "what players see")                                        \
	X(quest_row, "level", "integer", "what one needs to begin it")                             \
	X(quest_row, "gold", "integer", "what its end gives")                                      \
	X(quest_row, "experience", "integer", "what its end gives")

/* Functions that a declaration's table may hold. X(NAME, class, name, CONTEXT, what it is called
 * with, parameters, when)
 * Called with, a letter each: o the NPC, m the monster, p the player, i a number, b a boolean, s a
 * player's name, v a timer's value. */
#define SCRIPT_HANDLERS(X)                                                                         \
	X(NPC_CLICK, declaration_npc, "on_click", NPC_CLICK, "op", "npc: npc, player: player",     \
		"a player clicked the NPC")                                                        \
	X(NPC_TICK, declaration_npc, "on_tick", NPC_TICK, "o", "npc: npc",                         \
		"every tick of the map, 20 a second unless configured otherwise")                  \
	X(MONSTER_HURT, declaration_monster, "on_hurt", COMBAT, "mpi", "monster: monster, player: player, damage: integer", \
		"a player has hurt it; the blows of one player in one tick are one call")          \
	X(MONSTER_FIGHT, declaration_monster, "on_fight", COMBAT, "mp", "monster: monster, player: player", \
		"once a second while it is after a player")                                        \
	X(MONSTER_DEATH, declaration_monster, "on_death", COMBAT, "mp", "monster: monster, player: player", \
		"it has died, and what it leaves is that player's")                                \
	X(QUEST_BEGIN, declaration_quest, "on_begin", QUEST, "p", "player: player",                \
		"the player has begun it, and the database has that")                              \
	X(QUEST_COMPLETE, declaration_quest, "on_complete", QUEST, "p", "player: player",          \
		"the player has completed it, and the database has that")                          \
	X(MAP_ENTER, declaration_map_events, "on_enter", MAP_EVENT, "p", "player: player",         \
		"a player has come to the map; level and bag are not known yet")                   \
	X(MAP_LEAVE, declaration_map_events, "on_leave", MAP_EVENT, "s", "name: string",           \
		"a player has left the map")                                                       \
	X(TIMER_TIME, declaration_timer, "on_time", MAP_EVENT, "v", "value: string|number|boolean|nil", \
		"a timer that start_timer has started is due")                                     \
	X(RULE_OPEN, declaration_rule, "on_open", MATCH, "", "",                                   \
		"the room has opened; nobody is in it")                                            \
	X(RULE_JOIN, declaration_rule, "on_join", MATCH, "pb", "player: player, returning: boolean", \
		"a player stands in the room; returning: it was in it before")                     \
	X(RULE_LEAVE, declaration_rule, "on_leave", MATCH, "p", "player: player",                  \
		"a player leaves the room, and can still be read")                                                      \
	X(RULE_TICK, declaration_rule, "on_tick", MATCH, "", "",                                   \
		"every tick, until the match is over")                                             \
	X(RULE_PICK, declaration_rule, "on_pick", MATCH, "pi", "player: player, choice: integer",  \
		"a player has chosen of what match.offer offered, by its place in that list")
// clang-format on

enum script_call {
#define X(name, text, where, lane, parameters, results, meaning) SCRIPT_CALL_##name,
	SCRIPT_CALLS(X)
#undef X
		SCRIPT_CALL_COUNT
};
_Static_assert(SCRIPT_CALL_COUNT <= 64, "a permission set is one word");

enum script_handler {
#define X(name, class, text, context, with, parameters, meaning) SCRIPT_HANDLER_##name,
	SCRIPT_HANDLERS(X)
#undef X
		SCRIPT_HANDLER_COUNT
};

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
	const char *with;
	const char *parameters, *meaning;
};
extern const struct script_call_row script_call_rows[SCRIPT_CALL_COUNT];
extern const struct script_field_row script_field_rows[];
extern const struct script_handler_row script_handler_rows[]; /* by enum script_handler */

/* Whether a declaration of that class may hold a field or handler of that name. */
bool script_declares(const char *class, const char *name);

#endif
