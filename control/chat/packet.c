#include "control/chat/packet.h"

#include <string.h>

#include "proto/client.pb-c.h"
#include "proto/message_types.h"

/* A text field of protobuf-c is a C string; what chat keeps is checked text with a length. */
struct text {
	char bytes[CHAT_TEXT_MAX + 1];
};

static char *text_of(struct text *text, const char *from, size_t bytes)
{
	if (bytes > CHAT_TEXT_MAX)
		bytes = CHAT_TEXT_MAX;
	memcpy(text->bytes, from, bytes);
	text->bytes[bytes] = 0;
	return text->bytes;
}

static size_t pack(
	const ProtobufCMessage *message, enum sw_message_type type, uint8_t *out, size_t bytes)
{
	if (1 + protobuf_c_message_get_packed_size(message) > bytes)
		return 0;
	out[0] = (uint8_t)type;
	return 1 + protobuf_c_message_pack(message, out + 1);
}

static void fill_line(Sw__ChatLine *line, const struct chat_said *said, struct text *text)
{
	sw__chat_line__init(line);
	line->token = said->token;
	line->sequence = said->sequence;
	line->sender_id = said->sender_id;
	line->sender = (char *)said->sender;
	line->text = text_of(text, said->text, said->text_bytes);
	line->unix_ms = said->unix_ms;
}

size_t chat_packet_line(const struct chat_said *said, uint8_t *out, size_t bytes)
{
	struct text text;
	Sw__ChatLine line;

	fill_line(&line, said, &text);
	line.channel = said->channel;
	return pack(&line.base, SW_MSG_CHAT_LINE, out, bytes);
}

size_t chat_packet_history(const struct chat_said *said, uint8_t *out, size_t bytes)
{
	Sw__ChatLine line, *lines[] = {&line};
	Sw__ChatChannel channel = SW__CHAT_CHANNEL__INIT;
	struct text text;

	fill_line(&line, said, &text);
	channel.n_history = 1;
	channel.history = lines;
	if (sw__chat_channel__get_packed_size(&channel) > bytes)
		return 0;
	return sw__chat_channel__pack(&channel, out);
}

size_t chat_packet_channel(
	const struct chat_word *state, const char *name, uint8_t *out, size_t bytes)
{
	Sw__ChatChannel channel = SW__CHAT_CHANNEL__INIT;
	size_t used;

	channel.channel = state->channel;
	channel.kind = (Sw__ChatKind)state->kind;
	channel.name = (char *)name;
	channel.token = state->token;
	channel.sequence = state->sequence;
	channel.slow_ms = state->slow_ms;
	used = pack(&channel.base, SW_MSG_CHAT_CHANNEL, out, bytes);
	if (!used || used + state->body_bytes > bytes)
		return 0;
	/* Fields that follow are fields of the same message. */
	if (state->body_bytes)
		memcpy(out + used, state->body, state->body_bytes);
	return used + state->body_bytes;
}

size_t chat_packet_left(uint64_t number, uint8_t *out, size_t bytes)
{
	Sw__ChatChannel channel = SW__CHAT_CHANNEL__INIT;

	channel.channel = number;
	channel.left = 1;
	return pack(&channel.base, SW_MSG_CHAT_CHANNEL, out, bytes);
}

size_t chat_packet_whispered(const struct chat_word *word, uint8_t *out, size_t bytes)
{
	Sw__ChatWhispered whisper = SW__CHAT_WHISPERED__INIT;
	struct text text;

	whisper.token = word->token;
	whisper.sequence = word->sequence;
	whisper.sender_id = word->sender_id;
	whisper.sender = (char *)word->name;
	whisper.text = text_of(&text, (const char *)word->body, word->body_bytes);
	whisper.unix_ms = word->unix_ms;
	return pack(&whisper.base, SW_MSG_CHAT_WHISPERED, out, bytes);
}

size_t chat_packet_done(
	uint64_t request, uint64_t token, uint64_t sequence, uint8_t *out, size_t bytes)
{
	Sw__ChatDone done = SW__CHAT_DONE__INIT;

	done.request = request;
	done.token = token;
	done.sequence = sequence;
	return pack(&done.base, SW_MSG_CHAT_DONE, out, bytes);
}

size_t chat_packet_refused(
	uint64_t request, enum chat_refusal reason, uint32_t retry_ms, uint8_t *out, size_t bytes)
{
	Sw__ChatRefused refused = SW__CHAT_REFUSED__INIT;

	refused.request = request;
	refused.reason = (Sw__ChatRefusal)reason;
	refused.retry_after_ms = retry_ms;
	return pack(&refused.base, SW_MSG_CHAT_REFUSED, out, bytes);
}

size_t chat_packet_announcement(uint64_t number, const char *from, uint32_t text_bytes,
	uint64_t unix_ms, uint8_t *out, size_t bytes)
{
	Sw__ChatAnnouncement announcement = SW__CHAT_ANNOUNCEMENT__INIT;
	struct text text;

	announcement.number = number;
	announcement.text = text_of(&text, from, text_bytes);
	announcement.unix_ms = unix_ms;
	return pack(&announcement.base, SW_MSG_CHAT_ANNOUNCEMENT, out, bytes);
}
