/* Proves the director: where instances are put (a table of loads), which states follow which
 * (everything else is not believed), whom a player is sent to (the stated order), that a node never
 * has more instances than its configuration says, that warm ones are replaced, and that any run of
 * events, by a seed, leaves the directory equal to a simple model of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/director/director_testing.h"

static void the_coolest_shard_is_taken(void **state)
{
	static const struct {
		struct placement_load loads[SHARDS];
		uint32_t want;
		const char *why;
	} rows[] = {
		{{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0, "all equal: the first"},
		{{{0, 0, 1}, {0, 0, 0}, {0, 0, 0}}, 1, "equally cool: fewest instances"},
		{{{0, 0, 2}, {0, 0, 1}, {0, 0, 1}}, 1, "of those the first"},
		{{{400, 0, 0}, {100, 0, 9}, {300, 0, 0}}, 1, "load before instances"},
		{{{149, 0, 1}, {101, 0, 2}, {149, 0, 0}}, 2, "less than a step is noise"},
		{{{0, 600, 0}, {500, 0, 0}, {0, 400, 0}}, 2, "players count like load"},
		{{{300, 300, 0}, {0, 700, 0}, {590, 0, 0}}, 2, "both add up"},
		{{{990, 0, 0}, {1900, 0, 0}, {900, 0, 0}}, 2, "also when all are hot"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (placement_coolest(rows[i].loads, SHARDS, 1000) != rows[i].want)
			fail_msg("%s: shard %u", rows[i].why,
				placement_coolest(rows[i].loads, SHARDS, 1000));
	assert_int_equal(placement_heat(&rows[3].loads[0], 0), 8); /* no division by 0 */
}

static void the_start_opens_maps_and_warms_rooms(void **state)
{
	(void)state;
	begin();
	loads[0].load_permille = 500;
	all_built();
	assert_int_equal(opens, 2); /* the meadows; cave waits for somebody */
	assert_int_equal(opened_on[0], 1);
	assert_int_equal(opened_on[1], 2);
	assert_int_equal(orders, 3); /* and one arena */
	assert_int_equal(counted(DIRECTOR_C_RUNNING), 2);
	assert_int_equal(counted(DIRECTOR_C_WARM), 1);
	director_free(director);
}

static void states_follow_each_other(void **state)
{
	/* From where an instance is, the word that comes, whether it is believed. */
	static const struct {
		enum instance_state from, to;
		bool believed;
	} rows[] = {
		{INSTANCE_OPEN, INSTANCE_LOCKED, true},
		{INSTANCE_OPEN, INSTANCE_CLOSING, true},
		{INSTANCE_OPEN, INSTANCE_ENDED, true},
		{INSTANCE_OPEN, INSTANCE_OPEN, false},
		{INSTANCE_OPEN, INSTANCE_WARM, false},
		{INSTANCE_OPEN, INSTANCE_EMPTY, false},
		{INSTANCE_OPEN, INSTANCE_BUILDING, false},
		{INSTANCE_OPEN, (enum instance_state)77, false},
		{INSTANCE_LOCKED, INSTANCE_OPEN, true},
		{INSTANCE_LOCKED, INSTANCE_CLOSING, true},
		{INSTANCE_LOCKED, INSTANCE_ENDED, true},
		{INSTANCE_LOCKED, INSTANCE_WARM, false},
		{INSTANCE_CLOSING, INSTANCE_ENDED, true},
		{INSTANCE_CLOSING, INSTANCE_OPEN, false},
		{INSTANCE_CLOSING, INSTANCE_LOCKED, false},
		{INSTANCE_ENDED, INSTANCE_OPEN, false},
		{INSTANCE_ENDED, INSTANCE_ENDED, false},
		{INSTANCE_ENDED, INSTANCE_CLOSING, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t id;

		begin();
		all_built();
		assert_int_equal(choose(1, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
		if (rows[i].from != INSTANCE_OPEN)
			says(id, rows[i].from);
		assert_int_equal(status_of(id).state, rows[i].from);
		/* In ENDED the slot may be in use again at once; the id is then stale. */
		says(id, rows[i].to);
		if (counted(DIRECTOR_C_STALE) != !rows[i].believed)
			fail_msg("row %zu", i);
		if (status_of(id).id == id &&
			status_of(id).state != (rows[i].believed ? rows[i].to : rows[i].from))
			fail_msg("row %zu: %s", i, instance_state_name(status_of(id).state));
		director_free(director);
	}
}

static void players_go_in_the_stated_order(void **state)
{
	uint32_t a, b, c, id;

	(void)state;
	begin();
	all_built();
	a = opened[0];
	b = opened[1];
	/* Both open and empty: the lower slot. Then the fuller one, while it has room. */
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	assert_int_equal(id, a);
	director_enter(director, b);
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	assert_int_equal(id, b);
	/* The one that it had left wins over a fuller one. */
	assert_int_equal(choose(0, a, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	assert_int_equal(id, a);
	assert_int_equal(counted(DIRECTOR_C_CHOSE_LEFT), 1);
	/* One of another map, or one that is no more, means nothing. */
	assert_int_equal(choose(1, a, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	assert_int_not_equal(id, a);
	assert_int_equal(choose(0, a + 256, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	assert_int_equal(id, b);
	/* Whoever has just been refused there goes elsewhere, also if it was there before. */
	assert_int_equal(choose(0, b, b, &id), DIRECTOR_CHOSE);
	assert_int_equal(id, a);
	/* All open ones full: a third is prepared, and there may be no fourth. */
	for (int i = 0; i < 3; i++) {
		director_enter(director, a);
		director_enter(director, b);
	}
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_WAIT);
	assert_int_equal(choose(0, a, INSTANCE_NONE, &id), DIRECTOR_WAIT);
	all_built();
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	c = id;
	assert_true(c != a && c != b);
	for (int i = 0; i < 3; i++)
		director_enter(director, c);
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_NONE);
	director_leave(director, c);
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	/* What the shard says of its room is believed more than what is counted here. */
	director_refused(director, c, now_ns);
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_NONE);
	now_ns += DIRECTOR_RETRY_MS * NS_PER_MS; /* for a while */
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	director_refused(director, c, now_ns);
	director_leave(director, c); /* or until somebody leaves */
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	director_free(director);
}

static void warm_rooms_are_opened_and_replaced(void **state)
{
	uint32_t first, second, id;

	(void)state;
	begin();
	all_built();
	assert_int_equal(choose(1, INSTANCE_NONE, INSTANCE_NONE, &first), DIRECTOR_CHOSE);
	assert_int_equal(counted(DIRECTOR_C_CHOSE_WARM), 1);
	assert_int_not_equal(ordered, INSTANCE_NONE); /* the next warm one */
	director_enter(director, first);
	director_enter(director, first);
	/* Another pair comes before that is ready. */
	assert_int_equal(choose(1, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_WAIT);
	all_built();
	assert_int_equal(choose(1, INSTANCE_NONE, INSTANCE_NONE, &second), DIRECTOR_CHOSE);
	assert_int_not_equal(second, first);
	/* Locked: only who was in it. Closing: nobody. */
	director_leave(director, first);
	says(first, INSTANCE_LOCKED);
	director_enter(director, second);
	assert_int_equal(choose(1, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	assert_int_equal(id, second);
	assert_int_equal(choose(1, first, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	assert_int_equal(id, first);
	assert_true(director_takes_back(director, first, now_ns));
	says(first, INSTANCE_CLOSING);
	assert_false(director_takes_back(director, first, now_ns));
	assert_int_equal(choose(1, first, INSTANCE_NONE, &id), DIRECTOR_CHOSE);
	assert_int_equal(id, second);
	/* It ends; its slot serves again under another id. */
	says(first, INSTANCE_ENDED);
	all_built();
	assert_false(director_takes_back(director, first, now_ns));
	assert_int_equal(counted(DIRECTOR_C_ENDED), 1);
	assert_int_equal(counted(DIRECTOR_C_WARM), 1);
	director_free(director);
}

/* With equal loads the shard with the fewest instances is taken, and ended ones are none. */
static void an_ended_instance_counts_no_more(void **state)
{
	uint32_t id;

	(void)state;
	begin();
	all_built();
	assert_int_equal(opens, 2);
	assert_int_equal(opened_on[0], 0);
	assert_int_equal(opened_on[1], 1);
	says(opened[0], INSTANCE_ENDED);
	for (uint32_t i = 0; i < 3; i++)
		director_enter(director, opened[1]);
	assert_int_equal(choose(0, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_WAIT);
	all_built();
	assert_int_equal(opens, 3);
	assert_int_equal(opened_on[2], 0);
	director_free(director);
}

static void a_build_that_fails_is_tried_again(void **state)
{
	uint32_t id;

	(void)state;
	begin();
	assert_true(built(false));
	assert_int_not_equal(ordered, INSTANCE_NONE); /* the room: that is another definition */
	all_built();
	assert_int_equal(opens, 0);
	now_ns += DIRECTOR_RETRY_MS * NS_PER_MS - 1;
	director_tick(director, now_ns);
	assert_int_equal(ordered, INSTANCE_NONE);
	now_ns++;
	director_tick(director, now_ns);
	all_built();
	assert_int_equal(opens, 2);
	/* A map on demand; and after a stop nothing more is begun. */
	assert_int_equal(choose(2, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_WAIT);
	director_stop(director);
	all_built();
	assert_int_equal(opens, 2);
	assert_int_equal(choose(2, INSTANCE_NONE, INSTANCE_NONE, &id), DIRECTOR_NONE);
	director_free(director);
}

static void a_map_of_a_missing_shard_is_not_served(void **state)
{
	const struct director_ops ops = director_testing_ops;

	(void)state;
	begin();
	director_free(director);
	config.maps[2].shard = SHARDS;
	ordered = INSTANCE_NONE;
	director = director_new(&config, SHARDS, &ops);
	assert_int_equal(director_definition(director, "meadow"), 0);
	assert_int_equal(director_definition(director, "cave"), DIRECTOR_NO_DEFINITION);
	assert_int_equal(director_definition(director, "nowhere"), DIRECTOR_NO_DEFINITION);
	director_free(director);
}

/* splitmix64 */
static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Whatever happens: at most instances_max of each, no instance over its cap, none opened twice. */
static void any_run_of_events_keeps_the_rules(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 40; run++) {
		uint64_t seed = run;
		uint32_t in[CONFIG_INSTANCES_MAX] = {0}, checked = 0;

		begin();
		for (int step = 0; step < 2000 && opens < 1000; step++) {
			uint32_t definition = next_random(&seed) % 3, id;
			uint32_t slot = next_random(&seed) % director_slots(director);
			struct director_status status;

			loads[next_random(&seed) % SHARDS].load_permille = next_random(&seed) % 900;
			director_status(director, slot, &status);
			switch (next_random(&seed) % 8) {
			case 0:
			case 1:
			case 2:
				if (choose(definition, status.id, INSTANCE_NONE, &id) !=
					DIRECTOR_CHOSE)
					break;
				director_enter(director, id);
				if (++in[instance_slot(id)] > config.maps[definition].players_max)
					fail_msg(
						"seed %llu: over its cap", (unsigned long long)run);
				break;
			case 3:
				if (status.running && in[slot]) {
					director_leave(director, status.id);
					in[slot]--;
				}
				break;
			case 4:
				built(next_random(&seed) % 8 != 0);
				break;
			case 5:
				if (status.definition == 1) {
					says(status.id,
						(enum instance_state)(
							next_random(&seed) % INSTANCE_STATE_COUNT));
					director_status(director, slot, &status);
					if (!status.running)
						in[slot] = 0;
				}
				break;
			default:
				now_ns += 100 * NS_PER_MS;
				director_tick(director, now_ns);
			}
			for (; checked < opens; checked++) {
				in[instance_slot(opened[checked])] =
					status_of(opened[checked]).players;
				for (uint32_t i = 0; i < checked; i++)
					assert_int_not_equal(opened[i], opened[checked]);
			}
			for (uint32_t i = 0; i < director_slots(director); i++) {
				director_status(director, i, &status);
				if (status.running && status.players != in[i])
					fail_msg("seed %llu, step %d: slot %u has %u, not %u",
						(unsigned long long)run, step, i, status.players,
						in[i]);
			}
		}
		director_free(director);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_coolest_shard_is_taken),
		cmocka_unit_test(the_start_opens_maps_and_warms_rooms),
		cmocka_unit_test(states_follow_each_other),
		cmocka_unit_test(players_go_in_the_stated_order),
		cmocka_unit_test(warm_rooms_are_opened_and_replaced),
		cmocka_unit_test(an_ended_instance_counts_no_more),
		cmocka_unit_test(a_build_that_fails_is_tried_again),
		cmocka_unit_test(a_map_of_a_missing_shard_is_not_served),
		cmocka_unit_test(any_run_of_events_keeps_the_rules),
	};

	return cmocka_run_group_tests_name("director", tests, NULL, NULL);
}
