/* testing_game: a shard on which everything of the game goes on at once: a meadow with monsters
 * that fight, things that fall, are picked up, moved and dropped, players who trade, do quests of
 * NPCs that ask and are in parties that change, and a battle.
 * Test programs only; one thread. */
#ifndef SW_SIMULATION_TESTING_GAME_H
#define SW_SIMULATION_TESTING_GAME_H

#include "simulation/testing.h"

#define TEST_GAME_WALKERS  50u /* on the meadow; below TEST_OWNED_MAX with the fighters */
#define TEST_GAME_FIGHTERS 8u  /* in the battle, the clients after those */

#define TEST_GAME_GROUP 4u /* clients next to each other who may be in a party */

struct test_game {
	struct test_shard *t;
	uint64_t random;
	uint32_t sequence[TEST_GAME_WALKERS + TEST_GAME_FIGHTERS];
	uint64_t party_version;
	uint32_t
		members[TEST_GAME_WALKERS / TEST_GAME_GROUP]; /* a bit each, of groups of clients */
};

/* Writes the game's data into a folder; removes them. */
void test_game_write(const char *folder);
void test_game_remove(const char *folder);
/* After test_init: the maps "meadow" and "arena", with that folder. The meadow has a script: the
 * shard and its instances need a watchdog. */
void test_game_config(struct test_shard *t, const char *folder);
/* After test_start, when both instances are handed over: everybody joins. */
void test_game_begin(struct test_game *g, struct test_shard *t, uint64_t seed);
/* Each says something. */
void test_game_round(struct test_game *g);
/* Fails unless all of it has happened. */
void test_game_happened(const struct test_shard *t);

#define TEST_GAME_MEADOW instance_id(0, 1)
#define TEST_GAME_ARENA  instance_id(1, 1)

#endif
