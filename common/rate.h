/* rate.h: how often something may happen in the whole process, whichever of its threads it happens
 * on: a token bucket in one word (the generic cell rate algorithm, ITU-T I.371), so that nobody
 * locks.
 *
 * A refusal reads the word and writes nothing: a flood on several threads does not make them wait
 * for each other. Pure: the time is an argument. */
#ifndef SW_COMMON_RATE_H
#define SW_COMMON_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RATE_PER_S_MAX 10000000u
#define RATE_BURST_MAX 10000000u

/* Parts of a nanosecond: at the highest rate one taking costs 1,600 of them. */
#define RATE_PARTS 16u

struct rate {
	/* When the bucket will be full again, in 1/16 ns. Any thread. Zeroed: full. */
	_Atomic uint64_t full_at;
};

/* Any thread. Whether one may happen now: per_s in a second, burst at once after a pause; 0 of
 * either: never. Over any time t no more than burst + t * per_s are allowed, on all threads
 * together. keep: that much of the burst is left in the bucket, for callers who keep less. now_ns:
 * below 2^60, the same clock for all; threads may be a little apart. */
static inline bool rate_take(
	struct rate *rate, uint32_t per_s, uint32_t burst, uint32_t keep, uint64_t now_ns)
{
	uint64_t now = now_ns * RATE_PARTS, cost, full_at, from;

	if (!per_s || burst <= keep)
		return false;
	cost = (1000000000ull * RATE_PARTS + per_s - 1) / per_s;
	full_at = atomic_load_explicit(&rate->full_at, memory_order_relaxed);
	do {
		from = full_at > now ? full_at : now;
		if (from - now > (burst - keep - 1) * cost)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&rate->full_at, &full_at, from + cost, memory_order_relaxed, memory_order_relaxed));
	return true;
}

#endif
