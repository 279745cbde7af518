/* Proves: handles keep their three parts and no live one is 0; counters and histograms count what a
 * second thread reads whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>

#include <cmocka.h>

#include "common/counter.h"
#include "common/handle.h"

static void handles_keep_their_parts(void **state)
{
	static const uint32_t rows[][3] = {{0, 1, 0}, {255, HANDLE_GENERATION_MASK, UINT32_MAX},
		{7, 0x123456, 42}, {1, 1, UINT32_MAX}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t handle = handle_make(rows[i][0], rows[i][1], rows[i][2]);

		assert_int_equal(handle_owner(handle), rows[i][0]);
		assert_int_equal(handle_generation(handle), rows[i][1]);
		assert_int_equal(handle_index(handle), rows[i][2]);
		assert_true(handle != HANDLE_NONE);
	}
}

static void generations_skip_zero(void **state)
{
	(void)state;
	assert_int_equal(handle_generation_next(0), 1);
	assert_int_equal(handle_generation_next(1), 2);
	assert_int_equal(handle_generation_next(HANDLE_GENERATION_MASK), 1);
	assert_true(
		handle_make(0, handle_generation_next(HANDLE_GENERATION_MASK), 0) != HANDLE_NONE);
}

static void histogram_buckets_are_powers_of_two(void **state)
{
	static const struct {
		uint64_t ns;
		uint32_t bucket; /* counts values below 2^bucket and not below 2^(bucket-1) */
	} rows[] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {1023, 10}, {1024, 11},
		{UINT64_MAX, HISTOGRAM_BUCKETS - 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct histogram h = {0};

		histogram_add(&h, rows[i].ns);
		for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++)
			assert_int_equal(counter_get(&h.bucket[b]), b == rows[i].bucket);
		assert_true(counter_get(&h.sum_ns) == rows[i].ns);
	}
}

static void quarters_lie_between_their_bounds(void **state)
{
	struct histogram h = {.quarters_from = 8};
	uint64_t ns = 1;

	(void)state;
	assert_int_equal(histogram_place(&h, 0), 0);
	assert_int_equal(histogram_place(&h, 255), 0);
	assert_int_equal(histogram_place(&h, 256), 1);
	assert_int_equal(histogram_place(&h, UINT64_MAX), HISTOGRAM_QUARTERS - 1);
	for (uint32_t i = 0; i < HISTOGRAM_QUARTERS - 1; i++) {
		uint64_t bound = histogram_bound(&h, i);

		assert_true(bound > ns);
		ns = bound;
		assert_int_equal(histogram_place(&h, bound - 1), i);
		assert_int_equal(histogram_place(&h, bound), i + 1);
	}
	assert_true(histogram_bound(&h, HISTOGRAM_QUARTERS - 1) == 1u << 24);
}

#define COUNTS 1000000u

static void *count_up(void *arg)
{
	for (uint32_t i = 0; i < COUNTS; i++)
		counter_add(arg, 3);
	return NULL;
}

static void a_reader_sees_counters_grow(void **state)
{
	static _Atomic uint64_t value;
	uint64_t last = 0;
	pthread_t writer;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, count_up, &value), 0);
	while (last < 3u * COUNTS) {
		uint64_t now = counter_get(&value);

		assert_true(now >= last && now % 3 == 0);
		last = now;
	}
	pthread_join(writer, NULL);
	counter_put(&value, 5);
	assert_int_equal(counter_get(&value), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handles_keep_their_parts),
		cmocka_unit_test(generations_skip_zero),
		cmocka_unit_test(histogram_buckets_are_powers_of_two),
		cmocka_unit_test(quarters_lie_between_their_bounds),
		cmocka_unit_test(a_reader_sees_counters_grow),
	};

	return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
