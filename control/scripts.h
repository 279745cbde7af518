/* scripts: other versions of the maps' scripts, on all their instances and shards in two steps. One
 * change at a time:
 *
 *   reload    clear    every instance lets go of the version before the running one
 *             prepare  off the tick threads: files read, checked, a VM made beside each running one;
 *                      one that fails, and nothing has changed
 *             swap     every instance takes it, at the beginning of a tick; if one cannot, all return
 *             commit   it is the maps' version, also of instances that open from now on
 *             sweep    instances that opened in between take it, too
 *   rollback  back     every instance returns to the version before, which it still has
 *             revert   it is the maps' version again
 *             sweep    instances that never had it take it
 *
 *   release           each instance lets handlers run again that were barred for their failures
 *
 * A shard that returned by itself, since too many handlers failed, has all others follow it: the
 * same as rollback. An instance that ends meanwhile is not waited for; one that says nothing for
 * SCRIPTS_ANSWER_MS counts as one that cannot: where it may still run what is to be let go of, by clear
 * or a swap that was taken back, the change ends there, and the next one begins with it.
 *
 * Thread: the control thread. */
#ifndef SW_CONTROL_SCRIPTS_H
#define SW_CONTROL_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "common/config.h"
#include "common/msg.h"

struct ctl;

#define SCRIPTS_ANSWER_MS 10000u

enum scripts_step {
	SCRIPTS_IDLE,
	SCRIPTS_CLEAR,
	SCRIPTS_PREPARE,
	SCRIPTS_SWAP,
	SCRIPTS_UNDO, /* of a swap that one instance could not do */
	SCRIPTS_COMMIT,
	SCRIPTS_DISCARD,
	SCRIPTS_BACK,
	SCRIPTS_REVERT,
	SCRIPTS_SWEEP,
	SCRIPTS_RELEASE
};

struct scripts {
	enum scripts_step step;
	bool wanted[CONFIG_MAPS_MAX];
	uint32_t returned[CONFIG_MAPS_MAX]; /* the version from which a shard returned by itself, and the
					     * others are to; 0: none */
	uint64_t order;                 /* that is kept; 0: nobody asked */
	uint32_t pending[CONFIG_INSTANCES_MAX]; /* by slot: the id whose answer is awaited; 0: none */
	uint32_t done;                          /* instances that did the step */
	uint32_t count;                         /* that they told */
	char name[172];                         /* of whose handlers are released; "": all */
	enum msg_script_act act; /* whose answers are awaited; others come too late */
	bool good;
	uint64_t deadline_ns;
	uv_work_t work;
	int rc;
	char error[1024]; /* why not */
};

/* Every few milliseconds. */
void scripts_tick(struct ctl *ctl, uint64_t now_ns);
/* MSG_SCRIPT_STATE. */
void scripts_from_shard(struct ctl *ctl, const struct msg *message, uint64_t now_ns);

/* One hash over all scripts that the node runs; 0: none. */
uint64_t scripts_hash(const struct ctl *ctl);

#endif
