/* math.random from the map's generator, so that a seed and an input log replay exactly. */
#include "simulation/script/vm.h"

/* Uniform in [0, last], without modulo's bias. */
static lua_Unsigned below_or_at(struct script_vm *vm, lua_Unsigned last)
{
	lua_Unsigned mask = last, drawn;

	for (int shift = 1; shift < 64; shift *= 2)
		mask |= mask >> shift;
	do { /* expected twice at most */
		drawn = vm->ops->random(vm->ctx) & mask;
	} while (drawn > last);
	return drawn;
}

static int math_random(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_RANDOM);
	lua_Integer low = 1, high;

	switch (lua_gettop(state)) {
	case 0:
		lua_pushnumber(state, (lua_Number)(vm->ops->random(vm->ctx) >> 11) * 0x1p-53);
		return 1;
	case 1:
		high = luaL_checkinteger(state, 1);
		if (high == 0) {
			lua_pushinteger(state, (lua_Integer)vm->ops->random(vm->ctx));
			return 1;
		}
		break;
	case 2:
		low = luaL_checkinteger(state, 1);
		high = luaL_checkinteger(state, 2);
		break;
	default:
		return luaL_error(state, "wrong number of arguments");
	}
	luaL_argcheck(state, low <= high, lua_gettop(state), "interval is empty");
	lua_pushinteger(
		state, (lua_Integer)((lua_Unsigned)low +
				     below_or_at(vm, (lua_Unsigned)high - (lua_Unsigned)low)));
	return 1;
}

const struct script_function script_lib_math[] = {
	{"random", math_random},
	{NULL, NULL},
};
