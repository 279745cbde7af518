/* Proves with two nodes on one Redis that no character is played on both: a login ends the stay on the
 * other node, and waits until that is kept; one that has crashed is no obstacle; and where Redis has
 * forgotten who plays where, the older stay ends as soon as it says so again. The test is shard,
 * world and client of both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/log.h"
#include "common/mono.h"
#include "control/control_rig.h"

#define HERO 7

static struct rig a, b;

static void start(void)
{
	rig_init(&a, 4096);
	rig_start(&a);
	rig_init(&b, 4096);
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
	freeReplyObject(rig_ask(&a,
		"HSET t{presence}:at:1:7 node node-1 boot 0 session 1 generation 41"));
	cut();
	rig_until(&a, "HGET t{presence}:at:1:7 generation", "43", 0);
	rig_until(&a, "HGET t{presence}:at:1:7 node", "node-2", 0);
	end();
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
		cmocka_unit_test(a_login_elsewhere_ends_the_stay),
		cmocka_unit_test(a_login_under_way_makes_room),
		cmocka_unit_test(a_node_without_a_beat_is_no_obstacle),
		cmocka_unit_test(an_emptied_redis_makes_the_older_stay_end),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
