/* wire.h: ENet 1.3 on the wire: numbers, lengths, and big-endian access to bytes of any alignment.
 * Source: github.com/lsalzman/enet, protocol.h. Nothing here knows the engine. */
#ifndef SW_DATAPLANE_ENET_WIRE_H
#define SW_DATAPLANE_ENET_WIRE_H

#include <stdint.h>
#include <string.h>

/* Datagram header: u16 peer id and flags, u16 sent time if flagged, u32 checksum if in use. */
#define WIRE_PEER_MASK      0x0fffu
#define WIRE_NO_PEER        0x0fffu /* CONNECT only; valid ids are 0..0xffe */
#define WIRE_SESSION_SHIFT  12
#define WIRE_SESSION_MASK   3u
#define WIRE_COMPRESSED     0x4000u
#define WIRE_SENT_TIME      0x8000u
#define WIRE_HEADER_BYTES   4u /* as we send it: with sent time */
#define WIRE_CHECKSUM_BYTES 4u

/* Command header: u8 command and flags, u8 channel, u16 reliable sequence number. */
#define WIRE_COMMAND_HEADER_BYTES 4u
#define WIRE_ACK_FLAG             0x80u
#define WIRE_UNSEQUENCED_FLAG     0x40u
#define WIRE_COMMAND_MASK         0x0fu
#define WIRE_CONTROL_CHANNEL      0xffu

/* X(name, number, bytes of the command without its data) */
#define WIRE_COMMANDS(X)                                                                           \
	X(ACKNOWLEDGE, 1, 8)                                                                       \
	X(CONNECT, 2, 48)                                                                          \
	X(VERIFY_CONNECT, 3, 44)                                                                   \
	X(DISCONNECT, 4, 8)                                                                        \
	X(PING, 5, 4)                                                                              \
	X(SEND_RELIABLE, 6, 6)                                                                     \
	X(SEND_UNRELIABLE, 7, 8)                                                                   \
	X(SEND_FRAGMENT, 8, 24)                                                                    \
	X(SEND_UNSEQUENCED, 9, 8)                                                                  \
	X(BANDWIDTH_LIMIT, 10, 12)                                                                 \
	X(THROTTLE_CONFIGURE, 11, 16)                                                              \
	X(SEND_UNRELIABLE_FRAGMENT, 12, 24)

#define WIRE_COMMAND_ENUM(name, number, bytes) WIRE_##name = number, WIRE_##name##_BYTES = bytes,
enum { WIRE_COMMANDS(WIRE_COMMAND_ENUM) WIRE_COMMAND_COUNT = 13 };

#define WIRE_MTU_MIN        576u
#define WIRE_MTU_MAX        4096u
#define WIRE_WINDOW_MIN     4096u
#define WIRE_WINDOW_MAX     65536u
#define WIRE_WINDOW_OLD_MAX 32768u /* of libenet before 1.3.10 */
#define WIRE_CHANNELS_MAX   255u
#define WIRE_FRAGMENTS_MAX  (1024u * 1024u)
#define WIRE_SESSION_NONE   0xffu /* "use the one you have stored" */
#define WIRE_SESSION_REFUSED                                                                       \
	0u /* ours: of a DISCONNECT to who asked to connect; no client has it */

/* 16 reliable windows of 4,096 sequence numbers; a receiver takes what is less than 7 ahead. */
#define WIRE_WINDOW_SEQS_SHIFT 12
#define WIRE_WINDOWS           16u
#define WIRE_WINDOWS_AHEAD     7u

#define WIRE_UNSEQUENCED_WINDOW 1024u
#define WIRE_UNSEQUENCED_AHEAD  (32u * 1024u)

static inline uint16_t wire_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t wire_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void wire_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void wire_put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline void wire_put64(uint8_t *p, uint64_t v)
{
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof v);
}

/* A command's header; returns where its fields go. */
static inline uint8_t *wire_put_command(
	uint8_t *p, uint32_t command, uint32_t channel, uint32_t sequence)
{
	p[0] = (uint8_t)command;
	p[1] = (uint8_t)channel;
	wire_put16(p + 2, sequence);
	return p + WIRE_COMMAND_HEADER_BYTES;
}

/* SEND_UNRELIABLE and SEND_UNSEQUENCED: the command with its fields, in one store. */
static inline void wire_put_unreliable(uint8_t *p, uint32_t command, uint32_t channel,
	uint16_t reliable, uint16_t number, uint32_t bytes)
{
	wire_put64(p, (uint64_t)(command << 24 | channel << 16 | reliable) << 32 |
			      (uint32_t)number << 16 | (bytes & 0xffff));
}

/* Windows that seq is ahead of the window of at; WIRE_WINDOWS and more for what is behind in the
 * same window. ENet's own arithmetic. */
static inline uint32_t wire_windows_ahead(uint16_t seq, uint16_t at)
{
	uint32_t window = (uint32_t)seq >> WIRE_WINDOW_SEQS_SHIFT;

	if (seq < at)
		window += WIRE_WINDOWS;
	return window - ((uint32_t)at >> WIRE_WINDOW_SEQS_SHIFT);
}

#endif
