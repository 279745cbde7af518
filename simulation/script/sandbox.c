/* What content can reach, by name: a list of what is let in, never of what is kept out. */
#include "simulation/script/vm.h"

#include <lualib.h>
#include <string.h>

#include "common/check.h"

/* Stock functions that are bounded by their arguments (a block is at most 256 KiB). */
static const char *const stock_base[] = {
	"assert", "error", "ipairs", "next", "select", "tonumber", "type", NULL};
static const char *const stock_string[] = {
	"char", "format", "len", "lower", "reverse", "sub", "upper", NULL};
static const char *const stock_utf8[] = {
	"char", "charpattern", "codepoint", "codes", "len", "offset", NULL};
static const char *const stock_math[] = {"abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp",
	"floor", "fmod", "huge", "log", "max", "maxinteger", "min", "mininteger", "modf", "pi",
	"rad", "sin", "sqrt", "tan", "tointeger", "type", "ult", NULL};

/* Moves the named fields of the table at from into the one at to. */
static void take(lua_State *state, int from, int to, const char *const *names)
{
	for (; *names; names++) {
		CHECK(lua_getfield(state, from, *names) != LUA_TNIL);
		lua_setfield(state, to, *names);
	}
}

/* Adds our functions to the table on top. One that is there already becomes ours' upvalue. */
static void add(lua_State *state, const struct script_function *functions)
{
	for (; functions->name; functions++) {
		lua_getfield(state, -1, functions->name);
		lua_pushcclosure(state, functions->call, 1);
		lua_setfield(state, -2, functions->name);
	}
}

static int refuse_write(lua_State *state)
{
	return luaL_error(
		state, "the %s table is read-only", lua_tostring(state, lua_upvalueindex(1)));
}

void script_readonly(lua_State *state, const char *name)
{
	lua_newtable(state); /* library, view */
	lua_createtable(state, 0, 3);
	lua_pushvalue(state, -3);
	lua_setfield(state, -2, "__index");
	lua_pushstring(state, name);
	lua_pushcclosure(state, refuse_write, 1);
	lua_setfield(state, -2, "__newindex");
	lua_setmetatable(state, -2);
	lua_remove(state, -2);
}

/* A library that is all ours, read-only. */
static void own(
	lua_State *state, int globals, const char *name, const struct script_function *functions)
{
	lua_newtable(state);
	add(state, functions);
	script_readonly(state, name);
	lua_setfield(state, globals, name);
}

static void library(lua_State *state, lua_CFunction open, const char *name,
	const char *const *names, const struct script_function *ours,
	const struct script_function *more)
{
	luaL_requiref(state, name, open, 0);
	lua_newtable(state);
	take(state, -2, lua_absindex(state, -1), names);
	if (ours)
		add(state, ours);
	if (more)
		add(state, more);
	lua_remove(state, -2);
}

void script_sandbox_open(lua_State *state)
{
	static const char *const none[] = {NULL};
	int globals;

	lua_newtable(state);
	globals = lua_gettop(state);

	luaL_requiref(state, "_G", luaopen_base, 0);
	take(state, -1, globals, stock_base);
	lua_getfield(state, -1, "next");
	lua_setfield(state, LUA_REGISTRYINDEX, "sw.next");
	lua_settop(state, globals);
	lua_pushliteral(state, LUA_VERSION);
	lua_setfield(state, globals, "_VERSION");
	add(state, script_lib_base);
	add(state, script_lib_api);
	add(state, script_lib_keep);
	add(state, script_lib_declare);
	add(state, script_lib_events);
	add(state, script_lib_intent);
	own(state, globals, "map", script_lib_map);
	own(state, globals, "match", script_lib_match);

	library(state, luaopen_string, LUA_STRLIBNAME, stock_string, script_lib_string,
		script_lib_pattern);
	/* ("x"):rep and the like, from the same functions; "10" + 1 stays with the stock metatable.
	 */
	lua_pushliteral(state, "");
	lua_getmetatable(state, -1);
	lua_pushvalue(state, -3);
	lua_setfield(state, -2, "__index");
	lua_pop(state, 2);
	script_readonly(state, "string");
	lua_setfield(state, globals, "string");

	library(state, luaopen_table, LUA_TABLIBNAME, none, script_lib_table, NULL);
	script_readonly(state, "table");
	lua_setfield(state, globals, "table");

	library(state, luaopen_math, LUA_MATHLIBNAME, stock_math, script_lib_math, NULL);
	script_readonly(state, "math");
	lua_setfield(state, globals, "math");

	library(state, luaopen_utf8, LUA_UTF8LIBNAME, stock_utf8, script_lib_utf8, NULL);
	script_readonly(state, "utf8");
	lua_setfield(state, globals, "utf8");

	lua_setfield(state, LUA_REGISTRYINDEX, "sw.globals");
	/* Nothing keeps the stock tables: not the registry's list of loaded modules, not _G. */
	lua_newtable(state);
	lua_rawseti(state, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
	lua_pushnil(state);
	lua_setfield(state, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	lua_settop(state, 0);
}

bool script_vm_has(const struct script_vm *vm, const char *name, const char *member)
{
	bool has;

	lua_settop(vm->state, 0);
	lua_getfield(vm->state, LUA_REGISTRYINDEX, "sw.globals");
	has = lua_getfield(vm->state, -1, name) != LUA_TNIL;
	if (has && member)
		has = lua_istable(vm->state, -1) &&
		      lua_getfield(vm->state, -1, member) != LUA_TNIL;
	lua_settop(vm->state, 0);
	return has;
}

/* A copy, so that a file that assigns to string or pairs changes its own alone. */
void script_sandbox_globals(lua_State *state)
{
	lua_newtable(state);
	lua_getfield(state, LUA_REGISTRYINDEX, "sw.globals");
	lua_pushnil(state);
	while (lua_next(state, -2)) {
		lua_pushvalue(state, -2);
		lua_insert(state, -2);
		lua_settable(state, -5);
	}
	lua_pop(state, 1);
}
