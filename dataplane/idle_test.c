/* Proves the order of idling: spin, give the CPU away, sleep, ever longer up to the bound and never
 * past the next thing due; work starts over; poll mode never leaves the first step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dataplane/idle.h"

static void adaptive(void **state)
{
	struct dp_idle idle = {.mode = CONFIG_IDLE_ADAPTIVE};
	enum dp_idle_act before = DP_IDLE_SPIN;
	uint64_t last = 0, sleep_ns = 0;
	unsigned turns[3] = {0};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		enum dp_idle_act act = dp_idle_next(&idle, false, 1000, UINT64_MAX, &sleep_ns);

		assert_true(act >= before);
		before = act;
		turns[act]++;
		if (act == DP_IDLE_SLEEP) {
			assert_true(sleep_ns >= last && sleep_ns <= DP_IDLE_SLEEP_NS_MAX);
			last = sleep_ns;
		}
	}
	assert_int_equal(turns[DP_IDLE_SPIN], DP_IDLE_SPINS);
	assert_int_equal(turns[DP_IDLE_YIELD], DP_IDLE_YIELDS);
	assert_int_equal(last, DP_IDLE_SLEEP_NS_MAX);
	assert_int_equal(dp_idle_next(&idle, false, 1000, 6000, &sleep_ns), DP_IDLE_SLEEP);
	assert_int_equal(sleep_ns, 5000);
	assert_int_equal(dp_idle_next(&idle, false, 7000, 6000, &sleep_ns), DP_IDLE_YIELD);
	assert_int_equal(dp_idle_next(&idle, true, 7000, 6000, &sleep_ns), DP_IDLE_SPIN);
	assert_int_equal(dp_idle_next(&idle, false, 7000, UINT64_MAX, &sleep_ns), DP_IDLE_SPIN);
}

static void poll_never_sleeps(void **state)
{
	struct dp_idle idle = {.mode = CONFIG_IDLE_POLL};
	uint64_t sleep_ns;

	(void)state;
	for (int i = 0; i < 100000; i++)
		assert_int_equal(
			dp_idle_next(&idle, false, 1000, UINT64_MAX, &sleep_ns), DP_IDLE_SPIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adaptive),
		cmocka_unit_test(poll_never_sleeps),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
