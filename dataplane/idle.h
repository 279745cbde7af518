/* idle.h: what a poll loop does when a turn found nothing.
 *
 * Poll mode: a pause instruction, never a system call. Adaptive mode, for machines where a core
 * cannot be burned: spin, then give the CPU away, then short sleeps that grow and end when work is
 * due. No virtual port of DPDK has receive interrupts, so a sleep is the price of a wake-up. */
#ifndef SW_DATAPLANE_IDLE_H
#define SW_DATAPLANE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"

enum dp_idle_act { DP_IDLE_SPIN, DP_IDLE_YIELD, DP_IDLE_SLEEP };

#define DP_IDLE_SPINS        64u     /* empty turns before the CPU is given away */
#define DP_IDLE_YIELDS       192u    /* and before the first sleep */
#define DP_IDLE_SLEEP_NS     20000u  /* first sleep; doubles every 16 turns up to ... */
#define DP_IDLE_SLEEP_NS_MAX 200000u /* ... this: the worst that idling adds to a latency */

struct dp_idle {
	enum config_idle mode;
	uint32_t empty_turns;
	uint64_t sleeps; /* taken so far */
};

/* The loop's own thread: in adaptive mode also sets its timer slack to 1 µs, without which a sleep
 * of 20 µs takes 105 (measured). */
void dp_idle_init(struct dp_idle *idle, enum config_idle mode);

/* The decision alone, without carrying it out. worked: the turn found something. wake_ns: when the
 * loop has something to do anyway (UINT64_MAX: never). *sleep_ns is set for SLEEP. */
enum dp_idle_act dp_idle_next(
	struct dp_idle *idle, bool worked, uint64_t now_ns, uint64_t wake_ns, uint64_t *sleep_ns);

/* The loop's own thread, after each turn. wake_ns: not looked at when the turn worked. */
void dp_idle_wait(struct dp_idle *idle, bool worked, uint64_t now_ns, uint64_t wake_ns);

#endif
