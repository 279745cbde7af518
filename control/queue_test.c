/* Proves the cluster's queue on the control thread with a real redis-server: who cannot be let in
 * is told how it stands, keeps its place over a reconnect and through a Redis that dies empty, and
 * is let in when there is room and the gate is open; who is told nothing waits on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/log.h"
#include "common/mono.h"
#include "control/control_rig.h"
#include "proto/client.pb-c.h"

/* The next Queued of a peer that says this state. */
static uint32_t told(struct rig *rig, uint64_t peer, Sw__QueueState state)
{
	uint64_t until_ns = mono_ns() + 10 * NS_PER_S;

	while (mono_ns() < until_ns) {
		const struct msg *message = rig_expect(rig->links.to_dataplane[0], MSG_PEER_SEND);
		Sw__Queued *queued;
		uint32_t position;
		bool right;

		if (msg_payload(message)[0] != SW_MSG_QUEUED || message->peer != peer)
			continue;
		queued = sw__queued__unpack(
			NULL, message->payload_bytes - 1, msg_payload(message) + 1);
		assert_non_null(queued);
		right = queued->state == state;
		position = queued->position;
		if (state != SW__QUEUE_STATE__QUEUE_OPEN)
			assert_true(!right || !queued->wait_ms);
		sw__queued__free_unpacked(queued, NULL);
		if (right)
			return position;
	}
	fail_msg("the peer was never told state %d", state);
	return 0;
}

#define ORDER(rig, words, count, says)                                                             \
	rig_order(rig, words, count, (uint32_t)sizeof(words), ORDER_DONE, says)

/* Nobody has asked the world for anyone. */
static void nobody_loads(struct rig *rig)
{
	static struct msg out[2 * MSG_SLOTS_MAX];
	uint32_t filled;

	while ((filled = msg_ring_pop(rig->links.to_world, out, 2 * MSG_SLOTS_MAX)))
		for (const struct msg *m = out; m < out + filled; m = msg_next(m))
			assert_int_not_equal(m->type, MSG_CHARACTER_LOAD);
}

static void test_closed(void **state)
{
	const struct ticket ada = rig_ticket(7), bo = rig_ticket(8);
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	ORDER(&rig, "gate\0close\0its walls are wrong", 3, "is closed; before it was open");
	rig_say_hello(&rig, handle_make(0, 1, 1), &ada);
	assert_int_equal(told(&rig, handle_make(0, 1, 1), SW__QUEUE_STATE__QUEUE_CLOSED), 1);
	rig_say_hello(&rig, handle_make(0, 1, 2), &bo);
	assert_int_equal(told(&rig, handle_make(0, 1, 2), SW__QUEUE_STATE__QUEUE_CLOSED), 2);
	ORDER(&rig, "gate\0status", 2,
		"by anna: its walls are wrong; 2 wait (2 here), room for 100");
	rig_until(&rig, "HGET t{gate}:state reason", "its walls are wrong", 0);
	rig_until(&rig, "HGET t{gate}:state author", "anna", 0);

	/* The first one's connection breaks; with its ticket it has its place again. */
	rig_gone(&rig, handle_make(0, 1, 1));
	rig_until(&rig, "HGET t{gate}:p:1:7 away", "1", 0);
	rig_say_hello(&rig, handle_make(0, 1, 3), &ada);
	assert_int_equal(told(&rig, handle_make(0, 1, 3), SW__QUEUE_STATE__QUEUE_CLOSED), 1);
	rig_until(&rig, "HGET t{gate}:p:1:7 away", "0", 0);
	/* Redis forgets its scripts; nobody notices. */
	freeReplyObject(rig_ask(&rig, "SCRIPT FLUSH"));
	nobody_loads(&rig);
	ORDER(&rig, "gate\0open", 2, "is open; before it was closed by anna");
	for (uint64_t character = 7; character <= 8; character++) { /* in their order */
		struct msg_character_load load;

		memcpy(&load, msg_payload(rig_expect(rig.links.to_world, MSG_CHARACTER_LOAD)),
			sizeof(load));
		assert_int_equal(load.character_id, character);
	}
	/* Their reserved places have become places. */
	rig_until(&rig, "HGET t{gate}:n:node-1 places", "2", 0);
	rig_until(&rig, "HGET t{gate}:l:1:7 node", NULL, REDIS_REPLY_NIL);
	rig_until(&rig, "HGET t{gate}:l:1:8 node", NULL, REDIS_REPLY_NIL);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

/* One place, three that want it, and Redis dies with all that it knew. */
static void test_full_and_emptied(void **state)
{
	const struct ticket first = rig_ticket(1), second = rig_ticket(2), third = rig_ticket(3);
	const uint64_t peer[] = {handle_make(0, 1, 1), handle_make(0, 1, 2), handle_make(0, 1, 3)};
	struct msg_character_load load;
	struct rig rig;
	uint64_t session;

	(void)state;
	rig_init(&rig, 4096);
	rig.config.admission.players_max = 1;
	rig_start(&rig);
	rig_say_hello(&rig, peer[0], &first);
	session = rig_let_in(&rig);
	rig_say_hello(&rig, peer[1], &second);
	assert_int_equal(told(&rig, peer[1], SW__QUEUE_STATE__QUEUE_FULL), 1);
	rig_say_hello(&rig, peer[2], &third);
	assert_int_equal(told(&rig, peer[2], SW__QUEUE_STATE__QUEUE_FULL), 2);
	redis_fixture_kill(&rig.server);
	told(&rig, peer[1], SW__QUEUE_STATE__QUEUE_AWAY);
	told(&rig, peer[2], SW__QUEUE_STATE__QUEUE_AWAY);
	redis_fixture_start(&rig.server, NULL, NULL); /* empty */
	told(&rig, peer[2], SW__QUEUE_STATE__QUEUE_FULL);
	nobody_loads(&rig);
	rig_until(&rig, "HGET t{gate}:p:1:2 seq", "2", 0); /* where they were */
	rig_until(&rig, "HGET t{gate}:p:1:3 seq", "3", 0);
	rig_gone(&rig, peer[0]);
	rig_left(&rig, session);
	memcpy(&load, msg_payload(rig_expect(rig.links.to_world, MSG_CHARACTER_LOAD)),
		sizeof(load));
	assert_int_equal(load.character_id, 2);
	assert_int_equal(told(&rig, peer[2], SW__QUEUE_STATE__QUEUE_FULL), 1);
	nobody_loads(&rig);
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
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_full_and_emptied),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
