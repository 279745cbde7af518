/* Proves that a pass is read back whole, that each kind of bad one is refused under its own name,
 * that no cut, flipped or added byte passes, and that key files are as strict as they say. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "control/admission/pass.h"
#include "control/admission/pass_key.h"
#include "control/admission/ticket.h"

#define NOW 1800000000ull

static struct pass_keys keys;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(ticket_init(), 0);
	pass_keys_draw(&keys);
	pass_keys_rotate(&keys);
	return 0;
}

static struct pass good(enum pass_purpose purpose)
{
	struct pass pass = {.purpose = purpose,
		.lane = 2,
		.realm_id = 3,
		.account_id = 4,
		.character_id = 5,
		.seq = 0x1122334455667788,
		.generation = 0x99aabbccddeeff00,
		.expires_unix_s = NOW + 60,
		.name = "Ulla",
		.node = "north"};

	memset(pass.nonce, 0xab, sizeof(pass.nonce));
	return pass;
}

static enum pass_fault open_as(enum pass_purpose purpose, struct pass *out, const uint8_t *data,
	size_t bytes, uint64_t wall_s)
{
	const struct pass_wanted wanted = {purpose, 3, "north", wall_s};

	return pass_open(out, data, bytes, &keys, &wanted);
}

static void test_good(void **state)
{
	static const enum pass_purpose all[] = {PASS_RETURN, PASS_PLACE, PASS_HANDOVER};
	uint8_t data[PASS_BYTES_MAX];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct pass in = good(all[i]), out;
		size_t bytes;

		in.character_id = INT64_MAX;
		memset(in.name, 'n', sizeof(in.name) - 1);
		if (all[i] != PASS_HANDOVER)
			memset(in.node, 'o', sizeof(in.node) - 1);
		bytes = pass_seal(data, &in, &keys);
		assert_int_equal(pass_peek(data, bytes), all[i]);
		assert_int_equal(open_as(all[i], &out, data, bytes, NOW + 60), PASS_FAULT_NONE);
		assert_memory_equal(&in, &out, sizeof(in));
	}
	assert_int_equal(pass_peek(data, 0), 0);
	data[0] = 4;
	assert_int_equal(pass_peek(data, sizeof(data)), 0);
}

static void test_bad(void **state)
{
	static const struct {
		const char *what;
		enum pass_purpose purpose;
		uint64_t account, character, wall_s;
		const char *name, *node;
		uint32_t realm;
		enum pass_fault fault;
	} rows[] = {
		{"good", PASS_HANDOVER, 1, 2, NOW + 60, "A", "north", 3, PASS_FAULT_NONE},
		{"another purpose", PASS_RETURN, 1, 2, NOW, "A", "north", 3, PASS_FAULT_PURPOSE},
		{"another purpose, too", PASS_PLACE, 1, 2, NOW, "A", "north", 3,
			PASS_FAULT_PURPOSE},
		{"expired", PASS_HANDOVER, 1, 2, NOW + 61, "A", "north", 3, PASS_FAULT_EXPIRED},
		{"another realm", PASS_HANDOVER, 1, 2, NOW, "A", "north", 4, PASS_FAULT_REALM},
		{"another node", PASS_HANDOVER, 1, 2, NOW, "A", "northe", 3, PASS_FAULT_NODE},
		{"no node", PASS_HANDOVER, 1, 2, NOW, "A", "", 3, PASS_FAULT_NODE},
		{"account 0", PASS_HANDOVER, 0, 2, NOW, "A", "north", 3, PASS_FAULT_LAYOUT},
		{"character 0", PASS_HANDOVER, 1, 0, NOW, "A", "north", 3, PASS_FAULT_LAYOUT},
		{"character 2^63", PASS_HANDOVER, 1, 1ull << 63, NOW, "A", "north", 3,
			PASS_FAULT_LAYOUT},
		{"no name", PASS_HANDOVER, 1, 2, NOW, "", "north", 3, PASS_FAULT_LAYOUT},
		{"a line in the name", PASS_HANDOVER, 1, 2, NOW, "a\nb", "north", 3,
			PASS_FAULT_LAYOUT},
	};
	static const struct pass zeroes;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pass in = good(rows[i].purpose), out;
		uint8_t data[PASS_BYTES_MAX];
		enum pass_fault fault;
		size_t bytes;

		in.account_id = rows[i].account;
		in.character_id = rows[i].character;
		in.realm_id = rows[i].realm;
		memset(in.name, 0, sizeof(in.name));
		memset(in.node, 0, sizeof(in.node));
		memcpy(in.name, rows[i].name, strlen(rows[i].name));
		memcpy(in.node, rows[i].node, strlen(rows[i].node));
		bytes = pass_seal(data, &in, &keys);
		fault = open_as(PASS_HANDOVER, &out, data, bytes, rows[i].wall_s);
		if (fault != rows[i].fault)
			fail_msg("%s: %s instead of %s", rows[i].what, pass_fault_name(fault),
				pass_fault_name(rows[i].fault));
		if (fault != PASS_FAULT_NONE)
			assert_memory_equal(&out, &zeroes, sizeof(out));
		assert_int_equal(
			pass_fault_reason(fault), fault ? SW_REASON_PASS_REFUSED : SW_REASON_NONE);
	}
}

/* Hashes any bytes as a pass, also those that pass_seal would not write. */
static size_t hash_behind(uint8_t *data, size_t bytes, const char *personal)
{
	assert_int_equal(
		crypto_generichash_blake2b_salt_personal(data + bytes, 16, data, bytes,
			keys.keys[0].secret, PASS_KEY_BYTES, NULL, (const uint8_t *)personal),
		0);
	return bytes + 16;
}

/* Bytes that are well sealed, by a version that lays a pass out otherwise, or for another use. */
static void test_layout(void **state)
{
	static const struct {
		const char *what;
		uint32_t at, to;
		enum pass_fault fault;
	} rows[] = {
		{"as it is", 2, 4, PASS_FAULT_NONE},
		{"a purpose that is none", 0, 9, PASS_FAULT_LAYOUT},
		{"a longer name", 2, 5, PASS_FAULT_LAYOUT},
		{"a name that eats the node", 2, 9, PASS_FAULT_LAYOUT},
		{"the longest name", 2, 255, PASS_FAULT_LAYOUT},
		{"a longer node", 3, 6, PASS_FAULT_LAYOUT},
		{"a NUL in the name", 70, 0, PASS_FAULT_LAYOUT},
		{"a NUL in the node", 74, 0, PASS_FAULT_LAYOUT},
	};
	struct pass in = good(PASS_RETURN), out;
	uint8_t data[PASS_BYTES_MAX + 16];
	size_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum pass_fault fault;

		bytes = pass_seal(data, &in, &keys) - 16;
		data[rows[i].at] = (uint8_t)rows[i].to;
		bytes = hash_behind(data, bytes, "stormweir-pass-1");
		fault = open_as(PASS_RETURN, &out, data, bytes, NOW);
		if (fault != rows[i].fault)
			fail_msg("%s: %s", rows[i].what, pass_fault_name(fault));
	}
	bytes = hash_behind(data, pass_seal(data, &in, &keys) - 16, "stormweir-other1");
	assert_int_equal(open_as(PASS_RETURN, &out, data, bytes, NOW), PASS_FAULT_FORGED);
	/* A name of 32 bytes with a node to match. */
	memset(in.name, 'n', 31);
	memset(in.node, 'n', 31);
	bytes = pass_seal(data, &in, &keys) - 16;
	data[2] = 32;
	data[3] = 30;
	bytes = hash_behind(data, bytes, "stormweir-pass-1");
	assert_int_equal(open_as(PASS_RETURN, &out, data, bytes, NOW), PASS_FAULT_LAYOUT);
}

static void test_cut_and_flip(void **state)
{
	struct pass in = good(PASS_RETURN), out;
	uint8_t data[PASS_BYTES_MAX + 1];
	size_t bytes = pass_seal(data, &in, &keys);

	(void)state;
	for (size_t cut = 0; cut < bytes; cut++) {
		uint8_t *copy = malloc(cut + 1); /* asan sees a read past its end */

		memcpy(copy, data, cut);
		assert_int_not_equal(open_as(PASS_RETURN, &out, copy, cut, NOW), PASS_FAULT_NONE);
		free(copy);
	}
	for (size_t bit = 0; bit < bytes * 8; bit++) {
		enum pass_fault wanted = bit / 32 == 1 ? PASS_FAULT_UNKNOWN_KEY : PASS_FAULT_FORGED;
		enum pass_fault fault;

		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		fault = open_as(PASS_RETURN, &out, data, bytes, NOW);
		/* One number away is the other key, which sealed something else. */
		if (fault != wanted && !(bit / 32 == 1 && fault == PASS_FAULT_FORGED))
			fail_msg("bit %zu: %s", bit, pass_fault_name(fault));
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	data[bytes] = 0;
	assert_int_equal(open_as(PASS_RETURN, &out, data, bytes + 1, NOW), PASS_FAULT_FORGED);
}

static void test_rotation(void **state)
{
	struct pass in = good(PASS_RETURN), out;
	uint8_t data[PASS_BYTES_MAX];
	struct pass_keys before = keys;
	size_t bytes = pass_seal(data, &in, &keys);

	(void)state;
	pass_keys_rotate(&keys);
	assert_int_equal(keys.keys[0].id, before.keys[0].id + 1);
	assert_memory_not_equal(keys.keys[0].secret, before.keys[0].secret, PASS_KEY_BYTES);
	assert_int_equal(open_as(PASS_RETURN, &out, data, bytes, NOW), PASS_FAULT_NONE);
	pass_keys_rotate(&keys);
	assert_int_equal(open_as(PASS_RETURN, &out, data, bytes, NOW), PASS_FAULT_UNKNOWN_KEY);
	pass_keys_draw(&keys); /* another cluster, which begins with 1, too */
	in.seq++;
	bytes = pass_seal(data, &in, &keys);
	pass_keys_draw(&keys);
	assert_int_equal(open_as(PASS_RETURN, &out, data, bytes, NOW), PASS_FAULT_FORGED);
	keys = before;
}

static void file_put(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) >= 0, 1);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

#define HEAD   "stormweir-pass-keys-1\n"
#define DIGITS "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define SECRET "secret: " DIGITS "\n"

static void test_key_file(void **state)
{
	static const struct {
		const char *text;
		uint32_t count;
	} rows[] = {
		{HEAD "id: 7\n" SECRET, 1},
		{HEAD "id: 7\n" SECRET "id: 6\n" SECRET, 2},
		{"", 0},
		{HEAD, 0},
		{"stormweir-ticket-key-1\nid: 7\n" SECRET, 0},
		{HEAD "id: 7\nsecret: " DIGITS, 0}, /* cut: there may have been more */
		{HEAD "id: 7\nsecret: " DIGITS "0\n", 0},
		{HEAD "id: 7\nsecret: 00\n", 0},
		{HEAD "id: x\n" SECRET, 0},
		{HEAD "id: 7\n" SECRET "id: 7\n" SECRET, 0},
		{HEAD "id: 7\n" SECRET "id: 6\n" SECRET "id: 5\n" SECRET, 0},
		{HEAD "id: 7\n" SECRET "more", 0},
	};
	char dir[] = "/tmp/sw-pass-XXXXXX", path[64];
	struct pass_keys back;
	struct stat status;
	const char *why;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pass.key", dir);
	assert_int_equal(pass_keys_load(&back, path, &why), -ENOENT);
	assert_int_equal(pass_keys_save(&keys, path, false), 0);
	assert_int_equal(pass_keys_save(&keys, path, false), -EEXIST);
	assert_int_equal(pass_keys_load(&back, path, &why), 0);
	assert_memory_equal(&keys, &back, sizeof(keys));
	pass_keys_rotate(&back);
	assert_int_equal(pass_keys_save(&back, path, true), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	pass_keys_wipe(&back);
	assert_int_equal(back.count, 0);
	assert_int_equal(pass_keys_load(&back, path, &why), 0);
	assert_int_equal(back.keys[0].id, keys.keys[0].id + 1);
	assert_memory_equal(&back.keys[1], &keys.keys[0], sizeof(back.keys[1]));
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(pass_keys_load(&back, path, &why), -EACCES);
	assert_non_null(why);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc;

		file_put(path, rows[i].text, 0600);
		rc = pass_keys_load(&back, path, &why);
		if (rc != (rows[i].count ? 0 : -EINVAL) || back.count != rows[i].count ||
			!why != !!rows[i].count)
			fail_msg("row %zu: %d, %u keys, %s", i, rc, back.count, why ? why : "");
	}
	unlink(path);
	assert_int_equal(rmdir(dir), 0); /* and nothing was left beside it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_cut_and_flip),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_key_file),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
