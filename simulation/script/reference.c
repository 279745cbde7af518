/* The tables of docs/content.md. */
#include <string.h>

#include "simulation/script/api.h"

static const struct {
	const char *meaning;
	uint32_t limit_us;
} contexts[] = {
#define X(name, text, limit_us, meaning) {meaning, limit_us},
	SCRIPT_CONTEXTS(X)
#undef X
};

static const char *const results[] = {
#define X(name, metric, meaning) meaning,
	SCRIPT_RESULTS(X)
#undef X
};

static const char *const kepts[] = {
#define X(name, text, meaning) meaning,
	SCRIPT_KEPTS(X)
#undef X
};

static const char *const intents[] = {
#define X(name, text, meaning) meaning,
	SCRIPT_INTENTS(X)
#undef X
};

/* Parameters without their types. */
static void put_names(FILE *out, const char *parameters)
{
	bool in_type = false;

	for (; *parameters; parameters++) {
		if (*parameters == ',')
			in_type = false;
		if (*parameters == ':')
			in_type = true;
		if (!in_type)
			putc(*parameters, out);
	}
}

static void put_usage(FILE *out, const struct script_call_row *row)
{
	if (!strncmp(row->parameters, "declaration:", 12)) {
		fprintf(out, "%s { ... }", row->name);
		return;
	}
	if (strchr(row->name, ' ')) {
		fputs(row->name, out);
		return;
	}
	fprintf(out, "%s(", row->name);
	put_names(out, row->parameters);
	putc(')', out);
}

static void put_type(FILE *out, const char *type)
{
	for (; *type; type++)
		fputs(*type == '|' ? "\\|" : (char[]){*type, '\0'}, out);
}

void script_reference(FILE *out)
{
	static const char *const lanes[] = {"", "query", "sync", "commit", "async"};

	fprintf(out, "| context | when | running time of one call |\n|---|---|---|\n");
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
		fprintf(out, "| `%s` | %s | %u us |\n", script_context_name(i), contexts[i].meaning,
			contexts[i].limit_us);
	fprintf(out, "\n| handler | in | when |\n|---|---|---|\n");
	for (const struct script_handler_row *row = script_handler_rows; row->class; row++) {
		fprintf(out, "| `%s: %s(", strchr(row->class, '_') + 1, row->name);
		put_names(out, row->parameters);
		fprintf(out, ")` | %s | %s |\n", script_context_name(row->context), row->meaning);
	}
	fprintf(out, "\n| call | what it does | gives | lane |");
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
		fprintf(out, " %s |", script_context_name(i));
	fprintf(out, "\n|---|---|---|---|");
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
		fprintf(out, "---|");
	for (int call = 0; call < SCRIPT_CALL_COUNT; call++) {
		const struct script_call_row *row = &script_call_rows[call];

		fprintf(out, "\n| `");
		put_usage(out, row);
		fprintf(out, "` | %s | ", row->meaning);
		put_type(out, row->results);
		fprintf(out, " | %s |", lanes[row->lane]);
		for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
			fprintf(out, " %s |", row->where >> i & 1 ? "yes" : "-");
	}
	fprintf(out, "\n\n| of | field | type | meaning |\n|---|---|---|---|\n");
	for (const struct script_field_row *row = script_field_rows; row->class; row++) {
		const char *class = strchr(row->class, '_');

		bool declares = !strncmp(row->class, "declaration_", 12);

		fprintf(out, "| %s%s%s | `%s` | ", declares ? "`" : "",
			declares ? class + 1 : row->class, declares ? " { }`" : "", row->name);
		put_type(out, row->type);
		fprintf(out, " | %s |\n", row->meaning);
	}
	fprintf(out, "\n| outcome | meaning |\n|---|---|\n");
	for (int i = 0; i < SCRIPT_RESULT_COUNT; i++)
		fprintf(out, "| `%s` | %s |\n", script_result_name(i), results[i]);
	fprintf(out, "\n| queue_intent() | meaning |\n|---|---|\n");
	for (int i = 0; i < SCRIPT_INTENT_COUNT; i++)
		fprintf(out, "| `%s` | %s |\n", script_intent_name(i), intents[i]);
	fprintf(out, "\n| commit() | meaning |\n|---|---|\n");
	for (int i = 0; i < SCRIPT_KEPT_COUNT; i++)
		fprintf(out, "| `%s` | %s |\n", script_kept_name(i), kepts[i]);
}
