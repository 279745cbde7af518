/* game_load.h: players (game.h) over some wire, from the first login to the figures. One thread. */
#ifndef SW_PERF_GEN_GAME_LOAD_H
#define SW_PERF_GEN_GAME_LOAD_H

#include "perf/gen/enet_load.h"
#include "perf/gen/game.h"
#include "perf/gen/options.h"

/* Logs all in, waits options->settle_s, says "gen: playing N", plays for options->seconds (0: until
 * a signal), says "gen: done" behind a line a figure, of what came after "playing", and plays on.
 * At a signal the players leave, it says "gen: left", and sleeps, without touching the wire, until
 * the next: a server on net_memif must end first (perf/README.md). Returns the exit status: 1 when
 * not all came in, said on stderr.
 * SIGUSR1 meanwhile: the figures so far, "gen: mark", and counting begins anew; with options->storm the first one lets
 * those log in, and "gen: storm over" says when none of them is under way any more. */
int game_run(const struct gen_options *options, const struct flow_ops *flow_ops,
	const struct enet_wire *wire);

#endif
