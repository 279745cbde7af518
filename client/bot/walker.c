#include "client/bot/walker.h"

#include "client/bot/random.h"

#define NS_PER_MS 1000000ull

void walker_init(struct walker *walker, uint64_t seed, uint32_t index)
{
	*walker = (struct walker){.random = bot_random_begin(seed, index)};
}

void walker_towards(int64_t x_mm, int64_t y_mm, int64_t to_x_mm, int64_t to_y_mm, int *dx, int *dy)
{
	int64_t x = to_x_mm - x_mm, y = to_y_mm - y_mm;
	int64_t longer = (x < 0 ? -x : x) > (y < 0 ? -y : y) ? (x < 0 ? -x : x) : (y < 0 ? -y : y);

	/* swc_walk shortens what is longer than 127. */
	*dx = longer ? (int)(x * 127 / longer) : 0;
	*dy = longer ? (int)(y * 127 / longer) : 0;
}

bool walker_blocked(struct walker *walker, const struct swc_self *self)
{
	bool blocked;

	if (self->input_sequence == walker->seen_input)
		return false;
	blocked = (walker->dx || walker->dy) && walker->seen_input &&
		  self->x_mm == walker->seen_x_mm && self->y_mm == walker->seen_y_mm;
	walker->seen_input = self->input_sequence;
	walker->seen_x_mm = self->x_mm;
	walker->seen_y_mm = self->y_mm;
	return blocked;
}

void walker_step(struct walker *walker, const struct swc_self *self, uint64_t now_ns)
{
	int64_t edge_x = self->width_mm / 8, edge_y = self->height_mm / 8;
	bool blocked = walker_blocked(walker, self);

	if (!blocked && now_ns < walker->until_ns)
		return;
	walker->until_ns = now_ns + (500 + bot_random(&walker->random) % 2500) * NS_PER_MS;
	if (bot_random(&walker->random) % 5 == 0) { /* a rest */
		walker->dx = walker->dy = 0;
		return;
	}
	/* A wall may stand between it and the middle. */
	if (!blocked &&
		(self->x_mm < edge_x || self->x_mm > (int64_t)self->width_mm - edge_x ||
			self->y_mm < edge_y || self->y_mm > (int64_t)self->height_mm - edge_y)) {
		walker_towards(self->x_mm, self->y_mm, self->width_mm / 2, self->height_mm / 2,
			&walker->dx, &walker->dy);
		return;
	}
	do {
		walker->dx = (int)(bot_random(&walker->random) % 255) - 127;
		walker->dy = (int)(bot_random(&walker->random) % 255) - 127;
	} while (walker->dx * walker->dx + walker->dy * walker->dy > 127 * 127);
}
