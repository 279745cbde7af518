#include <string.h>

#include "common/log_events.h"

bool log_event_push(struct msg_ring *ring, enum log_event event, uint32_t thread, uint64_t now_ns,
	uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const struct msg_log_event log = {now_ns, event, thread, {a, b, c, d}};
	struct msg message[2];

	memcpy(msg_begin(message, MSG_LOG_EVENT, 0, sizeof(log)), &log, sizeof(log));
	return msg_ring_push(ring, message);
}

bool log_event_push_text(struct msg_ring *ring, enum log_event event, uint32_t thread,
	uint64_t now_ns, uint64_t a, uint64_t b, const char *text, uint32_t bytes)
{
	const struct msg_log_event log = {now_ns, event, thread, {a, b, 0, 0}};
	struct msg
		message[1 + (MSG_HEAD_BYTES + sizeof(log) + LOG_EVENT_TEXT_BYTES) / MSG_SLOT_BYTES];
	uint8_t *payload;

	if (bytes > LOG_EVENT_TEXT_BYTES)
		bytes = LOG_EVENT_TEXT_BYTES;
	payload = msg_begin(message, MSG_LOG_EVENT, 0, (uint32_t)sizeof(log) + bytes);
	memcpy(payload, &log, sizeof(log));
	if (bytes)
		memcpy(payload + sizeof(log), text, bytes);
	return msg_ring_push(ring, message);
}
