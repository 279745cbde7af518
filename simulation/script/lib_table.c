/* The table library, each call bounded. Stock Lua's trusts #t and its arguments: t = {}, then
 * t[2^k] = 1 for each k, makes #t about 2^62, and table.insert(t, 1, 0) shifts that many in C. */
#include "simulation/script/vm.h"

#include <string.h>

static lua_Integer length_of(lua_State *state, int index)
{
	luaL_checktype(state, index, LUA_TTABLE);
	return luaL_len(state, index);
}

static void check_elements(lua_State *state, const char *name, lua_Unsigned count)
{
	if (count > SCRIPT_ELEMENTS_MAX)
		script_end(state, SCRIPT_OVER_STEPS,
			"table.%s: %I elements, at most %d in one call", name,
			(LUAI_UACINT)(count > INT64_MAX ? INT64_MAX : count),
			(int)SCRIPT_ELEMENTS_MAX);
}

static int table_insert(lua_State *state)
{
	lua_Integer end = (lua_Integer)((lua_Unsigned)length_of(state, 1) + 1), at = end;

	switch (lua_gettop(state)) {
	case 2:
		break;
	case 3:
		at = luaL_checkinteger(state, 2);
		luaL_argcheck(state, at >= 1 && at <= end, 2, "position out of bounds");
		check_elements(state, "insert", (lua_Unsigned)(end - at));
		for (lua_Integer i = end; i > at; i--) {
			lua_geti(state, 1, i - 1);
			lua_seti(state, 1, i);
		}
		break;
	default:
		return luaL_error(state, "wrong number of arguments to 'insert'");
	}
	lua_seti(state, 1, at);
	return 0;
}

static int table_remove(lua_State *state)
{
	lua_Integer size = length_of(state, 1), at = luaL_optinteger(state, 2, size);

	if (at != size)
		luaL_argcheck(state, (lua_Unsigned)at - 1u <= (lua_Unsigned)size, 2,
			"position out of bounds");
	lua_geti(state, 1, at);
	if (at < size)
		check_elements(state, "remove", (lua_Unsigned)(size - at));
	for (; at < size; at++) {
		lua_geti(state, 1, at + 1);
		lua_seti(state, 1, at);
	}
	lua_pushnil(state);
	lua_seti(state, 1, at);
	return 1;
}

static int table_move(lua_State *state)
{
	lua_Integer from, end, to;
	int target = lua_isnoneornil(state, 5) ? 1 : 5;

	luaL_checktype(state, 1, LUA_TTABLE);
	luaL_checktype(state, target, LUA_TTABLE);
	from = luaL_checkinteger(state, 2);
	end = luaL_checkinteger(state, 3);
	to = luaL_checkinteger(state, 4);
	if (end >= from) {
		lua_Unsigned count = (lua_Unsigned)end - (lua_Unsigned)from;

		check_elements(state, "move", count);
		luaL_argcheck(state, to <= LUA_MAXINTEGER - (lua_Integer)count, 4,
			"destination wrap around");
		if (to > end || to <= from ||
			(target != 1 && !lua_compare(state, 1, target, LUA_OPEQ))) {
			for (lua_Integer i = 0; i <= (lua_Integer)count; i++) {
				lua_geti(state, 1, from + i);
				lua_seti(state, target, to + i);
			}
		} else {
			for (lua_Integer i = (lua_Integer)count; i >= 0; i--) {
				lua_geti(state, 1, from + i);
				lua_seti(state, target, to + i);
			}
		}
	}
	lua_pushvalue(state, target);
	return 1;
}

static int table_unpack(lua_State *state)
{
	lua_Integer first = luaL_optinteger(state, 2, 1), last;
	lua_Unsigned count;

	luaL_checktype(state, 1, LUA_TTABLE);
	last = luaL_opt(state, luaL_checkinteger, 3, luaL_len(state, 1));
	if (first > last)
		return 0;
	count = (lua_Unsigned)last - (lua_Unsigned)first;
	if (count >= SCRIPT_SPREAD_MAX)
		return luaL_error(
			state, "too many results to unpack (at most %d)", (int)SCRIPT_SPREAD_MAX);
	luaL_checkstack(state, (int)count + 1, "too many results to unpack");
	for (lua_Unsigned i = 0; i <= count; i++)
		lua_geti(state, 1, first + (lua_Integer)i);
	return (int)count + 1;
}

static int table_pack(lua_State *state)
{
	int count = lua_gettop(state);

	lua_createtable(state, count, 1);
	lua_insert(state, 1);
	for (int i = count; i >= 1; i--)
		lua_seti(state, 1, i);
	lua_pushinteger(state, count);
	lua_setfield(state, 1, "n");
	return 1;
}

static int table_concat(lua_State *state)
{
	size_t gap_bytes;
	const char *gap;
	lua_Integer size = length_of(state, 1), first, last;
	luaL_Buffer out;

	gap = luaL_optlstring(state, 2, "", &gap_bytes);
	first = luaL_optinteger(state, 3, 1);
	last = luaL_optinteger(state, 4, size);
	if (last >= first)
		check_elements(state, "concat", (lua_Unsigned)last - (lua_Unsigned)first);
	luaL_buffinit(state, &out);
	for (lua_Integer i = first; i <= last; i++) {
		lua_geti(state, 1, i);
		if (!lua_isstring(state, -1))
			return luaL_error(state,
				"invalid value (at index %I) in table for 'concat'",
				(LUAI_UACINT)i);
		luaL_addvalue(&out);
		if (i < last)
			luaL_addlstring(&out, gap, gap_bytes);
		if (i == LUA_MAXINTEGER)
			break;
	}
	luaL_pushresult(&out);
	return 1;
}

/* Sinks the value on top of the stack from the hole at root of the heap 1..count. */
static void sink(lua_State *state, struct script_vm *vm, int index, lua_Integer root,
	lua_Integer count, bool (*less)(lua_State *state, struct script_vm *vm))
{
	for (lua_Integer child = 2 * root; child <= count; child = 2 * root) {
		script_steps(state, vm, 4);
		lua_geti(state, index, child);
		if (child < count) {
			lua_geti(state, index, child + 1);
			if (less(state, vm)) {
				child++;
				lua_remove(state, -2);
			} else {
				lua_pop(state, 1);
			}
		}
		/* ... value, child: does the value go below its child? */
		if (!less(state, vm)) {
			lua_pop(state, 1);
			break;
		}
		lua_seti(state, index, root);
		root = child;
	}
	lua_seti(state, index, root);
}

void script_sort(lua_State *state, int index, lua_Integer count,
	bool (*less)(lua_State *state, struct script_vm *vm))
{
	struct script_vm *vm = script_vm_of(state);

	for (lua_Integer root = count / 2; root >= 1; root--) {
		lua_geti(state, index, root);
		sink(state, vm, index, root, count, less);
	}
	for (; count > 1; count--) {
		lua_geti(state, index, count);
		lua_geti(state, index, 1);
		lua_seti(state, index, count);
		sink(state, vm, index, 1, count - 1, less);
	}
}

static bool less_plain(lua_State *state, struct script_vm *vm)
{
	/* strcoll is as long as the shorter string. */
	if (lua_type(state, -1) == LUA_TSTRING && lua_type(state, -2) == LUA_TSTRING) {
		size_t a = lua_rawlen(state, -2), b = lua_rawlen(state, -1);

		script_steps(state, vm, (a < b ? a : b) / 16);
	}
	return lua_compare(state, -2, -1, LUA_OPLT);
}

/* The comparison function is argument 2; it gets steps of its own. */
static bool less_by_function(lua_State *state, struct script_vm *vm)
{
	uint64_t steps = vm->steps;
	bool less;

	lua_pushvalue(state, 2);
	lua_pushvalue(state, -3);
	lua_pushvalue(state, -3);
	lua_call(state, 2, 1);
	less = lua_toboolean(state, -1);
	lua_pop(state, 1);
	vm->steps = steps;
	return less;
}

/* A heap sort: n log n whatever the comparison function answers, and the same order every time. */
static int table_sort(lua_State *state)
{
	lua_Integer count = length_of(state, 1);

	if (count < 2)
		return 0;
	check_elements(state, "sort", (lua_Unsigned)count);
	if (!lua_isnoneornil(state, 2))
		luaL_checktype(state, 2, LUA_TFUNCTION);
	lua_settop(state, 2);
	script_vm_of(state)->steps = 8 * SCRIPT_STEPS_MAX;
	script_sort(state, 1, count, lua_isnil(state, 2) ? less_plain : less_by_function);
	return 0;
}

const struct script_function script_lib_table[] = {
	{"insert", table_insert},
	{"remove", table_remove},
	{"move", table_move},
	{"unpack", table_unpack},
	{"pack", table_pack},
	{"concat", table_concat},
	{"sort", table_sort},
	{NULL, NULL},
};
