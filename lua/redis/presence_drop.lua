-- Characters have left and are saved, or a login came to nothing: their presence goes, unless it is
-- another login's by now.
-- KEYS[1] the base, as in presence_seek
-- ARGV[1] node   ARGV[2] boot   ARGV[2i+1] realm:character   ARGV[2i+2] session
-- Returns how many were still ours and are gone.
local gone = 0
for at = 3, #ARGV, 2 do
	local key = KEYS[1] .. ':at:' .. ARGV[at]
	local there = redis.call('HMGET', key, 'node', 'boot', 'session')

	if there[1] == ARGV[1] and there[2] == ARGV[2] and there[3] == ARGV[at + 1] then
		gone = gone + redis.call('DEL', key)
	end
end
return gone
