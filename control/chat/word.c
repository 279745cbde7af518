#include "control/chat/word.h"

#include <endian.h>
#include <string.h>

#include "control/chat/text.h"

#define VERSION 1u

/* The fields in their order; little-endian. */
#define FIELDS_32(X) X(type) X(kind) X(reason) X(retry_ms) X(slow_ms) X(hops) X(body_bytes)
#define FIELDS_64(X)                                                                               \
	X(channel)                                                                                 \
	X(token)                                                                                   \
	X(sequence)                                                                                \
	X(session)                                                                                 \
	X(generation) X(target_id) X(target_session) X(request) X(sender_id) X(unix_ms)

#define COUNT(field) +1
enum {
	HEAD_BYTES =
		4 + 4 * (0 FIELDS_32(COUNT)) + 8 * (0 FIELDS_64(COUNT)) + 2 * CHARACTER_NAME_BYTES
};
#undef COUNT
_Static_assert(HEAD_BYTES + CHAT_BODY_MAX <= CHAT_WORD_BYTES, "the largest word fits");

static uint8_t *put_32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static uint8_t *put_64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

static uint32_t get_32(const uint8_t **at)
{
	uint32_t value;

	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	return le32toh(value);
}

static uint64_t get_64(const uint8_t **at)
{
	uint64_t value;

	memcpy(&value, *at, sizeof(value));
	*at += sizeof(value);
	return le64toh(value);
}

size_t chat_word_write(const struct chat_word *word, uint8_t out[CHAT_WORD_BYTES])
{
	uint8_t *at = put_32(out, VERSION);

	if (word->body_bytes > CHAT_BODY_MAX)
		return 0;
#define PUT_32(field) at = put_32(at, word->field);
#define PUT_64(field) at = put_64(at, word->field);
	FIELDS_32(PUT_32)
	FIELDS_64(PUT_64)
	memcpy(at, word->name, sizeof(word->name));
	at += sizeof(word->name);
	memcpy(at, word->key, sizeof(word->key));
	at += sizeof(word->key);
	if (word->body_bytes)
		memcpy(at, word->body, word->body_bytes);
	return (size_t)(at - out) + word->body_bytes;
}

/* Another node has looked at it, and Redis had it since. */
static bool text_good(const struct chat_word *word)
{
	enum chat_refusal name = chat_text_check(
		(const uint8_t *)word->name, strlen(word->name), sizeof(word->name) - 1);

	if (word->type != CHAT_WORD_SAY && word->type != CHAT_WORD_MOVED &&
		word->type != CHAT_WORD_WHISPER)
		return true;
	return (!name || name == CHAT_REFUSED_EMPTY) &&
	       !chat_text_check(word->body, word->body_bytes, CHAT_TEXT_MAX);
}

bool chat_word_read(struct chat_word *word, const uint8_t *bytes, size_t count)
{
	const uint8_t *at = bytes;

	memset(word, 0, sizeof(*word));
	if (count < HEAD_BYTES || get_32(&at) != VERSION)
		return false;
#define GET_32(field) word->field = get_32(&at);
#define GET_64(field) word->field = get_64(&at);
	FIELDS_32(GET_32)
	FIELDS_64(GET_64)
	memcpy(word->name, at, sizeof(word->name));
	at += sizeof(word->name);
	memcpy(word->key, at, sizeof(word->key));
	at += sizeof(word->key);
	word->name[sizeof(word->name) - 1] = word->key[sizeof(word->key) - 1] = 0;
	word->body = at;
	return word->type > CHAT_WORD_NONE && word->type < CHAT_WORD_COUNT &&
	       word->body_bytes == count - HEAD_BYTES && word->body_bytes <= CHAT_BODY_MAX &&
	       text_good(word);
}
