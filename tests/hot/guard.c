/* guard.c: an LD_PRELOAD library that catches what a hot thread must not do.
 *
 * Between sw_hot_guard_begin and sw_hot_guard_end (common/hot.h) a thread's calls of malloc,
 * calloc, realloc, free, posix_memalign, aligned_alloc, the pthread locks and condition variables,
 * and stdio formatting to a stream are violations: the first few are printed with their call stack
 * to stderr, all are counted, and the process exits with status 86 when the thread ends its hot
 * section. SW_HOT_GUARD_REPORT=FILE: one line "hot thread NAME: N violations" is appended there, so
 * that a test can also see that the guard was really on. System calls are watched from outside,
 * with strace (hot_test.sh). */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#define SHOWN_MAX 5

void sw_hot_guard_begin(void);
void sw_hot_guard_end(void);

static __thread bool hot;
static __thread bool inside;
static __thread uint64_t violations;

static void violation(const char *what)
{
	void *stack[24];
	char line[160];
	int depth;

	if (!hot || inside)
		return;
	inside = true;
	if (violations++ < SHOWN_MAX) {
		int length = snprintf(line, sizeof(line), "hot guard: %s on a hot thread:\n", what);

		if (write(STDERR_FILENO, line, (size_t)length) < 0)
			violations++;
		depth = backtrace(stack, 24);
		backtrace_symbols_fd(stack, depth, STDERR_FILENO);
	}
	inside = false;
}

void sw_hot_guard_begin(void)
{
	void *warm[4];

	backtrace(warm, 4); /* loads libgcc now, which allocates */
	violations = 0;
	hot = true;
}

void sw_hot_guard_end(void)
{
	const char *path = getenv("SW_HOT_GUARD_REPORT");
	char name[32] = "?", line[96];

	hot = false;
	pthread_getname_np(pthread_self(), name, sizeof(name));
	if (path) {
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
		int length = snprintf(line, sizeof(line), "hot thread %s: %llu violations\n", name,
			(unsigned long long)violations);

		if (fd < 0 || write(fd, line, (size_t)length) != length)
			_exit(86);
		close(fd);
	}
	if (violations)
		_exit(86);
}

/* glibc's own entries: reachable without dlsym, which allocates. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t bytes)
{
	violation("malloc");
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	violation("calloc");
	return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	violation("realloc");
	return __libc_realloc(old, bytes);
}

void free(void *memory)
{
	if (memory)
		violation("free");
	__libc_free(memory);
}

void *aligned_alloc(size_t align, size_t bytes)
{
	violation("aligned_alloc");
	return __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
	violation("posix_memalign");
	*out = __libc_memalign(align, bytes);
	return *out ? 0 : 12;
}

#define FORWARD(result, name, params, args)                                                        \
	result name params;                                                                        \
	result name params                                                                         \
	{                                                                                          \
		static result(*next) params;                                                       \
		if (!next)                                                                         \
			next = (result(*) params)dlsym(RTLD_NEXT, #name);                          \
		violation(#name);                                                                  \
		return next args;                                                                  \
	}

FORWARD(int, pthread_mutex_lock, (pthread_mutex_t * m), (m))
FORWARD(int, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
FORWARD(int, pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))
FORWARD(int, pthread_cond_signal, (pthread_cond_t * c), (c))
FORWARD(int, pthread_cond_broadcast, (pthread_cond_t * c), (c))
FORWARD(int, vfprintf, (FILE * f, const char *format, va_list list), (f, format, list))
FORWARD(int, puts, (const char *text), (text))
FORWARD(size_t, fwrite, (const void *data, size_t size, size_t count, FILE *f),
	(data, size, count, f))
