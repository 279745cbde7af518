/* lint: what can be said of a content file without running it: names that nobody knows, calls in
 * contexts that forbid them (by calls.h), wrong numbers of arguments, and names of items, quests,
 * monsters and cards that the game's data do not have.
 *
 * It follows functions by name: what a handler mentions, it may call. What it cannot follow (a
 * function out of a table that was built at run time) it says nothing of; the check at each call is
 * there for that. */
#ifndef SW_SIMULATION_SCRIPT_TOOL_LINT_H
#define SW_SIMULATION_SCRIPT_TOOL_LINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct script_vm;
struct sim_game;

/* The text compiles. vm has the names that there are; game may be NULL. Writes a line a fault,
 * "file:line: what", and returns how many. */
unsigned lint_file(const struct script_vm *vm, const struct sim_game *game, const char *path,
	const char *text, size_t bytes, FILE *out);

#endif
