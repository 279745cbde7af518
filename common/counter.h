/* counter.h: per-thread counters. Each set has one writer, its thread; anyone may read. A hot
 * thread bumps its own; the operations thread reads all sets and prints them for Prometheus.
 *
 * A folder declares its counters as one X-macro list, from which the enum, the metric names and the
 * test table grow:
 *
 *   #define DP_COUNTERS(X) X(RX_PACKETS, "rx_packets", COUNTER_SUM, "frames received from the port")
 *   enum dp_counter { DP_COUNTERS(COUNTER_ENUM(DP_)) ... };
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
 * numbers, such as packets in a burst, where set-up says so. */
#define HISTOGRAM_BUCKETS 40

struct histogram {
	uint32_t plain_buckets;  /* set-up: 0 for time, else so many are printed, plain */
	_Atomic uint64_t sum_ns; /* or the sum of plain numbers */
	_Atomic uint64_t bucket[HISTOGRAM_BUCKETS];
};

struct histogram_ref {
	const char *group, *name, *help;
	uint32_t index;
	const struct histogram *histogram;
};

static inline void histogram_add(struct histogram *h, uint64_t ns)
{
	uint32_t i = ns ? 64u - (uint32_t)__builtin_clzll(ns) : 0;

	counter_add(&h->bucket[i < HISTOGRAM_BUCKETS ? i : HISTOGRAM_BUCKETS - 1], 1);
	counter_add(&h->sum_ns, ns);
}

#endif
