/* Time and surroundings: timers by their names, wait, who is near, what the game's data say. */
#include "simulation/script/vm.h"

#include <math.h>
#include <string.h>

#include "common/handle.h"

/* ---- timers ---- */

static uint32_t check_timer(lua_State *state, const struct script_vm *vm, int index)
{
	const char *name = luaL_checkstring(state, index);
	uint32_t timer = script_vm_find(vm, SCRIPT_HANDLER_TIMER_TIME, name);

	if (timer == UINT32_MAX)
		luaL_error(state, "there is no timer '%s'", name);
	return timer;
}

static void take_value(lua_State *state, int index, struct script_value *value)
{
	const char *text;
	size_t bytes;

	value->type = lua_isnone(state, index) ? LUA_TNIL : lua_type(state, index);
	switch (value->type) {
	case LUA_TNIL:
		return;
	case LUA_TBOOLEAN:
		value->integer = lua_toboolean(state, index);
		return;
	case LUA_TNUMBER:
		value->is_integer = lua_isinteger(state, index);
		if (value->is_integer)
			value->integer = lua_tointeger(state, index);
		else
			value->number = lua_tonumber(state, index);
		return;
	case LUA_TSTRING:
		text = lua_tolstring(state, index, &bytes);
		luaL_argcheck(state, bytes <= SCRIPT_VALUE_BYTES, index, "text over 64 bytes");
		_Static_assert(SCRIPT_VALUE_BYTES == 64, "the message above names it");
		value->bytes = (uint8_t)bytes;
		memcpy(value->text, text, bytes);
		return;
	default:
		luaL_argerror(state, index, "a string, number or boolean: it outlives the script");
	}
}

static int api_start_timer(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_START_TIMER);
	uint32_t timer = check_timer(state, vm, 1), at, due;
	double seconds = luaL_checknumber(state, 2), ticks;
	struct script_value value = {0};

	luaL_argcheck(
		state, seconds >= 0 && seconds <= SCRIPT_TIMER_S_MAX, 2, "0 to 86400 seconds");
	_Static_assert(SCRIPT_TIMER_S_MAX == 86400, "the message above names it");
	take_value(state, 3, &value);
	if (vm->timer_count == SCRIPT_TIMERS_MAX) {
		lua_pushboolean(state, false);
		return 1;
	}
	/* Never within the tick that it is started in: a timer may start itself. */
	ticks = ceil(seconds * vm->config.tick_hz);
	due = vm->ops->tick(vm->ctx) + (ticks < 1 ? 1 : (uint32_t)ticks);
	for (at = vm->timer_count; at && (int32_t)(vm->timers[at - 1].due - due) > 0; at--)
		vm->timers[at] = vm->timers[at - 1];
	vm->timers[at] = (struct script_timer){.due = due, .declaration = timer, .value = value};
	vm->timer_count++;
	counter_put(&vm->values[SCRIPT_COUNT_TIMERS], vm->timer_count);
	lua_pushboolean(state, true);
	return 1;
}

static int api_stop_timer(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_STOP_TIMER);
	uint32_t timer = check_timer(state, vm, 1), kept = 0;

	for (uint32_t i = 0; i < vm->timer_count; i++)
		if (vm->timers[i].declaration != timer)
			vm->timers[kept++] = vm->timers[i];
	lua_pushinteger(state, vm->timer_count - kept);
	vm->timer_count = kept;
	counter_put(&vm->values[SCRIPT_COUNT_TIMERS], vm->timer_count);
	return 1;
}

enum script_result script_vm_timer(struct script_vm *vm)
{
	struct script_event event = {.handler = SCRIPT_HANDLER_TIMER_TIME,
		.player = HANDLE_NONE,
		.monster = HANDLE_NONE};
	struct script_timer timer;

	if (!vm->timer_count || (int32_t)(vm->timers[0].due - vm->ops->tick(vm->ctx)) > 0)
		return SCRIPT_NO_HANDLER;
	timer = vm->timers[0];
	memmove(&vm->timers[0], &vm->timers[1], --vm->timer_count * sizeof(timer));
	counter_put(&vm->values[SCRIPT_COUNT_TIMERS], vm->timer_count);
	counter_add(&vm->values[SCRIPT_COUNT_EVENTS], 1);
	event.declaration = timer.declaration;
	return script_job_event(vm, vm->declared[timer.declaration].ref[SCRIPT_HANDLER_TIMER_TIME],
		&event, &timer.value);
}

uint32_t script_vm_timers(const struct script_vm *vm)
{
	return vm->timer_count;
}

/* ---- events ---- */

uint32_t script_vm_find(const struct script_vm *vm, uint32_t handler, const char *name)
{
	for (uint32_t i = 0; i < vm->declared_count; i++)
		if (vm->declared[i].ref[handler] != LUA_NOREF &&
			!strcmp(vm->declared[i].name, name))
			return i;
	return UINT32_MAX;
}

enum script_result script_vm_event(struct script_vm *vm, const struct script_event *event)
{
	int ref = event->declaration < vm->declared_count
			  ? vm->declared[event->declaration].ref[event->handler]
			  : LUA_NOREF;

	if (ref == LUA_NOREF)
		return SCRIPT_NO_HANDLER;
	counter_add(&vm->values[SCRIPT_COUNT_EVENTS], 1);
	return script_job_event(vm, ref, event, NULL);
}

/* ---- waiting ---- */

static int waited(lua_State *state, int status, lua_KContext context)
{
	(void)status;
	(void)context;
	lua_pushboolean(state, true);
	return 1;
}

static int api_wait(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_WAIT);
	double seconds = luaL_checknumber(state, 1);

	luaL_argcheck(state, seconds >= 0 && seconds <= SCRIPT_WAIT_S_MAX, 1, "0 to 600 seconds");
	_Static_assert(SCRIPT_WAIT_S_MAX == 600, "the message above names it");
	script_check_waits(state, "wait");
	if (!vm->ops->wait(vm->ctx, vm->running_player, (uint32_t)ceil(seconds),
		    script_job_id(vm, vm->job))) {
		lua_pushboolean(state, false);
		return 1;
	}
	vm->yields = true;
	return lua_yieldk(state, 0, 0, waited);
}

/* ---- who is near, and what things are ---- */

void script_push_players(lua_State *state, const uint64_t *players, uint32_t count)
{
	lua_createtable(state, (int)count, 0);
	for (uint32_t i = 0; i < count; i++) {
		script_push_actor(state, players[i], UINT32_MAX);
		lua_rawseti(state, -2, (lua_Integer)i + 1);
	}
}

static int api_players_near(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_NEAR);
	uint64_t actor = script_check_actor(state, vm, 1), players[SCRIPT_NEAR_MAX];
	double metres = luaL_checknumber(state, 2);

	luaL_argcheck(state, metres >= 0 && metres <= 1000, 2, "0 to 1000 metres");
	script_push_players(
		state, players, vm->ops->near(vm->ctx, actor, (uint32_t)(metres * 1000), players));
	return 1;
}

static void set_integer(lua_State *state, const char *name, lua_Integer value)
{
	lua_pushinteger(state, value);
	lua_setfield(state, -2, name);
}

static int api_item_info(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_ITEM_INFO);
	struct script_item item = {0};

	vm->ops->item_look(vm->ctx, script_check_item(state, vm, 1), &item);
	lua_createtable(state, 0, 3);
	set_integer(state, "stack_max", item.stack_max);
	set_integer(state, "attack", item.attack);
	set_integer(state, "defence", item.defence);
	return 1;
}

static int api_quest_info(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_QUEST_INFO);
	struct script_quest_row quest = {.title = ""};

	vm->ops->quest_row(vm->ctx, script_check_quest(state, vm, 1), &quest);
	lua_createtable(state, 0, 4);
	lua_pushstring(state, quest.title);
	lua_setfield(state, -2, "title");
	set_integer(state, "level", quest.level);
	set_integer(state, "gold", quest.gold);
	set_integer(state, "experience", quest.experience);
	return 1;
}

const struct script_function script_lib_events[] = {
	{"start_timer", api_start_timer},
	{"stop_timer", api_stop_timer},
	{"wait", api_wait},
	{"players_near", api_players_near},
	{"item_info", api_item_info},
	{"quest_info", api_quest_info},
	{NULL, NULL},
};

/* ---- map ---- */

static int map_name(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MAP_NAME);

	lua_pushstring(state, vm->config.map);
	return 1;
}

static int map_players(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_MAP_PLAYERS);

	lua_pushinteger(state, vm->ops->players(vm->ctx));
	return 1;
}

static int map_announce(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_ANNOUNCE);
	size_t bytes;
	const char *text = script_check_text(state, 1, &bytes);

	lua_pushboolean(state, vm->ops->announce(vm->ctx, text, (uint32_t)bytes));
	return 1;
}

const struct script_function script_lib_map[] = {
	{"name", map_name},
	{"players", map_players},
	{"announce", map_announce},
	{NULL, NULL},
};
