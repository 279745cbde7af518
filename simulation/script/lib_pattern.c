/* string.find, match, gmatch, gsub on the step-counted matcher. */
#include "simulation/script/vm.h"

#include <string.h>

#include "simulation/script/pattern.h"

#define SPECIALS "^$*+?.([%-"

static void prepare(struct pattern *m, const char *subject, size_t subject_bytes,
	const char *pattern, size_t pattern_bytes)
{
	m->subject = subject;
	m->subject_end = subject + subject_bytes;
	m->pattern_end = pattern + pattern_bytes;
}

/* One attempt on the call's steps; what cannot be finished ends or fails the call. */
static const char *attempt(lua_State *state, struct script_vm *vm, struct pattern *m,
	const char *from, const char *pattern)
{
	const char *end;

	script_steps(state, vm, 1);
	m->steps = vm->steps;
	end = pattern_match(m, from, pattern);
	vm->steps = m->steps;
	if (m->error) {
		if (m->over_steps)
			script_end(state, SCRIPT_OVER_STEPS,
				"pattern needs too many steps (over %d in one call)",
				(int)SCRIPT_STEPS_MAX);
		luaL_error(state, "%s", m->error);
	}
	return end;
}

static void push_capture(
	lua_State *state, const struct pattern *m, int i, const char *start, const char *end)
{
	if (i >= m->captures) {
		if (i != 0)
			luaL_error(state, "invalid capture index %%%d", i + 1);
		lua_pushlstring(state, start, (size_t)(end - start)); /* the whole match */
	} else if (m->capture[i].bytes == PATTERN_POSITION) {
		lua_pushinteger(state, m->capture[i].start - m->subject + 1);
	} else if (m->capture[i].bytes == PATTERN_OPEN) {
		luaL_error(state, "unfinished capture");
	} else {
		lua_pushlstring(state, m->capture[i].start, (size_t)m->capture[i].bytes);
	}
}

/* All captures; the whole match where there are none and start is given. */
static int push_captures(
	lua_State *state, const struct pattern *m, const char *start, const char *end)
{
	int count = m->captures == 0 && start ? 1 : m->captures;

	luaL_checkstack(state, count, "too many captures");
	for (int i = 0; i < count; i++)
		push_capture(state, m, i, start, end);
	return count;
}

/* The optional start argument as an offset; may be past the end. */
static size_t start_offset(lua_State *state, int index, size_t bytes)
{
	lua_Integer start = luaL_optinteger(state, index, 1);

	if (start > 0)
		return (size_t)start - 1;
	if (start == 0 || start < -(lua_Integer)bytes)
		return 0;
	return bytes + (size_t)start;
}

static int find_or_match(lua_State *state, bool find)
{
	struct script_vm *vm = script_vm_of(state);
	size_t subject_bytes, pattern_bytes, start;
	const char *subject = luaL_checklstring(state, 1, &subject_bytes);
	const char *pattern = luaL_checklstring(state, 2, &pattern_bytes);
	struct pattern m;
	bool anchored;

	vm->steps = SCRIPT_STEPS_MAX;
	start = start_offset(state, 3, subject_bytes);
	if (start > subject_bytes) {
		lua_pushnil(state);
		return 1;
	}
	if (find && (lua_toboolean(state, 4) || !strpbrk(pattern, SPECIALS)) &&
		(lua_toboolean(state, 4) || strlen(pattern) == pattern_bytes)) {
		const char *at;

		script_steps(state, vm, (subject_bytes - start) / 16 + 1);
		at = memmem(subject + start, subject_bytes - start, pattern, pattern_bytes);
		if (!at) {
			lua_pushnil(state);
			return 1;
		}
		lua_pushinteger(state, at - subject + 1);
		lua_pushinteger(state, at - subject + (lua_Integer)pattern_bytes);
		return 2;
	}
	anchored = pattern_bytes && *pattern == '^';
	prepare(&m, subject, subject_bytes, pattern, pattern_bytes);
	for (const char *s = subject + start; s <= m.subject_end; s++) {
		const char *end = attempt(state, vm, &m, s, pattern + anchored);

		if (end && find) {
			lua_pushinteger(state, s - subject + 1);
			lua_pushinteger(state, end - subject);
			return push_captures(state, &m, NULL, NULL) + 2;
		}
		if (end)
			return push_captures(state, &m, s, end);
		if (anchored)
			break;
	}
	lua_pushnil(state);
	return 1;
}

static int string_find(lua_State *state)
{
	return find_or_match(state, true);
}

static int string_match(lua_State *state)
{
	return find_or_match(state, false);
}

/* Upvalues: subject, pattern, where to go on, end of the last match (-1: none yet). */
static int gmatch_next(lua_State *state)
{
	struct script_vm *vm = script_vm_of(state);
	size_t subject_bytes, pattern_bytes;
	const char *subject = lua_tolstring(state, lua_upvalueindex(1), &subject_bytes);
	const char *pattern = lua_tolstring(state, lua_upvalueindex(2), &pattern_bytes);
	lua_Integer at = lua_tointeger(state, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(state, lua_upvalueindex(4));
	struct pattern m;

	vm->steps = SCRIPT_STEPS_MAX;
	prepare(&m, subject, subject_bytes, pattern, pattern_bytes);
	for (; at <= (lua_Integer)subject_bytes; at++) {
		const char *end = attempt(state, vm, &m, subject + at, pattern);

		if (end && end - subject != last) {
			lua_pushinteger(state, end - subject);
			lua_copy(state, -1, lua_upvalueindex(3));
			lua_replace(state, lua_upvalueindex(4));
			return push_captures(state, &m, subject + at, end);
		}
	}
	return 0;
}

static int string_gmatch(lua_State *state)
{
	size_t subject_bytes, start;

	luaL_checklstring(state, 1, &subject_bytes);
	luaL_checklstring(state, 2, NULL);
	start = start_offset(state, 3, subject_bytes);
	if (start > subject_bytes)
		start = subject_bytes + 1;
	lua_settop(state, 2);
	lua_pushinteger(state, (lua_Integer)start);
	lua_pushinteger(state, -1);
	lua_pushcclosure(state, gmatch_next, 4);
	return 1;
}

/* A replacement string with its %0-%9 filled in. */
static void add_string(lua_State *state, const struct pattern *m, luaL_Buffer *out,
	const char *start, const char *end)
{
	size_t bytes;
	const char *text = lua_tolstring(state, 3, &bytes), *stop = text + bytes;

	while (text < stop) {
		const char *percent = memchr(text, '%', (size_t)(stop - text));

		if (!percent)
			percent = stop;
		luaL_addlstring(out, text, (size_t)(percent - text));
		if (percent == stop)
			return;
		text = percent + 1;
		if (text < stop && *text == '%') {
			luaL_addchar(out, '%');
		} else if (text < stop && *text == '0') {
			luaL_addlstring(out, start, (size_t)(end - start));
		} else if (text < stop && *text >= '1' && *text <= '9') {
			push_capture(state, m, *text - '1', start, end);
			luaL_tolstring(state, -1, NULL); /* a position becomes text */
			lua_remove(state, -2);
			luaL_addvalue(out);
		} else {
			luaL_error(state, "invalid use of '%%' in replacement string");
		}
		text++;
	}
}

/* What a table or function gives for the match; false keeps it. */
static void add_value(lua_State *state, const struct pattern *m, luaL_Buffer *out, int kind,
	const char *start, const char *end)
{
	if (kind == LUA_TFUNCTION) {
		lua_pushvalue(state, 3);
		lua_call(state, push_captures(state, m, start, end), 1);
	} else {
		push_capture(state, m, 0, start, end);
		lua_gettable(state, 3);
	}
	if (!lua_toboolean(state, -1)) {
		lua_pop(state, 1);
		luaL_addlstring(out, start, (size_t)(end - start));
	} else if (!lua_isstring(state, -1)) {
		luaL_error(state, "invalid replacement value (a %s)", luaL_typename(state, -1));
	} else {
		luaL_addvalue(out);
	}
}

static int string_gsub(lua_State *state)
{
	struct script_vm *vm = script_vm_of(state);
	size_t subject_bytes, pattern_bytes;
	const char *subject = luaL_checklstring(state, 1, &subject_bytes), *s = subject,
		   *last = NULL;
	const char *pattern = luaL_checklstring(state, 2, &pattern_bytes);
	int kind = lua_type(state, 3);
	lua_Integer most = luaL_optinteger(state, 4, (lua_Integer)subject_bytes + 1), count = 0;
	bool anchored = pattern_bytes && *pattern == '^';
	uint64_t steps = SCRIPT_STEPS_MAX;
	struct pattern m;
	luaL_Buffer out;

	luaL_argexpected(state,
		kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TTABLE ||
			kind == LUA_TFUNCTION,
		3, "string/function/table");
	prepare(&m, subject, subject_bytes, pattern, pattern_bytes);
	luaL_buffinit(state, &out);
	while (count < most) {
		const char *end;

		vm->steps = steps; /* a replacement function has steps of its own */
		end = attempt(state, vm, &m, s, pattern + anchored);
		if (end && end != last) {
			count++;
			steps = vm->steps;
			if (kind == LUA_TTABLE || kind == LUA_TFUNCTION)
				add_value(state, &m, &out, kind, s, end);
			else
				add_string(state, &m, &out, s, end);
			s = last = end;
		} else if (s < m.subject_end) {
			steps = vm->steps;
			luaL_addchar(&out, *s++);
		} else {
			break;
		}
		if (anchored)
			break;
	}
	luaL_addlstring(&out, s, (size_t)(m.subject_end - s));
	luaL_pushresult(&out);
	lua_pushinteger(state, count);
	return 2;
}

const struct script_function script_lib_pattern[] = {
	{"find", string_find},
	{"match", string_match},
	{"gmatch", string_gmatch},
	{"gsub", string_gsub},
	{NULL, NULL},
};
