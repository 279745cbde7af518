/* instance.h: running copies of maps. A map of the configuration (maps[]) is a definition; what
 * players stand on is an instance of it. The node has one table of instance slots, reserved at
 * start and shared by all threads: definition d has the slots instance_first(d) up to
 * instance_first(d) + instance_max(d). A message names an instance by its id, never by a pointer:
 * slot and generation, so that a late word about one that has ended is recognised.
 *
 * Who may touch an instance follows from its state, and moves with the messages: the builder
 * (control's worker thread) while it is EMPTY, BUILDING or WARM, a shard from MSG_INSTANCE_OPEN to
 * the MSG_INSTANCE_STATE that says ENDED. The control thread alone keeps the states; it never
 * touches an instance. */
#ifndef SW_COMMON_INSTANCE_H
#define SW_COMMON_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"

#define INSTANCE_NONE 0u

/* X(id, name, meaning) */
#define INSTANCE_STATES(X)                                                                         \
	X(EMPTY, "empty", "a free slot")                                                           \
	X(BUILDING, "building", "being prepared, off the tick threads")                            \
	X(WARM, "warm", "ready, on no shard yet")                                                  \
	X(OPEN, "open", "runs on a shard and takes players (full: up to its cap)")                 \
	X(LOCKED, "locked", "runs; takes only players who were in it before")                      \
	X(CLOSING, "closing", "runs, but takes nobody: it is about to end")                        \
	X(ENDED, "ended", "off its shard; to be prepared anew")

#define INSTANCE_STATE_ENUM(id, name, meaning) INSTANCE_##id,
enum instance_state { INSTANCE_STATES(INSTANCE_STATE_ENUM) INSTANCE_STATE_COUNT };

const char *instance_state_name(enum instance_state state);

/* Bits 0..7 the slot, 8..31 the generation, which is never 0. */
static inline uint32_t instance_id(uint32_t slot, uint32_t generation)
{
	return generation << 8 | slot;
}

static inline uint32_t instance_slot(uint32_t id)
{
	return id & 0xffu;
}

static inline uint32_t instance_generation(uint32_t id)
{
	return id >> 8;
}
_Static_assert(CONFIG_INSTANCES_MAX <= 256, "a slot is one byte of an id");

/* Slots of a definition: instances_max; where that is 0, what instances and warm need together, and
 * at least 1, for a room 8. */
uint32_t instance_max(const struct config_map *map);
/* How many of a definition run from the start: maps instances, rooms none. */
uint32_t instance_at_start(const struct config_map *map);
/* The first slot of a definition; of map_count: how many slots there are. */
uint32_t instance_first(const struct sw_config *config, uint32_t definition);
/* The definition of a slot; map_count past the last. */
uint32_t instance_definition(const struct sw_config *config, uint32_t slot);

/* What an instance tells of itself while it runs. The shard that has it writes, any thread reads.
 * One per slot, for the life of the process; sums go on over all instances of the slot. */
struct instance_gauges {
	_Atomic uint64_t players;
	_Atomic uint64_t ticks, skipped, overruns; /* overruns: ticks longer than their period */
	_Atomic uint64_t tick_ns;                  /* the last tick's work */
	_Atomic uint64_t tick_end_ns;              /* mono_ns of its end */
	_Atomic uint64_t load_permille;            /* ticks' work by their period, smoothed */
	_Atomic uint64_t overrun_stage; /* that took most of the last overrun, from 1; 0: none */
};
_Static_assert(sizeof(struct instance_gauges) == 64, "a cache line each: shards do not share one");

/* How busy a shard is, for placement. The shard writes, any thread reads. */
struct shard_gauges {
	_Atomic uint64_t load_permille; /* its ticks' work by the time that passed, smoothed */
	_Atomic uint64_t players;
	_Atomic uint64_t instances;
	uint64_t pad[5];
};
_Static_assert(sizeof(struct shard_gauges) == 64, "a cache line each");

#endif
