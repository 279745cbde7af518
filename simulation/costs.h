/* costs.h: what work costs, in nominal nanoseconds. They bound slices without a clock (shard.h);
 * they decide when a stage pauses, never what it does.
 *
 * Measured with perf/sim_bench on a 2-core cloud machine, 3,000 to 25,000 walkers and crowds, and
 * rounded up: what walks, sees and is told; monsters, blows, events, portals, trades looked at, and
 * vanishing and coming back (--costs). Estimates, on the safe side: LIFE, TRADE_PLAN, CHASE, SENSE,
 * SCRIPT, and the commits and items that are counted as SEND. */
#ifndef SW_SIMULATION_COSTS_H
#define SW_SIMULATION_COSTS_H

#define SIM_COST_MESSAGE   60    /* a ring message popped and its player found */
#define SIM_COST_PARSE     150   /* a client message decoded */
#define SIM_COST_LIFE      500   /* a join, leave or owed message tried */
#define SIM_COST_SEND      200   /* a message built and pushed */
#define SIM_COST_TRADE     20    /* a trade looked at, or a message of it checked */
#define SIM_COST_TRADE_PLAN 2000 /* two bags gone through: what is given, and where it goes */
#define SIM_COST_SLOT      4     /* a table slot looked at */
#define SIM_COST_INPUT     120   /* an input applied */
#define SIM_COST_WALLS     30    /* more for a step where there are walls */
#define SIM_COST_MONSTER   25    /* a monster's tick */
#define SIM_COST_CHASE     150   /* a monster that chases or goes back */
#define SIM_COST_TILE      5     /* a tile that a line of sight passes, or that is looked at */
#define SIM_COST_PLACE     10    /* a place on the ground looked at: is it free? */
#define SIM_COST_PATH      500   /* a field of directions begun: 4 KiB cleared */
#define SIM_COST_PATH_TILE 50    /* a tile of it: its eight neighbours */
#define SIM_COST_SENSE     300   /* a monster looks around, and each cell near */
#define SIM_COST_BLOW      100    /* a blow: the checks, the line of sight, the event */
#define SIM_COST_BACK      700   /* somebody vanishes or comes back */
#define SIM_COST_EVENT     20    /* a blow looked at for an observer */
#define SIM_COST_SCRIPT    10000 /* a Lua handler */
#define SIM_COST_SCRIPT_TICK 2000 /* an NPC's on_tick */
#define SIM_COST_RECORD    60    /* an entity record encoded */
#define SIM_COST_CROSSING  1500  /* an actor changes its cell */
#define SIM_COST_CELL      5     /* a cell looked at */
#define SIM_COST_COPY      8     /* a record copied into its cell */
#define SIM_COST_SORT      4     /* an entity of a full cell, in each of two passes of sorting */
#define SIM_COST_VIEW      100   /* an observer with something to compare */
#define SIM_COST_ENTER     120   /* an actor told to an observer */
#define SIM_COST_LEAVE     20    /* an observer told that one is gone */
#define SIM_COST_CANDIDATE 4     /* an actor of a list or a known set looked at */
#define SIM_COST_LOOK      2     /* an actor looked at, whether it is near, or a run of them */
#define SIM_COST_WORD      2     /* a word of a known set */
#define SIM_COST_UPDATE    400   /* an update of whole cells */
#define SIM_COST_PICK      8     /* a record picked for an update in a crowd */
#define SIM_COST_QUEST_BAG 100  /* a bag gone through for one item */

#endif
