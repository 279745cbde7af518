#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_pause.h>

#include "dataplane/idle.h"

void dp_idle_init(struct dp_idle *idle, enum config_idle mode)
{
	*idle = (struct dp_idle){.mode = mode};
	if (mode == CONFIG_IDLE_ADAPTIVE)
		prctl(PR_SET_TIMERSLACK, 1000ul, 0, 0, 0);
}

enum dp_idle_act dp_idle_next(
	struct dp_idle *idle, bool worked, uint64_t now_ns, uint64_t wake_ns, uint64_t *sleep_ns)
{
	uint32_t doublings;

	if (worked)
		idle->empty_turns = 0;
	else if (idle->empty_turns < UINT32_MAX)
		idle->empty_turns++;
	if (idle->mode == CONFIG_IDLE_POLL || idle->empty_turns <= DP_IDLE_SPINS)
		return DP_IDLE_SPIN;
	if (idle->empty_turns <= DP_IDLE_SPINS + DP_IDLE_YIELDS)
		return DP_IDLE_YIELD;
	doublings = (idle->empty_turns - DP_IDLE_SPINS - DP_IDLE_YIELDS) / 16;
	*sleep_ns = DP_IDLE_SLEEP_NS_MAX;
	if (doublings < 8 && (uint64_t)DP_IDLE_SLEEP_NS << doublings < DP_IDLE_SLEEP_NS_MAX)
		*sleep_ns = (uint64_t)DP_IDLE_SLEEP_NS << doublings;
	if (wake_ns <= now_ns)
		return DP_IDLE_YIELD; /* due now: let others run, but do not sleep */
	if (wake_ns - now_ns < *sleep_ns)
		*sleep_ns = wake_ns - now_ns;
	return DP_IDLE_SLEEP;
}

void dp_idle_wait(struct dp_idle *idle, bool worked, uint64_t now_ns, uint64_t wake_ns)
{
	struct timespec ts = {0};
	uint64_t sleep_ns = 0;

	switch (dp_idle_next(idle, worked, now_ns, wake_ns, &sleep_ns)) {
	case DP_IDLE_SPIN:
		if (!worked)
			rte_pause();
		break;
	case DP_IDLE_YIELD:
		sched_yield();
		break;
	case DP_IDLE_SLEEP:
		ts.tv_nsec = (long)sleep_ns;
		idle->sleeps++;
		nanosleep(&ts, NULL);
		break;
	}
}
