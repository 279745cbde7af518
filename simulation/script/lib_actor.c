/* What scripts hold of NPCs and players: a userdata with the host's handle. Content may keep one
 * for long; whether the actor still lives is asked at each use. An NPC's object also keeps what
 * content assigns to it (npc.steps = 3). */
#include "simulation/script/vm.h"

#include <math.h>
#include <string.h>

#include "common/handle.h"

struct actor_object {
	uint64_t actor;     /* of a player */
	uint32_t npc_index; /* UINT32_MAX: a player */
	uint32_t pad;
};

enum actor_field {
	FIELD_NAME = 1,
	FIELD_X,
	FIELD_Y,
	FIELD_KIND,
	FIELD_ALIVE,
	FIELD_LEVEL,
	FIELD_GOLD,
	FIELD_HEALTH,
	FIELD_HEALTH_MAX,
	FIELD_STORAGE
};

static const struct {
	const char *name;
	enum actor_field field;
} fields[] = {{"name", FIELD_NAME}, {"x", FIELD_X}, {"y", FIELD_Y}, {"kind", FIELD_KIND},
	{"alive", FIELD_ALIVE}, {"level", FIELD_LEVEL}, {"gold", FIELD_GOLD},
	{"health", FIELD_HEALTH}, {"health_max", FIELD_HEALTH_MAX}, {"storage", FIELD_STORAGE}};

/* No other userdata exists in a sandbox. */
static struct actor_object *object(lua_State *state, int index)
{
	luaL_argexpected(state, lua_type(state, index) == LUA_TUSERDATA, index, "actor");
	return lua_touserdata(state, index);
}

static const struct script_npc *npc_of(const struct script_vm *vm, const struct actor_object *o)
{
	return o->npc_index < vm->npc_count ? &vm->npcs[o->npc_index].npc : NULL;
}

static uint64_t handle_of(const struct script_vm *vm, const struct actor_object *o)
{
	return o->npc_index < vm->npc_count ? vm->npcs[o->npc_index].actor : o->actor;
}

static bool look(struct script_vm *vm, const struct actor_object *o, struct script_actor *out)
{
	uint64_t actor = handle_of(vm, o);

	if (actor == HANDLE_NONE || !vm->ops->actor(vm->ctx, actor, out))
		return false;
	out->name[sizeof(out->name) - 1] = '\0';
	return true;
}

static void look_or_fail(lua_State *state, struct script_vm *vm, const struct actor_object *o,
	struct script_actor *out, const char *call)
{
	if (!look(vm, o, out))
		luaL_error(state, "%s: the actor is gone", call);
}

static int push_field(lua_State *state, const struct actor_object *o, enum actor_field field)
{
	static const char *const kinds[] = {"?", "player", "npc", "monster"};
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_FIELD);
	struct script_actor actor;

	if (field == FIELD_ALIVE) {
		lua_pushboolean(state, look(vm, o, &actor));
		return 1;
	}
	if (field == FIELD_STORAGE) {
		if (o->npc_index == UINT32_MAX || lua_getiuservalue(state, 1, 2) != LUA_TTABLE)
			lua_pushnil(state);
		return 1;
	}
	look_or_fail(state, vm, o, &actor, lua_tostring(state, 2));
	switch (field) {
	case FIELD_NAME:
		lua_pushstring(state, actor.name);
		break;
	case FIELD_X:
		lua_pushnumber(state, actor.x_mm / 1000.0);
		break;
	case FIELD_Y:
		lua_pushnumber(state, actor.y_mm / 1000.0);
		break;
	case FIELD_LEVEL:
	case FIELD_GOLD:
		if (!actor.detailed)
			lua_pushnil(state);
		else
			lua_pushinteger(state, field == FIELD_LEVEL ? actor.level : actor.gold);
		break;
	case FIELD_HEALTH:
	case FIELD_HEALTH_MAX:
		if (!actor.has_body)
			lua_pushnil(state);
		else
			lua_pushinteger(state,
				field == FIELD_HEALTH ? actor.health : actor.health_max);
		break;
	default:
		lua_pushstring(state, kinds[(unsigned)actor.kind < 4 ? actor.kind : 0]);
	}
	return 1;
}

/* Upvalue 1: names to methods and field numbers. */
static int actor_index(lua_State *state)
{
	struct actor_object *o = object(state, 1);

	lua_settop(state, 2);
	lua_pushvalue(state, 2);
	switch (lua_rawget(state, lua_upvalueindex(1))) {
	case LUA_TFUNCTION:
		return 1;
	case LUA_TNUMBER:
		return push_field(state, o, (enum actor_field)lua_tointeger(state, 3));
	default:
		break;
	}
	if (lua_getiuservalue(state, 1, 1) != LUA_TTABLE)
		return 0;
	lua_pushvalue(state, 2);
	lua_rawget(state, -2);
	return 1;
}

static int actor_newindex(lua_State *state)
{
	struct actor_object *o = object(state, 1);

	lua_settop(state, 3);
	lua_pushvalue(state, 2);
	if (lua_rawget(state, lua_upvalueindex(1)) != LUA_TNIL)
		return luaL_error(
			state, "an actor's '%s' cannot be changed", luaL_tolstring(state, 2, NULL));
	if (o->npc_index == UINT32_MAX)
		return luaL_error(state, "only NPCs keep values (on a player: '%s')",
			luaL_tolstring(state, 2, NULL));
	luaL_argcheck(state, !lua_isnil(state, 2), 2, "a key is needed");
	if (lua_getiuservalue(state, 1, 1) != LUA_TTABLE) {
		lua_newtable(state);
		lua_pushvalue(state, -1);
		lua_setiuservalue(state, 1, 1);
	}
	lua_pushvalue(state, 2);
	lua_pushvalue(state, 3);
	lua_settable(state, -3); /* refuses a NaN */
	return 0;
}

static int actor_eq(lua_State *state)
{
	struct script_vm *vm = script_vm_of(state);
	struct actor_object *a = object(state, 1), *b = object(state, 2);

	lua_pushboolean(
		state, a->npc_index == b->npc_index && handle_of(vm, a) == handle_of(vm, b));
	return 1;
}

static int actor_tostring(lua_State *state)
{
	struct script_vm *vm = script_vm_of(state);
	struct actor_object *o = object(state, 1);
	const struct script_npc *npc = npc_of(vm, o);
	struct script_actor actor;

	if (npc)
		lua_pushfstring(state, "npc %s", npc->name);
	else if (look(vm, o, &actor))
		lua_pushfstring(state, "%s %s",
			actor.kind == SCRIPT_ACTOR_MONSTER ? "monster" : "player", actor.name);
	else
		lua_pushliteral(state, "actor (gone)");
	return 1;
}

static int actor_distance(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_DISTANCE);
	struct script_actor a, b;

	look_or_fail(state, vm, object(state, 1), &a, "distance");
	look_or_fail(state, vm, object(state, 2), &b, "distance");
	lua_pushnumber(state, sqrt(((double)a.x_mm - b.x_mm) * ((double)a.x_mm - b.x_mm) +
				      ((double)a.y_mm - b.y_mm) * ((double)a.y_mm - b.y_mm)) /
				      1000.0);
	return 1;
}

/* self of an NPC's method: its actor on the map. */
static uint64_t self_npc(lua_State *state, struct script_vm *vm, const char *call)
{
	struct actor_object *o = object(state, 1);

	luaL_argexpected(state, o->npc_index < vm->npc_count, 1, "NPC");
	if (vm->npcs[o->npc_index].actor == HANDLE_NONE)
		luaL_error(state, "%s: the NPC is not on the map", call);
	return vm->npcs[o->npc_index].actor;
}

uint64_t script_check_npc(lua_State *state, struct script_vm *vm, const char *call)
{
	return self_npc(state, vm, call);
}

uint64_t script_check_actor(lua_State *state, struct script_vm *vm, int index)
{
	return handle_of(vm, object(state, index));
}

uint64_t script_check_clicker(lua_State *state, struct script_vm *vm, int index, const char *call)
{
	const struct actor_object *o = object(state, index);

	if (o->npc_index != UINT32_MAX || o->actor == HANDLE_NONE || o->actor != vm->running_player)
		luaL_error(state, "%s: only of the player whom the handler is called for", call);
	return o->actor;
}

/* Valid UTF-8 (RFC 3629) without control characters but newline. */
bool script_is_text(const char *text, size_t bytes)
{
	const unsigned char *s = (const unsigned char *)text;

	for (size_t i = 0; i < bytes;) {
		unsigned char c = s[i++];
		uint32_t code, least;
		int more;

		if (c < 0x80) {
			if ((c < 32 && c != '\n') || c == 127)
				return false;
			continue;
		}
		if (c < 0xc2 || c > 0xf4)
			return false;
		more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
		least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
		code = c & (0x3fu >> more);
		while (more--) {
			if (i == bytes || (s[i] & 0xc0) != 0x80)
				return false;
			code = code << 6 | (s[i++] & 0x3fu);
		}
		if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return false;
	}
	return true;
}

const char *script_check_text(lua_State *state, int index, size_t *bytes)
{
	const char *text = luaL_checklstring(state, index, bytes);

	luaL_argcheck(state, *bytes >= 1 && *bytes <= SCRIPT_SAY_BYTES, index,
		*bytes ? "text over 512 bytes" : "text is empty");
	_Static_assert(SCRIPT_SAY_BYTES == 512, "the message above names it");
	luaL_argcheck(state, script_is_text(text, *bytes), index,
		"text is not UTF-8, or has a control character");
	return text;
}

uint64_t script_check_player(lua_State *state, struct script_vm *vm, int index)
{
	const struct actor_object *o = object(state, index);

	(void)vm;
	luaL_argexpected(state, o->npc_index == UINT32_MAX, index, "player");
	return o->actor;
}

static int actor_shout(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_SHOUT);
	struct actor_object *o = object(state, 1);
	uint32_t heard;
	size_t bytes;
	const char *text = script_check_text(state, 2, &bytes);

	heard = vm->ops->shout(vm->ctx, handle_of(vm, o), text, (uint32_t)bytes);
	counter_add(&vm->values[SCRIPT_COUNT_SHOUTS], heard);
	lua_pushinteger(state, heard);
	return 1;
}

static int npc_say(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_SAY);
	uint64_t npc = self_npc(state, vm, "say");
	struct actor_object *to = object(state, 2);
	size_t bytes;
	const char *text = script_check_text(state, 3, &bytes);
	bool said;

	said = vm->ops->say(vm->ctx, npc, handle_of(vm, to), text, (uint32_t)bytes);
	counter_add(&vm->values[SCRIPT_COUNT_SAYS], said);
	lua_pushboolean(state, said);
	return 1;
}

static int npc_walk(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_WALK);
	uint64_t npc = self_npc(state, vm, "walk");
	double dx = luaL_checknumber(state, 2), dy = luaL_checknumber(state, 3);
	double length = hypot(dx, dy);

	luaL_argcheck(state, isfinite(length), 2, "not a direction");
	if (length > 1) {
		dx /= length;
		dy /= length;
	}
	/* Cut, not rounded: the length stays at most 127. */
	vm->ops->move(vm->ctx, npc, (int8_t)(dx * 127), (int8_t)(dy * 127));
	counter_add(&vm->values[SCRIPT_COUNT_MOVES], 1);
	return 0;
}

static int npc_send(lua_State *state)
{
	struct script_vm *vm = script_check_call(state, SCRIPT_CALL_SEND);
	struct actor_object *who = object(state, 2);
	bool has_position = !lua_isnoneornil(state, 4), sent;
	double x = 0, y = 0;
	size_t bytes;
	const char *map = luaL_checklstring(state, 3, &bytes);

	self_npc(state, vm, "send");
	luaL_argcheck(state, bytes >= 1 && bytes < SCRIPT_NAME_BYTES && strlen(map) == bytes, 3,
		"not the name of a map");
	if (has_position) {
		x = luaL_checknumber(state, 4);
		y = luaL_checknumber(state, 5);
		luaL_argcheck(state, fabs(x) <= 1e6 && fabs(y) <= 1e6, 4, "not a place");
	}
	sent = vm->ops->send(vm->ctx, handle_of(vm, who), map, has_position,
		(int32_t)lround(x * 1000), (int32_t)lround(y * 1000));
	counter_add(&vm->values[SCRIPT_COUNT_SENDS], sent);
	lua_pushboolean(state, sent);
	return 1;
}

void script_actors_open(lua_State *state)
{
	lua_createtable(state, 0, 32); /* names */
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		lua_pushinteger(state, fields[i].field);
		lua_setfield(state, -2, fields[i].name);
	}
	lua_pushcfunction(state, actor_distance);
	lua_setfield(state, -2, "distance");
	lua_pushcfunction(state, npc_say);
	lua_setfield(state, -2, "say");
	lua_pushcfunction(state, npc_walk);
	lua_setfield(state, -2, "walk");
	lua_pushcfunction(state, npc_send);
	lua_setfield(state, -2, "send");
	lua_pushcfunction(state, actor_shout);
	lua_setfield(state, -2, "shout");
	for (const struct script_function *f = script_fight_methods; f->name; f++) {
		lua_pushcfunction(state, f->call);
		lua_setfield(state, -2, f->name);
	}
	for (const struct script_function *f = script_keep_methods; f->name; f++) {
		lua_pushcfunction(state, f->call);
		lua_setfield(state, -2, f->name);
	}

	lua_createtable(state, 0, 4); /* metatable */
	lua_pushvalue(state, -2);
	lua_pushcclosure(state, actor_index, 1);
	lua_setfield(state, -2, "__index");
	lua_pushvalue(state, -2);
	lua_pushcclosure(state, actor_newindex, 1);
	lua_setfield(state, -2, "__newindex");
	lua_pushcfunction(state, actor_eq);
	lua_setfield(state, -2, "__eq");
	lua_pushcfunction(state, actor_tostring);
	lua_setfield(state, -2, "__tostring");
	lua_setfield(state, LUA_REGISTRYINDEX, "sw.actor");
	lua_pop(state, 1);
}

void script_push_actor(lua_State *state, uint64_t actor, uint32_t npc_index)
{
	struct actor_object *o = lua_newuserdatauv(state, sizeof(*o), npc_index != UINT32_MAX ? 2 : 0);

	o->actor = actor;
	o->npc_index = npc_index;
	lua_getfield(state, LUA_REGISTRYINDEX, "sw.actor");
	lua_setmetatable(state, -2);
}
