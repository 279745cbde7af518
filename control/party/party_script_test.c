/* Proves lua/redis/party_step.lua on a real Redis: each act and each refusal by a table; requests
 * sent again; and, against a small model of parties here, thousands of acts of many characters,
 * with time passing, nodes dying and requests repeated: the same results, the same parties, nobody
 * ever in two, versions without a gap, and the events alone giving the same parties, in whatever
 * order and however often they come. Time is virtual: the script takes it as an argument. */
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
#include <jansson.h>

#include "control/redis/redis_fixture.h"
#include "control/redis/scripts.h"

#define BASE         "t{party:1}"
#define MEMBERS_MAX  4
#define INVITE_MS    60000
#define LEADER_GRACE 120000
#define MEMBER_GRACE 900000
#define LEASE        90000
#define INVITES_MAX  8

static struct redis_fixture server;
static redisContext *redis;
static uint64_t now = 1000000;
static bool everyone;

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

/* Runs an operation; the words follow, to a NULL. */
static redisReply *run(const char *op, ...)
{
	char at[24], max[24], invite[24], leader[24], member[24], lease[24];
	const char *argv[300] = {"EVAL", redis_script_texts[REDIS_SCRIPT_PARTY_STEP].text, "1",
		BASE, op, at, max, invite, everyone ? "all" : "leader", leader, member, lease,
		"120000"};
	int argc = 13;
	const char *word;
	redisReply *reply;
	va_list list;

	snprintf(at, sizeof(at), "%" PRIu64, now);
	snprintf(max, sizeof(max), "%d", MEMBERS_MAX);
	snprintf(invite, sizeof(invite), "%d", INVITE_MS);
	snprintf(leader, sizeof(leader), "%d", LEADER_GRACE);
	snprintf(member, sizeof(member), "%d", MEMBER_GRACE);
	snprintf(lease, sizeof(lease), "%d", LEASE);
	va_start(list, op);
	while ((word = va_arg(list, const char *)))
		argv[argc++] = word;
	va_end(list);
	reply = redisCommandArgv(redis, argc, argv, NULL);
	assert_non_null(reply);
	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s: %s", op, reply->str);
	assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
	return reply;
}

static void expect_word(redisReply *reply, const char *word)
{
	assert_string_equal(reply->element[0]->str, word);
	freeReplyObject(reply);
}

static uint64_t next_request = 1, next_party = 900;

/* character: a number from 1 on; its name is c<number>. */
static redisReply *ask_as(
	uint64_t request, const char *act, int character, int target, const char *name)
{
	char who[24], own[24], number[24], whom[24], party[24];

	snprintf(who, sizeof(who), "%d", character);
	snprintf(own, sizeof(own), "c%d", character);
	snprintf(number, sizeof(number), "%" PRIu64, request);
	snprintf(whom, sizeof(whom), "%d", target);
	snprintf(party, sizeof(party), "%" PRIu64, next_party++);
	return run("change", act, who, "1", own, number, whom, name, party, NULL);
}

static redisReply *ask(const char *act, int character, int target)
{
	return ask_as(next_request++, act, character, target, "");
}

static void arrive(int character)
{
	char who[24], own[24];

	snprintf(who, sizeof(who), "%d", character);
	snprintf(own, sizeof(own), "c%d", character);
	expect_word(run("arrive", who, "1", own, "meadow", NULL), "STATE");
}

static void leave_game(int character)
{
	char who[24];

	snprintf(who, sizeof(who), "%d", character);
	expect_word(run("away", who, "1", NULL), "OK");
}

static void empty(void)
{
	freeReplyObject(command("FLUSHALL"));
	freeReplyObject(command("SET " BASE ":epoch 1"));
	freeReplyObject(command("SET " BASE ":version 4294967296"));
	now = 1000000;
	everyone = false;
}

/* The character's party as JSON; NULL: none. */
static json_t *party_of(int character)
{
	redisReply *id = command("GET " BASE ":c:%d", character), *text;
	json_t *root = NULL;

	if (id->type == REDIS_REPLY_STRING) {
		text = command("GET " BASE ":p:%s", id->str);
		if (text->type == REDIS_REPLY_STRING)
			root = json_loads(text->str, 0, NULL);
		freeReplyObject(text);
	}
	freeReplyObject(id);
	return root;
}

static int leader_of(int character)
{
	json_t *p = party_of(character);
	int leader = p ? atoi(json_string_value(json_object_get(p, "leader"))) : 0;

	json_decref(p);
	return leader;
}

static int size_of(int character)
{
	json_t *p = party_of(character);
	int size = (int)json_array_size(json_object_get(p, "m"));

	json_decref(p);
	return size;
}

/* ---- one after the other ---- */

static void each_act_and_refusal_has_its_name(void **state)
{
	(void)state;
	empty();
	for (int c = 1; c <= 7; c++)
		arrive(c);
	static const struct {
		const char *act;
		int who, whom;
		const char *result;
	} steps[] = {
		{"invite", 1, 1, "TARGET_ONESELF"},
		{"invite", 1, 99, "TARGET_OFFLINE"},
		{"accept", 2, 1, "NO_INVITE"},
		{"decline", 2, 1, "NO_INVITE"},
		{"leave", 1, 0, "NOT_IN_PARTY"},
		{"kick", 1, 2, "NOT_IN_PARTY"},
		{"promote", 1, 2, "NOT_IN_PARTY"},
		{"disband", 1, 0, "NOT_IN_PARTY"},
		{"dance", 1, 0, "NO_SUCH_ACT"},
		{"invite", 1, 2, "DONE"},
		{"invite", 1, 2, "ALREADY_INVITED"},
		{"decline", 2, 1, "DONE"},
		{"accept", 2, 1, "NO_INVITE"},
		{"invite", 1, 2, "DONE"},
		{"accept", 2, 1, "DONE"},
		{"accept", 2, 1, "ALREADY_IN_PARTY"},
		{"invite", 2, 3, "NOT_LEADER"},
		{"invite", 1, 2, "TARGET_IN_PARTY"},
		{"invite", 3, 1, "TARGET_IN_PARTY"},
		{"invite", 1, 3, "DONE"},
		{"invite", 1, 4, "DONE"},
		{"invite", 1, 5, "DONE"},
		{"accept", 3, 1, "DONE"},
		{"accept", 4, 1, "DONE"},
		{"accept", 5, 1, "FULL"},
		{"invite", 1, 6, "FULL"},
		{"kick", 2, 3, "NOT_LEADER"},
		{"kick", 1, 1, "TARGET_ONESELF"},
		{"kick", 1, 6, "TARGET_NOT_MEMBER"},
		{"kick", 1, 4, "DONE"},
		{"kick", 1, 4, "TARGET_NOT_MEMBER"},
		{"accept", 5, 1, "DONE"},
		{"promote", 2, 3, "NOT_LEADER"},
		{"promote", 1, 3, "DONE"},
		{"disband", 1, 0, "NOT_LEADER"},
		{"disband", 3, 0, "DONE"},
		{"leave", 3, 0, "NOT_IN_PARTY"},
	};
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		redisReply *reply = ask(steps[i].act, steps[i].who, steps[i].whom);

		if (strcmp(reply->element[0]->str, steps[i].result))
			fail_msg("step %zu, %d %s %d: %s, not %s", i, steps[i].who, steps[i].act,
				steps[i].whom, reply->element[0]->str, steps[i].result);
		freeReplyObject(reply);
	}
}

static void names_are_found_and_invitations_end(void **state)
{
	(void)state;
	empty();
	for (int c = 1; c <= 11; c++)
		arrive(c);
	expect_word(ask_as(next_request++, "invite", 1, 0, "c2"), "DONE");
	expect_word(ask_as(next_request++, "invite", 1, 0, "C2"), "TARGET_OFFLINE");
	expect_word(ask_as(next_request++, "invite", 1, 0, "c1"), "TARGET_ONESELF");
	leave_game(3);
	expect_word(ask_as(next_request++, "invite", 1, 0, "c3"), "TARGET_OFFLINE");
	expect_word(ask("invite", 1, 3), "TARGET_OFFLINE");
	for (int c = 4; c <= 10; c++) /* with that of 1, eight */
		expect_word(ask("invite", c, 2), "DONE");
	expect_word(ask("invite", 11, 2), "TOO_MANY_INVITES");
	now += INVITE_MS;
	expect_word(ask("accept", 2, 1), "NO_INVITE");
	expect_word(ask("invite", 11, 2), "DONE");
	now += INVITE_MS - 1;
	expect_word(ask("accept", 2, 11), "DONE");
	assert_int_equal(leader_of(2), 11);
	/* Whoever invites has left meanwhile, or joined others: it is worth nothing any more. */
	expect_word(ask("invite", 4, 5), "DONE");
	leave_game(4);
	expect_word(ask("accept", 5, 4), "TARGET_OFFLINE");
	expect_word(ask("invite", 6, 7), "DONE");
	expect_word(ask("invite", 11, 6), "DONE");
	expect_word(ask("accept", 6, 11), "DONE");
	expect_word(ask("accept", 7, 6), "NO_INVITE");
}

static void a_repeated_request_has_no_second_effect(void **state)
{
	redisReply *events;

	(void)state;
	empty();
	for (int c = 1; c <= 3; c++)
		arrive(c);
	expect_word(ask_as(500, "invite", 1, 2, ""), "DONE");
	expect_word(ask_as(500, "invite", 1, 2, ""), "DONE");
	expect_word(ask_as(501, "accept", 2, 1, ""), "DONE");
	expect_word(ask_as(501, "accept", 2, 1, ""), "DONE");
	expect_word(ask_as(502, "leave", 2, 0, ""), "DONE");
	expect_word(ask_as(503, "invite", 1, 2, ""), "DONE");
	expect_word(ask_as(504, "accept", 2, 1, ""), "DONE");
	expect_word(ask_as(502, "leave", 2, 0, ""), "DONE"); /* late: it had been done */
	assert_int_equal(size_of(2), 2);
	expect_word(ask_as(504, "leave", 1, 0, ""), "DONE"); /* another one's 504 */
	assert_int_equal(size_of(2), 0);
	events = command("XLEN " BASE ":events");
	assert_int_equal(events->integer, 6);
	freeReplyObject(events);
}

static void time_takes_the_lead_and_the_place(void **state)
{
	(void)state;
	empty();
	for (int c = 1; c <= 4; c++)
		arrive(c);
	for (int c = 2; c <= 4; c++) {
		expect_word(ask("invite", 1, c), "DONE");
		expect_word(ask("accept", c, 1), "DONE");
	}
	leave_game(2);
	leave_game(1);
	now += LEADER_GRACE;
	arrive(4);
	assert_int_equal(leader_of(4), 1);
	now += 1;
	arrive(4);
	assert_int_equal(leader_of(4), 4); /* 3 was not seen for longer than its lease */
	arrive(3);
	arrive(1);
	assert_int_equal(leader_of(1), 4);
	expect_word(ask("leave", 4, 0), "DONE");
	assert_int_equal(leader_of(1), 1); /* the one who joined first, of those who are here */
	assert_int_equal(size_of(1), 3);
	now += MEMBER_GRACE - LEADER_GRACE;
	arrive(1);
	assert_int_equal(size_of(1), 2); /* 2 is forgotten; 3 was here later */
	assert_int_equal(size_of(2), 0);
	/* A newer login elsewhere: an older one's end says nothing of it. */
	expect_word(run("here", "3", "7", "c3", NULL), "OK");
	leave_game(3);
	expect_word(ask("promote", 1, 3), "DONE");
	now += MEMBER_GRACE + LEASE + 1;
	arrive(3); /* the older login's word, late */
	assert_int_equal(size_of(3), 2);
	expect_word(run("here", "3", "7", "c3", NULL), "OK");
	assert_int_equal(size_of(3), 0);
}

/* Its key in Redis ran out while its party stood: it is in none, and may go elsewhere; that the
 * party forgets it later does not take it out of there. And of two logins the greater number is the
 * newer, whatever their digits say as text. */
static void whom_a_character_belongs_to_its_key_decides(void **state)
{
	redisReply *generation;

	(void)state;
	empty();
	for (int c = 1; c <= 4; c++)
		arrive(c);
	for (int c = 2; c <= 3; c++) {
		expect_word(ask("invite", 1, c), "DONE");
		expect_word(ask("accept", c, 1), "DONE");
	}
	freeReplyObject(command("DEL " BASE ":c:3"));
	expect_word(ask("invite", 4, 3), "DONE");
	expect_word(ask("accept", 3, 4), "DONE");
	for (uint64_t until = now + MEMBER_GRACE + 2 * LEASE; now < until; now += LEASE - 1)
		for (int c = 1; c <= 4; c++)
			arrive(c);
	assert_int_equal(size_of(1), 2);
	assert_int_equal(size_of(3), 2);
	assert_int_equal(leader_of(3), 4);
	expect_word(run("here", "3", "10", "c3", NULL), "OK");
	expect_word(run("here", "3", "9", "c3", NULL), "OK");
	generation = command("HGET " BASE ":o:3 g");
	assert_string_equal(generation->str, "10");
	freeReplyObject(generation);
}

static void everyone_may_invite_where_it_is_so(void **state)
{
	(void)state;
	empty();
	everyone = true;
	for (int c = 1; c <= 3; c++)
		arrive(c);
	expect_word(ask("invite", 1, 2), "DONE");
	expect_word(ask("accept", 2, 1), "DONE");
	expect_word(ask("invite", 2, 3), "DONE");
	expect_word(ask("accept", 3, 2), "DONE");
	assert_int_equal(size_of(3), 3);
	assert_int_equal(leader_of(3), 1);
}

static void an_emptied_redis_is_filled_by_one(void **state)
{
	redisReply *reply;

	(void)state;
	freeReplyObject(command("FLUSHALL"));
	expect_word(run("here", "1", "1", "c1", NULL), "NO_EPOCH");
	expect_word(ask("invite", 1, 2), "NO_EPOCH");
	expect_word(run("attach", "0", NULL), "NO_EPOCH");
	expect_word(run("restore_begin", "77", NULL), "OK");
	expect_word(run("restore_begin", "78", NULL), "OTHER");
	expect_word(run("restore_row", "78", "3", "40", "{}", NULL), "OTHER");
	expect_word(
		run("restore_row", "77", "3", "40",
			"{\"leader\":\"1\",\"m\":[{\"c\":\"1\",\"n\":\"c1\"},{\"c\":\"2\",\"n\":"
			"\"c2\"}]}",
			NULL),
		"OK");
	/* An older one, of which 2 has left: nothing is left of it, and it is to be forgotten. */
	reply = run("restore_row", "77", "3", "39",
		"{\"leader\":\"2\",\"m\":[{\"c\":\"2\",\"n\":\"c2\"},{\"c\":\"3\",\"n\":\"c3\"}]}",
		NULL);
	assert_int_equal(reply->elements, 5);
	assert_string_equal(reply->element[2]->str, "39");
	assert_string_equal(reply->element[4]->str, "");
	freeReplyObject(reply);
	/* The same again, by a try that follows one that broke off. */
	expect_word(
		run("restore_row", "77", "4", "40",
			"{\"leader\":\"1\",\"m\":[{\"c\":\"1\",\"n\":\"c1\"},{\"c\":\"2\",\"n\":"
			"\"c2\"}]}",
			NULL),
		"OK");
	expect_word(run("restore_end", "78", "4", NULL), "OTHER");
	expect_word(run("restore_end", "77", "4", NULL), "OK");
	expect_word(run("restore_begin", "79", NULL), "HAVE");
	assert_int_equal(size_of(1), 2);
	assert_int_equal(size_of(3), 0);
	reply = run("attach", "0", NULL);
	assert_string_equal(reply->element[2]->str, "17179869185"); /* 4 * 2^32 + 1 */
	freeReplyObject(reply);
	arrive(2);
	expect_word(ask("leave", 2, 0), "DONE");
}

static void a_damaged_row_is_left_out(void **state)
{
	static const char *const rows[] = {"", "{", "null", "7", "[]", "{\"leader\":\"1\"}",
		"{\"leader\":\"1\",\"m\":7}", "{\"leader\":\"1\",\"m\":[7]}",
		"{\"leader\":\"1\",\"m\":[{\"c\":1,\"n\":\"c1\"}]}",
		"{\"leader\":\"1\",\"m\":[{\"c\":\"1\"}]}", "{\"m\":[]}"};

	(void)state;
	freeReplyObject(command("FLUSHALL"));
	expect_word(run("restore_begin", "77", NULL), "OK");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_word(run("restore_row", "77", "3", "41", rows[i], NULL), "BAD");
	expect_word(run("restore_end", "77", "3", NULL), "OK");
	assert_int_equal(size_of(1), 0);
}

/* Versions never go back, whatever Redis has lost: as many as were read stay used. */
static void lost_versions_are_not_used_again(void **state)
{
	redisReply *reply;

	(void)state;
	empty();
	for (int i = 0; i < 3; i++) {
		static const char *const newest[] = {"4294967296", "4294967301", "4294967299"};
		static const char *const version[] = {"4294967296", "4294967302", "4294967302"};
		static const char *const lost[] = {"0", "1", "0"};

		reply = run("attach", newest[i], NULL);
		assert_string_equal(reply->element[2]->str, version[i]);
		assert_string_equal(reply->element[4]->str, lost[i]);
		freeReplyObject(reply);
	}
	/* A state is said as of now: a shard may know a later one of the party that was lost. */
	for (int c = 1; c <= 2; c++)
		arrive(c);
	expect_word(ask("invite", 1, 2), "DONE");
	expect_word(ask("accept", 2, 1), "DONE");
	for (int c = 1; c <= 2; c++)
		arrive(c);
	reply = run("attach", "4294967400", NULL);
	freeReplyObject(reply);
	reply = run("arrive", "1", "1", "c1", "meadow", NULL);
	assert_string_equal(reply->element[2]->str, "4294967401");
	freeReplyObject(reply);
}

/* ---- the model ---- */

#define ACTORS 14

struct model_member {
	int who;
	uint64_t seen, away; /* away 0: here */
};

struct model_party {
	bool used;
	int leader, count;
	struct model_member member[MEMBERS_MAX];
};

struct model_invite {
	uint64_t until;
	int party; /* -1: the inviter had none */
};

static struct {
	struct model_party party[4096];
	int of[ACTORS + 1], parties; /* of: index of its party, -1 */
	bool online[ACTORS + 1];
	struct model_invite invite[ACTORS + 1][ACTORS + 1]; /* [to][from] */
} model;

static struct model_member *model_member(struct model_party *p, int who)
{
	for (int i = 0; i < p->count; i++)
		if (p->member[i].who == who)
			return &p->member[i];
	return NULL;
}

static struct model_party *model_party(int who)
{
	return model.of[who] < 0 ? NULL : &model.party[model.of[who]];
}

static int model_heir(const struct model_party *p)
{
	for (int i = 0; i < p->count; i++)
		if (!p->member[i].away)
			return p->member[i].who;
	return 0;
}

static void model_end(struct model_party *p)
{
	for (int i = 0; i < p->count; i++)
		model.of[p->member[i].who] = -1;
	p->count = 0;
	p->used = false;
}

static void model_remove(struct model_party *p, int who)
{
	struct model_member *m = model_member(p, who);

	memmove(m, m + 1, (size_t)(&p->member[p->count] - (m + 1)) * sizeof(*m));
	p->count--;
	model.of[who] = -1;
	if (p->leader == who && p->count)
		p->leader = model_heir(p) ? model_heir(p) : p->member[0].who;
	if (p->count < 2)
		model_end(p);
}

static void model_sweep(struct model_party *p)
{
	for (int i = 0; i < p->count; i++)
		if (!p->member[i].away && p->member[i].seen + LEASE < now)
			p->member[i].away = p->member[i].seen;
	for (int i = 0; p->used && i < p->count;)
		if (p->member[i].away && now - p->member[i].away > MEMBER_GRACE)
			model_remove(p, p->member[i].who);
		else
			i++;
	if (!p->used)
		return;
	if (model_member(p, p->leader)->away &&
		now - model_member(p, p->leader)->away > LEADER_GRACE && model_heir(p))
		p->leader = model_heir(p);
}

static void model_here(int who)
{
	struct model_party *p = model_party(who);

	model.online[who] = true;
	if (!p)
		return;
	model_member(p, who)->away = 0;
	model_member(p, who)->seen = now;
	model_sweep(p);
}

static void model_away(int who)
{
	struct model_party *p = model_party(who);

	if (!model.online[who])
		return;
	model.online[who] = false;
	if (!p || model_member(p, who)->away)
		return;
	model_member(p, who)->away = now;
	model_sweep(p);
}

static const char *model_led(int who, int whom)
{
	struct model_party *p = model_party(who);

	if (!p)
		return "NOT_IN_PARTY";
	if (p->leader != who)
		return "NOT_LEADER";
	if (whom == who)
		return "TARGET_ONESELF";
	return model_member(p, whom) ? NULL : "TARGET_NOT_MEMBER";
}

static const char *model_ask(const char *act, int who, int whom)
{
	struct model_party *p;
	const char *no;

	model_here(who);
	p = model_party(who);
	if (!strcmp(act, "invite")) {
		int waiting = 0;

		if (who == whom)
			return "TARGET_ONESELF";
		if (!model.online[whom])
			return "TARGET_OFFLINE";
		if (p && p->leader != who && !everyone)
			return "NOT_LEADER";
		if (p && p->count >= MEMBERS_MAX)
			return "FULL";
		if (model_party(whom))
			return "TARGET_IN_PARTY";
		if (model.invite[whom][who].until > now)
			return "ALREADY_INVITED";
		for (int i = 1; i <= ACTORS; i++)
			waiting += model.invite[whom][i].until > now;
		if (waiting >= INVITES_MAX)
			return "TOO_MANY_INVITES";
		model.invite[whom][who] = (struct model_invite){now + INVITE_MS, model.of[who]};
		return "DONE";
	}
	if (!strcmp(act, "accept")) {
		struct model_invite *invite = &model.invite[who][whom];

		if (p)
			return "ALREADY_IN_PARTY";
		if (invite->until <= now)
			return "NO_INVITE";
		p = model_party(whom);
		if ((invite->party >= 0 && model.of[whom] != invite->party) ||
			(p && p->leader != whom && !everyone)) {
			invite->until = 0;
			return "NO_INVITE";
		}
		if (p && p->count >= MEMBERS_MAX)
			return "FULL";
		if (!p && !model.online[whom]) {
			invite->until = 0;
			return "TARGET_OFFLINE";
		}
		if (!p) {
			p = &model.party[model.parties];
			*p = (struct model_party){.used = true, .leader = whom, .count = 1};
			p->member[0] = (struct model_member){whom, now, 0};
			model.of[whom] = model.parties++;
		}
		p->member[p->count++] = (struct model_member){who, now, 0};
		model.of[who] = (int)(p - model.party);
		memset(model.invite[who], 0, sizeof(model.invite[who]));
		return "DONE";
	}
	if (!strcmp(act, "decline")) {
		if (model.invite[who][whom].until <= now)
			return "NO_INVITE";
		model.invite[who][whom].until = 0;
		return "DONE";
	}
	if (!strcmp(act, "leave")) {
		if (!p)
			return "NOT_IN_PARTY";
		model_remove(p, who);
		return "DONE";
	}
	if (!strcmp(act, "disband")) {
		if (!p || p->leader != who)
			return p ? "NOT_LEADER" : "NOT_IN_PARTY";
		model_end(p);
		return "DONE";
	}
	no = model_led(who, whom);
	if (no)
		return no;
	if (!strcmp(act, "kick"))
		model_remove(p, whom);
	else
		p->leader = whom;
	return "DONE";
}

/* ---- against the script ---- */

static uint64_t dice;

static uint32_t roll(uint32_t below)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33) % below;
}

static void compare(uint64_t seed, int step)
{
	for (int c = 1; c <= ACTORS; c++) {
		struct model_party *p = model_party(c);
		json_t *have = party_of(c), *members = json_object_get(have, "m");

		if (!p != !have || (int)json_array_size(members) != (p ? p->count : 0))
			fail_msg("seed %" PRIu64 ", step %d: %d has a party of %zu, not %d", seed,
				step, c, json_array_size(members), p ? p->count : 0);
		for (int i = 0; p && i < p->count; i++) {
			const json_t *m = json_array_get(members, (size_t)i);
			bool away = json_number_value(json_object_get(m, "a")) != 0;

			if (atoi(json_string_value(json_object_get(m, "c"))) != p->member[i].who ||
				away != (p->member[i].away != 0))
				fail_msg("seed %" PRIu64 ", step %d: member %d of %d's party", seed,
					step, i, c);
		}
		if (p && leader_of(c) != p->leader)
			fail_msg("seed %" PRIu64 ", step %d: %d leads, not %d", seed, step,
				leader_of(c), p->leader);
		json_decref(have);
	}
}

/* What a shard would know from the events alone, in an order of chance, some of them twice: the
 * greatest version of each character's word wins. */
static void events_give_the_same(uint64_t seed)
{
	redisReply *all = command("XRANGE " BASE ":events - +");
	uint64_t said[ACTORS + 1] = {0}, before = 4294967296;
	int size[ACTORS + 1] = {0};

	for (size_t i = 0; i < all->elements; i++) {
		uint64_t v = strtoull(all->element[i]->element[1]->element[1]->str, NULL, 10);

		if (v != ++before)
			fail_msg("seed %" PRIu64 ": version %" PRIu64 ", not %" PRIu64, seed, v,
				before);
	}
	for (size_t n = 0; n < 4 * all->elements; n++) {
		/* each at least once */
		size_t i =
			n < all->elements ? all->elements - 1 - n : roll((uint32_t)all->elements);
		const redisReply *fields = all->element[i]->element[1];
		uint64_t v = strtoull(fields->element[1]->str, NULL, 10);
		json_t *p;
		char *gone, *save;

		if (strcmp(fields->element[3]->str, "state"))
			continue;
		p = json_loads(fields->element[7]->str, 0, NULL);
		for (size_t k = 0; k < json_array_size(json_object_get(p, "m")); k++) {
			int c = atoi(json_string_value(
				json_object_get(json_array_get(json_object_get(p, "m"), k), "c")));

			if (v > said[c]) {
				said[c] = v;
				size[c] = (int)json_array_size(json_object_get(p, "m"));
			}
		}
		json_decref(p);
		gone = strdup(fields->element[13]->str);
		for (char *one = strtok_r(gone, ",", &save); one; one = strtok_r(NULL, ",", &save))
			if (v > said[atoi(one)]) {
				said[atoi(one)] = v;
				size[atoi(one)] = 0;
			}
		free(gone);
	}
	freeReplyObject(all);
	for (int c = 1; c <= ACTORS; c++)
		if (size[c] != (model_party(c) ? model_party(c)->count : 0))
			fail_msg("seed %" PRIu64 ": by the events %d has a party of %d", seed, c,
				size[c]);
}

static void random_acts_do_as_the_model(void **state)
{
	static const char *const acts[] = {"invite", "invite", "invite", "accept", "accept",
		"accept", "decline", "leave", "kick", "promote", "disband"};
	unsigned done = 0, parties = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		uint64_t request = 0;
		const char *act = NULL, *result = NULL;
		int who = 0, whom = 0;

		empty();
		memset(&model, 0, sizeof(model));
		for (int c = 0; c <= ACTORS; c++)
			model.of[c] = -1;
		everyone = seed % 2;
		dice = seed;
		for (int step = 0; step < 700; step++) {
			uint32_t what = roll(100);

			if (what < 8)
				now += roll(what ? 40000 : 600000);
			if (what >= 8 && what < 16) {
				who = 1 + (int)roll(ACTORS);
				leave_game(who);
				model_away(who);
			} else if (what >= 16 && what < 30) {
				who = 1 + (int)roll(ACTORS);
				arrive(who);
				model_here(who);
			} else if (what >= 30 && what < 36 && act) {
				expect_word(ask_as(request, act, who, whom, ""), result);
				continue; /* nothing else has happened */
			} else {
				redisReply *reply;
				const char *want;

				request = next_request++;
				act = acts[roll(sizeof(acts) / sizeof(acts[0]))];
				who = 1 + (int)roll(ACTORS);
				whom = 1 + (int)roll(ACTORS);
				/* Answers mostly go to those who asked. */
				for (int i = 0;
					i < ACTORS && act[1] != 'n' && strcmp(act, "kick") &&
					i < 40 && !model.invite[who][whom].until;
					i++)
					whom = 1 + (int)roll(ACTORS);
				want = model_ask(act, who, whom);
				reply = ask_as(request, act, who, whom, "");
				if (strcmp(reply->element[0]->str, want))
					fail_msg("seed %" PRIu64 ", step %d: %d %s %d: %s, not %s",
						seed, step, who, act, whom, reply->element[0]->str,
						want);
				freeReplyObject(reply);
				result = want;
				done += !strcmp(want, "DONE");
			}
			if (step % 7 == 0)
				compare(seed, step);
			if (what >= 8 && what < 30)
				act = NULL;
		}
		compare(seed, -1);
		events_give_the_same(seed);
		parties += (unsigned)model.parties;
	}
	assert_true(done > 400); /* it was about something */
	assert_true(parties > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_act_and_refusal_has_its_name),
		cmocka_unit_test(names_are_found_and_invitations_end),
		cmocka_unit_test(a_repeated_request_has_no_second_effect),
		cmocka_unit_test(time_takes_the_lead_and_the_place),
		cmocka_unit_test(whom_a_character_belongs_to_its_key_decides),
		cmocka_unit_test(everyone_may_invite_where_it_is_so),
		cmocka_unit_test(an_emptied_redis_is_filled_by_one),
		cmocka_unit_test(a_damaged_row_is_left_out),
		cmocka_unit_test(lost_versions_are_not_used_again),
		cmocka_unit_test(random_acts_do_as_the_model),
	};
	int failed;

	redis_fixture_init(&server);
	redis_fixture_start(&server, NULL, NULL);
	redis = redisConnectUnix(server.address + strlen("unix:"));
	failed = !redis || redis->err ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	redisFree(redis);
	redis_fixture_fini(&server);
	return failed;
}
