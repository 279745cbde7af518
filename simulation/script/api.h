/* api: every call that content may make, and who may make it. The enum, the permission sets, the
 * reference in docs/content.md and the test table grow from this list. */
#ifndef SW_SIMULATION_SCRIPT_API_H
#define SW_SIMULATION_SCRIPT_API_H

#include <stdint.h>
#include <stdio.h>

#include "simulation/script/script.h"

/* What a call does; a context has a set of these. */
enum script_right {
	SCRIPT_RIGHT_DECLARE = 1, /* adds to what the map is made of */
	SCRIPT_RIGHT_READ = 2,
	SCRIPT_RIGHT_LIVE = 4,    /* changes live state of the map: gone after a crash */
	SCRIPT_RIGHT_DURABLE = 8, /* changes what PostgreSQL keeps */
	SCRIPT_RIGHT_WAIT = 16    /* may suspend the handler */
};

/* X(NAME, lua name, right, how it is called, what it does) */
// clang-format off
#define SCRIPT_CALLS(X)                                                                            \
	X(NPC,      "npc",            DECLARE, "npc { name=, x=, y=, ... }",                       \
		"declares an NPC; at= with a tag of the map takes the place of x and y")                                                                 \
	X(FIELD,    "actor field",    READ,    "actor.name .x .y .kind .alive .level .gold",       \
		"of an NPC or player as it is now; x and y in metres; level and gold of a player, nil while they are not known") \
	X(DISTANCE, "actor:distance", READ,    "actor:distance(other)",                            \
		"metres to another actor")                                                         \
	X(TICK,     "tick",           READ,    "tick()",                                           \
		"the map's tick number")                                                           \
	X(RANDOM,   "math.random",    READ,    "math.random([m [, n]])",                           \
		"as in stock Lua, from the map's seeded generator")                                \
	X(SAY,      "npc:say",        LIVE,    "npc:say(player, text)",                            \
		"a line of dialogue to one player; false if the player is gone")                   \
	X(WALK,     "npc:walk",       LIVE,    "npc:walk(dx, dy)",                                 \
		"walks in that direction for this tick; length 1 is full speed, longer is cut to 1") \
	X(SEND,     "npc:send",       LIVE,    "npc:send(player, map [, x, y])",                   \
		"moves a player to another map of this node, to its spawn point or to x, y in metres; false if the player is gone or leaves already. Where the map cannot be had, the player comes back") \
	X(ASK,      "npc:ask",        WAIT,    "npc:ask(player, text, { choice, ... })",           \
		"asks the player who clicked, and waits: the number of the choice, nil for none of them or no answer within a minute") \
	X(COUNT_ITEM, "player:count_item", READ, "player:count_item(item)",                        \
		"how many of an item, by its name, are in the bag")                                \
	X(QUEST,    "player:quest",   READ,    "player:quest(quest)",                              \
		"how a quest stands, by its name: `\"new\"`; `\"locked\"`: the level or a quest before it is missing; `\"open\"`, and then the number of its step and the count; `\"done\"`, and then the seconds until it may be begun again, if ever; `\"unknown\"`: it cannot be read") \
	X(PARTY,    "player:party",   READ,    "player:party()",                                   \
		"the names of the members of the player's party, on whatever map, who joined first first; an empty table: it is in none") \
	X(TAKE_ITEM, "player:take_item", DURABLE, "player:take_item(item [, count])",              \
		"takes items out of the bag")                                                      \
	X(GIVE_ITEM, "player:give_item", DURABLE, "player:give_item(item [, count])",              \
		"puts items into the bag")                                                         \
	X(ADD_GOLD, "player:add_gold", DURABLE, "player:add_gold(amount)",                         \
		"gives gold; a negative amount is paid")                                           \
	X(ADD_EXPERIENCE, "player:add_experience", DURABLE, "player:add_experience(amount)",       \
		"gives experience")                                                                \
	X(BEGIN_QUEST, "player:begin_quest", DURABLE, "player:begin_quest(quest)",                 \
		"begins a quest, and hands out what it gives")                                     \
	X(ADVANCE_QUEST, "player:advance_quest", DURABLE, "player:advance_quest(quest)",           \
		"ends a talk step that names this NPC, and takes what it brings; not the last one") \
	X(COMPLETE_QUEST, "player:complete_quest", DURABLE, "player:complete_quest(quest)",        \
		"ends the last step, a talk that names this NPC, takes what it brings, and gives the reward") \
	X(COMMIT,   "commit",         DURABLE, "commit()",                                         \
		"keeps what the calls above have asked for, all of it or nothing, and waits: true, or false and why") \
	X(LOG,      "log",            READ,    "log(...)",                                         \
		"a line for the server's log; print is the same")
// clang-format on

enum script_call {
#define X(name, text, right, usage, meaning) SCRIPT_CALL_##name,
	SCRIPT_CALLS(X)
#undef X
		SCRIPT_CALL_COUNT
};
_Static_assert(SCRIPT_CALL_COUNT <= 64, "a permission set is one word");

/* "npc:say"; any thread. */
const char *script_call_name(enum script_call call);

/* "npc_click"; any thread. */
const char *script_context_name(enum script_context context);

/* The permission set of a context by the rights above, with the exceptions of R15. Any thread. */
uint64_t script_context_calls(enum script_context context);

/* Writes the tables of docs/content.md (contexts, calls, results), as Markdown. */
void script_reference(FILE *out);

#endif
