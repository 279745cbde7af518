/* Proves: after sim_shard_new a shard neither allocates nor frees (malloc and its kin are replaced
 * and abort), nor makes a system call (seccomp kills the process at the first), whatever comes:
 * joins, leaves, inputs, clicks, junk, full rings, crowds, late ticks, a stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulation/random.h"
#include "simulation/testing.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static bool quiet;

static void allowed(void)
{
	if (quiet)
		__builtin_trap();
}

void *malloc(size_t bytes)
{
	allowed();
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	allowed();
	return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	allowed();
	return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	allowed();
	return __libc_memalign(alignment, bytes);
}

void free(void *memory)
{
	allowed();
	__libc_free(memory);
}

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

static void silence(void)
{
	quiet = true;
}

static void speak(void)
{
	quiet = false;
}

static void no_allocation(void **state)
{
	(void)state;
	live(silence, speak);
}

static void nothing(void)
{
}

static void end_in_silence(void)
{
	syscall(SYS_exit, 0); /* glibc's own would be exit_group, which is forbidden */
}

/* After this any system call but exit kills. A filter, not the strict mode, which would take the
 * cycle counter away too. */
static void forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
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
		forbid_system_calls();
		test_run_holding(&t, 3000);
		end_in_silence();
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

	live(nothing, nothing); /* the test's own first-time allocations */
	return cmocka_run_group_tests_name("quiet", tests, NULL, NULL);
}
