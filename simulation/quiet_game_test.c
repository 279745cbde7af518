/* Proves for the whole game what quiet_test.c proves for walking: blows, deaths, loot, bags,
 * trades, quests of NPCs that ask, and a battle from its countdown to the way home, all at once and
 * recorded, neither allocate nor make a system call in the shard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/instance.h"
#include "simulation/record.h"
#include "simulation/script/script.h"
#include "simulation/testing_game.h"
#include "simulation/testing_quiet.h"

#define ROUNDS        400u
#define ROUND_MS      100u
#define CLIENTS_BYTES (64u << 20) /* what the test's own clients may allocate, at most */

static char folder[] = "/tmp/sw-quiet-game-XXXXXX";

struct rig {
	struct test_shard t;
	struct sim_instances *table;
	struct sim_record *record;
	struct script_watchdog *watchdog;
	uint64_t recorded; /* bytes */
};

static void start(struct rig *r)
{
	char error[512] = "";

	memset(r, 0, sizeof(*r));
	test_init(&r->t, 50, 60);
	test_game_config(&r->t, folder);
	/* So seldom that a slow machine's handlers are never interrupted: the return from a signal
	 * is a system call. */
	assert_int_equal(script_watchdog_start(&r->watchdog, 500000), 0);
	r->t.links.watchdog = r->watchdog;
	r->table = sim_instances_new(&r->t.config, r->watchdog, 1, error, sizeof(error));
	if (!r->table)
		fail_msg("%s", error);
	r->record = sim_record_new(1u << 22);
	assert_non_null(r->record);
	r->t.links.instances = r->table;
	r->t.links.record = r->record;
	test_start(&r->t, 1);
	test_open_instance(&r->t, TEST_GAME_MEADOW);
	test_open_instance(&r->t, TEST_GAME_ARENA);
}

static void end(struct rig *r)
{
	test_end(&r->t);
	sim_instances_free(r->table);
	sim_record_free(r->record);
	script_watchdog_stop(r->watchdog);
}

/* The shard alone is silent; who reads what it sent is the test. */
static void run(struct rig *r, uint32_t ms)
{
	static uint8_t bytes[1u << 16];
	uint32_t got;

	for (uint32_t i = 0; i < ms; i++) {
		test_silence();
		test_run_holding(&r->t, 1);
		test_speak();
		test_read_world(&r->t);
		test_read_dataplane(&r->t);
		test_read_control(&r->t);
		while ((got = byte_ring_pop(r->record->out, bytes, sizeof(bytes))))
			r->recorded += got;
	}
}

static void play(struct rig *r)
{
	struct test_game game;

	test_game_begin(&game, &r->t, 7);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		run(r, ROUND_MS);
		test_game_round(&game);
	}
}

static void no_allocation(void **state)
{
	static struct rig r;

	(void)state;
	start(&r);
	play(&r);
	test_game_happened(&r.t);
	assert_false(byte_ring_closed(r.record->out));
	assert_true(r.recorded > 100000);
	end(&r);
}

/* Memory that malloc has already, so that the clients' own allocations are no system calls. */
static void take_memory(void)
{
	void *memory;

	mallopt(M_MMAP_THRESHOLD, 2 * CLIENTS_BYTES);
	mallopt(M_TRIM_THRESHOLD, 4 * CLIENTS_BYTES);
	memory = malloc(CLIENTS_BYTES);
	assert_non_null(memory);
	free(memory);
}

static void no_system_call(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		static struct rig r;

		take_memory();
		start(&r);
		run(&r, 1); /* the shard asks for its thread's ids, once */
		test_forbid_system_calls();
		play(&r);
		test_end_in_silence();
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	if (WIFSIGNALED(status))
		fail_msg("ended by signal %d: a system call in a tick", WTERMSIG(status));
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_allocation),
		cmocka_unit_test(no_system_call),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	test_game_write(folder);
	failed = cmocka_run_group_tests_name("quiet_game", tests, NULL, NULL);
	test_game_remove(folder);
	rmdir(folder);
	return failed;
}
