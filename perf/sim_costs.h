/* sim_costs: what single units of a shard's work cost, to set simulation/costs.h by: each on every
 * player or monster of a map in turn, so that their memory is as cold as in a tick. CPU time of the
 * thread. */
#ifndef SW_PERF_SIM_COSTS_H
#define SW_PERF_SIM_COSTS_H

struct sim_shard;

/* Prints a line a unit: nanoseconds, the median of several rounds, beside the constant. Changes
 * what is on the shard's first map: nothing is to be measured of it afterwards. */
void sim_costs_print(struct sim_shard *shard);

#endif
