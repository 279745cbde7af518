/* Type stubs: the tables of calls.h as LuaLS annotations. */
#include <string.h>

#include "simulation/script/api.h"

static void put_where(FILE *out, unsigned where)
{
	fprintf(out, "---In:");
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
		if (where >> i & 1)
			fprintf(out, " %s", script_context_name(i));
	fprintf(out, "\n");
}

/* "a: x, b?: fun(y, z)": one parameter after the other. Returns where the next begins, or NULL. */
static const char *next(const char *at, int *name_bytes, const char **type, int *type_bytes)
{
	const char *colon = strchr(at, ':'), *end;
	int depth = 0;

	if (!*at || !colon)
		return NULL;
	*name_bytes = (int)(colon - at);
	*type = colon + 2;
	for (end = *type; *end && (depth || *end != ','); end++)
		depth += (*end == '(') - (*end == ')');
	*type_bytes = (int)(end - *type);
	return *end ? end + 2 : end;
}

static void put_parameters(FILE *out, const char *parameters)
{
	const char *at = parameters, *after, *type;
	int name, bytes;

	for (; (after = next(at, &name, &type, &bytes)); at = after)
		fprintf(out, "---@param %.*s %.*s\n", name, at, bytes, type);
}

static void put_names(FILE *out, const char *parameters)
{
	const char *at = parameters, *after, *type;
	int name, bytes;

	for (; (after = next(at, &name, &type, &bytes)); at = after)
		fprintf(out, "%s%.*s", at == parameters ? "" : ", ",
			at[name - 1] == '?' ? name - 1 : name, at);
}

static void put_call(FILE *out, const struct script_call_row *row)
{
	fprintf(out, "\n---%s\n", row->meaning);
	put_where(out, row->where);
	put_parameters(out, row->parameters);
	if (*row->results)
		fprintf(out, "---@return %s\n", row->results);
	fprintf(out, "function %s%s(", strchr(row->name, ':') ? "class_" : "", row->name);
	put_names(out, row->parameters);
	fprintf(out, ") end\n");
}

static void put_fields(FILE *out, const char *class)
{
	for (const struct script_field_row *row = script_field_rows; row->class; row++)
		if (!strcmp(row->class, class))
			fprintf(out, "---@field %s %s %s\n", row->name, row->type, row->meaning);
	for (const struct script_handler_row *row = script_handler_rows; row->class; row++)
		if (!strcmp(row->class, class))
			fprintf(out, "---@field %s? fun(%s) %s; in %s\n", row->name,
				row->parameters, row->meaning, script_context_name(row->context));
}

static bool has_fields(const char *class)
{
	for (const struct script_field_row *row = script_field_rows; row->class; row++)
		if (!strcmp(row->class, class))
			return true;
	return false;
}

static void put_class(FILE *out, const char *class, const char *parent)
{
	size_t bytes = strlen(class);

	fprintf(out, "\n---@class %s%s\n", class, parent);
	put_fields(out, class);
	fprintf(out, "local class_%s = {}\n", class);
	for (int call = 0; call < SCRIPT_CALL_COUNT; call++) {
		const struct script_call_row *row = &script_call_rows[call];

		if (!strncmp(row->name, class, bytes) && row->name[bytes] == ':')
			put_call(out, row);
	}
}

/* The classes of plain tables: each once, where its first field or handler is. */
static void put_tables(FILE *out)
{
	static const char *const objects[] = {"actor", "player", "npc"};
	const char *last = "";

	for (const struct script_field_row *row = script_field_rows; row->class; row++) {
		bool is_object = false;

		for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
			is_object = is_object || !strcmp(row->class, objects[i]);
		if (!is_object && strcmp(row->class, last)) {
			fprintf(out, "\n---@class (exact) %s\n", row->class);
			put_fields(out, row->class);
		}
		last = row->class;
	}
	last = "";
	for (const struct script_handler_row *row = script_handler_rows; row->class; row++) {
		if (strcmp(row->class, last) && !has_fields(row->class)) {
			fprintf(out, "\n---@class (exact) %s\n", row->class);
			put_fields(out, row->class);
		}
		last = row->class;
	}
}

void script_stubs(FILE *out)
{
	fprintf(out, "---@meta\n"
		     "-- What content can call, for the Lua language server. Written by swscript "
		     "stubs.\n"
		     "\n---@alias item_name string\n---@alias quest_name string\n"
		     "---@alias monster_kind string\n---@alias card_name string\n"
		     "---@alias actor_kind \"player\"|\"npc\"|\"monster\"\n"
		     "---@alias quest_phase \"new\"|\"locked\"|\"open\"|\"done\"|\"unknown\"\n"
		     "---@alias commit_result ");
	for (int i = 1; i < SCRIPT_KEPT_COUNT; i++)
		fprintf(out, "%s\"%s\"", i == 1 ? "" : "|", script_kept_name(i));
	fprintf(out, "\n---@alias intent_result ");
	for (int i = 1; i < SCRIPT_INTENT_COUNT; i++)
		fprintf(out, "%s\"%s\"", i == 1 ? "" : "|", script_intent_name(i));
	fprintf(out, "\n");
	put_class(out, "actor", "");
	put_class(out, "player", " : actor");
	put_class(out, "npc", " : actor, { [any]: any }");
	put_class(out, "monster", " : actor");
	put_tables(out);
	fprintf(out, "\nmap = {}\nmatch = {}\n");
	for (int call = 0; call < SCRIPT_CALL_COUNT; call++)
		if (!strpbrk(script_call_rows[call].name, ": "))
			put_call(out, &script_call_rows[call]);
	fprintf(out, "\nprint = log\n");
}
