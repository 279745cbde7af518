/* config_table.h: the table of config_keys.h as data, for the files that implement config.h. Set-up
 * thread and tools only; read-only. */
#ifndef SW_COMMON_CONFIG_TABLE_H
#define SW_COMMON_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "common/config_keys.h"

#define CONFIG_KIND_ENUM(id, allowed) CONFIG_##id,
enum config_kind { CONFIG_KINDS(CONFIG_KIND_ENUM) CONFIG_KINDS_COUNT };

struct config_key {
	const char *path; /* maps[].view */
	enum config_kind kind;
	size_t offset,
		bytes;     /* of the member in struct sw_config; in a list, of its first element */
	uint64_t min, max; /* in the kind's own unit */
	const char *fallback; /* the default as one would write it; NULL: must be given */
	const char *meaning;
};

struct config_list {
	const char *path;                           /* maps; its keys are maps[].name and so on */
	size_t offset, element_bytes, count_offset; /* in struct sw_config */
	uint32_t min, max;                          /* entries */
	const char *meaning;
};

struct config_section {
	const char *path;
	const char *meaning;
};

#define CONFIG_COUNT_KEY(...) +1
enum { CONFIG_KEY_COUNT = 0 CONFIG_KEYS(CONFIG_COUNT_KEY) };
enum { CONFIG_LIST_COUNT = 0 CONFIG_LISTS(CONFIG_COUNT_KEY) };
enum { CONFIG_SECTION_COUNT = 0 CONFIG_SECTIONS(CONFIG_COUNT_KEY) };

extern const struct config_key config_keys[CONFIG_KEY_COUNT];
extern const struct config_list config_lists[CONFIG_LIST_COUNT];
extern const struct config_section config_sections[CONFIG_SECTION_COUNT];
extern const char *const config_kind_allowed[CONFIG_KINDS_COUNT];

/* The key of this path, NULL if there is none. */
const struct config_key *config_key_find(const char *path);
const struct config_list *config_list_find(const char *path);

/* True when path names a mapping that holds keys: a section, or "maps[]". */
bool config_is_mapping(const char *path);

/* The child of mapping parent ("" for the root) that is spelled most like name: its last part, for
 * "did you mean"; NULL when nothing is near. */
const char *config_nearest(const char *parent, const char *name);

#endif
