/* Proves that a good ticket is read back whole and that each kind of bad one is refused under its
 * own name, with the reason that the client is told; and that no cut or flipped bit passes. */
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

#include "control/admission/ticket.h"
#include "control/admission/ticket_key.h"
#include "control/admission/utf8.h"
#include "proto/client.pb-c.h"

#define NOW 1800000000ull

static struct ticket_key key;
static struct config_ticket_key keys[2];

static int setup(void **state)
{
	(void)state;
	assert_int_equal(ticket_init(), 0);
	ticket_key_new(&key, 7);
	keys[0].id = 3;
	memset(keys[0].public_key, 0x5a, 32);
	keys[1].id = 7;
	memcpy(keys[1].public_key, key.public_key, 32);
	return 0;
}

static struct ticket good(void)
{
	struct ticket ticket = {.realm_id = 1,
		.account_id = 11,
		.character_id = 22,
		.issued_unix_s = NOW,
		.expires_unix_s = NOW + 300,
		.name = "Ulla"};

	memset(ticket.nonce, 0xab, sizeof(ticket.nonce));
	return ticket;
}

static enum ticket_fault check(const uint8_t *data, size_t bytes, uint64_t wall_s)
{
	struct ticket out;

	return ticket_check(&out, data, bytes, keys, 2, 1, wall_s);
}

static void test_good(void **state)
{
	struct ticket in = good(), out;
	uint8_t data[TICKET_BYTES_MAX];
	size_t bytes;

	(void)state;
	strcpy(in.name, "Zoë Ångström \xf0\x9f\x90\x89 31 byte!");
	in.character_id = INT64_MAX;
	bytes = ticket_sign(data, &in, 7, key.secret_key);
	assert_int_equal(ticket_check(&out, data, bytes, keys, 2, 1, NOW), TICKET_FAULT_NONE);
	assert_memory_equal(&in, &out, sizeof(in));
}

/* Signs any body, also one that ticket_sign would not make. */
static size_t sign_body(uint8_t *out, const uint8_t *body, size_t body_bytes, const char *context)
{
	Sw__SignedTicket outer = SW__SIGNED_TICKET__INIT;
	uint8_t text[1024], signature[64];
	size_t context_bytes = strlen(context);

	memcpy(text, context, context_bytes);
	memcpy(text + context_bytes, body, body_bytes);
	crypto_sign_detached(signature, NULL, text, context_bytes + body_bytes, key.secret_key);
	outer.body = (ProtobufCBinaryData){body_bytes, text + context_bytes};
	outer.signature = (ProtobufCBinaryData){64, signature};
	outer.key_id = 7;
	return sw__signed_ticket__pack(&outer, out);
}

static void test_bad_fields(void **state)
{
	static char long_name[] = "12345678901234567890123456789012"; /* 32 bytes */
	static char utf8_bad[] = "ab\xc0\xaf";
	static const struct {
		const char *what;
		uint64_t account, character, issued, expires, wall;
		char *name;
		uint32_t nonce_bytes, realm;
		enum ticket_fault fault;
		enum sw_disconnect_reason reason;
	} rows[] = {
		{"good", 1, 2, NOW, NOW + 60, NOW, "A", 16, 1, TICKET_FAULT_NONE, SW_REASON_NONE},
		{"31 bytes", 1, 2, NOW, NOW + 60, NOW, long_name + 1, 16, 1, TICKET_FAULT_NONE,
			SW_REASON_NONE},
		{"32 bytes", 1, 2, NOW, NOW + 60, NOW, long_name, 16, 1, TICKET_FAULT_NAME,
			SW_REASON_TICKET_MALFORMED},
		{"empty name", 1, 2, NOW, NOW + 60, NOW, "", 16, 1, TICKET_FAULT_NAME,
			SW_REASON_TICKET_MALFORMED},
		{"not UTF-8", 1, 2, NOW, NOW + 60, NOW, utf8_bad, 16, 1, TICKET_FAULT_NAME,
			SW_REASON_TICKET_MALFORMED},
		{"line feed", 1, 2, NOW, NOW + 60, NOW, "a\nb", 16, 1, TICKET_FAULT_NAME,
			SW_REASON_TICKET_MALFORMED},
		{"short nonce", 1, 2, NOW, NOW + 60, NOW, "A", 15, 1, TICKET_FAULT_NONCE,
			SW_REASON_TICKET_MALFORMED},
		{"long nonce", 1, 2, NOW, NOW + 60, NOW, "A", 17, 1, TICKET_FAULT_NONCE,
			SW_REASON_TICKET_MALFORMED},
		{"no nonce", 1, 2, NOW, NOW + 60, NOW, "A", 0, 1, TICKET_FAULT_NONCE,
			SW_REASON_TICKET_MALFORMED},
		{"account 0", 0, 2, NOW, NOW + 60, NOW, "A", 16, 1, TICKET_FAULT_ID,
			SW_REASON_TICKET_MALFORMED},
		{"character 0", 1, 0, NOW, NOW + 60, NOW, "A", 16, 1, TICKET_FAULT_ID,
			SW_REASON_TICKET_MALFORMED},
		{"character 2^63", 1, 1ull << 63, NOW, NOW + 60, NOW, "A", 16, 1, TICKET_FAULT_ID,
			SW_REASON_TICKET_MALFORMED},
		{"backwards", 1, 2, NOW, NOW - 1, NOW, "A", 16, 1, TICKET_FAULT_LIFETIME,
			SW_REASON_TICKET_MALFORMED},
		{"for ever", 1, 2, NOW, UINT64_MAX, NOW, "A", 16, 1, TICKET_FAULT_LIFETIME,
			SW_REASON_TICKET_MALFORMED},
		{"within the skew", 1, 2, NOW, NOW + 60, NOW + 60 + TICKET_SKEW_S, "A", 16, 1,
			TICKET_FAULT_NONE, SW_REASON_NONE},
		{"expired", 1, 2, NOW, NOW + 60, NOW + 61 + TICKET_SKEW_S, "A", 16, 1,
			TICKET_FAULT_EXPIRED, SW_REASON_TICKET_EXPIRED},
		{"early, within the skew", 1, 2, NOW, NOW + 60, NOW - TICKET_SKEW_S, "A", 16, 1,
			TICKET_FAULT_NONE, SW_REASON_NONE},
		{"early", 1, 2, NOW, NOW + 60, NOW - TICKET_SKEW_S - 1, "A", 16, 1,
			TICKET_FAULT_EARLY, SW_REASON_TICKET_EXPIRED},
		{"at the end of time", 1, 2, UINT64_MAX - 1, UINT64_MAX, NOW, "A", 16, 1,
			TICKET_FAULT_EARLY, SW_REASON_TICKET_EXPIRED},
		{"other realm", 1, 2, NOW, NOW + 60, NOW, "A", 16, 2, TICKET_FAULT_REALM,
			SW_REASON_TICKET_WRONG_REALM},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Sw__Ticket body = SW__TICKET__INIT;
		uint8_t nonce[32] = {1}, packed[512], data[1024];
		enum ticket_fault fault;

		body.account_id = rows[i].account;
		body.character_id = rows[i].character;
		body.issued_unix_s = rows[i].issued;
		body.expires_unix_s = rows[i].expires;
		body.character_name = rows[i].name;
		body.realm_id = rows[i].realm;
		body.nonce = (ProtobufCBinaryData){rows[i].nonce_bytes, nonce};
		fault = check(data,
			sign_body(data, packed, sw__ticket__pack(&body, packed),
				"stormweir-ticket-1"),
			rows[i].wall);
		if (fault != rows[i].fault)
			fail_msg("%s: %s instead of %s", rows[i].what, ticket_fault_name(fault),
				ticket_fault_name(rows[i].fault));
		assert_int_equal(ticket_fault_reason(fault), rows[i].reason);
	}
}

static void test_bad_outside(void **state)
{
	struct ticket ticket = good();
	uint8_t data[1200], body[600];
	size_t bytes;

	(void)state;
	bytes = ticket_sign(data, &ticket, 7, key.secret_key);
	assert_int_equal(check(data, bytes, NOW), TICKET_FAULT_NONE);
	assert_int_equal(check(data, 0, NOW), TICKET_FAULT_LENGTH);
	assert_int_equal(check(data, TICKET_BYTES_MAX + 1, NOW), TICKET_FAULT_LENGTH);

	/* Another key: known with another public half, and not known. */
	bytes = ticket_sign(data, &ticket, 3, key.secret_key);
	assert_int_equal(check(data, bytes, NOW), TICKET_FAULT_FORGED);
	bytes = ticket_sign(data, &ticket, 8, key.secret_key);
	assert_int_equal(check(data, bytes, NOW), TICKET_FAULT_UNKNOWN_KEY);

	/* Signed for another purpose; a body that is no Ticket; one that wants more than the arena.
	 */
	memset(body, 0xff, sizeof(body));
	bytes = sign_body(data, body, 40, "stormweir-ticket-1");
	assert_int_equal(check(data, bytes, NOW), TICKET_FAULT_BODY);
	bytes = sign_body(data, body, 40, "stormweir-something");
	assert_int_equal(check(data, bytes, NOW), TICKET_FAULT_FORGED);
	for (int i = 0; i < 400; i += 2) {
		body[i] = 15 << 3; /* 200 unknown fields: protobuf-c keeps each */
		body[i + 1] = 0;
	}
	bytes = sign_body(data, body, 400, "stormweir-ticket-1");
	assert_int_equal(check(data, bytes, NOW), TICKET_FAULT_BODY);
}

/* Every prefix, and every single flipped bit. */
static void test_cut_and_flip(void **state)
{
	struct ticket ticket = good();
	uint8_t data[TICKET_BYTES_MAX];
	size_t bytes = ticket_sign(data, &ticket, 7, key.secret_key);

	(void)state;
	for (size_t cut = 0; cut < bytes; cut++) {
		uint8_t *copy = malloc(cut + 1); /* asan sees a read past its end */

		memcpy(copy, data, cut);
		assert_int_not_equal(check(copy, cut, NOW), TICKET_FAULT_NONE);
		free(copy);
	}
	for (size_t bit = 0; bit < bytes * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_not_equal(check(data, bytes, NOW), TICKET_FAULT_NONE);
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void test_key_file(void **state)
{
	char dir[] = "/tmp/sw-ticket-XXXXXX", path[64];
	struct ticket_key back;
	struct stat status;
	const char *why;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.key", dir);
	assert_int_equal(ticket_key_load(&back, path, &why), -ENOENT);
	assert_int_equal(ticket_key_save(&key, path), 0);
	assert_int_equal(ticket_key_save(&key, path), -EEXIST);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(ticket_key_load(&back, path, &why), 0);
	assert_memory_equal(&key, &back, sizeof(key));

	/* One digit changed. */
	file = fopen(path, "r+");
	fseek(file, -3, SEEK_END);
	back.id = (uint32_t)fgetc(file);
	fseek(file, -3, SEEK_END);
	fputc(back.id == '0' ? '1' : '0', file);
	fclose(file);
	assert_int_equal(ticket_key_load(&back, path, &why), -EINVAL);
	assert_non_null(why);
	assert_int_equal(truncate(path, 60), 0);
	assert_int_equal(ticket_key_load(&back, path, &why), -EINVAL);
	unlink(path);
	rmdir(dir);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {{"", true}, {"plain", true}, {"\xc3\xa9", true}, {"\xe2\x82\xac", true},
		{"\xf0\x9f\x90\x89", true}, {"\xf4\x8f\xbf\xbf", true}, {"\xed\x9f\xbf", true},
		{"\x80", false}, {"\xc3", false}, {"\xc3(", false}, {"\xc0\x80", false},
		{"\xc1\xbf", false}, {"\xe0\x9f\xbf", false}, {"\xed\xa0\x80", false},
		{"\xf0\x8f\xbf\xbf", false}, {"\xf4\x90\x80\x80", false},
		{"\xf5\x80\x80\x80", false}, {"\xff", false}, {"\xe2\x82", false}, {"a\tb", false},
		{"\x7f", false}, {"\xc2\x85", false}, {"\xc2\xa0", true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (utf8_is_text(rows[i].text, strlen(rows[i].text)) != rows[i].good)
			fail_msg("row %zu: %s", i, rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad_fields),
		cmocka_unit_test(test_bad_outside),
		cmocka_unit_test(test_cut_and_flip),
		cmocka_unit_test(test_key_file),
		cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
