#include "control/admission/hello.h"

#include <string.h>

#include "common/check.h"
#include "control/admission/pb_arena.h"
#include "proto/client.pb-c.h"

enum hello_fault hello_read(
	struct hello *hello, const uint8_t *data, size_t bytes, uint8_t channel, uint16_t flags)
{
	struct pb_arena arena;
	Sw__Hello *message;

	if (!bytes)
		return HELLO_FAULT_EMPTY;
	if (data[0] != SW_MSG_HELLO)
		return HELLO_FAULT_TYPE;
	if (channel != SW_CHANNEL_SESSION || !(flags & MSG_SEND_RELIABLE))
		return HELLO_FAULT_CHANNEL;
	if (bytes > HELLO_BYTES_MAX)
		return HELLO_FAULT_OVERSIZE;
	message = sw__hello__unpack(pb_arena_init(&arena), bytes - 1, data + 1);
	if (!message)
		return HELLO_FAULT_MALFORMED;
	hello->protocol_version = message->protocol_version;
	hello->ticket_bytes = (uint32_t)message->ticket.len;
	if (message->ticket.len)
		memcpy(hello->ticket, message->ticket.data, message->ticket.len);
	return HELLO_FAULT_NONE;
}

const char *reason_text(uint32_t reason)
{
	switch (reason) {
#define CASE(name, value, text)                                                                    \
	case value:                                                                                \
		return text;
		SW_DISCONNECT_REASONS(CASE)
#undef CASE
	}
	return "unknown";
}

size_t reply_refused(
	uint8_t out[REPLY_BYTES_MAX], enum sw_disconnect_reason reason, uint32_t retry_after_ms)
{
	Sw__Refused message = SW__REFUSED__INIT;

	message.reason = reason;
	message.text = (char *)(uintptr_t)reason_text(reason);
	message.retry_after_ms = retry_after_ms;
	CHECK(1 + sw__refused__get_packed_size(&message) <= REPLY_BYTES_MAX);
	out[0] = SW_MSG_REFUSED;
	return 1 + sw__refused__pack(&message, out + 1);
}

size_t reply_admitted(
	uint8_t out[REPLY_BYTES_MAX], uint64_t character_id, const char *map, const char *node)
{
	Sw__Admitted message = SW__ADMITTED__INIT;

	message.character_id = character_id;
	message.map = (char *)(uintptr_t)map;
	message.node = (char *)(uintptr_t)node;
	CHECK(1 + sw__admitted__get_packed_size(&message) <= REPLY_BYTES_MAX);
	out[0] = SW_MSG_ADMITTED;
	return 1 + sw__admitted__pack(&message, out + 1);
}
