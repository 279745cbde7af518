/* Channels are not ordered against each other: what is said here may come before Joined, and before
 * Admitted. */
#include "client/session_chat.h"

#include <string.h>

#include "proto/client.pb-c.h"
#include "proto/message_types.h"

static void emit(struct swc_session *session, const struct swc_event *event)
{
	session->ops.event(session->ops.ctx, event);
}

static bool text_fits(const char *text, size_t bytes_max)
{
	return strnlen(text, bytes_max) < bytes_max;
}

static bool is_line(const Sw__ChatLine *line)
{
	return line->token && line->sequence && text_fits(line->sender, SWC_NAME_BYTES) &&
	       text_fits(line->text, SWC_TEXT_BYTES_MAX);
}

static struct swc_line line_of(const Sw__ChatLine *line)
{
	return (struct swc_line){.token = line->token,
		.sequence = line->sequence,
		.sender_id = line->sender_id,
		.unix_ms = line->unix_ms,
		.sender = line->sender,
		.text = line->text};
}

enum swc_refusal swc_session_on_chat_line(struct swc_session *session, const void *message)
{
	const Sw__ChatLine *line = message;
	struct swc_event event = {.type = SWC_EVENT_CHAT_LINE};
	bool owner = false;

	if (!is_line(line))
		return SWC_REFUSAL_OUT_OF_RANGE;
	switch (swc_chat_line(&session->chat, line->channel, line->token, line->sequence,
		&event.chat_line.missed, &owner)) {
	case SWC_CHAT_NEW:
		break;
	case SWC_CHAT_REPEAT:
		session->stats.chat_repeats++;
		return SWC_REFUSAL_COUNT;
	case SWC_CHAT_OLD:
		session->stats.chat_old++;
		return SWC_REFUSAL_COUNT;
	case SWC_CHAT_UNKNOWN:
		session->stats.chat_unknown++;
		return SWC_REFUSAL_COUNT;
	}
	session->stats.chat_lines++;
	session->stats.chat_missed += event.chat_line.missed;
	event.chat_line.channel = line->channel;
	event.chat_line.owner_changed = owner;
	event.chat_line.line = line_of(line);
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

enum swc_refusal swc_session_on_chat_whispered(struct swc_session *session, const void *message)
{
	const Sw__ChatWhispered *whisper = message;
	struct swc_event event = {.type = SWC_EVENT_CHAT_WHISPER};

	if (!whisper->token || !whisper->sequence || !text_fits(whisper->sender, SWC_NAME_BYTES) ||
		!text_fits(whisper->text, SWC_TEXT_BYTES_MAX))
		return SWC_REFUSAL_OUT_OF_RANGE;
	if (!swc_chat_whisper(&session->chat, whisper->token, whisper->sequence)) {
		session->stats.chat_repeats++;
		return SWC_REFUSAL_COUNT;
	}
	session->stats.whispers++;
	event.whisper = (struct swc_line){.token = whisper->token,
		.sequence = whisper->sequence,
		.sender_id = whisper->sender_id,
		.unix_ms = whisper->unix_ms,
		.sender = whisper->sender,
		.text = whisper->text};
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

enum swc_refusal swc_session_on_chat_done(struct swc_session *session, const void *message)
{
	const Sw__ChatDone *done = message;
	struct swc_event event = {.type = SWC_EVENT_CHAT_DONE};

	if (!done->request)
		return SWC_REFUSAL_OUT_OF_RANGE;
	event.chat_done.request = done->request;
	event.chat_done.token = done->token;
	event.chat_done.sequence = done->sequence;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

enum swc_refusal swc_session_on_chat_refused(struct swc_session *session, const void *message)
{
	const Sw__ChatRefused *refused = message;
	struct swc_event event = {.type = SWC_EVENT_CHAT_REFUSED};

	session->stats.chat_refused++;
	event.chat_refused.request = refused->request;
	event.chat_refused.reason = (uint32_t)refused->reason;
	event.chat_refused.text = swc_chat_refusal_text((uint32_t)refused->reason);
	event.chat_refused.retry_after_ms = refused->retry_after_ms;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

enum swc_refusal swc_session_on_chat_channel(struct swc_session *session, const void *message)
{
	const Sw__ChatChannel *channel = message;
	struct swc_event event = {.type = SWC_EVENT_CHAT_CHANNEL};
	struct swc_line history[SWC_HISTORY_MAX];
	bool owner = false;

	if (!channel->channel || !text_fits(channel->name, SWC_NAME_BYTES) ||
		channel->n_history > SWC_HISTORY_MAX || (!channel->left && !channel->token))
		return SWC_REFUSAL_OUT_OF_RANGE;
	for (size_t i = 0; i < channel->n_history; i++) {
		if (!is_line(channel->history[i]))
			return SWC_REFUSAL_OUT_OF_RANGE;
		history[i] = line_of(channel->history[i]);
	}
	if (channel->left) {
		if (!swc_chat_out(&session->chat, channel->channel))
			return SWC_REFUSAL_COUNT; /* one was not in it */
	} else if (!swc_chat_in(&session->chat, channel->channel, channel->token, channel->sequence,
			   &owner)) {
		return SWC_REFUSAL_NO_MEMORY;
	}
	event.chat_channel.channel = channel->channel;
	event.chat_channel.kind = (uint32_t)channel->kind;
	event.chat_channel.name = channel->name;
	event.chat_channel.left = channel->left;
	event.chat_channel.owner_changed = owner;
	event.chat_channel.slow_ms = channel->slow_ms;
	event.chat_channel.history = history;
	event.chat_channel.count = (uint32_t)channel->n_history;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

enum swc_refusal swc_session_on_chat_announcement(struct swc_session *session, const void *message)
{
	const Sw__ChatAnnouncement *said = message;
	struct swc_event event = {.type = SWC_EVENT_ANNOUNCEMENT};

	if (!said->number || !text_fits(said->text, SWC_TEXT_BYTES_MAX))
		return SWC_REFUSAL_OUT_OF_RANGE;
	if (!swc_chat_announced(&session->chat, said->number)) {
		session->stats.chat_repeats++;
		return SWC_REFUSAL_COUNT;
	}
	event.announcement.number = said->number;
	event.announcement.text = said->text;
	event.announcement.unix_ms = said->unix_ms;
	emit(session, &event);
	return SWC_REFUSAL_COUNT;
}

static void send(struct swc_session *session, uint8_t type, const ProtobufCMessage *message)
{
	swc_session_send(session, SW_CHANNEL_CHAT, true, type, message);
}

void swc_session_say(
	struct swc_session *session, uint64_t request, uint64_t channel, const char *text)
{
	Sw__ChatSay say = SW__CHAT_SAY__INIT;

	say.request = request;
	say.channel = channel;
	say.text = (char *)text;
	send(session, SW_MSG_CHAT_SAY, &say.base);
}

void swc_session_whisper(struct swc_session *session, uint64_t request, uint64_t character_id,
	const char *name, const char *text)
{
	Sw__ChatWhisper whisper = SW__CHAT_WHISPER__INIT;

	whisper.request = request;
	whisper.character_id = character_id;
	if (name)
		whisper.name = (char *)name;
	whisper.text = (char *)text;
	send(session, SW_MSG_CHAT_WHISPER, &whisper.base);
}

void swc_session_channel_join(
	struct swc_session *session, uint64_t request, int kind, const char *name)
{
	Sw__ChatJoin join = SW__CHAT_JOIN__INIT;

	join.request = request;
	join.kind = (Sw__ChatKind)kind;
	join.name = (char *)name;
	send(session, SW_MSG_CHAT_JOIN, &join.base);
}

void swc_session_channel_part(struct swc_session *session, uint64_t request, uint64_t channel)
{
	Sw__ChatPart part = SW__CHAT_PART__INIT;

	part.request = request;
	part.channel = channel;
	send(session, SW_MSG_CHAT_PART, &part.base);
}

void swc_session_block(
	struct swc_session *session, uint64_t request, uint64_t character_id, bool unblock)
{
	Sw__ChatBlock block = SW__CHAT_BLOCK__INIT;

	block.request = request;
	block.character_id = character_id;
	block.unblock = unblock;
	send(session, SW_MSG_CHAT_BLOCK, &block.base);
}

void swc_session_chat_report(struct swc_session *session, uint64_t request, uint64_t channel,
	uint64_t token, uint64_t sequence, const char *why)
{
	Sw__ChatReport report = SW__CHAT_REPORT__INIT;

	report.request = request;
	report.channel = channel;
	report.token = token;
	report.sequence = sequence;
	report.why = (char *)why;
	send(session, SW_MSG_CHAT_REPORT, &report.base);
}

void swc_session_announcements(struct swc_session *session, uint64_t request, uint64_t after)
{
	Sw__ChatFetch fetch = SW__CHAT_FETCH__INIT;

	fetch.request = request;
	fetch.after = after;
	send(session, SW_MSG_CHAT_FETCH, &fetch.base);
}
