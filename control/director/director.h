/* director: the directory of map instances (common/instance.h) and who starts them. It orders
 * builds, puts what was built on a shard, keeps some warm, and says which instance a player goes
 * to. It knows instances by id, state, shard and the players that admission has sent there; it
 * touches none.
 *
 *   empty -> building -> warm -> open -> (locked, closing) -> ended -> building ...
 *
 * One build at a time, what somebody waits for first. MSG_INSTANCE_OPEN is in the shard's ring
 * before any join to it, so an instance is open as soon as it is handed over.
 *
 * A room ends with its match. An instance of a map ends when it is closed: by an operator, or by
 * itself when it is one too many. That is: more than maps[].instances are open (or than one, where
 * that is 0); nobody is there or on the way there, and has not been for maps[].close_after; and the
 * others have room for a quarter of its players_max. One is opened only when all are full, so
 * between that and this nothing opens and closes in turn. Of several the one on the hottest shard
 * goes first, one of a map at a time, never one that an operator just asked for, nor the last.
 * Instances that are kept ready are not touched.
 *
 * Pure: time is an argument, everything it does goes through director_ops. Thread: the control
 * thread, but for director_status. Allocates in director_new alone. */
#ifndef SW_CONTROL_DIRECTOR_DIRECTOR_H
#define SW_CONTROL_DIRECTOR_DIRECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/instance.h"
#include "common/msg.h"
#include "control/director/placement.h"

/* A definition whose build failed, or an instance that refused, is tried again after that. */
#define DIRECTOR_RETRY_MS 1000u

#define DIRECTOR_NO_DEFINITION UINT32_MAX

/* X(id, name, kind, help) */
// clang-format off
#define DIRECTOR_COUNTERS(X)                                                                       \
	X(BUILDS, "builds", COUNTER_SUM, "instances prepared")                                     \
	X(BUILDS_FAILED, "builds_failed", COUNTER_SUM, "instances that could not be prepared; the log says why") \
	X(OPENED_WARM, "opened_warm", COUNTER_SUM, "instances handed to a shard that were ready when they were needed") \
	X(OPENED_COLD, "opened_cold", COUNTER_SUM, "instances handed to a shard that somebody had to wait for, or the start had") \
	X(CLOSINGS, "closings", COUNTER_SUM, "instances that closed their doors for good")         \
	X(CLOSED_EMPTY, "closed_empty", COUNTER_SUM, "... of them instances of a map that were one too many, and empty") \
	X(CLOSED_ORDERED, "closed_ordered", COUNTER_SUM, "... of them by an operator's order")     \
	X(OPENED_ORDERED, "opened_ordered", COUNTER_SUM, "instances opened by an operator's order") \
	X(ENDED, "ended", COUNTER_SUM, "instances handed back by their shard")                     \
	X(STALE, "stale_messages", COUNTER_SUM, "words about instances that have ended: normal")   \
	X(CHOSE_LEFT, "chose_left", COUNTER_SUM, "players sent back to the instance they had left") \
	X(CHOSE_OPEN, "chose_open", COUNTER_SUM, "players sent to an open instance")               \
	X(CHOSE_WARM, "chose_warm", COUNTER_SUM, "players for whom a warm instance was opened")    \
	X(CHOSE_WAIT, "chose_wait", COUNTER_SUM, "times somebody was told to wait for an instance") \
	X(CHOSE_NONE, "chose_none", COUNTER_SUM, "times no instance could take somebody: all full, closing or not to be had") \
	X(RUNNING, "running", COUNTER_GAUGE, "instances on shards")                                \
	X(WARM, "warm", COUNTER_GAUGE, "instances that are ready, on no shard")
// clang-format on

#define DIRECTOR_COUNTER_ENUM(id, name, kind, help) DIRECTOR_C_##id,
enum director_counter { DIRECTOR_COUNTERS(DIRECTOR_COUNTER_ENUM) DIRECTOR_COUNTER_COUNT };

struct director_ops {
	void *ctx;
	/* Has the instance built, elsewhere; director_built follows, never inside the call. */
	void (*build)(void *ctx, uint32_t id);
	/* As adm_ops.to_shard, and the same ring. */
	void (*to_shard)(void *ctx, uint32_t shard, const struct msg *message);
	/* Fills load_permille and players. */
	void (*load)(void *ctx, uint32_t shard, struct placement_load *load);
	/* What director_open left open: the instance runs; INSTANCE_NONE: it cannot be had. In the
	 * order in which they were asked for, for one definition. May be NULL where nobody calls
	 * director_open. */
	void (*asked)(void *ctx, uint32_t definition, uint32_t id);
};

struct director;

/* config: borrowed, for the life of the director. NULL: no memory. */
struct director *director_new(
	const struct sw_config *config, uint32_t shards, const struct director_ops *ops);
void director_free(struct director *director);

/* Orders what runs from the start, then what is kept warm. Once. */
void director_start(struct director *director, uint64_t now_ns);
/* Orders and opens nothing more. */
void director_stop(struct director *director);

/* The answer to ops.build. */
void director_built(struct director *director, uint32_t id, bool good, uint64_t now_ns);
/* MSG_INSTANCE_STATE. */
void director_from_shard(
	struct director *director, uint32_t shard, const struct msg *message, uint64_t now_ns);
/* Orders what failed before; call it every few milliseconds. */
void director_tick(struct director *director, uint64_t now_ns);

/* The definition of that name, if this node can serve it; else DIRECTOR_NO_DEFINITION. */
uint32_t director_definition(const struct director *director, const char *name);

enum director_choice {
	DIRECTOR_CHOSE, /* *id is the instance */
	DIRECTOR_WAIT,  /* one is being prepared: ask again when director_changes has changed */
	DIRECTOR_NONE   /* none has room, and no more may run */
};

/* Whom a player of this definition is sent to. In this order:
 *   1. `left`, the instance that it was in before (INSTANCE_NONE: none), if that has room; its
 * doors may be locked;
 *   2. of the open ones with room the fullest, so that players meet; of equals the lowest slot;
 *   3. a warm one, which is opened;
 *   4. one that is prepared now, for which the player waits.
 * avoid: an instance that has just refused (INSTANCE_NONE: none). */
enum director_choice director_choose(struct director *director, uint32_t definition, uint32_t left,
	uint32_t avoid, uint64_t now_ns, uint32_t *id);
/* Rises whenever somebody who waits, or found no room, might find some now. */
uint64_t director_changes(const struct director *director);

/* Whether a player that was in the instance could come back to it now. */
bool director_takes_back(const struct director *director, uint32_t id, uint64_t now_ns);
/* Whether the instance is on a shard; then its shard. */
bool director_runs(const struct director *director, uint32_t id, uint32_t *shard);
/* A player is sent to the instance; has left it. Ids of instances that have ended do no harm. */
void director_enter(struct director *director, uint32_t id);
void director_leave(struct director *director, uint32_t id);
/* The shard says that nobody is taken there, whatever is known here: nobody is sent there until
 * somebody leaves, or DIRECTOR_RETRY_MS have passed. */
void director_refused(struct director *director, uint32_t id, uint64_t now_ns);

/* ---- what operators order ---- */

/* Why not. X(id, sentence) */
#define DIRECTOR_REFUSALS(X)                                                                       \
	X(NONE, "done")                                                                            \
	X(STOPPING, "the server is stopping")                                                      \
	X(NOT_SERVED, "the shard of that map does not exist on this node")                         \
	X(LIMIT, "as many of that map as may (maps[].instances_max) run or are kept ready")        \
	X(UNKNOWN, "there is no such instance: it has ended, or never was")                        \
	X(NOT_RUNNING, "it does not run: it is being prepared, or kept ready")                     \
	X(CLOSING, "it is closing already")                                                        \
	X(LAST, "it is the only one of its map that takes players: open another one first")        \
	X(NO_ROOM, "the other instances of its map, and those that may still be opened, have no "  \
		   "room "                                                                         \
		   "for its players")
#define DIRECTOR_REFUSAL_ENUM(id, sentence) DIRECTOR_REFUSED_##id,
enum director_refusal { DIRECTOR_REFUSALS(DIRECTOR_REFUSAL_ENUM) DIRECTOR_REFUSAL_COUNT };
const char *director_refusal_text(enum director_refusal refusal);

/* One more instance of a definition. DIRECTOR_REFUSED_NONE: *id runs, or is INSTANCE_NONE, and
 * ops.asked follows once it has been prepared. */
enum director_refusal director_open(
	struct director *director, uint32_t definition, uint64_t now_ns, uint32_t *id);
/* The instance takes nobody more. A room plays to its end; a map sends its players to the others of
 * its kind, some each tick, and ends when the last has gone. */
enum director_refusal director_close(struct director *director, uint32_t id);

struct director_status {
	uint32_t id, definition, shard; /* shard: meaningful while running */
	enum instance_state state;
	bool running;
	uint32_t players; /* sent there, not left yet */
};

/* Any thread while the director lives. slot: 0 .. director_slots - 1. A slot may change between
 * two of its figures. */
uint32_t director_slots(const struct director *director);
void director_status(const struct director *director, uint32_t slot, struct director_status *out);
/* Any thread: group "instances". */
const struct counter_set *director_counters(const struct director *director);

#endif
