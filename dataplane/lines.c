#include "dataplane/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/chat.h"
#include "common/mono.h"
#include "common/msg_ring.h"
#include "dataplane/counters.h"
#include "dataplane/enet/enet.h"
#include "proto/message_types.h"

/* One largest message, and what the ring wants for the next. */
#define HAND_SLOTS (2u * MSG_SLOTS_MAX)

/* Of so many peers to come the engine's memory is fetched. */
#define AHEAD 6u

struct dp_lines {
	struct msg_ring *ring;
	struct sw_enet *engine;
	_Atomic uint64_t *counters;
	struct histogram delay;

	/* pace */
	uint64_t cost_ns16;  /* of one delivery, in 1/16 ns */
	uint64_t spent_ns16; /* up to when the deliveries so far have used the time up */
	uint64_t stuck_ns;   /* since when there is no memory; 0: there is */

	/* the line at hand */
	uint64_t taken_ns; /* by the chat thread */
	uint32_t shared;   /* SW_ENET_NO_SHARED: none, each peer is sent a copy */
	uint32_t bytes;    /* 0: no line, or one that cannot be sent */
	bool shareable;    /* not tried yet */
	uint8_t payload[MSG_PAYLOAD_MAX];

	/* messages at hand */
	uint32_t at, filled;
	uint32_t peer; /* of the list at slot[at]: the next one */
	struct msg slot[HAND_SLOTS];
} __attribute__((aligned(64)));

static void count(struct dp_lines *lines, enum dp_counter counter)
{
	counter_add(&lines->counters[counter], 1);
}

size_t dp_lines_bytes(void)
{
	return sizeof(struct dp_lines);
}

struct dp_lines *dp_lines_new(
	struct msg_ring *ring, struct sw_enet *engine, uint32_t per_s, _Atomic uint64_t *counters)
{
	struct dp_lines *lines = aligned_alloc(64, sizeof(*lines));

	if (!lines)
		return NULL;
	memset(lines, 0, sizeof(*lines));
	lines->ring = ring;
	lines->engine = engine;
	lines->counters = counters;
	lines->cost_ns16 = 16 * NS_PER_S / per_s;
	lines->shared = SW_ENET_NO_SHARED;
	return lines;
}

void dp_lines_free(struct dp_lines *lines)
{
	free(lines);
}

const struct histogram *dp_lines_delay(const struct dp_lines *lines)
{
	return &lines->delay;
}

void dp_lines_take(struct dp_lines *lines)
{
	if (lines->at < lines->filled)
		return;
	lines->at = 0;
	lines->filled = msg_ring_pop(lines->ring, lines->slot, HAND_SLOTS);
}

static void begin_line(struct dp_lines *lines, const struct msg *message)
{
	if (lines->shared != SW_ENET_NO_SHARED)
		sw_enet_shared_release(lines->engine, lines->shared);
	lines->shared = SW_ENET_NO_SHARED;
	lines->shareable = true;
	lines->taken_ns = message->subject;
	lines->bytes = message->payload_bytes;
	memcpy(lines->payload, msg_payload(message), message->payload_bytes);
	count(lines, lines->bytes ? DP_C_CHAT_LINES : DP_C_RING_UNKNOWN);
}

/* Whether the peer is done with; false: it waits for memory. */
static bool deliver(struct dp_lines *lines, uint64_t peer, uint64_t now_ns)
{
	int rc = -EMSGSIZE;

	if (lines->shared != SW_ENET_NO_SHARED)
		rc = sw_enet_send_shared(lines->engine, peer, SW_CHANNEL_CHAT, lines->shared);
	if (rc == -EMSGSIZE)
		rc = sw_enet_send(lines->engine, peer, SW_CHANNEL_CHAT,
			SW_ENET_RELIABLE | SW_ENET_YIELDS, lines->payload, lines->bytes);
	if (rc == -EAGAIN) {
		if (!lines->stuck_ns)
			lines->stuck_ns = now_ns;
		if (now_ns - lines->stuck_ns < DP_LINES_PATIENCE_NS)
			return false;
		count(lines, DP_C_CHAT_MEMORY);
		return true;
	}
	if (rc == 0) {
		lines->stuck_ns = 0;
		count(lines, DP_C_CHAT_DELIVERIES);
	} else if (rc == -ESTALE) {
		count(lines, DP_C_CHAT_STALE);
	} else {
		count(lines, rc == -ENOBUFS ? DP_C_CHAT_SLOW : DP_C_CHAT_INVALID);
	}
	return true;
}

static uint64_t peer_at(const struct msg *list, uint32_t i)
{
	uint64_t peer;

	memcpy(&peer, msg_payload(list) + (size_t)i * sizeof(peer), sizeof(peer));
	return peer;
}

/* Up to most deliveries of the list. Returns how many there were; *done: it is at its end, or must
 * wait. */
static uint32_t send_list(
	struct dp_lines *lines, const struct msg *list, uint32_t most, uint64_t now_ns, bool *waits)
{
	uint32_t peers = list->payload_bytes / (uint32_t)sizeof(uint64_t), sent = 0;

	/* One alone has the packet in its own queue. A list that goes on was looked at before. */
	if (lines->shareable && peers > 1) {
		lines->shareable = false;
		lines->shared = sw_enet_shared_new(lines->engine, lines->payload, lines->bytes);
	}
	for (uint32_t i = lines->peer; i < peers && i < lines->peer + AHEAD; i++)
		sw_enet_prefetch(lines->engine, peer_at(list, i));
	while (sent < most && lines->peer < peers) {
		if (lines->peer + AHEAD < peers)
			sw_enet_prefetch(lines->engine, peer_at(list, lines->peer + AHEAD));
		if (!deliver(lines, peer_at(list, lines->peer), now_ns)) {
			*waits = true;
			return sent;
		}
		lines->peer++;
		sent++;
	}
	if (lines->peer < peers)
		return sent;
	histogram_add(&lines->delay, now_ns > lines->taken_ns ? now_ns - lines->taken_ns : 0);
	lines->peer = 0;
	lines->at += list->slots;
	return sent;
}

/* How many deliveries the turn and the rate leave. */
static uint32_t allowed(struct dp_lines *lines, uint64_t now_ns, enum dp_lines_pace pace)
{
	static const uint32_t turn[] = {
		[DP_LINES_FREE] = DP_LINES_TURN,
		[DP_LINES_BUSY] = DP_LINES_TURN / 4,
		[DP_LINES_TICKING] = 2,
		[DP_LINES_HELD] = 0,
	};
	uint64_t now = now_ns * 16, burst = DP_LINES_TURN * lines->cost_ns16, left;

	/* time that nobody used is not saved up, but for one turn's */
	if (lines->spent_ns16 + burst < now)
		lines->spent_ns16 = now - burst;
	left = now > lines->spent_ns16 ? (now - lines->spent_ns16) / lines->cost_ns16 : 0;
	return left < turn[pace] ? (uint32_t)left : turn[pace];
}

bool dp_lines_send(struct dp_lines *lines, uint64_t now_ns, enum dp_lines_pace pace)
{
	uint32_t left = allowed(lines, now_ns, pace);
	bool waits = false, any = lines->at < lines->filled;

	while (left && lines->at < lines->filled && !waits) {
		const struct msg *message = &lines->slot[lines->at];
		uint32_t sent = 1; /* what is none costs as much as one */

		if (message->type == MSG_CHAT_LINE) {
			begin_line(lines, message);
			lines->at += message->slots;
		} else if (message->type == MSG_CHAT_TO && lines->bytes &&
			   message->payload_bytes % sizeof(uint64_t) == 0) {
			sent = send_list(lines, message, left, now_ns, &waits);
		} else {
			count(lines, DP_C_RING_UNKNOWN);
			lines->at += message->slots;
		}
		left -= sent < left ? sent : left;
		lines->spent_ns16 += sent * lines->cost_ns16;
	}
	return any;
}
