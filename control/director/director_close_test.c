/* Proves that instances are opened and closed by order (with each refusal by name), and that one of
 * a map that is too many closes by itself: only when it was empty long enough, with nobody on the
 * way and room elsewhere; never the last, never one of those from the start; the one on the hottest
 * shard first; and that this and the opening by demand never chase each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "control/director/director_testing.h"

#define MEADOW 0u
#define ARENA  1u
#define CAVE   2u

static uint32_t open_one(uint32_t definition, enum director_refusal wanted)
{
	uint32_t id;

	assert_int_equal(director_open(director, definition, now_ns, &id), wanted);
	return id;
}

static void wait_ms(uint64_t ms)
{
	for (uint64_t passed = 0; passed < ms; passed += 50) {
		now_ns += 50 * NS_PER_MS;
		director_tick(director, now_ns);
	}
}

static void an_operator_opens(void **state)
{
	uint32_t id;

	(void)state;
	begin();
	all_built();
	/* A warm one runs at once, and is replaced. */
	id = open_one(ARENA, DIRECTOR_REFUSED_NONE);
	assert_int_equal(status_of(id).state, INSTANCE_OPEN);
	assert_int_equal(asks, 0);
	/* Another is prepared: the build for the warm one is taken for it. */
	assert_int_equal(open_one(ARENA, DIRECTOR_REFUSED_NONE), INSTANCE_NONE);
	assert_int_equal(asks, 0);
	assert_true(built(true));
	assert_int_equal(asks, 1);
	assert_int_equal(asked_definitions[0], ARENA);
	assert_int_equal(status_of(asked_ids[0]).state, INSTANCE_OPEN);
	/* The third is the last that may be: it is being prepared for the pool. */
	assert_int_equal(open_one(ARENA, DIRECTOR_REFUSED_NONE), INSTANCE_NONE);
	open_one(ARENA, DIRECTOR_REFUSED_LIMIT);
	assert_true(built(false));
	assert_int_equal(asks, 2);
	assert_int_equal(asked_ids[1], INSTANCE_NONE);
	assert_int_equal(counted(DIRECTOR_C_OPENED_ORDERED), 2);
	/* A stop gives up what was asked for. */
	now_ns += 2 * NS_PER_S;
	assert_int_equal(open_one(ARENA, DIRECTOR_REFUSED_NONE), INSTANCE_NONE);
	director_stop(director);
	assert_int_equal(asks, 3);
	open_one(ARENA, DIRECTOR_REFUSED_STOPPING);
	director_free(director);
}

static void a_player_who_waits_comes_first(void **state)
{
	uint32_t id;

	(void)state;
	begin();
	all_built();
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(choose(MEADOW, 0, 0, &id), DIRECTOR_CHOSE);
		director_enter(director, id);
		assert_int_equal(choose(MEADOW, 0, id, &id), DIRECTOR_CHOSE);
		director_enter(director, id);
	}
	assert_int_equal(choose(MEADOW, 0, 0, &id), DIRECTOR_WAIT);
	open_one(MEADOW, DIRECTOR_REFUSED_LIMIT); /* the slot is the player's */
	assert_true(built(true));
	assert_int_equal(asks, 0);
	assert_int_equal(choose(MEADOW, 0, 0, &id), DIRECTOR_CHOSE);
	director_free(director);
}

/* A player who came while it was prepared gets the last one that may be: the operator is told so,
 * and does not wait, for then nothing would ever close. */
static void what_a_player_took_is_given_up(void **state)
{
	uint32_t id;

	(void)state;
	begin();
	config.maps[MEADOW].close_after_s = 10;
	all_built();
	for (uint32_t i = 0; i < 3; i++) {
		director_enter(director, opened[0]);
		director_enter(director, opened[1]);
	}
	assert_int_equal(open_one(MEADOW, DIRECTOR_REFUSED_NONE), INSTANCE_NONE);
	assert_int_equal(choose(MEADOW, 0, 0, &id), DIRECTOR_WAIT);
	assert_true(built(true));
	assert_int_equal(asks, 0);
	wait_ms(200);
	assert_int_equal(asks, 1);
	assert_int_equal(asked_ids[0], INSTANCE_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		director_leave(director, opened[0]);
		director_leave(director, opened[1]);
	}
	wait_ms(11000);
	assert_int_equal(closes, 1);
	director_free(director);
}

static void an_operator_closes(void **state)
{
	uint32_t id;

	(void)state;
	begin();
	assert_int_equal(director_close(director, ordered), DIRECTOR_REFUSED_NOT_RUNNING);
	all_built();
	assert_int_equal(director_close(director, 0), DIRECTOR_REFUSED_UNKNOWN);
	assert_int_equal(director_close(director, instance_id(200, 1)), DIRECTOR_REFUSED_UNKNOWN);
	assert_int_equal(director_close(director, opened[0] + 256), DIRECTOR_REFUSED_UNKNOWN);
	/* Full: nobody has room for its players but an instance that may still be opened. */
	for (uint32_t i = 0; i < 3; i++) {
		director_enter(director, opened[0]);
		director_enter(director, opened[1]);
	}
	assert_int_equal(director_close(director, opened[0]), DIRECTOR_REFUSED_NONE);
	assert_int_equal(closes, 1);
	assert_int_equal(closed[0], opened[0]);
	assert_int_equal(status_of(opened[0]).state, INSTANCE_CLOSING);
	assert_int_equal(director_close(director, opened[0]), DIRECTOR_REFUSED_CLOSING);
	assert_int_equal(director_close(director, opened[1]), DIRECTOR_REFUSED_LAST);
	/* Nobody is sent there; the shard says so too, which is nothing new. */
	says(opened[0], INSTANCE_CLOSING);
	assert_int_equal(counted(DIRECTOR_C_STALE), 0);
	assert_false(director_takes_back(director, opened[0], now_ns));
	assert_int_equal(choose(MEADOW, opened[0], 0, &id), DIRECTOR_WAIT);
	assert_true(built(true));
	assert_int_equal(choose(MEADOW, opened[0], 0, &id), DIRECTOR_CHOSE);
	assert_int_not_equal(id, opened[0]);
	/* Both others full: no room for those of the one that is asked to close. */
	for (uint32_t i = 0; i < 3; i++)
		director_enter(director, id);
	assert_int_equal(director_close(director, id), DIRECTOR_REFUSED_NO_ROOM);
	says(opened[0], INSTANCE_ENDED);
	assert_int_equal(director_close(director, id), DIRECTOR_REFUSED_NONE);
	/* Rooms: also the last one. */
	id = open_one(ARENA, DIRECTOR_REFUSED_NONE);
	assert_int_equal(director_close(director, id), DIRECTOR_REFUSED_NONE);
	assert_int_equal(counted(DIRECTOR_C_CLOSED_ORDERED), 3);
	director_stop(director);
	assert_int_equal(director_close(director, opened[1]), DIRECTOR_REFUSED_STOPPING);
	director_free(director);
}

/* Meadow has two from the start and up to three, of three players each; a third one is opened, and
 * must be empty for 10 s. */
static uint32_t begin_with_three(void)
{
	begin();
	config.maps[MEADOW].close_after_s = 10;
	all_built();
	return open_one(MEADOW, DIRECTOR_REFUSED_NONE) == INSTANCE_NONE && built(true)
		       ? asked_ids[0]
		       : 0;
}

static void the_one_too_many_closes(void **state)
{
	uint32_t third = begin_with_three();

	(void)state;
	assert_true(third);
	/* Somebody is there, or on the way. */
	director_enter(director, third);
	director_enter(director, opened[0]);
	director_enter(director, opened[1]);
	wait_ms(30000);
	assert_int_equal(closes, 0);
	director_leave(director, third);
	wait_ms(9000);
	director_enter(director, third); /* the time begins anew */
	director_leave(director, third);
	wait_ms(9900);
	assert_int_equal(closes, 0);
	wait_ms(400);
	assert_int_equal(closes, 1);
	assert_int_equal(closed[0], third);
	assert_int_equal(counted(DIRECTOR_C_CLOSED_EMPTY), 1);
	says(third, INSTANCE_ENDED);
	/* Two stay, however empty: they run from the start. */
	director_leave(director, opened[0]);
	director_leave(director, opened[1]);
	wait_ms(60000);
	assert_int_equal(closes, 1);
	/* The pool of rooms is as it was. */
	assert_int_equal(counted(DIRECTOR_C_WARM), 1);
	director_free(director);
}

static void the_others_must_have_room(void **state)
{
	uint32_t third = begin_with_three();

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		director_enter(director, opened[0]);
		director_enter(director, opened[1]);
	}
	wait_ms(30000);
	assert_int_equal(closes, 0);
	/* A third of an instance's places is more than a quarter. */
	director_leave(director, opened[1]);
	wait_ms(200);
	assert_int_equal(closes, 1);
	assert_int_equal(closed[0], third);
	director_free(director);
}

static void a_quarter_of_an_instance_is_the_measure(void **state)
{
	uint32_t third = begin_with_three();

	(void)state;
	config.maps[MEADOW].players_max = 12;
	for (uint32_t i = 0; i < 12; i++) {
		director_enter(director, opened[0]);
		director_enter(director, opened[1]);
	}
	for (uint32_t i = 0; i < 2; i++)
		director_leave(director, opened[1]);
	wait_ms(30000);
	assert_int_equal(closes, 0);
	director_leave(director, opened[1]);
	wait_ms(200);
	assert_int_equal(closes, 1);
	assert_int_equal(closed[0], third);
	director_free(director);
}

static void the_last_one_stays(void **state)
{
	uint32_t id;

	(void)state;
	begin();
	config.maps[CAVE].close_after_s = 1;
	config.maps[CAVE].instances = 0;
	all_built();
	if (choose(CAVE, 0, 0, &id) == DIRECTOR_WAIT) {
		assert_true(built(true));
		assert_int_equal(choose(CAVE, 0, 0, &id), DIRECTOR_CHOSE);
	}
	wait_ms(30000);
	assert_int_equal(closes, 0);
	assert_int_equal(status_of(id).state, INSTANCE_OPEN);
	director_free(director);
}

static void the_hottest_goes_first_and_one_at_a_time(void **state)
{
	uint32_t id, hot;

	(void)state;
	begin();
	config.maps[MEADOW].close_after_s = 10;
	config.maps[MEADOW].instances = 1; /* of the three two are too many */
	all_built();
	assert_int_equal(open_one(MEADOW, DIRECTOR_REFUSED_NONE), INSTANCE_NONE);
	assert_true(built(true));
	hot = asked_ids[0];
	loads[status_of(hot).shard].load_permille = 100;
	for (uint32_t i = 0; i < 2; i++)
		if (status_of(opened[i]).shard != status_of(hot).shard)
			loads[status_of(opened[i]).shard].load_permille = 700;
	wait_ms(20000);
	assert_int_equal(closes, 1);
	assert_int_equal(loads[status_of(closed[0]).shard].load_permille, 700);
	says(closed[0], INSTANCE_ENDED);
	wait_ms(200);
	assert_int_equal(closes, 2);
	says(closed[1], INSTANCE_ENDED);
	wait_ms(20000);
	assert_int_equal(closes, 2);
	/* What is opened then goes where it is cool: what has ended counts there no more. */
	loads[0].load_permille = loads[1].load_permille = 900;
	loads[2].load_permille = 0;
	id = open_one(MEADOW, DIRECTOR_REFUSED_NONE);
	assert_int_equal(id, INSTANCE_NONE);
	assert_true(built(true));
	assert_int_equal(status_of(asked_ids[1]).shard, 2);
	director_free(director);
}

/* Placement counts what is on a shard, not what ever was. */
static void what_has_ended_weighs_nothing(void **state)
{
	uint32_t id;

	(void)state;
	begin();
	loads[1].load_permille = 900; /* the meadows go elsewhere, as the cave does */
	all_built();
	for (uint32_t i = 0; i < 5; i++) {
		loads[0].load_permille = loads[2].load_permille = 900;
		loads[1].load_permille = 0;
		id = open_one(ARENA, DIRECTOR_REFUSED_NONE);
		assert_int_equal(status_of(id).shard, 1);
		assert_int_equal(director_close(director, id), DIRECTOR_REFUSED_NONE);
		says(id, INSTANCE_ENDED);
		all_built();
	}
	/* All as busy: the one with fewest, and on shard 1 there is none. */
	loads[0].load_permille = loads[1].load_permille = loads[2].load_permille = 0;
	id = open_one(ARENA, DIRECTOR_REFUSED_NONE);
	assert_int_equal(status_of(id).shard, 1);
	director_free(director);
}

static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = (*seed += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t open_count(uint32_t definition)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < director_slots(director); i++) {
		struct director_status status;

		director_status(director, i, &status);
		n += status.definition == definition && status.state == INSTANCE_OPEN;
	}
	return n;
}

/* Players come and go, operators open and close: nobody is ever sent to an instance that closes, a
 * map that had an open instance keeps one, and whoever asked is told. */
static void any_run_of_orders_keeps_the_rules(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 30; run++) {
		uint64_t seed = run;
		uint32_t outstanding = 0;

		begin();
		config.maps[MEADOW].close_after_s = 1;
		all_built();
		for (int step = 0; step < 1500 && opens < 1000 && closes < 1000; step++) {
			uint32_t definition = next_random(&seed) % 3, id;
			uint32_t slot = next_random(&seed) % director_slots(director);
			struct director_status status;

			director_status(director, slot, &status);
			asks = 0;
			switch (next_random(&seed) % 8) {
			case 0:
			case 1:
				if (choose(definition, status.id, INSTANCE_NONE, &id) ==
					DIRECTOR_CHOSE) {
					assert_int_not_equal(status_of(id).state, INSTANCE_CLOSING);
					director_enter(director, id);
				}
				break;
			case 2:
			case 3:
				director_leave(director, status.id);
				break;
			case 4:
				built(next_random(&seed) % 8 != 0);
				break;
			case 5:
				if (!director_open(director, definition, now_ns, &id) &&
					id == INSTANCE_NONE)
					outstanding++;
				break;
			case 6:
				director_close(director, status.id);
				if (status.state == INSTANCE_CLOSING && !status.players)
					says(status.id, INSTANCE_ENDED);
				break;
			default:
				wait_ms(300);
			}
			if (asks > outstanding)
				fail_msg("seed %llu: told of what nobody asked for",
					(unsigned long long)run);
			outstanding -= asks;
			if (!open_count(MEADOW))
				fail_msg("seed %llu, step %d: no meadow is left",
					(unsigned long long)run, step);
		}
		asks = 0;
		director_stop(director);
		assert_int_equal(asks, outstanding);
		director_free(director);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operator_opens),
		cmocka_unit_test(a_player_who_waits_comes_first),
		cmocka_unit_test(what_a_player_took_is_given_up),
		cmocka_unit_test(an_operator_closes),
		cmocka_unit_test(the_one_too_many_closes),
		cmocka_unit_test(the_others_must_have_room),
		cmocka_unit_test(a_quarter_of_an_instance_is_the_measure),
		cmocka_unit_test(the_last_one_stays),
		cmocka_unit_test(the_hottest_goes_first_and_one_at_a_time),
		cmocka_unit_test(what_has_ended_weighs_nothing),
		cmocka_unit_test(any_run_of_orders_keeps_the_rules),
	};

	return cmocka_run_group_tests_name("director_close", tests, NULL, NULL);
}
