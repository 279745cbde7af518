/* ground.h: what a swc_ground is. Private to the library. */
#ifndef SWC_GROUND_H
#define SWC_GROUND_H

#include "client/stormweir.h"
#include "simulation/rules/ground.h"

struct swc_ground {
	struct sw_ground *value;
};

#endif
