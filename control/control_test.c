/* Proves the control thread against a real redis-server, with the test as dataplane, shard and
 * world at the other ends of the rings: a login and its traces in Redis, single use of tickets,
 * Redis gone and back, a second node of the same name, rings that are full, the order of a stop,
 * and a stop that nobody answers. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "common/log.h"
#include "common/mono.h"
#include "common/party.h"
#include "control/control_internal.h"
#include "control/control_rig.h"
#include "control/ops/http_get.h"
#include "control/ops/ops.h"
#include "proto/client.pb-c.h"
#include "proto/probe.h"

/* The next state that the worker is told. */
static uint32_t node_state(struct rig *rig)
{
	struct msg_node_state body;

	memcpy(&body, msg_payload(rig_expect(rig->links.to_dataplane[0], MSG_NODE_STATE)),
		sizeof(body));
	return body.state;
}

/* What probes are told follows what happens to newcomers. */
static void test_node_state(void **state)
{
	const struct ticket ticket = rig_ticket(1);
	const uint64_t peer = handle_make(0, 1, 5);
	uint64_t session;
	uint32_t told;
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig.config.admission.players_max = 1;
	rig_start(&rig);
	/* Redis may answer before or after the first look. */
	told = node_state(&rig);
	if (told == SW_NODE_CLOSED)
		told = node_state(&rig);
	assert_int_equal(told, SW_NODE_READY);
	rig_say_hello(&rig, peer, &ticket);
	session = rig_let_in(&rig);
	assert_int_equal(node_state(&rig), SW_NODE_FULL);
	rig_gone(&rig, peer);
	rig_left(&rig, session);
	assert_int_equal(node_state(&rig), SW_NODE_READY);
	redis_fixture_kill(&rig.server);
	assert_int_equal(node_state(&rig), SW_NODE_CLOSED);
	redis_fixture_start(&rig.server, NULL, NULL);
	assert_int_equal(node_state(&rig), SW_NODE_READY);
	ctl_request_stop(rig.ctl);
	rig_expect(rig.links.to_shard[0], MSG_SHARD_STOP);
	assert_int_equal(node_state(&rig), SW_NODE_DRAINING);
	rig_stop_rest(&rig, 0);
	rig_fini(&rig);
}

/* Asks until the path answers with that status. */
static void until_http(struct ops *ops, const char *path, int status, const char *text)
{
	char address[32], *body = NULL;
	bool good = false;
	size_t bytes;

	snprintf(address, sizeof(address), "127.0.0.1:%u", ops_port(ops));
	for (int i = 0; i < 5000 && !good; i++) {
		good = http_get(address, path, &body, &bytes) == status && strstr(body, text);
		free(body);
		rig_nap();
	}
	if (!good)
		fail_msg("%s was never %d with %s", path, status, text);
}

/* The world has no parties to fill Redis with. */
static void restore_nothing(struct rig *rig)
{
	struct msg_party_restored end = {.what = PARTY_RESTORED_END, .epoch = 1};
	struct msg_party_restore asked;

	memcpy(&asked, msg_payload(rig_expect(rig->links.to_world, MSG_PARTY_RESTORE)),
		sizeof(asked));
	end.request = asked.request;
	rig_push(rig->links.from_world, MSG_PARTY_RESTORED, 0, &end, sizeof(end), 0);
}

/* What an operator sees while Redis goes and comes, a shard stops ticking, and the node stops. */
static void test_health(void **state)
{
	struct ops *ops = ops_new();
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	strcpy(rig.config.http.address, "127.0.0.1:0");
	rig_start(&rig);
	ctl_register(rig.ctl, ops);
	assert_int_equal(ops_start(ops, &rig.config, stderr), 0);
	until_http(ops, "/health", 200, "connected");
	until_http(ops, "/health", 200, "parties cannot be changed now");
	restore_nothing(&rig);
	until_http(ops, "/health", 200, "parties are read, up to version 4294967296;");
	until_http(ops, "/ready", 200, "ready");
	until_http(ops, "/metrics", 200,
		"stormweir_admission_refused_ticket_used_total{thread=\"0\"} 0");
	atomic_store(&rig.last_tick_ns, 1);
	until_http(ops, "/health", 503, "0 of 1 shards tick");
	until_http(ops, "/ready", 503, "not ready");
	atomic_store(&rig.last_tick_ns, mono_ns() + 3600 * NS_PER_S);
	until_http(ops, "/health", 200, "1 of 1 shards tick");
	redis_fixture_kill(&rig.server);
	until_http(ops, "/health", 503, "trying again");
	/* It answers, but has no memory for what we write. */
	redis_fixture_start(&rig.server, "--maxmemory", "1");
	until_http(ops, "/health", 503, "refuses writes");
	redis_fixture_kill(&rig.server);
	redis_fixture_start(&rig.server, NULL, NULL);
	until_http(ops, "/health", 200, "connected");
	restore_nothing(&rig);
	until_http(ops, "/health", 200, "parties are read");
	ctl_request_stop(rig.ctl);
	rig_expect(rig.links.to_shard[0], MSG_SHARD_STOP);
	until_http(ops, "/ready", 503, "stopping");
	until_http(ops, "/health", 200, "yellow");
	rig_stop_rest(&rig, 0);
	until_http(ops, "/ready", 503, "stopped");
	ops_stop(ops);
	ops_free(ops);
	rig_fini(&rig);
}

static void test_no_redis(void **state)
{
	struct rig rig;
	char *text = NULL;
	size_t bytes;
	FILE *errors;

	(void)state;
	rig_init(&rig, 4096);
	rig.config.redis.connect_timeout_ms = 100;
	errors = open_memstream(&text, &bytes);
	assert_null(ctl_start(&rig.config, &rig.links, errors));
	fflush(errors);
	assert_non_null(strstr(text, rig.server.address));
	assert_non_null(strstr(text, "redis.address"));
	strcpy(rig.config.redis.address, "localhost:1");
	assert_null(ctl_start(&rig.config, &rig.links, errors));
	fflush(errors);
	assert_non_null(strstr(text, "names are not looked up"));
	fclose(errors);
	free(text);
	rig_fini(&rig);
}

/* A key with which no signature could ever hold is refused at start, by its place in the list. */
static void test_key_that_is_none(void **state)
{
	static const uint8_t bad[][32] = {
		{0}, /* of small order */
		{1}, /* the neutral element */
		{2}, /* not on the curve */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rig rig;
		char *errors = NULL;
		size_t bytes;
		FILE *out = open_memstream(&errors, &bytes);

		rig_init(&rig, 4096);
		memcpy(rig.config.admission.ticket_keys[1].public_key, bad[i], 32);
		rig.config.admission.ticket_key_count = 2;
		assert_null(ctl_start(&rig.config, &rig.links, out));
		fclose(out);
		assert_string_equal(errors,
			"admission.ticket_keys[1].public_key: is not an Ed25519 public key; swctl "
			"ticket-key prints one\n");
		free(errors);
		rig_fini(&rig);
	}
}

static void test_login(void **state)
{
	struct ticket ticket = rig_ticket(7);
	const uint64_t peer = handle_make(0, 1, 5);
	struct rig rig;
	uint64_t session;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	rig_until(&rig, "HGET t{gate}:n:node-1 room", "100", 0);
	rig_until(&rig, "HGET t{gate}:n:node-1 maps", "meadow=4096", 0);
	rig_until(&rig, "HGET t{gate}:n:node-1 address", "10.0.0.9:7777", 0);
	rig_until(&rig, "SMEMBERS t{gate}:nodes", NULL, REDIS_REPLY_ARRAY);
	rig_say_hello(&rig, peer, &ticket);
	session = rig_let_in(&rig);
	rig_until(&rig, "HGET t{gate}:n:node-1 players", "1", 0);
	rig_until(&rig, "HGET t{gate}:n:node-1 room", "99", 0);
	rig_until(&rig, "HGET t{gate}:n:node-1 admitted", "1", 0);
	rig_until(&rig, "HGET t{gate}:n:node-1 state", "ready", 0);
	rig_until(&rig, "HGET t{presence}:at:1:7 node", "node-1", 0);
	rig_until(&rig, "HGET t{presence}:at:1:7 generation", "42", 0);
	rig_until(&rig, "PTTL t{presence}:at:1:7", NULL, REDIS_REPLY_INTEGER);

	/* The same ticket again, of another peer. */
	rig_say_hello(&rig, handle_make(0, 1, 6), &ticket);
	assert_int_equal(rig_disconnected(&rig), SW_REASON_TICKET_USED);

	rig_gone(&rig, peer);
	rig_expect(rig.links.to_shard[0], MSG_PLAYER_REMOVE);
	rig_left(&rig, session);
	/* It is the node's until what it did is kept. */
	rig_until(&rig, "HGET t{gate}:n:node-1 players", "0", 0);
	rig_until(&rig, "HGET t{presence}:at:1:7 node", "node-1", 0);
	rig_settled(&rig);
	rig_until(&rig, "HGET t{presence}:at:1:7 node", NULL, REDIS_REPLY_NIL);
	/* A shard that stands still takes nobody. */
	atomic_store(&rig.last_tick_ns, mono_ns() - 5 * NS_PER_S);
	rig_until(&rig, "HGET t{gate}:n:node-1 room", "0", 0);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

static void test_redis_gone_and_back(void **state)
{
	struct ticket ticket = rig_ticket(7), other = rig_ticket(8);
	struct rig rig;
	uint64_t session;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	rig_say_hello(&rig, handle_make(0, 1, 1), &ticket);
	session = rig_let_in(&rig);
	rig_until(&rig, "HGET t{presence}:at:1:7 node", "node-1", 0);
	redis_fixture_kill(&rig.server);
	/* Nobody is let in unchecked; the one who is in plays on. */
	rig_say_hello(&rig, handle_make(0, 1, 2), &other);
	assert_int_equal(rig_disconnected(&rig), SW_REASON_TRY_LATER);
	rig_gone(&rig, handle_make(0, 1, 2));
	/* Back, and empty: what should be there is said again. */
	redis_fixture_start(&rig.server, NULL, NULL);
	rig_until(&rig, "HGET t{presence}:at:1:7 node", "node-1", 0);
	rig_until(&rig, "HGET t{gate}:n:node-1 players", "1", 0);
	other = rig_ticket(8);
	rig_say_hello(&rig, handle_make(0, 1, 3), &other);
	rig_let_in(&rig);
	rig_gone(&rig, handle_make(0, 1, 1));
	rig_left(&rig, session);
	rig_stop(&rig, 3);
	rig_fini(&rig);
}

static int lines_with(FILE *file, const char *text)
{
	char line[1024];
	int lines = 0;

	rewind(file);
	while (fgets(line, sizeof(line), file))
		lines += strstr(line, text) != NULL;
	return lines;
}

/* Who finds the last beat of a clean stop says nothing; who finds one of a running node warns. */
static void test_same_name(void **state)
{
	static const char says[] = "another process reports as node";
	char path[] = "/tmp/sw-control-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "r");
	struct rig rig;

	(void)state;
	assert_non_null(file);
	assert_int_equal(sw_log_open(path, "warn"), 0);
	rig_init(&rig, 4096);
	rig_start(&rig);
	rig_until(&rig, "HGET t{gate}:n:node-1 state", "ready", 0);
	rig_stop(&rig, 0);
	ctl_free(rig.ctl);
	rig_until(&rig, "HGET t{gate}:n:node-1 state", "stopped", 0);
	rig.ctl = ctl_start(&rig.config, &rig.links, stderr);
	assert_non_null(rig.ctl);
	rig_until(&rig, "HGET t{gate}:n:node-1 state", "ready", 0);
	freeReplyObject(rig_ask(&rig, "HSET t{gate}:n:node-1 boot 0 state ready"));
	for (int i = 0; i < 5000 && !lines_with(file, says); i++)
		rig_nap();
	rig_stop(&rig, 0);
	rig_fini(&rig);
	/* The stranger's beat is warned of, the restart is not. */
	assert_int_equal(lines_with(file, says), 1);
	sw_log_open("", "error");
	fclose(file);
	unlink(path);
}

/* The world is away: the ticket is given its use back, and works once it is there again. */
static void test_ticket_given_back(void **state)
{
	struct ticket ticket = rig_ticket(7);
	struct msg_character_loaded loaded = {.result = MSG_LOAD_UNAVAILABLE};
	struct msg_character_load load;
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	rig_say_hello(&rig, handle_make(0, 1, 1), &ticket);
	memcpy(&load, msg_payload(rig_expect(rig.links.to_world, MSG_CHARACTER_LOAD)),
		sizeof(load));
	loaded.session = load.session;
	rig_push(rig.links.from_world, MSG_CHARACTER_LOADED, 0, &loaded, sizeof(loaded), 0);
	assert_int_equal(rig_disconnected(&rig), SW_REASON_TRY_LATER);
	rig_say_hello(&rig, handle_make(0, 1, 2), &ticket);
	rig_let_in(&rig);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

/* A dataplane that takes nothing for a while: every refusal arrives, in the end. */
static void test_full_ring(void **state)
{
	const uint32_t peers = 3000;
	struct rig rig;

	(void)state;
	rig_init(&rig, 256);
	rig_start(&rig);
	ctl_request_stop(rig.ctl); /* all who come now are refused */
	rig_expect(rig.links.to_shard[0], MSG_SHARD_STOP);
	for (uint32_t i = 0; i < peers; i++)
		rig_connect(&rig, handle_make(0, 1, i));
	for (uint32_t i = 0; i < peers; i++) {
		const struct msg *message;

		message = rig_expect(rig.links.to_dataplane[0], MSG_PEER_DISCONNECT);
		assert_int_equal(message->peer, handle_make(0, 1, i));
	}
	rig_stop_rest(&rig, 0);
	rig_fini(&rig);
}

static void test_silent_stop(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig.config.node.stop_deadline_ms = 100;
	rig_start(&rig);
	ctl_request_stop(rig.ctl);
	assert_true(ctl_wait(rig.ctl, 10000));
	assert_int_equal(ctl_join(rig.ctl), UINT32_MAX);
	rig_expect(rig.links.to_world, MSG_WORLD_FLUSH); /* what did arrive was to be kept */
	rig_fini(&rig);
}

/* Pops everything from a ring into each(message); returns how many. */
static uint32_t take_all(struct msg_ring *ring, struct rig *rig,
	void (*each)(struct rig *rig, const struct msg *message))
{
	static struct msg out[4 * MSG_SLOTS_MAX];
	uint32_t filled, count = 0;

	while ((filled = msg_ring_pop(ring, out, 4 * MSG_SLOTS_MAX)))
		for (const struct msg *message = out; message < out + filled;
			message = msg_next(message), count++)
			each(rig, message);
	return count;
}

static struct {
	uint32_t known;
	const char *silent; /* a node that is expected, and says nothing; NULL: this one is alone */
	uint32_t asked;
} elsewhere;

/* The world says which nodes there are; a load is too early while one is awaited. */
static void say_nodes(struct rig *rig, const struct msg *message)
{
	struct {
		struct msg_nodes head;
		char name[NODE_NAME_BYTES];
	} body = {{elsewhere.known, elsewhere.silent ? 1 : 0}, ""};

	assert_int_not_equal(message->type, MSG_CHARACTER_LOAD);
	if (message->type != MSG_NODES_QUERY)
		return;
	elsewhere.asked++;
	if (elsewhere.silent)
		snprintf(body.name, sizeof(body.name), "%s", elsewhere.silent);
	rig_push(rig->links.from_world, MSG_NODES, 0, &body,
		(uint32_t)(sizeof(body.head) + body.head.count * NODE_NAME_BYTES), 0);
}

/* Redis knows nothing: whoever waits is let in once all nodes that PostgreSQL knows have spoken,
 * and while PostgreSQL does not say, or another node is silent, not before admission.rebuild. */
static void test_emptied_redis(void **state)
{
	static const struct {
		uint32_t known;
		const char *silent;
	} rows[] = {{0, NULL}, {1, "node-2"}};
	const uint64_t peer = handle_make(0, 1, 5);
	struct ticket ticket = rig_ticket(7);
	uint64_t session;
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig.config.admission.rebuild_ms = 600000;
	rig_start(&rig);
	rig_say_hello(&rig, peer, &ticket);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		elsewhere.known = rows[i].known;
		elsewhere.silent = rows[i].silent;
		elsewhere.asked = 0;
		while (elsewhere.asked < 3) /* several turns of the gate apart */
			if (!take_all(rig.links.to_world, &rig, say_nodes))
				rig_nap();
	}
	elsewhere.silent = NULL;
	say_nodes(&rig, rig_expect(rig.links.to_world, MSG_NODES_QUERY));
	session = rig_let_in(&rig);
	rig_gone(&rig, peer);
	rig_expect(rig.links.to_shard[0], MSG_PLAYER_REMOVE);
	rig_left(&rig, session);
	rig_settled(&rig);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

/* Words of other threads that are not of their type's size: counted, and nothing else. */
static void test_misfits(void **state)
{
	static const struct {
		enum msg_type type;
		uint32_t bytes, count; /* of nodes */
	} rows[] = {
		{MSG_NODES, 0, 0},
		{MSG_NODES, sizeof(struct msg_nodes) - 1, 0},
		{MSG_NODES, sizeof(struct msg_nodes), 1},
		{MSG_NODES, sizeof(struct msg_nodes) + NODE_NAME_BYTES, 0},
		{MSG_NODES, sizeof(struct msg_nodes) + NODE_NAME_BYTES, UINT32_MAX},
		{MSG_NODES, sizeof(struct msg_nodes), UINT32_MAX},
		{MSG_CHARACTER_SETTLED, sizeof(struct msg_character_settled) - 8, 0},
		{MSG_WORLD_FLUSHED, sizeof(struct msg_world_flushed) + 8, 0},
		{MSG_WRITES_RESULT, 0, 0},
		{MSG_CORRECTION_RESULT, 1, 0},
	};
	static uint8_t body[1024];
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct msg_nodes head = {.known = 1, .count = rows[i].count};

		memcpy(body, &head, sizeof(head));
		rig_push(rig.links.from_world, rows[i].type, 0, body, rows[i].bytes, 0);
		while (counter_get(&rig.ctl->counters[CTL_C_MISFITS]) < i + 1)
			rig_nap();
	}
	assert_int_equal(ctl_state(rig.ctl), CTL_READY);
	rig_stop(&rig, 0);
	assert_int_equal(
		counter_get(&rig.ctl->counters[CTL_C_MISFITS]), sizeof(rows) / sizeof(rows[0]));
	rig_fini(&rig);
}

#define STORM 1500u

static struct {
	uint64_t session[STORM]; /* of each peer on the shard; 0: none */
	bool ended[STORM];
	uint32_t joined, refused;
} storm;

static void storm_load(struct rig *rig, const struct msg *message)
{
	struct msg_character_loaded loaded = {.epoch = 1, .session = message->subject};
	const struct msg_nodes alone = {.known = 1};

	if (message->type == MSG_PARTY_RESTORE)
		return; /* parties are not what this is about */
	if (message->type == MSG_NODES_QUERY) {
		rig_push(rig->links.from_world, MSG_NODES, 0, &alone, sizeof(alone), 0);
		return;
	}
	if (message->type == MSG_CHARACTER_SETTLE) {
		rig_say_settled(rig, message);
		return;
	}
	assert_int_equal(message->type, MSG_CHARACTER_LOAD);
	rig_push(rig->links.from_world, MSG_CHARACTER_LOADED, 0, &loaded, sizeof(loaded), 0);
}

static void storm_shard(struct rig *rig, const struct msg *message)
{
	struct msg_player_joined joined = {.session = message->subject, .actor_id = 1};
	uint32_t i = handle_index(message->peer);

	if (message->type == MSG_PLAYER_JOIN) {
		assert_int_equal(storm.session[i], 0);
		storm.session[i] = message->subject;
		storm.joined++;
		rig_push(
			rig->links.from_shard[0], MSG_PLAYER_JOINED, 0, &joined, sizeof(joined), 0);
	} else if (message->type == MSG_PLAYER_REMOVE && storm.session[i]) {
		rig_left(rig, message->subject);
		storm.session[i] = 0;
	}
}

static void storm_dataplane(struct rig *rig, const struct msg *message)
{
	uint32_t i = handle_index(message->peer);

	if (message->type != MSG_PEER_DISCONNECT || storm.ended[i])
		return;
	storm.ended[i] = true;
	storm.refused++;
	rig_gone(rig, message->peer);
}

static void storm_pump(struct rig *rig)
{
	uint32_t count = take_all(rig->links.to_world, rig, storm_load);

	count += take_all(rig->links.to_shard[0], rig, storm_shard);
	count += take_all(rig->links.to_dataplane[0], rig, storm_dataplane);
	if (!count)
		rig_nap();
}

/* Many at once, over small rings, while Redis dies and comes back twice: each is let in or told why
 * not, and in the end nobody is left. */
static void test_storm(void **state)
{
	uint64_t until_ns = mono_ns() + 60 * NS_PER_S, begun_ns;
	size_t present = 1;
	struct rig rig;

	(void)state;
	memset(&storm, 0, sizeof(storm));
	rig_init(&rig, 512);
	rig.config.admission.players_max = STORM;
	rig_start(&rig);
	begun_ns = mono_ns();
	for (uint32_t i = 0; i < STORM; i++) {
		struct ticket ticket = rig_ticket(1 + i);

		rig_say_hello(&rig, handle_make(0, 1, i), &ticket);
		storm_pump(&rig);
		if (i == STORM / 4 || i == STORM / 2)
			redis_fixture_kill(&rig.server);
		if (i == STORM / 3 || i == STORM * 2 / 3)
			redis_fixture_start(&rig.server, NULL, NULL);
	}
	while (storm.joined + storm.refused < STORM && mono_ns() < until_ns)
		storm_pump(&rig);
	print_message("%u let in, %u refused, %.0f logins a second\n", storm.joined, storm.refused,
		STORM / ((double)(mono_ns() - begun_ns) / NS_PER_S));
	assert_int_equal(storm.joined + storm.refused, STORM);
	assert_true(storm.joined > 0 && storm.refused > 0);
	for (uint32_t i = 0; i < STORM; i++)
		if (!storm.ended[i])
			rig_gone(&rig, handle_make(0, 1, i));
	while (present && mono_ns() < until_ns) {
		redisReply *reply = rig_ask(&rig, "KEYS t{presence}:at:*");

		present = reply->elements;
		freeReplyObject(reply);
		storm_pump(&rig);
	}
	rig_until(&rig, "HGET t{gate}:n:node-1 sessions", "0", 0);
	rig_until(&rig, "HGET t{gate}:n:node-1 places", "0", 0);
	assert_int_equal(present, 0);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

static int setup(void **state)
{
	(void)state;
	sw_log_open("", "error");
	return rig_keys() ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_redis),
		cmocka_unit_test(test_login),
		cmocka_unit_test(test_key_that_is_none),
		cmocka_unit_test(test_node_state),
		cmocka_unit_test(test_health),
		cmocka_unit_test(test_redis_gone_and_back),
		cmocka_unit_test(test_same_name),
		cmocka_unit_test(test_ticket_given_back),
		cmocka_unit_test(test_full_ring),
		cmocka_unit_test(test_silent_stop),
		cmocka_unit_test(test_emptied_redis),
		cmocka_unit_test(test_misfits),
		cmocka_unit_test(test_storm),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
