/* probe.h: the dataplane's half of the stateless probe (proto/probe.h): which datagrams are
 * answered, how many a second, and with what.
 *
 * Pure: the time is an argument. One thread, the worker's. */
#ifndef SW_DATAPLANE_PROBE_H
#define SW_DATAPLANE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/rate.h"
#include "proto/probe.h"

#define DP_PROBE_PER_S_MAX RATE_PER_S_MAX

struct dp_probe {
	uint32_t per_s, burst;
	struct rate *rate; /* of all workers together */
	uint8_t state;     /* enum sw_node_state */
};

/* per_s: at most DP_PROBE_PER_S_MAX; 0: none is answered. The node is CLOSED until said otherwise.
 */
void dp_probe_init(struct dp_probe *probe, uint32_t per_s, uint32_t burst, struct rate *rate);

enum dp_probe_fate {
	DP_PROBE_ANSWERED,  /* by dp_probe_write */
	DP_PROBE_MALFORMED, /* short, an answer, an unknown kind, or with a state */
	DP_PROBE_LIMITED,   /* the bucket is empty */
};
/* Of a datagram that sw_probe_is. Malformed ones cost nothing of the bucket. now_ns: the same or
 * later at each call. */
enum dp_probe_fate dp_probe_take(
	struct dp_probe *probe, const uint8_t *payload, uint32_t bytes, uint64_t now_ns);

/* The answer, as long as the request, into out[bytes]. peers_full: no worker has a free peer slot,
 * so a node that is ready says that it is full. */
void dp_probe_write(const struct dp_probe *probe, const uint8_t *payload, uint32_t bytes,
	bool peers_full, uint8_t *out);

#endif
