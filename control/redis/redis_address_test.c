/* Proves that addresses are taken in their three forms and that everything else, above all a name,
 * is refused with a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "control/redis/redis_address.h"

static void test_good(void **state)
{
	static const struct {
		const char *text, *host, *path;
		uint16_t port;
	} rows[] = {
		{"127.0.0.1:6379", "127.0.0.1", "", 6379},
		{"0.0.0.0:1", "0.0.0.0", "", 1},
		{"[::1]:65535", "::1", "", 65535},
		{"unix:/run/redis.sock", "", "/run/redis.sock", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct redis_address address;

		assert_null(redis_address_parse(&address, rows[i].text));
		assert_string_equal(address.host, rows[i].host);
		assert_string_equal(address.path, rows[i].path);
		assert_int_equal(address.port, rows[i].port);
	}
}

static void test_bad(void **state)
{
	static const char *const rows[] = {"", "localhost:6379", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:99999999999999999999",
		"127.0.0.1:6x", "127.0.0.1:-1", "::1:6379", "[::1]", "[::1]6379", "[127.0.0.1]:1",
		"256.0.0.1:1", "unix:", "unix:relative", ":6379", "[", "[]:1"};
	char long_path[200] = "unix:/";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct redis_address address;

		if (!redis_address_parse(&address, rows[i]))
			fail_msg("accepted \"%s\"", rows[i]);
	}
	memset(long_path + 6, 'a', 150);
	assert_non_null(redis_address_parse(&(struct redis_address){0}, long_path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
