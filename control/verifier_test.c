/* Proves that each ticket given to the verifying thread is answered once, in order, with what
 * ticket_check says of it, however often the thread falls asleep between; and that it can be
 * stopped with work before it. Runs under tsan: its rings. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/msg_ring.h"
#include "control/admission/admission.h"
#include "control/admission/ticket_key.h"
#include "control/verifier.h"

#define NOW  1800000000ull
#define MANY 2000u

static struct sw_config config;
static struct {
	uint8_t bytes[TICKET_BYTES_MAX];
	uint32_t count;
	enum ticket_fault fault;
} tickets[4];

static void ticket_make(uint32_t i, const struct ticket_key *key, uint64_t expires)
{
	struct ticket ticket = {.realm_id = 1,
		.account_id = 5,
		.character_id = 100 + i,
		.issued_unix_s = NOW,
		.expires_unix_s = expires,
		.name = "Ulla"};

	tickets[i].count =
		(uint32_t)ticket_sign(tickets[i].bytes, &ticket, key->id, key->secret_key);
}

static int setup(void **state)
{
	struct ticket_key key;

	(void)state;
	assert_int_equal(ticket_init(), 0);
	ticket_key_new(&key, 1);
	config.node.realm_id = 1;
	config.admission.ticket_key_count = 1;
	config.admission.ticket_keys[0].id = 1;
	memcpy(config.admission.ticket_keys[0].public_key, key.public_key, 32);
	for (uint32_t i = 0; i < 4; i++)
		ticket_make(i, &key, NOW + 60);
	ticket_make(1, &key, NOW + 1);
	tickets[1].fault = TICKET_FAULT_EXPIRED; /* when it is looked at */
	tickets[2].bytes[20] ^= 1;
	tickets[2].fault = TICKET_FAULT_FORGED;
	tickets[3].count = 0;
	tickets[3].fault = TICKET_FAULT_LENGTH;
	return 0;
}

/* Takes what has been answered; returns how many. */
static uint32_t answers(struct verifier *verifier, uint32_t next)
{
	static struct msg burst[2 * MSG_SLOTS_MAX];
	uint32_t filled = msg_ring_pop(verifier_answers(verifier), burst, 2 * MSG_SLOTS_MAX);
	uint32_t n = 0;

	for (const struct msg *m = burst; m < burst + filled; m = msg_next(m), n++) {
		struct verifier_answer answer;
		uint32_t i = (next + n) % 4;

		assert_int_equal(m->type, MSG_TICKET_VERIFIED);
		assert_int_equal(m->payload_bytes, sizeof(answer));
		memcpy(&answer, msg_payload(m), sizeof(answer));
		assert_int_equal(answer.session, 1 + next + n);
		assert_int_equal(answer.fault, tickets[i].fault);
		if (answer.fault == TICKET_FAULT_NONE)
			assert_int_equal(answer.ticket.character_id, 100 + i);
		assert_true(answer.took_ns > 0);
	}
	return n;
}

static void test_all(void **state)
{
	struct verifier *verifier = verifier_start(&config);
	const struct counter_set *set;
	uint32_t asked = 0, done = 0, window = 1;

	(void)state;
	assert_non_null(verifier);
	while (done < MANY) {
		uint32_t got;

		/* Bursts of all lengths up to the window, the thread asleep before each. */
		while (asked - done < window && asked < MANY) {
			verifier_ask(verifier, 1 + asked, tickets[asked % 4].bytes,
				tickets[asked % 4].count, NOW + 40);
			asked++;
		}
		got = answers(verifier, done);
		done += got;
		if (!got)
			sched_yield();
		if (asked == done)
			window = window % ADM_VERIFY_WINDOW + 1;
	}
	set = verifier_counters(verifier);
	assert_int_equal(counter_get(&set->values[VERIFIER_C_VERIFIED]), MANY);
	assert_int_equal(counter_get(&set->values[VERIFIER_C_BAD]), MANY * 3 / 4);
	verifier_stop(verifier);
}

static void test_stop(void **state)
{
	(void)state;
	verifier_stop(NULL);
	for (uint32_t turn = 0; turn < 50; turn++) {
		struct verifier *verifier = verifier_start(&config);

		assert_non_null(verifier);
		for (uint32_t i = 0; i < turn % (ADM_VERIFY_WINDOW + 1); i++)
			verifier_ask(verifier, 1 + i, tickets[0].bytes, tickets[0].count, NOW);
		verifier_stop(verifier);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
