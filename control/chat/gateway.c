#include "control/chat/gateway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/handle.h"
#include "common/mono.h"
#include "control/chat/gateway_internal.h"
#include "control/chat/packet.h"

/* ---- set-up ---- */

void chat_gateway_free(struct chat_gateway *gateway)
{
	if (!gateway)
		return;
	map64_fini(&gateway->by_peer);
	map64_fini(&gateway->by_character);
	map64_fini(&gateway->by_name);
	map64_fini(&gateway->by_number);
	free(gateway->players);
	free(gateway->rooms);
	free(gateway->heads);
	free(gateway->cursors);
	free(gateway->jobs);
	free(gateway);
}

struct chat_gateway *chat_gateway_new(const struct sw_config *config, uint32_t workers,
	uint32_t sessions, _Atomic uint64_t *counters, const struct chat_sanctions *sanctions,
	const struct chat_gateway_ops *ops)
{
	size_t bytes = (sizeof(struct chat_gateway) + 63) & ~(size_t)63, lists;
	struct chat_gateway *gateway = aligned_alloc(64, bytes);

	if (!gateway)
		return NULL;
	memset(gateway, 0, bytes);
	gateway->config = config;
	gateway->ops = *ops;
	gateway->counters = counters;
	gateway->sanctions = sanctions;
	gateway->global = chat_channel_number(config->node.realm_id, CHAT_KIND_GLOBAL, "");
	gateway->workers = workers;
	gateway->sessions = sessions;
	gateway->rooms_max = config->chat.channels_max;
	lists = (size_t)gateway->rooms_max * workers * sizeof(uint32_t);
	gateway->players = calloc(sessions, sizeof(*gateway->players));
	gateway->rooms = calloc(gateway->rooms_max, sizeof(*gateway->rooms));
	gateway->heads = malloc(lists);
	gateway->cursors = malloc(lists);
	if (!gateway->players || !gateway->rooms || !gateway->heads || !gateway->cursors ||
		!map64_init(&gateway->by_peer, sessions) ||
		!map64_init(&gateway->by_character, sessions) ||
		!map64_init(&gateway->by_name, sessions) ||
		!map64_init(&gateway->by_number, gateway->rooms_max) ||
		!chat_fanout_init(gateway)) {
		chat_gateway_free(gateway);
		return NULL;
	}
	memset(gateway->heads, 0xff, lists);
	memset(gateway->cursors, 0xff, lists);
	for (uint32_t i = 0; i < gateway->rooms_max; i++)
		gateway->rooms[i].next = i + 1 < gateway->rooms_max ? i + 1 : NONE;
	for (uint32_t i = 0; i < sessions; i++)
		for (uint32_t m = 0; m < CHAT_MEMBERSHIPS_MAX; m++)
			gateway->players[i].in[m].channel = NONE;
	return gateway;
}

void chat_gateway_filter(struct chat_gateway *gateway, const struct chat_filter *filter)
{
	gateway->filter = filter;
	counter_put(&gateway->counters[CHAT_C_WORDS_LISTED], chat_filter_words(filter));
}

void chat_gateway_token(struct chat_gateway *gateway, uint64_t token)
{
	gateway->node_token = token;
	gateway->whispers = 0;
}

uint64_t chat_gateway_global(const struct chat_gateway *gateway)
{
	return gateway->global;
}

/* ---- who is who ---- */

static struct player *player_at(const struct chat_gateway *gateway, uint32_t index)
{
	return index == MAP64_NONE ? NULL : &gateway->players[index];
}

struct player *chat_player_of_session(const struct chat_gateway *gateway, uint64_t session)
{
	uint32_t index = handle_index(session);
	struct player *player;

	if (index >= gateway->sessions)
		return NULL;
	player = &gateway->players[index];
	return player->is.here && player->is.session == session ? player : NULL;
}

struct player *chat_player_of_character(const struct chat_gateway *gateway, uint64_t character_id)
{
	return player_at(gateway, map64_get(&gateway->by_character, character_id));
}

static uint64_t name_key(const char *name)
{
	return chat_channel_number(0, CHAT_KIND_NONE, name);
}

struct player *chat_player_of_name(const struct chat_gateway *gateway, const char *name)
{
	struct player *player = player_at(gateway, map64_get(&gateway->by_name, name_key(name)));

	return player && !strncmp(player->is.name, name, sizeof(player->is.name)) ? player : NULL;
}

struct room *chat_room_of(const struct chat_gateway *gateway, uint64_t number)
{
	uint32_t index = map64_get(&gateway->by_number, number);

	return index == MAP64_NONE ? NULL : &gateway->rooms[index];
}

bool chat_gateway_find(const struct chat_gateway *gateway, uint64_t character_id, const char *name,
	struct msg_chat_player *out)
{
	const struct player *player = character_id ? chat_player_of_character(gateway, character_id)
						   : chat_player_of_name(gateway, name);

	if (player)
		*out = player->is;
	return player != NULL;
}

void chat_gateway_each(const struct chat_gateway *gateway,
	void (*fn)(void *ctx, const struct msg_chat_player *player), void *ctx)
{
	for (uint32_t i = 0; i < gateway->sessions; i++)
		if (gateway->players[i].is.here)
			fn(ctx, &gateway->players[i].is);
}

/* ---- what one is sent ---- */

void chat_send_player(struct chat_gateway *gateway, const struct player *player,
	const uint8_t *packet, size_t bytes)
{
	if (bytes)
		gateway->ops.send(gateway->ops.ctx, player->is.peer, packet, bytes);
}

void chat_send_refused(struct chat_gateway *gateway, const struct player *player, uint64_t request,
	enum chat_refusal reason, uint32_t retry_ms)
{
	uint8_t packet[64];

	if (reason <= CHAT_REFUSED_NONE || reason >= CHAT_REFUSAL_COUNT)
		reason = CHAT_REFUSED_UNAVAILABLE; /* of a newer node */
	chat_count(gateway->counters, CHAT_C_REFUSED(reason), 1);
	chat_send_player(gateway, player, packet,
		chat_packet_refused(request, reason, retry_ms, packet, sizeof(packet)));
}

void chat_send_done(struct chat_gateway *gateway, const struct player *player, uint64_t request,
	uint64_t token, uint64_t sequence)
{
	uint8_t packet[64];

	if (request)
		chat_send_player(gateway, player, packet,
			chat_packet_done(request, token, sequence, packet, sizeof(packet)));
}

void chat_gateway_answer(
	struct chat_gateway *gateway, uint64_t session, uint64_t request, enum chat_refusal reason)
{
	const struct player *player = chat_player_of_session(gateway, session);

	if (!player)
		chat_count(gateway->counters, CHAT_C_STALE, 1);
	else if (reason)
		chat_send_refused(gateway, player, request, reason, 0);
	else
		chat_send_done(gateway, player, request, 0, 0);
}

void chat_gateway_send(
	struct chat_gateway *gateway, uint64_t session, const uint8_t *packet, size_t bytes)
{
	const struct player *player = chat_player_of_session(gateway, session);

	if (player)
		chat_send_player(gateway, player, packet, bytes);
}

/* ---- channels with members here ---- */

static void gauges(struct chat_gateway *gateway)
{
	counter_put(&gateway->counters[CHAT_C_PLAYERS], gateway->player_count);
	counter_put(&gateway->counters[CHAT_C_CHANNELS], gateway->room_count);
}

static void room_close(struct chat_gateway *gateway, struct room *room)
{
	const struct chat_word part = {.type = CHAT_WORD_PART, .channel = room->number};

	chat_fanout_drop(gateway, room);
	map64_remove(&gateway->by_number, room->number);
	memset(room, 0, sizeof(*room));
	room->next = gateway->room_free;
	gateway->room_free = (uint32_t)(room - gateway->rooms);
	gateway->room_count--;
	gateway->ops.to_owner(gateway->ops.ctx, &part);
}

static struct room *room_open(
	struct chat_gateway *gateway, uint64_t number, uint32_t kind, const char *name)
{
	struct room *room = chat_room_of(gateway, number);

	if (room || gateway->room_free == NONE)
		return room;
	room = &gateway->rooms[gateway->room_free];
	gateway->room_free = room->next;
	*room = (struct room){.number = number,
		.kind = kind,
		.next = NONE,
		.prev = NONE,
		.job_head = NONE,
		.job_tail = NONE};
	snprintf(room->name, sizeof(room->name), "%s", name);
	map64_put(&gateway->by_number, number, (uint32_t)(room - gateway->rooms));
	gateway->room_count++;
	return room;
}

static uint32_t *list_of(struct chat_gateway *gateway, const struct room *room, uint64_t peer)
{
	return &gateway->heads[(size_t)(room - gateway->rooms) * gateway->workers +
			       handle_owner(peer)];
}

static uint32_t number_of(
	const struct chat_gateway *gateway, const struct player *player, const struct membership *m)
{
	return (uint32_t)(player - gateway->players) * CHAT_MEMBERSHIPS_MAX +
	       (uint32_t)(m - player->in);
}

/* From now on it gets the channel's lines. In front: a fan-out that is under way goes on behind. */
static void list_member(struct chat_gateway *gateway, struct player *player, struct membership *m)
{
	uint32_t *head = list_of(gateway, &gateway->rooms[m->channel], m->peer);
	uint32_t number = number_of(gateway, player, m);

	m->prev = NONE;
	m->next = *head;
	if (*head != NONE)
		membership_at(gateway, *head)->prev = number;
	*head = number;
	m->listed = true;
	gateway->rooms[m->channel].listed++;
}

static void unlist_member(struct chat_gateway *gateway, struct player *player, struct membership *m)
{
	struct room *room = &gateway->rooms[m->channel];

	chat_fanout_unlist(
		gateway, room, handle_owner(m->peer), number_of(gateway, player, m), m->next);
	*(m->prev == NONE ? list_of(gateway, room, m->peer)
			  : &membership_at(gateway, m->prev)->next) = m->next;
	if (m->next != NONE)
		membership_at(gateway, m->next)->prev = m->prev;
	m->listed = false;
	room->listed--;
}

struct membership *chat_membership(
	const struct chat_gateway *gateway, struct player *player, uint64_t number)
{
	for (uint32_t i = 0; i < CHAT_MEMBERSHIPS_MAX; i++)
		if (player->in[i].channel != NONE &&
			gateway->rooms[player->in[i].channel].number == number)
			return &player->in[i];
	return NULL;
}

static void ask(struct chat_gateway *gateway, struct room *room, uint64_t session, uint64_t request,
	uint64_t now_ns)
{
	struct chat_word word = {.type = CHAT_WORD_JOIN,
		.channel = room->number,
		.kind = room->kind,
		.session = session,
		.request = request};

	room->asked_ns = now_ns;
	gateway->ops.to_owner(gateway->ops.ctx, &word);
}

enum chat_refusal chat_enter(struct chat_gateway *gateway, struct player *player, uint64_t number,
	uint32_t kind, const char *name, uint64_t request, uint64_t now_ns)
{
	struct membership *m = NULL;
	struct room *room;

	for (uint32_t i = 0; !m && i < CHAT_MEMBERSHIPS_MAX; i++)
		if (player->in[i].channel == NONE)
			m = &player->in[i];
	if (!m) {
		chat_count(gateway->counters, CHAT_C_NO_MEMBERSHIP, 1);
		return CHAT_REFUSED_TOO_MANY_CHANNELS;
	}
	room = room_open(gateway, number, kind, name);
	if (!room) {
		chat_count(gateway->counters, CHAT_C_NO_CHANNEL, 1);
		return CHAT_REFUSED_UNAVAILABLE;
	}
	*m = (struct membership){
		.channel = (uint32_t)(room - gateway->rooms), .peer = player->is.peer};
	room->members++;
	ask(gateway, room, player->is.session, request, now_ns);
	return CHAT_REFUSED_NONE;
}

void chat_leave(
	struct chat_gateway *gateway, struct player *player, struct membership *m, bool tell)
{
	struct room *room = &gateway->rooms[m->channel];
	uint8_t packet[32];

	if (m->listed) {
		unlist_member(gateway, player, m);
		if (tell)
			chat_send_player(gateway, player, packet,
				chat_packet_left(room->number, packet, sizeof(packet)));
	}
	m->channel = NONE;
	if (!--room->members)
		room_close(gateway, room);
}

/* ---- players ---- */

struct wanted {
	uint64_t number;
	uint32_t kind;
	char name[CHARACTER_NAME_BYTES];
};

static void want(const struct chat_gateway *gateway, struct wanted *wanted, uint32_t *count,
	enum chat_kind kind, const char *key, const char *name)
{
	struct wanted *w = &wanted[(*count)++];

	w->number = chat_channel_number(gateway->config->node.realm_id, kind, key);
	w->kind = kind;
	snprintf(w->name, sizeof(w->name), "%s", name);
}

/* The channels that follow from what a player is; languages are its own choice. */
static uint32_t wanted_of(
	const struct chat_gateway *gateway, const struct msg_chat_player *is, struct wanted *wanted)
{
	char key[CHAT_KEY_BYTES];
	uint32_t count = 0;

	want(gateway, wanted, &count, CHAT_KIND_GLOBAL, "", "");
	if (is->instance) { /* an instance's number is its node's own */
		snprintf(key, sizeof(key), "%016llx%08x",
			(unsigned long long)chat_channel_number(
				0, CHAT_KIND_MAP, gateway->config->node.name),
			is->instance);
		want(gateway, wanted, &count, CHAT_KIND_MAP, key, is->map);
	}
	snprintf(key, sizeof(key), "%llu", (unsigned long long)is->party_id);
	if (is->party_id)
		want(gateway, wanted, &count, CHAT_KIND_PARTY, key, "");
	snprintf(key, sizeof(key), "%llu", (unsigned long long)is->guild_id);
	if (is->guild_id)
		want(gateway, wanted, &count, CHAT_KIND_GUILD, key, "");
	return count;
}

static void join_and_leave(struct chat_gateway *gateway, struct player *player, uint64_t now_ns)
{
	struct wanted wanted[4];
	uint32_t count = wanted_of(gateway, &player->is, wanted);

	for (uint32_t i = 0; i < CHAT_MEMBERSHIPS_MAX; i++) {
		struct membership *m = &player->in[i];
		uint32_t w = 0;

		if (m->channel == NONE || gateway->rooms[m->channel].kind == CHAT_KIND_LANGUAGE)
			continue;
		while (w < count && wanted[w].number != gateway->rooms[m->channel].number)
			w++;
		if (w == count)
			chat_leave(gateway, player, m, true);
	}
	for (uint32_t w = 0; w < count; w++)
		if (!chat_membership(gateway, player, wanted[w].number))
			chat_enter(gateway, player, wanted[w].number, wanted[w].kind,
				wanted[w].name, 0, now_ns);
}

static void player_gone(struct chat_gateway *gateway, struct player *player)
{
	uint32_t index = (uint32_t)(player - gateway->players);

	for (uint32_t i = 0; i < CHAT_MEMBERSHIPS_MAX; i++)
		if (player->in[i].channel != NONE)
			chat_leave(gateway, player, &player->in[i], false);
	map64_remove(&gateway->by_peer, player->is.peer);
	if (map64_get(&gateway->by_character, player->is.character_id) == index) {
		map64_remove(&gateway->by_character, player->is.character_id);
		gateway->ops.presence(gateway->ops.ctx, &player->is, false, false);
	}
	if (map64_get(&gateway->by_name, player->name_key) == index)
		map64_remove(&gateway->by_name, player->name_key);
	player->is.here = 0;
	player->block_count = 0;
	player->blocks_known = false;
	gateway->player_count--;
}

static void player_new(
	struct chat_gateway *gateway, struct player *player, const struct msg_chat_player *is)
{
	uint32_t index = (uint32_t)(player - gateway->players);

	player->is = *is;
	player->name_key = name_key(is->name);
	player->bucket = (struct chat_bucket){0};
	map64_put(&gateway->by_peer, is->peer, index);
	map64_put(&gateway->by_character, is->character_id, index);
	map64_put(&gateway->by_name, player->name_key, index);
	gateway->player_count++;
}

void chat_gateway_player(
	struct chat_gateway *gateway, const struct msg_chat_player *is, uint64_t now_ns)
{
	uint32_t index = handle_index(is->session);
	struct player *player, *older;

	chat_count(gateway->counters, CHAT_C_EVENTS, 1);
	if (index >= gateway->sessions || !is->session || !is->peer || !is->character_id ||
		handle_owner(is->peer) >= gateway->workers ||
		!memchr(is->name, 0, sizeof(is->name)) || !memchr(is->map, 0, sizeof(is->map))) {
		chat_count(gateway->counters, CHAT_C_EVENTS_BAD, 1);
		return;
	}
	player = &gateway->players[index];
	if (is->version <= player->is.version) {
		chat_count(gateway->counters, CHAT_C_EVENTS_OLD, 1);
		return;
	}
	if (player->is.here && (player->is.session != is->session || !is->here))
		player_gone(gateway, player);
	player->is.version = is->version;
	if (!is->here) {
		gauges(gateway);
		return;
	}
	older = chat_player_of_character(gateway, is->character_id);
	if (older && older != player) { /* a newer session of the same character */
		if (older->is.generation > is->generation) {
			gauges(gateway);
			return;
		}
		player_gone(gateway, older);
	}
	gateway->ops.presence(
		gateway->ops.ctx, is, true, !player->is.here || !player->blocks_known);
	if (player->is.here)
		player->is = *is;
	else
		player_new(gateway, player, is);
	join_and_leave(gateway, player, now_ns);
	gauges(gateway);
}

void chat_gateway_expel(struct chat_gateway *gateway, uint64_t character_id, uint64_t channel)
{
	struct player *player = chat_player_of_character(gateway, character_id);
	struct membership *m = player ? chat_membership(gateway, player, channel) : NULL;

	if (m && m->listed) {
		uint8_t packet[32];

		/* It stays a member in name, so that it comes back when the ban ends. */
		unlist_member(gateway, player, m);
		chat_send_player(
			gateway, player, packet, chat_packet_left(channel, packet, sizeof(packet)));
	}
}

bool chat_blocks(const struct player *player, uint64_t character_id)
{
	for (uint32_t i = 0; i < player->block_count; i++)
		if (player->blocked[i] == character_id)
			return true;
	return false;
}

void chat_gateway_blocks(struct chat_gateway *gateway, uint64_t character_id,
	const uint64_t *blocked, uint32_t count)
{
	struct player *player = chat_player_of_character(gateway, character_id);

	if (!player)
		return;
	/* What it has blocked since this was asked for stays. */
	for (uint32_t i = 0; i < count && player->block_count < CHAT_BLOCKS_MAX; i++)
		if (!chat_blocks(player, blocked[i]))
			player->blocked[player->block_count++] = blocked[i];
	player->blocks_known = true;
}

/* ---- words ---- */

static bool fenced(struct chat_gateway *gateway, const struct chat_word *word)
{
	uint64_t *token = &gateway->tokens[chat_slot(word->channel)];

	if (word->token < *token) {
		chat_count(gateway->counters, CHAT_C_FENCED, 1);
		return true;
	}
	*token = word->token;
	return false;
}

static void welcome(struct chat_gateway *gateway, struct player *player, struct membership *m,
	const struct chat_word *state, uint64_t unix_ms)
{
	struct room *room = &gateway->rooms[m->channel];

	if (chat_sanctions_left(
		    gateway->sanctions, player->is.character_id, room->number, unix_ms)) {
		if (state->request)
			chat_send_refused(gateway, player, state->request, CHAT_REFUSED_BANNED, 0);
		return;
	}
	if (!m->listed)
		list_member(gateway, player, m);
	chat_send_player(gateway, player, gateway->packet,
		chat_packet_channel(state, room->name, gateway->packet, sizeof(gateway->packet)));
	chat_send_done(gateway, player, state->request, 0, 0);
}

/* Members that the owner's answer has not reached, or whose ban has ended. That is a look at every
 * session: not for each who comes, or one who is banned makes all logins dear. */
static void welcome_late(struct chat_gateway *gateway, struct room *room,
	const struct chat_word *state, uint64_t now_ns, uint64_t unix_ms)
{
	struct chat_word word = *state;

	if (room->listed == room->members ||
		(room->late_ns && now_ns - room->late_ns < CHAT_ASK_MS * NS_PER_MS))
		return;
	room->late_ns = now_ns;
	word.request = 0;
	for (uint32_t p = 0; p < gateway->sessions && room->listed < room->members; p++) {
		struct player *player = &gateway->players[p];
		struct membership *m =
			player->is.here ? chat_membership(gateway, player, state->channel) : NULL;

		if (m && !m->listed)
			welcome(gateway, player, m, &word, unix_ms);
	}
}

static void on_state(struct chat_gateway *gateway, const struct chat_word *state, uint64_t now_ns,
	uint64_t unix_ms)
{
	struct room *room = chat_room_of(gateway, state->channel);
	struct player *player;
	struct membership *m;
	bool changed;

	if (!room || fenced(gateway, state))
		return;
	changed = room->token && (room->token != state->token || room->slow_ms != state->slow_ms);
	room->known = true;
	room->slow_ms = state->slow_ms;
	room->token = state->token;
	if (changed) { /* another owner, or slow: all of them are told, without history */
		struct chat_word word = *state;

		word.body_bytes = 0;
		chat_fanout_add(gateway, room, gateway->packet,
			chat_packet_channel(
				&word, room->name, gateway->packet, sizeof(gateway->packet)),
			now_ns);
	}
	player = state->session ? chat_player_of_session(gateway, state->session) : NULL;
	m = player ? chat_membership(gateway, player, state->channel) : NULL;
	if (m)
		welcome(gateway, player, m, state, unix_ms);
	else if (state->session)
		chat_count(gateway->counters, CHAT_C_STALE, 1);
	welcome_late(gateway, room, state, now_ns, unix_ms);
}

static void on_line(struct chat_gateway *gateway, const struct chat_word *word, uint64_t now_ns)
{
	struct room *room = chat_room_of(gateway, word->channel);

	if (!room || fenced(gateway, word))
		return;
	if (!chat_fanout_add(gateway, room, word->body, word->body_bytes, now_ns))
		chat_count(gateway->counters, CHAT_C_DROPPED_FANOUT, 1);
}

/* A SAY came to a node that is not the owner: the owner is looked up again, once. */
static void on_moved(struct chat_gateway *gateway, const struct chat_word *word)
{
	const struct player *player = chat_player_of_session(gateway, word->session);
	struct chat_word again = *word;

	again.type = CHAT_WORD_SAY;
	if (!player)
		chat_count(gateway->counters, CHAT_C_STALE, 1);
	else if (word->hops > 1)
		chat_send_refused(
			gateway, player, word->request, CHAT_REFUSED_UNAVAILABLE, CHAT_ASK_MS);
	else
		gateway->ops.to_owner(gateway->ops.ctx, &again);
}

enum chat_refusal chat_whisper(
	struct chat_gateway *gateway, struct player *target, const struct chat_word *word)
{
	if (chat_blocks(target, word->sender_id))
		return CHAT_REFUSED_BLOCKED;
	chat_send_player(gateway, target, gateway->packet,
		chat_packet_whispered(word, gateway->packet, sizeof(gateway->packet)));
	chat_count(gateway->counters, CHAT_C_WHISPERS, 1);
	return CHAT_REFUSED_NONE;
}

static void on_whisper(struct chat_gateway *gateway, uint32_t node, const struct chat_word *word)
{
	struct player *target = chat_player_of_character(gateway, word->target_id);
	struct chat_word answer = *word;

	answer.body_bytes = 0;
	/* Whoever was meant has gone, or come again: nothing that was for the session before. */
	if (!target || target->is.session != word->target_session ||
		target->is.generation != word->generation) {
		chat_count(gateway->counters, CHAT_C_STALE, 1);
		answer.reason = CHAT_REFUSED_OFFLINE;
	} else {
		answer.reason = chat_whisper(gateway, target, word);
	}
	answer.type = answer.reason ? CHAT_WORD_REFUSED : CHAT_WORD_DONE;
	gateway->ops.to_node(gateway->ops.ctx, node, &answer);
}

void chat_gateway_word(struct chat_gateway *gateway, uint32_t node, const struct chat_word *word,
	uint64_t now_ns, uint64_t unix_ms)
{
	const struct player *player;

	switch (word->type) {
	case CHAT_WORD_STATE:
		on_state(gateway, word, now_ns, unix_ms);
		return;
	case CHAT_WORD_LINE:
		on_line(gateway, word, now_ns);
		return;
	case CHAT_WORD_MOVED:
		on_moved(gateway, word);
		return;
	case CHAT_WORD_WHISPER:
		on_whisper(gateway, node, word);
		return;
	case CHAT_WORD_DONE:
	case CHAT_WORD_REFUSED:
		player = chat_player_of_session(gateway, word->session);
		if (!player)
			chat_count(gateway->counters, CHAT_C_STALE, 1);
		else if (word->type == CHAT_WORD_DONE)
			chat_send_done(gateway, player, word->request, word->token, word->sequence);
		else
			chat_send_refused(gateway, player, word->request,
				(enum chat_refusal)word->reason, word->retry_ms);
		return;
	default:
		chat_count(gateway->counters, CHAT_C_WORDS_BAD, 1);
	}
}

void chat_gateway_owner_changed(struct chat_gateway *gateway, uint32_t slot, uint64_t now_ns)
{
	for (uint32_t i = 0; i < gateway->rooms_max && gateway->room_count; i++)
		if (gateway->rooms[i].number && chat_slot(gateway->rooms[i].number) == slot)
			ask(gateway, &gateway->rooms[i], 0, 0, now_ns);
}

/* A part of the channels at each call, so that all are looked at about once a second. */
static void ask_again(struct chat_gateway *gateway, uint64_t now_ns)
{
	uint32_t count = gateway->rooms_max / 512 + 1;

	for (; count && gateway->room_count; count--) {
		struct room *room = &gateway->rooms[gateway->ask_next];
		uint32_t every_ms = room->known ? CHAT_REMIND_MS : CHAT_ASK_MS;

		gateway->ask_next = (gateway->ask_next + 1) % gateway->rooms_max;
		if (room->number && now_ns - room->asked_ns >= every_ms * NS_PER_MS)
			ask(gateway, room, 0, 0, now_ns);
	}
}

uint32_t chat_gateway_tick(struct chat_gateway *gateway, uint64_t now_ns)
{
	ask_again(gateway, now_ns);
	return chat_fanout_tick(gateway, now_ns);
}
