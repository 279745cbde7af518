/* seal.c: what lies around a datagram's commands. Going out: compression, then the checksum of what
 * was there before it, with the header as it is sent; coming in: the reverse. Neither covers the
 * other's bytes: the header and the checksum stay plain. */
#include "dataplane/enet/engine.h"

/* Finishes a datagram whose header, but for the checksum, and commands stand in out. connect_id:
 * NULL without checksum. Returns its bytes, no more than before. */
uint32_t seal(
	struct sw_enet *e, uint8_t *out, uint32_t bytes, const uint32_t *connect_id, bool compress)
{
	uint32_t header = WIRE_HEADER_BYTES + (connect_id ? WIRE_CHECKSUM_BYTES : 0);
	uint32_t plain = bytes - header, packed = 0;

	if (compress)
		packed = range_compress(e->coder, out + header, plain, e->packed, plain - 1);
	if (packed)
		wire_put16(out, wire_get16(out) | WIRE_COMPRESSED);
	if (connect_id)
		crc_put(e, out, bytes, WIRE_HEADER_BYTES, *connect_id);
	if (!packed)
		return bytes;
	memcpy(out + header, e->packed, packed);
	return header + packed;
}

/* A compressed datagram whose commands begin at data[at], expanded to at most bytes_max, at most
 * WIRE_MTU_MAX. Returns it, valid until the next call, and *bytes; or NULL. */
const uint8_t *unseal(
	struct sw_enet *e, const uint8_t *data, uint32_t *bytes, uint32_t at, uint32_t bytes_max)
{
	uint32_t plain;

	if (*bytes <= at)
		return NULL;
	plain = range_decompress(e->coder, data + at, *bytes - at, e->plain + at, bytes_max - at);
	if (!plain)
		return NULL;
	memcpy(e->plain, data, at);
	*bytes = at + plain;
	return e->plain;
}

/* The same for a peer, who may make us decompress so many bytes a second: what it sends beyond that
 * is not looked at, as if it were lost, and comes again if it is reliable. NULL: *refusal says why.
 */
const uint8_t *unseal_peer(struct sw_enet *e, uint32_t index, const uint8_t *data, uint32_t *bytes,
	uint32_t at, uint32_t *refusal)
{
	struct peer_cold *cold = &e->cold[index];
	uint32_t rate = e->config.expand_bytes_per_s, now_ms = (uint32_t)e->now_ms;
	uint64_t paid = (uint64_t)(now_ms - cold->expand_ms) * rate / 1000;
	const uint8_t *plain;

	if (rate && paid) {
		cold->expand_owed_bytes -=
			paid < cold->expand_owed_bytes ? (uint32_t)paid : cold->expand_owed_bytes;
		cold->expand_ms = now_ms;
	}
	*refusal = SW_ENET_C_EXPAND_RATE;
	if (rate && cold->expand_owed_bytes > e->expand_burst_bytes - WIRE_MTU_MAX)
		return NULL;
	*refusal = SW_ENET_C_BAD_COMPRESSION;
	plain = unseal(e, data, bytes, at, WIRE_MTU_MAX);
	/* nonsense may have cost the most */
	cold->expand_owed_bytes += plain ? *bytes : WIRE_MTU_MAX;
	return plain;
}
