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
	SCRIPT_RIGHT_LIVE = 4,   /* changes live state of the map: gone after a crash */
	SCRIPT_RIGHT_DURABLE = 8 /* changes what PostgreSQL keeps; no such call exists yet */
};

/* X(NAME, lua name, right, how it is called, what it does) */
// clang-format off
#define SCRIPT_CALLS(X)                                                                            \
	X(NPC,      "npc",            DECLARE, "npc { name=, x=, y=, ... }",                       \
		"declares an NPC; at= with a tag of the map takes the place of x and y")                                                                 \
	X(FIELD,    "actor field",    READ,    "actor.name .x .y .kind .alive",                    \
		"of an NPC or player as it is now; x and y in metres")                             \
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
