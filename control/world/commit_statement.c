#include "control/world/commit_statement.h"

#include <stdlib.h>

#include "control/world/pg_binary.h"

#define CALL(function, more)                                                                       \
	"SELECT result, refused_op, gold, experience, other_gold, other_experience, "              \
	"repeated FROM " function "($1::int4, $2::uuid[], $3::int8[], $4::int8[], "                \
	"$5::int8[], $6::int8[], $7::int4[], $8::int4[], $9::int4[], $10::int4[], "                \
	"$11::int4[], $12::int4[], $13::int8[], " more ")"

const struct pg_prepared statements_commits[STATEMENTS_COMMITS] = {
	[COMMIT_ROW] = {"commit_batch", CALL("commit_batch_1", "$14::int8[]")},
	[COMMIT_SET] = {"commit_set",
		CALL("commit_set_1", "$14::int4[], $15::int4[], $16::int8[]")},
	[COMMIT_SLOTS] = {"commit_slots",
		"SELECT results, gold, experience, of_holders, repeated FROM commit_slots_1("
		"$1::int4, $2::uuid[], $3::int8[], $4::int8[], $5::int4[], $6::int4[], "
		"$7::int4[], $8::int8[], $9::int8[], $10::int4[])"},
};

#define RESULT_COLUMNS 7
#define SLOTS_COLUMNS  5

/* Columns of a commit, then of an operation, then of a character: type and bytes of an element. */
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
	HOLDER,
	PLACE,
	COLUMNS
};
#define COMMIT_COLUMNS OP_KIND

/* Which of them a statement takes, in their order. */
#define OF_ALL  (1u << COMMIT_ROW | 1u << COMMIT_SET | 1u << COMMIT_SLOTS)
#define OF_OPS  (1u << COMMIT_ROW | 1u << COMMIT_SET)
#define OF_ROW  (1u << COMMIT_ROW)
#define OF_SET  (1u << COMMIT_SET)
#define OF_SLOT (1u << COMMIT_SLOTS)

static const struct {
	uint32_t type, bytes, kinds;
} SHAPE[COLUMNS] = {
	[REQUEST] = {PG_OID_UUID, 16, OF_ALL},
	[CHARACTER] = {PG_OID_INT8, 8, OF_ALL},
	[OTHER] = {PG_OID_INT8, 8, OF_OPS},
	[EPOCH] = {PG_OID_INT8, 8, OF_ALL},
	[OTHER_EPOCH] = {PG_OID_INT8, 8, OF_OPS},
	[REASON] = {PG_OID_INT4, 4, OF_ALL},
	[OPS] = {PG_OID_INT4, 4, OF_OPS},
	[OP_KIND] = {PG_OID_INT4, 4, OF_OPS},
	[OP_WHO] = {PG_OID_INT4, 4, OF_OPS},
	[OP_SLOT] = {PG_OID_INT4, 4, OF_ALL},
	[OP_ITEM] = {PG_OID_INT4, 4, OF_ALL},
	[OP_AMOUNT] = {PG_OID_INT8, 8, OF_ALL},
	[OP_SERIAL] = {PG_OID_INT8, 8, OF_ROW},
	[OP_COMMIT] = {PG_OID_INT4, 4, OF_SET},
	[OP_NUMBER] = {PG_OID_INT4, 4, OF_SET},
	[OP_CHARACTER] = {PG_OID_INT8, 8, OF_SET},
	[HOLDER] = {PG_OID_INT8, 8, OF_SLOT},
	[PLACE] = {PG_OID_INT4, 4, OF_SLOT},
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

static bool in_call(int column, enum commit_kind kind)
{
	return SHAPE[column].kinds >> kind & 1;
}

/* number: of the commit, from 1. */
static void put_commit(uint8_t *at[COLUMNS], const struct msg_commit *commit, uint32_t number,
	enum commit_kind kind)
{
	uint64_t request[2] = {htobe64(commit->request[0]), htobe64(commit->request[1])};

	at[REQUEST] = pg_array_bytes(at[REQUEST], request, sizeof(request));
	at[CHARACTER] = pg_array_64(at[CHARACTER], commit->character_id[0]);
	at[EPOCH] = pg_array_64(at[EPOCH], commit->epoch[0]);
	at[REASON] = pg_array_32(at[REASON], commit->reason);
	if (kind == COMMIT_SLOTS) {
		at[OP_SLOT] = pg_array_32(at[OP_SLOT], commit->op[0].slot);
		at[OP_ITEM] = pg_array_32(at[OP_ITEM], commit->op[0].item);
		at[OP_AMOUNT] = pg_array_64(at[OP_AMOUNT], (uint64_t)commit->op[0].amount);
		return;
	}
	at[OTHER] = pg_array_64(at[OTHER], commit->character_id[1]);
	at[OTHER_EPOCH] = pg_array_64(at[OTHER_EPOCH], commit->epoch[1]);
	at[OPS] = pg_array_32(at[OPS], commit->ops);
	for (uint32_t i = 0; i < commit->ops; i++) {
		const struct commit_op *op = &commit->op[i];

		at[OP_KIND] = pg_array_32(at[OP_KIND], op->kind);
		at[OP_WHO] = pg_array_32(at[OP_WHO], op->who);
		at[OP_SLOT] = pg_array_32(at[OP_SLOT], op->slot);
		at[OP_ITEM] = pg_array_32(at[OP_ITEM], op->item);
		at[OP_AMOUNT] = pg_array_64(at[OP_AMOUNT], (uint64_t)op->amount);
		at[OP_SERIAL] = pg_array_64(at[OP_SERIAL], op->serial);
		at[OP_COMMIT] = pg_array_32(at[OP_COMMIT], number);
		at[OP_NUMBER] = pg_array_32(at[OP_NUMBER], i);
		at[OP_CHARACTER] = pg_array_64(at[OP_CHARACTER], commit->character_id[op->who]);
	}
}

/* In slots the commits of a character stand together. */
static bool next_holder(struct commit *const *commits, uint32_t i)
{
	return i == 0 || commits[i]->body.commit.character_id[0] !=
				 commits[i - 1]->body.commit.character_id[0];
}

static void put_holders(
	uint8_t *at[COLUMNS], struct commit *const *commits, uint32_t count, uint32_t holders)
{
	uint32_t place = 0;

	at[HOLDER] = pg_array_begin(at[HOLDER], SHAPE[HOLDER].type, holders);
	for (uint32_t i = 0; i < count; i++) {
		if (next_holder(commits, i)) {
			at[HOLDER] =
				pg_array_64(at[HOLDER], commits[i]->body.commit.character_id[0]);
			place++;
		}
		at[PLACE] = pg_array_32(at[PLACE], place);
	}
}

void commit_encoder_fill(struct commit_encoder *encoder, struct commit *const *commits,
	uint32_t count, enum commit_kind kind, struct pg_call *call)
{
	uint8_t *at[COLUMNS];
	uint32_t ops = 0, holders = 0;

	for (uint32_t i = 0; i < count; i++) {
		ops += commits[i]->body.commit.ops;
		holders += next_holder(commits, i);
	}
	for (int c = 0; c < HOLDER; c++)
		at[c] = pg_array_begin(
			encoder->column[c], SHAPE[c].type, c < COMMIT_COLUMNS ? count : ops);
	for (uint32_t i = 0; i < count; i++)
		put_commit(at, &commits[i]->body.commit, i + 1, kind);
	at[HOLDER] = encoder->column[HOLDER];
	at[PLACE] = pg_array_begin(encoder->column[PLACE], SHAPE[PLACE].type, count);
	put_holders(at, commits, count, holders);
	memset(call, 0, sizeof(*call));
	call->name = statements_commits[kind].name;
	encoder->realm_id = htobe32(commits[0]->body.commit.realm_id);
	pg_call_add(call, &encoder->realm_id, 4);
	for (int c = 0; c < COLUMNS; c++) {
		if (in_call(c, kind))
			pg_call_add(call, encoder->column[c], (size_t)(at[c] - encoder->column[c]));
	}
}

static struct msg_commit_result result_of(const struct msg_commit *commit, uint32_t result)
{
	return (struct msg_commit_result){
		.request = {commit->request[0], commit->request[1]},
		.character_id = {commit->character_id[0], commit->character_id[1]},
		/* A newer server's refusal, kept from an earlier time. */
		.result = result < COMMIT_RESULT_COUNT ? result : COMMIT_RESULT_INVALID,
	};
}

/* One row with arrays: of the commits, or of their characters. */
static bool slots_read(
	const PGresult *row, struct commit *const *commits, uint32_t count, uint32_t *repeated)
{
	bool of_holders = PQntuples(row) == 1 && PQnfields(row) == SLOTS_COLUMNS &&
			  *PQgetvalue(row, 0, 3) != 0;
	uint32_t holders = 0, place = 0;
	struct pg_array results, gold, experience;

	for (uint32_t i = 0; i < count; i++)
		holders += !of_holders || next_holder(commits, i);
	if (PQntuples(row) != 1 || PQnfields(row) != SLOTS_COLUMNS ||
		!pg_array_open(&results, row, 0, 0, 4, count) ||
		!pg_array_open(&gold, row, 0, 1, 8, holders) ||
		!pg_array_open(&experience, row, 0, 2, 8, holders))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct msg_commit_result *result = &commits[i]->result;

		place += i > 0 && (!of_holders || next_holder(commits, i));
		*result = result_of(&commits[i]->body.commit, pg_array_get_32(&results, i));
		if (result->result != COMMIT_RESULT_OK)
			continue;
		result->gold[0] = (int64_t)pg_array_get_64(&gold, place);
		result->experience[0] = (int64_t)pg_array_get_64(&experience, place);
	}
	*repeated = (uint32_t)pg_column_64(row, 0, 4);
	return true;
}

bool commit_results_read(PGresult *const *results, uint32_t result_count,
	struct commit *const *commits, uint32_t count, enum commit_kind kind, uint32_t *repeated)
{
	const PGresult *rows = result_count == 1 ? results[0] : NULL;

	*repeated = 0;
	if (kind == COMMIT_SLOTS)
		return slots_read(rows, commits, count, repeated);
	if (PQntuples(rows) != (int)count || PQnfields(rows) != RESULT_COLUMNS)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct msg_commit_result *result = &commits[i]->result;
		int row = (int)i;

		*result = result_of(&commits[i]->body.commit, pg_column_32(rows, row, 0));
		result->refused_op = pg_column_32(rows, row, 1);
		for (int who = 0; who < 2; who++) {
			result->gold[who] = (int64_t)pg_column_64(rows, row, 2 + 2 * who);
			result->experience[who] = (int64_t)pg_column_64(rows, row, 3 + 2 * who);
		}
		*repeated += *PQgetvalue(rows, row, 6) != 0;
	}
	return true;
}
