#include <stdlib.h>
#include <string.h>

#include "common/mono.h"
#include "dataplane/lean_client.h"
#include "perf/gen/game.h"
#include "perf/gen/hunt.h"
#include "proto/message_types.h"

#define ACKS_MAX    10u /* that wait; with the eleventh they leave at once */
#define ACK_WAIT_MS 16u /* for an input to ride with: a client that draws 60 frames a second */
#define INPUTS      8u
#define PACE_LOOKS  20u /* updates that confirm an input: a second */
#define ACTION_MAX  8u  /* bytes: the type and an actor's id */
#define TURN_MIN    20u /* inputs between two turns: at most one is among the last eight */
#define TURN_SPAN   40u
#define PING_INPUTS 10u /* a ping with each tenth input: libenet's 500 ms at 20 Hz */
#define BUILD       "stormweir-gen"
#define CHAT_OF_ALL 1u /* ChatKind */

enum game_state { IDLE, CONNECTING, HELLO, LATER, PLAYING, GONE };

struct ack {
	uint16_t number, sent_ms;
	uint8_t channel;
};

/* Whose acknowledgements wait, in the order of their time. A client is in it at most once. */
struct ack_line {
	struct {
		uint32_t client, due_ms;
	} * at;
	uint32_t mask, head, tail;
};

struct client {
	/* what each datagram needs */
	uint32_t update_tick, view_sequence;
	uint32_t input; /* sequence of the last sent */
	uint32_t input_heard;
	uint64_t input_due_ns;         /* of `input` */
	uint16_t heard[LEAN_CHANNELS]; /* reliable numbers taken in order */
	uint16_t control_heard, control_sent;
	uint16_t peer_id;
	uint16_t session_sent, unreliable_sent, chat_sent;
	uint8_t session, state, acks;
	int8_t dx, dy, old_dx, old_dy; /* the way before the turn */
	uint32_t turned;               /* the first input of this way */
	uint32_t turn_at;              /* the first of the next */
	struct ack ack[ACKS_MAX];
	/* while logging in */
	uint32_t begun_ms, again_ms;
	uint32_t retry_ms; /* the server said so: not now */
	uint16_t tries;
	uint8_t waiting_least, waiting_looks; /* of WorldUpdate.input_waiting */
	bool updated, acknowledged, back, in_line, too_fast;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct client) <= 192, "three lines a client");
_Static_assert(INPUTS == HUNT_INPUTS, "a batch");

/* What a client of --walk game has besides. One action is out at a time. */
struct hunter {
	struct hunt hunt;
	uint32_t said_ms;
	uint8_t said[ACTION_MAX], said_bytes; /* the last action, to be repeated */
};

struct game {
	struct game_config config;
	struct flow_ops ops;
	struct game_counters counters;
	struct latency latency, storm_latency;
	struct client *clients;
	struct hunter *hunters; /* [clients], NULL: nobody hunts */
	struct ack_line acks;
	uint32_t *order; /* in which clients have their turn within a tick: by chance */
	uint64_t start_ns, storm_ns, now_ns, period_ns;
	uint64_t turns; /* clients whose turn has been, over all ticks */
	uint32_t now_ms, swept_ms, sweep_next;
	uint32_t connect_next, waiting, playing, last_reason;
	uint64_t chat_channel, chat_ns, chat_due_ns; /* time between lines, 0: none; the next one */
	uint32_t speaker;
	uint64_t random;
};

static uint32_t random_below(struct game *game, uint32_t below)
{
	game->random ^= game->random << 13;
	game->random ^= game->random >> 7;
	game->random ^= game->random << 17;
	return (uint32_t)((game->random >> 32) * below >> 32);
}

struct game *game_new(const struct game_config *config, const struct flow_ops *ops)
{
	struct game *game;

	if (config->clients < 1 || config->clients > FLOW_CLIENTS_MAX || config->ids < 1 ||
		config->ids > 4095 || config->hz < 1 || config->login_rate < 1 ||
		config->tickets->count < config->clients || !config->give_up_s ||
		config->storm >= config->clients || (config->storm && !config->storm_rate))
		return NULL;
	game = calloc(1, sizeof(*game));
	if (!game)
		return NULL;
	game->config = *config;
	game->ops = *ops;
	game->clients = aligned_alloc(64, config->clients * sizeof(*game->clients));
	game->order = calloc(config->clients, sizeof(*game->order));
	game->acks.mask = 1;
	while (game->acks.mask < config->clients)
		game->acks.mask *= 2;
	game->acks.at = calloc(game->acks.mask--, sizeof(*game->acks.at));
	if (config->walk == GAME_WALK_GAME)
		game->hunters = calloc(config->clients, sizeof(*game->hunters));
	if (!game->clients || !game->order || !game->acks.at ||
		(config->walk == GAME_WALK_GAME && !game->hunters)) {
		game_free(game);
		return NULL;
	}
	memset(game->clients, 0, config->clients * sizeof(*game->clients));
	game->random = 0x9e3779b97f4a7c15ull + config->seed;
	game->period_ns = NS_PER_S / config->hz;
	game->waiting = config->clients - config->storm;
	for (uint32_t i = 0; i < config->clients; i++) {
		uint32_t j = random_below(game, i + 1);

		game->order[i] = game->order[j];
		game->order[j] = i;
	}
	return game;
}

void game_free(struct game *game)
{
	if (!game)
		return;
	free(game->clients);
	free(game->hunters);
	free(game->order);
	free(game->acks.at);
	free(game);
}

/* --- protobuf, as far as it is needed --- */

static uint8_t *put_varint(uint8_t *at, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

static uint8_t *put_bytes(uint8_t *at, uint8_t tag, const void *bytes, uint32_t count)
{
	*at++ = tag;
	at = put_varint(at, count);
	memcpy(at, bytes, count);
	return at + count;
}

/* A varint field with this tag at *at, or 0 where another stands. False: cut off. */
static bool get_field(const uint8_t **at, const uint8_t *end, uint8_t tag, uint32_t *value)
{
	uint64_t sum = 0;

	*value = 0;
	if (*at == end || **at != tag)
		return true;
	++*at;
	for (uint32_t shift = 0; shift < 35; shift += 7) {
		if (*at == end)
			return false;
		sum |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80)) {
			*value = (uint32_t)sum;
			return true;
		}
	}
	return false;
}

/* --- out --- */

static uint8_t *put_head(const struct game *game, const struct client *client, uint8_t *out)
{
	lean_put16(out, 0x8000u | (uint32_t)client->session << 12 | client->peer_id);
	lean_put16(out + 2, game->now_ms & 0xffff);
	return out + LEAN_HEAD_BYTES;
}

static uint8_t *put_acks(struct client *client, uint8_t *at)
{
	for (uint32_t i = 0; i < client->acks; i++) {
		at = lean_command(at, 1, client->ack[i].channel, client->ack[i].number);
		lean_put16(at, client->ack[i].number);
		lean_put16(at + 2, client->ack[i].sent_ms);
		at += 4;
	}
	client->acks = 0;
	return at;
}

static uint8_t *begin(struct game *game, uint32_t index)
{
	uint8_t *out = game->ops.begin(game->ops.ctx, index);

	game->counters.no_buffer += !out;
	return out;
}

static void end(struct game *game, uint32_t index, const uint8_t *out, const uint8_t *at)
{
	game->ops.end(game->ops.ctx, index, (uint32_t)(at - out));
}

static void say_acks(struct game *game, uint32_t index)
{
	struct client *client = &game->clients[index];
	uint8_t *out = begin(game, index);

	if (!out)
		return;
	end(game, index, out, put_acks(client, put_head(game, client, out)));
	game->counters.answers++;
}

static bool say_connect(struct game *game, uint32_t index)
{
	struct client *client = &game->clients[index];
	struct lean_client lean;
	uint8_t *out = begin(game, index);

	if (!out)
		return false;
	client->peer_id = 0xfff;
	client->control_sent = 1; /* the CONNECT */
	game->ops.end(game->ops.ctx, index,
		lean_connect(&lean, ((index + 1) * 2654435761u ^ game->config.seed) + client->tries,
			(uint16_t)(index % game->config.ids), SW_PROTOCOL_VERSION, game->now_ms,
			out));
	client->state = CONNECTING;
	client->again_ms = game->now_ms + GAME_REPEAT_MS;
	game->counters.connects++;
	return true;
}

/* The same number each time: a repeat. */
static void say_hello(struct game *game, uint32_t index)
{
	struct client *client = &game->clients[index];
	const struct game_tickets *tickets = game->config.tickets;
	uint8_t hello[GAME_TICKET_MAX + 64], *p = hello;
	uint8_t *out = begin(game, index), *at;

	if (!out)
		return;
	*p++ = SW_MSG_HELLO;
	*p++ = 1 << 3;
	p = put_varint(p, SW_PROTOCOL_VERSION);
	p = put_bytes(p, 2 << 3 | 2, tickets->ticket[index], tickets->bytes[index]);
	p = put_bytes(p, 3 << 3 | 2, BUILD, sizeof(BUILD) - 1);
	at = put_acks(client, put_head(game, client, out));
	at = lean_command(at, 0x86, SW_CHANNEL_SESSION, client->session_sent = 1);
	lean_put16(at, (uint32_t)(p - hello));
	memcpy(at + 2, hello, (size_t)(p - hello));
	end(game, index, out, at + 2 + (p - hello));
	client->again_ms = game->now_ms + GAME_REPEAT_MS;
	game->counters.hellos++;
}

static bool say_line(struct game *game, uint32_t index)
{
	static const char text[] = "some forty bytes of chat, as people do..";
	struct client *client = &game->clients[index];
	uint8_t *out = begin(game, index), *at, *message;

	if (!out)
		return false;
	at = put_acks(client, put_head(game, client, out));
	at = lean_command(at, 0x86, SW_CHANNEL_CHAT, ++client->chat_sent);
	message = at + 2;
	*(message++) = SW_MSG_CHAT_SAY;
	*(message++) = 2 << 3 | 1;
	for (uint32_t i = 0; i < 8; i++)
		*(message++) = (uint8_t)(game->chat_channel >> 8 * i);
	message = put_bytes(message, 3 << 3 | 2, text, sizeof(text) - 1);
	lean_put16(at, (uint32_t)(message - at - 2));
	end(game, index, out, message);
	game->counters.chat_said++;
	return true;
}

static void chat_step(struct game *game)
{
	while (game->chat_ns && game->chat_channel && game->playing &&
		game->now_ns >= game->chat_due_ns) {
		do
			game->speaker = (game->speaker + 1) % game->config.clients;
		while (game->clients[game->speaker].state != PLAYING);
		if (!say_line(game, game->speaker))
			return;
		game->chat_due_ns += game->chat_ns;
	}
}

void game_chat(struct game *game, uint32_t lines_per_s, uint64_t now_ns)
{
	game->chat_ns = lines_per_s ? NS_PER_S / lines_per_s : 0;
	game->chat_due_ns = now_ns + game->chat_ns;
}

static void turn(struct game *game, struct client *client)
{
	client->old_dx = client->dx;
	client->old_dy = client->dy;
	client->turned = client->input;
	client->turn_at = client->input + TURN_MIN + TURN_SPAN / 2;
	client->back = !client->back;
	if (game->config.walk == GAME_WALK_CROWD && !client->back) {
		client->dx = (int8_t)-client->dx;
		client->dy = (int8_t)-client->dy;
		return;
	}
	if (game->config.walk != GAME_WALK_CROWD)
		client->turn_at = client->input + TURN_MIN + random_below(game, TURN_SPAN);
	client->dx = (int8_t)((int32_t)random_below(game, 255) - 127);
	client->dy = (int8_t)((int32_t)random_below(game, 255) - 127);
}

static uint32_t zigzag(int8_t value)
{
	return (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);
}

static uint8_t *put_input(uint8_t *at, int8_t dx, int8_t dy)
{
	uint8_t *length;

	*at++ = 2 << 3 | 2;
	length = at++;
	if (dx) {
		*at++ = 1 << 3;
		at = put_varint(at, zigzag(dx));
	}
	if (dy) {
		*at++ = 2 << 3;
		at = put_varint(at, zigzag(dy));
	}
	*length = (uint8_t)(at - length - 1);
	return at;
}

/* What was said last, if it waits for long, or the action that the newest input comes with. */
static uint8_t *put_action(
	struct game *game, uint32_t index, enum hunt_act act, uint32_t actor_id, uint8_t *at)
{
	struct client *client = &game->clients[index];
	struct hunter *hunter = &game->hunters[index];

	if (act != HUNT_WALK) {
		uint8_t *p = hunter->said;

		*p++ = act == HUNT_ATTACK ? SW_MSG_ATTACK : SW_MSG_PICK_UP;
		*p++ = 1 << 3;
		p = put_varint(p, actor_id);
		hunter->said_bytes = (uint8_t)(p - hunter->said);
		client->session_sent++;
		client->acknowledged = false;
		game->counters.attacks += act == HUNT_ATTACK;
		game->counters.picks += act == HUNT_PICK_UP;
	} else if (client->acknowledged || game->now_ms - hunter->said_ms < GAME_REPEAT_MS) {
		return at;
	} else {
		game->counters.actions_repeated++;
	}
	hunter->said_ms = game->now_ms;
	at = lean_command(at, 0x86, SW_CHANNEL_SESSION, client->session_sent);
	lean_put16(at, hunter->said_bytes);
	memcpy(at + 2, hunter->said, hunter->said_bytes);
	return at + 2 + hunter->said_bytes;
}

static uint8_t *put_ways(const struct game *game, uint32_t index, uint32_t first, uint8_t *at)
{
	const struct client *client = &game->clients[index];

	for (uint32_t i = first; i != client->input + 1; i++) {
		bool now = (int32_t)(i - client->turned) >= 0;
		int8_t dx = now ? client->dx : client->old_dx,
		       dy = now ? client->dy : client->old_dy;

		if (game->hunters) {
			dx = game->hunters[index].hunt.dx[i % HUNT_INPUTS];
			dy = game->hunters[index].hunt.dy[i % HUNT_INPUTS];
		}
		at = put_input(at, dx, dy);
	}
	return at;
}

static void say_input(struct game *game, uint32_t index, uint64_t due_ns)
{
	struct client *client = &game->clients[index];
	uint8_t *out, *at, *bytes, *message;
	uint32_t first;

	if (client->too_fast) {
		client->too_fast = false;
		game->counters.inputs_paced++;
		return;
	}
	out = begin(game, index);
	if (!out)
		return;
	client->input++;
	client->input_due_ns = due_ns;
	if (client->input >= client->turn_at)
		turn(game, client);
	at = put_acks(client, put_head(game, client, out));
	if (client->input % PING_INPUTS == 0)
		at = lean_command(at, 0x85, 0xff, ++client->control_sent);
	if (game->hunters) {
		int8_t dx = client->dx, dy = client->dy;
		uint32_t actor_id = 0;
		enum hunt_act act = hunt_step(&game->hunters[index].hunt, client->input,
			client->acknowledged, &dx, &dy, &actor_id);

		at = put_action(game, index, act, actor_id, at);
	}
	at = lean_command(at, 7, SW_CHANNEL_WORLD, 0);
	lean_put16(at, ++client->unreliable_sent);
	bytes = at + 2;
	at = message = at + 4;
	*at++ = SW_MSG_INPUT;
	first = client->input > INPUTS ? client->input - INPUTS + 1 : 1;
	*at++ = 1 << 3;
	at = put_ways(game, index, first, put_varint(at, first));
	lean_put16(bytes, (uint32_t)(at - message));
	end(game, index, out, at);
	game->counters.inputs++;
}

/* --- in --- */

/* A connection's end from which the next begins, when the server wants it. */
static void later(struct game *game, uint32_t index)
{
	struct client *client = &game->clients[index];
	struct client next = {.state = LATER,
		.begun_ms = client->begun_ms,
		.again_ms = game->now_ms + client->retry_ms,
		.tries = (uint16_t)(client->tries + 1),
		.in_line = client->in_line};

	*client = next;
	game->counters.retries++;
}

static bool settled(const struct game *game, const struct client *client)
{
	return (uint32_t)(client - game->clients) < game->config.clients - game->config.storm;
}

static void over(struct game *game, struct client *client, uint32_t reason)
{
	if (client->state == PLAYING) {
		game->playing--;
		game->counters.disconnects++;
		game->counters.settled_disconnects += settled(game, client);
	} else if (client->state == CONNECTING || client->state == HELLO) {
		game->waiting--;
		game->counters.refused++;
	}
	client->state = GONE;
	game->last_reason = reason;
}

static struct hunt *hunt_of(const struct game *game, const struct client *client)
{
	return game->hunters ? &game->hunters[client - game->clients].hunt : NULL;
}

static void on_joined(
	struct game *game, struct client *client, const uint8_t *at, const uint8_t *end)
{
	if (client->state != HELLO)
		return;
	if (game->hunters)
		hunt_joined(hunt_of(game, client), at, end);
	client->state = PLAYING;
	client->acknowledged = true; /* the Hello was heard, or nobody would have joined */
	client->turn_at = 1;
	game->waiting--;
	game->playing++;
	game->counters.joined++;
	if (!settled(game, client))
		latency_add(&game->storm_latency, game->now_ns - game->storm_ns);
}

static void on_view_change(
	struct game *game, struct client *client, const uint8_t *at, const uint8_t *end)
{
	uint32_t tick, sequence;

	if (!get_field(&at, end, 1 << 3, &tick) || !get_field(&at, end, 2 << 3, &sequence)) {
		game->counters.unreadable++;
		return;
	}
	game->counters.view_changes++;
	game->counters.reliable_lost += sequence - client->view_sequence - 1;
	client->view_sequence = sequence;
	if (game->hunters)
		hunt_view(hunt_of(game, client), at, end);
}

static void on_refused(
	struct game *game, struct client *client, const uint8_t *at, const uint8_t *end)
{
	uint32_t reason, bytes, retry_ms = 0;

	if (!get_field(&at, end, 1 << 3, &reason) || !get_field(&at, end, 2 << 3 | 2, &bytes)) {
		game->counters.unreadable++;
		return;
	}
	if (bytes <= (uint32_t)(end - at)) {
		at += bytes;
		get_field(&at, end, 3 << 3, &retry_ms);
	}
	if (client->state == HELLO && retry_ms)
		client->retry_ms = retry_ms;
	else
		over(game, client, reason);
}

/* The channel of all has the same number for everybody. */
static void on_chat_channel(struct game *game, const uint8_t *at, const uint8_t *end)
{
	uint64_t channel = 0;

	if (end - at < 11 || at[0] != (1 << 3 | 1) || at[9] != 2 << 3 || at[10] != CHAT_OF_ALL)
		return;
	for (uint32_t i = 0; i < 8; i++)
		channel |= (uint64_t)at[1 + i] << 8 * i;
	game->chat_channel = channel;
}

/* Once each, in the channel's order; of a fragmented one the beginning. */
static void on_reliable(
	struct game *game, struct client *client, const uint8_t *payload, uint32_t bytes)
{
	const uint8_t *at = payload + 1, *end = payload + bytes;

	if (!bytes)
		return;
	switch (payload[0]) {
	case SW_MSG_REFUSED:
		on_refused(game, client, at, end);
		break;
	case SW_MSG_JOINED:
		on_joined(game, client, at, end);
		break;
	case SW_MSG_ACTION_REFUSED:
		game->counters.actions_refused++;
		if (game->hunters)
			hunt_refused(hunt_of(game, client), at, end);
		break;
	case SW_MSG_VIEW_CHANGE:
		on_view_change(game, client, at, end);
		break;
	case SW_MSG_CHAT_LINE:
		game->counters.chat_heard++;
		break;
	case SW_MSG_CHAT_REFUSED:
		game->counters.chat_refused++;
		break;
	case SW_MSG_CHAT_CHANNEL:
		on_chat_channel(game, at, end);
		break;
	default:
		break;
	}
}

static void pace(struct client *client, uint32_t waiting)
{
	if (!client->waiting_looks || waiting < client->waiting_least)
		client->waiting_least = (uint8_t)(waiting < UINT8_MAX ? waiting : UINT8_MAX);
	if (++client->waiting_looks < PACE_LOOKS)
		return;
	client->waiting_looks = 0;
	client->too_fast = client->waiting_least != 0;
}

static void on_update(
	struct game *game, struct client *client, const uint8_t *payload, uint32_t bytes)
{
	const uint8_t *at = payload + 1, *end = payload + bytes;
	uint32_t tick, sequence, stay, waiting;

	if (!bytes || payload[0] != SW_MSG_WORLD_UPDATE || !get_field(&at, end, 1 << 3, &tick) ||
		!get_field(&at, end, 2 << 3, &sequence) || !get_field(&at, end, 4 << 3, &stay) ||
		!get_field(&at, end, 5 << 3, &waiting) || sequence > client->input) {
		game->counters.unreadable++;
		return;
	}
	if (client->updated && (int32_t)(tick - client->update_tick) <= 0) {
		game->counters.updates_old++;
		return;
	}
	if (client->updated) {
		uint32_t missed = tick - client->update_tick - 1;

		game->counters.updates_missed += missed;
		game->counters.settled_missed += settled(game, client) ? missed : 0;
	}
	client->updated = true;
	client->update_tick = tick;
	if (game->hunters && hunt_reads(hunt_of(game, client)))
		hunt_update(hunt_of(game, client), client->input, at, end);
	game->counters.updates++;
	game->counters.update_bytes += bytes;
	if ((int32_t)(sequence - client->input_heard) > 0) {
		uint64_t due_ns = client->input_due_ns -
				  (uint64_t)(client->input - sequence) * game->period_ns;

		client->input_heard = sequence;
		pace(client, waiting);
		if (settled(game, client))
			latency_add(&game->latency,
				game->now_ns > due_ns ? game->now_ns - due_ns : 0);
	}
}

/* Whether a reliable command is the next of its channel; what is not new is acknowledged again. */
static bool take_reliable(struct game *game, uint32_t index, const uint8_t *p, uint32_t sent_ms)
{
	struct client *client = &game->clients[index];
	uint16_t number = (uint16_t)lean_get16(p + 2), *heard;

	heard = p[1] < LEAN_CHANNELS ? &client->heard[p[1]] : &client->control_heard;
	if ((int16_t)(number - *heard) > 1) {
		game->counters.reliable_early++;
		return false;
	}
	if (client->acks == ACKS_MAX)
		say_acks(game, index);
	if (client->acks < ACKS_MAX)
		client->ack[client->acks++] = (struct ack){
			.number = number, .sent_ms = (uint16_t)sent_ms, .channel = p[1]};
	if (!client->in_line) {
		client->in_line = true;
		game->acks.at[game->acks.tail & game->acks.mask].client = index;
		game->acks.at[game->acks.tail++ & game->acks.mask].due_ms =
			game->now_ms + ACK_WAIT_MS;
	}
	if (number == *heard || (int16_t)(number - *heard) < 0) {
		game->counters.reliable_repeated++;
		return false;
	}
	*heard = number;
	game->counters.reliable++;
	return true;
}

static uint32_t data_bytes(const uint8_t *p, uint8_t number)
{
	switch (number) {
	case 6:
		return lean_get16(p + 4);
	case 7:
	case 8:
	case 9:
	case 12:
		return lean_get16(p + 6);
	default:
		return 0;
	}
}

static void on_command(struct game *game, uint32_t index, const uint8_t *p, uint32_t fixed,
	uint32_t data, uint32_t sent_ms)
{
	struct client *client = &game->clients[index];
	uint8_t number = p[0] & 0xf;

	if (client->state == LATER)
		return; /* of the connection before */
	switch (number) {
	case 1:
		if (p[1] == SW_CHANNEL_SESSION && lean_get16(p + 4) == client->session_sent)
			client->acknowledged = true;
		return;
	case 4:
		if (client->state != HELLO || !client->retry_ms) {
			over(game, client, lean_get32(p + 4));
			return;
		}
		/* Unacknowledged it would be said again, to the next connection. */
		client->acks = 1;
		client->ack[0] = (struct ack){.number = (uint16_t)lean_get16(p + 2),
			.sent_ms = (uint16_t)sent_ms,
			.channel = 0xff};
		say_acks(game, index);
		later(game, index);
		return;
	case 7:
		on_update(game, client, p + fixed, data);
		return;
	default:
		break;
	}
	if (number == 3 && client->state == CONNECTING) {
		client->peer_id = (uint16_t)lean_get16(p + 4);
		client->session = p[7] & 3;
		/* The server begins its control numbers where it likes. */
		client->control_heard = (uint16_t)(lean_get16(p + 2) - 1);
	}
	if (!(p[0] & 0x80) || !take_reliable(game, index, p, sent_ms))
		return;
	if (number == 3 && client->state == CONNECTING) {
		client->state = HELLO;
		say_hello(game, index);
	} else if (number == 6 || (number == 8 && !lean_get32(p + 12))) {
		on_reliable(game, client, p + fixed, data);
	}
}

void game_receive(
	struct game *game, uint32_t index, const uint8_t *data, uint32_t bytes, uint64_t now_ns)
{
	bool timed = bytes >= 4 && data[0] & 0x80;
	uint32_t sent_ms = timed ? lean_get16(data + 2) : 0, at = timed ? 4 : 2;

	game->now_ns = now_ns;
	while (at + 4 <= bytes) {
		uint8_t number = data[at] & 0xf;
		uint32_t fixed = lean_command_bytes(number), payload;

		if (!fixed || at + fixed > bytes) {
			game->counters.unreadable++;
			return;
		}
		payload = data_bytes(data + at, number);
		if (at + fixed + payload > bytes) {
			game->counters.unreadable++;
			return;
		}
		on_command(game, index, data + at, fixed, payload, sent_ms);
		at += fixed + payload;
	}
}

/* --- time --- */

/* Clients whose time for a first CONNECT has come. */
static uint64_t connects_due(const struct game *game)
{
	const struct game_config *config = &game->config;
	uint64_t settled = config->clients - config->storm;
	uint64_t due = (game->now_ns - game->start_ns) * config->login_rate / NS_PER_S + 1;

	if (due < settled)
		return due;
	if (!game->storm_ns)
		return settled;
	due = settled + (game->now_ns - game->storm_ns) * config->storm_rate / NS_PER_S + 1;
	return due < config->clients ? due : config->clients;
}

static uint32_t connect_step(struct game *game, uint32_t room)
{
	uint64_t due = connects_due(game);
	uint32_t used = 0;

	for (; game->connect_next < due && used < room; used++) {
		game->clients[game->connect_next].begun_ms = game->now_ms;
		if (!say_connect(game, game->connect_next))
			break;
		game->connect_next++;
	}
	return used;
}

/* Of those who log in: each is looked at once in 64 ms. */
static uint32_t sweep(struct game *game, uint32_t room)
{
	uint32_t look = (game->config.clients + 63) / 64, used = 0;

	if (!game->waiting || game->now_ms == game->swept_ms)
		return 0;
	game->swept_ms = game->now_ms;
	for (uint32_t i = 0; i < look && used < room; i++) {
		uint32_t index = game->sweep_next;
		struct client *client = &game->clients[index];

		game->sweep_next = index + 1 == game->config.clients ? 0 : index + 1;
		if (client->state != CONNECTING && client->state != HELLO && client->state != LATER)
			continue;
		if (game->now_ms - client->begun_ms > game->config.give_up_s * 1000) {
			client->state = GONE;
			game->waiting--;
			game->counters.unanswered++;
		} else if ((int32_t)(game->now_ms - client->again_ms) >= 0) {
			if (client->state != HELLO)
				say_connect(game, index);
			else if (!client->acknowledged)
				say_hello(game, index);
			used++;
		}
	}
	return used;
}

static uint32_t acks_step(struct game *game, uint32_t room)
{
	struct ack_line *line = &game->acks;
	uint32_t used = 0;

	while (line->head != line->tail && used < room &&
		(int32_t)(game->now_ms - line->at[line->head & line->mask].due_ms) >= 0) {
		uint32_t index = line->at[line->head++ & line->mask].client;

		game->clients[index].in_line = false;
		if (game->clients[index].acks && game->clients[index].state != GONE) {
			say_acks(game, index);
			used++;
		}
	}
	return used;
}

/* All clients have a turn in each period, spread over it. */
static void inputs_step(struct game *game, uint32_t room)
{
	uint32_t clients = game->config.clients;
	uint64_t passed_ns = game->now_ns - game->start_ns;
	uint64_t due = passed_ns / game->period_ns * clients +
		       passed_ns % game->period_ns * clients / game->period_ns;

	if (due - game->turns > clients) {
		game->counters.inputs_late += game->playing;
		game->turns += clients;
	}
	while (room && game->turns < due) {
		uint64_t tick = game->turns / clients;
		uint32_t turn = (uint32_t)(game->turns % clients), index = game->order[turn];

		if (turn + 2 < clients)
			__builtin_prefetch(&game->clients[game->order[turn + 2]]);
		game->turns++;
		if (game->clients[index].state != PLAYING)
			continue;
		say_input(game, index,
			game->start_ns + tick * game->period_ns + turn * game->period_ns / clients);
		room--;
	}
}

void game_step(struct game *game, uint32_t room, uint64_t now_ns)
{
	uint32_t used = 0;

	game->now_ns = now_ns;
	game->now_ms = (uint32_t)(now_ns / NS_PER_MS);
	if (!game->start_ns)
		game->start_ns = now_ns;
	if (game->connect_next < game->config.clients)
		used = connect_step(game, room);
	used += sweep(game, room - used);
	used += acks_step(game, room - used);
	inputs_step(game, room - used);
	chat_step(game);
}

bool game_disconnect(struct game *game, uint32_t *from, uint32_t room, uint64_t now_ns)
{
	game->now_ms = (uint32_t)(now_ns / NS_PER_MS);
	for (; *from < game->config.clients && room; ++*from) {
		struct client *client = &game->clients[*from];
		uint8_t *out, *at;

		if (client->state != PLAYING && client->state != HELLO)
			continue;
		out = begin(game, *from);
		if (!out)
			break;
		at = lean_command(put_head(game, client, out), 0x44, 0xff, 0);
		lean_put32(at, 0);
		end(game, *from, out, at + 4);
		client->state = GONE;
		room--;
	}
	return *from < game->config.clients;
}

void game_storm(struct game *game, uint64_t now_ns)
{
	game->storm_ns = now_ns;
	game->waiting += game->config.storm;
}

uint32_t game_waiting(const struct game *game)
{
	return game->waiting;
}

uint32_t game_playing(const struct game *game)
{
	return game->playing;
}

const struct game_counters *game_counters(const struct game *game)
{
	return &game->counters;
}

struct latency *game_latency(struct game *game)
{
	return &game->latency;
}

const struct latency *game_storm_latency(const struct game *game)
{
	return &game->storm_latency;
}

uint32_t game_last_reason(const struct game *game)
{
	return game->last_reason;
}
