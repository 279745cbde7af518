/* Fuzz target: whatever a server sends, the session reads nothing outside it, stays within its
 * limits, and never moves its character off the map. The input is packets one after the other: a
 * byte of flags (channel, ticks to make after it), a byte of length, the packet. It begins on the
 * map, or, if the first byte of all is odd, at the door. */
#include <stdlib.h>
#include <string.h>

#include "client/session.h"

#define ACTORS_MAX 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore_packet(
	void *ctx, uint8_t channel, bool reliable, const uint8_t *packet, uint32_t bytes)
{
	(void)ctx;
	(void)channel;
	(void)reliable;
	(void)packet;
	(void)bytes;
}

static void read_event(void *ctx, const struct swc_event *event)
{
	volatile size_t *sum = ctx;

	if (event->type == SWC_EVENT_DIALOGUE)
		*sum += strlen(event->dialogue.text);
	if (event->type == SWC_EVENT_ENTER || event->type == SWC_EVENT_LEAVE)
		*sum += strlen(event->actor->name);
}

static void check(bool good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Admitted; Joined: actor 17 on 500 m x 500 m (docs/protocol.md) */
	static const uint8_t admitted[] = {0x02, 0x08, 42};
	static const uint8_t joined[] = {0x40, 0x08, 0x11, 0x18, 0xa0, 0xc2, 0x1e, 0x20, 0xa0, 0xc2,
		0x1e, 0x28, 0xa0, 0xc2, 0x1e, 0x30, 0xa0, 0xc2, 0x1e, 0x40, 0xe8, 0x07, 0x48, 0x14,
		0x50, 0x88, 0x27};
	volatile size_t sum = 0;
	struct swc_session_ops ops = {
		.ctx = (void *)&sum, .send = ignore_packet, .event = read_event};
	struct swc_session *session = malloc(sizeof(*session));
	bool door = size && data[0] & 1;

	if (size)
		data++, size--;
	check(session != NULL);
	swc_session_init(session, &ops, ACTORS_MAX);
	swc_session_connected(session, &(struct swc_hello){.protocol_version = 1,
					       .ticket = (const uint8_t *)"t",
					       .ticket_bytes = 1,
					       .client_build = "fuzz"});
	session->proof_bits_max = 8;
	if (!door) {
		swc_session_receive(session, 0, admitted, sizeof(admitted));
		swc_session_receive(session, 0, joined, sizeof(joined));
		check(session->state == SWC_PLAYING);
	}
	swc_session_walk(session, 100, -50);

	while (size >= 2) {
		size_t bytes = data[1] < size - 2 ? data[1] : size - 2;
		uint8_t *packet = malloc(bytes ? bytes : 1); /* ends where the packet ends */

		check(packet != NULL);
		memcpy(packet, data + 2, bytes);
		swc_session_receive(session, data[0] & 3, packet, bytes);
		free(packet);
		for (int tick = 0; tick < data[0] >> 2; tick++)
			swc_session_tick(session);
		swc_session_work(session, data[0] >> 2);
		check(session->state == SWC_PLAYING || door);
		check(session->proof.bits <= 8 && session->pass_bytes <= SWC_PASS_BYTES_MAX);
		check(session->view.count <= ACTORS_MAX);
		check(session->self.input_applied <= session->self.input_sequence);
		if (session->joined && data[0] >> 2) /* the server's word is taken as it is, a step
							never leaves the map */
			check(sw_move_legal(
				&session->prediction.map, session->self.x_mm, session->self.y_mm));
		data += 2 + bytes;
		size -= 2 + bytes;
	}
	swc_session_free(session);
	free(session);
	return 0;
}
