#include "simulation/testing_quiet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

/* Of the thread: others may allocate meanwhile. */
static _Thread_local bool quiet;

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

void test_silence(void)
{
	quiet = true;
}

void test_speak(void)
{
	quiet = false;
}

void test_end_in_silence(void)
{
	syscall(SYS_exit_group, 0); /* all that is allowed; glibc's own would clean up before */
}

/* A filter, not the strict mode, which would take the cycle counter away too. */
void test_forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}
