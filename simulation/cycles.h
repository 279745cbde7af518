/* cycles.h: the CPU's cycle counter, for metrics only, never for decisions (shard.h). About 8 ns.
 */
#ifndef SW_SIMULATION_CYCLES_H
#define SW_SIMULATION_CYCLES_H

#include <stdint.h>

static inline uint64_t sim_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#else
	return 0; /* stage times read 0 */
#endif
}

#endif
