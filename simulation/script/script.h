/* script: the sandboxed Lua 5.4 VM of one map. Content declares NPCs at start-up; the map spawns
 * actors for them and calls their handlers. docs/content.md is the author's side of this page.
 *
 * Threads. script_watchdog_* and script_vm_new/load/free: the set-up thread. script_vm_own, _bind,
 * _click, _tick, _gc: the one thread that runs the map (its shard). script_vm_text_pop: one reader,
 * any thread. Counters: any thread. While handlers run well the shard allocates nothing, takes no
 * lock and makes no system call here: Lua lives on an arena that script_vm_new reserves.
 *
 * Whatever a script does, it ends that one call, by name (enum script_result), and leaves the VM
 * usable; nothing inside Lua can catch it. A handler that runs past its limit is ended by the
 * watchdog thread, which signals the shard's thread (SCRIPT_SIGNAL); no hook is set before that. */
#ifndef SW_SIMULATION_SCRIPT_SCRIPT_H
#define SW_SIMULATION_SCRIPT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "common/counter.h"

#define SCRIPT_NAME_BYTES  32u   /* an actor's name with the ending NUL */
#define SCRIPT_PARTY_MAX   40u   /* members of the largest party */
#define SCRIPT_NPCS_MAX    4096u /* declared on one map */
#define SCRIPT_SAY_BYTES   512u  /* longest dialogue text, without a NUL; longer is an error */
#define SCRIPT_TEXT_BYTES  2048u /* one log line, or one error with its traceback, with the NUL */
#define SCRIPT_TEXTS       16u   /* log lines and errors that wait for their reader */
#define SCRIPT_SOURCE_MAX  (256u << 10) /* bytes of one content file */
#define SCRIPT_BLOCK_BYTES (256u << 10) /* largest single allocation of a script */

#define SCRIPT_JOBS_MAX     512u /* click handlers of one map that wait */
#define SCRIPT_JOB_SIDE     0x80000000u
#define SCRIPT_CHANGES_MAX  16u  /* durable calls of one handler */
#define SCRIPT_ASKS_MAX     16u  /* questions of one handler */
#define SCRIPT_CHOICES_MAX  8u   /* of one question */
#define SCRIPT_CHOICE_BYTES 100u /* longest text of a choice, without a NUL */

#define SCRIPT_DECLARED_MAX 256u  /* declarations of one map beside its NPCs */
#define SCRIPT_TIMERS_MAX   256u  /* of one map that run */
#define SCRIPT_TIMER_S_MAX  86400u
#define SCRIPT_VALUE_BYTES  64u   /* longest text of a timer's value, without a NUL */
#define SCRIPT_WAIT_S_MAX   600u
#define SCRIPT_NEAR_MAX     64u   /* players that one call gives */
#define SCRIPT_KEY_BYTES    48u   /* of an intent's key, with the ending NUL */
#define SCRIPT_OFFER_MAX    3u    /* cards of one offer */
#define SCRIPT_FIELDS_MAX   16u   /* of an NPC's storage */
#define SCRIPT_STORED_BYTES 255u  /* longest text of one, without a NUL */

/* What a call came to. X(NAME, metric, meaning) */
// clang-format off
#define SCRIPT_RESULTS(X)                                                                          \
	X(OK,          ok,          "the handler ran to its end")                                  \
	X(NO_HANDLER,  no_handler,  "the NPC declares no handler for this event")                  \
	X(WAITING,     waiting,     "the handler waits, for an answer or for a commit, and goes on later") \
	X(SUSPENDED,   suspended,   "its slice was over: it goes on in a later tick")              \
	X(NO_ROOM,     no_room,     "not called: as many handlers as may be wait already")         \
	X(ERROR,       error,       "ended by a Lua error: a mistake in the content")              \
	X(NOT_ALLOWED, not_allowed, "ended: called what its context has no permission for")        \
	X(BARRED,      barred,      "not called: it failed again and again, until an operator releases it") \
	X(OVER_TIME,   over_time,   "ended: ran longer than its context's limit")                  \
	X(OVER_MEMORY, over_memory, "ended: the VM's memory, or one block, grew past its limit")   \
	X(OVER_STEPS,  over_steps,  "ended: one library call took too many steps (a pattern, say)")\
	X(TOO_DEEP,    too_deep,    "ended: recursion too deep")
// clang-format on

enum script_result {
#define X(name, metric, meaning) SCRIPT_##name,
	SCRIPT_RESULTS(X)
#undef X
		SCRIPT_RESULT_COUNT
};

/* "over_time"; any thread. */
const char *script_result_name(enum script_result result);

/* A handler runs in slices of this: what of it is left goes on in a later tick. */
#define SCRIPT_SLICE_US 2000u

/* Contexts that handlers run in. X(NAME, lua name, default limit in us of running time, of all of its
 * slices together, when) */
// clang-format off
#define SCRIPT_CONTEXTS(X)                                                                         \
	X(LOAD,      load,      500000, "a content file runs once, when its map starts")           \
	X(NPC_CLICK, npc_click, 500000, "a player clicked an NPC")                                 \
	X(NPC_TICK,  npc_tick,  100000, "a tick of the map")                                       \
	X(COMBAT,    combat,    200000, "a monster fights, is hurt or dies")                       \
	X(QUEST,     quest,     500000, "a player's quest has been begun or completed")            \
	X(MAP_EVENT, map_event, 100000, "a player comes or goes, or a timer is due")               \
	X(MATCH,     match,     100000, "a room's match opens, goes on or ends")
// clang-format on

enum script_context {
#define X(name, text, limit_us, meaning) SCRIPT_CONTEXT_##name,
	SCRIPT_CONTEXTS(X)
#undef X
		SCRIPT_CONTEXT_COUNT
};

enum script_actor_kind { SCRIPT_ACTOR_PLAYER = 1, SCRIPT_ACTOR_NPC = 2, SCRIPT_ACTOR_MONSTER = 3 };

struct script_actor {
	char name[SCRIPT_NAME_BYTES];
	int32_t x_mm, y_mm;
	enum script_actor_kind kind;
	bool detailed; /* what follows is known: of a player whose details are here */
	uint32_t level;
	int64_t gold;
	bool has_body; /* it can be hurt: */
	uint32_t health, health_max;
};

/* What items.yaml and quests.yaml say. */
struct script_item {
	uint32_t stack_max, attack, defence;
};
struct script_quest_row {
	const char *title;
	uint32_t level, gold, experience;
};

/* What a script does in a fight. X(NAME, meaning of amount) */
enum script_deed {
	SCRIPT_STRIKE,     /* the monster hurts the player by amount */
	SCRIPT_HEAL,       /* the monster mends by amount */
	SCRIPT_CHASE,      /* the monster goes after the player */
	SCRIPT_SET_ATTACK, /* of the monster, to amount */
	SCRIPT_DROP,       /* amount of an item is left by the monster, for the player if there is one */
};

/* What a script does as a room's rule. */
enum script_move {
	SCRIPT_MATCH_LOCK, /* amount: on or off */
	SCRIPT_MATCH_HOLD,
	SCRIPT_MATCH_FIGHT,
	SCRIPT_MATCH_HURT,  /* amount */
	SCRIPT_MATCH_BOOST, /* what: the card's place in the game's data */
	SCRIPT_MATCH_RESULT,
	SCRIPT_MATCH_FINISH,
};

/* What became of an intent. X(NAME, text in Lua, meaning) */
// clang-format off
#define SCRIPT_INTENTS(X)                                                                          \
	X(OK,       ok,       "it is queued")                                                      \
	X(REPEATED, repeated, "one of that key is queued, or was within ten seconds")              \
	X(FULL,     full,     "256 are queued on this map")                                        \
	X(TOO_FAST, too_fast, "more than 64 a second, or 128 at once")                           \
	X(GONE,     gone,     "the player is not on the map any more")
// clang-format on

enum script_intent {
#define X(name, text, meaning) SCRIPT_INTENT_##name,
	SCRIPT_INTENTS(X)
#undef X
		SCRIPT_INTENT_COUNT
};

/* "repeated"; any thread. */
const char *script_intent_name(enum script_intent intent);

/* A durable call of a handler. Nothing happens before the commit, which checks all of them against
 * what the player has then, and does all or none. */
enum script_change_kind {
	SCRIPT_TAKE_ITEM, /* what: the item's number; amount of it, above 0 */
	SCRIPT_GIVE_ITEM,
	SCRIPT_ADD_GOLD, /* amount, which may be negative: the player pays */
	SCRIPT_ADD_EXPERIENCE,
	SCRIPT_BEGIN_QUEST, /* what: the host's number of a quest */
	SCRIPT_ADVANCE_QUEST,
	SCRIPT_COMPLETE_QUEST,
};

struct script_change {
	uint32_t kind; /* enum script_change_kind */
	uint32_t what;
	int64_t amount;
};

/* What a commit came to; what commit() returns. X(NAME, text in Lua, meaning) */
// clang-format off
#define SCRIPT_KEPTS(X)                                                                            \
	X(OK,           ok,           "all of it is kept")                                         \
	X(NOT_READY,    not_ready,    "the player's details are being loaded")                     \
	X(TOO_FAR,      too_far,      "the player is dead, or out of reach of the NPC")            \
	X(BUSY,         busy,         "another change of the same things is under way")            \
	X(NOT_ENOUGH,   not_enough,   "the player has not so many items, or not so much gold")     \
	X(BAG_FULL,     bag_full,     "the bag has no room for it")                                \
	X(QUEST_STATE,  quest_state,  "the quest does not stand where this could be done")         \
	X(QUEST_BEFORE, quest_before, "the level, or a quest that comes before it, is missing")    \
	X(QUEST_WAIT,   quest_wait,   "the quest was done, and may be begun again only later")      \
	X(QUESTS_FULL,  quests_full,  "the player has as many open quests as may be")              \
	X(TOO_MANY,     too_many,     "more slots, quests and balances would change than one commit holds") \
	X(UNAVAILABLE,  unavailable,  "the database is away, or took too long")                    \
	X(REFUSED,      refused,      "the database refused it: the character was changed elsewhere")
// clang-format on

enum script_kept {
#define X(name, text, meaning) SCRIPT_KEPT_##name,
	SCRIPT_KEPTS(X)
#undef X
		SCRIPT_KEPT_COUNT,
	SCRIPT_KEPT_PENDING = SCRIPT_KEPT_COUNT /* the host's: it answers later */
};

/* "not_enough"; any thread. */
const char *script_kept_name(enum script_kept kept);

enum script_quest_phase {
	SCRIPT_QUEST_NEW,     /* not begun, or done before, and may be */
	SCRIPT_QUEST_LOCKED,  /* not begun: the level, or a quest before it, is missing */
	SCRIPT_QUEST_OPEN,    /* .step, .count */
	SCRIPT_QUEST_DONE,    /* .wait_s */
	SCRIPT_QUEST_UNKNOWN, /* its state cannot be read; or the player's details are not here */
};

struct script_quest {
	enum script_quest_phase phase;
	uint32_t step; /* its number */
	uint32_t count;
	uint32_t wait_s; /* until it may be begun again; 0: never */
};

struct script_question {
	const char *text;
	uint32_t text_bytes;
	uint32_t choices;
	struct {
		const char *text; /* NUL-terminated */
		uint32_t bytes;
	} choice[SCRIPT_CHOICES_MAX];
};

/* What the map provides to its scripts. All but place are called on the shard's thread, inside
 * script_vm_click, _resume or _tick; they must not call back into the VM. Actors are the host's
 * handles (common/handle.h): a script may keep one for long, so the host checks it at each call. */
struct script_ops {
	/* Fills *out; false: no such actor any more (the script sees an error that says so). */
	bool (*actor)(void *ctx, uint64_t actor, struct script_actor *out);
	/* Dialogue to one player; text is UTF-8, not NUL-terminated, 1..SCRIPT_SAY_BYTES bytes.
	 * false: the player is gone or cannot take it; the script goes on. */
	bool (*say)(void *ctx, uint64_t npc, uint64_t player, const char *text, uint32_t bytes);
	/* Walking intent for this tick, as Input of proto/client.proto: axes -127..127, length at
	 * most 127; a handler may call it more than once, the last counts. */
	void (*move)(void *ctx, uint64_t npc, int8_t dx, int8_t dy);
	/* 64 bits from the map's seeded generator. */
	uint64_t (*random)(void *ctx);
	/* The map's tick number. */
	uint32_t (*tick)(void *ctx);
	/* Where the map's designer put an NPC of that tag; false: nowhere. Inside script_vm_load.
	 */
	bool (*place)(void *ctx, const char *tag, int32_t *x_mm, int32_t *y_mm);
	/* Sends a player to the map of that name (1..SCRIPT_NAME_BYTES - 1 bytes), to a place on it
	 * if has_position. false: the player is gone, or leaves already. */
	bool (*send)(void *ctx, uint64_t player, const char *map, bool has_position, int32_t x_mm,
		int32_t y_mm);
	/* The number of an item, 0: there is none of that name. */
	uint32_t (*item)(void *ctx, const char *name);
	/* How many of an item are in the player's bag; 0 where that is not known. */
	uint32_t (*count_item)(void *ctx, uint64_t player, uint32_t item);
	/* The number by which changes name a quest; UINT32_MAX: there is none of that name. */
	uint32_t (*quest)(void *ctx, const char *name);
	void (*quest_look)(void *ctx, uint64_t player, uint32_t quest, struct script_quest *out);
	/* Keeps count changes of the player, asked for by that NPC: all or none. PENDING: the
	 * answer comes by script_vm_resume of job, unless that is 0: then nobody waits for it. */
	enum script_kept (*keep)(void *ctx, uint64_t npc, uint64_t player,
		const struct script_change *changes, uint32_t count, uint32_t job);
	/* Asks the player; the answer comes by script_vm_resume of job. false: the player is gone
	 * or cannot take it. */
	bool (*ask)(void *ctx, uint64_t npc, uint64_t player,
		const struct script_question *question, uint32_t job);
	/* The names of the members of the player's party, valid during the call. Returns how many. */
	uint32_t (*party)(void *ctx, uint64_t player, const char *names[SCRIPT_PARTY_MAX]);
	/* Dialogue to those who see the actor. Returns to how many. */
	uint32_t (*shout)(void *ctx, uint64_t actor, const char *text, uint32_t bytes);
	/* A line to everybody on the map. false: not now. */
	bool (*announce)(void *ctx, const char *text, uint32_t bytes);
	/* Living players within so many mm of an actor, itself not. Returns how many. */
	uint32_t (*near)(void *ctx, uint64_t actor, uint32_t mm, uint64_t players[SCRIPT_NEAR_MAX]);
	uint32_t (*players)(void *ctx); /* on the map */
	/* The job goes on by script_vm_resume after so many seconds. false: it cannot wait. */
	bool (*wait)(void *ctx, uint64_t player, uint32_t seconds, uint32_t job);
	void (*item_look)(void *ctx, uint32_t item, struct script_item *out);
	void (*quest_row)(void *ctx, uint32_t quest, struct script_quest_row *out);
	/* The number of a kind of monster, of a card: UINT32_MAX, there is none of that name. */
	uint32_t (*kind)(void *ctx, const char *name);
	uint32_t (*card)(void *ctx, const char *name);
	/* false: one of them is gone or dead, or it cannot be. player may be HANDLE_NONE. */
	bool (*deed)(void *ctx, enum script_deed deed, uint64_t monster, uint64_t player,
		uint32_t what, int64_t amount);
	/* Queues the changes of that player; the same key is queued once. */
	enum script_intent (*intend)(void *ctx, const char *key, uint64_t player,
		const struct script_change *changes, uint32_t count);
	/* Of a room's rule. */
	uint64_t (*match_ms)(void *ctx);
	bool (*move_match)(void *ctx, enum script_move move, uint64_t player, uint32_t what,
		int64_t amount);
	uint32_t (*match_players)(void *ctx, uint64_t players[SCRIPT_NEAR_MAX]);
	bool (*offer)(void *ctx, uint64_t player, const uint32_t cards[SCRIPT_OFFER_MAX],
		uint32_t count, uint32_t seconds);
};

/* script_watchdog: the one thread that stops overdue handlers, for all VMs of the process. Every
 * period it looks at each VM; a handler that it has seen running for its slice (CPU time of the
 * VM's thread, so a shard that lost its CPU is not blamed) draws SCRIPT_SIGNAL: it is suspended, or,
 * when it has used up its limit or stands inside a callback of the library, ended. That is never
 * done early, and at most about two periods late. What it sees running it also adds up: a map's
 * scripts that took their share of a tick are told to wait (script_vm_spent), and each handler's
 * sum is its profile. */
struct script_watchdog;

#define SCRIPT_WATCHDOG_PERIOD_US 1000u

/* Installs the process's handler for SCRIPT_SIGNAL (SIGURG: ignored by default, and SA_RESTART).
 * Returns 0 and *watchdog, or -errno. At most one watchdog lives in a process (-EBUSY). */
int script_watchdog_start(struct script_watchdog **watchdog, uint32_t period_us);

/* After every VM that used it was freed. */
void script_watchdog_stop(struct script_watchdog *watchdog);

struct script_config {
	char map[SCRIPT_NAME_BYTES];
	uint32_t index;        /* of the map: the counters' thread label */
	uint32_t version;      /* of the script, for what it says and how it fails */
	bool side;             /* one of two VMs of a map: SCRIPT_JOB_SIDE is in its jobs' numbers */
	uint32_t vms_before;   /* that the map has had: its jobs have other numbers than theirs */
	uint32_t memory_bytes; /* Lua's arena; 1 MiB at least, 16 MiB is usual. The VM's own
				* tables add about 340 KiB. */
	uint32_t limit_us[SCRIPT_CONTEXT_COUNT]; /* running time of one call, all its slices */
	uint32_t slice_us; /* SCRIPT_SLICE_US; not for LOAD, which is one slice */
	/* Strikes at which a handler is barred; 0: never. Each end by a limit is eight, each by an
	 * error two, each good one takes one away. */
	uint32_t strikes_max;
	/* Permission sets: bit c of allowed[x] says that context x may use call c (enum
	 * script_call of api.h). */
	uint64_t allowed[SCRIPT_CONTEXT_COUNT];
	uint32_t tick_hz;     /* of the map; 20 where nobody says */
	uint32_t gc_step_kib; /* collector work of one script_vm_gc, twice that while the arena is
			       * half full, four times from three quarters on; a step took at
			       * most 1.2 ms of CPU time with 6 MiB of live objects, measured */
	struct script_watchdog *watchdog;
	/* The caller's, for VMs that come and go: memory_bytes at a 64-byte boundary, touched, and
	 * counters[SCRIPT_COUNTER_COUNT], which are added to. NULL: the VM brings its own. */
	void *region;
	_Atomic uint64_t *counters;
};

/* The limits, permission sets and 16 MiB; the caller sets map, index and watchdog. */
void script_config_defaults(struct script_config *config);

struct script_vm;

/* Reserves and touches all memory, opens the sandbox. ops and ctx are kept (ops is not copied).
 * The calling thread owns the VM until script_vm_own. Returns 0 and *vm, or -EINVAL (a limit out of
 * range), -ENOMEM. */
int script_vm_new(struct script_vm **vm, const struct script_config *config,
	const struct script_ops *ops, void *ctx);
void script_vm_free(struct script_vm *vm);
/* Bytes of a VM beside its arena. */
size_t script_vm_bytes(void);

/* Runs one content file; each has global variables of its own, all share the VM's NPC list. path is
 * for messages only. Text chunks only. Returns SCRIPT_OK, or what went wrong, with one line and a
 * traceback in error ("meadow.lua:3: npc: x is missing"); NPCs of a file that failed are not
 * declared. */
enum script_result script_vm_load(struct script_vm *vm, const char *path, const char *text,
	size_t bytes, char *error, size_t error_bytes);

/* Whether content finds a global variable of that name, or in one that is a table a member. For
 * tools. */
bool script_vm_has(const struct script_vm *vm, const char *name, const char *member);

struct script_npc {
	char name[SCRIPT_NAME_BYTES];
	int32_t x_mm, y_mm;
	uint32_t appearance; /* 0xRRGGBB */
	bool has_click, has_tick;
};

/* The declared NPCs, in order of declaration; valid until the next load. */
uint32_t script_vm_npc_count(const struct script_vm *vm);
const struct script_npc *script_vm_npc(const struct script_vm *vm, uint32_t npc_index);

/* How a handler did; any thread, while the VM lives. ran_us is a sum of samples of a millisecond. */
struct script_handler_view {
	uint64_t calls, failed, ran_us;
	bool barred;
};
typedef void script_handler_fn(void *ctx, const char *of, const char *handler,
	enum script_context context, const struct script_handler_view *view);
/* For each that was called; of: the NPC's or declaration's name. */
void script_vm_each_handler(const struct script_vm *vm, script_handler_fn *fn, void *ctx);

/* The owner. Handlers that were barred, of what has that name ("": of all), may run again. Returns how
 * many. */
uint32_t script_vm_release(struct script_vm *vm, const char *name);
void script_vm_handler(const struct script_vm *vm, uint32_t npc_index, enum script_context context,
	struct script_handler_view *out);

/* The thread that will run the map says so, once, before its first call: its ids are kept for the
 * watchdog. A thread that takes VMs over while it runs asks for its ids once (that is a system
 * call) and uses script_vm_own_as, which is none. */
struct script_owner {
	clockid_t clock;
	pid_t thread_id;
};
void script_owner_here(struct script_owner *owner);
void script_vm_own_as(struct script_vm *vm, const struct script_owner *owner);
void script_vm_own(struct script_vm *vm);

/* Names the actor that the map spawned for an NPC; HANDLE_NONE: it is not on the map, and its
 * handlers return SCRIPT_NO_HANDLER. */
void script_vm_bind(struct script_vm *vm, uint32_t npc_index, uint64_t actor);

/* Runs on_click(npc, player). The host has checked distance and rate. WAITING: ops.keep or ops.ask
 * was called with the handler's job, which is resumed or cancelled later. A handler that ended with
 * changes and without commit() had them kept by ops.keep with job 0. */
enum script_result script_vm_click(struct script_vm *vm, uint32_t npc_index, uint64_t player);

struct script_answer {
	uint32_t choice;       /* of ops.ask: from 1; 0: none */
	enum script_kept kept; /* of ops.keep */
};

/* The running job, inside of ops.ask and the like; after SCRIPT_SUSPENDED the one that was. By this
 * number script_vm_cancel ends it where it stands. */
uint32_t script_vm_job(const struct script_vm *vm);

/* Goes on with a handler that waits, under the time limit of a new call. NO_HANDLER: no such job
 * waits (any more). */
enum script_result script_vm_resume(
	struct script_vm *vm, uint32_t job, const struct script_answer *answer);

/* Ends it where it waits or is suspended. A job that does neither is fine. */
void script_vm_cancel(struct script_vm *vm, uint32_t job);

/* A handler that was suspended, and is given its next slice. */
struct script_gone_on {
	enum script_context context;
	uint32_t npc_index, job;
	uint64_t player; /* of a click */
};

/* Goes on with the handler, other than an on_tick, that was suspended longest ago. false: none is; else
 * *result as of _click, and *out. */
bool script_vm_go_on(
	struct script_vm *vm, struct script_gone_on *out, enum script_result *result);

/* Ends every on_tick that is suspended. */
void script_vm_cancel_ticks(struct script_vm *vm);

/* Handlers that wait or are suspended. */
uint32_t script_vm_under_way(const struct script_vm *vm);

/* Slices that handlers ran, and what of them was a failure: ended by an error or a limit, or an on_tick
 * that did not end within its slice. */
struct script_turns {
	uint64_t ran, failed;
};
void script_vm_turns(const struct script_vm *vm, struct script_turns *out);

uint32_t script_vm_version(const struct script_vm *vm);

/* A tick of the map begins, in which its handlers may run for so long all together. */
void script_vm_budget(struct script_vm *vm, uint32_t budget_us);

/* The watchdog saw the handlers run for that long since: the rest should wait for the next tick.
 * Depends on the CPU, as SUSPENDED and OVER_TIME do: the host tells a recording. */
bool script_vm_spent(const struct script_vm *vm);

/* Runs on_tick(npc), or goes on with the one before, if that is suspended. */
enum script_result script_vm_tick(struct script_vm *vm, uint32_t npc_index);

/* Something happened on the map that a declaration has a handler for. */
struct script_event {
	uint32_t handler;     /* enum script_handler of calls.h */
	uint32_t declaration; /* of script_vm_find */
	uint64_t monster, player;
	int64_t number;
	char name[SCRIPT_NAME_BYTES]; /* of a player who is gone */
};

/* The declaration that has that handler for what is named, a kind of monster or a quest, "" where a
 * map has one. UINT32_MAX: none has. */
uint32_t script_vm_find(const struct script_vm *vm, uint32_t handler, const char *name);

/* Runs its handler. Otherwise as script_vm_click. */
enum script_result script_vm_event(struct script_vm *vm, const struct script_event *event);

/* Runs the on_time of the timer that is due longest. NO_HANDLER: none is due. */
enum script_result script_vm_timer(struct script_vm *vm);
uint32_t script_vm_timers(const struct script_vm *vm); /* that run */

/* What the NPCs of to keep in npc.storage, and the timers that run, are as from has them, by name:
 * to takes from's place. Its upgrade functions are for what an older version kept; of a newer one's,
 * where a script goes back, fields of the same name and type are taken over. The thread that owns both. Returns SCRIPT_OK, or
 * what an upgrade function came to, with one line in error; then to is of no use. */
enum script_result script_vm_hand_over(const struct script_vm *from, struct script_vm *to,
	char *error, size_t error_bytes);

/* Once a tick, after the handlers: a bounded step of the collector (gc_step_kib). */
void script_vm_gc(struct script_vm *vm);

/* Errors with their tracebacks, and log(...) lines, for the log thread. When SCRIPT_TEXTS wait
 * (half of that for log lines), new ones are dropped and counted. */
enum script_text_kind { SCRIPT_TEXT_LOG, SCRIPT_TEXT_ERROR };

struct script_text {
	enum script_text_kind kind;
	enum script_result result; /* of an ERROR */
	enum script_context context;
	uint32_t npc_index; /* UINT32_MAX outside a handler */
	uint64_t player;    /* of a click */
	uint32_t tick;
	uint32_t version; /* of the script: script_config.version */
	const char *handler; /* "on_click"; NULL: none */
	char npc_name[SCRIPT_NAME_BYTES], player_name[SCRIPT_NAME_BYTES]; /* "": none */
	uint32_t bytes;
	char text[SCRIPT_TEXT_BYTES]; /* NUL-terminated */
};

/* One line that names it: "over_time in on_click (npc_click) of Tom for Ann, script version 3". What it
 * says follows in text. */
void script_text_title(const struct script_text *text, char *line, size_t line_bytes);

/* One reader thread. Takes the oldest; false: there is none. */
bool script_vm_text_pop(struct script_vm *vm, struct script_text *text);

/* Counters (X: NAME, metric, kind, help); the results above follow as calls_<metric>, the contexts as
 * ran_us_<context>: what the watchdog saw running. */
// clang-format off
#define SCRIPT_COUNTERS(X)                                                                         \
	X(CLICKS,       "clicks",       COUNTER_SUM,   "on_click handlers called")                 \
	X(TICKS,        "ticks",        COUNTER_SUM,   "on_tick handlers called")                  \
	X(SAYS,         "says",         COUNTER_SUM,   "dialogue lines sent to players")           \
	X(SENDS,        "sends",        COUNTER_SUM,   "players sent to another map")              \
	X(MOVES,        "moves",        COUNTER_SUM,   "walking intents set")                      \
	X(EVENTS,       "events",       COUNTER_SUM,   "handlers of other declarations called")    \
	X(SHOUTS,       "shouts",       COUNTER_SUM,   "dialogue lines sent to all who see the actor") \
	X(INTENTS,      "intents",      COUNTER_SUM,   "changes queued by queue_intent")           \
	X(INTENTS_REFUSED, "intents_refused", COUNTER_SUM, "... and those it refused: repeated, or too many") \
	X(TIMERS,       "timers",       COUNTER_GAUGE, "timers that run")                          \
	X(ASKS,         "asks",         COUNTER_SUM,   "questions put to players")                 \
	X(KEEPS,        "keeps",        COUNTER_SUM,   "handlers whose durable calls were asked to be kept") \
	X(KEEPS_REFUSED, "keeps_refused", COUNTER_SUM, "... of which nothing was changed")         \
	X(WAITING,      "waiting",      COUNTER_GAUGE, "handlers that wait for an answer or a commit") \
	X(TEXTS_LOST,   "texts_lost",   COUNTER_SUM,   "log lines and errors dropped: the log thread was behind") \
	X(SIGNALS,      "signals",      COUNTER_SUM,   "times the watchdog interrupted an overdue handler") \
	X(EMERGENCIES,  "emergencies",  COUNTER_SUM,   "full collections forced by a refused allocation: a tick was long") \
	X(MEMORY_BYTES, "memory_bytes", COUNTER_GAUGE, "arena bytes in use")                       \
	X(MEMORY_PEAK_BYTES, "memory_peak_bytes", COUNTER_GAUGE, "most arena bytes ever in use")   \
	X(BARRED,       "barred",       COUNTER_GAUGE, "handlers that are not called any more, until an operator releases them") \
	X(NPCS,         "npcs",         COUNTER_GAUGE, "NPCs declared")
// clang-format on

enum script_counter {
#define X(name, metric, kind, help) SCRIPT_COUNT_##name,
	SCRIPT_COUNTERS(X)
#undef X
#define X(name, metric, meaning) SCRIPT_COUNT_CALLS_##name,
		SCRIPT_RESULTS(X)
#undef X
#define X(name, text, limit_us, meaning) SCRIPT_COUNT_RAN_US_##name,
			SCRIPT_CONTEXTS(X)
#undef X
				SCRIPT_COUNTER_COUNT
};

/* Group "script"; lives as long as the VM. */
const struct counter_set *script_vm_counters(const struct script_vm *vm);
/* The same over config.counters: lives as long as those. */
struct counter_set script_counter_set(uint32_t index, _Atomic uint64_t *values);

#endif
