/* config_check: what two keys must agree on. Set-up thread and tools. */
#ifndef SW_COMMON_CONFIG_CHECK_H
#define SW_COMMON_CONFIG_CHECK_H

#include "common/config_faults.h"
#include "common/config_table.h"

/* Where each key was given: line 0 where it was not. Index: key, then the list's element. */
struct config_lines {
	uint32_t key[CONFIG_KEY_COUNT][CONFIG_MAPS_MAX];
	bool bad[CONFIG_KEY_COUNT][CONFIG_MAPS_MAX]; /* given, and refused by itself */
	uint32_t list[CONFIG_LIST_COUNT];            /* line of the list */
	uint32_t element[CONFIG_LIST_COUNT][CONFIG_MAPS_MAX];
};
_Static_assert(CONFIG_PORTS_MAX <= CONFIG_MAPS_MAX && CONFIG_KEYS_MAX <= CONFIG_MAPS_MAX,
	"one width for all lists");

/* Adds a fault for each pair that does not fit. A key that was refused by itself is left out, so
 * that nobody hears twice of one mistake. */
void config_check(const struct sw_config *config, const struct config_lines *lines,
	struct config_faults *faults);

#endif
