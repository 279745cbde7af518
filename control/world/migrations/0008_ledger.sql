-- The ledger in the order of time, what has been taken out of it, and what operators correct.
--
-- As before each key leads with realm_id, there are no triggers, and numbers of 64 bits are kept as
-- the same bits.

-- Rows come with the time of their transaction, so the key grows at its end, however large the ledger
-- is; by request, which nobody looks for but whoever reverses one, each row was at a place of its own.
-- All rows of a commit, and its record, have the same time: a record says where its rows are.
ALTER TABLE ledger DROP CONSTRAINT ledger_pkey;
ALTER TABLE ledger ADD CONSTRAINT ledger_pkey PRIMARY KEY (realm_id, at, request, op);

-- Rows that are older than postgres.ledger_days go, when that is set, and what they come to is kept
-- here, written by the same statement (statements.c, prune_ledger): the sum of the ledger and of this
-- is always what characters own. A sum of nothing has no row.
CREATE TABLE ledger_sum (
	realm_id integer NOT NULL,
	character_id bigint NOT NULL,
	kind smallint NOT NULL,
	slot integer NOT NULL,
	item integer NOT NULL,
	serial bigint NOT NULL,
	amount numeric NOT NULL,
	PRIMARY KEY (realm_id, character_id, kind, slot, item, serial)
) WITH (fillfactor = 80);
CREATE INDEX ledger_sum_nothing ON ledger_sum (realm_id) WHERE amount = 0;

-- How far that is, and what it is together.
CREATE TABLE ledger_checkpoint (
	realm_id integer NOT NULL,
	up_to timestamptz NOT NULL, -- rows of this time and older are gone
	removed bigint NOT NULL,
	gold numeric NOT NULL,
	experience numeric NOT NULL,
	items numeric NOT NULL,
	PRIMARY KEY (realm_id)
);

-- What an operator gives to a character or takes from it, as a commit like any other: by
-- commit_batch_1, under the request, with the reason OPERATOR. It is the slots that nobody has chosen,
-- so they are chosen here, and the epoch is that of the moment: an operator owns no character, and
-- the shard that does keeps it.
--
-- kind is COMMIT_GOLD, EXPERIENCE or SLOT. single: items that do not stack; each one gets a serial that
-- follows from the request. outcome: enum correction_result (common/correction.h).
CREATE FUNCTION operator_change_1(realm integer, v_request uuid, v_character bigint, v_kind integer,
	v_item integer, v_single boolean, v_amount bigint)
RETURNS TABLE (request uuid, character_id bigint, other_id bigint, outcome integer, gold bigint,
	experience bigint, other_gold bigint, other_experience bigint, repeated boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
	c_no_character CONSTANT integer := 4; -- enum commit_result
	c_not_enough CONSTANT integer := 5;
	c_no_room CONSTANT integer := 100; -- enum correction_result
	c_bag CONSTANT integer := 64; -- COMMIT_BAG_SLOTS
	v_epoch bigint;
	v_experience bigint;
	v_refused integer;
	left_over bigint := v_amount;
	-- operations
	slots integer[] := '{}'; amounts bigint[] := '{}'; serials bigint[] := '{}';
	place record;
BEGIN
	SELECT c.epoch, c.experience INTO v_epoch, v_experience FROM character c
		WHERE c.realm_id = realm AND c.character_id = v_character FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		v_refused := c_no_character;
	ELSIF EXISTS (SELECT FROM commit_record r WHERE r.realm_id = realm
		AND r.request = v_request) THEN
		left_over := 0; -- whatever is asked for now, it gets the first result
	ELSIF v_kind = 1 AND -v_amount > v_experience THEN
		v_refused := c_not_enough; -- commit_batch_1 knows no experience that is taken
	ELSIF v_kind <> 2 THEN
		slots := '{0}';
		amounts := ARRAY[v_amount];
		serials := '{0}';
	ELSIF v_amount < 0 THEN
		FOR place IN SELECT s.slot, s.serial, s.count FROM item_slot s
			WHERE s.realm_id = realm AND s.character_id = v_character
			AND s.item = v_item AND (s.serial <> 0) = v_single ORDER BY s.slot LOOP
			EXIT WHEN left_over = 0;
			slots := slots || place.slot;
			serials := serials || place.serial;
			amounts := amounts || GREATEST(left_over, -place.count);
			left_over := left_over - GREATEST(left_over, -place.count);
		END LOOP;
		IF left_over <> 0 THEN
			v_refused := c_not_enough;
		END IF;
	ELSE
		-- Onto what stacks with it, else into the first empty slots.
		FOR place IN SELECT b.slot FROM generate_series(0, c_bag - 1) AS b (slot)
			LEFT JOIN (SELECT s.slot, s.item, s.serial FROM item_slot s
				WHERE s.realm_id = realm AND s.character_id = v_character) h
				ON h.slot = b.slot
			WHERE h.slot IS NULL OR (NOT v_single AND h.item = v_item AND h.serial = 0)
			ORDER BY h.slot IS NULL, b.slot LOOP
			EXIT WHEN left_over = 0;
			slots := slots || place.slot;
			amounts := amounts || CASE WHEN v_single THEN 1 ELSE left_over END;
			serials := serials || CASE WHEN v_single
				THEN ('x' || left(md5(v_request || ' ' || place.slot), 16))::bit(64)::bigint | 1
				ELSE 0 END;
			left_over := CASE WHEN v_single THEN left_over - 1 ELSE 0 END;
		END LOOP;
		IF left_over <> 0 THEN
			v_refused := c_no_room;
		END IF;
	END IF;
	IF v_refused IS NOT NULL THEN
		RETURN QUERY SELECT v_request, v_character, 0::bigint, v_refused, 0::bigint,
			0::bigint, 0::bigint, 0::bigint, false;
		RETURN;
	END IF;
	RETURN QUERY SELECT v_request, v_character, 0::bigint, b.result, b.gold, b.experience,
		b.other_gold, b.other_experience, b.repeated
		FROM commit_batch_1(realm, ARRAY[v_request], ARRAY[v_character], '{0}',
			ARRAY[v_epoch], '{0}', '{9}', ARRAY[cardinality(slots)],
			array_fill(v_kind, ARRAY[cardinality(slots)]),
			array_fill(0, ARRAY[cardinality(slots)]), slots,
			array_fill(CASE v_kind WHEN 2 THEN v_item ELSE 0 END,
				ARRAY[cardinality(slots)]), amounts, serials) AS b;
END $$;

-- The opposite of a commit, in the opposite order, as a commit of a request that follows from the first:
-- so it is done once, and can itself be reversed. It finds slots, balances and quests as the commit
-- left them, or is refused.
CREATE FUNCTION operator_reverse_1(realm integer, v_request uuid)
RETURNS TABLE (request uuid, character_id bigint, other_id bigint, outcome integer, gold bigint,
	experience bigint, other_gold bigint, other_experience bigint, repeated boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
	c_no_character CONSTANT integer := 4; -- enum commit_result
	c_not_enough CONSTANT integer := 5;
	c_no_commit CONSTANT integer := 101; -- enum correction_result
	c_was_refused CONSTANT integer := 102;
	c_rows_gone CONSTANT integer := 103;
	c_has_result CONSTANT integer := 104;
	reverse CONSTANT uuid := md5('reverse ' || realm || ' ' || v_request)::uuid;
	v_at timestamptz; v_result integer; v_refused integer;
	v_character bigint; v_other bigint := 0;
	v_epoch bigint; other_epoch bigint; v_experience bigint; more_experience bigint;
	-- operations
	kinds integer[]; whos bigint[]; slots integer[]; items integer[];
	amounts bigint[]; serials bigint[];
BEGIN
	SELECT r.at, r.result, r.character_id INTO v_at, v_result, v_character FROM commit_record r
		WHERE r.realm_id = realm AND r.request = v_request;
	IF NOT FOUND THEN
		v_refused := c_no_commit;
	ELSIF v_result <> 0 THEN
		v_refused := c_was_refused;
	ELSE
		-- A quest's row has the step that it came to as its balance.
		SELECT array_agg(l.kind::integer ORDER BY l.op DESC),
			array_agg(l.character_id ORDER BY l.op DESC),
			array_agg(CASE l.kind WHEN 3 THEN l.balance::integer ELSE l.slot END
				ORDER BY l.op DESC),
			array_agg(l.item ORDER BY l.op DESC),
			array_agg(CASE l.kind WHEN 3 THEN l.balance - l.amount ELSE -l.amount END
				ORDER BY l.op DESC),
			array_agg(l.serial ORDER BY l.op DESC)
			INTO kinds, whos, slots, items, amounts, serials
			FROM ledger l WHERE l.realm_id = realm AND l.at = v_at
			AND l.request = v_request;
		SELECT coalesce(min(u.who), 0) INTO v_other FROM unnest(whos) AS u (who)
			WHERE u.who <> v_character;
		PERFORM 1 FROM character c WHERE c.realm_id = realm
			AND c.character_id IN (v_character, v_other)
			ORDER BY c.character_id FOR NO KEY UPDATE;
		SELECT c.epoch, c.experience INTO v_epoch, v_experience FROM character c
			WHERE c.realm_id = realm AND c.character_id = v_character;
		SELECT c.epoch, c.experience INTO other_epoch, more_experience FROM character c
			WHERE c.realm_id = realm AND c.character_id = v_other;
		IF EXISTS (SELECT FROM commit_record r WHERE r.realm_id = realm
			AND r.request = reverse) THEN
			kinds := '{}'; -- it gets the first result
		ELSIF kinds IS NULL THEN
			v_refused := c_rows_gone;
		ELSIF v_epoch IS NULL OR (v_other <> 0 AND other_epoch IS NULL) THEN
			v_refused := c_no_character;
		ELSIF 4 = ANY (kinds) THEN
			v_refused := c_has_result;
		ELSIF EXISTS (SELECT FROM unnest(kinds, whos, amounts) AS u (kind, who, amount)
			WHERE kind = 1 GROUP BY who HAVING -sum(amount) >
			CASE who WHEN v_character THEN v_experience ELSE more_experience END) THEN
			v_refused := c_not_enough; -- commit_batch_1 knows no experience that is taken
		END IF;
	END IF;
	IF v_refused IS NOT NULL THEN
		RETURN QUERY SELECT reverse, coalesce(v_character, 0), v_other, v_refused,
			0::bigint, 0::bigint, 0::bigint, 0::bigint, false;
		RETURN;
	END IF;
	RETURN QUERY SELECT reverse, v_character, v_other, b.result, b.gold, b.experience,
		b.other_gold, b.other_experience, b.repeated
		FROM commit_batch_1(realm, ARRAY[reverse], ARRAY[v_character], ARRAY[v_other],
			ARRAY[v_epoch], ARRAY[coalesce(other_epoch, 0)], '{9}',
			ARRAY[cardinality(kinds)], kinds,
			ARRAY(SELECT (u.who <> v_character)::integer FROM unnest(whos)
				WITH ORDINALITY AS u (who, n) ORDER BY u.n), slots, items, amounts,
			serials) AS b;
	-- What is not possible now may be later, and the request will be the same.
	DELETE FROM commit_record r WHERE r.realm_id = realm AND r.request = reverse
		AND r.result <> 0;
END $$;
