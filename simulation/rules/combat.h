/* combat: the arithmetic of blows. Pure: integers only, no state; any thread. */
#ifndef SW_SIMULATION_RULES_COMBAT_H
#define SW_SIMULATION_RULES_COMBAT_H

#include <stdint.h>

#define SW_COMBAT_ROLLS    41u /* a roll is 0..SW_COMBAT_ROLLS - 1, each as likely */
#define SW_COMBAT_STAT_MAX 1000000u

/* What a blow takes: attack less defence, times 80 % (roll 0) to 120 % (roll 40), rounded down, and
 * at least 1. Stats beyond SW_COMBAT_STAT_MAX count as that. */
uint32_t sw_combat_damage(uint32_t attack, uint32_t defence, uint32_t roll);

/* Ticks of so many milliseconds, rounded up, at least 1. */
uint32_t sw_combat_ticks(uint32_t ms, uint32_t tick_hz);

#endif
