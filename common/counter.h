/* counter.h: per-thread counters. Each set has one writer, its thread; anyone may read. A hot
 * thread bumps its own; the operations thread reads all sets and prints them for Prometheus.
 *
 * A folder declares its counters as one X-macro list, from which the enum, the metric names and the
 * test table grow:
 *
 *   #define DP_COUNTERS(X) X(RX_PACKETS, "rx_packets", COUNTER_SUM, "frames received from the
 * port") enum dp_counter { DP_COUNTERS(COUNTER_ENUM(DP_)) ... };
 *
 * The metric is stormweir_<group>_<name>{thread="<index>"}; sums get the suffix _total. */
#ifndef SW_COMMON_COUNTER_H
#define SW_COMMON_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

enum counter_kind { COUNTER_SUM, COUNTER_GAUGE };

struct counter_desc {
	const char *name; /* snake_case, unit last: rx_bytes, tick_ns */
	const char *help; /* one sentence; for a drop: what was dropped, and the likely cause */
	enum counter_kind kind;
};

struct counter_set {
	const char *group; /* "dataplane", "enet", "simulation", "world", ... */
	uint32_t index;    /* worker or shard number */
	uint32_t count;
	const struct counter_desc *desc; /* [count] */
	_Atomic uint64_t *values;        /* [count]; owner writes, all read */
};

/* The owner alone may call these. A relaxed load and store: no locked instruction. */
static inline void counter_add(_Atomic uint64_t *value, uint64_t n)
{
	atomic_store_explicit(
		value, atomic_load_explicit(value, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void counter_put(_Atomic uint64_t *value, uint64_t n)
{
	atomic_store_explicit(value, n, memory_order_relaxed);
}

/* Any thread. */
static inline uint64_t counter_get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit((_Atomic uint64_t *)value, memory_order_relaxed);
}

/* histogram: powers of two of nanoseconds, one writer; bucket i counts values below 2^i that are
 * not below 2^(i-1). Printed as a Prometheus histogram in seconds; or of plain
 * numbers, such as packets in a burst, where set-up says so; or in quarters of a doubling, over the
 * 16 doublings from 2^quarters_from ns on, where a target lies between two powers of two. */
#define HISTOGRAM_BUCKETS  40
#define HISTOGRAM_QUARTERS 65 /* buckets: below the first, 16 times 4 */

struct histogram {
	uint32_t plain_buckets;  /* set-up: 0 for time, else so many are printed, plain */
	uint32_t quarters_from;  /* set-up: 0, or the exponent that quarters begin with, 2 to 47 */
	_Atomic uint64_t sum_ns; /* or the sum of plain numbers */
	_Atomic uint64_t bucket[HISTOGRAM_QUARTERS];
};

struct histogram_ref {
	const char *group, *name, *help;
	uint32_t index;
	const struct histogram *histogram;
};

/* The last bucket takes everything above the one before. */
static inline uint32_t histogram_buckets(const struct histogram *h)
{
	return h->quarters_from ? HISTOGRAM_QUARTERS : HISTOGRAM_BUCKETS;
}

/* What the values of bucket i are below. */
static inline uint64_t histogram_bound(const struct histogram *h, uint32_t i)
{
	if (!h->quarters_from)
		return 1ull << i;
	return (uint64_t)(4 + i % 4) << (h->quarters_from + i / 4 - 2);
}

static inline uint32_t histogram_place(const struct histogram *h, uint64_t ns)
{
	uint32_t bits = ns ? 64u - (uint32_t)__builtin_clzll(ns) : 0, i = bits;

	if (h->quarters_from)
		i = bits <= h->quarters_from
			    ? 0
			    : 4 * (bits - 1 - h->quarters_from) + (ns >> (bits - 3) & 3) + 1;
	return i < histogram_buckets(h) ? i : histogram_buckets(h) - 1;
}

static inline void histogram_add(struct histogram *h, uint64_t ns)
{
	counter_add(&h->bucket[histogram_place(h, ns)], 1);
	counter_add(&h->sum_ns, ns);
}

#endif
