/* Proves the rule of difficulty: a table of what is seen and what follows, and, with a queue that a
 * thread serves in virtual time, that work is asked for while a flood lasts, stays while a flood
 * refuses to work, and ends when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/mono.h"
#include "control/admission/pressure.h"

#define LOOK (PRESSURE_LOOK_MS * NS_PER_MS)
#define WAIT (100 * NS_PER_MS)

static void test_rule(void **state)
{
	static const struct {
		uint32_t looks;
		uint64_t waited_ms, offered; /* at each look */
		uint32_t bits;               /* after them */
	} rows[] = {
		{50, 0, 2000, 0}, /* busy, but nobody waits */
		{1, 99, 100, 0},
		{1, 100, 100, 12},
		{1, 100, 100, 13},
		{3, 500, 100, 16},
		{30, 50, 100, 16}, /* neither */
		{9, 24, 2000, 16},
		{1, 50, 2000, 16}, /* the calm begins anew */
		{9, 24, 2000, 16},
		{1, 24, 2000, 15},
		{100, 0, 2000, 12}, /* they would keep it busy */
		{9, 0, 700, 12},
		{1, 0, 700, 0}, /* 7,000 x 65 us are less than half of a second */
		{100, 200, 0, 20},
		{10, 0, 0, 0},
	};
	struct pressure p;
	uint64_t now_ns = NS_PER_S;

	(void)state;
	pressure_init(&p, WAIT, 20);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t look = 0; look < rows[i].looks; look++) {
			for (uint64_t n = 0; n < rows[i].offered; n++)
				pressure_offered(&p);
			now_ns += LOOK;
			pressure_look(&p, rows[i].waited_ms * NS_PER_MS, now_ns);
			pressure_look(&p, 10 * WAIT, now_ns + LOOK - 1); /* not yet */
		}
		if (p.bits != rows[i].bits)
			fail_msg("row %zu: %u bits", i, p.bits);
	}
}

static void test_off(void **state)
{
	struct pressure p;

	(void)state;
	pressure_init(&p, WAIT, 0);
	for (uint64_t look = 1; look < 50; look++)
		pressure_look(&p, 10 * WAIT, look * LOOK);
	assert_int_equal(p.bits, 0);
	pressure_init(&p, WAIT, 5); /* below where it would begin */
	for (uint64_t look = 1; look < 50; look++)
		pressure_look(&p, 10 * WAIT, look * LOOK);
	assert_int_equal(p.bits, 5);
}

static void test_mean(void **state)
{
	struct pressure p;

	(void)state;
	pressure_init(&p, WAIT, 20);
	for (int i = 0; i < 200; i++)
		pressure_verified(&p, 30000);
	assert_in_range(p.ticket_ns, 29000, 31000);
	pressure_verified(&p, UINT64_MAX); /* a thread that was not run */
	assert_true(p.ticket_ns < 10 * NS_PER_MS);
}

/* A flood of so many tickets a look meets a thread that verifies 1,500; a part of the flood works
 * once it is asked to, and so does everybody honest. */
static void run(uint32_t flood, uint32_t works_percent, uint32_t looks, struct pressure *p,
	uint64_t *now_ns, uint64_t *queue, uint64_t *longest)
{
	for (uint32_t i = 0; i < looks; i++) {
		uint64_t came = flood;

		for (uint32_t n = 0; n < flood; n++)
			pressure_offered(p);
		if (p->bits) /* and who works is slower with each bit above the first */
			came = flood * works_percent / 100 >> (p->bits - PRESSURE_BITS_MIN);
		*queue += came;
		*queue -= *queue < 1500 ? *queue : 1500;
		*now_ns += LOOK;
		pressure_look(p, *queue * LOOK / 1500, *now_ns);
		*longest = *queue > *longest ? *queue : *longest;
	}
}

static void test_loop(void **state)
{
	uint64_t now_ns = NS_PER_S, queue = 0, longest = 0;
	struct pressure p;

	(void)state;
	pressure_init(&p, WAIT, 20);
	run(100, 100, 100, &p, &now_ns, &queue, &longest);
	assert_int_equal(p.bits, 0);
	/* Nobody works: the first look asks, and the queue is gone for good, for minutes. */
	run(4000, 0, 1, &p, &now_ns, &queue, &longest);
	longest = 0;
	run(4000, 0, 3000, &p, &now_ns, &queue, &longest);
	assert_true(longest < 4000);
	assert_int_equal(queue, 0);
	assert_int_equal(p.bits, PRESSURE_BITS_MIN);
	/* All of them work: more bits, until what comes can be served. */
	run(4000, 100, 3000, &p, &now_ns, &queue, &longest);
	assert_true(longest < 16000);
	assert_in_range(p.bits, PRESSURE_BITS_MIN + 1, PRESSURE_BITS_MIN + 5);
	/* It is over. */
	run(100, 100, 100, &p, &now_ns, &queue, &longest);
	assert_int_equal(p.bits, 0);
	assert_int_equal(queue, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_mean),
		cmocka_unit_test(test_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
