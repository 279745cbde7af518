/* chat.h: what a client knows of the numbers of lines and whispers (docs/protocol.md, Chat): which
 * come for the first time, which again, and what is missing. Pure; belongs to a session. */
#ifndef SWC_CHAT_H
#define SWC_CHAT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/stormweir.h"

#define SWC_WHISPERS_KNOWN 64u

struct swc_chat_channel {
	uint64_t channel;         /* its number */
	uint64_t token, sequence; /* of the last line */
};

struct swc_chat {
	struct swc_chat_channel channels[SWC_CHANNELS_MAX];
	uint32_t count;
	struct {
		uint64_t token, sequence;
	} whispers[SWC_WHISPERS_KNOWN]; /* the last ones; token 0: none */
	uint32_t next_whisper;
	uint64_t announced; /* number of the last announcement */
};

enum swc_chat_line {
	SWC_CHAT_NEW,
	SWC_CHAT_REPEAT,  /* came before */
	SWC_CHAT_OLD,     /* of an owner that is none any more */
	SWC_CHAT_UNKNOWN, /* of a channel that one is not in */
};

/* One is in a channel: as of this line, if one was not before; else only a later owner says
 * anything new. *owner: it has another one than it had. False: SWC_CHANNELS_MAX are known. */
bool swc_chat_in(
	struct swc_chat *chat, uint64_t channel, uint64_t token, uint64_t sequence, bool *owner);

/* One is in it no longer. False: one was not. */
bool swc_chat_out(struct swc_chat *chat, uint64_t channel);

/* A line of a channel. With SWC_CHAT_NEW *missed says how many lines before it have not come, and
 * *owner as above. */
enum swc_chat_line swc_chat_line(struct swc_chat *chat, uint64_t channel, uint64_t token,
	uint64_t sequence, uint64_t *missed, bool *owner);

/* Whether a whisper comes for the first time. */
bool swc_chat_whisper(struct swc_chat *chat, uint64_t token, uint64_t sequence);

/* Whether an announcement is newer than all before it. */
bool swc_chat_announced(struct swc_chat *chat, uint64_t number);

#endif
