/* Proves lua/redis/gate_turn.lua and gate_state.lua on a real Redis: the rate over every stretch of
 * time with several nodes, first come first served, a retry that finds its own place, places that
 * survive a reconnect and expire when nobody comes, leases, lanes' shares, the operators' word,
 * where players go by room, and an emptied Redis that is put together again in order before anybody
 * is let in. Time is virtual: the script takes it as an argument; but for one test, by Redis's own
 * clock. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "control/redis/redis_fixture.h"
#include "control/redis/scripts.h"

#define BASE      "t{gate}:"
#define MS        1000ull
#define SECOND    1000000ull
#define GRACE     (30 * SECOND)
#define LEASE     (10 * SECOND)
#define REBUILD   (5 * SECOND)
#define WORDS_MAX 2000

enum kind { TAKEN, BACK, LEFT, AWAY, GONE, BEAT, NEW, KINDS };
static const int fields[KINDS] = {2, 2, 1, 2, 2, 2, 5};

struct node {
	const char *name, *boot, *expected;
	int room, places, admitted;
	bool restored, stays;
	redisContext *redis;
	char words[KINDS][WORDS_MAX][48];
	int said[KINDS]; /* words */
};

static struct redis_fixture server;
static redisContext *redis;
static uint64_t now;
static int rate = 100, burst = 20, batch = 10;
static const char *shares = "20 30 50", *order_at = "0", *order_state = "open";
static uint64_t fresh_epoch = 100;
static struct node a = {.name = "a", .boot = "00000000000000aa", .expected = "a"};
static struct node b = {.name = "b", .boot = "00000000000000bb", .expected = "a b"};
static struct node c = {.name = "c", .boot = "00000000000000cc", .expected = "a b c"};

static redisReply *command(const char *format, ...)
{
	va_list list;
	redisReply *reply;

	va_start(list, format);
	reply = redisvCommand(redis, format, list);
	va_end(list);
	assert_non_null(reply);
	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("Redis: %s", reply->str);
	return reply;
}

static void order(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	freeReplyObject(redisvCommand(redis, format, list));
	va_end(list);
}

static void say(struct node *node, enum kind kind, ...)
{
	va_list list;

	va_start(list, kind);
	for (int i = 0; i < fields[kind]; i++)
		strcpy(node->words[kind][node->said[kind]++], va_arg(list, const char *));
	va_end(list);
}

/* Character n, of this node, in its session n. */
static const char *member(int n)
{
	static char text[8][24];
	static int at;

	at = (at + 1) % 8;
	snprintf(text[at], sizeof(text[at]), "1:%d", n);
	return text[at];
}

static const char *sid(const struct node *node, int n)
{
	static char text[8][40];
	static int at;

	at = (at + 1) % 8;
	snprintf(text[at], sizeof(text[at]), "%s:%x", node->boot, n);
	return text[at];
}

static void come(struct node *node, int n, const char *lane, const char *seq, const char *flags)
{
	say(node, NEW, member(n), sid(node, n), lane, seq, flags);
}

/* What is said goes with it. */
static redisReply *turn_at(struct node *node, uint64_t at)
{
	static char number[32][32];
	const char *argv[64 + KINDS * WORDS_MAX];
	int argc = 0, n = 0;
	redisReply *reply;

#define TEXT(text) (argv[argc++] = (text))
#define NUMBER(value)                                                                              \
	(snprintf(number[n], sizeof(number[n]), "%lld", (long long)(value)),                       \
		argv[argc++] = number[n++])
	TEXT("EVAL");
	TEXT(redis_script_texts[REDIS_SCRIPT_GATE_TURN].text);
	TEXT("1");
	TEXT(BASE);
	NUMBER(at);
	TEXT(node->name);
	TEXT(node->boot);
	NUMBER(fresh_epoch++);
	NUMBER(rate);
	NUMBER(burst);
	NUMBER(batch);
	NUMBER(GRACE / MS);
	NUMBER(LEASE / MS);
	NUMBER(REBUILD / MS);
	TEXT(shares);
	NUMBER(node->room);
	NUMBER(node->places);
	NUMBER(node->admitted);
	TEXT(node->restored ? "1" : "0");
	TEXT(node->expected);
	TEXT(order_at);
	TEXT(order_state);
	TEXT("0");
	TEXT("");
	TEXT("");
	TEXT(node->stays ? "0" : "1");
	for (int kind = 0; kind < KINDS; kind++)
		NUMBER(node->said[kind] / fields[kind]);
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < node->said[kind]; i++)
			TEXT(node->words[kind][i]);
	memset(node->said, 0, sizeof(node->said));
	reply = redisCommandArgv(node->redis ? node->redis : redis, argc, argv, NULL);
	assert_non_null(reply);
	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s", reply->str);
	assert_int_equal(reply->elements, 5);
	return reply;
}

static redisReply *turn(struct node *node)
{
	return turn_at(node, now);
}

static void turn_only(struct node *node)
{
	freeReplyObject(turn(node));
}

static const char *text(const redisReply *reply, int list, size_t i)
{
	assert_true(i < reply->element[list]->elements);
	return reply->element[list]->element[i]->str;
}

static long number(const redisReply *reply, int list, size_t i)
{
	return atol(text(reply, list, i));
}

#define HEAD  0
#define LANES 1
#define NEWS  2
#define BEATS 3
#define CALLS 4

static bool called(const redisReply *reply, const char *words)
{
	for (size_t i = 0; i < reply->element[CALLS]->elements; i++)
		if (!strcmp(text(reply, CALLS, i), words))
			return true;
	return false;
}

static void must_call(const redisReply *reply, const char *letter, const char *who)
{
	char words[64];

	snprintf(words, sizeof(words), "%s %s", letter, who);
	if (!called(reply, words))
		fail_msg("%s was not called", words);
}

/* An empty Redis of which node a has heard: the gate is open, the bucket has had a second. */
static void begin(void)
{
	order("FLUSHALL");
	rate = 100;
	burst = 20;
	batch = 10;
	shares = "20 30 50";
	order_at = "0";
	order_state = "open";
	now = 1000 * SECOND;
	for (struct node *node = &a; node; node = node == &a ? &b : node == &b ? &c : NULL) {
		memset(node->said, 0, sizeof(node->said));
		node->room = 1000;
		node->places = node->admitted = 0;
		node->restored = true;
		node->stays = false;
	}
	turn_only(&a);
	now += SECOND;
}

/* So much later; the node was there all the time. */
static void pass(struct node *node, uint64_t us)
{
	for (uint64_t end = now + us; now < end;) {
		now = now + SECOND < end ? now + SECOND : end;
		turn_only(node);
	}
}

/* As the node itself reports, in a hash that expires. */
static void beat(const struct node *node, int room, int places, int admitted)
{
	order("HSET " BASE "n:%s boot %s room %d places %d admitted %d address 10.0.0.%s:7777",
		node->name, node->boot, room, places, admitted, node == &a ? "1" : "2");
}

static void test_let_in(void **state)
{
	redisReply *reply;

	(void)state;
	begin();
	come(&a, 1, "3", "0", "-");
	reply = turn(&a);
	assert_string_equal(text(reply, HEAD, 0), "OK");
	assert_string_equal(text(reply, NEWS, 0), "PLACE");
	assert_string_equal(text(reply, NEWS, 2), "1");
	must_call(reply, "A", sid(&a, 1));
	assert_int_equal(number(reply, HEAD, 11), 1);  /* a lease */
	assert_int_equal(number(reply, HEAD, 7), 999); /* of the room of all */
	freeReplyObject(reply);
	/* It has become a place: no lease, and no room lost twice. */
	say(&a, TAKEN, member(1), sid(&a, 1));
	a.places = 1;
	a.room = 999;
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 11), 0);
	assert_int_equal(number(reply, HEAD, 7), 999);
	assert_int_equal(number(reply, HEAD, 8), 1);
	freeReplyObject(reply);
}

/* In the order of the seqs, however they came; who says it twice has one place; who comes from
 * elsewhere takes over; a retry takes nothing from anybody. */
static void test_order_and_repeats(void **state)
{
	redisReply *reply;
	int last = 0;

	(void)state;
	begin();
	b.restored = true;
	turn_only(&b);
	a.room = b.room = 0;
	for (int i = 1; i <= 30; i++)
		come(i % 2 ? &a : &b, i, "3", "0", "-");
	turn_only(&a);
	reply = turn(&b);
	assert_int_equal(number(reply, LANES, 5), 30);
	freeReplyObject(reply);

	come(&a, 1, "3", "0", "-");
	come(&a, 1, "3", "0", "-r");
	come(&a, 2, "3", "0", "-"); /* was at b; that session hears of it */
	say(&a, BEAT, member(3), sid(&a, 3));
	reply = turn(&a);
	assert_int_equal(number(reply, LANES, 5), 30);
	assert_int_equal(number(reply, NEWS, 2), 1);
	assert_int_equal(number(reply, NEWS, 5), 1);
	assert_int_equal(number(reply, NEWS, 8), 16); /* a's 15 were first */
	assert_int_equal(reply->element[BEATS]->elements, 0);
	freeReplyObject(reply);
	say(&b, BEAT, member(2), sid(&b, 2));
	come(&b, 2, "3", "0", "-r");
	reply = turn(&b);
	must_call(reply, "R", sid(&b, 2));
	assert_string_equal(text(reply, BEATS, 1), "REPLACED");
	assert_string_equal(text(reply, NEWS, 0), "REPLACED");
	freeReplyObject(reply);

	/* Whoever calls, the order is the one of the queue. */
	a.room = b.room = 1000;
	for (int turns = 0, in = 0; in < 30; turns++) {
		long before, after;

		now += 100 * MS;
		reply = turn(turns % 3 ? &a : &b);
		after = number(reply, LANES, 4);
		before = last;
		assert_int_equal(after - before, number(reply, HEAD, 12));
		in += (int)(after - before);
		last = (int)after;
		freeReplyObject(reply);
		assert_true(turns < 100);
	}
	/* Those who look at it later find all of them, in that order, each once. */
	reply = command("XRANGE " BASE "let_in - +");
	assert_int_equal(reply->elements, 30);
	for (int i = 0; i < 30; i++) {
		const redisReply *one = reply->element[i]->element[1];
		int who = i < 15 ? 1 + 2 * i : 2 * (i - 14); /* a's 15 were first; 2 came to it later */

		assert_int_equal(one->elements, 10);
		assert_string_equal(one->element[1]->str, member(who));
		assert_string_equal(one->element[3]->str, "3");
		assert_int_equal(atoi(one->element[5]->str), i + 1);
		assert_string_equal(one->element[7]->str, i <= 15 ? "a" : "b");
	}
	freeReplyObject(reply);
	for (int i = 0; i < 2; i++) { /* what each still has to hear */
		reply = turn(i ? &b : &a);
		assert_int_equal(number(reply, LANES, 5), 0);
		freeReplyObject(reply);
	}
}

/* No more than rate x time and a burst, over every stretch between two calls, whoever calls when.
 */
static void test_rate(void **state)
{
	enum { CALLS_MADE = 1500 };
	static uint64_t at[CALLS_MADE];
	static long in[CALLS_MADE];
	uint64_t random = 12345;
	struct node *nodes[] = {&a, &b, &c};
	long total = 0, waiting = 0;
	int next = 1;

	(void)state;
	begin();
	a.room = b.room = c.room = 1000000;
	beat(&a, 1000000, 0, 0);
	beat(&b, 1000000, 0, 0);
	beat(&c, 1000000, 0, 0);
	for (int i = 0; i < CALLS_MADE; i++) {
		struct node *node;
		redisReply *reply;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		node = nodes[(random >> 33) % 3];
		/* Bursts of calls, and pauses. */
		now += (random >> 40) % 4 ? (random >> 43) % (5 * MS) : (random >> 43) % (300 * MS);
		for (int k = 0; k < 40 && waiting < 400; k++, waiting++)
			come(node, next++, "3", "0", "-");
		reply = turn(node);
		in[i] = number(reply, HEAD, 12);
		at[i] = now;
		assert_true(in[i] <= batch);
		waiting -= in[i];
		total += in[i];
		freeReplyObject(reply);
	}
	assert_true(total > 500);
	for (int i = 0; i < CALLS_MADE; i++) {
		long sum = 0;

		for (int j = i; j < CALLS_MADE; j++) {
			sum += in[j];
			assert_true((double)sum <=
				    (double)(at[j] - at[i]) * rate / SECOND + burst + 1e-6);
		}
	}
}

static uint64_t redis_time(void)
{
	redisReply *reply = command("TIME");
	uint64_t us = strtoull(reply->element[0]->str, NULL, 10) * SECOND +
		      strtoull(reply->element[1]->str, NULL, 10);

	freeReplyObject(reply);
	return us;
}

/* The same by Redis's own clock, with three nodes on connections of their own that call without a
 * pause. */
static void test_rate_by_its_clock(void **state)
{
	struct node *nodes[] = {&a, &b, &c};
	uint64_t first;
	long total = 0;

	(void)state;
	begin();
	order("FLUSHALL");
	rate = 1000;
	burst = 50;
	freeReplyObject(turn_at(&a, 0));
	first = redis_time();
	for (int i = 0; i < 3; i++) {
		nodes[i]->redis = redisConnectUnix(server.address + strlen("unix:"));
		assert_int_equal(nodes[i]->redis->err, 0);
		for (int k = 0; k < 300; k++)
			come(nodes[i], 1 + i * 300 + k, "3", "0", "-");
	}
	for (int i = 0; total < 900; i++) {
		redisReply *reply = turn_at(nodes[i % 3], 0);
		uint64_t after = redis_time();

		total += number(reply, HEAD, 12);
		freeReplyObject(reply);
		if ((double)total > (double)(after - first) * rate / SECOND + burst)
			fail_msg("%ld in %" PRIu64 " us", total, after - first);
	}
	for (int i = 0; i < 3; i++) {
		redisFree(nodes[i]->redis);
		nodes[i]->redis = NULL;
	}
}

/* A client that has gone is passed over, and back in its place when it comes within the grace. */
static void test_grace(void **state)
{
	redisReply *reply;

	(void)state;
	begin();
	a.room = 0;
	for (int i = 1; i <= 5; i++)
		come(&a, i, "3", "0", "-");
	turn_only(&a);
	for (int i = 1; i <= 3; i++)
		say(&a, AWAY, member(i), sid(&a, i));
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 15), 3);
	freeReplyObject(reply);
	a.room = 1;
	reply = turn(&a);
	must_call(reply, "A", sid(&a, 4));
	freeReplyObject(reply);
	say(&a, GONE, member(4), sid(&a, 4)); /* it ends while it is let in: its lease goes */
	a.room = 0;
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 11), 0);
	freeReplyObject(reply);

	pass(&a, GRACE / 2);
	a.room = 1;
	say(&a, BEAT, member(5), sid(&a, 5));
	say(&a, NEW, member(1), sid(&a, 11), "3", "0", "-"); /* another session, at another node */
	reply = turn(&a);
	assert_string_equal(text(reply, NEWS, 0), "PLACE");
	assert_int_equal(number(reply, NEWS, 2), 1);
	must_call(reply, "A", sid(&a, 11)); /* before 5 */
	freeReplyObject(reply);

	/* The others' places expire, and 5 is next. */
	a.room = 0;
	pass(&a, GRACE / 2);
	a.room = 1;
	say(&a, BEAT, member(5), sid(&a, 5));
	say(&a, BEAT, member(2), sid(&a, 2));
	say(&a, TAKEN, member(1), sid(&a, 11));
	reply = turn(&a);
	assert_string_equal(text(reply, BEATS, 1), "LOST");
	must_call(reply, "A", sid(&a, 5));
	freeReplyObject(reply);
	reply = command("KEYS " BASE "p:*");
	assert_int_equal(reply->elements, 0);
	freeReplyObject(reply);
	reply = command("ZCARD " BASE "seen");
	assert_int_equal(reply->integer, 0);
	freeReplyObject(reply);
}

/* Nobody beats for those of a node that has died. */
static void test_abandoned(void **state)
{
	redisReply *reply;

	(void)state;
	begin();
	turn_only(&b);
	a.room = b.room = 0;
	for (int i = 1; i <= 200; i++)
		come(&b, i, "3", "0", "-");
	turn_only(&b);
	come(&a, 500, "3", "0", "-");
	turn_only(&a);
	pass(&a, 3 * SECOND);
	now += SECOND; /* b has died */
	a.room = 10;
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 12), 0); /* they are passed over, so many a turn */
	assert_int_equal(number(reply, HEAD, 15), 4 * batch + 64);
	freeReplyObject(reply);
	now += 100 * MS;
	reply = turn(&a);
	must_call(reply, "A", sid(&a, 500));
	freeReplyObject(reply);
	/* b was only slow: all are where they were. */
	for (int i = 1; i <= 200; i++)
		say(&b, BEAT, member(i), sid(&b, i));
	reply = turn(&b);
	assert_int_equal(number(reply, LANES, 5), 200);
	assert_int_equal(reply->element[BEATS]->elements, 0);
	freeReplyObject(reply);
	/* It does not come again: they go, by and by, and nothing is left. */
	pass(&a, GRACE + 5 * SECOND);
	reply = turn(&a);
	assert_int_equal(number(reply, LANES, 5), 0);
	freeReplyObject(reply);
	reply = command("KEYS " BASE "p:*");
	assert_int_equal(reply->elements, 0);
	freeReplyObject(reply);
}

/* A reserved place is one less until it is taken, given back, or has ended. */
static void test_leases(void **state)
{
	redisReply *reply;

	(void)state;
	begin();
	a.room = 2;
	for (int i = 1; i <= 4; i++)
		come(&a, i, "3", "0", "-");
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 12), 2);
	freeReplyObject(reply);
	/* The answer was lost: who asks hears it again, and holds it longer. */
	pass(&a, LEASE / 2);
	say(&a, BEAT, member(1), sid(&a, 1));
	for (int i = 3; i <= 4; i++)
		say(&a, BEAT, member(i), sid(&a, i));
	come(&a, 2, "3", "0", "-r");
	reply = turn(&a);
	assert_string_equal(text(reply, BEATS, 0), "1");
	assert_string_equal(text(reply, BEATS, 1), "ADMIT");
	assert_string_equal(text(reply, NEWS, 0), "ADMIT");
	assert_int_equal(number(reply, HEAD, 12), 0);
	freeReplyObject(reply);
	/* 1 finds no place after all and is next again; 2 never comes. */
	say(&a, BACK, member(1), sid(&a, 1));
	a.room = 1;
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 12), 0);
	assert_int_equal(number(reply, LANES, 5), 3);
	freeReplyObject(reply);
	pass(&a, LEASE - SECOND);
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 11), 1);
	freeReplyObject(reply);
	now += SECOND;
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 14), 1);
	must_call(reply, "A", sid(&a, 1));
	freeReplyObject(reply);
	reply = command("HGET " BASE "leases a");
	assert_string_equal(reply->str, "1");
	freeReplyObject(reply);
}

static void word(const char *state, const char *at_rate)
{
	redisReply *reply = redisCommand(redis, "EVAL %s 1 " BASE " %s %s ada %s",
		redis_script_texts[REDIS_SCRIPT_GATE_STATE].text, state, at_rate, "why so");

	assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
	assert_int_equal(reply->elements, 4);
	freeReplyObject(reply);
}

static void test_operators_word(void **state)
{
	redisReply *reply;
	long in = 0;

	(void)state;
	begin();
	word("closed", "0");
	for (int i = 1; i <= 60; i++)
		come(&a, i, "3", "0", "-");
	for (int i = 0; i < 20; i++) {
		now += SECOND;
		reply = turn(&a);
		assert_string_equal(text(reply, HEAD, 2), "closed");
		assert_string_equal(text(reply, HEAD, 5), "ada");
		assert_string_equal(text(reply, HEAD, 6), "why so");
		assert_int_equal(number(reply, HEAD, 12), 0);
		freeReplyObject(reply);
	}
	word("throttled", "5");
	for (int i = 0; i < 20; i++) {
		now += 100 * MS;
		reply = turn(&a);
		in += number(reply, HEAD, 12);
		assert_true((double)in <= 5 + 0.5 * (i + 1));
		assert_int_equal(number(reply, HEAD, 3), 5);
		freeReplyObject(reply);
	}
	assert_true(in >= 10);
	word("open", "0");
	for (int i = 0; i < 10; i++) {
		now += 100 * MS;
		reply = turn(&a);
		in += number(reply, HEAD, 12);
		freeReplyObject(reply);
	}
	assert_int_equal(in, 60);
	/* What a node knows that Redis has lost stands; what is older does not. */
	word("closed", "0");
	reply = turn(&a);
	order_at = strdup(text(reply, HEAD, 4));
	freeReplyObject(reply);
	order("FLUSHALL");
	order_state = "closed";
	reply = turn(&a);
	assert_string_equal(text(reply, HEAD, 2), "closed");
	freeReplyObject(reply);
	word("open", "0");
	reply = turn(&a);
	assert_string_equal(text(reply, HEAD, 2), "open");
	freeReplyObject(reply);
	free((char *)(uintptr_t)order_at);
}

static void test_lanes(void **state)
{
	long before[3] = {0};
	redisReply *reply;

	(void)state;
	begin();
	burst = 100;
	for (int i = 0; i < 100; i++) {
		come(&a, 1 + i, "1", "0", "-");
		come(&a, 1001 + i, "2", "0", "-");
		come(&a, 2001 + i, "3", "0", "-");
	}
	a.room = 0;
	turn_only(&a);
	a.room = 1000;
	for (int turns = 1; turns <= 10; turns++) {
		now += 100 * MS;
		reply = turn(&a);
		assert_int_equal(number(reply, HEAD, 12), 10);
		for (size_t lane = 0; lane < 3; lane++) {
			const int share[3] = {20, 30, 50};
			long in = number(reply, LANES, 2 * lane);

			/* Within one of its share, all the time. */
			assert_true(labs(in * 100 - share[lane] * turns * 10) <= 100);
			before[lane] = in;
		}
		freeReplyObject(reply);
	}
	/* What two lanes do not need is the third's; and they have saved nothing up meanwhile. */
	order("DEL " BASE "q:1 " BASE "q:2");
	now += 100 * MS;
	reply = turn(&a);
	assert_int_equal(number(reply, LANES, 4) - before[2], 10);
	freeReplyObject(reply);
	for (int i = 0; i < 50; i++)
		come(&a, 3001 + i, "1", "0", "-");
	now += 100 * MS;
	reply = turn(&a);
	assert_in_range(number(reply, LANES, 5), 100 - 60 - 9, 100 - 60 - 6);
	freeReplyObject(reply);
}

/* Who has left the game is one that returns, for the grace. */
static void test_returning(void **state)
{
	redisReply *reply;

	(void)state;
	begin();
	a.room = 0;
	say(&a, LEFT, member(7));
	come(&a, 6, "3", "0", "-");
	come(&a, 7, "3", "0", "-");
	come(&a, 8, "1", "0", "-");
	reply = turn(&a);
	assert_string_equal(text(reply, NEWS, 1), "3");
	assert_string_equal(text(reply, NEWS, 4), "2");
	assert_string_equal(text(reply, NEWS, 7), "1");
	freeReplyObject(reply);
	reply = command("PTTL " BASE "r:1:7");
	assert_in_range(reply->integer, 1, GRACE / MS);
	freeReplyObject(reply);
}

/* Where there is most room, not where it was popped; who is not heard of has none; a seat needs
 * none; what was let in since a report counts. */
static void test_placement(void **state)
{
	redisReply *reply;
	int here = 0, there = 0;

	(void)state;
	begin();
	turn_only(&b);
	batch = 20;
	a.room = 4;
	b.room = 40;
	beat(&a, 4, 96, 0);
	beat(&b, 40, 60, 0);
	for (int i = 1; i <= 30; i++)
		come(&a, i, "3", "0", "-");
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 12), 20);
	for (size_t i = 0; i < reply->element[CALLS]->elements; i++) {
		here += text(reply, CALLS, i)[0] == 'A';
		there += strstr(text(reply, CALLS, i), " b 10.0.0.2:7777") != NULL;
	}
	assert_int_equal(here, 0);
	assert_int_equal(there, 20);
	freeReplyObject(reply);

	/* They arrive at b, which has said nothing since: its report is no room twice. */
	for (int i = 1; i <= 20; i++)
		come(&b, i, "3", "0", "-");
	reply = turn(&b);
	for (size_t i = 0; i < 20; i++)
		assert_string_equal(text(reply, NEWS, 3 * i), "ADMIT");
	freeReplyObject(reply);
	for (int i = 1; i <= 20; i++)
		say(&b, TAKEN, member(i), sid(&b, i));
	b.room = 20;
	b.places = 80;
	b.admitted = 20;
	reply = turn(&b);
	assert_int_equal(number(reply, HEAD, 10), 0); /* the others believe what is so */
	freeReplyObject(reply);
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 7), 20 + 4);
	freeReplyObject(reply);

	/* b is not heard of any more: nobody goes there. */
	order("DEL " BASE "n:b");
	now += SECOND;
	reply = turn(&a);
	for (size_t i = 0; i < reply->element[CALLS]->elements; i++)
		assert_int_equal(text(reply, CALLS, i)[0], 'A');
	assert_int_equal(number(reply, HEAD, 12), 4);
	assert_int_equal(number(reply, HEAD, 7), 0);
	freeReplyObject(reply);
	/* Its older session has a place here. */
	come(&a, 77, "2", "0", "-s");
	now += SECOND;
	reply = turn(&a);
	must_call(reply, "A", sid(&a, 77));
	assert_int_equal(number(reply, HEAD, 12), 1);
	freeReplyObject(reply);
}

static void is_text(const char *wanted, const char *format, const char *who)
{
	redisReply *reply = command(format, who);

	assert_int_equal(reply->type, wanted ? REDIS_REPLY_STRING : REDIS_REPLY_NIL);
	if (wanted)
		assert_string_equal(reply->str, wanted);
	freeReplyObject(reply);
}

static void placed(const redisReply *reply, size_t i, const char *seq)
{
	assert_string_equal(text(reply, NEWS, 3 * i), "PLACE");
	assert_string_equal(text(reply, NEWS, 3 * i + 1), "3");
	assert_string_equal(text(reply, NEWS, 3 * i + 2), seq);
}

/* Lets 1 to 3 in at b, where there is room, while they wait at a. */
static void send_three(void)
{
	redisReply *reply;

	begin();
	turn_only(&b);
	a.room = 0;
	b.room = 3;
	beat(&a, 0, 100, 0);
	beat(&b, 3, 60, 0);
	for (int i = 1; i <= 4; i++)
		come(&a, i, "3", "0", "-");
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 12), 3);
	freeReplyObject(reply);
	is_text("3", "HGET " BASE "leases %s", "b");
}

/* Whoever is sent to another node and does not get in there stands where it stood, whether its node
 * says so, or nobody does; its reserved place is no one's any more, and it is let in once. */
static void test_sent(void **state)
{
	redisReply *reply;

	(void)state;
	send_three();
	order_at = "5"; /* that 4 does not get what becomes free */
	order_state = "closed";
	/* 1 is back at once, and says it goes nowhere any more. */
	come(&a, 1, "3", "1", "-th");
	reply = turn(&a);
	placed(reply, 0, "1");
	assert_int_equal(number(reply, HEAD, 11), 2);
	freeReplyObject(reply);
	is_text("2", "HGET " BASE "leases %s", "b");
	/* 2 is there: a hears of it, and the lease is its own. */
	come(&b, 2, "3", "2", "-");
	reply = turn(&b);
	assert_string_equal(text(reply, NEWS, 0), "ADMIT");
	assert_string_equal(text(reply, NEWS, 2), "2");
	freeReplyObject(reply);
	reply = turn(&a);
	must_call(reply, "R", sid(&a, 2));
	assert_int_equal(number(reply, LANES, 5), 2); /* 1 and 4 */
	freeReplyObject(reply);
	/* It goes wrong there, and its client is at a still: the place is at a again. */
	come(&a, 2, "3", "2", "-h");
	reply = turn(&a);
	placed(reply, 0, "2");
	freeReplyObject(reply);
	reply = turn(&b);
	must_call(reply, "R", sid(&b, 2));
	freeReplyObject(reply);
	/* 3 says nothing: nobody of it is in the queue, but its place is known. */
	for (uint64_t end = now + LEASE; now < end; now += SECOND) {
		turn_only(&a);
		turn_only(&b);
	}
	turn_only(&a);
	is_text("0", "HGET " BASE "leases %s", "b");
	is_text("1", "HGET " BASE "p:%s away", member(3));
	reply = turn(&a);
	assert_int_equal(number(reply, LANES, 5), 3);
	freeReplyObject(reply);
	come(&a, 3, "3", "3", "-th");
	say(&a, BEAT, member(1), sid(&a, 1));
	say(&a, BEAT, member(2), sid(&a, 2));
	say(&a, BEAT, member(4), sid(&a, 4));
	reply = turn(&a);
	placed(reply, 0, "3");
	assert_int_equal(reply->element[BEATS]->elements, 0);
	freeReplyObject(reply);
	/* In their order again, once each. */
	order_at = "6";
	order_state = "open";
	a.room = 40;
	reply = turn(&a);
	assert_int_equal(reply->element[CALLS]->elements, 4);
	for (int i = 1; i <= 4; i++) {
		char words[64];

		snprintf(words, sizeof(words), "A %s", sid(&a, i));
		assert_string_equal(text(reply, CALLS, (size_t)i - 1), words);
	}
	freeReplyObject(reply);
	/* Too late with the pass, and taken nowhere: its place there is what the pass says. */
	for (int i = 1; i <= 4; i++)
		say(&a, TAKEN, member(i), sid(&a, i));
	turn_only(&a);
	come(&b, 9, "3", "2", "-");
	reply = turn(&b);
	placed(reply, 0, "2");
	freeReplyObject(reply);
}

/* One who can be let in at its own node alone, which is full, holds nobody up; when that has room it
 * is the first. */
static void test_stays(void **state)
{
	redisReply *reply;

	(void)state;
	begin();
	turn_only(&b);
	a.room = 0;
	b.room = 10;
	beat(&a, 0, 100, 0);
	beat(&b, 10, 60, 0);
	come(&a, 1, "3", "0", "-t");
	come(&a, 2, "3", "0", "-");
	come(&a, 3, "3", "0", "-t");
	come(&a, 4, "3", "0", "-");
	/* For a moment it waits, in front of all: a node may have no room for that long. */
	for (int s = 0; s < 3; s++) {
		turn_only(&b);
		reply = turn(&a);
		assert_int_equal(number(reply, HEAD, 12), 0);
		assert_int_equal(number(reply, HEAD, 15), 0);
		freeReplyObject(reply);
		now += SECOND;
	}
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 12), 2);
	for (size_t i = 0; i < 2; i++)
		assert_non_null(strstr(text(reply, CALLS, i), " b 10.0.0.2:7777"));
	assert_int_equal(number(reply, HEAD, 15), 2);
	freeReplyObject(reply);
	/* They wait, and count; they need not be looked at again, and stay where they are when they are
	 * heard of. */
	say(&a, BEAT, member(1), sid(&a, 1));
	say(&a, BEAT, member(3), sid(&a, 3));
	reply = turn(&a);
	assert_int_equal(reply->element[BEATS]->elements, 0);
	assert_int_equal(number(reply, LANES, 5), 2);
	assert_int_equal(number(reply, HEAD, 15), 0);
	freeReplyObject(reply);
	/* One leaves, and comes back: it stands where it stood. */
	say(&a, AWAY, member(1), sid(&a, 1));
	turn_only(&a);
	come(&a, 1, "3", "0", "-t");
	reply = turn(&a);
	placed(reply, 0, "1");
	freeReplyObject(reply);
	/* Room: before whoever came later. */
	come(&a, 5, "3", "0", "-t");
	a.room = 2;
	now += SECOND;
	reply = turn(&a);
	assert_int_equal(number(reply, HEAD, 12), 2);
	must_call(reply, "A", sid(&a, 1));
	must_call(reply, "A", sid(&a, 3));
	freeReplyObject(reply);
	/* Where no node has any room, the head waits, as ever. */
	b.room = 0;
	beat(&b, 0, 100, 0);
	for (int s = 0; s <= 3; s++) {
		reply = turn(&a);
		assert_int_equal(number(reply, HEAD, 12), 0);
		assert_int_equal(number(reply, HEAD, 15), 0);
		freeReplyObject(reply);
		now += SECOND;
		turn_only(&b);
	}
	/* One that is parked goes with its client to the other node, and is let in there. */
	b.room = 10;
	beat(&b, 10, 60, 0);
	turn_only(&a);
	is_text("2", "HGET " BASE "p:%s aside", member(5));
	come(&b, 5, "3", "0", "-t");
	reply = turn(&b);
	placed(reply, 0, "5");
	must_call(reply, "A", sid(&b, 5));
	freeReplyObject(reply);
	turn_only(&a);
	reply = command("EXISTS " BASE "full " BASE "w:3:a");
	assert_int_equal(reply->integer, 0);
	freeReplyObject(reply);
}

/* Redis is emptied: nobody is let in until the nodes that are expected have said their places, and
 * then in the old order; newcomers after them. */
static void test_rebuild(void **state)
{
	redisReply *reply;
	int in = 0;

	(void)state;
	begin();
	turn_only(&b);
	a.room = b.room = 0;
	for (int i = 1; i <= 10; i++) {
		come(i % 2 ? &a : &b, i, "3", "0", "-");
		turn_only(i % 2 ? &a : &b);
	}
	order("FLUSHALL");
	a.room = b.room = 1000;
	a.expected = "a b";
	a.restored = b.restored = false; /* they do not know yet */
	now += SECOND;
	come(&a, 99, "3", "0", "-");
	reply = turn(&a);
	assert_string_equal(text(reply, HEAD, 0), "REBUILDING");
	assert_string_equal(text(reply, NEWS, 0), "WAIT");
	assert_int_equal(number(reply, HEAD, 12), 0);
	freeReplyObject(reply);
	a.restored = true;
	for (int i = 9; i >= 1; i -= 2) {
		char seq[8];

		snprintf(seq, sizeof(seq), "%d", i);
		come(&a, i, "3", seq, "-");
	}
	now += SECOND;
	reply = turn(&a);
	assert_string_equal(text(reply, HEAD, 0), "REBUILDING");
	assert_string_equal(text(reply, NEWS, 0), "PLACE");
	freeReplyObject(reply);
	b.restored = true;
	for (int i = 10; i >= 2; i -= 2) {
		char seq[8];

		snprintf(seq, sizeof(seq), "%d", i);
		come(&b, i, "3", seq, "-");
	}
	reply = turn(&b);
	assert_string_equal(text(reply, HEAD, 0), "OK");
	assert_int_equal(number(reply, HEAD, 12), 0); /* the bucket begins empty */
	assert_int_equal(number(reply, LANES, 4), 0);
	assert_int_equal(number(reply, LANES, 5), 10);
	freeReplyObject(reply);
	come(&a, 99, "3", "0", "-");
	come(&a, 98, "3", "7", "-p"); /* it comes late, and shows its place */
	reply = turn(&a);
	assert_int_equal(number(reply, NEWS, 2), 11);
	assert_int_equal(number(reply, NEWS, 5), 7);
	freeReplyObject(reply);
	say(&a, GONE, member(98), sid(&a, 98));
	turn_only(&a);
	order("DEL " BASE "fresh"); /* the grace has passed: no pass gets anybody to the front */
	come(&a, 98, "3", "7", "-p");
	reply = turn(&a);
	assert_int_equal(number(reply, NEWS, 2), 12);
	freeReplyObject(reply);
	batch = 1;
	while (in < 10) {
		now += 10 * MS;
		reply = turn(in % 2 ? &b : &a); /* each where it waits: no node has a beat */
		if (number(reply, HEAD, 12))
			assert_int_equal(number(reply, LANES, 4), ++in);
		freeReplyObject(reply);
	}
	a.expected = "a";

	/* A node that never comes is waited for until the deadline. */
	order("FLUSHALL");
	a.expected = "a ghost";
	reply = turn(&a);
	assert_string_equal(text(reply, HEAD, 0), "REBUILDING");
	freeReplyObject(reply);
	now += REBUILD - 1;
	reply = turn(&a);
	assert_string_equal(text(reply, HEAD, 0), "REBUILDING");
	freeReplyObject(reply);
	now += 1;
	reply = turn(&a);
	assert_string_equal(text(reply, HEAD, 0), "OK");
	freeReplyObject(reply);
	a.expected = "a";
}

/* Nobody could call for an hour: nobody is late for it, nothing was saved up; the same when the
 * clock of another master is an hour behind. */
static void test_gap(void **state)
{
	(void)state;
	for (int back = 0; back < 2; back++) {
		redisReply *reply;

		begin();
		now += 7200 * SECOND;
		turn_only(&a);
		now += SECOND;
		a.room = 1;
		come(&a, 1, "3", "0", "-");
		come(&a, 2, "3", "0", "-");
		reply = turn(&a);
		must_call(reply, "A", sid(&a, 1));
		freeReplyObject(reply);
		now = back ? now - 3600 * SECOND : now + 3600 * SECOND;
		come(&a, 3, "3", "0", "-");
		a.room = 10;
		reply = turn(&a);
		assert_int_equal(number(reply, HEAD, 13), 0);
		assert_int_equal(number(reply, HEAD, 14), 0);
		assert_int_equal(number(reply, HEAD, 12), 0);
		assert_int_equal(number(reply, LANES, 5), 2);
		freeReplyObject(reply);
		now += 100 * MS;
		reply = turn(&a);
		assert_int_equal(number(reply, HEAD, 12), 2);
		freeReplyObject(reply);
		pass(&a, GRACE + SECOND);
		reply = command("ZCARD " BASE "lease");
		assert_int_equal(reply->integer, 0);
		freeReplyObject(reply);
	}
}

/* Redis was away: the node that finds it first does not let its own overtake those who wait at the other, unless
 * that one does not come. */
static void test_gap_order(void **state)
{
	(void)state;
	for (int dead = 0; dead < 2; dead++) {
		redisReply *reply;

		begin();
		turn_only(&b);
		a.room = b.room = 0;
		come(&b, 1, "3", "0", "-");
		come(&b, 2, "3", "0", "-");
		turn_only(&b);
		come(&a, 3, "3", "0", "-");
		turn_only(&a);
		now += 10 * SECOND;
		a.room = 10;
		for (int i = 0; i < 29; i++) {
			reply = turn(&a);
			assert_int_equal(number(reply, HEAD, 12), 0);
			assert_int_equal(number(reply, LANES, 5), 3);
			freeReplyObject(reply);
			now += 100 * MS;
		}
		b.room = 10;
		if (!dead) {
			reply = turn(&b);
			must_call(reply, "A", sid(&b, 1));
			must_call(reply, "A", sid(&b, 2));
			freeReplyObject(reply);
		}
		now += 200 * MS;
		reply = turn(&a);
		must_call(reply, "A", sid(&a, 3));
		assert_int_equal(number(reply, HEAD, 15), dead ? 2 : 0);
		freeReplyObject(reply);
	}
}

static int setup(void **state)
{
	(void)state;
	redis_fixture_init(&server);
	redis_fixture_start(&server, NULL, NULL);
	redis = redisConnectUnix(server.address + strlen("unix:"));
	return redis->err;
}

static int teardown(void **state)
{
	(void)state;
	redisFree(redis);
	redis_fixture_fini(&server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_let_in),
		cmocka_unit_test(test_order_and_repeats),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_rate_by_its_clock),
		cmocka_unit_test(test_grace),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_leases),
		cmocka_unit_test(test_operators_word),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_returning),
		cmocka_unit_test(test_placement),
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_rebuild),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_gap_order),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
