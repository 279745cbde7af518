/* Proves: after sim_shard_new a shard neither allocates nor frees (malloc and its kin are replaced
 * and abort), nor makes a system call (seccomp kills the process at the first), whatever comes:
 * joins, leaves, inputs, clicks, junk, full rings, crowds, late ticks, a stop; nor when instances
 * with scripts are prepared on another thread meanwhile, handed over, ended and handed back, for
 * which the other maps' ticks do not a slice more or less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/counters.h"
#include "simulation/instance.h"
#include "simulation/random.h"
#include "simulation/testing.h"
#include "simulation/testing_quiet.h"

/* A busy life for a shard of 1,500 players; `before` and `after` surround its own work. */
static void live(void (*before)(void), void (*after)(void))
{
	struct test_shard t;
	uint64_t seed = 3;

	test_init(&t, 300, 1500);
	t.config.maps[0].monsters = 200;
	t.config.rings.slots = 8192;
	test_start(&t, 1);
	for (uint32_t round = 0; round < 40; round++) {
		for (uint32_t n = 0; n < 1500; n++) {
			uint32_t who = sim_random_below(&seed, 1500);
			uint8_t junk[40] = {SW_MSG_INPUT, 0x12, (uint8_t)sim_random(&seed)};

			if (!t.clients[who].knows || sim_random_below(&seed, 30) == 0)
				test_join(&t, who, false, 0, 0);
			else if (sim_random_below(&seed, 40) == 0)
				test_gone(&t, who);
			else if (sim_random_below(&seed, 100) == 0)
				test_packet(&t, who, SW_CHANNEL_WORLD, junk, sizeof(junk));
			else if (sim_random_below(&seed, 20) == 0)
				test_click(&t, who, 1 + sim_random_below(&seed, 2000));
			else
				test_input(&t, who, round * 8 + 1, 8, 127, -30);
		}
		if (round == 35)
			test_stop(&t);
		if (round % 8 == 7)
			t.now_ns += 400 * NS_PER_MS;
		before();
		test_run_holding(&t, 100);
		after();
		if (round % 3) { /* else the rings stay full */
			test_read_world(&t);
			test_read_dataplane(&t);
			test_read_control(&t);
		}
	}
	test_end(&t);
}

static void no_allocation(void **state)
{
	(void)state;
	live(test_silence, test_speak);
}

static void nothing(void)
{
}

static void no_system_call(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		struct test_shard t;

		test_init(&t, 300, 500);
		t.config.maps[0].monsters = 100;
		test_start(&t, 1);
		for (uint32_t i = 0; i < 500; i++) {
			test_join(&t, i, false, 0, 0);
			test_input(&t, i, 1, 8, 100, 100);
		}
		test_forbid_system_calls();
		test_run_holding(&t, 3000);
		test_end_in_silence();
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	if (WIFSIGNALED(status))
		fail_msg("ended by signal %d: a system call in a tick", WTERMSIG(status));
	assert_int_equal(status, 0);
}

/* ---- instances come and go ---- */

#define ROUNDS 12u

static char folder[] = "/tmp/sw-quiet-XXXXXX";

struct builder {
	struct sim_instances *table;
	_Atomic uint32_t wanted, built; /* ids: the shard's side asks, the builder answers */
};

static void *build(void *context)
{
	struct builder *b = context;
	char error[256];
	uint32_t id;

	while ((id = atomic_load(&b->wanted)) != UINT32_MAX) {
		if (id == atomic_load(&b->built))
			continue;
		if (sim_instance_build(b->table, id, error, sizeof(error)))
			abort();
		atomic_store(&b->built, id);
	}
	return NULL;
}

static void push(struct test_shard *t, enum msg_type type, const void *body, uint32_t bytes)
{
	struct msg message[5];

	memcpy(msg_begin(message, type, HANDLE_NONE, bytes), body, bytes);
	if (!msg_ring_push(t->links.from_control, message))
		abort();
}

/* A second of meadow with 200 walkers, again and again; in between, if rooms are wanted, one is
 * built on the other thread while meadow ticks, handed over, joined and left until it ends. Returns
 * the slices that meadow took. `strict` forbids system calls in the end. */
static uint64_t with_rooms(bool rooms, bool strict, uint64_t *room_ticks)
{
	struct script_watchdog *watchdog = NULL;
	struct builder b = {.wanted = 0};
	struct test_shard t;
	char error[256];
	pthread_t thread;
	uint64_t slices;

	test_init(&t, 300, 500);
	t.config.map_count = 2;
	t.config.maps[0].instances_max = 1;
	t.config.maps[1] = (struct config_map){.name = "arena",
		.kind = CONFIG_MAP_ROOM,
		.rule = "timed",
		.match_s = 1,
		.empty_s = 1,
		.instances_max = 2,
		.width_m = 16,
		.height_m = 16,
		.tick_hz = 30,
		.view_m = 40,
		.players_max = 4,
		.script = "room.lua"};
	strcpy(t.config.simulation.content, folder);
	t.config.simulation.script_memory_bytes = 1 << 20;
	if (script_watchdog_start(&watchdog, SCRIPT_WATCHDOG_PERIOD_US))
		abort();
	b.table = sim_instances_new(&t.config, watchdog, 1, error, sizeof(error));
	if (!b.table || sim_instances_check(b.table, error, sizeof(error)))
		abort();
	t.links.watchdog = watchdog;
	t.links.instances = b.table;
	test_start(&t, 1);
	push(&t, MSG_INSTANCE_OPEN, &(struct msg_instance){instance_id(0, 1), INSTANCE_OPEN},
		sizeof(struct msg_instance));
	for (uint32_t i = 0; i < 200; i++)
		test_join(&t, i, false, 0, 0);
	if (pthread_create(&thread, NULL, build, &b))
		abort();
	test_run_holding(&t, 10); /* the thread's own ids, once */
	if (strict)
		test_forbid_system_calls();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t id = instance_id(1 + round % 2, 1 + round / 2);
		struct msg_player_join join = {.session = 9000 + round,
			.character_id = 9000,
			.instance = id,
			.payload_bytes_max = 1300,
			.map = "arena"};
		struct msg_player_remove leave = {.session = join.session};

		for (uint32_t i = 0; i < 200 && !strict; i++)
			test_input(&t, i, round * 20 + 1, 8, 127, -30);
		if (rooms)
			atomic_store(&b.wanted, id);
		test_silence();
		test_run_holding(&t, 50); /* while it is prepared */
		test_speak();
		while (rooms && atomic_load(&b.built) != id)
			; /* the clock of the shard stands: both runs tick alike */
		if (rooms) {
			push(&t, MSG_INSTANCE_OPEN, &(struct msg_instance){id, INSTANCE_OPEN},
				sizeof(struct msg_instance));
			push(&t, MSG_PLAYER_JOIN, &join, sizeof(join));
		}
		test_silence();
		test_run_holding(&t, 400);
		test_speak();
		if (rooms)
			push(&t, MSG_PLAYER_REMOVE, &leave, sizeof(leave));
		test_silence();
		test_run_holding(&t, 2200); /* the room ends */
		test_speak();
		if (!strict) {
			test_read_world(&t);
			test_read_dataplane(&t);
			test_read_control(&t);
		}
	}
	if (rooms && test_counter(&t, SIM_INSTANCES_ENDED) != ROUNDS)
		abort();
	if (strict)
		test_end_in_silence();
	atomic_store(&b.wanted, UINT32_MAX);
	pthread_join(thread, NULL);
	slices = test_counter(&t, SIM_SLICES);
	*room_ticks = 0;
	for (uint32_t i = 1; i < 3; i++)
		*room_ticks += counter_get(&sim_instances_gauges(b.table)[i].ticks);
	test_end(&t);
	sim_instances_free(b.table);
	script_watchdog_stop(watchdog);
	return slices;
}

static void instances_cost_running_maps_nothing(void **state)
{
	uint64_t ticks, none, without, with;

	(void)state;
	without = with_rooms(false, false, &none);
	with = with_rooms(true, false, &ticks);
	assert_int_equal(none, 0);
	assert_in_range(ticks, ROUNDS * 30, ROUNDS * 90);
	/* A room's tick is one slice; the rest is meadow's. */
	assert_int_equal(with - ticks, without);
}

static void no_system_call_with_instances(void **state)
{
	uint64_t ticks;
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		with_rooms(true, true, &ticks);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	if (WIFSIGNALED(status))
		fail_msg("ended by signal %d: a system call at a hand-over", WTERMSIG(status));
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_allocation),
		cmocka_unit_test(no_system_call),
		cmocka_unit_test(instances_cost_running_maps_nothing),
		cmocka_unit_test(no_system_call_with_instances),
	};
	char path[64];
	FILE *file;
	int failed;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/room.lua", folder);
	file = fopen(path, "w");
	if (!file)
		return 1;
	fputs("npc { name = 'Guard', x = 8, y = 8, on_tick = function(n) n:walk(0, 1) end }\n",
		file);
	fclose(file);
	live(nothing, nothing); /* the test's own first-time allocations */
	failed = cmocka_run_group_tests_name("quiet", tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failed;
}
