/* queue_intent: what a handler without the right to change anything durable wants changed. */
#include "simulation/script/vm.h"

#include <string.h>

#define AMOUNT_MAX 1000000000

static const char *const intent_names[] = {
#define X(name, text, meaning) #text,
	SCRIPT_INTENTS(X)
#undef X
};

const char *script_intent_name(enum script_intent intent)
{
	return intent < SCRIPT_INTENT_COUNT ? intent_names[intent] : "?";
}

struct changes {
	struct script_change change[SCRIPT_CHANGES_MAX];
	uint32_t count;
};

static void note(lua_State *state, struct changes *changes, enum script_change_kind kind,
	uint32_t what, int64_t amount)
{
	if (changes->count == SCRIPT_CHANGES_MAX)
		luaL_error(state, "an intent changes at most %d things", (int)SCRIPT_CHANGES_MAX);
	changes->change[changes->count++] =
		(struct script_change){.kind = kind, .what = what, .amount = amount};
}

static int64_t amount_at(lua_State *state, int index, const char *field, int64_t least)
{
	int is_integer;
	lua_Integer amount = lua_tointegerx(state, index, &is_integer);

	if (!is_integer || amount < least || amount > AMOUNT_MAX)
		luaL_error(state, "queue_intent: %s is not a whole number in range", field);
	return amount;
}

/* The table of items to counts at changes[field]. lua_next has no order to rely on, and the order
 * decides into which slots things go: items are taken by their numbers. */
static void items(lua_State *state, struct script_vm *vm, struct changes *changes,
	const char *field, enum script_change_kind kind)
{
	uint32_t first = changes->count;

	if (lua_getfield(state, 3, field) == LUA_TNIL) {
		lua_pop(state, 1);
		return;
	}
	if (!lua_istable(state, -1))
		luaL_error(state, "queue_intent: %s is a table of items to counts", field);
	lua_pushnil(state);
	while (lua_next(state, -2)) {
		struct script_change change;
		uint32_t at = changes->count;

		if (lua_type(state, -2) != LUA_TSTRING)
			luaL_error(state, "queue_intent: %s is a table of items to counts", field);
		note(state, changes, kind, script_check_item(state, vm, lua_gettop(state) - 1),
			amount_at(state, -1, field, 1));
		change = changes->change[at];
		for (; at > first && changes->change[at - 1].what > change.what; at--)
			changes->change[at] = changes->change[at - 1];
		changes->change[at] = change;
		lua_pop(state, 1);
	}
	lua_pop(state, 1);
}

static void number(lua_State *state, struct changes *changes, const char *field,
	enum script_change_kind kind, int64_t least)
{
	if (lua_getfield(state, 3, field) != LUA_TNIL)
		note(state, changes, kind, 0, amount_at(state, -1, field, least));
	lua_pop(state, 1);
}

static void check_names(lua_State *state)
{
	lua_pushnil(state);
	while (lua_next(state, 3)) {
		if (lua_type(state, -2) != LUA_TSTRING ||
			!script_declares("changes", lua_tostring(state, -2))) {
			script_push_text(state, -2);
			luaL_error(
				state, "queue_intent: unknown field '%s'", lua_tostring(state, -1));
		}
		lua_pop(state, 1);
	}
}

static int api_queue_intent(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_QUEUE_INTENT);
	uint64_t player = script_check_player(state, vm, 2);
	struct changes changes = {.count = 0};
	enum script_intent intent;
	size_t bytes;
	const char *key = luaL_checklstring(state, 1, &bytes);

	luaL_argcheck(state, bytes >= 1 && bytes < SCRIPT_KEY_BYTES && strlen(key) == bytes, 1,
		"a key is 1 to 47 bytes");
	_Static_assert(SCRIPT_KEY_BYTES == 48, "the message above names it");
	luaL_checktype(state, 3, LUA_TTABLE);
	lua_settop(state, 3);
	check_names(state);
	items(state, vm, &changes, "take", SCRIPT_TAKE_ITEM);
	items(state, vm, &changes, "give", SCRIPT_GIVE_ITEM);
	number(state, &changes, "gold", SCRIPT_ADD_GOLD, -AMOUNT_MAX);
	number(state, &changes, "experience", SCRIPT_ADD_EXPERIENCE, 0);
	luaL_argcheck(state, changes.count, 3, "nothing is to be changed");
	intent = vm->ops->intend(vm->ctx, key, player, changes.change, changes.count);
	counter_add(&vm->values[intent == SCRIPT_INTENT_OK ? SCRIPT_COUNT_INTENTS
							   : SCRIPT_COUNT_INTENTS_REFUSED],
		1);
	lua_pushboolean(state, intent == SCRIPT_INTENT_OK);
	if (intent == SCRIPT_INTENT_OK)
		return 1;
	lua_pushstring(state, script_intent_name(intent));
	return 2;
}

const struct script_function script_lib_intent[] = {
	{"queue_intent", api_queue_intent},
	{NULL, NULL},
};
