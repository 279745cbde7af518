/* tostring, print, pairs: without addresses and in an order that a replay repeats. */
#include "simulation/script/vm.h"

#include <string.h>

void script_push_text(lua_State *state, int index)
{
	switch (lua_type(state, index)) {
	case LUA_TTABLE:
	case LUA_TFUNCTION:
		lua_pushstring(state, luaL_typename(state, index));
		break;
	default: /* actors have __tostring */
		luaL_tolstring(state, index, NULL);
	}
}

static int base_tostring(lua_State *state)
{
	luaL_checkany(state, 1);
	script_push_text(state, 1);
	return 1;
}

static int base_log(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_LOG);
	int count = lua_gettop(state);
	char line[SCRIPT_TEXT_BYTES];
	size_t bytes = 0;

	for (int i = 1; i <= count; i++) {
		size_t part_bytes;
		const char *part;

		script_push_text(state, i);
		part = lua_tolstring(state, -1, &part_bytes);
		if (i > 1 && bytes < sizeof(line))
			line[bytes++] = '\t';
		if (part_bytes > sizeof(line) - bytes)
			part_bytes = sizeof(line) - bytes;
		memcpy(line + bytes, part, part_bytes);
		bytes += part_bytes;
		lua_pop(state, 1);
	}
	script_text_push(vm, SCRIPT_TEXT_LOG, SCRIPT_OK, line, bytes);
	return 0;
}

static int rank(int type)
{
	switch (type) {
	case LUA_TNUMBER:
		return 0;
	case LUA_TSTRING:
		return 1;
	case LUA_TBOOLEAN:
		return 2;
	default:
		return 3;
	}
}

static bool less_key(lua_State *state, struct script_vm *vm)
{
	int a = rank(lua_type(state, -2)), b = rank(lua_type(state, -1));

	if (a != b)
		return a < b;
	if (a == 1) {
		size_t a_bytes, b_bytes;
		const char *x = lua_tolstring(state, -2, &a_bytes);
		const char *y = lua_tolstring(state, -1, &b_bytes);
		size_t shorter = a_bytes < b_bytes ? a_bytes : b_bytes;
		int order;

		script_steps(state, vm, shorter / 16);
		order = memcmp(x, y, shorter); /* bytes: no locale */
		return order ? order < 0 : a_bytes < b_bytes;
	}
	if (a == 2)
		return lua_toboolean(state, -2) < lua_toboolean(state, -1);
	return a == 0 && lua_compare(state, -2, -1, LUA_OPLT);
}

/* Upvalues: sorted keys, how many were given. Arguments: table, last key. */
static int pairs_next(lua_State *state)
{
	lua_Integer i = lua_tointeger(state, lua_upvalueindex(2));

	lua_settop(state, 1);
	for (;;) {
		i++;
		if (lua_geti(state, lua_upvalueindex(1), i) == LUA_TNIL)
			return 1;
		lua_pushvalue(state, -1);
		if (lua_rawget(state, 1) != LUA_TNIL)
			break;
		lua_settop(state, 1); /* removed since */
	}
	lua_pushinteger(state, i);
	lua_replace(state, lua_upvalueindex(2));
	return 2;
}

/* Lua's own order of keys depends on a hash seed drawn at start, so a replay would differ. Numbers
 * come in order, then strings by their bytes, then false and true. Keys that are tables, functions
 * or actors have no order of their own and come last, as they come. A list needs no sorting. */
static int base_pairs(lua_State *state)
{
	struct script_vm *vm = script_vm_of(state);
	lua_Integer count = 0, last = 0;
	bool list = true;

	luaL_checktype(state, 1, LUA_TTABLE);
	lua_settop(state, 1);
	vm->steps = 8 * SCRIPT_STEPS_MAX;
	lua_pushnil(state);
	while (lua_next(state, 1)) {
		lua_pop(state, 1);
		count++;
		list = list && lua_isinteger(state, -1) && lua_tointeger(state, -1) > last;
		last = list ? lua_tointeger(state, -1) : 0;
		script_steps(state, vm, 1);
	}
	if (list || count == 1) {
		lua_getfield(state, LUA_REGISTRYINDEX, "sw.next");
		lua_pushvalue(state, 1);
		lua_pushnil(state);
		return 3;
	}
	lua_createtable(state, (int)count, 0);
	lua_pushnil(state);
	for (lua_Integer i = 1; lua_next(state, 1); i++) {
		lua_pop(state, 1);
		lua_pushvalue(state, -1);
		lua_rawseti(state, 2, i);
	}
	script_sort(state, 2, count, less_key);
	lua_pushinteger(state, 0);
	lua_pushcclosure(state, pairs_next, 2);
	lua_pushvalue(state, 1);
	return 2;
}

const struct script_function script_lib_base[] = {
	{"tostring", base_tostring},
	{"log", base_log},
	{"print", base_log},
	{"pairs", base_pairs},
	{NULL, NULL},
};
