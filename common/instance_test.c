/* Proves that slots of instances follow from the configuration alone: how many each definition has,
 * where they begin, whose a slot is; and that an id gives its slot and generation back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/instance.h"

static void definitions_have_their_slots(void **state)
{
	static const struct {
		enum config_map_kind kind;
		uint32_t instances, warm, instances_max;
		uint32_t at_start, slots;
	} rows[] = {
		{CONFIG_MAP_PERSISTENT, 1, 0, 0, 1, 1},
		{CONFIG_MAP_PERSISTENT, 3, 2, 0, 3, 5},
		{CONFIG_MAP_PERSISTENT, 0, 0, 0, 0, 1},
		{CONFIG_MAP_PERSISTENT, 1, 0, 4, 1, 4},
		{CONFIG_MAP_ROOM, 1, 2, 0, 0, 8},
		{CONFIG_MAP_ROOM, 1, 12, 0, 0, 12},
		{CONFIG_MAP_ROOM, 0, 1, 3, 0, 3},
	};
	static struct sw_config config;
	uint32_t count = sizeof(rows) / sizeof(rows[0]), slot = 0;

	(void)state;
	config.map_count = count;
	for (uint32_t i = 0; i < count; i++)
		config.maps[i] = (struct config_map){.kind = rows[i].kind,
			.instances = rows[i].instances,
			.warm = rows[i].warm,
			.instances_max = rows[i].instances_max};
	for (uint32_t i = 0; i < count; i++) {
		if (instance_max(&config.maps[i]) != rows[i].slots ||
			instance_at_start(&config.maps[i]) != rows[i].at_start)
			fail_msg("row %u", i);
		assert_int_equal(instance_first(&config, i), slot);
		for (uint32_t n = 0; n < rows[i].slots; n++, slot++)
			assert_int_equal(instance_definition(&config, slot), i);
	}
	assert_int_equal(instance_first(&config, count), slot);
	assert_int_equal(instance_definition(&config, slot), count);
}

static void ids_come_apart(void **state)
{
	static const uint32_t slots[] = {0, 1, 255}, generations[] = {1, 2, 0xffffff};

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < 3; j++) {
			uint32_t id = instance_id(slots[i], generations[j]);

			assert_int_not_equal(id, INSTANCE_NONE);
			assert_int_equal(instance_slot(id), slots[i]);
			assert_int_equal(instance_generation(id), generations[j]);
		}
	for (int s = 0; s < INSTANCE_STATE_COUNT; s++)
		assert_true(strlen(instance_state_name((enum instance_state)s)) > 3);
	assert_string_equal(instance_state_name((enum instance_state)99), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(definitions_have_their_slots),
		cmocka_unit_test(ids_come_apart),
	};

	return cmocka_run_group_tests_name("instance", tests, NULL, NULL);
}
