-- Which nodes live, by their own word every few seconds: so that whoever finds Redis empty knows whom
-- to wait for before it believes what Redis says of the cluster.
--
-- As before each key leads with realm_id, there are no triggers, and numbers of 64 bits are kept as
-- the same bits.
CREATE TABLE node (
	realm_id integer NOT NULL,
	name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 63),
	address text NOT NULL, -- ip:port for clients
	boot bigint NOT NULL, -- random, of the process that said it last
	stopped boolean NOT NULL, -- in good order: nobody waits for it
	seen_at timestamptz NOT NULL,
	PRIMARY KEY (realm_id, name)
) WITH (fillfactor = 50);
