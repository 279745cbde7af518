/* Proves that a shard thread that runs handlers allocates nothing and makes no system call (which
 * includes taking a contended lock): the thread runs under a seccomp filter that kills it at any,
 * with malloc counted. And that the watchdog's signal is safe wherever it strikes: a second thread
 * interrupts handlers at random moments. And that the log thread may read texts meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "simulation/script/test_host.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0

/* Every allocation of the process comes by here. */
static _Thread_local uint64_t allocations;
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
	allocations++;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	allocations++;
	return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	allocations++;
	return __libc_realloc(memory, bytes);
}

void free(void *memory)
{
	allocations++;
	__libc_free(memory);
}
#endif

static const char busy[] =
	"local seen = {}\n"
	"npc { name = 'a', x = 1, y = 1,\n"
	"  on_click = function(npc, player)\n"
	"    seen[player.name .. math.random(1000)] = { npc.x, npc.y, tick() }\n"
	"    npc:say(player, ('%s: %d'):format(player.name, npc:distance(player) // 1 | 0))\n"
	"    log(('a b c'):gsub('%w', string.upper)) for w in ('x y z'):gmatch('%a') do end\n"
	"  end,\n"
	"  on_tick = function(npc)\n"
	"    local t = {} for i = 1, 20 do t[i] = math.random(100) end table.sort(t)\n"
	"    for k in pairs({ x = 1, y = 2, z = 3 }) do t[k] = k .. k end\n"
	"    npc.last = table.concat(t, ' ') npc:walk(t[1], -t[20])\n"
	"  end }\n"
	"npc { name = 'bad', x = 1, y = 1,\n"
	"  on_click = function(npc, player) local x = nil .. 'x' end,\n"
	"  on_tick = function(npc) local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end "
	"end }";

#if !SANITIZED
/* Runs in a child. Returns its exit status: 0, or what went wrong. */
static int filtered(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	static struct test_host host;
	struct script_text text;
	uint64_t before;

	test_host_start(&host, 4 << 20);
	/* So large that a slow machine's watchdog never signals: its signal's return is a system
	 * call. */
	host.vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = 100000000;
	host.vm->config.limit_us[SCRIPT_CONTEXT_NPC_TICK] = 100000000;
	test_host_load_ok(&host, busy);
	script_vm_own(host.vm);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 3;
	before = allocations;
	for (host.tick = 0; host.tick < 5000; host.tick++) {
		if (script_vm_click(host.vm, 0, TEST_PLAYER) != SCRIPT_OK ||
			script_vm_tick(host.vm, 0) != SCRIPT_OK)
			_exit(4);
		if (script_vm_click(host.vm, 1, TEST_PLAYER) != SCRIPT_ERROR)
			_exit(5);
		if (host.tick % 500 == 0 && script_vm_tick(host.vm, 1) != SCRIPT_OVER_MEMORY)
			_exit(6);
		script_vm_gc(host.vm);
		while (script_vm_text_pop(host.vm, &text))
			;
	}
	_exit(allocations == before ? 0 : 7);
}

static int in_child(int (*run)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* The filter does bite. */
static int one_call(void)
{
	struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog program = {1, filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 3;
	(void)syscall(SYS_getppid);
	return 0;
}
#endif

static void no_system_call_no_allocation(void **unused)
{
	(void)unused;
#if SANITIZED
	skip(); /* the sanitizers make their own */
#else
	int status = in_child(one_call);

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = in_child(filtered);
	if (WIFSIGNALED(status))
		fail_msg("ended by signal %d (%d: a system call)", WTERMSIG(status), SIGSYS);
	assert_int_equal(WEXITSTATUS(status), 0);
#endif
}

struct storm {
	struct script_vm *vm;
	_Atomic bool stop;
	uint64_t random;
	uint64_t sent;
};

/* What the watchdog does to an overdue handler, done to any at any time. */
static void *storm(void *context)
{
	struct storm *storm = context;

	while (!atomic_load(&storm->stop)) {
		uint64_t sequence = atomic_load(&storm->vm->sequence);

		storm->random = storm->random * 6364136223846793005u + 1442695040888963407u;
		for (volatile uint64_t spin = storm->random >> 50; spin > 0; spin--)
			;
		if (sequence & 1) {
			atomic_store(&storm->vm->overdue, sequence);
			syscall(SYS_tgkill, getpid(), atomic_load(&storm->vm->thread_id), SIGURG);
			storm->sent++;
		}
	}
	return NULL;
}

#ifdef __SANITIZE_THREAD__
/* The thread sanitizer holds a signal back until the thread calls something that it knows: a
 * handler that loops in Lua never does. */
#define SKIP_SIGNALS() skip()
#else
#define SKIP_SIGNALS() (void)0
#endif

static void signals_at_any_moment(void **unused)
{
	static struct test_host host;
	struct storm at = {.random = 1};
	uint32_t ended = 0, ran = 0;
	pthread_t thread;

	(void)unused;
	SKIP_SIGNALS();
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host, busy);
	test_host_load_ok(&host,
		"npc { name = 'loop', x = 1, y = 1, on_click = function()\n"
		"    local function f(n) if n > 0 then return 1 + f(n - 1) end return 0 end\n"
		"    for i = 1, 50 do f(50) local s = '' for j = 1, 20 do s = s .. j end\n"
		"      table.sort({ 5, 3, 1, 4 }, function(a, b) return a < b end)\n"
		"      s = s:gsub('%d', function(d) return d + 1 end) end end }");
	at.vm = host.vm;
	assert_int_equal(pthread_create(&thread, NULL, storm, &at), 0);
	for (uint32_t i = 0; ended < 2000 && i < 60000; i++) {
		enum script_result result = script_vm_click(
			host.vm, i % 2 ? test_host_npc(&host, "loop") : 0, TEST_PLAYER);

		if (result != SCRIPT_OK && result != SCRIPT_OVER_TIME)
			fail_msg("%s: %s", script_result_name(result), test_host_error(&host));
		ended += result == SCRIPT_OVER_TIME;
		ran += result == SCRIPT_OK;
		assert_false(host.vm->armed);
		assert_null((void *)(uintptr_t)lua_gethook(host.vm->state));
		assert_true(host.vm->running == host.vm->state);
		if (host.vm->jobs[0].thread)
			assert_null((void *)(uintptr_t)lua_gethook(host.vm->jobs[0].thread));
		script_vm_gc(host.vm);
		(void)test_host_error(&host);
		if (i % 64 == 0)
			arena_check(&host.vm->arena);
	}
	atomic_store(&at.stop, true);
	pthread_join(thread, NULL);
	assert_true(ended > 100 && ran > 100);
	/* And after it nothing is left over. */
	for (int i = 0; i < 100; i++)
		assert_int_equal(script_vm_tick(host.vm, 0), SCRIPT_OK);
	test_host_stop(&host);
}

/* Two threads, a VM each, one watchdog: the one that loops is ended, the other never. */
static void *other_map(void *context)
{
	struct test_host *host = context;
	uint64_t failed = 0;

	script_vm_own(host->vm);
	for (int i = 0; i < 3000; i++)
		failed += script_vm_click(host->vm, 0, TEST_PLAYER) != SCRIPT_OK;
	return (void *)(uintptr_t)failed;
}

static void one_watchdog_many_maps(void **unused)
{
	static struct test_host loops, works;
	pthread_t thread;
	void *failed;

	(void)unused;
	SKIP_SIGNALS();
	test_host_start(&loops, 2 << 20);
	works = loops;
	assert_int_equal(script_vm_new(&works.vm, &loops.config, loops.vm->ops, &works), 0);
	works.vm->config.limit_us[SCRIPT_CONTEXT_NPC_CLICK] = 10000000;
	test_host_load_ok(&loops,
		"npc { name = 'a', x = 1, y = 1, on_click = function() while true do end end }");
	test_host_load_ok(&works, busy);
	assert_int_equal(pthread_create(&thread, NULL, other_map, &works), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(script_vm_click(loops.vm, 0, TEST_PLAYER), SCRIPT_OVER_TIME);
		(void)test_host_error(&loops);
	}
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_true(counter_get(&loops.vm->values[SCRIPT_COUNT_SIGNALS]) >= 20);
	assert_int_equal(counter_get(&works.vm->values[SCRIPT_COUNT_SIGNALS]), 0);
	script_vm_free(works.vm);
	test_host_stop(&loops);
}

/* The log thread reads while the shard writes: each text whole, in order, lost ones counted. The
 * writer waits for the reader now and then, or a busy machine might let it read nothing at all. */
static _Atomic uint64_t texts_read;

static void *read_texts(void *context)
{
	struct test_host *host = context;
	static struct script_text text;
	uint64_t read = 0, next = 0;

	for (;;) {
		unsigned long number = 0;
		char fill[64];

		if (!script_vm_text_pop(host->vm, &text)) {
			sched_yield();
			continue;
		}
		if (text.kind == SCRIPT_TEXT_ERROR)
			break;
		if (sscanf(text.text, "%lu %63s", &number, fill) != 2 || number < next ||
			text.bytes != strlen(text.text) || strspn(fill, "x") != 1 + number % 60)
			return (void *)(uintptr_t)-1;
		next = number + 1;
		atomic_store(&texts_read, ++read);
	}
	return (void *)(uintptr_t)read;
}

static void texts_between_threads(void **unused)
{
	static struct test_host host;
	pthread_t thread;
	void *read;
	uint64_t lost;

	(void)unused;
	test_host_start(&host, 4 << 20);
	test_host_load_ok(&host, "local n = 0\n"
				 "npc { name = 'a', x = 1, y = 1, on_tick = function()\n"
				 "    log(n, ('x'):rep(1 + n % 60)) n = n + 1 end,\n"
				 "  on_click = function() error('end') end }");
	assert_int_equal(pthread_create(&thread, NULL, read_texts, &host), 0);
	for (int i = 0; i < 20000; i++) {
		uint64_t seen = atomic_load(&texts_read);

		assert_int_equal(script_vm_tick(host.vm, 0), SCRIPT_OK);
		while (i % 100 == 0 && atomic_load(&texts_read) == seen)
			sched_yield();
	}
	assert_int_equal(script_vm_click(host.vm, 0, TEST_PLAYER), SCRIPT_ERROR);
	pthread_join(thread, &read);
	lost = counter_get(&host.vm->values[SCRIPT_COUNT_TEXTS_LOST]);
	assert_int_equal((uintptr_t)read + lost, 20000);
	assert_in_range((uintptr_t)read, 200, 20000); /* one for each wait at least */
	test_host_stop(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_system_call_no_allocation),
		cmocka_unit_test(signals_at_any_moment),
		cmocka_unit_test(one_watchdog_many_maps),
		cmocka_unit_test(texts_between_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
