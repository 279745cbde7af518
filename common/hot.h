/* hot.h: marks a thread as hot: from here on it must not allocate, lock or format. In production
 * both calls do nothing. Under tests/hot/guard.c (an LD_PRELOAD library) each forbidden libc call
 * of a marked thread is named, counted and fails the test. */
#ifndef SW_COMMON_HOT_H
#define SW_COMMON_HOT_H

/* Defined by the guard library only; weak, so that they are NULL without it. */
void sw_hot_guard_begin(void) __attribute__((weak));
void sw_hot_guard_end(void) __attribute__((weak));

static inline void hot_begin(void)
{
	if (sw_hot_guard_begin)
		sw_hot_guard_begin();
}

static inline void hot_end(void)
{
	if (sw_hot_guard_end)
		sw_hot_guard_end();
}

#endif
