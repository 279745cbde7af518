/* probe.h: the stateless probe: a UDP datagram to the server's ENet port that comes back as it is,
 * but for two bytes, and says whether the node takes players. docs/protocol.md describes it. Shared
 * by server, client library and tests; no dependencies.
 *
 *	0  0x3f 0xff    no ENet client sends this: peer id 0xfff alone, with no session bits, is
 *what a client without a peer id sends (CONNECT, or DISCONNECT before it is connected), and libenet
 *sets session bits only with a lower peer id 2  kind         request or answer, so that an answer
 *is never answered 3  node state   0 in a request 4  the sender's own, to the end: at least two
 *bytes, come back unchanged */
#ifndef SW_PROTO_PROBE_H
#define SW_PROTO_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#define SW_PROBE_BYTES_MIN 6u
#define SW_PROBE_0         0x3f
#define SW_PROBE_1         0xff
#define SW_PROBE_REQUEST   0x01
#define SW_PROBE_ANSWER    0x81

/* What a node says of itself. X(name, value, text for a person) */
#define SW_NODE_STATES(X)                                                                          \
	X(CLOSED, 0, "lets nobody in now; try again later")                                        \
	X(READY, 1, "takes players")                                                               \
	X(DRAINING, 2, "takes nobody new, and will end")                                           \
	X(FULL, 3, "is full")

#define SW_NODE_ENUM(name, value, text) SW_NODE_##name = value,
enum sw_node_state { SW_NODE_STATES(SW_NODE_ENUM) };

static inline bool sw_probe_is(const uint8_t *payload, uint32_t bytes)
{
	return bytes >= 2 && (payload[0] << 8 | payload[1]) == (SW_PROBE_0 << 8 | SW_PROBE_1);
}

#endif
