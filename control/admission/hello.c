#include "control/admission/hello.h"

#include <string.h>

#include "common/check.h"
#include "proto/client.pb-c.h"

static enum hello_fault envelope_read(
	uint8_t type, const uint8_t *data, size_t bytes, uint8_t channel, uint16_t flags)
{
	if (!bytes)
		return HELLO_FAULT_EMPTY;
	if (data[0] != type)
		return HELLO_FAULT_TYPE;
	if (channel != SW_CHANNEL_SESSION || !(flags & MSG_SEND_RELIABLE))
		return HELLO_FAULT_CHANNEL;
	return bytes > HELLO_BYTES_MAX ? HELLO_FAULT_OVERSIZE : HELLO_FAULT_NONE;
}

enum hello_fault hello_read(struct hello *hello, struct pb_arena *arena, const uint8_t *data,
	size_t bytes, uint8_t channel, uint16_t flags)
{
	enum hello_fault fault = envelope_read(SW_MSG_HELLO, data, bytes, channel, flags);
	Sw__Hello *message;

	if (fault != HELLO_FAULT_NONE)
		return fault;
	message = sw__hello__unpack(pb_arena_init(arena), bytes - 1, data + 1);
	if (!message)
		return HELLO_FAULT_MALFORMED;
	*hello = (struct hello){.protocol_version = message->protocol_version,
		.ticket_bytes = (uint32_t)message->ticket.len,
		.ticket = message->ticket.data,
		.pass_bytes = (uint32_t)message->pass.len,
		.pass = message->pass.data,
		.place_bytes = (uint32_t)message->place.len,
		.place = message->place.data,
		.solved = message->solution != NULL,
		.redirects = message->redirects};
	if (hello->solved) {
		hello->challenge_bytes = (uint32_t)message->solution->challenge.len;
		hello->challenge = message->solution->challenge.data;
		hello->number = message->solution->number;
	}
	return HELLO_FAULT_NONE;
}

enum hello_fault redirect_failed_read(uint32_t *reason, struct pb_arena *arena, const uint8_t *data,
	size_t bytes, uint8_t channel, uint16_t flags)
{
	enum hello_fault fault = envelope_read(SW_MSG_REDIRECT_FAILED, data, bytes, channel, flags);
	Sw__RedirectFailed *message;

	if (fault != HELLO_FAULT_NONE)
		return fault;
	message = sw__redirect_failed__unpack(pb_arena_init(arena), bytes - 1, data + 1);
	if (!message)
		return HELLO_FAULT_MALFORMED;
	*reason = message->reason;
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

size_t reply_challenge(uint8_t out[REPLY_BYTES_MAX],
	const uint8_t challenge[SW_PROOF_CHALLENGE_BYTES], uint32_t bits, uint32_t good_for_ms)
{
	Sw__Challenge message = SW__CHALLENGE__INIT;

	message.challenge.len = SW_PROOF_CHALLENGE_BYTES;
	message.challenge.data = (uint8_t *)(uintptr_t)challenge;
	message.bits = bits;
	message.good_for_ms = good_for_ms;
	CHECK(1 + sw__challenge__get_packed_size(&message) <= REPLY_BYTES_MAX);
	out[0] = SW_MSG_CHALLENGE;
	return 1 + sw__challenge__pack(&message, out + 1);
}

size_t reply_redirect(
	uint8_t out[REPLY_BYTES_MAX], const char *address, const uint8_t *pass, size_t bytes)
{
	Sw__Redirect message = SW__REDIRECT__INIT;

	message.address = (char *)(uintptr_t)address;
	message.pass.len = bytes;
	message.pass.data = (uint8_t *)(uintptr_t)pass;
	CHECK(1 + sw__redirect__get_packed_size(&message) <= REPLY_BYTES_MAX);
	out[0] = SW_MSG_REDIRECT;
	return 1 + sw__redirect__pack(&message, out + 1);
}

size_t reply_return_pass(
	uint8_t out[REPLY_BYTES_MAX], const uint8_t *pass, size_t bytes, uint32_t good_for_s)
{
	Sw__ReturnPass message = SW__RETURN_PASS__INIT;

	message.pass.len = bytes;
	message.pass.data = (uint8_t *)(uintptr_t)pass;
	message.good_for_s = good_for_s;
	CHECK(1 + sw__return_pass__get_packed_size(&message) <= REPLY_BYTES_MAX);
	out[0] = SW_MSG_RETURN_PASS;
	return 1 + sw__return_pass__pack(&message, out + 1);
}

size_t reply_queued(uint8_t out[REPLY_BYTES_MAX], const struct gate_standing *standing,
	const uint8_t *place, size_t bytes)
{
	Sw__Queued message = SW__QUEUED__INIT;

	_Static_assert((int)SW__QUEUE_STATE__QUEUE_OPEN == (int)GATE_OPEN &&
			       (int)SW__QUEUE_STATE__QUEUE_REBUILDING == (int)GATE_REBUILDING,
		"the same numbers");
	message.state = (Sw__QueueState)standing->state;
	message.position = standing->position;
	message.wait_ms = standing->wait_ms;
	message.place.len = place ? bytes : 0;
	message.place.data = (uint8_t *)(uintptr_t)place;
	CHECK(1 + sw__queued__get_packed_size(&message) <= REPLY_BYTES_MAX);
	out[0] = SW_MSG_QUEUED;
	return 1 + sw__queued__pack(&message, out + 1);
}
