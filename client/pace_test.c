/* Proves when a client's interval is stretched: while the least that waited over a second of
 * walking is not 0, and no longer; never shortened, whatever a server says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "client/pace.h"

static struct swc_pace look(uint32_t usual, uint32_t once)
{
	struct swc_pace pace;

	swc_pace_join(&pace);
	for (uint32_t i = 0; i < SWC_PACE_LOOKS; i++)
		swc_pace_update(&pace, i == SWC_PACE_LOOKS / 2 ? once : usual);
	return pace;
}

static void what_is_too_many_stretches(void **state)
{
	static const struct {
		uint32_t usual, once;
		uint64_t interval_ns;
	} rows[] = {
		{0, 0, 50000000},
		{3, 0, 50000000},
		{0, 5, 50000000}, /* jitter */
		{1, 1, 50500000},
		{4, 1, 50500000},
		{1, 7, 50500000}, /* too many */
		{UINT32_MAX, UINT32_MAX, 50500000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct swc_pace pace = look(rows[i].usual, rows[i].once);

		if (swc_pace_interval_ns(&pace, 20) != rows[i].interval_ns)
			fail_msg("row %zu: %llu ns", i,
				(unsigned long long)swc_pace_interval_ns(&pace, 20));
	}
}

static void it_ends_with_what_it_is_for(void **state)
{
	struct swc_pace pace = look(2, 2);

	(void)state;
	assert_true(pace.stretched);
	for (uint32_t i = 0; i < SWC_PACE_LOOKS - 1; i++) {
		swc_pace_update(&pace, 0);
		assert_true(pace.stretched);
	}
	swc_pace_update(&pace, 2);
	assert_false(pace.stretched);
	pace = look(2, 2);
	swc_pace_join(&pace); /* another map has another queue */
	assert_int_equal(swc_pace_interval_ns(&pace, 30), 33333333);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_too_many_stretches),
		cmocka_unit_test(it_ends_with_what_it_is_for),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
