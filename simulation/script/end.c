#include "simulation/script/vm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Raises nothing but what armed it; armed by mistake (a signal that came late), it goes away. */
static void hook(lua_State *state, lua_Debug *ar)
{
	struct script_vm *vm = script_vm_of(state);

	(void)ar;
	if (vm->ending == SCRIPT_OVER_MEMORY)
		script_end(state, SCRIPT_OVER_MEMORY,
			"out of memory (a block may have %d bytes, the map %d)",
			(int)SCRIPT_BLOCK_BYTES, (int)vm->config.memory_bytes);
	if (vm->ending != SCRIPT_OK)
		script_end(state, vm->ending,
			vm->ending == SCRIPT_TOO_DEEP ? "recursion too deep" : "ended");
	if (atomic_load(&vm->overdue) == atomic_load(&vm->sequence)) {
		if (!script_may_suspend(vm, state))
			script_end(state, SCRIPT_OVER_TIME,
				"out of time (%s: %d us of running time)",
				script_context_name(vm->context),
				(int)vm->config.limit_us[vm->context]);
		script_disarm(vm);
		lua_yield(state, 0); /* of a hook: it returns, and Lua suspends when the hook has */
		return;
	}
	script_disarm(vm);
}

bool script_may_suspend(const struct script_vm *vm, lua_State *state)
{
	return vm->job && lua_isyieldable(state) &&
	       (uint64_t)(vm->job->slices + 1) * vm->config.slice_us <
		       vm->config.limit_us[vm->context];
}

/* Looks unsafe in a signal handler, is not: lua_sethook writes plain fields and walks the list of
 * active calls towards the first, whose links never change while they are active; lua.c of the
 * stock distribution does the same on SIGINT. A hook that gets lost because the interrupted
 * instruction overwrote a call's trap flag is set again by the watchdog's next signal. */
void script_arm(struct script_vm *vm)
{
	vm->armed = true;
	lua_sethook(vm->running, hook, LUA_MASKCOUNT, 1);
}

void script_disarm(struct script_vm *vm)
{
	vm->armed = false;
	lua_sethook(vm->running, NULL, 0, 0);
}

void script_end(lua_State *state, enum script_result result, const char *format, ...)
{
	struct script_vm *vm = script_vm_of(state);
	va_list args;
	lua_Debug ar;

	/* Out of memory, the message must not need any: the arena's reserve has room for it. */
	vm->soft_bytes = UINT32_MAX;
	vm->ending = result;
	/* From a library call, where its caller is; from the hook, the running function itself. */
	luaL_where(state,
		lua_getstack(state, 0, &ar) && lua_getinfo(state, "S", &ar) && *ar.what == 'C');
	va_start(args, format);
	lua_pushvfstring(state, format, args);
	va_end(args);
	lua_concat(state, 2);
	lua_error(state);
	__builtin_unreachable();
}

static void put(struct script_vm *vm, const char *text, size_t bytes)
{
	size_t room = sizeof(vm->error) - 1 - vm->error_bytes;

	bytes = bytes < room ? bytes : room;
	/* One record is one log entry: bytes that could forge another, or a terminal's, are shown.
	 */
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		vm->error[vm->error_bytes + i] = c < 32 && c != '\n' && c != '\t' ? '?' : (char)c;
	}
	vm->error_bytes += (uint32_t)bytes;
	vm->error[vm->error_bytes] = '\0';
}

static void trace_level(struct script_vm *vm, lua_Debug *ar)
{
	char line[256];
	int n;

	if (!lua_getinfo(vm->running, "Sln", ar))
		return;
	if (*ar->what == 'C')
		n = snprintf(line, sizeof(line), "\n\tin %s %s",
			*ar->namewhat ? ar->namewhat : "function",
			ar->name ? ar->name : "(built in)");
	else if (*ar->what == 'm')
		n = snprintf(line, sizeof(line), "\n\t%s:%d: in the file itself", ar->short_src,
			ar->currentline);
	else if (ar->name)
		n = snprintf(line, sizeof(line), "\n\t%s:%d: in %s %.60s", ar->short_src,
			ar->currentline, ar->namewhat, ar->name);
	else
		n = snprintf(line, sizeof(line), "\n\t%s:%d: in the function of line %d",
			ar->short_src, ar->currentline, ar->linedefined);
	put(vm, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

#define TRACE_TOP    8
#define TRACE_BOTTOM 6

int script_depth(struct script_vm *vm)
{
	lua_Debug ar;
	int depth = 0, step = 1024;

	while (step) {
		if (lua_getstack(vm->running, depth + step, &ar))
			depth += step;
		else
			step /= 2;
	}
	return depth;
}

void script_trace(struct script_vm *vm, int level, const char *text, size_t bytes)
{
	lua_Debug ar;
	int depth = script_depth(vm) - 1; /* without the call from C that starts all */
	char line[64];

	vm->error_bytes = 0;
	put(vm, text, bytes < 1024 ? bytes : 1024);
	for (int i = level; i <= depth; i++) {
		if (i == level + TRACE_TOP && depth - i >= TRACE_BOTTOM) {
			int left = depth - i - TRACE_BOTTOM + 1;

			put(vm, line,
				(size_t)snprintf(line, sizeof(line), "\n\t... %d more", left));
			i += left;
		}
		if (lua_getstack(vm->running, i, &ar))
			trace_level(vm, &ar);
	}
}

#define LOCALS_MAX 12

/* A value in a few bytes, without allocating or calling what content wrote. */
static size_t show(lua_State *state, int index, char *out, size_t room)
{
	const char *text;
	size_t bytes;
	int n;

	switch (lua_type(state, index)) {
	case LUA_TNIL:
	case LUA_TBOOLEAN:
		n = snprintf(out, room, "%s",
			lua_isnil(state, index)            ? "nil"
				: lua_toboolean(state, index) ? "true"
							      : "false");
		break;
	case LUA_TNUMBER:
		n = lua_isinteger(state, index)
			    ? snprintf(out, room, "%lld", (long long)lua_tointeger(state, index))
			    : snprintf(out, room, "%.14g", lua_tonumber(state, index));
		break;
	case LUA_TSTRING:
		text = lua_tolstring(state, index, &bytes);
		n = snprintf(out, room, "'%.*s'%s", bytes < 40 ? (int)bytes : 40, text,
			bytes < 40 ? "" : "...");
		break;
	case LUA_TUSERDATA:
		n = snprintf(out, room, "an actor");
		break;
	default:
		n = snprintf(out, room, "a %s", lua_typename(state, lua_type(state, index)));
	}
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* lua_getlocal pushes without a look at the stack's end: Lua keeps EXTRA_STACK places there. */
static void put_locals(struct script_vm *vm, lua_Debug *ar)
{
	char text[96];
	int shown = 0;

	for (int i = 1; shown < LOCALS_MAX; i++) {
		const char *name = lua_getlocal(vm->running, ar, i);
		size_t bytes;

		if (!name)
			break;
		if (*name == '(') { /* a temporary */
			lua_pop(vm->running, 1);
			continue;
		}
		bytes = (size_t)snprintf(text, sizeof(text), "%s%.24s = ",
			shown++ ? ", " : "\n\twith ", name);
		bytes += show(vm->running, -1, text + bytes, sizeof(text) - bytes);
		lua_pop(vm->running, 1);
		put(vm, text, bytes);
	}
}

/* What the function where it happened had, and the handler, with what it was called with. */
static void put_all_locals(struct script_vm *vm, int level)
{
	int depth = script_depth(vm) - 1;
	lua_Debug ar, bottom;
	bool found = false;

	for (int i = level; i <= depth; i++) {
		if (!lua_getstack(vm->running, i, &ar) || !lua_getinfo(vm->running, "S", &ar) ||
			*ar.what == 'C')
			continue;
		if (!found)
			put_locals(vm, &ar);
		else
			bottom = ar;
		if (found && i + 1 >= depth)
			put_locals(vm, &bottom);
		found = true;
	}
}

static void write_error(struct script_vm *vm, lua_State *state, int index, int level)
{
	char number[64];
	const char *text;
	size_t bytes;

	switch (lua_type(state, index)) {
	case LUA_TSTRING:
		text = lua_tolstring(state, index, &bytes);
		break;
	case LUA_TNUMBER: /* not lua_tolstring, which allocates */
		bytes = (size_t)snprintf(
			number, sizeof(number), "%.14g", lua_tonumber(state, index));
		text = number;
		break;
	default:
		bytes = (size_t)snprintf(number, sizeof(number), "(the error object is a %s value)",
			lua_typename(state, lua_type(state, index)));
		text = number;
	}
	script_trace(vm, level, text, bytes);
	if (vm->ending == SCRIPT_OK || vm->ending == SCRIPT_OVER_TIME)
		put_all_locals(vm, level);
}

int script_on_error(lua_State *state)
{
	write_error(script_vm_of(state), state, 1, 1); /* above this handler's own level */
	return 0;
}

void script_on_thread_error(struct script_vm *vm, lua_State *thread)
{
	write_error(vm, thread, -1, 0);
}

enum script_result script_result_of(struct script_vm *vm, int status)
{
	static const char deep[] = "error in error handling: recursion too deep";

	if (status == LUA_OK)
		return SCRIPT_OK;
	if (status == LUA_ERRERR) { /* the message handler itself ran out of stack */
		put(vm, "", 0);
		if (vm->error_bytes == 0)
			put(vm, deep, sizeof(deep) - 1);
		return vm->ending != SCRIPT_OK ? vm->ending : SCRIPT_TOO_DEEP;
	}
	if (vm->ending != SCRIPT_OK)
		return vm->ending;
	/* The second: what luaL_Buffer raises, which allocates by itself. */
	if (status == LUA_ERRMEM ||
		(vm->refused != SCRIPT_OK && strstr(vm->error, "not enough memory")))
		return vm->refused != SCRIPT_OK ? vm->refused : SCRIPT_OVER_MEMORY;
	return strstr(vm->error, "stack overflow") ? SCRIPT_TOO_DEEP : SCRIPT_ERROR;
}
