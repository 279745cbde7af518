/* flow.h: what many ENet clients say and hear, without a socket or a port: handshakes, one message
 * a datagram, acknowledgements, repeats, and what became of each message.
 *
 * A client has one message out at a time; the echo that comes back answers it. In reliable mode the
 * echo's acknowledgement rides with the client's next message, as libenet's would. Bytes and the
 * time go in, datagrams come out through begin and end; one thread makes every call. */
#ifndef SW_PERF_GEN_FLOW_H
#define SW_PERF_GEN_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/gen/latency.h"

#define FLOW_CLIENTS_MAX   1000000u
#define FLOW_BYTES_MIN     8u /* a message begins with the time at which it was sent */
#define FLOW_BYTES_MAX     1300u
#define FLOW_DATAGRAM_MAX  1500u
#define FLOW_HANDSHAKES    256u /* under way at once */
#define FLOW_CONNECT_TRIES 20u  /* each waits FLOW_CONNECT_MS */
#define FLOW_CONNECT_MS    500u /* ENet's own */
#define FLOW_LOST_MS       200u /* an unreliable message without echo is lost then */
#define FLOW_REPEAT_MS     250u /* a reliable one is repeated, each time after twice as long */
#define FLOW_REPEATS       8u   /* then the client gives up */

/* FLOW_LINES: the server sends what one client says to all of them, reliably (stormweir-echo
 * --lines). One after the other says a line, as soon as no more than window deliveries of those
 * before it are still to come; sent and received count deliveries, one for each client that is
 * connected. Lines of which nothing came for FLOW_LOST_MS are lost, as far as they did not come. */
enum flow_mode { FLOW_UNRELIABLE, FLOW_RELIABLE, FLOW_LINES };

struct flow_config {
	enum flow_mode mode;
	uint32_t clients;
	uint32_t ids;    /* client i calls itself i % ids, at most 4095 */
	uint32_t bytes;  /* of a message */
	uint32_t window; /* messages out at once, of all clients together */
	uint32_t rate;   /* messages/s of all clients together; 0: each echo is followed by the next
			  * message at once */
	uint64_t count;  /* messages to send; 0: no end */
	uint32_t seed;
};

/* X(name, what it counts) */
#define FLOW_COUNTERS(X)                                                                           \
	X(sent, "messages, repeats left out")                                                      \
	X(received, "echoes of messages that were out")                                            \
	X(lost, "messages without an echo in time")                                                \
	X(late, "echoes of messages that were not out any more, and second copies")                \
	X(wrong, "messages of another length or content")                                          \
	X(repeated, "reliable messages sent again")                                                \
	X(behind, "messages that the rate asked for while every client had one out")               \
	X(connects, "CONNECTs, repeats included")                                                  \
	X(connected, "handshakes that succeeded")                                                  \
	X(refused, "clients that the server sent away before they were connected")                 \
	X(unanswered, "clients that gave up connecting, or a reliable message")                    \
	X(gone, "clients that the server ended")                                                   \
	X(answers, "datagrams that only acknowledge (pings, handshakes, echoes)")                  \
	X(no_buffer, "datagrams that were not sent for want of a buffer")

#define FLOW_COUNTER_MEMBER(name, help) uint64_t name;
struct flow_counters {
	FLOW_COUNTERS(FLOW_COUNTER_MEMBER)
};

/* begin gives room for FLOW_DATAGRAM_MAX bytes to the server from this client, NULL when there is
 * none; end sends it. */
struct flow_ops {
	void *ctx;
	uint8_t *(*begin)(void *ctx, uint32_t client);
	void (*end)(void *ctx, uint32_t client, uint32_t bytes);
};

struct flow;

/* config and ops are copied. NULL: values out of range, or no memory. */
struct flow *flow_new(const struct flow_config *config, const struct flow_ops *ops);
void flow_free(struct flow *flow);

/* A datagram from the server to this client (below clients). */
void flow_receive(
	struct flow *flow, uint32_t client, const uint8_t *data, uint32_t bytes, uint64_t now_ns);

/* Once a turn of the loop: handshakes, repeats, and new messages while sending is on. At most room
 * datagrams. */
void flow_step(struct flow *flow, uint32_t room, uint64_t now_ns);

/* New messages start, or stop while echoes still come in. */
void flow_send(struct flow *flow, bool on, uint64_t now_ns);

/* Begins the handshakes of all clients that are not connected. */
void flow_connect(struct flow *flow);
/* Handshakes that are neither done nor given up. */
uint32_t flow_connecting(const struct flow *flow);
/* One DISCONNECT each, unacknowledged, from client *from on, at most room; false when all are done.
 */
bool flow_disconnect(struct flow *flow, uint32_t *from, uint32_t room, uint64_t now_ns);

/* Messages out now. */
uint32_t flow_out(const struct flow *flow);
bool flow_finished(const struct flow *flow); /* count is reached */
const struct flow_counters *flow_counters(const struct flow *flow);
struct latency *flow_latency(struct flow *flow); /* of echoes, from when they were due */

#endif
