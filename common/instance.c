#include "common/instance.h"

/* Rooms come and go; so many may run where the configuration does not say. */
#define ROOMS_DEFAULT 8u

const char *instance_state_name(enum instance_state state)
{
	static const char *const names[INSTANCE_STATE_COUNT] = {
#define NAME(id, name, meaning) name,
		INSTANCE_STATES(NAME)
#undef NAME
	};

	return (uint32_t)state < INSTANCE_STATE_COUNT ? names[state] : "?";
}

uint32_t instance_at_start(const struct config_map *map)
{
	return map->kind == CONFIG_MAP_ROOM ? 0 : map->instances;
}

uint32_t instance_max(const struct config_map *map)
{
	uint32_t least = map->kind == CONFIG_MAP_ROOM ? ROOMS_DEFAULT : 1;
	uint32_t needed = instance_at_start(map) + map->warm;

	if (map->instances_max)
		return map->instances_max;
	return needed > least ? needed : least;
}

uint32_t instance_first(const struct sw_config *config, uint32_t definition)
{
	uint32_t slots = 0;

	for (uint32_t i = 0; i < definition && i < config->map_count; i++)
		slots += instance_max(&config->maps[i]);
	return slots;
}

uint32_t instance_definition(const struct sw_config *config, uint32_t slot)
{
	uint32_t definition = 0;

	for (; definition < config->map_count; definition++) {
		uint32_t max = instance_max(&config->maps[definition]);

		if (slot < max)
			break;
		slot -= max;
	}
	return definition;
}
