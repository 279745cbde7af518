-- What operators, and the server by itself, did to a node: one row each, added and never changed.
--
-- A node writes a record into its journal first and gives it the id there, so a row that is sent
-- again is skipped. No foreign key and no pruning: it outlives what it speaks of.
CREATE TABLE ops_audit_log (
	realm_id integer NOT NULL,
	id uuid NOT NULL,
	at timestamptz NOT NULL, -- when it was done, not when the row came here
	node text NOT NULL,
	author text NOT NULL, -- the name beside the operator's token; '' for the server itself
	kind text NOT NULL, -- 'command'; more may follow
	what text NOT NULL,
	good boolean NOT NULL, -- false: refused, or failed
	outcome text NOT NULL,
	PRIMARY KEY (realm_id, id)
);
CREATE INDEX ops_audit_log_at ON ops_audit_log (realm_id, at);
