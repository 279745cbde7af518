/* departed.c: peers that have left, for some seconds; a stock host leaves them to their time-out.
 *
 * A client whose DISCONNECT was acknowledged, but who lost the acknowledgement, repeats it: it is
 * acknowledged again. A DISCONNECT before the handshake is complete ends the same way
 * (half_open.c). A client that we ended, or gave up, and that still sends has not heard of it: it
 * is told again, at doubling intervals, whatever it sends; who was told when it ended, not within a
 * round trip of that.
 *
 * Answers go to who names the peer's source, id, session and, where it is read, checksum; never
 * with more bytes than came, and not for ever. Four to a set, the oldest makes room. */
#include "dataplane/enet/engine.h"

void departed_note(struct sw_enet *e, const struct departed *who)
{
	struct departed *set =
		&e->departed[(uint32_t)(who->key >> 8) & e->departed_mask & ~(DEPARTED_WAYS - 1)];
	struct departed *place = set;

	for (uint32_t i = 1; i < DEPARTED_WAYS && place->key != who->key; i++) {
		if (set[i].key == who->key || set[i].left_ms < place->left_ms)
			place = &set[i];
	}
	*place = *who;
	place->left_ms = e->now_ms;
}

static struct departed *departed_find(struct sw_enet *e, uint64_t key)
{
	struct departed *set =
		&e->departed[(uint32_t)(key >> 8) & e->departed_mask & ~(DEPARTED_WAYS - 1)];

	for (uint32_t i = 0; i < DEPARTED_WAYS; i++) {
		if (set[i].key == key && e->now_ms - set[i].left_ms < DEPARTED_MS)
			return &set[i];
	}
	return NULL;
}

/* The DISCONNECT that wants an acknowledgement and can get one, in plain commands from data[at] on;
 * a leaving client sends nothing else but acknowledgements, before it. NULL if there is none. */
const uint8_t *departed_disconnect(const uint8_t *data, uint32_t bytes, uint32_t at)
{
	while (bytes >= at + WIRE_ACKNOWLEDGE_BYTES &&
		(data[at] & WIRE_COMMAND_MASK) == WIRE_ACKNOWLEDGE)
		at += WIRE_ACKNOWLEDGE_BYTES;
	if (bytes < at + WIRE_DISCONNECT_BYTES || !(wire_get16(data) & WIRE_SENT_TIME) ||
		data[at] != (WIRE_DISCONNECT | WIRE_ACK_FLAG) ||
		data[at + 1] != WIRE_CONTROL_CHANNEL)
		return NULL;
	return data + at;
}

static void departed_credit(struct departed *who, uint32_t bytes)
{
	uint32_t credit = who->credit_bytes + bytes;

	who->credit_bytes = (uint16_t)(credit < UINT16_MAX ? credit : UINT16_MAX);
}

/* Acknowledges a DISCONNECT of data, whose datagram had so many bytes as it came. */
bool departed_acknowledge(struct sw_enet *e, struct departed *who, const struct sw_enet_addr *to,
	const uint8_t *data, const uint8_t *disconnect, uint32_t bytes)
{
	uint32_t header = WIRE_HEADER_BYTES + (who->checksum ? WIRE_CHECKSUM_BYTES : 0), length;
	uint8_t answer[WIRE_HEADER_BYTES + WIRE_CHECKSUM_BYTES + WIRE_ACKNOWLEDGE_BYTES], *p, *out;
	uint16_t seq = wire_get16(disconnect + 2);
	void *frame;

	wire_put16(answer,
		WIRE_SENT_TIME | (uint32_t)who->session_out << WIRE_SESSION_SHIFT | who->client_id);
	wire_put16(answer + 2, (uint32_t)e->now_ms & 0xffff);
	p = wire_put_command(answer + header, WIRE_ACKNOWLEDGE, WIRE_CONTROL_CHANNEL, seq);
	wire_put16(p, seq);
	memcpy(p + 2, data + 2, 2); /* its sent time */
	length = seal(e, answer, header + WIRE_ACKNOWLEDGE_BYTES,
		who->checksum ? &who->connect_id : NULL, who->compressed);
	departed_credit(who, bytes);
	if (length > who->credit_bytes) /* it was compressed well: the next one pays the rest */
		return false;
	out = e->ops.tx_begin(e->ops.ctx, SW_ENET_NO_PEER, to, length, &frame);
	if (!out)
		return false;
	memcpy(out, answer, length);
	e->ops.tx_end(e->ops.ctx, SW_ENET_NO_PEER, frame, length);
	who->credit_bytes = 0;
	count(e, SW_ENET_C_DISCONNECTS_REPEATED, 1);
	count(e, SW_ENET_C_DATAGRAMS_OUT, 1);
	count(e, SW_ENET_C_BYTES_OUT, length);
	return true;
}

/* Whatever it sends, it has not heard that it is gone. */
static void departed_tell(
	struct sw_enet *e, struct departed *who, const struct sw_enet_addr *to, uint32_t bytes)
{
	uint32_t length = WIRE_HEADER_BYTES + WIRE_DISCONNECT_BYTES +
			  (who->checksum ? WIRE_CHECKSUM_BYTES : 0);

	departed_credit(who, bytes);
	if (who->credit_bytes < length ||
		((who->answers || who->told) && e->now_ms - who->left_ms < (uint64_t)who->tell_ms
										   << who->answers))
		return;
	if (!tx_disconnect(e, SW_ENET_NO_PEER, to, who->client_id, who->session_out,
		    who->checksum ? &who->connect_id : NULL, who->data))
		return;
	who->credit_bytes = 0;
	who->answers++;
	count(e, SW_ENET_C_ENDS_TOLD_AGAIN, 1);
}

/* A datagram for a peer id that neither a peer nor a half-open client has. Returns the refusal, or
 * 0 when it was such a repetition and was answered. */
uint32_t departed_datagram(
	struct sw_enet *e, const struct sw_enet_addr *from, const uint8_t *data, uint32_t bytes)
{
	uint32_t head = wire_get16(data), time_end = head & WIRE_SENT_TIME ? 4 : 2, at = time_end;
	uint64_t key = departed_key(e, from, head & WIRE_PEER_MASK);
	struct departed *who = departed_find(e, key);
	uint32_t came = bytes;
	const uint8_t *disconnect;

	if (!who || who->answers == DEPARTED_ANSWERS_MAX)
		return SW_ENET_C_UNKNOWN_PEER;
	if ((head >> WIRE_SESSION_SHIFT & WIRE_SESSION_MASK) != who->session_in)
		return SW_ENET_C_WRONG_SESSION;
	if (who->tell) {
		departed_tell(e, who, from, bytes);
		return SW_ENET_C_LEAVING;
	}
	if (who->checksum)
		at += WIRE_CHECKSUM_BYTES;
	if (bytes < at)
		return SW_ENET_C_SHORT_HEADER;
	if (head & WIRE_COMPRESSED) {
		who->answers++; /* reading it is what costs */
		data = unseal(e, data, &bytes, at, DEPARTED_EXPAND_MAX);
		if (!data)
			return SW_ENET_C_BAD_COMPRESSION;
	}
	if (who->checksum && !crc_matches(e, data, bytes, time_end, who->connect_id))
		return SW_ENET_C_BAD_CHECKSUM;
	disconnect = departed_disconnect(data, bytes, at);
	if (!disconnect)
		return SW_ENET_C_UNKNOWN_PEER;
	if (!(head & WIRE_COMPRESSED))
		who->answers++;
	return departed_acknowledge(e, who, from, data, disconnect, came) ? 0 : SW_ENET_C_LEAVING;
}
