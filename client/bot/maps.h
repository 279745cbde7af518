/* maps.h: the map files that all bots share. */
#ifndef SWC_BOT_MAPS_H
#define SWC_BOT_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "client/bot/ways.h"
#include "client/stormweir.h"

struct maps {
	struct swc_ground *grounds[SWC_GROUNDS_MAX];
	uint32_t count;
	struct ways *ways; /* of all bots together */
};

/* Reads every .tmj file of the folder; NULL: none. False after saying on stderr what is wrong; then
 * maps_free is still to be called. */
bool maps_load(struct maps *maps, const char *folder);
void maps_free(struct maps *maps);

#endif
