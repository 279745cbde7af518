/* Proves the control side of parties with two nodes on one Redis: members on the other node hear of
 * each change, requests sent again do nothing twice, events that were missed are noticed, foreign
 * bytes in Redis do no harm, what Redis has lost is not used against it, an operator's look changes
 * nothing, and a Redis that is killed and comes back empty is filled again from what was written
 * down, by one of the nodes. The test is shards and world at once. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>
#include <sodium.h>
#include <uv.h>

#include "common/log.h"
#include "common/mono.h"
#include "control/party/party.h"
#include "control/redis/redis_fixture.h"
#include "control/redis/redis_link.h"

#define PLAYERS 8u
#define ROWS    64u

/* What the shard of a player knows: whatever has the greatest version. */
struct known {
	uint64_t party, version, leader;
	uint32_t members, states, change;
	uint32_t answers, result;
	uint64_t answered;
	uint32_t invites;
	uint64_t inviter;
};

struct node {
	struct sw_config config;
	struct redis_link *link;
	struct party *party;
	uint32_t resyncs;
	bool here[PLAYERS + 1]; /* on this node */
};

/* The database: what was written down. */
static struct row {
	uint64_t id, version;
	char text[4096];
} rows[ROWS];
static uint64_t epoch;
static bool database_away;

static uv_loop_t loop;
static uv_timer_t timer;
static struct redis_fixture server;
static struct node nodes[2];
static struct known known[PLAYERS + 1];

/* ---- the other ends ---- */

static bool find(void *ctx, uint64_t character_id, struct party_seat *out)
{
	const struct node *node = ctx;

	if (!character_id || character_id > PLAYERS || !node->here[character_id])
		return false;
	*out = (struct party_seat){.session = 1000 + character_id,
		.peer = 2000 + character_id,
		.generation = 7,
		.shard = (uint32_t)(character_id % 2)};
	snprintf(out->name, sizeof(out->name), "c%" PRIu64, character_id);
	return true;
}

static void take_state(const struct msg *message, uint32_t shard)
{
	struct msg_party_state head;
	const uint8_t *at = msg_payload(message) + sizeof(head);

	memcpy(&head, msg_payload(message), sizeof(head));
	assert_int_equal(message->payload_bytes,
		sizeof(head) + head.member_count * sizeof(struct msg_party_member) +
			head.target_count * sizeof(struct msg_party_target));
	for (uint32_t t = 0; t < head.target_count; t++) {
		struct msg_party_target target;
		struct known *k;
		bool member = false;

		memcpy(&target,
			at + head.member_count * sizeof(struct msg_party_member) +
				t * sizeof(target),
			sizeof(target));
		assert_int_equal(target.character_id % 2, shard);
		assert_int_equal(target.session, 1000 + target.character_id);
		k = &known[target.character_id];
		k->states++;
		for (uint32_t i = 0; i < head.member_count; i++) {
			struct msg_party_member m;

			memcpy(&m, at + i * sizeof(m), sizeof(m));
			member |= m.character_id == target.character_id;
		}
		if (head.version < k->version)
			continue;
		k->version = head.version;
		k->party = member ? head.party_id : 0;
		k->leader = head.leader_id;
		k->members = member ? head.member_count : 0;
		k->change = head.change;
	}
}

static void ask(struct node *node, uint64_t character, uint64_t request, uint32_t act,
	uint64_t target, const char *name)
{
	struct msg message[3];
	struct msg_party_request body = {.request = request,
		.character_id = character,
		.target_id = target,
		.act = act,
		.map = "meadow"};

	snprintf(body.name, sizeof(body.name), "%s", name);
	memset(message, 0, sizeof(message));
	memcpy(msg_begin(message, MSG_PARTY_REQUEST, 2000 + character, sizeof(body)), &body,
		sizeof(body));
	message->subject = 1000 + character;
	party_from_shard(node->party, (uint32_t)(character % 2), message, mono_ns());
}

static void to_shard(void *ctx, uint32_t shard, const struct msg *message)
{
	struct node *node = ctx;
	struct msg_party_answer answer;
	struct msg_party_invite invite;

	switch (message->type) {
	case MSG_PARTY_STATE:
		take_state(message, shard);
		break;
	case MSG_PARTY_ANSWER:
		memcpy(&answer, msg_payload(message), sizeof(answer));
		known[answer.character_id].answers++;
		known[answer.character_id].answered = answer.request;
		known[answer.character_id].result = answer.result;
		break;
	case MSG_PARTY_INVITE:
		memcpy(&invite, msg_payload(message), sizeof(invite));
		known[invite.character_id].invites++;
		known[invite.character_id].inviter = invite.left_ms ? invite.other_id : 0;
		break;
	case MSG_PARTY_RESYNC:
		node->resyncs += shard == 0;
		/* as a shard does, at once */
		for (uint64_t c = 1; c <= PLAYERS; c++)
			if (node->here[c] && c % 2 == shard)
				ask(node, c, 0, PARTY_ACT_ARRIVE, 0, "");
		break;
	default:
		fail_msg("type %u to a shard", message->type);
	}
}

static void say_restored(struct node *node, const struct msg_party_restored *body, const char *text)
{
	static struct msg_buffer buffer;
	uint8_t *at = msg_begin(
		buffer.slot, MSG_PARTY_RESTORED, 0, (uint32_t)sizeof(*body) + body->text_bytes);

	memcpy(at, body, sizeof(*body));
	memcpy(at + sizeof(*body), text, body->text_bytes);
	party_from_world(node->party, buffer.slot, mono_ns());
}

/* One row a page, so that there is more than one. */
static void restore(struct node *node, const struct msg_party_restore *ask_for)
{
	struct msg_party_restored body = {.request = ask_for->request};
	const struct row *best = NULL;

	if (database_away) {
		body.what = PARTY_RESTORED_UNAVAILABLE;
		say_restored(node, &body, "");
		return;
	}
	body.epoch = ask_for->epoch ? ask_for->epoch : ++epoch;
	for (uint32_t i = 0; i < ROWS; i++)
		if (rows[i].text[0] && (!ask_for->before || rows[i].version < ask_for->before) &&
			(!best || rows[i].version > best->version))
			best = &rows[i];
	if (best) {
		body.party_id = best->id;
		body.version = best->version;
		body.text_bytes = (uint32_t)strlen(best->text);
		body.what = PARTY_RESTORED_ROW;
		say_restored(node, &body, best->text);
	}
	body.what = PARTY_RESTORED_END;
	body.text_bytes = 0;
	body.version = best ? best->version : 0;
	say_restored(node, &body, "");
}

static void to_world(void *ctx, const struct msg *message)
{
	struct msg_party_save save;
	struct msg_party_restore ask_for;
	uint32_t i = 0;

	if (message->type == MSG_PARTY_RESTORE) {
		memcpy(&ask_for, msg_payload(message), sizeof(ask_for));
		restore(ctx, &ask_for);
		return;
	}
	assert_int_equal(message->type, MSG_PARTY_SAVE);
	memcpy(&save, msg_payload(message), sizeof(save));
	while (i < ROWS && rows[i].id && rows[i].id != save.party_id)
		i++;
	assert_true(i < ROWS && save.text_bytes < sizeof(rows[i].text));
	if (rows[i].version > save.version)
		return;
	rows[i].id = save.party_id;
	rows[i].version = save.version;
	memcpy(rows[i].text, msg_payload(message) + sizeof(save), save.text_bytes);
	rows[i].text[save.text_bytes] = 0;
}

static struct looked {
	uint64_t request;
	uint32_t count;
	enum party_look look;
	struct party_view view;
} seen;

static void looked(void *ctx, uint64_t request, enum party_look look, const struct party_view *view)
{
	(void)ctx;
	seen.request = request;
	seen.count++;
	seen.look = look;
	assert_int_equal(view != NULL, look == PARTY_LOOK_FOUND);
	if (view)
		seen.view = *view;
}

static void link_changed(void *ctx, enum redis_link_state state, const char *sentence)
{
	struct node *node = ctx;

	(void)sentence;
	if (state == REDIS_LINK_UP)
		party_link_up(node->party, mono_ns());
	else if (state == REDIS_LINK_DOWN && node->party)
		party_link_down(node->party);
}

/* ---- the rig ---- */

static void on_timer(uv_timer_t *t)
{
	(void)t;
	for (int i = 0; i < 2; i++)
		party_tick(nodes[i].party, mono_ns());
}

static void rig_start(void)
{
	memset(nodes, 0, sizeof(nodes));
	memset(known, 0, sizeof(known));
	memset(rows, 0, sizeof(rows));
	epoch = 0;
	database_away = false;
	redis_fixture_init(&server);
	redis_fixture_start(&server, NULL, NULL);
	assert_int_equal(uv_loop_init(&loop), 0);
	uv_timer_init(&loop, &timer);
	for (int i = 0; i < 2; i++) {
		struct node *node = &nodes[i];
		struct redis_link_config config = {.address = node->config.redis.address,
			.password = "",
			.connect_timeout_ms = 2000,
			.command_timeout_ms = 2000,
			.backoff_min_ms = 5,
			.backoff_max_ms = 20,
			.changed = link_changed,
			.ctx = node};
		const struct party_ops ops = {node, to_shard, to_world, find, looked};

		sw_config_defaults(&node->config);
		strcpy(node->config.redis.address, server.address);
		strcpy(node->config.redis.prefix, "t");
		for (uint64_t c = 1; c <= PLAYERS; c++)
			node->here[c] = (c > 4) == i; /* 1..4 on one, 5..8 on the other */
		node->link = redis_link_new(&loop, &config);
		assert_non_null(node->link);
		node->party = party_new(&node->config, node->link, 2, &ops);
		for (uint64_t c = 1; c <= PLAYERS; c++)
			if (node->here[c])
				party_here(node->party, c);
	}
	uv_timer_start(&timer, on_timer, 1, 1);
}

static void rig_end(void)
{
	for (int i = 0; i < 2; i++)
		redis_link_free(nodes[i].link);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	for (int i = 0; i < 2; i++)
		party_free(nodes[i].party);
	redis_fixture_fini(&server);
}

/* Runs the loop until the condition holds; ten seconds at most. */
#define WAIT(condition)                                                                            \
	do {                                                                                       \
		uint64_t until_ns = mono_ns() + 10 * NS_PER_S;                                     \
		while (!(condition)) {                                                             \
			if (mono_ns() > until_ns)                                                  \
				fail_msg("line %d: not in time: %s", __LINE__, #condition);        \
			uv_run(&loop, UV_RUN_ONCE);                                                \
		}                                                                                  \
	} while (0)

static struct node *node_of(uint64_t character)
{
	return &nodes[character > 4];
}

static uint64_t next_request = 1;

static uint32_t act(uint64_t character, uint32_t what, uint64_t target)
{
	uint64_t request = next_request++;

	ask(node_of(character), character, request, what, target, "");
	WAIT(known[character].answered == request);
	return known[character].result;
}

static uint64_t counter(int node, enum party_counter which)
{
	return counter_get(&party_counters(nodes[node].party)->values[which]);
}

/* Until it has an epoch nothing is done. */
static void wait_whole(void)
{
	WAIT(counter(0, PARTY_C_ATTACHED) && counter(1, PARTY_C_ATTACHED));
	WAIT(!counter(0, PARTY_C_CALLS) && !counter(1, PARTY_C_CALLS));
}

static void join(uint64_t leader, uint64_t character)
{
	assert_int_equal(act(leader, PARTY_ACT_INVITE, character), PARTY_DONE);
	WAIT(known[character].inviter == leader);
	assert_int_equal(act(character, PARTY_ACT_ACCEPT, leader), PARTY_DONE);
	WAIT(known[character].party && known[character].party == known[leader].party &&
		known[character].members == known[leader].members);
}

/* ---- tests ---- */

static void members_on_two_nodes(void **state)
{
	(void)state;
	rig_start();
	wait_whole();
	join(1, 2);
	join(1, 5); /* on the other node, another shard */
	join(1, 6);
	assert_int_equal(known[5].members, 4);
	WAIT(known[2].members == 4 && known[6].members == 4);
	assert_int_equal(known[6].leader, 1);
	assert_int_equal(act(1, PARTY_ACT_PROMOTE, 6), PARTY_DONE);
	for (uint64_t c = 1; c <= 2; c++)
		WAIT(known[c].leader == 6 && known[c].change == PARTY_CHANGE_PROMOTED);
	assert_int_equal(act(6, PARTY_ACT_KICK, 2), PARTY_DONE);
	WAIT(!known[2].party && known[2].change == PARTY_CHANGE_KICKED && known[1].members == 3);
	/* One leaves the game, on the other node; and is back. */
	nodes[1].here[5] = false;
	party_away(nodes[1].party, 5, 7);
	WAIT(known[1].change == PARTY_CHANGE_AWAY);
	nodes[1].here[5] = true;
	party_here(nodes[1].party, 5);
	WAIT(known[1].change == PARTY_CHANGE_BACK);
	assert_int_equal(act(6, PARTY_ACT_DISBAND, 0), PARTY_DONE);
	for (uint64_t c = 1; c <= 6; c += c == 1 ? 4 : 1)
		WAIT(!known[c].party && known[c].change == PARTY_CHANGE_DISBANDED);
	assert_true(known[3].states <= nodes[0].resyncs); /* whom none of it concerned: it asked */
	rig_end();
}

static void a_word_said_again_is_done_once(void **state)
{
	uint32_t states;

	(void)state;
	rig_start();
	wait_whole();
	join(1, 5);
	ask(&nodes[0], 1, 900, PARTY_ACT_INVITE, 6, "");
	ask(&nodes[0], 1, 900, PARTY_ACT_INVITE, 6, "");
	WAIT(known[1].answered == 900 && known[1].answers == 3);
	assert_int_equal(known[1].result, PARTY_DONE);
	WAIT(known[6].invites >= 1);
	states = known[1].states;
	ask(&nodes[1], 6, 901, PARTY_ACT_ACCEPT, 1, "");
	ask(&nodes[1], 6, 901, PARTY_ACT_ACCEPT, 1, "");
	WAIT(known[6].answers == 2);
	assert_int_equal(known[6].result, PARTY_DONE);
	WAIT(known[1].members == 3 && known[5].members == 3);
	assert_int_equal(known[1].states, states + 1);
	assert_int_equal(known[6].invites, 1);
	rig_end();
}

static void hostile_and_late_words(void **state)
{
	struct msg message[3];

	(void)state;
	rig_start();
	wait_whole();
	static const struct {
		uint64_t request;
		uint32_t act;
		uint64_t target;
		const char *name;
		uint32_t result;
	} words[] = {
		{0, PARTY_ACT_LEAVE, 0, "", PARTY_NO_SUCH_ACT},
		{1, 0, 2, "", PARTY_NO_SUCH_ACT},
		{1, PARTY_ACT_COUNT, 2, "", PARTY_NO_SUCH_ACT},
		{1, UINT32_MAX, 2, "", PARTY_NO_SUCH_ACT},
		{1, PARTY_ACT_INVITE, 0, "", PARTY_NO_SUCH_ACT},
		{1, PARTY_ACT_INVITE, 0, "c\n2", PARTY_NO_SUCH_ACT},
		{1, PARTY_ACT_INVITE, 0, "\xff\xfe", PARTY_NO_SUCH_ACT},
		{1, PARTY_ACT_KICK, 0, "", PARTY_NO_SUCH_ACT},
		{2, PARTY_ACT_INVITE, 0, "\"]} {\\", PARTY_TARGET_OFFLINE},
		{3, PARTY_ACT_INVITE, UINT64_MAX, "", PARTY_TARGET_OFFLINE},
		{4, PARTY_ACT_INVITE, 0, "c5", PARTY_DONE},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t before = known[1].answers;

		ask(&nodes[0], 1, words[i].request, words[i].act, words[i].target, words[i].name);
		WAIT(known[1].answers > before);
		assert_int_equal(known[1].answers, before + 1);
		assert_int_equal(known[1].result, words[i].result);
	}
	/* Of a player that is not here, of a session that is over, from another shard, too short.
	 */
	ask(&nodes[0], 5, 1, PARTY_ACT_LEAVE, 0, "");
	assert_int_equal(counter(0, PARTY_C_STALE), 1);
	memset(message, 0, sizeof(message));
	memcpy(msg_begin(message, MSG_PARTY_REQUEST, 2001, sizeof(struct msg_party_request)),
		&(struct msg_party_request){
			.request = 9, .character_id = 1, .act = PARTY_ACT_LEAVE},
		sizeof(struct msg_party_request));
	message->subject = 999;
	party_from_shard(nodes[0].party, 1, message, mono_ns());
	message->subject = 1001;
	party_from_shard(nodes[0].party, 0, message, mono_ns());
	assert_int_equal(counter(0, PARTY_C_STALE), 3);
	message->payload_bytes = 8;
	party_from_shard(nodes[0].party, 1, message, mono_ns());
	assert_int_equal(counter(0, PARTY_C_MALFORMED), 1);
	rig_end();
}

static void foreign_events_and_gaps(void **state)
{
	redisContext *redis;
	uint32_t resyncs;
	static const char *const foreign[] = {
		"XADD t{party:1}:events * what ever",
		"XADD t{party:1}:events * v 1 k state p 4 j {\"m\":[{}]} g 1 s 1",
		"XADD t{party:1}:events * v 18446744073709551615 k state p 4 j [] g 99 s x",
		"XADD t{party:1}:events * v 99999999999999999999999999 k invite t 1 c 0",
		"XADD t{party:1}:events * v 7 k state p 0 j  x 1,,2,x,99999999999999999999999,5",
		"XADD t{party:1}:events * v 8 k invite t abc c 5 n x l 99999999999999 d 0",
	};

	(void)state;
	rig_start();
	wait_whole();
	join(1, 5);
	redis = redisConnectUnix(server.address + strlen("unix:"));
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		freeReplyObject(redisCommand(redis, foreign[i]));
	WAIT(counter(0, PARTY_C_MALFORMED) >= 5 && counter(1, PARTY_C_MALFORMED) >= 5);
	assert_true(counter(0, PARTY_C_GAPS) > 0);
	WAIT(!counter(0, PARTY_C_CALLS) && !counter(1, PARTY_C_CALLS));
	assert_int_equal(known[1].members, 2);
	/* Events that were trimmed away before they were read: a gap, and all ask again. */
	join(1, 6); /* versions are in step again */
	resyncs = nodes[1].resyncs;
	freeReplyObject(redisCommand(redis, "INCRBY t{party:1}:version 3"));
	assert_int_equal(act(1, PARTY_ACT_PROMOTE, 5), PARTY_DONE);
	WAIT(nodes[1].resyncs == resyncs + 1 && known[6].leader == 5);
	redisFree(redis);
	rig_end();
}

/* A Redis that was written to disk each second and killed, or a replica that took over: it has lost
 * its last changes, and not its epoch. */
static void a_redis_that_lost_a_little(void **state)
{
	redisContext *redis;
	redisReply *party, *version;
	uint64_t lost;

	(void)state;
	rig_start();
	wait_whole();
	join(1, 5);
	join(1, 2);
	redis = redisConnectUnix(server.address + strlen("unix:"));
	party = redisCommand(redis, "GET t{party:1}:p:%llu", (unsigned long long)known[1].party);
	version = redisCommand(redis, "GET t{party:1}:version");
	join(1, 6);
	assert_int_equal(act(1, PARTY_ACT_PROMOTE, 6), PARTY_DONE);
	WAIT(known[2].leader == 6 && known[5].leader == 6);
	lost = known[2].version;
	freeReplyObject(redisCommand(
		redis, "SET t{party:1}:p:%llu %s", (unsigned long long)known[1].party, party->str));
	freeReplyObject(redisCommand(redis, "SET t{party:1}:version %s", version->str));
	freeReplyObject(redisCommand(redis, "DEL t{party:1}:c:6"));
	freeReplyObject(redisCommand(redis, "CLIENT KILL TYPE normal"));
	/* What it knows is what everybody knows, though they had known more. */
	for (uint64_t c = 1; c <= 5; c++)
		if (c < 3 || c == 5)
			WAIT(known[c].version > lost && known[c].leader == 1 &&
				known[c].members == 3);
	WAIT(known[6].version > lost && !known[6].party);
	assert_true(counter(0, PARTY_C_LOST) + counter(1, PARTY_C_LOST) > 0);
	/* And what comes is newer than what was lost, in the database, too. */
	assert_int_equal(act(1, PARTY_ACT_KICK, 2), PARTY_DONE);
	WAIT(!known[2].party && known[5].members == 2);
	for (uint32_t i = 0; i < ROWS; i++)
		if (rows[i].id == known[1].party)
			assert_null(strstr(rows[i].text, "c6"));
	freeReplyObject(party);
	freeReplyObject(version);
	redisFree(redis);
	rig_end();
}

static void a_damaged_row_costs_its_party_alone(void **state)
{
	(void)state;
	rig_start();
	wait_whole();
	join(1, 5);
	for (uint32_t i = 0; i < 3; i++) {
		rows[ROWS - 1 - i].id = 70 + i;
		rows[ROWS - 1 - i].version = 1 + i;
		strcpy(rows[ROWS - 1 - i].text, i ? "{\"m\":[7]}" : "{");
	}
	redis_fixture_kill(&server);
	WAIT(!counter(0, PARTY_C_ATTACHED) && !counter(1, PARTY_C_ATTACHED));
	known[1].members = 0;
	redis_fixture_start(&server, NULL, NULL);
	WAIT(counter(0, PARTY_C_RESTORES) + counter(1, PARTY_C_RESTORES) == 2);
	WAIT(known[1].members == 2);
	assert_int_equal(counter(0, PARTY_C_MALFORMED) + counter(1, PARTY_C_MALFORMED), 3);
	assert_int_equal(counter(0, PARTY_C_RESTORED) + counter(1, PARTY_C_RESTORED), 1);
	rig_end();
}

static enum party_look look_at(const char *who)
{
	static uint64_t request;
	uint32_t before = seen.count;

	memset(&seen.view, 0, sizeof(seen.view));
	party_look(nodes[0].party, who, ++request, mono_ns());
	WAIT(seen.count > before);
	assert_int_equal(seen.count, before + 1);
	assert_int_equal(seen.request, request);
	return seen.look;
}

static void an_operator_looks(void **state)
{
	static const struct {
		const char *json;
		enum party_look look;
	} foreign[] = {
		{"", PARTY_LOOK_UNAVAILABLE},
		{"{\"id\":\"44\"", PARTY_LOOK_UNAVAILABLE},
		{"{\"id\":\"44\",\"v\":\"1\",\"leader\":\"1\",\"m\":[]}", PARTY_LOOK_UNAVAILABLE},
		{"{\"id\":\"44\",\"v\":\"1\",\"leader\":\"1\",\"m\":[{\"c\":7}]}",
			PARTY_LOOK_UNAVAILABLE},
		{"{\"id\":\"44\",\"v\":[],\"m\":[{\"c\":\"7\",\"n\":\"\\u001b[31m\",\"map\":{},"
		 "\"s\":-1,\"a\":1e300}]}",
			PARTY_LOOK_FOUND},
	};
	char member[] = "{\"c\":\"7\"},", text[1024], number[24];
	redisContext *redis;
	uint64_t party;
	uint32_t states;

	(void)state;
	rig_start();
	wait_whole();
	join(1, 2);
	join(1, 6);
	party = known[1].party;
	WAIT(known[1].members == 3);
	states = known[1].states;
	snprintf(number, sizeof(number), "%" PRIu64, party);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(look_at(i == 0 ? number : i == 1 ? "2" : "c6"), PARTY_LOOK_FOUND);
		assert_true(seen.view.party_id == party && seen.view.version == known[1].version);
		assert_int_equal(seen.view.leader_id, 1);
		assert_int_equal(seen.view.member_count, 3);
		assert_int_equal(seen.view.members[2].character_id, 6);
		assert_string_equal(seen.view.members[2].name, "c6");
		assert_true(!seen.view.members[2].away_ms && seen.view.members[2].seen_ms < 60000);
	}
	nodes[1].here[6] = false;
	party_away(nodes[1].party, 6, 7);
	WAIT(known[1].change == PARTY_CHANGE_AWAY);
	assert_int_equal(look_at("c1"), PARTY_LOOK_FOUND);
	assert_true(seen.view.members[2].away_ms > 0 && !seen.view.members[0].away_ms);
	assert_int_equal(known[1].states, states + 1);   /* a look is no event */
	assert_int_equal(look_at("3"), PARTY_LOOK_NONE); /* in the game, in no party */
	assert_int_equal(look_at("c3"), PARTY_LOOK_NONE);
	assert_int_equal(look_at("nobody"), PARTY_LOOK_NONE);
	assert_int_equal(look_at("18446744073709551616"), PARTY_LOOK_NONE);
	assert_int_equal(counter(0, PARTY_C_MALFORMED), 0);
	/* Foreign bytes. */
	redis = redisConnectUnix(server.address + strlen("unix:"));
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		freeReplyObject(redisCommand(redis, "SET t{party:1}:p:44 %s", foreign[i].json));
		assert_int_equal(look_at("44"), foreign[i].look);
	}
	assert_string_equal(seen.view.members[0].name, "?");
	strcpy(text, "{\"id\":\"44\",\"v\":\"1\",\"leader\":\"1\",\"m\":[");
	for (uint32_t i = 0; i <= PARTY_MEMBERS_MAX; i++)
		strcat(text, member);
	strcpy(text + strlen(text) - 1, "]}");
	freeReplyObject(redisCommand(redis, "SET t{party:1}:p:44 %s", text));
	assert_int_equal(look_at("44"), PARTY_LOOK_UNAVAILABLE);
	assert_int_equal(counter(0, PARTY_C_MALFORMED), 5);
	redisFree(redis);
	redis_fixture_kill(&server);
	WAIT(!counter(0, PARTY_C_ATTACHED));
	assert_int_equal(look_at("44"), PARTY_LOOK_UNAVAILABLE);
	rig_end();
}

static void an_emptied_redis(void **state)
{
	uint64_t party, version;

	(void)state;
	rig_start();
	wait_whole();
	assert_int_equal(epoch, 1);
	join(1, 5);
	join(1, 2);
	join(3, 7);
	party = known[1].party;
	version = known[3].version;
	redis_fixture_kill(&server);
	ask(&nodes[0], 1, 700, PARTY_ACT_LEAVE, 0, "");
	WAIT(known[1].answered == 700);
	assert_int_equal(known[1].result, PARTY_UNAVAILABLE);
	WAIT(!counter(0, PARTY_C_ATTACHED) && !counter(1, PARTY_C_ATTACHED));
	database_away = true;
	redis_fixture_start(&server, NULL, NULL);
	WAIT(counter(0, PARTY_C_RESTORES_FAILED) + counter(1, PARTY_C_RESTORES_FAILED) > 0);
	/* Nobody changes what nobody knows. */
	ask(&nodes[1], 7, 701, PARTY_ACT_LEAVE, 0, "");
	WAIT(known[7].answered == 701);
	assert_int_equal(known[7].result, PARTY_UNAVAILABLE);
	assert_int_equal(known[7].members, 2); /* what it is in goes on meanwhile */
	database_away = false;
	wait_whole();
	WAIT(known[1].version > version && known[3].version > version &&
		known[7].version > version);
	assert_int_equal(counter(0, PARTY_C_RESTORES) + counter(1, PARTY_C_RESTORES), 2);
	assert_true(epoch >= 2);
	assert_true(known[1].party == party && known[1].members == 3);
	assert_int_equal(known[7].members, 2);
	/* The same word as before: it had not been done, and is now. */
	ask(&nodes[1], 7, 701, PARTY_ACT_LEAVE, 0, "");
	WAIT(known[7].answers && !known[7].party && !known[3].party);
	assert_int_equal(act(1, PARTY_ACT_KICK, 2), PARTY_DONE);
	WAIT(known[5].members == 2);
	/* Emptied without being restarted, at once after the last change. */
	redisContext *redis = redisConnectUnix(server.address + strlen("unix:"));
	freeReplyObject(redisCommand(redis, "FLUSHALL"));
	redisFree(redis);
	party_here(nodes[0].party, 1);
	WAIT(counter(0, PARTY_C_RESTORES) + counter(1, PARTY_C_RESTORES) == 3);
	wait_whole();
	WAIT(known[1].change == PARTY_CHANGE_RESTORED || known[1].change == PARTY_CHANGE_BACK ||
		known[1].change == PARTY_CHANGE_MOVED || known[1].change == PARTY_CHANGE_NONE);
	assert_int_equal(act(2, PARTY_ACT_LEAVE, 0), PARTY_NOT_IN_PARTY);
	assert_int_equal(act(5, PARTY_ACT_LEAVE, 0), PARTY_DONE);
	WAIT(!known[1].party);
	rig_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_on_two_nodes),
		cmocka_unit_test(a_word_said_again_is_done_once),
		cmocka_unit_test(hostile_and_late_words),
		cmocka_unit_test(foreign_events_and_gaps),
		cmocka_unit_test(a_redis_that_lost_a_little),
		cmocka_unit_test(a_damaged_row_costs_its_party_alone),
		cmocka_unit_test(an_operator_looks),
		cmocka_unit_test(an_emptied_redis),
	};

	if (sodium_init() < 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
