/* instance: the table of map instances (common/instance.h), and how one is made.
 *
 * An instance is prepared whole, off the tick threads: its memory reserved, touched and filled, its
 * script loaded, its NPCs and monsters placed. Then its id goes to a shard, which only links it in
 * between two ticks: no allocation, no system call, no page fault there. An instance that has ended
 * goes back the same way, and its slot's memory is used again, so that nothing is unmapped under a
 * running shard and the most that the node may need is known at start (sim_instances_bytes_max).
 *
 * Thread: set-up for new and free; for a slot's other calls whoever the instance belongs to, which
 * the messages decide, and in a state before OPEN that is the one builder. */
#ifndef SW_SIMULATION_INSTANCE_H
#define SW_SIMULATION_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "common/counter.h"
#include "common/instance.h"
#include "simulation/script/script.h"

struct sim_instances;
struct sim_map;

/* Set-up thread. Reads the maps' files and scripts, and reserves the table, not yet the instances.
 * config is borrowed for the life of the table. watchdog may be NULL: no map may then have a
 * script. Returns NULL with one line in error: no memory, a script that cannot be read, a rule that
 * is not known; or with the faults of the maps' files, a line each.
 */
struct sim_instances *sim_instances_new(const struct sw_config *config,
	struct script_watchdog *watchdog, uint64_t seed, char *error, size_t error_bytes);
/* After all shards. */
void sim_instances_free(struct sim_instances *table);

/* Set-up thread, once: builds the first instance of each definition, so that what cannot run is
 * said before anybody plays; the builder's first order for it finds it done. Returns 0, or -errno
 * with one line in error. */
int sim_instances_check(struct sim_instances *table, char *error, size_t error_bytes);

uint32_t sim_instances_count(const struct sim_instances *table);

/* After sim_instances_check: bytes that all slots together may come to. The sum is in instance.c.
 */
size_t sim_instances_bytes_max(const struct sim_instances *table);

/* The builder. Makes the instance of that id in its slot, from nothing or from what the last one
 * left. Returns 0, or -errno with one line in error; the slot is then empty. */
int sim_instance_build(struct sim_instances *table, uint32_t id, char *error, size_t error_bytes);

/* ---- other versions of the scripts; the builder, one call at a time. Definitions are those that
 * wanted says (CONFIG_MAPS_MAX); their running instances have let go of the version before the
 * running one (MSG_SCRIPT_CLEAR). ---- */

/* Reads the files again, and makes a VM of each instance that was built, also of those that are built
 * meanwhile. Nothing of it runs yet. Returns 0, or -errno with lines in error: the first that does
 * not load, or does not fit the map; then nothing is prepared. */
int sim_scripts_prepare(struct sim_instances *table, const bool *wanted, char *error,
	size_t error_bytes);
/* What was prepared is the definitions' from now on: it is built, and taken when an instance opens.
 * Before that, running instances are ordered to take it. */
void sim_scripts_commit(struct sim_instances *table, const bool *wanted);
/* Nobody runs it, or nobody any more. */
void sim_scripts_discard(struct sim_instances *table, const bool *wanted);
/* The version before is the definitions' again: running instances have returned to it. Returns 0, or
 * -ENOENT: there is none; -errno with a line in error. */
int sim_scripts_revert(struct sim_instances *table, const bool *wanted, char *error,
	size_t error_bytes);

struct sim_script_view {
	const char *path; /* NULL: the map has no script */
	uint32_t version, before, next; /* 0: none */
	uint64_t hash;
};
/* Any thread but a shard. */
void sim_scripts_view(
	struct sim_instances *table, uint32_t definition, struct sim_script_view *out);

/* Any thread but a shard. Calls fn for each handler that ran in the slot, of both versions of its
 * script; see script_vm_each_handler. */
typedef void sim_script_handler_fn(void *ctx, uint32_t version, const char *of, const char *handler,
	enum script_context context, const struct script_handler_view *view);
void sim_instance_handlers(struct sim_instances *table, uint32_t slot, sim_script_handler_fn *fn,
	void *ctx);

/* The shard that has got the id. NULL: no such slot, or another generation is in it. */
struct sim_map *sim_instance_take(struct sim_instances *table, uint32_t id);

/* Any thread, for the life of the table. [count] */
const struct instance_gauges *sim_instances_gauges(const struct sim_instances *table);

/* The same: how long the ticks of each slot's running instance took. [count] */
const struct histogram *sim_instances_tick_times(const struct sim_instances *table);

/* Any thread: the script counters of a slot, over all its instances; NULL: its map has no script.
 */
const struct counter_set *sim_instance_script(const struct sim_instances *table, uint32_t slot);

/* One reader, any thread but a shard: the oldest error or log line of the slot's script. Takes a
 * lock that the builder takes, too. */
bool sim_instance_text_pop(struct sim_instances *table, uint32_t slot, struct script_text *text);

#endif
