/* Proves, with the real admission, director and three shards, that players who come, go, walk
 * through portals and are sent home by rooms that end are never lost and never on two maps: by a
 * seed and step by step, where all of the state can be looked at after each; and with the
 * builder and every shard on threads of their own (for tsan), where what clients and control hear
 * must be right. In the end nobody is left anywhere, and every instance's places are given back.
 * SW_SEED=n repeats a run. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/mono.h"
#include "tests/maps/travel_rig.h"

#define ROUNDS 12u
#define STEPS  3000u

static struct rig rig;

/* Over all shards: on how many maps the character is, and whether one of them has it present. */
static uint32_t places_of(uint64_t character, uint32_t *present)
{
	uint32_t count = 0;

	*present = 0;
	for (uint32_t s = 0; s < RIG_SHARDS; s++)
		for (uint32_t i = 0; i < rig.shard[s]->map_count; i++) {
			struct sim_map *m = rig.shard[s]->maps[i];

			for (uint32_t slot = 0; slot < m->player_slots; slot++) {
				const struct sim_player *p = sim_player(m, slot);

				if (p->character_id != character || p->state == SIM_PLAYER_FREE ||
					p->state == SIM_PLAYER_GONE)
					continue;
				/* Taken off and told, or on its way to be. */
				count++;
				*present += p->state == SIM_PLAYER_PRESENT;
			}
		}
	return count;
}

static void check(uint64_t seed, uint32_t step)
{
	uint32_t present;

	if (rig.lost)
		fail_msg("SW_SEED=%llu, step %u: %s", (unsigned long long)seed, step, rig.fault);
	for (uint64_t character = 1; character <= RIG_CLIENTS; character++)
		if (places_of(character, &present) > 1)
			fail_msg("SW_SEED=%llu, step %u: character %u is on two maps",
				(unsigned long long)seed, step, (unsigned)character);
}

static uint64_t counted(enum adm_counter counter)
{
	return counter_get(&adm_counters(rig.adm)->values[counter]);
}

static uint64_t on_shards(enum sim_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < RIG_SHARDS; s++)
		sum += counter_get(&sim_shard_counters(rig.shard[s])->values[counter]);
	return sum;
}

static void pass(uint32_t ms, bool late, bool portals)
{
	while (ms--) {
		rig.now_ns += NS_PER_MS;
		for (uint32_t s = 0; s < RIG_SHARDS; s++)
			rig_shard(rig.shard[s], rig.now_ns, &rig.random,
				portals && !rig_chance(&rig.random, 4));
		rig_turn(&rig, late);
	}
}

static void nobody_is_left(void)
{
	struct director_status status;

	assert_int_equal(counted(ADM_C_SESSIONS), 0);
	assert_int_equal(counted(ADM_C_PLACES), 0);
	for (uint32_t i = 0; i < director_slots(rig.director); i++) {
		director_status(rig.director, i, &status);
		assert_int_equal(status.players, 0);
	}
	for (uint32_t s = 0; s < RIG_SHARDS; s++)
		assert_int_equal(rig.shard[s]->players, 0);
	/* Every stay on a map ended once. */
	assert_int_equal(on_shards(SIM_JOINS), on_shards(SIM_LEAVES));
}

static void nobody_is_lost(void **state)
{
	uint64_t seed = (uint64_t)time(NULL);

	(void)state;
	if (getenv("SW_SEED"))
		seed = strtoull(getenv("SW_SEED"), NULL, 10);
	print_message("SW_SEED=%llu\n", (unsigned long long)seed);
	for (uint32_t round = 0; round < ROUNDS; round++, seed++) {
		uint32_t present;

		rig_start(&rig, seed, false);
		for (uint32_t step = 0; step < STEPS; step++) {
			uint32_t client = rig_chance(&rig.random, RIG_CLIENTS);

			if (!rig.client[client].peer && !rig_chance(&rig.random, 3))
				rig_connect(&rig, client);
			else if (!rig_chance(&rig.random, 120))
				rig_leave(&rig, client);
			pass(1, true, true);
			if (step % 8 == 0)
				check(seed, step);
		}
		/* Quiet: whoever is connected is on exactly one map. */
		pass(3000, false, false);
		check(seed, STEPS);
		for (uint32_t i = 0; i < RIG_CLIENTS; i++) {
			if (!rig.client[i].peer)
				continue;
			places_of(i + 1, &present);
			if (present != 1 || !rig.client[i].joined)
				fail_msg("SW_SEED=%llu: client %u is on no map",
					(unsigned long long)seed, i);
		}
		assert_true(counted(ADM_C_TRANSFERS) > 30);
		assert_true(counted(ADM_C_TURNED_BACK) > 2);
		assert_true(on_shards(SIM_INSTANCES_ENDED) > 1);
		for (uint32_t i = 0; i < RIG_CLIENTS; i++)
			rig_leave(&rig, i);
		pass(2000, false, false);
		nobody_is_left();
		rig_end(&rig);
	}
}

/* ---- with threads ---- */

static _Atomic bool stop;

static void *shard_thread(void *context)
{
	struct sim_shard *shard = context;
	uint64_t random = (uint64_t)(uintptr_t)shard | 1;

	while (!atomic_load(&stop)) {
		rig_shard(shard, mono_ns(), &random, !rig_chance(&random, 20));
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return NULL;
}

static void shards_on_their_threads(void **state)
{
	pthread_t threads[RIG_SHARDS];
	uint32_t turns = 0;

	(void)state;
	rig_start(&rig, 7, true);
	atomic_store(&stop, false);
	for (uint32_t s = 0; s < RIG_SHARDS; s++)
		assert_int_equal(pthread_create(&threads[s], NULL, shard_thread, rig.shard[s]), 0);
	/* Until enough has happened, however slow the machine; an hour would be a hang. */
	for (; turns < 3600000 &&
		(counted(ADM_C_TRANSFERS) < 100 ||
			counter_get(&director_counters(rig.director)->values[DIRECTOR_C_ENDED]) <
				3);
		turns++) {
		uint32_t client = rig_chance(&rig.random, RIG_CLIENTS);

		if (!rig.client[client].peer)
			rig_connect(&rig, client);
		else if (!rig_chance(&rig.random, 200))
			rig_leave(&rig, client);
		rig.now_ns = mono_ns();
		rig_turn(&rig, true);
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	for (uint32_t i = 0; i < RIG_CLIENTS; i++)
		rig_leave(&rig, i);
	for (uint32_t i = 0; i < 100000 && counted(ADM_C_SESSIONS); i++) {
		rig.now_ns = mono_ns();
		rig_turn(&rig, false);
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	atomic_store(&stop, true);
	for (uint32_t s = 0; s < RIG_SHARDS; s++)
		pthread_join(threads[s], NULL);
	if (rig.lost)
		fail_msg("%s", rig.fault);
	assert_true(counted(ADM_C_TRANSFERS) >= 100);
	nobody_is_left();
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_lost),
		cmocka_unit_test(shards_on_their_threads),
	};

	if (ticket_init())
		return 1;
	return cmocka_run_group_tests_name("travel", tests, NULL, NULL);
}
