/* api: who may make which call (calls.h), and what is written from that. */
#ifndef SW_SIMULATION_SCRIPT_API_H
#define SW_SIMULATION_SCRIPT_API_H

#include <stdint.h>
#include <stdio.h>

#include "simulation/script/calls.h"
#include "simulation/script/script.h"

/* "npc:say"; any thread. */
const char *script_call_name(enum script_call call);

/* "npc_click"; any thread. */
const char *script_context_name(enum script_context context);

/* The calls of a context, a bit each. Any thread. */
uint64_t script_context_calls(enum script_context context);

/* Writes the tables of docs/content.md (contexts, calls, fields, handlers, results), as Markdown. */
void script_reference(FILE *out);

/* Writes type stubs for the Lua language server (https://luals.github.io), which an editor checks
 * and completes content with. */
void script_stubs(FILE *out);

#endif
