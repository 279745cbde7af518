/* lcore.h: what runs on one EAL lcore: dataplane workers, simulation shards, or both (fused mode,
 * the right choice on a machine with few cores). The loop reads the clock; everything below takes
 * it. */
#ifndef SW_MAIN_LCORE_H
#define SW_MAIN_LCORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"

struct dp_worker;
struct sim_shard;

struct lcore {
	uint32_t id; /* EAL lcore */
	enum config_idle idle;
	struct dp_worker *worker; /* NULL where none runs here */
	struct sim_shard *shard;  /* NULL where none runs here */
	const _Atomic bool *stop; /* main writes, lcores read */
};

/* The loop, as rte_eal_remote_launch wants it: arg is a struct lcore. Returns 0 once *stop is set.
 * Between two looks at *stop it makes no system call of its own, takes no lock and allocates
 * nothing (tests/hot checks it); adaptive idling sleeps, poll mode never does. */
int lcore_run(void *arg);

#endif
