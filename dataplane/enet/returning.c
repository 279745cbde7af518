/* returning.c: addresses that proved themselves of late: they completed a handshake, or a
 * connection of theirs ended, in the last ten minutes. Who drops during a flood of invented sources
 * gets back in by them (guard.c); nothing else follows from being known, and nothing is kept but a
 * keyed hash and a time.
 *
 * Four to a set, one line of the cache; a newcomer takes the place of the one that has been quiet
 * longest. Only who has received what we sent to his address gets a place, so inventing addresses
 * pushes nobody out. */
#include "dataplane/enet/engine.h"

static struct returning *returning_set(struct sw_enet *e, uint64_t key)
{
	return &e->returning[(uint32_t)(key >> 8) & e->returning_mask & ~(RETURNING_WAYS - 1)];
}

void returning_note(struct sw_enet *e, const struct sw_enet_addr *address)
{
	uint64_t key = guard_source_key(e, address);
	struct returning *set = returning_set(e, key), *place = set;

	for (uint32_t i = 0; i < RETURNING_WAYS; i++) {
		if (set[i].key == key) {
			place = &set[i];
			break;
		}
		if (set[i].proven_ms < place->proven_ms)
			place = &set[i];
	}
	*place = (struct returning){.key = key, .proven_ms = e->now_ms};
}

bool returning_known(struct sw_enet *e, uint64_t key)
{
	const struct returning *set = returning_set(e, key);

	for (uint32_t i = 0; i < RETURNING_WAYS; i++) {
		if (set[i].key == key)
			return e->now_ms - set[i].proven_ms < RETURNING_MS;
	}
	return false;
}

void returning_prefetch(struct sw_enet *e, uint64_t key)
{
	__builtin_prefetch(returning_set(e, key));
}
