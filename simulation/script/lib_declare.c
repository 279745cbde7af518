/* Declarations beside NPCs: monster { }, quest { }, map_events { }, timer { }, rule { }. A file's
 * are forgotten again when it fails (script_undeclare). */
#include "simulation/script/vm.h"

#include <string.h>

void script_check_fields(lua_State *state, const char *class)
{
	luaL_checktype(state, 1, LUA_TTABLE);
	lua_settop(state, 1);
	lua_pushnil(state);
	while (lua_next(state, 1)) {
		if (lua_type(state, -2) != LUA_TSTRING ||
			!script_declares(class, lua_tostring(state, -2))) {
			script_push_text(state, -2);
			luaL_error(state, "%s: unknown field '%s'", strchr(class, '_') + 1,
				lua_tostring(state, -1));
		}
		lua_pop(state, 1);
	}
}

int script_take_handler(lua_State *state, const char *class, const char *name)
{
	if (lua_getfield(state, 1, name) == LUA_TNIL) {
		lua_pop(state, 1);
		return LUA_NOREF;
	}
	if (!lua_isfunction(state, -1))
		luaL_error(state, "%s: %s must be a function", strchr(class, '_') + 1, name);
	return luaL_ref(state, LUA_REGISTRYINDEX);
}

void script_take_name(
	lua_State *state, const char *class, const char *field, char name[SCRIPT_NAME_BYTES])
{
	const char *what = strchr(class, '_') + 1, *text;
	size_t bytes;

	if (lua_getfield(state, 1, field) != LUA_TSTRING)
		luaL_error(state, "%s: %s is missing, or not a string", what, field);
	text = lua_tolstring(state, -1, &bytes);
	if (bytes < 1 || bytes >= SCRIPT_NAME_BYTES || !script_is_text(text, bytes) ||
		memchr(text, '\n', bytes))
		luaL_error(state, "%s: %s must be 1 to %d bytes of UTF-8 text", what, field,
			(int)SCRIPT_NAME_BYTES - 1);
	memset(name, 0, SCRIPT_NAME_BYTES);
	memcpy(name, text, bytes);
	lua_pop(state, 1);
}

/* Adds the declaration at index 1; field names what it is of, NULL: a map has one. */
static struct script_declared *declare(
	lua_State *state, enum script_call call, const char *class, const char *field)
{
	struct script_vm *vm = script_check_call(state, call);
	struct script_declared declared = {.class = class};
	bool any = false;

	script_check_fields(state, class);
	if (field)
		script_take_name(state, class, field, declared.name);
	for (uint32_t i = 0; i < vm->declared_count; i++)
		if (vm->declared[i].class == class && !strcmp(vm->declared[i].name, declared.name))
			luaL_error(state, "%s%s%s is declared already", strchr(class, '_') + 1,
				field ? " " : "", declared.name);
	if (vm->declared_count == SCRIPT_DECLARED_MAX)
		luaL_error(state, "%s: a map has at most %d declarations beside its NPCs",
			strchr(class, '_') + 1, (int)SCRIPT_DECLARED_MAX);
	for (uint32_t i = 0; i < SCRIPT_HANDLER_COUNT; i++) {
		const struct script_handler_row *row = &script_handler_rows[i];

		declared.ref[i] = LUA_NOREF;
		if (!strcmp(row->class, class))
			declared.ref[i] = script_take_handler(state, class, row->name);
		any = any || declared.ref[i] != LUA_NOREF;
	}
	if (!any)
		luaL_error(state, "%s%s%s has no handler", strchr(class, '_') + 1, field ? " " : "",
			declared.name);
	vm->declared[vm->declared_count] = declared;
	return &vm->declared[vm->declared_count++];
}

void script_undeclare(struct script_vm *vm, uint32_t count)
{
	while (vm->declared_count > count) {
		struct script_declared *declared = &vm->declared[--vm->declared_count];

		for (uint32_t i = 0; i < SCRIPT_HANDLER_COUNT; i++)
			luaL_unref(vm->state, LUA_REGISTRYINDEX, declared->ref[i]);
	}
}

/* Their addresses tell classes apart. */
static const char class_monster[] = "declaration_monster", class_quest[] = "declaration_quest",
		  class_map_events[] = "declaration_map_events",
		  class_timer[] = "declaration_timer", class_rule[] = "declaration_rule";

static int api_monster(lua_State *state)
{
	const struct script_vm *vm = script_vm_of(state);
	const struct script_declared *declared =
		declare(state, SCRIPT_CALL_MONSTER, class_monster, "kind");

	if (vm->ops->kind(vm->ctx, declared->name) == UINT32_MAX)
		return luaL_error(state, "monster: there is no kind '%s'", declared->name);
	return 0;
}

static int api_quest(lua_State *state)
{
	const struct script_vm *vm = script_vm_of(state);
	const struct script_declared *declared =
		declare(state, SCRIPT_CALL_QUEST_EVENTS, class_quest, "name");

	if (vm->ops->quest(vm->ctx, declared->name) == UINT32_MAX)
		return luaL_error(state, "quest: there is no quest '%s'", declared->name);
	return 0;
}

static int api_map_events(lua_State *state)
{
	declare(state, SCRIPT_CALL_MAP_EVENTS, class_map_events, NULL);
	return 0;
}

static int api_timer(lua_State *state)
{
	declare(state, SCRIPT_CALL_TIMER, class_timer, "name");
	return 0;
}

static int api_rule(lua_State *state)
{
	declare(state, SCRIPT_CALL_RULE, class_rule, NULL);
	return 0;
}

const struct script_function script_lib_declare[] = {
	{"monster", api_monster},
	{"quest", api_quest},
	{"map_events", api_map_events},
	{"timer", api_timer},
	{"rule", api_rule},
	{NULL, NULL},
};
