/* table: a YAML file that is a list of rows under one key, read into an array of structs by a list
 * of columns. A column may be a list of rows itself, of an inner table: those of all rows lie in
 * one array, and each row has the span of its own. Private to simulation/game; set-up thread. */
#ifndef SW_SIMULATION_GAME_TABLE_H
#define SW_SIMULATION_GAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config_faults.h"

enum game_column_type {
	GAME_NUMBER, /* uint32_t, low..high */
	GAME_NAME,   /* char[SIM_GAME_NAME_BYTES], 1 to 31 bytes; "" where it is not given */
	GAME_EQUIP,  /* uint8_t, a name of SIM_EQUIP_SLOTS; SIM_NO_SLOT where it is not given */
	GAME_TEXT,   /* char[high], 1 to high - 1 bytes; "" where it is not given */
	GAME_ROWS, /* struct game_span of the inner table number low, 1 to high rows; empty where it
		    * is not given */
};

struct game_span {
	uint32_t first, count;
};

struct game_column {
	const char *name;
	size_t offset;
	enum game_column_type type;
	bool required;
	uint32_t low, high, otherwise; /* otherwise: where it is not given */
};

#define GAME_COLUMNS_MAX 16u

struct game_table {
	const char *key; /* of the file's one entry */
	const struct game_column *columns;
	uint32_t column_count;
	size_t row_bytes;
	size_t line_offset; /* of the row's uint32_t line */
};

/* The rows of an inner table, of all rows together. */
struct game_inner {
	const struct game_table *table;
	void *rows; /* to be freed */
	uint32_t count, room;
};

/* Reads the text into *rows, to be freed. False: there was no memory. What else is wrong goes to
 * faults; rows with faults are left out. */
bool game_table_read(const struct game_table *table, const void *text, size_t bytes,
	struct config_faults *faults, void **rows, uint32_t *count);

/* The same of a table whose GAME_ROWS columns name inner[low]. Rows of outer ones that were left
 * out stay. */
bool game_table_read_nested(const struct game_table *table, struct game_inner *inner,
	const void *text, size_t bytes, struct config_faults *faults, void **rows, uint32_t *count);

#endif
