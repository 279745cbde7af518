-- What characters own, how it is changed, and the ledger that all of it can be recomputed from.
--
-- As before each key leads with realm_id and there are no triggers. Serials, and the request's 128
-- bits (as uuid), are unsigned numbers kept as the same bits. Numbers of kinds, reasons and results
-- are those of common/commit.h, which only ever appends to them.

-- The one rule by which the level follows from experience; common/level.h has it in C, and a test
-- holds the two together: level L begins at 50 * L * (L - 1), and 100 is the last. The square root
-- is that of a perfect square where a level begins, so it is exact.
CREATE FUNCTION character_level(experience bigint) RETURNS integer
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN floor((1 + sqrt((1 + 4 * (LEAST(experience, 495000) / 50))::float8)) / 2)::integer;

ALTER TABLE character ADD COLUMN experience bigint NOT NULL DEFAULT 0 CHECK (experience >= 0);
-- Levels that were given before there was experience.
UPDATE character SET level = LEAST(level, 100),
	experience = 50 * LEAST(level, 100)::bigint * (LEAST(level, 100) - 1) WHERE level > 1;
ALTER TABLE character ADD CONSTRAINT character_level_follows
	CHECK (level = character_level(experience));

CREATE TABLE item_slot (
	realm_id integer NOT NULL,
	character_id bigint NOT NULL,
	slot integer NOT NULL CHECK (slot BETWEEN 0 AND 63 OR slot BETWEEN 100 AND 115), -- bag, worn
	item integer NOT NULL CHECK (item >= 0),
	serial bigint NOT NULL,
	count bigint NOT NULL CHECK (count > 0),
	PRIMARY KEY (realm_id, character_id, slot),
	FOREIGN KEY (realm_id, character_id) REFERENCES character (realm_id, character_id),
	CONSTRAINT item_slot_serial_is_single CHECK (serial = 0 OR count = 1)
) WITH (fillfactor = 80);
-- What does not stack is in one place of its realm.
CREATE UNIQUE INDEX item_slot_serial ON item_slot (realm_id, serial) WHERE serial <> 0;

CREATE TABLE quest (
	realm_id integer NOT NULL,
	character_id bigint NOT NULL,
	quest integer NOT NULL CHECK (quest >= 0),
	state integer NOT NULL CHECK (state BETWEEN 1 AND 65535), -- no row: not begun
	PRIMARY KEY (realm_id, character_id, quest),
	FOREIGN KEY (realm_id, character_id) REFERENCES character (realm_id, character_id)
) WITH (fillfactor = 80);

CREATE TABLE match_result (
	realm_id integer NOT NULL,
	match_id bigint NOT NULL,
	character_id bigint NOT NULL,
	rule integer NOT NULL CHECK (rule >= 0),
	place integer NOT NULL CHECK (place >= 1),
	at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (realm_id, match_id, character_id),
	FOREIGN KEY (realm_id, character_id) REFERENCES character (realm_id, character_id)
);

-- A finished commit: whoever sends the request again gets this.
CREATE TABLE commit_record (
	realm_id integer NOT NULL,
	request uuid NOT NULL,
	character_id bigint NOT NULL,
	result smallint NOT NULL,
	refused_op smallint NOT NULL,
	gold bigint NOT NULL,
	experience bigint NOT NULL,
	other_gold bigint NOT NULL,
	other_experience bigint NOT NULL,
	at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (realm_id, request)
);

-- One row for each operation that was carried out; rows are added and never changed. slot, item and
-- serial are 0 where the kind has none. The sum of amount over (character, kind, slot, item, serial)
-- is the balance, and balance is that sum after this row. No foreign key: it outlives the character.
CREATE TABLE ledger (
	realm_id integer NOT NULL,
	request uuid NOT NULL,
	op smallint NOT NULL,
	kind smallint NOT NULL,
	character_id bigint NOT NULL,
	slot integer NOT NULL,
	item integer NOT NULL,
	serial bigint NOT NULL,
	amount bigint NOT NULL,
	balance bigint NOT NULL CHECK (balance >= 0),
	reason integer NOT NULL,
	at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (realm_id, request, op)
);

-- What characters had before there was a ledger, as of an operator (reason 9).
INSERT INTO ledger (realm_id, request, op, kind, character_id, slot, item, serial, amount, balance,
	reason)
	SELECT realm_id, md5('opening ' || realm_id || ' ' || character_id)::uuid, 0, 0,
		character_id, 0, 0, 0, gold, gold, 9 FROM character WHERE gold > 0
	UNION ALL
	SELECT realm_id, md5('opening ' || realm_id || ' ' || character_id)::uuid, 1, 1,
		character_id, 0, 0, 0, experience, experience, 9 FROM character WHERE experience > 0;

-- Carries out commits of one realm in the order of the arrays, each alone: one that is refused leaves
-- its result and nothing else. operations of commit i are the next op_counts[i] of the op_ arrays.
-- One row for each commit, in order; repeated: the result is that of an earlier time.
--
-- The name ends with a version: a function that would behave differently gets a new one, so that
-- servers of both kinds run side by side on one schema. character is the first of a commit, other
-- the second or 0.
--
-- Why it is safe: all characters of all commits are locked first, in id order, so two batches never
-- wait for each other in a circle, and each later statement sees what was committed while it waited
-- (a volatile function in READ COMMITTED takes a snapshot for each). Whoever else carries out the
-- same request holds the same locks, so the record is either there to be seen or nobody is
-- about to write it. Only after that the epoch, under the lock.
CREATE FUNCTION commit_batch_1(realm integer, requests uuid[], characters bigint[],
	others bigint[], epochs bigint[], other_epochs bigint[], reasons integer[],
	op_counts integer[], op_kinds integer[], op_whos integer[], op_slots integer[],
	op_items integer[], op_amounts bigint[], op_serials bigint[])
RETURNS TABLE (result integer, refused_op integer, gold bigint, experience bigint,
	other_gold bigint, other_experience bigint, repeated boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
	-- enum commit_result
	c_ok CONSTANT integer := 0;
	c_stale CONSTANT integer := 3;
	c_no_character CONSTANT integer := 4;
	c_not_enough CONSTANT integer := 5;
	c_slot_taken CONSTANT integer := 6;
	c_quest_state CONSTANT integer := 7;
	c_too_much CONSTANT integer := 8;
	c_duplicate CONSTANT integer := 10;
	c_quests_max CONSTANT integer := 512; -- COMMIT_QUESTS_MAX
	first integer := 0; -- operations of the commits before
	at integer;
	v_result integer;
	gold_0 bigint; experience_0 bigint; epoch_0 bigint;
	gold_1 bigint; experience_1 bigint; epoch_1 bigint;
	changed_0 boolean; changed_1 boolean;
	who bigint; v_slot integer; v_item integer; v_amount bigint; v_serial bigint; after bigint;
BEGIN
	PERFORM 1 FROM character c WHERE c.realm_id = realm AND c.character_id IN
		(SELECT unnest(characters || others))
		ORDER BY c.character_id FOR NO KEY UPDATE;
	FOR i IN 1 .. cardinality(requests) LOOP
		SELECT r.result, r.refused_op, r.gold, r.experience, r.other_gold,
			r.other_experience, true
			INTO result, refused_op, gold, experience, other_gold, other_experience,
			repeated
			FROM commit_record r WHERE r.realm_id = realm AND r.request = requests[i];
		IF FOUND THEN
			RETURN NEXT;
			first := first + op_counts[i];
			CONTINUE;
		END IF;
		v_result := c_ok;
		at := first;
		BEGIN
			SELECT c.gold, c.experience, c.epoch INTO gold_0, experience_0, epoch_0
				FROM character c
				WHERE c.realm_id = realm AND c.character_id = characters[i];
			IF NOT FOUND THEN
				v_result := c_no_character;
				RAISE EXCEPTION USING ERRCODE = 'SW000';
			END IF;
			IF epoch_0 <> epochs[i] THEN
				v_result := c_stale;
				RAISE EXCEPTION USING ERRCODE = 'SW000';
			END IF;
			gold_1 := 0;
			experience_1 := 0;
			IF others[i] <> 0 THEN
				SELECT c.gold, c.experience, c.epoch
					INTO gold_1, experience_1, epoch_1 FROM character c
					WHERE c.realm_id = realm AND c.character_id = others[i];
				IF NOT FOUND THEN
					v_result := c_no_character;
					RAISE EXCEPTION USING ERRCODE = 'SW000';
				END IF;
				IF epoch_1 <> other_epochs[i] THEN
					v_result := c_stale;
					RAISE EXCEPTION USING ERRCODE = 'SW000';
				END IF;
			END IF;
			changed_0 := false;
			changed_1 := false;
			FOR n IN first + 1 .. first + op_counts[i] LOOP
				at := n;
				who := CASE op_whos[n] WHEN 0 THEN characters[i] ELSE others[i] END;
				v_slot := 0;
				v_item := 0;
				v_serial := 0;
				v_amount := op_amounts[n];
				CASE op_kinds[n]
				WHEN 0 THEN -- GOLD
					IF op_whos[n] = 0 THEN
						gold_0 := gold_0 + v_amount;
						changed_0 := true;
						after := gold_0;
					ELSE
						gold_1 := gold_1 + v_amount;
						changed_1 := true;
						after := gold_1;
					END IF;
					IF after < 0 THEN
						v_result := c_not_enough;
						RAISE EXCEPTION USING ERRCODE = 'SW000';
					END IF;
				WHEN 1 THEN -- EXPERIENCE
					IF op_whos[n] = 0 THEN
						experience_0 := experience_0 + v_amount;
						changed_0 := true;
						after := experience_0;
					ELSE
						experience_1 := experience_1 + v_amount;
						changed_1 := true;
						after := experience_1;
					END IF;
				WHEN 2 THEN -- SLOT
					v_slot := op_slots[n];
					v_item := op_items[n];
					v_serial := op_serials[n];
					IF v_amount > 0 THEN
						INSERT INTO item_slot AS s VALUES (realm, who,
							v_slot, v_item, v_serial, v_amount)
							ON CONFLICT (realm_id, character_id, slot)
							DO UPDATE SET count = s.count + excluded.count
							WHERE s.item = excluded.item
							AND s.serial = excluded.serial
							RETURNING s.count INTO after;
						IF NOT FOUND THEN
							v_result := c_slot_taken;
							RAISE EXCEPTION USING ERRCODE = 'SW000';
						END IF;
					ELSE
						after := 0;
						DELETE FROM item_slot s WHERE s.realm_id = realm
							AND s.character_id = who
							AND s.slot = v_slot AND s.item = v_item
							AND s.serial = v_serial
							AND s.count = -v_amount;
						IF NOT FOUND THEN
							UPDATE item_slot s
								SET count = s.count + v_amount
								WHERE s.realm_id = realm
								AND s.character_id = who
								AND s.slot = v_slot
								AND s.item = v_item
								AND s.serial = v_serial
								AND s.count > -v_amount
								RETURNING s.count INTO after;
						END IF;
						IF NOT FOUND THEN
							PERFORM 1 FROM item_slot s
								WHERE s.realm_id = realm
								AND s.character_id = who
								AND s.slot = v_slot
								AND (s.item <> v_item
								OR s.serial <> v_serial);
							v_result := CASE WHEN FOUND
								THEN c_slot_taken
								ELSE c_not_enough END;
							RAISE EXCEPTION USING ERRCODE = 'SW000';
						END IF;
					END IF;
				WHEN 3 THEN -- QUEST
					v_item := op_items[n];
					after := v_amount;
					IF op_slots[n] = 0 THEN
						PERFORM 1 FROM quest q WHERE q.realm_id = realm
							AND q.character_id = who
							AND q.quest = v_item;
						IF FOUND THEN
							v_result := c_quest_state;
							RAISE EXCEPTION USING ERRCODE = 'SW000';
						END IF;
						IF (SELECT count(*) FROM quest q
							WHERE q.realm_id = realm
							AND q.character_id = who)
							>= c_quests_max THEN
							v_result := c_too_much;
							RAISE EXCEPTION USING ERRCODE = 'SW000';
						END IF;
						INSERT INTO quest
							VALUES (realm, who, v_item, v_amount);
					ELSIF v_amount = 0 THEN
						DELETE FROM quest q WHERE q.realm_id = realm
							AND q.character_id = who
							AND q.quest = v_item
							AND q.state = op_slots[n];
					ELSE
						UPDATE quest q SET state = v_amount
							WHERE q.realm_id = realm
							AND q.character_id = who
							AND q.quest = v_item
							AND q.state = op_slots[n];
					END IF;
					IF NOT FOUND AND op_slots[n] <> 0 THEN
						v_result := c_quest_state;
						RAISE EXCEPTION USING ERRCODE = 'SW000';
					END IF;
					v_amount := v_amount - op_slots[n];
				WHEN 4 THEN -- RESULT
					v_item := op_items[n];
					v_serial := op_serials[n];
					after := v_amount;
					INSERT INTO match_result (realm_id, match_id, character_id,
						rule, place) VALUES
						(realm, v_serial, who, v_item, v_amount);
				END CASE;
				INSERT INTO ledger (realm_id, request, op, kind, character_id, slot,
					item, serial, amount, balance, reason) VALUES
					(realm, requests[i], n - first - 1, op_kinds[n], who, v_slot,
					v_item, v_serial, v_amount, after, reasons[i]);
			END LOOP;
			at := first;
			IF changed_0 THEN
				UPDATE character c SET gold = gold_0, experience = experience_0,
					level = character_level(experience_0)
					WHERE c.realm_id = realm AND c.character_id = characters[i];
			END IF;
			IF changed_1 THEN
				UPDATE character c SET gold = gold_1, experience = experience_1,
					level = character_level(experience_1)
					WHERE c.realm_id = realm AND c.character_id = others[i];
			END IF;
		EXCEPTION
			WHEN SQLSTATE 'SW000' THEN
				NULL; -- v_result says why
			WHEN numeric_value_out_of_range THEN
				v_result := c_too_much;
			WHEN unique_violation THEN
				v_result := c_duplicate;
			WHEN check_violation THEN
				v_result := c_duplicate; -- a second one of a serial in its slot
		END;
		result := v_result;
		refused_op := GREATEST(at - first - 1, 0);
		repeated := false;
		IF v_result <> c_ok THEN
			gold_0 := 0;
			gold_1 := 0;
			experience_0 := 0;
			experience_1 := 0;
		END IF;
		gold := gold_0;
		experience := experience_0;
		other_gold := gold_1;
		other_experience := experience_1;
		INSERT INTO commit_record (realm_id, request, character_id, result, refused_op, gold,
			experience, other_gold, other_experience) VALUES (realm, requests[i],
			characters[i], v_result, GREATEST(at - first - 1, 0), gold_0,
			experience_0, gold_1, experience_1);
		RETURN NEXT;
		first := first + op_counts[i];
	END LOOP;
END $$;
