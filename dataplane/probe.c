#include <string.h>

#include "dataplane/probe.h"

void dp_probe_init(struct dp_probe *probe, uint32_t per_s, uint32_t burst, struct rate *rate)
{
	*probe = (struct dp_probe){
		.per_s = per_s, .burst = burst, .rate = rate, .state = SW_NODE_CLOSED};
}

enum dp_probe_fate dp_probe_take(
	struct dp_probe *probe, const uint8_t *payload, uint32_t bytes, uint64_t now_ns)
{
	if (bytes < SW_PROBE_BYTES_MIN || payload[2] != SW_PROBE_REQUEST || payload[3] != 0)
		return DP_PROBE_MALFORMED;
	return rate_take(probe->rate, probe->per_s, probe->burst, 0, now_ns) ? DP_PROBE_ANSWERED
									     : DP_PROBE_LIMITED;
}

void dp_probe_write(const struct dp_probe *probe, const uint8_t *payload, uint32_t bytes,
	bool peers_full, uint8_t *out)
{
	memcpy(out, payload, bytes);
	out[2] = SW_PROBE_ANSWER;
	out[3] = probe->state == SW_NODE_READY && peers_full ? SW_NODE_FULL : probe->state;
}
