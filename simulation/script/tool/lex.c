#include "simulation/script/tool/lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct lexer {
	const char *at, *end;
	uint32_t line;
};

static bool has(const struct lexer *l, const char *text)
{
	size_t bytes = strlen(text);

	return (size_t)(l->end - l->at) >= bytes && !memcmp(l->at, text, bytes);
}

static void pass(struct lexer *l, size_t bytes)
{
	for (; bytes && l->at < l->end; bytes--, l->at++)
		l->line += *l->at == '\n';
}

/* "[==[": how many signs, or -1: it is no long bracket. */
static int long_bracket(const struct lexer *l)
{
	const char *at = l->at;
	int level = 0;

	if (at == l->end || *at++ != '[')
		return -1;
	for (; at < l->end && *at == '='; at++)
		level++;
	return at < l->end && *at == '[' ? level : -1;
}

/* Past its end; what is in it goes to *token. */
static void pass_long(struct lexer *l, int level, struct lex_token *token)
{
	char close[64];

	close[0] = ']';
	memset(close + 1, '=', (size_t)level);
	close[level + 1] = ']';
	close[level + 2] = '\0';
	pass(l, (size_t)level + 2);
	token->text = l->at;
	while (l->at < l->end && !has(l, close))
		pass(l, 1);
	token->bytes = (uint32_t)(l->at - token->text);
	pass(l, (size_t)level + 2);
}

static void pass_space(struct lexer *l)
{
	struct lex_token unused;

	for (;;) {
		while (l->at < l->end && isspace((unsigned char)*l->at))
			pass(l, 1);
		if (!has(l, "--"))
			return;
		pass(l, 2);
		if (long_bracket(l) >= 0 && long_bracket(l) < 60) {
			pass_long(l, long_bracket(l), &unused);
			continue;
		}
		while (l->at < l->end && *l->at != '\n')
			pass(l, 1);
	}
}

static void take_quoted(struct lexer *l, struct lex_token *token)
{
	char quote = *l->at;

	pass(l, 1);
	token->kind = LEX_STRING;
	token->text = l->at;
	while (l->at < l->end && *l->at != quote)
		pass(l, *l->at == '\\' ? 2 : 1);
	token->bytes = (uint32_t)(l->at - token->text);
	pass(l, 1);
}

static void take_number(struct lexer *l, struct lex_token *token)
{
	token->kind = LEX_NUMBER;
	while (l->at < l->end && (isalnum((unsigned char)*l->at) || *l->at == '.' ||
					 ((*l->at == '+' || *l->at == '-') &&
						 strchr("eEpP", l->at[-1]) && l->at > token->text)))
		pass(l, 1);
}

static bool is_keyword(const struct lex_token *token)
{
	static const char *const words[] = {"and", "break", "do", "else", "elseif", "end", "false",
		"for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat",
		"return", "then", "true", "until", "while"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (lex_is(token, words[i]))
			return true;
	return false;
}

static void take_symbol(struct lexer *l, struct lex_token *token)
{
	static const char *const symbols[] = {
		"...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>"};

	token->kind = LEX_SYMBOL;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (has(l, symbols[i])) {
			pass(l, strlen(symbols[i]));
			return;
		}
	pass(l, 1);
}

static struct lex_token next(struct lexer *l)
{
	struct lex_token token = {.kind = LEX_END};

	pass_space(l);
	token.text = l->at;
	token.line = l->line;
	if (l->at == l->end)
		return token;
	if (*l->at == '"' || *l->at == '\'') {
		take_quoted(l, &token);
		return token;
	}
	if (long_bracket(l) >= 0 && long_bracket(l) < 60) {
		token.kind = LEX_STRING;
		pass_long(l, long_bracket(l), &token);
		return token;
	}
	if (isdigit((unsigned char)*l->at) ||
		(*l->at == '.' && l->at + 1 < l->end && isdigit((unsigned char)l->at[1]))) {
		take_number(l, &token);
	} else if (isalpha((unsigned char)*l->at) || *l->at == '_') {
		token.kind = LEX_NAME;
		while (l->at < l->end && (isalnum((unsigned char)*l->at) || *l->at == '_'))
			pass(l, 1);
	} else {
		take_symbol(l, &token);
	}
	token.bytes = (uint32_t)(l->at - token.text);
	if (token.kind == LEX_NAME && is_keyword(&token))
		token.kind = LEX_KEYWORD;
	return token;
}

struct lex_token *lex_file(const char *text, size_t bytes, uint32_t *count)
{
	struct lexer l = {.at = text, .end = text + bytes, .line = 1};
	struct lex_token *tokens = malloc((bytes + 1) * sizeof(*tokens)); /* one a byte at most */

	*count = 0;
	if (!tokens)
		return NULL;
	if (has(&l, "#"))
		while (l.at < l.end && *l.at != '\n')
			pass(&l, 1);
	do
		tokens[*count] = next(&l);
	while (tokens[(*count)++].kind != LEX_END);
	return tokens;
}

bool lex_is(const struct lex_token *token, const char *text)
{
	return token->kind != LEX_STRING && strlen(text) == token->bytes &&
	       !memcmp(token->text, text, token->bytes);
}
