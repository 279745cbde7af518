/* show: what swreplay prints of a replay: lines for a developer who hunts a bug. One thread. */
#ifndef SW_SIMULATION_REPLAY_SHOW_H
#define SW_SIMULATION_REPLAY_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "simulation/replay/replay.h"

struct show {
	FILE *out;
	bool players, in, sent;             /* --print */
	uint64_t character;                 /* of players and messages; 0: all */
	char map[MAP_NAME_BYTES];           /* "": all */
	const struct sim_replay_view *view; /* set once the replay is made */
	bool open;                          /* the range of ticks has been reached */
};

/* The map of an instance that runs in the replay; "?" when it does not. */
const char *show_map_name(const struct show *show, uint32_t instance);
/* Whether lines of that instance are wanted. */
bool show_wants(const struct show *show, uint32_t instance);

/* Each player of the instance, after a tick of it. */
void show_players(const struct show *show, uint32_t instance);

/* As sim_replay_ops; ctx is the struct show. */
void show_in(void *ctx, uint32_t source, const struct msg *message);
void show_out(void *ctx, uint32_t to, const struct msg *message);

#endif
