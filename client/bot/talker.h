/* talker.h: how a bot chats (--chat). It comes into the channel of a language, says lines in
 * whatever channels it is in, whispers to players near, and goes out and comes in again by chance.
 * What it says has its number in it: so who hears it knows that nothing of one speaker is out of
 * order. Pure: the same seed and the same events decide the same. Its caller carries out what it
 * decides. */
#ifndef SWC_BOT_TALKER_H
#define SWC_BOT_TALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "client/stormweir.h"

#define TALKER_REFUSALS_MAX 32u
#define TALKER_SPEAKERS     256u
#define TALKER_TEXT_BYTES   64u

struct talker_channel {
	uint64_t channel;
	uint32_t kind;
};

/* The last line of somebody in a channel; 0: of whispers. */
struct talker_speaker {
	uint64_t channel, sender_id;
	uint32_t number;
};

struct talker {
	uint64_t random, due_ns;
	struct talker_channel channels[SWC_CHANNELS_MAX];
	uint32_t count;
	struct talker_speaker speakers[TALKER_SPEAKERS];
	uint32_t next_speaker;
	uint32_t number;  /* of its last line or whisper */
	uint64_t request; /* the last one; 0: none yet */
	uint64_t said_ns; /* when a line was said that it has not heard itself; 0: none */
	char text[TALKER_TEXT_BYTES];
	/* counted */
	uint32_t said, whispers, joins, done, refused[TALKER_REFUSALS_MAX];
	uint32_t heard, whispered, own;
	uint32_t came, owners;           /* into channels; changes of their owners */
	uint64_t missed;                 /* lines, by their numbers */
	uint32_t disorder;               /* lines of one speaker that came out of order, or twice */
	uint64_t delay_ns, delay_ns_max; /* until it heard its own lines: sum, and the longest */
};

enum talker_what { TALKER_SAY, TALKER_WHISPER, TALKER_JOIN, TALKER_PART };

struct talker_act {
	enum talker_what what;
	uint64_t request, channel;
	const char *name, *text; /* until the next step */
};

void talker_init(struct talker *talker, uint64_t seed, uint32_t index);

/* It has connected again: it is in no channel. */
void talker_again(struct talker *talker);

void talker_event(struct talker *talker, const struct swc_self *self, const struct swc_event *event,
	uint64_t now_ns);

/* Whether it says something now. near: the name of a player in view, NULL: nobody is. */
bool talker_step(struct talker *talker, const struct swc_self *self, const char *near,
	uint64_t now_ns, struct talker_act *act);

#endif
