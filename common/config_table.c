#include "common/config_table.h"

#include <ctype.h>
#include <string.h>

#define MEMBER(m) (((struct sw_config *)0)->m)

#define KEY_ROW(path_, member_, kind_, min_, max_, fallback_, meaning_)                            \
	{.path = path_,                                                                            \
		.kind = CONFIG_##kind_,                                                            \
		.offset = offsetof(struct sw_config, member_),                                     \
		.bytes = sizeof(MEMBER(member_)),                                                  \
		.min = min_,                                                                       \
		.max = max_,                                                                       \
		.fallback = fallback_,                                                             \
		.meaning = meaning_},
const struct config_key config_keys[CONFIG_KEY_COUNT] = {CONFIG_KEYS(KEY_ROW)};

#define LIST_ROW(path_, member_, count_, min_, max_, meaning_)                                     \
	{.path = path_,                                                                            \
		.offset = offsetof(struct sw_config, member_),                                     \
		.element_bytes = sizeof(MEMBER(member_[0])),                                       \
		.count_offset = offsetof(struct sw_config, count_),                                \
		.min = min_,                                                                       \
		.max = max_,                                                                       \
		.meaning = meaning_},
const struct config_list config_lists[CONFIG_LIST_COUNT] = {CONFIG_LISTS(LIST_ROW)};

#define SECTION_ROW(path_, meaning_) {path_, meaning_},
const struct config_section config_sections[CONFIG_SECTION_COUNT] = {CONFIG_SECTIONS(SECTION_ROW)};

#define ALLOWED_ROW(id, allowed) allowed,
const char *const config_kind_allowed[CONFIG_KINDS_COUNT] = {CONFIG_KINDS(ALLOWED_ROW)};

const struct config_key *config_key_find(const char *path)
{
	for (size_t i = 0; i < CONFIG_KEY_COUNT; i++)
		if (!strcmp(config_keys[i].path, path))
			return &config_keys[i];
	return NULL;
}

const struct config_list *config_list_find(const char *path)
{
	for (size_t i = 0; i < CONFIG_LIST_COUNT; i++)
		if (!strcmp(config_lists[i].path, path))
			return &config_lists[i];
	return NULL;
}

bool config_is_mapping(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < CONFIG_KEY_COUNT; i++)
		if (!strncmp(config_keys[i].path, path, length) &&
			config_keys[i].path[length] == '.')
			return true;
	return false;
}

#define NAME_MAX_BYTES 40u

/* Levenshtein distance, upper and lower case alike. Both are shorter than NAME_MAX_BYTES. */
static uint32_t distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	uint32_t row[NAME_MAX_BYTES + 1];

	for (size_t j = 0; j <= b_bytes; j++)
		row[j] = (uint32_t)j;
	for (size_t i = 1; i <= a_bytes; i++) {
		uint32_t diagonal = row[0];

		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= b_bytes; j++) {
			int same = tolower((unsigned char)a[i - 1]) ==
				   tolower((unsigned char)b[j - 1]);
			uint32_t best = diagonal + (same ? 0 : 1);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_bytes];
}

const char *config_nearest(const char *parent, const char *name)
{
	static _Thread_local char found[NAME_MAX_BYTES];
	size_t parent_bytes = strlen(parent), name_bytes = strlen(name);
	uint32_t best = UINT32_MAX;

	if (name_bytes >= NAME_MAX_BYTES)
		return NULL;
	for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
		const char *child = config_keys[i].path;
		size_t bytes;
		uint32_t d;

		if (parent_bytes) {
			if (strncmp(child, parent, parent_bytes) || child[parent_bytes] != '.')
				continue;
			child += parent_bytes + 1;
		}
		bytes = strcspn(child, ".[");
		if (bytes >= NAME_MAX_BYTES)
			continue;
		d = distance(name, name_bytes, child, bytes);
		/* autosave_ms for autosave: what only has more at its end is near as well */
		if (name_bytes > bytes && !strncmp(name, child, bytes) && name[bytes] == '_')
			d = 1;
		if (d < best) {
			best = d;
			memcpy(found, child, bytes);
			found[bytes] = 0;
		}
	}
	return best <= 1 + name_bytes / 4 ? found : NULL;
}
