#include "simulation/script/tool/lint.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/game/game.h"
#include "simulation/script/api.h"
#include "simulation/script/tool/lex.h"

#define NONE       UINT32_MAX
#define MAIN       0u
#define NAME_BYTES 64u
#define ARGS_MAX   8u

/* A function of the file; the first is the file itself. */
struct function {
	uint32_t outer;
	unsigned contexts;      /* it may run in, a bit each */
	char field[NAME_BYTES]; /* it was assigned to; "": to none */
};

/* function mentions another one, or whatever is in fields of that name. */
struct mention {
	uint32_t from, to; /* to NONE: field */
	char field[NAME_BYTES];
};

/* A call of the table, or the use of a global name. */
struct use {
	uint32_t function, line;
	uint32_t call; /* enum script_call; NONE: a global name */
	char name[NAME_BYTES];
};

struct variable {
	char name[NAME_BYTES];
	uint32_t function; /* its value, as far as is known; NONE */
	const char *class; /* of calls.h; NULL: not known */
};

/* What an expression is, as far as it matters. */
struct shape {
	enum { OTHER, GLOBAL, LOCAL, FUNCTION, STRING, MANY } kind; /* MANY: a call, or ... */
	char name[NAME_BYTES];                                      /* GLOBAL, STRING */
	uint32_t function;
	const char *class;
};

struct arguments {
	uint32_t count;
	bool many; /* the last one is as many as it likes */
	struct shape of[ARGS_MAX];
};

struct linter {
	const struct script_vm *vm;
	const struct sim_game *game;
	const char *path;
	FILE *out;
	unsigned faults;
	const struct lex_token *at;
	uint32_t function; /* being read */

	struct function *functions;
	struct mention *mentions;
	struct use *uses;
	struct variable *variables; /* in scope, the innermost last */
	uint32_t function_count, mention_count, use_count, variable_count, room;
	char (*assigned)[NAME_BYTES]; /* global names */
	uint32_t *assigned_function;
	uint32_t assigned_count;
};

static struct shape expression(struct linter *l);
static void block(struct linter *l);

static void fault(struct linter *l, uint32_t line, const char *format, ...)
{
	va_list args;

	fprintf(l->out, "%s:%u: ", l->path, line);
	va_start(args, format);
	vfprintf(l->out, format, args);
	va_end(args);
	putc('\n', l->out);
	l->faults++;
}

/* ---- tokens ---- */

static bool see(const struct linter *l, const char *text)
{
	return lex_is(l->at, text);
}

static bool accept(struct linter *l, const char *text)
{
	if (!see(l, text))
		return false;
	l->at++;
	return true;
}

static void set_name(char name[NAME_BYTES], const char *text)
{
	size_t bytes = strnlen(text, NAME_BYTES - 1);

	memcpy(name, text, bytes);
	name[bytes] = '\0';
}

static void copy(char name[NAME_BYTES], const struct lex_token *token)
{
	snprintf(name, NAME_BYTES, "%.*s", (int)token->bytes, token->text);
}

/* ---- what is known of names ---- */

static struct variable *find(struct linter *l, const char *name)
{
	for (uint32_t i = l->variable_count; i-- > 0;)
		if (!strcmp(l->variables[i].name, name))
			return &l->variables[i];
	return NULL;
}

static struct variable *declare(struct linter *l, const char *name)
{
	struct variable *variable = &l->variables[l->variable_count++];

	memset(variable, 0, sizeof(*variable));
	set_name(variable->name, name);
	variable->function = NONE;
	return variable;
}

static void assign_global(struct linter *l, const char *name, uint32_t function)
{
	set_name(l->assigned[l->assigned_count], name);
	l->assigned_function[l->assigned_count++] = function;
}

static void mention(struct linter *l, uint32_t to, const char *field)
{
	struct mention *m = &l->mentions[l->mention_count++];

	m->from = l->function;
	m->to = to;
	set_name(m->field, field);
}

static void use(struct linter *l, uint32_t line, uint32_t call, const char *name)
{
	struct use *u = &l->uses[l->use_count++];

	u->function = l->function;
	u->line = line;
	u->call = call;
	set_name(u->name, name);
}

static uint32_t call_named(const char *name)
{
	for (uint32_t call = 0; call < SCRIPT_CALL_COUNT; call++)
		if (!strcmp(script_call_rows[call].name, name))
			return call;
	return NONE;
}

/* A method of that name, of the class if it is known, or of whatever has one. */
static uint32_t method_named(const char *class, const char *name)
{
	for (uint32_t call = 0; call < SCRIPT_CALL_COUNT; call++) {
		const char *row = script_call_rows[call].name, *colon = strchr(row, ':');

		if (!colon || strcmp(colon + 1, name))
			continue;
		if (!class || !strncmp(row, "actor:", 6) ||
			(!strncmp(row, class, strlen(class)) && row[strlen(class)] == ':'))
			return call;
	}
	return NONE;
}

static bool has_field(const char *class, const char *name)
{
	for (const struct script_field_row *row = script_field_rows; row->class; row++)
		if ((!strcmp(row->class, class) || !strcmp(row->class, "actor")) &&
			!strcmp(row->name, name))
			return true;
	return false;
}

/* Those whose tables content does not add to. */
static bool is_closed(const char *class)
{
	return class && (!strcmp(class, "player") || !strcmp(class, "monster"));
}

/* ---- calls ---- */

static bool known_to_the_game(const struct sim_game *game, const char *type, const char *name)
{
	if (!strncmp(type, "item_name", 9))
		return sim_game_item_named(game, name);
	if (!strncmp(type, "quest_name", 10))
		return sim_quest_find(game, name) != UINT32_MAX;
	if (!strncmp(type, "monster_kind", 12))
		return sim_game_kind(game, name) != UINT32_MAX;
	if (strncmp(type, "card_name", 9) || strchr(type, '['))
		return true;
	for (uint32_t i = 0; i < game->card_count; i++)
		if (!strcmp(game->cards[i].name, name))
			return true;
	return false;
}

/* "a: x, b?: y, ...: z" */
static void check_arguments(
	struct linter *l, uint32_t line, uint32_t call, const struct arguments *arguments)
{
	const struct script_call_row *row = &script_call_rows[call];
	uint32_t least = 0, most = 0;

	for (const char *at = row->parameters; *at; most++) {
		const char *colon = strchr(at, ':'), *type = colon + 2;
		size_t length = strcspn(type, ",");

		if (!strncmp(at, "...", 3))
			return;
		least += colon[-1] != '?';
		if (most < arguments->count && most < ARGS_MAX && l->game &&
			arguments->of[most].kind == STRING &&
			!known_to_the_game(l->game, type, arguments->of[most].name))
			fault(l, line, "%s: there is no %.*s '%s'", row->name,
				(int)strcspn(type, "_"), type, arguments->of[most].name);
		at = type + length;
		at += strspn(at, ", ");
	}
	if (arguments->count > most || (arguments->count < least && !arguments->many)) {
		uint32_t bound = arguments->count > most ? most : least;

		fault(l, line, "%s takes %s%u argument%s, not %u", row->name,
			least == most   ? ""
			: bound == most ? "at most "
					: "at least ",
			bound, bound == 1 ? "" : "s", arguments->count);
	}
}

static struct arguments call_arguments(struct linter *l)
{
	struct arguments arguments = {0};

	if (l->at->kind == LEX_STRING || see(l, "{")) {
		arguments.of[0] = expression(l);
		arguments.count = 1;
		return arguments;
	}
	l->at++; /* ( */
	while (!see(l, ")")) {
		struct shape shape = expression(l);

		if (arguments.count < ARGS_MAX)
			arguments.of[arguments.count] = shape;
		arguments.count++;
		arguments.many = shape.kind == MANY;
		accept(l, ",");
	}
	l->at++;
	return arguments;
}

static bool begins_call(const struct linter *l)
{
	return see(l, "(") || see(l, "{") || l->at->kind == LEX_STRING;
}

/* ---- functions ---- */

static uint32_t function_body(
	struct linter *l, bool method, const struct script_handler_row *handler)
{
	uint32_t before = l->variable_count, outer = l->function, self = l->function_count++;
	const char *type = handler ? handler->parameters : "";

	l->functions[self] = (struct function){.outer = outer};
	if (handler)
		l->functions[self].contexts = 1u << handler->context;
	l->function = self;
	if (method)
		declare(l, "self");
	l->at++; /* ( */
	while (!accept(l, ")")) {
		char name[NAME_BYTES];

		if (l->at->kind == LEX_NAME) {
			struct variable *variable;
			const char *colon = strchr(type, ':');

			copy(name, l->at);
			variable = declare(l, name);
			if (colon && (!strncmp(colon + 2, "player", 6)))
				variable->class = "player";
			else if (colon && !strncmp(colon + 2, "npc", 3))
				variable->class = "npc";
			else if (colon && !strncmp(colon + 2, "monster", 7))
				variable->class = "monster";
			type += strcspn(type, ",");
			type += strspn(type, ", ");
		}
		l->at++;
	}
	block(l);
	l->at++; /* end */
	l->function = outer;
	l->variable_count = before;
	return self;
}

static struct shape function_shape(uint32_t function)
{
	return (struct shape){.kind = FUNCTION, .function = function};
}

/* ---- tables ---- */

/* class: of the declaration that it is; NULL: of none. */
static void table(struct linter *l, const char *class)
{
	l->at++; /* { */
	while (!accept(l, "}")) {
		const struct script_handler_row *handler = NULL;
		struct shape value;
		char field[NAME_BYTES] = "";

		if (accept(l, "[")) {
			expression(l);
			l->at += 2; /* ] = */
		} else if (l->at->kind == LEX_NAME && lex_is(l->at + 1, "=")) {
			copy(field, l->at);
			l->at += 2;
		}
		for (const struct script_handler_row *row = script_handler_rows;
			class && row->class; row++)
			if (!strcmp(row->class, class) && !strcmp(row->name, field))
				handler = row;
		if (see(l, "function")) {
			l->at++;
			value = function_shape(function_body(l, false, handler));
		} else {
			value = expression(l);
		}
		if ((value.kind == FUNCTION || value.kind == LOCAL) && value.function != NONE) {
			if (handler)
				l->functions[value.function].contexts |= 1u << handler->context;
			if (value.kind == FUNCTION)
				set_name(l->functions[value.function].field, field);
		}
		if (!accept(l, ","))
			accept(l, ";");
	}
}

/* ---- expressions ---- */

static void look_up_global(struct linter *l, struct shape *shape, const struct lex_token *token)
{
	copy(shape->name, token);
	shape->kind = GLOBAL;
	use(l, token->line, NONE, shape->name);
}

static struct shape name_shape(struct linter *l)
{
	struct shape shape = {.kind = LOCAL, .function = NONE};
	const struct lex_token *token = l->at++;
	const struct variable *variable;
	char name[NAME_BYTES];

	copy(name, token);
	variable = find(l, name);
	if (!variable) {
		look_up_global(l, &shape, token);
		return shape;
	}
	shape.function = variable->function;
	shape.class = variable->class;
	/* In the file itself a mention is no call: it hands the function on. */
	if (shape.function != NONE && (l->function != MAIN || lex_is(l->at, "(")))
		mention(l, shape.function, "");
	return shape;
}

/* global.name: a member of a library, or a function of the table. */
static void member(struct linter *l, const char *of, const struct lex_token *token)
{
	char name[NAME_BYTES], whole[2 * NAME_BYTES];
	bool assigned = false;

	for (uint32_t i = 0; i < l->assigned_count; i++)
		assigned = assigned || !strcmp(l->assigned[i], of);
	copy(name, token);
	snprintf(whole, sizeof(whole), "%s.%s", of, name);
	if (!assigned && script_vm_has(l->vm, of, NULL) && !script_vm_has(l->vm, of, name) &&
		call_named(of) == NONE)
		fault(l, token->line, "there is no %s", whole);
}

static struct shape call(struct linter *l, const struct shape *callee, const char *of,
	const struct lex_token *name, bool is_method)
{
	uint32_t line = l->at->line, known = NONE;
	struct arguments arguments;
	char text[NAME_BYTES] = "", whole[2 * NAME_BYTES];

	if (name) {
		copy(text, name);
		line = name->line;
	}
	if (is_method) {
		known = method_named(callee->class, text);
		if (known == NONE && is_closed(callee->class))
			fault(l, line, "a %s has no method '%s'", callee->class, text);
	} else if (name && of) {
		snprintf(whole, sizeof(whole), "%s.%s", of, text);
		known = call_named(whole);
	} else if (callee->kind == GLOBAL) {
		known = call_named(callee->name);
	}
	if (known != NONE && see(l, "{") &&
		!strncmp(script_call_rows[known].parameters, "declaration: ", 13)) {
		table(l, script_call_rows[known].parameters + 13);
		use(l, line, known, "");
		return (struct shape){.kind = MANY, .function = NONE};
	}
	arguments = call_arguments(l);
	if (known != NONE) {
		use(l, line, known, is_method && !callee->class ? text : "");
		/* Of a receiver that is not known, a method may be anybody's. */
		if (!is_method || callee->class)
			check_arguments(l, line, known, &arguments);
		else if (arguments.of[0].kind == STRING)
			check_arguments(l, line, known, &arguments);
	}
	return (struct shape){.kind = MANY, .function = NONE};
}

static struct shape suffixed(struct linter *l)
{
	struct shape shape = {.kind = OTHER, .function = NONE};
	const struct lex_token *name = NULL;
	char of[NAME_BYTES];
	bool of_global = false;

	if (accept(l, "(")) {
		expression(l);
		l->at++;
	} else {
		shape = name_shape(l);
	}
	for (;;) {
		if (accept(l, ".")) {
			name = l->at++;
			of_global = shape.kind == GLOBAL;
			snprintf(of, sizeof(of), "%s", shape.name);
			if (of_global)
				member(l, of, name);
			copy(shape.name, name);
			if (is_closed(shape.class) && !has_field(shape.class, shape.name) &&
				method_named(shape.class, shape.name) == NONE)
				fault(l, name->line, "a %s has no field '%s'", shape.class,
					shape.name);
			if (l->function != MAIN || begins_call(l))
				mention(l, NONE, shape.name);
			shape.kind = OTHER;
			shape.class = NULL;
		} else if (accept(l, "[")) {
			expression(l);
			l->at++;
			shape = (struct shape){.kind = OTHER, .function = NONE};
			name = NULL;
		} else if (accept(l, ":")) {
			const struct lex_token *method = l->at++;
			char text[NAME_BYTES];

			copy(text, method);
			mention(l, NONE, text);
			shape = call(l, &shape, NULL, method, true);
			name = NULL;
		} else if (begins_call(l)) {
			shape = call(l, &shape, of_global ? of : NULL, name, false);
			name = NULL;
		} else {
			return shape;
		}
		of_global = of_global && name;
	}
}

static struct shape simple(struct linter *l)
{
	struct shape shape = {.kind = OTHER, .function = NONE};

	if (l->at->kind == LEX_STRING) {
		shape.kind = STRING;
		copy(shape.name, l->at++);
		return shape;
	}
	if (l->at->kind == LEX_NUMBER || see(l, "nil") || see(l, "true") || see(l, "false")) {
		l->at++;
		return shape;
	}
	if (accept(l, "...")) {
		shape.kind = MANY;
		return shape;
	}
	if (accept(l, "function"))
		return function_shape(function_body(l, false, NULL));
	if (see(l, "{")) {
		table(l, NULL);
		return shape;
	}
	return suffixed(l);
}

static bool is_binary(const struct linter *l)
{
	static const char *const operators[] = {"+", "-", "*", "/", "//", "%", "^", "..",
		"==", "~=", "<", "<=", ">", ">=", "and", "or", "&", "|", "~", "<<", ">>"};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (see(l, operators[i]))
			return true;
	return false;
}

static struct shape expression(struct linter *l)
{
	struct shape shape;

	while (see(l, "not") || see(l, "-") || see(l, "#") || see(l, "~"))
		l->at++;
	shape = simple(l);
	while (is_binary(l)) {
		l->at++;
		expression(l);
		shape = (struct shape){.kind = OTHER, .function = NONE};
	}
	return shape;
}

static void expressions(struct linter *l, struct shape *first)
{
	struct shape shape = expression(l);

	if (first)
		*first = shape;
	while (accept(l, ","))
		expression(l);
}

/* ---- statements ---- */

static void inner(struct linter *l, const char *end)
{
	uint32_t before = l->variable_count;

	block(l);
	if (!strcmp(end, "until")) { /* what follows it sees the block's names */
		l->at++;
		expression(l);
	} else {
		accept(l, end);
	}
	l->variable_count = before;
}

static void local_statement(struct linter *l)
{
	char names[ARGS_MAX * 4][NAME_BYTES];
	struct shape value = {.kind = OTHER, .function = NONE};
	uint32_t count = 0;

	if (accept(l, "function")) {
		struct variable *variable;
		uint32_t index = l->variable_count;

		copy(names[0], l->at++);
		variable = declare(l, names[0]);
		variable->function = l->function_count; /* it may call itself */
		l->variables[index].function = function_body(l, false, NULL);
		return;
	}
	do {
		if (count < ARGS_MAX * 4)
			copy(names[count++], l->at);
		l->at++;
		if (accept(l, "<"))
			l->at += 2;
	} while (accept(l, ","));
	if (accept(l, "="))
		expressions(l, &value);
	for (uint32_t i = 0; i < count; i++) {
		struct variable *variable = declare(l, names[i]);

		if (!i && (value.kind == FUNCTION || value.kind == LOCAL)) {
			variable->function = value.function;
			variable->class = value.class;
		}
	}
}

static void function_statement(struct linter *l)
{
	char name[NAME_BYTES], field[NAME_BYTES] = "";
	const struct variable *variable;
	bool method = false;
	uint32_t self;

	copy(name, l->at);
	variable = find(l, name);
	if (lex_is(l->at + 1, "."))
		name_shape(l);
	else
		l->at++;
	while (see(l, ".") || see(l, ":")) {
		method = see(l, ":");
		copy(field, l->at + 1);
		l->at += 2;
	}
	self = function_body(l, method, NULL);
	set_name(l->functions[self].field, field);
	if (!*field && !variable)
		assign_global(l, name, self);
	else if (!*field)
		find(l, name)->function = self;
}

static void for_statement(struct linter *l)
{
	uint32_t before = l->variable_count;
	char names[ARGS_MAX][NAME_BYTES];
	uint32_t count = 0;

	do {
		if (count < ARGS_MAX)
			copy(names[count++], l->at);
		l->at++;
	} while (accept(l, ","));
	l->at++; /* = or in */
	expressions(l, NULL);
	accept(l, "do");
	for (uint32_t i = 0; i < count; i++)
		declare(l, names[i]);
	inner(l, "end");
	l->variable_count = before;
}

static void if_statement(struct linter *l)
{
	for (;;) {
		expression(l);
		accept(l, "then");
		inner(l, "");
		if (accept(l, "elseif"))
			continue;
		if (accept(l, "else"))
			inner(l, "");
		accept(l, "end");
		return;
	}
}

/* A call, or an assignment. */
static void expression_statement(struct linter *l)
{
	const struct lex_token *first = l->at;
	uint32_t uses = l->use_count;
	char name[NAME_BYTES];
	struct shape shape = suffixed(l), value = {.kind = OTHER, .function = NONE};
	bool one = lex_is(first + 1, "=") || lex_is(first + 1, ",");

	if (!see(l, "=") && !see(l, ","))
		return;
	copy(name, first);
	if (one && shape.kind == GLOBAL) /* written, not read */
		l->use_count = uses;
	while (accept(l, ",")) {
		const struct lex_token *more = l->at;
		uint32_t before = l->use_count;
		struct shape target = suffixed(l);

		if (target.kind == GLOBAL && (see(l, "=") || see(l, ","))) {
			char text[NAME_BYTES];

			l->use_count = before;
			copy(text, more);
			assign_global(l, text, NONE);
		}
	}
	accept(l, "=");
	expressions(l, &value);
	if (one && shape.kind == GLOBAL)
		assign_global(l, name, value.kind == FUNCTION ? value.function : NONE);
	else if (one && find(l, name) && value.kind == FUNCTION)
		find(l, name)->function = value.function;
	else if (!one && value.kind == FUNCTION)
		set_name(l->functions[value.function].field, shape.name);
}

static bool block_ends(const struct linter *l)
{
	return l->at->kind == LEX_END || see(l, "end") || see(l, "else") || see(l, "elseif") ||
	       see(l, "until");
}

static void statement(struct linter *l)
{
	if (accept(l, ";") || accept(l, "break"))
		return;
	if (accept(l, "::") || accept(l, "goto")) {
		l->at++;
		accept(l, "::");
	} else if (accept(l, "local")) {
		local_statement(l);
	} else if (accept(l, "function")) {
		function_statement(l);
	} else if (accept(l, "if")) {
		if_statement(l);
	} else if (accept(l, "for")) {
		for_statement(l);
	} else if (accept(l, "while")) {
		expression(l);
		accept(l, "do");
		inner(l, "end");
	} else if (accept(l, "do")) {
		inner(l, "end");
	} else if (accept(l, "repeat")) {
		inner(l, "until");
	} else if (accept(l, "return")) {
		if (!block_ends(l) && !see(l, ";"))
			expressions(l, NULL);
	} else {
		expression_statement(l);
	}
}

static void block(struct linter *l)
{
	while (!block_ends(l))
		statement(l);
}

/* ---- verdicts ---- */

/* Contexts go from who mentions a function to it, until nothing changes. */
static void spread(struct linter *l)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < l->function_count; i++) {
			struct function *f = &l->functions[i];
			unsigned more =
				f->outer != MAIN && i != MAIN ? l->functions[f->outer].contexts : 0;

			changed = changed || more & ~f->contexts;
			f->contexts |= more;
		}
		for (uint32_t i = 0; i < l->mention_count; i++) {
			const struct mention *m = &l->mentions[i];
			unsigned more = l->functions[m->from].contexts;

			for (uint32_t f = 1; f < l->function_count; f++) {
				if (m->to != f && (m->to != NONE || !*m->field ||
							  strcmp(l->functions[f].field, m->field)))
					continue;
				changed = changed || more & ~l->functions[f].contexts;
				l->functions[f].contexts |= more;
			}
		}
	}
}

/* The file has a field or function of that name itself. */
static bool has_own(const struct linter *l, const char *name)
{
	for (uint32_t f = 1; f < l->function_count; f++)
		if (*name && !strcmp(l->functions[f].field, name))
			return true;
	return false;
}

static void judge_global(struct linter *l, const struct use *u)
{
	for (uint32_t i = 0; i < l->assigned_count; i++)
		if (!strcmp(l->assigned[i], u->name))
			return;
	if (!script_vm_has(l->vm, u->name, NULL))
		fault(l, u->line, "unknown global '%s'", u->name);
}

static void mention_global(struct linter *l, const struct use *u)
{
	for (uint32_t g = l->assigned_count; u->call == NONE && g-- > 0;)
		if (l->assigned_function[g] != NONE && !strcmp(l->assigned[g], u->name)) {
			l->function = u->function;
			mention(l, l->assigned_function[g], "");
			return;
		}
}

static void judge(struct linter *l)
{
	/* Functions in globals, too, may be called from wherever they are mentioned. */
	for (uint32_t i = 0; i < l->use_count; i++)
		mention_global(l, &l->uses[i]);
	spread(l);
	for (uint32_t i = 0; i < l->use_count; i++) {
		const struct use *u = &l->uses[i];
		unsigned contexts = l->functions[u->function].contexts;

		if (u->call == NONE) {
			judge_global(l, u);
			continue;
		}
		if (has_own(l, u->name))
			continue;
		for (int c = 0; c < SCRIPT_CONTEXT_COUNT; c++)
			if (contexts >> c & 1 && !(script_call_rows[u->call].where >> c & 1))
				fault(l, u->line, "%s is not allowed in %s",
					script_call_name(u->call), script_context_name(c));
	}
}

unsigned lint_file(const struct script_vm *vm, const struct sim_game *game, const char *path,
	const char *text, size_t bytes, FILE *out)
{
	struct linter l = {.vm = vm, .game = game, .path = path, .out = out};
	uint32_t count;
	struct lex_token *tokens = lex_file(text, bytes, &count);

	/* A token is one function, variable or name at most, two uses and three mentions. */
	l.functions = calloc(count + 1, sizeof(*l.functions));
	l.mentions = calloc(3 * (size_t)count + 1, sizeof(*l.mentions));
	l.uses = calloc(2 * (size_t)count + 1, sizeof(*l.uses));
	l.variables = calloc(count + 1, sizeof(*l.variables));
	l.assigned = calloc(count + 1, sizeof(*l.assigned));
	l.assigned_function = calloc(count + 1, sizeof(*l.assigned_function));
	if (!tokens || !l.functions || !l.mentions || !l.uses || !l.variables || !l.assigned ||
		!l.assigned_function) {
		fprintf(out, "%s: no memory\n", path);
		l.faults++;
	} else {
		l.at = tokens;
		l.functions[MAIN] = (struct function){.contexts = 1u << SCRIPT_CONTEXT_LOAD};
		l.function_count = 1;
		block(&l);
		judge(&l);
	}
	free(tokens);
	free(l.functions);
	free(l.mentions);
	free(l.uses);
	free(l.variables);
	free(l.assigned);
	free(l.assigned_function);
	return l.faults;
}
