/* The permission check, npc { ... } and tick(). */
#include "simulation/script/vm.h"

#include <math.h>
#include <string.h>

#include "common/handle.h"

struct script_vm *script_check_call(lua_State *state, enum script_call call)
{
	struct script_vm *vm = script_vm_of(state);

	if (__builtin_expect(!(vm->config.allowed[vm->context] >> call & 1), 0))
		script_end(state, SCRIPT_NOT_ALLOWED, "%s is not allowed in %s",
			script_call_name(call),
			vm->upgrading ? "storage.upgrade" : script_context_name(vm->context));
	return vm;
}

static int api_tick(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_TICK);

	lua_pushinteger(state, vm->ops->tick(vm->ctx));
	return 1;
}

/* Metres in a declaration to millimetres. */
static int32_t metres(lua_State *state, const char *field)
{
	lua_Number value;
	int is_number;

	lua_getfield(state, 1, field);
	if (lua_isnil(state, -1))
		luaL_error(state, "npc: %s is missing", field);
	value = lua_tonumberx(state, -1, &is_number);
	if (!is_number || !(fabs(value) <= 1e6))
		luaL_error(state, "npc: %s must be a number of metres", field);
	lua_pop(state, 1);
	return (int32_t)lround(value * 1000);
}

/* By x and y, or at the place of a tag of the map. */
static void where(lua_State *state, struct script_vm *vm, struct script_npc *npc)
{
	const char *tag;

	if (lua_getfield(state, 1, "at") == LUA_TNIL) {
		npc->x_mm = metres(state, "x");
		npc->y_mm = metres(state, "y");
		return;
	}
	if (lua_type(state, -1) != LUA_TSTRING)
		luaL_error(state, "npc: at must be the tag of a place, a string");
	if (lua_getfield(state, 1, "x") != LUA_TNIL || lua_getfield(state, 1, "y") != LUA_TNIL)
		luaL_error(state, "npc: at takes the place of x and y");
	tag = lua_tostring(state, -3);
	if (!vm->ops->place(vm->ctx, tag, &npc->x_mm, &npc->y_mm))
		luaL_error(state, "npc: the map has no npc with tag '%s'", tag);
}

static int api_npc(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_NPC);
	struct script_npc_slot slot = {.actor = HANDLE_NONE,
		.object_ref = LUA_NOREF,
		.click_ref = LUA_NOREF,
		.tick_ref = LUA_NOREF,
		.storage_ref = LUA_NOREF,
		.upgrade_ref = LUA_NOREF};
	lua_Integer appearance = 0;
	int is_integer = 1;

	script_check_fields(state, "declaration_npc");
	if (vm->npc_count == SCRIPT_NPCS_MAX)
		return luaL_error(state, "npc: a map has at most %d", (int)SCRIPT_NPCS_MAX);
	script_take_name(state, "declaration_npc", "name", slot.npc.name);
	where(state, vm, &slot.npc);
	if (lua_getfield(state, 1, "appearance") != LUA_TNIL)
		appearance = lua_tointegerx(state, -1, &is_integer);
	if (!is_integer || appearance < 0 || appearance > 0xffffff)
		return luaL_error(state, "npc: appearance must be 0x000000 to 0xffffff");
	slot.npc.appearance = (uint32_t)appearance;
	lua_settop(state, 1);
	slot.click_ref = script_take_handler(state, "declaration_npc", "on_click");
	slot.tick_ref = script_take_handler(state, "declaration_npc", "on_tick");
	slot.npc.has_click = slot.click_ref != LUA_NOREF;
	slot.npc.has_tick = slot.tick_ref != LUA_NOREF;
	script_push_actor(state, HANDLE_NONE, vm->npc_count);
	script_take_storage(state, &slot);
	lua_pushvalue(state, -1);
	slot.object_ref = luaL_ref(state, LUA_REGISTRYINDEX);
	vm->npcs[vm->npc_count++] = slot;
	return 1;
}

const struct script_function script_lib_api[] = {
	{"npc", api_npc},
	{"tick", api_tick},
	{NULL, NULL},
};
