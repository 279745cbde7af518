/* Proves that the table of commits keeps the order of each character through every order of put,
 * take, settle and put back with several batches in flight, that no two batches hold one character,
 * that it is bounded and each source has its places, and always knows who has commits pending: the
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

#define BATCHES 3u

static struct commit_table *table(uint32_t capacity, uint32_t batch_max, uint32_t batch_ops_max)
{
	return commit_table_new(
		&(struct commit_table_size){capacity, batch_max, batch_ops_max, BATCHES, 1});
}

static struct commit *put(struct commit_table *t, uint64_t number, uint64_t a, uint64_t b,
	uint32_t realm, uint32_t ops)
{
	struct one one = commit_of(number, a, b, realm, ops);

	return commit_table_put(t, &one.head, 0, 100 + number);
}

/* One that a row has to carry out. */
static struct commit *put_hard(struct commit_table *t, uint64_t number, uint64_t a)
{
	struct one one = commit_of(number, a, 0, 1, 1);

	one.op[0].kind = COMMIT_QUEST;
	return commit_table_put(t, &one.head, 0, 100 + number);
}

/* One that slots take. */
static struct commit *put_slot(struct commit_table *t, uint64_t number, uint64_t a, uint16_t slot)
{
	struct one one = commit_of(number, a, 0, 1, 1);

	one.op[0] = (struct commit_op){.kind = COMMIT_SLOT, .slot = slot, .amount = 1};
	return commit_table_put(t, &one.head, 0, 100 + number);
}

static uint64_t number_of(const struct commit *c)
{
	return c->body.commit.request[1];
}

/* Takes up to max and expects these numbers, ended by 0. */
static struct commit *const *take(struct commit_table *t, uint32_t batch, uint32_t max,
	enum commit_kind kind, const uint64_t *numbers)
{
	struct commit *const *commits;
	enum commit_kind is;
	uint32_t count = commit_table_take(t, batch, max, &commits, &is);

	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(number_of(commits[i]), numbers[i]);
	assert_int_equal(numbers[count], 0);
	assert_int_equal(is, kind);
	assert_int_equal(commit_table_in_flight(t, batch), count);
	return commits;
}

#define TAKE(t, max, ...)  take(t, 0, max, COMMIT_ROW, (const uint64_t[]){__VA_ARGS__, 0})
#define ROW(t, batch, ...) take(t, batch, 99, COMMIT_ROW, (const uint64_t[]){__VA_ARGS__, 0})
#define SET(t, batch, ...) take(t, batch, 99, COMMIT_SET, (const uint64_t[]){__VA_ARGS__, 0})
#define NOTHING(t, batch)  take(t, batch, 99, COMMIT_ROW, (const uint64_t[]){0})
#define PUT_BACK(t, how)   commit_table_put_back(t, 0, how)

static void settle(struct commit_table *t, struct commit *c)
{
	commit_table_settle(t, c);
	commit_table_release(t, c);
}

static void a_batch_is_the_front(void **state)
{
	struct commit_table *t = table(8, 4, 64);

	(void)state;
	for (uint64_t n = 1; n <= 5; n++)
		put(t, n, n, 0, 1, 1);
	put(t, 6, 6, 0, 2, 1);
	put(t, 7, 7, 0, 1, 64);
	put(t, 8, 8, 0, 1, 1);
	assert_null(put(t, 9, 9, 0, 1, 1));
	TAKE(t, 9, 1, 2, 3, 4); /* no more than batch_max, */
	PUT_BACK(t, COMMIT_BACK);
	TAKE(t, 2, 1, 2); /* or than wanted, */
	PUT_BACK(t, COMMIT_UNKNOWN);
	TAKE(t, 4, 1, 2, 3, 4);
	PUT_BACK(t, COMMIT_BACK);
	for (int i = 0; i < 4; i++) {
		struct commit *c = TAKE(t, 1, (uint64_t)i + 1)[0];

		assert_int_equal(c->unknown, i < 2);
		settle(t, c);
	}
	TAKE(t, 4, 5);              /* or of another realm, */
	PUT_BACK(t, COMMIT_BEHIND); /* 5 to the end */
	TAKE(t, 4, 6);
	PUT_BACK(t, COMMIT_BEHIND);
	TAKE(t, 4, 7); /* or with more operations, but one always */
	PUT_BACK(t, COMMIT_BACK);
	commit_table_free(t);
}

/* A batch that failed comes back as smaller ones, each half as large, and what shares nothing with
 * it is not held up. */
static void what_failed_goes_in_smaller_ones(void **state)
{
	struct commit_table *t = table(16, 4, 1000);

	(void)state;
	for (uint64_t n = 1; n <= 5; n++)
		put(t, n, n, 0, 1, 1);
	ROW(t, 0, 1, 2, 3, 4);
	PUT_BACK(t, COMMIT_SMALLER);
	ROW(t, 0, 1, 2);
	ROW(t, 1, 3, 4);
	ROW(t, 2, 5);
	commit_table_put_back(t, 2, COMMIT_BACK);
	PUT_BACK(t, COMMIT_SMALLER);
	ROW(t, 0, 1);
	PUT_BACK(t, COMMIT_SMALLER | COMMIT_BEHIND);
	ROW(t, 0, 2);
	ROW(t, 2, 5); /* 1, the next, stands alone */
	commit_table_free(t);
}

/* Of a character one batch at most has commits, and a row takes along what only waits for it. */
static void characters_are_in_one_batch(void **state)
{
	struct commit_table *t = table(16, 16, 1000);
	struct commit *const *row;

	(void)state;
	put(t, 1, 10, 0, 1, 1);
	put(t, 2, 20, 0, 1, 1);
	put(t, 3, 30, 10, 1, 1); /* behind 1 */
	put(t, 4, 10, 0, 1, 1);  /* behind 3 */
	put(t, 5, 20, 40, 1, 1); /* behind 2 */
	row = ROW(t, 0, 1, 3, 4, 2, 5);
	put(t, 6, 40, 0, 1, 1); /* behind 5 */
	put(t, 7, 50, 60, 1, 1);
	put(t, 8, 60, 40, 1, 1); /* behind 6 and 7 */
	assert_int_equal(commit_table_ready(t), 1);
	ROW(t, 1, 7);
	NOTHING(t, 2);
	assert_int_equal(commit_table_batches(t), 2);
	commit_table_put_back(t, 1, COMMIT_UNKNOWN);
	ROW(t, 1, 7);
	settle(t, row[0]);
	NOTHING(t, 2);
	settle(t, row[1]);
	settle(t, row[2]);
	settle(t, row[3]);
	settle(t, row[4]);
	ROW(t, 2, 6);
	NOTHING(t, 0);
	assert_int_equal(commit_table_batches(t), 2);
	commit_table_free(t);
}

/* Many simple ones go as a set, of different characters and in their order; the others as a row. */
static void sets_and_rows(void **state)
{
	struct commit_table *t = table(64, 32, 1000);
	uint64_t numbers[COMMIT_SET_MIN + 1] = {0};

	(void)state;
	put_hard(t, 1, 1);
	for (uint64_t n = 0; n < COMMIT_SET_MIN; n++) {
		put(t, 10 + n, 100 - n, 0, 1, 1);
		numbers[COMMIT_SET_MIN - 1 - n] = 10 + n;
	}
	put(t, 40, 100, 0, 1, 1); /* behind 10 */
	put(t, 41, 1, 0, 1, 1);   /* behind 1 */
	ROW(t, 0, 1, 41);         /* the oldest, with what it lets go; no other simple one */
	take(t, 1, 99, COMMIT_SET, numbers);
	NOTHING(t, 2);
	commit_table_put_back(t, 1, COMMIT_SMALLER);
	take(t, 1, 99, COMMIT_SET, &numbers[COMMIT_SET_MIN / 2]); /* 10 to 17: the older half */
	commit_table_put_back(t, 1, COMMIT_BACK);
	settle(t, take(t, 1, 1, COMMIT_SET, (const uint64_t[]){10, 0})[0]);
	assert_int_equal(commit_table_ready(t), COMMIT_SET_MIN);
	commit_table_free(t);
}

/* What is about one slot each goes together, a character's in their order up to one that another
 * has to be done before; what is not of that kind waits, or goes with it as a set when few are
 * ready. */
static void slots_of_a_character(void **state)
{
	struct commit_table *t = table(64, 40, 1000);
	uint64_t numbers[COMMIT_SET_MIN + 4] = {0};

	(void)state;
	put_slot(t, 1, 50, 3);
	put_slot(t, 2, 50, 103); /* another slot, */
	put_slot(t, 3, 50, 39);
	put_slot(t, 4, 50, 103); /* the same one, */
	put_slot(t, 5, 50, 4);   /* behind it */
	for (uint64_t n = 0; n < COMMIT_SET_MIN - 2; n++)
		put_slot(t, 10 + n, 60 + n, 3);
	put(t, 40, 70 + COMMIT_SET_MIN, 0, 1, 1); /* not on a slot */
	numbers[0] = 1;
	for (uint64_t n = 0; n < COMMIT_SET_MIN - 2; n++)
		numbers[n + 1] = 10 + n;
	numbers[COMMIT_SET_MIN - 1] = 40;
	take(t, 0, 99, COMMIT_SET, numbers); /* one slot too few are ready */
	PUT_BACK(t, COMMIT_BACK);
	put_slot(t, 30, 60 + COMMIT_SET_MIN, 3);
	numbers[1] = 2;
	numbers[2] = 3;
	for (uint64_t n = 0; n < COMMIT_SET_MIN - 2; n++)
		numbers[n + 3] = 10 + n;
	numbers[COMMIT_SET_MIN + 1] = 30;
	take(t, 0, 99, COMMIT_SLOTS, numbers);
	ROW(t, 1, 40); /* 4 and 5 are behind what is in flight */
	PUT_BACK(t, COMMIT_BACK);
	take(t, 0, 2, COMMIT_SLOTS, (const uint64_t[]){1, 2, 0});
	assert_int_equal(commit_table_ready(t), COMMIT_SET_MIN - 1);
	settle(t, commit_table_find(t, (const uint64_t[]){0, 1}, 0));
	settle(t, commit_table_find(t, (const uint64_t[]){0, 2}, 0));
	assert_int_equal(commit_table_ready(t), COMMIT_SET_MIN); /* 3, and then 4 beside 5 */
	take(t, 0, 2, COMMIT_SLOTS, (const uint64_t[]){10, 11, 0});
	commit_table_free(t);
}

/* Who does not take answers cannot take the places of others. */
static void each_source_has_places(void **state)
{
	struct commit_table *t = commit_table_new(&(struct commit_table_size){12, 4, 100, 1, 3});
	struct commit *first = NULL;
	uint32_t count[3] = {0};

	(void)state;
	for (uint64_t n = 1; n <= 20; n++) {
		struct one one = commit_of(n, n, 0, 1, 1);
		struct commit *c = commit_table_put(t, &one.head, 0, 0);

		first = first ? first : c;
		count[0] += c != NULL;
	}
	for (uint64_t n = 21; n <= 40; n++) {
		struct one one = commit_of(n, n, 0, 1, 1);
		uint32_t source = 1 + n % 2;

		count[source] += commit_table_put(t, &one.head, source, 0) != NULL;
	}
	assert_int_equal(count[0], 8); /* 2 of its own, the 6 of all */
	assert_int_equal(count[1], 2);
	assert_int_equal(count[2], 2);
	commit_table_settle(t, first);
	assert_false(commit_table_room(t, 1)); /* its answer has not been taken */
	commit_table_release(t, first);
	assert_true(commit_table_room(t, 1));
	commit_table_free(t);
}

static void expiry_spares_the_unknown(void **state)
{
	struct commit_table *t = table(4, 2, 100);
	struct commit *list[4];

	(void)state;
	put(t, 1, 1, 0, 1, 1);
	put(t, 2, 2, 0, 1, 1);
	put(t, 3, 3, 0, 1, 1);
	TAKE(t, 2, 1, 2);
	assert_int_equal(commit_table_expired(t, 103, list, 4), 0); /* 3 has until 103 */
	assert_int_equal(commit_table_expired(t, 104, list, 4), 1);
	assert_int_equal(number_of(list[0]), 3);
	PUT_BACK(t, COMMIT_UNKNOWN);
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
	struct commit_table *t = table(4, 2, 100);
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
	struct commit_table *t = table(4, 2, 100);
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

#define CAPACITY   40u
#define CHARACTERS 48u /* many are ready at once */
#define STEPS      200000u

/* The model: what was put and is not settled, in its order. */
struct model {
	struct one pending[CAPACITY];
	uint32_t count;
};

static bool shared(const struct msg_commit *a, const struct msg_commit *b)
{
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 2; k++) {
			if (a->character_id[i] && a->character_id[i] == b->character_id[k])
				return true;
		}
	}
	return false;
}

static void model_settle(struct model *m, uint64_t number)
{
	uint32_t i = 0;

	while (m->pending[i].head.request[1] != number)
		i++;
	/* Of both characters it is the first one. */
	for (uint32_t n = 0; n < i; n++)
		assert_false(shared(&m->pending[n].head, &m->pending[i].head));
	memmove(&m->pending[i], &m->pending[i + 1], (--m->count - i) * sizeof(m->pending[0]));
}

struct flight {
	struct commit *const *commits;
	uint32_t count;
	enum commit_kind kind;
};

/* Nothing before a commit in flight shares a character with it but in its own row, or in its own
 * slots about another slot. */
static void expect_apart(const struct flight *flights)
{
	for (uint32_t a = 0; a < BATCHES; a++) {
		for (uint32_t i = 0; i < flights[a].count; i++) {
			const struct msg_commit *one = &flights[a].commits[i]->body.commit;

			for (uint32_t b = a; b < BATCHES; b++) {
				uint32_t k = b == a ? i + 1 : 0;

				for (; k < flights[b].count; k++) {
					const struct msg_commit *two =
						&flights[b].commits[k]->body.commit;

					if (!shared(one, two))
						continue;
					assert_true(a == b && flights[a].kind != COMMIT_SET);
					assert_true(one->request[1] < two->request[1]);
					assert_true(flights[a].kind == COMMIT_ROW ||
						    one->op[0].slot != two->op[0].slot);
				}
			}
		}
	}
}

static uint32_t taken[COMMIT_KINDS], slots_shared;

static void step(struct commit_table *t, struct model *m, struct flight *flights, uint64_t *number,
	unsigned *seed)
{
	uint32_t what = (uint32_t)rand_r(seed) % 8, b = (uint32_t)rand_r(seed) % BATCHES;
	uint64_t a = 1 + (uint64_t)rand_r(seed) % CHARACTERS;
	uint64_t other = rand_r(seed) % 5 ? 0 : 1 + (uint64_t)rand_r(seed) % CHARACTERS;
	struct flight *f = &flights[b];

	if (what < 4) {
		uint32_t ops = rand_r(seed) % 4 ? 1 : 1 + (uint32_t)rand_r(seed) % 5;
		struct one one = commit_of(++*number, a, other == a ? 0 : other, 1, ops);

		for (uint32_t i = 0; i < one.head.ops; i++)
			one.op[i] = (struct commit_op){.kind = COMMIT_SLOT, .slot = (uint16_t)i};
		one.op[0].slot = (uint16_t)((uint32_t)rand_r(seed) % 4 * 37);
		if (rand_r(seed) % 8 == 0)
			one.op[0].serial = 1;
		if (commit_table_put(t, &one.head, 0, 0))
			m->pending[m->count++] = one;
		else
			assert_int_equal(commit_table_used(t), CAPACITY);
	} else if (what == 4 && !f->count && rand_r(seed) % 3 == 0) {
		f->count = commit_table_take(
			t, b, 1 + (uint32_t)rand_r(seed) % 30, &f->commits, &f->kind);
		taken[f->kind] += f->count > 0;
		for (uint32_t i = 0; i < f->count; i++) {
			assert_true(f->commits[i]->kind >= f->kind);
			slots_shared += f->kind == COMMIT_SLOTS && i > 0 &&
					shared(&f->commits[i - 1]->body.commit,
						&f->commits[i]->body.commit);
		}
	} else if (what == 5 && f->count) {
		commit_table_put_back(t, b, (unsigned)rand_r(seed) % 8);
		f->count = 0;
	} else if (what >= 6 && f->count) {
		for (uint32_t i = 0; i < f->count; i++) {
			model_settle(m, number_of(f->commits[i]));
			settle(t, f->commits[i]);
		}
		f->count = 0;
	}
}

static void any_order_keeps_order(void **state)
{
	static struct model m;
	struct flight flights[BATCHES] = {{0}};
	struct commit_table *t = table(CAPACITY, 24, 60);
	uint64_t number = 0;
	unsigned seed = (unsigned)(getenv("SW_SEED") ? atoi(getenv("SW_SEED")) : 1);

	(void)state;
	print_message("seed %u\n", seed);
	for (uint32_t n = 0; n < STEPS; n++) {
		uint32_t in_flight = 0;

		step(t, &m, flights, &number, &seed);
		expect_apart(flights);
		for (uint32_t b = 0; b < BATCHES; b++) {
			assert_int_equal(commit_table_in_flight(t, b), flights[b].count);
			in_flight += flights[b].count;
		}
		assert_int_equal(commit_table_pending(t), m.count);
		assert_int_equal(commit_table_waiting(t), m.count - in_flight);
		assert_int_equal(commit_table_unsettled(t, number, NULL, 0), m.count);
		/* Nothing is forgotten: while something waits and nothing is in flight, some of
		 * it can be taken. */
		assert_true(m.count == 0 || in_flight > 0 || commit_table_ready(t) > 0);
		for (uint64_t c = 1; c <= CHARACTERS; c++) {
			uint32_t count = 0;

			for (uint32_t i = 0; i < m.count; i++)
				count += m.pending[i].head.character_id[0] == c ||
					 m.pending[i].head.character_id[1] == c;
			assert_int_equal(commit_table_count(t, 1, c), count);
			assert_int_equal(commit_table_has(t, 1, c), count > 0);
		}
		assert_false(commit_table_has(t, 2, 1));
		for (uint32_t i = 0; i < m.count; i++)
			assert_non_null(commit_table_find(t, m.pending[i].head.request, 0));
	}
	print_message("%u rows, %u sets, %u of slots with %u of the same character\n",
		taken[COMMIT_ROW], taken[COMMIT_SET], taken[COMMIT_SLOTS], slots_shared);
	for (int kind = 0; kind < COMMIT_KINDS; kind++)
		assert_true(taken[kind] > 100);
	assert_true(slots_shared > 100);
	commit_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_is_the_front),
		cmocka_unit_test(what_failed_goes_in_smaller_ones),
		cmocka_unit_test(characters_are_in_one_batch),
		cmocka_unit_test(sets_and_rows),
		cmocka_unit_test(slots_of_a_character),
		cmocka_unit_test(each_source_has_places),
		cmocka_unit_test(expiry_spares_the_unknown),
		cmocka_unit_test(expiry_finds_each),
		cmocka_unit_test(a_copy_joins),
		cmocka_unit_test(any_order_keeps_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
