/* director_internal: the directory's state, shared by director.c (states, building, what shards
 * say), director_choose.c (whom a player is sent to) and director_close.c (what operators order,
 * and which instances are too many). Thread: the control thread's, but for the atomics of a slot,
 * which director_status reads from any thread. */
#ifndef SW_CONTROL_DIRECTOR_DIRECTOR_INTERNAL_H
#define SW_CONTROL_DIRECTOR_DIRECTOR_INTERNAL_H

#include "control/director/director.h"

struct definition {
	uint32_t first, slots;
	bool served;     /* its shard exists */
	uint32_t wanted; /* to be opened as soon as they are built: somebody waits */
	uint32_t asked;  /* after those: an operator asked for them */
	uint64_t retry_ns;
};

struct slot {
	_Atomic uint32_t id, state, shard, players;
	uint32_t generation;
	uint64_t refused_until_ns; /* full, as the shard says */
	uint64_t empty_since_ns;   /* 0: it is not, or has not been looked at since */
};

struct director {
	const struct sw_config *config;
	uint32_t shards, count;
	struct director_ops ops;
	struct definition definitions[CONFIG_MAPS_MAX];
	struct slot slots[CONFIG_INSTANCES_MAX];
	uint32_t on_shard[CONFIG_LCORES_MAX]; /* instances */
	uint32_t building;                    /* the id under way; INSTANCE_NONE: none */
	bool started, stopped;
	uint64_t changes;
	uint64_t looked_ns; /* for instances that are too many */
	_Atomic uint64_t counters[DIRECTOR_COUNTER_COUNT];
	struct counter_set set;
};

static inline uint32_t slot_get(const _Atomic uint32_t *value)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)value, memory_order_relaxed);
}

static inline void slot_put(_Atomic uint32_t *to, uint32_t value)
{
	atomic_store_explicit(to, value, memory_order_relaxed);
}

static inline enum instance_state slot_state(const struct slot *slot)
{
	return (enum instance_state)slot_get(&slot->state);
}

static inline bool slot_is_running(const struct slot *slot)
{
	enum instance_state state = slot_state(slot);

	return state == INSTANCE_OPEN || state == INSTANCE_LOCKED || state == INSTANCE_CLOSING;
}

/* ---- director.c ---- */

void director_count(struct director *d, enum director_counter counter);
/* The slot of an instance that is still the one of this id; else NULL. */
struct slot *director_find(const struct director *d, uint32_t id);
/* Which states lead to which. A word that does not fit is not believed. */
bool director_may_become(enum instance_state from, enum instance_state to);
void director_become(struct director *d, struct slot *slot, enum instance_state state);
uint32_t director_with_state(
	const struct director *d, const struct definition *def, enum instance_state state);
struct slot *director_free_slot(struct director *d, const struct definition *def);
/* One build at a time: what somebody waits for, what an operator asked for, what is kept warm. */
void director_order_next(struct director *d, uint64_t now_ns);
/* Hands it to a shard. What it was is a warm instance, or one that has just been built. */
void director_open_slot(struct director *d, struct slot *slot);
/* Asks each shard how busy it is. */
void director_loads(const struct director *d, struct placement_load loads[CONFIG_LCORES_MAX]);

/* ---- director_close.c ---- */

/* Tells the one who asked first what became of it; id: INSTANCE_NONE, nothing. Does nothing where
 * nobody has asked. */
void director_asked_settle(struct director *d, struct definition *def, uint32_t id);

/* Orders of operators that can come to nothing any more are given up; instances of maps that are
 * too many are closed, one of a map at a time. */
void director_close_tick(struct director *d, uint64_t now_ns);

#endif
