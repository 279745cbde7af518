/* previous_release: the SQL with which releases before this one work, word by word, and the
 * migrations that they know. A test runs each beside today's server on one schema. When a release is
 * made, what it sends comes to them (statements.c, commit_statement.c), and those go that nobody may
 * come from any more. */
#ifndef SW_CONTROL_WORLD_PREVIOUS_RELEASE_H
#define SW_CONTROL_WORLD_PREVIOUS_RELEASE_H

#include "control/world/pg_link.h"

#define PREVIOUS_STATEMENTS 8u

struct previous_release {
	uint32_t migrations;
	struct pg_prepared statements[PREVIOUS_STATEMENTS]; /* up to one without a name */
};

// clang-format off
static const struct previous_release previous_releases[] = {
	{2, {
		{"create_character",
			"INSERT INTO character (realm_id, character_id, account_id, name, appearance) "
			"SELECT $1::int4, $2::int8, $3::int8, n.name, $6::int4 FROM (VALUES (1, "
			"$4::text), (2, $5::text)) AS n (rank, name) WHERE n.name <> '' ORDER BY "
			"n.rank ON CONFLICT DO NOTHING"},
		{"take_over",
			"UPDATE character SET epoch = epoch + 1, last_login_at = now() WHERE realm_id "
			"= $1::int4 AND character_id = $2::int8 AND account_id = $3::int8"},
		{"read_character",
			"SELECT c.account_id = $3::int8, c.epoch, c.name, p.map, p.x_mm, p.y_mm, "
			"p.heading FROM character c LEFT JOIN character_position p ON p.realm_id = "
			"c.realm_id AND p.character_id = c.character_id WHERE c.realm_id = $1::int4 "
			"AND c.character_id = $2::int8"},
		{"read_detail",
			"SELECT 0::int8, gold, experience, level::int8, appearance::int8 FROM "
			"character WHERE realm_id = $1::int4 AND character_id = $2::int8 UNION ALL "
			"SELECT 1, slot, item, serial, count FROM item_slot WHERE realm_id = $1::int4 "
			"AND character_id = $2::int8 UNION ALL SELECT 2, quest, state, 0, 0 FROM quest "
			"WHERE realm_id = $1::int4 AND character_id = $2::int8 ORDER BY 1, 2"},
		{"save_positions",
			"WITH want AS MATERIALIZED (SELECT * FROM unnest($1::int4[], $2::int8[], "
			"$3::int8[], $4::int8[], $5::text[], $6::int4[], $7::int4[], $8::int4[]) AS u "
			"(realm_id, character_id, epoch, save_sequence, map, x_mm, y_mm, heading)), "
			"held AS MATERIALIZED (SELECT c.realm_id, c.character_id, c.epoch FROM "
			"character c JOIN want w ON c.realm_id = w.realm_id AND c.character_id = "
			"w.character_id ORDER BY c.realm_id, c.character_id FOR NO KEY UPDATE OF c) "
			"INSERT INTO character_position AS p (realm_id, character_id, map, x_mm, y_mm, "
			"heading, epoch, save_sequence, saved_at) SELECT w.realm_id, w.character_id, "
			"w.map, w.x_mm, w.y_mm, w.heading, w.epoch, w.save_sequence, now() FROM want w "
			"JOIN held h ON h.realm_id = w.realm_id AND h.character_id = w.character_id "
			"WHERE h.epoch = w.epoch ON CONFLICT (realm_id, character_id) DO UPDATE SET "
			"map = excluded.map, x_mm = excluded.x_mm, y_mm = excluded.y_mm, heading = "
			"excluded.heading, epoch = excluded.epoch, save_sequence = "
			"excluded.save_sequence, saved_at = excluded.saved_at WHERE (p.epoch, "
			"p.save_sequence) <= (excluded.epoch, excluded.save_sequence)"},
		{"commit_batch",
			"SELECT result, refused_op, gold, experience, other_gold, other_experience, "
			"repeated FROM commit_batch_1($1::int4, $2::uuid[], $3::int8[], $4::int8[], "
			"$5::int8[], $6::int8[], $7::int4[], $8::int4[], $9::int4[], $10::int4[], "
			"$11::int4[], $12::int4[], $13::int8[], $14::int8[])"},
	}},
	{8, {
		{"create_character",
			"INSERT INTO character (realm_id, character_id, account_id, name, "
			"appearance) SELECT $1::int4, $2::int8, $3::int8, n.name, $6::int4 FROM "
			"(VALUES (1, $4::text), (2, $5::text)) AS n (rank, name) WHERE n.name <> '' "
			"ORDER BY n.rank ON CONFLICT DO NOTHING"},
		{"take_over",
			"UPDATE character SET epoch = epoch + 1, last_login_at = now() WHERE "
			"realm_id = $1::int4 AND character_id = $2::int8 AND account_id = $3::int8 "
			"AND ($4::int8 = 0 OR epoch <= $4::int8)"},
		{"read_character",
			"SELECT c.account_id = $3::int8, c.epoch, c.name, p.map, p.x_mm, p.y_mm, "
			"p.heading FROM character c LEFT JOIN character_position p ON p.realm_id = "
			"c.realm_id AND p.character_id = c.character_id WHERE c.realm_id = $1::int4 "
			"AND c.character_id = $2::int8"},
		{"read_detail",
			"SELECT 0::int8, gold, experience, level::int8, appearance::int8 FROM "
			"character WHERE realm_id = $1::int4 AND character_id = $2::int8 UNION ALL "
			"SELECT 1, slot, item, serial, count FROM item_slot WHERE realm_id = "
			"$1::int4 AND character_id = $2::int8 UNION ALL SELECT 2, quest, state, "
			"trunc(LEAST(4294967295, GREATEST(0, extract(epoch FROM clock_timestamp() - "
			"since))))::int8, 0 FROM quest WHERE realm_id = $1::int4 AND character_id = "
			"$2::int8 ORDER BY 1, 2"},
		{"save_positions",
			"WITH want AS MATERIALIZED (SELECT * FROM unnest($2::int8[], $3::int8[], "
			"$4::int8[], $5::text[], $6::int4[], $7::int4[], $8::int4[]) AS u "
			"(character_id, epoch, save_sequence, map, x_mm, y_mm, heading)), held AS "
			"MATERIALIZED (SELECT c.character_id, c.epoch FROM character c JOIN want w "
			"ON c.character_id = w.character_id WHERE c.realm_id = $1::int4 ORDER BY "
			"c.character_id FOR NO KEY UPDATE OF c) INSERT INTO character_position AS p "
			"(realm_id, character_id, map, x_mm, y_mm, heading, epoch, save_sequence, "
			"saved_at) SELECT $1::int4, w.character_id, w.map, w.x_mm, w.y_mm, "
			"w.heading, w.epoch, w.save_sequence, now() FROM want w JOIN held h ON "
			"h.character_id = w.character_id WHERE h.epoch = w.epoch ON CONFLICT "
			"(realm_id, character_id) DO UPDATE SET map = excluded.map, x_mm = "
			"excluded.x_mm, y_mm = excluded.y_mm, heading = excluded.heading, epoch = "
			"excluded.epoch, save_sequence = excluded.save_sequence, saved_at = "
			"excluded.saved_at WHERE (p.epoch, p.save_sequence) <= (excluded.epoch, "
			"excluded.save_sequence)"},
		{"commit_batch",
			"SELECT result, refused_op, gold, experience, other_gold, other_experience, "
			"repeated FROM commit_batch_1($1::int4, $2::uuid[], $3::int8[], $4::int8[], "
			"$5::int8[], $6::int8[], $7::int4[], $8::int4[], $9::int4[], $10::int4[], "
			"$11::int4[], $12::int4[], $13::int8[], $14::int8[])"},
		{"commit_set",
			"SELECT result, refused_op, gold, experience, other_gold, other_experience, "
			"repeated FROM commit_set_1($1::int4, $2::uuid[], $3::int8[], $4::int8[], "
			"$5::int8[], $6::int8[], $7::int4[], $8::int4[], $9::int4[], $10::int4[], "
			"$11::int4[], $12::int4[], $13::int8[], $14::int4[], $15::int4[], "
			"$16::int8[])"},
	}},
};
// clang-format on

#endif
