#include "control/world/commit_statement.h"

#include <stdlib.h>

#include "control/world/pg_binary.h"

#define CALL(function, more)                                                                       \
	"SELECT result, refused_op, gold, experience, other_gold, other_experience, "              \
	"repeated FROM " function "($1::int4, $2::uuid[], $3::int8[], $4::int8[], "                \
	"$5::int8[], $6::int8[], $7::int4[], $8::int4[], $9::int4[], $10::int4[], "                \
	"$11::int4[], $12::int4[], $13::int8[], " more ")"

/* By whether it is a set. */
const struct pg_prepared statements_commits[STATEMENTS_COMMITS] = {
	{"commit_batch", CALL("commit_batch_1", "$14::int8[]")},
	{"commit_set", CALL("commit_set_1", "$14::int4[], $15::int4[], $16::int8[]")},
};

#define RESULT_COLUMNS 7

/* Columns of a commit, then of an operation: type and bytes of an element. The last ones are the
 * row's or the set's. */
enum {
	REQUEST,
	CHARACTER,
	OTHER,
	EPOCH,
	OTHER_EPOCH,
	REASON,
	OPS,
	OP_KIND,
	OP_WHO,
	OP_SLOT,
	OP_ITEM,
	OP_AMOUNT,
	OP_SERIAL,
	OP_COMMIT,
	OP_NUMBER,
	OP_CHARACTER,
	COLUMNS
};
#define COMMIT_COLUMNS OP_KIND

static const struct {
	uint32_t type, bytes;
} SHAPE[COLUMNS] = {
	[REQUEST] = {PG_OID_UUID, 16},
	[CHARACTER] = {PG_OID_INT8, 8},
	[OTHER] = {PG_OID_INT8, 8},
	[EPOCH] = {PG_OID_INT8, 8},
	[OTHER_EPOCH] = {PG_OID_INT8, 8},
	[REASON] = {PG_OID_INT4, 4},
	[OPS] = {PG_OID_INT4, 4},
	[OP_KIND] = {PG_OID_INT4, 4},
	[OP_WHO] = {PG_OID_INT4, 4},
	[OP_SLOT] = {PG_OID_INT4, 4},
	[OP_ITEM] = {PG_OID_INT4, 4},
	[OP_AMOUNT] = {PG_OID_INT8, 8},
	[OP_SERIAL] = {PG_OID_INT8, 8},
	[OP_COMMIT] = {PG_OID_INT4, 4},
	[OP_NUMBER] = {PG_OID_INT4, 4},
	[OP_CHARACTER] = {PG_OID_INT8, 8},
};

struct commit_encoder {
	uint32_t realm_id; /* network order */
	uint8_t *column[COLUMNS];
	uint8_t *memory;
};

static size_t column_bytes(int column, uint32_t batch_max, uint32_t batch_ops_max)
{
	size_t count = column < COMMIT_COLUMNS ? batch_max : batch_ops_max;

	return PG_ARRAY_HEAD_BYTES + count * (4 + SHAPE[column].bytes);
}

/* One commit may have more operations than a batch should. */
static uint32_t ops_max(uint32_t batch_ops_max)
{
	return batch_ops_max < COMMIT_OPS_MAX ? COMMIT_OPS_MAX : batch_ops_max;
}

size_t commit_encoder_bytes(uint32_t batch_max, uint32_t batch_ops_max)
{
	size_t bytes = sizeof(struct commit_encoder);

	for (int c = 0; c < COLUMNS; c++)
		bytes += column_bytes(c, batch_max, ops_max(batch_ops_max));
	return bytes;
}

struct commit_encoder *commit_encoder_new(uint32_t batch_max, uint32_t batch_ops_max)
{
	struct commit_encoder *encoder = calloc(1, sizeof(*encoder));
	uint8_t *at;

	if (!encoder)
		return NULL;
	at = encoder->memory = malloc(commit_encoder_bytes(batch_max, batch_ops_max));
	if (!at) {
		free(encoder);
		return NULL;
	}
	for (int c = 0; c < COLUMNS; c++) {
		encoder->column[c] = at;
		at += column_bytes(c, batch_max, ops_max(batch_ops_max));
	}
	return encoder;
}

void commit_encoder_free(struct commit_encoder *encoder)
{
	if (!encoder)
		return;
	free(encoder->memory);
	free(encoder);
}

static bool in_call(int column, bool set)
{
	return column < OP_SERIAL || (column == OP_SERIAL) != set;
}

/* number: of the commit, from 1. */
static void put_commit(
	uint8_t *at[COLUMNS], const struct msg_commit *commit, uint32_t number, bool set)
{
	uint64_t request[2] = {htobe64(commit->request[0]), htobe64(commit->request[1])};

	at[REQUEST] = pg_array_bytes(at[REQUEST], request, sizeof(request));
	at[CHARACTER] = pg_array_64(at[CHARACTER], commit->character_id[0]);
	at[OTHER] = pg_array_64(at[OTHER], commit->character_id[1]);
	at[EPOCH] = pg_array_64(at[EPOCH], commit->epoch[0]);
	at[OTHER_EPOCH] = pg_array_64(at[OTHER_EPOCH], commit->epoch[1]);
	at[REASON] = pg_array_32(at[REASON], commit->reason);
	at[OPS] = pg_array_32(at[OPS], commit->ops);
	for (uint32_t i = 0; i < commit->ops; i++) {
		const struct commit_op *op = &commit->op[i];

		at[OP_KIND] = pg_array_32(at[OP_KIND], op->kind);
		at[OP_WHO] = pg_array_32(at[OP_WHO], op->who);
		at[OP_SLOT] = pg_array_32(at[OP_SLOT], op->slot);
		at[OP_ITEM] = pg_array_32(at[OP_ITEM], op->item);
		at[OP_AMOUNT] = pg_array_64(at[OP_AMOUNT], (uint64_t)op->amount);
		if (!set) {
			at[OP_SERIAL] = pg_array_64(at[OP_SERIAL], op->serial);
			continue;
		}
		at[OP_COMMIT] = pg_array_32(at[OP_COMMIT], number);
		at[OP_NUMBER] = pg_array_32(at[OP_NUMBER], i);
		at[OP_CHARACTER] = pg_array_64(at[OP_CHARACTER], commit->character_id[op->who]);
	}
}

void commit_encoder_fill(struct commit_encoder *encoder, struct commit *const *commits,
	uint32_t count, bool set, struct pg_call *call)
{
	uint8_t *at[COLUMNS];
	uint32_t ops = 0;

	for (uint32_t i = 0; i < count; i++)
		ops += commits[i]->body.commit.ops;
	for (int c = 0; c < COLUMNS; c++)
		at[c] = pg_array_begin(
			encoder->column[c], SHAPE[c].type, c < COMMIT_COLUMNS ? count : ops);
	for (uint32_t i = 0; i < count; i++)
		put_commit(at, &commits[i]->body.commit, i + 1, set);
	memset(call, 0, sizeof(*call));
	call->name = statements_commits[set].name;
	encoder->realm_id = htobe32(commits[0]->body.commit.realm_id);
	pg_call_add(call, &encoder->realm_id, 4);
	for (int c = 0; c < COLUMNS; c++) {
		if (in_call(c, set))
			pg_call_add(call, encoder->column[c], (size_t)(at[c] - encoder->column[c]));
	}
}

bool commit_results_read(PGresult *const *results, uint32_t result_count,
	struct commit *const *commits, uint32_t count, uint32_t *repeated)
{
	const PGresult *rows = result_count == 1 ? results[0] : NULL;

	*repeated = 0;
	if (PQntuples(rows) != (int)count || PQnfields(rows) != RESULT_COLUMNS)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct msg_commit *commit = &commits[i]->body.commit;
		struct msg_commit_result *result = &commits[i]->result;
		int row = (int)i;

		*result = (struct msg_commit_result){
			.request = {commit->request[0], commit->request[1]},
			.character_id = {commit->character_id[0], commit->character_id[1]},
			.result = pg_column_32(rows, row, 0),
			.refused_op = pg_column_32(rows, row, 1),
			.gold = {(int64_t)pg_column_64(rows, row, 2),
				(int64_t)pg_column_64(rows, row, 4)},
			.experience = {(int64_t)pg_column_64(rows, row, 3),
				(int64_t)pg_column_64(rows, row, 5)},
		};
		/* A newer server's refusal, kept from an earlier time. */
		if (result->result >= COMMIT_RESULT_COUNT)
			result->result = COMMIT_RESULT_INVALID;
		*repeated += *PQgetvalue(rows, row, 6) != 0;
	}
	return true;
}
