#include "simulation/rules/combat.h"

static uint32_t bounded(uint32_t stat)
{
	return stat < SW_COMBAT_STAT_MAX ? stat : SW_COMBAT_STAT_MAX;
}

uint32_t sw_combat_damage(uint32_t attack, uint32_t defence, uint32_t roll)
{
	uint32_t strength, damage;

	attack = bounded(attack);
	defence = bounded(defence);
	strength = attack > defence ? attack - defence : 0;
	if (roll >= SW_COMBAT_ROLLS)
		roll = SW_COMBAT_ROLLS - 1;
	damage = strength * (80 + roll) / 100;
	return damage ? damage : 1;
}

uint32_t sw_combat_ticks(uint32_t ms, uint32_t tick_hz)
{
	uint64_t ticks = ((uint64_t)ms * tick_hz + 999) / 1000;

	return !ticks ? 1 : ticks > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)ticks;
}
