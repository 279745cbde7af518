#include "client/seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void on_send(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *packet, uint32_t bytes)
{
	struct seen *seen = ctx;

	assert_true(bytes <= sizeof(seen->packet));
	memcpy(seen->packet, packet, bytes);
	seen->packet_bytes = bytes;
	seen->channel = channel;
	seen->reliable = reliable;
	seen->sent++;
}

static void on_event(void *ctx, const struct swc_event *event)
{
	struct seen *seen = ctx;

	seen->events[event->type]++;
	if (seen->look)
		seen->look(event);
}

void seen_start(struct seen *seen)
{
	struct swc_session_ops ops = {.ctx = seen, .send = on_send, .event = on_event};

	memset(seen, 0, sizeof(*seen));
	swc_session_init(&seen->session, &ops, 1000);
	swc_session_connected(
		&seen->session, &(struct swc_hello){.protocol_version = SW_PROTOCOL_VERSION,
					.ticket = (const uint8_t *)"ticket",
					.ticket_bytes = 6,
					.client_build = "test"});
}

void seen_give(struct seen *seen, uint8_t channel, uint8_t type, const void *message)
{
	static uint8_t packet[65536];
	size_t bytes = 1 + protobuf_c_message_get_packed_size(message);

	assert_true(bytes <= sizeof(packet));
	packet[0] = type;
	protobuf_c_message_pack(message, packet + 1);
	swc_session_receive(&seen->session, channel, packet, bytes);
}

void seen_admit(struct seen *seen)
{
	Sw__Admitted message = SW__ADMITTED__INIT;

	message.character_id = SEEN_CHARACTER;
	message.map = "meadow";
	message.node = "node-1";
	seen_give(seen, SW_CHANNEL_SESSION, SW_MSG_ADMITTED, &message);
}

Sw__Joined seen_joined(void)
{
	Sw__Joined message = SW__JOINED__INIT;

	message.actor_id = SEEN_ACTOR;
	message.map = "meadow";
	message.width_mm = message.height_mm = 200000;
	message.x_mm = message.y_mm = 100000;
	message.tick = 1000;
	message.tick_hz = 20;
	message.speed_mm_per_s = 5000;
	return message;
}

void seen_join(struct seen *seen)
{
	Sw__Joined message = seen_joined();

	seen_give(seen, SW_CHANNEL_SESSION, SW_MSG_JOINED, &message);
}

void seen_start_playing(struct seen *seen)
{
	seen_start(seen);
	seen_admit(seen);
	seen_join(seen);
	assert_int_equal(seen->session.state, SWC_PLAYING);
}

void seen_stop(struct seen *seen)
{
	swc_session_free(&seen->session);
}

uint64_t seen_refused(const struct seen *seen)
{
	uint64_t sum = 0;

	for (int i = 0; i < SWC_REFUSAL_COUNT; i++)
		sum += seen->session.stats.refused[i];
	return sum;
}
