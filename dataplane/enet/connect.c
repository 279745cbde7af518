/* connect.c: a CONNECT as it comes, before anything is known of its client: whether a checksum and
 * compression are on is seen from the datagram itself. */
#include "dataplane/enet/engine.h"

#define CONNECT_BYTES_MAX 128u /* expanded; stock clients send nothing behind the 56 */

/* libenet before 1.3.10 has half the window, and shows it in each CONNECT. It forgets a connection
 * that is refused by DISCONNECT without telling anyone (1.3.10 does too, but looks like what came
 * after). */
static bool from_old_libenet(const struct request *request)
{
	uint32_t window_bytes = wire_get32(request->command + 12);
	uint32_t bandwidth = wire_get32(request->command + 24); /* the client's, outgoing */

	return window_bytes == WIRE_WINDOW_OLD_MAX &&
	       window_bytes != rtt_window_bytes(bandwidth, 0);
}

/* A VERIFY_CONNECT of no channels, which no client takes: it ends the attempt and tells its user,
 * though not why. Returns its bytes. */
static uint32_t verify_of_nothing(struct sw_enet *e, const struct request *request,
	uint8_t out[WIRE_HEADER_BYTES + WIRE_CHECKSUM_BYTES + WIRE_VERIFY_CONNECT_BYTES])
{
	uint32_t header = WIRE_HEADER_BYTES + (request->checksum ? WIRE_CHECKSUM_BYTES : 0);

	memset(out, 0, header + WIRE_VERIFY_CONNECT_BYTES);
	wire_put16(out,
		WIRE_SENT_TIME | WIRE_SESSION_REFUSED << WIRE_SESSION_SHIFT | request->client_id);
	wire_put16(out + 2, (uint32_t)e->now_ms & 0xffff);
	wire_put_command(out + header, WIRE_VERIFY_CONNECT, WIRE_CONTROL_CHANNEL, 1);
	return seal(e, out, header + WIRE_VERIFY_CONNECT_BYTES,
		request->checksum ? &request->connect_id : NULL, request->compressed);
}

static bool refuse_old(struct sw_enet *e, const struct request *request)
{
	uint8_t verify[WIRE_HEADER_BYTES + WIRE_CHECKSUM_BYTES + WIRE_VERIFY_CONNECT_BYTES], *out;
	uint32_t bytes = verify_of_nothing(e, request, verify);
	void *frame;

	out = bytes > request->bytes
		      ? NULL
		      : e->ops.tx_begin(e->ops.ctx, SW_ENET_NO_PEER, request->from, bytes, &frame);
	if (!out)
		return false;
	memcpy(out, verify, bytes);
	e->ops.tx_end(e->ops.ctx, SW_ENET_NO_PEER, frame, bytes);
	count(e, SW_ENET_C_DATAGRAMS_OUT, 1);
	count(e, SW_ENET_C_BYTES_OUT, bytes);
	return true;
}

/* Tells a waiting client no. The answer is 12 bytes (16 with a checksum), never compressed, to its
 * 52 (56) or what compression makes of them; to an old libenet 48 (52), compressed where it
 * compresses. Never more than came. */
uint32_t connect_refuse(
	struct sw_enet *e, const struct request *request, uint32_t data, uint32_t refusal)
{
	uint32_t bytes = WIRE_HEADER_BYTES + WIRE_DISCONNECT_BYTES +
			 (request->checksum ? WIRE_CHECKSUM_BYTES : 0);
	bool told;

	if (from_old_libenet(request))
		told = refuse_old(e, request);
	else
		told = bytes <= request->bytes &&
		       tx_disconnect(e, SW_ENET_NO_PEER, request->from, request->client_id,
			       WIRE_SESSION_REFUSED,
			       request->checksum ? &request->connect_id : NULL, data);
	if (told)
		count(e, SW_ENET_C_REFUSALS_OUT, 1);
	return refusal;
}

static uint32_t locate(
	struct sw_enet *e, const uint8_t *data, uint32_t bytes, struct request *request)
{
	uint32_t header = wire_get16(data) & WIRE_SENT_TIME ? 4 : 2;
	uint32_t behind = header + WIRE_CHECKSUM_BYTES, length = bytes;
	const uint8_t *at = data;
	bool mine;

	request->compressed = wire_get16(data) & WIRE_COMPRESSED;
	if (request->compressed)
		at = unseal(e, data, &length, behind, CONNECT_BYTES_MAX);
	request->checksum = at && length >= behind + WIRE_CONNECT_BYTES &&
			    (at[behind] & WIRE_COMMAND_MASK) == WIRE_CONNECT &&
			    crc_matches(e, at, length, header, 0);
	if (request->checksum) {
		memcpy(request->command, at + behind, WIRE_CONNECT_BYTES);
		return 0;
	}
	at = data;
	length = bytes;
	if (request->compressed)
		at = unseal(e, data, &length, header, CONNECT_BYTES_MAX);
	if (!at)
		return SW_ENET_C_BAD_COMPRESSION;
	if (length < header + WIRE_COMMAND_HEADER_BYTES)
		return SW_ENET_C_SHORT_COMMAND;
	mine = (at[header] & WIRE_COMMAND_MASK) == WIRE_CONNECT &&
	       at[header + 1] == WIRE_CONTROL_CHANNEL;
	if (!mine && e->config.checksum == SW_ENET_ON)
		return SW_ENET_C_BAD_CHECKSUM;
	if (!mine)
		return SW_ENET_C_NOT_CONNECT;
	if (length < header + WIRE_CONNECT_BYTES)
		return SW_ENET_C_SHORT_COMMAND;
	memcpy(request->command, at + header, WIRE_CONNECT_BYTES);
	return 0;
}

/* Reads a datagram without peer id, which has at least its header. Returns 0, or the refusal. */
uint32_t connect_read(struct sw_enet *e, const struct sw_enet_addr *from, const uint8_t *data,
	uint32_t bytes, struct request *request)
{
	const uint8_t *p = request->command;
	uint32_t refusal = locate(e, data, bytes, request);

	if (refusal)
		return refusal;
	request->from = from;
	request->bytes = bytes;
	request->client_id = wire_get16(p + 4);
	memcpy(&request->connect_id, p + 40, sizeof request->connect_id);
	if (request->client_id >= WIRE_NO_PEER || wire_get32(p + 16) < 1 ||
		wire_get32(p + 16) > WIRE_CHANNELS_MAX)
		return SW_ENET_C_CONNECT_MALFORMED;
	return 0;
}
