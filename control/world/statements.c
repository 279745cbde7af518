#include "control/world/statements.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "control/world/pg_binary.h"
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
		"WHERE realm_id = $1::int4 AND character_id = $2::int8 AND account_id = $3::int8 "
		"AND ($4::int8 = 0 OR epoch <= $4::int8)"},
	{"read_character",
		"SELECT c.account_id = $3::int8, c.epoch, c.name, p.map, p.x_mm, p.y_mm, p.heading "
		"FROM character c LEFT JOIN character_position p "
		"ON p.realm_id = c.realm_id AND p.character_id = c.character_id "
		"WHERE c.realm_id = $1::int4 AND c.character_id = $2::int8"},
	/* What kind of row it is, then what that kind has: one statement, so one snapshot. */
	{"read_detail", "SELECT 0::int8, gold, experience, level::int8, appearance::int8 "
			"FROM character WHERE realm_id = $1::int4 AND character_id = $2::int8 "
			"UNION ALL SELECT 1, slot, item, serial, count FROM item_slot "
			"WHERE realm_id = $1::int4 AND character_id = $2::int8 "
			"UNION ALL SELECT 2, quest, state, trunc(LEAST(4294967295, GREATEST(0, "
			"extract(epoch FROM clock_timestamp() - since))))::int8, 0 FROM quest "
			"WHERE realm_id = $1::int4 AND character_id = $2::int8 ORDER BY 1, 2"},
	{"audit", "INSERT INTO ops_audit_log (realm_id, id, at, node, author, kind, what, good, "
		  "outcome) VALUES ($1::int4, $2::text::uuid, to_timestamp($3::int8 / 1000.0), "
		  "$4::text, $5::text, $6::text, $7::text, $8::bool, $9::text) "
		  "ON CONFLICT DO NOTHING"},
	/* See prune.c. Numbers, then the last request seen. What is deleted is between two keys,
	 * not in a list of them: a plan made for a small table may look for a list in all of a
	 * large one. */
	{"prune_records",
		"WITH page AS MATERIALIZED (SELECT request FROM commit_record "
		"WHERE realm_id = $1::int4 AND request > $2::uuid ORDER BY request LIMIT 1000), "
		"seen AS MATERIALIZED (SELECT count(*) AS rows, "
		"(SELECT p.request FROM page p ORDER BY p.request DESC LIMIT 1) AS last FROM "
		"page), "
		"gone AS (DELETE FROM commit_record r WHERE r.realm_id = $1::int4 "
		"AND r.request > $2::uuid AND r.request <= (SELECT s.last FROM seen s) "
		"AND r.at < now() - make_interval(hours => $3::int4) "
		"AND r.at < (SELECT c.last_login_at FROM character c WHERE c.realm_id = $1::int4 "
		"AND c.character_id = r.character_id) RETURNING 1) "
		"SELECT s.rows, (SELECT count(*) FROM gone), s.last FROM seen s"},
	/* See prune.c. A page ends with a whole transaction. Where two nodes do it at once, each row
	 * is taken by one of them: what is summed up is what this statement took away. */
	{"prune_ledger",
		"WITH begin AS MATERIALIZED (SELECT coalesce(max(up_to), '-infinity') AS at "
		"FROM ledger_checkpoint WHERE realm_id = $1::int4), "
		"page AS MATERIALIZED (SELECT count(*) AS rows, max(f.at) AS at FROM (SELECT at "
		"FROM ledger WHERE realm_id = $1::int4 AND at > (SELECT at FROM begin) "
		"AND at < now() - make_interval(days => $2::int4) ORDER BY at LIMIT 1000) f), "
		"gone AS (DELETE FROM ledger WHERE realm_id = $1::int4 "
		"AND at > (SELECT at FROM begin) AND at <= (SELECT at FROM page) "
		"RETURNING character_id, kind, slot, item, serial, amount), "
		"sums AS (INSERT INTO ledger_sum AS s (realm_id, character_id, kind, slot, item, "
		"serial, amount) SELECT $1::int4, character_id, kind, slot, item, serial, "
		"sum(amount) FROM gone GROUP BY character_id, kind, slot, item, serial "
		"ORDER BY character_id, kind, slot, item, serial "
		"ON CONFLICT (realm_id, character_id, kind, slot, item, serial) "
		"DO UPDATE SET amount = s.amount + excluded.amount), "
		"checkpoint AS (INSERT INTO ledger_checkpoint AS c (realm_id, up_to, removed, "
		"gold, experience, items) SELECT $1::int4, (SELECT at FROM page), count(*), "
		"coalesce(sum(amount) FILTER (WHERE kind = 0), 0), "
		"coalesce(sum(amount) FILTER (WHERE kind = 1), 0), "
		"coalesce(sum(amount) FILTER (WHERE kind = 2), 0) FROM gone "
		"HAVING (SELECT rows FROM page) > 0 ON CONFLICT (realm_id) DO UPDATE SET "
		"up_to = GREATEST(c.up_to, excluded.up_to), removed = c.removed + "
		"excluded.removed, gold = c.gold + excluded.gold, experience = c.experience + "
		"excluded.experience, items = c.items + excluded.items) "
		"SELECT (SELECT rows FROM page), (SELECT count(*) FROM gone)"},
	{"prune_sums", "DELETE FROM ledger_sum WHERE realm_id = $1::int4 AND amount = 0"},
	/* corrections.c */
	{"operator_change",
		"SELECT request, character_id, other_id, outcome, gold, experience, other_gold, "
		"other_experience, repeated FROM operator_change_1($1::int4, $2::uuid, $3::int8, "
		"$4::int4, $5::int4, $6::bool, $7::int8)"},
	{"operator_reverse",
		"SELECT request, character_id, other_id, outcome, gold, experience, other_gold, "
		"other_experience, repeated FROM operator_reverse_1($1::int4, $2::uuid)"},
	/* Parties (parties.c). A batch may have several versions of one: the greatest is kept. The
	 * same version again only says that the party is still there. */
	{"save_parties",
		"INSERT INTO party (realm_id, party_id, version, state, expires_at) "
		"SELECT DISTINCT ON (party_id) $1::int4, party_id, version, state, "
		"now() + keep_s * interval '1 second' "
		"FROM unnest($2::int8[], $3::int8[], $4::text[], $5::int4[]) "
		"AS u (party_id, version, state, keep_s) ORDER BY party_id, version DESC "
		"ON CONFLICT (realm_id, party_id) DO UPDATE SET version = excluded.version, "
		"state = excluded.state, expires_at = excluded.expires_at "
		"WHERE party.version <= excluded.version"},
	{"party_epoch", "INSERT INTO party_epoch (realm_id, epoch) VALUES ($1::int4, 1) "
			"ON CONFLICT (realm_id) DO UPDATE SET epoch = party_epoch.epoch + 1 "
			"RETURNING epoch"},
	{"read_parties", "SELECT party_id, version, state FROM party WHERE realm_id = $1::int4 "
			 "AND version < $2::int8 AND state <> '' AND expires_at > now() "
			 "ORDER BY version DESC LIMIT $3::int4"},
	/* See nodes.c. Another process of the name says so too, and the latest word stands. */
	{"node_say", "INSERT INTO node (realm_id, name, address, boot, stopped, seen_at) "
		     "VALUES ($1::int4, $2::text, $3::text, $4::int8, $5::bool, now()) "
		     "ON CONFLICT (realm_id, name) DO UPDATE SET address = excluded.address, "
		     "boot = excluded.boot, stopped = excluded.stopped, "
		     "seen_at = excluded.seen_at"},
	{"node_ask", "SELECT DISTINCT name FROM node WHERE NOT stopped "
		     "AND seen_at > now() - make_interval(secs => $1::int4) ORDER BY name "
		     "LIMIT 120"},
	{"prune_parties", "DELETE FROM party WHERE realm_id = $1::int4 AND expires_at < now()"},
};

/* Locks the rows in id order (two nodes never wait for each other in a circle), then compares the
 * epoch as it is under the lock: after waiting, FOR UPDATE returns the row as the other transaction
 * left it. The arrays come sorted, but nothing keeps a plan in their order, hence ORDER BY. NO KEY:
 * what an UPDATE of other columns takes; conflicts with take_over and other batches.
 *
 * The comparison of (epoch, save_sequence) is for a batch that a lost connection delivers late. */
const struct pg_prepared statements_saves[STATEMENTS_SAVES] = {
	{"save_positions",
		"WITH want AS MATERIALIZED (SELECT * FROM unnest($2::int8[], $3::int8[], "
		"$4::int8[], $5::text[], $6::int4[], $7::int4[], $8::int4[]) AS u (character_id, "
		"epoch, save_sequence, map, x_mm, y_mm, heading)), "
		"held AS MATERIALIZED (SELECT c.character_id, c.epoch FROM character c "
		"JOIN want w ON c.character_id = w.character_id WHERE c.realm_id = $1::int4 "
		"ORDER BY c.character_id FOR NO KEY UPDATE OF c) "
		"INSERT INTO character_position AS p (realm_id, character_id, map, x_mm, y_mm, "
		"heading, "
		"epoch, save_sequence, saved_at) "
		"SELECT $1::int4, w.character_id, w.map, w.x_mm, w.y_mm, w.heading, w.epoch, "
		"w.save_sequence, now() FROM want w JOIN held h "
		"ON h.character_id = w.character_id WHERE h.epoch = w.epoch "
		"ON CONFLICT (realm_id, character_id) DO UPDATE SET map = excluded.map, "
		"x_mm = excluded.x_mm, y_mm = excluded.y_mm, heading = excluded.heading, "
		"epoch = excluded.epoch, save_sequence = excluded.save_sequence, "
		"saved_at = excluded.saved_at "
		"WHERE (p.epoch, p.save_sequence) <= (excluded.epoch, excluded.save_sequence)"},
};

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
	params->epoch_max = htobe64(load->epoch_max);
	params->appearance = htobe32(first_appearance(load->character_id));
	world_name_candidates(load->name, load->character_id, params->plain, params->suffixed);
	memset(calls, 0, LOAD_CALLS * sizeof(*calls));
	for (uint32_t i = 0; i < LOAD_CALLS; i++) {
		calls[i].name = statements_requests[i].name;
		pg_call_add(&calls[i], &params->realm_id, 4);
		pg_call_add(&calls[i], &params->character_id, 8);
		pg_call_add(&calls[i], &params->account_id, 8);
	}
	pg_call_add(&calls[1], &params->epoch_max, 8);
	pg_call_add(&calls[0], params->plain, strlen(params->plain));
	pg_call_add(&calls[0], params->suffixed, strlen(params->suffixed));
	pg_call_add(&calls[0], &params->appearance, 4);
}

void statements_detail(
	const struct msg_detail_query *query, struct load_params *params, struct pg_call *call)
{
	memset(call, 0, sizeof(*call));
	call->name = "read_detail";
	params->realm_id = htobe32(query->realm_id);
	params->character_id = htobe64(query->character_id);
	pg_call_add(call, &params->realm_id, 4);
	pg_call_add(call, &params->character_id, 8);
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
	if (!strcmp(PQcmdTuples(results[1]),
		    "0")) { /* not taken over, though it is its account's */
		answer->result = MSG_LOAD_NEWER;
		return true;
	}
	answer->epoch = pg_column_64(row, 0, 1);
	column_text(row, 2, answer->name, sizeof(answer->name));
	*created = strcmp(PQcmdTuples(results[0]), "0") != 0;
	*renamed = *created && strncmp(answer->name, wanted, CHARACTER_NAME_BYTES) != 0;
	answer->has_position = !PQgetisnull(row, 0, 3);
	if (answer->has_position) {
		column_text(row, 3, answer->map, sizeof(answer->map));
		answer->x_mm = (int32_t)pg_column_32(row, 0, 4);
		answer->y_mm = (int32_t)pg_column_32(row, 0, 5);
		answer->heading = (uint16_t)pg_column_32(row, 0, 6);
	}
	return true;
}

bool statements_detailed(
	PGresult *const *results, uint32_t count, struct detail_answer *answer, bool *unknown)
{
	const PGresult *rows = count == 1 ? results[0] : NULL;
	int row_count = PQntuples(rows);

	*unknown = rows && row_count == 0;
	if (row_count < 1 || PQnfields(rows) != 5 || pg_column_64(rows, 0, 0) != 0)
		return false;
	answer->head.gold = (int64_t)pg_column_64(rows, 0, 1);
	answer->head.experience = (int64_t)pg_column_64(rows, 0, 2);
	answer->head.level = (uint32_t)pg_column_64(rows, 0, 3);
	answer->head.appearance = (uint32_t)pg_column_64(rows, 0, 4);
	answer->head.slots = answer->head.quests = 0;
	for (int row = 1; row < row_count; row++) {
		if (pg_column_64(rows, row, 0) == 1 && answer->head.slots < COMMIT_SLOTS_MAX)
			answer->slots[answer->head.slots++] =
				(struct msg_slot){.slot = (uint16_t)pg_column_64(rows, row, 1),
					.item = (uint32_t)pg_column_64(rows, row, 2),
					.serial = pg_column_64(rows, row, 3),
					.count = (int64_t)pg_column_64(rows, row, 4)};
		else if (pg_column_64(rows, row, 0) == 2 && answer->head.quests < COMMIT_QUESTS_MAX)
			answer->quests[answer->head.quests++] =
				(struct msg_quest){.quest = (uint32_t)pg_column_64(rows, row, 1),
					.state = (uint32_t)pg_column_64(rows, row, 2),
					.age_s = (uint32_t)pg_column_64(rows, row, 3)};
		else
			return false; /* more than the schema and the commits allow */
	}
	answer->head.result = MSG_LOAD_OK;
	return true;
}

#define SAVE_COLUMNS 7u

struct save_encoder {
	uint32_t batch_max;
	uint32_t realm_id; /* network order */
	size_t column_bytes;
	uint8_t *memory; /* SAVE_COLUMNS * column_bytes */
};

struct save_encoder *save_encoder_new(uint32_t batch_max)
{
	struct save_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return NULL;
	encoder->batch_max = batch_max;
	encoder->column_bytes = PG_ARRAY_HEAD_BYTES + (size_t)batch_max * (4 + MAP_NAME_BYTES);
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

void save_encoder_fill(struct save_encoder *encoder, const struct save *saves, uint32_t count,
	struct pg_call *call)
{
	static const uint32_t TYPES[SAVE_COLUMNS] = {PG_OID_INT8, PG_OID_INT8, PG_OID_INT8,
		PG_OID_TEXT, PG_OID_INT4, PG_OID_INT4, PG_OID_INT4};
	uint8_t *start[SAVE_COLUMNS], *at[SAVE_COLUMNS];

	for (uint32_t c = 0; c < SAVE_COLUMNS; c++) {
		start[c] = encoder->memory + c * encoder->column_bytes;
		at[c] = pg_array_begin(start[c], TYPES[c], count);
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct msg_position_save *p = &saves[i].position;
		size_t map_bytes = strnlen(p->map, MAP_NAME_BYTES);

		at[0] = pg_array_64(at[0], p->character_id);
		at[1] = pg_array_64(at[1], p->epoch);
		at[2] = pg_array_64(at[2], saves[i].sequence);
		at[3] = pg_array_bytes(at[3], p->map, (uint32_t)map_bytes);
		at[4] = pg_array_32(at[4], (uint32_t)p->x_mm);
		at[5] = pg_array_32(at[5], (uint32_t)p->y_mm);
		at[6] = pg_array_32(at[6], p->heading);
	}
	memset(call, 0, sizeof(*call));
	call->name = statements_saves[0].name;
	encoder->realm_id = htobe32(saves[0].position.realm_id);
	pg_call_add(call, &encoder->realm_id, 4);
	for (uint32_t c = 0; c < SAVE_COLUMNS; c++)
		pg_call_add(call, start[c], (size_t)(at[c] - start[c]));
}

uint32_t statements_saved(PGresult *const *results, uint32_t count)
{
	return count == 1 ? (uint32_t)strtoul(PQcmdTuples(results[0]), NULL, 10) : 0;
}
