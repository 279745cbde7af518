/* Proves: tables are zeroed to the end that is announced, small ones are not rounded to a large page,
 * and large ones begin on one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/tables.h"

static void tables_are_zeroed_and_aligned(void **state)
{
	static const struct {
		size_t bytes, whole, alignment;
	} rows[] = {
		{1, 64, 64},
		{64, 64, 64},
		{65, 128, 64},
		{TABLES_LARGE_PAGE - 1, TABLES_LARGE_PAGE, 64},
		{TABLES_LARGE_PAGE, TABLES_LARGE_PAGE, TABLES_LARGE_PAGE},
		{TABLES_LARGE_PAGE + 1, 2 * TABLES_LARGE_PAGE, TABLES_LARGE_PAGE},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t *memory = tables_new(rows[i].bytes);

		assert_non_null(memory);
		assert_int_equal(tables_bytes(rows[i].bytes), rows[i].whole);
		assert_int_equal((uintptr_t)memory % rows[i].alignment, 0);
		for (size_t at = 0; at < rows[i].whole; at++)
			if (memory[at])
				fail_msg("row %u: byte %zu is not zero", i, at);
		free(memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_zeroed_and_aligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
