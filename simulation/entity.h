/* entity: what stands on a map and is seen there. Private to simulation; the shard's thread. */
#ifndef SW_SIMULATION_ENTITY_H
#define SW_SIMULATION_ENTITY_H

#include "simulation/state.h"

/* Puts the slot's entity on the map under a new generation and wire id. Stage 1, or set-up. */
void sim_entity_appear(struct sim_map *m, uint32_t slot, enum sim_kind kind, int32_t x_mm,
	int32_t y_mm, uint16_t heading);

/* Takes it off; it stays a ghost in its slot, with its place, until nobody knows it. Stage 1. */
void sim_entity_vanish(struct sim_map *m, uint32_t slot);

/* Its record must be sent: it changed, or an input of it was applied. */
void sim_entity_touch(struct sim_map *m, uint32_t slot);

/* Applies one input by the rules, and touches. */
void sim_entity_walk(
	struct sim_map *m, uint32_t slot, uint32_t speed_mm_per_s, int32_t dx, int32_t dy);

/* Whether what stands in slot a can do something to what stands in slot b: within reach_mm, no wall
 * between (sw_move_reach). Returns an ActionRefusal: NONE, TOO_FAR or NO_SIGHT. Its cost is added
 * to the map's (sim_work). */
uint32_t sim_reach(struct sim_map *m, uint32_t a, uint32_t b, uint32_t reach_mm);

/* Whether nothing solid lies between it and a place on the map, however far. */
bool sim_sees(struct sim_map *m, uint32_t slot, int32_t x_mm, int32_t y_mm);

/* Encodes the record (WorldUpdate.entities) of its state. */
void sim_entity_encode(struct sim_entity *e);

/* On the map, maybe in a wall; where one may stand; the nearest such place (see rules/move.h). */
bool sim_position_inside(const struct sim_map *m, int32_t x_mm, int32_t y_mm);
bool sim_position_legal(const struct sim_map *m, int32_t x_mm, int32_t y_mm);
bool sim_position_clamp(struct sim_map *m, int32_t *x_mm, int32_t *y_mm);

#endif
