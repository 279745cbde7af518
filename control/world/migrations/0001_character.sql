-- A character and where it was last saved.
--
-- Each key leads with realm_id, the distribution column: a realm lives on one Citus node. No
-- triggers: a row changes only where a statement says so. Ids are the ticket issuer's unsigned 64
-- bits, kept as the signed bigint of the same bits.
CREATE TABLE character (
	realm_id integer NOT NULL,
	character_id bigint NOT NULL,
	account_id bigint NOT NULL,
	name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 31),
	level integer NOT NULL DEFAULT 1 CHECK (level >= 1),
	gold bigint NOT NULL DEFAULT 0 CHECK (gold >= 0),
	appearance integer NOT NULL CHECK (appearance BETWEEN 0 AND 16777215), -- 0xRRGGBB
	-- The writer's fencing token. A load raises it, and a write with an older one is refused.
	epoch bigint NOT NULL DEFAULT 0,
	created_at timestamptz NOT NULL DEFAULT now(),
	last_login_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (realm_id, character_id),
	UNIQUE (realm_id, name)
) WITH (fillfactor = 80); -- logins update unindexed columns: room for heap-only updates

CREATE TABLE character_position (
	realm_id integer NOT NULL,
	character_id bigint NOT NULL,
	map text NOT NULL CHECK (octet_length(map) BETWEEN 1 AND 31),
	x_mm integer NOT NULL,
	y_mm integer NOT NULL,
	heading integer NOT NULL CHECK (heading BETWEEN 0 AND 65535), -- 1/65536 turn
	-- Of the save: the epoch it was made under, and its number within the writer's life, so that
	-- a save sent again, or one that a dying connection delivers late, never undoes a newer one.
	epoch bigint NOT NULL,
	save_sequence bigint NOT NULL,
	saved_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (realm_id, character_id),
	FOREIGN KEY (realm_id, character_id) REFERENCES character (realm_id, character_id)
) WITH (fillfactor = 50); -- rewritten every autosave, no indexed column changes
