/* Proves what the control thread does with operators' orders, against a real redis-server and with
 * the test as ops, shard and world: each order by its words and for the roles that may give it,
 * each refusal by its sentence, each of them once in the audit with who gave it; an instance that
 * has to be prepared is answered when it runs; a question to a world that says nothing is answered
 * all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "common/correction.h"
#include "common/instance.h"
#include "control/admission/pass.h"
#include "control/control_rig.h"

#define ORDER(rig, words, count, result, says)                                                     \
	rig_order(rig, words, count, (uint32_t)sizeof(words), ORDER_##result, says)

static void each_order_is_answered_and_written_down(void **state)
{
	struct msg_instance body;
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig.config.maps[0].instances_max = 2;
	rig.config.maps[0].close_after_s = 7;
	rig_start(&rig);
	ORDER(&rig, "burn", 1, USAGE, "there is no such order, but: instance open MAP;");
	rig_audited(&rig, false, "burn", "no such order");
	ORDER(&rig, "instance", 1, USAGE, "no such order");
	rig_audited(&rig, false, "instance", "no such order");
	ORDER(&rig, "instance\0open", 2, USAGE, "the order is: instance open MAP");
	rig_audited(&rig, false, "instance open", "the order is");
	ORDER(&rig, "player\0a\0b", 3, USAGE, "player PLAYER");
	rig_audited(&rig, false, "player a b", "");
	ORDER(&rig, "gate\0throttle\0000", 3, USAGE, "no rate: 1 to 100000 a second");
	rig_audited(&rig, false, "gate throttle 0", "no rate");
	ORDER(&rig, "gate\0throttle\0005x", 3, USAGE, "no rate");
	rig_audited(&rig, false, "gate throttle 5x", "no rate");
	ORDER(&rig, "gate\0throttle\000100001", 3, USAGE, "no rate");
	rig_audited(&rig, false, "gate throttle 100001", "no rate");
	ORDER(&rig, "gate\0close\0too many\0of them", 4, DONE,
		"the gate of all nodes is closed; before it was open");
	rig_audited(&rig, true, "gate close too many of them", "closed");
	ORDER(&rig, "gate\0throttle\00050", 3, DONE,
		"throttled to 50 a second; before it was closed by anna: too many of them");
	rig_audited(&rig, true, "gate throttle 50", "throttled");
	ORDER(&rig, "gate\0open", 2, DONE, "is open; before it was throttled by anna");
	rig_audited(&rig, true, "gate open", "open");
	ORDER(&rig, "instance\0open\0nowhere", 3, REFUSED, "there is no map nowhere");
	rig_audited(&rig, false, "instance open nowhere", "nowhere");
	ORDER(&rig, "instance\0close\0x", 3, USAGE, "no instance: its slot");
	rig_audited(&rig, false, "instance close x", "");
	ORDER(&rig, "instance\0close\000300.1", 3, USAGE, "no instance: its slot");
	rig_audited(&rig, false, "instance close 300.1", "");
	ORDER(&rig, "instance\0close\0001.1", 3, REFUSED, "there is no such instance");
	rig_audited(&rig, false, "instance close 1.1", "");
	ORDER(&rig, "instance\0close\0000.1\0why not", 4, REFUSED, "only one of its map");
	rig_audited(&rig, false, "instance close 0.1 why not", "only one");
	/* It is built, so the answer comes when it runs. */
	ORDER(&rig, "instance\0open\0meadow", 3, DONE,
		"instance 1.1 of meadow is open on shard 0; it closes by itself when it was empty "
		"for 7 s");
	rig_audited(&rig, true, "instance open meadow", "1.1");
	ORDER(&rig, "instance\0open\0meadow", 3, REFUSED, "maps[].instances_max");
	rig_audited(&rig, false, "instance open meadow", "instances_max");
	ORDER(&rig, "instance\0close\0000.1", 3, DONE, "0.1 takes nobody more");
	rig_audited(&rig, true, "instance close 0.1", "players go to other instances");
	memcpy(&body, msg_payload(rig_expect(rig.links.to_shard[0], MSG_INSTANCE_CLOSE)),
		sizeof(body));
	assert_int_equal(body.id, instance_id(0, 1));
	ORDER(&rig, "instance\0close\0000.1", 3, REFUSED, "closing already");
	rig_audited(&rig, false, "instance close 0.1", "closing");
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

static uint32_t record_stop(void *ctx)
{
	uint32_t *shards = ctx, were = *shards;

	*shards = 0;
	return were;
}

static void recordings_end_by_order(void **state)
{
	uint32_t shards = 2;
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig.links.record_stop = record_stop;
	rig.links.record_ctx = &shards;
	rig_start(&rig);
	ORDER(&rig, "record\0start", 2, REFUSED, "begins with the server");
	rig_audited(&rig, false, "record start", "simulation.record");
	ORDER(&rig, "record\0stop", 2, DONE, "recordings of 2 shards end");
	rig_audited(&rig, true, "record stop", "");
	ORDER(&rig, "record\0stop", 2, REFUSED, "nothing is being recorded");
	rig_audited(&rig, false, "record stop", "");
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

static void what_cannot_be_built_is_said(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig.config.maps[0].instances_max = 2;
	rig_start(&rig);
	ORDER(&rig, "player\0001", 2, REFUSED, "no player 1"); /* the first instance runs by then */
	rig_audited(&rig, false, "player 1", "");
	rig_expect(rig.links.to_shard[0], MSG_INSTANCE_OPEN);
	atomic_store(&rig.build_fails, true);
	ORDER(&rig, "instance\0open\0meadow", 3, REFUSED, "no instance could be prepared");
	rig_audited(&rig, false, "instance open meadow", "the log says why");
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

/* What it was given does not bring it back. */
static void pass_is_spent(struct rig *rig, uint64_t character)
{
	uint8_t nonce[PASS_NONCE_BYTES];
	char command[128] = "GET t{ticket}:";

	pass_return_nonce(nonce, 1, character, 42);
	sodium_bin2hex(command + strlen(command), 2 * PASS_NONCE_BYTES + 1, nonce, sizeof(nonce));
	rig_until(rig, command, "spent", 0);
}

static void a_player_is_looked_up_and_kicked(void **state)
{
	const struct ticket ticket = rig_ticket(4711);
	const uint64_t peer = handle_make(0, 1, 5);
	struct msg_writes_result writes = {.links = 4, .links_max = 5};
	struct msg_writes_query query;
	struct msg_player_remove removed;
	struct rig rig;
	uint64_t session;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	ORDER(&rig, "player\0Ulla", 2, REFUSED, "no player Ulla is on this node");
	rig_audited(&rig, false, "player Ulla", "");
	rig_say_hello(&rig, peer, &ticket);
	session = rig_let_in(&rig);
	/* The world says nothing; the rest is said. */
	ORDER(&rig, "player\0Ulla", 2, DONE, "4711 Ulla, account 1, realm 1\n");
	rig_audited(&rig, true, "player Ulla", "the world thread did not say");
	rig_order_send(&rig, "player\0004711", 2, sizeof("player\0004711"));
	memcpy(&query, msg_payload(rig_expect(rig.links.to_world, MSG_WRITES_QUERY)),
		sizeof(query));
	assert_int_equal(query.character_id, 4711);
	writes.request = query.request - 1; /* an answer to nobody */
	rig_push(rig.links.from_world, MSG_WRITES_RESULT, 0, &writes, sizeof(writes), 0);
	writes.request = query.request;
	writes.commits = 3;
	rig_push(rig.links.from_world, MSG_WRITES_RESULT, 0, &writes, sizeof(writes), 0);
	rig_answered(&rig, "player 4711", ORDER_DONE,
		"meadow, instance 0.1, shard 0, 0 maps before it\n"
		"epoch         42\n"
		"not saved     3 commits, no position; PostgreSQL is away");
	rig_audited(&rig, true, "player 4711", "connected");
	ORDER(&rig, "kick\0004712", 2, REFUSED, "no player 4712");
	rig_audited(&rig, false, "kick 4712", "");
	ORDER(&rig, "kick\0Ulla\0she was rude", 3, DONE, "Ulla (character 4711) is saved and");
	rig_audited(&rig, true, "kick Ulla she was rude", "");
	memcpy(&removed, msg_payload(rig_expect(rig.links.to_shard[0], MSG_PLAYER_REMOVE)),
		sizeof(removed));
	assert_int_equal(removed.session, session);
	assert_int_equal(removed.reason, SW_REASON_KICKED);
	pass_is_spent(&rig, 4711);
	ORDER(&rig, "kick\0Ulla", 2, REFUSED, "leaving already");
	rig_audited(&rig, false, "kick Ulla", "");
	rig_left(&rig, session);
	rig_gone(&rig, peer);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

#define REQUEST "00112233-4455-6677-8899-aabbccddeeff"

/* What the world is asked for; its answer, with which the order ends. */
static struct msg_correction asked_to_correct(struct rig *rig)
{
	struct msg_correction asked;

	memcpy(&asked, msg_payload(rig_expect(rig->links.to_world, MSG_CORRECTION)), sizeof(asked));
	return asked;
}

static void correct(
	struct rig *rig, const struct msg_correction *asked, uint32_t result, bool again)
{
	const struct msg_correction_result body = {.order = asked->order,
		.request = {asked->request[0], asked->request[1]},
		.character_id = {4711},
		.gold = {300},
		.experience = {20},
		.result = result,
		.repeated = again};

	rig_push(rig->links.from_world, MSG_CORRECTION_RESULT, 0, &body, sizeof(body), 0);
}

static const struct {
	const char *words;
	uint32_t count, bytes;
	struct msg_correction asked;
} GOOD[] = {
#define LEDGER(words, count, ...)                                                                  \
	{                                                                                          \
		words, count, sizeof(words), __VA_ARGS__                                           \
	}
	LEDGER("ledger\0grant\0004711\0gold\00050\0" REQUEST "\0lost in a bug", 7,
		{.character_id = 4711, .amount = 50}),
	LEDGER("ledger\0take\00018446744073709551615\0experience\0009\0" REQUEST "\0x", 7,
		{.character_id = UINT64_MAX, .amount = -9, .thing = CORRECTION_EXPERIENCE}),
	LEDGER("ledger\0grant\0004711\0item:7\0009223372036854775807\0" REQUEST "\0x\0y", 8,
		{.character_id = 4711, .amount = INT64_MAX, .thing = CORRECTION_ITEM, .item = 7}),
	LEDGER("ledger\0take\0004711\0single:40\00064\0" REQUEST "\0x", 7,
		{.character_id = 4711, .amount = -64, .thing = CORRECTION_SINGLE, .item = 40}),
	LEDGER("ledger\0reverse\0" REQUEST "\0a dupe", 4, {.reverse = 1}),
};

static const struct {
	const char *words;
	uint32_t count, bytes;
	const char *says;
} BAD[] = {
	LEDGER("ledger\0grant\0004711\0gold\00050\0" REQUEST, 6, "the order is: ledger grant"),
	LEDGER("ledger\0reverse\0" REQUEST, 3, "the order is: ledger reverse"),
	LEDGER("ledger\0burn", 2, "no such order"),
	LEDGER("ledger\0grant\0Ulla\0gold\00050\0" REQUEST "\0x", 7, "its id is meant"),
	LEDGER("ledger\0grant\0000\0gold\00050\0" REQUEST "\0x", 7, "its id is meant"),
	LEDGER("ledger\0grant\0001\0silver\00050\0" REQUEST "\0x", 7, "none of gold"),
	LEDGER("ledger\0grant\0001\0gold:1\00050\0" REQUEST "\0x", 7, "none of gold"),
	LEDGER("ledger\0grant\0001\0item\00050\0" REQUEST "\0x", 7, "none of gold"),
	LEDGER("ledger\0grant\0001\0item:\00050\0" REQUEST "\0x", 7, "none of gold"),
	LEDGER("ledger\0grant\0001\0item:2147483648\00050\0" REQUEST "\0x", 7, "none of gold"),
	LEDGER("ledger\0grant\0001\0gold\000-5\0" REQUEST "\0x", 7, "no amount from 1"),
	LEDGER("ledger\0grant\0001\0gold\0000\0" REQUEST "\0x", 7, "no amount from 1"),
	LEDGER("ledger\0grant\0001\0gold\0009223372036854775808\0" REQUEST "\0x", 7, "no amount"),
	LEDGER("ledger\0grant\0001\0single:4\00065\0" REQUEST "\0x", 7, "from 1 to 64"),
	LEDGER("ledger\0grant\0001\0gold\0005\000001122334455667788990aabbccddeeff00112\0x", 7,
		"a UUID is meant"),
	LEDGER("ledger\0reverse\0" REQUEST "0\0x", 4, "the UUID of a commit"),
#undef LEDGER
};

static const struct {
	uint32_t result;
	bool again;
	enum order_result of_order;
	const char *says;
} ANSWERS[] = {
	{COMMIT_RESULT_OK, false, ORDER_DONE,
		"done; request " REQUEST "; character 4711 has 300 gold, 20 experience"},
	{COMMIT_RESULT_OK, true, ORDER_DONE, "not done again; then: done"},
	{COMMIT_RESULT_NOT_ENOUGH, false, ORDER_REFUSED, "not enough gold or items"},
	{COMMIT_RESULT_UNAVAILABLE, false, ORDER_UNAVAILABLE, "nothing was changed"},
	{CORRECTION_RESULT_UNKNOWN, false, ORDER_UNAVAILABLE, "it was done, or was not"},
	{CORRECTION_RESULT_HAS_RESULT, false, ORDER_REFUSED, "the result of a match"},
	{CORRECTION_RESULT_END, false, ORDER_REFUSED, "a newer server's"},
};

static void what_characters_own_is_corrected(void **state)
{
	const struct ticket ticket = rig_ticket(4711);
	const uint64_t peer = handle_make(0, 1, 5);
	struct msg_correction asked;
	struct msg_player_reload reload;
	struct rig rig;
	uint64_t session;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		rig_order(&rig, BAD[i].words, BAD[i].count, BAD[i].bytes, ORDER_USAGE, BAD[i].says);
		rig_expect(rig.links.to_world, MSG_AUDIT); /* and nothing else */
	}
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
		struct msg_correction want = GOOD[i].asked;

		rig_order_send(&rig, GOOD[i].words, GOOD[i].count, GOOD[i].bytes);
		asked = asked_to_correct(&rig);
		want.order = asked.order;
		want.realm_id = rig.config.node.realm_id;
		want.request[0] = 0x0011223344556677;
		want.request[1] = 0x8899aabbccddeeff;
		assert_memory_equal(&asked, &want, sizeof(want));
		correct(&rig, &asked, COMMIT_RESULT_OK, false);
		rig_answered(&rig, GOOD[i].words, ORDER_DONE, "done");
		rig_expect(rig.links.to_world, MSG_AUDIT);
	}
	for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++) {
		rig_order_send(&rig, GOOD[0].words, GOOD[0].count, GOOD[0].bytes);
		asked = asked_to_correct(&rig);
		asked.order--; /* an answer to nobody */
		correct(&rig, &asked, COMMIT_RESULT_OK, false);
		asked.order++;
		correct(&rig, &asked, ANSWERS[i].result, ANSWERS[i].again);
		rig_answered(&rig, "ledger", ANSWERS[i].of_order, ANSWERS[i].says);
		rig_audited(&rig, ANSWERS[i].of_order == ORDER_DONE,
			"ledger grant 4711 gold 50 " REQUEST " lost in a bug", REQUEST);
	}
	/* A world that says nothing. */
	rig_order_send(&rig, GOOD[0].words, GOOD[0].count, GOOD[0].bytes);
	asked_to_correct(&rig);
	rig_answered(&rig, "ledger", ORDER_UNAVAILABLE, "PostgreSQL has not answered yet");
	rig_expect(rig.links.to_world, MSG_AUDIT);
	/* Who plays here is told by the shard, and only when something has changed. */
	rig_say_hello(&rig, peer, &ticket);
	session = rig_let_in(&rig);
	rig_order_send(&rig, GOOD[0].words, GOOD[0].count, GOOD[0].bytes);
	asked = asked_to_correct(&rig);
	correct(&rig, &asked, COMMIT_RESULT_NOT_ENOUGH, false);
	rig_answered(&rig, "ledger", ORDER_REFUSED, "");
	rig_expect(rig.links.to_world, MSG_AUDIT);
	rig_order_send(&rig, GOOD[0].words, GOOD[0].count, GOOD[0].bytes);
	asked = asked_to_correct(&rig);
	correct(&rig, &asked, COMMIT_RESULT_OK, false);
	rig_answered(&rig, "ledger", ORDER_DONE, "");
	memcpy(&reload, msg_payload(rig_expect(rig.links.to_shard[0], MSG_PLAYER_RELOAD)),
		sizeof(reload));
	assert_int_equal(reload.session, session);
	rig_left(&rig, session);
	rig_gone(&rig, peer);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

static void each_role_has_its_orders(void **state)
{
	static const struct {
		const char *words;
		uint32_t count, bytes;
		enum operator_role least;
		enum order_result result; /* of who may */
	} rows[] = {
#define ROW(words, count, least, result)                                                           \
	{words, count, (uint32_t)sizeof(words), OPERATOR_##least, ORDER_##result}
		ROW("player\0001", 2, READ, REFUSED),
		ROW("party\0001", 2, READ, UNAVAILABLE), /* nobody has filled this Redis */
		ROW("instance\0open\0nowhere", 3, OPERATE, REFUSED),
		ROW("instance\0close\0001.1", 3, OPERATE, REFUSED),
		ROW("kick\0001", 2, OPERATE, REFUSED),
		ROW("gate\0throttle\0000", 3, OPERATE, USAGE),
		ROW("gate\0status", 2, READ, DONE),
		ROW("ledger\0reverse\0x\0y", 4, ADMIN, USAGE),
		ROW("script\0list", 2, READ, UNAVAILABLE), /* there are none */
		ROW("script\0errors\0meadow", 3, READ, UNAVAILABLE),
		ROW("script\0reload\0meadow", 3, OPERATE, UNAVAILABLE),
		ROW("script\0rollback\0all", 3, OPERATE, UNAVAILABLE),
		ROW("script\0release\0all", 3, OPERATE, UNAVAILABLE),
		ROW("record\0start", 2, ADMIN, REFUSED),
		ROW("record\0stop", 2, ADMIN, REFUSED),
		/* Who may not is not told how it would be right. */
		ROW("kick", 1, OPERATE, USAGE),
#undef ROW
	};
	static const char *const names[] = {"read", "operate", "admin", "none"};
	uint64_t forbidden = 0;
	struct rig rig;
	char says[64];

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (rig_role = 0; rig_role <= OPERATOR_ROLE_COUNT; rig_role++) {
			bool may = rig_role >= rows[i].least && rig_role < OPERATOR_ROLE_COUNT;

			snprintf(says, sizeof(says), "needs the role %s, and this token has %s",
				names[rows[i].least], names[rig_role]);
			rig_order(&rig, rows[i].words, rows[i].count, rows[i].bytes,
				may ? rows[i].result : ORDER_FORBIDDEN, may ? "" : says);
			forbidden += !may;
		}
	assert_true(forbidden > 10);
	rig_role = OPERATOR_READ;
	ORDER(&rig, "kick\0Ulla\0she was rude", 3, FORBIDDEN, "operate");
	for (const struct msg *m; (m = rig_expect(rig.links.to_world, MSG_AUDIT));)
		if (memmem(msg_payload(m), m->payload_bytes, "kick Ulla she was rudeit needs", 30))
			break; /* what is refused for its role is written down, too */
	rig_role = OPERATOR_ADMIN;
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

static void a_party_is_looked_at(void **state)
{
	static const char party[] =
		"SET t{party:1}:p:900 "
		"{\"id\":\"900\",\"v\":\"4294967300\",\"leader\":\"12\",\"m\":["
		"{\"c\":\"4711\",\"n\":\"Ulla\",\"map\":\"cave\",\"s\":1,\"a\":0},"
		"{\"c\":\"12\",\"n\":\"Bert\",\"map\":\"cave\",\"s\":1,\"a\":0},"
		"{\"c\":\"13\",\"n\":\"Carl\",\"map\":\"\",\"s\":1,\"a\":1}]}";
	const struct ticket ticket = rig_ticket(4711);
	const uint64_t peer = handle_make(0, 1, 5);
	char large[8192], *at;
	struct rig rig;
	uint64_t session;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	rig_say_hello(&rig, peer, &ticket);
	session = rig_let_in(&rig);
	ORDER(&rig, "party\000900", 2, UNAVAILABLE, "being filled");
	rig_audited(&rig, false, "party 900", "Redis");
	freeReplyObject(rig_ask(&rig, "SET t{party:1}:epoch 1"));
	freeReplyObject(rig_ask(&rig, party));
	freeReplyObject(rig_ask(&rig, "SET t{party:1}:c:12 900"));
	ORDER(&rig, "party\000901", 2, REFUSED, "no such party, and no such character");
	rig_audited(&rig, false, "party 901", "no such");
	/* By its number, and by a member's. */
	ORDER(&rig, "party\000900", 2, DONE,
		"party         900, version 4294967300, 3 members\n"
		"member        4711 Ulla, meadow, instance 0.1, shard 0\n"
		"leader        12 Bert, on another node on cave, last said ");
	rig_audited(&rig, true, "party 900", "13 Carl, away for ");
	ORDER(&rig, "party\00012", 2, DONE, "was nowhere yet\n");
	rig_audited(&rig, true, "party 12", "");
	/* More than an answer holds: so many lines as there is room for. */
	at = large +
	     snprintf(large, sizeof(large),
		     "SET t{party:1}:p:902 {\"id\":\"902\",\"v\":\"5\",\"leader\":\"1\",\"m\":[");
	for (int i = 1; i <= 40; i++)
		at += sprintf(at,
			"%s{\"c\":\"184467440737095516%02d\",\"n\":\"a_name_of_thirty_one_bytes_%"
			"04d\","
			"\"map\":\"a_map_of_thirty_one_bytes_abcde\",\"s\":1,\"a\":0}",
			i == 1 ? "" : ",", i % 16, i);
	strcpy(at, "]}");
	freeReplyObject(rig_ask(&rig, large));
	ORDER(&rig, "party\000902", 2, DONE, "5, 40 members\n");
	rig_audited(&rig, true, "party 902", "a_name_of_thirty_one_bytes_0001,");
	ORDER(&rig, "party\000902", 2, DONE, " more\n");
	rig_audited(&rig, true, "party 902", "");
	rig_left(&rig, session);
	rig_gone(&rig, peer);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

/* ---- scripts ---- */

struct scripts_rig {
	struct rig rig;
	_Atomic int prepares, commits, discards, reverts, looks;
	_Atomic bool broken;
	_Atomic uint32_t now, before, next, last;
};

static int scripts_prepare(void *ctx, const bool *wanted, char *error, size_t error_bytes)
{
	struct scripts_rig *s = ctx;

	s->prepares += wanted[0];
	if (s->broken) {
		snprintf(error, error_bytes, "map meadow: meadow.lua:3: '}' expected");
		return -EINVAL;
	}
	s->next = ++s->last;
	return 0;
}

static void scripts_commit(void *ctx, const bool *wanted)
{
	struct scripts_rig *s = ctx;

	s->commits += wanted[0];
	s->before = s->now;
	s->now = s->next;
	s->next = 0;
}

static void scripts_discard(void *ctx, const bool *wanted)
{
	struct scripts_rig *s = ctx;

	s->discards += wanted[0];
	s->next = 0;
}

static int scripts_revert(void *ctx, const bool *wanted, char *error, size_t error_bytes)
{
	struct scripts_rig *s = ctx;

	(void)error;
	(void)error_bytes;
	s->reverts += wanted[0];
	s->now = s->before;
	s->before = 0;
	return 0;
}

static void scripts_versions(void *ctx, uint32_t definition, struct ctl_script_versions *out)
{
	struct scripts_rig *s = ctx;

	(void)definition;
	s->looks++;
	*out = (struct ctl_script_versions){s->now, s->before, s->next, 0xabc};
}

static void scripts_text(
	void *ctx, enum ctl_script_text what, uint32_t definition, char *text, size_t bytes)
{
	(void)ctx;
	snprintf(text, bytes, "text %d of map %u\n", what, definition);
}

static const struct ctl_script_ops scripts_ops = {scripts_prepare, scripts_commit, scripts_discard,
	scripts_revert, scripts_versions, scripts_text};

static void say(struct scripts_rig *s, enum msg_script_act act, uint32_t version)
{
	const struct msg_script body = {
		.instance = instance_id(0, 1), .act = act, .good = 1, .version = version};

	rig_push(s->rig.links.from_shard[0], MSG_SCRIPT_STATE, HANDLE_NONE, &body, sizeof(body), 0);
}

/* The shard is given that order, and answers; before that to what was asked earlier, if late. */
static void obey_late(struct scripts_rig *s, enum msg_script_act act, uint32_t version, bool good,
	bool late)
{
	struct msg_script body;

	memcpy(&body, msg_payload(rig_expect(s->rig.links.to_shard[0], MSG_SCRIPT_ORDER)),
		sizeof(body));
	assert_int_equal(body.act, act);
	assert_int_equal(body.instance, instance_id(0, 1));
	if (act != MSG_SCRIPT_CLEAR)
		assert_int_equal(body.version, version);
	if (late)
		say(s, MSG_SCRIPT_CLEAR, version);
	body.good = good;
	if (!good)
		snprintf(body.text, sizeof(body.text), "it cannot take what is stored");
	rig_push(s->rig.links.from_shard[0], MSG_SCRIPT_STATE, HANDLE_NONE, &body, sizeof(body), 0);
}

static void obey(struct scripts_rig *s, enum msg_script_act act, uint32_t version, bool good)
{
	obey_late(s, act, version, good, false);
}

static void send_order(struct scripts_rig *s, const char *words, uint32_t count, uint32_t bytes)
{
	rig_order_send(&s->rig, words, count, bytes);
}
#define SEND(s, words, count) send_order(s, words, count, (uint32_t)sizeof(words))

static void scripts_change_in_two_steps(void **state)
{
	static const char reload[] = "script\0reload\0meadow", back[] = "script\0rollback\0meadow";
	struct msg_script said;
	struct scripts_rig s = {.now = 1, .last = 1};

	(void)state;
	rig_init(&s.rig, 4096);
	s.rig.links.scripts = &scripts_ops;
	s.rig.links.script_ctx = &s;
	rig_start(&s.rig);
	rig_expect(s.rig.links.to_shard[0], MSG_INSTANCE_OPEN);
	ORDER(&s.rig, "script\0list", 2, DONE, "text 0 of map 0");
	ORDER(&s.rig, "script\0errors\0meadow", 3, DONE, "text 1 of map 0");
	ORDER(&s.rig, "script\0profile\0all", 3, DONE, "text 2 of map 0");
	ORDER(&s.rig, "script\0reload\0nowhere", 3, REFUSED, "there is no map nowhere with a script");
	ORDER(&s.rig, "script\0rollback\0meadow", 3, REFUSED, "has no version before this one");
	SEND(&s, "script\0release\0meadow\0Old Tom", 4);
	memcpy(&said, msg_payload(rig_expect(s.rig.links.to_shard[0], MSG_SCRIPT_ORDER)), sizeof(said));
	assert_int_equal(said.act, MSG_SCRIPT_RELEASE);
	assert_string_equal(said.text, "Old Tom");
	said.good = 1;
	said.count = 3;
	rig_push(s.rig.links.from_shard[0], MSG_SCRIPT_STATE, HANDLE_NONE, &said, sizeof(said), 0);
	rig_answered(&s.rig, "release", ORDER_DONE, "3 handlers were released");
	/* A broken one changes nothing. */
	s.broken = true;
	SEND(&s, "script\0reload\0meadow", 3);
	obey(&s, MSG_SCRIPT_CLEAR, 0, true);
	rig_answered(&s.rig, reload, ORDER_REFUSED, "meadow.lua:3: '}' expected");
	assert_int_equal(s.commits + s.discards, 0);
	s.broken = false;
	/* What an instance has not let go of is not touched. */
	SEND(&s, "script\0reload\0meadow", 3);
	obey(&s, MSG_SCRIPT_CLEAR, 0, false);
	rig_answered(&s.rig, reload, ORDER_REFUSED, "instance 0.1: it cannot take what is stored");
	assert_int_equal(s.prepares, 1);
	/* One that an instance cannot take is taken back by all; an answer that comes late is none to
	 * what is asked now. */
	SEND(&s, "script\0reload\0meadow", 3);
	obey(&s, MSG_SCRIPT_CLEAR, 0, true);
	obey_late(&s, MSG_SCRIPT_SWAP, 2, false, true);
	obey(&s, MSG_SCRIPT_BACK, 1, true);
	rig_answered(&s.rig, reload, ORDER_REFUSED, "instance 0.1: it cannot take what is stored");
	assert_int_equal(s.discards, 1);
	assert_int_equal(s.now, 1);
	/* A good one; meanwhile another order is refused. */
	SEND(&s, "script\0reload\0all", 3);
	obey(&s, MSG_SCRIPT_CLEAR, 0, true);
	obey(&s, MSG_SCRIPT_SWAP, 3, true);
	obey(&s, MSG_SCRIPT_SWAP, 3, true);
	rig_answered(&s.rig, reload, ORDER_DONE,
		"map meadow runs version 3 (0000000000000abc); 1 instances took it");
	assert_int_equal(s.commits, 1);
	/* Back, by order. */
	SEND(&s, "script\0rollback\0meadow", 3);
	obey(&s, MSG_SCRIPT_BACK, 1, true);
	obey(&s, MSG_SCRIPT_SWAP, 1, true);
	rig_answered(&s.rig, back, ORDER_DONE, "map meadow runs version 1");
	assert_int_equal(s.reverts, 1);
	/* A shard returned by itself, from a version that is being replaced: nobody follows. */
	SEND(&s, "script\0reload\0meadow", 3);
	say(&s, MSG_SCRIPT_RETURN, 3);
	obey(&s, MSG_SCRIPT_CLEAR, 0, true);
	obey(&s, MSG_SCRIPT_SWAP, 4, true);
	obey(&s, MSG_SCRIPT_SWAP, 4, true);
	rig_answered(&s.rig, reload, ORDER_DONE, "version 4");
	for (int looks = s.looks; s.looks < looks + 8;) /* as it does when nothing is under way */
		rig_nap();
	SEND(&s, "script\0release\0meadow", 3);
	obey(&s, MSG_SCRIPT_RELEASE, 4, true);
	rig_answered(&s.rig, "release", ORDER_DONE, "0 handlers were released");
	/* From the one that runs: the others follow, and nobody asked. */
	say(&s, MSG_SCRIPT_RETURN, 4);
	obey(&s, MSG_SCRIPT_BACK, 1, true);
	obey(&s, MSG_SCRIPT_SWAP, 1, true);
	while (s.reverts < 2)
		rig_nap();
	assert_int_equal(s.now, 1);
	/* Nodes that run the same say so. */
	rig_until(&s.rig, "HGET t{gate}:n:node-1 scripts", "000abc0000123d74", 0);
	rig_stop(&s.rig, 0);
	rig_fini(&s.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_order_is_answered_and_written_down),
		cmocka_unit_test(each_role_has_its_orders),
		cmocka_unit_test(a_party_is_looked_at),
		cmocka_unit_test(recordings_end_by_order),
		cmocka_unit_test(scripts_change_in_two_steps),
		cmocka_unit_test(what_cannot_be_built_is_said),
		cmocka_unit_test(a_player_is_looked_up_and_kicked),
		cmocka_unit_test(what_characters_own_is_corrected),
	};

	if (!rig_keys())
		return 1;
	return cmocka_run_group_tests_name("orders", tests, NULL, NULL);
}
