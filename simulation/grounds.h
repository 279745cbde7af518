/* grounds: the grounds of a configuration's maps, and where on a map's ground one appears. Private
 * to simulation. sim_grounds_* are the set-up thread's; the rest is the shard's. */
#ifndef SW_SIMULATION_GROUNDS_H
#define SW_SIMULATION_GROUNDS_H

#include "common/config.h"
#include "simulation/rules/ground.h"

#define SIM_NO_HERD UINT16_MAX

struct sim_map;
struct sim_portal;

/* By index of config->maps; NULL where the map has no file: open ground. Immutable: any number of
 * maps, shards and threads may read one. */
struct sim_grounds {
	struct sw_ground *of[CONFIG_MAPS_MAX];
	struct sim_portal *portals[CONFIG_MAPS_MAX]; /* of each ground, where they lead */
};

/* Reads the file of every map of the configuration. NULL after an error: no memory, or all faults
 * of all files, a line each, also a map whose file is not as large as the configuration says, and
 * one where nobody can begin (no spawn), and
 * then each portal that leads nowhere. */
struct sim_grounds *sim_grounds_new(
	const struct sw_config *config, char *error, size_t error_bytes);
void sim_grounds_free(struct sim_grounds *grounds); /* NULL is fine */

/* Where one appears who has no place yet: in a spawn of the ground that is not for arrivals only,
 * drawn by chance; on open ground near the middle. Legal. */
void sim_spawn_place(struct sim_map *m, int32_t *x_mm, int32_t *y_mm);

/* The same for monster i of the map: those of the configuration anywhere, then those of each herd
 * of the ground, near its place. Sets *herd, SIM_NO_HERD for none. */
void sim_monster_place(struct sim_map *m, uint32_t i, int32_t *x_mm, int32_t *y_mm, uint16_t *herd);

#endif
