/* check.h: the tool for our own bugs. Nothing from the wire, a script or a file is ever CHECKed. */
#ifndef SW_COMMON_CHECK_H
#define SW_COMMON_CHECK_H

/* Prints "file:line: function: check failed: text" and aborts. Any thread. Never returns. */
_Noreturn void check_failed(const char *file, int line, const char *function, const char *text);

/* CHECK: always on; for set-up and once-a-tick code. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (__builtin_expect(!(cond), 0))                                                  \
			check_failed(__FILE__, __LINE__, __func__, #cond);                         \
	} while (0)

/* DCHECK: per packet, per entity; compiled in by the dev, asan, tsan and fuzz presets only. */
#ifdef SW_DCHECK
#define DCHECK(cond) CHECK(cond)
#else
#define DCHECK(cond)                                                                               \
	do {                                                                                       \
		(void)sizeof(cond);                                                                \
	} while (0)
#endif

#endif
