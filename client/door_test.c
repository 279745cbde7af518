/* Proves, without a socket, what a session does at the door: work that the server asks for is done
 * in small steps, or not begun when it is too much, the newest pass is kept, and a redirect is
 * taken that is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sodium.h>

#include "client/seen.h"

static void begin(struct seen *seen)
{
	seen_start(seen);
	seen->session.proof_bits_max = 12;
}

static void give_challenge(struct seen *seen, uint32_t bits, uint32_t bytes)
{
	static uint8_t challenge[64] = {9, 8, 7};
	Sw__Challenge message = SW__CHALLENGE__INIT;

	message.challenge = (ProtobufCBinaryData){bytes, challenge};
	message.bits = bits;
	message.good_for_ms = 16000;
	seen_give(seen, SW_CHANNEL_SESSION, SW_MSG_CHALLENGE, &message);
}

/* The Hello that was sent last brings a number that is good. */
static void solved(const struct seen *seen, uint32_t bits)
{
	uint8_t input[SW_PROOF_INPUT_BYTES], hash[SW_PROOF_HASH_BYTES];
	Sw__Hello *hello = sw__hello__unpack(NULL, seen->packet_bytes - 1, seen->packet + 1);

	assert_int_equal(seen->packet[0], SW_MSG_HELLO);
	assert_non_null(hello);
	assert_non_null(hello->solution);
	assert_int_equal(hello->ticket.len, 6);
	assert_string_equal(hello->client_build, "test");
	assert_int_equal(hello->solution->challenge.len, SW_PROOF_CHALLENGE_BYTES);
	assert_int_equal(hello->solution->challenge.data[0], 9);
	sw_proof_input(input, hello->solution->challenge.data, hello->solution->number);
	crypto_hash_sha256(hash, input, sizeof(input));
	assert_true(sw_proof_good(hash, bits));
	sw__hello__free_unpacked(hello, NULL);
}

static void work_is_done_in_steps_and_sent_once(void **state)
{
	struct seen seen;
	uint32_t steps = 0;

	(void)state;
	begin(&seen);
	swc_session_work(&seen.session, 100);
	assert_int_equal(seen.sent, 1);
	give_challenge(&seen, 12, SW_PROOF_CHALLENGE_BYTES);
	assert_int_equal(seen.events[SWC_EVENT_CHALLENGED], 1);
	assert_int_equal(seen.sent, 1);
	while (seen.sent == 1) {
		swc_session_work(&seen.session, 100);
		assert_true(steps++ < 1000);
	}
	solved(&seen, 12);
	assert_true(steps > 1);
	swc_session_work(&seen.session, 100000);
	assert_int_equal(seen.sent, 2);
	give_challenge(&seen, 12, SW_PROOF_CHALLENGE_BYTES); /* once is enough */
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_ORDER], 1);
	assert_false(seen.session.proof.wanted);
	seen_admit(&seen);
	assert_int_equal(seen.session.state, SWC_LOADING);
	seen_stop(&seen);
}

static void work_that_is_too_much_is_not_begun(void **state)
{
	static const struct {
		uint32_t bits, bytes, refused;
	} rows[] = {{0, SW_PROOF_CHALLENGE_BYTES, 1}, {25, SW_PROOF_CHALLENGE_BYTES, 1},
		{12, SW_PROOF_CHALLENGE_BYTES - 1, 1}, {12, SW_PROOF_CHALLENGE_BYTES + 1, 1},
		{13, SW_PROOF_CHALLENGE_BYTES, 0}};
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(&seen);
		give_challenge(&seen, rows[i].bits, rows[i].bytes);
		assert_int_equal(
			seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], rows[i].refused);
		assert_int_equal(seen.events[SWC_EVENT_CHALLENGED], !rows[i].refused);
		assert_false(seen.session.proof.wanted);
		seen_stop(&seen);
	}
	seen_start_playing(&seen);
	give_challenge(&seen, 12, SW_PROOF_CHALLENGE_BYTES);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_ORDER], 1);
	seen_stop(&seen);
}

static void the_newest_pass_is_kept(void **state)
{
	uint8_t bytes[SWC_PASS_BYTES_MAX + 1] = {1, 2, 3};
	Sw__ReturnPass message = SW__RETURN_PASS__INIT;
	struct seen seen;

	(void)state;
	seen_start_playing(&seen);
	message.good_for_s = 240;
	for (uint32_t i = 0; i < 2; i++) {
		bytes[0] = (uint8_t)(10 + i);
		message.pass = (ProtobufCBinaryData){SWC_PASS_BYTES_MAX - i, bytes};
		seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_RETURN_PASS, &message);
		assert_int_equal(seen.session.pass_bytes, SWC_PASS_BYTES_MAX - i);
		assert_int_equal(seen.session.pass[0], 10 + i);
	}
	assert_int_equal(seen.events[SWC_EVENT_PASS], 2);
	message.pass = (ProtobufCBinaryData){sizeof(bytes), bytes};
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_RETURN_PASS, &message);
	message.pass.len = 0;
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_RETURN_PASS, &message);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], 2);
	assert_int_equal(seen.session.pass_bytes, SWC_PASS_BYTES_MAX - 1);
	seen_stop(&seen);
}

static void a_redirect_is_to_an_address_and_with_a_pass(void **state)
{
	static const struct {
		const char *address;
		uint32_t bytes;
		bool good;
	} rows[] = {{"10.0.0.2:7777", 32, true}, {"1.2.3.4:1", 1, true},
		{"255.255.255.255:65535", SWC_PASS_BYTES_MAX, true}, {"10.0.0.2:7777", 0, false},
		{"10.0.0.2:7777", SWC_PASS_BYTES_MAX + 1, false}, {"10.0.0.2:0", 8, false},
		{"10.0.0.2:65536", 8, false}, {"10.0.0.2:99999999999", 8, false},
		{"10.0.0.2:", 8, false}, {"10.0.0.2", 8, false},
		{"", 8, false}, {"game.example:7777", 8, false}, {"10.0.0.2:7777x", 8, false},
		{"1000.1000.1000.1000:7", 8, false}, {"[::1]:7777", 8, false}};
	uint8_t pass[SWC_PASS_BYTES_MAX + 1] = {1, 2, 3};
	Sw__Redirect message = SW__REDIRECT__INIT;
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool good = rows[i].good;

		begin(&seen);
		message.address = (char *)(uintptr_t)rows[i].address;
		message.pass = (ProtobufCBinaryData){rows[i].bytes, pass};
		seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_REDIRECT, &message);
		assert_int_equal(seen.session.redirect.wanted, good);
		assert_int_equal(seen.events[SWC_EVENT_REDIRECTED], good);
		assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_RANGE], !good);
		seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_REDIRECT, &message); /* once is enough */
		assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_ORDER], good);
		seen_stop(&seen);
	}
	/* Who is in goes nowhere. */
	seen_start_playing(&seen);
	message.address = (char *)(uintptr_t)rows[0].address;
	message.pass = (ProtobufCBinaryData){8, pass};
	seen_give(&seen, SW_CHANNEL_SESSION, SW_MSG_REDIRECT, &message);
	assert_false(seen.session.redirect.wanted);
	assert_int_equal(seen.session.stats.refused[SWC_REFUSAL_OUT_OF_ORDER], 1);
	seen_stop(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_done_in_steps_and_sent_once),
		cmocka_unit_test(work_that_is_too_much_is_not_begun),
		cmocka_unit_test(the_newest_pass_is_kept),
		cmocka_unit_test(a_redirect_is_to_an_address_and_with_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
