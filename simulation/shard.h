/* shard: one simulation shard. It owns the map instances that control has handed to it and
 * everything on them, and runs their ticks in slices.
 *
 * Thread: sim_shard_new and sim_shard_free are the set-up thread's; sim_shard_step and
 * sim_shard_next_ns the shard's lcore's; the accessors any thread's, as said beside them.
 * After sim_shard_new nothing here allocates, locks, makes a system call or formats a log line
 * (shard_alloc_test wraps malloc; Lua lives on an arena, see simulation/script/script.h).
 *
 * Time is an argument. A slice must be short, yet no clock is read: work is counted in nominal
 * nanoseconds, one constant per kind of work (costs.h; measured by perf/sim_bench), and a slice
 * ends when simulation.slice_us of them are spent. So the state is a function of the seed, the
 * messages and the times given (and of which pushes found their ring full): the same log of steps
 * gives the same sim_shard_hash, and simulation/record.h writes such a log. The cycle
 * counter is read for metrics only. (A Lua handler that runs into its time limit is the one
 * exception.)
 *
 * Ticks. A map's ticks lie on a grid of 1/tick_hz. A tick that starts less than one period late
 * runs at once, and the next keeps its place on the grid, so that much is caught up. A tick that
 * starts a whole period late or more leaves out the grid points it missed: their numbers are
 * skipped, their time is credited to the players' input budgets, and nothing is run twice. So an
 * overloaded map ticks slower and never spirals; other maps of the shard get a slice in turn. */
#ifndef SW_SIMULATION_SHARD_H
#define SW_SIMULATION_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/instance.h"
#include "common/msg_ring.h"

struct script_watchdog;
struct sim_instances;
struct sim_record;

/* The shard's rings; it is the one consumer of from_* and the one producer of to_* and log. Owned
 * by the caller, and freed after the shard. */
struct sim_links {
	uint32_t workers; /* dataplane workers, 1..CONFIG_LCORES_MAX */
	struct msg_ring *from_dataplane[CONFIG_LCORES_MAX], *to_dataplane[CONFIG_LCORES_MAX];
	struct msg_ring *from_control, *to_control, *from_world, *to_world;
	struct msg_ring *log; /* may be NULL: events are dropped and counted */
	struct script_watchdog
		*watchdog; /* may be NULL: the shard's maps may then have no script */
	/* The node's instances; the shard begins without any and gets them by MSG_INSTANCE_OPEN.
	 * NULL, for tests and benchmarks: it makes a table of its own and runs one instance of each
	 * map that is for it, from the start. */
	struct sim_instances *instances;
	struct sim_record *record; /* NULL: nothing is recorded (simulation/record.h) */
	/* A random number of this start and shard: commits and unique items are named by it, so it
	 * may never come again. 0, for tests: made from the seed. */
	uint64_t commit_start;
};

struct sim_shard;

/* Builds shard `index`, reserves and touches all its memory (the sum stands in shard.c). config is
 * borrowed; links are copied, the rings kept. now_ns is mono_ns. Returns NULL with one line in
 * error: no memory, or, with a table of its own, a script or map that cannot be run. */
struct sim_shard *sim_shard_new(const struct sw_config *config, uint32_t index,
	const struct sim_links *links, uint64_t seed, uint64_t now_ns, char *error,
	size_t error_bytes);
void sim_shard_free(struct sim_shard *shard);

/* The shard's thread. Drains the rings (a slice's worth of messages at most), retries what is owed,
 * then runs at most one slice of one due tick. now_ns never goes back. Returns whether there was
 * work; when not, there is none before sim_shard_next_ns unless a message comes. */
bool sim_shard_step(struct sim_shard *shard, uint64_t now_ns);

/* The shard's thread. When the next slice is due, for idling; in the past if it is overdue. */
uint64_t sim_shard_next_ns(const struct sim_shard *shard);

/* Any thread, until sim_shard_free. */
const struct counter_set *sim_shard_counters(const struct sim_shard *shard);

#define SIM_HISTOGRAMS 10u

/* The stages of a tick, in order, NULL at the end. */
extern const char *const sim_stage_names[];

/* Tick time and time per stage, in nanoseconds of the shard's own work, ring drains left out, and
 * how long inputs took from the receive burst to their player's slot. Fills
 * out[] up to max; returns how many there are. Any thread. */
uint32_t sim_shard_histograms(
	const struct sim_shard *shard, struct histogram_ref *out, uint32_t max);

/* How long the last tick of any map took, and when (now_ns of its last slice) it ended. Any thread;
 * for the heartbeat and /health. */
uint64_t sim_shard_last_tick_ns(const struct sim_shard *shard);
uint64_t sim_shard_last_tick_end_ns(const struct sim_shard *shard);

/* The same value as a place to read from any thread, until sim_shard_free. */
const _Atomic uint64_t *sim_shard_last_tick_end(const struct sim_shard *shard);

/* How busy it is, for placement. Any thread, until sim_shard_free. */
const struct shard_gauges *sim_shard_gauges(const struct sim_shard *shard);

/* Bytes reserved, for the log line at start. Any thread. */
size_t sim_shard_bytes(const struct sim_shard *shard);

/* The shard's thread. A hash over the state that decides what happens: actors, inputs, views,
 * seeds, ticks. Equal logs give equal hashes; for tests and replays, slow. */
uint64_t sim_shard_hash(const struct sim_shard *shard);

#endif
