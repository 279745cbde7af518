#include "simulation/script/calls.h"

#include <stddef.h>
#include <string.h>

#include "simulation/script/api.h"

const struct script_call_row script_call_rows[SCRIPT_CALL_COUNT] = {
#define X(name, text, where, lane, parameters, results, meaning)                                   \
	{text, where, lane, parameters, results, meaning},
	SCRIPT_CALLS(X)
#undef X
};

const struct script_field_row script_field_rows[] = {
#define X(class, name, type, meaning) {#class, name, type, meaning},
	SCRIPT_FIELDS(X)
#undef X
		{NULL, NULL, NULL, NULL},
};

const struct script_handler_row script_handler_rows[] = {
#define X(id, class, name, context, with, parameters, meaning)                                     \
	{#class, name, SCRIPT_CONTEXT_##context, with, parameters, meaning},
	SCRIPT_HANDLERS(X)
#undef X
		{NULL, NULL, SCRIPT_CONTEXT_LOAD, NULL, NULL, NULL},
};

static const char *const context_names[] = {
#define X(name, text, limit_us, meaning) #text,
	SCRIPT_CONTEXTS(X)
#undef X
};

const char *script_call_name(enum script_call call)
{
	return call < SCRIPT_CALL_COUNT ? script_call_rows[call].name : "?";
}

const char *script_context_name(enum script_context context)
{
	return context < SCRIPT_CONTEXT_COUNT ? context_names[context] : "?";
}

uint64_t script_context_calls(enum script_context context)
{
	uint64_t set = 0;

	for (unsigned call = 0; call < SCRIPT_CALL_COUNT; call++)
		if (script_call_rows[call].where >> context & 1)
			set |= 1ull << call;
	return set;
}

/* "x?" and "x" are the same name. */
static bool same(const char *row, const char *name)
{
	size_t bytes = strcspn(row, "?");

	return strlen(name) == bytes && memcmp(row, name, bytes) == 0;
}

bool script_declares(const char *class, const char *name)
{
	for (const struct script_field_row *row = script_field_rows; row->class; row++)
		if (!strcmp(row->class, class) && same(row->name, name))
			return true;
	for (const struct script_handler_row *row = script_handler_rows; row->class; row++)
		if (!strcmp(row->class, class) && same(row->name, name))
			return true;
	return false;
}
