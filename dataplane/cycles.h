/* cycles.h: where a worker's cycles go. The TSC is read when a turn goes from one stage to the
 * next, never per packet: about seven reads a turn, whatever the burst. One turn in four is
 * measured, and counts for all: at 78 ns a packet reading it in each was 3 % of a full burst. Which
 * one is drawn, so that no rhythm of the traffic is taken for the whole.
 *
 * A turn that found no work counts as idle, whole. The counters are those of counters.h (cycles_*),
 * in TSC cycles; divide by rx_packets, or by tx_packets, for the cost of one. The worker's thread
 * alone. */
#ifndef SW_DATAPLANE_CYCLES_H
#define SW_DATAPLANE_CYCLES_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/counters.h"

/* X(id, name, what it covers). The order is that of the counters. */
#define DP_STAGES(X)                                                                               \
	X(RING, "ring", "taking messages of control and shards, and queueing them to peers")       \
	X(RECEIVE, "receive", "the ports' receive bursts")                                         \
	X(PARSE, "parse", "headers, and handing frames to other workers")                          \
	X(ENGINE, "engine", "ENet: peers, commands, and what they put into rings")                 \
	X(FRAME, "frame", "ENet: timers, and framing what is to be sent")                          \
	X(TRANSMIT, "transmit", "the ports' transmit bursts")

#define DP_STAGE_ENUM(id, name, text) DP_STAGE_##id,
enum dp_stage { DP_STAGES(DP_STAGE_ENUM) DP_STAGE_COUNT };

#define DP_CYCLES_TURNS 4u /* between measured turns: 1 to 7, as often each */

/* One delivery in so many turns is timed alone, and counts for all (cycles_route). */
#define DP_CYCLES_ROUTE_TURNS 64u

struct dp_cycles {
	bool on;
	bool measured; /* this turn is */
	bool route;    /* its deliveries are timed */
	uint32_t turns, next, seed;
	uint32_t measured_turns;
	enum dp_stage stage;
	uint64_t last;                  /* TSC when the stage began */
	uint64_t spent[DP_STAGE_COUNT]; /* in this turn */
	_Atomic uint64_t *counters;     /* [DP_COUNTER_COUNT] */
};

/* DPDK's rte_rdtsc, without its header: this one is included by what tests without DPDK. */
static inline uint64_t dp_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
#error "no cycle counter is known for this machine"
#endif
}

static inline void dp_cycles_begin(struct dp_cycles *cycles)
{
	if (!cycles->on)
		return;
	cycles->route = false;
	cycles->measured = cycles->turns++ == cycles->next;
	if (!cycles->measured)
		return;
	cycles->seed = cycles->seed * 1664525u + 1013904223u;
	cycles->next = cycles->turns + (cycles->seed >> 16) % (2 * DP_CYCLES_TURNS - 1);
	cycles->route = cycles->measured_turns++ % (DP_CYCLES_ROUTE_TURNS / DP_CYCLES_TURNS) == 0;
	cycles->stage = DP_STAGE_RING;
	cycles->last = dp_tsc();
}

/* What follows belongs to this stage. Returns the one before, to go back to. */
static inline enum dp_stage dp_cycles_to(struct dp_cycles *cycles, enum dp_stage stage)
{
	enum dp_stage before = cycles->stage;
	uint64_t now;

	if (!cycles->measured || before == stage)
		return before;
	now = dp_tsc();
	cycles->spent[before] += now - cycles->last;
	cycles->last = now;
	cycles->stage = stage;
	return before;
}

/* The turn is over. */
static inline void dp_cycles_end(struct dp_cycles *cycles, bool worked)
{
	uint64_t idle = 0;

	if (!cycles->measured)
		return;
	cycles->spent[cycles->stage] += dp_tsc() - cycles->last;
	for (uint32_t s = 0; s < DP_STAGE_COUNT; s++) {
		if (worked)
			counter_add(&cycles->counters[DP_C_CYCLES_RING + s],
				cycles->spent[s] * DP_CYCLES_TURNS);
		else
			idle += cycles->spent[s];
		cycles->spent[s] = 0;
	}
	if (!worked)
		counter_add(&cycles->counters[DP_C_CYCLES_IDLE], idle * DP_CYCLES_TURNS);
}

#endif
