/* Proves that the coalescing table keeps exactly the newest save of each character through every
 * order of put, take, settle and put back, that a leaving save is never overwritten by an older
 * one, that it is bounded, and that "everything put so far is settled" is never said too early: the
 * rules one by one, then 200,000 random steps against a plain model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "control/world/save_table.h"

static struct msg_position_save save_of(uint64_t id, uint64_t epoch, int32_t x_mm, bool leaving)
{
	return (struct msg_position_save){.character_id = id,
		.epoch = epoch,
		.realm_id = 1,
		.x_mm = x_mm,
		.leaving = leaving,
		.map = "map"};
}

/* What wins: first save, second save, verdict of the second, and which one is written. */
static const struct {
	const char *what;
	uint64_t epoch_1, epoch_2;
	uint32_t stay_1, stay_2;
	bool leaving_1, leaving_2;
	enum save_put verdict;
	int32_t written;
} WINS[] = {
	{"later of the same stay", 5, 5, 0, 0, false, false, SAVE_PUT_COALESCED, 2},
	{"leaving over autosave", 5, 5, 0, 0, false, true, SAVE_PUT_COALESCED, 2},
	{"autosave never over leaving", 5, 5, 0, 0, true, false, SAVE_PUT_OUTDATED, 1},
	{"leaving twice: the later", 5, 5, 0, 0, true, true, SAVE_PUT_COALESCED, 2},
	{"older epoch never over newer", 6, 5, 0, 0, false, true, SAVE_PUT_OUTDATED, 1},
	{"newer epoch over leaving", 5, 6, 0, 0, true, false, SAVE_PUT_COALESCED, 2},
	{"later stay over leaving", 5, 5, 0, 1, true, false, SAVE_PUT_COALESCED, 2},
	{"earlier stay never over later", 5, 5, 2, 1, false, true, SAVE_PUT_OUTDATED, 1},
	{"epoch before stay", 5, 6, 9, 0, true, false, SAVE_PUT_COALESCED, 2},
};

static void newest_wins(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(WINS) / sizeof(WINS[0]); i++) {
		struct msg_position_save a = save_of(9, WINS[i].epoch_1, 1, WINS[i].leaving_1);
		struct msg_position_save b = save_of(9, WINS[i].epoch_2, 2, WINS[i].leaving_2);
		const struct save *saves;

		a.stay = WINS[i].stay_1;
		b.stay = WINS[i].stay_2;
		/* The first save waits; then the same with the first one in flight. */
		for (int in_flight = 0; in_flight < 2; in_flight++) {
			struct save_table *t = save_table_new(4, 4);
			enum save_put verdict;

			print_message("%s, in flight %d\n", WINS[i].what, in_flight);
			assert_int_equal(save_table_put(t, &a, 0), SAVE_PUT_NEW);
			if (in_flight)
				assert_int_equal(save_table_take(t, 4, &saves), 1);
			verdict = save_table_put(t, &b, 0);
			if (in_flight && WINS[i].verdict == SAVE_PUT_COALESCED)
				assert_int_equal(verdict, SAVE_PUT_NEW);
			else
				assert_int_equal(verdict, WINS[i].verdict);
			if (in_flight)
				save_table_put_back(t, true);
			assert_int_equal(save_table_used(t), 1);
			assert_int_equal(save_table_take(t, 4, &saves), 1);
			assert_int_equal(saves[0].position.x_mm, WINS[i].written);
			save_table_settle(t);
			assert_int_equal(save_table_used(t), 0);
			save_table_free(t);
		}
	}
}

static void full_and_ordered(void **state)
{
	/* Signed order, as PostgreSQL's: ids above 2^63 come first. */
	static const uint64_t IDS[] = {7, UINT64_MAX, 3, 1ull << 63};
	static const uint64_t SORTED[] = {1ull << 63, UINT64_MAX, 3, 7};
	struct save_table *t = save_table_new(4, 4);
	struct msg_position_save save;
	const struct save *saves;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4; i++) {
			save = save_of(IDS[i], 1, i, false);
			assert_int_equal(save_table_put(t, &save, 0), SAVE_PUT_NEW);
		}
		save = save_of(8, 1, 0, true);
		assert_int_equal(save_table_put(t, &save, 0), SAVE_PUT_FULL);
		save = save_of(7, 1, 100, false);
		assert_int_equal(save_table_put(t, &save, 0), SAVE_PUT_COALESCED);
		assert_int_equal(save_table_take(t, 4, &saves), 4);
		for (int i = 0; i < 4; i++)
			assert_true(saves[i].position.character_id == SORTED[i]);
		/* Places stay taken while the outcome is unknown. */
		save = save_of(8, 1, 0, true);
		assert_int_equal(save_table_put(t, &save, 0), SAVE_PUT_FULL);
		save_table_settle(t);
	}
	save_table_free(t);
}

/* A statement is for one realm: those of the longest waiting one's, and the others after it. */
static void one_realm_a_batch(void **state)
{
	static const struct {
		uint32_t realm_id, count;
	} WANT[] = {{1, 2}, {2, 1}, {1, 1}};
	static const uint32_t REALMS[] = {1, 1, 2, 1};
	struct save_table *t = save_table_new(8, 8);
	const struct save *saves;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct msg_position_save save = save_of(10 - i, 1, 0, false);

		save.realm_id = REALMS[i];
		assert_int_equal(save_table_put(t, &save, i), SAVE_PUT_NEW);
	}
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t count = save_table_take(t, 8, &saves);

		assert_int_equal(count, WANT[i].count);
		for (uint32_t k = 0; k < count; k++)
			assert_int_equal(saves[k].position.realm_id, WANT[i].realm_id);
		assert_true(count < 2 || saves[0].position.character_id <
						 saves[1].position.character_id);
		save_table_settle(t);
	}
	assert_int_equal(save_table_used(t), 0);
	save_table_free(t);
}

static void promoted_goes_first(void **state)
{
	struct save_table *t = save_table_new(4, 4);
	const struct save *saves;

	(void)state;
	for (uint64_t id = 1; id <= 3; id++) {
		struct msg_position_save save = save_of(id, 1, 0, false);

		save_table_put(t, &save, id);
	}
	save_table_promote(t, 1, 3);
	save_table_promote(t, 1, 77);
	assert_int_equal(save_table_take(t, 1, &saves), 1);
	assert_true(saves[0].position.character_id == 3);
	save_table_put_back(t, false); /* behind the others now */
	assert_int_equal(save_table_front_ns(t), 1);
	assert_int_equal(save_table_take(t, 2, &saves), 2);
	assert_true(saves[0].position.character_id == 1 && saves[1].position.character_id == 2);
	save_table_free(t);
}

static void replaced_save_still_counts(void **state)
{
	struct save_table *t = save_table_new(2, 2);
	struct msg_position_save old = save_of(1, 1, 1, false), new = save_of(1, 1, 2, false);
	const struct save *saves;

	(void)state;
	save_table_put(t, &old, 0);
	save_table_put(t, &new, 0); /* stands for the first one too */
	assert_int_equal(save_table_unsettled(t, 1), 1);
	save_table_take(t, 2, &saves);
	save_table_put(t, &new, 0);
	assert_int_equal(save_table_unsettled(t, 1), 1);
	save_table_put_back(t, true); /* the third one stands for all now */
	assert_int_equal(save_table_unsettled(t, 1), 1);
	save_table_take(t, 2, &saves);
	save_table_settle(t);
	assert_int_equal(save_table_unsettled(t, 3), 0);
	save_table_free(t);
}

#define IDS 40
#define CAP 24

struct model {
	struct msg_position_save newest; /* what must be written next, or is written */
	uint64_t oldest_open;            /* oldest sequence put and not settled, 0: none */
	bool open;
};

static void random_steps(void **state)
{
	unsigned seed = getenv("SW_SEED") ? (unsigned)atoi(getenv("SW_SEED")) : 20231;
	struct save_table *t = save_table_new(CAP, 8);
	struct model model[IDS] = {0};
	uint64_t flight_first[IDS] = {0}, sequence = 0;
	bool flying[IDS] = {0};
	struct save listed[IDS];
	const struct save *saves;

	(void)state;
	print_message("seed %u (SW_SEED repeats it)\n", seed);
	for (int step = 0; step < 200000; step++) {
		int what = rand_r(&seed) % 8;
		uint32_t used = 0, unsettled = 0;
		uint64_t mark = sequence > 20 ? sequence - (uint64_t)(rand_r(&seed) % 20) : 0;

		if (what < 5) {
			uint64_t id = (uint64_t)rand_r(&seed) % IDS;
			struct model *m = &model[id];
			struct msg_position_save save = save_of(id,
				1 + (uint64_t)step / 1000 -
					(uint64_t)rand_r(&seed) % 2 * (step > 1000),
				step, rand_r(&seed) % 8 == 0);
			enum save_put verdict = save_table_put(t, &save, 0);
			bool loses =
				m->open && (save.epoch < m->newest.epoch ||
						   (save.epoch == m->newest.epoch &&
							   m->newest.leaving && !save.leaving));

			if (loses) {
				assert_int_equal(verdict, SAVE_PUT_OUTDATED);
				continue;
			}
			if (verdict == SAVE_PUT_FULL) {
				assert_false(m->open);
				continue;
			}
			sequence++;
			assert_true(save_table_sequence(t) == sequence);
			m->newest = save;
			m->open = true;
			if (!m->oldest_open)
				m->oldest_open = sequence;
		} else if (!save_table_in_flight(t)) {
			uint32_t n = save_table_take(t, 1 + (uint32_t)rand_r(&seed) % 8, &saves);

			for (uint32_t i = 0; i < n; i++) {
				uint64_t id = saves[i].position.character_id;

				assert_memory_equal(&saves[i].position, &model[id].newest,
					sizeof(model[id].newest));
				assert_true(i == 0 || saves[i - 1].position.character_id < id);
				flying[id] = true;
				flight_first[id] = model[id].oldest_open;
				model[id].oldest_open = 0;
			}
		} else {
			bool settle = what != 7;

			for (int id = 0; id < IDS; id++) {
				if (!flying[id])
					continue;
				if (!settle)
					model[id].oldest_open = flight_first[id];
				else if (!model[id].oldest_open)
					model[id].open = false;
				flying[id] = false;
			}
			if (settle)
				save_table_settle(t);
			else
				save_table_put_back(t, rand_r(&seed) % 2);
		}
		for (int id = 0; id < IDS; id++) {
			used += model[id].open;
			unsettled += (model[id].oldest_open && model[id].oldest_open <= mark) ||
				     (flying[id] && flight_first[id] <= mark);
			assert_int_equal(save_table_has(t, 1, (uint64_t)id), model[id].open);
		}
		assert_int_equal(save_table_used(t), used);
		assert_int_equal(save_table_unsettled(t, mark), unsettled);
		assert_int_equal(save_table_unsettled_list(t, mark, listed, IDS), unsettled);
		for (uint32_t i = 0; i < unsettled; i++)
			assert_memory_equal(&listed[i].position,
				&model[listed[i].position.character_id].newest,
				sizeof(listed[i].position));
		assert_int_equal(save_table_unsettled_list(t, mark, listed, 1), unsettled > 0);
	}
	save_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_wins),
		cmocka_unit_test(full_and_ordered),
		cmocka_unit_test(one_realm_a_batch),
		cmocka_unit_test(promoted_goes_first),
		cmocka_unit_test(replaced_save_still_counts),
		cmocka_unit_test(random_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
