/* Proves how admission finds out who a client is: passes and what they may not do, the proof of
 * work under pressure, whose turn it is at the verifying thread, and what becomes of those that end
 * or are too many while they wait for it. */
#include <stdio.h>
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

static struct msg_character_load loading(void)
{
	struct msg_character_load body;

	memcpy(&body, msg_payload(last('w', MSG_CHARACTER_LOAD)->message), sizeof(body));
	return body;
}

static void come_with_pass(uint64_t peer, const uint8_t *pass, uint32_t bytes)
{
	connected(peer);
	hello_with(peer, &(struct brings){.pass = pass, .pass_bytes = bytes});
}

/* ---- passes ---- */

static void test_return(void **state)
{
	uint8_t pass[PASS_BYTES_MAX], next[PASS_BYTES_MAX];
	const struct pass_wanted wanted = {PASS_RETURN, 1, "node-1", WALL + 240};
	struct msg_character_load load;
	struct pass read;
	uint64_t session;
	uint32_t bytes, next_bytes;

	(void)state;
	begin(10);
	session = bring(peer_of(1), 11, 22, AT_LOADING);
	assert_false(pass_of(peer_of(1), pass, &bytes));
	loaded_as(session, MSG_LOAD_OK, "meadow");
	assert_true(pass_of(peer_of(1), pass, &bytes));
	/* It is there when the client hears that it is admitted. */
	assert_int_equal(last('d', 0)->message[0].type, MSG_PEER_SEND);
	assert_int_equal(msg_payload(last('d', 0)->message)[0], SW_MSG_ADMITTED);
	shard_says(0, MSG_PLAYER_JOINED, session, 9);
	assert_int_equal(counted(ADM_C_PASSES_GIVEN), 1);
	assert_int_equal(
		pass_open(&read, pass, bytes, &secrets.pass_keys, &wanted), PASS_FAULT_NONE);
	assert_int_equal(read.account_id, 11);
	assert_int_equal(read.character_id, 22);
	assert_int_equal(read.generation, 5);
	assert_string_equal(read.node, "node-1");
	leave_all(peer_of(1), session);

	/* No ticket, no signature; its use is claimed, and no login since is overridden. */
	verify_held = true;
	come_with_pass(peer_of(2), pass, bytes);
	assert_int_equal(asked_count, 0);
	assert_int_equal(counted(ADM_C_PASSES_GOOD), 1);
	session = last('c', 0)->session;
	claimed(session, ADM_CLAIM_OURS);
	load = loading();
	assert_int_equal(load.session, session);
	assert_int_equal(load.account_id, 11);
	assert_int_equal(load.character_id, 22);
	assert_int_equal(load.epoch_max, 5);
	assert_string_equal(load.name, "name22");
	loaded_as(session, MSG_LOAD_OK, "meadow");
	shard_says(0, MSG_PLAYER_JOINED, session, 9);
	assert_true(pass_of(peer_of(2), next, &next_bytes));
	leave_all(peer_of(2), session);
	finish();
}

static void test_refused(void **state)
{
	uint8_t pass[PASS_BYTES_MAX];
	struct msg_character_load load;
	uint64_t session, other;
	struct ticket ticket = ticket_for(11, 22);
	uint32_t bytes;

	(void)state;
	begin(10);
	session = bring(peer_of(1), 11, 22, AT_IN);
	assert_true(pass_of(peer_of(1), pass, &bytes));
	leave_all(peer_of(1), session);

	/* Used before. */
	come_with_pass(peer_of(2), pass, bytes);
	assert_true(claimed(last('c', 0)->session, ADM_CLAIM_USED));
	expect_refused(peer_of(2), SW_REASON_PASS_REFUSED, false);
	assert_int_equal(counted(ADM_C_REFUSED_PASS_USED), 1);
	gone(peer_of(2));

	/* Older than a login that only the world knows of. */
	come_with_pass(peer_of(3), pass, bytes);
	other = last('c', 0)->session;
	claimed(other, ADM_CLAIM_OURS);
	loaded_as(other, MSG_LOAD_NEWER, "");
	expect_refused(peer_of(3), SW_REASON_PASS_REFUSED, false);
	assert_int_equal(counted(ADM_C_REFUSED_PASS_STALE), 1);
	gone(peer_of(3));

	/* Not good, and alone. */
	pass[10] ^= 1;
	come_with_pass(peer_of(4), pass, bytes);
	expect_refused(peer_of(4), SW_REASON_PASS_REFUSED, false);
	assert_int_equal(counted(ADM_C_PASS_FORGED), 1);
	gone(peer_of(4));

	/* Not good, but a ticket is there: that one counts. */
	connected(peer_of(5));
	hello_with(
		peer_of(5), &(struct brings){.pass = pass, .pass_bytes = bytes, .ticket = &ticket});
	assert_int_equal(counted(ADM_C_PASS_FORGED), 2);
	session = last('c', 0)->session;
	claimed(session, ADM_CLAIM_OURS);
	load = loading();
	assert_int_equal(load.session, session);
	assert_int_equal(load.epoch_max, 0);
	assert_int_equal(counted(ADM_C_TICKET_NONE), 2);
	gone(peer_of(5));
	finish();
}

/* What other passes are for does not let anybody in as a player who comes back. */
static void test_other_purposes(void **state)
{
	struct pass pass = {.realm_id = 1,
		.account_id = 11,
		.character_id = 22,
		.expires_unix_s = WALL + 10,
		.name = "a",
		.node = "node-1"};
	uint8_t bytes[PASS_BYTES_MAX];

	(void)state;
	begin(10);
	pass.purpose = PASS_HANDOVER;
	strcpy(pass.node, "node-2");
	come_with_pass(peer_of(2), bytes, (uint32_t)pass_seal(bytes, &pass, &secrets.pass_keys));
	expect_refused(peer_of(2), SW_REASON_PASS_REFUSED, false);
	assert_int_equal(counted(ADM_C_PASS_NODE), 1);
	strcpy(pass.node, "node-1");
	pass.purpose = PASS_PLACE;
	come_with_pass(peer_of(3), bytes, (uint32_t)pass_seal(bytes, &pass, &secrets.pass_keys));
	expect_refused(peer_of(3), SW_REASON_PASS_REFUSED, false);
	assert_int_equal(counted(ADM_C_PASS_PURPOSE), 1);
	pass.purpose = PASS_RETURN; /* of no generation: it would be good for ever */
	come_with_pass(peer_of(4), bytes, (uint32_t)pass_seal(bytes, &pass, &secrets.pass_keys));
	expect_refused(peer_of(4), SW_REASON_PASS_REFUSED, false);
	assert_int_equal(counted(ADM_C_PASS_LAYOUT), 1);
	for (uint32_t i = 2; i <= 4; i++)
		gone(peer_of(i));
	finish();
}

static void loaded_epoch(uint64_t session, uint64_t epoch)
{
	struct msg_character_loaded body = {
		.session = session, .epoch = epoch, .result = MSG_LOAD_OK, .map = "meadow"};
	struct msg message[5];

	memcpy(msg_begin(message, MSG_CHARACTER_LOADED, 0, sizeof(body)), &body, sizeof(body));
	adm_from_world(adm, message, now_ns);
}

/* Takes over the stay that it was given in, as a client does whose connection broke unnoticed; but
 * none that has begun since, at whatever step that is. */
static void test_takeover(void **state)
{
	uint8_t pass[PASS_BYTES_MAX];
	uint64_t first, second, third;
	uint32_t bytes;

	(void)state;
	begin(1);
	first = bring(peer_of(1), 11, 22, AT_JOINING);
	shard_says(0, MSG_PLAYER_JOINED, first, 9);
	assert_true(pass_of(peer_of(1), pass, &bytes));
	come_with_pass(peer_of(2), pass, bytes);
	second = last('c', 0)->session;
	claimed(second, ADM_CLAIM_OURS);
	assert_int_equal(counted(ADM_C_TAKEOVERS), 1);
	shard_says(0, MSG_PLAYER_LEFT, first, 0);
	assert_int_equal(loading().session, second);
	assert_int_equal(loading().epoch_max, 5);

	/* Now the second one is newer than the pass, before and after its epoch is known. */
	come_with_pass(peer_of(3), pass, bytes);
	expect_refused(peer_of(3), SW_REASON_TRY_LATER, true);
	assert_int_equal(counted(ADM_C_REFUSED_PASS_BUSY), 1);
	loaded_epoch(second, 6);
	shard_says(0, MSG_PLAYER_JOINED, second, 9);
	come_with_pass(peer_of(4), pass, bytes);
	expect_refused(peer_of(4), SW_REASON_PASS_REFUSED, false);
	assert_int_equal(counted(ADM_C_REFUSED_PASS_STALE), 1);
	gone(peer_of(3));
	gone(peer_of(4));
	assert_false(was_refused(peer_of(2)));

	/* A login with a ticket waits for the second one to leave: a pass of that has to wait for what
	 * comes of it; also if its use was claimed before: that is given back. */
	assert_true(pass_of(peer_of(2), pass, &bytes));
	come_with_pass(peer_of(5), pass, bytes);
	third = last('c', 0)->session;
	connected(peer_of(6));
	hello(peer_of(6), 11, 22);
	claimed(last('c', 0)->session, ADM_CLAIM_OURS);
	claimed(third, ADM_CLAIM_OURS);
	expect_refused(peer_of(5), SW_REASON_TRY_LATER, true);
	assert_int_equal(counted(ADM_C_REFUSED_PASS_BUSY), 2);
	assert_true(last('r', 0)->session == third);
	gone(peer_of(1));
	gone(peer_of(5));
	gone(peer_of(6));
	gone(peer_of(2));
	shard_says(0, MSG_PLAYER_LEFT, second, 0);
	finish();
}

/* A new one in time, as long as the player plays. */
static void test_given_anew(void **state)
{
	struct adm_presence due[4];
	uint64_t session;

	(void)state;
	begin(10);
	session = bring(peer_of(1), 11, 22, AT_IN);
	now_ns += 59 * NS_PER_S;
	assert_int_equal(adm_presence_due(adm, now_ns, now_ns, due, 4), 1);
	assert_int_equal(counted(ADM_C_PASSES_GIVEN), 1);
	now_ns += NS_PER_S;
	adm_wall(adm, WALL + 60);
	assert_int_equal(adm_presence_due(adm, now_ns, now_ns, due, 4), 1);
	assert_int_equal(counted(ADM_C_PASSES_GIVEN), 2);
	{
		const struct pass_wanted wanted = {PASS_RETURN, 1, "node-1", WALL + 60 + 240};
		uint8_t pass[PASS_BYTES_MAX];
		struct pass read;
		uint32_t bytes;

		assert_true(pass_of(peer_of(1), pass, &bytes));
		assert_int_equal(pass_open(&read, pass, bytes, &secrets.pass_keys, &wanted),
			PASS_FAULT_NONE);
	}
	leave_all(peer_of(1), session);
	finish();
}

/* Its login made its old pass too old: whoever fails after that gets a new one with the refusal. */
static void test_given_with_refusal(void **state)
{
	uint8_t pass[PASS_BYTES_MAX];
	uint64_t session;
	uint32_t bytes;

	(void)state;
	begin(10);
	config.maps[0].players_max = 0; /* so that no instance takes anybody */
	config.maps[0].instances_max = 1;
	session = bring(peer_of(1), 11, 22, AT_LOADING);
	loaded_as(session, MSG_LOAD_OK, "meadow");
	expect_refused(peer_of(1), SW_REASON_MAP_UNAVAILABLE, true);
	assert_int_equal(counted(ADM_C_ADMITTED), 0);
	assert_int_equal(counted(ADM_C_PASSES_GIVEN), 1);
	assert_true(pass_of(peer_of(1), pass, &bytes));
	come_with_pass(peer_of(2), pass, bytes);
	claimed(last('c', 0)->session, ADM_CLAIM_OURS);
	assert_int_equal(loading().epoch_max, 5);
	gone(peer_of(1));
	gone(peer_of(2));
	finish();
}

static void test_kick(void **state)
{
	uint64_t session;

	(void)state;
	begin(10);
	session = bring(peer_of(1), 11, 22, AT_IN);
	assert_null(last('x', 0));
	assert_true(adm_kick(adm, session, now_ns));
	assert_non_null(last('x', 0));
	leave_all(peer_of(1), session);
	session = bring(peer_of(2), 11, 23, AT_LOADING); /* it has none yet */
	assert_true(adm_kick(adm, session, now_ns));
	assert_int_equal(how_many('x', 0), 1);
	gone(peer_of(2));
	finish();
}

/* ---- whose turn it is ---- */

#define SOURCE(n) (0x0a000000u + (n))

static void come(uint32_t n, uint32_t source)
{
	struct ticket ticket = ticket_for(100 + n, 1000 + n);

	connected_from(peer_of(n), SOURCE(source));
	hello_with(peer_of(n), &(struct brings){.ticket = &ticket});
}

/* Nothing is verified while the test holds it: the window fills, then the queue. */
static void hold(uint32_t waiting_max)
{
	begin(200);
	config.enet.peers_max = 256;
	config.admission.verify_waiting_max = waiting_max;
	config.admission.proof_wait_ms = 100;
	config.admission.proof_bits_max = 20;
	begin_again();
	verify_held = true;
}

static void release_all(uint32_t first, uint32_t last_n)
{
	verify_held = false;
	while (verify_one())
		;
	for (uint32_t n = first; n <= last_n; n++)
		gone(peer_of(n));
	finish();
}

static void test_window_and_turns(void **state)
{
	(void)state;
	hold(256);
	for (uint32_t n = 1; n <= ADM_VERIFY_WINDOW + 40; n++)
		come(n, 1);
	assert_int_equal(asked_count, ADM_VERIFY_WINDOW);
	for (uint32_t n = 200; n < 203; n++)
		come(n, 2 + n);
	adm_tick(adm, now_ns);
	assert_int_equal(counted(ADM_C_VERIFY_WAITING), 43);
	assert_int_equal(counted(ADM_C_VERIFY_SOURCES), 4);
	assert_int_equal(counted(ADM_C_VERIFY_UNDER_WAY), ADM_VERIFY_WINDOW);
	/* One of the flood, then the three. */
	for (uint32_t i = 0; i < 4; i++)
		assert_true(verify_one());
	for (uint32_t i = 0; i < 4; i++) {
		struct ticket ticket;
		const struct asked *one = &asked[ADM_VERIFY_WINDOW - 4 + i];

		assert_int_equal(ticket_check(&ticket, one->ticket, one->bytes,
					 config.admission.ticket_keys, 1, 1, WALL),
			TICKET_FAULT_NONE);
		assert_int_equal(
			ticket.character_id, i ? 1000 + 199 + i : 1000 + ADM_VERIFY_WINDOW + 1);
	}
	for (uint32_t n = 200; n < 203; n++)
		gone(peer_of(n));
	release_all(1, ADM_VERIFY_WINDOW + 40);
}

static void test_too_many(void **state)
{
	uint32_t n = 1;

	(void)state;
	hold(64);
	for (; n <= ADM_VERIFY_WINDOW + 64; n++)
		come(n, 1);
	come(n, 1); /* its source has the most already */
	expect_refused(peer_of(n), SW_REASON_TRY_LATER, true);
	assert_int_equal(counted(ADM_C_REFUSED_VERIFY_FULL), 1);
	come(n + 1, 2);
	assert_false(was_refused(peer_of(n + 1)));
	expect_refused(peer_of(n - 1), SW_REASON_TRY_LATER, true); /* the newest of the flood */
	assert_int_equal(counted(ADM_C_REFUSED_VERIFY_CROWDED), 1);
	release_all(1, n + 1);
}

/* Whoever ends while it waits is not verified, and its place in the queue is free. */
static void test_ends_waiting(void **state)
{
	(void)state;
	hold(256);
	for (uint32_t n = 1; n <= ADM_VERIFY_WINDOW + 10; n++)
		come(n, n);
	gone(peer_of(1)); /* under way */
	gone(peer_of(ADM_VERIFY_WINDOW + 1));
	gone(peer_of(ADM_VERIFY_WINDOW + 10));
	adm_tick(adm, now_ns);
	assert_int_equal(counted(ADM_C_VERIFY_WAITING), 8);
	assert_true(verify_one());
	assert_int_equal(counted(ADM_C_STALE), 1);
	adm_stop(adm, now_ns);
	adm_tick(adm, now_ns);
	assert_int_equal(counted(ADM_C_VERIFY_WAITING), 0);
	expect_refused(peer_of(2), SW_REASON_SERVER_STOPPING, true);
	while (verify_one())
		;
	assert_null(last('c', 0));
	for (uint32_t n = 2; n < ADM_VERIFY_WINDOW + 10; n++)
		if (n != ADM_VERIFY_WINDOW + 1)
			gone(peer_of(n));
	finish();
}

static void test_never_answered(void **state)
{
	(void)state;
	hold(256);
	come(1, 1);
	now_ns += ADM_STEP_DEADLINE_MS * NS_PER_MS;
	adm_tick(adm, now_ns);
	expect_refused(peer_of(1), SW_REASON_TRY_LATER, true);
	assert_int_equal(counted(ADM_C_REFUSED_VERIFY_TIMEOUT), 1);
	release_all(1, 1);
}

/* What can be seen without a signature takes nobody's turn. */
static void test_outline_first(void **state)
{
	struct ticket ticket = ticket_for(1, 2);
	uint8_t bytes[TICKET_BYTES_MAX + 1] = {0};
	uint32_t count;

	(void)state;
	hold(256);
	connected(peer_of(1));
	hello_with(peer_of(1), &(struct brings){.bytes = bytes, .count = 20});
	expect_refused(peer_of(1), SW_REASON_TICKET_MALFORMED, false);
	connected(peer_of(2));
	hello_with(peer_of(2), &(struct brings){.bytes = bytes, .count = sizeof(bytes)});
	expect_refused(peer_of(2), SW_REASON_TICKET_MALFORMED, false);
	connected(peer_of(3));
	count = (uint32_t)ticket_sign(bytes, &ticket, key.id + 1, key.secret_key);
	hello_with(peer_of(3), &(struct brings){.bytes = bytes, .count = count});
	expect_refused(peer_of(3), SW_REASON_TICKET_FORGED, false);
	connected(peer_of(4));
	hello_with(peer_of(4), &(struct brings){.count = 0});
	expect_refused(peer_of(4), SW_REASON_TICKET_MALFORMED, false);
	assert_int_equal(asked_count, 0);
	release_all(1, 4);
}

/* ---- the proof of work ---- */

/* Tickets have waited for 100 ms and more: from now on work is asked for. Returns the next free
 * peer's number. */
static uint32_t press(void)
{
	uint32_t n = 1;

	hold(256);
	for (; n <= ADM_VERIFY_WINDOW + 1; n++)
		come(n, n);
	adm_tick(adm, now_ns);
	assert_int_equal(counted(ADM_C_PROOF_BITS), 0);
	now_ns += 100 * NS_PER_MS;
	adm_tick(adm, now_ns);
	assert_int_equal(counted(ADM_C_PROOF_BITS), PRESSURE_BITS_MIN);
	return n;
}

static void test_work(void **state)
{
	uint32_t n = press(), bits;
	struct ticket ticket = ticket_for(100 + n, 1000 + n);
	uint8_t challenge[SW_PROOF_CHALLENGE_BYTES];
	uint64_t number = 0;

	(void)state;
	come(n, n);
	assert_true(challenge_of(peer_of(n), challenge, &bits));
	assert_int_equal(bits, PRESSURE_BITS_MIN);
	assert_false(was_refused(peer_of(n)));
	/* Its time begins anew with the challenge. */
	now_ns += (config.admission.hello_deadline_ms - 1) * NS_PER_MS;
	adm_tick(adm, now_ns);
	assert_false(was_refused(peer_of(n)));
	assert_true(solve(challenge, bits, 1u << 20, &number));
	/* More is asked for by now; of this one it was not. */
	assert_true(counted(ADM_C_PROOF_BITS) > bits);
	hello_with(peer_of(n),
		&(struct brings){.ticket = &ticket, .challenge = challenge, .number = number});
	assert_int_equal(counted(ADM_C_PROOFS_GOOD), 1);
	assert_int_equal(counted(ADM_C_CHALLENGED), 1);
	verify_held = false;
	while (verify_one())
		;
	assert_int_equal(how_many('c', 0), n);
	/* The same again is one Hello too many. */
	hello_with(peer_of(n),
		&(struct brings){.ticket = &ticket, .challenge = challenge, .number = number});
	assert_int_equal(counted(ADM_C_MESSAGE_UNEXPECTED), 1);
	release_all(1, n);
}

static void test_no_work(void **state)
{
	uint32_t n = press();
	struct ticket ticket = ticket_for(100 + n, 1000 + n);
	uint8_t challenge[SW_PROOF_CHALLENGE_BYTES];
	uint64_t number = 0;

	(void)state;
	/* None in time. */
	come(n, n);
	now_ns += config.admission.hello_deadline_ms * NS_PER_MS;
	adm_tick(adm, now_ns);
	expect_refused(peer_of(n), SW_REASON_PROOF_MISSING, false);
	/* Asked, and again without. */
	come(n + 1, n);
	hello_with(peer_of(n + 1), &(struct brings){.ticket = &ticket});
	expect_refused(peer_of(n + 1), SW_REASON_PROOF_MISSING, false);
	assert_int_equal(counted(ADM_C_REFUSED_PROOF_MISSING), 2);
	/* Wrong. */
	come(n + 2, n);
	assert_true(challenge_of(peer_of(n + 2), challenge, NULL));
	for (uint64_t at = 0; solve(challenge, challenge[0], 1, &at); at = number)
		number++;
	hello_with(peer_of(n + 2),
		&(struct brings){.ticket = &ticket, .challenge = challenge, .number = number});
	expect_refused(peer_of(n + 2), SW_REASON_PROOF_WRONG, false);
	assert_int_equal(counted(ADM_C_PROOF_WRONG), 1);
	/* One piece of work for two connections of the same address. */
	come(n + 3, n);
	come(n + 4, n);
	assert_true(challenge_of(peer_of(n + 3), challenge, NULL));
	number = 0;
	assert_true(solve(challenge, challenge[0], 1u << 24, &number));
	hello_with(peer_of(n + 4),
		&(struct brings){.ticket = &ticket, .challenge = challenge, .number = number});
	expect_refused(peer_of(n + 4), SW_REASON_PROOF_WRONG, false);
	assert_int_equal(counted(ADM_C_PROOF_FOREIGN), 1);
	assert_int_equal(asked_count, ADM_VERIFY_WINDOW); /* none of them came so far */
	assert_int_equal(counted(ADM_C_PROOFS_GOOD), 0);
	release_all(1, n + 4);
}

/* A pass costs less than the work is worth. */
static void test_pass_needs_no_work(void **state)
{
	struct pass pass = {.purpose = PASS_RETURN,
		.realm_id = 1,
		.account_id = 11,
		.character_id = 22,
		.generation = 5,
		.expires_unix_s = WALL + 10,
		.name = "a"};
	uint8_t bytes[PASS_BYTES_MAX];
	uint32_t n = press();

	(void)state;
	come_with_pass(peer_of(n), bytes, (uint32_t)pass_seal(bytes, &pass, &secrets.pass_keys));
	assert_int_equal(counted(ADM_C_CHALLENGED), 0);
	assert_int_equal(how_many('c', 0), 1);
	release_all(1, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_return),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_other_purposes),
		cmocka_unit_test(test_takeover),
		cmocka_unit_test(test_given_anew),
		cmocka_unit_test(test_given_with_refusal),
		cmocka_unit_test(test_kick),
		cmocka_unit_test(test_window_and_turns),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_ends_waiting),
		cmocka_unit_test(test_never_answered),
		cmocka_unit_test(test_outline_first),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_no_work),
		cmocka_unit_test(test_pass_needs_no_work),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
