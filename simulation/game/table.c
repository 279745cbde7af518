#include "simulation/game/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "simulation/game/game.h"

struct reader {
	const struct game_table *table;
	struct game_inner *inner;
	yaml_document_t document;
	struct config_faults *faults;
	uint8_t *rows;
	uint32_t count;
	bool no_memory;
};

static bool take_row(struct reader *r, const struct game_table *table, const char *where,
	const yaml_node_t *node, uint8_t *row);

static uint32_t line_of(const yaml_node_t *node)
{
	return (uint32_t)node->start_mark.line + 1;
}

static const char *text_of(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static bool number_of(const char *text, uint32_t *out)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

static bool equip_of(const char *text, uint8_t *out)
{
#define EQUIP_NAME(name, value, text) [value] = text,
	static const char *const names[] = {SIM_EQUIP_SLOTS(EQUIP_NAME)};

	for (uint32_t i = 0; i < SIM_EQUIP_COUNT; i++) {
		if (!strcmp(names[i], text)) {
			*out = (uint8_t)i;
			return true;
		}
	}
	return false;
}

static void *inner_place(struct game_inner *inner)
{
	size_t bytes = inner->table->row_bytes;

	if (inner->count == inner->room) {
		uint32_t room = inner->room ? 2 * inner->room : 64;
		void *rows = realloc(inner->rows, room * bytes);

		if (!rows)
			return NULL;
		inner->rows = rows;
		inner->room = room;
	}
	return (uint8_t *)inner->rows + inner->count * bytes;
}

/* A row's rows of an inner table: all of them, or a fault. */
static bool take_span(struct reader *r, const struct game_column *column, const char *where,
	const yaml_node_t *node, uint8_t *row)
{
	struct game_inner *inner = &r->inner[column->low];
	struct game_span span = {.first = inner->count};
	size_t items =
		node->type == YAML_SEQUENCE_NODE
			? (size_t)(node->data.sequence.items.top - node->data.sequence.items.start)
			: 0;
	bool good = true;

	if (!items || items > column->high) {
		config_fault_add(r->faults, line_of(node),
			"%s: %s is no list, or of the wrong length, allowed are 1 to %u rows",
			where, column->name, column->high);
		return false;
	}
	for (size_t i = 0; i < items; i++) {
		uint8_t *place = inner_place(inner);
		char name[96];

		if (!place) {
			r->no_memory = true;
			return false;
		}
		snprintf(name, sizeof(name), "%s.%s[%zu]", where, column->name, i);
		good &= take_row(r, inner->table, name,
			yaml_document_get_node(&r->document, node->data.sequence.items.start[i]),
			place);
		inner->count++;
		span.count++;
	}
	memcpy(row + column->offset, &span, sizeof(span));
	return good;
}

#define EQUIP_LIST(name, value, text) " " text
static bool take_value(struct reader *r, const struct game_column *column, const char *where,
	const yaml_node_t *node, uint8_t *row)
{
	const char *text = text_of(node);
	uint32_t number, room = column->type == GAME_TEXT ? column->high : SIM_GAME_NAME_BYTES;

	switch (column->type) {
	case GAME_NUMBER:
		if (text && number_of(text, &number) && number >= column->low &&
			number <= column->high) {
			memcpy(row + column->offset, &number, sizeof(number));
			return true;
		}
		config_fault_add(r->faults, line_of(node), "%s: %s is %.40s, allowed is %u to %u",
			where, column->name, text ? text : "no number", column->low, column->high);
		return false;
	case GAME_NAME:
	case GAME_TEXT:
		if (text && *text && node->data.scalar.length < room &&
			strlen(text) == node->data.scalar.length) {
			memcpy(row + column->offset, text, node->data.scalar.length);
			return true;
		}
		config_fault_add(r->faults, line_of(node),
			"%s: %s is no %s, allowed are 1 to %u bytes", where, column->name,
			column->type == GAME_TEXT ? "text" : "name", room - 1);
		return false;
	case GAME_ROWS:
		return take_span(r, column, where, node, row);
	case GAME_EQUIP:
		if (text && equip_of(text, row + column->offset))
			return true;
		config_fault_add(r->faults, line_of(node), "%s: %s is %.40s, allowed is one of%s",
			where, column->name, text ? text : "no name", SIM_EQUIP_SLOTS(EQUIP_LIST));
		return false;
	}
	return false;
}

static const struct game_column *column_find(const struct game_table *table, const char *name)
{
	for (uint32_t i = 0; name && i < table->column_count; i++)
		if (!strcmp(table->columns[i].name, name))
			return &table->columns[i];
	return NULL;
}

/* What a row has where the file says nothing. */
static void otherwise(const struct game_column *column, uint8_t *row)
{
	if (column->type == GAME_NUMBER)
		memcpy(row + column->offset, &column->otherwise, sizeof(column->otherwise));
	else if (column->type == GAME_EQUIP)
		row[column->offset] = SIM_NO_SLOT;
}

static bool take_row(struct reader *r, const struct game_table *table, const char *where,
	const yaml_node_t *node, uint8_t *row)
{
	bool seen[GAME_COLUMNS_MAX] = {false}, good = true;
	uint32_t line = line_of(node);

	memset(row, 0, table->row_bytes);
	memcpy(row + table->line_offset, &line, sizeof(line));
	if (node->type != YAML_MAPPING_NODE) {
		config_fault_add(r->faults, line, "%s: is no mapping", where);
		return false;
	}
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(&r->document, pair->key);
		const yaml_node_t *value = yaml_document_get_node(&r->document, pair->value);
		const char *name = text_of(key);
		const struct game_column *column = column_find(table, name);

		if (!column || seen[column - table->columns]) {
			config_fault_add(r->faults, line_of(key), "%s: %.40s %s", where,
				name ? name : "a key",
				column ? "is there twice" : "is not known here");
			good = false;
			continue;
		}
		seen[column - table->columns] = true;
		good &= take_value(r, column, where, value, row);
	}
	for (uint32_t i = 0; i < table->column_count; i++) {
		if (seen[i])
			continue;
		otherwise(&table->columns[i], row);
		if (!table->columns[i].required)
			continue;
		config_fault_add(
			r->faults, line, "%s: %s is missing", where, table->columns[i].name);
		good = false;
	}
	return good;
}

static bool take_rows(struct reader *r, const yaml_node_t *list)
{
	size_t items = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
	uint32_t kept = 0;

	if (items > SIM_GAME_ROWS_MAX) {
		config_fault_add(r->faults, line_of(list), "%s: has %zu rows, allowed are %u",
			r->table->key, items, SIM_GAME_ROWS_MAX);
		return true;
	}
	r->rows = calloc(items + 1, r->table->row_bytes);
	if (!r->rows)
		return false;
	for (size_t i = 0; i < items; i++, r->count++) {
		char where[64];

		snprintf(where, sizeof(where), "%s[%u]", r->table->key, r->count);
		kept += take_row(r, r->table, where,
			yaml_document_get_node(&r->document, list->data.sequence.items.start[i]),
			r->rows + kept * r->table->row_bytes);
	}
	r->count = kept;
	return !r->no_memory;
}

static bool take_document(struct reader *r)
{
	const yaml_node_t *root = yaml_document_get_root_node(&r->document);
	const yaml_node_pair_t *pair;
	const yaml_node_t *key, *list;

	if (!root) /* an empty file is an empty list */
		return true;
	pair = root->type == YAML_MAPPING_NODE ? root->data.mapping.pairs.start : NULL;
	if (!pair || root->data.mapping.pairs.top - pair != 1)
		goto fault;
	key = yaml_document_get_node(&r->document, pair->key);
	list = yaml_document_get_node(&r->document, pair->value);
	if (!text_of(key) || strcmp(text_of(key), r->table->key) ||
		list->type != YAML_SEQUENCE_NODE)
		goto fault;
	return take_rows(r, list);
fault:
	config_fault_add(r->faults, line_of(root), "(file): allowed is one entry, %s, a list",
		r->table->key);
	return true;
}

bool game_table_read(const struct game_table *table, const void *text, size_t bytes,
	struct config_faults *faults, void **rows, uint32_t *count)
{
	return game_table_read_nested(table, NULL, text, bytes, faults, rows, count);
}

bool game_table_read_nested(const struct game_table *table, struct game_inner *inner,
	const void *text, size_t bytes, struct config_faults *faults, void **rows, uint32_t *count)
{
	struct reader r = {.table = table, .inner = inner, .faults = faults};
	yaml_parser_t parser;
	bool good = true;

	if (!yaml_parser_initialize(&parser))
		return false;
	yaml_parser_set_input_string(&parser, text, bytes);
	if (yaml_parser_load(&parser, &r.document)) {
		good = take_document(&r);
		yaml_document_delete(&r.document);
	} else if (parser.error == YAML_MEMORY_ERROR) {
		good = false;
	} else {
		config_fault_add(faults, (uint32_t)parser.problem_mark.line + 1, "(file): %s",
			parser.problem ? parser.problem : "is no YAML");
	}
	yaml_parser_delete(&parser);
	*rows = r.rows;
	*count = r.count;
	return good;
}
