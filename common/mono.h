/* mono.h: monotonic time. Only loops (main, poll loop, control loops, tools) read the clock and
 * pass the value down; the engine, the simulation and every rate limiter take time as argument.
 * The wall clock is used for nothing but log lines, ticket expiry and database timestamps. */
#ifndef SW_COMMON_MONO_H
#define SW_COMMON_MONO_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS 1000000ull
#undef NS_PER_S /* rte_cycles.h has it as an int, which overflows at 3 * NS_PER_S */
#define NS_PER_S 1000000000ull

/* Any thread. Nanoseconds since an arbitrary start; never goes back. vDSO, about 20 ns, no system
 * call on the clocks that servers use. */
static inline uint64_t mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

#endif
