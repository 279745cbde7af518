/* The tables of docs/content.md. */
#include "simulation/script/api.h"

static const struct {
	const char *usage, *meaning;
} calls[] = {
#define X(name, text, right, usage, meaning) {usage, meaning},
	SCRIPT_CALLS(X)
#undef X
};

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

void script_reference(FILE *out)
{
	fprintf(out, "| context | when | running time of one call |\n|---|---|---|\n");
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
		fprintf(out, "| `%s` | %s | %u us |\n", script_context_name(i), contexts[i].meaning,
			contexts[i].limit_us);
	fprintf(out, "\n| call | what it does |");
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
		fprintf(out, " %s |", script_context_name(i));
	fprintf(out, "\n|---|---|");
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
		fprintf(out, "---|");
	for (int call = 0; call < SCRIPT_CALL_COUNT; call++) {
		fprintf(out, "\n| `%s` | %s |", calls[call].usage, calls[call].meaning);
		for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
			fprintf(out, " %s |", script_context_calls(i) >> call & 1 ? "yes" : "no");
	}
	fprintf(out, "\n\n| outcome | meaning |\n|---|---|\n");
	for (int i = 0; i < SCRIPT_RESULT_COUNT; i++)
		fprintf(out, "| `%s` | %s |\n", script_result_name(i), results[i]);
	fprintf(out, "\n| commit() | meaning |\n|---|---|\n");
	for (int i = 0; i < SCRIPT_KEPT_COUNT; i++)
		fprintf(out, "| `%s` | %s |\n", script_kept_name(i), kepts[i]);
}
