/* Proves with two nodes on one Redis that no character is played on both: a login ends the stay on
 * the other node, and waits until that is kept; one that has crashed is no obstacle; and where
 * Redis has forgotten who plays where, the older stay ends as soon as it says so again. The test is
 * shard, world and client of both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/correction.h"
#include "common/log.h"
#include "common/mono.h"
#include "control/admission/pass_key.h"
#include "control/control_internal.h"
#include "control/control_rig.h"
#include "proto/client.pb-c.h"

#define HERO 7

static struct rig a, b;
static char pass_keys[] = "/tmp/sw-presence-XXXXXX"; /* the cluster's */

static void start(void)
{
	rig_init(&a, 4096);
	strcpy(a.config.admission.pass_keys, pass_keys);
	rig_start(&a);
	rig_init(&b, 4096);
	strcpy(b.config.admission.pass_keys, pass_keys);
	strcpy(b.config.node.name, "node-2");
	strcpy(b.config.redis.address, a.server.address);
	b.ctl = ctl_start(&b.config, &b.links, stderr);
	assert_non_null(b.ctl);
	rig_until(&a, "HGET t{gate}:n:node-2 state", "ready", 0);
}

static void end(void)
{
	rig_stop(&b, 0);
	rig_fini(&b);
	rig_stop(&a, 0);
	rig_fini(&a);
}

static void hello(struct rig *rig, uint32_t peer)
{
	struct ticket ticket = rig_ticket(HERO);

	rig_say_hello(rig, handle_make(0, 1, peer), &ticket);
}

static uint64_t load_at(struct rig *rig)
{
	struct msg_character_load load;

	memcpy(&load, msg_payload(rig_expect(rig->links.to_world, MSG_CHARACTER_LOAD)),
		sizeof(load));
	assert_int_equal(load.character_id, HERO);
	return load.session;
}

static void join_at(struct rig *rig, uint64_t session, uint64_t epoch)
{
	const struct msg_character_loaded loaded = {.session = session, .epoch = epoch};
	const struct msg_player_joined joined = {.session = session, .actor_id = 1};

	rig_push(rig->links.from_world, MSG_CHARACTER_LOADED, 0, &loaded, sizeof(loaded), 0);
	rig_expect(rig->links.to_shard[0], MSG_PLAYER_JOIN);
	rig_push(rig->links.from_shard[0], MSG_PLAYER_JOINED, 0, &joined, sizeof(joined), 0);
}

static void expect_removed(struct rig *rig, uint64_t session)
{
	struct msg_player_remove body;

	memcpy(&body, msg_payload(rig_expect(rig->links.to_shard[0], MSG_PLAYER_REMOVE)),
		sizeof(body));
	assert_int_equal(body.session, session);
	assert_int_equal(body.reason, SW_REASON_REPLACED);
}

/* Whether the node has asked its world for a character meanwhile. */
static bool loads(struct rig *rig)
{
	struct msg out[2 * MSG_SLOTS_MAX];
	uint32_t filled = msg_ring_pop(rig->links.to_world, out, 2 * MSG_SLOTS_MAX);

	for (const struct msg *message = out; message < out + filled; message = msg_next(message))
		if (message->type == MSG_CHARACTER_LOAD)
			return true;
	return false;
}

/* Every connection is cut: all say again what they have. */
static void cut(void)
{
	freeReplyObject(rig_ask(&a, "CLIENT KILL TYPE normal SKIPME yes"));
}

static void a_login_elsewhere_ends_the_stay(void **state)
{
	uint64_t here, there;

	(void)state;
	start();
	hello(&a, 1);
	here = load_at(&a);
	join_at(&a, here, 42);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "42", 0);
	hello(&b, 2);
	expect_removed(&a, here);
	assert_false(loads(&b));
	rig_left(&a, here);
	{
		const struct msg *asked = rig_expect(a.links.to_world, MSG_CHARACTER_SETTLE);
		struct msg copy[2];

		memcpy(copy, asked, asked->slots * sizeof(*asked));
		/* Left, but not kept: it is asked for again, and not given. */
		for (int turns = 0; turns < 3; turns++) {
			rig_until(&a, "HGET t{presence}:at:1:7 node", "node-1", 0);
			assert_false(loads(&b));
			rig_nap();
		}
		rig_say_settled(&a, copy);
	}
	there = load_at(&b);
	rig_until(&a, "HGET t{presence}:at:1:7 node", "node-2", 0);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "0", 0);
	join_at(&b, there, 43);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "43", 0);
	/* And back. */
	hello(&a, 3);
	expect_removed(&b, there);
	rig_left(&b, there);
	rig_settled(&b);
	here = load_at(&a);
	join_at(&a, here, 44);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "44", 0);
	/* A second login on one and the same node asks nobody else. */
	hello(&a, 4);
	expect_removed(&a, here);
	rig_left(&a, here);
	here = load_at(&a);
	join_at(&a, here, 45);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "45", 0);
	end();
}

static void a_login_under_way_makes_room(void **state)
{
	uint64_t there;

	(void)state;
	start();
	hello(&a, 1);
	load_at(&a); /* the world is slow */
	hello(&b, 2);
	assert_int_equal(rig_disconnected(&a), SW_REASON_REPLACED);
	there = load_at(&b); /* nothing was played: at once */
	join_at(&b, there, 43);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "43", 0);
	end();
}

static void corrected_at(struct rig *rig, uint32_t result)
{
	const struct msg_correction_result body = {
		.character_id = {HERO}, .result = result}; /* its order has ended already */

	rig_push(rig->links.from_world, MSG_CORRECTION_RESULT, 0, &body, sizeof(body), 0);
}

/* What an operator has changed through one node is read again where the character plays, and there only. */
static void a_correction_elsewhere_is_told(void **state)
{
	struct msg_player_reload reload;
	redisReply *reply;
	uint64_t here;

	(void)state;
	start();
	corrected_at(&b, COMMIT_RESULT_OK); /* nobody plays it */
	hello(&a, 1);
	here = load_at(&a);
	join_at(&a, here, 42);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "42", 0);
	corrected_at(&b, COMMIT_RESULT_NOT_ENOUGH); /* nothing has changed */
	corrected_at(&b, COMMIT_RESULT_OK);
	memcpy(&reload, msg_payload(rig_expect(a.links.to_shard[0], MSG_PLAYER_RELOAD)),
		sizeof(reload));
	assert_int_equal(reload.session, here);
	/* A letter to who had the node's name before, and one that is none. */
	freeReplyObject(rig_ask(&a, "EVAL redis.call('rpush',KEYS[1],'reload\\0325\\0326\\0321:7','reload') 1 "
				    "t{presence}:mail:node-1"));
	while (counter_get(&presence_counters(a.ctl->presence)->values[PRESENCE_C_MALFORMED]) < 1)
		rig_nap();
	corrected_at(&a, COMMIT_RESULT_OK); /* by its own node, without a letter */
	rig_expect(a.links.to_shard[0], MSG_PLAYER_RELOAD);
	assert_int_equal(
		counter_get(&presence_counters(a.ctl->presence)->values[PRESENCE_C_CORRECTED]), 1);
	assert_int_equal(
		counter_get(&presence_counters(a.ctl->presence)->values[PRESENCE_C_MAILS]), 0);
	reply = rig_ask(&a, "KEYS t{presence}:mail:*");
	assert_int_equal(reply->elements, 0);
	freeReplyObject(reply);
	end();
}

static void a_node_without_a_beat_is_no_obstacle(void **state)
{
	uint64_t here, there;

	(void)state;
	rig_init(&a, 4096);
	a.config.redis.heartbeat_ms = 3600000; /* it is stopped, as far as others can see */
	rig_start(&a);
	rig_init(&b, 4096);
	strcpy(b.config.node.name, "node-2");
	strcpy(b.config.redis.address, a.server.address);
	b.ctl = ctl_start(&b.config, &b.links, stderr);
	assert_non_null(b.ctl);
	hello(&a, 1);
	here = load_at(&a);
	join_at(&a, here, 42);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "42", 0);
	freeReplyObject(rig_ask(&a, "DEL t{presence}:alive:node-1"));
	hello(&b, 2);
	there = load_at(&b);
	join_at(&b, there, 43);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "43", 0);
	/* It was not dead: as soon as it says what it has, it hears that it has it not. */
	cut();
	expect_removed(&a, here);
	rig_left(&a, here);
	rig_settled(&a);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "43", 0);
	rig_until(&a, "HGET t{presence}:at:1:7 node", "node-2", 0);
	end();
}

static void an_emptied_redis_makes_the_older_stay_end(void **state)
{
	uint64_t here, there;

	(void)state;
	start();
	hello(&a, 1);
	here = load_at(&a);
	join_at(&a, here, 42);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "42", 0);
	freeReplyObject(rig_ask(&a, "FLUSHALL"));
	hello(&b, 2);
	there = load_at(&b);
	/* Its login is under way, so it is the newer one, though it has no number yet. */
	rig_until(&a, "HGET t{presence}:at:1:7 node", "node-2", 0);
	cut();
	expect_removed(&a, here);
	join_at(&b, there, 43);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "43", 0);
	rig_left(&a, here);
	rig_settled(&a);
	/* Forgotten again: now it is the older stay that speaks first. */
	freeReplyObject(
		rig_ask(&a, "HSET t{presence}:at:1:7 node node-1 boot 0 session 1 generation 41"));
	cut();
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "43", 0);
	rig_until(&a, "HGET t{presence}:at:1:7 node", "node-2", 0);
	end();
}

static int setup(void **state)
{
	struct pass_keys keys;

	(void)state;
	sw_log_open("", "error");
	if (!rig_keys())
		return -1;
	close(mkstemp(pass_keys));
	pass_keys_draw(&keys);
	return pass_keys_save(&keys, pass_keys, true);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(pass_keys);
}

/* The newest pass that the node has given: the message's bytes. */
static uint32_t pass_of(struct rig *rig, uint8_t pass[256])
{
	const struct msg *message;
	uint32_t bytes;

	do
		message = rig_expect(rig->links.to_dataplane[0], MSG_PEER_SEND);
	while (msg_payload(message)[0] != SW_MSG_RETURN_PASS);
	bytes = message->payload_bytes - 1;
	memcpy(pass, msg_payload(message) + 1, bytes);
	return bytes;
}

static void hello_with_pass(struct rig *rig, uint32_t peer, const uint8_t *given, uint32_t bytes)
{
	Sw__ReturnPass *pass = sw__return_pass__unpack(NULL, bytes, given);
	uint8_t data[512] = {SW_MSG_HELLO};
	Sw__Hello message = SW__HELLO__INIT;

	assert_non_null(pass);
	message.protocol_version = SW_PROTOCOL_VERSION;
	message.pass = pass->pass;
	rig_connect(rig, handle_make(0, 1, peer));
	rig_push(rig->links.from_dataplane[0], MSG_PEER_PACKET, handle_make(0, 1, peer), data,
		(uint32_t)(1 + sw__hello__pack(&message, data + 1)), MSG_SEND_RELIABLE);
	sw__return_pass__free_unpacked(pass, NULL);
}

/* A pass of an earlier stay does not end a later one on another node; one of that stay does. */
static void a_pass_ends_no_later_stay(void **state)
{
	uint64_t here, there;
	uint8_t old[256], newer[256];
	uint32_t old_bytes, newer_bytes;
	struct msg_character_load load;

	(void)state;
	start();
	hello(&a, 1);
	here = load_at(&a);
	join_at(&a, here, 42);
	old_bytes = pass_of(&a, old);
	rig_gone(&a, handle_make(0, 1, 1));
	rig_left(&a, here);
	rig_say_settled(&a, rig_expect(a.links.to_world, MSG_CHARACTER_SETTLE));
	hello(&b, 2);
	there = load_at(&b);
	join_at(&b, there, 43);
	newer_bytes = pass_of(&b, newer);
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "43", 0);

	hello_with_pass(&a, 3, old, old_bytes);
	assert_int_equal(rig_disconnected(&a), SW_REASON_PASS_REFUSED);
	rig_until(&a, "HGET t{presence}:at:1:7 node", "node-2", 0);

	hello_with_pass(&a, 4, newer, newer_bytes);
	expect_removed(&b, there);
	rig_left(&b, there);
	rig_say_settled(&b, rig_expect(b.links.to_world, MSG_CHARACTER_SETTLE));
	memcpy(&load, msg_payload(rig_expect(a.links.to_world, MSG_CHARACTER_LOAD)), sizeof(load));
	assert_int_equal(load.epoch_max, 43);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_login_elsewhere_ends_the_stay),
		cmocka_unit_test(a_pass_ends_no_later_stay),
		cmocka_unit_test(a_login_under_way_makes_room),
		cmocka_unit_test(a_correction_elsewhere_is_told),
		cmocka_unit_test(a_node_without_a_beat_is_no_obstacle),
		cmocka_unit_test(an_emptied_redis_makes_the_older_stay_end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
