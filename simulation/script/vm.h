/* vm: what the files of simulation/script share: the VM's memory, how a call is ended, and the
 * library parts that open the sandbox. Private to this folder. */
#ifndef SW_SIMULATION_SCRIPT_VM_H
#define SW_SIMULATION_SCRIPT_VM_H

#include <lauxlib.h>
#include <lua.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "simulation/script/api.h"
#include "simulation/script/arena.h"
#include "simulation/script/script.h"

/* Work that one library call may do, in steps of a few ns each. */
#define SCRIPT_STEPS_MAX (1u << 19)
/* Elements that one call of the table library may move, sort or join. */
#define SCRIPT_ELEMENTS_MAX 65536u
/* Values that one call may spread over the Lua stack. */
#define SCRIPT_SPREAD_MAX 4096u
/* A block up to this size is granted although it is over SCRIPT_BLOCK_BYTES, and the call is ended
 * at its next instruction: that spares the full collection that Lua runs when it is refused. */
#define SCRIPT_BLOCK_GRANT_BYTES (2 * SCRIPT_BLOCK_BYTES + 4096)
/* What one call may take once the VM is past its soft limit. */
#define SCRIPT_ALLOWANCE_BYTES (256u << 10)

/* How a handler did. */
struct script_record {
	_Atomic uint64_t calls, failed; /* the shard's */
	_Atomic uint64_t ran_us;        /* the watchdog's */
	_Atomic bool barred;            /* the shard's */
	uint32_t strikes;
};

/* An NPC's declaration and where its parts are in Lua's registry. */
struct script_npc_slot {
	struct script_npc npc;
	uint64_t actor;                      /* HANDLE_NONE: not on the map */
	int object_ref, click_ref, tick_ref; /* LUA_NOREF: none */
	int storage_ref, upgrade_ref;        /* the fields' table */
	lua_Integer storage_version;
	uint32_t tick_job; /* of its on_tick that is suspended; 0: none */
	struct script_record of[SCRIPT_CONTEXT_COUNT];
};

/* A declaration that is no NPC. */
struct script_declared {
	const char *class; /* of calls.h */
	char name[SCRIPT_NAME_BYTES];
	int ref[SCRIPT_HANDLER_COUNT]; /* LUA_NOREF: none */
	struct script_record of[SCRIPT_HANDLER_COUNT];
};

/* A value that outlives its Lua state. */
struct script_value {
	int type; /* LUA_TNIL, LUA_TBOOLEAN, LUA_TNUMBER (is_integer or not), LUA_TSTRING */
	bool is_integer;
	uint8_t bytes;
	union {
		lua_Integer integer;
		lua_Number number;
		char text[SCRIPT_VALUE_BYTES];
	};
};

struct script_timer {
	uint32_t due; /* ops.tick */
	uint32_t declaration;
	struct script_value value;
};

/* A handler under way: it runs on a Lua thread of its own, which waits where it calls ask or
 * commit, and is suspended where its slice ends. */
enum script_job_state {
	SCRIPT_JOB_FREE,
	SCRIPT_JOB_RUNS,
	SCRIPT_JOB_WAITS,    /* for the host */
	SCRIPT_JOB_SUSPENDED /* for its next slice */
};

struct script_job {
	lua_State *thread; /* kept for the next handler; NULL: there is none yet */
	int thread_ref;
	uint64_t player;
	struct script_record *record; /* of its handler */
	uint32_t npc_index;
	uint32_t generation; /* counts the place's uses, from 1 or more; 0: none yet */
	uint8_t context;     /* enum script_context */
	uint8_t state;       /* enum script_job_state */
	bool committed;      /* commit() was called: it has had its one */
	uint8_t asks;
	uint8_t change_count;
	struct script_change change[SCRIPT_CHANGES_MAX];
	uint32_t slices;     /* that are over, since it began or waited */
	uint32_t soft_bytes; /* arena use at which it is ended, from its first slice on */
	uint32_t next;       /* suspended after it, place + 1; 0: none */
	struct script_answer answer;
	struct script_event event;
	struct script_value value; /* of a timer */
};

struct script_vm {
	/* The shard writes, the watchdog reads. Odd while a handler runs. */
	_Atomic uint64_t sequence;
	_Atomic uint32_t limit_us;
	_Atomic pid_t thread_id;
	_Atomic int thread_clock; /* clockid_t of the thread's CPU time */
	_Atomic uint32_t ran;     /* the context that runs or ran last, */
	_Atomic(struct script_record *) record; /* and its handler's; NULL: none */
	_Atomic uint64_t round;   /* of the map's tick; 0: none yet */
	_Atomic uint32_t budget_us;
	/* The watchdog writes, the shard reads: the round whose budget is spent. */
	_Atomic uint64_t spent_round;
	/* The watchdog writes, the shard's signal handler and hook read: the sequence to end. */
	_Atomic uint64_t overdue;

	/* The watchdog's own. */
	uint64_t watch_sequence, watch_start_ns;
	uint64_t watch_round, watch_seen_ns, watch_spent_ns;
	struct script_vm *watch_next;

	/* The shard's own. */
	lua_State *state;
	lua_State *volatile running;             /* the thread that runs, state or a job's */
	struct script_job *job;                  /* that runs; NULL: none */
	struct script_job *jobs;                 /* [SCRIPT_JOBS_MAX] */
	uint32_t waiting;                        /* of jobs */
	uint32_t under_way;                      /* those that wait or are suspended */
	uint32_t suspended_head, suspended_tail; /* of jobs, place + 1, in order; 0: none */
	uint32_t last_job;                       /* the number of the one that ran last */
	struct script_turns turns;
	const struct script_event *text_event; /* of the job that runs, or ran last; NULL: none */
	const struct script_ops *ops;
	void *ctx;
	enum script_context context;
	enum script_result ending;  /* why the running call is being ended; SCRIPT_OK: it is not */
	volatile bool armed;        /* the hook is set; the signal handler writes it too */
	uint32_t soft_bytes;        /* arena use at which the running call is ended */
	void *strings_block;        /* Lua's own, which may be larger than a script's */
	void *refused_block;        /* of the last refusal, */
	size_t refused_bytes;       /* to tell a second try from a new one */
	enum script_result refused; /* what the last refusal comes to */
	bool booting;
	bool upgrading; /* storage is handed over */
	bool yields; /* the running handler waits: it has not been suspended */
	uint32_t running_npc;
	uint64_t running_player;
	uint64_t steps; /* left for the running library call */
	uint32_t error_bytes;
	char error[SCRIPT_TEXT_BYTES]; /* of the call that was ended last */
	struct arena arena;
	struct script_npc_slot *npcs; /* [SCRIPT_NPCS_MAX] */
	uint32_t npc_count;
	struct script_declared declared[SCRIPT_DECLARED_MAX];
	uint32_t declared_count;
	struct script_timer timers[SCRIPT_TIMERS_MAX]; /* the first is due first */
	uint32_t timer_count;
	struct script_config config;

	struct counter_set counters;
	_Atomic uint64_t *values; /* [SCRIPT_COUNTER_COUNT]: own_values, or the caller's */
	_Atomic uint64_t own_values[SCRIPT_COUNTER_COUNT];

	/* A ring of texts: the shard writes head, the reader tail. */
	_Atomic uint32_t text_head, text_tail;
	struct script_text texts[SCRIPT_TEXTS];
	void *region, *own_region;
};

/* Its actor; HANDLE_NONE: it is not on the map, or no NPC's handler runs. */
static inline uint64_t script_npc_actor(const struct script_vm *vm, uint32_t npc_index)
{
	return npc_index < vm->npc_count ? vm->npcs[npc_index].actor : 0;
}

static inline struct script_vm *script_vm_of(lua_State *state)
{
	return *(struct script_vm **)lua_getextraspace(state);
}

/* ---- memory.c: lua_Alloc on the arena, with the limits ---- */
void *script_alloc(void *vm, void *block, size_t old_bytes, size_t bytes);

/* ---- end.c: how a call is ended ---- */

/* Whether the running handler may be suspended: it has time left, and is in no library's callback.
 */
bool script_may_suspend(const struct script_vm *vm, lua_State *state);

/* Ends the running call with a named result. The format is lua_pushfstring's. */
_Noreturn void script_end(lua_State *state, enum script_result result, const char *format, ...);

/* Sets the hook, so that the call is ended at its next instruction; script_hook says why. Also
 * called from the signal handler. */
void script_arm(struct script_vm *vm);
void script_disarm(struct script_vm *vm);

/* The message handler of each protected call: writes message and traceback to vm->error. */
int script_on_error(lua_State *state);

/* The same for a thread that ended with an error, which is on top of its stack. */
void script_on_thread_error(struct script_vm *vm, lua_State *thread);

/* Calls under way. */
int script_depth(struct script_vm *vm);

/* Writes "text" and a traceback from level up to vm->error, without allocating. */
void script_trace(struct script_vm *vm, int level, const char *text, size_t bytes);

/* The result of a protected call that failed with this status. */
enum script_result script_result_of(struct script_vm *vm, int status);

/* Ends the call if steps of work are more than the library call has left, or if its time is up and
 * it cannot be suspended when this library call is over. */
static inline void script_steps(lua_State *state, struct script_vm *vm, uint64_t steps)
{
	if (__builtin_expect(vm->steps < steps || vm->armed, 0)) {
		if (vm->armed && vm->ending == SCRIPT_OK &&
			atomic_load(&vm->overdue) == atomic_load(&vm->sequence) &&
			!script_may_suspend(vm, state))
			script_end(state, SCRIPT_OVER_TIME, "out of time");
		if (vm->steps < steps)
			script_end(state, SCRIPT_OVER_STEPS,
				"too much work for one call (over %d steps)",
				(int)SCRIPT_STEPS_MAX);
	}
	vm->steps -= steps;
}

/* ---- watchdog.c ---- */
void script_watchdog_add(struct script_watchdog *watchdog, struct script_vm *vm);
void script_watchdog_remove(struct script_watchdog *watchdog, struct script_vm *vm);

/* Around each protected call, and each slice of one; limit_us is the slice's. */
void script_watch_begin(struct script_vm *vm, enum script_context context, uint32_t limit_us);
void script_watch_end(struct script_vm *vm);

/* ---- the sandbox ---- */
struct script_function {
	const char *name;
	lua_CFunction call;
};

/* sandbox.c: puts the library tables into the registry, sets the string metatable. */
void script_sandbox_open(lua_State *state);
/* Pushes a new table of global variables for a content file. */
void script_sandbox_globals(lua_State *state);
/* Pushes a read-only view of the table on top, in its place; name is for the message. */
void script_readonly(lua_State *state, const char *name);

/* The libraries that content sees as tables: map, match. */
extern const struct script_function script_lib_map[], script_lib_match[];
extern const struct script_function script_lib_declare[], script_lib_events[], script_lib_intent[];
/* lib_fight.c: methods of monsters. */
extern const struct script_function script_fight_methods[];

extern const struct script_function script_lib_base[], script_lib_string[], script_lib_table[],
	script_lib_utf8[], script_lib_pattern[], script_lib_api[], script_lib_math[],
	script_lib_keep[];
/* lib_keep.c: methods of actors. */
extern const struct script_function script_keep_methods[];

/* lib_base.c: text of any value, without an address. Pushes a string. */
void script_push_text(lua_State *state, int index);

/* lib_table.c: heap sort of the elements 1..count of the table at index. less compares the two
 * values on top of the stack (a below b) and leaves them. */
void script_sort(lua_State *state, int index, lua_Integer count,
	bool (*less)(lua_State *state, struct script_vm *vm));

/* lib_actor.c: valid UTF-8 (RFC 3629) without control characters but newline. */
bool script_is_text(const char *text, size_t bytes);

/* lib_actor.c: metatables of NPCs and other actors; pushes. npc_index UINT32_MAX: not an NPC's own
 */
void script_actors_open(lua_State *state);
void script_push_actor(lua_State *state, uint64_t actor, uint32_t npc_index);

/* lib_actor.c: the player who clicked, as the first argument of one of its methods; else an error.
 */
uint64_t script_check_clicker(lua_State *state, struct script_vm *vm, int index, const char *call);
/* ... any actor, HANDLE_NONE for an NPC that is not on the map, */
uint64_t script_check_actor(lua_State *state, struct script_vm *vm, int index);
/* ... and an NPC as the first argument of one of its own. */
uint64_t script_check_npc(lua_State *state, struct script_vm *vm, const char *call);

/* lib_declare.c: the table at index 1 holds nothing but what calls.h says of that class. */
void script_check_fields(lua_State *state, const char *class);
/* A handler of the table at index 1 as a reference, LUA_NOREF. */
int script_take_handler(lua_State *state, const char *class, const char *name);
/* A string field of 1 to 31 bytes of text of the table at index 1. */
void script_take_name(
	lua_State *state, const char *class, const char *field, char name[SCRIPT_NAME_BYTES]);
/* Forgets declarations from count on. */
void script_undeclare(struct script_vm *vm, uint32_t count);

/* vm.c: a function of ours under a context's limits, with argument as a light userdata. */
enum script_result script_protected(
	struct script_vm *vm, enum script_context context, lua_CFunction function, void *argument);

/* lib_events.c: an array of players; pushes it. */
void script_push_players(lua_State *state, const uint64_t *players, uint32_t count);

/* lib_keep.c: ends the call where Lua cannot be suspended: inside a library's callback. */
void script_check_waits(lua_State *state, const char *call);

/* storage.c: the storage of the declaration at index 1, for the NPC object on top. */
void script_take_storage(lua_State *state, struct script_npc_slot *slot);

/* lib_keep.c: the number of the item, quest named at index; else an error. */
uint32_t script_check_item(lua_State *state, struct script_vm *vm, int index);
uint32_t script_check_quest(lua_State *state, struct script_vm *vm, int index);

/* lib_actor.c: a line of dialogue at index; else an error. */
const char *script_check_text(lua_State *state, int index, size_t *bytes);
/* A player as an argument. */
uint64_t script_check_player(lua_State *state, struct script_vm *vm, int index);

/* job.c. handler: enum script_handler; player: HANDLE_NONE where no one acts. */
enum script_result script_job_start(struct script_vm *vm, uint32_t handler, uint32_t npc_index,
	int handler_ref, uint64_t player);
/* The next slice of an on_tick that is suspended. */
enum script_result script_job_tick(struct script_vm *vm, uint32_t id);
/* The same for an event; value: of a timer, or NULL. */
enum script_result script_job_event(struct script_vm *vm, int handler_ref,
	const struct script_event *event, const struct script_value *value);
/* The number by which the host knows the running job. */
uint32_t script_job_id(const struct script_vm *vm, const struct script_job *job);

/* lib_api.c: ends the call if the running context may not use this one. */
struct script_vm *script_check_call(lua_State *state, enum script_call call);

/* text.c */
void script_text_push(struct script_vm *vm, enum script_text_kind kind, enum script_result result,
	const char *text, size_t bytes);

#endif
