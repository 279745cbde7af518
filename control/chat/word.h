/* word: what a channel's owner and the gateways, which have the players, say to each other. On one
 * node it is a call; between nodes, bytes in a stream of Redis (word_write, word_read). Pure. */
#ifndef SW_CONTROL_CHAT_WORD_H
#define SW_CONTROL_CHAT_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/chat.h"

#define CHAT_NODES_MAX  NODES_MAX
#define CHAT_NODE_SELF  0u    /* the index of this node */
#define CHAT_TEXT_MAX   1024u /* most of chat.text_max */
#define CHAT_BODY_MAX   4032u /* a ChatLine, or as much history as fits a packet */
#define CHAT_WORD_BYTES (160u + 2 * CHARACTER_NAME_BYTES + CHAT_BODY_MAX)

/* X(id, meaning) */
#define CHAT_WORDS(X)                                                                              \
	/* gateway to owner */                                                                     \
	X(JOIN, "it has members of the channel; session: who has come, 0: tell all")               \
	X(PART, "it has none any more")                                                            \
	X(SAY, "session says body, the text, as request")                                          \
	X(SLOW, "an operator makes the channel slow: slow_ms; 0 no longer")                        \
	/* owner to gateway */                                                                     \
	X(STATE, "how the channel stands; body: its history, as fields of ChatChannel")            \
	X(LINE, "a line; body: the packet")                                                        \
	X(MOVED, "it is not the owner; the SAY comes back")                                        \
	X(DONE, "request of session is done")                                                      \
	X(REFUSED, "it is not, for reason")                                                        \
	/* gateway to gateway */                                                                   \
	X(WHISPER, "body, the text, for the session of target_id; DONE or REFUSED comes back")

#define CHAT_WORD_ENUM(id, meaning) CHAT_WORD_##id,
enum chat_word_type { CHAT_WORD_NONE, CHAT_WORDS(CHAT_WORD_ENUM) CHAT_WORD_COUNT };

/* What is not meant by the type is 0. */
struct chat_word {
	uint32_t type; /* enum chat_word_type */
	uint32_t kind; /* enum chat_kind */
	uint64_t channel;
	uint64_t token, sequence;
	uint64_t session;    /* of a player of the gateway */
	uint64_t generation; /* WHISPER: the target's, which must be of this one */
	uint64_t target_id, target_session;
	uint64_t request;
	uint64_t sender_id;
	uint64_t unix_ms;
	uint32_t reason; /* enum chat_refusal */
	uint32_t retry_ms, slow_ms;
	uint32_t hops;                   /* how often a SAY has come back */
	char name[CHARACTER_NAME_BYTES]; /* the sender's */
	char key[CHARACTER_NAME_BYTES];  /* JOIN: the channel's, for a person */
	uint32_t body_bytes;             /* at most CHAT_BODY_MAX */
	const uint8_t *body;             /* valid during the call */
};

/* Returns the bytes, at most CHAT_WORD_BYTES; 0: the body is too large. */
size_t chat_word_write(const struct chat_word *word, uint8_t out[CHAT_WORD_BYTES]);
/* False: the bytes are no word of this version, or what somebody says in it is no text. body points
 * into bytes. */
bool chat_word_read(struct chat_word *word, const uint8_t *bytes, size_t count);

#endif
