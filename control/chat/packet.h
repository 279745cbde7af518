/* packet: chat's messages to clients, as packets: the type's byte and the body (docs/protocol.md).
 * Each function returns the bytes written, 0 where they do not fit. Pure. */
#ifndef SW_CONTROL_CHAT_PACKET_H
#define SW_CONTROL_CHAT_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "control/chat/owner.h"

/* ChatLine; as a packet, and (history) as a field of ChatChannel, without its channel. */
size_t chat_packet_line(const struct chat_said *said, uint8_t *out, size_t bytes);
size_t chat_packet_history(const struct chat_said *said, uint8_t *out, size_t bytes);
/* ChatChannel; history as chat_packet_history wrote it. */
size_t chat_packet_channel(
	const struct chat_word *state, const char *name, uint8_t *out, size_t bytes);
size_t chat_packet_left(uint64_t channel, uint8_t *out, size_t bytes);
/* ChatWhispered of a WHISPER; ChatDone; ChatRefused. */
size_t chat_packet_whispered(const struct chat_word *word, uint8_t *out, size_t bytes);
size_t chat_packet_done(
	uint64_t request, uint64_t token, uint64_t sequence, uint8_t *out, size_t bytes);
size_t chat_packet_refused(
	uint64_t request, enum chat_refusal reason, uint32_t retry_ms, uint8_t *out, size_t bytes);
size_t chat_packet_announcement(uint64_t number, const char *text, uint32_t text_bytes,
	uint64_t unix_ms, uint8_t *out, size_t bytes);

#endif
