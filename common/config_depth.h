/* config_depth.h: how deep a YAML text nests, before a document is built of it. Set-up thread.
 *
 * The table of keys knows three levels. libyaml (0.2.5) takes time quadratic in the depth of flow
 * lists: 100,000 opening brackets keep it busy for minutes. */
#ifndef SW_COMMON_CONFIG_DEPTH_H
#define SW_COMMON_CONFIG_DEPTH_H

#include <stddef.h>
#include <stdint.h>

#define CONFIG_DEPTH_MAX 16u

/* The line, from 1, where text goes deeper than CONFIG_DEPTH_MAX; 0 when it never does, or when
 * libyaml finds a fault before that: building the document will report it. */
uint32_t config_too_deep(const uint8_t *text, size_t bytes);

#endif
