-- What the parties of a realm were when they were last written down. Their authority is Redis; this is
-- for one that has lost everything (control/party).
--
-- As before each key leads with realm_id, there are no triggers, and numbers of 64 bits are kept as
-- the same bits.
CREATE TABLE party (
	realm_id integer NOT NULL,
	party_id bigint NOT NULL,
	-- Grows with each change of any party of the realm; the greatest one is kept, whoever writes it.
	version bigint NOT NULL,
	-- JSON, made and read by lua/redis/party_step.lua: leader, m (members: c character, n name). '':
	-- the party is no more; the row stands for a time, so that no older word of it comes after.
	state text NOT NULL CHECK (octet_length(state) < 8192),
	expires_at timestamptz NOT NULL, -- nobody has said anything of it for so long
	PRIMARY KEY (realm_id, party_id)
) WITH (fillfactor = 80);
CREATE INDEX party_newest ON party (realm_id, version);

-- How often the realm's parties have been put back: versions of a later epoch are greater.
CREATE TABLE party_epoch (
	realm_id integer NOT NULL,
	epoch bigint NOT NULL,
	PRIMARY KEY (realm_id)
);
