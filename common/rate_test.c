/* Proves that a rate which threads share allows what it says to all of them together, and that what
 * is kept of it is left for who keeps less. (That it holds over any pattern of time:
 * dataplane/probe_test.c.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <cmocka.h>

#include "common/mono.h"
#include "common/rate.h"

static struct rate shared_rate;
static _Atomic uint64_t taken;

#define THREADS 4u
#define ASKS    50000u

static void *take_many(void *arg)
{
	const uint64_t *now_ns = arg;
	uint64_t mine = 0;

	for (uint32_t i = 0; i < ASKS; i++)
		mine += rate_take(&shared_rate, 1000, 20000, 0, *now_ns + i * 1000);
	atomic_fetch_add(&taken, mine);
	return NULL;
}

/* The burst, and what 50,000 times a microsecond brings at 1,000 a second: however they interleave,
 * since the clock of the slowest never goes beyond. */
static void threads_share_a_rate(void **state)
{
	pthread_t threads[THREADS];
	uint64_t now_ns = 7ull * NS_PER_S;

	(void)state;
	for (uint32_t t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, take_many, &now_ns), 0);
	for (uint32_t t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	assert_in_range(taken, 20049, 20050);
}

/* Who keeps some leaves it for who does not, and what comes back is his first. */
static void some_of_it_is_kept(void **state)
{
	struct rate rate = {0};
	uint32_t first = 0, second = 0;

	(void)state;
	while (rate_take(&rate, 10, 8, 2, 0))
		first++;
	while (rate_take(&rate, 10, 8, 0, 0))
		second++;
	assert_int_equal(first, 6);
	assert_int_equal(second, 2);
	assert_false(rate_take(&rate, 10, 8, 2, NS_PER_S / 10));
	assert_true(rate_take(&rate, 10, 8, 0, NS_PER_S / 10));
	assert_false(rate_take(&rate, 10, 8, 2, NS_PER_S / 5 * 2 - 1));
	assert_true(rate_take(&rate, 10, 8, 2, NS_PER_S / 5 * 2));
	assert_false(rate_take(&rate, 10, 2, 2, NS_PER_S));
	assert_false(rate_take(&rate, 0, 2, 0, NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_a_rate),
		cmocka_unit_test(some_of_it_is_kept),
	};

	return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
