#include "simulation/script/vm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/handle.h"

#define MEMORY_MIN (1u << 20)
#define MEMORY_MAX (1u << 30)

static const struct counter_desc descriptions[] = {
#define X(name, metric, kind, help) {metric, help, kind},
	SCRIPT_COUNTERS(X)
#undef X
#define X(name, metric, meaning) {"calls_" #metric, meaning, COUNTER_SUM},
		SCRIPT_RESULTS(X)
#undef X
#define X(name, text, limit_us, meaning)                                                           \
	{"ran_us_" #text, "handlers of this context, as the watchdog saw them running: " meaning,  \
		COUNTER_SUM},
			SCRIPT_CONTEXTS(X)
#undef X
};
_Static_assert(sizeof(descriptions) / sizeof(descriptions[0]) == SCRIPT_COUNTER_COUNT, "one each");

const char *script_result_name(enum script_result result)
{
	static const char *const names[] = {
#define X(name, metric, meaning) #metric,
		SCRIPT_RESULTS(X)
#undef X
	};

	return result < SCRIPT_RESULT_COUNT ? names[result] : "?";
}

void script_config_defaults(struct script_config *config)
{
	static const uint32_t limits_us[] = {
#define X(name, text, limit_us, meaning) limit_us,
		SCRIPT_CONTEXTS(X)
#undef X
	};

	memset(config, 0, sizeof(*config));
	config->memory_bytes = 16u << 20;
	config->tick_hz = 20;
	config->gc_step_kib = 64;
	config->slice_us = SCRIPT_SLICE_US;
	config->strikes_max = 40;
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++) {
		config->limit_us[i] = limits_us[i];
		config->allowed[i] = script_context_calls(i);
	}
}

static int panic(lua_State *state)
{
	(void)state;
	CHECK(!"a Lua error outside a protected call");
	return 0;
}

static int open_sandbox(lua_State *state)
{
	script_actors_open(state);
	script_sandbox_open(state);
	return 0;
}

static void measure(struct script_vm *vm)
{
	counter_put(&vm->values[SCRIPT_COUNT_MEMORY_BYTES], vm->arena.used_bytes);
	counter_put(&vm->values[SCRIPT_COUNT_MEMORY_PEAK_BYTES], vm->arena.peak_bytes);
}

int script_vm_new(struct script_vm **out, const struct script_config *config,
	const struct script_ops *ops, void *ctx)
{
	struct script_vm *vm;
	size_t vm_bytes = (sizeof(*vm) + 63) & ~(size_t)63;
	size_t region_bytes = config->memory_bytes & ~15u;

	if (config->memory_bytes < MEMORY_MIN || config->memory_bytes > MEMORY_MAX ||
		!config->watchdog || !config->slice_us || !config->tick_hz)
		return -EINVAL;
	for (int i = 0; i < SCRIPT_CONTEXT_COUNT; i++)
		if (!config->limit_us[i])
			return -EINVAL;
	vm = aligned_alloc(64, vm_bytes);
	if (!vm)
		return -ENOMEM;
	memset(vm, 0, vm_bytes);
	vm->own_region =
		config->region ? NULL : aligned_alloc(64, (region_bytes + 63) & ~(size_t)63);
	vm->region = config->region ? config->region : vm->own_region;
	vm->npcs = calloc(SCRIPT_NPCS_MAX, sizeof(*vm->npcs));
	vm->jobs = calloc(SCRIPT_JOBS_MAX, sizeof(*vm->jobs));
	if (!vm->region || !vm->npcs || !vm->jobs) {
		free(vm->own_region);
		free(vm->npcs);
		free(vm->jobs);
		free(vm);
		return -ENOMEM;
	}
	/* touched now, so that the shard takes no page fault */
	memset(vm->region, 0, region_bytes);
	memset(vm->jobs, 0, SCRIPT_JOBS_MAX * sizeof(*vm->jobs));
	vm->config = *config;
	vm->ops = ops;
	vm->ctx = ctx;
	vm->running_npc = UINT32_MAX;
	vm->soft_bytes = UINT32_MAX;
	vm->values = config->counters ? config->counters : vm->own_values;
	vm->counters = script_counter_set(config->index, vm->values);
	arena_init(&vm->arena, vm->region, region_bytes);
	vm->booting = true;
	vm->state = lua_newstate(script_alloc, vm);
	vm->booting = false;
	CHECK(vm->state && vm->strings_block);
	vm->running = vm->state;
	*(struct script_vm **)lua_getextraspace(vm->state) = vm;
	lua_atpanic(vm->state, panic);
	lua_pushcfunction(vm->state, open_sandbox);
	CHECK(lua_pcall(vm->state, 0, 0, 0) == LUA_OK);
	lua_gc(vm->state, LUA_GCINC, 160, 200, 0);
	lua_gc(vm->state, LUA_GCCOLLECT);
	measure(vm);
	script_vm_own(vm);
	script_watchdog_add(config->watchdog, vm);
	*out = vm;
	return 0;
}

void script_vm_free(struct script_vm *vm)
{
	if (!vm)
		return;
	script_watchdog_remove(vm->config.watchdog, vm);
	/* Nothing of Lua's outlives its arena: no need to close the state object by object. */
	free(vm->own_region);
	free(vm->npcs);
	free(vm->jobs);
	free(vm);
}

size_t script_vm_bytes(void)
{
	return sizeof(struct script_vm) + SCRIPT_NPCS_MAX * sizeof(struct script_npc_slot) +
	       SCRIPT_JOBS_MAX * sizeof(struct script_job);
}

/* What a protected call works on. */
struct call {
	const char *path, *text;
	size_t bytes;
};

static int load_file(lua_State *state)
{
	const struct call *call = lua_touserdata(state, 1);

	lua_pushfstring(state, "@%s", call->path);
	if (luaL_loadbufferx(state, call->text, call->bytes, lua_tostring(state, -1), "t") !=
		LUA_OK)
		return lua_error(state);
	script_sandbox_globals(state);
	CHECK(lua_setupvalue(state, -2, 1)); /* _ENV, a chunk's only upvalue */
	lua_call(state, 0, 0);
	return 0;
}

enum script_result script_protected(struct script_vm *vm, enum script_context context,
	lua_CFunction function, void *argument)
{
	enum script_result result;
	int status;

	lua_settop(vm->state, 0);
	lua_pushcfunction(vm->state, script_on_error);
	lua_pushcfunction(vm->state, function);
	lua_pushlightuserdata(vm->state, argument);
	script_watch_begin(vm, context, vm->config.limit_us[context]);
	status = lua_pcall(vm->state, 1, 0, 1);
	script_watch_end(vm);
	lua_settop(vm->state, 0);
	result = script_result_of(vm, status);
	counter_add(&vm->values[SCRIPT_COUNT_CALLS_OK + (unsigned)result], 1);
	measure(vm);
	return result;
}

enum script_result script_vm_load(struct script_vm *vm, const char *path, const char *text,
	size_t bytes, char *error, size_t error_bytes)
{
	struct call call = {.path = path, .text = text, .bytes = bytes};
	uint32_t before = vm->npc_count, declared = vm->declared_count;
	enum script_result result;

	if (bytes > SCRIPT_SOURCE_MAX) {
		snprintf(error, error_bytes, "%s:1: the file has %zu bytes, at most %u", path,
			bytes, SCRIPT_SOURCE_MAX);
		return SCRIPT_ERROR;
	}
	vm->running_npc = UINT32_MAX;
	vm->running_player = HANDLE_NONE;
	vm->text_event = NULL;
	result = script_protected(vm, SCRIPT_CONTEXT_LOAD, load_file, &call);
	if (result != SCRIPT_OK) {
		snprintf(error, error_bytes, "%s", vm->error);
		while (vm->npc_count > before) {
			struct script_npc_slot *slot = &vm->npcs[--vm->npc_count];

			luaL_unref(vm->state, LUA_REGISTRYINDEX, slot->object_ref);
			luaL_unref(vm->state, LUA_REGISTRYINDEX, slot->click_ref);
			luaL_unref(vm->state, LUA_REGISTRYINDEX, slot->tick_ref);
			luaL_unref(vm->state, LUA_REGISTRYINDEX, slot->storage_ref);
			luaL_unref(vm->state, LUA_REGISTRYINDEX, slot->upgrade_ref);
		}
		script_undeclare(vm, declared);
	}
	lua_gc(vm->state, LUA_GCCOLLECT); /* set-up: what compiling left */
	measure(vm);
	counter_put(&vm->values[SCRIPT_COUNT_NPCS], vm->npc_count);
	return result;
}

uint32_t script_vm_npc_count(const struct script_vm *vm)
{
	return vm->npc_count;
}

const struct script_npc *script_vm_npc(const struct script_vm *vm, uint32_t npc_index)
{
	CHECK(npc_index < vm->npc_count);
	return &vm->npcs[npc_index].npc;
}

static void view_of(const struct script_record *record, struct script_handler_view *out)
{
	*out = (struct script_handler_view){counter_get(&record->calls),
		counter_get(&record->failed), counter_get(&record->ran_us), record->barred};
}

void script_vm_handler(const struct script_vm *vm, uint32_t npc_index, enum script_context context,
	struct script_handler_view *out)
{
	view_of(&vm->npcs[npc_index].of[context], out);
}

void script_vm_each_handler(const struct script_vm *vm, script_handler_fn *fn, void *ctx)
{
	struct script_handler_view view;

	for (uint32_t i = 0; i < vm->npc_count; i++)
		for (int c = 0; c < SCRIPT_CONTEXT_COUNT; c++) {
			view_of(&vm->npcs[i].of[c], &view);
			if (view.calls)
				fn(ctx, vm->npcs[i].npc.name,
					c == SCRIPT_CONTEXT_NPC_CLICK ? "on_click" : "on_tick",
					(enum script_context)c, &view);
		}
	for (uint32_t i = 0; i < vm->declared_count; i++)
		for (int h = 0; h < SCRIPT_HANDLER_COUNT; h++) {
			view_of(&vm->declared[i].of[h], &view);
			if (view.calls)
				fn(ctx, vm->declared[i].name, script_handler_rows[h].name,
					script_handler_rows[h].context, &view);
		}
}

static uint32_t release(struct script_record *records, uint32_t count)
{
	uint32_t released = 0;

	for (uint32_t i = 0; i < count; i++) {
		released += records[i].barred;
		records[i].strikes = 0;
		records[i].barred = false;
	}
	return released;
}

uint32_t script_vm_release(struct script_vm *vm, const char *name)
{
	uint32_t released = 0;

	for (uint32_t i = 0; i < vm->npc_count; i++)
		if (!*name || !strcmp(vm->npcs[i].npc.name, name))
			released += release(vm->npcs[i].of, SCRIPT_CONTEXT_COUNT);
	for (uint32_t i = 0; i < vm->declared_count; i++)
		if (!*name || !strcmp(vm->declared[i].name, name))
			released += release(vm->declared[i].of, SCRIPT_HANDLER_COUNT);
	counter_add(&vm->values[SCRIPT_COUNT_BARRED], (uint64_t)0 - released);
	return released;
}

void script_vm_turns(const struct script_vm *vm, struct script_turns *out)
{
	*out = vm->turns;
}

uint32_t script_vm_version(const struct script_vm *vm)
{
	return vm->config.version;
}

void script_vm_bind(struct script_vm *vm, uint32_t npc_index, uint64_t actor)
{
	CHECK(npc_index < vm->npc_count);
	vm->npcs[npc_index].actor = actor;
}

enum script_result script_vm_click(struct script_vm *vm, uint32_t npc_index, uint64_t player)
{
	CHECK(npc_index < vm->npc_count && player != HANDLE_NONE);
	counter_add(&vm->values[SCRIPT_COUNT_CLICKS], 1);
	return script_job_start(vm, SCRIPT_HANDLER_NPC_CLICK, npc_index,
		vm->npcs[npc_index].click_ref, player);
}

enum script_result script_vm_tick(struct script_vm *vm, uint32_t npc_index)
{
	CHECK(npc_index < vm->npc_count);
	if (vm->npcs[npc_index].tick_job)
		return script_job_tick(vm, vm->npcs[npc_index].tick_job);
	counter_add(&vm->values[SCRIPT_COUNT_TICKS], 1);
	return script_job_start(vm, SCRIPT_HANDLER_NPC_TICK, npc_index,
		vm->npcs[npc_index].tick_ref, HANDLE_NONE);
}

void script_vm_gc(struct script_vm *vm)
{
	uint32_t quarter = vm->config.memory_bytes / 4;
	int steps = vm->arena.used_bytes < 2 * quarter ? 1 : vm->arena.used_bytes < 3 * quarter ? 2 : 4;

	/* What an attacker left behind is gone soon: the fuller, the more of it in a tick. */
	for (int i = 0; i < steps; i++)
		lua_gc(vm->state, LUA_GCSTEP, (int)vm->config.gc_step_kib);
	measure(vm);
}

struct counter_set script_counter_set(uint32_t index, _Atomic uint64_t *values)
{
	return (struct counter_set){"script", index, SCRIPT_COUNTER_COUNT, descriptions, values};
}

const struct counter_set *script_vm_counters(const struct script_vm *vm)
{
	return &vm->counters;
}
