/* lex: the tokens of a Lua 5.4 file. Pure; the file is known to compile, so nothing is refused. */
#ifndef SW_SIMULATION_SCRIPT_TOOL_LEX_H
#define SW_SIMULATION_SCRIPT_TOOL_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lex_kind {
	LEX_END,
	LEX_NAME,
	LEX_KEYWORD,
	LEX_STRING, /* text and bytes are what is between the quotes, escapes as they are written */
	LEX_NUMBER,
	LEX_SYMBOL
};

struct lex_token {
	enum lex_kind kind;
	const char *text;
	uint32_t bytes;
	uint32_t line;
};

/* Returns the tokens, to be freed, the last of kind LEX_END; NULL: no memory. */
struct lex_token *lex_file(const char *text, size_t bytes, uint32_t *count);

bool lex_is(const struct lex_token *token, const char *text);

#endif
