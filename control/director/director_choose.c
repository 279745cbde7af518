/* Whom a player is sent to, and who is counted where. */
#include <string.h>

#include "common/check.h"
#include "common/mono.h"
#include "control/director/director_internal.h"

uint32_t director_definition(const struct director *d, const char *name)
{
	for (uint32_t i = 0; i < d->config->map_count; i++)
		if (d->definitions[i].served &&
			!strncmp(d->config->maps[i].name, name, MAP_NAME_BYTES))
			return i;
	return DIRECTOR_NO_DEFINITION;
}

static bool has_room(
	const struct director *d, uint32_t definition, const struct slot *slot, uint64_t now_ns)
{
	return now_ns >= slot->refused_until_ns &&
	       slot_get(&slot->players) < d->config->maps[definition].players_max;
}

bool director_takes_back(const struct director *d, uint32_t id, uint64_t now_ns)
{
	const struct slot *slot = director_find(d, id);

	return slot &&
	       has_room(d, instance_definition(d->config, instance_slot(id)), slot, now_ns) &&
	       (slot_state(slot) == INSTANCE_OPEN || slot_state(slot) == INSTANCE_LOCKED);
}

static struct slot *fullest_open(
	struct director *d, uint32_t definition, uint32_t avoid, uint64_t now_ns)
{
	const struct definition *def = &d->definitions[definition];
	struct slot *best = NULL;

	for (uint32_t i = def->first; i < def->first + def->slots; i++) {
		struct slot *slot = &d->slots[i];

		if (slot_state(slot) != INSTANCE_OPEN || slot_get(&slot->id) == avoid ||
			!has_room(d, definition, slot, now_ns))
			continue;
		if (!best || slot_get(&slot->players) > slot_get(&best->players))
			best = slot;
	}
	return best;
}

enum director_choice director_choose(struct director *d, uint32_t definition, uint32_t left,
	uint32_t avoid, uint64_t now_ns, uint32_t *id)
{
	struct definition *def = &d->definitions[definition];
	struct slot *slot;

	CHECK(definition < d->config->map_count && def->served);
	if (left != avoid && director_takes_back(d, left, now_ns) &&
		instance_definition(d->config, instance_slot(left)) == definition) {
		director_count(d, DIRECTOR_C_CHOSE_LEFT);
		*id = left;
		return DIRECTOR_CHOSE;
	}
	slot = fullest_open(d, definition, avoid, now_ns);
	if (slot) {
		director_count(d, DIRECTOR_C_CHOSE_OPEN);
		*id = slot_get(&slot->id);
		return DIRECTOR_CHOSE;
	}
	if (d->stopped)
		return DIRECTOR_NONE;
	for (uint32_t i = def->first; i < def->first + def->slots; i++) {
		if (slot_state(&d->slots[i]) != INSTANCE_WARM)
			continue;
		director_count(d, DIRECTOR_C_CHOSE_WARM);
		director_count(d, DIRECTOR_C_OPENED_WARM);
		director_open_slot(d, &d->slots[i]);
		*id = slot_get(&d->slots[i].id);
		director_order_next(d, now_ns);
		return DIRECTOR_CHOSE;
	}
	if (director_free_slot(d, def) || director_with_state(d, def, INSTANCE_BUILDING)) {
		director_count(d, DIRECTOR_C_CHOSE_WAIT);
		def->wanted = def->wanted ? def->wanted : 1;
		director_order_next(d, now_ns);
		return DIRECTOR_WAIT;
	}
	director_count(d, DIRECTOR_C_CHOSE_NONE);
	return DIRECTOR_NONE;
}

uint64_t director_changes(const struct director *d)
{
	return d->changes;
}

bool director_runs(const struct director *d, uint32_t id, uint32_t *shard)
{
	const struct slot *slot = director_find(d, id);

	if (!slot || !slot_is_running(slot))
		return false;
	*shard = slot_get(&slot->shard);
	return true;
}

void director_enter(struct director *d, uint32_t id)
{
	struct slot *slot = director_find(d, id);

	if (!slot)
		return;
	slot_put(&slot->players, slot_get(&slot->players) + 1);
	slot->empty_since_ns = 0;
}

void director_leave(struct director *d, uint32_t id)
{
	struct slot *slot = director_find(d, id);

	if (!slot || !slot_get(&slot->players))
		return;
	slot_put(&slot->players, slot_get(&slot->players) - 1);
	slot->refused_until_ns = 0;
	d->changes++;
}

void director_refused(struct director *d, uint32_t id, uint64_t now_ns)
{
	struct slot *slot = director_find(d, id);

	if (slot)
		slot->refused_until_ns = now_ns + DIRECTOR_RETRY_MS * NS_PER_MS;
}
