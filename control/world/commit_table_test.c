/* Proves that the table of commits keeps the order of each character through every order of put,
 * take, settle, put back and rotate, is bounded, and always knows who has commits pending: the
 * rules one by one, then 200,000 random steps against a plain model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "control/world/commit_table.h"

struct one {
	struct msg_commit head;
	struct commit_op op[COMMIT_OPS_MAX];
};

static struct one commit_of(uint64_t number, uint64_t a, uint64_t b, uint32_t realm, uint32_t ops)
{
	return (struct one){.head = {.request = {0, number},
				    .character_id = {a, b},
				    .realm_id = realm,
				    .ops = ops}};
}

static struct commit *put(struct commit_table *t, uint64_t number, uint64_t a, uint64_t b,
	uint32_t realm, uint32_t ops)
{
	struct one one = commit_of(number, a, b, realm, ops);

	return commit_table_put(t, &one.head, 0, 100 + number);
}

static uint64_t number_of(const struct commit *c)
{
	return c->body.commit.request[1];
}

/* Takes up to max and expects these numbers, ended by 0. */
static void take(struct commit_table *t, uint32_t max, const uint64_t *numbers)
{
	struct commit *const *batch;
	uint32_t count = commit_table_take(t, max, &batch);

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(number_of(batch[i]), numbers[i]);
	assert_int_equal(numbers[count], 0);
}

#define TAKE(t, max, ...) take(t, max, (const uint64_t[]){__VA_ARGS__, 0})

static void a_batch_is_the_front(void **state)
{
	struct commit_table *t = commit_table_new(8, 4, 64);

	(void)state;
	for (uint64_t n = 1; n <= 5; n++)
		put(t, n, n, 0, 1, 1);
	put(t, 6, 6, 0, 2, 1);
	put(t, 7, 7, 0, 1, 64);
	put(t, 8, 8, 0, 1, 1);
	assert_null(put(t, 9, 9, 0, 1, 1));
	TAKE(t, 9, 1, 2, 3, 4); /* no more than batch_max, */
	commit_table_put_back(t, false);
	TAKE(t, 2, 1, 2); /* or than wanted, */
	commit_table_put_back(t, true);
	TAKE(t, 4, 1, 2, 3, 4);
	commit_table_put_back(t, false);
	for (int i = 0; i < 4; i++) {
		struct commit *const *batch;

		assert_int_equal(commit_table_take(t, 1, &batch), 1);
		assert_int_equal(batch[0]->unknown, i < 2);
		commit_table_settle(t, batch[0]);
		commit_table_release(t, batch[0]);
	}
	TAKE(t, 4, 5); /* or of another realm, */
	commit_table_put_back(t, false);
	commit_table_rotate(t); /* 5 to the end */
	TAKE(t, 4, 6);
	commit_table_put_back(t, false);
	commit_table_rotate(t);
	TAKE(t, 4, 7); /* or with more operations, but one always */
	commit_table_put_back(t, false);
	commit_table_free(t);
}

/* X to the end takes along what shares a character with it, and what shares one with that. */
static void what_is_sent_behind(void **state)
{
	struct commit_table *t = commit_table_new(16, 16, 1000);

	(void)state;
	put(t, 1, 10, 0, 1, 1);
	put(t, 2, 20, 0, 1, 1);
	put(t, 3, 30, 10, 1, 1); /* with 1 */
	put(t, 4, 40, 0, 1, 1);
	put(t, 5, 30, 0, 1, 1); /* with 3 */
	put(t, 6, 20, 40, 1, 1);
	put(t, 7, 10, 0, 1, 1); /* with 1 */
	commit_table_rotate(t);
	TAKE(t, 16, 2, 4, 6, 1, 3, 5, 7);
	commit_table_put_back(t, false);
	commit_table_rotate(t);
	TAKE(t, 16, 4, 1, 3, 5, 7, 2, 6);
	commit_table_put_back(t, false);
	commit_table_free(t);
}

static void expiry_spares_the_unknown(void **state)
{
	struct commit_table *t = commit_table_new(4, 2, 100);
	struct commit *list[4];

	(void)state;
	put(t, 1, 1, 0, 1, 1);
	put(t, 2, 2, 0, 1, 1);
	put(t, 3, 3, 0, 1, 1);
	TAKE(t, 2, 1, 2);
	assert_int_equal(commit_table_expired(t, 103, list, 4), 0); /* 3 has until 103 */
	assert_int_equal(commit_table_expired(t, 104, list, 4), 1);
	assert_int_equal(number_of(list[0]), 3);
	commit_table_put_back(t, true);
	assert_int_equal(commit_table_expired(t, 1000, list, 4), 1);
	assert_int_equal(number_of(list[0]), 3);
	commit_table_settle(t, list[0]);
	assert_false(commit_table_has(t, 1, 3));
	assert_int_equal(commit_table_pending(t), 2);
	assert_int_equal(commit_table_used(t), 3);
	commit_table_release(t, list[0]);
	assert_int_equal(commit_table_used(t), 2);
	assert_int_equal(commit_table_expired(t, 1000, list, 4), 0);
	commit_table_free(t);
}

/* Whatever the order of their deadlines, and however few are asked for at once. */
static void expiry_finds_each(void **state)
{
	struct commit_table *t = commit_table_new(4, 2, 100);
	struct commit *list[2];

	(void)state;
	put(t, 4, 1, 0, 1, 1);
	put(t, 2, 2, 0, 1, 1);
	put(t, 1, 3, 0, 1, 1);
	put(t, 3, 4, 0, 1, 1);
	assert_int_equal(commit_table_expired(t, 104, list, 2), 2); /* and one more */
	assert_int_equal(number_of(list[0]), 2);
	assert_int_equal(number_of(list[1]), 1);
	commit_table_settle(t, list[0]);
	commit_table_settle(t, list[1]);
	assert_int_equal(commit_table_expired(t, 104, list, 2), 1);
	assert_int_equal(number_of(list[0]), 3);
	commit_table_settle(t, list[0]);
	assert_int_equal(commit_table_expired(t, 104, list, 2), 0);
	assert_int_equal(commit_table_expired(t, 105, list, 2), 1);
	assert_int_equal(number_of(list[0]), 4);
	commit_table_free(t);
}

static void a_copy_joins(void **state)
{
	struct commit_table *t = commit_table_new(4, 2, 100);
	struct commit *c = put(t, 1, 1, 0, 1, 1);
	const uint64_t one[2] = {0, 1}, two[2] = {0, 2}, other[2] = {1, 1};

	(void)state;
	put(t, 2, 1, 0, 1, 1);
	assert_ptr_equal(commit_table_find(t, one, 0), c);
	assert_null(commit_table_find(t, one, 1)); /* of another shard */
	assert_null(commit_table_find(t, other, 0));
	TAKE(t, 1, 1);
	assert_ptr_equal(commit_table_find(t, one, 0), c);
	commit_table_settle(t, c);
	assert_null(commit_table_find(t, one, 0)); /* its answer is on the way: ask again */
	assert_non_null(commit_table_find(t, two, 0));
	commit_table_release(t, c);
	commit_table_free(t);
}

#define CAPACITY   24u
#define CHARACTERS 7u
#define STEPS      200000u

/* The model: what was put and is not settled, and per character the number of the last settled. */
struct model {
	struct one pending[CAPACITY];
	uint32_t count;
	uint64_t settled[CHARACTERS + 1];
};

static void model_settle(struct model *m, uint64_t number)
{
	uint32_t i = 0;

	while (m->pending[i].head.request[1] != number)
		i++;
	/* Of both characters it is the first one. */
	for (uint32_t n = 0; n < i; n++) {
		for (int who = 0; who < 2; who++) {
			uint64_t c = m->pending[n].head.character_id[who];

			assert_true(c == 0 || (c != m->pending[i].head.character_id[0] &&
						      c != m->pending[i].head.character_id[1]));
		}
	}
	memmove(&m->pending[i], &m->pending[i + 1], (--m->count - i) * sizeof(m->pending[0]));
}

static void any_order_keeps_order(void **state)
{
	static struct model m;
	struct commit_table *t = commit_table_new(CAPACITY, 5, 12);
	struct commit *const *batch = NULL;
	uint32_t in_flight = 0;
	uint64_t number = 0;
	unsigned seed = (unsigned)(getenv("SW_SEED") ? atoi(getenv("SW_SEED")) : 1);

	(void)state;
	print_message("seed %u\n", seed);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t what = (uint32_t)rand_r(&seed) % 8;
		uint64_t a = 1 + (uint64_t)rand_r(&seed) % CHARACTERS;
		uint64_t b = (uint64_t)rand_r(&seed) % (CHARACTERS + 1);

		if (what < 4) {
			struct one one = commit_of(
				++number, a, b == a ? 0 : b, 1, 1 + (uint32_t)rand_r(&seed) % 5);

			if (commit_table_put(t, &one.head, 0, 0))
				m.pending[m.count++] = one;
			else
				assert_int_equal(commit_table_used(t), CAPACITY);
		} else if (what == 4 && !in_flight) {
			in_flight = commit_table_take(t, 1 + (uint32_t)rand_r(&seed) % 6, &batch);
		} else if (what == 5 && in_flight) {
			commit_table_put_back(t, rand_r(&seed) % 2);
			in_flight = 0;
		} else if (what == 6 && in_flight) {
			for (uint32_t i = 0; i < in_flight; i++) {
				model_settle(&m, number_of(batch[i]));
				commit_table_settle(t, batch[i]);
				commit_table_release(t, batch[i]);
			}
			in_flight = 0;
		} else if (what == 7 && !in_flight) {
			commit_table_rotate(t);
		}
		assert_int_equal(commit_table_pending(t), m.count);
		assert_int_equal(commit_table_in_flight(t), in_flight);
		assert_int_equal(commit_table_unsettled(t, number, NULL, 0), m.count);
		for (uint64_t c = 1; c <= CHARACTERS; c++) {
			bool has = false;

			for (uint32_t i = 0; i < m.count; i++)
				has |= m.pending[i].head.character_id[0] == c ||
				       m.pending[i].head.character_id[1] == c;
			assert_int_equal(commit_table_has(t, 1, c), has);
		}
		assert_false(commit_table_has(t, 2, 1));
		for (uint32_t i = 0; i < m.count; i++)
			assert_non_null(commit_table_find(t, m.pending[i].head.request, 0));
	}
	commit_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_is_the_front),
		cmocka_unit_test(what_is_sent_behind),
		cmocka_unit_test(expiry_spares_the_unknown),
		cmocka_unit_test(expiry_finds_each),
		cmocka_unit_test(a_copy_joins),
		cmocka_unit_test(any_order_keeps_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
