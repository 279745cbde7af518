/* test_host: a map for the tests of this folder. It notes what scripts say and do. */
#ifndef SW_SIMULATION_SCRIPT_TEST_HOST_H
#define SW_SIMULATION_SCRIPT_TEST_HOST_H

#include "simulation/script/vm.h"

#define TEST_PLAYER  1000001u /* handle of the player "Ada"; an NPC's is its index + 1 */
#define TEST_MONSTER 1000003u /* of a wolf */
#define TEST_GHOST   1000002u /* of a player who left */

struct test_host {
	struct script_vm *vm;
	struct script_config config;
	uint32_t tick;
	uint64_t random;
	uint32_t says, moves;
	int8_t dx, dy;
	char said[SCRIPT_SAY_BYTES + 1];
	char sent[SCRIPT_NAME_BYTES + 40]; /* map, has_position, x_mm, y_mm */
	char error[SCRIPT_TEXT_BYTES];     /* of the last load */
	/* It knows the item "gel" and the quest "wolves". */
	struct script_quest quest;
	enum script_kept kept; /* what it answers */
	enum script_intent intent;
	uint64_t keeper;                    /* the NPC of the last keep */
	uint32_t waits;                     /* seconds of the last wait */
	char shouted[SCRIPT_SAY_BYTES + 1]; /* or announced */
	char done[80];                      /* the last deed, intent or move of a match */
	bool asks_wait;                     /* questions reach the player */
	uint32_t keeps, asks, job, changes, choices;
	struct script_change change[SCRIPT_CHANGES_MAX]; /* [changes] of the last keep */
	char choice[SCRIPT_CHOICE_BYTES + 1];            /* the last one of the last question */
};

/* Starts a watchdog and a VM. Fails the test when it cannot. */
void test_host_start(struct test_host *host, uint32_t memory_bytes);
void test_host_stop(struct test_host *host);

/* Another VM beside the one that host->vm has been; it is in host->vm then. */
void test_host_again(struct test_host *host);

/* Loads a file named test.lua and binds its NPCs. */
enum script_result test_host_load(struct test_host *host, const char *source);

/* Loads it; fails the test with the error. */
void test_host_load_ok(struct test_host *host, const char *source);

/* Index of an NPC; fails the test when there is none. The newest of that name. */
uint32_t test_host_npc(struct test_host *host, const char *name);

/* The oldest error's text, "" if there is none. Valid until the next call. */
const char *test_host_error(struct test_host *host);

#endif
