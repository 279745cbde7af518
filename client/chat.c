#include "client/chat.h"

#include <stddef.h>

static struct swc_chat_channel *find(struct swc_chat *chat, uint64_t channel)
{
	for (uint32_t i = 0; i < chat->count; i++)
		if (chat->channels[i].channel == channel)
			return &chat->channels[i];
	return NULL;
}

bool swc_chat_in(
	struct swc_chat *chat, uint64_t channel, uint64_t token, uint64_t sequence, bool *owner)
{
	struct swc_chat_channel *known = find(chat, channel);

	*owner = known && token > known->token;
	/* What was said before this may still be on its way, behind it: its own numbers say. */
	if (*owner)
		*known = (struct swc_chat_channel){.channel = channel, .token = token};
	if (known)
		return true;
	if (chat->count == SWC_CHANNELS_MAX)
		return false;
	chat->channels[chat->count++] = (struct swc_chat_channel){channel, token, sequence};
	return true;
}

bool swc_chat_out(struct swc_chat *chat, uint64_t channel)
{
	struct swc_chat_channel *known = find(chat, channel);

	if (!known)
		return false;
	*known = chat->channels[--chat->count];
	return true;
}

enum swc_chat_line swc_chat_line(struct swc_chat *chat, uint64_t channel, uint64_t token,
	uint64_t sequence, uint64_t *missed, bool *owner)
{
	struct swc_chat_channel *known = find(chat, channel);

	if (!known)
		return SWC_CHAT_UNKNOWN;
	if (token < known->token)
		return SWC_CHAT_OLD;
	*owner = token > known->token;
	if (*owner)
		*known = (struct swc_chat_channel){.channel = channel, .token = token};
	if (sequence <= known->sequence)
		return SWC_CHAT_REPEAT;
	*missed = sequence - known->sequence - 1;
	known->sequence = sequence;
	return SWC_CHAT_NEW;
}

bool swc_chat_whisper(struct swc_chat *chat, uint64_t token, uint64_t sequence)
{
	for (uint32_t i = 0; i < SWC_WHISPERS_KNOWN; i++)
		if (chat->whispers[i].token == token && chat->whispers[i].sequence == sequence)
			return false;
	chat->whispers[chat->next_whisper].token = token;
	chat->whispers[chat->next_whisper].sequence = sequence;
	chat->next_whisper = (chat->next_whisper + 1) % SWC_WHISPERS_KNOWN;
	return true;
}

bool swc_chat_announced(struct swc_chat *chat, uint64_t number)
{
	if (number <= chat->announced)
		return false;
	chat->announced = number;
	return true;
}
