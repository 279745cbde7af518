/* paths: ways around walls for a map's monsters (rules/path.h). Private to simulation; the shard's
 * thread.
 *
 * Whoever hunts the same player, or goes home to the same place, shares a field. A map has a fixed
 * number of them; the one that nobody followed for longest makes room. One is made at a time, so
 * many tiles a tick, however many are wanted; until it is there monsters do without, and those who
 * come with another wish ask again. A field is a function of its target and the ground: what the
 * state hash has is which ones there are. */
#ifndef SW_SIMULATION_PATHS_H
#define SW_SIMULATION_PATHS_H

#include "simulation/rules/path.h"
#include "simulation/state.h"

#define SIM_PATHS      16u
#define SIM_PATH_TILES 1024u /* made in a tick: the largest field takes four */
#define SIM_PATH_NEAR  2u    /* tiles: so far from the target a field will do, for a while */

struct sim_paths {
	struct sw_path path[SIM_PATHS];
	uint32_t used_beat[SIM_PATHS]; /* by whoever followed it last; 0: empty */
	uint32_t making;               /* SIM_NONE: none */
	struct sw_path_queue queue;
};

/* Set-up: where there are walls. */
void sim_paths_init(struct sim_paths *paths);

/* Where to walk from slot's place to get to (x, y): to_x, to_y. THERE: as far as walls are
 * concerned it is there; CLOSED: there is no way; OUTSIDE: nothing is known (yet), walk as without
 * walls. Asks for the field where there is none. Stage 6. */
enum sw_path_step sim_path_next(struct sim_map *m, uint32_t slot, int32_t x_mm, int32_t y_mm,
	int32_t *to_x_mm, int32_t *to_y_mm);

/* Stage 6, before monsters: the field that is being made. Resumable at m->cursor, in tiles. */
bool sim_paths_make(struct sim_map *m, struct sim_slice *slice);

#endif
