-- commit_slots_1: many commits of one operation each, on a slot, of one character, without a serial: what
-- loot, purchases and use come to, by the thousand. commit_set_1 (0004) looks each slot up and then
-- writes it; here the statement that writes it also finds out whether it may, and most need nothing more.
-- Rows and meaning are those of commit_batch_1 (0002).
--
-- A character may be in several commits of the call, each on another slot: it is locked once, and what
-- lies in one slot does not change what becomes of another. No slot is in two (checked). The caller
-- chooses; the other functions take the rest. holders: all the characters, each once, in order; places:
-- where in holders that of each commit is, from 1. One row comes back: the results in the order of the
-- commits; gold and experience in the order of the holders, or of the commits if not of_holders (of those
-- that are done: of a refused one they say nothing); repeated: how many results are of an earlier time.
--
-- Why it is safe: as for commit_set_1. All characters are locked in id order first, so each later
-- statement sees what they own as it will stay until the end. A request that was carried out before has
-- a record, whose key the new record meets. Then all that this function did is taken back, and
-- commit_batch_1 carries out the same commits one by one. Likewise if a character does not exist.
CREATE FUNCTION commit_slots_1(realm integer, requests uuid[], characters bigint[], epochs bigint[],
	reasons integer[], slots integer[], items integer[], amounts bigint[], holders bigint[],
	places integer[])
RETURNS TABLE (results integer[], gold bigint[], experience bigint[], of_holders boolean,
	repeated bigint)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_material = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
	-- enum commit_result
	c_ok CONSTANT integer := 0;
	c_stale CONSTANT integer := 3;
	c_not_enough CONSTANT integer := 5;
	c_slot_taken CONSTANT integer := 6;
	c_too_much CONSTANT integer := 8;
	c_max CONSTANT bigint := 9223372036854775807;
	-- of holders
	held bigint[]; held_epochs bigint[]; held_gold bigint[]; held_experience bigint[];
	--
	v_done integer[];
	v_result integer[] := array_fill(c_ok, ARRAY[cardinality(requests)]);
	-- the commits that the first statement could not carry out, and what becomes of them
	rest integer[] := '{}'; code integer[];
	at integer := 1;
	any_new boolean; any_gone boolean;
	nought CONSTANT bigint[] := array_fill(0::bigint, ARRAY[cardinality(requests)]);
	zeros CONSTANT integer[] := v_result;
BEGIN
	BEGIN
	SELECT array_agg(h.character_id), array_agg(h.epoch), array_agg(h.gold),
		array_agg(h.experience) INTO held, held_epochs, held_gold, held_experience
		FROM (SELECT c.character_id, c.epoch, c.gold, c.experience FROM character c
			WHERE c.realm_id = realm AND c.character_id = ANY (holders)
			ORDER BY c.character_id FOR NO KEY UPDATE) AS h;
	IF held IS DISTINCT FROM holders THEN
		RAISE foreign_key_violation;
	END IF;

	-- What lies there already, and something of it stays. (The comparisons of arrays come first in
	-- any plan: so few commits are expected of them that a slot is looked for by its key, even when
	-- the table was empty as the plan was made.)
	WITH done AS (UPDATE item_slot x SET count = x.count + amounts[s.n]
		FROM generate_subscripts(requests, 1) AS s (n)
		WHERE holders[places[s.n]] = characters[s.n]
		AND held_epochs[places[s.n]] = epochs[s.n]
		AND x.realm_id = realm AND x.character_id = characters[s.n]
		AND x.slot = slots[s.n] AND x.item = items[s.n] AND x.serial = 0
		AND CASE WHEN amounts[s.n] > 0 THEN x.count <= c_max - amounts[s.n]
			ELSE x.count > -amounts[s.n] END
		RETURNING s.n, x.count),
	records AS (INSERT INTO commit_record (realm_id, request, character_id, result,
		refused_op, gold, experience, other_gold, other_experience)
		SELECT realm, requests[d.n], characters[d.n], c_ok, 0, held_gold[places[d.n]],
		held_experience[places[d.n]], 0, 0 FROM done d),
	booked AS (INSERT INTO ledger (realm_id, request, op, kind, character_id, slot, item,
		serial, amount, balance, reason)
		SELECT realm, requests[d.n], 0, 2, characters[d.n], slots[d.n], items[d.n], 0,
		amounts[d.n], d.count, reasons[d.n] FROM done d)
	SELECT array_agg(d.n ORDER BY d.n) INTO v_done FROM done d;

	IF v_done IS NULL OR cardinality(v_done) < cardinality(requests) THEN
		FOR n IN 1 .. cardinality(requests) LOOP
			IF v_done[at] = n THEN
				at := at + 1;
			ELSE
				rest := rest || n;
			END IF;
		END LOOP;
		SELECT array_agg(v.code),
			bool_or(v.code = c_ok AND amounts[v.n] > 0),
			bool_or(v.code = c_ok AND amounts[v.n] < 0)
			INTO code, any_new, any_gone
			FROM (SELECT r.n, CASE
				WHEN holders[places[r.n]] <> characters[r.n] THEN NULL
				WHEN held_epochs[places[r.n]] <> epochs[r.n] THEN c_stale
				WHEN x.item IS NULL AND amounts[r.n] > 0 THEN c_ok
				WHEN x.item IS NULL THEN c_not_enough
				WHEN x.item <> items[r.n] OR x.serial <> 0 THEN c_slot_taken
				WHEN amounts[r.n] > 0 AND x.count > c_max - amounts[r.n]
					THEN c_too_much
				WHEN amounts[r.n] < 0 AND x.count < -amounts[r.n]
					THEN c_not_enough
				WHEN x.count = -amounts[r.n] THEN c_ok END AS code
				FROM unnest(rest) AS r (n)
				LEFT JOIN LATERAL (SELECT y.item, y.serial, y.count
					FROM item_slot y WHERE y.realm_id = realm
					AND y.character_id = characters[r.n]
					AND y.slot = slots[r.n] OFFSET 0) AS x ON true
				ORDER BY r.n) AS v;
		-- Possible now, and was not before: another commit changed the slot.
		IF array_position(code, NULL) IS NOT NULL THEN
			RAISE EXCEPTION 'commit_slots_1: a slot is in two commits, or a place is wrong';
		END IF;
		IF any_new THEN
			INSERT INTO item_slot (realm_id, character_id, slot, item, serial, count)
				SELECT realm, characters[r.n], slots[r.n], items[r.n], 0,
				amounts[r.n] FROM unnest(rest, code) AS r (n, code)
				WHERE r.code = c_ok AND amounts[r.n] > 0;
		END IF;
		IF any_gone THEN
			DELETE FROM item_slot x USING unnest(rest, code) AS r (n, code)
				WHERE r.code = c_ok AND amounts[r.n] < 0
				AND x.realm_id = realm AND x.character_id = characters[r.n]
				AND x.slot = slots[r.n];
		END IF;
		INSERT INTO commit_record (realm_id, request, character_id, result, refused_op,
			gold, experience, other_gold, other_experience)
			SELECT realm, requests[r.n], characters[r.n], r.code, 0,
			CASE r.code WHEN c_ok THEN held_gold[places[r.n]] ELSE 0 END,
			CASE r.code WHEN c_ok THEN held_experience[places[r.n]] ELSE 0 END, 0, 0
			FROM unnest(rest, code) AS r (n, code);
		IF any_new OR any_gone THEN
			INSERT INTO ledger (realm_id, request, op, kind, character_id, slot, item,
				serial, amount, balance, reason)
				SELECT realm, requests[r.n], 0, 2, characters[r.n], slots[r.n],
				items[r.n], 0, amounts[r.n], GREATEST(amounts[r.n], 0),
				reasons[r.n] FROM unnest(rest, code) AS r (n, code)
				WHERE r.code = c_ok;
		END IF;
		FOR i IN 1 .. cardinality(rest) LOOP
			v_result[rest[i]] := code[i];
		END LOOP;
	END IF;

	results := v_result;
	gold := held_gold;
	experience := held_experience;
	of_holders := true;
	repeated := 0;
	RETURN NEXT;
	RETURN;
	EXCEPTION
		WHEN integrity_constraint_violation THEN NULL;
	END;
	SELECT array_agg(b.result), array_agg(b.gold), array_agg(b.experience),
		false, count(*) FILTER (WHERE b.repeated)
		INTO results, gold, experience, of_holders, repeated
		FROM commit_batch_1(realm, requests, characters, nought, epochs, nought, reasons,
			array_fill(1, ARRAY[cardinality(requests)]),
			array_fill(2, ARRAY[cardinality(requests)]), zeros, slots, items, amounts,
			nought) AS b;
	RETURN NEXT;
END $$;
