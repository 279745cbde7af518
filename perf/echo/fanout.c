#include "perf/echo/fanout.h"

#include <stdlib.h>
#include <string.h>

#include "common/chat.h"
#include "common/handle.h"
#include "common/msg_ring.h"

#define RING_SLOTS 4096u
#define WAITING    8u
#define LINE_BYTES 1400u

struct fanout {
	struct msg_ring *ring;
	struct dp_lines *lines;
	uint64_t *member; /* [count], in no order */
	uint32_t *place;  /* [peers_max]: where a peer's slot stands in member */
	uint32_t count;
	struct {
		uint64_t said_ns;
		uint32_t bytes;
		uint8_t payload[LINE_BYTES];
	} line[WAITING];
	uint32_t first, waiting;
	bool begun;    /* the first line is in the ring */
	uint32_t next; /* member of its lists */
	struct msg_buffer message;
};

struct fanout *fanout_new(
	struct sw_enet *engine, uint32_t peers_max, uint32_t per_s, _Atomic uint64_t *counters)
{
	struct fanout *fanout = aligned_alloc(64, (sizeof(*fanout) + 63) & ~(size_t)63);

	if (!fanout)
		return NULL;
	memset(fanout, 0, sizeof(*fanout));
	fanout->member = calloc(peers_max, sizeof(*fanout->member));
	fanout->place = calloc(peers_max, sizeof(*fanout->place));
	fanout->ring = msg_ring_new("lines", RING_SLOTS);
	if (fanout->ring)
		fanout->lines = dp_lines_new(fanout->ring, engine, per_s, counters);
	if (fanout->member && fanout->place && fanout->lines)
		return fanout;
	fanout_free(fanout);
	return NULL;
}

void fanout_free(struct fanout *fanout)
{
	if (!fanout)
		return;
	dp_lines_free(fanout->lines);
	if (fanout->ring)
		msg_ring_free(fanout->ring);
	free(fanout->member);
	free(fanout->place);
	free(fanout);
}

void fanout_come(struct fanout *fanout, uint64_t peer)
{
	fanout->place[handle_index(peer)] = fanout->count;
	fanout->member[fanout->count++] = peer;
}

void fanout_go(struct fanout *fanout, uint64_t peer)
{
	uint32_t place = fanout->place[handle_index(peer)];

	if (place >= fanout->count || fanout->member[place] != peer)
		return; /* told twice */
	fanout->member[place] = fanout->member[--fanout->count];
	fanout->place[handle_index(fanout->member[place])] = place;
}

bool fanout_say(struct fanout *fanout, const void *payload, uint32_t bytes, uint64_t now_ns)
{
	uint32_t at = (fanout->first + fanout->waiting) % WAITING;

	if (fanout->waiting == WAITING || bytes > LINE_BYTES)
		return false;
	fanout->line[at].said_ns = now_ns;
	fanout->line[at].bytes = bytes;
	memcpy(fanout->line[at].payload, payload, bytes);
	fanout->waiting++;
	return true;
}

/* Puts what the ring takes of the first line's lists into it. */
static void push(struct fanout *fanout)
{
	struct msg *message = fanout->message.slot;

	if (!fanout->begun) {
		uint32_t bytes = fanout->line[fanout->first].bytes;

		memcpy(msg_begin(message, MSG_CHAT_LINE, HANDLE_NONE, bytes),
			fanout->line[fanout->first].payload, bytes);
		message->subject = fanout->line[fanout->first].said_ns;
		if (!msg_ring_push(fanout->ring, message))
			return;
		fanout->begun = true;
		fanout->next = 0;
	}
	while (fanout->next < fanout->count) {
		uint32_t left = fanout->count - fanout->next;
		uint32_t peers = left < CHAT_TO_MAX ? left : (uint32_t)CHAT_TO_MAX;
		uint32_t bytes = peers * (uint32_t)sizeof(uint64_t);

		if (msg_ring_room(fanout->ring) < msg_slots(bytes))
			return;
		memcpy(msg_begin(message, MSG_CHAT_TO, HANDLE_NONE, bytes),
			&fanout->member[fanout->next], bytes);
		(void)msg_ring_push(fanout->ring, message);
		fanout->next += peers;
	}
	fanout->begun = false;
	fanout->first = (fanout->first + 1) % WAITING;
	fanout->waiting--;
}

bool fanout_step(struct fanout *fanout, uint64_t now_ns, enum dp_lines_pace pace)
{
	if (fanout->waiting)
		push(fanout);
	dp_lines_take(fanout->lines);
	return dp_lines_send(fanout->lines, now_ns, pace);
}
