#include "main/lcore.h"

#include "common/hot.h"
#include "common/mono.h"
#include "dataplane/idle.h"
#include "dataplane/worker.h"
#include "simulation/shard.h"

int lcore_run(void *arg)
{
	const struct lcore *core = arg;
	struct dp_idle idle;

	dp_idle_init(&idle, core->idle);
	hot_begin();
	while (!atomic_load_explicit(core->stop, memory_order_relaxed)) {
		uint64_t now_ns = mono_ns();
		uint64_t wake_ns = UINT64_MAX;
		bool worked = false;

		if (core->worker) {
			worked |= dp_worker_step(core->worker, now_ns);
			wake_ns = dp_worker_next_ns(core->worker);
		}
		if (core->shard) {
			uint64_t shard_ns;

			worked |= sim_shard_step(core->shard, now_ns);
			shard_ns = sim_shard_next_ns(core->shard);
			wake_ns = shard_ns < wake_ns ? shard_ns : wake_ns;
		}
		dp_idle_wait(&idle, worked, now_ns, wake_ns);
	}
	hot_end();
	return 0;
}
