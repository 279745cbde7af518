/* config_value: one scalar of the configuration, from text to the member's type. Set-up thread and
 * tools. Pure: no file, no clock, no allocation. */
#ifndef SW_COMMON_CONFIG_VALUE_H
#define SW_COMMON_CONFIG_VALUE_H

#include "common/config_table.h"

#define CONFIG_WHY_BYTES 256u

/* Reads text[bytes] as key's kind into *out, which has key->bytes bytes. On a fault leaves *out as
 * it was, writes "what is wrong, what is allowed" to why and returns false. For a list of lcores it
 * reads one entry, a uint32_t. */
bool config_value_parse(const struct config_key *key, const char *text, size_t bytes, void *out,
	char why[CONFIG_WHY_BYTES]);

/* Writes value as a person would write it for this kind, with the largest unit that fits whole:
 * 20s, 4KiB. Returns out. */
#define CONFIG_FIGURE_BYTES 32u
const char *config_figure(enum config_kind kind, uint64_t value, char out[CONFIG_FIGURE_BYTES]);

/* Writes text[bytes] to out for a message: quoted, cut at about 40 bytes, nothing unprintable. */
#define CONFIG_QUOTE_BYTES 64u
const char *config_quote(const char *text, size_t bytes, char out[CONFIG_QUOTE_BYTES]);

#endif
