#include <string.h>

#include "dataplane/probe.h"

#define COST        1000000000ull
#define ELAPSED_MAX (1000 * COST) /* ns; times the highest rate it fits 64 bits */

void dp_probe_init(struct dp_probe *probe, uint32_t per_s, uint32_t burst, uint64_t now_ns)
{
	*probe = (struct dp_probe){.per_s = per_s,
		.burst = burst,
		.at_ns = now_ns,
		.credit = per_s ? burst * COST : 0,
		.state = SW_NODE_CLOSED};
}

bool dp_probe_pays(struct dp_probe *probe, uint64_t now_ns)
{
	uint64_t elapsed = now_ns - probe->at_ns, full = probe->burst * COST;

	if (elapsed > ELAPSED_MAX)
		elapsed = ELAPSED_MAX;
	probe->at_ns = now_ns;
	/* Neither side overflows: 10^19 at most, and what is missing is at most full. */
	if (elapsed * probe->per_s >= full - probe->credit)
		probe->credit = probe->per_s ? full : 0;
	else
		probe->credit += elapsed * probe->per_s;
	if (probe->credit < COST)
		return false;
	probe->credit -= COST;
	return true;
}

enum dp_probe_fate dp_probe_take(
	struct dp_probe *probe, const uint8_t *payload, uint32_t bytes, uint64_t now_ns)
{
	if (bytes < SW_PROBE_BYTES_MIN || payload[2] != SW_PROBE_REQUEST || payload[3] != 0)
		return DP_PROBE_MALFORMED;
	return dp_probe_pays(probe, now_ns) ? DP_PROBE_ANSWERED : DP_PROBE_LIMITED;
}

void dp_probe_write(const struct dp_probe *probe, const uint8_t *payload, uint32_t bytes,
	bool peers_full, uint8_t *out)
{
	memcpy(out, payload, bytes);
	out[2] = SW_PROBE_ANSWER;
	out[3] = probe->state == SW_NODE_READY && peers_full ? SW_NODE_FULL : probe->state;
}
