/* director_testing: a director whose builds, shards and loads are variables of the test. One
 * thread.
 */
#ifndef SW_CONTROL_DIRECTOR_DIRECTOR_TESTING_H
#define SW_CONTROL_DIRECTOR_DIRECTOR_TESTING_H

#include "common/mono.h"
#include "control/director/director.h"

#define SHARDS 3u

extern struct sw_config config;
extern struct director *director;
extern uint64_t now_ns;
extern uint32_t ordered, orders; /* the build under way; how many there were */
extern uint32_t opened[1024], opened_on[1024], opens;
extern uint32_t closed[1024], closes;
extern uint32_t asked_ids[64], asked_definitions[64], asks; /* what director_open came to */
extern struct placement_load loads[SHARDS];
extern const struct director_ops director_testing_ops;

/* Definitions 0: meadow, a map, twice from the start, up to 3. 1: arena, a room, one warm, up to 3.
 * 2: cave, on shard 2, at first demand. */
void begin(void);
/* The build under way ends; false: there is none. */
bool built(bool good);
void all_built(void);
struct director_status status_of(uint32_t id);
/* The shard of the instance says so. */
void says(uint32_t id, enum instance_state state);
uint64_t counted(enum director_counter counter);
enum director_choice choose(uint32_t definition, uint32_t left, uint32_t avoid, uint32_t *id);

#endif
