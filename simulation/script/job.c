/* Handlers: each runs on a Lua thread of its own, so that it may wait or be suspended. The thread
 * is the engine's; content has no coroutines. */
#include "simulation/script/vm.h"

#include "common/check.h"
#include "common/handle.h"

/* A job's number: its place in the low bits, how often the place was used, and its VM's side in the
 * highest bit (SCRIPT_JOB_SIDE). */
#define PLACE_BITS      9u
#define GENERATIONS_MAX (SCRIPT_JOB_SIDE >> PLACE_BITS)
_Static_assert(SCRIPT_JOBS_MAX == 1u << PLACE_BITS, "a place fits");

uint32_t script_job_id(const struct script_vm *vm, const struct script_job *job)
{
	return (vm->config.side ? SCRIPT_JOB_SIDE : 0) | job->generation << PLACE_BITS |
	       (uint32_t)(job - vm->jobs);
}

static struct script_job *find(struct script_vm *vm, uint32_t id)
{
	struct script_job *job = &vm->jobs[id & (SCRIPT_JOBS_MAX - 1)];

	return id && job->state >= SCRIPT_JOB_WAITS && script_job_id(vm, job) == id ? job : NULL;
}

static int new_thread(lua_State *state)
{
	struct script_job *job = lua_touserdata(state, 1);
	lua_State *thread = lua_newthread(state);

	job->thread_ref = luaL_ref(state, LUA_REGISTRYINDEX);
	job->thread = thread;
	return 0;
}

/* A place with a thread; of those the first, so that few are made. NULL: none is free, or there is
 * no memory for its thread, which is *why. */
static struct script_job *take(struct script_vm *vm, enum script_result *why)
{
	uint32_t place = 0;

	while (place < SCRIPT_JOBS_MAX && vm->jobs[place].state != SCRIPT_JOB_FREE)
		place++;
	*why = SCRIPT_NO_ROOM;
	if (place == SCRIPT_JOBS_MAX)
		return NULL;
	if (!vm->jobs[place].thread) {
		lua_settop(vm->state, 0);
		lua_pushcfunction(vm->state, new_thread);
		lua_pushlightuserdata(vm->state, &vm->jobs[place]);
		*why = SCRIPT_OVER_MEMORY;
		if (lua_pcall(vm->state, 1, 0, 0) != LUA_OK)
			return NULL;
	}
	return &vm->jobs[place];
}

static int ended(lua_State *state, int status, lua_KContext context)
{
	(void)state;
	(void)status;
	(void)context;
	return 0;
}

static void push_value(lua_State *state, const struct script_value *value)
{
	if (value->type == LUA_TNIL)
		lua_pushnil(state);
	else if (value->type == LUA_TBOOLEAN)
		lua_pushboolean(state, value->integer != 0);
	else if (value->type == LUA_TSTRING)
		lua_pushlstring(state, value->text, value->bytes);
	else if (value->is_integer)
		lua_pushinteger(state, value->integer);
	else
		lua_pushnumber(state, value->number);
}

/* What the handler is called with: script_handler_row.with. */
static void push_argument(lua_State *state, struct script_vm *vm, char with)
{
	const struct script_event *event = &vm->job->event;

	switch (with) {
	case 'o':
		lua_rawgeti(state, LUA_REGISTRYINDEX, vm->npcs[vm->running_npc].object_ref);
		break;
	case 'm':
		script_push_actor(state, event->monster, UINT32_MAX);
		break;
	case 'p':
		script_push_actor(state, event->player, UINT32_MAX);
		break;
	case 'i':
		lua_pushinteger(state, event->number);
		break;
	case 'b':
		lua_pushboolean(state, event->number != 0);
		break;
	case 's':
		lua_pushstring(state, event->name);
		break;
	default:
		push_value(state, &vm->job->value);
	}
}

/* The first function of a job's thread: what it pushes may need memory that is not there. */
static int begin(lua_State *state)
{
	struct script_vm *vm = script_vm_of(state);
	int handler_ref = (int)lua_tointeger(state, 1), count = 0;

	lua_rawgeti(state, LUA_REGISTRYINDEX, handler_ref);
	for (const char *with = script_handler_rows[vm->job->event.handler].with; *with; with++) {
		push_argument(state, vm, *with);
		count++;
	}
	lua_callk(state, count, 0, 0, ended);
	return 0;
}

static void set_state(struct script_vm *vm, struct script_job *job, enum script_job_state state)
{
	vm->waiting += (state == SCRIPT_JOB_WAITS) - (job->state == SCRIPT_JOB_WAITS);
	vm->under_way += (state >= SCRIPT_JOB_WAITS) - (job->state >= SCRIPT_JOB_WAITS);
	if (job->context == SCRIPT_CONTEXT_NPC_TICK)
		vm->npcs[job->npc_index].tick_job =
			state == SCRIPT_JOB_SUSPENDED ? script_job_id(vm, job) : 0;
	job->state = (uint8_t)state;
	counter_put(&vm->values[SCRIPT_COUNT_WAITING], vm->waiting);
}

/* ---- those that are suspended, in order; an on_tick goes on when it is its NPC's turn ---- */

static void suspended_add(struct script_vm *vm, struct script_job *job)
{
	uint32_t place = (uint32_t)(job - vm->jobs) + 1;

	job->next = 0;
	if (vm->suspended_tail)
		vm->jobs[vm->suspended_tail - 1].next = place;
	else
		vm->suspended_head = place;
	vm->suspended_tail = place;
}

static void suspended_remove(struct script_vm *vm, const struct script_job *job)
{
	uint32_t place = (uint32_t)(job - vm->jobs) + 1, before = 0, *at = &vm->suspended_head;

	while (*at != place) {
		before = *at;
		at = &vm->jobs[before - 1].next;
	}
	*at = job->next;
	if (vm->suspended_tail == place)
		vm->suspended_tail = before;
}

/* ---- */

/* What it has asked for and not committed itself is kept now, and nobody waits for the answer. */
static void keep(struct script_vm *vm, struct script_job *job)
{
	enum script_kept kept;

	if (job->committed || !job->change_count)
		return;
	counter_add(&vm->values[SCRIPT_COUNT_KEEPS], 1);
	kept = vm->ops->keep(vm->ctx, script_npc_actor(vm, job->npc_index), job->player,
		job->change, job->change_count, 0);
	counter_add(&vm->values[SCRIPT_COUNT_KEEPS_REFUSED],
		kept != SCRIPT_KEPT_OK && kept != SCRIPT_KEPT_PENDING);
}

static void leave_thread(struct script_vm *vm, struct script_job *job)
{
	luaL_unref(vm->state, LUA_REGISTRYINDEX, job->thread_ref);
	job->thread = NULL;
}

static void count(struct script_vm *vm, const struct script_job *job, enum script_result result)
{
	bool well = result == SCRIPT_OK || result == SCRIPT_WAITING || result == SCRIPT_SUSPENDED;
	struct script_record *record = job->record;

	counter_add(&vm->values[SCRIPT_COUNT_CALLS_OK + (unsigned)result], 1);
	counter_add(&record->failed, !well);
	if (!well)
		record->strikes += result == SCRIPT_ERROR || result == SCRIPT_NOT_ALLOWED ? 2 : 8;
	else if (result == SCRIPT_OK && record->strikes)
		record->strikes--;
	vm->turns.ran++;
	vm->turns.failed +=
		!well || (result == SCRIPT_SUSPENDED && job->context == SCRIPT_CONTEXT_NPC_TICK);
	counter_put(&vm->values[SCRIPT_COUNT_MEMORY_BYTES], vm->arena.used_bytes);
	counter_put(&vm->values[SCRIPT_COUNT_MEMORY_PEAK_BYTES], vm->arena.peak_bytes);
}

/* Who fails again and again is not called any more: it costs a slice each time, and fills the log. */
static void bar(struct script_vm *vm, const struct script_job *job)
{
	static const char text[] = "it failed again and again, and is not called any more until an "
				   "operator releases it (swctl script release)";

	if (!vm->config.strikes_max || job->record->strikes < vm->config.strikes_max)
		return;
	job->record->barred = true;
	counter_add(&vm->values[SCRIPT_COUNT_BARRED], 1);
	script_text_push(vm, SCRIPT_TEXT_ERROR, SCRIPT_BARRED, text, sizeof(text) - 1);
}

/* One slice of it. */
static enum script_result go(struct script_vm *vm, struct script_job *job, int arguments)
{
	enum script_context context = (enum script_context)job->context;
	uint64_t left_us =
		vm->config.limit_us[context] - (uint64_t)job->slices * vm->config.slice_us;
	enum script_result result;
	int status, results = 0;

	set_state(vm, job, SCRIPT_JOB_RUNS);
	vm->running_npc = job->npc_index;
	vm->running_player = job->player;
	vm->job = job;
	vm->text_event = &job->event;
	vm->running = job->thread;
	script_watch_begin(vm, context,
		left_us < vm->config.slice_us ? (uint32_t)left_us : vm->config.slice_us);
	status = lua_resume(job->thread, vm->state, arguments, &results);
	if (status == LUA_ERRRUN) /* what is out of memory has been told where it was refused */
		script_on_thread_error(vm, job->thread);
	script_watch_end(vm);
	vm->running = vm->state;
	vm->job = NULL;
	vm->last_job = script_job_id(vm, job);
	result = script_result_of(vm, status);
	if (status == LUA_YIELD)
		result = vm->yields ? SCRIPT_WAITING : SCRIPT_SUSPENDED;
	vm->yields = false;
	count(vm, job, result);
	if (result == SCRIPT_SUSPENDED) {
		job->slices++;
		set_state(vm, job, SCRIPT_JOB_SUSPENDED);
		if (job->context != SCRIPT_CONTEXT_NPC_TICK)
			suspended_add(vm, job);
		return result;
	}
	job->slices = 0;
	if (result == SCRIPT_WAITING) {
		lua_pop(job->thread, results);
		set_state(vm, job, SCRIPT_JOB_WAITS);
		return result;
	}
	if (result == SCRIPT_OK) {
		lua_settop(job->thread, 0);
		keep(vm, job);
	} else {
		/* Not used again: an error that a hook raised leaves its thread without hooks, and
		 * nothing could end the next handler on it. */
		leave_thread(vm, job);
		script_text_push(vm, SCRIPT_TEXT_ERROR, result, vm->error, vm->error_bytes);
	}
	set_state(vm, job, SCRIPT_JOB_FREE);
	bar(vm, job);
	return result;
}

static enum script_result start(struct script_vm *vm, uint32_t npc_index, int handler_ref,
	struct script_record *record, const struct script_event *event,
	const struct script_value *value)
{
	enum script_result why = SCRIPT_BARRED;
	struct script_job *job = record->barred ? NULL : take(vm, &why);

	if (!job) {
		counter_add(&vm->values[SCRIPT_COUNT_CALLS_OK + (unsigned)why], 1);
		return why;
	}
	job->context = (uint8_t)script_handler_rows[event->handler].context;
	job->record = record;
	counter_add(&record->calls, 1);
	job->event = *event;
	job->value = value ? *value : (struct script_value){.type = LUA_TNIL};
	job->player = event->player;
	job->npc_index = npc_index;
	if (!job->generation) /* where no version before has been: what it waited for may still come */
		job->generation = vm->config.vms_before * 2654435761u >> (PLACE_BITS + 1);
	job->generation = job->generation % (GENERATIONS_MAX - 1) + 1;
	job->committed = false;
	job->slices = 0;
	job->asks = 0;
	job->change_count = 0;
	job->answer = (struct script_answer){0};
	lua_pushcfunction(job->thread, begin);
	lua_pushinteger(job->thread, handler_ref);
	return go(vm, job, 1);
}

enum script_result script_job_start(struct script_vm *vm, uint32_t handler, uint32_t npc_index,
	int handler_ref, uint64_t player)
{
	const struct script_event event = {.handler = handler, .player = player};

	if (handler_ref == LUA_NOREF || vm->npcs[npc_index].actor == HANDLE_NONE)
		return SCRIPT_NO_HANDLER;
	return start(vm, npc_index, handler_ref,
		&vm->npcs[npc_index].of[script_handler_rows[handler].context], &event, NULL);
}

enum script_result script_job_event(struct script_vm *vm, int handler_ref,
	const struct script_event *event, const struct script_value *value)
{
	return start(vm, UINT32_MAX, handler_ref,
		&vm->declared[event->declaration].of[event->handler], event, value);
}

enum script_result script_vm_resume(
	struct script_vm *vm, uint32_t id, const struct script_answer *answer)
{
	struct script_job *job = find(vm, id);

	if (!job || job->state != SCRIPT_JOB_WAITS)
		return SCRIPT_NO_HANDLER;
	job->answer = *answer;
	return go(vm, job, 0);
}

bool script_vm_go_on(struct script_vm *vm, struct script_gone_on *out, enum script_result *result)
{
	struct script_job *job;

	if (!vm->suspended_head)
		return false;
	job = &vm->jobs[vm->suspended_head - 1];
	suspended_remove(vm, job);
	*out = (struct script_gone_on){.context = (enum script_context)job->context,
		.npc_index = job->npc_index,
		.job = script_job_id(vm, job),
		.player = job->player};
	*result = go(vm, job, 0);
	return true;
}

enum script_result script_job_tick(struct script_vm *vm, uint32_t id)
{
	return go(vm, find(vm, id), 0);
}

uint32_t script_vm_job(const struct script_vm *vm)
{
	return vm->job ? script_job_id(vm, vm->job) : vm->last_job;
}

void script_vm_cancel(struct script_vm *vm, uint32_t id)
{
	struct script_job *job = find(vm, id);

	if (!job)
		return;
	if (job->state == SCRIPT_JOB_SUSPENDED) {
		if (job->context != SCRIPT_CONTEXT_NPC_TICK)
			suspended_remove(vm, job);
		leave_thread(vm, job);
	} else {
		(void)lua_resetthread(job->thread);
		lua_settop(job->thread, 0);
	}
	set_state(vm, job, SCRIPT_JOB_FREE);
}

void script_vm_cancel_ticks(struct script_vm *vm)
{
	for (uint32_t i = 0; i < vm->npc_count; i++)
		script_vm_cancel(vm, vm->npcs[i].tick_job);
}

uint32_t script_vm_under_way(const struct script_vm *vm)
{
	return vm->under_way;
}
