/* Proves that an answer to a challenge is good for the connection, the difficulty and the time that
 * it was asked for and for nothing else, and that work of so many bits is really needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "common/mono.h"
#include "control/admission/proof.h"

#define BITS   8u
#define NOW_NS (5 * PROOF_SLOT_MS * NS_PER_MS)
#define SLOT   (PROOF_SLOT_MS * NS_PER_MS)

static const uint8_t key[PROOF_KEY_BYTES] = {1, 2, 3};
static const uint8_t ip[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1};
static const struct proof_client client = {ip, 77};

static bool good(const uint8_t *challenge, uint64_t number, uint32_t bits)
{
	uint8_t input[SW_PROOF_INPUT_BYTES], hash[SW_PROOF_HASH_BYTES];

	sw_proof_input(input, challenge, number);
	crypto_hash_sha256(hash, input, sizeof(input));
	return sw_proof_good(hash, bits);
}

/* The first number from which it is good, or, with bad, is not. */
static uint64_t find(const uint8_t *challenge, uint64_t from, uint32_t bits, bool bad)
{
	while (good(challenge, from, bits) == bad)
		from++;
	return from;
}

static void test_answers(void **state)
{
	uint8_t asked[SW_PROOF_CHALLENGE_BYTES], other[SW_PROOF_CHALLENGE_BYTES], other_ip[16];
	const struct proof_client moved = {other_ip, client.peer}, next = {ip, client.peer + 1};
	uint8_t other_key[PROOF_KEY_BYTES] = {1, 2, 4};
	uint64_t number;

	(void)state;
	memcpy(other_ip, ip, sizeof(ip));
	other_ip[15]++;
	proof_ask(asked, key, &client, BITS, NOW_NS);
	number = find(asked, 0, BITS, false);
	assert_int_equal(
		proof_check(key, &client, asked, sizeof(asked), number, NOW_NS), PROOF_FAULT_NONE);
	assert_int_equal(proof_check(key, &client, asked, sizeof(asked),
				 find(asked, number, BITS, true), NOW_NS),
		PROOF_FAULT_WRONG);
	/* Shown from another address, on another connection, to another process. */
	assert_int_equal(proof_check(key, &moved, asked, sizeof(asked), number, NOW_NS),
		PROOF_FAULT_FOREIGN);
	assert_int_equal(
		proof_check(key, &next, asked, sizeof(asked), number, NOW_NS), PROOF_FAULT_FOREIGN);
	assert_int_equal(proof_check(other_key, &client, asked, sizeof(asked), number, NOW_NS),
		PROOF_FAULT_FOREIGN);
	/* Made easier, made one's own. */
	for (uint32_t at = 0; at < sizeof(asked); at++) {
		if (at >= 4 && at < 8)
			continue; /* the slot: below */
		memcpy(other, asked, sizeof(other));
		other[at] ^= 1;
		assert_int_equal(proof_check(key, &client, other, sizeof(other),
					 find(other, 0, BITS, false), NOW_NS),
			PROOF_FAULT_FOREIGN);
	}
	memset(other, 0, sizeof(other)); /* no bits at all */
	memcpy(other + 4, asked + 4, 4);
	assert_int_equal(
		proof_check(key, &client, other, sizeof(other), 0, NOW_NS), PROOF_FAULT_FOREIGN);
	for (uint32_t bytes = 0; bytes < sizeof(asked); bytes++)
		assert_int_equal(proof_check(key, &client, asked, bytes, number, NOW_NS),
			PROOF_FAULT_MALFORMED);
	assert_int_equal(proof_check(key, &client, asked, sizeof(asked) + 1, number, NOW_NS),
		PROOF_FAULT_MALFORMED);
}

static void test_time(void **state)
{
	static const struct {
		int64_t later_ns;
		enum proof_fault fault;
	} rows[] = {
		{0, PROOF_FAULT_NONE},
		{SLOT - 1, PROOF_FAULT_NONE},
		{2 * SLOT - 1, PROOF_FAULT_NONE},
		{2 * SLOT, PROOF_FAULT_STALE},
		{-1, PROOF_FAULT_STALE},
		{100 * SLOT, PROOF_FAULT_STALE},
	};
	uint8_t asked[SW_PROOF_CHALLENGE_BYTES], later[SW_PROOF_CHALLENGE_BYTES];
	uint64_t number;

	(void)state;
	proof_ask(asked, key, &client, BITS, NOW_NS);
	number = find(asked, 0, BITS, false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(proof_check(key, &client, asked, sizeof(asked), number,
					 (uint64_t)((int64_t)NOW_NS + rows[i].later_ns)),
			rows[i].fault);
	/* Its slot put forward: then it is another one's. */
	memcpy(later, asked, sizeof(later));
	later[4]++;
	assert_int_equal(proof_check(key, &client, later, sizeof(later),
				 find(later, 0, BITS, false), NOW_NS + SLOT),
		PROOF_FAULT_FOREIGN);
	/* The numbers of slots end. */
	proof_ask(asked, key, &client, BITS, UINT32_MAX * SLOT);
	assert_int_equal(proof_check(key, &client, asked, sizeof(asked),
				 find(asked, 0, BITS, false), (UINT32_MAX + 1ull) * SLOT),
		PROOF_FAULT_NONE);
}

/* n more bits take 2^n times as many hashes: a mean over many. */
static void test_work(void **state)
{
	uint8_t asked[SW_PROOF_CHALLENGE_BYTES];
	uint64_t hashes[2] = {0, 0};

	(void)state;
	for (uint64_t i = 0; i < 400; i++) {
		const struct proof_client one = {ip, i};

		for (uint32_t which = 0; which < 2; which++) {
			proof_ask(asked, key, &one, 4 + 3 * which, NOW_NS);
			hashes[which] += 1 + find(asked, 0, 4 + 3 * which, false);
		}
	}
	assert_in_range(hashes[0], 400 * 16 * 3 / 4, 400 * 16 * 4 / 3);
	assert_in_range(hashes[1], 400 * 128 * 3 / 4, 400 * 128 * 4 / 3);
}

static void test_bits(void **state)
{
	static const struct {
		uint8_t first[4];
		uint32_t bits;
	} rows[] = {{{0x80}, 0}, {{0x7f, 0xff}, 1}, {{0x01, 0xff}, 7}, {{0x00, 0xff}, 8},
		{{0x00, 0x1f}, 11}, {{0x00, 0x00, 0x01}, 23}, {{0, 0, 0, 0xff}, 24}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t hash[SW_PROOF_HASH_BYTES];

		memset(hash, 0xff, sizeof(hash));
		memcpy(hash, rows[i].first, 4);
		for (uint32_t bits = 0; bits < 40; bits++)
			assert_int_equal(sw_proof_good(hash, bits), bits <= rows[i].bits);
		assert_false(sw_proof_good(hash, UINT32_MAX));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_bits),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
