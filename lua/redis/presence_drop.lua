-- Characters have left: removes their presence, unless it is another login's by now.
-- KEYS[i] a character's presence key
-- ARGV[1] node   ARGV[2i] session   ARGV[2i+1] generation (of KEYS[i])
-- Returns how many were still ours and are gone.
local gone = 0
for i, key in ipairs(KEYS) do
	local there = redis.call('HMGET', key, 'node', 'session', 'generation')
	if there[1] == ARGV[1] and there[2] == ARGV[2 * i] and there[3] == ARGV[2 * i + 1] then
		gone = gone + redis.call('DEL', key)
	end
end
return gone
