-- commit_set_1: many simple commits of different characters at once, by a few statements over all of them
-- instead of a block of statements for each. Rows and meaning are those of commit_batch_1 (0002), and
-- the same commits given to that one after the other have the same results.
--
-- What is simple: operations of the kinds GOLD, EXPERIENCE and SLOT, no serials, and no two operations
-- of a commit on the same balance or slot: then no operation of the commit depends on another. And no
-- character is in two commits of the call (checked: two would be computed from the same balance and one
-- of them lost). The caller chooses; commit_batch_1 takes the rest. It is quickest with the commits in
-- the order of their characters and no second ones.
--
-- Arguments that commit_batch_1 has not: of each operation, which commit it belongs to (from 1), its
-- number there (from 0), and whose character it changes.
--
-- Why it is safe: all characters are locked in id order first. Whoever else changes what they own holds
-- the same locks, so each later statement sees it as it will stay until the end. Requests are not looked
-- up: one that was carried out before has a record, whose key the new record meets. Then, as with
-- anything else that the schema refuses, all that this function did is taken back, and commit_batch_1
-- carries out the same commits one by one, with the first result for those that have one.
--
-- The settings: the plans are made once in a session, maybe when the tables are empty. Whatever they
-- hold later, every row is found through its key; and nothing is gained by planning again, or by
-- compiling what runs for microseconds.
CREATE FUNCTION commit_set_1(realm integer, requests uuid[], characters bigint[],
	others bigint[], epochs bigint[], other_epochs bigint[], reasons integer[],
	op_counts integer[], op_kinds integer[], op_whos integer[], op_slots integer[],
	op_items integer[], op_amounts bigint[], op_commits integer[], op_numbers integer[],
	op_characters bigint[])
RETURNS TABLE (result integer, refused_op integer, gold bigint, experience bigint,
	other_gold bigint, other_experience bigint, repeated boolean)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_material = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
	-- enum commit_result
	c_ok CONSTANT integer := 0;
	c_stale CONSTANT integer := 3;
	c_no_character CONSTANT integer := 4;
	c_not_enough CONSTANT integer := 5;
	c_slot_taken CONSTANT integer := 6;
	c_too_much CONSTANT integer := 8;
	c_max CONSTANT bigint := 9223372036854775807;
	nought CONSTANT bigint[] := array_fill(0::bigint, ARRAY[cardinality(requests)]);
	nothing CONSTANT boolean[] := array_fill(false, ARRAY[cardinality(requests)]);
	-- of commits
	v_result integer[];
	v_refused integer[] := array_fill(0, ARRAY[cardinality(requests)]);
	gold_0 bigint[]; experience_0 bigint[];
	gold_1 bigint[] := nought; experience_1 bigint[] := nought;
	changed_0 boolean[] := nothing; changed_1 boolean[] := nothing;
	-- of operations
	code integer[]; after bigint[]; lies boolean[]; -- lies: there is a row of the slot
	--
	held bigint[]; held_epochs bigint[];
	n integer; i integer;
	any_new boolean; any_old boolean; any_gone boolean;
	any_changed_0 boolean := false; any_changed_1 boolean := false;
BEGIN
	-- Arrays come in the order of the sorted rows below them.
	SELECT array_agg(h.character_id), array_agg(h.epoch), array_agg(h.gold),
		array_agg(h.experience) INTO held, held_epochs, gold_0, experience_0
		FROM (SELECT c.character_id, c.epoch, c.gold, c.experience FROM character c
			WHERE c.realm_id = realm AND c.character_id = ANY (characters || others)
			ORDER BY c.character_id FOR NO KEY UPDATE) AS h;
	IF held = characters AND others = nought THEN
		SELECT array_agg(CASE WHEN held_epochs[s.i] = epochs[s.i] THEN c_ok
			ELSE c_stale END) INTO v_result
			FROM generate_subscripts(requests, 1) AS s (i);
	ELSE
		IF EXISTS (SELECT FROM unnest(characters || others) AS u (c) WHERE c <> 0
			GROUP BY c HAVING count(*) > 1) THEN
			RAISE EXCEPTION 'commit_set_1: a character is in two commits';
		END IF;
		SELECT array_agg(v.result), array_agg(v.g0), array_agg(v.e0), array_agg(v.g1),
			array_agg(v.e1)
			INTO v_result, gold_0, experience_0, gold_1, experience_1
			FROM (SELECT CASE WHEN a.character_id IS NULL THEN c_no_character
				WHEN a.epoch <> epochs[s.i] THEN c_stale
				WHEN others[s.i] = 0 THEN c_ok
				WHEN b.character_id IS NULL THEN c_no_character
				WHEN b.epoch <> other_epochs[s.i] THEN c_stale
				ELSE c_ok END AS result,
				coalesce(a.gold, 0) AS g0, coalesce(a.experience, 0) AS e0,
				coalesce(b.gold, 0) AS g1, coalesce(b.experience, 0) AS e1
				FROM generate_subscripts(requests, 1) AS s (i)
				LEFT JOIN LATERAL (SELECT * FROM character x
					WHERE x.realm_id = realm
					AND x.character_id = characters[s.i] OFFSET 0) a ON true
				LEFT JOIN LATERAL (SELECT * FROM character x
					WHERE x.realm_id = realm AND others[s.i] <> 0
					AND x.character_id = others[s.i] OFFSET 0) b ON true
				ORDER BY s.i) AS v;
	END IF;

	-- What each operation would come to, of itself.
	SELECT array_agg(v.code), array_agg(v.after), array_agg(v.lies),
		bool_or(v.code = c_ok AND v.kind = 2 AND NOT v.lies),
		bool_or(v.code = c_ok AND v.lies AND v.after > 0),
		bool_or(v.code = c_ok AND v.lies AND v.after = 0)
		INTO code, after, lies, any_new, any_old, any_gone
		FROM (SELECT f.code, f.lies, f.kind,
			CASE f.code WHEN c_ok THEN f.has + op_amounts[f.n] ELSE 0 END AS after
			FROM (SELECT h.n, h.lies, h.kind, h.has, CASE
				WHEN h.fits IS FALSE THEN c_slot_taken
				WHEN op_amounts[h.n] > 0 AND h.has > c_max - op_amounts[h.n]
					THEN c_too_much
				WHEN op_amounts[h.n] < 0 AND h.has < -op_amounts[h.n]
					THEN c_not_enough
				ELSE c_ok END AS code
				FROM (SELECT s.n, op_kinds[s.n] AS kind,
					r.item IS NOT NULL AS lies,
					r.item = op_items[s.n] AND r.serial = 0 AS fits,
					CASE op_kinds[s.n] * 2 + op_whos[s.n]
					WHEN 0 THEN gold_0[op_commits[s.n]]
					WHEN 1 THEN gold_1[op_commits[s.n]]
					WHEN 2 THEN experience_0[op_commits[s.n]]
					WHEN 3 THEN experience_1[op_commits[s.n]]
					ELSE coalesce(r.count, 0) END AS has
					FROM generate_subscripts(op_kinds, 1) AS s (n)
					LEFT JOIN LATERAL (SELECT x.item, x.serial, x.count
						FROM item_slot x
						WHERE op_kinds[s.n] = 2 AND x.realm_id = realm
						AND x.character_id = op_characters[s.n]
						AND x.slot = op_slots[s.n] OFFSET 0) r ON true
					OFFSET 0) AS h OFFSET 0) AS f
			ORDER BY f.n) AS v;

	-- What becomes of each commit. An operation on a slot that is possible needs nothing more.
	FOR n IN SELECT s.n FROM generate_subscripts(op_kinds, 1) AS s (n)
		WHERE op_kinds[s.n] <> 2 OR code[s.n] <> c_ok ORDER BY s.n LOOP
		i := op_commits[n];
		CONTINUE WHEN v_result[i] <> c_ok;
		IF code[n] <> c_ok THEN
			v_result[i] := code[n];
			v_refused[i] := op_numbers[n];
			CONTINUE;
		END IF;
		CASE op_kinds[n] * 2 + op_whos[n]
			WHEN 0 THEN gold_0[i] := after[n];
			WHEN 1 THEN gold_1[i] := after[n];
			WHEN 2 THEN experience_0[i] := after[n];
			WHEN 3 THEN experience_1[i] := after[n];
		END CASE;
		IF op_whos[n] = 0 THEN
			changed_0[i] := true;
			any_changed_0 := true;
		ELSE
			changed_1[i] := true;
			any_changed_1 := true;
		END IF;
	END LOOP;

	INSERT INTO commit_record (realm_id, request, character_id, result, refused_op, gold,
		experience, other_gold, other_experience)
		SELECT realm, requests[s.i], characters[s.i], v_result[s.i], v_refused[s.i],
		CASE v_result[s.i] WHEN c_ok THEN gold_0[s.i] ELSE 0 END,
		CASE v_result[s.i] WHEN c_ok THEN experience_0[s.i] ELSE 0 END,
		CASE v_result[s.i] WHEN c_ok THEN gold_1[s.i] ELSE 0 END,
		CASE v_result[s.i] WHEN c_ok THEN experience_1[s.i] ELSE 0 END
		FROM generate_subscripts(requests, 1) AS s (i);
	INSERT INTO ledger (realm_id, request, op, kind, character_id, slot, item, serial, amount,
		balance, reason)
		SELECT realm, requests[op_commits[s.n]], op_numbers[s.n], op_kinds[s.n],
		op_characters[s.n], op_slots[s.n], op_items[s.n], 0, op_amounts[s.n], after[s.n],
		reasons[op_commits[s.n]]
		FROM generate_subscripts(op_kinds, 1) AS s (n)
		WHERE v_result[op_commits[s.n]] = c_ok;
	IF any_new THEN
		INSERT INTO item_slot (realm_id, character_id, slot, item, serial, count)
			SELECT realm, op_characters[s.n], op_slots[s.n], op_items[s.n], 0,
			op_amounts[s.n]
			FROM generate_subscripts(op_kinds, 1) AS s (n)
			WHERE op_kinds[s.n] = 2 AND NOT lies[s.n]
			AND v_result[op_commits[s.n]] = c_ok;
	END IF;
	IF any_old THEN
		UPDATE item_slot x SET count = after[s.n]
			FROM generate_subscripts(op_kinds, 1) AS s (n)
			WHERE lies[s.n] AND after[s.n] > 0 AND v_result[op_commits[s.n]] = c_ok
			AND x.realm_id = realm AND x.character_id = op_characters[s.n]
			AND x.slot = op_slots[s.n];
	END IF;
	IF any_gone THEN
		DELETE FROM item_slot x USING generate_subscripts(op_kinds, 1) AS s (n)
			WHERE lies[s.n] AND after[s.n] = 0 AND v_result[op_commits[s.n]] = c_ok
			AND x.realm_id = realm AND x.character_id = op_characters[s.n]
			AND x.slot = op_slots[s.n];
	END IF;
	IF any_changed_0 THEN
		UPDATE character c SET gold = gold_0[s.i], experience = experience_0[s.i],
			level = character_level(experience_0[s.i])
			FROM generate_subscripts(characters, 1) AS s (i)
			WHERE changed_0[s.i] AND v_result[s.i] = c_ok
			AND c.realm_id = realm AND c.character_id = characters[s.i];
	END IF;
	IF any_changed_1 THEN
		UPDATE character c SET gold = gold_1[s.i], experience = experience_1[s.i],
			level = character_level(experience_1[s.i])
			FROM generate_subscripts(characters, 1) AS s (i)
			WHERE changed_1[s.i] AND v_result[s.i] = c_ok
			AND c.realm_id = realm AND c.character_id = others[s.i];
	END IF;
	RETURN QUERY SELECT v_result[s.i], v_refused[s.i],
		CASE v_result[s.i] WHEN c_ok THEN gold_0[s.i] ELSE 0 END,
		CASE v_result[s.i] WHEN c_ok THEN experience_0[s.i] ELSE 0 END,
		CASE v_result[s.i] WHEN c_ok THEN gold_1[s.i] ELSE 0 END,
		CASE v_result[s.i] WHEN c_ok THEN experience_1[s.i] ELSE 0 END,
		false FROM generate_subscripts(requests, 1) AS s (i) ORDER BY s.i;
EXCEPTION
	WHEN integrity_constraint_violation THEN
		RETURN QUERY SELECT b.* FROM commit_batch_1(realm, requests, characters, others,
			epochs, other_epochs, reasons, op_counts, op_kinds, op_whos, op_slots,
			op_items, op_amounts,
			array_fill(0::bigint, ARRAY[cardinality(op_kinds)])) AS b;
END $$;
