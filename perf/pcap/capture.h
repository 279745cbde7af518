/* capture.h: frames for packet generators, each with the counter of the server that it must land
 * in.
 *
 * Pure: frame i of a capture follows from the options alone, so that the same seed gives the same
 * file and a test knows what to expect. Any thread. */
#ifndef SW_PERF_PCAP_CAPTURE_H
#define SW_PERF_PCAP_CAPTURE_H

#include <stdint.h>

#include "dataplane/packet.h"
#include "perf/echo/benchmark.h"

/* X(id, name, help) */
/* clang-format off */
#define CAPTURES(X) \
	X(PROBE, "probe", "probes of many sources and lengths: each is answered, or above the limit") \
	X(PROBE_BAD, "probe-bad", "what begins like a probe and is none") \
	X(MALFORMED, "malformed", "one frame for each drop of dataplane/packet.h that IPv4 can reach, over and over") \
	X(MALFORMED6, "malformed6", "the same for a port with address6") \
	X(ENET, "enet", "datagrams that no ENet client sends") \
	X(RANDOM, "random", "random bytes to the server's port: refused, by one reason or another") \
	X(CONNECT, "connect", "ENet CONNECTs, each from a source of its own, that are never acknowledged") \
	X(UNSEQUENCED, "unsequenced", "messages of benchmark sessions (perf/echo/benchmark.h), in turn: each comes back") \
	X(UNRELIABLE, "unreliable", "the same, unreliable: numbers run 1 to 65,535 for each session") \
	X(RELIABLE, "reliable", "the same, reliable: whole only where no frame is lost")
/* clang-format on */

#define CAPTURE_ENUM(id, name, help) CAPTURE_##id,
enum capture { CAPTURES(CAPTURE_ENUM) CAPTURE_COUNT };

extern const char *const capture_names[CAPTURE_COUNT];

/* The server that dataplane/packet_frames.h's frames are for; MALFORMED and MALFORMED6 know no
 * other address, only another MAC. */
#define CAPTURE_IP  0x0a000001u /* 10.0.0.1; over IPv6 2001:db8::1 */
#define CAPTURE_UDP 7777u

#define CAPTURE_BYTES_MAX 1514u

struct capture_options {
	uint64_t seed;
	uint8_t mac[6], source_mac[6]; /* the server's (or its router's), the generator's */
	uint32_t ip;                   /* the server's, host order */
	uint16_t udp_port;
	struct echo_benchmark benchmark; /* sessions: those that speak, in turn */
	uint32_t message_bytes;          /* of what they say, from CAPTURE_MESSAGE_MIN */
};

/* A message begins with the number of its session and its own within the session, from 1. */
#define CAPTURE_MESSAGE_MIN 8u
#define CAPTURE_MESSAGE_MAX 1380u

void capture_defaults(struct capture_options *options);

/* Where a frame ends up. counter NULL: not foretold for the single frame. */
struct capture_fate {
	const char *group;   /* "dataplane" or "enet" */
	const char *counter; /* as in the server's figures */
};

/* Writes frame index into out[CAPTURE_BYTES_MAX]; *fate says what the server counts for it.
 * Returns its bytes. */
uint32_t capture_frame(enum capture capture, const struct capture_options *options, uint32_t index,
	uint8_t *out, struct capture_fate *fate);

/* Frames after which a capture begins again; 0: never. One of UNSEQUENCED, UNRELIABLE and RELIABLE
 * may be played over and over when its count is a multiple of the sessions, RELIABLE only when each
 * session has all 65,536 numbers in it. */
uint32_t capture_period(enum capture capture);

#endif
