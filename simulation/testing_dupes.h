/* testing_dupes: what the tests against duplicating share: two who trade, ways to go in the middle
 * of it, and what has to hold in the end. Test programs only; one thread. */
#ifndef SW_SIMULATION_TESTING_DUPES_H
#define SW_SIMULATION_TESTING_DUPES_H

#include "simulation/testing.h"

enum { DUPES_GEL = 1, DUPES_CLUB = 10 }; /* gel stacks to 50 */
enum { DUPES_ANN, DUPES_BOB, DUPES_CROWD = 8 };

/* Ways to go. */
enum dupes_way {
	DUPES_STAYS,
	DUPES_VANISHES,
	DUPES_IS_REPLACED,
	DUPES_GOES_TO_A_MAP,
	DUPES_DIES,
	DUPES_WAYS
};

/* The game's data, for a group of tests. */
int dupes_make_folder(void **state);
int dupes_remove_folder(void **state);

/* A map without players. */
void dupes_begin(struct test_shard *t);
/* And Ann, who has 20 gold, 5 gel in slot 0 and a club in 1, and Bob, who has 7 gold and 4 gel in
 * slot 9. */
void dupes_start(struct test_shard *t);
void dupes_open_trade(struct test_shard *t);
/* Five gel and the club against seven gold, up to the commit, which is held. */
void dupes_agree(struct test_shard *t);

void dupes_go(struct test_shard *t, uint32_t client, enum dupes_way way);

/* What the first of the clients own together; item 0: gold. */
int64_t dupes_of_all(const struct test_shard *t, uint32_t item, uint32_t clients);
int64_t dupes_on_the_ground(const struct test_shard *t, uint32_t item);

/* Everybody has come again, nothing is under way: what the shard has and what clients were shown is
 * what is stored; nothing is bound. what and row name the case in a failure. */
void dupes_check(struct test_shard *t, uint32_t clients, const char *what, uint64_t row);

#endif
