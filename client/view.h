/* view.h: who is in view. A table of actors that ViewChange fills and WorldUpdate moves.
 *
 * Channels 1 and 3 are not ordered against each other, so a position may come before its actor's
 * enter, after its leave, or from before the enter: swc_view_move ignores all three. Pure: no
 * socket, no clock. One thread. Memory grows with the actors seen, up to actors_max. */
#ifndef SWC_VIEW_H
#define SWC_VIEW_H

#include "client/stormweir.h"

struct swc_view {
	struct swc_actor *actors; /* dense, [0, count) */
	uint32_t *slots;          /* open addressing: index + 1 of an actor, 0 is free */
	uint32_t count, capacity; /* slots has 2 * capacity entries, a power of two */
	uint32_t actors_max;
};

void swc_view_init(struct swc_view *view, uint32_t actors_max);
void swc_view_free(struct swc_view *view);

/* Forgets everyone; keeps the memory. */
void swc_view_clear(struct swc_view *view);

/* Adds an actor, or replaces the one with its id. Returns the entry, valid until the next enter or
 * leave. NULL with *refusal set (VIEW_FULL, NO_MEMORY) if there is no place. */
struct swc_actor *swc_view_enter(
	struct swc_view *view, const struct swc_actor *actor, enum swc_refusal *refusal);

/* Returns false if the id is not in view. */
bool swc_view_leave(struct swc_view *view, uint32_t actor_id);

enum swc_moved { SWC_MOVED, SWC_MOVED_UNKNOWN, SWC_MOVED_OLD };

/* Brings an actor up to a state of the given tick. A state of the same tick counts as new: the
 * server may split one tick's update into several datagrams. Ticks wrap. */
enum swc_moved swc_view_move(struct swc_view *view, uint32_t actor_id, uint32_t tick, int32_t x_mm,
	int32_t y_mm, uint16_t heading, uint32_t speed_mm_per_s);

/* NULL if not in view. */
struct swc_actor *swc_view_find(const struct swc_view *view, uint32_t actor_id);

#endif
