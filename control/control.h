/* control: the control thread. One libuv loop that owns admission, presence, the node's heartbeat
 * and the Redis connection behind them; it meets dataplane, shards and world through rings alone.
 *
 * Rings are drained on a timer: every millisecond while there is traffic, slower when there is none
 * (CTL_IDLE_MS). What finds its ring full waits in a bounded queue per ring (outbox.h), and while
 * much waits, nothing new is taken from the dataplane: nothing is lost in silence.
 *
 * Redis away: nobody new is let in (TRY_LATER), players play on, presence and heartbeat expire and
 * come back with Redis. */
#ifndef SW_CONTROL_CONTROL_H
#define SW_CONTROL_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/instance.h"
#include "common/msg_ring.h"

#define CTL_BUSY_MS 1u
#define CTL_IDLE_MS 8u

struct ops;
struct ctl;

struct ctl_script_versions {
	uint32_t now, before, next; /* 0: none; now 0: the map has no script */
	uint64_t hash;
};

enum ctl_script_text { CTL_SCRIPT_LIST, CTL_SCRIPT_ERRORS, CTL_SCRIPT_PROFILE };

struct ctl_script_ops {
	int (*prepare)(void *ctx, const bool *wanted, char *error, size_t error_bytes);
	void (*commit)(void *ctx, const bool *wanted);
	void (*discard)(void *ctx, const bool *wanted);
	int (*revert)(void *ctx, const bool *wanted, char *error, size_t error_bytes);
	void (*versions)(void *ctx, uint32_t definition, struct ctl_script_versions *out);
	void (*text)(void *ctx, enum ctl_script_text what, uint32_t definition, char *text,
		size_t bytes);
};

/* Who is at the other ends. Each ring has the control thread as its one consumer (from_) or
 * producer (to_). They belong to the caller and outlive ctl_join. */
struct ctl_links {
	uint32_t workers;
	struct msg_ring *from_dataplane[CONFIG_LCORES_MAX], *to_dataplane[CONFIG_LCORES_MAX];
	uint32_t shards;
	struct msg_ring *from_shard[CONFIG_LCORES_MAX], *to_shard[CONFIG_LCORES_MAX];
	struct msg_ring *to_world, *from_world;
	struct msg_ring *to_chat, *from_chat; /* NULL: there is no chat */
	/* mono_ns of each shard's last tick, written by the shard, for heartbeat and health; NULL
	 * where it is not known. */
	const _Atomic uint64_t *shard_last_tick_ns[CONFIG_LCORES_MAX];
	/* How busy each shard is; NULL: taken for idle. */
	const struct shard_gauges *shard_gauges[CONFIG_LCORES_MAX];
	/* Of the instances in the table that main shares with the shards, by slot; may be NULL. */
	const struct instance_gauges *instance_gauges;
	const struct histogram *instance_tick_times; /* likewise */
	/* The stages of a tick by number from 0, NULL at the end; may be NULL. */
	const char *const *stage_names;
	/* Prepares the instance of an id in its slot; on a thread of libuv's pool, one at a time.
	 * Returns 0, or -errno with one line in error. */
	int (*build)(void *ctx, uint32_t id, char *error, size_t error_bytes);
	void *build_ctx;
	/* The maps' scripts, as simulation/instance.h has them: prepare and revert on a thread of
	 * libuv's pool, never beside one another, the rest on any. wanted: CONFIG_MAPS_MAX. text
	 * answers an operator's question (enum ctl_script_text). NULL: there are none. */
	const struct ctl_script_ops *scripts;
	void *script_ctx;
	/* Ends what is being recorded; returns how many shards that were. NULL: nothing is. */
	uint32_t (*record_stop)(void *ctx);
	void *record_ctx;
	/* Orders of operators (orders.h) and their answers; NULL: none come. order_answered is
	 * called after each answer, with the subject of its message. */
	struct msg_ring *from_ops, *to_ops;
	void (*order_answered)(void *ctx, uint64_t subject);
	void *order_ctx;
};

/* X(id, name): in the heartbeat and in /status */
#define CTL_STATES(X)                                                                              \
	X(STARTING, "starting")                                                                    \
	X(READY, "ready")                                                                          \
	X(STOPPING_SHARDS, "stopping: the shards save and say goodbye")                            \
	X(STOPPING_WORLD, "stopping: the last saves are being committed")                          \
	X(STOPPED, "stopped")

#define CTL_STATE_ENUM(id, name) CTL_##id,
enum ctl_state { CTL_STATES(CTL_STATE_ENUM) CTL_STATE_COUNT };

/* Set-up thread; waits. Starts the thread and returns when Redis has answered. NULL, and nothing is
 * left running, when Redis does not answer within redis.connect_timeout (errors says what to
 * check), or when memory or a thread is short. config and the rings outlive the ctl. */
struct ctl *ctl_start(const struct sw_config *config, const struct ctl_links *links, FILE *errors);

/* Any thread, and from a signal handler; more than once does no harm. Lets nobody in any more
 * (SERVER_STOPPING), sends MSG_SHARD_STOP, waits for every MSG_SHARD_STOPPED (half of
 * node.stop_deadline at most: they need a tick or two), sends MSG_WORLD_FLUSH, waits for
 * MSG_WORLD_FLUSHED (which the world sends within node.stop_deadline), and ends; what did not come
 * in time is said in the log. Dataplane, shards and world must run on until then. */
void ctl_request_stop(struct ctl *ctl);

/* Any thread. Waits up to timeout_ms (0: just looks) for the thread to be done. */
bool ctl_wait(struct ctl *ctl, uint32_t timeout_ms);

/* Set-up thread, after ctl_request_stop; waits for the end. Returns how many characters were not
 * saved, as the world counts them; UINT32_MAX when the world or a shard did not answer in time. The
 * counters can be read until ctl_free. */
uint32_t ctl_join(struct ctl *ctl);
void ctl_free(struct ctl *ctl);

/* Any thread. */
enum ctl_state ctl_state(const struct ctl *ctl);
const char *ctl_state_name(enum ctl_state state);

/* Set-up thread, before ops_start: the counters of admission, redis, parties and control, the
 * health of redis, admission, parties and of each shard whose last tick is known, and readiness.
 * Then ops must be stopped before ctl_free. */
void ctl_register(struct ctl *ctl, struct ops *ops);

#endif
