#include "client/view.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 64u

void swc_view_init(struct swc_view *view, uint32_t actors_max)
{
	*view = (struct swc_view){.actors_max = actors_max};
}

void swc_view_free(struct swc_view *view)
{
	free(view->actors);
	free(view->slots);
	swc_view_init(view, view->actors_max);
}

void swc_view_clear(struct swc_view *view)
{
	view->count = 0;
	if (view->slots)
		memset(view->slots, 0, 2 * (size_t)view->capacity * sizeof(*view->slots));
}

static uint32_t home(const struct swc_view *view, uint32_t actor_id)
{
	/* Ids count upwards; Fibonacci hashing spreads them. */
	return (actor_id * 2654435769u >> 7) & (2 * view->capacity - 1);
}

/* The slot that holds the id, or the free one where it belongs. The table is at most half full. */
static uint32_t slot_of(const struct swc_view *view, uint32_t actor_id)
{
	uint32_t mask = 2 * view->capacity - 1;
	uint32_t slot = home(view, actor_id);

	while (view->slots[slot] && view->actors[view->slots[slot] - 1].actor_id != actor_id)
		slot = (slot + 1) & mask;
	return slot;
}

static bool grow(struct swc_view *view)
{
	uint32_t capacity = view->capacity ? 2 * view->capacity : CAPACITY_FIRST;
	struct swc_actor *actors = realloc(view->actors, capacity * sizeof(*actors));
	uint32_t *slots;

	if (!actors)
		return false;
	view->actors = actors;
	slots = calloc(2 * (size_t)capacity, sizeof(*slots));
	if (!slots)
		return false;
	free(view->slots);
	view->slots = slots;
	view->capacity = capacity;
	for (uint32_t i = 0; i < view->count; i++)
		view->slots[slot_of(view, view->actors[i].actor_id)] = i + 1;
	return true;
}

struct swc_actor *swc_view_find(const struct swc_view *view, uint32_t actor_id)
{
	uint32_t slot;

	if (!view->count)
		return NULL;
	slot = slot_of(view, actor_id);
	return view->slots[slot] ? &view->actors[view->slots[slot] - 1] : NULL;
}

struct swc_actor *swc_view_enter(
	struct swc_view *view, const struct swc_actor *actor, enum swc_refusal *refusal)
{
	struct swc_actor *known = swc_view_find(view, actor->actor_id);

	if (known) {
		*known = *actor;
		return known;
	}
	if (view->count == view->actors_max) {
		*refusal = SWC_REFUSAL_VIEW_FULL;
		return NULL;
	}
	if (view->count == view->capacity && !grow(view)) {
		*refusal = SWC_REFUSAL_NO_MEMORY;
		return NULL;
	}
	view->slots[slot_of(view, actor->actor_id)] = view->count + 1;
	view->actors[view->count] = *actor;
	return &view->actors[view->count++];
}

bool swc_view_leave(struct swc_view *view, uint32_t actor_id)
{
	uint32_t mask = 2 * view->capacity - 1;
	uint32_t hole, index;

	if (!view->count)
		return false;
	hole = slot_of(view, actor_id);
	if (!view->slots[hole])
		return false;
	index = view->slots[hole] - 1;

	/* Close the hole: whoever sits behind it, and could have sat in it, moves up. */
	for (uint32_t slot = (hole + 1) & mask; view->slots[slot]; slot = (slot + 1) & mask) {
		uint32_t want = home(view, view->actors[view->slots[slot] - 1].actor_id);

		if (((slot - want) & mask) >= ((slot - hole) & mask)) {
			view->slots[hole] = view->slots[slot];
			hole = slot;
		}
	}
	view->slots[hole] = 0;

	view->count--;
	if (index != view->count) { /* the last one takes the free place */
		uint32_t slot = slot_of(view, view->actors[view->count].actor_id);

		view->actors[index] = view->actors[view->count];
		view->slots[slot] = index + 1;
	}
	return true;
}

enum swc_moved swc_view_move(struct swc_view *view, uint32_t actor_id, uint32_t tick, int32_t x_mm,
	int32_t y_mm, uint16_t heading, uint32_t speed_mm_per_s)
{
	struct swc_actor *actor = swc_view_find(view, actor_id);

	if (!actor)
		return SWC_MOVED_UNKNOWN;
	if ((int32_t)(tick - actor->tick) < 0)
		return SWC_MOVED_OLD;
	actor->x_mm = x_mm;
	actor->y_mm = y_mm;
	actor->heading = heading;
	actor->speed_mm_per_s = speed_mm_per_s;
	actor->tick = tick;
	return SWC_MOVED;
}
