/* capture.h: frames for packet generators, each with the counter of the server that it must land
 * in.
 *
 * Pure: frame i of a capture follows from the options alone, so that the same seed gives the same
 * file and a test knows what to expect. Any thread. */
#ifndef SW_PERF_PCAP_CAPTURE_H
#define SW_PERF_PCAP_CAPTURE_H

#include <stdint.h>

#include "dataplane/packet.h"

/* X(id, name, help) */
/* clang-format off */
#define CAPTURES(X) \
	X(PROBE, "probe", "probes of many sources and lengths: each is answered, or above the limit") \
	X(PROBE_BAD, "probe-bad", "what begins like a probe and is none") \
	X(MALFORMED, "malformed", "one frame for each drop of dataplane/packet.h that IPv4 can reach, over and over") \
	X(MALFORMED6, "malformed6", "the same for a port with address6") \
	X(ENET, "enet", "datagrams that no ENet client sends") \
	X(RANDOM, "random", "random bytes to the server's port: refused, by one reason or another") \
	X(CONNECT, "connect", "ENet CONNECTs, each from a source of its own, that are never acknowledged")
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
};

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

/* Frames after which a capture begins again; 0: never. */
uint32_t capture_period(enum capture capture);

#endif
