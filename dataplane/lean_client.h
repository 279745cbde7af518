/* lean_client.h: the client half of ENet 1.3 as small as it gets: connect, acknowledge, send,
 * receive; no retransmission, no fragments, no order. For tests that speak in frames and for load
 * generators, which want a known cost per message; players use libenet.
 *
 * Pure: bytes in, bytes out, any thread. Wire format: github.com/lsalzman/enet, protocol.h. */
#ifndef SW_DATAPLANE_LEAN_CLIENT_H
#define SW_DATAPLANE_LEAN_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LEAN_CHANNELS      4u
#define LEAN_OUT_BYTES     1500u /* room that the out buffers below must have */
#define LEAN_HEAD_BYTES    4u    /* datagram header with sent time */
#define LEAN_CONNECT_BYTES (LEAN_HEAD_BYTES + 48u)

enum lean_state { LEAN_IDLE, LEAN_CONNECTING, LEAN_CONNECTED, LEAN_GONE };

struct lean_client {
	enum lean_state state;
	uint32_t connect_id;
	uint32_t gone_data; /* what the server's DISCONNECT said */
	uint16_t peer_id;   /* the server's number for us */
	uint8_t session;    /* of headers we send */
	uint16_t reliable[LEAN_CHANNELS], unreliable[LEAN_CHANNELS]; /* last numbers sent */
	uint32_t acknowledged; /* reliable commands of ours that the server has acknowledged */
};

struct lean_sink {
	void *ctx;
	void (*message)(
		void *ctx, uint8_t channel, bool reliable, const uint8_t *payload, uint32_t bytes);
};

static inline void lean_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void lean_put32(uint8_t *p, uint32_t v)
{
	lean_put16(p, v >> 16);
	lean_put16(p + 2, v & 0xffff);
}

static inline uint32_t lean_get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t lean_get32(const uint8_t *p)
{
	return lean_get16(p) << 16 | lean_get16(p + 2);
}

static inline uint8_t *lean_head(const struct lean_client *client, uint8_t *out, uint32_t now_ms)
{
	lean_put16(out, 0x8000u | (uint32_t)client->session << 12 | client->peer_id);
	lean_put16(out + 2, now_ms & 0xffff);
	return out + LEAN_HEAD_BYTES;
}

static inline uint8_t *lean_command(uint8_t *out, uint8_t command, uint8_t channel, uint32_t number)
{
	out[0] = command;
	out[1] = channel;
	lean_put16(out + 2, number);
	return out + 4;
}

/* CONNECT; own_id is what the server's headers will name, 0..4094. Returns the datagram's bytes. */
static inline uint32_t lean_connect(struct lean_client *client, uint32_t connect_id,
	uint16_t own_id, uint32_t data, uint32_t now_ms, uint8_t *out)
{
	uint8_t *p;

	memset(client, 0, sizeof(*client));
	client->state = LEAN_CONNECTING;
	client->connect_id = connect_id;
	client->peer_id = 0xfff;
	p = lean_command(lean_head(client, out, now_ms), 0x82, 0xff, 1);
	lean_put16(p, own_id);
	p[2] = 0xff; /* no session yet */
	p[3] = 0xff;
	lean_put32(p + 4, 1400);
	lean_put32(p + 8, 65536);
	lean_put32(p + 12, LEAN_CHANNELS);
	lean_put32(p + 16, 0);
	lean_put32(p + 20, 0);
	lean_put32(p + 24, 5000);
	lean_put32(p + 28, 2);
	lean_put32(p + 32, 2);
	memcpy(p + 36, &connect_id, 4); /* opaque to both sides: never swapped */
	lean_put32(p + 40, data);
	return LEAN_CONNECT_BYTES;
}

/* Bytes of a command with its fixed part, by number; 0: none such. */
static inline uint32_t lean_command_bytes(uint8_t number)
{
	static const uint8_t bytes[] = {0, 8, 48, 44, 8, 4, 6, 8, 24, 8, 12, 16, 24};

	return number < sizeof(bytes) ? bytes[number] : 0;
}

/* Reads one datagram of the server. Hands messages to sink, and writes a datagram that acknowledges
 * what wants it into out; returns its bytes, 0 when there is nothing to say. */
static inline uint32_t lean_read(struct lean_client *client, const uint8_t *in, uint32_t bytes,
	const struct lean_sink *sink, uint32_t now_ms, uint8_t *out)
{
	uint32_t at = 4, sent_ms = 0;
	uint8_t *ack = NULL;
	bool timed;

	if (bytes < 2)
		return 0;
	timed = in[0] & 0x80;
	if (timed && bytes >= 4)
		sent_ms = lean_get16(in + 2);
	for (at = timed ? 4 : 2; at + 4 <= bytes;) {
		const uint8_t *p = in + at;
		uint8_t number = p[0] & 0xf;
		uint32_t fixed = lean_command_bytes(number), data = 0;

		if (!fixed || at + fixed > bytes)
			break;
		if (number == 6)
			data = lean_get16(p + 4);
		else if (number == 7 || number == 9)
			data = lean_get16(p + 6);
		if (at + fixed + data > bytes)
			break;
		if (number == 3 && client->state == LEAN_CONNECTING) {
			client->peer_id = (uint16_t)lean_get16(p + 4);
			client->session = p[7] & 3;
			client->state = LEAN_CONNECTED;
		} else if (number == 1) {
			client->acknowledged++;
		} else if (number == 4) {
			client->state = LEAN_GONE;
			client->gone_data = lean_get32(p + 4);
		} else if (data && sink && sink->message) {
			sink->message(sink->ctx, p[1], number == 6, p + fixed, data);
		}
		if ((p[0] & 0x80) && timed &&
			(!ack || (uint32_t)(ack - out) + 8 <= LEAN_OUT_BYTES)) {
			if (!ack)
				ack = lean_head(client, out, now_ms);
			ack = lean_command(ack, 1, p[1], lean_get16(p + 2));
			memcpy(ack, p + 2, 2);
			lean_put16(ack + 2, sent_ms);
			ack += 4;
		}
		at += fixed + data;
	}
	return ack ? (uint32_t)(ack - out) : 0;
}

/* Commands behind what out[at] holds already: acknowledgements that lean_read has written, say.
 * payload_bytes is at most 1,400 less 12 and what is there. Return the datagram's bytes. */
static inline uint32_t lean_add_unreliable(struct lean_client *client, uint8_t channel,
	const void *payload, uint32_t payload_bytes, uint8_t *out, uint32_t at)
{
	uint8_t *p = lean_command(out + at, 7, channel, client->reliable[channel]);

	lean_put16(p, ++client->unreliable[channel]);
	lean_put16(p + 2, payload_bytes);
	memcpy(p + 4, payload, payload_bytes);
	return (uint32_t)(p + 4 - out) + payload_bytes;
}

/* The datagram's header has a sent time. */
static inline uint32_t lean_add_reliable(struct lean_client *client, uint8_t channel,
	const void *payload, uint32_t payload_bytes, uint8_t *out, uint32_t at)
{
	uint8_t *p = lean_command(out + at, 0x86, channel, ++client->reliable[channel]);

	client->unreliable[channel] = 0;
	lean_put16(p, payload_bytes);
	memcpy(p + 2, payload, payload_bytes);
	return (uint32_t)(p + 2 - out) + payload_bytes;
}

/* One message in one datagram. payload_bytes is at most 1,400 less 12. */
static inline uint32_t lean_send_unreliable(struct lean_client *client, uint8_t channel,
	const void *payload, uint32_t payload_bytes, uint8_t *out)
{
	lean_put16(out, (uint32_t)client->session << 12 | client->peer_id);
	return lean_add_unreliable(client, channel, payload, payload_bytes, out, 2);
}

/* group: one more than the last, of all channels together. */
static inline uint32_t lean_send_unsequenced(struct lean_client *client, uint8_t channel,
	uint16_t group, const void *payload, uint32_t payload_bytes, uint8_t *out)
{
	uint8_t *p;

	lean_put16(out, (uint32_t)client->session << 12 | client->peer_id);
	p = lean_command(out + 2, 0x49, channel, 0);
	lean_put16(p, group);
	lean_put16(p + 2, payload_bytes);
	memcpy(p + 4, payload, payload_bytes);
	return (uint32_t)(p + 4 - out) + payload_bytes;
}

/* The caller repeats it until acknowledged grows, or does without. */
static inline uint32_t lean_send_reliable(struct lean_client *client, uint8_t channel,
	const void *payload, uint32_t payload_bytes, uint32_t now_ms, uint8_t *out)
{
	lean_head(client, out, now_ms);
	return lean_add_reliable(client, channel, payload, payload_bytes, out, LEAN_HEAD_BYTES);
}

/* DISCONNECT without waiting for an answer. */
static inline uint32_t lean_disconnect(
	struct lean_client *client, uint32_t data, uint32_t now_ms, uint8_t *out)
{
	uint8_t *p = lean_command(lean_head(client, out, now_ms), 0x44, 0xff, 0);

	lean_put32(p, data);
	client->state = LEAN_GONE;
	return (uint32_t)(p + 4 - out);
}

#endif
