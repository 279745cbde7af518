-- Gives a ticket's single use back, when the login that claimed it was not admitted after all
-- (the database is away, the server is full), so that the player may try again with it.
-- KEYS[1] the ticket's key   ARGV[1] the claim that this login wrote
-- Returns 1 when the claim was ours and is gone, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
