-- Chat: who owns which channels, what was said, who may not say anything, what was announced
-- (control/chat).
--
-- As before each key leads with realm_id, there are no triggers, and numbers of 64 bits are kept as
-- the same bits.

-- The last number given: tokens of leases, versions of sanctions and numbers of announcements are of
-- one row, which is locked until whoever takes one commits. So who has read up to a number has missed
-- none below it.
CREATE TABLE chat_epoch (
	realm_id integer NOT NULL,
	token bigint NOT NULL,
	PRIMARY KEY (realm_id)
);

-- Chat shards that live. boot: random, of the process.
CREATE TABLE chat_shard (
	realm_id integer NOT NULL,
	node text NOT NULL,
	boot bigint NOT NULL,
	token bigint NOT NULL,
	expires_at timestamptz NOT NULL,
	PRIMARY KEY (realm_id, node)
) WITH (fillfactor = 50);

-- Leases of slots; node '': given back. The token grows with each owner.
CREATE TABLE chat_slot (
	realm_id integer NOT NULL,
	slot integer NOT NULL,
	node text NOT NULL,
	boot bigint NOT NULL,
	token bigint NOT NULL,
	expires_at timestamptz NOT NULL,
	PRIMARY KEY (realm_id, slot)
) WITH (fillfactor = 50);

-- What was said, or was not taken: verdict 0, or enum chat_refusal. writer and number: who wrote the
-- row, so that a batch that comes twice is there once. channel 0: a whisper to target_id.
CREATE TABLE chat_log (
	realm_id integer NOT NULL,
	at timestamptz NOT NULL,
	writer bigint NOT NULL,
	number bigint NOT NULL,
	channel bigint NOT NULL,
	kind integer NOT NULL,
	token bigint NOT NULL,
	sequence bigint NOT NULL,
	sender_id bigint NOT NULL,
	target_id bigint NOT NULL,
	verdict integer NOT NULL,
	sender text NOT NULL,
	body text NOT NULL,
	PRIMARY KEY (realm_id, at, writer, number)
);
CREATE INDEX chat_log_sender ON chat_log (realm_id, sender_id, at);

-- channel 0: a mute; else a ban from one channel. A sanction that has ended stays until it is older
-- than the log: it is evidence, too.
CREATE TABLE chat_sanction (
	realm_id integer NOT NULL,
	character_id bigint NOT NULL,
	channel bigint NOT NULL,
	until_at timestamptz NOT NULL,
	version bigint NOT NULL,
	author text NOT NULL,
	why text NOT NULL,
	PRIMARY KEY (realm_id, character_id, channel)
);
CREATE INDEX chat_sanction_newest ON chat_sanction (realm_id, version);

-- Whom a character takes no whispers from.
CREATE TABLE chat_block (
	realm_id integer NOT NULL,
	character_id bigint NOT NULL,
	blocked_id bigint NOT NULL,
	PRIMARY KEY (realm_id, character_id, blocked_id)
);

CREATE TABLE chat_announcement (
	realm_id integer NOT NULL,
	number bigint NOT NULL,
	at timestamptz NOT NULL,
	author text NOT NULL,
	body text NOT NULL,
	PRIMARY KEY (realm_id, number)
);

-- What players reported, and the lines around it as they were then.
CREATE TABLE chat_report (
	realm_id integer NOT NULL,
	number bigint NOT NULL,
	at timestamptz NOT NULL,
	reporter_id bigint NOT NULL,
	channel bigint NOT NULL,
	token bigint NOT NULL,
	sequence bigint NOT NULL,
	why text NOT NULL,
	closed boolean NOT NULL DEFAULT false,
	PRIMARY KEY (realm_id, number)
);
CREATE TABLE chat_report_line (
	realm_id integer NOT NULL,
	number bigint NOT NULL,
	line integer NOT NULL,
	sequence bigint NOT NULL,
	sender_id bigint NOT NULL,
	sender text NOT NULL,
	body text NOT NULL,
	PRIMARY KEY (realm_id, number, line)
);
CREATE INDEX chat_report_line_sender ON chat_report_line (realm_id, sender_id);

CREATE FUNCTION chat_token_1(realm integer) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	INSERT INTO chat_epoch (realm_id, token) VALUES (realm, 1)
		ON CONFLICT (realm_id) DO UPDATE SET token = chat_epoch.token + 1 RETURNING token
$$;

-- A shard lives, and keeps its slots for lease_ms from now. Slots are locked in their order, here and
-- in chat_claim_1. Returns by what:
--   0 the shard's token (token), how far this has read (id); 1 shards that live (node)
--   2 slots that have another owner since known (id, token, node; other: its boot)
--   3 sanctions since known (id: character, token: channel, other: until, Unix ms)
--   4 announcements since known_announcement, of the last minute (id, body, other: Unix ms)
CREATE FUNCTION chat_beat_1(realm integer, v_node text, v_boot bigint, lease_ms integer, known bigint,
	known_announcement bigint)
RETURNS TABLE (what integer, id bigint, token bigint, node text, other bigint, body text)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
	until_at timestamptz;
	v_token bigint;
	read_to bigint;
BEGIN
	until_at := clock_timestamp() + lease_ms * interval '1 millisecond';
	UPDATE chat_shard s SET expires_at = until_at WHERE s.realm_id = realm AND s.node = v_node
		AND s.boot = v_boot RETURNING s.token INTO v_token;
	IF NOT FOUND THEN
		v_token := chat_token_1(realm);
		INSERT INTO chat_shard (realm_id, node, boot, token, expires_at)
			VALUES (realm, v_node, v_boot, v_token, until_at)
			ON CONFLICT (realm_id, node) DO UPDATE SET boot = v_boot, token = v_token,
			expires_at = until_at;
	END IF;
	PERFORM 1 FROM chat_slot s WHERE s.realm_id = realm AND s.node = v_node AND s.boot = v_boot
		ORDER BY s.slot FOR NO KEY UPDATE;
	UPDATE chat_slot s SET expires_at = until_at WHERE s.realm_id = realm AND s.node = v_node
		AND s.boot = v_boot;
	SELECT e.token INTO read_to FROM chat_epoch e WHERE e.realm_id = realm;
	RETURN QUERY SELECT 0, read_to, v_token, ''::text, 0::bigint, ''::text;
	RETURN QUERY SELECT 1, 0::bigint, s.token, s.node, 0::bigint, ''::text FROM chat_shard s
		WHERE s.realm_id = realm AND s.expires_at > clock_timestamp();
	RETURN QUERY SELECT 2, s.slot::bigint, s.token, s.node, s.boot, ''::text FROM chat_slot s
		WHERE s.realm_id = realm AND s.token > known ORDER BY s.slot;
	RETURN QUERY SELECT 3, s.character_id, s.channel, ''::text,
		(extract(epoch FROM s.until_at) * 1000)::bigint, ''::text FROM chat_sanction s
		WHERE s.realm_id = realm AND s.version > known
		AND (known > 0 OR s.until_at > clock_timestamp()) ORDER BY s.version;
	RETURN QUERY SELECT 4, a.number, 0::bigint, ''::text,
		(extract(epoch FROM a.at) * 1000)::bigint, a.body FROM chat_announcement a
		WHERE a.realm_id = realm AND a.number > known_announcement
		AND a.at > clock_timestamp() - interval '1 minute' ORDER BY a.number;
END $$;

-- Gives slots back, and takes those that nobody has. Returns what it took.
CREATE FUNCTION chat_claim_1(realm integer, v_node text, v_boot bigint, lease_ms integer, give integer[],
	take integer[])
RETURNS TABLE (slot integer, token bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
	v_token bigint := chat_token_1(realm);
BEGIN
	PERFORM 1 FROM chat_slot s WHERE s.realm_id = realm
		AND (s.slot = ANY (give) OR s.slot = ANY (take)) ORDER BY s.slot FOR NO KEY UPDATE;
	UPDATE chat_slot s SET node = '', boot = 0, token = v_token, expires_at = clock_timestamp()
		WHERE s.realm_id = realm AND s.slot = ANY (give) AND s.node = v_node
		AND s.boot = v_boot;
	RETURN QUERY INSERT INTO chat_slot AS s (realm_id, slot, node, boot, token, expires_at)
		SELECT realm, u.slot, v_node, v_boot, v_token,
			clock_timestamp() + lease_ms * interval '1 millisecond'
		FROM unnest(take) AS u (slot) ORDER BY u.slot
		ON CONFLICT (realm_id, slot) DO UPDATE SET node = v_node, boot = v_boot,
			token = v_token, expires_at = excluded.expires_at
			WHERE s.node = '' OR s.expires_at <= clock_timestamp()
		RETURNING s.slot, s.token;
END $$;
