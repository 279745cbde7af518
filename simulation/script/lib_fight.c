/* What a script does with monsters, and as the rule of a match. */
#include "simulation/script/vm.h"

#include <string.h>

#include "common/handle.h"

#define AMOUNT_MAX 1000000

static int64_t check_amount(lua_State *state, int index, int64_t least)
{
	lua_Integer amount = luaL_checkinteger(state, index);

	luaL_argcheck(state, amount >= least && amount <= AMOUNT_MAX, index, "out of range");
	return amount;
}

/* ---- monsters ---- */

static int deed(lua_State *state, struct script_vm *vm, enum script_deed which, uint64_t player,
	uint32_t what, int64_t amount)
{
	uint64_t monster = script_check_actor(state, vm, 1);

	lua_pushboolean(state, vm->ops->deed(vm->ctx, which, monster, player, what, amount));
	return 1;
}

static int monster_strike(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_STRIKE);
	uint64_t player = script_check_player(state, vm, 2);

	return deed(state, vm, SCRIPT_STRIKE, player, 0, check_amount(state, 3, 1));
}

static int monster_heal(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_HEAL);

	return deed(state, vm, SCRIPT_HEAL, HANDLE_NONE, 0, check_amount(state, 2, 1));
}

static int monster_chase(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_CHASE);

	return deed(state, vm, SCRIPT_CHASE, script_check_player(state, vm, 2), 0, 0);
}

static int monster_set_attack(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_SET_ATTACK);
	int64_t attack = check_amount(state, 2, 0);

	luaL_argcheck(state, attack <= 10000, 2, "out of range");
	return deed(state, vm, SCRIPT_SET_ATTACK, HANDLE_NONE, 0, attack);
}

static int monster_drop(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_DROP);
	uint32_t item = script_check_item(state, vm, 2);
	struct script_item row = {.stack_max = 1};
	int64_t count = check_amount(state, 3, 1);
	uint64_t player =
		lua_isnoneornil(state, 4) ? HANDLE_NONE : script_check_player(state, vm, 4);

	vm->ops->item_look(vm->ctx, item, &row);
	luaL_argcheck(state, count <= row.stack_max, 3, "more than one stack");
	return deed(state, vm, SCRIPT_DROP, player, item, count);
}

const struct script_function script_fight_methods[] = {
	{"strike", monster_strike},
	{"heal", monster_heal},
	{"chase", monster_chase},
	{"set_attack", monster_set_attack},
	{"drop", monster_drop},
	{NULL, NULL},
};

/* ---- matches ---- */

static int match_seconds(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MATCH_SECONDS);

	lua_pushnumber(state, (lua_Number)vm->ops->match_ms(vm->ctx) / 1000);
	return 1;
}

static int match_players(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MATCH_PLAYERS);
	uint64_t players[SCRIPT_NEAR_MAX];

	script_push_players(state, players, vm->ops->match_players(vm->ctx, players));
	return 1;
}

static int set(lua_State *state, enum script_call call, enum script_move move)
{
	struct script_vm *vm = script_check_call(state, call);

	luaL_checktype(state, 1, LUA_TBOOLEAN);
	vm->ops->move_match(vm->ctx, move, HANDLE_NONE, 0, lua_toboolean(state, 1));
	return 0;
}

static int match_lock(lua_State *state)
{
	return set(state, SCRIPT_CALL_MATCH_LOCK, SCRIPT_MATCH_LOCK);
}

static int match_hold(lua_State *state)
{
	return set(state, SCRIPT_CALL_MATCH_HOLD, SCRIPT_MATCH_HOLD);
}

static int match_fight(lua_State *state)
{
	return set(state, SCRIPT_CALL_MATCH_FIGHT, SCRIPT_MATCH_FIGHT);
}

static int match_hurt(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MATCH_HURT);
	uint64_t player = script_check_player(state, vm, 1);

	lua_pushboolean(state, vm->ops->move_match(vm->ctx, SCRIPT_MATCH_HURT, player, 0,
				       check_amount(state, 2, 1)));
	return 1;
}

static uint32_t check_card(lua_State *state, struct script_vm *vm, int index)
{
	const char *name = luaL_checkstring(state, index);
	uint32_t card = vm->ops->card(vm->ctx, name);

	if (card == UINT32_MAX)
		luaL_error(state, "there is no card '%s'", name);
	return card;
}

static int match_boost(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MATCH_BOOST);
	uint64_t player = script_check_player(state, vm, 1);

	lua_pushboolean(state, vm->ops->move_match(vm->ctx, SCRIPT_MATCH_BOOST, player,
				       check_card(state, vm, 2), 0));
	return 1;
}

static int match_offer(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MATCH_OFFER);
	uint64_t player = script_check_player(state, vm, 1);
	int64_t seconds = check_amount(state, 3, 1);
	uint32_t cards[SCRIPT_OFFER_MAX];
	lua_Unsigned count;

	luaL_checktype(state, 2, LUA_TTABLE);
	count = lua_rawlen(state, 2);
	luaL_argcheck(state, count >= 1 && count <= SCRIPT_OFFER_MAX, 2, "1 to 3 cards");
	_Static_assert(SCRIPT_OFFER_MAX == 3, "the message above names it");
	luaL_argcheck(state, seconds <= 60, 3, "1 to 60 seconds");
	for (lua_Unsigned i = 0; i < count; i++) {
		luaL_argcheck(state, lua_rawgeti(state, 2, (lua_Integer)i + 1) == LUA_TSTRING, 2,
			"names of cards");
		cards[i] = check_card(state, vm, -1);
		lua_pop(state, 1);
	}
	lua_pushboolean(
		state, vm->ops->offer(vm->ctx, player, cards, (uint32_t)count, (uint32_t)seconds));
	return 1;
}

static int match_result(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MATCH_RESULT);
	uint64_t player = script_check_player(state, vm, 1);

	lua_pushboolean(state, vm->ops->move_match(vm->ctx, SCRIPT_MATCH_RESULT, player, 0,
				       check_amount(state, 2, 1)));
	return 1;
}

static int match_finish(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MATCH_FINISH);

	vm->ops->move_match(vm->ctx, SCRIPT_MATCH_FINISH, HANDLE_NONE, 0, 0);
	return 0;
}

const struct script_function script_lib_match[] = {
	{"seconds", match_seconds},
	{"players", match_players},
	{"lock", match_lock},
	{"hold", match_hold},
	{"fight", match_fight},
	{"hurt", match_hurt},
	{"boost", match_boost},
	{"offer", match_offer},
	{"result", match_result},
	{"finish", match_finish},
	{NULL, NULL},
};
