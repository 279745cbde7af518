/* The rule timed: a room that lasts for maps[].match_time, and ends before that when it has been
 * empty for maps[].empty_time. */
#include "simulation/match/match.h"

struct timed {
	uint32_t here;        /* players in the room */
	uint64_t empty_since; /* sim_match_ms */
};

static void opened(struct sim_map *m, void *state)
{
	struct timed *timed = state;

	timed->empty_since = sim_match_ms(m);
}

static void joined(struct sim_map *m, void *state, uint32_t slot, bool returning)
{
	struct timed *timed = state;

	(void)m;
	(void)slot;
	(void)returning;
	timed->here++;
}

static void left(struct sim_map *m, void *state, uint32_t slot)
{
	struct timed *timed = state;

	(void)slot;
	if (!--timed->here)
		timed->empty_since = sim_match_ms(m);
}

static uint32_t tick(struct sim_map *m, void *state)
{
	const struct timed *timed = state;
	uint64_t now_ms = sim_match_ms(m);

	if (now_ms >= m->config.match_s * 1000ull ||
		(!timed->here && now_ms - timed->empty_since >= m->config.empty_s * 1000ull))
		sim_match_end(m);
	return SIM_COST_SLOT;
}

static void ended(struct sim_map *m, void *state)
{
	(void)m;
	(void)state;
}

const struct sim_match_rule sim_match_timed = {
	.name = "timed",
	.number = 1,
	.state_bytes = sizeof(struct timed),
	.opened = opened,
	.joined = joined,
	.left = left,
	.tick = tick,
	.ended = ended,
};
