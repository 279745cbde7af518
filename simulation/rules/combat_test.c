/* Proves the arithmetic of blows: its table, its bounds, and that a tick count is never too short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simulation/rules/combat.h"

static void damage_is_as_the_table_says(void **state)
{
	static const struct {
		uint32_t attack, defence, roll, want;
	} table[] = {
		{10, 0, 0, 8},
		{10, 0, 20, 10},
		{10, 0, 40, 12},
		{10, 0, 41, 12},
		{10, 0, UINT32_MAX, 12},
		{10, 3, 0, 5},
		{10, 9, 0, 1},
		{10, 10, 40, 1},
		{10, 11, 40, 1},
		{0, UINT32_MAX, 0, 1},
		{UINT32_MAX, 0, 40, 1200000},
		{UINT32_MAX, UINT32_MAX, 40, 1},
		{99, 0, 39, 117},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(sw_combat_damage(table[i].attack, table[i].defence, table[i].roll),
			table[i].want);
}

static void ticks_are_never_too_short(void **state)
{
	static const struct {
		uint32_t ms, hz, want;
	} table[] = {
		{1000, 20, 20},
		{1001, 20, 21},
		{0, 20, 1},
		{1, 60, 1},
		{100, 15, 2},
		{UINT32_MAX, 1000, UINT32_MAX / 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(sw_combat_ticks(table[i].ms, table[i].hz), table[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_is_as_the_table_says),
		cmocka_unit_test(ticks_are_never_too_short),
	};

	return cmocka_run_group_tests_name("combat rules", tests, NULL, NULL);
}
