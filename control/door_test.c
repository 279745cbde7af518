/* Proves on the running control thread, with its verifying thread and a real Redis: under a flood
 * of tickets that waits longer than admission.proof_wait a newcomer is asked for work, and let in
 * once it has done it; and a player comes again with its pass, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "common/handle.h"
#include "common/log.h"
#include "control/admission/hello.h"
#include "control/control_rig.h"
#include "proto/client.pb-c.h"
#include "proto/proof.h"

/* So many tickets wait at a time, some 100 ms of work for the verifying thread; and so many are
 * enough for any machine to notice. */
#define WAITING 4000u
#define FLOOD   100000u

static uint32_t hello_pack(uint8_t *data, const struct ticket *ticket,
	const ProtobufCBinaryData *pass, Sw__Solution *solution)
{
	uint8_t signed_ticket[TICKET_BYTES_MAX];
	Sw__Hello message = SW__HELLO__INIT;

	message.protocol_version = SW_PROTOCOL_VERSION;
	if (ticket) {
		message.ticket.len =
			ticket_sign(signed_ticket, ticket, rig_key.id, rig_key.secret_key);
		message.ticket.data = signed_ticket;
	}
	if (pass)
		message.pass = *pass;
	message.solution = solution;
	data[0] = SW_MSG_HELLO;
	return (uint32_t)(1 + sw__hello__pack(&message, data + 1));
}

static void hello(struct rig *rig, uint64_t peer, const struct ticket *ticket,
	const ProtobufCBinaryData *pass, Sw__Solution *solution)
{
	uint8_t data[HELLO_BYTES_MAX];
	uint32_t bytes = hello_pack(data, ticket, pass, solution);

	rig_push(rig->links.from_dataplane[0], MSG_PEER_PACKET, peer, data, bytes,
		MSG_SEND_RELIABLE);
}

/* The next message of a client's type to anybody. */
static const struct msg *told(struct rig *rig, uint8_t type)
{
	const struct msg *message;

	do
		message = rig_expect(rig->links.to_dataplane[0], MSG_PEER_SEND);
	while (msg_payload(message)[0] != type);
	return message;
}

/* Takes what is said by now. Those who are refused go; true when somebody is asked for work: copies
 * that. */
static bool asked(struct rig *rig, uint32_t *waiting, struct msg *copy)
{
	static struct msg out[2 * MSG_SLOTS_MAX];
	uint32_t filled = msg_ring_pop(rig->links.to_dataplane[0], out, 2 * MSG_SLOTS_MAX);

	for (const struct msg *m = out; m < out + filled; m = msg_next(m)) {
		if (m->type == MSG_PEER_DISCONNECT) {
			rig_gone(rig, m->peer);
			--*waiting;
		}
		if (m->type == MSG_PEER_SEND && msg_payload(m)[0] == SW_MSG_CHALLENGE) {
			memcpy(copy, m, m->slots * sizeof(*m));
			return true;
		}
	}
	return false;
}

/* Tickets that have to be verified, until work is asked for. */
static bool flood(struct rig *rig, struct msg *copy)
{
	struct ticket old = rig_ticket(1); /* well signed, but old */
	uint32_t bytes, waiting = 0;
	uint8_t data[HELLO_BYTES_MAX];

	old.expires_unix_s = old.issued_unix_s = 1;
	bytes = hello_pack(data, &old, NULL, NULL);
	for (uint32_t i = 1; i <= FLOOD; i++) {
		rig_connect(rig, handle_make(0, 1, i));
		rig_push(rig->links.from_dataplane[0], MSG_PEER_PACKET, handle_make(0, 1, i), data,
			bytes, MSG_SEND_RELIABLE);
		waiting++;
		do {
			if (asked(rig, &waiting, copy))
				return true;
		} while (waiting >= WAITING);
	}
	return false;
}

static uint64_t solve(const Sw__Challenge *challenge)
{
	uint8_t input[SW_PROOF_INPUT_BYTES], hash[SW_PROOF_HASH_BYTES];
	uint64_t number = 0;

	for (;; number++) {
		sw_proof_input(input, challenge->challenge.data, number);
		crypto_hash_sha256(hash, input, sizeof(input));
		if (sw_proof_good(hash, challenge->bits))
			return number;
	}
}

static void test_pressure(void **state)
{
	struct ticket good = rig_ticket(2);
	Sw__Solution solution = SW__SOLUTION__INIT;
	struct msg message[8];
	Sw__Challenge *challenge;
	struct rig rig;

	(void)state;
	rig_init(&rig, 1 << 16);
	rig.config.admission.proof_wait_ms = 1;
	rig.config.admission.proof_bits_max = 12;
	rig_start(&rig);
	assert_true(flood(&rig, message));
	challenge =
		sw__challenge__unpack(NULL, message->payload_bytes - 1, msg_payload(message) + 1);
	assert_non_null(challenge);
	assert_int_equal(challenge->bits, 12);
	solution.challenge = challenge->challenge;
	solution.number = solve(challenge);
	hello(&rig, message->peer, &good, NULL, &solution);
	rig_let_in(&rig);
	sw__challenge__free_unpacked(challenge, NULL);
	rig_stop(&rig, 0);
	rig_fini(&rig);
}

static void test_return(void **state)
{
	const uint64_t first = handle_make(0, 1, 1), second = handle_make(0, 1, 2),
		       third = handle_make(0, 1, 3);
	struct ticket ticket = rig_ticket(7);
	const struct msg *message;
	Sw__ReturnPass *pass;
	uint64_t session;
	struct rig rig;

	(void)state;
	rig_init(&rig, 4096);
	rig_start(&rig);
	rig_say_hello(&rig, first, &ticket);
	session = rig_let_in(&rig);
	message = told(&rig, SW_MSG_RETURN_PASS);
	pass = sw__return_pass__unpack(NULL, message->payload_bytes - 1, msg_payload(message) + 1);
	assert_non_null(pass);
	rig_gone(&rig, first);
	rig_left(&rig, session);
	rig_connect(&rig, second);
	hello(&rig, second, NULL, &pass->pass, NULL);
	session = rig_let_in(&rig);
	rig_gone(&rig, second);
	rig_left(&rig, session);
	rig_connect(&rig, third);
	hello(&rig, third, NULL, &pass->pass, NULL);
	assert_int_equal(rig_disconnected(&rig), SW_REASON_PASS_REFUSED);
	sw__return_pass__free_unpacked(pass, NULL);
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
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_return),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
