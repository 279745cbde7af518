/* Proves the order of service: who floods from few sources waits behind itself, also when the queue
 * is full; that nothing is lost or doubled, against a plain model under random pushes, pops and
 * removals; and which addresses are one source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/admission/verify_queue.h"

static struct verify_queue queue;

static enum verify_push push(uint64_t source, uint64_t session, uint32_t *at, uint64_t *evicted)
{
	uint8_t ticket[8];

	memcpy(ticket, &session, sizeof(ticket));
	*evicted = 0;
	return verify_queue_push(
		&queue, source, session, ticket, sizeof(ticket), session, at, evicted);
}

static void take(uint64_t source, uint64_t session)
{
	uint64_t evicted;
	uint32_t at;

	assert_int_equal(push(source, session, &at, &evicted), VERIFY_TAKEN);
}

/* The next one's session; 0: none. */
static uint64_t pop(void)
{
	uint64_t session;
	const struct verify_entry *entry = verify_queue_pop(&queue, &session);

	if (!entry)
		return 0;
	assert_int_equal(entry->bytes, sizeof(session));
	assert_memory_equal(entry->ticket, &session, sizeof(session));
	assert_int_equal(entry->since_ns, session);
	return session;
}

static void test_turns(void **state)
{
	static const uint64_t wanted[] = {11, 21, 31, 12, 22, 13, 23, 14, 15, 0};

	(void)state;
	assert_true(verify_queue_init(&queue, 64));
	for (uint64_t i = 11; i <= 15; i++)
		take(1, i);
	for (uint64_t i = 21; i <= 23; i++)
		take(2, i);
	take(3, 31);
	assert_int_equal(queue.source_count, 3);
	assert_int_equal(verify_queue_oldest_ns(&queue), 11);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_int_equal(pop(), wanted[i]);
	assert_int_equal(verify_queue_oldest_ns(&queue), 0);
	assert_int_equal(queue.source_count, 0);
	verify_queue_fini(&queue);
}

/* A flood of 1,000 tickets from ten sources, and more at each step: somebody new is served after
 * one of each at most. */
static void test_flood(void **state)
{
	uint64_t session = 1, evicted;
	uint32_t at;

	(void)state;
	assert_true(verify_queue_init(&queue, 256));
	for (uint32_t i = 0; i < 1000; i++)
		push(1 + i % 10, session++, &at, &evicted);
	assert_int_equal(queue.count, 256);
	for (uint64_t player = 0; player < 500; player++) {
		uint64_t me = 1000000 + player;
		uint32_t served = 0;

		/* In place of one of the flood. */
		assert_int_equal(push(100 + player, me, &at, &evicted), VERIFY_TAKEN_FOR);
		assert_true(evicted && evicted < 1000000);
		for (; pop() != me; served++) {
			assert_true(served <= 10);
			for (uint32_t i = 0; i < 5; i++)
				push(1 + i, session++, &at, &evicted);
		}
		while (queue.count < 256)
			push(1 + queue.count % 10, session++, &at, &evicted);
	}
	verify_queue_fini(&queue);
}

static void test_full(void **state)
{
	uint64_t evicted;
	uint32_t at;

	(void)state;
	assert_true(verify_queue_init(&queue, 4));
	take(1, 11);
	take(1, 12);
	take(1, 13);
	take(2, 21);
	assert_int_equal(push(1, 14, &at, &evicted), VERIFY_FULL); /* its own are the most */
	assert_int_equal(push(3, 31, &at, &evicted), VERIFY_TAKEN_FOR);
	assert_int_equal(evicted, 13);                             /* the newest of them */
	assert_int_equal(push(2, 22, &at, &evicted), VERIFY_FULL); /* 1 would have less than 2 */
	assert_int_equal(push(4, 41, &at, &evicted), VERIFY_TAKEN_FOR);
	assert_int_equal(evicted, 12);
	assert_int_equal(push(5, 51, &at, &evicted), VERIFY_FULL); /* all have one */
	assert_int_equal(pop(), 11);
	assert_int_equal(pop(), 21);
	assert_int_equal(pop(), 31);
	assert_int_equal(pop(), 41);
	assert_int_equal(pop(), 0);
	verify_queue_fini(&queue);
}

static void test_sources(void **state)
{
	static const struct {
		uint8_t a[16], b[16];
		bool same;
	} rows[] = {
		{{[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}, {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1},
			true},
		{{[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}, {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2},
			false},
		{{0x20, 1, 0xd, 0xb8, [15] = 1}, {0x20, 1, 0xd, 0xb8, [8] = 9, [15] = 2}, true},
		{{0x20, 1, 0xd, 0xb8, [15] = 1}, {0x20, 1, 0xd, 0xb8, [7] = 1, [15] = 1}, false},
		{{0}, {[15] = 1}, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t a = verify_source_key(rows[i].a), b = verify_source_key(rows[i].b);

		assert_true(a && b);
		assert_int_equal(a == b, rows[i].same);
	}
}

/* ---- against a model ---- */

#define MAX     16u
#define SOURCES 6u

static struct {
	uint64_t session;
	uint32_t source, at;
} model[MAX];
static uint32_t model_count;

static uint32_t model_of(uint64_t session)
{
	for (uint32_t i = 0; i < model_count; i++)
		if (model[i].session == session)
			return i;
	fail_msg("session %llu is not in the model", (unsigned long long)session);
	return 0;
}

static uint32_t model_has(uint32_t source)
{
	uint32_t has = 0;

	for (uint32_t i = 0; i < model_count; i++)
		has += model[i].source == source;
	return has;
}

static void model_drop(uint64_t session)
{
	uint32_t i = model_of(session);

	memmove(&model[i], &model[i + 1], (--model_count - i) * sizeof(model[0]));
}

static uint64_t model_newest(uint32_t source)
{
	uint64_t session = 0;

	for (uint32_t i = 0; i < model_count; i++)
		if (model[i].source == source)
			session = model[i].session;
	return session;
}

static void model_push(uint32_t source, uint64_t session)
{
	uint32_t has = model_has(source), most = 0, at = 0;
	uint64_t evicted;
	enum verify_push result = push(source, session, &at, &evicted);

	for (uint32_t s = 1; s <= SOURCES; s++)
		most = model_has(s) > most ? model_has(s) : most;
	if (model_count < MAX) {
		assert_int_equal(result, VERIFY_TAKEN);
	} else if (most <= has + 1) {
		assert_int_equal(result, VERIFY_FULL);
		return;
	} else {
		uint32_t victim = model[model_of(evicted)].source;

		assert_int_equal(result, VERIFY_TAKEN_FOR);
		assert_int_equal(model_has(victim), most);
		assert_int_equal(evicted, model_newest(victim));
		model_drop(evicted);
	}
	model[model_count].session = session;
	model[model_count].source = source;
	model[model_count++].at = at;
}

static void test_random(void **state)
{
	uint64_t session = 1;

	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		uint32_t last_source = 0;

		srand(seed);
		assert_true(verify_queue_init(&queue, MAX));
		model_count = 0;
		for (uint32_t step = 0; step < 400; step++) {
			uint32_t what = (uint32_t)rand() % 8;

			if (what < 5) {
				model_push(1 + (uint32_t)rand() % SOURCES % (1 + seed % SOURCES),
					session++);
				last_source = 0;
			} else if (what < 7) {
				uint64_t popped = pop();

				if (!popped) {
					assert_int_equal(model_count, 0);
					continue;
				}
				uint32_t source = model[model_of(popped)].source;

				for (uint32_t i = 0; i < model_of(popped); i++)
					assert_int_not_equal(model[i].source, source);
				/* Not twice on end while another one waits. */
				if (model_has(source) < model_count)
					assert_int_not_equal(source, last_source);
				last_source = source;
				model_drop(popped);
			} else if (model_count) {
				uint32_t i = (uint32_t)rand() % model_count;

				verify_queue_remove(&queue, model[i].at);
				model_drop(model[i].session);
				last_source = 0;
			}
			assert_int_equal(queue.count, model_count);
			assert_int_equal(
				verify_queue_oldest_ns(&queue), model_count ? model[0].session : 0);
		}
		while (model_count)
			model_drop(pop());
		assert_int_equal(pop(), 0);
		verify_queue_fini(&queue);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
