/* pg_binary: PostgreSQL's binary form of parameters and results. Header only, pure.
 *
 * An array parameter (array_recv): dimensions, a flag for NULLs, the element type, then length and
 * lower bound of the one dimension, then each element with its length. All in network order. */
#ifndef SW_CONTROL_WORLD_PG_BINARY_H
#define SW_CONTROL_WORLD_PG_BINARY_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <libpq-fe.h>

#include "control/world/pg_link.h"

#define PG_ARRAY_HEAD_BYTES 20u

enum { PG_OID_INT8 = 20, PG_OID_INT4 = 23, PG_OID_TEXT = 25, PG_OID_UUID = 2950 };

static inline void pg_call_add(struct pg_call *call, const void *value, size_t bytes)
{
	call->values[call->count] = value;
	call->bytes[call->count++] = (int)bytes;
}

static inline uint8_t *pg_put_32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, 4);
	return at + 4;
}

static inline uint8_t *pg_array_begin(uint8_t *at, uint32_t type, uint32_t count)
{
	at = pg_put_32(at, 1);
	at = pg_put_32(at, 0);
	at = pg_put_32(at, type);
	at = pg_put_32(at, count);
	return pg_put_32(at, 1);
}

static inline uint8_t *pg_array_bytes(uint8_t *at, const void *bytes, uint32_t count)
{
	at = pg_put_32(at, count);
	memcpy(at, bytes, count);
	return at + count;
}

static inline uint8_t *pg_array_32(uint8_t *at, uint32_t value)
{
	return pg_put_32(pg_put_32(at, 4), value);
}

static inline uint8_t *pg_array_64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	return pg_array_bytes(at, &value, 8);
}

/* 0 where the column is NULL or of another size. */
static inline uint32_t pg_column_32(const PGresult *result, int row, int column)
{
	uint32_t value = 0;

	if (PQgetlength(result, row, column) == sizeof(value))
		memcpy(&value, PQgetvalue(result, row, column), sizeof(value));
	return be32toh(value);
}

static inline uint64_t pg_column_64(const PGresult *result, int row, int column)
{
	uint64_t value = 0;

	if (PQgetlength(result, row, column) == sizeof(value))
		memcpy(&value, PQgetvalue(result, row, column), sizeof(value));
	return be64toh(value);
}

/* An array of a result, without NULLs: its elements. */
struct pg_array {
	const uint8_t *elements;
	uint32_t element_bytes;
};

/* False when it is not count (at least 1) elements of element_bytes. */
static inline bool pg_array_open(struct pg_array *array, const PGresult *result, int row,
	int column, uint32_t element_bytes, uint32_t count)
{
	const uint8_t *at = (const uint8_t *)PQgetvalue(result, row, column);
	uint32_t head[5], bytes;

	if (PQgetlength(result, row, column) !=
		(int)(PG_ARRAY_HEAD_BYTES + count * (4 + element_bytes)))
		return false;
	memcpy(head, at, sizeof(head));
	*array = (struct pg_array){at + PG_ARRAY_HEAD_BYTES, element_bytes};
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&bytes, array->elements + (size_t)i * (4 + element_bytes), sizeof(bytes));
		if (be32toh(bytes) != element_bytes)
			return false;
	}
	return be32toh(head[0]) == 1 && be32toh(head[3]) == count;
}

static inline uint32_t pg_array_get_32(const struct pg_array *array, uint32_t i)
{
	uint32_t value;

	memcpy(&value, array->elements + (size_t)i * (4 + array->element_bytes) + 4, sizeof(value));
	return be32toh(value);
}

static inline uint64_t pg_array_get_64(const struct pg_array *array, uint32_t i)
{
	uint64_t value;

	memcpy(&value, array->elements + (size_t)i * (4 + array->element_bytes) + 4, sizeof(value));
	return be64toh(value);
}

#endif
