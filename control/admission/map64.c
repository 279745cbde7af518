#include "control/admission/map64.h"

#include <stdlib.h>

bool map64_init(struct map64 *map, uint32_t count_max)
{
	uint32_t slots = 16;

	while (slots < count_max * 2ull && slots < 1u << 31)
		slots *= 2; /* at most half full: probes stay short */
	map->slots = calloc(slots, sizeof(*map->slots));
	map->mask = slots - 1;
	map->count = 0;
	map->count_max = count_max;
	return map->slots != NULL;
}

void map64_fini(struct map64 *map)
{
	free(map->slots);
	map->slots = NULL;
}

/* splitmix64's finisher: character ids are consecutive, handles differ in few bits. */
static uint32_t home(const struct map64 *map, uint64_t key)
{
	key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ull;
	key = (key ^ key >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(key ^ key >> 31) & map->mask;
}

/* The key's slot, or the free one where it would go. */
static uint32_t find(const struct map64 *map, uint64_t key)
{
	uint32_t at = home(map, key);

	while (map->slots[at].key && map->slots[at].key != key)
		at = (at + 1) & map->mask;
	return at;
}

uint32_t map64_get(const struct map64 *map, uint64_t key)
{
	const struct map64_slot *slot = &map->slots[find(map, key)];

	return key && slot->key ? slot->value : MAP64_NONE;
}

bool map64_put(struct map64 *map, uint64_t key, uint32_t value)
{
	struct map64_slot *slot;

	if (!key)
		return false;
	slot = &map->slots[find(map, key)];
	if (!slot->key) {
		if (map->count == map->count_max)
			return false;
		map->count++;
	}
	*slot = (struct map64_slot){key, value};
	return true;
}

void map64_remove(struct map64 *map, uint64_t key)
{
	uint32_t hole = find(map, key), at = hole;

	if (!key || !map->slots[hole].key)
		return;
	map->count--;
	/* Moves back what probed past the hole, so that no tombstone is needed. */
	for (;;) {
		uint32_t wants;

		at = (at + 1) & map->mask;
		if (!map->slots[at].key)
			break;
		wants = home(map, map->slots[at].key);
		if (((at - wants) & map->mask) < ((at - hole) & map->mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole].key = 0;
}
