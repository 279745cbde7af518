#include "control/chat_feed.h"

#include <stdlib.h>
#include <string.h>

#include "common/handle.h"
#include "common/party.h"

#define SLOTS                                                                                      \
	((MSG_HEAD_BYTES + sizeof(struct msg_chat_player) + MSG_SLOT_BYTES - 1) / MSG_SLOT_BYTES)

struct chat_feed {
	void (*say)(void *ctx, const struct msg *message);
	void *ctx;
	uint64_t version;
	uint32_t sessions;
	struct msg_chat_player players[]; /* [sessions], by the index of the session's handle */
};

struct chat_feed *chat_feed_new(
	uint32_t sessions, void (*say)(void *ctx, const struct msg *message), void *ctx)
{
	struct chat_feed *feed =
		calloc(1, sizeof(*feed) + sessions * sizeof(struct msg_chat_player));

	if (!feed)
		return NULL;
	feed->say = say;
	feed->ctx = ctx;
	feed->sessions = sessions;
	return feed;
}

void chat_feed_free(struct chat_feed *feed)
{
	free(feed);
}

static struct msg_chat_player *entry(struct chat_feed *feed, uint64_t session)
{
	uint32_t index = handle_index(session);

	return index < feed->sessions ? &feed->players[index] : NULL;
}

static void say(struct chat_feed *feed, struct msg_chat_player *player)
{
	struct msg message[SLOTS];

	player->version = ++feed->version;
	memset(message, 0, sizeof(message));
	memcpy(msg_begin(message, MSG_CHAT_PLAYER, player->peer, sizeof(*player)), player,
		sizeof(*player));
	message->subject = player->session;
	feed->say(feed->ctx, message);
}

static void joining(struct chat_feed *feed, const struct msg *message)
{
	struct msg_player_join join;
	struct msg_chat_player *player;

	memcpy(&join, msg_payload(message), sizeof(join));
	player = entry(feed, join.session);
	if (!player)
		return;
	if (player->session != join.session)
		*player = (struct msg_chat_player){.session = join.session};
	player->peer = message->peer;
	player->character_id = join.character_id;
	player->generation = join.epoch;
	player->instance = join.instance;
	player->here = 1;
	memcpy(player->name, join.name, sizeof(player->name));
	memcpy(player->map, join.map, sizeof(player->map));
	say(feed, player);
}

static void party(struct chat_feed *feed, const struct msg *message)
{
	const uint8_t *at = msg_payload(message), *members = at + sizeof(struct msg_party_state);
	const uint8_t *targets;
	struct msg_party_state state;

	memcpy(&state, at, sizeof(state));
	targets = members + state.member_count * sizeof(struct msg_party_member);
	for (uint32_t t = 0; t < state.target_count; t++) {
		struct msg_party_target target;
		struct msg_chat_player *player;
		uint64_t party_id = 0;

		memcpy(&target, targets + t * sizeof(target), sizeof(target));
		for (uint32_t m = 0; m < state.member_count; m++) {
			struct msg_party_member member;

			memcpy(&member, members + m * sizeof(member), sizeof(member));
			if (member.character_id == target.character_id)
				party_id = state.party_id;
		}
		player = entry(feed, target.session);
		if (!player || player->session != target.session || !player->here ||
			player->party_id == party_id)
			continue;
		player->party_id = party_id;
		say(feed, player);
	}
}

void chat_feed_to_shard(struct chat_feed *feed, const struct msg *message)
{
	if (message->type == MSG_PLAYER_JOIN)
		joining(feed, message);
	else if (message->type == MSG_PARTY_STATE)
		party(feed, message);
}

void chat_feed_gone(struct chat_feed *feed, uint64_t session)
{
	struct msg_chat_player *player = entry(feed, session);

	if (!player || player->session != session || !player->here)
		return;
	player->here = 0;
	say(feed, player);
}

void chat_feed_again(struct chat_feed *feed, uint64_t session)
{
	struct msg_chat_player *player = entry(feed, session);

	if (player && player->session == session && player->here)
		say(feed, player);
}
