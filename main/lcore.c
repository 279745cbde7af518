#include "main/lcore.h"

#include "common/hot.h"
#include "common/mono.h"
#include "dataplane/idle.h"
#include "dataplane/worker.h"
#include "simulation/shard.h"

static uint64_t next_ns(const struct lcore *core)
{
	uint64_t wake_ns = core->worker ? dp_worker_next_ns(core->worker) : UINT64_MAX;
	uint64_t shard_ns = core->shard ? sim_shard_next_ns(core->shard) : UINT64_MAX;

	return shard_ns < wake_ns ? shard_ns : wake_ns;
}

int lcore_run(void *arg)
{
	const struct lcore *core = arg;
	struct dp_idle idle;

	dp_idle_init(&idle, core->idle);
	hot_begin();
	while (!atomic_load_explicit(core->stop, memory_order_relaxed)) {
		uint64_t now_ns = mono_ns();
		bool worked = false;

		if (core->worker && core->shard)
			dp_worker_ticking(core->worker, sim_shard_next_ns(core->shard) <= now_ns);
		if (core->worker)
			worked |= dp_worker_step(core->worker, now_ns);
		if (core->shard)
			worked |= sim_shard_step(core->shard, now_ns);
		dp_idle_wait(&idle, worked, now_ns, worked ? now_ns : next_ns(core));
	}
	hot_end();
	return 0;
}
