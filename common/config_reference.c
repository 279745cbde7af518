#include <inttypes.h>
#include <string.h>

#include "common/config_table.h"
#include "common/config_value.h"

static void range_write(const struct config_key *key, FILE *out)
{
	char least[CONFIG_FIGURE_BYTES], most[CONFIG_FIGURE_BYTES];

	switch (key->kind) {
	case CONFIG_INTEGER:
	case CONFIG_POWER_OF_TWO:
	case CONFIG_DURATION_US:
	case CONFIG_DURATION_MS:
	case CONFIG_DURATION_S:
	case CONFIG_BYTES:
	case CONFIG_LENGTH:
		fprintf(out, "%s to %s", config_figure(key->kind, key->min, least),
			config_figure(key->kind, key->max, most));
		return;
	case CONFIG_TEXT:
	case CONFIG_NAME:
	case CONFIG_PATH:
	case CONFIG_PATH_INSIDE:
		fprintf(out, "%s%" PRIu64 " bytes", key->min ? "1 to " : "at most ", key->max);
		return;
	case CONFIG_HEX:
		fprintf(out, "%" PRIu64 " digits", key->max);
		return;
	case CONFIG_LCORES:
		fprintf(out, "%" PRIu64 " to %" PRIu64 " entries", key->min, key->max);
		return;
	default:
		return;
	}
}

static void key_write(const struct config_key *key, size_t parent_bytes, FILE *out)
{
	fprintf(out, "| `%s` | %s | ", key->path + parent_bytes + 1,
		config_kind_allowed[key->kind]);
	range_write(key, out);
	if (!key->fallback)
		fputs(" | must be given", out);
	else if (!key->fallback[0])
		fputs(" | empty", out);
	else
		fprintf(out, " | `%s`", key->fallback);
	fprintf(out, " | %s |\n", key->meaning);
}

/* The keys directly inside parent. */
static void keys_write(const char *parent, FILE *out)
{
	size_t bytes = strlen(parent);

	fputs("\n| key | kind | range | default | meaning |\n|---|---|---|---|---|\n", out);
	for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
		const struct config_key *key = &config_keys[i];

		if (!strncmp(key->path, parent, bytes) && key->path[bytes] == '.' &&
			!strchr(key->path + bytes + 1, '.'))
			key_write(key, bytes, out);
	}
}

static void list_write(const struct config_list *list, FILE *out)
{
	char parent[64];

	snprintf(parent, sizeof(parent), "%s[]", list->path);
	fprintf(out, "\n## `%s`\n%s A list of %u to %u mappings with these keys:\n", list->path,
		list->meaning, list->min, list->max);
	keys_write(parent, out);
}

void sw_config_reference(FILE *out)
{
	fputs("# Configuration\n"
	      "Written from the table in `common/config_keys.h` by `stormweir-config "
	      "--reference`; change it there.\n"
	      "\n"
	      "The file is YAML. A value with a dimension carries its unit: `20s`, `4KiB`, "
	      "`500m`. Unknown keys, keys given twice\n"
	      "and values out of range are refused at start, all at once, each with file, line "
	      "and key. `stormweir-config --check FILE`\n"
	      "checks a file without starting anything; `configs/example.yaml` is one to start "
	      "from.\n",
		out);
	for (size_t i = 0; i < CONFIG_SECTION_COUNT; i++) {
		fprintf(out, "\n## `%s`\n%s\n", config_sections[i].path,
			config_sections[i].meaning);
		keys_write(config_sections[i].path, out);
		for (size_t j = 0; j < CONFIG_LIST_COUNT; j++)
			if (!strncmp(config_lists[j].path, config_sections[i].path,
				    strlen(config_sections[i].path)) &&
				config_lists[j].path[strlen(config_sections[i].path)] == '.')
				list_write(&config_lists[j], out);
	}
	for (size_t j = 0; j < CONFIG_LIST_COUNT; j++)
		if (!strchr(config_lists[j].path, '.'))
			list_write(&config_lists[j], out);
}
