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
