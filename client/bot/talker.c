#include "client/bot/talker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/bot/random.h"

#define NS_PER_MS 1000000ull

/* What bots say begins with it; then the number. What others say has no number. */
#define WORDS "line "

void talker_init(struct talker *talker, uint64_t seed, uint32_t index)
{
	*talker = (struct talker){.random = bot_random_begin(seed + 7, index)};
	do
		talker->request = bot_random(&talker->random) << 16;
	while (!talker->request);
}

void talker_again(struct talker *talker)
{
	talker->count = 0;
	talker->said_ns = 0;
}

static void on_channel(struct talker *talker, const struct swc_event *event)
{
	uint32_t i = 0;

	while (i < talker->count && talker->channels[i].channel != event->chat_channel.channel)
		i++;
	talker->owners += event->chat_channel.owner_changed;
	if (event->chat_channel.left) {
		if (i < talker->count)
			talker->channels[i] = talker->channels[--talker->count];
	} else if (i == talker->count && i < SWC_CHANNELS_MAX) {
		talker->came++;
		talker->channels[talker->count++] = (struct talker_channel){
			event->chat_channel.channel, event->chat_channel.kind};
	}
}

/* A bot's line or whisper has a greater number than the one before it. */
static void hear(struct talker *talker, uint64_t channel, const struct swc_line *line)
{
	unsigned long number;
	uint32_t i = 0;

	if (strncmp(line->text, WORDS, strlen(WORDS)))
		return;
	number = strtoul(line->text + strlen(WORDS), NULL, 10);
	while (i < TALKER_SPEAKERS && (talker->speakers[i].channel != channel ||
					      talker->speakers[i].sender_id != line->sender_id))
		i++;
	if (i == TALKER_SPEAKERS) {
		i = talker->next_speaker++ % TALKER_SPEAKERS; /* somebody is forgotten */
		talker->speakers[i] =
			(struct talker_speaker){.channel = channel, .sender_id = line->sender_id};
	}
	talker->disorder += number <= talker->speakers[i].number;
	talker->speakers[i].number = (uint32_t)number;
}

static void on_line(struct talker *talker, const struct swc_self *self,
	const struct swc_event *event, uint64_t now_ns)
{
	talker->heard++;
	talker->missed += event->chat_line.missed;
	talker->owners += event->chat_line.owner_changed;
	hear(talker, event->chat_line.channel, &event->chat_line.line);
	if (event->chat_line.line.sender_id != self->character_id)
		return;
	talker->own++;
	if (!talker->said_ns)
		return;
	talker->delay_ns += now_ns - talker->said_ns;
	if (now_ns - talker->said_ns > talker->delay_ns_max)
		talker->delay_ns_max = now_ns - talker->said_ns;
	talker->said_ns = 0;
}

void talker_event(struct talker *talker, const struct swc_self *self, const struct swc_event *event,
	uint64_t now_ns)
{
	switch (event->type) {
	case SWC_EVENT_CHAT_CHANNEL:
		on_channel(talker, event);
		break;
	case SWC_EVENT_CHAT_LINE:
		on_line(talker, self, event, now_ns);
		break;
	case SWC_EVENT_CHAT_WHISPER:
		talker->whispered++;
		hear(talker, 0, &event->whisper);
		break;
	case SWC_EVENT_CHAT_DONE:
		talker->done++;
		break;
	case SWC_EVENT_CHAT_REFUSED:
		talker->refused[event->chat_refused.reason < TALKER_REFUSALS_MAX
					? event->chat_refused.reason
					: 0]++;
		if (event->chat_refused.request == talker->request)
			talker->said_ns = 0;
		break;
	default:
		break;
	}
}

static const struct talker_channel *language(const struct talker *talker)
{
	for (uint32_t i = 0; i < talker->count; i++)
		if (talker->channels[i].kind == SWC_CHANNEL_LANGUAGE)
			return &talker->channels[i];
	return NULL;
}

bool talker_step(struct talker *talker, const struct swc_self *self, const char *near,
	uint64_t now_ns, struct talker_act *act)
{
	const struct talker_channel *spoken = language(talker);
	uint32_t dice;

	if (now_ns < talker->due_ns)
		return false;
	talker->due_ns = now_ns + (1500 + bot_random_below(&talker->random, 2000)) * NS_PER_MS;
	dice = bot_random_below(&talker->random, 100);
	*act = (struct talker_act){.request = ++talker->request, .name = "", .text = talker->text};
	if (!spoken && (dice < 30 || !talker->count)) {
		act->what = TALKER_JOIN;
		act->name = dice % 2 ? "de" : "en";
		talker->joins++;
		return true;
	}
	if (spoken && dice < 3) {
		act->what = TALKER_PART;
		act->channel = spoken->channel;
		return true;
	}
	snprintf(talker->text, sizeof(talker->text), WORDS "%u of %llu", ++talker->number,
		(unsigned long long)self->character_id);
	if (near && dice < 25) {
		act->what = TALKER_WHISPER;
		act->name = near;
		talker->whispers++;
		return true;
	}
	if (!talker->count)
		return false;
	act->what = TALKER_SAY;
	act->channel = talker->channels[bot_random_below(&talker->random, talker->count)].channel;
	talker->said++;
	talker->said_ns = now_ns;
	return true;
}
