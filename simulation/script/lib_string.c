/* The string library's parts that stock Lua leaves unbounded; the rest is stock (sandbox.c). */
#include "simulation/script/vm.h"

#include <string.h>

static int string_rep(lua_State *state)
{
	size_t bytes, gap_bytes, total;
	const char *text = luaL_checklstring(state, 1, &bytes), *gap;
	lua_Integer count = luaL_checkinteger(state, 2);
	luaL_Buffer out;
	char *at;

	gap = luaL_optlstring(state, 3, "", &gap_bytes);
	if (count <= 0 || bytes + gap_bytes == 0) {
		lua_pushliteral(state, "");
		return 1;
	}
	if ((uint64_t)count > SCRIPT_BLOCK_BYTES || bytes + gap_bytes > SCRIPT_BLOCK_BYTES ||
		(uint64_t)count * (bytes + gap_bytes) > SCRIPT_BLOCK_BYTES - 64)
		script_end(state, SCRIPT_OVER_MEMORY, "string.rep: the result is over %d bytes",
			(int)SCRIPT_BLOCK_BYTES - 64);
	total = (size_t)count * bytes + (size_t)(count - 1) * gap_bytes;
	at = luaL_buffinitsize(state, &out, total);
	for (lua_Integer i = 0; i < count; i++) {
		memcpy(at, text, bytes);
		at += bytes;
		if (i + 1 < count && gap_bytes) {
			memcpy(at, gap, gap_bytes);
			at += gap_bytes;
		}
	}
	luaL_pushresultsize(&out, total);
	return 1;
}

/* A position as stock Lua counts it: negative from the end, cut at the edges by the callers. */
static lua_Integer position(lua_Integer at, size_t bytes)
{
	if (at >= 0)
		return at;
	return at < -(lua_Integer)bytes ? 0 : (lua_Integer)bytes + at + 1;
}

static int string_byte(lua_State *state)
{
	size_t bytes;
	const char *text = luaL_checklstring(state, 1, &bytes);
	lua_Integer raw = luaL_optinteger(state, 2, 1), first = position(raw, bytes), last;

	last = position(luaL_optinteger(state, 3, first), bytes);
	if (first < 1)
		first = 1;
	if (last > (lua_Integer)bytes)
		last = (lua_Integer)bytes;
	if (first > last)
		return 0;
	if (last - first >= SCRIPT_SPREAD_MAX)
		return luaL_error(
			state, "string slice too long (at most %d)", (int)SCRIPT_SPREAD_MAX);
	luaL_checkstack(state, (int)(last - first + 1), "string slice too long");
	for (lua_Integer i = first; i <= last; i++)
		lua_pushinteger(state, (unsigned char)text[i - 1]);
	return (int)(last - first + 1);
}

/* utf8.codepoint spreads likewise; stock underneath (upvalue 1). */
static int utf8_codepoint(lua_State *state)
{
	size_t bytes;
	lua_Integer first, last;

	luaL_checklstring(state, 1, &bytes);
	first = position(luaL_optinteger(state, 2, 1), bytes);
	last = position(luaL_optinteger(state, 3, first), bytes);
	if (first >= 1 && last <= (lua_Integer)bytes && last - first >= SCRIPT_SPREAD_MAX)
		return luaL_error(
			state, "string slice too long (at most %d)", (int)SCRIPT_SPREAD_MAX);
	lua_pushvalue(state, lua_upvalueindex(1));
	lua_insert(state, 1);
	lua_call(state, lua_gettop(state) - 1, LUA_MULTRET);
	return lua_gettop(state);
}

/* Stock string.format (upvalue 1), without addresses: no %p, and what has no text of its own is
 * shown as its type. */
static int string_format(lua_State *state)
{
	size_t bytes;
	const char *format = luaL_checklstring(state, 1, &bytes), *end = format + bytes;
	int count = lua_gettop(state);

	for (const char *p = format; p < end; p++) {
		if (*p != '%')
			continue;
		p++;
		while (p < end && *p && strchr("-+ #0123456789.", *p))
			p++;
		if (p < end && *p == 'p')
			return luaL_error(state, "invalid conversion '%%p' to 'format'");
	}
	for (int i = 2; i <= count; i++) {
		int type = lua_type(state, i);

		if (type != LUA_TTABLE && type != LUA_TFUNCTION && type != LUA_TUSERDATA)
			continue;
		script_push_text(state, i);
		lua_replace(state, i);
	}
	lua_pushvalue(state, lua_upvalueindex(1));
	lua_insert(state, 1);
	lua_call(state, count, 1);
	return 1;
}

/* sandbox.c gives format and codepoint their stock function as upvalue. */
const struct script_function script_lib_utf8[] = {
	{"codepoint", utf8_codepoint},
	{NULL, NULL},
};

const struct script_function script_lib_string[] = {
	{"rep", string_rep},
	{"byte", string_byte},
	{"format", string_format},
	{NULL, NULL},
};
