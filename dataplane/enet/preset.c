/* preset.c: peers without a handshake, for packet generators. What sets them apart lies where it
 * happens: timers.c (no pings), deliver.c (repeated numbers), rx.c (announced when first heard, and
 * what was sent is acknowledged by that), leave.c (not told). */
#include <errno.h>

#include "dataplane/enet/engine.h"

/* What libenet sends in CONNECT. */
#define THROTTLE_INTERVAL_MS 5000u
#define THROTTLE_STEP_EACH   2u

int sw_enet_peer_preset(struct sw_enet *e, const struct sw_enet_preset *preset)
{
	const struct half_open half = {
		.address = preset->address,
		.id = preset->id,
		.client_id = preset->client_id,
		.connect_id = preset->connect_id,
		.session_in = preset->session_in,
		.session_out = preset->session_out,
		.channels = preset->channels,
		.mtu = (uint16_t)e->config.mtu,
		.window_bytes = rtt_window_bytes(e->config.outgoing_bandwidth, 0),
		.throttle = {THROTTLE_INTERVAL_MS, THROTTLE_STEP_EACH, THROTTLE_STEP_EACH},
	};
	uint32_t index;

	if (preset->id >= WIRE_NO_PEER || preset->client_id >= WIRE_NO_PEER ||
		preset->session_in > WIRE_SESSION_MASK || preset->session_out > WIRE_SESSION_MASK ||
		preset->channels < 1 || preset->channels > e->config.channels_max)
		return -EINVAL;
	if (peer_find(e, peer_hash(e, &half.address, half.id), &half.address, half.id) != NIL ||
		half_open_find(e, &half.address, half.id) != NIL)
		return -EEXIST;
	if (e->peers_used + e->half_open_used >= e->config.peers_max)
		return -ENOBUFS;
	index = peer_new(e, &half);
	e->peers[index].flags |= PEER_PRESET | PEER_OWES_CONNECTED;
	e->peers_preset++;
	e->peers_connected++;
	count(e, SW_ENET_C_CONNECTED, 1);
	return 0;
}
