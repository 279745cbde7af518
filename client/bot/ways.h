/* ways.h: around walls to a place (simulation/rules/path.h), for all bots together: the last fields
 * of directions are kept. One thread. And what is worth going to: prey that may be struck. */
#ifndef SWC_BOT_WAYS_H
#define SWC_BOT_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "client/stormweir.h"

struct ways;

struct ways *ways_new(void); /* NULL: no memory */
void ways_free(struct ways *ways);

/* Where to walk now to get from one place to another, which nothing hides if this returns true with
 * the place itself. False: no way is known (too far, walled off, no ground). ways may be NULL. */
bool ways_next(struct ways *ways, const struct swc_ground *ground, int32_t x_mm, int32_t y_mm,
	int32_t to_x_mm, int32_t to_y_mm, int32_t *next_x_mm, int32_t *next_y_mm);

/* Whether the server would let one strike the other, as far as the ground says: neither stands in a
 * safe zone. Without a ground nobody knows: true. */
bool ways_may_strike(
	const struct swc_ground *ground, const struct swc_self *self, const struct swc_actor *prey);

#endif
