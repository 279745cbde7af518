/* rtt.c: what acknowledgements and bandwidth limits say about a peer's path: round trip, throttle,
 * window. The arithmetic is ENet's (protocol.c, peer.c), but for THROTTLE_JITTER_MS. */
#include "dataplane/enet/engine.h"

static void throttle_adjust(struct peer *peer, const struct peer_cold *cold, uint32_t rtt_ms)
{
	uint64_t up = (uint64_t)peer->throttle + cold->throttle_acceleration;
	uint64_t bad = (uint64_t)cold->last_rtt_ms + 2 * (uint64_t)cold->last_variance_ms;

	if (cold->last_rtt_ms <= cold->last_variance_ms)
		peer->throttle = peer->throttle_limit;
	else if (rtt_ms <= cold->last_rtt_ms)
		peer->throttle = up < peer->throttle_limit ? (uint8_t)up : peer->throttle_limit;
	else if (rtt_ms > bad && rtt_ms > cold->last_rtt_ms + THROTTLE_JITTER_MS)
		peer->throttle = peer->throttle > cold->throttle_deceleration
					 ? (uint8_t)(peer->throttle - cold->throttle_deceleration)
					 : 0;
}

/* One sample: an acknowledgement of what was sent rtt_ms ago. */
void rtt_acknowledge(struct sw_enet *e, uint32_t index, uint32_t rtt_ms)
{
	struct peer *peer = &e->peers[index];
	struct peer_cold *cold = &e->cold[index];

	if (rtt_ms < 1)
		rtt_ms = 1;
	if (peer->flags & PEER_SAMPLED) {
		uint32_t off =
			rtt_ms >= peer->rtt_ms ? rtt_ms - peer->rtt_ms : peer->rtt_ms - rtt_ms;

		throttle_adjust(peer, cold, rtt_ms);
		peer->rtt_variance_ms -= peer->rtt_variance_ms / 4;
		peer->rtt_variance_ms += off / 4;
		if (rtt_ms >= peer->rtt_ms)
			peer->rtt_ms += off / 8;
		else
			peer->rtt_ms -= off / 8;
	} else {
		peer->flags |= PEER_SAMPLED;
		peer->rtt_ms = rtt_ms;
		peer->rtt_variance_ms = (rtt_ms + 1) / 2;
	}
	if (peer->rtt_ms < cold->lowest_rtt_ms)
		cold->lowest_rtt_ms = peer->rtt_ms;
	if (peer->rtt_variance_ms > cold->highest_variance_ms)
		cold->highest_variance_ms = peer->rtt_variance_ms;
	if (cold->throttle_epoch_ms == 0 ||
		e->now_ms - cold->throttle_epoch_ms >= cold->throttle_interval_ms) {
		cold->last_rtt_ms = cold->lowest_rtt_ms;
		cold->last_variance_ms = cold->highest_variance_ms ? cold->highest_variance_ms : 1;
		cold->lowest_rtt_ms = peer->rtt_ms;
		cold->highest_variance_ms = peer->rtt_variance_ms;
		cold->throttle_epoch_ms = e->now_ms;
	}
	peer->ack_ms = e->now_ms;
	peer->earliest_timeout_ms = 0;
}

/* Once a second while there is something to send: what was queued for the peer against what both
 * sides allow gives the throttle's limit. ENet does this over all peers of a host; here a limit
 * belongs to a peer, so nothing is ever scanned. */
void rtt_bandwidth(struct sw_enet *e, uint32_t index, uint64_t elapsed_ms)
{
	struct peer *peer = &e->peers[index];
	uint64_t allowed, limit = THROTTLE_SCALE;
	uint32_t ours = e->config.outgoing_bandwidth, theirs = e->cold[index].incoming_bandwidth;

	if (ours || theirs) {
		allowed = ours && (!theirs || ours < theirs) ? ours : theirs;
		allowed = allowed * elapsed_ms / 1000;
		if (peer->bandwidth_bytes > allowed)
			limit = allowed * THROTTLE_SCALE / peer->bandwidth_bytes;
		if (limit == 0)
			limit = 1;
	}
	peer->throttle_limit = (uint8_t)limit;
	if (peer->throttle > limit)
		peer->throttle = (uint8_t)limit;
	peer->bandwidth_epoch_ms = e->now_ms;
	peer->bandwidth_bytes = 0;
}

/* The reliable window of a direction from its two limits in bytes/s, 0 for none. */
uint32_t rtt_window_bytes(uint32_t ours, uint32_t theirs)
{
	uint32_t limit, window;

	if (ours == 0 && theirs == 0)
		return WIRE_WINDOW_MAX;
	if (ours == 0 || theirs == 0)
		limit = ours > theirs ? ours : theirs;
	else
		limit = ours < theirs ? ours : theirs;
	window = limit / 65536 * WIRE_WINDOW_MIN;
	if (window < WIRE_WINDOW_MIN)
		return WIRE_WINDOW_MIN;
	return window > WIRE_WINDOW_MAX ? WIRE_WINDOW_MAX : window;
}
