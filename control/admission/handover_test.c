/* Proves how a player is sent to another node and how it comes back: the pass is good at that node
 * alone, once, and no newer than the login it was given for; whoever cannot get in there waits where
 * it stood; whoever got in is let go here, and cut off if it stays; and a connection that broke in
 * the queue does not cost the pass. */
#include <string.h>

#include "control/admission/admission_testing.h"
#include "control/admission/pass_key.h"

static int setup(void **state)
{
	(void)state;
	assert_int_equal(ticket_init(), 0);
	ticket_key_new(&key, 1);
	return 0;
}

/* A session that waits in the queue, with a ticket. */
static uint64_t in_the_queue(uint64_t peer, uint64_t account, uint64_t character)
{
	uint64_t session;

	connected(peer);
	hello(peer, account, character);
	session = last('c', 0)->session;
	assert_true(adm_claimed(adm, session, ADM_CLAIM_OURS, now_ns));
	assert_true(in_queue(session));
	return session;
}

static uint64_t come_with_pass(uint64_t peer, const uint8_t *pass, uint32_t bytes)
{
	connected(peer);
	hello_with(peer, &(struct brings){.pass = pass, .pass_bytes = bytes});
	return last('c', 0) ? last('c', 0)->session : 0;
}

static struct pass opened(const char *node, const uint8_t *sealed, uint32_t bytes)
{
	const struct pass_wanted wanted = {PASS_HANDOVER, 1, node, WALL + ADM_HANDOVER_S};
	struct pass pass;

	assert_int_equal(
		pass_open(&pass, sealed, bytes, &secrets.pass_keys, &wanted), PASS_FAULT_NONE);
	return pass;
}

static void test_sent(void **state)
{
	uint8_t sealed[PASS_BYTES_MAX], second[PASS_BYTES_MAX];
	struct pass_wanted wanted = {PASS_HANDOVER, 1, "node-2", WALL + ADM_HANDOVER_S + 1};
	uint64_t session, other;
	struct pass pass;
	uint32_t bytes, second_bytes;

	(void)state;
	begin(10);
	session = in_the_queue(peer_of(1), 11, 22);
	other = in_the_queue(peer_of(2), 12, 23);
	assert_true(move_to(session, "node-2"));
	assert_false(move_to(session, "node-2")); /* once */
	assert_true(move_to(other, "node-2"));
	assert_true(redirect_of(peer_of(1), sealed, &bytes));
	assert_true(redirect_of(peer_of(2), second, &second_bytes));
	pass = opened("node-2", sealed, bytes);
	assert_int_equal(pass.account_id, 11);
	assert_int_equal(pass.character_id, 22);
	assert_string_equal(pass.name, "name22");
	assert_int_equal(pass.generation, 0); /* it came with a ticket */
	assert_int_equal(pass.lane, GATE_LANE_NORMAL);
	assert_int_equal(pass.seq, 17);
	assert_memory_not_equal(
		pass.nonce, opened("node-2", second, second_bytes).nonce, PASS_NONCE_BYTES);
	assert_int_equal(
		pass_open(&pass, sealed, bytes, &secrets.pass_keys, &wanted), PASS_FAULT_EXPIRED);

	/* It takes no place here, is not let in here, and the gate still has it. */
	assert_int_equal(counted(ADM_C_PLACES), 0);
	assert_false(adm_let_in(adm, session, now_ns));
	assert_int_equal(how_many('u', 0), 0);
	assert_false(was_refused(peer_of(1)));

	/* It goes from here, which says nothing of its ticket: the pass is all that it was. */
	gone(peer_of(1));
	assert_int_equal(how_many('r', 0), 0);
	assert_int_equal(last('u', 0)->index, true);

	/* The other stays, though it is in there: it is let go, and then cut off. */
	adm_replaced(adm, other, now_ns);
	assert_int_equal(how_many('d', MSG_PEER_DISCONNECT), 1);
	assert_int_equal(counted(ADM_C_REFUSED_REPLACED), 0);
	now_ns += ADM_ENDED_DEADLINE_MS * NS_PER_MS;
	adm_tick(adm, now_ns);
	assert_int_equal(counted(ADM_C_CUT_OFF), 1);
	gone(peer_of(2));
	assert_int_equal(how_many('r', 0), 0);
	finish();
}

static void test_there(void **state)
{
	uint8_t sealed[PASS_BYTES_MAX];
	struct msg_character_load load;
	uint64_t session;
	uint32_t bytes;

	(void)state;
	begin(10);
	assert_true(move_to(in_the_queue(peer_of(1), 11, 22), "node-2"));
	assert_true(redirect_of(peer_of(1), sealed, &bytes));
	gone(peer_of(1));

	/* Not here: it is for another node. */
	come_with_pass(peer_of(2), sealed, bytes);
	expect_refused(peer_of(2), SW_REASON_PASS_REFUSED, false);
	assert_int_equal(counted(ADM_C_PASS_NODE), 1);
	gone(peer_of(2));
	finish();

	/* There, with its place, which is its own word: no newer than a ticket, so that it may take
	 * its character over. */
	begin(10);
	strcpy(config.node.name, "node-2");
	begin_again();
	session = come_with_pass(peer_of(3), sealed, bytes);
	assert_int_equal(asked_count, 0); /* no signature */
	assert_true(adm_claimed(adm, session, ADM_CLAIM_OURS, now_ns));
	assert_int_equal(counted(ADM_C_MOVED_HERE), 1);
	assert_true(newcomer.sent && !newcomer.stays);
	assert_int_equal(newcomer.seq, 17);
	assert_int_equal(newcomer.place_lane, GATE_LANE_NORMAL);
	let_in();
	sought_all(ADM_SOUGHT_OURS);
	memcpy(&load, msg_payload(last('w', MSG_CHARACTER_LOAD)->message), sizeof(load));
	assert_int_equal(load.epoch_max, 0);
	assert_int_equal(load.account_id, 11);
	loaded_as(session, MSG_LOAD_OK, "meadow");
	shard_says(0, MSG_PLAYER_JOINED, session, 9);
	assert_int_equal(counted(ADM_C_PLAYERS), 1);

	/* Once. */
	session = come_with_pass(peer_of(4), sealed, bytes);
	assert_true(adm_claimed(adm, session, ADM_CLAIM_USED, now_ns));
	expect_refused(peer_of(4), SW_REASON_PASS_REFUSED, false);
	gone(peer_of(4));
	leave_all(peer_of(3), session_of(peer_of(3)));
	finish();
}

/* Who has come with a pass goes on with what that one may do: nothing over a later login. */
static void test_generation(void **state)
{
	uint8_t sealed[PASS_BYTES_MAX];
	uint64_t session;
	uint32_t bytes;

	(void)state;
	begin(10);
	session = bring(peer_of(1), 11, 22, AT_IN);
	assert_true(pass_of(peer_of(1), sealed, &bytes));
	leave_all(peer_of(1), session);
	session = come_with_pass(peer_of(2), sealed, bytes);
	assert_true(adm_claimed(adm, session, ADM_CLAIM_OURS, now_ns));
	assert_true(move_to(session, "node-1"));
	assert_true(redirect_of(peer_of(2), sealed, &bytes));
	assert_int_equal(opened("node-1", sealed, bytes).generation, 5);
	gone(peer_of(2));
	session = bring(peer_of(3), 11, 22, AT_IN); /* by ticket */
	loaded_as(session, MSG_LOAD_OK, "meadow");
	come_with_pass(peer_of(4), sealed, bytes);
	assert_true(claimed(last('c', 0)->session, ADM_CLAIM_OURS));
	assert_int_equal(counted(ADM_C_TAKEOVERS), 1); /* epoch 5, as loaded_as gives to all */
	gone(peer_of(4));
	leave_all(peer_of(3), session);
	finish();
}

static void test_back(void **state)
{
	uint64_t session;

	(void)state;
	begin(10);
	session = in_the_queue(peer_of(1), 11, 22);
	redirect_failed(peer_of(1), 0); /* of nothing */
	assert_int_equal(counted(ADM_C_MESSAGE_UNEXPECTED), 1);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_true(move_to(session, "node-2"));
		assert_false(in_queue(session));
		if (i < 3)
			redirect_failed(peer_of(1), i == 1 ? 0 : SW_REASON_SERVER_FULL);
		else
			move_lost(session);
		assert_true(in_queue(session));
	}
	assert_int_equal(counted(ADM_C_MOVES_UNREACHED), 1);
	assert_int_equal(counted(ADM_C_MOVES_REFUSED), 1);
	assert_int_equal(counted(ADM_C_MOVES_FAILED), 1);
	assert_int_equal(counted(ADM_C_MOVED), 3);
	/* It crossed with the gate's own word: no harm. */
	redirect_failed(peer_of(1), 0);
	assert_true(in_queue(session));
	assert_int_equal(counted(ADM_C_MESSAGE_UNEXPECTED), 1);
	/* It is one who waits like others: in it goes, or its ticket is good again. */
	gone(peer_of(1));
	assert_int_equal(how_many('r', 0), 1);
	finish();
}

/* A client that knows no Redirect gets none; a stop leaves those alone that are on their way; an
 * operator may end them. */
static void test_stays(void **state)
{
	const struct ticket ticket = ticket_for(11, 22);
	uint64_t session;
	uint8_t pass[PASS_BYTES_MAX];
	uint32_t bytes;

	(void)state;
	begin(10);
	connected(peer_of(1));
	hello_with(peer_of(1), &(struct brings){.ticket = &ticket, .stays = true});
	session = last('c', 0)->session;
	assert_true(adm_claimed(adm, session, ADM_CLAIM_OURS, now_ns));
	assert_true(newcomer.stays);
	assert_false(move_to(session, "node-2"));
	assert_false(redirect_of(peer_of(1), pass, &bytes));
	assert_true(in_queue(session));

	session = in_the_queue(peer_of(2), 12, 23);
	assert_true(move_to(session, "node-2"));
	assert_true(adm_kick(adm, session, now_ns));
	expect_refused(peer_of(2), SW_REASON_KICKED, false);
	assert_int_equal(last('u', 0)->index, false);

	session = in_the_queue(peer_of(3), 13, 24);
	assert_true(move_to(session, "node-2"));
	adm_stop(adm, now_ns);
	expect_refused(peer_of(1), SW_REASON_SERVER_STOPPING, true);
	assert_int_equal(counted(ADM_C_REFUSED_STOPPING), 1);
	assert_true(was_refused(peer_of(3))); /* closed */
	assert_int_equal(how_many('r', 0), 1);
	for (uint32_t i = 1; i <= 3; i++)
		gone(peer_of(i));
	finish();
}

/* The connection broke and nobody has noticed: the same pass comes on another one. A ticket is good
 * once. */
static void test_superseded(void **state)
{
	uint8_t pass[PASS_BYTES_MAX];
	uint64_t first, second, releases;
	uint32_t bytes;

	(void)state;
	begin(10);
	first = bring(peer_of(1), 11, 22, AT_IN);
	assert_true(pass_of(peer_of(1), pass, &bytes));
	leave_all(peer_of(1), first);
	first = come_with_pass(peer_of(2), pass, bytes);
	assert_true(adm_claimed(adm, first, ADM_CLAIM_OURS, now_ns));
	second = come_with_pass(peer_of(3), pass, bytes);
	assert_true(adm_claimed(adm, second, ADM_CLAIM_USED, now_ns));
	assert_int_equal(counted(ADM_C_SUPERSEDED), 1);
	expect_refused(peer_of(2), SW_REASON_REPLACED, false);
	assert_true(in_queue(second) && !in_queue(first));
	assert_int_equal(last('u', 0)->index, true); /* its place is kept for the second */
	/* What was the first one's in Redis is given back as that. */
	releases = how_many('r', 0);
	gone(peer_of(3));
	assert_int_equal(how_many('r', 0), releases + 1);
	assert_true(last('r', 0)->session == first);
	gone(peer_of(2));
	assert_int_equal(how_many('r', 0), releases + 1);

	/* Past the queue it is in use. */
	first = come_with_pass(peer_of(4), pass, bytes);
	assert_true(claimed(first, ADM_CLAIM_OURS));
	come_with_pass(peer_of(5), pass, bytes);
	expect_refused(peer_of(5), SW_REASON_TRY_LATER, true);
	assert_int_equal(counted(ADM_C_REFUSED_PASS_BUSY), 1);
	assert_int_equal(counted(ADM_C_SUPERSEDED), 1);
	/* A ticket is used in the queue, ... */
	in_the_queue(peer_of(8), 14, 25);
	connected(peer_of(9));
	hello(peer_of(9), 14, 25);
	assert_true(adm_claimed(adm, last('c', 0)->session, ADM_CLAIM_USED, now_ns));
	expect_refused(peer_of(9), SW_REASON_TICKET_USED, false);
	/* ... and sent away. */
	first = in_the_queue(peer_of(6), 12, 23);
	assert_true(move_to(first, "node-2"));
	connected(peer_of(7));
	hello(peer_of(7), 12, 23);
	assert_true(adm_claimed(adm, last('c', 0)->session, ADM_CLAIM_USED, now_ns));
	expect_refused(peer_of(7), SW_REASON_TICKET_USED, false);
	for (uint32_t i = 4; i <= 9; i++)
		gone(peer_of(i));
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_there),
		cmocka_unit_test(test_generation),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_superseded),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
