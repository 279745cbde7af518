/* Proves, with a real Redis and a real PostgreSQL, of three chat threads and a fourth in a process
 * of its own: each slot has one owner, and all have about as many; lines of players on different
 * nodes come to all members in order, without gaps within a token; whispers find their target on
 * another node, and say so if there is none; what was said is in the log; a mute binds on every
 * node, an announcement comes to all and can be fetched; a shard that is killed, one that is
 * stopped and comes back after its time, one that leaves, and a Redis that comes back empty, cost
 * no more than the time of a lease; nobody gets anything after leaving. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <sodium.h>

#include "common/chat_player.h"
#include "common/handle.h"
#include "common/mono.h"
#include "control/chat/chat.h"
#include "control/chat/slot.h"
#include "control/redis/redis_fixture.h"
#include "control/world/migrate.h"
#include "proto/client.pb-c.h"
#include "proto/message_types.h"

enum { NODES = 3, PLAYERS = 24, PARTIES = 12, CHANNELS = 1 + PARTIES, RING = 4096, WAIT_S = 90 };

/* Of one player in one channel. */
struct seen {
	uint64_t token, sequence;
	uint32_t lines, gaps, repeats;
	bool member;
};

struct player {
	uint32_t node;
	uint64_t peer, session;
	bool here;
	uint32_t after; /* packets after it had left */
	uint32_t whispers, refusals, done, announcements, last_refusal;
	struct seen seen[CHANNELS];
};

struct node {
	struct sw_config config;
	struct chat_links links;
	struct chat *chat;
	uint64_t version;
	uint8_t line[4096];
	uint32_t line_bytes;
};

static struct node nodes[NODES];
static struct player players[PLAYERS];
static uint64_t channels[CHANNELS];
static struct redis_fixture redis;
static PGconn *conn;
static pid_t child;

/* ---- what players get ---- */

static uint32_t channel_index(uint64_t number)
{
	uint32_t i = 0;

	while (i < CHANNELS && channels[i] != number)
		i++;
	return i;
}

static void on_line(struct player *player, const Sw__ChatLine *line)
{
	uint32_t i = channel_index(line->channel);
	struct seen *seen;

	if (i == CHANNELS)
		return; /* of the map */
	seen = &player->seen[i];
	if (!seen->member)
		return;
	if (line->token < seen->token ||
		(line->token == seen->token && line->sequence <= seen->sequence)) {
		seen->repeats++;
		return;
	}
	if (line->token == seen->token && line->sequence != seen->sequence + 1)
		seen->gaps++;
	seen->token = line->token;
	seen->sequence = line->sequence;
	seen->lines++;
}

static void on_channel(struct player *player, const Sw__ChatChannel *channel)
{
	uint32_t i = channel_index(channel->channel);

	if (i == CHANNELS)
		return;
	player->seen[i].member = !channel->left;
	/* As the client library: a greater token begins anew. */
	if (channel->token > player->seen[i].token) {
		player->seen[i].token = channel->token;
		player->seen[i].sequence = channel->sequence;
	}
}

static void deliver(struct node *node, uint64_t peer, const uint8_t *packet, uint32_t bytes)
{
	struct player *player = NULL;

	for (uint32_t p = 0; p < PLAYERS; p++)
		if (&nodes[players[p].node] == node && players[p].peer == peer)
			player = &players[p];
	assert_non_null(player);
	if (!player->here) {
		player->after++;
		return;
	}
	if (packet[0] == SW_MSG_CHAT_LINE) {
		Sw__ChatLine *line = sw__chat_line__unpack(NULL, bytes - 1, packet + 1);

		assert_non_null(line);
		on_line(player, line);
		sw__chat_line__free_unpacked(line, NULL);
	} else if (packet[0] == SW_MSG_CHAT_CHANNEL) {
		Sw__ChatChannel *channel = sw__chat_channel__unpack(NULL, bytes - 1, packet + 1);

		assert_non_null(channel);
		on_channel(player, channel);
		sw__chat_channel__free_unpacked(channel, NULL);
	} else if (packet[0] == SW_MSG_CHAT_REFUSED) {
		Sw__ChatRefused *refused = sw__chat_refused__unpack(NULL, bytes - 1, packet + 1);

		player->refusals++;
		player->last_refusal = (uint32_t)refused->reason;
		sw__chat_refused__free_unpacked(refused, NULL);
	} else {
		player->whispers += packet[0] == SW_MSG_CHAT_WHISPERED;
		player->done += packet[0] == SW_MSG_CHAT_DONE;
		player->announcements += packet[0] == SW_MSG_CHAT_ANNOUNCEMENT;
	}
}

static void drain(struct node *node, struct msg_ring *ring)
{
	static struct msg burst[MSG_SLOTS_MAX * 4] __attribute__((aligned(64)));
	uint32_t filled;

	while ((filled = msg_ring_pop(ring, burst, MSG_SLOTS_MAX * 4)))
		for (const struct msg *m = burst; m < burst + filled; m = msg_next(m)) {
			if (m->type == MSG_PEER_SEND) {
				deliver(node, m->peer, msg_payload(m), m->payload_bytes);
			} else if (m->type == MSG_CHAT_LINE) {
				node->line_bytes = m->payload_bytes;
				memcpy(node->line, msg_payload(m), m->payload_bytes);
			} else if (m->type == MSG_CHAT_TO) {
				for (uint32_t i = 0; i < m->payload_bytes / 8; i++) {
					uint64_t peer;

					memcpy(&peer, msg_payload(m) + 8 * i, 8);
					deliver(node, peer, node->line, node->line_bytes);
				}
			}
		}
}

static void pump(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (uint32_t n = 0; n < NODES; n++) {
		drain(&nodes[n], nodes[n].links.to_worker[0]);
		drain(&nodes[n], nodes[n].links.lines[0]);
	}
	nanosleep(&pause, NULL);
}

/* Waits until it is true; only a hang reaches the limit. */
#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		uint64_t limit_ns = mono_ns() + WAIT_S * NS_PER_S;                                 \
		while (!(condition)) {                                                             \
			if (mono_ns() > limit_ns)                                                  \
				fail_msg("line %d: not in time: %s", __LINE__, #condition);        \
			pump();                                                                    \
		}                                                                                  \
	} while (0)

/* ---- what they do ---- */

static void push(struct msg_ring *ring, const struct msg *message)
{
	UNTIL(msg_ring_push(ring, message));
}

static void hear(uint32_t p, bool here)
{
	struct player *player = &players[p];
	struct node *node = &nodes[player->node];
	struct msg_chat_player body = {.version = ++node->version,
		.session = player->session,
		.peer = player->peer,
		.character_id = 1000 + p,
		.generation = 1,
		.party_id = p / 2 + 1,
		.instance = 1,
		.here = here};
	struct msg_buffer buffer;

	snprintf(body.name, sizeof(body.name), "p%u", p);
	memcpy(msg_begin(buffer.slot, MSG_CHAT_PLAYER, body.peer, sizeof(body)), &body,
		sizeof(body));
	push(node->links.from_control, buffer.slot);
	player->here = here;
}

static void packet(uint32_t p, enum sw_message_type type, const ProtobufCMessage *message)
{
	struct msg_buffer buffer;
	uint8_t *at = msg_begin(buffer.slot, MSG_PEER_PACKET, players[p].peer,
		1 + (uint32_t)protobuf_c_message_get_packed_size(message));

	at[0] = (uint8_t)type;
	protobuf_c_message_pack(message, at + 1);
	push(nodes[players[p].node].links.from_worker[0], buffer.slot);
}

static void say(uint32_t p, uint32_t channel, const char *text)
{
	Sw__ChatSay body = SW__CHAT_SAY__INIT;

	body.request = 1;
	body.channel = channels[channel];
	body.text = (char *)text;
	packet(p, SW_MSG_CHAT_SAY, &body.base);
}

/* Says it until it is taken: while nobody owns the channel, it is refused. */
static void say_until_done(uint32_t p, uint32_t channel, const char *text)
{
	uint64_t end_ns = mono_ns() + WAIT_S * NS_PER_S;
	uint32_t done = players[p].done, lines = players[p].seen[channel].lines, refusals;

	do {
		uint64_t again_ns = mono_ns() + 2 * NS_PER_S;

		refusals = players[p].refusals;
		say(p, channel, text);
		while (players[p].done == done && players[p].refusals == refusals &&
			mono_ns() < again_ns) /* Redis lost it: said again */
			pump();
		assert_true(mono_ns() < end_ns);
	} while (players[p].done == done);
	UNTIL(players[p].seen[channel].lines > lines);
}

static void redis_set(const char *key, const char *value)
{
	redisContext *context = redisConnectUnix(redis.address + strlen("unix:"));
	redisReply *reply = redisCommand(context, "SET %s %s", key, value);

	assert_non_null(reply);
	freeReplyObject(reply);
	redisFree(context);
}

static void whisper(uint32_t p, const char *name)
{
	Sw__ChatWhisper body = SW__CHAT_WHISPER__INIT;

	body.request = 2;
	body.name = (char *)name;
	body.text = (char *)"psst";
	packet(p, SW_MSG_CHAT_WHISPER, &body.base);
}

static void order(uint32_t n, const char *words, size_t bytes, uint32_t count)
{
	struct msg_order body = {.author = "ann", .words = count, .words_bytes = (uint32_t)bytes};
	static struct msg answer[MSG_SLOTS_MAX * 2] __attribute__((aligned(64)));
	struct msg_buffer buffer;
	struct msg_order_answer said;
	uint8_t *at = msg_begin(buffer.slot, MSG_CHAT_ORDER, 0, (uint32_t)(sizeof(body) + bytes));

	memcpy(at, &body, sizeof(body));
	memcpy(at + sizeof(body), words, bytes);
	buffer.slot->subject = 7;
	push(nodes[n].links.from_control, buffer.slot);
	UNTIL(msg_ring_pop(nodes[n].links.to_control, answer, MSG_SLOTS_MAX * 2));
	memcpy(&said, msg_payload(answer), sizeof(said));
	if (said.result != ORDER_DONE)
		fail_msg("%.*s", (int)said.text_bytes,
			(const char *)msg_payload(answer) + sizeof(said));
}

#define ORDER(n, words, count) order(n, words, sizeof(words), count)

/* ---- nodes ---- */

static uint64_t counted(uint32_t n, enum chat_counter counter)
{
	return counter_get(&chat_counters(nodes[n].chat)->values[counter]);
}

static void conninfo(char *text, size_t bytes)
{
	snprintf(text, bytes, "host=%s/pgrun user=stormweir dbname=stormweir", getenv("SW_PG_DIR"));
}

static void node_build(struct node *node, const char *name)
{
	memset(node, 0, sizeof(*node));
	sw_config_defaults(&node->config);
	snprintf(node->config.node.name, sizeof(node->config.node.name), "%s", name);
	snprintf(node->config.redis.address, sizeof(node->config.redis.address), "%s",
		redis.address);
	conninfo(node->config.postgres.conninfo, sizeof(node->config.postgres.conninfo));
	node->config.enet.peers_max = 64;
	node->config.chat.lease_ms = 2000;
	/* Whoever asks again until it is so is no flood. */
	node->config.chat.sender_burst = 1000;
	node->config.chat.sender_every_ms = 10;
	node->config.chat.channel_rate = 1000;
	node->config.chat.slow_ms = 100;
	node->links.workers = 1;
	node->links.sessions = 128;
	node->links.from_worker[0] = msg_ring_new("in", RING);
	node->links.to_worker[0] = msg_ring_new("out", RING);
	node->links.lines[0] = msg_ring_new("lines", RING);
	node->links.from_control = msg_ring_new("control", RING);
	node->links.to_control = msg_ring_new("answers", RING);
	node->chat = chat_start(&node->config, &node->links, stderr);
	assert_non_null(node->chat);
}

static void node_free(struct node *node)
{
	chat_free(node->chat);
	msg_ring_free(node->links.from_worker[0]);
	msg_ring_free(node->links.to_worker[0]);
	msg_ring_free(node->links.lines[0]);
	msg_ring_free(node->links.from_control);
	msg_ring_free(node->links.to_control);
}

/* A chat shard without players, in a process that can be killed and stopped. */
static void child_start(void)
{
	child = fork();
	assert_true(child >= 0);
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl("/proc/self/exe", "chat_test", redis.address, NULL);
	_exit(127);
}

static _Noreturn void be_a_shard(const char *redis_address)
{
	static struct node node;

	snprintf(redis.address, sizeof(redis.address), "%s", redis_address);
	node_build(&node, "d");
	for (;;)
		pause();
}

static int64_t sql(const char *text)
{
	PGresult *result = PQexec(conn, text);
	int64_t value = -1;

	if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result))
		value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return value;
}

#define OWNED_BY(node) sql("SELECT count(*) FROM chat_slot WHERE node = '" node "'")

/* Every player in the global channel says something, and one of each party: everybody who is here
 * has heard all of it, without a gap. */
static void everybody_talks(void)
{
	for (uint32_t p = 0; p < PLAYERS; p++)
		if (players[p].here)
			say_until_done(p, p % 4 ? 1 + p / 2 : 0, "hello");
	for (uint32_t p = 0; p < PLAYERS; p++)
		for (uint32_t c = 0; c < CHANNELS; c++) {
			const struct seen *seen = &players[p].seen[c], *other;

			if (!players[p].here || (c && c - 1 != p / 2))
				continue;
			other = &players[c ? (p ^ 1) : 0].seen[c];
			if (!c || players[p ^ 1].here)
				UNTIL(seen->token == other->token &&
					seen->sequence == other->sequence);
			assert_int_equal(seen->gaps, 0);
		}
}

/* Whether all who are in the channel have heard its last line. */
static bool all_heard(uint32_t c, uint32_t speaker)
{
	const struct seen *last = &players[speaker].seen[c];

	for (uint32_t p = 0; p < PLAYERS; p++) {
		const struct seen *seen = &players[p].seen[c];

		if (players[p].here && seen->member &&
			(seen->token != last->token || seen->sequence != last->sequence))
			return false;
	}
	return true;
}

/* Until one line comes to all of them: those before may be lost. */
static void talk_until_all_hear(uint32_t c)
{
	uint32_t speaker = c ? 2 * (c - 1) : 0;
	uint64_t end_ns = mono_ns() + WAIT_S * NS_PER_S;

	do {
		uint64_t again_ns = mono_ns() + NS_PER_S;

		say_until_done(speaker, c, "again");
		while (!all_heard(c, speaker) && mono_ns() < again_ns)
			pump();
		assert_true(mono_ns() < end_ns);
	} while (!all_heard(c, speaker));
}

static void all_together(void **state)
{
	uint64_t number;
	uint32_t whispers, refusals;

	(void)state;
	child_start();
	for (uint32_t n = 0; n < NODES; n++)
		node_build(&nodes[n], (const char *[]){"a", "b", "c"}[n]);
	channels[0] = chat_channel_number(1, CHAT_KIND_GLOBAL, "");
	for (uint32_t i = 0; i < PARTIES; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%u", i + 1);
		channels[1 + i] = chat_channel_number(1, CHAT_KIND_PARTY, key);
	}
	UNTIL(OWNED_BY("a") > 150 && OWNED_BY("b") > 150 && OWNED_BY("c") > 150 &&
		OWNED_BY("d") > 150 &&
		sql("SELECT count(*) FROM chat_slot WHERE node <> ''") == CHAT_SLOTS);
	for (uint32_t p = 0; p < PLAYERS; p++) {
		players[p].node = p % NODES;
		players[p].peer = handle_make(0, 1, p);
		players[p].session = handle_make(0, 1, p);
		hear(p, true);
	}
	for (uint32_t p = 0; p < PLAYERS; p++)
		UNTIL(players[p].seen[0].member && players[p].seen[1 + p / 2].member);
	everybody_talks();

	/* Whispers to another node, and to nobody. */
	UNTIL((whisper(0, "p1"), pump(), players[1].whispers > 0));
	refusals = players[0].refusals;
	whisper(0, "nobody");
	UNTIL(players[0].refusals > refusals);
	assert_int_equal(players[0].last_refusal, CHAT_REFUSED_OFFLINE);

	/* Operators: a mute binds elsewhere, too; an announcement comes to all. */
	ORDER(0,
		"chat\0mute\0"
		"1001\0"
		"5\0why",
		5);
	UNTIL((say(1, 0, "muted"), pump(), players[1].last_refusal == CHAT_REFUSED_MUTED));
	ORDER(2,
		"chat\0mute\0"
		"1001\0"
		"0",
		4);
	ORDER(1, "chat\0announce\0Restart\0at\0six", 5);
	for (uint32_t p = 0; p < PLAYERS; p++)
		UNTIL(players[p].announcements);
	number = (uint64_t)sql("SELECT number FROM chat_announcement");
	{
		Sw__ChatFetch body = SW__CHAT_FETCH__INIT;

		body.request = 9;
		body.after = number - 1;
		packet(0, SW_MSG_CHAT_FETCH, &body.base);
		UNTIL(players[0].announcements == 2);
	}
	/* A block holds for the next session, too: it is read when the player comes. */
	{
		Sw__ChatBlock body = SW__CHAT_BLOCK__INIT;

		body.character_id = 1000;
		UNTIL((packet(1, SW_MSG_CHAT_BLOCK, &body.base), pump(),
			sql("SELECT count(*) FROM chat_block") == 1));
	}
	hear(1, false);
	players[1].session = handle_make(0, 2, 1);
	players[1].peer = handle_make(0, 2, 1);
	hear(1, true);
	UNTIL(players[1].seen[0].member);
	UNTIL((whisper(0, "p1"), pump(), players[0].last_refusal == CHAT_REFUSED_BLOCKED));
	/* A report has the lines around it; the log has all of them; one player's can be erased. */
	{
		Sw__ChatReport body = SW__CHAT_REPORT__INIT;

		body.request = 8;
		body.channel = channels[0];
		body.token = players[3].seen[0].token;
		body.sequence = players[3].seen[0].sequence;
		body.why = (char *)"rude";
		packet(3, SW_MSG_CHAT_REPORT, &body.base);
		UNTIL(sql("SELECT count(*) FROM chat_report") == 1);
	}
	UNTIL(sql("SELECT count(*) FROM chat_log WHERE verdict = 0 AND channel <> 0") >= PLAYERS);
	ORDER(0, "chat\0reports", 2);
	ORDER(0,
		"chat\0erase\0"
		"1002",
		3);
	assert_int_equal(
		sql("SELECT count(*) FROM chat_log WHERE sender_id = 1002 AND body <> ''"), 0);
	assert_true(sql("SELECT count(*) FROM chat_log WHERE sender_id = 1003 AND body <> ''") > 0);

	/* A shard dies. */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	UNTIL(OWNED_BY("d") == 0 &&
		sql("SELECT count(*) FROM chat_slot WHERE node <> ''") == CHAT_SLOTS);
	everybody_talks();
	/* Whoever was there is offline at once, and not when Redis forgets it. */
	redis_set("sw{chat}:name:1:ghost", "4711");
	redis_set("sw{chat}:who:1:4711", "d 7 1 ghost");
	players[0].last_refusal = CHAT_REFUSED_NONE;
	UNTIL((whisper(0, "ghost"), pump(), players[0].last_refusal == CHAT_REFUSED_OFFLINE));

	/* One is stopped for longer than its lease, and goes on: it says nothing that counts. */
	child_start();
	UNTIL(OWNED_BY("d") > 150);
	everybody_talks();
	kill(child, SIGSTOP);
	UNTIL(OWNED_BY("d") == 0);
	everybody_talks();
	kill(child, SIGCONT);
	UNTIL(OWNED_BY("d") > 150);
	everybody_talks();

	/* Redis comes back empty. */
	redis_fixture_kill(&redis);
	for (uint32_t i = 0; i < 50; i++)
		say(i % PLAYERS, 0, "lost");
	redis_fixture_start(&redis, NULL, NULL);
	for (uint32_t c = 0; c < CHANNELS; c++) /* what was lost with it are gaps */
		talk_until_all_hear(c);
	for (uint32_t p = 0; p < PLAYERS; p++)
		for (uint32_t c = 0; c < CHANNELS; c++)
			players[p].seen[c].gaps = 0;
	everybody_talks();
	whispers = players[2].whispers;
	UNTIL((whisper(0, "p2"), pump(), players[2].whispers > whispers));

	/* Half of them leave, and one node's shard. */
	for (uint32_t p = 1; p < PLAYERS; p += 2)
		hear(p, false);
	for (uint32_t n = 0; n < NODES; n++)
		UNTIL(counted(n, CHAT_C_PLAYERS) == PLAYERS / 2 / NODES);
	pump(); /* what was under way when they left */
	for (uint32_t p = 0; p < PLAYERS; p++)
		players[p].after = 0;
	everybody_talks();
	for (uint32_t p = 2; p < PLAYERS; p += NODES)
		hear(p, false);
	chat_stop(nodes[2].chat);
	assert_int_equal(OWNED_BY("c"), 0); /* given back, not run out */
	UNTIL(sql("SELECT count(*) FROM chat_slot WHERE node <> ''") == CHAT_SLOTS);
	everybody_talks();
	for (uint32_t p = 1; p < PLAYERS; p += 2)
		assert_int_equal(players[p].after, 0);
	for (uint32_t n = 0; n < NODES; n++)
		assert_int_equal(counted(n, CHAT_C_WORDS_BAD), 0);
}

int main(int argc, char **argv)
{
	char text[256];

	const struct CMUnitTest tests[] = {cmocka_unit_test(all_together)};
	int failed;

	if (sodium_init() < 0)
		return 1;
	if (argc == 2)
		be_a_shard(argv[1]);
	redis_fixture_init(&redis);
	redis_fixture_start(&redis, NULL, NULL);
	conninfo(text, sizeof(text));
	conn = PQconnectdb(text);
	if (migrate_run(conn, world_migrations, world_migration_count, 10000, stderr) < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (!failed)
		for (uint32_t n = 0; n < NODES; n++)
			node_free(&nodes[n]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	PQfinish(conn);
	redis_fixture_fini(&redis);
	return failed;
}
