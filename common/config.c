#include "common/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "common/check.h"
#include "common/config_check.h"
#include "common/config_depth.h"
#include "common/config_faults.h"
#include "common/config_table.h"
#include "common/config_value.h"

#define FILE_BYTES_MAX (1u << 20)
#define SHOWN_BYTES    96u

struct loader {
	struct sw_config *config;
	yaml_document_t *document;
	struct config_faults faults;
	struct config_lines lines;
};

/* A mapping under way: its path in the table (maps[]), as a person counts (maps[1]), and the
 * element of its list. */
struct place {
	const char *pattern;
	const char *shown;
	uint32_t element;
	size_t shift; /* of a member, from its place in the list's first element */
};

static uint32_t line_of(const yaml_node_t *node)
{
	return (uint32_t)node->start_mark.line + 1;
}

static const char *kind_of(const yaml_node_t *node)
{
	switch (node->type) {
	case YAML_SEQUENCE_NODE:
		return "a list";
	case YAML_MAPPING_NODE:
		return "a mapping";
	default:
		return "a single value";
	}
}

/* The count of a list of lcores follows its array (config.h). */
#define COUNT_FOLLOWS(section)                                                                     \
	_Static_assert(offsetof(struct sw_config, section.lcore_count) ==                          \
			       offsetof(struct sw_config, section.lcores) +                        \
				       sizeof(uint32_t) * CONFIG_LCORES_MAX,                       \
		"the count follows the array")
COUNT_FOLLOWS(dataplane);
COUNT_FOLLOWS(simulation);

struct lcores {
	uint32_t id[CONFIG_LCORES_MAX];
	uint32_t count;
};

/* "[1, 2]" of the table. */
static void lcores_default(const struct config_key *key, struct lcores *lcores)
{
	char why[CONFIG_WHY_BYTES];

	lcores->count = 0;
	for (const char *at = key->fallback + 1; *at && *at != ']';) {
		size_t bytes = strcspn(at, ",]");

		CHECK(config_value_parse(key, at, bytes, &lcores->id[lcores->count++], why));
		at += bytes;
		at += strspn(at, ", ");
	}
}

static void key_default(const struct config_key *key, void *member)
{
	char why[CONFIG_WHY_BYTES];

	if (!key->fallback)
		memset(member, 0, key->bytes);
	else if (key->kind == CONFIG_LCORES)
		lcores_default(key, member);
	else
		CHECK(config_value_parse(key, key->fallback, strlen(key->fallback), member, why));
}

void sw_config_defaults(struct sw_config *config)
{
	memset(config, 0, sizeof(*config));
	for (size_t i = 0; i < CONFIG_KEY_COUNT; i++)
		if (!strstr(config_keys[i].path, "[]"))
			key_default(&config_keys[i], (uint8_t *)config + config_keys[i].offset);
}

static void lcores_load(
	struct loader *l, const struct config_key *key, const yaml_node_t *node, struct lcores *out)
{
	struct lcores lcores = {.count = 0};
	char why[CONFIG_WHY_BYTES];
	size_t entries;
	bool *bad = &l->lines.bad[key - config_keys][0];

	if (node->type != YAML_SEQUENCE_NODE) {
		*bad = true;
		config_fault_add(&l->faults, line_of(node), "%s: is %s, allowed is %s", key->path,
			kind_of(node), config_kind_allowed[key->kind]);
		return;
	}
	entries = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
	if (entries < key->min || entries > key->max) {
		*bad = true;
		config_fault_add(&l->faults, line_of(node),
			"%s: has %zu entries, allowed are from %u to %u", key->path, entries,
			(uint32_t)key->min, (uint32_t)key->max);
		return;
	}
	for (size_t i = 0; i < entries; i++) {
		const yaml_node_t *item =
			yaml_document_get_node(l->document, node->data.sequence.items.start[i]);
		uint32_t *id = &lcores.id[lcores.count];

		if (item->type != YAML_SCALAR_NODE) {
			*bad = true;
			config_fault_add(&l->faults, line_of(item),
				"%s: entry %zu is %s, allowed is %s", key->path, i, kind_of(item),
				config_kind_allowed[key->kind]);
			continue;
		}
		if (!config_value_parse(key, (const char *)item->data.scalar.value,
			    item->data.scalar.length, id, why)) {
			*bad = true;
			config_fault_add(
				&l->faults, line_of(item), "%s: entry %zu: %s", key->path, i, why);
			continue;
		}
		for (uint32_t j = 0; j < lcores.count; j++)
			if (lcores.id[j] == *id) {
				*bad = true;
				config_fault_add(&l->faults, line_of(item),
					"%s: lcore %u is in the list twice, allowed is each lcore "
					"once",
					key->path, *id);
				break;
			}
		lcores.count++;
	}
	if (!*bad)
		memcpy(out, &lcores, sizeof(lcores));
}

static void key_load(struct loader *l, const struct config_key *key, const struct place *place,
	const char *shown, const yaml_node_t *node)
{
	void *member = (uint8_t *)l->config + key->offset + place->shift;
	char why[CONFIG_WHY_BYTES];

	if (key->kind == CONFIG_LCORES) {
		lcores_load(l, key, node, member);
		return;
	}
	if (node->type != YAML_SCALAR_NODE)
		snprintf(why, sizeof(why), "is %s, allowed is %s", kind_of(node),
			config_kind_allowed[key->kind]);
	else if (config_value_parse(key, (const char *)node->data.scalar.value,
			 node->data.scalar.length, member, why))
		return;
	l->lines.bad[key - config_keys][place->element] = true;
	config_fault_add(&l->faults, line_of(node), "%s: %s", shown, why);
}

static void mapping_load(struct loader *l, const struct place *place, const yaml_node_t *node);

static void list_load(struct loader *l, const struct config_list *list, const yaml_node_t *node)
{
	uint32_t *count = (uint32_t *)((uint8_t *)l->config + list->count_offset);
	size_t index = (size_t)(list - config_lists), entries;
	char pattern[SHOWN_BYTES], shown[SHOWN_BYTES];

	if (node->type != YAML_SEQUENCE_NODE) {
		config_fault_add(&l->faults, line_of(node),
			"%s: is %s, allowed is a list of mappings", list->path, kind_of(node));
		return;
	}
	entries = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
	if (entries < list->min || entries > list->max) {
		config_fault_add(&l->faults, line_of(node),
			"%s: has %zu entries, allowed are from %u to %u", list->path, entries,
			list->min, list->max);
		if (entries > list->max)
			entries = list->max;
	}
	snprintf(pattern, sizeof(pattern), "%s[]", list->path);
	for (uint32_t i = 0; i < entries; i++) {
		const yaml_node_t *item =
			yaml_document_get_node(l->document, node->data.sequence.items.start[i]);
		struct place place = {pattern, shown, i, i * list->element_bytes};

		l->lines.element[index][i] = line_of(item);
		*count = i + 1;
		snprintf(shown, sizeof(shown), "%s[%u]", list->path, i);
		for (size_t k = 0; k < CONFIG_KEY_COUNT; k++)
			if (!strncmp(config_keys[k].path, pattern, strlen(pattern)))
				key_default(&config_keys[k],
					(uint8_t *)l->config + config_keys[k].offset + place.shift);
		mapping_load(l, &place, item);
	}
}

static void unknown_key(
	struct loader *l, const struct place *place, const char *name, char *shown, uint32_t line)
{
	const char *near = config_nearest(place->pattern, name);

	if (!strcmp(shown, "benchmark")) {
		config_fault_add(&l->faults, line,
			"benchmark: a game server has none: a session without a handshake is a "
			"player without a login; allowed is stormweir-echo --benchmark-sessions "
			"(docs/packet-generators.md)");
		return;
	}
	for (char *c = shown; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	config_fault_add(&l->faults, line,
		"%s: is not a key, allowed are those of docs/configuration.md%s%s%s", shown,
		near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* The line where this key of the table was seen in its mapping, 0 for not yet; NULL when it is
 * neither a key nor a list. */
static uint32_t *seen_at(struct loader *l, const char *pattern, uint32_t element)
{
	const struct config_key *key = config_key_find(pattern);
	const struct config_list *list = config_list_find(pattern);

	if (key)
		return &l->lines.key[key - config_keys][element];
	return list ? &l->lines.list[list - config_lists] : NULL;
}

static void pair_load(struct loader *l, const struct place *place, const yaml_node_t *key,
	const yaml_node_t *value, bool *section_seen)
{
	char pattern[SHOWN_BYTES], shown[SHOWN_BYTES], quoted[CONFIG_QUOTE_BYTES];
	const char *dot = place->pattern[0] ? "." : "", *name;
	uint32_t *seen;
	size_t bytes;

	if (key->type != YAML_SCALAR_NODE) {
		config_fault_add(&l->faults, line_of(key), "%s: %s stands where a key must be",
			place->shown[0] ? place->shown : "(root)", kind_of(key));
		return;
	}
	name = (const char *)key->data.scalar.value;
	bytes = key->data.scalar.length;
	/* A dot or bracket in a name would otherwise reach into another mapping of the table. */
	if (bytes > 40 || strlen(name) != bytes || strpbrk(name, ".[]\"") || !bytes) {
		config_fault_add(&l->faults, line_of(key),
			"%s%s%s: is not a key, allowed are those of docs/configuration.md",
			place->shown, dot, config_quote(name, bytes, quoted));
		return;
	}
	snprintf(pattern, sizeof(pattern), "%s%s%s", place->pattern, dot, name);
	snprintf(shown, sizeof(shown), "%s%s%s", place->shown, dot, name);
	seen = seen_at(l, pattern, place->element);
	if (!seen) {
		for (size_t i = 0; i < CONFIG_SECTION_COUNT; i++)
			if (!strcmp(config_sections[i].path, pattern)) {
				struct place section = {pattern, shown, 0, 0};

				if (section_seen[i])
					config_fault_add(&l->faults, line_of(key),
						"%s: is given twice, allowed is once", shown);
				section_seen[i] = true;
				mapping_load(l, &section, value);
				return;
			}
		unknown_key(l, place, name, shown, line_of(key));
		return;
	}
	if (*seen) {
		config_fault_add(&l->faults, line_of(key),
			"%s: is given twice, first on line %u, allowed is once", shown, *seen);
		return;
	}
	*seen = line_of(key);
	if (config_list_find(pattern))
		list_load(l, config_list_find(pattern), value);
	else
		key_load(l, config_key_find(pattern), place, shown, value);
}

/* Keys of the table that must be given in this mapping and were not. */
static void missing_keys(struct loader *l, const struct place *place, uint32_t line)
{
	size_t bytes = strlen(place->pattern);

	for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
		const struct config_key *key = &config_keys[i];

		if (key->fallback || strncmp(key->path, place->pattern, bytes) ||
			key->path[bytes] != '.' || strchr(key->path + bytes + 1, '.') ||
			l->lines.key[i][place->element])
			continue;
		l->lines.bad[i][place->element] = true;
		config_fault_add(&l->faults, line, "%s%s: is missing, it has no default",
			place->shown, key->path + bytes);
	}
}

static void mapping_load(struct loader *l, const struct place *place, const yaml_node_t *node)
{
	bool section_seen[CONFIG_SECTION_COUNT] = {false};

	/* "redis:" with nothing behind it: all defaults. */
	bool empty = node->type == YAML_SCALAR_NODE && !node->data.scalar.length;

	if (!empty && node->type != YAML_MAPPING_NODE) {
		config_fault_add(&l->faults, line_of(node), "%s: is %s, allowed is a mapping",
			place->shown[0] ? place->shown : "(root)", kind_of(node));
		return;
	}
	if (!empty)
		for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
			pair < node->data.mapping.pairs.top; pair++)
			pair_load(l, place, yaml_document_get_node(l->document, pair->key),
				yaml_document_get_node(l->document, pair->value), section_seen);
	if (place->pattern[0]) {
		missing_keys(l, place, line_of(node));
		return;
	}
	for (size_t i = 0; i < CONFIG_SECTION_COUNT; i++) {
		struct place section = {config_sections[i].path, config_sections[i].path, 0, 0};

		if (!section_seen[i])
			missing_keys(l, &section, 1);
	}
}

static void missing_lists(struct loader *l)
{
	for (size_t i = 0; i < CONFIG_LIST_COUNT; i++)
		if (!l->lines.list[i] && config_lists[i].min)
			config_fault_add(&l->faults, 1,
				"%s: is missing, allowed are from %u to %u entries",
				config_lists[i].path, config_lists[i].min, config_lists[i].max);
}

/* How large a map with a file is, its file says, unless the configuration says it, too. */
static void extents_of_files(struct loader *l)
{
	const size_t width = (size_t)(config_key_find("maps[].width") - config_keys);
	const size_t height = (size_t)(config_key_find("maps[].height") - config_keys);

	for (uint32_t i = 0; i < l->config->map_count; i++) {
		struct config_map *map = &l->config->maps[i];

		if (map->file[0] && !l->lines.key[width][i])
			map->width_m = 0;
		if (map->file[0] && !l->lines.key[height][i])
			map->height_m = 0;
	}
}

/* The line of byte offset, for faults that libyaml reports without a line. */
static uint32_t line_of_offset(const uint8_t *text, size_t bytes, size_t offset)
{
	uint32_t line = 1;

	for (size_t i = 0; i < bytes && i < offset; i++)
		line += text[i] == '\n';
	return line;
}

static void syntax_fault(
	struct loader *l, const yaml_parser_t *parser, const uint8_t *text, size_t bytes)
{
	uint32_t line = parser->error == YAML_READER_ERROR
				? line_of_offset(text, bytes, parser->problem_offset)
				: (uint32_t)parser->problem_mark.line + 1;

	if (parser->error == YAML_MEMORY_ERROR)
		config_fault_add(&l->faults, 1, "(file): memory is short");
	else
		config_fault_add(&l->faults, line, "(syntax): %s%s%s, allowed is YAML 1.1",
			parser->context ? parser->context : "", parser->context ? ": " : "",
			parser->problem ? parser->problem : "cannot be read");
}

static void text_load(struct loader *l, const uint8_t *text, size_t bytes)
{
	yaml_document_t document, second;
	yaml_parser_t parser;
	yaml_node_t *root;
	const struct place top = {"", "", 0, 0};
	uint32_t deep = config_too_deep(text, bytes);

	if (deep) {
		config_fault_add(
			&l->faults, deep, "(file): nests deeper than %u levels", CONFIG_DEPTH_MAX);
		return;
	}
	if (!yaml_parser_initialize(&parser)) {
		config_fault_add(&l->faults, 1, "(file): memory is short");
		return;
	}
	yaml_parser_set_input_string(&parser, text, bytes);
	if (!yaml_parser_load(&parser, &document)) {
		syntax_fault(l, &parser, text, bytes);
		yaml_parser_delete(&parser);
		return;
	}
	l->document = &document;
	root = yaml_document_get_root_node(&document);
	if (!root) {
		config_fault_add(&l->faults, 1, "(file): is empty, allowed is a mapping");
	} else {
		mapping_load(l, &top, root);
		missing_lists(l);
		config_check(l->config, &l->lines, &l->faults);
		extents_of_files(l);
		if (!yaml_parser_load(&parser, &second)) {
			syntax_fault(l, &parser, text, bytes);
		} else {
			yaml_node_t *more = yaml_document_get_root_node(&second);

			if (more)
				config_fault_add(&l->faults, line_of(more),
					"(file): holds a second document, allowed is one");
			yaml_document_delete(&second);
		}
	}
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
}

/* The whole file on the heap; 0, or -errno. */
static int file_read(const char *path, uint8_t **text, size_t *bytes)
{
	FILE *file = fopen(path, "rbe");
	int error = 0;

	if (!file)
		return -errno;
	*text = malloc(FILE_BYTES_MAX + 1);
	if (!*text) {
		fclose(file);
		return -ENOMEM;
	}
	errno = 0;
	*bytes = fread(*text, 1, FILE_BYTES_MAX + 1, file);
	if (ferror(file))
		error = errno ? -errno : -EIO;
	else if (*bytes > FILE_BYTES_MAX)
		error = -EFBIG;
	fclose(file);
	if (error)
		free(*text);
	return error;
}

int sw_config_load(struct sw_config *config, const char *path, FILE *errors)
{
	struct loader *l;
	uint8_t *text = NULL;
	size_t bytes = 0;
	int error = file_read(path, &text, &bytes);

	if (error) {
		fprintf(errors, "%s:0: (file): %s\n", path, strerror(-error));
		return error;
	}
	l = calloc(1, sizeof(*l));
	if (!l) {
		free(text);
		fprintf(errors, "%s:0: (file): %s\n", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	sw_config_defaults(config);
	l->config = config;
	text_load(l, text, bytes);
	error = l->faults.count ? -EINVAL : 0;
	config_faults_print(&l->faults, path, errors);
	free(l);
	free(text);
	return error;
}

const char *sw_config_address(const struct sw_config *config, char text[CONFIG_ADDRESS_BYTES])
{
	const char *port = config->ports[0].address;

	if (config->node.address[0])
		snprintf(text, CONFIG_ADDRESS_BYTES, "%s", config->node.address);
	else
		snprintf(text, CONFIG_ADDRESS_BYTES, "%.*s:%u", (int)strcspn(port, "/"), port,
			config->dataplane.udp_port);
	return text;
}
