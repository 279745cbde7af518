/* walker.h: where a bot walks. Random legs of half a second to three, with pauses; away from the
 * map's edges, and another way at walls. Pure: the same seed walks the same way on the same map. */
#ifndef SWC_BOT_WALKER_H
#define SWC_BOT_WALKER_H

#include <stdbool.h>
#include <stdint.h>

#include "client/stormweir.h"

struct walker {
	uint64_t random;
	uint64_t until_ns;
	int dx, dy;
	uint32_t seen_input; /* at the last look, and where it was then */
	int32_t seen_x_mm, seen_y_mm;
};

void walker_init(struct walker *walker, uint64_t seed, uint32_t index);

/* Whether it walked since the last look and got nowhere: a wall is in its way. */
bool walker_blocked(struct walker *walker, const struct swc_self *self);

/* Sets dx, dy for the time now; they change only at the end of a leg, or at a wall. */
void walker_step(struct walker *walker, const struct swc_self *self, uint64_t now_ns);

/* Full speed from (x, y) towards (to_x, to_y): the direction's axes, at most 127 long. */
void walker_towards(int64_t x_mm, int64_t y_mm, int64_t to_x_mm, int64_t to_y_mm, int *dx, int *dy);

#endif
