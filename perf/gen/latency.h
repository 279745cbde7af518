/* latency.h: a histogram of times with a bounded error: 32 steps to each doubling, so a percentile
 * is at most 3 % above the truth. One thread. */
#ifndef SW_PERF_GEN_LATENCY_H
#define SW_PERF_GEN_LATENCY_H

#include <stdint.h>
#include <string.h>

#define LATENCY_STEPS_SHIFT 5u
#define LATENCY_STEPS       (1u << LATENCY_STEPS_SHIFT)
#define LATENCY_BUCKETS     ((64u - LATENCY_STEPS_SHIFT + 1u) * LATENCY_STEPS)

struct latency {
	uint64_t count, max_ns;
	uint32_t bucket[LATENCY_BUCKETS];
};

/* Values below LATENCY_STEPS have a bucket each. */
static inline uint32_t latency_bucket(uint64_t ns)
{
	uint32_t shift;

	if (ns < LATENCY_STEPS)
		return (uint32_t)ns;
	shift = 63u - (uint32_t)__builtin_clzll(ns) - LATENCY_STEPS_SHIFT;
	return (shift + 1) * LATENCY_STEPS + (uint32_t)(ns >> shift) - LATENCY_STEPS;
}

/* The largest value that falls into the bucket. */
static inline uint64_t latency_bucket_ns(uint32_t bucket)
{
	uint32_t shift = bucket / LATENCY_STEPS;

	if (!shift)
		return bucket;
	return ((uint64_t)(bucket % LATENCY_STEPS + LATENCY_STEPS + 1) << (shift - 1)) - 1;
}

static inline void latency_add(struct latency *latency, uint64_t ns)
{
	latency->bucket[latency_bucket(ns)]++;
	latency->count++;
	if (ns > latency->max_ns)
		latency->max_ns = ns;
}

static inline void latency_clear(struct latency *latency)
{
	memset(latency, 0, sizeof(*latency));
}

/* What a share of the values, 0 to 1, does not exceed; 0 when there are none. */
static inline uint64_t latency_quantile_ns(const struct latency *latency, double share)
{
	uint64_t wanted = (uint64_t)(share * (double)latency->count + 0.5), seen = 0;

	if (!latency->count)
		return 0;
	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		seen += latency->bucket[i];
		if (seen && seen >= wanted)
			return latency_bucket_ns(i) < latency->max_ns ? latency_bucket_ns(i)
								      : latency->max_ns;
	}
	return latency->max_ns;
}

#endif
