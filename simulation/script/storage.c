/* npc.storage: fields with declared names and types, which go on when a script is loaded anew; and
 * what else is handed over then. Content sees a view; the values lie in a table of the registry. */
#include "simulation/script/vm.h"

#include <stdio.h>
#include <string.h>

static bool may_be_stored(lua_State *state, int index)
{
	switch (lua_type(state, index)) {
	case LUA_TBOOLEAN:
	case LUA_TNUMBER:
		return true;
	case LUA_TSTRING:
		return lua_rawlen(state, index) <= SCRIPT_STORED_BYTES;
	default:
		return false;
	}
}

/* view[key] = value; upvalue 1: the values. */
static int store(lua_State *state)
{
	int type;

	lua_settop(state, 3);
	lua_pushvalue(state, 2);
	type = lua_rawget(state, lua_upvalueindex(1));
	if (type == LUA_TNIL) {
		script_push_text(state, 2);
		return luaL_error(state, "storage: the declaration names no field '%s'",
			lua_tostring(state, -1));
	}
	if (lua_type(state, 3) != type || !may_be_stored(state, 3)) {
		script_push_text(state, 2);
		return luaL_error(state, "storage: '%s' is a %s%s", lua_tostring(state, -1),
			lua_typename(state, type),
			type == LUA_TSTRING ? " of at most 255 bytes" : "");
	}
	lua_settop(state, 3);
	lua_rawset(state, lua_upvalueindex(1));
	return 0;
}

/* A copy of the fields of the declaration that is on top; pushes it. */
static void copy_fields(lua_State *state)
{
	uint32_t count = 0;

	if (lua_getfield(state, -1, "fields") != LUA_TTABLE)
		luaL_error(state, "npc: storage.fields is missing, or not a table");
	lua_newtable(state);
	lua_pushnil(state);
	while (lua_next(state, -3)) {
		if (lua_type(state, -2) != LUA_TSTRING || !may_be_stored(state, -1)) {
			script_push_text(state, -2);
			luaL_error(state,
				"npc: storage field '%s' has no first value that can be kept",
				lua_tostring(state, -1));
		}
		if (++count > SCRIPT_FIELDS_MAX)
			luaL_error(state, "npc: storage has at most %d fields",
				(int)SCRIPT_FIELDS_MAX);
		lua_pushvalue(state, -2);
		lua_insert(state, -2);
		lua_rawset(state, -4);
	}
	lua_remove(state, -2);
}

void script_take_storage(lua_State *state, struct script_npc_slot *slot)
{
	int object = lua_gettop(state), is_integer;

	slot->storage_ref = slot->upgrade_ref = LUA_NOREF;
	if (lua_getfield(state, 1, "storage") == LUA_TNIL) {
		lua_settop(state, object);
		return;
	}
	if (!lua_istable(state, -1))
		luaL_error(state, "npc: storage must be a table");
	lua_pushnil(state);
	while (lua_next(state, -2)) {
		if (lua_type(state, -2) != LUA_TSTRING ||
			!script_declares("declaration_storage", lua_tostring(state, -2))) {
			script_push_text(state, -2);
			luaL_error(
				state, "npc: storage: unknown field '%s'", lua_tostring(state, -1));
		}
		lua_pop(state, 1);
	}
	lua_getfield(state, -1, "version");
	slot->storage_version = lua_tointegerx(state, -1, &is_integer);
	if (!is_integer)
		luaL_error(state, "npc: storage.version is missing, or not a whole number");
	lua_pop(state, 1);
	if (lua_getfield(state, -1, "upgrade") == LUA_TNIL) {
		lua_pop(state, 1);
	} else {
		if (!lua_isfunction(state, -1))
			luaL_error(state, "npc: storage.upgrade must be a function");
		slot->upgrade_ref = luaL_ref(state, LUA_REGISTRYINDEX);
	}
	copy_fields(state);
	lua_newtable(state); /* the view, */
	lua_createtable(state, 0, 2);
	lua_pushvalue(state, -3);
	lua_setfield(state, -2, "__index");
	lua_pushvalue(state, -3);
	lua_pushcclosure(state, store, 1);
	lua_setfield(state, -2, "__newindex");
	lua_setmetatable(state, -2);
	lua_setiuservalue(state, object, 2); /* which the object holds */
	slot->storage_ref = luaL_ref(state, LUA_REGISTRYINDEX);
	lua_settop(state, object);
}

/* ---- handing over ---- */

static void copy_value(lua_State *from, int index, lua_State *to)
{
	const char *text;
	size_t bytes;

	switch (lua_type(from, index)) {
	case LUA_TBOOLEAN:
		lua_pushboolean(to, lua_toboolean(from, index));
		break;
	case LUA_TNUMBER:
		if (lua_isinteger(from, index))
			lua_pushinteger(to, lua_tointeger(from, index));
		else
			lua_pushnumber(to, lua_tonumber(from, index));
		break;
	default:
		text = lua_tolstring(from, index, &bytes);
		lua_pushlstring(to, text, bytes);
	}
}

/* The values of a storage as a new table of another state; pushes it there. */
static void copy_table(lua_State *from, int ref, lua_State *to)
{
	lua_newtable(to);
	lua_rawgeti(from, LUA_REGISTRYINDEX, ref);
	lua_pushnil(from);
	while (lua_next(from, -2)) {
		copy_value(from, -2, to);
		copy_value(from, -1, to);
		lua_rawset(to, -3);
		lua_pop(from, 1);
	}
	lua_pop(from, 1);
}

/* Of the table on top, what the storage has fields of that type for. */
static void adopt(lua_State *state, int storage_ref)
{
	lua_rawgeti(state, LUA_REGISTRYINDEX, storage_ref);
	lua_pushnil(state);
	while (lua_next(state, -2)) { /* table, storage, key, first value */
		lua_pushvalue(state, -2);
		lua_rawget(state, -5);
		if (lua_type(state, -1) == lua_type(state, -2) && may_be_stored(state, -1)) {
			lua_pushvalue(state, -3);
			lua_insert(state, -2);
			lua_rawset(state, -5); /* of a key that is there: allowed within lua_next */
		} else {
			lua_pop(state, 1);
		}
		lua_pop(state, 1);
	}
	lua_pop(state, 1);
}

#define HAND_OVER_US 10000u

struct hand_over {
	lua_State *from;
	const struct script_npc_slot *old, *new;
};

static int hand_over(lua_State *state)
{
	const struct hand_over *over = lua_touserdata(state, 1);

	if (over->new->upgrade_ref == LUA_NOREF ||
		over->old->storage_version >= over->new->storage_version) {
		copy_table(over->from, over->old->storage_ref, state);
	} else {
		lua_rawgeti(state, LUA_REGISTRYINDEX, over->new->upgrade_ref);
		copy_table(over->from, over->old->storage_ref, state);
		lua_pushinteger(state, over->old->storage_version);
		lua_call(state, 2, 1);
		if (!lua_istable(state, -1))
			return luaL_error(state, "npc %s: storage.upgrade returned no table",
				over->new->npc.name);
	}
	adopt(state, over->new->storage_ref);
	return 0;
}

static const struct script_npc_slot *same_npc(
	const struct script_vm *vm, const struct script_npc_slot *slot)
{
	for (uint32_t i = 0; i < vm->npc_count; i++)
		if (vm->npcs[i].storage_ref != LUA_NOREF &&
			!strcmp(vm->npcs[i].npc.name, slot->npc.name))
			return &vm->npcs[i];
	return NULL;
}

static void hand_timers_over(const struct script_vm *from, struct script_vm *to)
{
	to->timer_count = 0;
	for (uint32_t i = 0; i < from->timer_count; i++) {
		struct script_timer timer = from->timers[i];

		timer.declaration = script_vm_find(
			to, SCRIPT_HANDLER_TIMER_TIME, from->declared[timer.declaration].name);
		if (timer.declaration != UINT32_MAX)
			to->timers[to->timer_count++] = timer;
	}
	counter_put(&to->values[SCRIPT_COUNT_TIMERS], to->timer_count);
}

static enum script_result hand_storage_over(
	const struct script_vm *from, struct script_vm *to, char *error, size_t error_bytes)
{
	for (uint32_t i = 0; i < to->npc_count; i++) {
		struct hand_over over = {.from = from->state, .new = &to->npcs[i]};
		enum script_result result;

		over.old = over.new->storage_ref == LUA_NOREF ? NULL : same_npc(from, over.new);
		if (!over.old)
			continue;
		result = script_protected(to, SCRIPT_CONTEXT_LOAD, hand_over, &over);
		if (result != SCRIPT_OK) {
			snprintf(error, error_bytes, "%s", to->error);
			lua_settop(from->state, 0);
			return result;
		}
		if (script_vm_spent(to)) {
			snprintf(error, error_bytes, "handing the storage over took more than %u us",
				HAND_OVER_US);
			return SCRIPT_OVER_TIME;
		}
	}
	return SCRIPT_OK;
}

enum script_result script_vm_hand_over(
	const struct script_vm *from, struct script_vm *to, char *error, size_t error_bytes)
{
	uint32_t load_us = to->config.limit_us[SCRIPT_CONTEXT_LOAD];
	uint64_t load_calls = to->config.allowed[SCRIPT_CONTEXT_LOAD];
	enum script_result result;

	/* This is a tick: an upgrade has a slice, all of them a few. And the map has counted what the
	 * script declares: it is too late for more. */
	to->config.limit_us[SCRIPT_CONTEXT_LOAD] = SCRIPT_SLICE_US;
	to->config.allowed[SCRIPT_CONTEXT_LOAD] = load_calls & 1ull << SCRIPT_CALL_LOG;
	to->upgrading = true;
	script_vm_budget(to, HAND_OVER_US);
	result = hand_storage_over(from, to, error, error_bytes);
	to->upgrading = false;
	to->config.allowed[SCRIPT_CONTEXT_LOAD] = load_calls;
	to->config.limit_us[SCRIPT_CONTEXT_LOAD] = load_us;
	if (result == SCRIPT_OK)
		hand_timers_over(from, to);
	return result;
}
