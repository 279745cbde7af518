#include "control/world/statements.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "control/world/text.h"

/* One load is the first three, in one implicit transaction. Each statement sees what was committed
 * when it began, and the third one begins when take_over holds the row: so it reads the position
 * that the last save, whoever wrote it, left behind. (One statement with CTEs would not: it sees
 * the state before it waited for the lock, and not the row that another node creates meanwhile.)
 *
 * create_character offers two rows, the ticket's name and the one with the suffix: a row that
 * conflicts, in id or name, is skipped, so the second is only taken if the first one's name was
 * not free. An empty plain name is not offered. */
const struct pg_prepared statements_requests[STATEMENTS_REQUESTS] = {
	{"create_character",
		"INSERT INTO character (realm_id, character_id, account_id, name, appearance) "
		"SELECT $1::int4, $2::int8, $3::int8, n.name, $6::int4 "
		"FROM (VALUES (1, $4::text), (2, $5::text)) AS n (rank, name) "
		"WHERE n.name <> '' ORDER BY n.rank ON CONFLICT DO NOTHING"},
	{"take_over",
		"UPDATE character SET epoch = epoch + 1, last_login_at = now() "
		"WHERE realm_id = $1::int4 AND character_id = $2::int8 AND account_id = $3::int8"},
	{"read_character",
		"SELECT c.account_id = $3::int8, c.epoch, c.name, p.map, p.x_mm, p.y_mm, p.heading "
		"FROM character c LEFT JOIN character_position p "
		"ON p.realm_id = c.realm_id AND p.character_id = c.character_id "
		"WHERE c.realm_id = $1::int4 AND c.character_id = $2::int8"},
	{"read_detail", "SELECT gold, level, appearance FROM character "
			"WHERE realm_id = $1::int4 AND character_id = $2::int8"},
};

/* Locks the rows in id order (two nodes never wait for each other in a circle), then compares the
 * epoch as it is under the lock: after waiting, FOR UPDATE returns the row as the other transaction
 * left it. The arrays come sorted, but nothing keeps a plan in their order, hence ORDER BY. NO KEY:
 * what an UPDATE of other columns takes; conflicts with take_over and other batches.
 *
 * The comparison of (epoch, save_sequence) is for a batch that a lost connection delivers late. */
const struct pg_prepared statements_saves[STATEMENTS_SAVES] = {
	{"save_positions",
		"WITH want AS MATERIALIZED (SELECT * FROM unnest($1::int4[], $2::int8[], "
		"$3::int8[], "
		"$4::int8[], $5::text[], $6::int4[], $7::int4[], $8::int4[]) AS u (realm_id, "
		"character_id, epoch, save_sequence, map, x_mm, y_mm, heading)), "
		"held AS MATERIALIZED (SELECT c.realm_id, c.character_id, c.epoch FROM character c "
		"JOIN want w ON c.realm_id = w.realm_id AND c.character_id = w.character_id "
		"ORDER BY c.realm_id, c.character_id FOR NO KEY UPDATE OF c) "
		"INSERT INTO character_position AS p (realm_id, character_id, map, x_mm, y_mm, "
		"heading, "
		"epoch, save_sequence, saved_at) "
		"SELECT w.realm_id, w.character_id, w.map, w.x_mm, w.y_mm, w.heading, w.epoch, "
		"w.save_sequence, now() FROM want w JOIN held h ON h.realm_id = w.realm_id "
		"AND h.character_id = w.character_id WHERE h.epoch = w.epoch "
		"ON CONFLICT (realm_id, character_id) DO UPDATE SET map = excluded.map, "
		"x_mm = excluded.x_mm, y_mm = excluded.y_mm, heading = excluded.heading, "
		"epoch = excluded.epoch, save_sequence = excluded.save_sequence, "
		"saved_at = excluded.saved_at "
		"WHERE (p.epoch, p.save_sequence) <= (excluded.epoch, excluded.save_sequence)"},
};

static void add(struct pg_call *call, const void *value, size_t bytes)
{
	call->values[call->count] = value;
	call->bytes[call->count++] = (int)bytes;
}

/* A colour of its own for everyone, until looks are data: the id, mixed. */
static uint32_t first_appearance(uint64_t character_id)
{
	return (uint32_t)(character_id * 0x9e3779b97f4a7c15ull >> 40);
}

void statements_load(const struct msg_character_load *load, struct load_params *params,
	struct pg_call calls[LOAD_CALLS])
{
	params->realm_id = htobe32(load->realm_id);
	params->character_id = htobe64(load->character_id);
	params->account_id = htobe64(load->account_id);
	params->appearance = htobe32(first_appearance(load->character_id));
	world_name_candidates(load->name, load->character_id, params->plain, params->suffixed);
	memset(calls, 0, LOAD_CALLS * sizeof(*calls));
	for (uint32_t i = 0; i < LOAD_CALLS; i++) {
		calls[i].name = statements_requests[i].name;
		add(&calls[i], &params->realm_id, 4);
		add(&calls[i], &params->character_id, 8);
		add(&calls[i], &params->account_id, 8);
	}
	add(&calls[0], params->plain, strlen(params->plain));
	add(&calls[0], params->suffixed, strlen(params->suffixed));
	add(&calls[0], &params->appearance, 4);
}

void statements_detail(
	const struct msg_detail_query *query, struct load_params *params, struct pg_call *call)
{
	memset(call, 0, sizeof(*call));
	call->name = "read_detail";
	params->realm_id = htobe32(query->realm_id);
	params->character_id = htobe64(query->character_id);
	add(call, &params->realm_id, 4);
	add(call, &params->character_id, 8);
}

static uint32_t column_32(const PGresult *result, int column)
{
	uint32_t value = 0;

	if (PQgetlength(result, 0, column) == sizeof(value))
		memcpy(&value, PQgetvalue(result, 0, column), sizeof(value));
	return be32toh(value);
}

static uint64_t column_64(const PGresult *result, int column)
{
	uint64_t value = 0;

	if (PQgetlength(result, 0, column) == sizeof(value))
		memcpy(&value, PQgetvalue(result, 0, column), sizeof(value));
	return be64toh(value);
}

static void column_text(const PGresult *result, int column, char *text, size_t bytes)
{
	size_t length = (size_t)PQgetlength(result, 0, column);

	if (length >= bytes)
		length = bytes - 1;
	memset(text, 0, bytes);
	memcpy(text, PQgetvalue(result, 0, column), length);
}

bool statements_loaded(PGresult *const *results, uint32_t count, const char *wanted,
	struct msg_character_loaded *answer, bool *created, bool *renamed)
{
	const PGresult *row = count == LOAD_CALLS ? results[2] : NULL;

	*created = *renamed = false;
	if (PQntuples(row) != 1 || PQnfields(row) != 7)
		return false;
	answer->result = *PQgetvalue(row, 0, 0) ? MSG_LOAD_OK : MSG_LOAD_WRONG_ACCOUNT;
	if (answer->result != MSG_LOAD_OK)
		return true;
	answer->epoch = column_64(row, 1);
	column_text(row, 2, answer->name, sizeof(answer->name));
	*created = strcmp(PQcmdTuples(results[0]), "0") != 0;
	*renamed = *created && strncmp(answer->name, wanted, CHARACTER_NAME_BYTES) != 0;
	answer->has_position = !PQgetisnull(row, 0, 3);
	if (answer->has_position) {
		column_text(row, 3, answer->map, sizeof(answer->map));
		answer->x_mm = (int32_t)column_32(row, 4);
		answer->y_mm = (int32_t)column_32(row, 5);
		answer->heading = (uint16_t)column_32(row, 6);
	}
	return true;
}

bool statements_detailed(
	PGresult *const *results, uint32_t count, struct msg_detail_result *answer, bool *unknown)
{
	const PGresult *row = count == 1 ? results[0] : NULL;

	*unknown = row && PQntuples(row) == 0;
	if (PQntuples(row) != 1 || PQnfields(row) != 3)
		return false;
	answer->result = MSG_LOAD_OK;
	answer->gold = (int64_t)column_64(row, 0);
	answer->level = column_32(row, 1);
	answer->appearance = column_32(row, 2);
	return true;
}

/* An array parameter in PostgreSQL's binary form (array_recv): dimensions, a flag for NULLs, the
 * element type, then length and lower bound of the one dimension, then each element with its
 * length. All in network order. */
#define ARRAY_HEAD_BYTES 20u
#define SAVE_COLUMNS     8u
enum { OID_INT8 = 20, OID_INT4 = 23, OID_TEXT = 25 };

struct save_encoder {
	uint32_t batch_max;
	size_t column_bytes;
	uint8_t *memory; /* SAVE_COLUMNS * column_bytes */
};

struct save_encoder *save_encoder_new(uint32_t batch_max)
{
	struct save_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return NULL;
	encoder->batch_max = batch_max;
	encoder->column_bytes = ARRAY_HEAD_BYTES + (size_t)batch_max * (4 + MAP_NAME_BYTES);
	encoder->memory = malloc(SAVE_COLUMNS * encoder->column_bytes);
	if (!encoder->memory) {
		free(encoder);
		return NULL;
	}
	return encoder;
}

void save_encoder_free(struct save_encoder *encoder)
{
	if (!encoder)
		return;
	free(encoder->memory);
	free(encoder);
}

static uint8_t *put_32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, 4);
	return at + 4;
}

static uint8_t *put_element_32(uint8_t *at, uint32_t value)
{
	return put_32(put_32(at, 4), value);
}

static uint8_t *put_element_64(uint8_t *at, uint64_t value)
{
	at = put_32(at, 8);
	value = htobe64(value);
	memcpy(at, &value, 8);
	return at + 8;
}

void save_encoder_fill(struct save_encoder *encoder, const struct save *saves, uint32_t count,
	struct pg_call *call)
{
	static const uint32_t TYPES[SAVE_COLUMNS] = {
		OID_INT4, OID_INT8, OID_INT8, OID_INT8, OID_TEXT, OID_INT4, OID_INT4, OID_INT4};
	uint8_t *start[SAVE_COLUMNS], *at[SAVE_COLUMNS];

	for (uint32_t c = 0; c < SAVE_COLUMNS; c++) {
		start[c] = encoder->memory + c * encoder->column_bytes;
		at[c] = put_32(start[c], 1);
		at[c] = put_32(at[c], 0);
		at[c] = put_32(at[c], TYPES[c]);
		at[c] = put_32(at[c], count);
		at[c] = put_32(at[c], 1);
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct msg_position_save *p = &saves[i].position;
		size_t map_bytes = strnlen(p->map, MAP_NAME_BYTES);

		at[0] = put_element_32(at[0], p->realm_id);
		at[1] = put_element_64(at[1], p->character_id);
		at[2] = put_element_64(at[2], p->epoch);
		at[3] = put_element_64(at[3], saves[i].sequence);
		at[4] = put_32(at[4], (uint32_t)map_bytes);
		memcpy(at[4], p->map, map_bytes);
		at[4] += map_bytes;
		at[5] = put_element_32(at[5], (uint32_t)p->x_mm);
		at[6] = put_element_32(at[6], (uint32_t)p->y_mm);
		at[7] = put_element_32(at[7], p->heading);
	}
	memset(call, 0, sizeof(*call));
	call->name = statements_saves[0].name;
	for (uint32_t c = 0; c < SAVE_COLUMNS; c++)
		add(call, start[c], (size_t)(at[c] - start[c]));
}

uint32_t statements_saved(PGresult *const *results, uint32_t count)
{
	return count == 1 ? (uint32_t)strtoul(PQcmdTuples(results[0]), NULL, 10) : 0;
}
