#include "control/chat/sanctions.h"

#include <stdlib.h>

#include "control/admission/map64.h"

struct sanction {
	uint64_t character_id, channel, until_ms;
};

struct chat_sanctions {
	struct map64 by_key;
	uint32_t count;
	struct sanction rows[CHAT_SANCTIONS_MAX];
};

struct chat_sanctions *chat_sanctions_new(void)
{
	struct chat_sanctions *sanctions = calloc(1, sizeof(*sanctions));

	if (sanctions && !map64_init(&sanctions->by_key, CHAT_SANCTIONS_MAX)) {
		free(sanctions);
		return NULL;
	}
	return sanctions;
}

void chat_sanctions_free(struct chat_sanctions *sanctions)
{
	if (!sanctions)
		return;
	map64_fini(&sanctions->by_key);
	free(sanctions);
}

/* Not 0. The channel's number is a hash already; turned, so that few pairs of both are one key. */
static uint64_t key(uint64_t character_id, uint64_t channel)
{
	uint64_t value = character_id * 0x9e3779b97f4a7c15u ^ (channel << 23 | channel >> 41);

	return value ? value : 1;
}

static uint32_t find(
	const struct chat_sanctions *sanctions, uint64_t character_id, uint64_t channel)
{
	uint32_t i = map64_get(&sanctions->by_key, key(character_id, channel));

	return i != MAP64_NONE && sanctions->rows[i].character_id == character_id &&
			       sanctions->rows[i].channel == channel
		       ? i
		       : MAP64_NONE;
}

static void drop(struct chat_sanctions *sanctions, uint32_t i)
{
	struct sanction *last = &sanctions->rows[--sanctions->count];

	map64_remove(&sanctions->by_key,
		key(sanctions->rows[i].character_id, sanctions->rows[i].channel));
	if (i == sanctions->count)
		return;
	sanctions->rows[i] = *last;
	map64_put(&sanctions->by_key, key(last->character_id, last->channel), i);
}

static void drop_ended(struct chat_sanctions *sanctions, uint64_t unix_ms)
{
	for (uint32_t i = 0; i < sanctions->count;)
		if (sanctions->rows[i].until_ms <= unix_ms)
			drop(sanctions, i);
		else
			i++;
}

bool chat_sanctions_set(struct chat_sanctions *sanctions, uint64_t character_id, uint64_t channel,
	uint64_t until_ms, uint64_t unix_ms)
{
	uint32_t i = find(sanctions, character_id, channel);

	if (until_ms <= unix_ms) {
		if (i != MAP64_NONE)
			drop(sanctions, i);
		return true;
	}
	if (i == MAP64_NONE) {
		if (sanctions->count == CHAT_SANCTIONS_MAX)
			drop_ended(sanctions, unix_ms);
		if (sanctions->count == CHAT_SANCTIONS_MAX ||
			map64_get(&sanctions->by_key, key(character_id, channel)) != MAP64_NONE)
			return false;
		i = sanctions->count;
		if (!map64_put(&sanctions->by_key, key(character_id, channel), i))
			return false;
		sanctions->count++;
	}
	sanctions->rows[i] = (struct sanction){character_id, channel, until_ms};
	return true;
}

uint64_t chat_sanctions_left(const struct chat_sanctions *sanctions, uint64_t character_id,
	uint64_t channel, uint64_t unix_ms)
{
	uint32_t i = find(sanctions, character_id, channel);

	return i == MAP64_NONE || sanctions->rows[i].until_ms <= unix_ms
		       ? 0
		       : sanctions->rows[i].until_ms - unix_ms;
}
